"""Exact contact of boxes, capsules and convex meshes with each other: their points, rest, sliding, edges, impacts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexmb
from flexmb import solids
from flexmb.contact import Bore, Box, Capsule, Cylinder, hull
from flexmb.contact.shapes import addressed, pair_numbers
from flexmb.errors import MechanismError
from flexmb.files import load_result, save_result
from flexmb.kernels.contact.features import MOST_PAIRS, features_apart, list_features
from flexmb.results.elements.exact import points_over_time
from validation.stacked_boxes import falling

G = 9.81


def on_table(shape, table=(0.4, 0.4, 0.4), friction=0.0, restitution=0.0, inertia=(0.1, 0.1, 0.1), meshes=False, **at):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=inertia), **at)
    below = hull(solids.box(table)) if meshes else Box(*table)
    places = below.on(system.ground.at((0, 0, -0.5 * table[2]))), shape.on(body.at((0, 0, 0)))
    system.contact("table", *places, friction=friction, restitution=restitution)
    return system


def stack(count, size=(0.4, 0.3, 0.2), offset=0.0, twist=0.0):
    """Boxes of mass 2 on each other."""
    system = flexmb.System(gravity=(0, 0, -G))
    below = Box(1.0, 1.0, 1.0).on(system.ground.at((0, 0, -0.5)))
    inertia = [2.0 / 12 * (sum(x * x for x in size) - s * s) for s in size]
    for k in range(count):
        body = system.add(
            flexmb.rigid_body(f"body {k}", mass=2.0, inertia=inertia),
            position=(offset * k, 0, size[2] * (k + 0.5)),
            orientation=(0, 0, twist * k),
        )
        own = Box(*size).on(body.at((0, 0, 0)))
        system.contact(f"contact {k}", below, own, friction=0.5)
        below = own
    return system


def drawn(rng):
    match rng.integers(3):
        case 0:
            return Box(*rng.uniform(0.2, 1.0, 3))
        case 1:
            return Capsule(rng.uniform(0.05, 0.3), rng.uniform(0.2, 1.0))
        case _:
            cloud = rng.normal(size=(rng.integers(5, 20), 3)) * (0.3, 0.4, 0.5)
            return hull(flexmb.Shape(cloud, np.array([[0, 1, 2]])))


def begin_to_overlap(codes, S, rounding, rng, depth):
    """A position of the second shape on a random line at which the shapes overlap by `depth`, the direction of least
    overlap, and the overlap; None if they do not meet."""
    u = rng.normal(size=3)
    u /= np.linalg.norm(u)
    aside = 0.1 * np.cross(u, rng.normal(size=3))

    def seen(distance):
        d = tuple((aside + distance * u).tolist())
        n, overlap = features_apart(*codes, d, S)
        return d, n, overlap + rounding

    low, high = 0.0, 4.0
    if seen(low)[2] < 1e-3:
        return None
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if seen(middle)[2] > depth else (low, middle)
    return seen(low)


@pytest.mark.long
def test_shapes_that_begin_to_overlap_do_so_at_a_pair_of_features():
    """The depth of an overlap is known independently, from the furthest points of the shapes."""
    rng = np.random.default_rng(1)
    pairs, rows = np.zeros(MOST_PAIRS, dtype=np.int64), np.zeros((MOST_PAIRS, 8))
    for _ in range(200):
        shapes = drawn(rng), drawn(rng)
        x = [float(value) for value in addressed(*pair_numbers(*shapes))]
        codes = int(x[0]), tuple(x[1:4]), int(x[4]), tuple(x[5:8])
        S = tuple(Rotation.random(random_state=rng).as_matrix().ravel().tolist())
        rounding = sum(shape.radius for shape in shapes if isinstance(shape, Capsule))
        found = begin_to_overlap(codes, S, rounding, rng, 1e-6)
        if found is not None:
            d, n, depth = found
            count = list_features(*codes, d, S, n, pairs, rows)
            assert rows[:count, 6].max() == pytest.approx(depth, abs=1e-9)


def test_a_slab_that_overhangs_rests_on_the_common_area():
    result = flexmb.simulate(on_table(Box(0.4, 0.2, 0.1), position=(0.15, 0.02, 0.05), friction=0.5), 0.02, step=1e-3)
    assert np.abs(result.q[-1] - result.q[0]).max() < 1e-12
    points = points_over_time(result, result.mechanism.contacts[0])
    force, at = points.force[-1, :, 2], points.point[-1]
    carry = force > 0
    np.testing.assert_allclose(sorted(at[carry, 0]), [-0.05, -0.05, 0.2, 0.2], atol=1e-12)
    np.testing.assert_allclose(sorted(force[carry] / (2 * G)), [0.1, 0.1, 0.4, 0.4], rtol=1e-9)


@pytest.mark.parametrize("meshes", [False, True], ids=["boxes", "meshes"])
def test_a_slab_slides_over_an_edge_and_tips(meshes):
    """The middle of a slab passes the edge after 0.1; from there, the slab slides and turns about the edge."""
    size, m, end = (0.4, 0.2, 0.1), 2.0, 0.22
    inertia, h = m / 12 * (0.4**2 + 0.1**2), 0.05

    def slope(t, y):
        s, angle, v, w = y
        mass = np.array([[1, h], [h, h * h + s * s + inertia / m]])
        sine, cosine = np.sin(angle), np.cos(angle)
        a = np.linalg.solve(mass, [s * w * w + G * sine, G * (s * cosine + h * sine) - 2 * s * v * w])
        return [v, w, *a]

    s, angle = solve_ivp(slope, (0.0, end - 0.1), [0, 0, 1.0, 0], rtol=1e-12, atol=1e-14).y[:2, -1]
    shape = hull(solids.box(size)) if meshes else Box(*size)
    errors = []
    for step in (2e-3, 1e-3):
        at = {"position": (0.1, 0.0, h), "velocity": (1.0, 0, 0)}
        result = flexmb.simulate(on_table(shape, inertia=(0.1, inertia, 0.1), meshes=meshes, **at), end, step=step)
        q = result.q[-1]
        errors.append(abs(2 * np.arctan2(q[5], q[3]) / angle - 1))
    np.testing.assert_allclose(
        q[[0, 2]], [0.2 + s * np.cos(angle) + h * np.sin(angle), h * np.cos(angle) - s * np.sin(angle)], atol=1e-5
    )
    assert errors[1] < 3e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert result.contact("table").gap.min() > -1e-11


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_crossed_edges_hit_with_the_momentum_and_energy_that_remain(friction):
    system, places = flexmb.System(), []
    for name, mass, at in (
        ("a", 2.0, {"orientation": (np.pi / 4, 0, 0)}),
        ("b", 1.0, {"position": (0.1, 0.05, 0.4), "orientation": (np.pi / 4, 0, 1.0), "velocity": (0.2, 0, -1.0)}),
    ):
        body = system.add(flexmb.rigid_body(name, mass=mass, inertia=(0.1, 0.3, 0.35)), **at)
        places.append(Box(1.0, 0.2, 0.2).on(body.at((0, 0, 0))))
    system.contact("edges", *places, friction=friction, restitution=0.5 if friction else 1.0)
    result = flexmb.simulate(system, 0.2, step=1e-3)
    total = 2.0 * result.velocity("a") + result.velocity("b")
    assert np.abs(total - total[0]).max() < 1e-12
    energy = result.ledger.kinetic
    lost = sum(event.lost for event in result.happened)
    assert energy[-1] + lost == pytest.approx(energy[0], rel=1e-6)
    assert (lost > 0.1) if friction else (abs(lost) < 1e-10)


def test_a_capsule_lies_on_a_table_and_hangs_over():
    result = flexmb.simulate(
        on_table(Capsule(0.05, 0.5), position=(0.1, 0, 0.05), orientation=(0, np.pi / 2, 0), friction=0.5),
        0.02,
        step=1e-3,
    )
    assert np.abs(result.q[-1] - result.q[0]).max() < 1e-12
    points = points_over_time(result, result.mechanism.contacts[0])
    carry = points.force[-1, :, 2] > 0
    np.testing.assert_allclose(sorted(points.point[-1][carry, 0]), [-0.15, 0.2], atol=1e-12)
    np.testing.assert_allclose(sorted(points.force[-1][carry, 2] / (2 * G)), [2 / 7, 5 / 7], rtol=1e-9)


def test_a_stack_of_turned_boxes_rests_and_goes_on_from_its_file(tmp_path):
    system = stack(5, offset=0.02, twist=0.2)
    result = flexmb.simulate(system, 0.05, step=1e-3)
    assert np.abs(result.q[-1] - result.q[0]).max() < 1e-12
    for k in range(5):
        assert result.contact(f"contact {k}").normal_force[-1] == pytest.approx((5 - k) * 2 * G, rel=1e-9)
    save_result(result, tmp_path / "stack.h5")
    again = load_result(tmp_path / "stack.h5")
    np.testing.assert_array_equal(again.contact("contact 2").force, result.contact("contact 2").force)
    whole = flexmb.simulate(system, 0.1, step=1e-3)
    rest = flexmb.simulate(system, 0.05, step=1e-3, initial_state=again.state(-1))
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-12)


@pytest.mark.parametrize("other", [Box(1, 1, 1), Bore(0.5, 1.0)], ids=str)
def test_rims_are_refused(other):
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 2))
    shape = Cylinder(0.1, 0.5) if isinstance(other, Box) else Capsule(0.1, 0.5)
    remedy = r"hull of a prism" if isinstance(other, Box) else r"replace the capsule by a cylinder"
    with pytest.raises(MechanismError, match=rf"no exact contact of a .*{remedy}"):
        system.contact("c", other.on(system.ground.at((0, 0, 0))), shape.on(body.at((0, 0, 0))))


@pytest.mark.long
def test_boxes_that_slide_and_turn_on_each_other_come_to_rest():
    """Of the up to 24 points at once, more slide than carry a box, so that Coulomb's law does not determine forces.

    What slides where depends on round-off: the last box comes to rest at 1.00 to 1.06. All boxes do long before the
    end, and lie still then: their slip is below 1e-12, which counts as rest, so that they turn by less than 1e-11.
    """
    fallen = flexmb.simulate(falling(4), 2.0, step=1e-3, output_step=0.01)
    assert np.abs(fallen.w[fallen.t > 1.9]).max() < 1e-11
    assert min(fallen.contact(contact.name).gap.min() for contact in fallen.mechanism.contacts) > -1e-10
    assert fallen.ledger.imbalance < 1e-3
