"""Relative motion of the two markers of a joint: coordinates of all its degrees of freedom, their rates and
accelerations.

With the position `d` of marker `b` relative to marker `a` and the relative attitude `S = R_a^T R_b`, both resolved in
marker `a`, the degrees of freedom of a joint are the components of `d` and the rotations that its equations leave free.
"""

import numpy as np
from jaxtyping import Float

from flexmb.errors import JointError
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import Joint
from flexmb.results.attitude import attitude_as
from flexmb.results.motion import FrameMotion, Motion, frame_motion

AXES = "xyz"


def joint_dofs(joint: Joint) -> tuple[str, ...]:
    """The names of a joint's degrees of freedom, driven ones too: "translation x" to "rotation z", in this order.

    They are translations along and rotations about the axes of its markers; z is the axis of the joint. A universal
    joint has "rotation x" about its axis, fixed in its first body, and "rotation y" about the second axis, fixed in its
    second body. A constant-velocity joint has the two components "rotation x" and "rotation y" of the rotation that
    takes one shaft to the other. A prescribed motion has all translations and "rotation z".
    """
    free = JOINTS[joint.kind].free_axes if joint.kind in JOINTS else (0, 1, 2, 5) if joint.kind == "prescribed" else ()
    return tuple(f"{'translation' if k < 3 else 'rotation'} {AXES[k % 3]}" for k in free)


def chosen_dof(joint: Joint, dof: str | None) -> str:
    """The degree of freedom selected by `dof`: its name; "rotation" and "translation" are those about and along z, or
    the only ones. None selects z as `System.drive` does, or the only one.

    Raises `JointError`, which lists the names, when the joint does not have it or has several.
    """
    names = joint_dofs(joint)
    if dof in names:
        return str(dof)
    sort = [name for name in names if dof is None or name.startswith(f"{dof} ")]
    about_z = [name for name in ("rotation z", "translation z") if name in sort and not _free_ball(joint, name)]
    chosen = about_z[:1] if about_z else sort
    if len(chosen) != 1:
        found = "no degree of freedom is named" if dof is None else f"found dof={dof!r}"
        raise JointError(
            f"Joint {joint.name!r} ({joint.kind}): {found}. Name one of: {', '.join(map(repr, names)) or 'none'}."
        )
    return chosen[0]


def coordinate_motion(
    motion: Motion, joint: Joint, dof: str
) -> tuple[Float[np.ndarray, "nt"], Float[np.ndarray, "nt"], Float[np.ndarray, "nt"]]:
    """The coordinate (nt,) of a joint's degree of freedom, its rate and its acceleration.

    Angles (radians) are zero in the configuration as modelled, displacements where the places coincide. Rotations about
    z of joints that turn about their axis count all turns; other angles are continuous over the stored times. If all
    three rotations are free (a ball joint), and in a constant-velocity joint, the coordinates are the components, in
    marker `a`, of the rotation vector of `S`, at most half a turn long; rate and acceleration are then the components
    of the relative angular velocity and of its derivative in marker `a`, which are not derivatives of the rotation
    vector.
    """
    a, b = (frame_motion(motion, motion.mechanism.markers[k].name) for k in joint.markers)
    k = AXES.index(dof[-1])
    if dof.startswith("translation"):
        d, rate, second = _translation(a, b)
        return d[:, k], rate[:, k], second[:, k]
    omega, omegadot = _relative_turning(a, b)
    S = np.einsum("tki,tkj->tij", a.axes, b.axes)
    turning = [AXES.index(name[-1]) for name in joint_dofs(joint) if name.startswith("rotation")]
    if len(turning) == 3 or (joint.kind in JOINTS and JOINTS[joint.kind].bends):
        return attitude_as(S, "rotation-vector")[:, k], omega[:, k], omegadot[:, k]
    axis = np.tile(np.eye(3)[k], (len(S), 1))
    if len(turning) == 1:
        i, j = (k + 1) % 3, (k + 2) % 3
        if joint.markers in motion.mechanism.turning and k == 2:
            angle = motion.angles[:, motion.mechanism.turning.index(joint.markers)]
        else:
            angle = np.unwrap(np.arctan2(S[:, j, i], S[:, i, i]))
    else:  # axis i is fixed in a, axis j in b, S = Rot_i(alpha) Rot_j(beta)
        i, j = _fixed_axes(joint)
        other = 3 - i - j
        sign = 1.0 if (j - i) % 3 == 1 else -1.0
        if k == i:
            angle = np.unwrap(np.arctan2(sign * S[:, other, j], S[:, j, j]))
        else:
            angle, axis = np.unwrap(np.arctan2(sign * S[:, i, other], S[:, i, i])), S[:, :, j]
    return np.asarray(angle), (omega * axis).sum(axis=1), (omegadot * axis).sum(axis=1)


def _free_ball(joint: Joint, name: str) -> bool:
    """Whether a rotation is one of several, none of which is about a lasting axis z."""
    return name == "rotation z" and sum(dof.startswith("rotation") for dof in joint_dofs(joint)) > 1


def _fixed_axes(joint: Joint) -> tuple[int, int]:
    """The axis fixed in marker a and that fixed in marker b of a joint with two rotations."""
    return next((row[1], row[2]) for row in JOINTS[joint.kind].equations if row[0] == "dot")


def _translation(a: FrameMotion, b: FrameMotion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`d` (nt, 3) and its first and second rates, in marker a."""
    d, velocity = b.position - a.position, b.velocity - a.velocity
    omega = a.angular_velocity
    rate = velocity - np.cross(omega, d)
    second = b.acceleration - a.acceleration - np.cross(a.angular_acceleration, d)
    second = second - np.cross(omega, np.cross(omega, d)) - 2 * np.cross(omega, rate)
    d, rate, second = (np.einsum("tki,tk->ti", a.axes, x) for x in (d, rate, second))
    return d, rate, second


def _relative_turning(a: FrameMotion, b: FrameMotion) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity (nt, 3) of marker b relative to marker a and its derivative, in marker a."""
    omega = b.angular_velocity - a.angular_velocity
    rate = b.angular_acceleration - a.angular_acceleration - np.cross(a.angular_velocity, omega)
    return np.einsum("tki,tk->ti", a.axes, omega), np.einsum("tki,tk->ti", a.axes, rate)
