"""Force laws: `scalar/` holds laws of one coordinate, `effort(t, x, xdot)`, `frame/` laws between two frames."""

from flexmb.forces.frame import (
    LIBRARY,
    drag,
    hydraulic_cylinder,
    journal_bearing,
    linear_tyre,
    nonlinear_bushing,
    pacejka_89,
    plastic_hinge,
    rolling_bearing,
    servo_actuator,
)
from flexmb.forces.scalar.one_sided import cable, gap_spring, preloaded_spring

__all__ = [
    "LIBRARY",
    "cable",
    "drag",
    "gap_spring",
    "hydraulic_cylinder",
    "journal_bearing",
    "linear_tyre",
    "nonlinear_bushing",
    "pacejka_89",
    "plastic_hinge",
    "preloaded_spring",
    "rolling_bearing",
    "servo_actuator",
]
