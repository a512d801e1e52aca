"""The properties of an element family: nodes, faces, edges, shape functions, quadrature."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.elements.quadrature import Rule


@dataclass(frozen=True, eq=False)
class Element:
    """An isoparametric solid element on its reference cell.

    - `kind`: meshio name; `coordinates` (nn, 3): reference coordinates of the nodes, corners first (VTK order);
    - `corners`: number of corner nodes; `edges`: (corner, corner, mid node) of the quadratic elements, else empty;
    - `faces`: node numbers of each face, corners first and then mid nodes, normals outward by the right-hand rule;
    - `shape(xi)` (q, nn) and `gradient(xi)` (q, nn, 3): shape functions and their derivatives at `xi` (q, 3);
    - `stiffness_rule`: full integration, exact when the map from the reference cell is affine;
    - `mass_rule`: exact on every straight-sided cell, so that mass, centre and inertia of the mesh are exact there.

    On curved cells both rules leave the usual error of isoparametric elements, of the order of the interpolation.
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
    """Shape functions in the span of the monomials `x^a y^b z^c` (rows of `powers`), one at their own node and zero at
    the others."""
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


def edges_of(pairs: str, first: int) -> tuple[tuple[int, int, int], ...]:
    """Edges from "01 12 20": corner pairs in the order of their mid nodes, which start at number `first`."""
    return tuple((int(p[0]), int(p[1]), first + k) for k, p in enumerate(pairs.split()))
