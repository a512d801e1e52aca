"""Steps that fail name the body, the law or the contact that caused it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.errors import ConvergenceError, IntegratorError, LawError
from flexmb.integrators.method import Method, register

BEAM = random_flexible_body(np.random.default_rng(0), name="beam", stiffness=(1.0, 2.0))


def pulled(sign, force):
    """A rigid body and a beam, whose inertia falls with the square of its deformation for a `sign` of -1."""
    invariants = replace(BEAM.invariants, J2=sign * BEAM.invariants.J2)
    system = flexmb.System(name="m")
    system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 3, 0))
    beam = system.add(replace(BEAM, invariants=invariants))
    system.fixed("clamp", system.ground, beam["start"])
    grows = flexmb.time_functions.smooth_step(0.0, 0.01, 1.0)
    system.load("pull", beam["end"], force=(force, 0.3 * force, force), factor=grows)
    return system


@pytest.mark.parametrize("options", [{}, {"coordinates": "joint"}, {"method": "energy-momentum"}])
def test_a_body_that_deforms_beyond_its_mass_matrix_is_named(options):
    with pytest.raises(
        ConvergenceError,
        match=r"^At t = 0\.02\d* the mass matrix of 'beam' of 'm' is not positive definite: its elastic deformation is "
        r"far outside the range of the reduced body\. Take smaller steps, or check its loads and stiffness\.$",
    ):
        flexmb.simulate(pulled(-1.0, 1e4), 0.03, step=1e-3, **options)
    for sign, force in ((1.0, 1e4), (-1.0, 1e2)):
        flexmb.simulate(pulled(sign, force), 0.03, step=1e-3, **options)


@pytest.mark.parametrize("method", ["radau", "bdf", "explicit"])
def test_every_method_names_a_body_that_deforms_beyond_its_mass_matrix(method):
    """These methods went on without a word, or blamed the energy balance."""
    with pytest.raises(
        ConvergenceError, match=r"^At t = 0\.0[12]\d* the mass matrix of 'beam' of 'm' is not positive def"
    ):
        flexmb.simulate(pulled(-1.0, 1e4), 0.023, step=1e-3, method=method)
    flexmb.simulate(pulled(1.0, 1e4), 0.023, step=1e-3, method=method)


@flexmb.control_law(inputs=("angle",), commands=("torque",))
def refusing(t, inputs, states, parameters, commands, rates):
    if t > 0.004:
        raise ValueError("out of range")


@pytest.mark.parametrize("options", [{}, {"coordinates": "joint"}, {"method": "radau"}])
def test_a_controller_that_fails_beside_a_flexible_body_is_named(options):
    """The error said that the mass matrix of a body was not positive definite."""
    system = pulled(1.0, 0.0)
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 2))
    system.revolute("hinge", system.ground, wheel, axis=(0, 0, 1), at=(0, 0, 2))
    system.controller("servo", refusing(), inputs={"angle": "coordinate:hinge"}, outputs={"torque": "effort:hinge"})
    flexmb.simulate(system, 0.004, step=1e-3, **options)
    with pytest.raises(LawError, match=r"^The law of 'servo' failed at t = 0\.00\d+, angle = 0: ValueError: out of"):
        flexmb.simulate(system, 0.01, step=1e-3, **options)


def test_a_law_that_fails_beside_the_motion_of_an_energy_momentum_step_is_named():
    """It has a value where the step begins, and none for the differences about it."""

    def pushed(force):
        def one_sided(t, x, xdot):
            if x > 0.0:
                raise ValueError("beyond the table")
            return 0.0

        system = flexmb.System(name="m")
        mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)))
        system.prismatic("guide", system.ground, mass, axis=(1, 0, 0), at=(0, 0, 0))
        system.joint_spring("table", "guide", law=one_sided)
        system.load("push", mass.at((0, 0, 0)), force=(force, 0, 0))
        return flexmb.simulate(system, 0.01, step=1e-2, method="energy-momentum")

    assert pushed(-1.0).position("mass")[-1, 0] < 0.0
    with pytest.raises(
        LawError, match=r"^The law of 'table' failed at t = 0\.005, x = .*: ValueError: beyond the table\.$"
    ):
        pushed(1.0)


@dataclass(frozen=True, kw_only=True)
class Unfinished(Method):
    """A method that does not begin."""


class Undeclared(Method):
    """A class whose field would be no option."""

    depth: int = 3


def test_methods_without_a_name_a_record_or_a_beginning_are_refused():
    for name in ("", None, 3):
        with pytest.raises(IntegratorError, match=f"^A method must have a name; found {name!r}\\.$"):
            register(name)(Unfinished)
    for wrong in (Undeclared, dataclass(frozen=True)(type("Other", (), {})), object):
        with pytest.raises(
            IntegratorError, match=f"^A method must be a frozen dataclass derived from Method; found {wrong!r}\\.$"
        ):
            register("unfinished")(wrong)
    with pytest.raises(NotImplementedError, match=r"^Unfinished does not define begin\(\)\.$"):
        flexmb.simulate(pulled(1.0, 0.0), 0.01, method=Unfinished(step=1e-3))
