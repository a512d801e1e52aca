"""Sparse matrices of dense blocks."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp


def block_diagonal(blocks: Iterable[np.ndarray]) -> sp.csr_matrix:
    """The sparse matrix with square `blocks` along its diagonal, (0, 0) without any."""
    empty = sp.csr_matrix((0, 0))  # which makes a matrix of what SciPy may return as a sparse array
    return sp.csr_matrix(sp.block_diag([empty, *blocks]))
