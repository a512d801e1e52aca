"""Solutions of the body with prescribed interface motions: all fixed, or one of them one unit.

Rigid interfaces are fixed in the factor of `reduction.solutions.statics`. Average interfaces satisfy B^T u = d, with
lambda their wrenches: u = G (f - B lambda) + Phi q, and stationarity of the potential energy leaves a small dense
system

    [ 0          Phi^T B   ] [ q      ]   [ Phi^T f      ]
    [ B^T Phi   -B^T G B   ] [ lambda ] = [ d - B^T G f  ]

where the first row and q, the rigid motion, exist for a pinned body only.
Source of the elimination: Farhat and Geradin, Int. J. Numer. Meth. Engng 41 (1998) 675-696.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.linalg import eigh, lu_factor, lu_solve

from fem.errors import InterfaceError
from reduction.solutions.statics import Statics, constrained_solution

SINGULAR = 1e-12
"""Smallest eigenvalue of the equilibrated small system, beside its largest, of interfaces that count as independent."""


@dataclass(frozen=True, eq=False)
class FixedInterfaces:
    """The constraints of the average interfaces of `body`: B (ndof, na), `GB` = G B, and the factor of the small
    system.

    `Phi` (ndof, 6 or 0): the rigid motion of a pinned body; `scale` equilibrates the small system.
    """

    body: Statics
    B: sp.csr_matrix
    GB: Float[np.ndarray, "ndof na"]
    Phi: Float[np.ndarray, "ndof nq"]
    scale: Float[np.ndarray, " n"]
    lu: tuple[np.ndarray, np.ndarray]

    @property
    def modes_available(self) -> int:
        """Number of modes of the body with its interfaces fixed."""
        return len(self.body.interior) + self.Phi.shape[1] - self.GB.shape[1]


def fix_interfaces(body: Statics) -> FixedInterfaces:
    """Prepare solutions with given interface motions.

    Raises InterfaceError when average interfaces depend on each other or on rigid ones. Cost: 6 solves for each average
    interface.
    """
    model = body.model
    average = [i for i in model.interfaces.values() if i.kind == "average"]
    Phi = body.Phi if body.pinned else body.Phi[:, :0]
    if not average:
        none = np.zeros((model.ndof, 0))
        return FixedInterfaces(body, sp.csr_matrix(none), none, Phi, np.zeros(0), (np.zeros((0, 0)), np.zeros(0)))
    B = sp.hstack([i.interface_matrix(model) for i in average], format="csr")
    GB = constrained_solution(body, B.toarray())
    A = np.zeros((Phi.shape[1] + B.shape[1],) * 2)
    q = Phi.shape[1]
    A[q:, :q] = B.T @ Phi
    A[:q, q:] = A[q:, :q].T
    A[q:, q:] = -(B.T @ GB)
    A = 0.5 * (A + A.T)
    scale = _equilibration(A)
    A *= np.outer(scale, scale)
    _require_independent(A, [i.name for i in average])
    return FixedInterfaces(body, B, GB, Phi, scale, lu_factor(A))


def fixed_interface_displacement(fixed: FixedInterfaces, F: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof k"]:
    """Displacements under loads F with all interface motions zero: symmetric, positive semidefinite in F."""
    U = constrained_solution(fixed.body, F)
    return _correct(fixed, U, fixed.Phi.T @ F, -(fixed.GB.T @ F))


def constraint_modes(fixed: FixedInterfaces) -> Float[np.ndarray, "ndof c"]:
    """Static shapes (ndof, 6 ni) of unit interface motions, all others zero; interfaces in the order of the model.

    For an average interface: the shape of least strain energy with that mean motion.
    """
    body, na = fixed.body, fixed.GB.shape[1]
    rigid = body.Phi[:, :0] if body.pinned else body.Phi
    shapes = np.hstack([rigid, np.zeros((len(rigid), na))])
    d = np.hstack([-(fixed.B.T @ rigid), np.eye(na)])
    shapes = _correct(fixed, shapes, np.zeros((fixed.Phi.shape[1], d.shape[1])), d)
    rigid_first = np.argsort([i.kind != "rigid" for i in body.model.interfaces.values()], kind="stable")
    place = np.argsort(rigid_first)
    return shapes[:, (6 * place[:, None] + np.arange(6)).ravel()]


def _correct(fixed: FixedInterfaces, U: np.ndarray, load: np.ndarray, d: np.ndarray) -> np.ndarray:
    """U + Phi q - GB lambda, in place, for right-hand sides `load` and `d` of the small system."""
    if fixed.GB.shape[1]:
        x = fixed.scale[:, None] * lu_solve(fixed.lu, fixed.scale[:, None] * np.vstack([load, d]))
        U -= fixed.GB @ x[len(load) :]
        U += fixed.Phi @ x[: len(load)]
    return U


def _equilibration(A: np.ndarray) -> np.ndarray:
    """Scale s such that the rows of `s_i A_ij s_j` have largest entries near one.

    Source: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices", RAL-TR-2001-034.
    """
    scale = np.ones(len(A))
    for _ in range(8):
        largest = np.abs(A * np.outer(scale, scale)).max(axis=1)
        scale /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return scale


def _require_independent(A: np.ndarray, names: list[str]) -> None:
    values, vectors = eigh(A)
    weakest = np.abs(values).argmin()
    if abs(values[weakest]) <= SINGULAR * np.abs(values).max():
        share = (vectors[-6 * len(names) :, weakest].reshape(-1, 6) ** 2).sum(axis=1)
        guilty = [name for name, part in zip(names, share, strict=True) if part > 0.01]
        raise InterfaceError(
            f"The motions of the average interfaces {', '.join(map(repr, guilty))} are not independent of each other "
            "and of the rigid ones: they share their nodes. Remove one, or give them different nodes."
        )
