"""Derivatives, by one parameter of a model, of all numbers that its mechanism is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from flexmb.kernels.data import Flat
from flexmb.kernels.pointed import fields_of, pointed
from flexmb.mechanism import Mechanism
from flexmb.motion import Motion
from flexmb.study.model import Model, mechanism_of, require_alike
from flexmb.study.parameters import StudyError

NUMBERS = (
    "gravity", "mass", "s0", "J0", "rest_Mrr", "rest_Mre", "rest_moments", "rest_chol", "linear", "quadratic", "stiffness", "damping", "marker_point", "marker_axes", "marker_rows",
    "marker_second", "row_stiffness", "row_damping", "row_offset", "load_wrench",
)  # fmt: skip
"""Arrays of `Flat` that parameters may change."""
ROUNDING = 1e-13
"""Differences of numbers, relative to the largest of their array, that are none."""
DRIVEN = 3e-4
"""Radians, or lengths, by which a driver is moved to both sides."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Mechanisms `low` and `high` with the parameter below and above, `distance` apart; derivatives of arrays by name, and of functions of time (n, 3) by number; rows whose force law differs."""

    low: Mechanism
    high: Mechanism
    distance: float
    arrays: Mapping[str, np.ndarray]
    functions: Mapping[int, np.ndarray]
    laws: np.ndarray

    def size(self, base: Mechanism, part: float) -> float:
        """By how much the parameter may move to both sides for no number to change by more than a `part` of its size (places: of the mechanism's length)."""
        if len(self.laws):
            return 0.5 * self.distance
        flat, sizes = base.flat(), []
        for name, rate in self.arrays.items():
            whole = base.length if name == "marker_point" else np.abs(getattr(flat, name)).max()
            if whole > 0.0:
                sizes.append(part * whole / np.abs(rate).max())
        driven = flat.row_function[: flat.joint_rows]
        sizes += [DRIVEN / np.abs(rate).max() for k, rate in self.functions.items() if k in driven and rate.any()]
        return float(min(sizes, default=0.5 * self.distance))

    def moved(self, base: Mechanism, table: np.ndarray, size: float) -> tuple[Flat, np.ndarray]:
        """The arrays of a mechanism, and its functions of time (n, nf, 3), with the parameter moved by `size`."""
        fields = fields_of(base.flat())
        for name, rate in self.arrays.items():
            fields[name] = fields[name] + size * rate
        if len(self.laws):
            fields["row_law"] = (self.high if size > 0 else self.low).flat().row_law
        if self.functions:
            table = table.copy()
            for k, rate in self.functions.items():
                table[:, k] += size * rate[: len(table)]
        return pointed(Flat(**fields)), table


def rates_of(
    model: Model, values: Mapping[str, float], name: str, relative_step: float, base: Mechanism, times: np.ndarray
) -> Rates:
    """By central differences; functions of time at the given ones by those of fourth order, because they may be sharp."""
    if not 0 < relative_step < 0.5:
        raise StudyError(f"relative_step is a part of each parameter, between 0 and 0.5; found {relative_step}.")
    step = relative_step * (abs(values[name]) or 1.0)

    def at(part: float) -> Mechanism:
        mechanism = mechanism_of(model, {**values, name: values[name] + part * step})
        require_alike(mechanism, base)
        return mechanism

    low, high = at(-0.5), at(0.5)
    arrays = {}
    for key in NUMBERS:
        a, b = getattr(low.flat(), key), getattr(high.flat(), key)
        if (np.abs(b - a) > ROUNDING * np.abs(a).max(initial=0.0)).any():
            arrays[key] = (b - a) / step
    changing = [k for k, pair in enumerate(zip(low.functions, high.functions, strict=True)) if not _same_motion(*pair)]
    functions = {}
    if changing:
        several = (at(-1.0), low, high, at(1.0))
        for k in changing:
            a, b, c, d = (mechanism.functions[k].over(times) for mechanism in several)
            functions[k] = (8.0 * (c - b) - (d - a)) / (6.0 * step)
    laws = [r for r, row in enumerate(low.rows) if row.law >= 0 and not _same(low.laws[row.law].function, high.laws[row.law].function)]  # fmt: skip
    return Rates(low, high, step, arrays, functions, np.array(laws, dtype=np.int64))


def _same_motion(a: Motion, b: Motion) -> bool:
    return a is b or all(_same(getattr(a, part), getattr(b, part)) for part in ("value", "rate", "acceleration"))


def _same(a: Any, b: Any) -> bool:
    """Whether two functions, or values they hold, are known to be the same; not, when in doubt."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, int | float | str | np.polynomial.Polynomial):
        return bool(a == b)
    if not (isinstance(a, FunctionType) or hasattr(a, "py_func")):
        return False
    a, b = getattr(a, "py_func", a), getattr(b, "py_func", b)
    if a.__code__ is not b.__code__:
        return False
    held = [[cell.cell_contents for cell in f.__closure__ or ()] + list(f.__defaults__ or ()) for f in (a, b)]
    return len(held[0]) == len(held[1]) and all(_same(*pair) for pair in zip(*held, strict=True))
