"""Kinds of cells that meshio knows, in files that it reads: each is read or refused by name, and none is lost."""

import warnings

import meshio
import numpy as np
import pytest
from meshio._common import num_nodes_per_cell

import fem
from fem.elements import ELEMENTS, SHELLS
from fem.errors import MeshError
from fem.files.foreign.by_meshio import completed_meshio

h5py = pytest.importorskip("h5py")
CUBE, WEDGE = ELEMENTS["hexahedron20"], ELEMENTS["wedge15"]
ON_FACES = [[x, 0, 0] for x in (-1, 1)] + [[0, x, 0] for x in (-1, 1)] + [[0, 0, x] for x in (-1, 1)]
CUBE_27 = np.vstack([CUBE.coordinates, ON_FACES, [[0, 0, 0]]])
WEDGE_18 = np.vstack([WEDGE.coordinates, [[0.5, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0]]])
TRIANGLE_7 = np.vstack([SHELLS["triangle6"].coordinates, [[1 / 3, 1 / 3, 0]]])
TETRA = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def med(path, kind, points, row=None):
    """A MED file of one cell, by the layout of its format: coordinates and nodes one column after the other."""
    with h5py.File(path, "w") as file:
        mesh = file.create_group("ENS_MAA/part")
        mesh.attrs["ESP"] = mesh.attrs["DIM"] = 3
        places = mesh.create_group("0/NOE").create_dataset("COO", data=np.asarray(points, float).ravel(order="F"))
        places.attrs["NBR"] = len(points)
        rows = np.arange(len(points)) if row is None else np.asarray(row)
        mesh.create_group(f"0/MAI/{kind}").create_dataset("NOD", data=rows + 1).attrs["NBR"] = 1
        file.create_group("FAS/part")
    return path


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(
    ("name", "points", "kind", "volume"),
    [
        ("H27", CUBE_27, "hexahedron20", 8.0),
        ("P18", WEDGE_18, "wedge15", 1.0),
        ("P15", WEDGE.coordinates, "wedge15", 1.0),
    ],
)
def test_solids_of_med_files_with_nodes_on_edges_and_faces(name, points, kind, volume, mirrored, tmp_path):
    turned = [*ELEMENTS[kind].mirrored, *range(ELEMENTS[kind].nodes, len(points))] if mirrored else None
    mesh = fem.read_mesh(med(tmp_path / "part.med", name, points, turned))
    assert mesh.kinds == {kind: 1}
    assert fem.check_mesh(mesh).volume == pytest.approx(volume, rel=1e-12)
    assert (len(points) > ELEMENTS[kind].nodes) == any("without their nodes inside" in told for told in mesh.warnings)


@pytest.mark.parametrize(
    ("name", "points", "kind", "area"),
    [("QU9", SHELLS["quad9"].coordinates, "quad9", 4.0), ("TR7", TRIANGLE_7, "triangle6", 0.5)],
)
def test_shells_of_med_files_with_a_node_in_their_middle(name, points, kind, area, tmp_path):
    mesh = fem.read_mesh(med(tmp_path / "part.med", name, points), shells="all")
    assert mesh.kinds == {kind: 1}
    steel = fem.Material.steel()
    assert fem.Model(mesh, fem.Shell(steel, 0.1)).mass == pytest.approx(0.1 * area * steel.density, rel=1e-12)


@pytest.mark.parametrize(("name", "called"), [("O12", "six sides"), ("POG", "polygons"), ("POE", "polyhedra")])
def test_cells_of_med_files_that_are_no_elements_are_refused_by_name(name, called, tmp_path):
    path = med(tmp_path / "part.med", name, np.zeros((12, 3)))
    with pytest.raises(MeshError, match=rf"part\.med.* MED type {name} \(.*{called}.*Mesh the part with"):
        fem.read_mesh(path)


@pytest.mark.parametrize("kind", [k for k in num_nodes_per_cell if num_nodes_per_cell[k] <= 64])
@pytest.mark.parametrize("ending", ["med", "xdmf", "vtu", "mesh", "hmf"])
def test_every_kind_beside_a_hexahedron_is_read_told_or_refused(kind, ending, tmp_path):
    """Where the file holds it: meshio itself leaves some out as it writes, and others it does not write at all."""
    completed_meshio()
    count = num_nodes_per_cell[kind]
    own = ELEMENTS[kind].coordinates if kind in ELEMENTS else np.random.default_rng(0).random((count, 3))
    points = np.vstack([ELEMENTS["hexahedron"].coordinates, own + 5.0])
    cells = [("hexahedron", [range(8)]), (kind, [range(8, 8 + count)])]
    path = tmp_path / f"part.{ending}"
    try:
        meshio.write(path, meshio.Mesh(points, cells))
        kept = [block.type for block in meshio.read(path).cells]
    except Exception:
        pytest.skip("meshio writes no such file")
    if kind not in kept or kind == "hexahedron":
        pytest.skip("meshio leaves it out as it writes")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mesh = fem.read_mesh(path)
    told = [str(w.message) for w in told]
    if kind in ELEMENTS:
        assert mesh.kinds == {"hexahedron": 1, kind: 1}
        expected = 8.0 + fem.check_mesh(fem.Mesh(own, (fem.CellBlock(kind, np.arange(count)[None]),))).volume
        assert fem.check_mesh(mesh).volume == pytest.approx(expected, rel=1e-12)
    elif kind in ("hexahedron24", "hexahedron27", "wedge18", "pyramid14"):
        assert sum(mesh.kinds.values()) == 2
        assert any("without their nodes inside" in text for text in mesh.warnings)
    elif completed_meshio()._mesh.topological_dimension[kind] == 3:
        assert any("which are not supported" in text for text in told)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [("9 0 1 2 3 4 5 6 7 99 0", "XDMF type 99"), ("2 3 0 1 2", "a line of 3 nodes"), ("6 0 1 2", "ends within a cell")],
)
def test_mixed_cells_of_xdmf_that_are_not_read_are_named(numbers, named, tmp_path):
    points = " ".join(f"{x:g}" for x in ELEMENTS["hexahedron"].coordinates.ravel())
    (tmp_path / "part.xdmf").write_text(
        '<Xdmf Version="3.0"><Domain><Grid Name="part"><Geometry GeometryType="XYZ"><DataItem DataType="Float" '
        f'Dimensions="8 3" Format="XML" Precision="8">{points}</DataItem></Geometry><Topology TopologyType="Mixed" '
        f'NumberOfElements="2"><DataItem DataType="Int" Dimensions="{len(numbers.split())}" Format="XML" '
        f'Precision="8">{numbers}</DataItem></Topology></Grid></Domain></Xdmf>'
    )
    with pytest.raises(MeshError, match=rf"part\.xdmf.*{named}"):
        fem.read_mesh(tmp_path / "part.xdmf")


def test_biquadratic_triangles_and_hexahedra_of_vtk(tmp_path):
    """VTK's types 34 and 33: without the node in the middle, or those on four faces, what flexmb has."""
    pyvista = pytest.importorskip("pyvista")
    for code, points, kind in ((34, TRIANGLE_7, "triangle6"), (33, CUBE_27[:24], "hexahedron20")):
        count = len(points)
        pyvista.UnstructuredGrid(np.array([count, *range(count)]), np.array([code]), points).save(tmp_path / "a.vtu")
        mesh = fem.read_mesh(tmp_path / "a.vtu", shells="all" if kind == "triangle6" else None)
        assert mesh.kinds == {kind: 1}
