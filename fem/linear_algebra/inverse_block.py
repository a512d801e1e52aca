"""A block of the inverse of a sparse matrix, without solving for its columns."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

from fem.linear_algebra.factor import Factor
from fem.linear_algebra.factorisations import pardiso
from fem.linear_algebra.factorisations.matrix import prepare
from fem.linear_algebra.factorisations.storage import SolverOptions

PAYS = 1.5
"""Factorisations that the Schur complement costs at most, beside solves for all columns."""
LEAST = 300
"""Columns below which solves take no time that matters; they are a little more accurate."""
AGREES = 1e-9
"""Largest relative difference of a random combination of the columns from its solution by the factor."""


def inverse_block(
    A: Any, factor: Factor, keep: Int[np.ndarray, " n"], marked: Int[np.ndarray, " k"], solver: SolverOptions
) -> Float[np.ndarray, "k k"] | None:
    """The rows and columns `marked` of the inverse of `A[keep][:, keep]`, symmetric and positive definite, of which
    `factor` is the factor. None where solves with the factor are cheaper, or only they are possible.

    The block is the inverse of the Schur complement of the marked equations, which PARDISO forms in a factorisation of
    its own; a random combination of columns is compared with a solution. Cost: see `pardiso.schur_complement`.
    """
    flops, k = factor.record.flops, len(marked)
    solves = 4.0 * factor.record.entries * k
    if factor.backend != "pardiso" or factor.record.disk or solver.checkpoint is not None:
        return None
    if flops is None or k < LEAST or solves < PAYS * flops:
        return None
    S = pardiso.schur_complement(prepare(A, "positive-definite", keep), marked, solver)
    if S is None:
        return None
    try:
        block = cho_solve(cho_factor(S, lower=True, overwrite_a=True), np.eye(k), overwrite_b=True)
    except np.linalg.LinAlgError:
        return None
    weights, load = np.random.default_rng(1).standard_normal(k), np.zeros(len(keep))
    load[marked] = weights
    exact = factor.solve(load)[marked]
    if not np.abs(block @ weights - exact).max() <= AGREES * np.abs(exact).max():
        return None
    return np.asarray(0.5 * (block + block.T))
