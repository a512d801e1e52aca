"""Modal reduction: the lowest natural modes of the free body."""

from collections.abc import Sequence

import numpy as np

from fem.errors import MatrixError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, SizeSpec, build, reduction_context, size_spec
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, ShapeSequence, free_modes, static_shapes
from reduction.solutions.statics import inertia_relief_solution


@register_reduction("modal", coordinates="modes", exact_for="nothing", cost="5 solves a mode")
@renamed(tol="tolerance", attached_to="reference_frame")
def modal(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
) -> Basis:
    """The lowest elastic modes of the free body, m = modes.

    - `modes`: default 20. Or `band = (0, f)`: all natural frequencies up to f (cycles per unit of time). With
      `tolerance` as well: the smallest number whose response error over the band is below it. With a band the error
      over it is measured (see `response_error`).
    - `reference_frame`: None: mean axes, in which the natural modes are given. An interface: each mode less the rigid
      motion of that interface, orthonormalised again; the frequencies are then those of the truncated body fixed there.
    - `inputs`: the loads for which the error is measured, default all interfaces. For other loads the basis also
      contains the static response (modal truncation augmentation).

    The frequencies are exact, the static response at the interfaces is not: for bodies driven through their interfaces
    Craig-Bampton converges faster. Rigid interfaces stiffen the full model and the reduced one alike (RBE2).

    Raises MatrixError (too many modes, none in the band, a body in several parts, unusable matrices), InterfaceError
    (unknown name), FactorisationError, ConvergenceError. Cost: one factorisation of K, 4 to 5 solves for each mode.
    """
    spec = size_spec(modes, band, tolerance, least=1, own_rule=True)
    context = reduction_context(model, spec, inputs, reference_frame)
    return build(context, spec, "modal", modal_shape_generator(context, spec), reference_frame)


def modal_shape_generator(context: ReductionContext, spec: SizeSpec) -> ShapeGenerator:
    """Static responses to inputs that are no interface; then free modes."""
    body, model, others = context.body, context.model, context.inputs.deforming.others
    first = static_shapes(body, inertia_relief_solution(body, others)) if others.shape[1] else np.zeros((model.ndof, 0))
    cutoff = 0.0 if spec.band is None else spec.band[1]
    modes = free_modes(body, context.reference, first, cutoff)

    def generate(count: int | None) -> ShapeSequence:
        found = modes(count)
        if count is None and found.shapes.shape[1] == 0:
            raise MatrixError(
                f"Model {model.name!r} has no elastic natural frequency up to {cutoff:.4g}; raise the band."
            )
        return found

    return generate
