"""Derivatives with force elements between frames: adjoint and direct method agree with differences of the motion."""

import numpy as np
import pytest
from mechanisms import random_flexible_body
from sensitivities import assert_agrees, at_the_end

import flexmb
from flexmb.study import adjoint_gradient, direct_gradient, gradient

STEP, DURATION = 1e-3, 0.1


@flexmb.law(parameters=("k", "swirl", "c", "turn"))
def film(t, relative, states, parameters, wrench, rates):
    """A nonlinear, unsymmetric film with moments that do not follow from a potential."""
    k, swirl, c, turn = parameters
    d, v, S, omega = relative.d, relative.v, relative.S, relative.omega
    wrench[0] = -k * d[0] * (1 + d[1] ** 2) - swirl * d[1] - c * v[0]
    wrench[1] = -k * d[1] + swirl * d[0] - c * v[1] * (1 + d[0] ** 2)
    wrench[2] = -k * d[2] - c * v[2] * abs(v[2])
    wrench[3] = -0.5 * turn * (S[2, 1] - S[1, 2]) - 0.02 * c * omega[0] + 0.1 * swirl * d[2]
    wrench[4] = -0.5 * turn * (S[0, 2] - S[2, 0]) + 0.01 * swirl * omega[2]
    wrench[5] = -0.5 * turn * (S[1, 0] - S[0, 1]) - 0.02 * c * omega[2] * omega[1]


@flexmb.law(states=("force", "moment"), parameters=("k", "tau"))
def relaxing(t, relative, states, parameters, wrench, rates):
    """Forces that lag behind the motion, with states that act on each other and saturate."""
    k, tau = parameters
    wrench[1] = -states[0]
    wrench[3] = 0.1 * states[1]
    rates[0] = k * relative.v[1] - states[0] / tau + 0.2 * states[1] * relative.S[0, 0]
    rates[1] = k * relative.omega[0] - np.tanh(states[1] / 30.0) * 30.0 / tau - 0.3 * states[0] * relative.d[0]


@flexmb.law(states=("slip",), parameters=("k", "hardening"), updates=True)
def yielding(t, relative, states, parameters, wrench, new):
    """A spring whose natural length creeps by an update that is smooth in this motion."""
    k, hardening = parameters
    stretch = relative.d[2] - states[0]
    new[0] = states[0] + 1e-3 * hardening * stretch**3
    wrench[2] = -k * stretch


AT = {"k": 300.0, "swirl": 200.0, "tau": 0.03, "creep": 40.0, "mass": 2.0, "arm": 0.3, "spin": 4.0, "begin": 5.0, "damping": 0.3}  # fmt: skip


def rotor(k, swirl, tau, creep, mass, arm, spin, begin, damping):
    """A tumbling rigid body and a flexible one on a hinge, with force elements between them and to the ground."""
    system = flexmb.System(gravity=(0, 0.3, -9.81))
    block = flexmb.rigid_body(
        "block", mass=mass, inertia=np.diag([0.1, 0.2, 0.15]) * mass, points={"eye": (arm, 0.1, 0)}
    )
    block = system.add(
        block, position=(0.1, 0.05, 0.2), angular_velocity=(spin, 0.5 * spin, -2.0), velocity=(0.3, 0.1, 0)
    )
    blade = random_flexible_body(np.random.default_rng(3), name="blade", second_order=True, damping=damping)
    blade = system.add(blade, position=(0.6, 0.2, 0.1), angular_velocity=(0.0, 3.0, 0.0))
    system.revolute("hinge", system.ground.at((0.6, 0.2, 0.1)), blade["start"], axis=(0, 1, 0))
    system.force("film", system.ground.at((0.1, 0, arm)), block["eye"], film(k=k, swirl=swirl, c=5.0, turn=30.0))
    law = relaxing(k=0.5 * k, tau=tau, initial=(begin, 2.0))
    system.force("lag", block["eye"], blade["end"], law)
    system.force("yield", block.at((0, 0, 0.1)), blade["end"], yielding(k=0.3 * k, hardening=creep))
    return system


SERIES = {
    "block": lambda r: r.position("block.eye")[:, 1],
    "tip": lambda r: r.elastic("blade")[:, 1],
    "reaction": lambda r: r.reaction("hinge")[:, 0],
    "state": lambda r: r.element_states[:, 0],
    "force": lambda r: r.force("lag")[:, 1],
}
OPTIONS = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}


@pytest.fixture(scope="module")
def expected():
    """By extrapolated differences of simulations."""

    options = OPTIONS | {"newton_tolerance": 1e-13}
    return gradient(rotor, AT, DURATION, measure=at_the_end(SERIES), relative_step=5e-3, threads=True, **options)


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
def test_the_adjoint_of_frame_forces_gives_the_derivatives_of_the_simulation(expected, name):
    found = adjoint_gradient(rotor, AT, DURATION, SERIES[name], over="final", **OPTIONS)
    assert_agrees(found.of("result"), expected, name, AT)


@pytest.mark.long
def test_the_direct_method_gives_them_all(expected):
    found = direct_gradient(rotor, AT, DURATION, measure=at_the_end(SERIES), **OPTIONS)
    for name in SERIES:
        assert_agrees(found.of(name), expected, name, AT)
    back = adjoint_gradient(rotor, AT, DURATION, SERIES["reaction"], over="final", **OPTIONS).of("result")
    forth, scale = found.of("reaction"), np.array(list(AT.values()))
    assert back * scale == pytest.approx(forth * scale, rel=0, abs=1e-6 * np.abs(forth * scale).max())


def test_adjoint_and_direct_method_agree_on_a_short_motion():
    at = {name: AT[name] for name in ("k", "tau", "arm", "begin")}
    rest = {name: value for name, value in AT.items() if name not in at}

    def model(**values):
        return rotor(**values, **rest)

    back = adjoint_gradient(model, at, 0.02, SERIES["force"], over="mean square", **OPTIONS).of("result")
    means = {"force": lambda r: np.trapezoid(SERIES["force"](r) ** 2, dx=STEP) / 0.02}
    forth = direct_gradient(
        model, at, 0.02, measure=lambda r: {name: float(x(r)) for name, x in means.items()}, **OPTIONS
    ).of("force")
    scale = np.array(list(at.values()))
    assert back * scale == pytest.approx(forth * scale, rel=0, abs=1e-6 * np.abs(forth * scale).max())


def test_a_law_that_the_model_defines_anew_is_differentiated():
    """The law of a closure: the stiffness is not among its parameters."""

    def model(k):
        @flexmb.law
        def spring(t, relative, states, parameters, wrench, rates):
            wrench[0] = -k * relative.d[0] ** 3

        system = flexmb.System()
        mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(1.0, 0, 0))
        system.force("spring", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), spring)
        return system

    def x(result):
        return result.q[:, 0]

    found = adjoint_gradient(model, {"k": 3.0}, 0.5, x, over="final", step=1e-2).of("result")
    near = [x(flexmb.simulate(model(k), 0.5, step=1e-2, newton_tolerance=1e-12))[-1] for k in (3.003, 2.997)]
    assert found == pytest.approx((near[0] - near[1]) / 0.006, rel=1e-6)


def bent(stiffness, begin, limit):
    """A rod on a plastic hinge that is thrown upwards and yields there, comes to rest and springs back, if the limit is
    low."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=1.0))
    system.revolute("hinge", system.ground, rod["start"], axis=(0, 0, 1))
    system.set_speed("hinge", 3.0)
    law = flexmb.forces.plastic_hinge(stiffness=stiffness, limit=limit, initial={"plastic": begin})
    system.force("plastic", system.ground.at((0, 0, 0)), rod["start"], law)
    return system


@pytest.mark.parametrize("limit", [6.0, 1e3])
def test_a_hinge_that_yields_or_whose_plastic_angle_is_rounding(limit):
    """Without yield the plastic angle remains zero, or round-off, and tells nothing of the angles of the motion."""
    at, options = {"stiffness": 100.0, "begin": 0.0}, {"step": 1e-3, "newton_tolerance": 1e-12}

    def model(stiffness, begin):
        return bent(stiffness, begin, limit)

    def angle(result):
        return result.coordinate("hinge")

    back = adjoint_gradient(model, at, 0.2, angle, over="final", **options).of("result")
    forth = direct_gradient(model, at, 0.2, measure=at_the_end({"angle": angle}), **options).of("angle")
    for k, (name, size) in enumerate({"stiffness": 0.02, "begin": 1e-5}.items()):
        low, high = (
            angle(flexmb.simulate(model(**at | {name: at[name] + part}), 0.2, **options))[-1] for part in (-size, size)
        )
        assert abs(high - low) > 1e-8
        assert back[k] == pytest.approx((high - low) / (2 * size), rel=1e-5), name
        assert forth[k] == pytest.approx((high - low) / (2 * size), rel=1e-5), name
