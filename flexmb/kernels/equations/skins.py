"""Surfaces of reduced bodies that touch rigid shapes: positions, gaps and forces of their nodes.

In the frame of its body, node k of a surface is at `X_k + c_k(eta) + u_k`: c from the elastic coordinates, and
`u = C f` from the forces `f` at all nodes of the body and the residual compliance C of the nodes, which has no mass.
Forces are states: along the normal of the shape and in two directions across it. They act where the node is, so that
they are the derivatives of the strain energy `f C f / 2` under a motion of either body. The steps that find them are in
flexmb/kernels/steps/pressing.py.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    dot,
    load3,
    matrix,
    relative,
    rotate,
    rotate_inv,
    scale,
    store,
    sub,
    tangents,
    vector,
)
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import inner
from flexmb.kernels.contact.shapes import BORE, PLANE, SOCKET, SPHERE, shape_points
from flexmb.kernels.equations.rows import place_markers, wrench_to_body


@njit(cache=True, inline="always")
def sides_of(flat, k):
    """The number of directions in which node `k` carries a force: the normal alone without friction."""
    return 3 if flat.skin_friction[flat.node_skin[k]] > 0.0 else 1


@njit(cache=True)
def is_loaded(flat, states, k):
    """Whether node `k` carries a force in `states` (nz,)."""
    return states[flat.skin_state + 3 * k] > 0.0


@njit(cache=True)
def residual_response(flat, k, p, f):
    """The displacement of node `k` by a force `f` at node `p` of the same body, in body axes."""
    b = flat.skin_body[flat.node_skin[k]]
    size, C = flat.compliance_size[b], flat.compliance_entries
    at = flat.compliance_start[b] + 3 * flat.node_place[k] * size + 3 * flat.node_place[p]
    x = C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]
    at += size
    y = C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]
    at += size
    return x, y, C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]


@njit(cache=True)
def _from_shape(flat, q, kinematics, s):
    """Attitude and origin of the body of surface `s` in the axes of its shape."""
    b, a = flat.skin_body[s], flat.skin_marker[s]
    A = matrix(kinematics.axes, a)
    start = flat.q_start[b]
    return relative(A, matrix(kinematics.attitude, b)), rotate_inv(
        A, sub(load3(q, start), vector(kinematics.position, a))
    )


@njit(cache=True)
def _is_far(flat, q, R, origin, s):
    """Whether no node of surface `s` can touch its shape."""
    code = int(flat.skin_shape[s, 0])
    if code in (SOCKET, BORE):
        return False
    b, m = flat.skin_body[s], flat.modes[flat.skin_body[s]]
    start = flat.q_start[b] + 7
    reach, square = flat.skin_ball[s, 3], 0.0
    for i in range(m):
        reach += abs(q[start + i]) * flat.skin_swing[s, i]
        square += q[start + i] * q[start + i]
    reach += flat.skin_bend[s] * square
    centre = add(origin, rotate(R, vector(flat.skin_ball, s)))
    if code == PLANE:
        return centre[2] > reach
    return math.sqrt(dot(centre, centre)) > reach + flat.skin_reach[s]


@njit(cache=True)
def _bare(flat, q, k, out):
    """Write the position of node `k` in the body frame, without its residual displacement, to `out` (3,)."""
    b = flat.skin_body[flat.node_skin[k]]
    m, start = flat.modes[b], flat.q_start[b] + 7
    eta, second = q[start : start + m], len(flat.node_second) > 0
    for i in range(3):
        out[i] = flat.node_point[k, i] + inner(flat.node_rows[k, i], eta, m)
        if second:
            for j in range(m):
                out[i] += 0.5 * eta[j] * inner(flat.node_second[k, i, j], eta, m)


@njit(cache=True)
def _see(flat, workspace, s, k, R, origin, x):
    """Set position, gap and directions of node `k`, which is at `x` in the body frame."""
    p, row = flat.skin_shape[s], workspace.near[0]
    y = add(origin, rotate(R, x))
    store(workspace.skin_at[k], 0, x)
    store(workspace.skin_seen[k], 0, y)
    store(workspace.near_d, 0, y)
    count = shape_points(
        int(p[0]), p[1], p[2], p[3], SPHERE, 0.0, 0.0, 0.0, workspace.near_d, workspace.near_S, workspace.near
    )
    if count == 0:
        workspace.skin_gap[k] = np.inf
        return
    workspace.skin_gap[k] = -row[6]
    n = load3(row, 3)
    t, r = tangents(n)
    axes = workspace.skin_axes[k]
    store(axes[0], 0, rotate_inv(R, n))
    store(axes[1], 0, rotate_inv(R, t))
    store(axes[2], 0, rotate_inv(R, r))


@njit(cache=True)
def place_skins(flat, q, kinematics, workspace, everything):
    """Set positions, gaps and directions of the nodes at the configuration `q` (nq,) of `kinematics`, with the forces
    in `workspace.states`; of all of them if `everything`, else of surfaces that may touch. Returns the strain energy of
    the residual displacements."""
    states, loaded, count, energy = workspace.states, workspace.skin_list, 0, 0.0
    for s in range(len(flat.skin_body)):
        first, last, before = flat.skin_node[s], flat.skin_node[s + 1], count
        R, origin = _from_shape(flat, q, kinematics, s)
        for k in range(first, last):
            if is_loaded(flat, states, k):
                loaded[count] = k
                count += 1
        workspace.skin_near[s] = 0
        if count == before and not everything and _is_far(flat, q, R, origin, s):
            for k in range(first, last):
                workspace.skin_gap[k] = np.inf
            continue
        workspace.skin_near[s] = 1
        for k in range(first, last):
            _bare(flat, q, k, workspace.skin_bare[k])
            _see(flat, workspace, s, k, R, origin, vector(workspace.skin_bare, k))
    if count == 0:
        return 0.0
    for j in range(count):
        k = loaded[j]
        f, axes, at = (0.0, 0.0, 0.0), workspace.skin_axes[k], flat.skin_state + 3 * k
        for c in range(sides_of(flat, k)):
            f = add(f, scale(states[at + c], load3(axes[c], 0)))
        store(workspace.skin_force[k], 0, f)
    for s in range(len(flat.skin_body)):
        if workspace.skin_near[s] == 0:
            continue
        R, origin = _from_shape(flat, q, kinematics, s)
        for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
            u = (0.0, 0.0, 0.0)
            for j in range(count):
                if flat.skin_body[flat.node_skin[loaded[j]]] == flat.skin_body[s]:
                    u = add(u, residual_response(flat, k, loaded[j], vector(workspace.skin_force, loaded[j])))
            if is_loaded(flat, states, k):
                energy += 0.5 * dot(u, vector(workspace.skin_force, k))
            _see(flat, workspace, s, k, R, origin, add(vector(workspace.skin_bare, k), u))
    return energy


@njit(cache=True)
def skin_rows(flat, q, kinematics, workspace, k, sides):
    """Set the derivatives `workspace.skin_G[k]` of the first `sides` coordinates of node `k`, along its directions."""
    s = flat.node_skin[k]
    b, a, G = flat.skin_body[s], flat.skin_marker[s], workspace.skin_G[k]
    m, start = flat.modes[b], flat.q_start[b]
    eta, x, R = q[start + 7 : start + 7 + m], vector(workspace.skin_at, k), matrix(kinematics.attitude, b)
    second = len(flat.node_second) > 0
    arm = sub(add(load3(q, start), rotate(R, x)), vector(kinematics.position, a))
    for c in range(sides):
        e, own = load3(workspace.skin_axes[k, c], 0), G[c, 1]
        store(own, 0, e)
        store(own, 3, cross(x, e))
        for j in range(m):
            total = 0.0
            for i in range(3):
                slope = flat.node_rows[k, i, j]
                if second:
                    slope += inner(flat.node_second[k, i, j], eta, m)
                total += e[i] * slope
            own[6 + j] = total
        if flat.marker_body[a] != GROUND:
            force = scale(-1.0, rotate(R, e))
            wrench_to_body(flat, a, force, cross(arm, force), kinematics, G[c, 0])


@njit(cache=True)
def add_skin_forces(flat, q, kinematics, workspace, out):
    """Add the generalised forces of the nodes, with the forces in `workspace.states`, to `out` (nv,); returns the
    strain energy of their residual displacements."""
    energy = place_skins(flat, q, kinematics, workspace, False)
    for k in range(len(flat.node_skin)):
        if not is_loaded(flat, workspace.states, k):
            continue
        sides = sides_of(flat, k)
        skin_rows(flat, q, kinematics, workspace, k, sides)
        for side in range(2):
            b = skin_end(flat, k, side)
            if b == GROUND:
                continue
            first = flat.v_start[b]
            for c in range(sides):
                f = workspace.states[flat.skin_state + 3 * k + c]
                for i in range(flat.v_start[b + 1] - first):
                    out[first + i] += f * workspace.skin_G[k, c, side, i]
    return energy


@njit(cache=True, inline="always")
def skin_end(flat, k, side):
    """The body of the shape that node `k` touches (side 0), or of the node (side 1)."""
    s = flat.node_skin[k]
    return flat.skin_body[s] if side == 1 else flat.marker_body[flat.skin_marker[s]]


@njit(cache=True)
def skin_slip(flat, q, kinematics, workspace, k):
    """The displacement of node `k` relative to its shape since `workspace.skin_before`, in body axes."""
    R, _ = _from_shape(flat, q, kinematics, flat.node_skin[k])
    return rotate_inv(R, sub(vector(workspace.skin_seen, k), vector(workspace.skin_before, k)))


@njit(cache=True)
def along_ends(flat, G, ends, x):
    """The product of a row `G` (2, .) of the bodies `ends` with `x` (nv,)."""
    total = 0.0
    for side in range(2):
        b = ends[side]
        if b != GROUND:
            s = flat.v_start[b]
            total += inner(G[side], x[s:], flat.v_start[b + 1] - s)
    return total


@njit(cache=True)
def skins_along(flat, q, w, states, kinematics, workspace, gap, point, axes, rates, stored):
    """Write, for stored configurations `q` (nt, nq), velocities `w` (nt, nv) and `states` (nt, nz), of all nodes the
    `gap` (nt, nn), the world position `point` (nt, nn, 3), the world directions `axes` (nt, nn, 3, 3), in rows, and the
    `rates` (nt, nn, 3) along them, without those of the residual displacements, whose strain energy is `stored`
    (nt, ns).
    """
    for t in range(len(q)):
        for i in range(flat.skin_state, len(workspace.states)):
            workspace.states[i] = states[t, i]
        place_markers(flat, q[t], kinematics)
        workspace.skin_force[:] = 0.0
        place_skins(flat, q[t], kinematics, workspace, True)
        stored[t] = 0.0
        for k in range(len(flat.node_skin)):
            s, b = flat.node_skin[k], flat.skin_body[flat.node_skin[k]]
            R, x = matrix(kinematics.attitude, b), vector(workspace.skin_at, k)
            gap[t, k] = workspace.skin_gap[k]
            store(point[t, k], 0, add(load3(q[t], flat.q_start[b]), rotate(R, x)))
            skin_rows(flat, q[t], kinematics, workspace, k, 3)
            for c in range(3):
                store(axes[t, k, c], 0, rotate(R, load3(workspace.skin_axes[k, c], 0)))
                ends = (skin_end(flat, k, 0), skin_end(flat, k, 1))
                rates[t, k, c] = along_ends(flat, workspace.skin_G[k, c], ends, w[t])
            stored[t, s] += 0.5 * dot(sub(x, vector(workspace.skin_bare, k)), vector(workspace.skin_force, k))
