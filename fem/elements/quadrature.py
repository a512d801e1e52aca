"""Quadrature rules on the reference cells: points (q, 3) and weights (q,), all weights positive, all points inside.

The record of an element (`stiffness_rule`, `mass_rule`; `TET10` in tetrahedron.py) names the rules that it uses.
"""

from itertools import permutations

import numpy as np
from scipy.special import roots_jacobi

Rule = tuple[np.ndarray, np.ndarray]
"""Quadrature points (q, 3) and weights (q,) on the reference cell."""

Orbits = list[tuple[tuple[float, ...], float]]
"""Barycentric coordinates, and the weight of each of their permutations."""


def gauss_box(count: int) -> Rule:
    """Gauss-Legendre product rule on [-1, 1]^3, exact to degree `2 count - 1` in each direction."""
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", w, w, w).ravel()


def pyramid(count: int) -> Rule:
    """Conical product rule on the pyramid with base [-1, 1]^2 and apex (0, 0, 1).

    Exact for polynomials of degree `2 count - 1` in each of x / (1 - z), y / (1 - z) and z, rational functions of
    x, y, z among them. Source: Stroud, Approximate Calculation of Multiple Integrals (1971), section 2.5.
    """
    x, w = np.polynomial.legendre.leggauss(count)
    t, v = roots_jacobi(count, 2, 0)  # weight (1 - t)^2 of the shrinking cross-section
    height, v = (1 + t) / 2, v / 8
    points = [(a * (1 - z), b * (1 - z), z) for z in height for a in x for b in x]
    return np.array(points), np.array([p * q * r for p in v for q in w for r in w])


def tetrahedron(degree: int) -> Rule:
    """Symmetric rule on the unit tetrahedron, exact to degree 1 (1 point), 2 (4 points) or 5 (14 points).

    Sources: Stroud (1971), T3: 1-1 and 2-1; Walkington, Quadrature on simplices of arbitrary dimension (2000).
    """
    corner = (5 - np.sqrt(5)) / 20
    orbits: dict[int, Orbits] = {
        1: [((0.25,) * 4, 1.0)],
        2: [((corner, corner, corner, 1 - 3 * corner), 1 / 4)],
        5: [
            (_near_corner(0.31088591926330060980), 0.11268792571801585080),
            (_near_corner(0.092735250310891226402), 0.073493043116361949544),
            (_near_edge(0.045503704125649649492), 0.042546020777081466438),
        ],
    }
    points, weights = _symmetric(orbits[degree])
    return points[:, :3], weights / 6


def triangle(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric rule on the unit triangle (points (q, 2), weights sum to 1/2), degree 1, 2 (3 points) or 5 (7 points).

    Source: Stroud (1971), T2: 2-1 and 5-1 (Radon).
    """
    s = np.sqrt(15)
    a, b = (6 - s) / 21, (6 + s) / 21
    orbits: dict[int, Orbits] = {
        1: [((1 / 3,) * 3, 1.0)],
        2: [((1 / 6, 1 / 6, 2 / 3), 1 / 3)],
        5: [
            ((1 / 3,) * 3, 9 / 40),
            ((a, a, 1 - 2 * a), (155 - s) / 1200),
            ((b, b, 1 - 2 * b), (155 + s) / 1200),
        ],
    }
    points, weights = _symmetric(orbits[degree])
    return points[:, :2], weights / 2


def wedge(degree: int, along: int) -> Rule:
    """Product of `triangle(degree)` and `along` Gauss points on [-1, 1]."""
    p, v = triangle(degree)
    z, w = np.polynomial.legendre.leggauss(along)
    return np.array([[*a, c] for c in z for a in p]), np.array([x * y for y in w for x in v])


def _near_corner(a: float) -> tuple[float, ...]:
    return (a, a, a, 1 - 3 * a)


def _near_edge(a: float) -> tuple[float, ...]:
    return (a, a, 0.5 - a, 0.5 - a)


def _symmetric(orbits: Orbits) -> Rule:
    """All permutations of barycentric coordinates; the weight is that of each point, with total 1."""
    made = [(p, w) for barycentric, w in orbits for p in sorted(set(permutations(barycentric)))]
    return np.array([p for p, _ in made]), np.array([w for _, w in made])
