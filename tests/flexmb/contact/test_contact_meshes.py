"""Triangle meshes as contact shapes: against distances by brute force, simple shapes and coal; meshes that are refused."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fem
import flexmb
from fem.errors import MeshError
from flexmb import solids
from flexmb.contact import Box, Capsule, Cylinder, Plane, Sphere, TriangleMesh, hull, mesh, power_law
from flexmb.contact.mesh_data import crossings
from flexmb.contact.shapes import addressed
from flexmb.contact.triangle_mesh import hull_of_points
from flexmb.errors import MechanismError
from flexmb.files.storage.sound_elements import require_sound_elements
from flexmb.mechanism.contacts.element import bound_contact, points_of

BOX = (0.6, 1.0, 1.4)
L_SHAPE = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))


def points(a, b, d, S=None):
    law = bound_contact("touch", (a, b), power_law(1.0), 0.0, None, None, None)
    return points_of(addressed(law.parameters, law.meshes), np.asarray(d, float), np.eye(3) if S is None else S)


def angle_mesh():
    """An L-shaped profile of height 1 along z, with one hollow edge along (1, 1, z)."""
    corners = np.array([(*xy, z) for z in (0.0, 1.0) for xy in L_SHAPE])
    side = [(k, (k + 1) % 6) for k in range(6)]
    walls = [t for i, j in side for t in ((i, j, j + 6), (i, j + 6, i + 6))]
    floor = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 4)]
    return TriangleMesh(corners, np.array([*walls, *floor, *(tuple(k + 6 for k in t[::-1]) for t in floor)]), "angle")


def rock(seed=1, corners=20):
    return hull_of(np.random.default_rng(seed).normal(size=(corners, 3)) * (0.3, 0.4, 0.5))


def hull_of(cloud):
    return hull(flexmb.Shape(cloud, np.array([[0, 1, 2]])))


def box_distance(x):
    q = np.abs(x) - 0.5 * np.array(BOX)
    return np.linalg.norm(np.maximum(q, 0)) + min(q.max(), 0.0)


@pytest.mark.parametrize("seed", range(12))
def test_a_sphere_at_a_box_of_triangles_is_at_a_box(seed):
    rng = np.random.default_rng(seed)
    d, r = rng.uniform(-1.0, 1.0, 3) * (0.35 if seed % 2 else 1.2), 0.1
    own, other = points(mesh(solids.box(BOX)), Sphere(r), d), points(Box(*BOX), Sphere(r), d)
    assert len(own) == 1
    np.testing.assert_allclose(own, other, atol=1e-12)


def test_a_sphere_above_a_finely_divided_face_touches_once():
    """On faces, on edges between coplanar triangles and above their vertices."""
    shape = solids.box((1, 1, 1))
    for _ in range(3):
        p, t = shape.points, shape.triangles
        mid = 0.5 * (p[t] + p[np.roll(t, -1, axis=1)])
        n = len(p) + np.arange(3 * len(t)).reshape(-1, 3)
        parts = [np.column_stack(x) for x in ((t[:, 0], n[:, 0], n[:, 2]), (n[:, 0], t[:, 1], n[:, 1]))]
        parts += [np.column_stack(x) for x in ((n[:, 2], n[:, 1], t[:, 2]), (n[:, 0], n[:, 1], n[:, 2]))]
        shape = flexmb.Shape(np.concatenate([p, mid.reshape(-1, 3)]), np.concatenate(parts))
    fine = mesh(shape)
    assert len(fine.triangles) == 12 * 64
    assert len(fine.hull.corners) == 8
    for x, y in ((0.1, 0.2), (0.125, 0.25), (0.25, 0.1), (0.0, 0.0), (0.4, -0.4)):
        found = points(fine, Sphere(0.2), (x, y, 0.69))
        np.testing.assert_allclose(found, [[x, y, 0.495, 0, 0, 1, 0.01, 1]], atol=1e-12)


def test_a_sphere_in_a_hollow_touches_both_walls():
    r, x = 0.2, 1.0 + 0.2 - 0.01
    found = points(angle_mesh(), Sphere(r), (x, x, 0.5))
    assert len(found) == 2
    np.testing.assert_allclose(found[:, 6], 0.01, atol=1e-14)
    np.testing.assert_allclose(sorted(found[:, 3:6].tolist()), [[0, 1, 0], [1, 0, 0]], atol=1e-14)
    inside = points(angle_mesh(), Sphere(r), (0.99, 0.5, 0.5))
    assert len(inside) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_point_is_that_of_all_triangles(seed):
    """Against least squares over the triangles, apart from a mesh that is not convex."""
    rng = np.random.default_rng(seed)
    part = angle_mesh()
    for _ in range(20):
        d = rng.uniform(-1.0, 3.0, 3)
        weights = rng.dirichlet((1, 1, 1), 200)
        near = min(
            float(np.linalg.norm(np.einsum("wk,kx->wx", weights, part.points[t]) - d, axis=1).min())
            for t in part.triangles
        )
        found = points(part, Sphere(1e-3), d)[0]
        if found[6] < 0:
            assert 1e-3 - found[6] - 1e-3 <= near + 1e-12
            assert -found[6] + 1e-3 > near - 0.2


def test_a_box_of_triangles_stands_on_a_plane_as_a_box():
    S, d = Rotation.from_rotvec((0.3, -0.2, 0.5)).as_matrix(), (0.1, 0.2, 0.5)
    own, other = points(Plane(), mesh(solids.box(BOX)), d, S), points(Plane(), Box(*BOX), d, S)
    np.testing.assert_allclose(sorted(own.tolist()), sorted(other.tolist()), atol=1e-12)


def test_shares_of_corners_are_eight_forces():
    for part in (mesh(solids.box(BOX)), rock(), hull(solids.cylinder((0, 0, 0), (0, 0, 1), 0.5))):
        assert part.hull.shares.sum() == pytest.approx(8.0)


@pytest.mark.parametrize("other", [Box(0.4, 0.5, 0.6), Capsule(0.2, 0.7), Cylinder(0.3, 0.5)], ids=str)
def test_a_box_of_triangles_touches_as_a_box(other):
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(60):
        u = rng.normal(size=3)
        d = u / np.linalg.norm(u) * rng.uniform(0.5, 1.2)
        S = Rotation.random(random_state=rng).as_matrix()
        own, known = points(mesh(solids.box(BOX)), other, d, S), points(Box(*BOX), other, d, S)
        if known[:, 6].max() > 0.1:
            continue
        assert own[:, 6].max() == pytest.approx(known[:, 6].max(), abs=1e-8)
        if len(own) == len(known) == 1:
            np.testing.assert_allclose(own[0, :6], known[0, :6], atol=1e-5)
        elif len(own) == len(known):
            np.testing.assert_allclose(sorted(own[:, 6]), sorted(known[:, 6]), atol=1e-7)
        compared += 1
    assert compared > 15


@pytest.mark.parametrize("kind", ["mesh", "box", "capsule", "cylinder"])
def test_distances_and_depths_of_rocks_are_those_of_coal(kind):
    coal = pytest.importorskip("coal")
    a = rock()
    others = {
        "mesh": (rock(2, 12), None),
        "box": (Box(0.4, 0.5, 0.6), coal.Box(0.4, 0.5, 0.6)),
        "capsule": (Capsule(0.2, 0.7), coal.Capsule(0.2, 0.7)),
        "cylinder": (Cylinder(0.3, 0.5), coal.Cylinder(0.3, 0.5)),
    }
    b, known = others[kind]
    rng, compared = np.random.default_rng(3), 0
    made = [coal_hull(coal, a), coal_hull(coal, b) if known is None else known]
    for _ in range(150):
        u = rng.normal(size=3)
        d = u / np.linalg.norm(u) * rng.uniform(0.4, 1.6)
        S = Rotation.random(random_state=rng).as_matrix()
        request, answer = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = 1e-10
        request.gjk_max_iterations = request.epa_max_iterations = 1000
        exact = coal.distance(made[0], coal.Transform3s(), made[1], coal.Transform3s(S, d), request, answer)
        found = points(a, b, d, S)
        if exact > 0:
            assert -found[:, 6].max() == pytest.approx(exact, abs=1e-7)
            compared += 1
        elif exact > -0.05:
            assert found[:, 6].max() <= -exact / 0.99 + 1e-6  # on a face, the depth is measured along its normal
            if len(found) == 1 or kind != "cylinder":
                assert found[:, 6].max() == pytest.approx(-exact, rel=0.01, abs=1e-6)
            compared += 1
    assert compared > 40


def coal_hull(coal, part):
    made = coal.StdVec_Vec3s()
    for x in part.points:
        made.append(x)
    return coal.Convex.convexHull(made, False, "Qt")


def test_forces_of_the_points_are_the_slope_of_their_energy():
    """Two rocks, a capsule and a sphere at a rock: the normal is the gradient of the depth, the arm that of a turn."""
    rng, checked = np.random.default_rng(5), 0
    for k in range(40):
        a, b = rock(), (rock(2, 12), Capsule(0.2, 0.7), Sphere(0.3))[k % 3]
        u = rng.normal(size=3)
        d, S = u / np.linalg.norm(u) * rng.uniform(0.6, 0.9), Rotation.random(random_state=rng).as_matrix()
        here, h = points(a, b, d, S), 1e-6
        if len(here) != 1:
            continue
        here = here[0]
        slope = [(points(a, b, d + h * e, S)[0, 6] - points(a, b, d - h * e, S)[0, 6]) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(slope, -here[3:6], atol=1e-5)
        turned = [Rotation.from_rotvec(h * e).as_matrix() for e in np.eye(3)]
        turn = [(points(a, b, d, R @ S)[0, 6] - points(a, b, d, R.T @ S)[0, 6]) / (2 * h) for R in turned]
        np.testing.assert_allclose(turn, -np.cross(here[:3] - d, here[3:6]), atol=1e-5)
        checked += 1
    assert checked > 10


def test_meshes_that_cannot_be_are_refused_by_name(tmp_path):
    good = solids.box((1, 1, 1))
    with pytest.raises(MeshError, match=r"'lid' is open: 3 of its edges border a hole.*flexmb.contact.hull"):
        TriangleMesh(good.points, good.triangles[1:], "lid")
    with pytest.raises(MeshError, match=r"'mesh' is inside out: .* flip the normals"):
        TriangleMesh(good.points, good.triangles[:, ::-1])
    with pytest.raises(MeshError, match="face different sides"):
        TriangleMesh(good.points, np.concatenate([good.triangles[:1, ::-1], good.triangles[1:]]))
    with pytest.raises(MeshError, match="at least one"):
        TriangleMesh(good.points, np.zeros((0, 3), dtype=int))
    with pytest.raises(MeshError, match="encloses no volume"):
        TriangleMesh(good.points, np.array([[0, 1, 2], [0, 2, 1]]))
    two = solids.together(good, solids.box((0.5, 0.5, 3.0), centre=(0.1, 0.13, 0.0)))
    with pytest.raises(MeshError, match=r"'mesh' crosses itself: .* pairs of its triangles.* Unite its pieces"):
        mesh(two)
    edge = solids.together(good, solids.box((1, 1, 1), centre=(1, 1, 0)))
    with pytest.raises(MeshError, match="more than two triangles, 2 of them"):
        points(mesh(edge), Sphere(0.1), (3, 0, 0))
    sliver = np.array([(0, 0, 0), (1, 0, 0), (0.5, 1e-13, 0), (0.5, 1, 0), (0.5, 0.4, 1)])
    with pytest.raises(MeshError, match="1 triangles without an area"):
        TriangleMesh(sliver, np.array([(0, 2, 1), (0, 3, 2), (2, 3, 1), (0, 1, 4), (1, 3, 4), (3, 0, 4)]))
    (tmp_path / "empty.stl").write_text("solid empty\nendsolid empty\n")
    with pytest.raises(MeshError):
        mesh(tmp_path / "empty.stl")
    with pytest.raises(MeshError, match="hull has from 4 to 128 corners; found 300"):
        hull(good, corners=300)
    with pytest.raises(MeshError, match="span no volume"):
        hull_of(np.column_stack([np.random.default_rng(0).normal(size=(9, 2)), np.zeros(9)]))


def test_a_hull_with_fewer_corners_takes_the_most_distant_ones():
    """Beside the ends of the axes, the points beyond the faces of the octahedron in the order of their distances."""
    ends = np.concatenate([np.eye(3), -np.eye(3)])
    others = np.array([(0.4, 0.4, 0.4), (-0.6, 0.6, 0.6), (0.5, -0.5, 0.5), (0.7, 0.7, -0.7)])
    for corners, kept in ((7, [3]), (8, [1, 3]), (9, [1, 2, 3]), (10, [0, 1, 2, 3])):
        found = hull_of_points(np.concatenate([others, ends]), corners, "star").points
        assert {tuple(x) for x in found} == {tuple(x) for x in np.concatenate([ends, others[kept]])}


def test_crossings_are_those_of_all_pairs():
    a, b = rock(3, 60), rock(4, 50)
    p = np.concatenate([a.points, b.points + np.array([0.2, 0.1, 0.0])])
    t = np.concatenate([a.triangles, b.triangles + len(a.points)])
    found = {tuple(sorted(pair)) for pair in crossings(p, t).tolist()}
    expected = set()
    for i in range(len(a.triangles)):
        for j in range(len(a.triangles), len(t)):
            if any(_passes(p[t[x]], p[t[y]]) for x, y in ((i, j), (j, i))):
                expected.add((i, j))
    assert found == expected
    assert len(found) > 10


def _passes(one, other):
    """Whether an edge of a triangle passes through another, from the solution of three equations."""
    for k in range(3):
        s, e = one[k], one[(k + 1) % 3]
        A = np.column_stack([other[1] - other[0], other[2] - other[0], s - e])
        u, v, w = np.linalg.solve(A, s - other[0])
        if u > 0 and v > 0 and u + v < 1 and 0 < w < 1:
            return True
    return False


def test_pairs_that_need_convex_meshes_say_so():
    with pytest.raises(MechanismError, match=r"'angle' is not convex, and only convex ones touch a box.*Divide it"):
        points(angle_mesh(), Box(1, 1, 1), (3, 3, 3))
    assert len(points(hull(angle_mesh()), Box(1, 1, 1), (3, 3, 3))) == 1
    ball = mesh(solids.sphere(0.5))
    with pytest.raises(MechanismError, match=r"touches a plane with the corners .* 1106; at most 128 .*corners=128"):
        points(Plane(), ball, (0, 0, 1))
    coarse = hull(ball, corners=100)
    assert len(coarse.hull.corners) == 100
    assert coarse.hull.volume > 0.9 * ball.hull.volume
    with pytest.raises(MechanismError, match="no contact of a socket with a mesh"):
        points(flexmb.contact.Socket(1.0), ball, (0, 0, 0))
    system = flexmb.System()
    bead = Sphere(0.1).on(
        system.add(flexmb.rigid_body("bead", mass=1.0, inertia=(1, 1, 1)), position=(3, 3, 3)).at((0, 0, 0))
    )
    ground = system.ground.at((0, 0, 0))
    with pytest.raises(
        MechanismError,
        match=r"^Contact 'touch': there is no exact contact of a sphere with the mesh 'angle', which is not convex, because "
        r"the points of a sphere in a hollow come and go\. Give the contact a law= .* its hull \(flexmb\.contact\.hull\)\.$",
    ):
        system.contact("touch", angle_mesh().on(ground), bead)
    system.contact("touch", hull(angle_mesh()).on(ground), bead)
    system.contact("with a law", angle_mesh().on(ground), bead, law=power_law(1.0))
    law = power_law(1.0, restitution=0.5, speed=1.0, each_impact=True)
    with pytest.raises(MechanismError, match="each_impact has the memory of one"):
        bound_contact("touch", (angle_mesh(), Sphere(0.1)), law, 0.0, None, None, None)


STL = """solid {name}
{facets}endsolid
"""


def write_stl(path, shape):
    facets = ""
    for t in shape.triangles:
        corners = "".join("vertex {:.9g} {:.9g} {:.9g}\n".format(*shape.points[k]) for k in t)
        facets += f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n"
    path.write_text(STL.format(name="part", facets=facets))


MODEL = """
[simulation]
duration = 0.02
step = 1e-4

[bodies.brick]
kind = "rigid"
mass = 2.0
inertia = [0.02, 0.03, 0.04]
position = [0.0, 0.0, 0.0501]

[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane" }
b = { place = "brick", shape = "mesh", file = "brick.stl", scale = 0.001 }
law = { kind = "power-law", stiffness = 1e7 }
"""


def brick(own, law, height=0.05, other=None):
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("brick", mass=2.0, inertia=(0.02, 0.03, 0.04)), position=(0, 0, height))
    other = other or Plane().on(system.ground.at((0, 0, 0)))
    friction = {"friction": 0.3} | ({} if law is None else {"slip_speed": 0.01})
    system.contact("floor", other, own.on(body.at((0, 0, 0))), law=law, **friction)
    return system


EDGES = (0.3, 0.2, 0.1)


@pytest.mark.parametrize("law", [power_law(1e7, restitution=0.2, speed=0.1), None], ids=["continuous", "exact"])
def test_a_brick_of_triangles_moves_as_a_box_and_files_keep_it(law, tmp_path):
    one, other = (
        flexmb.simulate(brick(own, law, 0.06), 0.2, step=2e-4, output_step=0.01)
        for own in (mesh(solids.box(EDGES)), Box(*EDGES))
    )
    np.testing.assert_allclose(one.q, other.q, atol=1e-9)
    np.testing.assert_allclose(one.contact("floor").force, other.contact("floor").force, atol=1e-5)
    flexmb.files.save_result(one, tmp_path / "run.h5")
    again = flexmb.files.load_result(tmp_path / "run.h5")
    np.testing.assert_array_equal(again.contact("floor").gap, one.contact("floor").gap)
    further = flexmb.simulate(again.mechanism, 0.01, step=2e-4, initial_state=again)
    expected = flexmb.simulate(brick(mesh(solids.box(EDGES)), law, 0.06), 0.21, step=2e-4, output_step=0.01)
    np.testing.assert_allclose(further.q[-1], expected.q[-1], atol=1e-9)


def test_a_model_file_reads_a_mesh(tmp_path):
    write_stl(tmp_path / "brick.stl", solids.box([1000 * x for x in EDGES]))
    (tmp_path / "model.toml").write_text(MODEL)
    loaded = flexmb.files.load_model(tmp_path / "model.toml")
    (force,) = loaded.system.build().frame_forces
    assert force.meshes[5].size == pytest.approx(0.05)
    (other,) = pickle.loads(pickle.dumps(loaded.system.build())).frame_forces
    np.testing.assert_array_equal(other.meshes[5].numbers, force.meshes[5].numbers)
    assert other.numbers[5] != force.numbers[5]
    (tmp_path / "model.toml").write_text(MODEL.replace('file = "brick.stl", ', "radius = 1.0, "))
    with pytest.raises(flexmb.ModelFileError, match=r"a mesh has the dimensions \['file'\]"):
        flexmb.files.load_model(tmp_path / "model.toml")


def test_the_skin_of_a_part_and_a_stone_on_it_come_to_rest():
    """A part of finite elements as a rigid mesh, and a stone on it, in a group: the forces are their weights."""
    part = mesh(fem_block())
    assert part.convex
    system = flexmb.System(gravity=(0, 0, -9.81))
    law = power_law(1e5, restitution=0.1, speed=0.1)
    floor = Plane().on(system.ground.at((0, 0, 0)))
    own = flexmb.rigid_body("table", mass=2.0, inertia=(0.02,) * 3, centre=(0.1, 0.1, 0.05))
    table = system.add(own, position=(0, 0, 0))
    stone = solids.prism([(0, 0), (0.09, 0), (0.06, 0.05), (0, 0.06)], -0.02, 0.02)
    small = hull(stone.moved(-stone.integrals().centre))
    top = system.add(flexmb.rigid_body("stone", mass=0.2, inertia=(2e-4,) * 3), position=(0.1, 0.1, 0.12))
    shapes = [floor, part.on(table.at((0, 0, 0))), small.on(top.at((0, 0, 0)))]
    system.contact_group("pile", shapes, law=law, friction=0.6, slip_speed=0.02)
    run = flexmb.simulate(system, 0.6, method="explicit", tolerance=1e-5, output_step=0.05)
    assert np.abs(run.velocity("table")[-1]).max() < 1e-2
    lowest = (run.position("stone")[-1] + small.points @ run.attitude("stone", "matrix")[-1].T)[:, 2].min()
    assert lowest - run.position("table")[-1, 2] == pytest.approx(0.1 - (0.25 * 0.2 * 9.81 / 1e5) ** (2 / 3), abs=5e-5)
    assert np.abs(run.velocity("stone")[-1]).max() < 0.05
    weight = 9.81 * np.array([2.2, 0.2])
    forces = sorted((pair.force[2] for pair in run.contact_group("pile").pairs[-1]), reverse=True)
    np.testing.assert_allclose(forces, weight, rtol=0.02)


def fem_block():
    return fem.structured_meshes.block("hexahedron", (0.2, 0.2, 0.1), (2, 2, 1))


@pytest.mark.parametrize("places", [[], [1], [5, 9]], ids=str)
def test_a_result_file_without_its_mesh_is_refused(places):
    """Compiled code reads the numbers of a mesh by address."""
    shape = mesh(solids.box(EDGES))
    system = brick(shape, None)
    made = system.build()
    require_sound_elements(made)
    (whole,) = made.contacts
    with pytest.raises(MechanismError, match="codes 0 and 7 has meshes at the places"):
        require_sound_elements(replace(made, contacts=(replace(whole, meshes=dict.fromkeys(places, shape)),)))


def test_a_mesh_whose_scale_was_forgotten_is_asked_for_it():
    """Half of the diagonal of a cube of 40 mm, read as metres, is 34.64."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    cube = system.add(flexmb.rigid_body("cube", mass=0.5, inertia=(1e-4,) * 3), position=(0, 0, 0.03))
    solid, floor = mesh(solids.box((40.0, 40.0, 40.0))).on(cube.at((0, 0, 0))), Plane().on(system.ground.at((0, 0, 0)))
    with pytest.raises(MechanismError, match=r"inside each other.*reaches 34.64 \(length\).*see its scale="):
        system.contact("floor", floor, solid, law=power_law(1e5))
