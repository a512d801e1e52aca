"""Imports go one way: fem -> reduction -> flexmb, and inside flexmb nothing imports the edge."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "fem": {"fem"},
    "reduction": {"fem", "reduction"},
    "meshes": {"meshes"},
    "flexmb": {"fem", "reduction", "flexmb", "meshes", "validation"},
}
EDGE = (
    "flexmb.cli",
    "flexmb.view",
    "flexmb.reduction_plots",
    "flexmb.study_plots",
    "flexmb.precision_plots",
    "flexmb.linear_plots",
    "flexmb.files",
    "flexmb.demo",
    "validation",
    "matplotlib",
    "pyvista",
    "typer",
    "rich",
)
READS_FILES = {"fem/vtk_io.py": ("pyvista",)}
AT_THE_EDGE = (
    "cli",
    "files",
    "view.py",
    "reduction_plots.py",
    "study_plots.py",
    "precision_plots.py",
    "linear_plots.py",
    "demo.py",
)


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def sources():
    return [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_upward_import(path):
    relative = path.relative_to(ROOT)
    package = relative.parts[0]
    inner = package in ("fem", "reduction") or (package == "flexmb" and relative.parts[1] not in AT_THE_EDGE)
    allowed = READS_FILES.get(str(relative), ())
    for name in imported_names(path):
        first = name.split(".")[0]
        if first in {*ALLOWED, "validation", "benchmarks", "tests"}:
            assert first in ALLOWED[package], f"{relative} imports {name}"
        if inner and name not in allowed:
            assert not any(name == edge or name.startswith(edge + ".") for edge in EDGE), (
                f"{relative} imports {name} from the edge"
            )
