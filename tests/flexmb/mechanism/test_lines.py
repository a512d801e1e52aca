"""Fluid in pipes and wind along lines: closed forms, an independent Galerkin method, order, ledger, files, refusals."""

import numpy as np
import pytest
import scipy.integrate
from model_files import model_of

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.equations.evaluation import Equations
from flexmb.errors import MechanismError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.kernels.calls import line_force
from flexmb.kernels.loads.line_changes import add_line_changes
from flexmb.kernels.loads.lines import FLOW
from flexmb.linear import linearise
from flexmb.mechanism.lines.line import Line, stations
from flexmb.spatial.lie import rotation_exp

SIDE, LENGTH, DENSITY = 0.01, 1.0, 7850.0
MATERIAL = fem.Material.steel()
STIFFNESS = 2.1e11 * SIDE**4 / 12
MESH = line((0, 0, 0), (LENGTH, 0, 0), 12)


def sprinkler(speed=2.0, factor=None):
    """A straight rigid tube that turns about its inlet at a constant rate."""
    system = flexmb.System(name="sprinkler")
    tube = system.add(flexmb.uniform_rod("tube", mass=1.0, length=0.8))
    system.revolute("pivot", system.ground, tube["start"], axis=(0, 0, 1))
    system.drive("pivot", flexmb.time_functions.constant_speed(3.0))
    points = [(0.2 * k, 0, 0) for k in range(5)]
    system.pipe_flow("water", tube, points, mass_per_length=0.5, speed=speed, factor=factor)
    return system


def test_a_turning_tube_needs_the_torque_of_the_fluid_that_it_throws():
    """The Coriolis force 2 m U omega per length has the moment m U omega L^2, whose power the driver gives."""
    result = flexmb.simulate(sprinkler(), 1.0, step=0.02)
    torque = 0.5 * 2.0 * 3.0 * 0.8**2
    assert np.allclose(result.drive_effort("pivot"), torque, rtol=1e-12)
    assert np.allclose(result.power("water"), -torque * 3.0, rtol=1e-12)
    assert result.energy_by_element()["water"].work[-1] == pytest.approx(-3.0 * torque)
    assert result.ledger.load_work[-1] == pytest.approx(-3.0 * torque)
    # across the tube 2 m U omega L, along it the thrust of nothing that bends: the momentum that leaves is that which
    # enters
    across = 2 * 0.5 * 2.0 * 3.0 * 0.8
    angle, zero = result.coordinate("pivot"), np.zeros(len(result.t))
    behind = np.stack([np.sin(angle), -np.cos(angle), zero], axis=1)
    np.testing.assert_allclose(result.force("water")[:, :3], across * behind, atol=1e-12)
    np.testing.assert_allclose(result.force("water")[:, 3:], np.tile([0, 0, -torque], (len(result.t), 1)), atol=1e-12)


def test_the_wrench_of_a_fluid_turns_with_its_body():
    """A tube in any attitude: the force and the moment in world axes are those of the tube as drawn, turned."""
    turn = np.array([0.4, -0.7, 1.1])

    def wrench(turned):
        system = flexmb.System()
        attitude = turn if turned else np.zeros(3)
        tube = system.add(flexmb.rigid_body("tube", mass=1.0, inertia=(1, 1, 1)), orientation=attitude)
        system.fixed("wall", system.ground, tube, at=(0, 0, 0))
        angle = np.linspace(0, np.pi / 2, 17)
        points = np.stack([np.sin(angle), 1 - np.cos(angle), 0.4 * angle], axis=1)
        system.pipe_flow("water", tube, points, mass_per_length=0.5, speed=2.0)
        return flexmb.simulate(system, 0.1, step=0.05).force("water")[0].reshape(2, 3)

    assert (np.abs(wrench(False)) > 0.05).sum() >= 4
    np.testing.assert_allclose(wrench(True), wrench(False) @ rotation_exp(turn).T, atol=1e-12)


def test_a_line_through_few_points_is_as_long_as_its_curve():
    """A quarter of a circle through five points, whose chords are 0.6 % shorter."""
    angle = np.linspace(0, np.pi / 2, 5)
    points = np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    found = stations(
        flexmb.rigid_body("bend", mass=1.0, inertia=(1, 1, 1)), Line("water", FLOW, 0, points, np.zeros(6))
    )
    assert found.length.sum() == pytest.approx(np.pi / 2, rel=2e-4)
    np.testing.assert_allclose(np.linalg.norm(found.tangent, axis=1), 1.0, rtol=1e-12)


def test_wind_along_a_line_rubs_on_its_whole_surface():
    """Half the density times the square of the speed, times the area `pi d L` and the coefficient along."""
    system = flexmb.System()
    rope = system.add(flexmb.rigid_body("rope", mass=1.0, inertia=(1, 1, 1)))
    system.fixed("wall", system.ground, rope, at=(0, 0, 0))
    points = np.linspace(0, 3.0, 4)[:, None] * [1, 0, 0]
    system.wind("wind", rope, points, density=1.2, diameter=0.1, velocity=(5.0, 0, 0), along=0.02)
    force = flexmb.simulate(system, 0.1, step=0.1).force("wind")[-1]
    drag = 0.5 * 1.2 * 5.0**2 * np.pi * 0.1 * 3.0 * 0.02
    np.testing.assert_allclose(force, [drag, 0, 0, 0, 0, 0], atol=1e-12)


def test_a_bend_feels_the_change_of_momentum():
    """A quarter of a circle, at rest: m U^2 along both ends, and m L U' against an acceleration of the fluid."""
    angle = np.linspace(0, np.pi / 2, 97)
    points = np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    system = flexmb.System()
    bend = system.add(flexmb.rigid_body("bend", mass=1.0, inertia=(1, 1, 1)))
    system.fixed("wall", system.ground, bend, at=(0, 0, 0))
    ramp = flexmb.time_functions.polynomial(0.0, 1.0)
    system.pipe_flow("water", bend, points, mass_per_length=0.5, speed=2.0, factor=ramp)
    result = flexmb.simulate(system, 1.0, step=0.1)
    m, speed, faster = 0.5, 2.0 * result.t[:, None], 2.0
    pushed = m * speed**2 * [1.0, -1.0] - m * faster * np.array([1.0, 1.0])
    assert np.allclose(result.force("water")[:, :2], pushed, atol=5e-6)
    assert np.allclose(result.reaction("wall")[:, :2], -pushed, atol=5e-6)


@pytest.mark.parametrize("method", ["generalised-alpha", "radau"])
def test_a_rod_falls_through_air_as_an_independent_integration(method):
    """A rod that swings as a pendulum in wind, with drag across and along it."""
    density, diameter, coefficient, wind, mass, length, g = 1.2, 0.1, 1.1, 6.0, 0.7, 1.5, 9.81
    system = flexmb.System(gravity=(0, -g, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length), orientation=(0, 0, -np.pi / 2))
    system.revolute("pin", system.ground, rod["start"], axis=(0, 0, 1))
    options = {"density": density, "diameter": diameter, "coefficient": coefficient, "along": 0.02}
    points = np.linspace(0, length, 13)[:, None] * [1, 0, 0]
    system.wind("wind", rod, points, velocity=(wind, 0, 0), **options)
    options = {"step": 2e-3} if method == "generalised-alpha" else {"tolerance": 1e-9}
    result = flexmb.simulate(system, 2.0, method=method, output_step=0.1, **options)
    inertia, c = mass * (length**2 / 3 + (length / 100) ** 2 / 4), 0.5 * density * diameter * coefficient

    def pulled(t, y):
        def lever(s):
            across = wind * np.cos(y[0]) - s * y[1]
            return c * s * abs(across) * across

        moment = scipy.integrate.quad(lever, 0, length)[0]
        return [y[1], (moment - mass * g * length / 2 * np.sin(y[0])) / inertia]

    exact = scipy.integrate.solve_ivp(pulled, (0, 2), [0, 0], rtol=1e-9, atol=1e-10, t_eval=result.t)
    assert np.abs(result.coordinate("pin") - exact.y[0]).max() < 4e-5
    apart = result.energy_by_element().work_apart
    assert np.abs(apart).max() < 2e-2 * result.ledger.exchange


def pipe(u, ratio=0.2, held="clamped", modes=8):
    """A pipe with the dimensionless speed `u = U L sqrt(m/EI)` and the share `ratio` of the fluid in its mass."""
    mass = ratio * DENSITY * SIDE**2
    model = fem.Model(MESH, fem.Beam(MATERIAL, fem.Section.rectangle(SIDE, SIDE)))
    model = model.with_interfaces(inlet="start", outlet="end")
    system = flexmb.System(name="pipe")
    basis = reduction.craig_bampton(model, modes=modes, reference_frame="inlet")
    tube = system.add(flexmb.flexible_body(model, basis, name="tube", geometric_stiffness="none"))
    system.fixed("wall", system.ground, tube["inlet"])
    if held == "clamped":
        system.prismatic("end", system.ground, tube["outlet"], axis=(1, 0, 0))
    speed = u * np.sqrt(STIFFNESS / mass) / LENGTH
    system.pipe_flow("water", tube, MESH.points, mass_per_length=mass, speed=speed)
    return system, tube


def galerkin(u, ratio, held="clamped", count=10):
    """Eigenvalues of `w'''' + u^2 w'' + 2 sqrt(ratio) u w.' + w.. = 0` by polynomials that satisfy the clamps."""
    z, weight = np.polynomial.legendre.leggauss(60)
    z, weight = 0.5 * (z + 1), 0.5 * weight
    bubble = np.polynomial.Polynomial([0, 0, 1, -2, 1] if held == "clamped" else [0, 0, 1])
    shapes = [
        bubble * np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial)
        for k in range(count)
    ]
    f = [np.array([s.deriv(d)(z) if d else s(z) for s in shapes]) for d in range(3)]
    M, D = (f[0] * weight) @ f[0].T, 2 * np.sqrt(ratio) * u * (f[0] * weight) @ f[1].T
    K = (f[2] * weight) @ f[2].T + u**2 * (f[0] * weight) @ f[2].T
    n = count
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return np.linalg.eigvals(A)


def eigenvalues(u, **options):
    found = linearise(pipe(u, **options)[0].build()).state_matrix
    found = found() if callable(found) else found
    return np.linalg.eigvals(found) * np.sqrt(DENSITY * SIDE**2 * LENGTH**4 / STIFFNESS)


@pytest.mark.parametrize(("held", "u"), [("clamped", 3.0), ("clamped", 5.0), ("free", 2.0), ("free", 5.0)])
def test_eigenvalues_of_a_pipe_are_those_of_galerkins_method(held, u):
    found, expected = eigenvalues(u, held=held), galerkin(u, 0.2, held)
    for value in sorted(expected, key=abs)[:4]:
        assert np.abs(found - value).min() < 4e-3 * abs(value)


def test_a_clamped_pipe_buckles_at_twice_pi():
    assert eigenvalues(2 * np.pi * 0.995).real.max() < 1e-3
    assert eigenvalues(2 * np.pi * 1.005).real.max() > 0.1


def test_wind_damps_vibrations_along_it_twice_as_much_as_across_it():
    """`F = c |u| u` per length, with the wind W, changes by 2 c W per velocity along the wind and by c W across it: a
    uniform beam of the mass m per length, whose modes are all damped alike, decays by c W / m and c W / 2 m."""
    model = fem.Model(MESH, fem.Beam(MATERIAL, fem.Section.rectangle(SIDE, SIDE))).with_interfaces(root="start")
    basis = reduction.craig_bampton(model, modes=4, reference_frame="root")
    system = flexmb.System()
    beam = system.add(flexmb.flexible_body(model, basis, name="beam", geometric_stiffness="none"))
    system.fixed("wall", system.ground, beam["root"])
    factor, wind = 0.5 * 1.2 * 0.05 * 1.1, 10.0
    system.wind("wind", beam, MESH.points, density=1.2, diameter=0.05, coefficient=1.1, velocity=(0, wind, 0))
    modes = np.linalg.eigvals(linearise(system.build()).state_matrix())
    first = np.sort(modes[modes.imag > 0][np.argsort(modes.imag[modes.imag > 0])[:2]].real)
    rate = factor * wind / (DENSITY * SIDE**2)
    assert first == pytest.approx([-rate, -rate / 2], rel=0.03)


def test_the_steps_of_a_pipe_are_of_second_order_and_its_ledger_closes():
    left, values = [], []
    for step in (1e-3, 5e-4, 2.5e-4):
        system, tube = pipe(4.0, modes=2, held="free")
        blow = flexmb.time_functions.smooth_step(0, 0.1, 1.0)
        system.load("blow", tube["outlet"], force=(0, 1.0, 0), factor=blow)
        result = flexmb.simulate(system, 0.2, step=step, output_step=0.1)
        values.append(result.position("tube.outlet")[-1, 1])
        left.append(np.abs(result.ledger.residual).max())
    assert (values[0] - values[1]) / (values[1] - values[2]) == pytest.approx(4.0, abs=0.5)
    assert left[0] / left[1] == pytest.approx(4.0, abs=0.8)


def test_a_result_keeps_its_lines(tmp_path):
    result = flexmb.simulate(sprinkler(), 0.2, step=0.02)
    save_result(result, tmp_path / "run.h5")
    again = load_result(tmp_path / "run.h5")
    assert np.array_equal(again.power("water"), result.power("water"))
    assert np.array_equal(flexmb.simulate(again.mechanism, 0.2, step=0.02).q, result.q)


MODEL = """
gravity = [0, -9.81, 0]
simulation = { duration = 0.2, step = 0.01 }
joints = [{ name = "pivot", kind = "revolute", a = "ground", b = "tube.start", axis = [0, 0, 1] }]
[bodies.tube]
kind = "rigid"
mass = 1.0
inertia = [0.01, 0.05, 0.05]
centre = [0.4, 0, 0]
points = { start = [0, 0, 0] }
[[pipe_flows]]
name = "water"
body = "tube"
points = [[0, 0, 0], [0.4, 0, 0], [0.8, 0, 0]]
mass_per_length = 0.5
speed = 2.0
factor = { kind = "harmonic", amplitude = 1.0, frequency = 0.5 }
[[winds]]
name = "wind"
body = "tube"
points = [[0, 0, 0], [0.8, 0, 0]]
density = 1.2
diameter = 0.05
velocity = [5.0, 0, 1.0]
"""


def test_lines_in_a_model_file(tmp_path):
    found = model_of(tmp_path, MODEL)
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = {"mass": 1.0, "inertia": (0.01, 0.05, 0.05), "centre": (0.4, 0, 0), "points": {"start": (0, 0, 0)}}
    tube = system.add(flexmb.rigid_body("tube", **body))
    system.revolute("pivot", system.ground, tube["start"], axis=(0, 0, 1))
    points = [(0, 0, 0), (0.4, 0, 0), (0.8, 0, 0)]
    factor = flexmb.time_functions.harmonic(1.0, 0.5)
    system.pipe_flow("water", tube, points, mass_per_length=0.5, speed=2.0, factor=factor)
    system.wind("wind", tube, points[::2], density=1.2, diameter=0.05, velocity=(5.0, 0, 1.0))
    expected = flexmb.simulate(system, 0.2, step=0.01)
    assert np.array_equal(flexmb.simulate(found.system, 0.2, step=0.01).q, expected.q)


def test_what_cannot_be_is_refused_by_name():
    system = sprinkler()
    with pytest.raises(MechanismError, match=r"energy-momentum' does not include fluid.*'water'"):
        flexmb.simulate(system, 0.1, method="energy-momentum", step=0.01)
    fine = {"mass_per_length": 1.0, "speed": 1.0}
    for points, options, message in (
        ([(0, 0, 0)], fine, "at least two points"),
        ([(0, 0, 0), (1,)], fine, "at least two points"),
        ([(0, 0, 0), (0, 0, 0)], fine, "coincide"),
        ([(0, 0, 0), (1, 0, 0), (1, 1, 0)], fine, "corner at point 2"),
        ([(0, 0, 0), (1, 0, 0)], {"mass_per_length": -1.0, "speed": 1.0}, "must not be negative"),
        ([(0, 0, 0), (1, 0, 0)], {"mass_per_length": 1.0, "speed": np.nan}, "finite"),
    ):
        own = flexmb.System()
        with pytest.raises(MechanismError, match=message):
            own.pipe_flow("water", own.add(flexmb.uniform_rod("tube", mass=1.0, length=0.8)), points, **options)
    bent, tube = pipe(1.0)
    with pytest.raises(MechanismError, match="not a node of 'tube'"):
        bent.pipe_flow("other", tube, MESH.points + 1e-3, **fine)
    with pytest.raises(MechanismError, match="runs along a body"):
        bent.pipe_flow("other", bent.ground, MESH.points, **fine)


def plate_in_a_gust(coefficient):
    """A light rod in a wind that presses with many times its weight."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=0.02, length=1.5), orientation=(0, 0, -np.pi / 2))
    system.revolute("pin", system.ground, rod["start"], axis=(0, 0, 1))
    points = np.linspace(0, 1.5, 13)[:, None] * [1, 0, 0]
    options = {"density": 1.2, "diameter": 0.1, "coefficient": coefficient, "along": 0.02}
    system.wind("wind", rod, points, velocity=(6.0, 0, 1.0), **options)
    return system


def shaken_pipe(u, held):
    """A pipe with fast fluid, pushed at its end."""
    system, tube = pipe(u, held=held)
    system.load("blow", tube["outlet"], force=(0, 0.0, 0.3), moment=(0, 0.02, 0.01))
    return system


@pytest.mark.parametrize(
    ("system", "step", "steps"),
    [
        (lambda: plate_in_a_gust(5.0), 2e-2, 20),
        (lambda: plate_in_a_gust(50.0), 5e-3, 20),
        (lambda: shaken_pipe(8.0, "cantilever"), 1e-3, 40),
    ],
)
@pytest.mark.filterwarnings("ignore::flexmb.errors.EnergyBalanceWarning")  # the steps do not resolve the motion
def test_steps_with_stiff_unsymmetric_loads_take_few_corrections(system, step, steps):
    """Without the derivatives of the loads, the first two do not converge, and the last takes ten corrections."""
    result = flexmb.simulate(system(), steps * step, step=step, output_step=steps * step)
    assert result.statistics.iterations <= 4.0 * steps


@pytest.mark.parametrize("system", [lambda: plate_in_a_gust(5.0), lambda: shaken_pipe(5.0, "cantilever")])
def test_the_change_of_the_loads_is_their_derivative(system):
    """Against central differences of the forces, in random directions."""
    mechanism, rng = system().build(), np.random.default_rng(3)
    e = Equations(mechanism, mechanism.initial.q, mechanism.initial.angles, mechanism.initial.element_states)
    nv, gamma, size = len(mechanism.initial.w), 30.0, 1e-6
    functions, scale = mechanism.function_values(0.0), np.ones(nv)
    scale[6:] = 1e-3
    q, w = e.displaced(mechanism.initial.q, 0.1 * scale * rng.normal(size=nv)), scale * rng.normal(size=nv)
    moved = scale * rng.normal(size=nv)

    def forces(s):
        out = np.zeros(nv)
        at, still = e.displaced(q, s * moved), np.zeros(nv)
        e.residual(functions, at, w + s * gamma * moved, still, np.zeros(mechanism.joint_rows))
        for k in range(len(e.flat.line_kind)):
            line_force(e.flat, k, at, w + s * gamma * moved, functions, e.kinematics, out)
        return out

    expected = (forces(size) - forces(-size)) / (2 * size)
    forces(0.0)
    found = np.zeros(nv)
    add_line_changes(e.flat, q, w, moved, gamma, functions, e.kinematics, found)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7 * np.abs(expected).max())
