"""The equations of motion of one body in readable form: the reference for the compiled kernels.

Gravity, which is given in world axes, is added in flexmb/kernels/equations/residual.py, `balance_body`.

The velocities `w = [v, omega, etadot]` are in body axes, and the kinetic energy is of second order in `eta, etadot`.
With a second-order field, its terms of higher order are chosen so that the mass matrix is positive definite at any
deformation: with the rigid blocks M_rr(eta), M_re(eta) and the rigid velocity `u = [v, omega] + M_rr^-1 M_re etadot`
that carries the whole momentum,

    T = 1/2 u . M_rr u + 1/2 etadot . (I - M_re0^T M_rr0^-1 M_re0) etadot                  (0: undeformed)

Its expansion agrees with the kinetic energy to second order. If the expansion were truncated there, the mass matrix
would become indefinite once the deformation exceeds the smallest difference between the shapes and a rigid motion; for
a frame attached to one end of the body that happens early. Without a second-order field the kinetic energy is exactly
that of the linear field.

Equations: docs/theory.md, "One body"; Shabana (2013), chapter 5, for the classical form.
"""

import numpy as np
from jaxtyping import Float

from flexmb.bodies.body import Body
from flexmb.bodies.invariants import inertia_of, inverse_moments, rigid_mass, second_moments


def first_moment(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "3"]:
    """The first moment `s(eta)` (3,): mass times the position of the deformed mass centre, in body axes, for elastic
    coordinates `eta` (m,)."""
    inv = body.invariants
    return inv.s0 + inv.S1 @ eta + 0.5 * np.einsum("kij,i,j->k", inv.SG, eta, eta)


def _inertia(body: Body, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`J(eta)` (3, 3) and its derivatives (m, 3, 3).

    The field g is represented by the affine field `alpha + beta X` with the same first two moments, where
    `beta P_0 = int g X^T` about the mass centre. The second moments about the mass centre are then `F P F^T`, with the
    moments P without g and `F = I + beta / 2`. They are positive definite and correct to second order.
    """
    inv = body.invariants
    J = inv.J0 + np.einsum("i,ikl->kl", eta, inv.J1) + np.einsum("i,j,ijkl->kl", eta, eta, inv.J2)
    dJ = inv.J1 + 2 * np.einsum("ijkl,j->ikl", inv.J2, eta)
    if not inv.second_order:
        return J, dJ
    s_linear, s = inv.s0 + inv.S1 @ eta, first_moment(body, eta)
    ds = (inv.S1 + np.einsum("kij,j->ki", inv.SG, eta)).T
    C = inv.PG.transpose(1, 0, 2, 3) - np.einsum("bij,a->baij", inv.SG, inv.s0) / inv.mass
    beta = np.einsum("baij,ac->ijbc", C, inverse_moments(inv))
    F, dF = np.eye(3) + 0.5 * np.einsum("i,j,ijab->ab", eta, eta, beta), np.einsum("j,ijab->iab", eta, beta)
    P = second_moments(J) - np.outer(s_linear, s_linear) / inv.mass
    dP = second_moments(dJ) - _symmetric(np.einsum("ka,b->kab", inv.S1.T, s_linear)) / inv.mass
    half = dF @ P @ F.T
    central, rate = F @ P @ F.T, half + half.transpose(0, 2, 1) + F @ dP @ F.T
    whole = central + np.outer(s, s) / inv.mass
    return inertia_of(whole), inertia_of(rate + _symmetric(np.einsum("ka,b->kab", ds, s)) / inv.mass)


def _symmetric(A: np.ndarray) -> np.ndarray:
    return A + A.swapaxes(-1, -2)


def _blocks(body: Body, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`M_rr` (6, 6) and `M_re = [S_f; H_f]` (6, m)."""
    inv = body.invariants
    Sf = inv.S1 + np.einsum("kij,i->kj", inv.SG, eta)
    Hf = inv.h0 + np.einsum("kij,i->kj", inv.h, eta)
    return rigid_mass(inv.mass, first_moment(body, eta), _inertia(body, eta)[0]), np.vstack([Sf, Hf])


def mass_matrix(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "n n"]:
    """The mass matrix `M(eta)` (6+m, 6+m) of the velocities `[v, omega, etadot]` at elastic coordinates `eta` (m,).

    It is symmetric and positive definite; `0.5 w @ M @ w` is the kinetic energy.
    """
    Mrr, Mre = _blocks(body, eta)
    Mee = np.eye(body.modes)
    if body.invariants.second_order:
        rest, coupling = _blocks(body, np.zeros(body.modes))
        Mee += Mre.T @ np.linalg.solve(Mrr, Mre) - coupling.T @ np.linalg.solve(rest, coupling)
    return np.block([[Mrr, Mre], [Mre.T, Mee]])


def momenta(
    body: Body, eta: Float[np.ndarray, "m"], w: Float[np.ndarray, "n"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear momentum `l` (3,) and angular momentum `pi` (3,) about the origin of the body frame, both in body axes,
    and the generalised momenta `gamma` (m,) of the elastic coordinates, at `eta` (m,) and `w` (6+m,)."""
    p = mass_matrix(body, eta) @ w
    return p[:3], p[3:6], p[6:]


def inertia_force(body: Body, eta: Float[np.ndarray, "m"], w: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """The velocity-dependent inertia force `bias` (6+m,) in `M wdot + bias = generalised forces`, at `eta` (m,) and `w`
    (6+m,).

    It follows from the balance of momenta: `ldot + omega x l = F`, `pidot + omega x pi + v x l = tau`,
    `gammadot - dT/deta = Q`.
    """
    inv = body.invariants
    v, omega, rate = w[:3], w[3:6], w[6:]
    Mrr, Mre = _blocks(body, eta)
    Sf = Mre[:3]
    sdot = Sf @ rate
    dJ = _inertia(body, eta)[1]
    Mrr_rate = rigid_mass(0.0, sdot, np.einsum("i,ikl->kl", rate, dJ))
    Mre_rate = np.vstack([np.einsum("kij,i->kj", inv.SG, rate), np.einsum("kij,i->kj", inv.h, rate)])
    u = w[:6] + np.linalg.solve(Mrr, Mre @ rate) if inv.second_order else w[:6]
    l, pi, _ = momenta(body, eta, w)
    drift = Mrr_rate @ w[:6] + Mre_rate @ rate  # rates of the momenta at constant w
    rigid = drift + np.concatenate([np.cross(omega, l), np.cross(omega, pi) + np.cross(v, l)])

    def along_shapes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """`a . dM_rr/deta_k b` (m,)."""
        return Sf.T @ (np.cross(a[:3], b[3:]) + np.cross(b[:3], a[3:])) + np.einsum("ikl,k,l->i", dJ, a[3:], b[3:])

    coupling_rate = np.vstack([np.einsum("kij,j->ki", inv.SG, rate), np.einsum("kij,j->ki", inv.h, rate)])
    elastic = Mre_rate.T @ u - coupling_rate.T @ u - along_shapes(u, w[:6]) + 0.5 * along_shapes(u, u)
    if inv.second_order:
        elastic += Mre.T @ np.linalg.solve(Mrr, drift - Mrr_rate @ u)
    return np.concatenate([rigid, elastic])
