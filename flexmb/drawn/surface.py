"""The surfaces of bodies in motion: the rows of the shapes at their vertices, in single precision.

The displacements of a surface are one product, `shapes @ weights`: the weights are the elastic coordinates and, for the
second-order shapes, their products.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Float32, Int

from fem.elements import LINES
from fem.matrices.stress import von_mises
from fem.mesh.skin import shell_triangles, skin_triangles, split_at_sharp_edges
from fem.model import Model
from flexmb.bodies.body import Body
from flexmb.drawn.contact_shapes import drawn_shapes, shapes_in
from flexmb.drawn.simple_shapes import SIDES, SLENDER, Triangles, box, shape_of_inertia, together, tube
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import Mechanism
from flexmb.spatial.lie import rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of a body, in its frame.

    - `points` (v, 3), undeformed; `triangles` (nt, 3), seen from outside counter-clockwise.
    - `node` (v,): the node of the mesh whose displacement a vertex takes; -1 on sections of beams, and where the body
      has no mesh.
    - `shapes` (3 v, k): displacements of the vertices for unit weights.
    - `pairs` (p, 2): the elastic coordinates whose products are the last p weights.
    - `stress_rows` (6 v, m): stresses for unit elastic coordinates, zero where they are not known; None for a body
      without stresses.
    - `clear`: a box of inertia that may be where other bodies are, so that these are seen through it.
    """

    name: str
    points: Float[np.ndarray, "v 3"]
    triangles: Int[np.ndarray, "nt 3"]
    node: Int[np.ndarray, "v"]
    shapes: Float32[np.ndarray, "n k"]
    pairs: Int[np.ndarray, "p 2"]
    stress_rows: Float32[np.ndarray, "s m"] | None = None
    clear: bool = False

    def part(self, chosen: Bool[np.ndarray, "v"]) -> "Surface":
        """The part whose vertices are `chosen` (v,): triangles all of whose vertices are."""
        place = np.cumsum(chosen) - 1
        rows = None if self.stress_rows is None else self.stress_rows[np.repeat(chosen, 6)]
        inside = chosen[self.triangles].all(axis=1)
        return Surface(
            self.name, self.points[chosen], place[self.triangles[inside]], self.node[chosen],
            self.shapes[np.repeat(chosen, 3)], self.pairs, rows,
        )  # fmt: skip

    @property
    def shape_names(self) -> tuple[str, ...]:
        """What each shape is: "mode 1", ..., and "modes 1 x 2", ... for those of second order."""
        modes = self.shapes.shape[1] - len(self.pairs)
        return (*(f"mode {k + 1}" for k in range(modes)), *(f"modes {i + 1} x {j + 1}" for i, j in self.pairs))

    def weights(self, eta: Float[np.ndarray, "*n m"]) -> Float[np.ndarray, "*n k"]:
        """Weights (..., k) of the shapes for elastic coordinates `eta` (..., m)."""
        i, j = self.pairs.T
        return np.concatenate([eta, np.where(i == j, 0.5, 1.0) * eta[..., i] * eta[..., j]], axis=-1)

    def displacements(self, eta: Float[np.ndarray, "m"]) -> Float32[np.ndarray, "v 3"]:
        """Elastic displacements (v, 3) of the vertices for elastic coordinates `eta` (m,)."""
        return (self.shapes @ self.weights(eta).astype(np.float32)).reshape(-1, 3)

    def stress(self, eta: Float[np.ndarray, "m"]) -> Float32[np.ndarray, "v"]:
        """Von Mises stress (v,) at the vertices; zero for a body without stresses."""
        if self.stress_rows is None:
            return np.zeros(len(self.points), dtype=np.float32)
        return von_mises((self.stress_rows @ eta.astype(np.float32)).reshape(-1, 6))

    def normals_at(self, points: Float[np.ndarray, "v 3"]) -> Float[np.ndarray, "v 3"]:
        """Unit normals (v, 3) of the surface with its vertices at `points` (v, 3)."""
        a, b = (points[self.triangles[:, k]] - points[self.triangles[:, 0]] for k in (1, 2))
        area = self._area_normals[2] @ np.cross(a, b)
        return np.asarray(area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), np.finfo(np.float32).tiny))

    @cached_property
    def closed(self) -> bool:
        """Whether the triangles enclose volumes that they face from outside: nobody outside sees the back of one."""
        return faces_outwards(self.points, self.triangles)

    @property
    def normals(self) -> Float[np.ndarray, "v 3"]:
        """Unit normals (v, 3) of the undeformed surface: the mean of the triangles of a vertex, by area."""
        return self._area_normals[0]

    def normal_shape(self, shape: int) -> Float[np.ndarray, "v 3"]:
        """First-order change (v, 3) of the normals for a unit weight of a shape."""
        unit, size, gather = self._area_normals
        a, b = (self.points[self.triangles[:, k]] - self.points[self.triangles[:, 0]] for k in (1, 2))
        u = self.shapes[:, shape].reshape(-1, 3).astype(float)
        da, db = (u[self.triangles[:, k]] - u[self.triangles[:, 0]] for k in (1, 2))
        change = gather @ (np.cross(da, b) + np.cross(a, db)) / size
        return np.asarray(change - unit * np.einsum("vk,vk->v", unit, change)[:, None])

    @cached_property
    def _area_normals(self) -> tuple[np.ndarray, np.ndarray, sp.csr_array]:
        """Unit normals, the lengths of the sums of area vectors (v, 1), and the matrix that sums over triangles."""
        count = len(self.triangles)
        gather = sp.csr_array(
            (np.ones(3 * count), (self.triangles.ravel(), np.repeat(np.arange(count), 3))),
            shape=(len(self.points), count),
        )
        a, b = (self.points[self.triangles[:, k]] - self.points[self.triangles[:, 0]] for k in (1, 2))
        area = gather @ np.cross(a, b)
        size = np.linalg.norm(area, axis=1, keepdims=True)
        flat = size[:, 0] <= 1e-12 * size.max(initial=0.0)
        area[flat], size[flat] = [0.0, 0.0, 1.0], 1.0
        return area / size, size, gather


def faces_outwards(points: Float[np.ndarray, "v 3"], triangles: Int[np.ndarray, "nt 3"]) -> bool:
    """Whether triangles form closed surfaces, each edge between two of them that run along it in opposite directions,
    and each surface encloses a positive volume. Vertices at the same place are one; a surface that closes a cavity
    encloses a negative volume."""
    if not len(triangles):
        return False
    place = np.unique(points, axis=0, return_inverse=True)[1].ravel()
    corners = place[triangles]
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    ahead, back = np.sort(start * len(points) + end), np.sort(end * len(points) + start)
    if not np.array_equal(ahead, back) or (ahead[1:] == ahead[:-1]).any():
        return False
    joined = sp.csr_array((np.ones(len(start)), (start, end)), shape=(len(points), len(points)))
    piece = sp.csgraph.connected_components(joined, directed=False)[1][corners[:, 0]]
    a, b, c = np.moveaxis(points[triangles] - points[triangles[0, 0]], 1, 0)
    return bool((np.bincount(piece, np.einsum("tk,tk->t", a, np.cross(b, c)))[np.unique(piece)] > 0).all())


def body_surface(body: Body, markers: Sequence[Float[np.ndarray, "3"]] = ()) -> Surface:
    """The shape of a body, or else the skin of its mesh and its beams with their sections; a body without either is the
    box of its inertia, with a bar to each of its `markers` outside of that box."""
    if body.shape is not None:
        return _rigid_surface(body, body.shape.points, body.shape.triangles)
    if body.mesh is None:
        return _rigid_surface(body, *shape_of_inertia(body, markers))
    mesh, m = body.mesh, body.modes
    triangles = skin_triangles(mesh)
    if body.beams is None:  # shells without thickness, as a body that is rigid from the start has them
        triangles = np.concatenate([triangles, shell_triangles(mesh)])
    nodes, numbered = np.unique(triangles, return_inverse=True)
    parts, follows, tubes = [(mesh.points[nodes], numbered.reshape(-1, 3))], [nodes], []
    if body.beams is not None:
        tubes = [(body.beams.points, body.beams.triangles)]
        follows.append(np.full(len(body.beams.points), -1))
    else:  # lines without sections, as a body that is rigid from the start has them
        for block in mesh.cells:
            for start, end in block.connectivity[:, :2] if block.kind in LINES else ():
                tubes.append(tube(mesh.points[start], mesh.points[end], SLENDER / 2 * mesh.size))
                follows.append(np.repeat([start, end], SIDES))
    points, triangles = together([*parts, *tubes])
    node = np.concatenate(follows)
    triangles, origin = split_at_sharp_edges(points, triangles)
    none = np.zeros((0, 2), dtype=np.int64)
    if body.Psi is None or not body.is_flexible:
        shapes = np.zeros((3 * len(origin), 0), dtype=np.float32)
        return Surface(body.name, points[origin], triangles, node[origin], shapes, none)
    fields = [_at_vertices(body, node, body.Psi.reshape(-1, 3, m), None if body.beams is None else body.beams.shapes)]
    pairs = none if body.quadratic is None else body.quadratic.pairs
    if body.quadratic is not None:
        fields.append(_at_vertices(body, node, body.quadratic.shapes, None))
    shapes = np.concatenate(fields, axis=2)[origin].reshape(3 * len(origin), -1)
    rows = _stress_rows(body, node)
    rows = None if rows is None else rows[origin].reshape(-1, m)
    return Surface(body.name, points[origin], triangles, node[origin], shapes.astype(np.float32), pairs, rows)


def model_surface(
    model: Model, U: Float[np.ndarray, "ndof k"]
) -> tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "nt 3"], Float[np.ndarray, "v 3 k"]]:
    """Points, triangles and displacements of the surface of a part under the fields `U`: the skin of its solids, shells
    with their thickness and beams with their sections. A model made from matrices has points alone."""
    nodal, k = model.displacements(U), U.shape[1]
    if model.mesh is None:
        return model.points, np.zeros((0, 3), dtype=np.int64), nodal
    nodes, numbered = np.unique(skin_triangles(model.mesh), return_inverse=True)
    parts, moved = [(model.points[nodes], numbered.reshape(-1, 3))], [nodal[nodes]]
    for part in model.beam_surfaces(U):
        parts.append((part.points, part.triangles))
        moved.append(part.displacements)
    for block in model.mesh.cells:  # of rods
        for start, end in block.connectivity[:, :2] if block.kind == "truss" else ():
            parts.append(tube(model.points[start], model.points[end], SLENDER / 2 * model.mesh.size))
            moved.append(np.repeat(nodal[[start, end]], SIDES, axis=0))
    points, triangles = together(parts)
    return points, triangles, np.concatenate(moved).reshape(len(points), 3, k)


def _rigid_surface(body: Body, points: np.ndarray, triangles: np.ndarray) -> Surface:
    triangles, origin = split_at_sharp_edges(points, triangles)
    shapes, pairs = np.zeros((3 * len(origin), 0), dtype=np.float32), np.zeros((0, 2), dtype=np.int64)
    return Surface(body.name, points[origin], triangles, np.full(len(origin), -1), shapes, pairs)


def _at_vertices(body: Body, node: np.ndarray, nodal: np.ndarray, of_beams: np.ndarray | None) -> np.ndarray:
    """Displacements (v, 3, k) at the vertices, from those of the nodes; at beams `of_beams` (3 b, k), or without them
    the displacements of the nodes, linearly between both ends."""
    found = np.array(nodal[node], dtype=np.float32)
    if body.beams is not None and of_beams is not None:
        found[-len(body.beams.points) :] = of_beams.reshape(-1, 3, of_beams.shape[1])
    elif body.beams is not None:
        start, end = nodal[body.beams.nodes[:, 0]], nodal[body.beams.nodes[:, 1]]
        found[-len(body.beams.points) :] = start + body.beams.along[:, None, None] * (end - start)
    return found


def _stress_rows(body: Body, node: np.ndarray) -> np.ndarray | None:
    """Stresses (v, 6, m) at the vertices for unit elastic coordinates, zero where they are not known."""
    known = np.zeros(0, dtype=bool) if body.stress is None else body.stress.nodes >= 0
    if not known.any() and body.beams is None:
        return None
    rows = np.zeros((len(node), 6, body.modes), dtype=np.float32)
    if body.stress is not None and known.any():
        place = np.full(max(node.max(), body.stress.nodes.max()) + 1, -1)
        own, first = np.unique(body.stress.nodes[known], return_index=True)  # between materials that of the stiffest
        place[own] = np.flatnonzero(known)[first]
        found = np.where(node >= 0, place[node], -1)
        rows[found >= 0] = body.stress.rows[found[found >= 0]]
    if body.beams is not None:
        rows[-len(body.beams.points) :] = body.beams.rows.reshape(-1, 6, body.modes)
    return rows


def surfaces_of(mechanism: Mechanism) -> tuple[Surface, ...]:
    """The surfaces of all bodies of a mechanism, in their order. A body without shape and mesh has those of its
    contacts, if there are any. Boxes of inertia beside other surfaces are clear."""
    touching = drawn_shapes(mechanism)
    boxes = [k for k, b in enumerate(mechanism.bodies) if b.shape is None and b.mesh is None and k not in touching]
    found = []
    for k, body in enumerate(mechanism.bodies):
        if k in boxes or body.shape is not None or body.mesh is not None:
            surface = body_surface(body, [m.point for m in mechanism.markers if m.body == k])
        else:
            surface = _rigid_surface(body, *together(touching[k]))
        found.append(replace(surface, clear=k in boxes and len(boxes) < len(mechanism.bodies)))
    return tuple(found)


def ground_shape(mechanism: Mechanism) -> Triangles | None:
    """An axle at each marker of the ground about which a joint turns, a rail at one along which it slides, the shapes
    of contacts, and a small cube at the other markers, in world axes; None without such markers."""
    edge = 0.04 * mechanism.length
    bars: dict[int, np.ndarray] = {}
    for joint in mechanism.joints:
        free = JOINTS[joint.kind].free_axes if joint.kind in JOINTS else ()
        half = {(5,): 2 * edge, (2,): 10 * edge, (2, 5): 10 * edge}.get(free)
        if half is not None:
            bars |= {k: half * mechanism.markers[k].axes[:, 2] for k in joint.markers}
    parts: dict[tuple[float, ...], Triangles] = {}
    touching = {k for k, _ in shapes_in(mechanism)}
    for k, marker in enumerate(mechanism.markers):
        if marker.body == GROUND and k not in touching:
            at, place = marker.point, tuple(np.round(marker.point, 9))
            bar = tube(at - bars[k], at + bars[k], edge / 2) if k in bars else None
            parts[place] = bar or parts.get(place) or box(at, np.full(3, edge), np.eye(3))
    every = [*parts.values(), *drawn_shapes(mechanism).get(GROUND, [])]
    return together(every) if every else None


def world_points(
    mechanism: Mechanism, body: int, surface: Surface, q: Float[np.ndarray, "nq"], magnification: float = 1.0
) -> Float32[np.ndarray, "v 3"]:
    """Vertices (v, 3) of the surface of body number `body` in world axes at the configuration `q` (nq,), the
    deformation drawn `magnification` times larger."""
    start = int(compiled(mechanism).q_start[body])
    local = surface.points
    if surface.shapes.shape[1]:
        eta = q[start + 7 : start + 7 + mechanism.bodies[body].modes]
        local = local + magnification * surface.displacements(eta)
    rotation = rotation_from_quaternion(q[start + 3 : start + 7])
    return (q[start : start + 3] + local @ rotation.T).astype(np.float32)
