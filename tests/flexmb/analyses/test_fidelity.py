"""The same mechanism at several fidelities."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from mechanisms import flexible_pendulum, random_flexible_body
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.analyses.compare import Comparison, amplitudes
from flexmb.analyses.fidelity import with_fidelity, with_modes, without_second_order
from flexmb.bodies.dynamics import inertia_force, mass_matrix
from flexmb.bodies.subspace import transformed
from flexmb.cli.main import app
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import SECOND_ORDER
from flexmb.linear import equilibrium
from flexmb.mechanism.compile import compiled
from flexmb.plots.result_plots import plot_comparison
from flexmb.simulation.events import Event, Terminate


@pytest.fixture(scope="module")
def comparison():
    system = flexible_pendulum(np.random.default_rng(5), second_order=True)
    return flexmb.compare(system, 0.5, ("rigid", 1, 2, "linear", "flexible"), step=5e-4, output_step=2e-3)


def test_each_fidelity_is_the_mechanism_that_it_says(comparison):
    """Fewer coordinates as if they were never there; the linear one with no field of second order."""
    assert list(comparison.results) == ["rigid", "1 modes", "2 modes", "linear", "flexible"]
    modes = [r.mechanism.bodies[0].modes for r in comparison.results.values()]
    assert modes == [0, 1, 2, 3, 3]
    slices = [int(compiled(r.mechanism).slices[0]) for r in comparison.results.values()]
    assert [s == SECOND_ORDER for s in slices] == [False, True, True, False, True]
    held = replace(
        flexible_pendulum(np.random.default_rng(5), second_order=True).build(),
        bodies=(random_flexible_body(np.random.default_rng(5), second_order=True, stiffness=(300.0, 900.0)),),
    )
    stiff = held.bodies[0].stiffness.copy()
    *softest, last = np.argsort(stiff)
    stiff[last] *= 1e10
    held = replace(held, bodies=(replace(held.bodies[0], stiffness=stiff),))
    exact = flexmb.simulate(held, 0.5, step=5e-4, output_step=2e-3)
    found = comparison.results["2 modes"]
    np.testing.assert_allclose(found.elastic("random"), exact.elastic("random")[:, softest], atol=2e-6)
    np.testing.assert_allclose(found.frame("random")[0], exact.frame("random")[0], atol=1e-6)


def test_more_coordinates_come_nearer(comparison):
    off = [np.abs(comparison.difference("random.end", name)).max() for name in ("rigid", "1 modes", "2 modes")]
    assert off[0] > off[1] > off[2] > 0
    assert comparison.reference is comparison.flexible is comparison.results["flexible"]
    with pytest.raises(MechanismError, match=r"fidelity named '1 mode'. Did you mean '1 modes'"):
        comparison.difference("random.end", "1 mode")


def test_results_that_events_end_at_different_times_are_not_compared():
    system = flexible_pendulum(np.random.default_rng(5), second_order=True)
    fallen = Event("fallen", lambda r: -0.1 - r.position("random.end")[:, 1], Terminate())
    with pytest.raises(MechanismError, match="different times, which cannot be compared: 'rigid' at t = "):
        flexmb.compare(system, 2.0, step=1e-3, events=[fallen])


def test_the_table_and_the_plot_have_every_fidelity(comparison, tmp_path):
    text = str(comparison)
    for part in ("1 modes", "linear", "force in hinge", "path of random.end", "CPU time"):
        assert part in text
    _, axes = plot_comparison(comparison, tmp_path / "compare.png")
    assert is_picture(tmp_path / "compare.png")
    assert [axis.get_ylabel() for axis in axes[:2]] == ["force", "amplitude"]


def test_the_differences_of_the_table_are_those_of_the_first_fidelity_to_the_reference(comparison):
    joint = comparison.reference.mechanism.joints[0].name
    row = next(line for line in str(comparison).splitlines() if line.startswith(f"force in {joint}"))
    forces = comparison.forces(joint)
    off = np.abs(forces["rigid"] - forces["flexible"]).max()
    assert row.split()[-1] == f"{off:.6g}" != f"{np.abs(forces['rigid'] - forces['1 modes']).max():.6g}"


def test_a_spectrum_finds_a_frequency():
    body = random_flexible_body(np.random.default_rng(5))
    system = flexmb.System()
    system.add(body, eta=(0.01, 0, 0))
    found = flexmb.compare(system, 4.0, ("linear", "flexible"), step=1e-3, output_step=4e-3)
    frequencies, spectra = found.spectra(lambda r: r.elastic("random")[:, 0])
    rigid_part = 1 / (1 - body.invariants.S1[:, 0] @ body.invariants.S1[:, 0] / body.invariants.mass)
    top = frequencies[spectra["flexible"].argmax()]
    assert top > 0.9 * body.frequencies[0]
    assert rigid_part > 1


def test_bodies_with_fewer_modes_keep_what_belongs_to_them():
    import fem
    import reduction

    model = fem.Model(fem.structured_meshes.block("hexahedron20", (1.0, 0.1, 0.1), (6, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 4))
    few = with_modes(body, 3)
    assert few.modes == 3
    assert few.Psi.shape[1] == few.stress.rows.shape[2] == few.validity.strain.shape[2] == 3
    assert (few.quadratic.pairs < 3).all()
    eta = np.array([1e-3, -2e-3, 1e-3])
    np.testing.assert_allclose(
        few.interface("b").motion(eta), body.interface("b").motion(np.append(eta, np.zeros(body.modes - 3)))
    )
    assert with_modes(body, 100) is body
    linear = without_second_order(body)
    assert linear.quadratic is None
    assert not linear.invariants.second_order
    assert without_second_order(linear) is linear


def test_the_coordinates_that_are_kept_are_the_softest_in_whatever_order_a_body_has_them():
    """Bodies in files of arrays have the order of their authors."""
    body = random_flexible_body(np.random.default_rng(5), modes=4)
    turned = transformed(body, np.eye(4)[:, [2, 3, 0, 1]])
    np.testing.assert_array_equal(turned.stiffness, body.stiffness[[2, 3, 0, 1]])
    for modes in (1, 2, 3):
        few = with_modes(turned, modes)
        np.testing.assert_array_equal(few.stiffness, np.sort(body.stiffness)[:modes])
        eta = np.arange(1.0, modes + 1)
        expected = with_modes(body, modes).interface("end").motion(eta)
        np.testing.assert_allclose(few.interface("end").motion(eta), expected, atol=1e-14)


def test_bad_fidelities_are_told():
    mechanism = flexible_pendulum(np.random.default_rng(5)).build()
    with pytest.raises(MechanismError, match=r"'rigd'.*rigid.*number of elastic coordinates"):
        with_fidelity(mechanism, "rigd")
    for wrong in (2.7, True, None):
        with pytest.raises(MechanismError, match=f"whole number of elastic coordinates; found {wrong}"):
            with_fidelity(mechanism, wrong)
    with pytest.raises(MechanismError, match="at least one elastic coordinate"):
        with_fidelity(mechanism, 0)
    for wrong in (("rigid",), "rigid", ("rigid", "rigid"), ()):
        with pytest.raises(MechanismError, match=r"at least two different .*simulate\(system\.build\(\)\.rigid\(\)"):
            flexmb.compare(mechanism, 0.1, wrong)
    with pytest.raises(MechanismError, match="nothing to compare"):
        flexmb.compare(mechanism.rigid(), 0.1)


def test_the_verb_takes_fidelities(tmp_path, monkeypatch):
    from pathlib import Path

    monkeypatch.chdir(tmp_path)
    example = str(Path(__file__).parents[3] / "docs" / "examples" / "slider-crank.toml")
    words = [
        "compare",
        example,
        "--duration",
        "0.002",
        "--fidelity",
        "rigid",
        "--fidelity",
        "4",
        "--fidelity",
        "flexible",
    ]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "4 modes" in done.output
    assert "von Mises stress of rod" in done.output
    assert is_picture(tmp_path / "slider-crank.comparison.png")


def test_a_spectrum_leaves_out_the_end_that_an_output_step_does_not_reach():
    system = flexible_pendulum(np.random.default_rng(2))
    options = {"step": 1e-3, "output_step": 3e-3}
    whole, longer = (flexmb.compare(system, duration, **options) for duration in (0.099, 0.1))
    (f, a), (g, b) = (c.spectra(lambda r: r.position("random.end")[:, 1]) for c in (whole, longer))
    np.testing.assert_allclose(f, g, rtol=1e-9)
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("count", [1000, 1001])
def test_amplitudes_are_those_of_the_periodogram(count):
    """Of a signal with a mean and a trend."""
    rng = np.random.default_rng(5)
    values = 3.0 + np.linspace(0.0, 2.0, count) + rng.standard_normal(count)
    power = scipy.signal.periodogram(values, 1.0, "hann", detrend="linear", scaling="spectrum")[1]
    np.testing.assert_allclose(amplitudes(values), np.sqrt(2 * power), rtol=1e-12)


def test_the_most_different_joint_has_the_largest_difference_at_any_time():
    """A force that is off by 1 at all times is nearer than one that is off by 5 at one time."""

    def result(steady, peak):
        forces = {"steady": np.full(3, steady), "peak": np.array([0.0, peak, 0.0])}
        joints = [SimpleNamespace(name=name) for name in forces]
        return SimpleNamespace(
            mechanism=SimpleNamespace(joints=joints), reaction=lambda name: forces[name][:, None] * np.eye(6)[0]
        )

    assert Comparison({"rigid": result(7.0, 0.0), "flexible": result(8.0, 5.0)}).most_different_joint() == "peak"


def test_the_linear_fidelity_is_the_body_that_was_made_without_geometric_stiffness():
    part = fem.Model(block("hexahedron20", (1.0, 0.03, 0.02), (6, 1, 1)), fem.Material.isotropic(2e9, 0.3, 1500.0))
    part = part.with_interfaces(root="x0", tip="x1")
    basis = reduction.craig_bampton(part, modes=2, reference_frame="root")
    made = flexmb.flexible_body(part, basis, name="rod", geometric_stiffness="none")
    left = without_second_order(flexmb.flexible_body(part, basis, name="rod", geometric_stiffness="second-order"))
    rng = np.random.default_rng(2)
    for _ in range(3):
        eta, w = 0.05 / made.deflection * rng.normal(size=made.modes), rng.normal(size=6 + made.modes)
        force = inertia_force(made, eta, w)
        np.testing.assert_allclose(inertia_force(left, eta, w), force, atol=1e-9 * np.abs(force).max())
        np.testing.assert_allclose(mass_matrix(left, eta), mass_matrix(made, eta), atol=1e-9)


def test_the_linear_fidelity_has_no_second_order_at_surfaces():
    """A column on its foot, under half of its buckling load: the deflection is that of the basis without geometric
    stiffness. The force of the floor alone softened it."""
    part = fem.Model(block("hexahedron", (0.05, 0.05, 1.0), (1, 1, 8)), fem.Material.isotropic(1e9, 0.0, 1000.0))
    part = part.with_interfaces(load="z1", root="z0").with_surfaces(foot="z0")
    basis, push = reduction.contact_basis(part, modes=4), 0.5 * np.pi**2 * 1e9 * 0.05**4 / 48

    def stands(**options):
        system = flexmb.System()
        column = system.add(flexmb.flexible_body(part, basis, name="column", **options))
        system.load("push", column["load"], force=(1e-4 * push, 0.0, -push))
        floor = flexmb.contact.Plane().on(system.ground.at((0.0, 0.0, 0.0)), axis=(0.0, 0.0, 1.0))
        system.contact("floor", floor, column.surface("foot"), friction=0.9)
        return system.build()

    def deflection(mechanism):
        return equilibrium(mechanism).result.position("column.load")[-1, 0] - 0.025

    none = deflection(stands(geometric_stiffness="none"))
    assert deflection(with_fidelity(stands(), "linear")) == pytest.approx(none, rel=1e-9)
    assert deflection(stands()) > 1.15 * none


def touching():
    """A block of rubber that falls on a plane with its flexible lower face."""
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1)), fem.Material.isotropic(1e7, 0.3, 1000.0))
    part = part.with_surfaces(below="z0")
    system = flexmb.System(gravity=(0, 0, -9.81), name="a block")
    own = system.add(flexmb.flexible_body(part, reduction.contact_basis(part, 8), name="block"), position=(0, 0, 1e-3))
    floor = flexmb.contact.Plane().on(system.ground.at((0.0, 0.0, 0.0)), axis=(0.0, 0.0, 1.0))
    system.contact("floor", floor, own.surface("below"))
    return system


def test_adapted_coordinates_of_surfaces_that_touch_are_those_of_the_flexible_motion(tmp_path):
    """They were derived for the rigid motion, which such a contact does not have. The block falls flat, so that
    two of its coordinates move, all that are found."""
    options = {"step": 1e-4, "output_step": 1e-3}
    compared = flexmb.compare(touching(), 0.05, ("adapted 1", "adapted 8", "flexible"), **options)
    few, all_of_them, whole = compared.results.values()
    assert [result.mechanism.bodies[0].modes for result in (few, all_of_them)] == [1, 2]
    force = [result.force("floor")[:, 2] for result in (few, all_of_them, whole)]
    assert force[2].max() > 0.0
    assert np.abs(force[1] - force[2]).max() < 1e-9 * force[2].max()
    assert np.abs(force[0] - force[2]).max() > 1e-6 * force[2].max()
    _, (top, *_) = plot_comparison(compared, tmp_path / "compared.png")
    assert top.get_title() == "a block: no joint"
    assert is_picture(tmp_path / "compared.png")
    with pytest.raises(MechanismError, match="'a block' has no joint whose forces could differ"):
        compared.most_different_joint()


@pytest.mark.parametrize("fidelities", [("rigid", "flexible"), ("adapted 2", "rigid")])
def test_the_rigid_fidelity_is_refused_where_flexible_surfaces_touch(fidelities):
    with pytest.raises(
        MechanismError, match=r"Contact 'floor' of 'a block' .* 'rigid' .* Leave it out, as in \['"
    ) as e:
        flexmb.compare(touching(), 0.01, fidelities, step=1e-3)
    assert ("'adapted 2', 'flexible'" if "adapted 2" in fidelities else "'linear', 'flexible'") in str(e.value)
    with pytest.raises(MechanismError, match=r"has no flexible surface 'below'.*Mechanism.rigid\(\)"):
        flexmb.simulate(touching().build().rigid(), 0.01, step=1e-3)
