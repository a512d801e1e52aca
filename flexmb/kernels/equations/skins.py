"""Surfaces of reduced bodies that touch rigid shapes or each other: positions, gaps and forces of their points.

In the frame of its body, node k of a surface is at `X_k + c_k(eta) + u_k`: c from the elastic coordinates, and
`u = C f` from the forces `f` at all nodes of the body and the residual compliance C of the nodes, which has no mass.

The points of a surface that touches a rigid shape are its nodes. Those of one that faces another flexible surface are
sums over nodes of both (flexmb/kernels/equations/facing.py). The stencil of a point holds its nodes with weights,
of the sum 1 for its own surface and -1 for the other one; the nodes share its force with these weights. A rigid
triangle mesh is such another surface, whose nodes, its corners, rest in the axes of its marker.

Forces are states: along the normal and in two directions across it. They act where the point is, so that
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
    store_matrix,
    sub,
    tangents_near,
    vector,
)
from flexmb.kernels.base.data import GROUND, NO_MATE, RIGID_MESH
from flexmb.kernels.base.dense import inner
from flexmb.kernels.contact.local import local_approach, local_energy, see_point
from flexmb.kernels.contact.shapes import BORE, PLANE, SOCKET, SPHERE, shape_points
from flexmb.kernels.equations.facing import face
from flexmb.kernels.equations.rows import place_markers, wrench_to_body

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
SETTLING = 4
"""Rounds in which the nodes that share the forces of two flexible surfaces settle."""


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
    b = flat.node_body[k]
    size, C = flat.compliance_size[b], flat.compliance_entries
    at = flat.compliance_start[b] + 3 * flat.node_place[k] * size + 3 * flat.node_place[p]
    x = C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]
    at += size
    y = C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]
    at += size
    return x, y, C[at] * f[0] + C[at + 1] * f[1] + C[at + 2] * f[2]


@njit(cache=True, inline="always")
def stencil(flat, workspace, k):
    """The range of the entries of point `k` in `workspace.stencil_node` and `workspace.stencil_weight`."""
    return range(flat.stencil_start[k], flat.stencil_start[k] + workspace.stencil_count[k])


@njit(cache=True)
def stencil_force(flat, workspace, k, i, f):
    """The force at the node of entry `i` of the stencil of point `k`, in the axes of its body, of a force `f` at the
    point in the axes of its own."""
    if workspace.stencil_node[i] >= len(flat.node_skin):  # a node of the other surface
        f = rotate(matrix(workspace.skin_turn, flat.node_skin[k]), f)
    return scale(workspace.stencil_weight[i], f)


@njit(cache=True, inline="always")
def from_shape(flat, q, kinematics, s):
    """Attitude and origin of the body of surface `s` in the axes of what it touches."""
    b, a = flat.skin_body[s], flat.skin_marker[s]
    A = matrix(kinematics.axes, a)
    start = flat.q_start[b]
    return relative(A, matrix(kinematics.attitude, b)), rotate_inv(
        A, sub(load3(q, start), vector(kinematics.position, a))
    )


@njit(cache=True, inline="always")
def _reach(flat, q, b, radius, swing, bend):
    """The radius of the ball that contains the nodes of a surface of body `b`, deformed by the elastic coordinates."""
    if b == RIGID_MESH:
        return radius
    start, square = flat.q_start[b] + 7, 0.0
    for i in range(flat.modes[b]):
        radius += abs(q[start + i]) * swing[i]
        square += q[start + i] * q[start + i]
    return radius + bend * square


@njit(cache=True, inline="always")
def _is_far(flat, q, R, origin, s):
    """Whether no node of surface `s` can touch what it may touch."""
    code, other = int(flat.skin_shape[s, 0]), flat.skin_other[s]
    if code in (SOCKET, BORE):
        return False
    reach = _reach(flat, q, flat.skin_body[s], flat.skin_ball[s, 3], flat.skin_swing[s], flat.skin_bend[s])
    centre = add(origin, rotate(R, vector(flat.skin_ball, s)))
    if other != NO_MATE:
        there = _reach(flat, q, other, flat.other_ball[s, 3], flat.other_swing[s], flat.other_bend[s])
        apart = sub(centre, vector(flat.other_ball, s))
        return math.sqrt(dot(apart, apart)) > reach + there + flat.skin_range[s]
    if code == PLANE:
        return centre[2] > reach
    return math.sqrt(dot(centre, centre)) > reach + flat.skin_reach[s]


@njit(cache=True)
def _bare(flat, q, k, out):
    """Write the position of node `k` in the body frame, without its residual displacement, to `out` (3,)."""
    b = flat.node_body[k]
    if b == RIGID_MESH:
        store(out, 0, vector(flat.node_point, k))
        return
    m, start = flat.modes[b], flat.q_start[b] + 7
    eta, second = q[start : start + m], len(flat.node_second) > 0
    for i in range(3):
        out[i] = flat.node_point[k, i] + inner(flat.node_rows[k, i], eta, m)
        if second:
            for j in range(m):
                out[i] += 0.5 * eta[j] * inner(flat.node_second[k, i, j], eta, m)


@njit(cache=True)
def _see(flat, workspace, s, k, R, origin):
    """Set gap and directions of node `k`, which touches a rigid shape."""
    p, row = flat.skin_shape[s], workspace.near[0]
    x = vector(workspace.skin_at, k)
    y = add(origin, rotate(R, x))
    workspace.stencil_node[flat.stencil_start[k]] = k
    workspace.stencil_weight[flat.stencil_start[k]] = 1.0
    workspace.stencil_count[k] = 1
    store(workspace.skin_place[k], 0, x)
    store(workspace.skin_seen[k], 0, y)
    store(workspace.near_d, 0, y)
    count = shape_points(
        int(p[0]), p[1], p[2], p[3], SPHERE, 0.0, 0.0, 0.0, workspace.near_d, workspace.near_S, workspace.near
    )
    if count == 0:
        workspace.skin_gap[k] = np.inf
        return
    workspace.skin_gap[k] = -row[6]
    n = rotate_inv(R, load3(row, 3))
    t, r = tangents_near(n, vector(flat.node_across, k))
    axes = workspace.skin_axes[k]
    store(axes[0], 0, n)
    store(axes[1], 0, t)
    store(axes[2], 0, r)


@njit(cache=True)
def _see_all(flat, q, kinematics, workspace, s):
    """Set gaps and directions of the points of surface `s` from the positions of the nodes."""
    R, origin = from_shape(flat, q, kinematics, s)
    if flat.skin_other[s] != NO_MATE:
        store_matrix(workspace.skin_turn, s, R)
        face(flat, workspace, s, R, origin)
        return
    k = flat.skin_node[s]
    if flat.skin_local[s] == 1:
        store_matrix(workspace.skin_turn, s, IDENTITY)
        see_point(flat, workspace, s, R, origin)
        force = max(workspace.states[flat.skin_state + 3 * k], 0.0)
        workspace.skin_gap[k] += local_approach(workspace.skin_soft[k], force)
        return
    for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
        _see(flat, workspace, s, k, R, origin)


@njit(cache=True, inline="always")
def count_nodes(flat, s):
    """The number of nodes of surface `s` and of the surface that it faces."""
    return flat.skin_node[s + 1] - flat.skin_node[s] + flat.mate_node[s + 1] - flat.mate_node[s]


@njit(cache=True, inline="always")
def node_of(flat, s, i):
    """Node `i` of those of `count_nodes`, those of the surface first."""
    k = flat.skin_node[s] + i
    return k if k < flat.skin_node[s + 1] else flat.mate_node[s] + k - flat.skin_node[s + 1]


@njit(cache=True)
def _load_nodes(flat, workspace):
    """Share the forces of the points, `workspace.states`, among their nodes in `workspace.skin_force`, and list these
    in `workspace.skin_list`; returns their number."""
    states, marked, count = workspace.states, workspace.skin_marked, 0
    for s in range(len(flat.skin_body)):
        for i in range(count_nodes(flat, s)):
            marked[node_of(flat, s, i)] = 0
        for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
            if not is_loaded(flat, states, k):
                continue
            f, axes, at = (0.0, 0.0, 0.0), workspace.skin_axes[k], flat.skin_state + 3 * k
            for c in range(sides_of(flat, k)):
                f = add(f, scale(states[at + c], load3(axes[c], 0)))
            for i in stencil(flat, workspace, k):
                j, own = workspace.stencil_node[i], stencil_force(flat, workspace, k, i, f)
                if marked[j] == 0:
                    marked[j] = 1
                    workspace.skin_list[count] = j
                    count += 1
                    store(workspace.skin_force[j], 0, own)
                else:
                    store(workspace.skin_force[j], 0, add(vector(workspace.skin_force, j), own))
    return count


@njit(cache=True)
def _flex_nodes(flat, workspace):
    """Move the nodes by the residual displacements under the forces of the points; returns their strain energy."""
    count, listed, energy = _load_nodes(flat, workspace), workspace.skin_list, 0.0
    for s in range(len(flat.skin_body)):
        if workspace.skin_near[s] == 0:
            continue
        for i in range(count_nodes(flat, s)):
            k, u = node_of(flat, s, i), (0.0, 0.0, 0.0)
            for j in range(count if flat.node_body[k] != RIGID_MESH else 0):
                p = listed[j]
                if flat.node_body[p] == flat.node_body[k]:
                    u = add(u, residual_response(flat, k, p, vector(workspace.skin_force, p)))
            if workspace.skin_marked[k] == 1:
                energy += 0.5 * dot(u, vector(workspace.skin_force, k))
            store(workspace.skin_at[k], 0, add(vector(workspace.skin_bare, k), u))
            if flat.mate_node[s + 1] > flat.mate_node[s]:
                store(workspace.skin_bent[k], 0, u)
    return energy


@njit(cache=True)
def place_skins(flat, q, kinematics, workspace, everything):
    """Set positions, gaps and directions of the points at the configuration `q` (nq,) of `kinematics`, with the forces
    in `workspace.states`; of all of them if `everything`, else of surfaces that may touch. Returns the strain energy of
    the residual displacements.

    Which nodes of two flexible surfaces share the forces follows from their displaced positions: from those of the last
    evaluation, so that it settles with the iterations of a step, or in several rounds if `everything`.
    """
    states, loaded, energy = workspace.states, False, 0.0
    for s in range(len(flat.skin_body)):
        first, last, presses = flat.skin_node[s], flat.skin_node[s + 1], False
        R, origin = from_shape(flat, q, kinematics, s)
        for k in range(first, last):
            presses = presses or is_loaded(flat, states, k)
        loaded = loaded or presses
        workspace.skin_near[s] = 0
        if not presses and not everything and _is_far(flat, q, R, origin, s):
            for k in range(first, last):
                workspace.skin_gap[k] = np.inf
            continue
        workspace.skin_near[s] = 1
        for i in range(count_nodes(flat, s)):
            k = node_of(flat, s, i)
            _bare(flat, q, k, workspace.skin_bare[k])
            if not presses:
                workspace.skin_bent[k] = 0.0
            store(workspace.skin_at[k], 0, add(vector(workspace.skin_bare, k), vector(workspace.skin_bent, k)))
        _see_all(flat, q, kinematics, workspace, s)
    if not loaded:
        return 0.0
    for _ in range(SETTLING if everything else 1):
        energy = _flex_nodes(flat, workspace)
        for s in range(len(flat.skin_body)):
            if workspace.skin_near[s] == 1:
                _see_all(flat, q, kinematics, workspace, s)
        if len(flat.facet_nodes) == 0:
            break
    for k in range(len(flat.node_skin)):
        if workspace.skin_near[flat.node_skin[k]] == 1 and workspace.skin_gap[k] == np.inf:
            states[flat.skin_state + 3 * k : flat.skin_state + 3 * k + 3] = 0.0  # it has slid off what it touched
    for s in range(len(flat.skin_body)):
        energy += _local_energy(flat, workspace, s)
    return energy


@njit(cache=True)
def _local_energy(flat, workspace, s):
    """The strain energy that a local contact `s` adds to that of the nodes."""
    k = flat.skin_node[s]
    if flat.skin_local[s] == 0 or not is_loaded(flat, workspace.states, k):
        return 0.0
    return local_energy(workspace.skin_soft[k], workspace.states[flat.skin_state + 3 * k])


@njit(cache=True)
def _elastic_rows(flat, q, workspace, k, c, side, out):
    """Write the derivatives `out` (m,) of coordinate `c` of point `k` by the elastic coordinates of the body of one
    `side`."""
    s = flat.node_skin[k]
    b = flat.skin_body[s] if side == 1 else flat.skin_other[s]
    m, start = flat.modes[b], flat.q_start[b] + 7
    eta, second = q[start : start + m], len(flat.node_second) > 0
    out[:m] = 0.0
    for i in stencil(flat, workspace, k):
        p = workspace.stencil_node[i]
        if flat.node_body[p] != b:
            continue
        e = stencil_force(flat, workspace, k, i, load3(workspace.skin_axes[k, c], 0))
        for a in range(3):
            for j in range(m):
                slope = flat.node_rows[p, a, j]
                if second:
                    slope += inner(flat.node_second[p, a, j], eta, m)
                out[j] += e[a] * slope


@njit(cache=True)
def skin_rows(flat, q, kinematics, workspace, k, sides):
    """Set the derivatives `workspace.skin_G[k]` of the first `sides` coordinates of point `k`, along its directions."""
    s = flat.node_skin[k]
    b, a, G = flat.skin_body[s], flat.skin_marker[s], workspace.skin_G[k]
    x, R = vector(workspace.skin_place, k), matrix(kinematics.attitude, b)
    arm = sub(add(load3(q, flat.q_start[b]), rotate(R, x)), vector(kinematics.position, a))
    for c in range(sides):
        e, own = load3(workspace.skin_axes[k, c], 0), G[c, 1]
        store(own, 0, e)
        store(own, 3, cross(x, e))
        _elastic_rows(flat, q, workspace, k, c, 1, own[6:])
        if flat.marker_body[a] != GROUND:
            force = scale(-1.0, rotate(R, e))
            wrench_to_body(flat, a, force, cross(arm, force), kinematics, G[c, 0])
            if flat.skin_other[s] >= 0:
                _elastic_rows(flat, q, workspace, k, c, 0, G[c, 0, 6:])


@njit(cache=True)
def add_skin_forces(flat, q, kinematics, workspace, out):
    """Add the generalised forces of the points, with the forces in `workspace.states`, to `out` (nv,); returns the
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
    """The body that point `k` touches (side 0), or its own (side 1)."""
    s = flat.node_skin[k]
    return flat.skin_body[s] if side == 1 else flat.marker_body[flat.skin_marker[s]]


@njit(cache=True)
def skin_slip(flat, q, kinematics, workspace, k):
    """The displacement of point `k` relative to what it touches since `workspace.skin_before`, in body axes."""
    R, _ = from_shape(flat, q, kinematics, flat.node_skin[k])
    moved = (0.0, 0.0, 0.0)
    for i in stencil(flat, workspace, k):
        p = workspace.stencil_node[i]
        step = sub(vector(workspace.skin_seen, p), vector(workspace.skin_before, p))
        moved = add(moved, scale(workspace.stencil_weight[i], step))
    return rotate_inv(R, moved)


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
def skins_along(flat, q, w, states, kinematics, workspace, gap, point, axes, rates, push, force, stored):
    """Write, for stored configurations `q` (nt, nq), velocities `w` (nt, nv) and `states` (nt, nz), of all points the
    `gap` (nt, nn), the world directions `axes` (nt, nn, 3, 3), in rows, and the `rates` (nt, nn, 3) along them, without
    those of the residual displacements; of all nodes, of other flexible surfaces behind the points, the world
    position `point` (nt, nk, 3), the `force` (nt, nk, 3) in world axes and the sum of normal forces `push` (nt, nk);
    and the strain energy of the residual displacements, `stored` (nt, ns).
    """
    for t in range(len(q)):
        for i in range(flat.skin_state, len(workspace.states)):
            workspace.states[i] = states[t, i]
        place_markers(flat, q[t], kinematics)
        workspace.skin_force[:] = 0.0
        place_skins(flat, q[t], kinematics, workspace, True)
        stored[t] = 0.0
        push[t] = 0.0
        for s in range(len(flat.skin_body)):
            stored[t, s] = _local_energy(flat, workspace, s)
            for i in range(count_nodes(flat, s)):
                k = node_of(flat, s, i)
                u = sub(vector(workspace.skin_at, k), vector(workspace.skin_bare, k))
                stored[t, s] += 0.5 * dot(u, vector(workspace.skin_force, k))
        workspace.skin_force[:] = 0.0
        _load_nodes(flat, workspace)
        for k in range(len(flat.node_skin)):
            R = matrix(kinematics.attitude, flat.node_body[k])
            gap[t, k] = workspace.skin_gap[k]
            skin_rows(flat, q[t], kinematics, workspace, k, 3)
            for c in range(3):
                store(axes[t, k, c], 0, rotate(R, load3(workspace.skin_axes[k, c], 0)))
                ends = (skin_end(flat, k, 0), skin_end(flat, k, 1))
                rates[t, k, c] = along_ends(flat, workspace.skin_G[k, c], ends, w[t])
            for i in stencil(flat, workspace, k):
                node, part = workspace.stencil_node[i], workspace.stencil_weight[i]
                if node >= len(flat.node_skin) and flat.skin_local[flat.node_skin[k]] == 0:  # the other surface
                    part = -part
                push[t, node] += part * workspace.states[flat.skin_state + 3 * k]
        for s in range(len(flat.skin_body)):
            for i in range(count_nodes(flat, s)):
                k, a = node_of(flat, s, i), flat.skin_marker[s]
                b = flat.node_body[k]
                if b == RIGID_MESH:
                    R, origin = matrix(kinematics.axes, a), vector(kinematics.position, a)
                else:
                    R, origin = matrix(kinematics.attitude, b), load3(q[t], flat.q_start[b])
                store(point[t, k], 0, add(origin, rotate(R, vector(workspace.skin_at, k))))
                store(force[t, k], 0, rotate(R, vector(workspace.skin_force, k)))
