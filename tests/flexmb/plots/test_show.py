"""Showing things in 3D, off screen: what is drawn is the thing asked for, and what cannot be drawn is told."""

import numpy as np
import pytest
import pyvista

import fem
import flexmb
import reduction
from flexmb.drawn.joined import joined
from flexmb.errors import PictureError
from flexmb.files.results.gltf_file import CLEAR, COLOURS
from flexmb.plots.scene import FILLED, INK, STRESS, MovingScene, ShapeScene, _dark, look_at
from flexmb.results.result import result_of_states


@pytest.fixture(scope="module")
def model():
    box = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.01), (8, 1, 1))
    return fem.Model(box, fem.Material.steel()).with_interfaces(root="x0", tip="x1")


@pytest.fixture(scope="module")
def basis(model):
    return reduction.craig_bampton(model, 2, reference_frame="root")


@pytest.fixture(scope="module")
def body(model, basis):
    return flexmb.flexible_body(model, basis, name="bar")


@pytest.fixture(scope="module")
def system(body):
    system = flexmb.System(gravity=(0, 0, -9.81), name="swing")
    bar = system.add(body)
    block = system.add(flexmb.rigid_body("block", mass=0.1, inertia=(1e-5, 1e-5, 1e-5)), position=(0.3, 0.01, 0.005))
    system.revolute("hinge", system.ground, bar["root"], axis=(0, 1, 0))
    system.fixed("weld", bar["tip"], block)
    return system


@pytest.fixture(scope="module")
def result(system):
    return flexmb.simulate(system, 0.05, method="radau", tolerance=1e-5, output_step=0.005)


@pytest.fixture(scope="module")
def things(model, basis, body, system, result):
    matrices = fem.Model.from_matrices(model.M, model.K, model.points).with_interfaces(root=model.mesh.nodes("x0"))
    line = fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 4)
    beam = fem.Beam(fem.Material.steel(), fem.Section.circle(0.02))
    plate = fem.structured_meshes.sheet("quad", (0.3, 0.1), (3, 2))
    shell = fem.Shell(fem.Material.steel(), 0.002)
    return {
        "mesh": (model.mesh, {}),
        "mesh of beams": (line, {}),
        "mesh of shells": (plate, {}),
        "model of shells": (fem.Model(plate, shell).with_interfaces(root="x0"), {}),
        "model": (model, {}),
        "model from matrices": (matrices, {}),
        "natural modes": (fem.natural_modes(model, 3, ["root"]), {"mode": 3}),
        "natural modes of beams": (fem.natural_modes(fem.Model(line, beam), 8), {"mode": 7}),
        "basis": (basis, {"model": model}),
        "basis of matrices": (basis, {"model": matrices}),
        "body": (body, {"mode": 2}),
        "rigid body": (flexmb.uniform_rod("rod", mass=1.0, length=1.0), {}),
        "system": (system, {}),
        "mechanism": (system.build(), {}),
        "result": (result, {"time": 0.02}),
        "stress of a result": (result, {"time": 0.02, "stress": True, "magnification": 5.0}),
    }


NAMES = ("mesh", "mesh of beams", "mesh of shells", "model of shells", "model", "model from matrices", "natural modes", "natural modes of beams", "basis", "basis of matrices", "body", "rigid body",
         "system", "mechanism", "result", "stress of a result")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_drawn_within_the_picture(things, name):
    x, options = things[name]
    plotter = flexmb.show(x, window=False, **options)
    plotter.window_size = (480, 360)
    drawn = plotter.screenshot(return_img=True).astype(float)
    for actor in list(plotter.actors):
        plotter.remove_actor(actor)
    plotter.clear_slider_widgets()
    empty = plotter.screenshot(return_img=True).astype(float)
    plotter.close()
    changed = np.abs(drawn - empty).max(axis=2) > 8
    assert changed.sum() > 500, "something is to be seen"


def test_a_window_is_opened_and_the_plotter_returned(body, monkeypatch):
    opened = []
    monkeypatch.setattr(pyvista.Plotter, "show", lambda self: opened.append(self))
    plotter = flexmb.show(body)
    assert opened == [plotter]
    plotter.close()


def test_bodies_are_where_the_result_says(result):
    plotter = pyvista.Plotter(off_screen=True)
    scene = MovingScene(plotter, result.mechanism, result.q, magnification=3.0)
    scene.show_stress(True)
    scene.move(result.q[-1])
    body, surface = result.mechanism.bodies[0], scene.surfaces[0]
    shown, eta = joined(result.mechanism, result.q[-1], 3.0), result.elastic("bar")[-1]
    axes = flexmb.lie.rotation_from_quaternion(shown[3:7])
    local = body.mesh.points[surface.node] + 3.0 * body.displacements(eta, surface.node)
    expected = shown[:3] + local @ axes.T
    assert np.abs(scene.meshes[0].points - expected).max() < 1e-6 * np.abs(expected).max()
    np.testing.assert_array_equal(scene.meshes[0].point_data[STRESS], surface.stress(eta))
    still = np.array(scene.meshes[0].points)
    scene.show_part(0, False)
    scene.move(result.q[0])
    np.testing.assert_array_equal(scene.meshes[0].points, still)
    hinge = result.mechanism.markers[result.mechanism.joint("weld").markers[1]]
    np.testing.assert_allclose(scene.place(hinge, result.q[0]), [0.3, 0.01, 0.005], atol=1e-12)
    plotter.close()


def test_shapes_are_drawn_in_proportion(body):
    plotter = pyvista.Plotter(off_screen=True)
    x = body.mesh.points
    scene = ShapeScene(plotter, x, np.zeros((0, 3), dtype=int), body.Psi)
    scene.show(1, phase=-0.5)
    u, shape = scene.mesh.points - x, body.Psi[:, 1].reshape(-1, 3)
    size = np.linalg.norm(np.ptp(x, axis=0))
    np.testing.assert_allclose(u / (0.5 * 0.08 * size), -shape / np.linalg.norm(shape, axis=1).max(), atol=1e-4)
    plotter.close()


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("basis", {}, "model=model"),
        ("body", {"mode": 0}, "modes 1 to"),
        ("body", {"mode": 99}, "mode = 99"),
    ],
)
def test_what_cannot_be_drawn_is_told(things, what, options, words):
    with pytest.raises(PictureError, match=words):
        flexmb.show(things[what][0], window=False, **options)


def test_other_models_and_things_are_refused(basis, things):
    other = fem.Model(fem.structured_meshes.block("hexahedron", (1, 1, 1), (1, 1, 1)), fem.Material.steel())
    with pytest.raises(PictureError, match="degrees of freedom"):
        flexmb.show(basis, model=other, window=False)
    with pytest.raises(PictureError, match="found str"):
        flexmb.show("rod.h5", window=False)
    pendulum = flexmb.System(name="rod")
    rod = pendulum.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    pendulum.revolute("pivot", pendulum.ground, rod["start"], axis=(0, 1, 0))
    swung = flexmb.simulate(pendulum, 0.01, step=1e-3)
    with pytest.raises(PictureError, match="No body of 'rod' has stresses"):
        flexmb.show(swung, stress=True, window=False)


@pytest.mark.parametrize("up", [(0, 0, 1.0), (0, 1.0, 0), (0.6, 0, 0.8)])
@pytest.mark.parametrize("size", [(480, 360), (300, 500)])
def test_the_camera_shows_everything_and_no_more(up, size):
    """Projected by the camera's own matrix, all points are in the picture, and reach its border but for a margin."""
    points = np.random.default_rng(2).normal(size=(200, 3)) * [3.0, 1.0, 0.3] + [5.0, 1.0, -2.0]
    plotter = pyvista.Plotter(off_screen=True, window_size=size)
    look_at(plotter, points, np.array(up))
    matrix = plotter.camera.GetCompositeProjectionTransformMatrix(size[0] / size[1], -1, 1)
    P = np.array([[matrix.GetElement(i, j) for j in range(4)] for i in range(4)])
    seen = np.column_stack([points, np.ones(len(points))]) @ P.T
    seen = seen[:, :2] / seen[:, 3:]
    assert np.abs(seen).max() == pytest.approx(FILLED, abs=1e-6)
    fullest = np.abs(seen).max(axis=0).argmax()
    assert seen[:, fullest].max() == pytest.approx(-seen[:, fullest].min(), abs=1e-6), "in the middle"
    plotter.close()


def test_labels_stand_beside_the_bodies_and_follow_them(result):
    plotter = pyvista.Plotter(off_screen=True)
    scene = MovingScene(plotter, result.mechanism, result.q)
    scene.show_labels()
    for q in (result.q[0], result.q[-1]):
        scene.move(q)
        bar, block = (mesh.points for mesh in scene.meshes)
        near = bar[np.abs(bar[:, 0] - 0.15) < 0.04]
        places = [names.points[0] for _, names in scene.labels]
        assert near[:, 2].min() - 0.03 < places[0][2] < near[:, 2].min()
        assert block[:, 2].max() < places[1][2] < block[:, 2].max() + 0.03
        for place, points in zip(places, (bar, block), strict=True):
            assert abs(place[0] - (points[:, 0].min() + points[:, 0].max()) / 2) < 1e-6
    assert [list(names["labels"]) for _, names in scene.labels] == [["bar"], ["block"]]
    plotter.close()


def test_other_bodies_are_seen_through_boxes_of_inertia_which_alone_are_solid(result):
    boxes = flexmb.System(gravity=(0, 0, -9.81))
    boxes.add(flexmb.rigid_body("a", mass=1.0, inertia=(1, 1, 1)))
    boxes.add(flexmb.rigid_body("b", mass=1.0, inertia=(1, 1, 1)), position=(3, 0, 0))
    alone = boxes.build()
    for mechanism, q, expected in (
        (result.mechanism, result.q, [1.0, CLEAR]),
        (alone, alone.initial.q[None], [1.0, 1.0]),
    ):
        plotter = pyvista.Plotter(off_screen=True)
        scene = MovingScene(plotter, mechanism, q)
        assert [actor.prop.opacity for actor in scene.actors] == expected
        plotter.close()


def test_names_have_the_colours_of_bodies_but_for_bodies_that_stresses_colour(result, monkeypatch):
    colours = {}
    monkeypatch.setattr(
        pyvista.Plotter,
        "add_point_labels",
        lambda _, names, data, **options: colours.update({str(names[data][0]): options["text_color"]}),
    )
    for stressed in (False, True):
        plotter = pyvista.Plotter(off_screen=True)
        scene = MovingScene(plotter, result.mechanism, result.q)
        scene.show_stress(stressed)
        scene.show_labels()
        assert [colours["bar"], colours["block"]] == [INK if stressed else _dark(COLOURS[0]), _dark(COLOURS[1])]
        plotter.close()


@pytest.mark.parametrize(("time", "index"), [(None, 0), (0.0, 0), (0.021, 4), (7.0, -1)])
def test_a_motion_is_shown_at_the_time_that_is_asked_for_or_its_first_one(result, time, index, monkeypatch):
    moved = []
    monkeypatch.setattr(MovingScene, "move", lambda scene, q: moved.append(q))
    flexmb.show(result, time=time, window=False).close()
    np.testing.assert_array_equal(moved[0], result.q[index])


def test_a_slider_needs_two_times(result, monkeypatch):
    ranges = []
    monkeypatch.setattr(
        pyvista.Plotter, "add_slider_widget", lambda _, move, over, **options: ranges.append((over, options["value"]))
    )
    states = (x[2:3] for x in (result.t, result.q, result.w, result.wdot, result.multipliers))
    flexmb.show(result_of_states(result.mechanism, *states, angles=result.angles[2:3]), window=False).close()
    assert ranges == []
    flexmb.show(result, time=7.0, window=False).close()
    assert ranges == [((0.0, result.t[-1]), result.t[-1])]
