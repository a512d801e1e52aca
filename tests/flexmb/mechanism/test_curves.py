"""Places and sliders on curves: a circle is a rod, a cam gives its displacement law, ends of curves are errors."""

import pickle

import numpy as np
import pytest

import flexmb
from flexmb.equations.initial_conditions import consistent_state
from flexmb.files.results.result_file import load_result, save_result

RADIUS = 0.3
CIRCLE = flexmb.curves.of_functions(
    lambda s: RADIUS * np.cos(s), lambda s: RADIUS * np.sin(s), 0.0, 2 * np.pi, closed=True
)


def bead(kind, speed=2.0, curve=CIRCLE, place=(RADIUS, 0, 0)):
    """A body with a place on a circle, by a curve or by a rod, or a slider there or a hinge."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = flexmb.rigid_body("bead", mass=1.0, inertia=(0.01, 0.02, 0.03), points={"centre": (0, 0, 0)})
    body = system.add(body, position=place, velocity=(0, speed, 0), angular_velocity=(0, 0, speed / RADIUS))
    origin, own = system.ground.at((0, 0, 0)), body.at((0, 0, 0))
    if kind == "curve":
        system.point_on_curve("track", origin, own, curve)
    elif kind == "rod":
        system.distance("track", origin, own)
        system.in_plane("plane", system.ground, body, normal=(0, 0, 1), at=place)
    elif kind == "slider":
        system.slider_on_curve("track", origin, own, curve)
    else:
        system.revolute("track", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    return system


@pytest.mark.parametrize("pair", [("curve", "rod"), ("slider", "hinge")])
def test_a_circle_is_a_rod_and_for_a_slider_a_hinge(pair):
    """Also the reactions, which depend on the curvature and its rate."""
    found, known = (flexmb.simulate(bead(kind), 0.5, method="radau", tolerance=1e-9) for kind in pair)
    assert found.q == pytest.approx(known.q, abs=1e-7)
    forces = [np.linalg.norm(r.reaction("track")[:, :3], axis=1) for r in (found, known)]
    assert forces[0] == pytest.approx(forces[1], rel=1e-6)
    assert found.ledger.imbalance < 1e-6


@pytest.mark.parametrize("distance", [-0.5, -0.3, 0.2])
def test_a_roller_of_any_size_runs_outside_of_a_circle_and_one_that_fits_within_it(distance):
    """Its centre is on a circle, too: outside of a curve that is convex no roller is too large."""
    radius = RADIUS - distance
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = flexmb.rigid_body("bead", mass=1.0, inertia=(0.01, 0.02, 0.03))
    body = system.add(body, position=(radius, 0, 0), velocity=(0, radius, 0))
    system.point_on_curve("track", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), CIRCLE, offset=distance)
    result = flexmb.simulate(system, 0.05, step=1e-3)
    places = result.position("bead")
    assert np.linalg.norm(places, axis=1) == pytest.approx(radius, rel=1e-7)
    angle = np.arctan2(places[-1, 1], places[-1, 0])
    assert 0.5 * (radius * 1.0) ** 2 - 9.81 * radius * np.sin(angle) == pytest.approx(
        0.5 * np.linalg.norm(result.velocity("bead")[-1]) ** 2, abs=1e-5
    )


@pytest.mark.parametrize(
    "method", ["hht", "energy-momentum", *(pytest.param(name, marks=pytest.mark.long) for name in ("bdf", "explicit"))]
)
def test_integrators_follow_a_curve(method):
    options = {"step": 2e-3} if method in ("hht", "energy-momentum") else {"tolerance": 1e-7}
    found, known = (flexmb.simulate(bead(k), 0.2, method=method, **options) for k in ("curve", "rod"))
    assert found.position("bead.centre")[-1] == pytest.approx(known.position("bead.centre")[-1], abs=1e-6)
    assert found.ledger.imbalance < 1e-3


def cam(lift=0.02, radius=0.1, roller=0.015, speed=6.0):
    """A cam whose roller moves a tappet along y by `lift (1 - cos(2 angle)) / 2`."""

    def pitch(s):
        return radius + roller + 0.5 * lift * (1 - np.cos(2 * s))

    # the tappet is at the angle 90 degrees of the world; the cam turns by the angle a, so that it sees it at 90 - a
    curve = flexmb.curves.of_functions(
        lambda s: pitch(np.pi / 2 - s) * np.cos(s),
        lambda s: pitch(np.pi / 2 - s) * np.sin(s),
        0,
        2 * np.pi,
        closed=True,
    )
    system = flexmb.System(gravity=(0, -9.81, 0))
    disc = system.add(flexmb.rigid_body("cam", mass=1.0, inertia=(0.01, 0.01, 0.02)))
    system.revolute("shaft", system.ground, disc, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("shaft", flexmb.time_functions.constant_speed(speed))
    tappet = system.add(flexmb.rigid_body("tappet", mass=0.5, inertia=(1, 1, 1)), position=(0, radius + roller, 0))
    system.prismatic("guide", system.ground, tappet, axis=(0, 1, 0), at=(0, radius + roller, 0))
    system.point_on_curve("roller", disc.at((0, 0, 0)), tappet.at((0, 0, 0)), curve, in_plane=False)
    return system


def test_a_cam_gives_its_displacement_law_and_the_force_of_its_acceleration():
    lift, speed = 0.02, 6.0
    result = flexmb.simulate(cam(lift, speed=speed), 1.0, step=5e-4, rho_inf=0.6)
    angle = speed * result.t
    assert result.coordinate("guide") == pytest.approx(0.5 * lift * (1 - np.cos(2 * angle)), abs=1e-9)
    acceleration = 0.5 * lift * (2 * speed) ** 2 * np.cos(2 * angle)
    push = result.reaction("roller")[:, 1]
    assert push[20:] == pytest.approx(0.5 * (9.81 + acceleration[20:]), abs=2e-4)
    torque = result.drive_effort("shaft")  # power of the drive = power of the tappet
    rate = lift * speed * np.sin(2 * angle)
    assert torque[20:] * speed == pytest.approx(push[20:] * rate[20:], abs=1e-3)


def test_the_offset_of_a_roller_follows_the_profile():
    curve = flexmb.curves.of_functions(lambda s: 0.2 * np.cos(s), lambda s: 0.2 * np.sin(s), 0, 2 * np.pi, closed=True)
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0.25, 0, 0))
    system.point_on_curve("rim", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), curve, offset=-0.05)
    result = flexmb.simulate(system, 0.5, step=2e-3)
    assert np.linalg.norm(result.q[:, :2], axis=1) == pytest.approx(0.25, abs=1e-8)
    with pytest.raises(flexmb.CurveError, match=r"smallest radius on that side is 0\.2"):
        system.point_on_curve("inside", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), curve, offset=0.21)


def test_leaving_the_end_of_an_open_curve_is_an_error_that_names_the_joint():
    slide = flexmb.curves.through([(0.1 * k, 0.02 * k * (k - 5)) for k in range(8)])
    system = bead("curve", speed=0.0, curve=slide, place=(0.5, 0, 0))
    with pytest.raises(flexmb.CurveError, match=r"At t = 1\.8\d+ 'track' .* reaches the end of its open curve"):
        flexmb.simulate(system, 3.0, step=1e-3)
    with pytest.raises(flexmb.CurveError, match="beyond the end of an open curve"):
        bead("curve", curve=slide, place=(1.5, 2.0, 0))


def test_what_is_no_curve_is_refused():
    through = flexmb.curves.through
    with pytest.raises(flexmb.CurveError, match="at least six points"):
        through([(0, 0), (1, 0)])
    with pytest.raises(flexmb.CurveError, match="at least six points"):
        through([(0, 0), (1, 0), (2,), (3, 0), (4, 0), (5, 0)])
    with pytest.raises(flexmb.CurveError, match=r"found \[2\. 0\.\] twice, as points 3 and 4"):
        through([(0, 0), (1, 0), (2, 0), (2, 0), (3, 0), (4, 0)])
    eight = [(np.sin(s), np.sin(2 * s)) for s in np.linspace(0, 2 * np.pi, 40, endpoint=False)]
    with pytest.raises(flexmb.CurveError, match="must not cross itself"):
        through(eight, closed=True)
    with pytest.raises(flexmb.CurveError, match="ends where it begins"):
        flexmb.curves.of_functions(lambda s: s, lambda s: 0.0, 0, 1, closed=True)
    with pytest.raises(flexmb.CurveError, match="finite"):
        through([(0, 0), (1, 0), (2, 0), (np.nan, 0), (3, 0), (4, 0)])
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("bead", mass=1.0, inertia=(1, 1, 1)))
    for normal, x in (((2, 0, 0), (1, 0, 0)), ((1, 1, 0), (-1, -1, 0))):
        with pytest.raises(flexmb.JointError, match=r"'track': x is the direction .* across its normal; found x="):
            system.point_on_curve("track", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), CIRCLE, normal=normal, x=x)
    with pytest.raises(flexmb.CurveError, match="expected a curve"):
        bead("curve", curve=[(0, 0)])


def test_a_curve_travels_and_a_result_keeps_it(tmp_path):
    again = pickle.loads(pickle.dumps(CIRCLE))
    assert (again.data == CIRCLE.data).all()
    assert CIRCLE.distance((0.2, 0.0)) == pytest.approx(0.1, abs=1e-9)
    result = flexmb.simulate(bead("curve"), 0.1, step=1e-3)
    loaded = load_result(save_result(result, tmp_path / "bead.h5"))
    assert (loaded.mechanism.curves[0].data == CIRCLE.data).all()
    once, twice = (flexmb.simulate(m, 0.1, step=1e-3, initial_state=result) for m in (loaded.mechanism, bead("curve")))
    assert once.q == pytest.approx(twice.q, abs=1e-14)


@pytest.mark.parametrize("angle", [0.0, 0.7, 4.0])
def test_a_slider_starts_as_it_is_drawn_on_a_curve_in_any_plane(angle):
    """It turns with the tangent from the direction in which it is drawn there."""
    R = flexmb.lie.rotation_exp(np.array([0.4, -0.7, 1.1]))
    system = flexmb.System()
    place = R @ [RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0.0]
    body = system.add(flexmb.rigid_body("bead", mass=1.0, inertia=(0.01, 0.02, 0.03)), position=place)
    own = body.at((0, 0, 0))
    system.slider_on_curve("track", system.ground.at((0, 0, 0)), own, CIRCLE, normal=R[:, 2], x=R[:, 0])
    assert consistent_state(system.build()).assembly_displacement < 1e-9
