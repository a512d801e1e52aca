"""Cut a part into pieces along its longest direction, so that each deforms less, and a mesh of several parts into
these."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fem.axes.limits import is_whole
from fem.errors import InterfaceError, MeshError, MeshWarning, unknown_name
from fem.interface import Interface
from fem.linear_algebra.eigen import signs_of
from fem.mesh.check import drop_unused_nodes
from fem.mesh.mesh import CellBlock, Mesh
from fem.model import Model
from fem.renamed import renamed
from fem.shell import Shell

LAYER = 1e-6
"""Distance of the centres of cells, relative to the part, below which they belong to one layer."""
BESIDE = 0.1
"""Offset of shells, relative to their thickness, from which a warning says that a cut weakens them: by some 0.2 % in
the plane here, 5 % at a half."""


def extract_cells(mesh: Mesh, cells: str | Sequence[str], name: str | None = None) -> Mesh:
    """The mesh of the cells of one or several cell sets, such as one of the parts that a deck brings into contact.

    Node, cell and face sets, materials of the file, constraints, masses and springs remain with the cells that they
    belong to, and nodes keep their `node_ids`. `name`: of the mesh; default: that of `mesh` and the sets.

    Raises `MeshError` for a cell set that the mesh does not have, and when a constraint or a spring connects the cells
    with others.
    """
    sets = [cells] if isinstance(cells, str) else list(cells)
    for each in sets:
        if each not in mesh.cell_sets:
            raise MeshError(f"Mesh {mesh.name!r}: {unknown_name('cell set', each, mesh.cell_sets)}")
    chosen = np.zeros(mesh.cell_count, dtype=bool)
    for each in sets:
        chosen[mesh.cell_sets[each]] = True
    used = np.zeros(len(mesh.points), dtype=bool)
    used[mesh.nodes_of_cells(np.flatnonzero(chosen))] = True
    others = ~used
    others[np.setdiff1d(np.arange(len(used)), mesh.nodes_of_cells(np.flatnonzero(~chosen)))] = False
    _add_linked(mesh, sets, used, others)
    return _alone(mesh, chosen, used, name or " ".join([mesh.name, *sets]))


def _alone(mesh: Mesh, chosen: np.ndarray, used: np.ndarray, name: str) -> Mesh:
    """The mesh of the `chosen` cells with the nodes `used`, and what of sets and statements belongs to these."""
    cell = np.where(chosen, np.cumsum(chosen) - 1, -1)
    blocks, first = [], 0
    for block in mesh.cells:
        rows = chosen[first : first + len(block)]
        first += len(block)
        if rows.any():
            blocks.append(CellBlock(block.kind, block.connectivity[rows]))
    faces = {key: np.column_stack([cell[f[:, 0]], f[:, 1]]) for key, f in mesh.face_sets.items() if len(f)}
    declared = (replace(d, cells=_kept(cell[d.cells])) for d in mesh.declared)
    alone = replace(
        mesh,
        cells=tuple(blocks),
        cell_sets=_filled({key: _kept(cell[members]) for key, members in mesh.cell_sets.items()}),
        face_sets=_filled({key: f[f[:, 0] >= 0] for key, f in faces.items()}),
        name=name,
        declared=tuple(d for d in declared if len(d.cells)),
        constraints=tuple(c for c in mesh.constraints if used[c.members].all()),
        masses=tuple(m for m in mesh.masses if used[m.node]),
        springs=tuple(s for s in mesh.springs if used[list(s.members)].all()),
    )
    alone = drop_unused_nodes(alone)
    return replace(alone, node_sets=_filled(dict(alone.node_sets)))


def _add_linked(mesh: Mesh, sets: Sequence[str], used: np.ndarray, others: np.ndarray) -> None:
    """Add to the nodes `used` (n,) those of no cell that constraints and springs connect with them. Raises `MeshError`
    where these are nodes of the `others` (n,)."""
    links = [(link.source, np.asarray(link.members)) for link in (*mesh.constraints, *mesh.springs)]
    while True:
        joined = [(source, members) for source, members in links if used[members].any() and not used[members].all()]
        for source, members in joined:
            if others[members].any():
                far = mesh.node_label(int(members[others[members]][0]))
                raise MeshError(
                    f"Mesh {mesh.name!r}: {source} connects the cells of {', '.join(map(repr, sets))} with node {far} "
                    "of others. Extract both together, or remove the connection from the file."
                )
            used[members] = True
        if not joined:
            return


def _kept(numbers: np.ndarray) -> np.ndarray:
    return numbers[numbers >= 0]


def _filled(sets: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: members for key, members in sets.items() if len(members)}


@renamed(pieces="n_parts")
def split(model: Model, n_parts: int) -> list[Model]:
    """Cut `model` into `n_parts` models across the longest principal direction of its nodes.

    Each cell belongs to the piece, a slab of equal thickness, that contains its centre; pieces follow each other along
    the axis to which that direction is nearest. Neighbours share the averaging interface "cut k" (k from 1): the nodes
    of both, about one point. When the cuts are welded, the two sides have the same mean motion and can warp
    independently. For a beam, deflections then agree to 0.1 % (with rigid cuts to 1 to 5 %, because these prevent
    lateral contraction). Interfaces of the model remain with their piece, and what a piece has of a set keeps its name;
    coordinates, materials and options of the factorisations do not change. Shells beside their nodes are too soft in
    their plane at a cut, of which a `MeshWarning` tells: forces that act on the nodes there bend the edge.

    Raises MeshError for fewer than one piece, more pieces than layers of cells, a model with constraints, point masses,
    springs, or surfaces, and a cut through beams with `torsion="vlasov"`, whose warping it would not transmit;
    InterfaceError for an interface that a cut crosses, or that has the name of a cut; MatrixError for a model made from
    matrices.
    """
    source = model.elements
    mesh = source.mesh
    for what in (*mesh.constraints, *mesh.masses, *mesh.springs):
        raise MeshError(
            f"Model {model.name!r} has constraints, point masses or springs at its nodes ({what.source}), which a cut "
            "could part. Take it as one body."
        )
    if model.surfaces:
        raise MeshError(
            f"Model {model.name!r} has surfaces ({', '.join(model.surfaces)}), which a cut could part. Cut it without "
            "them, and give the pieces their own by `with_surfaces`."
        )
    if model.lumps or model.added_stiffness is not None:
        raise MeshError(
            f"Model {model.name!r} has point masses or springs at its interfaces, which a cut could part. Cut it "
            "without them, and give them to the pieces (with_point_masses, with_springs)."
        )
    if not is_whole(n_parts) or n_parts < 1:
        raise MeshError(f"Model {model.name!r} can be cut into one piece or more, a whole number; found {n_parts!r}.")
    taken = [f"cut {k}" for k in range(1, n_parts) if f"cut {k}" in model.interfaces]
    if taken:
        raise InterfaceError(
            f"Model {model.name!r} has an interface {taken[0]!r} already, as pieces of an earlier split have: rename "
            "it (with_interfaces), or cut the whole into more pieces."
        )
    centred = mesh.points - mesh.points.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][:1].T
    along = mesh.points @ (direction * signs_of(direction)).ravel()
    low, high = along.min(), along.max()
    centres = np.concatenate([along[block.connectivity].mean(axis=1) for block in mesh.cells])
    along_cells = (centres - low) / (high - low)
    slab = _slabs(along_cells, n_parts)
    if len(np.unique(slab)) < n_parts:
        layers = len(np.unique(np.round(along_cells / LAYER)))
        fits = next(n for n in range(min(n_parts, layers), 0, -1) if len(np.unique(_slabs(along_cells, n))) == n)
        raise MeshError(
            f"Model {model.name!r} cannot be cut into {n_parts} pieces: it has {layers} layers of cells along its "
            f"longest direction, and each piece needs one. Cut it into at most {fits}, or refine the mesh."
        )
    nodes = [mesh.nodes_of_cells(np.flatnonzero(slab == k)) for k in range(n_parts)]
    cuts = {}
    for k in range(n_parts - 1):
        shared = np.intersect1d(nodes[k], nodes[k + 1])
        if not len(shared):
            raise MeshError(f"Model {model.name!r}: pieces {k + 1} and {k + 2} of {n_parts} share no node.")
        warping = np.intersect1d(shared, model.dof_map.rates.nodes)
        if len(warping):
            raise MeshError(
                f"Model {model.name!r}: the cut between pieces {k + 1} and {k + 2} goes through node "
                f'{mesh.node_label(int(warping[0]))} of beams with torsion="vlasov", and the pieces would not resist '
                "each other's warping there. Take it as one body, or cut it elsewhere."
            )
        _warn_of_offsets(model, shared, f"the cut between pieces {k + 1} and {k + 2} of {n_parts}")
        cuts[k] = Interface(shared, "average", mesh.points[shared].mean(axis=0))
    home = _homes(model, nodes)
    found = []
    for k in range(n_parts):
        part, number = _piece(model, slab == k, nodes[k], f"{model.name} {k + 1}")
        interfaces = {name: model.interfaces[name] for name, piece in home.items() if piece == k}
        interfaces |= {f"cut {c + 1}": cuts[c] for c in (k - 1, k) if c in cuts}
        mapped = {name: Interface(number[i.nodes], i.kind, i.point, i.weights) for name, i in interfaces.items()}
        found.append(part.with_interfaces(**mapped))
    return found


def _warn_of_offsets(model: Model, shared: np.ndarray, cut: str) -> None:
    """Warn of shells beside their nodes at a cut through the nodes `shared`."""
    source = model.elements
    for k, section in enumerate(source.materials):
        if not isinstance(section, Shell) or abs(section.offset) <= BESIDE * section.thickness:
            continue
        if np.isin(shared, source.mesh.nodes_of_cells(np.flatnonzero(source.material_of == k))).any():
            warnings.warn(
                f"Model {model.name!r}: {cut} goes through shells of {section.name!r} with the offset "
                f"{section.offset:.6g} at the thickness {section.thickness:.6g}. The pieces pass forces at the nodes, "
                "which bend these shells where they are cut: the part is too soft in their plane. Put the nodes into "
                "the middle of the shells, or take the part as one body.",
                MeshWarning,
                stacklevel=4,
            )
            return


def _slabs(along: np.ndarray, n_parts: int) -> np.ndarray:
    """The piece of every cell from the place of its centre, 0 to 1."""
    return np.clip((along * n_parts).astype(int), 0, n_parts - 1)


def _homes(model: Model, nodes: list[np.ndarray]) -> dict[str, int]:
    """The piece of every interface."""
    home = {}
    for name, interface in model.interfaces.items():
        whole = [k for k, members in enumerate(nodes) if np.isin(interface.nodes, members).all()]
        if not whole:
            raise InterfaceError(
                f"Model {model.name!r}: a cut goes through the interface {name!r}. Cut into another number of pieces."
            )
        home[name] = whole[0]
    return home


def _piece(model: Model, mine: np.ndarray, members: np.ndarray, name: str) -> tuple[Model, np.ndarray]:
    """The model of the chosen cells, and the number of each node of the whole in it (-1: not there)."""
    source = model.elements
    mesh = source.mesh
    number = np.full(len(mesh.points), -1)
    number[members] = np.arange(len(members))
    alone = _alone(mesh, mine, number >= 0, name)
    material_of = source.material_of[mine]
    used = np.unique(material_of)
    sets = {f"{name}, material {k}": np.flatnonzero(material_of == k) for k in used}
    piece = replace(alone, cell_sets={**alone.cell_sets, **sets}, untied=())
    materials = {f"{name}, material {k}": source.materials[k] for k in used}
    return Model(piece, materials, name).with_solver(**vars(model.solver)), number
