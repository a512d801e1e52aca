"""Natural vibrations: the eigenvalues of small motions, dense for all of them, by Arnoldi's method for some."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import eig

HELD = 1e-12
"""Compliance given to the joint equations when they are factored with the stiffness, relative: dependent equations are then no obstacle."""


@dataclass(frozen=True, eq=False)
class Vibration:
    """Modes of small motions `exp(s t)`: eigenvalues `s` (k,), complex, of each conjugate pair the one above the real axis, by ascending magnitude; shapes (nv, k), twists of the bodies
    (body axes) and elastic coordinates, the largest entry one."""

    eigenvalues: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Cycles per unit of time of the damped vibration, zero for motions that only grow or decay."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping_ratios(self) -> np.ndarray:
        """Of critical damping; negative where the motion grows."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0)

    @property
    def stable(self) -> bool:
        """Whether no motion grows, up to round-off."""
        return bool((self.eigenvalues.real <= 1e-7 * np.abs(self.eigenvalues).max(initial=1.0)).all())

    def __str__(self) -> str:
        rows = [f"{'mode':>4}{'frequency':>14}{'damping ratio':>16}"]
        rows += [
            f"{k + 1:4d}{f:14.6g}{z:16.4g}"
            for k, (f, z) in enumerate(zip(self.frequencies, self.damping_ratios, strict=True))
        ]
        return "\n".join([*rows, "stable" if self.stable else "unstable"])


def all_modes(A: np.ndarray, N: np.ndarray) -> Vibration:
    """Of the state matrix `A` (2 nf, 2 nf) in independent coordinates `N` (nv, nf); dense, O(nf^3)."""
    values, vectors = eig(A)
    return _ordered(values, N @ vectors[: N.shape[1]])


def modes_near(
    M: sp.csr_matrix, D: sp.csr_matrix, K: sp.csr_matrix, G: sp.csr_matrix, count: int, shift: complex
) -> Vibration:
    """The `count` modes with eigenvalues nearest to `shift`: shift and inverse of the whole pencil, joint equations included, in Arnoldi's iteration.

    `M x'' + D x' + K x + G^T l = 0`, `G x = 0`, matrices of any symmetry. Cost: one sparse factorisation and about `4 count` solutions.
    Source: Doan, Geradin, Kill (NATO ASI 1993) solve the same problem by a nonsymmetric Lanczos method; Lehoucq, Sorensen, Yang, ARPACK (1998).
    """
    nv, nj = M.shape[0], G.shape[0]
    C = (K + shift * D + shift * shift * M).astype(complex).tocsc()
    held = HELD * float(abs(G).max() ** 2 / abs(C).max()) if nj else 0.0
    factor = spla.splu(sp.bmat([[C, G.T], [G, -held * sp.eye(nj)]], format="csc") if nj else C)
    both = D + shift * M

    def inverse(z: np.ndarray) -> np.ndarray:
        x, rate = z[:nv], z[nv:]
        y = factor.solve(np.concatenate([-(M @ rate) - both @ x, np.zeros(nj)]))[:nv]
        return np.concatenate([y, shift * y + x])

    apply = spla.LinearOperator((2 * nv, 2 * nv), inverse, dtype=complex)
    wanted = min(2 * count + 2, 2 * nv - 2)
    start = np.random.default_rng(0).normal(size=2 * nv) + 0j
    inverted, vectors = spla.eigs(apply, wanted, v0=inverse(start), ncv=min(2 * nv, max(2 * wanted + 1, 40)))
    real = (
        np.abs(inverted) > 1e-10 * np.abs(inverted).max()
    )  # the others belong to motions that the joints do not allow
    found = _ordered(shift + 1 / inverted[real], vectors[:nv, real])
    nearest = np.sort(np.argsort(np.abs(found.eigenvalues - shift), kind="stable")[:count])
    return Vibration(found.eigenvalues[nearest], found.shapes[:, nearest])


def _ordered(values: np.ndarray, shapes: np.ndarray) -> Vibration:
    """Those on and above the real axis, by magnitude."""
    upper = np.flatnonzero(values.imag >= -1e-9 * np.abs(values).max(initial=1.0))
    order = upper[np.argsort(np.abs(values[upper]), kind="stable")]
    shapes = shapes[:, order]
    largest = np.abs(shapes).argmax(axis=0)
    return Vibration(values[order], shapes / shapes[largest, np.arange(len(order))])
