"""Solutions of the free part with the nodes of its surfaces at rest, in all directions or along their normals.

With D (ndof, d) unit forces along the held directions, G the response in mean axes, `D^T R0 = 0` for the rigid motions
R0 that remain and R1 the others, the displacement under loads F is

    u = G (F - D mu) + R1 q,      [ D^T G D   -E ] [ mu ]   [ D^T G F ]
                                  [ E^T        0 ] [ q  ] = [ R1^T F  ],     E = D^T R1

where G leaves out the part of F that accelerates R0. `D^T G D` is the compliance of the free part at its surfaces, so
that no other factorisation is needed.

A flat part bends far more than it moves with a surface at rest, so that u is a small difference of large numbers, and
round-off in `D^T G D` alone could make it as large and negative. With mu = P' F the reactions, the solution is taken as

    u = (I - D P')^T G (I - D P') F

which is the same, symmetric and positive semidefinite whatever the errors of P', and wrong by their square only.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve, svd

from reduction.solutions.free_compliance import free_compliance, nodal_forces
from reduction.solutions.statics import Statics, inertia_relief_solution

LIFT = 1e-12
"""Compliance added to the held directions, relative to the largest: it decides where several depend on each other, as
those of a rigid interface do."""
AT_REST = 1e-8
"""Motion of the held directions by a rigid motion, relative to the largest, below which it is free."""


@dataclass(frozen=True, eq=False)
class HeldSurfaces:
    """`D` (ndof, d): the held directions; `R0`, `MR0` (ndof, 6 - r): M-orthonormal rigid motions that remain free, and
    M times them; `R1`, `MR1` (ndof, r): the others; the lower factor of `D^T G D`, and small matrices."""

    body: Statics
    D: sp.csc_matrix
    R0: Float[np.ndarray, "ndof f"]
    MR0: Float[np.ndarray, "ndof f"]
    R1: Float[np.ndarray, "ndof r"]
    MR1: Float[np.ndarray, "ndof r"]
    E: Float[np.ndarray, "d r"]
    factor: Float[np.ndarray, "d d"]

    @property
    def modes_available(self) -> int:
        """A number of modes with the surfaces at rest that surely exists."""
        return self.body.free_modes_available + self.R1.shape[1] - self.D.shape[1]


def hold_surfaces(body: Statics, frictionless: bool) -> HeldSurfaces:
    """Prepare solutions with all surfaces of the part at rest; `frictionless`: along the normals only.

    Cost: three solves for each node of the surfaces, once for a model, and a Cholesky factor.
    """
    model, free = body.model, free_compliance(body)
    directions = sp.identity(3 * len(free.nodes), format="csc")
    if frictionless:
        columns = []
        for surface in model.surfaces.values():
            rows = (3 * np.searchsorted(free.nodes, surface.nodes)[:, None] + np.arange(3)).ravel()
            own = np.repeat(np.arange(len(surface.nodes)), 3)
            shape = (3 * len(free.nodes), len(surface.nodes))
            columns.append(sp.csc_matrix((surface.normals.ravel(), (rows, own)), shape=shape))
        directions = sp.hstack(columns, format="csc")
    D = sp.csc_matrix(nodal_forces(model, free.nodes) @ directions)
    A = directions.T @ (directions.T @ free.matrix).T
    A = 0.5 * (A + A.T)
    A[np.diag_indices(len(A))] += LIFT * np.diag(A).max()
    _, size, V = svd(D.T @ body.R)
    r = int((size > AT_REST * size[0]).sum())
    R, MR = body.R @ V.T, body.MR @ V.T
    factor, _ = cho_factor(A, lower=True, overwrite_a=True)
    return HeldSurfaces(body, D, R[:, r:], MR[:, r:], R[:, :r], MR[:, :r], D.T @ R[:, :r], factor)


def held_displacement(held: HeldSurfaces, F: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof k"]:
    """Displacements under loads F with the surfaces at rest: symmetric, positive semidefinite in F. Cost: 3 solves."""
    mu, _ = _reactions(held, held.D.T @ inertia_relief_solution(held.body, F), held.R1.T @ F)
    V = inertia_relief_solution(held.body, F - held.D @ mu)
    mu, q = _reactions(held, held.D.T @ V, 0.0)
    U = V - inertia_relief_solution(held.body, held.D @ mu) + held.R1 @ q
    return np.asarray(U - held.R0 @ (held.MR0.T @ U))


def _reactions(
    held: HeldSurfaces, seen: Float[np.ndarray, "d k"], resultants: Float[np.ndarray, "r k"] | float
) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, "r k"]]:
    """mu and q of the module for displacements `seen` = D^T G F of the held directions and `resultants` = R1^T F."""
    E = held.E
    AE, As = (cho_solve((held.factor, True), right) for right in (E, seen))
    q = np.linalg.solve(E.T @ AE, resultants - E.T @ As)
    return As + AE @ q, q
