"""The matrix of an implicit step on velocities and joint equations, `[M + s D + s^2 K, G^T; G, 0]`, and its sparse factors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from flexmb.initial import as_sparse
from flexmb.integrators.equations import Equations

REGULAR = 1e-13
"""Relative to its diagonal, taken off the block of the joint equations, so that redundant ones do not make it singular; it changes only the way to the solution."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Mass, damping, stiffness (nv, nv) and Jacobian of the joint equations (nj, nv), at one state; what turns with the motion is left to the iteration."""

    M: sp.csr_matrix
    D: sp.csr_matrix
    K: sp.csr_matrix
    G: sp.csr_matrix

    def factor(self, s: complex) -> Any:
        """Sparse factors of the matrix for a step of (complex) size `s`."""
        P = self.M + s * self.D + s * s * self.K
        if not self.G.shape[0]:
            return spla.splu(P.tocsc())
        regular = sp.diags(-REGULAR * np.asarray(abs(self.G).power(2) @ (1.0 / self.M.diagonal())).ravel())
        return spla.splu(sp.block_array([[P, self.G.T], [self.G, regular]], format="csc"))


def blocks_of(
    e: Equations, t: float, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> Blocks:
    """At a state."""
    flat, nj = e.flat, e.flat.joint_rows
    e.residual(e.mechanism.function_values(t), q, w, wdot, multipliers)
    stiffness, damping = [], []
    for b, m in enumerate(flat.modes):
        first = flat.v_start[b] - 6 * b
        stiffness += [np.zeros(6), flat.stiffness[first : first + m]]
        damping += [np.zeros(6), flat.damping[first : first + m]]
    G = as_sparse(flat, e.terms.G)
    springs = G[nj:]
    K = sp.diags(np.concatenate(stiffness)) + springs.T @ sp.diags(flat.row_stiffness[nj:]) @ springs
    D = sp.diags(np.concatenate(damping)) + springs.T @ sp.diags(flat.row_damping[nj:]) @ springs
    return Blocks(e.mass(), D.tocsr(), K.tocsr(), G[:nj])
