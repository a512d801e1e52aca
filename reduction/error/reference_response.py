"""The response of a body to its inputs, known to a stated accuracy from one factorisation: the judge of every basis.

The elastic transfer matrix of a free body, with structural damping (loss factor `eta`) so that resonances are finite,

    H(omega) = F^T u,      ((1 + i eta) K - omega^2 M) u = F,      u without rigid motion

is approximated in the span of all natural modes up to a frequency above the band and block Lanczos shapes of the rest,
`(G M)^j G F` with G the inverse of K on balanced loads (MacNeal's and Rubin's residual shapes, and their higher
orders). For a Galerkin solution with residual r, the error of a symmetric transfer matrix is `r^T A^-1 r` (A the
dynamic stiffness). r does no work on the modes that the span holds, so with lambda_c below all others

    ||H - H_W|| <= 1 / (1 - omega^2 / lambda_c) trace(r^H G r)

without any amplification by resonances, and `G r` lies in the span and its next block: the bound costs nothing more.
The error of any other basis is then its difference from H_W, give or take the bound.

Sources: MacNeal, Comput. Struct. 1 (1971) 581-601; Rubin, AIAA J. 13 (1975) 995-1006; Grimme, Krylov projection methods
for model reduction (thesis, Illinois, 1997); Patera and Rozza, Reduced basis approximation and a posteriori error
estimation (2007), compliant outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Complex, Float
from scipy.linalg import cholesky, eigh

from fem.axes.limits import is_number
from fem.errors import ConvergenceError, MatrixError
from fem.model import Model
from reduction.error.contact_loads import ContactLoads, contact_loads
from reduction.error.inputs import Inputs
from reduction.solutions.orthonormal import new_directions, projection
from reduction.solutions.statics import Statics, inertia_relief_solution
from reduction.solutions.vibration import free_vibration, require_band, select_modes

LOSS_FACTOR = 0.02
"""Structural damping at which responses are compared: 1 % of critical."""
EXACT = 1.5
"""All natural modes up to this multiple of the band are computed: fewer make the blocks converge slowly, more cost more
than blocks."""
NOISE = 1e-9
"""Directions of a block below this are round-off of the factor."""
BLOCKS = 30
"""Blocks before giving up."""


@dataclass(frozen=True, eq=False)
class ReferenceResponse:
    """Response over a band, and a bound of its error.

    - `eigenvalues` (N,), `shapes` (ndof, N), `rows` (p, N) = `F^T shapes`: a modal model, M-orthonormal, in mean axes.
    - `exact` (rad^2/s^2): the model contains all natural modes with lower eigenvalues; `natural`: their eigenvalues and
      shapes.

    - `contacts`: patterns of loads at surfaces, which are the last inputs; None without. Their statics is exact in
      every reduced body, by its residual compliance.

    Frequencies are in cycles per unit of time. Units: consistent.
    """

    inputs: Inputs
    band: float
    loss_factor: float
    eigenvalues: Float[np.ndarray, " N"]
    shapes: Float[np.ndarray, "ndof N"]
    rows: Float[np.ndarray, "p N"]
    exact: float
    natural: tuple[Float[np.ndarray, " k"], Float[np.ndarray, "ndof k"]] = field(repr=False)
    _residual: tuple[np.ndarray, np.ndarray, np.ndarray] = field(repr=False)
    contacts: ContactLoads | None = None
    _bounds: dict[float, float] = field(default_factory=dict, repr=False)

    @property
    def corrected(self) -> int:
        """Number of inputs, the last ones, whose statics the residual compliance makes exact."""
        return 0 if self.contacts is None else self.contacts.loads.shape[1]

    def response(self, frequencies: Float[np.ndarray, " f"]) -> Complex[np.ndarray, "f p p"]:
        """Elastic transfer matrices."""
        return modal_response(self.eigenvalues, self.rows, frequencies, self.loss_factor)

    def bound(self, frequencies: Float[np.ndarray, " f"]) -> Float[np.ndarray, " f"]:
        """Largest error of `response` in the Frobenius norm, with that of loads at surfaces outside its patterns."""
        for frequency in np.asarray(frequencies).tolist():
            if frequency not in self._bounds:
                self._bounds[frequency] = self._bound_at((2 * np.pi * frequency) ** 2)
        found = np.array([self._bounds[frequency] for frequency in np.asarray(frequencies).tolist()])
        if self.contacts is not None:
            found += self.contacts.unseen((2 * np.pi * np.asarray(frequencies)) ** 2)
        return found

    def _bound_at(self, square: float) -> float:
        load, shapes, next_shapes = self._residual
        x = self.rows.T / (self.eigenvalues * (1 + 1j * self.loss_factor) - square)[:, None]
        damped, moved = (1 + 1j * self.loss_factor) * x, square * x
        real, imaginary = (
            next_shapes @ b - shapes @ a for a, b in ((damped.real, moved.real), (damped.imag, moved.imag))
        )
        return float((np.sum((load + real) ** 2) + np.sum(imaginary**2)) / (1 - square / self.exact))

    def of_reduced(
        self,
        eigenvalues: Float[np.ndarray, " m"],
        rows: Float[np.ndarray, "p m"],
        frequencies: Float[np.ndarray, " f"],
    ) -> Complex[np.ndarray, "f p p"]:
        """The response of a reduced model with these eigenvalues and `rows` = F^T shapes, its residual compliance
        included."""
        H = modal_response(eigenvalues, rows, frequencies, self.loss_factor)
        if self.contacts is not None:
            own = rows[len(rows) - self.corrected :]
            residual = self.contacts.static - (own / eigenvalues) @ own.T
            H[:, -self.corrected :, -self.corrected :] += residual / (1 + 1j * self.loss_factor)
        return H

    def grid(self, eigenvalues: Float[np.ndarray, " m"] | None = None) -> Float[np.ndarray, " f"]:
        """Frequencies from 0 to the end of the band that resolve all resonances, including those of a reduced model
        with `eigenvalues`."""
        values = self.eigenvalues if eigenvalues is None else np.concatenate([self.eigenvalues, eigenvalues])
        natural = np.sqrt(values[values < (1.05 * 2 * np.pi * self.band) ** 2]) / (2 * np.pi)
        width = self.loss_factor / 2 * np.array([-8, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8])
        near = (natural[:, None] * (1 + width)).ravel()
        grid = np.concatenate([np.linspace(0.0, self.band, 101), near[near <= self.band]])
        return np.unique(np.round(grid / self.band, 6)) * self.band


def modal_response(
    eigenvalues: Float[np.ndarray, " m"],
    rows: Float[np.ndarray, "p m"],
    frequencies: Float[np.ndarray, " f"],
    loss_factor: float,
) -> Complex[np.ndarray, "f p p"]:
    """`sum_k rows_k rows_k^T / ((1 + i eta) lambda_k - omega^2)` of a modal model, frequencies in cycles per unit of
    time."""
    squares = (2 * np.pi * np.asarray(frequencies)) ** 2
    admittance = 1 / (eigenvalues * (1 + 1j * loss_factor) - squares[:, None])
    p = len(rows)
    products = (rows[:, None, :] * rows[None]).reshape(p * p, -1)
    H = np.empty((len(squares), p * p), dtype=complex)
    H.real, H.imag = admittance.real @ products.T, admittance.imag @ products.T
    return H.reshape(-1, p, p)


def reference_response(
    body: Statics,
    inputs: Inputs,
    band: tuple[float | int, float | int],
    tolerance: float = 1e-3,
    loss_factor: float = LOSS_FACTOR,
    contacts: Sequence[str] = (),
) -> ReferenceResponse:
    """Enlarge the span until the error bound of the response is below `tolerance`, relative, everywhere in the band.

    `contacts`: surfaces whose loads are further inputs (`reduction.error.contact_loads`); half of the tolerance is for
    what their patterns leave.

    Cost: the natural modes up to 1.5 times the band (5 solves each) and 3 to 8 blocks of p solves with the factor of
    `body`.
    """
    model = body.model
    high = require_band(band)
    if inputs.loads.shape[1] == 0 and not contacts:
        raise MatrixError(
            f"Model {model.name!r} has nothing that drives it, so no response over a band: add interfaces with "
            "model.with_interfaces(name=...), or give inputs."
        )
    if not (is_number(tolerance) and 0 < tolerance < 1):
        raise MatrixError(f"The tolerance of the reference response must lie between 0 and 1; found {tolerance!r}.")
    if not (is_number(loss_factor) and 0 < loss_factor < 1):
        raise MatrixError(f"The loss factor of the comparison must lie between 0 and 1; found {loss_factor}.")
    inverse = partial(inertia_relief_solution, body)
    values, Phi = select_modes(free_vibration(body), None, EXACT * high)
    patterns = None
    if contacts:
        limit = (2 * np.pi * EXACT * high) ** 2
        patterns = contact_loads(body, contacts, inputs.loads, (values, Phi), limit, high, 0.5 * tolerance)
        inputs = inputs.with_patterns(patterns.loads)
    F = inputs.loads
    MPhi = model.M @ Phi
    Z, MZ = Phi, MPhi
    GF = inverse(F)
    Q, MQ = new_directions(model.M, Z, MZ, GF)
    products = Phi / values  # G M of the processed shapes
    for _ in range(BLOCKS):
        done = Z.shape[1] + Q.shape[1]
        Z, MZ = np.hstack([Z, Q]), np.hstack([MZ, MQ])
        product = inverse(MQ)
        products = np.hstack([products, product])
        Q, MQ = new_directions(model.M, Z, MZ, product, deflation=NOISE)
        made = _galerkin(
            model, inputs, np.hstack([Z, Q]), np.hstack([MZ, MQ]), done, GF, products, high, (values, Phi), loss_factor
        )
        made = replace(made, contacts=patterns, _bounds={})
        grid = made.grid()
        size = np.linalg.norm(made.response(grid), axis=(1, 2))
        worst = (made.bound(grid) / size).max()
        if worst <= tolerance:
            return made
        if Q.shape[1] == 0:
            break
    raise ConvergenceError(
        f"Model {model.name!r}: the response over (0, {high:.4g}) is known to {worst:.1e} only, {tolerance:.0e} was "
        "asked for. The factor of the stiffness matrix is too inaccurate for more; loosen the tolerance."
    )


def _galerkin(
    model: Model,
    inputs: Inputs,
    Z: np.ndarray,
    MZ: np.ndarray,
    done: int,
    GF: np.ndarray,
    products: np.ndarray,
    band: float,
    natural: tuple[np.ndarray, np.ndarray],
    loss_factor: float,
) -> ReferenceResponse:
    """The modal model of the first `done` columns of Z and what its residual needs: coordinates in all of Z, in the
    norm of K."""
    K: Any = projection(model.K, Z)
    K = 0.5 * (K + K.T)
    values, C = eigh(K[:done, :done])
    root = cholesky(K)  # K = root^T root
    load, next_shapes = root @ (MZ.T @ GF), root @ (MZ.T @ products)
    shapes = Z[:, :done] @ C
    return ReferenceResponse(
        inputs,
        band,
        loss_factor,
        values,
        shapes,
        inputs.loads.T @ shapes,
        (2 * np.pi * EXACT * band) ** 2,
        natural,
        (load, root[:, :done] @ C, next_shapes @ C),
    )
