"""Rigid motion is free of force, term by term: stiffness, geometric stiffness of a stressed part, second-order field, mass integrals.

A stressed part that is turned must carry its stress along: `K_G(u) t = 0` and `K_G(u) r = r x f - K (r x u)` for translations t, rotations r and the force f = K u of any displacement u.
An undeformed body must move as the rigid one, whatever its geometric terms; one that flies freely keeps momenta and energy.
"""

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.dynamics import inertia_force, mass_matrix
from validation.plot import Plot
from validation.row import Row

CASE = "rigid-motion"


def _turned(axis: int, field: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3)[axis], field.reshape(-1, 3)).ravel()


def stressed(kind: str) -> tuple[float, float]:
    """Force of translations and error of rotations, relative, of a distorted part under any displacement."""
    mesh = block(kind, (1.0, 0.4, 0.3), (3, 2, 1))
    model = fem.Model(mesh, fem.Material.steel())
    u = np.random.default_rng(8).normal(size=model.ndof)
    R, K_G = model.rigid_body_modes(), model.geometric_stiffness(u, initial_displacement=True)
    scale = np.abs(K_G).max()
    translation = np.abs(K_G @ R[:, :3]).max() / scale
    turns = [K_G @ R[:, 3 + k] - _turned(k, model.K @ u) + model.K @ _turned(k, u) for k in range(3)]
    return float(translation), float(np.abs(turns).max() / scale)


def bodies(kind: str) -> tuple[flexmb.Body, flexmb.Body]:
    """A rod with and without its second-order field."""
    if kind == "beam":
        part = fem.Model(line((0, 0, 0), (1, 0, 0), 6), fem.Beam(fem.Material.steel(), fem.Section.rectangle(0.03, 0.02)))  # fmt: skip
    else:
        part = fem.Model(block("hexahedron20", (1.0, 0.03, 0.02), (8, 1, 1)), fem.Material.steel())
    part = part.with_interfaces(root="start" if kind == "beam" else "x0")
    basis = reduction.craig_bampton(part, modes=4)
    with_field, without = (flexmb.flexible_body(part, basis, name="rod", geometric_stiffness=g) for g in ("second-order", "none"))  # fmt: skip
    return with_field, without


def run() -> list[Row | Plot]:
    """Elements, bodies, free flight."""
    rows: list[Row | Plot] = []
    for kind in ("tetra10", "hexahedron", "hexahedron20", "wedge15", "pyramid13"):
        translation, rotation = stressed(kind)
        rows.append(Row(CASE, f"{kind}, stressed: force of a translation", 0.0, "exact", translation, translation, 1e-10))  # fmt: skip
        rows.append(Row(CASE, f"{kind}, stressed: force of a rotation less what turns", 0.0, "exact", rotation, rotation, 1e-10))  # fmt: skip
    for kind in ("solid", "beam"):
        body, plain = bodies(kind)
        still = np.zeros(body.modes)
        w = np.concatenate([np.random.default_rng(0).normal(size=6), np.zeros(body.modes)])
        a, b = mass_matrix(body, still), mass_matrix(plain, still)
        error = float(np.abs(a - b).max() / np.abs(b).max())
        rows.append(Row(CASE, f"{kind}, undeformed: mass matrix with and without the field", 0.0, "exact", error, error, 1e-12))  # fmt: skip
        a, b = inertia_force(body, still, w), inertia_force(plain, still, w)
        error = float(np.abs(a - b).max() / np.abs(b).max())
        rows.append(Row(CASE, f"{kind}, undeformed: inertia force with and without the field", 0.0, "exact", error, error, 1e-12))  # fmt: skip
        system = flexmb.System(name=CASE)
        eta = np.zeros(body.modes)
        eta[0] = 0.02 / body.deflection[0]
        system.add(body, angular_velocity=(1.0, 5.0, -4.0), velocity=(0.3, 0, 1), eta=eta)
        ledger = flexmb.simulate(system, 0.2, step=1e-3, method="energy-momentum").ledger
        drift = float(np.abs(ledger.residual).max() / ledger.kinetic.max())
        rows.append(Row(CASE, f"{kind}, bent and tumbling: energy drift / kinetic energy", 0.0, "exact", drift, drift, 1e-12))  # fmt: skip
    return rows
