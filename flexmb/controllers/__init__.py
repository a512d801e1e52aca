"""Controllers for `System.controller`: PID, linear systems, state feedback, curves and gain schedules."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from flexmb.controllers.linear import LINEAR, discrete, linear, state_feedback
from flexmb.controllers.pid import PID, PID_SAMPLED, PID_WITH_RATE, pid
from flexmb.controllers.tables import CURVE, PERIODIC, SCHEDULE, curve, curve_from_csv, gain_schedule

__all__ = ["curve", "curve_from_csv", "discrete", "gain_schedule", "linear", "pid", "state_feedback"]

FUNCTIONS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {law.name: law.function for law in (PID, PID_WITH_RATE, PID_SAMPLED)}
    | {"linear": LINEAR, "curve": CURVE, "periodic-curve": PERIODIC, "gain-schedule": SCHEDULE}
)
"""The functions of the laws by their names in result files."""
