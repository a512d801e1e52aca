"""Starts: velocities and places do not depend on how a mechanism is drawn, and bodies that had to move are reported."""

import re
import warnings

import numpy as np
import pytest
from mechanisms import random_flexible_body
from scipy.linalg import null_space

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.subspace import in_subspace
from flexmb.equations.evaluate import energies
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian, start
from flexmb.equations.projection import mass_root
from flexmb.errors import AssemblyWarning
from flexmb.mechanism.compile import compiled
from flexmb.spatial.configuration import difference, extent, tangent_operator
from flexmb.spatial.lie import rotation_exp


def moved_frame(name, mass, inertia, centre, g, points):
    """A rigid body given in a body frame drawn at `g = (position, attitude)` of its own."""
    p, R = g
    return flexmb.rigid_body(
        name, mass=mass, inertia=R.T @ np.diag(inertia) @ R, centre=R.T @ (np.array(centre) - p),
        points={key: tuple(R.T @ (np.array(x) - p)) for key, x in points.items()},
    ), {"position": p, "orientation": R}  # fmt: skip


def placed(drawn, position, attitude):
    """Where a body with a frame `drawn` goes when its parent frame is put at `position` and `attitude`."""
    return {
        "position": position + attitude @ drawn["position"],
        "orientation": attitude @ drawn["orientation"],
    }


def frames(rng, count):
    return [(rng.normal(size=3) * 3, rotation_exp(rng.normal(size=3))) for _ in range(count)]


def two_rods(drawn, masses=(1.0, 1.0), unit=1.0, turn=None, gap=0.0):
    """A double pendulum whose second rod only is given a speed, drawn in any frames, lengths in `unit`, turned as a whole."""
    S = np.eye(3) if turn is None else turn
    system = flexmb.System()
    handles = []
    for k, (name, mass) in enumerate(zip(("first", "second"), masses, strict=True)):
        p, R = drawn[k]
        inertia = np.array([1e-3, 1 / 12, 1 / 12]) * mass * unit**2
        body, own = moved_frame(
            name, mass, inertia, (0.5 * unit, 0, 0), (p * unit, R), {"start": (0, 0, 0), "end": (unit, 0, 0)}
        )
        at = (S @ np.array([(1.0 + gap) * k * unit, 0.3 * gap * k * unit, 0.0]), S @ rotation_exp((0, 0, gap * k)))
        centre = at[0] + at[1] @ np.array([0.5 * unit, 0, 0])
        place = placed(own, *at)
        omega = S @ np.array([0.1, 0.2, 5.0]) * k
        velocity = S @ np.array([0.0, 2.0, 1.0]) * k * unit + np.cross(omega, place["position"] - centre)
        handles.append(system.add(body, **place, velocity=velocity, angular_velocity=omega))
    system.revolute("hinge", system.ground.at((0, 0, 0)), handles[0]["start"], axis=S @ (0, 0, 1))
    system.revolute("elbow", handles[0]["end"], handles[1]["start"], axis=S @ (0, 0, 1))
    return system


def told(system):
    """World positions of the rods' ends, attitudes of the rods' axes and angular velocities at the start."""
    mechanism = system.build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssemblyWarning)
        begun = start(mechanism, compiled(mechanism))
    result = flexmb.results.result.result_of_states(
        mechanism, np.zeros(1), begun.state.q[None], begun.state.w[None], begun.wdot[None], begun.multipliers[None]
    )
    ends = [result.position(f"{name}.{end}")[0] for name in ("first", "second") for end in ("start", "end")]
    speeds = [result.velocity(f"{name}.{end}")[0] for name in ("first", "second") for end in ("start", "end")]
    return np.array(ends), np.array(speeds), begun


@pytest.mark.parametrize("masses", [(1.0, 1.0), (1e-10, 1.0), (1.0, 1e-10), (3.0, 0.2)])
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_the_start_does_not_depend_on_where_frames_are_drawn(masses, gap):
    rng = np.random.default_rng(1)
    plain = [(np.zeros(3), np.eye(3))] * 2
    ends, speeds, begun = told(two_rods(plain, masses, gap=gap))
    for _ in range(3):
        other = told(two_rods(frames(rng, 2), masses, gap=gap))
        np.testing.assert_allclose(other[0], ends, atol=1e-9)
        np.testing.assert_allclose(other[1], speeds, atol=1e-9)
        assert other[2].assembly_displacement == pytest.approx(begun.assembly_displacement, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_nor_on_units_and_orientation(gap):
    rng = np.random.default_rng(2)
    plain = [(np.zeros(3), np.eye(3))] * 2
    ends, speeds, _ = told(two_rods(plain, (1.0, 2.0), gap=gap))
    for unit in (1e3, 1e-3, 1e6):
        for turn in (np.eye(3), rotation_exp(rng.normal(size=3))):
            other = told(two_rods(frames(rng, 2), (1e-7, 2e-7), unit, turn, gap))
            np.testing.assert_allclose(other[0] / unit @ turn, ends, atol=1e-9)
            np.testing.assert_allclose(other[1] / unit @ turn, speeds, atol=1e-8)


def test_the_start_velocity_of_a_double_pendulum_is_that_of_an_impulse():
    """By hand, in the plane: angular velocities that minimise the kinetic energy of the change."""
    speeds = told(two_rods([(np.zeros(3), np.eye(3))] * 2))[1]
    # unknowns a, b; first: centre (0, a/2), spin a; second: centre (0, a + b/2), spin b; given: 0; (0, 2), 5
    rows = np.array([[0.5, 0.0], [np.sqrt(1 / 12), 0.0], [1.0, 0.5], [0.0, np.sqrt(1 / 12)]])
    given = np.array([0.0, 0.0, 2.0, 5.0 * np.sqrt(1 / 12)])
    a, b = np.linalg.lstsq(rows, given, rcond=None)[0]
    np.testing.assert_allclose(speeds[:, 1], [0, a, a, a + b], atol=1e-12)
    np.testing.assert_allclose(speeds[:, [0, 2]], 0.0, atol=1e-12)


def flexible(modes):
    """A flexible body with more and more of the same elastic coordinates, with a speed that its hinge does not allow."""
    body = random_flexible_body(np.random.default_rng(4), modes=4, second_order=True)
    if modes == 0:
        return body.rigid()
    return in_subspace(body, np.eye(4)[:, :modes])


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_nor_on_the_number_of_elastic_coordinates(gap):
    found = []
    for modes in (0, 1, 4):
        system = flexmb.System()
        body = system.add(flexible(modes), position=(gap, 0, gap), velocity=(1, 2, 3), angular_velocity=(0.3, 0.5, 2))
        rod = system.add(flexmb.uniform_rod("rod", mass=0.4, length=1.0), position=(1 + gap, gap, 0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
        system.spherical("ball", body["end"], rod["start"])
        mechanism = system.build()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssemblyWarning)
            begun = start(mechanism, compiled(mechanism))
        rates = np.delete(begun.state.w, np.arange(6, 6 + modes))
        found.append(np.concatenate([begun.state.q[:7], begun.state.q[7 + modes :], rates]))
    np.testing.assert_allclose(found[1:], found[:1] * 2, atol=1e-9)


@pytest.mark.filterwarnings("ignore::fem.errors.UnitWarning")
@pytest.mark.parametrize("unit", [1.0, 1e18, 1e-18])
def test_two_hinges_of_a_flexible_door_are_independent_in_every_unit_of_mass(unit):
    part = fem.Model(
        block("hexahedron20", (1, 0.5, 0.03), (4, 2, 1)), fem.Material.isotropic(2e9 / unit, 0.3, 1500.0 / unit)
    )
    part = part.with_interfaces(low="x0", high="x1")
    body, system = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="door"), flexmb.System()
    for door in (system.add(body), system.add(body.rigid(), name="rigid", position=(0, 3, 0))):
        for name in ("low", "high"):
            system.revolute(f"{name} of {door.body.name}", system.ground, door[name], axis=(1, 0, 0))
    with pytest.warns(flexmb.RedundantConstraintWarning, match="shared by 'low of rigid', 'high of rigid': the motion"):
        flexmb.simulate(system, 1e-6, step=1e-6)


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
def test_hinges_that_are_slightly_out_of_line_are_closed_as_those_of_a_rigid_door():
    """By noise of coordinates, which bends nothing: the flexible door is placed as the rigid one."""
    part = fem.Model(block("hexahedron20", (1.0, 0.5, 0.03), (4, 2, 1)), fem.Material.isotropic(2e9, 0.3, 1500.0))
    part = part.with_interfaces(low="x0", high="x1")
    flexible = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="door")
    found = []
    for body in (flexible, flexible.rigid()):
        system = flexmb.System()
        door = system.add(body)
        for name, off in (("low", (0, 0, 0)), ("high", (0, 1e-6, 1e-6))):
            place = np.array(body.interfaces[name].point) + off
            system.revolute(f"hinge {name}", system.ground.at(place), door[name], axis=(1, 0, 0))
        mechanism = system.build()
        found.append(start(mechanism, compiled(mechanism)).state.q[:7])
    assert np.abs(found[1][:3]).max() > 1e-7
    np.testing.assert_allclose(found[0], found[1], atol=1e-11)


def test_a_body_without_a_mass_matrix_is_told_by_its_number():
    with pytest.raises(MatrixError, match="body number 2 of the mechanism is not positive definite"):
        mass_root([np.eye(6), np.diag([1.0, 1, 1, 1, 1, -1]), np.eye(6)], deform=False)


def test_it_is_the_projection_of_events():
    """Of rigid bodies, the change is the one that an impact is computed with."""
    rng = np.random.default_rng(5)
    mechanism = two_rods(frames(rng, 2), (2.0, 0.3)).build()
    begun = start(mechanism, compiled(mechanism))
    e = Equations(mechanism, begun.state.q)
    functions, w = mechanism.function_values(0.0), mechanism.initial.w
    still = np.zeros_like(w)
    e.residual(functions, begun.state.q, still, still, np.zeros(mechanism.joint_rows))
    np.testing.assert_allclose(w - e.mass_weighted_projection(e.broken_rates(functions, w)), begun.state.w, atol=1e-10)


def test_a_closed_configuration_is_the_nearest():
    """No motion that the joints allow brings the bodies nearer to where they were drawn."""
    rng = np.random.default_rng(6)
    mechanism = two_rods(frames(rng, 2), (2.0, 0.3), gap=0.4).build()
    flat = compiled(mechanism)
    with pytest.warns(AssemblyWarning):
        begun = start(mechanism, flat)
    x = difference(flat, mechanism.initial.q, begun.state.q)
    J = row_jacobian(mechanism, flat, begun.state.q, mechanism.function_values(0.0))[1] @ tangent_operator(flat, x)
    M = Equations(mechanism, begun.state.q)
    still = np.zeros_like(x)
    M.residual(mechanism.function_values(0.0), begun.state.q, still, still, np.zeros(mechanism.joint_rows))
    N = null_space(J.toarray())
    assert np.abs(N.T @ (M.mass() @ x)).max() < 1e-9 * np.abs(M.mass() @ x).max()


def test_the_size_of_a_displacement_is_that_of_the_mass_centre_or_the_angle():
    """Wherever the frame of the body is: about its mass centre it only turns."""
    centre, turn, moved = np.array([30.0, -20.0, 10.0]), np.array([0.01, 0.02, -0.02]), np.array([0.0, 0.3, 0.4])
    system = flexmb.System()
    system.add(flexmb.rigid_body("body", mass=2.0, inertia=(3e3, 3e3, 3e3), centre=centre), position=-centre)
    mechanism = system.build()
    flat = compiled(mechanism)
    about = np.concatenate([np.cross(centre, turn), turn])
    assert extent(flat, about) == pytest.approx(0.03, rel=1e-12)
    away = about + np.concatenate([moved, np.zeros(3)])
    assert extent(flat, away) == pytest.approx(max(0.03, 0.5 / mechanism.length), rel=1e-12)


def test_bodies_that_had_to_move_are_reported():
    system = two_rods([(np.zeros(3), np.eye(3))] * 2, gap=0.3)
    words = r"joints of .* are not closed in the given configuration: 'elbow' .*'second' was moved by .* and rotated by"
    with pytest.warns(AssemblyWarning, match=words) as record:
        result = flexmb.simulate(system, 0.01, step=1e-3)
    assert "'hinge'" not in str(record[0].message).split("To close")[0]
    distance = float(re.search(r"'second' was moved by (\S+)", str(record[0].message)).group(1))
    before, after = (result.mechanism.initial.q, result.q[0])
    assert distance > 0.05
    assert not np.allclose(before, after, atol=0.01)


def test_rounded_drawings_and_drivers_that_start_elsewhere_are_not():
    start_of = two_rods([(np.zeros(3), np.eye(3))] * 2, gap=2e-4).build()
    assert 1e-5 < start(start_of, compiled(start_of)).assembly_displacement < 1e-3
    driven = two_rods([(np.zeros(3), np.eye(3))] * 2)
    driven.drive("hinge", flexmb.time_functions.polynomial(0.5, 1.0))
    mechanism = driven.build()
    assert start(mechanism, compiled(mechanism)).assembly_displacement > 0.4


def press(apart, motion):
    """A mass drawn at z = 1.5 in a slide along z, whose places are drawn `apart` and which a `motion` drives."""
    system = flexmb.System(name="press")
    ram = system.add(flexmb.rigid_body("ram", mass=1, inertia=(1, 1, 1)), position=(0, 0, 1.5))
    system.prismatic("guide", system.ground.at((0, 0, 1.5 - apart)), ram.at((0, 0, 0)), axis=(0, 0, 1))
    system.drive("guide", motion)
    return system


def test_a_driver_that_starts_where_places_drawn_apart_are_not_is_reported():
    rise = flexmb.time_functions.smooth_step(0.0, 1.0, 0.1, derivatives=3)
    words = r"joint 'guide' of 'press' has the value 0 at t = 0; .* is 1\.5, .* moved by -1\.5 .*start at 1\.5"
    with pytest.warns(AssemblyWarning, match=words) as record:
        result = flexmb.simulate(press(1.5, rise), 1.0, step=0.02)
    assert record[0].filename == __file__
    np.testing.assert_allclose(result.position("ram")[[0, -1], 2], (0.0, 0.1), atol=1e-9)
    result = flexmb.simulate(press(0.0, rise), 1.0, step=0.02)  # places that coincide: from where it is drawn
    np.testing.assert_allclose(result.position("ram")[[0, -1], 2], (1.5, 1.6), atol=1e-9)
    np.testing.assert_allclose(result.coordinate("guide")[[0, -1]], (0.0, 0.1), atol=1e-9)
    for apart, begin in ((1.5, 1.5), (0.0, 0.3)):  # where it is drawn, and away from places that coincide: meant
        result = flexmb.simulate(press(apart, flexmb.time_functions.constant_speed(0.1, begin)), 0.1, step=0.1)
        assert result.coordinate("guide")[0] == pytest.approx(begin)


@pytest.mark.filterwarnings("ignore::flexmb.AssemblyWarning")
def test_bodies_that_must_be_bent_are_bent_where_they_are_soft():
    """A cantilever whose end is drawn beside its place: its energy is that of `3 E I / L^3` but for a small factor, not
    for that of its stiffest shapes, which is a thousand times as stiff."""
    beam = fem.Beam(fem.Material.isotropic(2e11, 0.3, 7800.0), fem.Section.circle(0.02))
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 10), beam, name="bar").with_interfaces(root="start", tip="end")
    system, gap = flexmb.System(), 1e-3
    bar = system.add(flexmb.flexible_body(model, reduction.craig_bampton(model, 3)))
    system.fixed("wall", system.ground.at((0, 0, 0)), bar["root"])
    system.spherical("ball", system.ground.at((1, gap, 0)), bar["tip"])
    mechanism = system.build()
    begun = start(mechanism, compiled(mechanism)).state
    least = 0.5 * 3 * 2e11 * np.pi * 0.02**4 / 64 * gap**2
    assert least < energies(mechanism, begun).elastic < 10 * least


@pytest.mark.filterwarnings("ignore::flexmb.AssemblyWarning")
def test_a_speed_is_along_its_joint_where_the_assembly_has_moved_it():
    """A bead on a line of a body that a driver turns by 0.6 before the start."""
    system = flexmb.System()
    turned = system.add(flexmb.rigid_body("turned", mass=1.0, inertia=(1, 1, 1)))
    bead = system.add(flexmb.rigid_body("bead", mass=0.5, inertia=(1, 1, 1)))
    system.revolute("hinge", system.ground, turned, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("hinge", flexmb.time_functions.constant(0.6))
    system.in_line("line", turned, bead, axis=(1, 0, 0), at=(0, 0, 0))
    system.set_speed("line", 2.0)
    started = flexmb.simulate(system, 1e-3, step=1e-3)
    np.testing.assert_allclose(started.velocity("bead")[0], 2.0 * np.array([np.cos(0.6), np.sin(0.6), 0]), atol=1e-9)


def test_a_bent_beam_that_is_stopped_at_its_root_keeps_its_angular_momentum_about_it():
    """It moves along its axis, and its mass centre is beside it: a straight one would not turn."""
    beam = fem.Beam(fem.Material.isotropic(2e9, 0.3, 1500.0), fem.Section.circle(0.02))
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 8), beam, name="bar").with_interfaces(root="start")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 2, reference_frame="root"))
    system, speed = flexmb.System(), 3.0
    bar = system.add(body, eta=0.05 / body.deflection, velocity=(speed, 0, 0))
    system.spherical("ball", system.ground.at((0, 0, 0)), bar["root"])
    started = flexmb.simulate(system, 1e-6, step=1e-6)
    momentum = body.invariants.mass * speed * np.cross(started.mass_centre()[0], (1, 0, 0))
    assert np.linalg.norm(momentum) > 1e-3 * body.invariants.mass * speed
    found = started.angular_momentum(about=(0, 0, 0))[0]
    np.testing.assert_allclose(found, momentum, atol=1e-9 * np.linalg.norm(momentum))


def test_a_joint_starts_with_a_speed_while_a_controller_measures_the_angle_of_another_one():
    """The second rod, struck at its end, turns back at 3/2 of the speed (momentum about the joint of a uniform rod)."""
    system = flexmb.System()
    first = system.add(flexmb.uniform_rod("first", mass=1.0, length=0.8))
    second = system.add(flexmb.uniform_rod("second", mass=1.0, length=0.8), position=(0.8, 0, 0))
    system.revolute("shoulder", system.ground, first["start"], axis=(0, 0, 1))
    system.revolute("elbow", first["end"], second["start"], axis=(0, 0, 1))
    inputs = {"measured": "coordinate:elbow", "reference": 0.3}
    servo = flexmb.controllers.pid(30.0, 60.0, 4.0, filter=0.01)
    system.controller("servo", servo, inputs=inputs, outputs={"command": "force:second.end:y"})
    system.set_speed("shoulder", 1.0)
    started = flexmb.simulate(system, 1e-3, step=1e-3)
    rates = [started.coordinate_rate(name)[0] for name in ("shoulder", "elbow")]
    np.testing.assert_allclose(rates, [1.0, -1.0 - 3 / 2], rtol=1e-3)
