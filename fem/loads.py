"""Nodal forces of gravity, pressure, line loads and point forces. Units: consistent; axes: those of the mesh."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.axes.limits import as_array, floats, is_number
from fem.elements import LINES, SHELLS, Element, element
from fem.elements.quadrature import triangle
from fem.errors import MatrixError, MeshError, MeshWarning, unknown_name
from fem.matrices import assembly
from fem.mesh.directors import opposite_cells
from fem.mesh.mesh import Mesh, is_selection
from fem.model import Model

Force = Float[np.ndarray, " ndof"]


def gravity(model: Model, acceleration: Any) -> Force:
    """Forces (ndof,) of a uniform gravity field `acceleration` (3,): `M` times that acceleration of every node.

    Raises `MatrixError` when the acceleration has not three components.
    """
    g = _vectors(acceleration, "the gravity acceleration")
    if g.shape != (3,):
        raise MatrixError(f"Gravity needs an acceleration with 3 components; found shape {g.shape}.")
    return np.asarray(model.dof_map.gather(model.mass_of_all @ (model.rigid_body_modes_of_all()[:, :3] @ g)))


def pressure(model: Model, faces: str | Int[np.ndarray, "nf 2"], value: float) -> Force:
    """Work-equivalent forces (ndof,) of a uniform pressure `value`, positive when it pushes on the part.

    `faces`: name of a face set of the mesh, or (cell, face of the cell) pairs; or of a cell set of shells, on whose top
    the pressure acts, against the normal (negative: on the bottom). The forces are `-value * int N_a n dA`, exact for
    the faces as they are interpolated, curved ones included; the load keeps its direction (no follower stiffness). The
    area of shells is that of the middle surface: on the face of a curved one with the radius R it is (1 +- h / 2 R)
    times as large.

    Issues a `MeshWarning` for sets of shells of which neighbours have opposite normals: it pushes them apart.

    Raises `MeshError` for sets and faces that do not exist, and for a pressure that is no finite number.
    """
    mesh = _mesh_of(model, "a pressure")
    if not is_number(value):
        raise MeshError(f"Model {model.name!r}: a pressure is a finite number; found {value!r}.")
    if isinstance(faces, str) and faces not in mesh.face_sets and faces in mesh.cell_sets:
        return _pressure_on_shells(model, mesh, faces, value)
    pairs = _faces_of(mesh, faces)
    force = np.zeros((len(model.points), 3))
    first = 0
    for block in mesh.cells:
        mine = pairs[(pairs[:, 0] >= first) & (pairs[:, 0] < first + len(block))]
        shape = element(block.kind)
        for face in np.unique(mine[:, 1]):
            cells = block.connectivity[mine[mine[:, 1] == face, 0] - first]
            area = _area_vectors(shape, int(face), mesh.points[cells])
            np.add.at(force, cells[:, list(shape.faces[face])], -value * area)
        first += len(block)
    return _padded(model, force)


def _pressure_on_shells(model: Model, mesh: Mesh, name: str, value: float) -> Force:
    source, total = model.elements, np.zeros(model.dof_map.size_of_all)
    what = "pressure acts on faces or shells, and fem.line_load on beams"
    pressed = _of_set(mesh, name, {*SHELLS}, what, source.material_of)
    _warn_of_opposite_normals(mesh, name, mesh.cell_sets[name])
    for shells, dofs in assembly.shell_groups(mesh, source.materials, pressed, model.dof_map):
        np.add.at(total, dofs, -value * shells.area_loads())
    return np.asarray(model.dof_map.gather(total))


def _warn_of_opposite_normals(mesh: Mesh, name: str, cells: np.ndarray) -> None:
    chosen, starts = np.isin(np.arange(mesh.cell_count), cells), np.cumsum([0, *map(len, mesh.cells)])
    blocks = [b.connectivity[chosen[k : k + len(b)]] for b, k in zip(mesh.cells, starts, strict=False)]
    edges, turned = opposite_cells([block for block in blocks if len(block)])
    if len(edges):
        label = mesh.node_label
        warnings.warn(
            MeshWarning(
                f"Mesh {mesh.name!r}: a pressure acts on the cell set {name!r}, whose cells have opposite normals at "
                f"{len(edges)} edges (first: nodes {label(int(edges[0, 0]))}, {label(int(edges[0, 1]))}): it pushes "
                f"{len(turned)} of {len(cells)} cells the other way. fem.fix_orientation(mesh) turns them like "
                "their neighbours (offsets and layups with them); or load sets of one side each."
            ),
            stacklevel=4,
        )


def line_load(model: Model, cells: str, force: Any) -> Force:
    """Work-equivalent forces (ndof,) of a uniform `force` (3,) per length on the beams and trusses of a cell set.

        load = fem.line_load(bridge, "deck", (0, 0, -5e3))

    It acts on the line of the centroids (of a `fem.BeamTable`: of the nodes), so that beams with an offset are also
    turned by it, and keeps its direction. Stresses at the ends of cells leave out w L^2 / 12 of the moment, as of
    weight (`Model.stresses`).

    Raises `MeshError` for sets that do not exist or have other cells, and `MatrixError` when the force has not three
    components.
    """
    mesh, w = _mesh_of(model, "a line load"), _vectors(force, "the line load")
    if w.shape != (3,):
        raise MatrixError(f"A line load needs a force per length with 3 components; found shape {w.shape}.")
    if not isinstance(cells, str):
        raise MeshError(f"Mesh {mesh.name!r}: a line load acts on a cell set, by its name; found {cells!r}.")
    if cells not in mesh.cell_sets:
        raise MeshError(f"Mesh {mesh.name!r}: " + unknown_name("cell set", cells, mesh.cell_sets))
    source, total = model.elements, np.zeros(model.dof_map.size_of_all)
    loaded = _of_set(mesh, cells, {*LINES}, "line load acts on beams and trusses", source.material_of)
    for groups in (assembly.beam_groups, assembly.truss_groups):
        for lines, dofs in groups(mesh, source.materials, loaded, model.dof_map):
            np.add.at(total, dofs, lines.line_loads() @ w)
    return np.asarray(model.dof_map.gather(total))


def _of_set(mesh: Mesh, name: str, wanted: set[str], what: str, material_of: np.ndarray) -> np.ndarray:
    """The material of the cells of a set, -1 of others. Raises `MeshError` where it has other kinds of cells."""
    cells = mesh.cell_sets[name]
    others = {mesh.block_of(int(cell))[0].kind for cell in cells} - wanted
    if others:
        raise MeshError(f"Mesh {mesh.name!r}: the cell set {name!r} has {', '.join(sorted(others))} cells; a {what}.")
    return np.where(np.isin(np.arange(mesh.cell_count), cells), material_of, -1)


def point_force(model: Model, nodes: Any, force: Any) -> Force:
    """Forces (ndof,) at `nodes` (numbers, a set name or a `Selection`).

    `force` (3,): the total, shared equally by the nodes; or (k, 3): one force for each of k node numbers, in their
    order. For a force on a region that should act through its mean motion, use an average interface instead.

    Raises `MatrixError` when nodes do not exist, or the force has not their shape.
    """
    by_name = isinstance(nodes, str) or is_selection(nodes)
    numbers = _mesh_of(model, f"a force on {nodes!r}").nodes(nodes) if by_name else np.atleast_1d(as_array(nodes))
    count = len(model.points)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
        raise MatrixError(f"A point force needs node numbers or the name of a set with nodes; found {nodes!r}.")
    if numbers.min() < 0 or numbers.max() >= count:
        raise MatrixError(
            f"Nodes run from 0 to {count - 1}; a point force was given for {numbers.min()} to {numbers.max()}."
        )
    values = _vectors(force, "the point force")
    if values.shape == (3,):
        values = np.tile(values / len(numbers), (len(numbers), 1))
    elif by_name or values.shape != (len(numbers), 3):
        raise MatrixError(
            f"A point force on {len(numbers)} nodes has shape (3,) (the total), or ({len(numbers)}, 3) when the nodes "
            f"are given by number; found {values.shape}."
        )
    total = np.zeros((count, 3))
    np.add.at(total, numbers, values)
    return _padded(model, total)


def _padded(model: Model, nodal: np.ndarray) -> np.ndarray:
    """Nodal forces (n, 3) as forces on the independent dofs of the model: no moments on nodes with rotations."""
    others = np.zeros(model.dof_map.size_of_all - nodal.size)
    return np.asarray(model.dof_map.gather(np.concatenate([nodal.ravel(), others])))


def _mesh_of(model: Model, what: str) -> Mesh:
    if model.mesh is None:
        raise MeshError(
            f"Model {model.name!r} was made from matrices and has no mesh; {what} needs one. Give node numbers and "
            "forces."
        )
    return model.mesh


def _faces_of(mesh: Mesh, faces: Any) -> np.ndarray:
    if isinstance(faces, str):
        if faces not in mesh.face_sets:
            hint = " It is a node set; a pressure needs faces." if faces in mesh.node_sets else ""
            raise MeshError(f"Mesh {mesh.name!r}: " + unknown_name("face set", faces, mesh.face_sets) + hint)
        return mesh.face_sets[faces]
    pairs = as_array(faces)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise MeshError(
            f"Faces are given as whole numbers (nf, 2) of (cell, face of the cell); found shape {pairs.shape}."
        )
    for cell, face in pairs.tolist():
        if not 0 <= cell < mesh.cell_count:
            raise MeshError(f"Mesh {mesh.name!r}: cells run from 0 to {mesh.cell_count - 1}; there is no cell {cell}.")
        kind = mesh.block_of(cell)[0].kind
        if not 0 <= face < len(element(kind).faces):
            raise MeshError(f"Mesh {mesh.name!r}: cell {cell}, a {kind}, has no face {face}.")
    return pairs


def _area_vectors(shape: Element, face: int, x: np.ndarray) -> np.ndarray:
    """`int N_a n dA` (f, k, 3) over one local face of cells with nodes `x` (f, nn, 3), for the k nodes of the face."""
    local = list(shape.faces[face])
    corners = shape.coordinates[[k for k in local if k < shape.corners]]
    if len(corners) == 3:
        st, weights = triangle(5)
        linear = np.stack([1 - st.sum(axis=1), st[:, 0], st[:, 1]], axis=1)
        slopes = np.tile(np.array([[-1.0, 1, 0], [-1.0, 0, 1]]), (len(st), 1, 1))
    else:
        p, w = np.polynomial.legendre.leggauss(4)
        st, weights = np.array([(a, b) for a in p for b in p]), np.outer(w, w).ravel()
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        factors = 1 + st[:, None, :] * signs
        linear = factors.prod(axis=2) / 4
        slopes = np.stack([signs[:, 0] * factors[:, :, 1], signs[:, 1] * factors[:, :, 0]], axis=1) / 4
    xi = linear @ corners
    tangents = np.einsum("qnk,qtk,fnx->fqtx", shape.gradient(xi), slopes @ corners, x, optimize=True)
    normals = np.cross(tangents[:, :, 0], tangents[:, :, 1]) * weights[:, None]
    return np.einsum("qk,fqx->fkx", shape.shape(xi)[:, local], normals)


def _vectors(value: Any, what: str) -> np.ndarray:
    array = floats(value)
    if not array.size:
        raise MatrixError(f"{what.capitalize()} must be numbers; found {value!r}.")
    if not np.isfinite(array).all():
        raise MatrixError(f"{what.capitalize()} must be finite; found {value!r}.")
    return array
