"""Linear algebra of one Newton step.

The matrix is `[A G^T; G -C]`: `A` block diagonal over bodies, `G` the rows, `C` their compliance (zero for
joints, one over the effective stiffness for springs). Inside a body the elastic stiffness is diagonal,

    A_b = [ beta M_rr      beta M_re                     ]
          [ beta M_re^T    beta M_ff + gamma D + K       ]

with `M_ff = I` or, for bodies with a second-order field, `M_ff = I - M_re0^T M_rr0^-1 M_re0 + M_re^T M_rr^-1 M_re` (see
flexmb/kernels/bodies.py): both are eliminated in O(m), then the bodies, and a matrix of the size of the rows is left, of which only the envelope is held: rows that share no
body, directly or by way of those eliminated before them, do not meet.
A numerically dependent row (a redundant or momentarily singular mechanism) is met by the solution of least norm.
"""

import numpy as np
from numba import njit

from flexmb.kernels.data import SECOND_ORDER
from flexmb.kernels.dense import FAST, add_back, add_coupled, cholesky, copy, inner, solve6_all

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
def solve_body(m, second, beta, Mre, Mre0, E, L, L0, six, X):
    """Overwrite the rows of X (k, 6+m) by `A_b^-1` times them; coupling now and at rest, inverse elastic diagonal `E` (m,), factors of this body, scratch `six` (k, 6)."""
    count = len(X)
    for j in range(count):
        for i in range(m):
            X[j, 6 + i] *= E[i]
    if not second:
        for j in range(count):
            add_coupled(Mre, m, -beta, X[j, 6:], X[j])
        solve6_all(L, X)
        for j in range(count):
            add_back(Mre, m, -beta, X[j], E, X[j, 6:])
        return
    # with y = wdot_r + M_rr^-1 M_re etaddot:  beta M_rr y = x_r,  (1/E - beta M_re0^T M_rr0^-1 M_re0) etaddot = x_e - beta M_re^T y
    solve6_all(L, X)
    for j in range(count):
        add_back(Mre, m, -beta, X[j], E, X[j, 6:])
        six[j] = 0.0
        add_coupled(Mre0, m, -beta, X[j, 6:], six[j])
    solve6_all(L0, six)
    for j in range(count):
        add_back(Mre0, m, -beta, six[j], E, X[j, 6:])
        six[j] = 0.0
        add_coupled(Mre, m, -beta, X[j, 6:], six[j])
    solve6_all(L, six)
    for j in range(count):
        for r in range(6):
            X[j, r] += six[j, r]


@njit(cache=True, fastmath=FAST)
def _row_product(S, a, b, count):
    total = 0.0
    for k in range(count):
        total += S[a + k] * S[b + k]
    return total


@njit(cache=True)
def _factor_envelope(start, first, S, scale):
    """Cholesky factor of a symmetric matrix within its envelope, in place, with its diagonal inverted; rows scaled to ones on the diagonal before.

    Row r holds the columns `first[r]` to r, at `start[r]`. A row that depends on those before it is left out: the inverse of its diagonal is zero. Returns how many there are, -1 when
    something is not finite.
    """
    n, dependent = len(first), 0
    for r in range(n):
        scale[r] = 1.0 / np.sqrt(S[start[r + 1] - 1])
        for c in range(first[r], r + 1):
            S[start[r] + c - first[r]] *= scale[r] * scale[c]
    for r in range(n):
        row = start[r] - first[r]
        for c in range(first[r], r + 1):
            low = max(first[r], first[c])
            total = S[row + c] - _row_product(S, row + low, start[c] - first[c] + low, c - low)
            if c < r:
                S[row + c] = total * S[start[c + 1] - 1]
            elif total > DEPENDENT:
                S[row + c] = 1.0 / np.sqrt(total)
            elif np.isfinite(total):
                S[row + c] = 0.0
                dependent += 1
            else:
                return -1
    return dependent


@njit(cache=True)
def _solve_envelope(start, first, L, t):
    """Overwrite `t` by the solution, with the factor of `_factor_envelope`; zero in the rows left out."""
    n = len(t)
    for r in range(n):
        total = t[r]
        for c in range(first[r], r):
            total -= L[start[r] + c - first[r]] * t[c]
        t[r] = total * L[start[r + 1] - 1]
    for r in range(n - 1, -1, -1):
        t[r] *= L[start[r + 1] - 1]
        for c in range(first[r], r):
            t[c] -= L[start[r] + c - first[r]] * t[r]


@njit(cache=True)
def _combinations_without_effect(start, first, S, L, scale, count):
    """Orthonormal rows (count, n) that the scaled matrix takes to zero: one for each row left out of its factor, made orthogonal one after the other."""
    n, k = len(first), 0
    Q = np.zeros((count, n))
    for r in range(n):
        if L[start[r + 1] - 1] != 0.0:
            continue
        q = Q[k]
        for c in range(first[r], r):
            q[c] = S[start[r] + c - first[r]] * scale[r] * scale[c]
        for c in range(r + 1, n):
            if first[c] <= r:
                q[c] = S[start[c] + r - first[c]] * scale[r] * scale[c]
        _solve_envelope(start, first, L, q)
        q[r] = -1.0
        for _ in range(2):
            for i in range(k):
                _subtract_part(Q[i], q)
        length = 1.0 / np.sqrt(inner(q, q, n))
        for c in range(n):
            q[c] *= length
        k += 1
    return Q


@njit(cache=True)
def _subtract_part(unit, x):
    """Take the part along a unit vector out of `x`."""
    along = inner(unit, x, len(x))
    for i in range(len(x)):
        x[i] -= along * unit[i]


@njit(cache=True)
def _solve_symmetric(start, first, S, L, scale, standing, t):
    """Overwrite `t` by `S^{-1} t`, `S` symmetric positive semi-definite within its envelope; return 1 when rows are dependent.

    Then the solution, for the nearest right-hand side that has one, is that with which `standing + t` has the least norm, in the scale of the rows: what stands from earlier
    solutions would otherwise grow, because what is without effect turns with the mechanism. Cost: that of one more solve for each dependent row.
    """
    n = len(t)
    copy(S, L)
    dependent = _factor_envelope(start, first, L, scale)
    if dependent < 0:
        t[:] = np.nan
        return 0
    for r in range(n):
        t[r] *= scale[r]
    if dependent > 0:
        Q = _combinations_without_effect(start, first, S, L, scale, dependent)
        for k in range(dependent):
            _subtract_part(Q[k], t)
        _solve_envelope(start, first, L, t)
        for r in range(n):
            t[r] += standing[r] / scale[r]
        for k in range(dependent):
            _subtract_part(Q[k], t)
        for r in range(n):
            t[r] -= standing[r] / scale[r]
    else:
        _solve_envelope(start, first, L, t)
    for r in range(n):
        t[r] *= scale[r]
    return min(dependent, 1)


@njit(cache=True)
def mass_times(flat, terms, x, out):
    """`out = M x` (nv,) with the mass blocks in `terms`."""
    six = terms.six
    for b in range(len(flat.modes)):
        m, s = flat.modes[b], flat.v_start[b]
        Mrr, Mre = terms.Mrr[b], terms.Mre[b]
        for i in range(6):
            out[s + i] = 0.0
            for k in range(6):
                out[s + i] += Mrr[i, k] * x[s + k]
        if m == 0:
            continue
        elastic, result = x[s + 6 : s + 6 + m], out[s + 6 : s + 6 + m]
        copy(elastic, result)
        if flat.slices[b] == SECOND_ORDER:
            _add_statically(terms.Mrr[b], Mre, m, elastic, 1.0, six, terms.Lrr, result)
            _add_statically(flat.rest_Mrr[b], flat.rest_Mre[b], m, elastic, -1.0, six, terms.Lrr, result)
        add_coupled(Mre, m, 1.0, elastic, out[s:])
        _add_transposed(Mre, m, 1.0, x[s:], result)


@njit(cache=True)
def _add_statically(Mrr, Mre, m, x, factor, six, L, out):
    """`out += factor M_re^T M_rr^-1 M_re x`."""
    six[0] = 0.0
    add_coupled(Mre, m, factor, x, six[0])
    for r in range(6):
        for c in range(r + 1):
            L[r, c] = Mrr[r, c]
    cholesky(L)
    solve6_all(L, six[:1])
    _add_transposed(Mre, m, 1.0, six[0], out)


@njit(cache=True, fastmath=FAST)
def _add_transposed(Mre, m, factor, rigid, out):
    """`out += factor M_re^T rigid` (m,)."""
    a, b, c, d, e, f = rigid[0], rigid[1], rigid[2], rigid[3], rigid[4], rigid[5]
    for i in range(m):
        out[i] += factor * (
            Mre[0, i] * a + Mre[1, i] * b + Mre[2, i] * c + Mre[3, i] * d + Mre[4, i] * e + Mre[5, i] * f
        )


@njit(cache=True)
def solve_rows(flat, terms, beta, gamma, stiff, compliance, rhs, row_rhs, x, multipliers):
    """Solve `[A G^T; G -C] [x; multipliers] = [rhs; row_rhs]`, with the blocks in `terms`.

    `stiff` is 1 to include stiffness and damping in A, 0 for the mass alone. Rows of compliance `INACTIVE` take no
    part (multiplier 0). Returns 0, 1 when rows are dependent (solution of least norm), or -(b+1) when the mass
    matrix of body `b` is not positive definite. Cost O(sum m), and for the rows that of their envelope: linear in the bodies of a chain.
    """
    nb, nr = len(flat.modes), len(row_rhs)
    Mrr, Mre, G, E, chol, chol0 = terms.Mrr, terms.Mre, terms.G, terms.E, terms.chol, terms.chol0
    bad = factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0)
    if bad > 0:
        return -bad
    place, start, first = flat.row_place, flat.envelope_start, flat.envelope_first
    S, t, Z, six = terms.S, terms.t, terms.Z, terms.sixes
    S[:] = 0.0
    for r in range(nr):
        inactive = compliance[r] == INACTIVE
        S[start[place[r] + 1] - 1] = 1.0 if inactive else compliance[r]
        t[place[r]] = 0.0 if inactive else -row_rhs[r]
    offset = 0
    for b in range(nb):
        vs, m = flat.v_start[b], flat.modes[b]
        n, low, k = 6 + m, flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        X = Z[offset : offset + n * (k + 1)].reshape(k + 1, n)
        offset += n * (k + 1)
        for j in range(k):
            r, side = flat.incident_row[low + j], flat.incident_side[low + j]
            active = 0.0 if compliance[r] == INACTIVE else 1.0
            for i in range(n):
                X[j, i] = active * G[r, side, i]
        for i in range(n):
            X[k, i] = rhs[vs + i]
        second = flat.slices[b] == SECOND_ORDER
        solve_body(m, second, beta, Mre[b], flat.rest_Mre[b], E[vs + 6 : vs + n], chol[b], chol0[b], six[: k + 1], X)
        for i in range(n):
            x[vs + i] = X[k, i]
        for j in range(k):
            r = flat.incident_row[low + j]
            if compliance[r] == INACTIVE:
                continue
            row = G[r, flat.incident_side[low + j]]
            t[place[r]] += inner(row, X[k], n)
            at = start[place[r]] - first[place[r]]
            for p in range(k):
                c = place[flat.incident_row[low + p]]
                if c <= place[r]:
                    S[at + c] += inner(row, X[p], n)
    dependent = _solve_symmetric(start, first, S, terms.L, terms.scale, terms.standing, t) if nr > 0 else 0
    offset = 0
    for b in range(nb):
        vs, n = flat.v_start[b], 6 + flat.modes[b]
        low, k = flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        X = Z[offset : offset + n * (k + 1)].reshape(k + 1, n)
        offset += n * (k + 1)
        for j in range(k):
            r = flat.incident_row[low + j]
            if compliance[r] != INACTIVE:
                multiplier = t[place[r]]
                for i in range(n):
                    x[vs + i] -= X[j, i] * multiplier
    for r in range(nr):
        multipliers[r] = 0.0 if compliance[r] == INACTIVE else t[place[r]]
    return dependent
