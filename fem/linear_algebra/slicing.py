"""Many eigenmodes of K x = lambda M x: slices of the spectrum, each around a shift of its own, counted by inertia.

The number of negative pivots of K - s M is the number of eigenvalues below s (Sylvester), so a slice is finished when
that many modes are known: none can be missing. A slice holds some eighty modes, so the work of orthogonalising them
does not grow with the square of their number, at the price of one factorisation a slice. What one slice finds beyond
its shift, the next one starts with.
Source: Grimes, Lewis and Simon, "A shifted block Lanczos algorithm for solving sparse symmetric generalized
eigenproblems", SIAM J. Matrix Anal. Appl. 15 (1994) 228-272.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fem.errors import ConvergenceError
from fem.linear_algebra.eigen import BLOCK, LOGGER, MAX_CALLS, Modes
from fem.linear_algebra.krylov import Inverse, KrylovSpace
from fem.linear_algebra.threads import one_openblas_thread

AHEAD = 40
"""Modes expected between what is known and the next shift."""
ASIDE = 0.1
"""Distance of the last shift from the end of a band, which may be an eigenvalue, in distances of eigenvalues."""
SAME = 1e-6
"""Shifts this close, relatively, are not divided further, however many modes lie between them."""
MOST = 150
"""More missing modes than this below a shift, and a nearer one is taken."""


@dataclass(frozen=True, eq=False)
class ShiftedProblem:
    """`solve`: loads to displacements, (K - s M)^-1 on the space of the problem, for blocks; `below`: number of
    eigenvalues below the shift s."""

    shift: float
    solve: Inverse
    below: int


Shift = Callable[[float], AbstractContextManager[ShiftedProblem]]
"""Within a `with`: the problem at a shift, or very little above it."""


def extend_modes(
    first: Modes, shift: Shift, M: Any, count: int | None = None, cutoff: float = 0.0, tolerance: float = 1e-8
) -> Modes:
    """The `count` lowest modes, or all with eigenvalues up to `cutoff`, computed from the lowest ones `first` upwards.

    Raises ConvergenceError when a slice does not reach the tolerance, or the inertia contradicts the modes found. Cost:
    a factorisation and 200 to 300 solves for each 60 to 80 modes; memory: n (count + 350) numbers.
    """
    known, done = first, False
    steps = _Steps(count, cutoff)
    with one_openblas_thread():
        while not done:
            with shift(steps.next(known.eigenvalues)) as at:
                missing = at.below - int((known.eigenvalues < at.shift).sum())
                if steps.too_far(at, missing):
                    continue
                if missing:
                    known = _complete(at, M, known, missing, tolerance)
            done = at.shift >= cutoff if count is None else at.below >= count
    inside = int((known.eigenvalues <= cutoff).sum()) if count is None else count
    return Modes(known.eigenvalues[:inside], known.vectors[:, :inside], known.residuals[:inside], known.solves)


class _Steps:
    """Where the next shift goes: as far as the latest distances of eigenvalues promise AHEAD modes; farther after an
    empty step, halfway back after too many."""

    def __init__(self, count: int | None, cutoff: float) -> None:
        self._count, self._cutoff = count, cutoff
        self._complete, self._stride = 0.0, 1.0
        self._beyond: list[ShiftedProblem] = []

    def next(self, values: np.ndarray) -> float:
        """The next shift, given the eigenvalues that are known, ascending."""
        latest = min(20, len(values) - 1)
        spacing = (values[-1] - values[-1 - latest]) / latest
        known = max(values[-1], self._complete)
        self._beyond = [
            at for at in self._beyond if at.shift > known and at.below - int((values < at.shift).sum()) > MOST
        ]
        if self._beyond:
            return float(known + self._beyond[-1].shift) / 2
        if self._count is None:
            return float(min(known + self._stride * AHEAD * spacing, self._cutoff + ASIDE * spacing))
        return float(known + self._stride * min(AHEAD, 1.2 * max(self._count - len(values), 0) + 2) * spacing)

    def too_far(self, at: ShiftedProblem, missing: int) -> bool:
        """Whether more modes are missing below a shift than one slice should hold; otherwise it is taken."""
        first = self._beyond[-1].shift if self._beyond else np.inf
        if missing > MOST and not first - at.shift < SAME * at.shift:
            self._beyond.append(at)
            return True
        self._complete, self._stride = at.shift, 1.0 if missing else 2.0 * self._stride
        return False


def _complete(
    at: ShiftedProblem, M: Any, known: Modes, missing: int, tolerance: float, everywhere: bool = False
) -> Modes:
    """Known modes and all missing ones below the shift, and what else became accurate.

    Known modes above the shift and within `reach` below it are projected out, so that they are not found again; with
    `everywhere`, all of them.
    """
    values, rows = known.eigenvalues, known.vectors.T
    reach = max(2.0 * abs(at.shift - values[-1]), at.shift - values[max(0, len(values) - AHEAD)])
    reach = np.inf if everywhere else 1.001 * reach
    near = rows[values > at.shift - reach]

    def without_known(U: np.ndarray) -> np.ndarray:
        return U - near.T @ (near @ (M @ U))

    n = rows.shape[1]
    space = KrylovSpace(lambda F: without_known(at.solve(F)), M, min(n, 3 * missing + 12 * BLOCK) + 2 * BLOCK)
    rng = np.random.default_rng(3)
    for _ in range(MAX_CALLS):
        if space.closed:
            space.add(without_known(rng.standard_normal((n, BLOCK))).T)
        space.expand()
        theta, S, residual = space.ritz()
        accurate = residual <= tolerance * np.abs(theta)
        solves = known.solves + space.solves
        if (accurate & (1 / theta < -reach)).any():  # a missing mode is among those found before, or there is none
            return _complete(at, M, replace(known, solves=solves), missing, tolerance, everywhere=True)
        found = int((accurate & (theta < 0)).sum())
        LOGGER.info(
            "modes: %d known, %d of %d missing ones below the shift, %d solves", len(values), found, missing, solves
        )
        if found > missing:
            raise ConvergenceError(
                f"{found - missing} modes more were found below {at.shift:.6g} than K - s M has negative pivots: the "
                "factorisation is not accurate enough for its inertia to be trusted. Look for very soft or very small "
                "parts beside stiff ones."
            )
        if found == missing:
            theta, S, residual = theta[accurate], S[:, accurate], residual[accurate] / np.abs(theta[accurate])
            distance, vectors = space.improved(theta, S)
            values = np.concatenate([values, at.shift + distance])
            residuals = np.concatenate([known.residuals, residual[np.argsort(1 / theta)]])
            order = np.argsort(values)
            return Modes(values[order], np.vstack([rows, vectors])[order].T, residuals[order], solves)
        if space.size + 2 * BLOCK > space.capacity:
            keep = min(space.done, space.capacity - 4 * BLOCK)
            space.restart(theta[:keep], S[:, :keep])
    raise ConvergenceError(
        f"Of {missing} missing modes below {at.shift:.6g}, {found} reached a relative residual of {tolerance:.0e} in "
        f"{MAX_CALLS} calls of the inverse."
    )
