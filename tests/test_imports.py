"""The rooms of the project: each imports the rooms below it, none above it, and no room is crowded (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    # fem: finite element models of parts
    "fem.errors",
    "fem.elsewhere",
    "fem.renamed",
    "fem.shown",
    "fem.user_files",
    "fem.axes",
    "fem.material",
    "fem.beam",
    "fem.sections",
    "fem.shell",
    "fem.elements",
    "fem.mesh",
    "fem.meshing",
    "fem.drawn_sections",
    "fem.dofs",
    "fem.linear_algebra.threads",
    "fem.linear_algebra.factorisations",
    "fem.linear_algebra",
    "fem.interface",
    "fem.matrices",
    "fem.lumped_elements",
    "fem.files.abaqus",
    "fem.files.nastran",
    "fem.files",
    "fem.model",
    "fem.exchange",
    "fem.loads",
    "fem.analysis",
    "fem.join",
    "fem.split",
    "fem",
    # reduction: small bases of elastic shapes
    "reduction.solutions",
    "reduction.basis",
    "reduction.error",
    "reduction.exchange",
    "reduction.residual",
    "reduction.strain",
    "reduction.second_order_modes",
    "reduction.second_order",
    "reduction.frequency_response",
    "reduction.substructures",
    "reduction.shape_sequence",
    "reduction.build",
    "reduction.method",
    "reduction.methods",
    "reduction.choose",
    "reduction.registry",
    "reduction",
    # flexmb: mechanisms in motion
    "flexmb.errors",
    "flexmb.version",
    "flexmb.units",
    "flexmb.differences",
    "flexmb.numba_cache",
    "flexmb.kernels.base",
    "flexmb.kernels.contact",
    "flexmb.kernels.joint_coordinates",
    "flexmb.kernels.loads",
    "flexmb.kernels.equations",
    "flexmb.kernels.steps",
    "flexmb.kernels.implicit",
    "flexmb.kernels.derivatives",
    "flexmb.kernels",
    "flexmb.forces.scalar",
    "flexmb.spatial",
    "flexmb.bodies",
    "flexmb.contact",
    "flexmb.mechanism",
    "flexmb.forces.frame",
    "flexmb.forces",
    "flexmb.controllers",
    "flexmb.equations",
    "flexmb.kinks",
    "flexmb.results",
    "flexmb.drawn",
    "flexmb.integrators",
    "flexmb.simulation",
    "flexmb.linear",
    "flexmb.analyses",
    "flexmb.study.gradients",
    "flexmb.study",
    "flexmb",
    # the edge: files, pictures, the command line
    "flexmb.files.storage",
    "flexmb.files.bodies",
    "flexmb.files.results",
    "flexmb.files.models",
    "flexmb.files",
    "flexmb.plots",
    "flexmb.demo",
    "flexmb.cli",
    "flexmb.cli.parts",
    "flexmb.cli.motion",
    "flexmb.cli.analyses",
    "flexmb.__main__",
)
"""From the ground up."""
EDGE = ROOMS[ROOMS.index("flexmb.files.storage") :]
EDGE_LIBRARIES = ("matplotlib", "pyvista", "typer", "rich")
READS_FILES = {"fem.files.vtk_files": ("pyvista",)}
CROWDED = 13
"""Files of one level in a room."""
TOGETHER = {("flexmb.study.gradients", "flexmb.study"): ("parameters", "peaks", "many", "identity")}
"""What a room may import of the room that it belongs to: files that stand before it."""


GATHER = ("fem.__init__", "reduction.__init__", "flexmb.__init__", "flexmb.cli.main")
"""Files that gather what the rooms hold."""


def sources():
    """Every source file, as a module."""
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("fem", "reduction", "flexmb")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


MODULES = set(sources())


def room_of(module):
    """The room that a module is in: the longest name that it begins with."""
    return max((room for room in ROOMS if module == room or module.startswith(room + ".")), key=len)


def imports(module):
    """Names of the modules that a module imports, wherever it does, and of libraries."""
    tree = ast.parse((ROOT / (module.replace(".", "/") + ".py")).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                known = inner in MODULES or f"{inner}.__init__" in MODULES
                yield inner if known else node.module


@pytest.mark.parametrize("module", sources())
def test_no_upward_import(module):
    own = room_of(module)
    for name in imports(module):
        first = name.split(".")[0]
        assert first not in {"benchmarks", "tests", "notebooks"}, f"{module} imports {name}"
        if first in {"validation", "meshes"} or (first in EDGE_LIBRARIES and name not in READS_FILES.get(module, ())):
            assert own in EDGE, f"{module} imports {name} inside"
        if first not in {"fem", "reduction", "flexmb"} or module in GATHER:
            continue
        if name in {"fem", "reduction", "flexmb"}:
            assert ROOMS.index(name) < ROOMS.index(own), f"{module} imports the whole of {name}"
            continue
        above = room_of(name)
        beside = TOGETHER.get((own, above), ())
        assert above == own or ROOMS.index(above) < ROOMS.index(own) or name.split(".")[-1] in beside, (
            f"{module} ({own}) imports {name} ({above}), a room above"
        )


def test_no_file_imports_itself_around_a_circle():
    seen, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in seen:
            return
        path.append(module)
        for name in imports(module):
            inner = name if name in MODULES else f"{name}.__init__"
            if inner in MODULES and name not in {"fem", "reduction", "flexmb"}:
                visit(inner)
        path.pop()
        seen.add(module)

    for module in sources():
        visit(module)


def _also(monkeypatch, module, name):
    """As if a module imported one more."""
    there = imports
    monkeypatch.setitem(globals(), "imports", lambda m: [*there(m), *([name] if m == module else [])])


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("flexmb.mechanism.state", "flexmb.simulation.simulate"), ("reduction.basis", "flexmb.simulation.simulate"), ("fem.model", "reduction.basis"),
        ("flexmb.mechanism.state", "flexmb.linear"), ("flexmb.mechanism.state", "flexmb"), ("flexmb.linear.__init__", "flexmb.study.many"),
        ("flexmb.results.result", "matplotlib.pyplot"), ("fem.errors", "tests.dense"),
    ],
)  # fmt: skip
def test_an_upward_import_is_seen(module, name, monkeypatch):
    _also(monkeypatch, module, name)
    with pytest.raises(AssertionError, match=f"{module}.* imports "):
        test_no_upward_import(module)


@pytest.mark.parametrize(
    ("module", "name"),
    [("flexmb.mechanism.state", "flexmb.mechanism.mechanism"), ("flexmb.linear.vibration", "flexmb.linear"), ("fem.elements.hexahedron", "fem.elements")],
)  # fmt: skip
def test_a_circle_is_seen(module, name, monkeypatch):
    """Also one around the file of a room."""
    _also(monkeypatch, module, name)
    with pytest.raises(AssertionError, match=f"{module}.* -> "):
        test_no_file_imports_itself_around_a_circle()


@pytest.mark.parametrize("room", sorted({m.rpartition(".")[0] for m in MODULES}))
def test_no_room_is_crowded(room):
    files = [m for m in MODULES if m.rpartition(".")[0] == room and not m.endswith("__init__")]
    assert len(files) <= CROWDED, sorted(files)
