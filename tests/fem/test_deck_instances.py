"""Decks with several instances: the model is that of a flat deck, whose nodes were moved and numbered beforehand."""

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_deck_details import read

import fem
from fem.errors import MeshError

STEEL = "*MATERIAL, NAME=M\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"
WOOD = (
    "*MATERIAL, NAME=M\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.4e11, 1e10, 1e10, .3, .3, .4, 5e9, 5e9\n3.5e9\n"
    "*DENSITY\n500.\n"
)
POINTS = np.array([(x, y, z) for x in (0.0, 1.0, 2.0) for z in (0.0, 0.3) for y in (0.0, 0.5)])
BRICKS = [(1, 5, 6, 2, 3, 7, 8, 4), (5, 9, 10, 6, 7, 11, 12, 8)]
RIGHT = ((2.0, 0.0, 0.0), (2.0, 0.0, 0.0), (2.0, 1.0, 2.0), 35.0)  # translation, two points, degrees
PLACES = {"left": None, "Right 1": RIGHT}


def nodes(points, first=0):
    return "*NODE\n" + "".join(f"{first + k}, {', '.join(map(repr, x))}\n" for k, x in enumerate(points.tolist(), 1))


def bricks(first=0, elset="E"):
    lines = [", ".join(str(first + n) for n in (k, *brick)) for k, brick in enumerate(BRICKS, 1)]
    return f"*ELEMENT, TYPE=C3D8I, ELSET={elset}\n" + "\n".join(lines) + "\n"


PART = (
    nodes(POINTS)
    + bricks()
    + "*NSET, NSET=root, GENERATE\n1, 4, 1\n*NSET, NSET=Tip\n9, 10, 11, 12\n*ELSET, ELSET=last\n2\n*SURFACE, NAME=low\n"
    "1, S6\n*SURFACE, NAME=high\nlast, S4\n*ELEMENT, TYPE=MASS, ELSET=lump\n3, 12\n*MASS, ELSET=lump\n7.\n"
)


def moved(points, place):
    """Independent of the reader: translation, then rotation about the line through a and b."""
    if place is None:
        return points
    shift, a, b, angle = (np.array(v) for v in place)
    turn = Rotation.from_rotvec(np.radians(angle) * (b - a) / np.linalg.norm(b - a))
    return a + turn.apply(points + shift - a)


def data_lines(place):
    if place is None:
        return ""
    shift, a, b, angle = place
    return "\n".join(", ".join(map(repr, row)) for row in (shift, (*a, *b, angle))) + "\n"


def assembly(part, rest, places=PLACES, after=STEEL, extra=""):
    """One part, instanced at several places."""
    made = "".join(
        f'*INSTANCE, NAME="{name}", PART=beam\n{data_lines(place)}*END INSTANCE\n' for name, place in places.items()
    )
    return f"*PART, NAME=Beam\n{part}*END PART\n{extra}*ASSEMBLY, NAME=A\n{made}{rest}*END ASSEMBLY\n{after}"


def flat(rest, section="", after=STEEL, place=RIGHT):
    """The same two beams in one deck; their nodes and elements begin at 101 and 201."""
    text = nodes(POINTS, 100) + nodes(moved(POINTS, place), 200) + bricks(100) + bricks(200, "F")
    text += "*ELEMENT, TYPE=MASS, ELSET=lump\n103, 112\n203, 212\n*MASS, ELSET=lump\n7.\n" + section
    return text + rest + after


SECTION = "*SOLID SECTION, ELSET=E, MATERIAL=M\n"
REST = (
    '*NODE\n1, 4.5, 1., .5\n*NSET, NSET=ref\n1\n*NSET, NSET=ends, INSTANCE="Right 1"\nTip\n*NSET, NSET=ends, INSTANCE=left\n'
    '1\n*TIE, NAME=T, POSITION TOLERANCE=0.4\n"Right 1".low, left.high\n'
    '*RIGID BODY, REF NODE=ref, TIE NSET="Right 1.Tip"\n*EQUATION\n2\nleft.1, 2, 1., "Right 1".5, 3, -2.\n'
    '*ELEMENT, TYPE=SPRING2, ELSET=S\n7, left.2, "Right 1".8\n*SPRING, ELSET=S\n1, 1\n3e8\n'
)
FLAT = (
    "*NODE\n1, 4.5, 1., .5\n*SURFACE, NAME=low\n201, S6\n*SURFACE, NAME=high\n102, S4\n*NSET, NSET=tip\n209, 210, 211, 212\n"
    "*TIE, NAME=T, POSITION TOLERANCE=0.4\nlow, high\n*RIGID BODY, REF NODE=1, TIE NSET=tip\n"
    "*EQUATION\n2\n101, 2, 1., 205, 3, -2.\n*ELEMENT, TYPE=SPRING2, ELSET=S\n7, 102, 208\n*SPRING, ELSET=S\n1, 1\n3e8\n"
)
BOTH = SECTION + SECTION.replace("ELSET=E", "ELSET=F")


def require_same(one, other):
    """Models of two meshes are the same, and nothing of their decks is left out."""
    a, b = fem.Model(one), fem.Model(other)
    assert not one.unread
    assert not other.unread
    np.testing.assert_allclose(one.points, other.points, rtol=0, atol=1e-14)
    for ours, theirs in ((a.K, b.K), (a.M, b.M), (a.inertia(), b.inertia()), (a.centre_of_mass, b.centre_of_mass)):
        dense = [np.asarray(A.toarray() if hasattr(A, "toarray") else A) for A in (ours, theirs)]
        np.testing.assert_allclose(*dense, rtol=0, atol=1e-12 * np.abs(dense[1]).max())
    assert a.mass == pytest.approx(b.mass, rel=1e-14)


def refused(folder, text, words):
    with pytest.raises(MeshError, match=words) as error:
        read(folder, text)
    assert re.search(r"line \d+", str(error.value))


def test_one_part_used_twice_is_the_flat_deck(tmp_path):
    """Moved, turned, tied, with masses, a spring, an equation and a rigid body between the instances."""
    require_same(read(tmp_path, assembly(PART + SECTION, REST)), read(tmp_path, flat(FLAT, BOTH)))


def test_coordinates_that_are_left_blank_are_zero_before_the_part_moves(tmp_path):
    """Blank, or left out at the end of a line; and numbers with an exponent of Fortran."""
    blank = re.sub(r", 0\.0(?=[,\n])", ",", nodes(POINTS))
    assert "1,,,\n" in blank
    short = blank.replace("1,,,\n", "1\n").replace("0.5", "5.D-1")
    for text in (blank, short):
        part = PART.replace(nodes(POINTS), text)
        require_same(read(tmp_path, assembly(part + SECTION, REST)), read(tmp_path, flat(FLAT, BOTH)))


@pytest.mark.parametrize(
    "lines",
    ["2., 0., 0., 2., 1., 2., 35.", "1., 0.", "1., 0., 0.\n0., 0., 1.", "0., 0., 0., 0., 0., 1., 35.\n1., 0., 0."],
)
def test_places_of_other_lines_are_refused(lines, tmp_path):
    """A turn alone, two numbers, two translations, and a turn before the translation."""
    text = assembly(PART + SECTION, "", {"left": None, "right": None})
    placed = text.replace('NAME="right", PART=beam\n', f'NAME="right", PART=beam\n{lines}\n')
    assert placed != text
    refused(tmp_path, placed, "moved by 3 numbers and turned by 7")


def test_sets_and_numbers_of_instances_have_their_names(tmp_path):
    mesh = read(tmp_path, assembly(PART + SECTION, REST))
    for name, first in (("left", 1_000_000), ("Right 1", 2_000_000)):
        assert mesh.node_ids[mesh.nodes(f"{name}.root")].tolist() == [first + k for k in (1, 2, 3, 4)]
        assert mesh.nodes(f"{name}.Tip").tolist() == mesh.numbered(*(first + k for k in (9, 10, 11, 12))).tolist()
        assert mesh.node_ids[mesh.nodes(name)].tolist() == [first + k for k in range(1, 13)]
        free = mesh.nodes(name)[4:]  # the tie moves the others onto its master
        np.testing.assert_allclose(mesh.points[free], moved(POINTS, PLACES[name])[4:], atol=1e-14)
        assert f"{name}.high" in mesh.face_sets
        assert f"{name}.last" in mesh.cell_sets
    assert mesh.node_ids[mesh.nodes("ends")].tolist() == [1_000_001, *range(2_000_009, 2_000_013)]
    assert any("node 1 of Right 1 has the number 2000001" in text for text in mesh.warnings)
    assert mesh.node_ids[mesh.numbered("Right 1.7", "LEFT.7", 1)].tolist() == [2_000_007, 1_000_007, 1]
    assert mesh.node_label(int(mesh.numbered("right 1.7")[0])).endswith("(number Right 1.7 in the file)")
    assert mesh.node_label(int(mesh.numbered(1)[0])) == "0 (number 1 in the file)"
    with pytest.raises(MeshError, match=r"'middle.7' is no INSTANCE.NUMBER .* left, Right 1"):
        mesh.numbered("middle.7")
    with pytest.raises(MeshError, match="no node has the number 2000077"):
        mesh.numbered("Right 1.77")


def test_different_parts_keep_their_own_numbers_and_sets(tmp_path):
    """Parts with the same numbers and names; one is meshed in its instance, as CAE writes independent ones."""
    long = POINTS * [3, 1, 1]
    own = nodes(long) + bricks() + "*NSET, NSET=root, GENERATE\n1, 4, 1\n" + SECTION
    text = (
        f"*PART, NAME=a\n{PART}{SECTION}*END PART\n*PART, NAME=b\n*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=a-1, PART=a\n"
        f"*END INSTANCE\n*INSTANCE, NAME=b-1, PART=b\n0., 0., 5.\n{own}*END INSTANCE\n*END ASSEMBLY\n{STEEL}"
    )
    mesh = read(tmp_path, text)
    np.testing.assert_allclose(mesh.points[mesh.nodes("b-1")], long + np.array([0, 0, 5]))
    assert fem.Model(mesh).mass == pytest.approx(7 + 7850 * 0.3 * 4)
    assert not mesh.unread
    assert mesh.node_ids[mesh.nodes("b-1.root")].tolist() == [2_000_001, 2_000_002, 2_000_003, 2_000_004]


def test_axes_of_materials_turn_with_each_instance(tmp_path):
    part = (
        PART
        + "*ORIENTATION, NAME=O\n1., .2, 0., 0., 1., .1\n"
        + SECTION.replace("MATERIAL=M", "MATERIAL=M, ORIENTATION=O")
    )
    axes = moved(np.array([[1, 0.2, 0], [0, 1, 0.1]]), RIGHT) - moved(np.zeros((1, 3)), RIGHT)
    other = "*ORIENTATION, NAME=O\n1., .2, 0., 0., 1., .1\n*ORIENTATION, NAME=P\n" + ", ".join(
        map(repr, axes.ravel().tolist())
    )
    other += "\n" + BOTH.replace("ELSET=E, MATERIAL=M", "ELSET=E, MATERIAL=M, ORIENTATION=O")
    other = other.replace("ELSET=F, MATERIAL=M", "ELSET=F, MATERIAL=M, ORIENTATION=P")
    require_same(read(tmp_path, assembly(part, "", after=WOOD)), read(tmp_path, flat("", other, WOOD)))
    missing = read(tmp_path, assembly(PART + SECTION, "", after=WOOD))
    (unread,) = missing.unread
    assert "the instance is turned, and the section has directions that it does not give" in unread.text


LINES = POINTS[::4]
BEAM = "*ELEMENT, TYPE=B31, ELSET={}\n{}, {}, {}\n{}, {}, {}\n*BEAM SECTION, ELSET={}, MATERIAL=M, SECTION=RECT\n.02, .01\n{}\n"


def test_directions_of_beams_turn_with_each_instance(tmp_path):
    axis = np.array([[0.0, 1.0, 1.0]])
    turned = moved(axis, RIGHT) - moved(np.zeros((1, 3)), RIGHT)
    text = ", ".join(map(repr, turned[0].tolist()))
    part = nodes(LINES) + BEAM.format("E", 1, 1, 2, 2, 2, 3, "E", "0., 1., 1.")
    other = nodes(LINES, 100) + nodes(moved(LINES, RIGHT), 200)
    other += BEAM.format("E", 101, 101, 102, 102, 102, 103, "E", "0., 1., 1.")
    other += BEAM.format("F", 201, 201, 202, 202, 202, 203, "F", text)
    tie = "*COUPLING, REF NODE={}, SURFACE=q, CONSTRAINT NAME=c\n*KINEMATIC\n1, 6\n"
    rest = '*NSET, NSET=q, INSTANCE="Right 1"\n1\n' + tie.format("left.3")
    other += "*NSET, NSET=q\n201\n" + tie.format(103)
    require_same(read(tmp_path, assembly(part, rest)), read(tmp_path, other + STEEL))
    solid = [read(tmp_path, text, expand=True) for text in (assembly(part, rest), other + STEEL)]
    require_same(*solid)


def test_sections_with_constants_of_their_own_turn(tmp_path):
    """E and G of *BEAM GENERAL SECTION have no axes; the section was refused in a turned instance."""
    general = "*BEAM GENERAL SECTION, ELSET={}, SECTION=GENERAL, DENSITY=7850.\n.005, 4e-6, 1e-6, 1e-6, 3e-6\n{}\n2.1e11, 8e10\n"
    cells = "*ELEMENT, TYPE=B31, ELSET={}\n{}, {}, {}\n{}, {}, {}\n"
    turned = moved(np.array([[0.0, 1.0, 1.0]]), RIGHT) - moved(np.zeros((1, 3)), RIGHT)
    part = nodes(LINES) + cells.format("E", 1, 1, 2, 2, 2, 3) + general.format("E", "0., 1., 1.")
    other = nodes(LINES, 100) + cells.format("E", 101, 101, 102, 102, 102, 103) + general.format("E", "0., 1., 1.")
    other += nodes(moved(LINES, RIGHT), 200) + cells.format("F", 201, 201, 202, 202, 202, 203)
    other += general.format("F", ", ".join(map(repr, turned[0].tolist())))
    require_same(read(tmp_path, assembly(part, "")), read(tmp_path, other))


SHELL = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 1., 1., 0.\n4, 0., 1., 0.\n*ELEMENT, TYPE=S4, ELSET=E\n1, 1, 2, 3, 4\n"
LAYERS = (
    "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=O\n.01, , M, 0.\n"
    ".01, , M, 90.\n"
)


def test_layers_turn_with_each_instance(tmp_path):
    mesh = read(tmp_path, assembly(SHELL + LAYERS, "", after=WOOD))
    model = fem.Model(mesh)
    assert not mesh.unread
    left, right = (mesh.nodes(name) for name in PLACES)
    turn = Rotation.from_rotvec(np.radians(35.0) * np.array([0, 1, 2]) / np.sqrt(5.0)).as_matrix()
    T = np.kron(np.eye(8), turn)
    K = model.K.toarray()
    assert (left.tolist(), right.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])
    rows = [np.r_[k : k + 12, 24 + k : 36 + k] for k in (0, 12)]  # translations of all nodes, then rotations
    a, b = (K[np.ix_(r, r)] for r in rows)
    np.testing.assert_allclose(T @ a @ T.T, b, atol=1e-10 * np.abs(b).max())


def test_supports_loads_and_steps_name_nodes_of_instances(tmp_path):
    step = (
        "*BOUNDARY\n{left}, 1, 3\n*STEP\n*STATIC\n*CLOAD\n{node}, 2, 1000.\n*DLOAD\n{element}, P4, 1e4\n"
        "{all}, GRAV, 9.81, 0., 0., -1.\n*END STEP\n"
    )
    rest = REST.split("*RIGID")[0]
    shift = ((2.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0)  # points of both decks are the same numbers
    ours = assembly(PART + SECTION, rest, {"left": None, "Right 1": shift}) + step.format(
        left="left.root", node='"Right 1".11', element="Right 1.2", all="left.E"
    )
    other = flat(FLAT.split("*RIGID")[0].replace("*NODE\n1, 4.5, 1., .5\n", ""), BOTH, place=shift)
    other = other.replace("*MATERIAL", "*NSET, NSET=root\n101, 102, 103, 104\n*MATERIAL")
    other += step.format(left="root", node="211", element="202", all="E")
    found = []
    for text in (ours, other):
        (tmp_path / "part.inp").write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh, (one,) = fem.read_steps(tmp_path / "part.inp")
            assert not one.unread
            found.append(fem.solve_step(fem.Model(mesh), one).displacements)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-12 * np.abs(found[1]).max())


def test_what_names_nothing_in_several_instances_is_named(tmp_path):
    good = PART + SECTION
    refused(tmp_path, assembly(good, "*NSET, NSET=s, INSTANCE=middle\n1\n"), "instance")
    refused(
        tmp_path, assembly(good, "*TIE, NAME=T\nleft.high, middle.low\n"), "middle.low.* of no instance.*left, Right 1"
    )
    refused(tmp_path, assembly(good, "").replace("PART=beam", "PART=bean", 1), "part named 'bean'. Did you mean 'BEAM'")
    refused(tmp_path, assembly(good, "").replace('"Right 1"', '"LEFT"'), "a name of its own")
    refused(tmp_path, assembly(good, "").replace('"Right 1", PART=beam', '"Right 1"'), "'Right 1' needs a part")
    refused(tmp_path, assembly(good, "").replace("2.0, 1.0, 2.0, 35", "2.0, 0.0, 0.0, 35"), "both points of the axis")
    refused(tmp_path, assembly(good, "", extra="*NODE\n1, 0., 0., 0.\n"), "outside of them")
    refused(tmp_path, assembly(good, "", after=STEEL + "*NODE\n1, 0., 0., 0.\n"), "outside of them")
    refused(tmp_path, assembly(good, "*EQUATION\n1\nleft.9999999, 1, 1.\n"), "'left' has no node or element 9999999")
    refused(tmp_path, assembly(good.replace("9, 10, 11, 12", "9, 900000000"), ""), "too many for numbers")
    none = good.replace("\n12, ", "\n0, ", 1)
    refused(tmp_path, assembly(none, ""), r"line 14: the instance 'left' has no node or element 0\.$")
    with pytest.raises(MeshError, match=r"part.inp: it has 2 parts with nodes, and no \*INSTANCE of them"):
        read(tmp_path, f"*PART, NAME=a\n{good}*END PART\n*PART, NAME=b\n{good}*END PART\n{STEEL}")
    refused(tmp_path, assembly(good.replace("3, 1.0", "three, 1.0").replace("3, 0.0", "three, 0.0"), ""), "three")
    for rest, words in (
        ("*TIE, NAME=T\nleft.high, left.hihg\n", "left.hihg"),
        ("*RIGID BODY, REF NODE=left.77, NSET=left.root\n", "no node left.77"),
        ("*EQUATION\n1\n3, 1, 1.\n", "no node 3"),
    ):
        (unread,) = read(tmp_path, assembly(good, rest)).unread
        assert words in unread.text


def test_plane_elements_and_layers_of_moved_instances_are_named(tmp_path):
    """Plane elements become solids about z = 0; layers without axes begin at axes that programs choose."""
    here, there = None, ((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0)
    sheet = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n*ELEMENT, TYPE={}, ELSET=P\n7, 1, 2, 3, 4\n"
    plane = sheet.format("CPS4") + "*SOLID SECTION, ELSET=P, MATERIAL=M\n.1\n"
    (tmp_path / "part.inp").write_text(assembly(plane, "", {"a": here, "b": there}))
    with pytest.raises(MeshError, match=r"line 7: plane elements \(CPS4\) of one of several instances that is moved"):
        fem.read_steps(tmp_path / "part.inp")
    (tmp_path / "part.inp").write_text(assembly(plane, "", {"a": there}))
    assert len(fem.read_steps(tmp_path / "part.inp")[0].cells) == 1
    layers = sheet.format("S4") + "*SHELL SECTION, ELSET=P, MATERIAL=M, COMPOSITE\n.1, , M, 30.\n"
    assert read(tmp_path, assembly(layers, "", {"a": here, "b": there})).unread == ()
    lost = read(tmp_path, assembly(layers, "", {"a": here, "b": RIGHT})).unread
    (told,) = (u.text for u in lost if u.keyword == "SHELL SECTION")
    assert "the instance is turned, and the section has directions that it does not give" in told
    round_axes = "*ORIENTATION, NAME=O, SYSTEM=CYLINDRICAL\n0, 0, 0, 0, 0, 1\n"
    layers = round_axes + layers.replace("COMPOSITE", "COMPOSITE, ORIENTATION=O")
    (lost,) = {u.text for u in read(tmp_path, assembly(layers + PART + SECTION, "")).unread if "not obeyed" in u.text}
    assert "cylindrical axes of a shell" in lost


def test_dofs_of_a_part_are_obeyed_in_instances_that_do_not_turn(tmp_path):
    part = PART + SECTION + "*EQUATION\n2\n1, 1, 1., 4, 2, -1.\n"
    places = {"a": None, "b": ((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0)}
    mesh = read(tmp_path, assembly(part, "", places))
    assert not mesh.unread
    assert [mesh.node_ids[c.nodes].tolist() for c in mesh.constraints] == [[1000001, 1000004], [2000001, 2000004]]
    mesh = read(tmp_path, assembly(part, ""))
    (unread,) = mesh.unread
    assert unread.keyword == "EQUATION"
    assert "instance is turned" in unread.text
    assert len(mesh.constraints) == 1


def test_axes_of_nodes_turn_with_each_instance(tmp_path):
    """Cylindrical axes about a line of the part; the same nodes by a set of elements of the instance."""
    line = np.array([[0.0, 0.25, -1.0], [0.0, 0.25, 1.0]])
    about = "*TRANSFORM, NSET={}, TYPE=C\n{}\n"
    part = PART + SECTION + about.format("Tip", ", ".join(map(repr, line.ravel().tolist())))
    rest = '*NSET, NSET=some, ELSET=last, INSTANCE="Right 1"\n*EQUATION\n2\nleft.9, 1, 1., Right 1.11, 2, 2.\n'
    other = (
        "*NSET, NSET=a\n109, 110, 111, 112\n*NSET, NSET=b\n209, 210, 211, 212\n*EQUATION\n2\n109, 1, 1., 211, 2, 2.\n"
    )
    for name, place in (("a", None), ("b", RIGHT)):
        other += about.format(name, ", ".join(map(repr, moved(line, place).ravel().tolist())))
    mesh = read(tmp_path, assembly(part, rest))
    require_same(mesh, read(tmp_path, flat(other, BOTH)))
    assert mesh.nodes("some").tolist() == mesh.numbered(*(f"Right 1.{k}" for k in range(5, 13))).tolist()


def test_surfaces_of_all_faces_are_those_of_their_instance(tmp_path):
    part = PART.replace("*SURFACE, NAME=low", "*SURFACE, NAME=skin\n,\n*SURFACE, NAME=low") + SECTION
    mesh = read(tmp_path, assembly(part, ""))
    for name in PLACES:
        faces = mesh.face_sets[f"{name}.skin"]
        assert len(faces) == 10
        assert {int(n) for f in faces for n in mesh.face_nodes(*f)} == set(mesh.nodes(name).tolist())
