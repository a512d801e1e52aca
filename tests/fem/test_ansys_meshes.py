"""Archives of Ansys (.cdb): nodes, elements, components, materials, shells, supports; bricks whose nodes coincide."""

import numpy as np
import pytest

import fem
from fem.errors import MeshError, MeshWarning

POINTS = "(3i9,6e21.13e3)"
CUBE = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
MATERIAL = (
    "MPDATA,R5.0, 1,EX  , 1, 1, 210000.0,\nMPDATA,R5.0, 1,NUXY, 1, 1, 0.3,\nMPDATA,R5.0, 1,DENS, 1, 1, 7.8E-09,\n"
)


def archive(folder, types, elements, points=CUBE, more="", name="part.cdb"):
    """An archive as CDWRITE makes it; elements: (type, nodes)."""
    text = "/COM,ANSYS RELEASE 2024\n/PREP7\n*SET,_NUMNODE, 8.0\nDOF,DELETE\n"
    text += "".join(f"ET,{k:9d},{routine}\n" for k, routine in types.items())
    text += f"NBLOCK,6,SOLID,{len(points):9d},{len(points):9d}\n{POINTS}\n"
    for k, x in enumerate(points, 1):
        text += f"{k:9d}{0:9d}{0:9d}" + "".join(f"{float(v):21.13E}" for v in x) + "\n"
    text += f"N,R5.3,LOC,       -1,\nEBLOCK,19,SOLID,{len(elements):9d},{len(elements):9d}\n(19i9)\n"
    for number, (kind, nodes) in enumerate(elements, 1):
        row = [1, kind, 1, 1, 0, 0, 0, 0, len(nodes), 0, number, *nodes]
        text += "".join(f"{v:9d}" for v in row[:19]) + "\n"
        text += "".join(f"{v:9d}" for v in row[19:]) + ("\n" if row[19:] else "")
    path = folder / name
    path.write_text(text + "       -1\nEN,R5.5,ATTR,       -1,\n" + more)
    return path


def test_a_block_is_that_of_another_format(tmp_path):
    """Nodes, cells, components and the matrices are those of the mesh that was written."""
    mesh = fem.structured_meshes.block("hexahedron20", (4.0, 1.0, 2.0), (2, 1, 1))
    cells = [(1, (row + 1).tolist()) for row in mesh.cells[0].connectivity]
    first = np.flatnonzero(mesh.points[:, 0] == 0) + 1
    more = f"CMBLOCK,FIXED   ,NODE,{len(first):8d}\n(8i10)\n"
    more += "".join("".join(f"{n:10d}" for n in first[k : k + 8]) + "\n" for k in range(0, len(first), 8))
    more += "CMBLOCK,BOTH,ELEM,       2\n(8i10)\n         1        -2\n" + MATERIAL
    found = fem.read_mesh(archive(tmp_path, {1: 186}, cells, mesh.points, more))
    np.testing.assert_allclose(found.points, mesh.points, atol=1e-12)
    assert np.array_equal(found.cells[0].connectivity, mesh.cells[0].connectivity)
    assert np.array_equal(found.nodes("FIXED"), first - 1)
    assert found.cell_sets["BOTH"].tolist() == [0, 1]
    assert fem.Model(found).mass == pytest.approx(8 * 7.8e-9)
    expected = fem.Model(mesh, fem.Material.isotropic(210000.0, 0.3, density=7.8e-9)).K
    assert abs(fem.Model(found).K - expected).max() < 1e-9 * abs(expected).max()


@pytest.mark.parametrize(
    ("nodes", "kind", "volume"),
    [
        ((1, 2, 3, 4, 5, 6, 7, 8), "hexahedron", 1.0),
        ((1, 2, 3, 3, 5, 6, 7, 7), "wedge", 1 / 2),
        ((1, 2, 3, 4, 5, 5, 5, 5), "pyramid", 1 / 3),
        ((1, 2, 3, 3, 5, 5, 5, 5), "tetra", 1 / 6),
    ],
)
def test_bricks_whose_nodes_coincide(nodes, kind, volume, tmp_path):
    """Linear ones, and quadratic ones without nodes on some edges, which stay straight."""
    mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [(1, nodes)], more=MATERIAL))
    assert mesh.kinds == {kind: 1}
    assert fem.Model(mesh).mass == pytest.approx(volume * 7.8e-9)
    edge = [*nodes, 9, *[0] * 11]  # the first edge only has a node
    mesh = fem.read_mesh(archive(tmp_path, {1: 186}, [(1, edge)], [*CUBE, (0.5, 0.0, 0.0)], MATERIAL))
    model = fem.Model(mesh)
    assert model.mass == pytest.approx(volume * 7.8e-9)
    assert model.ndof == 3 * (len(set(nodes)) + 1)
    assert "stay straight" in mesh.warnings[0]


def test_shells_and_supports(tmp_path):
    points = [*CUBE[:4], (2, 0, 0), (2, 1, 0)]
    elements = [(1, (1, 2, 3, 4)), (1, (2, 5, 6, 6))]
    more = "SECTYPE,1,SHELL\nSECDATA,0.1,1\nD,1,ALL,0.0\nD,4,UX,0.0\nD,2,UX,0.5\n" + MATERIAL
    path = archive(tmp_path, {1: 181}, elements, points, more)
    with pytest.warns(MeshWarning, match=r"D, line \d+ of part.cdb"):
        mesh = fem.read_mesh(path, supports="keep")
    assert mesh.kinds == {"quad": 1, "triangle": 1}
    assert len(mesh.constraints) == 7  # six dofs, and one
    assert fem.Model(fem.read_mesh(path, ignore=["D"])).mass == pytest.approx(1.5 * 0.1 * 7.8e-9)
    path.write_text(path.read_text().replace("SECDATA,0.1,1\n", "SECDATA,0.1,1\nSECDATA,0.1,1\n"))
    with pytest.warns(MeshWarning, match="2 shells have no thickness that is read: one layer"):
        fem.read_mesh(path, ignore=["D"])


def test_quadratic_shells_whose_third_side_is_a_point_are_triangles(tmp_path):
    """The node in the middle of the collapsed side is that of the corner."""
    points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0.5, 0, 0), (1, 0.5, 0), (0.5, 0.5, 0)]
    more = "SECTYPE,1,SHELL\nSECDATA,0.1,1\n" + MATERIAL
    mesh = fem.read_mesh(archive(tmp_path, {1: 281}, [(1, (1, 2, 3, 3, 4, 5, 3, 6))], points, more))
    assert mesh.kinds == {"triangle6": 1}
    assert mesh.cells[0].connectivity.tolist() == [[0, 1, 2, 3, 4, 5]]


def test_a_support_of_all_dofs_clamps_shells(tmp_path):
    """ALL holds rotations too, as six labels do; at solids, which have none, it holds the translations."""
    labels = ("ALL",), ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")
    more = ["".join(f"D,{n},{label},0.0,0.0\n" for n in (1, 4) for label in some) for some in labels]
    shells = [
        fem.read_mesh(
            archive(tmp_path, {1: 181}, [(1, (1, 2, 3, 4))], CUBE[:4], f"SECTYPE,1,SHELL\nSECDATA,0.1,1\n{text}"),
            supports="keep",
        )
        for text in more
    ]
    solids = [
        fem.read_mesh(archive(tmp_path, {1: 185}, [(1, range(1, 9))], more=text), supports="keep") for text in more
    ]
    held = [[(int(c.nodes[0]), int(c.components[0])) for c in mesh.constraints] for mesh in shells + solids]
    assert held == 2 * [[(n, k) for n in (0, 3) for k in range(6)]] + 2 * [[(n, k) for n in (0, 3) for k in range(3)]]


@pytest.mark.parametrize("more", ["D,1,ALL,0.0,,8,1\n", "D,1,UX,0.0,,,,UY,UZ\n"])
def test_a_support_of_several_nodes_or_labels_is_named(more, tmp_path):
    """A range of nodes, or further labels, which CDWRITE never writes, is no support of the first alone."""
    path = archive(tmp_path, {1: 185}, [(1, range(1, 9))], more=more)
    with pytest.warns(MeshWarning, match=r"D, line \d+ of part.cdb"):
        mesh = fem.read_mesh(path, supports="keep")
    assert not mesh.constraints


def test_thicknesses_of_real_constants(tmp_path):
    """Those of the corners, which are one, by R and by a block whose first set goes on in a second line."""
    shell = [(1, (1, 2, 3, 4))]
    numbers = "".join(f"{x:16.9G}" for x in (0.3, 0.3, 0.3, 0.3, 0.0, 0.0))
    block = f"RLBLOCK,2,2,8,7\n(2i8,6g16.9)\n(7g16.9)\n{2:8d}{8:8d}{numbers}\n{5.0:16.9G}{6.0:16.9G}\n"
    for more in ("R,1,0.1,0.1,0.1,0.1\n", f"{block}{1:8d}{1:8d}{0.1:16.9G}\n"):
        mesh = fem.read_mesh(archive(tmp_path, {1: 63}, shell, CUBE[:4], more + MATERIAL))
        assert fem.Model(mesh).mass == pytest.approx(0.1 * 7.8e-9)
    with pytest.warns(MeshWarning, match="1 shells have no thickness that is read"):
        fem.read_mesh(archive(tmp_path, {1: 63}, shell, CUBE[:4], "R,1,0.1,0.1,0.2,0.2\n" + MATERIAL))


def test_a_support_in_the_axes_of_a_node_is_named(tmp_path):
    """All dofs of a node are the same in any axes."""
    path = archive(tmp_path, {1: 185}, [(1, range(1, 9))], more="D,1,UX,0.0\nD,2,UX,0.0\n")
    first = f"{1:9d}{0:9d}{0:9d}" + 3 * f"{0.0:21.13E}"
    path.write_text(path.read_text().replace(first, first + f"{30.0:21.13E}"))
    with pytest.warns(MeshWarning, match=r"D, line \d+ of part.cdb"):
        mesh = fem.read_mesh(path, supports="keep")
    assert [c.nodes.tolist() for c in mesh.constraints] == [[1]]
    path.write_text(path.read_text().replace("D,1,UX", "D,1,ALL"))
    assert [c.nodes.tolist() for c in fem.read_mesh(path, supports="keep").constraints] == 3 * [[0]] + [[1]]


SHELL = "SECTYPE,1,SHELL\nSECOFFSET,MID\nSECBLOCK,1\n 0.1, 1, 0.0, 3\nSECCONTROL,0.0,0.0,0.0,0.0\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("SECCONTROL,0.0,0.0,0.0,0.0", "SECCONTROL,0.0,0.0,0.0,100.0", "SECCONTROL, line"),
        ("SECOFFSET,MID", "SECOFFSET,TOP", "SECOFFSET, line"),
        (f"ET,{1:9d},181", f"ET,{1:9d},181,1", "ET, line"),
        (f"ET,{1:9d},181", f"ET,{1:9d},181\nKEYOP,1,1,1", "KEYOP, line"),
        (f"ET,{1:9d},181", f"ETBLOCK,1,1\n(2i9,19a9)\n{1:9d}{181:9d}{1:9d}\n{-1:9d}", "ETBLOCK, line"),
        (SHELL, "R,1,0.1,0.1,0.1,0.1,1e9\n", "R, line"),
        (SHELL, "R,1,0.1\nRMORE,0.0,0.0,0.0,55.0\n", "R, line .* more than a thickness"),
        (SHELL, SHELL + "NROTAT,1\n", "NROTAT, line"),
        (SHELL, SHELL + "EDELE,1\n", "EDELE, line"),
        (SHELL, SHELL + "D,1,UX,0.0,5.0\n", "D, line"),
    ],
)
def test_what_changes_a_shell_is_named(old, new, told, tmp_path):
    """Added mass, an offset, membranes, foundations, axes and elements that later commands change."""
    path = archive(tmp_path, {1: 181}, [(1, (1, 2, 3, 4))], CUBE[:4], SHELL + MATERIAL)
    plain = fem.read_mesh(path)  # without a warning
    assert fem.Model(plain).mass == pytest.approx(0.1 * 7.8e-9)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.warns(MeshWarning, match=told):
        fem.read_mesh(path, supports="keep")


@pytest.mark.parametrize("block", ["SECBLOCK,1\n 0.1, {}, 0.0, 3\n", "SECDATA,0.1,{},0.0,3\n", "SECDATA,0.1,{}\n"])
def test_the_material_of_a_layer_takes_the_place_of_that_of_its_element(block, tmp_path):
    other = "MP,EX,2,70000.0\nMP,PRXY,2,0.3\nMP,DENS,2,2.7E-09\n"
    for number, density in (("2", 2.7e-9), ("1", 7.8e-9), ("", 7.8e-9), ("0", 7.8e-9)):
        more = "SECTYPE,1,SHELL\n" + block.format(number) + MATERIAL + other
        mesh = fem.read_mesh(archive(tmp_path, {1: 181}, [(1, (1, 2, 3, 4))], CUBE[:4], more))
        assert fem.Model(mesh).mass == pytest.approx(0.1 * density)


def test_nodes_in_a_block_without_solid_model(tmp_path):
    """Their coordinates follow their numbers at once; all were zero."""
    path = archive(tmp_path, {1: 185}, [(1, range(1, 9))], more=MATERIAL)
    text = path.read_text().replace("NBLOCK,6,SOLID", "NBLOCK,6").replace(POINTS, "(1i9,6e21.13e3)")
    for number in range(1, 9):
        text = text.replace(f"\n{number:9d}{0:9d}{0:9d} ", f"\n{number:9d} ")
    path.write_text(text)
    np.testing.assert_array_equal(fem.read_mesh(path).points, CUBE)
    first = f"\n{1:9d}" + 3 * f"{0.0:21.13E}"
    path.write_text(text.replace(first, first + f"{30.0:21.13E}") + "D,1,UX,0.0\n")
    with pytest.warns(MeshWarning, match=r"D, line \d+ of part.cdb"):
        fem.read_mesh(path, supports="keep")


@pytest.mark.parametrize("shear", [8.0e4, 8.1e4])
def test_a_shear_modulus_of_its_own_is_refused(shear, tmp_path):
    """Ansys takes GXY in place of that of EX and Poisson's ratio, 80769."""
    more = MATERIAL + f"MP,GXY,1,{shear}\n"
    mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [(1, range(1, 9))], more=more))
    assert fem.Model(mesh).mass == pytest.approx(7.8e-9)
    with pytest.raises(fem.MaterialError, match="has a shear modulus GXY that is not that of EX"):
        fem.Model(fem.read_mesh(archive(tmp_path, {1: 185}, [(1, range(1, 9))], more=MATERIAL + "MP,GXY,1,5e4\n")))


def test_elements_share_the_nodes_that_are_added_on_their_edges(tmp_path):
    """Two cubes upon each other, the upper one upside down: twenty edges, of which two have nodes of their own."""
    points = [*CUBE, *((x, y, 2) for x, y, _ in CUBE[:4]), (0.5, 0, 0), (0, 0.5, 2)]
    cubes = [[*range(1, 9), 13], [9, 12, 11, 10, 5, 8, 7, 6, 14]]
    mesh = fem.read_mesh(archive(tmp_path, {1: 186}, [(1, [*cube, *[0] * 11]) for cube in cubes], points, MATERIAL))
    assert len(mesh.points) == 12 + 20
    assert mesh.warnings[0].startswith("18 edges")
    model = fem.Model(mesh)
    assert model.mass == pytest.approx(2 * 7.8e-9)
    assert abs(model.K @ model.rigid_body_modes()).max() < 1e-9 * abs(model.K).max()


def test_what_is_not_read_is_named(tmp_path):
    brick = (1, (1, 2, 3, 4, 5, 6, 7, 8))
    path = archive(
        tmp_path, {1: 185, 2: 188, 3: 154}, [brick, (2, (1, 2)), (3, (1, 2, 3, 4))], more="CE,R5.0,DEFI, 1\n"
    )
    with pytest.warns(
        MeshWarning, match=r"1 elements of type 154.*1 elements of type 188, which is no solid.*CE, line \d+"
    ):
        mesh = fem.read_mesh(path)
    assert sorted(u.keyword for u in mesh.unread) == ["CE", "EBLOCK"]
    with pytest.raises(
        MeshError, match=r"part.cdb, line \d+: E cannot be read: nodes and elements are read from blocks"
    ):
        fem.read_mesh(archive(tmp_path, {1: 185}, [brick], more="E,1,2,3,4\n"))
    with pytest.raises(MeshError, match="has no ET"):
        fem.read_mesh(archive(tmp_path, {2: 185}, [brick]))
    with pytest.raises(MeshError, match="refer to 1 nodes that it does not define"):
        fem.read_mesh(archive(tmp_path, {1: 185}, [(1, (1, 2, 3, 4, 5, 6, 7, 9))]))
    hot = MATERIAL.replace("210000.0,", "210000.0, 200000.0,")
    mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [brick], more=hot))
    with pytest.raises(fem.MaterialError, match="constants that depend on temperature"):
        fem.Model(mesh)
    sloping = "MP,EX,1,210000.0,-60.0\nMP,NUXY,1,0.3,0.0\nMP,DENS,1,7.8E-09\n"
    mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [brick], more=sloping))
    with pytest.raises(fem.MaterialError, match="constants that depend on temperature"):
        fem.Model(mesh)
    mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [brick], more=sloping.replace("-60.0", "0.0")))
    assert fem.Model(mesh).mass == pytest.approx(7.8e-9)


def test_a_format_of_a_billion_fields_is_refused(tmp_path):
    path = archive(tmp_path, {1: 185}, [(1, (1, 2, 3, 4, 5, 6, 7, 8))])
    path.write_text(path.read_text().replace(POINTS, "(999999999i9,6e21.13e3)"))
    with pytest.raises(MeshError, match=r"part.cdb, line \d+: .*more than 1000 fields in a line"):
        fem.read_mesh(path)


def test_a_component_of_a_billion_members_is_refused(tmp_path):
    more = "CMBLOCK,SOME,NODE,2\n(8i10)\n         1  -6000000\nCMBLOCK,MORE,NODE,2\n(8i10)\n         1-{}\n"
    brick = (1, (1, 2, 3, 4, 5, 6, 7, 8))
    for last in (6000000, 2000000000):
        path = archive(tmp_path, {1: 185}, [brick], more=more.format(last) + MATERIAL)
        with pytest.raises(MeshError, match=r"part.cdb, line \d+: .*components have more than 10000000 members"):
            fem.read_mesh(path)


def test_blocks_of_elements_that_cannot_be_are_named(tmp_path):
    """Without the option SOLID the fields of a line have another meaning; a line has eleven numbers before its nodes."""
    whole = archive(tmp_path, {1: 185}, [(1, range(1, 9))]).read_text()
    head, row = "EBLOCK,19,SOLID,", whole[whole.index("(19i9)\n") + 7 :].splitlines()[0]
    short = row[: 11 * 9]
    for old, new, said in (
        (head, "EBLOCK,19,,", "blocks with the option SOLID are read"),
        (head + f"{1:9d},{1:9d}", "EBLOCK,19", "blocks with the option SOLID are read"),
        (row, short, f"an element needs eleven numbers and its nodes; found {short.strip()!r}"),
        (row, row[: 12 * 9], "a whole number is needed, found 'EN,R5.5,A' in 'EN,R5.5,ATTR,       -1,'"),
        (row, row[: 12 * 9] + "\n" + row[12 * 9 :], ""),
    ):
        assert whole.count(old) == 1
        (tmp_path / "other.cdb").write_text(whole.replace(old, new))
        if not said:
            assert fem.read_mesh(tmp_path / "other.cdb").kinds == {"hexahedron": 1}
            continue
        with pytest.raises(MeshError) as error:
            fem.read_mesh(tmp_path / "other.cdb")
        assert str(error.value) == f"other.cdb, line 17: EBLOCK cannot be read: {said}."


BRICK = (1, (1, 2, 3, 4, 5, 6, 7, 8))


def test_what_is_defined_again_replaces_the_first_definition(tmp_path):
    """As N, EN, CM and R of Ansys say. An element given twice was two elements, and none of it was noted."""
    path = archive(tmp_path, {1: 185}, [BRICK], more=MATERIAL)
    text = path.read_text()
    block = text[text.index("EBLOCK") : text.index("EN,R5.5")]
    nodes = text[text.index("NBLOCK") : text.index("N,R5.3")]
    component = "CMBLOCK,FIXED,NODE,       2\n(8i10)\n         1         2\n"
    path.write_text(text + nodes + "N,R5.3,LOC,       -1,\n" + block + 2 * component)
    mesh = fem.read_mesh(path)
    assert (fem.Model(mesh).mass, mesh.warnings) == (pytest.approx(7.8e-9), ())
    far = nodes.replace("  1.0000000000000E+00\n", "  2.0000000000000E+00\n")  # twice the height
    low = block.replace("        5        6        7        8\n", "        5        5        5        5\n")
    again = far + "N,R5.3,LOC,       -1,\n" + low + component.replace("         2\n", "         5\n")
    path.write_text(text + component + again)
    with pytest.warns(MeshWarning, match="lost in reading: 4 nodes are defined again and differently"):
        mesh = fem.read_mesh(path)
    assert mesh.kinds == {"pyramid": 1}
    assert fem.Model(mesh).mass == pytest.approx(7.8e-9 * 2 / 3)
    assert mesh.nodes("FIXED").tolist() == [0, 4]
    noted = [note.split(": ")[1] for note in mesh.warnings if "defined again and differently" in note]
    assert [" ".join(note.split()[:2]) for note in noted] == ["4 nodes", "1 elements", "1 components"]


def test_a_constant_that_is_given_again_replaces_the_first(tmp_path):
    """MP and MPDATA at the same place of the table of temperatures, as Ansys says."""
    for more in ("MP,DENS,1,2.6E-09\n", "MPDATA,R5.0, 1,DENS, 1, 1, 2.6E-09,\n"):
        with pytest.warns(MeshWarning, match="1 constants of materials are defined again and differently .DENS of 1"):
            mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=MATERIAL + more))
        assert fem.Model(mesh).mass == pytest.approx(2.6e-9)
    hot = MATERIAL + "MPDATA,R5.0, 1,EX  , 1, 2, 200000.0,\n"
    with pytest.raises(fem.MaterialError, match="constants that depend on temperature"):
        fem.Model(fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=hot)))


def test_nodes_of_edges_and_components_that_are_not_defined_are_named(tmp_path):
    """A corner that is missing at an edge without a node ended in a KeyError of Python."""
    edge = [1, 2, 3, 4, 5, 6, 7, 99, 9, *[0] * 11]
    with pytest.raises(MeshError, match=r"part\.cdb.*node 99, which it does not define"):
        fem.read_mesh(archive(tmp_path, {1: 186}, [(1, edge)], [*CUBE, (0.5, 0.0, 0.0)], MATERIAL))
    for kind, known, told in (("NODE", 8, "7 nodes"), ("ELEM", 1, "14 elements")):
        more = f"CMBLOCK,SOME,{kind},       2\n(8i10)\n         1       -15\n" + MATERIAL
        with pytest.warns(MeshWarning, match=f"component SOME has {told} that are not defined .first: {known + 1}"):
            fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=more))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("MPDELE,ALL,1\n", "MPDELE, line"),
        ("*IF,1,EQ,2,THEN\nTIME,1\n*ENDIF\n", r"\*IF, line"),
        ("*IF,_CDRDOFF,EQ,1,THEN\n_CDRDOFF=\n*ELSE\nNUMOFF,NODE, 8\n*ENDIF\n", ""),  # as CDWRITE begins
        ("D,99,UX,0.0\n", r"D,99,UX,0.0 \(there is no node 99\)"),
        ("CMBLOCK,Fix,NODE,1\n(8i10)\n         1\nCMBLOCK,FIX,NODE,1\n(8i10)\n         2\n", "1 components are defined again"),
    ],
)  # fmt: skip
def test_commands_that_change_a_part_are_named(more, told, tmp_path):
    """They were passed over, and two spellings of a component, which are one to Ansys, were two sets."""
    path = archive(tmp_path, {1: 185}, [BRICK], more=MATERIAL + more)
    if not told:
        assert fem.read_mesh(path).warnings == ()
        return
    with pytest.warns(MeshWarning, match=told):
        fem.read_mesh(path, supports="keep")


@pytest.mark.parametrize(("last", "said"), [("-3", "ends at 3, after 5"), ("-5", "ends at 5, after 5")])
def test_ranges_of_components_that_do_not_rise_are_refused(last, said, tmp_path):
    more = f"CMBLOCK,A,NODE,2\n(8i10)\n         5{last:>10}\n"
    with pytest.raises(MeshError, match=f"CMBLOCK cannot be read: a range of a component {said}"):
        fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=more))
    alone = "CMBLOCK,A,NODE,1\n(8i10)\n        -3\n"
    with pytest.raises(MeshError, match="a range of a component ends at 3, after no number"):
        fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=alone))


def test_blocks_of_another_length_than_they_announce_are_named(tmp_path):
    path = archive(tmp_path, {1: 185}, [BRICK])
    text = path.read_text()
    for old, new, told in (
        (f"SOLID,{8:9d},{8:9d}", f"SOLID,{9:9d},{9:9d}", "announces 9 nodes, and 8 follow"),
        (f"SOLID,{1:9d},{1:9d}", f"SOLID,{2:9d},{2:9d}", "announces 2 elements, and 1 follow"),
        (f"SOLID,{8:9d},{8:9d}", f"SOLID,{9:9d},{8:9d}", ""),  # the largest number, which no node need have
    ):
        path.write_text(text.replace(old, new))
        if not told:
            assert fem.read_mesh(path).warnings == ()
            continue
        with pytest.warns(MeshWarning, match=told):
            fem.read_mesh(path)


def test_two_ratios_of_poisson_that_differ_are_refused(tmp_path):
    for ratio, refused in ((0.3, False), (0.2, True)):
        more = MATERIAL + f"MP,PRXY,1,{ratio}\n"
        mesh = fem.read_mesh(archive(tmp_path, {1: 185}, [BRICK], more=more))
        if refused:
            with pytest.raises(fem.MaterialError, match="has PRXY and NUXY that differ"):
                fem.Model(mesh)
        else:
            assert fem.Model(mesh).mass == pytest.approx(7.8e-9)
