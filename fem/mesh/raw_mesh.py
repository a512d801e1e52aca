"""From the contents of a mesh file (cells of every dimension, groups) to a solid `Mesh` with its sets."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fem.elements import ELEMENTS, LINE, SHELLS
from fem.errors import MeshError, MeshWarning, unknown_name
from fem.mesh.constraints import Constraint, NodeMass, NodeSpring
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.steps import Step
from fem.mesh.unread import Declared, Stated, Unread, kept, listed

_LOWER = {"truss": 1, "vertex": 0, "line": 1, "triangle": 2, "quad": 2, "polygon": 2}


def element_of(kind: str) -> str:
    """The element that takes cells of a kind: the nodes inside faces and cells of larger ones are left out."""
    known = (*ELEMENTS.values(), *SHELLS.values())
    return kind if kind in ELEMENTS else next((e.kind for e in known if kind in e.larger), kind)


def dimension(kind: str) -> int:
    """Dimension of cells of a kind (meshio's name): 0 to 3."""
    return _LOWER.get(kind.rstrip("0123456789"), 3)


@dataclass(frozen=True, eq=False)
class RawMesh:
    """The contents of a mesh file.

    - `points` (n, 3); `node_ids` (n,): numbers of the nodes in the file; `blocks`: (kind, node rows (ne, nn)) in VTK
      order.
    - `groups`: name -> for each block, the rows that belong to it; `node_groups`: name -> rows of `points`;
      `face_groups`: name -> (block, row, face of the cell), (k, 3).
    - `warnings`: changes in reading; `unsupported`: contents that could not be read; `beams`: whether line cells are
      structure in this format, and not marks of sets.
    - `unread`: keywords that change the part and are not obeyed; `unread_lines`: the same for line cells, which are
      obeyed where they are beams.
    - `declared`: materials of the file, each with the (block, row), (k, 2), of its cells.
    - `constraints`: those that the file states, between rows of `points`; `supports`: the same for dofs that it holds.
    - `shells`: rows of blocks of triangles, quadrilaterals and lines that are shells and beams, and the keyword that
      says so.
    - `masses`, `springs`: point masses and springs at rows of `points`, and their keywords.
    - `steps`: analysis steps, in rows of `points` and (block, row) of cells.
    - `instances`, `untied`: as of `Mesh`.
    """

    points: np.ndarray
    node_ids: np.ndarray
    blocks: tuple[tuple[str, np.ndarray], ...]
    groups: Mapping[str, list[np.ndarray]] = field(default_factory=dict)
    node_groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    face_groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    beams: bool = False
    unread: tuple[Unread, ...] = ()
    unread_lines: tuple[Unread, ...] = ()
    declared: tuple[Declared, ...] = ()
    constraints: tuple[Stated, ...] = ()
    supports: tuple[Stated, ...] = ()
    shells: Mapping[int, tuple[np.ndarray, Unread]] = field(default_factory=dict)
    masses: tuple[tuple[NodeMass, Unread], ...] = ()
    springs: tuple[tuple[NodeSpring, Unread], ...] = ()
    steps: tuple[Step, ...] = ()
    instances: tuple[tuple[str, int], ...] = ()
    untied: tuple[Unread, ...] = ()


def mesh_and_steps(
    raw: RawMesh,
    name: str,
    beams: Collection[str] | None = None,
    ignore: Collection[str] = (),
    supports: str | None = None,
    shells: Collection[str] | None = None,
) -> tuple[Mesh, tuple[Step, ...]]:
    """The mesh of the solid cells, of the surface cells in the groups `shells` (or "all"), and of the line cells in the
    groups `beams`, with every group as a set; and the analysis steps in its numbers.

    Other cells of lower dimension only mark the places of sets. Without any solid or surface cell, all lines are beams.
    Groups of solid cells become cell sets, of surface cells face sets (node sets when they are not on the skin), of
    lines and points node sets. Nodes that no cell and no constraint uses are omitted. `ignore`: keywords of the file
    that the user accepts as not obeyed; `supports`: "keep" to hold the dofs that the file holds.

    A `MeshWarning` names everything that is lost or not obeyed; `warnings` or `unread` of the mesh list it.
    """
    recorded, unsupported = list(raw.warnings), list(raw.unsupported)
    blocks, index, unused, flat = _cells(raw, name, beams, shells, ignore, recorded, unsupported)
    stated, dropped = _obeyed(raw, name, ignore, supports)
    masses = tuple(m for m, source in raw.masses if not source.accepted(ignore))
    springs = tuple(s for s, source in raw.springs if not source.accepted(ignore))
    lumped = [source for _, source in (*raw.masses, *raw.springs)]
    dropped += tuple(source for source in dict.fromkeys(lumped) if source.accepted(ignore))
    members = [*(c.members for c in (*stated, *springs)), np.array([m.node for m in masses], dtype=np.int64)]
    used = np.unique(np.concatenate([*(rows.ravel() for _, rows in blocks), *members]))
    if used[0] < 0 or used[-1] >= len(raw.points):
        raise MeshError(f"The mesh {name!r} is damaged: cells refer to nodes that the file does not define.")
    if len(used) < len(raw.points):
        recorded.append(f"{len(raw.points) - len(used)} nodes that no cell of the part uses were left out")
    number = np.full(len(raw.points), -1)
    number[used] = np.arange(len(used))
    ids = None if np.array_equal(raw.node_ids, np.arange(len(used))) else raw.node_ids[used]
    cells = tuple(CellBlock(kind, number[rows]) for kind, rows in blocks)
    plain = Mesh(raw.points[used], cells, node_ids=ids, name=name, instances=raw.instances)
    node_sets, cell_sets, face_sets = _sets(raw, index, number, plain, recorded)
    said = (*raw.unread, *dropped, *flat, *(raw.unread_lines if unused else ()))
    unread, accepted = kept(sorted(said, key=lambda u: u.line), ignore)
    told = [f"lost in reading: {text}" for text in unsupported] + [f"not obeyed: {text}" for text in listed(unread)]
    if told:
        warnings.warn(f"Mesh {name!r}: " + "; ".join(told) + ".", MeshWarning, stacklevel=3)
    recorded += [f"lost in reading: {text}" for text in unsupported]
    recorded += [f"not obeyed, as accepted: {text}" for text in listed(accepted)]
    declared = tuple(_placed(d, index) for d in raw.declared if not d.source.accepted(ignore))
    mesh = replace(
        plain,
        node_sets=node_sets,
        cell_sets=cell_sets,
        face_sets=face_sets,
        warnings=tuple(recorded),
        unread=unread,
        declared=tuple(d for d in declared if len(d.cells)),
        constraints=tuple(c.renumbered(number) for c in stated),
        masses=tuple(m.renumbered(number) for m in masses),
        untied=tuple(u for u in raw.untied if not u.accepted(ignore)),
        springs=tuple(s.renumbered(number) for s in springs),
    )
    return mesh, tuple(step.renumbered(number, index) for step in raw.steps)


def _cells(
    raw: RawMesh,
    name: str,
    beams: Collection[str] | None,
    shells: Collection[str] | None,
    ignore: Collection[str],
    recorded: list[str],
    unsupported: list[str],
) -> tuple[list[tuple[str, np.ndarray]], dict[int, np.ndarray], int, tuple[Unread, ...]]:
    """Kind and rows of the blocks of the mesh; for each block of the file the numbers of its cells, -1 for cells that
    are left out; the number of lines that are no beams; the keywords of shells that the user omits.

    What changes is added to `recorded`, what is lost to `unsupported`.
    """
    solid = [k for k, (kind, rows) in enumerate(raw.blocks) if element_of(kind) in ELEMENTS and len(rows)]
    lines = _beam_cells(raw, name, beams, bool(solid), ignore)
    surfaces, flat = _shell_cells(raw, name, shells, ignore)
    if not solid and not lines and not surfaces:
        there = ", ".join(f"{len(rows)} {kind}" for kind, rows in raw.blocks if len(rows)) or "no cells at all"
        unknown = "; ".join(listed((*raw.unread, *raw.unread_lines)))
        if any(u.accepted(["ELEMENT"]) for u in (*raw.unread, *raw.unread_lines)):
            raise MeshError(
                f"The mesh {name!r} has no cells that a part can be made of; it has {there}. Not read: {unknown}. "
                "Correct these lines of the file (docs/interchange.md says what is read)."
            )
        if lumps := tuple(dict.fromkeys(source for _, source in (*raw.masses, *raw.springs))):
            raise MeshError(
                f"The mesh {name!r} has point masses, springs or dampers alone, and no solids, shells or beams: it is "
                f"no part: {'; '.join(listed(lumps))}. Put it together as a mechanism, of flexmb.rigid_body and "
                "System.spring_damper, or give its matrices to fem.Model.from_matrices."
            )
        known = ", ".join(kind for kind in ELEMENTS if "-" not in kind)  # others are integrations of these
        raise MeshError(
            f"The mesh {name!r} has no solid cells that flexmb knows ({known}); it has {there}. "
            + (f"Not read: {unknown}. " if unknown else "")
            + "Export the volume mesh (in Gmsh: mesh in 3D, and put the volume into a physical group if there is any "
            "group at all). Triangles and quadrilaterals become shells by read_mesh(..., shells=[...]) with the "
            'names of their groups, or shells="all", and on the command line by --thickness.'
        )
    blocks: list[tuple[str, np.ndarray]] = []
    index: dict[int, np.ndarray] = {}
    count = 0
    for k, (kind, rows) in enumerate(raw.blocks):
        to = element_of(kind)
        if k in solid:
            blocks.append((to, rows[:, : ELEMENTS[to].nodes]))
            index[k] = count + np.arange(len(rows))
            count += len(rows)
            if to != kind:
                recorded.append(
                    f"{len(rows)} {kind} cells are used as {to}, without their nodes inside faces and cells"
                )
        elif len(rows) and dimension(kind) == 3:
            unsupported.append(f"{len(rows)} {kind} cells, which are not supported")
    for k, rows in (*surfaces.items(), *lines.items()):
        index[k] = np.full(len(raw.blocks[k][1]), -1)
        index[k][rows] = count + np.arange(len(rows))
        count += len(rows)
        kind, cells = raw.blocks[k]
        to = element_of(kind)
        if to != kind:
            recorded.append(f"{len(rows)} {kind} cells are used as {to}, without their nodes inside")
        blocks.append((to, cells[rows][:, : SHELLS[to].nodes] if to in SHELLS else cells[rows]))
    unused = sum(len(rows) for kind, rows in raw.blocks if kind == LINE) - sum(map(len, lines.values()))
    if raw.beams and unused:
        unsupported.append(
            f"{unused} two-node beams or trusses; give the names of their element sets as beams=[...] to take them "
            "along"
        )
    return blocks, index, unused, flat


def _shell_cells(
    raw: RawMesh, name: str, shells: Collection[str] | None, ignore: Collection[str]
) -> tuple[dict[int, np.ndarray], tuple[Unread, ...]]:
    """Rows of the surface blocks that are shells: those that the file says, and those in the named groups; and the
    keywords of shells that the user omits."""
    found = {
        k: rows for k, (rows, source) in raw.shells.items() if not source.accepted(ignore) and raw.blocks[k][0] != LINE
    }
    omitted = tuple(source for _, source in raw.shells.values() if source.accepted(ignore))
    if shells is None:
        return found, omitted
    blocks = [k for k, (kind, rows) in enumerate(raw.blocks) if dimension(kind) == 2 and len(rows)]
    there = [group for group, rows in raw.groups.items() if any(len(rows[k]) for k in blocks)]
    for group in () if shells == "all" else shells:
        if group not in there:
            raise MeshError(f"Mesh {name!r}: " + unknown_name("group of surface cells", group, there))
    for k in blocks:
        every = shells == "all"
        rows = [np.arange(len(raw.blocks[k][1]))] if every else [raw.groups[group][k] for group in shells]
        chosen = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rows]))
        if len(chosen) and element_of(raw.blocks[k][0]) not in SHELLS:
            raise MeshError(
                f"Mesh {name!r}: {len(chosen)} cells of the shells are {raw.blocks[k][0]}; shells have "
                f"{', '.join(SHELLS)} cells. Mesh with these."
            )
        if len(chosen):
            found[k] = np.union1d(found.get(k, chosen), chosen)
    return found, omitted


def _obeyed(
    raw: RawMesh, name: str, ignore: Collection[str], supports: str | None
) -> tuple[tuple[Constraint, ...], tuple[Unread, ...]]:
    """The constraints of the file that are obeyed, and the keywords of the others."""
    if supports not in (None, "keep"):
        raise MeshError(f'Mesh {name!r}: supports is "keep", or nothing; found {supports!r}.')
    stated = (*raw.constraints, *(raw.supports if supports == "keep" else ()))
    others = [s.source for s in (*stated, *raw.supports)]
    holding = {s.source for s in raw.supports}

    def accepted(source: Unread) -> bool:  # "keep" says more of supports than STEP, the group that some belong to
        own = replace(source, group="") if supports == "keep" and source in holding else source
        return own.accepted(ignore)

    obeyed = tuple(s.constraint for s in stated if not accepted(s.source))
    return obeyed, tuple(s for s in dict.fromkeys(others) if accepted(s) or (supports is None and s in holding))


def _placed(declared: Declared, index: dict[int, np.ndarray]) -> Declared:
    """A material with the cells of the mesh in place of (block, row)."""
    cells = [index[block][row] for block, row in declared.cells.tolist() if block in index]
    return replace(declared, cells=np.array([cell for cell in cells if cell >= 0], dtype=np.int64))


def _beam_cells(
    raw: RawMesh, name: str, beams: Collection[str] | None, solids: bool, ignore: Collection[str]
) -> dict[int, np.ndarray]:
    """Rows of the line blocks that are beams: those that the file says, and those in the named groups; or all when
    there is nothing but lines."""
    blocks = [k for k, (kind, rows) in enumerate(raw.blocks) if kind == LINE and len(rows)]
    said = {k: raw.shells[k][0] for k in blocks if k in raw.shells and not raw.shells[k][1].accepted(ignore)}
    if beams is None:
        surfaces = any(dimension(kind) == 2 and len(rows) for kind, rows in raw.blocks)
        every = {} if solids or surfaces or raw.shells else {k: np.arange(len(raw.blocks[k][1])) for k in blocks}
        return said or every
    there = [group for group, rows in raw.groups.items() if any(len(rows[k]) for k in blocks)]
    for group in beams:
        if group not in there:
            raise MeshError(f"Mesh {name!r}: " + unknown_name("group of two-node lines", group, there))
    found = {}
    for k in blocks:
        rows = [said.get(k, np.zeros(0, dtype=np.int64)), *(raw.groups[group][k] for group in beams)]
        found[k] = np.unique(np.concatenate(rows))
    return {k: rows for k, rows in found.items() if len(rows)}


def _sets(
    raw: RawMesh, index: dict[int, np.ndarray], number: np.ndarray, mesh: Mesh, recorded: list[str]
) -> tuple[dict, dict, dict]:
    """Node, cell and face sets in the numbers of `mesh`; `index` gives the cells of the blocks that it holds, -1 for
    others."""
    node_sets: dict[str, np.ndarray] = {}
    cell_sets: dict[str, np.ndarray] = {}
    face_sets: dict[str, np.ndarray] = {}

    def add_nodes(name: str, of: str, rows: np.ndarray) -> None:
        nodes = number[np.unique(rows)]
        if not (nodes >= 0).any():
            recorded.append(f"the group {name!r} of {of} touches no solid cell and was left out")
            return
        free = name if name not in node_sets and name not in face_sets else f"{name} ({of})"
        if free != name:
            recorded.append(f"several groups are named {name!r}; that of {of} is the node set {free!r}")
        node_sets[free] = nodes[nodes >= 0]

    for name, where in raw.face_groups.items():
        inside = np.isin(where[:, 0], list(index))
        if inside.any():
            face_sets[name] = np.array([(index[b][row], face) for b, row, face in where[inside].tolist()])
    for of, size in (("solids", 3), ("surfaces", 2), ("curves", 1), ("points", 0)):
        for name, rows in raw.groups.items():
            chosen = [(k, r) for k, r in enumerate(rows) if len(r) and dimension(raw.blocks[k][0]) == size]
            found = [index[k][r][index[k][r] >= 0] for k, r in chosen if k in index]
            if found and len(np.concatenate(found)):
                cell_sets[name] = np.union1d(cell_sets.get(name, np.zeros(0, dtype=np.int64)), np.concatenate(found))
                continue
            if size == 3:
                continue
            if not chosen:
                continue
            lower = [raw.blocks[k][1][r] for k, r in chosen]
            faces = _faces_of(mesh, lower, number) if size == 2 and name not in face_sets else None
            if faces is not None:
                face_sets[name] = faces
                continue
            if size == 2:
                recorded.append(f"the surface {name!r} is not on the skin of the solid cells; it is kept as a node set")
            add_nodes(name, of, np.concatenate([c.ravel() for c in lower]))
    for name, nodes in raw.node_groups.items():
        add_nodes(name, "nodes", np.asarray(nodes))
    return node_sets, cell_sets, face_sets


def _faces_of(mesh: Mesh, surface_cells: list[np.ndarray], number: np.ndarray) -> np.ndarray | None:
    """The (cell, face) of the skin that surface cells lie on; None when one of them lies elsewhere."""
    keys = []
    for block in surface_cells:
        corners = 4 if block.shape[1] in (4, 8, 9) else 3
        key = np.full((len(block), 4), -1)
        key[:, 4 - corners :] = np.sort(number[block[:, :corners]], axis=1)
        keys.append(key)
    wanted = np.unique(np.concatenate(keys), axis=0)
    if (wanted[:, 1:] < 0).any():
        return None
    skin = mesh.boundary_faces
    _, inverse = np.unique(np.concatenate([mesh.corner_keys(skin), wanted]), axis=0, return_inverse=True)
    place = np.full(len(skin) + len(wanted), -1)
    place[inverse[: len(skin)]] = np.arange(len(skin))
    found = place[inverse[len(skin) :]]
    return None if (found < 0).any() else skin[np.sort(found)]
