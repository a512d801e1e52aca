"""Shapes of bodies as triangles: for pictures and, where they are closed, for mass, mass centre and inertia.

The integrals over the volume `V` inside a closed surface follow from the divergence theorem: a triangle `(a, b, c)` and
the origin form a tetrahedron with the signed volume `v = a . (b x c) / 6`, and with `s = a + b + c`

    int 1 = v,  int x = v s / 4,  int x x^T = v (a a^T + b b^T + c c^T + s s^T) / 20,

so that the sums over all triangles are exact for the polyhedron: what lies outside of it cancels.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy
import scipy.sparse as sp
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from fem.axes.limits import as_array, floats, is_number
from fem.errors import MeshError
from fem.shown import shown
from flexmb.spatial.lie import rotation_exp

WELDED = 1e-7
"""Distance relative to the size of a surface below which two of its points are one."""
THIN = 1e-9
"""Volume relative to the cube of the size below which a surface encloses nothing."""
PICTURES_ONLY = "give mass and inertia, and the surface for pictures only"
"""What to do with a surface that does not enclose a volume."""


@dataclass(frozen=True, eq=False)
class VolumeIntegrals:
    """Integrals over a volume: `volume`, `first` (3,) of x and `second` (3, 3) of x x^T, in the frame of a shape."""

    volume: float
    first: Float[np.ndarray, "3"]
    second: Float[np.ndarray, "3 3"]

    @property
    def centre(self) -> Float[np.ndarray, "3"]:
        """The centroid (3,)."""
        return self.first / self.volume

    @property
    def inertia(self) -> Float[np.ndarray, "3 3"]:
        """The inertia tensor (3, 3) of the density one about the centroid."""
        central = self.second - np.outer(self.first, self.first) / self.volume
        return np.asarray(np.trace(central) * np.eye(3) - central)

    def __add__(self, other: "VolumeIntegrals") -> "VolumeIntegrals":
        return VolumeIntegrals(self.volume + other.volume, self.first + other.first, self.second + other.second)


@shown
@dataclass(frozen=True, eq=False)
class Shape:
    """The shape of a body in its frame: `points` (n, 3) and `triangles` (nt, 3), seen from outside counter-clockwise.

    `exact`: the integrals over the volume, where they are known better than those of the triangles, as for a cylinder.
    Units: consistent.

    Raises `MeshError` when points are not finite or triangles refer to points that do not exist.
    """

    points: Float[np.ndarray, "n 3"]
    triangles: Int[np.ndarray, "nt 3"]
    exact: VolumeIntegrals | None = None

    def __post_init__(self) -> None:
        points, triangles = floats(self.points), as_array(self.triangles)
        if points.ndim != 2 or points.shape[1:] != (3,) or not np.isfinite(points).all():
            raise MeshError(f"The points of a shape are (n, 3) finite numbers; found an array of shape {points.shape}.")
        if triangles.ndim != 2 or triangles.shape[1:] != (3,) or not len(triangles) or triangles.dtype.kind not in "iu":
            raise MeshError(
                f"The triangles of a shape are (nt, 3) whole numbers, at least one; found {triangles.dtype} of shape "
                f"{triangles.shape}."
            )
        if triangles.min() < 0 or triangles.max() >= len(points):
            wrong = triangles.min() if triangles.min() < 0 else triangles.max()
            raise MeshError(
                f"A triangle of a shape refers to point {wrong}, but points run from 0 to {len(points) - 1}."
            )
        triangles = triangles.astype(np.int64)
        for name, value in (("points", points), ("triangles", triangles)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        low, high = (", ".join(f"{x:.6g}" for x in end) for end in (self.points.min(axis=0), self.points.max(axis=0)))
        return f"shape of {len(self.points)} points and {len(self.triangles)} triangles, box ({low}) to ({high})"

    @property
    def size(self) -> float:
        """Diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def moved(self, shift: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike = (0.0, 0.0, 0.0)) -> "Shape":
        """The shape turned about the origin by the rotation vector `rotation` (3,), then shifted by `shift` (3,)."""
        return self._mapped(rotation_exp(np.asarray(rotation, dtype=float)), np.asarray(shift, dtype=float), 1.0)

    def scaled(self, factor: float) -> "Shape":
        """The shape, larger by `factor`: 0.001 takes millimetres to metres. Raises `MeshError` for factors <= 0."""
        if not (is_number(factor) and factor > 0):
            raise MeshError(f"A shape is scaled by a positive number; found {factor}.")
        return self._mapped(factor * np.eye(3), np.zeros(3), factor**3)

    def _mapped(self, A: np.ndarray, t: np.ndarray, volume: float) -> "Shape":
        exact = self.exact
        if exact is not None:
            first = A @ exact.first
            second = A @ exact.second @ A.T + np.outer(first, t) + np.outer(t, first) + exact.volume * np.outer(t, t)
            exact = VolumeIntegrals(
                volume * exact.volume, volume * (first + exact.volume * t), volume * np.asarray(second)
            )
        return replace(self, points=self.points @ A.T + t, exact=exact)

    def integrals(self, name: str = "shape", *, instead: str = PICTURES_ONLY) -> VolumeIntegrals:
        """The integrals over the volume inside; `name` is that of the shape in messages, `instead` what else to do when
        it has none.

        Raises `MeshError` when the surface is open, its triangles face different sides, it is inside out, or it
        encloses nothing.
        """
        return self.exact if self.exact is not None else _integrals(self.points, self.triangles, name, instead)


def _integrals(points: np.ndarray, triangles: np.ndarray, name: str, instead: str) -> VolumeIntegrals:
    numbers, corners = welded(points, triangles), points[triangles]
    _require_closed(corners.mean(axis=1), numbers, name, instead)
    origin = corners.mean(axis=(0, 1))
    a, b, c = (corners[:, k] - origin for k in range(3))
    s, v = a + b + c, np.einsum("tk,tk->t", a, np.cross(b, c)) / 6
    volume, size = float(v.sum()), float(np.linalg.norm(np.ptp(corners, axis=(0, 1))))
    if abs(volume) <= THIN * size**3:
        raise MeshError(
            f"The surface of {name!r} encloses no volume ({volume:.3g}, size {size:.3g}); that of a solid is expected. "
            f"Give such a surface, or {instead}."
        )
    if volume < 0:
        raise MeshError(
            f"The surface of {name!r} is inside out: the volume inside is {volume:.6g}, expected a positive one. Its "
            "triangles should be counter-clockwise seen from outside; flip the normals in the program that wrote it."
        )
    _require_outward(corners, numbers, v, name)
    first = v @ s / 4
    second = sum(np.einsum("t,ti,tj->ij", v, x, x) for x in (a, b, c, s)) / 20
    second = second + np.outer(first, origin) + np.outer(origin, first) + volume * np.outer(origin, origin)
    return VolumeIntegrals(volume, first + volume * origin, np.asarray(second))


def welded(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The triangles (nt, 3) with one number for points that coincide: some files repeat every corner."""
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    near = scipy.spatial.cKDTree(points).query_pairs(WELDED * size, output_type="ndarray")
    joined = sp.coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(points), len(points)))
    return np.asarray(connected_components(joined, directed=False)[1][triangles], dtype=np.int64)


def _require_closed(points: np.ndarray, welded: np.ndarray, name: str, instead: str) -> None:
    """Raise `MeshError` unless every edge is passed as often in one direction as in the other: then the surface has no
    border, which the divergence theorem needs."""
    ends = np.concatenate([welded[:, [k, (k + 1) % 3]] for k in range(3)])
    corners = np.tile(np.arange(len(welded)), 3)
    proper = ends[:, 0] != ends[:, 1]
    ends, corners = ends[proper], corners[proper]
    edge = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)[1].ravel()
    balance, count = (np.bincount(edge, weights=w) for w in (np.sign(ends[:, 1] - ends[:, 0]), np.ones(len(edge))))
    bad, open_ = balance != 0, count % 2 == 1
    if not bad.any():
        return
    triangle = corners[np.argmax((open_ if open_.any() else bad)[edge])]
    near = np.array2string(points[triangle], precision=6, separator=", ")
    if open_.any():
        raise MeshError(
            f"The surface of {name!r} is open: {open_.sum()} of its edges border a hole, as at the triangle around "
            f"{near}; a closed surface is expected. Close the holes in the program that wrote it, or {instead}."
        )
    raise MeshError(
        f"The triangles of {name!r} face different sides: {bad.sum()} edges separate triangles of opposite "
        f"orientation, as at the triangle around {near}; all should be counter-clockwise seen from outside. Make the "
        "normals consistent in the program that wrote it."
    )


def _require_outward(points: np.ndarray, welded: np.ndarray, v: np.ndarray, name: str) -> None:
    """Raise `MeshError` if a piece of the surface that is inside out is not a cavity of the others.

    A cavity is inside: the solid angles of the other pieces, seen from its points, sum to 4 pi.
    """
    ends, count = (welded[:, [0, 1]].ravel(), welded[:, [1, 2]].ravel()), int(welded.max()) + 1
    links = sp.coo_array((np.ones(2 * len(welded)), ends), shape=(count, count))
    piece = connected_components(links, directed=False)[1][welded[:, 0]]
    volumes = np.bincount(piece, weights=v)
    for k in np.flatnonzero(volumes < 0):
        inside = points[piece == k][0, 0]
        a, b, c = (points[piece != k][:, corner] - inside for corner in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        top = np.einsum("tk,tk->t", a, np.cross(b, c))
        bottom = la * lb * lc + sum(
            np.einsum("tk,tk->t", x, y) * length for x, y, length in ((a, b, lc), (b, c, la), (c, a, lb))
        )
        if np.arctan2(top, bottom).sum() < np.pi / 2:
            near = np.array2string(inside, precision=6, separator=", ")
            raise MeshError(
                f"A piece of the surface of {name!r} near {near} is inside out, but no cavity of another piece: its "
                f"volume is {volumes[k]:.6g}, expected a positive one. Flip its normals in the program that wrote it."
            )
