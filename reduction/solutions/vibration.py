"""Natural modes of a free body or of a body with fixed interfaces: a number of them, or all of a frequency band."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigvalsh

from fem.axes.limits import LARGEST, is_number
from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.eigen import lowest_modes
from fem.linear_algebra.factor import Factor, factor
from fem.linear_algebra.krylov import Inverse
from fem.linear_algebra.slicing import ShiftedProblem, extend_modes
from fem.model import Model
from reduction.solutions.condensed import Condensed, condense
from reduction.solutions.fixed_interfaces import FixedInterfaces, fix_interfaces, fixed_interface_displacement
from reduction.solutions.statics import Statics, inertia_relief_solution, statics

FIRST = 16
"""Modes of the first trial when a band is asked for."""
SLICED = 150
"""More modes than this are found in slices of the spectrum, each around a shift of its own."""
SMALL = 10
"""A model has to have this many times as many modes as are found in slices."""
NUDGES = (0.0, 1e-5, 1e-4, 1e-3)
"""Relative changes of a shift that falls on an eigenvalue."""


@dataclass(frozen=True, eq=False)
class Vibration:
    """An eigenproblem of a body.

    `inverse`: static displacements under loads, a symmetric operator; `available`: number of modes; `shifted(s)`: a
    context with the problem at a shift s (rad^2/s^2) and the number of modes below it, by one factorisation.
    """

    model: Model
    inverse: Inverse
    available: int
    shifted: Callable[[float], AbstractContextManager[ShiftedProblem]]


def require_band(band: tuple[float | int, float | int]) -> float:
    """The highest frequency of a band (0, f). Raises MatrixError if `band` is not of this form."""
    low, high = band if isinstance(band, Sequence | np.ndarray) and len(band) == 2 else (np.nan, np.nan)
    if not (is_number(low) and low == 0 and is_number(high) and 0 < high <= LARGEST):
        raise MatrixError(f"A band is (0, highest frequency), in cycles per unit of time; found {band}.")
    return float(high)


def free_vibration(body: Statics) -> Vibration:
    """Elastic modes of the free body, in mean axes."""
    small = cache(partial(condense, body))
    return Vibration(
        body.model,
        partial(inertia_relief_solution, body),
        body.free_modes_available,
        partial(_free_at, body.model, small),
    )


def fixed_vibration(fixed: FixedInterfaces) -> Vibration:
    """Modes with all interface motions zero."""
    inverse = partial(fixed_interface_displacement, fixed)
    return Vibration(fixed.body.model, inverse, fixed.modes_available, partial(_fixed_at, fixed))


def select_modes(problem: Vibration, modes: int | None, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (k,) and vectors (ndof, k) of the `modes` lowest modes, or (None) of all up to the frequency
    `cutoff`.

    From about 150 modes on they are counted by inertia, so that none can be missing. Raises MatrixError when the body
    has fewer modes.
    """
    model, available = problem.model, problem.available
    if modes is not None:
        if modes > available:
            raise MatrixError(
                f"Model {model.name!r} has {available} such modes; asked for {modes}. Ask for fewer, or refine the "
                "mesh."
            )
        if modes == 0:
            return np.zeros(0), np.zeros((model.ndof, 0))
        if modes <= SLICED or available < SMALL * modes:
            found = lowest_modes(problem.inverse, model.M, modes)
        else:
            found = extend_modes(lowest_modes(problem.inverse, model.M, SLICED // 2), problem.shifted, model.M, modes)
        return found.eigenvalues, found.vectors
    limit = (2.0 * np.pi * cutoff) ** 2
    count, start = min(FIRST, available), None
    while True:
        found = lowest_modes(problem.inverse, model.M, count, start)
        inside = int(np.searchsorted(found.eigenvalues, limit, side="right"))
        if inside < count or count == available:
            return found.eigenvalues[:inside], found.vectors[:, :inside]
        if 2 * count > SLICED and available > 2 * SMALL * count:
            found = extend_modes(found, problem.shifted, model.M, cutoff=limit)
            return found.eigenvalues, found.vectors
        count, start = min(2 * count, available), found.vectors


def count_modes(model: Model, frequency: float, fixed: bool = False) -> int:
    """Count the natural frequencies below `frequency` (cycles per unit of time) by inertia.

    The modes are the elastic ones of the free body, or with `fixed` those with all interfaces fixed. The count is exact
    up to round-off and independent of any eigensolver: a check that a list of modes is complete. Cost: two
    factorisations.
    """
    high = require_band((0, frequency))
    body = statics(model)
    problem = fixed_vibration(fix_interfaces(body)) if fixed else free_vibration(body)
    body.release()
    with problem.shifted((2.0 * np.pi * high) ** 2) as at:
        return at.below


@contextmanager
def _factor_near(
    K: sp.csr_matrix, M: sp.csr_matrix, shift: float, model: Model, keep: np.ndarray | None
) -> Iterator[tuple[float, Factor, int]]:
    """A shift at or just above `shift`, the factor of K - shift M there, and its number of negative eigenvalues."""
    for nudge in NUDGES:
        near = shift * (1.0 + nudge)
        try:
            inverse = factor(K - near * M, "symmetric", solver=model.solver, keep=keep)
        except FactorisationError:
            if nudge == NUDGES[-1]:
                raise
            continue
        if inverse.inertia is not None:
            break
        inverse.release()
    else:
        raise FactorisationError(
            f"Model {model.name!r}: the inertia of K - s M near s = {shift:.6g} is not certain, so modes cannot be "
            "counted there. Use a backend that gives it (MKL or MUMPS), or ask for fewer modes."
        )
    with inverse:
        yield near, inverse, inverse.inertia[1]


@contextmanager
def _free_at(model: Model, condensed: Callable[[], Condensed], shift: float) -> Iterator[ShiftedProblem]:
    small = condensed()
    with _factor_near(small.K, small.M, shift, model, None) as (near, inverse, negative):
        yield ShiftedProblem(near, partial(small.elastic_displacement, inverse), negative - 6)


@contextmanager
def _fixed_at(fixed: FixedInterfaces, shift: float) -> Iterator[ShiftedProblem]:
    """With average interfaces, B^T u = 0: In [[A, B], [B^T, 0]] = In(A) + In(-B^T A^-1 B) counts their multipliers as
    well (Haynsworth)."""
    body, model, B = fixed.body, fixed.body.model, fixed.B
    inside = np.arange(model.ndof) if body.pinned else body.interior
    with _factor_near(model.K, model.M, shift, model, inside) as (near, inverse, negative):
        Bi = B[inside]
        AB = inverse.solve(Bi.toarray())
        S = Bi.T @ AB
        S = 0.5 * (S + S.T)
        below = negative
        if S.size:
            below += int((eigvalsh(-S) < 0).sum()) - len(S)

        def solve(F: np.ndarray) -> np.ndarray:
            U = np.zeros(F.shape)
            X = inverse.solve(F[inside])
            U[inside] = X - AB @ np.linalg.solve(S, Bi.T @ X) if S.size else X
            return U

        yield ShiftedProblem(near, solve, below)
