"""Bodies of one part share their numbers in the arrays of a mechanism."""

from dataclasses import replace

import numpy as np
from mechanisms import random_flexible_body
from sensitivities import assert_agrees, at_the_end

import flexmb
from flexmb.mechanism.compile import compiled
from flexmb.study import adjoint_gradient, gradient

PART = random_flexible_body(np.random.default_rng(3), second_order=True)
OTHER = random_flexible_body(np.random.default_rng(4), second_order=True)


def chain(parts):
    """Hinged bodies, the first at the ground, that fall from the horizontal."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    before = system.ground.at((0, 0, 0))
    for k, part in enumerate(parts):
        body = system.add(part, name=f"body {k}", position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, body["start"], axis=(0, 1, 0))
        before = body["end"]
    return system


def test_bodies_of_one_part_move_as_copies_do():
    """Bit for bit: only the place of the numbers differs."""
    parts = [PART, OTHER, PART, PART]
    apart = [replace(part, invariants=replace(part.invariants)) for part in parts]
    together, copies = (chain(x).build() for x in (parts, apart))
    assert len(compiled(together).quadratic) * 2 == len(compiled(copies).quadratic)
    a, b = (flexmb.simulate(x, 0.05, step=1e-3) for x in (together, copies))
    np.testing.assert_array_equal(a.q, b.q)


def test_a_parameter_may_change_one_of_two_equal_bodies():
    """At the given value both are one record, beside it they are not."""

    def model(mass):
        heavier = PART.invariants if mass == 1.0 else replace(PART.invariants, mass=mass * PART.invariants.mass)
        return chain([PART, replace(PART, invariants=heavier)])

    at, options = {"mass": 1.0}, {"step": 1e-3, "output_step": 1e-3}
    series = {"end": lambda r: r.position("body 1.end")[:, 2]}
    expected = gradient(model, at, 0.1, measure=at_the_end(series), newton_tolerance=1e-13, threads=True, **options)
    found = adjoint_gradient(model, at, 0.1, series["end"], over="final", newton_tolerance=1e-11, **options)
    assert_agrees(found.of("result"), expected, "end", at)
