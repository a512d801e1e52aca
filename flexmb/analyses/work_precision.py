"""Work-precision data: computing time and error of integration methods and their settings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmb.errors import MeasureError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.simulation.simulate import simulate

Observe = Callable[[Result], Any]


@dataclass(frozen=True)
class Precision:
    """One run: its options, its CPU time in seconds, and its error.

    The error is the largest difference of the observed quantity from the reference run, relative to the largest value
    of the reference.
    """

    options: dict[str, Any]
    cpu_seconds: float
    error: float

    @property
    def method(self) -> str:
        """The name of the integration method."""
        used = self.options.get("method", "generalised-alpha")
        return used if isinstance(used, str) else used.name

    def __str__(self) -> str:
        told = ", ".join(f"{key} {value}" for key, value in self.options.items())
        return f"{told}: {self.cpu_seconds:.3g} s, error {self.error:.1e}"


def work_precision(
    system: System | Mechanism,
    duration: float,
    observe: Observe,
    settings: Iterable[Mapping[str, Any]],
    *,
    output_step: float,
    reference: Mapping[str, Any] | None = None,
) -> list[Precision]:
    """Simulate with every setting (options of `simulate`) and compare an observed quantity with a reference run.

    `observe(result)`: an array over the stored times, such as `lambda r: r.position("rod.tip")`. `reference`: options
    of the reference run, by default Radau IIA with a tolerance of 1e-11. It must be so accurate that a more accurate
    one would not change the errors.

    Raises `MeasureError` where the observed quantity of the reference run is zero throughout, which errors cannot be
    relative to, and where that of any run is not finite, or has another shape.
    """
    mechanism = system.build() if isinstance(system, System) else system
    common: dict[str, Any] = {"output_step": output_step}
    exact: Mapping[str, Any] = {"method": "radau", "tolerance": 1e-11} if reference is None else reference
    truth = np.asarray(observe(simulate(mechanism, duration, **common, **exact)), dtype=float)
    scale, runs = float(np.abs(truth).max(initial=0.0)), []
    if not (np.isfinite(scale) and scale > 0):
        what = "zero throughout" if scale == 0 else "not finite"
        raise MeasureError(
            f"The observed quantity of {mechanism.name!r} is {what} in the reference run; errors are relative to "
            "its largest value. Observe a quantity that the motion changes."
        )
    for options in settings:
        result = simulate(mechanism, duration, **common, **options)
        observed = np.asarray(observe(result), dtype=float)
        if observed.shape != truth.shape:
            raise MeasureError(
                f"The observed quantity of {mechanism.name!r} has the shape {observed.shape} with the options "
                f"{dict(options)} and {truth.shape} in the reference run: it must be an array over the stored times."
            )
        error = float(np.abs(observed - truth).max() / scale)
        if not np.isfinite(error):
            raise MeasureError(
                f"The observed quantity of {mechanism.name!r} is not finite with the options {dict(options)}."
            )
        runs.append(Precision(dict(options), result.statistics.cpu_seconds, error))
    return runs
