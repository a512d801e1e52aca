"""Structured meshes of spur gears with involute flanks, or of some teeth of one."""

from dataclasses import dataclass

import numpy as np

import fem


@dataclass(frozen=True)
class Gear:
    """A spur gear about z, from z = 0 to its `width`, with the middle of its teeth at x when they are odd in number.

    - `teeth`: of the whole wheel; `shown`: how many of them the mesh has, all if 0.
    - `module`, `width`, `pressure_angle` (rad): of the reference profile, with addendum 1 and dedendum 1.25 modules.
    - `thinner`: by which a tooth is thinner at the pitch circle than half the pitch, for backlash.
    - `rim`: thickness of the ring below the teeth, in modules.
    - `cells`: along a flank, across a tooth, along a gap (an even number) and across the ring.

    Units: consistent.
    """

    teeth: int
    module: float
    width: float
    shown: int = 0
    pressure_angle: float = np.deg2rad(20.0)
    thinner: float = 0.0
    rim: float = 2.75
    cells: tuple[int, int, int, int] = (20, 8, 4, 4)

    @property
    def pitch_radius(self) -> float:
        """Radius of the pitch circle."""
        return 0.5 * self.module * self.teeth

    @property
    def base_radius(self) -> float:
        """Radius of the base circle of the involutes."""
        return self.pitch_radius * float(np.cos(self.pressure_angle))

    @property
    def pitch(self) -> float:
        """Angle (rad) from tooth to tooth."""
        return 2.0 * np.pi / self.teeth

    def half_angle(self, r: float) -> float:
        """Half the angle (rad) that a tooth takes at the radius `r`; below the base circle its flanks are radial."""
        at = np.arccos(min(self.base_radius / max(r, self.base_radius), 1.0))
        pitched = np.tan(self.pressure_angle) - self.pressure_angle
        return float(0.5 * self.pitch / 2.0 - 0.5 * self.thinner / self.pitch_radius + pitched - np.tan(at) + at)


def mesh_of(gear: Gear) -> fem.Mesh:
    """The mesh of hexahedra of a gear, one cell wide.

    Node sets: "bore", the inside of the ring, and "right" and "left", the flanks on the sides of smaller and larger
    angles about z.
    """
    along, across, gap, ring = gear.cells
    shown, whole = gear.shown or gear.teeth, gear.shown in (0, gear.teeth)
    root, tip = gear.pitch_radius - 1.25 * gear.module, gear.pitch_radius + gear.module
    per, turns = across + gap, []
    for i in range(shown):
        centre, half = (i - 0.5 * (shown - 1)) * gear.pitch, gear.half_angle(root)
        before = np.linspace(centre - 0.5 * gear.pitch, centre - half, gap // 2 + 1)
        below = centre + half * np.linspace(-1.0, 1.0, across + 1)
        turns += [*before[:-1], *below[:-1], *np.linspace(centre + half, centre + 0.5 * gear.pitch, gap // 2 + 1)[:-1]]
    if not whole:
        turns.append(0.5 * shown * gear.pitch)
    columns, places, number = shown * per, [], {}

    def node(key: tuple[int, ...], r: float, angle: float) -> int:
        if key not in number:
            number[key] = len(places)
            places.append((r * np.cos(angle), r * np.sin(angle)))
        return number[key]

    def in_ring(level: int, j: int) -> int:
        j = j % columns if whole else j
        return node((0, level, j), root + (level / ring - 1.0) * gear.rim * gear.module, turns[j])

    def in_tooth(i: int, level: int, j: int) -> int:
        if level == 0:
            return in_ring(ring, i * per + gap // 2 + j)
        r = root + level / along * (tip - root)
        centre = (i - 0.5 * (shown - 1)) * gear.pitch
        return node((1, i, level, j), r, centre + gear.half_angle(r) * (2.0 * j / across - 1.0))

    quads = [
        [in_ring(s, j), in_ring(s + 1, j), in_ring(s + 1, j + 1), in_ring(s, j + 1)]
        for s in range(ring)
        for j in range(columns)
    ]
    quads += [
        [in_tooth(i, s, j), in_tooth(i, s + 1, j), in_tooth(i, s + 1, j + 1), in_tooth(i, s, j + 1)]
        for i in range(shown)
        for s in range(along)
        for j in range(across)
    ]
    sets = {
        "bore": [in_ring(0, j) for j in range(columns + (not whole))],
        "right": [in_tooth(i, s, 0) for i in range(shown) for s in range(along + 1)],
        "left": [in_tooth(i, s, across) for i in range(shown) for s in range(along + 1)],
    }
    flat, count = np.array(places), len(places)
    points = np.vstack([np.column_stack([flat, np.full(count, z)]) for z in (0.0, gear.width)])
    cells = np.array(quads)
    blocks = (fem.CellBlock("hexahedron", np.hstack([cells, cells + count])),)
    both = {name: np.sort(np.concatenate([nodes, np.array(nodes) + count])) for name, nodes in sets.items()}
    return fem.Mesh(points, blocks, node_sets=both, name=f"gear of {gear.teeth} teeth")
