"""The oldest dependencies that CI installs are those that pyproject.toml promises, and numba is the one that builds the library."""

import re
import subprocess
import sys
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


def test_the_compiled_functions_need_numba_alone():
    """The build of the library imports them where nothing but numba is installed."""
    program = """
import sys
from types import ModuleType

package = ModuleType("flexmb")
package.__path__ = ["flexmb"]
sys.modules["flexmb"] = package
import flexmb.kernels.calls

print(sorted({name.partition(".")[0] for name in sys.modules} & {"fem", "reduction"}))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
