"""The static compliance of a free body between the nodes of its surfaces.

With N the loads (ndof, 3 nc) of unit forces at the nodes, Q = I - M R R^T the removal of the rigid part of a load, and
G, Phi, S the static solutions of the body held at its rigid interfaces or at six dofs (`reduction.solutions.statics`),
the response in mean axes to balanced loads (inertia relief) is

    G_cc = N^T Q^T (G + Phi S^-1 Phi^T) Q N

N^T G N is a block of the inverse of the held stiffness: for many nodes it comes from a Schur complement
(`fem.linear_algebra.inverse_block`), otherwise from the factor, a block of columns at a time, of which only the rows of
the surfaces are stored. The rest needs six solves.
"""

import weakref
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.linear_algebra.inverse_block import inverse_block
from fem.model import Model
from reduction.solutions.statics import Statics, constrained_solution

COLUMNS = 64
"""Right-hand sides of a block of solves."""


@dataclass(frozen=True, eq=False)
class FreeCompliance:
    """`matrix` (3 nc, 3 nc): displacements of `nodes` (nc,), in mean axes, under forces at them (length/force);
    symmetric, positive semidefinite. Node by node, in the axes of the mesh."""

    nodes: Int[np.ndarray, " nc"]
    matrix: Float[np.ndarray, "k k"]


_known: "weakref.WeakKeyDictionary[Model, FreeCompliance]" = weakref.WeakKeyDictionary()


def surface_nodes(model: Model) -> Int[np.ndarray, " nc"]:
    """Sorted node numbers of all surfaces of a model."""
    of_each = [surface.nodes for surface in model.surfaces.values()]
    return np.unique(np.concatenate(of_each)) if of_each else np.zeros(0, dtype=np.int64)


def nodal_forces(model: Model, nodes: Int[np.ndarray, " k"]) -> sp.csc_matrix:
    """Loads (ndof, 3 k) of unit forces along x, y, z at each of `nodes`; with constraints, on the independent dofs."""
    dofs = model.dof_map.translations(nodes).ravel()
    size = model.dof_map.size_of_all
    unit = sp.csr_matrix((np.ones(len(dofs)), (dofs, np.arange(len(dofs)))), shape=(size, len(dofs)))
    return sp.csc_matrix(model.dof_map.gather(unit))


def free_compliance(body: Statics) -> FreeCompliance:
    """The compliance of the free body between the nodes of its surfaces; computed once for a model object.

    Cost: 3 nc solves, or one and a half factorisations if that is less (PARDISO), and 8 (3 nc)^2 bytes as long as the
    model lives.
    """
    model = body.model
    if model not in _known:
        nodes = surface_nodes(model)
        _known[model] = FreeCompliance(nodes, _compliance(body, nodal_forces(model, nodes)))
    return _known[model]


def _compliance(body: Statics, N: sp.csc_matrix) -> np.ndarray:
    C = _held_compliance(body, N)
    Y = constrained_solution(body, body.MR)
    Rc, Yc = N.T @ body.R, N.T @ Y
    half = Yc @ Rc.T
    C -= half
    C -= half.T
    C += Rc @ (body.MR.T @ Y) @ Rc.T
    if not body.pinned and len(body.S) > 6:  # the first rigid interface stays, the others move
        others = body.Phi[:, 6:]
        H = N.T @ others - Rc @ (body.MR.T @ others)
        C += H @ np.linalg.solve(body.S[6:, 6:], H.T)
    C = 0.5 * (C + C.T)
    C.setflags(write=False)
    return np.asarray(C)


def _held_compliance(body: Statics, N: sp.csc_matrix) -> np.ndarray:
    """`N^T G N`."""
    n = N.shape[1]
    C = np.zeros((n, n))
    if body.inverse is None:
        return C
    inside = sp.csc_matrix(N.tocsr()[body.interior])
    loaded = np.unique(inside.indices).astype(np.int64)
    if len(loaded):
        block = inverse_block(body.model.K, body.inverse, body.interior, loaded, body.model.solver)
        if block is not None:
            forces = inside.tocsr()[loaded]
            return np.asarray(forces.T @ (forces.T @ block).T)
    rows = inside.T.tocsr()
    for start in range(0, n, COLUMNS):
        columns = slice(start, start + COLUMNS)
        C[:, columns] = rows @ body.inverse.solve(inside[:, columns].toarray(order="F"))
    return C
