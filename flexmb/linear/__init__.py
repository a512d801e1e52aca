"""Mechanisms near a state: where they rest, and how they vibrate there."""

from flexmb.linear.equilibrium import Equilibrium, equilibrium
from flexmb.linear.linearise import Linear, Vibration, linearise

__all__ = ["Equilibrium", "Linear", "Vibration", "equilibrium", "linearise"]
