"""Pyramids: pyramid5 (`pyramid`) and pyramid13 (`pyramid13`), the transition between hexahedra and tetrahedra.

               4             edges: 5 = 01, 6 = 12, 7 = 23, 8 = 30, 9 = 04, 10 = 14, 11 = 24, 12 = 34
             / /\\ \\         reference: base corners 0 (-1,-1,0), 1 (1,-1,0), 2 (1,1,0), 3 (-1,1,0), apex 4 (0,0,1)
            / 3---\\-2
           / /     \\/
          0--------1

The shape functions are rational (they must be linear on triangles and bilinear on the base at once): Bedrosian,
"Shape functions and integration formulas for three-dimensional finite element analysis" (1992). On a straight-sided
cell with a parallelogram base the geometry is affine and mass integrals of degree 4 are exact up to the rational
terms, which the conical rule integrates exactly, too (it cancels powers of 1 - z).
"""

import numpy as np

from fem.elements.element import Element, edges_of, jacobi_pyramid

_CORNERS = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 1]], dtype=float)
_EDGES = edges_of("01 12 23 30 04 14 24 34", 5)
_SIGNS = _CORNERS[:4, :2]
_TOP = 1e-12


def _ratio(xi: np.ndarray) -> tuple[np.ndarray, ...]:
    """x, y, z, the ratio x y / (1 - z) and its three derivatives; at the apex the limit along the axis."""
    x, y, z = xi[:, 0], xi[:, 1], np.minimum(xi[:, 2], 1 - _TOP)
    t = 1 - z
    return x, y, xi[:, 2], x * y / t, y / t, x / t, x * y / t**2


def _shape5(xi: np.ndarray) -> np.ndarray:
    x, y, z, r, *_ = _ratio(np.asarray(xi, dtype=float))
    base = [0.25 * (1 + a * x + b * y + a * b * r - z) for a, b in _SIGNS]
    return np.stack([*base, z], axis=1)


def _gradient5(xi: np.ndarray) -> np.ndarray:
    x, y, z, r, rx, ry, rz = _ratio(np.asarray(xi, dtype=float))
    one = np.ones_like(x)
    base = [np.stack([a + a * b * rx, b + a * b * ry, a * b * rz - one], axis=1) * 0.25 for a, b in _SIGNS]
    return np.stack([*base, np.stack([0 * one, 0 * one, one], axis=1)], axis=1)


def _quadratic(xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (q, 13) and derivatives (q, 13, 3) of the pyramid13 functions, in terms of the pyramid5 ones.

    With L_i the five linear functions: mid-edge nodes of the base come from the two base functions of the edge,
    lateral mid nodes are 4 L_i L_apex-like products; the corners are corrected by half of their neighbours.
    """
    xi = np.asarray(xi, dtype=float)
    x, y = xi[:, 0], xi[:, 1]
    z = np.minimum(xi[:, 2], 1 - _TOP)
    t = 1 - z
    zero, one = np.zeros_like(x), np.ones_like(x)

    def product(*factors: tuple[np.ndarray, tuple]) -> tuple[np.ndarray, np.ndarray]:
        value = np.prod([f for f, _ in factors], axis=0)
        slope = np.zeros((len(x), 3))
        for k, (_, df) in enumerate(factors):
            rest = np.prod([f for j, (f, _) in enumerate(factors) if j != k], axis=0)
            slope += rest[:, None] * np.stack(df, axis=1)
        return value, slope

    inverse = (1 / t, (zero, zero, 1 / t**2))
    linear = lambda a, b, c, d: (a + b * x + c * y + d * z, (b * one, c * one, d * one))
    middle = []
    for a, b, _ in _EDGES[:4]:
        s = (_SIGNS[a] + _SIGNS[b]) / 2
        along = 0 if s[0] == 0 else 1
        plus, minus = (linear(1, 1 - along, along, -1), linear(1, along - 1, -along, -1))
        value, slope = product(plus, minus, linear(1, s[0], s[1], -1), inverse)
        middle.append((0.5 * value, 0.5 * slope))
    for a in range(4):
        s = _SIGNS[a]
        middle.append(product((z, (zero, zero, one)), linear(1, s[0], 0, -1), linear(1, 0, s[1], -1), inverse))
    N5, G5 = _shape5(xi), _gradient5(xi)
    values, slopes = [N5[:, k] for k in range(5)], [G5[:, k] for k in range(5)]
    for (a, b, _), (value, slope) in zip(_EDGES, middle, strict=True):
        for corner in (a, b):
            values[corner] = values[corner] - 0.5 * value
            slopes[corner] = slopes[corner] - 0.5 * slope
    values += [v for v, _ in middle]
    slopes += [g for _, g in middle]
    return np.stack(values, axis=1), np.stack(slopes, axis=1)


PYRAMID5 = Element(
    "pyramid", _CORNERS, 5, (), ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)), _shape5, _gradient5,
    jacobi_pyramid(3), jacobi_pyramid(4),
)  # fmt: skip

_NODES13 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
PYRAMID13 = Element(
    "pyramid13", _NODES13, 5, _EDGES,
    (
        (0, 3, 2, 1, 8, 7, 6, 5), (0, 1, 4, 5, 10, 9), (1, 2, 4, 6, 11, 10), (2, 3, 4, 7, 12, 11), (3, 0, 4, 8, 9, 12),
    ),
    lambda xi: _quadratic(xi)[0], lambda xi: _quadratic(xi)[1], jacobi_pyramid(4), jacobi_pyramid(5),
)  # fmt: skip
