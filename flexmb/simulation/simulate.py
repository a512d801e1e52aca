"""`simulate`: from a system to a result."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Literal

from flexmb.equations.initial_conditions import start
from flexmb.equations.time_features import Pace, pace_of, warn_unresolved
from flexmb.errors import UnresolvedWarning
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.method import Method
from flexmb.kernels.base.announce import announced
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.results.verdict import warn
from flexmb.simulation.event_detection import Watched
from flexmb.simulation.events import Event
from flexmb.simulation.history import History, require_own
from flexmb.simulation.times import check_times, output_times

Progress = Callable[[float], None]
"""Called with the fraction done, about a hundred times in a run."""


def simulate(
    system: System | Mechanism,
    duration: float,
    *,
    step: float | None = None,
    tolerance: float = 1e-6,
    max_step: float | None = None,
    output_step: float | None = None,
    integrator: Literal[
        "generalised-alpha", "hht", "radau", "bdf", "explicit", "energy-momentum"
    ] = "generalised-alpha",
    coordinates: Literal["absolute", "joint"] = "absolute",
    rho_inf: float = 0.9,
    project: bool = False,
    newton_tolerance: float = 1e-8,
    history: str | Path | None = None,
    events: Sequence[Event] = (),
    progress: Progress | None = None,
) -> Result:
    """Move a mechanism for `duration` from its consistent start.

    - `step`: fixed time step; without it the step adapts so that the local error of the positions stays below
      `tolerance` times the length of the mechanism.
      It is made smaller, by less than one step in the span between two stored times, where it does not divide that span.
    - `max_step`: the longest step that may adapt. Steps end where a function of time begins or ends to change, and are at most half as long as its shortest feature; functions and force laws
      of your own are sampled for theirs (see `flexmb.equations.time_features`).
    - `output_step`: spacing of the stored times (default: about 1,000 of them). The end is stored too, where it is no multiple.
    - `integrator`: "generalised-alpha" (second order, compiled: the choice for flexible bodies, whose fast vibration it steps over), "hht" (the same with the coefficients of Hilber, Hughes and
      Taylor), "radau" (Radau IIA of order 5: far fewer, dearer steps; the choice for a reference solution), "bdf" (backward differentiation of order 1 to 5, as in classical programs), "explicit" (Dormand and Prince, order 5, with projection on
      the joints: for rigid mechanisms without stiff springs), or "energy-momentum" (order 2, fixed steps: energy balance and momenta to
      round-off, milliseconds a step).
    - `coordinates`, of generalised-alpha and the explicit method (there of open trees of rigid bodies, which it moves some ten times faster so): "absolute" (positions of all bodies, joints as equations), or "joint" (motions in the joints along the tree of the mechanism; only joints that close
      loops are equations, so those of the tree stay closed to round-off at any step).
    - `rho_inf`, `project`, `newton_tolerance`, of generalised-alpha: spectral radius at infinite frequency, 1 (no numerical damping: not with joint equations, see docs/time.md) to 0; stored velocities are projected on
      the constraints; accuracy of the Newton iteration. Its steps land on the stored times.
    - `events`: what happens when a measure passes zero: joints lock or are released, hit stops, the simulation ends (see `flexmb.simulation.events`). They are found at any spacing of the stored
      times, to round-off; all that happens at one instant happens.
    - `history`: a file that the motion is stored in, for runs whose motion does not fit the memory; the result's arrays then live in the file. It replaces an older history
      when the run is complete, and nothing else.

    Raises `AssemblyError` when the joints cannot be closed, `ConvergenceError` when the Newton iteration fails
    at a step that cannot be made smaller; the message names time and cause.
    Cost per step: O(m^2) per flexible body for its inertia terms, O(m) for the solve; for the joints, linear in the length of a chain, quadratic in the rows that
    closed loops and branches carry along.
    """
    mechanism = system.build() if isinstance(system, System) else system
    check_times(duration, step, max_step)
    require_own(history)
    times = mechanism.initial.t + output_times(duration, step, output_step)
    unresolved = warn_unresolved(mechanism, times[-1], step) if step is not None else ()
    pace = pace_of(mechanism, times[-1], max_step) if step is None else Pace((), times[0], times[-1])
    method = Method.of(integrator, coordinates, step, tolerance, rho_inf, newton_tolerance, project, pace)
    count = len(times) - 1
    longest = times[1] - times[0]
    run: Integrator
    with ExitStack() as open_files:
        with announced():
            begin = start(mechanism, compiled(mechanism))
            if events:
                watched = Watched(mechanism, begin, events, method, times[-1], longest)
                run, mechanism, happened = watched, watched.mechanism, watched.happened
            else:
                run, happened = method.run(mechanism, begin, times[-1], longest), []
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
        result = replace(stored.result(run.statistics(process_time() - clock), happened), unresolved=unresolved)
    warn([f for f in result.verdict.findings if f[0] is not UnresolvedWarning], stacklevel=2)
    return result
