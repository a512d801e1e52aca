"""Axles of wheels: the frames of tyres, and whether wheels turn about the axles of their tyres."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fem.axes.limits import scaled
from flexmb.errors import MechanismError
from flexmb.mechanism.mechanism import FrameForce, Joint, Marker
from flexmb.spatial.lie import frame_with_axis

TURNS = ("revolute", "cylindrical")
"""Kinds of joints about whose z axis a body turns."""
PARALLEL, ANOTHER = 1e-6, np.pi / 4
"""Angles (rad) between the axis of a joint and an axle below which they are one, and from which the joint does not
carry the wheel, such as a kingpin."""


def frame_about_axle(
    axle: Float[np.ndarray, "3"], frame: Float[np.ndarray, "3 3"], what: str
) -> Float[np.ndarray, "3 3"]:
    """The frame (3, 3; axes as columns) with y along `axle`, and x across it and z of `frame`.

    Raises `MechanismError`, which begins with `what`, when the axle is along z of `frame`.
    """
    along = scaled(axle)
    ahead = np.cross(along, frame[:, 2])
    if not np.linalg.norm(ahead) > PARALLEL * np.linalg.norm(along):
        found = ", ".join(f"{x:.6g}" for x in axle)
        raise MechanismError(f"{what} is ({found}), expected a direction across its axis, z of the frames.")
    return frame_with_axis(np.cross(ahead, along), ahead)


def require_axles(
    forces: Sequence[FrameForce],
    pairs: Sequence[tuple[int, int]],
    joints: Sequence[Joint],
    markers: Sequence[Marker],
    attitudes: Sequence[Float[np.ndarray, "3 3"]],
) -> None:
    """Raise `MechanismError` when a wheel turns about another axis than that of its tyre.

    `pairs`: the markers of each of the `forces`; `attitudes`: of the bodies as drawn.
    """
    for force, (_, k) in zip(forces, pairs, strict=True):
        wheel = markers[k]
        if not force.call.law.axle or wheel.body < 0:
            continue
        own = [
            (j.name, markers[m].axes[:, 2])
            for j in joints
            for m in j.markers
            if markers[m].body == wheel.body and j.kind in TURNS
        ]
        found = [(_angle(axis, wheel.axes[:, 1]), name, axis) for name, axis in own]
        angle, joint, axis = min(found, key=lambda x: x[0], default=(0.0, "", wheel.axes[:, 1]))
        if PARALLEL < angle < ANOTHER:
            drawn = attitudes[wheel.body] @ axis
            raise MechanismError(
                f"The axle of {force.name!r}, y of its frame {wheel.name!r}, is at {np.degrees(angle):.3g} degrees to "
                f"the axis of {joint!r}, about which the wheel turns, so that the tyre would wobble. Give the axle as "
                f"it is drawn: axle=({', '.join(f'{x:.9g}' for x in drawn)})."
            )


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """The angle (rad) between two lines along unit vectors, exact for small ones."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))
