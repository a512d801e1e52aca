"""Triangles and quadrilaterals of shells. They have nodes and no faces; fem/matrices/shell_matrices.py has their
matrices."""

import numpy as np

from fem.elements.element import Element, polynomial_basis
from fem.elements.quadrature import Rule

_NONE: Rule = (np.zeros((0, 3)), np.zeros(0))


def _surface(kind: str, corners: list[tuple[int, int]], powers: list[tuple[int, int]], volume: float) -> Element:
    coordinates = np.array([(*c, 0) for c in corners], dtype=float)
    shape, gradient = polynomial_basis(coordinates, np.array([(*p, 0) for p in powers]))
    order = (0, *range(len(corners) - 1, 0, -1))
    return Element(
        kind, coordinates, len(corners), (), (), shape, gradient, _NONE, _NONE, mirrored=order, corner_volume=volume
    )


TRIANGLE3 = _surface("triangle", [(0, 0), (1, 0), (0, 1)], [(0, 0), (1, 0), (0, 1)], np.sqrt(3) / 2)
QUAD4 = _surface("quad", [(-1, -1), (1, -1), (1, 1), (-1, 1)], [(0, 0), (1, 0), (0, 1), (1, 1)], 1.0)
