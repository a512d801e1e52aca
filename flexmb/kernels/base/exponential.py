"""The exponential of the group of rigid motions: rates of its coordinates, which a method for vector spaces integrates, and what a change of its argument or of its start makes of its end.

Twists and wrenches are pairs (linear, angular). Series, cut where they are round-off: `ad` takes the place of a number.
"""

from numba import njit

from flexmb.kernels.base.algebra import add, cross, load3, scale, store

BERNOULLI = (0.5, 1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0)
"""Coefficients of `ad`, `ad^2`, `ad^4`, `ad^6` in the inverse of the exponential's derivative."""

TERMS = 16
"""Most terms of the exponential's series; a step that turns a body by one radian needs all."""


@njit(cache=True)
def commuted(x, y):
    """`ad_x y` of two twists: [x, y] as matrices."""
    return add(cross(x[1], y[0]), cross(x[0], y[1])), cross(x[1], y[1])


@njit(cache=True)
def commuted_back(x, f):
    """`ad_x^T f` of a twist and a wrench."""
    return cross(f[0], x[1]), add(cross(f[0], x[0]), cross(f[1], x[1]))


@njit(cache=True)
def carried(x, y, tangent, back):
    """`exp(-ad_x) y`: the change `y` of where a motion by `x` starts becomes that of where it ends; or, `tangent`, that of `x`: `T y` with `T = (1 - exp(-ad)) / ad`; `back`: by the transposed."""
    size = abs(x[1][0]) + abs(x[1][1]) + abs(x[1][2])
    out, term, reach = y, y, 1.0
    for k in range(1, TERMS + 1):
        factor = -1.0 / (k + 1 if tangent else k)
        linear, angular = commuted_back(x, term) if back else commuted(x, term)
        term = (scale(factor, linear), scale(factor, angular))
        out = (add(out[0], term[0]), add(out[1], term[1]))
        reach *= size / k
        if k > 1 and reach < 1e-17:
            break
    return out


@njit(cache=True)
def unwound_back(x, f):
    """`T^-T f`, with T as above; see `bernoulli_rates`."""
    out, term = f, f
    for power in range(1, 7):
        term = commuted_back(x, term)
        if power == 1 or power % 2 == 0:
            factor = BERNOULLI[0] if power == 1 else BERNOULLI[power // 2]
            out = (add(out[0], scale(factor, term[0])), add(out[1], scale(factor, term[1])))
    return out


@njit(cache=True)
def bernoulli_rates(theta, w):
    """`thetadot = w + ad w / 2 + ad^2 w / 12 - ad^4 w / 720 + ...`, twists as pairs: the series of the inverse of the exponential's derivative.

    Hairer, Lubich and Wanner, Geometric Numerical Integration, 2006, lemma III.4.2; velocities in body axes turn the sign of odd terms. Cut after the sixth power: an error of `1e-6 |theta|^8 |w|`.
    """
    u, phi = theta
    v, omega = w
    linear, angular = v, omega
    for power in range(1, 7):
        v, omega = add(cross(phi, v), cross(u, omega)), cross(phi, omega)
        if power == 1 or power % 2 == 0:
            factor = BERNOULLI[0] if power == 1 else BERNOULLI[power // 2]
            linear, angular = add(linear, scale(factor, v)), add(angular, scale(factor, omega))
    return linear, angular


@njit(cache=True)
def exponential_rates(v_start, theta, w, out):
    """`out = d/dt theta` (nv,) of `q = q0 o exp(theta)` moving with `w`; twists of six numbers a body, elastic coordinates as they are."""
    for b in range(len(v_start) - 1):
        s = v_start[b]
        linear, angular = bernoulli_rates((load3(theta, s), load3(theta, s + 3)), (load3(w, s), load3(w, s + 3)))
        store(out, s, linear)
        store(out, s + 3, angular)
        for i in range(s + 6, v_start[b + 1]):
            out[i] = w[i]
