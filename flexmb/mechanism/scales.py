"""Scales of a mechanism, to which thresholds and difference steps are relative, so that results do not depend on the
unit system.

Lengths are relative to `Mechanism.length`. Displacements and velocities are scaled by `CompiledModel.weight`: the
displacement over that length, or the angle, per unit of each entry of `w`. Times are relative to the inverse of
`rate_of`, which is `CompiledModel.scales[1]`.
"""

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import DISTANCE, FORCES, TRANSLATION, CompiledModel
from flexmb.mechanism.mechanism import Mechanism


def speed_of(w: Float[np.ndarray, "nv"], weight: Float[np.ndarray, "nv"]) -> float:
    """The largest of the velocities `w` (nv,), scaled by `weight` (nv,): in lengths of the mechanism, or radians, per
    unit of time."""
    return float((np.abs(w) * weight).max(initial=0.0))


def rate_of(mechanism: Mechanism, weight: Float[np.ndarray, "nv"]) -> float:
    """The characteristic rate of a mechanism, in radians per unit of time.

    It is the largest of the initial speeds, drivers included, and of the square roots of the accelerations due to
    gravity and loads. If all of these vanish, it is the lowest natural frequency of the elastic coordinates and springs
    or the slowest decay rate of the dampers; if the model has no time scale, it is one.
    """
    length, mass = mechanism.length, sum(b.invariants.mass for b in mechanism.bodies)
    speeds = [speed_of(mechanism.initial.w, weight)]
    speeds += [abs(speed) / (length if row.kind == TRANSLATION else 1.0) for row, speed in mechanism.start_rows]
    accelerations = [float(np.linalg.norm(mechanism.gravity)) / length]
    for load in mechanism.loads:
        accelerations.append(float(np.linalg.norm(load.wrench[:3])) / (mass * length))
        accelerations.append(float(np.linalg.norm(load.wrench[3:])) / (mass * length**2))
    functions = mechanism.function_values(mechanism.initial.t) if mechanism.joint_rows else np.zeros((0, 3))
    for row in mechanism.rows[: mechanism.joint_rows]:
        if row.function >= 0:
            unit = length if row.kind in (TRANSLATION, DISTANCE) else 1.0
            speeds.append(abs(functions[row.function, 1]) / unit)
            accelerations.append(abs(functions[row.function, 2]) / unit)
    moving = max(*speeds, *np.sqrt(accelerations))
    if moving > 0:
        return float(moving)
    slow = [np.sqrt(k) for b in mechanism.bodies for k in b.stiffness]
    for row in mechanism.rows[mechanism.joint_rows :]:
        inertia = mass if row.kind in FORCES else mass * length**2
        slow += [np.sqrt(row.stiffness / inertia), row.damping / inertia]
    return float(min((x for x in slow if x > 0), default=1.0))


def rate_at(flat: CompiledModel, w: Float[np.ndarray, "nv"], wdot: Float[np.ndarray, "nv"]) -> float:
    """The characteristic rate at a state with velocities `w` (nv,) and accelerations `wdot` (nv,), the scale of
    velocity changes there: the largest of its speed, the square root of its acceleration and the rate of the
    mechanism."""
    return max(speed_of(w, flat.weight), speed_of(wdot, flat.weight) ** 0.5, float(flat.scales[1]))


def force_units(flat: CompiledModel) -> Float[np.ndarray, "nj"]:
    """Scale factors (nj,) that make the multipliers comparable: one for forces, the length of the mechanism for
    moments."""
    length = flat.scales[0]
    kinds = flat.row_kind[: flat.joint_rows]
    return np.where(np.isin(kinds, FORCES), 1.0, length)
