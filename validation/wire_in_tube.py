"""A heavy wire is pulled out of a tube and pushed back: friction with elastic stick, against the exact partial slip.

A wire of axial stiffness EA and weight w per length lies in a straight tube. Its end is pulled by a force F that is too small to move the whole wire: a part of the length F/r slides, r being the friction per length, and the rest sticks. The end moves by `F^2/(2 r EA)`; when the force falls from F0,
slip begins again at the end and in the other direction, and the end is at `F0^2/(2 r EA) - (F0 - F)^2/(4 r EA)` (Masing's rule). The heat of the first pull is `F0^3/(6 r EA)`. The wire is a mesh of solid cells with a square section of the side b, whose lower edges touch the tube of radius R on both sides of its
bottom: their normals are inclined by `sin(a) = b/(2R)`, so that `r = mu w / cos(a)`. The friction acts below the axis of the wire, so that the force on the last node grows by r b/2, which is 0.1 % of the
displacement with this slender wire. Every node sticks or slips by itself; the elastic coordinates do not resolve the front of the slip, and the residual compliance of the nodes does.

The problem is that of a wire guided by a tube (Meijaard, Euromech 524, 2012), which states no numbers.
"""

import math

import numpy as np

import fem
import flexmb
import reduction
from flexmb.contact import Bore
from validation.plot import Plot
from validation.row import Row

CASE = "wire-in-tube"
LENGTH, SIDE, RADIUS, CELLS = 1.0, 0.005, 0.05, 20
YOUNG, DENSITY, GRAVITY, FRICTION = 1e7, 1000.0, 10.0, 0.3
WEIGHT, STIFFNESS = DENSITY * SIDE**2 * GRAVITY, YOUNG * SIDE**2
HOLD = FRICTION * WEIGHT / math.sqrt(1.0 - (0.5 * SIDE / RADIUS) ** 2)
"""Friction per length."""
PULL, BACK = 0.79 * HOLD * LENGTH, 1.2 * HOLD * LENGTH
"""The force of the pull, and by how much it falls afterwards."""
REST, RAMP, STEP = 0.6, 1.0, 5e-3


def wire() -> flexmb.Body:
    """The reduced wire along x, which is pulled at x = LENGTH."""
    mesh = fem.structured_meshes.block("hexahedron", (LENGTH, SIDE, SIDE), (CELLS, 1, 1))
    part = fem.Model(mesh, fem.Material.isotropic(YOUNG, 0.0, DENSITY))
    part = part.with_interfaces(end=fem.Interface("x1", kind="average")).with_surfaces(below="z0")
    basis = reduction.contact_basis(part, 8)
    return flexmb.flexible_body(part, basis, name="wire", geometric_stiffness="none", modal_damping=0.05)


def pulled() -> flexmb.Result:
    """The wire comes to rest in the tube; its end is pulled, and pushed back."""
    system = flexmb.System(gravity=(0, 0, -GRAVITY), name=CASE)
    own = system.add(wire(), position=(0, -0.5 * SIDE, -math.sqrt(RADIUS**2 - 0.25 * SIDE**2)))
    ramp = flexmb.time_functions.smooth_step
    system.load("pull", own["end"], force=(PULL, 0, 0), factor=ramp(REST, RAMP, 1.0))
    system.load("back", own["end"], force=(-BACK, 0, 0), factor=ramp(REST + RAMP, RAMP, 1.0))
    tube = Bore(RADIUS, 4 * LENGTH).on(system.ground.at((0, 0, 0)), axis=(1, 0, 0))
    system.contact("tube", tube, own.surface("below"), friction=FRICTION)
    return flexmb.simulate(system, REST + 2 * RAMP, step=STEP, output_step=4 * STEP)


def exact(force: np.ndarray, falls: np.ndarray) -> np.ndarray:
    """The displacement of the end for the `force`, where it `falls` after the pull."""
    out = np.where(falls, 0.5 * PULL**2 - 0.25 * (PULL - force) ** 2, 0.5 * force**2)
    return np.asarray(out / (HOLD * STIFFNESS))


def run() -> list[Row | Plot]:
    """Displacement of the end and heat, loading and unloading."""
    result = pulled()
    t, ramp = result.t, flexmb.time_functions.smooth_step
    pull, back = ramp(REST, RAMP, PULL), ramp(REST + RAMP, RAMP, BACK)
    force = np.array([float(pull(x)[0] - back(x)[0]) for x in t])
    first = int(np.searchsorted(t, REST - 1e-9))
    moved = result.position("wire.end")[:, 0]
    moved = moved - moved[first]
    wanted = exact(force, t > REST + RAMP)
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, ours: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, "exact", ours, abs(ours / reference - 1), allowed))

    top = int(np.searchsorted(t, REST + RAMP - 1e-9))
    add("displacement of the end at the largest force", float(wanted[top]), float(moved[top]), 0.01)
    after = abs(float(moved[-1] - wanted[-1])) / float(wanted[top])
    rows.append(Row(CASE, "displacement of the end after the push; error over the largest", float(wanted[-1]), "exact", float(moved[-1]), after, 0.01))  # fmt: skip
    off = float(np.abs(moved - wanted)[first:].max() / wanted[top])
    rows.append(Row(CASE, "largest deviation over the largest displacement", 0.0, "exact", off, off, 0.02))
    heat = result.ledger.damper_heat
    add("heat of friction of the pull", PULL**3 / (6 * HOLD * STIFFNESS), float(heat[top] - heat[first]), 0.02)
    over = result.surface_contact("tube")
    slid = over.friction_force[top] > 0.99 * FRICTION * over.normal_force[top]
    front = LENGTH - float(over.point[top, slid, 0].min())
    rows.append(Row(CASE, "length that slides at the largest force; the nodes are 0.05 apart", PULL / HOLD, "exact", front, abs(front - PULL / HOLD), LENGTH / CELLS))  # fmt: skip
    lines = {"flexmb": (force[first:], 1e6 * moved[first:]), "reference": (force[first:], 1e6 * wanted[first:])}
    rows.append(Plot("Displacement of the end", "force", "displacement (1e-6)", lines))
    return rows
