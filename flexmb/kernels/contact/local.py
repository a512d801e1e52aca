"""A sphere that touches a surface of a reduced body at a point, with a contact radius below the spacing of the nodes.

The force acts at the point of the surface that is nearest to the centre, and the nodes of its face share it by their
shape functions. The point yields by

    d(f) = (f / K)^(2/3) - s f

beyond the displacement of the mesh: by Hertz's approach with its stiffness K, less what the mesh has of the yielding of
a half-space under this force, `s = phi S phi`, so that it does not count twice. S holds the static compliance of the
nodes of the face without the part that is regular there (flexmb/mechanism/contacts/local.py).
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    dot,
    rotate,
    rotate_inv,
    scale,
    store,
    sub,
    tangents_near,
    vector,
)
from flexmb.kernels.contact.triangle import weights_on_triangle


@njit(cache=True, inline="always")
def shape_functions(flat, f, u, v, w):
    """The shape functions of the nodes of facet `f` at barycentric coordinates; a facet with a fourth node is the half
    of a quadrilateral whose second corner is opposite to it."""
    if flat.facet_nodes[f, 3] < 0:
        return u, v, w, 0.0
    return on_quadrilateral(v + w, w)


@njit(cache=True, inline="always")
def on_quadrilateral(s, t):
    """The shape functions of the nodes of a quadrilateral at its coordinates from 0 to 1."""
    return (1.0 - s) * (1.0 - t), s * (1.0 - t), s * t, (1.0 - s) * t


@njit(cache=True)
def local_approach(soft, f):
    """The approach `d(f)`; `soft` (2,) holds K and s."""
    x = math.pow(f / soft[0], 1.0 / 3.0)
    return x * x - soft[1] * f


@njit(cache=True)
def local_slope(soft, f):
    """The derivative of the approach at a force above zero."""
    return 2.0 / (3.0 * math.pow(soft[0] * soft[0] * f, 1.0 / 3.0)) - soft[1]


@njit(cache=True)
def local_energy(soft, f):
    """The work of the force over the approach."""
    x = math.pow(f / soft[0], 1.0 / 3.0)
    return (0.4 * x * x - 0.5 * soft[1] * f) * f


@njit(cache=True)
def see_point(flat, workspace, s, R, origin):
    """Set stencil, gap, directions and place of the point of contact `s` at the positions `workspace.skin_at` of the
    nodes, without the approach; `R` and `origin` take the body to the axes of the sphere."""
    k, centre, best = flat.skin_node[s], rotate_inv(R, scale(-1.0, origin)), np.inf
    for j in range(flat.mate_node[s], flat.mate_node[s + 1]):
        store(workspace.skin_seen[j], 0, add(origin, rotate(R, vector(workspace.skin_at, j))))
    facet, at = flat.skin_facet[s, 0], (1.0, 0.0, 0.0)
    for f in range(flat.skin_facet[s, 0], flat.skin_facet[s, 1]):
        own = flat.facet_nodes[f]
        a, b = vector(workspace.skin_bare, own[0]), vector(workspace.skin_bare, own[1])
        c = vector(workspace.skin_bare, own[2])
        u, v, w, _ = weights_on_triangle(sub(a, centre), sub(b, centre), sub(c, centre))
        apart = sub(add(scale(u, a), add(scale(v, b), scale(w, c))), centre)
        far = dot(apart, apart)
        if far < best:
            best, facet, at = far, f, (u, v, w)
    phi = shape_functions(flat, facet, at[0], at[1], at[2])
    own, place, start, count = flat.facet_nodes[facet], (0.0, 0.0, 0.0), flat.stencil_start[k], 0
    stiffness, excess = 0.0, 0.0
    for i in range(4):
        if own[i] < 0:
            break
        place = add(place, scale(phi[i], vector(workspace.skin_at, own[i])))
        workspace.stencil_node[start + i] = own[i]
        workspace.stencil_weight[start + i] = phi[i]
        count += 1
        stiffness += phi[i] * flat.node_hertz[own[i]]
        for j in range(4):
            if own[j] >= 0:
                excess += phi[i] * phi[j] * flat.facet_excess[facet, i, j]
    workspace.stencil_count[k] = count
    workspace.skin_soft[k, 0] = stiffness
    workspace.skin_soft[k, 1] = excess
    a = vector(workspace.skin_at, own[0])
    m = cross(sub(vector(workspace.skin_at, own[1]), a), sub(vector(workspace.skin_at, own[2]), a))
    apart = sub(place, centre)
    if dot(apart, m) >= 0.0:  # the centre is behind the face
        apart = m
        workspace.skin_gap[k] = -math.sqrt(dot(sub(place, centre), sub(place, centre))) - flat.skin_shape[s, 1]
        n = scale(-1.0 / math.sqrt(dot(m, m)), m)
    else:
        far = math.sqrt(dot(apart, apart))
        workspace.skin_gap[k] = far - flat.skin_shape[s, 1]
        n = scale(1.0 / far, apart)
    t, r = tangents_near(n, vector(flat.node_across, k))
    store(workspace.skin_place[k], 0, place)
    store(workspace.skin_axes[k, 0], 0, n)
    store(workspace.skin_axes[k, 1], 0, t)
    store(workspace.skin_axes[k, 2], 0, r)
