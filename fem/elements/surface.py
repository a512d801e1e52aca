"""Triangles and quadrilaterals of shells, also with nodes on their sides and in their middle. They have nodes and no
faces; fem/matrices/shell_matrices.py has their matrices."""

import numpy as np

from fem.elements.element import Element, polynomial_basis
from fem.elements.quadrature import Rule

_NONE: Rule = (np.zeros((0, 3)), np.zeros(0))


def _surface(
    kind: str,
    nodes: list[tuple[float, float]],
    corners: int,
    powers: list[tuple[int, int]],
    volume: float,
    larger: tuple[str, ...] = (),
) -> Element:
    coordinates = np.array([(*c, 0) for c in nodes], dtype=float)
    shape, gradient = polynomial_basis(coordinates, np.array([(*p, 0) for p in powers]))
    edges = tuple((k, (k + 1) % corners, corners + k) for k in range(corners)) if len(nodes) > corners else ()
    turned = [0, *range(corners - 1, 0, -1)]
    mirrored = (*turned, *(2 * corners - 1 - k for k in range(corners)), 2 * corners)[: len(nodes)]
    return Element(
        kind,
        coordinates,
        corners,
        edges,
        (),
        shape,
        gradient,
        _NONE,
        _NONE,
        mirrored=mirrored,
        corner_volume=volume,
        larger=larger,
    )


_TRIANGLE = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]
_QUAD = [
    (-1.0, -1.0),
    (1.0, -1.0),
    (1.0, 1.0),
    (-1.0, 1.0),
    (0.0, -1.0),
    (1.0, 0.0),
    (0.0, 1.0),
    (-1.0, 0.0),
    (0.0, 0.0),
]
_SQUARES = [(a, b) for a in range(3) for b in range(3)]
_SIDE = float(np.sqrt(3) / 2)
TRIANGLE3 = _surface("triangle", _TRIANGLE[:3], 3, [(0, 0), (1, 0), (0, 1)], _SIDE)
TRIANGLE6 = _surface("triangle6", _TRIANGLE, 3, [(a, b) for a, b in _SQUARES if a + b < 3], _SIDE, ("triangle7",))
QUAD4 = _surface("quad", _QUAD[:4], 4, [(0, 0), (1, 0), (0, 1), (1, 1)], 1.0)
QUAD8 = _surface("quad8", _QUAD[:8], 4, _SQUARES[:8], 1.0)
QUAD9 = _surface("quad9", _QUAD, 4, _SQUARES, 1.0)
