"""Second-order balanced truncation over all frequencies, from low-rank Gramians by the ADI iteration.

For the viscously damped system `M q'' + D q' + K q = F u`, `y = F^T q`, with `D = alpha M + beta K`, the position
Gramian P is the upper left block of the solution of the Lyapunov equation of the first-order form. Since M, D and K are
symmetric and outputs act where inputs do, the velocity observability Gramian is M P M: position-velocity balancing is
one-sided, keeps symmetry and definiteness, and its basis are the leading eigenvectors of P M, its singular values their
eigenvalues.

ADI solves with `K - p D + p^2 M` for complex shifts p: complex-symmetric systems on the factor object of `fem`, all
inputs in one block. The shifts are poles of the reference response's model, most dominant first.

Sources: Reis and Stykel, Math. Comput. Model. Dyn. Syst. 14 (2008) 391-406 (balancing); Benner, Kuerschner and Saak,
"Efficient handling of complex shift parameters in the low-rank Cholesky factor ADI method", Numer. Algorithms 62 (2013)
225-251.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from fem.errors import ConvergenceError, MatrixError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, build, reduction_context, size_spec, static_responses
from reduction.error.reference_response import ReferenceResponse
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeSequence
from reduction.solutions.condensed import condense

SMALL_STEP = 1e-6
"""The iteration ends when a sweep adds less than this to the trace of P M, relatively ..."""
SWEEP = 3
"""... a sweep being so many shifts."""
MOST_SHIFTS = 120
"""Shifts before giving up."""
COMPRESS = 1e-9
"""Relative singular value below which directions of the low-rank factor are dropped."""


@register_reduction(
    "balanced-truncation",
    coordinates="p + shapes",
    exact_for="all inputs",
    cost="the reference response, 20 to 50 complex factorisations",
    needs_inputs=True,
)
@renamed(tol="tolerance", attached_to="reference_frame")
def balanced_truncation(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
    static: bool = True,
    damping: tuple[float, float] | None = None,
) -> Basis:
    """Basis of the leading shapes of the position Gramian over all frequencies: m = modes, plus p with `static`.

    - `modes`: shapes beyond the static ones; or `tolerance` (default 1 %): the fewest whose response error over `band`
      is below it.
    - `damping`: (alpha, beta) of `D = alpha M + beta K`; default 1 % of critical at the first natural frequency and at
      the end of the band.

    `reference_frame`, `inputs`, `static`: see `gramian`. Errors as in `craig_bampton`. Cost: the reference response,
    and a complex factorisation for each of the 20 to 50 shifts, with p solves each. `gramian` gives bases as good over
    a band for one factorisation in all.

    Raises `MatrixError` without a band, for a damping below zero or of zero, and for a part without interfaces and
    inputs.
    """
    if band is None:
        raise MatrixError("Balanced truncation needs a band=(0, f): its shifts and its error are placed in it.")
    if damping is not None and not (
        np.shape(damping) == (2,) and np.isfinite(damping).all() and min(damping) >= 0 < max(damping)
    ):
        raise MatrixError(
            "The damping (alpha, beta) of balanced truncation needs two numbers, none of them negative and one of them "
            f"above zero; found {damping}."
        )
    spec = size_spec(modes, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame)
    if context.reference is None or not context.inputs.deforming.labels:
        raise MatrixError(f"Model {model.name!r} has no interface and no inputs to balance; add some, or use modal().")
    alpha, beta = default_damping(context.reference) if damping is None else damping
    Z, shifts = position_factor(context, alpha, beta)
    values = np.maximum(np.linalg.eigvalsh(Z.T @ (model.M @ Z))[::-1], 0)
    first = static_responses(context, static)
    Z = Z - first @ (first.T @ (model.M @ Z))
    made = ShapeSequence(first, _compressed(model, Z), True, "balanced shape")
    given = {"singular_values": values, "shifts": shifts, "damping": [float(alpha), float(beta)]}
    return build(context, spec, "balanced truncation", lambda _: made, reference_frame, **given)


def default_damping(reference: ReferenceResponse) -> tuple[float, float]:
    """(alpha, beta) with half the reference response's loss factor, as a ratio of critical damping, at the first mode
    and at the end of the band."""
    a, b = np.sqrt(reference.eigenvalues[0]), 2 * np.pi * reference.band
    a, b = min(a, b), max(a, b)
    ratio = reference.loss_factor / 2
    return 2 * ratio * a * b / (a + b), 2 * ratio / (a + b)


def position_factor(context: ReductionContext, alpha: float, beta: float) -> tuple[Float[np.ndarray, "ndof r"], int]:
    """Z with Z Z^T = P, nearly, and the number of shifts it took."""
    reference, model, body = context.required_reference, context.model, context.body
    condensed = condense(body)
    M, K = model.M, model.K
    loads = context.inputs.deforming.loads
    balanced = loads - body.MR @ (body.R.T @ loads)
    w1, w2 = np.zeros_like(balanced), balanced
    Z = np.zeros((model.ndof, 0))
    trace, added = 0.0, [np.inf] * SWEEP
    for count, p in enumerate(_poles(reference, alpha, beta), 1):
        right = -w2 + p * (M @ w1) - (alpha * (M @ w1) + beta * (K @ w1))
        with condensed.dynamic(1 - p * beta, p**2 - p * alpha) as solve:
            x1 = solve(right)
        x2 = w1 - p * x1
        gamma, delta = 2 * np.sqrt(-p.real), p.real / p.imag
        y1, y2 = x1.real + delta * x1.imag, x2.real + delta * x2.imag
        new = np.hstack([gamma * y1, gamma * np.sqrt(delta**2 + 1) * x1.imag])
        w1, w2 = w1 + gamma**2 * y1, w2 + gamma**2 * (M @ y2)
        step = float(np.einsum("ij,ij->", new, M @ new))
        trace, added = trace + step, [*added[1:], step]
        Z = _compressed(model, np.hstack([Z, new]))
        if sum(added) < SMALL_STEP * trace:
            return Z, count
        if count == MOST_SHIFTS:
            break
    raise ConvergenceError(
        f"Model {model.name!r}: the Gramian still grows by {sum(added) / trace:.1e} in {SWEEP} shifts after {count} of "
        "them. Raise the damping or the band."
    )


def _poles(reference: ReferenceResponse, alpha: float, beta: float) -> Iterator[complex]:
    """Poles of the reference response's model, most dominant first, again and again; overdamped ones are left out."""
    omega = np.sqrt(reference.eigenvalues)
    ratio = 0.5 * (alpha / omega + beta * omega)
    kept = np.flatnonzero(ratio < 0.9)
    weight = (reference.rows[:, kept] ** 2).sum(axis=0) / (ratio[kept] * omega[kept] ** 3)
    order = kept[np.argsort(-weight)]
    while len(order):
        for k in order:
            yield complex(omega[k] * (-ratio[k] + 1j * np.sqrt(1 - ratio[k] ** 2)))
    raise MatrixError("Every mode of the model is overdamped; lower the damping.")


def _compressed(model: Model, Z: np.ndarray) -> np.ndarray:
    """Columns, M-orthogonal and strongest first, with the same Z Z^T but for the directions below COMPRESS."""
    squares, C = eigh(Z.T @ (model.M @ Z))
    kept = squares > COMPRESS**2 * squares[-1] if len(squares) else squares > 0
    return Z @ C[:, kept][:, ::-1]
