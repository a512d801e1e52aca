"""Analysis steps of decks: loads and supports as the deck states them, against closed forms; elements as it names
them; beams, materials and axes of sections."""

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import fem
from fem.analysis.steps import _frequencies
from fem.errors import FactorisationError, MeshError, MeshWarning

L, B, H, E, RHO = 8.0, 1.0, 1.5, 210000.0, 7.8e-9
MATERIAL = "*MATERIAL, NAME=M\n*ELASTIC\n210000., {nu}\n*DENSITY\n7.8e-9\n*EXPANSION\n1e-5\n"
LUMP = "*ELEMENT, TYPE=MASS, ELSET=LUMP\n99, 1\n*MASS, ELSET=LUMP\n1.\n*ELSET, ELSET=BOTH\nEALL, LUMP\n"
AXIAL = "FIX, 1\nCORNER, 1, 3\nEDGE, 2\n"


def bar(folder, steps, kind="C3D8I", nu=0.0, section="", before=""):
    """A deck of a bar along x, of 4 x 1 x 1 cells."""
    name = "hexahedron20" if kind.startswith("C3D20") else "hexahedron"
    mesh = fem.structured_meshes.block(name, (L, B, H), (4, 1, 1))
    text = "*NODE, NSET=ALL\n" + "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(mesh.points, 1))
    text += f"*ELEMENT, TYPE={kind}, ELSET=EALL\n"
    for k, cell in enumerate(mesh.cells[0].connectivity + 1, 1):
        rows = [k, *cell.tolist()]
        text += ", ".join(map(str, rows[:11])) + (",\n" + ", ".join(map(str, rows[11:])) if rows[11:] else "") + "\n"
    x = mesh.points
    sets = {
        "FIX": x[:, 0] == 0,
        "TIP": x[:, 0] == L,
        "CORNER": (x == 0).all(axis=1),
        "EDGE": (x[:, 0] == 0) & (x[:, 1] == 0),
    }
    for key, inside in sets.items():
        text += f"*NSET, NSET={key}\n" + "".join(f"{k + 1},\n" for k in np.flatnonzero(inside))
    text += before + MATERIAL.format(nu=nu) + f"*SOLID SECTION, ELSET=EALL, MATERIAL=M{section}\n" + steps
    path = folder / "bar.inp"
    path.write_text(text)
    return path


def solved(path):
    mesh, steps = fem.read_steps(path)
    model = fem.Model(mesh)
    results = []
    for step in steps:
        results.append(fem.solve_step(model, step, results[-1] if results else None))
    return mesh, results


def test_nodes_are_held_where_the_step_before_left_them(tmp_path):
    """The end of a pulled bar is fixed, and stays there when the load is gone."""
    steps = static(f"*BOUNDARY\n{AXIAL}*DLOAD\n4, P4, -3.\n") + static("*BOUNDARY, FIXED\nTIP, 1\n*DLOAD, OP=NEW\n")
    path = bar(tmp_path, steps)
    mesh, (pulled, left) = solved(path)
    np.testing.assert_allclose(left.displacements[:, 0], mesh.points[:, 0] * 3 / E, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pulled.displacements[:, 0], left.displacements[:, 0], rtol=1e-9, atol=1e-12)
    mesh, steps = fem.read_steps(path)
    with pytest.raises(MeshError, match="where the step before left them; give the result"):
        fem.solve_step(fem.Model(mesh), steps[1])


def static(text):
    return f"*STEP\n*STATIC\n{text}*END STEP\n"


@pytest.mark.parametrize("kind", ["C3D8", "C3D8I", "C3D20", "C3D20R"])
def test_loads_of_a_bar(kind, tmp_path):
    """Pressure, gravity, rotation, heat and a given displacement; loads stay in the next step unless OP=NEW."""
    g, speed2 = 9810.0, 4e4
    steps = (
        static(f"*BOUNDARY\n{AXIAL}*DLOAD\n4, P4, -3.\n")
        + static(f"*DLOAD\nEALL, GRAV, {g}, 1., 0., 0.\n")
        + static(f"*DLOAD, OP=NEW\nEALL, CENTRIF, {speed2}, 0., 0., 0., 0., 0., 1.\n")
        + static("*DLOAD, OP=NEW\n*TEMPERATURE\nALL, 50.\n")
        + static("*TEMPERATURE\nALL, 0.\n*BOUNDARY\nTIP, 1, 1, 0.25\n")
    )
    path = bar(tmp_path, steps, kind)
    mesh, results = solved(path)
    tip = [float(r.displacements[mesh.nodes("TIP"), 0].mean()) for r in results]
    weight = RHO * g * L**2 / (2 * E)
    spin = RHO * speed2 * L**3 / (3 * E)
    if kind in ("C3D20", "C3D20R"):
        np.testing.assert_allclose(tip[2], spin, rtol=1e-3)
    face = 3.0 * L / E
    np.testing.assert_allclose(tip[:2], [face, face + weight], rtol=1e-9)
    np.testing.assert_allclose(tip[3:], [50e-5 * L, 0.25], rtol=1e-9)
    if kind != "C3D20R":  # whose motions without energy one row of cells shares
        np.testing.assert_allclose(results[3].displacements[:, 2], 50e-5 * mesh.points[:, 2], atol=1e-12)


def test_a_pressure_replaces_that_of_an_earlier_step_on_its_faces_whatever_set_named_them(tmp_path):
    """As in CalculiX: a set, then its cell; a cell, then its surface. Those of one step add up."""
    top = "*SURFACE, NAME=TOP\n4, S4\n*ELSET, ELSET=LAST\n3, 4\n"
    again = static("*DLOAD\n4, P4, -2.\n") + static("*DSLOAD\nTOP, P, -1.\n") + static("*DLOAD\n4, P4, -5.\n")
    again += static("*DSLOAD\nTOP, P, -1.\n*DLOAD\n4, P4, -5.\n")
    steps = static(f"*BOUNDARY\n{AXIAL}*DLOAD\nLAST, P4, -3.\n") + again
    mesh, results = solved(bar(tmp_path, steps, section="\n" + top.rstrip()))
    tip = [float(r.displacements[mesh.nodes("TIP"), 0].mean()) for r in results]
    inner = 3.0 * 0.75 * L / E  # of the face between the cells 3 and 4, which is loaded throughout
    np.testing.assert_allclose(np.array(tip) - inner, np.array([3, 2, 1, 5, 6]) * L / E, rtol=1e-9)


def test_gravity_in_another_direction_is_another_load(tmp_path):
    """As in CalculiX: along the same direction, of any length, it replaces that of an earlier step."""
    g = 9810.0
    steps = static(f"*BOUNDARY\n{AXIAL}*DLOAD\nEALL, GRAV, {g}, 1., 0., 0.\n")
    steps += static(f"*DLOAD\nEALL, GRAV, {g / 4}, -2., 0., 0.\n") + static(
        f"*DLOAD\nEALL, GRAV, {g / 2}, 3., 0., 0.\n"
    )
    mesh, results = solved(bar(tmp_path, steps))
    tip = [float(r.displacements[mesh.nodes("TIP"), 0].mean()) for r in results]
    np.testing.assert_allclose(tip, np.array([1, 0.75, 0.25]) * RHO * g * L**2 / (2 * E), rtol=1e-9)


def test_a_second_rotation_of_the_same_cells_is_named(tmp_path):
    """CalculiX takes one of them without a word."""
    first, second = "EALL, CENTRIF, 4e4, 0., 0., 0., 0., 0., 1.\n", "2, CENTRIF, 4e4, 0., 0., 0., 0., 1., 0.\n"
    steps = static(f"*BOUNDARY\n{AXIAL}*DLOAD\n{first}") + static(f"*DLOAD\n{second}")
    steps += static(f"*DLOAD, OP=NEW\n{second}")
    mesh, read = fem.read_steps(bar(tmp_path, steps))
    assert [len(step.unread) for step in read] == [0, 1, 0]
    with pytest.raises(MeshError, match="cells of '2' have another CENTRIF, that of 'EALL'; one rotation is read"):
        fem.solve_step(fem.Model(mesh), read[1])


def test_what_is_not_obeyed_acts_on_in_later_steps(tmp_path):
    """A later step is not solved as if a load of an earlier one were not there."""
    steps = static(f"*BOUNDARY\n{AXIAL}*DLOAD\nEALL, BX, 1.\n") + static("*CLOAD\nTIP, 1, 1.\n")
    steps += "*STEP\n*FREQUENCY\n1\n*END STEP\n" + static("*DLOAD, OP=NEW\n")
    steps += static("*BOUNDARY, AMPLITUDE=A\nTIP, 1, 1, 0.1\n") + "*STEP, PERTURBATION\n*FREQUENCY\n1\n*END STEP\n"
    mesh, read = fem.read_steps(bar(tmp_path, steps))
    assert [[u.keyword for u in step.unread] for step in read] == [
        ["DLOAD"],
        ["DLOAD"],
        [],
        [],
        ["BOUNDARY"],
        ["BOUNDARY"],
    ]
    with pytest.raises(MeshError, match=r"Step 2 .* is not solved: DLOAD, line \d+ of bar.inp .*type BX"):
        fem.solve_step(fem.Model(mesh), read[1])


def test_elements_are_those_that_the_deck_names(tmp_path):
    """C3D8 locks in bending, C3D8I does not; a mesh for bodies has the better ones, and says so."""
    load = static("*BOUNDARY\nFIX, 1, 3\n*CLOAD\nTIP, 3, 1.\n")
    tips = {}
    for kind in ("C3D8", "C3D8I", "C3D20R", "C3D20"):
        mesh, results = solved(bar(tmp_path, load, kind))
        count = len(mesh.nodes("TIP"))
        tips[kind] = float(results[0].displacements[mesh.nodes("TIP"), 2].mean()) / count
    exact = L**3 / (3 * E * B * H**3 / 12) * (1 + 3 * E * H**2 / (12 * E / 2 * 5 / 6 * L**2))
    assert tips["C3D8"] < 0.75 * exact < 0.97 * exact < tips["C3D8I"] < 1.01 * exact
    assert tips["C3D20"] < tips["C3D20R"] < 1.01 * exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        assert fem.read_mesh(bar(tmp_path, load, "C3D8")).kinds == {"hexahedron": 4}
        mesh = fem.read_mesh(tmp_path / "bar.inp", elements="file")
        assert mesh.kinds == {"hexahedron-compatible": 4}
        assert fem.read_mesh(bar(tmp_path, load, "C3D20R"), elements="file").kinds == {"hexahedron20-reduced": 4}
        warned = fem.read_mesh(path=tmp_path / "bar.inp").warnings
        assert fem.read_mesh(bar(tmp_path, load, "C3D8R"), elements="file").kinds == {"hexahedron-reduced": 4}
    assert "elements of type C3D20R are integrated in full, not reduced" in warned
    with pytest.raises(MeshError, match='elements is "file", for decks'):
        fem.read_mesh(tmp_path / "bar.inp", elements="best")


def test_forces_of_one_step_add_up_and_replace_those_before(tmp_path):
    first = static(f"*BOUNDARY\n{AXIAL}*CLOAD\nTIP, 1, 1.\n*CLOAD\nTIP, 1, 2.\n")
    _, results = solved(bar(tmp_path, first + static("*CLOAD\nTIP, 1, 1.\n")))
    np.testing.assert_allclose(results[0].displacements, 3 * results[1].displacements, atol=1e-12)


def test_frequencies_of_a_step_and_of_a_stretched_bar(tmp_path):
    """Axial frequencies c / 4 L; a tension P raises those of bending as that of a beam-column."""
    steps = static("*BOUNDARY\nFIX, 1, 3\n*CLOAD\nTIP, 1, {P}\n") + "*STEP, PERTURBATION\n*FREQUENCY\n2\n*END STEP\n"
    found = [solved(bar(tmp_path, steps.format(P=P)))[1][1].frequencies[0] for P in (0.0, 10.0)]
    Iy, rate = H * B**3 / 12, 1.8751 / L
    base = rate**2 * np.sqrt(E * Iy / (RHO * B * H)) / (2 * np.pi)
    assert found[0] == pytest.approx(base, rel=0.02)
    lift = 40.0 * 4.6478 / L**2 / (12.3624 * E * Iy / L**4)  # int w'^2 over int w''^2 of the first mode
    assert found[1] ** 2 / found[0] ** 2 - 1 == pytest.approx(lift, rel=0.03)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (static("*CLOAD, AMPLITUDE=A\nTIP, 1, 1.\n"), r"CLOAD, line \d+ .*amplitude 'A'"),
        (static("*DLOAD\nEALL, P1NU, 1.\n"), r"DLOAD, line \d+ .*type P1NU"),
        (static("*CONTACT PAIR, INTERACTION=I\nA, B\n"), r"CONTACT PAIR, line \d+"),
        ("*INITIAL CONDITIONS, TYPE=STRESS\nEALL, 1.\n" + static(""), r"INITIAL CONDITIONS, line \d+"),
        ("*STEP, NLGEOM\n*STATIC\n*END STEP\n", "STATIC, NLGEOM"),
        ("*STEP\n*DYNAMIC\n*END STEP\n", "DYNAMIC"),
        ("*STEP\n*STATIC\n*CLOAD\nTIP, 1, 1.\n", r"STEP, line \d+ .*no \*END STEP follows"),
        ("*STEP\n*FREQUENCY\n, 10.\n*END STEP\n", "asks for 0 natural frequencies"),
        (static("*DLOAD\nEALL, GRAV, 9.81, 0., 0., 0.\n"), r"DLOAD, line \d+ .*direction is zero"),
        (LUMP + static("*DLOAD\nBOTH, GRAV, 9.81, 0., 0., -1.\n"), r"DLOAD, line \d+ .*1 elements of 'BOTH' are point"),
        ("*EXPANSION, TYPE=USER\n1e-5\n" + static("*TEMPERATURE\nALL, 50.\n"), "the expansion of material 'M'"),
        (static("*CHANGE SOLID SECTION, ELSET=EALL, MATERIAL=N\n"), "the deck has no material 'N'"),
    ],
)
def test_steps_that_say_more_are_refused_by_line(text, words, tmp_path):
    with pytest.raises(MeshError, match=words):
        solved(bar(tmp_path, f"*BOUNDARY\n{AXIAL}" + text))


def test_parts_that_are_not_held_are_refused(tmp_path):
    """A part without supports has no static solution, and a system of equations that seems to have one."""
    with pytest.raises(fem.FactorisationError, match=r"Step 1 \(STEP, line \d+ .*leave parts free"):
        solved(bar(tmp_path, static("*CLOAD\nTIP, 3, 1.\n")))


def test_thermal_strains_of_beams_are_refused(tmp_path):
    path = tmp_path / "beam.inp"
    path.write_text(BEAMS + MATERIAL.format(nu=0.3) + static("*BOUNDARY\n1, 1, 6\n*TEMPERATURE\nALL, 50.\n"))
    with pytest.raises(MeshError, match="thermal strains act on solid cells; found line"):
        solved(path)


def test_temperatures_return_to_the_initial_ones(tmp_path):
    """OP=NEW forgets the temperatures of earlier steps."""
    first = f"*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 20.\n*BOUNDARY\n{AXIAL}"
    steps = static("*TEMPERATURE\nALL, 70.\n") + static("*TEMPERATURE, OP=NEW\nFIX, 20.\n")
    mesh, results = solved(bar(tmp_path, first + steps))
    tip = mesh.nodes("TIP")
    np.testing.assert_allclose(results[0].displacements[tip, 0], 50e-5 * L, rtol=1e-9)
    np.testing.assert_allclose(results[1].displacements, 0.0, atol=1e-15)


def test_nodes_without_cells_take_no_temperatures_from_others(tmp_path):
    """The deck defines a node that nothing uses before all others, and the temperatures rise along the bar."""
    x = fem.structured_meshes.block("hexahedron", (L, B, H), (4, 1, 1)).points[:, 0]
    warm = "*TEMPERATURE\n" + "".join(f"{k + 1}, {40 + 5 * x[k]}\n" for k in range(len(x)))
    path = bar(tmp_path, "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 20.\n" + static(f"*BOUNDARY\n{AXIAL}{warm}"))
    _, (plain,) = solved(path)
    path.write_text("*NODE\n9000, -50., 0., 0.\n" + path.read_text())
    mesh, (found,) = solved(path)
    tip = mesh.nodes("TIP")
    assert "1 nodes that no cell of the part uses" in str(mesh.warnings)
    np.testing.assert_allclose(found.displacements, plain.displacements, rtol=1e-9, atol=1e-15)
    assert found.displacements[tip, 0].mean() == pytest.approx(1e-5 * (20 * L + 5 * L**2 / 2), rel=1e-9)


def test_axes_of_materials(tmp_path):
    """Stiff along y of the deck's axes, which are turned onto x of the mesh."""
    stiff = "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1e4, 21e4, 1e4, 0., 0., 0., 1e4, 1e4,\n1e4\n"
    load = static(f"*BOUNDARY\n{AXIAL}*CLOAD\nTIP, 1, 1.\n")
    path = bar(tmp_path, load, section=", ORIENTATION=O", before="*ORIENTATION, NAME=O\n0., 1., 0., 1., 0., 0.\n")
    path.write_text(path.read_text().replace("*ELASTIC\n210000., 0.0\n", stiff))
    mesh, (result,) = solved(path)
    tip = result.displacements[mesh.nodes("TIP"), 0].mean()
    assert tip == pytest.approx(4.0 * L / (21e4 * B * H), rel=1e-9)
    assert {u.group for u in fem.Model(mesh).unread} == {"STEP"}


BEAMS = """*NODE, NSET=ALL
1, 0., 0., 0.
2, 2.5, 0., 0.
3, 5., 0., 0.
4, 7.5, 0., 0.
5, 10., 0., 0.
*ELEMENT, TYPE=B32, ELSET=EB
1, 1, 2, 3
2, 3, 4, 5
*BEAM SECTION, ELSET=EB, MATERIAL=M, SECTION=RECT
0.2, 0.4
0., 1., 0.
"""


def test_beams_of_a_deck_have_their_section(tmp_path):
    """Of three nodes two beams; a width along the given direction, b across it; tip loads both ways and a moment."""
    tip = "*BOUNDARY\n1, 1, 6\n*CLOAD, OP=NEW\n5, {}, 1.\n"
    path = tmp_path / "beam.inp"
    path.write_text(BEAMS + MATERIAL.format(nu=0.3) + "".join(static(tip.format(k)) for k in (2, 3, 4)))
    mesh, results = solved(path)
    assert mesh.kinds == {"line": 4}
    end = mesh.node_ids.tolist().index(5)
    shear = 10 / (E / 2.6 * 5 / 6 * 0.08)
    across, along = (1000 / (3 * E * w * h**3 / 12) + shear for w, h in ((0.4, 0.2), (0.2, 0.4)))
    assert results[0].displacements[end, 1] == pytest.approx(across, rel=1e-9)
    assert results[1].displacements[end, 2] == pytest.approx(along, rel=1e-9)
    J = fem.Section.rectangle(0.2, 0.4).J
    assert results[2].rotations[end, 0] == pytest.approx(10 / (E / 2.6 * J), rel=1e-9)
    assert fem.Model(mesh).mass == pytest.approx(RHO * 0.8)
    bare = path.read_text().replace("*BEAM SECTION", "*BEAM SECTION, LUMPED=YES")
    path.write_text(bare)
    with pytest.warns(MeshWarning, match=r"BEAM SECTION, line \d+"):
        fem.read_mesh(path)


def test_beams_are_held_as_the_step_before_turned_them(tmp_path):
    """The end of a cantilever keeps its slope when the force is gone: a moment bends it to half the slope times the
    length."""
    steps = static("*BOUNDARY\n1, 1, 6\n*CLOAD\n5, 3, 1.\n") + static("*BOUNDARY, FIXED\n5, 5\n*CLOAD, OP=NEW\n")
    path = tmp_path / "beam.inp"
    path.write_text(BEAMS + MATERIAL.format(nu=0.3) + steps)
    mesh, (bent, left) = solved(path)
    end = mesh.node_ids.tolist().index(5)
    slope = -(10.0**2) / (2 * E * 0.2 * 0.4**3 / 12)
    assert bent.rotations[end, 1] == pytest.approx(slope, rel=1e-9)
    assert left.rotations[end, 1] == pytest.approx(slope, rel=1e-9)
    assert left.displacements[end, 2] == pytest.approx(-slope * 10 / 2, rel=1e-9)


def test_a_perturbation_sees_beams_as_the_step_before_turned_them(tmp_path):
    """A moment at the tip turns sections and moves no force: the frequencies are those of the stiffness of the model
    with its geometric part for that state."""
    held = "*BOUNDARY\n1, 1, 6\n"
    steps = static(held + "*CLOAD\n5, 5, 4.\n") + "*STEP, PERTURBATION\n*FREQUENCY\n3\n*END STEP\n"
    path = tmp_path / "beam.inp"
    path.write_text(BEAMS + MATERIAL.format(nu=0.3) + steps)
    mesh, (bent, vibrating) = solved(path)
    model = fem.Model(mesh)
    u = np.concatenate([bent.displacements.ravel(), bent.rotations.ravel()])
    n = len(mesh.points)
    free = np.setdiff1d(np.arange(6 * n), mesh.node_ids.tolist().index(1) * 3 + np.array([0, 1, 2]))
    free = np.setdiff1d(free, 3 * n + mesh.node_ids.tolist().index(1) * 3 + np.array([0, 1, 2]))

    def lowest(K):
        values = scipy.linalg.eigh(K.toarray()[np.ix_(free, free)], model.M.toarray()[np.ix_(free, free)])[0]
        return np.sqrt(values[:3]) / (2 * np.pi)

    expected = lowest(model.K + model.geometric_stiffness(u))
    assert np.abs(expected / lowest(model.K) - 1).max() > 0.01
    np.testing.assert_allclose(vibrating.frequencies, expected, rtol=1e-7)


def test_a_fluid_node_gives_the_pressure_on_faces(tmp_path):
    """P4NP: the pressure is the second dof of a node; without one the step is not solved."""
    node = "*NODE\n500, 9., 9., 9.\n"
    given = static(f"*BOUNDARY\n{AXIAL}500, 2, 2, -3.\n*DLOAD\n4, P4NP, 500\n")
    mesh, (pulled,) = solved(bar(tmp_path, given, before=node))
    np.testing.assert_allclose(pulled.displacements[:, 0], mesh.points[:, 0] * 3 / E, rtol=1e-9, atol=1e-12)
    missing = static(f"*BOUNDARY\n{AXIAL}*DLOAD\n4, P4NP, 500\n")
    with pytest.raises(MeshError, match="the pressure at node 500 is not given"):
        solved(bar(tmp_path, missing, before=node))


def test_a_mean_rotation_turns_the_end_of_a_bar(tmp_path):
    """*MPC MEANROT: its last node holds the axis in its coordinates and the angle in its first dof."""
    tips = [
        str(k + 1)
        for k in np.flatnonzero(fem.structured_meshes.block("hexahedron", (L, B, H), (4, 1, 1)).points[:, 0] == L)
    ]
    text = "*NODE\n500, 2., 0., 0.\n*MPC\nMEANROT, " + ", ".join(t for t in tips for _ in range(3))
    mesh, (turned,) = solved(bar(tmp_path, static("*BOUNDARY\nFIX, 1, 3\n500, 1, 1, 0.01\n"), before=text + ", 500\n"))
    tip = np.flatnonzero(mesh.points[:, 0] == L)
    x = mesh.points[tip] - mesh.points[tip].mean(axis=0)
    u = turned.displacements[tip] - turned.displacements[tip].mean(axis=0)
    angles = (x[:, 1] * u[:, 2] - x[:, 2] * u[:, 1]) / (x[:, 1:] ** 2).sum(axis=1)
    assert angles.mean() == pytest.approx(0.01, rel=1e-9)
    assert np.abs(turned.displacements[tip].mean(axis=0)).max() < 1e-12


def test_trusses_of_decks_have_the_area_of_their_section(tmp_path):
    """A rod of two nodes between supports, pulled along it; the set keeps its name, and its mass is that of the deck."""
    text = "*NODE\n1, 0., 0., 0.\n2, 3., 4., 0.\n*ELEMENT, TYPE=T3D2, ELSET=ROD\n1, 1, 2\n" + MATERIAL.format(nu=0.3)
    text += "*SOLID SECTION, ELSET=ROD, MATERIAL=M\n0.5\n*BOUNDARY\n1, 1, 3\n2, 2, 3\n"
    path = tmp_path / "rod.inp"
    path.write_text(text + static("*CLOAD\n2, 1, 7.\n"))
    mesh, (pulled,) = solved(path)
    assert [block.kind for block in mesh.cells] == ["truss"]
    assert fem.Model(mesh).mass == pytest.approx(RHO * 0.5 * 5.0)
    assert pulled.displacements[1, 0] == pytest.approx(7.0 * 5.0 / (E * 0.5) / 0.6**2)
    assert mesh.cell_sets["ROD"].tolist() == [0]


WARM = "*MATERIAL, NAME=M\n*ELASTIC\n2e5, 0., 0.\n1e5, 0., 100.\n*EXPANSION, ZERO=10.\n1e-5, 0.\n3e-5, 200.\n"
WARM += "*SOLID SECTION, ELSET=EALL, MATERIAL=M\n"


@pytest.mark.parametrize("kind", ["C3D8", "C3D8I", "C3D20", "C3D20R"])
def test_constants_follow_the_temperature(kind, tmp_path):
    """Strain a(T) (T - 10) - a(T0) (T0 - 10) and stiffness E(T), on a bar of which one end is warmer,
    held across."""
    x = fem.structured_meshes.block("hexahedron20" if "20" in kind else "hexahedron", (L, B, H), (4, 1, 1)).points[:, 0]
    warm = "*TEMPERATURE\n" + "".join(f"{k + 1}, {40 + 5 * x[k]}\n" for k in range(len(x)))
    steps = static(f"*BOUNDARY\nALL, 2, 3\nFIX, 1\n{warm}") + static("*DLOAD\n4, P4, -3.\n")
    path = bar(tmp_path, "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 20.\n" + steps, kind)
    text = path.read_text()
    path.write_text(text[: text.index("*MATERIAL")] + WARM + text[text.index("*INITIAL") :])
    mesh, (heated, pulled) = solved(path)
    assert any("the constants of M depend on temperature; the mesh has those of 0" in w for w in mesh.warnings)
    tip = mesh.nodes("TIP")
    T = np.polynomial.Polynomial([40, 5])
    strain = (1e-5 * (1 + T / 100)) * (T - 10) - 1.2e-5 * 10
    expected = strain.integ()(L) - strain.integ()(0)
    assert heated.displacements[tip, 0].mean() == pytest.approx(expected, rel=2e-3)
    stretch = np.log((200 - T(0)) / (200 - T(L))) / 5 * 3 / 1e3
    assert (pulled.displacements - heated.displacements)[tip, 0].mean() == pytest.approx(stretch, rel=1e-3)


def test_constants_follow_the_temperature_at_the_start(tmp_path):
    """A step without temperatures has the initial ones, and at these no thermal strains: E(60) = 1.4e5."""
    start = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 60.\n"
    path = bar(tmp_path, start + static(f"*BOUNDARY\n{AXIAL}*DLOAD\n4, P4, -3.\n"))
    text = path.read_text()
    path.write_text(text[: text.index("*MATERIAL")] + WARM + text[text.index("*INITIAL") :])
    mesh, (pulled,) = solved(path)
    np.testing.assert_allclose(pulled.displacements[mesh.nodes("TIP"), 0], 3 * L / 1.4e5, rtol=1e-9)


def test_temperatures_inside_a_quadratic_cell_are_linear_through_those_at_two_points_each_way(tmp_path):
    """As in CalculiX: cells that are 90 warm at both ends and cold in the middle, T = 90 xi^2, have 30 at xi^2 = 1/3,
    and stretch and widen evenly."""
    x = fem.structured_meshes.block("hexahedron20", (L, B, H), (4, 1, 1)).points[:, 0]
    warm = "*TEMPERATURE\n" + "".join(f"{k + 1}, {90.0 * (x[k] % 2 == 0)}\n" for k in range(len(x)))
    start = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 0.\n"
    mesh, (heated,) = solved(bar(tmp_path, start + static(f"*BOUNDARY\n{AXIAL}{warm}"), "C3D20", nu=0.3))
    np.testing.assert_allclose(heated.displacements, 30e-5 * mesh.points, atol=1e-9 * 30e-5 * L)


@pytest.mark.parametrize("kind", ["C3D8", "C3D8I", "C3D20", "C3D20R"])
@pytest.mark.parametrize("face", ["2, S4", "3, S6"])
def test_a_cut_through_a_bar_is_tightened_from_either_side(kind, face, tmp_path):
    """Both ends are held, and the sides of the cut in the middle overlap by 0.01: each half is stretched by half."""
    before = f"*NODE\n500, 9., 9., 9.\n*SURFACE, NAME=CUT\n{face}\n*PRE-TENSION SECTION, SURFACE=CUT, NODE=500\n"
    steps = static(f"*BOUNDARY\nTIP, 1\n{AXIAL}500, 1, 1, 0.01\n")
    mesh, (tight,) = solved(bar(tmp_path, steps, kind, before=before))
    (block,) = mesh.solids
    for k, cell in enumerate(block.connectivity):
        x = mesh.points[cell, 0]
        np.testing.assert_allclose(tight.displacements[cell, 0], 0.01 * (x if k < 2 else x - L) / L, atol=1e-9)


@pytest.mark.parametrize("normal", ["", "2., 0., 0.\n"])
def test_a_beam_is_taken_out_and_its_ends_are_drawn_together(normal, tmp_path):
    """Rods of 1 and 3 on both sides of a beam, held at their outer ends: the forces in both are equal."""
    text = "*NODE\n" + "".join(f"{k}, {x}, 0., 0.\n" for k, x in enumerate((0.0, 1.0, 1.5, 4.5, 9.0), 1))
    text += "*ELEMENT, TYPE=T3D2, ELSET=ROD\n1, 1, 2\n2, 3, 4\n*ELEMENT, TYPE=B31, ELSET=BOLT\n3, 2, 3\n"
    text += MATERIAL.format(nu=0.3) + "*SOLID SECTION, ELSET=ROD, MATERIAL=M\n0.5\n"
    text += "*BEAM SECTION, ELSET=BOLT, MATERIAL=M, SECTION=RECT\n0.2, 0.4\n0., 1., 0.\n"
    text += f"*PRE-TENSION SECTION, ELEMENT=3, NODE=5\n{normal}*BOUNDARY\n1, 1, 3\n2, 2, 3\n3, 2, 3\n4, 1, 3\n"
    path = tmp_path / "bolt.inp"
    path.write_text(text + static("*BOUNDARY\n5, 1, 1, 0.01\n"))
    mesh, (tight,) = solved(path)
    assert [block.kind for block in mesh.cells] == ["truss"]
    np.testing.assert_allclose(tight.displacements[1:3, 0], (0.0025, -0.0075), rtol=1e-9)


def test_initial_stresses_relax(tmp_path):
    """A stress that nothing holds leaves the strain that relieves it; a plastic strain stays. Another material of the
    section in a step stretches twice as much."""
    points = [f"{cell}, {q}" for cell in range(1, 5) for q in range(1, 9)]
    state = "*INITIAL CONDITIONS, TYPE={}\n" + "".join(f"{p}, {{}}, 0., 0., 0., 0., 0.\n" for p in points)
    second = "*MATERIAL, NAME=N\n*ELASTIC\n105000., 0.\n*DENSITY\n7.8e-9\n"
    steps = static(f"*BOUNDARY\n{AXIAL}") + static(
        "*CHANGE SOLID SECTION, ELSET=EALL, MATERIAL=N\n*DLOAD\n4, P4, -3.\n"
    )
    for kind, value, strains in (("STRESS", 21.0, (-1e-4, -2e-4)), ("PLASTIC STRAIN", 1e-3, (1e-3, 1e-3))):
        before = state.format(kind, *[value] * len(points))
        mesh, results = solved(bar(tmp_path, before + second + steps, "C3D8I"))
        for result, strain in zip(results, np.add(strains, [0, 6 / E]), strict=True):
            np.testing.assert_allclose(result.displacements[:, 0], strain * mesh.points[:, 0], rtol=1e-9, atol=1e-12)
    with pytest.raises(MeshError, match="hexahedra with points 1 to 8 have them"):
        solved(bar(tmp_path, "*INITIAL CONDITIONS, TYPE=STRESS\n1, 9, 1., 0., 0., 0., 0., 0.\n" + static("")))


SHEARS = (1e-3, 2e-3, 3e-3)
"""Of xy, xz and yz, the order of decks."""
SHEARED = {
    "expansion": (
        "*EXPANSION, TYPE=ANISO\n0., 0., 0., {0}, {1}, {2}\n",
        "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 0.\n",
        "*TEMPERATURE\nALL, 1.\n",
        2.0,
    ),
    "plastic strain": ("", "*INITIAL CONDITIONS, TYPE=PLASTIC STRAIN\n{points}", "", 2.0),
    "stress": ("", "*INITIAL CONDITIONS, TYPE=STRESS\n{points}", "", -2.0 / E),
}
"""Material, state and step of shears, and the angles that they leave per value: strains of decks are those of a tensor
(ccx 2.20 turns edges by twice the coefficients), and a stress that nothing holds leaves what relieves it, by E / 2."""


@pytest.mark.parametrize("name", SHEARED)
def test_shears_of_expansion_and_of_initial_states(name, tmp_path):
    """Of a bar that is free to deform: each turns its own edges."""
    material, state, step, factor = SHEARED[name]
    points = "".join(f"{c}, {q}, 0., 0., 0., {{0}}, {{1}}, {{2}}\n" for c in range(1, 5) for q in range(1, 9))
    corners = fem.structured_meshes.block("hexahedron", (L, B, H), (4, 1, 1)).points
    far, side = (int(np.flatnonzero((corners == place).all(axis=1))[0]) + 1 for place in ((L, 0, 0), (0, B, 0)))
    held = f"*BOUNDARY\n1, 1, 3\n{far}, 2, 3\n{side}, 3\n"
    path = bar(tmp_path, state.replace("{points}", points).format(*SHEARS) + held + static(step))
    path.write_text(path.read_text().replace("*EXPANSION\n1e-5\n", material.format(*SHEARS)))
    mesh, (result,) = solved(path)
    xy, xz, yz = factor * np.array(SHEARS)
    y, z = mesh.points[:, 1], mesh.points[:, 2]
    exact = np.column_stack([xy * y + xz * z, yz * z, 0 * z])
    np.testing.assert_allclose(result.displacements, exact, atol=1e-9 * np.abs(exact).max())


def test_a_perturbation_sees_the_stretched_part(tmp_path):
    """The axial stiffness of a bar with the stretch 1 + h is E (1 + h)^2 + E h; spinning takes its mass times the square
    of the speed."""
    pull = static("*BOUNDARY\n" + AXIAL + "*CLOAD\nTIP, 1, {}\n")
    vibration = "*STEP, PERTURBATION\n{}*FREQUENCY\n30\n*END STEP\n"
    h, speed2 = 0.05, 4e8

    def axial(load, spin=""):
        path = bar(tmp_path, pull.format(load * B * H / 4) + vibration.format(spin))
        held = "*BOUNDARY\nALL, 2, 3\nFIX, 1\n"
        path.write_text(path.read_text().replace("*STEP\n", held + "*STEP\n", 1))
        return solved(path)[1][1].frequencies[0] ** 2

    base = axial(0.0)
    assert axial(h * E) / base == pytest.approx((1 + h) ** 2 + h, rel=1e-9)
    for held, change in (("", (1 + h) ** 2), ("TIP, 1\n", 1 - h)):  # heat stretches a free bar, and presses a held one
        cold, hot = (axial_when_heated(tmp_path, T, held) for T in (0.0, h / 1e-5))
        assert hot / cold == pytest.approx(change, rel=1e-9)
    spun = axial(0.0, f"*DLOAD\nEALL, CENTRIF, {speed2}, 0., 0., 0., 0., 0., 1.\n")
    assert (base - spun) * (2 * np.pi) ** 2 == pytest.approx(speed2, rel=1e-9)


def axial_when_heated(folder, temperature, held):
    """Square of the lowest axial frequency of a bar that is held across and was heated from zero."""
    start = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nALL, 0.\n*BOUNDARY\nALL, 2, 3\nFIX, 1\n" + held
    steps = static(f"*TEMPERATURE\nALL, {temperature}\n") + "*STEP, PERTURBATION\n*FREQUENCY\n1\n*END STEP\n"
    return solved(bar(folder, start + steps))[1][1].frequencies[0] ** 2


def test_pressures_that_would_turn_with_their_faces_are_named(tmp_path):
    """The stiffness of such pressures is not in the frequencies of a perturbation step."""
    frequency = "*FREQUENCY\n1\n*END STEP\n"
    for first, told in (("*DLOAD\n4, P4, -3.\n", 1), ("*CLOAD\nTIP, 1, 1.\n", 0)):
        steps = static(f"*BOUNDARY\nFIX, 1, 3\n{first}") + "*STEP, PERTURBATION\n" + frequency
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            solved(bar(tmp_path, steps))
        found = [str(m.message) for m in messages if "turn with their faces" in str(m.message)]
        assert len(found) == told
        assert all(text.startswith("Step 2 (STEP, line") for text in found)


def test_rotation_softens_motions_across_its_axis_only(tmp_path):
    """A bar that moves along itself, across the axis and along it; oblique, by the square of the sine between them."""
    speed2 = 4e8

    def axial(axis):
        spin = "" if axis is None else f"*DLOAD\nEALL, CENTRIF, {speed2}, 1., 2., 3., {axis}\n"
        steps = static("*BOUNDARY\nALL, 2, 3\nFIX, 1\n") + f"*STEP, PERTURBATION\n{spin}*FREQUENCY\n3\n*END STEP\n"
        return solved(bar(tmp_path, steps))[1][1].frequencies[0] ** 2 * (2 * np.pi) ** 2

    base = axial(None)
    for axis, sine2 in (("0., 2., 0.", 1.0), ("3., 0., 0.", 0.0), ("3., 4., 0.", 0.64), ("1., 2., 2.", 8 / 9)):
        assert base - axial(axis) == pytest.approx(speed2 * sine2, rel=1e-7, abs=1e-7 * base)


def test_motions_without_stiffness_and_mass_have_no_frequency():
    """Neither of the two matrices can be factorised: K is not positive, and M is singular."""
    K, M = sp.diags([1.0, -1.0]).tocsr(), sp.diags([1.0, 0.0]).tocsr()
    with pytest.raises(FactorisationError, match="Step 1 of 'part': the part has no natural frequencies"):
        _frequencies(K, M, 1, "Step 1 of 'part'")


def test_a_moment_of_a_step_about_the_normal_of_a_shell_is_named(tmp_path):
    """Beside a large force; moments in the plane are silent."""
    path = tmp_path / "plate.inp"
    nodes = "".join(
        f"{k}, {x}, {y}, 0.\n" for k, (x, y) in enumerate(((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)), 1)
    )
    text = f"*NODE\n{nodes}*ELEMENT, TYPE=S4, ELSET=EALL\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n" + MATERIAL.format(nu=0.3)
    text += "*SHELL SECTION, ELSET=EALL, MATERIAL=M\n0.01\n*BOUNDARY\n1, 1, 6\n4, 1, 6\n*STEP\n*STATIC\n*CLOAD\n"
    path.write_text(text + "5, 6, 1.\n6, 3, 1e4\n*END STEP\n")
    with pytest.warns(MeshWarning, match=r"a moment of 1 about the normal of the shell acts on node 4 \(number 5"):
        solved(path)
    path.write_text(text + "5, 4, 1.\n6, 5, 1e4\n*END STEP\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solved(path)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        ("*CLOAD\nTIP, 1\n", "data line 1 needs a node or set, a dof and a value; found TIP, 1"),
        ("*CLOAD\nTIP, x, 1.\n", "a whole number is needed, found 'x'"),
        ("*DLOAD\nEALL, P1\n", "data line 1 needs a set, a kind of load and values; found EALL, P1"),
        ("*TEMPERATURE\nALL\n", "data line 1 needs a node or set and a temperature; found ALL"),
        ("*CHANGE SOLID SECTION, ELSET=EALL\n", "its option MATERIAL=... is missing"),
    ],
)
def test_what_is_wrong_with_a_load_is_said_in_words(load, reason, tmp_path):
    _, (step,) = fem.read_steps(bar(tmp_path, static(f"*BOUNDARY\n{AXIAL}{load}")))
    assert any(reason in u.text for u in step.unread)


def test_blanks_in_the_direction_of_gravity_are_zeros(tmp_path):
    lines = ("*DLOAD\nEALL, GRAV, 9810., , , -1.\n", "*DLOAD\nEALL, GRAV, 9810., 0., 0., -1.\n")
    found = [fem.read_steps(bar(tmp_path, static(text)))[1][0].bodies[0].gravity for text in lines]
    np.testing.assert_array_equal(*found)


def test_steps_and_their_results_are_told_in_short(tmp_path):
    frequency = "*STEP\n*FREQUENCY\n2\n*BOUNDARY\nFIX, 1, 3\n*END STEP\n"
    path = bar(tmp_path, static(f"*BOUNDARY\n{AXIAL}*DLOAD\n4, P4, -3.\n") + frequency)
    _, (pulled, swung) = solved(path)
    assert str(pulled.step).splitlines()[0].startswith("step 1 (STEP, line ")
    assert "supports, 1 loads" in repr(pulled.step)
    assert str(pulled).endswith(f"largest displacement {np.linalg.norm(pulled.displacements, axis=1).max():g}")
    assert str(swung).endswith("  frequencies: " + " ".join(f"{f:.6g}" for f in swung.frequencies))
    assert "array" not in repr(pulled) + repr(swung)


def test_pressures_on_surfaces_of_shells_are_refused_where_these_are_no_solids(tmp_path):
    """Such a load was none, without a word."""
    text = (
        "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 1., 1., 0.\n4, 0., 1., 0.\n*ELEMENT, TYPE=S4, ELSET=P\n1, 1, 2, 3, 4\n"
    )
    text += (
        "*SURFACE, NAME=S\nP, SPOS\n*SHELL SECTION, ELSET=P, MATERIAL=M\n.01\n*MATERIAL, NAME=M\n*ELASTIC\n2e11, 0.3\n"
    )
    (tmp_path / "part.inp").write_text(text + "*STEP\n*STATIC\n*DSLOAD\nS, P, 1000.\n*END STEP\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fem.MeshWarning)
        (_, (plain,)), (_, (solid,)) = (fem.read_steps(tmp_path / "part.inp", expand=e) for e in (False, True))
    assert "shells are solids with expand=True" in plain.unread[0].text
    assert len(solid.pressures[0].faces) == 1
    assert not solid.unread
