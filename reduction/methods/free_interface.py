"""Methods of free natural modes: Craig-Chang (Rubin) and Herting."""

from collections.abc import Sequence

import numpy as np

from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, build, reduction_context, size_spec, static_responses
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, free_modes, static_shapes
from reduction.solutions.fixed_interfaces import constraint_modes, fix_interfaces, fixed_interface_displacement


@register_reduction("craig-chang", coordinates="p + modes", exact_for="all inputs", cost="p solves, 5 a mode")
@renamed(tol="tolerance", attached_to="reference_frame")
def craig_chang(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
) -> Basis:
    """Free natural modes and the static response of the free body to each input (residual attachment): m = p + modes.

    - `modes`: number of free modes, default 20. Or `band = (0, f)` with `tolerance`: the smallest number whose response
      error over the band is below `tolerance`.
    - `reference_frame`, `inputs`: see `craig_bampton` and `resolve_inputs`.

    The span is that of Rubin's and of Craig and Chang's method with the mass of the residual shapes included; primal or
    dual assembly (interface motions or forces as unknowns) does not change it. Static loads at every input are exact,
    inertia relief included.

    Raises the errors of `craig_bampton`, and ConvergenceError when a tolerance is not reached. Cost: one factorisation,
    p solves and 4 to 5 solves for each mode.

    Sources: Rubin, AIAA J. 13 (1975) 995-1006; Craig and Chang, "On the use of attachment modes in substructure
    coupling", AIAA 77-405 (1977).
    """
    spec = size_spec(modes, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame)
    return build(context, spec, "Craig-Chang", craig_chang_shape_generator(context), reference_frame)


def craig_chang_shape_generator(context: ReductionContext) -> ShapeGenerator:
    """Static responses to the inputs, then free modes."""
    return free_modes(context.body, context.reference, static_responses(context))


@register_reduction(
    "herting", coordinates="6 ni + modes", exact_for="all loads at interfaces", cost="6 solves an interface, 5 a mode"
)
@renamed(tol="tolerance", attached_to="reference_frame")
def herting(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
) -> Basis:
    """Constraint modes, inertia-relief shapes and free natural modes: m = 6 (ni - 1) + 6 + modes.

    The inertia-relief shapes are the response with fixed interfaces to uniform and rotational acceleration. Static
    loads at the interfaces are exact, inertia relief included. The arguments are those of `craig_chang`; for inputs
    that are not interfaces the basis contains the static response with fixed interfaces.

    Source: Herting, "A general purpose, multi-stage, component modal synthesis method", Finite Elem. Anal. Des. 1
    (1985) 153-164.
    """
    spec = size_spec(modes, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame)
    return build(context, spec, "Herting", herting_shape_generator(context), reference_frame)


def herting_shape_generator(context: ReductionContext) -> ShapeGenerator:
    """Constraint modes, inertia relief, other inputs; then free modes."""
    fixed = fix_interfaces(context.body)
    loads = np.hstack([context.body.MR, context.inputs.others])
    first = static_shapes(
        context.body, np.hstack([constraint_modes(fixed)[:, 6:], fixed_interface_displacement(fixed, loads)])
    )
    return free_modes(context.body, context.reference, first)
