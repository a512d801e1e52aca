"""A sound call of every exported function, from a table of values by the names of parameters; a function with known
names needs no entry of its own."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import fem
import flexmb
import flexmb.contact
import reduction
from fem.mesh.structured_meshes import block
from flexmb import contact, controllers, curves, time_functions

PLACES: dict[str, Any] = {
    "fem": fem,
    "reduction": reduction,
    "flexmb": flexmb,
    "contact": contact,
    "curves": curves,
    "controllers": controllers,
    "time_functions": time_functions,
}
STEEL = fem.Material.steel()


@cache
def mesh() -> fem.Mesh:
    return block("hexahedron", (2.0, 1.0, 1.0), (4, 2, 2))


@cache
def part() -> fem.Model:
    return fem.Model(mesh(), STEEL).with_interfaces(start="x0", end="x1")


@cache
def basis() -> reduction.Basis:
    return reduction.craig_bampton(part(), 2)


def swing() -> flexmb.System:
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), body.at((0.3, 0, 0)), axis=(0, 1, 0))
    return system


VALUES: dict[str, Callable[[], Any]] = {
    "model": part, "mesh": mesh, "basis": basis, "system": swing, "state": lambda: swing().build().initial, "material": lambda: STEEL,
    "name": lambda: "new", "modes": lambda: 2, "count": lambda: 2, "frequency": lambda: 100.0, "band": lambda: (0.0, 5000.0), "tolerance": lambda: 0.1,
    "point": lambda: (0.0, 0.0, 0.0), "normal": lambda: (1.0, 0.0, 0.0), "axis": lambda: (1.0, 0.0, 0.0), "centre": lambda: (0.0, 0.5, 0.5), "radius": lambda: 0.75,
    "low": lambda: (-0.1, -0.1, -0.1), "high": lambda: (3.0, 2.0, 2.0), "force": lambda: (1.0, 0.0, 0.0), "moment": lambda: (0.0, 0.0, 0.0), "interface": lambda: "end",
    "acceleration": lambda: (0.0, 0.0, -9.81), "faces": lambda: "x1", "value": lambda: 2.0, "nodes": lambda: [1, 2], "load": lambda: fem.gravity(part(), (0, 0, -9.81)),
    "supports": lambda: ["start"], "cells": lambda: np.array([[0, 1, 2, 3]]), "n_parts": lambda: 2, "thickness": lambda: 0.01, "angle": lambda: 30.0, "area": lambda: 0.01,
    "mass": lambda: 2.0, "inertia": lambda: (1.0, 1.0, 1.0), "length": lambda: 1.0, "speed": lambda: 2.0, "duration": lambda: 0.01, "step": lambda: 1e-3,
    "x": lambda: [0.0, 1.0, 2.0], "y": lambda: [0.0, 1.0, 4.0], "text": lambda: "-k*x", "k": lambda: 2.0, "points": lambda: [(0.1 * n, 0.01 * n * n) for n in range(6)],
    "young": lambda: 2e11, "poisson": lambda: 0.3, "other": lambda: 2.0, "modulus": lambda: 1e11, "stiffness": lambda: 1e5, "restitution": lambda: 0.5, "exponent": lambda: 1.5,
    "radius_difference": lambda: 1e-3, "factor": lambda: 0.5, "amplitude": lambda: 1.0, "start": lambda: 0.0, "height": lambda: 1.0, "times": lambda: [0.0, 1.0, 2.0],
    "values": lambda: [0.0, 1.0, 0.5], "speeds": lambda: [0.0, 1.0, 0.5], "rounding": lambda: 0.1, "feature": lambda: None, "kp": lambda: 1.0, "K": lambda: np.eye(2), "sample_time": lambda: 0.01,
    "frequencies": lambda: [10.0, 20.0], "reference_frame": lambda: None, "inputs": lambda: ["start"], "forces": lambda: np.zeros((2, 3, 1)), "friction": lambda: 0.3, "rows": lambda: 3,
    "axial": lambda: 1e6, "shear": lambda: (1e6, 1e6), "torsion": lambda: 1e4, "bending": lambda: (1e4, 1e4), "source": lambda: "somewhere", "holes": lambda: (), "size": lambda: 0.1,
    "end": lambda: 1.0, "pieces": lambda: 8, "closed": lambda: False, "period": lambda: 2.0, "scale": lambda: 2.0, "phase": lambda: 0.1, "offset": lambda: 0.0, "rate": lambda: 1.0,
}  # fmt: skip
"""Values of parameters by their names."""
OWN: dict[str, dict[str, Callable[[], Any]]] = {
    **{key: {"modes": lambda: 2} for key in ("reduction.craig_bampton", "reduction.craig_chang", "reduction.herting", "reduction.krylov", "reduction.modal")},
    "fem.PointMass": {"offset": lambda: (0.0, 0.0, 0.1)},
    "fem.NodeMass": {"node": lambda: 1},
    "fem.CellBlock": {"kind": lambda: "tetra", "connectivity": lambda: np.array([[0, 1, 2, 3]])},
    "fem.Equation": {"components": lambda: [0, 1], "coefficients": lambda: [1.0, -1.0]},
    "fem.NodeSpring": {"components": lambda: [0, 1], "coefficients": lambda: [1.0, -1.0], "damping": lambda: 0.1},
    "fem.RigidLink": {"reference": lambda: 5, "components": lambda: (0, 1, 2)},
    "fem.MeanLink": {"reference": lambda: 5, "components": lambda: (0, 1, 2), "weights": lambda: [1.0, 2.0]},
    "fem.beam_mass": {"inertia": lambda: (1.0, 1.0), "centre": lambda: (0.0, 0.0), "product": lambda: 0.0},
    "fem.nearest": {"point": lambda: (0.0, 0.0, 0.0)},
    "fem.extract_cells": {"cells": lambda: "half"},
    "fem.Material": {"elasticity": lambda: STEEL.elasticity, "density": lambda: 7800.0},
    "fem.Section": {"area": lambda: 0.01, "Iy": lambda: 1e-5, "Iz": lambda: 1e-5, "J": lambda: 1e-5},
    "fem.Beam": {"section": lambda: fem.Section.circle(0.01)},
    "flexmb.force_map": {"y": lambda: [0.0, 1.0], "values": lambda: np.ones((3, 2))},
    "flexmb.BodyInterface": {"rows": lambda: np.ones((6, 2))},
    "reduction.residual_displacements": {"nodes": lambda: [1, 2]},
    "flexmb.rigid_body": {"centre": lambda: (0.0, 0.0, 0.0)},
    "flexmb.uniform_rod": {"radius": lambda: 0.1},
    "flexmb.full_factorial": {"speed": lambda: [1.0, 2.0]},
    "curves.of_functions": {"x": lambda: np.cos, "y": lambda: np.sin},
    "contact.power_law": {"factor": lambda: "gonthier"},
    "contact.reached_restitution": {"factor": lambda: 0.5},
    "contact.Plane": {},
    "controllers.gain_schedule": {"points": lambda: [0.0, 1.0]},
    "contact.solve_contacts": {"response": lambda: np.eye(3), "free": lambda: np.array([-1.0, 0.1, 0.0]), "blocks": lambda: [contact.Coulomb(0.5)]},
    "time_functions.smooth_step": {"derivatives": lambda: 2},
    "time_functions.table": {"monotone": lambda: False},
}  # fmt: skip
"""Values of parameters of one function, where these differ."""


def exported() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every exported function, and every exported record, with its name."""
    for place, module in PLACES.items():
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in names:
            found = getattr(module, name)
            own = getattr(found, "__module__", "").split(".")[0] in ("fem", "reduction", "flexmb")
            own = own and (hasattr(module, "__all__") or found.__module__ == module.__name__)
            if callable(found) and own and not (inspect.isclass(found) and issubclass(found, Exception | Warning)):
                yield f"{place}.{name}", found


def arguments(name: str, function: Callable[..., Any]) -> dict[str, Any] | None:
    """The arguments of a sound call; None where a parameter without a default has no value in the tables."""
    found: dict[str, Any] = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        make = OWN.get(name, {}).get(key)
        if make is None and (parameter.default is parameter.empty or isinstance(parameter.default, int | float)):
            make = VALUES.get(key) if parameter.default is parameter.empty else (lambda p=parameter: p.default)
        if make is not None:
            found[key] = make()
        elif parameter.default is parameter.empty:
            return None
    return found | {key: make() for key, make in OWN.get(name, {}).items() if key not in found}
