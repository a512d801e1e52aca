"""The point of a triangle that is closest to another point."""

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, scale, sub


@njit(cache=True)
def on_triangle(a, b, c):
    """The point of a triangle that is closest to the origin, and the corners that span it, as bits.

    Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.5.
    """
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, 1
    d3, d4 = -dot(ab, b), -dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return b, 2
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return add(a, scale(d1 / (d1 - d3), ab)), 3
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return c, 4
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return add(a, scale(d2 / (d2 - d6), ac)), 5
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return add(b, scale((d4 - d3) / ((d4 - d3) + (d5 - d6)), sub(c, b))), 6
    n = cross(ab, ac)
    return scale(dot(a, n) / dot(n, n), n), 7
