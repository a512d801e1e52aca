"""Equilibrium under gravity, springs, loads and drivers, at rest or in steady motion."""

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from fem.shown import shown
from flexmb.differences import ROUNDING
from flexmb.equations.closed_contacts import (
    closing_forces,
    require_outside,
    weak_contacts,
    with_closed_contacts,
)
from flexmb.equations.evaluate import energies
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.initial_conditions import accelerations, consistent_state, row_jacobian, start_jacobian
from flexmb.equations.projection import as_sparse, mass_weighted_projection
from flexmb.equations.skins import without_surfaces
from flexmb.equations.stationary import require_stationary, stationary_states
from flexmb.equations.tangent import DIFFERENCE, allowed_motions, carrying, forces, measured_tangent, tangent
from flexmb.equations.time_features import users_of_functions
from flexmb.errors import EquilibriumError, LawRangeWarning, SensitivityWarning, UnsupportedError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.calls import displace
from flexmb.kinks import kinks
from flexmb.linear.touching import CHANGES, OPEN, OVERLAP, SLIPS, STICKS, Motions, Touching, require_shallow
from flexmb.mechanism.attachments import vector
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.element import rubs
from flexmb.mechanism.features import SMOOTH, Feature, few, refuse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.mechanism.time_functions import NOTHING_AHEAD, TimeFunction, polynomial
from flexmb.results.elements.tunnels import doubtful_contacts
from flexmb.results.ledger import Ledger
from flexmb.results.result import Result, result_of_states
from flexmb.spatial.layout import pose

ITERATIONS = 100
LARGEST = 0.2
"""Largest displacement of one iteration, relative to the mechanism's length, or angle."""
TOLERANCE = 1e-11
LOAD_STEPS = (1, 4, 16)
"""Numbers of steps in which gravity, loads and speeds are applied; they are tried one after the other."""
HALVINGS = 12
"""Largest number of lengths that are tried for a step at whose end a law fails."""
CROSSED = 0.1
"""Ratio of the stiffness across motions to that along them, beyond which all of it determines a step."""
CIRCULATES = 1e-6
"""Ratio of the stiffness across two motions to the mean of theirs, beyond which its forces have no potential; and of a
damping that feeds a motion to the largest of all."""
SLOW, COARSE, FINER, FINEST = 0.1, 10.0, 0.125, 1e-10
"""The differences of the tangent are too coarse for a law where an iteration moves by less than `COARSE` of them, and
by more than `SLOW` of the one before; they are then multiplied by `FINER`, down to `FINEST`."""
AT_REST: frozenset[Feature] = SMOOTH | {"surface contacts", "rubbing surfaces", "local contacts", "facing surfaces"}
"""What a mechanism at rest may have beside exact contacts, which become joints."""
ROUNDS, BACK = 10, 0.01
"""Iterations that lead back to a place of an earlier one, but for the part `BACK` of their displacement, after which
the search goes round in circles and ends."""
SOFTEST = 1e-12
"""Least stiffness, relative to the largest, of motions that only contacts restrain, while points are chosen."""
STIFFER = (1.0, 1e2, 1e4)
"""Factors of the stiffness of motions that only contacts restrain, which are tried one after the other: that of bodies
which may travel far leaves few digits to the cone problem of parts with an interference."""
KEPT = 1e-9
"""Change of the forces of points, relative to the largest, below which they may begin and cease to touch at the end."""
SETTLED = 1e-9
"""Largest change of the states of force elements in the last iteration, relative to their scale."""
STEADY = 1e-6
MOST_CHANGES = 1000
"""Largest number of changes of a function of time that are examined for its steady part; one with more is periodic."""
LATER = 0.2
"""Rotation (radians), or displacement relative to the length, after which the steadiness of a motion is checked."""


@shown
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium, at rest or in steady motion.

    - `state`: the configuration and velocities; `multipliers` (nj,): of the joints.
    - `softest`: stiffness of the softest motion that the joints allow, per unit of mass; negative if unstable. Points
      of flexible surfaces that touch stick in it, also those that slip.
    - `error`: a bound of the error of `softest`.
    - `iterations`: those of Newton's method.
    - `slipping`: the number of points of flexible surfaces at the bounds of their friction, which may slip on.
    - `circulating`: whether forces may feed energy to small motions: at rest those without a potential (a stiffness
      that is not symmetric), as of a film of oil, those that push along the velocity, and those of controllers with
      states; also those of force elements with states, such as hydraulic cylinders.
    """

    mechanism: Mechanism
    state: State
    multipliers: np.ndarray
    softest: float
    error: float
    iterations: int
    slipping: int
    circulating: bool

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum at the equilibrium, beyond the error of `softest`, and no points
        slip and no forces feed it energy."""
        return self.verdict == "stable"

    @property
    def verdict(self) -> str:
        """ "stable", "unstable", "undecided", or "not judged".

        It is undecided if the stiffness of the softest motion is within its error, as for a rotor at a critical speed,
        and not judged if points of flexible surfaces slip: these slip on in one direction and stick in the others, so
        that no stiffness decides about small motions, but a simulation from the equilibrium with a small push. It is
        not judged either if forces may feed energy to small motions (`circulating`): a shaft may whirl in a film that
        is stiff in all directions, an integral of a controller may drive it, and the pressures of a cylinder with its
        valve follow late; `linearise(equilibrium).modes()` decides.
        """
        if self.slipping or self.circulating:
            return "not judged"
        if self.softest > self.error:
            return "stable"
        return "unstable" if self.softest < -self.error else "undecided"

    @property
    def result(self) -> Result:
        """A result with one time, for reactions, stresses, energies and pictures; its accelerations, in body axes, are
        zero."""
        none, w = np.zeros((1, len(self.state.w))), self.state.w[None]
        found = energies(self.mechanism, self.state)
        known = np.array([[found.kinetic], [found.elastic], [found.gravity], [found.springs]])
        ledger = Ledger(np.array([self.state.t]), *known, *np.zeros((5, 1)))
        return result_of_states(
            self.mechanism,
            np.array([self.state.t]),
            self.state.q[None],
            w,
            none,
            self.multipliers[None],
            angles=self.state.angles[None],
            element_states=self.state.element_states[None],
            ledger=ledger,
        )

    @property
    def held(self) -> tuple[str, ...]:
        """The functions of time that change later, with the names of the elements that use them: the equilibrium holds
        their values at its time. None in steady motion, whose drivers keep their speeds."""
        t, mechanism = self.state.t, self.mechanism
        if self.state.w.any():
            return ()
        users = zip(mechanism.functions, users_of_functions(mechanism), strict=True)
        return tuple(f"{f.description} of {few(names)}" for f, names in users if names and _changes(f, t))

    def __str__(self) -> str:
        found = "moves steadily" if self.state.w.any() else "rests"
        softest = f"softest motion {self.softest:.4g} per time squared"
        if np.isinf(self.softest):
            softest = "states hold every motion" if self.circulating else "nothing can move"
        if self.slipping:
            softest = f"{self.slipping} points of flexible surfaces slip; {softest} if they stick"
        elif self.circulating:
            softest = f"forces may feed energy to motions, so that linearise(...).modes() decides; {softest}"
        held = f"\nheld at t = {self.state.t:.6g}: {'; '.join(self.held)}" if self.held else ""
        return f"{self.mechanism.name!r} {found}, {self.verdict}: {softest}; {self.iterations} iterations{held}"


def equilibrium(
    system: System | Mechanism, t: float | None = None, *, acceleration: ArrayLike = (0.0, 0.0, 0.0)
) -> Equilibrium:
    """The equilibrium near the initial state, with functions of time at `t` (default: the initial time); `held` of the
    result says which of them change later.

    `acceleration` (3,): of the whole mechanism with its ground, in world axes, such as that of a crane on a braking
    vehicle. The equilibrium is at rest in the accelerated axes; its mechanism has the gravity `g - a` that acts there.

    Newton's method uses the tangent of the whole model with its joints. Where its step would increase the potential
    energy, the direction is reversed, so that the iteration ends at a stable equilibrium unless it starts at an
    unstable one. If it fails, gravity and loads are applied in steps. Cost: dense matrices of the size of the
    mechanism.

    States of force elements are found together with the configuration, such that they are stationary; those of which
    every value is stationary, such as the deflections of a tyre at rest, keep their initial values. Wheels and skates
    move to the equilibrium without slip; their reactions are those of static friction. Since they may reach other
    places by other ways, their equilibrium is one of many.

    Exact contacts that touch as drawn, or that stick at the initial state of a mechanism that has been simulated,
    remain closed: its mechanism has a joint `NAME.K` for each such point. Corners of boxes and meshes at planes stick;
    spheres and capsules at planes do so without friction only.

    Flexible surfaces touch where they must, with forces that push. They may overlap as drawn, by up to a twentieth of
    the length of the mechanism, as parts with an interference do. Friction is that of one motion from the initial state
    to the equilibrium, in which points stick or slip. The stability of an equilibrium in which points slip is not
    judged.

    Raises `EquilibriumError` when there is no equilibrium near the initial state, when a motion is unrestrained, so
    that the equilibrium is not unique, when exact contacts would open, slide or overlap where they are apart as drawn,
    or when the states of an element have no stationary values; `MechanismError` for flexible surfaces that overlap by
    more, or beside exact contacts. The error is an `UnsupportedError` where bodies slide, tip or roll on flexible
    surfaces, at the first attempt and with loads in steps.
    """
    mechanism = system.build() if isinstance(system, System) else system
    felt = vector(acceleration, "acceleration")
    if felt.any():
        mechanism = replace(mechanism, gravity=mechanism.gravity - felt)
    if not mechanism.contacts or mechanism.surface_contacts:
        return _in_steps(mechanism, t, moving=False)
    closed = with_closed_contacts(mechanism, mechanism.initial, "An equilibrium")
    try:
        found = _in_steps(closed.mechanism, t, moving=False)
        found = replace(found, multipliers=closing_forces(closed, found.state, found.multipliers))
        require_outside(mechanism, found.state.q)
    except EquilibriumError as error:
        raise EquilibriumError(f"{error}{weak_contacts(mechanism, mechanism.initial)}") from error
    return found


def steady_motion(system: System | Mechanism, t: float | None = None) -> Equilibrium:
    """The steady motion nearest to the initial state.

    Every body keeps its initial velocity (a rotation about a fixed axis, or a translation), and is deformed
    accordingly. Bodies that only springs connect to a rotating body rotate with it. Examples are a rotor at speed, a
    rotating blade, and a governor.

    `t`: a time at which drivers have reached their speed, and loads their value. By default it is the time after which
    all drivers are known to be steady (the end of a spin-up), or else the initial time. The steady motion is given at
    the initial position of the drivers, with their speeds at `t`.

    The method is that of `equilibrium`, with centrifugal forces; the speed is also increased in steps if necessary.
    `softest` refers to the potential of gravity, elasticity and centrifugal forces: if it is positive, the motion is
    stable; if it is negative, gyroscopic forces may stabilise the motion, which `linearise(...).modes().stable`
    decides.

    Raises `EquilibriumError` as `equilibrium` does, and when the motion cannot be steady: gravity across the axis, a
    mechanism whose shape changes as it rotates, or drivers that accelerate.
    """
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "A steady motion", includes=SMOOTH - {"velocity rows"})
    return _in_steps(_at_speed(mechanism, t), None, moving=True)


def _at_speed(mechanism: Mechanism, t: float | None) -> Mechanism:
    """The mechanism with the steady functions of time at `t`.

    Drivers have, from their initial position, their speeds at the time `t`; other functions of time keep their values.
    """
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


def _changes(motion: TimeFunction, t: float) -> bool:
    """Whether a function of time is not known to remain as it is at `t`."""
    if motion.ahead is None or motion.ahead(t) != NOTHING_AHEAD:
        return True
    return bool(np.ptp(motion.over(t + np.array([0.0, 1.0, np.pi]))[:, 0]))


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


def _in_steps(system: System | Mechanism, t: float | None, moving: bool) -> Equilibrium:
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "An equilibrium", includes=AT_REST)
    if t is not None:
        mechanism = replace(mechanism, initial=replace(mechanism.initial, t=float(t)))
    flat = compiled(mechanism)
    begin = consistent_state(mechanism)
    time = begin.state.t
    if mechanism.surface_contacts:
        require_shallow(Touching(mechanism, begin.state), begin.state.q)
    world = _in_world(flat, _carried_along(mechanism, begin.state)) if moving else np.zeros(6 * len(flat.modes))
    start, failure = begin.state, None
    for steps, downhill in [(LOAD_STEPS[0], False)] * moving + [(n, True) for n in LOAD_STEPS]:
        q, angles, states = start.q, start.angles, mechanism.initial_states
        try:
            for k in range(1, steps + 1):
                begun = replace(start, q=q, angles=angles, element_states=states)
                found = _search(_with_part(mechanism, k / steps), begun, world * (k / steps), downhill)
                q, angles, states = found.state.q, found.state.angles, found.state.element_states
        except EquilibriumError as error:
            if isinstance(error, UnsupportedError) and isinstance(failure, UnsupportedError):
                break  # on two ways
            failure = failure or error
            continue
        found = replace(found, mechanism=mechanism)
        for text in doubtful_contacts(found.result) if mechanism.surface_contacts else ():
            warnings.warn(text, LawRangeWarning, stacklevel=3)
        if text := _kinks(found, moving):
            warnings.warn(f"The equilibrium of {mechanism.name!r} {text}", SensitivityWarning, stacklevel=3)
        if moving:
            _require_steady(found, world, time)
        return found
    assert failure is not None
    raise failure


def _kinks(found: Equilibrium, moving: bool) -> str:
    """Laws without a derivative by places, or by velocities of a steady motion, which the stiffness depends on."""
    mechanism, state = found.mechanism, found.state
    own = state.element_states[: compiled(mechanism).skin_state] if mechanism.surface_contacts else state.element_states
    e, functions = (
        Equations(without_surfaces(mechanism), state.q, state.angles, own),
        mechanism.function_values(state.t),
    )
    over = ("place", "speed", "state") if moving else ("place", "state")
    return kinks(e, functions, state, np.zeros_like(state.w), found.multipliers, over=over)


def _with_part(mechanism: Mechanism, part: float) -> Mechanism:
    """The mechanism with a fraction of its gravity and loads."""
    if part == 1.0:
        return mechanism
    loads = tuple(replace(load, wrench=part * load.wrench) for load in mechanism.loads)
    return replace(mechanism, gravity=part * mechanism.gravity, loads=loads)


def _search(mechanism: Mechanism, start: State, world: np.ndarray, downhill: bool) -> Equilibrium:
    """The equilibrium near a configuration, of bodies with constant velocities.

    `world` (6 nb,): velocities of the bodies, as of `_in_world`. `downhill`: avoid maxima of the potential, unless the
    iteration starts at one.
    """
    flat, t = compiled(mechanism), start.t
    q = start.q.copy()
    touching = Touching(mechanism, start) if mechanism.surface_contacts else None
    own = start.element_states if touching is None else start.element_states[: flat.skin_state]
    e = Equations(without_surfaces(mechanism), q, start.angles, own)
    functions = mechanism.function_values(t)
    nv, nj = len(flat.weight), mechanism.joint_rows
    none, multipliers = np.zeros(nv), np.zeros(nj)
    _require_answers(e, e.residual(functions, q, _in_bodies(flat, q, world), none, multipliers)[0])
    size = changed = np.inf
    difference, settled = DIFFERENCE, True
    places, rounds = [q.copy()], 0
    for iteration in range(1, ITERATIONS + 1):
        w = _in_bodies(flat, q, world)
        stationary = stationary_states(e, functions, q, w, multipliers)
        K, G, N = _stiffness(e, functions, q, w, multipliers, difference)
        while difference > FINEST and not np.isfinite(K).all():  # a law ends within the differences
            difference = max(FINER * difference, FINEST)
            K, G, N = _stiffness(e, functions, q, w, multipliers, difference)
        _require_answers(e, K)
        K, wrong = K + stationary.stiffness, stationary.stiffness_error
        rounded = ROUNDING * forces(e, functions, q, w, none, multipliers)
        out = e.residual(functions, q, w, none, multipliers)[0] + stationary.offset
        values = e.workspace.values[:nj].copy()
        closing = np.linalg.lstsq(G, -values, rcond=1e-10)[0] if nj else none
        held, reached = stationary.held(N, closing)
        changes = np.zeros((0, 3))
        if touching is None:
            force = -(out + K @ (closing + reached))
            along, reachable = _newton_step(e, K, N @ held, force, rounded, wrong, difference, downhill)
            step = closing + along + reached
        else:
            given = closing + reached
            pressed = _pressed_step(touching, e, q, K, N @ held, given, out, rounded, wrong, difference, downhill)
            step, changes, out, K, reachable, settled = pressed
        before, size = size, float((np.abs(step) * flat.weight).max(initial=0.0))
        if SLOW * before < size < COARSE * difference:
            difference = max(FINER * difference, FINEST)
        part = LARGEST / max(size, LARGEST)
        step *= part
        if touching is not None:
            touching.forces[:] += part * changes
            settled = settled and part == 1.0
        balancing, found = np.hstack([G.T, stationary.pushing]), none[:0]
        if balancing.shape[1]:
            found = np.linalg.lstsq(balancing, -(out + K @ step), rcond=1e-10)[0]
            multipliers = multipliers + found[:nj]
        moved, states = np.empty_like(q), e.states.copy()
        for _ in range(HALVINGS):
            changed = stationary.advance(e, step, found[nj:])
            displace(flat, q, step, moved)
            if np.isfinite(e.residual(functions, moved, w, none, multipliers)[0]).all():
                break
            step, e.states[:] = 0.5 * step, states
        else:
            _require_answers(e, e.residual(functions, moved, w, none, multipliers)[0])
        again = min(np.abs(moved - x).max() for x in places) < BACK * np.abs(moved - q).max()
        rounds += again and size > TOLERANCE
        q = moved
        places.append(q)
        e.keep_angles(functions)
        if size < max(TOLERANCE, reachable) and changed < SETTLED and settled:
            w = _in_bodies(flat, q, world)
            require_stationary(e, functions, q, w, multipliers)
            states = e.states.copy() if touching is None else np.concatenate([e.states, touching.forces.ravel()])
            state = State(t, q, w, angles_near(mechanism, q, e.angles), element_states=states)
            softest, error, feeds = _softest(e, functions, state, multipliers, bool(world.any()), touching)
            slipping = 0 if touching is None else touching.slipping
            return Equilibrium(mechanism, state, multipliers, softest, error, iteration, slipping, feeds)
        if rounds > ROUNDS:
            break
    if size < LARGEST:  # otherwise the states follow a configuration that nothing restrains
        require_stationary(e, functions, q, _in_bodies(flat, q, world), multipliers)
    e.compare_tangents(t)
    hint = "Start nearer to one, or add a spring that restrains it." if touching is None else touching.hint
    raise EquilibriumError(
        f"{mechanism.name!r} found no equilibrium in {iteration} iterations; the last moved it by "
        f"{min(size, LARGEST):.2g} of its length{_moved_most(e, step[:, None])}. {hint}"
    )


def _carried_along(mechanism: Mechanism, state: State) -> State:
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


def _in_world(flat: CompiledModel, state: State) -> np.ndarray:
    """Velocities (6 nb,) in world axes: of each body's point at the origin of the world, and angular velocity."""
    out = []
    for b in range(len(flat.modes)):
        r, R, s = *pose(flat, state.q, b), flat.v_start[b]
        omega = R @ state.w[s + 3 : s + 6]
        out += [R @ state.w[s : s + 3] - np.cross(omega, r), omega]
    return np.concatenate(out)


def _in_bodies(flat: CompiledModel, q: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Velocities (nv,) of rigid bodies in body axes, from those of `_in_world`."""
    w = np.zeros(len(flat.weight))
    for b in range(len(flat.modes)):
        (r, R), s = pose(flat, q, b), flat.v_start[b]
        v, omega = world[6 * b : 6 * b + 3], world[6 * b + 3 : 6 * b + 6]
        w[s : s + 3], w[s + 3 : s + 6] = R.T @ (v + np.cross(omega, r)), R.T @ omega
    return w


def _require_steady(found: Equilibrium, world: np.ndarray, t: float) -> None:
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
    opened = np.abs(row_jacobian(mechanism, flat, q, functions)[0][:nj]).max(initial=0.0)
    changed = accelerations(
        mechanism,
        replace(state, t=t + later, q=q, w=_in_bodies(flat, q, world), angles=angles_near(mechanism, q, state.angles)),
        functions,
    )[0]
    scale = speed**2 + float(np.linalg.norm(mechanism.gravity)) / mechanism.length
    sizes = np.abs(changed) * flat.weight / scale
    if opened > STEADY * mechanism.length or sizes.max(initial=0.0) > STEADY:
        body = mechanism.bodies[int(np.searchsorted(flat.v_start, int(sizes.argmax()), side="right")) - 1].name
        raise EquilibriumError(
            f"{mechanism.name!r} does not move steadily: {later:.3g} later its joints are open by {opened:.3g} and "
            f"{body!r} accelerates by {sizes.max(initial=0.0):.2g}, relative to the effects of speed and gravity. "
            "Steady motion needs drivers of constant speed, gravity along the axis, and a mechanism that rotates as "
            "one body or whose parts keep their shape as they rotate."
        )


def _stiffness(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray, difference: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stiffness (nv, nv) at constant world velocities, Jacobian of the joints (nj, nv), allowed motions (nv, nf)."""
    t = tangent(e, functions, q, w, np.zeros_like(w), multipliers, difference)
    e.residual(functions, q, w, np.zeros_like(w), multipliers)
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray()
    return (t.K + t.D @ carrying(e.flat, w)).toarray(), G, allowed_motions(G, e.flat.weight)


def _require_answers(e: Equations, found: np.ndarray) -> None:
    """Raise `EquilibriumError` when forces or stiffnesses at a place of the search are no numbers, with the failure of
    the law that gave none."""
    if np.isfinite(found).all():
        return
    failures = [law.failure for law in e.mechanism.calls if law.failure is not None]
    cause = failures[0] if failures else "Forces there are no numbers."
    raise EquilibriumError(
        f"The search for an equilibrium of {e.mechanism.name!r} leaves the places at which its laws have values. "
        f"{cause} Start nearer to an equilibrium, or add a spring that holds what nothing restrains."
        f"{_creeping(e.mechanism)}"
    ) from (failures[0] if failures else None)


def _creeping(mechanism: Mechanism) -> str:
    """A sentence on the friction of continuous contacts, which holds nothing at rest; empty without any."""
    creep = [force.name for force in mechanism.frame_forces if rubs(force)]
    if not creep:
        return ""
    return (
        f" The friction of {few(creep)} creeps and holds nothing at rest; that of exact contacts, without law=, of "
        "boxes and meshes on planes does."
    )


def _motions_by_stiffness(e: Equations, K: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Displacements (nv, nf) of unit mass that the joints allow and `K` does not couple, and their stiffnesses (nf,).

    The stiffness of soft motions is accurate even if others are stiffer by many orders of magnitude.
    """
    M = e.mass()
    small = N.T @ K @ N
    vectors = eigh(0.5 * (small + small.T), N.T @ (M @ N))[1]
    x = N @ vectors
    return x, np.einsum("ik,ik->k", x, K @ x) / np.einsum("ik,ik->k", x, M @ x)


def _motions_with_errors(
    e: Equations, K: np.ndarray, N: np.ndarray, rounded: np.ndarray, wrong: np.ndarray, difference: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`_motions_by_stiffness`, and the errors (nf,) of the stiffnesses, for the round-off of forces `rounded` (nv,) and
    the errors `wrong` (nv, nv) of `K` by states."""
    x, stiffness = _motions_by_stiffness(e, K, N)
    size = np.abs(x)
    error = (size.T @ (ROUNDING * np.abs(K) + wrong) * size.T).sum(axis=1)
    return x, stiffness, error + (size.T @ rounded) * (size.T @ e.flat.weight) / difference


class _Pressed(NamedTuple):
    """A step with flexible surfaces that touch: the displacement `step` (nv,) and the `changes` (n, 3) of the forces of
    their points; the residual forces `out` (nv,) with the changed forces, and the stiffness `K` (nv, nv) with constant
    ones; the displacement that round-off leaves `open`; and whether the points keep what they do and yield by round-off
    only (`settled`)."""

    step: np.ndarray
    changes: np.ndarray
    out: np.ndarray
    K: np.ndarray
    open: float
    settled: bool


def _pressed_step(
    touching: Touching,
    e: Equations,
    q: np.ndarray,
    K: np.ndarray,
    N: np.ndarray,
    start: np.ndarray,
    out: np.ndarray,
    rounded: np.ndarray,
    wrong: np.ndarray,
    difference: float,
    downhill: bool,
) -> _Pressed:
    """Newton's step with flexible surfaces that touch (flexmb/linear/touching.py).

    `start` (nv,): a displacement to add to the allowed motions `N`; `out` (nv,) and `K` (nv, nv): residual forces and
    stiffness of the mechanism `e` without these surfaces.
    """
    length = e.mechanism.length
    K = K + touching.stiffness(q)
    seen, before, old = touching.see(q), touching.does.copy(), touching.forces.copy()
    out = out - seen.pushed(old)
    rounded = rounded + ROUNDING * np.einsum("kc,kcj->j", np.abs(old), np.abs(seen.rows))
    x, stiffness, error = _motions_with_errors(e, K, N, rounded, wrong, difference)
    size = np.abs(x)
    # motions that nothing else restrains move by the largest step under all of their forces, those of overlaps included
    restrained = stiffness > error
    bent = ((seen.rows[:, 0] @ x[:, restrained]) ** 2 / stiffness[restrained]).sum(axis=1)
    overlaps = np.maximum(-seen.gap, 0.0) / np.maximum(bent + seen.own_compliance, np.finfo(float).tiny)
    felt = rounded / ROUNDING + (overlaps + np.linalg.norm(old, axis=1)) @ np.abs(seen.rows).sum(axis=1)
    floor = (size.T @ felt) * (size.T @ e.flat.weight) / LARGEST
    floor = np.maximum(floor, SOFTEST * np.abs(stiffness).max(initial=0.0))
    for stiffer in STIFFER:
        motions = Motions(x, np.maximum(np.abs(stiffness), stiffer * floor))
        free = start - motions.respond(out + K @ start)
        try:
            new = touching.choose(seen, motions, free, exact=stiffer != STIFFER[-1])
            break
        except EquilibriumError:
            if stiffer == STIFFER[-1]:
                raise
    gaps = seen.places.ravel()
    gaps[::3] += seen.approached(new)
    for _ in range(CHANGES):
        held = touching.held(seen, new, touching.does)
        already = old.ravel()[held.loaded]
        yields = held.rows @ (gaps[held.loaded] - held.C @ already)
        stiff = held.G.T @ held.pushes @ np.linalg.inv(held.flexing)
        whole = K + stiff @ held.rows @ held.G
        force = -(out + held.G.T @ already + stiff @ yields)
        force -= whole @ start
        along, reachable = _newton_step(e, whole, N, force, rounded, wrong, difference, downhill)
        if (touching.does == SLIPS).any():  # not symmetric, so that the motions by stiffness do not uncouple it
            along = N @ np.linalg.lstsq(N.T @ whole @ N, N.T @ force)[0]
        step = start + along
        if float((np.abs(step) * e.flat.weight).max(initial=0.0)) > LARGEST:
            break
        unknown = -np.linalg.solve(held.flexing, yields + held.rows @ held.G @ step)
        forces = np.zeros(3 * len(new))
        forces[held.loaded] = held.pushes @ unknown
        changes = forces.reshape(-1, 3) - old
        flexed = seen.flexed(changes)[:, 0]
        push = forces[::3]
        opens = (touching.does != OPEN) & (push < -OVERLAP * push.max(initial=0.0))
        there = seen.gap + seen.rows[:, 0] @ step + flexed
        closes = (touching.does == OPEN) & np.isfinite(seen.gap) & (there < -OVERLAP * length)
        if touching.friction.any() or not (opens.any() or closes.any()):
            kept = (touching.does == before).all() and not opens.any() and not closes.any()
            kept = kept or np.abs(changes).max() <= KEPT * push.max()
            moved = float(np.abs(flexed).max(initial=0.0)) / length
            settled = bool(kept) and moved < max(TOLERANCE, reachable)
            return _Pressed(step, changes, out - seen.pushed(changes), K, reachable, settled)
        touching.does[opens], touching.does[closes] = OPEN, STICKS
    touching.require_support()
    changes = new - old
    pushed = seen.pushed(changes)
    return _Pressed(free + motions.respond(pushed), changes, out - pushed, K, 0.0, False)


def _newton_step(
    e: Equations,
    K: np.ndarray,
    N: np.ndarray,
    force: np.ndarray,
    rounded: np.ndarray,
    wrong: np.ndarray,
    difference: float,
    downhill: bool,
) -> tuple[np.ndarray, float]:
    """Newton's step (nv,) within the allowed motions `N`, and the displacement that round-off leaves open.

    `rounded` (nv,): round-off of the forces; `wrong` (nv, nv): errors of `K` by states; `difference`: the relative
    steps of the differences in `K`. Stiffnesses below their error are raised to it; a motion with such a stiffness is
    not changed if its force is round-off. `downhill`: reverse the sign of negative stiffnesses.
    """
    if not N.shape[1]:
        return np.zeros(len(force)), 0.0
    weight = e.flat.weight
    x, stiffness, error = _motions_with_errors(e, K, N, rounded, wrong, difference)
    size = np.abs(x)
    along, noise = x.T @ force, size.T @ rounded
    flat = np.abs(stiffness) <= error
    raised = np.maximum(np.abs(stiffness), np.maximum(error, np.finfo(float).tiny))
    raised *= 1.0 if downhill else np.where(stiffness < 0, -1.0, 1.0)
    part = np.where(flat & (np.abs(along) <= noise), 0.0, along / raised)
    held = np.ix_(~flat, ~flat)
    across = (x.T @ K @ x - np.diag(stiffness))[held]  # the rest of it is not symmetric, as that of films
    if np.abs(across).max(initial=0.0) > CROSSED * np.abs(stiffness).max():
        part[~flat] = np.linalg.lstsq(np.diag(stiffness)[held] + across, along[~flat])[0]
    open_ = np.where(flat, 0.0, noise / np.abs(raised))
    return np.asarray(x @ part), float(((size @ open_) * weight).max(initial=0.0))


def _softest(
    e: Equations,
    functions: np.ndarray,
    state: State,
    multipliers: np.ndarray,
    moving: bool,
    touching: Touching | None,
) -> tuple[float, float, bool]:
    """The lowest stiffness per unit of mass, a bound of its error, and whether forces at rest may feed energy to
    motions.

    Raises `EquilibriumError` for unrestrained motions of mechanisms at rest; at a critical speed, moving bodies have
    one. The error of its own stiffness decides whether a motion is restrained, not the stiffness of others: gravity
    restrains a hanging bar of steel, with a stiffness ten orders of magnitude below that of its bending.
    """
    q, w = state.q, state.w
    none = np.zeros_like(w)
    t, errors = measured_tangent(e, functions, q, w, none, multipliers)
    carried = carrying(e.flat, w)
    e.residual(functions, q, w, none, multipliers)
    N = allowed_motions(as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray(), e.flat.weight)
    stationary = stationary_states(e, functions, q, w, multipliers)
    N = N @ stationary.held(N, none)[0]
    feeds = _remembers(e.mechanism, moving)
    if not N.shape[1]:
        return np.inf, 0.0, feeds
    K = t.K + t.D @ carried
    closed = None if touching is None else touching.closed(q)
    whole = K.toarray() + stationary.stiffness + (0.0 if closed is None else closed.stiffness)
    x, stiffness = _motions_by_stiffness(e, whole, N)
    size = np.abs(x)
    wrong = errors.K + errors.D @ abs(carried) + ROUNDING * abs(K)
    bounds = size.T @ (wrong @ size + stationary.stiffness_error @ size)
    bounds = bounds if closed is None else bounds + closed.errors(x)
    across = np.abs(x.T @ whole @ x - np.diag(stiffness)) - bounds
    if not moving and touching is None:
        round_ = bool((across > CIRCULATES * np.sqrt(np.abs(np.outer(stiffness, stiffness)))).any())
        feeds = feeds or round_ or _pushes_on(x, t.D, errors.D)
    error = np.diag(bounds)
    free = np.flatnonzero(np.abs(stiffness) <= error)
    if len(free) and not moving:
        raise EquilibriumError(
            f"{e.mechanism.name!r} has {len(free)} motion(s) that nothing restrains{_moved_most(e, x[:, free])}, so "
            "its equilibrium is not unique. Drive or lock them, or add a spring; linearise(system), or flexmb modes "
            f"--start, takes the state as drawn.{_creeping(e.mechanism)}"
        )
    k = int(stiffness.argmin())
    return float(stiffness[k]), float(error[k]), feeds


def _pushes_on(x: np.ndarray, D: sp.csr_matrix, errors: sp.csr_matrix) -> bool:
    """Whether forces push along the velocity of one of the motions `x` (nv, n), by the derivative `D` (nv, nv) of the
    residual with respect to the velocities and its `errors`."""
    damping, size = x.T @ (D @ x), np.abs(x)
    values = np.linalg.eigvalsh(0.5 * (damping + damping.T))
    error = float(np.linalg.norm(size.T @ ((errors + ROUNDING * abs(D)) @ size)))
    return bool(values[0] < -error - CIRCULATES * np.abs(values).max())


def _remembers(mechanism: Mechanism, moving: bool) -> bool:
    """Whether a force element has states, such as pressures, or at rest a controller that measures has them, such as an
    integral, with which forces come later than motions."""
    controllers = not moving and any(own.begin and own.signals for own in mechanism.controllers)
    return controllers or any(force.call.law.states for force in mechanism.frame_forces)


def _moved_most(e: Equations, x: np.ndarray) -> str:
    """The body that moves most in the motions `x` (nv, n), as text."""
    place = int((np.abs(x).max(axis=1) * e.flat.weight).argmax())
    body = e.mechanism.bodies[int(np.searchsorted(e.flat.v_start, place, side="right")) - 1].name
    return f" ({body!r} moves most)"
