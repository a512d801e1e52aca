"""Flexible surfaces that conform at some places, and whose gap is that between their facets."""

from collections.abc import Iterator

import numpy as np
import scipy
from jaxtyping import Float

from flexmb.bodies.surfaces import BodySurface
from flexmb.mechanism.contacts.conforming import CLOSE, conforms
from flexmb.results.elements.surface_contact import surface_contact_motion
from flexmb.results.motion import Motion

COARSE = 1e-4
"""Difference of the heights of both surfaces above the middles of their edges, relative to their radius, above which
they are named: a tenth of the interference of common press fits."""


def unlike_facets(motion: Motion) -> Iterator[str]:
    """A sentence for each contact of two flexible surfaces that conform where they touch, but not as a whole, and whose
    facets stand back by different heights from the curved surfaces there."""
    bodies = motion.mechanism.bodies
    if not np.asarray(getattr(motion, "element_states", np.zeros((0, 0)))).size:
        return
    for contact in motion.mechanism.surface_contacts:
        own, mate = contact.surface_of(bodies), contact.other_of(bodies)
        if mate is None or conforms(own, mate):
            continue
        over = surface_contact_motion(motion, contact.name)
        assert over.other is not None
        at = int(over.normal_force.sum(axis=1).argmax())
        near = np.flatnonzero(np.isfinite(over.gap[at]))
        there = scipy.spatial.cKDTree(over.other.point[at]).query(over.point[at, near])[1]
        (a, h), (b, g) = (_sagittas(own, near), _sagittas(mate, there))
        larger = np.maximum(np.abs(a), np.abs(b))
        touching = np.abs(over.gap[at, near]) <= np.abs(h) + np.abs(g)
        alike = touching & (a * b < 0.0) & (np.abs(a + b) <= CLOSE * larger)
        apart = np.where(alike, np.abs(h + g) * larger, 0.0)
        if apart.max(initial=0.0) > COARSE:
            k = int(apart.argmax())
            place = np.round(over.point[at, near[k]], 9)
            yield (
                f"Contact {contact.name!r}: the surfaces {contact.surface!r} of {bodies[contact.body].name!r} and "
                f"{contact.other_surface!r} of {bodies[contact.other].name!r} conform near {place}, with radii of "
                f"{1 / abs(a[k]):.4g} and {1 / abs(b[k]):.4g}, but between nodes their facets stand back from the "
                f"curved surfaces by {abs(h[k]):.3g} and {abs(g[k]):.3g} (length), and the gap is that between facets. "
                f"Expected a difference of at most {COARSE / larger[k]:.3g}, or one that is small beside interference "
                "or clearance. Divide both alike, refine them (the heights fall with the square of the node spacing), "
                "or give the convex and the concave face as surfaces of their own: gaps of surfaces that conform as a "
                "whole are those between the curved surfaces."
            )


def _sagittas(surface: BodySurface, nodes: np.ndarray) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
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
