"""Mass, stiffness and geometric stiffness matrices of a mesh, assembled in batches of cells of one kind and material.

The products of a batch are small, so BLAS works in one thread meanwhile: several threads would mostly wait for each
other.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Int

from fem.beam import Beam, Truss
from fem.dofs.dof_map import DofMap
from fem.elements import ELEMENTS, LINE, SHELLS, TRUSS, Element, element
from fem.errors import MaterialError, MeshError, unknown_name
from fem.linear_algebra.threads import one_openblas_thread
from fem.material import Material, required_density
from fem.matrices.beam_matrices import Beams, Trusses
from fem.matrices.cell_matrices import VOIGT, Cells, elasticity_tensor, jacobian, turned_elasticity
from fem.matrices.geometric_stiffness import (
    initial_displacement_part,
    projected_stress_part,
    quadratic_loads,
    stress_part,
    with_stress,
)
from fem.matrices.shell_matrices import Shells
from fem.matrices.sparsity import COMPONENTS, Pattern, sparsity
from fem.matrices.table_beams import TableBeams
from fem.mesh.cell_quality import COLLAPSED
from fem.mesh.directors import inside
from fem.mesh.mesh import CellBlock, Mesh
from fem.sections.beam_table import BeamTable
from fem.shell import Shell

BATCH = 512
"""Cells a batch: enough to hide the cost of Python, few enough to stay in the processor's cache."""

FEW = 32
"""The same where each cell has a strain for each of many pairs of fields."""

Materials = tuple[Material | Beam | BeamTable | Shell | Truss, ...]


@dataclass(frozen=True, eq=False)
class _Batch:
    """Cells `rows` of the solid block `number`; `first` is the number of the block's first cell in the mesh."""

    number: int
    first: int
    rows: np.ndarray
    shape: Element
    connectivity: np.ndarray
    x: np.ndarray
    material: int


def stiffness(mesh: Mesh, pattern: Pattern, materials: Materials, material_of: np.ndarray) -> sp.csr_matrix:
    """Stiffness matrix (3 n, 3 n) of a mesh whose cell `c` is made of `materials[material_of[c]]`."""
    tensors = _tensors(materials)
    total = np.zeros((len(COMPONENTS), pattern.pairs))
    with one_openblas_thread():
        for batch in _batches(mesh, material_of):
            _add(total, pattern, batch, _cells(mesh, batch, materials, tensors).stiffness())
    return pattern.block_matrix(total)


def mass(mesh: Mesh, pattern: Pattern, materials: Materials, material_of: np.ndarray) -> sp.csr_matrix:
    """Consistent mass matrix (3 n, 3 n): the scalar mass over nodes times the (3, 3) identity."""
    total = np.zeros(pattern.pairs)
    with one_openblas_thread():
        for batch in _batches(mesh, material_of):
            xi, weights = batch.shape.mass_rule
            _, determinant = jacobian(batch.shape, batch.x, xi)
            _insist_on_positive(mesh, batch, determinant)
            N, material = batch.shape.shape(xi), _solid(mesh, batch, materials)
            if batch.shape.hourglass:
                N = np.full_like(N, 1 / N.shape[1])
            products = (N[:, :, None] * N[:, None, :]).reshape(len(xi), -1)
            matrices = (determinant * weights * required_density(material.name, material.density)) @ products
            np.add.at(total, pattern.places[batch.number][batch.rows].ravel(), matrices.ravel())
    return pattern.scalar_matrix(total)


def mass_of_all(mesh: Mesh, materials: Materials, material_of: np.ndarray, dofs: DofMap) -> sp.csr_matrix:
    """Consistent mass matrix over the dofs of all nodes of the cells whose material is not -1."""
    matrices = [
        (cells.mass(), places)
        for groups in (beam_groups, shell_groups, truss_groups)
        for cells, places in groups(mesh, materials, material_of, dofs)
    ]
    solid = mass(mesh, sparsity(mesh), materials, material_of)
    return with_turning_cells(solid, matrices, dofs.size_of_all)


def solid_cells(
    mesh: Mesh, materials: Materials, material_of: np.ndarray
) -> Iterator[tuple[np.ndarray, Element, np.ndarray, Cells]]:
    """Batch by batch of solid cells: their numbers in the mesh (e,), element, connectivity (e, nn), and matrices."""
    tensors = _tensors(materials)
    for batch in _batches(mesh, material_of):
        yield batch.first + batch.rows, batch.shape, batch.connectivity, _cells(mesh, batch, materials, tensors)


def geometric_stiffness(
    mesh: Mesh,
    pattern: Pattern,
    materials: Materials,
    material_of: np.ndarray,
    u: np.ndarray,
    initial_displacement: bool,
) -> sp.csr_matrix:
    """Change (3 n, 3 n) of the tangent stiffness with the displacements `u` (n, 3), to first order.

    The stress part, and with `initial_displacement` all of it: see `fem.matrices.geometric_stiffness`.
    """
    tensors = _tensors(materials)
    total = np.zeros((len(COMPONENTS), pattern.pairs))
    with one_openblas_thread():
        for batch in _batches(mesh, material_of):
            cells = _cells(mesh, batch, materials, tensors)
            H = cells.displacement_gradients(u[batch.connectivity][..., None])[..., 0]
            scalar = stress_part(cells, H)
            e, m = scalar.shape[:2]
            K = initial_displacement_part(cells, H) if initial_displacement else np.zeros((e, 3, m, 3, m))
            _add(total, pattern, batch, cells.condense(with_stress(K, scalar)))
    return pattern.block_matrix(total)


def projected_geometric_stiffness(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, U: np.ndarray, V: np.ndarray
) -> np.ndarray:
    """`V^T K_G(u) V` (p, m, m), K_G the stress part, for each field `u` of `U` (n, 3, p) over shapes `V` (n, 3, m)."""
    tensors = _tensors(materials)
    total = np.zeros((U.shape[2], V.shape[2], V.shape[2]))
    for batch in _batches(mesh, material_of):
        cells = _cells(mesh, batch, materials, tensors)
        fields, shapes = (cells.displacement_gradients(A[batch.connectivity]) for A in (U, V))
        total += projected_stress_part(cells, fields, shapes)
    return total


def quadratic_strain_loads(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, V: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """Loads (n, 3, p) whose work on u is `v_i^T K_G(u) v_j` for each pair (i, j) of shapes `V` (n, 3, m)."""
    tensors = _tensors(materials)
    total = np.zeros((len(mesh.points), 3, len(pairs)))
    for batch in _batches(mesh, material_of, FEW):
        cells = _cells(mesh, batch, materials, tensors)
        H = cells.displacement_gradients(V[batch.connectivity])
        nodes, place = np.unique(batch.connectivity, return_inverse=True)
        found = quadratic_loads(cells, H, pairs).reshape(*batch.connectivity.shape, -1)
        total[nodes] += gathered(found, place.reshape(batch.connectivity.shape), len(nodes)).reshape(len(nodes), 3, -1)
    return total


def gathered(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    """Sums (size, k) of rows `values` (e, r, k) with the same place in `places` (e, r)."""
    count = places.size
    gather = sp.csr_matrix((np.ones(count), places.ravel(), np.arange(count + 1)), (count, size))
    return np.asarray(gather.T @ values.reshape(count, -1))


def gradients(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, U: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batch by batch: places (k, 3) of the stiffness points of solid cells, and `du_i / dx_j` (k, 3, 3, m) of fields
    (n, 3, m) there."""
    tensors = _tensors(materials)
    for batch in _batches(mesh, material_of):
        H = _cells(mesh, batch, materials, tensors).displacement_gradients(U[batch.connectivity])
        x = np.einsum("qn,enx->eqx", batch.shape.shape(batch.shape.stiffness_rule[0]), batch.x)
        yield x.reshape(-1, 3), H.reshape(-1, 3, 3, U.shape[2])


def stress_batches(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, U: np.ndarray
) -> Iterator[tuple[Element, np.ndarray, int, np.ndarray, np.ndarray]]:
    """Batch by batch of solid cells: element, connectivity (e, nn), number of the material, stresses (e, q, 6, k) of
    fields (n, 3, k) at the stiffness points, volumes (e,)."""
    tensors = _tensors(materials)
    for batch in _batches(mesh, material_of):
        cells = _cells(mesh, batch, materials, tensors)
        H = cells.displacement_gradients(U[batch.connectivity])
        sigma = cells.stress(H)
        stress = np.stack([sigma[:, :, i, j] for i, j in VOIGT], axis=2)
        yield batch.shape, batch.connectivity, batch.material, stress, cells.dV.sum(axis=1)


def beam_groups(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, dofs: DofMap
) -> list[tuple[Beams, np.ndarray]]:
    """The line cells, a group for each beam: their fields and dofs (e, 12), or (e, 14) with torsion by Vlasov.

    Refuses lines that were given no `fem.Beam` and no `fem.BeamTable`.
    """
    groups = []
    needed = "a fem.Beam (a material and a section; on the command line --section) or a fem.BeamTable"
    for _, first, block, beam, rows in _sectioned(mesh, materials, material_of, (LINE,), (Beam, BeamTable), needed):
        cells = block.connectivity[rows]
        if isinstance(beam, BeamTable):  # its sections look one way, whatever way the nodes of a cell run
            back = (mesh.points[cells[:, 1]] - mesh.points[cells[:, 0]]) @ beam.along < 0
            cells = np.where(back[:, None], cells[:, ::-1], cells)
        x, places = mesh.points[cells], dofs.of_cells(cells)
        made = Beams.of(beam, x) if isinstance(beam, Beam) else TableBeams.of(beam, x)
        if isinstance(beam, Beam) and beam.torsion == "vlasov":
            places = dofs.with_warping(places, first + rows)
        groups.append((made, places))
    return groups


def truss_groups(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, dofs: DofMap
) -> list[tuple[Trusses, np.ndarray]]:
    """The truss cells, a group for each truss, and their dofs (e, 6).

    Refuses cells that were given no `fem.Truss`.
    """
    groups = []
    needed = "a fem.Truss (a material and an area)"
    for _, _, block, truss, rows in _sectioned(mesh, materials, material_of, (TRUSS,), (Truss,), needed):
        cells = block.connectivity[rows]
        groups.append((Trusses(truss, mesh.points[cells]), dofs.translations(cells).reshape(len(cells), 6)))
    return groups


def shell_groups(
    mesh: Mesh, materials: Materials, material_of: np.ndarray, dofs: DofMap
) -> list[tuple[Shells, np.ndarray]]:
    """The cells of shells, a group for each shell and kind of cell, and their dofs (e, 6 n).

    Refuses triangles and quadrilaterals that were given no `fem.Shell`.
    """
    groups = []
    needed = "a fem.Shell (a material and a thickness; on the command line --thickness)"
    for number, _, block, shell, rows in _sectioned(mesh, materials, material_of, SHELLS, (Shell,), needed):
        cells, vertex = block.connectivity[rows], mesh.directors.of_cells[number][rows]
        x, V = mesh.points[cells], mesh.directors.vectors[vertex]
        if block.kind == "quad8":
            x, V = (np.concatenate([a, b[:, None]], axis=1) for a, b in zip((x, V), inside(x), strict=True))
        groups.append((Shells(shell, x, V, vertex, _on_solids(mesh, cells)), dofs.of_cells(cells)))
    return groups


def _on_solids(mesh: Mesh, cells: Int[np.ndarray, "e n"]) -> Bool[np.ndarray, " e"]:
    """Which cells of shells with eight nodes are faces of solids."""
    if cells.shape[1] != 8:
        return np.zeros(len(cells), dtype=bool)
    of_shells = np.zeros(len(mesh.points), dtype=bool)
    of_shells[cells] = True
    faces: set[tuple[int, ...]] = set()
    for block in mesh.cells:
        for face in ELEMENTS[block.kind].faces if block.kind in ELEMENTS else ():
            rows = block.connectivity[:, face]
            if len(face) == 8:
                faces.update(_members(rows[of_shells[rows].all(axis=1)]))
    return np.array([members in faces for members in _members(cells)], dtype=bool)


def _members(rows: Int[np.ndarray, "e n"]) -> list[tuple[int, ...]]:
    return list(map(tuple, np.sort(rows, axis=1).tolist()))


def _sectioned(
    mesh: Mesh,
    materials: Materials,
    material_of: np.ndarray,
    kinds: Collection[str],
    sections: tuple[type, ...],
    needed: str,
) -> Iterator[tuple[int, int, CellBlock, Any, np.ndarray]]:
    """The cells of `kinds` that have one section: number of the block among those of `kinds`, number of its first cell
    in the mesh, block, section, rows.

    Refuses cells whose section is none of `sections`, with what is `needed`.
    """
    for number, first, block, index, rows in _alike(mesh, material_of, kinds):
        section = materials[index]
        if not isinstance(section, sections):
            raise MaterialError(
                f"Mesh {mesh.name!r}: {block.kind} cells need {needed}; found {type(section).__name__} "
                f"{section.name!r}."
            )
        yield number, first, block, section, rows


def with_turning_cells(solid: sp.csr_matrix, matrices: list[tuple[np.ndarray, np.ndarray]], size: int) -> sp.csr_matrix:
    """The matrix of solid cells, three dofs a node, grown to all dofs, plus matrices (e, d, d) of cells with rotations
    at dofs (e, d)."""
    n, rotations = size, size - solid.shape[0]
    grown = sp.csr_matrix(
        (solid.data, solid.indices, np.concatenate([solid.indptr, np.full(rotations, solid.indptr[-1])])), shape=(n, n)
    )
    for values, dofs in matrices:
        i, j = np.triu_indices(dofs.shape[1])  # the other half is its transpose
        halves = values[:, i, j] * np.where(i == j, 0.5, 1.0)
        rows, columns = (dofs.astype(np.int32)[:, k].ravel() for k in (i, j))
        half = sp.coo_matrix((halves.ravel(), (rows, columns)), shape=(n, n)).tocsr()
        grown = grown + half + half.T
    return sp.csr_matrix(grown)


def material_of_cells(mesh: Mesh, materials: Mapping[str, Material | Beam | BeamTable | Shell | Truss]) -> np.ndarray:
    """Index of the material of every cell; every cell must belong to exactly one of the sets that carry a material."""
    index = np.full(mesh.cell_count, -1)
    for k, name in enumerate(materials):
        if name not in mesh.cell_sets:
            raise MaterialError(f"Mesh {mesh.name!r}: " + unknown_name("cell set", name, mesh.cell_sets))
        cells = mesh.cell_sets[name]
        taken = cells[index[cells] >= 0]
        if len(taken):
            other = list(materials)[index[taken[0]]]
            raise MaterialError(
                f"Mesh {mesh.name!r}: {len(taken)} cells (first: {taken[:5].tolist()}) are both in {other!r} and in "
                f"{name!r}, and so have two materials. Give each cell one."
            )
        index[cells] = k
    bare = np.flatnonzero(index < 0)
    if len(bare):
        given, sets = (", ".join(map(repr, names)) or "none" for names in (materials, mesh.cell_sets))
        raise MaterialError(
            f"Mesh {mesh.name!r}: {len(bare)} of {mesh.cell_count} cells have no material (first: "
            f"{bare[:5].tolist()}); materials are given for the cell sets: {given}; cell sets of the mesh: {sets}."
        )
    return index


def _alike(
    mesh: Mesh, material_of: np.ndarray, kinds: Collection[str]
) -> Iterator[tuple[int, int, CellBlock, int, np.ndarray]]:
    """The cells of `kinds` that are made of one material: number of the block among those of `kinds`, number of its
    first cell in the mesh, block, material, rows. Cells of the material -1 are left out."""
    first, number = 0, 0
    for block in mesh.cells:
        of_block = material_of[first : first + len(block)]
        if block.kind in kinds:
            for index in np.unique(of_block[of_block >= 0]):
                yield number, first, block, int(index), np.flatnonzero(of_block == index)
            number += 1
        first += len(block)


def _batches(mesh: Mesh, material_of: np.ndarray, size: int = BATCH) -> Iterator[_Batch]:
    for number, first, block, material, same in _alike(mesh, material_of, ELEMENTS):
        for start in range(0, len(same), size):
            rows = same[start : start + size]
            nodes = block.connectivity[rows]
            yield _Batch(number, first, rows, element(block.kind), nodes, mesh.points[nodes], material)


def _tensors(materials: Materials) -> list[np.ndarray | None]:
    return [elasticity_tensor(m.elasticity) if isinstance(m, Material) else None for m in materials]


def _solid(mesh: Mesh, batch: _Batch, materials: Materials) -> Material:
    """The material of solid cells. Refuses the section of a beam, truss or shell."""
    material = materials[batch.material]
    if not isinstance(material, Material):
        raise MaterialError(
            f"Mesh {mesh.name!r}: {batch.shape.kind} cells were given the section of a beam, truss or shell; give "
            "them a fem.Material (on the command line --material without --section and --thickness)."
        )
    return material


def _cells(mesh: Mesh, batch: _Batch, materials: Materials, tensors: list[np.ndarray | None]) -> Cells:
    tensor, material = tensors[batch.material], _solid(mesh, batch, materials)
    assert tensor is not None
    if material.axes is not None:
        at = np.einsum("qn,enx->eqx", batch.shape.shape(batch.shape.stiffness_rule[0]), batch.x)
        tensor = turned_elasticity(tensor, material.axes.at(at.reshape(-1, 3)).reshape(*at.shape[:2], 3, 3))
    cells = Cells.of(batch.shape, batch.x, tensor)
    _insist_on_positive(mesh, batch, cells.dV / batch.shape.stiffness_rule[1])
    return cells


def _add(total: np.ndarray, pattern: Pattern, batch: _Batch, K: np.ndarray) -> None:
    """Add cell matrices (e, 3, nn, 3, nn) to the node-block components (6, pairs)."""
    places = pattern.places[batch.number][batch.rows].ravel()
    for row, (i, k) in zip(total, COMPONENTS, strict=True):
        np.add.at(row, places, K[:, i, :, k].ravel())


def _insist_on_positive(mesh: Mesh, batch: _Batch, determinant: np.ndarray) -> None:
    """Refuse inverted or collapsed cells by number."""
    worst = determinant.min(axis=1)
    extent = np.ptp(batch.x, axis=1).max(axis=1)
    bad = np.flatnonzero(~(worst > COLLAPSED * extent**3))
    if len(bad):
        cell = int(bad[0])
        corners = ", ".join(mesh.node_label(int(n)) for n in batch.connectivity[cell][: batch.shape.corners])
        raise MeshError(
            f"Mesh {mesh.name!r}: {len(bad)} {batch.shape.kind} cells are inverted or collapsed, the first is cell "
            f"{batch.first + batch.rows[cell]} (corner nodes {corners}): its Jacobian determinant falls to "
            f"{worst[cell]:.3g} and must be positive everywhere. Check the node order (VTK's) and the mid-side nodes; "
            "fem.fix_orientation(mesh) repairs a mirrored mesh."
        )
