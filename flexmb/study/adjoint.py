"""Derivatives of one scalar result by many parameters, from one motion forwards and one backwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from flexmb.configuration import difference
from flexmb.initial import Start, quiet_start, start
from flexmb.integrators.generalised_alpha import coefficients
from flexmb.integrators.recorded import Recorded, Recording, record
from flexmb.kernels.adjoint import make_costates, make_sweep, sweep
from flexmb.kernels.announce import announced
from flexmb.kernels.data import make_places, make_terms
from flexmb.kernels.transposed import make_scratch
from flexmb.mechanism import Mechanism
from flexmb.simulate import check_times, output_times
from flexmb.study.dependence import Work
from flexmb.study.parameters import StudyError, checked_values
from flexmb.study.seeds import Over, Scalar, Series, scalar, seeds
from flexmb.study.sensitivity import Gradient
from flexmb.system import System


def adjoint_gradient(
    model: Callable[..., System | Mechanism],
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
) -> Gradient:
    """Derivatives of one number by every parameter of `model(**parameters)` at the values `at`, exact for the motion as computed.

    - `series(result)`: a number (nt,) at every stored time, of the state there alone, such as `lambda r: r.deflection("rod.small")[:, 1]`; `over`: what is taken of it, at the stored times.
    - `step`, `output_step`, `rho_inf`, `newton_tolerance`: of `flexmb.simulate`, with generalised-alpha in absolute coordinates, fixed steps, no events.
    - `relative_step`: parameters are moved to both sides by this part of their values (by it alone where zero), to see what of the mechanism and of its start depends on them: the motion is not
      computed again.

    Derivatives of the steps themselves (the discrete adjoint), so they agree with differences of the simulation, and numbers that are largest at an instant have the derivative of that instant.
    Cost: a simulation, about two more for the way back, and two builds of the model and starts of the mechanism a parameter: some three runs in all, whatever the number of parameters, as long as building
    is cheap. `flexmb.study.gradient` takes four runs a parameter, and gives all measures at once. All steps are kept in memory.

    Source: Bruls, Sonneville, "Sensitivity analysis for flexible multibody systems formulated on a Lie group"; Dias, Pereira, "Sensitivity analysis of rigid-flexible multibody systems"
    (1997); discretised before differentiation.
    """
    values = checked_values(at)
    if not 0 < relative_step < 0.5:
        raise StudyError(f"relative_step is a part of each parameter, between 0 and 0.5; found {relative_step}.")
    scheme = coefficients(rho_inf, newton_tolerance=newton_tolerance)
    check_times(duration, step)
    mechanism = _built(model, values)
    with announced():
        begin = start(mechanism, mechanism.flat())
        times = begin.state.t + output_times(duration, step, output_step)
        steps = int(np.ceil(np.diff(times) / step * (1 - 1e-9)).sum())
        recording = record(mechanism, begin, scheme, times, steps)
        wanted = scalar(series, over, recording.result)
        swept = _swept(recording, wanted)
    derivatives = np.zeros(len(values))
    for k, (parameter, value) in enumerate(values.items()):
        size = relative_step * (abs(value) or 1.0)
        low, high = (_built(model, {**values, parameter: value + sign * size}) for sign in (-1.0, 1.0))
        change = swept.work.slope(low, high) + swept.of_start(low, high)
        change += wanted.at(recording.result, high) - wanted.at(recording.result, low)
        derivatives[k] = change / (2 * size)
    return Gradient(values, {name: wanted.value}, {name: derivatives}, {name: np.full(len(values), np.nan)})


def _built(model: Callable[..., System | Mechanism], values: Mapping[str, float]) -> Mechanism:
    made = model(**values)
    return made.build() if isinstance(made, System) else made


@dataclass(frozen=True, eq=False)
class _Swept:
    """What the way back leaves: the work of parameters along the motion, and derivatives by what it started from."""

    work: Work
    recording: Recording
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray
    first: np.ndarray  # (3 nv + nj,) of the result by the stored start

    def of_start(self, low: Mechanism, high: Mechanism) -> float:
        """What the starts of two mechanisms differ by in the result."""
        (a, x), (b, y) = (self._start(m) for m in (low, high))
        flat = low.flat()
        change = self.q @ difference(flat, x.motion.q, y.motion.q) + self.w @ (y.motion.w - x.motion.w)
        change += self.wdot @ (y.motion.wdot - x.motion.wdot) + self.a @ (y.motion.a - x.motion.a)
        if self.first.any():
            stored = (difference(flat, a.state.q, b.state.q), b.state.w - a.state.w, b.wdot - a.wdot)
            change += self.first @ np.concatenate([*stored, b.multipliers - a.multipliers])
        return float(change)

    def _start(self, mechanism: Mechanism) -> tuple[Start, Recorded]:
        begin = quiet_start(mechanism)
        run = Recorded(mechanism, begin, self.recording.run.scheme, self.recording.h, 0)
        run.prepare()
        return begin, run


def _swept(recording: Recording, wanted: Scalar) -> _Swept:
    """Back over the steps, from the last on which the result depends."""
    e, scheme = recording.run.equations, recording.run.scheme
    flat, nv = e.flat, len(e.flat.weight)
    given = seeds(wanted, e, recording.result)
    seeded = recording.stored[wanted.places]
    last = int(seeded[-1])
    y, mu = np.zeros((last, nv)), np.zeros((last, flat.joint_rows))
    costates, arrays = make_costates(flat), make_sweep(flat)
    first = np.zeros(3 * nv + flat.joint_rows)
    if seeded[0] == 0:
        first, seeded, given = given[0], seeded[1:], given[1:]
    if len(seeded):
        scratch, displaced = make_scratch(flat)
        failed = sweep(
            flat, scheme, recording.h, recording.functions, recording.track, seeded, given, y, mu, make_places(flat), make_terms(flat), scratch, displaced,
            arrays, costates,
        )  # fmt: skip
        if failed:
            t = recording.result.t[0] + recording.h * failed
            raise StudyError(
                f"The way back of {recording.result.mechanism.name!r} does not converge at t = {t:.6g}: the step {recording.h:.3g} is too long for the motion. Take a shorter one."
            )
    work = Work(recording, y, mu, arrays.gravity)
    return _Swept(work, recording, costates.q, costates.w, costates.wdot, costates.a, first)
