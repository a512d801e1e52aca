"""Natural frequencies of a cyclically symmetric part from one of its sectors.

With the nodal diameter n the displacements of neighbouring sectors differ by a phase: `u(R x) = e^{i n a} R u(x)`, R
the rotation by the angle a of a sector. Real and imaginary parts are the displacements of two copies of the sector,
whose sides are coupled; each frequency is found twice, as CalculiX lists them.
Source: Thomas, "Dynamics of rotationally periodic structures", Int. J. Numer. Meth. Engng 14 (1979) 81-102.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from fem.dofs.dof_map import DofMap
from fem.errors import MeshError
from fem.mesh.constraints import Constraint, Equation, turning_nodes
from fem.mesh.steps import CyclicSymmetry
from fem.model import Model

ROUND_OFF = 1e-12
"""Coefficients of nodes of the sides that count as none."""


def two_sectors(
    model: Model, symmetry: CyclicSymmetry, diameter: int, held: tuple[Constraint, ...], bare: np.ndarray
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Stiffness and mass matrix of the real and the imaginary sector under `held` and the constraints of the part.

    Raises `MeshError` for rotations of nodes on the sides of the sector, and for rates of twist.
    """
    mesh, n = model.elements.mesh, len(model.points)
    free = model.on_mesh(replace(mesh, constraints=()), np.zeros(0, dtype=np.int64))
    both = [*held, *mesh.constraints]
    if len(free.dof_map.rates.nodes):
        raise MeshError(
            f'Model {model.name!r}: expected a sector without rates of twist; found beams with torsion="vlasov".'
        )
    sides = np.concatenate([symmetry.slaves, *(nodes for nodes, _ in symmetry.masters)])
    if np.isin(sides, free.rotation_nodes).any():
        raise MeshError(f"Model {model.name!r}: nodes with rotations on the sides of a sector.")
    turning = np.union1d(free.rotation_nodes, turning_nodes(tuple(both)))
    both += [c.renumbered(n + np.arange(n)) for c in both]
    dofs = DofMap.of(
        np.vstack([model.points] * 2),
        np.concatenate([turning, turning + n]),
        (*both, *_sides(symmetry, diameter, n)),
        np.concatenate([bare, bare + n]),
    )
    r = 3 * len(turning)
    own = (3 * np.searchsorted(turning, free.rotation_nodes)[:, None] + np.arange(3)).ravel()
    order = np.concatenate([np.arange(3 * n), 6 * n + own, 3 * n + np.arange(3 * n), 6 * n + r + own])
    to = sp.csr_matrix((np.ones(len(order)), (order, np.arange(len(order)))), shape=(6 * n + 2 * r, len(order)))
    K, M = (to @ sp.block_diag([A, A], format="csr") @ to.T for A in (free.stiffness_of_all, free.mass_of_all))
    return dofs.condense(sp.csr_matrix(K)), dofs.condense(sp.csr_matrix(M))


def _sides(symmetry: CyclicSymmetry, diameter: int, n: int) -> list[Equation]:
    """`u_slave = e^{-i n a} R' u_master` for real and imaginary parts."""
    axis, a = symmetry.axis, symmetry.angle
    across = np.eye(3) - np.outer(axis, axis)
    spin = np.cross(axis, np.eye(3)).T  # spin @ v = axis x v
    back = (np.outer(axis, axis) + np.cos(a) * across + np.sin(a) * spin).T
    c, s = np.cos(diameter * a), np.sin(diameter * a)
    found = []
    for slave, (masters, weights) in zip(symmetry.slaves.tolist(), symmetry.masters, strict=True):
        for part, (real, imaginary) in enumerate(((c, s), (-s, c))):
            for k in range(3):
                follow = np.concatenate([np.repeat(masters, 3), np.repeat(masters + n, 3)])
                nodes = np.concatenate([[slave + part * n], follow])
                components = np.concatenate([[k], np.tile([0, 1, 2], 2 * len(masters))])
                row = np.outer(weights, back[k]).ravel()
                factors = np.concatenate([[1.0], -real * row, -imaginary * row])
                terms, where = np.unique(6 * nodes + components, return_inverse=True)
                total = np.bincount(where, factors)
                there = np.flatnonzero(np.abs(total) > ROUND_OFF)  # a node on the axis follows itself
                if len(there):
                    order = np.argsort(terms[there] != 6 * nodes[0] + k, kind="stable")
                    at = terms[there[order]]
                    found.append(Equation(at // 6, at % 6, total[there[order]], "cyclic symmetry"))
    return found
