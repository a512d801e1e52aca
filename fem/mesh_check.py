"""What is wrong with a mesh: a report, and repairs on request."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from fem.elements import Element, element
from fem.errors import MeshError
from fem.mesh import CellBlock, Mesh

ERROR, WARNING = "error", "warning"
COINCIDENT = 1e-9
"""Nodes closer than this, relative to the box of the mesh, count as one place."""
MID_SIDE = 0.2
"""A mid-side node farther than this from the middle of its edge, relative to the edge, is suspicious; at 1/4 the element degenerates."""
POOR = 0.05
"""Scaled Jacobian below which an element counts as poor."""


@dataclass(frozen=True)
class Finding:
    """One thing found: `severity` "error" (the mesh cannot be used) or "warning", and a sentence with a remedy."""

    severity: str
    text: str


@dataclass(frozen=True)
class MeshReport:
    """Findings of `check_mesh`, the volume, and the lowest scaled Jacobian (1 ideal, 0 collapsed, negative inverted)."""

    name: str
    findings: tuple[Finding, ...]
    volume: float
    lowest_quality: float

    @property
    def usable(self) -> bool:
        """Whether a model can be made of the mesh."""
        return not any(f.severity == ERROR for f in self.findings)

    def __str__(self) -> str:
        head = f"check of {self.name!r}: volume {self.volume:.6g}, lowest scaled Jacobian {self.lowest_quality:.3f}"
        return "\n".join([head, *(f"  {f.severity}: {f.text}" for f in self.findings)] if self.findings else [head + ", nothing found"])


def require_usable(mesh: Mesh) -> MeshReport:
    """The report of a mesh; raises `MeshError` with every error found."""
    report = check_mesh(mesh)
    if not report.usable:
        raise MeshError(f"Mesh {mesh.name!r} cannot be used: " + " ".join(f.text for f in report.findings if f.severity == ERROR))
    return report


def check_mesh(mesh: Mesh) -> MeshReport:
    """Orientation, mid-side nodes, duplicate nodes and cells, disconnected parts, quality. Cost: linear in the mesh."""
    findings: list[Finding] = []
    volume, lowest = 0.0, np.inf
    first = 0
    for block in mesh.cells:
        quality, volumes = _quality(element(block.kind), mesh.points[block.connectivity])
        findings += _orientation(mesh, block, first, quality)
        findings += _mid_sides(mesh, block, first)
        volume += float(volumes.sum())
        lowest = min(lowest, float(quality.min()))
        first += len(block)
    findings += _duplicates(mesh) + _parts(mesh) + _unused(mesh)
    return MeshReport(mesh.name, tuple(findings), volume, lowest)


def _quality(shape: Element, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest scaled Jacobian at corners and stiffness points (e,), and volumes (e,)."""
    xi, weights = shape.stiffness_rule
    corners = shape.coordinates[: shape.corners].copy()
    if shape.kind.startswith("pyramid"):
        corners = corners[:4]  # the apex of a pyramid is singular for every shape
    points = np.vstack([corners, xi])
    J = np.einsum("qnk,enx->eqkx", shape.gradient(points), x, optimize=True)
    det = np.linalg.det(J)
    ideal = np.abs(np.linalg.det(np.einsum("qnk,nx->qkx", shape.gradient(points), shape.coordinates)))
    size = np.cbrt(np.abs((det[:, len(corners) :] * weights).sum(axis=1)) / weights.sum())
    stretch = np.prod(np.linalg.norm(J, axis=3), axis=2)
    scaled = det / np.where(stretch > 0, stretch, 1.0)
    reference = np.einsum("qnk,nx->qkx", shape.gradient(points), shape.coordinates)
    best = ideal / np.prod(np.linalg.norm(reference, axis=2), axis=1)
    flat = size[:, None] > 0
    return np.where(flat, scaled / best, 0.0).min(axis=1), (det[:, len(corners) :] * weights).sum(axis=1)


def _orientation(mesh: Mesh, block: CellBlock, first: int, quality: np.ndarray) -> list[Finding]:
    bad, poor = np.flatnonzero(quality <= 0), np.flatnonzero((quality > 0) & (quality < POOR))
    findings = []
    if len(bad) == len(block):
        text = f"all {len(block)} {block.kind} cells are inverted: the mesh is mirrored or its node order is not VTK's. Repair a mirrored mesh with fem.fix_orientation(mesh)."
        findings.append(Finding(ERROR, text))
    elif len(bad):
        nodes = ", ".join(mesh.node_label(int(n)) for n in block.connectivity[bad[0]][:4])
        text = f"{len(bad)} {block.kind} cells are inverted or collapsed; the first is cell {first + bad[0]} (nodes {nodes}, ...). Remesh there, or check the node order."
        findings.append(Finding(ERROR, text))
    if len(poor):
        text = f"{len(poor)} {block.kind} cells are very distorted (scaled Jacobian below {POOR}); the worst is cell {first + int(quality.argmin())}."
        findings.append(Finding(WARNING, text))
    return findings


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
        f"{int(off.sum())} mid-side nodes of {block.kind} cells lie away from the middle of their edge; the worst is node "
        f"{mesh.node_label(int(m[cell, edge]))} in cell {first + int(cell)}, {away.max():.2g} edge lengths off.{order}"
    )
    return [Finding(ERROR if share > 0.5 else WARNING, text)]


def _duplicates(mesh: Mesh) -> list[Finding]:
    findings = []
    pairs = cKDTree(mesh.points).query_pairs(COINCIDENT * mesh.size, output_type="ndarray")
    if len(pairs):
        some = ", ".join(f"{mesh.node_label(int(a))} and {mesh.node_label(int(b))}" for a, b in pairs[:3])
        text = f"{len(pairs)} pairs of nodes coincide ({some}): cells that should touch may be apart. Join them with fem.merge_nodes(mesh)."
        findings.append(Finding(WARNING, text))
    for block in mesh.cells:
        same = len(block) - len(np.unique(np.sort(block.connectivity, axis=1), axis=0))
        if same:
            findings.append(Finding(ERROR, f"{same} {block.kind} cells occur twice, which doubles mass and stiffness there. Remove the copies."))
    return findings


def _parts(mesh: Mesh) -> list[Finding]:
    labels = node_parts(mesh)
    used = np.unique(np.concatenate([b.connectivity.ravel() for b in mesh.cells]))
    found, start, sizes = np.unique(labels[used], return_index=True, return_counts=True)
    if len(found) == 1:
        return []
    order = np.argsort(-sizes)
    some = ", ".join(f"{sizes[k]} nodes (one is {mesh.node_label(int(used[start[k]]))})" for k in order[:4])
    text = (
        f"the mesh falls into {len(found)} parts that share no node: {some}. One flexible body needs one part: merge coincident nodes "
        "(fem.merge_nodes), join the parts with a rigid interface, or make a body of each."
    )
    return [Finding(WARNING, text)]


def node_parts(mesh: Mesh) -> np.ndarray:
    """Number (n,) of the connected part of every node."""
    rows, columns = [], []
    for block in mesh.cells:
        rows.append(np.repeat(block.connectivity[:, 0], block.connectivity.shape[1] - 1))
        columns.append(block.connectivity[:, 1:].ravel())
    r, c = np.concatenate(rows), np.concatenate(columns)
    n = len(mesh.points)
    return connected_components(sp.coo_matrix((np.ones(len(r), dtype=bool), (r, c)), shape=(n, n)), directed=False)[1]


def _unused(mesh: Mesh) -> list[Finding]:
    used = np.zeros(len(mesh.points), dtype=bool)
    for block in mesh.cells:
        used[block.connectivity] = True
    if used.all():
        return []
    text = f"{int((~used).sum())} nodes belong to no cell (first: {mesh.node_label(int(np.argmin(used)))}); a matrix with them is singular. Leave them out."
    return [Finding(ERROR, text)]


def merge_nodes(mesh: Mesh, tolerance: float | None = None) -> Mesh:
    """The mesh with coincident nodes made one; `tolerance` is a distance (default: 1e-9 of the box)."""
    pairs = cKDTree(mesh.points).query_pairs(COINCIDENT * mesh.size if tolerance is None else tolerance, output_type="ndarray")
    n = len(mesh.points)
    _, label = connected_components(sp.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)), directed=False)
    _, keep, number = np.unique(label, return_index=True, return_inverse=True)
    return replace(
        mesh,
        points=mesh.points[keep],
        cells=tuple(CellBlock(b.kind, number[b.connectivity]) for b in mesh.cells),
        node_sets={key: np.unique(number[nodes]) for key, nodes in mesh.node_sets.items()},
        node_ids=None if mesh.node_ids is None else mesh.node_ids[keep],
    )


_MIRROR = {
    # node order of the mirrored cell
    "tetra": (0, 2, 1, 3),
    "tetra10": (0, 2, 1, 3, 6, 5, 4, 7, 9, 8),
    "hexahedron": (0, 3, 2, 1, 4, 7, 6, 5),
    "hexahedron20": (0, 3, 2, 1, 4, 7, 6, 5, 11, 10, 9, 8, 15, 14, 13, 12, 16, 19, 18, 17),
    "wedge": (0, 2, 1, 3, 5, 4),
    "wedge15": (0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9, 12, 14, 13),
    "pyramid": (0, 3, 2, 1, 4),
    "pyramid13": (0, 3, 2, 1, 4, 8, 7, 6, 5, 9, 12, 11, 10),
}


def fix_orientation(mesh: Mesh) -> Mesh:
    """The mesh with every inverted cell turned right by reordering its nodes. Face sets are found again by their nodes."""
    blocks = []
    for block in mesh.cells:
        shape = element(block.kind)
        quality, _ = _quality(shape, mesh.points[block.connectivity])
        cells = block.connectivity.copy()
        cells[quality <= 0] = cells[quality <= 0][:, list(_MIRROR[block.kind])]
        blocks.append(CellBlock(block.kind, cells))
    turned = replace(mesh, cells=tuple(blocks), face_sets={})
    place = {tuple(sorted(turned.face_corners(int(c), int(f)))): (c, f) for c, f in turned.boundary_faces}
    faces = {
        key: np.array([place[tuple(sorted(mesh.face_corners(int(c), int(f))))] for c, f in members])
        for key, members in mesh.face_sets.items()
    }
    return replace(turned, face_sets=faces)
