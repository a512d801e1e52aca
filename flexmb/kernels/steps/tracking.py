"""Exact contacts of polyhedra and capsules over time: the pairs of features at their points.

A point of such a contact holds a pair of features (flexmb/kernels/contact/features.py), or none. Points that touch keep
theirs within a step; at its end they may have left their borders, which is a change of the motion. Open points take the
pairs near the direction of least overlap.

Cylinders on planes have points of their rims instead of pairs of features (flexmb/kernels/contact/rims.py): the lowest
points where they lean, and fixed ones near upright, where the lean changes within a few steps by its own size.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import load3, matrix, relative, rotate_inv, store, sub, tangents, vector
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import inner
from flexmb.kernels.contact.convex import CAPSULE
from flexmb.kernels.contact.features import BORDER, MOST_PAIRS, feature_point, features_apart, list_features
from flexmb.kernels.contact.polytope import extent
from flexmb.kernels.contact.rims import (
    FIXED,
    LOWEST,
    PLANE,
    above_plane,
    angle_of,
    fixed_point,
    lean,
    lowest_angle,
    rim_point,
)
from flexmb.kernels.contact.shapes import shape_points
from flexmb.kernels.equations.rows import to_bodies

OPEN = 0.0
NONE = 0
"""The pair of a point that has none."""
FAR = 1e-2
"""Gap of two shapes, relative to their extents, beyond which no pairs are listed."""
NEARLY = 1e-6
"""Gap, relative to the extents, up to which an open point keeps its pair of features."""
ONE_PLACE = 1e-6
"""Distance of points, relative to the extents, and of their normals, within which they are one."""
RESOLVED = 4.0
"""Steps in which a cylinder may come to stand if its lowest point is to touch."""
UPRIGHT, SLANTED = 1e-8, 0.2
"""Sines of the lean of a cylinder up to which it always stands, and from which it never does."""
SPACING = 0.1
"""Angle (rad) about the axis between the points on which a cylinder stands."""
SHUT = 1e-10
"""Gap, relative to the extent of a cylinder, up to which an open point keeps its place on the rim."""


@njit(cache=True)
def place_pair(flat, kinematics, workspace, c):
    """Position and rotation of the second shape of contact `c` in the axes of the first one, as tuples; they are also
    written to `workspace.near_d` and `near_S`."""
    a, b = flat.contact_markers[c, 0], flat.contact_markers[c, 1]
    A, d, S = matrix(kinematics.axes, a), workspace.near_d, workspace.near_S
    x = rotate_inv(A, sub(vector(kinematics.position, b), vector(kinematics.position, a)))
    R = relative(A, matrix(kinematics.axes, b))
    d[0], d[1], d[2] = x
    for i in range(3):
        S[i, 0], S[i, 1], S[i, 2] = (R[0], R[1], R[2]) if i == 0 else ((R[3], R[4], R[5]) if i == 1 else R[6:])
    return x, R


@njit(cache=True)
def see_pair(flat, kinematics, workspace, c):
    """The contact points of pair `c` in `workspace.near`, in the axes of its first marker; returns their number."""
    p = flat.contact_shapes[c]
    place_pair(flat, kinematics, workspace, c)
    return shape_points(
        int(p[0]), p[1], p[2], p[3], int(p[4]), p[5], p[6], p[7], workspace.near_d, workspace.near_S, workspace.near
    )


@njit(cache=True)
def tracked_point(flat, workspace, placed, c, k, row):
    """Write point `k` of contact `c` to `row` (8,); returns its margin."""
    p = flat.contact_shapes[c]
    return feature_point(
        int(p[0]), load3(p, 1), int(p[4]), load3(p, 5), placed[0], placed[1], workspace.point_feature[k], row
    )


@njit(cache=True)
def _coincide(row, other, length):
    """Whether two points have one place and one normal."""
    for i in range(3):
        if abs(row[i] - other[i]) > ONE_PLACE * length or abs(row[3 + i] - other[3 + i]) > ONE_PLACE:
            return False
    return True


@njit(cache=True)
def _list(flat, workspace, states, c, pair, row, length, low, high):
    """Give a pair of features with its point in `row` to an open point of contact `c` among `low` to `high - 1`, unless
    one has it already."""
    first, last, free = flat.contact_point[c], flat.contact_point[c + 1], -1
    near, feature, gaps = workspace.near, workspace.point_feature, workspace.point_gap
    for k in range(first, last):
        if feature[k] == NONE:
            free = k if free < 0 and low <= k < high else free
        elif feature[k] == pair or _coincide(near[k - first], row, length):
            return
    if free < 0:  # in the place of the open point that is farthest apart
        for k in range(low, high):
            if states[flat.contact_state + 4 * k] == OPEN and (free < 0 or gaps[k] > gaps[free]):
                free = k
        if free < 0 or gaps[free] <= -row[6]:
            return
    feature[free], gaps[free] = pair, -row[6]
    near[free - first, :] = row
    store(workspace.point_at[free], 0, load3(row, 0))


@njit(cache=True)
def _on_plane(shapes):
    """Whether one of two shapes is a plane, and the other one a cylinder then."""
    return int(shapes[0]) == PLANE or int(shapes[4]) == PLANE


@njit(cache=True)
def _beyond(workspace, c, number, leans):
    """How far the lean of a cylinder is outside of that for which its point `number` stands for the rim."""
    limit = workspace.rim_limit[c]
    return leans - 2.0 * limit if number >= FIXED else limit - leans


@njit(cache=True)
def _pressed_angle(flat, workspace, states, c, angle):
    """The angle about the axis of a standing cylinder at which its centre of pressure lies, in the forces of `states`;
    `angle` if it lies on the axis. Over the edge between two points, it shows the point on which the cylinder leans."""
    x, y = 0.0, 0.0
    for k in range(flat.contact_point[c], flat.contact_point[c + 1]):
        push, number = states[flat.contact_state + 4 * k + 1], workspace.point_feature[k]
        if push > 0.0 and number >= FIXED:
            at = angle_of(number)
            x, y = x + push * math.cos(at), y + push * math.sin(at)
    return math.atan2(y, x) if x != 0.0 or y != 0.0 else angle


@njit(cache=True)
def _spaced(flat, workspace, states, c, end, angle):
    """An angle about the axis of a standing cylinder, moved to `SPACING` from that of a touching point within it."""
    nearest, least = angle, SPACING
    for k in range(flat.contact_point[c], flat.contact_point[c + 1]):
        number = workspace.point_feature[k]
        if number >= FIXED and number & 1 == end and states[flat.contact_state + 4 * k] != OPEN:
            beside = angle - angle_of(number)
            beside -= 2.0 * math.pi * math.floor(beside / (2.0 * math.pi) + 0.5)
            if abs(beside) < least:
                least, nearest = abs(beside), angle - beside + math.copysign(SPACING, beside)
    return nearest


@njit(cache=True)
def _track_rims(flat, workspace, states, c, placed):
    """`track` for a cylinder on a plane: the lowest points of its rims are the first two, in the order of its ends."""
    p = flat.contact_shapes[c]
    a, A, B = int(p[0]), load3(p, 1), load3(p, 5)
    size, _, R = above_plane(a, A, B, placed[0], placed[1])
    first, last, length, left = flat.contact_point[c], flat.contact_point[c + 1], math.hypot(size[0], 0.5 * size[1]), 0
    near, feature, gaps, leans = workspace.near, workspace.point_feature, workspace.point_gap, lean(R)
    stands = leans < workspace.rim_limit[c]
    for k in range(first, last):
        gaps[k] = np.inf
        if feature[k] == NONE:
            continue
        row, outside = near[k - first], _beyond(workspace, c, feature[k], leans) > 0.0
        rim_point(a, A, B, placed[0], placed[1], feature[k], row)
        if states[flat.contact_state + 4 * k] != OPEN:
            gaps[k] = -row[6]
            left += 1 if outside else 0
            stands = feature[k] >= FIXED
        elif outside or abs(row[6]) > SHUT * length:
            feature[k] = NONE
        else:
            gaps[k] = -row[6]
        store(workspace.point_at[k], 0, load3(row, 0))
    row, (end, angle) = np.empty(8), lowest_angle(R)
    for i in range(5 if stands else 2):
        number, low, high = LOWEST + i, first + i, first + i + 1
        if stands:
            low, high = first + 2, last
            at = angle + 0.5 * math.pi * i if i < 4 else _pressed_angle(flat, workspace, states, c, angle)
            number = fixed_point(end, _spaced(flat, workspace, states, c, end, at))
        rim_point(a, A, B, placed[0], placed[1], number, row)
        _list(flat, workspace, states, c, number, row, length, low, high)
    return left


@njit(cache=True)
def rim_limits(flat, kinematics, workspace, w, wdot, h):
    """Set the sines of the lean of cylinders on planes, `workspace.rim_limit`, below which they stand: its change
    in `RESOLVED` steps of size `h` at the velocities `w` (nv,) and accelerations `wdot` (nv,) or those of a fall."""
    none = (0.0, 0.0, 0.0)
    for c in range(len(flat.contact_feature)):
        p = flat.contact_shapes[c]
        if flat.contact_feature[c] < 0 or not _on_plane(p):
            continue
        G = np.zeros((2, workspace.touch_G.shape[3]))
        weight = math.sqrt(flat.gravity[0] ** 2 + flat.gravity[1] ** 2 + flat.gravity[2] ** 2)
        a, b = flat.contact_markers[c, 0], flat.contact_markers[c, 1]
        R, first, second = relative(matrix(kinematics.axes, a), matrix(kinematics.axes, b)), 0.0, 0.0
        size = load3(p, 5) if int(p[0]) == PLANE else load3(p, 1)
        for t in tangents((0.0, 0.0, 1.0) if int(p[0]) == PLANE else (R[2], R[5], R[8])):
            to_bodies(flat, kinematics, a, b, none, t, G)
            for side in range(2):
                body = flat.marker_body[b if side == 1 else a]
                if body != GROUND:
                    s, end = flat.v_start[body], flat.v_start[body + 1]
                    first += abs(inner(G[side], w[s:end], end - s))
                    second += abs(inner(G[side], wdot[s:end], end - s))
        second += weight / math.hypot(size[0], 0.5 * size[1])
        change = RESOLVED * h * (first + 0.5 * h * second)
        workspace.rim_limit[c] = min(max(change, UPRIGHT), SLANTED)


@njit(cache=True)
def track(flat, kinematics, workspace, states, c):
    """Evaluate the points of contact `c` and list its pairs of features anew, except those that touch in the modes of
    `states`; returns the number of touching points that are outside of their borders."""
    p, placed = flat.contact_shapes[c], place_pair(flat, kinematics, workspace, c)
    if _on_plane(p):
        return _track_rims(flat, workspace, states, c, placed)
    a, A, b, B = int(p[0]), load3(p, 1), int(p[4]), load3(p, 5)
    d, S = placed
    first, last, length, left = flat.contact_point[c], flat.contact_point[c + 1], extent(a, A) + extent(b, B), 0
    near, feature, gaps = workspace.near, workspace.point_feature, workspace.point_gap
    n, found = (0.0, 0.0, 1.0), False
    for k in range(first, last):
        gaps[k] = np.inf
        if feature[k] == NONE:
            continue
        row = near[k - first]
        margin = tracked_point(flat, workspace, placed, c, k, row)
        touches = states[flat.contact_state + 4 * k] != OPEN
        if margin > BORDER * length:
            left += 1 if touches else 0
        if touches:
            gaps[k] = -row[6]
            if not found:
                n, found = load3(row, 3), True
        elif margin > BORDER * length or abs(row[6]) > NEARLY * length:
            feature[k] = NONE
        else:
            gaps[k] = -row[6]
    if not found:
        n, overlap = features_apart(a, A, b, B, d, S)
        depth = overlap + (A[0] if a == CAPSULE else 0.0) + (B[0] if b == CAPSULE else 0.0)
        if depth < -FAR * length:
            gaps[first] = -depth
            return left
    for k in range(first, last):
        store(workspace.point_at[k], 0, load3(near[k - first], 0))
    pairs, rows = np.empty(MOST_PAIRS, np.int64), np.empty((MOST_PAIRS, 8))
    count = list_features(a, A, b, B, d, S, n, pairs, rows)
    for x in range(count):
        _list(flat, workspace, states, c, pairs[x], rows[x], length, first, last)
    return left


@njit(cache=True)
def _drop(flat, workspace, states, k):
    """Open the touching point `k`, without a force and a moment."""
    at, turning = flat.contact_state + 4 * k, flat.turn_state[k]
    states[at : at + 4] = 0.0
    if turning >= 0:
        states[turning : turning + 4] = 0.0
    workspace.point_feature[k] = NONE


@njit(cache=True)
def _drop_from_rims(flat, workspace, states, c, placed):
    """`drop_left` for a cylinder on a plane."""
    p, count = flat.contact_shapes[c], 0
    _, _, R = above_plane(int(p[0]), load3(p, 1), load3(p, 5), placed[0], placed[1])
    for k in range(flat.contact_point[c], flat.contact_point[c + 1]):
        touches = states[flat.contact_state + 4 * k] != OPEN
        if touches and _beyond(workspace, c, workspace.point_feature[k], lean(R)) > 0.0:
            _drop(flat, workspace, states, k)
            count += 1
    return count


@njit(cache=True)
def drop_left(flat, kinematics, workspace, states):
    """Open the touching points that are outside of their borders, and list the pairs of features anew; returns the
    number of these points."""
    count = 0
    for c in range(len(flat.contact_feature)):
        if flat.contact_feature[c] < 0:
            continue
        p, placed = flat.contact_shapes[c], place_pair(flat, kinematics, workspace, c)
        if _on_plane(p):
            count += _drop_from_rims(flat, workspace, states, c, placed)
            continue
        limit = BORDER * (extent(int(p[0]), load3(p, 1)) + extent(int(p[4]), load3(p, 5)))
        for k in range(flat.contact_point[c], flat.contact_point[c + 1]):
            at = flat.contact_state + 4 * k
            if states[at] != OPEN and tracked_point(flat, workspace, placed, c, k, workspace.near[0]) > limit:
                _drop(flat, workspace, states, k)
                count += 1
    return count


@njit(cache=True)
def keep_features(flat, workspace, states):
    """Write the pairs of features of all points to `states` (nz,)."""
    for c in range(len(flat.contact_feature)):
        at, first = flat.contact_feature[c], flat.contact_point[c]
        if at >= 0:
            for k in range(first, flat.contact_point[c + 1]):
                states[at + k - first] = workspace.point_feature[k]
