"""Mass, stiffness and geometric stiffness matrices, assembled in batches of cells.

The node-level sparsity is made once per mesh; a batch of cells becomes one stack of small matrix products, and each of the
nine components of the 3 x 3 node blocks is added by one counting pass, so the triplets of the full matrix never exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fem.elements import Element, element
from fem.errors import MaterialError, MeshError
from fem.material import Material
from fem.mesh import CellBlock, Mesh

BATCH = 8192  # cells
VOIGT = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


@dataclass(frozen=True, eq=False)
class Pattern:
    """Node-level sparsity: CSR `indptr`, `indices` over nodes, and for each block the place of every node pair of every cell."""

    indptr: np.ndarray
    indices: np.ndarray
    places: tuple[np.ndarray, ...]

    @property
    def pairs(self) -> int:
        """Number of coupled node pairs."""
        return len(self.indices)


def sparsity(mesh: Mesh) -> Pattern:
    """Which nodes share a cell. Cost: one sort of all node pairs of all cells."""
    n = len(mesh.points)
    keys = [(b.connectivity[:, :, None] * n + b.connectivity[:, None, :]).reshape(len(b), -1) for b in mesh.cells]
    unique, inverse = np.unique(np.concatenate([k.ravel() for k in keys]), return_inverse=True)
    rows = unique // n
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int32)
    cuts = np.cumsum([k.size for k in keys])[:-1]
    places = tuple(p.astype(np.int32).reshape(k.shape) for p, k in zip(np.split(inverse, cuts), keys, strict=True))
    return Pattern(indptr, (unique % n).astype(np.int32), places)


def material_of_cells(mesh: Mesh, materials: dict[str, Material]) -> np.ndarray:
    """Index of the material of every cell; every cell must belong to exactly one of the sets that carry a material."""
    index = np.full(mesh.cell_count, -1)
    for k, name in enumerate(materials):
        if name not in mesh.cell_sets:
            from fem.errors import unknown_name

            raise MaterialError(f"Mesh {mesh.name!r}: " + unknown_name("cell set", name, mesh.cell_sets))
        cells = mesh.cell_sets[name]
        taken = cells[index[cells] >= 0]
        if len(taken):
            other = list(materials)[index[taken[0]]]
            raise MaterialError(
                f"Mesh {mesh.name!r}: {len(taken)} cells (first: {taken[0]}) are both in {other!r} and in {name!r}, and so have "
                "two materials. Give each cell one."
            )
        index[cells] = k
    bare = np.flatnonzero(index < 0)
    if len(bare):
        raise MaterialError(
            f"Mesh {mesh.name!r}: {len(bare)} of {mesh.cell_count} cells have no material (first: {bare[:5].tolist()}); materials "
            f"are given for {', '.join(map(repr, materials))}; cell sets of the mesh: {', '.join(map(repr, mesh.cell_sets)) or 'none'}."
        )
    return index


def _batches(mesh: Mesh) -> Iterator[tuple[int, CellBlock, int, slice]]:
    """Number of the block, the block, number of the batch's first cell in the mesh, and the batch's rows in the block."""
    first = 0
    for number, block in enumerate(mesh.cells):
        for start in range(0, len(block), BATCH):
            yield number, block, first + start, slice(start, min(start + BATCH, len(block)))
        first += len(block)


def jacobians(shape: Element, x: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (e, q, nn, 3) of the shape functions in space and the determinants (e, q), for nodes `x` (e, nn, 3)."""
    local = shape.gradient(xi)  # q, nn, 3
    J = np.einsum("qnk,enx->eqkx", local, x, optimize=True)
    return np.einsum("eqxk,qnk->eqnx", np.linalg.inv(J), local, optimize=True), np.linalg.det(J)


def _checked(mesh: Mesh, block: CellBlock, first: int, rows: slice, determinant: np.ndarray) -> None:
    """Refuse inverted or collapsed cells by number."""
    worst = determinant.min(axis=1)
    bad = np.flatnonzero(~(worst > 0))
    if len(bad):
        cell = int(bad[0])
        corners = ", ".join(mesh.node_label(int(n)) for n in block.connectivity[rows][cell][:4])
        raise MeshError(
            f"Mesh {mesh.name!r}: {len(bad)} {block.kind} cells are inverted or collapsed, the first is cell {first + cell} (nodes {corners}, "
            f"...): its Jacobian determinant falls to {worst[cell]:.3g}, and must be positive everywhere. Check the node order (VTK's) and "
            "the mid-side nodes; a mirrored mesh is repaired by fem.fix_orientation(mesh)."
        )


def strain_matrices(gradients: np.ndarray) -> np.ndarray:
    """`B` (e, q, 6, 3 nn): strain xx, yy, zz, xy, yz, zx (engineering shear) from nodal displacements."""
    e, q, n, _ = gradients.shape
    B = np.zeros((e, q, 6, n, 3))
    for row, (i, j) in enumerate(VOIGT):
        B[:, :, row, :, i] = gradients[..., j]
        if i != j:
            B[:, :, row, :, j] = gradients[..., i]
    return B.reshape(e, q, 6, 3 * n)


def _incompatible_gradients(x: np.ndarray, xi: np.ndarray, determinant: np.ndarray, shape: Element) -> np.ndarray:
    """Gradients (e, q, 3, 3) of the modes 1 - xi_i^2 of hex8, so modified that constant strain is met exactly.

    Taylor, Beresford, Wilson (1976): Jacobian of the cell's middle, scaled by the ratio of determinants.
    """
    J0 = np.einsum("nk,enx->ekx", shape.gradient(np.zeros((1, 3)))[0], x)
    inverse, middle = np.linalg.inv(J0), np.linalg.det(J0)
    local = -2.0 * np.eye(3)[None] * xi[:, :, None]  # q, mode, direction
    return np.einsum("exk,qmk->eqmx", inverse, local) * (middle[:, None] / determinant)[:, :, None, None]


@dataclass(frozen=True, eq=False)
class _Batch:
    """Cells of one kind at their stiffness points: gradients, strain matrices, weighted determinants, elasticity."""

    cells: np.ndarray
    gradients: np.ndarray
    B: np.ndarray
    dV: np.ndarray
    C: np.ndarray
    inner: np.ndarray | None  # strain matrices of the incompatible modes
    inner_gradients: np.ndarray | None

    @staticmethod
    def make(mesh: Mesh, block: CellBlock, first: int, rows: slice, elasticity: np.ndarray) -> "_Batch":
        shape = element(block.kind)
        xi, weights = shape.stiffness_rule
        cells = block.connectivity[rows]
        x = mesh.points[cells]
        gradients, determinant = jacobians(shape, x, xi)
        _checked(mesh, block, first, rows, determinant)
        extra = _incompatible_gradients(x, xi, determinant, shape) if block.kind == "hexahedron" else None
        inner = None if extra is None else strain_matrices(extra)
        return _Batch(cells, gradients, strain_matrices(gradients), determinant * weights, elasticity, inner, extra)

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """`sum_q left^T C right dV` (e, a, b)."""
        CR = np.matmul(self.C[:, None], right) * self.dV[:, :, None, None]
        e = len(left)
        return np.matmul(left.reshape(e, -1, left.shape[-1]).transpose(0, 2, 1), CR.reshape(e, -1, right.shape[-1]))

    def stiffness(self) -> np.ndarray:
        """Stiffness matrices (e, 3 nn, 3 nn), incompatible modes condensed."""
        K = self.product(self.B, self.B)
        if self.inner is None:
            return K
        mixed = self.product(self.inner, self.B)
        return K - np.matmul(mixed.transpose(0, 2, 1), np.linalg.solve(self.product(self.inner, self.inner), mixed))

    def displacement_gradient(self, u: np.ndarray) -> np.ndarray:
        """`H_ij = du_i/dx_j` (e, q, 3, 3) of nodal displacements `u` (n, 3), incompatible modes included."""
        nodal = u[self.cells]
        H = np.einsum("eni,eqnj->eqij", nodal, self.gradients, optimize=True)
        if self.inner is not None and self.inner_gradients is not None:
            load = np.matmul(self.product(self.inner, self.B), nodal.reshape(len(nodal), -1, 1))
            alpha = -np.linalg.solve(self.product(self.inner, self.inner), load).reshape(-1, 3, 3)  # mode, component
            H = H + np.einsum("emi,eqmj->eqij", alpha, self.inner_gradients, optimize=True)
        return H

    def stress(self, H: np.ndarray) -> np.ndarray:
        """Linear stress (e, q, 6) of a displacement gradient."""
        strain = np.stack([H[..., i, j] if i == j else H[..., i, j] + H[..., j, i] for i, j in VOIGT], axis=-1)
        return np.einsum("eab,eqb->eqa", self.C, strain)


class _Accumulator:
    """3 x 3 node blocks of a matrix under assembly."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.data = np.zeros((pattern.pairs, 3, 3))

    def add(self, block: int, rows: slice, matrices: np.ndarray) -> None:
        places = self.pattern.places[block][rows].ravel()
        e, size, _ = matrices.shape
        nodes = size // 3
        split = matrices.reshape(e, nodes, 3, nodes, 3)
        for i in range(3):
            for j in range(3):
                self.data[:, i, j] += np.bincount(places, split[:, :, i, :, j].ravel(), minlength=self.pattern.pairs)

    def matrix(self) -> sp.csr_matrix:
        n = 3 * (len(self.pattern.indptr) - 1)
        return sp.bsr_matrix((self.data, self.pattern.indices, self.pattern.indptr), shape=(n, n)).tocsr()


def stiffness(mesh: Mesh, pattern: Pattern, materials: list[Material], index: np.ndarray) -> sp.csr_matrix:
    """Stiffness matrix (3 n, 3 n) of a mesh whose cell `c` is made of `materials[index[c]]`."""
    C = np.stack([m.elasticity for m in materials])
    total = _Accumulator(pattern)
    for number, block, first, rows in _batches(mesh):
        cells = np.arange(first, first + rows.stop - rows.start)
        total.add(number, rows, _Batch.make(mesh, block, first, rows, C[index[cells]]).stiffness())
    return total.matrix()


def mass(mesh: Mesh, pattern: Pattern, materials: list[Material], index: np.ndarray) -> sp.csr_matrix:
    """Consistent mass matrix (3 n, 3 n): the scalar mass over nodes times the (3, 3) identity."""
    for material in materials:
        if material.density is None:
            raise MaterialError(
                f"Material {material.name!r} has no density, and a mass matrix needs one. Give density=..."
            )
    density = np.array([m.density for m in materials], dtype=float)
    scalar = np.zeros(pattern.pairs)
    for number, block, first, rows in _batches(mesh):
        shape = element(block.kind)
        xi, weights = shape.mass_rule
        x = mesh.points[block.connectivity[rows]]
        J = np.einsum("qnk,enx->eqkx", shape.gradient(xi), x, optimize=True)
        determinant = np.linalg.det(J)
        _checked(mesh, block, first, rows, determinant)
        N = shape.shape(xi)
        rho = density[index[first : first + rows.stop - rows.start]]
        products = (N[:, :, None] * N[:, None, :]).reshape(len(xi), -1)
        matrices = (determinant * weights * rho[:, None]) @ products
        scalar += np.bincount(pattern.places[number][rows].ravel(), matrices.ravel(), minlength=pattern.pairs)
    n = len(mesh.points)
    return sp.kron(sp.csr_matrix((scalar, pattern.indices, pattern.indptr), shape=(n, n)), sp.identity(3), format="csr")


def geometric_stiffness(
    mesh: Mesh,
    pattern: Pattern,
    materials: list[Material],
    index: np.ndarray,
    u: np.ndarray,
    initial_displacement: bool,
) -> sp.csr_matrix:
    """Change (3 n, 3 n) of the tangent stiffness with the displacements `u` (n, 3), to first order.

    The stress part `int grad_a . sigma(u) grad_b dV` times the identity; with `initial_displacement` also the change of the strain
    matrix, which together is the exact derivative for a St. Venant-Kirchhoff material (for hex8: of its compatible part).
    Source: Zienkiewicz, Taylor, The Finite Element Method, vol. 2 (2000), section 10.
    """
    C = np.stack([m.elasticity for m in materials])
    total = _Accumulator(pattern)
    for number, block, first, rows in _batches(mesh):
        cells = np.arange(first, first + rows.stop - rows.start)
        batch = _Batch.make(mesh, block, first, rows, C[index[cells]])
        H = batch.displacement_gradient(u)
        s = batch.stress(H)
        sigma = np.empty((*s.shape[:2], 3, 3))
        for k, (i, j) in enumerate(VOIGT):
            sigma[..., i, j] = sigma[..., j, i] = s[..., k]
        turned = np.einsum("eqnj,eqij->eqni", batch.gradients, sigma, optimize=True) * batch.dV[:, :, None, None]
        e, q, n, _ = batch.gradients.shape
        scalar = np.einsum("eqai,eqbi->eab", batch.gradients, turned, optimize=True)
        K = np.zeros((e, n, 3, n, 3))
        for i in range(3):
            K[:, :, i, :, i] = scalar
        K = K.reshape(e, 3 * n, 3 * n)
        if initial_displacement:
            change = np.zeros((e, q, 6, n, 3))
            for row, (i, j) in enumerate(VOIGT):
                change[:, :, row] = np.einsum("eqk,eqn->eqnk", H[..., :, i], batch.gradients[..., j])
                if i != j:
                    change[:, :, row] += np.einsum("eqk,eqn->eqnk", H[..., :, j], batch.gradients[..., i])
            mixed = batch.product(batch.B, change.reshape(e, q, 6, 3 * n))
            K = K + mixed + mixed.transpose(0, 2, 1)
        total.add(number, rows, K)
    return total.matrix()
