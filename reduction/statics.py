"""Static solutions of a free body with interfaces, all from one positive-definite factorisation.

Held at its rigid interfaces (or, without any, at six pinned dofs that hold it isostatically), the body's stiffness
matrix is positive definite; G is its inverse there, zero at the held dofs. Every static displacement under loads f is

    u = G (f - B lambda) + Phi q

with Phi the static shapes of the held motions q, B the rows of the average interfaces (`B^T u = d`) and lambda the
wrenches they carry. Stationarity of the potential energy leaves a small dense system,

    [ S          Phi^T B   ] [ q      ]   [ Phi^T f      ]
    [ B^T Phi   -B^T G B   ] [ lambda ] = [ d - B^T G f  ]          S = Phi^T K Phi

Pinned dofs carry no reaction as long as the loads are in equilibrium: there Phi is the rigid motion and S = 0.
Sources: Craig and Bampton, AIAA J. 6 (1968) 1313-1319; Farhat and Geradin, Comput. Struct. 68 (1998) 85-96 (solution
of floating bodies with their rigid motions as unknowns).
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from fem.model import Model
from jaxtyping import Float, Int
from scipy.linalg import qr, solve_triangular

from fem.errors import FactorisationError, InterfaceError, MatrixError
from fem.factor import Factor, factor
from fem.interface import require_disjoint
from reduction.admissible import require_free_body
from reduction.saddle import SaddlePoint

Loads = Float[np.ndarray, "ndof k"]


@dataclass(frozen=True, eq=False)
class Statics:
    """One factorisation of a body, and what static solutions need beside it.

    - `interior`: dofs of the factor; `pinned`: held at six dofs instead of rigid interfaces.
    - `Phi` (ndof, nb), `S` (nb, nb): static shapes of the held motions and their stiffness. nb is 6 for each rigid
      interface, in the order of the model, or 6 pinned dofs.
    - `GB` (ndof, na) = G B of the average interfaces, 6 columns each; `saddle`: the small system when all interface
      motions are given.
    - `R` (ndof, 6), `MR`: rigid motions about the mass centre, `R^T M R = I`, and M R.
    """

    model: Model
    interior: Int[np.ndarray, " i"]
    inverse: Factor
    pinned: bool
    Phi: Float[np.ndarray, "ndof nb"]
    S: Float[np.ndarray, "nb nb"]
    GB: Float[np.ndarray, "ndof na"]
    saddle: SaddlePoint
    R: Float[np.ndarray, "ndof 6"]
    MR: Float[np.ndarray, "ndof 6"]
    seconds: float

    @property
    def fixed_modes_available(self) -> int:
        """How many modes the body has with all interfaces fixed."""
        return len(self.interior) + (6 if self.pinned else 0) - self.GB.shape[1]

    @property
    def free_modes_available(self) -> int:
        """How many elastic modes the free body has."""
        return len(self.interior) + self.Phi.shape[1] - 6


def statics(model: Model) -> Statics:
    """Factorise `model` once, with its rigid interfaces condensed to six motions each (RBE2, exact).

    Raises MatrixError when the body is not free or falls into parts, InterfaceError for interfaces that share nodes or
    leave nothing to deform, FactorisationError. Cost: one factorisation of K, 6 solves for each interface.
    """
    start = perf_counter()
    interfaces = model.interfaces
    require_disjoint(interfaces)
    require_free_body(model)
    R, MR = _orthonormal_rigid_motions(model)
    rigid = [i for i in interfaces.values() if i.kind == "rigid"]
    average = [i for i in interfaces.values() if i.kind == "average"]
    held = np.concatenate([i.dofs for i in rigid]) if rigid else _pins(model)
    interior = np.setdiff1d(np.arange(model.ndof), held)
    if len(interior) == 0:
        raise InterfaceError(f"Model {model.name!r}: every node belongs to a rigid interface, so nothing can deform.")
    inverse = _factor(model, interior)
    if rigid:
        L = np.zeros((model.ndof, 6 * len(rigid)))
        for k, interface in enumerate(rigid):
            L[interface.dofs, 6 * k : 6 * k + 6] = interface.rigid_map(model)
        Phi = L
        Phi[interior] = -inverse.solve((model.K @ L)[interior])
        S = Phi.T @ (model.K @ Phi)
        S = 0.5 * (S + S.T)
    else:
        Phi, S = R @ np.linalg.inv(R[held]), np.zeros((6, 6))
    B = sp.hstack([i.motion_rows(model) for i in average], format="csr") if average else sp.csr_matrix((model.ndof, 0))
    GB = np.zeros((model.ndof, B.shape[1]))
    GB[interior] = inverse.solve(B[interior].toarray())
    saddle = SaddlePoint.make(B, GB, Phi if not rigid else Phi[:, :0], [i.name for i in average])
    return Statics(model, interior, inverse, not rigid, Phi, S, GB, saddle, R, MR, perf_counter() - start)


def fixed_interface_displacement(held: Statics, F: Loads) -> Loads:
    """Displacements under loads F with all interface motions zero: symmetric, positive semidefinite in F."""
    U = _solve_interior(held, F)
    if held.GB.shape[1] == 0:
        return U
    q, wrench = held.saddle.solve(held.Phi.T @ F if held.pinned else None, -(held.GB.T @ F))
    U -= held.GB @ wrench
    if held.pinned:
        U += held.Phi @ q
    return U


def free_displacement(held: Statics, F: Loads) -> Loads:
    """Displacements under loads F of the free body relative to its mean axes (inertia relief).

    The loads are balanced by rigid-body inertia forces and the displacements made M-orthogonal to the rigid motions:
    symmetric and positive semidefinite in F; the inverse of K between mean-axis displacements and balanced loads.
    """
    F = F - held.MR @ (held.R.T @ F)
    U = _solve_interior(held, F)
    if held.S.shape[0] > 6 and not held.pinned:  # hold the first rigid interface, let the others go
        U += held.Phi[:, 6:] @ np.linalg.solve(held.S[6:, 6:], held.Phi[:, 6:].T @ F)
    U -= held.R @ (held.MR.T @ U)
    return U


def constraint_modes(held: Statics) -> Float[np.ndarray, "ndof c"]:
    """Static shapes (ndof, 6 ni) of unit interface motions, all others zero; interfaces in the order of the model.

    For an average interface: the shape of least strain energy with that mean motion.
    """
    count_rigid = 0 if held.pinned else held.Phi.shape[1]
    shapes = held.Phi[:, :count_rigid].copy()
    if held.GB.shape[1]:
        d = np.hstack([-held.saddle.motion_of(shapes), np.eye(held.GB.shape[1])])
        q, wrench = held.saddle.solve(None, d)
        given = np.hstack([shapes, np.zeros((len(shapes), held.GB.shape[1]))])
        shapes = given - held.GB @ wrench
        if held.pinned:
            shapes += held.Phi @ q
    rigid_first = np.argsort([i.kind != "rigid" for i in held.model.interfaces.values()], kind="stable")
    place = np.argsort(rigid_first)
    return shapes[:, (6 * place[:, None] + np.arange(6)).ravel()]


def _solve_interior(held: Statics, F: np.ndarray) -> np.ndarray:
    U = np.zeros(F.shape)
    U[held.interior] = held.inverse.solve(F[held.interior])
    return U


def _factor(model: Model, interior: np.ndarray) -> Factor:
    K = model.K[interior][:, interior]
    try:
        return factor(K, "positive-definite")
    except FactorisationError as error:
        raise FactorisationError(
            f"Model {model.name!r}, held at its rigid interfaces or at six pinned dofs: {error} A hinge (parts that meet "
            "in one node or one edge) does this too."
        ) from error


def _orthonormal_rigid_motions(model: Model) -> tuple[np.ndarray, np.ndarray]:
    R = model.rigid_modes(model.centre_of_mass)
    MR = model.M @ R
    L = np.linalg.cholesky(R.T @ MR)
    return solve_triangular(L, R.T, lower=True).T, solve_triangular(L, MR.T, lower=True).T


def _pins(model: Model) -> np.ndarray:
    """Six dofs at three nodes far apart that hold the body isostatically; away from interfaces where it can be."""
    taken = [i.nodes for i in model.interfaces.values()]
    outside = np.setdiff1d(np.arange(len(model.points)), np.concatenate(taken) if taken else [])
    for nodes in (outside, np.arange(len(model.points))):
        x = model.points[nodes]
        if len(x) < 3:
            continue
        a = np.linalg.norm(x - x.mean(axis=0), axis=1).argmax()
        b = np.linalg.norm(x - x[a], axis=1).argmax()
        c = np.linalg.norm(np.cross(x - x[a], x[b] - x[a]), axis=1).argmax()
        dofs = (3 * nodes[[a, b, c]][:, None] + np.arange(3)).ravel()
        length = np.linalg.norm(x[b] - x[a])
        rigid = model.rigid_modes(x[a])[dofs] / np.repeat([1.0, length], 3)
        _, triangle, order = qr(rigid.T, pivoting=True)
        if abs(triangle[5, 5]) > 1e-3:
            return np.sort(dofs[order[:6]])
    raise MatrixError(f"Model {model.name!r}: its nodes lie on one line; a solid body does not.")
