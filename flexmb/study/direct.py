"""Derivatives of everything measured by few parameters: how the motion changes with each of them, step by step."""

from collections.abc import Mapping

import numpy as np

from flexmb.configuration import difference
from flexmb.integrators.recorded import Recording, begun, record
from flexmb.kernels.announce import announced
from flexmb.kernels.data import make_places, make_terms
from flexmb.kernels.variation import make_variation, vary
from flexmb.result import Result, result_of_states
from flexmb.study.model import Model, mechanism_of
from flexmb.study.parameters import Progress, StudyError, checked_values, nothing
from flexmb.study.peaks import Measure, peaks_of_states
from flexmb.study.rates import Rates, rates_of
from flexmb.study.sensitivity import Gradient

MOVED = 1e-3
"""Part of its size by which a number is moved to both sides, together with the state: its square is the error."""


def direct_gradient(
    model: Model,
    at: Mapping[str, float],
    duration: float,
    *,
    step: float,
    measure: Measure = peaks_of_states,
    output_step: float | None = None,
    rho_inf: float = 0.9,
    newton_tolerance: float = 1e-8,
    relative_step: float = 1e-4,
    progress: Progress = nothing,
) -> Gradient:
    """Derivatives of all that `measure` gives by every parameter of `model(**parameters)` at the values `at`, exact for the motion as computed.

    Beside the motion its change with a parameter is computed, a linear problem in every step with the matrix of that step: as exact as the adjoint, for any number of measures, at some two and
    a half runs a parameter. `flexmb.study.gradient` takes four, and works with every integrator, adaptive steps and events; `flexmb.study.adjoint_gradient` takes three in all, for one number.

    - `measure(result)`: numbers by name, of the states alone: there are no energies of a changed motion. Largest values over time have the derivative of the instant at which they are largest.
    - `step`, `output_step`, `rho_inf`, `newton_tolerance`: of `flexmb.simulate`, with generalised-alpha in absolute coordinates, fixed steps, no events. All steps are kept in memory.
    - `relative_step`, `progress`: as of `adjoint_gradient`.

    Source of the approach: Bruls, Eberhard, "Sensitivity analysis for dynamic mechanical systems with finite rotations" (2008), section 3: derivatives of the discrete equations.
    """
    values = checked_values(at)
    whole = 1.0 + 2.5 * len(values)
    recording = record(
        mechanism_of(model, values),
        duration,
        step,
        output_step,
        rho_inf,
        newton_tolerance,
        lambda x: progress(x / whole),
    )
    outcome = dict(measure(recording.result))
    derivatives = {name: np.zeros(len(values)) for name in outcome}
    for k, parameter in enumerate(values):
        rates = rates_of(model, values, parameter, relative_step, recording.result.mechanism, recording.times)
        with announced():
            below, above = (measure(result) for result in neighbours(recording, rates))
        for name in outcome:
            derivatives[name][k] = (above[name] - below[name]) / rates.distance
        progress((1.0 + 2.5 * (k + 1)) / whole)
    unknown = {name: np.full(len(values), np.nan) for name in outcome}
    return Gradient(values, outcome, derivatives, unknown)


def neighbours(recording: Recording, rates: Rates) -> tuple[Result, Result]:
    """The motions of the two mechanisms on both sides of that of a recording, to first order in what they differ by."""
    e, result, distance = recording.run.equations, recording.result, rates.distance
    (first, below), (second, above) = (begun(mechanism, recording) for mechanism in (rates.low, rates.high))
    change = [getattr(above.motion, name) - getattr(below.motion, name) for name in ("w", "wdot", "a")]
    moved = difference(e.flat, below.motion.q, above.motion.q)
    variation = make_variation(e.flat, moved / distance, *(x / distance for x in change))
    size = rates.size(result.mechanism, MOVED)
    (low, functions), (high, others) = (
        rates.moved(result.mechanism, recording.functions, sign * size) for sign in (-1.0, 1.0)
    )
    flats, tables = (e.flat, low, high), (recording.functions, functions, others)
    places, terms, scratch = tuple(make_places(flat) for flat in flats), make_terms(e.flat), make_terms(e.flat)
    names = ("w", "wdot", "multipliers")
    sides = [[result.q.copy()] + [getattr(result, name).copy() for name in names] for _ in range(2)]
    for states, begin in zip(sides, (first, second), strict=True):
        for table, value in zip(states, (begin.state.q, begin.state.w, begin.wdot, begin.multipliers), strict=True):
            table[0] = value
    for k in range(1, len(result.t)):
        failed = vary(
            flats, size, recording.run.scheme, recording.h, tables, recording.track, int(recording.stored[k - 1]), int(recording.stored[k]), variation, places, terms, scratch,
        )  # fmt: skip
        if failed:
            raise StudyError(
                f"The change of {result.mechanism.name!r} with a parameter does not converge at t = {result.t[0] + failed * recording.h:.6g}: the step {recording.h:.3g} is too long for the motion. Take a shorter one."
            )
        for states, part in zip(sides, (-0.5 * distance, 0.5 * distance), strict=True):
            states[0][k] = e.displaced(result.q[k], part * variation.q)
            states[1][k] += part * variation.w
            states[2][k] += part * variation.wdot
            states[3][k] += part * variation.multipliers[0]
    one, other = (
        result_of_states(m, result.t, *states) for m, states in zip((rates.low, rates.high), sides, strict=True)
    )
    return one, other
