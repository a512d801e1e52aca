"""The static page: it holds the motion and all that shows it, and a browser without a network plays it."""

import base64
import json
import re
import shutil
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import flexmb
from flexmb.errors import FileError, PictureError
from flexmb.files import write_gltf
from flexmb.plots.curves import curves
from flexmb.plots.page import write_page


@pytest.fixture(scope="module")
def result():
    system = flexmb.System(gravity=(0, 0, -9.81), name="a < b & c")
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=0.5, radius=0.02))
    system.revolute("pivot", system.ground, rod["start"], axis=(0, 1, 0))
    return flexmb.simulate(system, 0.6, step=1e-3, output_step=0.01)


def part(text, name):
    return re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', text, flags=re.DOTALL)[1]


def test_the_page_holds_motion_plots_and_viewer(result, tmp_path):
    text = write_page(result, tmp_path / "rod.html").read_text(encoding="utf-8")
    written = write_gltf(result, tmp_path / "rod.glb", metres=1 / result.mechanism.length, speed=0.6 / 8)
    assert base64.b64decode(part(text, "motion")) == written.path.read_bytes()
    assert written.duration == pytest.approx(8.0)
    facts = json.loads(part(text, "facts"))
    assert (facts["start"], facts["end"]) == (0.0, pytest.approx(0.6))
    assert text.count('class="plot"') == len(curves(result)) == 2
    assert "<h1>a &lt; b &amp; c</h1>" in text
    assert "three.js authors" in text
    assert "Permission is hereby granted" in text
    head = text[: text.index("Permission is hereby granted")]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", head), "nothing comes from a network"


def test_the_pace_is_told(result, tmp_path):
    text = write_page(result, tmp_path / "rod.html", speed=0.1, magnification=3.0).read_text(encoding="utf-8")
    assert "0.1 units of time in a second, deformation x 3" in text


def test_what_cannot_be_is_refused(result, tmp_path):
    with pytest.raises(PictureError, match=r"written as \.html"):
        write_page(result, tmp_path / "rod.htm")
    with pytest.raises(FileError, match="frames = 1"):
        write_page(result, tmp_path / "rod.html", frames=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.foreign
@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_a_browser_plays_the_page(result, tmp_path, width, height, scheme):
    """Needs chromium and playwright."""
    api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs chromium")
    path = write_page(result, tmp_path / "rod.html")
    drawing = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=drawing)
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.locator("body[data-ready=yes]").wait_for(timeout=30000)
        seen = []
        for fraction in (0.0, 0.5):
            page.locator("#time").evaluate(
                "(slider, x) => { slider.value = 1000 * x; slider.dispatchEvent(new Event('input')); }", fraction
            )
            page.get_by_text(f"t = {0.6 * fraction:#.4g}" if fraction else "t = 0.000", exact=True).wait_for()
            page.wait_for_timeout(500)
            image = page.locator("#stage").screenshot()
            seen.append(np.asarray(Image.open(BytesIO(image)).convert("RGB"), dtype=float))
        assert seen[0].std() > 3, "the rod is seen"
        assert (np.abs(seen[1] - seen[0]).max(axis=2) > 20).sum() > 300, "it moved"
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, "nothing scrolls sideways"
        assert said == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
        browser.close()
