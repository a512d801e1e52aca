"""Linear algebra of one Newton step.

The matrix is `[A G^T; G -C]`: `A` block diagonal over bodies, `G` the rows, `C` their compliance (zero for
joints, one over the effective stiffness for springs). Inside a body the elastic block is diagonal,

    A_b = [ beta M_rr      beta M_re                     ]
          [ beta M_re^T    beta I + gamma D + K          ]

so the elastic coordinates are eliminated in O(m), then the bodies, and a matrix of the size of the rows is left.
A numerically dependent row (a redundant or momentarily singular mechanism) is met by the solution of least norm.
"""

import numpy as np
from numba import njit

from flexmb.kernels.data import GROUND

DEPENDENT = 1e-11  # relative size of a pivot below which rows count as dependent
INACTIVE = -1.0  # compliance of a row that takes no part


@njit(cache=True)
def factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol):
    """Eliminate the elastic block of every body: fill the diagonals `E` (nv,) and the 6x6 Cholesky factors `chol`."""
    for b in range(len(flat.modes)):
        m = flat.modes[b]
        e = flat.v_start[b] + 6
        first = flat.v_start[b] - 6 * b
        S = chol[b]
        for r in range(6):
            for c in range(r + 1):
                S[r, c] = beta * Mrr[b, r, c]
        for i in range(m):
            E[e + i] = beta + stiff * (gamma * flat.damping[first + i] + flat.stiffness[first + i])
            scale = beta * beta / E[e + i]
            for r in range(6):
                x = scale * Mre[b, r, i]
                for c in range(r + 1):
                    S[r, c] -= x * Mre[b, c, i]
        for r in range(6):  # Cholesky in place, lower triangle
            for c in range(r + 1):
                total = S[r, c]
                for k in range(c):
                    total -= S[r, k] * S[c, k]
                if r == c:
                    if total <= 0.0:
                        return b + 1
                    S[r, r] = np.sqrt(total)
                else:
                    S[r, c] = total / S[c, c]
    return 0


@njit(cache=True)
def solve_body(m, beta, Mre, E, L, x):
    """Overwrite `x` (6+m,) by `A_b^{-1} x`; `Mre`, elastic diagonal `E` (m,) and Cholesky factor `L` of this body."""
    for i in range(m):
        x[6 + i] /= E[i]
    for r in range(6):
        total = 0.0
        for i in range(m):
            total += Mre[r, i] * x[6 + i]
        x[r] -= beta * total
    for r in range(6):
        total = x[r]
        for k in range(r):
            total -= L[r, k] * x[k]
        x[r] = total / L[r, r]
    for r in range(5, -1, -1):
        total = x[r]
        for k in range(r + 1, 6):
            total -= L[k, r] * x[k]
        x[r] = total / L[r, r]
    for i in range(m):
        total = 0.0
        for r in range(6):
            total += Mre[r, i] * x[r]
        x[6 + i] -= beta * total / E[i]


@njit(cache=True)
def _solve_least_norm(S, scale, t):
    """Solution of least (scaled) norm of a symmetric semi-definite system, in the place of `t`."""
    n = len(t)
    values, vectors = np.linalg.eigh(S)
    y = np.zeros(n)
    cut = 1e-10 * values[n - 1]
    for k in range(n):
        if values[k] > cut:
            c = 0.0
            for i in range(n):
                c += vectors[i, k] * t[i] * scale[i]
            for i in range(n):
                y[i] += vectors[i, k] * c / values[k]
    for i in range(n):
        t[i] = y[i] * scale[i]


@njit(cache=True)
def _solve_symmetric(S, t, work):
    """Overwrite `t` by `S^{-1} t`, `S` symmetric positive (semi-)definite; return 1 when rows are dependent."""
    n = len(t)
    scale = np.empty(n)
    for i in range(n):
        scale[i] = 1.0 / np.sqrt(S[i, i])
    for i in range(n):
        for j in range(n):
            S[i, j] *= scale[i] * scale[j]
            work[i, j] = S[i, j]
    for r in range(n):
        for c in range(r + 1):
            total = work[r, c]
            for k in range(c):
                total -= work[r, k] * work[c, k]
            if r == c:
                if not np.isfinite(total):
                    t[:] = np.nan
                    return 0
                if not total > DEPENDENT:
                    _solve_least_norm(S, scale, t)
                    return 1
                work[r, r] = np.sqrt(total)
            else:
                work[r, c] = total / work[c, c]
    for r in range(n):
        total = t[r] * scale[r]
        for k in range(r):
            total -= work[r, k] * t[k]
        t[r] = total / work[r, r]
    for r in range(n - 1, -1, -1):
        total = t[r]
        for k in range(r + 1, n):
            total -= work[k, r] * t[k]
        t[r] = total / work[r, r]
    for r in range(n):
        t[r] *= scale[r]
    return 0


@njit(cache=True)
def solve_rows(flat, beta, gamma, stiff, Mrr, Mre, G, compliance, rhs, row_rhs, x, multipliers):
    """Solve `[A G^T; G -C] [x; multipliers] = [rhs; row_rhs]`.

    `stiff` is 1 to include stiffness and damping in A, 0 for the mass alone. Rows of compliance `INACTIVE` take no
    part (multiplier 0). Returns 0, 1 when rows are dependent (solution of least norm), or -(b+1) when the mass
    matrix of body `b` is not positive definite. Cost O(sum m) + O(rows^3).
    """
    nr = len(row_rhs)
    width = G.shape[2]
    E = np.empty(len(rhs))
    chol = np.empty((len(flat.modes), 6, 6))
    bad = factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol)
    if bad > 0:
        return -bad
    for b in range(len(flat.modes)):
        start, end = flat.v_start[b], flat.v_start[b + 1]
        x[start:end] = rhs[start:end]
        solve_body(flat.modes[b], beta, Mre[b], E[start + 6 : end], chol[b], x[start:end])

    Z = np.empty((nr, 2, width))
    S = np.zeros((nr, nr))
    for r in range(nr):
        multipliers[r] = 0.0
        if compliance[r] == INACTIVE:
            S[r, r] = 1.0
            continue
        multipliers[r] = -row_rhs[r]
        S[r, r] = compliance[r]
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b == GROUND:
                continue
            start = flat.v_start[b]
            n = 6 + flat.modes[b]
            z = Z[r, side]
            for i in range(n):
                z[i] = G[r, side, i]
                multipliers[r] += G[r, side, i] * x[start + i]
            solve_body(flat.modes[b], beta, Mre[b], E[start + 6 : start + n], chol[b], z)
            for p in range(r + 1):
                if compliance[p] == INACTIVE:
                    continue
                for other in range(2):
                    if flat.marker_body[flat.row_markers[p, other]] == b:
                        total = 0.0
                        for i in range(n):
                            total += G[p, other, i] * z[i]
                        S[r, p] += total
    for r in range(nr):
        for p in range(r):
            S[p, r] = S[r, p]
    dependent = _solve_symmetric(S, multipliers, np.empty((nr, nr))) if nr > 0 else 0
    for r in range(nr):
        if compliance[r] == INACTIVE:
            continue
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                start = flat.v_start[b]
                for i in range(6 + flat.modes[b]):
                    x[start + i] -= Z[r, side, i] * multipliers[r]
    return dependent
