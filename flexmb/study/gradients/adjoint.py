"""Derivatives of one scalar result by many parameters, from one motion forwards and one backwards."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexmb.errors import StudyError
from flexmb.kernels.base.announce import announced
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.derivatives.adjoint import backward_pass, make_backward_pass, make_costates
from flexmb.kernels.derivatives.transposed import make_scratch
from flexmb.mechanism.compile import compiled
from flexmb.simulation.recorded import Recording, record
from flexmb.spatial.configuration import difference
from flexmb.study.gradients.aligned import Aligned
from flexmb.study.gradients.begun import start_of, starts_apart
from flexmb.study.gradients.dependence import Work
from flexmb.study.gradients.model import Model, mechanism_of
from flexmb.study.gradients.rates import rates_of
from flexmb.study.gradients.seeds import Over, Scalar, Series, scalar, seeds
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.gradients.trust import error_of, other_step, suspicious, warn_of_errors
from flexmb.study.parameters import Progress, checked_values, nothing


def adjoint_gradient(
    model: Model,
    at: Mapping[str, float],
    duration: float,
    series: Series,
    *,
    step: float,
    over: Over = "largest",
    output_step: float | None = None,
    rho_inf: float = 0.9,
    newton_tolerance: float = 1e-8,
    name: str = "result",
    relative_step: float = 1e-4,
    progress: Progress = nothing,
) -> Gradient:
    """Derivatives of one number by every parameter of `model(**parameters)` at the values `at`, exact for the motion as computed.

    - `series(result)`: a number (nt,) at every stored time, of the state there alone, such as `lambda r: r.deflection("rod.small")[:, 1]`; `over`: what is taken of it, at the stored times.
    - `step`, `output_step`, `rho_inf`, `newton_tolerance`: of `flexmb.simulate`, with generalised-alpha in absolute coordinates, fixed steps, no events.
    - `relative_step`: parameters are moved to both sides by this part of their values (by it alone where zero), to see what numbers of the mechanism, and what start, depend on them; the motion is not
      computed again. Take less where a parameter acts within a small part of its value, such as the instant of a short pulse.
    - `progress`: called with the part done.

    Derivatives of the steps themselves (the discrete adjoint), so they agree with differences of the simulation, and numbers that are largest at an instant have the derivative of that instant.
    Cost: a simulation, about two more for the way back, and two builds of the model and two starts of the mechanism a parameter: some three runs in all, whatever the number of parameters, as long as building
    is cheap. Parameters that move joints or drivers feel the rounding of positions: in reactions an error of about 1e-13 length masses / step^2. `flexmb.study.gradient` takes four runs a parameter, and gives all measures at once. All steps are kept in memory.

    Source: Bruls, Sonneville, "Sensitivity analysis for flexible multibody systems formulated on a Lie group" (2012); Dias, Pereira, "Sensitivity analysis of rigid-flexible multibody systems"
    (1997); discretised before differentiation.
    """
    values = checked_values(at)

    def ask(step: float, progress: Progress) -> tuple[float, np.ndarray, _Swept]:
        base = mechanism_of(model, values)
        recording = record(base, duration, step, output_step, rho_inf, newton_tolerance, lambda x: progress(0.4 * x))
        wanted = scalar(series, over, recording.result)
        derivatives, swept = _derivatives(model, values, recording, wanted, relative_step, progress)
        return wanted.value, derivatives, swept

    value, derivatives, swept = ask(step, progress)
    errors = np.full(len(values), np.nan)
    recording = swept.recording
    if suspicious(recording, swept.growth):
        second = other_step(recording)
        errors = error_of(derivatives, ask(second, nothing)[1], second / recording.h)
        warn_of_errors(values, {name: derivatives}, {name: errors}, recording.h, recording.result.t)
    return Gradient(values, {name: value}, {name: derivatives}, {name: errors})


def _derivatives(
    model: Model,
    values: Mapping[str, float],
    recording: Recording,
    wanted: Scalar,
    relative_step: float,
    progress: Progress,
) -> tuple[np.ndarray, "_Swept"]:
    """By every parameter, and the way back they come from."""
    with announced():
        swept = _swept(recording, wanted)
    progress(0.8)
    derivatives = np.zeros(len(values))
    for k, parameter in enumerate(values):
        rates = rates_of(model, values, parameter, relative_step, recording.result.mechanism, recording.times)
        low, high = rates.low, rates.high
        change = (
            swept.of_start(rates.below, rates.above)
            + wanted.at(recording.result, high)
            - wanted.at(recording.result, low)
        )
        derivatives[k] = swept.work.slope(rates) + change / rates.distance
        progress(0.8 + 0.2 * (k + 1) / len(values))
    return derivatives, swept


@dataclass(frozen=True, eq=False)
class _Swept:
    """What the way back leaves: the work of parameters along the motion, and derivatives by what it started from."""

    work: Work
    recording: Recording
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray
    pivot: np.ndarray  # (nb, 3)
    first: np.ndarray  # (3 nv + nj,) of the result by the stored start
    growth: np.ndarray  # (n,) sizes of the adjoint variables, from the last step back

    def of_start(self, low: Aligned, high: Aligned) -> float:
        """What the starts of two mechanisms, and the pivots of their bodies, differ by in the result."""
        (a, x), (b, y) = (start_of(mechanism, self.recording) for mechanism in (low, high))
        flat, tree = compiled(low.mechanism), self.recording.run.tree
        by = (self.q, self.w, self.wdot, self.a, self.pivot)
        change = sum(np.vdot(slope, apart) for slope, apart in zip(by, starts_apart(flat, tree, x, y), strict=True))
        if self.first.any():
            stored = (difference(flat, a.q, b.q), b.w - a.w, b.wdot - a.wdot)
            change += self.first @ np.concatenate([*stored, b.multipliers - a.multipliers])
        return float(change)


def _swept(recording: Recording, wanted: Scalar) -> _Swept:
    """Back over the steps, from the last on which the result depends."""
    e, scheme = recording.run.equations, recording.run.scheme
    flat, nv = e.flat, len(e.flat.weight)
    given = seeds(wanted, e, recording.result)
    seeded = recording.stored[wanted.places]
    last = int(seeded[-1])
    y, mu = np.zeros((last, nv)), np.zeros((last, flat.joint_rows))
    costates, arrays = make_costates(flat), make_backward_pass(flat)
    first = np.zeros(3 * nv + flat.joint_rows)
    if seeded[0] == 0:
        first, seeded, given = given[0], seeded[1:], given[1:]
    if len(seeded):
        scratch, displaced = make_scratch(flat)
        failed = backward_pass(
            flat, recording.run.tree, scheme, recording.h, recording.functions, recording.track, seeded, given, y, mu, make_marker_kinematics(flat), make_workspace(flat), scratch, displaced,
            arrays, costates,
        )  # fmt: skip
        if failed:
            t = recording.result.t[0] + recording.h * failed
            raise StudyError(
                f"The way back of {recording.result.mechanism.name!r} does not converge at t = {t:.6g}: the step {recording.h:.3g} is too long for the motion. Take a shorter one."
            )
    work = Work(recording, y, mu, arrays.gravity)
    growth = np.abs(y[::-1] * flat.weight).max(axis=1, initial=0.0)
    return _Swept(work, recording, costates.q, costates.w, costates.wdot, costates.a, arrays.pivot, first, growth)
