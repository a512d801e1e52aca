"""Impulses of least norm of contacts that are more than their bodies need.

The velocities `u = W r + b` of a solution of the cone problem leave to each contact a convex set of impulses:

    it rests          those within its bounds, or its cone of friction
    it slips          r = r_n (1, -mu u_t / |u_t|) with r_n >= 0
    it is apart       none

and to friction of turning the same with the normal impulse of its contact: moments of at most `length r_n`, or those
against the angular velocity. With an orthonormal column of `Q` for each direction, `r = Q c`, in which a bound part
belongs to the direction of the normal impulse, `c` lies in a product of intervals and cones: K. The impulses of least
norm are the projection of the origin on those of K with `V^T c = a`, where the columns of `V` span the range of
`(W Q)^T`. They are `P(V y)`, with the projection `P` on K, at the minimum of the dual function

    |V y|^2 / 2 - |V y - P(V y)|^2 / 2 - a^T y

whose gradient is `V^T P(V y) - a`: convex, with one derivative. Newton's method with a line search finds it from the
impulses of least norm without bounds, which are the solution where they are within K. Qi and Sun, "A nonsmooth version
of Newton's method" (1993).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

WITHIN = 1e-9
"""Distance from a bound, relative to the bound or to the largest impulse, below which an impulse is at the bound."""
RANK = 1e-12
"""Velocity by a unit of impulses, relative to the largest, below which contacts are dependent."""
NEWTONS, HALVINGS, DECREASE = 60, 30, 1e-4
"""Iterations, halvings of a step, and the part of the decrease of its tangent that the dual function must show."""
DAMPING, SLOW = 1e-13, 1e-6
"""Added to the second derivative of the dual function, which is at most one in every direction: at least, and relative
to the gradient."""
EPSILON = float(np.finfo(float).eps)
"""Round-off of one."""


class Laws(NamedTuple):
    """The blocks of the cone problem as arrays, as in flexmb/kernels/contact/cone.py: the `first` row of each block and
    the number of rows (nb + 1,), the `owner` (nb,) of friction of turning, the coefficients or lengths `mu` (nb,), and
    the bounds `low` and `high` (nb,) of blocks of one row."""

    first: Int[np.ndarray, "b"]
    owner: Int[np.ndarray, "nb"]
    mu: Float[np.ndarray, "nb"]
    low: Float[np.ndarray, "nb"]
    high: Float[np.ndarray, "nb"]


class _Cone(NamedTuple):
    """A group of coordinates: that of the normal impulse within bounds, and vectors of others, of at most their
    `slopes` times it."""

    normal: int
    low: float
    high: float
    parts: list[slice]
    slopes: list[float]


def of_least_norm(
    W: Float[np.ndarray, "n n"],
    b: Float[np.ndarray, "n"],
    laws: Laws,
    r: Float[np.ndarray, "n"],
    scale: float,
    error: float,
) -> Float[np.ndarray, "n"]:
    """The impulses of least norm with the velocities of the solution `r` that satisfy the `laws`.

    Velocities below a part of their `scale` are zero. Where the response is small in some directions, but not zero,
    impulses may be needed in them: if the impulses found change velocities by more than the `error`, `r` remains.
    """
    normals = laws.first[:-1][(laws.owner < 0) & (np.diff(laws.first) > 1)]
    r = r.copy()
    r[normals] = np.maximum(r[normals], 0.0)  # round-off
    Q, cones = _admissible(W @ r + b, r, laws, scale)
    if not cones:
        return r
    c = Q.T @ r
    _, values, vectors = np.linalg.svd(W @ Q, full_matrices=False)
    V = vectors[values > RANK * values[0]].T
    if V.shape[1] == Q.shape[1]:
        return r
    found = np.where(Q.any(axis=1), Q @ _nearest(V, V.T @ c, cones), r)
    return r if np.abs(W @ (found - r)).max() > error else found


def _admissible(u: np.ndarray, r: np.ndarray, laws: Laws, scale: float) -> tuple[Float[np.ndarray, "n p"], list[_Cone]]:
    """The directions `Q` in which impulses may change, and the cones of their coordinates."""
    pushes, speeds = r.tolist(), u.tolist()
    first, mu, tiny, still = laws.first.tolist(), laws.mu.tolist(), WITHIN * float(np.abs(r).max()), WITHIN * scale
    frictions: dict[int, list[tuple[int, int, float]]] = {}
    for k, owner in enumerate(laws.owner.tolist()):
        if owner >= 0:
            frictions.setdefault(owner, []).append((first[k], first[k + 1], mu[k]))
        elif first[k + 1] > first[k] + 1:
            frictions.setdefault(k, []).append((first[k] + 1, first[k + 1], mu[k]))
    entries: list[tuple[int, int, float]] = []
    cones, count = [], 0
    for k in np.flatnonzero(laws.owner < 0).tolist():
        i = first[k]
        low, high = (0.0, math.inf) if first[k + 1] > i + 1 else (float(laws.low[k]), float(laws.high[k]))
        push, normal = pushes[i], count
        if not (abs(speeds[i]) <= still or low + tiny < push < high - tiny):
            continue
        along, parts, slopes, square = [(i, 1.0)], [], [], 1.0
        count += 1
        for begin, end, slope in frictions.get(k, ()):
            speed, size, loaded = math.hypot(*speeds[begin:end]), math.hypot(*pushes[begin:end]), push > tiny
            if speed <= still or (loaded and size < (1 - WITHIN) * slope * push):
                entries += [(row, count + c, 1.0) for c, row in enumerate(range(begin, end))]
                parts.append(slice(count, count + end - begin))
                slopes.append(slope)
                count += end - begin
                continue
            bound = [pushes[j] / push if loaded else -slope * speeds[j] / speed for j in range(begin, end)]
            along += zip(range(begin, end), bound, strict=True)
            square += sum(x * x for x in bound)
        length = math.sqrt(square)
        entries += [(row, normal, x / length) for row, x in along]
        cones.append(_Cone(normal, low * length, high * length, parts, [slope / length for slope in slopes]))
    Q = np.zeros((len(r), count))
    for row, column, x in entries:
        Q[row, column] = x
    return Q, cones


def _nearest(V: np.ndarray, a: np.ndarray, cones: Sequence[_Cone]) -> Float[np.ndarray, "p"]:
    """The point of the `cones` with `V^T c = a` that is closest to the origin, or the last iterate."""
    y, size = a, float(np.linalg.norm(a))
    x = V @ y
    c = _projected(x, cones)
    for _ in range(NEWTONS):
        slope = V.T @ c - a
        left = float(np.linalg.norm(slope))
        if left <= len(a) * EPSILON * size:
            break
        H = V.T @ _derivative(x, c, cones) @ V
        H[np.diag_indices_from(H)] += max(DAMPING, SLOW * left / size)
        step = -np.linalg.solve(H, slope)
        value, part = _dual(x, c, a, y), 1.0
        for _ in range(HALVINGS):
            trial = y + part * step
            x = V @ trial
            c = _projected(x, cones)
            lower = _dual(x, c, a, trial) <= value + DECREASE * part * float(slope @ step)
            if lower or np.linalg.norm(V.T @ c - a) < 0.5 * left:
                break
            part *= 0.5
        y = trial
    return c


def _dual(x: np.ndarray, c: np.ndarray, a: np.ndarray, y: np.ndarray) -> float:
    return float(0.5 * x @ x - 0.5 * (x - c) @ (x - c) - a @ y)


def _projected(x: np.ndarray, cones: Sequence[_Cone]) -> Float[np.ndarray, "p"]:
    """The point of the `cones` that is closest to `x` (p,): of those with a normal coordinate `t`, the vectors longer
    than `slope t` are shortened to it, and the derivative by `t` of the distance rises with `t`."""
    c, given = x.copy(), x.tolist()
    for cone in cones:
        sizes = [math.hypot(*given[part]) for part in cone.parts]
        push, square = given[cone.normal], 1.0
        total = push
        for size, slope in sorted(zip(sizes, cone.slopes, strict=True), key=_end, reverse=True):
            if size <= slope * push:
                break
            total += slope * size
            square += slope * slope
            push = total / square
        c[cone.normal] = push = min(max(push, cone.low), cone.high)
        for part, size, slope in zip(cone.parts, sizes, cone.slopes, strict=True):
            if size > slope * push:
                c[part] *= slope * push / size
    return c


def _end(vector: tuple[float, float]) -> float:
    """The normal coordinate below which a vector of a size is longer than its slope permits."""
    size, slope = vector
    return size / slope if slope > 0.0 else math.inf


def _derivative(x: np.ndarray, c: np.ndarray, cones: Sequence[_Cone]) -> Float[np.ndarray, "p p"]:
    """The derivative of the projection `c` of `x`."""
    D = np.zeros((len(x), len(x)))
    for cone in cones:
        push, v, square = float(c[cone.normal]), [(cone.normal, 1.0)], 1.0
        for part, slope in zip(cone.parts, cone.slopes, strict=True):
            size = float(np.linalg.norm(x[part]))
            across = np.eye(part.stop - part.start)
            if size <= slope * push:
                D[part, part] = across
                continue
            d = x[part] / size
            D[part, part] = slope * push / size * (across - np.outer(d, d))
            v += zip(range(part.start, part.stop), slope * d, strict=True)
            square += slope * slope
        if cone.low < push < cone.high:
            rows, values = (np.array(z) for z in zip(*v, strict=True))
            D[np.ix_(rows, rows)] += np.outer(values, values) / square
    return D
