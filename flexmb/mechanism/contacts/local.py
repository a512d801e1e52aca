"""Local contact of a sphere with a flexible surface, whose contact radius is below the spacing of the nodes.

A force at a point of the surface displaces it by the compliance of the half-space, which is infinite at a point, and
by that of the rest of the body, which is regular. The nodes of a mesh have both, but the first one as the mesh
resolves it: like `1/h`. At a distance r of two or more node spacings, the mesh is right, and

    c(r) = g(r) - (1 - nu^2) / (pi E r)

is the regular part, with the static response g of the finite element model (basis and residual compliance together)
along the normals. A polynomial through it gives its value c at each node. Hertz's approach replaces the rest: of the
static compliance G of the nodes of a face, `G - c` is taken out (flexmb/kernels/contact/local.py).
"""

import warnings
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from fem.mesh.mesh import Mesh, label_of
from flexmb.bodies.body import Body
from flexmb.bodies.surfaces import BodySurface, mean_axis_rows
from flexmb.contact.local import LocalHertz, elliptic_factor
from flexmb.errors import LawRangeWarning, MechanismError

NEAR, FAR = 1.9, 4.3
"""Distances, in node spacings, between which the regular part of the compliance is fitted."""
PARALLEL = 0.9
"""Cosine of the angle between the normals of two nodes of the fit, at least."""
DEGREES = ((30, 4), (12, 2))
"""Numbers of nodes from which on the polynomial has a degree."""
LOCAL_ROOM = 4
"""Nodes that share a force."""
MESH = (1.0, 40.0)
"""Range of the compliance that the mesh has at a node beyond the regular part, over that of the half-space at the
distance of one node spacing: 5 to 15, the latter near edges, if the material is that of the body."""


class _Contact(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[float, ...]: ...


def node_stiffness(
    local: LocalHertz, surface: BodySurface, contact: _Contact, mesh: Mesh | None = None
) -> Float[np.ndarray, " n"]:
    """Hertz's stiffness at each node of a surface, for the sphere of a `contact`; `mesh`: that of the body, whose file
    numbers the nodes.

    Raises `MechanismError` when the surface is hollow with a smaller radius than the sphere."""
    curvatures = 1.0 / contact.shape[1] + surface.curvatures
    if not curvatures.min() > 0.0:
        k = int(curvatures.min(axis=1).argmin())
        raise MechanismError(
            f"Contact {contact.name!r}: the sphere of radius {contact.shape[1]:.6g} does not fit into the hollow of "
            f"the surface at node {label_of(mesh, int(surface.nodes[k]))}, of radius "
            f"{-1.0 / surface.curvatures[k].min():.6g}."
        )
    least, most = curvatures.min(axis=1), curvatures.max(axis=1)
    factors = np.array([elliptic_factor(float(x)) for x in np.round(least / most, 9)])
    return np.asarray(4.0 / 3.0 * local.modulus * (least * most) ** -0.25 * factors)


def excess_compliance(
    name: str, local: LocalHertz, body: Body, surface: BodySurface, facets: Int[np.ndarray, "nf 4"]
) -> Float[np.ndarray, "nf 4 4"]:
    """The static compliance (nf, 4, 4) of the nodes of `facets` along their normals, less the regular part.

    Warns with `LawRangeWarning` when the nodes do not have about the compliance of this material.
    Raises `MechanismError` when no node has enough others about it.
    """
    compliance = body.compliance
    assert compliance is not None
    B = mean_axis_rows(compliance, {"own": surface}, body.invariants).reshape(-1, 3, body.modes)[surface.places]
    C = compliance.matrix.reshape(len(compliance.nodes), 3, len(compliance.nodes), 3)[surface.places]
    C = C[:, :, surface.places]
    rows = np.einsum("ki,kim->km", surface.normals, B)
    G = (
        np.einsum("ki,kija,ja->kj", surface.normals, C, surface.normals, optimize=True)
        + (rows / body.stiffness) @ rows.T
    )
    regular, match = _regular(local, surface, G)
    if not np.isfinite(regular).any():
        raise MechanismError(
            f"Contact {name!r}: no node of the surface has {DEGREES[-1][0]} others at distances of {NEAR:g} to {FAR:g} "
            "node spacings, from which local contact takes the compliance of the body. Refine the mesh, or enlarge the "
            "surface."
        )
    if not MESH[0] < match < MESH[1]:
        warnings.warn(
            f"Contact {name!r}: the compliance of the nodes of {body.name!r} is {match:.3g} times that of a half-space "
            f"with young = {local.young:.6g} and poisson = {local.poisson:g} at a node spacing; expected about 6. Give "
            "the material that the body has at its surface.",
            LawRangeWarning,
            stacklevel=2,
        )
    known = np.flatnonzero(np.isfinite(regular))
    near = np.linalg.norm(surface.points[:, None] - surface.points[known], axis=2).argmin(axis=1)
    regular = np.where(np.isfinite(regular), regular, regular[known][near])
    found = np.zeros((len(facets), 4, 4))
    for i in range(4):
        for j in range(4):
            both = (facets[:, i] >= 0) & (facets[:, j] >= 0)
            a, b = facets[both, i], facets[both, j]
            found[both, i, j] = G[a, b] - 0.5 * (regular[a] + regular[b])
    return found


def _regular(local: LocalHertz, surface: BodySurface, G: np.ndarray) -> tuple[Float[np.ndarray, " n"], float]:
    """The regular part of the compliance at each node, NaN where too few nodes are about it, and the median of the rest
    over the compliance of the half-space at a node spacing."""
    regular = np.full(len(surface.nodes), np.nan)
    for k, n in enumerate(surface.normals):
        apart = surface.points - surface.points[k]
        r, h = np.linalg.norm(apart, axis=1), surface.spacing[k]
        near = np.flatnonzero((r > NEAR * h) & (r < FAR * h) & (surface.normals @ n > PARALLEL))
        degree = next((degree for least, degree in DEGREES if len(near) >= least), None)
        if degree is None:
            continue
        across = np.linalg.svd(n[None])[2][1:]
        x, y = (apart[near] @ across.T / h).T
        terms = np.array([x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)]).T
        values = G[k, near] - local.half_space() / r[near]
        fitted = np.linalg.lstsq(terms, values, rcond=None)[0]
        regular[k] = fitted[0]
    shares = (np.diag(G) - regular) * surface.spacing / local.half_space()
    return regular, float(np.nanmedian(shares)) if np.isfinite(regular).any() else np.nan
