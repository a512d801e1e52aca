"""Lowest eigenmodes of K x = lambda M x by block Lanczos on the inverse.

One pass over a factor solves for a whole block of right-hand sides, so a block method takes a fraction of the time of a
method with single vectors; blocks also find multiple eigenvalues reliably.
Sources: Grimes, Lewis and Simon, "A shifted block Lanczos algorithm for solving sparse symmetric generalized
eigenproblems", SIAM J. Matrix Anal. Appl. 15 (1994) 228-272; Wu and Simon, "Thick-restart Lanczos method for large
symmetric eigenvalue problems", SIAM J. Matrix Anal. Appl. 22 (2000) 602-616.
"""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import ConvergenceError, MatrixError
from fem.linear_algebra.krylov import Inverse, KrylovSpace
from fem.linear_algebra.threads import one_openblas_thread

LOGGER = logging.getLogger("fem")
BLOCK = 8  # right-hand sides for each call of the inverse
MAX_CALLS = 500  # calls of the inverse before giving up
ROUND_OFF = 1e-15  # error of the inverse relative to its largest eigenvalue
NULL = 1e-12  # an eigenvalue of the inverse this small beside the largest is zero
COMBINATIONS = 4  # random combinations of the modes whose residual is measured
KNOWN = 1e-4  # relative residual at which an eigenvalue is known well enough to be compared
SAME = 1e-6  # eigenvalues this close, relatively, may be copies of one
ALIKE = 1e-6  # entries of a mode this close, relatively, are equally large


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenpairs of K x = lambda M x, ascending, and the number of solves.

    - `eigenvalues` (m,), in rad^2/s^2 when the units are consistent; `vectors` (n, m), vectors^T M vectors = I.
    - `residuals` (m,): |K^-1 M x - x / lambda|_M * lambda before the last improvement, a bound of the relative error of
      the eigenvalue for any distance to the next one.
    - `solves`: number of right-hand sides.
    """

    eigenvalues: Float[np.ndarray, " m"]
    vectors: Float[np.ndarray, "n m"]
    residuals: Float[np.ndarray, " m"]
    solves: int

    def __post_init__(self) -> None:
        for array in (self.eigenvalues, self.vectors, self.residuals):
            array.setflags(write=False)


def lowest_modes(
    inverse: Inverse,
    M: Any,
    count: int,
    start: Float[np.ndarray, "n k"] | None = None,
    tolerance: float = 1e-8,
) -> Modes:
    """The `count` lowest eigenmodes of K x = lambda M x, given a block solve with K.

    - `inverse`: block (n, k) -> (n, k), symmetric and positive semidefinite: K^-1, or K's inverse on a subspace (the
      caller projects constraints and rigid motions out); the modes then lie in its range. It must not write into its
      argument.
    - `M`: (n, n), symmetric, positive definite on that range: anything with `shape` and `@`.
    - `start`: vectors to begin with, of any rank and scale; random ones (fixed seed) are added to them.
    - `tolerance`: of the residuals (see `Modes`), not below 1e-12. The error of an eigenvalue is the square of its
      residual over its relative distance to the next.

    One last application of the inverse, free in a Krylov space, improves the modes. Residuals are those of the Lanczos
    recurrence; that of four random combinations of the modes is measured. Round-off limits the residual of mode i to
    about 1e-16 lambda_i / lambda_1, which matters when nearly all modes of a model are computed.

    Every copy of a multiple eigenvalue is found: a Krylov space of p random starting vectors contains at most p copies,
    so more vectors are added as soon as p copies have been found.

    Cost: 5 right-hand sides a mode in blocks of 8 (for 30 modes), and n (2 count + 56) numbers of memory, then n (3
    count + 48).

    Raises MatrixError (inverse not symmetric or not positive, shapes) and ConvergenceError (fewer modes exist, or the
    accuracy was not reached).
    """
    n = M.shape[0]
    if not 1 <= count <= n:
        raise MatrixError(f"A problem of {n} equations has between 1 and {n} modes; asked for {count}.")
    width = BLOCK if start is None else BLOCK + start.shape[1]
    space = KrylovSpace(inverse, M, min(n, 2 * count + 4 * width) + 2 * width)
    with one_openblas_thread():
        if start is not None:
            space.add(_unit_rows(start.T))
        return _iterate(space, count, width, tolerance)


def _iterate(space: KrylovSpace, count: int, width: int, tolerance: float) -> Modes:
    """Grow the space until its Ritz pairs are accurate and no copy of a multiple eigenvalue can be missing."""
    rng = np.random.default_rng(0)
    starts, locked, rank_when_closed = _add_random(space, rng), False, -1
    for _ in range(MAX_CALLS):
        space.expand()
        theta, S, residuals = space.ritz()
        _insist_on_positive(theta)
        rank = int((theta > NULL * theta[0]).sum())
        good = int((residuals[:count] <= tolerance * theta[:count]).sum())
        LOGGER.info("modes: %d of %d accurate, %d solves", good, count, space.solves)
        accurate = rank >= count and good == count
        if locked and rank > count:  # the largest eigenvalue outside the locked space must be known as well
            accurate = accurate and residuals[count] <= KNOWN * theta[count]
        exhausted = space.closed and rank in (rank_when_closed, space.n)
        if accurate and (exhausted or _largest_multiplicity(theta[:count]) < starts):
            return _finish(space, theta[:count], S[:, :count], residuals[:count] / theta[:count], tolerance)
        if exhausted:
            raise ConvergenceError(
                f"Only {rank} modes exist in the range of the inverse; asked for {count}. Ask for fewer modes, "
                "refine the mesh, or hold fewer dofs."
            )
        rank_when_closed = rank if space.closed else -1
        if accurate:  # but copies of an eigenvalue may be missing: look for them outside what was found
            locked = True
            space.drop_pending()
            space.restart(theta[:count], S[:, :count])
        elif space.size + 2 * width > space.capacity:
            keep = min(space.done, 2 * count)
            space.restart(theta[:keep], S[:, :keep])
        if space.closed:
            starts += _add_random(space, rng)
    raise ConvergenceError(
        f"The {count} lowest modes did not reach a relative residual of {tolerance:.0e} in {MAX_CALLS} calls of "
        f"the inverse (worst: {(residuals[:count] / theta[: len(residuals)][:count]).max():.1e}). Loosen the "
        "tolerance, or improve the conditioning of the matrix."
    )


def _unit_rows(start: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(start, axis=1, keepdims=True)
    return start / np.where(length > 0.0, length, 1.0)


def _add_random(space: KrylovSpace, rng: np.random.Generator) -> int:
    return space.add(rng.standard_normal((BLOCK, space.n)))


def _largest_multiplicity(theta: np.ndarray) -> int:
    """Size of the largest group of values (descending) of which neighbours differ by less than SAME."""
    breaks = np.flatnonzero(theta[:-1] - theta[1:] > SAME * theta[:-1]) + 1
    return int(np.diff(np.concatenate([[0], breaks, [len(theta)]])).max())


def _insist_on_positive(theta: np.ndarray) -> None:
    if theta.min() < -1e-8 * theta.max():
        raise MatrixError(
            "The inverse is not positive: K has a negative eigenvalue on this subspace. Use a matrix that is "
            "positive definite there, or a shift below its lowest eigenvalue."
        )


def _finish(space: KrylovSpace, theta: np.ndarray, S: np.ndarray, residuals: np.ndarray, tolerance: float) -> Modes:
    """Ritz pairs after one more application of the inverse, which costs no solve; their residual is measured in random
    combinations."""
    round_off = max(ROUND_OFF, space.asymmetry)
    eigenvalues, vectors = space.improved(theta, S)
    signs = np.random.default_rng(2).choice([-1.0, 1.0], (COMBINATIONS, len(theta)))
    weights = eigenvalues * signs
    left = space.apply(space.mass_times(weights @ vectors)) - signs @ vectors
    measured = np.sqrt(np.abs(np.einsum("ij,ij->i", left, space.mass_times(left))).max())
    allowed = np.sqrt(len(theta)) * np.maximum(10.0 * tolerance, round_off * theta[0] / theta).max()
    if not measured <= allowed:
        raise ConvergenceError(
            f"The modes have a relative residual of {measured:.1e}, {tolerance:.0e} was asked for: the "
            "inverse is less accurate than that, or does not give the same answer twice. Loosen the tolerance."
        )
    vectors *= signs_of(vectors.T)[:, None]
    return Modes(eigenvalues, vectors.T, residuals, space.solves)


def signs_of(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """The sign of the largest entry of each column; of several that are as large to 1e-6, as a symmetric part has them,
    of the first, so that rounding does not decide it."""
    signs = np.ones(vectors.shape[1])
    for k, vector in enumerate(vectors.T):  # one by one, since all of them may fill the memory
        size = np.abs(vector)
        if vector[(size >= (1.0 - ALIKE) * size.max()).argmax()] < 0.0:
            signs[k] = -1.0
    return signs
