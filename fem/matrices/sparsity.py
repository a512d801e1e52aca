"""Which nodes of a mesh are coupled, and the assembly of their 3 x 3 blocks into sparse matrices.

The node-level sparsity is made once per mesh; cell matrices are then added component by component into flat arrays, so
that the triplets of the full matrix never exist.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fem.errors import MeshError
from fem.mesh.mesh import Mesh

COMPONENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
"""Components of a node block that are added; the other three follow from symmetry."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Node-level sparsity: CSR `indptr`, `indices` over nodes; `places[b]` (ne, nn, nn): place of each node pair of
    block b."""

    indptr: np.ndarray
    indices: np.ndarray
    places: tuple[np.ndarray, ...]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def pairs(self) -> int:
        """Number of coupled node pairs."""
        return len(self.indices)

    def mirror(self) -> np.ndarray:
        """Place of the pair (b, a) for each pair (a, b)."""
        numbered = sp.csr_matrix(
            (np.arange(self.pairs, dtype=np.int32), self.indices, self.indptr), shape=(self.nodes, self.nodes)
        )
        return numbered.T.tocsr().data

    def scalar_matrix(self, values: np.ndarray) -> sp.csr_matrix:
        """The matrix (3 n, 3 n) with the node blocks `values[p]` (pairs,) times the identity."""
        n = self.nodes
        values = (values + values[self.mirror()]) / 2
        scalar = sp.csr_matrix((values, self.indices, self.indptr), shape=(n, n))
        return sp.kron(scalar, sp.identity(3), format="csr")

    def block_matrix(self, components: np.ndarray) -> sp.csr_matrix:
        """The symmetric matrix (3 n, 3 n) of the node-block components (6, pairs), in the order of `COMPONENTS`."""
        data, indices = np.empty(9 * self.pairs), np.empty(9 * self.pairs, dtype=np.int32)
        counts = np.diff(self.indptr)
        step = 3 * np.repeat(counts, counts).astype(np.int64)  # from a dof's row to the next one's
        first = 9 * np.repeat(self.indptr[:-1], counts) + 3 * (
            np.arange(self.pairs) - np.repeat(self.indptr[:-1], counts)
        )
        mirror = self.mirror()
        for (i, k), values in zip(COMPONENTS, components, strict=True):
            mirrored = values[mirror]
            if i == k:
                data[first + i * step + i] = (values + mirrored) / 2
            else:
                data[first + i * step + k] = values
                data[first + k * step + i] = mirrored
        for i in range(3):
            for k in range(3):
                indices[first + i * step + k] = 3 * self.indices + k
        starts = np.concatenate([[0], np.cumsum(np.repeat(3 * counts, 3))])
        matrix = sp.csr_matrix((data, indices, starts.astype(np.int32)), shape=(3 * self.nodes, 3 * self.nodes))
        matrix.has_canonical_format = True
        return matrix


def sparsity(mesh: Mesh) -> Pattern:
    """The node pairs that share a solid cell. Cost: linear in the number of pairs.

    Raises MeshError when a node belongs to no cell.
    """
    n = len(mesh.points)
    solids = mesh.solids
    if not solids:
        return Pattern(np.zeros(n + 1, dtype=np.int32), np.zeros(0, dtype=np.int32), ())
    sizes = np.concatenate([np.full(len(b), b.connectivity.shape[1]) for b in solids])
    nodes = np.concatenate([b.connectivity.ravel() for b in solids]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    of_cell = sp.csr_matrix((np.ones(len(nodes), dtype=np.int32), nodes, starts), shape=(len(sizes), n))
    coupled = (of_cell.T.tocsr() @ of_cell).tocsr()
    coupled.sort_indices()
    _insist_on_cells(mesh, coupled.indptr)
    coupled.data = np.arange(coupled.nnz, dtype=np.int32)
    places = []
    for block in solids:
        cells, count = block.connectivity.astype(np.int32), block.connectivity.shape[1]
        found = coupled[np.repeat(cells, count, axis=1).ravel(), np.tile(cells, (1, count)).ravel()]
        places.append(np.asarray(found, dtype=np.int32).reshape(-1, count, count))
    return Pattern(coupled.indptr.astype(np.int32), coupled.indices.astype(np.int32), tuple(places))


def _insist_on_cells(mesh: Mesh, indptr: np.ndarray) -> None:
    held = np.unique(np.concatenate([mesh.rotation_nodes, mesh.truss_nodes, mesh.linked_nodes]))
    loose = np.setdiff1d(np.flatnonzero(np.diff(indptr) == 0), held)
    if len(loose):
        labels = ", ".join(mesh.node_label(int(k)) for k in loose[:5])
        raise MeshError(
            f"Mesh {mesh.name!r}: {len(loose)} of {len(mesh.points)} nodes belong to no cell (first: {labels}), so "
            "they have neither mass nor stiffness. Remove them from the mesh; fem.read_mesh does so."
        )
