"""Sensitivities: derivatives of any measures with respect to the parameters of a model, with estimated errors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from fem.axes.limits import is_number
from fem.errors import unknown_name
from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.study.gradients.aligned import Aligned, aligned, near_of
from flexmb.study.gradients.model import Model as Build
from flexmb.study.gradients.model import mechanism_of
from flexmb.study.many import Model, parameter_study
from flexmb.study.parameters import checked_values
from flexmb.study.peaks import Measure, peaks, require_function

AROUND, ABOVE = (1.0, -1.0, 0.5, -0.5), (0.25, 0.5, 0.75, 1.0)
"""Positions of a parameter in steps: to both sides of its value; for the value zero, to one side."""
ROUNDING = 1e-15
"""Round-off of a measure, relative to it."""


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of measures with respect to parameters.

    - `at`: the values of the parameters; `outcome`: the measures at these values.
    - `derivatives`: for each measure the derivatives (np,), in the order of the parameters.
    - `errors`: their estimated errors (np,), NaN where there is no estimate.
    """

    at: Mapping[str, float]
    outcome: Mapping[str, float]
    derivatives: Mapping[str, Float[np.ndarray, "np"]]
    errors: Mapping[str, Float[np.ndarray, "np"]]

    def of(self, measure: str) -> Float[np.ndarray, "np"]:
        """Derivatives (np,) of one measure, in the order of the parameters. Raises `StudyError` for an unknown name."""
        if measure not in self.derivatives:
            raise StudyError(unknown_name("measure", measure, self.derivatives))
        return self.derivatives[measure]

    def relative(self, measure: str) -> Float[np.ndarray, "np"]:
        """Change (np,) of a measure in per cent for one per cent of each parameter; NaN where the measure is zero.

        Raises `StudyError` for an unknown name.
        """
        slopes = self.of(measure) * np.array(list(self.at.values()))
        value = self.outcome[measure]
        return slopes / value if value != 0 else np.full(len(slopes), np.nan)

    def certain(self) -> list[str]:
        """The nonzero measures whose largest relative derivative exceeds ten times its error, where that is known."""
        known = []
        for measure, value in self.outcome.items():
            scale = np.array(list(self.at.values()))
            slopes, errors = (
                np.abs(self.derivatives[measure] * scale),
                np.abs(np.nan_to_num(self.errors[measure]) * scale),
            )
            if value != 0 and slopes.max() > 10 * errors.max():
                known.append(measure)
        return known

    def __str__(self) -> str:
        wide = max(20, *(len(name) + 2 for name in self.at))
        lines = [f"at {', '.join(f'{name} = {value:.6g}' for name, value in self.at.items())}"]
        lines.append(f"{'derivative of':36}" + "".join(f"{name:>{wide}}" for name in self.at))
        for measure, values in self.derivatives.items():
            cells = [
                f"{v:.5g}" + (f" +- {e:.0e}" if np.isfinite(e) else "")
                for v, e in zip(values, self.errors[measure], strict=True)
            ]
            lines.append(f"{measure:36}" + "".join(f"{cell:>{wide}}" for cell in cells))
        return "\n".join(lines)


def gradient(
    model: Model,
    at: Mapping[str, float],
    duration: float | None = None,
    *,
    measure: Measure = peaks,
    relative_step: float = 1e-3,
    **options: Any,
) -> Gradient:
    """Derivatives of everything in `measure` with respect to every parameter of `model(**parameters)` at `at`.

    They are central differences at two distances (`relative_step` of each value, and half of it), extrapolated, with an
    error of fourth order in the distance; the change by the extrapolation is the estimate of the error. A parameter
    with the value zero is changed to one side only. Cost: four runs for each parameter, on several processes as in
    `parameter_study`, which takes the other `options`.

    Simulate with a fixed `step=`, so that all runs take the same steps. A largest value over time has a derivative only
    as long as the same peak is the largest; otherwise the estimated error is large. Elastic coordinates are those of
    the mechanism at the values `at`, whatever signs, order and combinations the modes of flexible bodies have when they
    are built again.

    Raises `StudyError` when the relative step is not between 0 and 0.5, or a run fails.
    """
    values = checked_values(at)
    require_function(measure)
    if not (is_number(relative_step) and 0 < relative_step < 0.5):
        raise StudyError(f"relative_step is a fraction of each parameter, between 0 and 0.5; found {relative_step}.")
    sizes = {name: relative_step * (abs(value) or 1.0) for name, value in values.items()}
    variants = [dict(values)]
    variants += [
        {**values, name: values[name] + k * sizes[name]} for name in values for k in (AROUND if values[name] else ABOVE)
    ]
    if duration is not None:
        over = _Over(model, measure, values, near_of(relative_step))
        model, measure = over.built, over.measured
    study = parameter_study(model, variants, duration, measure=measure, **options)
    if study.failed:
        raise StudyError(f"A run for the sensitivities failed at {study.failed[0].parameters}: {study.failed[0].error}")
    derivatives, errors = {}, {}
    for name in study.measures:
        base, *others = study.measure(name)
        f, h = np.reshape(others, (len(values), 4)), np.array(list(sizes.values()))
        far, near = (f[:, 0] - f[:, 1]) / (2 * h), (f[:, 2] - f[:, 3]) / h
        best, other = (4 * near - far) / 3, near
        from_zero = np.array(list(values.values())) == 0
        if from_zero.any():
            g, quarter = np.column_stack([np.full(len(f), base), f])[from_zero], h[from_zero] / 4
            best[from_zero] = g @ [-25, 48, -36, 16, -3] / (12 * quarter)
            other[from_zero] = g @ [-11, 18, -9, 2, 0] / (6 * quarter)
        derivatives[name] = best
        errors[name] = np.abs(best - other) + np.abs(f).max() * ROUNDING / h
    return Gradient(values, dict(study.rows[0].outcome or {}), derivatives, errors)


class _Over:
    """A model and a measure in the elastic coordinates of the mechanism at given values, if these have counterparts."""

    def __init__(self, model: Model, measure: Measure, values: Mapping[str, float], near: float) -> None:
        self._model, self._measure, self._values, self._near = model, measure, values, near
        self._first: Mechanism | None = None  # built when it is needed, in every process

    def built(self, **values: float) -> Mechanism | Mapping[str, float]:
        """The mechanism of the model, with initial elastic coordinates as of the mechanism at the given values."""
        made = self._model(**values)
        if not isinstance(made, System | Mechanism):
            return made
        mechanism = made.build() if isinstance(made, System) else made
        found = self._aligned(mechanism)
        return mechanism if found is None else found.built

    def measured(self, result: Result) -> Mapping[str, float]:
        """The measure of a result that is transformed to these coordinates."""
        found = self._aligned(result.mechanism)
        if found is None:
            return self._measure(result)
        start = result.mechanism.initial
        initial = replace(start, q=found.turned(start.q, 7), w=found.turned(start.w, 6))
        mechanism = replace(found.mechanism, initial=initial)
        q, w, wdot = (found.turned(x, n) for x, n in ((result.q, 7), (result.w, 6), (result.wdot, 6)))
        return self._measure(replace(result, mechanism=mechanism, q=q, w=w, wdot=wdot))

    def _aligned(self, mechanism: Mechanism) -> Aligned | None:
        """The aligned mechanism; None if there is nothing to align, or if coordinates have no counterpart.

        In the latter case differences are those of the mechanisms as built, and the estimated errors show it.
        """
        if not any(body.modes for body in mechanism.bodies):
            return None
        if self._first is None:
            self._first = mechanism_of(cast(Build, self._model), self._values)
        try:
            found = aligned(mechanism, self._first, self._near)
        except StudyError:
            return None
        return None if found.mechanism is mechanism else found
