"""Points of a flexible surface that face another one: nodal values of linear functions that are fitted to the gap.

A face of the first surface faces the other one with a part F of its area, the pieces below facets of the other surface,
along the normal of the face. Each of its nodes k has a place P_k, the point of F that is closest to it: the node itself
if all of the face faces, the edge of the other surface where this ends. With the functions b = (1, s, t, st) on
quadrilaterals and (1, s, t) on triangles, the point k of the face sees of a field y

    L_k(y) = b(P_k) . M^-1 int_F b y dA,    M = int_F b b' dA,

the value at P_k of the combination of these functions that fits y best. The areas D_k of the points integrate the
functions, `sum_k D_k b(P_k) = int_F b dA`. Hence a force f_k at the point is a pressure `f_k b(P_k) . M^-1 b` on F with
its resultant at P_k; forces `p D_k` are the uniform pressure p, exactly; and a part begins to tip when the resultant
leaves the places P_k, at the edge of the contact. On whole faces the pressures are the dual, or biorthogonal, shape
functions of mortar methods. The gap of node k is the mean over its faces

    g_k = e_k . sum D_k L_k(x - y) / sum D_k,

with points x of the first surface and y of the other one. Both are combinations of nodes, so that g_k is a sum over
nodes, with weights of the sum 1 on the first surface and -1 on the other: the stencil of point k.

Where the places allow no areas D_k >= 0, or b varies too little over F, as in slender parts of a face that is cut
askew, functions are left out: st first, then all but 1, for which all places are the middle of F.

Facets of surfaces that conform, such as those of a pipe in a sleeve, stand back from the curved surfaces by heights
that do not cancel where meshes differ. Gaps are less by the heights over both facets along the normal of the first one,
seen by L_k (flexmb/mechanism/contacts/conforming.py).

Sources: Wohlmuth, SIAM J. Numer. Anal. 38 (2000) 989-1012 (dual functions); Puso and Laursen, Comput. Methods Appl.
Mech. Eng. 193 (2004) 601-629 (pieces of faces); Cichosz and Bischoff, Comput. Methods Appl. Mech. Eng. 200 (2011)
1317-1332 (dual functions on parts of faces, there with the nodes as places).
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    dot,
    load3,
    rotate,
    rotate_inv,
    scale,
    store,
    sub,
    tangents_near,
    vector,
)
from flexmb.kernels.base.dense import eliminate, solve_small
from flexmb.kernels.contact.local import on_quadrilateral, shape_functions
from flexmb.kernels.contact.triangle import CORNERS, cut_triangle, nearest_in_polygon

A, B = 0.445948490915965, 0.091576213509771
U, V = 0.223381589678011, 0.109951743655322
RULE = (
    (1 - 2 * A, A, A, U), (A, 1 - 2 * A, A, U), (A, A, 1 - 2 * A, U),
    (1 - 2 * B, B, B, V), (B, 1 - 2 * B, B, V), (B, B, 1 - 2 * B, V),
)  # fmt: skip
"""Integration points of a triangle and their weights, exact for polynomials of degree 4 (Dunavant 1985)."""
OPPOSED = 0.2
"""Cosine of the angle between a normal and the reversed normal of a facet that it hits, at least."""
EDGE = 1e-9
"""Barycentric coordinate by which a normal may miss a facet."""
SLIVER = 1e-12
"""Part of a facet below which a piece of it is round-off."""
STEEP = 64.0
"""Largest `b(P) . M^-1 b(P)` times the area, the square of the pressure of a force at a point over the uniform one: 16
at the corners of parallelograms, 9 at those of triangles."""
LEAST = 1e-3
"""Part of the area of a point that faces the other surface, at least, for the point to touch."""
NO_WEIGHT = 1e-14
"""Weights of nodes that are round-off."""
STACK = 64


@njit(cache=True, inline="always")
def _seen(flat, workspace, f, c):
    """Corner `c` of facet `f` in the axes of the other surface."""
    return vector(workspace.skin_seen, flat.facet_nodes[f, c])


@njit(cache=True)
def _facets_near(flat, workspace, s, low, high, stack):
    """List the facets of the other surface of contact `s` whose boxes meet the box from `low` to `high` in
    `workspace.skin_found`; returns their number."""
    start, levels, boxes = flat.skin_tree[s, 0], flat.skin_tree[s, 1], flat.tree_boxes
    first = flat.skin_facet[s, 1]
    total, leaves = flat.skin_facet[s, 2] - first, (1 << levels) - 1
    stack[0] = 0
    height, count = 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        box = boxes[start + node]
        if (
            box[0] > high[0] or box[1] > high[1] or box[2] > high[2]
            or box[3] < low[0] or box[4] < low[1] or box[5] < low[2]
        ):  # fmt: skip
            continue
        if node < leaves:
            stack[height] = 2 * node + 1
            stack[height + 1] = 2 * node + 2
            height += 2
            continue
        j = node - leaves
        for f in range(first + ((j * total) >> levels), first + (((j + 1) * total) >> levels)):
            workspace.skin_found[count] = f
            count += 1
    return count


@njit(cache=True)
def _plane(flat, workspace, f, plane):
    """Set the first corner, both edges that leave it, their cross product and its length, of facet `f`."""
    a = _seen(flat, workspace, f, 0)
    b, c = sub(_seen(flat, workspace, f, 1), a), sub(_seen(flat, workspace, f, 2), a)
    m = cross(b, c)
    store(plane, 0, a)
    store(plane, 3, b)
    store(plane, 6, c)
    store(plane, 9, m)
    plane[12] = math.sqrt(dot(m, m))


@njit(cache=True)
def _is_first(planes, count, number, x, n, reach):
    """Whether the line through `x` along `n` hits facet `number` of the first `count` next to `x`, within `reach`."""
    best, first = reach, -1
    for i in range(count):
        mx, my, mz = planes[i, 9], planes[i, 10], planes[i, 11]
        along = mx * n[0] + my * n[1] + mz * n[2]
        a = (planes[i, 0] - x[0], planes[i, 1] - x[1], planes[i, 2] - x[2])
        far = abs((mx * a[0] + my * a[1] + mz * a[2]) / along)
        if far > best:
            continue
        g = cross(a, n)
        v = (planes[i, 6] * g[0] + planes[i, 7] * g[1] + planes[i, 8] * g[2]) / along
        w = -(planes[i, 3] * g[0] + planes[i, 4] * g[1] + planes[i, 5] * g[2]) / along
        if v >= -EDGE and w >= -EDGE and 1.0 - v - w >= -EDGE:
            best, first = far, i
    return first == number


@njit(cache=True)
def _add(flat, workspace, k, node, weight):
    """Add the `weight` of a `node` to the stencil of point `k`."""
    start = flat.stencil_start[k]
    end = start + workspace.stencil_count[k]
    for i in range(start, end):
        if workspace.stencil_node[i] == node:
            workspace.stencil_weight[i] += weight
            return
    workspace.stencil_node[end] = node
    workspace.stencil_weight[end] = weight
    workspace.stencil_count[k] += 1


@njit(cache=True)
def _turn_normals(flat, workspace, s):
    """Set the unit normals of the points of contact `s`: those of the mesh, turned as its facets are."""
    first, last, normals = flat.skin_node[s], flat.skin_node[s + 1], workspace.skin_normal
    normals[first:last] = 0.0
    for f in range(flat.skin_facet[s, 0], flat.skin_facet[s, 1]):
        own = flat.facet_nodes[f]
        a = vector(workspace.skin_at, own[0])
        n = cross(sub(vector(workspace.skin_at, own[1]), a), sub(vector(workspace.skin_at, own[2]), a))
        for c in range(3):
            store(normals[own[c]], 0, add(load3(normals[own[c]], 0), n))
    for k in range(first, last):
        n = vector(normals, k)
        n = add(scale(1.0 / math.sqrt(dot(n, n)), n), vector(flat.node_bend, k))
        store(normals[k], 0, scale(1.0 / math.sqrt(dot(n, n)), n))


@njit(cache=True, inline="always")
def _height(flat, f, phi):
    """The height of the curved surface above facet `f` where its shape functions are `phi`."""
    height = 0.0
    for i in range(4):
        for j in range(i):
            height += phi[i] * phi[j] * flat.facet_excess[f, i, j]
    return 2.0 * height


@njit(cache=True)
def _pieces(flat, workspace, s, f, half, grown, room, pieces, about, first):
    """List the pieces of facet `f` that face the other surface of contact `s`, from number `first` on: their corners in
    `pieces` (., 9, 4), each with its coordinates in the face of which `f` is the given `half` and both barycentric
    coordinates on the other facet, and in `about` (., 3) their number of corners, this facet, and `half`. `room`: work
    arrays.

    Returns the number of pieces and the area of the facet.
    """
    stack, planes, work = room
    a, b, c = _seen(flat, workspace, f, 0), _seen(flat, workspace, f, 1), _seen(flat, workspace, f, 2)
    e, g = sub(b, a), sub(c, a)
    m = cross(e, g)
    square = dot(m, m)
    size, last = math.sqrt(square), first
    n, reach = scale(1.0 / size, m), flat.facet_range[f]
    x, y, z = grown + reach * abs(n[0]), grown + reach * abs(n[1]), grown + reach * abs(n[2])
    low = min(a[0], b[0], c[0]) - x, min(a[1], b[1], c[1]) - y, min(a[2], b[2], c[2]) - z
    high = max(a[0], b[0], c[0]) + x, max(a[1], b[1], c[1]) + y, max(a[2], b[2], c[2]) + z
    to_s, to_t = scale(1.0 / square, cross(g, m)), scale(1.0 / square, cross(m, e))
    for i in range(_facets_near(flat, workspace, s, low, high, stack)):
        plane = planes[last - first]
        _plane(flat, workspace, workspace.skin_found[i], plane)
        if dot(load3(plane, 9), n) > -OPPOSED * plane[12]:
            continue
        polygon, corner = pieces[last], sub(load3(plane, 0), a)
        for j in range(3):
            d = corner if j == 0 else add(corner, load3(plane, 3 * j))
            polygon[j, 0], polygon[j, 1] = dot(d, to_s), dot(d, to_t)
            polygon[j, 2], polygon[j, 3] = (1.0 if j == 1 else 0.0), (1.0 if j == 2 else 0.0)
        corners = cut_triangle(polygon, work)
        part, v, w = 0.0, 0.0, 0.0
        for j in range(1, corners - 1):
            each = abs(_twice(polygon, j))
            part += each
            v += each * (polygon[0, 0] + polygon[j, 0] + polygon[j + 1, 0]) / 3.0
            w += each * (polygon[0, 1] + polygon[j, 1] + polygon[j + 1, 1]) / 3.0
        if part <= SLIVER:
            continue
        plane[13], plane[14] = v / part, w / part
        about[last, 0], about[last, 1], about[last, 2] = corners, workspace.skin_found[i], half
        last += 1
    met, last = last - first, first
    for i in range(met):  # without those that another facet covers, or that are far
        middle = add(a, add(scale(planes[i, 13], e), scale(planes[i, 14], g)))
        if not _is_first(planes, met, i, middle, n, reach):
            continue
        polygon = pieces[last]
        polygon[:] = pieces[first + i]
        about[last] = about[first + i]
        if flat.facet_nodes[f, 3] >= 0:
            for j in range(about[last, 0]):
                polygon[j, 0] += polygon[j, 1]
                if half == 1:
                    polygon[j, 0], polygon[j, 1] = 1.0 - polygon[j, 0], 1.0 - polygon[j, 1]
        last += 1
    return last, 0.5 * size


@njit(cache=True, inline="always")
def _twice(polygon, j):
    """Twice the signed area of the triangle of the corners 0, `j` and `j` + 1 of a polygon."""
    x, y = polygon[0, 0], polygon[0, 1]
    return (polygon[j, 0] - x) * (polygon[j + 1, 1] - y) - (polygon[j + 1, 0] - x) * (polygon[j, 1] - y)


@njit(cache=True, inline="always")
def _functions(box, s, t):
    """The functions that are fitted, in coordinates from -1 to 1 over the facing part, whose middle and half sizes are
    in `box` (4,)."""
    s, t = (s - box[0]) / box[2], (t - box[1]) / box[3]
    return 1.0, s, t, s * t


@njit(cache=True)
def _box(pieces, about, count, box):
    """Set middle and half sizes of the facing part, the first `count` pieces, in coordinates of the face."""
    for c in range(2):
        low, high = np.inf, -np.inf
        for p in range(count):
            for j in range(about[p, 0]):
                low, high = min(low, pieces[p, j, c]), max(high, pieces[p, j, c])
        box[c], box[2 + c] = 0.5 * (low + high), 0.5 * (high - low)


@njit(cache=True, inline="always")
def _normal(x, corners):
    """The unit normal of a facet with its `corners` among the points `x`."""
    a = vector(x, corners[0])
    m = cross(sub(vector(x, corners[1]), a), sub(vector(x, corners[2]), a))
    return scale(1.0 / math.sqrt(dot(m, m)), m)


@njit(cache=True)
def _along(flat, workspace, facet, v, w, n):
    """The height of the curved surface above a `facet` of the other surface, from its barycentric coordinates `v` and
    `w`, along the direction `-n`, which is askew to its normal: that of the place where this direction meets it, which
    the height itself tells to second order."""
    height = _height(flat, facet, shape_functions(flat, facet, 1.0 - v - w, v, w))
    if height == 0.0:
        return 0.0
    a = _seen(flat, workspace, facet, 0)
    e, g = sub(_seen(flat, workspace, facet, 1), a), sub(_seen(flat, workspace, facet, 2), a)
    m = cross(e, g)
    square = dot(m, m)
    straight = -dot(m, n) / math.sqrt(square)
    d = scale(-height / straight, n)
    v, w = v + dot(cross(d, g), m) / square, w + dot(cross(e, d), m) / square
    return _height(flat, facet, shape_functions(flat, facet, 1.0 - v - w, v, w)) / straight


@njit(cache=True)
def _integrate(flat, workspace, f, nodes, pieces, about, count, area, box, curved, M, mixed, above):
    """Add the integrals over the `count` pieces of a face, whose first half is `f`, with the products of the functions
    b: with each other to `M` (4, 4), with the shape functions of the other facets to `mixed` (., 4, 4) for each piece,
    and, of `curved` surfaces, with heights along their normals, in body axes, to `above` (4, 3). `area` (2,): those of
    the halves."""
    zero = (0.0, 0.0, 0.0, 0.0)
    m0, m1, m2, m3 = zero, zero, zero, zero
    for p in range(count):
        polygon, facet, half = pieces[p], about[p, 1], f + about[p, 2]
        n = _normal(workspace.skin_seen, flat.facet_nodes[half])
        up = _normal(workspace.skin_at, flat.facet_nodes[half])
        r0, r1, r2, r3 = zero, zero, zero, zero
        for j in range(1, about[p, 0] - 1):
            weight = abs(_twice(polygon, j)) * area[about[p, 2]]
            for u, v, w, part in RULE:
                s = u * polygon[0, 0] + v * polygon[j, 0] + w * polygon[j + 1, 0]
                t = u * polygon[0, 1] + v * polygon[j, 1] + w * polygon[j + 1, 1]
                x = u * polygon[0, 2] + v * polygon[j, 2] + w * polygon[j + 1, 2]
                y = u * polygon[0, 3] + v * polygon[j, 3] + w * polygon[j + 1, 3]
                b, there = _functions(box, s, t), shape_functions(flat, facet, 1.0 - x - y, x, y)
                each = part * weight
                m0, r0 = _plus(m0, each * b[0], b), _plus(r0, each * b[0], there)
                m1, r1 = _plus(m1, each * b[1], b), _plus(r1, each * b[1], there)
                m2, r2 = _plus(m2, each * b[2], b), _plus(r2, each * b[2], there)
                m3, r3 = _plus(m3, each * b[3], b), _plus(r3, each * b[3], there)
                if curved:
                    height = _height(
                        flat, f, on_quadrilateral(s, t) if nodes == 4 else (1.0 - s - t, s, t, 0.0)
                    ) + _along(flat, workspace, facet, x, y, n)
                    for i in range(nodes):
                        store(above[i], 0, add(load3(above[i], 0), scale(each * height * b[i], up)))
        for k in range(4):
            mixed[p, 0, k], mixed[p, 1, k], mixed[p, 2, k], mixed[p, 3, k] = r0[k], r1[k], r2[k], r3[k]
    for k in range(4):
        M[0, k], M[1, k], M[2, k], M[3, k] = m0[k], m1[k], m2[k], m3[k]
    for i in range(4):
        for k in range(i):
            M[k, i] = M[i, k]


@njit(cache=True, inline="always")
def _plus(row, weight, values):
    """A row of four numbers, plus the `weight` times the `values`."""
    return (
        row[0] + weight * values[0],
        row[1] + weight * values[1],
        row[2] + weight * values[2],
        row[3] + weight * values[3],
    )


@njit(cache=True)
def _own(nodes, box, M, own):
    """Set the integrals `own` (4, 4) of the products of the functions b with the shape functions of the face, which are
    combinations of the same functions, from `M`."""
    T = np.zeros((4, 4))
    for k in range(nodes):
        if nodes == 4:
            s, hs = (box[0], box[2]) if k in (1, 2) else (1.0 - box[0], -box[2])
            t, ht = (box[1], box[3]) if k >= 2 else (1.0 - box[1], -box[3])
            T[k, 0], T[k, 1], T[k, 2], T[k, 3] = s * t, hs * t, s * ht, hs * ht
        elif k == 0:
            T[k, 0], T[k, 1], T[k, 2] = 1.0 - box[0] - box[1], -box[2], -box[3]
        else:
            T[k, 0], T[k, k] = box[k - 1], box[k + 1]
    for i in range(nodes):
        for k in range(nodes):
            for j in range(nodes):
                own[i, k] += M[i, j] * T[k, j]


@njit(cache=True)
def _places(flat, workspace, f, nodes, pieces, about, count, box, at):
    """Write the functions b at the places of the nodes, the closest points of the pieces, to the columns of `at`
    (4, 4). Overwrites the coordinates of the pieces."""
    origin = _seen(flat, workspace, f, 0)
    e, g = sub(_seen(flat, workspace, f, 1), origin), sub(_seen(flat, workspace, f, nodes - 1), origin)
    length = math.sqrt(dot(e, e))
    along = dot(e, g) / length
    across = math.sqrt(dot(g, g) - along * along)
    for p in range(count):
        for j in range(about[p, 0]):
            pieces[p, j, 0] = length * pieces[p, j, 0] + along * pieces[p, j, 1]
            pieces[p, j, 1] *= across
    for k in range(nodes):
        s, t = (1.0 if k in (1, nodes - 2) else 0.0), (1.0 if k >= 2 else 0.0)
        best, ps, pt = np.inf, s, t
        for p in range(count):
            x, y, far = nearest_in_polygon(pieces[p], about[p, 0], length * s + along * t, across * t)
            if far < best:
                best, ps, pt = far, (x - along / across * y) / length, y / across
        b = _functions(box, ps, pt)
        for i in range(4):
            at[i, k] = b[i]


@njit(cache=True)
def _fit(nodes, used, M, at, area, fit):
    """Set the areas `area` (nodes,) of the points and the rows `M^-1 b(P_k)` in the columns of `fit` (used, nodes),
    with the first `used` functions; returns False if they do not allow it."""
    mean, rest, gram = M[0, 0] / nodes, np.empty(used), np.zeros((used, used))
    for i in range(used):
        rest[i] = M[0, i]
        for k in range(nodes):
            rest[i] -= mean * at[i, k]
            fit[i, k] = at[i, k]
            for j in range(used):
                gram[i, j] += at[i, k] * at[j, k]
    solve_small(gram, rest)
    for k in range(nodes):
        area[k] = mean
        for i in range(used):
            area[k] += rest[i] * at[i, k]
        if not area[k] >= -EDGE * mean:
            return False
        area[k] = max(area[k], 0.0)
    for i in range(used):
        left = M[0, i]
        for k in range(nodes):
            left -= at[i, k] * area[k]
        if not abs(left) <= 10.0 * EDGE * M[0, 0]:  # the places are on a line
            return False
    eliminate(M[:used, :used].copy(), fit)
    for k in range(nodes):
        steep = 0.0
        for i in range(used):
            steep += at[i, k] * fit[i, k]
        if not 0.0 < steep * M[0, 0] <= STEEP:
            return False
    return True


@njit(cache=True)
def _share(flat, workspace, f, nodes, about, count, used, area, fit, own, mixed, above):
    """Add what the points of a face see to their stencils, rises and shares."""
    for c in range(nodes):
        k = flat.facet_nodes[f, c]
        workspace.skin_share[k] += area[c]
        for d in range(nodes):
            weight = 0.0
            for i in range(used):
                weight += fit[i, c] * own[i, d]
            if abs(weight) > NO_WEIGHT:
                _add(flat, workspace, k, flat.facet_nodes[f, d], area[c] * weight)
        for p in range(count):
            for d in range(4):
                node, weight = flat.facet_nodes[about[p, 1], d], 0.0
                for i in range(used):
                    weight += fit[i, c] * mixed[p, i, d]
                if node >= 0 and abs(weight) > NO_WEIGHT:
                    _add(flat, workspace, k, node, -area[c] * weight)
        for i in range(used):
            high = dot(load3(above[i], 0), vector(workspace.skin_normal, k))
            workspace.skin_rise[k] -= area[c] * fit[i, c] * high


@njit(cache=True)
def _face(flat, workspace, s, f, grown, curved, room, pieces, about):
    """Add what the points of a face see, whose first facet is `f`, to their stencils, rises and shares."""
    nodes, area, box = 4 if flat.facet_nodes[f, 3] >= 0 else 3, np.zeros(4), np.empty(4)
    count, area[0] = _pieces(flat, workspace, s, f, 0, grown, room, pieces, about, 0)
    if nodes == 4:
        count, area[1] = _pieces(flat, workspace, s, f + 1, 1, grown, room, pieces, about, count)
    if count == 0:
        return
    M, own, mixed, above = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((count, 4, 4)), np.zeros((4, 3))
    _box(pieces, about, count, box)
    _integrate(flat, workspace, f, nodes, pieces, about, count, area, box, curved, M, mixed, above)
    _own(nodes, box, M, own)
    at = np.zeros((4, 4))
    _places(flat, workspace, f, nodes, pieces, about, count, box, at)
    used, fit = nodes, np.empty((nodes, nodes))
    while not _fit(nodes, used, M, at, area, fit) and used > 1:
        used = 3 if used == 4 else 1
        fit = np.empty((used, nodes))
    _share(flat, workspace, f, nodes, about, count, used, area, fit, own, mixed, above)


@njit(cache=True)
def _see_nodes(flat, workspace, s, R, origin):
    """Set the positions `workspace.skin_seen` of the nodes of contact `s` in the axes of the other surface; returns the
    largest displacement of a node of the latter."""
    moved = 0.0
    for k in range(flat.mate_node[s], flat.mate_node[s + 1]):
        x = vector(workspace.skin_at, k)
        store(workspace.skin_seen[k], 0, x)
        d = sub(x, vector(flat.node_point, k))
        moved = max(moved, dot(d, d))
    for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
        store(workspace.skin_seen[k], 0, add(origin, rotate(R, vector(workspace.skin_at, k))))
    return math.sqrt(moved)


@njit(cache=True)
def face(flat, workspace, s, R, origin):
    """Set stencils, gaps, directions and places of the points of the first surface of contact `s`, with the positions
    `workspace.skin_at` of the nodes of both; `R` and `origin` take the first body to the axes of the other."""
    first, last = flat.skin_node[s], flat.skin_node[s + 1]
    _turn_normals(flat, workspace, s)
    grown = _see_nodes(flat, workspace, s, R, origin)
    for k in range(first, last):
        workspace.stencil_count[k] = 0
        workspace.skin_share[k] = 0.0
        workspace.skin_rise[k] = 0.0
    others, f = flat.skin_facet[s, 2] - flat.skin_facet[s, 1], flat.skin_facet[s, 0]
    room = np.empty(STACK, np.int64), np.empty((others, 15)), np.empty((CORNERS, 4))
    curved = flat.facet_excess[flat.skin_facet[s, 0] : flat.skin_facet[s, 2]].any()
    pieces, about = np.empty((2 * others, CORNERS, 4)), np.empty((2 * others, 3), np.int64)
    while f < flat.skin_facet[s, 1]:
        _face(flat, workspace, s, f, grown, curved, room, pieces, about)
        f += 2 if flat.facet_nodes[f, 3] >= 0 else 1
    for k in range(first, last):
        share = workspace.skin_share[k]
        if share <= LEAST * flat.node_area[k]:
            workspace.stencil_count[k] = 0
            continue
        workspace.skin_rise[k] /= share
        for i in range(flat.stencil_start[k], flat.stencil_start[k] + workspace.stencil_count[k]):
            workspace.stencil_weight[i] /= share
        e = scale(-1.0, vector(workspace.skin_normal, k))
        t, r = tangents_near(e, vector(flat.node_across, k))
        store(workspace.skin_axes[k, 0], 0, e)
        store(workspace.skin_axes[k, 1], 0, t)
        store(workspace.skin_axes[k, 2], 0, r)
    _measure(flat, workspace, s, R, origin)


@njit(cache=True)
def _measure(flat, workspace, s, R, origin):
    """Set gaps and places of the points from their stencils and directions."""
    for k in range(flat.skin_node[s], flat.skin_node[s + 1]):
        if workspace.stencil_count[k] == 0:
            workspace.skin_gap[k] = np.inf
            continue
        between, hit = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for i in range(flat.stencil_start[k], flat.stencil_start[k] + workspace.stencil_count[k]):
            y = scale(workspace.stencil_weight[i], vector(workspace.skin_seen, workspace.stencil_node[i]))
            between = add(between, y)
            if workspace.stencil_node[i] >= len(flat.node_skin):
                hit = sub(hit, y)
        seen = rotate(R, load3(workspace.skin_axes[k, 0], 0))
        apart = dot(seen, between)
        workspace.skin_gap[k] = apart + workspace.skin_rise[k]
        hit = add(hit, sub(between, scale(apart, seen)))  # in line with the point: no torque from facets askew
        store(workspace.skin_place[k], 0, rotate_inv(R, sub(hit, origin)))
