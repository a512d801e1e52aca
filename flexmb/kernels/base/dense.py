"""Small dense linear algebra: 6x6 Cholesky factors and products with the coupling blocks `M_re` (6, m)."""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract"}


@njit(cache=True)
def copy(a, b):
    """Copy the entries of `a` into `b`. The assignment `b[:] = a`, with its checks of shapes, takes a second to
    compile."""
    for i in range(len(a)):
        b[i] = a[i]


@njit(cache=True)
def cholesky(S):
    """Overwrite the lower triangle of a 6x6 matrix by its Cholesky factor with inverted diagonal; returns False if the
    matrix is not positive definite."""
    for r in range(6):
        for c in range(r + 1):
            total = S[r, c]
            for k in range(c):
                total -= S[r, k] * S[c, k]
            if r == c:
                if not total > 0.0:
                    return False
                S[r, r] = 1.0 / np.sqrt(total)
            else:
                S[r, c] = total * S[c, c]
    return True


@njit(cache=True, fastmath=FAST)
def factor6(A, b):
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
def invert6(A, b):
    """Overwrite the lower triangle of matrix `b` of `A` (n, 6, 6) by its inverse; returns False, with the matrix
    changed in part, if it is not positive definite.

    It is `L^-T D^-1 L^-1` with the factors of `factor6`, symmetric whatever the rounding. Of a matrix with stiff and
    soft directions, the entries of the inverse are those of the soft ones; the rounding in them must not be that of a
    matrix with another response in the stiff ones.
    """
    if not factor6(A, b):
        return False
    l21, l31, l32 = A[b, 2, 1], A[b, 3, 1], A[b, 3, 2]
    l41, l42, l43 = A[b, 4, 1], A[b, 4, 2], A[b, 4, 3]
    l51, l52, l53, l54 = A[b, 5, 1], A[b, 5, 2], A[b, 5, 3], A[b, 5, 4]
    # the columns of L^-1, opposite
    p1, q2, r3, s4, t5 = A[b, 1, 0], l21, l32, l43, l54
    p2, q3, r4, s5 = A[b, 2, 0] - l21 * p1, l31 - l32 * q2, l42 - l43 * r3, l53 - l54 * s4
    p3, q4, r5 = A[b, 3, 0] - l31 * p1 - l32 * p2, l41 - l42 * q2 - l43 * q3, l52 - l53 * r3 - l54 * r4
    p4, q5 = A[b, 4, 0] - l41 * p1 - l42 * p2 - l43 * p3, l51 - l52 * q2 - l53 * q3 - l54 * q4
    p5 = A[b, 5, 0] - l51 * p1 - l52 * p2 - l53 * p3 - l54 * p4
    # with the last row of D^-1 L^-1 first
    i1, i2, i3, i4, i5 = A[b, 1, 1], A[b, 2, 2], A[b, 3, 3], A[b, 4, 4], A[b, 5, 5]
    a0, a1, a2, a3, a4 = i5 * p5, i5 * q5, i5 * r5, i5 * s5, i5 * t5
    A[b, 5, 0], A[b, 5, 1], A[b, 5, 2], A[b, 5, 3], A[b, 5, 4] = -a0, -a1, -a2, -a3, -a4
    b0, b1, b2, b3 = i4 * p4, i4 * q4, i4 * r4, i4 * s4
    A[b, 4, 0], A[b, 4, 1], A[b, 4, 2], A[b, 4, 3] = t5 * a0 - b0, t5 * a1 - b1, t5 * a2 - b2, t5 * a3 - b3
    A[b, 4, 4] = i4 + t5 * a4
    c0, c1, c2 = i3 * p3, i3 * q3, i3 * r3
    A[b, 3, 0] = s5 * a0 + s4 * b0 - c0
    A[b, 3, 1] = s5 * a1 + s4 * b1 - c1
    A[b, 3, 2] = s5 * a2 + s4 * b2 - c2
    A[b, 3, 3] = s5 * a3 + s4 * b3 + i3
    d0, d1 = i2 * p2, i2 * q2
    A[b, 2, 0] = r5 * a0 + r4 * b0 + r3 * c0 - d0
    A[b, 2, 1] = r5 * a1 + r4 * b1 + r3 * c1 - d1
    A[b, 2, 2] = r5 * a2 + r4 * b2 + r3 * c2 + i2
    e0 = i1 * p1
    A[b, 1, 0] = q5 * a0 + q4 * b0 + q3 * c0 + q2 * d0 - e0
    A[b, 1, 1] = q5 * a1 + q4 * b1 + q3 * c1 + q2 * d1 + i1
    A[b, 0, 0] += p5 * a0 + p4 * b0 + p3 * c0 + p2 * d0 + p1 * e0
    return True


@njit(cache=True)
def solve6_all(L, X):
    """Multiply the first six entries of every row of `X` by `(L L^T)^-1`, for a factor `L` (6, 6) with inverted
    diagonal.

    All rows are processed together, so that their operations can run in parallel.
    """
    count = len(X)
    for r in range(6):
        for j in range(count):
            total = X[j, r]
            for k in range(r):
                total -= L[r, k] * X[j, k]
            X[j, r] = total * L[r, r]
    for r in range(5, -1, -1):
        for j in range(count):
            total = X[j, r]
            for k in range(r + 1, 6):
                total -= L[k, r] * X[j, k]
            X[j, r] = total * L[r, r]


@njit(cache=True, fastmath=FAST)
def add_coupled(Mre, m, factor, elastic, rigid):
    """`rigid += factor M_re elastic` (6,)."""
    for r in range(6):
        total = 0.0
        for i in range(m):
            total += Mre[r, i] * elastic[i]
        rigid[r] += factor * total


@njit(cache=True, fastmath=FAST)
def add_back(Mre, m, factor, rigid, weight, elastic):
    """`elastic += factor weight M_re^T rigid` (m,), with a `weight` (m,) for each entry."""
    a, b, c, d, e, f = rigid[0], rigid[1], rigid[2], rigid[3], rigid[4], rigid[5]
    for i in range(m):
        total = Mre[0, i] * a + Mre[1, i] * b + Mre[2, i] * c + Mre[3, i] * d + Mre[4, i] * e + Mre[5, i] * f
        elastic[i] += factor * weight[i] * total


@njit(cache=True, fastmath=FAST)
def add_transposed(Mre, m, factor, rigid, elastic):
    """`elastic += factor M_re^T rigid` (m,)."""
    a, b, c, d, e, f = rigid[0], rigid[1], rigid[2], rigid[3], rigid[4], rigid[5]
    for i in range(m):
        elastic[i] += factor * (
            Mre[0, i] * a + Mre[1, i] * b + Mre[2, i] * c + Mre[3, i] * d + Mre[4, i] * e + Mre[5, i] * f
        )


@njit(cache=True, fastmath=FAST)
def inner(a, b, n):
    """`a . b` over the first n entries."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(cache=True, fastmath=FAST)
def row_inner(A, i, x, n):
    """`A[i] . x` over the first n entries, without a view of the row, whose references would be counted."""
    total = 0.0
    for j in range(n):
        total += A[i, j] * x[j]
    return total


@njit(cache=True)
def three_rows(rows, k, x, m):
    """Inner products of the first m entries of rows k to k + 2 with x."""
    return (inner(rows[k], x, m), inner(rows[k + 1], x, m), inner(rows[k + 2], x, m))


@njit(cache=True, inline="always")
def _bring_pivot(A, n, c):
    """Exchange rows of the first `n` by `n` entries of `A`: row `c` and that with the largest entry in column `c` from
    there on; returns its number."""
    p = c
    for r in range(c + 1, n):
        if abs(A[r, c]) > abs(A[p, c]):
            p = r
    for k in range(n):
        A[c, k], A[p, k] = A[p, k], A[c, k]
    return p


@njit(cache=True)
def solve_small(A, x):
    """Overwrite `x` (n,) by `A^-1 x`, and `A` (n, n) by its factors: Gaussian elimination with row pivoting.

    Entries of `A` outside its first `n` rows and columns are ignored: `x` may be a row of the same buffer. A singular
    matrix leaves values that are not finite.
    """
    n = len(x)
    for c in range(n):
        p = _bring_pivot(A, n, c)
        x[c], x[p] = x[p], x[c]
        inverse = 1.0 / A[c, c] if A[c, c] != 0.0 else np.nan
        for r in range(c + 1, n):
            factor = A[r, c] * inverse
            A[r, c] = factor
            if factor == 0.0:
                continue
            for k in range(c + 1, n):
                A[r, k] -= factor * A[c, k]
            x[r] -= factor * x[c]
    for r in range(n - 1, -1, -1):
        for k in range(r + 1, n):
            x[r] -= A[r, k] * x[k]
        x[r] = x[r] / A[r, r] if A[r, r] != 0.0 else np.nan


@njit(cache=True)
def eliminate(A, X):
    """Overwrite the columns of `X` (n, k) by `A^-1 X`, and `A` (n, n), with row pivoting."""
    n, width = X.shape
    for c in range(n):
        p = _bring_pivot(A, n, c)
        for k in range(width):
            X[c, k], X[p, k] = X[p, k], X[c, k]
        inverse = 1.0 / A[c, c] if A[c, c] != 0.0 else np.nan * A[c, c]
        for r in range(n):
            if r == c or A[r, c] == 0.0:
                continue
            factor = A[r, c] * inverse
            for k in range(c + 1, n):
                A[r, k] -= factor * A[c, k]
            for k in range(width):
                X[r, k] -= factor * X[c, k]
        for k in range(width):
            X[c, k] *= inverse
        for k in range(c + 1, n):
            A[c, k] *= inverse
        A[c, c] = 1.0
