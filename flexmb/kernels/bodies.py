"""Mass blocks, inertia forces and energies of one body (theory.md sections 2 and 3), compiled."""

import numpy as np
from numba import njit

from flexmb.lie import cross, skew, turn

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
def body_terms(flat, b, eta, w, products, Mrr, Mre, bias):
    """Fill the mass blocks and the velocity-dependent inertia force of body `b`; return its kinetic energy.

    Inputs `eta` (m,), `w = [v, omega, etadot]` (6+m,), work array `products` (15, 2, m). Outputs
    `Mrr` (6, 6), `Mre = [S_f; H_f]` (6, m) and `bias` (6+m,), so that the equations of the body read
    `M wdot + bias = forces`.
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
        second = flat.slices[b] == 15
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
                coupling = -products[6 + k, 0, i] + (products[12 + k, 0, i] if second else 0.0)
                Mre[3 + k, i] = lin[9 + k, i] + coupling
                if second:
                    SG_rates[k] += products[9 + k, 1, i] * etadot[i]
                    Hdot_rates[k] += products[12 + k, 1, i] * etadot[i]

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

    bias[0:3] = cross(omega, sdot) + SG_rates + cross(omega, momentum)
    bias[3:6] = cross(omega, angular) + cross(v, momentum) + cross(sdot, v) + turn(Jdot, omega) + Hdot_rates
    kinetic = 0.0
    for k in range(3):
        kinetic += 0.5 * (v[k] * momentum[k] + omega[k] * angular[k])
    if m > 0:
        vw = cross(v, omega)
        for i in range(m):
            force = 0.0
            gamma = etadot[i]
            for k in range(3):
                gamma += Mre[k, i] * v[k] + Mre[3 + k, i] * omega[k]
                force -= Mre[k, i] * vw[k] + 2.0 * omega[k] * products[6 + k, 1, i]
            for k in range(6):
                both = 1.0 if k < 3 else 2.0
                force -= 0.5 * both * dJ[k, i] * omega[_PAIRS[k, 0]] * omega[_PAIRS[k, 1]]
            bias[6 + i] = force
            kinetic += 0.5 * etadot[i] * gamma
    return kinetic


@njit(cache=True)
def first_moment(flat, b, eta, products):
    """First mass moment `s(eta)` (3,) of body `b`; uses the products made by `body_terms` at the same `eta`."""
    m = flat.modes[b]
    s = flat.s0[b].copy()
    for k in range(3):
        for i in range(m):
            g = products[9 + k, 0, i] if flat.slices[b] == 15 else 0.0
            s[k] += (flat.linear[flat.linear_start[b] + k * m + i] + 0.5 * g) * eta[i]
    return s
