"""Matrices of single cells, many at a time: geometry, stiffness, and the incompatible modes of hex8.

Cell matrices have the shape (e, 3, m, 3, m): cell, component, node, component, node. For elements with incompatible
modes (hex8) these are the last three of the m
"nodes", which `condense` removes again.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fem.elements import Element

VOIGT = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
"""Order of stresses and (engineering) strains in the (6, 6) elasticity matrices."""


def elasticity_tensor(C: Float[np.ndarray, "6 6"]) -> Float[np.ndarray, "3 3 3 3"]:
    """`c_ijkl` with stress_ij = c_ijkl strain_kl, from the (6, 6) matrix in Voigt's order."""
    row = np.empty((3, 3), dtype=int)
    for number, (i, j) in enumerate(VOIGT):
        row[i, j] = row[j, i] = number
    return C[row[:, :, None, None], row[None, None]]


def jacobian(shape: Element, x: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cofactors (e, q, 3, 3) and determinants (e, q) of `J_kx = dx / dxi_k` at `xi` (q, 3), for cell nodes `x`
    (e, nn, 3).

    The inverse is cofactors^T / determinant; written out, which is several times faster than stacked LAPACK calls.
    """
    local = shape.gradient(xi).transpose(0, 2, 1)  # q, k, nn
    J = np.tensordot(local, x, axes=(2, 1))  # q, k, e, 3
    cofactors = np.empty((len(x), len(xi), 3, 3))
    for k in range(3):
        a, b = J[:, (k + 1) % 3], J[:, (k + 2) % 3]
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            cofactors[:, :, k, i] = (a[..., j] * b[..., l] - a[..., l] * b[..., j]).T
    return cofactors, np.einsum("qei,eqi->eq", J[:, 0], cofactors[:, :, 0])


def turned_elasticity(
    c: Float[np.ndarray, "3 3 3 3"], R: Float[np.ndarray, "*p 3 3"]
) -> Float[np.ndarray, "*p 3 3 3 3"]:
    """The elasticity, along the axes of the mesh, of a material whose `c` is along the rows of R."""
    return np.asarray(np.einsum("abcd,...ai,...bj,...ck,...dl->...ijkl", c, R, R, R, R, optimize=True))


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one kind and one material at their stiffness points.

    - `nodes`: number of nodes of a cell, without incompatible modes;
    - `gradients` (e, q, 3, m): derivatives in space of the shape functions and the incompatible modes;
    - `dV` (e, q): weighted determinants; `c` (3, 3, 3, 3): elasticity, or (e, q, 3, 3, 3, 3) where it varies in space;
    - `hourglass` (e, nn, nn): stiffness of each component against motions that the gradients miss, or None.
    """

    nodes: int
    gradients: np.ndarray
    dV: np.ndarray
    c: np.ndarray
    hourglass: np.ndarray | None = None

    @staticmethod
    def of(shape: Element, x: np.ndarray, c: np.ndarray) -> "Cells":
        """Cells with node coordinates `x` (e, nn, 3). Their determinants may turn out negative: see `dV`."""
        xi, weights = shape.stiffness_rule
        cofactors, determinant = jacobian(shape, x, xi)
        with np.errstate(divide="ignore", invalid="ignore"):  # collapsed cells: the caller looks at dV
            inverse = cofactors.transpose(0, 1, 3, 2) / determinant[..., None, None]
            gradients = inverse @ shape.gradient(xi).transpose(0, 2, 1)
            if shape.incompatible:
                gradients = np.concatenate([gradients, _incompatible(shape, x, xi, determinant)], axis=3)
        dV = determinant * weights
        if not shape.hourglass:
            return Cells(len(shape.coordinates), gradients, dV, c)
        mean = np.einsum("eq,eqka->eka", dV / dV.sum(axis=1, keepdims=True), gradients)
        held = _hourglass(shape, x, mean, dV.sum(axis=1), c)
        gradients = np.broadcast_to(mean[:, None], gradients.shape)
        return Cells(len(shape.coordinates), gradients, dV, c, held)

    @cached_property
    def full_stiffness(self) -> np.ndarray:
        """Stiffness (e, 3, m, 3, m) before the incompatible modes are condensed."""
        e, q, _, m = self.gradients.shape
        G = self.gradients.reshape(e, q, 3 * m)
        P = ((G * self.dV[:, :, None]).transpose(0, 2, 1) @ G).reshape(e, 3, m, 3, m)
        if self.c.ndim == 6:
            K = self._of_varying(self.c)
            return K if self.hourglass is None else self._held(K)
        K = np.zeros((e, 3, m, 3, m))
        for i in range(3):
            for k in range(i, 3):
                for j, l in np.argwhere(self.c[i, :, k, :]):
                    K[:, i, :, k] += self.c[i, j, k, l] * P[:, j, :, l]
                if k > i:
                    K[:, k, :, i] = K[:, i, :, k].transpose(0, 2, 1)
        return K if self.hourglass is None else self._held(K)

    def _held(self, K: np.ndarray) -> np.ndarray:
        """`K` with the stiffness against hourglass motions."""
        for i in range(3):
            K[:, i, :, i] += self.hourglass
        return K

    def _of_varying(self, c: np.ndarray) -> np.ndarray:
        """Stiffness (e, 3, m, 3, m) of an elasticity (e, q, 3, 3, 3, 3)."""
        e, q, _, m = self.gradients.shape
        left = self.gradients.reshape(e, 3 * q, m).transpose(0, 2, 1)  # a, (q, j)
        K = np.zeros((e, 3, m, 3, m))
        for i in range(3):
            for k in range(i, 3):
                stress = (c[:, :, i, :, k] * self.dV[..., None, None]) @ self.gradients  # e, q, j, b
                K[:, i, :, k] = left @ stress.reshape(e, 3 * q, m)
                if k > i:
                    K[:, k, :, i] = K[:, i, :, k].transpose(0, 2, 1)
        return K

    def stress(self, strains: np.ndarray) -> np.ndarray:
        """Stresses (e, q, 3, 3, k) of strains, or of gradients, (e, q, 3, 3, k)."""
        e, q = self.dV.shape
        flat = strains.reshape(e, q, 9, -1)
        c = self.c.reshape(9, 9) if self.c.ndim == 4 else self.c.reshape(e, q, 9, 9)
        return np.asarray((c @ flat).reshape(strains.shape))

    @cached_property
    def inner(self) -> np.ndarray | None:
        """Static response (e, 9, 3 nn) of the incompatible modes to the nodes, None where there are none."""
        e, _, _, m = self.gradients.shape
        n = self.nodes
        if m == n:
            return None
        size = 3 * (m - n)
        stiff = self.full_stiffness[:, :, n:, :, n:].reshape(e, size, size)
        return -np.linalg.solve(stiff, self.full_stiffness[:, :, n:, :, :n].reshape(e, size, 3 * n))

    def condense(self, K: np.ndarray) -> np.ndarray:
        """`T^T K T` (e, 3, nn, 3, nn) of a symmetric matrix (e, 3, m, 3, m), where `T` makes the incompatible modes
        follow the nodes."""
        A, n = self.inner, self.nodes
        if A is None:
            return K
        e, size = A.shape[:2]
        mixed = K[:, :, n:, :, :n].reshape(e, size, 3 * n)
        one = A.transpose(0, 2, 1) @ mixed
        both = A.transpose(0, 2, 1) @ (K[:, :, n:, :, n:].reshape(e, size, size) @ A)
        return K[:, :, :n, :, :n] + (one + one.transpose(0, 2, 1) + both).reshape(e, 3, n, 3, n)

    def stiffness(self) -> np.ndarray:
        """Stiffness (e, 3, nn, 3, nn), incompatible modes condensed."""
        return self.condense(self.full_stiffness)

    def displacement_gradients(self, u: np.ndarray) -> np.ndarray:
        """`H_ij = du_i / dx_j` (e, q, 3, 3, k) of nodal displacements `u` (e, nn, 3, k), incompatible modes
        included."""
        e, n, _, k = u.shape
        if self.inner is not None:
            modes = self.inner @ u.transpose(0, 2, 1, 3).reshape(e, 3 * n, k)
            u = np.concatenate([u, modes.reshape(e, 3, -1, k).transpose(0, 2, 1, 3)], axis=1)
        H = self.gradients @ u.reshape(e, 1, -1, 3 * k)  # derivative, (component, field)
        return H.reshape(*H.shape[:3], 3, k).swapaxes(2, 3)


_HOURGLASS = np.array(
    [[1, 1, -1, -1, -1, -1, 1, 1], [1, -1, -1, 1, -1, 1, 1, -1], [1, -1] * 4, [-1, 1, -1, 1, 1, -1, 1, -1]], dtype=float
)
"""Motions of the nodes of hex8 without a mean gradient on a cube."""


def _hourglass(shape: Element, x: np.ndarray, mean: np.ndarray, volume: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Stiffness (e, nn, nn) of hourglass motions, less their part in linear fields, for mean gradients (e, 3, nn)."""
    free = _HOURGLASS - (_HOURGLASS @ x) @ mean
    rows, columns = np.array(VOIGT).T
    elasticity = c[..., rows[:, None], columns[:, None], rows, columns]
    modulus = 1 / np.linalg.inv(elasticity)[..., 0, 0]
    size = shape.hourglass * modulus.mean(axis=tuple(range(1, modulus.ndim))) * volume * (mean * mean).sum(axis=(1, 2))
    return size[:, None, None] * (free.swapaxes(1, 2) @ free)


def _incompatible(shape: Element, x: np.ndarray, xi: np.ndarray, determinant: np.ndarray) -> np.ndarray:
    """Gradients (e, q, 3, 3 modes) of the modes 1 - xi_k^2, so modified that they do no work on a constant stress.

    Source: Taylor, Beresford, Wilson (1976): Jacobian of the cell's middle, scaled by the ratio of determinants.
    """
    cofactors, _ = jacobian(shape, x, np.zeros((1, 3)))
    local = -2 * np.eye(3) * xi[:, None, :]  # q, direction, mode
    return (cofactors.transpose(0, 1, 3, 2) @ local) / determinant[..., None, None]
