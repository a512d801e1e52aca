"""Flexible surfaces of reduced bodies that touch rigid shapes: forces, results, files and refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import pyvista
from impact import impact, normal_rows
from PIL import Image
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.errors import FlexmbError
from fem.mesh.structured_meshes import block, tube
from flexmb.cli.main import app
from flexmb.contact import Bore, Plane, Socket, Sphere, mesh, power_law
from flexmb.errors import CoarseOutputWarning, IntegratorError, MechanismError, PictureError, TruncatedShapeWarning
from flexmb.files import export_vtk, load_body, load_model, load_result, save_body, save_result
from flexmb.plots.pictures import picture_result
from flexmb.plots.result_plots import plot_contact
from flexmb.plots.scene import PRESSURE, MovingScene
from flexmb.results.elements.surface_contact import pressure_films
from flexmb.results.measure import measure
from flexmb.simulation.events import Event, Lock, Release, Terminate

G = 9.81


def soft_block(second_order=False, modes=6):
    """A small block of rubber that touches with its lower face."""
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1)), material).with_surfaces(below="z0")
    basis = reduction.contact_basis(part, modes)
    kind = "second-order" if second_order else "none"
    return flexmb.flexible_body(part, basis, name="block", modal_damping=0.05, geometric_stiffness=kind)


BLOCK = soft_block()


def on_a_plane(body=BLOCK, slope=0.0, friction=0.0, height=0.0, velocity=(0, 0, 0), turned=None):
    """The body on a plane, with gravity inclined by `slope` (rad); all `turned` by a rotation (3, 3)."""
    R = np.eye(3) if turned is None else turned
    system = flexmb.System(gravity=R @ (G * np.sin(slope), 0, -G * np.cos(slope)))
    own = system.add(body, position=R @ (0, 0, height), orientation=R, velocity=R @ velocity)
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=R[:, 2], x_axis=R[:, 0])
    system.contact("floor", floor, own.surface("below"), friction=friction)
    return system


def test_the_force_is_that_of_a_readable_integration():
    rows, C, up = normal_rows(BLOCK, "below", np.array([0.0, 0.0, 1.0]))
    body = replace(BLOCK, damping=np.zeros(BLOCK.modes))
    gap, step, duration = 1e-3, 2e-5, 4e-3
    done = impact(rows, C, body.stiffness, np.full(len(rows), gap), up, 1.0, duration, step)
    system = flexmb.System()
    own = system.add(body, position=(0, 0, gap), velocity=(0, 0, -1.0))
    system.contact("floor", own.surface("below"), Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1)))
    result = flexmb.simulate(system, duration, step=step, output_step=step)
    assert done.force.max() > 0
    assert np.abs(result.force("floor")[1:, 2] - done.force).max() < 1e-6 * done.force.max()
    energy = result.ledger.total
    assert np.abs(energy[1:] - done.energy).max() < 1e-6 * energy[0]


def test_a_body_at_rest_presses_with_its_weight_and_slides_without_friction():
    slope, weight = 0.1, BLOCK.invariants.mass * G
    result = flexmb.simulate(on_a_plane(slope=slope), 0.1, step=1e-3)
    assert result.velocity("block")[-1, 0] == pytest.approx(G * np.sin(slope) * 0.1, rel=1e-9)
    over = result.surface_contact("floor")
    assert over.gap.min() > -1e-12
    np.testing.assert_allclose(over.gap[1:][over.normal_force[1:] > 0], 0.0, atol=1e-12)
    assert over.normal_force[50:].sum(axis=1).mean() == pytest.approx(weight * np.cos(slope), rel=0.1)
    np.testing.assert_allclose(over.pressure * over.areas, over.normal_force)
    np.testing.assert_allclose(over.total, result.force("floor")[:, :3])
    assert over.area.max() == pytest.approx(0.06)
    assert over.wear_power.max() == 0
    contact = result.contact("floor")
    np.testing.assert_allclose(contact.normal_force, over.normal_force.sum(axis=1), atol=1e-9 * weight)
    energies = result.energy_by_element()["floor"]
    np.testing.assert_allclose(energies.stored, over.stored)
    assert over.stored.max() > 0


@pytest.mark.parametrize("slope", [0.25, 0.35])
def test_friction_holds_below_its_angle_and_lets_slide_beyond(slope):
    result = flexmb.simulate(on_a_plane(slope=slope, friction=0.3), 0.2, step=1e-3)
    over = result.surface_contact("floor")
    excess = over.friction_force - 0.3 * over.normal_force
    assert excess.max() < 1e-8 * over.normal_force.max()
    speed = result.velocity("block")[-1, 0]
    wanted = max(G * (np.sin(slope) - 0.3 * np.cos(slope)) * 0.2, 0.0)
    assert speed == pytest.approx(wanted, abs=5e-3)
    heat = result.ledger.damper_heat
    assert np.diff(heat).min() > -1e-9
    if wanted:
        moved = result.position("block")[-1, 0] - result.position("block")[0, 0]
        weight = BLOCK.invariants.mass * G * np.cos(slope)
        assert heat[-1] == pytest.approx(0.3 * weight * moved, rel=0.05)
        assert result.ledger.imbalance < 2e-2


def test_forces_do_not_depend_on_the_orientation_in_the_world():
    body = soft_block(second_order=True)
    turned = flexmb.spatial.lie.rotation_exp(np.array([0.7, -1.1, 0.4]))
    runs = [
        flexmb.simulate(on_a_plane(body, 0.2, 0.3, 1e-4, (0.3, 0.1, -0.5), R), 0.01, step=2e-4)
        for R in (np.eye(3), turned)
    ]
    forces = [run.surface_contact("floor").force for run in runs]
    assert np.abs(forces[0]).max() > 0
    np.testing.assert_allclose(forces[1] @ turned, forces[0], atol=1e-6 * np.abs(forces[0]).max())
    slips = [run.surface_contact("floor").slip for run in runs]
    assert slips[0].max() > 0.1
    np.testing.assert_allclose(slips[1], slips[0], atol=1e-5 * slips[0].max())


def test_a_body_that_has_left_has_no_area_in_contact():
    """The forces of its nodes are round-off, of either sign."""
    dropped = flexmb.System(gravity=(0, 0, -G))
    body = dropped.add(BLOCK, position=(0, 0, 0.03), orientation=(0, -0.05, 0))
    dropped.contact("floor", Plane().on(dropped.ground.at((0, 0, 0))), body.surface("below"), friction=0.3)
    over = flexmb.simulate(dropped, 0.12, step=2e-4).surface_contact("floor")
    corner = 0.03 + (BLOCK.mesh.points @ flexmb.spatial.lie.rotation_exp((0, -0.05, 0)).T)[:, 2].min()
    assert over.columns()["gap"].values[0] == pytest.approx(corner, rel=1e-12)  # that of the lowest node
    apart = over.gap.min(axis=1) > 1e-5
    assert apart[-1]
    assert (over.area[~apart] > 0.0).any()
    assert not over.carries[apart].any()
    assert not over.area[apart].any()


def test_gaps_are_those_of_the_deformed_nodes():
    """To second order in the elastic coordinates, at displacements of a thirtieth of the height."""
    body = soft_block(second_order=True)
    eta = 0.003 / body.deflection * np.random.default_rng(1).uniform(-1.0, 1.0, body.modes)
    system = flexmb.System()
    own = system.add(
        body, position=(0.1, 0.2, 0.3), orientation=flexmb.spatial.lie.rotation_exp((0.3, -0.4, 0.2)), eta=eta
    )
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1)), own.surface("below"))
    result = flexmb.simulate(system, 1e-6, step=1e-6)
    over, state = result.surface_contact("floor"), result.state(0)
    points = body.mesh.points[over.nodes] + body.displacements(eta, over.nodes)
    q = state.q[:7]
    height = q[2] + (points @ flexmb.spatial.lie.rotation_from_quaternion(q[3:7]).T)[:, 2]
    assert np.abs(over.gap[0] - height).max() < 1e-9
    measured = [result.position(body.name, node=int(node))[0, 2] for node in over.nodes]
    assert np.abs(over.gap[0] - measured).max() < 1e-9
    inside = replace(body, surfaces={})  # of the softest pairs of coordinates, as at nodes on no surface
    softest, linear = (x.displacements(eta, over.nodes) for x in (inside, replace(inside, quadratic=None)))
    own = points - body.mesh.points[over.nodes]
    assert np.abs(linear - own).max() > 0.5 * 0.003**2 / 0.1  # whichever signs the shapes have on this machine
    assert np.abs(softest - own).max() < 0.3 * np.abs(linear - own).max()


def test_slip_is_the_velocity_of_the_deformed_nodes():
    """Of an elastic motion, by differences, exact for displacements of second order. The forces of the contact act by the same derivatives."""
    body, rng = soft_block(second_order=True), np.random.default_rng(2)
    eta, rate = (size / body.deflection * rng.uniform(-1.0, 1.0, body.modes) for size in (0.003, 0.1))
    R = flexmb.spatial.lie.rotation_exp((0.3, -0.4, 0.2))
    system = flexmb.System()
    own = system.add(body, position=(0.1, 0.2, 0.3), orientation=R, eta=eta)
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1)), own.surface("below"))
    state = system.build().initial
    result = flexmb.simulate(system, 1e-6, step=1e-6, initial_state=replace(state, w=np.append(np.zeros(6), rate)))
    pressed = np.zeros_like(result.element_states)
    pressed[:, ::3] = 1e-12  # slip is that of nodes that touch
    over = replace(result, element_states=pressed).surface_contact("floor")

    def speed(body):
        ends = [body.displacements(eta + part * rate, over.nodes) for part in (1e-3, -1e-3)]
        return np.linalg.norm(((ends[0] - ends[1]) / 2e-3 @ R.T)[:, :2], axis=1)

    expected = speed(body)
    assert np.abs(over.slip[0] - expected).max() < 1e-7 * expected.max()
    assert np.abs(speed(replace(body, quadratic=None, surfaces={})) - expected).max() > 1e-3 * expected.max()


@pytest.mark.filterwarnings("ignore:Contact .* narrower than the mesh")
def test_a_body_and_a_moving_shape_keep_their_momenta():
    """A ball of a free body hits the block: linear momentum, and angular momentum about the origin."""
    system = flexmb.System()
    own = system.add(BLOCK)
    ball = system.add(
        flexmb.rigid_body("ball", mass=0.5, inertia=(2e-4,) * 3), position=(0.1, 0.08, -0.0502), velocity=(0.4, 0, 2.0)
    )
    system.contact("hit", Sphere(0.05).on(ball.at((0, 0, 0))), own.surface("below"), friction=0.2)
    result = flexmb.simulate(system, 0.02, step=1e-4)
    assert result.force("hit")[:, 2].max() > 0
    momentum, spin = result.linear_momentum(), result.angular_momentum(about=(0.0, 0.0, 0.0))
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum[0]).max()
    assert np.abs(spin - spin[0]).max() < 1e-3 * np.abs(spin[0]).max()
    own = result.angular_momentum("ball")  # the moment about its centre, on the block, is what it loses
    given = -np.trapezoid(result.surface_contact("hit").moment, result.t, axis=0)
    assert np.abs(own[-1]).max() > 1e-3
    np.testing.assert_allclose(given, own[-1] - own[0], atol=2e-2 * np.abs(own[-1]).max())


@pytest.mark.filterwarnings("ignore:Contact .* narrower than the mesh")
def test_energy_and_momenta_are_kept_by_the_energy_momentum_scheme():
    """Of a turning block that a free ball hits: the ball presses while it rolls over the nodes."""
    body = replace(soft_block(second_order=True), damping=np.zeros(6))
    system = flexmb.System()
    own = system.add(body, angular_velocity=(0.5, -1.0, 0.3))
    ball = system.add(
        flexmb.rigid_body("ball", mass=0.5, inertia=(2e-4,) * 3), position=(0.1, 0.08, -0.0502), velocity=(0.4, 0, 2.0)
    )
    system.contact("hit", Sphere(0.05).on(ball.at((0, 0, 0))), own.surface("below"))
    result = flexmb.simulate(system, 0.015, method="energy-momentum", step=5e-4)
    over, energy = result.surface_contact("hit"), result.ledger.total
    assert (over.normal_force > 0).any(axis=1).sum() > 3
    assert not (over.normal_force[-1] > 0).any()
    assert np.abs(energy - energy[0]).max() < 1e-12 * energy[0]
    momentum = result.linear_momentum()
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum[0]).max()
    fine = flexmb.simulate(system, 0.015, step=5e-5)
    assert np.abs(result.velocity("ball")[-1] - fine.velocity("ball")[-1]).max() < 2e-2


def test_results_are_saved_and_simulations_go_on(tmp_path):
    system = on_a_plane(slope=0.35, friction=0.3)
    step = {"step": 2.5e-4, "output_step": 1e-3}
    whole = flexmb.simulate(system, 0.04, **step)
    first = flexmb.simulate(system, 0.02, **step)
    save_result(first, tmp_path / "first.h5")
    loaded = load_result(tmp_path / "first.h5")
    np.testing.assert_allclose(
        loaded.surface_contact("floor").pressure, first.surface_contact("floor").pressure, rtol=1e-12
    )
    second = flexmb.simulate(system, 0.02, initial_state=loaded, **step)
    forces = [run.surface_contact("floor").normal_force.sum(axis=1) for run in (whole, second)]
    assert np.abs(forces[1] - forces[0][20:]).max() < 1e-3 * forces[0].max()  # the method begins anew
    far = Event("far", lambda r: r.position("block")[:, 0] - 1e-4, Terminate())
    ended = flexmb.simulate(system, 0.1, step=1e-3, events=[far])
    assert ended.position("block")[-1, 0] == pytest.approx(1e-4, abs=1e-9)


def test_model_files_and_films(tmp_path):
    mesh = block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1))
    fem.write_mesh(mesh, tmp_path / "block.msh")
    text = (
        'gravity = [0.0, 0.0, -9.81]\n[bodies.block]\nkind = "flexible"\nmesh = "block.msh"\nmaterial = "steel"\n'
        'surfaces = { below = "z0" }\nreduction = { method = "contact", modes = 4 }\n'
        '[[contacts]]\nname = "floor"\na = { place = "ground", shape = "plane", axis = [0.0, 0.0, 1.0] }\n'
        'b = { place = "block", surface = "below" }\nfriction = 0.3\n[simulation]\nduration = 1e-3\nstep = 1e-5\n'
    )
    (tmp_path / "model.toml").write_text(text)
    model = load_model(tmp_path / "model.toml")
    contact = model.system.build().surface_contacts[0]
    assert (contact.name, contact.surface, contact.friction, contact.nodes) == ("floor", "below", 0.3, 12)
    for wrong, message in (("shape = 'plane', axis", "shape = 'plane', surface = 'a', axis"), ("surface", "rim")):
        (tmp_path / "wrong.toml").write_text(text.replace(wrong.replace("'", '"'), message.replace("'", '"')))
        with pytest.raises(FlexmbError):
            load_model(tmp_path / "wrong.toml")
    of_point = text.replace("surfaces = {", 'interfaces = { end = "x1" }\nsurfaces = {')
    (tmp_path / "wrong.toml").write_text(of_point.replace('"block", surface', '"block.end", surface'))
    with pytest.raises(FlexmbError, match=r"surface = 'below' belongs to a body; 'block\.end' is a point of one"):
        load_model(tmp_path / "wrong.toml")
    for wrong, found in (('"block" }', "neither"), ('"block", shape = "sphere", surface = "below" }', "both")):
        (tmp_path / "wrong.toml").write_text(text.replace('"block", surface = "below" }', wrong))
        with pytest.raises(FlexmbError, match=rf"of a flexible body; found {found}"):
            load_model(tmp_path / "wrong.toml")
    result = flexmb.simulate(on_a_plane(), 0.02, step=1e-3)
    export_vtk(result, tmp_path / "film", every=10)
    film = pyvista.read(tmp_path / "film" / "body0_000020.vtu")["pressure"]
    over = result.surface_contact("floor")
    np.testing.assert_allclose(film[over.nodes], over.pressure[20], rtol=1e-6)
    assert film.max() == pytest.approx(over.pressure[20].max())


def test_pictures_paint_the_pressure_on_the_surface(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = flexmb.simulate(on_a_plane(), 0.02, step=1e-3)
    scene = MovingScene(pyvista.Plotter(off_screen=True), result.mechanism, result.q)
    scene.show_films(pressure_films(result), "pressure")
    scene.move(result.q[-1], -1)
    ((body, film, _),) = scene.films
    node, over = scene.surfaces[body].node, result.surface_contact("floor")
    painted = np.unique(film.faces.reshape(-1, 4)[:, 1:])
    assert {*node[painted]} == {*over.nodes}
    by_node = dict(zip(over.nodes, over.pressure[-1], strict=True))
    np.testing.assert_allclose(film.point_data[PRESSURE][painted], [by_node[k] for k in node[painted]], rtol=1e-6)
    np.testing.assert_array_equal(film.points, scene.meshes[body].points)
    assert scene.actors[body].prop.opacity < 1
    scene.plotter.close()
    save_result(result, "floor.h5")
    done = CliRunner().invoke(app, ["view", "floor.h5", "--picture", "film.png", "--pressure"], catch_exceptions=False)
    assert done.exit_code == 0
    picture = np.asarray(Image.open("film.png").convert("RGB"), dtype=int)
    plain = np.asarray(Image.open(picture_result(result, "plain.png")).convert("RGB"), dtype=int)
    assert np.abs(picture - plain).max() > 50
    with pytest.raises(PictureError, match="stress or pressure; ask for one of them"):
        picture_result(result, "both.png", stress=True, pressure=True)
    free = flexmb.System()
    free.add(BLOCK)
    with pytest.raises(PictureError, match="'mechanism' has no contact of a flexible surface"):
        picture_result(flexmb.simulate(free, 1e-3, step=1e-3), "none.png", pressure=True)


def test_bodies_without_films_are_fainter_than_those_seen_through():
    system = on_a_plane()
    system.add(flexmb.rigid_body("other", mass=1.0, inertia=(1, 1, 1)), position=(1, 0, 0.1))
    result = flexmb.simulate(system, 0.002, step=1e-3)
    scene = MovingScene(pyvista.Plotter(off_screen=True), result.mechanism, result.q)
    scene.show_films(pressure_films(result), "pressure")
    seen, other = (scene.actors[k].prop.opacity for k in (0, 1))
    scene.plotter.close()
    assert 0.0 < other < seen < 1.0


def test_films_are_in_front_of_the_ground_that_they_touch():
    """A film and the plate of a plane lie in one plane: parts of each were seen, by the round-off of depths."""
    result = flexmb.simulate(on_a_plane(), 0.02, step=1e-3)
    seen = []
    for ground in (False, True):
        plotter = pyvista.Plotter(off_screen=True, window_size=(400, 300))
        scene = MovingScene(plotter, result.mechanism, result.q)
        scene.show_films(pressure_films(result), "pressure")
        scene.move(result.q[10], 10)
        if not ground:
            plotter.remove_actor("ground")
        plotter.remove_scalar_bar("pressure")
        seen.append(np.asarray(plotter.screenshot(return_img=True), dtype=int).max(axis=2) < 60)
    assert seen[0].sum() > 2000
    assert (seen[0] & seen[1]).sum() > 0.98 * seen[0].sum()


def between_tables():
    """A block of rubber that stands on a table and is pushed against a wall: two surfaces with an edge in common."""
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 2)), material).with_surfaces(below="z0", side="x1")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, 6), name="block", modal_damping=0.05)
    system = flexmb.System(gravity=(5 * G, 0, -G))
    own = system.add(body)
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    wall = Plane().on(system.ground.at((0.3, 0, 0)), axis=(-1, 0, 0))
    system.contact("floor", floor, own.surface("below"))
    system.contact("wall", wall, own.surface("side"))
    return system


def test_a_node_of_two_surfaces_has_the_pressure_of_each(tmp_path):
    """Files and pictures had the sum of both."""
    result = flexmb.simulate(between_tables(), 0.02, step=1e-3)
    floor, wall = (result.surface_contact(name) for name in ("floor", "wall"))
    both = np.intersect1d(floor.nodes, wall.nodes)
    assert len(both) == 3
    export_vtk(result, tmp_path / "film", every=10)
    film = pyvista.read(tmp_path / "film" / "body0_000020.vtu")
    for name, over in (("below", floor), ("side", wall)):
        np.testing.assert_allclose(film[f"pressure of {name}"][over.nodes], over.pressure[20], rtol=1e-6)
        assert not np.delete(film[f"pressure of {name}"], over.nodes).any()
    np.testing.assert_array_equal(film["pressure"], np.maximum(film["pressure of below"], film["pressure of side"]))
    scene = MovingScene(pyvista.Plotter(off_screen=True), result.mechanism, result.q)
    scene.show_films(pressure_films(result), "pressure")
    scene.move(result.q[-1], -1)
    node = scene.surfaces[0].node
    for (_, painted, _), over, flat in zip(scene.films, (floor, wall), ((2, 0.0), (0, 0.3)), strict=True):
        used = np.unique(painted.faces.reshape(-1, 4)[:, 1:])
        assert {*node[used]} == {*over.nodes}
        assert np.abs(scene.surfaces[0].points[used, flat[0]] - flat[1]).max() < 1e-12
        by_node = dict(zip(over.nodes, over.pressure[-1], strict=True))
        np.testing.assert_allclose(painted.point_data[PRESSURE][used], [by_node[k] for k in node[used]], rtol=1e-6)
    loaded = [dict(zip(over.nodes, over.pressure[-1], strict=True)) for over in (floor, wall)]
    assert max(abs(loaded[0][k] - loaded[1][k]) for k in both) > 0


def test_the_command_line_tells_pressure_and_area(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = flexmb.simulate(on_a_plane(), 0.02, step=1e-3)
    save_result(result, "floor.h5")
    done = CliRunner().invoke(app, ["contact", "floor.h5", "--table", "floor.csv"])
    over = result.surface_contact("floor")
    assert f"pressure {over.pressure.max():.6g}" in " ".join(done.output.split())
    titles, *_, last = (tmp_path / "floor.csv").read_text().splitlines()
    row = dict(zip((x.split(" [")[0] for x in titles.split(",")), map(float, last.split(",")), strict=True))
    assert row["pressure"] == pytest.approx(over.pressure[-1].max())
    assert row["contact area"] == pytest.approx(over.area[-1])
    assert {"gap", "normal force", "friction force", "slip", "wear power"} < {*row}
    drawn = []
    monkeypatch.setattr("flexmb.plots.result_plots.plot_contact", lambda contact, *_, **__: drawn.append(contact))
    CliRunner().invoke(app, ["contact", "floor.h5", "--plot", "floor.png"], catch_exceptions=False)
    np.testing.assert_array_equal(drawn[0].pressure, over.pressure)


def test_tables_plots_and_measures_name_the_units_of_pressure_and_area(tmp_path, monkeypatch):
    """The title of the area had no unit, so that tables of models with named units failed."""
    monkeypatch.chdir(tmp_path)
    result = flexmb.simulate(on_a_plane(), 0.02, step=1e-3)
    save_result(result, "floor.h5")
    options = ["--table", "floor.csv", "--plot", "floor.png", "--units", "m-kg-s", "--unit", "MPa", "--unit", "cm^2"]
    done = CliRunner().invoke(app, ["contact", "floor.h5", *options], catch_exceptions=False)
    assert done.exit_code == 0
    titles = (tmp_path / "floor.csv").read_text().splitlines()[0].split(",")
    assert {"contact area [m^2]", "pressure [Pa]", "largest slip [m/s]"} < {*titles}
    over = result.surface_contact("floor")
    _, axes = plot_contact(over, units="m-kg-s", unit=("MPa", "cm^2"))
    assert [axis.get_ylabel() for axis in axes] == [
        "gap (m)",
        "force (N)",
        "pressure (MPa)",
        "area (cm^2)",
        "slip (m/s)",
    ]
    np.testing.assert_allclose(axes[3].lines[0].get_ydata(), 1e4 * over.area)
    table = result.columns(["pressure:floor", "contact-area:floor"])
    np.testing.assert_array_equal(table["pressure:floor"].values, over.pressure.max(axis=1))
    assert [column.dimension for column in table.values()] == ["time", "stress", "area"]


def test_what_cannot_be_is_refused():
    system = flexmb.System()
    own = system.add(BLOCK)
    floor = Plane().on(system.ground.at((0, 0, 0)))
    for wrong, message in (
        ({"law": power_law(1e6)}, "has no law="),
        ({"restitution": 0.5}, "has no law="),
        ({"friction": (0.3, 0.2)}, "one number"),
        ({"friction": -0.1}, "one number"),
    ):
        with pytest.raises(MechanismError, match=message):
            system.contact("floor", floor, own.surface("below"), **wrong)
    with pytest.raises(MechanismError, match="surface"):
        own.surface("above")
    with pytest.raises(MechanismError, match="has no flexible surface"):
        flexmb.simulate(on_a_plane().build().rigid(), 0.01, step=1e-3)
    for method in ("radau", "bdf", "explicit"):
        with pytest.raises(MechanismError, match="contacts of flexible surfaces"):
            flexmb.simulate(on_a_plane(), 0.01, method=method, step=1e-3)
    with pytest.raises(MechanismError, match="friction of flexible surfaces"):
        flexmb.simulate(on_a_plane(friction=0.1), 0.01, method="energy-momentum", step=1e-3)
    with pytest.raises(MechanismError, match=r"node 0 .* begins inside the plane, 0.001 deep"):
        flexmb.simulate(on_a_plane(height=-1e-3), 0.01, step=1e-3)
    both = on_a_plane()
    ball = both.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1,) * 3), position=(0, 0, 5))
    both.contact("ball", Sphere(0.1).on(ball.at((0, 0, 0))), Plane().on(both.ground.at((0, 0, 0))))
    with pytest.raises(IntegratorError, match="cannot act in one simulation"):
        flexmb.simulate(both, 0.01, step=1e-3)


def test_steps_too_large_for_an_impact_are_told_with_the_surfaces():
    system = on_a_plane(height=0.01, velocity=(100.0, 0, -100.0), friction=0.5)
    with pytest.raises(flexmb.ConvergenceError, match=r"flexible surfaces of 'floor' need steps .* variable steps do"):
        flexmb.simulate(system, 0.02, step=1e-3)


def test_bodies_in_a_socket_touch_its_wall():
    system = flexmb.System(gravity=(0, 0, -G))
    own = system.add(BLOCK, position=(-0.15, -0.1, -0.0))
    radius = 0.5
    drop = np.sqrt(radius**2 - 0.15**2 - 0.1**2)
    system.contact("bowl", Socket(radius).on(system.ground.at((0, 0, drop))), own.surface("below"))
    result = flexmb.simulate(system, 0.05, step=5e-4)
    over = result.surface_contact("bowl")
    assert over.gap.min() > -1e-9
    assert (over.normal_force[-1] > 0).sum() == 4  # its corners
    assert result.force("bowl")[40:, 2].mean() == pytest.approx(BLOCK.invariants.mass * G, rel=0.2)


def shaken_plate(force, friction, shape=None, damping=0.0):
    """A heavy rigid plate, a plane or another `shape`, that a weight of 100 N presses on an elastic block, and that
    `force` sin(2 pi t) shakes, with a damper beside it."""
    part = fem.Model(
        block("hexahedron", (0.1, 0.1, 0.05), (4, 4, 2)),
        fem.Material.isotropic(1e7, 0.3, 1000.0),
    )
    part = part.with_interfaces(base="z0").with_surfaces(top="z1")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, modes=4), name="block", modal_damping=0.3)
    system = flexmb.System()
    rubber = system.add(body)
    system.fixed("floor", system.ground.at(rubber["base"].point), rubber["base"])
    plate = system.add(flexmb.rigid_body("plate", mass=50.0, inertia=(1.0, 1.0, 1.0)), position=(0.05, 0.05, 0.05))
    middle = plate.at((0, 0, 0))
    under = shape.on(plate.at((-0.15, -0.15, 0))) if shape else Plane().on(middle, axis=(0, 0, -1))
    system.contact("top", rubber.surface("top"), under, friction=friction)
    system.load("press", middle, force=(0, 0, -100.0))
    if damping:
        system.spring_damper("air", system.ground.at((1.0, 0.05, 0.05)), middle, damping=damping)
    w = 2 * np.pi
    shake = flexmb.time_functions.function(
        lambda t: np.sin(w * t), lambda t: w * np.cos(w * t), lambda t: -w * w * np.sin(w * t)
    )
    system.load("shake", middle, force=(force, 0, 0), factor=shake)
    return replace(system.build(), initial=flexmb.linear.equilibrium(system).state)


def test_nodes_that_stick_neither_slip_nor_wear():
    """Their elastic coordinates move, but their residual displacement undoes it."""
    result = flexmb.simulate(shaken_plate(20.0, friction=50.0), 0.5, step=2e-3)
    over = result.surface_contact("top")
    assert np.abs(over.total[:, 0]).max() > 19.0
    assert np.abs(result.ledger.damper_heat).max() < 1e-9 * result.ledger.exchange
    assert over.slip.max() == 0
    assert over.wear_power.max() == 0


@pytest.mark.parametrize("shape", [None, mesh(block("tetra", (0.3, 0.3, 0.1), (2, 2, 1)))], ids=["plane", "mesh"])
def test_the_wear_of_partial_slip_is_the_heat_of_the_ledger(shape):
    """Without the rates of the residual displacements, 9 % of it were missing."""
    result = flexmb.simulate(shaken_plate(20.0, 0.3, shape), 0.5, step=1e-3)
    over = result.surface_contact("top")
    heat, grip = result.ledger.damper_heat[-1], 0.3 * over.normal_force
    sticks = over.friction_force < (1 - 1e-5) * grip
    assert 0.1 < sticks.mean() < 0.99
    assert over.slip[sticks].max() == 0
    assert np.trapezoid(over.wear_power.sum(axis=1), over.t) == pytest.approx(heat, rel=5e-3)


def test_the_heat_of_friction_at_coarse_output():
    """That of a single contact is known; where a damper takes part, the limit was that of all the energy exchanged, of
    which the heat that is missing here is 0.7 %."""
    alone = flexmb.simulate(shaken_plate(20.0, 0.3), 0.5, step=1e-3, output_step=5e-3)
    exact = alone.ledger.damper_heat
    np.testing.assert_allclose(alone.energy_by_element()["top"].heat, exact, rtol=1e-12)
    damped = flexmb.simulate(shaken_plate(20.0, 0.3, damping=1e-3), 0.5, step=1e-3, output_step=5e-3)
    told = r"The heat of dampers and friction of the elements of '\w+', of 'air', 'top' together, integrated over 101 stored"
    with pytest.warns(CoarseOutputWarning, match=told):
        found = damped.energy_by_element()
    assert found["top"].heat[-1] == pytest.approx(exact[-1], rel=0.03)
    assert 0 < found["air"].heat[-1] < 1e-3 * exact[-1]


@pytest.mark.filterwarnings("ignore::flexmb.EnergyBalanceWarning")  # it begins at once
def test_a_ring_that_spins_in_a_bore_presses_on_it():
    """Free growth of a disc with a hole by its rotation over its compliance at the outer rim (Lamé, plane stress). The
    error of facets around it is of second order."""
    E, nu, density, spin, inner, outer = 1e9, 0.3, 1000.0, 20.0, 1.0, 1.5
    growth = density * spin**2 * outer / (4 * E) * ((1 - nu) * outer**2 + (3 + nu) * inner**2)
    wanted = growth * E / outer / ((inner**2 + outer**2) / (outer**2 - inner**2) - nu)
    errors = []
    for around in (24, 48):
        mesh = tube("hexahedron", (inner, outer), 0.1, (around // 12, around, 1))
        part = fem.Model(mesh, fem.Material.isotropic(E, nu, density)).with_surfaces(outer="outer")
        basis = reduction.contact_basis(part, 4, inputs=["rotation"])
        system = flexmb.System()
        ring = system.add(flexmb.flexible_body(part, basis, modal_damping=0.5), angular_velocity=(0, 0, spin))
        bore = Bore(radius=outer * (1 + 1e-9), length=1.0).on(system.ground.at((0, 0, 0)))
        system.contact("bore", bore, ring.surface("outer"))
        pressure = flexmb.simulate(system, 0.08, step=5e-4).surface_contact("bore").pressure[-1]
        assert np.ptp(pressure) < 1e-6 * wanted
        errors.append(1.0 - pressure.mean() / wanted)
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)


@pytest.mark.filterwarnings("ignore::flexmb.EnergyBalanceWarning")
def test_a_ring_whose_shapes_do_not_widen_it_is_named(tmp_path):
    """It presses on nothing with four shapes or many, and with "rotation" by what the test before this one derives."""
    E, nu, density, spin, inner, outer = 1e9, 0.3, 1000.0, 20.0, 1.0, 1.5
    growth = density * spin**2 * outer / (4 * E) * ((1 - nu) * outer**2 + (3 + nu) * inner**2)
    mesh = tube("hexahedron", (inner, outer), 0.1, (2, 24, 1))
    part = fem.Model(mesh, fem.Material.isotropic(E, nu, density)).with_surfaces(outer="outer")
    system = flexmb.System()
    ring = flexmb.flexible_body(part, reduction.contact_basis(part, 4), name="ring", modal_damping=0.5)
    ring = load_body(save_body(ring, tmp_path / "ring.h5"))
    ring = system.add(ring, angular_velocity=(0, 0, spin))
    bore = Bore(radius=outer * (1 + 1e-9), length=1.0).on(system.ground.at((0, 0, 0)))
    system.contact("bore", bore, ring.surface("outer"))
    with pytest.warns(TruncatedShapeWarning, match="'bore': the shapes of 'ring' do not hold what centrifugal") as told:
        flexmb.simulate(system, 0.01, step=5e-4)
    (text,) = [str(one.message) for one in told if one.category is TruncatedShapeWarning]
    assert float(text.split("of about ")[1].split()[0]) == pytest.approx(growth, rel=0.05)
    assert 'inputs=[..., "rotation"]' in text


@pytest.mark.filterwarnings("ignore:The energy balance")  # it begins in contact, by 1e-8 of the length
def test_round_off_of_a_slender_part_is_no_missing_shape():
    """The weight of a wire, 200 times as long as high, as its end would carry it: the basis holds this response, to
    the round-off of 2e-8 of the deflection, which is as large as the depth of the wire that lies in a tube."""
    side, radius = 0.005, 0.05
    mesh = block("hexahedron", (1.0, side, side), (20, 1, 1))
    part = fem.Model(mesh, fem.Material.isotropic(1e7, 0.0, 1000.0)).with_surfaces(below="z0")
    part = part.with_interfaces(end=fem.Interface("x1", kind="average"))
    wire = flexmb.flexible_body(part, reduction.contact_basis(part, 8), name="wire", geometric_stiffness="none")
    assert 1e-12 < np.abs(wire.surfaces["below"].lacking[..., :3]).max() * wire.stiffness[0] < 1e-7
    system = flexmb.System(gravity=(0, 0, -G))
    own = system.add(wire, position=(0, -0.5 * side, -np.sqrt(radius**2 - 0.25 * side**2)))
    tube_ = Bore(radius, 4.0).on(system.ground.at((0, 0, 0)), axis=(1, 0, 0))
    system.contact("tube", tube_, own.surface("below"), friction=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TruncatedShapeWarning)
        flexmb.simulate(system, 0.2, step=5e-3)


@pytest.mark.filterwarnings("ignore::flexmb.LawRangeWarning")  # the ball is smaller than a face
def test_films_of_a_surface_with_two_contacts_are_their_sum_in_one_range():
    """A plane and a ball below one surface, and a plane above that is not reached: the range of both films is that of
    the largest sum over the motion."""
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron20", (0.3, 0.2, 0.1), (3, 2, 2)), material)
    part = part.with_surfaces(below="z0", above="z1")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, 6), modal_damping=0.05, geometric_stiffness="none")
    system = flexmb.System(gravity=(0, 0, -G))
    own = system.add(body, position=(0, 0, 1e-3))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), own.surface("below"))
    system.contact("ball", Sphere(0.05).on(system.ground.at((0.15, 0.1, -0.0497))), own.surface("below"))
    lid = Plane().on(system.ground.at((0, 0, 0.102)), axis=(0, 0, -1))
    system.contact("lid", lid, own.surface("above"))
    result = flexmb.simulate(system, 0.02, step=2e-4, output_step=1e-3)
    floor, ball = (result.surface_contact(name).pressure for name in ("floor", "ball"))
    both = (floor > 0).any(axis=1) & (ball > 0).any(axis=1)
    assert both.any()
    films = pressure_films(result)[0]
    np.testing.assert_array_equal(films["below"], floor + ball)
    np.testing.assert_array_equal(films["above"], 0.0)
    scene = MovingScene(pyvista.Plotter(off_screen=True), result.mechanism, result.q)
    scene.show_films({0: films}, "pressure")
    i = int(np.flatnonzero(both)[0])
    scene.move(result.q[i], i)
    assert [len(film.faces) // 4 for _, film, _ in scene.films] == [
        36,
        36,
    ]  # all faces of 3 x 2 cells, 6 triangles each
    assert scene.films[0][1].point_data[PRESSURE].max() == pytest.approx((floor + ball)[i].max(), rel=1e-6)
    for name in films:
        assert scene.plotter.actors[f"film 0 {name}"].mapper.scalar_range == (0.0, (floor + ball).max())
    scene.plotter.close()


def on_rails(step, friction, begin=None, until=0.06):
    """A block falls on the floor, hung from a carriage that moves sideways: its guide is locked and released while the
    floor presses on it, and so is the rail of the carriage."""
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 2)), material)
    part = part.with_interfaces(top=fem.Interface("z1", kind="average")).with_surfaces(below="z0")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, 6), name="block", geometric_stiffness="none")
    system = flexmb.System(gravity=(0, 0, -G))
    own = system.add(body, position=(0, 0, 2e-4), velocity=(0.3, 0, 0))
    top = own["top"].point + np.array([0, 0, 2e-4])
    carriage = flexmb.rigid_body("carriage", mass=1.0, inertia=(0.01,) * 3)
    carriage = system.add(carriage, position=top, velocity=(0.3, 0, 0)).at((0, 0, 0))
    system.prismatic("rail", system.ground.at(top), carriage, axis=(1, 0, 0))
    system.prismatic("guide", carriage, own["top"], axis=(0, 0, 1))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), own.surface("below"), friction=friction)
    events = [
        Event("freeze", lambda r: r.t - 0.0205, Lock("guide")),
        Event("hold", lambda r: r.t - 0.0305, Lock("rail")),
        Event("thaw", lambda r: r.t - 0.0405, Release("freeze")),
        Event("go", lambda r: r.t - 0.0505, Release("hold")),
    ]
    state = None if begin is None else begin.state(-1)
    left = until if begin is None else until - begin.t[-1]
    return flexmb.simulate(system, left, step=step, output_step=step, events=events, initial_state=state)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.EnergyBalanceWarning")
def test_a_frozen_joint_above_a_surface_in_contact_keeps_forces_momentum_and_energy(tmp_path):
    """Forces pass through locks and releases without a jump, because the nodes of a surface have no mass; momentum is
    the impulse of the forces between two events, and the residual of the ledger falls with the step."""
    fine, coarse = on_rails(2.5e-5, 0.3), on_rails(1e-4, 0.3)
    residual = [np.abs(result.ledger.residual).max() for result in (coarse, fine)]
    assert residual[1] < 0.4 * residual[0]  # of first order with friction: a quarter
    floor = fine.force("floor")[:, :3]
    change = np.abs(np.diff(floor[:, 2]))
    touching = []
    for t in (0.0205, 0.0305, 0.0405, 0.0505):
        k = int(np.abs(fine.t - t).argmin())
        touching.append(floor[k, 2] > 0.0)
        assert change[k] <= 1.5 * max(change[k - 1], change[k + 1])
    assert sum(touching) == 3
    mass = 1.0 + fine.mechanism.bodies[0].invariants.mass
    momentum = [measure(f"momentum:*:{axis}")(fine) for axis in "xz"]
    for begin, end, others in (
        (0.0206, 0.0304, ("rail",)),
        (0.0306, 0.0404, ("rail", "hold")),
        (0.0406, 0.0504, ("rail", "hold")),
    ):
        i, j = (int(np.abs(fine.t - t).argmin()) for t in (begin, end))
        push = floor - [0, 0, mass * G] + sum(fine.reaction(name)[:, :3] for name in others)
        impulse = np.trapezoid(push[i : j + 1], fine.t[i : j + 1], axis=0)
        for axis, p in zip((0, 2), momentum, strict=True):
            assert p[j] - p[i] == pytest.approx(impulse[axis], abs=1e-4)
    smooth = on_rails(1e-4, 0.0)  # friction makes motions that begin anew depart, by when its points stick
    for end in (0.025, 0.035, 0.045):
        save_result(on_rails(1e-4, 0.0, until=end), tmp_path / "frozen.h5")
        on = on_rails(1e-4, 0.0, load_result(tmp_path / "frozen.h5"))
        k = int(np.abs(smooth.t - end).argmin())
        np.testing.assert_allclose(on.force("floor")[0], smooth.force("floor")[k], atol=1e-6 * floor[:, 2].max())
        np.testing.assert_allclose(on.q[-1], smooth.q[-1], atol=1e-7)  # of a motion of a centimetre
