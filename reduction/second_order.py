"""The second-order displacement field of a basis, through its integrals: the source of geometric stiffness.

To second order in the elastic coordinates a nodal displacement is `Psi eta + 1/2 g(eta, eta)`. The field g is the static answer of the
unreduced structure to what the linear shapes leave unbalanced: for every virtual displacement v,

    v . K g_ij = - v . K_G(phi_i) phi_j                                                           (1)

(K_G: the whole change of the tangent stiffness, symmetric in all three arguments). It carries the foreshortening of a bending beam.
By reciprocity its integral against any load f needs one static solution u_f of that load, and never g itself:

    f . g_ij = - phi_i^T K_G(u_f) phi_j,        K u_f = f                                           (2)

Three things are added to this classical formula (Wallrapp and Schwertassek, "Representation of geometric stiffening in
multibody system simulation", Int. J. Numer. Meth. Engng 32 (1991) 1833-1850):

- *The frame.* u_f is taken with the reference conditions of the basis: the interface of an attached frame at rest, or relative to mean axes.
- *Rigid interfaces turn rigidly.* In the linear model they stretch by theta^2 / 2 when they turn by theta. The particular field
  `p_ij = theta_i x (theta_j x x)`, symmetrised, on their nodes undoes it; its work with the constraint forces enters (2).
- *The shapes of the basis.* The part of g in the span of the basis is not what (1) says: a quadratic strain energy in eta is right to
  third order only when the cubic terms `C_ijk eta_i eta_j eta_k / 6` cancel, and (1) would cancel them three times over. The amount
  is shared among the three places of each term, `phi_k . K g_ij = - w_k C_ijk`, in proportion to the squares of the three eigenvalues: the
  smallest field in the norm of M that cancels them. So a stiff shape (extension) follows soft ones (bending) whole, and
  the result does not depend on whether the basis holds the stiff shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.interface import rigid_motion
from fem.model import Model
from reduction.basis import Basis
from reduction.statics import Statics, free_displacement, statics


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Integrals of the second-order field `g_ij` of a basis of m shapes; all symmetric in i, j. Units: consistent.

    - `first` (3, m, m): `int g_ij` over the mass; `moments` (3, 3, m, m): `int X_a (g_ij)_b` over the mass, X from the mesh's origin.
    - `interfaces`: for each interface (6, m, m), the second-order translation of its point and rotation: with the rows of the basis,
      `t = rows[:3] eta + 1/2 second[:3](eta, eta)`, and the rotation vector likewise.
    """

    first: Float[np.ndarray, "3 m m"]
    moments: Float[np.ndarray, "3 3 m m"]
    interfaces: Mapping[str, Float[np.ndarray, "6 m m"]]


def second_order(model: Model, basis: Basis) -> SecondOrder:
    """Integrals of the second-order field of `basis` on `model`, whose reduction may be any.

    Raises MatrixError for a model made from matrices (K_G needs elements). Cost: one factorisation of K, 12 static solves and 6 an
    interface, and about 72 m^2 (12 + 6 ni + m) flops a quadrature point. Nothing per step of a simulation.
    """
    body = statics(model)
    names = list(model.interfaces)
    points = np.zeros((model.ndof, 9))
    for a in range(3):
        for b in range(3):
            points[b::3, 3 * a + b] = model.points[:, a]
    translations = rigid_motion(model.points, np.zeros(3))[:, :3]
    rows = [model.interfaces[name].motion_rows(model).toarray() for name in names]
    loads = np.column_stack([model.M @ translations, model.M @ points, *rows])
    values = _works(body, basis, loads)
    interfaces = {}
    for k, name in enumerate(names):
        turned = _particular_work(model, name, basis, rows[k])
        interfaces[name] = values[12 + 6 * k : 18 + 6 * k] - turned
    return SecondOrder(values[:3], values[3:12].reshape(3, 3, basis.modes, basis.modes), interfaces)


def _works(body: Statics, basis: Basis, loads: np.ndarray) -> np.ndarray:
    """`f . g_ij` (p, m, m) of `loads` (ndof, p)."""
    model, Psi, stiffness = body.model, basis.Psi, basis.eigenvalues
    loads, U = _prestress(body, basis, loads)
    in_basis = Psi.T @ loads
    U = U - Psi @ (in_basis / stiffness[:, None])
    m, p = basis.modes, loads.shape[1]
    fields = np.column_stack([U, Psi])
    work = model.projected_geometric_stiffness(fields, Psi)
    forces = model.K @ fields
    total = np.zeros((p, m, m))
    shapes = np.zeros((m, m, m))  # phi_k . K p_ij
    for name, interface in model.interfaces.items():
        if interface.kind == "rigid":
            total += _particular_work(model, name, basis, loads - forces[:, :p])
            shapes += _particular_work(model, name, basis, forces[:, p:])
    cubic = work[p:] + shapes + shapes.transpose(1, 0, 2) + shapes.transpose(1, 2, 0)
    weight = stiffness**2
    share = weight[:, None, None] / (weight[:, None, None] + weight[None, :, None] + weight[None, None, :])
    along = -share * cubic / stiffness[:, None, None]
    return total - work[:p] + np.einsum("kp,kij->pij", in_basis, along)


def _prestress(body: Statics, basis: Basis, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loads in equilibrium with the reactions of the body frame, and their static solutions in that frame."""
    model = body.model
    if basis.attached_to is None:
        return loads - body.MR @ (body.R.T @ loads), free_displacement(body, loads)
    interface = model.interfaces[basis.attached_to]
    B, R = interface.motion_rows(model), rigid_motion(model.points, interface.point)
    loads = loads - B @ (R.T @ loads)
    U = free_displacement(body, loads)
    return loads, U - R @ (B.T @ U)


def _particular_work(model: Model, name: str, basis: Basis, forces: np.ndarray) -> np.ndarray:
    """`sum f . p_ij` (k, m, m) of `forces` (ndof, k) over the nodes of an interface, `p_ij = theta_i x (theta_j x x)` symmetrised."""
    interface = model.interfaces[name]
    theta = basis.interface_rows[name][3:]
    x = model.points[interface.nodes] - interface.point
    F = np.einsum("na,nbk->kab", x, forces[interface.dofs].reshape(len(x), 3, -1))
    F = 0.5 * (F + F.transpose(0, 2, 1)) - np.trace(F, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    return np.einsum("ai,kab,bj->kij", theta, F, theta)
