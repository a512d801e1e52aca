"""The shapes of a method in the order in which it takes them, and the smallest number that meets a tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpotrf

from fem.errors import ConvergenceError, MatrixError
from fem.model import Model
from reduction.error.certificate import Certificate
from reduction.error.response_error import relative_error
from reduction.solutions.orthonormal import new_directions, projection
from reduction.solutions.statics import Statics, elastic
from reduction.solutions.vibration import Vibration, free_vibration, select_modes

INDEPENDENT = 1e-6
"""Length of the part of a unit shape outside the span of those before it, below which it counts as dependent on them."""

START = 8
"""Shapes of the first ladder when a tolerance decides."""
MOST = 200
"""Shapes tried, at least, before a method is said to miss a tolerance."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """`first` (ndof, s): always taken; `shapes` (ndof, n): taken from the left; `complete`: there are no more.

    All elastic, in mean axes. `what` names a shape, for messages; `eigenvalues`: of shapes that are modes of vibration, or
    the squared frequencies of shapes that are responses; none where neither is known.
    """

    first: Float[np.ndarray, "ndof s"]
    shapes: Float[np.ndarray, "ndof n"]
    complete: bool
    what: str
    eigenvalues: Float[np.ndarray, " known"] = field(default_factory=lambda: np.zeros(0))

    def columns(self, count: int) -> Float[np.ndarray, "ndof m"]:
        """The shapes of a basis that takes `count`."""
        return np.hstack([self.first, self.shapes[:, :count]])


Climb = Callable[[int | None], Ladder]
"""`climb(n)`: the ladder of a method with n shapes, or all there are; `climb(None)`: those it takes by its own rule."""


def static_shapes(body: Statics, U: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof s"]:
    """The elastic directions of `U`, M-orthonormal: rigid motion and what is dependent left out."""
    return new_directions(body.model.M, body.R, body.MR, U)[0]


def vibration(
    problem: Vibration, count: int | None, cutoff: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "ndof k"], bool]:
    """Eigenvalues and shapes of the `count` lowest modes, or (None) of those up to the frequency `cutoff`; and whether there are no more."""
    wanted = None if count is None else min(count, problem.available)
    values, shapes = select_modes(problem, wanted, cutoff)
    return values, shapes, len(values) == problem.available


def free_modes(
    body: Statics, certificate: Certificate | None, first: Float[np.ndarray, "ndof s"], cutoff: float = 0.0
) -> Climb:
    """`first`, then free natural modes: those of the certificate as long as they last."""
    ready = (np.zeros(0), np.zeros((body.model.ndof, 0))) if certificate is None else certificate.natural

    def climb(count: int | None) -> Ladder:
        if count is not None and count <= len(ready[0]):
            values, shapes = ready[0][:count], ready[1][:, :count]
            return Ladder(first, shapes, False, "free mode", values)
        values, shapes, complete = vibration(free_vibration(body), count, cutoff)
        return Ladder(first, elastic(body, shapes), complete, "free mode", values)

    return climb


def independent(model: Model, steps: Ladder, count: int) -> int:
    """`count`, when the ladder has so many shapes that are independent; else a MatrixError that says how many there are."""
    there = steps.shapes.shape[1]
    if count > there:
        raise MatrixError(
            f"Model {model.name!r} has {there} such modes; asked for {count} {steps.what}s. Ask for fewer, or refine the mesh."
        )
    free = (
        len(_triangle(model, Ladder(steps.first, steps.shapes[:, :count], True, steps.what))[0]) - steps.first.shape[1]
    )
    if free < count:
        raise MatrixError(
            f"Model {model.name!r}: {steps.what} {free + 1} depends on the shapes before it; {free} can be taken, {count} were asked for."
        )
    return count


def smallest(
    certificate: Certificate, model: Model, climb: Climb, tolerance: float, limit: int = 10**9
) -> tuple[Ladder, int]:
    """The ladder and the number of its shapes that meet `tolerance` over the band first.

    `climb(n)` is a ladder of n shapes, or complete. Raises ConvergenceError, with the best error, when the method cannot
    meet the tolerance, or not within `limit` shapes in all.
    """
    count, best, at = START, np.inf, 0
    while True:
        steps = climb(min(count, limit))
        found, best, at = _first_that_meets(certificate, model, steps, tolerance, at)
        if found is not None:
            return steps, found
        there = steps.shapes.shape[1]
        if steps.complete or there >= min(max(4 * len(certificate.eigenvalues), MOST), limit - steps.first.shape[1]):
            raise ConvergenceError(
                f"Model {model.name!r}: {there} {steps.what}s leave a relative error of {best:.2g} in the response over "
                f"(0, {certificate.band:.4g}); {tolerance:.2g} was asked for. Loosen the tolerance, lower the band, or take another method."
            )
        count *= 2


def _first_that_meets(
    certificate: Certificate, model: Model, steps: Ladder, tolerance: float, at: int
) -> tuple[int | None, float, int]:
    """Number of shapes, or None; the smallest error met; the size from which a longer ladder goes on."""
    L, K, F = _triangle(model, steps, certificate.inputs.loads)
    K = solve_triangular(L, solve_triangular(L, K, lower=True).T, lower=True)
    F = solve_triangular(L, F, lower=True)
    s, best, suspect = steps.first.shape[1], np.inf, None
    for k in range(at, len(L) - s + 1):
        if s + k == 0:
            continue
        values, W = eigh(K[: s + k, : s + k])
        rows = F[: s + k].T @ W
        if suspect is not None and relative_error(certificate, values, rows, suspect).max() > tolerance:
            continue
        grid = certificate.grid(values)
        errors = relative_error(certificate, values, rows, grid)
        best, suspect = min(best, float(errors.max())), grid[[errors.argmax()]]
        if best <= tolerance:
            return k, best, k
    return None, best, max(len(L) - s, 0)


def _triangle(model: Model, steps: Ladder, F: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cholesky factor of the mass matrix of the independent leading shapes, their stiffness matrix and loads, all scaled."""
    V = steps.columns(steps.shapes.shape[1])
    M, K = projection(model.M, V), projection(model.K, V)
    scale = 1 / np.sqrt(np.diag(M))
    M, K = (A * np.outer(scale, scale) for A in (M, K))
    L, info = dpotrf(M, lower=1, clean=1)
    n = len(M) if info == 0 else info - 1
    weak = np.flatnonzero(np.diag(L)[:n] < INDEPENDENT)
    n = int(weak[0]) if len(weak) else n
    if n < steps.first.shape[1]:
        raise MatrixError(
            f"Model {model.name!r}: static shape {n} depends on those before it; remove an interface or a load that others imply."
        )
    loads = np.zeros((n, 0)) if F is None else scale[:n, None] * (V[:, :n].T @ F)
    return L[:n, :n], K[:n, :n], loads
