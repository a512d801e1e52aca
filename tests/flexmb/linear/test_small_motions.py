"""Frequency responses, steady and periodic motions, diagrams against closed forms."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mechanisms import random_flexible_body
from scipy.integrate import solve_ivp
from scipy.special import ellipk
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.cli.main import app
from flexmb.errors import EquilibriumError, FileError, LinearError, MeasureError
from flexmb.files.models.model_file import load_model
from flexmb.linear import (
    along_motion,
    campbell,
    equilibrium,
    frequency_response,
    input_names,
    linearise,
    periodic_motion,
    root_locus,
    stability_map,
    state_space,
    steady_motion,
    with_peaks,
)
from flexmb.plots import linear_plots
from flexmb.results.measure import measure
from flexmb.spatial.lie import rotation_from_quaternion

ROTOR = Path(__file__).parents[3] / "docs" / "examples" / "rotor.toml"
FREQUENCIES = np.array([0.1, 1.0, 3.2, 10.0])


def shaken(mass=2.0, stiffness=800.0, damping=3.0):
    """A mass on a spring and damper above a base that is carried along."""
    system = flexmb.System(name="shaken")
    base = system.add(flexmb.rigid_body("base", mass=1.0, inertia=(1, 1, 1)))
    body = system.add(flexmb.rigid_body("mass", mass=mass, inertia=(1, 1, 1)), position=(0, 0, 1))
    system.prescribe("table", system.ground.at((0, 0, 0)), base)
    system.prismatic("guide", base.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.spring_damper(
        "spring", base.at((0, 0, 0)), body.at((0, 0, 0)), stiffness=stiffness, damping=damping, length=1.0
    )
    system.load("push", body.at((0, 0, 0)), force=(0, 0, 1), factor=flexmb.time_functions.constant(0.0))
    return system


MEASURES = {
    "place": measure("position:guide.b:z"),
    "speed": measure("velocity:guide.b:z"),
    "stretch": measure("coordinate:guide"),
    "table force": measure("force:table:z"),
    "across": measure("force:table:x"),
}


def closed_form():
    """`(nf, 5, 4)` for the inputs push, spring, table.z, table.x."""
    s, m, k, c = 2j * np.pi * FREQUENCIES, 2.0, 800.0, 3.0
    D, T = m * s**2 + c * s + k, c * s + k
    none = 0 * s
    rows = [
        [1 / D, 1 / D, T / D, none],
        [s / D, s / D, s * T / D, none],
        [1 / D, 1 / D, T / D - 1, none],
        [-T / D, m * s**2 / D, s**2 + m * s**2 * T / D, none],  # what accelerates the mass acts on the table
        [none, none, none, 3 * s**2],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def test_responses_are_those_of_an_oscillator_on_a_shaken_table():
    """Displacement, velocity, stretch and reactions, for a force, a spring force and imposed motion; transmissibility included."""
    linear = linearise(shaken())
    assert {"push", "spring", "table.x", "table.z", "table.rotation"} <= set(input_names(linear.mechanism))
    inputs = ["push", "spring", "table.z", "table.x"]
    found = frequency_response(linear, FREQUENCIES, inputs, MEASURES)
    exact = closed_form()
    assert np.abs(found.values - exact).max() <= 1e-8 * np.abs(exact).max()
    np.testing.assert_allclose(found.values[:, :4, :3], exact[:, :4, :3], rtol=1e-8)
    assert found.of("place", "push")[0] == found.values[0, 0, 0]
    with pytest.raises(LinearError, match=r"no output named 'plaec'. Did you mean 'place'"):
        found.of("plaec", "push")
    with pytest.raises(LinearError, match=r"no input named 'place'.*Existing: 'push', 'spring'"):
        found.of("place", "place")
    assert "largest" in str(found)


def test_tables_of_responses_have_a_column_for_each_name(tmp_path):
    """Names with commas, as of a moment of momentum about a point, are quoted, and none is lost to an encoding."""
    name = "angular-momentum:mass@0.5,0,0:y"
    response = frequency_response(
        linearise(shaken()), FREQUENCIES, ["push"], {name: measure(name), "Weg ζ": MEASURES["place"]}
    )
    with response.write_csv(tmp_path / "response.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [
        "frequency",
        *(f"{what}{n} / push{end}" for n in (name, "Weg ζ") for what, end in (("|", "|"), ("phase of ", ""))),
    ]
    assert {len(row) for row in rows} == {len(header)}
    table = np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 1::2], np.abs(response.values[:, :, 0]), rtol=1e-15)
    with pytest.raises(FileError, match="Cannot write the table"):
        response.write_csv(tmp_path / "absent" / "response.csv")


def test_frequencies_that_step_over_a_peak_are_joined_by_it():
    """A damping ratio of 2.5e-4 and frequencies 29 % apart, whose largest response is 470 times too small."""
    linear = linearise(shaken(damping=0.02))
    coarse = np.geomspace(1.0, 10.0, 10)
    fine = with_peaks(coarse, linear.modes())
    sizes = [np.abs(frequency_response(linear, f, ["push"], MEASURES).of("place", "push")) for f in (coarse, fine)]
    assert sizes[0].max() < sizes[1].max() / 400
    w = 2 * np.pi * np.linspace(3.18, 3.185, 200001)
    assert sizes[1].max() == pytest.approx((1 / np.abs(800 - 2 * w**2 + 0.02j * w)).max(), rel=1e-6)
    assert set(coarse) < set(fine)
    assert (np.diff(fine) > 0).all()
    halves = np.sort(sizes[1])[-3:-1] / sizes[1].max()
    np.testing.assert_allclose(halves, np.sqrt(0.5), rtol=1e-3)


def test_undamped_vibrations_and_those_beyond_the_band_add_no_frequencies():
    undamped, damped = (linearise(shaken(damping=c)).modes() for c in (0.0, 0.02))
    np.testing.assert_array_equal(with_peaks(FREQUENCIES, undamped), FREQUENCIES)
    np.testing.assert_array_equal(with_peaks([0.1, 1.0], damped), [0.1, 1.0])
    with pytest.raises(LinearError, match=r"must ascend; found \[2.0, 1.0\]"):
        with_peaks([2.0, 1.0], damped)


def test_the_state_space_model_gives_the_same_responses():
    """Imposed motions enter it by their accelerations."""
    linear = linearise(shaken())
    inputs = ["table.z", "push"]
    response = frequency_response(linear, FREQUENCIES, inputs, MEASURES)
    plant = state_space(linear, inputs, MEASURES)
    assert plant.A.shape == (4, 4)
    for k, s in enumerate(2j * np.pi * FREQUENCIES):
        transfer = plant.C @ np.linalg.solve(s * np.eye(4) - plant.A, plant.B) + plant.D
        transfer[:, 0] *= s**2
        np.testing.assert_allclose(transfer, response.values[k], rtol=1e-9, atol=1e-9)


def test_an_arm_on_a_base_that_is_turned_lags_behind_by_its_inertia():
    """Imposed motion of a joint before it: `(J s^2 + c s + k) y = -(J + m a l) s^2 f`, a: of the pivot, l: of the mass."""
    m, a, l, J, c, k = 2.0, 0.7, 0.5, 0.3 + 2.0 * 0.25, 0.4, 30.0
    system = flexmb.System()
    base = system.add(flexmb.rigid_body("base", mass=1.0, inertia=(1, 1, 1)))
    arm = flexmb.rigid_body("arm", mass=m, inertia=(0.3, 0.3, 0.3), centre=(l, 0, 0))
    arm = system.add(arm, position=(a, 0, 0))
    system.revolute("spin", system.ground.at((0, 0, 0)), base, axis=(0, 0, 1))
    system.drive("spin", flexmb.time_functions.constant(0.0))
    system.revolute("pivot", base.at((a, 0, 0)), arm.at((0, 0, 0)), axis=(0, 0, 1))
    system.joint_spring("spring", "pivot", stiffness=k, damping=c)
    linear, outputs = linearise(system), {"angle": measure("coordinate:pivot")}
    plant = state_space(linear, ["spin"], outputs)
    found = frequency_response(linear, FREQUENCIES, ["spin"], outputs).values[:, 0, 0]
    for s, response in zip(2j * np.pi * FREQUENCIES, found, strict=True):
        exact = -(J + m * a * l) * s**2 / (J * s**2 + c * s + k)
        transfer = plant.C @ np.linalg.solve(s * np.eye(len(plant.A)) - plant.A, plant.B) + plant.D
        assert response == pytest.approx(exact, rel=1e-8)
        assert complex(transfer.item()) * s**2 == pytest.approx(exact, rel=1e-8)


def test_a_flexible_body_answers_as_its_nonlinear_motion_settles():
    """A sagging, damped body, shaken a little by a load: amplitude and phase of a long simulation."""
    rng = np.random.default_rng(5)
    frequency, amplitude = 2.0, 0.02
    system = flexmb.System(gravity=(0, 0, -9.81))
    placed = system.add(random_flexible_body(rng, damping=20.0, second_order=True))
    system.revolute("hinge", system.ground.at((0, 0, 0)), placed["start"], axis=(0, 1, 0))
    system.joint_spring("spring", "hinge", stiffness=30.0, damping=2.0)
    system.load("shake", placed["end"], force=(0, 1, 2), factor=flexmb.time_functions.harmonic(amplitude, frequency))
    rest = equilibrium(system)
    outputs = {"z": measure("position:random.end:z"), "moment": measure("moment:hinge:x")}
    expected = frequency_response(linearise(rest.mechanism, rest.state), [frequency], ["shake"], outputs).values[
        0, :, 0
    ]
    settled = replace(rest.mechanism, initial=rest.state)
    result = flexmb.simulate(settled, 10.0, step=5e-4, output_step=1e-2)
    late = result.t >= 8.0 - 1e-9
    t = result.t[late]
    basis = np.column_stack([np.sin(2 * np.pi * frequency * t), np.cos(2 * np.pi * frequency * t), np.ones_like(t)])
    for value, output in zip(expected, outputs.values(), strict=True):
        sine, cosine, _ = np.linalg.lstsq(basis, output(result)[late], rcond=None)[0]
        assert complex(sine, cosine) / amplitude == pytest.approx(value, rel=2e-3)


def shaft_on_bearings(body, speed):
    """A shaft turned through a universal joint, free to bend at both bearings."""
    system = flexmb.System(name="shaft")
    disc = system.add(flexmb.rigid_body("disc", mass=1.0, inertia=(1, 1, 1)))
    shaft = system.add(body)
    system.revolute("bearing", system.ground.at((0, 0, 0)), disc.at((0, 0, 0)), axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    system.universal("coupling", disc.at((0, 0, 0)), shaft["a"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    system.joint("point-on-line", "end", system.ground.at((1, 0, 0)), shaft["b"], axis=(1, 0, 0))
    return system


def test_a_campbell_diagram_is_that_of_rayleigh_s_shaft():
    """Forward and backward whirl of a uniform simply supported shaft with rotary inertia and gyroscopic moments: `(1 + k) w^2 - 2 k W w = w0^2`, `k = I b^2 / A`."""
    d, L, E, rho = 0.07, 1.0, 2.1e11, 7850.0
    section = fem.Section.circle(d)
    model = fem.Model(line((0, 0, 0), (L, 0, 0), 30), fem.Beam(fem.Material.steel(), section, theory="euler-bernoulli"))
    model = model.with_interfaces(a="start", b="end")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 20), name="shaft")
    speeds = np.array([0.0, 300.0, 900.0])
    found = campbell(lambda speed: shaft_on_bearings(body, speed), speeds, count=4)
    for row, speed in zip(found.seen, speeds, strict=True):
        exact = []
        for n in (1, 2):
            b = n * np.pi / L
            k = section.Iy * b * b / section.area
            w0 = np.sqrt(E * section.Iy / (rho * section.area)) * b * b
            exact += np.abs(np.roots([1 + k, -2 * speed * k, -w0 * w0])).tolist()
        np.testing.assert_allclose(np.sort(row), np.sort(exact) / (2 * np.pi), rtol=2e-5)
    assert found.growth.max() < 1e-3
    turning = found.frequencies[1]  # an observer on the shaft sees them shifted by the speed
    np.testing.assert_allclose(np.abs(turning - found.seen[1]), 300.0 / (2 * np.pi), rtol=1e-6)


def test_internal_damping_drives_a_rotor_beyond_its_limit():
    """Stable up to `W = w (1 + ce / ci)` with the damping of the seal at rest, ce, and that of the turning shaft, ci (Kimball; Bolotin)."""
    w, limit = 20.0, 20.0 * (1 + 2.0 / 4.0)

    def rotor(speed, seal=2.0):
        return load_model(
            ROTOR, {"joints.bearing.drive.speed": speed, "bushings.seal.damping": [seal, seal, 0, 0, 0, 0]}
        ).system

    found = campbell(rotor, [0.0, 10.0, 29.0, 31.0])
    assert (found.growth[:3] <= 1e-6).all()
    assert found.growth[3] > 1e-3
    edge = campbell(rotor, [limit]).eigenvalues[0]
    whirl = edge[np.abs(edge.imag - (limit - w)).argmin()]
    assert abs(whirl.real) < 0.02  # of a damped rotor, whose frequency is not quite w
    chart = stability_map(rotor, [10.0, 29.0, 35.0, 45.0], [0.0, 2.0, 4.0], ("speed", "seal"), moving=True)
    expected = np.array([[a <= 20.0 * (1 + b / 4.0) for a in chart.x] for b in chart.y])
    np.testing.assert_array_equal(chart.stable, expected)


def test_a_governor_rises_with_its_speed():
    """Two rods on a turning spindle: `cos(angle) = g c m / (J W^2)`; slower than that they hang."""
    length, rod = 1.0, flexmb.uniform_rod("rod", mass=1.0, length=1.0, radius=0.01)
    J = rod.invariants.J0
    along, across = J[0, 0], J[2, 2]

    def governor(speed, angle=1.0):
        system = flexmb.System(gravity=(0, 0, -9.81), name="governor")
        spindle = system.add(flexmb.rigid_body("spindle", mass=1.0, inertia=(1, 1, 1)))
        system.revolute("bearing", system.ground.at((0, 0, 0)), spindle, axis=(0, 0, 1))
        system.drive("bearing", flexmb.time_functions.constant_speed(speed))
        down = (0.0, np.pi / 2 - angle, 0.0)
        placed = system.add(rod, orientation=down)
        system.revolute("hinge", spindle.at((0, 0, 0)), placed["start"], axis=(0, 1, 0))
        return system

    speed = 7.0
    found = steady_motion(governor(speed))
    assert found.stable
    R = rotation_from_quaternion(found.state.q[10:14])
    cosine = 9.81 * length / 2 / ((across - along) * speed**2)
    assert -R[2, 0] == pytest.approx(cosine, rel=1e-9)
    centrifugal = (across - along) * speed**2 / across  # the rod keeps its angle by this, times the square of the sine
    assert found.softest == pytest.approx(centrifugal * (1 - cosine**2), rel=1e-6)
    assert "moves steadily, stable" in str(found)
    assert linearise(found.mechanism, found.state).modes().stable
    slow = steady_motion(governor(2.0, 0.1))
    assert -rotation_from_quaternion(slow.state.q[10:14])[2, 0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("speed", [15.0, 25.0])
def test_an_unbalanced_disc_runs_outside_its_axis_below_its_critical_speed_and_inside_above(speed):
    """`u = e W^2 / (w^2 - W^2)` on springs that turn with it, w = 20."""
    mass, offset = 2.0, 1e-3
    system = flexmb.System(name="rotor")
    hub = system.add(flexmb.rigid_body("hub", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), hub, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    disc = system.add(flexmb.rigid_body("disc", mass=mass, inertia=(0.1, 0.1, 0.2)), position=(offset, 0, 0))
    k = mass * 20.0**2
    springs = (k, k, 1e4, 1e4, 1e4, 1e4)
    system.bushing("shaft", hub.at((0, 0, 0)), disc.at((-offset, 0, 0)), stiffness=springs)
    found = steady_motion(system)
    out = offset * speed**2 / (20.0**2 - speed**2)
    assert found.result.stretch("shaft", "translation x")[0] == pytest.approx(out, rel=1e-9)
    assert found.result.stretch("shaft", "translation y")[0] == pytest.approx(0.0, abs=1e-9 * offset)


def test_a_steady_motion_begins_where_its_driver_is_whatever_the_time():
    """A rod in the middle of its spin-up, at t = 0.7: the steady motion has the angle of that time, and the speed after it."""
    system, motion = flexmb.System(), flexmb.time_functions.spin_up(6.0, 2.0)
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.drive("hinge", motion)
    mechanism = system.build()
    mechanism = replace(mechanism, initial=replace(mechanism.initial, t=0.7))
    for found in (steady_motion(mechanism), steady_motion(mechanism, 5.0)):
        assert found.result.coordinate("hinge")[0] == pytest.approx(motion(0.7)[0], rel=1e-12)
        assert found.result.coordinate_rate("hinge")[0] == pytest.approx(6.0, rel=1e-12)


def test_what_is_not_steady_is_told():
    with pytest.raises(EquilibriumError, match="does not move steadily"):
        steady_motion(
            load_model(
                ROTOR.with_name("slider-crank.toml"),
                {"joints.bearing.drive": {"kind": "constant-speed", "speed": 100.0}},
            ).system
        )
    across = load_model(ROTOR, {"gravity": [0, -9.81, 0]}).system
    with pytest.raises(EquilibriumError, match="gravity along the axis"):
        steady_motion(across)


def pendulum_on_a_shaken_hinge(angle, amplitude, frequency, length=0.5):
    system = flexmb.System(gravity=(0, 0, -9.81))
    base = system.add(flexmb.rigid_body("base", mass=1.0, inertia=(1, 1, 1)))
    system.prescribe("shake", system.ground.at((0, 0, 0)), base, z=flexmb.time_functions.harmonic(amplitude, frequency))
    bob = flexmb.rigid_body("bob", mass=2.0, inertia=(1e-9,) * 3, centre=(0, 0, -length))
    system.revolute(
        "hinge", base.at((0, 0, 0)), system.add(bob, orientation=(0, -angle, 0)).at((0, 0, 0)), axis=(0, 1, 0)
    )
    system.motor("drag", "hinge", 0.0, damping=0.2)
    return system


@pytest.mark.parametrize(("angle", "frequency", "stable"), [(0.0, 5.0, True), (np.pi, 5.0, False), (np.pi, 20.0, True)])
def test_floquet_multipliers_are_those_of_mathieu_s_equation(angle, frequency, stable):
    """Hanging, falling, and standing upside down because it is shaken fast enough (Kapitza)."""
    amplitude, length, sign = 0.05, 0.5, np.cos(angle)
    w, period = 2 * np.pi * frequency, 1 / frequency
    found = periodic_motion(pendulum_on_a_shaken_hinge(angle, amplitude, frequency), period)

    def rate(t, x):
        return [
            x[1],
            -sign * (9.81 - amplitude * w * w * np.sin(w * t)) / length * x[0] - 0.2 / (2 * length**2) * x[1],
        ]

    ends = [solve_ivp(rate, (0, period), x, rtol=1e-11, atol=1e-13).y[:, -1] for x in np.eye(2)]
    exact = np.linalg.eigvals(np.array(ends).T)
    assert found.stable == stable
    np.testing.assert_allclose(
        np.sort_complex(found.multipliers), np.sort_complex(exact[np.argsort(-np.abs(exact))]), rtol=1e-6
    )


def test_a_swing_finds_its_own_period():
    length = 0.5
    system = flexmb.System(gravity=(0, 0, -9.81))
    bob = flexmb.rigid_body("bob", mass=2.0, inertia=(1e-9,) * 3, centre=(0, 0, -length))
    system.revolute("hinge", system.ground.at((0, 0, 0)), system.add(bob, orientation=(0, -1.0, 0)), axis=(0, 1, 0))
    found = periodic_motion(system, 1.5)
    swing = found.result.coordinate("hinge") - 1.0
    largest = np.abs(swing).max()
    assert found.period == pytest.approx(4 * np.sqrt(length / 9.81) * ellipk(np.sin(largest / 2) ** 2), rel=2e-5)
    np.testing.assert_allclose(np.abs(found.multipliers), 1.0, atol=1e-3)


def test_some_modes_of_many_are_found_by_one_factorisation():
    """A hanging chain of forty links: the lowest and some in the middle, among all that dense matrices give; damped, and turning."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="chain")
    rod = flexmb.uniform_rod("link", mass=0.5, length=0.2)
    before = system.ground.at((0, 0, 0))
    for k in range(40):
        link = system.add(rod, name=f"link {k}", position=(0, 0, -0.2 * k), orientation=(0, np.pi / 2, 0))
        system.universal(f"hinge {k}", before, link["start"], axis=(1, 0, 0), second_axis=(0, 1, 0))
        before = link["end"]
    system.bushing("damper", before, system.ground.at((0, 0, -8.0)), stiffness=(0,) * 6, damping=(0.5, 1.5, 0, 0, 0, 0))
    linear = linearise(system)
    everything = linear.modes()
    for count, near in ((6, 0.0), (5, 2.0)):
        some = linear.modes(count, near)
        nearest = np.argsort(np.abs(everything.eigenvalues - 2j * np.pi * near), kind="stable")
        expected = everything.eigenvalues[np.sort(nearest[:count])]
        np.testing.assert_allclose(some.eigenvalues, expected, rtol=1e-6)
        residual = [
            linear.N.T @ ((s * s * linear.M + s * linear.D + linear.K) @ x)
            for s, x in zip(some.eigenvalues, some.shapes.T, strict=True)
        ]
        assert np.abs(residual).max() < 1e-4 * abs(linear.K).max()


def test_vibrations_along_a_motion_change_with_the_configuration():
    """A swinging pendulum on a spring: the held stiffness is that of the spring and of its weight at each angle."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    bob = flexmb.rigid_body("bob", mass=2.0, inertia=(1e-9,) * 3, centre=(0, 0, -0.5))
    system.revolute("hinge", system.ground.at((0, 0, 0)), system.add(bob, orientation=(0, -1.0, 0)), axis=(0, 1, 0))
    system.joint_spring("spring", "hinge", stiffness=3.0)
    result = flexmb.simulate(system, 1.0, step=1e-3)
    found = along_motion(result, times=11)
    angle = np.interp(found.values, result.t, result.coordinate("hinge")) - 1.0
    stiffness = (3.0 + 2.0 * 9.81 * 0.5 * np.cos(angle)) / (2.0 * 0.25)
    np.testing.assert_allclose(found.frequencies[:, 0], np.sqrt(stiffness) / (2 * np.pi), rtol=1e-6)
    short = flexmb.simulate(system, 0.01, step=1e-3, output_step=5e-3)
    np.testing.assert_array_equal(along_motion(short, times=10**19).values, short.t)
    for times in (0, -1):
        with pytest.raises(LinearError, match=f"one or more stored times; found times={times}"):
            along_motion(short, times=times)


@pytest.mark.parametrize("count", [4, 10])
def test_a_buckled_column_is_followed_back_to_its_vibrations(count):
    """Beyond Euler's load each of the two first vibrations is two aperiodic motions. Below it, one of each two ends: it
    went on as the next vibration that was left over, with 27 or 537 times the frequency."""
    part = fem.Model(line((0, 0, 0), (1, 0, 0), 8), fem.Beam(fem.Material.steel(), fem.Section.circle(0.01)))
    part = part.with_interfaces(foot="start", head="end")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=4), name="column")

    def column(push):
        system = flexmb.System()
        handle = system.add(body)
        ground = system.ground
        system.universal("foot", ground.at((0, 0, 0)), handle["foot"], axis=(0, 1, 0), second_axis=(0, 0, 1))
        system.joint("point-on-line", "head", ground.at((1, 0, 0)), handle["head"], axis=(1, 0, 0))
        system.load("push", handle["head"], force=(-push, 0, 0))
        return system

    euler = np.pi**2 * 2.1e11 * np.pi * 0.01**4 / 64
    loci = root_locus(column, [1.08 * euler, 0.98 * euler, 0.8 * euler], count=count)
    buckled = np.flatnonzero(loci.frequencies[0] == 0)
    assert len(buckled) == 4
    below = loci.frequencies[1, buckled]
    assert np.isnan(below).sum() == 2
    first = np.sqrt(0.02) * np.pi / 2 * np.sqrt(2.1e11 * 0.01**2 / 16 / 7850)
    np.testing.assert_allclose(below[~np.isnan(below)], first, rtol=0.02)


def test_a_root_locus_follows_shapes_through_a_crossing():
    """Two oscillators, one of them tuned through the other: each branch stays with its own mass."""

    def pair(stiffness):
        system = flexmb.System()
        for k, name in ((100.0, "fixed"), (stiffness, "tuned")):
            body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)))
            system.prismatic(f"guide {name}", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
            system.joint_spring(f"spring {name}", f"guide {name}", stiffness=k)
        return system

    values = np.linspace(60.0, 150.0, 10)
    found = root_locus(pair, values)
    tuned, fixed = found.eigenvalues.imag.T
    np.testing.assert_allclose(tuned, np.sqrt(values), rtol=1e-7)
    np.testing.assert_allclose(fixed, 10.0, rtol=1e-7)


def oscillators(*constants):
    """Masses of one on springs and dampers, each on a guide of its own."""
    system = flexmb.System()
    for n, (stiffness, damping) in enumerate(constants):
        body = system.add(flexmb.rigid_body(f"mass {n}", mass=1.0, inertia=(1, 1, 1)))
        system.prismatic(f"guide {n}", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
        system.joint_spring(f"spring {n}", f"guide {n}", stiffness=stiffness, damping=damping)
    return system


def of_oscillator(stiffness, damping):
    """Its eigenvalues on and above the real axis."""
    found = np.roots([1.0, damping, stiffness]).astype(complex)
    return found[found.imag >= 0]


def test_an_ended_column_waits_for_its_own_motion():
    """Where an oscillator is no longer overdamped, the column of its second aperiodic motion ends, and that motion comes
    back to it. It went on as a vibration of another mass, or as an aperiodic motion of one."""
    damping = [2.5, 1.9, 1.5, 2.2, 2.5]
    for count in (2, 10):
        loci = root_locus(lambda c: oscillators((1.0, c), (25.0, 0.1)), damping, count=count)
        for c, (slow, fast, *others) in zip(damping, loci.eigenvalues, strict=True):
            own = sorted(of_oscillator(1.0, c), key=abs)
            np.testing.assert_allclose([slow, fast], [own[0], own[1] if c > 2 else np.nan], rtol=1e-7)
            np.testing.assert_allclose(others, of_oscillator(25.0, 0.1)[: count // 10], rtol=1e-7)


@pytest.mark.parametrize("times", [(0.5, 0.9, 2.0, 2.5), (0.5, 0.9, 1.5, 2.0, 2.5)])
def test_motions_of_one_mass_do_not_go_on_as_those_of_another(times):
    """One oscillator becomes a vibration, and another one aperiodic: at once, or with values between."""

    def both(t):
        return [(1.0, 3.0 - t), (1.2, 0.5 + t)]

    loci = root_locus(lambda t: oscillators(*both(t)), times)
    assert loci.eigenvalues.shape == (len(times), 4)
    for column in loci.eigenvalues.T:
        errors = [
            [np.abs(of_oscillator(*constants) - value).min() for constants in both(t)]
            for t, value in zip(times, column, strict=True)
            if not np.isnan(value)
        ]
        assert np.max(errors, axis=0).min() < 1e-7


def test_a_strongly_loaded_beam_is_found_in_steps():
    """A soft rod on a hinge and a hard spring: the weight turns it by two radians."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    system.joint_spring("spring", "hinge", stiffness=1.0)
    rest = equilibrium(system)
    R = rotation_from_quaternion(rest.state.q[3:7])
    angle = np.arctan2(-R[2, 0], R[0, 0])
    assert angle == pytest.approx(9.81 * np.cos(angle), rel=1e-8)
    assert rest.stable


def test_outputs_are_named_by_their_measures():
    linear = linearise(shaken())
    texts = ["position:mass:z", "force:table:z"]
    named = {"tip": texts[0], "bearing": measure(texts[1])}
    found, same = (frequency_response(linear, [0.3, 1.0], ["push"], outputs) for outputs in (texts, named))
    assert (found.outputs, same.outputs) == (tuple(texts), ("tip", "bearing"))
    np.testing.assert_array_equal(found.values, same.values)
    assert found.dimensions["outputs"] == {texts[0]: "length", texts[1]: "force"}
    one = state_space(linear, "push", texts[0])
    np.testing.assert_array_equal(one.C, state_space(linear, ["push"], named).C[:1])


def test_bad_requests_are_told():
    linear = linearise(shaken())
    with pytest.raises(LinearError, match=r"no input named 'pusch'.*push"):
        frequency_response(linear, [1.0], ["pusch"], MEASURES)
    with pytest.raises(LinearError, match="at least one input and one output"):
        frequency_response(linear, [1.0], [], MEASURES)
    with pytest.raises(LinearError, match=r"Outputs are measures.*found <function"):
        frequency_response(linear, [1.0], ["push"], [lambda r: r.t])
    with pytest.raises(LinearError, match=r"Outputs are measures.*found 3 for 'tip'"):
        frequency_response(linear, [1.0], ["push"], {"tip": 3})
    with pytest.raises(LinearError, match="of that time alone"):
        frequency_response(linear, [1.0], ["push"], {"energy": lambda r: r.ledger.kinetic})
    with pytest.raises(LinearError, match="not negative"):
        frequency_response(linear, [-1.0], ["push"], MEASURES)
    with pytest.raises(LinearError, match="count is a number of modes"):
        linear.modes(0)
    with pytest.raises(LinearError, match="period must be positive"):
        periodic_motion(shaken(), 0.0)
    for text in ("position", "position:rod", "place:rod:x", "position:rod:w"):
        with pytest.raises(MeasureError):
            measure(text)


def verb(*words):
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_verbs_print_and_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn, draw = [], linear_plots.plot_response
    drawing = lambda *x, unit, **options: drawn.append(unit) or draw(*x, **options)  # noqa: E731
    monkeypatch.setattr(linear_plots, "plot_response", drawing)
    said = verb(
        "response",
        str(ROTOR),
        "--moving",
        "--input",
        "shake",
        "--output",
        "position:shaft.b:x",
        "--output",
        "force:bearing:x",
        "--band",
        "0.5:20:60",
        "--unit",
        "mm",
    )
    assert drawn == [["mm"]]
    assert "largest" in said
    table = np.loadtxt(tmp_path / "rotor.response.csv", delimiter=",", skiprows=1)
    spaced = np.geomspace(0.5, 20.0, 60)
    found = table[np.abs(table[:, 0, None] - spaced).argmin(axis=0), 0]
    np.testing.assert_allclose(found, spaced, rtol=1e-6)
    assert len(table) > 60  # and the peaks
    assert is_picture(tmp_path / "rotor.response.png")
    said = verb("campbell", str(ROTOR), "--vary", "joints.bearing.drive.speed=0:40:9", "--order", "1")
    assert "growth" in said
    assert is_picture(tmp_path / "rotor.campbell.png")
    said = verb(
        "campbell", str(ROTOR), "--vary", "joints.bearing.drive.speed=10:40:3", "--vary", "bodies.disc.mass=1:3:2"
    )
    changes = lambda speed, mass: {"joints.bearing.drive.speed": speed, "bodies.disc.mass": mass}  # noqa: E731
    of = lambda *values: load_model(ROTOR, changes(*values)).mechanism()  # noqa: E731
    assert str(stability_map(of, [10.0, 25.0, 40.0], [1.0, 3.0], moving=True)) in " ".join(said.split())
    said = verb("periodic", str(ROTOR), "--period", "0.41887902047863906")
    assert "repeats itself" in said
    assert is_picture(tmp_path / "rotor.periodic.png")
    said = verb("modes", str(ROTOR), "--start", "--along", "3")
    assert is_picture(tmp_path / "rotor.along.png")
