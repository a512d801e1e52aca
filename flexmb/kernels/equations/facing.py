"""Points of a flexible surface that face another one: means over both surfaces, weighted by a shape function.

The pressure on the first surface is `sum_k phi_k p_k`, with the shape functions phi_k of its faces, linear on triangles
and bilinear on quadrilaterals, each of which consists of two facets. Its work is that of
the forces `f_k = p_k A_k` on the mean gaps

    g_k = e_k . (X_k - Y_k),    X_k = sum_q w_q phi_k(q) x_q / sum_q w_q phi_k(q),    Y_k likewise

over integration points q of the facets, where x_q is a point of the first surface, and y_q the point of the other one
that its normal hits. Both are combinations of nodes, so that `X_k - Y_k` is a sum over nodes with weights that are
positive on the first surface and negative on the other, the stencil of point k. A uniform pressure passes from mesh to
mesh without loss, as in a mortar method: nodes neither lock nor sink in between those of the other surface.

Facets of surfaces that conform, such as those of a pipe in a sleeve, stand back from the curved surfaces by heights
that do not cancel where meshes differ. Gaps are less by the same means of the heights over both facets,
`e_k . n_q (phi(x_q) S phi(x_q) + phi(y_q) T phi(y_q))` with the normals n_q along which they are taken, and are those
between the curved surfaces (flexmb/mechanism/contacts/conforming.py).

Source: Puso and Laursen, "A mortar segment-to-segment contact method for large deformation solid mechanics", Comput.
Methods Appl. Mech. Eng. 193 (2004) 601-629; here with integration points in place of segments.
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
from flexmb.kernels.contact.local import shape_functions

A, B = 0.445948490915965, 0.091576213509771
U, V = 0.223381589678011, 0.109951743655322
SIX = (
    (1 - 2 * A, A, A, U), (A, 1 - 2 * A, A, U), (A, A, 1 - 2 * A, U),
    (1 - 2 * B, B, B, V), (B, 1 - 2 * B, B, V), (B, B, 1 - 2 * B, V),
)  # fmt: skip
"""Integration points of a triangle and their weights, exact for polynomials of degree 4 (Dunavant 1985)."""
QUARTERS = (
    ((1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5)),
    ((0.5, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.5, 0.5)),
    ((0.5, 0.0, 0.5), (0.0, 0.5, 0.5), (0.0, 0.0, 1.0)),
    ((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)),
)
RULE = tuple(
    (*(u * a[i] + v * b[i] + w * c[i] for i in range(3)), 0.25 * part) for a, b, c in QUARTERS for u, v, w, part in SIX
)
"""The same in each quarter of a triangle, because the shape functions of the other surface have kinks: a uniform
pressure comes to a mesh of equal size with errors below one per cent of its nodal values."""
OPPOSED = 0.2
"""Cosine of the angle between a normal and the reversed normal of a facet that it hits, at least."""
EDGE = 1e-9
"""Barycentric coordinate by which a normal may miss a facet."""
LEAST = 0.02
"""Part of the area of a point that faces the other surface, at least, for the point to touch."""
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
def _planes(flat, workspace, count):
    """The first corner, both edges that leave it, their cross product and its length, of the `count` listed facets."""
    planes = np.empty((count, 13))
    for i in range(count):
        f = workspace.skin_found[i]
        a = _seen(flat, workspace, f, 0)
        b, c = sub(_seen(flat, workspace, f, 1), a), sub(_seen(flat, workspace, f, 2), a)
        m = cross(b, c)
        store(planes[i], 0, a)
        store(planes[i], 3, b)
        store(planes[i], 6, c)
        store(planes[i], 9, m)
        planes[i, 12] = math.sqrt(dot(m, m))
    return planes


@njit(cache=True)
def _hit(planes, x, n, reach):
    """The number of the facet that the line through `x` along `n` hits next to `x`, within `reach`, and the barycentric
    coordinates there; -1 for none."""
    best, number, weights = reach, -1, (0.0, 0.0, 0.0)
    for i in range(len(planes)):
        mx, my, mz = planes[i, 9], planes[i, 10], planes[i, 11]
        along = mx * n[0] + my * n[1] + mz * n[2]
        if along > -OPPOSED * planes[i, 12]:
            continue
        a = (planes[i, 0] - x[0], planes[i, 1] - x[1], planes[i, 2] - x[2])
        far = abs((mx * a[0] + my * a[1] + mz * a[2]) / along)
        if far > best:
            continue
        g = cross(a, n)
        v = (planes[i, 6] * g[0] + planes[i, 7] * g[1] + planes[i, 8] * g[2]) / along
        w = -(planes[i, 3] * g[0] + planes[i, 4] * g[1] + planes[i, 5] * g[2]) / along
        if v >= -EDGE and w >= -EDGE and 1.0 - v - w >= -EDGE:
            best, number, weights = far, i, (1.0 - v - w, v, w)
    return number, weights


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
def _spread(flat, workspace, f, facet, block, sign):
    """Add the sums `block` (4, 4) over products of shape functions of facet `f` and of `facet` to the stencils of the
    nodes of `f`, and clear them."""
    for c in range(4):
        k = flat.facet_nodes[f, c]
        if k < 0:
            break
        for d in range(4):
            if flat.facet_nodes[facet, d] >= 0:
                _add(flat, workspace, k, flat.facet_nodes[facet, d], sign * block[c, d])
            block[c, d] = 0.0


@njit(cache=True)
def face(flat, workspace, s, R, origin):
    """Set stencils, gaps, directions and places of the points of the first surface of contact `s`, with the positions
    `workspace.skin_at` of the nodes of both; `R` and `origin` take the first body to the axes of the other."""
    first, last = flat.skin_node[s], flat.skin_node[s + 1]
    _turn_normals(flat, workspace, s)
    grown = 0.0
    for k in range(flat.mate_node[s], flat.mate_node[s + 1]):
        x = vector(workspace.skin_at, k)
        store(workspace.skin_seen[k], 0, x)
        moved = sub(x, vector(flat.node_point, k))
        grown = max(grown, dot(moved, moved))
    grown = math.sqrt(grown)
    for k in range(first, last):
        store(workspace.skin_seen[k], 0, add(origin, rotate(R, vector(workspace.skin_at, k))))
        workspace.stencil_count[k] = 0
        workspace.skin_share[k] = 0.0
        workspace.skin_gap[k] = 0.0
    low, high, stack = np.empty(3), np.empty(3), np.empty(STACK, np.int64)
    own, mixed = np.zeros((4, 4)), np.zeros((4, 4))
    for f in range(flat.skin_facet[s, 0], flat.skin_facet[s, 1]):
        a, b, c = _seen(flat, workspace, f, 0), _seen(flat, workspace, f, 1), _seen(flat, workspace, f, 2)
        reach = flat.facet_range[f]
        for i in range(3):
            low[i], high[i] = min(a[i], b[i], c[i]) - grown - reach, max(a[i], b[i], c[i]) + grown + reach
        count = _facets_near(flat, workspace, s, low, high, stack)
        if count == 0:
            continue
        na, nb, nc = (
            vector(workspace.skin_normal, flat.facet_nodes[f, 0]),
            vector(workspace.skin_normal, flat.facet_nodes[f, 1]),
            vector(workspace.skin_normal, flat.facet_nodes[f, 2]),
        )
        m = cross(sub(b, a), sub(c, a))
        area = 0.5 * math.sqrt(dot(m, m))
        planes, met = _planes(flat, workspace, count), -1
        for u, v, w, part in RULE:
            straight = add(scale(u, na), add(scale(v, nb), scale(w, nc)))
            straight = scale(1.0 / math.sqrt(dot(straight, straight)), straight)
            n = rotate(R, straight)
            x = add(scale(u, a), add(scale(v, b), scale(w, c)))
            number, weights = _hit(planes, x, n, reach)
            if number < 0:
                continue
            facet = workspace.skin_found[number]
            if facet != met and met >= 0:
                _spread(flat, workspace, f, met, mixed, -1.0)
            met = facet
            here = shape_functions(flat, f, u, v, w)
            there = shape_functions(flat, facet, weights[0], weights[1], weights[2])
            height = _height(flat, f, here) + _height(flat, facet, there)
            for i in range(4):
                share = part * area * here[i]
                k = flat.facet_nodes[f, i]
                if height != 0.0 and k >= 0:
                    workspace.skin_gap[k] -= share * height * dot(straight, vector(workspace.skin_normal, k))
                for j in range(4):
                    own[i, j] += share * here[j]
                    mixed[i, j] += share * there[j]
        if met >= 0:
            _spread(flat, workspace, f, met, mixed, -1.0)
            for i in range(4):
                if flat.facet_nodes[f, i] >= 0:
                    workspace.skin_share[flat.facet_nodes[f, i]] += own[i, 0] + own[i, 1] + own[i, 2] + own[i, 3]
            _spread(flat, workspace, f, f, own, 1.0)
    for k in range(first, last):
        share = workspace.skin_share[k]
        if share <= LEAST * flat.node_area[k]:
            workspace.stencil_count[k] = 0
            workspace.skin_gap[k] = np.inf
            continue
        between, hit = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for i in range(flat.stencil_start[k], flat.stencil_start[k] + workspace.stencil_count[k]):
            workspace.stencil_weight[i] /= share
            y = scale(workspace.stencil_weight[i], vector(workspace.skin_seen, workspace.stencil_node[i]))
            between = add(between, y)
            if workspace.stencil_weight[i] < 0.0:
                hit = sub(hit, y)
        e = scale(-1.0, vector(workspace.skin_normal, k))
        t, r = tangents_near(e, vector(flat.node_across, k))
        store(workspace.skin_axes[k, 0], 0, e)
        store(workspace.skin_axes[k, 1], 0, t)
        store(workspace.skin_axes[k, 2], 0, r)
        workspace.skin_gap[k] = dot(rotate(R, e), between) + workspace.skin_gap[k] / share
        store(workspace.skin_place[k], 0, rotate_inv(R, sub(hit, origin)))
