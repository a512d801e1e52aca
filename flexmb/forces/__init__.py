"""Force laws: `scalar/` holds laws of one coordinate, `effort(t, x, xdot)`, `frame/` laws between two frames."""

from flexmb.forces.frame import (
    LIBRARY,
    commanded_cylinder,
    drag,
    flexible_ring_bearing,
    hydraulic_cylinder,
    journal_bearing,
    linear_tyre,
    nonlinear_bushing,
    pacejka_89,
    plastic_hinge,
    rolling_bearing,
    servo_actuator,
    still_drag,
)
from flexmb.forces.frame.ring_compliance import (
    RingCompliance,
    raceway_sectors,
    ring_compliance,
    ring_compliance_from_csv,
)
from flexmb.forces.scalar.one_sided import cable, gap_spring, preloaded_spring

__all__ = [
    "LIBRARY",
    "RingCompliance",
    "cable",
    "commanded_cylinder",
    "drag",
    "flexible_ring_bearing",
    "gap_spring",
    "hydraulic_cylinder",
    "journal_bearing",
    "linear_tyre",
    "nonlinear_bushing",
    "pacejka_89",
    "plastic_hinge",
    "preloaded_spring",
    "raceway_sectors",
    "ring_compliance",
    "ring_compliance_from_csv",
    "rolling_bearing",
    "servo_actuator",
    "still_drag",
]
