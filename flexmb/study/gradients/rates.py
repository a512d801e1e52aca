"""Derivatives of all numbers of a mechanism with respect to one parameter of its model."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fem.axes.limits import is_number
from flexmb.errors import SensitivityWarning, StudyError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.study.gradients.aligned import Aligned, aligned, near_of
from flexmb.study.gradients.held import held_by
from flexmb.study.gradients.model import Model, mechanism_of, require_alike, sorted_facets
from flexmb.study.gradients.scales import scale_of

LINES = ("line_numbers", "station_point", "station_tangent", "station_length", "station_rows", "station_slopes")
"""Arrays of fluid in pipes and of wind."""
FRICTION = ("friction_factors", "friction_speed", "friction_arm")
"""Arrays of dry friction in joints."""
SKINS = (
    "skin_friction", "skin_shape", "node_point", "node_across", "node_bend", "node_rows", "node_second",
    "node_hertz", "facet_excess", "compliance_entries",
)  # fmt: skip
"""Arrays of flexible surfaces that touch."""
NUMBERS = (
    "gravity", "mass", "s0", "J0", "rest_Mrr", "rest_Mre", "rest_moments", "rest_chol", "linear", "quadratic",
    "stiffness", "damping", "marker_point", "marker_axes", "marker_rows", "marker_second",
    "row_stiffness", "row_damping", "row_offset", "term_factor", "load_wrench", "element_parameters",
    "control_parameters", "signal_given", *FRICTION, *LINES, *SKINS,
)  # fmt: skip
"""Arrays of `CompiledModel` that parameters may change."""
DERIVED = ("rest_Mrr", "rest_Mre", "rest_moments", "rest_chol")
"""Arrays that are computed from others."""
BENDING = ("s0", "J0", "linear", "quadratic", "marker_point", "marker_axes", "marker_rows", "marker_second", *LINES)
"""Arrays on which residuals depend nonlinearly."""
ROUNDING = 1e-13
"""Differences of numbers, relative to their scales (flexmb/study/gradients/scales.py), that are round-off."""
DRIVEN = 3e-4
"""Change of a driver to both sides, in radians or lengths of the mechanism."""
PROBED = (1e-3, 1e1)
"""Desired change of the numbers of a mechanism, in relative steps, by the step of a parameter with the value zero."""


@dataclass(frozen=True, eq=False)
class Rates:
    """The derivatives of a mechanism with respect to a parameter.

    - `below`, `above`: the mechanism with the parameter changed to both sides, `distance` apart, in the elastic
      coordinates of the mechanism itself.
    - `arrays`: derivatives of arrays of `CompiledModel`, by name.
    - `functions`: derivatives (n, 3) of functions of time, by number.
    - `couplings`: derivatives of the off-diagonal parts (m, m) of stiffness and damping, by body.
    - `laws`: rows whose force law changes; `own_laws`: whether the law of a frame force or of a controller changes.
    """

    below: Aligned
    above: Aligned
    distance: float
    arrays: Mapping[str, np.ndarray]
    functions: Mapping[int, np.ndarray]
    couplings: Mapping[int, tuple[np.ndarray, np.ndarray]]
    laws: np.ndarray
    own_laws: bool

    @property
    def low(self) -> Mechanism:
        return self.below.mechanism

    @property
    def high(self) -> Mechanism:
        return self.above.mechanism

    @property
    def bends(self) -> bool:
        """Whether residuals depend nonlinearly on the parameter, other than through force laws."""
        return not len(self.laws) and (bool(self.functions) or any(name in self.arrays for name in BENDING))

    def size(self, base: Mechanism, part: float, names: tuple[str, ...] = BENDING) -> float:
        """Largest change of the parameter to both sides that changes the numbers `names` at most by `part`; by default
        those of nonlinear effect."""
        if len(self.laws):
            return 0.5 * self.distance
        sizes = []
        for name in names:
            if name in self.arrays:
                rate, scale = np.abs(self.arrays[name]), scale_of(name, base)
                moving = (rate > 0) & (scale > 0)
                sizes += [part * float((scale[moving] / rate[moving]).min())] if moving.any() else []
        rows = base.rows[: base.joint_rows]
        for k, rate in self.functions.items():
            reach = [base.length if row.kind in (0, 3) else 1.0 for row in rows if row.function == k]
            if reach and rate[:, 0].any():
                sizes.append(DRIVEN * min(reach) / float(np.abs(rate[:, 0]).max()))
        return float(min(sizes, default=0.5 * self.distance))

    def moved(self, base: Mechanism, table: np.ndarray, size: float) -> tuple[CompiledModel, np.ndarray]:
        """The arrays of a mechanism, and its functions of time (n, nf, 3), with the parameter changed by `size`."""
        fields = fields_of(compiled(base))
        for name, rate in self.arrays.items():
            fields[name] = fields[name] + size * rate
        if len(self.laws):
            changed = compiled(self.high if size > 0 else self.low)
            fields["row_law"], fields["row_store"] = changed.row_law, changed.row_store
        if self.own_laws:
            changed = compiled(self.high if size > 0 else self.low)
            for name in ("element_law", "element_record", "element_tangent", "control_law", "control_record"):
                fields[name] = getattr(changed, name)
        if self.functions:
            table = table.copy()
            for k, rate in self.functions.items():
                table[:, k] += size * rate[: len(table)]
        return pointed(CompiledModel(**fields)), table


def rates_of(
    model: Model, values: Mapping[str, float], name: str, relative_step: float, base: Mechanism, times: np.ndarray
) -> Rates:
    """Derivatives with respect to the parameter `name`, by central differences.

    Functions of time, at `times` (n,), are differentiated by differences of fourth order, since they may vary sharply.
    Raises `StudyError` when the mechanism changes in more than numbers, or its functions are not its own.
    """
    if not (is_number(relative_step) and 0 < relative_step < 0.5):
        raise StudyError(f"relative_step is a fraction of each parameter, between 0 and 0.5; found {relative_step}.")
    builds = _Builds(model, values, name, base, relative_step)
    builds.step = relative_step * (abs(values[name]) or 1.0)
    low, high = builds.at(-0.5), builds.at(0.5)
    if values[name] == 0.0:
        change = _largest_change(low.mechanism, high.mechanism, base) / relative_step
        if change > 0 and not PROBED[0] <= change <= PROBED[1]:  # derive the scale of the parameter from its effect
            builds.step /= change
            low, high = builds.at(-0.5), builds.at(0.5)
    arrays = _slopes(low.mechanism, high.mechanism, base, builds)
    pairs = zip(builds.functions[-0.5], builds.functions[0.5], strict=True)
    changing = [k for k, (before, after) in enumerate(pairs) if before != after]
    functions = {}
    if changing:
        several = [x.mechanism for x in (builds.at(-1.0), low, high, builds.at(1.0))]
        for k in changing:
            a, b, c, d = (mechanism.functions[k].over(times) for mechanism in several)
            functions[k] = (8.0 * (c - b) - (d - a)) / (6.0 * builds.step)
    differing = [a != b for a, b in zip(builds.laws[-0.5], builds.laws[0.5], strict=True)]
    laws = [r for r, row in enumerate(base.rows) if row.law >= 0 and differing[row.law]]
    frames = any(differing[len(base.laws) :])
    builds.require_own_values()
    couplings = _couplings(low, high, builds.step)
    return Rates(low, high, builds.step, arrays, functions, couplings, np.array(laws, dtype=np.int64), frames)


class _Builds:
    """Mechanisms of a model with one parameter changed, and the values on which their functions depended when built."""

    def __init__(self, model: Model, values: Mapping[str, float], name: str, base: Mechanism, part: float) -> None:
        self.model, self.values, self.name, self.base, self.part = model, values, name, base, part
        self.step = 0.0
        self.made: dict[float, Mechanism] = {}
        self.functions: dict[float, list[Any]] = {}
        self.laws: dict[float, list[Any]] = {}

    def at(self, part: float) -> Aligned:
        """The mechanism with the parameter changed by a fraction of the step."""
        built = mechanism_of(self.model, {**self.values, self.name: self.values[self.name] + part * self.step})
        result = aligned(built, self.base, near_of(self.part))
        require_alike(result.mechanism, self.base)
        self._require_same_curves(built)
        self.made[part] = built
        self.functions[part], self.laws[part] = _held(built)
        return result

    def _require_same_curves(self, built: Mechanism) -> None:
        """Raise `StudyError` when a curve of a joint depends on the parameter."""
        for joint in built.joints:
            for number in {built.rows[r].curve for r in joint.rows if built.rows[r].curve >= 0}:
                if not np.array_equal(built.curves[number].data, self.base.curves[number].data):
                    raise StudyError(
                        f"The curve of joint {joint.name!r} depends on {self.name!r}; the direct and the adjoint "
                        "method do not differentiate curves. Use flexmb.study.gradient, which takes differences of "
                        "motions."
                    )

    def require_own_values(self) -> None:
        """Raise `StudyError` when a function reads a variable that a later build changes, so that builds share it."""
        for part, built in self.made.items():
            functions, laws = _held(built)
            for now, then, owners in (
                (functions, self.functions[part], [f.description for f in built.functions]),
                (
                    laws,
                    self.laws[part],
                    [x.name for several in (built.laws, built.frame_forces, built.controllers) for x in several],
                ),
            ):
                changed = [owner for a, b, owner in zip(now, then, owners, strict=True) if a != b]
                if changed:
                    raise StudyError(
                        f"The function of {changed[0]!r} reads a variable that the model changes when it is built "
                        "again (a global, or an object shared between builds), so that its derivative with respect to "
                        f"{self.name!r} cannot be computed. Let the model create the function anew, with its values as "
                        "default arguments or local variables."
                    )


def _held(mechanism: Mechanism) -> tuple[list[Any], list[Any]]:
    """Representations of the functions of time, and of the laws of rows, of frame forces and of controllers."""
    functions = [held_by((f.value, f.rate, f.acceleration)) for f in mechanism.functions]
    laws = [law.function for law in mechanism.laws]
    laws += [force.call.law.function for force in mechanism.frame_forces]
    laws += [controller.call.law.function for controller in mechanism.controllers]
    return functions, [held_by(function) for function in laws]


def _slopes(low: Mechanism, high: Mechanism, base: Mechanism, builds: _Builds) -> dict[str, np.ndarray]:
    """Derivatives of the arrays that change; warns with `SensitivityWarning` of numbers that jump or have a kink."""
    found: dict[str, np.ndarray] = {}
    for key in NUMBERS:
        a, b, at = (_numbers(key, m, base) for m in (low, high, base))
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
                f"The mechanism does not depend smoothly on {builds.name!r} at {builds.values[builds.name]:.6g}: "
                f"{key} jumps or has a kink there (changed by {builds.step:.3g}, its {int(rough.sum())} affected "
                f"numbers change differently to both sides). Derivatives with respect to {builds.name!r} are "
                "meaningless there: choose a value beside it, or a model without the choice.",
                SensitivityWarning,
                stacklevel=4,
            )
    if not any(key in found for key in NUMBERS if key not in DERIVED):
        return {}
    return found


def _numbers(key: str, mechanism: Mechanism, base: Mechanism) -> np.ndarray:
    """The array `CompiledModel.key` of a mechanism, those of facets in the order of `base`: a parameter may change the
    order in which a tree lists them."""
    numbers = np.asarray(getattr(compiled(mechanism), key))
    if key != "facet_excess":
        return numbers
    found = np.empty_like(numbers)
    found[sorted_facets(compiled(base))[1]] = numbers[sorted_facets(compiled(mechanism))[1]]
    return found


def _largest_change(low: Mechanism, high: Mechanism, base: Mechanism) -> float:
    """The largest change of the arrays, relative to the scale of each number."""
    largest = 0.0
    for key in NUMBERS:
        if key not in DERIVED:
            change, scale = np.abs(_numbers(key, high, base) - _numbers(key, low, base)), scale_of(key, base)
            real = (change > ROUNDING * scale) & (scale > 0)
            largest = max(largest, float((change[real] / scale[real]).max(initial=0.0)))
    return largest


def _couplings(low: Aligned, high: Aligned, step: float) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Derivatives of the off-diagonal parts of stiffness and damping of the bodies."""
    found = {}
    for b in range(len(low.turns)):
        pair = tuple((y[b] - x[b]) / step for x, y in ((low.stiffness, high.stiffness), (low.damping, high.damping)))
        if any(x.any() for x in pair):
            found[b] = (pair[0], pair[1])
    return found
