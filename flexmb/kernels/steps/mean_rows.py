"""The mean Jacobian of all rows over a step in which every body moves by a constant twist: a discrete derivative.

The rate of the coordinate of a row along the step is `G(t) . D`, so that the mean of G over the step gives its exact
change (McLachlan, Quispel, Robidoux, "Geometric integration using discrete gradients", 1999: the mean value discrete
gradient). Each `G(t)` is a pair of opposite wrenches. It is transformed to the axes of the middle of the step with the
motion of the body itself, which leaves its twist invariant; the mean is therefore also such a pair. Where bodies, and
the directions between them, turn little, the quadrature needs no other places than the beginning, the middle and the
end of the step.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, left_jacobian, load3, rotate, rotate_inv, rotation_exp, scale, store
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import all_rows

ENOUGH = 1e-17
"""Relative error of the quadrature."""
SIMPSON = 0
"""Number of Gauss points that stands for Simpson's rule, whose places are evaluated in any case."""
SMALL = 2880e-17
"""Fifth power of the rotation (rad) in a step below which the error of Simpson's rule, 1/2880 of it, is rounding."""
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
def points_of(turn):
    """The number of quadrature points for bodies that rotate by at most `turn` (rad); `SIMPSON` for small rotations."""
    angle = 2.0 * turn  # of one body relative to another
    if angle**5 < SMALL:
        return SIMPSON
    n, bound = 0, 1.0
    while n < MOST and (n < FEWEST or bound >= ENOUGH):
        n += 1  # (angle/2)^(2n) / (2n)! is a bound of the error of n Gauss points
        bound *= (0.5 * angle) ** 2 / ((2.0 * n - 1.0) * 2.0 * n)
    return n


@njit(cache=True)
def _add_place(flat, D, place, weight, back, G, mean):
    """Add `weight` times the Jacobian `G` at the `place` (0 to 1) in the step to the mean; `back` (nb, 12) is a work
    array."""
    for b in range(len(flat.modes)):  # the motion from this place to the middle of the step
        s, part = flat.v_start[b], 0.5 - place
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
            store(out, 0, add(load3(out, 0), scale(weight, rotate_inv(R, force))))
            store(out, 3, add(load3(out, 3), scale(weight, moment)))
            for i in range(6, 6 + flat.modes[b]):
                out[i] += weight * row[i]


@njit(cache=True)
def mean_rows(
    flat, q0, D, nodes, weights, functions, angle_memory, kinematics, values, q, moved, back, begin, middle, end, mean
):  # fmt: skip
    """Fill the `mean` Jacobian (nt, 2, 6+mmax) of the terms of all rows over the step by `D` (nv,) from `q0` (nq,).

    `begin`, `middle` and `end` (nt, 2, 6+mmax) are the Jacobians at the beginning, in the middle and at the end of the
    step; that at the end is overwritten. Where there are no Gauss points, `nodes` and `weights` (n,), the mean is that
    of Simpson's rule. `values` (nr,), `q` (nq,), `moved` (nv,) and `back` (nb, 12) are work arrays.
    """
    mean[:] = 0.0
    if len(nodes) == SIMPSON:
        _add_place(flat, D, 0.0, 1.0 / 6.0, back, begin, mean)
        _add_place(flat, D, 0.5, 4.0 / 6.0, back, middle, mean)
        _add_place(flat, D, 1.0, 1.0 / 6.0, back, end, mean)
    for p in range(len(nodes)):
        if nodes[p] == 0.5:
            _add_place(flat, D, 0.5, weights[p], back, middle, mean)
            continue
        for i in range(len(D)):
            moved[i] = nodes[p] * D[i]
        displace(flat, q0, moved, q)
        all_rows(flat, q, functions, angle_memory, kinematics, values, end)
        _add_place(flat, D, nodes[p], weights[p], back, end, mean)
