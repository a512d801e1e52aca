"""Rational Krylov reduction: shapes that match the response, and its derivatives, at chosen frequencies.

A shift is a frequency f, `sigma = (2 pi f)^2`; the undamped responses `(K - sigma M)^-1 F` and
`((K - sigma M)^-1 M)^j (K - sigma M)^-1 F` are the moments 0, 1, ..., of the transfer matrix there. Since the matrices
are symmetric, a Galerkin basis that contains j of them matches 2 j moments. K, M and the shapes are real: structural
damping only moves the shift and does not change the span.

Automatic shifts are placed at the frequency of the largest error, with the combinations of inputs whose error is
largest there. Both are found on the reference response (`reduction.error.reference_response`), without a factorisation;
the shapes are then solved for on the full model.

Sources: Grimme, Krylov projection methods for model reduction (thesis, Illinois, 1997); Lehner and Eberhard, "A
two-step approach for model reduction in flexible multibody dynamics", Multibody Syst. Dyn. 17 (2007) 157-176; Druskin,
Simoncini and Zaslavsky, "Adaptive tangential interpolation in rational Krylov subspaces for MIMO dynamical systems",
SIAM J. Matrix Anal. Appl. 35 (2014) 476-498.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh, null_space

from fem.axes.limits import floats, is_whole
from fem.errors import MatrixError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import (
    Band,
    Load,
    ReductionContext,
    SizeSpec,
    build,
    reduction_context,
    size_spec,
    static_responses,
)
from reduction.error.reference_response import ReferenceResponse
from reduction.error.response_error import relative_error
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, ShapeSequence
from reduction.solutions.condensed import condense
from reduction.solutions.orthonormal import DEFLATION, new_directions
from reduction.solutions.statics import elastic

OFF_RESONANCE = 1e-4
"""A shift this close, relatively, to a natural frequency of the reference response is moved away by as much: K - sigma
M is singular there."""

TOGETHER = 0.1
"""Combinations of inputs whose error is at least this fraction of the largest are taken at the same shift: a tenth more
shapes, a third fewer factorisations."""


@register_reduction(
    "krylov",
    coordinates="p + shapes",
    exact_for="all inputs",
    cost="a factorisation for each shift but 0",
    needs_inputs=True,
)
@renamed(tol="tolerance", attached_to="reference_frame")
def krylov(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
    shifts: Sequence[float | int] | None = None,
    moments: int = 2,
    static: bool = True,
) -> Basis:
    """Rational Krylov basis.

    One of the following determines its size:

    - `band = (0, f)` with `tolerance` (default 1 %): shifts and directions are placed where the error is largest, until
      the error is below `tolerance` over the band;
    - `modes` with a band: this number of shapes, placed in the same way; without a band: the first moments at frequency
      0, in blocks;
    - `shifts`: frequencies (cycles per unit of time), with `moments` blocks of p shapes at each.

    With `static` (default) the static responses to all inputs come first, m = p + shapes, so that static loads are
    exact. `reference_frame`, `inputs`: see `craig_bampton` and `resolve_inputs`. Cost: a factorisation for each shift
    other than 0 (adaptive placement needs about one for each natural frequency in the band), and p solves for each
    moment of a block.

    Raises the errors of `craig_bampton`, and `MatrixError` when shifts are given together with modes or a tolerance, or
    for a part without interfaces and inputs.
    """
    if not is_whole(moments):
        raise MatrixError(f"A whole number of moments is matched at each shift; found moments={moments!r}.")
    if shifts is not None and (modes is not None or tolerance is not None):
        raise MatrixError("Give shifts and moments, or let modes or tolerance place them; not both.")
    spec = size_spec(modes if shifts is None else 0, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame)
    if not context.inputs.deforming.labels:
        raise MatrixError(
            f"Model {model.name!r} has no interface and no inputs, and Krylov shapes are responses to inputs; add "
            "some, or use modal()."
        )
    if shifts is not None:
        made = moment_sequence(context, floats(shifts), moments, static)
        spec = SizeSpec(made.shapes.shape[1], band, None)
    elif context.reference is None:
        p, left = len(context.inputs.deforming.labels), spec.modes or 0
        made = moment_sequence(context, np.zeros(1), -(-left // p) + (1 if static else 0), static)
    else:
        return build(context, spec, "Krylov", krylov_shape_generator(context, spec, static), reference_frame)
    given = {"shifts": [0.0] if shifts is None else [float(f) for f in shifts]}
    return build(context, spec, "Krylov", lambda _: made, reference_frame, **given)


@dataclass(frozen=True, eq=False)
class _Step:
    """One shape: the response at `frequency` to the loads `direction` (p,)."""

    frequency: float
    direction: Float[np.ndarray, " p"]


def krylov_shape_generator(context: ReductionContext, spec: SizeSpec, static: bool = True) -> ShapeGenerator:
    """Static responses, then the responses of the adaptive placement. A longer sequence extends the shorter one."""
    reference, first = context.required_reference, static_responses(context, static)
    condensed = condense(context.body)
    solved: list[np.ndarray] = []

    def generate(count: int | None) -> ShapeSequence:
        steps = _placed(reference, static, count or len(reference.eigenvalues), spec.tolerance)
        for frequency, group in groupby(steps[len(solved) :], key=lambda step: step.frequency):
            loads = reference.inputs.loads @ np.column_stack([step.direction for step in group])
            with condensed.dynamic(1.0, -((2 * np.pi * frequency) ** 2)) as solve:
                solved.extend(solve(loads).T)
        shapes = np.column_stack(solved) if solved else np.zeros((context.model.ndof, 0))
        squares = np.array([(2 * np.pi * step.frequency) ** 2 for step in steps])
        return ShapeSequence(first, shapes, count is None or len(steps) < count, "response", squares)

    return generate


def surrogate_shape_generator(context: ReductionContext, spec: SizeSpec, static: bool = True) -> ShapeGenerator:
    """The sequence of `krylov_shape_generator` with shapes from the span of the reference response: an estimate of the
    size without a factorisation."""
    reference, first = context.required_reference, static_responses(context, static)

    def generate(count: int | None) -> ShapeSequence:
        steps = _placed(reference, static, count or len(reference.eigenvalues), spec.tolerance)
        small = [_response(reference, step.frequency) @ step.direction for step in steps]
        shapes = reference.shapes @ np.column_stack(small) if small else np.zeros((context.model.ndof, 0))
        squares = np.array([(2 * np.pi * step.frequency) ** 2 for step in steps])
        return ShapeSequence(first, shapes, count is None or len(steps) < count, "response", squares)

    return generate


def _placed(reference: ReferenceResponse, static: bool, count: int, tolerance: float | None) -> list[_Step]:
    """Up to `count` steps, fewer when the error falls below half of `tolerance` or nothing new is found.

    Works on the reference response alone.
    """
    eigenvalues, rows = reference.eigenvalues, reference.rows
    unit = np.eye(len(eigenvalues))
    exact = len(rows) - reference.corrected
    V = _orthonormal(unit[:, :0], _response(reference, 0.0)[:, :exact]) if static else unit[:, :0]
    natural = np.sqrt(eigenvalues) / (2 * np.pi)
    steps: list[_Step] = []
    goal = 0.0 if tolerance is None else 0.5 * tolerance
    while len(steps) < count:
        values, W = eigh(V.T @ (eigenvalues[:, None] * V)) if V.shape[1] else (np.zeros(0), unit[:0, :0])
        reduced = rows @ V @ W
        grid = reference.grid(values)
        errors = relative_error(reference, values, reduced, grid)
        if errors.max() <= goal:
            break
        for k in np.argsort(-errors)[:20]:
            f = float(grid[k])
            difference = reference.response(grid[[k]])[0] - reference.of_reduced(values, reduced, grid[[k]])[0]
            directions = _strongest(difference)
            nearest = natural[np.abs(natural - f).argmin()]
            if abs(f - nearest) < OFF_RESONANCE * nearest:
                f = float(nearest * (1 + OFF_RESONANCE))
            before = V.shape[1]
            for direction in directions:
                new = _orthonormal(V, _response(reference, f) @ direction[:, None])
                if new.shape[1]:
                    V = np.hstack([V, new])
                    steps.append(_Step(f, direction))
            if V.shape[1] > before:
                break
        else:
            break
    return steps[:count]


def _response(reference: ReferenceResponse, frequency: float) -> np.ndarray:
    """Undamped response (N, p) in the coordinates of the reference response."""
    return reference.rows.T / (reference.eigenvalues - (2 * np.pi * frequency) ** 2)[:, None]


def _strongest(H: np.ndarray) -> list[np.ndarray]:
    """The real combinations of inputs whose error is largest, nearly: leading right singular vectors, turned to be as
    real as they can be."""
    _, strength, right = np.linalg.svd(H)
    found = []
    for vector in right[strength >= TOGETHER * strength[0]].conj():
        turned = (vector * np.exp(-0.5j * np.angle(np.sum(vector**2)))).real
        found.append(turned / np.linalg.norm(turned))
    return found


def _orthonormal(V: np.ndarray, X: np.ndarray) -> np.ndarray:
    return new_directions(np.eye(len(X)), V, V, X)[0]


def moment_sequence(
    context: ReductionContext, shifts: Float[np.ndarray, " k"], moments: int, static: bool
) -> ShapeSequence:
    """Static responses and the first `moments` blocks at each shift, one moment after the other, without what is in the
    span already."""
    if shifts.ndim != 1 or not len(shifts) or not (np.isfinite(shifts).all() and shifts.min() >= 0):
        raise MatrixError(f"Shifts are frequencies, finite and not negative; found {shifts.tolist()}.")
    if moments < (0 if static else 1):
        raise MatrixError(f"At least one moment is matched at each shift; found moments={moments!r}.")
    body, model = context.body, context.model
    condensed, first = condense(body), static_responses(context, static)
    Z, MZ = np.hstack([body.R, first]), np.hstack([body.MR, model.M @ first])
    for frequency in shifts:
        local, Mlocal = body.R, body.MR  # Arnoldi within the shift: its recurrence must not lose what other shifts hold
        loads = context.inputs.deforming.loads
        with condensed.dynamic(1.0, -((2 * np.pi * frequency) ** 2)) as solve:
            for _ in range(moments):
                X, MX = new_directions(model.M, local, Mlocal, solve(loads))
                local, Mlocal, loads = np.hstack([local, X]), np.hstack([Mlocal, MX]), MX
        Q, MQ = new_directions(model.M, Z, MZ, local[:, 6:])
        turn = _in_order(MQ.T @ local[:, 6:])
        Q, MQ = Q @ turn, MQ @ turn
        Z, MZ = np.hstack([Z, Q]), np.hstack([MZ, MQ])
    return ShapeSequence(first, elastic(body, Z[:, 6 + first.shape[1] :]), True, "moment")


def _in_order(coordinates: Float[np.ndarray, "q m"]) -> Float[np.ndarray, "q q"]:
    """An orthogonal matrix whose leading columns span what the leading columns of `coordinates` do."""
    first = np.zeros((len(coordinates), 0))
    for column in coordinates.T:
        for _ in range(2):
            column = column - first @ (first.T @ column)
        if (length := np.linalg.norm(column)) > DEFLATION:
            first = np.column_stack([first, column / length])
    return np.hstack([first, null_space(first.T)])
