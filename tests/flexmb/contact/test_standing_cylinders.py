"""Exact contact of cylinders that stand on a plane, tip over and land on it, in every direction."""

import warnings

import numpy as np
import pytest
import scipy

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.contact import Cylinder, Plane
from flexmb.errors import EnergyBalanceWarning, MechanismError
from flexmb.study import adjoint_gradient

G = 9.81
RADIUS, HEIGHT = 0.05, 0.2
ABOUT_CENTRE = (3 * RADIUS**2 + HEIGHT**2) / 12
ABOUT_RIM = ABOUT_CENTRE + RADIUS**2 + 0.25 * HEIGHT**2
STANDING = np.arctan2(RADIUS, 0.5 * HEIGHT)
"""Slope (rad) up to which it stands."""


def leaning(angle, direction):
    """The axes of a cylinder that leans by an angle in a direction (rad)."""
    return scipy.spatial.transform.Rotation.from_rotvec(
        angle * np.array([-np.sin(direction), np.cos(direction), 0.0])
    ).as_matrix()


def can(slope=0.0, direction=0.0, *, lean=0.0, above=0.0, friction=2.0, restitution=0.0, turned=False):
    """A cylinder on a plane which falls by the slope in a direction, `above` the plane; `turned`: the plane is second."""
    across = np.sin(slope) * np.array([np.cos(direction), np.sin(direction), 0.0])
    system = flexmb.System(gravity=G * (across - [0, 0, np.cos(slope)]))
    body = flexmb.rigid_body("can", mass=1.0, inertia=(ABOUT_CENTRE, ABOUT_CENTRE, 0.5 * RADIUS**2))
    height = RADIUS * np.sin(lean) + 0.5 * HEIGHT * np.cos(lean) + above
    body = system.add(body, position=(0, 0, height), orientation=leaning(lean, direction))
    shapes = Plane().on(system.ground.at((0, 0, 0))), Cylinder(RADIUS, HEIGHT).on(body.at((0, 0, 0)))
    system.contact("floor", *shapes[:: -1 if turned else 1], friction=friction, restitution=restitution)
    return system


def tilt(result):
    return np.arccos(np.minimum(result.axes("can")[:, 2, 2], 1.0))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("direction", [0.0, 0.4, np.pi / 4, 1.0, -2.2])
def test_it_tips_over_where_its_weight_leaves_the_rim(direction, turned):
    assert tilt(flexmb.simulate(can(STANDING - 0.004, direction, turned=turned), 0.2, step=1e-3)).max() < 1e-8
    assert tilt(flexmb.simulate(can(STANDING + 0.004, direction, turned=turned), 0.2, step=1e-3))[-1] > 1e-3


@pytest.mark.parametrize("direction", [0.0, 0.4, np.pi / 4, 1.0])
def test_it_turns_about_the_point_of_the_rim_on_which_it_leans(direction):
    slope, arm = 0.6, np.hypot(RADIUS, 0.5 * HEIGHT)
    moved = scipy.integrate.solve_ivp(
        lambda t, y: (y[1], G * arm / ABOUT_RIM * np.sin(y[0] + slope - STANDING)),
        (0, 0.3),
        (0, 0),
        rtol=1e-10,
        atol=1e-12,
    )
    result = flexmb.simulate(can(slope, direction), 0.3, step=1e-3)
    assert tilt(result)[-1] == pytest.approx(moved.y[0, -1], rel=1e-3)


def test_it_loses_at_most_what_housners_block_does():
    """On its way through the upright position it may roll around its rim, or strike with the opposite point."""
    result = flexmb.simulate(can(lean=0.02), 0.06, step=1e-3)
    speed = np.linalg.norm(result.angular_velocity("can"), axis=1)
    struck = int(np.argmin(tilt(result)))
    least = (ABOUT_CENTRE + 0.25 * HEIGHT**2 - RADIUS**2) / ABOUT_RIM
    assert least < speed[struck + 1] / speed[struck] < 1.0


@pytest.mark.parametrize(("lean", "direction", "restitution"), [(0.1, 0.0, 0.0), (0.1, 0.4, 0.3), (0.3, 1.0, 0.3)])
def test_it_lands_and_wobbles(lean, direction, restitution):
    system = can(lean=lean, direction=direction, above=0.01, friction=0.5, restitution=restitution)
    result = flexmb.simulate(system, 0.6, step=5e-4)
    assert tilt(result)[-1] < 0.2
    assert result.contact("floor").gap.min() > -1e-9
    assert result.ledger.imbalance < 3e-4
    assert np.diff(result.ledger.total).max() < 3e-5 * result.ledger.exchange


def test_a_thin_disc_comes_to_rest_and_stays():
    disc = Cylinder(RADIUS, 0.01)
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(
        flexmb.rigid_body("disc", mass=1.0, inertia=(6.3e-4, 6.3e-4, 1.25e-3)),
        position=(0, 0, RADIUS * np.sin(0.1) + 0.005 * np.cos(0.1)),
        orientation=leaning(0.1, 0.2),
    )
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), disc.on(body.at((0, 0, 0))), friction=0.5)
    result = flexmb.simulate(system, 0.6, step=1e-3)
    assert result.axes("disc")[-1][2, 2] == pytest.approx(1.0, abs=1e-9)
    assert result.contact("floor").normal_force[-1] == pytest.approx(G, rel=1e-6)


def test_points_that_an_impact_opens_carry_nothing():
    result = flexmb.simulate(can(lean=0.02, direction=0.4, friction=0.5), 0.12, step=1e-3)
    assert len(result.happened) > 1
    carried = result.acceleration("can")[:, 2] + G
    assert result.contact("floor").normal_force == pytest.approx(carried, rel=1e-5)


@pytest.mark.parametrize("step", [5e-4, 1e-3])
def test_it_leaves_a_shaken_table_and_lands_upright(step):
    system = flexmb.System(gravity=(0, 0, -G))
    table = system.add(flexmb.rigid_body("table", mass=10.0, inertia=(1.0,) * 3))
    system.prismatic("lift", system.ground.at((0, 0, 0)), table.at((0, 0, 0)), axis=(0, 0, 1))
    system.drive("lift", flexmb.time_functions.harmonic(0.01, 10.0))
    body = flexmb.rigid_body("can", mass=1.0, inertia=(ABOUT_CENTRE, ABOUT_CENTRE, 0.5 * RADIUS**2))
    body = system.add(body, position=(0, 0, 0.5 * HEIGHT), velocity=(0, 0, 0.2 * np.pi))
    shapes = Plane().on(table.at((0, 0, 0))), Cylinder(RADIUS, HEIGHT).on(body.at((0, 0, 0)))
    system.contact("floor", *shapes, friction=0.5)
    result = flexmb.simulate(system, 0.3, step=step)
    assert result.contact("floor").gap.max() > 0.01
    assert np.linalg.norm(result.axes("can")[:, :2, 2], axis=1).max() < 1e-9


def test_its_gap_is_known_far_above_the_plane():
    result = flexmb.simulate(can(lean=0.1, direction=0.4, above=0.1), 0.05, step=1e-3)
    assert result.contact("floor").gap == pytest.approx(0.1 - 0.5 * G * result.t**2, abs=1e-12)


def test_derivatives_name_cylinders_that_stand():
    with pytest.raises(MechanismError, match="it stands on its rim"):
        adjoint_gradient(can, {"slope": 0.2}, 0.01, lambda result: result.position("can")[:, 0], step=1e-3)


def test_a_flexible_block_stands_on_its_foot():
    """Its foot tilts as it vibrates, so that it leans on ever new points; those without a force do not stay."""
    part = fem.Model(block("hexahedron", (0.1, 0.1, 0.2), (3, 3, 6)), fem.Material.isotropic(1e9, 0.3, 1000.0))
    part = part.with_interfaces(foot="z0")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=4), name="block", modal_damping=0.02)
    slope = G * np.array([np.sin(0.3) * np.cos(0.4), np.sin(0.3) * np.sin(0.4), -np.cos(0.3)])
    system = flexmb.System(gravity=slope)
    body = system.add(body)
    shapes = Plane().on(system.ground.at((0.05, 0.05, -0.01))), Cylinder(0.05, 0.02).on(body["foot"])
    system.contact("floor", *shapes, friction=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyBalanceWarning)  # the step does not resolve its vibration
        result = flexmb.simulate(system, 0.05, step=1e-3)
    assert np.arccos(min(result.axes("block")[-1][2, 2], 1.0)) < 1e-5
    assert result.contact("floor").normal_force[-1] == pytest.approx(-slope[2] * part.mass, rel=0.2)
