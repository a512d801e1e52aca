"""Controllers for `System.controller`: PID, linear systems, state feedback, curves and gain schedules."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from flexmb.controllers import formulas
from flexmb.controllers.linear import discrete, linear, state_feedback
from flexmb.controllers.pid import PID, PID_SAMPLED, PID_WITH_RATE, pid
from flexmb.controllers.tables import curve, curve_from_csv, gain_schedule
from flexmb.kernels.equations.controllers import pass_on

__all__ = ["curve", "curve_from_csv", "discrete", "gain_schedule", "linear", "pid", "state_feedback"]

FUNCTIONS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {law.name: law.function for law in (PID, PID_WITH_RATE, PID_SAMPLED)}
    | {
        "linear": formulas.linear,
        "curve": formulas.curve,
        "periodic-curve": formulas.periodic_curve,
        "gain-schedule": formulas.gain_schedule,
        "inputs": pass_on,
    }
)
"""The functions of the laws by their names in result files."""
