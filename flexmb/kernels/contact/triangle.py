"""The point of a triangle that is closest to another point, and polygons that are cut from triangles."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, scale, sub

CORNERS = 9
"""Most corners of a triangle that is cut by three lines: 6 in exact arithmetic, in which a line crosses the border of a
convex polygon twice. Corners that are on the line to round-off may be on either side of it, one after the other: each
of those that are cut off leaves two crossings in its place, and every second corner is cut off at most. Three corners
become 4, these become 6, and these become 9."""


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


@njit(cache=True)
def cut_triangle(polygon, work):
    """Cut a triangle, the first three rows of `polygon` (9, 4), to its part in the unit triangle x >= 0, y >= 0,
    x + y <= 1; returns the number of corners. The first two columns are x and y, the others linear functions of them;
    `work` (9, 4) is overwritten. Both have room for `CORNERS`.

    Source: Sutherland and Hodgman, Commun. ACM 17 (1974) 32-42.
    """
    count = 3
    for side in range(3):
        kept = 0
        for i in range(count):
            j = i + 1 if i + 1 < count else 0
            a, b = _inside(polygon, i, side), _inside(polygon, j, side)
            if a >= 0.0:
                for c in range(4):
                    work[kept, c] = polygon[i, c]
                kept += 1
            if (a < 0.0) != (b < 0.0):
                t = a / (a - b)
                for c in range(4):
                    work[kept, c] = polygon[i, c] + t * (polygon[j, c] - polygon[i, c])
                kept += 1
        count = kept
        for i in range(count):
            for c in range(4):
                polygon[i, c] = work[i, c]
    return count


@njit(cache=True, inline="always")
def _inside(polygon, i, side):
    """How far corner `i` is within a side of the unit triangle."""
    if side == 2:
        return 1.0 - polygon[i, 0] - polygon[i, 1]
    return polygon[i, side]


@njit(cache=True)
def nearest_in_polygon(polygon, count, x, y):
    """The point of a convex polygon, the first `count` rows of `polygon` (., 2 or more), that is closest to (x, y), and
    the square of its distance."""
    best, px, py, signs = np.inf, x, y, 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        ax, ay = polygon[i, 0], polygon[i, 1]
        ex, ey = polygon[j, 0] - ax, polygon[j, 1] - ay
        square, turn = ex * ex + ey * ey, ex * (y - ay) - ey * (x - ax)
        signs += 1 if turn > 0.0 else (-1 if turn < 0.0 else 0)
        t = min(max((ex * (x - ax) + ey * (y - ay)) / square, 0.0), 1.0) if square > 0.0 else 0.0
        far = (ax + t * ex - x) ** 2 + (ay + t * ey - y) ** 2
        if far < best:
            best, px, py = far, ax + t * ex, ay + t * ey
    if abs(signs) == count:
        return x, y, 0.0
    return px, py, best
