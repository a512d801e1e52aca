"""Equations of motion of one body, written to be read: the reference for the compiled kernels.

Body-frame velocities `w = [v, omega, etadot]`; kinetic energy kept to second order in `eta, etadot`.
Equations: see docs/theory; Shabana (2013) chapter 5 for the classical form.
"""

import numpy as np
from jaxtyping import Float

from flexmb.body import Body
from flexmb.lie import skew


def first_moment(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "3"]:
    """`s(eta)`: mass times the position of the deformed mass centre, body axes."""
    inv = body.invariants
    return inv.s0 + inv.S1 @ eta + 0.5 * np.einsum("kij,i,j->k", inv.SG, eta, eta)


def mass_matrix(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "n n"]:
    """Mass matrix `M(eta)` (6+m, 6+m) of the velocities `[v, omega, etadot]`.

    `0.5 w @ M @ w` is the kinetic energy. Symmetric, positive definite inside the range of the body.
    """
    inv, m = body.invariants, body.modes
    s = first_moment(body, eta)
    J = inv.J0 + np.einsum("i,ikl->kl", eta, inv.J1) + np.einsum("i,j,ijkl->kl", eta, eta, inv.J2)
    Sf = inv.S1 + np.einsum("kij,i->kj", inv.SG, eta)
    Hf = inv.h0 + np.einsum("kij,i->kj", inv.h, eta)
    return np.block([[inv.mass * np.eye(3), -skew(s), Sf], [skew(s), J, Hf], [Sf.T, Hf.T, np.eye(m)]])


def momenta(
    body: Body, eta: Float[np.ndarray, "m"], w: Float[np.ndarray, "n"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear momentum `l` (3,), angular momentum `pi` (3,) about the body-frame origin, both in body axes, and `gamma` (m,)."""
    p = mass_matrix(body, eta) @ w
    return p[:3], p[3:6], p[6:]


def inertia_force(body: Body, eta: Float[np.ndarray, "m"], w: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Velocity-dependent inertia force `bias` (6+m,): `M wdot + bias = generalised forces`.

    From the momentum form: `ldot + omega x l = F`, `pidot + omega x pi + v x l = tau`, `gammadot - dT/deta = Q`.
    """
    inv = body.invariants
    v, omega, rate = w[:3], w[3:6], w[6:]
    Sf = inv.S1 + np.einsum("kij,i->kj", inv.SG, eta)
    sdot = Sf @ rate
    Sfdot = np.einsum("kij,i->kj", inv.SG, rate)
    dJ = inv.J1 + 2 * np.einsum("ijkl,j->ikl", inv.J2, eta)
    Hdot = np.einsum("kij,i->kj", inv.h, rate)
    l, pi, _ = momenta(body, eta, w)

    # time derivative of M at constant w, times w
    ldot = np.cross(omega, sdot) + Sfdot @ rate
    pidot = np.cross(sdot, v) + np.einsum("i,ikl,l->k", rate, dJ, omega) + Hdot @ rate
    gammadot = Sfdot.T @ v + Hdot.T @ omega
    dT = (
        Sf.T @ np.cross(v, omega)
        + np.einsum("kij,k,j->i", inv.SG, v, rate)
        + 0.5 * np.einsum("ikl,k,l->i", dJ, omega, omega)
        + np.einsum("kij,k,j->i", inv.h, omega, rate)
    )
    return np.concatenate([ldot + np.cross(omega, l), pidot + np.cross(omega, pi) + np.cross(v, l), gammadot - dT])
