"""What a basis lacks of the static response at the surfaces of a part: the residual compliance of their nodes.

A reduced body displaces the nodes of its surfaces by `u_c = B eta + C lambda`, B the rows of its shapes, lambda the
forces at the nodes and

    C = G_cc - B diag(1 / w^2) B^T                                                            (1)

G_cc is the static compliance of the free part (inertia relief, mean axes), and the second term the part of it that the
elastic coordinates already have. C is symmetric and positive semidefinite, because `B diag(1/w^2) B^T` is the Galerkin
solution of the same statics. C has neither mass nor state: the nodes follow their forces at once, so that no mass of a
node impacts, and statics is exact for every load at the surfaces with any basis.

Source of the residual flexibility: MacNeal, "A hybrid method of component mode synthesis", Comput. Struct. 1 (1971)
581-601.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg.lapack import dpotrf

from fem.axes.limits import as_array, floats
from fem.errors import MatrixError
from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from reduction.basis import Basis
from reduction.solutions.free_compliance import free_compliance, nodal_forces
from reduction.solutions.statics import elastic, inertia_relief_solution, statics

ROUND_OFF = 1e-14
"""The smallest compliance added to the diagonal, relative to the largest entry of G_cc."""
WRONG = 1e-8
"""The largest; a matrix that needs more is not that of a Galerkin basis of the part."""


@dataclass(frozen=True, eq=False)
class ResidualCompliance:
    """`matrix` (3 nc, 3 nc): displacements of the surface `nodes` (nc,) under forces at them that the elastic
    coordinates of a basis lack (length/force); symmetric, positive definite, node by node, in the axes of the mesh.

    `lifted` (length/force): what was added to its diagonal, so that round-off leaves no negative eigenvalue.

    Raises `MatrixError` when the matrix does not fit the nodes or is not finite.
    """

    nodes: Int[np.ndarray, " nc"]
    matrix: Float[np.ndarray, "k k"]
    lifted: float

    def __post_init__(self) -> None:
        k = 3 * len(self.nodes)
        if self.matrix.shape != (k, k) or not np.isfinite(self.matrix).all():
            raise MatrixError(
                f"The residual compliance of {len(self.nodes)} nodes consists of ({k}, {k}) finite numbers; found "
                f"shape {self.matrix.shape}."
            )
        self.matrix.setflags(write=False)
        self.nodes.setflags(write=False)


@one_openblas_thread()
def residual_compliance(model: Model, basis: Basis) -> ResidualCompliance:
    """The residual compliance (1) of all surfaces of `model` for `basis`.

    Forces at one surface displace the nodes of the others, too. The reference frame of the basis does not matter.
    Cost: 3 solves a node, once for a model, with the factor that the reduction kept, or a Schur complement; 72 MB for
    1,000 nodes.

    Raises `MatrixError` when the model has no surface, or the basis does not belong to it.
    """
    if not model.surfaces:
        raise MatrixError(f"Model {model.name!r} has no surface; add one with model.with_surfaces(name=...).")
    if len(basis.Psi) != model.ndof:
        raise MatrixError(f"The basis has {len(basis.Psi)} dofs, the model {model.name!r} has {model.ndof}.")
    body = statics(model)
    free = free_compliance(body)
    N = nodal_forces(model, free.nodes)
    B = N.T @ elastic(body, np.asarray(basis.Psi))
    body.keep()
    return lifted(
        free.nodes, free.matrix - (B / basis.eigenvalues) @ B.T, float(np.diag(free.matrix).max()), model.name
    )


def lifted(nodes: np.ndarray, C: np.ndarray, scale: float, name: str) -> ResidualCompliance:
    """C with the least diagonal, relative to the compliance `scale`, that makes it positive definite."""
    C = 0.5 * (C + C.T)
    diagonal, added = np.diag(C).copy(), ROUND_OFF * scale
    while added <= WRONG * scale:
        np.fill_diagonal(C, diagonal + added)
        if dpotrf(C, lower=1)[1] == 0:
            return ResidualCompliance(nodes, C, added)
        added *= 10
    raise MatrixError(
        f"Model {name!r}: the basis is softer than the part by more than {WRONG:.0e} of its compliance at the surfaces "
        "(beyond round-off). It belongs to another model, material or set of interfaces; reduce this model again."
    )


def residual_displacements(
    model: Model, basis: Basis, nodes: Int[np.ndarray, " k"], forces: Float[np.ndarray, "k 3 c"]
) -> Float[np.ndarray, "ndof c"]:
    """The static displacements of the whole part under `forces` at `nodes` that the elastic coordinates of `basis`
    lack, for c cases: (1) with all dofs in the place of the rows. Axes: those of the mesh.

    Raises `MatrixError` for nodes that the part does not have, and forces that are no finite numbers of their shape.
    Cost: one solve a case, with the factor that the reduction kept or a new one.
    """
    numbers, f = as_array(nodes), floats(forces)
    count = len(model.points)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or ((numbers < 0) | (numbers >= count)).any():
        raise MatrixError(
            f"Model {model.name!r}: residual displacements need the numbers of nodes from 0 to {count - 1}; found "
            f"{nodes!r}."
        )
    if f.ndim != 3 or f.shape[:2] != (len(numbers), 3) or not np.isfinite(f).all():
        raise MatrixError(
            f"Model {model.name!r}: residual displacements need finite forces of shape ({len(numbers)}, 3, cases); "
            f"found shape {np.shape(f)}."
        )
    body = statics(model)
    F = nodal_forces(model, numbers) @ f.reshape(3 * len(numbers), -1)
    Psi = elastic(body, np.asarray(basis.Psi))
    U = inertia_relief_solution(body, F) - Psi @ ((Psi.T @ F) / basis.eigenvalues[:, None])
    body.keep()
    return np.asarray(U)
