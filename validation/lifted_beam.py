"""A heavy beam is lifted from a table by its end: the lifted length and the force follow from beam theory.

A beam of bending stiffness EI and weight w per length lies on a rigid table. Its end is lifted by d, slowly. The part that leaves the table is a beam whose end on the table has neither slope nor curvature: `EI y'''' = -w` gives the lifted length `(24 EI d / w)^(1/4)`, the force w l/2 at the end, and a
concentrated reaction w l/2 where the beam leaves the table (Meijaard). The contact of the finite element surface has to find this place: the nodes beside it carry the reaction, those behind it the weight. The place wanders over the nodes while the beam is lifted; the static response is exact wherever
it is, by the residual compliance of the surface.
"""

import numpy as np

import fem
import flexmb
import reduction
from flexmb.contact import Plane
from flexmb.linear import equilibrium
from validation.plot import Plot
from validation.row import Row

CASE = "lifted-beam"
LENGTH, WIDTH, HEIGHT, CELLS = 1.0, 0.02, 0.01, 100
YOUNG, GRAVITY = 12.0 / (WIDTH * HEIGHT**3), 10.0
DENSITY = 1.0 / (WIDTH * HEIGHT * GRAVITY)
"""Bending stiffness and weight per length are one."""
LIFT, RISE, REST, STEP = 0.01, 1.0, 1.0, 2e-3


def lifted(d: float) -> float:
    """The lifted length for the lift `d` of the end."""
    return float((24.0 * d) ** 0.25)


def beam() -> flexmb.Body:
    """The reduced beam; x along it, its end at x = 1."""
    mesh = fem.structured_meshes.block("hexahedron", (LENGTH, WIDTH, HEIGHT), (CELLS, 1, 1))
    part = fem.Model(mesh, fem.Material.isotropic(YOUNG, 0.0, DENSITY))
    part = part.with_interfaces(end=fem.Interface("x1", kind="average")).with_surfaces(below="z0")
    basis = reduction.contact_basis(part, 8, frictionless=True)
    return flexmb.flexible_body(part, basis, name="beam", geometric_stiffness="none", modal_damping=0.3)


def _hooked(body: flexmb.Body, hinged: bool = False) -> flexmb.System:
    """The end is lifted by a hook that moves upwards."""
    system = flexmb.System(gravity=(0, 0, -GRAVITY), name=CASE)
    own = system.add(body)
    end = own["end"]
    hook = system.add(flexmb.rigid_body("hook", mass=1e-3, inertia=(1e-6,) * 3), position=end.point)
    system.prismatic("guide", system.ground.at(end.point), hook, axis=(0, 0, 1))
    if hinged:
        system.revolute("eye", hook.at((0, 0, 0)), end, axis=(0, 1, 0))
    else:
        system.spherical("eye", hook.at((0, 0, 0)), end)
    system.drive("guide", flexmb.time_functions.smooth_step(0.0, RISE, LIFT))
    system.contact("table", Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1)), own.surface("below"))
    return system


def lifting(body: flexmb.Body) -> flexmb.Result:
    """The motion of the beam while it is lifted, and until it rests."""
    return flexmb.simulate(_hooked(body), RISE + REST, step=STEP, output_step=0.02)


def force_at_rest(body: flexmb.Body) -> float:
    """The force at the lifted end in the equilibrium; a hinge across the beam holds it against a turn on the table."""
    system = _hooked(body, hinged=True)
    rest = equilibrium(system, RISE).result.surface_contact("table")
    return float(body.invariants.mass * GRAVITY - rest.normal_force.sum())


def run() -> list[Row | Plot]:
    """Lifted length and force at rest, and the place at which the beam leaves the table."""
    body = beam()
    result = lifting(body)
    over = result.surface_contact("table")
    weight = body.invariants.mass * GRAVITY
    force = weight - over.normal_force.sum(axis=1)
    length = lifted(LIFT)
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, ours: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, "exact", ours, abs(ours / reference - 1), allowed))

    add("force at the lifted end", 0.5 * length, float(force[-1]), 5e-3)
    add("force at the lifted end, by the equilibrium alone", 0.5 * length, force_at_rest(body), 1e-3)
    add("lifted length, from the force", length, float(2.0 * force[-1]), 5e-3)
    x = over.point[-1, :, 0]
    place = LENGTH - float(x[over.normal_force[-1] > 0.1 * WIDTH].max())
    add("lifted length, to the last node that carries; the nodes are 0.01 apart", length, place, 0.01 / length)
    reaction = float(over.normal_force[-1][x > LENGTH - length - 0.05].sum()) - (0.05 - 0.5 * LENGTH / CELLS)
    add("concentrated reaction where the beam leaves the table", 0.5 * length, reaction, 0.03)
    moved = np.maximum(result.position("hook")[:, 2] - 0.5 * HEIGHT, 0.0)
    exact = np.array([0.5 * lifted(d) for d in moved])
    lines = {"flexmb": (moved, force), "reference": (moved, exact)}
    rows.append(Plot("Force at the lifted end", "lift of the end", "force", lines))
    return rows
