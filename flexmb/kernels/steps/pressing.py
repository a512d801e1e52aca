"""Forces of surfaces of reduced bodies that touch, within the Newton iteration of a step.

With the gaps `g` of the points at an iterate, their derivatives `G`, the correction `x` of the step without a change of
the forces and its response `X = A^-1 G^T` to forces, the forces at the end of the step satisfy

    0 <= f  _|_  g + G x + (G X + C) (f - f0) >= 0                                               (1)

for the normal directions: bodies do not overlap where they are at the end of the step. The residual compliance C, that
of both bodies if both are flexible, has no mass, so that there is no impact: velocities do not jump, and no force is
proportional to the reciprocal of the step. Friction uses the slip in the step as positions use the gap:
`f_t = -mu f_n s/|s|` or s = 0 (backward Euler in time).

A point of local contact adds Hertz's approach less the compliance of the mesh, `d(f) - s f`: (1) is then solved with
tangents of `d`, which is concave, so that the forces tend to the solution from below.

A point takes part if it carries a force, or if the solution with the others would let it overlap.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, dot, load3, matrix, rotate, scale, store, vector
from flexmb.kernels.base.data import GROUND, NO_MATE, RIGID_MESH
from flexmb.kernels.base.dense import inner
from flexmb.kernels.contact.local import local_approach, local_slope
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
    stencil,
)
from flexmb.kernels.steps.touching import respond_at, solve_island

ROUNDS = 100
"""Solutions in one correction, each with more nodes."""
TANGENTS = 60
"""Tangents of Hertz's approach in one solution."""
SETTLED = 1e-12
"""Change of a force, relative to the largest, at which it is found."""
LOWER = 0.1
"""Factor of the force of a tangent that lets a point part."""


@njit(cache=True)
def begin_skins(flat, motion, kinematics, workspace):
    """Take the forces of the points at the beginning of a step, and the places of nodes for the slip in it."""
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
def _moved(flat, x, b, ball, swing):
    """The largest displacement of a node of a surface of body `b` by the correction `x` (nv,)."""
    v = flat.v_start[b]
    far = math.sqrt(ball[0] * ball[0] + ball[1] * ball[1] + ball[2] * ball[2]) + ball[3]
    turned, reach, change = load3(x, v + 3), load3(x, v), 0.0
    for i in range(flat.modes[b]):
        change += abs(x[v + 6 + i]) * swing[i]
    return 2.0 * (math.sqrt(dot(reach, reach)) + far * math.sqrt(dot(turned, turned)) + change)


@njit(cache=True)
def _bound(flat, x, s):
    """The largest change of a gap of surface `s` by the correction `x` (nv,); infinite if its rigid shape moves."""
    other = flat.skin_other[s]
    own = _moved(flat, x, flat.skin_body[s], flat.skin_ball[s], flat.skin_swing[s])
    if other >= 0:
        return own + _moved(flat, x, other, flat.other_ball[s], flat.other_swing[s])
    return np.inf if flat.marker_body[flat.skin_marker[s]] != GROUND else own


@njit(cache=True)
def _predict(flat, q, kinematics, workspace, x, gap):
    """Write the gaps of the points after the correction `x` (nv,), with the present forces, to `gap` (nn,), infinite
    for points that are farther away than they move. Returns the number of rows of the others."""
    rows = 0
    for s in range(len(flat.skin_body)):
        bound = _bound(flat, x, s) if workspace.skin_near[s] == 1 else 0.0
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
            if gap[k] < np.inf:
                rows += sides_of(flat, k)
    return rows


@njit(cache=True)
def number_nodes(flat, workspace, gap):
    """Number the nodes of the points with finite `gap` (nn,) in `workspace.skin_marked`, and list them in
    `workspace.skin_list`; returns how many there are."""
    marked, listed, count = workspace.skin_marked, workspace.skin_list, 0
    for k in range(len(gap)):
        if gap[k] < np.inf:
            for i in stencil(flat, workspace, k):
                marked[workspace.stencil_node[i]] = -1
    for k in range(len(gap)):
        if gap[k] < np.inf:
            for i in stencil(flat, workspace, k):
                j = workspace.stencil_node[i]
                if marked[j] < 0:
                    marked[j] = count
                    listed[count] = j
                    count += 1
    return count


@njit(cache=True)
def flex(flat, workspace, k, c, count, U):
    """Write the residual displacements `U` (count, 3) of the listed nodes by a unit force in direction `c` of point
    `k`."""
    e, turned = _direction(flat, workspace, k, c)
    for j in range(count):
        node, u = workspace.skin_list[j], (0.0, 0.0, 0.0)
        if flat.node_body[node] != RIGID_MESH:
            for i in stencil(flat, workspace, k):
                p = workspace.stencil_node[i]
                if flat.node_body[p] == flat.node_body[node]:
                    f = scale(workspace.stencil_weight[i], turned if p >= len(flat.node_skin) else e)
                    u = add(u, residual_response(flat, node, p, f))
        store(U[j], 0, u)


@njit(cache=True)
def flexed(flat, workspace, k, c, U):
    """The displacement of point `k` in direction `c` by residual displacements `U` (count, 3) of the listed nodes."""
    e, turned = _direction(flat, workspace, k, c)
    total = 0.0
    for i in stencil(flat, workspace, k):
        p = workspace.stencil_node[i]
        f = scale(workspace.stencil_weight[i], turned if p >= len(flat.node_skin) else e)
        total += dot(f, load3(U[workspace.skin_marked[p]], 0))
    return total


@njit(cache=True, inline="always")
def _direction(flat, workspace, k, c):
    """Direction `c` of point `k` in the axes of its body, and in those of the flexible body that it touches."""
    e, s = load3(workspace.skin_axes[k, c], 0), flat.node_skin[k]
    return e, rotate(matrix(workspace.skin_turn, s), e) if flat.skin_other[s] != NO_MATE else e


@njit(cache=True)
def _bend(flat, workspace, moved, count, U):
    """Change the residual displacements of the nodes of flexible surfaces that face others by `moved` times `U`
    (count, 3). The next iteration cuts their faces and turns their normals there, and not where the forces of the
    iteration before left them: its contraction would be the square root of that with present ones."""
    for j in range(count):
        k = workspace.skin_list[j]
        if k >= len(flat.node_skin) or flat.skin_other[flat.node_skin[k]] != NO_MATE:
            store(workspace.skin_bent[k], 0, add(vector(workspace.skin_bent, k), scale(moved, load3(U[j], 0))))


@njit(cache=True)
def press_skins(flat, q, kinematics, workspace, null_rows, beta, compliance, anew, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the forces of the points, which are written to
    `workspace.states`, and the heat of friction after this correction to `workspace.skin_heat`; `anew` if the matrix of
    the step is new. Returns False if no forces are found."""
    workspace.skin_heat[0] = 0.0
    near = 0
    for s in range(len(flat.skin_body)):
        near += workspace.skin_near[s]
    if near == 0:
        return True
    nn, states = len(flat.node_skin), workspace.states
    gap, points, n = np.empty(nn), np.empty(nn, np.int64), 0
    taken, listed = np.zeros(nn, np.bool_), np.zeros(nn, np.bool_)
    if anew:
        workspace.skin_known[:] = 0
    most = _predict(flat, q, kinematics, workspace, x, gap)
    first, rows, height = np.zeros(nn + 1, np.int64), np.empty(most, np.int64), 0
    old, force, distance = np.zeros(most), np.zeros(most), np.zeros(most)
    for k in range(nn):
        taken[k] = gap[k] < np.inf and (is_loaded(flat, states, k) or gap[k] < 0.0)
    if not taken.any():
        return True
    count = number_nodes(flat, workspace, gap)
    U = np.empty((most, count, 3))
    for _ in range(ROUNDS):
        known = n
        for k in range(nn):
            if not taken[k]:
                continue
            taken[k], listed[k] = False, True
            points[n] = k
            for c in range(sides_of(flat, k)):
                rows[height] = 3 * k + c
                old[height] = states[flat.skin_state + 3 * k + c] if is_loaded(flat, states, k) else 0.0
                flex(flat, workspace, k, c, count, U[height])
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
        if not _solve(
            flat, q, kinematics, workspace, x, points[:n], first[: n + 1], rows[:height], U, old, force, distance
        ):
            return False
        for k in range(nn):
            if listed[k] or gap[k] == np.inf:
                continue
            ends, total = (skin_end(flat, k, 0), skin_end(flat, k, 1)), gap[k]
            for i in range(height):
                moved, X = force[i] - old[i], workspace.skin_X[rows[i] // 3, rows[i] % 3]
                total += moved * along_ends(flat, workspace.skin_G[k, 0], ends, X)
                total += moved * flexed(flat, workspace, k, 0, U[i])
            taken[k] = total < 0.0
    for i in range(height):
        k, c = rows[i] // 3, rows[i] % 3
        moved = force[i] - old[i]
        states[flat.skin_state + 3 * k + c] = force[i]
        if c > 0:
            workspace.skin_heat[0] -= force[i] * distance[i]
        if moved != 0.0:
            _bend(flat, workspace, moved, count, U[i])
            for a in range(len(x)):
                x[a] += moved * workspace.skin_X[k, c, a]
            for a in range(len(change)):
                change[a] += moved * workspace.skin_change[k, c, a]
    return True


@njit(cache=True)
def _solve(flat, q, kinematics, workspace, x, points, first, rows, U, old, force, distance):
    """Solve (1) for the forces (height,) in the `rows` of the `points`, with the residual displacements `U` (height,
    count, 3) by unit forces in them; returns whether they are found. `distance` (height,): the slips of the step along
    tangential rows, and the gaps along normal ones, with these forces."""
    height, axes = len(rows), workspace.skin_axes
    W, b, mu = np.empty((height, height)), np.empty(height), np.empty(len(points))
    for j in range(len(points)):
        k = points[j]
        mu[j] = flat.skin_friction[flat.node_skin[k]]
        ends, slip = (skin_end(flat, k, 0), skin_end(flat, k, 1)), (0.0, 0.0, 0.0)
        if mu[j] > 0.0:
            slip = skin_slip(flat, q, kinematics, workspace, k)
        for i in range(first[j], first[j + 1]):
            c = i - first[j]
            own, e = workspace.skin_G[k, c], load3(axes[k, c], 0)
            b[i] = (workspace.skin_gap[k] if c == 0 else dot(e, slip)) + along_ends(flat, own, ends, x)
            for p in range(i + 1):
                W[i, p] = along_ends(flat, own, ends, workspace.skin_X[rows[p] // 3, rows[p] % 3])
                W[i, p] += flexed(flat, workspace, k, c, U[p])
                W[p, i] = W[i, p]
    size = 0.0
    for i in range(height):
        own = inner(W[i], old, height)
        size = max(size, abs(b[i]), abs(own))
        b[i] -= own
        force[i] = old[i]
    soft = False
    for j in range(len(points)):
        soft = soft or flat.skin_local[flat.node_skin[points[j]]] == 1
    if soft and size > 0.0:
        found = _solve_soft(flat, workspace, points, first, W, b, mu, size, old, force)
    else:
        found = size == 0.0 or solve_island(W, b, first, np.full(len(mu), -1), mu, size, 0.0, force[:height])
    for i in range(height):
        distance[i] = b[i] + inner(W[i], force, height)
    return found


@njit(cache=True)
def _solve_soft(flat, workspace, points, first, W, b, mu, size, old, force):
    """Solve `_solve` with the approaches of the points of local contact."""
    height, n = len(b), len(points)
    guess, own, rhs = np.zeros(n), np.empty((height, height)), np.empty(height)
    for j in range(n):
        i = first[j]
        if flat.skin_local[flat.node_skin[points[j]]] == 1:
            soft = workspace.skin_soft[points[j]]
            free = abs(b[i] - local_approach(soft, old[i]))
            guess[j] = old[i] if old[i] > 0.0 else soft[0] * free * math.sqrt(free)
    scale = guess.max()
    for _ in range(TANGENTS):
        own[:] = W
        rhs[:] = b
        for j in range(n):
            if guess[j] > 0.0:
                i, soft = first[j], workspace.skin_soft[points[j]]
                slope = local_slope(soft, guess[j])
                own[i, i] += slope
                rhs[i] += local_approach(soft, guess[j]) - slope * guess[j] - local_approach(soft, old[i])
                if not own[i, i] > 0.0:
                    return False
        if not solve_island(own, rhs, first, np.full(n, -1), mu, size, 0.0, force[:height]):
            return False
        largest, change = scale, 0.0
        for j in range(n):
            if guess[j] > 0.0:
                found = force[first[j]]
                largest = max(largest, found, guess[j])
                change = max(change, abs(found - guess[j]))
                guess[j] = found if found > 0.0 else LOWER * guess[j]
        if not change > SETTLED * largest:
            return math.isfinite(largest)
    return False
