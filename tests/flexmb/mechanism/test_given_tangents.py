"""Tangents that laws between frames give: against differences, in Newton's method, linearisation and the adjoint."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import random_flexible_body
from scipy.spatial.transform import Rotation

import flexmb
import flexmb.linear
from flexmb.errors import LawError
from flexmb.forces.frame.bushing import nonlinear_bushing
from flexmb.mechanism.frame_law import FrameLawCall
from flexmb.study import adjoint_gradient

NUMBERS = {
    "radial": 2e3, "axial": 900.0, "tilt": 30.0, "twist": 12.0, "progressive": 4e5, "coupling": 40.0, "damping": 6.0,
    "rotary_damping": 0.2,
}  # fmt: skip
BY_DIFFERENCES = flexmb.law(
    nonlinear_bushing.function, parameters=nonlinear_bushing.parameters, name="bushing by differences"
)


def hung(law, p=1.0):
    system = flexmb.System(gravity=(0, 2.0, -9.81))
    block = flexmb.rigid_body("block", mass=2.0, inertia=(0.02, 0.03, 0.04), centre=(0.05, 0.02, -0.03))
    body = system.add(block, angular_velocity=(0.5, -1.0, 2.0))
    system.force("mount", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law(**NUMBERS | {"tilt": 30.0 * p}))
    return system


@pytest.mark.parametrize("seed", range(3))
def test_the_tangent_of_the_bushing_is_the_derivative(seed):
    random = np.random.default_rng(seed)
    call, p = FrameLawCall(nonlinear_bushing, "mount"), np.array(list(NUMBERS.values()))
    d, v, omega = random.normal(size=(3, 3)) * np.array([[0.03], [0.4], [2.0]])
    turned = Rotation.from_rotvec(0.5 * random.normal(size=3))

    def wrench(x):
        S = (Rotation.from_rotvec(x[3:6]) * turned).as_matrix()
        out = np.zeros(7)
        seen = np.concatenate([d + x[:3], S.ravel(), v + x[6:9], omega + x[9:]])
        call.evaluate(0.0, seen, np.zeros(0), p.copy(), out)
        return out[:6]

    h = 1e-5
    expected = np.stack([(wrench(-h * e) - wrench(h * e)) / (2 * h) for e in np.eye(12)], axis=1)
    found = call.tangent(0.0, np.concatenate([d, turned.as_matrix().ravel(), v, omega]), p)
    assert np.concatenate(list(found), axis=1) == pytest.approx(expected, rel=1e-7, abs=1e-6)


def test_a_given_tangent_replaces_differences():
    """The motion is the same to the tolerance of the iteration; frequencies agree to that of differences."""
    given, other = (flexmb.simulate(hung(law), 0.2, step=1e-3) for law in (nonlinear_bushing, BY_DIFFERENCES))
    assert given.q[-1] == pytest.approx(other.q[-1], abs=1e-8)
    assert given.statistics.iterations <= other.statistics.iterations
    modes = [flexmb.linear.linearise(hung(law)).modes().eigenvalues for law in (nonlinear_bushing, BY_DIFFERENCES)]
    assert np.sort_complex(modes[0]) == pytest.approx(np.sort_complex(modes[1]), rel=1e-5)


def test_the_adjoint_uses_it():
    def last(result):
        return result.q[:, 0] + result.q[:, 4]

    gradients = [
        adjoint_gradient(lambda p, law=law: hung(law, p), {"p": 1.0}, 0.05, last, over="final", step=1e-3).of("result")
        for law in (nonlinear_bushing, BY_DIFFERENCES)
    ]
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-6)


def _spring(t, relative, states, parameters, wrench, rates):
    for i in range(3):
        wrench[i] = -parameters[0] * relative.d[i] - parameters[1] * relative.v[i]


def _damped(t, relative, states, parameters, stiffness, damping):
    for i in range(3):
        stiffness[i, i], damping[i, i] = parameters[0], parameters[1]


def _undamped(t, relative, states, parameters, stiffness, damping):
    for i in range(3):
        stiffness[i, i] = parameters[0]


def _failing(t, relative, states, parameters, stiffness, damping):
    if t > 0.05:
        raise ValueError("no tangent")
    for i in range(3):
        stiffness[i, i], damping[i, i] = parameters[0], parameters[1]


def spring(tangent):
    law = flexmb.law(_spring, parameters=("k", "c"), tangent=tangent, name="spring")
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1,) * 3), velocity=(0.3, 0, 0))
    system.force("tie", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law(k=100.0, c=2.0))
    return system


@pytest.mark.long
def test_a_wrong_tangent_is_named():
    message = r"law 'spring' of 'tie': its tangent gives 0 for .* force x .* velocity x, .* differences .* give 2"
    for _ in range(2):  # the second mechanism is examined too
        with pytest.raises(LawError, match=message):
            flexmb.simulate(spring(_undamped), 0.1, step=1e-3)
    assert flexmb.simulate(spring(_damped), 0.1, step=1e-3).statistics.steps == 100


def _stop(t, relative, states, parameters, wrench, rates):
    wrench[2] = -parameters[0] * relative.d[2] - parameters[1] * min(relative.d[2] + 1.0, 0.0)


def _without_stop(t, relative, states, parameters, stiffness, damping):
    stiffness[2, 2] = parameters[0]


@pytest.mark.parametrize("stop", [50.0, 900.0])
def test_a_tangent_that_is_wrong_at_rest_is_named(stop):
    """Eigenvalues depend on it, though it is right where the motion begins; a far stiffer stop has no equilibrium."""
    law = flexmb.law(_stop, parameters=("k", "stop"), tangent=_without_stop, name="stop")
    system = flexmb.System(gravity=(0, 0, -9.81))
    block = system.add(flexmb.rigid_body("block", mass=20.0, inertia=(0.1,) * 3))
    system.prismatic("guide", system.ground.at((0, 0, 0)), block, axis=(0, 0, 1))
    system.force("tie", system.ground.at((0, 0, 0)), block.at((0, 0, 0)), law(k=100.0, stop=stop))
    flexmb.simulate(system, 0.01, step=1e-3)
    message = f"'stop' of 'tie': its tangent gives 100 .*differences of the law give {100 + stop:.0f}, at d"
    with pytest.raises(LawError, match=message):
        flexmb.linear.equilibrium(system)


def test_what_is_no_tangent_is_refused():
    with pytest.raises(LawError, match="is a function of t, relative, states, parameters, stiffness, damping"):
        flexmb.law(_spring, parameters=("k", "c"), tangent=3.0)
    with pytest.raises(LawError, match="Omit it: differences follow the states"):
        flexmb.law(_spring, parameters=("k", "c"), states=1, tangent=_damped)


def _pressed(t, relative, states, parameters, wrench, rates):
    depth = max(-relative.d[2], 0.0)
    wrench[2] = parameters[0] * depth**1.5 - parameters[1] * depth * relative.v[2]


def _pressing(t, relative, states, parameters, stiffness, damping):
    depth = max(-relative.d[2], 0.0)
    if depth > 0.0:
        stiffness[2, 2] = 1.5 * parameters[0] * depth**0.5 - parameters[1] * relative.v[2]
    damping[2, 2] = parameters[1] * depth


def on_a_stiff_ball(law, weight=2.0, k=2e17):
    """A block on a Hertzian contact that yields by a billionth of its size."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    block = system.add(flexmb.rigid_body("block", mass=weight, inertia=(0.1,) * 3), position=(0, 0, -1e-10))
    system.prismatic("guide", system.ground.at((0, 0, 0)), block, axis=(0, 0, 1))
    system.force("ball", system.ground.at((0, 0, 0)), block.at((0, 0, 0)), law(k=k, c=1e3))
    return system


def test_equilibria_and_small_motions_of_steep_laws_are_exact():
    """The contact is so hard that the differences of the usual size do not see its stiffness, known in closed form."""
    law = flexmb.law(_pressed, parameters=("k", "c"), tangent=_pressing, name="hertz")
    rest = flexmb.linear.equilibrium(on_a_stiff_ball(law))
    depth = -rest.state.q[2]
    assert depth == pytest.approx((2.0 * 9.81 / 2e17) ** (2 / 3), rel=0, abs=1e-11 * rest.mechanism.length)
    stiffness = 1.5 * 2e17 * depth**0.5
    assert rest.softest == pytest.approx(stiffness / 2.0, rel=1e-12)
    assert rest.stable
    linear = flexmb.linear.linearise(rest)
    assert linear.reduced()[2][0, 0] == pytest.approx(stiffness, rel=1e-12)
    assert linear.reduced()[1][0, 0] == pytest.approx(1e3 * depth, rel=1e-12)
    assert linear.K_error.max() < 1e-9 * stiffness


def counted(tangent):
    """A nonlinear bushing in Python that counts how often it is evaluated."""
    calls = [0]

    def function(t, relative, states, parameters, wrench, rates):
        calls[0] += 1
        return nonlinear_bushing.function(t, relative, states, parameters, wrench, rates)

    law = flexmb.law(function, parameters=nonlinear_bushing.parameters, tangent=tangent, name="counted")
    return law, calls


def require_same_matrices(linear, other):
    for name in ("D", "K"):
        apart = abs(getattr(linear, name) - getattr(other, name)).toarray()
        bound = (getattr(linear, f"{name}_error") + getattr(other, f"{name}_error")).toarray()
        assert (apart <= bound + 1e-12 * abs(getattr(other, name)).max()).all()


def test_matrices_of_flexible_bodies_in_motion_are_those_of_differences():
    """Elements between flexible bodies, and to the ground, with relative motions of every kind."""

    def chain(law):
        random, bodies = np.random.default_rng(7), []
        system = flexmb.System(gravity=(0, 2.0, -9.81))
        for k in range(2):
            own = replace(random_flexible_body(random), name=f"body {k}")
            given = {"position": 0.02, "orientation": 0.2, "velocity": 1.0, "angular_velocity": 1.0}
            bodies.append(system.add(own, **{key: size * random.normal(size=3) for key, size in given.items()}))
        system.force("foot", system.ground.at((0, 0, 0)), bodies[0]["start"], law(**NUMBERS))
        system.force("link", bodies[0]["end"], bodies[1]["end"], law(**NUMBERS))
        return system.build()

    found = []
    for law in (nonlinear_bushing, BY_DIFFERENCES):
        mechanism = chain(law)
        random, state = np.random.default_rng(8), mechanism.initial
        q, w = state.q.copy(), state.w.copy()
        for b in range(2):
            modes = mechanism.bodies[b].modes
            at, rate = (7 + modes) * b + 7, (6 + modes) * b + 6
            q[at : at + modes], w[rate : rate + modes] = 0.01 * random.normal(size=(2, modes))
        found.append(flexmb.linear.linearise(mechanism, replace(state, q=q, w=w)))
    require_same_matrices(*found)


def test_equilibria_and_small_motions_evaluate_the_law_less_often():
    """The matrices are those of differences within their bounds; a law with a tangent is evaluated a few times only."""
    found = []
    for tangent in (nonlinear_bushing.tangent, None):
        law, calls = counted(tangent)
        flexmb.linear.linearise(hung(law))  # which compares the tangent with differences
        calls[0] = 0
        rest = flexmb.linear.equilibrium(hung(law))
        linear = flexmb.linear.linearise(hung(law))
        found.append((calls[0], rest, linear))
    (few, rest, linear), (many, same, other) = found
    assert rest.state.q == pytest.approx(same.state.q, abs=1e-10)
    assert rest.softest == pytest.approx(same.softest, abs=rest.error + same.error)
    require_same_matrices(linear, other)
    assert 5 * few < many


def test_a_tangent_that_fails_is_named_by_an_equilibrium():
    with pytest.raises(LawError, match=r"tangent of the law of 'tie' failed with ValueError: no tangent, at t = 0.1"):
        flexmb.linear.equilibrium(spring(_failing), t=0.1)
