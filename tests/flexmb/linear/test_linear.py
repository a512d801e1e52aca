"""Equilibrium and small motions against closed forms, finite elements and the nonlinear motion."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.cli.main import app
from flexmb.errors import EquilibriumError, SmallDeformationWarning
from flexmb.kernels.calls import displace
from flexmb.linear import equilibrium, linearise
from flexmb.mechanism.compile import compiled


def pendulum(length=0.7, angle=0.0):
    """A point mass on a hinged rod, at an angle from hanging."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    inertia = (1e-9,) * 3
    turn = (0.0, -angle, 0.0)
    bob = system.add(flexmb.rigid_body("bob", mass=2.0, inertia=inertia, centre=(0, 0, -length)), orientation=turn)
    system.revolute("hinge", system.ground.at((0, 0, 0)), bob, axis=(0, 1, 0))
    return system


def test_a_pendulum_finds_its_lowest_point_and_swings_there():
    rest = equilibrium(pendulum(angle=2.0))
    assert rest.stable
    assert rest.softest == pytest.approx(9.81 / 0.7, rel=1e-6)
    found = linearise(pendulum()).modes()
    assert found.frequencies == pytest.approx([np.sqrt(9.81 / 0.7) / (2 * np.pi)], rel=1e-8)
    assert found.stable
    upside_down = linearise(pendulum(angle=np.pi)).modes()
    assert not upside_down.stable
    assert upside_down.eigenvalues.real.max() == pytest.approx(np.sqrt(9.81 / 0.7), rel=1e-7)


def test_a_chain_hangs_straight_and_swings_with_the_frequencies_of_its_matrices():
    """Two uniform rods: M and K of the linear double pendulum."""
    rest = equilibrium(double_pendulum())
    about_end = rest.mechanism.bodies[0].invariants.J0[2, 2]  # 1/3, and a little for the radius
    M = np.array([[about_end + 1, 0.5], [0.5, about_end]])
    K = 9.81 * np.diag([1.5, 0.5])
    expected = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)))) / (2 * np.pi)
    found = linearise(rest.mechanism, rest.state).modes()
    assert found.frequencies == pytest.approx(expected, rel=1e-8)


def test_a_free_body_has_the_frequencies_of_its_finite_elements():
    """To nine digits, after six rigid motions; with modal damping as given."""
    import fem
    import reduction

    part = fem.Model(fem.structured_meshes.block("hexahedron20", (1.0, 0.1, 0.08), (8, 1, 1)), fem.Material.steel())
    basis = reduction.craig_bampton(part.with_interfaces(a="x0", b="x1"), 6)
    system = flexmb.System()
    system.add(flexmb.flexible_body(part.with_interfaces(a="x0", b="x1"), basis, modal_damping=0.01))
    found = linearise(system).modes()
    elastic = found.eigenvalues[np.abs(found.eigenvalues) > 1.0]
    np.testing.assert_allclose(np.abs(elastic), np.sqrt(basis.eigenvalues), rtol=1e-9)
    np.testing.assert_allclose(-elastic.real / np.abs(elastic), 0.01, rtol=1e-6)


@pytest.mark.parametrize("second_order", [False, True])
def test_a_flexible_body_sags_to_where_a_damped_one_comes_to_rest(second_order):
    rng = np.random.default_rng(5)
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = random_flexible_body(rng, stiffness=(300.0, 900.0), damping=20.0, second_order=second_order)
    placed = system.add(body)
    system.fixed("clamp", system.ground.at((0, 0, 0)), placed["start"])
    rest = equilibrium(system)
    settled = flexmb.simulate(system, 8.0, step=1e-3)
    np.testing.assert_allclose(rest.state.q[7:], settled.elastic("random")[-1], rtol=1e-5)
    np.testing.assert_allclose(rest.multipliers, settled.multipliers[-1], atol=1e-4)


def test_a_clamped_beam_sags_as_its_weight_bends_it():
    """By `m g L^4 / 8 EI` at its end; static shapes of both interfaces leave 1e-3 of it to the modes."""
    import fem
    import reduction

    side, length = 0.01, 1.0
    line = fem.structured_meshes.line((0, 0, 0), (length, 0, 0), 12)
    part = fem.Model(line, fem.Beam(fem.Material.steel(), fem.Section.rectangle(side, side)))
    part = part.with_interfaces(root="start", tip="end")
    basis = reduction.craig_bampton(part, 4, reference_frame="root")
    system = flexmb.System(gravity=(0, 0, -9.81))
    beam = system.add(flexmb.flexible_body(part, basis, name="beam", geometric_stiffness="none"))
    system.fixed("wall", system.ground, beam["root"])
    rest = equilibrium(system)
    tip = flexmb.simulate(system, 1e-6, step=1e-6, initial_state=rest.state).position("beam.tip")[0, 2]
    assert tip == pytest.approx(-7850 * side**2 * 9.81 * length**4 / (8 * 2.1e11 * side**4 / 12), rel=2e-3)


def test_a_loop_settles_where_its_forces_balance():
    crank = equilibrium(tilted_slider_crank())
    assert crank.stable
    assert linearise(crank.mechanism, crank.state).degrees_of_freedom == 1


def tilted_slider_crank():
    """With a motor that balances a part of the weight, so that nothing rests by chance."""
    system = slider_crank()
    system.motor("hold", "bearing", 0.3)
    return system


def test_the_linear_motion_is_the_limit_of_the_nonlinear_one():
    """A small swing about the equilibrium of a loop: its period, to the square of its amplitude."""
    rest = equilibrium(tilted_slider_crank())
    linear = linearise(rest.mechanism, rest.state)
    vibration = linear.modes()
    period = 1 / vibration.frequencies[0]
    shape = vibration.shapes[:, 0].real
    q = np.empty_like(rest.state.q)
    displace(compiled(rest.mechanism), rest.state.q, 1e-3 * shape / np.abs(shape).max(), q)
    moved = replace(rest.mechanism, initial=replace(rest.state, q=q))
    result = flexmb.simulate(moved, 2.2 * period, method="radau", tolerance=1e-9, output_step=period / 200)
    kinetic = result.ledger.kinetic
    peaks = [k for k in range(1, len(kinetic) - 1) if kinetic[k - 1] < kinetic[k] >= kinetic[k + 1]]
    assert 2 * np.diff(result.t[peaks]).mean() == pytest.approx(period, rel=5e-3)


def test_a_spinning_rotor_on_springs_splits_its_frequencies():
    """A symmetric rotor on an isotropic bearing, seen in axes that turn with it: whirl at `omega0 -+ Omega` (closed form of a Laval rotor)."""
    stiffness, mass, speed = 400.0, 1.0, 5.0
    system = flexmb.System()
    disc = system.add(flexmb.rigid_body("disc", mass=mass, inertia=(0.02, 0.02, 0.04)), angular_velocity=(0, 0, speed))
    k = (stiffness, stiffness, stiffness, 1e4, 1e4, 0.0)
    system.bushing("bearing", system.ground.at((0, 0, 0)), disc.at((0, 0, 0)), stiffness=k, axis=(0, 0, 1))
    values = linearise(system).modes().eigenvalues
    whirl = np.sqrt(stiffness / mass)
    for expected in (whirl - speed, whirl, whirl + speed):
        assert np.abs(np.abs(values.imag) - expected).min() < 1e-6
    free = np.abs(values) < 1.0  # the spin: a double eigenvalue with one eigenvector, which rounding splits by its root
    assert np.abs(values.real[~free]).max() < 1e-9
    assert np.abs(values[free]).max() ** 2 < 4 * np.finfo(float).eps * 1e4 / 0.02


def test_the_state_matrix_has_the_eigenvalues_of_the_modes():
    """A mass on a spring and a damper: they decay with `c / 2 m`."""
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    place = system.ground.at((0, 0, 0))
    system.bushing("mount", place, mass.at((0, 0, 0)), stiffness=(200.0, 3e2, 4e2, 5e2, 6e2, 7e2), damping=(1.2,) * 6)
    found = flexmb.linear.linearise(system)
    values = np.linalg.eigvals(found.state_matrix())
    np.testing.assert_allclose(values.real.max(), -1.2 / 4.0, rtol=1e-9)
    expected = found.modes().eigenvalues
    both = np.concatenate([expected, expected.conj()])
    assert len(values) == len(both)
    assert np.abs(values[:, None] - both).min(axis=1).max() < 1e-9 * np.abs(values).max()


def test_the_verb_prints_and_draws(tmp_path, monkeypatch):
    """The rod of the example, its crank held by its driver at rest: softer than free at both ends."""
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parents[3] / "docs" / "examples" / "slider-crank.toml"
    done = CliRunner().invoke(app, ["modes", str(example)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "rests, stable" in done.output
    assert "damping ratio" in done.output
    assert is_picture(tmp_path / "slider-crank.modes.png")


def test_a_search_that_goes_round_in_circles_ends(monkeypatch):
    """Steps back and forth, such as those of points that stick and slip in turns, lead to places seen before."""
    module, back = importlib.import_module("flexmb.linear.rest.search"), iter([1, -1] * 50)

    def step(e, K, *_):
        return np.full(len(K), 0.01 * next(back)), 0.0

    monkeypatch.setattr(module, "newton_step", step)
    with pytest.raises(EquilibriumError, match="found no equilibrium in 13 iterations"):
        equilibrium(pendulum(angle=0.3))


def test_what_has_no_place_of_rest_is_told():
    system = flexmb.System(gravity=(0, 0, -9.81))
    system.add(flexmb.rigid_body("stone", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(EquilibriumError, match="found no equilibrium in 100 iterations"):
        equilibrium(system)
    system.gravity = np.zeros(3)
    with pytest.raises(EquilibriumError, match="6 motion"):
        equilibrium(system)


def test_a_pendulum_on_a_vehicle_that_brakes_hangs_askew():
    """By `atan(a / g)`, as a simulation of a driven slider with it shows too: the angle about which it swings."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), orientation=(0, np.pi / 2, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    rest = equilibrium(system, acceleration=(-3.0, 0, 0))
    tip = rest.result.position("rod.end")[0]
    np.testing.assert_allclose(tip, np.array([3.0, 0, -9.81]) / np.hypot(3.0, 9.81), atol=1e-9)
    assert rest.stable


def test_an_equilibrium_has_energies_and_no_balance():
    """A mass of 2 on a spring of 50 under gravity 10 sinks by 0.4: 4 in the spring, -8 in the field of gravity."""
    system = flexmb.System(gravity=(0, 0, -10.0))
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass, axis=(0, 0, 1))
    system.joint_spring("spring", "guide", stiffness=50.0)
    result = equilibrium(system).result
    ledger = result.ledger
    np.testing.assert_allclose([ledger.springs[0], ledger.gravity[0], ledger.kinetic[0]], [4.0, -8.0, 0.0], atol=1e-9)
    assert not ledger.balances
    assert np.isnan(result.verdict.imbalance)
    assert "nan" not in str(result)
    assert "no simulation" in str(result)


def test_an_equilibrium_tells_what_changes_later():
    """Controllers, loads and laws read functions of time at one time."""
    motions, system = flexmb.time_functions, flexmb.System(gravity=(0, 0, -9.81))
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, mass, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "rail", stiffness=100.0)
    system.load("gust", mass.at((0, 0, 0)), force=(0, 0, 1), factor=motions.smooth_step(1.0, 0.2, 3.0))
    system.load("weight", mass.at((0, 0, 0)), force=(0, 0, 1), factor=motions.constant(3.0))
    inputs = {"measured": "coordinate:rail", "reference": motions.polynomial(0.1, 0.2)}
    system.controller("servo", flexmb.controllers.pid(50.0), inputs=inputs, outputs={"command": "effort:rail"})
    early, late = equilibrium(system), equilibrium(system, 2.0)
    assert [text.rpartition(" of ")[2] for text in early.held] == ["'gust'", "'servo'"]
    assert "held at t = 0: smooth_step" in str(early)
    assert [text.rpartition(" of ")[2] for text in late.held] == ["'servo'"]
    for rest, gust, reference in ((early, 0.0, 0.1), (late, 3.0, 0.5)):
        height = rest.result.coordinate("rail")[0]
        assert height == pytest.approx((gust + 3.0 - 2 * 9.81 + 50 * reference) / 150, rel=1e-9)


def test_a_law_that_fails_on_the_way_to_an_equilibrium_is_named():
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1.0,) * 3))
    system.prismatic("rail", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), axis=(0, 0, 1))

    def short(t, x, xdot):
        if abs(x) > 0.01:
            raise ValueError("beyond the table")
        return -10.0 * x

    system.motor("spring", "rail", short)
    with pytest.raises(EquilibriumError, match=r"law of 'spring' failed.*beyond the table") as caught:
        equilibrium(system)
    assert isinstance(caught.value.__cause__, flexmb.LawError)


def test_a_cantilever_that_bends_beyond_the_range_of_one_body_is_told():
    """The elastica under a transverse tip load of 3 EI / L^2: its tip is at 0.74558 and 0.60325 of its length (elliptic integrals)."""
    beam = fem.Beam(fem.Material.isotropic(12e8, 0.3, 1000.0), fem.Section.rectangle(0.01, 0.01))
    part = fem.Model(line((0, 0, 0), (1, 0, 0), 8), beam).with_interfaces(root="start", tip="end")

    def bent(pieces):
        system = flexmb.System()
        cut = flexmb.split(system, part, pieces, lambda piece: reduction.craig_bampton(piece, modes=2))
        system.fixed("clamp", system.ground, cut["root"])
        system.load("pull", cut["tip"], force=(0, 0, 3.0))
        return equilibrium(system).result.position(f"line {pieces}.tip")[0]

    with pytest.warns(SmallDeformationWarning, match="'line 1' leaves the range"):
        assert abs(bent(1)[2] - 0.60325) > 5e-3
    np.testing.assert_allclose(bent(4), [0.74558, 0.0, 0.60325], atol=1e-4)
