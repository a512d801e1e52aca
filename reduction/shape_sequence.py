"""Sequences of shapes, in the order in which a method takes them, and the smallest number that meets a tolerance."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf

from fem.errors import ConvergenceError, MatrixError
from fem.model import Model
from reduction.error.reference_response import ReferenceResponse
from reduction.error.response_error import relative_error
from reduction.solutions.orthonormal import new_directions, projection
from reduction.solutions.statics import Statics, elastic
from reduction.solutions.vibration import Vibration, free_vibration, select_modes

INDEPENDENT = 1e-6
"""Length of the part of a unit shape outside the span of those before it, below which it counts as dependent
on them."""

NEW = 1e-4
"""The same of a shape in whose place the next one may be taken."""

ALIKE = 1e-3
"""Relative difference of two natural frequencies that counts as one double mode, which a mesh may divide a little."""

START = 8
"""Shapes of the first sequence when a tolerance decides."""
MOST = 200
"""Shapes tried, at least, before a method is said to miss a tolerance."""


@dataclass(frozen=True, eq=False)
class ShapeSequence:
    """`first` (ndof, s): shapes that every basis contains; `shapes` (ndof, n): further shapes, taken from the left;
    `complete`: the method has no more. All shapes are elastic, in mean axes.

    - `what`: the word for a shape in messages.
    - `eigenvalues`: those of modes of vibration, or the squared angular frequencies of responses; empty when neither is
      known.
    - `next`: the eigenvalue of the mode after the last shape, NaN where it is not known.
    """

    first: Float[np.ndarray, "ndof s"]
    shapes: Float[np.ndarray, "ndof n"]
    complete: bool
    what: str
    eigenvalues: Float[np.ndarray, " known"] = field(default_factory=lambda: np.zeros(0))
    next: float = float("nan")

    def splits(self, count: int) -> bool:
        """Whether `count` shapes hold some modes of one frequency and leave out others, as of a double mode."""
        values = np.append(self.eigenvalues, self.next)
        return 0 < count < len(values) and bool(values[count] <= (1 + ALIKE) ** 2 * values[count - 1])

    def columns(self, count: int) -> Float[np.ndarray, "ndof m"]:
        """The shapes of a basis that takes `count`."""
        return np.hstack([self.first, self.shapes[:, :count]])


ShapeGenerator = Callable[[int | None], ShapeSequence]
"""`generate(n)`: the sequence of a method with n shapes, or all there are; `generate(None)`: those it takes by its own
rule."""


def static_shapes(body: Statics, U: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof s"]:
    """The elastic directions of `U`, M-orthonormal, without rigid motion and without dependent directions."""
    return new_directions(body.model.M, body.R, body.MR, U)[0]


def vibration(
    problem: Vibration, count: int | None, cutoff: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "ndof k"], bool, float]:
    """Eigenvalues and shapes of the `count` lowest modes, or (None) of those up to the frequency `cutoff`, whether
    these are all modes of the problem, and the eigenvalue of one mode more (NaN where it is not computed)."""
    if count is None or count == 0 or count >= problem.available:
        values, shapes = select_modes(problem, None if count is None else min(count, problem.available), cutoff)
        return values, shapes, len(values) == problem.available, float("nan")
    values, shapes = select_modes(problem, count + 1, cutoff)
    return values[:count], shapes[:, :count], False, float(values[count])


def free_modes(
    body: Statics, reference: ReferenceResponse | None, first: Float[np.ndarray, "ndof s"], cutoff: float = 0.0
) -> ShapeGenerator:
    """`first`, then free natural modes: those of the reference response as long as they last."""
    ready = (np.zeros(0), np.zeros((body.model.ndof, 0))) if reference is None else reference.natural

    def generate(count: int | None) -> ShapeSequence:
        if count is not None and count <= len(ready[0]):
            values, shapes, after = ready[0][:count], ready[1][:, :count], [*ready[0][count:], np.nan][0]
            return ShapeSequence(first, shapes, False, "free mode", values, float(after))
        values, shapes, complete, after = vibration(free_vibration(body), count, cutoff)
        return ShapeSequence(first, elastic(body, shapes), complete, "free mode", values, after)

    return generate


def outside(
    model: Model, first: Float[np.ndarray, "ndof s"], shapes: Float[np.ndarray, "ndof n"]
) -> Bool[np.ndarray, " n"]:
    """Which of `shapes` do not depend on `first`, which are independent, and on the shapes before them."""
    s = first.shape[1]
    M = projection(model.M, np.hstack([first, shapes]))
    scale = 1 / np.sqrt(np.diag(M))
    M *= np.outer(scale, scale)
    kept, L = list(range(s)), np.zeros_like(M)
    L[:s, :s] = cholesky(M[:s, :s], lower=True)
    for k in range(s, len(M)):
        n = len(kept)
        row = solve_triangular(L[:n, :n], M[kept, k], lower=True)
        rest = np.sqrt(max(M[k, k] - row @ row, 0.0))
        if rest > NEW:
            L[n, :n], L[n, n] = row, rest
            kept.append(k)
    return np.isin(np.arange(s, len(M)), kept)


def independent(model: Model, sequence: ShapeSequence, count: int) -> int:
    """Return `count` if the sequence has this number of independent shapes. Raises MatrixError otherwise."""
    there = sequence.shapes.shape[1]
    if count > there:
        raise MatrixError(
            f"Model {model.name!r} has {there} such modes; asked for {count} {sequence.what}s. Ask for fewer, or "
            "refine the mesh."
        )
    free = (
        len(_triangle(model, ShapeSequence(sequence.first, sequence.shapes[:, :count], True, sequence.what))[0])
        - sequence.first.shape[1]
    )
    if free < count:
        raise MatrixError(
            f"Model {model.name!r}: {sequence.what} {free + 1} depends on the shapes before it; {free} can be taken, "
            f"{count} were asked for."
        )
    return count


def smallest(
    reference: ReferenceResponse, model: Model, generate: ShapeGenerator, tolerance: float, limit: int = 10**9
) -> tuple[ShapeSequence, int]:
    """The sequence and the smallest number of its shapes that meets `tolerance` over the band.

    `generate(n)` returns a sequence of n shapes, or a complete one. Raises ConvergenceError, with the best error, when
    the method does not meet the tolerance, or not with at most `limit` shapes in all.
    """
    count, best, at = START, np.inf, 0
    while True:
        sequence = generate(min(count, limit))
        found, best, at = _first_that_meets(reference, model, sequence, tolerance, at)
        if found is not None:
            return sequence, found
        there = sequence.shapes.shape[1]
        if sequence.complete or there >= min(
            max(4 * len(reference.eigenvalues), MOST), limit - sequence.first.shape[1]
        ):
            raise ConvergenceError(
                f"Model {model.name!r}: {there} {sequence.what}s leave a relative error of {best:.2g} in the response "
                f"over (0, {reference.band:.4g}); {tolerance:.2g} was asked for. Loosen the tolerance, lower the band, "
                "or take another method."
            )
        count *= 2


def _first_that_meets(
    reference: ReferenceResponse, model: Model, sequence: ShapeSequence, tolerance: float, at: int
) -> tuple[int | None, float, int]:
    """Number of shapes, or None; the smallest error met; the size from which a longer sequence goes on."""
    L, K, F = _triangle(model, sequence, reference.inputs.loads)
    K = solve_triangular(L, solve_triangular(L, K, lower=True).T, lower=True)
    F = solve_triangular(L, F, lower=True)
    s, best, suspect = sequence.first.shape[1], np.inf, None
    for k in range(at, len(L) - s + 1):
        if s + k == 0:
            continue
        values, W = eigh(K[: s + k, : s + k])
        rows = F[: s + k].T @ W
        if suspect is not None and relative_error(reference, values, rows, suspect).max() > tolerance:
            continue
        grid = reference.grid(values)
        errors = relative_error(reference, values, rows, grid)
        best, suspect = min(best, float(errors.max())), grid[[errors.argmax()]]
        if best <= tolerance:
            return k, best, k
    return None, best, max(len(L) - s, 0)


def _triangle(
    model: Model, sequence: ShapeSequence, F: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cholesky factor of the mass matrix of the independent leading shapes, their stiffness matrix and loads, all
    scaled."""
    V = sequence.columns(sequence.shapes.shape[1])
    M, K = projection(model.M, V), projection(model.K, V)
    scale = 1 / np.sqrt(np.diag(M))
    M, K = (A * np.outer(scale, scale) for A in (M, K))
    L, info = dpotrf(M, lower=1, clean=1)
    n = len(M) if info == 0 else info - 1
    weak = np.flatnonzero(np.diag(L)[:n] < INDEPENDENT)
    n = int(weak[0]) if len(weak) else n
    if n < sequence.first.shape[1]:
        raise MatrixError(
            f"Model {model.name!r}: static shape {n} depends on those before it; remove an interface or a load that "
            "others imply."
        )
    loads = np.zeros((n, 0)) if F is None else scale[:n, None] * (V[:, :n].T @ F)
    return L[:n, :n], K[:n, :n], loads
