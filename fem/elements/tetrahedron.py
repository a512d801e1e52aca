"""Tetrahedra: tet4 (`tetra`) and tet10 (`tetra10`).

            3
           /|\
          7 | 9          edges: 4 = 01, 5 = 12, 6 = 20, 7 = 03, 8 = 13, 9 = 23
         /  8  \         reference corners: 0 (0,0,0), 1 (1,0,0), 2 (0,1,0), 3 (0,0,1)
        0---|6--2
         \  |  /
          4 | 5
           \|/
            1

tet4 has constant strain: it is far too stiff in bending and locks when nearly incompressible. Use it for bodies whose
elasticity does not matter; otherwise tet10, with quadratic displacements, four stiffness points and no such locking.
Quadrature: Keast, "Moderate-degree tetrahedral quadrature formulas" (1986), and Zienkiewicz, Taylor (2000), table 9.2.
"""

import numpy as np

from fem.elements.element import Element, Rule, edges_of, polynomial_basis

_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
_EDGES = edges_of("01 12 20 03 13 23", 4)
_LINEAR = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
_QUADRATIC = np.vstack([_LINEAR, [[2, 0, 0], [0, 2, 0], [0, 0, 2], [1, 1, 0], [0, 1, 1], [1, 0, 1]]])


def conical_rule(count: int) -> Rule:
    """Conical product rule, exact to degree `2 count - 1`; weights sum to 1/6."""
    from scipy.special import roots_jacobi

    x, w = roots_jacobi(count, 0, 0)
    y, v = roots_jacobi(count, 1, 0)
    z, u = roots_jacobi(count, 2, 0)
    x, y, z = (1 + x) / 2, (1 + y) / 2, (1 + z) / 2
    points = [(a * (1 - b) * (1 - c), b * (1 - c), c) for c in z for b in y for a in x]
    return np.array(points), np.array([p * q * r for p in u / 8 for q in v / 4 for r in w / 2])


def _four_points() -> Rule:
    a, b = (5 - np.sqrt(5)) / 20, (5 + 3 * np.sqrt(5)) / 20
    return np.array([[a, a, a], [b, a, a], [a, b, a], [a, a, b]]), np.full(4, 1 / 24)


_shape4, _gradient4 = polynomial_basis(_CORNERS, _LINEAR)
TET4 = Element(
    "tetra", _CORNERS, 4, (), ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)), _shape4, _gradient4,
    (np.full((1, 3), 0.25), np.full(1, 1 / 6)), _four_points(),
)  # fmt: skip

_NODES10 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
_shape10, _gradient10 = polynomial_basis(_NODES10, _QUADRATIC)
TET10 = Element(
    "tetra10", _NODES10, 4, _EDGES,
    ((0, 2, 1, 6, 5, 4), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6)), _shape10, _gradient10,
    _four_points(), conical_rule(3),
)  # fmt: skip
