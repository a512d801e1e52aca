"""Craig-Bampton: exact static response to interface loads, and modes with all interfaces fixed."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from fem.errors import InterfaceError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, SizeSpec, build, reduction_context, size_spec
from reduction.error.inputs import inertia_loads
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, ShapeSequence, static_shapes, vibration
from reduction.solutions.fixed_interfaces import constraint_modes, fix_interfaces, fixed_interface_displacement
from reduction.solutions.statics import elastic
from reduction.solutions.vibration import fixed_vibration

BAND_FACTOR = 2.0
"""A band (0, f) keeps the fixed-interface modes up to this multiple of f: measured on four parts, natural frequencies
then come within 3 % at the edge of the band and 0.5 % in its lower half (with 1.5: 9 %; with 3 and twice the modes:
0.6 %)."""


@register_reduction(
    "craig-bampton",
    coordinates="6 (ni - 1) + modes",
    exact_for="balanced loads at interfaces",
    cost="6 solves an interface, 5 a mode",
    needs_inputs=True,
)
@renamed(tol="tolerance", attached_to="reference_frame")
def craig_bampton(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
) -> Basis:
    """Craig-Bampton basis of a free body: m = 6 (ni - 1) + modes elastic coordinates for ni interfaces.

    - `modes`: number of fixed-interface modes, default 20; 0 keeps the static shapes alone (Guyan).
    - `band = (0, f)`: instead of a number, the fixed-interface modes up to 2 f (cycles per unit of time). With
      `tolerance` as well: the smallest number whose response error over the band is below it. With a band the error
      over it is measured (see `response_error`).
    - `reference_frame`: the interface to which the body frame is attached, where all shapes vanish; None: mean axes.
    - `inputs`: the loads for which the error is measured, default all interfaces. For other loads ("gravity",
      "rotation", arrays) the basis also contains the static response with fixed interfaces (modal truncation
      augmentation); with "rotation" also that to the six accelerations of the rigid body, so that stresses of rotation
      about any axis are exact.

    The span contains the exact static response to all self-equilibrated loads at the interfaces. Together with the six
    rigid motions, which are removed at the end, it is the span of the classical method. Natural frequencies of the free
    body converge from above. A rigid interface is rigid in the full model too (RBE2). An average interface has the
    static shapes of least strain energy with the given mean motion, and fixed-interface modes with zero mean motion.

    Raises InterfaceError (no interface, unknown name, interfaces that depend on each other), MatrixError (too many
    modes, a body in several parts, unusable matrices), FactorisationError, ConvergenceError (tolerance not reached).
    Cost: one factorisation of K, 6 ni solves, and 4 to 5 solves for each mode; with a band, those of
    `reduction.error.reference_response`.

    Sources: Craig and Bampton, "Coupling of substructures for dynamic analyses", AIAA J. 6 (1968) 1313-1319; removal of
    rigid motions: Yoo and Haug, J. Mech. Trans. Autom. Des. 108 (1986) 315-322; augmentation: Dickens, Nakagawa and
    Wittbrodt, Comput. Struct. 62 (1997) 985-998.
    """
    if not model.interfaces:
        raise InterfaceError(
            f"Model {model.name!r} has no interface, and Craig-Bampton needs one: add it with "
            "model.with_interfaces(name=...), or use modal()."
        )
    spec = size_spec(modes, band, tolerance, least=0, own_rule=True)
    context = reduction_context(model, spec, inputs, reference_frame)
    return build(context, spec, "Craig-Bampton", craig_bampton_shape_generator(context, spec), reference_frame)


@register_reduction(
    "guyan",
    coordinates="6 (ni - 1)",
    exact_for="balanced loads at interfaces",
    cost="6 solves an interface",
    needs_inputs=True,
)
@renamed(attached_to="reference_frame")
def guyan(
    model: Model, reference_frame: str | None = None, *, band: Band | None = None, inputs: Sequence[Load] | None = None
) -> Basis:
    """Static shapes of the interfaces alone (Guyan, AIAA J. 3 (1965) 380): `craig_bampton` without vibration modes,
    m = 6 (ni - 1).

    `band`, `inputs`: what the error is measured over and for, as there.
    """
    return craig_bampton(model, 0, reference_frame, band=band, inputs=inputs)


def craig_bampton_shape_generator(context: ReductionContext, spec: SizeSpec) -> ShapeGenerator:
    """Constraint modes, static responses to other inputs; then fixed-interface modes."""
    body = context.body
    fixed = fix_interfaces(body)
    inverse = partial(fixed_interface_displacement, fixed)
    static = static_shapes(
        body, constraint_modes(fixed)[:, 6:]
    )  # with the rigid motions, those of the first interface follow
    others = context.inputs.others
    if context.inputs.rotation:
        others = np.hstack([context.inputs.deforming.others, inertia_loads(context.model)])
    if others.shape[1]:
        static = static_shapes(body, np.hstack([static, inverse(others)]))
    cutoff = 0.0 if spec.band is None else BAND_FACTOR * spec.band[1]

    def generate(count: int | None) -> ShapeSequence:
        values, shapes, complete, after = vibration(fixed_vibration(fixed), count, cutoff)
        return ShapeSequence(static, elastic(body, shapes), complete, "fixed-interface mode", values, after)

    return generate
