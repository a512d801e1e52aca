"""Events: instants, impacts, locks and releases against closed forms; the ledger with what impacts lose."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.events import Bounce, End, Event, EventError, Lock, Release, stop
from flexmb.files import load_model, load_result, save_result
from flexmb.measure import measure

G = 9.81


def falling():
    system = flexmb.System(gravity=(0, 0, -G), name="ball")
    ball = system.add(flexmb.rigid_body("ball", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), ball, axis=(0, 0, 1))
    return system


@pytest.mark.parametrize("integrator", ["generalised-alpha", "radau"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_bounces_at_its_times_and_comes_to_rest(restitution, integrator):
    """Instants of the bounces to round-off; what is lost is `(1 - e^2)` of the speed's energy; at rest the floor carries the weight."""
    floor = stop("floor", "guide", -1.0, upper=False, restitution=restitution)
    options = {"step": 1e-3} if integrator == "generalised-alpha" else {"integrator": integrator}
    result = flexmb.simulate(falling(), 2.0, output_step=0.01, events=[floor], **options)
    first = np.sqrt(2 / G)
    expected = [first * (1 + 2 * sum(restitution**j for j in range(1, k + 1))) for k in range(len(result.happened))]
    assert len(result.happened) == {0.0: 1, 0.5: 11, 1.0: 2}[restitution]
    np.testing.assert_allclose([h.t for h in result.happened], expected, rtol=1e-10)
    lost = [(1 - restitution**2) * 2.0 * G * restitution ** (2 * k) for k in range(len(expected))]
    if restitution == 0.5:  # comes to rest with the last of them
        lost[-1] = 2.0 * G * restitution ** (2 * (len(expected) - 1))
    np.testing.assert_allclose([h.lost for h in result.happened], lost, rtol=1e-9, atol=1e-10)
    assert np.abs(result.ledger.residual).max() < 1e-10
    if restitution < 1:
        assert result.reaction("floor")[-1, 2] == pytest.approx(2.0 * G, rel=1e-9)
        assert result.frame("ball")[0][-1, 2] == pytest.approx(-1.0, abs=1e-12)
    assert result.ledger.impacts[-1] == pytest.approx(sum(lost), rel=1e-9, abs=1e-10)


def test_a_contact_lasts_until_it_is_pulled_away():
    """A ball on its floor under a growing lift leaves it when the lift is its weight, and rises with the cube of time."""
    system = falling()
    ball = flexmb.places.BodyHandle(0, system._bodies[0])
    system.load("lift", ball.at((0, 0, 0)), force=(0, 0, 2.0 * G), factor=flexmb.motion.polynomial(0.0, 1.0))
    floor = stop("floor", "guide", 0.0, upper=False)
    result = flexmb.simulate(system, 2.0, step=1e-3, output_step=0.01, events=[floor])
    touched, left = result.happened
    assert touched.t == touched.lost == 0
    assert left.t == pytest.approx(1.0, rel=1e-7)  # found by the reaction, which the step knows to its square
    late = result.t > 1.0
    np.testing.assert_allclose(result.frame("ball")[0][late, 2], G * (result.t[late] - 1.0) ** 3 / 6, atol=1e-6)
    resting = result.t < 0.99
    np.testing.assert_allclose(result.reaction("floor")[resting, 2], 2.0 * G * (1 - result.t[resting]), atol=1e-9)


def test_what_starts_beyond_its_stop_is_told():
    with pytest.raises(EventError, match=r"starts beyond the stop 'floor' by 0\.2"):
        flexmb.simulate(falling(), 1.0, events=[stop("floor", "guide", 0.2, upper=False)])


def test_a_lock_keeps_the_angular_momentum_and_loses_the_rest():
    """The elbow of a double pendulum without gravity locks: one rigid body of the same momentum about the hinge (closed form)."""
    system = double_pendulum(gravity=0.0)
    system.set_speed("hinge", 1.0)
    system.set_speed("elbow", 2.0)
    lock = Event("latch", lambda r: r.coordinate("elbow") - 0.3, Lock("elbow"))
    result = flexmb.simulate(system, 1.0, integrator="radau", tolerance=1e-10, output_step=0.01, events=[lock])
    (latched,) = result.happened
    bodies = result.mechanism.bodies
    J = bodies[0].invariants.J0[2, 2]

    def momentum(k):
        total = 0.0
        for b, body in enumerate(bodies):
            r, R = (x[k] for x in result.frame(body.name))
            v, omega = R @ result.w[k, 6 * b : 6 * b + 3], result.w[k, 6 * b + 5]
            centre = R @ [0.5, 0, 0]
            total += np.cross(r + centre, v + np.cross([0, 0, omega], centre))[2] + (J - 0.25) * omega
        return total

    before, after = np.searchsorted(result.t, latched.t) - 1, len(result.t) - 1
    assert momentum(after) == pytest.approx(momentum(before), rel=1e-7)
    distance = np.linalg.norm(result.position("second.end")[after] / 2 + result.position("second.start")[after] / 2)
    whole = J + (J - 0.25) + distance**2
    assert result.w[after, 5] == pytest.approx(momentum(before) / whole, rel=1e-7)
    kinetic = result.ledger.kinetic
    assert latched.lost == pytest.approx(kinetic[before] - kinetic[after], rel=1e-6)
    np.testing.assert_allclose(result.coordinate("elbow")[after], 0.3, atol=1e-10)
    assert np.abs(result.ledger.residual).max() < 1e-6 * kinetic[0]
    assert np.abs(result.reaction("latch")[after]).max() > 0


def test_what_was_released_flies_on():
    """A pendulum let go at its lowest point: the parabola of its mass centre, and a constant spin."""
    system = flexmb.System(gravity=(0, 0, -G))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    let_go = Event("let go", lambda r: r.coordinate("hinge") - np.pi / 2, Release("hinge"))
    result = flexmb.simulate(system, 1.5, integrator="radau", tolerance=1e-10, output_step=0.01, events=[let_go])
    J = result.mechanism.bodies[0].invariants.J0[1, 1]
    speed = np.sqrt(G / J)  # all of the weight's work is energy of rotation about the hinge
    free = result.t > result.happened[0].t
    t = result.t[free] - result.happened[0].t
    np.testing.assert_allclose(result.w[free, 4], speed, rtol=1e-8)
    r, R = result.frame("rod")
    centre = (r + 0.5 * R[:, :, 0])[free]
    np.testing.assert_allclose(centre, np.stack([-0.5 * speed * t, 0 * t, -0.5 - G * t**2 / 2], axis=1), atol=1e-7)
    assert not result.reaction("hinge")[free].any()
    assert np.abs(result.ledger.residual).max() < 1e-7


def test_a_lock_can_be_released_again():
    """Held for a while by a latch, let go by a second event, with the energy that was left."""
    system = double_pendulum()
    latch = Event("latch", lambda r: r.coordinate("elbow") - 0.2, Lock("elbow"))
    free = Event("free", lambda r: r.t - 0.9, Release("latch"))
    result = flexmb.simulate(system, 1.5, step=1e-3, output_step=0.01, events=[latch, free])
    assert [h.event for h in result.happened] == ["latch", "free"]
    held = (result.t > result.happened[0].t) & (result.t < 0.9)
    np.testing.assert_allclose(result.coordinate("elbow")[held], 0.2, atol=1e-9)
    assert np.ptp(result.coordinate("elbow")[result.t > 0.9]) > 0.1
    assert np.abs(result.ledger.residual).max() < 1e-5 * result.ledger.exchange


def test_a_flexible_body_hits_a_stop_and_rings():
    """All energy is accounted for: what the impact loses, and what goes into vibration."""
    system = flexible_pendulum(np.random.default_rng(5), second_order=True)
    limit = stop("limit", "hinge", -1.2, upper=False, restitution=0.3)
    result = flexmb.simulate(system, 1.0, step=2e-4, output_step=2e-3, events=[limit])
    assert len(result.happened) >= 2
    assert result.ledger.impacts[-1] > 0.1
    assert result.coordinate("hinge").min() > -1.2 - 1e-9
    assert np.abs(result.ledger.residual).max() < 2e-4 * result.ledger.exchange
    assert np.ptp(result.elastic("random")[-100:], axis=0).max() > 1e-3


def test_the_restart_is_of_second_order():
    """The end of a motion through a lock: errors fall by four with half the step."""

    def end(**options):
        latch = Event("latch", lambda r: r.coordinate("elbow") - 0.2, Lock("elbow"))
        return flexmb.simulate(double_pendulum(), 1.2, output_step=0.02, events=[latch], **options)

    exact = end(integrator="radau", tolerance=1e-11)
    runs = [end(step=h) for h in (2e-3, 1e-3)]
    for seen in (
        lambda r: r.position("second.end")[-1],
        lambda r: r.velocity("second.end")[-1],
        lambda r: r.happened[0].t,
        lambda r: r.happened[0].lost,
    ):
        coarse, fine = (np.abs(seen(run) - seen(exact)).max() for run in runs)
        assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)


def test_a_wound_up_spring_stays_wound_up():
    """An event in the third turn of a torsion spring changes nothing."""
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.joint_spring("spring", "axle", stiffness=0.04)
    system.set_speed("axle", 4.0)  # an amplitude of twenty radians
    nothing = Event("nothing", lambda r: r.t - 4.0)
    plain = flexmb.simulate(system, 12.0, step=1e-3, output_step=0.02)
    watched = flexmb.simulate(system, 12.0, step=1e-3, output_step=0.02, events=[nothing])
    assert plain.coordinate("axle").max() > 19.0
    np.testing.assert_allclose(watched.coordinate("axle"), plain.coordinate("axle"), atol=1e-6)
    np.testing.assert_allclose(watched.ledger.springs, plain.ledger.springs, atol=1e-5)


def test_the_end_comes_with_its_event(tmp_path):
    over = Event("ground", lambda r: -1.0 - r.frame("ball")[0][:, 2], End())
    result = flexmb.simulate(falling(), 2.0, step=1e-3, output_step=0.05, events=[over])
    assert result.t[-1] == pytest.approx(np.sqrt(2 / G), rel=1e-12)
    assert len(result.t) == len(result.q) == len(result.ledger.kinetic)
    assert "ground" in str(result)
    loaded = load_result(save_result(result, tmp_path / "fall.h5"))
    assert loaded.happened == result.happened
    np.testing.assert_array_equal(loaded.ledger.impacts, result.ledger.impacts)


def test_bad_events_are_told():
    with pytest.raises(EventError, match="restitution is between 0"):
        stop("floor", "guide", 0.0, restitution=2.0)
    with pytest.raises(EventError, match=r"names of their own.*guide"):
        flexmb.simulate(falling(), 0.1, events=[Event("guide", measure("coordinate:guide"))])
    with pytest.raises(flexmb.FlexmbError, match="no joint named 'gide'"):
        flexmb.simulate(falling(), 0.1, events=[Event("x", measure("coordinate:guide"), Lock("gide"))])
    with pytest.raises(EventError, match="one finite number"):
        flexmb.simulate(falling(), 0.1, events=[Event("x", lambda r: r.q)])
    buzz = Event("buzz", measure("coordinate:guide"), Bounce("guide", True, 1.0))
    assert flexmb.simulate(falling(), 0.1, step=1e-3, events=[buzz]).happened == ()


MODEL = """
name = "ball"
gravity = [0, 0, -9.81]
simulation = { duration = 1.0, step = 1e-3, output_step = 0.01 }
bodies.ball = { kind = "rigid", mass = 2, inertia = [1, 1, 1] }
[[joints]]
name = "guide"
kind = "prismatic"
a = "ground"
b = "ball"
at = [0, 0, 0]
axis = [0, 0, 1]
[[stops]]
name = "floor"
joint = "guide"
lower = -1.0
restitution = 0.5
[[events]]
name = "high"
measure = "velocity:guide.b:z"
above = 1.0
"""


def test_model_files_have_stops_and_events(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ball.toml"
    path.write_text(MODEL)
    done = CliRunner().invoke(app, ["run", str(path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "lost in impacts" in done.output
    assert "0.451523641  floor, energy lost 14.715" in done.output
    for wrong, told in (
        ("lower = -1.0\nupper = 1.0", "either upper"),
        ("lower = -1.0\nlimit = 3", "no key named 'limit'"),
    ):
        path.write_text(MODEL.replace("lower = -1.0", wrong))
        with pytest.raises(flexmb.FlexmbError, match=told):
            load_model(path)
