"""Meshes that Gmsh has divided into partitions: groups, copies of cells, and files of one partition."""

import pytest

import fem
from fem.errors import MeshError

gmsh = pytest.importorskip("gmsh")


@pytest.fixture
def partitioned():
    """Two boxes with a group each, in three partitions that also hold copies of the cells around them."""
    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.model.add("boxes")
    for x in (0.0, 2.0):
        gmsh.model.occ.addBox(x, 0, 0, 2 - x / 2, 1, 1)
    gmsh.model.occ.fragment([(3, 1)], [(3, 2)])
    gmsh.model.occ.synchronize()
    gmsh.model.addPhysicalGroup(3, [1], name="left")
    gmsh.model.addPhysicalGroup(3, [2], name="right")
    gmsh.model.addPhysicalGroup(2, [1], name="end")
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.5)
    gmsh.option.setNumber("Mesh.PartitionCreateGhostCells", 1)
    gmsh.model.mesh.generate(3)
    yield gmsh
    gmsh.finalize()


@pytest.mark.parametrize("version", [4.1, 2.2])
@pytest.mark.parametrize("binary", [0, 1])
def test_partitions_keep_the_groups_and_cells_of_a_mesh(version, binary, partitioned, tmp_path):
    path = tmp_path / "boxes.msh"
    partitioned.option.setNumber("Mesh.MshFileVersion", version)
    partitioned.option.setNumber("Mesh.Binary", binary)
    found = []
    for split in (False, True):
        if split:
            partitioned.model.mesh.partition(3)
        partitioned.write(str(path))
        mesh = fem.read_mesh(path)
        sets = {name: len(members) for s in (mesh.cell_sets, mesh.face_sets) for name, members in s.items()}
        found.append((len(mesh.points), mesh.kinds, sets))
    assert found[1] == found[0]
    assert set(found[0][2]) == {"left", "right", "end"}


@pytest.mark.parametrize("version", [4.1, 2.2])
@pytest.mark.parametrize("binary", [0, 1])
def test_a_file_of_one_partition_is_refused(version, binary, partitioned, tmp_path):
    partitioned.option.setNumber("Mesh.MshFileVersion", version)
    partitioned.option.setNumber("Mesh.Binary", binary)
    partitioned.option.setNumber("Mesh.PartitionSplitMeshFiles", 1)
    partitioned.model.mesh.partition(3)
    partitioned.write(str(tmp_path / "boxes.msh"))
    for k in (1, 2, 3):
        others = sorted({1, 2, 3} - {k})
        with pytest.raises(MeshError) as error:
            fem.read_mesh(tmp_path / f"boxes_{k}.msh")
        assert f"the cells of the partitions [{k}], and those of {others} are in other files" in str(error.value)
        assert "Mesh.PartitionSplitMeshFiles = 0" in str(error.value)
