"""What an element family provides: nodes, faces, edges, shape functions, quadrature."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Rule = tuple[np.ndarray, np.ndarray]
"""Quadrature points (q, 3) and weights (q,) on the reference cell."""


@dataclass(frozen=True, eq=False)
class Element:
    """An isoparametric solid element on its reference cell.

    - `kind`: meshio name; `coordinates` (nn, 3): reference coordinates of the nodes, corners first (VTK order);
    - `corners`: number of corner nodes; `edges`: (corner, corner, mid node) for the quadratic elements;
    - `faces`: node numbers of each face, corners first and then mid nodes, normals outward by the right-hand rule;
    - `shape(xi)` (q, nn) and `gradient(xi)` (q, nn, 3): shape functions and their derivatives at `xi` (q, 3);
    - `stiffness_rule`, `mass_rule`: quadrature; the mass rule is exact on straight-sided cells.
    """

    kind: str
    coordinates: Float[np.ndarray, "nn 3"]
    corners: int
    edges: tuple[tuple[int, int, int], ...]
    faces: tuple[tuple[int, ...], ...]
    shape: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    stiffness_rule: Rule
    mass_rule: Rule

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.coordinates)


def polynomial_basis(coordinates: np.ndarray, powers: np.ndarray) -> tuple[Callable, Callable]:
    """Shape functions spanned by monomials `x^a y^b z^c` (rows of `powers`), one at its own node and zero at the others."""
    p = np.asarray(powers)

    def monomials(xi: np.ndarray, drop: int | None = None) -> np.ndarray:
        exponents = p.copy()
        factor = np.ones(len(p))
        if drop is not None:
            factor = p[:, drop].astype(float)
            exponents[:, drop] = np.maximum(p[:, drop] - 1, 0)
        return factor * np.prod(np.asarray(xi)[:, None, :] ** exponents, axis=2)

    coefficients = np.linalg.inv(monomials(coordinates))

    def shape(xi: np.ndarray) -> np.ndarray:
        return monomials(xi) @ coefficients

    def gradient(xi: np.ndarray) -> np.ndarray:
        return np.stack([monomials(xi, k) @ coefficients for k in range(3)], axis=2)

    return shape, gradient


def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights on [-1, 1], exact to degree `2 count - 1`."""
    return np.polynomial.legendre.leggauss(count)


def gauss_box(count: int) -> Rule:
    """Product rule on [-1, 1]^3, exact to degree `2 count - 1` in each direction."""
    x, w = gauss(count)
    points = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", w, w, w).ravel()


def jacobi_pyramid(count: int) -> Rule:
    """Conical product rule on the pyramid with base [-1, 1]^2 and apex (0, 0, 1), exact to degree `2 count - 1`."""
    from scipy.special import roots_jacobi

    x, w = gauss(count)
    t, v = roots_jacobi(count, 2, 0)
    z, v = (1 + t) / 2, v / 8
    points = [(a * (1 - c), b * (1 - c), c) for c in z for a in x for b in x]
    return np.array(points), np.array([p * q * r for p in v for q in w for r in w])


def triangle(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Conical product rule on the triangle (0,0), (1,0), (0,1), exact to degree `2 count - 1`; weights sum to 1/2."""
    from scipy.special import roots_jacobi

    x, w = gauss(count)
    t, v = roots_jacobi(count, 1, 0)
    s, v = (1 + t) / 2, v / 4
    x, w = (1 + x) / 2, w / 2
    points = [(a * (1 - c), c) for c in s for a in x]
    return np.array(points), np.array([p * q for p in v for q in w])


def edges_of(pairs: str, first: int) -> tuple[tuple[int, int, int], ...]:
    """Edges from "01 12 20": corner pairs in the order of their mid nodes, which start at number `first`."""
    return tuple((int(p[0]), int(p[1]), first + k) for k, p in enumerate(pairs.split()))
