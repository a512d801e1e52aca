"""The matrix of the rows with frame forces, whose tangent stiffness couples six rows and need not be symmetric.

With the tangent stiffness `K` (6, 6) of an element, its efforts change by `-s`, `s = K G x`. Together with the joint
equations and `x = A^-1 (r - G^T s)` this gives `(I + K W) s = K G A^-1 r` for the rows of the element, in which
`W = G A^-1 G^T` is the symmetric matrix of all rows. Singular and unsymmetric `K` are admitted: those of ropes that are
slack, tyres, swirling fluid films. The product with `K` mixes rows within the envelope only, because the six rows of an
element are neighbours in the order of elimination and act on the same bodies.

The matrix is factorised as `L U` without pivoting, `L` by rows and `U` by columns within the same envelope. For a
positive semi-definite `K` all pivots are positive.

Where every `K` is symmetric and positive, its inverse `C` is a compliance, as that of a spring, and the rows keep the
symmetric matrix `W + C`: `(W + C) s = G A^-1 r`. This has half the operations. Little is neglected: an antisymmetric
part of `K`, or all beside its diagonal, whose product with `W` is at most `NEGLIGIBLE`, and `YIELDING` times the
inverse of the diagonal of `W`, which is added to `K` for directions without stiffness. The iterations that use the
matrix correct both with its other approximations.

Along branches (joint_coordinates/branches.py), the antisymmetric part `N` of `K` need not be negligible. With the
inverse `C` of the symmetric part, the rows of an element are `G x - C s = -C N G x`, and each solution gives the
right-hand side of the next one. The error decreases by the largest eigenvalue of `(W^-1 + K)^-1 N`. In steps that
resolve the motion it is small, because `W^-1`, the effective inertia of the bodies, grows with the inverse square of
the step. An estimate of each element alone, by the diagonals of `W` and `K`, tells where it is not worth trying. It is
no bound: stiff directions askew to the axes and elements side by side contract less. Where the solutions do not settle,
the matrix of the rows is used.

Contacts with friction keep the matrix of the rows, too. Repeated solutions are not quite in the plane of a symmetric
mechanism, and a corner or a rim that leaves it by round-off has its point elsewhere.
"""

from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import FAST, copy, inner, invert6
from flexmb.kernels.joint_coordinates.branches import solve_branches

NEGLIGIBLE, YIELDING = 1e-4, 1e-6
"""Largest entries of a tangent that are neglected, and the stiffness that is added in every direction, relative to the
inverse of the diagonal of `W`, the effective inertia of the bodies: bounds of the contraction of an iteration."""
CONTRACTION, SETTLED, REPEATS = 0.5, 1e-6, 12
"""Largest factor from one change of a solution to the next one, as it is repeated for antisymmetric parts of tangents;
the change, relative to the solution, that is not worth another repetition; and the most repetitions."""


@njit(cache=True)
def multiply_tangents(flat, workspace, t):
    """Multiply the six entries of each element in `t` (nr,), in the order of elimination, by its tangent stiffness."""
    six = workspace.six[0]
    for e in range(len(flat.element_row)):
        K, p = workspace.tangents[e], flat.row_place[flat.element_row[e]]
        for i in range(6):
            total = 0.0
            for k in range(6):
                total += K[i, k] * t[p + k]
            six[i] = total
        for i in range(6):
            t[p + i] = six[i]


@njit(cache=True)
def _invert(e, W, workspace):
    """Write the lower triangle of the inverse of the symmetric part of the tangent of element `e` to
    `workspace.inverse_tangents`, with the diagonal `W` (6,) of the matrix of its rows.

    Returns the square of the contraction with its antisymmetric part, 0 if that is negligible; -1, with the inverse in
    part written, if the symmetric part is not positive.
    """
    K, C = workspace.tangents[e], workspace.inverse_tangents[e]
    little, sound, symmetric, diagonal = NEGLIGIBLE * NEGLIGIBLE, W[0] > 0.0, True, True
    for i in range(1, 6):
        sound &= W[i] > 0.0
        for j in range(i):
            skew, twice, size = K[i, j] - K[j, i], K[i, j] + K[j, i], 0.25 * W[i] * W[j]
            symmetric &= skew * skew * size <= little
            diagonal &= twice * twice * size <= little
    if not sound:
        return -1.0
    if diagonal:
        for i in range(6):
            stiffness = K[i, i] * W[i] + YIELDING
            if not stiffness > 0.0:
                return -1.0
            for j in range(i):
                C[i, j] = 0.0
            C[i, i] = W[i] / stiffness
    else:
        for i in range(6):
            for j in range(i):
                C[i, j] = 0.5 * (K[i, j] + K[j, i])
            C[i, i] = K[i, i] + YIELDING / W[i]
        if not invert6(workspace.inverse_tangents, e):
            return -1.0
    return 0.0 if symmetric else _contraction(K, W)


@njit(cache=True)
def _contraction(K, W):
    """The square of the Frobenius norm of the antisymmetric part of `K` (6, 6), relative to the diagonals `1/W + K`."""
    total = 0.0
    for i in range(1, 6):
        for j in range(i):
            skew = K[i, j] - K[j, i]
            total += skew * skew * W[i] * W[j] / ((1.0 + K[i, i] * W[i]) * (1.0 + K[j, j] * W[j]))
    return 0.5 * total


@njit(cache=True, fastmath=FAST)
def _add_responses(L, G, r, side, W):
    """Add to `W` (6,) the products of the rows of an element, from `r` on, with the responses of a rigid body to them,
    for the factor `L` of its mass matrix with inverted diagonal.

    The rows of rotation have no forces; the masses in the factor are equal in all directions.
    """
    unit, i3, i4, i5, l43, l53, l54 = L[0, 0], L[3, 3], L[4, 4], L[5, 5], L[4, 3], L[5, 3], L[5, 4]
    for i in range(3):
        a, b, c = unit * G[r + i, side, 0], unit * G[r + i, side, 1], unit * G[r + i, side, 2]
        d = i3 * (G[r + i, side, 3] - L[3, 0] * a - L[3, 1] * b - L[3, 2] * c)
        e = i4 * (G[r + i, side, 4] - L[4, 0] * a - L[4, 1] * b - L[4, 2] * c - l43 * d)
        f = i5 * (G[r + i, side, 5] - L[5, 0] * a - L[5, 1] * b - L[5, 2] * c - l53 * d - l54 * e)
        W[i] += a * a + b * b + c * c + (d * d + e * e + f * f)
        d = i3 * G[r + 3 + i, side, 3]
        e = i4 * (G[r + 3 + i, side, 4] - l43 * d)
        f = i5 * (G[r + 3 + i, side, 5] - l53 * d - l54 * e)
        W[3 + i] += d * d + e * e + f * f


@njit(cache=True, fastmath=FAST)
def invert_tangents(flat, workspace, beta):
    """Write the inverses of the symmetric parts of the tangents of all elements between rigid bodies to
    `workspace.inverse_tangents`, for the matrix `beta M` of the bodies.

    Returns 0 if all tangents are symmetric, 1 if solutions must be repeated for antisymmetric parts; -1, with the
    inverses in part written, if a symmetric part is not positive or repetitions would not settle, and for contacts with
    friction.

    The diagonal of the matrix of the rows is that of the bodies alone, also where they are eliminated along their
    branches: what is neglected is then bounded by the inertia of the bodies, whatever hangs on them.
    """
    W, G, factor, worst = workspace.six[0], workspace.G, 1.0 / beta, 0.0
    for e in range(len(flat.element_row)):
        r = flat.element_row[e]
        for i in range(6):
            W[i] = 0.0
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                _add_responses(flat.rest_chol[b], G, r, side, W)
        for i in range(6):
            W[i] *= factor
        square = _invert(e, W, workspace)
        if square < 0.0 or not square <= CONTRACTION * CONTRACTION or (square > 0.0 and flat.element_contact[e] == 1):
            return -1
        worst = max(worst, square)
    return 0 if worst == 0.0 else 1


@njit(cache=True)
def _shift(flat, workspace, row_rhs, x, shifted):
    """Write `row_rhs` (nr,) with the antisymmetric parts of the tangents, for the solution `x` (nv,), to `shifted`."""
    G, stretch, force = workspace.G, workspace.six[0], workspace.six[1]
    for e in range(len(flat.element_row)):
        r, K, C = flat.element_row[e], workspace.tangents[e], workspace.inverse_tangents[e]
        for i in range(6):
            stretch[i] = -row_rhs[r + i]
            for side in range(2):
                b = flat.marker_body[flat.row_markers[r, side]]
                if b != GROUND:
                    stretch[i] += inner(G[r + i, side], x[6 * b :], 6)
        for i in range(6):
            force[i] = 0.0
            for j in range(6):
                force[i] += 0.5 * (K[i, j] - K[j, i]) * stretch[j]
        for i in range(6):
            shifted[r + i] = row_rhs[r + i]
            for j in range(6):
                shifted[r + i] -= C[max(i, j), min(i, j)] * force[j]


@njit(cache=True)
def _farthest(flat, x, part, y):
    """The largest displacement in `x - part y` (nv,) of rigid bodies, rotations times the length of the mechanism."""
    size = 0.0
    for i in range(len(x)):
        size = max(size, abs(x[i] - part * y[i]) * (1.0 if i % 6 < 3 else flat.scales[0]))
    return size


@njit(cache=True)
def solve_repeatedly(flat, repeated, compliance, workspace, rhs, row_rhs, x, multipliers):
    """`solve_branches`; if `repeated`, again with the antisymmetric parts of the tangents on the right-hand side until
    the solution settles. Returns whether it does."""
    solve_branches(flat, compliance, workspace, rhs, row_rhs, x, multipliers)
    if not repeated:
        return True
    shifted, before = workspace.t, workspace.branch_x
    copy(row_rhs, shifted)
    last = _farthest(flat, x, 0.0, x)
    for _ in range(REPEATS):
        _shift(flat, workspace, row_rhs, x, shifted)
        copy(x, before)
        solve_branches(flat, compliance, workspace, rhs, shifted, x, multipliers)
        change = _farthest(flat, x, 1.0, before)
        if not change <= CONTRACTION * last:
            return False
        if change * change <= SETTLED * last * _farthest(flat, x, 0.0, x):  # the next change is as much smaller again
            return True
        last = change
    return False


@njit(cache=True)
def add_compliances(flat, workspace):
    """Add the inverse tangents of all elements to `workspace.L`, a copy of the matrix of the rows `workspace.S`.

    Returns False, with `workspace.L` in part changed, unless all of them are symmetric and positive.
    """
    start, S, L, six = flat.envelope_start, workspace.S, workspace.L, workspace.six[0]
    for e in range(len(flat.element_row)):
        C, p = workspace.inverse_tangents[e], flat.row_place[flat.element_row[e]]
        for i in range(6):
            six[i] = S[start[p + i + 1] - 1]
        if _invert(e, six, workspace) != 0.0:
            return False
        for i in range(6):
            own = start[p + i + 1] - 1 - i
            for j in range(i + 1):
                L[own + j] += C[i, j]
    return True


@njit(cache=True, fastmath=FAST)
def _combine(K, S, at, step, n, out):
    """`out = K_0 S_0 + ... + K_5 S_5` (n,): six pieces of `S` from `at` on, whose starts are `step`, `step + 1`, ...
    apart."""
    b, c, d, e, f = at + step, at + 2 * step + 1, at + 3 * step + 3, at + 4 * step + 6, at + 5 * step + 10
    for k in range(n):
        out[k] = (
            K[0] * S[at + k] + K[1] * S[b + k] + K[2] * S[c + k] + K[3] * S[d + k] + K[4] * S[e + k] + K[5] * S[f + k]
        )  # fmt: skip


@njit(cache=True)
def _couple(flat, workspace, S, L, U):
    """Write the lower triangle of the matrix, by rows, to `L` and the upper one, by columns, to `U`.

    The six rows of an element begin with the same column of the envelope, because they act on the same bodies.
    """
    start, first, six = flat.envelope_start, flat.envelope_first, workspace.six[0]
    copy(S, L)
    copy(S, U)
    for e in range(len(flat.element_row)):
        K, p = workspace.tangents[e], flat.row_place[flat.element_row[e]]
        low = first[p]
        n = p - low
        for i in range(6):
            own = start[p + i]
            _combine(K[i], S, start[p], n + 1, n, L[own : own + n])
        for c in range(6):
            for k in range(6):
                row, column = max(c, k), min(c, k)
                six[k] = S[start[p + row] + n + column]
            for i in range(6):
                total = inner(K[i], six, 6)
                if i == c:
                    L[start[p + i] + n + i] = total + 1.0
                elif i > c:
                    L[start[p + i] + n + c] = total
                else:
                    U[start[p + c] + n + i] = total
        for c in range(p + 6, flat.element_last[e] + 1):  # columns after the element
            if first[c] <= p:
                at = start[c] + p - first[c]
                column, out = S[at : at + 6], U[at : at + 6]
                for i in range(6):
                    out[i] = inner(K[i], column, 6)


@njit(cache=True, fastmath=FAST)
def _products(L, U, a, b, n):
    """`L_a . U_b` and `L_b . U_a` over `n` entries from the places `a` and `b`."""
    down, up = 0.0, 0.0
    for k in range(n):
        down += L[a + k] * U[b + k]
        up += L[b + k] * U[a + k]
    return down, up


@njit(cache=True)
def factor_coupled(flat, workspace, dependent_below):
    """Factorise the matrix of the rows `workspace.S` with the tangents of the elements into `workspace.L` (unit lower
    triangle and inverse pivots) and `workspace.U`.

    Rows whose pivot is below `dependent_below` times their diagonal are dropped, except those of elements. Returns the
    number of dropped rows, or -1 if a pivot is not finite.
    """
    start, first, S, L, U = flat.envelope_start, flat.envelope_first, workspace.S, workspace.L, workspace.U
    _couple(flat, workspace, S, L, U)
    n, dropped = len(first), 0
    for r in range(n):
        row = start[r] - first[r]
        for c in range(first[r], r):
            low = max(first[r], first[c])
            column, inverse = start[c] - first[c], L[start[c + 1] - 1]
            down, up = _products(L, U, row + low, column + low, c - low)
            L[row + c] = (L[row + c] - down) * inverse
            U[row + c] = U[row + c] - up if inverse != 0.0 else 0.0
        pivot = L[row + r] - _products(L, U, start[r], start[r], r - first[r])[0]
        if pivot > dependent_below * S[row + r] or (workspace.coupled[r] == 1 and pivot != 0.0):
            L[row + r] = 1.0 / pivot
        elif pivot == pivot:
            L[row + r] = 0.0
            dropped += 1
        else:
            return -1
    return dropped


@njit(cache=True)
def solve_coupled(start, first, L, U, t):
    """Overwrite `t` (n,) by the solution with the factors of `factor_coupled`; dropped rows are zero."""
    n = len(t)
    for r in range(n):
        total = t[r]
        for c in range(first[r], r):
            total -= L[start[r] + c - first[r]] * t[c]
        t[r] = total if L[start[r + 1] - 1] != 0.0 else 0.0
    for r in range(n - 1, -1, -1):
        t[r] *= L[start[r + 1] - 1]
        for c in range(first[r], r):
            t[c] -= U[start[r] + c - first[r]] * t[r]


@njit(cache=True)
def joints_alone(flat, workspace, S, L):
    """Copy the matrix `S` of the rows to `L` without the entries of elements, for the null space of the joints."""
    start, first, coupled = flat.envelope_start, flat.envelope_first, workspace.coupled
    for r in range(len(first)):
        for c in range(first[r], r + 1):
            at = start[r] + c - first[r]
            free = coupled[r] == 0 and coupled[c] == 0
            L[at] = S[at] if free else 1.0 if r == c else 0.0
