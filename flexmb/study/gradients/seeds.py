"""A scalar of a motion: its value, and its derivatives with respect to the states on which it depends."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from flexmb.differences import JUMPS, NOISE, broken
from flexmb.equations.evaluation import Equations
from flexmb.errors import SensitivityWarning, StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import force_units
from flexmb.results.result import Result, followed_angles, result_of_states

Series = Callable[[Result], np.ndarray]
"""A number at every stored time, which depends only on the state at that time."""
Over = Literal["largest", "smallest", "final", "mean", "mean square"]
OVER: tuple[Over, ...] = ("largest", "smallest", "final", "mean", "mean square")
DIFFERENCE = 1e-5
"""Step of differences: of a displacement relative to the mechanism's length; of velocities, accelerations and
multipliers relative to the largest.
"""
CURVED, FINER, ROUNDS, SETTLED = 1e-4, 0.125, 8, 1e-6
"""Change of the slope within a difference, relative to the slope, above which its step is multiplied by `FINER`, up to
`ROUNDS` times, until the derivative changes by less than `SETTLED` of it. The one that changes least is taken: smaller
steps end in round-off.
"""
PARTS = ("q", "w", "wdot", "multipliers")
"""Tables of a result that are its states, beside the states of elements."""

_Beside = tuple[np.ndarray, float, np.ndarray]


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar formed over a series: its value, and its derivatives `weights` with respect to the series at `places`.

    `places`: indices of stored times.
    """

    series: Series
    value: float
    places: np.ndarray
    weights: np.ndarray

    def at(self, result: Result, mechanism: Mechanism) -> float:
        """The sum `weights . series` at the same states, for another mechanism."""
        chosen = [x[self.places] for x in (result.t, result.q, result.w, result.wdot, result.multipliers)]
        angles = followed_angles(mechanism, chosen[1], result.angles[self.places])
        states = result.element_states[self.places]
        moved = result_of_states(mechanism, *chosen, angles=angles, element_states=states)
        return float(self.weights @ _values(self.series, moved))


def scalar(series: Series, over: Over, result: Result) -> Scalar:
    """The scalar that `over` selects of a series. Raises `StudyError` for an unknown one, or an invalid series."""
    values = _values(series, result)
    nt = len(values)
    if over in ("largest", "smallest", "final"):
        place = {"largest": int(values.argmax()), "smallest": int(values.argmin()), "final": nt - 1}[over]
        return Scalar(series, float(values[place]), np.array([place]), np.ones(1))
    if over not in OVER:
        raise StudyError(f"A scalar is formed over a series as one of {', '.join(OVER)}; found {over!r}.")
    weights = np.gradient(result.t)
    weights[[0, -1]] *= 0.5
    weights /= result.t[-1] - result.t[0]
    if over == "mean":
        return Scalar(series, float(weights @ values), np.arange(nt), weights)
    return Scalar(series, float(weights @ values**2), np.arange(nt), 2 * weights * values)


def _values(series: Series, result: Result) -> np.ndarray:
    values = np.asarray(series(result), dtype=float)
    if values.shape != result.t.shape:
        raise StudyError(
            f"A series has one number for each stored time, ({len(result.t)},); found an array of {values.shape}. For "
            "a vector take a component, or its magnitude."
        )
    if not np.isfinite(values).all():
        raise StudyError(
            "A series has numbers that are not finite; it cannot use energies, which are not part of the states."
        )
    return values


def seeds(chosen: Scalar, e: Equations, result: Result) -> np.ndarray:
    """Derivatives (ns, 3 nv + nj + nz) of a scalar with respect to the states at its places.

    The columns are those of configurations, velocities, accelerations, multipliers and states of frame forces. Central
    differences are used, with one call of the series for each instant.

    Warns with `SensitivityWarning` when the series has a kink or a jump at one of these states.
    """
    flat, nv, nj = e.flat, len(e.flat.weight), e.flat.joint_rows
    units = (1 / flat.weight, 1 / flat.weight, 1 / flat.weight, force_units(flat))
    length, rate = flat.scales
    scales = [1.0] + [
        float((np.abs(getattr(result, name)) / unit).max(initial=0.0)) or least
        for name, unit, least in zip(
            PARTS[1:], units[1:], (rate, rate**2, flat.mass.sum() * length * rate**2), strict=True
        )
    ]
    own = np.abs(result.element_states).max(axis=0, initial=0.0)
    own = np.where(own > 0, own, 1.0)
    sizes = DIFFERENCE * np.concatenate([*(scale * unit for scale, unit in zip(scales, units, strict=True)), own])
    found, wrong = np.zeros((len(chosen.places), len(sizes))), []
    for k, place in enumerate(chosen.places):
        if chosen.weights[k] == 0.0:
            continue
        beside = partial(_beside, chosen.series, e, result, place)
        below, middle, above = beside(sizes)
        # the forces of points that do not touch remain zero
        used = np.concatenate([np.full(3 * nv + nj, True), result.element_states[place] != 0.0])
        slopes, within = _slopes(beside, sizes, used, below, middle, above)
        found[k] = chosen.weights[k] * slopes

        def sides(
            part: float, beside: Callable[..., _Beside] = beside, used: np.ndarray = used, within: float = within
        ) -> tuple[np.ndarray, np.ndarray]:
            low, _, high = beside(part * within * sizes)
            return low[None, used], high[None, used]

        jumps = within < 1.0 and broken(np.array([middle]), partial(sides, within=1.0), JUMPS)[0]
        if jumps or broken(np.array([middle]), sides)[0]:
            wrong.append(float(result.t[place]))
    if wrong:
        warnings.warn(
            f"The series has a kink or a jump at the state of {result.mechanism.name!r} at t = {wrong[0]:.6g}"
            f"{f' and at {len(wrong) - 1} other times' if wrong[1:] else ''}, where it has no derivative: as the "
            "largest of several equal numbers, a magnitude at zero, or the slip of a point that friction can hold. "
            "These derivatives are not reliable. Take flexmb.study.gradient, or a series that is smooth.",
            SensitivityWarning,
            stacklevel=6,
        )
    return found


def _slopes(
    beside: Callable[[np.ndarray], _Beside],
    sizes: np.ndarray,
    used: np.ndarray,
    below: np.ndarray,
    middle: float,
    above: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Derivatives (n,) of a series from its values beside a state, by `sizes`; where it is curved within these, from
    those nearer to the state. Also the part of `sizes` within which they no longer change, 1 if they always do.

    A stress changes far more with a stiff shape than with a displacement of the same size elsewhere.
    """
    slopes, change = (above - below) / (2 * sizes), np.full(len(sizes), np.inf)
    noise = NOISE * abs(middle)
    curved = used & (np.abs(above + below - 2 * middle) > np.maximum(CURVED * np.abs(above - below), noise))
    part, last = 1.0, slopes
    for _ in range(ROUNDS):
        if not curved.any():
            break
        part *= FINER
        low, _, high = beside(part * sizes)
        new = (high - low) / (2 * part * sizes)
        moved = np.abs(new - last)
        better, last = curved & (moved < change), new
        slopes, change = np.where(better, new, slopes), np.where(better, moved, change)
        curved &= change > SETTLED * np.abs(slopes)
    return slopes, 1.0 if curved.any() else part


def _beside(series: Series, e: Equations, result: Result, place: int, sizes: np.ndarray) -> _Beside:
    """The values (n,) of a series below and above the state at a stored time, by `sizes` (n,) of each of its numbers,
    and the value at it."""
    nv, nj, count = len(e.flat.weight), e.flat.joint_rows, 2 * len(sizes) + 1
    states = {name: np.repeat(getattr(result, name)[place : place + 1], count, axis=0) for name in PARTS}
    inner = np.repeat(result.element_states[place : place + 1], count, axis=0)
    for i, size in enumerate(sizes):
        if i >= 3 * nv + nj:
            inner[[2 * i, 2 * i + 1], i - 3 * nv - nj] += np.array([size, -size])
            continue
        part, entry = min(i // nv, 3), i if i < nv else (i - 3 * nv if i >= 3 * nv else i % nv)
        for row, sign in ((2 * i, 1.0), (2 * i + 1, -1.0)):
            if part == 0:
                states["q"][row] = e.displaced(states["q"][row], sign * size * np.eye(1, nv, entry)[0])
            else:
                states[PARTS[part]][row, entry] += sign * size
    moved = result_of_states(
        result.mechanism,
        np.full(count, result.t[place]),
        *states.values(),
        angles=followed_angles(result.mechanism, states["q"], result.angles[place]),
        element_states=inner,
    )
    values = _values(series, moved)
    return values[1:-1:2], float(values[-1]), values[:-1:2]
