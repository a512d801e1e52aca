"""Measures of a result, named by a text such as `position:rod.end:z`, `force:bearing:x` or `coordinate:hinge`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fem.errors import unknown_name
from flexmb.errors import MeasureError
from flexmb.kernels.base.data import ANGLE
from flexmb.mechanism.control.signals import MATRIX, ROTATION, renamed_rotation
from flexmb.results.attitude import is_sequence
from flexmb.results.elements.motion import acting
from flexmb.results.reactions import coordinate_in
from flexmb.results.table import Column

Measure = Callable[[Any], np.ndarray]
"""A function of a `Result`, which imports this file, that returns one number for each time."""

WHOLE = "*"
"""The name that stands for the whole mechanism in measures of momenta."""


def _momentum(result: Any, name: str) -> np.ndarray:
    return result.linear_momentum(None if name == WHOLE else name)


def _angular_momentum(result: Any, name: str) -> np.ndarray:
    body, _, about = name.partition("@")
    numbers = _numbers(about)
    place = (about or "mass centre") if numbers is None else numbers
    return result.angular_momentum(None if body == WHOLE else body, about=place)


def _at(method: str) -> Callable[[Any, str], np.ndarray]:
    """The method of a result for a marker, a body, "BODY@x,y,z" (a point) or "BODY@node 17"."""

    def of(result: Any, name: str) -> np.ndarray:
        body, at, where = name.partition("@")
        if not at:
            return getattr(result, method)(name)
        numbers, node = _numbers(where), where.removeprefix("node ")
        if where.startswith("node ") and node.isdecimal():
            return getattr(result, method)(body, node=int(node))
        if numbers is None:
            raise MeasureError(
                f'A point of a body is "BODY@x,y,z" in its frame, or "BODY@node NUMBER" of its mesh; found {name!r}.'
            )
        return getattr(result, method)(body, point=numbers)

    return of


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        return None


def _wrench(result: Any, name: str) -> np.ndarray:
    """The reaction of a joint, or the force and moment of a force element, exact contact or load."""
    return result.force(name) if name in acting(result.mechanism) else result.reaction(name)


VECTORS: dict[str, tuple[Callable[[Any, str], np.ndarray], str]] = {
    "position": (_at("position"), "length"),
    "velocity": (_at("velocity"), "velocity"),
    "acceleration": (_at("acceleration"), "acceleration"),
    "angular-velocity": (lambda result, name: result.angular_velocity(name), "angular velocity"),
    "angular-acceleration": (lambda result, name: result.angular_acceleration(name), "angular acceleration"),
    "deflection": (lambda result, marker: result.deflection(marker), "length"),
    "force": (lambda result, name: _wrench(result, name)[:, :3], "force"),
    "moment": (lambda result, name: _wrench(result, name)[:, 3:], "moment"),
    "mass-centre": (lambda result, name: result.mass_centre(None if name == WHOLE else name), "length"),
    "momentum": (_momentum, "momentum"),
    "angular-momentum": (_angular_momentum, "angular momentum"),
}
"""Vectors (nt, 3) by kind, of a result and a name, and what they measure."""
SCALARS: dict[str, tuple[str, dict[str, str]]] = {
    "coordinate": ("coordinate", {"rotation": "angle", "translation": "length"}),
    "rate": ("coordinate_rate", {"rotation": "angular velocity", "translation": "velocity"}),
    "joint-acceleration": (
        "coordinate_acceleration",
        {"rotation": "angular acceleration", "translation": "acceleration"},
    ),
}
"""Methods of a result for the degrees of freedom of joints, and what they measure."""
ELEMENTS: dict[str, dict[str, str]] = {
    "effort": {"rotation": "moment", "translation": "force", "length": "force"},
    "stretch": {"rotation": "angle", "translation": "length", "length": "length"},
    "stretch-rate": {"rotation": "angular velocity", "translation": "velocity", "length": "velocity"},
}
"""Methods of a result for the coordinates of force elements, and what they measure."""
CONTACTS = {
    "gap": ("gap", "length"),
    "normal-force": ("normal_force", "force"),
    "friction-force": ("friction_force", "force"),
    "slip": ("slip", "velocity"),
    "wear-power": ("wear_power", "power"),
}
"""Parts of `ContactMotion`, and what they measure."""
SURFACES = {"pressure": "stress", "contact-area": "area"}
"""Columns of `SurfaceContactMotion`, and what they measure."""
CONTROLLERS = ("command", "input", "state")
"""Parts of controllers; force elements between frames have states, too."""
_AXIS = "KIND:NAME:AXIS with AXIS x, y, z or size, NAME"
FORMS: dict[str, Sequence[str]] = {
    f"{_AXIS} a marker such as rod.end, a body, BODY@x,y,z or BODY@node NUMBER": (
        "position",
        "velocity",
        "acceleration",
    ),
    f"{_AXIS} a marker or body": ("angular-velocity", "angular-acceleration"),
    f"{_AXIS} a marker": ("deflection",),
    f"{_AXIS} a joint, a force element or a load": ("force", "moment"),
    f"{_AXIS} a body, or * for the whole mechanism; BODY@MARKER or BODY@x,y,z: about that point instead of the mass "
    "centre (angular-momentum)": ("mass-centre", "momentum", "angular-momentum"),
    "KIND:JOINT or KIND:JOINT:DOF": tuple(SCALARS),
    "KIND:ELEMENT or KIND:ELEMENT:DOF (a force element), effort also of a driven JOINT and as effort:RELATION:JOINT": (
        tuple(ELEMENTS)
    ),
    "KIND:CONTACT": tuple(CONTACTS),
    "KIND:CONTACT of a flexible surface (the largest pressure)": tuple(SURFACES),
    "KIND:NAME (a force element, a load or a driven joint)": ("power",),
    "KIND:BODY:NUMBER (an elastic coordinate, from 1)": ("elastic", "elastic-rate"),
    "KIND:CONTROLLER:NAME, state also of a force between frames": CONTROLLERS,
    "KIND:NAME:FORM:PART with FORM quaternion (PART w, x, y, z), rotation-vector (x, y, z), matrix (xx to zz: zx is "
    "the component along z of the world of the frame's x axis) or a sequence such as ZYX (1, 2, 3)": ("attitude",),
}
"""Kinds of measures by the form of their texts."""


def _misformed(text: str, kind: str) -> MeasureError:
    """The error of a text of this kind, or of no kind."""
    for form, kinds in FORMS.items():
        if kind in kinds:
            return MeasureError(f"A measure {kind} is {form.replace('KIND', kind)}; found {text!r}.")
    known = "; ".join(f"{form}, KIND {', '.join(kinds)}" for form, kinds in FORMS.items())
    return MeasureError(f"A measure is {known}; found {text!r}.")


@dataclass(frozen=True)
class NamedMeasure:
    """The measure that a `text` names, as a function of a result."""

    text: str
    column: Callable[[Any], Column]

    def __call__(self, result: Any) -> np.ndarray:
        return self.column(result).values


def measure(text: str) -> NamedMeasure:
    """The function that computes the measure named by `text` from a result, as an array (nt,).

    Vectors are in world axes, deflections in the axes of the body. Angles and
    quaternions of an attitude are continuous over the stored times. Raises `MeasureError` when the text has another
    form.
    """
    return NamedMeasure(text, _read(text))


def column(text: str, result: Any) -> Column:
    """The measure named by `text` of a result, with what it measures. Raises `MeasureError` as `measure`."""
    return _read(text)(result)


def _read(text: str) -> Callable[[Any], Column]:
    kind, _, rest = text.partition(":")
    if kind in SCALARS and rest:
        return _coordinate(kind, *rest.partition(":")[::2])
    if kind in ELEMENTS and rest:
        return _element(kind, *rest.partition(":")[::2])
    if kind in CONTACTS and rest:
        part, dimension = CONTACTS[kind]
        return lambda result: Column(getattr(result.contact(rest), part), dimension)
    if kind in SURFACES and rest:
        return lambda result: result.surface_contact(rest).columns()[kind.replace("-", " ")]
    if kind in CONTROLLERS and rest:
        controller, _, part = rest.rpartition(":")
        return lambda result: result.controller_signal(kind, controller, part)
    if kind in ("elastic", "elastic-rate") and rest:
        return lambda result: _elastic(result, text, kind)
    if kind == "power" and rest:
        return lambda result: Column(result.power(rest), "power")
    if kind == "attitude":
        return _attitude(text, rest)
    kinds = [*VECTORS, *SCALARS, *ELEMENTS, *CONTACTS, *SURFACES, *CONTROLLERS]
    kinds += ["elastic", "elastic-rate", "power", "attitude"]
    if kind == ROTATION:
        raise MeasureError(renamed_rotation(text))
    if rest and kind not in kinds:
        raise MeasureError(unknown_name("measure", kind, kinds))
    name, _, axis = rest.rpartition(":")
    if not name or not axis:
        raise _misformed(text, kind)
    if axis not in ("x", "y", "z", "size"):
        raise MeasureError(f"The axis of a measure is x, y, z or size; found {axis!r} in {text!r}.")
    vectors, dimension = VECTORS[kind]
    if axis == "size":
        return lambda result: Column(np.linalg.norm(vectors(result, name), axis=1), dimension)
    number = "xyz".index(axis)
    return lambda result: Column(vectors(result, name)[:, number], dimension)


def _coordinate(kind: str, joint: str, dof: str) -> Callable[[Any], Column]:
    method, dimensions = SCALARS[kind]

    def values(result: Any) -> Column:
        found = getattr(result, method)(joint, dof or None)
        return Column(found, dimensions[result.joint_dof(joint, dof or None).partition(" ")[0]])

    return values


def _element(kind: str, element: str, dof: str) -> Callable[[Any], Column]:
    method, dimensions = kind.replace("-", "_"), ELEMENTS[kind]

    def values(result: Any) -> Column:
        joints = {joint.name: joint for joint in result.mechanism.joints}
        if kind == "effort" and element in joints:
            return _of_joint(result, joints[element], dof)
        found = getattr(result, method)(element, dof or None)
        return Column(found, dimensions[(dof or result.element_dofs(element)[0]).partition(" ")[0]])

    return values


def _of_joint(result: Any, joint: Any, dof: str) -> Column:
    """The effort of a relation on one of its coordinates, or of the driver of a joint."""
    rows = result.mechanism.rows
    if rows[joint.rows[0]].terms:
        whole = coordinate_in(result.mechanism, joint.name, dof)[0]
        found, turning = result.relation_effort(joint.name, whole), whole.endswith(":rotation")
    else:
        found = result.drive_effort(joint.name, dof or None)
        turning = next(rows[r].kind for r in joint.rows if rows[r].function >= 0) == ANGLE
        turning = dof.startswith("rotation") if dof else turning
    return Column(found, "moment" if turning else "force")


def _elastic(result: Any, text: str, kind: str) -> Column:
    body, _, number = text.removeprefix(f"{kind}:").rpartition(":")
    place = result.mechanism.body_index(body)
    modes = result.mechanism.bodies[place].modes
    if not number.isdecimal() or not 1 <= int(number) <= modes:
        raise MeasureError(f"Body {body!r} has the elastic coordinates 1 to {modes}; found {text!r}.")
    values, dimension = (
        (result.elastic(body), "mass^0.5 length")
        if kind == "elastic"
        else (result.elastic_rate(body), "mass^0.5 velocity")
    )
    return Column(values[:, int(number) - 1], dimension)


def _attitude(text: str, rest: str) -> Callable[[Any], Column]:
    name, _, last = rest.rpartition(":")
    name, _, form = name.rpartition(":")
    if name and form == "matrix" and last in MATRIX:
        row, column = ("xyz".index(letter) for letter in last)
        return lambda result: Column(result.attitude(name, form)[:, row, column], "1")
    parts = {"quaternion": "wxyz", "rotation-vector": "xyz"}.get(form, "123" if is_sequence(form) else "")
    if not name or len(last) != 1 or last not in parts:
        raise _misformed(text, "attitude")
    number, dimension = parts.index(last), "1" if form == "quaternion" else "angle"
    return lambda result: Column(result.attitude(name, form)[:, number], dimension)
