"""Displacements, stresses and reactions of a part that supports hold, under one static load."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.analysis.drilling import warn_of_drilling
from fem.errors import FactorisationError, MatrixError, MeshError, unknown_name
from fem.interface import Interface, rigid_interface_map
from fem.linear_algebra.factor import factor
from fem.matrices.stress import von_mises
from fem.mesh.mesh import is_selection, triple
from fem.mesh.selection import Points
from fem.model import Model
from fem.shown import shown

FREE = 1e-11
"""What a rigid motion moves supports and loads springs, relative to the size of the terms of each, that counts as
none: round-off."""
ROUND_OFF = 1e-12
"""Entries of a row of unit length that count as none."""
DEPENDENT = 1e-10
"""Part of a support, relative to the largest of its kind, that counts as following from the others."""

NO_TORQUE = 1e-6
"""Torque of a beam, relative to the largest moment at the ends of its kind, that counts as none."""


@shown
@dataclass(frozen=True, eq=False)
class StaticResult:
    """A part at rest under a load. Units: consistent; axes: those of the mesh.

    - `model`, `load` (ndof,): what was solved; `q` (ndof,): displacements of its independent dofs;
    - `reactions`: for each support that was given (not those of a deck) the force and the moment (6,) that it exerts on
      the part, the moment about the point of an interface, or the mean of the nodes.
    """

    model: Model
    load: Float[np.ndarray, " ndof"]
    q: Float[np.ndarray, " ndof"]
    reactions: Mapping[str, Float[np.ndarray, "6"]]

    @property
    def displacements(self) -> Float[np.ndarray, "n 3"]:
        """Displacements of all nodes."""
        return self.model.displacements(self.q)

    @property
    def rotations(self) -> Float[np.ndarray, "nr 3"]:
        """Rotations of the nodes `Model.rotation_nodes`."""
        dofs = self.model.dof_map
        return dofs.expand(self.q)[3 * dofs.nodes : dofs.start_of_rates].reshape(-1, 3)

    @property
    def strain_energy(self) -> float:
        """Strain energy: half the work of the load."""
        return float(0.5 * self.q @ self.load)

    def motion(self, interface: str) -> Float[np.ndarray, "6"]:
        """Translation of the point of an interface of the model, and rotation of the interface."""
        return np.asarray(_interface(self.model, interface).interface_matrix(self.model).T @ self.q)

    @cached_property
    def stresses(self) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, "p 3"], Float[np.ndarray, "p 6"]]:
        """Nodes (-1 on beams and shells), places and stresses (xx, yy, zz, xy, yz, zx), as of `Model.stresses`."""
        nodes, places, stresses = self.model.stresses(self.q[:, None])
        return nodes, places, stresses[:, :, 0]

    @property
    def von_mises(self) -> Float[np.ndarray, " p"]:
        """Von Mises stress at the places of `stresses`."""
        return von_mises(self.stresses[2])

    def __str__(self) -> str:
        moved = np.linalg.norm(self.displacements, axis=1)
        lines = [f"{self.model.name!r} at rest: {_at('displacement', moved, self.model.points)}"]
        if self.model.has_elements:
            lines.append(f"  {_at('von Mises stress', self.von_mises, self.stresses[1])}")
        lines += [
            f"  reaction of {key!r}: force {triple(r[:3])}, moment {triple(r[3:])}" for key, r in self.reactions.items()
        ]
        return "\n".join([*lines, f"  strain energy {self.strain_energy:.6g}"])


def _at(what: str, values: np.ndarray, places: np.ndarray) -> str:
    worst = int(np.argmax(values))
    return f"largest {what} {values[worst]:.6g} at {triple(places[worst])}"


def interface_load(
    model: Model, interface: str, force: Any = (0, 0, 0), moment: Any = (0, 0, 0)
) -> Float[np.ndarray, " ndof"]:
    """Forces (ndof,) of a `force` (3,) at the point of an interface and a `moment` (3,), spread over its nodes.

        load = fem.interface_load(part, "tip", force=(0, 0, -100), moment=(0, 5, 0))

    Raises `MatrixError` for an unknown interface, and vectors that have not three finite numbers.
    """
    wrench = np.concatenate([np.asarray(force, dtype=float).ravel(), np.asarray(moment, dtype=float).ravel()])
    if np.shape(force) != (3,) or np.shape(moment) != (3,) or not np.isfinite(wrench).all():
        raise MatrixError(f"A load at interface {interface!r} needs three finite numbers; found {force} and {moment}.")
    return np.asarray(_interface(model, interface).interface_matrix(model) @ wrench)


def solve_static(model: Model, load: Float[np.ndarray, " ndof"], supports: Any = ()) -> StaticResult:
    """The part at rest under a `load` (ndof,), the sum of `fem.gravity`, `fem.pressure`, `fem.point_force` and
    `fem.interface_load`: one load case of the full model, linear.

        at_rest = fem.solve_static(part, fem.gravity(part, (0, 0, -9.81)), supports=["root"])
        print(at_rest); at_rest.displacements; at_rest.von_mises.max()

    - `supports`: what holds the part: names of interfaces (average ones hold the mean motion), names of node sets,
      selections, or lists of node numbers (their nodes do not move at all); as a dictionary with the components that
      each holds, 0 to 2 displacements and 3 to 5 rotations: `{"symmetry": (0, 4, 5)}`. Supports that a deck brings
      along, `fem.read_mesh(..., supports="keep")`, hold as well.

    Rigid interfaces are rigid, also those that hold nothing, as in a reduced body. Cost: one factorisation.

    Raises `MatrixError` for loads of another length and wrong components; `MeshError` for unknown supports, and where
    the file of the mesh says more of the part than is obeyed; `FactorisationError` where the supports leave a motion of
    the part free. Issues a `MeshWarning` where a moment acts on the drilling stiffness of shells,
    however large other loads are, where twisted open sections warp freely at supports, and where sections of beams that
    continue each other are turned.
    """
    model.require_obeyed()
    model.warn_of_hinges()
    f = np.asarray(load, dtype=float)
    if f.shape != (model.ndof,) or not np.isfinite(f).all():
        raise MatrixError(
            f"Model {model.name!r}: a load has {model.ndof} finite numbers, one for each dof; found shape {f.shape}. "
            "fem.gravity, fem.pressure, fem.point_force and fem.interface_load make loads, which may be added."
        )
    T = rigid_interface_map(model, model.interfaces.values())
    held = _supports(model, supports)
    model.warn_of_turned_sections()
    model.warn_of_turned_shells()
    C = sp.vstack([sp.csr_matrix((0, model.ndof)), *(support.rows for support in held)], format="csr")
    _require_held(model, C)
    K = sp.csr_matrix(T.T @ model.K @ T)
    diagonal = K.diagonal()
    size = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    S = sp.diags_array(size)
    K, rows, loads = sp.csr_matrix(S @ K @ S), sp.csr_matrix(C @ T @ S), size * (T.T @ f)
    rows = sp.csr_matrix(sp.diags_array(1 / _lengths(rows)) @ rows)
    fixed, others = _separated(rows)
    free = np.setdiff1d(np.arange(len(size)), fixed)
    U, s, V = _independent(rows[others][:, free])
    z = np.zeros(len(size))
    try:
        if V.shape[1]:
            A = sp.block_array([[K[free][:, free], V], [V.T, None]], format="csr")
            with factor(A, "symmetric", solver=model.solver) as inverse:
                z[free] = inverse.solve(np.concatenate([loads[free], np.zeros(V.shape[1])]))[: len(free)]
        elif len(free):
            with factor(K, "positive-definite", solver=model.solver, keep=free) as inverse:
                z[free] = inverse.solve(loads[free])
    except FactorisationError as error:
        names = ", ".join(repr(support.name) for support in held) or "its constraints"
        raise FactorisationError(f"Model {model.name!r}, held by {names}: {_loose(model, T, free, error)}") from error
    residual = K @ z - loads
    multipliers = np.zeros(len(C.indptr) - 1)
    multipliers[others] = U @ (V.T @ residual[free] / s)
    single = np.setdiff1d(np.arange(len(multipliers)), others)
    column, first = np.unique(rows[single].indices, return_index=True)
    left = residual - rows[others].T @ multipliers[others]
    multipliers[single[first]] = left[column] / rows[single].data[first]
    q = T @ (size * z)
    warn_of_drilling(model, f, q)
    if _twists(model, q):
        model.warn_of_free_warping(np.concatenate([support.clamped for support in held]))
    return StaticResult(model, f, q, _reactions(model, held, multipliers / _lengths(C @ T @ S)))


def _twists(model: Model, q: np.ndarray) -> bool:
    """Whether beams of the model transmit a torque."""
    u = model.dof_map.expand(q)
    for beams, dofs in model.elements.beams if model.has_elements else ():
        ends = np.einsum("eab,eb->ea", beams.stiffness(), u[dofs])[:, [3, 4, 5, 9, 10, 11]]
        if (np.abs((beams.torque * u[dofs]).sum(axis=1)) > NO_TORQUE * np.abs(ends).max()).any():
            return True
    return False


@dataclass(frozen=True, eq=False)
class _Support:
    """What holds the part: `rows @ q = 0`; moments are about `point`; `clamped` nodes do not move at all."""

    name: str
    rows: sp.csr_matrix
    point: np.ndarray
    clamped: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def _supports(model: Model, given: Any) -> list[_Support]:
    found = []
    for place, components in _places(given).items():
        wanted = range(6) if components is None else _components(components)
        if not wanted:
            raise MatrixError(
                f"Support {place!r} of {model.name!r}: components are numbers from 0 to 5, displacements and then "
                f"rotations, each once, such as (0, 1, 2), not a mask; found {components!r}."
            )
        if isinstance(place, str) and place in model.interfaces:
            interface = model.interfaces[place]
            rows = sp.csr_matrix(interface.interface_matrix(model).T)[list(wanted)]
            found.append(_Support(place, sp.csr_matrix(rows), np.asarray(interface.point)))
            continue
        nodes = _nodes(model, place)
        dofs = model.dof_map
        turning = nodes[dofs.has_rotations(nodes)]
        places = [dofs.translations(nodes)[:, [c for c in wanted if c < 3]].ravel()]
        places.append(dofs.rotations(turning)[:, [c - 3 for c in wanted if c >= 3]].ravel())
        if components is None:
            places.append(dofs.warping(nodes))
        every = np.concatenate(places).astype(np.int64)
        E = sp.csr_matrix((np.ones(len(every)), (np.arange(len(every)), every)), shape=(len(every), dofs.size_of_all))
        rows = E if dofs.T is None else sp.csr_matrix(E @ dofs.T)
        name = place if isinstance(place, str) else str(place) if is_selection(place) else f"nodes {nodes[:3].tolist()}"
        if not len(every):
            raise MatrixError(
                f"Support {name!r} of {model.name!r} holds nothing: nodes of solids have displacements, components 0 "
                f"to 2, and no rotations; found {components}."
            )
        clamped = nodes if components is None else nodes[:0]
        found.append(_Support(name, rows, model.points[nodes].mean(axis=0), clamped))
    return found


def _components(given: Any) -> list[int]:
    """Components in ascending order; none where they are not what they should be."""
    whole = not isinstance(given, str) and np.ndim(given) == 1
    whole = whole and all(isinstance(c, int | np.integer) and not isinstance(c, bool) and 0 <= c < 6 for c in given)
    return sorted(map(int, given)) if whole and len({*given}) == len(given) else []


def _places(given: Any) -> Mapping[Any, Any]:
    """Places, and the components that each holds, None for all."""
    if isinstance(given, Mapping):
        return given
    if given is None or (np.ndim(given) == 0 and not isinstance(given, str) and not is_selection(given)):
        raise MatrixError(
            "supports are names of interfaces or sets, selections, or lists of node numbers, or a dictionary of these "
            f"with components; found {given!r}."
        )
    if any(isinstance(k, bool | np.bool_) for k in np.ravel(np.array(given, dtype=object))):
        raise MatrixError(f"supports are node numbers, not a mask of nodes; found {given!r}.")
    alone = isinstance(given, str) or is_selection(given)
    if not alone and len(given) and all(isinstance(k, int | np.integer) for k in given):
        alone, given = True, tuple(int(k) for k in given)
    places = [given] if alone else given
    return {p if isinstance(p, str) or is_selection(p) else tuple(np.ravel(p).tolist()): None for p in places}


def _nodes(model: Model, place: Any) -> np.ndarray:
    if model.mesh is None and not isinstance(place, str):
        found = place.nodes(Points(model.points, model.name)) if is_selection(place) else np.unique(place)
        return np.asarray(found)
    there = ", ".join(map(repr, model.interfaces)) or "none"
    if model.mesh is None:
        raise MatrixError(f"Support {place!r}: model {model.name!r} has no such interface; its interfaces: {there}.")
    try:
        return np.asarray(model.mesh.nodes(place))
    except MeshError as error:
        raise MeshError(f"Support {place!r}: {error} Interfaces of the model: {there}.") from None


def _interface(model: Model, name: str) -> Interface:
    if name not in model.interfaces:
        raise MatrixError(f"Model {model.name!r}: " + unknown_name("interface", name, model.interfaces))
    return model.interfaces[name]


def _lengths(rows: sp.csr_matrix) -> np.ndarray:
    """Norms of rows, 1 for those without an entry."""
    found = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return np.where(found > 0, found, 1.0)


def _separated(rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The columns of rows of unit length with one entry, and the numbers of the other rows; without their round-off."""
    rows.data[np.abs(rows.data) < ROUND_OFF] = 0.0
    rows.eliminate_zeros()
    count = np.diff(rows.indptr)
    return np.unique(rows.indices[rows.indptr[:-1][count == 1]]), np.flatnonzero(count != 1)


def _independent(rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """Singular values s (k,) and vectors U (m, k), V (n, k) of rows (m, n), without those of rows that follow from
    others."""
    used = np.unique(rows.indices)
    U, s, V = np.linalg.svd(rows[:, used].toarray(), full_matrices=False)
    U, s, V = (X[..., s > DEPENDENT * s.max(initial=0.0)] for X in (U, s, V.T))
    place = sp.csr_matrix((np.ones(len(used)), (used, np.arange(len(used)))), shape=(rows.shape[1], len(used)))
    return U, s, sp.csr_matrix(place @ sp.csr_matrix(V))


def _require_held(model: Model, C: sp.csr_matrix) -> None:
    """Raise `FactorisationError` where the supports and the stiffness leave a rigid motion free."""
    centre = model.points.mean(axis=0)
    R = model.rigid_body_modes(centre)
    R[:, 3:] /= max(float(np.linalg.norm(model.points - centre, axis=1).max()), np.finfo(float).tiny)
    acting = []
    for A in (C, model.K):
        most = np.asarray((abs(A) @ np.abs(R)).max(axis=1))
        acting.append((A @ R) / np.where(most > 0, most, 1.0)[:, None])
    _, s, V = np.linalg.svd(np.vstack([np.zeros((6, 6)), *acting]), full_matrices=False)
    if s[5] <= FREE:
        v = V[5] / V[5][np.abs(V[5]).argmax()]
        v[np.abs(v) < FREE] = 0.0
        raise FactorisationError(
            f"Model {model.name!r}: its supports leave it free to move rigidly, by the translation {triple(v[:3])} "
            f"with the rotation {triple(v[3:])} (relative). Hold it in all six directions, solve_static(..., "
            'supports=["NAME"]); a free part in motion is a flexmb.flexible_body.'
        )


def _loose(model: Model, T: sp.csr_matrix, free: np.ndarray, error: FactorisationError) -> str:
    """The message of a matrix that is singular, with the place where the part is loose."""
    found = re.search(r"equation (\d+) of", str(error))
    if found is None or int(found[1]) >= len(free):
        return str(error)
    q = T[:, [free[int(found[1])]]].nonzero()[0][0]
    dof, dofs = int(model.dof_map.independent[q]), model.dof_map
    if dof >= dofs.start_of_rates:
        node = int(dofs.rates.nodes[dof - dofs.start_of_rates])
    else:
        node = dof // 3 if dof < 3 * dofs.nodes else int(dofs.rotation_nodes[dof // 3 - dofs.nodes])
    label = str(node) if model.mesh is None else model.mesh.node_label(node)
    return (
        f"it is loose near node {label} at {triple(model.points[node])}, and has no static solution. A part of it "
        "hangs on a hinge (shells and beams that end at nodes of solids turn there; fem.RigidLink holds them), is not "
        "connected to the rest (fem.merge_nodes), or has no stiffness."
    )


def _reactions(model: Model, held: list[_Support], multipliers: np.ndarray) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    start = 0
    for support in held:
        mine = multipliers[start : start + support.rows.shape[0]]
        start += support.rows.shape[0]
        found[support.name] = np.asarray((support.rows @ model.rigid_body_modes(support.point)).T @ mine)
    return found
