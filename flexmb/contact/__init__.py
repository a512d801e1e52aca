"""Contact: shapes of surfaces, laws of the normal force, and the cone problem of contacts with exact friction."""

from flexmb.contact.cones import Bounded, ConeSolution, Coulomb, Turning, solve_contacts
from flexmb.contact.laws import (
    FACTORS,
    NormalLaw,
    TurningFriction,
    effective_modulus,
    elastic_foundation,
    hertz,
    hertz_stiffness,
    line_contact,
    malca,
    permanent_indentation,
    power_law,
    reached_restitution,
)
from flexmb.contact.local import LocalHertz
from flexmb.contact.pieces import convex_pieces
from flexmb.contact.shape import ContactShape, Surface
from flexmb.contact.shapes import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere
from flexmb.contact.triangle_mesh import TriangleMesh, hull, mesh

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
    "LocalHertz",
    "NormalLaw",
    "Plane",
    "Socket",
    "Sphere",
    "Surface",
    "TriangleMesh",
    "Turning",
    "TurningFriction",
    "convex_pieces",
    "effective_modulus",
    "elastic_foundation",
    "hertz",
    "hertz_stiffness",
    "hull",
    "line_contact",
    "malca",
    "mesh",
    "permanent_indentation",
    "power_law",
    "reached_restitution",
    "solve_contacts",
]
