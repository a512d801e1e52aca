"""What new users write first with meshes and matrices: it works, or is refused with what to write in its place."""

import dataclasses
import re
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import fem
import reduction
from fem.errors import InterfaceError, MeshError, MeshWarning, UnitWarning
from fem.mesh.check import check_mesh
from fem.mesh.structured_meshes import block, line, sheet
from flexmb.cli.main import app


def bar(kind="hexahedron", cells=(8, 1, 1)):
    return fem.Model(block(kind, (8.0, 1.0, 1.0), cells), fem.Material.steel(), "bar").with_interfaces(a="x0", b="x1")


@pytest.mark.parametrize("n_parts", [9, 1000])
def test_more_pieces_than_elements_are_refused_with_the_number_that_fits(n_parts):
    with pytest.raises(MeshError, match=rf"into {n_parts} pieces.*8 layers of cells.*at most 8"):
        fem.split(bar(), n_parts)
    assert len(fem.split(bar(), 8)) == 8


@pytest.mark.parametrize("way", [(1, 0, 0), (0, -1, 0), (-0.1, 0.2, -1)])
def test_pieces_follow_each_other_along_the_nearest_axis_whichever_node_is_first(way):
    axis = np.abs(way).argmax()
    for ends in (((0, 0, 0), way), (way, (0, 0, 0))):
        part = fem.Model(line(*ends, 6), fem.Beam(fem.Material.steel(), fem.Section.circle(0.01)))
        places = [piece.points[:, axis].mean() for piece in fem.split(part, 3)]
        assert places == sorted(places)


def test_pieces_of_a_part_keep_what_belongs_to_them():
    """Sets by their names, numbers of nodes, weights of interfaces, materials, and how matrices are factorised."""
    mesh = block("hexahedron", (8.0, 1.0, 1.0), (8, 1, 1))
    ids = 100 + 3 * np.arange(len(mesh.points))
    cells = {"left": np.arange(4), "soft": np.arange(4, 8)}
    mesh = dataclasses.replace(mesh, node_ids=ids, cell_sets=cells, node_sets={"corners": np.array([0, 35])})
    aluminium = fem.Material.aluminium()
    part = fem.Model(mesh, {"left": fem.Material.steel(), "soft": aluminium}, "bar").with_solver(backend="superlu")
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    part = part.with_interfaces(end=fem.Interface("x1", kind="average", weights=weights))
    one, two = fem.split(part, 2)
    assert [set(p.mesh.face_sets) for p in (one, two)] == [
        {"x0", "y0", "y1", "z0", "z1"},
        {"x1", "y0", "y1", "z0", "z1"},
    ]
    assert len(two.mesh.face_sets["y0"]) == 4
    assert two.with_surfaces(tip="x1").surfaces["tip"].area == pytest.approx(1.0)
    np.testing.assert_array_equal(two.mesh.cell_sets["soft"], range(4))
    assert "left" not in two.mesh.cell_sets
    assert [p.mesh.node_ids[p.mesh.node_sets["corners"]].tolist() for p in (one, two)] == [[100], [100 + 3 * 35]]
    np.testing.assert_allclose(two.points, mesh.points[(two.mesh.node_ids - 100) // 3])
    np.testing.assert_allclose(two.interfaces["end"].weights, part.interfaces["end"].weights)
    assert two.mass == pytest.approx(4.0 * aluminium.density)
    assert {p.solver.backend for p in (one, two)} == {"superlu"}
    with pytest.raises(InterfaceError, match="has an interface 'cut 1' already"):
        fem.split(one, 2)
    again = fem.split(one.with_interfaces(middle=one.interfaces["cut 1"]), 2)
    assert [sorted(p.interfaces) for p in again] == [["cut 1"], ["cut 1", "middle"]]


@pytest.mark.parametrize("kind", ["tetra", "wedge", "pyramid"])
def test_elements_that_lock_are_told(kind, tmp_path):
    mesh = block(kind, (1.0, 0.1, 0.1), (4, 1, 1))
    report = check_mesh(mesh)
    assert report.usable
    assert not report.findings
    assert any(kind in text and "too stiff in bending" in text for text in report.advice)
    told = CliRunner().invoke(app, ["inspect", str(fem.write_mesh(mesh, tmp_path / "bar.vtu"))])
    assert told.exit_code == 0, told.output
    assert "too stiff in bending" in " ".join(told.output.split())


def test_elements_that_bend_are_not_told():
    for kind in ("tetra10", "hexahedron", "hexahedron20", "wedge15"):
        assert not check_mesh(block(kind, (1.0, 0.1, 0.1), (4, 1, 1))).advice


def test_a_nearest_node_that_is_far_away_is_told():
    mesh = block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1))
    with pytest.warns(
        MeshWarning, match=r"nearest to \[1000\. .* lies at \[1\. .*999 away .* diagonal of the mesh is 1\.01"
    ):
        assert len(fem.nearest((1000.0, 0, 0), count=2).nodes(mesh)) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fem.nearest((1.5, 0.2, 0)).nodes(mesh)


@pytest.mark.parametrize(
    ("kind", "wide", "fits", "told"),
    [
        ("line", fem.Section.rectangle(50, 5), fem.Section.rectangle(0.05, 0.005), r"section of the beam is 50 wide"),
        ("truss", 250.0, 2.5e-4, r"section of the truss is 15\.81 wide"),
        ("quad", 5.0, 0.005, r"shell is 5 thick"),
    ],
)
def test_sections_in_other_units_than_the_mesh_are_told(kind, wide, fits, told):
    mesh = sheet("quad", (1, 0.1), (4, 1)) if kind == "quad" else line((0, 0, 0), (1, 0, 0), 4, kind=kind)
    made = {"line": fem.Beam, "truss": fem.Truss, "quad": fem.Shell}[kind]
    with pytest.warns(UnitWarning, match=told + r", and the diagonal of mesh .* is 1"):
        fem.Model(mesh, made(fem.Material.steel(), wide))
    for part, size in ((fem.Material.steel(), fits), (fem.Material.isotropic(1.0, 0.3, 1.0), wide)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fem.Model(mesh, made(part, size))


def test_matrices_with_coordinates_take_selections_by_place():
    part = bar()
    given = fem.Model.from_matrices(part.M, part.K, part.points)
    picks = {"a": fem.on_plane((0, 0, 0), (1, 0, 0)), "b": fem.in_box((8, 0, 0), (8, 1, 1))}
    by_place = given.with_interfaces(**picks)
    for name in ("a", "b"):
        np.testing.assert_array_equal(by_place.interfaces[name].nodes, part.interfaces[name].nodes)
    near = given.with_interfaces(a=fem.nearest((0, 0.5, 0.5), count=4))
    np.testing.assert_array_equal(near.interfaces["a"].nodes, part.interfaces["a"].nodes)
    by_number = given.with_interfaces(**{name: part.interfaces[name].nodes for name in ("a", "b")})
    expected = reduction.craig_bampton(by_number, modes=3).frequencies
    np.testing.assert_allclose(reduction.craig_bampton(by_place, modes=3).frequencies, expected, rtol=1e-12)
    with pytest.raises(InterfaceError, match=r"'a'.*no node on the plane.*nearest"):
        given.with_interfaces(a=fem.on_plane((-1, 0, 0), (1, 0, 0)))
    with pytest.raises(InterfaceError, match=r"no set 'x0'.*node numbers.*fem\.on_plane"):
        given.with_interfaces(a="x0")


def test_masses_and_springs_in_the_wrong_place_are_told_theirs():
    block = fem.structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (2, 1, 1))
    part = fem.Model(block, fem.Material.steel()).with_interfaces(tip="x1")
    mass, spring = fem.NodeMass(3, 0.5), fem.NodeSpring([3, 8], [0, 0], [1.0, -1.0], stiffness=2e5)
    for method, thing in (
        (part.with_constraints, mass), (part.with_constraints, spring), (part.with_springs, [spring]),
        (part.with_point_masses, [mass]), (part.with_point_masses, {"tip": mass}),
    ):  # fmt: skip
        with pytest.raises(fem.MeshError, match=r"takes .*; found \w+\. Masses, springs and dampers at nodes belong"):
            method(thing)
    heavy = fem.Model(dataclasses.replace(block, masses=(mass,), springs=(spring,)), fem.Material.steel())
    assert heavy.mass == pytest.approx(part.mass + 0.5)
    assert abs(heavy.K - part.K).max() == pytest.approx(2e5)


def test_a_deck_is_reduced_with_its_own_material(tmp_path):
    nodes = "*NODE\n" + "".join(f"{k + 1}, {k // 2 / 4}, {k % 2 / 10}, 0\n" for k in range(10))
    cells = "*ELEMENT, TYPE=S4, ELSET=S\n" + "".join(
        f"{k}, {2 * k - 1}, {2 * k + 1}, {2 * k + 2}, {2 * k}\n" for k in range(1, 5)
    )
    section = "*MATERIAL, NAME=M\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n*SHELL SECTION, ELSET=S, MATERIAL=M\n0.002\n"
    (tmp_path / "sheet.inp").write_text(nodes + cells + section + "*NSET, NSET=ROOT\n1, 2\n")
    words = [
        "reduce",
        str(tmp_path / "sheet.inp"),
        "-o",
        str(tmp_path / "sheet.h5"),
        "--interface",
        "root=ROOT",
        "--modes",
        "2",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "mass 1.57" in done.output


def test_a_surface_mesh_is_a_sheet_on_the_command_line(tmp_path):
    """Its lowest frequency is that of a clamped strip."""
    path = str(fem.write_mesh(fem.structured_meshes.sheet("quad", (0.2, 0.02), (20, 2)), tmp_path / "sheet.vtu"))
    of_steel = ["--material", "2e11,0.0,8000", "--thickness", "0.001"]
    runner = CliRunner()
    told = runner.invoke(app, ["inspect", path, *of_steel])
    assert told.exit_code == 0, told.output
    assert "mass 0.032," in told.output
    table, root = tmp_path / "modes.csv", ["--interface", "root=plane/0,0,0/1,0,0"]
    held = ["--support", "plane/0,0,0/1,0,0", "--modes", "2", "--table", str(table)]
    told = runner.invoke(app, ["frequencies", path, *of_steel, *held])
    assert told.exit_code == 0, told.output
    f = 1.8751**2 / (2 * np.pi * 0.2**2) * np.sqrt(2e11 * 0.001**2 / 12 / 8000)
    assert float(table.read_text().splitlines()[1].split(",")[1]) == pytest.approx(f, rel=2e-3)
    told = runner.invoke(app, ["reduce", path, *of_steel, "-o", str(tmp_path / "s.h5"), *root, "--modes", "2"])
    assert told.exit_code == 0, told.output
    told = runner.invoke(app, ["frequencies", path, "--thickness", "0.001"])
    assert told.exit_code == 1
    assert "give their --material" in str(told.exception)


def test_lines_are_beams_on_the_command_line(tmp_path):
    """The lowest frequencies of a clamped bar are those of Euler and Bernoulli in both planes."""
    path = str(fem.write_mesh(line((0, 0, 0), (1, 0, 0), 8), tmp_path / "bar.vtu"))
    runner, root = CliRunner(), "nearest/0,0,0"

    def of_steel(section):
        return ["--material", "2e11,0.3,8000", "--section", section]

    table = tmp_path / "modes.csv"
    held = ["--support", root, "--modes", "2", "--table", str(table)]
    told = runner.invoke(app, ["frequencies", path, *of_steel("rectangle=0.01,0.02"), *held])
    assert told.exit_code == 0, told.output
    found = [float(row.split(",")[1]) for row in table.read_text().splitlines()[1:]]
    exact = [1.8751**2 / (2 * np.pi) * np.sqrt(2e11 * width**2 / 12 / 8000) for width in (0.01, 0.02)]
    np.testing.assert_allclose(found, exact, rtol=2e-3)
    for section, area in (
        ("circle=0.02", np.pi * 1e-4),
        ("tube=0.02,0.01", np.pi * 0.75e-4),
        ("box=0.02,0.01,0.001", 0.056e-3),
    ):
        told = runner.invoke(app, ["inspect", path, *of_steel(section)])
        assert float(told.output.split("mass ")[1].split(",")[0]) == pytest.approx(8000 * area, rel=1e-6)
    words = ["reduce", path, *of_steel("circle=0.02"), "-o", str(tmp_path / "bar.h5"), "--interface", f"root={root}"]
    assert runner.invoke(app, words).exit_code == 0
    wrong = {
        "tube=0.02": "expected tube=outer,inner as numbers; found '0.02'",
        "circle": "expected circle=diameter as numbers",
        "circel=0.02": "Did you mean 'circle'",
        "tube=0.02,0.03": "inner diameter",
    }
    for section, message in wrong.items():
        assert message in str(runner.invoke(app, ["inspect", path, *of_steel(section)]).exception)
    told = runner.invoke(app, ["inspect", path, "--section", "circle=0.02"])
    assert "--section makes beams of lines: give their --material" in str(told.exception)
    told = runner.invoke(app, ["inspect", path, *of_steel("circle=0.02"), "--thickness", "0.001"])
    assert "give one of them" in str(told.exception)
    for words in (["inspect"], ["frequencies"], ["reduce", "-o", str(tmp_path / "b.h5"), "--interface", f"a={root}"]):
        told = runner.invoke(app, [words[0], path, *words[1:], "--material", "steel"])
        assert "on the command line --section" in str(told.exception)


@pytest.mark.parametrize("option", [["--section", "circle=0.02"], ["--thickness", "0.001"]])
def test_solids_are_no_beams_or_shells(tmp_path, option):
    """The mass was that of solids without a word, also where the lines beside them were left out."""
    solid = block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1))
    path = str(fem.write_mesh(solid, tmp_path / "block.vtu"))
    for words in (["inspect"], ["frequencies"], ["reduce", "-o", str(tmp_path / "b.h5"), "--interface", "a=x0"]):
        told = CliRunner().invoke(app, [words[0], path, *words[1:], "--material", "steel", *option])
        assert re.search(r"hexahedron cells were given the section .*--material without --section", str(told.exception))
    steel = fem.Material.steel()
    for section in (fem.Beam(steel, fem.Section.circle(0.02)), fem.Truss(steel, 1e-4), fem.Shell(steel, 1e-3)):
        for quantity in ("K", "M", "mass"):
            with pytest.raises(fem.MaterialError, match="hexahedron cells were given the section of a beam"):
                getattr(fem.Model(solid, section), quantity)
