"""Gramian reduction: the shapes with the largest mean response to the inputs over a band.

The position Gramian over a band is the mean of all responses,

    P = 1 / f_max  int_0^f_max  Re( X(f) X(f)^H ) df,      X = ((1 + i eta) K - omega^2 M)^-1 F

and the best m shapes for it in the kinetic-energy norm are the leading eigenvectors of `P M`. For a symmetric system
(outputs where the inputs act) the velocity observability Gramian is `M P M`, so this is balanced truncation of position
against velocity, and the eigenvalues of P M are its Hankel-type singular values over the band.

The integral uses the reference response (`reduction.error.reference_response`), whose error over the band is bounded.
Its adaptive quadrature needs no further factorisation, while the classical method factorises the dynamic stiffness at
every quadrature frequency.

Sources: Lehner and Eberhard, Multibody Syst. Dyn. 17 (2007) 157-176; Fehr and Eberhard, "Simulation process of flexible
multibody systems with non-modal model order reduction techniques", Multibody Syst. Dyn. 25 (2011) 313-334; Reis and
Stykel, "Balanced truncation model reduction of second-order systems", Math. Comput. Model. Dyn. Syst. 14 (2008)
391-406.
"""

from collections.abc import Sequence

import numpy as np
import scipy
from jaxtyping import Float
from scipy.linalg import eigh

from fem.errors import MatrixError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, ReductionContext, build, reduction_context, size_spec, static_responses
from reduction.error.reference_response import ReferenceResponse
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeGenerator, ShapeSequence

QUADRATURE = 1e-6
"""Relative accuracy of the Gramian's quadrature."""


@register_reduction(
    "gramian", coordinates="p + shapes", exact_for="all inputs", cost="the reference response", needs_inputs=True
)
@renamed(tol="tolerance", attached_to="reference_frame")
def gramian(
    model: Model,
    modes: int | None = None,
    reference_frame: str | None = None,
    *,
    band: Band,
    tolerance: float | None = None,
    inputs: Sequence[Load] | None = None,
    static: bool = True,
) -> Basis:
    """Basis of the leading shapes of the position Gramian over `band = (0, f)`: m = modes, plus p with `static`.

    - `modes`: number of shapes beyond the static ones. Or `tolerance` (default 1 %): the smallest number whose response
      error over the band is below it.
    - `static` (default): the static responses to all inputs come first, and the Gramian orders the remainder; static
      loads are then exact.
    - `reference_frame`, `inputs`: see `craig_bampton` and `resolve_inputs`.

    The options of the basis contain the singular values. Cost: one factorisation, the reference response, and dense
    problems of its size.

    Raises the errors of `craig_bampton`, and `MatrixError` without a band or for a part without interfaces and inputs.
    """
    if band is None:
        raise MatrixError("A Gramian needs the band=(0, f) it is taken over.")
    spec = size_spec(modes, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame)
    if not context.inputs.deforming.labels:
        raise MatrixError(
            f"Model {model.name!r} has no interface and no inputs, and Gramian shapes are responses to inputs; add "
            "some, or use modal()."
        )
    P = position_gramian(context.required_reference)
    return build(
        context,
        spec,
        "Gramian",
        gramian_shape_generator(context, P, static),
        reference_frame,
        singular_values=singular_values(P),
    )


def gramian_shape_generator(
    context: ReductionContext, P: Float[np.ndarray, "N N"], static: bool = True
) -> ShapeGenerator:
    """Static responses, then eigenvectors of what they leave of the Gramian P, strongest first."""
    reference, first = context.required_reference, static_responses(context, static)
    inside = reference.shapes.T @ (context.model.M @ first)
    left = np.eye(len(P)) - inside @ inside.T
    P = left @ P @ left
    _, vectors = eigh(P)
    count = len(P) - first.shape[1]
    made = ShapeSequence(first, reference.shapes @ vectors[:, ::-1][:, :count], True, "Gramian shape")
    return lambda _: made


def position_gramian(reference: ReferenceResponse) -> Float[np.ndarray, "N N"]:
    """P in the M-orthonormal coordinates of the reference response, by adaptive quadrature between the natural
    frequencies."""
    eigenvalues, rows = reference.eigenvalues, reference.rows

    def integrand(f: float) -> np.ndarray:
        a = 1 / (eigenvalues * (1 + 1j * reference.loss_factor) - (2 * np.pi * f) ** 2)
        return (a[:, None] * a.conj()).real

    natural = np.sqrt(eigenvalues[eigenvalues < (2 * np.pi * reference.band) ** 2]) / (2 * np.pi)
    points = np.unique(natural)
    mean, _ = scipy.integrate.quad_vec(
        integrand, 0.0, reference.band, epsrel=QUADRATURE, norm="max", points=points, limit=10000
    )
    return (rows.T @ rows) * mean / reference.band


def singular_values(P: Float[np.ndarray, "N N"]) -> Float[np.ndarray, " N"]:
    """Hankel-type singular values over the band, descending: the eigenvalues of P M, for P in M-orthonormal
    coordinates."""
    return np.maximum(np.linalg.eigvalsh(P)[::-1], 0.0)
