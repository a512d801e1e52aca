"""The mechanism that a model function builds from parameters."""

from collections.abc import Callable, Mapping

import numpy as np

from flexmb.errors import StudyError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import (
    Mechanism,
    refuse_contact_groups,
    refuse_controllers,
    refuse_friction,
    refuse_lines,
    refuse_velocity_matrices,
)
from flexmb.mechanism.system import System

Model = Callable[..., System | Mechanism]


def mechanism_of(model: Model, values: Mapping[str, float]) -> Mechanism:
    """The mechanism for parameter values. Raises `StudyError` when the model returns something else."""
    made = model(**values)
    if not isinstance(made, System | Mechanism):
        raise StudyError(f"The model function must return a System or a Mechanism; found {type(made).__name__}.")
    return made.build() if isinstance(made, System) else made


def refuse_frame_forces(mechanism: Mechanism) -> None:
    """Raise `StudyError` when a mechanism has force elements between frames, whose derivatives are unknown."""
    if mechanism.frame_forces:
        raise StudyError(
            f"The adjoint and the direct method do not include the derivatives of force elements between frames: "
            f"{', '.join(repr(force.name) for force in mechanism.frame_forces)} of {mechanism.name!r}. Use "
            "flexmb.study.gradient, which takes differences."
        )
    refuse_lines(mechanism, "The adjoint or direct method")
    refuse_velocity_matrices(mechanism, "The adjoint or direct method")
    refuse_friction(mechanism, "The adjoint or direct method")
    refuse_contact_groups(mechanism, "The adjoint or direct method")
    refuse_controllers(mechanism, "The adjoint or direct method")


def require_alike(a: Mechanism, b: Mechanism) -> None:
    """Raise `StudyError` when two mechanisms differ in more than numbers."""
    x, y = compiled(a), compiled(b)
    structure = ("modes", "slices", "marker_body", "row_kind", "row_markers", "row_axes", "row_function")
    further = ("term_row", "term_markers", "term_kind", "load_marker", "load_function")
    for name in (*structure, *further):
        if not np.array_equal(getattr(x, name), getattr(y, name)):
            raise StudyError(
                "A parameter changes the structure of the mechanism (bodies, elastic coordinates, joints, forces, "
                "loads), not only its numbers: derivatives do not exist there."
            )
