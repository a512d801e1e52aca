"""Sticking and sliding of joints with dry friction at one instant.

A joint that moves slides, in the direction of its rate. One at rest sticks if an effort within its bound holds it, and
otherwise begins to slide in the direction of its acceleration. As bounds depend on reactions, and reactions on what
sticks, the modes of all joints at rest are found together: all stick at first; the joint with the largest excess over
its bound is released; a joint that does not accelerate in the direction in which it was released is stopped again.
"""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.errors import EventError, FrictionWarning
from flexmb.kernels.base.data import CompiledModel
from flexmb.mechanism.locking import LockedJoint, with_locked_joints, with_sliding
from flexmb.mechanism.mechanism import JointFriction, Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import TimeFunction

ROUNDING = 1e-11
"""Rounding error of a sliding rate, relative to the rates of the bodies that it combines, or to the characteristic rate
of the mechanism."""
EXCEEDED = 1e-12
"""Excess of the holding effort over its bound, relative to the bound, that rounding may cause."""
YIELDING = 1 - 1e-9
"""Holding effort relative to its bound from which on a joint slides at the instant at which the bound is reached."""
STILL = 1e-10
"""Rounding error of the acceleration of a coordinate, relative to the accelerations that it combines, or to that of the
characteristic rate of the mechanism."""
LARGEST = 1e6
"""Upper bound of holding efforts relative to their bounds, for joints without load."""
BLOCKED = 1e-10
"""Response of a coordinate to an effort, relative to the response without joints, below which it is prescribed."""
CHANGES = 20
"""Changes of mode of each joint in the search, on average, after which it has failed."""


class Modes(NamedTuple):
    """Which joints with friction slide, with the sign of their rate (0: a driver holds the joint), and which stick; by
    names of the frictions."""

    sliding: dict[str, float]
    sticking: list[str]


class Rounded(NamedTuple):
    """A number and its rounding error."""

    value: float
    noise: float


def warn_of_shared_reactions(mechanism: Mechanism, redundant: Collection[str]) -> None:
    """Warn with `FrictionWarning` of friction in joints with `redundant` equations, whose reactions are not unique."""
    shared = [f for f in mechanism.frictions if f.joint in redundant]
    if shared:
        warnings.warn(
            f"The reactions of {', '.join(sorted({repr(f.joint) for f in shared}))} of {mechanism.name!r} are not "
            f"unique, because joint equations are redundant, and neither is the friction of "
            f"{', '.join(repr(f.name) for f in shared)}, which uses those of least norm. Use joints with fewer "
            "equations, or make a body flexible.",
            FrictionWarning,
            stacklevel=3,
        )


def locked_coordinate(friction: JointFriction, value: float | TimeFunction) -> LockedJoint:
    """The equation that holds the coordinate of a joint that sticks."""
    return LockedJoint(friction.stuck, friction.joint, value, friction.dof)


def usual_rate(flat: CompiledModel, friction: JointFriction) -> float:
    """The characteristic rate of the mechanism, in units of the sliding rate of a joint."""
    length, rate = flat.scales
    return float(rate if friction.dof == "rotation" else rate * length)


def sliding_rates(mechanism: Mechanism, state: State) -> dict[str, Rounded]:
    """The sliding rate of each joint with friction."""
    e = _evaluated(mechanism, state)
    G = _rows(mechanism, e)
    acting = _acting(mechanism)
    least = np.array([usual_rate(e.flat, f) for f in acting])
    rates, noise = G @ state.w, ROUNDING * np.maximum(abs(G) @ np.abs(state.w), least)
    return {f.name: Rounded(float(x), float(error)) for f, x, error in zip(acting, rates, noise, strict=True)}


def at_rest(mechanism: Mechanism, state: State, names: Collection[str]) -> State:
    """The state with zero sliding rates of the joints with the frictions `names`; their rounding errors vanish."""
    if not names:
        return state
    own = [f for f in _acting(mechanism) if f.name in names]
    held = with_locked_joints(mechanism, [locked_coordinate(f, 0.0) for f in own])
    return replace(state, w=_admitted(held, replace(state, angles=held.angles_of(mechanism, state.angles)))[1])


def modes_of(
    mechanism: Mechanism,
    state: State,
    resting: Collection[str],
    yielding: Collection[str] = (),
    driven: Collection[str] = (),
) -> Modes:
    """The modes at a state in which the joints with the frictions `resting` have no sliding rate.

    The holding efforts of those of them that are `yielding` are at their bounds and increase. `mechanism` has the locks
    and contacts in force, and no sliding directions. A joint at rest that is `driven` (by drivers, locks or contacts)
    neither sticks nor slides.

    Raises `EventError` when no modes satisfy the conditions.
    """
    frictions = {f.name: f for f in _acting(mechanism)}
    moving = {n: float(np.sign(r.value)) for n, r in sliding_rates(mechanism, state).items() if n not in resting}
    sticking, released = [n for n in frictions if n in resting and n not in driven], dict[str, float]()
    for _ in range(CHANGES * (len(frictions) + 1)):
        held = _held(mechanism, state, {**moving, **released}, [frictions[n] for n in sticking])
        accelerations = held.accelerations
        over = [n for n in sticking if abs(held.efforts[n]) > (YIELDING if n in yielding else 1 + EXCEEDED)]
        wrong = [
            n
            for n, sign in released.items()
            if n not in yielding and sign * accelerations[n].value < -accelerations[n].noise
        ]
        if over:
            worst = max(over, key=lambda n: abs(held.efforts[n]))
            sticking.remove(worst)
            released[worst] = float(np.sign(held.efforts[worst]))
        elif wrong:
            sticking += wrong
            released = {n: sign for n, sign in released.items() if n not in wrong}
        else:
            at_rest_by_drivers = dict.fromkeys((n for n in frictions if n in resting and n in driven), 0.0)
            return Modes({**moving, **released, **at_rest_by_drivers}, sticking)
    raise EventError(
        f"At t = {state.t:.6g} no combination of sticking and sliding of {', '.join(map(repr, resting))} of "
        f"{mechanism.name!r} satisfies the laws of friction. Let static and sliding coefficients be closer."
    )


def prescribed_rates(mechanism: Mechanism, state: State) -> dict[str, float]:
    """The sliding rates of all joints with friction at the velocities nearest to those of the state that drivers and
    joints admit."""
    e, w = _admitted(mechanism, state)
    rates = _rows(mechanism, e) @ w
    return {f.name: float(rate) for f, rate in zip(_acting(mechanism), rates, strict=True)}


def holding_efforts(mechanism: Mechanism, state: State) -> dict[str, float]:
    """The efforts that hold the joints that stick, relative to their bounds; `mechanism` has their equations."""
    return _balance(mechanism, replace(state, w=_admitted(mechanism, state)[1])).efforts


class Held(NamedTuple):
    """Of the joints that stick, the holding effort relative to its bound, positive if they would slide in positive
    direction; of all joints with friction, the acceleration of the coordinate."""

    efforts: dict[str, float]
    accelerations: dict[str, Rounded]


def _held(
    mechanism: Mechanism, state: State, sliding: Mapping[str, float], sticking: Collection[JointFriction]
) -> Held:
    locks = [locked_coordinate(f, 0.0) for f in sticking]
    variant = with_sliding(with_locked_joints(mechanism, locks), sliding)
    return _balance(variant, replace(state, angles=variant.angles_of(mechanism, state.angles)))


def _balance(mechanism: Mechanism, state: State) -> Held:
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    wdot, multipliers = e.accelerations(mechanism.function_values(state.t), state.q, state.w)
    there = [f.name for f in mechanism.frictions if f.joint in {joint.name for joint in mechanism.joints}]
    bounds = dict(zip(there, e.friction_bounds(multipliers).tolist(), strict=True))
    names, efforts, accelerations = {joint.name for joint in mechanism.joints}, {}, {}
    G = _rows(mechanism, e)
    least = [e.flat.scales[1] * usual_rate(e.flat, f) for f in _acting(mechanism)]
    values, noise = G @ wdot, STILL * np.maximum(abs(G) @ np.abs(wdot), least)
    for k, friction in enumerate(_acting(mechanism)):
        accelerations[friction.name] = Rounded(float(values[k]), float(noise[k]))
        if friction.stuck in names:
            effort = float(multipliers[mechanism.joint(friction.stuck).rows[0]])
            smallest = abs(effort) / LARGEST
            efforts[friction.name] = effort / max(friction.static * bounds[friction.name], smallest) if effort else 0.0
    return Held(efforts, accelerations)


def driven_frictions(mechanism: Mechanism, state: State) -> list[str]:
    """The frictions of those joints whose motion drivers, locks and contacts prescribe."""
    e, everything, found = _evaluated(mechanism, state), range(mechanism.joint_rows), []
    rows, none = _rows(mechanism, e).toarray(), np.zeros(mechanism.joint_rows)
    for friction, g in zip(_acting(mechanism), rows, strict=True):
        alone = g @ e.on_joints(g, none, everything)[0]
        if not g @ e.on_joints(g, none)[0] > BLOCKED * alone:
            found.append(friction.name)
    return found


def _acting(mechanism: Mechanism) -> list[JointFriction]:
    there = {joint.name for joint in mechanism.joints}
    return [f for f in mechanism.exact_frictions if f.joint in there]


def _rows(mechanism: Mechanism, e: Equations) -> sp.csr_matrix:
    """The Jacobian (nf, nv) of the coordinates of the joints with exact friction at the last state."""
    return as_sparse(e.flat, e.workspace.G)[[mechanism.force_elements[f.name][0] for f in _acting(mechanism)]]


def _admitted(mechanism: Mechanism, state: State) -> tuple[Equations, np.ndarray]:
    """The equations at a state, and the velocities (nv,) nearest to those of the state that drivers and joints
    admit."""
    e = _evaluated(mechanism, state)
    return e, state.w - e.mass_weighted_projection(e.broken_rates(mechanism.function_values(state.t), state.w))


def _evaluated(mechanism: Mechanism, state: State) -> Equations:
    """The equations with the Jacobian of all rows at a state."""
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    still = np.zeros_like(state.w)
    e.residual(mechanism.function_values(state.t), state.q, still, still, np.zeros(mechanism.joint_rows))
    return e
