"""Sampled controllers: integration between samples, at which commands change.

A sampled controller reads its inputs at the multiples of its sample time, just before its commands change, and holds
them until the next sample. Where several are sampled at the same instant, each comes after those whose commands it
reads, also through continuous controllers (flexmb/mechanism/control/add.py), and reads their new commands; measures of
the motion are those before. `Sampled` is a method that integrates from sample to sample by another method, which begins
anew at each: the accelerations jump there, and the order of the method holds in between. Generalised-alpha goes on, by
the jump alone.

The states of a sampled controller, which include the commands that it holds, are part of `State.element_states`. A
state with such entries stands for the motion after the sample at its time; a simulation that starts without them
samples at its start.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from fem.errors import FlexmbError
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import ControllerError
from flexmb.integrators.alpha_run import GeneralisedAlphaRun
from flexmb.integrators.integrator import Finding, Integrator, Run, together
from flexmb.integrators.method import Method
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.equations.controllers import COMMAND, CONSTANT, FUNCTION
from flexmb.mechanism.control.controller import Controller, Signal
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.results.attitude import Attitudes
from flexmb.results.measure import measure
from flexmb.results.result import EventRecord, Result, Statistics, result_of_states

Complete = Callable[[Mechanism, Snapshot], tuple[Mechanism, Snapshot]]
"""A function that completes a snapshot of a mechanism by the joints that events have released, which controllers read
as continuous ones do."""
SAME = 1e-9
"""Distance of two times, relative to the sample time, within which they are the same."""


def sampled_controllers(mechanism: Mechanism) -> list[Controller]:
    """The controllers with a sample time, in the order of their evaluation."""
    return [controller for controller in mechanism.controllers if controller.sample_time is not None]


def next_sample(controllers: list[Controller], t: float) -> float:
    """The time of the first sample after `t`."""
    times = []
    for controller in controllers:
        h = controller.sample_time or np.inf
        times.append(h * (np.floor(t / h + SAME) + 1))
    return float(min(times))


def _due(controller: Controller, t: float) -> bool:
    h = controller.sample_time or np.inf
    return bool(abs(t / h - np.round(t / h)) <= SAME * max(1.0, abs(t / h)))


def with_first_sample(mechanism: Mechanism, begin: Start, attitudes: Attitudes) -> Mechanism:
    """The mechanism whose initial state contains the first sample of its controllers, at consistent initial conditions.
    `attitudes` as in `Sampled`.

    Raises `ControllerError` when an input is not a measure of one number, and `LawError` when a law fails.
    """
    e, state = Equations(mechanism, begin.state.q, begin.state.angles), begin.state
    s = Snapshot(state.t, state.q, state.w, begin.wdot, begin.multipliers, np.zeros(4), np.zeros(5), state.angles)
    states = sample(mechanism, s._replace(states=e.states.copy()), attitudes, everything=True)
    return replace(mechanism, initial=replace(mechanism.initial, element_states=states))


def sample(
    mechanism: Mechanism,
    s: Snapshot,
    attitudes: Attitudes,
    *,
    everything: bool = False,
    complete: Complete | None = None,
) -> np.ndarray:
    """The states (nz,) of the elements and controllers after the samples that are due at the time of a snapshot.

    `attitudes`, `complete`: as in `Sampled`; the attitudes that controllers read are kept. With `everything`, all
    sampled controllers are due. Raises `ControllerError` when an input is not a measure of one number, and `LawError`
    when a law fails.
    """
    states, seen = np.array(s.states), None
    for controller in sampled_controllers(mechanism):
        if not (everything or _due(controller, s.t)):
            continue
        commands = _commands(mechanism, controller, s._replace(states=states))
        if seen is None:
            seen = _seen(*(mechanism, s) if complete is None else complete(mechanism, s), attitudes)
        inputs = np.array([_input(controller, k, x, seen, commands) for k, x in enumerate(controller.signals)])
        law, place = controller.call.law, mechanism.states_of(controller.name)
        nz, nu = len(law.states), len(law.commands)
        out, own = np.zeros(nu + nz), states[place]
        controller.call.forget()
        controller.call.evaluate(s.t, inputs, own[:nz].copy(), np.array(controller.parameters), out)
        require_sound([controller.call])
        if controller.call.failure is not None:
            raise controller.call.failure
        states[place] = np.concatenate([out[nu:], out[:nu]])
    return states


def _seen(mechanism: Mechanism, s: Snapshot, attitudes: Attitudes) -> Result:
    """The result of one state, for measures."""
    one = [np.atleast_2d(x) for x in (s.q, s.w, s.wdot, s.multipliers)]
    found = result_of_states(mechanism, np.array([s.t]), *one, angles=np.atleast_2d(s.angles))
    return replace(found, element_states=np.atleast_2d(s.states), before=attitudes)


def _commands(mechanism: Mechanism, reader: Controller, s: Snapshot) -> dict[str, float]:
    """The commands of all controllers at a sample, by the names of their measures, if a controller reads any."""
    if not any(signal.sort == COMMAND for signal in reader.signals):
        return {}
    names = [f"command:{c.name}:{x}" for c in mechanism.controllers for x in c.call.law.commands]
    e = Equations(mechanism, s.q, s.angles, s.states)
    e.residual(mechanism.function_values(s.t), s.q, s.w, s.wdot, s.multipliers)
    return dict(zip(names, e.workspace.commands.tolist(), strict=True))


def _input(controller: Controller, k: int, signal: Signal, seen: Result, commands: dict[str, float]) -> float:
    if signal.sort == CONSTANT:
        return signal.given
    if signal.sort == FUNCTION:
        return float(seen.mechanism.functions[signal.index].over(seen.t)[0, 0])
    if signal.sort == COMMAND:
        return commands[signal.source]
    what = f"Controller {controller.name!r}, input {controller.call.law.inputs[k]!r}"
    try:
        value = np.asarray(measure(signal.source)(seen), dtype=float)
    except FlexmbError as error:
        raise ControllerError(f"{what}: {error}") from error
    if value.shape != (1,) or not np.isfinite(value).all():
        raise ControllerError(
            f"{what}: {signal.source!r} is {value} at t = {seen.t[0]:.6g}; it must be a finite number."
        )
    return float(value[0])


@dataclass(frozen=True, kw_only=True)
class Sampled(Method):
    """A method that integrates by another one, the `inner` method, from sample to sample.

    - `attitudes`: those that controllers read last in a simulation, whose turns and signs the next ones continue.
    - `complete`: completes what controllers see; None where no events release joints.
    """

    name: ClassVar[str] = "sampled"
    inner: Method
    attitudes: Attitudes = field(default_factory=dict, compare=False, repr=False)
    complete: Complete | None = field(default=None, compare=False, repr=False)

    @property
    def may_lock(self) -> bool:
        return self.inner.may_lock

    @property
    def longest_step(self) -> float | None:
        return self.inner.longest_step

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "SampledRun":
        return SampledRun(self, mechanism, start, end, longest, pace)

    def __str__(self) -> str:
        return str(self.inner)


def sampling(method: Method) -> Sampled:
    """The method that samples controllers between integrations by `method`."""
    return Sampled(inner=method, step=method.step)


class SampledRun(Run):
    """A running integration; see `flexmb.integrators.integrator.Integrator`."""

    def __init__(
        self,
        method: Sampled,
        mechanism: Mechanism,
        begin: Start,
        end: float,
        longest: float,
        pace: Pace,
    ) -> None:
        self._sampled, self._method = method, method.inner
        self._mechanism, self._controllers = mechanism, sampled_controllers(mechanism)
        self._end, self._pace, self._work = end, pace, np.zeros(4)
        self._longest = min(longest, *(c.sample_time or np.inf for c in self._controllers))
        self._statistics: list[Statistics] = []
        self._happened: list[EventRecord] = []
        self._findings: list[Finding] = []
        self._lost = 0.0  # in impacts of the integrations before
        self._own = np.zeros(len(mechanism.initial_states), dtype=bool)
        for controller in self._controllers:
            self._own[mechanism.states_of(controller.name)] = True
        self._run: Integrator = self._begun(begin)
        self._due = next_sample(self._controllers, begin.state.t)

    @property
    def equations(self) -> Equations:
        """The equations of the mechanism."""
        return self._run.equations

    @property
    def happened(self) -> list[EventRecord]:
        """The impacts so far."""
        return [*self._happened, *self._run.happened]

    @property
    def findings(self) -> list[Finding]:
        """The warnings so far."""
        return [*self._findings, *self._run.findings]

    def _begun(self, begin: Start) -> Any:
        self._hold(begin)
        return self._method.begin(self._mechanism, begin, end=self._end, longest=self._longest, pace=self._pace)

    def _hold(self, begin: Start) -> None:
        """Keep the time and the states of the last sample."""
        states = begin.state.element_states
        self._began, self._held = begin.state.t, states if len(states) else self._mechanism.initial_states

    def prepare(self) -> None:
        """Compile the kernels before the clock runs."""
        self._run.prepare()

    def now(self) -> Snapshot:
        """The present motion, after a sample that was due."""
        return self._whole(self._run.now())

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of all integrations together."""
        return together([*self._statistics, self._run.statistics(0.0)], cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`, through all samples that are due until then."""
        near = SAME * min(c.sample_time or np.inf for c in self._controllers)
        while self._due <= target + near:
            due = target if self._due > target - near else self._due
            s = self._run.to(due) if due > self._began else self._run.now()
            self._sample(self._whole(s)._replace(t=due, work=s.work, lost=s.lost), self._due)
            self._due = next_sample(self._controllers, self._due)
        return self._whole(self._run.to(target)) if target > self._began else self.now()

    def _whole(self, s: Snapshot) -> Snapshot:
        """A snapshot of the present integration with the work of those before. The states of sampled controllers are
        those of the last sample to the last bit, of which laws may remember numbers that they compare; methods that
        interpolate round them."""
        states = np.where(self._own, self._held, s.states)
        return s._replace(work=s.work + self._work, lost=s.lost + self._lost, states=states)

    def _start(self, state: State, states: np.ndarray) -> Start:
        """Initial conditions with other states of elements; velocities are projected, because those of a method may
        violate the joint equations by its own error."""
        e, mechanism, w = self._run.equations, self._mechanism, state.w
        functions = mechanism.function_values(state.t)
        e.states[:] = states
        e.expect()
        if mechanism.joint_rows:
            e.residual(functions, state.q, w, np.zeros_like(w), np.zeros(mechanism.joint_rows))
            w = w - e.mass_weighted_projection(e.broken_rates(functions, w))
        wdot, multipliers = e.accelerations(functions, state.q, w)
        return Start(replace(state, w=w, element_states=states), wdot, multipliers, 0.0, ())

    def _sample(self, s: Snapshot, due: float) -> None:
        """Take the samples due at the end of an integration, and begin the next one."""
        how = self._sampled
        states = sample(self._mechanism, s._replace(t=due), how.attitudes, complete=how.complete)
        self._work = self._work + s.work
        if isinstance(self._run, GeneralisedAlphaRun) and s.t < self._end:
            before, begin = (self._start(s.state, x) for x in (s.states, states))
            self._hold(begin)
            self._run.jump(before, begin)
            return
        begin = self._start(s.state, states)
        self._statistics.append(self._run.statistics(0.0))
        self._happened += self._run.happened
        self._findings += self._run.findings
        self._lost += s.lost
        self._run = self._begun(begin)
        if s.t < self._end:
            self._run.prepare()
