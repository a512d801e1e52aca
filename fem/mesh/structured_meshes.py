"""Structured meshes of boxes and tubes, in every element kind, and of spur gears: for first steps and tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.elements import LINE, SHELLS, element
from fem.errors import MeshError
from fem.mesh.check import merge_nodes
from fem.mesh.mesh import CellBlock, Mesh


def block(kind: str, size: tuple[float, float, float], divisions: tuple[int, int, int]) -> Mesh:
    """A box from the origin to `size` with `divisions` cubes along x, y, z, filled with cells of `kind`.

    A cube is one hexahedron, two wedges, six tetrahedra or six pyramids (about its middle). Face sets "x0", "x1", "y0",
    "y1", "z0", "z1" and the cell set "all". Units: the user's.

    Raises `MeshError` when a size or a number of divisions is not positive.
    """
    if min(divisions) < 1 or not min(size) > 0:
        raise MeshError(
            f"A block needs positive sizes and at least one division each way; found size {size}, divisions "
            f"{divisions}."
        )
    cube = element(kind).cube
    if not cube:
        raise MeshError(f"Elements of the kind {kind!r} do not say how they fill a cube.")
    nx, ny, nz = divisions
    axes = [np.linspace(0, s, d + 1) for s, d in zip(size, divisions, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(points)).reshape(nx + 1, ny + 1, nz + 1)
    offsets = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    cubes = np.stack([number[i : nx + i, j : ny + j, k : nz + k].ravel() for i, j, k in offsets], axis=1)
    if max(map(max, cube)) == 8:
        middles = points[cubes].mean(axis=1)
        cubes = np.column_stack([cubes, len(points) + np.arange(len(cubes))])
        points = np.vstack([points, middles])
    cells = np.concatenate([cubes[:, list(corners)] for corners in cube])
    if element(kind).edges:
        points, cells = _add_mid_nodes(points, cells, kind)
    mesh = Mesh(points, (CellBlock(kind, cells),), name=f"block of {kind}")
    return Mesh(
        mesh.points, mesh.cells, cell_sets={"all": np.arange(len(cells))}, face_sets=_sides(mesh, size), name=mesh.name
    )


def _add_mid_nodes(points: np.ndarray, cells: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A node in the middle of every edge."""
    ends = np.stack([np.sort(cells[:, [a, b]], axis=1) for a, b, _ in element(kind).edges], axis=1)
    edges, inverse = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    middle = len(points) + inverse.reshape(len(cells), -1)
    return np.vstack([points, points[edges].mean(axis=1)]), np.column_stack([cells, middle])


def _sides(mesh: Mesh, size: tuple[float, float, float]) -> dict[str, np.ndarray]:
    faces = mesh.boundary_faces
    corners = mesh.corner_keys(faces)
    sides = {}
    for axis, letter in enumerate("xyz"):
        for end, position in enumerate((0.0, size[axis])):
            there = np.abs(mesh.points[corners, axis] - position) < 1e-9 * size[axis]
            sides[f"{letter}{end}"] = faces[(there | (corners < 0)).all(axis=1)]
    return sides


def line(start: Sequence[float], end: Sequence[float], divisions: int, kind: str = LINE) -> Mesh:
    """Cells for a straight beam (`kind` "line"), or for rods ("truss"), with node sets "start" and "end" and the cell
    set "all".

    Raises `MeshError` when the ends coincide, or there is no division.
    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    if a.shape != (3,) or b.shape != (3,) or not np.linalg.norm(b - a) > 0 or divisions < 1:
        raise MeshError(f"A line needs two different points and a division; found {start}, {end}, {divisions}.")
    points = a + np.linspace(0.0, 1.0, divisions + 1)[:, None] * (b - a)
    cells = np.column_stack([np.arange(divisions), np.arange(1, divisions + 1)])
    ends = {"start": np.array([0]), "end": np.array([divisions])}
    sets = {"all": np.arange(divisions)}
    return Mesh(points, (CellBlock(kind, cells),), node_sets=ends, cell_sets=sets, name="line")


_NINE = ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1), (1, 1))
"""Places of the nodes of a quadrilateral of nine nodes on the grid of all nodes; two triangles share its diagonal."""


def sheet(kind: str, size: tuple[float, float], divisions: tuple[int, int]) -> Mesh:
    """A rectangle in the plane z = 0 of cells for shells, "quad", "quad8", "quad9", "triangle" or "triangle6", with
    normals along z.

    Node sets "x0", "x1", "y0", "y1" and the cell set "all". Units: the user's.

    Raises `MeshError` for another kind of cell, or without divisions.
    """
    if kind not in SHELLS or min(divisions) < 1 or not min(size) > 0:
        raise MeshError(
            f"A sheet has {' or '.join(map(repr, SHELLS))} cells, two lengths and divisions; found {kind!r}, {size}, "
            f"{divisions}."
        )
    quadratic = len(SHELLS[kind].edges) > 0
    n, m = (2 * d for d in divisions) if quadratic else divisions
    x, y = (k.ravel() for k in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    number = np.arange((n + 1) * (m + 1)).reshape(n + 1, m + 1)
    corners = (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    cells = np.stack(corners, axis=-1).reshape(-1, 4)
    if quadratic:
        own = [number[a::2, b::2][: n // 2, : m // 2] for a, b in _NINE]
        cells = np.stack(own, axis=-1).reshape(-1, 9)
    if SHELLS[kind].corners == 3:
        halves = ([0, 1, 2], [0, 2, 3]) if not quadratic else ([0, 1, 2, 4, 5, 8], [0, 2, 3, 8, 6, 7])
        cells = np.stack([cells[:, half] for half in halves], axis=1).reshape(-1, len(halves[0]))
    if kind == "quad8":
        cells = cells[:, :8]
        kept, cells = np.unique(cells, return_inverse=True)
        x, y, cells = x[kept], y[kept], cells.reshape(-1, 8)
    points = np.column_stack([size[0] * x / n, size[1] * y / m, 0 * x])
    ends = {"x0": x == 0, "x1": x == n, "y0": y == 0, "y1": y == m}
    sets = {name: np.flatnonzero(there) for name, there in ends.items()}
    every = {"all": np.arange(len(cells))}
    return Mesh(points, (CellBlock(kind, cells),), node_sets=sets, cell_sets=every, name=f"sheet of {kind}")


def tube(kind: str, radii: tuple[float, float], length: float, divisions: tuple[int, int, int]) -> Mesh:
    """A tube along z from z = 0, between two `radii`, with `divisions` radially, around and along.

    Face sets "inner", "outer", "z0", "z1" and the cell set "all". Nodes of quadratic cells lie on the cylinders. Units:
    the user's.

    Raises `MeshError` when the radii do not rise from 0, or there are fewer than three divisions around.
    """
    inner, outer = radii
    if not 0 < inner < outer or divisions[1] < 3:
        raise MeshError(
            f"A tube needs 0 < inner < outer radius and three divisions around; found radii {radii}, divisions "
            f"{divisions}."
        )
    flat = block(kind, (outer - inner, 2 * np.pi, length), divisions)
    r, angle, z = flat.points.T
    points = np.column_stack([(inner + r) * np.cos(angle), (inner + r) * np.sin(angle), z])
    names = {"inner": "x0", "outer": "x1", "z0": "z0", "z1": "z1"}
    faces = {new: flat.face_sets[old] for new, old in names.items()}
    return merge_nodes(Mesh(points, flat.cells, cell_sets=flat.cell_sets, face_sets=faces, name=f"tube of {kind}"))


@dataclass(frozen=True)
class SpurGear:
    """The teeth of a spur gear: involute flanks, and fillets as a rack with rounded tips cuts them.

    - `teeth`: their number; `module`, `width`: lengths.
    - `pressure_angle` (rad): of the flank of the rack.
    - `addendum`, `dedendum`, `fillet`: height above and depth below the pitch circle, and radius of the tips of the
      rack, in modules.
    - `thinning`: length by which a tooth at the pitch circle is thinner than half the pitch, for backlash.
    - `relief`: length, along the circle, by which each flank lies behind the involute at the tip; a parabola begins
      `relief_height` modules below the tip, so that teeth do not meet with their corners under load.

    Units: the user's.

    Raises `MeshError` when a dimension is not positive, the rack would undercut the involutes (few teeth), its tips
    have no room for their radius, or the teeth end in points below their tips.

    Source: Litvin and Fuentes, "Gear geometry and applied theory", Cambridge University Press, 2004.
    """

    teeth: int
    module: float
    width: float
    pressure_angle: float = math.radians(20.0)
    addendum: float = 1.0
    dedendum: float = 1.25
    fillet: float = 0.38
    thinning: float = 0.0
    relief: float = 0.0
    relief_height: float = 0.5

    def __post_init__(self) -> None:
        sizes = (self.teeth, self.module, self.width, self.addendum, self.dedendum, self.fillet, self.relief_height)
        angled = 0 < self.pressure_angle < 0.5 * math.pi
        removed = 0 <= self.thinning < np.inf and 0 <= self.relief < np.inf
        if not (min(sizes) > 0 and self.fillet < self.dedendum and angled and removed):
            raise MeshError(
                "A spur gear needs positive teeth, module, width, addendum, dedendum, fillet and height of the relief, "
                "a fillet below the dedendum, a pressure angle between 0 and pi/2 (rad), thinning and relief >= 0; "
                f"found {self}."
            )
        sine, m = math.sin(self.pressure_angle), self.module
        reach = self.dedendum - self.fillet * (1.0 - sine)
        if reach > 0.5 * self.teeth * sine**2:
            least = math.ceil(2.0 * reach / sine**2)
            raise MeshError(
                f"The rack would undercut the flanks of {self.teeth} teeth; with this pressure angle, dedendum and "
                f"fillet a gear has at least {least} teeth."
            )
        excess = self._rack[1] / m - 0.5 * math.pi
        if excess > 1e-12:
            most = self.fillet - excess * math.cos(self.pressure_angle) / (1.0 - sine)
            raise MeshError(
                f"A fillet of {self.fillet:g} modules has no room at the tip of the rack; take at most {most:.6g}."
            )
        if self.half_angle(self.tip_radius) <= 0:
            raise MeshError(
                f"Teeth with an addendum of {self.addendum:g} modules and a thinning of {self.thinning:g} end in "
                "points below their tips; take less."
            )

    @property
    def pitch_radius(self) -> float:
        """Radius of the pitch circle."""
        return 0.5 * self.module * self.teeth

    @property
    def base_radius(self) -> float:
        """Radius of the base circle, of which the flanks are involutes."""
        return self.pitch_radius * math.cos(self.pressure_angle)

    @property
    def tip_radius(self) -> float:
        """Radius of the tips of the teeth."""
        return self.pitch_radius + self.addendum * self.module

    @property
    def root_radius(self) -> float:
        """Radius of the circle between the fillets."""
        return self.pitch_radius - self.dedendum * self.module

    @property
    def pitch(self) -> float:
        """Angle (rad) from tooth to tooth."""
        return 2.0 * math.pi / self.teeth

    def half_angle(self, radius: float) -> float:
        """Half of the angle (rad) that the flanks of a tooth include at a radius of at least the base radius."""
        roll = math.sqrt(max((radius / self.base_radius) ** 2 - 1.0, 0.0))
        involute = math.tan(self.pressure_angle) - self.pressure_angle - roll + math.atan(roll)
        height = self.relief_height * self.module
        relieved = self.relief * max(1.0 - (self.tip_radius - radius) / height, 0.0) ** 2 / radius
        return 0.25 * self.pitch - 0.5 * self.thinning / self.pitch_radius + involute - relieved

    @property
    def _rack(self) -> tuple[float, float]:
        """Depth of the centre of the rounding of the rack below the pitch line, and distance from the middle of the
        tooth."""
        depth, m = (self.dedendum - self.fillet) * self.module, self.module
        half = 0.25 * math.pi * m - 0.5 * self.thinning
        return depth, half + depth * math.tan(self.pressure_angle) + self.fillet * m / math.cos(self.pressure_angle)

    def fillet_points(self, at: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Radii and angles (rad) from the middle of the tooth, (n,) each, of the fillet between the root circle, `at` =
        0, and the involute, `at` = 1.

        The rack has rolled until the centre of its rounding is at `(r - depth, y)` with the pitch point at `(r, 0)`,
        the centre of the gear being the origin; the normal of what it cuts passes through the pitch point.
        """
        depth, middle = self._rack
        y = -depth / math.tan(self.pressure_angle) * np.asarray(at)
        far = np.hypot(depth, y)
        part = 1.0 + self.fillet * self.module / far
        across, along = y * part, self.pitch_radius - depth * part
        turned = (y - middle) / self.pitch_radius
        return np.hypot(along, across), np.arctan2(across, along) - turned


def spur_gear(gear: SpurGear, divisions: tuple[int, int, int, int, int], rim: float, shown: int | None = None) -> Mesh:
    """The mesh of hexahedra of a spur gear about z, from z = 0 to its width; the middle of the first tooth is at x.

    - `divisions`: faces along a flank, along a fillet (even), across a tooth, across the rim and along the width.
    - `rim`: thickness below the teeth, in modules.
    - `shown`: number of teeth of a part of the gear, with as many on both sides of the first (odd); all without it.

    Face sets "bore", "right" and "left", the involute flanks on the sides of smaller and of larger angles, "right 0",
    "right 1", "right -1", ... those of each tooth, likewise "left 0", "z0" and "z1", and the cell set "all". Faces
    along a flank are equally long.

    Raises `MeshError` for other divisions, a rim that is not between zero and the centre, and other numbers of teeth.
    """
    flank, fillet, across, ring, along = divisions
    count = gear.teeth if shown is None else shown
    inner = gear.root_radius - rim * gear.module
    if min(divisions) < 1 or fillet % 2:
        raise MeshError(
            f"A gear needs at least one division each way and an even number along fillets; found {divisions}."
        )
    if not 0 < inner < gear.root_radius:
        raise MeshError(
            f"The rim of {rim:g} modules ends at the radius {inner:g}; the circle below the teeth has "
            f"{gear.root_radius:g}."
        )
    if not (1 <= count <= gear.teeth and (count % 2 or count == gear.teeth)):
        raise MeshError(f"Of {gear.teeth} teeth, an odd number is shown, or all; found {shown}.")
    places, nodes, first = _gear_patches(gear, (flank, fillet, across, ring), inner)
    quads: list[np.ndarray] = []
    flat: list[np.ndarray] = []
    sets: dict[str, list[int]] = {"bore": []}
    for tooth in range(-(count // 2), count - count // 2):
        offset = len(flat) * len(places)
        r, angle = places[:, 0], places[:, 1] + tooth * gear.pitch
        flat.append(np.column_stack([r * np.cos(angle), r * np.sin(angle)]))
        quads.append(offset + nodes)
        sets |= {f"{side} {tooth}": (offset + first[side]).tolist() for side in ("right", "left")}
        sets["bore"] += (offset + first["bore"]).tolist()
    x, quad = np.concatenate(flat), np.concatenate(quads)
    levels = gear.width * np.arange(along + 1) / along
    points = np.concatenate([np.column_stack([x, np.full(len(x), z)]) for z in levels])
    cells = np.concatenate([np.hstack([quad + k * len(x), quad + (k + 1) * len(x)]) for k in range(along)])
    through = {key: np.concatenate([np.array(own) + k * len(x) for k in range(along + 1)]) for key, own in sets.items()}
    through |= {f"z{end}": np.arange(len(x)) + end * along * len(x) for end in (0, 1)}
    name = f"gear of {gear.teeth} teeth"
    mesh = merge_nodes(Mesh(points, (CellBlock("hexahedron", cells),), node_sets=through, name=name))
    faces = _faces_of(mesh)
    for side in ("right", "left"):
        faces[side] = np.concatenate([own for key, own in faces.items() if key.startswith(side)])
    return Mesh(mesh.points, mesh.cells, cell_sets={"all": np.arange(len(cells))}, face_sets=faces, name=name)


def _gear_patches(
    gear: SpurGear, divisions: tuple[int, int, int, int], inner: float
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Radii and angles (n, 2) of the nodes of one tooth with the ring below it, its quadrilaterals (nq, 4), and the
    nodes of its sides and of the bore.

    Four patches meet in the middle of each fillet: the tooth, the ring below it, and the ring below the gaps. So no
    cell has the angle of 180 degrees that the tangent fillet would make with the root circle.
    """
    flank, fillet, across, ring = divisions
    at = _equally_spaced(gear, fillet)
    r, angle = gear.fillet_points(at)
    lowest = math.sqrt(r[-1] ** 2 / gear.base_radius**2 - 1.0)
    highest = math.sqrt(gear.tip_radius**2 / gear.base_radius**2 - 1.0)
    rolls = np.sqrt(np.linspace(lowest**2, highest**2, flank + 1))  # the arc of an involute grows with the square
    up = gear.base_radius * np.hypot(1.0, rolls)
    half = fillet // 2
    side = np.concatenate([r[half:-1], up]), np.concatenate([angle[half:-1], [gear.half_angle(x) for x in up]])
    land = max(0.5 * gear.pitch - angle[0], 0.0) * gear.root_radius
    steps = int(np.ceil(land * fillet / np.hypot(*np.diff(_flat(r, angle), axis=0).T).sum() - 1e-9))
    gap = (
        np.concatenate([r[half::-1], np.full(steps, gear.root_radius)]),
        np.concatenate(
            [angle[half::-1], angle[0] + (0.5 * gear.pitch - angle[0]) * np.arange(1, steps + 1) / max(steps, 1)]
        ),
    )
    middle, down = np.linspace(-1.0, 1.0, across + 1), np.linspace(0.0, 1.0, ring + 1)[:, None]
    below = side[0][0], side[1][0] * middle
    patches = [
        (np.repeat(side[0][:, None], across + 1, axis=1), side[1][:, None] * middle),
        (inner + down * (below[0] - inner) * np.ones_like(middle), np.ones_like(down) * below[1]),
    ]
    bottom = np.linspace(gap[1][0], 0.5 * gear.pitch, len(gap[1]))
    ringed = inner + down * (gap[0] - inner), bottom + down * (gap[1] - bottom)
    patches += [ringed, (ringed[0][:, ::-1], -ringed[1][:, ::-1])]
    places: list[np.ndarray] = []
    quads, grids, total = [], [], 0
    for radii, angles in patches:
        grid = total + np.arange(radii.size).reshape(radii.shape)
        total += radii.size
        places.append(np.column_stack([radii.ravel(), angles.ravel()]))
        quads.append(np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1).reshape(-1, 4))
        grids.append(grid)
    ends = grids[0][-flank - 1 :]
    sets = {
        "right": ends[:, 0],
        "left": ends[:, -1],
        "bore": np.concatenate([grid[0] for grid in grids[1:]]),
    }
    return np.concatenate(places), np.concatenate(quads), sets


def _flat(r: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)])


def _equally_spaced(gear: SpurGear, count: int) -> np.ndarray:
    """Parameters (count + 1,) of places of the fillet with equal distances along it."""
    at = np.linspace(0.0, 1.0, 1001)
    lengths = np.hypot(*np.diff(_flat(*gear.fillet_points(at)), axis=0).T)
    reached = np.concatenate([[0.0], np.cumsum(lengths)])
    return np.interp(np.linspace(0.0, reached[-1], count + 1), reached, at)


def _faces_of(mesh: Mesh) -> dict[str, np.ndarray]:
    """The boundary faces all of whose corners are in each node set of a mesh."""
    faces, found = mesh.boundary_faces, {}
    corners = mesh.corner_keys(faces)
    for name, nodes in mesh.node_sets.items():
        found[name] = faces[(np.isin(corners, nodes) | (corners < 0)).all(axis=1)]
    return found
