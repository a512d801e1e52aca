"""Sparse factors `L U = A` of square matrices with real or complex entries, with row pivoting.

Column k of the factors is the solution of a triangular system with a sparse right-hand side, of which only the entries
that can be reached through the graph of `L` are computed.

Source: Gilbert and Peierls, "Sparse partial pivoting in time proportional to arithmetic operations", SIAM J. Sci. Stat.
Comput. 9 (1988) 862-874; Davis, Direct Methods for Sparse Linear Systems, 2006, chapter 6.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

FACTORISED, SINGULAR, ROOM = range(3)
"""Outcomes of `factorise`: complete; without a pivot; the arrays are too small for the factors."""


class Factors(NamedTuple):
    """Factors of a matrix (n, n) in compressed columns."""

    order: np.ndarray  # (n,) columns in the order of elimination
    place: np.ndarray  # (n,) position of each row in that order
    L_start: np.ndarray  # (n+1,)
    U_start: np.ndarray  # (n+1,)
    L_rows: np.ndarray
    U_rows: np.ndarray
    L: np.ndarray  # unit lower triangle, the diagonal first in each column; complex numbers as pairs
    U: np.ndarray  # upper triangle, the diagonal last in each column


@njit(cache=True)
def factorise(start, rows, values, factors, L, U):
    """Factorise the matrix with `values` in compressed columns (`start`, `rows`) into `L` and `U`, the arrays of
    `factors` as numbers of the type of `values`; returns the outcome."""
    order, place, L_start, U_start = factors.order, factors.place, factors.L_start, factors.U_start
    L_rows, U_rows, n = factors.L_rows, factors.U_rows, len(factors.order)
    x = np.zeros(n, dtype=values.dtype)
    mark, path, at, reached = np.full(n, -1), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    place[:] = -1
    lower, upper = 0, 0
    for k in range(n):
        L_start[k], U_start[k] = lower, upper
        if lower + n > len(L) or upper + n > len(U):
            return ROOM
        column, top = order[k], n
        for p in range(start[column], start[column + 1]):
            top = _reach(k, rows[p], place, L_start, L_rows, mark, path, at, reached, top)
        for p in range(start[column], start[column + 1]):
            x[rows[p]] = values[p]
        largest, pivot = 0.0, -1
        for p in range(top, n):
            i = reached[p]
            j = place[i]
            if j < 0:
                continue
            U_rows[upper], U[upper] = j, x[i]
            upper += 1
            for c in range(L_start[j] + 1, L_start[j + 1]):
                x[L_rows[c]] -= L[c] * x[i]
        for p in range(top, n):
            i = reached[p]
            if place[i] < 0 and abs(x[i]) > largest:
                largest, pivot = abs(x[i]), i
        if pivot < 0 or not largest < np.inf:
            return SINGULAR
        U_rows[upper], U[upper] = k, x[pivot]
        upper += 1
        L_rows[lower], L[lower] = pivot, 1.0
        lower += 1
        inverse = 1.0 / x[pivot]
        place[pivot] = k
        for p in range(top, n):
            i = reached[p]
            if place[i] < 0:
                L_rows[lower], L[lower] = i, x[i] * inverse
                lower += 1
            x[i] = 0.0
    L_start[n], U_start[n] = lower, upper
    for p in range(lower):
        L_rows[p] = place[L_rows[p]]
    return FACTORISED


@njit(cache=True)
def _reach(k, row, place, L_start, L_rows, mark, path, at, reached, top):
    """Add the rows that can be reached from `row`, in topological order, before position `top` of `reached`; returns
    the new position."""
    if mark[row] == k:
        return top
    head = 0
    path[0], mark[row] = row, k
    at[0] = L_start[place[row]] + 1 if place[row] >= 0 else 0
    while head >= 0:
        i = path[head]
        end = L_start[place[i] + 1] if place[i] >= 0 else 0
        p = at[head]
        while p < end and mark[L_rows[p]] == k:
            p += 1
        if p < end:
            at[head] = p + 1
            head += 1
            child = L_rows[p]
            path[head], mark[child] = child, k
            at[head] = L_start[place[child]] + 1 if place[child] >= 0 else 0
        else:
            top -= 1
            reached[top] = i
            head -= 1
    return top


@njit(cache=True)
def solve_factors(factors, L, U, b, x):
    """`x = A^-1 b` (n,) with the factors of `factorise`."""
    n, L_start, U_start, L_rows, U_rows = len(b), factors.L_start, factors.U_start, factors.L_rows, factors.U_rows
    y = np.empty(n, dtype=x.dtype)
    for i in range(n):
        y[factors.place[i]] = b[i]
    for k in range(n):
        for p in range(L_start[k] + 1, L_start[k + 1]):
            y[L_rows[p]] -= L[p] * y[k]
    for k in range(n - 1, -1, -1):
        last = U_start[k + 1] - 1
        y[k] = y[k] / U[last]
        for p in range(U_start[k], last):
            y[U_rows[p]] -= U[p] * y[k]
    for k in range(n):
        x[factors.order[k]] = y[k]


@njit(cache=True)
def multiply_columns(start, rows, values, n, x, factor, out):
    """`out += factor A x` with the leading block (n, n) of a matrix in compressed columns, whose rows increase."""
    for j in range(n):
        if x[j] == 0.0:
            continue
        scaled = factor * x[j]
        for p in range(start[j], start[j + 1]):
            if rows[p] >= n:
                break
            out[rows[p]] += values[p] * scaled


@njit(cache=True)
def place_in_column(start, rows, j, i):
    """Position of row `i` in column `j`; it must exist, and rows must increase in each column."""
    low, high = start[j], start[j + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low
