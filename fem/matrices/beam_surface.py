"""The surface of beams: their sections drawn along them, with displacements and stresses of fields.

The sections turn rigidly with the beam: a point y of a section moves by `u(x) + theta(x) x y`, with the displacements
and rotations of the beam's own interpolation. Stresses are those of the internal forces: bending moments and normal
force, which vary linearly along a beam, and torque and shear forces, which do not vary. Between fibres, the shear
stress of torsion is drawn linearly.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fem.beam import Section
from fem.matrices.beam_matrices import Beams
from fem.matrices.stress import fibre_stresses

POINTS = 24
"""Least number of points around a section: the stress between two of them is drawn linearly."""
RINGS = 40
"""Least number of sections that are drawn of a group of beams."""
STRAIGHT = 0.02
"""Angle (radians) between two beams up to which one continues the other."""
CHUNK = 256
"""Number of beams whose fields are evaluated at a time."""


@dataclass(frozen=True, eq=False)
class BeamSurface:
    """The surface of beams, undeformed, and what fields do there, in the axes of the mesh.

    - `points` (v, 3) and `triangles` (nt, 3), seen from outside counter-clockwise.
    - `nodes` (v, 2): the nodes at the ends of the beam of a vertex; `along` (v,): its place from 0 to 1 between them.
    - `displacements` (v, 3, k) and `stresses` (v, 6, k; xx, yy, zz, xy, yz, zx) of k fields, in single precision.
    """

    points: Float[np.ndarray, "v 3"]
    triangles: Int[np.ndarray, "nt 3"]
    nodes: Int[np.ndarray, "v 2"]
    along: Float[np.ndarray, "v"]
    displacements: Float[np.ndarray, "v 3 k"]
    stresses: Float[np.ndarray, "v 6 k"]


def beam_surface(
    beams: Beams, ends: Float[np.ndarray, "e 2 3"], nodes: Int[np.ndarray, "e 2"], fields: Float[np.ndarray, "e d k"]
) -> BeamSurface:
    """The surface of `beams` between the points `ends` of their `nodes`, for the values of `fields` at their dofs."""
    outline, cap = _refined(beams.beam.section), _cap(np.array(beams.beam.section.outline))
    places = np.linspace(0.0, 1.0, max(2, 1 + -(-RINGS // len(ends))))
    at_places = [
        _group(beams, outline, places, ends[first : first + CHUNK], fields[first : first + CHUNK])
        for first in range(0, len(ends), CHUNK)
    ]
    x, u, stress = (np.concatenate(parts) for parts in zip(*at_places, strict=True))
    e, q, p = x.shape[:3]
    sides, caps = _tube(p - 1, q, cap)
    first = (np.arange(e) * q * p)[:, None, None]
    open_ends = [cap + first[chosen] for cap, chosen in zip(caps, _ends_seen(ends, nodes), strict=True)]
    triangles = np.concatenate([part.reshape(-1, 3) for part in (sides + first, *open_ends)])
    along = np.broadcast_to(places[:, None], (e, q, p)).ravel()
    flat = [A.reshape(e * q * p, *A.shape[3:]) for A in (x, u, stress)]
    return BeamSurface(flat[0], triangles, np.repeat(nodes, q * p, axis=0), along, flat[1], flat[2])


def _group(
    beams: Beams, outline: np.ndarray, places: np.ndarray, ends: np.ndarray, fields: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (e, q, p, 3), displacements (e, q, p, 3, k) and stresses (e, q, p, 6, k) around the sections at `places`
    (q,); the last of the p points is the centroid."""
    section = beams.beam.section
    warping, sheared = (
        _between(np.array(values)).tolist() if section.fibres == section.outline and values else []
        for values in (section.fibre_warping, section.fibre_shear)
    )
    section = replace(
        section,
        fibres=(*map(tuple, outline.tolist()), (0.0, 0.0)),
        fibre_warping=(*warping, 0.0) if warping else (),
        fibre_shear=(*map(tuple, sheared), (0.0, 0.0)) if sheared else (),
    )
    here = type(beams).of(replace(beams.beam, section=section), ends, (places, np.ones(len(places))))
    x, stress = fibre_stresses(here, fields)
    arms = np.column_stack([np.zeros(len(section.fibres)), here.beam.placed_section.fibres])
    u, theta = (np.einsum("eqia,eak->eqik", A, fields, optimize=True) for A in (here.u, here.theta))
    local = u[:, :, None] + np.cross(theta[:, :, None], arms[:, :, None], axisa=3, axisb=1, axisc=3)
    moved = np.einsum("eai,eqpak->eqpik", here.axes, local, optimize=True)
    shape = (len(arms), len(ends), len(places))
    x, stress = (np.moveaxis(A.reshape(*shape, *A.shape[1:]), 0, 2) for A in (x, stress))
    return x, moved.astype(np.float32), stress.astype(np.float32)


def _refined(section: Section) -> np.ndarray:
    """The outline (p, 2) of a section with at least `POINTS` points, evenly on its sides."""
    return _between(np.array(section.outline))


def _between(corners: Float[np.ndarray, "c *k"]) -> Float[np.ndarray, "p *k"]:
    """Values at the corners of a section and at points evenly between them."""
    pieces = -(-POINTS // max(len(corners), 1))
    steps = (np.arange(pieces) / pieces).reshape(-1, *(1,) * (corners.ndim - 1))
    sides = np.roll(corners, -1, axis=0) - corners
    return np.asarray((corners[:, None] + steps * sides[:, None]).reshape(-1, *corners.shape[1:]))


def _ends_seen(ends: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether the start and the end of each beam (e,) are seen: not where one beam continues another."""
    along = ends[:, 1] - ends[:, 0]
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    place = np.unique(nodes, return_inverse=True)[1].reshape(-1, 2)
    count, leaving = np.zeros(place.max() + 1), np.zeros((place.max() + 1, 3))
    for side, sign in ((0, 1.0), (1, -1.0)):
        np.add.at(count, place[:, side], 1.0)
        np.add.at(leaving, place[:, side], sign * along)
    continued = (count == 2) & (np.linalg.norm(leaving, axis=1) < STRAIGHT)
    return ~continued[place[:, 0]], ~continued[place[:, 1]]


def _cap(corners: np.ndarray) -> np.ndarray | None:
    """Triangles (t, 3) of the corners of a section that is not convex, by cutting ears off; None for convex ones."""

    def turns(a: int, b: int, c: int) -> float:
        (ay, az), (by, bz), (cy, cz) = corners[[a, b, c]].tolist()
        return float((by - ay) * (cz - az) - (bz - az) * (cy - ay))

    n = len(corners)
    small = 1e-9 * float(np.ptp(corners, axis=0).max()) ** 2
    if all(turns(k, (k + 1) % n, (k + 2) % n) > -small for k in range(n)):
        return None
    left, found = list(range(n)), []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = [v for v in left if v not in (a, b, c)]
            if turns(a, b, c) > small and not any(
                turns(a, b, v) > -small and turns(b, c, v) > -small and turns(c, a, v) > -small for v in others
            ):
                break
        else:
            k = 0  # a section that crosses itself: its picture is as good as can be
        found.append((left[k - 1], left[k], left[(k + 1) % len(left)]))
        del left[k]
    return np.array([*found, tuple(left)])


def _tube(p: int, q: int, cap: np.ndarray | None) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The triangles of a tube of q rings of p points, each with its centre after it: sides, and the caps at both
    ends, of the corners of the section by `cap`, or around the centre."""
    k, after, size = np.arange(p), (np.arange(p) + 1) % p, p + 1
    sides = []
    for ring in range(q - 1):
        a, b = ring * size, (ring + 1) * size
        sides += [np.column_stack([a + k, a + after, b + after]), np.column_stack([a + k, b + after, b + k])]
    last = (q - 1) * size
    if cap is not None:
        end = cap * (p // (int(cap.max()) + 1))
        return np.concatenate(sides), (end[:, ::-1], end + last)
    start = np.column_stack([np.full(p, p), after, k])
    return np.concatenate(sides), (start, np.column_stack([np.full(p, last + p), last + k, last + after]))
