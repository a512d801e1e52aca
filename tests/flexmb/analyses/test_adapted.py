"""Order reduction along a motion, and bodies confined to some combinations of their coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import flexible_pendulum, random_flexible_body
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.analyses.adapted import adapted
from flexmb.analyses.fidelity import with_fidelity
from flexmb.bodies.dynamics import inertia_force, mass_matrix
from flexmb.bodies.subspace import in_subspace, own_coordinates
from flexmb.cli.main import app
from flexmb.errors import MechanismError

RNG = np.random.default_rng(2)
CRANK, ROD, SPEED = 0.1524, 0.3048, 124.8


def slider_crank(diameter):
    """Meijaard's slider-crank, spun up: a steel rod of beams, 18 elastic coordinates."""
    beam = fem.Beam(fem.Material.isotropic(2.06843e11, 0.3, 7834.56), fem.Section.circle(diameter))
    model = fem.Model(line((0, 0, 0), (ROD, 0, 0), 20), beam, name="rod")
    model = model.with_interfaces(pin="start", slider="end", middle=[10])
    rod = flexmb.flexible_body(model, reduction.craig_bampton(model, 6), modal_damping=0.02)
    system = flexmb.System(name="slider-crank")
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=CRANK))
    placed = system.add(rod, position=(CRANK, 0, 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank["start"], axis=(0, 0, 1))
    system.revolute("crank pin", crank["end"], placed["pin"], axis=(0, 0, 1))
    system.joint("point-on-line", "slide", system.ground.at((CRANK + ROD, 0, 0)), placed["slider"], axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.spin_up(SPEED, 0.05))
    return system.build()


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
@pytest.mark.filterwarnings("ignore::flexmb.SmallDeformationWarning")  # linear displacements of the thin rod
@pytest.mark.parametrize("diameter", [6.35e-3, 3e-3])
def test_four_coordinates_do_what_eighteen_do(diameter):
    """On a rod that bends by less than a per cent of its length, and on one that bends by four; the softest four modes, and linear ones, do not."""
    full = slider_crank(diameter)
    options = {"step": 2e-5, "output_step": 2e-4}
    nominal = flexmb.simulate(full.rigid(), 0.08, **options)
    exact = flexmb.simulate(full, 0.08, **options).position("rod.middle")
    bent = np.abs(exact - nominal.position("rod.middle")).max()
    errors = {}
    for name, variant in (
        ("adapted", adapted(full, nominal, 4)),
        ("softest", with_fidelity(full, 4)),
        ("linear", with_fidelity(full, "linear")),
    ):
        result = flexmb.simulate(variant, 0.08, **options)
        errors[name] = np.abs(result.position("rod.middle") - exact).max() / bent
        if name == "adapted":
            assert variant.bodies[1].modes <= 4
            assert np.abs(result.ledger.residual).max() < 1e-3 * result.ledger.elastic.max()
    assert errors["adapted"] < 0.01
    assert errors["softest"] > 5 * errors["adapted"]
    assert errors["linear"] > 5 * errors["adapted"]


def test_all_coordinates_are_the_body_itself():
    """In a turned basis of all coordinates the motion is the same, from any start, pictures and stresses included."""
    mechanism = flexible_pendulum(np.random.default_rng(5), second_order=True).build()
    nominal = flexmb.simulate(mechanism, 0.3, step=1e-3)
    mechanism = replace(mechanism, initial=nominal.state(-1), start_rows=())  # bent, and bending
    again = adapted(mechanism, nominal, 100)
    assert again.bodies[0].modes == mechanism.bodies[0].modes
    a, b = (flexmb.simulate(m, 0.3, step=1e-3) for m in (mechanism, again))
    marker = next(name for name in mechanism.interface_markers() if name.endswith("end"))
    assert np.abs(a.position(marker) - b.position(marker)).max() < 1e-9
    assert np.abs(a.ledger.elastic - b.ledger.elastic).max() < 1e-7 * a.ledger.elastic.max()


@pytest.mark.parametrize("second_order", [True, False])
def test_a_confined_body_has_the_equations_of_the_whole_in_its_span(second_order):
    body = random_flexible_body(RNG, second_order=second_order)
    A = RNG.normal(size=(body.modes, 2))
    T = own_coordinates(body, A)
    np.testing.assert_allclose(T.T @ T, np.eye(2), atol=1e-13)
    np.testing.assert_allclose(T @ (T.T @ A), A, atol=1e-12)
    small = in_subspace(body, A)
    z, w = 0.05 * RNG.normal(size=2), RNG.normal(size=8)
    wide = np.zeros((6 + body.modes, 8))
    wide[:6, :6], wide[6:, 6:] = np.eye(6), T
    np.testing.assert_allclose(mass_matrix(small, z), wide.T @ mass_matrix(body, T @ z) @ wide, atol=1e-12)
    np.testing.assert_allclose(inertia_force(small, z, w), wide.T @ inertia_force(body, T @ z, wide @ w), atol=1e-11)
    for name, interface in body.interfaces.items():
        np.testing.assert_allclose(small.interfaces[name].motion(z), interface.motion(T @ z), atol=1e-13)


def test_pictures_and_stresses_follow():
    model = fem.Model(fem.structured_meshes.block("hexahedron20", (1.0, 0.1, 0.05), (5, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 4))
    T = own_coordinates(body, np.eye(body.modes)[:, :3] + 0.1 * RNG.normal(size=(body.modes, 3)))
    small, z = in_subspace(body, T), 1e-4 * RNG.normal(size=3)
    whole = body.displacements(T @ z)
    np.testing.assert_allclose(small.displacements(z), whole, atol=2e-6 * np.abs(whole).max())
    ours, theirs = small.stress.rows @ z, body.stress.rows @ (T @ z)
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
def test_comparisons_take_adapted_bodies(tmp_path, monkeypatch):
    comparison = flexmb.compare(slider_crank(6.35e-3), 0.02, ("rigid", "adapted 2", "flexible"), step=5e-5)
    assert list(comparison.results) == ["rigid", "adapted 2", "flexible"]
    assert comparison.results["adapted 2"].mechanism.bodies[1].modes == 2
    off = [np.abs(comparison.difference("rod.middle", name)).max() for name in ("rigid", "adapted 2")]
    assert off[1] < 0.3 * off[0]
    monkeypatch.chdir(tmp_path)
    wrong = CliRunner().invoke(app, ["compare", "absent.toml", "--fidelity", "adapted 2"])
    assert wrong.exit_code != 0


def test_refusals():
    mechanism = flexible_pendulum(np.random.default_rng(5)).build()
    motion = flexmb.simulate(mechanism.rigid(), 0.01, step=1e-3)
    with pytest.raises(MechanismError, match="at least one coordinate"):
        adapted(mechanism, motion, 0)
    with pytest.raises(MechanismError, match="that of another mechanism"):
        adapted(slider_crank(3e-3), motion, 2)
    for name in ("adapted", "adapted 2 of 18"):
        with pytest.raises(MechanismError, match=f"no fidelity named '{name}'"):
            flexmb.compare(mechanism, 0.1, (name, "flexible"))
