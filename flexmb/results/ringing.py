"""Whether states of force elements and controllers alternate from step to step.

The trapezoidal rule multiplies what a state lacks to its stationary value in each step by `(1 - r / 2) / (1 + r / 2)`,
where `r` is the step over the time constant of the state. A state that is far faster than the step, and does not begin
at its stationary value, therefore alternates about it for some `r` steps. One that only follows slower motions lags by
less than their change in a step over `r`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from flexmb.mechanism.control.law import ControlCall
from flexmb.mechanism.frame_law import FrameLawCall
from flexmb.results.elements.control import controller_history
from flexmb.results.elements.frame import frame_seen
from flexmb.results.result import Result, result_of_states

FAST = 10.0
"""Steps over the time constant of a state from which on it is not resolved."""
OFF = 0.1
"""Distance of a state from its stationary value, relative to its largest value, that is no lag."""
LOOKS = 50
"""Largest number of stored times, evenly spread, at which states are examined; two of them must alternate."""
SHIFT = 1e-6
"""Step of differences, relative to the largest value of a state."""


class _Law(NamedTuple):
    """An element or controller with states: its name and those of its states, their values (nt, ns), and their rates
    (ns,) at a stored time for other states (ns,)."""

    name: str
    states: tuple[str, ...]
    values: np.ndarray
    rates: Callable[[int, np.ndarray], np.ndarray]


def ringing_states(result: Result, step: float) -> list[str]:
    """A sentence for each element and controller whose states alternate in steps of about `step` of the trapezoidal
    rule, at several stored times; none of a simulation that an event has ended at its start."""
    if len(result.t) < 2:
        return []
    looks = np.unique(np.linspace(1, len(result.t) - 1, min(len(result.t) - 1, LOOKS)).round().astype(int))
    looked_at = result_of_states(
        result.mechanism,
        *(x[looks] for x in (result.t, result.q, result.w, result.wdot, result.multipliers)),
        angles=result.angles[looks],
        element_states=result.element_states[looks],
    )
    found = []
    for law in _with_states(looked_at):
        largest = np.abs(law.values).max(axis=0)
        scale = np.where(largest > 0, largest, 1.0)
        seen = [(*x, result.t[looks[k]]) for k in range(len(looks)) if (x := _ringing(law, k, scale, step)) is not None]
        if len(seen) >= min(2, len(looks)):
            off, state, ratio, t = max(seen)
            found.append(
                f"The state {law.states[state]!r} of {law.name!r} of {result.mechanism.name!r} alternates from step to "
                f"step: at t = {t:.6g} it is off by {off * scale[state]:.4g}, of up to {scale[state]:.4g}. "
                f"Steps of {step:.3g} are {ratio:.3g} times as long as its time constant, and what is off vanishes "
                "after about as many of them. Let it begin at its stationary value (initial=, or at an equilibrium), "
                f"use method='radau', or steps below {2 * step / ratio:.3g}."
            )
    return found


def _with_states(result: Result) -> Iterator[_Law]:
    mechanism, states, first = result.mechanism, np.asarray(result.element_states), 0
    for force in mechanism.frame_forces:
        last = first + len(force.initial)
        if last > first and not force.call.law.updates:
            rates = partial(_rates, force.call, result.t, frame_seen(result, force), np.array(force.numbers), 7)
            yield _Law(force.name, force.call.law.states, states[:, first:last], rates)
            force.call.forget()
        first = last
    for own in mechanism.controllers:
        law = own.call.law
        if own.begin and own.sample_time is None:
            inputs = [x.values for x in controller_history(result, own.name).inputs.values()]
            y, numbers = np.column_stack([np.zeros((len(result.t), 0)), *inputs]), np.array(own.parameters)
            rates = partial(_rates, own.call, result.t, y, numbers, len(law.commands))
            yield _Law(own.name, law.states, states[:, mechanism.states_of(own.name)], rates)
            own.call.forget()


def _rates(
    call: FrameLawCall | ControlCall,
    times: np.ndarray,
    seen: np.ndarray,
    numbers: np.ndarray,
    first: int,
    k: int,
    z: np.ndarray,
) -> np.ndarray:
    """The rates for the states `z` (ns,) of a law that sees `seen` (nt, n) at the times; they are those of its answers
    from number `first` on."""
    out = np.zeros(first + len(z))
    call.evaluate(float(times[k]), seen[k].copy(), z.copy(), numbers, out)
    return out[first:]


def _ringing(law: _Law, k: int, scale: np.ndarray, step: float) -> tuple[float, int, float] | None:
    """How far the states of a law at stored time `k` are off, relative to their `scale`; the state that is off most;
    and the steps over its time constant; None if no fast state is off."""
    z, n = law.values[k], len(scale)
    rates, J = law.rates(k, z), np.zeros((n, n))
    for j in range(n):
        moved = z.copy()
        moved[j] += SHIFT * scale[j]
        J[:, j] = (law.rates(k, moved) - rates) / (SHIFT * scale[j])
    J, rates = J * scale / scale[:, None], rates / scale
    if not (np.isfinite(J).all() and np.isfinite(rates).all()):
        return None
    values, shapes = np.linalg.eig(J)
    fast = (-step * values.real > FAST) & (np.abs(values.imag) < np.abs(values.real))
    if not fast.any() or np.linalg.cond(shapes) > 1 / SHIFT:
        return None
    parts = np.linalg.solve(shapes, rates.astype(complex))
    off = np.abs((shapes[:, fast] * (parts[fast] / values[fast])).sum(axis=1))
    state = int(off.argmax())
    return (float(off[state]), state, float(-step * values[fast].real.min())) if off[state] > OFF else None
