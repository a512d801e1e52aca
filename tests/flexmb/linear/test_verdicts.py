"""Stable, unstable or undecided: by the error of each eigenvalue, in any units, beside stiffer motions by many decades."""

import dataclasses
import re

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation
from test_lagrange import hanging_bar

import fem
import flexmb
import reduction
from flexmb.errors import EquilibriumError, LinearError
from flexmb.linear import LinearisedModel, campbell, equilibrium, linearise, root_locus, steady_motion
from flexmb.linear.eigenvalue_loci import equal
from flexmb.linear.vibration import Vibration
from validation import steady_rotation

UNITS = {"SI": (1.0, 1.0, 1.0), "mm-t-s": (1e3, 1e-3, 1.0), "um-kg-us": (1e6, 1.0, 1e6), "km-kt-year": (1e-3, 1e-6, 3.17e-8)}  # fmt: skip
"""How many units of length, mass and time are in a metre, a kilogram and a second."""


@pytest.mark.parametrize("joint", ["revolute", "universal"])
@pytest.mark.parametrize("modes", [4, 16])
def test_gravity_holds_a_hanging_bar_of_steel(joint, modes):
    """Ten to twelve decades softer than its bending; upside down it is unstable."""
    compound = 9.81 * 0.05 / (0.1**2 / 3 + 0.01**2 / 12)
    rest = equilibrium(hanging_bar(modes, joint))
    assert rest.stable
    assert rest.softest == pytest.approx(compound, rel=1e-5)
    assert rest.error < 1e-9 * compound
    swing = linearise(rest).modes()
    assert swing.stable
    np.testing.assert_allclose(swing.frequencies[0], np.sqrt(compound) / (2 * np.pi), rtol=1e-5)
    upright = equilibrium(hanging_bar(modes, joint, up=True))
    assert not upright.stable
    assert upright.softest == pytest.approx(-compound, rel=1e-5)


def test_of_several_bodies_that_which_nothing_holds_is_named():
    system = flexmb.System(name="three")
    for k, name in enumerate(("first", "second", "third")):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(k, 0, 0))
        system.prismatic(f"rail of {name}", system.ground, body, axis=(1, 0, 0), at=(k, 0, 0))
        if name != "second":
            system.joint_spring(f"spring of {name}", f"rail of {name}", stiffness=10.0)
    with pytest.raises(EquilibriumError, match=r"1 motion\(s\) that nothing restrains \('second' moves most: it moves"):
        equilibrium(system)


def test_a_mass_that_turns_freely_on_its_cable_is_told_so_wherever_it_is_drawn():
    """Its cable, which begins askew, ends in the mass centre, so that no moment turns it."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="mass")
    body = system.add(flexmb.rigid_body("load", mass=2.0, inertia=(0.1, 0.1, 0.1)), position=(0.3, 0.2, -1.0))
    system.cable("rope", [system.ground.at((0, 0, 0)), body.at((0, 0, 0))], stiffness=1e4)
    with pytest.raises(EquilibriumError, match=r"motion\(s\) that nothing restrains \('load' moves most: it turns"):
        equilibrium(system)


def test_what_nothing_holds_is_still_told_beside_stiff_motions():
    """A bar on a ball joint may turn about its own axis; gravity holds the rest."""
    for modes in (4, 16):
        turns = r"1 motion\(s\) that nothing restrains \('bar' moves most: it turns about \(1, 0, 0\) of its frame\)"
        with pytest.raises(EquilibriumError, match=turns):
            equilibrium(hanging_bar(modes, "spherical"))


@pytest.mark.parametrize(("tilt", "passing"), [(0.01, 0), (1.0, 1), (2.0, 2)])
def test_motions_slower_than_the_state_departs_are_told(tilt, passing):
    """A rod that is let go at an angle accelerates by `3 g / (2 l) sin(tilt)`: that of its small motions, with the
    square `3 g / (2 l) cos(tilt)` of their frequency, is none of a rest, and beyond a right angle none that grows."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="let go")
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), orientation=(0, np.pi / 2 - tilt, 0))
    system.revolute("pin", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    drawn, rest = linearise(system).modes(), linearise(equilibrium(system)).modes()
    assert drawn.acceleration == pytest.approx(1.5 * 9.81 * np.sin(tilt), rel=1e-3)
    assert drawn.passing.sum() == passing
    assert (f"the state accelerates: {passing} motion(s)" in str(drawn)) == bool(passing)
    assert rest.acceleration == 0.0
    assert not rest.passing.any()


def strip(pieces, length=1.0, thickness=1e-4):
    """A clamped strip that hangs, of solid pieces fixed to each other: bending far softer than stretching of a piece."""
    block = fem.structured_meshes.block("hexahedron20", (length / pieces, 0.01, thickness), (6, 1, 1))
    part = fem.Model(block, fem.Material.steel()).with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 4), name="piece")
    system = flexmb.System(gravity=(0, 0, 0), name="strip")
    before = system.ground.at(body.interface("a").point)
    for k in range(pieces):
        placed = system.add(body, name=f"piece {k}", position=(k * length / pieces, 0, 0))
        system.fixed(f"weld {k}", before, placed["a"])
        before = placed["b"]
    return system


@pytest.mark.filterwarnings("ignore::flexmb.IllConditionedWarning")  # of the solids, 800 times as long as thick
@pytest.mark.parametrize("thickness", [1e-3, 3e-4])
def test_a_clamped_strip_of_four_pieces_is_held(thickness):
    """Its first bending frequency, against that of a beam."""
    rest = equilibrium(strip(4, thickness=thickness))
    assert rest.stable
    beam = 3.5160 * np.sqrt(2.1e11 * thickness**2 / 12 / 7850.0)
    assert np.sqrt(rest.softest) == pytest.approx(beam, rel=0.05)
    assert rest.error < 1e-3 * rest.softest


def spindle(speed, units, damping=1e-3, axial=1e10):
    """A disc on a turning shaft with damping in the shaft, and a very stiff axial spring; `w = 200` a second, no damping at rest: unstable beyond 200."""
    L, M, T = units
    system = flexmb.System(name="spindle")
    shaft = system.add(flexmb.rigid_body("shaft", mass=M, inertia=(0.01 * M * L**2,) * 3))
    inertia = tuple(x * M * L**2 for x in (0.02, 0.02, 0.04))
    disc = system.add(flexmb.rigid_body("disc", mass=2.0 * M, inertia=inertia))
    system.revolute("bearing", system.ground.at((0, 0, 0)), shaft, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed / T))
    force, moment = M / T**2, M * L**2 / T**2
    k = [80000.0 * force, 80000.0 * force, axial * force, 1e4 * moment, 1e4 * moment, 1e5 * moment]
    c = [damping * 800 * force * T, damping * 800 * force * T, 1e-3 * force * T, 1e-3 * moment * T, 1e-3 * moment * T, 1e-3 * moment * T]  # fmt: skip
    system.bushing("flexure", shaft.at((0, 0, 0)), disc.at((0, 0, 0)), stiffness=k, damping=c)
    return system


@pytest.mark.parametrize("name", UNITS)
def test_a_slow_growth_beside_fast_motions_is_seen_in_any_units(name):
    """`growth = c (W - w) / (2 m w)` for small damping: 0.05 and -0.05 a second beside a vibration of 70 kHz; 1e-9 a second beside that is undecided or seen, not misjudged."""
    units = UNITS[name]
    for speed in (300.0, 100.0):
        expected = 0.8 * (speed - 200.0) / (2 * 2 * 200.0)
        found = linearise(steady_motion(spindle(speed, units))).modes()
        assert found.verdict == ("unstable" if expected > 0 else "stable")
        whirl = found.eigenvalues[np.abs(found.eigenvalues.real * units[2] - expected).argmin()]
        assert whirl.real * units[2] == pytest.approx(expected, rel=1e-4)
    edge = linearise(steady_motion(spindle(200.0, units))).modes()
    nearest = np.abs(edge.eigenvalues.real).argmin()
    assert edge.undecided[nearest]
    assert edge.errors[nearest] * units[2] < 1e-6
    assert edge.stable
    assert edge.verdict == "undecided"


@pytest.mark.parametrize("name", UNITS)
def test_a_stick_that_falls_slowly_is_unstable_in_any_units(name):
    """0.25 a second: a heavy pendulum all but balanced."""
    L, M, T = UNITS[name]
    system = flexmb.System(gravity=(0, 0, -9.81 * L / T**2))
    bob = flexmb.rigid_body("bob", mass=2.0 * M, inertia=(M * L**2,) * 3, centre=(0, 0, 0.25**2 * 1.0 / (2 * 9.81) * L))
    system.revolute("hinge", system.ground.at((0, 0, 0)), system.add(bob), axis=(0, 1, 0))
    found = linearise(system).modes()
    assert found.verdict == "unstable"
    assert found.eigenvalues.real.max() * T == pytest.approx(0.25, rel=1e-4)
    assert not equilibrium(system).stable


def free_beam():
    part = fem.Model(fem.structured_meshes.block("hexahedron20", (1.0, 0.1, 0.1), (8, 1, 1)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1")
    system = flexmb.System()
    system.add(flexmb.flexible_body(part, reduction.craig_bampton(part, 8), modal_damping=0.01))
    return system


def test_rigid_motions_and_double_modes_are_judged_by_their_errors():
    """A free square beam: six double zeros, which decide nothing, and pairs of bending modes, which decay."""
    found = linearise(free_beam()).modes()
    assert found.verdict == "undecided"
    assert found.stable
    elastic = np.abs(found.eigenvalues) > 1.0
    assert (~elastic).sum() in (6, 12)
    assert not found.undecided[elastic].any()
    np.testing.assert_allclose(-found.eigenvalues[elastic].real / np.abs(found.eigenvalues[elastic]), 0.01, rtol=1e-6)
    assert (found.errors[elastic] < 1e-8 * np.abs(found.eigenvalues[elastic])).all()
    assert "neither grow nor decay" in str(found)


def free_satellite():
    """A rigid hub with two deployed panels of two sheets each, which nothing holds."""
    system = flexmb.System(name="satellite")
    hub = system.add(flexmb.rigid_body("hub", mass=120.0, inertia=(14.5, 18.1, 16.4)))
    for sign in (1, -1):
        end, x = hub.at((0.5 * sign, 0, 0)), 0.5
        for k in (1, 2):
            mesh = fem.structured_meshes.sheet("quad", (1.2, 0.8), (4, 2))
            mesh = dataclasses.replace(mesh, points=(mesh.points - [0, 0.4, 0]) * [sign, sign, 1])
            part = fem.Model(mesh, fem.Shell(fem.Material.aluminium(), 0.004)).with_interfaces(root="x0", tip="x1")
            sheet = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name=f"panel {sign * k}")
            panel = system.add(sheet, position=(sign * x, 0, 0))
            system.fixed(f"hinge {sign * k}", end, panel["root"])
            end, x = panel["tip"], x + 1.2
    return system


def test_a_free_satellite_vibrates_as_its_matrices_do_and_is_not_unstable():
    """Its rigid motions are coupled with others by round-off, which LAPACK balances by 38 decades: eigenvectors were
    wrong, and with them frequencies and growth rates. Their double zeros were judged by errors of 1e-24."""
    found = linearise(free_satellite())
    M, _, K = found.reduced()
    modes = found.modes()
    values = eigh(K, M, eigvals_only=True)
    expected = np.sqrt(values[6:]) / (2 * np.pi)
    np.testing.assert_allclose(modes.frequencies[-len(expected) :], expected, rtol=1e-8)
    assert modes.verdict == "undecided"
    assert (modes.frequencies[: -len(expected)] < 1e-6).all()
    assert modes.errors.max() < 1e-6
    np.testing.assert_allclose(modes.eigenvalues.real, 0, atol=1e-6)


def turned_satellite(units, kp, kd):
    """A light hub with a panel on each side and three wheels, askew, which PD controllers turn to the axes of the world:
    it nods, since the measured directions are not angles."""
    L, M, T = units
    system, turn = flexmb.System(name="turned"), Rotation.from_rotvec((0.8, -0.5, 1.1)).as_matrix()
    material, panels = fem.Material.isotropic(7e10 * M / (L * T**2), 0.33, 2700.0 * M / L**3), {}
    for sign in (1, -1):
        mesh = fem.structured_meshes.sheet("quad", (1.2 * L, 0.8 * L), (4, 2))
        mesh = dataclasses.replace(mesh, points=(mesh.points - [0, 0.4 * L, 0]) * [sign, sign, 1])
        part = fem.Model(mesh, fem.Shell(material, 0.004 * L)).with_interfaces(root="x0", tip="x1")
        sheet = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name=f"panel {sign}")
        panels[sign] = system.add(sheet, position=tuple(turn @ (0.5 * sign * L, 0, 0)), orientation=turn)
    body = flexmb.rigid_body("hub", mass=0.2 * M, inertia=tuple(np.array([145.0, 181.0, 164.0]) * M * L**2))
    hub = system.add(body, orientation=turn)
    for sign, panel in panels.items():
        system.fixed(f"hinge {sign}", hub.at((0.5 * sign * L, 0, 0)), panel["root"])
    for axis, unit, entry in zip("xyz", np.eye(3), ("zy", "xz", "yx"), strict=True):
        wheel = flexmb.rigid_body(f"wheel {axis}", mass=4.0 * M, inertia=(0.02 * M * L**2,) * 3)
        wheel = system.add(wheel, position=tuple(turn @ (0.2 * L * unit)), orientation=turn)
        system.revolute(f"axle {axis}", hub.at(tuple(0.2 * L * unit)), wheel.at((0, 0, 0)), axis=tuple(turn @ unit))
        moment = M * L**2 / T**2
        law = flexmb.controllers.pid(-kp * moment, 0.0, -kd * moment * T, filter=0.05 * T)
        inputs = {"measured": f"attitude:hub:matrix:{entry}"}
        system.controller(f"turn {axis}", law, inputs=inputs, outputs={"command": f"effort:axle {axis}"})
    return system


@pytest.mark.parametrize("name", ["SI", "mm-t-s"])
def test_ignorable_angles_of_wheels_take_no_rounding_of_stiff_panels_along(name):
    """The angles of the wheels change nothing. They were taken with a rounding of stiff coordinates, whose forces moved
    soft motions by hundreds of the bounds of their errors. The eigenvalues are also those of the matrix as it is."""
    found = linearise(turned_satellite(UNITS[name], 700.0, 2800.0))
    modes = found.modes()
    assert modes.ignorable.sum() == 6
    assert {f"axle {axis} about z" for axis in "xyz"} < set(found.ignorable)
    expected = np.linalg.eigvals(found.state_matrix())
    for k in np.flatnonzero(np.abs(modes.eigenvalues) > 0.1):
        off = np.abs(expected - modes.eigenvalues[k]).min()
        assert off < modes.errors[k] + 1e-9 * abs(modes.eigenvalues[k]), modes.eigenvalues[k]


def test_growth_hidden_beyond_the_followed_modes_is_shown():
    """`count=1` follows one vibration; the diagram's growth is that of all."""
    found = campbell(lambda speed: spindle(speed, UNITS["SI"]), [100.0, 300.0], count=1)
    np.testing.assert_array_equal(found.stable, [True, False])
    assert found.growth[1] == pytest.approx(0.1, rel=1e-3)


def on_a_shaft(speed, coupling):
    """A disc on a turning shaft with isotropic bending, an axial spring, and one between the axis and a side."""
    system = flexmb.System(name="on a shaft")
    shaft = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(0.01,) * 3))
    disc = system.add(flexmb.rigid_body("disc", mass=1.0, inertia=(0.02, 0.02, 0.04)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), shaft, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    stiff = (1e4, 1e4, 2500.0, 1e4, 1e4, 1e5)
    system.bushing("flexure", shaft.at((0, 0, 0)), disc.at((0, 0, 0)), stiffness=stiff)
    slope = np.sqrt(0.5)
    away = (slope, 0, slope)
    system.spring_damper("oblique", shaft.at(away), disc.at((0, 0, 0)), stiffness=coupling, damping=0.0, length=1.0)
    return system


def test_axial_vibrations_of_a_shaft_are_seen_as_they_are():
    """The disc's bending whirls at 100 a second, as seen from the ground, its axial vibration is one of 50 a second in
    any axes: also where a spring beside the axis mixes some whirl into it, which alone would be seen elsewhere."""
    speeds = [20.0, 45.0]
    for coupling in (1.0, 60.0):
        found = campbell(lambda speed, c=coupling: on_a_shaft(speed, c), speeds, count=12)
        shift = coupling / 1e4  # of the frequencies, relative
        for row, speed in zip(found.seen * 2 * np.pi, speeds, strict=True):
            assert np.abs(row - 50.0).min() < 50.0 * (2 * shift + 1e-4), (coupling, speed, row)
            assert np.abs(row - 50.0 - speed).min() > 1.0
            assert np.abs(row - 100.0).min() < 100.0 * (2 * shift + 1e-4)


def mixed(rng):
    """`LinearisedModel.modes` with every double eigenspace turned at random, as another LAPACK might find it."""
    modes = LinearisedModel.modes

    def turned(self, *args, **kwargs):
        found = modes(self, *args, **kwargs)
        shapes = found.shapes.copy()
        for group in equal(found.eigenvalues):
            n = len(group)
            Q = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]
            shapes[:, group] = shapes[:, group] @ Q
        order = np.concatenate([rng.permutation(group) for group in equal(found.eigenvalues)])
        return Vibration(found.eigenvalues[order], shapes[:, order], found.errors[order])

    return turned


def two_masses(stiffness):
    """Two masses, each free in a plane on equal springs: two double modes that cross at 100."""
    system = flexmb.System()
    for k, name, x in ((100.0, "fixed", 0.0), (stiffness, "tuned", 3.0)):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(x, 0, 0))
        at = system.ground.at((x, 0, 0))
        system.bushing(f"spring {name}", at, body.at((0, 0, 0)), stiffness=(k, k, 3e4, 5e4, 6e4, 7e4))
    return system


@pytest.mark.parametrize("seed", range(3))
def test_branches_do_not_depend_on_the_basis_of_double_modes(seed, monkeypatch):
    """A root locus of two double modes that cross, at a value too; forward and backward whirl that leave a double mode at rest."""
    values = np.linspace(60.0, 140.0, 9)
    monkeypatch.setattr(LinearisedModel, "modes", mixed(np.random.default_rng(seed)))
    found = root_locus(two_masses, values, count=4).eigenvalues.imag
    np.testing.assert_allclose(found[:, :2], np.sqrt(values)[:, None] * [1, 1], rtol=1e-7)
    np.testing.assert_allclose(found[:, 2:], 10.0, rtol=1e-7)
    speeds = np.linspace(0.0, 60.0, 7)
    whirl = campbell(lambda speed: spindle(speed, UNITS["SI"], damping=0.0), speeds, count=3).frequencies * 2 * np.pi
    (pair,) = (group for group in equal(whirl[0]) if len(group) == 2)
    np.testing.assert_allclose(np.diff(whirl[:, pair], axis=0), [[-10.0, 10.0]] * 6, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::flexmb.IllConditionedWarning")  # of a slender solid
def test_the_rotating_cantilever_finds_flap_and_lag_in_any_basis(monkeypatch):
    """At rest both have one frequency."""
    rng, eig = np.random.default_rng(0), np.linalg.eig
    body = steady_rotation.cantilever(2)

    def turned(A):
        values, vectors = eig(A)
        for group in equal(values, 1e-5):
            n = len(group)
            Q = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]
            vectors[:, group] = vectors[:, group] @ Q
        return values, vectors

    monkeypatch.setattr(np.linalg, "eig", turned)
    for _ in range(2):
        found = steady_rotation.lowest_frequencies(body, 0.0)
        np.testing.assert_allclose(found, np.sqrt(body.stiffness[0]), rtol=1e-5)


def turning(motion):
    """A mass on a spring that a driven spindle carries round."""
    system = flexmb.System(name="turning")
    spindle = system.add(flexmb.rigid_body("spindle", mass=1.0, inertia=(1, 1, 1)))
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0.5, 0, 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), spindle, axis=(0, 0, 1))
    system.drive("bearing", motion)
    system.prismatic("guide", spindle.at((0.5, 0, 0)), mass.at((0, 0, 0)), axis=(1, 0, 0))
    system.joint_spring("spring", "guide", stiffness=100.0)
    return system


def test_a_steady_motion_may_be_that_after_a_spin_up():
    """`w^2 = k / m - W^2`."""
    found = steady_motion(turning(flexmb.time_functions.spin_up(6.0, 2.0)), 5.0)
    assert linearise(found).modes().eigenvalues[0].imag == pytest.approx(8.0, rel=1e-8)
    with pytest.raises(EquilibriumError, match="still accelerates at t = 1"):
        steady_motion(turning(flexmb.time_functions.spin_up(6.0, 2.0)), 1.0)


def test_a_steady_motion_begins_where_the_driver_does():
    found = steady_motion(turning(flexmb.time_functions.polynomial(0.4, 6.0)), 5.0)
    mass = np.array(found.state.q[7:9])
    assert np.arctan2(*mass[::-1]) == pytest.approx(0.4, rel=1e-12)


def test_a_diagram_over_what_changes_nothing_is_refused():
    def never(speed):
        """A function that turns later, and does not say when."""
        later = flexmb.time_functions.spin_up(speed, 2.0)
        return turning(flexmb.time_functions.function(later.value, later.rate, later.acceleration))

    with pytest.raises(LinearError, match=r"the same for every value of 'speed'.*nothing rotates.*constant_speed"):
        campbell(never, [0.0, 3.0, 6.0])
    moving = campbell(lambda speed: turning(flexmb.time_functions.constant_speed(speed)), [0.0, 6.0])
    np.testing.assert_allclose(moving.eigenvalues[:, 0].imag, [10.0, 8.0], rtol=1e-8)


def test_a_campbell_diagram_takes_the_speed_after_a_spin_up():
    """The end of a built-in spin-up is known."""
    found = campbell(lambda speed: turning(flexmb.time_functions.spin_up(speed, 2.0)), [0.0, 6.0])
    np.testing.assert_allclose(found.eigenvalues[:, 0].imag, [10.0, 8.0], rtol=1e-8)


@pytest.mark.parametrize("t", [-5.0, -0.1, 0.0])
def test_motions_rest_before_they_begin(t):
    for motion in (
        flexmb.time_functions.spin_up(3.0, 2.0),
        flexmb.time_functions.smooth_step(0.0, 2.0, 3.0),
        flexmb.time_functions.pulse(0.0, 1.0, 3.0),
        flexmb.time_functions.pulse(0.0, 1.0, 3.0, period=2.0),
    ):
        assert motion(t) == (0.0, 0.0, 0.0)
        np.testing.assert_array_equal(motion.over(np.array([t, t])), 0.0)
    later = flexmb.time_functions.spin_up(3.0, 2.0)
    np.testing.assert_allclose(later(2.0), (3.0, 3.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(later(7.0), (18.0, 3.0, 0.0), atol=1e-12)


def spun(speed, how, drag=1.0):
    """A disc on an elastic shaft, spun in many ways."""
    system = flexmb.System()
    hub = system.add(flexmb.rigid_body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    disc = flexmb.rigid_body("disc", mass=1.0, inertia=(0.02, 0.02, 0.04))
    disc = system.add(disc, angular_velocity=(0, 0, speed if how == "both bodies" else 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), hub, axis=(0, 0, 1))
    system.bushing(
        "shaft", hub.at((0, 0, 0)), disc.at((0, 0, 0)), stiffness=[1e4] * 3 + [300] * 3, damping=[1.0] * 3 + [0.1] * 3
    )
    if how == "driver":
        system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    elif how == "at rest":
        system.motor("motor", "bearing", flexmb.time_functions.constant(drag * speed), damping=drag)
    else:
        system.set_speed("bearing", speed)
        if how == "motor":
            system.motor("motor", "bearing", flexmb.time_functions.constant(drag * speed), damping=drag)
        if how == "controller":
            system.motor("motor", "bearing", lambda t, x, rate: -5.0 * (rate - speed))
    return system


@pytest.mark.parametrize("how", ["start", "both bodies", "motor", "controller"])
def test_a_rotor_turns_as_fast_as_its_start_says(how):
    """What springs carry along does not slow it down; bending does not depend on what turns it."""
    expected = campbell(lambda speed: spun(speed, "driver"), [20.0, 60.0], count=9)
    steady = steady_motion(spun(60.0, how))
    np.testing.assert_allclose(steady.state.w[[5, 11]], 60.0, rtol=1e-9)
    found = campbell(lambda speed: spun(speed, how), [20.0, 60.0], count=12)
    for k in range(2):
        torsion = np.sqrt(300 / 0.04) / (2 * np.pi)
        across = [x for x in expected.frequencies[k] if abs(x - torsion) > 0.01]
        assert len(across) > 3
        assert all(np.abs(found.frequencies[k] - x).min() < 1e-6 for x in across)


@pytest.mark.parametrize("of", [equilibrium, steady_motion])
def test_a_rotor_that_a_motor_speeds_up_has_no_equilibrium(of):
    with pytest.raises(EquilibriumError, match="found no equilibrium"):
        of(spun(20.0, "at rest"))


def test_a_driver_that_has_come_to_rest_is_steady():
    system = spun(1.0, "none")
    system._start_rows.clear()
    system.drive("bearing", flexmb.time_functions.smooth_step(0.5, 0.2, 3.0))
    assert not steady_motion(system).state.w.any()


@pytest.mark.parametrize(
    ("error", "told"),
    [(1e-9, " by more than 1e-09 per unit of time"), (1e260, ", of which some have .* not known"), (0.0, "")],
)
def test_what_does_not_decay_is_told_with_its_error_where_it_is_known(error, told):
    """The error of one of several equal eigenvalues with one vector may exceed all numbers of the model."""
    found = Vibration(np.array([0.0, 0.0, -20.0 + 0j]), np.eye(3), np.array([error, 0.0, 1e-12]))
    assert re.search(rf"2 motion\(s\) neither grow nor decay{told}$", str(found))
