"""Loads at the surfaces of a part as inputs: the patterns of pressure and traction that move it dynamically.

A surface has three inputs at each node, weighted by the area a of the node, `F = N diag(sqrt(a / A))`, so that the
Frobenius norm of `F^T H F` is the root mean square, over all pairs of points and directions, of the displacement at one
point per unit force at the other, whatever the mesh. Their statics is exact in every reduced body, by its residual
compliance, so the error of contact loads is that of

    D(omega) = F^T (H - G) F = sum_k f_k f_k^T omega^2 / (lambda_k (lambda_k - omega^2)),    f_k = F^T phi_k

which falls with the square of lambda: few patterns matter. V, orthonormal, contains f_k of all natural modes below
lambda_c; for loads in its complement, D is bounded by `omega^2 / (1 - omega^2 / lambda_c)` times the second moment

    T = F^T G M G F

The range of T is found by random patterns in blocks, each of which first measures what V leaves: an estimate of
Frobenius norms without bias (Hutchinson), which enters the bound with the factor `SAFETY`. With T_VV, T_VP, T_PP the
blocks of T on V and the inputs at interfaces (without the natural modes) and on the complement P of V, the error that V
does not see is at most

    kappa(omega) = omega^2 [2 |T_VP| + 2 g sqrt(|T_VV| |T_PP|) + (1 + g) |T_PP|],    g = omega^2 / (lambda_c - omega^2)

as `|B|^2 <= |A| |C|` for the blocks of a semidefinite matrix. Source of the range finder: Halko, Martinsson and Tropp,
"Finding structure with randomness", SIAM Review 53 (2011) 217-288.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Complex, Float

from fem.errors import ConvergenceError, MatrixError, unknown_name
from fem.model import Model
from reduction.solutions.free_compliance import nodal_forces
from reduction.solutions.statics import Statics, inertia_relief_solution

BLOCK = 16
"""Random patterns that are tried at a time."""
SAFETY = 2.0
"""Factor of norms that were estimated by random patterns: sixteen are wrong by this much less than once in 10^4."""
MOST = 320
"""Patterns before giving up."""


@dataclass(frozen=True, eq=False)
class ContactLoads:
    """Patterns of loads at surfaces.

    - `F` (ndof, 3 n): weighted unit forces at the nodes; `V` (3 n, p): the patterns, orthonormal.
    - `loads` (ndof, p) = F V; `static` (p, p) = `loads^T G loads`; `static_others` (3 n, q) = `F^T G F_o` for the
      other inputs F_o.
    - `limit` (1/time^2): the eigenvalue below which V contains all natural modes.
    - `moments`: the norms of T_VV, T_VP and T_PP above, the last two with the factor of safety.
    """

    F: sp.csc_matrix
    V: Float[np.ndarray, "k p"]
    loads: Float[np.ndarray, "ndof p"]
    static: Float[np.ndarray, "p p"]
    static_others: Float[np.ndarray, "k q"]
    limit: float
    moments: tuple[float, float, float]

    def unseen(self, squares: Float[np.ndarray, " f"]) -> Float[np.ndarray, " f"]:
        """The bound kappa for squared angular frequencies."""
        return _unseen(np.asarray(squares), self.limit, self.moments)

    def outside(
        self,
        eigenvalues: Float[np.ndarray, " m"],
        shapes: Float[np.ndarray, "ndof m"],
        rows: Float[np.ndarray, "a m"],
        factors: Complex[np.ndarray, "f m"],
    ) -> Float[np.ndarray, " f"]:
        """The norm of what a reduced model responds to patterns outside V, and of the static error there of the other
        inputs.

        `rows`: the shapes at all inputs, the others first; `factors`: of the shapes in D, a row for each frequency.
        """
        q = self.static_others.shape[1]
        own = np.asarray(self.F.T @ shapes)
        error = self.static_others - (own / eigenvalues) @ rows[:q].T
        static = float(np.linalg.norm(error - self.V @ (self.V.T @ error)))
        rest = own - self.V @ (self.V.T @ own)
        Q, S = rest.T @ rest, rows.T @ rows
        found = np.empty(len(factors))
        for k, d in enumerate(factors):
            dQ = d[:, None] * Q
            square, cross = (np.einsum("ij,ji->", dQ, d.conj()[:, None] * A).real for A in (Q, S))
            found[k] = np.sqrt(max(square, 0.0)) + 2 * np.sqrt(max(cross, 0.0)) + 2 * static
        return found


def _unseen(squares: np.ndarray, limit: float, moments: tuple[float, float, float]) -> np.ndarray:
    vv, vp, pp = moments
    g = squares / (limit - squares)
    return np.asarray(squares * (2 * vp + 2 * g * np.sqrt(vv * pp) + (1 + g) * pp))


def require_surfaces(model: Model, contacts: Sequence[str]) -> None:
    """Raise `MatrixError` if a name is that of no surface of the model."""
    for name in contacts:
        if name not in model.surfaces:
            raise MatrixError(f"Model {model.name!r}: " + unknown_name("surface", name, model.surfaces))


def contact_loads(
    body: Statics,
    contacts: Sequence[str],
    others: Float[np.ndarray, "ndof q"],
    natural: tuple[Float[np.ndarray, " k"], Float[np.ndarray, "ndof k"]],
    limit: float,
    band: float,
    tolerance: float,
) -> ContactLoads:
    """The patterns of loads at the surfaces `contacts` whose dynamics matters.

    - `others`: the other inputs.
    - `natural`: eigenvalues and shapes of all natural modes below the eigenvalue `limit`.
    - `tolerance`: the largest part of the response up to the frequency `band` that the patterns may leave.

    Raises `ConvergenceError` when they leave more with `MOST` patterns. Cost: 32 solves for each 16 patterns.
    """
    model = body.model
    F = weighted_forces(model, contacts)
    V = _orthonormal(np.zeros((F.shape[1], 0)), np.asarray(F.T @ natural[1]))
    random, square = np.random.default_rng(1), (2 * np.pi * band) ** 2
    q = others.shape[1]
    loads = np.hstack([others, np.asarray(F @ V)])
    U = inertia_relief_solution(body, loads)
    while True:
        Z = random.standard_normal((F.shape[1], BLOCK))
        Z -= V @ (V.T @ Z)
        moved = inertia_relief_solution(body, model.M @ inertia_relief_solution(body, np.asarray(F @ Z)))
        Y, seen = F.T @ moved, loads.T @ moved
        rest = Y - V @ seen[q:]
        pp, vp = (SAFETY * float(np.linalg.norm(A)) / np.sqrt(BLOCK) for A in (rest, seen))
        modal = (loads.T @ natural[1]) / natural[0]
        vv = float(np.linalg.norm(U.T @ (model.M @ U) - modal @ modal.T))
        whole = loads.T @ U
        static = 0.5 * (whole + whole.T)[q:, q:]
        size = max(float(np.linalg.norm(whole)), np.finfo(float).tiny)
        left = float(_unseen(np.array([square]), limit, (vv, vp, pp))[0]) / size
        if left <= tolerance:
            return ContactLoads(F, V, loads[:, q:], static, np.asarray(F.T @ U[:, :q]), limit, (vv, vp, pp))
        new = _orthonormal(V, rest)
        if not new.shape[1] or V.shape[1] >= MOST:
            raise ConvergenceError(
                f"Model {model.name!r}: {V.shape[1]} patterns of loads at the surfaces {', '.join(contacts)} leave a "
                f"part of {left:.1e} of the response up to {band:.4g}; {tolerance:.0e} was asked for. Loosen the "
                "tolerance, raise the band, or name smaller surfaces."
            )
        V = np.hstack([V, new])
        more = np.asarray(F @ new)
        loads, U = np.hstack([loads, more]), np.hstack([U, inertia_relief_solution(body, more)])


def weighted_forces(model: Model, contacts: Sequence[str]) -> sp.csc_matrix:
    """F (ndof, 3 n): unit forces at the nodes of the surfaces times the root of the share of the node in the area."""
    blocks = []
    for name in contacts:
        surface = model.surfaces[name]
        weights = np.repeat(np.sqrt(surface.areas / surface.area), 3)
        blocks.append(nodal_forces(model, surface.nodes) @ sp.diags_array(weights))
    return sp.csc_matrix(sp.hstack(blocks))


def _orthonormal(V: np.ndarray, X: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what `X` adds to the span of V."""
    X = X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny)
    for _ in range(2):
        X = X - V @ (V.T @ X)
    Q, size, _ = np.linalg.svd(X, full_matrices=False)
    Q = Q[:, size > 1e-8 * max(size.max(initial=0.0), np.finfo(float).tiny)]
    Q = Q - V @ (V.T @ Q)
    return np.asarray(np.linalg.qr(Q)[0])
