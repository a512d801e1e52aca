"""The point of a triangle that is closest to another point."""

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, scale, sub


@njit(cache=True)
def weights_on_triangle(a, b, c):
    """The barycentric coordinates of the point of a triangle that is closest to the origin, and the corners that span
    it, as bits.

    Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.5.
    """
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0, 1
    d3, d4 = -dot(ab, b), -dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0, 2
    w = d1 * d4 - d3 * d2
    if w <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0, 3
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0, 4
    v = d5 * d2 - d1 * d6
    if v <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t, 5
    u = d3 * d6 - d5 * d4
    if u <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t, 6
    total = u + v + w
    return u / total, v / total, w / total, 7


@njit(cache=True)
def on_triangle(a, b, c):
    """The point of a triangle that is closest to the origin, and the corners that span it, as bits."""
    u, v, w, bits = weights_on_triangle(a, b, c)
    if bits == 7:  # along the normal, whose length the weights would round
        n = cross(sub(b, a), sub(c, a))
        return scale(dot(a, n) / dot(n, n), n), bits
    return add(scale(u, a), add(scale(v, b), scale(w, c))), bits
