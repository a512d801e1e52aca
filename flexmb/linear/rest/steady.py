"""Steady motion: drivers at their speeds, bodies that are carried along, and whether the motion remains balanced."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from fem.axes.limits import is_number
from flexmb.equations.evaluation import angles_near
from flexmb.equations.initial_conditions import accelerations, row_jacobian, scale_of_rows, start_jacobian
from flexmb.equations.projection import mass_weighted_projection
from flexmb.errors import EquilibriumError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.calls import displace
from flexmb.linear.rest.record import Equilibrium
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import TimeFunction, polynomial
from flexmb.spatial.layout import pose

STEADY = 1e-6
MOST_CHANGES = 1000
"""Largest number of changes of a function of time that are examined for its steady part; one with more is periodic."""
LATER = 0.2
"""Rotation (radians), or displacement relative to the length, after which the steadiness of a motion is checked."""


def require_time(t: float | None) -> None:
    """Raise `EquilibriumError` when the time of an equilibrium is neither None nor a finite number."""
    if t is not None and not is_number(t):
        raise EquilibriumError(f"The time t of an equilibrium or a steady motion is a finite number; found {t!r}.")


def at_speed(mechanism: Mechanism, t: float | None) -> Mechanism:
    """The mechanism with the steady functions of time at `t`.

    Drivers have, from their initial position, their speeds at the time `t`; other functions of time keep their values.

    Raises `EquilibriumError` for a driver that still accelerates at `t`, and a time that is no finite number.
    """
    require_time(t)
    begin = mechanism.initial.t
    driving = {row.function for row in mechanism.rows[: mechanism.joint_rows] if row.function >= 0}
    t = max((_settled(mechanism.functions[k], begin) for k in driving), default=begin) if t is None else t
    if t == begin:
        return mechanism
    functions = []
    for k, motion in enumerate(mechanism.functions):
        value, rate, acceleration = motion(t)
        if k in driving:
            start = motion(begin)[0]
            span = abs(t - begin)
            if abs(acceleration) * span**2 > STEADY * (abs(rate) * span + abs(value - start)):
                raise EquilibriumError(
                    f"The driver {motion.description!r} of {mechanism.name!r} still accelerates at t = {t:.6g}, by "
                    f"{acceleration:.4g}. Give a time at which its speed is constant."
                )
            rate = 0.0 if abs(rate) * span <= STEADY**2 * abs(value - start) else rate
            value = start - rate * begin
        functions.append(polynomial(value, rate if k in driving else 0.0))
    return replace(mechanism, functions=tuple(functions))


def _settled(motion: TimeFunction, t: float) -> float:
    """The time after which the rate of a function of time is known to be constant; `t` if there is none."""
    ahead = getattr(motion, "ahead", None)
    if ahead is None:
        return t
    time = t
    for _ in range(MOST_CHANGES):
        change, feature = ahead(time)
        if not np.isfinite(change):
            return time if not np.isfinite(feature) else t
        time = change
    return t


def carried_along(mechanism: Mechanism, state: State) -> State:
    """The state with velocities at which no spring changes its length.

    Moving bodies keep their velocities, and bodies that only springs connect to them move with them. If this is
    impossible, joints keep their given initial speeds; otherwise the velocities are those nearest to the state's.
    """
    flat, functions = compiled(mechanism), mechanism.function_values(state.t)
    J = row_jacobian(mechanism, flat, state.q, functions)[1]
    nj = mechanism.joint_rows
    held = np.concatenate([np.ones(nj, bool), flat.row_stiffness[nj:] > 0])
    rates = np.where(flat.row_function >= 0, functions[flat.row_function, 1], 0.0)
    rates[nj:] = 0.0
    if not held.any():
        return state
    rigid = np.concatenate([np.arange(s, s + 6) for s in flat.v_start[:-1]])
    moving = rigid.reshape(-1, 6)[state.w[rigid].reshape(-1, 6).any(axis=1)].ravel()
    springs = [(J[held], rates[held])]
    start = [(start_jacobian(mechanism, state.q), np.array([speed for _, speed in mechanism.start_rows]))]
    start = start if mechanism.start_rows else []
    keep = [(sp.eye(len(state.w), format="csr")[moving], state.w[moving])]
    for equations in (springs + start + keep, springs + start, springs):
        G, target = sp.vstack([g for g, _ in equations], format="csr"), np.concatenate([x for _, x in equations])
        w = state.w + mass_weighted_projection(G, target - G @ state.w, flat, deform=False)
        if (np.abs(G @ w - target) <= STEADY * (abs(G) @ np.abs(w) + np.abs(target))).all():
            break
    return replace(state, w=w)


def in_world(flat: CompiledModel, state: State) -> np.ndarray:
    """Velocities (6 nb,) in world axes: of each body's point at the origin of the world, and angular velocity."""
    out = []
    for b in range(len(flat.modes)):
        r, R, s = *pose(flat, state.q, b), flat.v_start[b]
        omega = R @ state.w[s + 3 : s + 6]
        out += [R @ state.w[s : s + 3] - np.cross(omega, r), omega]
    return np.concatenate(out)


def in_bodies(flat: CompiledModel, q: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Velocities (nv,) of rigid bodies in body axes, from those of `in_world`."""
    w = np.zeros(len(flat.weight))
    for b in range(len(flat.modes)):
        (r, R), s = pose(flat, q, b), flat.v_start[b]
        v, omega = world[6 * b : 6 * b + 3], world[6 * b + 3 : 6 * b + 6]
        w[s : s + 3], w[s + 3 : s + 6] = R.T @ (v + np.cross(omega, r)), R.T @ omega
    return w


def require_steady(found: Equilibrium, world: np.ndarray, t: float) -> None:
    """Raise `EquilibriumError` unless the motion is still balanced, and its joints closed, a little later."""
    mechanism, state = found.mechanism, found.state
    flat, nj = compiled(mechanism), mechanism.joint_rows
    speed = float((np.abs(state.w) * flat.weight).max(initial=0.0))
    if speed == 0:
        return
    later = LATER / speed
    q = np.empty_like(state.q)
    displace(flat, state.q, later * state.w, q)
    functions = mechanism.function_values(t + later)
    opened = row_jacobian(mechanism, flat, q, functions)[0][:nj] / scale_of_rows(mechanism)
    widest = float(np.abs(opened).max(initial=0.0))
    changed = accelerations(
        mechanism,
        replace(state, t=t + later, q=q, w=in_bodies(flat, q, world), angles=angles_near(mechanism, q, state.angles)),
        functions,
    )[0]
    scale = speed**2 + float(np.linalg.norm(mechanism.gravity)) / mechanism.length
    sizes = np.abs(changed) * flat.weight / scale
    if widest > STEADY or sizes.max(initial=0.0) > STEADY:
        body = mechanism.bodies[int(np.searchsorted(flat.v_start, int(sizes.argmax()), side="right")) - 1].name
        raise EquilibriumError(
            f"{mechanism.name!r} does not move steadily: {later:.3g} later its joints are open by {widest:.3g} of its "
            f"length or rad, and {body!r} accelerates by {sizes.max(initial=0.0):.2g}, relative to the effects of "
            "speed and gravity. Steady motion needs drivers of constant speed, gravity along the axis, and a mechanism "
            "that rotates as one body or whose parts keep their shape as they rotate. steady_running finds motions in "
            "which joints keep their rates, such as rotors on arms that their weight bends."
        )
