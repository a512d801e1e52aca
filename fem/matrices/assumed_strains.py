"""Assumed strains of shells: which covariant strains, at which tying points, make up the strains at a point of a cell.

Strain rows: rr, ss, 2 rs of the middle surface; the same of its curvature; shear rt, st. In the coordinates r, s of a
cell every row is a quadratic form of the positions X of the middle surface and the directors Y at the nodes, and of the
bubble b of the directors,

    X' H X / 2 + X' G Y + X' F b    less its value in the undeformed cell,

with constant tables H, G, F.

- Quadrilaterals of four nodes: transverse shear of MITC4, membrane strains of MITC4+, which do not lock on warped
  cells; with four enhanced membrane strains (`fem.matrices.shell_matrices`) cells bend in their plane.
- Of nine nodes (also eight, whose middle node follows inside the cell): MITC9. The assumed shear 2 rs loses a part that
  does work on constant stresses in distorted cells; the rows of `Tables.lost` give its mean back, which makes patches
  exact.
- Triangles of three nodes: MITC3+, with a bubble of two rotations; the membrane strain is that of the linear triangle.
- Of six nodes: membrane strains of MITC6, which do not lock on curved cells, and transverse shear of MITC7, with a
  bubble of two rotations.

Sources: Dvorkin and Bathe, "A continuum mechanics based four-node shell element for general nonlinear analysis", Eng.
Comput. 1 (1984) 77-88; Ko, Lee and Bathe, "A new MITC4+ shell element", Comput. Struct. 182 (2017) 404-418; Lee, Lee
and Bathe, "The MITC3+ shell element and its performance", Comput. Struct. 138 (2014) 12-23; Simo and Rifai, "A class of
mixed assumed strain methods and the method of incompatible modes", Int. J. Numer. Meth. Engng 29 (1990) 1595-1638;
Bucalem and Bathe, "Higher-order MITC general shell elements", Int. J. Numer. Meth. Engng 36 (1993) 3729-3754; Bathe,
Brezzi and Cho, "The MITC7 and MITC9 plate bending elements", Comput. Struct. 32 (1989) 797-814; Lee and Bathe,
"Development of MITC isotropic triangular shell finite elements", Comput. Struct. 82 (2004) 945-962.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from fem.elements import SHELLS

PAIRS = ((0, 0), (1, 1), (0, 1))
"""Coordinates of the in-plane rows."""
CENTRE = {3: (1 / 3, 1 / 3), 4: (0.0, 0.0), 6: (1 / 3, 1 / 3), 9: (0.0, 0.0)}
"""Middle of a cell by its number of nodes."""
TWISTS = 1e-4
"""Distance from the centre of the triangle at which its shear strains of twisting are tied."""
_GAUSS, _WIDE = 1 / np.sqrt(3), np.sqrt(3 / 5)
_KIND = {3: "triangle", 4: "quad", 6: "triangle6", 9: "quad9"}

Point = tuple[float, float]
Tie = tuple[int, np.ndarray, int, Point]


@cache
def shapes(n: int, r: float, s: float) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Shape functions (n,) and derivatives (2, n) of cells of n nodes, and the bubble of the directors of triangles
    with its derivatives (2,)."""
    xi, element = np.array([[r, s, 0.0]]), SHELLS[_KIND[n]]
    N, dN = element.shape(xi)[0], element.gradient(xi)[0, :, :2].T
    if n in (4, 9):
        return N, dN, 0.0, np.zeros(2)
    t = 1 - r - s
    return N, dN, 27 * r * s * t, 27 * np.array([s * (t - r), r * (t - s)])


@cache
def plane_rule(n: int) -> tuple[tuple[Point, ...], np.ndarray]:
    """Points r, s and weights (q,) on the reference cell."""
    if n in (4, 9):
        places = {4: ((-_GAUSS, 1.0), (_GAUSS, 1.0)), 9: ((-_WIDE, 5 / 9), (0.0, 8 / 9), (_WIDE, 5 / 9))}[n]
        return tuple((r, s) for r, _ in places for s, _ in places), np.array(
            [a * b for _, a in places for _, b in places]
        )
    a, b = (0.101286507323456338, 0.470142064105115090), (0.797426985353087322, 0.059715871789769820)
    w = (0.125939180544827153, 0.132394152788506181)
    outer = [((p, q), k / 2) for u, v, k in zip(a, b, w, strict=True) for p, q in ((u, u), (v, u), (u, v))]
    points = (*outer, ((1 / 3, 1 / 3), 0.1125))
    return tuple(p for p, _ in points), np.array([k for _, k in points])


@dataclass(frozen=True, eq=False)
class Tables:
    """The tied rows j at all points q of a cell of n nodes.

    - `W` (c, 8 q, j): weights of the rows in the strains: constant ones (c = 0), then those that `distortion`
      multiplies;
    - `lost` (2 k, j): rows 2 rs of strain and curvature at the k points of the rule, less the assumed ones, or None;
    - `H` (j, n, n), `G` (j, n, n; positions, directors), `F` (j, n): the quadratic forms.
    """

    W: np.ndarray
    lost: np.ndarray | None
    H: np.ndarray
    G: np.ndarray
    F: np.ndarray


@cache
def tables(n: int, points: tuple[Point, ...]) -> Tables:
    """The tied rows of cells of n nodes and their weights at `points`."""
    ties = {3: _triangle, 4: _quadrilateral, 6: _quadratic_triangle, 9: _biquadratic}[n]
    places: dict[tuple[int, Point], int] = {}
    entries = []
    for q, point in enumerate(points):
        for row, weight, k, at in ties(*point):
            entries.append((8 * q + row, places.setdefault((k, at), len(places)), weight))
    missing = []
    if n == 9:
        for q, point in enumerate(plane_rule(n)[0]):
            for row in (2, 5):
                place = 2 * q + (row == 5)
                missing.append((place, places.setdefault((row, point), len(places)), 1.0))
                for own, weight, k, at in ties(*point):
                    if own == row:
                        missing.append((place, places.setdefault((k, at), len(places)), -float(weight[0])))
    W = np.zeros((6 if n == 4 else 1, 8 * len(points), len(places)))
    for row, column, weight in entries:
        W[:, row, column] += weight
    lost = np.zeros((2 * len(plane_rule(n)[0]), len(places)))
    for row, column, value in missing:
        lost[row, column] += value
    H, G, F = (np.array(form) for form in zip(*(_forms(n, k, at) for k, at in places), strict=True))
    return Tables(W, lost if missing else None, H, G, F)


def _forms(n: int, row: int, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    N, dN, f, df = shapes(n, *point)
    if row >= 6:
        return np.zeros((n, n)), np.outer(dN[row - 6], N), dN[row - 6] * f
    a, b = PAIRS[row % 3]
    half = 0.5 if a == b else 1.0
    form = half * (np.outer(dN[a], dN[b]) + np.outer(dN[b], dN[a]))
    if row < 3:
        return form, np.zeros((n, n)), np.zeros(n)
    return np.zeros((n, n)), form, half * (dN[a] * df[b] + dN[b] * df[a])


def distortion(x: np.ndarray) -> np.ndarray:
    """Factors (e, c) of the weights of the rows for cells with nodes `x` (e, n, 3): 1, and for quadrilaterals of four
    nodes the five of MITC4+, which do not depend on size."""
    if x.shape[1] != 4:
        return np.ones((len(x), 1))
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    xr, xs, xd = (np.einsum("i,eia->ea", k / 4, x) for k in (signs[:, 0], signs[:, 1], signs.prod(axis=1)))
    n = np.cross(xr, xs)
    area = (n * n).sum(axis=1)
    cr, cs = ((a * xd).sum(axis=1) / area for a in (np.cross(xs, n), np.cross(n, xr)))
    d = cr**2 + cs**2 - 1
    factors = [cr * (cr - 1), cr * (cr + 1), cs * (cs - 1), cs * (cs + 1), 4 * cr * cs]
    return np.stack([np.ones(len(x)), *(f / (2 * d) for f in factors)], axis=1)


def _quadrilateral(r: float, s: float) -> list[Tie]:
    one, a, b, c, d, e = np.eye(6)
    shear = [
        (6, (1 + s) / 2 * one, 6, (0.0, 1.0)),
        (6, (1 - s) / 2 * one, 6, (0.0, -1.0)),
        (7, (1 + r) / 2 * one, 7, (1.0, 0.0)),
        (7, (1 - r) / 2 * one, 7, (-1.0, 0.0)),
    ]
    at = ((0, (0.0, 1.0)), (0, (0.0, -1.0)), (1, (1.0, 0.0)), (1, (-1.0, 0.0)), (2, (0.0, 0.0)))
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
    return assumed + [(k, one, k, (r, s)) for k in (3, 4, 5)] + shear


def _biquadratic(r: float, s: float) -> list[Tie]:
    def two(x: float) -> list[tuple[float, float]]:
        return [((1 - x / _GAUSS) / 2, -_GAUSS), ((1 + x / _GAUSS) / 2, _GAUSS)]

    def three(x: float) -> list[tuple[float, float]]:
        y = x / _WIDE
        return [(y * (y - 1) / 2, -_WIDE), (1 - y * y, 0.0), (y * (y + 1) / 2, _WIDE)]

    one = np.ones(1)
    along_r = [(a * b * one, (p, q)) for a, p in two(r) for b, q in three(s)]
    along_s = [(a * b * one, (p, q)) for a, p in three(r) for b, q in two(s)]
    both = [(a * b * one, (p, q)) for a, p in two(r) for b, q in two(s)]
    by_row = ((0, along_r), (1, along_s), (2, both), (3, along_r), (4, along_s), (5, both), (6, along_r), (7, along_s))
    return [(row, w, row, point) for row, ties in by_row for w, point in ties]


def _triangle(r: float, s: float) -> list[Tie]:
    one, d = np.ones(1), TWISTS
    A, B, C = (1 / 6, 2 / 3), (2 / 3, 1 / 6), (1 / 6, 1 / 6)
    D, E, F = (1 / 3 + d, 1 / 3 - 2 * d), (1 / 3 - 2 * d, 1 / 3 + d), (1 / 3 + d, 1 / 3 + d)
    twist = [(1.0, 6, F), (-1.0, 6, D), (-1.0, 7, F), (1.0, 7, E)]
    shear = [(6, 2 / 3, 6, B), (6, -1 / 3, 7, B), (7, 2 / 3, 7, A), (7, -1 / 3, 6, A)]
    shear += [(row, 1 / 3, k, C) for row in (6, 7) for k in (6, 7)]
    shear += [(6, (s - 1 / 3) * w, k, p) for w, k, p in twist] + [(7, (1 / 3 - r) * w, k, p) for w, k, p in twist]
    plane = [(k, one, k, CENTRE[3]) for k in range(3)] + [(k, one, k, (r, s)) for k in (3, 4, 5)]
    return plane + [(row, w * one, k, p) for row, w, k, p in shear]


_LOW, _HIGH, _IN = (1 - _GAUSS) / 2, (1 + _GAUSS) / 2, _GAUSS
_SIDES = (((_LOW, 0.0), (_HIGH, 0.0)), ((0.0, _LOW), (0.0, _HIGH)), ((_HIGH, _LOW), (_LOW, _HIGH)))
"""Gauss points of the sides s = 0, r = 0 and r + s = 1."""


def _quadratic_triangle(r: float, s: float) -> list[Tie]:
    def linear(along: float, away: float) -> tuple[float, float, float]:
        high, inner = (along - _LOW) / (_HIGH - _LOW), away / _IN
        return 1 - high - inner, high, inner

    one = np.ones(1)
    rr, ss = [*_SIDES[0], (_LOW, _IN)], [*_SIDES[1], (_IN, _LOW)]
    qq = [*_SIDES[2], (_LOW, _LOW)]
    ties: list[Tie] = []
    along_r = [(w, 0, p) for w, p in zip(linear(r, s), rr, strict=True)]
    along_s = [(w, 1, p) for w, p in zip(linear(s, r), ss, strict=True)]
    along_q = [(w, p) for w, p in zip(linear(s, 1 - r - s), qq, strict=True)]  # rr + ss - 2 rs
    shear = [*along_r, *along_s, *((w * sign, k, p) for w, p in along_q for k, sign in ((0, -1), (1, -1), (2, 1)))]
    for row, parts in enumerate((along_r, along_s, shear)):
        ties += [(row, w * one, k, p) for w, k, p in parts]
    ties += [(k, one, k, (r, s)) for k in (3, 4, 5)]
    powers = np.array([[1, r, s, 0, 0, 0, s * r, s * s], [0, 0, 0, 1, r, s, -r * r, -r * s]])
    for row, weights in zip((6, 7), powers @ _tangential_fit(), strict=True):
        ties += [(row, w * one, k, p) for w, (k, p) in zip(weights, _tangential()[0], strict=True)]
    return ties


@cache
def _tangential() -> tuple[list[tuple[int, Point]], np.ndarray]:
    """The shear rows of triangles of six nodes, and the eight conditions on them: along the sides at Gauss points, and
    their mean in the cell."""
    rows, conditions = [], []
    for side, parts in zip(_SIDES, (((6, 1.0),), ((7, 1.0),), ((6, -1.0), (7, 1.0))), strict=True):
        for point in side:
            conditions.append({(k, point): w for k, w in parts})
    points, weights = plane_rule(6)
    conditions += [{(k, p): 2 * w for p, w in zip(points, weights, strict=True)} for k in (6, 7)]
    rows = list(dict.fromkeys(key for condition in conditions for key in condition))
    table = np.array([[condition.get(key, 0.0) for key in rows] for condition in conditions])
    return rows, table


@cache
def _tangential_fit() -> np.ndarray:
    """Coefficients (8, rows) of the field (a + b r + c s + s (g r + h s), d + e r + f s - r (g r + h s)) that meets the
    conditions."""
    rows, table = _tangential()
    of_field = []
    for k, (r, s) in rows:
        of_field.append([1, r, s, 0, 0, 0, s * r, s * s] if k == 6 else [0, 0, 0, 1, r, s, -r * r, -r * s])
    return np.asarray(np.linalg.solve(table @ np.array(of_field), table))
