"""Derivatives of the points of flexible surfaces by differences, for the adjoint of steps.

Points of surfaces that face each other or a mesh follow from pieces of faces, and those of local contacts move over
faces; where a shape is on a flexible body, its place depends on elastic coordinates. The functions of
flexmb/kernels/derivatives/skins.py

    L = sum_k  -p_k . v_k(y) + nu_n g_k + nu_t . (s_k, or f_t + mu f_n s/|s|)

are then differentiated by central differences of the forces `sum_k G_k^T f_k` of the points on the bodies, their gaps
g and their slips s: with the bodies displaced along each coordinate, and with each force changed. The nodes are placed
anew each time, so that the displacements of nodes by the forces, and the weights of nodes that follow from
them, are included. L is linear in its adjoint variables, so that a step needs these derivatives once.

Differences are right where the pieces of faces keep their corners and the points their places. Where a node is just at
an edge of the other surface, so that its place begins to leave it, they have the mean of the derivatives of both sides.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, dot, load3, scale, store, vector
from flexmb.kernels.base.data import GROUND, NO_MATE
from flexmb.kernels.contact.local import local_slope
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import place_markers
from flexmb.kernels.equations.skins import (
    is_loaded,
    place_skins,
    residual_response,
    sides_of,
    skin_end,
    skin_rows,
    skin_slip,
    stencil,
    stencil_force,
)

PROBE = 1e-7
"""Displacement to both sides, relative to the length of the mechanism."""
LOOSENED = 0.5
"""Part of a normal force that a difference takes away, at most; else it adds only."""
CENTRAL = ((-1.0, -0.5), (0.0, 0.0), (1.0, 0.5))
UPWARD = ((0.0, -1.5), (1.0, 2.0), (2.0, -0.5))
"""Multiples of a change, and the factors of the values there over this change, of differences of second order."""


@njit(cache=True)
def takes_differences(flat):
    """Whether a mechanism has surfaces whose points are differentiated by differences."""
    for s in range(len(flat.skin_body)):
        carrier = flat.marker_body[flat.skin_marker[s]]
        if flat.skin_other[s] != NO_MATE or flat.skin_local[s] == 1:
            return True
        if carrier != GROUND and flat.modes[carrier] > 0:
            return True
    return False


@njit(cache=True)
def yielding(flat, workspace, k, c):
    """The displacement of point `k` by a unit force, both along its direction `c`, by the compliance of its nodes."""
    e, total = load3(workspace.skin_axes[k, c], 0), 0.0
    for i in stencil(flat, workspace, k):
        p, f = workspace.stencil_node[i], stencil_force(flat, workspace, k, i, e)
        for j in stencil(flat, workspace, k):
            other = workspace.stencil_node[j]
            if flat.node_body[p] >= 0 and flat.node_body[other] == flat.node_body[p]:
                total += dot(stencil_force(flat, workspace, k, j, e), residual_response(flat, other, p, f))
    if c == 0 and flat.skin_local[flat.node_skin[k]] == 1:
        total += local_slope(workspace.skin_soft[k], max(workspace.states[flat.skin_state + 3 * k], 0.0))
    return total


@njit(cache=True)
def _touches(flat, b):
    """Whether body `b` has a surface that touches, or is touched."""
    return bool((flat.skin_body == b).any() or (flat.marker_body[flat.skin_marker] == b).any())


@njit(cache=True)
def settle_points(flat, q, states, kinematics, workspace):
    """Place the points at the configuration `q` (nq,) with `states` (nz,), with settled displacements of the nodes."""
    for i in range(flat.skin_state, flat.skin_state + 3 * len(flat.node_skin)):
        workspace.states[i] = states[i]
    place_markers(flat, q, kinematics)
    place_skins(flat, q, kinematics, workspace, True)


@njit(cache=True)
def _see_points(flat, q, states, kinematics, workspace, listed, factor, out):
    """Add `factor` times the forces on the bodies, and the gap and the slip of each of the `listed` points, one after
    the other, to `out` (nv + 3 n,)."""
    settle_points(flat, q, states, kinematics, workspace)
    nv = int(flat.v_start[-1])
    for i in range(len(listed)):
        k, sides = listed[i], sides_of(flat, listed[i])
        skin_rows(flat, q, kinematics, workspace, k, sides)
        for side in range(2):
            b = skin_end(flat, k, side)
            if b == GROUND:
                continue
            first = flat.v_start[b]
            for c in range(sides):
                f = factor * states[flat.skin_state + 3 * k + c]
                for j in range(flat.v_start[b + 1] - first):
                    out[first + j] += f * workspace.skin_G[k, c, side, j]
        out[nv + 3 * i] += factor * workspace.skin_gap[k]
        if sides == 3:
            slip = skin_slip(flat, q, kinematics, workspace, k)
            for c in range(1, 3):
                out[nv + 3 * i + c] += factor * dot(load3(workspace.skin_axes[k, c], 0), slip)


@njit(cache=True)
def _changes(flat, workspace, states, listed):
    """The size (n, 3) of the changes of the forces of the `listed` points, in `states` (nz,)."""
    length, sizes = np.inf, np.zeros((len(listed), 3))
    for b in range(len(flat.modes)):
        length = min(length, 1.0 / flat.weight[flat.v_start[b]])
    for i in range(len(listed)):
        k = listed[i]
        for c in range(sides_of(flat, k)):
            sizes[i, c] = PROBE * length / max(yielding(flat, workspace, k, c), 1e-300)
    return sizes


@njit(cache=True)
def probe_points(flat, q, states, kinematics, workspace, listed):
    """The derivatives (nv + 3 n, nv + 3 n) of the forces of the `listed` points on the bodies (nv) and of their gaps
    and slips, in the columns, by the configuration `q` (nq,) and by their forces in `states` (nz,), in the rows.

    The points must have been placed there, with the beginning of the slip in `workspace.skin_before`, and are."""
    nv, at, state = int(flat.v_start[-1]), flat.skin_state, states.copy()
    out, moved, increment = np.zeros((nv + 3 * len(listed), nv + 3 * len(listed))), q.copy(), np.zeros(nv)
    sizes = _changes(flat, workspace, states, listed)
    for b in range(len(flat.modes)):
        for i in range(flat.v_start[b], flat.v_start[b + 1] if _touches(flat, b) else flat.v_start[b]):
            step = PROBE / flat.weight[i]
            for sign in (-1.0, 1.0):
                increment[i] = sign * step
                displace(flat, q, increment, moved)
                _see_points(flat, moved, state, kinematics, workspace, listed, sign * 0.5 / step, out[i])
            increment[i] = 0.0
    for i in range(len(listed)):
        k = listed[i]
        for c in range(sides_of(flat, k)):
            place, step = at + 3 * k + c, sizes[i, c]
            for part, factor in CENTRAL if c > 0 or step < LOOSENED * states[place] else UPWARD:
                if factor != 0.0:
                    state[place] = states[place] + part * step
                    _see_points(flat, q, state, kinematics, workspace, listed, factor / step, out[nv + 3 * i + c])
            state[place] = states[place]
    settle_points(flat, q, states, kinematics, workspace)
    for k in listed:
        skin_rows(flat, q, kinematics, workspace, k, sides_of(flat, k))
    return out


@njit(cache=True)
def _along_places(workspace, to_seen):
    """The product of `to_seen` (nk, 3) with the places of the nodes in the axes of what they touch."""
    total = 0.0
    for k in range(len(to_seen)):
        v = vector(to_seen, k)
        if v[0] != 0.0 or v[1] != 0.0 or v[2] != 0.0:
            total += dot(v, vector(workspace.skin_seen, k))
    return total


@njit(cache=True)
def add_to_places(flat, workspace, k, v, to_seen):
    """Add a vector `v` in the axes of what point `k` touches to `to_seen` (nk, 3), by the weights of its nodes."""
    for i in stencil(flat, workspace, k):
        p = workspace.stencil_node[i]
        store(to_seen[p], 0, add(vector(to_seen, p), scale(workspace.stencil_weight[i], v)))


@njit(cache=True)
def probe_places(flat, q, states, kinematics, workspace, to_seen, to_q, to_states):
    """Add the derivatives of the product of `to_seen` (nk, 3) with the places of nodes by the configuration `q` (nq,)
    to `to_q` (nv,), and those by the forces of the points, in `states` (nz,), to `to_states` (nz,)."""
    settle_points(flat, q, states, kinematics, workspace)
    listed = np.empty(len(flat.node_skin), np.int64)
    count = 0
    for k in range(len(flat.node_skin)):
        if is_loaded(flat, workspace.states, k):
            listed[count] = k
            count += 1
    sizes = _changes(flat, workspace, states, listed[:count])
    state, moved, increment = states.copy(), q.copy(), np.zeros(len(to_q))
    for b in range(len(flat.modes)):
        for i in range(flat.v_start[b], flat.v_start[b + 1] if _touches(flat, b) else flat.v_start[b]):
            step = PROBE / flat.weight[i]
            for sign in (-1.0, 1.0):
                increment[i] = sign * step
                displace(flat, q, increment, moved)
                settle_points(flat, moved, state, kinematics, workspace)
                to_q[i] += sign * 0.5 / step * _along_places(workspace, to_seen)
            increment[i] = 0.0
    for i in range(count):
        for c in range(sides_of(flat, listed[i])):
            place, step = flat.skin_state + 3 * listed[i] + c, sizes[i, c]
            for part, factor in CENTRAL if c > 0 or step < LOOSENED * states[place] else UPWARD:
                if factor != 0.0:
                    state[place] = states[place] + part * step
                    settle_points(flat, q, state, kinematics, workspace)
                    to_states[place] += factor / step * _along_places(workspace, to_seen)
            state[place] = states[place]
