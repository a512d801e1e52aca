"""Which beams resist each other's warping: the rates of twist at the ends of beams with torsion by Vlasov.

Two such beams that meet at a node and continue each other, with their sections the same way up, have one rate of twist
there. What the other beams at a corner or a branch do to the warping of a section is a matter of how the joint is made;
each has a rate of its own, which is free unless a rigid interface or an equation holds it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int
from scipy.sparse.csgraph import connected_components

from fem.beam import Beam
from fem.elements import LINE
from fem.mesh.mesh import Mesh
from fem.sections.twist import decay

ALIGNED = float(np.cos(np.deg2rad(15.0)))
"""Cosine of the largest angle between the axes of two beams of which one continues the other."""

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
        cell, node, _, at = (np.concatenate(parts) for parts in zip(*found, strict=True))
        at = np.repeat(at, 2, axis=0)
        node = node.ravel()
        order = np.argsort(node, kind="stable")
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none)]
        for apart in range(1, int(np.bincount(node).max())):
            a, b = order[:-apart], order[apart:]
            cosines = np.abs(np.einsum("eki,eki->ek", at[a, :2], at[b, :2])).min(axis=1)
            joined = (node[a] == node[b]) & (cosines > ALIGNED)
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


def _lines(
    mesh: Mesh, beams: dict[int, Beam], material_of: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Cells, their nodes (e, 2), lengths and principal axes, of each of `beams`."""
    first = 0
    for block in mesh.cells:
        for k in beams if block.kind == LINE else ():
            rows = np.flatnonzero(material_of[first : first + len(block)] == k)
            nodes = block.connectivity[rows]
            along = mesh.points[nodes[:, 1]] - mesh.points[nodes[:, 0]]
            length = np.linalg.norm(along, axis=1)
            direction = along / np.where(length > 0, length, 1.0)[:, None]
            yield first + rows, nodes, length, beams[k].principal_axes(direction)
        first += len(block)


@dataclass(frozen=True)
class FreeWarping:
    """A run of beams that continue each other, which warp freely at `clamped` nodes where the part is held.

    `length` of the run, `decay`: its length times `sqrt(G J / (E I_w))`; `ratio` of its twist to that with warping held
    there.
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
    be stiffer by a tenth or more with warping held there: a warning's worth.

    A run of length L twists by `T L / (G J)` under a torque T where it warps freely; with warping held at one end by
    `1 - tanh(k L) / (k L)` of it, at both by `1 - 2 tanh(k L / 2) / (k L)`.
    """
    found = []
    for k, beam in enumerate(materials):
        if not isinstance(beam, Beam) or beam.torsion == "vlasov" or not beam.section.warping > 0:
            continue
        rates = Warping._at_ends_of(mesh, {k: beam}, material_of)
        if not len(rates.nodes):
            continue
        cells = np.flatnonzero(rates.ends[:, 0] >= 0)
        a, b = rates.ends[cells].T
        lengths = np.concatenate([length for _, _, length, _ in _lines(mesh, {k: beam}, material_of)])
        size = len(rates.nodes)
        _, run = connected_components(sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(size, size)), directed=False)
        held = np.isin(rates.nodes, clamped)
        for label in np.unique(run[held]):
            length = float(lengths[run[a] == label].sum())
            nodes = tuple(rates.nodes[held & (run == label)].tolist())
            kL = length * decay(beam)
            stiff = 1 - np.tanh(kL) / kL if len(nodes) == 1 else 1 - 2 * np.tanh(kL / 2) / kL
            if stiff * SOFTER < 1:
                found.append(FreeWarping(beam, nodes, length, kL, float(1 / stiff)))
    return found
