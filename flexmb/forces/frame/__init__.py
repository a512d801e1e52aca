"""Laws between two frames: bearings, bushings, tyres, hydraulics, plasticity, drag."""

from collections.abc import Mapping
from types import MappingProxyType

from flexmb.forces.frame.aerodynamics import drag, still_drag
from flexmb.forces.frame.bushing import nonlinear_bushing
from flexmb.forces.frame.flexible_ring import flexible_ring_bearing
from flexmb.forces.frame.hydraulics import commanded_cylinder, hydraulic_cylinder, servo_actuator
from flexmb.forces.frame.journal import journal_bearing
from flexmb.forces.frame.plasticity import plastic_hinge
from flexmb.forces.frame.rolling import rolling_bearing
from flexmb.forces.frame.tyres import linear_tyre, pacejka_89
from flexmb.mechanism.frame_law import FrameLaw

LIBRARY: Mapping[str, FrameLaw] = MappingProxyType(
    {
        "commanded-cylinder": commanded_cylinder,
        "drag": drag,
        "flexible-ring-bearing": flexible_ring_bearing,
        "hydraulic-cylinder": hydraulic_cylinder,
        "journal-bearing": journal_bearing,
        "linear-tyre": linear_tyre,
        "nonlinear-bushing": nonlinear_bushing,
        "pacejka-89": pacejka_89,
        "plastic-hinge": plastic_hinge,
        "rolling-bearing": rolling_bearing,
        "servo-actuator": servo_actuator,
        "still-drag": still_drag,
    }
)
"""The laws by their names in model files and result files."""
