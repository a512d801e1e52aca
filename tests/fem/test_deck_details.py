"""Details of input decks of Abaqus and CalculiX: each is obeyed, or named with its line and a remedy."""

import re
import warnings

import numpy as np
import pytest

import fem
from fem.errors import MeshError, MeshWarning

E, NU, RHO = 2.1e11, 0.3, 7850.0
STEEL = f"*MATERIAL, NAME=M\n*ELASTIC\n{E}, {NU}\n*DENSITY\n{RHO}\n"
WOOD = "*MATERIAL, NAME=M\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.4e11, 1e10, 1e10, .3, .3, .4, 5e9, 5e9\n3.5e9\n"
ROD = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n*ELEMENT, TYPE=B31, ELSET=E\n1, 1, 2\n"
BEAM = ROD + "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.02, .01\n"
CUBE = (
    "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n5, 0, 0, 1\n6, 1, 0, 1\n7, 1, 1, 1\n8, 0, 1, 1\n"
    "*ELEMENT, TYPE=C3D8, ELSET=E\n1, 1, 2, 3, 4, 5, 6, 7, 8\n"
)
PLATE = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n*ELEMENT, TYPE=S4, ELSET=E\n1, 1, 2, 3, 4\n"
SHELL = PLATE + "*SHELL SECTION, ELSET=E, MATERIAL=M\n.01\n"
TURNS = {"x": "0., 0., 0.\n0., 0., 0., 1., 0., 0., 90.\n", "z": "0., 0., 0.\n0., 0., 0., 0., 0., 1., 90.\n"}


def read(folder, text, **options):
    path = folder / "part.inp"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return fem.read_mesh(path, **options)


def assembled(part, move="", after=STEEL):
    return f"*PART, NAME=P\n{part}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=I, PART=P\n{move}*END INSTANCE\n" + (
        f"*END ASSEMBLY\n{after}"
    )


def stretches(mesh):
    """Twice the energies of unit strains along x, y, z."""
    model = fem.Model(mesh)
    u = [(model.points * np.eye(3)[k]).ravel() for k in range(3)]
    return np.array([v @ model.K @ v for v in u])


def bending(mesh):
    """Deflections along y and z of a beam that is clamped at its first node, under unit forces."""
    model = fem.Model(mesh)
    return [
        fem.solve_static(model, fem.point_force(model, [1], np.eye(3)[k]), supports=[0]).displacements[1, k]
        for k in (1, 2)
    ]


def refusals(mesh):
    return [f"{u.label}: {u.text}" for u in mesh.unread]


# instances that turn


def test_directions_of_beams_turn_with_their_instance(tmp_path):
    y, z = bending(read(tmp_path, assembled(BEAM + "0., 1., 0.\n")))
    turned = bending(read(tmp_path, assembled(BEAM + "0., 1., 0.\n", TURNS["x"])))
    assert z > 3.9 * y
    np.testing.assert_allclose(turned, [z, y], rtol=1e-9)


@pytest.mark.parametrize(
    "axes",
    [
        "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n",
        "*ORIENTATION, NAME=O, SYSTEM=C\n.5, .5, 0., .5, .5, 1.\n1, 0.\n",
    ],
)
def test_axes_of_materials_turn_with_their_instance(axes, tmp_path):
    part = CUBE + axes + "*SOLID SECTION, ELSET=E, MATERIAL=M, ORIENTATION=O\n"
    straight = stretches(read(tmp_path, assembled(part, after=WOOD)))
    turned = stretches(read(tmp_path, assembled(part, TURNS["x"], WOOD)))
    np.testing.assert_allclose(turned, straight[[0, 2, 1]], rtol=1e-9)
    turned = stretches(read(tmp_path, assembled(part, TURNS["z"], WOOD)))
    np.testing.assert_allclose(turned, straight[[1, 0, 2]], rtol=1e-9)


def test_transforms_of_a_part_turn_with_its_instance(tmp_path):
    part = CUBE + "*NSET, NSET=Q\n1\n*TRANSFORM, NSET=Q\n1., 0., 0., 0., 1., 0.\n*SOLID SECTION, ELSET=E, MATERIAL=M\n"
    mesh = read(tmp_path, assembled(part, TURNS["z"], STEEL + "*BOUNDARY\nI.1, 1, 1\n"), supports="keep")
    (support,) = mesh.constraints
    moved = np.zeros(3)
    np.add.at(moved, support.components, support.coefficients)
    np.testing.assert_allclose(np.abs(moved), [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (BEAM, "BEAM SECTION, line 7"),
        (CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n", "SOLID SECTION, line 13"),
        (CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n*EQUATION\n2\n1, 1, 1., 2, 1, -1.\n", "EQUATION, line 14"),
    ],
)
def test_directions_that_a_turned_part_does_not_give_are_named(part, named, tmp_path):
    straight = read(tmp_path, assembled(part, after=WOOD if "C3D8" in part else STEEL))
    assert not straight.unread
    found = refusals(read(tmp_path, assembled(part, TURNS["z"], WOOD if "C3D8" in part else STEEL)))
    assert [f for f in found if named in f and "turned" in f]


def test_orientations_may_have_an_origin(tmp_path):
    """The first two points are seen from the third."""
    section = "*SOLID SECTION, ELSET=E, MATERIAL=M, ORIENTATION=O\n"
    found = [
        stretches(read(tmp_path, CUBE + f"*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.{c}\n" + section + WOOD))
        for c in ("", ", 1., -1., 0.")
    ]
    np.testing.assert_allclose(found[1], found[0][[1, 0, 2]], rtol=1e-9)


FIRST, SECOND, THIRD = np.array([[1.0, 2, 2], [2, 1, -2], [-2, 2, -1]]) / 3
"""Axes that are none of the mesh."""


@pytest.mark.parametrize(
    ("turn", "first", "second"),
    [
        ("1, 40.", FIRST, np.cos(np.radians(40)) * SECOND + np.sin(np.radians(40)) * THIRD),
        ("2, 40.", np.cos(np.radians(40)) * FIRST - np.sin(np.radians(40)) * THIRD, SECOND),
        ("3, 40.", np.cos(np.radians(40)) * FIRST + np.sin(np.radians(40)) * SECOND, SECOND),
    ],
)
def test_orientations_turn_about_their_own_axes(turn, first, second, tmp_path):
    """The second data line of *ORIENTATION: an axis and degrees, by the right hand."""
    deck = CUBE + "*ORIENTATION, NAME=O\n{}\n{}*SOLID SECTION, ELSET=E, MATERIAL=M, ORIENTATION=O\n" + WOOD
    rows = [", ".join(map(repr, np.concatenate(pair).tolist())) for pair in ((FIRST, SECOND), (first, second))]
    found, expected = (
        fem.Model(read(tmp_path, deck.format(row, line))).K for row, line in ((rows[0], f"{turn}\n"), (rows[1], ""))
    )
    assert abs(found - expected).max() < 1e-12 * abs(expected).max()


def test_hoops_of_a_material_whose_fibres_are_its_third_axis(tmp_path):
    """Cylindrical axes that turn by 90 degrees about the radius: fibres run around the cylinder, at every place in
    another direction, as those of a material whose second axis they are."""
    axes = "*ORIENTATION, NAME=O, SYSTEM=CYLINDRICAL\n-1., .3, 0., -1., .3, 1.\n{}"
    section = "*SOLID SECTION, ELSET=E, MATERIAL=M, ORIENTATION=O\n*MATERIAL, NAME=M\n"
    section += "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n"
    low, across = 0.3 / 14, 1e10 / 2.8
    third = f"1e10, 1e10, 1.4e11, .4, {low}, {low}, {across}, 5e9\n5e9\n"
    second = f"1e10, 1.4e11, 1e10, {low}, .4, .3, 5e9, {across}\n5e9\n"
    found, expected = (
        fem.Model(read(tmp_path, CUBE + axes.format(turn) + section + constants)).K
        for turn, constants in (("1, 90.\n", third), ("", second))
    )
    assert abs(found - expected).max() < 1e-9 * abs(expected).max()


# couplings

TWO = (
    "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 2, 0, 0\n4, 3, 0, 0\n*ELEMENT, TYPE=B31, ELSET=E\n1, 1, 2\n2, 3, 4\n"
    "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.02, .01\n0., 1., 0.\n*NSET, NSET=S\n3\n"
    "*ORIENTATION, NAME=O\n0., 1., 0., -1., 0., 0.\n*COUPLING, CONSTRAINT NAME=C, SURFACE=S, REF NODE=2{}\n{}\n"
)


@pytest.mark.parametrize(
    ("options", "rows", "expected"),
    [
        ("", "5, 5", [(0, 0, 0, 0, 1, 0)]),
        ("", "3, 5", [(0, 0, 1, 0, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0)]),
        (", ORIENTATION=O", "1, 3\n5, 5", [*np.eye(6)[:3], (0, 0, 0, 1, 0, 0)]),
        (", ORIENTATION=O", "1, 4", [*np.eye(6)[:3], (0, 0, 0, 0, 1, 0)]),
    ],
)
def test_kinematic_couplings_hold_the_dofs_they_name_in_their_axes(options, rows, expected, tmp_path):
    """The motion of the coupled node less that of the rigid reference vanishes along the rows of `expected` only."""
    mesh = read(tmp_path, TWO.format(options, "*KINEMATIC\n" + rows) + STEEL)
    assert not mesh.unread
    model = fem.Model(mesh)
    T = model.dof_map.T.toarray()
    u, r = (np.vstack([T[model.dof_map.translations(n)], T[model.dof_map.rotations(n)]]) for n in (2, 1))
    d = np.array([1.0, 0, 0])
    carried = np.vstack([r[:3] + np.cross(r[3:], d, axis=0), r[3:]])
    rest = u - carried
    np.testing.assert_allclose(np.array(expected) @ rest, 0, atol=1e-13)
    assert np.linalg.matrix_rank(rest) == 6 - len(expected)


@pytest.mark.parametrize("option", ["WEIGHTING METHOD=LINEAR", "COUPLING=STRUCTURAL"])
def test_options_of_distributing_couplings_are_named(option, tmp_path):
    deck = CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n*NODE\n9, 0, 0, 2\n*SURFACE, NAME=S\nE, S2\n" + STEEL
    coupling = "*COUPLING, CONSTRAINT NAME=C, SURFACE=S, REF NODE=9\n*DISTRIBUTING{}\n1, 6\n"
    assert len(read(tmp_path, deck + coupling.format("")).constraints) == 1
    assert len(read(tmp_path, deck + coupling.format(", WEIGHTING METHOD=UNIFORM")).constraints) == 1
    (found,) = refusals(read(tmp_path, deck + coupling.format(f", {option}")))
    assert "COUPLING, line" in found
    assert option.replace(" ", "") in found


# sections


@pytest.mark.parametrize("normal", ["0., 1.\n", " , 1.,\n", "0., 1., 0.\n"])
def test_blanks_in_the_direction_of_a_beam_are_zeros(normal, tmp_path):
    y, z = bending(read(tmp_path, BEAM + normal + STEEL))
    assert z > 3.9 * y


def test_a_direction_of_zeros_is_named(tmp_path):
    (found,) = refusals(read(tmp_path, BEAM + "0., 0.\n" + STEEL))
    assert "BEAM SECTION, line 6" in found
    assert "not all zero; found 0., 0." in found


def test_symmetric_layups_have_both_halves(tmp_path):
    plies = "*SHELL SECTION, ELSET=E, COMPOSITE{}\n{}"
    half, rest = ".001, 3, M, 0.\n.002, 3, M, 90.\n", ".002, 3, M, 90.\n.001, 3, M, 0.\n"
    axes = "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n"
    found, expected = (
        fem.Model(read(tmp_path, PLATE + axes + plies.format(o + ", ORIENTATION=O", rows) + WOOD + "*DENSITY\n1.\n"))
        for o, rows in ((", SYMMETRIC", half), ("", half + rest))
    )
    assert found.mass == pytest.approx(0.006)
    np.testing.assert_allclose((found.K - expected.K).toarray(), 0, atol=1e-12 * abs(expected.K).max())


def test_laminas_are_orthotropic_plies_of_shells(tmp_path):
    """E1, E2, nu12, G12, G13, G23 give a shell what all engineering constants do, and a solid nothing."""
    axes = "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n"
    plies = axes + "*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=O\n.001, 3, M, 30.\n.002, 3, M, 90.\n"
    material = "*MATERIAL, NAME=M\n*ELASTIC, TYPE={}\n*DENSITY\n500.\n"
    lamina = material.format("LAMINA\n12e9, 1e9, .4, .7e9, .6e9, .1e9")
    constants = material.format("ENGINEERING CONSTANTS\n12e9, 1e9, 3e9, .4, .02, .1, .7e9, .6e9\n.1e9, 0.")
    found, expected = (fem.Model(read(tmp_path, PLATE + plies + m)) for m in (lamina, constants))
    assert abs(found.K - expected.K).max() < 1e-12 * abs(expected.K).max()
    assert abs(found.M - expected.M).max() < 1e-12 * abs(expected.M).max()
    with pytest.raises(ValueError, match="LAMINA are constants of plane stress"):
        fem.Model(read(tmp_path, CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + lamina))


@pytest.mark.parametrize("option", ["OFSET=.5", "DENSITY=2.", "OFFSET=MID", "OFFSET="])
def test_options_of_sections_that_are_not_read_are_named(option, tmp_path):
    found = refusals(read(tmp_path, CUBE + SHELL.replace("*NODE", "*NODE, NSET=N").replace("ELSET=E", "ELSET=F").replace("\n1, 1, 2, 3, 4\n", "\n2, 1, 2, 3, 4\n").replace("MATERIAL=M", f"MATERIAL=M, {option}") + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL))  # fmt: skip
    assert [f for f in found if "SHELL SECTION, line" in f and option.partition("=")[0] in f and "not obeyed" in f]


def test_round_sections_have_the_radius_of_abaqus_and_say_so(tmp_path):
    text = ROD + "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=CIRC\n.02\n" + STEEL
    mesh = read(tmp_path, text)
    assert fem.Model(mesh).mass == pytest.approx(RHO * np.pi * 0.02**2)
    (said,) = [w for w in mesh.warnings if "CIRC" in w]
    assert "BEAM SECTION, line 6 of part.inp" in said
    assert "diameter" in said
    mesh, _ = fem.read_steps(tmp_path / "part.inp")
    assert fem.Model(mesh).mass == pytest.approx(RHO * np.pi * 0.01**2)
    assert not [w for w in mesh.warnings if "CIRC" in w]


# sets, supports, lines


def test_unsorted_sets_keep_their_order_in_equations(tmp_path):
    solid = CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL
    sets = "*NSET, NSET=P{0}\n4, 3, 2\n*NSET, NSET=Q\n6, 7, 8\n*EQUATION\n2\nP, 3, 1., Q, 3, -1.\n"
    pairs = [
        [(mesh.node_ids[c.nodes]).tolist() for c in mesh.constraints]
        for mesh in (read(tmp_path, solid + sets.format(o)) for o in ("", ", UNSORTED"))
    ]
    assert pairs == [[[2, 6], [3, 7], [4, 8]], [[4, 6], [3, 7], [2, 8]]]


def test_unknown_options_of_sets_are_named(tmp_path):
    solid = CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL
    (found,) = refusals(read(tmp_path, solid + "*NSET, NSET=P, GENRATE\n1, 4\n"))
    assert "NSET, line 18" in found
    assert "GENRATE" in found


def test_supports_of_a_step_with_op_new_replace_those_before(tmp_path):
    solid = CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL + "*BOUNDARY\n1, 1, 3\n2, 3\n"
    step = "*STEP\n*STATIC\n*BOUNDARY, OP=NEW\n1, 1, 3\n*BOUNDARY, OP=NEW\n4, 1\n*END STEP\n"
    mesh = read(tmp_path, solid + step, supports="keep")
    assert sorted((int(c.nodes[0]), int(c.components[0])) for c in mesh.constraints) == [(0, 0), (0, 1), (0, 2), (3, 0)]
    found = refusals(read(tmp_path, solid + "*BOUNDARY, OP=NEW\n3, 1\n", supports="keep"))
    assert "BOUNDARY, line 21" in found[0]
    assert "OP=NEW" in found[0]


def test_loads_with_op_new_of_one_step_act_together(tmp_path):
    """As in CalculiX 2.20: the first one of a step removes what acted before, the others are added."""
    steps = "*STEP\n*STATIC\n*BOUNDARY\n2, 3\n*CLOAD\n5, 3, 9.\n*END STEP\n*STEP\n*STATIC\n"
    steps += "*BOUNDARY, OP=NEW\n1, 1, 3\n*BOUNDARY, OP=NEW\n4, 1\n*CLOAD, OP=NEW\n6, 3, 1.\n*CLOAD, OP=NEW\n7, 3, 2.\n"
    (tmp_path / "part.inp").write_text(CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL + steps + "*END STEP\n")
    _, (_, second) = fem.read_steps(tmp_path / "part.inp")
    assert sorted((f.node, f.value) for f in second.forces) == [(5, 1.0), (6, 2.0)]
    assert len(second.supports) == 4


def test_a_short_line_of_an_element_is_named(tmp_path):
    short = CUBE.replace("7, 8\n", "7\n2, 1, 2, 3, 4, 5, 6, 7, 8\n") + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL
    with pytest.raises(MeshError, match=r"line 11: .*C3D8 needs 8 nodes .*element 1 has fewer.* Complete the line"):
        read(tmp_path, short)
    long = CUBE.replace("5, 6, 7, 8\n", "5, 6,\n7, 8\n") + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL
    assert len(read(tmp_path, long).cells[0]) == 1


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ("*MATERIAL, NAME=N\n*ELASTIC, TYPE=ISOTROPC\n1., 0.\n", "ELASTIC, line 19 .*ISOTROPC"),
        ("*MPC\n", "MPC, line 18 .*no data line"),
        ("*TIE, NAME=T\n", "TIE, line 18 .*no data line"),
        ("*MATERIAL, NAME=m\n*ELASTIC\n1., 0.\n", "MATERIAL, line 18 .*twice, first by MATERIAL, line 13"),
    ],
)
def test_what_is_missing_or_doubled_is_named(extra, named, tmp_path):
    found = refusals(read(tmp_path, CUBE + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL + extra))
    assert [f for f in found if re.search(named, f)], found


@pytest.mark.parametrize("section", ["RECT\n.02", "RECTANGULAR\n.02, .02"])
def test_a_square_has_one_size_and_names_of_sections_may_be_long(section, tmp_path):
    """As in CalculiX, which solves both alike."""
    square, given = (
        read(tmp_path, BEAM.replace("RECT\n.02, .01", text) + STEEL) for text in ("RECT\n.02, .02", section)
    )
    assert not given.unread
    np.testing.assert_allclose(fem.Model(given).K.toarray(), fem.Model(square).K.toarray(), rtol=1e-12)


@pytest.mark.parametrize(
    "section", ["GENERAL, DENSITY=7850.\n2e-4, 6e-9, 0., 2e-9, 3e-9", "RECT, DENSITY=7850.\n.02, .01"]
)
def test_general_sections_of_beams_have_constants_of_their_own(section, tmp_path):
    """A cantilever of 1 m: F L^3 / (3 E I) and the shear F L / (k G A), k = 1 where the section is given by constants;
    I11 is about the first axis, y."""
    mesh = read(tmp_path, ROD + f"*BEAM GENERAL SECTION, ELSET=E, SECTION={section}\n0., 1., 0.\n2e11, 5e10\n")
    assert not mesh.unread
    A, about_y, about_z, k = (2e-4, 6e-9, 2e-9, 1.0) if "GENERAL" in section else (2e-4, 0.02 * 0.01**3 / 12, 0.01 * 0.02**3 / 12, 5 / 6)  # fmt: skip
    expected = [1 / (3 * 2e11 * second) + 1 / (k * 5e10 * A) for second in (about_z, about_y)]
    np.testing.assert_allclose(bending(mesh), expected, rtol=1e-9)
    assert fem.Model(mesh).mass == pytest.approx(7850 * A, rel=1e-12)


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("GENERAL\n2e-4, 6e-9, 4e-9, 2e-9, 3e-9\n0., 1., 0.\n2e11, 5e10", "A product of inertia, 4e-09, is beyond"),
        ("GENERAL\n2e-4, 6e-9, 0., 2e-9, 3e-9\n0., 1., 0.", "three data lines are needed"),
        ("GENERAL, TAPER\n2e-4, 6e-9, 0., 2e-9, 3e-9\n0., 1., 0.\n2e11, 5e10", "its options TAPER are not read"),
        ("MESHED\n0., 1., 0.\n2e11, 5e10\n1.", "a section MESHED"),
    ],
)
def test_general_sections_that_are_not_read_say_why(section, reason, tmp_path):
    found = refusals(read(tmp_path, ROD + f"*BEAM GENERAL SECTION, ELSET=E, SECTION={section}\n"))
    assert any(reason in text for text in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "MASS, ELSET=B\n9, 2\n*MASS, ELSET=B\n7.\n",
            "element 9 is given twice, as MASS of nodes 1 and as MASS of nodes 2",
        ),
        ("SPRINGA, ELSET=B\n9, 1, 7\n*SPRING, ELSET=B\n\n1e6\n", "as MASS of nodes 1 and as SPRINGA of nodes 1, 7"),
        ("C3D8, ELSET=B\n9, 1, 2, 3, 4, 5, 6, 7, 8\n", "element 9 is given twice"),
    ],
)
def test_numbers_of_masses_and_springs_are_given_once(text, words, tmp_path):
    """The second one took the place of the first, whose mass was lost; CalculiX refuses such decks as well."""
    mass = "*ELEMENT, TYPE=MASS, ELSET=A\n9, 1\n*MASS, ELSET=A\n5.\n"
    mesh = read(tmp_path, CUBE + mass + mass.split("*MASS")[0] + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL)
    assert [m.mass for m in mesh.masses] == [5.0]
    with pytest.raises(MeshError, match=words) as error:
        read(tmp_path, CUBE + mass + "*ELEMENT, TYPE=" + text)
    assert re.search(r"line \d+", str(error.value))


def test_values_of_masses_without_elements_are_named(tmp_path):
    """A misspelt set, whose mass would be lost, and a second value of the same elements."""
    mass = "*ELEMENT, TYPE=MASS, ELSET=A\n9, 1\n*MASS, ELSET=A\n5.\n*MASS, ELSET=LUMP\n7.\n*MASS, ELSET=A\n6.\n"
    mesh = read(tmp_path, CUBE + mass + "*SOLID SECTION, ELSET=E, MATERIAL=M\n" + STEEL)
    assert [m.mass for m in mesh.masses] == [5.0]
    named = [text for text in refusals(mesh) if "no elements without extent that still lack a value" in text]
    assert len(named) == 2
    assert "'LUMP'" in named[0]


def test_the_node_of_a_beam_that_turns_its_section_is_not_obeyed_by_name(tmp_path):
    """A third node of B31 gives the first axis of the section in Abaqus; CalculiX knows none, nor do its steps here."""
    turned = BEAM.replace("1, 1, 2\n", "1, 1, 2, 3\n").replace("2, 1., 0., 0.\n", "2, 1., 0., 0.\n3, 0., 1., 1.\n")
    (unread,) = read(tmp_path, turned + STEEL).unread
    assert unread.keyword == "ELEMENT TYPE=B31"
    assert "line 6 has a node after the 2 of the element" in unread.text
    assert not read(tmp_path, turned + STEEL, expand=True).unread
