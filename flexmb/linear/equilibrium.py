"""Equilibrium under gravity, springs, loads and drivers: at rest, or in steady motion."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from fem.errors import FlexmbError
from flexmb.configuration import pose
from flexmb.initial import accelerations, least_change, quiet_start, row_jacobian
from flexmb.integrators.equations import Equations
from flexmb.kernels.data import Flat
from flexmb.kernels.step import displace
from flexmb.linear.tangent import allowed_motions, carrying, tangent
from flexmb.mechanism import Mechanism, State
from flexmb.places import vector
from flexmb.result import Result, result_of_states
from flexmb.system import System

ITERATIONS = 100
LARGEST = 0.2
"""Displacement of one iteration, relative to the mechanism's length, or angle."""
TOLERANCE = 1e-11
LOAD_STEPS = (1, 4, 16)
"""Numbers of steps in which gravity, loads and speeds are tried to be applied, one after the other."""
STEADY = 1e-6
LATER = 0.2
"""Part of a turn in radians (or of the length) after which a motion must still be steady."""
FLAT = 1e-9
"""Stiffness relative to the stiffest motion below which a motion counts as free."""


class EquilibriumError(FlexmbError, RuntimeError):
    """A mechanism has no equilibrium near its start, or no isolated one."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The state, at rest or in steady motion, the multipliers of its joints, and the stiffness of the softest motion that the joints allow (negative: unstable), per unit of mass."""

    mechanism: Mechanism
    state: State
    multipliers: np.ndarray
    softest: float
    iterations: int

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum there."""
        return self.softest > 0

    @property
    def result(self) -> Result:
        """As a result of one time: for reactions, stresses, pictures; accelerations are zero in the axes of the bodies."""
        none, w = np.zeros((1, len(self.state.w))), self.state.w[None]
        return result_of_states(
            self.mechanism, np.array([self.state.t]), self.state.q[None], w, none, self.multipliers[None]
        )

    def __str__(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        return f"{self.mechanism.name!r} {'moves steadily' if self.state.w.any() else 'rests'}, {verdict}: softest motion {self.softest:.4g} per time squared; {self.iterations} iterations"


def equilibrium(
    system: System | Mechanism, t: float | None = None, *, acceleration: ArrayLike = (0.0, 0.0, 0.0)
) -> Equilibrium:
    """The equilibrium near the start, with functions of time at `t` (default: that of the start).

    `acceleration` (3,): of everything, the ground too: a crane on a vehicle that brakes. What is found rests in axes that move along; its mechanism has the gravity that is felt there, `g - a`.

    Newton's method with the tangent of the whole model, joints included; where it would go uphill, downhill instead, so that it ends in a stable equilibrium unless it starts at an
    unstable one. Where this fails, gravity and loads grow in steps. Raises `EquilibriumError` when there is none near, or a motion is free: then the place is not determined.
    Cost: dense matrices of the mechanism's size.
    """
    mechanism = system.build() if isinstance(system, System) else system
    felt = vector(acceleration, "acceleration")
    if felt.any():
        mechanism = replace(mechanism, gravity=mechanism.gravity - felt)
    return _in_steps(mechanism, t, moving=False)


def steady_motion(system: System | Mechanism, t: float | None = None) -> Equilibrium:
    """The steady motion nearest to the start: every body keeps the velocity that it has at the start (a rotation about a fixed axis, a translation), and is deformed as that needs. What only
    springs connect to a turning body turns with it.

    A rotor at speed, a turning blade, a governor. Found as `equilibrium` is, with centrifugal forces, the speed too growing in steps where needed. `softest` then says that of the
    potential of gravity, elasticity and centrifugal forces: positive is stable; negative may be stabilised by gyroscopic forces: ask `linearise(...).modes().stable`.
    Raises `EquilibriumError` too when the motion cannot be steady: gravity across the axis, a mechanism that changes its shape as it turns.
    """
    return _in_steps(system, t, moving=True)


def _in_steps(system: System | Mechanism, t: float | None, moving: bool) -> Equilibrium:
    mechanism = system.build() if isinstance(system, System) else system
    flat = mechanism.flat()
    begin = quiet_start(mechanism)
    time = begin.state.t if t is None else t
    world = _in_world(flat, _carried_along(mechanism, begin.state)) if moving else np.zeros(6 * len(flat.modes))
    start, failure = begin.state.q, None
    for steps, downhill in [(LOAD_STEPS[0], False)] * moving + [(n, True) for n in LOAD_STEPS]:
        q = start.copy()
        try:
            for k in range(1, steps + 1):
                found = _search(_with_part(mechanism, k / steps), q, world * (k / steps), time, downhill)
                q = found.state.q
        except EquilibriumError as error:
            failure = failure or error
            continue
        found = replace(found, mechanism=mechanism)
        if moving:
            _require_steady(found, world, time)
        return found
    assert failure is not None
    raise failure


def _with_part(mechanism: Mechanism, part: float) -> Mechanism:
    """The mechanism with a part of its gravity and loads."""
    if part == 1.0:
        return mechanism
    loads = tuple(replace(load, wrench=part * load.wrench) for load in mechanism.loads)
    return replace(mechanism, gravity=part * mechanism.gravity, loads=loads)


def _search(mechanism: Mechanism, start: np.ndarray, world: np.ndarray, t: float, downhill: bool) -> Equilibrium:
    """The equilibrium near `start` of bodies that keep their velocities (6 nb,) in the `world`; `downhill`: not a maximum of the potential if there is another way."""
    flat = mechanism.flat()
    q = start.copy()
    e = Equations(mechanism, q)
    functions = mechanism.function_values(t)
    nv, nj = len(flat.weight), mechanism.joint_rows
    none, multipliers = np.zeros(nv), np.zeros(nj)
    e.residual(functions, q, none, none, multipliers)
    for iteration in range(1, ITERATIONS + 1):
        w = _in_bodies(flat, q, world)
        K, G, N = _stiffness(e, functions, q, w, multipliers)
        out = e.residual(functions, q, w, none, multipliers)[0].copy()
        values = e.terms.values[:nj].copy()
        closing = np.linalg.lstsq(G, -values, rcond=1e-10)[0] if nj else none
        small = 0.5 * (N.T @ K @ N + N.T @ K.T @ N)
        along = _newton_step(small, -N.T @ (out + K @ closing), downhill)
        step = closing + N @ along
        multipliers = multipliers + np.linalg.lstsq(G.T, -(out + K @ step), rcond=1e-10)[0] if nj else multipliers
        size = float((np.abs(step) * flat.weight).max(initial=0.0))
        moved = np.empty_like(q)
        displace(flat, q, step * min(1.0, LARGEST / size) if size > 0 else step, moved)
        q = moved
        e.angles[nj:] = e.terms.values[nj:]
        if size < TOLERANCE:
            softest = _softest(mechanism, small, N.T @ e.mass() @ N, bool(world.any()))
            return Equilibrium(mechanism, State(t, q, _in_bodies(flat, q, world)), multipliers, softest, iteration)
    raise EquilibriumError(
        f"{mechanism.name!r} found no equilibrium in {ITERATIONS} iterations; the last moved it by {size:.2g} of its length. Start nearer to one, or add a spring that holds it."
    )


def _carried_along(mechanism: Mechanism, state: State) -> State:
    """The state with the velocities, nearest to its own, at which no spring changes its length: what springs alone connect to a shaft turns with it."""
    flat, functions = mechanism.flat(), mechanism.function_values(state.t)
    J = row_jacobian(mechanism, flat, state.q, functions)[1]
    nj = mechanism.joint_rows
    held = np.concatenate([np.ones(nj, bool), flat.row_stiffness[nj:] > 0])
    rates = np.where(flat.row_function >= 0, functions[flat.row_function, 1], 0.0)
    rates[nj:] = 0.0
    if not held.any():
        return state
    change = least_change(J[held], (rates - J @ state.w)[held], flat, np.inf)
    return replace(state, w=state.w + change)


def _in_world(flat: Flat, state: State) -> np.ndarray:
    """Velocity of the point of each body that is at the world's origin, and angular velocity, in world axes (6 nb,)."""
    out = []
    for b in range(len(flat.modes)):
        r, R, s = *pose(flat, state.q, b), flat.v_start[b]
        omega = R @ state.w[s + 3 : s + 6]
        out += [R @ state.w[s : s + 3] - np.cross(omega, r), omega]
    return np.concatenate(out)


def _in_bodies(flat: Flat, q: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Velocities (nv,) in body axes, of rigid bodies, from those of `_in_world`."""
    w = np.zeros(len(flat.weight))
    for b in range(len(flat.modes)):
        (r, R), s = pose(flat, q, b), flat.v_start[b]
        v, omega = world[6 * b : 6 * b + 3], world[6 * b + 3 : 6 * b + 6]
        w[s : s + 3], w[s + 3 : s + 6] = R.T @ (v + np.cross(omega, r)), R.T @ omega
    return w


def _require_steady(found: Equilibrium, world: np.ndarray, t: float) -> None:
    """Look at the motion a little later: it must still be in balance, and closed."""
    mechanism, state = found.mechanism, found.state
    flat, nj = mechanism.flat(), mechanism.joint_rows
    speed = float((np.abs(state.w) * flat.weight).max(initial=0.0))
    if speed == 0:
        return
    later = LATER / speed
    q = np.empty_like(state.q)
    displace(flat, state.q, later * state.w, q)
    functions = mechanism.function_values(t + later)
    opened = np.abs(row_jacobian(mechanism, flat, q, functions)[0][:nj]).max(initial=0.0)
    changed = accelerations(mechanism, State(t + later, q, _in_bodies(flat, q, world)), functions)[0]
    scale = speed**2 + float(np.linalg.norm(mechanism.gravity)) / mechanism.length
    sizes = np.abs(changed) * flat.weight / scale
    if opened > STEADY * mechanism.length or sizes.max(initial=0.0) > STEADY:
        body = mechanism.bodies[int(np.searchsorted(flat.v_start, int(sizes.argmax()), side="right")) - 1].name
        raise EquilibriumError(
            f"{mechanism.name!r} does not move steadily: {later:.3g} later its joints are open by {opened:.3g} and {body!r} accelerates by {sizes.max(initial=0.0):.2g} of what the speed and "
            "gravity amount to. Steady motion needs drivers of constant speed, gravity along the axis, and a mechanism that turns as one or whose parts look the same as they turn."
        )


def _stiffness(e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray) -> tuple:
    """Stiffness (nv, nv) of bodies whose velocities stay in the world, Jacobian of the joints (nj, nv), motions that they allow (nv, nf)."""
    t = tangent(e, functions, q, w, np.zeros_like(w), multipliers)
    G = t.G.toarray()
    return (t.K + t.D @ carrying(e.flat, w)).toarray(), G, allowed_motions(G, e.flat.weight)


def _newton_step(K: np.ndarray, force: np.ndarray, downhill: bool) -> np.ndarray:
    """Newton's step with small stiffnesses raised; `downhill`: with negative ones turned round."""
    if not len(K):
        return np.zeros(0)
    values, vectors = np.linalg.eigh(K)
    least = max(FLAT * np.abs(values).max(), np.finfo(float).tiny ** 0.5)
    raised = np.maximum(np.abs(values), least) * (1.0 if downhill else np.where(values < 0, -1.0, 1.0))
    return np.asarray(vectors @ ((vectors.T @ force) / raised))


def _softest(mechanism: Mechanism, small: np.ndarray, mass: np.ndarray, moving: bool) -> float:
    """The lowest eigenvalue of the stiffness; refuses motions that nothing holds, but for moving bodies: at a critical speed there is one."""
    if not len(small):
        return np.inf
    values = eigh(small, mass, eigvals_only=True)
    free = int((np.abs(values) < FLAT * np.abs(values).max()).sum()) if values.any() else len(values)
    if free and not moving:
        raise EquilibriumError(
            f"{mechanism.name!r} has {free} motion(s) that nothing holds or returns, so its place of rest is not determined. Drive or hold them, or add a spring."
        )
    return float(values[0])
