"""Transposed derivatives of the residual against differences of it."""

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.equations.evaluation import Equations
from flexmb.kernels.derivatives.adjoint import make_costates
from flexmb.kernels.derivatives.transposed import make_scratch, transposed
from flexmb.mechanism.compile import compiled


def everything(second_order):
    """Flexible and rigid bodies with every kind of row and load that is a function of the configuration."""
    rng = np.random.default_rng(3)
    system = flexmb.System(gravity=(1.0, -9.81, 2.0))
    one, two = (
        system.add(random_flexible_body(rng, name=n, second_order=second_order, damping=0.4)) for n in ("one", "two")
    )
    three = system.add(flexmb.rigid_body("three", mass=2.0, inertia=(0.3, 0.5, 0.6), centre=(0.1, 0.2, -0.3)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), one["start"], axis=(0, 0, 1))
    system.drive("hinge", flexmb.time_functions.harmonic(0.3, 1.0))
    system.universal("elbow", one["end"], three, axis=(0, 0, 1), second_axis=(0, 1, 0))
    system.prismatic("slide", three, two["start"], axis=(1, 0, 0))
    system.bushing(
        "bush",
        one["start"],
        two["end"],
        stiffness=(30.0, 20, 10, 5, 6, 7),
        damping=(2.0, 1, 3, 4, 5, 6),
        free=(0, 0, 0),
    )
    system.spring_damper("spring", three.at((0.3, 0.1, 0.2)), two["start"], stiffness=40.0, damping=3.0)
    system.spring_damper(
        "law", system.ground.at((0, 1, 2)), two["end"], law=lambda t, x, xdot: -3.0 * x**3 - 0.5 * xdot * abs(xdot)
    )
    system.load("dead", one["end"], force=(1.0, 2, 3), moment=(3.0, -1, 2))
    system.load("follower", two["end"], force=(-1.0, 2, 1), moment=(0.5, 1, -2), follower=True)
    return system.build()


@pytest.mark.long  # numba compiles the function, which Python never calls by itself
@pytest.mark.parametrize("far", [0.1, 0.6])
@pytest.mark.parametrize("second_order", [False, True])
def test_they_are_the_derivatives(second_order, far):
    """`y . d residual = to_q . x + to_w . dw + to_wdot . dwdot` for random changes, at a random state: differences of fourth order."""
    mechanism = everything(second_order)
    flat, rng = compiled(mechanism), np.random.default_rng(5)
    nv, nj = len(flat.weight), flat.joint_rows
    e = Equations(mechanism, mechanism.initial.q)
    q = e.displaced(mechanism.initial.q, far * rng.normal(size=nv))
    w, wdot, multipliers, y = (rng.normal(size=n) for n in (nv, nv, nj, nv))
    functions = mechanism.function_values(0.1)
    (scratch, displaced), costates = make_scratch(flat), make_costates(flat)
    to_q, to_w, to_wdot = np.zeros(nv), np.zeros(nv), np.zeros(nv)
    e.residual(functions, q, w, wdot, multipliers)
    transposed(
        flat,
        q,
        w,
        wdot,
        y,
        multipliers,
        functions,
        e.angles,
        e.kinematics,
        e.workspace,
        scratch,
        displaced,
        costates,
        to_q,
        to_w,
        to_wdot,
    )
    found = {"q": to_q, "w": to_w, "wdot": to_wdot}
    directions = np.eye(nv)
    for name, derivative in found.items():

        def power(s, x, name=name):
            state = [
                e.displaced(q, s * x) if name == "q" else q,
                w + s * x * (name == "w"),
                wdot + s * x * (name == "wdot"),
            ]
            return y @ e.residual(functions, *state, multipliers)[0]

        h = 1e-3
        expected = [
            (8 * (power(h, x) - power(-h, x)) - (power(2 * h, x) - power(-2 * h, x))) / (12 * h) for x in directions
        ]
        np.testing.assert_allclose(derivative, expected, rtol=0, atol=1e-7 * np.abs(expected).max(), err_msg=name)
