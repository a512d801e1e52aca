"""What holds a part: supports by interface, set, selection or node numbers, as rows of linear conditions, and the
part with them, its dofs scaled and its rigid interfaces rigid."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.axes.limits import is_whole
from fem.errors import FactorisationError, MatrixError, MeshError
from fem.interface import rigid_interface_map
from fem.mesh.mesh import is_selection, label_of, triple
from fem.mesh.selection import Points
from fem.model import Model

FREE = 1e-11
"""What a rigid motion moves supports and loads springs, relative to the size of the terms of each, that counts as
none: round-off."""
ROUND_OFF = 1e-12
"""Entries of a row of unit length that count as none."""
DEPENDENT = 1e-10
"""Part of a support, relative to the largest of its kind, that counts as following from the others."""


@dataclass(frozen=True, eq=False)
class Support:
    """What holds the part: `rows @ q = 0`; moments are about `point`; `clamped` nodes do not move at all."""

    name: str
    rows: sp.csr_matrix
    point: np.ndarray
    clamped: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Held:
    """A part and its supports in scaled dofs z (m,): the displacements of its independent dofs are `T @ z`, and the
    supports demand `rows @ z = 0`, rows of unit length.

    - `K`: stiffness matrix of z, ones on its diagonal; `lengths`: what each row was divided by;
    - `free`: the dofs z that no row of one entry holds at zero; `others`: numbers of the rows of several entries, which
      are `U s V^T` on the free dofs, without what follows from others.
    """

    model: Model
    supports: list[Support]
    T: sp.csr_matrix
    K: sp.csr_matrix
    rows: sp.csr_matrix
    lengths: Float[np.ndarray, " r"]
    free: Int[np.ndarray, " z"]
    others: Int[np.ndarray, " o"]
    U: Float[np.ndarray, "o k"]
    s: Float[np.ndarray, " k"]
    V: sp.csr_matrix

    @property
    def name(self) -> str:
        """The part and what holds it, for messages."""
        return (
            f"Model {self.model.name!r}, held by {', '.join(repr(s.name) for s in self.supports) or 'its constraints'}"
        )

    @property
    def clamped(self) -> Int[np.ndarray, " c"]:
        """Nodes that do not move at all."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(support.clamped for support in self.supports)])


def held_part(model: Model, supports: list[Support]) -> Held:
    """The part with its rigid interfaces and these supports."""
    T = rigid_interface_map(model, model.interfaces.values())
    C = rows_of(model, supports)
    K = sp.csr_matrix(T.T @ model.K @ T)
    diagonal = K.diagonal()
    S = sp.diags_array(1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))
    T, K = sp.csr_matrix(T @ S), sp.csr_matrix(S @ K @ S)
    rows = sp.csr_matrix(C @ T)
    lengths = _lengths(rows)
    rows = sp.csr_matrix(sp.diags_array(1 / lengths) @ rows)
    fixed, others = _separated(rows)
    free = np.setdiff1d(np.arange(T.shape[1]), fixed)
    return Held(model, supports, T, K, rows, lengths, free, others, *_independent(rows[others][:, free]))


def rows_of(model: Model, supports: list[Support]) -> sp.csr_matrix:
    """What supports demand of the independent dofs: `rows @ q = 0`."""
    return sp.vstack([sp.csr_matrix((0, model.ndof)), *(support.rows for support in supports)], format="csr")


def supports_of(model: Model, given: Any) -> list[Support]:
    """The supports that a user gives (see `fem.solve_static`). Raises `MatrixError` and `MeshError` for others."""
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
            found.append(Support(place, sp.csr_matrix(rows), np.asarray(interface.point)))
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
        name = _named(place, nodes, [support.name for support in found])
        if not len(every):
            raise MatrixError(
                f"Support {name!r} of {model.name!r} holds nothing: nodes of solids have displacements, components 0 "
                f"to 2, and no rotations; found {components}."
            )
        clamped = nodes if components is None else nodes[:0]
        found.append(Support(name, rows, model.points[nodes].mean(axis=0), clamped))
    return found


def _named(place: Any, nodes: np.ndarray, taken: list[str]) -> str:
    """A name for a support, which no other has: its own, or the first of its node numbers."""
    few = ", ".join(map(str, nodes[:3].tolist()))
    own = str(place) if isinstance(place, str) or is_selection(place) else f"nodes [{few}{', ...' * (len(nodes) > 3)}]"
    same = sum(name == own or name.startswith(f"{own} (") for name in taken)
    return f"{own} ({same + 1})" if same else own


def _components(given: Any) -> list[int]:
    """Components in ascending order; none where they are not what they should be."""
    whole = not isinstance(given, str) and np.ndim(given) == 1
    whole = whole and all(is_whole(c) and 0 <= c < 6 for c in given)
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


def loose(held: Held, error: FactorisationError) -> str:
    """The message of a matrix that is singular, with the place where the part is loose."""
    found = re.search(r"equation (\d+) of", str(error))
    if found is None or int(found[1]) >= len(held.free):
        return str(error)
    model = held.model
    q = held.T[:, [held.free[int(found[1])]]].nonzero()[0][0]
    node, turns = model.dof_map.node_of(int(q))
    label = label_of(model.mesh, node)
    released = (
        " Where all ends of beams at it are released (pins), nothing resists its own rotation, and supports hold that: "
        f"supports={{({node},): (3, 4, 5)}}."
    )
    return (
        f"it is loose near node {label} at {triple(model.points[node])}, and has no static solution. A part of it "
        "hangs on a hinge (shells and beams that end at nodes of solids turn there; fem.RigidLink holds them), is not "
        f"connected to the rest (fem.merge_nodes), or has no stiffness.{released if turns else ''}"
    )
