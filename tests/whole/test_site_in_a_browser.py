"""The built site in a browser: nothing scrolls sideways or is cut off, pictures are there, nothing is fetched, formulas are typeset, the search finds what is looked for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

pytestmark = [
    pytest.mark.long(minutes=3),
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def site():
    """The site that `.ci/run` has built; it is built here where there is none."""
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    if not (SITE / "index.html").exists():
        subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", ROOT / "docs", SITE], check=True, cwd=ROOT)
    return SITE


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


def pages_of(site):
    return sorted(p for p in site.rglob("*.html") if "_modules" not in p.parts and "_static" not in p.parts)


FACTS = """async () => {
    const name = e => `${e.tagName.toLowerCase()}.${e.className}: ${(e.innerText || "").trim().slice(0, 40)}`
    await Promise.all([...document.images].map(i => { i.loading = "eager"; return i.decode().catch(() => null) }))
    const cut = [...document.querySelectorAll("main *, header *")].filter(e => {
        const style = getComputedStyle(e)
        return ["hidden", "clip"].includes(style.overflowX) && style.textOverflow != "ellipsis"
            && style.visibility != "hidden" && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && (e.innerText || "").trim()
    })
    return {
        width: document.documentElement.scrollWidth,
        cut: cut.map(name),
        missing: [...document.images].filter(i => !i.naturalWidth).map(i => i.src),
    }
}"""
"""How wide the page is, elements that cut their text off without an ellipsis, and pictures that are not there."""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 900)])
def test_pages_fit_the_screen(site, browser, width, height):
    """On a phone and on a desk, each page by day and by night: layout, not pixels."""
    page = browser.new_page(viewport={"width": width, "height": height})
    fetched, errors, wide, cut, missing = [], [], {}, {}, {}
    page.on("request", lambda request: fetched.append(request.url) if request.url.startswith("http") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in pages_of(site):
        page.emulate_media(color_scheme="light")
        page.goto(path.as_uri())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            facts, name = page.evaluate(FACTS), f"{path.relative_to(site).as_posix()}, {scheme}"
            wide |= {name: facts["width"]} if facts["width"] > width else {}
            cut |= {name: facts["cut"]} if facts["cut"] else {}
            missing |= {name: facts["missing"]} if facts["missing"] else {}
    assert not wide
    assert not cut
    assert not missing
    assert not fetched, "the site fetches nothing"
    assert not errors
    page.close()


def test_formulas_are_typeset(site, browser):
    page = browser.new_page()
    page.goto((site / "theory.html").as_uri())
    page.wait_for_selector(".katex")
    assert (
        page.locator(".formula").count() == page.locator(".formula > .katex, .formula > .katex-display").count() > 100
    )
    assert page.locator(".katex-error").count() == 0


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("revolute", "api/generated/flexmb.System.html"),
        ("craig_bampton", "api/generated/reduction.craig_bampton.html"),
        ("install", "install.html"),
        ("simulate", "api/generated/flexmb.simulate.html"),
    ],
)
def test_the_search_leads_to_the_page(site, browser, words, page):
    tab = browser.new_page()
    tab.goto((site / "search.html").as_uri() + f"?q={words}")
    tab.wait_for_selector("ul.search li a")
    first = tab.locator("ul.search li a").first.get_attribute("href")
    assert first.split("?")[0].split("#")[0] == page
