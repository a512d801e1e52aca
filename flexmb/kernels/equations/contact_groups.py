"""Contact among all shapes of a group: the pairs within reach, and their forces.

Every shape has a sphere about its marker that holds it; that of a plane is infinite. The pairs whose spheres are within
`SKIN` of each other are listed by a sweep along the axis of the largest spread. The list holds until a marker has moved
by half of the skin; until then, other pairs cost nothing. A list does not change forces, except for the order of sums.

The forces act on the bodies directly, without rows. The iteration matrices of implicit methods do not contain them, so
that their Newton iterations converge as long as a step resolves the contact: `h^2 dF/dd` well below the mass.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
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
    vector,
)
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.memory import stored
from flexmb.kernels.contact.forces import normal_force, push
from flexmb.kernels.contact.shapes import MOST, PLANE, shape_points
from flexmb.kernels.equations.rows import add_wrench

SKIN = 0.4
"""Distance within which pairs are listed, relative to the mean radius of the spheres about the shapes."""
STORED, POWER = 0, 1
"""Entries of `Workspace.group_energy`: the energy that all groups store, and the power that they give to the bodies."""


@njit(cache=True)
def _marker_motion(flat, kinematics, w, k):
    """Velocity and angular velocity of marker `k` in world axes, for the velocities `w` (nv,)."""
    b = flat.marker_body[k]
    if b == GROUND:
        return NOTHING, NOTHING
    s, m = flat.v_start[b], flat.modes[b]
    spin = load3(w, s + 3)
    v = add(load3(w, s), cross(spin, vector(kinematics.body_point, k)))
    if flat.marker_moves[k]:
        moved, turned = NOTHING, NOTHING
        rows = kinematics.rows[k]
        for i in range(m):
            rate = w[s + 6 + i]
            moved = add(moved, scale(rate, (rows[0, i], rows[1, i], rows[2, i])))
            turned = add(turned, scale(rate, (rows[3, i], rows[4, i], rows[5, i])))
        v, spin = add(v, moved), add(spin, rotate(matrix(kinematics.tangent, k), turned))
    R = matrix(kinematics.attitude, b)
    return rotate(R, v), rotate(R, spin)


@njit(cache=True)
def _may_touch(flat, i, j):
    """Whether two shapes are on different bodies, and not both planes."""
    a, b = flat.marker_body[flat.group_marker[i]], flat.marker_body[flat.group_marker[j]]
    return a != b and not (flat.group_shape[i, 0] == PLANE and flat.group_shape[j, 0] == PLANE)


@njit(cache=True)
def _skin(flat, g):
    total, count = 0.0, 0
    for i in range(flat.group_start[g], flat.group_start[g + 1]):
        if flat.group_reach[i] < np.inf:
            total += flat.group_reach[i]
            count += 1
    return SKIN * total / max(count, 1)


@njit(cache=True)
def _ascending(values):
    """The places of numbers in ascending order, by a heap: the sorting functions of numba need its runtime, which the
    library of compiled functions does without."""
    n = len(values)
    order = np.arange(n)
    for k in range(n // 2 - 1, -n, -1):
        if k >= 0:  # the heap grows towards its top
            place, size = k, n
        else:  # its top, the largest, goes behind it
            place, size = 0, n + k
            order[0], order[size] = order[size], order[0]
        while 2 * place + 1 < size:
            child = 2 * place + 1
            if child + 1 < size and values[order[child + 1]] > values[order[child]]:
                child += 1
            if values[order[child]] <= values[order[place]]:
                break
            order[place], order[child] = order[child], order[place]
            place = child
    return order


@njit(cache=True)
def list_pairs(flat, g, kinematics, skin, workspace):
    """List the pairs of group `g` within reach of each other and `skin`; returns their number, -1 if there are too
    many."""
    first, last = flat.group_start[g], flat.group_start[g + 1]
    listed, pairs = workspace.group_listed, workspace.group_pairs
    at, most, count = flat.group_pair[g], flat.group_pair[g + 1] - flat.group_pair[g], 0
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for i in range(first, last):
        x = vector(kinematics.position, flat.group_marker[i])
        store(listed[i], 0, x)
        if flat.group_reach[i] < np.inf:
            for k in range(3):
                low[k], high[k] = min(low[k], x[k]), max(high[k], x[k])
    axis = int(np.argmax(high - low))
    begin, end = np.empty(last - first), np.empty(last - first)
    for i in range(first, last):
        reach = flat.group_reach[i] + 0.5 * skin
        begin[i - first], end[i - first] = listed[i, axis] - reach, listed[i, axis] + reach
    order = _ascending(begin)
    for p in range(len(order)):
        i = first + order[p]
        for s in range(p + 1, len(order)):
            j = first + order[s]
            if begin[j - first] > end[i - first]:
                break
            gap = sub(vector(listed, i), vector(listed, j))
            reach = flat.group_reach[i] + flat.group_reach[j] + skin
            if dot(gap, gap) < reach * reach and _may_touch(flat, i, j):
                if count == most:
                    return -1
                pairs[at + count, 0], pairs[at + count, 1] = min(i, j), max(i, j)
                count += 1
    return count


@njit(cache=True)
def _moved_far(flat, g, kinematics, listed, skin):
    """Whether a marker of a group has moved by half of the skin since its pairs were listed."""
    for i in range(flat.group_start[g], flat.group_start[g + 1]):
        step = sub(vector(kinematics.position, flat.group_marker[i]), vector(listed, i))
        if flat.group_reach[i] < np.inf and not dot(step, step) < 0.25 * skin * skin:
            return True
    return False


@njit(cache=True)
def _apart(flat, i, j, kinematics):
    """Whether the spheres about two shapes, or that of a shape and a plane, do not touch."""
    k, l = flat.group_marker[i], flat.group_marker[j]
    gap = sub(vector(kinematics.position, l), vector(kinematics.position, k))
    if flat.group_shape[i, 0] == PLANE:
        axes = kinematics.axes[k]
        return gap[0] * axes[0, 2] + gap[1] * axes[1, 2] + gap[2] * axes[2, 2] > flat.group_reach[j]
    if flat.group_shape[j, 0] == PLANE:
        axes = kinematics.axes[l]
        return -(gap[0] * axes[0, 2] + gap[1] * axes[1, 2] + gap[2] * axes[2, 2]) > flat.group_reach[i]
    reach = flat.group_reach[i] + flat.group_reach[j]
    return dot(gap, gap) > reach * reach


@njit(cache=True)
def pair_points(flat, i, j, kinematics, points):
    """Write the contact points of shapes `i` and `j` to `points`, in axes of `i`; returns their number, the position of
    `j` and its axes (3, 3)."""
    A, B = matrix(kinematics.axes, flat.group_marker[i]), matrix(kinematics.axes, flat.group_marker[j])
    gap = sub(vector(kinematics.position, flat.group_marker[j]), vector(kinematics.position, flat.group_marker[i]))
    d, S, turn = np.empty(3), np.empty((3, 3)), relative(A, B)
    store(d, 0, rotate_inv(A, gap))
    for r in range(3):
        for c in range(3):
            S[r, c] = turn[3 * r + c]
    a, b = flat.group_shape[i], flat.group_shape[j]
    return shape_points(int(a[0]), a[1], a[2], a[3], int(b[0]), b[1], b[2], b[3], d, S, points), d


@njit(cache=True)
def pair_force(flat, g, i, j, kinematics, motion, points, wrench):
    """The `wrench` (6,) of shape `i` on shape `j` of group `g`, at its marker and in axes of `i`, from the `motion`
    (ns, 6) of the markers in world axes; returns the stored energy and the largest depth."""
    wrench[:] = 0.0
    count, d = pair_points(flat, i, j, kinematics, points)
    A, law, energy, deepest = matrix(kinematics.axes, flat.group_marker[i]), flat.group_law[g], 0.0, -np.inf
    v, omega = np.empty(3), np.empty(3)
    for k in range(count):
        point = points[k]
        deepest = max(deepest, point[6])
        if point[6] > 0.0:
            if energy == 0.0:
                spin = load3(motion[i], 3)
                arm = rotate(A, (d[0], d[1], d[2]))
                v_there = sub(sub(load3(motion[j], 0), load3(motion[i], 0)), cross(spin, arm))
                store(v, 0, rotate_inv(A, v_there))
                store(omega, 0, rotate_inv(A, sub(load3(motion[j], 3), spin)))
            force, kept = normal_force(point, d, v, omega, law)
            energy += kept
            push(point, d, v, omega, force, law, wrench)
    return energy, deepest


@njit(cache=True)
def _failed(flat, g, i, j, depth, workspace):
    """Record a failure: shapes that are too deep in each other, or too many pairs (no shapes)."""
    stored(flat.group_record[g], 1.0)
    first = flat.group_start[g]
    stored(flat.group_record[g] + 8, float(i - first))
    stored(flat.group_record[g] + 16, float(j - first))
    stored(flat.group_record[g] + 24, depth)
    workspace.group_wrench[flat.group_start[g] : flat.group_start[g + 1]] = np.nan


@njit(cache=True)
def group_wrenches(flat, w, kinematics, workspace):
    """Set the wrenches `workspace.group_wrench` (ns, 6) of all groups on the markers of their shapes, in world axes,
    and `workspace.group_energy`."""
    wrenches, motion, energy = workspace.group_wrench, workspace.group_motion, workspace.group_energy
    wrenches[:] = 0.0
    energy[STORED] = energy[POWER] = 0.0
    points, wrench = np.empty((MOST, 8)), np.empty(6)
    for i in range(len(flat.group_marker)):
        v, spin = _marker_motion(flat, kinematics, w, flat.group_marker[i])
        store(motion[i], 0, v)
        store(motion[i], 3, spin)
    for g in range(len(flat.group_start) - 1):
        skin = _skin(flat, g)
        if workspace.group_count[g] <= 0.0 or _moved_far(flat, g, kinematics, workspace.group_listed, skin):
            count = list_pairs(flat, g, kinematics, skin, workspace)
            if count < 0:
                _failed(flat, g, -1, -1, 0.0, workspace)
                continue
            workspace.group_count[g] = 1.0 + count
        for p in range(flat.group_pair[g], flat.group_pair[g] + int(workspace.group_count[g]) - 1):
            i, j = int(workspace.group_pairs[p, 0]), int(workspace.group_pairs[p, 1])
            if _apart(flat, i, j, kinematics):
                continue
            kept, depth = pair_force(flat, g, i, j, kinematics, motion, points, wrench)
            if depth > min(flat.group_size[i], flat.group_size[j]):
                _failed(flat, g, i, j, depth, workspace)
            if not depth > 0.0:
                continue
            A = matrix(kinematics.axes, flat.group_marker[i])
            force, moment = rotate(A, load3(wrench, 0)), rotate(A, load3(wrench, 3))
            arm = sub(
                vector(kinematics.position, flat.group_marker[j]), vector(kinematics.position, flat.group_marker[i])
            )
            on_a = add(moment, cross(arm, force))
            for k in range(3):
                wrenches[j, k] += force[k]
                wrenches[j, 3 + k] += moment[k]
                wrenches[i, k] -= force[k]
                wrenches[i, 3 + k] -= on_a[k]
            energy[STORED] += kept
    for i in range(len(flat.group_marker)):
        energy[POWER] += dot(load3(wrenches[i], 0), load3(motion[i], 0)) + dot(
            load3(wrenches[i], 3), load3(motion[i], 3)
        )


@njit(cache=True)
def add_group_forces(flat, w, kinematics, workspace, forces):
    """Add the generalised forces (nv,) of the contacts of all groups for the current kinematics and velocities `w`
    (nv,); returns the energy that they store."""
    group_wrenches(flat, w, kinematics, workspace)
    for i in range(len(flat.group_marker)):
        k, wrench = flat.group_marker[i], workspace.group_wrench[i]
        if flat.marker_body[k] != GROUND and (wrench != 0.0).any():
            add_wrench(flat, k, load3(wrench, 0), load3(wrench, 3), kinematics, workspace.bias, forces)
    return workspace.group_energy[STORED]
