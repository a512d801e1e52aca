"""Force elements between two frames in analyses: states are kept, laws that depend on time are seen, identities differ."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
import flexmb.linear
from flexmb.analyses.adapted import adapted
from flexmb.analyses.kinematics import assemble_at
from flexmb.bodies.subspace import transformed
from flexmb.study.gradients.aligned import aligned
from flexmb.study.identity import identity


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series, along x."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


def pushed(law):
    """A pendulum with a law at its bob."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    bar = system.add(flexmb.uniform_rod("bar", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), bar["start"], axis=(0, 1, 0))
    system.force("push", system.ground.at((0, 0, 0)), bar.at((0.5, 0, 0)), law)
    return system.build()


def bent(body=None):
    """A flexible pendulum with a Maxwell element at its end."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    handle = system.add(body or random_flexible_body(np.random.default_rng(3)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), handle["start"], axis=(0, 0, 1))
    system.force("push", system.ground.at((0, 0, 0)), handle["end"], maxwell(k=100.0, tau=0.1))
    return with_states(system.build(), 7.0)


def with_states(mechanism, *values):
    return replace(mechanism, initial=replace(mechanism.initial, element_states=np.array(values)))


def test_other_elastic_coordinates_keep_the_states_of_elements():
    mechanism = bent()
    nominal = flexmb.simulate(mechanism, 0.01, step=1e-3)
    assert adapted(mechanism, nominal, 1).initial.element_states == pytest.approx([7.0])
    body = mechanism.bodies[0]
    turned = replace(transformed(body, -np.eye(body.modes)), stiffness=body.stiffness)
    found = aligned(bent(turned), mechanism, 1e-3)
    assert np.abs(found.turns[0] - np.eye(body.modes)).max() > 0.5
    assert found.built.initial.element_states == pytest.approx([7.0])


def test_a_position_of_joints_keeps_the_states_of_elements():
    mechanism = with_states(pushed(maxwell(k=100.0, tau=0.1)), 7.0)
    assert assemble_at(mechanism, {"hinge": 1.2}).element_states == pytest.approx([7.0])


def test_periodic_motions_see_laws_between_frames_that_depend_on_time():
    @flexmb.law(parameters=("frequency",))
    def shaken(t, relative, states, parameters, wrench, rates):
        d, v = relative.d, relative.v
        wrench[0] = -40.0 * d[0] - 2.0 * v[0] + np.sin(parameters[0] * t)
        wrench[1], wrench[2] = -40.0 * d[1] - 2.0 * v[1], -40.0 * d[2] - 2.0 * v[2]
        for i in range(3):
            wrench[3 + i] = -relative.omega[i]

    system = flexmb.System()
    box = system.add(flexmb.rigid_body("box", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), box, axis=(1, 0, 0))
    system.force("shaker", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), shaken(frequency=5.0))
    found = flexmb.linear.periodic_motion(system, 2 * np.pi / 5.0, steps=400)
    amplitude = 1 / np.hypot(40.0 - 25.0, 2.0 * 5.0)
    assert np.ptp(found.result.q[:, 0]) / 2 == pytest.approx(amplitude, rel=1e-3)
    with pytest.raises(flexmb.LinearError, match="'shaker' does not repeat itself"):
        flexmb.linear.periodic_motion(system, 1.0, steps=400)


def test_the_identity_of_a_study_depends_on_the_law_its_parameters_and_initial_states():
    def made(factor, **values):
        @flexmb.law(states=("force",), parameters=("k", "tau"))
        def slow(t, relative, states, parameters, wrench, rates):
            wrench[0] = -factor * states[0]
            rates[0] = parameters[0] * relative.v[0] - states[0] / parameters[1]

        return lambda: pushed(slow(**values))

    base = identity(model=made(1.0, k=1.0, tau=2.0))
    assert identity(model=made(1.0, k=1.0, tau=2.0)) == base
    assert identity(model=made(1.5, k=1.0, tau=2.0)) != base
    assert identity(model=made(1.0, k=3.0, tau=2.0)) != base
    assert identity(model=made(1.0, k=1.0, tau=2.0, initial=(4.0,))) != base
    flexmb.simulate(made(1.0, k=1.0, tau=2.0)(), 0.01, step=1e-3)
    assert identity(model=maxwell) == identity(model=maxwell)
    before = identity(model=maxwell)
    flexmb.simulate(pushed(maxwell(k=1.0, tau=1.0)), 0.01, step=1e-3)
    assert identity(model=maxwell) == before  # compiled code does not belong to it
