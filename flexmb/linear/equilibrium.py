"""Equilibrium under gravity, springs, loads and drivers: at rest, or in steady motion."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from fem.shown import shown
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.initial_conditions import accelerations, consistent_state, row_jacobian, start_jacobian
from flexmb.equations.projection import as_sparse, mass_weighted_projection
from flexmb.equations.tangent import DIFFERENCE, ROUNDING, allowed_motions, carrying, forces, measured_tangent, tangent
from flexmb.errors import EquilibriumError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.equations.displacement import displace
from flexmb.mechanism.attachments import vector
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.mechanism.time_functions import TimeFunction, polynomial
from flexmb.results.result import Result, result_of_states
from flexmb.spatial.layout import pose

ITERATIONS = 100
LARGEST = 0.2
"""Displacement of one iteration, relative to the mechanism's length, or angle."""
TOLERANCE = 1e-11
LOAD_STEPS = (1, 4, 16)
"""Numbers of steps in which gravity, loads and speeds are tried to be applied, one after the other."""
STEADY = 1e-6
MOST_CHANGES = 1000
"""Changes of a function of time that are followed to find out when it has settled; one with more repeats itself."""
LATER = 0.2
"""Part of a turn in radians (or of the length) after which a motion must still be steady."""


@shown
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The state, at rest or in steady motion, the multipliers of its joints, and the stiffness of the softest motion that the joints allow (negative: unstable), per unit of mass.

    `error`: bound of the error of `softest`.
    """

    mechanism: Mechanism
    state: State
    multipliers: np.ndarray
    softest: float
    error: float
    iterations: int

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum there, beyond the error of `softest`."""
        return self.softest > self.error

    @property
    def verdict(self) -> str:
        """ "stable", "unstable", or "undecided": the softest motion has no stiffness beyond its error, as a rotor at a critical speed."""
        if self.stable:
            return "stable"
        return "unstable" if self.softest < -self.error else "undecided"

    @property
    def result(self) -> Result:
        """As a result of one time: for reactions, stresses, pictures; accelerations are zero in the axes of the bodies."""
        none, w = np.zeros((1, len(self.state.w))), self.state.w[None]
        return result_of_states(
            self.mechanism,
            np.array([self.state.t]),
            self.state.q[None],
            w,
            none,
            self.multipliers[None],
            angles=self.state.angles[None],
        )

    def __str__(self) -> str:
        return f"{self.mechanism.name!r} {'moves steadily' if self.state.w.any() else 'rests'}, {self.verdict}: softest motion {self.softest:.4g} per time squared; {self.iterations} iterations"


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

    `t`: a time at which drivers have reached their speed, and loads their value; by default the time after which all drivers are known to stay as they are (the end of a spin-up), else
    the start. What is found is then drawn where it starts, its drivers turning at these speeds.

    A rotor at speed, a turning blade, a governor. Found as `equilibrium` is, with centrifugal forces, the speed too growing in steps where needed. `softest` then says that of the
    potential of gravity, elasticity and centrifugal forces: positive is stable; negative may be stabilised by gyroscopic forces: ask `linearise(...).modes().stable`.
    Raises `EquilibriumError` too when the motion cannot be steady: gravity across the axis, a mechanism that changes its shape as it turns, drivers that still accelerate.
    """
    mechanism = system.build() if isinstance(system, System) else system
    return _in_steps(_at_speed(mechanism, t), None, moving=True)


def _at_speed(mechanism: Mechanism, t: float | None) -> Mechanism:
    """The mechanism with drivers that have, from where they start, the speeds of the time `t`, and other functions of time that stay as they are then."""
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
                    f"The driver {motion.description!r} of {mechanism.name!r} still accelerates at t = {t:.6g}, by {acceleration:.4g}. Give a time at which its speed is constant."
                )
            rate = 0.0 if abs(rate) * span <= STEADY**2 * abs(value - start) else rate
            value = start - rate * begin
        functions.append(polynomial(value, rate if k in driving else 0.0))
    return replace(mechanism, functions=tuple(functions))


def _settled(motion: TimeFunction, t: float) -> float:
    """The time after which a function of time is known to keep its rate; `t` where that is not known, or it never does."""
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


def _in_steps(system: System | Mechanism, t: float | None, moving: bool) -> Equilibrium:
    mechanism = system.build() if isinstance(system, System) else system
    if t is not None:
        mechanism = replace(mechanism, initial=replace(mechanism.initial, t=float(t)))
    flat = compiled(mechanism)
    begin = consistent_state(mechanism)
    time = begin.state.t
    world = _in_world(flat, _carried_along(mechanism, begin.state)) if moving else np.zeros(6 * len(flat.modes))
    start, failure = begin.state, None
    for steps, downhill in [(LOAD_STEPS[0], False)] * moving + [(n, True) for n in LOAD_STEPS]:
        q, angles = start.q, start.angles
        try:
            for k in range(1, steps + 1):
                found = _search(_with_part(mechanism, k / steps), q, angles, world * (k / steps), time, downhill)
                q, angles = found.state.q, found.state.angles
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


def _search(
    mechanism: Mechanism, start: np.ndarray, near: np.ndarray, world: np.ndarray, t: float, downhill: bool
) -> Equilibrium:
    """The equilibrium near the configuration `start` and angles `near` of bodies that keep their velocities (6 nb,) in the `world`; `downhill`: not a maximum of the potential if there is another way."""
    flat = compiled(mechanism)
    q = start.copy()
    e = Equations(mechanism, q, near)
    functions = mechanism.function_values(t)
    nv, nj = len(flat.weight), mechanism.joint_rows
    none, multipliers = np.zeros(nv), np.zeros(nj)
    e.residual(functions, q, none, none, multipliers)
    for iteration in range(1, ITERATIONS + 1):
        w = _in_bodies(flat, q, world)
        K, G, N = _stiffness(e, functions, q, w, multipliers)
        rounded = ROUNDING * forces(e, functions, q, w, none, multipliers)
        out = e.residual(functions, q, w, none, multipliers)[0].copy()
        values = e.workspace.values[:nj].copy()
        closing = np.linalg.lstsq(G, -values, rcond=1e-10)[0] if nj else none
        along, reachable = _newton_step(e, K, N, -(out + K @ closing), rounded, downhill)
        step = closing + along
        size = float((np.abs(step) * flat.weight).max(initial=0.0))
        step *= LARGEST / max(size, LARGEST)
        multipliers = multipliers + np.linalg.lstsq(G.T, -(out + K @ step), rcond=1e-10)[0] if nj else multipliers
        moved = np.empty_like(q)
        displace(flat, q, step, moved)
        q = moved
        e.keep_angles(functions)
        if size < max(TOLERANCE, reachable):
            state = State(t, q, _in_bodies(flat, q, world), angles_near(mechanism, q, e.angles))
            softest, error = _softest(e, functions, state, multipliers, bool(world.any()))
            return Equilibrium(mechanism, state, multipliers, softest, error, iteration)
    raise EquilibriumError(
        f"{mechanism.name!r} found no equilibrium in {ITERATIONS} iterations; the last moved it by {min(size, LARGEST):.2g} of its length. Start nearer to one, or add a spring that holds it."
    )


def _carried_along(mechanism: Mechanism, state: State) -> State:
    """The state with velocities at which no spring changes its length: bodies that move keep their velocities, and what springs alone connect to them is taken along.

    Where that cannot be, joints keep the speeds that they are given to start with; else the velocities are those nearest to the state's.
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


def _in_world(flat: CompiledModel, state: State) -> np.ndarray:
    """Velocity of the point of each body that is at the world's origin, and angular velocity, in world axes (6 nb,)."""
    out = []
    for b in range(len(flat.modes)):
        r, R, s = *pose(flat, state.q, b), flat.v_start[b]
        omega = R @ state.w[s + 3 : s + 6]
        out += [R @ state.w[s : s + 3] - np.cross(omega, r), omega]
    return np.concatenate(out)


def _in_bodies(flat: CompiledModel, q: np.ndarray, world: np.ndarray) -> np.ndarray:
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
    flat, nj = compiled(mechanism), mechanism.joint_rows
    speed = float((np.abs(state.w) * flat.weight).max(initial=0.0))
    if speed == 0:
        return
    later = LATER / speed
    q = np.empty_like(state.q)
    displace(flat, state.q, later * state.w, q)
    functions = mechanism.function_values(t + later)
    opened = np.abs(row_jacobian(mechanism, flat, q, functions)[0][:nj]).max(initial=0.0)
    changed = accelerations(
        mechanism, State(t + later, q, _in_bodies(flat, q, world), angles_near(mechanism, q, state.angles)), functions
    )[0]
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
    e.residual(functions, q, w, np.zeros_like(w), multipliers)
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray()
    return (t.K + t.D @ carrying(e.flat, w)).toarray(), G, allowed_motions(G, e.flat.weight)


def _motions_by_stiffness(e: Equations, K: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Displacements (nv, nf) of unit mass that the joints allow and `K` does not couple, and the stiffness of each (nf,), the softest of all decades apart from the stiffest."""
    M = e.mass()
    small = N.T @ K @ N
    vectors = eigh(0.5 * (small + small.T), N.T @ (M @ N))[1]
    x = N @ vectors
    return x, np.einsum("ik,ik->k", x, K @ x) / np.einsum("ik,ik->k", x, M @ x)


def _newton_step(
    e: Equations, K: np.ndarray, N: np.ndarray, force: np.ndarray, rounded: np.ndarray, downhill: bool
) -> tuple[np.ndarray, float]:
    """Newton's step (nv,) within the motions `N` that the joints allow, and the displacement that rounding of the forces (nv,) leaves open.

    Stiffnesses below their error are raised to it, and where rounding alone acts along such a motion it stays where it is; `downhill`: with negative ones turned round.
    """
    if not N.shape[1]:
        return np.zeros(len(force)), 0.0
    weight = e.flat.weight
    x, stiffness = _motions_by_stiffness(e, K, N)
    size = np.abs(x)
    error = (size.T @ (ROUNDING * np.abs(K)) * size.T).sum(axis=1) + (size.T @ rounded) * (size.T @ weight) / DIFFERENCE
    along, noise = x.T @ force, size.T @ rounded
    flat = np.abs(stiffness) <= error
    raised = np.maximum(np.abs(stiffness), np.maximum(error, np.finfo(float).tiny))
    raised *= 1.0 if downhill else np.where(stiffness < 0, -1.0, 1.0)
    part = np.where(flat & (np.abs(along) <= noise), 0.0, along / raised)
    open_ = np.where(flat, 0.0, noise / np.abs(raised))
    return np.asarray(x @ part), float(((size @ open_) * weight).max(initial=0.0))


def _softest(
    e: Equations, functions: np.ndarray, state: State, multipliers: np.ndarray, moving: bool
) -> tuple[float, float]:
    """The lowest stiffness per unit of mass and a bound of its error; refuses motions that nothing holds, but for moving bodies: at a critical speed there is one.

    Whether something holds a motion is decided by the error of its own stiffness, not by how stiff others are: gravity holds a hanging bar of steel, ten decades softer than its bending.
    """
    q, w = state.q, state.w
    none = np.zeros_like(w)
    t, errors = measured_tangent(e, functions, q, w, none, multipliers)
    carried = carrying(e.flat, w)
    e.residual(functions, q, w, none, multipliers)
    N = allowed_motions(as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray(), e.flat.weight)
    if not N.shape[1]:
        return np.inf, 0.0
    K = t.K + t.D @ carried
    x, stiffness = _motions_by_stiffness(e, K.toarray(), N)
    size = np.abs(x)
    error = np.einsum("ik,ik->k", size, (errors.K + errors.D @ abs(carried) + ROUNDING * abs(K)) @ size)
    free = np.flatnonzero(np.abs(stiffness) <= error)
    if len(free) and not moving:
        raise EquilibriumError(
            f"{e.mechanism.name!r} has {len(free)} motion(s) that nothing holds or returns{_moved_most(e, x[:, free])}, so its place of rest is not determined. Drive or hold them, or add a spring."
        )
    k = int(stiffness.argmin())
    return float(stiffness[k]), float(error[k])


def _moved_most(e: Equations, x: np.ndarray) -> str:
    """The body that moves most in the motions `x` (nv, n)."""
    place = int((np.abs(x).max(axis=1) * e.flat.weight).argmax())
    body = e.mechanism.bodies[int(np.searchsorted(e.flat.v_start, place, side="right")) - 1].name
    return f" ({body!r} moves most)"
