"""Events beside exact contacts: closed forms of bodies that fall, slide and press, with releases, locks and ends."""

import numpy as np
import pytest

import flexmb
from flexmb.contact import Box, Plane, Sphere
from flexmb.errors import ConvergenceError, EventError
from flexmb.files import load_model
from flexmb.simulation.events import Event, Lock, Release, Terminate, stop

G, SLOPE, MU = 9.81, 0.5, 0.3


def ball(latch=False):
    """A ball with its lowest point 1 above the floor, from which it rises with half its speed."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(4e-4,) * 3), position=(0, 0, 1.05))
    if latch:
        system.fixed("latch", system.ground, body, at=(0, 0, 1.05))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(0.05).on(body.at((0, 0, 0))), restitution=0.5)
    return system


def box():
    """A box on a slope steeper than friction holds, and a latch that does."""
    system = flexmb.System(gravity=(G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    body = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(4e-3,) * 3), position=(0, 0, 0.05))
    system.fixed("latch", system.ground, body, at=(0, 0, 0.05))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Box(0.4, 0.2, 0.1).on(body.at((0, 0, 0))), friction=MU)
    return system


def wedge(speed, angle=0.6, mass=2.0, own=3.0):
    """A body in a vertical guide that presses a wedge aside along a rail, both moving at the `speed` of the wedge."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=mass, inertia=(0.02,) * 3))
    side = system.add(flexmb.rigid_body("wedge", mass=own, inertia=(0.05,) * 3), position=(0, 0, -0.1))
    system.prismatic("guide", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.prismatic("rail", system.ground, side, axis=(1, 0, 0), at=(0, 0, -0.1))
    normal = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    flank = Plane().on(side.at((0, 0, 0.1) - 0.05 * normal), axis=normal)
    system.contact("flank", flank, Sphere(0.05).on(body.at((0, 0, 0))))
    system.set_speed("rail", speed)
    system.set_speed("guide", -speed * np.tan(angle))
    return system


def told(result):
    return [(record.event, pytest.approx(record.t, abs=1e-9)) for record in result.happened]


def test_an_event_after_an_impact_is_located():
    """The ball passes the height 0.2 on its way up, after its fall and an impact that is kept among the events."""
    rising = Event("up", lambda r: r.position("ball")[:, 2] - 0.2, Terminate())
    end = flexmb.simulate(ball(), 2.0, step=1e-3, events=[rising])
    touch, rebound = np.sqrt(2 / G), 0.5 * np.sqrt(2 * G)
    up = touch + (rebound - np.sqrt(rebound**2 - 2 * G * 0.15)) / G
    assert told(end) == [("floor", touch), ("up", up)]
    assert end.t[-1] == pytest.approx(up, abs=1e-9)
    assert end.happened[0].lost == pytest.approx(0.75 * G, rel=1e-8)
    assert end.ledger.impacts[-1] == pytest.approx(0.75 * G, rel=1e-8)


@pytest.mark.parametrize(
    ("measure", "least"),
    [
        (lambda r: r.velocity("ball")[:, 2] - 0.05, 0.05 / 0.8),  # upwards, by an impact
        (lambda r: -r.velocity("ball")[:, 2] - 0.05, 0.05),  # downwards, until an impact
        (lambda r: 0.05 + 1e-5 - r.position("ball")[:, 2], np.sqrt(2 * G * 1e-5)),  # near the floor
    ],
)
def test_what_lasts_shortly_beside_an_impact_is_seen(measure, least):
    """In bounces shorter than the time between two samples; those that strike with the speed `least` are to be seen."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(4e-4,) * 3), position=(0, 0, 0.06))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(0.05).on(body.at((0, 0, 0))), restitution=0.8)
    result = flexmb.simulate(system, 2.0, step=1e-3, output_step=0.5, events=[Event("seen", measure)])
    names = [record.event for record in result.happened]
    speeds = np.sqrt(2 * G * 0.01) * 0.8 ** np.arange(names.count("floor"))
    assert len(speeds) == 12
    assert names.count("seen") == np.sum(speeds > least)


def test_an_event_without_action_changes_nothing():
    rising = Event("up", lambda r: r.position("ball")[:, 2] - 0.2)
    plain, seen = (flexmb.simulate(ball(), 2.0, step=1e-3, events=events) for events in ((), (rising,)))
    np.testing.assert_allclose(seen.position("ball"), plain.position("ball"), atol=1e-9)
    np.testing.assert_allclose(seen.ledger.impacts, plain.ledger.impacts, atol=1e-9)
    assert [r.event for r in seen.happened] == ["floor", "up", *["floor"] * (len(plain.happened) - 1)]


def test_a_released_body_falls_and_strikes():
    opened = Event("open", lambda r: r.t - 0.1, Release("latch"))
    fall = flexmb.simulate(ball(latch=True), 0.7, step=1e-3, events=[opened])
    assert told(fall) == [("open", 0.1), ("floor", 0.1 + np.sqrt(2 / G))]
    assert np.abs(fall.ledger.residual).max() < 1e-9 * G


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
def test_a_released_body_slides_until_its_end(tmp_path):
    """Also from a state on the way, with the same events."""
    events = [
        Event("open", lambda r: r.t - 0.1, Release("latch")),
        Event("end", lambda r: r.position("box")[:, 0] - 0.2, Terminate()),
    ]
    slide = flexmb.simulate(box(), 2.0, step=1e-3, events=events)
    acceleration = G * (np.sin(SLOPE) - MU * np.cos(SLOPE))
    end = 0.1 + np.sqrt(2 * 0.2 / acceleration)
    assert told(slide) == [("open", 0.1), ("end", end)]
    assert slide.contact("floor").normal_force[-2] == pytest.approx(2 * G * np.cos(SLOPE), rel=1e-9)
    half = flexmb.simulate(box(), 0.25, step=1e-3, events=events)
    other = flexmb.simulate(box(), 2.0, step=1e-3, events=events, initial_state=half.state(-1))
    assert other.t[-1] == pytest.approx(end, abs=1e-9)
    with pytest.raises(EventError, match="'latch'"):
        flexmb.simulate(box(), 2.0, step=1e-3, initial_state=half.state(-1))


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_lock_strikes_the_bodies_that_touch(coordinates):
    """The wedge has come to A t and loses its energy in the lock, the body its own on the wedge, at once."""
    brake = Event("brake", lambda r: r.t - 0.1, Lock("rail"))
    braked = flexmb.simulate(wedge(0.0), 0.2, step=1e-3, events=[brake], coordinates=coordinates)
    speed = 0.1 * 2.0 * G / (2.0 * np.tan(0.6) + 3.0 / np.tan(0.6))
    assert told(braked) == [("brake", 0.1), ("flank", 0.1)]
    assert [r.lost for r in braked.happened] == pytest.approx(
        [0.5 * 3.0 * speed**2, 0.5 * 2.0 * (speed * np.tan(0.6)) ** 2], rel=1e-6
    )
    assert np.abs(braked.coordinate_rate("guide")[braked.t > 0.101]).max() < 1e-9
    assert braked.contact("flank").normal_force[-1] == pytest.approx(2.0 * G / np.cos(0.6), rel=1e-6)


def test_a_body_that_rises_leaves_what_a_lock_stops():
    """And strikes it with the speed at which it left."""
    brake = Event("brake", lambda r: r.t - 0.1, Lock("rail"))
    thrown = flexmb.simulate(wedge(-1.5), 0.4, step=1e-3, events=[brake])
    slowing = 2.0 * G / (2.0 * np.tan(0.6) + 3.0 / np.tan(0.6))
    up = (1.5 - 0.1 * slowing) * np.tan(0.6)
    assert told(thrown) == [("brake", 0.1), ("flank", 0.1 + 2 * up / G)]
    assert thrown.happened[1].lost == pytest.approx(0.5 * 2.0 * up**2, rel=1e-6)


def latched(kind, friction=0.5):
    """A box that stands on the floor, with a joint at a place aside that carries it, and leaves it no motion up."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.01, 0.03, 0.03)), position=(0, 0, 0.05))
    axis = {} if kind == "fixed" else {"axis": (0, 0, 1) if kind == "guide" else (1, 0, 0)}
    getattr(system, "fixed" if kind == "fixed" else "prismatic")(
        "latch", system.ground, body, at=(0.13, 0.07, 0.31), **axis
    )
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Box(0.4, 0.2, 0.1).on(body.at((0, 0, 0))), friction=friction)
    return system


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["fixed", "rail"])
def test_what_a_latch_carries_the_floor_carries_after_it(kind, friction):
    """Points whose rate a joint prescribes have no force; their responses are round-off, of either sign."""
    opened = Event("open", lambda r: r.t - 2e-3, Release("latch"))
    rests = flexmb.simulate(latched(kind, friction), 4e-3, step=1e-3, output_step=1e-3, events=[opened])
    floor, joint = rests.contact("floor").normal_force, rests.reaction("latch")[:, 2]
    assert floor == pytest.approx([0, 0, 2 * G, 2 * G, 2 * G], abs=1e-9)
    assert joint == pytest.approx([2 * G, 2 * G, 0, 0, 0], abs=1e-9)
    assert np.abs(rests.velocity("box")).max() < 1e-12


def test_a_lock_takes_the_load_of_what_cannot_yield_and_no_driver_presses_it_in():
    brake = Event("brake", lambda r: r.t - 2e-3, Lock("latch"))
    held = flexmb.simulate(latched("guide"), 4e-3, step=1e-3, output_step=1e-3, events=[brake])
    assert held.contact("floor").normal_force == pytest.approx([2 * G, 2 * G, 0, 0, 0], abs=1e-6)
    assert held.reaction("brake")[:, 2] == pytest.approx([0, 0, 2 * G, 2 * G, 2 * G], abs=1e-6)
    pressed = latched("guide")
    pressed.drive("latch", flexmb.time_functions.smooth_step(0.0, 0.01, -0.01))
    with pytest.raises(ConvergenceError, match=r"'floor'.*no driver press"):
        flexmb.simulate(pressed, 0.01, step=1e-3)


def atwood():
    """Two weights of 2 and 1 at the height 0.25 above the floor, on one rope."""
    system = flexmb.System(gravity=(0, 0, -G))
    floor, places = Plane().on(system.ground.at((0, 0, 0))), {"heavy": 0.0, "light": 0.5}
    for name, x in places.items():
        body = system.add(flexmb.rigid_body(name, mass=2.0 - 2 * x, inertia=(0.01,) * 3), position=(x, 0, 0.3))
        system.prismatic(f"{name} guide", system.ground, body, axis=(0, 0, 1), at=(x, 0, 0.3))
        system.contact(f"{name} strikes", floor, Sphere(0.05).on(body.at((0, 0, 0))), restitution=0.5)
    system.relation("rope", {"heavy guide": 1.0, "light guide": 1.0})
    return system


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_weights_whose_rope_is_cut_fall_and_strike(coordinates):
    cut = Event("cut", lambda r: r.t - 0.1, Release("rope"))
    fall = flexmb.simulate(atwood(), 0.4, step=1e-3, events=[cut], coordinates=coordinates)
    speed, way = 0.1 * G / 3, 0.1**2 * G / 6
    times = [0.1 + (v + np.sqrt(v**2 + 2 * G * (0.25 + z))) / G for v, z in ((-speed, -way), (speed, way))]
    assert told(fall) == [("cut", 0.1), ("heavy strikes", times[0]), ("light strikes", times[1])]
    energies = [m * (0.5 * speed**2 + G * (0.25 + z)) for m, z in ((2.0, -way), (1.0, way))]
    assert [r.lost for r in fall.happened[1:]] == pytest.approx([0.75 * e for e in energies], rel=1e-8)
    assert np.abs(fall.ledger.residual).max() < 1e-12


def test_locks_of_joints_that_a_relation_connects_act_at_once():
    """Both hold what one of them would; the first one takes the energy, and either one holds after the other is gone."""
    at = {"first": 0.1, "second": 0.1, "loose": 0.15, "free": 0.2}
    does = [Lock("heavy guide"), Lock("light guide"), Release("first"), Release("second")]
    events = [Event(n, lambda r, t=t: r.t - t, do) for (n, t), do in zip(at.items(), does, strict=True)]
    held = flexmb.simulate(atwood(), 0.22, step=1e-3, output_step=0.01, events=events)
    assert [r.lost for r in held.happened] == pytest.approx([1.5 * (0.1 * G / 3) ** 2, 0, 0, 0], rel=1e-9)
    heights = 0.3 - G / 6 * np.concatenate([held.t[:10], np.full(10, 0.1), [0.1, 0.1, 0.1]]) ** 2
    heights[21:] -= G / 6 * (held.t[21:] - 0.2) ** 2
    assert held.position("heavy")[:, 2] == pytest.approx(heights, abs=1e-9)


def cart(source, sample_time=0.01):
    """A cart over a floor that a controller leads along its rail."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("cart", mass=2.0, inertia=(0.02,) * 3), position=(0, 0, 0.3))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0.3))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(body.at((0, 0, 0))))
    law = flexmb.controllers.pid(40.0, 10.0, 8.0, filter=0.02, sample_time=sample_time)
    inputs = {"measured": source, "reference": 0.8}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:rail"})
    return system


def test_a_sampled_controller_reads_joints_that_have_been_released():
    """As a continuous one does: along the axis of the rail the cart is where its body is."""
    off = Event("off", lambda r: r.t - 0.205, Release("rail"))
    runs = [flexmb.simulate(cart(x), 0.5, step=1e-3, events=[off]) for x in ("coordinate:rail", "position:cart:x")]
    assert told(runs[0]) == [("off", 0.205), ("floor", 0.205 + np.sqrt(0.4 / G))]
    assert np.array_equal(*(run.position("cart") for run in runs))


def test_an_event_that_ends_at_the_start_ends_a_controlled_motion():
    end = Event("end", lambda r: r.t - 0.1, Terminate())
    first = flexmb.simulate(cart("coordinate:rail", None), 0.2, step=1e-3, events=[end])
    last = flexmb.simulate(cart("coordinate:rail", None), 0.2, step=1e-3, events=[end], initial_state=first.state(-1))
    assert last.t == pytest.approx([0.1])


def test_an_event_with_the_name_of_a_contact_is_refused():
    with pytest.raises(EventError, match=r"these are taken: \['floor'\]"):
        flexmb.simulate(ball(), 0.1, step=1e-3, events=[Event("floor", lambda r: r.t - 0.1)])


def test_a_stop_is_refused_by_name():
    with pytest.raises(EventError, match=r"Stops \('end'\) and exact contacts .*'flank'.*shapes that touch"):
        flexmb.simulate(wedge(0.0), 0.1, step=1e-3, events=[stop("end", "rail", 0.1)])


def test_a_model_file_has_both(tmp_path):
    """The rate rises through zero in a jump, the impact."""
    (tmp_path / "drop.toml").write_text(DROP)
    model = load_model(tmp_path / "drop.toml")
    drop = flexmb.simulate(model.system, model.duration, **model.options)
    touch = np.sqrt(2 / G)
    assert told(drop) == [("floor", touch), ("up", touch)]
    assert drop.t[-1] == pytest.approx(touch, abs=1e-9)
    assert drop.velocity("ball")[-1, 2] == pytest.approx(0.5 * np.sqrt(2 * G), rel=1e-6)


DROP = """
gravity = [0, 0, -9.81]
simulation = { duration = 2.0, step = 1e-3 }
bodies.ball = { kind = "rigid", mass = 1.0, inertia = [4e-4, 4e-4, 4e-4], position = [0, 0, 1.05] }
events = [{ name = "up", measure = "velocity:ball:z", above = 0.0, end = true }]
[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane" }
b = { place = "ball", shape = "sphere", radius = 0.05 }
restitution = 0.5
"""
