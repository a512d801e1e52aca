"""The exponential of the group of rigid motions SE(3): rates of its coordinates and its derivatives.

The rates allow methods for vector spaces to integrate motions on the group. Twists and wrenches are pairs (linear,
angular). All functions are power series in `ad`, truncated at round-off.
"""

from numba import njit

from flexmb.kernels.base.algebra import add, cross, load3, scale, store

BERNOULLI = (0.5, 1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0)
"""Coefficients of `ad`, `ad^2`, `ad^4`, `ad^6` in the inverse of the derivative of the exponential."""

TERMS = 16
"""Largest number of terms of the exponential series; rotations by one radian require all."""


@njit(cache=True)
def commuted(x, y):
    """`ad_x y` for two twists: their commutator."""
    return add(cross(x[1], y[0]), cross(x[0], y[1])), cross(x[1], y[1])


@njit(cache=True)
def commuted_back(x, f):
    """`ad_x^T f` for a twist `x` and a wrench `f`."""
    return cross(f[0], x[1]), add(cross(f[0], x[0]), cross(f[1], x[1]))


@njit(cache=True)
def carried(x, y, tangent, back):
    """The derivative of the end of a motion by `x` with respect to its start, `exp(-ad_x) y`, for a change `y` of the
    start.

    With `tangent`, the derivative with respect to `x`: `T y` with `T = (1 - exp(-ad_x)) / ad_x`. With `back`, the
    products with the transposed matrices.
    """
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
    """`T^-T f` with `T` as in `carried`, by the series of `bernoulli_rates`."""
    out, term = f, f
    for power in range(1, 7):
        term = commuted_back(x, term)
        if power == 1 or power % 2 == 0:
            factor = BERNOULLI[0] if power == 1 else BERNOULLI[power // 2]
            out = (add(out[0], scale(factor, term[0])), add(out[1], scale(factor, term[1])))
    return out


@njit(cache=True)
def bernoulli_rates(theta, w):
    """`thetadot = w + ad w / 2 + ad^2 w / 12 - ad^4 w / 720 + ...`: the inverse of the derivative of the exponential.

    The series is truncated after the sixth power, with an error of `1e-6 |theta|^8 |w|`. Source: Hairer, Lubich and
    Wanner, Geometric Numerical Integration, 2006, lemma III.4.2; for velocities in body axes odd terms change sign.
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
    """Rates `out` (nv,) of the coordinates `theta` (nv,) of `q = q0 o exp(theta)` for velocities `w` (nv,).

    Per body `theta` holds a twist (6) and elastic increments (m).
    """
    for b in range(len(v_start) - 1):
        s = v_start[b]
        linear, angular = bernoulli_rates((load3(theta, s), load3(theta, s + 3)), (load3(w, s), load3(w, s + 3)))
        store(out, s, linear)
        store(out, s + 3, angular)
        for i in range(s + 6, v_start[b + 1]):
            out[i] = w[i]
