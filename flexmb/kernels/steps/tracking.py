"""Exact contacts of polyhedra and capsules over time: the pairs of features at their points.

A point of such a contact holds a pair of features (flexmb/kernels/contact/features.py), or none. Points that touch keep
theirs within a step; at its end they may have left their borders, which is a change of the motion. Open points take the
pairs near the direction of least overlap.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import load3, matrix, relative, rotate_inv, store, sub, vector
from flexmb.kernels.contact.convex import CAPSULE
from flexmb.kernels.contact.features import BORDER, MOST_PAIRS, feature_point, features_apart, list_features
from flexmb.kernels.contact.polytope import extent
from flexmb.kernels.contact.shapes import shape_points

OPEN = 0.0
NONE = 0
"""The pair of a point that has none."""
FAR = 1e-2
"""Gap of two shapes, relative to their extents, beyond which no pairs are listed."""
NEARLY = 1e-6
"""Gap, relative to the extents, up to which an open point keeps its pair of features."""
ONE_PLACE = 1e-6
"""Distance of points, relative to the extents, and of their normals, within which they are one."""


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
def track(flat, kinematics, workspace, states, c):
    """Evaluate the points of contact `c` and list its pairs of features anew, except those that touch in the modes of
    `states`; returns the number of touching points that are outside of their borders."""
    p, placed = flat.contact_shapes[c], place_pair(flat, kinematics, workspace, c)
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
        known, free = False, -1
        for k in range(first, last):
            if feature[k] == NONE:
                free = k if free < 0 else free
            elif feature[k] == pairs[x] or _coincide(near[k - first], rows[x], length):
                known = True
        if known:
            continue
        if free < 0:  # in the place of the open point that is farthest apart
            for k in range(first, last):
                if states[flat.contact_state + 4 * k] == OPEN and (free < 0 or gaps[k] > gaps[free]):
                    free = k
            if free < 0 or gaps[free] <= -rows[x, 6]:
                continue
        feature[free], gaps[free] = pairs[x], -rows[x, 6]
        near[free - first, :] = rows[x]
        store(workspace.point_at[free], 0, load3(rows[x], 0))
    return left


@njit(cache=True)
def drop_left(flat, kinematics, workspace, states):
    """Open the touching points that are outside of their borders, and list the pairs of features anew; returns the
    number of these points."""
    count = 0
    for c in range(len(flat.contact_feature)):
        if flat.contact_feature[c] < 0:
            continue
        p, placed = flat.contact_shapes[c], place_pair(flat, kinematics, workspace, c)
        limit = BORDER * (extent(int(p[0]), load3(p, 1)) + extent(int(p[4]), load3(p, 5)))
        for k in range(flat.contact_point[c], flat.contact_point[c + 1]):
            at = flat.contact_state + 4 * k
            if states[at] != OPEN and tracked_point(flat, workspace, placed, c, k, workspace.near[0]) > limit:
                states[at : at + 4] = 0.0
                workspace.point_feature[k] = NONE
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
