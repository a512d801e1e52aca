"""Parts of a mesh that holds several, such as those that a deck brings into contact."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import fem
from fem.mesh.structured_meshes import block
from flexmb.cli.main import app
from flexmb.files import load_body, load_model

PAIR = """*ELSET, ELSET=UPPER FACE
9, 10, 11, 12
*SURFACE, NAME=TOP
UPPER FACE, S2
*MATERIAL, NAME=STEEL
*ELASTIC
2.1E5, 0.3
*DENSITY
7.85E-9
*MATERIAL, NAME=BRASS
*ELASTIC
1.0E5, 0.35
*DENSITY
8.5E-9
*SOLID SECTION, ELSET=LOW, MATERIAL=STEEL
*SOLID SECTION, ELSET=HIGH, MATERIAL=BRASS
*CONTACT PAIR, INTERACTION=DRY
BOTTOM, TOP
"""


def bricks(file):
    """A deck with two bricks on each other, of 2 by 2 by 3 cells, and the contact of their faces."""
    whole, lines = block("hexahedron", (20.0, 20.0, 6.0), (2, 2, 3)), ["*NODE"]
    for k, lift in enumerate((0.0, 6.0)):
        lines += [f"{100 * k + n + 1}, {x}, {y}, {z + lift}" for n, (x, y, z) in enumerate(whole.points)]
    for k, name in enumerate(("LOW", "HIGH")):
        lines.append(f"*ELEMENT, TYPE=C3D8, ELSET={name}")
        rows = sorted(whole.cells[0].connectivity.tolist(), key=lambda row: whole.points[row, 2].mean())
        lines += [f"{100 * k + n + 1}, {', '.join(str(100 * k + i + 1) for i in row)}" for n, row in enumerate(rows)]
    lines += ["*ELSET, ELSET=LOWER FACE", "101, 102, 103, 104", "*SURFACE, NAME=BOTTOM", "LOWER FACE, S1"]
    file.write_text("\n".join(lines) + "\n" + PAIR)
    return file


@pytest.fixture
def both(tmp_path):
    with pytest.warns(fem.MeshWarning, match=r"accept the keyword \(ignore\), make a body of each part"):
        fem.read_mesh(bricks(tmp_path / "stack.inp"))
    return fem.read_mesh(tmp_path / "stack.inp", ignore=["CONTACT PAIR"])


def test_a_part_keeps_its_sets_materials_and_numbers(both):
    high = fem.extract_cells(both, "HIGH")
    assert (high.name, high.cell_count, len(high.points)) == ("stack HIGH", 12, 36)
    assert {*high.face_sets} == {"BOTTOM"}
    assert {*high.cell_sets} == {"HIGH", "LOWER FACE"}
    assert high.node_ids.min() == 101
    np.testing.assert_array_equal(high.points[high.nodes_of_faces(high.face_sets["BOTTOM"])][:, 2], 6.0)
    part = fem.Model(high).with_surfaces(bottom="BOTTOM")
    assert part.mass == pytest.approx(8.5e-9 * 20 * 20 * 6)
    assert part.surfaces["bottom"].areas.sum() == pytest.approx(400.0)
    whole = fem.extract_cells(both, ["LOW", "HIGH"], name="pair")
    assert (whole.name, whole.cell_count) == ("pair", both.cell_count)


def test_constraints_masses_and_springs_remain_with_their_part(both):
    k = len(both.points)
    added = replace(
        both,
        points=np.vstack([both.points, [10.0, 10.0, 20.0]]),
        node_ids=np.append(both.node_ids, 900),
        constraints=(fem.RigidLink(np.flatnonzero(both.points[:, 2] == 12.0), k),),
        masses=(fem.NodeMass(k, 2e-6),),
        springs=(fem.NodeSpring([k], [2], [1.0], stiffness=5.0),),
    )
    low, high = (fem.extract_cells(added, name) for name in ("LOW", "HIGH"))
    assert (low.constraints, low.masses, low.springs) == ((), (), ())
    assert high.constraints[0].reference == high.masses[0].node == high.springs[0].nodes[0] == len(high.points) - 1
    assert fem.Model(high).mass == pytest.approx(fem.Model(fem.extract_cells(both, "HIGH")).mass + 2e-6)


def test_unknown_sets_and_connections_with_other_cells_are_named(both):
    with pytest.raises(fem.MeshError, match=r"Mesh 'stack': There is no cell set named 'HIHG'. Did you mean 'HIGH'"):
        fem.extract_cells(both, "HIHG")
    spring = fem.NodeSpring([0, len(both.points) - 1], [2, 2], [1.0, -1.0], stiffness=5.0, source="SPRINGA, line 7")
    with pytest.raises(
        fem.MeshError, match=r"SPRINGA, line 7 connects the cells of 'LOW' with node 71 \(number 136 in the file\)"
    ):
        fem.extract_cells(replace(both, springs=(spring,)), "LOW")


def test_a_model_file_makes_a_body_of_each_part(tmp_path):
    bricks(tmp_path / "stack.inp")
    body = (
        '[bodies.{0}]\nkind = "flexible"\nmesh = "stack.inp"\ncells = "{1}"\nignore = ["CONTACT PAIR"]\n'
        'material = "file"\nsurfaces = {{ face = "{2}" }}\nreduction = {{ method = "contact", modes = 2 }}\n'
    )
    text = "simulation = { duration = 1e-5, step = 1e-6 }\n" + body.format("low", "LOW", "TOP")
    text += body.format("high", "HIGH", "BOTTOM") + '[[contacts]]\nname = "pair"\n'
    text += 'a = { place = "high", surface = "face" }\nb = { place = "low", surface = "face" }\n'
    (tmp_path / "stack.toml").write_text(text)
    low, high = load_model(tmp_path / "stack.toml").system.build().bodies
    assert low.invariants.mass / high.invariants.mass == pytest.approx(7.85 / 8.5)


@pytest.mark.filterwarnings("ignore::fem.MeshWarning")  # inspect accepts no keywords
def test_the_command_line_takes_a_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bricks(tmp_path / "stack.inp")
    reduce = ["reduce", "stack.inp", "--cells", "HIGH", "--ignore", "CONTACT PAIR", "--surface", "face=BOTTOM"]
    done = CliRunner().invoke(app, [*reduce, "--method", "contact", "--modes", "2", "-o", "high.h5"])
    assert done.exit_code == 0, done.output
    high = load_body("high.h5")
    assert high.name == "stack HIGH"
    assert high.invariants.mass == pytest.approx(8.5e-9 * 20 * 20 * 6)
    done = CliRunner().invoke(app, ["inspect", "stack.inp", "--cells", "LOW", "--surface", "TOP"])
    assert "stack LOW" in done.output
    assert "area 400" in done.output
    assert "fall" not in done.output
    done = CliRunner().invoke(app, ["inspect", "stack.inp", "--cells", "LWO"])
    assert "no cell set named 'LWO'" in " ".join(str(done.exception or done.output).split())
