"""Mesh files: what each format keeps, what the Abaqus reader understands, which damage and which meshes are refused."""

import warnings
from dataclasses import replace

import meshio
import numpy as np
import pytest
import pyvista
from vtkmodules import vtkCommonDataModel

import fem
from fem.elements import ELEMENTS
from fem.errors import InterfaceError, MeshError, MeshWarning
from fem.mesh import structured_meshes
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.raw_mesh import RawMesh, mesh_and_steps
from fem.mesh.selection import from_text
from fem.mesh.structured_meshes import block

SETS = ("node_sets", "cell_sets", "face_sets")


def with_sets(kind):
    mesh = block(kind, (2.0, 1.0, 1.0), (2, 1, 1))
    left = np.flatnonzero([mesh.points[mesh.block_of(c)[0].connectivity[mesh.block_of(c)[1]], 0].mean() < 1 for c in range(mesh.cell_count)])  # fmt: skip
    root = mesh.boundary_faces[[(mesh.points[mesh.face_nodes(c, f), 0] == 0).all() for c, f in mesh.boundary_faces]]
    return replace(mesh, node_sets={"tip nodes": mesh.nodes("x1")}, cell_sets={"left": left}, face_sets={"root": root})


def cells(mesh, chosen):
    """Cells as tuples of nodes: files may hold them in another order."""
    return sorted(tuple(block.connectivity[row]) for block, row in map(mesh.block_of, chosen))


def same(found, mesh):
    np.testing.assert_array_equal(found.points, mesh.points)
    assert found.kinds == mesh.kinds
    assert cells(found, range(found.cell_count)) == cells(mesh, range(mesh.cell_count))
    assert [sorted(getattr(found, sort)) for sort in SETS] == [sorted(getattr(mesh, sort)) for sort in SETS]
    for name, nodes in mesh.node_sets.items():
        np.testing.assert_array_equal(np.sort(found.node_sets[name]), np.sort(nodes))
    for name, chosen in mesh.cell_sets.items():
        assert cells(found, found.cell_sets[name]) == cells(mesh, chosen)
    for name, faces in mesh.face_sets.items():
        theirs = found.face_sets[name]
        assert {tuple(found.face_nodes(*f)) for f in theirs} == {tuple(mesh.face_nodes(*f)) for f in faces}


@pytest.mark.parametrize("ending", ["msh", "vtu", "vtk", "xdmf"])
@pytest.mark.parametrize("kind", [e.kind for e in ELEMENTS.values() if e.own_cell])
def test_formats_with_sets_return_the_mesh(kind, ending, tmp_path):
    mesh = with_sets(kind)
    same(fem.read_mesh(fem.write_mesh(mesh, tmp_path / f"part.{ending}")), mesh)


@pytest.mark.parametrize("ending", ["bdf", "med", "mesh", "inp"])
def test_other_formats_return_cells_and_say_what_they_lose(ending, tmp_path):
    mesh = block("tetra", (2.0, 1.0, 1.0), (2, 1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        found = fem.read_mesh(fem.write_mesh(replace(mesh, node_sets={}, face_sets={}), tmp_path / f"part.{ending}"))
    assert found.kinds == mesh.kinds
    np.testing.assert_allclose(found.points, mesh.points, atol=1e-12)
    assert fem.check_mesh(found).volume == pytest.approx(2.0)
    if ending != "inp":
        with pytest.warns(MeshWarning, match="keep no sets; lost: .*'x0'"):
            fem.write_mesh(mesh, tmp_path / f"sets.{ending}")


@pytest.mark.parametrize("ending", ["bdf", "mesh", "su2", "f3grid", "dat", "post", "off"])
def test_a_file_that_would_lose_cells_is_not_written_in_silence(ending, tmp_path):
    """meshio leaves out what a format does not know: of hexahedra and tet10, half of the mass was missing in .bdf,
    .mesh, .su2 and .dat, and .f3grid files had tet4."""
    one, other = block("hexahedron", (1.0, 1.0, 1.0), (2, 1, 1)), block("tetra10", (1.0, 1.0, 1.0), (1, 1, 1))
    cells = (*one.cells, CellBlock("tetra10", other.cells[0].connectivity + len(one.points)))
    mesh = Mesh(np.vstack([one.points, other.points + np.eye(3)[0]]), cells)
    with pytest.raises(
        MeshError, match=rf"\.{ending} files .*(tetra10|hexahedron) cells as they are.*every kind of cell"
    ):
        fem.write_mesh(mesh, tmp_path / f"part.{ending}")
    with pytest.raises(MeshError, match=r"\.stl files of it cannot be read again"):
        fem.write_mesh(mesh, tmp_path / "part.stl")
    assert not (tmp_path / "part.stl").exists()


def test_a_file_that_moves_nodes_is_not_written_in_silence(monkeypatch, tmp_path):
    """Seven digits of the largest coordinate are kept in every direction."""
    meshio = pytest.importorskip("meshio")
    mesh, write = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1)), meshio.write

    def rounded(path, given):
        write(path, meshio.Mesh(given.points + 5e-6, given.cells))

    monkeypatch.setattr(meshio, "write", rounded)
    with pytest.raises(MeshError, match="or other places of nodes"):
        fem.write_mesh(mesh, tmp_path / "part.inp")


def test_formulations_of_cells_that_files_do_not_keep_are_named(tmp_path):
    mesh = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    reduced = Mesh(mesh.points, (CellBlock("hexahedron-reduced", mesh.cells[0].connectivity),))
    with pytest.warns(MeshWarning, match="hexahedron-reduced are hexahedron there"):
        fem.write_mesh(reduced, tmp_path / "part.msh")


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("binary", [0, 1])
def test_files_of_gmsh_itself(order, version, binary, tmp_path):
    """Hexahedra, prisms, tetrahedra and pyramids, in both formats; groups in three dimensions, one cell in two groups."""
    gmsh = pytest.importorskip("gmsh", reason="pip install flexmb[meshing]")
    gmsh.initialize(["-v", "0"], interruptible=False)
    try:
        occ = gmsh.model.occ
        occ.addBox(0, 0, 0, 1, 1, 1)
        occ.synchronize()
        gmsh.model.addPhysicalGroup(3, [1], name="solid")
        gmsh.model.addPhysicalGroup(3, [1], name="everything")
        gmsh.model.addPhysicalGroup(2, [1, 2], name="ends")
        gmsh.model.addPhysicalGroup(0, [1], name="corner")
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.6)
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(order)
        gmsh.option.setNumber("Mesh.MshFileVersion", float(version))
        gmsh.option.setNumber("Mesh.Binary", binary)
        gmsh.write(str(tmp_path / "part.msh"))
        nodes = len(gmsh.model.mesh.getNodes()[0])
    finally:
        gmsh.finalize()
    mesh = fem.read_mesh(tmp_path / "part.msh")
    assert list(mesh.kinds) == [("tetra", "tetra10")[order - 1]]
    assert len(mesh.points) == nodes
    assert len(mesh.cell_sets["solid"]) == len(mesh.cell_sets["everything"]) == mesh.cell_count
    assert {0.0, 1.0} == set(mesh.points[mesh.nodes("ends"), 0])
    assert len(mesh.nodes("corner")) == 1
    report = fem.check_mesh(mesh)
    assert report.volume == pytest.approx(1.0)
    assert report.findings == ()


@pytest.mark.parametrize("ending", ["msh", "vtu", "vtk", "xdmf"])
@pytest.mark.parametrize("kind", ["tetra", "pyramid", "wedge", "hexahedron", "hexahedron20"])
def test_every_side_of_a_block_returns(kind, ending, tmp_path):
    """Whatever number it has in the cells."""
    mesh = block(kind, (2.0, 1.0, 1.0), (2, 1, 1))
    assert len(mesh.face_sets) == 6
    assert {face for faces in mesh.face_sets.values() for face in faces[:, 1]} <= set(range(len(ELEMENTS[kind].faces)))
    same(fem.read_mesh(fem.write_mesh(mesh, tmp_path / f"part.{ending}")), mesh)


# Abaqus and CalculiX decks -------------------------------------------------------------------------------------------

DECK = """** two cubes
*Heading
a *NODE in a comment line is no keyword
*NODE, NSET=ALL
 101, 0., 0., 0.
102, 1, 0, 0
103, 2, 0, 0
*INCLUDE, INPUT=rest.inc
*ELEMENT, type=C3D8R, elset=Cubes
1, 101, 102, 105, 104,
   107, 108, 111, 110
2, 102, 103, 106, 105, 108, 109, 112, 111
*NSET, NSET=root
101, 104, 107,
110
*NSET, NSET=tip, GENERATE
103, 112, 3
*NSET, NSET=ends
root, tip
*NSET, NSET=of second, ELSET=second
*ELSET, ELSET=second
2
*ELSET, ELSET=both
second, 1
*SURFACE, NAME=end face
second, S4
1, S6
*SURFACE, NAME=skin, TYPE=ELEMENT
CUBES
*SURFACE, NAME=points, TYPE=NODE
root,
*MATERIAL, NAME=STEEL
*ELASTIC
2.1e5, 0.3
*STEP
*STATIC
*END STEP
"""
REST = """104, 0, 1, 0
105, 1, 1, 0
106, 2, 1, 0
107, 0, 0, 1
108, 1, 0, 1
109, 2, 0, 1
110, 0, 1, 1
111, 1, 1, 1
112, 2, 1, 1
"""


def deck(folder, text=DECK):
    (folder / "rest.inc").write_text(REST)
    (folder / "part.inp").write_text(text)
    return folder / "part.inp"


def test_every_kind_of_set_of_a_deck(tmp_path):
    mesh = fem.read_mesh(deck(tmp_path))

    def label(name):
        return mesh.node_ids[mesh.nodes(name)].tolist()

    assert fem.check_mesh(mesh).volume == pytest.approx(2.0)
    assert label("root") == label("points") == [101, 104, 107, 110]
    assert label("tip") == [103, 106, 109, 112]
    assert label("ends") == sorted(label("root") + label("tip"))
    assert label("of second") == [102, 103, 105, 106, 108, 109, 111, 112]
    assert label("ALL") == list(range(101, 113))
    np.testing.assert_array_equal(mesh.cell_sets["second"], [1])
    np.testing.assert_array_equal(mesh.cell_sets["both"], [0, 1])
    assert len(mesh.face_sets["skin"]) == 10
    first, last = sorted(mesh.face_sets["end face"].tolist())
    assert (mesh.points[mesh.face_nodes(*first), 0] == 0).all()  # S6 of element 1 is nodes 4-1-5-8: x = 0
    assert (mesh.points[mesh.face_nodes(*last), 0] == 2).all()  # S4 of element 2 is nodes 2-3-7-6: x = 2


def test_part_and_moved_instance(tmp_path):
    body = DECK.split("** two cubes\n*Heading\na *NODE in a comment line is no keyword\n")[1].split("*MATERIAL")[0]
    text = (
        f"*PART, NAME=cubes\n{body}*END PART\n*ASSEMBLY, NAME=a\n*INSTANCE, NAME=c1, PART=cubes\n5., 0., 0.\n"
        "5., 0., 0., 5., 0., 1., 90.\n*END INSTANCE\n*NSET, NSET=hold, INSTANCE=c1\n101, 104\n*END ASSEMBLY\n"
    )
    mesh = fem.read_mesh(deck(tmp_path, text))
    np.testing.assert_allclose(mesh.points[mesh.nodes("tip")].mean(axis=0), [4.5, 2.0, 0.5], atol=1e-12)
    assert mesh.node_ids[mesh.nodes("hold")].tolist() == [101, 104]


BAD_DECKS = {
    "unknown set": (DECK.replace("root, tip", "root, tp"), "no node set named 'TP'. Did you mean 'TIP'"),
    "set in itself": (DECK.replace("root, tip", "ends2\n*NSET, NSET=ends2\nends"), "contains itself"),
    "missing node": (DECK.replace("1, 101, 102", "1, 901, 102"), r"refer to 1 nodes that it does not define \(first: 901\)"),
    "missing include": (DECK.replace("rest.inc", "rests.inc"), "rests.inc"),
    "short element": (DECK.replace("   107, 108, 111, 110\n", ""), "needs 8 nodes an element|refer to 1 nodes"),
    "text for a number": (DECK.replace("102, 1, 0, 0", "102, one, 0, 0"), "line .*one"),
    "generated nodes": (DECK.replace("*MATERIAL", "*NGEN, NSET=new\n1, 3\n*MATERIAL"), "NGEN"),
    "wrong face": (DECK.replace("second, S4", "second, S7"), "faces S1 to S6, found 'S7'"),
    "empty": ("*HEADING\n", "no"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_DECKS)
def test_wrong_decks_are_refused_by_name(case, tmp_path):
    text, words = BAD_DECKS[case]
    with pytest.raises(MeshError, match=words) as error:
        fem.read_mesh(deck(tmp_path, text))
    assert "part" in str(error.value)


BAD_FILES = {
    "absent.msh": (None, "There is no mesh file"),
    "text.msh": (b"hello", "does not begin with"),
    "old.msh": (b"$MeshFormat\n3.0 0 8\n$EndMeshFormat\n", "format 3.0; 4.1 and 2.2 are read"),
    "cut.msh": (b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n", r"no complete section \$Nodes"),
    "text.vtu": (b"hello", "VTK cannot read"),
    "cut.vtk": (b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 3 float\n0 0", "holds no cells"),
    "text.med": (b"hello", "cannot be read as .med"),
    "text.xyzzy": (b"hello", "cannot be read as .xyzzy"),
    "cards.bdf": (b"GRID,1,7,0.,0.,0.\nENDDATA\n", "coordinate system 7"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_damaged_files_are_refused_without_noise(name, tmp_path, capfd):
    content, words = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshError, match=words):
        fem.read_mesh(tmp_path / name)
    out, err = capfd.readouterr()
    assert out == err == ""


def test_surface_meshes_are_refused_with_what_they_hold(tmp_path):
    triangle = meshio.Mesh(np.eye(3), [("triangle", [[0, 1, 2]])])
    meshio.write(tmp_path / "skin.vtu", triangle)
    with pytest.raises(MeshError, match=r"no solid cells that flexmb knows .*; it has 1 triangle\. Export the volume"):
        fem.read_mesh(tmp_path / "skin.vtu")


def test_decks_without_a_usable_cell_are_refused_for_what_they_lack(tmp_path):
    """A deck of shells without a section needs one, no mesh of solids; springs and masses alone are no part."""
    nodes = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n"
    (tmp_path / "sheet.inp").write_text(nodes + "*ELEMENT, TYPE=S4, ELSET=SHEET\n1, 1, 2, 3, 4\n")
    with pytest.raises(MeshError, match=r"can be made of; it has 1 quad\. .*line 6 .*no \*SHELL SECTION") as caught:
        fem.read_mesh(tmp_path / "sheet.inp")
    assert "solid" not in str(caught.value)
    assert "Gmsh" not in str(caught.value)
    springs = "*ELEMENT, TYPE=SPRINGA, ELSET=S\n1, 1, 2\n*SPRING, ELSET=S\n\n1000.\n"
    masses = "*ELEMENT, TYPE=MASS, ELSET=M\n2, 2\n*MASS, ELSET=M\n1.\n"
    (tmp_path / "chain.inp").write_text(nodes + springs + masses)
    with pytest.raises(MeshError, match=r"dampers alone.*MASS, line 13 .*SPRING, line 8 .* mechanism"):
        fem.read_mesh(tmp_path / "chain.inp")


# checks and repairs --------------------------------------------------------------------------------------------------


def findings(mesh):
    return " | ".join(f"{f.severity}: {f.text}" for f in fem.check_mesh(mesh).findings)


def two_blocks():
    """Two cubes that touch and share no node."""
    one = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    return Mesh(
        np.vstack([one.points, one.points + np.eye(3)[0]]),
        (CellBlock("hexahedron", np.vstack([one.cells[0].connectivity, 8 + one.cells[0].connectivity])),),
    )


def test_coincident_nodes_are_found_and_joined():
    mesh = two_blocks()
    assert "4 pairs of nodes coincide" in findings(mesh)
    assert "falls into 2 parts" in findings(mesh)
    joined = fem.merge_nodes(mesh)
    assert len(joined.points) == 12
    assert fem.check_mesh(joined).findings == ()


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("blocks", [1, 2])
def test_mirrored_meshes_are_found_and_turned(kind, blocks):
    mesh = with_sets(kind)
    cells = np.array_split(mesh.cells[0].connectivity, blocks)
    mesh = replace(mesh, cells=tuple(CellBlock(kind, rows) for rows in cells))
    mirrored = replace(mesh, points=mesh.points * [1, 1, -1])
    assert "cells are inverted" in findings(mirrored)
    mended = fem.fix_orientation(mirrored)
    assert fem.check_mesh(mended).findings == ()
    np.testing.assert_array_equal(mended.nodes("root"), mesh.nodes("root"))
    normal = [np.cross(*np.diff(mended.points[mended.face_corners(c, f)[:3]], axis=0)) for c, f in mended.face_sets["root"]]  # fmt: skip
    assert all(n[0] < 0 for n in normal)


def test_what_is_wrong_with_cells_and_nodes_is_named():
    mesh = block("tetra10", (1.0, 1.0, 1.0), (1, 1, 1))
    points = mesh.points.copy()
    a, _, m = ELEMENTS["tetra10"].edges[0]
    row = mesh.cells[0].connectivity[0]
    points[row[m]] = 0.7 * points[row[a]] + 0.3 * points[row[m]]
    assert "mid-side nodes of tetra10 cells lie away" in findings(replace(mesh, points=points))
    swapped = mesh.cells[0].connectivity[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]  # Gmsh's order of the last two
    order = findings(replace(mesh, cells=(CellBlock("tetra10", swapped),)))
    assert "error" in order
    assert "the node order of the file is probably not VTK's" in order
    twice = np.vstack([mesh.cells[0].connectivity, row])
    assert "1 cells have the corners of others (first: cell" in findings(
        replace(mesh, cells=(CellBlock("tetra10", twice),))
    )
    loose = replace(mesh, points=np.vstack([mesh.points, [[9.0, 9, 9]]]))
    assert "1 nodes belong to no cell" in findings(loose)
    assert len(fem.drop_unused_nodes(loose).points) == len(mesh.points)
    flat = replace(mesh, points=mesh.points * [1, 1, 0.02])
    assert "very distorted" in findings(flat)
    size = len(mesh.points)
    three = [mesh.points, [[5.0, 0, 0], [6, 0, 0], [7, 0, 0]], [[0.0, 5, 0], [0, 6, 0]]]
    lines = CellBlock("line", size + np.array([(0, 1), (1, 2), (3, 4)]))
    apart = findings(replace(mesh, points=np.vstack(three), cells=(*mesh.cells, lines)))
    assert f"3 parts that share no node: {size} nodes (one is 0), 3 nodes (one is {size}), 2 nodes" in apart


def test_collapsed_cells_of_shells_are_numbered_in_the_mesh_whatever_its_unit():
    """Four edges of a micrometre in metres are a cell; a quadrilateral that is folded over is named, and its number
    counts the cells of the blocks before."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)], dtype=float)
    sound, folded = np.array([(0, 1, 2, 3), (1, 4, 5, 2)]), np.array([(1, 4, 2, 5)])
    for unit in (1e-6, 1.0, 1e6):
        assert "collapsed" not in findings(Mesh(unit * points, (CellBlock("quad", sound),)))
        blocks = (CellBlock("quad", sound[:1]), CellBlock("quad", folded))
        assert "1 quad cells are collapsed or folded over; the first is cell 1." in findings(
            Mesh(unit * points, blocks)
        )


# selections ----------------------------------------------------------------------------------------------------------


def test_selections_by_geometry_and_as_text():
    mesh = block("hexahedron20", (2.0, 1.0, 1.0), (2, 2, 2))
    for text, made, count in (
        ("plane/0,0,0/1,0,0", fem.on_plane((0, 0, 0), (1, 0, 0)), 21),
        ("box/0,0,0/0.6,1,1", fem.in_box((0, 0, 0), (0.6, 1, 1)), 21 + 9),
        ("nearest/2,1,1", fem.nearest((2, 1, 1)), 1),
        ("nearest/2,1,1/4", fem.nearest((2, 1, 1), 4), 4),
        ("sphere/1,0.5,0.5/1.224744871391589", fem.on_sphere((1, 0.5, 0.5), 1.5**0.5), 8),
        ("cylinder/0,0.5,0.5/1,0,0/0.5", fem.on_cylinder((0, 0.5, 0.5), (1, 0, 0), 0.5), 20),
    ):
        found = mesh.nodes(from_text(text))
        np.testing.assert_array_equal(found, mesh.nodes(made))
        assert len(found) == count, text
    assert from_text("x0") == "x0"


def test_nodes_are_selected_by_the_numbers_of_their_file():
    mesh = replace(block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1)), node_ids=np.arange(8)[::-1] + 9000)
    np.testing.assert_array_equal(mesh.nodes(from_text("node/9001,9005")), [2, 6])
    with pytest.raises(MeshError, match=r"no node has the number 1 in the file; numbers run from 9000 to 9007"):
        mesh.nodes(from_text("node/1"))
    with pytest.raises(MeshError, match=r"'LEFT.1' is no INSTANCE.NUMBER"):
        mesh.nodes(from_text("node/LEFT.1"))
    with pytest.raises(MeshError, match=r"no set named '9001'.* mesh.numbered\(9001\), in texts node/9001\."):
        mesh.nodes(from_text("9001"))
    assert str(from_text("node/9001,LEFT.1")) == "node/9001,LEFT.1"
    bar = fem.Model(mesh, fem.Material.steel())
    given = fem.Model.from_matrices(bar.M, bar.K, bar.points)
    with pytest.raises(InterfaceError, match=r"no file whose nodes had numbers; found node/9001"):
        given.with_interfaces(pin=from_text("node/9001"))


def test_a_cylinder_ends_half_its_length_from_its_point():
    for around in (2, 1):
        with pytest.raises(MeshError, match="three divisions around; found"):
            structured_meshes.tube("hexahedron", (0.04, 0.05), 0.1, (1, around, 4))
    tube = structured_meshes.tube("hexahedron", (0.04, 0.05), 0.1, (1, 8, 4))
    for middle, length, rings in ((0.05, 0.1, 5), (0.025, 0.05, 3), (0.05, 0.05, 3), (0.0, 0.05, 2), (0.05, 0.04, 1)):
        found = tube.nodes(from_text(f"cylinder/0,0,{middle}/0,0,2/0.05/{length}"))
        r, z = np.linalg.norm(tube.points[:, :2], axis=1), tube.points[:, 2]
        wanted = (np.abs(r - 0.05) < 1e-9) & (np.abs(z - middle) < length / 2 + 1e-9)
        np.testing.assert_array_equal(found, np.flatnonzero(wanted))
        assert len(found) == 8 * rings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plan/0,0,0/1,0,0", "no geometric selection named 'plan'. Did you mean 'plane'"),
        ("plane/0,0,0", "not of the form plane/POINT/NORMAL"),
        ("plane/0,0/1,0,0", "not of the form"),
        ("node/1,,2", r"Existing: .*'node'.* Forms: .*node/NUMBER"),
        ("sphere/0,0,0/big", "not of the form sphere/CENTRE/RADIUS"),
        ("plane/0,0,0/0,0,0", "normal has no direction"),
        ("sphere/0,0,0/nan", "radius must be positive and finite; found nan"),
        ("cylinder/0,0,0/0,0,1/-1", "radius must be positive and finite; found -1"),
        ("cylinder/0,0,0/0,0,1/1/0", "length must be positive and finite; found 0"),
        ("nearest/0,0,0/nan", "1 or more; found nan"),
        ("nearest/0,0,0/inf", "1 or more; found inf"),
        ("nearest/0,0,0/2.7", "1 or more; found 2.7"),
        ("nearest/0,0,0/0", "1 or more; found 0"),
    ],
)
def test_wrong_selections_as_text(text, words, monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    with pytest.raises(MeshError, match=words):
        from_text(text)


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf"), "1", True])
def test_tolerances_of_selections_are_distances(tolerance, monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    with pytest.raises(MeshError, match="tolerance must be finite and not negative"):
        fem.on_plane((0, 0, 0), (1, 0, 0), tolerance=tolerance)
    with pytest.raises(MeshError, match="the nearest nodes needs their number"):
        fem.nearest((0, 0, 0), tolerance)


def test_a_selection_that_finds_nothing_says_how_far_away_the_mesh_is():
    mesh = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    with pytest.raises(
        MeshError, match=r"no node on the plane .* The nearest, node 0 at \[0\. 0\. 0\.\], is 0\.5 away"
    ):
        mesh.nodes(fem.on_plane((-0.5, 0, 0), (1, 0, 0)))


# readers that once failed ----------------------------------------------------------------------------------------------

TET = "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"


def test_surface_cells_of_nine_nodes_mark_faces():
    """Those of hexahedra of 27 nodes, as Gmsh and VTK have them: three of the faces of two cells, one of them inside."""
    plain = block("hexahedron20", (2.0, 1.0, 1.0), (2, 1, 1))
    (hexahedra,) = plain.cells
    sides, points = ELEMENTS["hexahedron20"].faces, list(plain.points)

    def centre(nodes):
        points.append(plain.points[nodes].mean(axis=0))
        return len(points) - 1

    inside = [[*(centre(cell[list(side)]) for side in sides), centre(cell)] for cell in hexahedra.connectivity]
    cells = np.column_stack([hexahedra.connectivity, inside])
    skin = [plain.face_nodes(*face) for face in plain.boundary_faces]
    ends = [[*nodes, centre(nodes)] for nodes in skin if np.ptp(plain.points[nodes, 0]) == 0]
    first = hexahedra.connectivity[0]
    between = next(first[list(side)] for side in sides if (plain.points[first[list(side)], 0] == 1).all())
    quads = np.array([*ends, [*between, centre(between)]])
    raw = RawMesh(
        np.array(points),
        np.arange(len(points)),
        (("hexahedron27", cells), ("quad9", quads)),
        {"ends": [np.zeros(0, int), np.array([0, 1])], "middle": [np.zeros(0, int), np.array([2])]},
    )
    mesh, _ = mesh_and_steps(raw, "part")
    assert mesh.kinds == {"hexahedron20": 2}
    assert mesh.face_sets["ends"].shape == (2, 2)
    np.testing.assert_array_equal(np.unique(mesh.points[mesh.nodes("ends"), 0]), [0.0, 2.0])
    assert list(mesh.face_sets) == ["ends"]
    assert any("'middle' is not on the skin" in text for text in mesh.warnings)
    np.testing.assert_array_equal(mesh.points[mesh.node_sets["middle"], 0], 1.0)


def test_pairs_of_tetgen(tmp_path):
    node, ele = tmp_path / "a.node", tmp_path / "a.ele"
    node.write_text(TET)
    with pytest.raises(MeshError, match=r"a.node needs a.ele beside it"):
        fem.read_mesh(node)
    ele.write_text("# nothing\n")
    with pytest.raises(MeshError, match=r"a.ele holds nothing"):  # meshio waits for ever
        fem.read_mesh(node)
    ele.write_text("0 4 0\n")
    with pytest.raises(MeshError, match="no cells at all"):
        fem.read_mesh(ele)
    ele.write_text("1 4 0\n1 1 2 3 4\n")
    assert fem.read_mesh(ele).kinds == fem.read_mesh(node).kinds == {"tetra": 1}


def test_a_med_file_without_groups(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.med"
    mesh = block("tetra", (1.0, 1.0, 1.0), (1, 1, 1))
    meshio.write(path, meshio.Mesh(mesh.points, [("tetra", mesh.cells[0].connectivity)]))
    with h5py.File(path, "r+") as file:
        del file["FAS"]
    assert fem.read_mesh(path).kinds == mesh.kinds


def test_what_med_files_say_of_their_nodes_and_groups(tmp_path):
    """Numbers of nodes, names beyond ASCII and kinds of cells without a group, as the format has them; cylindrical
    coordinates were taken as rectangular ones, and cells of a family that is missing were in no group."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.med"
    tetra, faces = np.array([[0, 1, 2, 3], [1, 4, 2, 3]]), np.array([[0, 1, 2]])
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    tags = {"cell_tags": [np.array([-1, -2]), np.array([-1])]}
    data = meshio.Mesh(points, [("tetra", tetra), ("triangle", faces)], cell_data=tags)
    data.cell_tags, data.point_tags = {-1: ["A"], -2: ["B"]}, {}
    meshio.write(path, data)
    with h5py.File(path, "r+") as file:
        (step,) = file["ENS_MAA/mesh"].values()
        step["NOE/NUM"] = np.array([11, 12, 13, 14, 19])
        del step["MAI/TR3/FAM"]  # of cells without a group
        name = file["FAS/mesh/ELEME/FAM_-2_B/GRO/NOM"]
        rows = name[...]
        rows[0][:5] = np.frombuffer("Maß".encode() + bytes(1), np.int8)
        name[...] = rows
    mesh = fem.read_mesh(path)
    assert mesh.node_ids.tolist() == [11, 12, 13, 14, 19]
    assert {key: cells.tolist() for key, cells in mesh.cell_sets.items()} == {"A": [0], "Maß": [1]}
    whole = path.read_bytes()
    for change, said in (
        (lambda file: file["ENS_MAA/mesh"].attrs.modify("REP", 1), "its coordinates are cylindrical; rectangular"),
        (lambda file: file.pop("FAS/mesh/ELEME/FAM_-2_B"), r"cells are of the families .-2., which the file does not"),
        (lambda file: next(iter(file["ENS_MAA/mesh"].values()))["NOE/NUM"].write_direct(np.full(5, 3)), "a number of"),
    ):
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            next(iter(file["ENS_MAA/mesh"].values()))["MAI/TR3/FAM"] = np.array([-1])
            change(file)
        with pytest.raises(MeshError, match=rf"a\.med.*{said}"):
            fem.read_mesh(path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.f3grid", "* FLAC3D grid\n", "holds no points"),
        (
            "a.vtk",
            "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 0 double\n",
            "holds no cells",
        ),
        ("a.cdb", "/COM,ANSYS RELEASE\n/PREP7\n", r"has no EBLOCK with elements. Write it in blocked format"),
        ("a.obj", "", "holds no points"),
        ("a.op2", "", "OP2 files hold results of Nastran and are not read as meshes"),
    ],
)
def test_files_without_points(name, text, words, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(MeshError, match=words):
        fem.read_mesh(tmp_path / name)


def test_flac3d_is_read(tmp_path):
    (tmp_path / "a.f3grid").write_text("* FLAC3D grid\nG 1 0 0 0\nG 2 1 0 0\nG 3 0 1 0\nG 4 0 0 1\nZ T4 1 1 2 3 4\n")
    assert fem.read_mesh(tmp_path / "a.f3grid").kinds == {"tetra": 1}


@pytest.mark.parametrize("ending", [".vtu", ".vtk"])
def test_numbers_of_materials_in_vtk_files_are_told_to_make_no_sets(ending, tmp_path):
    """Nor are they in silence; numbers of the cells themselves and values are no sets anyway."""
    block = fem.structured_meshes.block("hexahedron", (2.0, 1.0, 1.0), (2, 2, 1))
    data = {"material": [1, 2, 1, 2], "GlobalIds": [1, 2, 3, 4], "same": [1] * 4, "density": [1.0, 2.0, 1.0, 2.0]}
    cells = [("hexahedron", block.cells[0].connectivity)]
    path = tmp_path / f"part{ending}"
    meshio.write(path, meshio.Mesh(block.points, cells, cell_data={k: [np.array(v)] for k, v in data.items()}))
    (told,) = fem.read_mesh(path).warnings
    assert "in the fields 'material' make no sets" in told
    assert "'cell set NAME'" in told


@pytest.mark.parametrize(("divisions", "options"), [((2, 3, 2), {}), ((2, 3, 0), {"shells": "all"})])
def test_cells_of_images_are_bricks_and_rectangles(divisions, options, tmp_path):
    """VTK's voxels and pixels, whose nodes follow each other row by row."""
    image = pyvista.ImageData(dimensions=[d + 1 for d in divisions], spacing=(0.5, 2.0, 3.0))
    image.cast_to_unstructured_grid().save(tmp_path / "image.vtu")
    mesh = fem.read_mesh(tmp_path / "image.vtu", **options)
    steel = fem.Material.steel()
    model = fem.Model(mesh, fem.Shell(steel, 0.01) if options else steel)
    assert model.mass / steel.density == pytest.approx(1.0 * 6.0 * (0.01 if options else 6.0))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TriQuadraticHexahedron", "hexahedron20"),
        ("BiQuadraticQuadraticWedge", "wedge15"),
        ("TriQuadraticPyramid", "pyramid13"),
    ],
)
def test_cells_of_vtk_with_nodes_on_their_faces_lose_these(name, kind, tmp_path):
    """As VTK makes them: the nodes at its parametric coordinates are those of the cell, and fill its volume."""
    cell = getattr(vtkCommonDataModel, f"vtk{name}")()
    count = cell.GetNumberOfPoints()
    points = np.array([cell.GetParametricCoords()[k] for k in range(3 * count)]).reshape(-1, 3)
    grid = pyvista.UnstructuredGrid(np.array([count, *range(count)]), np.array([cell.GetCellType()]), points)
    grid.save(tmp_path / "cell.vtu")
    mesh = fem.read_mesh(tmp_path / "cell.vtu")
    assert mesh.kinds == {kind: 1}
    exact = {"hexahedron20": 1.0, "wedge15": 0.5, "pyramid13": 1 / 6}[kind]  # that of VTK is half as high as its base
    assert fem.check_mesh(mesh).volume == pytest.approx(exact)
    assert fem.check_mesh(mesh).usable


def test_a_cut_vtk_file_is_refused_at_every_length(tmp_path):
    mesh, path = block("tetra", (1.0, 1.0, 1.0), (1, 1, 1)), tmp_path / "a.vtk"
    fem.write_mesh(mesh, path)
    whole = path.read_bytes()
    for part in (0.1, 0.5, 0.8):
        path.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(MeshError):
            fem.read_mesh(path)


def test_curved_cells_that_curves_invert_are_straightened():
    mesh = block("tetra10", (1.0, 1.0, 1.0), (2, 2, 2))
    points = mesh.points.copy()
    row = mesh.cells[0].connectivity[5]
    a, b, m = ELEMENTS["tetra10"].edges[0]
    points[row[m]] = points[row[a]] + 0.5 * (points[row[b]] - points[row[a]]) + [0.3, 0.3, -0.3]
    spoilt = replace(mesh, points=points)
    found = findings(spoilt)
    assert "with fem.straighten_cells(mesh)" in found
    with pytest.raises(MeshError, match="inverted or collapsed"):
        _ = fem.Model(spoilt, fem.Material.steel()).K
    straight = fem.straighten_cells(spoilt)
    np.testing.assert_allclose(straight.points, mesh.points, atol=1e-15)
    assert "1 mid-side nodes were moved to the middle of their edges, by up to 0.52" in straight.warnings[-1]
    assert fem.check_mesh(straight).usable
    assert fem.straighten_cells(mesh) is mesh


def test_check_and_model_agree():
    """Whatever is wrong with a mesh, it is usable exactly where its matrices can be made; doubled cells are named."""
    mesh = block("hexahedron20", (1.0, 1.0, 1.0), (2, 1, 1))
    rows = mesh.cells[0].connectivity
    sunk, shifted = mesh.points.copy(), mesh.points.copy()
    sunk[rows[0, 8]] = 0.98 * sunk[rows[0, 0]] + 0.02 * sunk[rows[0, 1]]
    shifted[np.unique(rows[:, 8:])] += [0.11, 0.02, 0.0]
    twice = (CellBlock("hexahedron20", np.vstack([rows, rows[:1]])),)
    over = (*mesh.cells, CellBlock("hexahedron", np.roll(rows[:1, :8], 4, axis=1)))
    cases = {
        "sound": mesh,
        "mirrored": replace(mesh, points=mesh.points * [1, 1, -1]),
        "sunk": replace(mesh, points=sunk),
        "shifted": replace(mesh, points=shifted),
        "loose": replace(mesh, points=np.vstack([mesh.points, [[9.0, 9, 9]]])),
        "twice": replace(mesh, cells=twice),
        "over": replace(mesh, cells=over),
    }
    for name, case in cases.items():
        report, made = fem.check_mesh(case), True
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model = fem.Model(case, fem.Material.steel())
                assert model.K.shape == model.M.shape
            except MeshError:
                made = False
        assert made == report.usable, name
        doubled = "1 cells have the corners of others"
        assert (doubled in str(report)) == any(doubled in str(w.message) for w in said) == (name in ("twice", "over"))


def test_nodes_of_gmsh_with_parameters_on_points_curves_surfaces_and_volumes(tmp_path):
    """After its coordinates, a node on a curve has one parameter, one on a surface two, and one in a volume three."""
    places = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    nodes = "".join(f"{k} 1 1 1\n{k + 1}\n{x} {y} {z}{' 0.25' * k}\n" for k, (x, y, z) in enumerate(places))
    text = f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n4 4 1 4\n{nodes}$EndNodes\n"
    (tmp_path / "a.msh").write_text(text + "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n")
    np.testing.assert_array_equal(fem.read_mesh(tmp_path / "a.msh").points, places)


@pytest.mark.parametrize("ending", ["inp", "msh", "med", "vtu"])
def test_pointers_of_git_lfs_are_no_meshes(ending, tmp_path):
    (tmp_path / f"part.{ending}").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:88c9\nsize 910\n")
    with pytest.raises(MeshError, match=rf"part.{ending}' is a pointer, .* git lfs pull"):
        fem.read_mesh(tmp_path / f"part.{ending}")


def test_the_first_format_of_gmsh_is_named(tmp_path):
    (tmp_path / "part.msh").write_text("$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n0\n$ENDELM\n")
    with pytest.raises(MeshError, match=r"has the old format 1; 4\.1 and 2\.2 are read"):
        fem.read_mesh(tmp_path / "part.msh")


@pytest.mark.parametrize("ending", ["med", "vtu"])
def test_pyramids_with_nodes_on_their_edges_return(ending, tmp_path):
    """meshio has no dimension of a pyramid13, and refused MED files of Salome with them."""
    pytest.importorskip("h5py")
    shape = ELEMENTS["pyramid13"]
    mesh = Mesh(shape.coordinates, (CellBlock("pyramid13", np.arange(13)[None]),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        again = fem.read_mesh(fem.write_mesh(mesh, tmp_path / f"part.{ending}"))
    assert again.kinds == {"pyramid13": 1}
    assert fem.check_mesh(again).volume == pytest.approx(fem.check_mesh(mesh).volume, rel=1e-12)
