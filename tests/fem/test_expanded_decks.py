"""Shells and beams of decks as solids (`expand=True`): where the solids are, and how they move with the nodes of the deck."""

import warnings

import numpy as np
import pytest

import fem
from fem.errors import MeshError, MeshWarning

E, NU, RHO = 2.1e5, 0.3, 7.85e-9
MATERIAL = f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, {NU}\n*DENSITY\n{RHO}\n"
STATIC = "*STEP\n*STATIC\n{}*END STEP\n"


def written(folder, text):
    path = folder / "thin.inp"
    path.write_text(text)
    return path


def beam(folder, section, steps, kind="B32R", cells=4, length=100.0):
    """A beam along x, its first axis y, clamped at its first node."""
    n = cells * 2
    text = "*NODE, NSET=ALL\n" + "".join(f"{k + 1}, {length * k / n}, 0, 0\n" for k in range(n + 1))
    text += f"*ELEMENT, TYPE={kind}, ELSET=E\n"
    text += "".join(f"{k + 1}, {2 * k + 1}, {2 * k + 2}, {2 * k + 3}\n" for k in range(cells))
    text += f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, 0.\n*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION={section}\n0., 1., 0.\n"
    return written(folder, text + f"*NSET, NSET=TIP\n{n + 1},\n*BOUNDARY\n1, 1, 6\n" + steps)


def solved(path):
    mesh, steps = fem.read_steps(path, expand=True)
    model, results = fem.Model(mesh), []
    for step in steps:
        results.append(fem.solve_step(model, step, results[-1] if results else None))
    return mesh, results


@pytest.mark.parametrize(
    ("section", "second_moments"),
    [
        ("RECT\n3., 2.", (2 * 3**3 / 12, 3 * 2**3 / 12)),
        ("BOX\n3., 2., .1, .1, .1, .1", ((2 * 3**3 - 1.8 * 2.8**3) / 12, (3 * 2**3 - 2.8 * 1.8**3) / 12)),
        ("PIPE\n2., .1", (np.pi / 4 * (2**4 - 1.9**4),) * 2),
    ],
)
def test_expanded_beams_bend_as_beams(tmp_path, section, second_moments):
    """Moments at the end bend a beam to M L^2 / (2 E I): the widths of a section are along its axes, and hollow
    sections have the stiffness of their walls, to the square of the thickness of these."""
    L, M = 900.0, 100.0
    steps = STATIC.format(f"*CLOAD\n17, 6, {M}\n") + STATIC.format(f"*CLOAD, OP=NEW\n17, 5, -{M}\n")
    mesh, results = solved(beam(tmp_path, section, steps, cells=8, length=L))
    for result, component, second in zip(results, (1, 2), second_moments, strict=True):
        found = result.displacements[mesh.nodes("TIP")[0], component]
        assert found == pytest.approx(M * L**2 / (2 * E * second), rel=4e-3)


@pytest.mark.parametrize(("thick", "component", "sign"), [(0, 1, 1), (1, 2, 1), (2, 1, -1), (3, 2, -1)])
def test_a_pulled_box_bends_towards_its_thick_wall(tmp_path, thick, component, sign):
    """The force is beside the centroid: walls are those at the ends of the first, second, minus first and minus second
    axis. CalculiX 2.20 gives 1.552292, 2.573687, -1.552292 and -2.573688."""
    a, b, L, F, t = 3.0, 2.0, 300.0, 10.0, np.full(4, 0.02)
    t[thick] = 0.04
    path = beam(
        tmp_path, f"BOX\n{a}, {b}, {', '.join(map(str, t))}", STATIC.format(f"*CLOAD\n17, 1, {F}\n"), cells=8, length=L
    )
    mesh, (result,) = solved(path)
    across, along = (a, b) if component == 1 else (b, a)
    inner = across - 0.06, along - 0.04
    area = across * along - inner[0] * inner[1]
    centre = inner[0] * inner[1] * 0.01 / area  # of the walls: the hollow lies 0.01 to the other side
    second = (across**3 * along - inner[0] ** 3 * inner[1]) / 12 - inner[0] * inner[1] * 0.01**2 - area * centre**2
    found = result.displacements[mesh.nodes("TIP")[0]]
    assert found[component] == pytest.approx(sign * F * centre * L**2 / (2 * E * second), rel=2e-2)
    assert abs(found[component]) == pytest.approx({1: 1.552292, 2: 2.573688}[component], rel=1e-5)
    assert found[0] == pytest.approx(F * L / (E * area) + F * centre**2 * L / (E * second), rel=2e-2)


def test_round_sections_have_their_corners_on_the_circle(tmp_path):
    """The circle has the diameter that the deck gives: CalculiX 2.20 stretches a beam of length 1 and SECTION=CIRC of .02
    under 1000 N by 1.5345e-5 = F L / (E pi .01^2), to 1.3 %."""
    path = beam(tmp_path, "CIRC\n2.", STATIC.format("*CLOAD\n9, 1, 1.\n"))
    mesh, _ = fem.read_steps(path, expand=True)
    (cells,) = mesh.cells
    radius = np.linalg.norm(mesh.points[np.unique(cells.connectivity)][:, 1:], axis=1)
    np.testing.assert_allclose(radius, 1.0, rtol=1e-12)


def folded(folder, kind="S8R", thickness="0.5", offset="", steps="*STEP\n*FREQUENCY\n8\n*END STEP\n"):
    """Two strips of two cells that meet at a right angle."""
    mesh = fem.structured_meshes.sheet("quad8", (10.0, 4.0), (4, 2))
    x = mesh.points.copy()
    over = x[:, 0] > 5
    x[over, 2], x[over, 0] = x[over, 0] - 5, 5.0
    nodes = "".join(f"{k}, {a}, {b}, {c}\n" for k, (a, b, c) in enumerate(x.tolist(), 1))
    cells = "".join(
        f"{k}, {', '.join(map(str, row))}\n" for k, row in enumerate((mesh.cells[0].connectivity + 1).tolist(), 1)
    )
    section = f"*SHELL SECTION, ELSET=E, MATERIAL=M{offset}\n{thickness}\n"
    return written(folder, f"*NODE, NSET=ALL\n{nodes}*ELEMENT, TYPE={kind}, ELSET=E\n{cells}{MATERIAL}{section}{steps}")


def test_folds_are_knots_that_move_and_turn_with_the_part(tmp_path):
    """Both expansions at a fold move together: the free part has six motions without energy and no more, and its mass is
    that of its strips, whatever the offset."""
    for offset in ("", ", OFFSET=0.5"):
        mesh, (result,) = solved(folded(tmp_path, offset=offset))
        assert [len(block) for block in mesh.cells] == [8]
        assert np.abs(result.frequencies[:6]).max() < 1e-4 * result.frequencies[6]
        assert result.frequencies[6] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        part = fem.Model(fem.read_mesh(folded(tmp_path), expand=True, ignore=["STEP"]))
    assert part.mass == pytest.approx(RHO * 2 * 5 * 4 * 0.5, rel=1e-6)
    part.require_free()


def test_an_expanded_strip_bends_as_the_shell(tmp_path):
    """A clamped strip under pressure on its bottom: w = p L^4 / (8 E I) without Poisson's ratio."""
    mesh = fem.structured_meshes.sheet("quad8", (40.0, 2.0), (8, 1))
    nodes = "".join(f"{k}, {a}, {b}, {c}\n" for k, (a, b, c) in enumerate(mesh.points.tolist(), 1))
    cells = "".join(
        f"{k}, {', '.join(map(str, row))}\n" for k, row in enumerate((mesh.cells[0].connectivity + 1).tolist(), 1)
    )
    clamped = "".join(f"{n + 1},\n" for n in np.flatnonzero(mesh.points[:, 0] == 0))
    text = f"*NODE, NSET=ALL\n{nodes}*ELEMENT, TYPE=S8R, ELSET=E\n{cells}*NSET, NSET=FIX\n{clamped}"
    text += f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, 0.\n*SHELL SECTION, ELSET=E, MATERIAL=M\n0.5\n*BOUNDARY\nFIX, 1, 6\n"
    read, (result,) = solved(written(tmp_path, text + STATIC.format("*DLOAD\nE, P, 1e-3\n")))
    tip = result.displacements[(read.points[:, 0] == 40.0) & (read.node_ids < 1000), 2]
    np.testing.assert_allclose(tip, 1e-3 * 40**4 / (8 * E * 0.5**3 / 12), rtol=2e-3)


def test_a_moment_turns_an_expanded_strip_by_the_right_hand(tmp_path):
    """About y at its end, where x goes to: w = -M L^2 / (2 E I)."""
    mesh = fem.structured_meshes.sheet("quad8", (40.0, 2.0), (8, 1))
    nodes = "".join(f"{k}, {a}, {b}, {c}\n" for k, (a, b, c) in enumerate(mesh.points.tolist(), 1))
    rows = (mesh.cells[0].connectivity + 1).tolist()
    cells = "".join(f"{k}, {', '.join(map(str, row))}\n" for k, row in enumerate(rows, 1))
    clamped = "".join(f"{n + 1},\n" for n in np.flatnonzero(mesh.points[:, 0] == 0))
    end = int(np.flatnonzero((mesh.points == (40.0, 1.0, 0.0)).all(axis=1))[0])
    text = f"*NODE, NSET=ALL\n{nodes}*ELEMENT, TYPE=S8R, ELSET=E\n{cells}*NSET, NSET=FIX\n{clamped}"
    text += f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, 0.\n*SHELL SECTION, ELSET=E, MATERIAL=M\n0.5\n*BOUNDARY\nFIX, 1, 6\n"
    _, (result,) = solved(written(tmp_path, text + STATIC.format(f"*CLOAD\n{end + 1}, 5, 3.\n")))
    assert result.displacements[end, 2] == pytest.approx(-3.0 * 40.0**2 / (2 * E * 2.0 * 0.5**3 / 12), rel=0.02)


@pytest.mark.parametrize("loaded", [(1.0,), (0.0, 2.0)])
def test_forces_at_nodes_of_an_expanded_strip_are_the_whole_force(loaded, tmp_path):
    """In the middle of its end, or at the corners, with a third copy through the thickness: w = F L^3 / (3 E I)."""
    mesh = fem.structured_meshes.sheet("quad8", (40.0, 2.0), (8, 1))
    nodes = "".join(f"{k}, {a}, {b}, {c}\n" for k, (a, b, c) in enumerate(mesh.points.tolist(), 1))
    rows = (mesh.cells[0].connectivity + 1).tolist()
    cells = "".join(f"{k}, {', '.join(map(str, row))}\n" for k, row in enumerate(rows, 1))
    clamped = "".join(f"{n + 1},\n" for n in np.flatnonzero(mesh.points[:, 0] == 0))
    text = f"*NODE, NSET=ALL\n{nodes}*ELEMENT, TYPE=S8R, ELSET=E\n{cells}*NSET, NSET=FIX\n{clamped}"
    text += f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, 0.\n*SHELL SECTION, ELSET=E, MATERIAL=M\n0.5\n*BOUNDARY\nFIX, 1, 6\n"
    ends = [int(np.flatnonzero((mesh.points == (40.0, y, 0.0)).all(axis=1))[0]) for y in loaded]
    forces = "".join(f"{n + 1}, 3, {3.0 / len(ends)}\n" for n in ends)
    _, (result,) = solved(written(tmp_path, text + STATIC.format(f"*CLOAD\n{forces}")))
    np.testing.assert_allclose(result.displacements[ends, 2], 3.0 * 40.0**3 / (3 * E * 2.0 * 0.5**3 / 12), rtol=0.01)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("S3", "triangle", [32973.27, 118186.7, 196745.1]),
        ("S6", "triangle6", [27041.06, 90245.63, 103431.3]),
    ],
)
def test_triangles_become_the_wedges_of_calculix(name, kind, expected, tmp_path):
    """Frequencies of CalculiX 2.20 (per second) of a clamped strip; full integration of wedges, of six nodes instead of
    two points, makes the first one 26 % higher."""
    path = triangles(tmp_path, name, kind)
    _, (result,) = solved(path)
    np.testing.assert_allclose(result.frequencies, expected, rtol=1e-6)


def triangles(folder, name, kind):
    mesh = fem.structured_meshes.sheet(kind, (4.0, 2.0), (4, 2))
    nodes = "".join(f"{k}, {a}, {b}, {c}\n" for k, (a, b, c) in enumerate(mesh.points.tolist(), 1))
    rows = enumerate((mesh.cells[0].connectivity + 1).tolist(), 1)
    cells = "".join(f"{k}, {', '.join(map(str, row))}\n" for k, row in rows)
    clamped = "".join(f"{n + 1},\n" for n in np.flatnonzero(mesh.points[:, 0] == 0))
    text = f"*NODE, NSET=ALL\n{nodes}*ELEMENT, TYPE={name}, ELSET=E\n{cells}*NSET, NSET=FIX\n{clamped}{MATERIAL}"
    text += "*SHELL SECTION, ELSET=E, MATERIAL=M\n0.5\n*BOUNDARY\nFIX, 1, 6\n*STEP\n*FREQUENCY\n3\n*END STEP\n"
    return written(folder, text)


def test_nodal_thicknesses_that_no_section_asks_for_say_nothing(tmp_path):
    path = folded(tmp_path, steps="*NODAL THICKNESS\nALL, 2.\n")
    mesh = fem.read_mesh(path, expand=True)
    assert any("NODAL THICKNESS, line" in text and "has no effect" in text for text in mesh.warnings)
    path = folded(tmp_path, offset=", NODAL THICKNESS", steps="*NODAL THICKNESS\nALL, 2.\n")
    with pytest.raises(MeshError, match="SHELL SECTION, line"):
        fem.read_mesh(path, expand=True)


def test_what_cannot_be_expanded_is_refused(tmp_path):
    hollow = beam(tmp_path, "PIPE\n2., .1", "")
    with pytest.raises(MeshError, match=r"BEAM SECTION, line \d+ of thin.inp: hollow"):
        fem.read_mesh(hollow, expand=True)
    with pytest.raises(MeshError, match="expand=True is for decks"):
        fem.read_mesh(tmp_path / "thin.msh", expand=True)
    along = beam(tmp_path, "RECT\n3., 2.", "").read_text().replace("0., 1., 0.", "1., 0., 0.")
    with pytest.raises(MeshError, match="its first axis is along the beam"):
        fem.read_mesh(written(tmp_path, along), expand=True)


@pytest.mark.parametrize(
    ("section", "kind", "expected"),
    [
        ("CIRC", "B32", [0.00123055, 9.769842, 2.476252]),
        ("CIRC", "B32R", [0.001230082, 9.855687, 2.481696]),
        ("RECT", "B32R", [0.0009624136, 5.84948, 1.492113]),
    ],
)
def test_sections_have_their_widths_along_their_axes(section, kind, expected, tmp_path):
    """Displacements of CalculiX 2.20 of a cantilever under unit forces, its section of .1 and .2: with two points along
    the beam (B32R) as it integrates sections, 2 points each way would be 7 per cent too stiff."""
    steps = "".join(STATIC.format(f"*CLOAD, OP=NEW\n9, {k}, 1.\n") for k in (1, 2, 3))
    path = beam(tmp_path, f"{section}\n.1, .2", steps, kind=kind, length=4.0)
    path.write_text(path.read_text().replace(f"{E}, 0.", f"{E}, .3"))
    mesh, results = solved(path)
    found = [r.displacements[mesh.nodes("TIP")[0], k] for k, r in enumerate(results)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_surfaces_of_shells_are_their_bottom_and_top(tmp_path):
    """SPOS is the side to which the normal points, here z."""
    text = (
        "*NODE, NSET=ALL\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n*ELEMENT, TYPE=S4, ELSET=E\n1, 1, 2, 3, 4\n"
    )
    text += MATERIAL + "*SHELL SECTION, ELSET=E, MATERIAL=M\n.2\n"
    text += "*SURFACE, NAME=BOTTOM\nE, SNEG\n*SURFACE, NAME=TOP\nE, SPOS\n"
    mesh = fem.read_mesh(written(tmp_path, text), expand=True)
    for name, z in (("BOTTOM", -0.1), ("TOP", 0.1)):
        np.testing.assert_allclose(mesh.points[mesh.nodes(name), 2], z)
