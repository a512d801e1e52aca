"""How every step of a recorded motion changes with a parameter, compiled.

The steps of flexmb/kernels/derivatives/adjoint.py differentiated: from the change of what a step starts from follows that of what it leaves, up to the change of `a'` and of the multipliers, which
fulfil the derivatives of the residual and of the joint equations: a linear problem with the matrix of a Newton step, up to what that leaves out, so a few corrections. What is linear in the change
(masses times accelerations, joint equations, reactions) is taken as it is; the rest are differences of two residuals: once a step with the parameter above and below, where the motion is; and in every
correction with the state above and below, by as little as suits its change, however much that has grown.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.base.dense import copy
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.derivatives.adjoint import ITERATIONS, extrapolate, increment_of, settled
from flexmb.kernels.equations.displacement import displace, largest
from flexmb.kernels.equations.pivots import add_moved, changes_from_pivots, pivot_increment
from flexmb.kernels.equations.residual import residual
from flexmb.kernels.equations.rows import add_row_forces, row_rates
from flexmb.kernels.steps.solve import mass_times, solve_step
from flexmb.kernels.steps.step import move, row_compliances, step_factors

KEPT = 5
"""Changes of earlier steps that predict the next."""
STALLED = 1e-6
"""Corrections, relative to the change of the accelerations, that do not shrink because of rounding and are the last all the same."""
UNCHANGED = 2e-15
"""Displacements of a step, over the mechanism's length, that are rounding."""
ASIDE = 1e-4
"""Displacement, over the mechanism's length, and velocity, over the largest of the motion, by which the state is moved to both sides: its square is the error, and leaves twelve digits of a residual."""


class Variation(NamedTuple):
    """Derivatives by the parameter of what the last step left, of places of pivots and attitudes (flexmb/kernels/equations/pivots.py); those of the next; of the frames; scratch."""

    q: np.ndarray  # (nv,) displacements of the pivots, rotations, elastic increments
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray  # (KEPT + 1, nv) the next, and those of earlier steps
    multipliers: np.ndarray  # (KEPT + 1, nj)
    pivot: np.ndarray  # (nb, 3) of the places of the pivots in the bodies
    end_q: np.ndarray
    end_w: np.ndarray
    end_wdot: np.ndarray
    next_q: np.ndarray  # (nv,) twists of the frames, elastic increments
    next_w: np.ndarray
    next_wdot: np.ndarray
    increment: np.ndarray  # (nv,) of the motion
    change: np.ndarray  # of the increment
    moved_q: np.ndarray  # (nq,)
    moved_w: np.ndarray
    below: np.ndarray
    above: np.ndarray
    forced: np.ndarray  # (nv,) what the residual changes by where the motion is
    joints: np.ndarray  # (nr,) what the joint equations change by where the motion is
    values: np.ndarray  # (nr,)
    efforts: np.ndarray  # (nr,)


def make_variation(
    flat: CompiledModel, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, a: np.ndarray, pivot: np.ndarray
) -> Variation:
    """At the start."""
    nq, nv, nr = int(flat.q_start[-1]), len(w), len(flat.row_kind)
    earlier, multipliers = np.zeros((KEPT + 1, nv)), np.zeros((KEPT + 1, flat.joint_rows))
    earlier[0] = a
    rest = (nv,) * 8 + (nq,) + (nv,) * 4 + (nr,) * 3
    state = (q.copy(), w.copy(), wdot.copy(), earlier, multipliers, pivot.copy())
    return pointed(Variation(*state, *(np.zeros(n) for n in rest)))


@njit(cache=True)
def _next(flat, tree, scheme, h, track, step, v):
    """What the change of the next accelerations makes of the change of a step's end."""
    move(h, scheme.beta, scheme.gamma, scheme.alpha_m, scheme.alpha_f, v.w, v.a[1], v.wdot, v.a[0], v.change, v.end_w, v.end_wdot)  # fmt: skip
    v.end_q[:] = 0.0
    add_moved(flat, tree, v.increment, v.q, v.change, v.end_q)
    changes_from_pivots(flat, tree, v.pivot, track.q[step], track.w[step], track.wdot[step], v.end_q, v.end_w, v.end_wdot, v.next_q, v.next_w, v.next_wdot)  # fmt: skip


@njit(cache=True)
def _force(flats, size, bends, tables, track, step, couplings, variation, kinematics, scratch):
    """What the residual and the joint equations change by with the parameter, where the motion is; where that `bends` them, by differences of fourth order."""
    v, nj = variation, len(track.multipliers[step])
    for i in range(len(v.forced)):
        v.forced[i] = couplings[step - 1, i]
    v.joints[:] = 0.0
    for side in range(1, 5 if bends else 3):
        weight = (-0.5 if side % 2 == 1 else 0.5) / size  # below, above; nearer below, nearer above
        if bends:
            weight *= -1.0 / 3.0 if side < 3 else 8.0 / 3.0
        residual(flats[side], track.q[step], track.w[step], track.wdot[step], track.multipliers[step], tables[side][step - 1], track.angles[step], kinematics[side], scratch, v.below, scratch.energies)  # fmt: skip
        for i in range(len(v.forced)):
            v.forced[i] += weight * v.below[i]
        for r in range(nj):
            v.joints[r] += weight * scratch.values[r]


@njit(cache=True)
def _moved_residual(flat, functions, size, track, step, variation, kinematics, workspace, out):
    """The residual where the motion has changed by `size` times the derivatives, its accelerations and multipliers as they are."""
    v = variation
    for i in range(len(v.w)):
        v.change[i] = size * v.next_q[i]
        v.moved_w[i] = track.w[step, i] + size * v.next_w[i]
    displace(flat, track.q[step], v.change, v.moved_q)
    residual(flat, v.moved_q, v.moved_w, track.wdot[step], track.multipliers[step], functions, track.angles[step], kinematics, workspace, out, workspace.energies)  # fmt: skip


@njit(cache=True)
def vary(
    flats,
    tree,
    size,
    bends,
    speed,
    scheme,
    h,
    tables,
    couplings,
    track,
    first,
    last,
    variation,
    kinematics,
    workspace,
    scratch,
):
    """Derivatives by a parameter along the steps after `first` to `last` of a track. Returns zero, or the number of the step whose iteration fails.

    `tree`: of the coordinates of the motion. `flats`, `tables` (n, nf, 3), `kinematics`: mechanism, functions of time and markers' places with the parameter as it is, below and above by `size`, and below and above by half of it,
    which only counts if residuals are not linear in the parameter (`bends`); `workspace`, `scratch`: of the motion and of its neighbours. `speed`: the largest of the motion, in lengths of the
    mechanism. `couplings` (n, nv): forces that the arrays of a mechanism do not hold, by the parameter.
    """
    flat = flats[0]
    v, nv, nj = variation, len(flat.weight), flat.joint_rows
    beta, gamma, to_a = step_factors(scheme, h)
    rhs, row_rhs, x, change, compliance = (
        workspace.unbalanced,
        workspace.row_rhs,
        workspace.x,
        workspace.change,
        workspace.compliance,
    )
    row_rhs[:], most, rate = 0.0, 0.0, 0.0
    for step in range(first + 1, last + 1):
        q, w, wdot, memory, now = (
            track.q[step],
            track.w[step],
            track.wdot[step],
            track.angles[step],
            tables[0][step - 1],
        )
        residual(
            flat, q, w, wdot, track.multipliers[step], now, memory, kinematics[0], workspace, rhs, workspace.energies
        )
        row_compliances(flat, workspace, now, gamma, compliance)
        _force(flats, size, bends, tables, track, step, couplings, v, kinematics, scratch)
        for k in range(KEPT, 0, -1):
            copy(v.a[k - 1], v.a[k])
            copy(v.multipliers[k - 1], v.multipliers[k])
        extrapolate(v.a, 1, min(step, KEPT), v.a[0])
        extrapolate(v.multipliers, 1, min(step - 1, KEPT), v.multipliers[0])
        increment_of(flat, tree, scheme, h, track, step, v.increment)
        done, previous, null_rows = False, 0.0, np.zeros((0, 0))
        for iteration in range(ITERATIONS):
            _next(flat, tree, scheme, h, track, step, v)
            aside = largest(v.next_q, flat.weight) + largest(v.next_w, flat.weight) / speed
            aside = ASIDE / aside if aside > 0.0 else 1.0
            _moved_residual(flat, now, -aside, track, step, v, kinematics[0], scratch, v.below)
            _moved_residual(flat, now, aside, track, step, v, kinematics[0], scratch, v.above)
            mass_times(flat, workspace, v.next_wdot, rhs)
            v.efforts[:] = 0.0
            copy(v.multipliers[0], v.efforts)
            add_row_forces(flat.row_markers, flat.marker_body, flat.v_start, workspace.G, v.efforts, rhs)
            for i in range(nv):
                rhs[i] = (v.below[i] - v.above[i]) / (2.0 * aside) - v.forced[i] - rhs[i]
            row_rates(flat.row_markers, flat.marker_body, flat.v_start, workspace.G, v.next_q, v.values)
            for r in range(nj):
                row_rhs[r] = -v.values[r] - v.joints[r]
                workspace.previous_multipliers[flat.row_place[r]] = v.multipliers[0, r]
            outcome, null_rows = solve_step(
                iteration == 0, null_rows, flat, workspace, beta, gamma, compliance, rhs, row_rhs, x, change
            )
            if outcome < 0:
                return step
            pivot_increment(flat, tree, q, x, v.end_q)
            for i in range(nv):
                v.a[0, i] += to_a * v.end_q[i]
            for r in range(nj):
                v.multipliers[0, r] += change[r]
            magnitude, corrected = largest(v.a[0], flat.weight), to_a * largest(v.end_q, flat.weight)
            most = max(most, magnitude)
            small, rate = settled(step, corrected, previous, rate, magnitude, most)
            stalled = 0.0 < 0.5 * previous < corrected and (
                corrected <= STALLED * magnitude or corrected * aside <= UNCHANGED * to_a
            )
            previous = corrected
            done = stalled or small
            if done:
                break
        if not done:
            return step
        _next(flat, tree, scheme, h, track, step, v)
        copy(v.end_q, v.q)
        copy(v.end_w, v.w)
        copy(v.end_wdot, v.wdot)
    return 0
