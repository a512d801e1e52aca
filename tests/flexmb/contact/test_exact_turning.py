"""Exact friction of rolling and spinning: the cone problem, motions in closed form, files, restart, refusals."""

import numpy as np
import pytest
from model_files import model_of

import fem
import flexmb
import reduction
from fem.mesh import structured_meshes
from flexmb.contact import Bounded, Box, Coulomb, Plane, Sphere, Turning, TurningFriction, solve_contacts
from flexmb.contact.impacts import impact_impulses
from flexmb.errors import LawError, MechanismError, UnilateralError
from flexmb.files import load_result, save_result

G, M, R = 9.81, 1.0, 0.1
I = 0.4 * M * R * R
ROLLING, SPINNING = 5e-3, 2e-3


def ball(velocity=(0, 0, 0), spin=(0, 0, 0), *, rolling=ROLLING, spinning=0.0, slope=0.0, friction=0.5, height=0.0):
    system = flexmb.System(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = system.add(
        flexmb.rigid_body("ball", mass=M, inertia=(I,) * 3),
        position=(0, 0, R + height),
        velocity=velocity,
        angular_velocity=spin,
    )
    system.contact(
        "track",
        Plane().on(system.ground.at((0, 0, 0))),
        Sphere(R).on(body.at((0, 0, 0))),
        friction=friction,
        turning_friction=TurningFriction(rolling, spinning),
    )
    return system


def require_laws(found, b, blocks):
    """The conditions written out: complementarity, bounds, moments against the angular velocities."""
    r, u, i, push, tiny = found.impulses, found.velocities, 0, [], 1e-8 * np.abs(b).max()
    for block in blocks:
        own = slice(i, i + block.rows)
        i += block.rows
        push.append(r[own][0])
        if isinstance(block, Turning):
            bound, f, v = block.length * push[block.contact], r[own], u[own]
        else:
            assert r[own][0] >= 0.0
            assert u[own][0] > -tiny
            assert abs(r[own][0] * u[own][0]) < 1e-8
            f, v, bound = r[own][1:], u[own][1:], getattr(block, "friction", 0.0) * r[own][0]
        assert np.linalg.norm(f) <= bound * (1 + 1e-8) + 1e-12
        if np.linalg.norm(v) > 1e3 * tiny:
            assert np.allclose(f, -bound * v / np.linalg.norm(v), atol=1e-6 * (bound + 1e-6))


@pytest.mark.parametrize("seed", range(12))
def test_random_contacts_with_turning_satisfy_their_laws(seed):
    rng, blocks = np.random.default_rng(seed), []
    for k in range(int(rng.integers(1, 5))):
        blocks.append(Coulomb(float(rng.uniform(0.1, 1.0))) if rng.random() < 0.8 else Bounded())
        own = len(blocks) - 1
        blocks.append(Turning(own, float(rng.uniform(0.01, 0.5)), rows=1))
        if k % 2 == 0:
            blocks.append(Turning(own, float(rng.uniform(0.01, 0.5))))
    n = sum(block.rows for block in blocks)
    H = rng.standard_normal((n, n if seed % 2 else max(3, n // 2)))
    W, b = H @ H.T, H @ rng.standard_normal(H.shape[1])
    found = solve_contacts(W, b, blocks)
    require_laws(found, b, blocks)


def table(seed, push, length):
    """A table on four legs anywhere, with moments of spinning or rolling: rows, and a load on it."""
    rng, rows = np.random.default_rng(seed), 1 + seed % 2
    feet = np.column_stack([rng.uniform(-1, 1, (4, 2)), np.full(4, -0.5)])
    n, x, y = np.eye(3)[[2, 0, 1]]
    H = [np.concatenate([d, np.cross(foot, d)]) for foot in feet for d in (n, x, y)]
    turned = (n,) if rows == 1 else (x, y)
    H = np.array([*H, *(np.concatenate([np.zeros(3), d]) for _ in feet for d in turned)])
    load = np.concatenate([rng.normal(size=2) * push, [-1], rng.normal(size=3) * push])
    return H @ H.T, H @ load, [*[Coulomb(0.5)] * 4, *(Turning(k, length, rows) for k in range(4))]


@pytest.mark.parametrize("seed", [27, 60, 73, 94, 98, 143])
def test_redundant_contacts_share_moments_of_turning_with_least_norm(seed):
    """Of a table that sticks: where forces and moments of least norm are within their bounds, they act."""
    W, b, blocks = table(seed, 0.1, 0.2)
    expected = -np.linalg.pinv(W) @ b
    forces, moments = expected[:12].reshape(4, 3), expected[12:].reshape(4, -1)
    assert (np.linalg.norm(forces[:, 1:], axis=1) < 0.45 * forces[:, 0]).all()
    assert (np.linalg.norm(moments, axis=1) < 0.18 * forces[:, 0]).all()
    np.testing.assert_allclose(solve_contacts(W, b, blocks).impulses, expected, atol=1e-9)


def test_redundant_moments_of_turning_stay_within_their_bounds():
    """Of tables with small lengths: where normal impulses change to those of least norm, moments at their bounds change
    with them, and others do not leave theirs. They exceeded them by 17 %."""
    at_bounds = 0
    for seed in range(60):
        W, b, blocks = table(seed, 0.2, 0.05)
        found = solve_contacts(W, b, blocks)
        require_laws(found, b, blocks)
        pushes, moments = found.impulses[:12:3], np.linalg.norm(found.impulses[12:].reshape(4, -1), axis=1)
        at_bounds += np.count_nonzero((pushes > 1e-3) & (moments > (1 - 1e-9) * 0.05 * pushes))
    assert at_bounds > 40


def test_a_ball_rolls_to_rest():
    deceleration = 5 / 7 * G * ROLLING / R
    result = flexmb.simulate(ball((1, 0, 0), (0, 1 / R, 0)), 1 / deceleration + 0.2, step=2e-3)
    rolls = result.t < 1 / deceleration - 0.01
    assert np.allclose(result.velocity("ball")[rolls, 0], 1 - deceleration * result.t[rolls], atol=1e-11)
    assert np.abs(result.velocity("ball")[result.t > 1 / deceleration + 0.01]).max() < 1e-12
    assert result.position("ball")[-1, 0] == pytest.approx(0.5 / deceleration, abs=1e-10)
    contact = result.contact("track")
    assert contact.moment[100] == pytest.approx([0, -ROLLING * M * G - R * contact.force[100, 0], 0], abs=1e-9)
    assert result.energy_by_element()["track"].heat[-1] == pytest.approx(0.7, rel=1e-3)
    assert result.ledger.imbalance < 1e-10


def test_a_ball_holds_on_a_slope_below_the_angle_of_rolling():
    for part in (1 - 1e-6, 1.01):
        slope = np.arctan(part * ROLLING / R)
        result = flexmb.simulate(ball(slope=slope), 0.3, step=2e-3)
        moved = 0.5 * 0.3**2 * 5 / 7 * G * max(np.sin(slope) - ROLLING / R * np.cos(slope), 0.0)
        assert result.position("ball")[-1, 0] == pytest.approx(moved, rel=2e-9, abs=1e-13)


def test_a_ball_that_turns_back_is_of_second_order():
    slope, error = 0.2, []
    up, down = (5 / 7 * G * (np.sin(slope) + s * ROLLING / R * np.cos(slope)) for s in (1, -1))
    for h in (1 / 120, 1 / 240):
        result = flexmb.simulate(ball((-1, 0, 0), (0, -1 / R, 0), slope=slope), 1.0, step=h)
        error.append(abs(result.position("ball")[-1, 0] + 0.5 / up - 0.5 * down * (1 - 1 / up) ** 2))
    assert error[0] < 1e-7


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_ball_spins_down(friction):
    end = I * 3 / (SPINNING * M * G)
    system = ball(spin=(0, 0, 3), rolling=0.0, spinning=SPINNING, friction=friction)
    result = flexmb.simulate(system, 0.8, step=1e-3)
    spin = result.angular_velocity("ball")[:, 2]
    assert np.allclose(spin, np.maximum(3 * (1 - result.t / end), 0.0), atol=1e-11)
    assert result.contact("track").moment[300] == pytest.approx([0, 0, -SPINNING * M * G], abs=1e-12)


def test_it_goes_on_after_impacts_and_files_keep_it(tmp_path):
    system = ball((1, 0, 0), (0, 1 / R, 0), spinning=SPINNING, height=0.01)
    whole = flexmb.simulate(system, 0.5, step=1e-3, output_step=1e-2)
    assert whole.energy_by_element()["track"].heat[-1] > 0.02
    assert whole.ledger.imbalance < 1e-9
    half = flexmb.simulate(system, 0.25, step=1e-3, output_step=1e-2)
    rest = flexmb.simulate(system, 0.25, step=1e-3, output_step=1e-2, initial_state=half)
    assert np.abs(rest.q[-1] - whole.q[-1]).max() < 1e-9
    loaded = load_result(save_result(whole, tmp_path / "ball.h5"))
    assert loaded.mechanism.contacts == whole.mechanism.contacts
    assert np.array_equal(loaded.contact("track").moment, whole.contact("track").moment)


@pytest.mark.parametrize(("rolling", "spinning"), [(ROLLING, SPINNING), (ROLLING, 0.0), (0.0, SPINNING)])
@pytest.mark.parametrize("impact", ["newton", "poisson", "stronge", "algebraic"])
def test_impacts_transmit_moments_of_turning(impact, rolling, spinning):
    """Without gravity, a ball bounces on its track: the moments are at their bounds, the lengths times the normal
    impulse, while it turns, and stop it if they can."""
    e, speed = 0.5, 2.0
    push = (1 + e) * M * speed
    for spin in (np.array([3.0, 4.0, 30.0]), np.array([0.03, 0.04, 0.3])):
        system = flexmb.System(gravity=(0, 0, 0))
        body = flexmb.rigid_body("ball", mass=M, inertia=(I,) * 3)
        body = system.add(body, position=(0, 0, R + 0.01), velocity=(0, 0, -speed), angular_velocity=spin)
        floor, own = Plane().on(system.ground.at((0, 0, 0))), Sphere(R).on(body.at((0, 0, 0)))
        lengths = TurningFriction(rolling, spinning)
        system.contact("track", floor, own, restitution=e, impact=impact, turning_friction=lengths)
        result = flexmb.simulate(system, 0.02, step=1e-3)
        after = result.angular_velocity("ball")[-1]
        assert result.velocity("ball")[-1] == pytest.approx([0, 0, e * speed], abs=1e-10)
        left = spin.copy()
        left[:2] *= max(0.0, 1 - rolling * push / I / np.hypot(*spin[:2]))
        left[2] = max(0.0, spin[2] - spinning * push / I)
        assert after == pytest.approx(left, abs=1e-10)
        lost = 0.5 * M * speed**2 * (1 - e * e) + 0.5 * I * (spin @ spin - after @ after)
        assert result.ledger.impacts[-1] == pytest.approx(lost, rel=1e-10)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_random_impacts_with_turning_satisfy_their_laws(law):
    """Two contacts, the first with friction of rolling and spinning, the second of spinning: bounds, moments against
    the angular velocities after an impact of Newton's law, and no gain of energy by Poisson's."""
    rng = np.random.default_rng(3)
    mu, e, lengths = [0.3, 0.5], [0.4, 0.7], np.array([[0.2, 0.1], [0.0, 0.3]])
    for _ in range(20):
        H = rng.standard_normal((10, 12))
        W, u = H @ H.T, H @ rng.standard_normal(12)
        u[[0, 3]] = -np.abs(u[[0, 3]])
        r = impact_impulses(W, u, mu, e, [law] * 2, turning=lengths)
        after, tiny = u + W @ r, 1e-9 * np.abs(u).max()
        for k, own, length in ((0, slice(6, 7), 0.1), (0, slice(7, 9), 0.2), (1, slice(9, 10), 0.3)):
            bound = length * r[3 * k]
            assert np.linalg.norm(r[own]) <= bound * (1 + 1e-9) + 1e-12
            if law == "newton" and np.linalg.norm(after[own]) > 1e3 * tiny:
                assert np.allclose(r[own], -bound * after[own] / np.linalg.norm(after[own]), atol=1e-6 * bound + 1e-12)
        assert (r[[0, 3]] >= 0).all()
        assert (after[[0, 3]] > -tiny).all()
        if law == "poisson":
            assert r @ (u + 0.5 * W @ r) <= 1e-9 * (u @ u)


def test_a_box_does_not_roll_but_spins_down():
    """At each of the four corners, spinning friction is that of a quarter of the weight; without other friction it is
    all that slows the box down."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(
        flexmb.rigid_body("box", mass=2.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.1), angular_velocity=(0, 0, 1)
    )
    floor, own = Plane().on(system.ground.at((0, 0, 0))), Box(0.4, 0.4, 0.2).on(body.at((0, 0, 0)))
    system.contact("floor", floor, own, turning_friction=TurningFriction(rolling=1e-3, spinning=SPINNING))
    result = flexmb.simulate(system, 0.5, step=1e-3)
    assert result.angular_velocity("box")[-1, 2] == pytest.approx(1 - 0.5 * SPINNING * 2.0 * G / 0.1, rel=1e-9)


MODEL = """
gravity = [0.0, 0.0, -9.81]
simulation = { duration = 0.1, step = 1e-3 }
bodies.ball = { kind = "rigid", mass = 1.0, inertia = [0.004, 0.004, 0.004], position = [0.0, 0.0, 0.1], velocity = [1.0, 0.0, 0.0], angular_velocity = [0.0, 10.0, 0.0] }

[[contacts]]
name = "track"
a = { place = "ground", shape = "plane", axis = [0.0, 0.0, 1.0] }
b = { place = "ball", shape = "sphere", radius = 0.1 }
friction = 0.5
turning_friction = { rolling = 0.005 }
"""


def test_a_model_file_has_it(tmp_path):
    model = model_of(tmp_path, MODEL)
    assert model.system.build().contacts[0].rolling == 0.005
    result = flexmb.simulate(model.system, model.duration, **model.options)
    assert result.velocity("ball")[-1, 0] == pytest.approx(1 - 0.1 * 5 / 7 * G * ROLLING / R, rel=1e-10)


def test_states_of_contacts_follow_each_other():
    """Points of exact contacts, then pairs of features, then friction of turning, then flexible surfaces."""
    system = ball()
    other = system.add(flexmb.rigid_body("box", mass=M, inertia=(I,) * 3), position=(1, 0, R))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    lengths = TurningFriction(ROLLING, SPINNING)
    system.contact("box track", floor, Box(R, R, R).on(other.at((0, 0, 0))), friction=0.5, turning_friction=lengths)
    part = fem.Model(
        structured_meshes.block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1)), fem.Material.steel()
    ).with_surfaces(below="z0")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, 3), name="block", geometric_stiffness="none")
    system.contact("seat", floor, system.add(body, position=(2, 0, 0)).surface("below"))
    mechanism = system.build()
    one, many = mechanism.contacts
    begins = [
        mechanism.contact_state("track"),
        mechanism.contact_state("box track"),
        mechanism.feature_state(one),
        mechanism.feature_state(many),
        mechanism.turning_state(one),
        mechanism.turning_state(many),
        mechanism.contact_state("seat"),
        len(mechanism.initial_states),
    ]
    assert begins[0] == 0
    sizes = [4, 4 * many.points, one.features, many.features, 4, 4 * many.points, 3 * len(body.surfaces["below"].nodes)]
    np.testing.assert_array_equal(np.diff(begins), sizes)


def test_what_cannot_be_is_refused():
    system = ball()
    pair = Plane().on(system.ground.at((0, 0, -1))), Sphere(R).on(system.ground.at((0, 0, 1)))
    with pytest.raises(MechanismError, match="of an exact contact has no speed"):
        system.contact("c", *pair, turning_friction=TurningFriction(1e-3, speed=0.1))
    with pytest.raises(MechanismError, match=r"TurningFriction; found 0\.1"):
        system.contact("c", *pair, turning_friction=0.1)
    with pytest.raises(MechanismError, match="'track' touches and has friction of turning"):
        flexmb.linear.equilibrium(ball())
    with pytest.raises(LawError, match="number >= 0"):
        TurningFriction(1e-3, speed=-1.0)
    with pytest.raises(UnilateralError, match="belongs to a contact"):
        solve_contacts(np.eye(3), -np.ones(3), [Bounded(-1.0, 1.0), Turning(0, 0.1)])
    with pytest.raises(UnilateralError, match="length >= 0"):
        Turning(0, -1.0)
    with pytest.raises(UnilateralError, match="1 row"):
        Turning(0, 1.0, rows=3)
