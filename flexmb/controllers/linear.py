"""Linear controllers: state space models, transfer functions and state feedback, with limits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fem.axes.limits import are_numbers, floats
from flexmb.controllers import formulas
from flexmb.errors import LawError
from flexmb.mechanism.control.law import BoundController, ControlLaw
from flexmb.mechanism.laws.binding import finite

UNLIMITED = 1e300
"""Bound of commands that are not limited."""

WHEN = "the sample time of a linear controller"


def linear(
    system: Any,
    *,
    inputs: Sequence[str] | None = None,
    commands: Sequence[str] | None = None,
    sample_time: float | None = None,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    initial: Sequence[float] | None = None,
) -> BoundController:
    """A linear system as a controller: `x' = A x + B y`, `u = C x + D y`, or with a sample time `x(k+1) = A x(k) + B
    y(k)`.

    - `system`: `(A, B, C, D)`, `(numerator, denominator)`, a `StateSpace`, `TransferFunction` or `ZerosPolesGain` of
      `scipy.signal`, or a `StateSpace` or `TransferFunction` of python-control. Systems with a time step `dt` are
      sampled with it.
    - `inputs`, `commands`: names (default: "input", or "input 1" and so on; "command").
    - `sample_time`: converts a continuous system to a sampled one whose inputs are held (zero-order hold).
    - `lower`, `upper`: limits of the commands, one number or one for each. The states do not know of them.

    Raises `LawError` when the system is not proper, its matrices do not fit, or its time step is not known.
    """
    A, B, C, D, dt = _matrices(system)
    if dt is not None and sample_time is not None and not abs(dt - finite(sample_time, WHEN)) <= 1e-12 * dt:
        raise LawError(f"The system has the time step {dt:.6g}; found sample_time={sample_time}. Omit it.")
    if dt is None and sample_time is not None:
        dt = finite(sample_time, WHEN)
        if dt > 0:
            A, B, C, D, _ = scipy.signal.cont2discrete((A, B, C, D), dt)
    (p, m), n = D.shape, len(A)
    given = [floats(x) for x in (lower, upper)]
    if any(x.shape not in ((), (p,)) for x in given):
        raise LawError(
            f"The limits of a linear controller are one number or {p}, one for each command; found {lower!r} and "
            f"{upper!r}."
        )
    limits = [np.clip(np.broadcast_to(x, (p,)), -UNLIMITED, UNLIMITED) for x in given]
    if not (limits[0] < limits[1]).all():
        raise LawError(f"The limits of a linear controller must satisfy lower < upper; found {lower!r} and {upper!r}.")
    numbers = np.concatenate([*limits, *(X.ravel() for X in (A, B, C, D))])
    if not np.isfinite(numbers).all():
        raise LawError("The matrices of a linear controller must be finite.")
    law = linear_law(_names(inputs, m, "input"), _names(commands, p, "command"), n, dt is not None)
    return law(initial=initial, sample_time=dt, **dict(zip(law.parameters, numbers.tolist(), strict=True)))


def discrete(system: Any, sample_time: float) -> Any:
    """The sampled system of `scipy.signal` with the matrices `(A, B, C, D)`, or the `(numerator, denominator)`."""
    return scipy.signal.dlti(*system, dt=sample_time)


def linear_law(inputs: Sequence[str], commands: Sequence[str], states: int, sampled: bool) -> ControlLaw:
    """The law of a linear controller of this size; its parameters are called "p1", "p2" and so on."""
    m, p = len(inputs), len(commands)
    count = 2 * p + (states + p) * (states + m)
    return ControlLaw(
        formulas.linear,
        "linear",
        tuple(inputs),
        tuple(commands),
        tuple(f"x{k + 1}" for k in range(states)),
        tuple(f"p{k + 1}" for k in range(count)),
        {name: 0.0 for name in inputs if name.endswith(REFERENCE)},
        sampled=sampled if states else None,
    )


REFERENCE = " reference"
"""End of the names of inputs that are references, which are zero where nothing is connected."""


def _names(given: Sequence[str] | None, count: int, word: str) -> tuple[str, ...]:
    if given is None:
        return (word,) if count == 1 else tuple(f"{word} {k + 1}" for k in range(count))
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(names) != count or len({*names}) != count:
        raise LawError(f"The system has {count} {word}s, which need as many different names; found {names!r}.")
    return names


def _matrices(system: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float | None]:
    """Matrices of a system, and its time step (None: continuous)."""
    home = type(system).__module__.partition(".")[0]
    dt: Any = None
    if isinstance(system, tuple | list):
        if not all(map(are_numbers, system)):
            raise LawError(f"The matrices of a linear controller consist of numbers; found {system!r}.")
        parts = [floats(x) for x in system]
        if len(parts) == 2:
            parts = list(_proper(lambda: scipy.signal.tf2ss(*parts)))
        if len(parts) != 4:
            raise LawError(
                f"A linear controller has 4 parts (A, B, C, D), or 2 (numerator, denominator); found {len(parts)}."
            )
    elif isinstance(system, scipy.signal.lti | scipy.signal.dlti):
        found, dt = _proper(system.to_ss), system.dt
        parts = [found.A, found.B, found.C, found.D]
    elif home == "control" and hasattr(system, "A"):
        parts, dt = [np.asarray(getattr(system, x)) for x in "ABCD"], system.dt
    elif home == "control" and hasattr(system, "num"):
        if len(system.num) != 1 or len(system.num[0]) != 1:
            raise LawError("Convert a transfer function with several inputs or outputs by control.ss().")
        parts, dt = list(_proper(lambda: scipy.signal.tf2ss(system.num[0][0], system.den[0][0]))), system.dt
    else:
        raise LawError(
            "A linear controller is (A, B, C, D), (numerator, denominator), or a system of scipy.signal or "
            f"python-control; found {type(system).__name__}."
        )
    if dt is True:
        raise LawError("The discrete system does not say its time step; give dt= a number.")
    D = np.atleast_2d(np.asarray(parts[3], dtype=float))
    n = 0 if np.size(parts[0]) == 0 else len(np.atleast_2d(parts[0]))
    (p, m) = D.shape
    shapes = ((n, n), (n, m), (p, n), (p, m))
    made = []
    for name, matrix, shape in zip("ABCD", parts, shapes, strict=True):
        X = np.asarray(matrix, dtype=float)
        if X.size != shape[0] * shape[1] or (X.ndim == 2 and X.size and X.shape != shape):
            raise LawError(
                f"Matrix {name} of a linear controller with {n} states, {m} inputs and {p} commands is {shape}; found "
                f"{X.shape}."
            )
        made.append(X.reshape(shape))
    return made[0], made[1], made[2], made[3], float(dt) if dt else None


def _proper(convert: Any) -> Any:
    try:
        return convert()
    except ValueError as error:
        raise LawError(f"The system is not a proper linear controller: {error}.") from None


def state_feedback(
    K: ArrayLike,
    inputs: Sequence[str],
    *,
    commands: Sequence[str] = ("command",),
    sample_time: float | None = None,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
) -> BoundController:
    """State feedback `u = -K (x - x_ref)`, within limits.

    - `K` (nu, nx) or (nx,): the gains, for instance of `scipy.linalg.solve_continuous_are`.
    - `inputs`: names of the states x (nx,). For each there is a further input, "NAME reference", which is zero where
      nothing is connected.
    - `commands`: names of the commands u (nu,).

    Raises `LawError` when the numbers of gains and names differ, or a number is not finite.
    """
    gains = np.atleast_2d(floats(K))
    if gains.shape != (len(commands), len(inputs)):
        raise LawError(
            f"State feedback of {len(inputs)} inputs to {len(commands)} commands needs gains "
            f"({len(commands)}, {len(inputs)}); found {gains.shape}."
        )
    nothing = np.zeros((0, 0)), np.zeros((0, 2 * len(inputs))), np.zeros((len(commands), 0))
    return linear(
        (*nothing, np.hstack([-gains, gains])),
        inputs=[*inputs, *(f"{name}{REFERENCE}" for name in inputs)],
        commands=commands,
        sample_time=sample_time,
        lower=lower,
        upper=upper,
    )
