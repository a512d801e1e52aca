"""Exact contacts within a step: the forces of the points that touch, without overlap and with Coulomb friction.

A touching point has three rates `u = G w`: of separation, along the normal, and of slip, in two directions across it.
At the end of a step its force `f` satisfies the laws of flexmb/kernels/contact/cone.py with these rates. Its response
to forces is that of the step, `U = gamma G A^-1 G^T` with the matrix of flexmb/kernels/steps/solve.py, joints and force
elements included. The rates hold exactly; positions follow by a displacement that closes the gaps that remain, of the
third order in the step.

Friction of turning follows its point in the list of touching points. Its three rates are those of spinning, about the
normal, and of rolling, about the directions across it, times an arm; its forces are moments over this arm, and those
that the normal force of its point bounds, flexmb/kernels/contact/cone.py.

Source: Brüls, Acary and Cardona, "Simultaneous enforcement of constraints at position and velocity levels in the
nonsmooth generalized-alpha scheme" (2014).
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import cross, dot, load3, matrix, scale, store, sub, tangents, vector
from flexmb.kernels.base.data import GROUND, SECOND_ORDER
from flexmb.kernels.base.dense import copy, inner, row_inner
from flexmb.kernels.contact.cone import solve_cones, stick_or_slip
from flexmb.kernels.contact.shapes import PLANE
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import place_markers, to_bodies
from flexmb.kernels.joint_coordinates.tree import joint_poses
from flexmb.kernels.steps.solve import solve_again, solve_body
from flexmb.kernels.steps.tracking import keep_features, place_pair, see_pair, track, tracked_point

OPEN, SLIDES, STICKS = 0.0, 1.0, 2.0
"""Modes of a point, its first state."""
CONES, FAILED = 1e-11, 1e-7
"""Error of the rates after the solution of the cone problem, relative to the rates without forces: wanted, and at
most."""
SMALL, SWEEPS = 60, 20
"""Rows of a problem up to which Newton's method finds forces of least norm from a start without forces; sweeps of
larger ones."""
SHUT, CLOSURES = 1e-13, 4
"""Gap of a touching point, relative to the length of the mechanism, that is left, and displacements to reach it."""
AT_REST = 1e-10
"""Rate, relative to the change of velocities by gravity and accelerations in a step, below which a point is at rest."""
BLOCKED, BLOCKED_OVERLAP = 1e-12, 1e-6
"""Response of a point along its normal, relative to that of the masses of its bodies alone, below which joints
prescribe its rate, and the overlap of such a point, relative to the length of the mechanism, from which on no force is
found."""
BOUNDARY = 1e-9
"""Distance of a force from the boundary of its cone, relative to the cone, within which the point may slide."""


@njit(cache=True)
def _apart(flat, kinematics, c):
    """A lower bound of the gap of pair `c`, from balls that contain the shapes; not positive where they may touch."""
    a, b = flat.contact_markers[c, 0], flat.contact_markers[c, 1]
    r, s = flat.contact_reach[c, 0], flat.contact_reach[c, 1]
    d = sub(vector(kinematics.position, b), vector(kinematics.position, a))
    if r < np.inf and s < np.inf:
        reach = r + s
        square = dot(d, d)
        return math.sqrt(square) - reach if square > reach * reach else 0.0
    shapes = flat.contact_shapes[c]
    if int(shapes[0]) == PLANE and s < np.inf:
        A = matrix(kinematics.axes, a)
        return A[2] * d[0] + A[5] * d[1] + A[8] * d[2] - s
    if int(shapes[4]) == PLANE and r < np.inf:
        B = matrix(kinematics.axes, b)
        return -(B[2] * d[0] + B[5] * d[1] + B[8] * d[2]) - r
    return 0.0


@njit(cache=True)
def all_gaps(flat, kinematics, workspace, states):
    """Write the gaps of all points to `workspace.point_gap`: exact for pairs whose balls meet, else a lower bound. The
    pairs of features that may touch are listed, beside those that do in the modes of `states` (nz,)."""
    gap = workspace.point_gap
    workspace.touch_count[2] = 0
    for c in range(len(flat.contact_markers)):
        first, last = flat.contact_point[c], flat.contact_point[c + 1]
        apart = _apart(flat, kinematics, c)
        if flat.contact_feature[c] >= 0 and apart <= 0.0:
            workspace.touch_count[2] += track(flat, kinematics, workspace, states, c)
            continue
        count = see_pair(flat, kinematics, workspace, c) if apart <= 0.0 else 0
        for k in range(first, last):
            gap[k] = -workspace.near[k - first, 6] if k - first < count else (apart if apart > 0.0 else np.inf)


@njit(cache=True)
def _turn(flat, kinematics, workspace, c, i, there, G):
    """Set the Jacobian `G` of friction of turning at the point in row `i` of `workspace.near`, if it is `there`."""
    G[:] = 0.0
    if there:
        a, b, arm = flat.contact_markers[c, 0], flat.contact_markers[c, 1], flat.contact_turning[c, 2]
        n, none = load3(workspace.near[i], 3), (0.0, 0.0, 0.0)
        s, t = tangents(n)
        to_bodies(flat, kinematics, a, b, none, scale(arm, n), G[0])
        to_bodies(flat, kinematics, a, b, none, scale(arm, s), G[1])
        to_bodies(flat, kinematics, a, b, none, scale(arm, t), G[2])


@njit(cache=True)
def touch(flat, kinematics, workspace):
    """Set gaps and Jacobians of the touching points, `workspace.touch_point`, at the configuration of `kinematics`."""
    seen, count = -1, 0
    for j in range(workspace.touch_count[0]):
        k = workspace.touch_point[j]
        c = flat.point_contact[k]
        G, i = workspace.touch_G[j], k - flat.contact_point[c]
        if workspace.touch_turns[j] == 1:
            _turn(flat, kinematics, workspace, c, i, i < count or flat.contact_feature[c] >= 0, G)
            continue
        if flat.contact_feature[c] >= 0:
            tracked_point(flat, workspace, place_pair(flat, kinematics, workspace, c), c, k, workspace.near[i])
        elif c != seen:
            seen, count = c, see_pair(flat, kinematics, workspace, c)
        if i >= count and flat.contact_feature[c] < 0:
            workspace.point_gap[k] = np.inf
            G[:] = 0.0
            continue
        row = workspace.near[i]
        workspace.point_gap[k] = -row[6]
        a, b = flat.contact_markers[c, 0], flat.contact_markers[c, 1]
        arm = sub(load3(row, 0), load3(workspace.near_d, 0))
        n = load3(row, 3)
        s, t = tangents(n)
        to_bodies(flat, kinematics, a, b, n, cross(arm, n), G[0])
        to_bodies(flat, kinematics, a, b, s, cross(arm, s), G[1])
        to_bodies(flat, kinematics, a, b, t, cross(arm, t), G[2])


@njit(cache=True, inline="always")
def _body(flat, k, side):
    return flat.marker_body[flat.contact_markers[flat.point_contact[k], side]]


@njit(cache=True, inline="always")
def _lone(flat, k):
    """Whether no row connects a body of point `k` with others: forces at the point move its own bodies only."""
    for side in range(2):
        b = _body(flat, k, side)
        if b != GROUND and flat.body_group[b] >= 0:
            return False
    return True


@njit(cache=True)
def add_touch_forces(flat, workspace, factor, out):
    """`out += factor G^T f` (nv,) for the forces of the touching points."""
    for j in range(workspace.touch_count[0]):
        for side in range(2):
            b = _body(flat, workspace.touch_point[j], side)
            if b != GROUND:
                s = flat.v_start[b]
                for c in range(3):
                    f = factor * workspace.touch_force[j, c]
                    if f != 0.0:
                        for i in range(flat.v_start[b + 1] - s):
                            out[s + i] += f * workspace.touch_G[j, c, side, i]


@njit(cache=True)
def _rate(flat, workspace, j, c, x):
    """The rate `G x` of direction `c` of touching point `j`."""
    total = 0.0
    for side in range(2):
        b = _body(flat, workspace.touch_point[j], side)
        if b != GROUND:
            s = flat.v_start[b]
            for i in range(6):
                total += workspace.touch_G[j, c, side, i] * x[s + i]
            if flat.modes[b] > 0:
                total += inner(workspace.touch_G[j, c, side, 6:], x[s + 6 :], flat.modes[b])
    return total


@njit(cache=True)
def _responses(flat, workspace, ends, j, c, X, rows, i, W):
    """Write to `W[i, :i + 1]` the rates `G X` of direction `c` of touching point `j`, for the responses in `rows`."""
    for p in range(i + 1):
        W[i, p] = 0.0
    for side in range(2):
        b, group = _body(flat, workspace.touch_point[j], side), ends[j, side]
        if b != GROUND:
            s, more = flat.v_start[b], flat.modes[b]
            for p in range(i + 1):
                k = rows[p] // 3
                if ends[k, 0] == group or ends[k, 1] == group:
                    total = 0.0
                    for a in range(6):
                        total += workspace.touch_G[j, c, side, a] * X[rows[p], s + a]
                    if more > 0:
                        total += inner(workspace.touch_G[j, c, side, 6:], X[rows[p], s + 6 :], more)
                    W[i, p] += total


@njit(cache=True)
def _add_response(flat, k, X, row, factor, x):
    """`x += factor X[row]` (nv,) for a response to a force at point `k`."""
    if not _lone(flat, k):
        for a in range(len(x)):
            x[a] += factor * X[row, a]
        return
    for side in range(2):
        b = _body(flat, k, side)
        if b != GROUND:
            for a in range(flat.v_start[b], flat.v_start[b + 1]):
                x[a] += factor * X[row, a]


@njit(cache=True)
def rates_of(flat, workspace, j, w):
    """The three rates of touching point `j` at velocities `w` (nv,)."""
    return _rate(flat, workspace, j, 0, w), _rate(flat, workspace, j, 1, w), _rate(flat, workspace, j, 2, w)


@njit(cache=True)
def touch_rates(flat, workspace, w):
    """Set the rates of the touching points at velocities `w` (nv,)."""
    for j in range(workspace.touch_count[0]):
        store(workspace.touch_rate[j], 0, rates_of(flat, workspace, j, w))


@njit(cache=True)
def rubbing_power(workspace):
    """The power that the friction of the touching points takes, at their rates."""
    power = 0.0
    for j in range(workspace.touch_count[0]):
        for c in range(3):
            power -= workspace.touch_rate[j, c] * workspace.touch_force[j, c]
    return power


@njit(cache=True)
def respond_at(flat, workspace, null_rows, beta, compliance, ends, G, sides, X, change):
    """Write the responses `X` (3, nv) and `change` (3, nr) of displacements and multipliers to unit forces at a point
    of the bodies `ends` with the derivatives `G` (3, 2, .), in the first `sides` directions, with the factors of the
    step; `X` and `change` are zeros before."""
    alone = True
    for b in ends:
        alone = alone and (b == GROUND or flat.body_group[b] < 0)
    for side in range(2):
        b = ends[side]
        if b == GROUND:
            continue
        s, m = flat.v_start[b], flat.modes[b]
        for c in range(sides):
            for i in range(6 + m):
                X[c, s + i] += G[c, side, i]
        if alone:
            solve_body(
                m,
                flat.slices[b] == SECOND_ORDER,
                beta,
                workspace.Mre[b],
                flat.rest_Mre[b],
                workspace.E[s + 6 : s + 6 + m],
                workspace.chol[b],
                workspace.chol0[b],
                workspace.sixes[:sides],
                X[:sides, s : s + 6 + m],
            )
    if not alone:
        none, force = np.zeros(len(flat.row_kind)), np.empty(X.shape[1])
        workspace.previous_multipliers[:] = 0.0
        for c in range(sides):
            copy(X[c], force)
            solve_again(flat, workspace, null_rows, beta, compliance, force, none, X[c], change[c])


@njit(cache=True)
def respond_to_touch(flat, workspace, null_rows, beta, compliance):
    """The responses (3 n, nv) and (3 n, nr) of displacements and multipliers to unit forces of the `n` touching points,
    with the factors of the step. Those of a `_lone` point are set for the motions of its bodies only; the displacements
    of one whose rate along the normal joints prescribe are zero, not round-off."""
    n, nv, nr = workspace.touch_count[0], flat.v_start[len(flat.modes)], len(flat.row_kind)
    X, change, blocked = np.empty((3 * n, nv)), np.empty((3 * n, nr)), False
    for j in range(n):
        k, own = workspace.touch_point[j], 3 * j
        ends = (_body(flat, k, 0), _body(flat, k, 1))
        if _lone(flat, k):
            for b in ends:
                if b != GROUND:
                    X[own : own + 3, flat.v_start[b] : flat.v_start[b + 1]] = 0.0
        else:
            X[own : own + 3], change[own : own + 3] = 0.0, 0.0
        respond_at(
            flat,
            workspace,
            null_rows,
            beta,
            compliance,
            ends,
            workspace.touch_G[j],
            3,
            X[own : own + 3],
            change[own : own + 3],
        )
        if _lone(flat, k):
            continue
        if workspace.touch_turns[j] == 0:
            light = 0.0
            for b in ends:
                if b != GROUND and flat.mass[b] > 0.0:
                    light += 1.0 / (beta * flat.mass[b])
            blocked = _rate(flat, workspace, j, 0, X[own]) <= BLOCKED * light
        if blocked:
            X[own : own + 3] = 0.0
    return X, change


@njit(cache=True)
def _is_blocked(flat, workspace, X, j):
    """Whether joints prescribe the rate of touching point `j` along its normal, by the responses `X` of
    `respond_to_touch`."""
    if _lone(flat, workspace.touch_point[j]):
        return False
    return not X[3 * j].any()


@njit(cache=True)
def _ends(flat, workspace):
    """The groups of both bodies of each touching point (n, 2), numbers below 2 nb; -1 for the ground."""
    n, nb = workspace.touch_count[0], len(flat.modes)
    ends = np.empty((n, 2), np.int64)
    for j in range(n):
        for side in range(2):
            b = _body(flat, workspace.touch_point[j], side)
            g = flat.body_group[b] if b != GROUND else 0
            ends[j, side] = -1 if b == GROUND else (g if g >= 0 else nb - 1 - g)
    return ends


@njit(cache=True)
def _islands(ends, groups):
    """The number of the island of each touching point, and the points of the largest one: points act on each other only
    within their island."""
    root, island = np.arange(groups), np.empty(len(ends), np.int64)
    for k in range(2):
        for j in range(len(ends)):
            a, b = max(ends[j, 0], ends[j, 1]), min(ends[j, 0], ends[j, 1])
            while root[a] != a:
                root[a] = root[root[a]]
                a = root[a]
            if k == 1:
                island[j] = a
            elif b >= 0:
                while root[b] != b:
                    b = root[b]
                root[max(a, b)] = min(a, b)
    most = 0
    root[:] = 0
    for k in island:
        root[k] += 1
        most = max(most, root[k])
    return island, most


@njit(cache=True)
def solve_island(W, b, first, owner, mu, size, compliance, r):
    """Solve the cone problem of one island for `r` (n,), a guess; returns whether a solution was found.

    The forces of more sliding points than carry a body are not determined, or change without limit with its motion. A
    small `compliance` of all points, relative to their mean response, makes them unique; it is added to `W`. It lets
    the points approach each other by at most this part of `size`, the scale of the rates, also under the large forces
    of heavy bodies on light ones. Entries of `W` outside its first `n` rows and columns are ignored.
    """
    n = len(b)
    if n <= 3 and len(mu) == 1 and (n == 1 or mu[0] > 0.0):
        if n == 1:
            r[0] = max(-b[0] / W[0, 0], 0.0)
        else:
            stick_or_slip(W, 0, n, b[0], b[1], b[2], mu[0], r)
        return np.isfinite(r[0])
    if compliance > 0.0:
        response, largest = 0.0, 0.0
        for i in range(n):
            response += W[i, i] / n
            largest = max(largest, abs(r[i]))
        if response * largest > size:
            response = size / largest
        for i in range(n):
            W[i, i] += compliance * response
    low, high, target = np.zeros(len(mu)), np.full(len(mu), np.inf), CONES * size
    residual, _, _ = solve_cones(W, b, first, owner, mu, low, high, target, 0 if n <= SMALL else SWEEPS, r)
    if residual > FAILED * size:
        again = np.zeros(n)
        other, _, _ = solve_cones(W, b, first, owner, mu, low, high, target, SWEEPS, again)
        if other < residual:
            residual = other
            r[:] = again
    return residual <= FAILED * size


@njit(cache=True)
def press(flat, workspace, X, changes, gamma, compliance, w, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the forces of the touching points, with the
    `compliance` of `solve_island`, for the velocities `w` (nv,) before it. Points whose rates joints prescribe have no
    force. Returns False if no forces are found, also where joints press such a point into the other body;
    `workspace.touch_count[1]` is then a point of them."""
    n = workspace.touch_count[0]
    if n == 0:
        return True
    force, count, ends = workspace.touch_force, workspace.touch_count, _ends(flat, workspace)
    island, most = _islands(ends, 2 * len(flat.modes))
    done, rows, u, point = np.zeros(n, np.bool_), np.empty(3 * most, np.int64), np.empty(len(x)), 0
    blocked = False
    first, owner, mu = np.zeros(2 * most + 1, np.int64), np.empty(2 * most, np.int64), np.empty(2 * most)
    W, b, old, r = np.empty((3 * most, 3 * most)), np.empty(3 * most), np.empty(3 * most), np.empty(3 * most)
    for a in range(len(x)):
        u[a] = w[a] + gamma * x[a]
    for j in range(n):
        if done[j]:
            continue
        size, height = 0, 0
        for k in range(j, n):
            if island[k] != island[j]:
                continue
            done[k] = True
            if workspace.touch_turns[k] == 0:
                blocked = _is_blocked(flat, workspace, X, k)
                if blocked and workspace.point_gap[workspace.touch_point[k]] < -BLOCKED_OVERLAP * flat.scales[0]:
                    count[1] = workspace.touch_point[k]
                    return False
            if blocked:
                for c in range(3):
                    for a in range(len(change) if force[k, c] != 0.0 else 0):
                        change[a] -= force[k, c] * changes[3 * k + c, a]
                    force[k, c] = 0.0
                continue
            if workspace.touch_turns[k] == 0:
                mu[size], owner[size] = workspace.touch_friction[k], -1
                sides = 3 if mu[size] > 0.0 else 1
                point = size
                for c in range(sides):
                    rows[height + c] = 3 * k + c
                height += sides
                size += 1
                first[size] = height
                continue
            turning = flat.contact_turning[flat.point_contact[workspace.touch_point[k]]]
            for c in range(3):
                bound = turning[1 if c == 0 else 0]
                if bound > 0.0:
                    rows[height] = 3 * k + c
                    height += 1
                    if c < 2:
                        mu[size], owner[size] = bound, point
                        size += 1
                    first[size] = height
        for i in range(height):
            k, c = rows[i] // 3, rows[i] % 3
            old[i] = r[i] = force[k, c]
            b[i] = _rate(flat, workspace, k, c, u)
            _responses(flat, workspace, ends, k, c, X, rows, i, W)
            for p in range(i + 1):
                W[i, p] *= gamma
                W[p, i] = W[i, p]
        largest = 0.0
        for i in range(height):
            own = row_inner(W, i, old, height)
            largest = max(largest, abs(b[i]), abs(own))
            b[i] -= own
        if largest > 0.0 and not solve_island(
            W, b[:height], first[: size + 1], owner[:size], mu[:size], largest, compliance, r[:height]
        ):
            count[1] = workspace.touch_point[j]
            return False
        for i in range(height):
            k, c = rows[i] // 3, rows[i] % 3
            moved, at = r[i] - old[i], workspace.touch_point[k]
            force[k, c] = r[i]
            if moved != 0.0:
                _add_response(flat, at, X, rows[i], moved, x)
                if not _lone(flat, at):
                    for a in range(len(change)):
                        change[a] += moved * changes[rows[i], a]
    return True


@njit(cache=True)
def close_gaps(flat, tree, kinematics, workspace, X, q, pose):
    """Move the configuration `q` (nq,) with the poses of its joints so that touching points that press have no gap, and
    others no overlap; the kinematics at its end are set. Returns whether it has moved."""
    n, limit = workspace.touch_count[0], SHUT * flat.scales[0]
    for closure in range(CLOSURES):
        worst = 0.0
        for j in range(n):
            if _to_close(workspace, j) and not _is_blocked(flat, workspace, X, j):
                worst = max(worst, abs(workspace.point_gap[workspace.touch_point[j]]))
        if not worst > limit or not worst < np.inf:
            return closure > 0
        ends = _ends(flat, workspace)
        island, most = _islands(ends, 2 * len(flat.modes))
        done, rows, W = np.zeros(n, np.bool_), np.empty(most, np.int64), np.empty((most, most))
        first, owner, mu = np.arange(most + 1), np.full(most, -1), np.zeros(most)
        b, r, low, high = np.empty(most), np.empty(most), np.empty(most), np.full(most, np.inf)
        U, moved = np.zeros(X.shape[1]), np.empty_like(q)
        for j in range(n):
            count = 0
            for k in range(j, n):
                if done[k] or island[k] != island[j]:
                    continue
                done[k] = True
                if _to_close(workspace, k) and not _is_blocked(flat, workspace, X, k):
                    rows[count], b[count], r[count] = 3 * k, workspace.point_gap[workspace.touch_point[k]], 0.0
                    low[count] = -np.inf if workspace.touch_force[k, 0] > 0.0 else 0.0
                    _responses(flat, workspace, ends, k, 0, X, rows, count, W)
                    for p in range(count):
                        W[p, count] = W[count, p]
                    count += 1
            if count > 0:
                solve_cones(
                    W,
                    b[:count],
                    first[: count + 1],
                    owner[:count],
                    mu[:count],
                    low[:count],
                    high[:count],
                    1e-3 * worst,
                    0,
                    r[:count],
                )
            for i in range(count):
                _add_response(flat, workspace.touch_point[rows[i] // 3], X, rows[i], r[i], U)
        displace(flat, q, U, moved)
        q[:] = moved
        place_markers(flat, q, kinematics)
        joint_poses(flat, tree, kinematics, q, pose)
        touch(flat, kinematics, workspace)
    return True


@njit(cache=True)
def _to_close(workspace, j):
    """Whether touching point `j` presses or overlaps."""
    gap = workspace.point_gap[workspace.touch_point[j]]
    return workspace.touch_turns[j] == 0 and (workspace.touch_force[j, 0] > 0.0 or gap < 0.0)


@njit(cache=True)
def gather(flat, states, workspace, afresh):
    """List the points that touch in the modes of `states` (nz,), with their coefficients and last forces, or none if
    `afresh`."""
    n = 0
    for k in range(len(flat.point_contact)):
        at = flat.contact_state + 4 * k
        if states[at] != OPEN:
            c = flat.point_contact[k]
            workspace.touch_point[n] = k
            workspace.touch_friction[n] = flat.contact_friction[c, 1 if states[at] == STICKS else 0]
            workspace.touch_turns[n] = 0
            for i in range(3):
                workspace.touch_force[n, i] = 0.0 if afresh else states[at + 1 + i]
            n += 1
            at = flat.turn_state[k]
            if at >= 0:
                workspace.touch_point[n], workspace.touch_turns[n], workspace.touch_friction[n] = k, 1, 0.0
                for i in range(3):
                    workspace.touch_force[n, i] = 0.0 if afresh else states[at + 1 + i]
                n += 1
    workspace.touch_count[0] = n


@njit(cache=True)
def release(flat, workspace, X, h, quiet):
    """Take the normal forces within the accuracy of the cone problem, `CONES`, from touching points that leave: those
    that rise faster than `quiet`, in a step of size `h`. `X` are the responses of `respond_at`."""
    for j in range(workspace.touch_count[0]):
        force, rise = workspace.touch_force[j], workspace.touch_rate[j, 0]
        if workspace.touch_turns[j] == 0 and force[0] > 0.0 and rise > quiet:
            W = np.empty((1, 1))
            _responses(flat, workspace, _ends(flat, workspace), j, 0, X, np.array([3 * j]), 0, W)
            if h * W[0, 0] * force[0] <= CONES * rise:
                force[:] = 0.0


@njit(cache=True)
def loosen(flat, workspace, quiet):
    """Give the coefficient of sliding to the points that stuck and slide now; returns their number."""
    count = 0
    for j in range(workspace.touch_count[0]):
        k = workspace.touch_point[j]
        if workspace.touch_turns[j] == 1:
            continue
        sliding = flat.contact_friction[flat.point_contact[k], 0]
        if workspace.touch_friction[j] > sliding and mode_of(workspace, j, quiet) == SLIDES:
            workspace.touch_friction[j] = sliding
            count += 1
    return count


@njit(cache=True)
def mode_of(workspace, j, quiet):
    """The mode of touching point `j` at the end of a step; `quiet` is a rate at rest."""
    normal, s, t = workspace.touch_force[j, 0], workspace.touch_force[j, 1], workspace.touch_force[j, 2]
    slip = math.sqrt(workspace.touch_rate[j, 1] ** 2 + workspace.touch_rate[j, 2] ** 2)
    if normal <= 0.0:
        if workspace.touch_rate[j, 0] > quiet:
            return OPEN
        return STICKS if slip <= quiet else SLIDES
    bound = workspace.touch_friction[j] * normal
    return SLIDES if slip > quiet and math.hypot(s, t) >= (1.0 - BOUNDARY) * bound else STICKS


@njit(cache=True)
def turning_of(flat, workspace, j, quiet):
    """The mode of friction of turning, entry `j` of the touching points, at the end of a step: `OPEN` without a normal
    force, else 1, and 1 more if it spins, and 2 more if it rolls."""
    push, force, rate = workspace.touch_force[j - 1, 0], workspace.touch_force[j], workspace.touch_rate[j]
    if push <= 0.0:
        return OPEN
    turning, mode = flat.contact_turning[flat.point_contact[workspace.touch_point[j]]], 1.0
    if abs(rate[0]) > quiet and abs(force[0]) >= (1.0 - BOUNDARY) * turning[1] * push:
        mode += 1.0
    if math.hypot(rate[1], rate[2]) > quiet and math.hypot(force[1], force[2]) >= (1.0 - BOUNDARY) * turning[0] * push:
        mode += 2.0
    return mode


@njit(cache=True)
def keep_touch(flat, workspace, quiet, states):
    """Write modes and forces of all points to `states` (nz,); returns the number of modes that have changed."""
    changed = 0
    for j in range(workspace.touch_count[0]):
        k = workspace.touch_point[j]
        turns = workspace.touch_turns[j] == 1
        at = flat.turn_state[k] if turns else flat.contact_state + 4 * k
        mode = turning_of(flat, workspace, j, quiet) if turns else mode_of(workspace, j, quiet)
        if mode != states[at]:
            changed += 1
        states[at] = mode
        for i in range(3):
            states[at + 1 + i] = workspace.touch_force[j, i] if mode != OPEN else 0.0
    keep_features(flat, workspace, states)
    return changed
