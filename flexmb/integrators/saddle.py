"""The saddle point matrix `[M + s D + s^2 K, G^T; G, 0]` of an implicit step, and its sparse factors.

The rates `r` of the states of force elements are eliminated. With the states `z = z0 + s r`, the velocities `s a` and
the displacements `s^2 a` of accelerations `a`, `r - Zz s r = (s Zv + s^2 Zx) a + ...`, and their forces `F z` add
`s F (1 - s Zz)^-1 (s Zv + s^2 Zx)` to the matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse, independent_rows
from flexmb.equations.state_tangent import StateTangent, state_tangent
from flexmb.kernels.calls import element_tangents, friction_change

REGULAR = 1e-13
"""Regularisation of the block of the joint equations, relative to its diagonal, so that equations that are dependent up
to round-off do not make the matrix singular. It affects the convergence of the iteration but not its solution."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Mass, damping and stiffness matrices (nv, nv) and Jacobian of the joint equations (nj, nv) at one state.

    The damping matrix includes the gyroscopic terms of the bodies; the derivatives of reactions with respect to
    positions are left to the iteration.

    `rubbing` (nv, nj): the derivatives of the forces of joint friction with respect to the multipliers.

    `kept` (nj,): mask of independent joint equations. The other equations follow from them if the joints are closed.
    The stages of a step do not satisfy the joints exactly, and all equations together would there block a mechanism
    that is mobile with closed joints. The multipliers of the other equations are not changed.
    """

    M: sp.csr_matrix
    D: sp.csr_matrix
    K: sp.csr_matrix
    G: sp.csr_matrix
    kept: np.ndarray
    rubbing: sp.csr_matrix
    states: StateTangent | None = None

    def following(self, s: complex) -> np.ndarray:
        """Rates (nz, nv) of the states for units of the accelerations, in a step of size `s`."""
        own = self.states
        if own is None:
            return np.zeros((0, self.M.shape[0]))
        return self.settled(s, s * own.by_speed + s * s * own.by_place)

    def settled(self, s: complex, rates: np.ndarray) -> np.ndarray:
        """The rates (nz, ...) of the states that follow from `rates` (nz, ...) at unchanged states."""
        if self.states is None:
            return rates
        return np.asarray(np.linalg.solve(np.eye(len(rates)) - s * self.states.by_state, rates))

    def pushed(self, s: complex, rates: np.ndarray) -> np.ndarray:
        """The residual forces (nv, ...) of `rates` (nz, ...) of the states over a step of size `s`."""
        own = self.states
        return np.zeros(self.M.shape[0]) if own is None else np.asarray(s * (own.force @ rates))

    def factor(self, s: complex) -> Any:
        """Sparse factors of the matrix for a step of (complex) size `s`."""
        P = self.M + s * self.D + s * s * self.K
        if self.states is not None:
            P = sp.csr_matrix(P + sp.csr_matrix(self.pushed(s, self.following(s))))
        if not self.G.shape[0]:
            return spla.splu(P.tocsc())
        G = sp.csr_matrix(sp.diags(self.kept.astype(float)) @ self.G)
        size = np.asarray(abs(self.G).power(2) @ (1.0 / self.M.diagonal())).ravel()
        regular = sp.diags(-np.where(self.kept, REGULAR, 1.0) * size)
        return spla.splu(sp.block_array([[P, G.T + self.rubbing], [G, regular]], format="csc"))


def blocks_of(
    e: Equations, t: float, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> Blocks:
    """The blocks at a state."""
    flat, nj = e.flat, e.flat.joint_rows
    e.residual(e.mechanism.function_values(t), q, w, wdot, multipliers)
    rubbed, rubbing = _rubbing(e, multipliers)
    stiffness, damping = [], []
    for b, m in enumerate(flat.modes):
        first = flat.v_start[b] - 6 * b
        stiffness += [np.zeros(6), flat.stiffness[first : first + m]]
        damping += [np.zeros(6), flat.damping[first : first + m]]
    G = as_sparse(flat, e.workspace.G)
    springs = G[nj:]
    K = sp.diags(np.concatenate(stiffness)) + springs.T @ sp.diags(flat.row_stiffness[nj:]) @ springs
    D = sp.diags(np.concatenate(damping)) + springs.T @ sp.diags(flat.row_damping[nj:]) @ springs
    if len(flat.element_row):
        functions = e.mechanism.function_values(t)
        elements = springs[np.add.outer(flat.element_row - nj, np.arange(6)).ravel()]
        element_tangents(flat, functions, e.kinematics, e.workspace, 0.0)
        stiff = e.workspace.tangents.copy()
        rate = flat.scales[1]
        element_tangents(flat, functions, e.kinematics, e.workspace, 1.0 / rate)
        damped = (e.workspace.tangents - stiff) * rate
        K += elements.T @ sp.block_diag(stiff) @ elements
        D += elements.T @ sp.block_diag(damped) @ elements
    if len(flat.velocity_body):
        own = [np.zeros((6 + m, 6 + m)) for m in flat.modes]
        for k, b in enumerate(flat.velocity_body):
            own[b] = flat.velocity_matrix[k, : len(own[b]), : len(own[b])]
        D = D + sp.block_diag(own)
    M, kept = e.mass(), independent_rows(G[:nj], flat)
    D = (D + _gyroscopic(e, t, q, w, D) + rubbed).tocsr()
    if not len(e.states):
        return Blocks(M, D, K.tocsr(), G[:nj], kept, rubbing)
    states = state_tangent(e, e.mechanism.function_values(t), q, w, wdot, multipliers)[0]
    return Blocks(M, D, K.tocsr(), G[:nj], kept, rubbing, states)


def _rubbing(e: Equations, multipliers: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Derivatives of the forces of regularised friction with respect to velocities (nv, nv) and multipliers (nv, nj) at
    the last state."""
    flat, nj = e.flat, e.flat.joint_rows
    count = len(flat.friction_row)
    if not count:
        return sp.csr_matrix((len(flat.weight), len(flat.weight))), sp.csr_matrix((len(flat.weight), nj))
    slope, pushed = np.zeros((count, count)), np.zeros((count, nj))
    directions, slopes = e.workspace.sliding_direction, e.workspace.sliding_slopes
    for k, bound in enumerate(e.friction_bounds(multipliers)):
        own = slice(flat.friction_start[k], flat.friction_start[k + 1])
        slope[own, own] = bound * slopes[own, : own.stop - own.start]
        for r in flat.friction_source[k][flat.friction_source[k] >= 0]:
            pushed[own, r] = directions[own] * friction_change(flat, k, multipliers, np.eye(1, nj, r)[0])
    G = as_sparse(flat, e.workspace.G)[flat.friction_row]
    return sp.csr_matrix(G.T @ sp.csr_matrix(slope) @ G), sp.csr_matrix(G.T @ sp.csr_matrix(pushed))


def _gyroscopic(e: Equations, t: float, q: np.ndarray, w: np.ndarray, D: sp.csr_matrix) -> sp.csr_matrix:
    """Derivatives (nv, nv) of the gyroscopic forces of each body with respect to its velocities.

    Central differences are exact for these quadratic forces. Each evaluation changes one velocity of every body.
    """
    flat, nv = e.flat, len(w)
    speed = float((np.abs(w) * flat.weight).max(initial=0.0))
    blocks = [np.zeros((6 + m, 6 + m)) for m in flat.modes]
    functions, still, none = e.mechanism.function_values(t), np.zeros(nv), np.zeros(flat.joint_rows)
    for i in range(6 + int(max(flat.modes, default=0)) if speed > 0 else 0):
        pattern = np.zeros(nv)
        at = np.array([flat.v_start[b] + i for b, m in enumerate(flat.modes) if i < 6 + m])
        pattern[at] = speed / np.where(flat.weight[at] > 0, flat.weight[at], 1.0)
        ahead = e.residual(functions, q, w + pattern, still, none)[0].copy()
        change = 0.5 * (ahead - e.residual(functions, q, w - pattern, still, none)[0]) - D @ pattern
        for b, m in enumerate(flat.modes):
            if i < 6 + m:
                s = flat.v_start[b]
                blocks[b][:, i] = change[s : s + 6 + m] / pattern[s + i]
    return sp.csr_matrix(sp.block_diag(blocks))
