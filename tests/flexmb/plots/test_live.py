"""The live viewer: what its state says is what is drawn; in a browser it opens, plays and turns."""

import asyncio
import re
import shutil
import subprocess
import sys
import time
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import fem
import flexmb
import reduction
from benchmarks import viewer as viewer_benchmark
from flexmb.drawn.joined import joined
from flexmb.drawn.surface import world_points
from flexmb.errors import PictureError
from flexmb.files import save_result
from flexmb.plots.curves import LEFT, RIGHT, curve_picture, curves
from flexmb.plots.live import LiveViewer
from flexmb.plots.scene import AMPLITUDE, STRESS
from flexmb.results.result import result_of_states
from flexmb.spatial.lie import rotation_from_quaternion


@pytest.fixture(scope="module")
def result():
    box = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.01), (8, 1, 1))
    model = fem.Model(box, fem.Material.steel()).with_interfaces(root="x0", tip="x1")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 2, reference_frame="root"), name="bar")
    system = flexmb.System(gravity=(0, 0, -9.81), name="swing")
    bar = system.add(body)
    block = system.add(flexmb.rigid_body("block", mass=0.1, inertia=(1e-5, 1e-5, 1e-5)), position=(0.3, 0.01, 0.005))
    system.revolute("hinge", system.ground, bar["root"], axis=(0, 1, 0))
    system.fixed("weld", bar["tip"], block)
    return flexmb.simulate(system, 0.2, method="radau", tolerance=1e-5, output_step=0.005)


@pytest.fixture
def viewer(result, request):
    pytest.importorskip("trame.app")
    pytest.importorskip("trame.widgets.vuetify3")
    pytest.importorskip("trame.widgets.vtk")
    viewer = LiveViewer(result, name=request.node.name)
    yield viewer
    viewer.plotter.close()


def test_the_scene_follows_the_time(viewer, result):
    viewer.state.update({"index": 20, "magnification": 7.0})
    viewer.update()
    for k, surface in enumerate(viewer.scene.surfaces):
        shown = joined(result.mechanism, result.q[20], 7.0)
        expected = world_points(result.mechanism, k, surface, shown, 7.0)
        np.testing.assert_array_equal(viewer.scene.meshes[k].points, expected)
    assert viewer.state.time_text == "t = 0.1"
    assert viewer.state.place == pytest.approx((LEFT + RIGHT) / 2)


def test_parts_stresses_and_times_change_the_picture(viewer):
    seen = []
    for change in ({}, {"index": 30}, {"stress": True}, {"stress": False, "parts": [1]}, {"parts": [0]}):
        viewer.state.update(change)
        viewer.update()
        viewer.plotter.render()
        seen.append(viewer.plotter.screenshot(return_img=True).astype(float))
    for k, before in enumerate(seen):
        for after in seen[k + 1 :]:
            assert (np.abs(after - before).max(axis=2) > 8).sum() > 300


def test_stresses_are_those_of_the_time(viewer, result):
    viewer.state.update({"index": 30, "stress": True})
    viewer.update()
    expected = viewer.scene.surfaces[0].stress(result.elastic("bar")[30])
    np.testing.assert_array_equal(viewer.scene.meshes[0].point_data[STRESS], expected)
    assert viewer.scene.largest_stress >= expected.max()


def test_the_mode_browser_bends_the_body_in_its_mode(viewer, result):
    viewer.state.update({"index": 0, "mode": 2, "magnification": 100.0})
    viewer.update()
    body, surface = result.mechanism.bodies[0], viewer.scene.surfaces[0]
    still = np.concatenate([result.q[0][:7], np.zeros(body.modes), result.q[0][7 + body.modes :]])
    u = viewer.scene.meshes[0].points - world_points(result.mechanism, 0, surface, still)
    size = np.linalg.norm(np.ptp(surface.points, axis=0))
    largest = np.linalg.norm(u, axis=1).max()
    assert largest == pytest.approx(AMPLITUDE * size, rel=0.02)  # and the second order
    shape = surface.shapes[:, 1].reshape(-1, 3) @ rotation_from_quaternion(result.q[0][3:7]).T
    assert (u * shape).sum() > 0.999 * np.linalg.norm(u) * np.linalg.norm(shape)
    assert viewer.state.mode_text == f"mode 2 of {body.modes}: {body.frequencies[1]:.5g}"
    viewer.state.mode = 0
    viewer.update()
    shown = joined(result.mechanism, result.q[0], 100.0)
    expected = world_points(result.mechanism, 0, surface, shown, 100.0)
    np.testing.assert_array_equal(viewer.scene.meshes[0].points, expected)


def test_playing_moves_on_and_stops(viewer):
    async def play():
        task = asyncio.create_task(viewer.play())
        await asyncio.sleep(1.0)
        moved = viewer.state.index
        viewer.state.index = 30  # a user seeks
        await asyncio.sleep(0.3)
        viewer.state.playing = False
        await task
        return moved

    viewer.state.playing = True
    assert 2 <= asyncio.run(play()) < 20
    assert 30 <= viewer.state.index < 40


def test_plots_hold_energies_joints_and_coordinates(result):
    found = curves(result)
    assert list(found) == ["energies", "hinge: rotation", "bar: elastic coordinates"]
    np.testing.assert_array_equal(found["hinge: rotation"]["rotation"], result.coordinate("hinge"))
    assert "gravity" in found["energies"]
    sizes = np.abs(result.elastic("bar")).max(axis=0)
    assert list(found["bar: elastic coordinates"]) == [f"mode {k + 1}" for k in sorted(np.argsort(sizes)[-5:])]
    picture = curve_picture(result.t, found["energies"])
    assert picture.startswith("data:image/png;base64,")
    assert picture != curve_picture(result.t, found["hinge: rotation"])


def test_motions_without_energies_have_an_empty_plot(result):
    states = (result.t, result.q, result.w, result.wdot, result.multipliers)
    found = curves(result_of_states(result.mechanism, *states))
    assert found["energies"] == {}
    assert curve_picture(result.t, found["energies"]).startswith("data:image/png")


def test_without_trame_it_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "trame.app", None)
    with pytest.raises(PictureError, match=r'pip install "flexmb\[viewer\]"'):
        LiveViewer(result)


@pytest.mark.long
def test_a_part_of_100_000_dofs_opens_within_three_seconds():
    pytest.importorskip("trame.widgets.vtk")
    rows = viewer_benchmark.run()
    assert [row.benchmark for row in rows if not row.met] == []


@pytest.mark.foreign
def test_a_browser_shows_it_and_plays(viewer, result, tmp_path):
    """Needs chromium and playwright; the machine of the page is another process."""
    api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs chromium")
    path = save_result(result, tmp_path / "swing.h5")
    words = ["view", str(path), "--live", "--port", "0", "--no-browser"]
    code = "import sys; from flexmb.cli.main import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        lines = iter(server.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://localhost:\d+", line)))
        with api.sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address)
            page.get_by_text("t = 0", exact=True).wait_for(timeout=30000)
            before = seen(page, lambda picture: picture[80:700, 400:1400].std() > 5, "the bodies are seen")
            page.locator(".v-toolbar .v-slider").click()
            page.get_by_text("t = 0.1", exact=True).wait_for(timeout=10000)
            page.locator("button:has(.mdi-play)").click()
            seen(page, lambda after: np.abs(after - before)[100:880, 400:1400].max() > 50, "they move")
            wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            assert not wide, "nothing scrolls sideways"
            browser.close()
    finally:
        server.terminate()
        server.communicate(timeout=20)


def seen(page, expected, what, seconds=20.0):
    """The picture of the page as soon as it is as expected."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        picture = np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"), dtype=float)
        if expected(picture):
            return picture
        page.wait_for_timeout(200)
    raise AssertionError(f"not seen within {seconds:g} s: {what}")
