"""Degrees of freedom of a part: three translations of every node, three rotations of some, rates of twist of open beam
sections, linear constraints eliminated.

Elements see the displacements `u` of all nodes: translations first, `3 * node + component`, then the rotations of
`rotation_nodes`, `3 n + 3 k + component`, then the rates of twist (`fem.dofs.warping`). Solvers see the independent
ones, `q`, with `u = T q`. Constraints are homogeneous rows `A u = 0`; each eliminates one dof, its first unless another
constraint has taken it. Without constraints q is u, and nothing is computed.

Rigid links are exact to second order: a node at the distance d from its reference moves by `theta x (theta x d) / 2`
beside the linear motion. That term goes through the elimination with its equation, so that nodes linked to linked
nodes, or linked twice, move as one rigid body. All other constraints are linear.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from fem.axes.limits import as_array
from fem.dofs.warping import Warping
from fem.errors import MatrixError, MeshError
from fem.mesh.constraints import Constraint, Equation, MeanLink, RigidLink, mean_motion

REDUNDANT = 1e-10
"""Terms below this fraction of those of their row, as displacements of the part, count as zero."""
RIGID = 1e-6
"""Largest change of a row by a rigid motion, relative to the size of its terms, that counts as none."""


@dataclass(frozen=True, eq=False)
class DofMap:
    """The dofs of a part.

    - `nodes`: number of nodes; `rotation_nodes` (nr,), sorted: those with rotations; `rates`: the rates of twist.
    - `independent` (ndof,): the independent dofs q among all, `u`; `T` (n_all, ndof): u = T q; None without
      constraints.
    - `holding`: the sources of constraints that resist rigid motion of the part, none for a free part.
    - `link_nodes`, `link_references` (l,), `arms` (l, 3): nodes that turn with a reference, or in the mean, and their
      distances from it; `link_rigid` (l,): which are of rigid links; `link_terms` (n_all, 3 l): the displacements of
      all nodes for those of second order of each link.
    """

    nodes: int
    rotation_nodes: Int[np.ndarray, " nr"]
    independent: Int[np.ndarray, " ndof"]
    T: sp.csr_matrix | None = None
    holding: tuple[str, ...] = ()
    link_nodes: Int[np.ndarray, " l"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    link_references: Int[np.ndarray, " l"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    arms: Float[np.ndarray, "l 3"] = field(default_factory=lambda: np.zeros((0, 3)))
    link_terms: sp.csr_matrix | None = None
    rates: Warping = field(default_factory=Warping)
    link_rigid: Bool[np.ndarray, " l"] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @staticmethod
    def of(
        points: Float[np.ndarray, "n 3"],
        rotation_nodes: Int[np.ndarray, " nr"],
        constraints: Sequence[Constraint] = (),
        bare: Int[np.ndarray, " b"] | None = None,
        rates: Warping | None = None,
        unturned: Int[np.ndarray, " t"] | None = None,
        label: Callable[[int], str] = str,
    ) -> "DofMap":
        """The dofs of nodes at `points`, those of `rotation_nodes` with rotations, and their `rates` of twist,
        under `constraints`.

        `bare`: nodes of no cell, and `unturned`: nodes whose rotations no cell sees; those of these dofs on which
        nothing depends are held at zero; `label(node)`: the name of a node in messages.

        Raises `MeshError` for constraints on rotations that nodes do not have, and on rates of twist of nodes that have
        none or several.
        """
        rates = rates or Warping()
        size = 3 * (len(points) + len(rotation_nodes)) + len(rates.nodes)
        free = DofMap(len(points), rotation_nodes, np.arange(size), rates=rates)
        if not constraints:
            return free
        idle = _of_nodes(free, bare)
        if unturned is not None:
            idle |= set(free.rotations(unturned).ravel().tolist())
            constraints = _turning_too(constraints, points, unturned)
        return _eliminated(free, points, tuple(constraints), idle, label)

    @property
    def size(self) -> int:
        """Number of independent dofs."""
        return len(self.independent)

    @property
    def size_of_all(self) -> int:
        """Number of dofs of all nodes."""
        return self.start_of_rates + len(self.rates.nodes)

    @property
    def start_of_rates(self) -> int:
        """Number of the first rate of twist among the dofs of all nodes: there are as many translations and
        rotations."""
        return 3 * (self.nodes + len(self.rotation_nodes))

    @cached_property
    def _rotation_of(self) -> np.ndarray:
        place = np.full(self.nodes, -1)
        place[self.rotation_nodes] = np.arange(len(self.rotation_nodes))
        return place

    def has_rotations(self, nodes: Int[np.ndarray, " k"]) -> np.ndarray:
        """Whether each of `nodes` has rotations."""
        return np.asarray(self._rotation_of[nodes] >= 0)

    def translations(self, nodes: Any) -> Int[np.ndarray, "*k 3"]:
        """Numbers (..., 3) of the translations of nodes (...), among the dofs of all nodes."""
        return np.asarray(3 * np.asarray(nodes)[..., None] + np.arange(3))

    def rotations(self, nodes: Any) -> Int[np.ndarray, "*k 3"]:
        """Numbers (..., 3) of the rotations of nodes (...) that have some, among the dofs of all nodes."""
        return np.asarray(3 * self.nodes + 3 * self._rotation_of[np.asarray(nodes)][..., None] + np.arange(3))

    def warping(self, nodes: Any) -> Int[np.ndarray, " w"]:
        """Numbers of all rates of twist at nodes, among the dofs of all nodes."""
        return np.asarray(self.start_of_rates + np.flatnonzero(np.isin(self.rates.nodes, nodes)))

    def with_warping(self, dofs: Int[np.ndarray, "e d"], cells: Int[np.ndarray, " e"]) -> Int[np.ndarray, "e d2"]:
        """The `dofs` of `cells` of the mesh, followed by the rates of twist at their ends."""
        return np.concatenate([dofs, self.start_of_rates + self.rates.ends[cells]], axis=1)

    def dof(self, node: int, component: int, source: str, label: Callable[[int], str] = str) -> int:
        """Number of a component (0 to 2 translations, 3 to 5 rotations, 6 rate of twist) of a node, among the dofs of
        all nodes. `label(node)`: its name in messages.

        Raises `MeshError` for components that a node does not have, and where beams of several directions meet and
        have a rate of twist each."""
        if component < 3:
            return 3 * node + component
        if component < 6:
            if self._rotation_of[node] < 0:
                raise MeshError(f"{source}: acts on rotations of nodes that have none.")
            return int(self.rotations(node)[component - 3])
        found = self.warping(np.array([node]))
        if len(found) != 1:
            raise MeshError(
                f"{source}: acts on the rate of twist (component 6) of node {label(node)}, which has {len(found)} of "
                'them. Beams of torsion="vlasov" have one, and one for each direction where they meet at an angle: a '
                "rigid interface holds these."
            )
        return int(found[0])

    def node_of(self, independent: int) -> tuple[int, bool]:
        """The node of one of the independent dofs, and whether it is a rotation of the node."""
        dof = int(self.independent[independent])
        if dof >= self.start_of_rates:
            return int(self.rates.nodes[dof - self.start_of_rates]), False
        turns = dof >= 3 * self.nodes
        return (int(self.rotation_nodes[dof // 3 - self.nodes]) if turns else dof // 3), turns

    def of_cells(self, connectivity: Int[np.ndarray, "e nn"]) -> Int[np.ndarray, "e d"]:
        """Dofs of cells with rotations and the nodes `connectivity`, `[u, theta]` of each node: (e, 6 nn)."""
        both = np.concatenate([self.translations(connectivity), self.rotations(connectivity)], axis=2)
        return np.asarray(both.reshape(len(connectivity), -1))

    def row(
        self, nodes: Any, components: Any, coefficients: Any, source: str, label: Callable[[int], str] = str
    ) -> sp.csr_matrix:
        """The row (1, n_all) of coefficients of components (0 to 6) of nodes, among the dofs of all nodes; errors as in
        `dof`."""
        terms = zip(np.asarray(nodes).tolist(), np.asarray(components).tolist(), strict=True)
        dofs = np.array([self.dof(node, component, source, label) for node, component in terms], dtype=np.int64)
        shape = (1, self.size_of_all)
        return sp.csr_matrix((np.asarray(coefficients, dtype=float), (np.zeros(len(dofs), dtype=int), dofs)), shape)

    @cached_property
    def _place(self) -> np.ndarray:
        place = np.full(self.size_of_all, -1)
        place[self.independent] = np.arange(self.size)
        return place

    def places(self, dofs: Int[np.ndarray, "*d"]) -> Int[np.ndarray, "*d"]:
        """Places of dofs among the independent ones; -1 for those that were eliminated."""
        return dofs if self.T is None else self._place[dofs]

    def expand(self, q: Float[np.ndarray, "ndof *k"]) -> Float[np.ndarray, "n_all *k"]:
        """`T q`: the displacements of all nodes.

        Raises `MatrixError` when q has another length."""
        if len(q) != self.size:
            raise MatrixError(f"The displacements of {self.size} dofs are needed; their shape is {as_array(q).shape}.")
        return q if self.T is None else self.T @ q

    def gather(self, f: Any) -> Any:
        """`T^T f` (ndof, ...): forces on the independent dofs, from those on all (n_all, ...), sparse or not."""
        return f if self.T is None else self.T.T @ f

    def condense(self, A: sp.csr_matrix) -> sp.csr_matrix:
        """`T^T A T` of a symmetric matrix over all dofs."""
        if self.T is None:
            return A
        condensed = (self.T.T @ A @ self.T).tocsr()
        return sp.csr_matrix((condensed + condensed.T) / 2)

    def displacements(self, q: Float[np.ndarray, "ndof *k"]) -> Float[np.ndarray, "n 3 *k"]:
        """The translations of all nodes for the independent dofs q."""
        return self.expand(q)[: 3 * self.nodes].reshape(-1, 3, *q.shape[1:])

    def _on_links(self, forces: Float[np.ndarray, "n_all *p"]) -> Float[np.ndarray, "l 3 *p"]:
        """The forces on the second-order terms of the links that do the work of `forces` on all dofs."""
        assert self.link_terms is not None
        return np.asarray((self.link_terms.T @ forces).reshape(-1, 3, *forces.shape[1:]))

    def link_moments(self, forces: Float[np.ndarray, " n_all"], references: Int[np.ndarray, " r"]) -> list[np.ndarray]:
        """For each node of `references` of rigid links the matrix (3, 3) of second-order work of `forces` on its linked
        nodes per pair of its rotations: `sum (F d' + d F') / 2 - F . d I`."""
        if not len(references):
            return []
        found, on_links = [], self._on_links(forces)
        for reference in references:
            mine = self.link_references == reference
            W = on_links[mine].T @ self.arms[mine]
            found.append(0.5 * (W + W.T) - np.trace(W) * np.eye(3))
        return found

    def link_forces(
        self, forces: Float[np.ndarray, "n_all p"], fields: Float[np.ndarray, "ndof m"]
    ) -> Float[np.ndarray, "p m m"]:
        """Work of `forces` on all dofs in the second-order motion of linked nodes for pairs of `fields`:
        `sum F . (theta_i x (theta_j x d) + theta_j x (theta_i x d)) / 2`."""
        total = np.zeros((forces.shape[1], fields.shape[1], fields.shape[1]))
        if not len(self.arms):
            return total
        u, on_links = self.expand(fields), self._on_links(forces)
        for reference in np.unique(self.link_references):
            mine = self.link_references == reference
            W = np.einsum("lap,lb->pab", on_links[mine], self.arms[mine])
            W = 0.5 * (W + W.swapaxes(1, 2)) - np.trace(W, axis1=1, axis2=2)[:, None, None] * np.eye(3)
            theta = u[self.rotations(reference)]
            total += np.einsum("ai,pab,bj->pij", theta, W, theta, optimize=True)
        return total

    def link_motion(
        self, fields: Float[np.ndarray, "ndof m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "n_all p"]:
        """Second-order motion of linked nodes, `theta_i x (theta_j x d)` symmetrised, for pairs of fields."""
        if self.link_terms is None or not len(self.arms):
            return np.zeros((self.size_of_all, len(pairs)))
        theta = self.expand(fields)[self.rotations(self.link_references)]  # l, 3, m
        a, b = (theta[..., k] for k in pairs.T)
        d = self.arms[..., None]
        motion = 0.5 * (a * (b * d).sum(axis=1, keepdims=True) + b * (a * d).sum(axis=1, keepdims=True))
        motion -= d * (a * b).sum(axis=1, keepdims=True)
        return np.asarray(self.link_terms @ motion.reshape(-1, len(pairs)))


@dataclass(frozen=True)
class _Row:
    """An equation between dofs of all nodes: coefficients by dof, the dofs that it may eliminate first, its source, and
    coefficients of second-order terms by number, three of each linked node; none for linear equations."""

    terms: dict[int, float]
    first: tuple[int, ...]
    source: str
    second: dict[int, float] = field(default_factory=dict)


def _rows(
    free: DofMap, points: np.ndarray, constraint: Constraint, start: int, label: Callable[[int], str]
) -> Iterator[_Row]:
    source = constraint.source
    if isinstance(constraint, Equation):
        terms: dict[int, float] = {}
        for node, c, value in zip(constraint.nodes, constraint.components, constraint.coefficients, strict=True):
            dof = free.dof(int(node), int(c), source, label)
            terms[dof] = terms.get(dof, 0.0) + float(value)
        yield _Row({dof: value for dof, value in terms.items() if value}, tuple(terms)[:1], source)
    elif isinstance(constraint, RigidLink):
        yield from _link_rows(free, points, constraint, start)
    else:
        yield from _mean_rows(free, points, constraint, start)


def _link_rows(free: DofMap, points: np.ndarray, link: RigidLink, start: int) -> Iterator[_Row]:
    u0, t0 = free.translations(link.reference), free.rotations(link.reference)
    turning = free.has_rotations(link.nodes)
    for place, (node, turns) in enumerate(zip(link.nodes.tolist(), turning.tolist(), strict=True), start):
        d = points[node] - points[link.reference]
        u = free.translations(node)
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3  # (theta x d)_k = theta_i d_j - theta_j d_i
            if k in link.components:
                terms = {int(u[k]): 1.0, int(u0[k]): -1.0, int(t0[i]): -float(d[j]), int(t0[j]): float(d[i])}
                yield _Row({dof: c for dof, c in terms.items() if c}, (int(u[k]),), link.source, {3 * place + k: -1.0})
            if turns and k + 3 in link.components:
                t = int(free.rotations(node)[k])
                yield _Row({t: 1.0, int(t0[k]): -1.0}, (t,), link.source)


def _mean_rows(free: DofMap, points: np.ndarray, link: MeanLink, start: int) -> Iterator[_Row]:
    """The reference moves with the mean of the nodes, without what they move to second order because they turn about
    it: a mean of displacements that turn shows a motion of its own."""
    x = points[link.nodes]
    B, turns = mean_motion(x, np.asarray(link.weights), points[link.reference])
    if not turns and set(link.components) & {3, 4, 5}:
        raise MeshError(
            f"{link.source}: its {len(x)} nodes lie on one line, and the mean rotation about it is not defined. "
            "Give more nodes, or the translations only."
        )
    nodes = free.translations(link.nodes)
    for k in link.components:
        own = int((free.translations if k < 3 else free.rotations)(link.reference)[k % 3])
        terms = {own: -1.0}
        for dof, c in zip(nodes.ravel().tolist(), B[:, k].ravel().tolist(), strict=True):
            if c:
                terms[dof] = terms.get(dof, 0.0) + c
        second = {3 * start + j: -c for j, c in enumerate(B[:, k].ravel().tolist()) if c} if _turns(link) else {}
        yield _Row(terms, (own,), link.source, second)


def _turns(link: Constraint) -> bool:
    """Whether it has terms of second order: links whose reference turns with the nodes."""
    return isinstance(link, RigidLink) or (isinstance(link, MeanLink) and {3, 4, 5} <= set(link.components))


def _turning_too(constraints: Sequence[Constraint], points: np.ndarray, unturned: np.ndarray) -> list[Constraint]:
    """The constraints; a point that follows the translations of a mean turns with it, too, where nothing else has to do
    with its rotations (`unturned`, of no other constraint): what lies there then moves to second order."""
    nodes, count = np.unique(np.concatenate([np.unique(c.members) for c in constraints]), return_counts=True)
    alone = set(np.intersect1d(unturned, nodes[count == 1]).tolist())
    found: list[Constraint] = []
    for c in constraints:
        if isinstance(c, MeanLink) and c.reference in alone and c.nodes.max() < len(points):
            _, turns = mean_motion(points[c.nodes], np.asarray(c.weights), points[c.reference])
            c = replace(c, components=tuple(sorted({*c.components, 3, 4, 5}))) if turns else c
        found.append(c)
    return found


def _of_nodes(free: DofMap, nodes: np.ndarray | None) -> set[int]:
    """All dofs of nodes."""
    if nodes is None:
        return set()
    turning = nodes[free.has_rotations(nodes)]
    return {*free.translations(nodes).ravel().tolist(), *free.rotations(turning).ravel().tolist()}


def _eliminated(
    free: DofMap,
    points: np.ndarray,
    constraints: tuple[Constraint, ...],
    bare: set[int],
    label: Callable[[int], str] = str,
) -> DofMap:
    counts = np.cumsum([0] + [len(c.nodes) if _turns(c) else 0 for c in constraints])
    starts = counts[:-1].tolist()
    rows = [row for c, start in zip(constraints, starts, strict=True) for row in _rows(free, points, c, start, label)]
    length = max(float(np.ptp(points, axis=0).max()), np.finfo(float).tiny)
    size = np.ones(free.size_of_all)
    size[3 * free.nodes :] = 1 / length  # a rotation beside a displacement of the part
    size[free.start_of_rates :] = 1 / length**2
    every = free.size_of_all  # the second-order terms of links follow the dofs, and are never eliminated
    size = np.concatenate([size, np.ones(3 * counts[-1])])
    links = [c for c in constraints if isinstance(c, RigidLink | MeanLink) and _turns(c)]
    rigid = [c for c in links if isinstance(c, RigidLink)]
    leading = {int(dof) for c in rigid for dof in (*free.translations(c.reference), *free.rotations(c.reference))}
    solved: dict[int, dict[int, float]] = {}
    users: dict[int, set[int]] = {}
    for row in rows:
        scale = max(abs(c) * size[dof] for dof, c in row.terms.items())
        terms = {every + number: c for number, c in row.second.items()}
        for dof, c in row.terms.items():
            for other, factor in solved.get(dof, {dof: 1.0}).items():
                terms[other] = terms.get(other, 0.0) + c * factor
        terms = {dof: c for dof, c in terms.items() if abs(c) * size[dof] > REDUNDANT * scale}
        own = [dof for dof in terms if dof < every]
        if not own:
            continue  # it follows from the others
        largest = max(own, key=lambda dof: (dof not in leading, abs(terms[dof]) * size[dof]))
        spare = [dof for dof in own if dof in bare and dof not in leading]
        chosen = next((dof for dof in (*row.first, *spare) if dof in terms), largest)
        pivot = terms.pop(chosen)
        expression = {dof: -c / pivot for dof, c in terms.items()}
        for user in users.pop(chosen, set()):
            factor = solved[user].pop(chosen)
            for dof, c in expression.items():
                solved[user][dof] = solved[user].get(dof, 0.0) + factor * c
                users.setdefault(dof, set()).add(user)
        solved[chosen] = expression
        for dof in expression:
            users.setdefault(dof, set()).add(chosen)
    needed = {dof for expression in solved.values() for dof, c in expression.items() if c}
    dependent = np.array(sorted({*solved} | (bare - needed)), dtype=np.int64)
    independent = np.setdiff1d(free.independent, dependent)
    place = np.concatenate([np.full(every, -1), len(independent) + np.arange(3 * counts[-1])])
    place[independent] = np.arange(len(independent))
    i, j, values = [*independent.tolist()], [*range(len(independent))], [1.0] * len(independent)
    for dof, expression in solved.items():
        i += [dof] * len(expression)
        j += [int(place[other]) for other in expression]
        values += expression.values()
    both = sp.csr_matrix((values, (i, j)), shape=(every, len(independent) + 3 * counts[-1])).tocsc()
    T, terms_of_links = both[:, : len(independent)].tocsr(), both[:, len(independent) :].tocsr()
    nodes = np.concatenate([np.zeros(0, dtype=np.int64), *(c.nodes for c in links)])
    references = np.concatenate([np.zeros(0, dtype=np.int64), *(np.full(len(c.nodes), c.reference) for c in links)])
    return DofMap(
        free.nodes,
        free.rotation_nodes,
        independent,
        T,
        _holding(free, points, rows, size, length),
        nodes,
        references,
        points[nodes] - points[references],
        terms_of_links,
        free.rates,
        np.concatenate([np.zeros(0, dtype=bool), *(np.full(len(c.nodes), isinstance(c, RigidLink)) for c in links)]),
    )


def _holding(
    free: DofMap, points: np.ndarray, rows: Sequence[_Row], size: np.ndarray, length: float
) -> tuple[str, ...]:
    """Sources of rows that a rigid motion of the part changes."""
    x = points - points.mean(axis=0)
    R = np.zeros((free.size_of_all, 6))
    n, end = 3 * free.nodes, free.start_of_rates
    for k in range(3):
        R[k:n:3, k] = 1.0
        R[:n, 3 + k] = np.cross(np.eye(3)[k], x).ravel() / length
        R[n + k : end : 3, 3 + k] = 1 / length
    found: dict[str, None] = {}
    for row in rows:
        dofs, c = np.array(list(row.terms), dtype=np.int64), np.array(list(row.terms.values()))
        if np.abs(c @ R[dofs]).max() > RIGID * np.abs(c * size[dofs]).sum():
            found[row.source] = None
    return tuple(found)
