"""Constraints of decks: what each keyword says, by its equations; omission by name; supports; materials of the file."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
from test_mesh_files import DECK, deck

import fem
import flexmb
import reduction
from fem.errors import MaterialError, MatrixError, MeshError, MeshWarning

MODEL = DECK.split("*STEP")[0] + "*DENSITY\n7.85e-9\n*SOLID SECTION, ELSET=both, MATERIAL=STEEL\n"
POINT = "*NODE\n900, 3., .5, .5\n901, 3., .5, .5\n"


def read(tmp_path, text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        return fem.read_mesh(deck(tmp_path, MODEL + text), **options)


def null_motions(mesh):
    """A basis of the motions (n_all, k) that the constraints leave, and the rows of dofs by number of node in the
    file."""
    model = fem.Model(mesh)
    where = {int(number): k for k, number in enumerate(mesh.node_ids)}
    T = model.dof_map.T.toarray()
    return (
        model,
        T,
        lambda node, c: T[(model.dof_map.translations if c < 3 else model.dof_map.rotations)(where[node])[c % 3]],
    )


def test_equations_name_nodes_and_sets(tmp_path):
    mesh = read(tmp_path, "*EQUATION\n3\n101, 1, 2., 103, 2, -1., 112, 3,\n 0.5\n2\nroot, 2, 1., tip, 2, -1.\n")
    _, T, u = null_motions(mesh)
    np.testing.assert_allclose(2 * u(101, 0) - u(103, 1) + 0.5 * u(112, 2), 0, atol=1e-14)
    for a, b in zip((101, 104, 107, 110), (103, 106, 109, 112), strict=True):
        np.testing.assert_allclose(u(a, 1), u(b, 1), atol=1e-14)
    assert T.shape[1] == 3 * 12 - 5
    assert mesh.constraints[0].source == "EQUATION, line 38 of part.inp"


def test_equations_in_turned_axes(tmp_path):
    """Radial about the line x = 2, y = z = 0 along z; and in skew rectangular axes."""
    axes = "*TRANSFORM, NSET=root, TYPE=C\n2., 0., 0., 2., 0., 1.\n*TRANSFORM, NSET=of second\n0., 1., 0., 0., 0., 1.\n"
    mesh = read(tmp_path, axes + "*EQUATION\n2\n104, 1, 1., 109, 1, -1.\n")
    _, _, u = null_motions(mesh)
    r = np.array([-2.0, 1.0]) / np.sqrt(5)
    np.testing.assert_allclose(r[0] * u(104, 0) + r[1] * u(104, 1) - u(109, 1), 0, atol=1e-14)


def test_plane_and_straight_keep_nodes_on_a_plane_and_a_line(tmp_path):
    mesh = read(
        tmp_path, "*MPC\nPLANE, tip\n*MPC\nSTRAIGHT, 101, 103, 102\n*MPC\nLINK, 104, 107\n*MPC\nPIN, 110, 111\n"
    )
    _, T, u = null_motions(mesh)
    np.testing.assert_allclose(u(112, 0), u(106, 0) + u(109, 0) - u(103, 0), atol=1e-13)
    for c in (1, 2):
        np.testing.assert_allclose(u(102, c), (u(101, c) + u(103, c)) / 2, atol=1e-14)
    np.testing.assert_allclose(u(104, 1) - u(107, 1), u(104, 2) - u(107, 2), atol=1e-14)
    np.testing.assert_allclose([u(110, c) for c in range(3)], [u(111, c) for c in range(3)], atol=1e-14)
    assert T.shape[1] == 36 - 1 - 2 - 1 - 3
    _, _, u = null_motions(read(tmp_path, "*MPC\nSTRAIGHT, 101, 102, 103\n"))  # beyond the two that span the line
    np.testing.assert_allclose(u(103, 1), 2 * u(102, 1) - u(101, 1), atol=1e-14)


@pytest.mark.parametrize("spelling", ["*RIGID BODY, NSET=tip, REF NODE=900", "* RigidBody , NSET=tip, REFNODE=900"])
def test_a_rigid_body_follows_its_reference_and_its_rotational_node(spelling, tmp_path):
    mesh = read(tmp_path, POINT + spelling + ", ROT NODE=901\n*EQUATION\n2\n901, 3, 1., 101, 1, -1.\n")
    _, _, u = null_motions(mesh)
    for node, d in ((103, (-1, -0.5, -0.5)), (112, (-1, 0.5, 0.5))):
        theta = np.stack([u(900, 3 + k) for k in range(3)])
        moved = np.stack([u(900, k) for k in range(3)]) + np.cross(theta, d, axis=0)
        np.testing.assert_allclose(np.stack([u(node, k) for k in range(3)]), moved, atol=1e-13)
    np.testing.assert_allclose(u(101, 0), u(900, 5), atol=1e-14)


def test_couplings_carry_a_reference_node(tmp_path):
    """Distributing: the reference follows the mean of a surface and can be an interface; nothing is stiffer."""
    plain = fem.Model(read(tmp_path, "")).with_interfaces(tip=fem.Interface("end face", "average", (3.0, 0.5, 0.5)))
    coupling = "*COUPLING, REF NODE=900, SURFACE=end face, CONSTRAINT NAME=c\n*DISTRIBUTING\n1, 6\n"
    mesh = read(tmp_path, POINT + coupling)
    model = fem.Model(mesh)
    model = model.with_interfaces(tip=fem.Interface([int(np.flatnonzero(mesh.node_ids == 900)[0])], "average"))
    assert model.ndof == plain.ndof
    B = [part.interfaces["tip"].interface_matrix(part).toarray() for part in (plain, model)]
    np.testing.assert_allclose(B[1], B[0], atol=1e-12)
    long = "*SURFACE, NAME=front\nboth, S3\n" + coupling.replace("end face", "front")
    (mean,) = read(tmp_path, POINT + long).constraints
    share = dict(zip(mesh.node_ids[mean.nodes].tolist(), (mean.weights / mean.weights.sum()).tolist(), strict=True))
    assert share == pytest.approx({101: 1 / 8, 107: 1 / 8, 102: 1 / 4, 108: 1 / 4, 103: 1 / 8, 109: 1 / 8})
    kinematic = read(tmp_path, POINT + coupling.replace("DISTRIBUTING\n1, 6", "KINEMATIC\n2"))
    _, _, u = null_motions(kinematic)
    np.testing.assert_allclose(u(103, 1), u(900, 1) - u(900, 5) - (-0.5) * u(900, 3), atol=1e-14)
    assert kinematic.constraints[0].source.startswith("COUPLING, line")
    for dofs, wrong in (("1, 2000000000", "2000000000"), ("0, 3", "0")):  # a range to be refused before it is made
        with pytest.raises((MeshError, MeshWarning), match=f"dof {wrong} is no translation or rotation"):
            fem.Model(read(tmp_path, POINT + coupling.replace("1, 6", dofs)))


def test_couplings_turn_with_orientations(tmp_path):
    text = "*ORIENTATION, NAME=o, SYSTEM=CYLINDRICAL\n3., .5, .5, 4., .5, .5\n"
    text += "*COUPLING, REF NODE=900, SURFACE=end face, ORIENTATION=o, CONSTRAINT NAME=c\n*KINEMATIC\n1\n"
    _, _, u = null_motions(read(tmp_path, POINT + text))
    relative = [u(103, k) - u(900, k) for k in range(3)]
    np.testing.assert_allclose(relative[1] + relative[2], (u(900, 3) * 0 + u(900, 5) * -1 + u(900, 4) * 1), atol=1e-13)


def test_distributing_couplings_turn_about_the_axes_of_orientations(tmp_path):
    """Translations always follow the mean; of the rotations only the named ones, in the axes at the reference."""
    coupling = "*COUPLING, REF NODE=900, SURFACE=end face, CONSTRAINT NAME=c{}\n*DISTRIBUTING\n{}"
    whole, part = (read(tmp_path, POINT + coupling.format("", rows)) for rows in ("1, 6\n", "4\n"))
    assert [m.constraints[0].components for m in (whole, part)] == [(0, 1, 2, 3, 4, 5), (0, 1, 2, 3)]
    _, _, all_six = null_motions(whole)
    axes = "*ORIENTATION, NAME=o\n0., 3., 4., 0., -4., 3.\n"
    mesh = read(tmp_path, POINT + axes + coupling.format(", ORIENTATION=o", "4\n6\n"))
    model, _, u = null_motions(mesh)
    both = read(tmp_path, POINT + axes + coupling.format(", ORIENTATION=o", ""))
    assert model.ndof == null_motions(both)[0].ndof + 1
    R = np.array([[0, 0.6, 0.8], [0, -0.8, 0.6], [1, 0, 0]])
    theta, mean = (np.stack([motion(900, k) for k in (3, 4, 5)]) for motion in (u, all_six))
    moved = np.array([u(n, k) for n in mesh.node_ids if n < 900 for k in range(3)])
    shape = np.array([all_six(n, k) for n in mesh.node_ids if n < 900 for k in range(3)])
    follows = mean @ np.linalg.solve(shape, moved)
    np.testing.assert_allclose(R[[0, 2]] @ theta, R[[0, 2]] @ follows, atol=1e-12)
    assert np.abs(R[1] @ (theta - follows)).max() > 0.1
    turned = "*NSET, NSET=r\n900\n*TRANSFORM, NSET=r\n1., 1., 0., -1., 1., 0.\n"
    with pytest.raises(
        MeshWarning, match=r"some rotations of a node that \*TRANSFORM turns; give the coupling an ORIE"
    ):
        read(tmp_path, POINT + turned + coupling.format("", "4\n"))


def test_distributing_couplings_weigh_the_faces_of_their_surface_only(tmp_path):
    """All nodes of a cube are on two of its faces; the four between them are not of the surface."""
    text = "*SURFACE, NAME=pair\n1, S1\n1, S2\n"
    text += "*COUPLING, REF NODE=900, SURFACE=pair, CONSTRAINT NAME=c\n*DISTRIBUTING\n"
    (mean,) = read(tmp_path, POINT + text).constraints
    assert sum(mean.weights) == pytest.approx(2.0)


def test_ties_join_meshes_that_do_not_match(tmp_path):
    """A slave node inside a master's face follows its shape functions, and is moved onto it."""
    nodes = "*NODE\n" + "".join(
        f"{200 + k}, {2.01 + x}, {0.25 + 0.5 * y}, {0.25 + 0.5 * z}\n"
        for k, (x, y, z) in enumerate(
            [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
        )
    )
    cell = "*ELEMENT, TYPE=C3D8, ELSET=small\n9, 200, 201, 202, 203, 204, 205, 206, 207\n"
    tie = "*SURFACE, NAME=slave\nsmall, S6\n*TIE, NAME=t\nslave, end of second\n*SURFACE, NAME=end of second\nsecond, S4\n"
    section = "*SOLID SECTION, ELSET=small, MATERIAL=STEEL\n"
    mesh = read(tmp_path, nodes + cell + tie + section)
    model, _, u = null_motions(mesh)
    np.testing.assert_allclose(
        u(200, 2), [9, 3, 3, 1] @ np.stack([u(n, 2) for n in (103, 106, 109, 112)]) / 16, atol=1e-13
    )
    assert any("were moved onto 'end of second', by at most 0.01" in text for text in mesh.warnings)
    values = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)
    assert np.abs(values[:6]).max() < 1e-9 * values[-1] < values[6]
    assert len(reduction.modal(model, 3).frequencies) == 3
    text = MODEL + nodes + cell + tie.replace("NAME=t\n", "NAME=t, POSITION TOLERANCE=0.001\n")
    with pytest.warns(MeshWarning, match=r"TIE, line .*no node of 'slave' is within 0.001"):
        fem.read_mesh(deck(tmp_path, text))


def test_what_is_obeyed_can_be_left_out_by_name(tmp_path):
    text = POINT + "*RIGID BODY, NSET=tip, REF NODE=900\n"
    mesh = read(tmp_path, text)
    assert "constraint: RIGID BODY, line" in str(mesh)
    with pytest.warns(MeshWarning, match="mesh files keep no constraints, .*; lost: RIGID BODY, line"):
        fem.write_mesh(mesh, tmp_path / "part.vtu")
    lumped = replace(mesh, constraints=(), masses=(fem.NodeMass(0, 1.0, "MASS, line 7"),))
    with pytest.warns(MeshWarning, match="point masses and springs; lost: MASS, line 7"):
        fem.write_mesh(lumped, tmp_path / "part.vtu")
    plain = fem.read_mesh(deck(tmp_path, MODEL + text), ignore=["RIGID BODY"])
    assert plain.constraints == ()
    assert any("not obeyed, as accepted: RIGID BODY, line" in text for text in plain.warnings)


def test_supports_are_kept_on_demand(tmp_path):
    """With them the matrices are those of the held part, and no body can be made of it."""
    text = "*BOUNDARY\nroot, ENCASTRE\n*STEP\n*FREQUENCY\n3\n*BOUNDARY\ntip, 3\n*END STEP\n*STEP\n*STATIC\n*END STEP\n"
    with pytest.warns(MeshWarning, match="not obeyed: BOUNDARY, line"):
        free = fem.read_mesh(deck(tmp_path, MODEL + text))
    assert len(free.unread) == 2
    assert 'held with fem.read_mesh(..., supports="keep")' in str(free)
    assert fem.Model(free).ndof == 36
    mesh = read(tmp_path, text, supports="keep")
    model = fem.Model(mesh)
    whole = fem.Model(fem.read_mesh(deck(tmp_path, MODEL)))
    label = {int(number): k for k, number in enumerate(mesh.node_ids)}
    held = [3 * label[n] + c for n in (101, 104, 107, 110) for c in range(3)]
    held += [3 * label[n] + 2 for n in (103, 106, 109, 112)]
    kept = np.setdiff1d(np.arange(36), held)
    np.testing.assert_allclose(model.K.toarray(), whole.K[kept][:, kept].toarray(), rtol=1e-12)
    with pytest.raises(MatrixError, match=r"held in space by 2 of its constraints .*BOUNDARY, line"):
        reduction.modal(model, 2)
    with pytest.raises(MeshError, match='supports is "keep", or nothing'):
        fem.read_mesh(tmp_path / "part.inp", supports="fixed")


def test_sets_of_elements_and_elements_of_an_assembly(tmp_path):
    """A rigid body of a set of elements of the assembly is that of the same set of the part; a connector of the
    assembly, which was in a note alone, is named."""
    head = "*PART, NAME=P\n*NODE\n1, 0,0,0\n2, 1,0,0\n3, 0,1,0\n4, 0,0,1\n5, 2,0,0\n6, 5,5,5\n*ELEMENT, TYPE=C3D4\n"
    head += "1, 1,2,3,4\n2, 2,5,3,4\n*ELSET, ELSET=OF_PART\n2\n"
    rest = "*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=I, PART=P\n*END INSTANCE\n*ELSET, ELSET=OWN, INSTANCE=I\n2\n"
    path = tmp_path / "part.inp"
    found = []
    for inside, outside in (("OF_PART", ""), ("", "OWN")):
        body = "*RIGID BODY, REF NODE={}, ELSET={}\n"
        path.write_text(
            head + (body.format(6, inside) if inside else "") + rest
            + (body.format("I.6", outside) if outside else "") + "*END ASSEMBLY\n"
        )  # fmt: skip
        (link,) = fem.read_mesh(path).constraints
        found.append((link.nodes.tolist(), link.reference))
    assert found == 2 * [([1, 2, 3, 4], 5)]
    path.write_text(head + rest + "*RIGID BODY, REF NODE=I.6, ELSET=OTHER\n*END ASSEMBLY\n")
    with pytest.warns(MeshWarning, match="RIGID BODY, line .*There is no element set named 'OTHER'"):
        fem.read_mesh(path)
    path.write_text(head + rest + "*RIGID BODY, REF NODE=I.6\n*END ASSEMBLY\n")
    with pytest.warns(MeshWarning, match="RIGID BODY, line .*names no set of nodes or of elements"):
        fem.read_mesh(path)
    path.write_text(head + rest + "*ELEMENT, TYPE=CONN3D2\n1, I.1, I.2\n*END ASSEMBLY\n")
    with pytest.warns(MeshWarning, match="ELEMENT TYPE=CONN3D2, line 20.*elements of the assembly are not read"):
        assert len(fem.read_mesh(path).unread) == 1


def test_reference_points_of_an_assembly_are_its_own_nodes(tmp_path):
    body = DECK.split("** two cubes\n*Heading\na *NODE in a comment line is no keyword\n")[1].split("*STEP")[0]
    material = "*MATERIAL" + body.split("*MATERIAL")[1]
    text = (
        f"*PART, NAME=cubes\n{body.split('*MATERIAL')[0]}*END PART\n*ASSEMBLY, NAME=a\n*INSTANCE, NAME=c1, PART=cubes\n"
        "5., 0., 0.\n*END INSTANCE\n*NODE\n101, 9., .5, .5\n*NSET, NSET=point\n101\n*NSET, NSET=hold, INSTANCE=c1\n"
        "103, 106, 109, 112\n*RIGID BODY, REF NODE=point, TIE NSET=hold\n*END ASSEMBLY\n" + material
    )
    mesh = fem.read_mesh(deck(tmp_path, text))
    link = mesh.constraints[0]
    np.testing.assert_allclose(mesh.points[link.reference], [9, 0.5, 0.5])
    assert mesh.points[link.nodes, 0].tolist() == [7.0] * 4
    with pytest.warns(MeshWarning, match=r"both have a node 101; write INSTANCE.101"):
        both = fem.read_mesh(deck(tmp_path, text.replace("REF NODE=point", "REF NODE=101")))
    assert not both.constraints
    assert "RIGID BODY" in {u.keyword for u in both.unread}
    own = (
        text.replace("101, 9.", "900, 9.")
        .replace("\n101\n*NSET", "\n900\n*NSET")
        .replace("REF NODE=point", "REF NODE=900")
    )
    (link,) = fem.read_mesh(deck(tmp_path, own)).constraints
    np.testing.assert_allclose(mesh.points[link.reference], [9, 0.5, 0.5])
    (link,) = fem.read_mesh(deck(tmp_path, own.replace("REF NODE=900", "REF NODE=c1.101"))).constraints
    np.testing.assert_allclose(mesh.points[link.reference], [5, 0, 0])
    with pytest.warns(MeshWarning, match=r"RIGID BODY, line \d+ .*the deck has no node 901"):
        fem.read_mesh(deck(tmp_path, own.replace("REF NODE=900", "REF NODE=901")))


def test_a_surface_may_have_the_name_of_its_elements(tmp_path):
    mesh = read(tmp_path, "*SURFACE, NAME=second\nsecond, S4\n")
    assert mesh.face_sets["second"].tolist() == mesh.face_sets["end face"][-1:].tolist()
    assert mesh.cell_sets["second"].tolist() == [1]


def test_a_model_takes_the_materials_of_its_file(tmp_path):
    mesh = read(tmp_path, "")
    model = fem.Model(mesh)
    assert model.mass == pytest.approx(2 * 7.85e-9)
    assert model.materials[0].name == "STEEL"
    reduction.modal(model, 2)
    with pytest.raises(MaterialError, match=r"gives no material to 2 of 2 cells"):
        fem.Model(fem.read_mesh(deck(tmp_path, DECK)))
    with pytest.raises(MaterialError, match="has no elastic constants that flexmb reads"):
        fem.Model(fem.read_mesh(deck(tmp_path, MODEL.replace("MATERIAL=STEEL", "MATERIAL=OTHER"))))


def test_point_masses_are_added_at_their_nodes(tmp_path):
    """Also at a reference node of a rigid body: mass, centre and inertia of the whole; left out by name."""
    masses = "*ELEMENT, TYPE=MASS, ELSET=lumps\n91, 900\n92, 101\n*MASS, ELSET=lumps\n1e-9,\n"
    mesh = read(tmp_path, POINT + "*RIGID BODY, NSET=tip, REF NODE=900\n" + masses)
    model = fem.Model(mesh).with_interfaces(root="root")
    plain = fem.Model(read(tmp_path, "")).with_interfaces(root="root")
    x = np.array([[3, 0.5, 0.5], [0, 0, 0]])
    mass = plain.mass + 2e-9
    assert model.mass == pytest.approx(mass)
    centre = (plain.mass * plain.centre_of_mass + 1e-9 * x.sum(axis=0)) / mass
    np.testing.assert_allclose(model.centre_of_mass, centre, rtol=1e-12)
    about = plain.inertia((0, 0, 0)) + 1e-9 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in x)
    np.testing.assert_allclose(model.inertia((0, 0, 0)), about, rtol=1e-9)
    basis = reduction.craig_bampton(model, modes=3)
    body = flexmb.flexible_body(model, basis)
    assert body.invariants.mass == pytest.approx(mass)
    np.testing.assert_allclose(body.invariants.J0, about, rtol=1e-9)
    assert "point mass: 1e-09 at node" in str(mesh)
    bare = fem.read_mesh(deck(tmp_path, MODEL + masses.replace("900", "103")), ignore=["MASS"])
    assert bare.masses == ()
    with pytest.raises(MeshError, match=r"MASS, line .*must be positive"):
        fem.read_mesh(deck(tmp_path, MODEL + masses.replace("900", "103").replace("1e-9", "-1.")))
    with pytest.raises(MeshError, match="constraints, point masses or springs"):
        fem.split(model, 2)


SPRINGS = {
    "SPRINGA": ("9, 101, 900", "\n3e5\n", [("101", (-1, 0, 0)), ("900", (1, 0, 0))]),
    "SPRING1": ("9, 103", "2\n3e5\n", [("103", (0, 1, 0))]),
    "SPRING2": ("9, 101, 103", "3, 1\n3e5\n", [("101", (0, 0, 1)), ("103", (-1, 0, 0))]),
}


@pytest.mark.parametrize("kind", SPRINGS)
def test_springs_between_nodes(kind, tmp_path):
    """Their stiffness on the dofs that they say, along the line of their nodes, or in turned axes; left out by name."""
    nodes, data, terms = SPRINGS[kind]
    text = f"*NODE\n900, 9., 0., 0.\n*ELEMENT, TYPE={kind}, ELSET=s\n{nodes}\n*SPRING, ELSET=s\n{data}"
    mesh, plain = read(tmp_path, text), fem.Model(read(tmp_path, ""))
    label = {int(number): k for k, number in enumerate(mesh.node_ids)}
    row = np.zeros(3 * len(mesh.points))
    for node, direction in terms:
        row[3 * label[int(node)] : 3 * label[int(node)] + 3] = direction
    model = fem.Model(mesh)
    whole = np.zeros((len(row),) * 2)
    whole[: plain.ndof, : plain.ndof] = plain.K.toarray()
    np.testing.assert_allclose(model.K.toarray(), whole + 3e5 * np.outer(row, row), atol=1e-9 * whole.max())
    assert "spring: 300000, SPRING, line" in str(mesh)
    assert fem.read_mesh(deck(tmp_path, MODEL + text), ignore=["SPRING"]).springs == ()
    if kind == "SPRING2":
        joined = fem.join(
            {"a": model.with_interfaces(r="root"), "b": plain.with_interfaces(t="tip")}, {"w": ("a r", "b t")}
        )
        assert len(joined.mesh.springs) == 1
        with pytest.raises(MeshError, match="springs at its nodes"):
            fem.split(model, 2)


def test_a_distributing_coupling_of_calculix_is_a_mean_without_rotation(tmp_path):
    text = POINT + "*ELEMENT, TYPE=DCOUP3D, ELSET=d\n9, 900\n*DISTRIBUTING COUPLING, ELSET=d\n103, 1.\n106, 3.\n"
    _, _, u = null_motions(read(tmp_path, text))
    for k in range(3):
        np.testing.assert_allclose(u(900, k), (u(103, k) + 3 * u(106, k)) / 4, atol=1e-12)
    for first, second in (("0.", "0."), ("-1.", "3."), ("1e999", "3."), ("nan", "3.")):
        with pytest.raises(MeshWarning, match="weights of its nodes add up to zero, or some are negative or infinite"):
            read(tmp_path, text.replace("103, 1.", f"103, {first}").replace("106, 3.", f"106, {second}"))
    _, _, u = null_motions(read(tmp_path, text.replace("103, 1.", "103, 0.")))
    np.testing.assert_allclose(u(900, 0), u(106, 0), atol=1e-12)


def test_springs_are_refused_where_they_cannot_be():
    mesh = fem.structured_meshes.block("tetra", (1, 1, 1), (1, 1, 1))
    with pytest.raises(MeshError, match="stiffness must be positive"):
        fem.NodeSpring([0], [0], [1.0], -2.0)
    with pytest.raises(MeshError, match="a spring is at node 99"):
        replace(mesh, springs=(fem.NodeSpring([99], [0], [1.0], 2.0),))
    turned = fem.Model(replace(mesh, springs=(fem.NodeSpring([0], [4], [1.0], 2.0),)), fem.Material.steel())
    with pytest.raises(MeshError, match="rotations of nodes that have none"):
        turned.K  # noqa: B018


def test_every_line_of_a_tie_is_a_pair_of_surfaces(tmp_path):
    """Two small cubes at both ends of the part."""
    text, pairs = "", ""
    for k, (x, element, face) in enumerate([(2.0, 2, "S4"), (-1.0, 1, "S6")]):
        first = 200 + 10 * k
        text += "*NODE\n" + "".join(
            f"{first + j}, {x + a}, {0.25 + 0.5 * b}, {0.25 + 0.5 * c}\n"
            for j, (a, b, c) in enumerate(
                [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
            )
        )
        text += f"*ELEMENT, TYPE=C3D8, ELSET=small\n{9 + k}, " + ", ".join(str(first + j) for j in range(8)) + "\n"
        text += f"*SURFACE, NAME=slave{k}\n{9 + k}, {'S6' if k == 0 else 'S4'}\n*SURFACE, NAME=master{k}\n{element}, {face}\n"
        pairs += f"slave{k}, master{k}\n"
    section = "*SOLID SECTION, ELSET=small, MATERIAL=STEEL\n"
    both = read(tmp_path, text + section + "*TIE, NAME=t\n" + pairs)
    assert len(both.constraints) == 2 * 4 * 3
    with pytest.raises(MeshWarning, match="data line 2 has a third entry, x"):
        read(tmp_path, text + section + "*TIE, NAME=t\n" + pairs.rstrip() + ", x\n")


def test_nodes_of_two_transforms_are_noted(tmp_path):
    first, second = (
        "*TRANSFORM, NSET=root\n1., 1., 0., -1., 1., 0.\n",
        "*TRANSFORM, NSET=root\n1., 0., 0., 0., 0., 1.\n",
    )
    equation = "*EQUATION\n2\n101, 2, 1., 103, 2, -1.\n"
    mesh = read(tmp_path, first + second + equation)
    _, _, u = null_motions(mesh)
    np.testing.assert_allclose(u(101, 2), u(103, 1), atol=1e-14)  # the second axis is z now
    assert any("4 nodes have other axes by an earlier *TRANSFORM (first: 101)" in text for text in mesh.warnings)
    assert not any("earlier" in text for text in read(tmp_path, first + first + equation).warnings)


def test_nodes_that_a_tie_does_not_reach_are_named_where_a_model_is_made(tmp_path):
    """One of four nodes 0.3 away: a note in mesh.warnings alone, which nobody reads."""
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    upper = [(x, y, z + 1 + 0.3 * ((x, y, z) == (1, 1, 0))) for x, y, z in corners]
    text = "*NODE\n" + "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate([*corners, *upper], 1))
    text += "*ELEMENT, TYPE=C3D8I, ELSET=E\n1, 1, 2, 3, 4, 5, 6, 7, 8\n2, 9, 10, 11, 12, 13, 14, 15, 16\n"
    text += "*SURFACE, NAME=LOW\n1, S2\n*SURFACE, NAME=HIGH\n2, S1\n*TIE, NAME=T, POSITION TOLERANCE=.1\nHIGH, LOW\n"
    mesh = fem.read_mesh(deck(tmp_path, text))
    with pytest.warns(MeshWarning, match=r"TIE, line 25 .*1 of 4 nodes of 'HIGH' .* not tied \(first: 11\).*POSITION"):
        fem.Model(mesh, fem.Material.steel())
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        fem.Model(fem.read_mesh(deck(tmp_path, text.replace("=.1", "=.4"))), fem.Material.steel())
    ignored = fem.read_mesh(deck(tmp_path, text), ignore=["TIE"])
    assert not ignored.untied


@pytest.mark.parametrize(("adjust", "frequency"), [("", 219.2380), (", ADJUST=NO", 222.9443)])
def test_ties_that_adjust_nothing_leave_their_nodes(adjust, frequency, tmp_path):
    """Two cubes, 0.02 apart; frequencies of CalculiX 2.20. In a body such a tie is not obeyed: it resists rotations."""
    text = "*NODE\n" + "".join(
        f"{1 + k + 8 * b}, {x}, {y}, {z + 1.02 * b}\n"
        for b in (0, 1)
        for k, (x, y, z) in enumerate(
            [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
        )
    )
    text += "*ELEMENT, TYPE=C3D8, ELSET=E\n1, 1, 2, 3, 4, 5, 6, 7, 8\n2, 9, 10, 11, 12, 13, 14, 15, 16\n"
    text += "*SOLID SECTION, ELSET=E, MATERIAL=M\n*MATERIAL, NAME=M\n*ELASTIC\n2.1e11, .3\n*DENSITY\n7850.\n"
    text += f"*SURFACE, NAME=LOW\n1, S2\n*SURFACE, NAME=HIGH\n2, S1\n*TIE, NAME=T, POSITION TOLERANCE=.1{adjust}\nHIGH, LOW\n"
    path = deck(tmp_path, text + "*BOUNDARY\n1, 1, 3\n2, 1, 3\n3, 1, 3\n4, 1, 3\n*STEP\n*FREQUENCY\n2\n*END STEP\n")
    mesh, (step,) = fem.read_steps(path)
    found = fem.solve_step(fem.Model(mesh), step).frequencies[0]
    assert found == pytest.approx(frequency, rel=3e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unread = {u.keyword: u.text for u in fem.read_mesh(path).unread}
    assert ("ADJUST=NO, and nodes of 'HIGH' are up to 0.02 away" in unread.get("TIE", "")) == bool(adjust)


def test_ties_find_large_faces_beside_many_small_ones(tmp_path):
    """A node in the middle of a face of 4 by 1, of which the centres of thirty faces of 0.1 are nearer: it counted as too
    far away, with a note (third frequency of such a plate 1 % low; CalculiX ties it)."""
    xs, ys = np.array([0.0, *(4 + 0.1 * np.arange(11))]), np.linspace(0, 1, 4)
    points = [(x, y, z) for z in (0.0, 0.5) for y in ys for x in xs]
    text = "*NODE\n" + "".join(f"{k}, {x!r}, {y!r}, {z}\n" for k, (x, y, z) in enumerate(np.array(points).tolist(), 1))
    text += "*ELEMENT, TYPE=C3D8, ELSET=LOW\n"
    for k, (j, i) in enumerate(((j, i) for j in range(3) for i in range(11)), 1):
        corners = [12 * j + i + 1 + step for step in (0, 1, 13, 12, 48, 49, 61, 60)]
        text += f"{k}, {', '.join(map(str, corners))}\n"
    cube = [(3.5 + a, 0.25 + b / 2, 0.5 + c / 2) for c in (0, 1) for a, b in ((0, 0), (0.2, 0), (0.2, 1), (0, 1))]
    text += "*NODE\n" + "".join(f"{201 + k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(cube))
    text += "*ELEMENT, TYPE=C3D8, ELSET=UP\n100, 201, 202, 203, 204, 205, 206, 207, 208\n"
    text += "*SURFACE, NAME=MASTER\nLOW, S2\n*SURFACE, NAME=SLAVE\nUP, S1\n*TIE, NAME=T\nSLAVE, MASTER\n"
    path = deck(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        mesh = fem.read_mesh(path)
    assert len(mesh.constraints) == 4 * 3
    assert not any("not tied" in text for text in mesh.warnings)


SHELL_DECK = """*NODE
1, 0., 0., 0.
2, 2., 0., 0.
3, 2., 1., 0.
4, 0., 1., 0.
9, 3., .5, .2
*ELEMENT, TYPE=S4, ELSET=P
1, 1, 2, 3, 4
*SURFACE, NAME=WHOLE, TYPE=ELEMENT
P, {}
*SHELL SECTION, ELSET=P, MATERIAL=M
.01
*MATERIAL, NAME=M
*ELASTIC
2.1e11, 0.3
*DENSITY
7850.
"""


@pytest.mark.parametrize(("side", "held"), [("SPOS", [0, 1, 2, 3]), ("E2", [1, 2]), ("E4", [0, 3]), ("S5", [2, 3])])
@pytest.mark.parametrize("kind", ["KINEMATIC", "DISTRIBUTING"])
def test_couplings_of_shells_take_their_side_or_edge(kind, side, held, tmp_path):
    """As Abaqus/CAE writes them: the top of shells, or an edge."""
    text = SHELL_DECK.format(side) + f"*COUPLING, CONSTRAINT NAME=C, REF NODE=9, SURFACE=WHOLE\n*{kind}\n"
    (tmp_path / "part.inp").write_text(text)
    mesh = fem.read_mesh(tmp_path / "part.inp")
    assert mesh.unread == ()
    (link,) = mesh.constraints
    assert isinstance(link, fem.RigidLink if kind == "KINEMATIC" else fem.MeanLink)
    assert (link.nodes.tolist(), mesh.node_ids[link.reference]) == (held, 9)
    if kind == "DISTRIBUTING":
        np.testing.assert_allclose(link.weights / link.weights.sum(), 1 / len(held), rtol=1e-12)


def test_weights_of_the_edges_of_shells_are_lengths(tmp_path):
    text = SHELL_DECK.format("E1\nP, E2") + "*COUPLING, REF NODE=9, SURFACE=WHOLE\n*DISTRIBUTING\n"
    (tmp_path / "part.inp").write_text(text)
    (link,) = fem.read_mesh(tmp_path / "part.inp").constraints
    assert link.nodes.tolist() == [0, 1, 2]
    np.testing.assert_allclose(link.weights, [1.0, 1.5, 0.5], rtol=1e-12)


def test_sides_that_shells_do_not_have_are_named(tmp_path):
    (tmp_path / "part.inp").write_text(SHELL_DECK.format("E5") + "*COUPLING, REF NODE=9, SURFACE=WHOLE\n*KINEMATIC\n")
    with pytest.warns(MeshWarning, match="a quad of a shell has the sides SPOS, SNEG and E1 to E4, found 'E5'"):
        fem.read_mesh(tmp_path / "part.inp")


def test_a_shell_is_tied_to_a_solid_by_its_bottom(tmp_path):
    """The tie was lost without a word where the slave was a side of shells."""
    text = """*NODE
1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1
11,0,0,1\n12,1,0,1\n13,1,1,1\n14,0,1,1
*ELEMENT, TYPE=C3D8, ELSET=B\n1,1,2,3,4,5,6,7,8
*ELEMENT, TYPE=S4, ELSET=P\n2,11,12,13,14
*SURFACE, NAME=MASTER\nB, S2
*SURFACE, NAME=SLAVE\nP, SNEG
*TIE, NAME=T\nSLAVE, MASTER
*SOLID SECTION, ELSET=B, MATERIAL=M
*SHELL SECTION, ELSET=P, MATERIAL=M\n.01
*MATERIAL, NAME=M\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.
"""
    (tmp_path / "part.inp").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        part = fem.Model(fem.read_mesh(tmp_path / "part.inp"))
        assert fem.natural_modes(part, 8).rigid_motions == 6
    text = text.replace("P, SNEG", "Q, SNEG").replace("*TIE", "*ELSET, ELSET=Q\n77\n*TIE")
    (tmp_path / "part.inp").write_text(text)
    with pytest.warns(MeshWarning, match="the slave 'SLAVE' has no node of an element that is read"):
        fem.read_mesh(tmp_path / "part.inp")
