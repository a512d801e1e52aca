"""Markers and the scalar rows that couple them: joint equations and force elements.

A row is a relative coordinate `delta` of marker `b` with respect to marker `a`. Its covector `(n_v, n_w)`, resolved in
marker `a`, maps the relative velocity to its rate: `deltadot = n_v . d' + n_w . omega_ab`, where `d'` is the rate of
the relative position observed in `a`. The transpose maps a scalar force to the wrenches on both bodies. A relation
between joint coordinates, such as that of a gear, is a row with further terms: coordinates of other pairs of markers,
times factors.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
    ONE,
    add,
    attitude,
    cross,
    dot,
    left_jacobian,
    load3,
    matrix,
    product,
    relative,
    rotate,
    rotate_inv,
    rotation_exp,
    scale,
    store,
    store_matrix,
    sub,
    vector,
)
from flexmb.kernels.base.data import (
    ALONG,
    ANGLE,
    CURVE,
    DISTANCE,
    DOT,
    GROUND,
    HEIGHT,
    SKATE,
    SLIP,
    SPIN,
    TILT,
    TRANSLATION,
)
from flexmb.kernels.base.dense import inner
from flexmb.kernels.equations.curves import distance_from_curve


@njit(cache=True, fastmath={"reassoc", "contract"})
def _elastic_motion(linear, second, quadratic, eta, rows):
    """Elastic displacement (3) and rotation vector (3) of a marker; stores their derivatives with respect to eta in
    `rows` (6, m) if they are not constant."""
    m = len(eta)
    c = NOTHING
    theta = NOTHING
    for r in range(6):
        moved = 0.0
        if second >= 0:
            for i in range(m):
                change = 0.0
                for j in range(m):
                    change += quadratic[second, r, i, j] * eta[j]
                rows[r, i] = linear[r, i] + change
                moved += (linear[r, i] + 0.5 * change) * eta[i]
        else:
            for i in range(m):
                moved += linear[r, i] * eta[i]
        if r == 0:
            c = (moved, c[1], c[2])
        elif r == 1:
            c = (c[0], moved, c[2])
        elif r == 2:
            c = (c[0], c[1], moved)
        elif r == 3:
            theta = (moved, theta[1], theta[2])
        elif r == 4:
            theta = (theta[0], moved, theta[2])
        else:
            theta = (theta[0], theta[1], moved)
    return c, theta


@njit(cache=True)
def turn_bodies(flat, q, kinematics):
    """Set the attitudes of all bodies at `q` (nq,)."""
    for b in range(len(flat.modes)):
        store_matrix(kinematics.attitude, b, attitude(flat, q, b))


@njit(cache=True)
def place_marker(flat, q, kinematics, k):
    """Set point, tangent operator of the elastic rotation, world position and axes of marker `k`, after `turn_bodies`.

    The derivatives of its elastic translation and rotation vector with respect to eta are stored in `kinematics.rows`
    if they are not constant.
    """
    b, c, local = flat.marker_body[k], vector(flat.marker_point, k), matrix(flat.marker_axes, k)
    if b == GROUND:
        store(kinematics.body_point[k], 0, c)
        store(kinematics.position[k], 0, c)
        store_matrix(kinematics.axes, k, local)
        return
    start, m = flat.q_start[b], flat.modes[b]
    if flat.marker_moves[k]:
        moved, theta = _elastic_motion(
            flat.marker_rows[k],
            flat.marker_second_of[k],
            flat.marker_second,
            q[start + 7 : start + 7 + m],
            kinematics.rows[k],
        )
        c = add(c, moved)
        local = product(rotation_exp(theta), local)
        store_matrix(kinematics.tangent, k, left_jacobian(theta))
    store(kinematics.body_point[k], 0, c)
    R = matrix(kinematics.attitude, b)
    store(kinematics.position[k], 0, add(load3(q, start), rotate(R, c)))
    store_matrix(kinematics.axes, k, product(R, local))


@njit(cache=True)
def place_markers(flat, q, kinematics):
    """Set the attitudes of all bodies and the kinematics of all markers, including those without rows or loads."""
    turn_bodies(flat, q, kinematics)
    for k in range(len(flat.marker_body)):
        place_marker(flat, q, kinematics, k)


@njit(cache=True, inline="always")
def _axis(i):
    return (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)


TWO_PI = 2.0 * math.pi
OPPOSED = 0.1
"""Angle (rad) between the z axis of one marker and the reversed z axis of the other, below which twist and tilt are
undefined; the values of springs about and across the axes are then NaN."""
MOST_TILTED = -math.cos(OPPOSED)
SMALLEST_SWING = 1e-9
"""Lower bound of `1 + cos(tilt)` and `sin(tilt)` in denominators, which keeps undefined values finite."""


@njit(cache=True, inline="always")
def _twist(sine, cosine, near):
    """The angle with the given sine and cosine (up to a common factor) that is within half a turn of `near`."""
    angle = math.atan2(sine, cosine)
    return angle + TWO_PI * np.round((near - angle) / TWO_PI)


@njit(cache=True)
def _tilt(i, z):
    """Component `i` (0: x, 1: y) of the tilt, and its covector.

    The tilt is the rotation vector in the xy plane that takes the z axis of `a` to the direction `z` of that of `b`:
    `f (-z_y, z_x)` with `f = angle / sin(angle)`.
    """
    c, s2 = z[2], z[0] * z[0] + z[1] * z[1]
    if s2 < 1e-4 and c > 0.0:
        f = 1.0 + s2 * (1.0 / 6.0 + s2 * (3.0 / 40.0 + s2 * 5.0 / 112.0))
        slope = -1.0 / 3.0 - s2 * (2.0 / 15.0 + s2 * (8.0 / 105.0 + s2 * 16.0 / 315.0))
    else:
        s = math.sqrt(s2)
        f = math.atan2(s, c) / max(s, SMALLEST_SWING)
        slope = (c * f - 1.0) / max(s2, SMALLEST_SWING * SMALLEST_SWING)
    if i == 0:
        return -f * z[1], cross(z, (0.0, -f, -slope * z[1]))
    return f * z[0], cross(z, (f, 0.0, slope * z[0]))


@njit(cache=True, inline="always")
def _contact(radius, round_, S):
    """The place where a disc about the z axis of `b`, or with `round_` = 1 a ball, touches the plane z = 0 of `a`, from
    its centre, and the height of the centre above the plane."""
    if round_ == 1:
        return (0.0, 0.0, -radius), radius
    flat = math.sqrt(S[2] * S[2] + S[5] * S[5])  # sine of the angle between the axis and the normal
    along = radius * S[8] / flat
    return (along * S[2], along * S[5], along * S[8] - radius / flat), radius * flat


@njit(cache=True)
def _on_curve(kind, curve, given, d, S):
    """Value and covector of a row on the curve with data at an address: the distance of the place on `b` from it in the
    plane of x and y of `a`, minus the `given` one, or, for `ALONG`, the component of the x axis of `b` across it."""
    distance, nx, ny, curvature = distance_from_curve(curve, d[0], d[1])
    normal, tangent = (nx, ny, 0.0), (ny, -nx, 0.0)
    if kind == CURVE:
        return distance - given, normal, NOTHING
    ahead = (S[0], S[3], S[6])
    turn = -curvature / (1.0 - curvature * distance) * dot(ahead, tangent)
    return dot(ahead, normal), scale(turn, tangent), cross(ahead, normal)


@njit(cache=True, inline="always")
def _plain(kind, i, j, given, d, S):
    """`row_geometry` of a `TRANSLATION` or a `DOT`, of which most joints consist."""
    if kind == TRANSLATION:
        return d[i] - given, _axis(i), NOTHING
    return S[3 * i + j], NOTHING, cross((S[j], S[3 + j], S[6 + j]), _axis(i))


@njit(cache=True)
def row_geometry(kind, i, j, given, near, curve, xa, A, xb, B):
    """The value of a row, its coordinate minus the `given` value, and its covector `nv`, `nw`, for markers at `xa` and
    `xb` with axes `A` and `B` (tuples)."""
    return _geometry(kind, i, j, given, near, curve, rotate_inv(A, sub(xb, xa)), relative(A, B))


@njit(cache=True)
def _geometry(kind, i, j, given, near, curve, d, S):
    """`row_geometry` from the position `d` and the axes `S` of marker `b` in those of marker `a`.

    In rows of rolling bodies, `given` is the radius, and rows for velocities have no value; `curve` is the address of
    the curve of a row that has one. An angle is the twist of `b` about the z axes: the
    rotation that remains after the shortest rotation that takes one z axis to the other. It is within half a turn of
    `near`.
    """
    if kind in (TRANSLATION, DOT):
        return _plain(kind, i, j, given, d, S)
    if kind == DISTANCE:
        length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        return length - given, scale(1.0 / length, d), NOTHING
    if kind == SPIN:  # a rate without a coordinate
        return 0.0, NOTHING, _axis(i)
    if kind in (HEIGHT, SLIP):
        arm, reach = _contact(given, j, S)
        height = d[2] - reach if kind == HEIGHT else 0.0
        return height, _axis(i), cross(arm, _axis(i))
    if kind in (CURVE, ALONG):
        return _on_curve(kind, curve, given, d, S)
    if kind == SKATE:
        return 0.0, (S[j], S[3 + j], S[6 + j]), NOTHING
    if kind == ANGLE:
        over = 1.0 / max(1.0 + S[8], SMALLEST_SWING)
        return _twist(S[3] - S[1], S[0] + S[4], near) - given, NOTHING, (over * S[2], over * S[5], 1.0)
    value, nw = _tilt(i, (S[2], S[5], S[8]))  # TILT
    return value, NOTHING, nw


@njit(cache=True, inline="always")
def _acts(flat, r):
    """Whether the row of a force element can exert a force."""
    return (
        flat.row_stiffness[r] != 0.0
        or flat.row_damping[r] != 0.0
        or flat.row_law[r] != 0
        or flat.row_function[r] >= 0
        or flat.row_command[r] >= 0
    )


@njit(cache=True)
def wrench_to_body(flat, k, force, moment, kinematics, out):
    """The generalised force `out` (6+m,) on the body of marker `k` due to a wrench at the marker, in world axes."""
    b = flat.marker_body[k]
    attitude = matrix(kinematics.attitude, b)
    f = rotate_inv(attitude, force)
    t = rotate_inv(attitude, moment)
    store(out, 0, f)
    store(out, 3, add(cross(vector(kinematics.body_point, k), f), t))
    _on_modes(flat, kinematics, k, f, t, out)


@njit(cache=True)
def _on_modes(flat, kinematics, k, f, t, out):
    """The elastic part of the generalised force `out` (6+m,) of a force and a moment at marker `k`, in body axes."""
    m, rows = flat.modes[flat.marker_body[k]], kinematics.rows[k]
    if flat.marker_moves[k]:  # with eta, with the derivatives `rows` (6, m)
        t = rotate_inv(matrix(kinematics.tangent, k), t)
        for i in range(m):
            out[6 + i] = (
                rows[0, i] * f[0] + rows[1, i] * f[1] + rows[2, i] * f[2]
                + rows[3, i] * t[0] + rows[4, i] * t[1] + rows[5, i] * t[2]
            )  # fmt: skip
    else:
        for i in range(m):
            out[6 + i] = 0.0


@njit(cache=True)
def add_wrench(flat, k, force, moment, kinematics, out, forces):
    """Add a wrench at marker `k`, in world axes, to the generalised `forces` (nv,).

    `out` (6+mmax,) is a work array.
    """
    wrench_to_body(flat, k, force, moment, kinematics, out)
    b = flat.marker_body[k]
    start = flat.v_start[b]
    for i in range(6 + flat.modes[b]):
        forces[start + i] += out[i]


@njit(cache=True, inline="always")
def all_rows(flat, q, functions, angles, kinematics, values, G):
    """The `values` (nr,) of all rows and the Jacobians `G` (nt, 2, 6+mmax) of their terms with respect to the motions
    of both bodies.

    Angles are within half a turn of `angles` (na,), or of the value that a driver prescribes.
    """
    rows_from(flat, 0, q, functions, angles, kinematics, values, G)


@njit(cache=True)
def rows_from(flat, first, q, functions, angles, kinematics, values, G):
    """The values and Jacobians of the rows from `first` on; see `all_rows`."""
    turn_bodies(flat, q, kinematics)
    place_used(flat, q, kinematics, 0, len(flat.marker_body), 0)
    _rows_between(flat, functions, angles, kinematics, values, G, first, len(values))


@njit(cache=True)
def place_used(flat, q, kinematics, first, end, lane):
    """The kinematics of those of the markers from `first` to `end` - 1 at which a row or a load acts, after
    `turn_bodies`."""
    for k in range(first, end):
        if flat.marker_used[k]:
            place_marker(flat, q, kinematics, k)


@njit(cache=True)
def rows_of(flat, functions, angles, kinematics, workspace, first, end, lane):
    """The values and Jacobians of the rows from `first` to `end` - 1 in `workspace`."""
    _rows_between(flat, functions, angles, kinematics, workspace.values, workspace.G, first, end)


@njit(cache=True)
def _rows_between(flat, functions, angles, kinematics, values, G, first, end):
    position, axes = kinematics.position, kinematics.axes
    r, e, elements = first, 0, len(flat.element_row)
    here, there, d, S, on_a, on_b = -1, -1, NOTHING, ONE, ONE, ONE
    while e < elements and flat.element_row[e] < first:
        e += 1
    while r < end:
        a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
        if e < elements and r == flat.element_row[e]:
            e += 1
            if r + 6 <= end:
                _frame_rows(flat, kinematics, a, b, values[r : r + 6], G[r : r + 6])
                r += 6
                continue
        given = joint_given(flat, r, functions) if r < flat.joint_rows else 0.0
        if r >= flat.joint_rows and flat.row_kind[r] == SLIP:
            given = flat.row_offset[r]  # the radius
        more = flat.term_start[r + 1] - flat.term_start[r]
        near = angles[flat.row_angle[r]] if (r >= flat.joint_rows or more > 0) and flat.row_angle[r] >= 0 else given
        kind, i, j = flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1]
        from_, to = flat.marker_body[a], flat.marker_body[b]
        if a != here or b != there:  # the rows of a joint follow each other
            here, there, A, B = a, b, matrix(axes, a), matrix(axes, b)
            d, S = rotate_inv(A, sub(vector(position, b), vector(position, a))), relative(A, B)
            on_a = relative(matrix(kinematics.attitude, max(from_, 0)), A)
            on_b = relative(matrix(kinematics.attitude, max(to, 0)), A)
        if kind in (TRANSLATION, DOT):
            value, nv, nw = _plain(kind, i, j, given, d, S)
        else:
            value, nv, nw = _geometry(kind, i, j, given, near, flat.row_law[r], d, S)
        if r >= flat.joint_rows and kind in (ANGLE, TILT) and S[8] < MOST_TILTED:
            value = np.nan if _acts(flat, r) else 0.0
        values[r] = value
        if to != GROUND:
            _on_body(flat, kinematics, b, rotate(on_b, nv), rotate(on_b, nw), G, r, 1)
        if from_ != GROUND:
            moment = scale(-1.0, rotate(on_a, add(nw, cross(d, nv))))
            _on_body(flat, kinematics, a, scale(-1.0, rotate(on_a, nv)), moment, G, r, 0)
        for x in range(flat.term_start[r], flat.term_start[r + 1]):
            k = len(flat.row_kind) + x
            value, nv, nw = term_geometry(flat, x, kinematics, angles)
            values[r] += value
            to_bodies(flat, kinematics, flat.term_markers[k, 0], flat.term_markers[k, 1], nv, nw, G[k])
        r += 1


@njit(cache=True)
def _on_body(flat, kinematics, k, f, t, G, r, side):
    """The Jacobian `G[r, side]` of a row with respect to the motion of the body of marker `k`, from the force `f` and
    the moment `t` at the marker, in body axes."""
    b, moment = flat.marker_body[k], add(cross(vector(kinematics.body_point, k), f), t)
    G[r, side, 0], G[r, side, 1], G[r, side, 2] = f
    G[r, side, 3], G[r, side, 4], G[r, side, 5] = moment
    if flat.modes[b] > 0:
        _on_modes(flat, kinematics, k, f, t, G[r, side])


@njit(cache=True)
def _frame_rows(flat, kinematics, a, b, values, G):
    """The `values` (6,) and Jacobians `G` (6, 2, 6+mmax) of the rows of an element between markers `a` and `b`: three
    of `TRANSLATION` and three of `SPIN`, which share their directions, the axes of `a`."""
    A = matrix(kinematics.axes, a)
    between = sub(vector(kinematics.position, b), vector(kinematics.position, a))
    store(values, 0, rotate_inv(A, between))
    store(values, 3, NOTHING)
    if flat.marker_body[b] != GROUND:
        _frame_rows_on(flat, kinematics, b, A, 1.0, NOTHING, G, 1)
    if flat.marker_body[a] != GROUND:
        _frame_rows_on(flat, kinematics, a, A, -1.0, between, G, 0)


@njit(cache=True)
def _frame_rows_on(flat, kinematics, k, A, sign, arm, G, side):
    """The part of `_frame_rows` of the body of marker `k`, on which the forces along the axes `A` act with a `sign`, at
    a distance `arm` from the marker."""
    b = flat.marker_body[k]
    attitude, rows, m = matrix(kinematics.attitude, b), kinematics.rows[k], flat.modes[b]
    arm = rotate_inv(attitude, arm)
    reach = add(vector(kinematics.body_point, k), arm)
    for i in range(3):
        f = scale(sign, rotate_inv(attitude, (A[i], A[3 + i], A[6 + i])))
        along, about = G[i, side], G[3 + i, side]
        store(along, 0, f)
        store(along, 3, cross(reach, f))
        store(about, 0, NOTHING)
        store(about, 3, f)
        if flat.marker_moves[k]:
            tangent = matrix(kinematics.tangent, k)
            t, u = rotate_inv(tangent, cross(arm, f)), rotate_inv(tangent, f)
            for j in range(m):
                along[6 + j] = (
                    rows[0, j] * f[0] + rows[1, j] * f[1] + rows[2, j] * f[2]
                    + rows[3, j] * t[0] + rows[4, j] * t[1] + rows[5, j] * t[2]
                )  # fmt: skip
                about[6 + j] = rows[3, j] * u[0] + rows[4, j] * u[1] + rows[5, j] * u[2]
        else:
            for j in range(m):
                along[6 + j] = about[6 + j] = 0.0


@njit(cache=True, inline="always")
def joint_given(flat, r, functions):
    """The value at which joint equation `r` holds its coordinate: that of its function of time, or its offset."""
    return functions[flat.row_function[r], 0] if flat.row_function[r] >= 0 else flat.row_offset[r]


@njit(cache=True)
def term_geometry(flat, x, kinematics, angles):
    """The coordinate of further term `x` of a joint equation times its factor, and its covector."""
    k = len(flat.row_kind) + x
    a, b, factor = flat.term_markers[k, 0], flat.term_markers[k, 1], flat.term_factor[x]
    near = angles[flat.term_angle[x]] if flat.term_angle[x] >= 0 else 0.0
    value, nv, nw = row_geometry(
        flat.term_kind[x],
        flat.term_axis[x],
        0,
        0.0,
        near,
        0,
        vector(kinematics.position, a),
        matrix(kinematics.axes, a),
        vector(kinematics.position, b),
        matrix(kinematics.axes, b),
    )
    return factor * value, scale(factor, nv), scale(factor, nw)


@njit(cache=True)
def to_bodies(flat, kinematics, a, b, nv, nw, G):
    """The Jacobian `G` (2, 6+mmax) of a coordinate between markers `a` and `b` from its covector, for both bodies."""
    A = matrix(kinematics.axes, a)
    force, moment = rotate(A, nv), rotate(A, nw)
    if flat.marker_body[b] != GROUND:
        wrench_to_body(flat, b, force, moment, kinematics, G[1])
    if flat.marker_body[a] != GROUND:
        between = sub(vector(kinematics.position, b), vector(kinematics.position, a))
        on_a = scale(-1.0, add(moment, cross(between, force)))
        wrench_to_body(flat, a, scale(-1.0, force), on_a, kinematics, G[0])


@njit(cache=True)
def add_turns(flat, x, factor, angles):
    """Add to `angles` (na,) the relative rotations about the z axes for a displacement `factor x` (nv,) of the bodies.

    The result is exact if the axes remain aligned.
    """
    for k in range(len(angles)):
        for side in range(2):
            b = flat.marker_body[flat.angle_markers[k, side]]
            if b != GROUND:
                turned = dot(vector(flat.angle_axes[k], side), load3(x, flat.v_start[b] + 3))
                angles[k] += factor * turned if side == 1 else -factor * turned


@njit(cache=True)
def as_driven(flat, functions, angles):
    """Set the entries of `angles` (na,) that drivers prescribe."""
    for k in range(len(angles)):
        r = flat.angle_driver[k]
        if r >= 0:
            angles[k] = functions[flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0


@njit(cache=True)
def angles_at(flat, kinematics, angles):
    """Overwrite `angles` (na,) by those of the current kinematics, each within half a turn of its previous value."""
    for k in range(len(angles)):
        A, B = matrix(kinematics.axes, flat.angle_markers[k, 0]), matrix(kinematics.axes, flat.angle_markers[k, 1])
        S = relative(A, B)
        angles[k] = _twist(S[3] - S[1], S[0] + S[4], angles[k])


@njit(cache=True)
def angles_reached(flat, functions, kinematics, expected, angles):
    """The `angles` (na,) of the current kinematics, each within half a turn of the value that a driver prescribes or of
    the `expected` value."""
    angles[:] = expected
    as_driven(flat, functions, angles)
    angles_at(flat, kinematics, angles)


@njit(cache=True)
def load_wrenches(flat, functions, commands, kinematics, wrenches):
    """Forces and moments `wrenches` (nl, 6) of the loads in world axes, for the current kinematics and the `commands`
    (nu,) of controllers."""
    for l in range(len(flat.load_marker)):
        factor = functions[flat.load_function[l], 0] if flat.load_function[l] >= 0 else 1.0
        if flat.load_command[l] >= 0:
            factor *= commands[flat.load_command[l]]
        force = scale(factor, load3(flat.load_wrench[l], 0))
        moment = scale(factor, load3(flat.load_wrench[l], 3))
        if flat.load_follower[l] == 1:
            A = matrix(kinematics.axes, flat.load_marker[l])
            force, moment = rotate(A, force), rotate(A, moment)
        store(wrenches[l], 0, force)
        store(wrenches[l], 3, moment)


@njit(cache=True)
def add_wrenches(flat, wrenches, kinematics, out, forces):
    """Add the `wrenches` (nl, 6) of the loads, in world axes, to the generalised `forces` (nv,), for the current
    kinematics.

    `out` (6+mmax,) is a work array.
    """
    for l in range(len(flat.load_marker)):
        add_wrench(flat, flat.load_marker[l], load3(wrenches[l], 0), load3(wrenches[l], 3), kinematics, out, forces)


@njit(cache=True)
def row_rates(flat, G, w, rates):
    """The rates `G w` (nr,) of the coordinates of the rows, without the rates of functions of time."""
    marker_body, v_start, nr = flat.marker_body, flat.v_start, len(rates)
    for k in range(len(flat.term_row)):
        rate = 0.0
        for side in range(2):
            b = marker_body[flat.term_markers[k, side]]
            if b != GROUND:
                rate += inner(G[k, side], w[v_start[b] :], v_start[b + 1] - v_start[b])
        if k < nr:
            rates[k] = rate
        else:
            rates[flat.term_row[k]] += rate


@njit(cache=True)
def add_row_forces(flat, G, efforts, forces):
    """`forces += G^T efforts` (nv,), summed over the bodies of every row."""
    marker_body, v_start = flat.marker_body, flat.v_start
    for k in range(len(flat.term_row)):
        effort = efforts[flat.term_row[k]]
        for side in range(2):
            b = marker_body[flat.term_markers[k, side]]
            if b != GROUND:
                s = v_start[b]
                forces[s] += effort * G[k, side, 0]
                forces[s + 1] += effort * G[k, side, 1]
                forces[s + 2] += effort * G[k, side, 2]
                forces[s + 3] += effort * G[k, side, 3]
                forces[s + 4] += effort * G[k, side, 4]
                forces[s + 5] += effort * G[k, side, 5]
                for i in range(6, v_start[b + 1] - s):
                    forces[s + i] += effort * G[k, side, i]


@njit(cache=True)
def forces_of(flat, workspace, forces, first, end, lane):
    """`add_row_forces` for the bodies from `first` to `end` - 1, with the Jacobians and efforts of `workspace`."""
    G, efforts = workspace.G, workspace.efforts
    for b in range(first, end):
        start = flat.v_start[b]
        for j in range(flat.incident_start[b], flat.incident_start[b + 1]):
            k, side = flat.incident_term[j], flat.incident_side[j]
            effort = efforts[flat.term_row[k]]
            for i in range(start, flat.v_start[b + 1]):
                forces[i] += effort * G[k, side, i - start]
