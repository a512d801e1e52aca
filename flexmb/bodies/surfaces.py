"""Surfaces of bodies where other bodies touch them, with their elastic motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from fem.errors import MatrixError
from fem.model import Model
from flexmb.bodies.invariants import InertiaInvariants, rigid_mass
from reduction.basis import Basis
from reduction.residual import ResidualCompliance, lifted
from reduction.second_order_modes import second_order_at


@dataclass(frozen=True, eq=False)
class BodySurface:
    """A surface of a body: its shape (`fem.Surface`) and the motion of its nodes.

    - `nodes` (n,): numbers of the nodes in the mesh; `triangles` (nt, 3): places in `nodes`, normals outwards.
    - `points`, `normals` (n, 3): undeformed positions and unit normals in the body frame; `areas` (n,), `curvatures`
      (n, 2), `spacing` (n,) as in `fem.Surface`.
    - `rows` (n, 3, m): displacements, in body axes, per unit of each elastic coordinate.
    - `pairs` (p, 2), `second` (n, 3, p): displacements of second order for pairs (i, j), i <= j, of elastic
      coordinates: `sum_p weight_p second_p eta_i eta_j`, weight 1/2 for i = j and 1 otherwise.
    - `places` (n,): the places of the nodes among those of the body's `compliance`.
    - `halves` (nq, 2): as in `fem.Surface`.
    - `lacking` (n, 3, 12): the static displacements, in body axes, that the elastic coordinates lack under forces of
      unit accelerations `e_b` and `X_a e_b` (`reduction.error.truncated_statics`); None where they are not known.

    Raises `MatrixError` when an array is not finite or does not fit the number of nodes.
    """

    nodes: Int[np.ndarray, " n"]
    points: Float[np.ndarray, "n 3"]
    triangles: Int[np.ndarray, "nt 3"]
    areas: Float[np.ndarray, " n"]
    normals: Float[np.ndarray, "n 3"]
    curvatures: Float[np.ndarray, "n 2"]
    spacing: Float[np.ndarray, " n"]
    rows: Float[np.ndarray, "n 3 m"]
    pairs: Int[np.ndarray, "p 2"]
    second: Float[np.ndarray, "n 3 p"]
    places: Int[np.ndarray, " n"]
    halves: Int[np.ndarray, "nq 2"] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    lacking: Float[np.ndarray, "n 3 12"] | None = None

    def __post_init__(self) -> None:
        n, m, p = len(self.nodes), np.shape(self.rows)[-1], len(self.pairs)
        shapes = {"points": (n, 3), "areas": (n,), "normals": (n, 3), "curvatures": (n, 2), "spacing": (n,)}
        shapes |= {"rows": (n, 3, m), "second": (n, 3, p)}
        if self.lacking is not None:
            shapes["lacking"] = (n, 3, 12)
        for name, shape in shapes.items():
            value = np.ascontiguousarray(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise MatrixError(
                    f"A surface of {n} nodes: {name} should be {shape} finite numbers; found {value.shape}."
                )
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def displacements(self, eta: Float[np.ndarray, " m"]) -> Float[np.ndarray, "n 3"]:
        """Displacements of the nodes, in body axes, for elastic coordinates `eta`, without the residual ones."""
        i, j = self.pairs.T
        return self.rows @ eta + self.second @ (np.where(i == j, 0.5, 1.0) * eta[i] * eta[j])

    def jacobian(self, eta: Float[np.ndarray, " m"]) -> Float[np.ndarray, "n 3 m"]:
        """Derivatives of `displacements`."""
        i, j = self.pairs.T
        weight = np.zeros((len(self.pairs), len(eta)))
        np.add.at(weight, (np.arange(len(i)), i), np.where(i == j, 0.5, 1.0) * eta[j])
        np.add.at(weight, (np.arange(len(i)), j), np.where(i == j, 0.5, 1.0) * eta[i])
        return np.asarray(self.rows + self.second @ weight)


def body_surfaces(
    model: Model,
    basis: Basis,
    nodes: Int[np.ndarray, " k"],
    truncated: Float[np.ndarray, "ndof 12"] | None,
    second_order: bool,
) -> dict[str, BodySurface]:
    """The surfaces of a reduced `model`, whose nodes all together are `nodes`, with or without the second order;
    `truncated`: the displacements that `basis` lacks under forces of unit accelerations, if they are known."""
    shapes = model.displacements(np.asarray(basis.Psi))
    lacking = None if truncated is None else model.displacements(truncated)
    pairs, second = np.zeros((0, 2), dtype=np.int64), np.zeros((len(nodes), 3, 0))
    if second_order and len(nodes):
        pairs, second = second_order_at(model, basis, nodes)
    found = {}
    for name, s in model.surfaces.items():
        places = np.searchsorted(nodes, s.nodes)
        shape = (s.nodes, s.points, s.triangles, s.areas, s.normals, s.curvatures, s.spacing)
        lost = None if lacking is None else lacking[s.nodes]
        found[name] = BodySurface(*shape, shapes[s.nodes], pairs, second[places], places, s.halves, lost)
    return found


def without_shapes(surface: BodySurface) -> BodySurface:
    """The surface of the rigid body."""
    return replace(surface, rows=surface.rows[..., :0], pairs=surface.pairs[:0], second=surface.second[..., :0])


def transformed_surface(
    surface: BodySurface, T: Float[np.ndarray, "m k"], pairs: np.ndarray, weight: np.ndarray
) -> BodySurface:
    """The surface in other elastic coordinates z, `eta = T z`; `weight` (p, q) combines the second-order shapes to
    those of the new `pairs` (q, 2)."""
    return replace(surface, rows=surface.rows @ T, pairs=pairs, second=surface.second @ weight)


def confined_compliance(
    compliance: ResidualCompliance,
    surfaces: Mapping[str, BodySurface],
    invariants: InertiaInvariants,
    stiffness: Float[np.ndarray, " m"],
    T: Float[np.ndarray, "m k"],
    name: str,
) -> ResidualCompliance:
    """The residual compliance of a body that is confined to `eta = T z`: it takes over the static response of the
    shapes that are lost, so that statics stays exact."""
    B = mean_axis_rows(compliance, surfaces, invariants)
    before, kept = (B / stiffness) @ B.T, B @ T
    after = kept @ np.linalg.solve(T.T @ (stiffness[:, None] * T), kept.T)
    scale = float((np.diag(compliance.matrix) + np.diag(before)).max())
    return lifted(compliance.nodes, compliance.matrix + (before - after), scale, name)


def mean_axis_rows(
    compliance: ResidualCompliance, surfaces: Mapping[str, BodySurface], invariants: InertiaInvariants
) -> np.ndarray:
    """Rows (3 nc, m) of all surface nodes, less the rigid motion that the shapes carry."""
    inv = invariants
    rows, points = np.zeros((len(compliance.nodes), 3, inv.modes)), np.zeros((len(compliance.nodes), 3))
    for surface in surfaces.values():
        rows[surface.places], points[surface.places] = surface.rows, surface.points
    carried = np.linalg.solve(rigid_mass(inv.mass, inv.s0, inv.J0), np.vstack([inv.S1, inv.h0]))
    turned = np.cross(carried[3:].T[None], points[:, None]).swapaxes(1, 2)  # omega x X
    return (rows - carried[:3] - turned).reshape(-1, inv.modes)
