"""The oldest dependencies that CI installs are those that pyproject.toml promises, and numba is the one that builds the library."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_oldest_dependencies_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = dict(re.match(r"([\w-]+)>=([\d.]+)", text).groups() for text in project["dependencies"])
    pinned = dict(
        re.findall(
            r"^([\w-]+)==([\d.]+)$", (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    for name, bound in bounds.items():
        assert re.fullmatch(rf"{re.escape(bound)}(\.0)*", pinned.get(name, "none")), (
            f"{name}: {bound} in pyproject.toml"
        )


def test_the_library_is_built_by_the_version_of_numba_that_its_build_knows():
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    source = (ROOT / "flexmb" / "kernels" / "build.py").read_text(encoding="utf-8")
    known = re.search(r'^VERSION = "([\d.]+)"$', source, flags=re.MULTILINE).group(1)
    assert any(re.fullmatch(rf"numba=={re.escape(known)}\.\d+", text) for text in required), required
