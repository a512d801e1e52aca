"""A rolling bearing whose outer ring is a mesh that its rollers touch, against the force element with the compliance of the ring.

A shaft is pressed down in a roller bearing without clearance. The outer ring stands on two feet, 60 degrees beside the load, and bends between them: the roller below the load carries less than its neighbours, where in a rigid ring it carries most. The ring is reduced, with 8 shapes for the contact;
rigid rollers, guided along their radii, touch its raceway as a flexible surface, and springs with the law of the inner contact press them from the shaft. Poisson's ratio is zero, so that nothing varies along the rollers and the line contact of Hertz is that of plane strain; the modulus is
E/(1 - nu^2) of steel.

The force element has the compliance of sectors of the raceway, which carry their load evenly. What the depth of a contact with the load F per width and the half width b exceeds the mean displacement of such a sector of the width L is, for both on a half-plane,

    2 F / (pi E) (ln(2 L / b) - 1),   b^2 = 4 F R / (pi E),   1/R = 1/r - 1/R_raceway

With the depth of the inner contact this makes the stiffness of an element, a power of the depth that has the right load at `MATCHED`; at the smallest load it is wrong by 1.6 % at most, which is 0.2 % of the largest load. The ring is no half-plane: a load in the middle of a sector bends it more than an even
one, in proportion to (L/t)^2 with the thickness t. Sectors that divide the raceway have L = 0.87 t; the waves 2, 3 and 4 around the ring lack (n pi / 24)^2 / 3, or 2 to 9 %, of their displacements. Here the loads agree within 2 % of the largest. With sectors of
4.5 mm (L = 0.30 t) below the rollers only, an eighth of this remains, 0.2 %, beside 0.2 % from the power and 0.1 % from the directions of the springs, and the loads agree within 0.5 %. With about half the spacing in all directions (31,096 nodes for 8,400), these deviations of the loads change by 0.12 % of the
largest at most, with the narrow sectors by 0.05 %.

Sources: Johnson, "Contact mechanics", Cambridge University Press, 1985; for the inner contact Harris, "Rolling bearing analysis", Wiley, 1966.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq, fsolve

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import tube
from flexmb.contact import Cylinder
from flexmb.forces import RingCompliance, flexible_ring_bearing, gap_spring, raceway_sectors, ring_compliance
from flexmb.linear import equilibrium
from flexmb.mechanism.attachments import BodyHandle
from validation.plot import Plot
from validation.row import Row

CASE = "meshed-bearing"
YOUNG, DENSITY = 226e9, 7850.0
RACEWAY, OUTSIDE, WIDTH = 0.05, 0.065, 0.01
ROLLERS, ROLLER, SECTORS = 12, 0.008, 24
"""Number of the rollers and their radius; number of sectors that divide the raceway."""
FREE = range(4, 9)
"""Rollers above, which carry nothing; numbers begin below the load."""
FOOT, HALF_FOOT = np.radians(60.0), np.radians(6.0)
"""Angle of the feet from the load, and half of their width."""
FINE, SPACING, GROWING, EQUAL, LAYERS = 1.8e-4, 3e-5, 10, 3, 11
"""Half length of the zone where a roller touches, and the cells there; numbers of other cells."""
NARROW = 2.6e-3
"""Half width of the sectors that do not divide the raceway, up to the next node inside."""
MASS, LOAD, MATCHED = 50.0, 10e3, 2700.0
EXPONENT = 10 / 9
INNER = 6.24e5 * 1e3**EXPONENT
"""Load of an inner contact, 10 mm wide, at a depth to the power `EXPONENT` (Palmgren's law for one contact)."""
DOWN, PITCH = -np.pi / 2, 2 * np.pi / ROLLERS
RAMP, DURATION, STEP = 0.02, 0.03, 2e-4
REACH = RACEWAY - ROLLER - 1e-9
"""Radius on which the axes of the rollers stand before they are loaded, with a gap that is no depth."""


def growing(first: float, length: float, cells: int) -> np.ndarray:
    """Sizes (cells,) that grow from `first` by a constant factor and fill a `length`."""
    powers = np.arange(cells)
    factor = brentq(lambda r: float((first * r**powers).sum()) - length, 0.5, 5.0)
    return np.asarray(first * factor**powers)


def columns() -> np.ndarray:
    """Angles of the columns of nodes around the ring, the first one twice.

    Cells are fine where a loaded roller touches and grow beside it. The others are equal, and one of them has the edge of
    a sector in its middle, so that the areas of the nodes divide as the sectors do.
    """
    equal = 0.25 * PITCH / (EQUAL + 0.5)
    fine = np.full(round(FINE / SPACING), SPACING / RACEWAY)
    beside = growing(SPACING / RACEWAY, 0.25 * PITCH - 0.5 * equal - fine.sum(), GROWING)
    half = np.concatenate([fine, beside, np.full(EQUAL + 1, equal)])
    loaded, free = np.concatenate([half[::-1], half]), np.full(2 * (2 * EQUAL + 1), equal)
    sizes = np.concatenate([free if k in FREE else loaded for k in range(ROLLERS)])
    return np.asarray(DOWN - 0.5 * PITCH + np.concatenate([[0.0], np.cumsum(sizes)]))


def from_load(points: np.ndarray) -> np.ndarray:
    """Angles of points from the direction of the load, between -pi and pi."""
    return np.asarray((np.arctan2(points[:, 1], points[:, 0]) - DOWN + np.pi) % (2 * np.pi) - np.pi)


def from_roller(points: np.ndarray) -> np.ndarray:
    """Lengths along the raceway from points to the nearest roller."""
    return np.asarray(RACEWAY * np.abs((from_load(points) + 0.5 * PITCH) % PITCH - 0.5 * PITCH))


def ring() -> fem.Model:
    """The outer ring on its feet, with the surface "raceway" where the rollers touch."""
    angles, depths = columns(), np.concatenate([[0.0], np.cumsum(growing(SPACING, OUTSIDE - RACEWAY, LAYERS))])
    count = len(angles) - 1
    mesh = tube("hexahedron", (1.0, 2.0), 1.0, (LAYERS, count, 1))
    x, y, z = mesh.points.T
    layer = np.rint((np.hypot(x, y) - 1.0) * LAYERS).astype(int)
    angle = angles[np.rint(np.arctan2(y, x) / (2 * np.pi) * count).astype(int) % count]
    radius = RACEWAY + depths[layer]
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), WIDTH * (z - 0.5)])
    mesh = replace(mesh, points=points, name="outer ring")
    off = from_load(points)
    feet = {name: np.flatnonzero((layer == LAYERS) & (np.abs(off - place) < HALF_FOOT)) for name, place in (("left", -FOOT), ("right", FOOT))}  # fmt: skip
    touched = (from_roller(points) < 1.01 * FINE) & (np.abs(off) < (FREE[0] - 0.5) * PITCH)
    faces = mesh.face_sets["inner"]
    faces = faces[[bool(touched[mesh.face_nodes(*face)].all()) for face in faces]]
    model = fem.Model(mesh, fem.Material.isotropic(YOUNG, 0.0, DENSITY))
    return model.with_interfaces(**feet).with_surfaces(raceway=faces)


def dividing(model: fem.Model) -> RingCompliance:
    """The compliance of sectors that divide the raceway, from a reduced body, as for any bearing."""
    sectors = raceway_sectors(model, "inner", SECTORS, first=DOWN)
    whole = model.with_interfaces(**model.interfaces, **sectors)
    basis = reduction.craig_bampton(whole, modes=0)
    body = flexmb.flexible_body(whole, basis, name="ring of sectors", geometric_stiffness="none")
    return ring_compliance(body, list(sectors), held=("left", "right"))


def narrow(model: fem.Model) -> tuple[RingCompliance, float]:
    """The compliance of narrow sectors below the rollers, solved with the mesh, and their width at loaded rollers."""
    off = from_roller(model.points)
    nodes = np.flatnonzero((np.hypot(*model.points[:, :2].T) < 1.0001 * RACEWAY) & (off < NARROW))
    at_load = nodes[np.abs(from_load(model.points[nodes])) < 0.5 * PITCH]
    made = []
    for k, sector in enumerate(raceway_sectors(model, nodes, ROLLERS, first=DOWN).values()):
        moved = model.with_interfaces(sector=sector).interfaces["sector"].interface_matrix(model).toarray()[:, :3]
        made.append(moved @ direction(k))
    B = np.column_stack(made)
    held = np.concatenate([model.interfaces[name].dofs for name in ("left", "right")])
    kept = np.setdiff1d(np.arange(len(B)), held)
    solution = sp.linalg.splu(sp.csc_matrix(model.K)[kept][:, kept]).solve(B[kept])
    return RingCompliance(B[kept].T @ solution, DOWN), float(2 * off[at_load].max())


def direction(k: int) -> np.ndarray:
    """The outward direction (3,) of a roller."""
    return np.array([np.cos(DOWN + k * PITCH), np.sin(DOWN + k * PITCH), 0.0])


def half_width(load: float) -> float:
    """The half width of the contact of Hertz between a roller with a load and the raceway."""
    return float(np.sqrt(4 * load / WIDTH / (1 / ROLLER - 1 / RACEWAY) / (np.pi * YOUNG)))


def element(sector: float) -> float:
    """The stiffness of an element with both contacts, for sectors of a width."""
    outer = 2 * MATCHED / WIDTH / (np.pi * YOUNG) * (np.log(2 * sector / half_width(MATCHED)) - 1)
    return float(MATCHED / ((MATCHED / INNER) ** (1 / EXPONENT) + outer) ** EXPONENT)


def hung(height: float, factor: flexmb.time_functions.TimeFunction | None = None) -> tuple[flexmb.System, BodyHandle]:
    """The shaft on a vertical guide, drawn at a height, with its load times `factor`."""
    system = flexmb.System(name=CASE)
    shaft = system.add(flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)), position=(0, height, 0))
    system.prismatic("guide", system.ground, shaft, axis=(0, 1, 0), at=(0, 0, 0))
    system.load("load", shaft.at((0, 0, 0)), force=(0, -LOAD, 0), factor=factor)
    return system, shaft


def by_element(stiffness: float, parameters: Mapping[str, float]) -> float:
    """The place of the shaft at rest in the force element."""
    system, shaft = hung(-2e-5)
    law = flexible_ring_bearing(elements=ROLLERS, stiffness=stiffness, exponent=EXPONENT, initial=(DOWN,), **parameters)
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return float(equilibrium(system).state.q[1])


def by_rigid(stiffness: float) -> float:
    """The place of the shaft in a rigid ring."""
    up = np.array([direction(k)[1] for k in range(ROLLERS)])
    return float(brentq(lambda y: -up @ (stiffness * np.maximum(y * up, 0.0) ** EXPONENT) - LOAD, -1e-3, -1e-7))


def carried(place: float, stiffness: float, C: np.ndarray) -> np.ndarray:
    """The loads (12,) of the elements of the force element with the shaft at a place, and the compliance (12, 12)."""
    approach = 1e6 * place * np.array([direction(k)[1] for k in range(ROLLERS)])

    def loads(compression: np.ndarray) -> np.ndarray:  # in um
        return np.asarray(stiffness * np.maximum(1e-6 * compression, 0.0) ** EXPONENT)

    found, _, done, message = fsolve(lambda d: d - approach + 1e6 * C @ loads(d), 0.5 * approach, xtol=1e-13, full_output=True)  # fmt: skip
    if done != 1:
        raise RuntimeError(message)
    return loads(found)


def pressed(model: fem.Model) -> flexmb.Result:
    """The shaft presses the rollers on the meshed raceway, and rests."""
    basis = reduction.contact_basis(model, 8, frictionless=True)
    body = flexmb.flexible_body(model, basis, name="ring", modal_damping=0.7, geometric_stiffness="none")
    system, shaft = hung(0.0, flexmb.time_functions.smooth_step(0.0, RAMP, 1.0))
    system.joint_spring("brake", "guide", damping=2e5)
    outer, inner = system.add(body), gap_spring(INNER, exponent=EXPONENT)
    for foot in ("left", "right"):
        system.fixed(foot, system.ground.at(outer[foot].point), outer[foot])
    for k in loaded():
        place = REACH * direction(k)
        roller = system.add(flexmb.rigid_body(f"roller {k}", mass=0.02, inertia=(1e-6, 1e-6, 1e-6)), position=place)
        system.prismatic(f"cage {k}", system.ground, roller, axis=direction(k), at=place)
        system.joint_spring(f"oil {k}", f"cage {k}", damping=1e3)
        system.spring_damper(f"inner {k}", shaft.at((0, 0, 0)), roller.at((0, 0, 0)), length=REACH, law=inner)
        shape = Cylinder(ROLLER, 2 * WIDTH).on(roller.at((0, 0, 0)), axis=(0, 0, 1))
        system.contact(f"outer {k}", shape, outer.surface("raceway"))
    return flexmb.simulate(system, DURATION, step=STEP, output_step=5 * STEP)


def loaded() -> list[int]:
    """The rollers that may carry a load."""
    return [k for k in range(ROLLERS) if k not in FREE]


def run() -> list[Row | Plot]:
    """Loads of the rollers and place of the shaft on the mesh, against the force element; pressures against Hertz."""
    model = ring()
    result = pressed(model)
    over = {k: result.surface_contact(f"outer {k}") for k in loaded()}
    loads = np.zeros(ROLLERS)
    loads[loaded()] = [film.normal_force[-1].sum() for film in over.values()]
    place = float(result.position("shaft")[-1, 1])
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, kind: str, ours: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, kind, ours, abs(ours / reference - 1), allowed))

    # the springs point to the shaft and not to the axis: up to its place over their length, 6e-4
    add("vertical sum of the loads (N)", LOAD, "exact", float(-sum(loads[k] * direction(k)[1] for k in loaded())), 1e-3)
    whole, (below, width) = dividing(model), narrow(model)
    sector = 2 * np.pi * RACEWAY / SECTORS
    lines = {}
    for name, ring_of, wide, of_place, of_loads in (
        ("sectors that divide the raceway", whole, sector, 0.01, 0.02),
        ("narrow sectors", below, width, 0.002, 0.005),
    ):
        stiffness = element(wide)
        theirs = by_element(stiffness, ring_of.parameters)
        expected = carried(theirs, stiffness, ring_of.at(DOWN + PITCH * np.arange(ROLLERS)))
        add(f"place of the shaft (m), {name}", theirs, "recomputed", place, of_place)
        for k in range(FREE[0]):
            off = float(np.abs(loads - expected)[[k, -k]].max() / expected.max())
            what = f"load at {30 * k} degrees (N), {name}; error over the largest"
            rows.append(Row(CASE, what, float(expected[k]), "recomputed", float(loads[k]), off, of_loads))
        lines[f"reference (force element, {name})"] = expected
    for k in range(FREE[0] - 1):
        highest = 2 * loads[k] / WIDTH / (np.pi * half_width(loads[k]))
        add(f"largest pressure at {30 * k} degrees (Pa)", highest, "exact", float(over[k].pressure[-1].max()), 0.03)

    rigid = element(sector)
    lines["reference (rigid ring)"] = carried(by_rigid(rigid), rigid, np.zeros((ROLLERS, ROLLERS)))
    shown = np.arange(-5, 7)
    curves = {name: (30.0 * shown, values[shown % ROLLERS]) for name, values in {"rollers on the mesh": loads, **lines}.items()}  # fmt: skip
    rows.append(Plot("Loads of the rollers", "angle from the load (deg)", "load (N)", curves))
    films = {}
    for k in (0, 2):
        along = RACEWAY * (from_load(over[k].point[-1]) - k * PITCH)
        at = np.flatnonzero((np.abs(along) < 1.01 * FINE) & (over[k].point[-1, :, 2] > 0))
        at = at[np.argsort(along[at])]
        b, x = half_width(loads[k]), np.linspace(-FINE, FINE, 181)
        exact = 2 * loads[k] / WIDTH / (np.pi * b) * np.sqrt(np.maximum(1 - (x / b) ** 2, 0.0))
        films[f"mesh, {30 * k} degrees"] = (1e3 * along[at], 1e-6 * over[k].pressure[-1, at])
        films[f"reference (Hertz), {30 * k} degrees"] = (1e3 * x, 1e-6 * exact)
    rows.append(Plot("Pressure on the raceway", "length from the roller (mm)", "pressure (MPa)", films))
    return rows
