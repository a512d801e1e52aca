"""Files that are valid and unusual, and files that are damaged: read in full, or refused by name; no reader hangs."""

import re
import sys
import warnings

import numpy as np
import pytest

import fem
from fem.errors import MeshError

EMPTY_BLOCK = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
1 0 0 1
1 0 0 0 0
1 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
2 4 1 4
0 1 0 0
3 1 0 4
1
2
3
4
0 0 0
1 0 0
0 1 0
0 0 1
$EndNodes
$Elements
1 1 1 1
3 1 4 1
1 1 2 3 4
$EndElements
"""
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)]
MIDDLE = [(0.5, 0, 0), (0.5, 0.5, 0), (0, 0.5, 0), (0, 0, 0.5), (1, 0, 0.5), (0, 1, 0.5), (0.5, 0, 1), (0.5, 0.5, 1), (0, 0.5, 1)]  # fmt: skip
GRID = "".join(f"GRID,{k},,{x:.1f},{y:.1f},{z:.1f}\n" for k, (x, y, z) in enumerate([*CORNERS, *MIDDLE], 1))
SOLID = "MAT1,1,2.1+5,,.3,7.85-9\nPSOLID,1,1\n"
WEDGE = SOLID + "CPENTA,1,1,1,2,3,4,5,6\n"
TET = "*NODE\n1, 0, 0, 0\n2, 1\n3, 0, 1\n4, 0, 0, 1\n*ELEMENT, TYPE=C3D4, ELSET=TOP\n1, 1, 2, 3, 4\n"
READ = {
    "an entity block of Gmsh 4.1 without nodes": ("a.msh", EMPTY_BLOCK, {"tetra": 1}),
    "Nastran, continuations with a blank first field": (
        "a.bdf",
        GRID
        + SOLID
        + "CPENTA         1       1       1       2       3       4       5       6\n"
        + "               7       8       9      10      11      12      13      14\n"
        + "              15\n",
        {"wedge15": 1},
    ),
    "Nastran, + marks": ("a.bdf", GRID + SOLID + "CPENTA,1,1,1,2,3,4,5,6,+A\n+A,7,8,9,10,11,12,13,14,+B\n+B,15\n", {"wedge15": 1}),
    "Nastran, large fields": (
        "a.bdf",
        f"GRID*{1:>19}{'':16}{0.0:>16}{0.0:>16}\n*{'':7}{0.0:>16}\n" + GRID[GRID.index("GRID,2") :] + WEDGE,
        {"wedge": 1},
    ),
    "Abaqus, coordinates left out": ("a.inp", TET, {"tetra": 1}),
    "FLAC3D": ("a.f3grid", "* grid\nG 1 0 0 0\nG 2 1 0 0\nG 3 0 1 0\nG 4 0 0 1\nZ T4 1 1 2 3 4\n", {"tetra": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_valid_is_read(name, tmp_path):
    file, text, kinds = READ[name]
    (tmp_path / file).write_text(text)
    mesh = fem.read_mesh(tmp_path / file)
    assert dict(mesh.kinds) == kinds
    assert fem.check_mesh(mesh).usable


@pytest.mark.parametrize("shape", ["sphere", "cone", "layer"])
def test_shapes_of_gmsh_with_empty_blocks(shape, tmp_path):
    """Spheres, cones and one layer of hexahedra, whose curves or volumes have no nodes of their own."""
    gmsh = pytest.importorskip("gmsh")
    gmsh.initialize(readConfigFiles=False)
    gmsh.option.setNumber("General.Verbosity", 0)
    occ = gmsh.model.occ
    if shape == "sphere":
        occ.addSphere(0, 0, 0, 1)
    elif shape == "cone":
        occ.addCone(0, 0, 0, 0, 0, 1, 1, 0)
    else:
        occ.extrude([(2, occ.addRectangle(0, 0, 0, 2, 1))], 0, 0, 0.1, numElements=[1], recombine=True)
        gmsh.option.setNumber("Mesh.RecombineAll", 1)
    occ.synchronize()
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.6)
    gmsh.model.mesh.generate(3)
    gmsh.write(str(tmp_path / "a.msh"))
    gmsh.finalize()
    assert b" 0 0\n" in (tmp_path / "a.msh").read_bytes()
    mesh = fem.read_mesh(tmp_path / "a.msh")
    assert fem.check_mesh(mesh).usable
    assert list(mesh.kinds) == (["hexahedron"] if shape == "layer" else ["tetra"])


def test_nodes_in_a_coordinate_system(tmp_path):
    system = "CORD2R,1,,10.,0.,0.,10.,0.,1.\n,11.,0.,0.\n"
    (tmp_path / "a.bdf").write_text(system + GRID.replace("GRID,1,,", "GRID,1,1,") + WEDGE)
    np.testing.assert_allclose(fem.read_mesh(tmp_path / "a.bdf").points[0], [10, 0, 0])


def test_a_surface_and_an_element_set_of_one_name(tmp_path):
    (tmp_path / "a.inp").write_text(TET + "*SURFACE, NAME=TOP\nTOP, S1\n")
    mesh = fem.read_mesh(tmp_path / "a.inp")
    assert "TOP" in mesh.cell_sets
    assert any(name.startswith("TOP") for name in mesh.face_sets)


GMSH_2 = (
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n$Elements\n1\n"
)
REFUSED = {
    "a.vtk": ("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0", "no cells"),
    "b.vtk": ("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\n", "no cells"),
    "c.vtk": (
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 float\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1\n"
        "CELLS 1 6\n5 0 1 2 3 4\nCELL_TYPES 1\n10\n",
        "1 cells of the kind tetra have 5 nodes in all, expected 4 each",
    ),
    "a.msh": ("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n", r"no section \$Nodes"),
    "b.msh": (GMSH_2 + "1 4 0 1 2 3\n$EndElements\n", r"\$Elements should hold 8 numbers, it holds 7"),
    "c.msh": (GMSH_2 + "1 4 0 1 2 3 4 5\n$EndElements\n", r"\$Elements should hold 8 numbers, it holds 9"),
    "d.msh": ("$MeshFormat\n4.1 1 8\n\0\0\0\x01\n$EndMeshFormat\n", "another byte order or word length"),
    "e.msh": ("$MeshFormat\n4.1 1 4\n\x01\0\0\0\n$EndMeshFormat\n", "another byte order or word length"),
    "f.msh": ("$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n", r"no section \$Nodes"),
    "g.msh": (
        EMPTY_BLOCK.replace("3 1 4 1", "3 1 29 1"),
        "elements of Gmsh type 29; lines, triangles, quadrangles and solids",
    ),
    "h.msh": (
        GMSH_2 + "1 29 0 1 2 3 4\n$EndElements\n",
        "elements of Gmsh type 29; lines, triangles, quadrangles and solids",
    ),
    "i.msh": (
        EMPTY_BLOCK.replace("1 1 2 3 4\n$E", "1 1 2 3\n$E"),
        r"its section \$Elements ends too early: 5 numbers expected, 4 found",
    ),
    "j.msh": (
        EMPTY_BLOCK.replace("1 1 2 3 4\n$E", "1 1 2 3 5\n$E"),
        r"tetra cells refer to nodes that are not in \$Nodes",
    ),
    "k.msh": (GMSH_2 + "1 4 0 1 2 3 9\n$EndElements\n", r"tetra cells refer to nodes that are not in \$Nodes"),
    "a.mesh": ("MeshVersionFormatted 2\nDimension 3\nEnd\n", "cannot be read as .mesh"),
    "a.cdb": ("/PREP7\n", "no EBLOCK"),
    "a.ele": ("0 4 0\n", "a.node beside it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_damaged_is_refused_by_name(name, tmp_path):
    text, words = REFUSED[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(MeshError, match=words):
        fem.read_mesh(tmp_path / name)


def test_tetgen_files_without_tetrahedra_end(tmp_path):
    (tmp_path / "a.ele").write_text("0 4 0\n")
    (tmp_path / "a.node").write_text("3 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n")
    for name in ("a.ele", "a.node"):
        with pytest.raises(MeshError, match="no cells at all"):
            fem.read_mesh(tmp_path / name)


def test_a_truss_without_an_area_is_named_and_a_bar_with_a_section_is_kept(tmp_path):
    (tmp_path / "a.inp").write_text(TET + "*ELEMENT, TYPE=T3D2, ELSET=R\n2, 1, 2\n")
    with pytest.warns(fem.MeshWarning, match="beams or trusses"):
        assert "line" not in fem.read_mesh(tmp_path / "a.inp").kinds
    (tmp_path / "a.bdf").write_text(GRID + WEDGE + "CBAR,2,9,1,2,0.,1.,0.\nPBAR,9,1,1.,1.,1.,1.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fem.read_mesh(tmp_path / "a.bdf").kinds["line"] == 1
    (tmp_path / "a.bdf").write_text(GRID + WEDGE + "CBAR,2,9,1,2,0.,1.,0.\n")
    with pytest.warns(fem.MeshWarning, match=r"CBAR, line 19 of a.bdf: .*a property that is read \(PBAR, "):
        assert [u.keyword for u in fem.read_mesh(tmp_path / "a.bdf").unread] == ["CBAR"]


@pytest.mark.parametrize("place", ["POINT_DATA 4", "CELL_DATA 1"])
def test_a_set_of_several_numbers_for_each_is_refused(place, tmp_path):
    """Components of one cell were those of the next ones: other sets, or an error of NumPy."""
    pytest.importorskip("pyvista")
    count, what = int(place.split()[1]), "node" if place.startswith("POINT") else "face"
    (tmp_path / "part.vtk").write_text(
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\n"
        f"CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n{place}\nFIELD FieldData 1\n{what}%20set%20end 2 {count} int\n"
        + "1 1\n"
        * count
    )
    with pytest.raises(
        MeshError, match=rf"'{what} set end' keeps a set by one number for each .*; found \({count}, 2\)"
    ):
        fem.read_mesh(tmp_path / "part.vtk")


def test_billions_of_partitions_are_refused_at_once(tmp_path):
    """A list of those in other files took the memory of the machine."""
    text = (
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
        "$Elements\n1\n1 4 5 1 1 2 1 -{} 1 2 3 4\n$EndElements\n"
    )
    for others, told in (("3", r"\[2, 3\]"), ("2147483647", r"\[2, 3, 4, 5, 6, 7, 8, 9, 10, 11\] and more")):
        (tmp_path / "part.msh").write_text(text.format(others))
        with pytest.raises(MeshError, match=rf"the partitions \[1\], and those of {told} are in other files"):
            fem.read_mesh(tmp_path / "part.msh")


def test_a_format_whose_package_is_not_installed_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    (tmp_path / "a.e").write_text("x")
    said = r"files of the format \.e need the package netCDF4, which is not installed: pip install netCDF4\.$"
    with pytest.raises(MeshError, match=said):
        fem.read_mesh(tmp_path / "a.e")


NAMES = ("inner & outer", "a<b>c", 'a"b', "a'b", "a\tb\nc")


def named(names):
    """A cube with sets of nodes, faces and cells of these names, each with a letter, so that no two have one name."""
    cube = fem.structured_meshes.block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    rows = {"n": np.array([0]), "f": np.array([[0, 1]]), "c": np.array([0])}
    nodes, faces, cells = ({kind + name: own for name in names} for kind, own in rows.items())
    return fem.Mesh(cube.points, cube.cells, node_sets=nodes, face_sets=faces, cell_sets=cells)


def test_names_of_sets_that_xml_writes_otherwise_return(tmp_path):
    """VTK writes them as they are, and does not read the file again."""
    mesh = named(NAMES)
    fem.write_mesh(mesh, tmp_path / "a.vtu")
    again = fem.read_mesh(tmp_path / "a.vtu")
    for kind in ("node_sets", "face_sets", "cell_sets"):
        assert set(getattr(again, kind)) == set(getattr(mesh, kind))
    with pytest.raises(
        MeshError, match=r"The name 'node.*\\x01b' has a control character, which a \.vtu file cannot hold"
    ):
        fem.write_mesh(named(["a\x01b"]), tmp_path / "b.vtu")
    assert not (tmp_path / "b.vtu").exists()


@pytest.mark.parametrize(("name", "refused"), [('a"b', True), ("a\nb", True), ("a'b", False)])
def test_names_of_sets_that_gmsh_cannot_hold_are_refused(name, refused, tmp_path):
    if not refused:
        fem.write_mesh(named([name]), tmp_path / "a.msh")
        assert "n" + name in fem.read_mesh(tmp_path / "a.msh").node_sets
        return
    said = re.escape(f"the set name {'n' + name!r} has a quotation mark or a line break")
    with pytest.raises(MeshError, match=said):
        fem.write_mesh(named([name]), tmp_path / "a.msh")


GMSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
2 1 "skin"
3 2 "body"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
2 1 0 0
$EndNodes
$Elements
2
1 2 2 1 1 1 2 3
2 4 2 2 1 1 2 3 4
$EndElements
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2 1 0 0\n$End", "2 3 0 0\n$End", "node 2 is given twice, at different places"),
        ("3 2 \"body\"", "3 2 \"body\"\n3 2 \"other\"", "the group 2 of dimension 3 has two names in .PhysicalNames, 'body' and 'other'"),
        ("$EndElements\n", "$EndElements\n$Elements\n1\n3 4 2 2 1 1 2 3 4\n$EndElements\n", "it has two sections .Elements"),
        ("$EndNodes\n", "$EndNodes\n$Nodes\n1\n2 3 0 0\n$EndNodes\n", "it has two sections .Nodes"),
    ],
)  # fmt: skip
def test_what_gmsh_files_say_twice_and_differently_is_refused(old, new, said, tmp_path):
    """One of both was taken; a node, and a name, that is given twice alike is no contradiction."""
    path = tmp_path / "part.msh"
    path.write_text(GMSH)
    mesh = fem.read_mesh(path)
    assert (mesh.kinds, mesh.cell_sets["body"].tolist(), len(mesh.face_sets["skin"])) == ({"tetra": 1}, [0], 1)
    assert GMSH.count(old) == 1
    path.write_text(GMSH.replace(old, new))
    with pytest.raises(MeshError, match=said):
        fem.read_mesh(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1 4 1 4\n3 1 0 4", "1 5 1 4\n3 1 0 4", ".Nodes states 5 entries, and its blocks have 4"),
        ("$Elements\n1 1", "$Elements\n1 2", ".Elements states 2 entries, and its blocks have 1"),
        ("1\n2\n3\n4\n", "1\n2\n3\n3\n", "node 3 is given twice, at different places"),
    ],
)
def test_gmsh_files_of_another_size_than_they_state_are_refused(old, new, said, tmp_path):
    text = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"
    text += "$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"
    path = tmp_path / "part.msh"
    path.write_text(text)
    assert fem.read_mesh(path).kinds == {"tetra": 1}
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(MeshError, match=said):
        fem.read_mesh(path)
