"""The skin as triangles: closed, of the right volume, split where it is sharp and only there."""

import numpy as np
import pytest

import fem
from fem.mesh.skin import skin_triangles, split_at_sharp_edges

KINDS = ("tetra", "tetra10", "hexahedron", "hexahedron20", "wedge", "pyramid")


@pytest.mark.parametrize("kind", KINDS)
def test_the_skin_of_a_box_encloses_its_volume(kind):
    """By the divergence theorem, which outward normals and closed surfaces obey."""
    mesh = fem.structured_meshes.block(kind, (2.0, 1.0, 0.5), (4, 2, 1))
    a, b, c = (mesh.points[skin_triangles(mesh)[:, k]] for k in range(3))
    assert np.einsum("tk,tk->", a, np.cross(b, c)) / 6 == pytest.approx(1.0, rel=1e-12)


def test_a_corner_of_a_box_has_three_vertices_and_an_edge_two():
    mesh = fem.structured_meshes.block("hexahedron", (2.0, 1.0, 0.5), (4, 2, 1))
    triangles, node = split_at_sharp_edges(mesh.points, skin_triangles(mesh))
    np.testing.assert_array_equal(node[triangles], skin_triangles(mesh))
    sides = sum(
        (np.abs(mesh.points[:, k] - end) < 1e-9).astype(int)
        for k in range(3)
        for end in (mesh.points[:, k].min(), mesh.points[:, k].max())
    )
    np.testing.assert_array_equal(np.bincount(node, minlength=len(sides)), sides)


def test_a_round_surface_is_not_split():
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.vstack([np.column_stack([ring, np.full(24, z)]) for z in (0.0, 1.0)])
    k, following = np.arange(24), (np.arange(24) + 1) % 24
    tube = np.vstack([np.column_stack([k, following, following + 24]), np.column_stack([k, following + 24, k + 24])])
    _, node = split_at_sharp_edges(points, tube)
    assert len(node) == 48
