"""Beams and shells beside their nodes, against the same ones on nodes that lie in them."""

from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, line, sheet
from flexmb.linear import linearise, steady_motion

ALLOY = fem.Material.isotropic(7e10, 0.33, 2700.0)
SECTION = fem.Section(2e-3, 3e-7, 4e-6, 9e-7, angle=20.0, shear_centre=(0.01, 0.02))
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))


def at_speed(model, axis, speed=60.0, modes=8):
    """Frequencies of the part that turns about the middle of its end."""
    root = fem.Interface("start" if model.mesh.kinds.keys() == {"line"} else "x0", point=(0.0, 0.25, 0.0))
    model = model.with_interfaces(**model.interfaces | {"root": root})
    basis = reduction.craig_bampton(model, modes=modes, reference_frame="root")
    system = flexmb.System()
    body = system.add(flexmb.flexible_body(model, basis, name="part"))
    system.revolute("hub", system.ground.at((0.0, 0.25, 0.0)), body["root"], axis=axis)
    system.drive("hub", flexmb.time_functions.constant_speed(speed))
    return linearise(steady_motion(system)).modes().frequencies[:4]


def pair(kind, offset):
    """A part beside its nodes, and the same one on nodes that are moved."""
    if kind == "line":
        mesh, arm = line((0, 0.25, 0), (3.0, 0.25, 0), 6), (0.0, *offset)
        parts = [fem.Beam(ALLOY, SECTION, y_axis=(0, 1, 0), offset=c) for c in (offset, (0.0, 0.0))]
    else:
        mesh, arm = sheet(kind, (1.0, 0.5), (4, 2)), (0.0, 0.0, offset[0])
        parts = [fem.Shell(ALLOY, 0.01, offset=c, drilling=1e-6) for c in (offset[0], 0.0)]
    return fem.Model(mesh, parts[0]), fem.Model(replace(mesh, points=mesh.points + arm), parts[1])


@pytest.mark.parametrize(
    ("kind", "axis", "tolerance"), [("line", 0, 1e-8), ("line", 1, 1e-8), ("quad", 1, 1e-6), ("quad8", 1, 1e-5)]
)
def test_an_offset_is_a_shift_also_at_speed(kind, axis, tolerance):
    """What is left of shells is their drilling stiffness, against the surface of the nodes."""
    beside, moved = (at_speed(model, AXES[axis]) for model in pair(kind, (0.06, -0.04)))
    np.testing.assert_allclose(beside, moved, rtol=tolerance)


def test_tables_of_one_section_turn_as_its_beams():
    """Tables move mass centres along the line of the nodes, beams with their ends: they meet as cells become small."""
    E, G, s, offset = 7e10, 7e10 / 2.66, replace(SECTION, angle=0.0, shear_centre=(0.0, 0.0)), (0.06, -0.04)
    K = fem.beam_stiffness(
        E * s.area, (s.shear_y * G * s.area, s.shear_z * G * s.area), G * s.J, (E * s.Iy, E * s.Iz), offset, offset
    )
    M = fem.beam_mass(2700 * s.area, (2700 * s.Iy, 2700 * s.Iz), offset)
    table = fem.BeamTable([0.0, 3.0], np.array([K] * 2), np.array([M] * 2), y_axis=(0, 1, 0))
    mesh = line((0, 0.25, 0), (3.0, 0.25, 0), 24)
    beam = fem.Model(mesh, fem.Beam(ALLOY, s, y_axis=(0, 1, 0), offset=offset))
    tables = fem.Model(mesh, table)
    np.testing.assert_allclose(at_speed(tables, AXES[0]), at_speed(beam, AXES[0]), rtol=2e-4)


@pytest.mark.parametrize("kind", ["rigid", "average"])
def test_point_masses_turn_as_bodies_welded_there(kind):
    """Rotors and arms with lumps beside the points of their interfaces; the body turns exactly, and its deflection at
    speed is small."""
    mesh = block("hexahedron20", (1.0, 0.05, 0.08), (3, 1, 1))
    tip = fem.Interface("x1", kind=kind, point=(1.03, 0.01, 0.06))
    bar = fem.Model(mesh, ALLOY).with_interfaces(root="x0", tip=tip)
    lump = fem.PointMass(2.0, np.diag([0.03, 0.02, 0.04]) + 0.004, (0.05, -0.1, 0.02))
    heavy = bar.with_point_masses({"tip": lump})
    basis = reduction.craig_bampton(bar, modes=4, reference_frame="root")
    centre = np.array(tip.point) + lump.offset
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        frequencies = []
        for model in (heavy, bar):
            system = flexmb.System()
            own = reduction.reanalyse(basis, model, "root")
            body = system.add(flexmb.flexible_body(model, own, name="bar"))
            system.revolute("hub", system.ground.at((0.0, 0.025, 0.04)), body["root"], axis=axis)
            system.drive("hub", flexmb.time_functions.constant_speed(5.0))
            if model is bar:
                disc = flexmb.rigid_body("disc", mass=2.0, inertia=lump.inertia)
                system.fixed("weld", body["tip"], system.add(disc, position=centre).at(np.array(tip.point) - centre))
            frequencies.append(linearise(steady_motion(system)).modes().frequencies[:5])
        np.testing.assert_allclose(*frequencies, rtol=1e-5)


LUMPED = {
    "beam": lambda: (fem.Model(line((0, 0.25, 0), (1.0, 0.25, 0), 8), fem.Beam(ALLOY, SECTION)), "start", [8]),
    "beams": lambda: (fem.Model(line((0, 0.25, 0), (1.0, 0.25, 0), 8), fem.Beam(ALLOY, SECTION)), "start", [6, 7, 8]),
    "shell": lambda: (fem.Model(sheet("quad", (1.0, 0.5), (8, 2)), fem.Shell(ALLOY, 0.02)), "x0", "x1"),
    "link": lambda: (linked_block(), "x0", [linked_block().dof_map.rotation_nodes[0]]),
}


def linked_block():
    """Solids, and a node that moves with one of their ends as a rigid body."""
    mesh = block("hexahedron20", (1.0, 0.05, 0.08), (3, 1, 1))
    n = len(mesh.points)
    mesh = replace(mesh, points=np.vstack([mesh.points, [[1.0, 0.025, 0.04]]]))
    return fem.Model(replace(mesh, constraints=(fem.RigidLink(mesh.nodes("x1"), n),)), ALLOY)


@pytest.mark.parametrize("kind", ["rigid", "average"])
@pytest.mark.parametrize("part", LUMPED)
def test_point_masses_at_nodes_that_turn_are_bodies_welded_there(part, kind):
    """About the line of a lump that lies on it, its inertia alone acts, and nothing bends: the frequencies agree to
    rounding. Beside the line and across it the body bends under its own speed, of which terms of second order differ.
    """
    model, root, nodes = LUMPED[part]()
    if kind == "average" and np.size(nodes) == 3:
        pytest.skip("the line of the nodes says nothing about the turn around it")
    place = np.array([1.0, 0.025, 0.04] if part == "link" else [1.0, 0.25, 0.0])
    tip, start = fem.Interface(nodes, kind=kind, point=place), place * [0, 1, 1]
    bar = model.with_interfaces(root=fem.Interface(root, point=start), tip=tip)
    basis = reduction.craig_bampton(bar, modes=4, reference_frame="root")
    for offset, axis, tolerance in (((0, 0, 0), (1.0, 0, 0), 1e-8), ((0.05, -0.1, 0.02), (0, 1.0, 0), 4e-5)):
        lump = fem.PointMass(2.0, np.diag([0.03, 0.02, 0.04]), offset)
        heavy = bar.with_point_masses({"tip": lump})
        assert heavy.mass == pytest.approx(bar.mass + 2.0)
        frequencies = []
        for one in (heavy, bar):
            system = flexmb.System()
            body = system.add(flexmb.flexible_body(one, reduction.reanalyse(basis, one, "root"), name="bar"))
            system.revolute("hub", system.ground.at(start), body["root"], axis=axis)
            system.drive("hub", flexmb.time_functions.constant_speed(3.0))
            if one is bar:
                disc = flexmb.rigid_body("disc", mass=2.0, inertia=lump.inertia)
                disc = system.add(disc, position=place + lump.offset)
                system.fixed("weld", body["tip"], disc.at(-np.array(lump.offset)))
            frequencies.append(linearise(steady_motion(system)).modes().frequencies[:5])
        np.testing.assert_allclose(*frequencies, rtol=tolerance)


def test_masses_on_a_mean_turn_as_lumps_at_the_average_interface():
    """Six masses of one inertia on a point that follows the mean of an end, far beyond it."""
    bar, point, J = block("hexahedron20", (1.0, 0.05, 0.08), (3, 1, 1)), np.array([1.3, 0.03, 0.1]), (0.1, 0.05, 0.12)
    reach = np.sqrt(3 * (sum(J) / 2 - np.array(J)) / 20.0)
    masses = [point + sign * reach[k] * np.eye(3)[k] for k in range(3) for sign in (1, -1)]
    n, end = len(bar.points), bar.nodes("x1")
    mesh = replace(
        bar,
        points=np.vstack([bar.points, [point], masses]),
        masses=tuple(fem.NodeMass(n + 1 + k, 20.0 / 6) for k in range(6)),
        constraints=(fem.MeanLink(end, n), fem.RigidLink(np.arange(n + 1, n + 7), n)),
    )
    tip = fem.Interface(end, kind="average", point=point, weights=np.ones(len(end)))
    linked, lumped = (fem.Model(m, ALLOY).with_interfaces(root="x0", tip=tip) for m in (mesh, bar))
    lumped = lumped.with_point_masses({"tip": fem.PointMass(20.0, J)})
    for axis in AXES:
        np.testing.assert_allclose(*(at_speed(model, axis, modes=4) for model in (linked, lumped)), rtol=1e-7)


def test_a_mass_that_follows_translations_of_a_mean_turns_with_it():
    """RBE3 with REFC 123: nothing else has to do with the rotations of the point, which were free, and refused."""
    bar = block("hexahedron20", (1.0, 0.05, 0.08), (3, 1, 1))
    n, end = len(bar.points), bar.nodes("x1")
    mesh = replace(bar, points=np.vstack([bar.points, [1.3, 0.03, 0.1]]), masses=(fem.NodeMass(n, 20.0),))
    links = [fem.MeanLink(end, n, components=c) for c in ((0, 1, 2), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5))]
    models = [fem.Model(replace(mesh, constraints=(link,)), ALLOY).with_interfaces(root="x0") for link in links]
    assert {model.ndof for model in models} == {3 * n}
    *partial, whole = (at_speed(model, AXES[1], modes=4) for model in models)
    for found in partial:
        np.testing.assert_allclose(found, whole, rtol=1e-9)
