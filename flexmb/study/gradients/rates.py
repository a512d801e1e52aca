"""Derivatives, by one parameter of a model, of all numbers that its mechanism is made of."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmb.errors import SensitivityWarning, StudyError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.study.gradients.aligned import Aligned, aligned, near_of
from flexmb.study.gradients.held import held_by
from flexmb.study.gradients.model import Model, mechanism_of, require_alike
from flexmb.study.gradients.scales import scale_of

NUMBERS = (
    "gravity", "mass", "s0", "J0", "rest_Mrr", "rest_Mre", "rest_moments", "rest_chol", "linear", "quadratic", "stiffness", "damping", "marker_point", "marker_axes", "marker_rows",
    "marker_second", "row_stiffness", "row_damping", "row_offset", "load_wrench",
)  # fmt: skip
"""Arrays of `CompiledModel` that parameters may change."""
DERIVED = ("rest_Mrr", "rest_Mre", "rest_moments", "rest_chol")
"""Those that follow from others."""
BENDING = ("s0", "J0", "linear", "quadratic", "marker_point", "marker_axes", "marker_rows", "marker_second")
"""Those that residuals do not depend on linearly."""
ROUNDING = 1e-13
"""Differences of numbers, relative to the size of each (flexmb/study/gradients/scales.py), that are none."""
DRIVEN = 3e-4
"""Radians, or lengths of the mechanism, by which a driver is moved to both sides."""
PROBED = (1e-3, 1e1)
"""Change of the numbers of a mechanism, in relative steps, that a parameter of value zero should bring about."""


@dataclass(frozen=True, eq=False)
class Rates:
    """What a mechanism changes by with a parameter.

    `below`, `above`: with the parameter on both sides, `distance` apart, over the elastic coordinates of the mechanism itself; derivatives of arrays by name, of functions of time (n, 3) by number,
    and of the stiffness and damping (m, m) that bodies have beside their diagonals; rows whose force law differs.
    """

    below: Aligned
    above: Aligned
    distance: float
    arrays: Mapping[str, np.ndarray]
    functions: Mapping[int, np.ndarray]
    couplings: Mapping[int, tuple[np.ndarray, np.ndarray]]
    laws: np.ndarray

    @property
    def low(self) -> Mechanism:
        return self.below.mechanism

    @property
    def high(self) -> Mechanism:
        return self.above.mechanism

    @property
    def bends(self) -> bool:
        """Whether residuals are known not to depend linearly on the parameter, other than through force laws, which are taken as they are."""
        return not len(self.laws) and (bool(self.functions) or any(name in self.arrays for name in BENDING))

    def size(self, base: Mechanism, part: float) -> float:
        """By how much the parameter may move to both sides for no number that residuals bend with to change by more than a `part` of its size."""
        if len(self.laws):
            return 0.5 * self.distance
        sizes = []
        for name in BENDING:
            if name in self.arrays:
                rate, scale = np.abs(self.arrays[name]), scale_of(name, base)
                moving = (rate > 0) & (scale > 0)
                sizes += [part * float((scale[moving] / rate[moving]).min())] if moving.any() else []
        rows = base.rows[: base.joint_rows]
        for k, rate in self.functions.items():
            reach = [base.length if row.kind in (0, 3) else 1.0 for row in rows if row.function == k]
            if reach and rate.any():
                sizes.append(DRIVEN * min(reach) / float(np.abs(rate).max()))
        return float(min(sizes, default=0.5 * self.distance))

    def moved(self, base: Mechanism, table: np.ndarray, size: float) -> tuple[CompiledModel, np.ndarray]:
        """The arrays of a mechanism, and its functions of time (n, nf, 3), with the parameter moved by `size`."""
        fields = fields_of(compiled(base))
        for name, rate in self.arrays.items():
            fields[name] = fields[name] + size * rate
        if len(self.laws):
            fields["row_law"] = compiled(self.high if size > 0 else self.low).row_law
        if self.functions:
            table = table.copy()
            for k, rate in self.functions.items():
                table[:, k] += size * rate[: len(table)]
        return pointed(CompiledModel(**fields)), table


def rates_of(
    model: Model, values: Mapping[str, float], name: str, relative_step: float, base: Mechanism, times: np.ndarray
) -> Rates:
    """By central differences; functions of time at the given ones by those of fourth order, because they may be sharp."""
    if not 0 < relative_step < 0.5:
        raise StudyError(f"relative_step is a part of each parameter, between 0 and 0.5; found {relative_step}.")
    builds = _Builds(model, values, name, base, relative_step)
    builds.step = relative_step * (abs(values[name]) or 1.0)
    low, high = builds.at(-0.5), builds.at(0.5)
    if values[name] == 0.0:
        change = _largest_change(low.mechanism, high.mechanism, base) / relative_step
        if change > 0 and not PROBED[0] <= change <= PROBED[1]:  # the parameter's own scale, by what it does
            builds.step /= change
            low, high = builds.at(-0.5), builds.at(0.5)
    arrays = _slopes(low.mechanism, high.mechanism, base, builds)
    changing = [k for k, pair in enumerate(zip(builds.functions[-0.5], builds.functions[0.5], strict=True)) if pair[0] != pair[1]]  # fmt: skip
    functions = {}
    if changing:
        several = [x.mechanism for x in (builds.at(-1.0), low, high, builds.at(1.0))]
        for k in changing:
            a, b, c, d = (mechanism.functions[k].over(times) for mechanism in several)
            functions[k] = (8.0 * (c - b) - (d - a)) / (6.0 * builds.step)
    differing = [a != b for a, b in zip(builds.laws[-0.5], builds.laws[0.5], strict=True)]
    laws = [r for r, row in enumerate(base.rows) if row.law >= 0 and differing[row.law]]
    builds.require_own_values()
    return Rates(low, high, builds.step, arrays, functions, _couplings(low, high, builds.step), np.array(laws, dtype=np.int64))  # fmt: skip


class _Builds:
    """Mechanisms of a model with one parameter moved, and what their functions held when they were built."""

    def __init__(self, model: Model, values: Mapping[str, float], name: str, base: Mechanism, part: float) -> None:
        self.model, self.values, self.name, self.base, self.part = model, values, name, base, part
        self.step = 0.0
        self.made: dict[float, Mechanism] = {}
        self.functions: dict[float, list[Any]] = {}
        self.laws: dict[float, list[Any]] = {}

    def at(self, part: float) -> Aligned:
        """With the parameter moved by a part of the step."""
        built = mechanism_of(self.model, {**self.values, self.name: self.values[self.name] + part * self.step})
        result = aligned(built, self.base, near_of(self.part))
        require_alike(result.mechanism, self.base)
        self.made[part] = built
        self.functions[part], self.laws[part] = _held(built)
        return result

    def require_own_values(self) -> None:
        """Raises `StudyError` where a function read what a later build of the model changed: then all builds have the same function now."""
        for part, built in self.made.items():
            functions, laws = _held(built)
            for now, then, owners in (
                (functions, self.functions[part], [f.description for f in built.functions]),
                (laws, self.laws[part], [law.name for law in built.laws]),
            ):
                changed = [owner for a, b, owner in zip(now, then, owners, strict=True) if a != b]
                if changed:
                    raise StudyError(
                        f"The function of {changed[0]!r} reads a variable that the model changes when it is built again (a global, or an object shared between builds), "
                        f"so that its derivative by {self.name!r} cannot be seen. Let the model make the function anew, with its values as default arguments or local variables."
                    )


def _held(mechanism: Mechanism) -> tuple[list[Any], list[Any]]:
    """Pictures of the functions of time and of the force laws."""
    return [held_by((f.value, f.rate, f.acceleration)) for f in mechanism.functions], [
        held_by(law.function) for law in mechanism.laws
    ]


def _slopes(low: Mechanism, high: Mechanism, base: Mechanism, builds: _Builds) -> dict[str, np.ndarray]:
    """Derivatives of the arrays that change. Warns of numbers that jump, or have a kink."""
    found: dict[str, np.ndarray] = {}
    for key in NUMBERS:
        a, b, at = (np.asarray(getattr(compiled(m), key)) for m in (low, high, base))
        difference, scale = b - a, scale_of(key, base)
        real = np.abs(difference) > ROUNDING * scale
        if key in DERIVED:
            real = difference != 0
        if real.any():
            found[key] = np.where(real, difference / builds.step, 0.0)
        bend = np.abs(a + b - 2 * at)
        rough = (bend > 0.2 * np.abs(difference)) & (bend > builds.part**1.5 * scale) & (bend > ROUNDING * scale)
        if key not in DERIVED and rough.any():
            warnings.warn(
                f"The mechanism does not depend smoothly on {builds.name!r} at {builds.values[builds.name]:.6g}: {key} jumps or has a kink there (moved by {builds.step:.3g}, "
                f"its {int(rough.sum())} numbers concerned change differently to both sides). Derivatives by {builds.name!r} mean nothing there: take a value beside it, or a model without the choice.",
                SensitivityWarning,
                stacklevel=4,
            )
    if not any(key in found for key in NUMBERS if key not in DERIVED):
        return {}
    return found


def _largest_change(low: Mechanism, high: Mechanism, base: Mechanism) -> float:
    """Of the arrays, relative to the size of each number."""
    largest = 0.0
    for key in NUMBERS:
        if key not in DERIVED:
            change, scale = np.abs(getattr(compiled(high), key) - getattr(compiled(low), key)), scale_of(key, base)
            real = (change > ROUNDING * scale) & (scale > 0)
            largest = max(largest, float((change[real] / scale[real]).max(initial=0.0)))
    return largest


def _couplings(low: Aligned, high: Aligned, step: float) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Derivatives of what stiffness and damping of bodies have beside the diagonal."""
    found = {}
    for b in range(len(low.turns)):
        pair = tuple((y[b] - x[b]) / step for x, y in ((low.stiffness, high.stiffness), (low.damping, high.damping)))
        if any(x.any() for x in pair):
            found[b] = (pair[0], pair[1])
    return found
