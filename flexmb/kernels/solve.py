"""Linear algebra of one Newton step.

The matrix is `[A G^T; G -C]`: `A` block diagonal over bodies, `G` the rows, `C` their compliance (zero for
joints, one over the effective stiffness for springs). Inside a body the elastic stiffness is diagonal,

    A_b = [ beta M_rr      beta M_re                     ]
          [ beta M_re^T    beta M_ff + gamma D + K       ]

with `M_ff = I` or, for bodies with a second-order field, `M_ff = I - M_re0^T M_rr0^-1 M_re0 + M_re^T M_rr^-1 M_re` (see
flexmb/kernels/bodies.py): both are eliminated in O(m), then the bodies, and a matrix of the size of the rows is left.
A numerically dependent row (a redundant or momentarily singular mechanism) is met by the solution of least norm.
"""

import numpy as np
from numba import njit

from flexmb.kernels.data import GROUND, SECOND_ORDER
from flexmb.kernels.dense import add_coupled, cholesky, solve6

DEPENDENT = 1e-11  # relative size of a pivot below which rows count as dependent
INACTIVE = -1.0  # compliance of a row that takes no part


@njit(cache=True)
def factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0):
    """Fill the diagonals `E = beta + stiff (gamma D + K)` (nv,) and the 6x6 Cholesky factors `chol` of every body.

    Without a second-order field: of `beta M_rr - beta^2 M_re E^-1 M_re^T`. With one: of `beta M_rr`, and `chol0` of
    `beta M_rr0 - beta^2 M_re0 E^-1 M_re0^T`. Returns 0, or b + 1 when that of body b is not positive definite.
    """
    for b in range(len(flat.modes)):
        m = flat.modes[b]
        e = flat.v_start[b] + 6
        first = flat.v_start[b] - 6 * b
        for i in range(m):
            E[e + i] = beta + stiff * (gamma * flat.damping[first + i] + flat.stiffness[first + i])
        if flat.slices[b] == SECOND_ORDER:
            chol[b] = beta * Mrr[b]
            _reduce(flat.rest_Mrr[b], flat.rest_Mre[b], beta, E[e : e + m], chol0[b])
            if not (cholesky(chol[b]) and cholesky(chol0[b])):
                return b + 1
        else:
            _reduce(Mrr[b], Mre[b], beta, E[e : e + m], chol[b])
            if not cholesky(chol[b]):
                return b + 1
    return 0


@njit(cache=True)
def _reduce(Mrr, Mre, beta, E, out):
    """Lower triangle of `beta M_rr - beta^2 M_re E^-1 M_re^T`."""
    for r in range(6):
        for c in range(r + 1):
            out[r, c] = beta * Mrr[r, c]
    for i in range(len(E)):
        scale = beta * beta / E[i]
        for r in range(6):
            x = scale * Mre[r, i]
            for c in range(r + 1):
                out[r, c] -= x * Mre[c, i]


@njit(cache=True)
def _add_back(Mre, m, beta, E, rigid, elastic):
    """`elastic -= beta E^-1 M_re^T rigid`."""
    for i in range(m):
        total = 0.0
        for r in range(6):
            total += Mre[r, i] * rigid[r]
        elastic[i] -= beta * total / E[i]


@njit(cache=True)
def solve_body(m, second, beta, Mre, Mre0, E, L, L0, x):
    """Overwrite `x` (6+m,) by `A_b^-1 x`; coupling now and at rest, elastic diagonal `E` (m,) and factors of this body."""
    for i in range(m):
        x[6 + i] /= E[i]
    if not second:
        add_coupled(Mre, m, -beta, x[6:], x[:6])
        solve6(L, x)
        _add_back(Mre, m, beta, E, x[:6], x[6:])
        return
    # with y = wdot_r + M_rr^-1 M_re etaddot:  beta M_rr y = x_r,  (E - beta M_re0^T M_rr0^-1 M_re0) etaddot = x_e - beta M_re^T y
    solve6(L, x)
    _add_back(Mre, m, beta, E, x[:6], x[6:])
    lift = np.zeros(6)
    add_coupled(Mre0, m, -beta, x[6:], lift)
    solve6(L0, lift)
    _add_back(Mre0, m, beta, E, lift, x[6:])
    turn = np.zeros(6)
    add_coupled(Mre, m, beta, x[6:], turn)
    solve6(L, turn)
    x[:6] -= turn


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
    chol0 = np.empty((len(flat.modes), 6, 6))
    bad = factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0)
    if bad > 0:
        return -bad
    for b in range(len(flat.modes)):
        start, end = flat.v_start[b], flat.v_start[b + 1]
        x[start:end] = rhs[start:end]
        second = flat.slices[b] == SECOND_ORDER
        solve_body(
            flat.modes[b], second, beta, Mre[b], flat.rest_Mre[b], E[start + 6 : end], chol[b], chol0[b], x[start:end]
        )

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
            second = flat.slices[b] == SECOND_ORDER
            solve_body(
                n - 6, second, beta, Mre[b], flat.rest_Mre[b], E[start + 6 : start + n], chol[b], chol0[b], z[:n]
            )
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
