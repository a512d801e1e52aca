"""Mass blocks, inertia forces and energies of one body, compiled; flexmb/dynamics.py says the same in a readable way."""

import numpy as np
from numba import njit

from flexmb.kernels.data import SECOND_ORDER
from flexmb.kernels.dense import add_coupled, cholesky, solve6
from flexmb.lie import cross, matmul, skew, turn

_PAIRS = np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 2], [2, 0]])


@njit(cache=True, fastmath={"reassoc", "contract"})
def _two_products(slices, count, m, eta, etadot, out):
    """`out[k, 0] = Q_k eta` and `out[k, 1] = Q_k etadot` for `count` slices `Q_k` (m, m): the O(m^2) part of a step."""
    for k in range(count):
        base = k * m * m
        for i in range(m):
            a = 0.0
            b = 0.0
            start = base + i * m
            for j in range(m):
                a += slices[start + j] * eta[j]
                b += slices[start + j] * etadot[j]
            out[k, 0, i] = a
            out[k, 1, i] = b


@njit(cache=True)
def _add_affine_part(mass, s0, inverse, S1, Sf, products, eta, s, J, dJ):
    """Change inertia `J` (3, 3) and its derivatives `dJ` (6, m) from those of the linear field to those with g.

    About the mass centre `P -> F P F^T`, `F = I + beta / 2`: see `flexmb.dynamics`. `inverse`: that of the undeformed second moments;
    `S1`, `Sf`: derivatives of the first moment without and with g; `s`: the first moment with g.
    """
    m = len(eta)
    C = np.zeros((3, 3))
    linear = s0.copy()
    for i in range(m):
        for r in range(3):
            linear[r] += S1[r, i] * eta[i]
            for c in range(3):
                C[r, c] += (products[12 + 3 * c + r, 0, i] - products[9 + r, 0, i] * s0[c] / mass) * eta[i]
    F = np.eye(3) + 0.5 * matmul(C, inverse)
    P = _moments_from_inertia(J)
    for r in range(3):
        for c in range(3):
            P[r, c] -= linear[r] * linear[c] / mass
    W = matmul(P, F.T.copy())
    central = matmul(F, W)
    for r in range(3):
        for c in range(3):
            central[r, c] += s[r] * s[c] / mass
    trace = central[0, 0] + central[1, 1] + central[2, 2]
    for r in range(3):
        for c in range(3):
            J[r, c] = (trace if r == c else 0.0) - central[r, c]
    follow = matmul(inverse, W)
    dP = np.empty((3, 3))
    half = np.empty((3, 3))
    one = np.empty(6)
    for i in range(m):
        quarter = 0.5 * (dJ[0, i] + dJ[1, i] + dJ[2, i])
        for k in range(6):
            r, c = _PAIRS[k, 0], _PAIRS[k, 1]
            value = (quarter if k < 3 else 0.0) - dJ[k, i] - (S1[r, i] * linear[c] + linear[r] * S1[c, i]) / mass
            dP[r, c] = value
            dP[c, r] = value
        for r in range(3):
            for c in range(3):
                C[r, c] = products[12 + 3 * c + r, 0, i] - products[9 + r, 0, i] * s0[c] / mass
        for r in range(3):  # half + half^T = F dP F^T + what the change of F does
            x = F[r, 0] * dP[0, 0] + F[r, 1] * dP[1, 0] + F[r, 2] * dP[2, 0]
            y = F[r, 0] * dP[0, 1] + F[r, 1] * dP[1, 1] + F[r, 2] * dP[2, 1]
            z = F[r, 0] * dP[0, 2] + F[r, 1] * dP[1, 2] + F[r, 2] * dP[2, 2]
            for c in range(3):
                half[r, c] = 0.5 * (x * F[c, 0] + y * F[c, 1] + z * F[c, 2])
                half[r, c] += C[r, 0] * follow[0, c] + C[r, 1] * follow[1, c] + C[r, 2] * follow[2, c]
        for k in range(6):
            r, c = _PAIRS[k, 0], _PAIRS[k, 1]
            one[k] = half[r, c] + half[c, r] + (Sf[r, i] * s[c] + s[r] * Sf[c, i]) / mass
        trace = one[0] + one[1] + one[2]
        for k in range(6):
            dJ[k, i] = (trace if k < 3 else 0.0) - one[k]


@njit(cache=True)
def _moments_from_inertia(J):
    """`P = tr(J) I / 2 - J`."""
    P = -J
    half = 0.5 * (J[0, 0] + J[1, 1] + J[2, 2])
    for k in range(3):
        P[k, k] += half
    return P


@njit(cache=True)
def body_terms(flat, b, eta, w, products, Mrr, Mre, bias):
    """Fill the mass blocks and the velocity-dependent inertia force of body `b`; return its kinetic energy.

    Inputs `eta` (m,), `w = [v, omega, etadot]` (6+m,), work array `products` (21, 2, m). Outputs
    `Mrr` (6, 6), `Mre = [S_f; H_f]` (6, m) and `bias` (6+m,), so that the equations of the body read
    `M wdot + bias = forces`, with `M_ee = I`, or that of `elastic_inertia` with a second-order field.
    """
    m = flat.modes[b]
    v = w[0:3]
    omega = w[3:6]
    etadot = w[6 : 6 + m]
    s = flat.s0[b].copy()
    J = flat.J0[b].copy()
    Jdot = np.zeros((3, 3))
    sdot = np.zeros(3)
    SG_rates = np.zeros(3)  # SG(etadot, etadot)
    Hdot_rates = np.zeros(3)  # Hdot etadot
    mass = flat.mass[b]

    if m > 0:
        second = flat.slices[b] == SECOND_ORDER
        lin = flat.linear[flat.linear_start[b] : flat.linear_start[b] + 12 * m].reshape(12, m)
        quad = flat.quadratic[flat.quadratic_start[b] :]
        _two_products(quad, flat.slices[b], m, eta, etadot, products)
        dJ = np.empty((6, m))
        for k in range(6):
            r, c = _PAIRS[k, 0], _PAIRS[k, 1]
            value = 0.0
            rate = 0.0
            for i in range(m):
                first = lin[3 + k, i]
                dJ[k, i] = first + 2.0 * products[k, 0, i]
                value += (first + products[k, 0, i]) * eta[i]
                rate += dJ[k, i] * etadot[i]
            J[r, c] += value
            Jdot[r, c] = rate
            if r != c:
                J[c, r] += value
                Jdot[c, r] = rate
        for k in range(3):
            for i in range(m):
                S1 = lin[k, i]
                g = products[9 + k, 0, i] if second else 0.0
                s[k] += (S1 + 0.5 * g) * eta[i]
                Mre[k, i] = S1 + g
                sdot[k] += Mre[k, i] * etadot[i]
                Mre[3 + k, i] = lin[9 + k, i] - products[6 + k, 0, i]
                if second:
                    a, b_ = 12 + 3 * ((k + 1) % 3) + (k + 2) % 3, 12 + 3 * ((k + 2) % 3) + (k + 1) % 3  # X x g
                    Mre[3 + k, i] += products[a, 0, i] - products[b_, 0, i]
                    SG_rates[k] += products[9 + k, 1, i] * etadot[i]
                    Hdot_rates[k] += (products[a, 1, i] - products[b_, 1, i]) * etadot[i]
        if second:
            _add_affine_part(mass, flat.s0[b], flat.rest_moments[b], lin[0:3], Mre, products, eta, s, J, dJ)
            for k in range(6):
                rate = 0.0
                for i in range(m):
                    rate += dJ[k, i] * etadot[i]
                Jdot[_PAIRS[k, 0], _PAIRS[k, 1]] = rate
                Jdot[_PAIRS[k, 1], _PAIRS[k, 0]] = rate

    mv = mass * v
    momentum = mv + cross(omega, s)
    angular = cross(s, v) + turn(J, omega)
    for k in range(3):
        for i in range(m):
            momentum[k] += Mre[k, i] * etadot[i]
            angular[k] += Mre[3 + k, i] * etadot[i]

    S = skew(s)
    for r in range(3):
        for c in range(3):
            Mrr[r, c] = mass if r == c else 0.0
            Mrr[r, 3 + c] = -S[r, c]
            Mrr[3 + r, c] = S[r, c]
            Mrr[3 + r, 3 + c] = J[r, c]

    drift = np.empty(6)  # rate of the momenta at constant velocities
    drift[0:3] = cross(omega, sdot) + SG_rates
    drift[3:6] = cross(sdot, v) + turn(Jdot, omega) + Hdot_rates
    bias[0:3] = drift[0:3] + cross(omega, momentum)
    bias[3:6] = drift[3:6] + cross(omega, angular) + cross(v, momentum)
    kinetic = 0.0
    for k in range(3):
        kinetic += 0.5 * (v[k] * momentum[k] + omega[k] * angular[k])
    if m == 0:
        return kinetic
    uv = v.copy()  # the rigid velocity that carries the momenta
    uw = omega.copy()
    back = np.zeros(6)
    if flat.slices[b] == SECOND_ORDER:
        L = Mrr.copy()
        cholesky(L)
        u = np.empty(6)
        u[0:3] = momentum
        u[3:6] = angular
        solve6(L, u)
        uv = u[0:3]
        uw = u[3:6]
        back[0:3] = drift[0:3] - cross(uw, sdot)
        back[3:6] = drift[3:6] - cross(sdot, uv) - turn(Jdot, uw)
        solve6(L, back)
        rest = np.zeros(6)
        add_coupled(flat.rest_Mre[b], m, 1.0, etadot, rest)
        still = rest.copy()
        solve6(flat.rest_chol[b], still)
        kinetic = 0.0
        for k in range(3):
            kinetic += 0.5 * (uv[k] * momentum[k] + uw[k] * angular[k])
        for k in range(6):
            kinetic -= 0.5 * rest[k] * still[k]
    arm = cross(uv, uw) - cross(uv, omega) - cross(v, uw)
    for i in range(m):
        force = 0.0
        gamma = etadot[i]
        for k in range(3):
            if flat.slices[b] != SECOND_ORDER:
                gamma += Mre[k, i] * v[k] + Mre[3 + k, i] * omega[k]
            force += Mre[k, i] * (arm[k] + back[k]) + Mre[3 + k, i] * back[3 + k] - 2.0 * uw[k] * products[6 + k, 1, i]
        for k in range(6):
            r, c = _PAIRS[k, 0], _PAIRS[k, 1]
            pair = uw[r] * uw[c] - uw[r] * omega[c] - omega[r] * uw[c]
            force += (0.5 if k < 3 else 1.0) * dJ[k, i] * pair
        bias[6 + i] = force
        kinetic += 0.5 * etadot[i] * gamma
    return kinetic


@njit(cache=True)
def add_elastic_inertia(flat, b, Mrr, Mre, rate, out):
    """`out += M_ee rate` (m,): the identity, with a second-order field plus `M_re^T M_rr^-1 M_re - M_re0^T M_rr0^-1 M_re0`."""
    m = flat.modes[b]
    for i in range(m):
        out[i] += rate[i]
    if flat.slices[b] != SECOND_ORDER or m == 0:
        return
    L = Mrr.copy()
    cholesky(L)
    now = np.zeros(6)
    add_coupled(Mre, m, 1.0, rate, now)
    solve6(L, now)
    rest = np.zeros(6)
    Mre0 = flat.rest_Mre[b]
    add_coupled(Mre0, m, 1.0, rate, rest)
    solve6(flat.rest_chol[b], rest)
    for i in range(m):
        for r in range(6):
            out[i] += Mre[r, i] * now[r] - Mre0[r, i] * rest[r]


@njit(cache=True)
def first_moment(flat, b, eta, products):
    """First mass moment `s(eta)` (3,) of body `b`; uses the products made by `body_terms` at the same `eta`."""
    m = flat.modes[b]
    s = flat.s0[b].copy()
    for k in range(3):
        for i in range(m):
            g = products[9 + k, 0, i] if flat.slices[b] == SECOND_ORDER else 0.0
            s[k] += (flat.linear[flat.linear_start[b] + k * m + i] + 0.5 * g) * eta[i]
    return s
