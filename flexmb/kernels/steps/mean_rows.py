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
FEWEST, MOST = 3, 12
"""Smallest and largest number of quadrature points; the largest is sufficient for four turns in a step."""


def gauss_points() -> tuple[np.ndarray, np.ndarray]:
    """Gauss points in [0, 1] and their weights, both (MOST + 1, MOST); row n contains those of the rule of n points."""
    nodes, weights = np.zeros((MOST + 1, MOST)), np.zeros((MOST + 1, MOST))
    for n in range(FEWEST, MOST + 1):
        x, weights[n, :n] = np.polynomial.legendre.leggauss(n)
        nodes[n, :n] = 0.5 * (1 + x)
    return nodes, 0.5 * weights


@njit(cache=True)
def mean_rows(
    flat, q0, D, nodes, weights, functions, angle_memory, kinematics, values, q, moved, back, G, mean
):  # fmt: skip
    """Fill the `mean` Jacobian (nt, 2, 6+mmax) of the terms of all rows over the step by `D` (nv,) from `q0` (nq,).

    `values` (nr,), `q` (nq,), `moved` (nv,), `back` (nb, 12) and `G` (nt, 2, 6+mmax) are work arrays.
    """
    mean[:] = 0.0
    for p in range(len(nodes)):
        for i in range(len(D)):
            moved[i] = nodes[p] * D[i]
        displace(flat, q0, moved, q)
        all_rows(flat, q, functions, angle_memory, kinematics, values, G)
        for b in range(len(flat.modes)):  # the motion from this place to the middle of the step
            s, part = flat.v_start[b], 0.5 - nodes[p]
            theta = scale(part, load3(D, s + 3))
            store(back[b], 0, rotate(left_jacobian(theta), scale(part, load3(D, s))))
            R = rotation_exp(theta)
            for i in range(9):
                back[b, 3 + i] = R[i]
        for r in range(len(flat.term_row)):
            for side in range(2):
                b = flat.marker_body[flat.term_markers[r, side]]
                if b == GROUND:
                    continue
                row, out, own = G[r, side], mean[r, side], back[b]
                R = (own[3], own[4], own[5], own[6], own[7], own[8], own[9], own[10], own[11])
                force, shift = load3(row, 0), load3(own, 0)
                moment = rotate_inv(R, add(load3(row, 3), cross(force, shift)))
                store(out, 0, add(load3(out, 0), scale(weights[p], rotate_inv(R, force))))
                store(out, 3, add(load3(out, 3), scale(weights[p], moment)))
                for i in range(6, 6 + flat.modes[b]):
                    out[i] += weights[p] * row[i]
