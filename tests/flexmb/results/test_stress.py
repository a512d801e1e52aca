"""Stresses against beam theory, against the full finite element solution, and in time; tables of results."""

import csv
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.matrices.stress import von_mises
from fem.mesh.structured_meshes import block, line
from flexmb.cli.main import app
from flexmb.drawn.surface import _stress_rows
from flexmb.errors import FileError, MeasureError, PictureError, StressError, TruncatedStressWarning
from flexmb.files import load_body, save_body, save_result
from flexmb.files.results.table_file import columns, data_frame, dataset, write_table
from flexmb.files.results.vtk_file import export_vtk
from flexmb.linear import equilibrium, steady_motion
from flexmb.plots.pictures import animate, picture_result
from flexmb.results.measure import measure
from flexmb.results.stress import (
    acceleration_forces,
    largest_stress,
    nodal_von_mises,
    stress_at,
    warn_of_truncated_stress,
    write_stress_csv,
)

L, B, H = 1.0, 0.05, 0.1
FORCE = 1000.0


def cantilever(kind="hexahedron20", divisions=(20, 2, 4), modes=6):
    model = fem.Model(block(kind, (L, B, H), divisions), fem.Material.steel())
    return model.with_interfaces(root="x0", tip="x1")


def loaded(body):
    """The body clamped at its root, a force across at its tip, at rest, as a result of one time."""
    system = flexmb.System(name="cantilever")
    placed = system.add(body)
    system.fixed("clamp", system.ground, placed["root"])
    system.load("force", placed["tip"], force=(0, 0, -FORCE))
    return equilibrium(system).result


@pytest.mark.parametrize(
    ("kind", "divisions", "tolerance"),
    [("hexahedron20", (20, 2, 4), 2e-3), ("tetra10", (20, 2, 4), 1e-2), ("hexahedron", (40, 2, 8), 0.13)],
)
def test_a_bent_block_has_the_stress_of_a_beam(kind, divisions, tolerance):
    """`M h / 2 I` on its outer face; linear cells see it a cell's half depth inside, one part in eight of it here."""
    model = cantilever(kind, divisions)
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 6, reference_frame="root"), name="beam")
    result = loaded(body)
    for x in (0.25, 0.5, 0.75):
        place, stress = stress_at(result, "beam", (x, B / 2, H))
        assert place == pytest.approx([x, B / 2, H])
        assert stress[0, 0] == pytest.approx(FORCE * (L - x) * (H / 2) / (B * H**3 / 12), rel=tolerance)
        assert np.abs(stress[0, 1:3]).max() < 0.02 * stress[0, 0]


def test_a_beam_has_the_stress_of_its_section():
    section = fem.Section.circle(0.04)
    model = fem.Model(line((0, 0, 0), (L, 0, 0), 10), fem.Beam(fem.Material.steel(), section))
    model = model.with_interfaces(root="start", tip="end")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 4, reference_frame="root"), name="beam")
    found = largest_stress(loaded(body), "beam")
    moment = FORCE * (L - found.x[0, 0])
    radius = np.abs(found.x[0, 2])
    assert found.nodes[0] == -1
    assert found.values[0] == pytest.approx(moment * radius / section.Iy, rel=2e-3)


def test_reduced_stresses_are_those_of_the_full_model():
    """A static load that the basis contains: the same stresses at every node of the skin."""
    model = cantilever("tetra10", (10, 2, 2))
    basis = reduction.craig_bampton(model, 4, reference_frame="root")
    body = flexmb.flexible_body(model, basis, name="beam", geometric_stiffness="none")
    result = loaded(body)
    u = basis.Psi @ result.elastic("beam")[0]
    nodes, _, full = model.stresses(np.asarray(u)[:, None])
    shapes = body.stress
    np.testing.assert_array_equal(nodes, shapes.nodes)
    reduced = shapes.rows @ result.elastic("beam")[0]
    np.testing.assert_allclose(reduced, full[:, :, 0], atol=1e-5 * np.abs(full).max())


def test_a_uniform_field_has_a_uniform_stress():
    """Every solid kind: stresses of a linear displacement field, to round-off."""
    gradient = np.random.default_rng(3).normal(size=(3, 3))
    strain = 0.5 * (gradient + gradient.T)
    steel = fem.Material.steel()
    expected = steel.elasticity @ [*np.diag(strain), 2 * strain[0, 1], 2 * strain[1, 2], 2 * strain[0, 2]]
    for kind in ("tetra", "tetra10", "hexahedron", "hexahedron20", "wedge", "wedge15", "pyramid", "pyramid13"):
        model = fem.Model(block(kind, (1.0, 0.7, 0.5), (2, 2, 2)), steel)
        u = (model.points @ gradient.T).ravel()
        found = model.stresses(u[:, None])[2][:, :, 0]
        np.testing.assert_allclose(
            found, np.tile(expected, (len(found), 1)), rtol=1e-8, atol=1e-6 * np.abs(expected).max()
        )


def test_stresses_at_nodes_are_means_by_volume():
    """A long and a short cell share a face; their stresses differ by a jump of the strain between them."""
    mesh = block("hexahedron", (1.0, 1.0, 1.0), (2, 1, 1))
    points = mesh.points.copy()
    points[:, 0] = np.where(np.isclose(points[:, 0], 0.5), 0.8, points[:, 0])
    model = fem.Model(replace(mesh, points=points), fem.Material.isotropic(1.0, 0.0, 1.0))
    u = np.zeros((len(points), 3))
    u[:, 0] = np.interp(points[:, 0], [0.0, 0.8, 1.0], [0.0, 0.8, 1.4])  # strains 1 and 3
    owners, places, stress = model.stresses(u.ravel()[:, None])
    expected = np.interp(places[:, 0], [0.0, 0.8, 1.0], [1.0, 0.8 * 1.0 + 0.2 * 3.0, 3.0])
    assert len(owners) == 12
    np.testing.assert_allclose(stress[:, 0, 0], expected, rtol=1e-12)


def test_stresses_jump_between_materials():
    """Two bars side by side stretch by the same strain 1e-3, and the one that is 200 times as stiff has 200 times the
    stress, also at the nodes that both share; sets of one material have one stress there."""
    mesh = block("hexahedron", (1.0, 0.3, 0.1), (2, 3, 1))
    y = np.array([mesh.points[cell, 1].mean() for cell in mesh.cells[0].connectivity])
    sets = {name: np.flatnonzero(np.abs(y - at) < 0.01) for name, at in (("soft", 0.05), ("a", 0.15), ("b", 0.25))}
    soft, hard, same = (fem.Material.isotropic(E, 0.0, 1.0) for E in (1e9, 2e11, 2e11))
    model = fem.Model(replace(mesh, cell_sets=sets), {"soft": soft, "a": hard, "b": same})
    u = np.zeros((len(mesh.points), 3))
    u[:, 0] = 1e-3 * mesh.points[:, 0]
    owners, places, stress = model.stresses(u.ravel()[:, None])
    shared = np.isclose(places[:, 1], 0.1)
    expected = np.where(places[:, 1] < 0.11, 1e6, 2e8)
    expected[np.flatnonzero(shared)[::2]] = 2e8  # the stiffest first
    np.testing.assert_array_equal(places, mesh.points[owners])
    assert np.bincount(owners).tolist() == (1 + np.isclose(mesh.points[:, 1], 0.1)).tolist()
    np.testing.assert_allclose(stress[:, 0, 0], expected, rtol=1e-12)


def test_between_materials_the_largest_stress_is_shown():
    """A bar half of steel and half of rubber side by side, reduced: the nodes between both have the stress of the
    steel."""
    mesh = block("hexahedron", (1.0, 0.2, 0.1), (4, 2, 1))
    y = np.array([mesh.points[cell, 1].mean() for cell in mesh.cells[0].connectivity])
    sets = {"rubber": np.flatnonzero(y < 0.1), "steel": np.flatnonzero(y > 0.1)}
    rubber = fem.Material.isotropic(1e7, 0.3, 1100.0)
    part = fem.Model(replace(mesh, cell_sets=sets), {"rubber": rubber, "steel": fem.Material.steel()})
    part = part.with_interfaces(root="x0", tip="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="bar")
    eta = np.linspace(1e-5, 2e-5, body.modes)
    shown = nodal_von_mises(body, eta)
    each = von_mises(body.stress.rows @ eta)
    for node in np.flatnonzero(np.isclose(part.points[:, 1], 0.1)):
        of_steel, of_rubber = each[body.stress.nodes == node]
        assert shown[node] == of_steel > 100 * of_rubber
        np.testing.assert_array_equal(
            _stress_rows(body, np.array([node]))[0], body.stress.rows[np.flatnonzero(body.stress.nodes == node)[0]]
        )
    assert np.isfinite(shown).all()


def test_von_mises():
    assert von_mises(np.array([5.0, 0, 0, 0, 0, 0])) == pytest.approx(5.0)
    assert von_mises(np.array([0.0, 0, 0, 2.0, 0, 0])) == pytest.approx(2.0 * np.sqrt(3))
    assert von_mises(np.array([3.0, 3, 3, 0, 0, 0])) == pytest.approx(0.0)


@pytest.fixture(scope="module")
def swinging():
    """A soft bar that swings about its root."""
    soft = fem.Material.isotropic(2e9, 0.3, 1200.0)
    model = fem.Model(block("hexahedron20", (L, B, H), (10, 1, 2)), soft, name="bar").with_interfaces(
        root="x0", tip="x1"
    )
    basis = reduction.craig_bampton(model, 6, reference_frame="root", inputs=["root", "tip", "rotation"])
    body = flexmb.flexible_body(model, basis)
    system = flexmb.System(gravity=(0, 0, -9.81), name="swing")
    placed = system.add(body)
    system.revolute("hinge", system.ground, placed["root"], axis=(0, 1, 0))
    return flexmb.simulate(system, 0.4, step=2e-4, output_step=2e-3)


def test_the_largest_stress_in_time_is_that_of_every_place(swinging):
    found = largest_stress(swinging, "bar")
    shapes = swinging.mechanism.bodies[0].stress
    k = int(found.values.argmax())
    every = von_mises(np.einsum("pim,m->pi", np.asarray(shapes.rows, float), swinging.elastic("bar")[k]))
    assert found.values[k] == pytest.approx(every.max(), rel=1e-5)
    at = int(np.linalg.norm(shapes.x - found.x[k], axis=1).argmin())
    assert every[at] == pytest.approx(every.max(), rel=1e-5)
    assert found.envelope.max() == pytest.approx(found.values.max(), rel=1e-6)
    assert re.match(
        r"largest von Mises stress of 'bar': \S+ at t = \S+, node \d+ at \([^()]*\) of its frame$", str(found)
    )


def test_stresses_are_kept_drawn_and_told(swinging, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = load_body(save_body(swinging.mechanism.bodies[0], tmp_path / "bar.h5"))
    np.testing.assert_array_equal(kept.stress.rows, swinging.mechanism.bodies[0].stress.rows)
    save_result(swinging, tmp_path / "swing.h5")
    assert is_picture(picture_result(swinging, tmp_path / "stress.png", 50, stress=True))
    assert animate(swinging, tmp_path / "stress.gif", frames=3, stress=True).stat().st_size > 1000
    done = CliRunner().invoke(app, ["stress", "swing.h5", "--point", "root=0,0.025,0.1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "largest von Mises stress" in done.output
    table = np.loadtxt(tmp_path / "swing.bar.stress.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 1:7], stress_at(swinging, "bar", (0, 0.025, 0.1))[1], rtol=1e-12)
    for picture in ("swing.bar.stress.png", "swing.bar.stress.picture.png"):
        assert is_picture(tmp_path / picture)
    text = (export_vtk(swinging, tmp_path / "vtk", every=100).parent / "body0_000000.vtu").read_bytes()
    assert b"von_mises" in text


def test_the_picture_of_stresses_is_at_the_time_of_the_largest(swinging, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_result(swinging, tmp_path / "swing.h5")
    drawn = []
    monkeypatch.setattr("flexmb.plots.pictures.picture_result", lambda result, *given, **_: drawn.append(given))
    done = CliRunner().invoke(app, ["stress", "swing.h5", "--magnification", "3"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    envelope = largest_stress(swinging, "bar").values
    ((path, index, magnification),) = drawn
    assert str(path) == "swing.bar.stress.picture.png"
    assert index not in (0, len(envelope) - 1)
    assert envelope[index] == envelope.max()
    assert magnification == 3.0


def test_results_become_tables(swinging, tmp_path):
    table = columns(swinging)
    np.testing.assert_array_equal(table["bar.tip position z"], swinging.position("bar.tip")[:, 2])
    np.testing.assert_array_equal(table["hinge rotation"], swinging.coordinate("hinge"))
    path = write_table(swinging, tmp_path / "swing.csv")
    read = np.genfromtxt(path, delimiter=",", names=True, deletechars="", replace_space=" ")
    np.testing.assert_allclose(read["hinge force z [force]"], swinging.reaction("hinge")[:, 2], rtol=1e-12)
    frame = pandas.read_parquet(write_table(swinging, tmp_path / "swing.parquet"))
    np.testing.assert_array_equal(frame["hinge force z"], swinging.reaction("hinge")[:, 2])
    np.testing.assert_array_equal(dataset(swinging)["bar.tip position z"], data_frame(swinging)["bar.tip position z"])
    with pytest.raises(flexmb.FlexmbError, match=r"\.csv or \.parquet"):
        write_table(swinging, tmp_path / "swing.xls")


def test_a_table_without_moduli_has_no_stresses():
    """They were zero, without a word."""
    stiffness = fem.beam_stiffness(4e6, (1e6, 1e6), 2e3, (4e3, 1e3))
    masses = np.array([fem.beam_mass(2.0, (0.01, 0.01))] * 2)
    values = {"positions": (0.0, 1.0), "stiffness": np.array([stiffness] * 2), "mass": masses, "y_axis": (0, 1, 0)}
    bodies = []
    for moduli in ((0.0, 0.0), (7e10, 2.6e10)):
        part = fem.Model(fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 3), fem.BeamTable(**values, moduli=moduli))
        part = part.with_interfaces(root="start")
        bodies.append(flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="blade"))
    assert bodies[0].stress is None
    assert bodies[1].stress is not None
    system = flexmb.System(gravity=(0, 0, -9.81))
    blade = system.add(bodies[0])
    system.revolute("hub", system.ground, blade["root"], axis=(0, 1, 0))
    with pytest.raises(StressError, match=r"section table its moduli.*none"):
        largest_stress(flexmb.simulate(system, 0.01, step=1e-3), "blade")


def test_what_has_no_stress_is_told(swinging, tmp_path):
    rigid = flexmb.simulate(swinging.mechanism.rigid(), 0.01, step=1e-3)
    with pytest.raises(StressError, match=r"no stresses.*none"):
        largest_stress(rigid, "bar")
    with pytest.raises(PictureError, match="has stresses"):
        picture_result(rigid, tmp_path / "x.png", stress=True)
    with pytest.raises(StressError, match="three finite coordinates"):
        stress_at(swinging, "bar", (0, np.nan, 0))
    written = write_stress_csv(swinging, "bar", {"a, left": (0, 0, 0)}, tmp_path / "a.csv")
    assert written.read_text().startswith('t,"a, left xx","a, left yy",')
    with pytest.raises(FileError, match=r"Cannot write the table .*gone"):
        write_stress_csv(swinging, "bar", {"a": (0, 0, 0)}, tmp_path / "gone" / "a.csv")


def test_the_envelope_is_that_of_all_times_however_they_are_divided(monkeypatch):
    """Times are taken in pieces; the largest stress at each point is over all of them, and not over the last."""
    model = cantilever("hexahedron", (6, 1, 2), 2)
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 2, reference_frame="root"), name="beam")
    system = flexmb.System()
    placed = system.add(body)
    system.fixed("clamp", system.ground, placed["root"])
    system.load("force", placed["tip"], force=(0, 0, -FORCE), factor=flexmb.time_functions.pulse(0.0, 0.04, 1.0))
    result = flexmb.simulate(system, 0.05, step=2e-3, rho_inf=0.5)
    whole = largest_stress(result, "beam")
    monkeypatch.setattr("flexmb.results.stress.CHUNK", 1)
    pieces = largest_stress(result, "beam")
    np.testing.assert_allclose(pieces.envelope, whole.envelope, rtol=1e-6)
    np.testing.assert_allclose(pieces.envelope.max(), pieces.values.max(), rtol=1e-6)
    assert whole.envelope.max() > 1.5 * whole.values[-1]


ROTATION = ["root", "tip", "rotation"]
WEIGHT = ["root", "tip", "gravity"]


def spinning(axis=(0, 0, 1), modes=4, method="craig-bampton", speed=20.0, **options):
    """A bar that spins steadily about its root."""
    model = cantilever("hexahedron20", (10, 1, 2))
    body = flexmb.flexible_body(model, reduction.reduce(model, method, modes=modes, **options), name="bar")
    system = flexmb.System(name="spin")
    placed = system.add(body)
    system.revolute("hinge", system.ground, placed["root"], axis=axis)
    system.drive("hinge", flexmb.time_functions.constant_speed(speed))
    return steady_motion(system).result


def hanging(gravity, modes=4, **options):
    model = cantilever("hexahedron20", (10, 1, 2))
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, modes, **options), name="bar")
    system = flexmb.System(gravity=gravity, name="hanging")
    placed = system.add(body)
    system.fixed("hold", system.ground, placed["root"])
    return equilibrium(system).result


def told(result):
    """The largest stress, and what the warning about missing stresses says of the largest with them; None without."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always", TruncatedStressWarning)
        found = largest_stress(result, "bar").values.max()
    if not messages:
        return found, None, ""
    (text,) = [str(m.message) for m in messages]
    return found, float(re.search(r"missing: ([0-9.e+]+),", text)[1]), text


def test_a_bar_that_spins_about_its_root_is_told_to_lack_a_third_of_its_stress():
    """Of `rho w^2 L^2 / 2` at the root, Craig-Bampton holds 2/3, everywhere: at the tip all of it is wrong."""
    exact = told(spinning(inputs=ROTATION))
    assert exact[1] is None
    for options in ({}, {"reference_frame": "root"}, {"reference_frame": "tip"}):
        found, full, text = told(spinning(**options))
        assert found == pytest.approx(0.67 * exact[0], rel=0.02)
        assert full == pytest.approx(exact[0], rel=0.01)
        assert "Body 'bar'" in text
        assert f"{full / found - 1:.0%} more" in text
        assert 'inputs=["root", "tip", "rotation"]' in text
        assert 0.4 < 0.01 * float(re.search(r"about (\d+)%", text)[1]) < 0.67
    with pytest.warns(TruncatedStressWarning, match="'bar'"):
        stress_at(spinning(), "bar", (0, 0, 0))


def test_stresses_that_are_missing_elsewhere_do_not_change_the_largest():
    """The warning gave the same number twice; here a larger stress, as by a force, is somewhere else."""
    result = spinning()
    largest = 2.0 * told(result)[0]
    with pytest.warns(
        TruncatedStressWarning, match=r"is missing, .*found is (\S+); .* missing: \1, so that it hardly changes"
    ):
        warn_of_truncated_stress(result, "bar", largest)


def test_what_is_missing_is_the_difference_to_the_basis_that_holds_it():
    """Rotation about an axis in no plane of symmetry, at every place that is looked at, for frames and methods. The
    speed is low, so that the deformation, which changes the forces, is small."""
    how = {"axis": (0.48, 0.6, 0.64), "speed": 0.5}
    right = spinning(**how, inputs=ROTATION)
    exact = right.mechanism.bodies[0].stress.rows @ right.elastic("bar")[0]
    for options in ({}, {"reference_frame": "root"}, {"method": "herting"}, {"modes": 12}):
        result = spinning(**how, **options)
        shapes = result.mechanism.bodies[0].stress
        forces = np.add(*acceleration_forces(result, "bar"))[0]
        full = shapes.rows[shapes.lacking_at] @ result.elastic("bar")[0] + shapes.lacking @ forces
        missing = np.abs(shapes.lacking @ forces).max()
        np.testing.assert_allclose(full, exact[shapes.lacking_at], atol=2e-3 * missing)
        assert missing > 1e-4 * np.abs(exact).max()


def test_a_hanging_bar_lacks_half_of_its_stress_and_one_across_next_to_nothing():
    """`rho g L` at the root, of which the shapes hold the mean; bent by its weight it has the moment at its root."""
    exact = told(hanging((9.81, 0, 0), inputs=WEIGHT))
    found, full, text = told(hanging((9.81, 0, 0)))
    assert exact[1] is None
    assert 0.5 < found / exact[0] < 0.57  # the stress at the root is that of the middle of its cells, 0.95 L
    assert full == pytest.approx(exact[0], rel=0.01)
    assert 'inputs=["root", "tip", "gravity"]' in text
    across = told(hanging((0, 0, 9.81)))
    assert across[1] is None
    assert across[0] == pytest.approx(told(hanging((0, 0, 9.81), inputs=WEIGHT))[0], rel=0.02)


def test_stresses_of_forces_at_interfaces_are_not_warned_of(swinging):
    """A load at the tip beside a small weight, with and without second-order field; a body in free fall; and a swing
    whose basis holds weight and rotation (without: 23 % of the largest stress are told, 31 % are missing)."""
    model = cantilever("hexahedron20", (10, 1, 2))
    for geometric_stiffness in ("none", "second-order"):
        body = flexmb.flexible_body(
            model, reduction.craig_bampton(model, 4), name="bar", geometric_stiffness=geometric_stiffness
        )
        assert body.stress.lacking.shape[1:] == (6, 12)
        system = flexmb.System(gravity=(9.81, 0, 0))
        placed = system.add(body)
        system.fixed("hold", system.ground, placed["root"])
        system.load("pull", placed["tip"], force=(0, 0, 1e3))
        assert told(equilibrium(system).result)[1] is None
    free = flexmb.System(gravity=(0, 0, -9.81))
    free.add(body)
    assert told(flexmb.simulate(free, 0.01, step=1e-3))[1] is None
    assert told(swinging)[1] is None


def test_what_is_missing_is_looked_for_about_the_mass_centre_wherever_the_frame_is():
    """Of a bar without symmetry: for each acceleration about its mass centre, the largest stress of the points that are
    kept does not depend on where the mesh is drawn."""

    def largest(shift):
        mesh = block("hexahedron", (1.0, 0.3, 0.2), (5, 2, 2))
        points = mesh.points + 0.1 * mesh.points[:, [1, 2, 0]] ** 2 + np.asarray(shift)
        model = fem.Model(replace(mesh, points=points), fem.Material.steel()).with_interfaces(root="x0", tip="x1")
        shapes = flexmb.flexible_body(model, reduction.craig_bampton(model, 4), geometric_stiffness="none").stress
        about = np.eye(12)
        for a, b in np.ndindex(3, 3):  # (X - centre)_a e_b
            about[b, 3 + 3 * a + b] = -model.centre_of_mass[a]
        return np.array([von_mises(shapes.lacking @ pattern).max() for pattern in about.T])

    here = largest((0, 0, 0))
    assert (here > 0).all()
    for shift in ((7.0, -4.0, 3.0), (-2.0, 5.0, 9.0)):
        np.testing.assert_allclose(largest(shift), here, rtol=1e-4)


def test_bodies_keep_what_they_lack(tmp_path):
    body = spinning().mechanism.bodies[0]
    kept = load_body(save_body(body, tmp_path / "bar.h5")).stress
    np.testing.assert_array_equal(kept.lacking, body.stress.lacking)
    np.testing.assert_array_equal(kept.lacking_at, body.stress.lacking_at)
    damaged = replace(body, stress=replace(body.stress, lacking_at=body.stress.lacking_at + len(body.stress.x)))
    with pytest.raises(flexmb.FlexmbError, match="lacks"):
        load_body(save_body(damaged, tmp_path / "damaged.h5"))


def test_the_shear_force_of_a_beam_stands_in_its_own_column(tmp_path):
    """A force along z makes the stress zx, in the middle of the height 3/2 of its mean, and neither xy nor yz.

    Cells a quarter of the height high continue the parabola to their nodes along straight lines, which adds some 10 %."""
    model = cantilever(divisions=(10, 2, 4))
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 6, reference_frame="root"), name="beam")
    path = write_stress_csv(loaded(body), "beam", {"a": (L / 2, B / 2, H / 2)}, tmp_path / "a.csv")
    row = dict(
        zip(path.read_text().split("\n")[0].split(","), np.loadtxt(path, delimiter=",", skiprows=1), strict=True)
    )
    assert row["a zx"] == pytest.approx(-1.5 * FORCE / (B * H), rel=0.12)
    assert max(abs(row["a xy"]), abs(row["a yz"])) < 0.05 * abs(row["a zx"])


def test_names_of_points_may_have_commas(swinging, tmp_path):
    with write_stress_csv(swinging, "bar", {"root, top": (0, 0, 0)}, tmp_path / "a.csv").open(newline="") as file:
        header, first = next(rows := csv.reader(file)), next(rows)
    assert header[:2] == ["t", "root, top xx"]
    assert len(header) == len(first) == 8


def test_elastic_coordinates_are_counted_from_one(swinging):
    np.testing.assert_array_equal(measure("elastic:bar:1")(swinging), swinging.elastic("bar")[:, 0])
    for number in ("0", "7000"):
        with pytest.raises(MeasureError, match=f"coordinates 1 to .*elastic:bar:{number}"):
            measure(f"elastic:bar:{number}")(swinging)
