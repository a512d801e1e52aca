"""All reduction methods by name, with one signature."""

from collections.abc import Callable, Sequence
from typing import Any

from fem.errors import MatrixError, unknown_name
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load
from reduction.choose import choose
from reduction.methods.balanced_truncation import balanced_truncation
from reduction.methods.craig_bampton import craig_bampton
from reduction.methods.free_interface import craig_chang, herting
from reduction.methods.gramian import gramian
from reduction.methods.irka import irka
from reduction.methods.krylov import krylov
from reduction.methods.modal import modal

METHODS: dict[str, Callable[..., Basis]] = {
    "choose": choose,
    "craig-bampton": craig_bampton,
    "craig-chang": craig_chang,
    "herting": herting,
    "modal": modal,
    "krylov": krylov,
    "gramian": gramian,
    "balanced-truncation": balanced_truncation,
    "irka": irka,
}


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
) -> Basis:
    """Reduce `model` by the method called `method` (a key of `METHODS`). Arguments that are None take the method's
    default.

    `inputs`: the loads that drive the part: names of interfaces, "rotation", "gravity", arrays (ndof,) or (ndof, k);
    None: all interfaces.

    Raises `MatrixError` when the method does not exist, or needs an argument that is missing.
    """
    model.require_obeyed()
    if method not in METHODS:
        raise MatrixError(unknown_name("reduction method", method, METHODS))
    given: dict[str, Any] = {"modes": modes, "tolerance": tolerance, "band": band}
    if method == "choose" and modes is not None:
        raise MatrixError('"choose" finds the number of modes; give it a band and a tolerance, or name a method.')
    if method == "irka" and (modes is None or tolerance is not None):
        raise MatrixError('"irka" needs the number of modes, and takes no tolerance.')
    if band is None and method in ("choose", "gramian", "balanced-truncation", "irka"):
        raise MatrixError(f"Reduction by {method!r} needs a band, (0, highest frequency of interest).")
    given = {key: value for key, value in given.items() if value is not None}
    return METHODS[method](model, reference_frame=reference_frame, inputs=inputs, **given)
