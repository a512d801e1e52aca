"""Second-order IRKA: shapes that satisfy, as far as a one-sided basis can, the first-order conditions of H2 optimality.

An H2-optimal reduced model interpolates the full one at the mirror images of its own poles, in the directions of its
own residues. The iteration takes poles and residues from the last reduced model until they converge. Each step needs
the response at complex frequencies. It is taken from the model of the reference response
(`reduction.error.reference_response`), as in the confined iteration of Castagnotto, Panzer and Lohmann, so that
intermediate shifts cost no factorisation. Each complex response contributes the one real shape that contains most of
it, which keeps the reduced model symmetric and of second order.

Sources: Gugercin, Antoulas and Beattie, SIAM J. Matrix Anal. Appl. 30 (2008) 609-638; Wyatt, Issues in interpolatory
model reduction (thesis, Virginia Tech, 2012), second-order systems; Castagnotto, Panzer and Lohmann, "Fast H2-optimal
model order reduction exploiting the local nature of Krylov-subspace methods", ECC 2016.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from fem.errors import MatrixError
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import Band, Load, build, reduction_context, size_spec, static_responses
from reduction.error.reference_response import ReferenceResponse
from reduction.method import register_reduction
from reduction.shape_sequence import ShapeSequence
from reduction.solutions.orthonormal import new_directions

ITERATIONS, SETTLED = 100, 1e-6
"""Iterations at most, and the relative change of the reduced eigenvalues that ends them."""


@register_reduction(
    "irka", coordinates="p + shapes", exact_for="all inputs", cost="the reference response", needs_inputs=True
)
@renamed(attached_to="reference_frame")
def irka(
    model: Model,
    modes: int,
    reference_frame: str | None = None,
    *,
    band: Band,
    inputs: Sequence[Load] | None = None,
    static: bool = True,
) -> Basis:
    """Basis of `modes` shapes by the H2-type iteration, plus p static ones with `static`.

    `band = (0, f)`: the band over which the reference response, on which the iteration works, is accurate; its
    structural damping becomes viscous damping of each mode. The options of the basis contain the number of iterations
    and whether they converged; the error over the band is measured in either case. Cost: the reference response.

    Raises `MatrixError` without a band, for a part without interfaces and inputs, and for more shapes than the band
    needs.
    """
    if band is None:
        raise MatrixError("IRKA needs a band=(0, f): it works on the reference response over it.")
    if modes is None:
        raise MatrixError("IRKA needs the number of shapes, modes=.")
    spec = size_spec(modes, band, None, least=1)
    context = reduction_context(model, spec, inputs, reference_frame)
    reference = context.reference
    if reference is None or not context.inputs.deforming.labels:
        raise MatrixError(
            f"Model {model.name!r} has no interface and no inputs to interpolate; add some, or use modal()."
        )
    if modes > len(reference.eigenvalues) - (len(context.inputs.deforming.labels) if static else 0):
        raise MatrixError(
            f"Model {model.name!r}: {modes} shapes are more than the band needs; ask for fewer, or raise the band."
        )
    first = static_responses(context, static)
    X, iterations, settled = h2_shapes(reference, reference.shapes.T @ (model.M @ first), modes)
    made = ShapeSequence(first, reference.shapes @ X, True, "H2 shape")
    return build(context, spec, "IRKA", lambda _: made, reference_frame, iterations=iterations, settled=int(settled))


def h2_shapes(
    reference: ReferenceResponse, held: Float[np.ndarray, "N s"], count: int
) -> tuple[Float[np.ndarray, "N r"], int, bool]:
    """Shapes in the reference response's coordinates, orthonormal to those `held`; iterations; whether they settled."""
    eigenvalues, rows = reference.eigenvalues, reference.rows
    omega, ratio = np.sqrt(eigenvalues), reference.loss_factor / 2
    unit = np.eye(len(eigenvalues))
    weight = (rows**2).sum(axis=0) / omega**3
    chosen = np.sort(np.argsort(-weight)[:count])
    V = _extended(held, unit[:, chosen], count)
    last, iterations, settled = np.zeros(count), 0, False
    while not settled and iterations < ITERATIONS:
        iterations += 1
        basis = np.hstack([held, V])
        values, W = eigh(basis.T @ (eigenvalues[:, None] * basis))
        reduced, natural = rows @ basis @ W, np.sqrt(values)
        kept = np.sort(np.argsort(-(reduced**2).sum(axis=0) / natural**3)[:count])
        shapes = []
        for k in kept:
            s = natural[k] * (ratio + 1j * np.sqrt(1 - ratio**2))
            x = (rows.T @ reduced[:, k]) / (eigenvalues + 2 * ratio * omega * s + s**2)
            shapes.append(np.linalg.svd(np.column_stack([x.real, x.imag]), full_matrices=False)[0][:, 0])
        V = _extended(held, np.column_stack(shapes), count)
        settled = bool((np.abs(values[kept] - last) <= SETTLED * values[kept]).all())
        last = values[kept]
    return V, iterations, settled


def _extended(held: np.ndarray, U: np.ndarray, count: int) -> np.ndarray:
    """`count` orthonormal directions beside `held`: those of U, and unit vectors where U holds fewer."""
    unit = np.eye(len(U))
    V = new_directions(unit, held, held, U)[0]
    if V.shape[1] < count:
        space = np.hstack([held, V])
        V = np.hstack([V, new_directions(unit, space, space, unit[:, : count + held.shape[1]])[0]])
    return V[:, :count]
