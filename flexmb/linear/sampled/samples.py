"""Derivatives of a sample: how the states of sampled controllers, with the commands that they hold, follow the motion.

A sample changes the states of the controllers that are due one after the other: each reads measures of the motion just
before the sample, and the new commands of those before it (flexmb/simulation/sampling.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fem.errors import FlexmbError
from flexmb.differences import broken
from flexmb.equations.state_tangent import derivative_at_zero
from flexmb.equations.tangent import DIFFERENCE
from flexmb.errors import ControllerError, LawError
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.equations.controllers import COMMAND
from flexmb.mechanism.control.controller import Controller
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.control import controller_history
from flexmb.results.result import Result


def inputs_over(controller: Controller, seen: Result) -> np.ndarray:
    """The inputs (ni, nt) of a controller in a result. Raises `ControllerError` when one is not a finite number."""
    try:
        found = controller_history(seen, controller.name).inputs
    except FlexmbError as error:
        raise ControllerError(f"Controller {controller.name!r}: {error}") from error
    table = np.array([np.asarray(x.values, dtype=float) for x in found.values()]).reshape(len(found), len(seen.t))
    if not np.isfinite(table).all():
        wrong = list(found)[int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])]
        raise ControllerError(f"Controller {controller.name!r}, input {wrong!r} is not a finite number.")
    return table


@dataclass(frozen=True, eq=False)
class Reading:
    """The inputs (ni,) of a controller at a sample, their derivatives `slopes` (ni, n) by n variables, which include
    the states of all elements before the sample, and bounds of the errors of these."""

    values: np.ndarray
    slopes: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, eq=False)
class Sample:
    """The derivatives `slopes` (nz, n) of the states of all elements after a sample by n variables, bounds `error` of
    the errors of these, and the names of the controllers with a kink or a jump there, `bent`."""

    slopes: np.ndarray
    error: np.ndarray
    bent: tuple[str, ...]


def sample_at(
    mechanism: Mechanism,
    due: Sequence[Controller],
    t: float,
    states: np.ndarray,
    readings: Sequence[Reading],
    own: slice,
    sizes: np.ndarray,
) -> Sample:
    """The sample of the controllers `due`, in their order, at the `states` (nz,) of all elements before it.

    `own`: the places of these states among the variables; `sizes` (n,): the usual changes of the variables. Raises
    `LawError` when a law fails.
    """
    nz, n = len(states), len(sizes)
    slopes, error, bent = np.zeros((nz, n)), np.zeros((nz, n)), []
    slopes[:, own] = np.eye(nz)
    for controller, reading in zip(due, readings, strict=True):
        place, law = mechanism.states_of(controller.name), controller.call.law
        before = np.arange(place.start, place.start + len(law.states))
        commands = np.array([signal.sort == COMMAND for signal in controller.signals], dtype=bool)
        rows, wrong, others = reading.slopes.copy(), reading.error.copy(), reading.slopes.copy()
        others[:, own] = 0.0
        rows[commands] = (others + reading.slopes[:, own] @ slopes)[commands]  # of those that this sample has changed
        wrong[commands] += (np.abs(reading.slopes[:, own]) @ error)[commands]
        units = (np.abs(rows) * sizes).max(axis=1, initial=0.0)
        J, J_error, kinked = _law_slopes(controller, t, reading.values, states[before], units)
        given, given_error = np.vstack([rows, slopes[before]]), np.vstack([wrong, error[before]])
        slopes[place], error[place] = J @ given, np.abs(J) @ given_error + J_error @ np.abs(given)
        if kinked:
            bent.append(controller.name)
    return Sample(slopes, error, tuple(bent))


def _law_slopes(
    controller: Controller, t: float, inputs: np.ndarray, states: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The derivatives (nz + nu, ni + nz) of new states and commands by the `inputs` (ni,) and `states` (nz,) of a law,
    bounds of their errors, and whether it has a kink or a jump there. `units` (ni,): usual changes of the inputs;
    derivatives by inputs that do not change are zero. States change by their size, or by as much as inputs change
    them."""
    call, at, ni, nz = controller.call, np.concatenate([inputs, states]), len(inputs), len(states)
    count = nz + len(call.law.commands)
    parameters, failures = np.array(controller.parameters), [LawError("")]

    def answer(x: np.ndarray) -> np.ndarray:
        out = np.zeros(count)
        call.forget()
        call.evaluate(t, x[:ni].copy(), x[ni:].copy(), parameters, out)
        require_sound([call])
        if call.failure is not None:
            failures.append(call.failure)
            return np.full(count, np.nan)
        return np.roll(out, nz)

    def table(h: float, steps: np.ndarray) -> np.ndarray:
        return np.array([answer(at + h * step) for step in steps]).reshape(-1, count).T

    middle = answer(at)
    value, error, bends = np.zeros((count, ni + nz)), np.zeros((count, ni + nz)), np.zeros(count, bool)
    units = np.concatenate([units, np.zeros(nz)])
    for part in (slice(0, ni), slice(ni, ni + nz)):
        if part.start:
            caused = (np.abs(value[:nz, :ni]) * units[:ni]).max(axis=1, initial=0.0)
            units[part] = np.maximum(np.abs(states), caused)
            units[part] = np.where(units[part] > 0, units[part], units.max(initial=0.0) or 1.0)
        steps = np.diag(units)[part][units[part] > 0]
        found, bound = derivative_at_zero(lambda h, own=steps: table(h, own))  # type: ignore[misc]
        if not (np.isfinite(middle).all() and np.isfinite(bound).all()):
            raise failures[-1]
        own = np.arange(ni + nz)[part][units[part] > 0]
        value[:, own], error[:, own] = found / units[own], bound / units[own]
        bends |= broken(middle, lambda h, own=steps: (table(-h * DIFFERENCE, own), table(h * DIFFERENCE, own)))  # type: ignore[misc]
    call.forget()
    return value, error, bool(bends.any())
