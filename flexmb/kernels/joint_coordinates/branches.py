"""The matrix of a Newton step of rigid bodies whose rows form no closed loops, eliminated along their branches.

The rows between a body and the next one towards the ground are a link. From the tips of the branches inwards, each body
is eliminated with its link: what remains is a symmetric matrix that is added to the inertia of the next body, its
articulated inertia as far as the link transmits it. In the unknowns `x` of a body, `p` of the next one and the
multipliers `l` of the link, with the Jacobians `C` and `B` of its rows for both,

    [ A  C^T  0   ] [x]   [f]        A = L D L^T,                 Y = L^-1 C^T
    [ C  -c   B   ] [l] = [d]        Y^T D^-1 Y + c = K E K^T,    Z = K^-1 B
    [ 0  B^T  A_p ] [p]   [g]        A_p + Z^T E^-1 Z replaces A_p, g - Z^T E^-1 K^-1 (Y^T D^-1 L^-1 f - d) replaces g

No equation is eliminated before its body, so that no envelope is filled. The cost of a link of k rows is that of two
factorisations, of sizes 6 and k, and of their products with k and six columns.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3, of which this is the form for any equations of
a joint, among which springs may act.
"""

from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import FAST


@njit(cache=True)
def _six(rows, k):
    return rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3], rows[k, 4], rows[k, 5]


@njit(cache=True)
def _side(G, r, side):
    return G[r, side, 0], G[r, side, 1], G[r, side, 2], G[r, side, 3], G[r, side, 4], G[r, side, 5]


@njit(cache=True)
def _put(rows, k, x):
    rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3], rows[k, 4], rows[k, 5] = x


@njit(cache=True, fastmath=FAST)
def _times(factor, x):
    return factor * x[0], factor * x[1], factor * x[2], factor * x[3], factor * x[4], factor * x[5]


@njit(cache=True, fastmath=FAST)
def _less(x, factor, y):
    """`x - factor y`."""
    return (
        x[0] - factor * y[0], x[1] - factor * y[1], x[2] - factor * y[2],
        x[3] - factor * y[3], x[4] - factor * y[4], x[5] - factor * y[5],
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def _dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + (x[3] * y[3] + x[4] * y[4] + x[5] * y[5])


@njit(cache=True, fastmath=FAST)
def _factor(A, b):
    """Overwrite the lower triangle of matrix `b` of `A` (n, 6, 6) by its factors `L D L^T`, with the inverse of `D` on
    the diagonal; returns whether it is positive definite."""
    d0 = A[b, 0, 0]
    if not d0 > 0.0:
        return False
    i0 = 1.0 / d0
    l1, l2, l3, l4, l5 = A[b, 1, 0] * i0, A[b, 2, 0] * i0, A[b, 3, 0] * i0, A[b, 4, 0] * i0, A[b, 5, 0] * i0
    d1 = A[b, 1, 1] - l1 * A[b, 1, 0]
    if not d1 > 0.0:
        return False
    i1 = 1.0 / d1
    a21, a31, a41, a51 = (
        A[b, 2, 1] - l2 * A[b, 1, 0],
        A[b, 3, 1] - l3 * A[b, 1, 0],
        A[b, 4, 1] - l4 * A[b, 1, 0],
        A[b, 5, 1] - l5 * A[b, 1, 0],
    )
    m2, m3, m4, m5 = a21 * i1, a31 * i1, a41 * i1, a51 * i1
    d2 = A[b, 2, 2] - l2 * A[b, 2, 0] - m2 * a21
    if not d2 > 0.0:
        return False
    i2 = 1.0 / d2
    a32, a42, a52 = (
        A[b, 3, 2] - l3 * A[b, 2, 0] - m3 * a21,
        A[b, 4, 2] - l4 * A[b, 2, 0] - m4 * a21,
        A[b, 5, 2] - l5 * A[b, 2, 0] - m5 * a21,
    )
    n3, n4, n5 = a32 * i2, a42 * i2, a52 * i2
    d3 = A[b, 3, 3] - l3 * A[b, 3, 0] - m3 * a31 - n3 * a32
    if not d3 > 0.0:
        return False
    i3 = 1.0 / d3
    a43, a53 = A[b, 4, 3] - l4 * A[b, 3, 0] - m4 * a31 - n4 * a32, A[b, 5, 3] - l5 * A[b, 3, 0] - m5 * a31 - n5 * a32
    o4, o5 = a43 * i3, a53 * i3
    d4 = A[b, 4, 4] - l4 * A[b, 4, 0] - m4 * a41 - n4 * a42 - o4 * a43
    if not d4 > 0.0:
        return False
    i4 = 1.0 / d4
    a54 = A[b, 5, 4] - l5 * A[b, 4, 0] - m5 * a41 - n5 * a42 - o5 * a43
    p5 = a54 * i4
    d5 = A[b, 5, 5] - l5 * A[b, 5, 0] - m5 * a51 - n5 * a52 - o5 * a53 - p5 * a54
    if not d5 > 0.0:
        return False
    A[b, 0, 0], A[b, 1, 1], A[b, 2, 2], A[b, 3, 3], A[b, 4, 4], A[b, 5, 5] = i0, i1, i2, i3, i4, 1.0 / d5
    A[b, 1, 0], A[b, 2, 0], A[b, 3, 0], A[b, 4, 0], A[b, 5, 0] = l1, l2, l3, l4, l5
    A[b, 2, 1], A[b, 3, 1], A[b, 4, 1], A[b, 5, 1] = m2, m3, m4, m5
    A[b, 3, 2], A[b, 4, 2], A[b, 5, 2] = n3, n4, n5
    A[b, 4, 3], A[b, 5, 3], A[b, 5, 4] = o4, o5, p5
    return True


@njit(cache=True, fastmath=FAST)
def _forward(L, k, x):
    """`L^-1 x`, with the factors `k` of `_factor`."""
    a = x[0]
    b = x[1] - L[k, 1, 0] * a
    c = x[2] - L[k, 2, 0] * a - L[k, 2, 1] * b
    d = x[3] - L[k, 3, 0] * a - L[k, 3, 1] * b - L[k, 3, 2] * c
    e = x[4] - L[k, 4, 0] * a - L[k, 4, 1] * b - L[k, 4, 2] * c - L[k, 4, 3] * d
    return a, b, c, d, e, x[5] - L[k, 5, 0] * a - L[k, 5, 1] * b - L[k, 5, 2] * c - L[k, 5, 3] * d - L[k, 5, 4] * e


@njit(cache=True, fastmath=FAST)
def _backward(L, k, x):
    """`L^-T x`."""
    f = x[5]
    e = x[4] - L[k, 5, 4] * f
    d = x[3] - L[k, 5, 3] * f - L[k, 4, 3] * e
    c = x[2] - L[k, 5, 2] * f - L[k, 4, 2] * e - L[k, 3, 2] * d
    b = x[1] - L[k, 5, 1] * f - L[k, 4, 1] * e - L[k, 3, 1] * d - L[k, 2, 1] * c
    return x[0] - L[k, 5, 0] * f - L[k, 4, 0] * e - L[k, 3, 0] * d - L[k, 2, 0] * c - L[k, 1, 0] * b, b, c, d, e, f


@njit(cache=True, fastmath=FAST)
def _divided(L, k, x):
    """`D^-1 x`."""
    return (
        L[k, 0, 0] * x[0],
        L[k, 1, 1] * x[1],
        L[k, 2, 2] * x[2],
        L[k, 3, 3] * x[3],
        L[k, 4, 4] * x[4],
        L[k, 5, 5] * x[5],
    )


@njit(cache=True, fastmath=FAST)
def _add_row(A, k, i, factor, y):
    """Add `factor y` to row `i` of matrix `k` of `A` (n, 6, 6)."""
    A[k, i, 0] += factor * y[0]
    A[k, i, 1] += factor * y[1]
    A[k, i, 2] += factor * y[2]
    A[k, i, 3] += factor * y[3]
    A[k, i, 4] += factor * y[4]
    A[k, i, 5] += factor * y[5]


@njit(cache=True, fastmath=FAST)
def factor_branches(flat, beta, compliance, least, workspace):
    """Factorise `[beta M G^T; G -C]` with the inertias and Jacobians of `workspace`: the factors of the bodies are
    written to `workspace.chol`, those of the links to `link_outer` (`D^-1 Y`, a row of the link each), `link_inner`
    (`E^-1 Z`) and `link_own` (`K`, with the inverse of `E` on its diagonal).

    Rows of negative compliance are ignored. Returns False, with the factors in part written, if a mass matrix is not
    positive definite, or if the pivot of a row is below `least`, relative to the row without those before it: the rows
    of a link are then dependent.
    """
    chol, G, Mrr = workspace.chol, workspace.G, workspace.Mrr
    outer, inner, own, whole = workspace.link_outer, workspace.link_inner, workspace.link_own, workspace.t
    for b in range(len(chol)):
        for i in range(6):
            for j in range(6):
                chol[b, i, j] = beta * Mrr[b, i, j]
    for place in range(len(flat.branch_body)):
        b, parent = flat.branch_body[place], flat.branch_parent[place]
        low, high = flat.branch_start[place], flat.branch_start[place + 1]
        if not _factor(chol, b):
            return False
        for k in range(low, high):
            r, side = flat.branch_row[k], flat.branch_side[k]
            active = 1.0 if compliance[r] >= 0.0 else 0.0
            y = _forward(chol, b, _times(active, _side(G, r, side)))
            scaled = _divided(chol, b, y)
            _put(outer, k, scaled)
            for i in range(low, k):
                own[k, i - low] = _dot(y, _six(outer, i))
            whole[k] = own[k, k - low] = _dot(y, scaled) + abs(compliance[r])
            if parent != GROUND:
                _put(inner, k, _times(active, _side(G, r, 1 - side)))
        for k in range(low, high):
            pivot, z = own[k, k - low], _six(inner, k)
            if not pivot > least * whole[k]:
                return False
            inverse = 1.0 / pivot
            for i in range(k + 1, high):
                entry = own[i, k - low]
                for j in range(k + 1, i):
                    own[i, j - low] -= entry * own[j, k - low]
                own[i, k - low] = factor = entry * inverse
                own[i, i - low] -= entry * factor
                if parent != GROUND:
                    _put(inner, i, _less(_six(inner, i), factor, z))
            own[k, k - low] = inverse
            if parent != GROUND:
                scaled = _times(inverse, z)
                _put(inner, k, scaled)
                _add_row(chol, parent, 0, z[0], scaled)
                _add_row(chol, parent, 1, z[1], scaled)
                _add_row(chol, parent, 2, z[2], scaled)
                _add_row(chol, parent, 3, z[3], scaled)
                _add_row(chol, parent, 4, z[4], scaled)
                _add_row(chol, parent, 5, z[5], scaled)
    return True


@njit(cache=True, fastmath=FAST)
def solve_branches(flat, compliance, workspace, rhs, row_rhs, x, multipliers):
    """Solve `[beta M G^T; G -C] [x; multipliers] = [rhs; row_rhs]` with the factors of `factor_branches`."""
    chol, outer, inner, own = workspace.chol, workspace.link_outer, workspace.link_inner, workspace.link_own
    bodies = x.reshape(len(chol), 6)
    for i in range(len(x)):
        x[i] = rhs[i]
    for place in range(len(flat.branch_body)):
        b, parent = flat.branch_body[place], flat.branch_parent[place]
        low, high = flat.branch_start[place], flat.branch_start[place + 1]
        y = _forward(chol, b, _six(bodies, b))
        _put(bodies, b, _divided(chol, b, y))
        force = _six(bodies, max(parent, 0))
        for k in range(low, high):
            r = flat.branch_row[k]
            total = _dot(_six(outer, k), y) - (row_rhs[r] if compliance[r] >= 0.0 else 0.0)
            for i in range(low, k):
                total -= own[k, i - low] * multipliers[flat.branch_row[i]]
            multipliers[r] = total
            force = _less(force, total, _six(inner, k))
        if parent != GROUND:
            _put(bodies, parent, force)
    for place in range(len(flat.branch_body) - 1, -1, -1):
        b, parent = flat.branch_body[place], flat.branch_parent[place]
        low, high = flat.branch_start[place], flat.branch_start[place + 1]
        here, there = _six(bodies, b), _times(1.0 if parent != GROUND else 0.0, _six(bodies, max(parent, 0)))
        for k in range(high - 1, low - 1, -1):
            r = flat.branch_row[k]
            total = multipliers[r] * own[k, k - low] + _dot(_six(inner, k), there)
            for i in range(k + 1, high):
                total -= own[i, k - low] * multipliers[flat.branch_row[i]]
            multipliers[r] = total
            here = _less(here, total, _six(outer, k))
        _put(bodies, b, _backward(chol, b, here))
