"""Derivatives of the forces of surfaces of reduced bodies on rigid shapes, for the adjoint of steps.

With the points that carry a force at the end of a step held, its equations are smooth: a normal force of point k
follows from its gap `g_k = 0`; friction `f_t` from the slip `s` in the step, `s = 0` where the point sticks and
`f_t + mu f_n s/|s| = 0` where it slides. With adjoint variables `nu` of these equations and `y` of the balance of
forces, the points contribute

    L = sum_k  -p_k . v_k(y) + nu_n g_k + nu_t . (s_k, or f_t + mu f_n s/|s|)

to the function whose derivatives are the costates: p is the force of a point, v its velocity along `y` relative to the
shape. All of it is a function of the places `rho = o + Q (x + u)` of the nodes in the axes of the shape, with the
motion `(o, Q)` of the body relative to them, the positions x in the body by the elastic coordinates, and the residual
displacements `u = C p` by the forces along the directions at `o + Q x`. The functions below go through this chain
backward. Normals `N` are gradients of distances, so that their derivatives by the place are symmetric matrices: a
difference along a vector gives the product.

The slip begins at the places of the nodes at the end of the step before, which depend on the motion and the forces
there; their derivatives are added to the costates of that step.

With the responses `X = A^-1 G^T` to forces, corrections `x` of `y` without the points, and the derivatives
`B G` and `B C + E` of the equations by positions and forces, corrections of `nu` satisfy

    (G X B^T + C B^T + E^T) d = -dL/df + G x ,      x <- x - X B^T d .
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    dot,
    load3,
    matrix,
    rotate,
    rotate_inv,
    scale,
    store,
    sub,
    tangents_near,
    vector,
)
from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.kernels.base.dense import eliminate, inner
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.contact.local import local_slope
from flexmb.kernels.contact.shapes import PLANE, SPHERE, shape_points
from flexmb.kernels.derivatives.probed import add_to_places, probe_places, takes_differences, yielding
from flexmb.kernels.equations.rows import add_wrench, place_markers
from flexmb.kernels.equations.skins import (
    along_ends,
    from_shape,
    is_loaded,
    place_skins,
    residual_response,
    sides_of,
    skin_end,
    skin_rows,
    skin_slip,
)
from flexmb.kernels.joint_coordinates.tree import marker_velocity
from flexmb.kernels.steps.pressing import flex, flexed, number_nodes
from flexmb.kernels.steps.touching import respond_at

OPEN, STICKS, SLIDES = range(3)
"""Modes of points in a step."""
TURNED = 1e-5
"""Step of differences of a normal, relative to the smallest dimension of its shape, and of the directions across it."""


class SkinPass(NamedTuple):
    """Work arrays of the adjoint of surfaces."""

    mode: np.ndarray  # (nn,) of each point in the step
    listed: np.ndarray  # (nn,) the points with forces, and those whose slip begins
    row: np.ndarray  # (nn,) the first row of each point with a force
    slip: np.ndarray  # (nn, 3) in the step, in body axes
    nu: np.ndarray  # (nn, 3) adjoint variables of the equations of each point
    next_nu: np.ndarray  # (nn, 3) their last corrections, along the directions
    to_force: np.ndarray  # (nn, 3) derivatives by the forces
    to_place: np.ndarray  # (nn, 3) by the places in the axes of the shape
    to_axes: np.ndarray  # (nn, 3, 3) by the directions
    to_arm: np.ndarray  # (nn, 3) by the positions in the body
    earlier: np.ndarray  # (nv,) by the configuration at the beginning of the step
    body: np.ndarray  # (6+mmax,)


def make_skin_pass(flat: CompiledModel) -> SkinPass:
    """Work arrays, filled with zeros."""
    nn, nv = len(flat.node_skin), int(flat.v_start[-1])
    integers = [np.zeros(nn, dtype=np.int64) for _ in range(3)]
    shapes = ((nn, 3),) * 5 + ((nn, 3, 3), (nn, 3), nv, 6 + flat.marker_rows.shape[2])
    return pointed(SkinPass(*integers, *(np.zeros(shape) for shape in shapes)))


@njit(cache=True)
def load_states(flat, states, workspace):
    """Take the forces of the points from `states` (nz,)."""
    for k in range(flat.skin_state, flat.skin_state + 3 * len(flat.node_skin)):
        workspace.states[k] = states[k]


@njit(cache=True)
def surfaces_rub(flat):
    """Whether any surface has friction."""
    return flat.skin_friction.any()


@njit(cache=True)
def begin_slip(flat, q, states, kinematics, workspace):
    """Set the places of nodes `workspace.skin_before` at the beginning of a step, at `q` (nq,) with `states` (nz,)."""
    load_states(flat, states, workspace)
    place_markers(flat, q, kinematics)
    place_skins(flat, q, kinematics, workspace, True)
    workspace.skin_before[:] = workspace.skin_seen


@njit(cache=True)
def find_modes(flat, q, kinematics, workspace, skins):
    """Set the slips in the step and the modes of the points, and list those that are closed; returns how many. The
    points must have been placed at `q` (nq,).

    Of a gap and its force, and of a slip and what the friction lacks of its bound, one is round-off: that which is
    smaller as a displacement.
    """
    count = 0
    for k in range(len(flat.node_skin)):
        mu, at = flat.skin_friction[flat.node_skin[k]], flat.skin_state + 3 * k
        loaded = is_loaded(flat, workspace.states, k)
        if not (loaded and yielding(flat, workspace, k, 0) * workspace.states[at] > workspace.skin_gap[k]):
            skins.mode[k], skins.nu[k] = OPEN, 0.0
            continue
        skins.mode[k] = STICKS
        skins.listed[count] = k
        count += 1
        if not mu > 0.0:
            continue
        slip = skin_slip(flat, q, kinematics, workspace, k)
        store(skins.slip[k], 0, slip)
        across = _across(workspace, k, slip)
        lacks = mu * workspace.states[at] - math.hypot(workspace.states[at + 1], workspace.states[at + 2])
        if math.hypot(across[0], across[1]) > yielding(flat, workspace, k, 1) * lacks:
            skins.mode[k] = SLIDES
    return count


@njit(cache=True, inline="always")
def _across(workspace, k, slip):
    """The components of a vector in body axes across the normal of point `k`."""
    axes = workspace.skin_axes[k]
    return dot(load3(axes[1], 0), slip), dot(load3(axes[2], 0), slip)


@njit(cache=True)
def _pulled(flat, workspace, skins, k, given):
    """The product of `B^T` with `given` (3,) for point `k`: along its directions, the derivatives of the equations by
    displacements."""
    n, t, r = given
    if skins.mode[k] == STICKS:
        return n, t, r
    slip = _across(workspace, k, load3(skins.slip[k], 0))
    size = math.hypot(slip[0], slip[1])
    a, b = slip[0] / size, slip[1] / size
    stiff = flat.skin_friction[flat.node_skin[k]] * workspace.states[flat.skin_state + 3 * k] / size
    along = a * t + b * r
    return n, stiff * (t - a * along), stiff * (r - b * along)


@njit(cache=True)
def _of_forces(flat, workspace, skins, k, given):
    """The product of `E^T` with `given` (3,) for point `k`."""
    if skins.mode[k] != SLIDES:
        return 0.0, 0.0, 0.0
    slip = _across(workspace, k, load3(skins.slip[k], 0))
    along = (slip[0] * given[1] + slip[1] * given[2]) / math.hypot(slip[0], slip[1])
    return flat.skin_friction[flat.node_skin[k]] * along, given[1], given[2]


@njit(cache=True)
def invert_points(flat, workspace, null_rows, beta, compliance, skins, count):
    """The inverse (m, m) of the matrix of the listed points, with the factors of the step; the directions must be those
    of the step. Rows of points begin at `skins.row`."""
    height, X = 0, workspace.skin_X
    for i in range(count):
        k = skins.listed[i]
        skins.row[k] = height
        height += sides_of(flat, k)
        X[k] = 0.0
        workspace.skin_change[k] = 0.0
        ends = (skin_end(flat, k, 0), skin_end(flat, k, 1))
        respond_at(
            flat, workspace, null_rows, beta, compliance, ends, workspace.skin_G[k], sides_of(flat, k), X[k],
            workspace.skin_change[k],
        )  # fmt: skip
    closed = np.full(len(flat.node_skin), np.inf)
    closed[skins.listed[:count]] = 0.0
    nodes = number_nodes(flat, workspace, closed)
    U, W = np.empty((3, nodes, 3)), np.zeros((3, 3))
    A, inverse = np.zeros((height, height)), np.zeros((height, height))
    for j in range(count):
        p = skins.listed[j]
        for d in range(sides_of(flat, p)):
            flex(flat, workspace, p, d, nodes, U[d])
        for i in range(count):
            k, first = skins.listed[i], (skins.row[skins.listed[i]], skins.row[p])
            ends, rows = (skin_end(flat, k, 0), skin_end(flat, k, 1)), range(sides_of(flat, k))
            W[:] = 0.0
            for d in range(sides_of(flat, p)):
                for c in rows:
                    W[c, d] = along_ends(flat, workspace.skin_G[k, c], ends, X[p, d])
                    W[c, d] += flexed(flat, workspace, k, c, U[d])
            if k == p and flat.skin_local[flat.node_skin[k]] == 1:
                W[0, 0] += local_slope(workspace.skin_soft[k], workspace.states[flat.skin_state + 3 * k])
            for d in range(sides_of(flat, p)):
                unit = (1.0 if d == 0 else 0.0, 1.0 if d == 1 else 0.0, 1.0 if d == 2 else 0.0)
                pulled, own = _pulled(flat, workspace, skins, p, unit), (0.0, 0.0, 0.0)
                if k == p:
                    own = _of_forces(flat, workspace, skins, p, unit)
                for c in rows:
                    total = W[c, 0] * pulled[0] + W[c, 1] * pulled[1] + W[c, 2] * pulled[2]
                    A[first[0] + c, first[1] + d] = total + own[c]
    for i in range(height):
        inverse[i, i] = 1.0
    eliminate(A, inverse)
    return inverse


@njit(cache=True)
def correct_points(flat, workspace, skins, count, inverse, states, x, change):
    """Correct the adjoint variables of the listed points, and with them the corrections `x` (nv,) and `change` (nr,) of
    a step without them; `states` (nz,) are the costates of the forces from later steps."""
    rhs = np.empty(len(inverse))
    for i in range(count):
        k = skins.listed[i]
        ends = (skin_end(flat, k, 0), skin_end(flat, k, 1))
        for c in range(sides_of(flat, k)):
            rhs[skins.row[k] + c] = along_ends(flat, workspace.skin_G[k, c], ends, x)
            rhs[skins.row[k] + c] -= skins.to_force[k, c] + states[flat.skin_state + 3 * k + c]
    for i in range(count):
        k, given = skins.listed[i], np.zeros(3)
        for c in range(sides_of(flat, k)):
            for j in range(len(rhs)):
                given[c] += inverse[skins.row[k] + c, j] * rhs[j]
            skins.nu[k, c] += given[c]
        store(skins.next_nu[k], 0, _pulled(flat, workspace, skins, k, load3(given, 0)))
    for i in range(count):
        k = skins.listed[i]
        for c in range(sides_of(flat, k)):
            moved = skins.next_nu[k, c]
            for a in range(len(x)):
                x[a] -= moved * workspace.skin_X[k, c, a]
            for a in range(len(change)):
                change[a] -= moved * workspace.skin_change[k, c, a]


@njit(cache=True)
def follow_points(flat, workspace, skins, count, to_q, rhs):
    """Add the effect of the last corrections of the adjoint variables to `to_q` (nv,), and subtract it from `rhs`."""
    for i in range(count):
        k = skins.listed[i]
        for side in range(2):
            b = skin_end(flat, k, side)
            if b == GROUND:
                continue
            first = flat.v_start[b]
            for c in range(sides_of(flat, k)):
                for a in range(flat.v_start[b + 1] - first):
                    part = skins.next_nu[k, c] * workspace.skin_G[k, c, side, a]
                    to_q[first + a] += part
                    rhs[first + a] -= part


@njit(cache=True)
def _normal(flat, workspace, s, place):
    """The normal of the shape of surface `s` at a `place` in its axes."""
    p = flat.skin_shape[s]
    store(workspace.near_d, 0, place)
    shape_points(int(p[0]), p[1], p[2], p[3], SPHERE, 0.0, 0.0, 0.0, workspace.near_d, workspace.near_S, workspace.near)
    return load3(workspace.near[0], 3)


@njit(cache=True)
def _normal_along(flat, workspace, s, place, v):
    """The derivative of the normal of the shape of surface `s` at a `place` along `v`."""
    p, size, least = flat.skin_shape[s], math.sqrt(dot(v, v)), np.inf
    if p[0] == PLANE or size == 0.0:
        return 0.0, 0.0, 0.0
    for i in range(1, 4):
        if p[i] > 0.0:
            least = min(least, p[i])
    step = TURNED * least / size
    after = _normal(flat, workspace, s, add(place, scale(step, v)))
    before = _normal(flat, workspace, s, sub(place, scale(step, v)))
    return scale(0.5 / step, sub(after, before))


@njit(cache=True)
def _pull_axes(flat, workspace, s, k, Q, place, to_axes):
    """Derivatives of `sum to_axes . axes` of the directions of point `k` at a `place`, by a rotation of the body and by
    the place."""
    n = rotate_inv(Q, _normal(flat, workspace, s, place))
    to_n = load3(to_axes[0], 0)
    if sides_of(flat, k) == 3:
        a, t, r = vector(flat.node_across, k), load3(to_axes[1], 0), load3(to_axes[2], 0)
        slopes = np.empty(3)
        for i in range(3):
            turn = (TURNED if i == 0 else 0.0, TURNED if i == 1 else 0.0, TURNED if i == 2 else 0.0)
            after, before = tangents_near(add(n, turn), a), tangents_near(sub(n, turn), a)
            slopes[i] = dot(t, sub(after[0], before[0])) + dot(r, sub(after[1], before[1]))
        to_n = add(to_n, scale(0.5 / TURNED, load3(slopes, 0)))
    return cross(to_n, n), _normal_along(flat, workspace, s, place, rotate(Q, to_n))


@njit(cache=True)
def _add_wrench(flat, q, kinematics, s, linear, angular, skins, out):
    """Add the derivatives by the motion of the body of surface `s` relative to its shape, in body axes."""
    b, a = flat.skin_body[s], flat.skin_marker[s]
    first, R = flat.v_start[b], matrix(kinematics.attitude, b)
    store(out, first, add(load3(out, first), linear))
    store(out, first + 3, add(load3(out, first + 3), angular))
    if flat.marker_body[a] != GROUND:
        force, arm = rotate(R, scale(-1.0, linear)), sub(load3(q, flat.q_start[b]), vector(kinematics.position, a))
        add_wrench(flat, a, force, add(rotate(R, scale(-1.0, angular)), cross(arm, force)), kinematics, skins.body, out)


@njit(cache=True)
def _add_elastic(flat, q, k, slope, out):
    """Add the derivatives by the elastic coordinates, for the derivative `slope` by the position of node `k`."""
    b = flat.node_body[k]
    m, start, first, second = flat.modes[b], flat.q_start[b] + 7, flat.v_start[b] + 6, len(flat.node_second) > 0
    for a in range(3):
        for i in range(m):
            total = flat.node_rows[k, a, i]
            if second:
                for j in range(m):
                    total += flat.node_second[k, a, i, j] * q[start + j]
            out[first + i] += slope[a] * total


@njit(cache=True)
def _pull_places(flat, q, kinematics, workspace, skins, count, to_q):
    """Go back from the derivatives by places, directions and positions of the listed points to `to_q` (nv,) and
    `skins.to_force`, at the configuration `q` (nq,) at which the points have been placed."""
    for i in range(count):
        k = skins.listed[i]
        s = flat.node_skin[k]
        Q, _ = from_shape(flat, q, kinematics, s)
        turned, to_place = _pull_axes(flat, workspace, s, k, Q, vector(workspace.skin_seen, k), skins.to_axes[k])
        back = rotate_inv(Q, add(to_place, vector(skins.to_place, k)))
        turned = add(turned, cross(vector(workspace.skin_at, k), back))
        _add_wrench(flat, q, kinematics, s, back, turned, skins, to_q)
        slope = add(vector(skins.to_arm, k), back)
        store(skins.to_arm[k], 0, slope)
        _add_elastic(flat, q, k, slope, to_q)
    for i in range(count):
        j = skins.listed[i]
        if not is_loaded(flat, workspace.states, j):
            continue
        to_p, s, at = (0.0, 0.0, 0.0), flat.node_skin[j], flat.skin_state + 3 * j
        for p in skins.listed[:count]:
            if flat.node_body[p] == flat.node_body[j]:
                to_p = add(to_p, residual_response(flat, j, p, vector(skins.to_arm, p)))
        Q, origin = from_shape(flat, q, kinematics, s)
        bare = vector(workspace.skin_bare, j)
        place = add(origin, rotate(Q, bare))
        n, axes = rotate_inv(Q, _normal(flat, workspace, s, place)), skins.to_axes[j]
        t, r = tangents_near(n, vector(flat.node_across, j))
        for c in range(sides_of(flat, j)):
            e = n if c == 0 else t if c == 1 else r
            skins.to_force[j, c] += dot(to_p, e)
            store(axes[c], 0, scale(workspace.states[at + c], to_p))
        turned, to_place = _pull_axes(flat, workspace, s, j, Q, place, axes)
        back = rotate_inv(Q, to_place)
        _add_wrench(flat, q, kinematics, s, back, add(turned, cross(bare, back)), skins, to_q)
        _add_elastic(flat, q, j, back, to_q)


@njit(cache=True)
def _relative(flat, q, kinematics, s, y):
    """Velocities along `y` (nv,): those of the body of surface `s` relative to the shape, in body axes, and in world
    axes those of the shape at the origin of the body, and its rotation."""
    b, a = flat.skin_body[s], flat.skin_marker[s]
    first, R = flat.v_start[b], matrix(kinematics.attitude, b)
    v, omega = marker_velocity(flat, a, kinematics, y)
    v = add(v, cross(omega, sub(load3(q, flat.q_start[b]), vector(kinematics.position, a))))
    linear, angular = sub(load3(y, first), rotate_inv(R, v)), sub(load3(y, first + 3), rotate_inv(R, omega))
    return linear, angular, v, omega


@njit(cache=True)
def _flexing(flat, q, k, y):
    """The velocity along `y` (nv,) of node `k` by the elastic coordinates, in body axes."""
    b = flat.node_body[k]
    m, start, first, second = flat.modes[b], flat.q_start[b] + 7, flat.v_start[b] + 6, len(flat.node_second) > 0
    out = np.zeros(3)
    for a in range(3):
        for i in range(m):
            total = flat.node_rows[k, a, i]
            if second:
                for j in range(m):
                    total += flat.node_second[k, a, i, j] * q[start + j]
            out[a] += total * y[first + i]
    return load3(out, 0)


@njit(cache=True)
def _add_of_carrier(flat, q, kinematics, s, linear, angular, y, skins, out):
    """Add the derivatives of the velocities along `y` of a rigid body that carries the shape of surface `s`, for the
    sums `linear` and `angular` of the forces of the points and of their moments, in the axes of the flexible body."""
    b, a = flat.skin_body[s], flat.skin_marker[s]
    carrier = flat.marker_body[a]
    if carrier == GROUND:
        return
    first, own = flat.v_start[b], flat.v_start[carrier]
    R, A = matrix(kinematics.attitude, b), matrix(kinematics.attitude, carrier)
    _, _, v, omega = _relative(flat, q, kinematics, s, y)
    turned = add(cross(linear, rotate_inv(R, v)), cross(angular, rotate_inv(R, omega)))
    force, moment = rotate(R, linear), rotate(R, angular)
    pushed = cross(force, omega)
    store(out, first, add(load3(out, first), rotate_inv(R, pushed)))
    store(out, first + 3, add(load3(out, first + 3), turned))
    arm = sub(load3(q, flat.q_start[b]), vector(kinematics.position, a))
    add_wrench(flat, a, scale(-1.0, pushed), (0.0, 0.0, 0.0), kinematics, skins.body, out)
    force, moment = rotate_inv(A, force), rotate_inv(A, add(moment, cross(arm, force)))
    spin = load3(y, own + 3)
    moved = add(load3(y, own), cross(spin, vector(kinematics.body_point, a)))
    store(out, own + 3, add(load3(out, own + 3), add(cross(moved, force), cross(spin, moment))))


@njit(cache=True)
def _slip_back(flat, workspace, skins, k):
    """The derivative of the equations of friction of point `k`, with its adjoint variables, by the slip in body axes,
    and its components."""
    _, t, r = _pulled(flat, workspace, skins, k, load3(skins.nu[k], 0))
    axes = workspace.skin_axes[k]
    return add(scale(t, load3(axes[1], 0)), scale(r, load3(axes[2], 0))), t, r


@njit(cache=True)
def probed_transposed(flat, y, workspace, skins, count, slopes, to_q):
    """As `skins_transposed`, with the derivatives `slopes` of `probe_points`."""
    nv = len(y)
    given = np.zeros(len(slopes))
    for i in range(nv):
        given[i] = -y[i]
    for i in range(count):
        k = skins.listed[i]
        store(given, nv + 3 * i, _pulled(flat, workspace, skins, k, load3(skins.nu[k], 0)))
    for i in range(nv):
        to_q[i] += inner(slopes[i], given, len(given))
    for i in range(count):
        k = skins.listed[i]
        own = _of_forces(flat, workspace, skins, k, load3(skins.nu[k], 0))
        for c in range(3):
            skins.to_force[k, c] = own[c] + inner(slopes[nv + 3 * i + c], given, len(given))


@njit(cache=True)
def skins_transposed(flat, q, y, kinematics, workspace, skins, count, to_q):
    """Add the derivatives of `L` of the listed points, with the adjoint variables `skins.nu`, by the configuration to
    `to_q` (nv,), and set those by the forces, `skins.to_force`."""
    for s in range(len(flat.skin_body)):
        linear, angular, _, _ = _relative(flat, q, kinematics, s, y)
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        Q, _ = from_shape(flat, q, kinematics, s)
        for k in skins.listed[:count]:
            if flat.node_skin[k] != s:
                continue
            axes, at, z = workspace.skin_axes[k], flat.skin_state + 3 * k, vector(workspace.skin_at, k)
            v, p = add(add(linear, cross(angular, z)), _flexing(flat, q, k, y)), (0.0, 0.0, 0.0)
            skins.to_axes[k] = 0.0
            for c in range(sides_of(flat, k)):
                e, f = load3(axes[c], 0), workspace.states[at + c]
                p = add(p, scale(f, e))
                skins.to_force[k, c] = -dot(v, e)
                store(skins.to_axes[k, c], 0, scale(-f, v))
            store(skins.to_arm[k], 0, cross(angular, p))
            force, moment = add(force, p), add(moment, cross(z, p))
            _add_bending(flat, k, p, y, to_q)
            to_seen = scale(skins.nu[k, 0], load3(axes[0], 0))
            if flat.skin_friction[s] > 0.0:
                slip = load3(skins.slip[k], 0)
                back, t, r = _slip_back(flat, workspace, skins, k)
                store(skins.to_axes[k, 1], 0, add(load3(skins.to_axes[k, 1], 0), scale(t, slip)))
                store(skins.to_axes[k, 2], 0, add(load3(skins.to_axes[k, 2], 0), scale(r, slip)))
                n, t, r = _of_forces(flat, workspace, skins, k, load3(skins.nu[k], 0))
                store(skins.to_force[k], 0, add(load3(skins.to_force[k], 0), (n, t, r)))
                _add_wrench(flat, q, kinematics, s, (0.0, 0.0, 0.0), cross(back, slip), skins, to_q)
                to_seen = add(to_seen, back)
            store(skins.to_place[k], 0, rotate(Q, to_seen))
        _add_of_carrier(flat, q, kinematics, s, force, moment, y, skins, to_q)
    _pull_places(flat, q, kinematics, workspace, skins, count, to_q)


@njit(cache=True)
def _add_bending(flat, k, p, y, out):
    """Add the derivatives of the power of the force `p` at node `k` by the elastic coordinates on which its rows
    depend."""
    b = flat.node_body[k]
    m, first = flat.modes[b], flat.v_start[b] + 6
    for a in range(3 if len(flat.node_second) > 0 else 0):
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += flat.node_second[k, a, i, j] * y[first + j]
            out[first + i] -= p[a] * total


@njit(cache=True)
def slip_transposed(flat, q, before, states, kinematics, workspace, skins, count, to_states):
    """Set the derivatives of `L` by the configuration `before` (nq,) at the beginning of the step, `skins.earlier`, and
    by the forces there, of `states` (nz,), in `to_states` (nz,). The points must have been placed at the end of the
    step, `q` (nq,), and are placed at its beginning."""
    skins.earlier[:] = 0.0
    last = flat.skin_state + 3 * len(flat.node_skin)
    to_states[flat.skin_state : last] = 0.0
    skins.to_place[:] = 0.0
    if count == 0 or not surfaces_rub(flat):
        return
    if takes_differences(flat):
        to_seen = np.zeros((len(flat.node_body), 3))
        for k in skins.listed[:count]:
            if flat.skin_friction[flat.node_skin[k]] > 0.0:
                Q, _ = from_shape(flat, q, kinematics, flat.node_skin[k])
                back, _, _ = _slip_back(flat, workspace, skins, k)
                add_to_places(flat, workspace, k, scale(-1.0, rotate(Q, back)), to_seen)
        probe_places(flat, before, states, kinematics, workspace, to_seen, skins.earlier, to_states)
        return
    for k in skins.listed[:count]:
        s = flat.node_skin[k]
        if flat.skin_friction[s] > 0.0:
            Q, _ = from_shape(flat, q, kinematics, s)
            back, _, _ = _slip_back(flat, workspace, skins, k)
            store(skins.to_place[k], 0, scale(-1.0, rotate(Q, back)))
    begin_slip(flat, before, states, kinematics, workspace)
    listed = 0
    for k in range(len(flat.node_skin)):
        to_place = vector(skins.to_place, k)
        if is_loaded(flat, workspace.states, k) or dot(to_place, to_place) > 0.0:
            skins.listed[listed] = k
            listed += 1
            skins.to_axes[k], skins.to_arm[k], skins.to_force[k] = 0.0, 0.0, 0.0
    _pull_places(flat, before, kinematics, workspace, skins, listed, skins.earlier)
    for k in skins.listed[:listed]:
        for c in range(sides_of(flat, k)):
            to_states[flat.skin_state + 3 * k + c] = skins.to_force[k, c]


@njit(cache=True)
def keep_points(flat, skins, kept):
    """Write the adjoint variables of the points and their modes to `kept` (4 nn,)."""
    n = len(flat.node_skin)
    for k in range(n):
        store(kept, 3 * k, vector(skins.nu, k))
        kept[3 * n + k] = skins.mode[k]


@njit(cache=True)
def power_of_skins(flat, track, y, kept, kinematics, workspace):
    """The sum of `L` over the steps of a track with the adjoint variables `y` (n, nv) and those of the points and their
    modes, `kept` (n, 4 nn)."""
    total, n = 0.0, len(flat.node_skin)
    for step in range(len(y)):
        if not kept[step, 3 * n :].any():
            continue
        q, states = track.q[step + 1], track.states[step + 1]
        if surfaces_rub(flat):
            begin_slip(flat, track.q[step], track.states[step], kinematics, workspace)
        load_states(flat, states, workspace)
        place_markers(flat, q, kinematics)
        place_skins(flat, q, kinematics, workspace, True)
        for k in range(n):
            mode = kept[step, 3 * n + k]
            if mode == OPEN:
                continue
            skin_rows(flat, q, kinematics, workspace, k, sides_of(flat, k))
            at, ends = flat.skin_state + 3 * k, (skin_end(flat, k, 0), skin_end(flat, k, 1))
            for c in range(sides_of(flat, k)):
                total -= states[at + c] * along_ends(flat, workspace.skin_G[k, c], ends, y[step])
            nu = load3(kept[step], 3 * k)
            total += nu[0] * workspace.skin_gap[k]
            if sides_of(flat, k) == 1:
                continue
            t, r = _across(workspace, k, skin_slip(flat, q, kinematics, workspace, k))
            if mode == SLIDES:
                part = flat.skin_friction[flat.node_skin[k]] * states[at] / math.hypot(t, r)
                t, r = states[at + 1] + part * t, states[at + 2] + part * r
            total += nu[1] * t + nu[2] * r
    return total
