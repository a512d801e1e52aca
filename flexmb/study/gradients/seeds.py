"""What a scalar result takes of a motion: its value, and its derivatives by the states it depends on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import force_units
from flexmb.results.result import Result, followed_angles, result_of_states

Series = Callable[[Result], np.ndarray]
"""A number at every stored time, of the state at that time alone."""
Over = Literal["largest", "smallest", "final", "mean", "mean square"]
OVER: tuple[Over, ...] = ("largest", "smallest", "final", "mean", "mean square")
DIFFERENCE = 1e-5
"""Of a displacement over the mechanism's length, and of velocities, accelerations and multipliers over the largest."""


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number taken `over` a series: `value`, and its derivative `weights` by the series at the stored times `places`."""

    series: Series
    value: float
    places: np.ndarray
    weights: np.ndarray

    def at(self, result: Result, mechanism: Mechanism) -> float:
        """`weights . series` at the same states of another mechanism."""
        chosen = [x[self.places] for x in (result.t, result.q, result.w, result.wdot, result.multipliers)]
        angles = followed_angles(mechanism, chosen[1], result.angles[self.places])
        return float(self.weights @ _values(self.series, result_of_states(mechanism, *chosen, angles=angles)))


def scalar(series: Series, over: Over, result: Result) -> Scalar:
    """What is asked of a series, of a result."""
    values = _values(series, result)
    nt = len(values)
    if over in ("largest", "smallest", "final"):
        place = {"largest": int(values.argmax()), "smallest": int(values.argmin()), "final": nt - 1}[over]
        return Scalar(series, float(values[place]), np.array([place]), np.ones(1))
    if over not in OVER:
        raise StudyError(f"A number is taken over a series as one of {', '.join(OVER)}; found {over!r}.")
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
            f"A series has one number a stored time, ({len(result.t)},); found an array of {values.shape}. For a vector take a component, or its length."
        )
    if not np.isfinite(values).all():
        raise StudyError("A series has numbers that are not finite; energies are not part of the states it may use.")
    return values


def seeds(chosen: Scalar, e: Equations, result: Result) -> np.ndarray:
    """Derivatives (ns, 3 nv + nj) by configuration, velocities, accelerations and multipliers at the places of a scalar: central differences, all of an instant in one call of its series."""
    flat, nv, nj = e.flat, len(e.flat.weight), e.flat.joint_rows
    names = ("q", "w", "wdot", "multipliers")
    units = (1 / flat.weight, 1 / flat.weight, 1 / flat.weight, force_units(flat))
    length, rate = flat.scales
    scales = [1.0] + [
        float((np.abs(getattr(result, name)) / unit).max(initial=0.0)) or least
        for name, unit, least in zip(
            names[1:], units[1:], (rate, rate**2, flat.mass.sum() * length * rate**2), strict=True
        )
    ]
    sizes = DIFFERENCE * np.concatenate([scale * unit for scale, unit in zip(scales, units, strict=True)])
    found = np.zeros((len(chosen.places), 3 * nv + nj))
    count = 2 * (3 * nv + nj)
    for k, place in enumerate(chosen.places):
        states = {name: np.repeat(getattr(result, name)[place : place + 1], count, axis=0) for name in names}
        for i, size in enumerate(sizes):
            part, entry = min(i // nv, 3), i if i < nv else (i - 3 * nv if i >= 3 * nv else i % nv)
            for row, sign in ((2 * i, 1.0), (2 * i + 1, -1.0)):
                if part == 0:
                    states["q"][row] = e.displaced(states["q"][row], sign * size * np.eye(1, nv, entry)[0])
                else:
                    states[names[part]][row, entry] += sign * size
        angles = followed_angles(result.mechanism, states["q"], result.angles[place])
        moved = result_of_states(result.mechanism, np.full(count, result.t[place]), *states.values(), angles=angles)
        values = _values(chosen.series, moved)
        found[k] = chosen.weights[k] * (values[::2] - values[1::2]) / (2 * sizes)
    return found
