"""Solids of Nastran that leave out nodes on some of their edges."""

import numpy as np
import pytest
from test_nastran import MAT, grids, read, values

import fem
from fem.elements import ELEMENTS
from fem.errors import MeshError

CARDS = {"tetra10": "CTETRA", "pyramid13": "CPYRAM", "wedge15": "CPENTA", "hexahedron20": "CHEXA"}


def solid(folder, kind, without, **options):
    """One cell of the kind, its corners displaced, without some of its mid nodes (numbers of edges)."""
    shape = ELEMENTS[kind]
    points = shape.coordinates + 0.0
    points[: shape.corners] += 0.1 * np.sin(np.arange(3 * shape.corners)).reshape(-1, 3)
    for a, b, middle in shape.edges:
        points[middle] = (points[a] + points[b]) / 2
    lost = {shape.edges[k][2] for k in without}
    order = np.argsort(shape.nastran_order or range(shape.nodes)).tolist()  # the node at each place of the card
    own = ["" if n in lost else str(n + 1) for n in order]
    words = [CARDS[kind], "1", "1", *own]
    rows = [words[:9], *(["", *words[k : k + 8]] for k in range(9, len(words), 8))]
    text = "".join(",".join(row) + "\n" for row in rows)
    mesh = read(folder, grids(points) + text + "PSOLID,1,1\n" + MAT, loud=False, **options)
    return mesh, lost


@pytest.mark.parametrize("kind", CARDS)
def test_nodes_left_out_on_edges_follow_these(kind, tmp_path):
    """The cell is the quadratic one whose lost nodes move with the means of the ends of their edges."""
    shape = ELEMENTS[kind]
    mesh, lost = solid(tmp_path, kind, [0, 2, len(shape.edges) - 1])
    whole, _ = solid(tmp_path, kind, [])
    model, full = fem.Model(mesh), fem.Model(whole)
    assert model.unread == ()
    assert any("3 nodes that solids leave out on their edges follow" in text for text in mesh.warnings)
    kept = [n for n in range(shape.nodes) if n not in lost]
    T = np.zeros((shape.nodes, len(kept)))
    T[kept, range(len(kept))] = 1.0
    for a, b, middle in shape.edges:
        if middle in lost:
            T[middle, [kept.index(a), kept.index(b)]] = 0.5
    T = np.kron(T, np.eye(3))
    for ours, theirs in ((model.K, full.K), (model.M, full.M)):
        expected = np.linalg.eigvalsh(T.T @ theirs.toarray() @ T)
        np.testing.assert_allclose(np.linalg.eigvalsh(ours.toarray()), expected, atol=1e-9 * expected[-1])


def test_solids_of_corners_and_of_every_edge(tmp_path):
    """Without all nodes on edges the linear cell; too few corners and too many nodes are refused."""
    linear, _ = solid(tmp_path, "hexahedron20", range(12))
    assert linear.kinds == {"hexahedron": 1}
    assert len(values(fem.Model(linear))) == 24
    bare = grids(ELEMENTS["hexahedron"].coordinates) + "PSOLID,1,1\n" + MAT
    for nodes, found in (("1,2,3,4,5,6,+\n+,7", 7), ("1,2,3,4,5,6,+\n+,7,8,,,,,,,+\n+,,,,,,,1", 21)):
        with pytest.raises(MeshError, match=f"a CHEXA has 8 to 20 nodes; found {found}"):
            read(tmp_path, f"{bare}CHEXA,1,1,{nodes}\n")
