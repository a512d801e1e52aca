"""The mechanism of a model function at some parameters."""

from collections.abc import Callable, Mapping

import numpy as np

from flexmb.errors import StudyError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System

Model = Callable[..., System | Mechanism]


def mechanism_of(model: Model, values: Mapping[str, float]) -> Mechanism:
    """What the model makes of the parameters."""
    made = model(**values)
    if not isinstance(made, System | Mechanism):
        raise StudyError(f"The model function gives a System or a Mechanism; found {type(made).__name__}.")
    return made.build() if isinstance(made, System) else made


def require_alike(a: Mechanism, b: Mechanism) -> None:
    """Raises `StudyError` when two mechanisms differ by more than numbers."""
    x, y = compiled(a), compiled(b)
    for name in ("modes", "slices", "marker_body", "row_kind", "row_markers", "row_axes", "row_function", "load_marker", "load_function"):  # fmt: skip
        if not np.array_equal(getattr(x, name), getattr(y, name)):
            raise StudyError(
                "A parameter changes what the mechanism is made of (bodies, elastic coordinates, joints, forces, loads), not only its numbers: it has no derivatives there."
            )
