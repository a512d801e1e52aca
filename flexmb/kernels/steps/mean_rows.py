"""The mean Jacobian of all rows over a step in which every body moves by a constant twist: a discrete derivative.

The rate of the coordinate of a row along the step is `G(t) . D`, so that the mean of G over the step gives its exact
change (McLachlan, Quispel, Robidoux, "Geometric integration using discrete gradients", 1999: the mean value discrete
gradient). Each `G(t)` is a pair of opposite wrenches. It is transformed to the axes of the middle of the step with the
motion of the body itself, which leaves its twist invariant; the mean is therefore also such a pair.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, left_jacobian, load3, rotate, rotate_inv, rotation_exp, scale, store
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import all_rows

ENOUGH = 1e-17
"""Relative error of the quadrature."""
MOST = 12
"""Largest number of quadrature points, sufficient for four turns in a step."""


def quadrature(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points in [0, 1] and weights that integrate trigonometric functions over an `angle` (rad) to round-off."""
    bound, n = 1.0, 1
    while n < MOST:
        n += 1  # (angle/2)^(2n) / (2n)! is a bound of the error of n points
        bound = (0.5 * angle) ** (2 * n) / float(np.prod(np.arange(1.0, 2 * n + 1)))
        if n >= 3 and bound < ENOUGH:
            break
    x, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (1 + x), 0.5 * weights


@njit(cache=True)
def mean_rows(flat, q0, D, nodes, weights, functions, angle_memory, kinematics, values, q, moved, G, mean):
    """Fill the `mean` Jacobian (nt, 2, 6+mmax) of the terms of all rows over the step by `D` (nv,) from `q0` (nq,).

    `values` (nr,), `q` (nq,), `moved` (nv,) and `G` (nt, 2, 6+mmax) are work arrays.
    """
    mean[:] = 0.0
    for p in range(len(nodes)):
        for i in range(len(D)):
            moved[i] = nodes[p] * D[i]
        displace(flat, q0, moved, q)
        all_rows(flat, q, functions, angle_memory, kinematics, values, G)
        for r in range(len(flat.term_row)):
            for side in range(2):
                b = flat.marker_body[flat.term_markers[r, side]]
                if b == GROUND:
                    continue
                s, row, out = flat.v_start[b], G[r, side], mean[r, side]
                back = 0.5 - nodes[p]
                theta = scale(back, load3(D, s + 3))
                shift = rotate(left_jacobian(theta), scale(back, load3(D, s)))
                force, R = load3(row, 0), rotation_exp(theta)
                moment = rotate_inv(R, add(load3(row, 3), cross(force, shift)))
                store(out, 0, add(load3(out, 0), scale(weights[p], rotate_inv(R, force))))
                store(out, 3, add(load3(out, 3), scale(weights[p], moment)))
                for i in range(6, 6 + flat.modes[b]):
                    out[i] += weights[p] * row[i]
