"""Simulations that store every step, for the computation of derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

import numpy as np
import psutil

from flexmb.equations.initial_conditions import Start, consistent_state, start
from flexmb.errors import IntegratorError
from flexmb.integrators.generalised_alpha import GeneralisedAlphaRun, coefficients, corrections, spectral_radius
from flexmb.kernels.base.announce import announced
from flexmb.kernels.calls import advance_recorded, keep
from flexmb.kernels.derivatives.adjoint import Track, make_track
from flexmb.kernels.steps.step import Scheme
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Result
from flexmb.simulation.history import History
from flexmb.simulation.times import check_times, output_times


@dataclass(frozen=True, eq=False)
class Recording:
    """A simulation in equal steps `h`: its result, all its steps, and the numbers (nt,) of the steps stored in the
    result."""

    result: Result
    run: "Recorded"
    h: float
    stored: np.ndarray

    @property
    def track(self) -> Track:
        """The data of every step, beginning with the initial state."""
        return self.run.track

    @property
    def times(self) -> np.ndarray:
        """The times (n,) at the ends of the steps."""
        return np.asarray(self.result.t[0] + self.h * np.arange(1, self.stored[-1] + 1))

    @property
    def functions(self) -> np.ndarray:
        """The functions of time (n, nf, 3) at the ends of the steps."""
        return self.run.functions


class Recorded(GeneralisedAlphaRun):
    """Fixed steps of the generalised-alpha method that are recorded in a track."""

    def __init__(self, mechanism: Mechanism, begin: Start, scheme: Scheme, step: float, steps: int) -> None:
        super().__init__(mechanism, begin, scheme, step=step, tolerance=1.0, longest=step)
        self.track, self.steps_done = make_track(self.flat, steps), 0
        self.functions = np.zeros((steps, *self._at_end.shape))

    def prepare(self) -> None:
        """Compile the kernels and record the initial state."""
        super().prepare()
        keep(self.motion, self.track, 0)

    def _run(self, h: float, functions: np.ndarray, tolerance: float = np.inf) -> tuple[int, int]:
        e, first = self.equations, self.steps_done
        outcome: tuple[int, int] = advance_recorded(
            self.flat,
            self.tree,
            self.weight,
            self.scheme,
            h,
            functions,
            self.motion,
            e.kinematics,
            e.workspace,
            self.track,
            first,
        )
        self.functions[first : first + outcome[1]] = functions[: outcome[1]]
        self.steps_done += outcome[1]
        return outcome


def record(
    mechanism: Mechanism,
    duration: float,
    step: float,
    output_step: float | None,
    rho_inf: float | None,
    newton_tolerance: float,
    progress: Callable[[float], None],
) -> Recording:
    """Simulate with generalised-alpha in fixed steps, all of which are stored.

    `progress` is called with the fraction done, about a hundred times; the other arguments are those of `simulate`.

    Raises `IntegratorError` when the steps are unequal or do not fit into the free memory.
    """
    check_times(duration, step)
    radius, iterations = spectral_radius(mechanism, rho_inf), corrections(mechanism)
    scheme = coefficients(radius, newton_tolerance=newton_tolerance, iterations=iterations)
    with announced():
        begin = start(mechanism, compiled(mechanism))
        times = begin.state.t + output_times(duration, step, output_step)
        _require_equal_steps(np.diff(times), step)
        steps = int(np.ceil(np.diff(times) / step * (1 - 1e-9)).sum())
        h, size = (times[-1] - times[0]) / steps, 8 * steps * (len(begin.state.q) + 5 * len(begin.state.w))
        size += 8 * steps * (len(mechanism.rows) + 2 * mechanism.joint_rows + 3 * (1 + len(mechanism.functions)))
        size += 8 * steps * 4 * len(mechanism.initial_states)
        if size > (free := psutil.virtual_memory().available):
            raise IntegratorError(
                f"The {steps} steps of {mechanism.name!r} need {size / 1e9:.3g} GB of memory for derivatives; "
                f"{free / 1e9:.3g} GB are free. Use longer steps or a shorter duration."
            )
        run = Recorded(mechanism, begin, scheme, h, steps)
        history = History(mechanism, len(times))
        history.store(run.now())
        run.prepare()
    stored, clock = [0], thread_time()
    count = len(times) - 1
    for k, target in enumerate(times[1:]):
        history.store(run.to(target))
        stored.append(run.steps_done)
        if (k * 100) // count != ((k + 1) * 100) // count:
            progress((k + 1) / count)
    return Recording(history.result(run.statistics(thread_time() - clock)), run, h, np.array(stored))


def _require_equal_steps(spans: np.ndarray, step: float) -> None:
    """Raises `IntegratorError` when the steps between stored times differ, as they do if `output_step` does not divide
    the duration."""
    sizes = spans / np.ceil(spans / step * (1 - 1e-9))
    if np.ptp(sizes) > 1e-9 * sizes.max():
        raise IntegratorError(
            f"Derivatives need equal steps. With step {step} and stored times at intervals of {spans[0]:.9g}, the last "
            f"of {spans[-1]:.9g}, steps vary from {sizes.min():.9g} to {sizes.max():.9g}. "
            "Give an output_step that is a multiple of step and divides the duration."
        )


def begun(mechanism: Mechanism, like: Recording) -> tuple[Start, Recorded]:
    """Initial conditions and a run without steps for another mechanism, with the method and the step of a recording."""
    begin = consistent_state(mechanism)
    run = Recorded(mechanism, begin, like.run.scheme, like.h, 0)
    run.prepare()
    return begin, run
