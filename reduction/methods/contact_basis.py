"""Shapes for contact: modes with the surfaces at rest, released.

The modes Phi of a part whose surfaces are held, with eigenvalues L, and the static shapes Psi_c of the held nodes c
span the motion in contact. The nodes c lose their mass: they follow the modes,

    u_c = (K_cc + P^T L P)^-1 P^T L y,    P = Phi^T M Psi_c,    K_cc = Psi_c^T K Psi_c
    u = Phi (y - P u_c) + Psi_c u_c

This leaves one combination for each mode. They need neither Psi_c nor K_cc: as `Phi L^-1` is the held response to the
inertia forces M Phi, and `Psi_c P^T` what their reactions add when the nodes are let go,

    span(u) = span(R, G M Phi w),    (R^T M Phi) w = 0

with G the response of the free part (inertia relief) and R its rigid motions: *the static responses of the free part
to the inertia forces of the modes held at the surfaces*, in balanced combinations. One solve for each mode. The shapes
of the interfaces are added, and the result is a Ritz basis with the mass of the part.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.linalg import null_space

from fem.errors import MatrixError
from fem.linear_algebra.eigen import lowest_modes
from fem.model import Model
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, build, reduction_context, size_spec, static_responses
from reduction.error.reference_frame import diagonalise
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, ShapeSequence, outside, static_shapes
from reduction.solutions.held_surfaces import held_displacement, hold_surfaces
from reduction.solutions.statics import inertia_relief_solution

DEFAULT = 24
BALANCED = 1e-6
"""Resultant of a combination of inertia forces, relative to the largest, at which it is balanced. Where symmetry leaves
modes without resultants, there are more balanced combinations than modes less rigid motions."""


@register_reduction(
    "contact", coordinates="p + modes", exact_for="all inputs", cost="3 solves a surface node, 16 a mode"
)
def contact_basis(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band | None = None,
    inputs: Sequence[Load] | None = None,
    frictionless: bool = False,
) -> Basis:
    """Basis of a part that touches others at its surfaces: m = p + modes elastic coordinates.

        part = fem.Model(mesh, steel).with_interfaces(bore="BORE").with_surfaces(teeth="TEETH")
        gear = flexmb.flexible_body(part, reduction.contact_basis(part, modes=24))

    - `modes`: number of shapes for the contact, default 24: modes with all surfaces of the model at rest, released.
    - `band = (0, f)`: what the error at the inputs is measured over (see `response_error`).
    - `frictionless`: the surfaces are held along their normals only, for contact without friction.
    - `reference_frame`, `inputs`: see `craig_bampton`. The static responses to the inputs, by default all interfaces,
      are in the basis; those to forces at the surfaces come from the residual compliance of the body.

    A body that a wall stops vibrates as one that is held there. For a bar that hits a wall, 9 of these shapes give the
    contact force with a tenth of the error of 9 free modes; where the contact is a small part of the motion both are
    alike.

    Raises `MatrixError` for a model without surfaces or with nodes on its surfaces only, and the errors of
    `craig_chang`. Cost: one factorisation, 3 solves for each node of the surfaces, which the residual compliance then
    takes over, and 16 for each mode.

    Source of the massless elimination: Khenous, Laborde and Renard, "Mass redistribution method for finite element
    contact problems in elastodynamics", Eur. J. Mech. A 27 (2008) 918-932, here in the space of the modes.
    """
    if not model.surfaces:
        raise MatrixError(
            f"Model {model.name!r} has no surface, and a basis for contact holds those; add one with "
            "model.with_surfaces(name=...), or use craig_chang()."
        )
    spec = size_spec(DEFAULT if modes is None else modes, band, None, least=1)
    context = reduction_context(model, spec, inputs, reference_frame)
    return build(
        context, spec, "contact", contact_shape_generator(context, frictionless, required=True), reference_frame,
        frictionless=frictionless,
    )  # fmt: skip


def contact_shape_generator(
    context: ReductionContext, frictionless: bool = False, required: bool = False
) -> ShapeGenerator:
    """Static responses to the inputs; then released modes of the part with its surfaces at rest, in the order of their
    frequencies as modes of the free part, without those that a part of symmetric shape or of few nodes has among the
    static responses. Raises MatrixError where there are none and they are `required`."""
    body, model = context.body, context.model
    first = static_responses(context)
    held = hold_surfaces(body, frictionless)
    r = held.R1.shape[1]

    def generate(count: int | None) -> ShapeSequence:
        wanted = min((DEFAULT if count is None else count) + r, held.modes_available)
        if wanted <= r and required:
            raise MatrixError(
                f"Model {model.name!r}: with all nodes of its surfaces ({', '.join(map(repr, model.surfaces))}) held, "
                f"no node is left to move: they hold {held.D.shape[1]} of {model.ndof} dofs, and there are no modes to "
                "release. Leave faces out of the surfaces, refine the mesh across the part, or take craig_chang(), "
                "which needs no held nodes."
            )
        if wanted <= r:
            return ShapeSequence(first, np.zeros((model.ndof, 0)), True, "released mode")
        while True:
            Phi = lowest_modes(partial(held_displacement, held), model.M, wanted).vectors
            loads = model.M @ Phi
            balanced = null_space(held.R1.T @ loads, rcond=BALANCED)
            shapes, values = diagonalise(model, static_shapes(body, inertia_relief_solution(body, loads @ balanced)))
            new, complete = outside(model, first, shapes), wanted == held.modes_available
            missing = 0 if count is None else count - int(new.sum())
            if complete or missing <= 0:
                return ShapeSequence(first, shapes[:, new], complete, "released mode", values[new])
            wanted = min(wanted + missing, held.modes_available)

    return generate
