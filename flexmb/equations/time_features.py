"""Features of the functions of time of a mechanism, which the steps of an integrator must resolve.

The functions of `flexmb.time_functions` declare their features. User-defined functions and force laws are sampled at
2,049 equidistant times of the run. Their values and rates are compared with the cubic through the ends of an interval,
and intervals are halved until the deviation is at most a fiftieth of the range or no sample is left inside. This finds
rises and falls of more than a fiftieth of the range that last longer than a thousandth of the run. Shorter ones may lie
between two samples: give their `feature` and `breakpoints`, or a largest step (`max_step`). Force laws that are tables
over the time tell their points, so that nothing of them lies between samples.
"""

import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.errors import StoredMotionWarning, UnresolvedWarning
from flexmb.kernels.equations.controllers import FUNCTION, pass_on
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.time_functions import NOTHING_AHEAD, Ahead

COMPONENTS = tuple(f"the {what} {axis}" for what in ("force along", "moment about") for axis in "xyz")
"""Components of the wrench of a force element between frames, in axes of its frame `a`."""
MOST_PARTS = 10**6
"""Largest number of features of one function that are compared with a fixed step."""
HALVINGS = 11
"""Number of halvings of the run that give its samples."""
PLAIN = 0.02
"""Largest deviation from the cubic, relative to the range of the function, that is not a feature."""
NO_RANGE = 1e-12
"""Ratio of range to magnitude below which a function is taken as constant."""
TWO = 0.5
"""Largest ratio of a step to the length of a feature."""
SAME = 1e-12
"""Difference, relative to the run, below which two times are taken as equal; the rounding of times is added."""
ROUNDING = 2e-15
"""Relative rounding of times."""


@dataclass(frozen=True)
class Source:
    """A function of time of a mechanism: its name with the elements that use it, and its behaviour `ahead` of a
    time."""

    name: str
    ahead: Callable[[float], Ahead]


class Pace:
    """Limits of the steps of an integrator that follow from functions of time: the largest step, and times at which a
    step must end. Times that differ by less than `same` are taken as equal."""

    def __init__(self, sources: Iterable[Source], start: float, end: float, max_step: float | None = None) -> None:
        self._sources, self._end = tuple(sources), end
        self._longest = np.inf if max_step is None else max_step
        self.same = SAME * (end - start) + ROUNDING * max(abs(start), abs(end))
        self._known = (np.inf, -np.inf, np.inf)

    def ahead(self, t: float) -> tuple[float, float]:
        """The next time at which a step must end, and the largest step until then."""
        since, change, longest = self._known
        if not since <= t < change - self.same:
            seen = [source.ahead(t + self.same) for source in self._sources]
            change = min([self._end, *(s.change for s in seen)])
            longest = min([self._longest, *(TWO * s.feature for s in seen)])
            self._known = t, change, longest
        return change, longest

    def until(self, time: float) -> "Pace":
        """These limits, with a further time at which a step must end."""
        sooner = copy(self)
        sooner._sources = (*self._sources, Source("", lambda t: Ahead(time, np.inf) if t < time else NOTHING_AHEAD))
        sooner._known = (np.inf, -np.inf, np.inf)
        return sooner

    def step(self, t: float, size: float) -> float:
        """A step of at most `size` that does not pass the next change and does not leave a small remainder before
        it."""
        change, longest = self.ahead(t)
        left, h = change - t, min(size, longest)
        count = np.ceil(left / h * (1 - 1e-9))
        return float(left / count) if count < 4 else h


def pace_of(mechanism: Mechanism, end: float, max_step: float | None) -> Pace:
    """The limits of the steps of a mechanism from its initial time to `end`."""
    start = mechanism.initial.t
    return Pace(sources(mechanism, start, end), start, end, max_step)


@dataclass(frozen=True)
class Unresolved:
    """A function of time that a step does not resolve: its name, its shortest feature and the step."""

    name: str
    feature: float
    step: float

    def __str__(self) -> str:
        return f"{self.name} rises or falls within {self.feature:.3g}, which steps of {self.step:.3g} do not resolve"


def unresolved(mechanism: Mechanism, end: float, step: float) -> list[Unresolved]:
    """The functions of time with a feature, between the initial time and `end`, shorter than two steps of size
    `step`."""
    start, found = mechanism.initial.t, []
    samples = step > (end - start) / 2**HALVINGS
    for source in sources(mechanism, start, end, samples=samples):
        shortest = min((a.feature for a in islice(_parts(source, start, end), MOST_PARTS)), default=np.inf)
        if step > TWO * shortest * (1 + 1e-9):
            found.append(Unresolved(source.name, shortest, step))
    return found


def warn_unresolved(mechanism: Mechanism, end: float, step: float) -> tuple[str, ...]:
    """Warn about functions of time that fixed steps do not resolve; returns the warnings as sentences."""
    found = unresolved(mechanism, end, step)
    if not found:
        return ()
    advice = f"Use steps of at most {TWO * min(u.feature for u in found):.3g}, or variable steps (omit step=)."
    warnings.warn(f"{mechanism.name!r}: {'; '.join(map(str, found))}. {advice}", UnresolvedWarning, stacklevel=3)
    return tuple(f"{str(u)[0].upper()}{str(u)[1:]}. {advice}" for u in found)


def warn_of_stored_motions(mechanism: Mechanism) -> None:
    """Warn about functions of time of which a loaded file has values at its stored times only."""
    known = zip(mechanism.functions, users_of_functions(mechanism), strict=True)
    found = [
        f"{motion.description} of {', '.join(map(repr, names))} at {motion.stored_times} times"
        for motion, names in known
        if motion.stored_times and names
    ]
    if found:
        warnings.warn(
            f"{mechanism.name!r} comes from a file, which holds no functions of yours, but their values at its stored "
            f"times: {'; '.join(found)}. Between these they are interpolated. Build the mechanism again to simulate "
            "it with the functions themselves, or use one of flexmb.time_functions, which files hold as they are.",
            StoredMotionWarning,
            stacklevel=3,
        )


def _parts(source: Source, start: float, end: float) -> Iterator[Ahead]:
    t, same = start, SAME * (end - start)
    while t < end - same:
        part = source.ahead(t + same)
        yield part
        t = part.change


def sources(mechanism: Mechanism, start: float, end: float, *, samples: bool = True) -> list[Source]:
    """The functions of time and the force laws of a mechanism; those that must be sampled are included with
    `samples`."""
    found = []
    for motion, names in zip(mechanism.functions, users_of_functions(mechanism), strict=True):
        if names and (motion.ahead is not None or samples):
            ahead = motion.ahead or sampled(motion.over, start, end)
            name = f"{motion.description} of {', '.join(map(repr, names))}"
            found.append(Source(name, _with_breakpoints(ahead, motion.breakpoints)))
    found += _tables(mechanism)
    return [*found, *(_laws(mechanism, start, end) if samples and mechanism.calls else ())]


def users_of_functions(mechanism: Mechanism) -> list[list[str]]:
    """For each function of time, the names of the joints, force elements, loads and controllers that use it."""
    users: list[list[str]] = [[] for _ in mechanism.functions]
    owners = {j.name: j.rows for j in mechanism.joints} | dict(mechanism.force_elements)
    pairs = [(name, mechanism.rows[r].function) for name, rows in owners.items() for r in rows]
    pairs += [(c.name, signal.index) for c in mechanism.controllers for signal in c.signals if signal.sort == FUNCTION]
    pairs += [(load.name, load.function) for load in mechanism.loads]
    pairs += [(line.name, line.function) for line in mechanism.lines]
    for name, function in pairs:
        if function >= 0 and name not in users[function]:
            users[function].append(name)
    return users


def _tables(mechanism: Mechanism) -> Iterator[Source]:
    """The force laws that are curves over the time."""
    for row in mechanism.rows:
        if row.law >= 0 and (knots := _knots_of(mechanism.laws[row.law])) is not None:
            law = mechanism.laws[row.law]
            values = law.over(knots[0], np.zeros(len(knots[0])), np.zeros(len(knots[0])))
            yield Source(f"the law of {law.name!r}", curve(knots[0], values, knots[1]))


def _knots_of(law: ForceLaw) -> tuple[np.ndarray, float | None] | None:
    """The knots and the period of a law that is a curve over the time."""
    over_time = getattr(law.function, "over_time", None)
    return None if over_time is None else over_time()


def _laws(mechanism: Mechanism, start: float, end: float) -> Iterator[Source]:
    """Force laws and laws of controllers as functions of time at the initial coordinates, rates, inputs and states;
    each component of laws between frames, each command, and the rates of their states."""
    state = mechanism.initial
    e = Equations(mechanism, state.q)
    none = np.zeros(mechanism.joint_rows)
    e.residual(mechanism.function_values(start), state.q, state.w, np.zeros_like(state.w), none)
    for r, row in enumerate(mechanism.rows):
        if row.law >= 0 and _knots_of(mechanism.laws[row.law]) is None:
            law = mechanism.laws[row.law]
            x, xdot = float(e.workspace.values[r] - row.offset), float(e.workspace.rates[r])

            def over(times: np.ndarray, law: ForceLaw = law, x: float = x, xdot: float = xdot) -> np.ndarray:
                return np.array([[float(law.function(float(t), x, xdot))] for t in times])

            yield Source(f"the law of {law.name!r}", sampled(over, start, end))
            law.forget()
    for k, force in enumerate(mechanism.frame_forces):
        answers = (*COMPONENTS, *(f"the rate of the state {state!r}" for state in force.call.law.states))
        for name, component in _components(partial(e.law_over_time, k), answers):
            yield Source(f"{name} of the law of {force.name!r}", sampled(component, start, end))
        force.call.forget()
    for k, controller in enumerate(mechanism.controllers):
        control = controller.call.law
        if controller.sample_time is None and control.function is not pass_on:
            answers = tuple(f"the command {x!r}" for x in control.commands)
            answers += tuple(f"the rate of the state {x!r}" for x in control.states)
            for name, command in _components(partial(e.commands_over_time, k), answers):
                yield Source(f"{name} of the law of {controller.name!r}", sampled(command, start, end))
            controller.call.forget()


def _components(
    answer: Callable[[np.ndarray], np.ndarray], names: Sequence[str]
) -> Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    """The columns (n,) of what a law answers at times (n,), with their names; they share their evaluations."""
    shared = cache(lambda times: answer(np.frombuffer(times)))

    def component(i: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda times: np.asarray(shared(times.tobytes())[:, i : i + 1])

    return ((name, component(i)) for i, name in enumerate(names))


def _with_breakpoints(ahead: Callable[[float], Ahead], breakpoints: tuple[float, ...]) -> Callable[[float], Ahead]:
    if not breakpoints:
        return ahead

    def both(t: float) -> Ahead:
        change, feature = ahead(t)
        k = bisect_right(breakpoints, t)
        return Ahead(min(change, breakpoints[k]) if k < len(breakpoints) else change, feature)

    return both


# curves ---------------------------------------------------------------------------------------------------------------


def curve(knots: np.ndarray, values: np.ndarray, period: float | None) -> Callable[[float], Ahead]:
    """The behaviour of a curve through the `values` (m,) at the times `knots` (m,), which repeats itself after a
    `period`, if there is one.

    Pieces between knots are halved until a cubic through their ends, with the slopes of the curve there, describes the
    values inside up to `PLAIN` of the range of all.
    """
    slopes = np.gradient(values, knots) if len(knots) > 2 else np.full(2, np.ptp(values) / np.ptp(knots))
    reach = np.ptp(values)
    if not reach > NO_RANGE * np.abs(values).max():
        return lambda t: NOTHING_AHEAD
    ends, waiting = [], [(0, len(knots) - 1)]
    while waiting:
        i, j = waiting.pop()
        if j - i > 1 and not _is_plain(knots[i : j + 1], values[i : j + 1], slopes[[i, j]], PLAIN * reach):
            waiting += [((i + j) // 2, j), (i, (i + j) // 2)]
        else:
            ends.append(j)
    times = knots[[0, *ends]]
    lengths = 2.0 * np.diff(times)

    def ahead(t: float) -> Ahead:
        turn = 0.0 if period is None else period * np.floor((t - times[0]) / period)
        k = bisect_right(times, t - turn)
        if k == len(times):
            return NOTHING_AHEAD if period is None else Ahead(float(times[0] + turn + period), np.inf)
        return Ahead(float(times[k] + turn), float(lengths[k - 1]) if k else np.inf)

    return ahead


def _is_plain(t: np.ndarray, y: np.ndarray, slopes: np.ndarray, allowed: float) -> bool:
    """Whether the cubic with the values and `slopes` (2,) at both ends deviates by at most `allowed` from a piece."""
    span = t[-1] - t[0]
    s = (t - t[0]) / span
    cubic = y[0] * (1 + 2 * s) * (1 - s) ** 2 + y[-1] * (3 - 2 * s) * s * s
    cubic += span * (slopes[0] * s * (1 - s) ** 2 - slopes[1] * s * s * (1 - s))
    return bool(np.abs(y - cubic).max() <= allowed)


# samples --------------------------------------------------------------------------------------------------------------


def sampled(over: Callable[[np.ndarray], np.ndarray], start: float, end: float) -> Callable[[float], Ahead]:
    """The behaviour of a function from samples. `over(times)` returns its values (n, 1), or its values and successive
    derivatives (n, k)."""
    count = 2**HALVINGS
    times = np.linspace(start, end, count + 1)
    table, spacing = _told(over, times), (end - start) / count
    if table.shape[1] == 1:
        table = np.column_stack([table, np.gradient(table[:, 0], spacing)])
    lengths = np.full(count, count)
    for k in range(table.shape[1] - 1):
        lengths = np.minimum(lengths, _plain(table[:, k], table[:, k + 1], spacing))

    def ahead(t: float) -> Ahead:
        i = min(max(int((t - start) / spacing), 0), count - 1)
        length = int(lengths[i])
        return (
            Ahead(start + (i // length + 1) * length * spacing, 2 * length * spacing)
            if length < count
            else NOTHING_AHEAD
        )

    return ahead


def _told(over: Callable[[np.ndarray], np.ndarray], times: np.ndarray) -> np.ndarray:
    """The samples. If the function fails at a time, the previous sample is used there; a run that reaches the failure
    reports it."""
    with np.errstate(all="ignore"):
        try:
            return over(times)
        except Exception:
            rows = [_one(over, t) for t in times]
    width = max((len(row) for row in rows), default=1)
    table = np.zeros((len(times), max(width, 1)))
    for k, row in enumerate(rows):
        table[k] = row if len(row) else table[max(k - 1, 0)]
    return table


def _one(over: Callable[[np.ndarray], np.ndarray], t: float) -> np.ndarray:
    """One sample; an empty array if the function fails."""
    try:
        return np.asarray(over(np.array([t]))[0])
    except Exception:
        return np.zeros(0)


def _plain(y: np.ndarray, slope: np.ndarray, spacing: float) -> np.ndarray:
    """For each interval between samples, the length, in samples, of the largest bisection interval around it that a
    cubic describes."""
    count, reach = len(y) - 1, np.ptp(y)
    lengths = np.zeros(count, dtype=int)
    if not reach > NO_RANGE * np.abs(y).max():
        return np.full(count, count)
    for halvings in range(HALVINGS + 1):
        m = count >> halvings
        s, a, b = np.arange(m) / m, np.arange(0, count, m), np.arange(m, count + 1, m)
        cubic = (
            np.outer(y[a], (1 + 2 * s) * (1 - s) ** 2)
            + np.outer(y[b], s * s * (3 - 2 * s))
            + m * spacing * (np.outer(slope[a], s * (1 - s) ** 2) - np.outer(slope[b], s * s * (1 - s)))
        )
        right = np.abs(y[:-1].reshape(-1, m) - cubic).max(axis=1) <= PLAIN * reach
        lengths = np.where((lengths == 0) & np.repeat(right, m), m, lengths)
    return np.maximum(lengths, 1)
