"""The search for an equilibrium near a configuration, by Newton's method."""

import numpy as np

from flexmb.differences import ROUNDING
from flexmb.equations.contact.skins import without_surfaces
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.stationary import StationaryStates, require_stationary, state_names, stationary_states
from flexmb.equations.tangent import DIFFERENCE, forces
from flexmb.errors import EquilibriumError
from flexmb.kernels.calls import displace
from flexmb.linear.rest.judged import softest_motion
from flexmb.linear.rest.motions import (
    accelerating,
    creeping,
    drifting,
    motions_with_errors,
    moved_most,
    require_answers,
    stiffness_of,
)
from flexmb.linear.rest.record import Equilibrium
from flexmb.linear.rest.steady import in_bodies
from flexmb.linear.rest.steps import LARGEST, TOLERANCE, newton_step, pressed_step
from flexmb.linear.sampled.at_rest import SamplesAtRest
from flexmb.linear.touching import Touching
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.simulation.sampling import sampled_controllers

ITERATIONS = 100
HALVINGS = 12
"""Largest number of lengths that are tried for a step at whose end a law fails."""
SLOW, COARSE, FINER, FINEST = 0.1, 10.0, 0.125, 1e-10
"""The differences of the tangent are too coarse for a law where an iteration moves by less than `COARSE` of them, and
by more than `SLOW` of the one before; they are then multiplied by `FINER`, down to `FINEST`."""
ROUNDS, BACK = 10, 0.01
"""Iterations that lead back to a place of an earlier one, but for the part `BACK` of their displacement, after which
the search goes round in circles and ends."""
NEAR = 1e-4
"""Size of iterations below which points of surfaces that do two things in turn swing between them."""
REVERSED = 0.5
"""The part of the last change of the states that a step may take back; one that takes more back is halved. Without
this, Newton's method goes to and fro between both sides of a root, such as the flow of an orifice without pressure
drop, whose tangent leads as far beyond it."""
UNBALANCED = 1e-6
"""Force that is left where states hold motions, relative to the largest, beyond which they do not."""
FREE = 0.1
"""Part of the scale of a state that it changes by, from which it is one of those that hold a motion."""
SETTLED = 1e-9
"""Largest change of the states of force elements in the last iteration, relative to their scale."""


def search(mechanism: Mechanism, start: State, world: np.ndarray, downhill: bool) -> Equilibrium:
    """The equilibrium near a configuration, of bodies with constant velocities.

    `world` (6 nb,): velocities of the bodies, as of `in_world`. `downhill`: avoid maxima of the potential, unless the
    iteration starts at one.
    """
    flat, t = compiled(mechanism), start.t
    q = start.q.copy()
    touching = Touching(mechanism, start) if mechanism.surface_contacts else None
    own = start.element_states if touching is None else start.element_states[: flat.skin_state]
    e = Equations(without_surfaces(mechanism), q, start.angles, own)
    samples = SamplesAtRest(mechanism, t) if sampled_controllers(mechanism) else None
    e.samples = samples
    functions = mechanism.function_values(t)
    nv, nj = len(flat.weight), mechanism.joint_rows
    none, multipliers = np.zeros(nv), np.zeros(nj)
    require_answers(e, e.residual(functions, q, in_bodies(flat, q, world), none, multipliers)[0])
    size = changed = np.inf
    last, difference, settled = np.zeros(len(e.states)), DIFFERENCE, True
    places, rounds, done, swings = [q.copy()], 0, [], 0
    for iteration in range(1, ITERATIONS + 1):
        w = in_bodies(flat, q, world)
        stationary = stationary_states(e, functions, q, w, multipliers)
        K, G, N = stiffness_of(e, functions, q, w, multipliers, difference)
        while difference > FINEST and not np.isfinite(K).all():  # a law ends within the differences
            difference = max(FINER * difference, FINEST)
            K, G, N = stiffness_of(e, functions, q, w, multipliers, difference)
        require_answers(e, K)
        K, wrong = K + stationary.stiffness, stationary.stiffness_error
        rounded = ROUNDING * forces(e, functions, q, w, none, multipliers)
        out = e.residual(functions, q, w, none, multipliers)[0] + stationary.offset
        values = e.workspace.values[:nj].copy()
        closing = np.linalg.lstsq(G, -values, rcond=1e-10)[0] if nj else none
        held, reached = stationary.held(N, closing)
        changes = np.zeros((0, 3))
        if touching is None:
            force = -(out + K @ (closing + reached))
            along, reachable = newton_step(e, K, N @ held, force, rounded, wrong, difference, downhill)
            step = closing + along + reached
        else:
            given = closing + reached
            pressed = pressed_step(
                touching, e, q, K, N @ held, given, out, rounded, wrong, difference, downhill, swings
            )
            step, changes, out, K, reachable, settled = pressed
        earlier, size = size, float((np.abs(step) * flat.weight).max(initial=0.0))
        if SLOW * earlier < size < COARSE * difference:
            difference = max(FINER * difference, FINEST)
        part = LARGEST / max(size, LARGEST)
        step *= part
        if touching is not None:
            touching.forces[:] += part * changes
            settled = settled and part == 1.0
            done.append(touching.does.copy())
            swings += size < NEAR and _swing(done)
        found, left = _reactions(G, stationary.pushing, -(out + K @ step))
        multipliers = multipliers + found[:nj]
        before, last = last, stationary.change(step, found[nj:])
        changed = float(np.abs(last).max(initial=0.0))
        if last @ before < -REVERSED * (before @ before):
            step, last = 0.5 * step, 0.5 * last
        moved, states = np.empty_like(q), e.states.copy()
        for _ in range(HALVINGS):
            e.states[:] = stationary.changed(states, last)
            displace(flat, q, step, moved)
            if np.isfinite(e.residual(functions, moved, w, none, multipliers)[0]).all():
                break
            step, last = 0.5 * step, 0.5 * last
        else:
            require_answers(e, e.residual(functions, moved, w, none, multipliers)[0])
        again = min(np.abs(moved - x).max() for x in places) < BACK * np.abs(moved - q).max()
        rounds += again and size > TOLERANCE
        q = moved
        places.append(q)
        e.keep_angles(functions)
        if size < max(TOLERANCE, reachable) and changed < SETTLED and settled:
            w = in_bodies(flat, q, world)
            if samples is not None:  # their states to the last bit, of which laws may remember numbers
                e.states[:] = samples.after(e, q, w, multipliers)
            require_stationary(e, functions, q, w, multipliers)
            if held.shape[1] < held.shape[0]:
                pushed = SETTLED * np.abs(stationary.pushing / flat.weight[:, None])
                felt = UNBALANCED * rounded / (ROUNDING * flat.weight)
                _require_balance(e, stationary, left / flat.weight, max(felt.max(), pushed.max(initial=0.0)))
            states = e.states.copy() if touching is None else np.concatenate([e.states, touching.forces.ravel()])
            state = State(t, q, w, angles_near(mechanism, q, e.angles), element_states=states)
            softest, error, feeds = softest_motion(e, functions, state, multipliers, bool(world.any()), touching)
            slipping = 0 if touching is None else touching.slipping
            return Equilibrium(mechanism, state, multipliers, softest, error, iteration, slipping, feeds)
        if rounds > ROUNDS:
            break
    if size < LARGEST:  # otherwise the states follow a configuration that nothing restrains
        require_stationary(e, functions, q, in_bodies(flat, q, world), multipliers)
    e.compare_tangents(t)
    far, how, hint = min(size, LARGEST), moved_most(e, step[:, None]), "Start nearer to one, or add a spring that "
    hint = f"{hint}restrains it." if touching is None else touching.hint
    free = motions_with_errors(e, K, N @ held, rounded, wrong, difference)
    if touching is None and (drifts := drifting(e, step, *free)).shape[1]:
        how = f", along {drifts.shape[1]} motion(s) that nothing restrains{moved_most(e, drifts)}"
        hint = (
            "Drive or lock them, or add a spring; linearise(system), or flexmb modes --start, takes the state as "
            f"drawn.{creeping(mechanism)}"
        )
        shifts = [in_bodies(flat, q, np.tile(axis, len(flat.modes))) for axis in np.eye(3, 6)]
        hint += accelerating(e, K, G, out, np.array(shifts).T)
    raise EquilibriumError(
        f"{mechanism.name!r} found no equilibrium in {iteration} iterations; the last moved it by {far:.2g} of its "
        f"length{how}. {hint}"
    )


def _reactions(G: np.ndarray, pushing: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The reactions (nj + nr,) of joints, by their Jacobian `G` (nj, nv), and of states, by what units of them push
    (nv, nr), that give the `force` (nv,), and what is left of it. Units of states may be of any size beside those of
    joints."""
    if not len(G) + pushing.shape[1]:
        return np.zeros(0), force
    largest = float(np.linalg.norm(G, axis=1).max(initial=0.0)) or 1.0
    sizes = np.linalg.norm(pushing, axis=0) / largest
    units = np.concatenate([np.ones(len(G)), 1.0 / np.where(sizes > 0, sizes, 1.0)])
    balancing = np.hstack([G.T, pushing]) * units
    found = np.linalg.lstsq(balancing, force, rcond=1e-10)[0]
    return units * found, force - balancing @ found


def _require_balance(e: Equations, stationary: StationaryStates, left: np.ndarray, rounding: float) -> None:
    """Raise `EquilibriumError` where states hold motions by no force: `left` (nv,) is what is left of forces, times
    displacements of the size of the mechanism, and is more than `rounding`, as of states found to `SETTLED`."""
    if not np.abs(left).max(initial=0.0) > rounding:
        return
    free = (np.abs(stationary.free) > FREE * stationary.scale[:, None]).any(axis=1)
    names = [
        f"{state!r} of {element!r}" for (element, state), k in zip(state_names(e.mechanism), free, strict=True) if k
    ]
    raise EquilibriumError(
        f"{e.mechanism.name!r} found no equilibrium. Where {', '.join(names)} would rest, none of its forces holds "
        f"the motions{moved_most(e, left[:, None])}. An integral of an error rests where "
        "the error is zero: let it act on what it measures, within limits that suffice, or do without it."
    )


def _swing(done: list[np.ndarray]) -> bool:
    """Whether points do (np,) what they did two iterations before, and something else in between."""
    return len(done) > 2 and bool((done[-1] == done[-3]).all() and (done[-1] != done[-2]).any())
