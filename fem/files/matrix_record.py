"""The record of imported matrices, and its assembly from entries at (node, dof, node, dof)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.errors import MatrixError
from fem.mesh.mesh import Mesh


@dataclass(frozen=True, eq=False)
class ImportedMatrices:
    """Matrices of a part of another program, or of a file that flexmb wrote.

    - `M`, `K` (ndof, ndof): mass and stiffness, full storage; `D`: damping and gyroscopic matrix (force = D velocity),
      None where none is given.
    - `nodes` (n,): numbers of the nodes; `dofs` (ndof, 2): for each row the place of its node in `nodes`, and its
      component (0 to 2 translations, 3 to 5 rotations).
    - `B` (ndof, k), `C` (l, ndof): input and output maps; None where there are none.
    - `points` (n, 3): coordinates of the nodes, None for formats that hold none (`points_of`).

    Units: those of the files.
    """

    M: sp.csr_matrix
    K: sp.csr_matrix
    nodes: Int[np.ndarray, " n"]
    name: str
    dofs: Int[np.ndarray, "ndof 2"]
    D: sp.csr_matrix | None = None
    B: Any = None
    C: Any = None
    points: Float[np.ndarray, "n 3"] | None = None

    def points_of(self, mesh: Mesh) -> Float[np.ndarray, "n 3"]:
        """Coordinates of the nodes, from the mesh of the same part (found by the node numbers of its file).

        Raises `MatrixError` when the mesh lacks a node of the matrices.
        """
        numbers = np.arange(len(mesh.points)) if mesh.node_ids is None else mesh.node_ids
        place = {int(number): k for k, number in enumerate(numbers)}
        missing = [int(n) for n in self.nodes if int(n) not in place]
        if missing:
            raise MatrixError(
                f"Matrices {self.name!r}: {len(missing)} of {len(self.nodes)} nodes (first: {missing[:5]}) are not in "
                f"mesh {mesh.name!r}, whose node numbers run from {numbers.min()} to {numbers.max()}. Is it the mesh "
                "of the same part?"
            )
        return mesh.points[[place[int(n)] for n in self.nodes]]


Entries = tuple[np.ndarray, np.ndarray]
"""Places (e, 4) of entries as (node, dof, node, dof), dofs counted from 1, and their values (e,)."""


def collected(entries: Mapping[str, Entries], name: str) -> ImportedMatrices:
    """Matrices from the entries of "K", "M" and perhaps "D", sorted by node number.

    An entry of K and M on one side of the diagonal only is mirrored, whatever the order of the nodes; those of D are
    mirrored if none has its opposite (one triangle of a symmetric matrix). A node has all its translations, and all
    three rotations if it has one.

    Raises `MatrixError` for numbers that are none of nodes and dofs, nodes that lack a translation, and values that are
    not finite.
    """
    for at, _ in entries.values():
        largest = max(int(np.max(at)), -int(np.min(at))) if np.size(at) else 0
        if largest >= 2**63:
            raise MatrixError(f"Matrices {name!r}: expected numbers of nodes below 2^63; found {largest}.")
    for key, (_, values) in entries.items():
        wrong = np.asarray(values)[~np.isfinite(values)]
        if len(wrong):
            raise MatrixError(f"Matrices {name!r}: expected finite values; found {wrong[0]} in {key}.")
    given = {key: (np.asarray(at, dtype=np.int64).reshape(-1, 4), values) for key, (at, values) in entries.items()}
    found = np.unique(np.concatenate([at.reshape(-1, 2) for key, (at, _) in given.items() if key != "D"]), axis=0)
    if not len(found):
        raise MatrixError(f"Matrices {name!r}: expected entries of M and K; found none.")
    outside = found[(found[:, 0] < 1) | (found[:, 1] < 1) | (found[:, 1] > 6)]
    if len(outside):
        raise MatrixError(
            f"Matrices {name!r}: expected the dofs 1 to 6 of numbered nodes; found dof {outside[0, 1]} of node "
            f"{outside[0, 0]} ({len(outside)} such dofs). Export the dofs of nodes, without generalised ones of "
            "contacts, constraints or modes."
        )
    nodes, count = np.unique(found[found[:, 1] <= 3, 0], return_counts=True)
    bare = np.setdiff1d(found[:, 0], nodes)
    if (count < 3).any() or len(bare):
        few = np.sort(np.concatenate([nodes[count < 3], bare]))
        raise MatrixError(
            f"Matrices {name!r}: {len(few)} nodes (first: {few[:5].tolist()}) have fewer than 3 dofs of translation: "
            "the part is supported or tied there. Export the free part, without boundary conditions and equations."
        )
    turning = np.unique(found[found[:, 1] > 3, 0])
    size = np.where(np.isin(nodes, turning), 6, 3)
    start = np.concatenate([[0], np.cumsum(size)])
    places = np.repeat(np.arange(len(nodes)), size)
    dofs = np.column_stack([places, np.arange(start[-1]) - start[places]])
    made = {
        key: _full(nodes, start, at, np.asarray(values), key, name)
        for key, (at, values) in given.items()
        if len(values) or key != "D"
    }
    return ImportedMatrices(made["M"], made["K"], nodes, name, dofs, made.get("D"))


def _full(
    nodes: np.ndarray, start: np.ndarray, at: np.ndarray, values: np.ndarray, letter: str, name: str
) -> sp.csr_matrix:
    place = np.searchsorted(nodes, at[:, [0, 2]])
    known = (place < len(nodes)) & (nodes[np.minimum(place, len(nodes) - 1)] == at[:, [0, 2]])
    fits = known & (at[:, [1, 3]] <= np.diff(start)[np.minimum(place, len(nodes) - 1)]) & (at[:, [1, 3]] > 0)
    if not fits.all():
        row = at[int(np.argmin(fits.all(axis=1)))]
        raise MatrixError(
            f"Matrices {name!r}: {letter} acts on dof {row[1]} of node {row[0]} and dof {row[3]} of node {row[2]}; one "
            "of them has neither mass nor stiffness."
        )
    row, column = (start[place[:, k]] + at[:, 2 * k + 1] - 1 for k in (0, 1))
    A = sp.csr_matrix((values, (row, column)), shape=(start[-1], start[-1]))
    opposite = A.T.tocsr()
    both = opposite.multiply(A != 0)
    if letter == "D" and (both - sp.diags_array(both.diagonal())).count_nonzero():
        return A
    return sp.csr_matrix(A + opposite - both)
