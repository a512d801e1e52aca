"""Measures of a result, named by a text such as `position:rod.end:z`, `force:bearing:x` or `coordinate:hinge`."""

from collections.abc import Callable

import numpy as np

from fem.errors import unknown_name
from flexmb.errors import MeasureError
from flexmb.results.result import Result

Measure = Callable[[Result], np.ndarray]

VECTORS: dict[str, Callable[[Result, str], np.ndarray]] = {
    "position": lambda result, marker: result.position(marker),
    "velocity": lambda result, marker: result.velocity(marker),
    "rotation": lambda result, marker: result.angular_velocity(marker),
    "deflection": lambda result, marker: result.deflection(marker),
    "force": lambda result, joint: result.reaction(joint)[:, :3],
    "moment": lambda result, joint: result.reaction(joint)[:, 3:],
}
FORM = (
    "KIND:NAME:AXIS with KIND position, velocity, rotation or deflection (NAME a marker such as rod.end), force or "
    "moment (a joint), AXIS x, y, z or size; or coordinate:JOINT"
)


def measure(text: str) -> Measure:
    """The function that computes the measure named by `text` from a result, as an array (nt,).

    Vectors are in world axes, deflections in the axes of the body. Raises `MeasureError` when the text has another
    form.
    """
    kind, _, rest = text.partition(":")
    if kind == "coordinate" and rest:
        joint, _, dof = rest.partition(":")
        return lambda result: result.coordinate(joint, dof or None)
    name, _, axis = rest.rpartition(":")
    if not name or not axis:
        raise MeasureError(f"A measure is {FORM}; found {text!r}.")
    if kind not in VECTORS:
        raise MeasureError(unknown_name("measure", kind, [*VECTORS, "coordinate"]))
    if axis not in ("x", "y", "z", "size"):
        raise MeasureError(f"The axis of a measure is x, y, z or size; found {axis!r} in {text!r}.")
    vectors = VECTORS[kind]
    if axis == "size":
        return lambda result: np.linalg.norm(vectors(result, name), axis=1)
    column = "xyz".index(axis)
    return lambda result: vectors(result, name)[:, column]
