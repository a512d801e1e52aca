"""Controllers for `System.controller`, with the names by which model files know them."""

from flexmb.controllers.linear import linear, state_feedback
from flexmb.controllers.pid import pid
from flexmb.controllers.tables import curve, gain_schedule

__all__ = ["curve", "gain_schedule", "linear", "pid", "state_feedback"]
