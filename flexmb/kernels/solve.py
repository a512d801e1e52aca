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
from flexmb.kernels.dense import FAST, add_back, add_coupled, cholesky, inner, solve6

DEPENDENT = 1e-11  # relative size of a pivot below which rows count as dependent
INACTIVE = -1.0  # compliance of a row that takes no part


@njit(cache=True)
def factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0):
    """Fill the inverses `E` of the diagonals `beta + stiff (gamma D + K)` (nv,) and the 6x6 Cholesky factors `chol` of every body.

    Without a second-order field: of `beta M_rr - beta^2 M_re E M_re^T`. With one: of `beta M_rr`, and `chol0` of
    `beta M_rr0 - beta^2 M_re0 E M_re0^T`. Returns 0, or b + 1 when that of body b is not positive definite.
    """
    for b in range(len(flat.modes)):
        m = flat.modes[b]
        e = flat.v_start[b] + 6
        first = flat.v_start[b] - 6 * b
        for i in range(m):
            E[e + i] = 1.0 / (beta + stiff * (gamma * flat.damping[first + i] + flat.stiffness[first + i]))
        if flat.slices[b] == SECOND_ORDER:
            for r in range(6):
                for c in range(r + 1):
                    chol[b, r, c] = beta * Mrr[b, r, c]
            _reduce(flat.rest_Mrr[b], flat.rest_Mre[b], m, beta, E[e : e + m], chol0[b])
            if not (cholesky(chol[b]) and cholesky(chol0[b])):
                return b + 1
        else:
            _reduce(Mrr[b], Mre[b], m, beta, E[e : e + m], chol[b])
            if not cholesky(chol[b]):
                return b + 1
    return 0


@njit(cache=True, fastmath=FAST)
def _reduce(Mrr, Mre, m, beta, E, out):
    """Lower triangle of `beta M_rr - beta^2 M_re E M_re^T`."""
    for r in range(6):
        for c in range(r + 1):
            total = 0.0
            for i in range(m):
                total += Mre[r, i] * E[i] * Mre[c, i]
            out[r, c] = beta * Mrr[r, c] - beta * beta * total


@njit(cache=True)
def solve_body(m, second, beta, Mre, Mre0, E, L, L0, six, x):
    """Overwrite `x` (6+m,) by `A_b^-1 x`; coupling now and at rest, inverse elastic diagonal `E` (m,), factors of this body, scratch `six` (6,)."""
    rigid, elastic = x[:6], x[6:]
    for i in range(m):
        elastic[i] *= E[i]
    if not second:
        add_coupled(Mre, m, -beta, elastic, rigid)
        solve6(L, rigid)
        add_back(Mre, m, -beta, rigid, E, elastic)
        return
    # with y = wdot_r + M_rr^-1 M_re etaddot:  beta M_rr y = x_r,  (1/E - beta M_re0^T M_rr0^-1 M_re0) etaddot = x_e - beta M_re^T y
    solve6(L, rigid)
    add_back(Mre, m, -beta, rigid, E, elastic)
    six[:] = 0.0
    add_coupled(Mre0, m, -beta, elastic, six)
    solve6(L0, six)
    add_back(Mre0, m, -beta, six, E, elastic)
    six[:] = 0.0
    add_coupled(Mre, m, -beta, elastic, six)
    solve6(L, six)
    for r in range(6):
        rigid[r] += six[r]


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
    six = np.empty(6)
    bad = factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0)
    if bad > 0:
        return -bad
    for b in range(len(flat.modes)):
        start, end = flat.v_start[b], flat.v_start[b + 1]
        x[start:end] = rhs[start:end]
        second = flat.slices[b] == SECOND_ORDER
        solve_body(
            flat.modes[b],
            second,
            beta,
            Mre[b],
            flat.rest_Mre[b],
            E[start + 6 : end],
            chol[b],
            chol0[b],
            six,
            x[start:end],
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
            multipliers[r] += inner(z, x[start:], n)
            second = flat.slices[b] == SECOND_ORDER
            solve_body(
                n - 6, second, beta, Mre[b], flat.rest_Mre[b], E[start + 6 : start + n], chol[b], chol0[b], six, z[:n]
            )
            for p in range(r + 1):
                if compliance[p] == INACTIVE:
                    continue
                for other in range(2):
                    if flat.marker_body[flat.row_markers[p, other]] == b:
                        S[r, p] += inner(G[p, other], z, n)
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
