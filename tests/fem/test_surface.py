"""Surfaces where bodies touch: areas, normals and curvatures against those of a cylinder and of a box, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

import fem
from fem.mesh.structured_meshes import block, tube

STEEL = fem.Material.steel()
KINDS = ("tetra", "tetra10", "hexahedron", "hexahedron20", "wedge15", "pyramid13")


def pipe(kind, around):
    return fem.Model(tube(kind, (0.04, 0.05), 0.1, (1, around, 2)), STEEL)


@pytest.mark.parametrize(("kind", "order"), [("hexahedron", 2), ("tetra", 2), ("hexahedron20", 2), ("tetra10", 2)])
def test_area_normals_and_curvature_converge_to_those_of_a_cylinder(kind, order):
    """The outside is convex, the bore concave; errors fall with the square of the spacing at least."""
    errors = []
    for around in (16, 32):
        part = pipe(kind, around).with_surfaces(outside="outer", bore="inner")
        for name, radius, sign in (("outside", 0.05, 1.0), ("bore", 0.04, -1.0)):
            s = part.surfaces[name]
            radial = s.points * [1, 1, 0] / np.linalg.norm(s.points[:, :2], axis=1)[:, None]
            errors.append(
                [
                    abs(s.area / (2 * np.pi * radius * 0.1) - 1),
                    np.linalg.norm(s.normals - sign * radial, axis=1).max(),
                    np.abs(s.curvatures[:, 0] * radius - sign).max(),
                    np.abs(s.curvatures[:, 1] * radius).max(),
                ]
            )
            assert not s.sharp.any()
    coarse, fine = np.array(errors[:2]).max(axis=0), np.array(errors[2:]).max(axis=0)
    assert (fine < 0.03).all()
    assert (np.log2(coarse / np.maximum(fine, 1e-10))[coarse > 1e-6] > order - 0.3).all()


@pytest.mark.parametrize("wide", [1, 3])
@pytest.mark.parametrize("kind", ["hexahedron", "tetra"])
def test_normals_are_exact_on_arcs_with_ends_and_unequal_faces(kind, wide):
    """An arc of 1.5 rad with faces of 0.12 to 0.22 rad, one or three of them wide: at its ends, where faces are on one
    side alone, normals are exact to the third power of half the angle of a face, elsewhere to round-off."""
    mesh = block(kind, (1.0, 1.0, 1.0), (8, wide, 2))
    angle, radius = 1.5 * mesh.points[:, 0] ** 1.2, 1.0 + mesh.points[:, 2]
    points = np.column_stack([radius * np.sin(angle), radius * np.cos(angle), -mesh.points[:, 1]])
    part = fem.Model(replace(mesh, points=points), STEEL).with_surfaces(outside="z1")
    s = part.surfaces["outside"]
    radial = s.points * [0.5, 0.5, 0]
    error, end = (
        np.linalg.norm(s.normals - radial, axis=1),
        np.isin(s.nodes, np.union1d(part.mesh.nodes("x0"), part.mesh.nodes("x1"))),
    )
    assert error[~end].max() < 1e-12
    assert 0 < end.sum() < len(end)
    assert error.max() < 0.5 * 0.12**3
    np.testing.assert_allclose(s.curvatures, [[0.5, 0.0]] * len(s.nodes), atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_is_flat_and_sharp_at_its_edges(kind):
    part = fem.Model(block(kind, (0.3, 0.2, 0.1), (3, 2, 1)), STEEL)
    top = part.with_surfaces(top="z1").surfaces["top"]
    assert top.area == pytest.approx(0.06, rel=1e-12)
    assert (top.areas > 0).all()
    np.testing.assert_allclose(top.normals, [[0, 0, 1]] * len(top.nodes), atol=1e-10)
    assert np.abs(top.curvatures).max() < 1e-8
    assert not top.sharp.any()
    np.testing.assert_array_equal(part.mesh.nodes("z1"), top.nodes)
    a, b, c = (top.points[top.triangles[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    assert np.cross(b - a, c - a)[:, 2].sum() / 2 == pytest.approx(0.06, rel=1e-12)
    both = np.vstack([part.mesh.face_sets["z1"], part.mesh.face_sets["x1"]])
    corner = part.with_surfaces(corner=both).surfaces["corner"]
    edge = (np.abs(corner.points - [0.3, 0, 0.1])[:, [0, 2]] < 1e-9).all(axis=1)
    np.testing.assert_array_equal(corner.sharp, edge)
    assert np.abs(corner.curvatures).max() < 1e-8


@pytest.mark.parametrize("kind", ["tetra", "hexahedron", "hexahedron20"])
@pytest.mark.parametrize("degrees", [-50, -40, -20, 20, 40, 50])
def test_faces_that_meet_at_more_than_thirty_degrees_are_sharp(kind, degrees):
    """A block that is bent in its middle, up or down: the edge is sharp on its top, and has no curvature there."""
    straight = block(kind, (2.0, 1.0, 1.0), (2, 1, 1))
    bent = straight.points + np.outer(np.maximum(straight.points[:, 0] - 1, 0), [0, 0, np.tan(np.deg2rad(degrees))])
    top = fem.Model(replace(straight, points=bent), STEEL).with_surfaces(top="z1").surfaces["top"]
    edge = np.abs(top.points[:, 0] - 1) < 1e-9
    np.testing.assert_array_equal(top.sharp, edge & (abs(degrees) > 30))
    assert (f"{int(edge.sum())} nodes on sharp edges" in str(top)) == (abs(degrees) > 30)
    if abs(degrees) > 30:
        assert np.abs(top.curvatures).max() < 1e-9
    else:
        assert (top.curvatures[edge, 0] * -degrees > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_surfaces_with_quadratic_faces_say_what_pressures_at_their_nodes_are(kind):
    part = fem.Model(block(kind, (0.3, 0.2, 0.1), (3, 2, 1)), STEEL).with_surfaces(top="z1")
    surface = part.surfaces["top"]
    assert surface.quadratic == (kind not in ("tetra", "hexahedron"))
    assert ("pressures at nodes are 0 to 1.2" in str(surface)) == surface.quadratic


def test_sets_selections_and_node_numbers_name_the_same_surface():
    part = fem.Model(block("tetra10", (0.3, 0.2, 0.1), (3, 2, 1)), STEEL)
    ways = ("z1", fem.on_plane((0, 0, 0.1), (0, 0, 1)), part.mesh.nodes("z1"), part.mesh.face_sets["z1"])
    ways = (*ways, part.mesh.face_sets["z1"].tolist())
    found = [part.with_surfaces(top=way).surfaces["top"] for way in ways]
    for other in found[1:]:
        np.testing.assert_array_equal(other.nodes, found[0].nodes)
        np.testing.assert_array_equal(np.unique(other.faces, axis=0), np.unique(found[0].faces, axis=0))


def test_surfaces_stay_with_the_part():
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1)), STEEL).with_surfaces(top="z1")
    part = part.with_interfaces(a="x0", b="x1").with_solver("1GiB").with_point_masses({"b": fem.PointMass(1.0)})
    assert [*part.surfaces] == ["top"]
    assert "surface 'top'" in str(part)
    linked = fem.Model(part.mesh, STEEL).with_surfaces(top="z1").with_constraints(fem.RigidLink([0, 1], 2))
    assert [*linked.surfaces] == ["top"]
    other = fem.Model(block("hexahedron", (0.1, 0.2, 0.1), (1, 2, 1)), STEEL).with_interfaces(a="x0")
    whole = fem.join({"other": other, "part": part}, {"weld": ("other a", "part a")})
    s = whole.surfaces["part top"]
    np.testing.assert_array_equal(s.points, part.surfaces["top"].points)
    assert (s.nodes >= len(other.points)).all()
    with pytest.raises(fem.MeshError, match=r"surfaces \(top\), which a cut could part"):
        fem.split(part, 2)


def test_what_is_no_surface_is_refused():
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 2)), STEEL)
    with pytest.raises(fem.MeshError, match=r"'TOP'.*z1"):
        part.with_surfaces(top="TOP")
    with pytest.raises(fem.MeshError, match="no face of the skin has all of its nodes"):
        part.with_surfaces(top=[0, 1])
    with pytest.raises(fem.MeshError, match="not on the skin"):
        part.with_surfaces(top=np.array([[0, 5], [0, 4], [0, 3], [0, 2], [0, 1], [0, 0]]))
    with pytest.raises(fem.MeshError, match=r"faces are whole numbers \(nf, 2\)"):
        part.with_surfaces(top=np.array([[0.5, 0.0]]))
    with pytest.raises(fem.MeshError, match="both contain face"):
        part.with_surfaces(top="z1", same="z1")
    imported = fem.Model.from_matrices(part.M, part.K, part.points)
    with pytest.raises(fem.MeshError, match="made from matrices"):
        imported.with_surfaces(top=[0, 1])


def test_both_sides_of_the_shells_of_a_deck(tmp_path):
    """Shells have no faces, which messages say with the remedy; as solids they have two sides, a thickness apart."""
    text = (
        "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 1., 1., 0.\n4, 0., 1., 0.\n*ELEMENT, TYPE=S4, ELSET=E\n1, 1, 2, 3, 4\n"
        "*SHELL SECTION, ELSET=E, MATERIAL=M\n0.02\n*MATERIAL, NAME=M\n*ELASTIC\n1e7, 0.3\n*DENSITY\n1000.\n"
        "*SURFACE, NAME=TOP\nE, SPOS\n*SURFACE, NAME=BOTTOM\nE, SNEG\n"
    )
    (tmp_path / "shell.inp").write_text(text)
    with pytest.raises(fem.MeshError, match=r"no set named 'TOP'.*expand=True"):
        fem.Model(fem.read_mesh(tmp_path / "shell.inp")).with_surfaces(top="TOP")
    solid = fem.Model(fem.read_mesh(tmp_path / "shell.inp", expand=True)).with_surfaces(top="TOP", bottom="BOTTOM")
    for name, side in (("top", 1.0), ("bottom", -1.0)):
        np.testing.assert_allclose(solid.surfaces[name].points[:, 2], 0.01 * side, rtol=1e-12)
        np.testing.assert_allclose(solid.surfaces[name].normals, [[0.0, 0.0, side]] * 4, atol=1e-12)
