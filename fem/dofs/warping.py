"""Which beams resist each other's warping: the rates of twist at the ends of beams with torsion by Vlasov.

Two such beams that meet at a node and continue each other, with their sections the same way up, have one rate of twist
there. Where one runs or is turned the other way (by 180 degrees), this holds if its section looks the same from there:
the rate of twist does not depend on the direction of the axes. A curved beam is a line of straight ones: up to
`LARGEST_ANGLE` they pass their warping on, with an error of the order of the square of the angle between them. What
other beams at a corner or a branch do to the warping of a section is a matter of how the joint is made; each has a rate
of its own, which is free unless a rigid interface or an equation holds it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int
from scipy.sparse.csgraph import connected_components

from fem.beam import Beam
from fem.elements import LINE, TRUSS
from fem.mesh.constraints import Equation, MeanLink, RigidLink
from fem.mesh.mesh import Mesh
from fem.sections.twist import decay

LARGEST_ANGLE = 25.0
"""Largest angle (degrees) between the axes of two beams of which one continues the other: four beams make a quarter of
a circle."""
ALIGNED = float(np.cos(np.deg2rad(LARGEST_ANGLE)))

ALIKE = 0.02
"""Difference of places, relative to the size of a section, and of warping, relative to the largest, of equal shapes."""

STEP = 0.25
"""Difference of the places of two sections, relative to the size of the larger, and of their warping, up to which one
continues the other as a step of a tapered beam: the error of the bimoment is of this order."""

ROUND = 1e-6
"""Relative difference of moments of inertia, and place of the shear centre, up to which a section may turn unseen."""

HALF_RIGHT = float(np.sqrt(0.5))
"""Cosine of the largest angle by which a section turns from a beam to the next one of the same material."""

SOFTER = 1.1
"""Ratio of the twists of a beam with ends that warp freely and with ends that are held, from which a warning says
so."""


@dataclass(frozen=True, eq=False)
class Warping:
    """The rates of twist of a part.

    - `nodes` (nw,), sorted: the node of each, a node several times where beams of several directions meet;
    - `ends` (cells, 2): those of the two ends of each cell of the mesh, -1 for cells without; empty where none has any.
    """

    nodes: Int[np.ndarray, " nw"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ends: Int[np.ndarray, "cells 2"] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    @staticmethod
    def of(mesh: Mesh, materials: tuple[object, ...], material_of: Int[np.ndarray, " cells"]) -> "Warping":
        """The rates of twist of a mesh whose cell `c` is made of `materials[material_of[c]]`.

        Raises `MaterialError` for beams along their y axis.
        """
        vlasov = {k: m for k, m in enumerate(materials) if isinstance(m, Beam) and m.torsion == "vlasov"}
        return Warping._at_ends_of(mesh, vlasov, material_of)

    @staticmethod
    def _at_ends_of(mesh: Mesh, beams: dict[int, Beam], material_of: np.ndarray) -> "Warping":
        """The rates of twist of the cells whose numbers in `material_of` are those of `beams`."""
        found = list(_lines(mesh, beams, material_of)) if beams else []
        if not sum(len(rows) for rows, *_ in found):
            return Warping()
        ends = np.full((mesh.cell_count, 2), -1)
        cell, node, _, at, kind = (np.concatenate(parts) for parts in zip(*found, strict=True))
        at, kind = np.repeat(at, 2, axis=0), np.repeat(kind, 2)
        alike = _alike(beams)
        node = node.ravel()
        order = np.argsort(node, kind="stable")
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none)]
        for apart in range(1, int(np.bincount(node).max())):
            a, b = order[:-apart], order[apart:]
            cosines = np.einsum("eki,eki->ek", at[a, :2], at[b, :2])
            flip = (cosines < 0) @ np.array([2, 1])
            joined = (node[a] == node[b]) & (np.abs(cosines).min(axis=1) > ALIGNED)
            joined &= alike[kind[a], flip] | alike[kind[b], flip]
            pairs.append((a[joined], b[joined]))
        a, b = (np.concatenate(side) for side in zip(*pairs, strict=True))
        graph = sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(len(node), len(node)))
        count, label = connected_components(graph, directed=False)
        of_label = np.zeros(count, dtype=np.int64)
        of_label[label] = node
        sorted_ = np.argsort(of_label, kind="stable")
        number = np.empty(count, dtype=np.int64)
        number[sorted_] = np.arange(count)
        ends[cell] = number[label].reshape(-1, 2)
        return Warping(of_label[sorted_], ends)


def turned_sections(
    mesh: Mesh, materials: tuple[object, ...], material_of: Int[np.ndarray, " cells"]
) -> list[tuple[int, int]]:
    """The nodes, and numbers of the material, at which two beams of one material continue each other with its section
    the other way up, mirrored or turned by more than 45 degrees, for torsion by Saint-Venant."""
    beams = {k: m for k, m in enumerate(materials) if isinstance(m, Beam) and m.torsion != "vlasov"}
    found = []
    for k, beam in beams.items():
        s = beam.section
        lines = list(_lines(mesh, {k: beam}, material_of))
        if not sum(len(cells) for cells, *_ in lines):
            continue
        _, nodes, _, axes, _ = (np.concatenate(part) for part in zip(*lines, strict=True))
        order = np.argsort(nodes.ravel(), kind="stable")
        node, at = nodes.ravel()[order], np.repeat(axes, 2, axis=0)[order]
        first = np.flatnonzero((node[:-1] == node[1:]) & (np.bincount(node)[node[:-1]] == 2))
        cosines = np.einsum("eki,eki->ek", at[first], at[first + 1])
        c, d = float(np.cos(np.deg2rad(s.angle))), float(np.sin(np.deg2rad(s.angle)))
        arms = at[:, 1:].swapaxes(1, 2) @ np.array([[c, d], [-d, c]]) @ beam.offset
        wrong = np.einsum("ei,ei->e", arms[first], arms[first + 1]) < (arms[first] ** 2).sum(axis=1) * HALF_RIGHT
        shape = {k: replace(beam, section=replace(s, fibre_warping=()))}
        wrong |= ~_alike(shape)[k, (cosines[:, :2] < 0) @ np.array([2, 1])]  # its fibres too: where stresses are
        if max(map(abs, s.shear_centre)) > ROUND * s.area**0.5 or abs(s.Iy - s.Iz) > ROUND * s.Iy:
            wrong |= np.abs(cosines[:, 1]) < HALF_RIGHT
        wrong &= np.abs(cosines[:, 0]) > HALF_RIGHT
        found += [(n, k) for n in node[first[wrong]].tolist()]
    return found


def _alike(beams: dict[int, Beam]) -> np.ndarray:
    """For each material whether its section looks the same, and warps alike, as it is and from axes of which y, or x,
    or both point the other way: (materials, 4)."""
    found = np.zeros((max(beams) + 1, 4), dtype=bool)
    for k, beam in beams.items():
        s = beam.section
        places = np.array([s.shear_centre, *s.fibres])
        warps = np.array([0.0, *(s.fibre_warping or (0.0,) * len(s.fibres))])
        size, most = np.linalg.norm(places, axis=1).max(), np.abs(warps).max()
        for flip, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            seen = places * (y, x * y)
            near = np.linalg.norm(seen[:, None] - places, axis=2)
            same = near.argmin(axis=1)
            same[0] = 0  # the shear centre
            apart = np.linalg.norm(seen - places[same], axis=1)
            turned = np.abs(warps - x * warps[same])
            found[k, flip] = flip == 0 or (apart.max() < ALIKE * size and turned.max() <= ALIKE * most)
    return found


def stepped_sections(
    mesh: Mesh, materials: tuple[object, ...], material_of: Int[np.ndarray, " cells"]
) -> list[tuple[int, int, int]]:
    """The nodes at which beams with torsion by Vlasov of two shapes share a rate of twist, and the numbers of their
    materials. One bimoment does not join their sectorial coordinates: sections of two shapes warp in two ways."""
    vlasov = {k: m for k, m in enumerate(materials) if isinstance(m, Beam) and m.torsion == "vlasov"}
    if len(vlasov) < 2:
        return []
    rates = Warping._at_ends_of(mesh, vlasov, material_of)
    cells, _, _, axes, kinds = (np.concatenate(part) for part in zip(*_lines(mesh, vlasov, material_of), strict=True))
    label, kind, at = rates.ends[cells].ravel(), np.repeat(kinds, 2), np.repeat(axes[:, :2], 2, axis=0)
    order = np.lexsort((kind, label))
    a, b = order[:-1], order[1:]
    met = (label[a] == label[b]) & (kind[a] != kind[b])
    found, known = [], {}
    for i, j in zip(a[met].tolist(), b[met].tolist(), strict=True):
        signs = tuple(np.where(np.einsum("ki,ki->k", at[i], at[j]) < 0, -1.0, 1.0).tolist())
        key = int(kind[i]), int(kind[j]), signs
        if key not in known:
            known[key] = _steps(vlasov[key[0]], vlasov[key[1]], signs)
        if known[key]:
            found.append((int(rates.nodes[label[i]]), *key[:2]))
    return found


def _steps(a: Beam, b: Beam, signs: tuple[float, ...]) -> bool:
    """Whether the sections of two beams differ by more than a step of a taper, with the `signs` of x and y of the
    second in the axes of the first."""
    s, t, (x, y) = a.section, b.section, signs
    if abs(np.log(s.warping / s.area / (t.warping / t.area))) > 2 * np.log1p(STEP):  # of the mean square of omega
        return True
    flip = np.array([y, x * y])
    places, others = np.array([s.shear_centre, *s.fibres]), flip * np.array([t.shear_centre, *t.fibres])
    size = max(np.linalg.norm(places, axis=1).max(), np.linalg.norm(others, axis=1).max())
    if np.linalg.norm(places[0] - others[0]) > STEP * size:
        return True
    if not (s.fibre_warping and t.fibre_warping):
        return False
    warps, theirs = np.array(s.fibre_warping), x * np.array(t.fibre_warping)
    most = max(np.abs(warps).max(), np.abs(theirs).max())
    apart = np.linalg.norm(places[1:, None] - others[1:], axis=2)
    unlike = np.hypot(apart / size, (warps[:, None] - theirs) / most)
    return bool(max(unlike.min(axis=0).max(), unlike.min(axis=1).max()) > STEP * 2**0.5)


def _lines(
    mesh: Mesh, beams: dict[int, Beam], material_of: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Cells, their nodes (e, 2), lengths, principal axes and numbers of their material, of each of `beams`."""
    first = 0
    for block in mesh.cells:
        for k in beams if block.kind == LINE else ():
            rows = np.flatnonzero(material_of[first : first + len(block)] == k)
            nodes = block.connectivity[rows]
            along = mesh.points[nodes[:, 1]] - mesh.points[nodes[:, 0]]
            length = np.linalg.norm(along, axis=1)
            direction = along / np.where(length > 0, length, 1.0)[:, None]
            yield first + rows, nodes, length, beams[k].principal_axes(direction), np.full(len(rows), k)
        first += len(block)


@dataclass(frozen=True)
class FreeWarping:
    """A run of beams that continue each other, from `clamped` nodes where the part is held to another such node or to
    its other end, which warp freely.

    `length` of the run, `decay`: its length times `sqrt(G J / (E I_w))`; `ratio` of its twist to that with warping held
    at the clamped nodes.
    """

    beam: Beam
    clamped: tuple[int, ...]
    length: float
    decay: float
    ratio: float


def freely_warping(
    mesh: Mesh, materials: tuple[object, ...], material_of: Int[np.ndarray, " cells"], clamped: Int[np.ndarray, " k"]
) -> list[FreeWarping]:
    """The runs of beams with torsion by Saint-Venant and a known warping constant that end at `clamped` nodes and would
    be stiffer by a tenth or more with warping held there: a warning's worth, the softest first.

    A run of length L twists by `T L / (G J)` under a torque T where it warps freely; with warping held at one end by
    `1 - tanh(k L) / (k L)` of it, at both by `1 - 2 tanh(k L / 2) / (k L)`. Clamped nodes divide the line of beams.
    """
    beams = {
        k: m
        for k, m in enumerate(materials)
        if isinstance(m, Beam) and m.torsion != "vlasov" and m.section.warping > 0 and m.section.J > 0
    }
    rates = Warping._at_ends_of(mesh, beams, material_of)
    if not len(rates.nodes):
        return []
    found = []
    cells, _, lengths, _, kinds = (np.concatenate(part) for part in zip(*_lines(mesh, beams, material_of), strict=True))
    ends = rates.ends[cells]
    held = np.isin(rates.nodes, clamped)[ends]
    graph = ends.copy()
    graph[held] = len(rates.nodes) + np.arange(held.sum())  # clamped nodes pass nothing on
    size = len(rates.nodes) + int(held.sum())
    _, run = connected_components(sp.coo_matrix((np.ones(len(graph)), graph.T), shape=(size, size)), directed=False)
    run = run[graph[:, 0]]
    for label in np.unique(run[held.any(axis=1)]):
        mine = run == label
        kL = float((lengths[mine] * np.array([decay(beams[k]) for k in kinds[mine].tolist()])).sum())
        at = ends[mine][held[mine]]
        ratio = 1 / _share(kL if len(at) == 1 else kL / 2)
        if ratio > SOFTER:
            beam = beams[int(kinds[mine & held.any(axis=1)][0])]
            nodes = tuple(np.unique(rates.nodes[at]).tolist())
            found.append(FreeWarping(beam, nodes, float(lengths[mine].sum()), kL, ratio))
    return sorted(found, key=lambda free: -free.ratio)


def _share(x: float) -> float:
    """`1 - tanh(x) / x`."""
    return x**2 / 3 if x < 1e-3 else 1 - float(np.tanh(x)) / x


@dataclass(frozen=True)
class LooseEnd:
    """A node at which a beam with torsion by Vlasov ends in something that may hold or pass on its warping, which is
    free there.

    `angle`: degrees to the axes of the nearest other such beam there, 0 to a beam that continues it with its section
    the other way up, None where there is none.
    """

    node: int
    angle: float | None = None


def loose_ends(
    mesh: Mesh, materials: tuple[object, ...], material_of: Int[np.ndarray, " cells"], stated: Int[np.ndarray, " k"]
) -> list[LooseEnd]:
    """The nodes at which beams with torsion by Vlasov do not share a rate of twist, and the ends of such beams at nodes
    of other cells and of links; none of those of which something is `stated`, by an interface or an equation."""
    vlasov = {k: m for k, m in enumerate(materials) if isinstance(m, Beam) and m.torsion == "vlasov"}
    rates = Warping._at_ends_of(mesh, vlasov, material_of)
    if not len(rates.nodes):
        return []
    cells, nodes, _, axes, _ = (np.concatenate(part) for part in zip(*_lines(mesh, vlasov, material_of), strict=True))
    label, node, at = rates.ends[cells].ravel(), nodes.ravel(), np.repeat(axes[:, :2], 2, axis=0)
    linked = [c.members for c in mesh.constraints if isinstance(c, RigidLink | MeanLink)]
    others = [_nodes_of_others(mesh, cells), *linked, np.zeros(0, dtype=np.int64)]
    several = rates.nodes[1:][rates.nodes[1:] == rates.nodes[:-1]]
    last = rates.nodes[np.bincount(label) == 1]
    equations = [c.nodes[c.components == 6] for c in mesh.constraints if isinstance(c, Equation)]
    stated = np.concatenate([stated, *equations])
    found = []
    for n in np.setdiff1d(np.union1d(several, np.intersect1d(last, np.concatenate(others))), stated).tolist():
        here = np.flatnonzero(node == n)
        apart = label[here][:, None] != label[here]
        cosines = np.abs(np.einsum("aki,bki->abk", at[here], at[here])).min(axis=2)[apart]
        angle = float(np.rad2deg(np.arccos(np.clip(cosines.max(), -1, 1)))) if len(cosines) else None
        found.append(LooseEnd(n, angle))
    return found


def _nodes_of_others(mesh: Mesh, cells: np.ndarray) -> np.ndarray:
    """Nodes of all cells but `cells` and trusses."""
    found, first = [np.zeros(0, dtype=np.int64)], 0
    for block in mesh.cells:
        if block.kind != TRUSS:
            mine = np.isin(first + np.arange(len(block)), cells)
            found.append(block.connectivity[~mine].ravel())
        first += len(block)
    return np.unique(np.concatenate(found))
