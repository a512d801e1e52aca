"""Mechanisms near a state: where they rest, or move steadily, and how they vibrate there."""

from flexmb.linear.equilibrium import Equilibrium, equilibrium, steady_motion
from flexmb.linear.linearise import Linear, linearise
from flexmb.linear.vibration import Vibration

__all__ = ["Equilibrium", "Linear", "Vibration", "equilibrium", "linearise", "steady_motion"]
