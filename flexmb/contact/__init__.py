"""Contact: shapes of surfaces, laws of the normal force, and the cone problem of contacts with exact friction."""

from flexmb.contact.cones import Bounded, ConeSolution, Coulomb, solve_contacts
from flexmb.contact.laws import (
    FACTORS,
    NormalLaw,
    TurningFriction,
    effective_modulus,
    elastic_foundation,
    hertz_stiffness,
    line_contact,
    malca,
    permanent_indentation,
    power_law,
    reached_restitution,
)
from flexmb.contact.shapes import Bore, Box, Capsule, ContactShape, Cylinder, Plane, Socket, Sphere, Surface

__all__ = [
    "FACTORS",
    "Bore",
    "Bounded",
    "Box",
    "Capsule",
    "ConeSolution",
    "ContactShape",
    "Coulomb",
    "Cylinder",
    "NormalLaw",
    "Plane",
    "Socket",
    "Sphere",
    "Surface",
    "TurningFriction",
    "effective_modulus",
    "elastic_foundation",
    "hertz_stiffness",
    "line_contact",
    "malca",
    "permanent_indentation",
    "power_law",
    "reached_restitution",
    "solve_contacts",
]
