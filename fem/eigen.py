"""Lowest eigenmodes of K x = lambda M x by block Lanczos on the inverse.

One pass over a factor serves a whole block of right-hand sides, so a block method needs a fraction of the time of
one that asks for a vector at a time; blocks also find multiple eigenvalues without luck.
Sources: Grimes, Lewis and Simon, "A shifted block Lanczos algorithm for solving sparse symmetric generalized
eigenproblems", SIAM J. Matrix Anal. Appl. 15 (1994) 228-272; Wu and Simon, "Thick-restart Lanczos method for large
symmetric eigenvalue problems", SIAM J. Matrix Anal. Appl. 22 (2000) 602-616.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import ConvergenceError, MatrixError

Block = Float[np.ndarray, "n k"]
Inverse = Callable[[np.ndarray], np.ndarray]

BLOCK = 8  # vectors for each call of the inverse
NEGLIGIBLE = 1e-13  # a new direction this small beside the largest image is round-off
MAX_SOLVES = 200  # calls of the inverse before giving up


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenpairs of K x = lambda M x, ascending.

    eigenvalues (m,) in rad^2/s^2 when the units are consistent; vectors (n, m) with vectors^T M vectors = I;
    residuals (m,): |K^-1 M x - x / lambda|_M * lambda, the relative accuracy of the eigenvalue whatever its distance to its
    neighbours (with a gap to them, its square is); solves: right-hand sides that the inverse was given.
    """

    eigenvalues: Float[np.ndarray, " m"]
    vectors: Float[np.ndarray, "n m"]
    residuals: Float[np.ndarray, " m"]
    solves: int

    def __post_init__(self) -> None:
        for array in (self.eigenvalues, self.vectors, self.residuals):
            array.setflags(write=False)
