"""Meshes, selections and shapes that cannot be are refused by name, and their nearest neighbours are accepted."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused_beside

import fem
from fem.errors import FactorisationError, MaterialError, MatrixError, MeshError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import mkl, pardiso, superlu
from fem.mesh.constraints import Equation, MeanLink
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.structured_meshes import block, line

STEEL = fem.Material.steel()
CUBE = block("tetra", (1, 1, 1), (2, 2, 2))
NODES, CELLS = len(CUBE.points), CUBE.cell_count
TRIANGLE = ((0, 0), (1, 0), (0, 1))
EIGHT = block("hexahedron", (1, 1, 1), (1, 1, 1))


def of(points=CUBE.points, cells=CUBE.cells, **more):
    return Mesh(points, cells, name="cube", **more)


def mean(nodes, reference=0):
    return MeanLink(nodes, reference, source="the seat")


def parted():
    """Two cubes that nothing connects, one behind the other."""
    rows = EIGHT.cells[0].connectivity
    points = np.vstack([EIGHT.points, EIGHT.points + np.array([3.0, 0.0, 0.0])])
    return fem.Model(Mesh(points, (CellBlock("hexahedron", np.vstack([rows, rows + 8])),)), STEEL, "parted")


def kissing(*sides):
    """A surface of faces of two cubes that share one node."""
    second = EIGHT.points - 1
    rows = EIGHT.cells[0].connectivity
    far = np.where(rows == 7, 0, rows + 8)  # the node at (1, 1, 1) of the second cube is that at the origin
    mesh = Mesh(np.vstack([EIGHT.points, second]), (CellBlock("hexahedron", np.vstack([rows, far])),), name="kissing")
    mesh = fem.drop_unused_nodes(mesh)
    corner = int(np.flatnonzero(~mesh.points.any(axis=1))[0])
    faces = [(c, f) for c in (0, 1) for f in range(6) if corner in mesh.face_nodes(c, f)]
    level = [(c, f) for c, f in faces if not np.ptp(mesh.points[mesh.face_nodes(c, f)][:, 2])]
    return fem.Model(mesh, STEEL, "pair").with_surfaces(seat=np.array([level[k] for k in sides]))


REFUSED = {
    "an unknown kind": (
        lambda: CellBlock("tetra5", np.zeros((1, 5), dtype=int)),
        "There is no element named 'tetra5'. Did you mean 'tetra'?",
        lambda: CellBlock("tetra", np.zeros((1, 4), dtype=int)),
    ),
    "cells with a node too many": (
        lambda: CellBlock("tetra", np.zeros((2, 5), dtype=int)),
        "A block of 'tetra' needs 4 nodes a cell; its connectivity has shape (2, 5).",
        lambda: CellBlock("tetra10", np.zeros((2, 10), dtype=int)),
    ),
    "cells in a row": (
        lambda: CellBlock("tetra", np.arange(4)),
        "A block of 'tetra' needs 4 nodes a cell; its connectivity has shape (4,).",
        lambda: CellBlock("tetra", np.arange(4)[None]),
    ),
    "cells of halves": (
        lambda: CellBlock("tetra", np.arange(4)[None] / 2),
        "Node numbers of 'tetra' cells must be whole numbers, counted from 0; found values of type float64.",
        lambda: CellBlock("tetra", np.zeros((0, 4))),
    ),
    "points in a plane": (
        lambda: of(CUBE.points[:, :2]),
        f"Mesh 'cube': points must have shape (n, 3); found ({NODES}, 2).",
        of,
    ),
    "points in a row": (
        lambda: of(CUBE.points.ravel()),
        f"Mesh 'cube': points must have shape (n, 3); found ({3 * NODES},).",
        of,
    ),
    "node_ids of other nodes": (
        lambda: of(node_ids=np.arange(NODES - 1)),
        f"Mesh 'cube' has {NODES} nodes, but node_ids of shape ({NODES - 1},).",
        lambda: of(node_ids=np.arange(NODES)),
    ),
    "no block": (lambda: of(cells=()), "Mesh 'cube' has no cells.", of),
    "an empty block": (
        lambda: of(cells=(CellBlock("tetra", np.zeros((0, 4))),)),
        "Mesh 'cube' has no cells.",
        lambda: of(cells=(*CUBE.cells, CellBlock("tetra", np.zeros((0, 4))))),
    ),
    "a cell at a node too far": (
        lambda: of(cells=(CellBlock("tetra", np.array([[0, 1, 2, NODES]])),)),
        f"Mesh 'cube': a 'tetra' cell refers to node {NODES}, but nodes run from 0 to {NODES - 1}.",
        lambda: of(cells=(CellBlock("tetra", np.array([[0, 1, 2, NODES - 1]])),)),
    ),
    "a cell at a node below zero": (
        lambda: of(cells=(CellBlock("tetra", np.array([[-1, 1, 2, 3]])),)),
        "Mesh 'cube': a 'tetra' cell refers to node -1, but nodes run from 0 to",
        lambda: of(cells=(CellBlock("tetra", np.array([[0, 1, 2, 3]])),)),
    ),
    "a set with a number for a name": (
        lambda: of(node_sets={7: [0]}),
        "Mesh 'cube': node set 7: a set needs a name that is a text; found 7.",
        lambda: of(node_sets={"7": [0]}),
    ),
    "a set without a name": (
        lambda: of(cell_sets={"": [0]}),
        "Mesh 'cube': cell set '': a set needs a name that is a text; found ''.",
        lambda: of(cell_sets={" ": [0]}),
    ),
    "a set of pairs of nodes": (
        lambda: of(node_sets={"a": [[0, 1]]}),
        "Mesh 'cube': node set 'a' must have the shape (k,); found (1, 2).",
        lambda: of(node_sets={"a": [0, 1]}),
    ),
    "a set of faces in a row": (
        lambda: of(face_sets={"a": [0, 1]}),
        "Mesh 'cube': face set 'a' must have the shape (k, 2); found (2,).",
        lambda: of(face_sets={"a": [[0, 1]], "none": []}),
    ),
    "a set with a node too far": (
        lambda: of(node_sets={"a": [0, NODES]}),
        f"Mesh 'cube': node set 'a' refers to number {NODES}, but they run from 0 to {NODES - 1}.",
        lambda: of(node_sets={"a": [0, NODES - 1], "none": []}),
    ),
    "a set with a cell below zero": (
        lambda: of(cell_sets={"a": [-2, 0]}),
        f"Mesh 'cube': cell set 'a' refers to number -2, but they run from 0 to {CELLS - 1}.",
        lambda: of(cell_sets={"a": [0, CELLS - 1]}),
    ),
    "a set of faces of a cell too far": (
        lambda: of(face_sets={"a": [[CELLS, 0]]}),
        f"Mesh 'cube': face set 'a' refers to number {CELLS}, but they run from 0 to {CELLS - 1}.",
        lambda: of(face_sets={"a": [[CELLS - 1, 3]]}),
    ),
    "the block of a cell too far": (
        lambda: of().block_of(CELLS),
        f"Mesh 'cube' has {CELLS} cells; there is no cell {CELLS}.",
        lambda: of().block_of(CELLS - 1),
    ),
    "the block of a cell below zero": (
        lambda: of().block_of(-1),
        f"Mesh 'cube' has {CELLS} cells; there is no cell -1.",
        lambda: of().block_of(0),
    ),
    "a mask of other nodes": (
        lambda: of().nodes(np.ones(NODES + 1, dtype=bool)),
        f"Mesh 'cube' has {NODES} nodes; a mask of shape ({NODES + 1},) was given.",
        lambda: of().nodes(np.ones(NODES, dtype=bool)),
    ),
    "a node too far": (
        lambda: of().nodes([3, NODES]),
        f"Mesh 'cube': nodes run from 0 to {NODES - 1}; found 3 to {NODES}.",
        lambda: of().nodes([3, NODES - 1]),
    ),
    "a node below zero": (
        lambda: of().nodes([3, -1]),
        f"Mesh 'cube': nodes run from 0 to {NODES - 1}; found -1 to 3.",
        lambda: of().nodes([3, 0]),
    ),
    "a reference that follows itself": (
        lambda: mean([3, 0]),
        "the seat: the reference node 0 is among the nodes that it follows.",
        lambda: mean([3, 1]),
    ),
    "an equation of half a node": (
        lambda: Equation([0.5], [0], [1.0], "a row"),
        "a row: nodes and components must be lists of whole numbers; found [0.5].",
        lambda: Equation([0], [0], [1.0], "a row"),
    ),
    "a mean of one node": (
        lambda: mean(3),
        "the seat: nodes and components must be lists of whole numbers; found 3.",
        lambda: mean([3]),
    ),
    "a box from above": (
        lambda: fem.in_box((0, 0, 1), (1, 1, 0.5)),
        "A box selection needs low <= high in every direction; found [0. 0. 1.] and [1.  1.  0.5].",
        lambda: fem.in_box((0, 0, 1), (1, 1, 1)).nodes(CUBE),
    ),
    "more nearest nodes than there are": (
        lambda: fem.nearest((0, 0, 0), NODES + 1).nodes(of()),
        f"Mesh 'cube' has {NODES} nodes; the nearest {NODES + 1} were asked for.",
        lambda: fem.nearest((0, 0, 0), NODES).nodes(of()),
    ),
    "a block without divisions": (
        lambda: block("tetra", (1, 2, 3), (1, 1, 0)),
        "A block needs positive sizes and at least one division each way; found size (1, 2, 3), divisions (1, 1, 0).",
        lambda: block("tetra", (1, 2, 3), (1, 1, 1)),
    ),
    "a block without height": (
        lambda: block("tetra", (1, 0, 3), (1, 2, 1)),
        "A block needs positive sizes and at least one division each way; found size (1, 0, 3), divisions (1, 2, 1).",
        lambda: block("tetra", (1, 1e-9, 3), (1, 1, 1)),
    ),
    "a block of shells": (
        lambda: block("quad", (1, 1, 1), (1, 1, 1)),
        "Elements of the kind 'quad' do not say how they fill a cube.",
        lambda: block("hexahedron", (1, 1, 1), (1, 1, 1)),
    ),
    "a line without length": (
        lambda: line((0, 0, 1), (0, 0, 1), 2),
        "A line needs two different points and a division; found (0, 0, 1), (0, 0, 1), 2.",
        lambda: line((0, 0, 1), (0, 0, 1.001), 1),
    ),
    "a line without divisions": (
        lambda: line((0, 0, 1), (0, 0, 2), 0),
        "A line needs two different points and a division; found (0, 0, 1), (0, 0, 2), 0.",
        lambda: line((0, 0, 1), (0, 0, 2), 1),
    ),
    "a line in a plane": (
        lambda: line((0, 1), (0, 0, 2), 1),
        "A line needs two different points and a division; found (0, 1), (0, 0, 2), 1.",
        lambda: line((0, 1, 0), (0, 0, 2), 1),
    ),
    "a line to a plane": (
        lambda: line((0, 0, 1), (0, 2), 1),
        "A line needs two different points and a division; found (0, 0, 1), (0, 2), 1.",
        lambda: line((0, 0, 1), (0, 2, 0), 1),
    ),
    "pieces that share no node": (
        lambda: fem.split(parted(), 2),
        "Model 'parted': pieces 1 and 2 of 2 share no node.",
        lambda: fem.split(fem.Model(block("hexahedron", (2, 1, 1), (2, 1, 1)), STEEL), 2),
    ),
    "a surface whose normals cancel": (
        lambda: kissing(0, 1),
        "Surface 'seat' of 'pair': the normals of the faces at node 0 (number 0 in the file) cancel; divide the surface there.",
        lambda: kissing(0),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_its_neighbour_is_not(case, monkeypatch):
    refused, words, accepted = REFUSED[case]
    refused_beside(MeshError, words, refused, accepted, monkeypatch)


MEDIT = """MeshVersionFormatted 1
Dimension 3
Vertices
4
0 0 0 1
1 0 0 1
0 1 0 1
0 0 1 1
Tetrahedra
1
{} 1
End
"""
NODES_OF_DECK = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n"
SOLID = "5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n*ELEMENT, TYPE=C3D8, ELSET=E\n1,1,2,3,4,5,6,7,8\n"
PLATE = "*ELEMENT, TYPE=S4, ELSET=E\n1,1,2,3,4\n"
STEEL_OF_DECK = "*MATERIAL, NAME=M\n*ELASTIC\n2e11,0.3\n*DENSITY\n7800.\n"
HELD = "*BOUNDARY\n1,1,3\n2,2,3\n4,3,3\n"


def deck(folder, *texts):
    (folder / "part.inp").write_text("".join((NODES_OF_DECK, *texts)))
    return folder / "part.inp"


def plate(folder, thickness=0.1, loads=""):
    section = f"*SHELL SECTION, ELSET=E, MATERIAL=M\n{thickness}\n"
    return deck(folder, PLATE, STEEL_OF_DECK, section, HELD, f"*STEP\n*STATIC\n{loads}*END STEP\n")


def cube(folder, equation, loads):
    section = "*SOLID SECTION, ELSET=E, MATERIAL=M\n"
    return deck(folder, SOLID, STEEL_OF_DECK, section, HELD, equation, f"*STEP\n*STATIC\n{loads}*END STEP\n")


@pytest.mark.parametrize("nodes", ["1 2 3 5", "0 2 3 4"])
def test_cells_at_nodes_that_a_file_does_not_have_are_refused(nodes, tmp_path):
    (tmp_path / "part.mesh").write_text(MEDIT.format("1 2 3 4"))
    assert fem.read_mesh(tmp_path / "part.mesh").cell_count == 1
    (tmp_path / "part.mesh").write_text(MEDIT.format(nodes))
    with pytest.raises(
        MeshError, match="The mesh 'part' is damaged: cells refer to nodes that the file does not define"
    ):
        fem.read_mesh(tmp_path / "part.mesh")


def test_a_section_of_a_deck_that_cannot_be_is_told_with_its_line(tmp_path):
    fem.Model(fem.read_mesh(plate(tmp_path), ignore=["STEP", "BOUNDARY"]))
    mesh = fem.read_mesh(plate(tmp_path, -0.1), ignore=["STEP", "BOUNDARY"])
    with pytest.raises(MaterialError) as caught:
        fem.Model(mesh)
    for words in (
        "Mesh 'part': M of the file (E = 2e+11, nu = 0.3, density = 7800, thickness = -0.1, ",
        ", line 8 of part.inp, cannot be used: A shell's thickness must be positive and finite; found -0.1. Correct the",
    ):
        assert words in str(caught.value)


def test_supports_that_contradict_an_equation_are_refused(tmp_path):
    for second, refused in ((0.2, True), (0.1, False)):
        loads = f"*BOUNDARY\n7,1,1,0.1\n8,1,1,{second}\n"
        mesh, (step,) = fem.read_steps(cube(tmp_path, "*EQUATION\n2\n7,1,1.,8,1,-1.\n", loads))
        if refused:
            with pytest.raises(MeshError, match=r"Step 1 \(STEP, line \d+ of part\.inp\) of 'part': its supports and .* "
                "ask for two values of one dof"):  # fmt: skip
                fem.solve_step(fem.Model(mesh), step)
        else:
            assert fem.solve_step(fem.Model(mesh), step).displacements[[6, 7], 0] == pytest.approx([0.1, 0.1])


def test_moments_of_a_step_of_shells_do_not_act_on_solids(tmp_path):
    _, (step,) = fem.read_steps(plate(tmp_path, loads="*CLOAD\n3,4,1.\n"))
    solid, _ = fem.read_steps(cube(tmp_path, "", ""))
    with pytest.raises(MeshError, match=r"Step 1: a moment on node 2.*, which cannot turn\."):
        fem.solve_step(fem.Model(solid), step)
    _, (step,) = fem.read_steps(plate(tmp_path, loads="*CLOAD\n3,1,1.\n"))
    fem.solve_step(fem.Model(solid), step)


def test_beams_are_not_joined_to_matrices():
    solid = fem.Model(EIGHT, STEEL)
    parts = {"box": fem.Model.from_matrices(solid.M, solid.K, solid.points).with_interfaces(a=[4, 5, 6, 7])}
    beam = fem.Model(line((1, 0, 0), (2, 0, 0), 1), fem.Beam(STEEL, fem.Section.circle(0.1)))
    parts["rod"] = beam.with_interfaces(b="start")
    with pytest.raises(MatrixError) as caught:
        fem.join(parts, {"weld": ("box a", "rod b")}, "arm")
    assert str(caught.value) == (
        "Assembly 'arm': 'rod' have beams or constraints, which cannot be joined to a part made from matrices."
    )
    fem.join({**parts, "rod": solid.with_interfaces(b="x0")}, {"weld": ("box a", "rod b")})


@pytest.mark.parametrize(
    ("maps", "refused"),
    [
        ({"B": np.ones((24, 2)), "C": np.ones((3, 24))}, None),
        ({"B": np.ones((23, 2))}, "B has shape (23, 2); M has 24 rows."),
        ({"C": np.ones((24, 3))}, "C has shape (24, 3); M has 24 rows."),
    ],
)
def test_maps_of_other_rows_are_refused(maps, refused, tmp_path):
    model = fem.Model(EIGHT, STEEL)
    np.savez(tmp_path / "part.npz", M=model.M.toarray(), K=model.K.toarray(), **maps)
    if refused is None:
        fem.read_matrices(tmp_path / "part.npz")
        return
    with pytest.raises(MatrixError) as caught:
        fem.read_matrices(tmp_path / "part.npz")
    assert str(caught.value) == f"{tmp_path / 'part.npz'}: {refused}"


def test_a_deck_that_the_system_does_not_give_is_named(tmp_path, monkeypatch):
    (tmp_path / "part.inp").write_text("*NODE\n")

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(MeshError, match=r"part\.inp cannot be read: Permission denied\."):
        fem.read_mesh(tmp_path / "part.inp")


def test_failures_of_factorisations_are_told(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(superlu, "splu", full)
        with pytest.raises(FactorisationError, match=r"SuperLU ran out of memory.*install MUMPS"):
            factor(2.0 * np.eye(4), "symmetric", backend="superlu")
    if pardiso.missing() is not None:
        return
    made, solve = factor(2.0 * np.eye(4), "symmetric", backend="pardiso"), mkl.pardiso
    assert made.solve(np.ones(4)).tolist() == [0.5] * 4
    monkeypatch.setattr(mkl, "pardiso", lambda h, t, phase, *a: -4 if phase == mkl.SOLVE else solve(h, t, phase, *a))
    with pytest.raises(FactorisationError, match=f"PARDISO's solve failed: {mkl.ERRORS[-4]}"):
        made.solve(np.ones(4))


def test_triangles_of_no_size_are_refused():
    pytest.importorskip("gmsh")
    fem.drawn_section(TRIANGLE, size=0.5)
    with pytest.raises(
        MeshError, match=r"The size of the triangles of a section must be positive and finite; found 0\.0\."
    ):
        fem.drawn_section(TRIANGLE, size=0.0)
