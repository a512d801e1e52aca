"""Frequency response of a part: of the full model by direct solves or over a band with a bound, or of a basis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from fem.axes.limits import floats, is_number
from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis
from reduction.error.inputs import resolve_inputs
from reduction.error.reference_frame import diagonalise
from reduction.error.reference_response import LOSS_FACTOR, modal_response, reference_response
from reduction.solutions.condensed import condense
from reduction.solutions.statics import orthonormal_rigid_motions, statics

ROUND_OFF = 1e-12
"""Rigid motion of a row for a load of another, relative to the geometric mean of those of both for their own loads,
that is round-off."""


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Displacements per unit load of a free body; inputs in columns, the displacements on which they do work in rows.

    - `elastic` (f, p, p): the response without rigid motion; `rigid` (p, p): the rigid motion is `-rigid / omega^2`.
    - `labels` (p): names of rows and columns. The unit of a moment is a unit force times `length`, and rotations are
      multiplied by `length`, so that all entries are displacements per force.
    - `bound` (f,): bound of the error of `elastic` in the Frobenius norm; None when it is not known.

    Frequencies are in cycles per unit of time.
    """

    name: str
    frequencies: Float[np.ndarray, " f"]
    elastic: Complex[np.ndarray, "f p p"]
    rigid: Float[np.ndarray, "p p"]
    labels: tuple[str, ...]
    length: float
    loss_factor: float
    bound: Float[np.ndarray, " f"] | None = None

    @property
    def total(self) -> Complex[np.ndarray, "f p p"]:
        """Elastic and rigid motion together. At frequency 0 the entries with rigid motion are infinite, and those
        without have that of `elastic`."""
        found = self.elastic.copy()
        still = self.frequencies == 0
        found[~still] -= self.rigid / (2 * np.pi * self.frequencies[~still, None, None]) ** 2
        size = np.sqrt(np.diag(self.rigid))
        moved = np.abs(self.rigid) > ROUND_OFF * np.outer(size, size)
        found.real[np.ix_(still)] = np.where(moved, -np.copysign(np.inf, self.rigid), found.real[still])
        return found

    @property
    def magnitude(self) -> Float[np.ndarray, " f"]:
        """Frobenius norm of the elastic response."""
        return np.linalg.norm(self.elastic, axis=(1, 2))

    def entry(self, output: str, input: str) -> Complex[np.ndarray, " f"]:
        """One elastic entry by its labels. Raises `MatrixError` when a label does not exist."""
        for label in (output, input):
            if label not in self.labels:
                raise MatrixError(f"{self.name}: there is no input {label!r}; existing: {', '.join(self.labels)}.")
        return self.elastic[:, self.labels.index(output), self.labels.index(input)]


def frequency_response(
    model: Model,
    frequencies: Sequence[float | int] | Float[np.ndarray, " f"] | None = None,
    *,
    band: tuple[float | int, float | int] | None = None,
    basis: Basis | None = None,
    inputs: Sequence[str | np.ndarray] | None = None,
    loss_factor: float = LOSS_FACTOR,
    tolerance: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> FrequencyResponse:
    """Compute the response of the free part to its inputs, with structural damping `loss_factor`.

    - `frequencies`: the response at these. With `basis`, that of the reduced body; without, that of the full model, by
      one complex factorisation for each frequency.
    - `band = (0, f)`: the response of the full model with the relative accuracy `tolerance`, at frequencies that
      resolve every resonance; one factorisation in all (see `reduction.error.reference_response`).
    - `inputs`: default: all interfaces; see `resolve_inputs`.
    - `progress`: called with the finished fraction after each direct solve.

    Raises `MatrixError` when frequencies and band are both given, or neither; when a frequency or the loss factor
    is negative; when the basis does not belong to this model.
    """
    if (frequencies is None) == (band is None):
        raise MatrixError("Give frequencies=..., or band=(0, f) for a grid that resolves every resonance; one of them.")
    made = resolve_inputs(model, inputs).deforming
    R, _ = orthonormal_rigid_motions(model)
    rows = R.T @ made.loads
    rest = (rows.T @ rows, made.labels, made.length, loss_factor)
    if band is not None:
        if basis is not None:
            raise MatrixError("A band is for the full model; give the basis the frequencies of that response.")
        body = statics(model)
        reference = reference_response(body, made, band, tolerance, loss_factor)
        body.release()
        grid = reference.grid()
        return FrequencyResponse(f"{model.name}, full", grid, reference.response(grid), *rest, reference.bound(grid))
    if not (is_number(loss_factor) and loss_factor >= 0):
        raise MatrixError(f"The loss factor of a response must be finite and not negative; found {loss_factor}.")
    f = floats(frequencies)
    if f.ndim != 1 or not len(f) or not np.isfinite(f).all() or f.min() < 0:
        raise MatrixError(f"Frequencies must be finite and not negative; found {frequencies!r}.")
    if basis is not None:
        if len(basis.Psi) != model.ndof:
            raise MatrixError(f"The basis has {len(basis.Psi)} dofs, the model {model.name!r} has {model.ndof}.")
        free, values = diagonalise(model, basis.Psi - R @ ((model.M @ R).T @ basis.Psi))
        elastic = modal_response(values, made.loads.T @ free, f, loss_factor)
        return FrequencyResponse(f"{model.name}, {basis.method}, {basis.n_modes}", f, elastic, *rest)
    body = statics(model)
    condensed = condense(body)
    elastic = np.empty((len(f), *rest[0].shape), dtype=complex)
    for k, value in enumerate(f):
        with condensed.dynamic(1 + 1j * loss_factor, -((2 * np.pi * value) ** 2)) as solve:
            elastic[k] = made.loads.T @ solve(made.loads)
        if progress is not None:
            progress((k + 1) / len(f))
    body.release()
    return FrequencyResponse(f"{model.name}, full", f, elastic, *rest)
