"""The second-order displacement field of a basis, through its integrals: the source of geometric stiffness.

To second order in the elastic coordinates a nodal displacement is `Psi eta + 1/2 g(eta, eta)`. The linear shapes alone
give the Green strain a quadratic part: a bar that bends without shortening is stretched. The field g is the
displacement whose linear strain takes that part away, as well as strain energy can measure it: for every virtual
displacement v,

    v . K g_ij = - int sigma(v) : (grad phi_i^T grad phi_j) = - phi_i^T K_G(v) phi_j                   (1)

with K_G the geometric (stress) stiffness. Then the strain energy is quadratic in eta to third order, and to fourth but
for what no displacement can take away. By reciprocity the integral of g against any load f needs one static solution,
and never g:

    f . g_ij = - phi_i^T K_G(u_f) phi_j,        K u_f = f                                           (2)

(Wallrapp and Schwertassek, "Representation of geometric stiffening in multibody system simulation", Int. J. Numer.
Meth. Engng 32 (1991) 1833-1850.) It holds whatever the basis contains: a stiff shape (extension) in the basis is
measured from the foreshortened state. (The whole derivative of the tangent stiffness in the place of K_G would move
part of (1) between the three shapes of each cubic term: extension would bend, and lateral buckling loads come out
several times too high.)

Two things complete (2):

- *The frame.* u_f is taken with the reference conditions of the basis: the interface of an attached frame at rest, or
  relative to mean axes.
- *Rigid interfaces turn rigidly.* In the linear model they stretch by theta^2 / 2 when they turn by theta. The
  particular field `p_ij = theta_i x (theta_j x x)`, symmetrised, on their nodes undoes it; its work with the constraint
  forces enters (2).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from reduction.basis import Basis
from reduction.error.truncated_statics import PATTERNS, acceleration_loads, truncated
from reduction.second_order_modes import SecondOrderModes, second_order_modes
from reduction.solutions.statics import Statics, inertia_relief_solution, statics


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Integrals of the second-order field `g_ij` of a basis of m shapes; all symmetric in i, j. Units: consistent.

    - `first` (3, m, m): `int g_ij` over the mass; `moments` (3, 3, m, m): `int X_a (g_ij)_b` over the mass, X from the
      mesh's origin.
    - `interfaces`: for each interface (6, m, m), the second-order translation of its point and rotation: with the rows
      of the basis, `t = rows[:3] eta + 1/2 second[:3](eta, eta)`, and the rotation vector likewise.
    - `shapes`: the field itself, of the softest pairs of coordinates, for pictures; computed when it is first used.
    - `truncated` (ndof, 12): what the basis lacks of the static response to twelve accelerations, from the same
      solutions (`reduction.error.truncated_statics`).
    """

    first: Float[np.ndarray, "3 m m"]
    moments: Float[np.ndarray, "3 3 m m"]
    interfaces: Mapping[str, Float[np.ndarray, "6 m m"]]
    shapes: SecondOrderModes
    truncated: Float[np.ndarray, "ndof 12"]


@one_openblas_thread()
def second_order(model: Model, basis: Basis) -> SecondOrder:
    """Compute the integrals of the second-order field of `basis`, which any method may have made, on `model`.

    Cost: one factorisation of K (none in a `prepared` block, or while the factor of the reduction is kept), 12 static
    solves and 6 for each interface, and about 18 m^2 (12 + 6 ni) flops for each quadrature point. The field itself
    costs at most 2 m further solves, at its first use. The step of a simulation costs no more.

    Raises MatrixError for a model made from matrices (K_G needs elements).
    """
    body = statics(model)
    loads = acceleration_loads(model)
    balanced, U = _prestress(body, basis, loads)
    values = _works(model, basis, balanced, U)
    interfaces = {}
    for k, name in enumerate(model.interfaces):
        own = slice(PATTERNS + 6 * k, PATTERNS + 6 * k + 6)
        interfaces[name] = values[own] - _particular_work(model, name, basis, loads[:, own])
    gather = model.dof_map.gather
    lacking = truncated(body, basis, gather(loads), gather(balanced), U)
    moments = values[3:PATTERNS].reshape(3, 3, basis.n_modes, basis.n_modes)
    body.keep(long=True)
    return SecondOrder(values[:3], moments, interfaces, second_order_modes(model, basis), lacking)


def _works(model: Model, basis: Basis, loads: np.ndarray, U: np.ndarray) -> np.ndarray:
    """`f . g_ij` (p, m, m) of the balanced `loads` (n_all, p) on the dofs of all nodes, with their static solutions."""
    forces = loads - model.stiffness_of_all @ model.dof_map.expand(U)
    total = -model.second_order_work(U, loads, basis.Psi)
    for name, interface in model.interfaces.items():
        if interface.kind == "rigid":
            total += _particular_work(model, name, basis, forces)
    return total


def _prestress(body: Statics, basis: Basis, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loads on the dofs of all nodes in equilibrium with the reactions of the body frame, and their static solutions up
    to a rigid motion, which has no stress."""
    model, gather = body.model, body.model.dof_map.gather
    if basis.reference_frame is None:
        MR = model.mass_of_all @ model.dof_map.expand(body.R)
        return loads - MR @ (body.R.T @ gather(loads)), inertia_relief_solution(body, gather(loads))
    interface = model.interfaces[basis.reference_frame]
    B, R = interface.nodal_matrix(model), model.rigid_body_modes(interface.point)
    loads = loads - B @ (R.T @ gather(loads))
    return loads, inertia_relief_solution(body, gather(loads))


def _particular_work(model: Model, name: str, basis: Basis, forces: np.ndarray) -> np.ndarray:
    """`sum f . p_ij` (k, m, m) of `forces` (n_all, k) over the nodes of an interface, `p_ij = theta_i x (theta_j x x)`
    symmetrised."""
    interface = model.interfaces[name]
    theta = basis.interface_modes[name][3:]
    x = model.points[interface.nodes] - interface.point
    F = np.einsum("na,nbk->kab", x, forces[interface.translation_dofs].reshape(len(x), 3, -1))
    F = 0.5 * (F + F.transpose(0, 2, 1)) - np.trace(F, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    return np.einsum("ai,kab,bj->kij", theta, F, theta)
