"""Events: instants, impacts, locks and releases against closed forms; the ledger with what impacts lose."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum
from model_files import model_of
from scipy.special import ellipk
from typer.testing import CliRunner

import flexmb
from flexmb.analyses.mobility import mobility
from flexmb.cli.main import app
from flexmb.errors import EquilibriumError, EventError, JointError, MechanismError
from flexmb.files import load_model, load_result, save_result
from flexmb.linear import linearise
from flexmb.results.measure import measure
from flexmb.simulation.events import Event, Lock, Release, StopImpact, Terminate, stop
from flexmb.simulation.instants import Sight, peak

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
    options = {"step": 1e-3} if integrator == "generalised-alpha" else {"method": integrator}
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


def test_too_many_events_are_told(monkeypatch):
    """A ball that bounces without loss, in a simulation that allows three."""
    monkeypatch.setattr("flexmb.simulation.event_detection.MOST", 3)
    floor = stop("floor", "guide", -1.0, upper=False, restitution=1.0)
    with pytest.raises(EventError, match=r"(?s)events.*'floor'"):
        flexmb.simulate(falling(), 5.0, step=5e-3, events=[floor])


def test_a_contact_lasts_until_it_is_pulled_away():
    """A ball on its floor under a growing lift leaves it when the lift is its weight, and rises with the cube of time."""
    system = falling()
    ball = flexmb.mechanism.attachments.BodyHandle(0, system._bodies[0])
    system.load("lift", ball.at((0, 0, 0)), force=(0, 0, 2.0 * G), factor=flexmb.time_functions.polynomial(0.0, 1.0))
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
    result = flexmb.simulate(system, 1.0, method="radau", tolerance=1e-10, output_step=0.01, events=[lock])
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
    result = flexmb.simulate(system, 1.5, method="radau", tolerance=1e-10, output_step=0.01, events=[let_go])
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

    exact = end(method="radau", tolerance=1e-11)
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
    over = Event("ground", lambda r: -1.0 - r.frame("ball")[0][:, 2], Terminate())
    result = flexmb.simulate(falling(), 2.0, step=1e-3, output_step=0.05, events=[over])
    assert result.t[-1] == pytest.approx(np.sqrt(2 / G), rel=1e-12)
    assert len(result.t) == len(result.q) == len(result.ledger.kinetic)
    assert "ground" in str(result)
    loaded = load_result(save_result(result, tmp_path / "fall.h5"))
    assert loaded.happened == result.happened
    np.testing.assert_array_equal(loaded.ledger.impacts, result.ledger.impacts)


def test_motions_have_the_same_names_in_results_and_elsewhere():
    """The name "translation z", which results give, is "translation" also where a motion is sprung, set or locked."""
    system = flexmb.System()
    sleeve = system.add(flexmb.rigid_body("sleeve", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.cylindrical("fit", system.ground, sleeve, axis=(0, 1, 0), at=(0, 0, 0))
    system.motor("push", "fit", 2.0, dof="translation z")
    system.joint_spring("twist", "fit", stiffness=0.4, dof="rotation z")
    latch = Event("latch", lambda r: r.t - 0.5, Lock("fit", "translation z"))
    start = {"fit:translation z": (0.1, 0.3), "fit:rotation z": 0.2}
    result = flexmb.simulate(system, 1.0, step=1e-3, events=[latch], initial_state=start)
    np.testing.assert_allclose(result.position("sleeve")[-1], [0, 0.1 + 0.3 * 0.5 + 0.5**2, 0], atol=1e-6)
    np.testing.assert_allclose(result.coordinate("fit", "rotation z")[-1], 0.2 * np.cos(2.0), atol=1e-5)


def test_bad_events_are_told():
    with pytest.raises(EventError, match="restitution must be between 0"):
        stop("floor", "guide", 0.0, restitution=2.0)
    with pytest.raises(EventError, match=r"names of their own.*guide"):
        flexmb.simulate(falling(), 0.1, events=[Event("guide", measure("coordinate:guide"))])
    with pytest.raises(flexmb.FlexmbError, match="no joint named 'gide'"):
        flexmb.simulate(falling(), 0.1, events=[Event("x", measure("coordinate:guide"), Lock("gide"))])
    with pytest.raises(JointError, match=r"'guide' .prismatic. has no free rotation z"):
        flexmb.simulate(falling(), 0.1, events=[Event("x", measure("coordinate:guide"), Lock("guide", "rotation z"))])
    with pytest.raises(EventError, match=r"'x': `when` must be a function of a result.*found 'coordinate:guide'"):
        Event("x", "coordinate:guide", Lock("guide"))
    with pytest.raises(EventError, match="one finite number"):
        flexmb.simulate(falling(), 0.1, events=[Event("x", lambda r: r.q)])
    buzz = Event("buzz", measure("coordinate:guide"), StopImpact("guide", True, 1.0))
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


@pytest.mark.parametrize(
    "motion",
    [flexmb.time_functions.smooth_step(0.1, 0.4, 0.3, derivatives=3), flexmb.time_functions.harmonic(0.3, 1.7)],
)
def test_a_driver_may_lead_a_joint_to_its_stop_and_not_beyond(motion):
    """As a cylinder to its end, where rounding decides whether it passes the stop, and a swing to its turn."""
    system = flexmb.System()
    rod = system.add(flexmb.rigid_body("rod", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("cylinder", system.ground, rod, axis=(1, 0, 0), at=(0, 0, 0))
    system.drive("cylinder", motion)
    led = flexmb.simulate(system, 0.6, step=5e-3, events=[stop("end", "cylinder", 0.3)])
    assert [(event.event, event.lost) for event in led.happened] == [("end", 0.0)]
    with pytest.raises(EventError, match=r"prescribe a speed of .* of 'end'"):
        flexmb.simulate(system, 0.6, step=5e-3, events=[stop("end", "cylinder", 0.3 - 1e-6)])


def test_an_equilibrium_of_a_model_file_beyond_a_stop_is_refused(tmp_path, monkeypatch):
    """A ball on a spring that would carry it below the floor, and on a stiffer one that does not."""
    monkeypatch.chdir(tmp_path)
    for rests in (-0.9, -1.2):
        spring = f'[[joint_springs]]\nname = "spring"\njoint = "guide"\nstiffness = {-2 * 9.81 / rests}\n'
        (tmp_path / "ball.toml").write_text(MODEL + spring)
        told = CliRunner().invoke(app, ["equilibrium", "ball.toml"])
        assert told.exit_code == (rests < -1), told.output
    response = ["--input", "push", "--output", "position:ball:z", "--band", "1:10:3"]
    mass = ["--vary", "bodies.ball.mass=1,2"]
    for verb, *words in (
        ["equilibrium"],
        ["modes"],
        ["response", *response],
        ["campbell", "--rest", *mass],
        ["campbell", *mass],
    ):
        with pytest.raises(EquilibriumError, match=r"beyond the stop 'floor' by 0\.2"):
            CliRunner().invoke(app, [verb, "ball.toml", *words], catch_exceptions=False)
    stiffness = ["--vary", "joint_springs.spring.stiffness=10,40"]  # the heavier ball is beyond the stop on the softer
    told = CliRunner().invoke(app, ["campbell", "ball.toml", "--rest", *mass, *stiffness], catch_exceptions=False)
    assert "3 of 4 points have an equilibrium" in " ".join(told.output.split())


def test_stops_of_model_files_are_plastic_and_events_without_an_action_go_on(tmp_path):
    text = MODEL.replace("restitution = 0.5\n", "").replace("above = 1.0", "below = -1.0")
    model = model_of(tmp_path, text)
    result = flexmb.simulate(model.system, model.duration, **model.options)
    assert [record.event for record in result.happened] == ["high", "floor"]
    assert result.t[-1] == 1.0
    assert result.coordinate("guide")[-1] == pytest.approx(-1.0, abs=1e-9)


# at one instant -------------------------------------------------------------------------------------------------------

INTEGRATORS = {
    "generalised-alpha": {"step": 2e-3},
    "adaptive": {},
    "joint": {"coordinates": "joint", "step": 2e-3},
    "hht": {"method": "hht", "step": 2e-3},
    "radau": {"method": "radau"},
    "bdf": {"method": "bdf", "tolerance": 1e-8},
    "explicit": {"method": "explicit"},
    "explicit joint": {"method": "explicit", "coordinates": "joint"},
    "energy-momentum": {"method": "energy-momentum", "step": 1e-2},
}


def several(masses, axis=(0, 0, 1), gravity=G):
    """Masses that move along guides of their own."""
    system = flexmb.System(gravity=(0, 0, -gravity), name="several")
    for k, mass in enumerate(masses):
        body = system.add(flexmb.rigid_body(f"mass{k}", mass=mass, inertia=(1, 1, 1)), position=(k, 0, 0))
        system.prismatic(f"guide{k}", system.ground.at((k, 0, 0)), body, axis=axis)
    return system


@pytest.mark.parametrize("options", INTEGRATORS.values(), ids=INTEGRATORS.keys())
def test_masses_that_arrive_together_all_bounce(options):
    """Three masses on three stops, the motion stored at its end only: each bounces as one alone does, with every integrator."""
    stops = [stop(f"floor{k}", f"guide{k}", -1.0, upper=False, restitution=0.5) for k in range(3)]
    result = flexmb.simulate(several([2.0, 2.0, 5.0]), 1.0, output_step=1.0, events=stops, **options)
    first = np.sqrt(2 / G)
    assert [h.event for h in result.happened] == ["floor0", "floor1", "floor2"] * 2
    np.testing.assert_allclose([h.t for h in result.happened], [first] * 3 + [2 * first] * 3, rtol=1e-7)
    energies = np.array([2.0, 2.0, 5.0]) * G
    np.testing.assert_allclose([h.lost for h in result.happened], [*0.75 * energies, *0.1875 * energies], rtol=1e-6)
    t = 1.0 - 2 * first
    expected = -1.0 + 0.25 * np.sqrt(2 * G) * t - G * t * t / 2
    np.testing.assert_allclose([result.frame(f"mass{k}")[0][-1, 2] for k in range(3)], expected, atol=1e-6)


def bar_over_stops(mass=1.0):
    """A bar that two light feet carry on vertical guides: it can fall flat."""
    system = flexmb.System(gravity=(0, 0, -G), name="bar")
    bar = system.add(flexmb.uniform_rod("bar", mass=mass, length=1.0))
    feet = [system.add(flexmb.rigid_body(n, mass=1e-3, inertia=(1e-6,) * 3), position=(x, 0, 0)) for n, x in (("left", 0), ("right", 1))]  # fmt: skip
    for foot, name, x in zip(feet, ("lift", "right lift"), (0, 1), strict=True):
        system.prismatic(name, system.ground.at((x, 0, 0)), foot, axis=(0, 0, 1))
    system.spherical("pin", feet[0], bar["start"])
    system.joint("point-on-line", "slot", bar["end"], feet[1], axis=(1, 0, 0))
    return system


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_a_bar_that_falls_flat_hits_both_stops_at_once(restitution):
    stops = [stop(n, j, -0.5, upper=False, restitution=restitution) for n, j in (("a", "lift"), ("b", "right lift"))]
    result = flexmb.simulate(bar_over_stops(), 0.45, step=1e-3, output_step=0.45, events=stops)
    fall, energy = np.sqrt(1.0 / G), 1.002 * G * 0.5
    assert [h.event for h in result.happened] == ["a", "b"]
    np.testing.assert_allclose([h.t for h in result.happened], fall, rtol=1e-12)
    np.testing.assert_allclose([h.lost for h in result.happened], (1 - restitution**2) * energy / 2, rtol=1e-10)
    t = 0.45 - fall
    height = -0.5 + (restitution * np.sqrt(G) * t - G * t * t / 2 if restitution else 0.0)
    np.testing.assert_allclose(result.position("bar.end")[-1], [1.0, 0.0, height], atol=1e-9)
    if restitution == 0:
        forces = [result.reaction(name)[-1, 2] for name in ("a", "b")]
        np.testing.assert_allclose(forces, 1.002 * G / 2, rtol=1e-9)


@pytest.mark.parametrize("output_step", [1.0, 0.1, 0.03125])
def test_what_happens_at_one_time_happens_altogether(output_step):
    """Locks, a release and the end, at the start, at times that are stored and at ones that are not; times that differ by round-off."""
    events = [
        Event("at the start", lambda r: r.t, Lock("guide0")),
        Event("one", lambda r: r.t - 0.2, Lock("guide1")),
        Event("two", lambda r: r.t - 0.1 - 0.1, Lock("guide2")),
        Event("late", lambda r: r.t - 0.7, Release("at the start")),
        Event("later", lambda r: r.t - 0.7, Release("two")),
        Event("never", lambda r: r.t * 0.0),
        Event("positive", lambda r: r.t + 1.0),
        Event("end", lambda r: r.t - 1.0, Terminate()),
        Event("nothing", lambda r: r.t - 1.0),
    ]
    result = flexmb.simulate(several([1.0, 2.0, 3.0]), 1.0, step=1e-3, output_step=output_step, events=events)
    names = ["at the start", "one", "two", "late", "later", "end", "nothing"]
    assert [h.event for h in result.happened] == names
    np.testing.assert_allclose([h.t for h in result.happened], [0, 0.2, 0.2, 0.7, 0.7, 1, 1], atol=1e-14)
    np.testing.assert_allclose(
        [h.lost for h in result.happened], [0, 0.04 * G * G, 0.06 * G * G, 0, 0, 0, 0], rtol=1e-9
    )
    heights = [result.frame(f"mass{k}")[0][-1, 2] for k in range(3)]
    np.testing.assert_allclose(heights, [-G * 0.045, -G * 0.02, -G * 0.065], atol=1e-9)
    assert np.abs(result.ledger.residual).max() < 1e-9


def test_an_impact_that_makes_a_measure_jump_past_zero_makes_its_event_happen():
    """The velocity after a bounce is above the threshold at once; the event lets the other mass go at that instant."""
    latch = Event("latch", lambda r: r.t, Lock("guide1"))
    free = Event("free", measure("velocity:guide0.b:z"), Release("latch"))
    floor = stop("floor", "guide0", -1.0, upper=False, restitution=1.0)
    result = flexmb.simulate(several([1.0, 1.0]), 0.6, step=1e-3, output_step=0.6, events=[latch, free, floor])
    fall = np.sqrt(2 / G)
    assert [h.event for h in result.happened] == ["latch", "floor", "free"]
    np.testing.assert_allclose([h.t for h in result.happened], [0, fall, fall], rtol=1e-12, atol=1e-14)
    assert result.frame("mass1")[0][-1, 2] == pytest.approx(-G * (0.6 - fall) ** 2 / 2, abs=1e-9)


def balls_in_a_row(count, speed=1.0):
    """The first runs towards the others, which stand."""
    system = flexmb.System(name="balls")
    balls = [system.add(flexmb.rigid_body(f"ball{k}", mass=1.0, inertia=(1, 1, 1)), position=(k, 0, 0)) for k in range(count)]  # fmt: skip
    system.prismatic("track", system.ground.at((0, 0, 0)), balls[0], axis=(1, 0, 0))
    system.set_speed("track", speed)
    for k in range(1, count):
        system.prismatic(f"between{k}", balls[k - 1], balls[k], axis=(1, 0, 0), at=(0, 0, 0))
        system.set_speed(f"between{k}", -speed if k == 1 else 0.0)
    return system


@pytest.mark.parametrize("restitution", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("gap", [1e-3, pytest.param(1e-13, marks=pytest.mark.long), 0.0])
def test_newtons_cradle(gap, restitution):
    """Impacts that cause impacts; balls that touch without force pass them on at one instant."""
    stops = [stop(f"hit{k}", f"between{k}", -(0.1 if k == 1 else gap), upper=False, restitution=restitution) for k in (1, 2, 3)]  # fmt: skip
    result = flexmb.simulate(balls_in_a_row(4), 0.3, step=1e-3, output_step=0.3, events=stops)
    speeds = result.w[-1, ::6]
    assert speeds.sum() == pytest.approx(1.0, abs=1e-10)
    assert (np.diff(speeds) > -1e-9).all()  # nobody runs into the next one
    lost = sum(h.lost for h in result.happened)
    assert lost == pytest.approx(0.5 - 0.5 * (speeds**2).sum(), abs=1e-10)
    assert min(h.lost for h in result.happened) >= 0
    if restitution == 1.0:
        np.testing.assert_allclose(speeds, [0, 0, 0, 1], atol=1e-9)
    if restitution == 0.0:
        np.testing.assert_allclose(speeds, 0.25, atol=1e-9)


def mass_and_hammer(speed):
    """A mass of 2 kg at rest on its floor; a hammer of 1 kg comes from below."""
    system = flexmb.System(gravity=(0, 0, -G), name="hammer")
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    hammer = system.add(flexmb.rigid_body("hammer", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, -0.1))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass, axis=(0, 0, 1))
    system.prismatic("between", mass, hammer, axis=(0, 0, 1), at=(0, 0, 0))
    system.set_speed("guide", 0.0)
    system.set_speed("between", speed)
    return system


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_resting_mass_that_is_hit_from_below_leaves_its_floor(restitution):
    """The loss is that of two free masses, `(1 - e^2) mu v^2 / 2`; the speeds are theirs; the ledger closes."""
    floor = stop("floor", "guide", 0.0, upper=False)
    hit = stop("hit", "between", 0.1, restitution=restitution)
    result = flexmb.simulate(mass_and_hammer(3.0), 0.04, step=1e-3, output_step=1e-3, events=[floor, hit])
    assert [(h.event, h.t > 0) for h in result.happened] == [("floor", False), ("floor", True), ("hit", True)]
    left, impact = result.happened[1:]
    assert left.lost == 0
    speed = np.sqrt(9.0 - 2 * G * 0.1)  # of the hammer, against gravity
    assert impact.lost == pytest.approx((1 - restitution**2) * (2 / 3) * speed**2 / 2, rel=1e-9, abs=1e-12)
    first = np.searchsorted(result.t, impact.t)
    together = speed / 3 - G * (result.t[first] - impact.t)
    assert result.velocity("guide.b")[first, 2] == pytest.approx(together + restitution * speed / 3, rel=1e-9)
    assert np.abs(result.ledger.residual).max() < 1e-10


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_resting_mass_that_is_hit_from_above_stays_on_its_floor(restitution):
    """Its floor, from which it would bounce, holds it in the impact: the hammer meets as much as a wall. By round-off of
    a velocity that was zero it left its floor, and came back in steps of 1e-8 without end."""
    system = flexmb.System(gravity=(0, 0, -G))
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    hammer = system.add(flexmb.rigid_body("hammer", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.1))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass, axis=(0, 0, 1))
    system.prismatic("between", mass, hammer, axis=(0, 0, 1), at=(0, 0, 0))
    floor = stop("floor", "guide", 0.0, upper=False, restitution=0.8)
    hit = stop("hit", "between", -0.1, upper=False, restitution=restitution)
    fall = np.sqrt(0.2 / G)
    result = flexmb.simulate(system, fall + 0.02, step=1e-3, events=[floor, hit])
    assert [h.event for h in result.happened] == ["floor", "hit"]
    np.testing.assert_allclose(result.velocity("mass"), 0.0, atol=1e-9)
    after = restitution * np.sqrt(0.2 * G) - G * 0.02 if restitution else 0.0
    assert result.velocity("hammer")[-1, 2] == pytest.approx(after, abs=1e-8)
    assert result.happened[1].lost == pytest.approx((1 - restitution**2) * G * 0.1, abs=1e-9)


def test_a_light_mass_between_heavy_ones_collapses_and_the_ledger_closes():
    """It goes to and fro between both at one instant, in ever smaller impacts, until a last one is plastic."""
    system = flexmb.System(gravity=(0, 0, -G))
    below = system.ground.at((0, 0, 0))
    for name, mass in (("a", 8.0), ("b", 0.2), ("c", 8.0)):
        body = system.add(flexmb.rigid_body(name, mass=mass, inertia=(1, 1, 1)))
        system.prismatic(f"under {name}", below, body, axis=(0, 0, 1), at=(0, 0, 0))
        below = body
    places = (("floor", "under a", -0.2, 0.6), ("second", "under b", -0.05, 0.3), ("third", "under c", 0.0, 0.3))
    events = [stop(name, joint, place, upper=False, restitution=e) for name, joint, place, e in places]
    ledger = flexmb.simulate(system, 0.25, step=1e-2, events=events).ledger
    assert np.abs(ledger.residual).max() < 1e-11 * ledger.exchange


def test_a_stack_of_resting_masses_that_is_hit_stays():
    """Each mass rests on the one below, and the lowest on the floor."""
    system = flexmb.System(gravity=(0, 0, -G))
    below = system.ground.at((0, 0, 0))
    for name, mass, height in (("a", 2.0, 0.0), ("b", 3.0, 0.0), ("hammer", 1.0, 0.1)):
        body = system.add(flexmb.rigid_body(name, mass=mass, inertia=(1, 1, 1)), position=(0, 0, height))
        system.prismatic(f"under {name}", below, body, axis=(0, 0, 1), at=(0, 0, 0))
        below = body
    places = (("floor", "under a", 0.0, 0.8), ("second", "under b", 0.0, 0.7), ("hit", "under hammer", -0.1, 0.5))
    events = [stop(name, joint, place, upper=False, restitution=e) for name, joint, place, e in places]
    result = flexmb.simulate(system, np.sqrt(0.2 / G) + 0.02, step=1e-3, events=events)
    assert [h.event for h in result.happened] == ["floor", "second", "hit"]
    expected = [0.0, 0.0, 0.5 * np.sqrt(0.2 * G) - G * 0.02]
    np.testing.assert_allclose([result.velocity(n)[-1, 2] for n in ("a", "b", "hammer")], expected, atol=1e-8)


@pytest.mark.parametrize("integrator", ["generalised-alpha", "radau", "explicit"])
def test_a_contact_without_force_lasts_and_lets_go_when_it_is_pulled(integrator):
    """A rotor without gravity at a plastic stop: it stays to round-off; a moment that pulls it back from t = 3 on takes it along."""
    system = flexmb.System(name="rotor")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.set_speed("axle", 1.0)
    back = flexmb.time_functions.smooth_step(3.0, 0.5, 1.0)
    system.load("pull", wheel.at((0, 0, 0)), moment=(0, 0, -0.1), factor=back)
    options = {"step": 2e-3} if integrator == "generalised-alpha" else {"method": integrator}
    result = flexmb.simulate(system, 4.0, output_step=0.05, events=[stop("stop", "axle", 0.5)], **options)
    touched, left = result.happened
    assert (touched.t, touched.lost) == (pytest.approx(0.5), pytest.approx(0.5))
    assert left.t == pytest.approx(3.0, abs=2e-3)
    resting = (result.t > 0.5) & (result.t <= 3.0)
    np.testing.assert_allclose(result.coordinate("axle")[resting], 0.5, atol=1e-12)
    assert result.coordinate("axle")[-1] < 0.5 - 1e-3
    assert np.abs(result.ledger.residual).max() < 1e-6


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("lift", [0.0, 5.0])
def test_a_bar_that_swings_against_a_stop_leaves_it_where_it_hangs(lift, upper):
    """Its end slides on a rail. The stop pushes until the bar hangs, after a quarter of the period of its pendulum; in a
    lift that rises uniformly, too."""
    system, side, angle = flexmb.System(gravity=(0, 0, -G)), 1.0 if upper else -1.0, 0.8
    floor = system.add(flexmb.rigid_body("lift", mass=5.0, inertia=(1, 1, 1)))
    system.prismatic("shaft", system.ground.at((0, 0, 0)), floor.at((0, 0, 0)), axis=(0, 0, 1))
    system.drive("shaft", flexmb.time_functions.constant_speed(lift))
    bar = flexmb.rigid_body("bar", mass=2.0, inertia=(0.2, 0.2, 0.01), centre=(0, 0, -0.5))
    bar = system.add(bar, orientation=(0, -angle * side, 0), velocity=(0, 0, lift))
    system.joint("point-on-line", "rail", floor.at((0, 0, 0)), bar.at((0, 0, 0)), axis=(1, 0, 0))
    end = stop("end", "rail", 0.0, upper=upper)
    result = flexmb.simulate(system, 0.5, step=1e-3, output_step=0.05, events=[end])
    rate = np.sqrt(2.0 * G * 0.5 / (0.2 + 2.0 * 0.5**2))
    assert [h.event for h in result.happened] == ["end", "end"]
    assert sum(h.lost for h in result.happened) < 1e-12
    assert result.happened[-1].t == pytest.approx(ellipk(np.sin(angle / 2) ** 2) / rate, rel=1e-5)
    assert side * result.coordinate("rail")[-1] < -1e-3


def test_stored_times_make_no_difference():
    """A pendulum that bounces, grazes and passes a threshold both ways, stored once in five seconds or a hundred times a second."""

    def run(output_step):
        system = flexmb.System(gravity=(0, 0, -G))
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
        events = [stop("wall", "hinge", 2.9, restitution=0.8), Event("past", measure("velocity:rod.end:x"))]
        return flexmb.simulate(system, 5.0, step=1e-3, output_step=output_step, events=events)

    coarse, fine = run(5.0), run(1e-2)
    assert [h.event for h in coarse.happened] == [h.event for h in fine.happened]
    assert [h.event for h in coarse.happened] == ["wall", "past"] * 3  # the jump of velocity carries it past zero
    np.testing.assert_allclose([h.t for h in coarse.happened], [h.t for h in fine.happened], atol=2e-5)


@pytest.mark.parametrize("depth", [1e-2, pytest.param(1e-5, marks=pytest.mark.long), 1e-7])
def test_a_stop_that_is_hardly_reached_is_hit(depth):
    """The top of a swing beyond a stop by less and less, between two looks."""
    system = flexmb.System(gravity=(0, 0, -G))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), orientation=(0, 0.5, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    free = flexmb.simulate(system, 2.0, step=1e-3, output_step=1e-3)
    top = free.coordinate("hinge").max()
    result = flexmb.simulate(system, 1.5, step=1e-3, output_step=1.5, events=[stop("s", "hinge", top - depth)])
    touched = result.happened[0]
    before = np.sqrt(2 * depth / np.abs(free.wdot[free.coordinate("hinge").argmax(), 4]))
    assert touched.t == pytest.approx(free.t[free.coordinate("hinge").argmax()] - before, abs=1e-3)


@pytest.mark.parametrize("limit", [3.3, pytest.param(4.0, marks=pytest.mark.long), 10.0])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("options", [{"step": 2e-3}, {"method": "radau"}], ids=["generalised-alpha", "radau"])
def test_stops_beyond_half_a_turn(limit, upper, options):
    """A wheel runs freely to a stop in its first or second turn, comes back, and meets one on the other side."""
    side = 1.0 if upper else -1.0
    system = flexmb.System(name="wheel")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.set_speed("axle", 5.0 * side)
    stops = [
        stop("far", "axle", side * limit, upper=upper, restitution=1.0),
        stop("back", "axle", -side * limit, upper=not upper),
    ]
    duration = 3.2 * limit / 5.0
    result = flexmb.simulate(system, duration, output_step=duration / 3, events=stops, **options)
    assert [h.event for h in result.happened] == ["far", "back"]
    np.testing.assert_allclose([h.t for h in result.happened], [limit / 5, 3 * limit / 5], rtol=1e-9)
    assert result.coordinate("axle")[-1] == pytest.approx(-side * limit, abs=1e-9)


NEAR = {name: INTEGRATORS[name] for name in ("generalised-alpha", "adaptive", "joint")}


@pytest.mark.parametrize("options", NEAR.values(), ids=NEAR.keys())
@pytest.mark.parametrize("before", [3e-15, 1e-9, 1e-7])
def test_events_just_before_stored_times_leave_short_steps_that_do_no_harm(before, options):
    """Two events that do nothing, the less before a stored time the more rounding of the joint equations a step from there would carry."""
    nothing = [Event("first", lambda r: r.t - (0.25 - before)), Event("second", lambda r: r.t - (0.25 - 0.7 * before))]
    plain, watched = (
        flexmb.simulate(double_pendulum(), 0.5, output_step=0.25, events=e, **options) for e in ((), nothing)
    )
    assert [h.event for h in watched.happened] == ["first", "second"]
    np.testing.assert_allclose(watched.w, plain.w, atol=1e-3)
    np.testing.assert_allclose(watched.reaction("hinge"), plain.reaction("hinge"), atol=2e-2)
    assert np.abs(watched.ledger.residual).max() < 1.1 * np.abs(plain.ledger.residual).max() + 1e-6


@pytest.mark.parametrize("options", NEAR.values(), ids=NEAR.keys())
def test_bounces_at_stored_times(options):
    """With an acceleration of two, a fall through one length takes one unit of time, and so does the flight after a bounce by half."""
    floor = stop("floor", "guide0", -1.0, upper=False, restitution=0.5)
    result = flexmb.simulate(several([1.0], gravity=2.0), 2.5, output_step=0.5, events=[floor], **options)
    np.testing.assert_allclose([h.t for h in result.happened], [1.0, 2.0, 2.5][: len(result.happened)], rtol=1e-9)
    np.testing.assert_allclose(result.frame("mass0")[0][:, 2], [0, -0.25, -1, -0.75, -1, -1], atol=1e-9)
    assert np.abs(result.ledger.residual).max() < 1e-9


def test_results_that_an_event_ends_at_different_times_are_not_compared():
    system = flexible_pendulum(np.random.default_rng(1))
    over = Event("over", lambda r: -1.2 - r.coordinate("hinge"), Terminate())
    with pytest.raises(MechanismError, match=r"'rigid' at t = 0\.50.*'flexible' at t = 0\.50.*duration below 0\.50"):
        flexmb.compare(system, 1.0, step=1e-3, output_step=0.1, events=[over])
    assert len(flexmb.compare(system, 0.5, step=1e-3, output_step=0.1, events=[over]).t) == 6


@pytest.mark.parametrize("turned", [1, -1])
def test_a_joint_that_is_released_goes_with_its_locks_and_stops(turned):
    """Lock and release of one joint at one instant, in either order; a lock and a stop that hold the joint, and those that would later."""
    lock, free = (
        Event("lock", lambda r: r.t - 0.2, Lock("guide0")),
        Event("free", lambda r: r.t - 0.2, Release("guide0")),
    )
    floor, late = stop("floor", "guide0", -1.0, upper=False), Event("late", lambda r: r.t - 0.3, Lock("guide0"))
    events = [lock, free, floor, late][::turned]
    result = flexmb.simulate(several([1.0]), 0.6, step=1e-2, events=events)
    assert [h.event for h in result.happened] == ["free"]
    assert result.frame("mass0")[0][-1, 2] == pytest.approx(-G * 0.18, rel=1e-9)
    held = Event("held", lambda r: r.t - 0.1, Lock("guide0"))
    result = flexmb.simulate(several([1.0]), 0.6, step=1e-2, events=[held, free, floor, late])
    assert [h.event for h in result.happened] == ["held", "free"]
    assert result.frame("mass0")[0][-1, 2] == pytest.approx(-G * (0.005 + 0.08), rel=1e-9)


def test_stops_at_one_place_bounce_by_the_larger_restitution():
    """Three stops of one mass at the same value: Newton's law of each is met, that of the largest restitution with equality."""
    stops = [stop(f"floor{k}", "guide0", -1.0, upper=False, restitution=e) for k, e in enumerate((0.2, 0.6, 0.4))]
    result = flexmb.simulate(several([2.0]), 0.6, step=1e-2, events=stops)
    fall = np.sqrt(2 / G)
    assert result.w[-1, 2] == pytest.approx(0.6 * G * fall - G * (0.6 - fall), rel=1e-9)
    assert [h.lost for h in result.happened] == pytest.approx([0.0, 0.64 * 2.0 * G, 0.0], abs=1e-9)


def test_the_mechanism_of_a_result_with_events_does_not_move_on_without_them():
    """What its events hold acts at some times only: taken as joints they would hold from then on, where no state says what is in force. The system goes on from the state."""
    floor = stop("floor", "guide", -1.0, upper=False, restitution=0.5)
    first, whole = (flexmb.simulate(falling(), end, step=1e-2, output_step=0.1, events=[floor]) for end in (0.6, 1.2))
    begin = {"initial": first.state(-1), "start_rows": ()}
    alone = replace(first.mechanism, **begin)
    for use, arguments in ((flexmb.simulate, (1.0,)), (linearise, ()), (mobility, ())):
        with pytest.raises(MechanismError, match=r"events 'floor'.*initial_state=r"):
            use(alone, *arguments)
    second = flexmb.simulate(replace(falling().build(), **begin), 0.6, step=1e-2, output_step=0.1, events=[floor])
    np.testing.assert_allclose(second.frame("ball")[0][-1], whole.frame("ball")[0][-1], atol=1e-9)
    assert [h.event for h in second.happened] == [h.event for h in whole.happened[1:]]


@pytest.mark.parametrize("pulled", ["upper", "lower"])
@pytest.mark.parametrize(
    "options", [{"step": 1e-2}, {}, {"method": "radau"}], ids=["generalised-alpha", "adaptive", "radau"]
)
def test_a_mass_on_another_is_pulled_off(pulled, options):
    """Of two masses on each other at rest: a lift of the upper one that grows past its weight, or of the lower one past both; the other contact does not let go."""
    system = flexmb.System(gravity=(0, 0, -G))
    lower, upper = (
        system.add(flexmb.rigid_body(n, mass=m, inertia=(1, 1, 1))) for n, m in (("lower", 2.0), ("upper", 1.0))
    )
    system.prismatic("guide", system.ground.at((0, 0, 0)), lower, axis=(0, 0, 1))
    system.prismatic("between", lower, upper, axis=(0, 0, 1), at=(0, 0, 0))
    body, contact, weight = {"upper": (upper, "on lower", G), "lower": (lower, "on floor", 3 * G)}[pulled]
    system.load("lift", body.at((0, 0, 0)), force=(0, 0, 40.0), factor=flexmb.time_functions.polynomial(0.0, 1.0))
    stops = [stop("on floor", "guide", 0.0, upper=False), stop("on lower", "between", 0.0, upper=False)]
    result = flexmb.simulate(system, 1.0, output_step=0.1, events=stops, **options)
    assert [h.event for h in result.happened] == ["on floor", "on lower", contact]
    assert result.happened[-1].t == pytest.approx(weight / 40.0, rel=1e-6)
    force = 2.0 * G if pulled == "upper" else 40.0 / 3.0
    other = "on floor" if pulled == "upper" else "on lower"
    assert result.reaction(other)[-1, 2] == pytest.approx(force, rel=1e-6)


def test_explicit_steps_in_joint_coordinates_refuse_what_lasts():
    floor = stop("floor", "guide", -1.0, upper=False)
    with pytest.raises(EventError, match=r"'floor' locks a coordinate.*coordinates='absolute'"):
        flexmb.simulate(falling(), 1.0, method="explicit", coordinates="joint", events=[floor])


def test_a_driver_that_leads_into_a_stop_is_told():
    system = falling()
    system.drive("guide", flexmb.time_functions.polynomial(0.0, -1.0))
    with pytest.raises(EventError, match=r"t = 0\.5 .*prescribe a speed of 1 of the coordinate of 'floor'"):
        flexmb.simulate(system, 1.0, step=1e-2, events=[stop("floor", "guide", -0.5, upper=False)])
    latch = Event("latch", lambda r: r.t - 0.5, Lock("guide"))
    with pytest.raises(EventError, match="'latch'"):
        flexmb.simulate(system, 1.0, step=1e-2, events=[latch])


@pytest.mark.parametrize("restitution", [0.8, None])
def test_drivers_work_in_impacts_and_locks(restitution):
    """A mass meets a wall that a function of time moves: it bounces, or is locked to it. The wall gives the energy."""
    system = flexmb.System()
    wall = system.add(flexmb.rigid_body("wall", mass=1.0, inertia=(0.1,) * 3))
    system.prismatic("guide", system.ground.at((0, 0, 0)), wall.at((0, 0, 0)), axis=(0, 0, 1))
    system.drive("guide", flexmb.time_functions.constant_speed(0.7))
    ball = system.add(
        flexmb.rigid_body("ball", mass=2.0, inertia=(0.1,) * 3), position=(0, 0, 0.2), velocity=(0, 0, -1)
    )
    system.prismatic("slide", wall.at((0, 0, 0)), ball.at((0, 0, 0)), axis=(0, 0, 1))
    meets = stop("hit", "slide", -0.1, upper=False, restitution=restitution or 0.0)
    event = meets if restitution else replace(meets, do=Lock("slide"))
    result = flexmb.simulate(system, 0.3, step=1e-3, events=[event])
    e = restitution or 0.0
    assert result.velocity("ball")[-1, 2] == pytest.approx(0.7 + 1.7 * e, rel=1e-10)
    assert result.ledger.impacts[-1] == pytest.approx(1.7**2 * (1 - e**2), rel=1e-9)
    assert result.ledger.imbalance < 1e-9


def test_a_stop_that_is_taken_away_holds_nothing_any_more():
    floor, gone = stop("floor", "guide", 0.0, upper=False), Event("gone", lambda r: r.t - 0.5, Release("floor"))
    result = flexmb.simulate(falling(), 1.0, step=1e-2, events=[floor, gone])
    assert [h.event for h in result.happened] == ["floor", "gone"]
    assert result.frame("ball")[0][-1, 2] == pytest.approx(-G / 8, rel=1e-9)


@pytest.mark.parametrize("first", ["floor", "gone"])
def test_a_stop_that_is_taken_away_as_it_is_reached_does_not_strike(first):
    """Releases come first, in whichever order the events of an instant are given."""
    events = [
        stop("floor", "guide", -1.0, upper=False, restitution=0.5),
        Event("gone", lambda r: -1.0 - r.coordinate("guide"), Release("floor")),
    ]
    events = events if first == "floor" else events[::-1]
    result = flexmb.simulate(falling(), 1.0, step=1e-2, output_step=0.1, events=events)
    assert [h.event for h in result.happened] == ["gone"]
    np.testing.assert_allclose(result.coordinate("guide"), -G / 2 * np.asarray(result.t) ** 2, atol=1e-9)


@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e3, 1e3), (1e6, 1e6), (39.37, 1.0), (1e-3, 3.17e-8)])
def test_events_do_not_feel_units(length, time):
    """Bounces and rest in other units of length and time."""
    system = flexmb.System(gravity=(0, 0, -G * length / time**2), name="ball")
    inertia = (length**2,) * 3
    ball = system.add(flexmb.rigid_body("ball", mass=2.0, inertia=inertia))
    system.prismatic("guide", system.ground.at((0, 0, 0)), ball, axis=(0, 0, 1))
    floor = stop("floor", "guide", -1.0 * length, upper=False, restitution=0.3)
    result = flexmb.simulate(system, 1.0 * time, step=2e-3 * time, output_step=0.5 * time, events=[floor])
    first = np.sqrt(2 / G)
    expected = [first * (1 + 2 * sum(0.3**j for j in range(1, k + 1))) for k in range(len(result.happened))]
    assert len(result.happened) == 7
    np.testing.assert_allclose([h.t / time for h in result.happened], expected, rtol=1e-9)
    assert result.happened[0].lost * (time / length) ** 2 == pytest.approx(2 * G * 0.91, rel=1e-9)


def random_stop_run(seed, integrator):
    """A random pendulum of one or two bars between stops, and the greatest excess over these."""
    rng = np.random.default_rng(seed)
    system = flexmb.System(gravity=(0, 0, -G), name=f"run {seed}")
    place, joints = system.ground.at((0, 0, 0)), []
    reach = 0.0
    for k in range(rng.integers(1, 3)):
        length = rng.uniform(0.3, 1.5)
        rod = system.add(flexmb.uniform_rod(f"rod{k}", mass=rng.uniform(0.2, 3), length=length), position=(reach, 0, 0))
        system.revolute(f"hinge{k}", place, rod["start"], axis=(0, 1, 0))
        joints.append(f"hinge{k}")
        place, reach = rod["end"], reach + length
    if rng.uniform() < 0.5:
        system.joint_spring("spring", joints[0], stiffness=rng.uniform(1, 30), damping=rng.uniform(0, 0.3))
    sides = [(joint, upper, rng.uniform(0.05, 1.2)) for joint in joints for upper in (True, False)]
    stops = [stop(f"{joint} {upper}", joint, limit if upper else -limit, upper=upper, restitution=rng.choice([0.0, 0.4, 0.8, 1.0])) for joint, upper, limit in sides]  # fmt: skip
    options = INTEGRATORS[integrator]
    result = flexmb.simulate(system, 1.0, output_step=rng.choice([0.01, 0.1, 1.0]), events=stops, **options)
    excess = max(((1 if upper else -1) * result.coordinate(joint) - limit).max() for joint, upper, limit in sides)
    assert excess < 1e-8, (seed, excess)
    assert all(h.lost >= 0 for h in result.happened), seed
    scale = result.ledger.exchange + result.ledger.impacts[-1]
    assert np.abs(result.ledger.residual).max() < {"energy-momentum": 1e-2}.get(integrator, 2e-3) * scale, seed
    return result


@pytest.mark.parametrize("integrator", ["generalised-alpha", "adaptive"])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_ordinary_stop_runs_find_their_instants(seed, integrator):
    random_stop_run(seed, integrator)


@pytest.mark.long
@pytest.mark.parametrize("integrator", ["generalised-alpha", "adaptive", "joint", "hht"])
@pytest.mark.parametrize("block", range(2))
def test_hundreds_of_ordinary_stop_runs_find_their_instants(block, integrator):
    for seed in range(5 * block, 5 * block + 5):
        random_stop_run(seed, integrator)


@pytest.mark.long
@pytest.mark.parametrize("integrator", ["radau", "bdf", "explicit", "energy-momentum"])
@pytest.mark.parametrize("seed", range(1))
def test_stop_runs_of_slower_methods_find_their_instants(seed, integrator):
    random_stop_run(seed, integrator)


def test_a_stop_limits_the_motion_of_a_joint_that_is_named():
    """Of a sleeve that slides and turns: along its shaft, where it bounces, and the turning goes on."""
    system = flexmb.System()
    sleeve = flexmb.rigid_body("sleeve", mass=1.0, inertia=(1, 1, 1))
    sleeve = system.add(sleeve, velocity=(0, 0, 1.0), angular_velocity=(0, 0, 5.0))
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), sleeve, axis=(0, 0, 1))
    for dof, limit, time, speeds in (("translation", 0.5, 0.5, (-0.5, 5.0)), ("rotation", 2.0, 0.4, (1.0, -2.5))):
        result = flexmb.simulate(system, 0.6, step=1e-2, events=[stop("end", "shaft", limit, restitution=0.5, dof=dof)])
        assert [h.event for h in result.happened] == ["end"]
        assert result.happened[0].t == pytest.approx(time, abs=1e-9)
        assert result.coordinate_rate("shaft", "translation")[-1] == pytest.approx(speeds[0], abs=1e-9)
        assert result.coordinate_rate("shaft", "rotation")[-1] == pytest.approx(speeds[1], abs=1e-9)


def test_a_peak_between_two_looks_is_where_the_cubic_is_highest():
    """Of values with their rates; a peak far below the level is none."""

    def seen(f, t):
        slope = (f(t + 1e-6) - f(t - 1e-6)) / 2e-6
        return Sight(3.0 + 2.0 * t, np.array([f(t)]), np.array([slope / 2.0]))

    def parabola(s):
        return 0.01 - (s - 0.5) ** 2

    def cubic(s):
        return -0.2 + (s - 0.3) ** 2 * (4.0 - 4.0 * s)

    assert peak(seen(parabola, 0.0), seen(parabola, 1.0), 0) == pytest.approx(4.0, abs=1e-6)
    assert peak(seen(lambda s: parabola(s) - 1.0, 0.0), seen(lambda s: parabola(s) - 1.0, 1.0), 0) is None
    for below, time in ((0.05, 4.0), (0.1, 4.0), (0.15, None)):  # by less than half of its rise: the cubic may be wrong
        found = peak(*(seen(lambda s, b=below: parabola(s) - b, t) for t in (0.0, 1.0)), 0)
        assert found == (time if time is None else pytest.approx(time, abs=1e-6))
    later = [seen(cubic, t) for t in (0.5, 1.0)]
    s = np.linspace(0.5, 1.0, 100001)
    assert peak(*later, 0) == pytest.approx(3.0 + 2.0 * s[cubic(s).argmax()], abs=1e-4)


def test_attitudes_of_events_count_turns():
    """A free disc turns through four radians, where its first angle as a number within a half turn is -2.28, and where
    the quaternion that continues the first one has a negative scalar part."""
    system = flexmb.System()
    system.add(flexmb.rigid_body("disc", mass=1.0, inertia=(1, 1, 1.5)), angular_velocity=(0, 0, 2.0))
    for text, level, sign in (
        ("attitude:disc:ZYX:1", 4.0, 1.0),
        ("attitude:disc:quaternion:w", float(np.cos(2.0)), -1.0),
    ):
        passed = Event("four", lambda r, text=text, level=level, sign=sign: sign * (measure(text)(r) - level))
        result = flexmb.simulate(system, 3.0, step=1e-2, events=[passed])
        assert [h.event for h in result.happened] == ["four"]
        assert result.happened[0].t == pytest.approx(2.0, abs=1e-9)
