"""Checks of a mesh, with a report, and repairs."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components

from fem.beam import Beam, Truss
from fem.elements import ELEMENTS, LINE, LINES, SHELLS, Element, element
from fem.errors import MeshError, MeshWarning
from fem.material import without_units
from fem.mesh.cell_quality import integrable, scaled_jacobian
from fem.mesh.constraints import Equation, MeanLink, RigidLink
from fem.mesh.directors import opposite_cells
from fem.mesh.mesh import CellBlock, Mesh
from fem.shell import Shell
from fem.shown import shown

ERROR, WARNING = "error", "warning"
COINCIDENT = 1e-9
"""Nodes closer than this, relative to the box of the mesh, count as one place."""
MID_SIDE = 0.2
"""A mid-side node farther than this from the middle of its edge, relative to the edge, is suspicious; at 1/4 the
element degenerates."""
POOR = 0.05
"""Scaled Jacobian below which an element counts as poor."""


LOCKING = {"tetra": "tetra10", "wedge": "wedge15 or hexahedron", "pyramid": "pyramid13"}
"""Kinds of cells that are too stiff in bending, and what bends."""


@dataclass(frozen=True)
class Finding:
    """A defect of a mesh: `severity` "error" (the mesh cannot be used) or "warning", and a sentence with a remedy."""

    severity: str
    text: str


@dataclass(frozen=True, eq=False)
class MeshSummary:
    """What a mesh consists of: cells by kind, members of each set, corners of its box (3,), volume.

    Units: the user's.
    """

    nodes: int
    cells: dict[str, int]
    node_sets: dict[str, int]
    face_sets: dict[str, int]
    cell_sets: dict[str, int]
    low: Float[np.ndarray, "3"]
    high: Float[np.ndarray, "3"]
    volume: float


@shown
@dataclass(frozen=True, eq=False)
class MeshReport:
    """The findings of `check_mesh`, a summary, the lowest scaled Jacobian (1 ideal, 0 collapsed, negative inverted),
    and advice about kinds of cells."""

    name: str
    findings: tuple[Finding, ...]
    summary: MeshSummary
    lowest_quality: float
    advice: tuple[str, ...] = ()

    @property
    def volume(self) -> float:
        """Volume of all cells."""
        return self.summary.volume

    @property
    def usable(self) -> bool:
        """Whether a model can be made of the mesh."""
        return not any(f.severity == ERROR for f in self.findings)

    def __str__(self) -> str:
        quality = f", lowest scaled Jacobian {self.lowest_quality:.3f}" if np.isfinite(self.lowest_quality) else ""
        volume = f"volume {self.volume:.6g}" if set(self.summary.cells) & {*ELEMENTS} else "no solid cells"
        head = f"check of {self.name!r}: {volume}{quality}"
        if not self.findings:
            head += ", nothing found"
        lines = [f"  {f.severity}: {f.text}" for f in self.findings] + [f"  advice: {text}" for text in self.advice]
        return "\n".join([head, *lines])


def check_mesh(mesh: Mesh) -> MeshReport:
    """Orientation, mid-side nodes, duplicate nodes and cells, disconnected parts, quality. Cost: linear in the mesh."""
    findings: list[Finding] = []
    volume, lowest = 0.0, np.inf
    first = 0
    for block in mesh.cells:
        if not len(block):
            continue
        if block.kind not in ELEMENTS:
            findings += _lengths(mesh, block, first) if block.kind in LINES else _areas(mesh, block, first)
            first += len(block)
            continue
        quality, volumes = scaled_jacobian(element(block.kind), mesh.points[block.connectivity])
        findings += _orientation(mesh, block, first, quality)
        findings += _mid_sides(mesh, block, first)
        volume += float(volumes.sum())
        lowest = min(lowest, float(quality.min()))
        first += len(block)
    findings += _hinges(mesh) + _turned_over(mesh) + _duplicates(mesh) + _parts(mesh) + _unused(mesh)
    return MeshReport(mesh.name, tuple(findings), _summary(mesh, volume), lowest, _advice(mesh))


def _summary(mesh: Mesh, volume: float) -> MeshSummary:
    nodes, faces, cells = (
        {name: len(members) for name, members in sets.items()}
        for sets in (mesh.node_sets, mesh.face_sets, mesh.cell_sets)
    )
    return MeshSummary(
        len(mesh.points), mesh.kinds, nodes, faces, cells, mesh.points.min(axis=0), mesh.points.max(axis=0), volume
    )


def _orientation(mesh: Mesh, block: CellBlock, first: int, quality: np.ndarray) -> list[Finding]:
    shape, x = element(block.kind), mesh.points[block.connectivity]
    good = integrable(shape, x)
    bad, poor = np.flatnonzero(~good), np.flatnonzero(good & (quality < POOR))
    turned = integrable(shape, x[bad][:, list(shape.mirrored)]) if len(bad) else np.zeros(0, dtype=bool)
    straight = integrable(shape, _straight(shape, x[bad])) & ~turned if len(bad) else turned
    findings = []
    if len(bad) == len(block) and turned.all():
        text = (
            f"all {len(block)} {block.kind} cells are inverted: the mesh is mirrored or its node order is not VTK's. "
            "Repair a mirrored mesh with fem.fix_orientation(mesh)."
        )
        findings.append(Finding(ERROR, text))
    elif len(bad):
        nodes = ", ".join(mesh.node_label(int(n)) for n in block.connectivity[bad[0]][:4])
        remedies = {
            f"Turn {int(turned.sum())} of them round with fem.fix_orientation(mesh).": turned.any(),
            f"Straighten {int(straight.sum())} of them with fem.straighten_cells(mesh).": straight.any(),
            "Remesh there, or check mid-side nodes and the node order.": not (turned | straight).all(),
        }
        remedy = " ".join(text for text, needed in remedies.items() if needed)
        text = (
            f"{len(bad)} {block.kind} cells are inverted or collapsed; the first is cell {first + bad[0]} (nodes "
            f"{nodes}, ...). {remedy}"
        )
        findings.append(Finding(ERROR, text))
    if len(poor):
        worst = int(poor[quality[poor].argmin()])
        text = (
            f"{len(poor)} {block.kind} cells are very distorted (scaled Jacobian below {POOR}); the worst is cell "
            f"{first + worst} ({quality[worst]:.3g})."
        )
        findings.append(Finding(WARNING, text))
    return findings


def _advice(mesh: Mesh) -> tuple[str, ...]:
    return tuple(
        f"{len(block)} {block.kind} cells (linear) are far too stiff in bending, by tens of per cent in frequency. "
        f"Mesh with {LOCKING[block.kind]} where the part bends; in bulky ends and transitions they do no harm."
        for block in mesh.cells
        if block.kind in LOCKING and len(block)
    )


def _lengths(mesh: Mesh, block: CellBlock, first: int) -> list[Finding]:
    ends = mesh.points[block.connectivity]
    bad = np.flatnonzero(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) <= COINCIDENT * mesh.size)
    if not len(bad):
        return []
    return [Finding(ERROR, f"{len(bad)} line cells have no length; the first is cell {first + bad[0]}. Remove them.")]


def _areas(mesh: Mesh, block: CellBlock, first: int) -> list[Finding]:
    x = mesh.points[block.connectivity[:, : element(block.kind).corners]]
    corner = np.cross(np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x)
    area = (corner * corner.sum(axis=1, keepdims=True)).sum(axis=2).min(axis=1)
    bad = np.flatnonzero(area <= COINCIDENT * np.ptp(x, axis=1).max(axis=1) ** 4)
    if not len(bad):
        return []
    text = f"{len(bad)} {block.kind} cells are collapsed or folded over; the first is cell {first + bad[0]}."
    return [Finding(ERROR, text + " Check the order of their nodes, or remove them.")]


def _turned_over(mesh: Mesh) -> list[Finding]:
    """Neighbouring shell cells with opposite normals."""
    wrong, turned = opposite_cells([b.connectivity for b in mesh.cells if b.kind in SHELLS])
    if not len(wrong):
        return []
    text = (
        f"neighbouring shell cells have opposite normals at {len(wrong)} edges (first: nodes "
        f"{mesh.node_label(int(wrong[0, 0]))}, {mesh.node_label(int(wrong[0, 1]))}): top and bottom change sides "
        f"there, and an offset its direction. fem.fix_orientation(mesh) turns {len(turned)} cells like most of their "
        "neighbours."
    )
    return [Finding(WARNING, text)]


def _mid_sides(mesh: Mesh, block: CellBlock, first: int) -> list[Finding]:
    edges = element(block.kind).edges
    if not edges:
        return []
    a, b, m = (block.connectivity[:, [e[k] for e in edges]] for k in range(3))
    ends, length = mesh.points[a] + mesh.points[b], np.linalg.norm(mesh.points[a] - mesh.points[b], axis=2)
    away = np.linalg.norm(mesh.points[m] - ends / 2, axis=2) / np.where(length > 0, length, 1.0)
    off = away > MID_SIDE
    if not off.any():
        return []
    cell, edge = np.unravel_index(int(away.argmax()), away.shape)
    share = off.any(axis=1).mean()
    order = " Most cells have it: the node order of the file is probably not VTK's." if share > 0.5 else ""
    text = (
        f"{int(off.sum())} mid-side nodes of {block.kind} cells lie away from the middle of their edge; the worst is "
        f"node {mesh.node_label(int(m[cell, edge]))} in cell {first + int(cell)}, {away.max():.2g} edge lengths "
        f"off.{order}"
    )
    return [Finding(WARNING, text)]


def _duplicates(mesh: Mesh) -> list[Finding]:
    findings = []
    pairs = _coincident(mesh, COINCIDENT * mesh.size)
    if len(pairs):
        some = ", ".join(f"{mesh.node_label(int(a))} and {mesh.node_label(int(b))}" for a, b in pairs[:3])
        text = (
            f"{len(pairs)} pairs of nodes coincide ({some}): cells that should touch may be apart. Join them with "
            "fem.merge_nodes(mesh)."
        )
        findings.append(Finding(WARNING, text))
    twice = doubled_cells(mesh)
    if len(twice):
        findings.append(Finding(WARNING, _doubled(twice)))
    return findings


def _coincident(mesh: Mesh, tolerance: float) -> Int[np.ndarray, "k 2"]:
    """Pairs of nodes that are no farther apart, and that no spring and no constraint connects."""
    pairs = scipy.spatial.cKDTree(mesh.points).query_pairs(tolerance, output_type="ndarray")
    linked: dict[int, set[int]] = defaultdict(set)  # of a node: references of its rigid links, and other connections
    for link in mesh.constraints:
        if isinstance(link, RigidLink):
            for node in link.members.tolist():
                linked[node].add(link.reference)
    for k, (_, nodes) in enumerate(_connected(mesh), start=len(mesh.points)):
        for node in nodes.tolist():
            linked[node].add(k)
    return pairs[[not (linked[a] & linked[b]) for a, b in pairs.tolist()]] if len(pairs) else pairs


def _connected(mesh: Mesh) -> Iterator[tuple[str, Int[np.ndarray, " k"]]]:
    """The ends of each spring and damper, and each node of an equation or mean link with the one that follows it; with
    its source."""
    for spring in mesh.springs:
        yield spring.source, spring.members
    for link in mesh.constraints:
        if not isinstance(link, RigidLink):
            first = link.reference if isinstance(link, MeanLink) else int(link.nodes[0])
            yield from ((link.source, np.array([first, node])) for node in link.members.tolist() if node != first)


def doubled_cells(mesh: Mesh) -> Int[np.ndarray, " k"]:
    """Numbers of the cells whose corners are those of an earlier cell of the same shape, solids and shells."""
    found, first = [], 0
    seen: dict[int, list[np.ndarray]] = {}
    for block in mesh.cells:
        if block.kind not in LINES and len(block):
            corners = np.sort(block.connectivity[:, : element(block.kind).corners], axis=1).astype(np.uint64)
            marks = np.random.default_rng(0).integers(1, 2**63, corners.shape[1], dtype=np.uint64)
            key = (corners * marks).sum(axis=1)  # modulo 2^64: two cells with the same sum are the same
            before = seen.setdefault(corners.shape[1], [])
            _, place = np.unique(np.concatenate([*before, key]), return_index=True)
            start = sum(map(len, before))
            again = np.setdiff1d(np.arange(start, start + len(key)), place)
            found.append(first + again - start)
            before.append(key)
        first += len(block)
    return np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(np.int64)


def _doubled(cells: np.ndarray) -> str:
    return (
        f"{len(cells)} cells have the corners of others (first: cell {cells[0]}), which doubles mass and stiffness "
        "there. Remove the copies, unless one lies over the other on purpose."
    )


def hinged_nodes(mesh: Mesh) -> Int[np.ndarray, " k"]:
    """Nodes of solids, or tied to them, at which shells and beams end: their rotations are not held there.

    Shells that lie on a face of a solid, beams along its edges, and rigid links carry rotations on.
    """
    of_solids = np.zeros(len(mesh.points), dtype=bool)
    for block in mesh.cells:
        if block.kind in ELEMENTS:
            of_solids[block.connectivity] = True
    of_solids[_tied(mesh, of_solids)] = True
    ending, carried = np.zeros((2, len(mesh.points)), dtype=bool)
    for block in mesh.cells:
        if block.kind in SHELLS or block.kind == LINE:
            inside = of_solids[block.connectivity]
            along = inside.all(axis=1)
            ending[block.connectivity[~along][inside[~along]]] = True
            carried[block.connectivity[along]] = True
    for constraint in mesh.constraints:
        if isinstance(constraint, RigidLink | MeanLink):
            carried[constraint.members] = True
    return np.flatnonzero(ending & ~carried)


def _tied(mesh: Mesh, of_solids: np.ndarray) -> list[int]:
    """Nodes whose displacements follow those of solids by three equations, as ties make them."""
    first: Counter[int] = Counter()
    for tie in mesh.constraints:
        if isinstance(tie, Equation) and tie.components.max() < 3:
            others = tie.nodes[tie.nodes != tie.nodes[0]]
            first[int(tie.nodes[0])] += bool(len(others) and of_solids[others].all())
    return [node for node, count in first.items() if count >= 3]


def _hinges(mesh: Mesh) -> list[Finding]:
    nodes = hinged_nodes(mesh)
    return [Finding(WARNING, _hinged(mesh, nodes))] if len(nodes) else []


def _hinged(mesh: Mesh, nodes: np.ndarray) -> str:
    first = mesh.node_label(int(nodes[0]))
    return (
        f"shells or beams end at {len(nodes)} nodes of solids, or tied to them (first: {first}), which have no "
        "rotations: they are hinged there. Continue them over the solid, or clamp them by a fem.RigidLink."
    )


def warn_of_doubled_cells(mesh: Mesh) -> None:
    """Issue a `MeshWarning` where cells occur twice."""
    twice = doubled_cells(mesh)
    if len(twice):
        warnings.warn(MeshWarning(f"Mesh {mesh.name!r}: {_doubled(twice)}"), stacklevel=3)


def warn_of_untied_nodes(mesh: Mesh) -> None:
    """Issue a `MeshWarning` where ties of the file leave nodes of their slave free."""
    for tie in mesh.untied:
        text = (
            f"Mesh {mesh.name!r}: {tie.label}: {tie.text}. They are free, and the part is softer there; a larger "
            "POSITION TOLERANCE ties them, a smaller slave leaves them out."
        )
        warnings.warn(MeshWarning(text), stacklevel=3)


def width_in_other_units(mesh: Mesh, material: object) -> str | None:
    """A hint if the section of a beam or truss is wider, or a shell thicker, than the mesh is large, else None.

    There is none for numbers without units (`fem.material.without_units`).
    """
    if not isinstance(material, (Beam, Truss, Shell)) or without_units(material.material):
        return None
    match material:
        case Beam():
            what, width = "section of the beam is {:.4g} wide", np.ptp(np.array(material.section.outline), axis=0).max()
        case Truss():
            what, width = "section of the truss is {:.4g} wide", np.sqrt(material.area)
        case _:
            what, width = "shell is {:.4g} thick", material.thickness
    if width <= mesh.size:
        return None
    return (
        f"Material {material.material.name!r}: the {what.format(width)}, and the diagonal of mesh {mesh.name!r} is "
        f"{mesh.size:.4g}. Give both in one unit of length."
    )


def warn_of_turned_shells(mesh: Mesh, cells: np.ndarray, name: str) -> None:
    """Issue a `MeshWarning` where neighbours among the shell `cells`, of one material `name` whose sides differ, have
    opposite normals: what one has on its top, the other has on its bottom."""
    chosen, starts = np.isin(np.arange(mesh.cell_count), cells), np.cumsum([0, *map(len, mesh.cells)])
    blocks = [b.connectivity[chosen[k : k + len(b)]] for b, k in zip(mesh.cells, starts, strict=False)]
    edges, turned = opposite_cells([block for block in blocks if len(block)])
    if len(edges):
        warnings.warn(
            MeshWarning(
                f"Mesh {mesh.name!r}: neighbouring shell cells of {name!r} have opposite normals at {len(edges)} edges "
                f"(first: nodes {mesh.node_label(int(edges[0, 0]))}, {mesh.node_label(int(edges[0, 1]))}), and its "
                f"offset or its layers change sides there. fem.fix_orientation(mesh) turns {len(turned)} cells like "
                "most of their neighbours."
            ),
            stacklevel=4,
        )


def warn_of_hinges(mesh: Mesh, clamped: Int[np.ndarray, " k"]) -> None:
    """Issue a `MeshWarning` where shells and beams are hinged to solids, at nodes that are not `clamped`."""
    nodes = np.setdiff1d(hinged_nodes(mesh), clamped)
    if len(nodes):
        warnings.warn(MeshWarning(f"Mesh {mesh.name!r}: {_hinged(mesh, nodes)}"), stacklevel=3)


def _straight(shape: Element, x: Float[np.ndarray, "ne nn 3"]) -> np.ndarray:
    """Nodes of cells with the mid-side ones in the middle of their edges."""
    x = x.copy()
    for a, b, middle in shape.edges:
        x[:, middle] = 0.5 * (x[:, a] + x[:, b])
    return x


def straighten_cells(mesh: Mesh) -> Mesh:
    """The mesh with straight edges where curved ones invert a cell that would be sound with straight ones.

    Only the mid-side nodes of such cells move, to the middle of their edges; cells beside them that this spoils are
    straightened in turn. `mesh.warnings` tells how many nodes moved, and how far: the surface of the part lies there
    between its corners. Cells whose corners are misplaced remain as they are, so check the mesh again.
    """
    points = mesh.points.copy()
    while True:
        before = points.copy()
        for block in mesh.cells:
            if block.kind not in ELEMENTS or not element(block.kind).edges:
                continue
            shape = element(block.kind)
            bad = block.connectivity[~integrable(shape, points[block.connectivity])]
            bad = bad[integrable(shape, _straight(shape, points[bad]))] if len(bad) else bad
            for a, b, middle in shape.edges:
                points[bad[:, middle]] = 0.5 * (points[bad[:, a]] + points[bad[:, b]])
        if (points == before).all():
            break
    moved = np.linalg.norm(points - mesh.points, axis=1)
    if not moved.any():
        return mesh
    text = (
        f"{int((moved > 0).sum())} mid-side nodes were moved to the middle of their edges, by up to {moved.max():.3g} "
        f"(node {mesh.node_label(int(moved.argmax()))})"
    )
    return replace(mesh, points=points, warnings=(*mesh.warnings, text))


def _parts(mesh: Mesh) -> list[Finding]:
    labels = node_parts(mesh)
    used = np.unique(np.concatenate([b.connectivity.ravel() for b in mesh.cells]))
    found, start, sizes = np.unique(labels[used], return_index=True, return_counts=True)
    if len(found) == 1:
        return []
    order = np.argsort(-sizes)
    some = ", ".join(f"{sizes[k]} nodes (one is {mesh.node_label(int(used[start[k]]))})" for k in order[:4])
    text = (
        f"the mesh falls into {len(found)} parts that share no node: {some}. One flexible body needs one part: merge "
        "coincident nodes (fem.merge_nodes), join the parts with a rigid interface, or make a body of each "
        "(fem.extract_cells)."
    )
    return [Finding(WARNING, text)]


def node_parts(mesh: Mesh) -> Int[np.ndarray, " n"]:
    """Number (n,) of the connected part of every node."""
    rows, columns = [], []
    for block in mesh.cells:
        rows.append(np.repeat(block.connectivity[:, 0], block.connectivity.shape[1] - 1))
        columns.append(block.connectivity[:, 1:].ravel())
    for constraint in mesh.constraints:
        rows.append(np.full(len(constraint.members) - 1, constraint.members[0]))
        columns.append(constraint.members[1:])
    r, c = np.concatenate(rows), np.concatenate(columns)
    n = len(mesh.points)
    return connected_components(sp.coo_matrix((np.ones(len(r), dtype=bool), (r, c)), shape=(n, n)), directed=False)[1]


def _unused(mesh: Mesh) -> list[Finding]:
    used = np.zeros(len(mesh.points), dtype=bool)
    for block in mesh.cells:
        used[block.connectivity] = True
    used[mesh.linked_nodes] = True
    if used.all():
        return []
    text = (
        f"{int((~used).sum())} nodes belong to no cell (first: {mesh.node_label(int(np.argmin(used)))}); a matrix with "
        "them is singular. Leave them out (fem.drop_unused_nodes)."
    )
    return [Finding(ERROR, text)]


def merge_nodes(mesh: Mesh, tolerance: float | None = None) -> Mesh:
    """The mesh with coincident nodes merged; `tolerance` is a distance (default: 1e-9 of the box). The two ends of a
    spring or damper remain apart, and so do nodes that constraints connect: two parts may turn or slide there.

    Raises `MeshError` where such nodes would be merged by way of a third node.
    """
    pairs = _coincident(mesh, COINCIDENT * mesh.size if tolerance is None else tolerance)
    n = len(mesh.points)
    _, label = connected_components(
        sp.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)), directed=False
    )
    _, keep, number = np.unique(label, return_index=True, return_inverse=True)
    welded = [source for source, nodes in _connected(mesh) if len(np.unique(number[nodes])) < len(nodes)]
    if welded:
        raise MeshError(
            f"Mesh {mesh.name!r}: merging would weld the ends of {welded[0]}, which coincide with a third node. Give a "
            "smaller tolerance, or connect one of the ends to the third node in the file."
        )
    return replace(
        mesh,
        points=mesh.points[keep],
        cells=tuple(CellBlock(b.kind, number[b.connectivity]) for b in mesh.cells),
        node_sets={key: np.unique(number[nodes]) for key, nodes in mesh.node_sets.items()},
        node_ids=None if mesh.node_ids is None else mesh.node_ids[keep],
        constraints=tuple(c.renumbered(number) for c in mesh.constraints),
        masses=tuple(m.renumbered(number) for m in mesh.masses),
        springs=tuple(s.renumbered(number) for s in mesh.springs),
    )


def fix_orientation(mesh: Mesh) -> Mesh:
    """The mesh with the nodes of every inverted cell that this mends reordered; points and sets remain at the same
    places.

    This repairs mirrored meshes and files with the opposite convention. Cells that misplaced nodes invert remain as
    they are, so check the mesh again. Cells of shells are turned like most of the cells that they continue, so that
    top and bottom do not change sides; the first of two equal halves keeps its side.
    """
    shells = [b.connectivity for b in mesh.cells if b.kind in SHELLS]
    opposite = np.isin(np.arange(sum(map(len, shells))), opposite_cells(shells)[1])
    blocks, first, shell = [], 0, 0
    faces = {key: members.copy() for key, members in mesh.face_sets.items()}
    for block in mesh.cells:
        if block.kind not in ELEMENTS and block.kind not in SHELLS:
            blocks.append(block)
            first += len(block)
            continue
        shape, order = element(block.kind), element(block.kind).mirrored
        cells = block.connectivity.copy()
        if block.kind in SHELLS:
            mine = opposite[shell : shell + len(block)]
            cells[mine] = cells[mine][:, list(order)]
            blocks.append(CellBlock(block.kind, cells))
            first, shell = first + len(block), shell + len(block)
            continue
        inverted = ~integrable(shape, mesh.points[cells])
        inverted[inverted] = integrable(shape, mesh.points[cells[inverted][:, list(order)]])
        cells[inverted] = cells[inverted][:, list(order)]
        blocks.append(CellBlock(block.kind, cells))
        side = np.array([[set(f) for f in shape.faces].index({order.index(n) for n in f}) for f in shape.faces])
        for members in faces.values():
            turned = np.isin(members[:, 0], first + np.flatnonzero(inverted))
            members[turned, 1] = side[members[turned, 1]]
        first += len(block)
    return replace(mesh, cells=tuple(blocks), face_sets=faces)


def drop_unused_nodes(mesh: Mesh) -> Mesh:
    """The mesh without nodes that belong to no cell and no constraint; the node sets lose them too."""
    used = np.union1d(mesh.nodes_of_cells(np.arange(mesh.cell_count)), mesh.linked_nodes)
    number = np.full(len(mesh.points), -1)
    number[used] = np.arange(len(used))
    return replace(
        mesh,
        points=mesh.points[used],
        cells=tuple(CellBlock(b.kind, number[b.connectivity]) for b in mesh.cells),
        node_sets={key: number[nodes][number[nodes] >= 0] for key, nodes in mesh.node_sets.items()},
        node_ids=used if mesh.node_ids is None else mesh.node_ids[used],
        constraints=tuple(c.renumbered(number) for c in mesh.constraints),
        masses=tuple(m.renumbered(number) for m in mesh.masses),
        springs=tuple(s.renumbered(number) for s in mesh.springs),
    )
