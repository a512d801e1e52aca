r"""Pyramids: pyramid5 (`pyramid`) and pyramid13 (`pyramid13`), the transition between hexahedra and tetrahedra.

                  4
               / /  \  \             edges: 5 = 01, 6 = 12, 7 = 23, 8 = 30, 9 = 04, 10 = 14, 11 = 24, 12 = 34
            9  12    11  10          reference: base corners 0 (-1,-1,0), 1 (1,-1,0), 2 (1,1,0), 3 (-1,1,0),
         /    /        \    \                   apex 4 (0,0,1)
       /     3----7-----2     \
     /    8                  6  \
    0--------------5--------------1

The shape functions are rational, with the term x y / (1 - z): on triangles they must match tetrahedra and on the base
hexahedra. In the coordinates x / (1 - z), y / (1 - z), z of the conical rule (2^3 and 3^3 points for the stiffness)
they are polynomials. So mass, centre and inertia are exact on every straight-sided cell, and the stiffness is exact on
cells with a parallelogram base. pyramid5 locks, in bending much as tet4 does: keep it to transition layers.

Source: Bedrosian, "Shape functions and integration formulas for three-dimensional finite element analysis",
Int. J. Numer. Meth. Engng 35 (1992) 95-108.
"""

import numpy as np

from fem.elements.element import Element, edges_of
from fem.elements.quadrature import pyramid

_CORNERS = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 1]], dtype=float)
_EDGES = edges_of("01 12 23 30 04 14 24 34", 5)
_SIGNS = _CORNERS[:4, :2]
_FACES5 = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
_FACES13 = (
    (0, 3, 2, 1, 8, 7, 6, 5),
    (0, 1, 4, 5, 10, 9),
    (1, 2, 4, 6, 11, 10),
    (2, 3, 4, 7, 12, 11),
    (3, 0, 4, 8, 9, 12),
)
_TINY = 1e-12
"""1 - z is kept above this: at the apex the functions take their limit along the axis."""


def _coordinates(xi: np.ndarray) -> tuple[np.ndarray, ...]:
    x, y, z = np.asarray(xi, dtype=float).T
    return x, y, z, np.maximum(1 - z, _TINY)


def _shape5(xi: np.ndarray) -> np.ndarray:
    x, y, z, t = _coordinates(xi)
    return np.stack([*((1 + a * x + b * y + a * b * x * y / t - z) / 4 for a, b in _SIGNS), z], axis=1)


def _gradient5(xi: np.ndarray) -> np.ndarray:
    x, y, z, t = _coordinates(xi)
    base = [np.stack([a + a * b * y / t, b + a * b * x / t, a * b * x * y / t**2 - 1], axis=1) / 4 for a, b in _SIGNS]
    return np.stack([*base, np.tile([0.0, 0.0, 1.0], (len(z), 1))], axis=1)


def _base_middle(u: np.ndarray, v: np.ndarray, t: np.ndarray, s: float) -> tuple[np.ndarray, ...]:
    """Function of a base edge along u at v = s, and its derivatives by u, v, z."""
    bubble, slope = t**2 - u**2, t + s * v
    value = bubble * slope / (2 * t)
    return value, -u * slope / t, s * bubble / (2 * t), value / t - slope - bubble / (2 * t)


def _lateral_middle(xi: np.ndarray, a: float, b: float) -> tuple[np.ndarray, ...]:
    """Function of the edge from base corner (a, b) to the apex, and its derivatives by x, y, z."""
    x, y, z, t = _coordinates(xi)
    p, q = t + a * x, t + b * y
    return z * p * q / t, a * z * q / t, b * z * p / t, p * q / t + z * (p * q / t - p - q) / t


def _middles(xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Functions (q, 8) and derivatives (q, 8, 3) of the mid nodes, in the order of the edges."""
    x, y, _, t = _coordinates(xi)
    columns = []
    for a, b, _ in _EDGES[:4]:
        across_x, across_y = (_SIGNS[a] + _SIGNS[b]) / 2
        if across_x == 0:
            columns.append(_base_middle(x, y, t, across_y))
        else:
            value, dy, dx, dz = _base_middle(y, x, t, across_x)
            columns.append((value, dx, dy, dz))
    columns += [_lateral_middle(xi, a, b) for a, b in _SIGNS]
    values = np.stack([c[0] for c in columns], axis=1)
    return values, np.stack([np.stack(c[1:], axis=1) for c in columns], axis=1)


def _with_middles(linear: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Corner functions less half of the mid functions of their edges, then the mid functions."""
    corners = linear.copy()
    for k, (a, b, _) in enumerate(_EDGES):
        corners[:, [a, b]] -= middle[:, [k, k]] / 2
    return np.concatenate([corners, middle], axis=1)


def _shape13(xi: np.ndarray) -> np.ndarray:
    return _with_middles(_shape5(xi), _middles(xi)[0])


def _gradient13(xi: np.ndarray) -> np.ndarray:
    return _with_middles(_gradient5(xi), _middles(xi)[1])


_NODES13 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
_CUBE = ((0, 1, 2, 3, 8), (4, 7, 6, 5, 8), (0, 4, 5, 1, 8), (3, 2, 6, 7, 8), (0, 3, 7, 4, 8), (1, 5, 6, 2, 8))
_ABAQUS_FACES = ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0))
_CARDS = ("CPYRAM", "CPYRA")

PYRAMID5 = Element(
    "pyramid",
    _CORNERS,
    5,
    (),
    _FACES5,
    _shape5,
    _gradient5,
    pyramid(2),
    pyramid(3),
    mirrored=(0, 3, 2, 1, 4),
    corner_volume=0.5**0.5,
    cube=_CUBE,
    vtk=14,
    gmsh=7,
    abaqus=("C3D5",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=_CARDS,
)
PYRAMID13 = Element(
    "pyramid13",
    _NODES13,
    5,
    _EDGES,
    _FACES13,
    _shape13,
    _gradient13,
    pyramid(3),
    pyramid(4),
    mirrored=(0, 3, 2, 1, 4, 8, 7, 6, 5, 9, 12, 11, 10),
    corner_volume=0.5**0.5,
    cube=_CUBE,
    larger=("pyramid14", "pyramid19"),
    vtk=27,
    gmsh=19,
    gmsh_order=(0, 1, 2, 3, 4, 5, 8, 10, 6, 7, 9, 11, 12),
    abaqus=("C3D13",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=_CARDS,
)
