"""`simulate`: from a system to a result."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from flexmb.equations.initial_conditions import start
from flexmb.equations.time_features import Pace, pace_of, warn_unresolved
from flexmb.errors import EventError, UnresolvedWarning
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.method import Method, method_of
from flexmb.kernels.base.announce import announced
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism, require_state
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.results.verdict import warn
from flexmb.simulation.event_detection import EventDetection
from flexmb.simulation.events import Event
from flexmb.simulation.history import History, require_own
from flexmb.simulation.times import check_times, output_times

Progress = Callable[[float], None]
"""Called with the fraction done, about a hundred times in a run."""


def simulate(
    system: System | Mechanism,
    duration: float,
    *,
    method: str | Method = "generalised-alpha",
    initial_state: State | None = None,
    output_step: float | None = None,
    history: str | Path | None = None,
    events: Sequence[Event] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Simulate a mechanism for `duration` from consistent initial conditions.

    - `method`: a record such as `flexmb.Radau(tolerance=1e-9)`, or its name with `options` beside it (`method="radau", tolerance=1e-9`):
        - "generalised-alpha" (`flexmb.GeneralisedAlpha`): order 2, compiled; the choice for flexible bodies, whose high-frequency modes are damped, not resolved. Options `step`, `tolerance`,
          `max_step`, `rho_inf`, `coordinates`, `project`, `newton_tolerance`.
        - "hht" (`flexmb.HHT`): the same with the coefficients of Hilber, Hughes and Taylor.
        - "radau" (`flexmb.Radau`): Radau IIA of order 5; the choice for a reference solution. Options `step`, `tolerance`, `max_step`, as of "bdf".
        - "bdf" (`flexmb.BDF`): backward differentiation of order 1 to 5, as in classical programs.
        - "explicit" (`flexmb.Explicit`): Dormand and Prince, order 5, for rigid mechanisms without stiff springs. Options as of "radau", and `coordinates`.
        - "energy-momentum" (`flexmb.EnergyMomentum`): order 2, energy balance and momenta to round-off. Option `step`, which it needs.

      With `step` steps are fixed; without it they adapt, so that the local error of the positions stays below `tolerance` times the length of the mechanism.
    - `initial_state`: start there, for instance at `result.state(-1)` to go on with a motion; by default at the initial conditions of the system. It is put on the joints where it is off them.
    - `output_step`: spacing of the stored times (default: about 1,000 of them). The end is stored too, where it is no multiple.
    - `events`: what happens when a measure passes zero: joints lock or are released, hit stops, the simulation ends (see `flexmb.simulation.events`). Event times are located to machine
      precision at any spacing of the stored times; all events of one instant happen.
    - `history`: a file that the motion is stored in, for runs whose motion does not fit the memory; the result's arrays then live in the file. It replaces an older history
      when the run is complete, and nothing else.

    Raises `EventError` for an `initial_state` that events hold which are not given, `IntegratorError` for an option that the method does not have or outside its range, `AssemblyError` when the joints cannot be closed, `ConvergenceError` when the Newton iteration
    fails at a step that cannot be made smaller; the message names time and cause.
    Cost per step: O(m^2) per flexible body for its inertia terms, O(m) for the solve; for the joints, linear in the length of a chain, quadratic in the rows that
    closed loops and branches carry along.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if initial_state is not None:
        require_state(mechanism, initial_state)
        mechanism = replace(mechanism, initial=initial_state, start_rows=())
    method = method_of(method, options)
    step = method.step
    check_times(duration, step)
    require_own(history)
    times = mechanism.initial.t + output_times(duration, step, output_step)
    unresolved = warn_unresolved(mechanism, times[-1], step) if step is not None else ()
    pace = pace_of(mechanism, times[-1], method.longest_step) if step is None else Pace((), times[0], times[-1])
    count = len(times) - 1
    longest = times[1] - times[0]
    run: Integrator
    changed = mechanism.initial.topology.changed
    if changed and not events:
        raise EventError(
            f"Events have changed the joints of the state at t = {mechanism.initial.t:.6g} ({mechanism.initial.topology}); start from it with the events of that simulation."
        )
    with ExitStack() as open_files:
        with announced():
            begin = None if changed else start(mechanism, compiled(mechanism))
            if events:
                watched = EventDetection(mechanism, begin, events, method, pace, times[-1], longest)
                run, mechanism, happened = watched, watched.mechanism, watched.happened
            elif begin is not None:
                run, happened = method.begin(mechanism, begin, end=times[-1], longest=longest, pace=pace), []
            stored = open_files.enter_context(History(mechanism, count + 1, history))
            stored.store(run.now())
            run.prepare()
        clock = process_time()
        for k, target in enumerate(times[1:]):
            stored.store(run.to(target))
            if progress is not None and (k * 100) // count != ((k + 1) * 100) // count:
                progress((k + 1) / count)
            if events and watched.ended:
                break
        result = replace(
            stored.result(run.statistics(process_time() - clock), happened),
            unresolved=unresolved,
            topologies=tuple(watched.topologies) if events else (),
        )
    warn([f for f in result.verdict.findings if f[0] is not UnresolvedWarning], stacklevel=2)
    return result
