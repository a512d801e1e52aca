"""Messages of parts of files name nodes by their numbers in the file."""

from dataclasses import replace

import numpy as np
import pytest

import fem
import reduction
from fem.mesh.structured_meshes import block

STEEL = fem.Material.steel()


def test_pieces_that_nothing_connects(tmp_path):
    box = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    points = np.vstack([box.points, box.points + np.array([2.0, 0.0, 0.0])])
    cells = np.vstack([box.cells[0].connectivity, 8 + box.cells[0].connectivity])
    mesh = fem.Mesh(points, (fem.CellBlock("hexahedron", cells),), name="halves", node_ids=100 + np.arange(16))
    part = fem.Model(mesh, STEEL).with_interfaces(root=[0, 1, 2, 3])
    with pytest.raises(fem.MatrixError, match=r"node 8 \(number 108 in the file\)"):
        reduction.craig_bampton(part, 2)


def test_hinges_of_a_reduction():
    """A second cube that hangs on an edge of the first: the node is one that turns about it, whatever is held."""
    box = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    own = box.cells[0].connectivity[0]
    other = np.where(np.isclose(box.points[own][:, 0], 0) & np.isclose(box.points[own][:, 2], 0), -1, 0)
    beside = box.points[own] + [1.0, 0, 1.0]
    numbers, points = [], list(box.points)
    for x in beside:
        near = np.flatnonzero(np.linalg.norm(box.points - x, axis=1) < 1e-9)
        numbers.append(int(near[0]) if len(near) else len(points))
        if not len(near):
            points.append(x)
    assert len(points) == 14
    assert (other == -1).sum() == 2
    mesh = replace(
        box,
        points=np.array(points),
        cells=(fem.CellBlock("hexahedron", np.array([own, numbers])),),
        node_ids=500 + np.arange(14),
        node_sets={},
        face_sets={},
        cell_sets={},
    )
    part = fem.Model(mesh, STEEL).with_interfaces(root=np.flatnonzero(np.isclose(mesh.points[:, 0], 0)))
    with pytest.raises(
        fem.FactorisationError, match=r"defect shows at node \d+ \(number 5\d\d in the file\), at \("
    ) as told:
        reduction.craig_bampton(part, 2)
    assert "equation" not in str(told.value).split("Likely")[0]
