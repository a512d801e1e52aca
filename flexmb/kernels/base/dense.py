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


@njit(cache=True)
def invert6(C):
    """Overwrite a symmetric 6x6 matrix by its inverse; returns False, with the matrix in part changed, if it is not
    positive definite.

    The sweeps of Gauss and Jordan without pivoting: each pivot is a ratio of leading minors. The row of a pivot is held
    in variables, so that the compiler can treat the numbers of another row together.
    """
    for k in range(6):
        if not C[k, k] > 0.0:
            return False
        inverse = 1.0 / C[k, k]
        C[k, k] = 1.0
        for j in range(6):
            C[k, j] *= inverse
        p0, p1, p2, p3, p4, p5 = C[k, 0], C[k, 1], C[k, 2], C[k, 3], C[k, 4], C[k, 5]
        for i in range(6):
            if i == k:
                continue
            factor = C[i, k]
            C[i, k] = 0.0
            r0, r1, r2, r3, r4, r5 = C[i, 0], C[i, 1], C[i, 2], C[i, 3], C[i, 4], C[i, 5]
            C[i, 0] = r0 - factor * p0
            C[i, 1] = r1 - factor * p1
            C[i, 2] = r2 - factor * p2
            C[i, 3] = r3 - factor * p3
            C[i, 4] = r4 - factor * p4
            C[i, 5] = r5 - factor * p5
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
