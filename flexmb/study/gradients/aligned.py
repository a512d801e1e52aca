"""Elastic coordinates of a body that is built again, aligned with those of the body with which it is compared.

The shapes of a reduction are determined up to their signs, their order where frequencies cross, and any rotation among
shapes of equal frequency. Two builds of a body with slightly different parameters may differ in all of these,
independently of the parameter. `_turn` finds the orthogonal matrix `T` that brings the shapes of one body nearest to
those of the other (orthogonal Procrustes problem), group by group of equal frequencies: signs, order, and rotations
within groups. In the coordinates z with `eta = T z` the body is the same. Its stiffness `T^T K T` is then a full matrix
within a group; since bodies have diagonal matrices, the off-diagonal part is stored separately.

Source: Schonemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika 31 (1966).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from flexmb.bodies.body import Body
from flexmb.bodies.subspace import transformed
from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.spatial.layout import starts_of

ALIKE = 0.5
"""Smallest agreement of two shapes, as a cosine, for which they are taken as the same shape."""
NEAR, NEAREST = 30.0, 1e-2
"""Shapes may mix between builds if the squares of their frequencies differ, relatively, by less than both this multiple
of the relative step of the parameter and this number.
"""


@dataclass(frozen=True, eq=False)
class Aligned:
    """A mechanism in the elastic coordinates of another one.

    - `mechanism`: in these coordinates; `built`: as it was built.
    - `turns`: for each body the matrix `T` (m, m).
    - `stiffness`, `damping`: for each body the off-diagonal part (m, m) of its matrix in these coordinates.
    """

    mechanism: Mechanism
    built: Mechanism
    turns: tuple[np.ndarray, ...]
    stiffness: tuple[np.ndarray, ...]
    damping: tuple[np.ndarray, ...]

    def turned(self, x: np.ndarray, rigid: int) -> np.ndarray:
        """Configurations (`rigid` 7) or velocities (`rigid` 6) (..., n) of `built`, in coordinates of `mechanism`."""
        x, first = x.copy(), 0
        for T in self.turns:
            part = slice(first + rigid, first + rigid + len(T))
            x[..., part] = x[..., part] @ T
            first = part.stop
        return x


def near_of(relative_step: float) -> float:
    """Relative difference of squared frequencies within a group of shapes, for a relative step of a parameter."""
    return min(NEAR * relative_step, NEAREST)


def aligned(built: Mechanism, like: Mechanism, near: float) -> Aligned:
    """The mechanism `built` in the elastic coordinates of the mechanism `like`.

    Signs, order, and rotations within groups are aligned; a group contains frequencies whose squares differ,
    relatively, by no more than `near`. Initial elastic coordinates keep their numbers, as coordinates of `like`. Raises
    `StudyError` when the number of coordinates differs, or shapes have no counterpart.
    """
    if [b.name for b in built.bodies] != [b.name for b in like.bodies]:
        return Aligned(built, built, (), (), ())  # without derivatives: `require_alike` raises the error
    turns = [_turn(a, b, near) for a, b in zip(built.bodies, like.bodies, strict=True)]
    off = [
        [_beside_diagonal(T, k) for T, k in zip(turns, (getattr(b, name) for b in built.bodies), strict=True)]
        for name in ("stiffness", "damping")
    ]
    if all(np.array_equal(T, np.eye(len(T))) for T in turns):
        return Aligned(built, built, tuple(turns), tuple(off[0]), tuple(off[1]))
    bodies = tuple(transformed(body, T) if len(T) else body for body, T in zip(built.bodies, turns, strict=True))
    q, w = built.initial.q.copy(), built.initial.w.copy()
    q_start, v_start = starts_of(np.array([b.modes for b in bodies]))
    for T, i, j in zip(turns, q_start, v_start, strict=False):
        q[i + 7 : i + 7 + len(T)] = T @ q[i + 7 : i + 7 + len(T)]
        w[j + 6 : j + 6 + len(T)] = T @ w[j + 6 : j + 6 + len(T)]
    own = replace(built, initial=replace(built.initial, q=q, w=w))
    return Aligned(replace(built, bodies=bodies), own, tuple(turns), tuple(off[0]), tuple(off[1]))


def _beside_diagonal(T: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    full = T.T @ (diagonal[:, None] * T)
    return full - np.diag(np.diag(full))


def _turn(body: Body, like: Body, near: float) -> np.ndarray:
    """The matrix `T` (m, m) of one body."""
    m = like.modes
    if body.modes != m:
        raise StudyError(
            f"A parameter changes the number of elastic coordinates of body {body.name!r} from {m} to {body.modes}: "
            "derivatives do not exist. Reduce the body to a fixed number."
        )
    if m == 0:
        return np.eye(0)
    a, b = _shapes(body, like)
    if np.array_equal(a, b):
        return np.eye(m)
    agreement = np.abs(a.T @ b) / np.outer(*(np.linalg.norm(x, axis=0) + 1e-300 for x in (a, b)))
    found = scipy.optimize.linear_sum_assignment(-(agreement**2) + _farther(body, like), maximize=False)[0:2]
    partner = np.empty(m, dtype=int)
    partner[found[1]] = found[0]
    T = np.zeros((m, m))
    for group in _groups(like.stiffness, near):
        U, s, Vt = np.linalg.svd(a[:, partner[group]].T @ b[:, group])
        if s.sum() < ALIKE * np.linalg.norm(a[:, partner[group]]) * np.linalg.norm(b[:, group]):
            raise StudyError(
                f"Body {body.name!r}: its elastic coordinate {group[0]} has no counterpart when the body is built "
                "again with a slightly different parameter. The reduction does not depend smoothly on the parameter: "
                "keep the mesh and the number of coordinates, or choose a smaller relative_step."
            )
        T[np.ix_(partner[group], group)] = U @ Vt
    return T


def _farther(body: Body, like: Body) -> np.ndarray:
    """A small cost (m, m) of different frequencies, for the assignment of shapes that agree equally well."""
    return np.asarray(0.1 * np.abs(np.log(body.stiffness)[:, None] - np.log(like.stiffness)[None]))


def _groups(stiffness: np.ndarray, near: float) -> list[np.ndarray]:
    """Groups of the indices of elastic coordinates with nearly equal frequencies."""
    order = np.argsort(stiffness, kind="stable")
    k = stiffness[order]
    apart = np.flatnonzero(np.diff(k) > near * k[1:]) + 1
    return [np.sort(group) for group in np.split(order, apart)]


def _shapes(body: Body, like: Body) -> tuple[np.ndarray, np.ndarray]:
    """Arrays (n, m) by which the elastic coordinates of two bodies are compared.

    They are displacements of all nodes or, without a common mesh, motions of the interfaces and of the mass.
    """
    if body.Psi is not None and like.Psi is not None and body.Psi.shape == like.Psi.shape:
        return body.Psi.astype(float), like.Psi.astype(float)
    common = [name for name in like.interfaces if name in body.interfaces]
    length = max((np.linalg.norm(like.interfaces[k].point - like.centre) for k in common), default=0.0)
    inertia = np.trace(like.invariants.J0) / like.invariants.mass
    length, mass = max(float(length), float(np.sqrt(inertia))), like.invariants.mass
    weight = np.repeat([1.0, length], 3)[:, None]

    def signature(x: Body) -> np.ndarray:
        inv = x.invariants
        moments = [
            inv.S1 / mass,
            inv.h0 / (mass * length),
            np.einsum("ikl->kli", inv.J1).reshape(9, -1) / (mass * length),
        ]
        return np.vstack([*(x.interfaces[name].rows * weight for name in common), *moments])

    return signature(body), signature(like)
