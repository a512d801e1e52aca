"""How every step of a recorded motion changes with a parameter, compiled.

The steps of flexmb/kernels/adjoint.py differentiated: from the change of what a step starts from follows that of what it leaves, up to the change of `a'` and of the multipliers, which
fulfil the derivatives of the residual and of the joint equations: a linear problem with the matrix of a Newton step, up to what that leaves out, so a few corrections. What is linear in the change
(masses times accelerations, joint equations, reactions) is taken as it is; the rest as the difference of two residuals, with the parameter and the state above and below.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.adjoint import ITERATIONS, SERIES, extrapolate, increment_of, settled
from flexmb.kernels.algebra import cross, part, plus
from flexmb.kernels.data import Flat
from flexmb.kernels.dense import copy
from flexmb.kernels.pointed import pointed
from flexmb.kernels.rows import add_row_forces, all_rows, row_rates
from flexmb.kernels.solve import mass_times, solve_step
from flexmb.kernels.step import displace, largest, move, residual, row_compliances, step_factors

KEPT = 5
"""Changes of earlier steps that predict the next."""
STALLED = 1e-6
"""Corrections, relative to the change of the accelerations, that do not shrink because of rounding and are the last all the same."""
UNCHANGED = 2e-15
"""Displacements of a step, over the mechanism's length, that are rounding."""


class Variation(NamedTuple):
    """Derivatives by the parameter of what the last step left; those of the next; scratch."""

    q: np.ndarray  # (nv,) twists of the bodies, elastic increments
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray  # (KEPT + 1, nv) the next, and those of earlier steps
    multipliers: np.ndarray  # (KEPT + 1, nj)
    next_q: np.ndarray
    next_w: np.ndarray
    next_wdot: np.ndarray
    increment: np.ndarray  # (nv,) of the motion
    change: np.ndarray  # of the increment
    term: np.ndarray
    turned: np.ndarray
    moved_q: np.ndarray  # (nq,)
    moved_w: np.ndarray
    below: np.ndarray
    above: np.ndarray
    joints: np.ndarray  # (nr,) what the joint equations change by where the motion is
    values: np.ndarray  # (nr,)
    efforts: np.ndarray  # (nr,)


def make_variation(flat: Flat, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, a: np.ndarray) -> Variation:
    """At the start."""
    nq, nv, nr = int(flat.q_start[-1]), len(w), len(flat.row_kind)
    earlier, multipliers = np.zeros((KEPT + 1, nv)), np.zeros((KEPT + 1, flat.joint_rows))
    earlier[0] = a
    rest = (nv,) * 7 + (nq,) + (nv,) * 3 + (nr,) * 3
    return pointed(Variation(q.copy(), w.copy(), wdot.copy(), earlier, multipliers, *(np.zeros(n) for n in rest)))


@njit(cache=True)
def _commute(flat, x, y, factor, out):
    """`out = factor ad_x y`, over all bodies."""
    out[:] = 0.0
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        u, omega, v, phi = part(x, s), part(x, s + 3), part(y, s), part(y, s + 3)
        linear, angular = plus(cross(omega, v), cross(u, phi)), cross(omega, phi)
        for i in range(3):
            out[s + i] = factor * linear[i]
            out[s + 3 + i] = factor * angular[i]


@njit(cache=True)
def _add_carried(flat, increment, x, tangent, term, turned, out):
    """`out += exp(-ad) x` of a step's increment or, `tangent`, `out += T x` with `T = (1 - exp(-ad)) / ad`."""
    copy(x, term)
    whole = 0.0
    for i in range(len(x)):
        out[i] += term[i]
        whole = max(whole, abs(term[i]))
    for k in range(1, SERIES + 1):
        _commute(flat, increment, term, -1.0 / (k + 1 if tangent else k), turned)
        copy(turned, term)
        size = 0.0
        for i in range(len(x)):
            out[i] += term[i]
            size = max(size, abs(term[i]))
        if size <= 1e-17 * whole:
            return


@njit(cache=True)
def _next(flat, scheme, h, v):
    """What the change of the next accelerations makes of the change of a step's end."""
    move(h, scheme.beta, scheme.gamma, scheme.alpha_m, scheme.alpha_f, v.w, v.a[1], v.wdot, v.a[0], v.change, v.next_w, v.next_wdot)  # fmt: skip
    v.next_q[:] = 0.0
    _add_carried(flat, v.increment, v.q, False, v.term, v.turned, v.next_q)
    _add_carried(flat, v.increment, v.change, True, v.term, v.turned, v.next_q)


@njit(cache=True)
def _moved_residual(flat, functions, size, track, step, variation, places, terms, out):
    """The residual of a mechanism where the motion has changed by `size` times the derivatives, its accelerations and multipliers as they are."""
    v = variation
    for i in range(len(v.w)):
        v.change[i] = size * v.next_q[i]
        v.moved_w[i] = track.w[step, i] + size * v.next_w[i]
    displace(flat, track.q[step], v.change, v.moved_q)
    residual(flat, v.moved_q, v.moved_w, track.wdot[step], track.multipliers[step], functions, track.angles[step], places, terms, out, terms.energies)  # fmt: skip


@njit(cache=True)
def vary(flats, size, scheme, h, tables, track, first, last, variation, places, terms, scratch):
    """Derivatives by a parameter along the steps after `first` to `last` of a track. Returns zero, or the number of the step whose iteration fails.

    `flats`, `tables` (n, nf, 3), `places`: mechanism, functions of time and markers' places with the parameter as it is, below, and above by `size`; `terms`, `scratch`: of the motion and
    of its neighbours.
    """
    flat, low, high = flats
    v, nv, nj = variation, len(flat.weight), flat.joint_rows
    beta, gamma, to_a = step_factors(scheme, h)
    rhs, row_rhs, x, change, compliance = terms.unbalanced, terms.row_rhs, terms.x, terms.change, terms.compliance
    row_rhs[:], most, rate = 0.0, 0.0, 0.0
    for step in range(first + 1, last + 1):
        q, w, wdot, memory, now = (
            track.q[step],
            track.w[step],
            track.wdot[step],
            track.angles[step],
            tables[0][step - 1],
        )
        residual(flat, q, w, wdot, track.multipliers[step], now, memory, places[0], terms, rhs, terms.energies)
        row_compliances(flat, terms, now, gamma, compliance)
        all_rows(low, q, tables[1][step - 1], memory, places[1], v.values, scratch.G)
        all_rows(high, q, tables[2][step - 1], memory, places[2], v.joints, scratch.G)
        for r in range(nj):
            v.joints[r] = (v.joints[r] - v.values[r]) / (2.0 * size)
        for k in range(KEPT, 0, -1):
            copy(v.a[k - 1], v.a[k])
            copy(v.multipliers[k - 1], v.multipliers[k])
        extrapolate(v.a, 1, min(step, KEPT), v.a[0])
        extrapolate(v.multipliers, 1, min(step - 1, KEPT), v.multipliers[0])
        increment_of(scheme, h, track, step, v.increment)
        done, previous, idle = False, 0.0, np.zeros((0, 0))
        for iteration in range(ITERATIONS):
            _next(flat, scheme, h, v)
            _moved_residual(low, tables[1][step - 1], -size, track, step, v, places[1], scratch, v.below)
            _moved_residual(high, tables[2][step - 1], size, track, step, v, places[2], scratch, v.above)
            mass_times(flat, terms, v.next_wdot, rhs)
            v.efforts[:] = 0.0
            copy(v.multipliers[0], v.efforts)
            add_row_forces(flat.row_markers, flat.marker_body, flat.v_start, terms.G, v.efforts, rhs)
            for i in range(nv):
                rhs[i] = (v.below[i] - v.above[i]) / (2.0 * size) - rhs[i]
            row_rates(flat.row_markers, flat.marker_body, flat.v_start, terms.G, v.next_q, v.values)
            for r in range(nj):
                row_rhs[r] = -v.values[r] - v.joints[r]
                terms.standing[flat.row_place[r]] = v.multipliers[0, r]
            outcome, idle = solve_step(
                iteration == 0, idle, flat, terms, beta, gamma, compliance, rhs, row_rhs, x, change
            )
            if outcome < 0:
                return step
            for i in range(nv):
                v.a[0, i] += to_a * x[i]
            for r in range(nj):
                v.multipliers[0, r] += change[r]
            magnitude, corrected = largest(v.a[0], flat.weight), to_a * largest(x, flat.weight)
            most = max(most, magnitude)
            small, rate = settled(step, corrected, previous, rate, magnitude, most)
            stalled = 0.0 < 0.5 * previous < corrected and (
                corrected <= STALLED * magnitude or corrected * size <= UNCHANGED * to_a
            )
            previous = corrected
            done = stalled or small
            if done:
                break
        if not done:
            return step
        _next(flat, scheme, h, v)
        copy(v.next_q, v.q)
        copy(v.next_w, v.w)
        copy(v.next_wdot, v.wdot)
    return 0
