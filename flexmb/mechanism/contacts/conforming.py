"""Facing surfaces that conform, such as those of a pipe in a sleeve, and the heights of the curved surfaces above their
facets.

Let q(x) be the height of a curved surface over its tangent plane, a quadratic form `- S(x, x) / 2` with the shape
operator S, which turns the normal by `n_j - n_i = S (x_j - x_i)`. A facet interpolates q between its nodes. With its
shape functions phi, which reproduce linear functions, it lies below the surface, where this is convex, by

    h(x) = q(x) - sum_i phi_i q(x_i) = 1/2 sum_{i<j} phi_i phi_j (x_j - x_i) . (n_j - n_i)

for `sum_i phi_i x_i = x`, on triangles and on parallelograms: by `d^2 / (8 R)` in the middle of an edge of length d.
A factor of `2 / (1 + |n_i + n_j| / 2)` makes this exact for arcs of any angle.
With equal division the heights of a convex and a concave surface cancel in the mean. With different ones they are
errors of the gap, which `facing` takes out.

The heights are those of the interface of both bodies in contact. Its curvature is that of both surfaces as drawn only
where these conform; a cylinder and a plane are flat or curved there as they deform, which their nodes follow, and
heights of the shapes as drawn would be wrong.
"""

import numpy as np
from jaxtyping import Float

from flexmb.bodies.surfaces import BodySurface

CLOSE = 0.2
"""Difference of the principal curvatures of surfaces that conform, relative to the larger one, at most."""
FLAT = 0.1
"""Curvature, relative to the largest one of both surfaces, below which they are flat in a direction: on meshes of
tetrahedra, that along a cylinder is not zero."""


def conforms(own: BodySurface, other: BodySurface) -> bool:
    """Whether one surface is convex, the other concave, and both have about the same principal curvatures."""
    a, b = _curvatures(own), -_curvatures(other)[:, ::-1]
    if not len(a) or not len(b):
        return False
    every, means = np.concatenate([a, b]), (np.median(a, axis=0), np.median(b, axis=0))
    least = FLAT * np.abs(every).max()
    one_sense = every.min() > -least or every.max() < least
    apart, larger = np.abs(means[0] - means[1]), np.maximum(*np.abs(means))
    return bool(one_sense and (apart <= np.maximum(CLOSE * larger, least)).all())


def facet_heights(surface: BodySurface, facets: np.ndarray) -> Float[np.ndarray, "nf 4 4"]:
    """Symmetric forms H in the shape functions of `facets` (nf, 4), whose values `phi H phi` are the heights of the
    curved surface above them."""
    corner = np.maximum(facets, 0)
    x, n = surface.points[corner], surface.normals[corner]
    form = ((x[:, :, None] - x[:, None]) * (n[:, :, None] - n[:, None])).sum(axis=3)
    form /= 2.0 + np.linalg.norm(n[:, :, None] + n[:, None], axis=3)  # 4, and exact in the middle of an arc
    smooth = (facets >= 0) & (surface.curvatures[corner] != 0.0).any(axis=2)
    return np.where(smooth[:, :, None] & smooth[:, None], form, 0.0)


def edge_heights(surface: BodySurface, nodes: np.ndarray) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """The largest curvature (k,) along an edge at each of `nodes`, positive where the surface is convex, and the height
    of the curved surface above the middle of this edge, of the same sign."""
    pairs = np.concatenate([surface.triangles[:, [c, d]] for c in range(3) for d in range(3) if c != d])
    smooth = (surface.curvatures != 0.0).any(axis=1)
    i, j = pairs[smooth[pairs].all(axis=1)].T
    d = surface.points[j] - surface.points[i]
    turned = (d * (surface.normals[j] - surface.normals[i])).sum(axis=1)
    curvature = turned / (d**2).sum(axis=1)
    order = np.argsort(np.abs(curvature))
    found = np.zeros((2, len(surface.nodes)))
    found[:, i[order]] = curvature[order], turned[order] / 8.0  # the largest of each node stays
    return found[0, nodes], found[1, nodes]


def _curvatures(surface: BodySurface) -> Float[np.ndarray, "n 2"]:
    """Principal curvatures of the nodes that are not on sharp edges, the lower one first."""
    smooth = (surface.curvatures != 0.0).any(axis=1)
    return np.sort(surface.curvatures[smooth], axis=1)
