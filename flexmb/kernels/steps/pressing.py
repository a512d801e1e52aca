"""Forces of surfaces of reduced bodies that touch rigid shapes, within the Newton iteration of a step.

With the gaps `g` of the nodes at an iterate, their derivatives `G`, the correction `x` of the step without a change of
the forces and its response `X = A^-1 G^T` to forces, the forces at the end of the step satisfy

    0 <= f  _|_  g + G x + (G X + C) (f - f0) >= 0                                               (1)

for the normal directions: bodies do not overlap where they are at the end of the step. The residual compliance C has no
mass, so that there is no impact: velocities do not jump, and no force is proportional to the reciprocal of the step.
Friction uses the slip in the step as positions use the gap: `f_t = -mu f_n s/|s|` or s = 0 (backward Euler in time).

A node takes part if it carries a force, or if the solution with the others would let it overlap.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import dot, load3
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import inner
from flexmb.kernels.equations.rows import place_markers
from flexmb.kernels.equations.skins import (
    along_ends,
    is_loaded,
    place_skins,
    residual_response,
    sides_of,
    skin_end,
    skin_rows,
    skin_slip,
)
from flexmb.kernels.steps.touching import respond_at, solve_island

ROUNDS = 100
"""Solutions in one correction, each with more nodes."""


@njit(cache=True)
def begin_skins(flat, motion, kinematics, workspace):
    """Take the forces of the nodes at the beginning of a step, and their places for the slip in it."""
    for k in range(flat.skin_state, flat.skin_state + 3 * len(flat.node_skin)):
        workspace.states[k] = motion.states[k]
    rubs = False
    for s in range(len(flat.skin_body)):
        rubs = rubs or flat.skin_friction[s] > 0.0
    if rubs:
        place_markers(flat, motion.q, kinematics)
        place_skins(flat, motion.q, kinematics, workspace, True)
        workspace.skin_before[:] = workspace.skin_seen


@njit(cache=True)
def _moved(flat, x, s):
    """The largest displacement of a node of surface `s` by the correction `x` (nv,); infinite if its shape moves."""
    if flat.marker_body[flat.skin_marker[s]] != GROUND:
        return np.inf
    b = flat.skin_body[s]
    v, m, ball = flat.v_start[b], flat.modes[b], flat.skin_ball[s]
    far = math.sqrt(ball[0] * ball[0] + ball[1] * ball[1] + ball[2] * ball[2]) + ball[3]
    turned = load3(x, v + 3)
    reach, change = load3(x, v), 0.0
    for i in range(m):
        change += abs(x[v + 6 + i]) * flat.skin_swing[s, i]
    return 2.0 * (math.sqrt(dot(reach, reach)) + far * math.sqrt(dot(turned, turned)) + change)


@njit(cache=True)
def _predict(flat, q, kinematics, workspace, x, gap):
    """Write the gaps of the nodes after the correction `x` (nv,), with the present forces, to `gap` (nn,), infinite for
    nodes that are farther away than they move."""
    for s in range(len(flat.skin_body)):
        bound = _moved(flat, x, s) if workspace.skin_near[s] == 1 else 0.0
        for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
            loaded = is_loaded(flat, workspace.states, k)
            if workspace.skin_near[s] == 0 or (not loaded and not workspace.skin_gap[k] <= bound):
                gap[k] = np.inf
                continue
            if not loaded:
                skin_rows(flat, q, kinematics, workspace, k, sides_of(flat, k))
            gap[k] = workspace.skin_gap[k] + along_ends(
                flat, workspace.skin_G[k, 0], (skin_end(flat, k, 0), skin_end(flat, k, 1)), x
            )


@njit(cache=True)
def press_skins(flat, q, kinematics, workspace, null_rows, beta, compliance, anew, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the forces of the nodes, which are written to
    `workspace.states`; `anew` if the matrix of the step is new. Returns False if no forces are found."""
    near = 0
    for s in range(len(flat.skin_body)):
        near += workspace.skin_near[s]
    if near == 0:
        return True
    nn, states, axes = len(flat.node_skin), workspace.states, workspace.skin_axes
    gap, nodes, n = np.empty(nn), workspace.skin_list, 0
    taken, listed = np.zeros(nn, np.bool_), np.zeros(nn, np.bool_)
    if anew:
        workspace.skin_known[:] = 0
    _predict(flat, q, kinematics, workspace, x, gap)
    first, rows, height = np.zeros(nn + 1, np.int64), np.empty(3 * nn, np.int64), 0
    old, force = np.zeros(3 * nn), np.zeros(3 * nn)
    for k in range(nn):
        taken[k] = is_loaded(flat, states, k) or gap[k] < 0.0
    for _ in range(ROUNDS):
        known = n
        for k in range(nn):
            if not taken[k]:
                continue
            taken[k], listed[k] = False, True
            nodes[n] = k
            for c in range(sides_of(flat, k)):
                rows[height] = 3 * k + c
                old[height] = states[flat.skin_state + 3 * k + c] if is_loaded(flat, states, k) else 0.0
                height += 1
            n += 1
            first[n] = height
            if workspace.skin_known[k] == 0:
                workspace.skin_known[k] = 1
                workspace.skin_X[k] = 0.0
                workspace.skin_change[k] = 0.0
                respond_at(
                    flat,
                    workspace,
                    null_rows,
                    beta,
                    compliance,
                    (skin_end(flat, k, 0), skin_end(flat, k, 1)),
                    workspace.skin_G[k],
                    sides_of(flat, k),
                    workspace.skin_X[k],
                    workspace.skin_change[k],
                )
        if n == known:
            break
        if not _solve(flat, q, kinematics, workspace, x, nodes[:n], first[: n + 1], rows[:height], old, force):
            return False
        for k in range(nn):
            if listed[k] or gap[k] == np.inf:
                continue
            ends, b, total = (skin_end(flat, k, 0), skin_end(flat, k, 1)), flat.node_skin[k], gap[k]
            for i in range(height):
                p, c = rows[i] // 3, rows[i] % 3
                moved = force[i] - old[i]
                total += moved * along_ends(flat, workspace.skin_G[k, 0], ends, workspace.skin_X[p, c])
                if flat.skin_body[flat.node_skin[p]] == flat.skin_body[b]:
                    u = residual_response(flat, k, p, load3(axes[p, c], 0))
                    total += moved * dot(load3(axes[k, 0], 0), u)
            taken[k] = total < 0.0
    for i in range(height):
        k, c = rows[i] // 3, rows[i] % 3
        moved = force[i] - old[i]
        states[flat.skin_state + 3 * k + c] = force[i]
        if moved != 0.0:
            for a in range(len(x)):
                x[a] += moved * workspace.skin_X[k, c, a]
            for a in range(len(change)):
                change[a] += moved * workspace.skin_change[k, c, a]
    return True


@njit(cache=True)
def _solve(flat, q, kinematics, workspace, x, nodes, first, rows, old, force):
    """Solve (1) for the forces (height,) in the `rows` of the `nodes`; returns whether they are found."""
    height, axes = len(rows), workspace.skin_axes
    W, b, mu = np.empty((height, height)), np.empty(height), np.empty(len(nodes))
    for j in range(len(nodes)):
        k = nodes[j]
        mu[j] = flat.skin_friction[flat.node_skin[k]]
        ends, slip = (skin_end(flat, k, 0), skin_end(flat, k, 1)), (0.0, 0.0, 0.0)
        if mu[j] > 0.0:
            slip = skin_slip(flat, q, kinematics, workspace, k)
        for i in range(first[j], first[j + 1]):
            c = i - first[j]
            own, e = workspace.skin_G[k, c], load3(axes[k, c], 0)
            b[i] = (workspace.skin_gap[k] if c == 0 else dot(e, slip)) + along_ends(flat, own, ends, x)
            for p in range(i + 1):
                other, d = rows[p] // 3, rows[p] % 3
                W[i, p] = along_ends(flat, own, ends, workspace.skin_X[other, d])
                if flat.skin_body[flat.node_skin[other]] == flat.skin_body[flat.node_skin[k]]:
                    W[i, p] += dot(e, residual_response(flat, k, other, load3(axes[other, d], 0)))
                W[p, i] = W[i, p]
    size = 0.0
    for i in range(height):
        own = inner(W[i], old, height)
        size = max(size, abs(b[i]), abs(own))
        b[i] -= own
        force[i] = old[i]
    return size == 0.0 or solve_island(W, b, first, mu, size, force[:height])


@njit(cache=True)
def skin_heat(flat, q, kinematics, workspace):
    """The energy that friction of the nodes has taken in a step that ends at `q` (nq,)."""
    heat = 0.0
    for k in range(len(flat.node_skin)):
        if sides_of(flat, k) == 3 and is_loaded(flat, workspace.states, k):
            slip = skin_slip(flat, q, kinematics, workspace, k)
            for c in range(1, 3):
                own = load3(workspace.skin_axes[k, c], 0)
                heat -= workspace.states[flat.skin_state + 3 * k + c] * dot(own, slip)
    return heat
