"""The matrix of a Newton step of rigid bodies whose rows form no closed loops, eliminated along their branches.

The rows between a body and the next one towards the ground are a link. From the tips of the branches inwards, each body
is eliminated with its link: what remains is a symmetric matrix that is added to the inertia of the next body, its
articulated inertia as far as the link transmits it. In the unknowns `x` of a body, `p` of the next one and the
multipliers `l` of the link, with the Jacobians `C` and `B` of its rows for both,

    [ A  C^T  0   ] [x]   [f]        A = L D L^T,                 Y = L^-1 C^T
    [ C  -c   B   ] [l] = [d]        Y^T D^-1 Y + c = K E K^T,    Z = K^-1 B
    [ 0  B^T  A_p ] [p]   [g]        A_p + Z^T E^-1 Z replaces A_p, g - Z^T E^-1 K^-1 (Y^T D^-1 L^-1 f - d) replaces g

The compliance `c` of a link is diagonal, but for the inverse tangents (6, 6) of frame forces (steps/coupled.py). No
equation is eliminated before its body, so that no envelope is filled. The cost of a link of k rows is that of two
factorisations, of sizes 6 and k, and of their products with k and six columns.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3, of which this is the form for any equations of
a joint, among which springs may act.
"""

from numba import njit

from flexmb.kernels.base.data import COUPLED, GROUND, INACTIVE
from flexmb.kernels.base.dense import FAST, factor6


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
def _forward(L, k, x):
    """`L^-1 x`, with the factors `k` of `factor6`."""
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
def _add_compliances(flat, compliance, workspace, low, high):
    """Add the inverse tangents of the frame forces of a link, with the rows from `low` to `high` - 1, to its matrix."""
    own, whole = workspace.link_own, workspace.t
    for k in range(low, high):
        if flat.branch_element[k] >= 0 and compliance[flat.branch_row[k]] == COUPLED:
            C = workspace.inverse_tangents[flat.branch_element[k]]
            for i in range(6):
                whole[k + i] += C[i, i]
                for j in range(i + 1):
                    own[k + i, k + j - low] += C[i, j]


@njit(cache=True, fastmath=FAST)
def factor_branches(flat, beta, compliance, least, workspace):
    """Factorise `[beta M G^T; G -C]` with the inertias and Jacobians of `workspace`: the factors of the bodies are
    written to `workspace.chol`, those of the links to `link_outer` (`D^-1 Y`, a row of the link each), `link_inner`
    (`E^-1 Z`) and `link_own` (`K`, with the inverse of `E` on its diagonal).

    Inactive rows are ignored; those of frame forces have the compliances `workspace.inverse_tangents`. Returns False,
    with the factors in part written, if a mass matrix is not positive definite, or if the pivot of a row is below
    `least`, relative to the row without those before it: the rows of a link are then dependent.
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
        if not factor6(chol, b):
            return False
        for k in range(low, high):
            r, side = flat.branch_row[k], flat.branch_side[k]
            active = 0.0 if compliance[r] == INACTIVE else 1.0
            y = _forward(chol, b, _times(active, _side(G, r, side)))
            scaled = _divided(chol, b, y)
            _put(outer, k, scaled)
            for i in range(low, k):
                own[k, i - low] = _dot(y, _six(outer, i))
            whole[k] = own[k, k - low] = _dot(y, scaled) + max(compliance[r], 1.0 - active)
            if parent != GROUND:
                _put(inner, k, _times(active, _side(G, r, 1 - side)))
        if len(flat.element_row) > 0:
            _add_compliances(flat, compliance, workspace, low, high)
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
            total = _dot(_six(outer, k), y) - (0.0 if compliance[r] == INACTIVE else row_rhs[r])
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
