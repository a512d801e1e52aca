"""Division of a mesh into convex pieces, by the program CoACD.

Source: Wei, Liu, Ling and Su, Approximate convex decomposition for 3D meshes with collision-aware concavity and tree
search, ACM Transactions on Graphics 41 (2022) 42.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from fem.axes.limits import is_whole
from fem.errors import MeshError
from fem.mesh.mesh import Mesh
from flexmb.bodies.shape import Shape
from flexmb.contact.triangle_mesh import TriangleMesh, hull_of_points, mesh
from flexmb.kernels.contact.shapes import MOST_CORNERS

LEAST, MOST = 0.01, 1.0
"""Range of the concavity that CoACD takes."""


def convex_pieces(
    source: Shape | Mesh | TriangleMesh | str | Path,
    *,
    scale: float = 1.0,
    concavity: float = 0.05,
    most: int | None = None,
    corners: int = MOST_CORNERS,
    seed: int = 0,
) -> tuple[TriangleMesh, ...]:
    """Convex meshes that together are about the solid of a source, as of `mesh`: shapes that touch all others.

    - `concavity`: how far a piece may deviate from the solid, relative to half of the longest edge of the box about it,
      from 0.01 (many pieces, close to the solid) to 1.
    - `most`: the largest number of pieces, with which the concavity may be larger.
    - `corners`: the largest number of corners of a piece, as of `hull`.
    - `seed`: of the search; the same seed gives the same pieces.

    The division takes seconds to minutes. A mesh that is convex is its own piece, as is each convex one of several
    solids that do not touch (without `most`). Neighbours touch or overlap slightly.

    Raises `MeshError` as `mesh` and `hull`, when the program is not installed, and when an argument is out of range.
    """
    given = Shape(source.points, source.triangles) if isinstance(source, TriangleMesh) else source
    whole = mesh(given, scale=scale)
    name = source.name if isinstance(source, TriangleMesh) else whole.name
    if isinstance(concavity, bool) or not (isinstance(concavity, int | float) and LEAST <= concavity <= MOST):
        raise MeshError(f"The concavity of convex pieces is from {LEAST} to {MOST:g}; found {concavity!r}.")
    if most is not None and not (is_whole(most) and most >= 1):
        raise MeshError(f"The largest number of convex pieces is an integer of at least 1; found {most!r}.")
    if whole.convex:
        return (hull_of_points(whole.points, corners, name),)
    if most is None and len(solids := _solids(whole)) > 1:
        found: list[TriangleMesh] = []
        edge = np.ptp(whole.points, axis=0).max()
        for solid in solids:
            own = min(concavity * float(edge / np.ptp(solid.points, axis=0).max()), MOST)
            pieces = convex_pieces(solid, concavity=own, corners=corners, seed=seed)
            found += [replace(piece, name=f"{name} {len(found) + i}") for i, piece in enumerate(pieces)]
        return tuple(found)
    try:
        import coacd
    except ImportError as error:
        raise MeshError(
            f"The division of {name!r} into convex pieces needs the program CoACD: pip install "
            f'"flexmb[contact]" ({error}). Without it compose the body of simple shapes, or divide the mesh in the '
            "program that wrote it."
        ) from None
    coacd.set_log_level("error")
    size = 0.5 * float(np.ptp(whole.points, axis=0).max())
    middle = 0.5 * (whole.points.min(axis=0) + whole.points.max(axis=0))
    divided = coacd.run_coacd(
        coacd.Mesh((whole.points - middle) / size, whole.triangles),
        threshold=float(concavity),
        max_convex_hull=-1 if most is None else int(most),
        preprocess_mode="off",
        seed=seed,
    )
    return tuple(
        hull_of_points(np.asarray(points) * size + middle, corners, f"{name} {k}")
        for k, (points, _) in enumerate(divided)
    )


def _solids(whole: TriangleMesh) -> list[Shape]:
    """The solids of a surface that are apart; the whole if one of them is a cavity."""
    points = len(whole.points)
    a, b = whole.triangles[:, [0, 1, 2]].ravel(), whole.triangles[:, [1, 2, 0]].ravel()
    count, part = connected_components(sp.csr_matrix((np.ones(len(a)), (a, b)), shape=(points, points)), directed=False)
    found = []
    for k in range(count):
        own, triangles = np.flatnonzero(part == k), whole.triangles[part[whole.triangles[:, 0]] == k]
        corners = whole.points[triangles] - whole.points[own].mean(axis=0)
        if not np.linalg.det(corners).sum() > 0.0:
            return [Shape(whole.points, whole.triangles)]
        found.append(Shape(whole.points[own], np.searchsorted(own, triangles)))
    return found
