"""Tangents that laws between frames give: against differences, in Newton's method, linearisation and the adjoint."""

import numpy as np
import pytest
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
    _damped(t, relative, states, parameters, stiffness, damping)


def spring(tangent):
    law = flexmb.law(_spring, parameters=("k", "c"), tangent=tangent, name="spring")
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1,) * 3), velocity=(0.3, 0, 0))
    system.force("tie", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law(k=100.0, c=2.0))
    return system


def test_a_wrong_tangent_is_named():
    message = r"law 'spring' of 'tie': its tangent gives 0 for .* force x .* velocity x, .* differences .* give 2"
    for _ in range(2):  # the second mechanism is examined too
        with pytest.raises(LawError, match=message):
            flexmb.simulate(spring(_undamped), 0.1, step=1e-3)
    assert flexmb.simulate(spring(_damped), 0.1, step=1e-3).statistics.steps == 100


def test_what_is_no_tangent_is_refused():
    with pytest.raises(LawError, match="is a function of t, relative, states, parameters, stiffness, damping"):
        flexmb.law(_spring, parameters=("k", "c"), tangent=3.0)
    with pytest.raises(LawError, match="Omit it: differences follow the states"):
        flexmb.law(_spring, parameters=("k", "c"), states=1, tangent=_damped)
