"""Derivatives of many measures with respect to few parameters, by the linearised change of the motion in every step."""

from collections.abc import Mapping

import numpy as np

from flexmb.errors import StudyError
from flexmb.kernels.base.announce import announced
from flexmb.kernels.base.data import CompiledModel, make_marker_kinematics, make_workspace
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.kernels.calls import vary
from flexmb.kernels.derivatives.transposed import make_scratch
from flexmb.kernels.derivatives.variation import make_variation
from flexmb.results.result import Result, followed_angles, result_of_states
from flexmb.simulation.initial_state import InitialState
from flexmb.simulation.recorded import Recording, record
from flexmb.study.gradients.aligned import Aligned
from flexmb.study.gradients.begun import start_of, starts_apart
from flexmb.study.gradients.closed import smooth_model
from flexmb.study.gradients.dependence import effects_of_laws, without_laws
from flexmb.study.gradients.model import Model, mechanism_of, refuse_without_derivatives, started
from flexmb.study.gradients.rates import Rates, rates_of
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.gradients.trust import error_of, other_step, suspicious, warn_of_errors
from flexmb.study.parameters import Progress, checked_values, nothing
from flexmb.study.peaks import Measure, numbers_by_name, peaks_of_states, require_function

MOVED = 4e-3
"""Change, to both sides, of a number on which residuals depend nonlinearly, relative to its size; half of it is used
too. It must be large against the rounding of positions, which affects multipliers divided by the square of the step.
"""
REST = 1e-6
"""Speed, in lengths of the mechanism in the duration, below which a motion is at rest: it may be round-off."""


def direct_gradient(
    model: Model,
    at: Mapping[str, float],
    duration: float,
    *,
    step: float,
    measure: Measure = peaks_of_states,
    initial_state: InitialState | None = None,
    output_step: float | None = None,
    rho_inf: float | None = None,
    newton_tolerance: float = 1e-8,
    relative_step: float = 1e-4,
    progress: Progress = nothing,
) -> Gradient:
    """Derivatives of everything in `measure` with respect to every parameter of `model(**parameters)` at `at`.

    They are the exact derivatives of the discrete motion. The change of the motion with a parameter is computed beside
    the motion, by a linear problem in every step with the matrix of that step. This is as accurate as the adjoint
    method, for any number of measures, at a cost of about two and a half runs for each parameter.
    `flexmb.study.gradient` takes four, and works with every integrator, adaptive steps and events;
    `flexmb.study.adjoint_gradient` takes three in all, for one scalar.

    - `measure(result)`: numbers by name, which depend on the states alone: a changed motion has no energies. Largest
      values over time have the derivative at their instant.
    - `step`, `output_step`, `rho_inf`, `newton_tolerance`: options of `flexmb.simulate` and their defaults, with
      generalised-alpha in absolute coordinates, fixed steps and no events. All steps are kept in memory.
    - `initial_state`: of each mechanism, as `flexmb.simulate` takes it; `flexmb.linear.settled` is the equilibrium at
      the values of the parameters, with which it changes.
    - `relative_step`, `progress`: as for `adjoint_gradient`.

    Warns with `SensitivityWarning` when the derivatives are not reliable. Raises `StudyError` when the model or the
    parameters do not fit, or when the change of the motion does not converge; `MechanismError` when the mechanism has
    parts without derivatives, such as surfaces of reduced bodies that touch.

    Source of the approach: Bruls, Eberhard, "Sensitivity analysis for dynamic mechanical systems with finite rotations"
    (2008), section 3: derivatives of the discrete equations.
    """
    values = checked_values(at)
    require_function(measure)
    model = smooth_model(started(model, initial_state), values, duration, step, rho_inf, newton_tolerance)

    def ask(step: float, progress: Progress) -> tuple[Recording, dict[str, float], dict[str, np.ndarray], bool]:
        whole = 1.0 + 2.5 * len(values)
        base = mechanism_of(model, values)
        refuse_without_derivatives(base, "The direct method")
        recording = record(base, duration, step, output_step, rho_inf, newton_tolerance, lambda x: progress(x / whole))
        outcome, doubted = numbers_by_name(measure(recording.result)), False
        derivatives = {name: np.zeros(len(values)) for name in outcome}
        for k, parameter in enumerate(values):
            rates = rates_of(model, values, parameter, relative_step, base, recording.times)
            with announced():
                *results, growth = neighbours(recording, rates)
            below, above = (measure(result) for result in results)
            for name in outcome:
                derivatives[name][k] = (above[name] - below[name]) / rates.distance
            doubted |= suspicious(recording, growth)
            progress((1.0 + 2.5 * (k + 1)) / whole)
        if doubted:  # the change may have grown because the parameter acts late
            doubted = suspicious(recording, _growth_after_push(recording))
        return recording, outcome, derivatives, doubted

    recording, outcome, derivatives, doubted = ask(step, progress)
    errors = {name: np.full(len(values), np.nan) for name in outcome}
    if doubted:
        second = other_step(recording)
        others = ask(second, nothing)[2]
        errors = {name: error_of(derivatives[name], others[name], second / recording.h) for name in outcome}
        warn_of_errors(values, derivatives, errors, recording.h, recording.result.t)
    return Gradient(values, outcome, derivatives, errors)


def neighbours(recording: Recording, rates: Rates, push: np.ndarray | None = None) -> tuple[Result, Result, np.ndarray]:
    """The motions of the mechanisms on both sides of that of a recording, and the magnitude (nt,) of their difference.

    The motions are correct to first order in the difference of the parameter, by which forces `push` (n, nv) may
    change, too.
    """
    e, result, distance = recording.run.equations, recording.result, rates.distance
    (first, below), (second, above) = (start_of(mechanism, recording) for mechanism in (rates.below, rates.above))
    change = starts_apart(e.flat, recording.run.tree, below, above)
    variation = make_variation(e.flat, *(x / distance for x in change))
    size = rates.size(result.mechanism, MOVED)
    neighbouring = [rates.moved(result.mechanism, recording.functions, part * size) for part in (-1.0, 1.0, -0.5, 0.5)]
    neighbouring = [(without_laws(flat), table) for flat, table in neighbouring]
    flats, tables = (tuple(x) for x in zip((e.flat, recording.functions), *neighbouring, strict=True))
    kinematics = tuple(make_marker_kinematics(flat) for flat in flats)
    workspaces, scratch = (make_workspace(e.flat), make_workspace(e.flat)), make_scratch(e.flat)[0]
    bare = pointed(CompiledModel(**{**fields_of(e.flat), "element_row": e.flat.element_row[:0]}))
    couplings, speed = _couplings(recording, rates), _speed(recording)
    couplings += 0.0 if push is None else push
    own = np.zeros((2, len(couplings), len(recording.run.motion.states)))
    if (effects := effects_of_laws(recording, rates, len(couplings))) is not None:
        couplings, own = couplings + effects.forces, np.array([effects.states, effects.state_rates])
    names = ("q", "w", "wdot", "multipliers", "element_states")
    sides = [[getattr(result, name).copy() for name in names] for _ in range(2)]
    for states, begin in zip(sides, (first, second), strict=True):
        begun = (begin.q, begin.w, begin.wdot, begin.multipliers, begin.states)
        for table, value in zip(states, begun, strict=True):
            table[0] = value
    growth = np.zeros(len(result.t))
    for k in range(1, len(result.t)):
        failed = vary(
            flats,
            bare,
            recording.run.tree,
            size,
            rates.bends,
            speed,
            recording.run.scheme,
            recording.h,
            tables,
            couplings,
            own[0],
            own[1],
            recording.track,
            int(recording.stored[k - 1]),
            int(recording.stored[k]),
            variation,
            kinematics,
            *workspaces,
            scratch,
        )
        if failed:
            t = result.t[0] + failed * recording.h
            raise StudyError(
                f"The change of {result.mechanism.name!r} with a parameter does not converge at t = {t:.6g}: the step "
                f"{recording.h:.3g} is too long for the motion. Reduce `step`."
            )
        growth[k] = np.abs(variation.next_q * e.flat.weight).max(initial=0.0)
        growth[k] += np.abs(variation.next_w * e.flat.weight).max(initial=0.0) / speed
        for states, part in zip(sides, (-0.5 * distance, 0.5 * distance), strict=True):
            states[0][k] = e.displaced(result.q[k], part * variation.next_q)
            states[1][k] += part * variation.next_w
            states[2][k] += part * variation.next_wdot
            states[3][k] += part * variation.multipliers[0]
            states[4][k] += part * variation.states
    one, other = (
        result_of_states(
            m,
            result.t,
            *states[:4],
            angles=followed_angles(m, states[0], result.angles),
            element_states=states[4],
        )
        for m, states in zip((rates.low, rates.high), sides, strict=True)
    )
    return one, other, growth


def _growth_after_push(recording: Recording) -> np.ndarray:
    """The magnitude (nt,) of a disturbance that constant, random forces begin in the first tenth of the steps."""
    run, n = recording.run, len(recording.functions)
    push = np.zeros((n, len(run.equations.flat.weight)))
    push[: -(-n // 10)] = run.equations.flat.weight * np.random.default_rng(0).standard_normal(push.shape[1])
    base = recording.result.mechanism
    same = Aligned(base, base, tuple(np.eye(body.modes) for body in base.bodies), (), ())
    with announced():
        return neighbours(recording, Rates(same, same, 1.0, {}, {}, {}, np.zeros(0, dtype=int), False), push)[2]


def _couplings(recording: Recording, rates: Rates) -> np.ndarray:
    """Derivatives (n, nv) of the forces due to stiffness and damping between elastic coordinates."""
    track, flat = recording.track, recording.run.equations.flat
    forces = np.zeros((len(recording.functions), len(flat.weight)))
    n = len(forces)
    for b, (stiffness, damping) in rates.couplings.items():
        i, j, m = flat.q_start[b] + 7, flat.v_start[b] + 6, flat.modes[b]
        own = slice(j, j + m)
        forces[:, own] = track.q[1 : n + 1, i : i + m] @ stiffness + track.w[1 : n + 1, own] @ damping
    return forces


def _speed(recording: Recording) -> float:
    """The largest velocity of the motion, in lengths of the mechanism; one length in the duration, if it is at rest."""
    speed = float(np.abs(recording.track.w * recording.run.equations.flat.weight).max(initial=0.0))
    one = 1.0 / float(recording.result.t[-1] - recording.result.t[0])
    return speed if speed > REST * one else one
