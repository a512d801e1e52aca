"""Interfaces: sets of nodes with a reference point, where joints and forces attach.

`rigid` (RBE2): the set moves as one. `average` (RBE3): the interface moves with the weighted least-squares mean
of the set, which stays deformable. The motion of an interface is `[t; theta] = B^T u` (docs/theory.md, "Interfaces"):
the translation of its reference point and a small rotation vector, both in the axes of the mesh.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.axes.limits import are_numbers, floats
from fem.dofs.dof_map import DofMap
from fem.errors import InterfaceError, MeshError, unknown_name
from fem.mesh.face_area import lumped_area
from fem.mesh.mesh import Mesh, is_selection, label_of
from fem.mesh.selection import Points
from fem.renamed import renamed
from fem.shown import shown

KINDS = ("rigid", "average")
COLLINEAR = 1e-6
"""A set whose second principal extent is below this fraction of its first counts as a line."""
THIN = 0.05
"""Extent across an axis, relative to the largest, up to which displacements do not define the rotation of a set about
it where its nodes have rotations: a nearly straight edge turns about itself as its nodes do."""


@runtime_checkable
class HasPoints(Protocol):
    """The attributes of a `Model` on which interfaces depend: the points, and the mesh that names sets of nodes."""

    @property
    def points(self) -> Any: ...
    @property
    def mesh(self) -> Mesh | None: ...
    @property
    def dof_map(self) -> DofMap: ...


@shown
@renamed(motion_rows="interface_matrix", rigid_map="rigid_body_modes")
@dataclass(frozen=True, eq=False)
class Interface:
    """A set of nodes and the reference point that stands for it.

    - `nodes`: name of a set of the mesh, a `Selection`, or node numbers (counted from 0).
    - `kind`: "rigid" (RBE2; stiffens the part there, as a bolted or welded fitting does) or "average" (RBE3; adds
      no stiffness, as a soft or small contact does). A rigid one holds the warping of beams with torsion by Vlasov at
      its nodes, an average one leaves it free.
    - `point` (3,): where the joint is; default: the weighted centroid of the nodes.
    - `weights` (ns,), positive, in the order of `nodes`; default: the area that each node stands for when the nodes
      make up whole faces of the skin, otherwise all equal. They act on the default point and on the mean motion of
      an average interface; a rigid one moves as one whatever they are.

    `resolve` makes the resolved record: `name` set, `nodes` sorted, `point` and `weights` arrays, `rotation_dofs` those
    of its nodes that have rotations, and `warping_dofs` the rates of twist that it holds, among the dofs of all nodes.
    Units: consistent.

    Raises `InterfaceError` when kind, point or weights are not usable.
    """

    nodes: Any
    kind: str = "rigid"
    point: Any = None
    weights: Any = None
    name: str = ""
    rotation_dofs: Any = ()
    warping_dofs: Any = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InterfaceError(f"Interface {self.name!r}: " + unknown_name("interface kind", self.kind, KINDS))
        if self.point is not None:
            point = _floats(self.point, f"Interface {self.name!r}: point")
            if point.shape != (3,):
                raise InterfaceError(
                    f"Interface {self.name!r}: the point needs 3 coordinates; its shape is {point.shape}."
                )
            object.__setattr__(self, "point", point)
        if self.weights is not None:
            weights = _floats(self.weights, f"Interface {self.name!r}: weights")
            if weights.ndim != 1 or not (weights > 0).all():
                raise InterfaceError(
                    f"Interface {self.name!r}: weights must be one positive number a node; found shape "
                    f"{weights.shape}, smallest {weights.min(initial=np.inf):.3g}."
                )
            object.__setattr__(self, "weights", weights)

    @property
    def translation_dofs(self) -> Int[np.ndarray, " d"]:
        """Dofs (3 ns,) of the displacements of the nodes, node by node, among the dofs of all nodes."""
        return (3 * self.nodes[:, None] + np.arange(3)).ravel()

    @property
    def dofs(self) -> Int[np.ndarray, " d"]:
        """All dofs of the nodes, among the dofs of all nodes: displacements, then rotations where there are some, then
        the rates of twist that it holds."""
        others = (np.asarray(dofs, dtype=np.int64) for dofs in (self.rotation_dofs, self.warping_dofs))
        return np.concatenate([self.translation_dofs, *others])

    def free_dofs(self, model: HasPoints) -> Int[np.ndarray, " d"]:
        """Places of the `dofs` among the independent ones of the model. A rigid interface has only such dofs."""
        return model.dof_map.places(self.dofs)

    def rigid_body_modes(self, model: HasPoints) -> Float[np.ndarray, "d 6"]:
        """Motion of the `dofs` for unit translations x, y, z of the set and unit rotations about `point`."""
        turned = np.tile(np.hstack([np.zeros((3, 3)), np.eye(3)]), (len(self.rotation_dofs) // 3, 1))
        return np.vstack([rigid_motion(model.points[self.nodes], self.point), turned, self._unwarped])

    @property
    def _unwarped(self) -> np.ndarray:
        return np.zeros((len(self.warping_dofs), 6))

    def interface_matrix(self, model: HasPoints) -> sp.csr_matrix:
        """B (ndof, 6), sparse: `B^T u = [t; theta]`, the motion of the interface for nodal displacements u.

        Minimises `sum_k w_k |u_k - t - theta x (x_k - p)|^2` over t and theta, so `B^T L = I` for
        L = `rigid_body_modes`: rigid motion is met exactly. `B f` spreads a wrench f = [force; moment about `point`]
        over the nodes. A rigid interface uses equal weights, any weights giving the same answer there. Cost: linear in
        the number of nodes.

        Source: the RBE3 element of NASTRAN; the normal equations are solved about the centroid, where they decouple.
        """
        return sp.csr_matrix(model.dof_map.gather(self.nodal_matrix(model)))

    def nodal_matrix(self, model: HasPoints) -> sp.csr_matrix:
        """B of `interface_matrix` over the dofs of all nodes (n_all, 6), before constraints are eliminated."""
        x = model.points[self.nodes]
        w = np.ones(len(x)) if self.kind == "rigid" else self.weights
        w = w / w.sum()
        if len(self.rotation_dofs):
            return self._rows_with_rotations(model, w)
        centre = w @ x
        d = x - centre
        J = np.eye(3) * (w @ (d * d).sum(axis=1)) - (d.T * w) @ d
        rows = np.repeat(w, 3)[:, None] * rigid_motion(x, centre)  # moments of u about the centroid
        rows[:, 3:] = np.linalg.solve(J, rows[:, 3:].T).T
        rows[:, :3] += np.cross(rows[:, 3:], self.point - centre)  # t(point) = t(centre) + theta x (point - centre)
        dof, direction = np.repeat(self.translation_dofs, 6), np.tile(np.arange(6), len(rows))
        return sp.csr_matrix((rows.ravel(), (dof, direction)), shape=(model.dof_map.size_of_all, 6))

    def _rows_with_rotations(self, model: HasPoints, w: np.ndarray) -> sp.csr_matrix:
        """B of a set with nodes of beams or shells. The displacements of an average one define its translation, and its
        rotation about the axes across which it extends; about the others it turns as its nodes do.

        Rotations of nodes about the normal of a shell, which has almost no stiffness against them, do not count, unless
        nothing else defines the rotation: what acts on nodes are forces, and moments in the tangent planes.
        """
        if self.kind == "average":
            rows = self._mean_motion(model, w)
        else:
            L = self.rigid_body_modes(model)
            extent = np.ptp(model.points[self.nodes], axis=0).max()
            turning = np.full(len(self.rotation_dofs), (extent if extent > 0 else 1.0) ** 2 / len(w))
            WL = np.concatenate([np.repeat(w, 3), turning, np.zeros(len(self.warping_dofs))])[:, None] * L
            rows = WL @ np.linalg.inv(L.T @ WL)
        dof, direction = np.repeat(self.dofs, 6), np.tile(np.arange(6), len(rows))
        return sp.csr_matrix((rows.ravel(), (dof, direction)), shape=(model.dof_map.size_of_all, 6))

    def _mean_motion(self, model: HasPoints, w: np.ndarray) -> np.ndarray:
        """The rows (d, 6) of an average interface whose nodes, some of them, have rotations."""
        turning = self.nodes[model.dof_map.has_rotations(self.nodes)]
        centre = w @ model.points[self.nodes]
        d = model.points[self.nodes] - centre
        spread = (d.T * w) @ d
        inertia, axes = np.linalg.eigh(np.eye(3) * np.trace(spread) - spread)
        open_ = inertia <= THIN**2 * inertia[2]
        closed, around = axes[:, ~open_], axes[:, open_]
        rows = np.repeat(w, 3)[:, None] * rigid_motion(model.points[self.nodes], centre)
        rows[:, 3:] = rows[:, 3:] @ closed / inertia[~open_] @ closed.T
        tangent = np.tile(np.eye(3), (len(turning), 1, 1))
        if model.mesh is not None and open_.any():
            n = model.mesh.free_normals[turning]
            tangent -= n[:, :, None] * n[:, None, :]
            if np.linalg.eigvalsh(around.T @ tangent.mean(axis=0) @ around)[0] <= COLLINEAR:
                tangent[:] = np.eye(3)
        mean = tangent.mean(axis=0) @ around  # of the rotations about the open axes
        own = around @ np.linalg.inv(around.T @ mean) if open_.any() else around
        turned = (tangent @ around / len(turning) @ own.T).reshape(-1, 3)
        rows[:, 3:] -= rows[:, 3:] @ mean @ own.T  # the part of the other rotations in it
        rows = np.vstack([rows, np.hstack([np.zeros((len(turned), 3)), turned]), self._unwarped])
        rows[:, :3] += np.cross(rows[:, 3:], self.point - centre)
        return rows

    def __str__(self) -> str:
        return f"{self.kind} interface {self.name!r}: {np.size(self.nodes)} nodes, point {self.point}"


def rigid_interface_map(model: HasPoints, interfaces: Iterable[Interface]) -> sp.csr_matrix:
    """T (ndof, m), sparse: the independent dofs of the model for those that no rigid one of `interfaces` holds, and six
    motions of each rigid one."""
    rigid, n = [i for i in interfaces if i.kind == "rigid"], model.dof_map.size
    held = [i.free_dofs(model) for i in rigid]
    free = np.setdiff1d(np.arange(n), np.concatenate([np.zeros(0, dtype=np.int64), *held]))
    T = [sp.csr_matrix((np.ones(len(free)), (free, np.arange(len(free)))), shape=(n, len(free)))]
    for dofs, interface in zip(held, rigid, strict=True):
        places = np.repeat(dofs, 6), np.tile(np.arange(6), len(dofs))
        T.append(sp.csr_matrix((interface.rigid_body_modes(model).ravel(), places), shape=(n, 6)))
    found = sp.hstack(T, format="csr")
    found.eliminate_zeros()
    return found


def rigid_motion(points: Float[np.ndarray, "n 3"], about: Float[np.ndarray, "3"]) -> Float[np.ndarray, "d 6"]:
    """Displacements (3 n, 6) of `points` for unit translations x, y, z and unit rotations x, y, z `about` a point."""
    d = points - about
    map_ = np.zeros((len(points), 3, 6))
    map_[:, [0, 1, 2], [0, 1, 2]] = 1.0
    for k in range(3):
        map_[:, :, 3 + k] = np.cross(np.eye(3)[k], d)
    return map_.reshape(-1, 6)


def resolve(model: HasPoints, name: str, spec: Any) -> Interface:
    """The interface `name` of `model` with node numbers, point and weights filled in.

    `spec`: a set name, a `Selection`, node numbers (counted from 0), or an `Interface` of any of these; what is not
    an `Interface` becomes a rigid one. A rigid interface on nodes of one rigid link of the part is that link: its
    reference node stands for it. Raises InterfaceError for an unknown or empty set, nodes that do not exist
    or occur twice, and a set that cannot carry six motions (a single node, nodes on one line), naming its rank.
    """
    spec = spec if isinstance(spec, Interface) else Interface(spec)
    nodes, weights = _nodes(model, name, spec)
    points = model.points[nodes]
    if weights is None:
        weights = lumped_area(model.mesh, nodes) if model.mesh is not None else None
    if weights is None:
        weights = np.ones(len(nodes))
    centre = weights @ points / weights.sum()
    turning = nodes[model.dof_map.has_rotations(nodes)]
    if not len(turning):
        _require_six_motions(name, points - centre, float(np.ptp(model.points, axis=0).max()))
    nodes.setflags(write=False)
    point, members = centre if spec.point is None else spec.point, nodes
    if spec.kind == "rigid" and (reference := _rigid_already(model.dof_map, nodes)) is not None:
        nodes, turning, weights = np.array([reference]), np.array([reference]), np.ones(1)
    warping = model.dof_map.warping(members) if spec.kind == "rigid" else np.zeros(0, dtype=np.int64)
    warping = warping[model.dof_map.places(warping) >= 0]  # others follow by an equation
    found = Interface(nodes, spec.kind, point, weights, name, model.dof_map.rotations(turning).ravel(), warping)
    if spec.kind == "rigid":
        _require_independent(model, found)
    return found


def _rigid_already(dofs: DofMap, nodes: np.ndarray) -> int | None:
    """The reference of the rigid link whose nodes these are; None where they are not of one."""
    references, linked = dofs.link_references[dofs.link_rigid], dofs.link_nodes[dofs.link_rigid]
    for reference in np.unique(references).tolist():
        if np.isin(nodes, [reference, *linked[references == reference]]).all():
            return int(reference)
    return None


def _require_independent(model: HasPoints, interface: Interface) -> None:
    """Refuse a rigid interface on nodes that a constraint moves."""
    dofs = model.dof_map
    turning = dofs.has_rotations(interface.nodes)
    lost = np.asarray((dofs.places(dofs.translations(interface.nodes)) < 0).any(axis=1))
    lost[turning] |= (dofs.places(dofs.rotations(interface.nodes[turning])) < 0).any(axis=1)
    if lost.any():
        raise InterfaceError(
            f"The rigid interface {interface.name!r} has {int(lost.sum())} nodes that follow others by "
            f"constraints, or rotate without stiffness ({_some(interface.nodes[lost], model.mesh)}), and a node moves "
            'with one rigid set only. Leave these nodes out, or make it an average interface, kind = "average".'
        )


def require_disjoint(interfaces: Mapping[str, Interface], mesh: Mesh | None) -> None:
    """Refuse rigid interfaces that share nodes, of the `mesh` if there is one: a node cannot move with two sets.
    Average ones may overlap."""
    rigid = [interface for interface in interfaces.values() if interface.kind == "rigid"]
    for a, b in combinations(rigid, 2):
        shared = np.intersect1d(a.nodes, b.nodes)
        if len(shared):
            raise InterfaceError(
                f"The rigid interfaces {a.name!r} and {b.name!r} share {len(shared)} nodes ({_some(shared, mesh)}), "
                "and a node moves with one rigid set only. Remove the shared nodes from one of them, or make one an "
                'average interface, kind = "average".'
            )


def _nodes(model: HasPoints, name: str, spec: Interface) -> tuple[np.ndarray, np.ndarray | None]:
    """Sorted node numbers, and the given weights in the same order."""
    given = spec.nodes
    by_number = not isinstance(given, str) and not is_selection(given)
    if by_number:
        nodes = _numbers(given, name, model)
    elif model.mesh is None and isinstance(given, str):
        raise InterfaceError(
            f"Interface {name!r}: the model was made from matrices and has no mesh, so it knows no set {given!r}; "
            "give node numbers (counted from 0), or a place such as fem.on_plane(point, normal)."
        )
    else:
        try:
            found = given.nodes(Points(model.points, "of matrices")) if model.mesh is None else model.mesh.nodes(given)
            nodes = np.array(found, dtype=np.int64)
        except MeshError as error:
            raise InterfaceError(f"Interface {name!r}: {error}") from None
        if len(nodes) == 0:
            raise InterfaceError(f"Interface {name!r}: {given!r} holds no node. Check the set, or the tolerance.")
    order = np.argsort(nodes, kind="stable")
    weights = spec.weights
    if weights is not None and len(weights) != len(nodes):
        raise InterfaceError(
            f"Interface {name!r}: {len(weights)} weights for {len(nodes)} nodes; one a node is needed."
        )
    return nodes[order], None if weights is None else weights[order]


def _numbers(given: Any, name: str, model: HasPoints) -> np.ndarray:
    nodes, count = np.asarray(given), len(model.points)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes.dtype.kind not in "iu":
        raise InterfaceError(
            f"Interface {name!r}: expected a set name, a Selection or a list of node numbers; found {given!r}."
        )
    outside = nodes[(nodes < 0) | (nodes >= count)]
    if len(outside):
        raise InterfaceError(
            f"Interface {name!r}: nodes {_some(outside, None)} do not exist; the model has nodes 0 to {count - 1}."
        )
    unique, times = np.unique(nodes, return_counts=True)
    if len(unique) < len(nodes):
        raise InterfaceError(
            f"Interface {name!r}: nodes {_some(unique[times > 1], model.mesh)} are given more than once."
        )
    return nodes.astype(np.int64)


def _require_six_motions(name: str, offsets: np.ndarray, size: float) -> None:
    extent = np.linalg.svd(offsets, compute_uv=False) / np.sqrt(len(offsets))
    if len(offsets) > 1 and extent[0] > 1e-12 * size:
        if extent[1] > COLLINEAR * extent[0]:
            return
        rank, what = 5, f"its {len(offsets)} nodes lie on one line, and the rotation about the line is left open"
    elif len(offsets) > 1:
        rank, what = 3, f"its {len(offsets)} nodes lie at one point, and no rotation is defined"
    else:
        rank, what = 3, "it has a single node, and no rotation is defined"
    raise InterfaceError(
        f"Interface {name!r} carries {rank} of the six motions (rank {rank}): {what}. Select at least three nodes "
        "that are not on one line, for instance the faces around the point."
    )


def _floats(value: Any, what: str) -> np.ndarray:
    array = floats(value)
    if not are_numbers(value):
        raise InterfaceError(f"{what} must be numbers; found {value!r}.")
    if not np.isfinite(array).all():
        raise InterfaceError(f"{what} must be finite; found {value!r}.")
    array.setflags(write=False)
    return array


def _some(numbers: np.ndarray, mesh: Mesh | None) -> str:
    """The first of some nodes, with their numbers in the file of the mesh, and how many there are."""
    shown = ", ".join(label_of(mesh, n) for n in numbers[:5].tolist())
    return shown if len(numbers) <= 5 else f"{shown}, ... {len(numbers)} in all"
