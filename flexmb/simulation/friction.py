"""Sticking and sliding of joints with dry friction at one instant.

A joint that moves slides, against its sliding velocity. One at rest sticks if an effort within its bound holds it, and
otherwise begins to slide in the direction of its acceleration. As bounds depend on reactions, and reactions on what
sticks, the modes of all joints at rest are found together: all stick at first; the joint with the largest excess over
its bound is released; a joint that does not accelerate in the direction in which it was released is stopped again.

In a joint with several free motions, efforts and sliding velocities are vectors. With its response `W` of accelerations
to forces, and the force `F` that would hold it, `a = W (F - b d)`: the direction `d` of its acceleration satisfies
`(b + alpha W^-1) d = F` with `|d| = 1`, which determines `alpha >= 0`. A joint that begins to slide receives a velocity
far below those of the mechanism, `BEGINNING`, so that its state tells the direction.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy
import scipy.sparse as sp

from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.errors import EventError, FrictionWarning
from flexmb.kernels.base.data import CompiledModel
from flexmb.mechanism.locking import LockedJoint, with_locked_joints, with_sliding
from flexmb.mechanism.mechanism import JointFriction, Mechanism
from flexmb.mechanism.scales import speed_of
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import TimeFunction, constant
from flexmb.results.result import EventRecord

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
BEGINNING = 1e-9
"""Sliding velocity of a joint that begins to slide in one of several directions, relative to the largest of the
mechanism."""
TURNED, TURNS = 1e-12, 50
"""Change of the direction in which a joint begins to slide at the end of an iteration, and iterations at most, for
bounds that depend on the direction."""
CHANGES = 20
"""Changes of mode of each joint in the search, on average, after which it has failed."""


class Modes(NamedTuple):
    """Which joints with friction slide, with the sign of their rate (1 in joints with several free motions, 0: a driver
    holds the joint), which stick, and the directions (nc,) in which joints with several free motions begin to slide; by
    names of the frictions."""

    sliding: dict[str, float]
    sticking: list[str]
    begun: dict[str, np.ndarray]


class Slip(NamedTuple):
    """A sliding velocity or acceleration (nc,) and its rounding error."""

    value: np.ndarray
    noise: float

    @property
    def still(self) -> bool:
        """Whether it is zero up to rounding."""
        return float(np.linalg.norm(self.value)) <= self.noise


class Freedom(NamedTuple):
    """What drivers, joints, locks and contacts leave of the free motions of a joint with friction: the `locks` that
    hold it while it sticks, and the part of its forces, a projection (nc, nc), that acts on these motions."""

    locks: tuple[str, ...]
    part: np.ndarray


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


def warn_of_impacts(mechanism: Mechanism, impacts: Mapping[str, bool], happened: Sequence[EventRecord]) -> None:
    """Warn with `FrictionWarning` of the first impact, because joints with friction transmit no impulses of friction in
    it. `impacts`: events that may be one, by their names, and whether they are elastic; the others lose energy."""
    first = next((e for e in happened if e.event in impacts and (e.lost > 0 or impacts[e.event])), None)
    if first is not None and mechanism.frictions:
        warnings.warn(
            f"The impact {first.event!r} at t = {first.t:.6g} loads the joints of {mechanism.name!r} with impulses, in "
            f"which the friction of {', '.join(repr(f.name) for f in mechanism.frictions)} is not included: they slide "
            "through it freely. Where that matters, let a stiff spring act instead of the stop (a one-sided one), a "
            "stiff damper instead of the lock, a law= of the contact instead of an exact one.",
            FrictionWarning,
            stacklevel=3,
        )


def locked_coordinates(friction: JointFriction, values: Mapping[str, float | TimeFunction]) -> list[LockedJoint]:
    """The equations that hold the coordinates of a joint that sticks at `values`, by names of the locks."""
    return [
        LockedJoint(name, friction.joint, values[name], dof) for name, dof in friction.locks.items() if name in values
    ]


def _stopped(friction: JointFriction, locks: Iterable[str]) -> list[LockedJoint]:
    """The equations for zero rates of a joint with friction."""
    return locked_coordinates(friction, dict.fromkeys(locks, constant(0.0)))


def usual_rate(flat: CompiledModel, friction: JointFriction) -> float:
    """The characteristic rate of the mechanism, in units of the sliding rate of a joint."""
    length, rate = flat.scales
    return float(rate if friction.turns else rate * length)


def sliding_velocities(mechanism: Mechanism, state: State) -> dict[str, Slip]:
    """The sliding velocity of each joint with friction."""
    e = _evaluated(mechanism, state)
    return _slips(mechanism, e, state.w, ROUNDING, 1.0)


def at_rest(mechanism: Mechanism, state: State, names: Collection[str]) -> State:
    """The state with zero sliding velocities of the joints with the frictions `names`; their rounding errors vanish."""
    if not names:
        return state
    own = [f for f in _acting(mechanism) if f.name in names]
    held = with_locked_joints(mechanism, [lock for f in own for lock in _stopped(f, f.locks)])
    there = replace(state, angles=held.angles_of(mechanism, state.angles))
    return replace(state, w=_admitted(_evaluated(held, there), there))


def modes_of(
    mechanism: Mechanism,
    state: State,
    resting: Collection[str],
    yielding: Collection[str],
    freedoms: Mapping[str, Freedom],
) -> Modes:
    """The modes at a state in which the joints with the frictions `resting` have no sliding velocity.

    The holding efforts of those of them that are `yielding` are at their bounds and increase. `mechanism` has the locks
    and contacts in force, and no sliding directions. A joint at rest without freedom (because of drivers, locks or
    contacts) neither sticks nor slides.

    Raises `EventError` when no modes satisfy the conditions.
    """
    frictions = {f.name: f for f in _acting(mechanism)}
    moving = {
        n: _sign(frictions[n], s.value) for n, s in sliding_velocities(mechanism, state).items() if n not in resting
    }
    sticking = [n for n in frictions if n in resting and freedoms[n].locks]
    released = dict[str, np.ndarray]()
    for _ in range(CHANGES * (len(frictions) + 1)):
        locks = [lock for n in sticking for lock in _stopped(frictions[n], freedoms[n].locks)]
        held, released = _held(mechanism, state, moving, released, locks, freedoms)
        sizes = {n: float(np.linalg.norm(held.efforts[n])) for n in sticking}
        over = [n for n in sticking if sizes[n] > (YIELDING if n in yielding else 1 + EXCEEDED)]
        wrong = [
            n
            for n, direction in released.items()
            if n not in yielding and direction @ held.accelerations[n].value < -held.accelerations[n].noise
        ]
        if over:
            worst = max(over, key=lambda n: sizes[n])
            sticking.remove(worst)
            released[worst] = held.efforts[worst] / sizes[worst]
        elif wrong:
            sticking += wrong
            released = {n: direction for n, direction in released.items() if n not in wrong}
        else:
            signs = {n: _sign(frictions[n], direction) for n, direction in released.items()}
            without = dict.fromkeys((n for n in frictions if n in resting and not freedoms[n].locks), 0.0)
            begun = {n: direction for n, direction in released.items() if frictions[n].several}
            return Modes({**moving, **signs, **without}, sticking, begun)
    raise EventError(
        f"At t = {state.t:.6g} no combination of sticking and sliding of {', '.join(map(repr, resting))} of "
        f"{mechanism.name!r} satisfies the laws of friction. Let static and sliding coefficients be closer."
    )


def _sign(friction: JointFriction, value: np.ndarray) -> float:
    return 1.0 if friction.several else float(np.sign(value[0]))


def prescribed_velocities(e: Equations, state: State) -> dict[str, np.ndarray]:
    """The sliding velocities (nc,) of all joints with friction at the velocities nearest to those of the state that
    drivers and joints admit.

    It is called at every sample; `e` is used again, since its work arrays take longer to make than to use.
    """
    _evaluate(e, state)
    return {name: slip.value for name, slip in _slips(e.mechanism, e, _admitted(e, state), 0.0, 1.0).items()}


def holding_efforts(e: Equations, state: State, freedoms: Mapping[str, Freedom]) -> dict[str, float]:
    """The efforts that hold the joints that stick, relative to their bounds; the mechanism of `e` has their equations.

    As in `prescribed_velocities`, `e` is used again.
    """
    _evaluate(e, state)
    w = _admitted(e, state)
    multipliers = e.accelerations(e.mechanism.function_values(state.t), state.q, w)[1]
    return {name: float(np.linalg.norm(x)) for name, x in _efforts(e, multipliers, freedoms)[0].items()}


def with_beginnings(mechanism: Mechanism, state: State, begun: Mapping[str, np.ndarray]) -> State:
    """The state with small sliding velocities in the directions `begun` (nc,)."""
    if not begun:
        return state
    e = _evaluated(mechanism, state)
    rows, own = _rows(mechanism, e), [f for f in _acting(mechanism) if f.name in begun]
    fastest = max(1.0, speed_of(state.w, e.flat.weight) / e.flat.scales[1])
    wanted = np.concatenate(
        [BEGINNING * fastest * usual_rate(e.flat, f) * begun[f.name] / np.array(f.arms) for f in own]
    )
    G = sp.vstack([rows[f.name] for f in own])
    X = _responses(e, G)
    return replace(state, w=state.w + X.T @ np.linalg.lstsq(G @ X.T, wanted)[0])


class Held(NamedTuple):
    """Of the joints that stick, the force (nc,) that they resist, relative to its bound; of all joints with friction,
    the sliding acceleration, and the largest force while they slide."""

    efforts: dict[str, np.ndarray]
    accelerations: dict[str, Slip]
    bounds: dict[str, float]


def _held(
    mechanism: Mechanism,
    state: State,
    moving: Mapping[str, float],
    released: Mapping[str, np.ndarray],
    locks: list[LockedJoint],
    freedoms: Mapping[str, Freedom],
) -> tuple[Held, dict[str, np.ndarray]]:
    """Efforts and accelerations with the `locks` of joints that stick, and the directions in which the `released` ones
    begin to slide, from estimates."""
    frictions, released = {f.name: f for f in _acting(mechanism)}, dict(released)
    signs = {n: _sign(frictions[n], direction) for n, direction in released.items()}
    variant = with_sliding(with_locked_joints(mechanism, locks), {**moving, **signs})
    own = replace(state, angles=variant.angles_of(mechanism, state.angles))
    turning = [n for n in released if frictions[n].several]
    responses = dict[str, np.ndarray]()
    for _ in range(TURNS):
        held = _balance(variant, with_beginnings(variant, own, {n: released[n] for n in turning}), freedoms)
        turned = 0.0
        for n in turning:
            if n not in responses:
                responses[n] = _response(variant, own, frictions[n])
            direction = _begin(responses[n], held.accelerations[n].value, held.bounds[n], released[n])
            turned = max(turned, float(np.abs(direction - released[n]).max()))
            released[n] = direction
        if turned <= TURNED:
            break
    return held, released


def _begin(W: np.ndarray, acceleration: np.ndarray, bound: float, before: np.ndarray) -> np.ndarray:
    """The direction (nc,) in which a joint with the response `W` (nc, nc) begins to slide, from its `acceleration` with
    friction against the direction `before`."""
    flexible, V = np.linalg.eigh(W)
    kept = flexible > BLOCKED * flexible[-1]
    flexible, V = flexible[kept], V[:, kept]
    force = V.T @ acceleration / flexible + bound * (V.T @ before)  # that would hold it
    size = float(np.linalg.norm(force))
    if size <= bound * (1 + EXCEEDED):
        return V @ force / size if size else before

    def excess(alpha: float) -> float:
        return float(np.linalg.norm(force / (bound + alpha / flexible))) - 1.0

    least, most = EXCEEDED * flexible[0] * size, 2 * flexible[-1] * size
    alpha = scipy.optimize.brentq(excess, least, most, xtol=1e-3 * least) if excess(least) > 0 else 0.0
    direction = V @ (force / (bound + alpha / flexible))
    return np.asarray(direction / np.linalg.norm(direction))


def _balance(mechanism: Mechanism, state: State, freedoms: Mapping[str, Freedom]) -> Held:
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    wdot, multipliers = e.accelerations(mechanism.function_values(state.t), state.q, state.w)
    efforts, bounds = _efforts(e, multipliers, freedoms)
    return Held(efforts, _slips(mechanism, e, wdot, STILL, e.flat.scales[1]), bounds)


def _efforts(
    e: Equations, multipliers: np.ndarray, freedoms: Mapping[str, Freedom]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The forces (nc,) that the joints that stick resist, relative to their bounds, for `multipliers` (nj,), and the
    largest force of all joints with friction."""
    mechanism = e.mechanism
    there = [f.name for f in mechanism.frictions if f.joint in {joint.name for joint in mechanism.joints}]
    bounds = dict(zip(there, e.friction_bounds(multipliers).tolist(), strict=True))
    rows, efforts = {joint.name: joint.rows[0] for joint in mechanism.joints}, {}
    for friction in _acting(mechanism):
        if not any(name in rows for name in friction.locks):
            continue
        force = np.array([multipliers[rows[name]] if name in rows else 0.0 for name in friction.locks])
        force = freedoms[friction.name].part @ (force / np.array(friction.arms))
        smallest = float(np.linalg.norm(force)) / LARGEST
        efforts[friction.name] = (
            force / max(friction.static * bounds[friction.name], smallest) if force.any() else force
        )
    return efforts, bounds


def freedoms_of(mechanism: Mechanism, state: State) -> dict[str, Freedom]:
    """The freedom of each joint with friction."""
    found = {}
    e = _evaluated(mechanism, state)
    for friction, rows in _rows(mechanism, e).items():
        f = next(f for f in _acting(mechanism) if f.name == friction)
        arms = np.array(f.arms)
        alone = float(arms**2 @ (rows @ _responses(e, rows, range(mechanism.joint_rows)).T).diagonal())
        flexible, V = np.linalg.eigh(_in_arms(rows @ _responses(e, rows).T, arms))
        kept = flexible > BLOCKED * alone
        part, locks = V[:, kept] @ V[:, kept].T, list(f.locks)
        if not kept.any() or len(arms) == 2:
            chosen = scipy.linalg.qr(np.sqrt(flexible[kept])[:, None] * V[:, kept].T, mode="r", pivoting=True)[1]
            locks = [locks[c] for c in sorted(chosen[: kept.sum()])]
        found[friction] = Freedom(tuple(locks), part)
    return found


def _in_arms(W: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """Responses (nc, nc) of rates to efforts as those of sliding velocities to forces, symmetric up to rounding."""
    W = arms[:, None] * W * arms
    return np.asarray(0.5 * (W + W.T))


def _response(mechanism: Mechanism, state: State, friction: JointFriction) -> np.ndarray:
    """The sliding accelerations (nc, nc) of a joint with friction for unit forces."""
    e = _evaluated(mechanism, state)
    rows = _rows(mechanism, e)[friction.name]
    return _in_arms(rows @ _responses(e, rows).T, np.array(friction.arms))


def _responses(e: Equations, rows: sp.csr_matrix, without: Sequence[int] = ()) -> np.ndarray:
    """The accelerations (nc, nv) that unit efforts of `rows` (nc, nv) cause."""
    none = np.zeros(e.flat.joint_rows)
    return np.array([e.on_joints(g, none, without)[0] for g in rows.toarray()])


def _acting(mechanism: Mechanism) -> list[JointFriction]:
    there = {joint.name for joint in mechanism.joints}
    return [f for f in mechanism.exact_frictions if f.joint in there]


def _rows(mechanism: Mechanism, e: Equations) -> dict[str, sp.csr_matrix]:
    """The Jacobians (nc, nv) of the free motions of the joints with exact friction at the last state."""
    G = as_sparse(e.flat, e.workspace.G)
    return {f.name: G[list(mechanism.force_elements[f.name])] for f in _acting(mechanism)}


def _slips(mechanism: Mechanism, e: Equations, w: np.ndarray, noise: float, rate: float) -> dict[str, Slip]:
    """Sliding velocities for the velocities `w` (nv,) at the last state, or accelerations; rounding errors are the part
    `noise` of those of the bodies and of the usual ones, multiplied by `rate`."""
    found, rows = {}, _rows(mechanism, e)
    for f in _acting(mechanism):
        G, arms = rows[f.name], np.array(f.arms)
        largest = max(float((arms * (abs(G) @ np.abs(w))).max()), rate * usual_rate(e.flat, f))
        found[f.name] = Slip(arms * (G @ w), noise * largest)
    return found


def _admitted(e: Equations, state: State) -> np.ndarray:
    """The velocities (nv,) nearest to those of the state, at which `e` was evaluated, that drivers and joints admit."""
    broken = e.broken_rates(e.mechanism.function_values(state.t), state.w)
    return np.asarray(state.w - e.mass_weighted_projection(broken))


def _evaluated(mechanism: Mechanism, state: State) -> Equations:
    """The equations with the Jacobian of all rows at a state."""
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    _evaluate(e, state)
    return e


def _evaluate(e: Equations, state: State) -> None:
    """Evaluate the Jacobian of all rows at a state."""
    e.begin(state.q, state.angles, state.element_states)
    still, none = np.zeros_like(state.w), np.zeros(e.flat.joint_rows)
    e.residual(e.mechanism.function_values(state.t), state.q, still, still, none)
