"""`simulate`: the simulation of a system in time."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import Any

from flexmb.equations.initial_conditions import consistent_state, start
from flexmb.equations.time_features import Pace, pace_of, warn_of_stored_motions, warn_unresolved
from flexmb.errors import DriverEffortWarning, EventError, RingingStatesWarning, TunnellingWarning, UnresolvedWarning
from flexmb.integrators.driver_efforts import wrong_efforts
from flexmb.integrators.generalised_alpha import GeneralisedAlpha
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.method import Method, method_of
from flexmb.kernels.base.announce import announced
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.features import refuse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.elements.tunnels import surface_tunnels, tunnels
from flexmb.results.result import Result
from flexmb.results.ringing import ringing_states
from flexmb.results.verdict import warn
from flexmb.simulation.detection.checks import require_listed
from flexmb.simulation.event_detection import EventDetection
from flexmb.simulation.events import Event, Lock, StopImpact
from flexmb.simulation.friction import warn_of_impacts, warn_of_shared_reactions
from flexmb.simulation.history import History, require_own
from flexmb.simulation.initial_state import InitialState, with_initial_state
from flexmb.simulation.sampling import sampled_controllers, sampling, with_first_sample
from flexmb.simulation.times import check_times, output_times

Progress = Callable[[float], None]
"""A function that is called with the fraction done, about a hundred times in a run."""


def simulate(
    system: System | Mechanism,
    duration: float,
    *,
    method: str | Method = "generalised-alpha",
    initial_state: InitialState | None = None,
    output_step: float | None = None,
    history: str | Path | None = None,
    events: Sequence[Event] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Simulate a mechanism for `duration` from consistent initial conditions.

    - `method`: a record such as `flexmb.Radau(tolerance=1e-9)`, or its name with `options`, for instance
      `method="radau", tolerance=1e-9`:
        - "generalised-alpha" (`flexmb.GeneralisedAlpha`): order 2, compiled; the default choice for flexible bodies,
          whose high-frequency modes are damped, not resolved. Options `step`, `tolerance`, `max_step`, `rho_inf`,
          `coordinates`, `project`, `newton_tolerance`.
        - "hht" (`flexmb.HHT`): the same method with the coefficients of Hilber, Hughes and Taylor.
        - "radau" (`flexmb.Radau`): Radau IIA of order 5, for reference solutions. Options `step`, `tolerance`,
          `max_step`.
        - "bdf" (`flexmb.BDF`): backward differentiation of order 1 to 5. Options as of "radau".
        - "explicit" (`flexmb.Explicit`): Dormand and Prince, order 5, for rigid mechanisms without stiff springs.
          Options as of "radau", and `coordinates`.
        - "energy-momentum" (`flexmb.EnergyMomentum`): order 2; preserves the energy balance, the linear momentum and
          the angular momentum about a fixed point to round-off. It requires the option `step`.

      With `step` the steps are fixed; without it they vary, so that the local error of the positions is below
      `tolerance` times the length of the mechanism.
    - `initial_state`: what to start from (default: the initial conditions of the system). If it violates the joint
      equations, it is projected onto them.
        - a `State` such as `result.state(10)`, or a `Result`, whose last state is meant, to continue a motion;
        - what `flexmb.linear.equilibrium` or `steady_motion` returns;
        - values of joints by name, `{"hinge": 0.3}` or `{"hinge": (0.3, 1.5)}` with a rate: angles (radians)
          from the configuration as modelled, or displacements between the two places of a joint; "JOINT:translation"
          where a joint has both. A value alone means the rate zero; joints that are not named follow from rest, with
          the least kinetic energy;
        - a function of the mechanism that finds its state: `flexmb.linear.settled`, the equilibrium under its loads.
          In comparisons and studies each variant has its own.
    - `output_step`: interval of the stored times (default: about 1,000 of them). The end is always stored.
    - `events`: actions at zero crossings of measures: joints lock, are released or hit stops, or the simulation ends
      (see `flexmb.simulation.events`). Event times are located to machine precision, whatever the stored times.
    - `history`: a file for motions that do not fit into memory; it holds the arrays of the result. When the run is
      complete it replaces an older history, but no other file.

    Raises `EventError` when events that changed the `initial_state` are not given, `MechanismError` when it belongs to
    another mechanism, `KinematicsError` when values of joints cannot be reached or contradict drivers,
    `IntegratorError` when the method does not have an option or its value is out of range, `AssemblyError` when the
    joints cannot be closed, and `ConvergenceError`, which names time and causes, when the Newton iteration fails and
    the step cannot be reduced.

    Cost per step: O(m^2) for the inertia terms of a flexible body and O(m) for its elimination; linear in the length of
    a chain of joints, and quadratic in the number of rows that closed loops and branches add to it.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if initial_state is not None:
        mechanism = with_initial_state(mechanism, initial_state)
    method = method_of(method, options)
    refuse(mechanism, f"The method {method.name!r}", includes=method.includes)
    require_listed(events)
    stops = [e.name for e in events if isinstance(e.do, StopImpact)]
    if mechanism.contacts and (stops or mechanism.exact_frictions):
        what = (
            f"Stops ({stops[0]!r})"
            if stops
            else f"Friction that sticks in joints ({mechanism.exact_frictions[0].name!r})"
        )
        raise EventError(
            f"{what} and exact contacts cannot act in one simulation, and {mechanism.name!r} has the contact "
            f"{mechanism.contacts[0].name!r}. Give the contacts a law=, or "
            f"{'let shapes that touch take the place of the stop' if stops else 'the friction regularised='}."
        )
    trapezoidal = isinstance(method, GeneralisedAlpha)
    watches = bool(events or mechanism.exact_frictions)
    step = method.step
    tolerance = getattr(method, "tolerance", 0.0) if step is None else 0.0
    check_times(duration, step, method.longest_step)
    require_own(history)
    times = mechanism.initial.t + output_times(duration, step, output_step)
    warn_of_stored_motions(mechanism)
    unresolved = warn_unresolved(mechanism, times[-1], step) if step is not None else ()
    pace = pace_of(mechanism, times[-1], method.longest_step) if step is None else Pace((), times[0], times[-1])
    count = len(times) - 1
    longest = times[1] - times[0]
    run: Integrator
    changed = mechanism.initial.topology.changed
    if changed and not watches:
        raise EventError(
            f"Events have changed the joints of the state at t = {mechanism.initial.t:.6g} "
            f"({mechanism.initial.topology}); give the events of that simulation too."
        )
    with ExitStack() as open_files:
        with announced():
            begin = None if changed else start(mechanism, compiled(mechanism))
            if begin is not None:
                warn_of_shared_reactions(mechanism, begin.redundant)
            if sampled_controllers(mechanism):
                sampled = sampling(method)
                method = sampled
                if begin is not None and not len(mechanism.initial.element_states):
                    mechanism = with_first_sample(mechanism, begin, sampled.attitudes)
                    begin = consistent_state(mechanism)
            if watches:
                watched = EventDetection(mechanism, begin, events, method, pace, times[-1], longest)
                run, mechanism = watched, watched.mechanism
            elif begin is not None:
                run = method.begin(mechanism, begin, end=times[-1], longest=longest, pace=pace)
            stored = open_files.enter_context(History(mechanism, count + 1, history))
            stored.store(run.now())
            run.prepare()
        clock = thread_time()  # of this simulation only, beside which others may run in threads
        k = 0
        while k < count and not (watches and watched.ended):
            before, rows = k, run.several(times[k + 1 :])
            if rows is None:
                stored.store(run.to(times[k + 1]))
            else:
                stored.store_all(rows)
            k += 1 if rows is None else len(rows.t)
            if progress is not None and (before * 100) // count != (k * 100) // count:
                progress(k / count)
        result = replace(
            stored.result(
                run.statistics(thread_time() - clock),
                run.happened,
                tolerance=tolerance,
            ),
            unresolved=unresolved,
            topologies=tuple(watched.topologies) if watches else (),
        )
    warn([f for f in result.verdict.findings if f[0] is not UnresolvedWarning], stacklevel=2)
    impacts = {e.name: getattr(e.do, "restitution", 0.0) == 1.0 for e in events if isinstance(e.do, Lock | StopImpact)}
    impacts |= {contact.name: contact.restitution == 1.0 for contact in mechanism.contacts}
    warn_of_impacts(mechanism, impacts, result.happened)
    if trapezoidal:
        warn([(DriverEffortWarning, text) for text in wrong_efforts(result)], stacklevel=2)
    if trapezoidal and result.element_states.size:
        usual_step = (result.t[-1] - result.t[0]) / max(result.statistics.steps, 1)
        warn([(RingingStatesWarning, text) for text in ringing_states(result, usual_step)], stacklevel=2)
    longest_step = min(result.statistics.largest_step, longest)
    passed = [*tunnels(result, longest_step), *surface_tunnels(result, longest_step)]
    warn([*run.findings, *((TunnellingWarning, text) for text in passed)], stacklevel=2)
    return result
