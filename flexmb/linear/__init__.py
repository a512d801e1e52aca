"""Linear analyses about a state or a motion: equilibria, steady and periodic motions, vibrations, responses."""

from flexmb.linear.eigenvalue_loci import (
    EigenvalueLoci,
    StabilityMap,
    along_motion,
    campbell,
    root_locus,
    stability_map,
)
from flexmb.linear.equilibrium import Equilibrium, equilibrium, settled, steady_motion
from flexmb.linear.input_output import input_names
from flexmb.linear.linearise import LinearisedModel, linearise
from flexmb.linear.periodic import Periodic, periodic_motion
from flexmb.linear.response import Response, frequency_response, state_space, with_peaks
from flexmb.linear.sampled.period import SampledVibration
from flexmb.linear.steady_running import SteadyRunning, steady_running
from flexmb.linear.vibration import Vibration

__all__ = [
    "EigenvalueLoci",
    "Equilibrium",
    "LinearisedModel",
    "Periodic",
    "Response",
    "SampledVibration",
    "StabilityMap",
    "SteadyRunning",
    "Vibration",
    "along_motion",
    "campbell",
    "equilibrium",
    "frequency_response",
    "input_names",
    "linearise",
    "periodic_motion",
    "root_locus",
    "settled",
    "stability_map",
    "state_space",
    "steady_motion",
    "steady_running",
    "with_peaks",
]
