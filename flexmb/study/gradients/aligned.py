"""Elastic coordinates of a body built again, turned to those of the body it is compared with.

Shapes of a reduction are known up to their sign, their order where frequencies cross, and any rotation among those of equal frequency. Two builds of a body, with a parameter a little different, may
differ by all of these, which has nothing to do with the parameter. `turn` finds the orthogonal matrix `T` that brings the shapes of one nearest to those of the other (orthogonal Procrustes problem), group by group
of equal frequencies: signs, order, and rotations within groups. Over the coordinates z, `eta = T z`, the body is the same. Within a group its stiffness is a full matrix then, `T^T K T`: what that has beside its diagonal is kept
apart, because bodies hold diagonals only.

Source: Schonemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika 31 (1966).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from flexmb.bodies.body import Body
from flexmb.bodies.subspace import transformed
from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.spatial.layout import starts_of

ALIKE = 0.5
"""Least agreement of shapes, as a cosine, by which they are known again."""
NEAR, NEAREST = 30.0, 1e-2
"""Squares of frequencies that differ by less than this many times the relative step of a parameter, and by less than this part, may mix from one build to the next."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """A mechanism over the elastic coordinates of another one, and as it was built; `turns` (m, m) by body, and what their stiffness and damping have beside the diagonal."""

    mechanism: Mechanism
    built: Mechanism
    turns: tuple[np.ndarray, ...]
    stiffness: tuple[np.ndarray, ...]
    damping: tuple[np.ndarray, ...]

    def turned(self, x: np.ndarray, rigid: int) -> np.ndarray:
        """Configurations (rigid: 7) or velocities (6) (..., n) of the mechanism as built, over the elastic coordinates of the other."""
        x, first = x.copy(), 0
        for T in self.turns:
            part = slice(first + rigid, first + rigid + len(T))
            x[..., part] = x[..., part] @ T
            first = part.stop
        return x


def near_of(relative_step: float) -> float:
    """The part by which squares of frequencies may differ in a group, when a parameter is moved by a part of its value."""
    return min(NEAR * relative_step, NEAREST)


def aligned(built: Mechanism, like: Mechanism, near: float) -> Aligned:
    """The mechanism with every flexible body over the elastic coordinates of that in the other, as far as signs, order, and rotations within groups go; groups: frequencies whose squares differ by no more than
    a part `near`. Initial elastic coordinates keep their numbers, which mean those of the other."""
    if [b.name for b in built.bodies] != [b.name for b in like.bodies]:
        return Aligned(built, built, (), (), ())  # no derivatives: `require_alike` says why
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
    own = replace(built, initial=State(built.initial.t, q, w, built.initial.angles))
    return Aligned(replace(built, bodies=bodies), own, tuple(turns), tuple(off[0]), tuple(off[1]))


def _beside_diagonal(T: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    full = T.T @ (diagonal[:, None] * T)
    return full - np.diag(np.diag(full))


def _turn(body: Body, like: Body, near: float) -> np.ndarray:
    """`T` (m, m) of one body."""
    m = like.modes
    if body.modes != m:
        raise StudyError(
            f"A parameter changes the number of elastic coordinates of body {body.name!r} from {m} to {body.modes}: there are no derivatives. Reduce it to a fixed number."
        )
    if m == 0:
        return np.eye(0)
    a, b = _shapes(body, like)
    agreement = np.abs(a.T @ b) / np.outer(*(np.linalg.norm(x, axis=0) + 1e-300 for x in (a, b)))
    found = linear_sum_assignment(-(agreement**2) + _farther(body, like), maximize=False)[0:2]
    partner = np.empty(m, dtype=int)
    partner[found[1]] = found[0]
    T = np.zeros((m, m))
    for group in _groups(like.stiffness, near):
        U, s, Vt = np.linalg.svd(a[:, partner[group]].T @ b[:, group])
        if s.sum() < ALIKE * np.linalg.norm(a[:, partner[group]]) * np.linalg.norm(b[:, group]):
            raise StudyError(
                f"Body {body.name!r}: its elastic coordinate {group[0]} is not found among those of the body built again with a parameter a little different. "
                "The reduction does not depend smoothly on the parameter: keep the mesh and the number of coordinates, or take a smaller relative_step."
            )
        T[np.ix_(partner[group], group)] = U @ Vt
    return T


def _farther(body: Body, like: Body) -> np.ndarray:
    """A small cost of shapes whose frequencies differ: decides where shapes alone do not."""
    return np.asarray(0.1 * np.abs(np.log(body.stiffness)[:, None] - np.log(like.stiffness)[None]))


def _groups(stiffness: np.ndarray, near: float) -> list[np.ndarray]:
    """Numbers of the elastic coordinates, those of nearly equal frequency together."""
    order = np.argsort(stiffness, kind="stable")
    k = stiffness[order]
    apart = np.flatnonzero(np.diff(k) > near * k[1:]) + 1
    return [np.sort(group) for group in np.split(order, apart)]


def _shapes(body: Body, like: Body) -> tuple[np.ndarray, np.ndarray]:
    """What the elastic coordinates of two bodies are compared by (n, m): displacements of all nodes; without a common mesh, motions of the interfaces and of the mass."""
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
