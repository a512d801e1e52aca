"""Interfaces: what resolve makes of a set, exactness for rigid motion, least squares against brute force, refusals."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import fem
from fem.errors import InterfaceError
from fem.interface import Interface, require_disjoint, resolve, rigid_motion
from fem.mesh.face_area import lumped_area

KINDS = ["tetra", "tetra10", "hexahedron", "hexahedron20", "wedge", "wedge15", "pyramid", "pyramid13"]
SIZE = (2.0, 1.0, 0.5)


def part(kind="hexahedron", divisions=(2, 2, 2)):
    return fem.Model(fem.structured_meshes.block(kind, SIZE, divisions), fem.Material.steel())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interface", ["rigid", "average"])
def test_rows_return_rigid_motion_exactly(kind, interface):
    model = part(kind).with_interfaces(end=Interface("x1", interface, point=(5.0, -3.0, 2.0)))
    end = model.interfaces["end"]
    motion = np.random.default_rng(0).standard_normal(6)
    t, theta = motion[:3], motion[3:]
    u = np.array([t + np.cross(theta, x - end.point) for x in model.points]).ravel()
    B = end.interface_matrix(model)
    assert B.shape == (model.ndof, 6)
    np.testing.assert_allclose(B.T @ u, motion, rtol=1e-11)
    np.testing.assert_allclose(end.rigid_body_modes(model) @ motion, u[end.dofs], atol=1e-13)


@pytest.mark.parametrize("weights", [None, "uneven"])
def test_average_motion_is_the_weighted_least_squares_fit(weights):
    model = part("tetra10", (1, 2, 3))
    nodes = model.mesh.nodes("x1")
    rng = np.random.default_rng(1)
    given = None if weights is None else rng.uniform(0.1, 3.0, len(nodes))
    end = resolve(model, "end", Interface(nodes, "average", point=(2.5, 0.1, -0.4), weights=given))
    u = rng.standard_normal(model.ndof)
    columns = [np.tile(e, (len(nodes), 1)) for e in np.eye(3)]
    columns += [np.cross(e, model.points[nodes] - end.point) for e in np.eye(3)]
    A = np.stack([c.ravel() for c in columns], axis=1)
    root = np.sqrt(np.repeat(end.weights, 3))
    fit = np.linalg.lstsq(root[:, None] * A, root * u.reshape(-1, 3)[nodes].ravel(), rcond=None)[0]
    np.testing.assert_allclose(end.interface_matrix(model).T @ u, fit, rtol=1e-10)


def test_a_wrench_is_spread_with_the_same_resultant():
    model = part("tetra10").with_interfaces(end=Interface("x1", "average", point=(7.0, 1.0, 0.0)))
    wrench = np.array([1.0, -2.0, 3.0, 0.5, 4.0, -1.0])
    forces = (model.interfaces["end"].interface_matrix(model) @ wrench).reshape(-1, 3)
    np.testing.assert_allclose(forces.sum(axis=0), wrench[:3], atol=1e-12)
    arms = model.points - model.interfaces["end"].point
    np.testing.assert_allclose(np.cross(arms, forces).sum(axis=0), wrench[3:], atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_positive_areas(kind):
    model = part(kind, (2, 3, 2))
    for side, area in (("x0", 0.5), ("y1", 1.0), ("z0", 2.0)):
        end = resolve(model, side, side)
        assert (end.weights > 0).all()
        assert end.weights.sum() == pytest.approx(area, rel=1e-12)
        np.testing.assert_array_equal(end.nodes, model.mesh.nodes(side))


def test_weights_of_single_faces_match_the_closed_form():
    hex20 = part("hexahedron20", (1, 1, 1))
    corner = hex20.mesh.nodes("z0") < 8
    share = resolve(hex20, "z0", "z0").weights / 2.0
    np.testing.assert_allclose(share[corner], 3 / 76, rtol=1e-12)
    np.testing.assert_allclose(share[~corner], 16 / 76, rtol=1e-12)
    tetra10 = part("tetra10", (1, 1, 1)).mesh
    cell, face = tetra10.face_sets["z0"][0]
    nodes = tetra10.face_nodes(int(cell), int(face))
    share = lumped_area(tetra10, np.sort(nodes))
    expected = dict(zip(nodes, [1 / 19] * 3 + [16 / 57] * 3, strict=True))
    np.testing.assert_allclose(share, [expected[n] for n in np.sort(nodes)], rtol=1e-12)


def test_area_weights_hold_on_inclined_faces():
    box = fem.structured_meshes.block("wedge15", SIZE, (2, 2, 2))
    leaning = box.points.copy()
    leaning[:, 0] += leaning[:, 1]  # the face x = 2 leans by 45 degrees
    mesh = fem.Mesh(leaning, box.cells, face_sets=box.face_sets)
    assert lumped_area(mesh, mesh.nodes("x1")).sum() == pytest.approx(0.5 * np.sqrt(2), rel=1e-12)


def test_nodes_that_are_not_whole_faces_weigh_the_same():
    model = part("hexahedron", (2, 2, 2))
    face = model.mesh.nodes("x1")
    inside = int(np.flatnonzero(np.isclose(model.points, [1.0, 0.5, 0.25]).all(axis=1))[0])
    nodes = np.append(face, inside)
    end = resolve(model, "end", nodes)
    np.testing.assert_array_equal(end.weights, 1.0)
    np.testing.assert_allclose(end.point, model.points[nodes].mean(axis=0))
    assert lumped_area(model.mesh, face) is not None


def test_default_point_is_the_weighted_centroid():
    model = part("tetra10", (1, 1, 1))
    nodes = model.mesh.nodes("x1")
    weights = np.arange(1.0, len(nodes) + 1)
    end = resolve(model, "end", Interface(nodes[::-1], weights=weights[::-1]))
    np.testing.assert_allclose(end.point, weights @ model.points[nodes] / weights.sum(), rtol=1e-13)
    np.testing.assert_array_equal(end.weights, weights)
    np.testing.assert_allclose(resolve(part("hexahedron20"), "x1", "x1").point, [2.0, 0.5, 0.25], rtol=1e-13)


def test_rigid_motion_about_a_point_turns_by_the_right_hand_rule():
    quarter = rigid_motion(np.array([[1.0, 0.0, 0.0]]), np.zeros(3))[:, 5]
    np.testing.assert_array_equal(quarter, [0.0, 1.0, 0.0])


def test_imported_models_take_node_numbers_and_equal_weights():
    source = part()
    model = fem.Model.from_matrices(source.M, source.K, source.points)
    end = resolve(model, "end", list(source.mesh.nodes("x1")))
    np.testing.assert_array_equal(end.weights, 1.0)
    with pytest.raises(InterfaceError, match=r"no mesh.*node numbers"):
        resolve(model, "end", "x1")


def test_resolved_records_are_read_only_and_print():
    end = resolve(part(), "end", "x1")
    with pytest.raises(ValueError, match="read-only"):
        end.weights[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        end.nodes[0] = 2
    assert "rigid interface 'end'" in str(end)
    assert sp.issparse(end.interface_matrix(part()))


REFUSED = {
    "unknown set": ("x9", r"Interface 'end'.*no set named 'x9'.*Existing: 'all', 'x0'"),
    "unknown kind": (lambda: Interface("x1", kind="avrage"), "'avrage'.*Did you mean 'average'"),
    "single node": ([4], r"carries 3 of the six motions \(rank 3\).*single node.*at least three nodes"),
    "line": ([0, 3, 6], r"rank 5.*one line.*not on one line"),
    "missing node": ([0, 1, 900], "nodes 900 do not exist; the model has nodes 0 to 26"),
    "negative node": ([0, 1, -1], "nodes -1 do not exist"),
    "twice": ([0, 1, 1, 9], "nodes 1 are given more than once"),
    "empty": ([], "expected a set name"),
    "floats": ([0.5, 1.5], "expected a set name"),
    "weight count": (lambda: Interface([0, 1, 9], weights=[1.0, 2.0]), "2 weights for 3 nodes"),
    "negative weight": (lambda: Interface([0, 1, 9], weights=[1.0, 2.0, -1.0]), "positive number.*smallest -1"),
    "point shape": (lambda: Interface("x1", point=[1.0, 2.0]), "3 coordinates"),
    "point NaN": (lambda: Interface("x1", point=[1.0, np.nan, 0.0]), "must be finite"),
    "point text": (lambda: Interface("x1", point="centre"), "must be numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_cause_and_the_cure(case):
    spec, message = REFUSED[case]
    with pytest.raises(InterfaceError, match="(?s)" + message):
        resolve(part(), "end", spec() if callable(spec) else spec)


def test_coincident_nodes_carry_no_rotation():
    source = part("tetra", (1, 1, 1))
    points = source.points.copy()
    points[1:3] = points[0]
    model = fem.Model.from_matrices(sp.eye_array(24), _springs(points), points)
    with pytest.raises(InterfaceError, match=r"rank 3.*at one point"):
        resolve(model, "end", [0, 1, 2])


def test_nodes_all_but_on_one_line_carry_no_rotation_about_it():
    source = part()
    points = source.points.copy()
    for offset, straight in ((1e-8, True), (1e-4, False)):
        points[3] = source.points[3] + [0.0, 0.0, offset]
        points[3, 0] += offset
        model = fem.Model(fem.Mesh(points, source.mesh.cells), fem.Material.steel())
        if straight:
            with pytest.raises(InterfaceError, match=r"rank 5.*one line"):
                resolve(model, "end", [0, 3, 6])
        else:
            assert resolve(model, "end", [0, 3, 6]).nodes.size == 3


def test_nodes_of_a_file_are_told_by_their_numbers_there():
    """Those that two interfaces share, that follow others, and that are given twice."""
    mesh = replace(part().mesh, node_ids=1000 + 10 * np.arange(27))
    model = fem.Model(mesh, fem.Material.steel())
    shared = np.intersect1d(mesh.nodes("x1"), mesh.nodes("y1"))
    told = ", ".join(f"{n} (number {1000 + 10 * n} in the file)" for n in shared)
    with pytest.raises(InterfaceError, match=re.escape(f"share 3 nodes ({told})")):
        model.with_interfaces(x1="x1", y1="y1")
    with pytest.raises(InterfaceError, match=re.escape("nodes 1 (number 1010 in the file) are given more than once")):
        model.with_interfaces(end=[0, 1, 1, 9])
    model = model.with_constraints(fem.RigidLink([0, 3], 1))
    with pytest.raises(InterfaceError, match=re.escape("(0 (number 1000 in the file), 3 (number 1030 in the file))")):
        model.with_interfaces(end="x0")


def test_rigid_interfaces_may_not_share_nodes():
    model = part()
    rigid = {name: resolve(model, name, name) for name in ("x1", "y1")}
    with pytest.raises(InterfaceError, match=r"'x1' and 'y1' share 3 nodes.*make one an average"):
        require_disjoint(rigid, model.mesh)
    require_disjoint({"x1": rigid["x1"], "y1": resolve(model, "y1", Interface("y1", "average"))}, model.mesh)
    require_disjoint({"x1": rigid["x1"], "x0": resolve(model, "x0", "x0")}, model.mesh)


def _springs(points):
    """Axial springs between all nodes that are apart: any K that rigid motion does not feel."""
    n = len(points)
    K = np.zeros((3 * n, 3 * n))
    for a in range(n):
        for b in range(a):
            d = points[a] - points[b]
            if d @ d > 0:
                axis = d / np.sqrt(d @ d)
                row = np.zeros(3 * n)
                row[3 * a : 3 * a + 3], row[3 * b : 3 * b + 3] = axis, -axis
                K += np.outer(row, row)
    return sp.csr_array(K)
