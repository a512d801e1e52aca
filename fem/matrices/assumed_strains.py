"""Assumed strains of shells: which covariant strains, at which tying points, make up the strains at a point of a cell.

Strain rows: rr, ss, 2 rs, 2 rt, 2 st, in the coordinates r, s of the cell and t (-1 to 1) through the thickness.

- Quadrilaterals: transverse shear of MITC4, membrane strains of MITC4+, which do not lock on warped cells; with four
  enhanced membrane strains (`fem.matrices.shell_matrices`) cells bend in their plane.
- Triangles: MITC3+, with a bubble of two rotations in the middle; the membrane strain is that of the linear triangle.

Sources: Dvorkin and Bathe, "A continuum mechanics based four-node shell element for general nonlinear analysis", Eng.
Comput. 1 (1984) 77-88; Ko, Lee and Bathe, "A new MITC4+ shell element", Comput. Struct. 182 (2017) 404-418; Lee, Lee
and Bathe, "The MITC3+ shell element and its performance", Comput. Struct. 138 (2014) 12-23; Simo and Rifai, "A class of
mixed assumed strain methods and the method of incompatible modes", Int. J. Numer. Meth. Engng 29 (1990) 1595-1638.
"""

from functools import cache

import numpy as np

PAIRS = ((0, 0), (1, 1), (0, 1), (0, 2), (1, 2))
"""Coordinates of the strain rows."""
TWISTS = 1e-4
"""Distance from the centre of the triangle at which its shear strains of twisting are tied."""
_GAUSS = 1 / np.sqrt(3)

Point = tuple[float, float, float]
Tie = tuple[int, np.ndarray, int, Point]


def shapes(corners: int, r: float, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Shape functions (n,) and derivatives (2, n) of the positions, and of the directors (with the bubble's)."""
    if corners == 4:
        a, b = np.array([-1, 1, 1, -1]), np.array([-1, -1, 1, 1])
        N, dN = (1 + a * r) * (1 + b * s) / 4, np.array([a * (1 + b * s), b * (1 + a * r)]) / 4
        return N, dN, N, dN
    N, dN = np.array([1 - r - s, r, s]), np.array([[-1.0, 1, 0], [-1, 0, 1]])
    f, df = 27 * r * s * (1 - r - s), 27 * np.array([s * (1 - 2 * r - s), r * (1 - r - 2 * s)])
    return N, dN, np.append(N - f / 3, f), np.column_stack([dN - df[:, None] / 3, df])


@cache
def plane_rule(corners: int) -> tuple[tuple[float, float, float], ...]:
    """Points r, s and weights on the reference cell."""
    if corners == 4:
        return tuple((r, s, 1.0) for r in (-_GAUSS, _GAUSS) for s in (-_GAUSS, _GAUSS))
    a, b = (0.101286507323456, 0.470142064105115), (0.797426985353087, 0.059715871789770)
    w = (0.125939180544827, 0.132394152788506)
    outer = [(p, q, k / 2) for u, v, k in zip(a, b, w, strict=True) for p, q in ((u, u), (v, u), (u, v))]
    return (*outer, (1 / 3, 1 / 3, 0.1125))


@cache
def rule(corners: int) -> tuple[tuple[Point, ...], np.ndarray]:
    """Points r, s, t and weights (q,) of the volume."""
    points = tuple((r, s, t) for r, s, _ in plane_rule(corners) for t in (-_GAUSS, _GAUSS))
    return points, np.repeat([w for *_, w in plane_rule(corners)], 2)


@cache
def assumption(corners: int, points: tuple[Point, ...]) -> tuple[tuple[tuple[int, Point], ...], np.ndarray]:
    """The tied rows (row, point), and their weights (c, 5 q, j) in the strains at `points`: constant ones (c = 0), then
    those that `distortion` multiplies."""
    ties = _quadrilateral if corners == 4 else _triangle
    places: dict[tuple[int, Point], int] = {}
    entries = []
    for q, point in enumerate(points):
        for row, weight, k, at in ties(*point):
            entries.append((5 * q + row, places.setdefault((k, at), len(places)), weight))
    W = np.zeros((6 if corners == 4 else 1, 5 * len(points), len(places)))
    for row, column, weight in entries:
        W[:, row, column] += weight
    W.setflags(write=False)
    return tuple(places), W


def distortion(x: np.ndarray) -> np.ndarray:
    """Factors (e, c) of the weights of `assumption` for cells with nodes `x` (e, n, 3): 1, and for quadrilaterals the
    five of MITC4+, which do not depend on size."""
    if x.shape[1] == 3:
        return np.ones((len(x), 1))
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    xr, xs, xd = (np.einsum("i,eia->ea", k / 4, x) for k in (signs[:, 0], signs[:, 1], signs.prod(axis=1)))
    n = np.cross(xr, xs)
    area = (n * n).sum(axis=1)
    cr, cs = ((a * xd).sum(axis=1) / area for a in (np.cross(xs, n), np.cross(n, xr)))
    d = cr**2 + cs**2 - 1
    factors = [cr * (cr - 1), cr * (cr + 1), cs * (cs - 1), cs * (cs + 1), 4 * cr * cs]
    return np.stack([np.ones(len(x)), *(f / (2 * d) for f in factors)], axis=1)


def _quadrilateral(r: float, s: float, t: float) -> list[Tie]:
    one, a, b, c, d, e = np.eye(6)
    shear = [
        (3, (1 + s) / 2 * one, 3, (0.0, 1.0, t)),
        (3, (1 - s) / 2 * one, 3, (0.0, -1.0, t)),
        (4, (1 + r) / 2 * one, 4, (1.0, 0.0, t)),
        (4, (1 - r) / 2 * one, 4, (-1.0, 0.0, t)),
    ]
    sides = ((0, (0.0, 1.0)), (0, (0.0, -1.0)), (1, (1.0, 0.0)), (1, (-1.0, 0.0)), (2, (0.0, 0.0)))
    at = [(row, (*place, 0.0)) for row, place in sides]
    q, p = s * s - 1, r * r - 1
    rr = [(1 + s) / 2 * one + a * q, (1 - s) / 2 * one + b * q, c * q, d * q, e * q / 2]
    ss = [a * p, b * p, (1 + r) / 2 * one + c * p, (1 - r) / 2 * one + d * p, e * p / 2]
    half = [r / 2 * one, -r / 2 * one, s / 2 * one, -s / 2 * one, one]
    rs = [h + k * (2 if k is not e else 1) * r * s for h, k in zip(half, (a, b, c, d, e), strict=True)]
    assumed = [
        (k, w, row, point)
        for k, weights in enumerate((rr, ss, rs))
        for w, (row, point) in zip(weights, at, strict=True)
    ]
    bending = [(k, w * one, k, (r, s, z)) for k in range(3) for w, z in ((1.0, t), (-1.0, 0.0))]
    return assumed + bending + shear


def _triangle(r: float, s: float, t: float) -> list[Tie]:
    one, d = np.ones(1), TWISTS
    A, B, C = (1 / 6, 2 / 3, t), (2 / 3, 1 / 6, t), (1 / 6, 1 / 6, t)
    D, E, F = (1 / 3 + d, 1 / 3 - 2 * d, t), (1 / 3 - 2 * d, 1 / 3 + d, t), (1 / 3 + d, 1 / 3 + d, t)
    twist = [(1.0, 3, F), (-1.0, 3, D), (-1.0, 4, F), (1.0, 4, E)]
    shear = [(3, 2 / 3, 3, B), (3, -1 / 3, 4, B), (4, 2 / 3, 4, A), (4, -1 / 3, 3, A)]
    shear += [(row, 1 / 3, k, C) for row in (3, 4) for k in (3, 4)]
    shear += [(3, (s - 1 / 3) * w, k, p) for w, k, p in twist] + [(4, (1 / 3 - r) * w, k, p) for w, k, p in twist]
    return [(k, one, k, (r, s, t)) for k in range(3)] + [(row, w * one, k, p) for row, w, k, p in shear]
