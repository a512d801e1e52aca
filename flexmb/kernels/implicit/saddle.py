"""The saddle point matrix `[M + s D + s^2 K, G^T; G, 0]` of an implicit step of (real or complex) size `s`.

`D` contains the gyroscopic terms of the bodies; the derivatives of reactions with respect to positions are left to the
iteration. The rates `r` of the states of force elements are eliminated. With the states `z = z0 + s r`, the velocities
`s a` and the displacements `s^2 a` of accelerations `a`, `r - Zz s r = (s Zv + s^2 Zx) a + ...`, and their forces `F z`
add `s F (1 - s Zz)^-1 (s Zv + s^2 Zx)` to the matrix.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import copy, eliminate
from flexmb.kernels.equations.displacement import largest
from flexmb.kernels.equations.elements import element_tangents
from flexmb.kernels.equations.friction import friction_bound, friction_change, slides
from flexmb.kernels.equations.residual import residual
from flexmb.kernels.implicit.sparse import multiply_columns, place_in_column
from flexmb.kernels.steps.solve import combinations_without_effect, factor_envelope, mass_times

REGULAR = 1e-13
"""Regularisation of the block of the joint equations, relative to its diagonal, so that equations that are dependent up
to round-off do not make the matrix singular. It affects the convergence of the iteration but not its solution."""

STAYS = 3.0
"""Factor by which an equation must be larger than another one in their combination to be dropped in its place."""


class Saddle(NamedTuple):
    """The blocks of the matrix at one state, in one pattern of compressed columns (nv + nj, nv + nj).

    `kept` (nj,) is 1 for independent joint equations. The others follow from them if the joints are closed. The stages
    of a step do not satisfy the joints exactly, and all equations together would there block a mechanism that is mobile
    with closed joints. The multipliers of the other equations are zero: extrapolated from step to step, and corrected
    by no equation, they would grow without bound.
    """

    start: np.ndarray  # (nv+nj+1,)
    rows: np.ndarray  # increasing in each column
    M: np.ndarray  # entries of the mass matrix and of the joint equations
    D: np.ndarray
    K: np.ndarray
    rubbing: np.ndarray  # derivatives of the forces of regularised friction with respect to the multipliers
    kept: np.ndarray  # (nj,)
    metric: np.ndarray  # (nv, 6+mmax) blocks of the inverse of a mass matrix without masses
    touched: np.ndarray  # velocities of bodies on which states of force elements depend, or act
    by_speed: np.ndarray  # (nz, nv) derivatives of the rates of the states
    by_place: np.ndarray  # (nz, nv)
    by_state: np.ndarray  # (nz, nz)
    force: np.ndarray  # (nv, nz) derivatives of the residual forces with respect to the states


@njit(cache=True)
def residual_with_states(
    flat, states, functions, q, w, wdot, multipliers, angles, kinematics, workspace, out, energies
):  # fmt: skip
    """The residual `out` (nv,) and the `energies` (5,) at given `states` (nz,) of force elements and controllers."""
    workspace.half[0] = 0.0
    copy(states, workspace.state_base)
    for k in range(flat.skin_state, len(states)):
        workspace.states[k] = states[k]
    residual(flat, q, w, wdot, multipliers, functions, angles, kinematics, workspace, out, energies)


@njit(cache=True)
def _add_block(flat, saddle, A, x, first_of_x, y, first_of_y, nx, ny, factor):
    """Add `factor x y^T` for parts of velocities that begin at `first_of_x` and `first_of_y`."""
    for j in range(ny):
        scaled = factor * y[j]
        at = place_in_column(saddle.start, saddle.rows, first_of_y + j, first_of_x)
        for i in range(nx):
            A[at + i] += x[i] * scaled


@njit(cache=True)
def _add_rows(flat, saddle, A, G, r, p, factor):
    """Add `factor g_r^T g_p` for the Jacobians of two force rows that act between the same bodies."""
    nr = len(flat.row_kind)
    for k in range(flat.term_start[r + 1] - flat.term_start[r] + 1):
        one = r if k == 0 else nr + flat.term_start[r] + k - 1
        for l in range(flat.term_start[p + 1] - flat.term_start[p] + 1):
            other = p if l == 0 else nr + flat.term_start[p] + l - 1
            for side in range(2):
                a = flat.marker_body[flat.term_markers[one, side]]
                if a == GROUND:
                    continue
                for beside in range(2):
                    b = flat.marker_body[flat.term_markers[other, beside]]
                    if b == GROUND:
                        continue
                    _add_block(
                        flat, saddle, A, G[one, side], flat.v_start[a], G[other, beside], flat.v_start[b],
                        6 + flat.modes[a], 6 + flat.modes[b], factor,
                    )  # fmt: skip


@njit(cache=True)
def _mark_independent(flat, saddle, workspace):
    """Mark a maximal set of independent joint equations in `saddle.kept`."""
    G, nj, nr = workspace.G, flat.joint_rows, len(flat.row_kind)
    place, start, first, S = flat.row_place, flat.envelope_start, flat.envelope_first, workspace.S
    S[:] = 0.0
    product = np.empty(G.shape[2])
    for b in range(len(flat.modes)):
        n, low = 6 + flat.modes[b], flat.v_start[b]
        for j in range(flat.incident_start[b], flat.incident_start[b + 1]):
            one = flat.incident_term[j]
            if flat.term_row[one] >= nj:
                continue
            row = G[one, flat.incident_side[j]]
            for i in range(n):
                total = 0.0
                for k in range(n):
                    total += saddle.metric[low + i, k] * row[k]
                product[i] = total
            r = place[flat.term_row[one]]
            for p in range(flat.incident_start[b], flat.incident_start[b + 1]):
                other = flat.incident_term[p]
                if flat.term_row[other] >= nj:
                    continue
                c = place[flat.term_row[other]]
                if c <= r:
                    beside, total = G[other, flat.incident_side[p]], 0.0
                    for i in range(n):
                        total += product[i] * beside[i]
                    S[start[r] + c - first[r]] += total
    before = np.ones(nr)
    for r in range(nr):
        if r < nj:
            before[place[r]], saddle.kept[r] = saddle.kept[r], 1.0
        if not S[start[place[r] + 1] - 1] > 0.0:
            S[start[place[r] + 1] - 1] = 1.0
            if r < nj:
                saddle.kept[r] = 0.0
    copy(S, workspace.L)
    dependent = factor_envelope(start, first, workspace.L, workspace.scale)
    if dependent > 0:
        dropped = _replaceable(combinations_without_effect(start, first, workspace.L, dependent), before)
        for r in range(nj):
            if dropped[place[r]]:
                saddle.kept[r] = 0.0


@njit(cache=True)
def _replaceable(basis, before):
    """A mask (n,) of as many equations as there are combinations without effect, such that each of these equations
    follows from the others with moderate factors: one of the largest of each combination.

    Which equations these are changes with the motion. Fixed ones would at some positions hardly follow from the others;
    those that were kept `before` (n,), 1 or 0, remain so if they are not much larger.
    """
    n = len(before)
    dropped, rows = np.zeros(n, dtype=np.bool_), np.zeros((len(basis), n))
    for k in range(len(basis)):
        for c in range(int(basis[k, n]), int(basis[k, n + 1]) + 1):
            rows[k, c] = basis[k, c]
    for k in range(len(rows)):
        at, largest = 0, 0.0
        for c in range(n):
            size = abs(rows[k, c]) * (1.0 if before[c] > 0.0 else STAYS)
            if size > largest:
                at, largest = c, size
        dropped[at] = True
        for j in range(k + 1, len(rows)):
            if rows[j, at] != 0.0:
                factor = rows[j, at] / rows[k, at]
                for c in range(n):
                    rows[j, c] -= factor * rows[k, c]
                rows[j, at] = 0.0
    return dropped


@njit(cache=True)
def fill_mass(flat, saddle, workspace):
    """Set `saddle.M` to the mass matrix and the independent joint equations at the last evaluated state."""
    nv, nj, G = flat.v_start[len(flat.modes)], flat.joint_rows, workspace.G
    start, rows, M = saddle.start, saddle.rows, saddle.M
    M[:] = 0.0
    unit, column = np.empty(nv), np.empty(nv)
    most = 0
    for b in range(len(flat.modes)):
        most = max(most, flat.modes[b])
    for i in range(6 + most):
        unit[:] = 0.0
        for b in range(len(flat.modes)):
            if i < 6 + flat.modes[b]:
                unit[flat.v_start[b] + i] = 1.0
        mass_times(flat, workspace, unit, column)
        for b in range(len(flat.modes)):
            low, high = flat.v_start[b], flat.v_start[b + 1]
            if low + i < high:
                at = place_in_column(start, rows, low + i, low)
                for k in range(low, high):
                    M[at + k - low] = column[k]
    if nj == 0:
        return
    _mark_independent(flat, saddle, workspace)
    for k in range(len(flat.term_row)):
        r = flat.term_row[k]
        if r >= nj:
            continue
        for side in range(2):
            b = flat.marker_body[flat.term_markers[k, side]]
            if b == GROUND:
                continue
            low, high = flat.v_start[b], flat.v_start[b + 1]
            at = place_in_column(start, rows, nv + r, low)
            for i in range(low, high):
                entry = G[k, side, i - low] * saddle.kept[r]
                M[at + i - low] += entry
                M[place_in_column(start, rows, i, nv + r)] += entry
    for r in range(nj):
        size = 0.0
        if saddle.kept[r] == 0.0:
            size = 1.0
        else:
            for p in range(start[nv + r], start[nv + r + 1] - 1):
                size += REGULAR * M[p] * M[p] / M[place_in_column(start, rows, rows[p], rows[p])]
        M[start[nv + r + 1] - 1] = -size


@njit(cache=True)
def evaluate_blocks(
    flat, saddle, functions, q, w, wdot, multipliers, states, angles, kinematics, workspace, energies
):  # fmt: skip
    """Set `M`, `D`, `K` and `rubbing` at a state."""
    nj, nr = flat.joint_rows, len(flat.row_kind)
    start, rows, D, K, G = saddle.start, saddle.rows, saddle.D, saddle.K, workspace.G
    out = workspace.unbalanced
    residual_with_states(flat, states, functions, q, w, wdot, multipliers, angles, kinematics, workspace, out, energies)
    directions, slopes = workspace.sliding_direction.copy(), workspace.sliding_slopes.copy()
    D[:] = 0.0
    K[:] = 0.0
    for b in range(len(flat.modes)):
        first = flat.v_start[b] - 6 * b
        for i in range(flat.modes[b]):
            place = flat.v_start[b] + 6 + i
            at = place_in_column(start, rows, place, place)
            K[at], D[at] = flat.stiffness[first + i], flat.damping[first + i]
    for r in range(nj, nr):
        if flat.row_stiffness[r] != 0.0:
            _add_rows(flat, saddle, K, G, r, r, flat.row_stiffness[r])
        if flat.row_damping[r] != 0.0:
            _add_rows(flat, saddle, D, G, r, r, flat.row_damping[r])
    if len(flat.element_row) > 0:
        rate = flat.scales[1]
        element_tangents(flat, functions, workspace, 0.0)
        stiff = workspace.tangents.copy()
        element_tangents(flat, functions, workspace, 1.0 / rate)
        for e in range(len(flat.element_row)):
            for i in range(6):
                for j in range(6):
                    damped = (workspace.tangents[e, i, j] - stiff[e, i, j]) * rate
                    if stiff[e, i, j] != 0.0:
                        _add_rows(flat, saddle, K, G, flat.element_row[e] + i, flat.element_row[e] + j, stiff[e, i, j])
                    if damped != 0.0:
                        _add_rows(flat, saddle, D, G, flat.element_row[e] + i, flat.element_row[e] + j, damped)
    for k in range(len(flat.velocity_body)):
        b = flat.velocity_body[k]
        for j in range(6 + flat.modes[b]):
            at = place_in_column(start, rows, flat.v_start[b] + j, flat.v_start[b])
            for i in range(6 + flat.modes[b]):
                D[at + i] += flat.velocity_matrix[k, i, j]
    fill_mass(flat, saddle, workspace)
    _add_gyroscopic(flat, saddle, functions, q, w, states, angles, kinematics, workspace, energies)
    _add_rubbing(flat, saddle, multipliers, directions, slopes, G)


@njit(cache=True)
def _add_rubbing(flat, saddle, multipliers, directions, slopes, G):
    """Add the derivatives of the forces of regularised friction with respect to velocities to `D`, and set those with
    respect to multipliers, `rubbing`."""
    nj, nv = len(multipliers), flat.v_start[len(flat.modes)]
    saddle.rubbing[:] = 0.0
    unit = np.zeros(nj)
    for k in range(len(flat.friction_speed)):
        if not slides(flat, k):
            continue
        first, last, bound = flat.friction_start[k], flat.friction_start[k + 1], friction_bound(flat, k, multipliers)
        for c in range(first, last):
            for d in range(first, last):
                factor = bound * slopes[c, d - first]
                _add_rows(flat, saddle, saddle.D, G, flat.friction_row[c], flat.friction_row[d], factor)
        for r in flat.friction_source[k]:
            if r < 0:
                continue
            unit[r] = 1.0
            growth = friction_change(flat, k, multipliers, unit)
            unit[r] = 0.0
            for c in range(first, last):
                row = flat.friction_row[c]
                for side in range(2):
                    b = flat.marker_body[flat.term_markers[row, side]]
                    if b == GROUND:
                        continue
                    at = place_in_column(saddle.start, saddle.rows, nv + r, flat.v_start[b])
                    for i in range(6 + flat.modes[b]):
                        saddle.rubbing[at + i] += directions[c] * growth * G[row, side, i]


@njit(cache=True)
def _add_gyroscopic(flat, saddle, functions, q, w, states, angles, kinematics, workspace, energies):
    """Add the derivatives of the gyroscopic forces of each body with respect to its velocities to `D`.

    Central differences are exact for these quadratic forces. Each evaluation changes one velocity of every body.
    """
    nv, speed, most = len(w), largest(w, flat.weight), 0
    for b in range(len(flat.modes)):
        most = max(most, flat.modes[b])
    if not speed > 0.0:
        return
    D, ahead, behind = saddle.D, np.empty(nv), np.empty(nv)
    pattern, shifted, still, none = np.empty(nv), np.empty(nv), np.zeros(nv), np.zeros(flat.joint_rows)
    gyroscopic = np.zeros((nv, 6 + most))
    for i in range(6 + most):
        pattern[:] = 0.0
        for b in range(len(flat.modes)):
            if i < 6 + flat.modes[b]:
                at = flat.v_start[b] + i
                pattern[at] = speed / (flat.weight[at] if flat.weight[at] > 0.0 else 1.0)
        for k in range(nv):
            shifted[k] = w[k] + pattern[k]
        residual_with_states(
            flat, states, functions, q, shifted, still, none, angles, kinematics, workspace, ahead, energies
        )
        for k in range(nv):
            shifted[k] = w[k] - pattern[k]
        residual_with_states(
            flat, states, functions, q, shifted, still, none, angles, kinematics, workspace, behind, energies
        )
        for k in range(nv):
            ahead[k] = 0.5 * (ahead[k] - behind[k])
        multiply_columns(saddle.start, saddle.rows, D, nv, pattern, -1.0, ahead)
        for b in range(len(flat.modes)):
            if i < 6 + flat.modes[b]:
                for k in range(flat.v_start[b], flat.v_start[b + 1]):
                    gyroscopic[k, i] = ahead[k] / pattern[flat.v_start[b] + i]
    for b in range(len(flat.modes)):
        low, high = flat.v_start[b], flat.v_start[b + 1]
        for j in range(low, high):
            at = place_in_column(saddle.start, saddle.rows, j, low)
            for k in range(low, high):
                D[at + k - low] += gyroscopic[k, j - low]


@njit(cache=True)
def step_matrix(saddle, s, following, A):
    """Set `A` to the entries of the matrix for a step of size `s`, and `following` (nz, nv) to the rates of the states
    for units of the accelerations."""
    for p in range(len(A)):
        A[p] = saddle.M[p] + saddle.rubbing[p] + s * saddle.D[p] + s * s * saddle.K[p]
    nz = len(following)
    if nz == 0:
        return
    for z in range(nz):
        for j in range(following.shape[1]):
            following[z, j] = s * saddle.by_speed[z, j] + s * s * saddle.by_place[z, j]
    settle(saddle, s, following)
    for j in saddle.touched:
        for i in saddle.touched:
            total = following[0, j] * saddle.force[i, 0]
            for z in range(1, nz):
                total += following[z, j] * saddle.force[i, z]
            A[place_in_column(saddle.start, saddle.rows, j, i)] += s * total


@njit(cache=True)
def settle(saddle, s, rates):
    """Overwrite `rates` (nz, k) of the states by those that follow from them at unchanged states."""
    nz = len(rates)
    matrix = np.empty((nz, nz), dtype=rates.dtype)
    for i in range(nz):
        for j in range(nz):
            matrix[i, j] = (1.0 if i == j else 0.0) - s * saddle.by_state[i, j]
    eliminate(matrix, rates)


@njit(cache=True)
def push(saddle, s, rates, out):
    """Subtract from `out` (nv,) the residual forces of `rates` (nz,) of the states over a step of size `s`."""
    for i in saddle.touched:
        for z in range(len(rates)):
            out[i] -= s * saddle.force[i, z] * rates[z]


@njit(cache=True)
def broken_rates(flat, functions, w, workspace, out):
    """The rates `out` (nj,) of the independent joint equations for velocities `w` (nv,) at the last evaluated state."""
    for r in range(len(out)):
        out[r] = 0.0
    for k in range(len(flat.term_row)):
        r = flat.term_row[k]
        if r >= len(out):
            continue
        for side in range(2):
            b = flat.marker_body[flat.term_markers[k, side]]
            if b != GROUND:
                for i in range(flat.v_start[b], flat.v_start[b + 1]):
                    out[r] += workspace.G[k, side, i - flat.v_start[b]] * w[i]
    for r in range(len(out)):
        if flat.row_function[r] >= 0:
            out[r] -= functions[flat.row_function[r], 1]
