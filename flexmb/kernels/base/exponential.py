"""Rates of exponential coordinates: what a method for vector spaces integrates on the group of rigid motions."""

from numba import njit

from flexmb.kernels.base.algebra import cross, part, plus, put, times

BERNOULLI = (0.5, 1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0)
"""Coefficients of `ad`, `ad^2`, `ad^4`, `ad^6` in the inverse of the exponential's derivative."""


@njit(cache=True)
def bernoulli_rates(theta, w):
    """`thetadot = w + ad w / 2 + ad^2 w / 12 - ad^4 w / 720 + ...`, twists as pairs: the series of the inverse of the exponential's derivative.

    Hairer, Lubich and Wanner, Geometric Numerical Integration, 2006, lemma III.4.2; velocities in body axes turn the sign of odd terms. Cut after the sixth power: an error of `1e-6 |theta|^8 |w|`.
    """
    u, phi = theta
    v, omega = w
    linear, angular = v, omega
    for power in range(1, 7):
        v, omega = plus(cross(phi, v), cross(u, omega)), cross(phi, omega)
        if power == 1 or power % 2 == 0:
            factor = BERNOULLI[0] if power == 1 else BERNOULLI[power // 2]
            linear, angular = plus(linear, times(factor, v)), plus(angular, times(factor, omega))
    return linear, angular


@njit(cache=True)
def exponential_rates(v_start, theta, w, out):
    """`out = d/dt theta` (nv,) of `q = q0 o exp(theta)` moving with `w`; twists of six numbers a body, elastic coordinates as they are."""
    for b in range(len(v_start) - 1):
        s = v_start[b]
        linear, angular = bernoulli_rates((part(theta, s), part(theta, s + 3)), (part(w, s), part(w, s + 3)))
        put(out, s, linear)
        put(out, s + 3, angular)
        for i in range(s + 6, v_start[b + 1]):
            out[i] = w[i]
