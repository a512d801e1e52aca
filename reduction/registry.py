"""All reduction methods by name, with one signature: those of `reduction.methods`, and those registered elsewhere."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from fem.model import Model
from fem.renamed import renamed
from reduction import methods
from reduction.basis import Basis
from reduction.build import Band, Load
from reduction.method import METHODS, reduction_method

for _module in (
    "reduction.choose",
    *(f"{methods.__name__}.{file.name}" for file in pkgutil.iter_modules(methods.__path__)),
):
    importlib.import_module(_module)


@renamed(tol="tolerance", attached_to="reference_frame")
def reduce(
    model: Model,
    method: str,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
    **options: Any,
) -> Basis:
    """Reduce `model` by the method called `method` (a key of `METHODS`). Arguments that are None take the method's
    default.

    `inputs`: the loads that drive the part: names of interfaces, "rotation", "gravity", arrays (ndof,) or (ndof, k);
    None: all interfaces. `options`: further ones of the method.

    Raises `MatrixError` when the method does not exist, lacks an option that it needs, or is given one that it does
    not have.
    """
    model.require_obeyed()
    record = reduction_method(method)
    given = {"modes": modes, "tolerance": tolerance, "band": band, "reference_frame": reference_frame, "inputs": inputs}
    return record(model, **{key: value for key, value in given.items() if value is not None}, **options)


__all__ = ["METHODS", "reduce"]
