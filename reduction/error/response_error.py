"""The relative error of a reduced body's response over a band, against the reference response.

`ResponseError.relative` bounds the error of the reduction from above, because it includes the error bound of the
reference response, whose derivation is in `reduction.error.reference_response`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from fem.errors import MatrixError
from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from reduction.basis import Basis
from reduction.error.contact_loads import require_surfaces
from reduction.error.inputs import acting_loads
from reduction.error.reference_frame import diagonalise
from reduction.error.reference_response import LOSS_FACTOR, ReferenceResponse, reference_response
from reduction.solutions.statics import elastic, statics

SHARE = 0.02
"""The part of a tolerance that the reference response's own bound may take."""


@dataclass(frozen=True, eq=False)
class ResponseError:
    """`||H - H_r|| / ||H||` (Frobenius) of the elastic transfer matrix between all inputs, with structural damping.

    - `relative` (f,): the error plus the bound of the reference response; the true error lies between
      `relative - 2 bound` and `relative`.
    - `bound` (f,), relative; `magnitude`, `reduced_magnitude` (f,): Frobenius norms of H and H_r.
    - `by_input`: for each input the largest error of its column over the band, relative to that column.

    Frequencies are in cycles per unit of time.
    """

    name: str
    frequencies: Float[np.ndarray, " f"]
    relative: Float[np.ndarray, " f"]
    bound: Float[np.ndarray, " f"]
    magnitude: Float[np.ndarray, " f"]
    reduced_magnitude: Float[np.ndarray, " f"]
    by_input: dict[str, float]
    loss_factor: float

    @property
    def worst(self) -> float:
        """Largest relative error over the band."""
        return float(self.relative.max())

    @property
    def at(self) -> float:
        """The frequency of the largest error."""
        return float(self.frequencies[self.relative.argmax()])

    def __str__(self) -> str:
        label, value = max(self.by_input.items(), key=lambda item: item[1])
        return (
            f"{self.name}: response over (0, {self.frequencies[-1]:.5g}) within {self.worst:.2g} of the full model (at "
            f"{self.at:.5g}; known to {self.bound.max():.0e}; worst input {label}: {value:.2g})"
        )


@one_openblas_thread()
def response_error(
    model: Model,
    basis: Basis,
    band: tuple[float | int, float | int],
    inputs: Sequence[str | np.ndarray] | None = None,
    *,
    tolerance: float = 1e-3,
    loss_factor: float = LOSS_FACTOR,
    contacts: Sequence[str] = (),
) -> ResponseError:
    """Measure the error of the elastic response of `basis` to its inputs over `band = (0, f)`, relative to the full
    model.

    - `inputs`: see `resolve_inputs`; default: all interfaces. The forces of dampers between nodes of the part are
      inputs, too.
    - `tolerance`: relative accuracy of the reference response (see `reduction.error.reference_response`).
    - `loss_factor`: structural damping, which makes resonances finite.
    - `contacts`: surfaces whose loads are inputs, too; there the reduced body has its residual compliance, and the
      inputs are weighted by areas (`reduction.error.contact_loads`).

    Rigid motion is exact in every basis and is not counted, so the error does not depend on the body frame. Cost: one
    factorisation (none in a `prepared` block), the modes up to 1.5 f, and some blocks of solves.

    Raises `MatrixError` when the basis does not belong to this model.
    """
    if len(basis.Psi) != model.ndof:
        raise MatrixError(f"The basis has {len(basis.Psi)} dofs, the model {model.name!r} has {model.ndof}.")
    require_surfaces(model, contacts)
    body = statics(model)
    made = acting_loads(model, inputs).deforming
    reference = reference_response(body, made, band, tolerance, loss_factor, contacts)
    body.release()
    free, values = diagonalise(model, elastic(body, np.asarray(basis.Psi)))
    return measure(reference, f"{basis.method}, {basis.n_modes} coordinates", values, free)


def measure(
    reference: ReferenceResponse, name: str, eigenvalues: Float[np.ndarray, " m"], shapes: Float[np.ndarray, "ndof m"]
) -> ResponseError:
    """The error of a reduced modal model over the band of a reference response."""
    grid, rows = reference.grid(eigenvalues), reference.inputs.loads.T @ shapes
    H, Hr = reference.response(grid), reference.of_reduced(eigenvalues, rows, grid)
    magnitude, bound = np.linalg.norm(H, axis=(1, 2)), reference.bound(grid)
    difference = np.linalg.norm(H - Hr, axis=(1, 2))
    if reference.contacts is not None:
        squares = (2 * np.pi * grid[:, None]) ** 2
        damped = eigenvalues * (1 + 1j * reference.loss_factor)
        difference += reference.contacts.outside(eigenvalues, shapes, rows, squares / (damped * (damped - squares)))
    columns = np.linalg.norm(H, axis=1)
    by_input = (np.linalg.norm(H - Hr, axis=1) / np.where(columns > 0, columns, np.inf)).max(axis=0)
    return ResponseError(
        name,
        grid,
        (difference + bound) / magnitude,
        bound / magnitude,
        magnitude,
        np.linalg.norm(Hr, axis=(1, 2)),
        dict(zip(reference.inputs.labels, by_input.tolist(), strict=True)),
        reference.loss_factor,
    )


def relative_error(
    reference: ReferenceResponse,
    eigenvalues: Float[np.ndarray, " m"],
    rows: Float[np.ndarray, "p m"],
    frequencies: Float[np.ndarray, " f"],
) -> Float[np.ndarray, " f"]:
    """The relative error at `frequencies`, increased by the bound of the reference response."""
    H = reference.response(frequencies)
    Hr = reference.of_reduced(eigenvalues, rows, frequencies)
    return (_norms(H - Hr) + reference.bound(frequencies)) / _norms(H)


def _norms(H: Complex[np.ndarray, "f p q"]) -> Float[np.ndarray, " f"]:
    """Frobenius norms."""
    flat = H.reshape(len(H), -1)
    return np.sqrt(np.einsum("fk,fk->f", flat.real, flat.real) + np.einsum("fk,fk->f", flat.imag, flat.imag))
