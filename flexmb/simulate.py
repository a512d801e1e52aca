"""`simulate`: from a system to a result."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Literal

from flexmb.events import Event, Watched
from flexmb.gauge import warn_when_left
from flexmb.history import History
from flexmb.initial import start
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.method import Method
from flexmb.integrators.times import check_times, output_times
from flexmb.kernels.announce import announced
from flexmb.mechanism import Mechanism
from flexmb.result import Result
from flexmb.system import System

Progress = Callable[[float], None]
"""Called with the fraction done, about a hundred times in a run."""


def simulate(
    system: System | Mechanism,
    duration: float,
    *,
    step: float | None = None,
    tolerance: float = 1e-6,
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
    - `output_step`: spacing of the stored times (default: about 1,000 of them).
    - `integrator`: "generalised-alpha" (second order, compiled: the choice for flexible bodies, whose fast vibration it steps over), "hht" (the same with the coefficients of Hilber, Hughes and
      Taylor), "radau" (Radau IIA of order 5: far fewer, dearer steps; the choice for a reference solution), "bdf" (backward differentiation of order 1 to 5, as in classical programs), "explicit" (Dormand and Prince, order 5, with projection on
      the joints: for rigid mechanisms without stiff springs), or "energy-momentum" (order 2, fixed steps: energy balance and momenta to
      round-off at any step, milliseconds a step).
    - `coordinates`, of generalised-alpha and the explicit method (there of open trees of rigid bodies, which it moves some ten times faster so): "absolute" (positions of all bodies, joints as equations), or "joint" (motions in the joints along the tree of the mechanism; only joints that close
      loops are equations, so those of the tree stay closed to round-off at any step).
    - `rho_inf`, `project`, `newton_tolerance`, of generalised-alpha: spectral radius at infinite frequency, 1 (no numerical damping) to 0; velocities too are projected on the
      constraints after every step; accuracy of the Newton iteration. Its steps land on the stored times.
    - `events`: what happens when a measure passes zero: joints lock or are released, hit stops, the simulation ends (see `flexmb.events`). They are looked for at the stored times, so these
      must be dense enough that nothing happens twice between two of them; instants are found to round-off.
    - `history`: a file that the motion is stored in, for runs whose motion does not fit the memory; the result's arrays then live in the file.

    Raises `AssemblyError` when the joints cannot be closed, `ConvergenceError` when the Newton iteration fails
    at a step that cannot be made smaller; the message names time and cause.
    Cost per step: O(m^2) per flexible body for its inertia terms, O(m) for the solve; for the joints, linear in the length of a chain, quadratic in the rows that
    closed loops and branches carry along.
    """
    mechanism = system.build() if isinstance(system, System) else system
    check_times(duration, step)
    method = Method.of(integrator, coordinates, step, tolerance, rho_inf, newton_tolerance, project)
    times = mechanism.initial.t + output_times(duration, step, output_step)
    count = len(times) - 1
    longest = times[1] - times[0]
    run: Integrator
    with announced():
        begin = start(mechanism, mechanism.flat())
        if events:
            watched = Watched(mechanism, begin, events, method, times[-1], longest)
            run, mechanism, happened = watched, watched.mechanism, watched.happened
        else:
            run, happened = method.run(mechanism, begin, times[-1], longest), []
        stored = History(mechanism, count + 1, history)
        stored.store(run.now())
        run.prepare()
    clock = process_time()
    for k, target in enumerate(times[1:]):
        stored.store(run.to(target))
        if progress is not None and (k * 100) // count != ((k + 1) * 100) // count:
            progress((k + 1) / count)
        if events and watched.ended:
            break
    result = stored.result(run.statistics(process_time() - clock), happened)
    for body in mechanism.bodies:
        if body.gauge is not None and body.is_flexible:
            warn_when_left(body.name, body.gauge, body.invariants.second_order, result.t, result.elastic(body.name))
    return result
