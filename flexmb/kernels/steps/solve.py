"""Linear algebra of a Newton step.

The matrix is `[A G^T; G -C]`, where `A` is block diagonal over the bodies, `G` is the Jacobian of the rows and `C` is
their compliance: zero for joints, the inverse of the effective stiffness for springs. The elastic stiffness of a body
is diagonal,

    A_b = [ beta M_rr      beta M_re                     ]
          [ beta M_re^T    beta M_ff + gamma D + K       ]

with `M_ff = I` or, for bodies with a second-order field, `M_ff = I - M_re0^T M_rr0^-1 M_re0 + M_re^T M_rr^-1 M_re` (see
flexmb/kernels/equations/bodies.py). The elastic coordinates are eliminated in O(m), then the bodies. The remaining
matrix has the size of the rows; only its envelope is stored, because rows that share no body, directly or through rows
eliminated before them, have no common entry. If rows are numerically dependent (a redundant or momentarily singular
mechanism), the solution of least norm is computed.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.data import COUPLED, GROUND, INACTIVE, SECOND_ORDER
from flexmb.kernels.base.dense import (
    FAST,
    add_back,
    add_coupled,
    add_transposed,
    cholesky,
    copy,
    inner,
    solve6_all,
)
from flexmb.kernels.base.sharing import AGAIN, MOVE, RESPOND, put, put_array, share
from flexmb.kernels.equations.bodies import add_elastic_inertia, lower_factor
from flexmb.kernels.joint_coordinates.branches import factor_branches
from flexmb.kernels.steps.coupled import (
    add_compliances,
    factor_coupled,
    invert_tangents,
    joints_alone,
    multiply_tangents,
    solve_coupled,
    solve_repeatedly,
)

DEPENDENT = 1e-11  # relative size of a pivot below which a row is dependent
CLOSED, CORRECTIONS = 1e-14, 5  # residual of a joint equation, relative to its terms, and corrections to reach it
NEGLIGIBLE = 1e-10  # size of an entry of a combination of equations without effect, relative to the largest


@njit(cache=True)
def factor_bodies(flat, beta, gamma, stiff, Mrr, Mre, E, chol, chol0, unsound, first, end):
    """Fill the inverses `E` (nv,) of the diagonals `beta + stiff (gamma D + K)` and the Cholesky factors (6, 6) of the
    bodies from `first` to `end` - 1, and whether the matrix of each is not positive definite, `unsound` (nb,).

    Without a second-order field, `chol` is the factor of `beta M_rr - beta^2 M_re E M_re^T`. With a second-order field,
    `chol` is the factor of `beta M_rr`, and `chol0` that of `beta M_rr0 - beta^2 M_re0 E M_re0^T`.
    """
    for b in range(first, end):
        m = flat.modes[b]
        e = flat.v_start[b] + 6
        place = flat.v_start[b] - 6 * b
        for i in range(m):
            E[e + i] = 1.0 / (beta + stiff * (gamma * flat.damping[place + i] + flat.stiffness[place + i]))
        if flat.slices[b] == SECOND_ORDER:
            for r in range(6):
                for c in range(r + 1):
                    chol[b, r, c] = beta * Mrr[b, r, c]
            _reduce(flat.rest_Mrr[b], flat.rest_Mre[b], m, beta, E[e : e + m], chol0[b])
            sound = cholesky(chol[b]) and cholesky(chol0[b])
        else:
            _reduce(Mrr[b], Mre[b], m, beta, E[e : e + m], chol[b])
            sound = cholesky(chol[b])
        unsound[b] = 0 if sound else 1


@njit(cache=True, fastmath=FAST)
def _reduce(Mrr, Mre, m, beta, E, out):
    """The lower triangle of `beta M_rr - beta^2 M_re E M_re^T`."""
    for r in range(len(Mrr)):  # with a constant length the compiler would unroll all 21 loops
        for c in range(r + 1):
            total = 0.0
            for i in range(m):
                total += Mre[r, i] * E[i] * Mre[c, i]
            out[r, c] = beta * Mrr[r, c] - beta * beta * total


@njit(cache=True)
def solve_body(m, second, beta, Mre, Mre0, E, L, L0, six, X):
    """Multiply the rows of `X` (k, 6+m) by `A_b^-1`.

    `Mre` and `Mre0` are the coupling blocks of the deformed and the undeformed body, `E` (m,) the inverse elastic
    diagonal, `L` and `L0` the factors of this body, `six` (k, 6) a work array.
    """
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
    # with y = wdot_r + M_rr^-1 M_re etaddot:
    # beta M_rr y = x_r,  (1/E - beta M_re0^T M_rr0^-1 M_re0) etaddot = x_e - beta M_re^T y
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
def factor_envelope(start, first, S, scale):
    """Overwrite a symmetric matrix within its envelope by its Cholesky factor with inverted diagonal.

    The matrix is first scaled to a unit diagonal. Row r contains the columns `first[r]` to r, from `start[r]` on. Rows
    that depend on previous rows are dropped by setting their inverse diagonal to zero. Returns the number of dropped
    rows, or -1 if an entry is not finite.
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
    """Overwrite `t` (n,) by the solution with the factor of `factor_envelope`; dropped rows are zero."""
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
def combinations_without_effect(start, first, L, count):
    """A basis of the null space of the scaled matrix, a vector for each dropped row of its factor, and the factor of
    its Gram matrix, in the form of `_project`.

    The vector of a dropped row is the combination of earlier rows that is equal to this row. It consists of equations
    of the same loops, which are neighbours in the order of elimination; beyond them its entries are round-off.
    """
    n, k = len(first), 0
    basis = np.empty((count, n + 3 + count))
    for r in range(n):
        if L[start[r + 1] - 1] != 0.0:
            continue
        q = basis[k]
        low, bound = first[r], 0.0
        for c in range(low, r):
            q[c] = L[start[r] + c - low]
            bound = max(bound, abs(q[c]))
        c = r - 1
        while c >= low:
            q[c] *= L[start[c + 1] - 1]
            bound = max(bound, abs(q[c]))
            if abs(q[c]) > NEGLIGIBLE * bound:
                while low > first[c]:
                    low -= 1
                    q[low] = 0.0
                for i in range(first[c], c):
                    q[i] -= L[start[c] + i - first[c]] * q[c]
            else:
                q[c] = 0.0
            c -= 1
        q[r] = -1.0
        while low < r and q[low] == 0.0:
            low += 1
        q[n], q[n + 1] = low, r
        k += 1
    _factor_gram(basis, n)
    return basis


@njit(cache=True)
def _factor_gram(basis, n):
    """Write the Cholesky factor, with inverted diagonal, of the Gram matrix of the vectors behind them.

    Column j of row k of the factor is entry `n + 3 + j` of row k of `basis`. Entry `n + 2` is the first column: the
    first vector that reaches beyond the beginning of vector k.
    """
    for k in range(len(basis)):
        low, from_ = int(basis[k, n]), k
        while from_ > 0 and basis[from_ - 1, n + 1] >= low:
            from_ -= 1
        basis[k, n + 2] = from_
        for j in range(from_, k + 1):
            begin, end = max(low, int(basis[j, n])), int(basis[j, n + 1]) + 1
            total = inner(basis[k, begin:], basis[j, begin:], end - begin) if end > begin else 0.0
            column = n + 3 + max(from_, int(basis[j, n + 2]))
            total -= inner(basis[k, column:], basis[j, column:], n + 3 + j - column)
            basis[k, n + 3 + j] = 1.0 / np.sqrt(total) if j == k else total * basis[j, n + 3 + j]


@njit(cache=True)
def _project(basis, x):
    """Subtract from `x` (n,) its component in the space of a basis (d, n + 3 + d).

    Row k contains vector k between its first and its last entry, their indices at `n` and `n + 1`, and row k of the
    factor of the Gram matrix (`_factor_gram`).
    """
    n, d = len(x), len(basis)
    along = np.empty(d)
    for k in range(d):
        low, count, from_ = int(basis[k, n]), int(basis[k, n + 1] - basis[k, n]) + 1, int(basis[k, n + 2])
        total = inner(basis[k, low:], x[low:], count)
        total -= inner(basis[k, n + 3 + from_ :], along[from_:], k - from_)
        along[k] = total * basis[k, n + 3 + k]
    for k in range(d - 1, -1, -1):
        along[k] *= basis[k, n + 3 + k]
        for j in range(int(basis[k, n + 2]), k):
            along[j] -= basis[k, n + 3 + j] * along[k]
        for i in range(int(basis[k, n]), int(basis[k, n + 1]) + 1):
            x[i] -= along[k] * basis[k, i]


@njit(cache=True, inline="always")
def _factor_symmetric(start, first, L, scale):
    """Overwrite the symmetric positive semi-definite matrix `L` within its envelope by its factor; returns a basis of
    its null space (`_project`)."""
    dependent = factor_envelope(start, first, L, scale)
    if dependent < 0:
        L[:] = np.nan
    return combinations_without_effect(start, first, L, max(dependent, 0))


@njit(cache=True, inline="always")
def _solve_symmetric(start, first, L, scale, null_rows, previous_multipliers, t):
    """Overwrite `t` (n,) by `S^-1 t`, with the factor and the null space of `_factor_symmetric`.

    If rows are dependent, the right-hand side is projected onto the range, and the solution is the one for which
    `previous_multipliers + t` has the least norm in the scale of the rows. Components of previous solutions in the null
    space would otherwise grow, because the null space changes with the motion.
    """
    n, dependent = len(t), len(null_rows)
    for r in range(n):
        t[r] *= scale[r]
    _project(null_rows, t)
    _solve_envelope(start, first, L, t)
    if dependent > 0:
        for r in range(n):
            t[r] += previous_multipliers[r] / scale[r]
        _project(null_rows, t)
        for r in range(n):
            t[r] -= previous_multipliers[r] / scale[r]
    for r in range(n):
        t[r] *= scale[r]


@njit(cache=True)
def couples(flat, compliance):
    """Whether the matrix of the rows contains the tangents of frame forces."""
    return len(flat.element_row) > 0 and compliance[flat.element_row[0]] == COUPLED


@njit(cache=True)
def _factor_with_elements(flat, workspace):
    """Factorise the matrix of the rows with the tangents of frame forces; returns a basis (d, n) of its null space,
    which is that of the joint equations."""
    start, first, S = flat.envelope_start, flat.envelope_first, workspace.S
    copy(S, workspace.L)
    if add_compliances(flat, workspace):
        return _factor_symmetric(start, first, workspace.L, workspace.scale)
    workspace.unsymmetric[0] = 1.0
    dependent = factor_coupled(flat, workspace, DEPENDENT)
    if dependent == 0:
        return np.zeros((0, len(first)))
    if dependent < 0:
        workspace.L[:] = np.nan
        return np.zeros((0, len(first)))
    alone = np.empty_like(S)
    joints_alone(flat, workspace, S, alone)
    return _factor_symmetric(start, first, alone, workspace.scale)


@njit(cache=True)
def _solve_with_elements(flat, workspace, null_rows, t):
    """As `_solve_symmetric`, with the unsymmetric factors of `_factor_with_elements`."""
    n, dependent, scale, previous = len(t), len(null_rows), workspace.scale, workspace.previous_multipliers
    multiply_tangents(flat, workspace, t)
    if dependent > 0:
        for r in range(n):
            t[r] *= scale[r]
        _project(null_rows, t)
        for r in range(n):
            t[r] /= scale[r]
    solve_coupled(flat.envelope_start, flat.envelope_first, workspace.L, workspace.U, t)
    if dependent > 0:
        for r in range(n):
            t[r] = (t[r] + previous[r]) / scale[r]
        _project(null_rows, t)
        for r in range(n):
            t[r] = t[r] * scale[r] - previous[r]


@njit(cache=True)
def mass_times(flat, workspace, x, out):
    """`out = M x` (nv,) with the mass blocks in `workspace`."""
    for b in range(len(flat.modes)):
        m, s = flat.modes[b], flat.v_start[b]
        Mrr, Mre = workspace.Mrr[b], workspace.Mre[b]
        for i in range(6):
            out[s + i] = inner(Mrr[i], x[s:], 6)
        if m == 0:
            continue
        elastic, result = x[s + 6 : s + 6 + m], out[s + 6 : s + 6 + m]
        result[:] = 0.0
        if flat.slices[b] == SECOND_ORDER:
            lower_factor(Mrr, workspace.Lrr)
        add_elastic_inertia(flat, b, workspace.Lrr, Mre, elastic, workspace.six, result)
        add_coupled(Mre, m, 1.0, elastic, out[s:])
        add_transposed(Mre, m, 1.0, x[s:], result)


@njit(cache=True)
def solve_rows(flat, workspace, beta, gamma, stiff, compliance, rhs, row_rhs, x, multipliers):
    """Solve `[A G^T; G -C] [x; multipliers] = [rhs; row_rhs]` with the blocks in `workspace`, which keeps the factors
    for `solve_again`.

    `stiff` is 1 to include stiffness and damping in A, 0 for the mass alone. Rows of compliance `INACTIVE` are ignored
    and have a multiplier of zero. For dependent rows, the multipliers including `workspace.previous_multipliers` have
    the least norm. Returns the outcome and a basis (d, nr) of the null space of the rows. The outcome is 0, 1 if rows
    are dependent, or -(b+1) if the mass matrix of body `b` is not positive definite.

    Cost: O(sum m) for the bodies, and that of the envelope for the rows, which is linear in the bodies of a chain.
    """
    place, start, first, S, t, factors = (
        flat.row_place,
        flat.envelope_start,
        flat.envelope_first,
        workspace.S,
        workspace.t,
        workspace.factors,
    )
    factors[0], factors[1], factors[2] = beta, gamma, stiff
    bodies = len(flat.modes)
    workspace.branched[0] = 0.0
    if workspace.pool[0] == 0:
        respond_bodies(flat, workspace, compliance, rhs, x, 0, bodies, 0)
    else:
        _share_responses(RESPOND, flat, workspace, compliance, rhs, x)
    for b in range(bodies):
        if workspace.unsound[b] != 0:
            return -(b + 1), np.zeros((0, 0))
    S[:] = 0.0
    for r in range(len(place)):
        inactive = compliance[r] == INACTIVE
        S[start[place[r] + 1] - 1] = 1.0 if inactive else max(compliance[r], 0.0)
        t[place[r]] = 0.0 if inactive else -row_rhs[r]
    at_product = 0
    for b in range(bodies):
        low, k = flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        for j in range(k):
            product, at_product = workspace.products[at_product:], at_product + k + 1
            r = flat.term_row[flat.incident_term[low + j]]
            if compliance[r] == INACTIVE:
                continue
            here = flat.incident_place[low + j]
            at = start[here] - first[here]
            t[here] += product[k]
            for p in range(k):
                c = flat.incident_place[low + p]
                if c <= here:
                    S[at + c] += product[p]
    workspace.unsymmetric[0] = 0.0
    if couples(flat, compliance):
        null_rows = _factor_with_elements(flat, workspace)
    else:
        copy(S, workspace.L)
        null_rows = _factor_symmetric(start, first, workspace.L, workspace.scale)
    _multipliers(flat, workspace, null_rows, x, multipliers)
    return min(len(null_rows), 1), null_rows


@njit(cache=True)
def respond_bodies(flat, workspace, compliance, rhs, x, first, end, lane):
    """Factorise the bodies from `first` to `end` - 1 with `workspace.factors`; their responses to their rows and to
    the right-hand side, and what they add to the matrix of the rows (`workspace.products`)."""
    beta, gamma, stiff, G = workspace.factors[0], workspace.factors[1], workspace.factors[2], workspace.G
    Mre, E, chol, chol0 = workspace.Mre, workspace.E, workspace.chol, workspace.chol0
    factor_bodies(flat, beta, gamma, stiff, workspace.Mrr, Mre, E, chol, chol0, workspace.unsound, first, end)
    offset, at = workspace.Z_start[first], workspace.product_start[first]
    for b in range(first, end):
        vs, m = flat.v_start[b], flat.modes[b]
        n, low, k = 6 + m, flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        X = workspace.Z[offset : offset + n * (k + 1)].reshape(k + 1, n)
        offset += n * (k + 1)
        for j in range(k):
            r, side = flat.incident_term[low + j], flat.incident_side[low + j]
            active = 0.0 if compliance[flat.term_row[r]] == INACTIVE else 1.0
            for i in range(n):
                X[j, i] = active * G[r, side, i]
        copy(rhs[vs : vs + n], X[k])
        solve_body(
            m,
            flat.slices[b] == SECOND_ORDER,
            beta,
            Mre[b],
            flat.rest_Mre[b],
            E[vs + 6 : vs + n],
            chol[b],
            chol0[b],
            workspace.lane_sixes[lane, : k + 1],
            X,
        )
        copy(X[k], x[vs : vs + n])
        for j in range(k):
            row, product = G[flat.incident_term[low + j], flat.incident_side[low + j]], workspace.products[at:]
            at += k + 1
            here = flat.incident_place[low + j]
            for p in range(k):
                if flat.incident_place[low + p] <= here:
                    product[p] = inner(row, X[p], n)
            product[k] = inner(row, X[k], n)


@njit(cache=True)
def respond_again(flat, workspace, rhs, x, first, end, lane):
    """The responses `x` of the bodies from `first` to `end` - 1 to another right-hand side, and what they add to that
    of the rows (in `workspace.products`)."""
    offset, at = workspace.Z_start[first], workspace.product_start[first]
    for b in range(first, end):
        vs, m = flat.v_start[b], flat.modes[b]
        n, k = 6 + m, flat.incident_start[b + 1] - flat.incident_start[b]
        solved = x[vs : vs + n]
        copy(rhs[vs : vs + n], solved)
        for j in range(k):
            workspace.products[at + j] = inner(workspace.Z[offset + j * n :], solved, n)
        offset += n * (k + 1)
        at += k * (k + 1)
        solve_body(
            m,
            flat.slices[b] == SECOND_ORDER,
            workspace.factors[0],
            workspace.Mre[b],
            flat.rest_Mre[b],
            workspace.E[vs + 6 : vs + n],
            workspace.chol[b],
            workspace.chol0[b],
            workspace.lane_sixes[lane, :1],
            solved.reshape(1, n),
        )


@njit(cache=True)
def move_bodies(flat, workspace, x, first, end, lane):
    """Subtract from `x` the responses of the bodies from `first` to `end` - 1 to the multipliers `workspace.t`."""
    t, offset = workspace.t, workspace.Z_start[first]
    for b in range(first, end):
        vs = flat.v_start[b]
        n, low, k = 6 + flat.modes[b], flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        for j in range(k):
            multiplier, X = t[flat.incident_place[low + j]], workspace.Z[offset + j * n :]
            for i in range(n):
                x[vs + i] -= X[i] * multiplier
        offset += n * (k + 1)


@njit(cache=True)
def _share_responses(loop, flat, workspace, compliance, rhs, x):
    """`respond_bodies` or `respond_again` in several threads."""
    row = workspace.shared[loop]
    at = put(row, put(row, 2, flat), workspace)
    if loop == RESPOND:
        at = put_array(row, at, compliance)
    at = put_array(row, put_array(row, at, rhs), x)
    if share(workspace, loop, at, len(flat.modes)) != 0:
        x[:] = np.nan


@njit(cache=True)
def solve_again(flat, workspace, null_rows, beta, compliance, rhs, row_rhs, x, multipliers):
    """Solve the system of `solve_rows` or `solve_step` for another right-hand side with the factors in `workspace`.

    `null_rows` is the basis that they returned; `beta` and `compliance` must be the same. The blocks in
    `workspace` may have changed slightly.
    """
    if workspace.branched[0] > 0.0:
        solve_repeatedly(flat, workspace.branched[0] == 2.0, compliance, workspace, rhs, row_rhs, x, multipliers)
        return
    place, t = flat.row_place, workspace.t
    for r in range(len(place)):
        t[place[r]] = 0.0 if compliance[r] == INACTIVE else -row_rhs[r]
    if workspace.pool[0] == 0:
        respond_again(flat, workspace, rhs, x, 0, len(flat.modes), 0)
    else:
        _share_responses(AGAIN, flat, workspace, compliance, rhs, x)
    at = 0
    for b in range(len(flat.modes)):
        low, k = flat.incident_start[b], flat.incident_start[b + 1] - flat.incident_start[b]
        for j in range(k):
            t[flat.incident_place[low + j]] += workspace.products[at + j]
        at += k * (k + 1)
    _multipliers(flat, workspace, null_rows, x, multipliers)


@njit(cache=True)
def open_rows(flat, G, compliance, row_rhs, x, out):
    """The residual `out = row_rhs - G x` (nr,) of the active rows; returns the largest, relative to the sum of the
    magnitudes of the terms of its row."""
    worst = 0.0
    for r in range(len(out)):
        total, size = _left(flat, G, r, x, row_rhs[r], abs(row_rhs[r]))
        for k in range(flat.term_start[r], flat.term_start[r + 1]):
            total, size = _left(flat, G, len(out) + k, x, total, size)
        out[r] = 0.0 if compliance[r] == INACTIVE else total
        if abs(out[r]) > worst * size:
            worst = abs(out[r]) / size
    return worst


@njit(cache=True, inline="always")
def _left(flat, G, k, x, total, size):
    """`total` without the product of term `k` of a row and `x`, and `size` with the magnitudes of its summands."""
    for side in range(2):
        b = flat.marker_body[flat.term_markers[k, side]]
        if b != GROUND:
            for i in range(flat.v_start[b], flat.v_start[b + 1]):
                part = G[k, side, i - flat.v_start[b]] * x[i]
                total -= part
                size += abs(part)
    return total, size


@njit(cache=True)
def solve_joints(flat, workspace, compliance, rhs, row_rhs, x, multipliers):
    """Solve `[M G^T; G 0] [x; multipliers] = [rhs; row_rhs]` for the joints, the rows of compliance zero, with
    iterative refinement until their residuals are below `CLOSED`.

    Returns the number of dropped dependent rows (negative: the outcome of `solve_rows`) and the largest relative
    residual (`open_rows`). Between a light and a heavy body, the mass of the heavy body is lost to rounding in the
    matrix of the rows; the refinement recovers it up to mass ratios of about ten decades.
    """
    outcome, null_rows = solve_rows(flat, workspace, 1.0, 0.0, 0.0, compliance, rhs, row_rhs, x, multipliers)
    if outcome < 0:
        return outcome, np.inf
    place, n = flat.row_place, len(flat.row_place)
    left, change, correction, none = np.empty(n), np.empty(n), np.empty(len(x)), np.zeros(len(x))
    worst = open_rows(flat, workspace.G, compliance, row_rhs, x, left)
    for _ in range(CORRECTIONS):
        if worst <= CLOSED:
            break
        for r in range(n):
            workspace.previous_multipliers[place[r]] = multipliers[r]
        solve_again(flat, workspace, null_rows, 1.0, compliance, none, left, correction, change)
        for i in range(len(x)):
            x[i] += correction[i]
        for r in range(n):
            multipliers[r] += change[r]
        previous, worst = worst, open_rows(flat, workspace.G, compliance, row_rhs, x, left)
        if worst > 0.5 * previous:
            break
    return len(null_rows), worst


@njit(cache=True)
def _multipliers(flat, workspace, null_rows, x, multipliers):
    """Compute the multipliers from the right-hand side `workspace.t` of the rows, and their effect on `x` (nv,)."""
    place, t = flat.row_place, workspace.t
    if workspace.unsymmetric[0] == 1.0:
        _solve_with_elements(flat, workspace, null_rows, t)
    else:
        _solve_symmetric(
            flat.envelope_start,
            flat.envelope_first,
            workspace.L,
            workspace.scale,
            null_rows,
            workspace.previous_multipliers,
            t,
        )
    if workspace.pool[0] == 0:
        move_bodies(flat, workspace, x, 0, len(flat.modes), 0)
    else:
        row = workspace.shared[MOVE]
        at = put_array(row, put(row, put(row, 2, flat), workspace), x)
        if share(workspace, MOVE, at, len(flat.modes)) != 0:
            x[:] = np.nan
    for r in range(len(place)):
        multipliers[r] = t[place[r]]


@njit(cache=True, inline="always")
def solve_step(anew, null_rows, flat, workspace, beta, gamma, compliance, rhs, row_rhs, x, multipliers):
    """`solve_rows` with the matrix of a step if `anew`, otherwise `solve_again`; returns the outcome and the basis of
    the null space for the next call.

    Rigid bodies whose rows form no closed loops are eliminated with their rows, along the branches, if the symmetric
    parts of the tangents of frame forces are positive and solutions settle that are repeated for antisymmetric parts.
    """
    if anew:
        if len(flat.branch_body) > 0:
            skew = invert_tangents(flat, workspace, beta) if couples(flat, compliance) else 0
            if skew >= 0 and factor_branches(flat, beta, compliance, DEPENDENT, workspace):
                workspace.branched[0] = 1.0 + skew
                if solve_repeatedly(flat, skew == 1, compliance, workspace, rhs, row_rhs, x, multipliers):
                    return 0, np.zeros((0, 0))
        return solve_rows(flat, workspace, beta, gamma, 1.0, compliance, rhs, row_rhs, x, multipliers)
    solve_again(flat, workspace, null_rows, beta, compliance, rhs, row_rhs, x, multipliers)
    return 0, null_rows
