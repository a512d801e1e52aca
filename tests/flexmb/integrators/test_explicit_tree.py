"""The articulated-body recursion and the explicit steps that use it."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, slider_crank
from smooth_elements import SMOOTH

import flexmb
from flexmb.equations.evaluation import Equations
from flexmb.equations.spanning_tree import tree_of
from flexmb.errors import IntegratorError
from flexmb.kernels.calls import joint_poses, moved_joints, place_bodies, place_markers, tree_accelerations
from flexmb.kernels.joint_coordinates.articulated import make_articulated
from flexmb.mechanism.compile import compiled

KINDS = ("revolute", "spherical", "prismatic", "cylindrical", "planar", "fixed", "revolute")


def branched():
    """Rigid bodies on one joint of every kind, two on one body, and a free one; springs, a motor and loads that act on them."""
    rng = np.random.default_rng(0)
    system = flexmb.System(gravity=(1.0, 2.0, -9.81), name="branched")
    ends = [system.ground.at((0, 0, 0))]
    for k, kind in enumerate(KINDS):
        body = system.add(
            flexmb.rigid_body(f"body {k}", mass=1 + 0.3 * k, inertia=(0.1 + 0.02 * k, 0.2, 0.25), centre=(0.1, 0.2 * k, 0.05), points={"end": (0.5, 0.1 * k, 0.2)}),
            position=(0.5 * k, 0.1 * k, 0.0), orientation=(0.1 * k, 0.3, 0.2),
        )  # fmt: skip
        before = ends[max(0, len(ends) - 1 - (k == 4))]
        along = {"planar": "normal", "spherical": None, "fixed": None}.get(kind, "axis")
        getattr(system, kind)(f"joint {k}", before, body, **({along: rng.normal(size=3)} if along else {}))
        ends.append(body["end"])
    free = system.add(flexmb.rigid_body("free", mass=2.0, inertia=(0.1, 0.2, 0.25)), position=(5, 0, 0))
    system.spring_damper("spring", ends[-1], free.at((0, 0, 0)), stiffness=30.0, damping=0.5)
    system.motor("motor", "joint 0", flexmb.time_functions.harmonic(2.0, 1.0), damping=0.1)
    system.joint_spring("coil", "joint 6", stiffness=5.0, damping=0.2)
    system.load("push", ends[2], force=(1.0, 2.0, 0.5), moment=(0.3, 0.0, 0.1), follower=True)
    return system


def test_the_recursion_gives_the_accelerations_of_the_joint_equations():
    """At random places and velocities of all joints, forces left out of both."""
    system = branched()
    system._forces, system._loads, system._functions, system._laws = {}, {}, [], []
    mechanism = system.build()
    flat, tree, rng = compiled(mechanism), tree_of(mechanism), np.random.default_rng(4)
    e, q0, nb, ny = Equations(mechanism, mechanism.initial.q), mechanism.initial.q, len(flat.modes), int(tree.start[-1])
    bodies, pose, moved, vdot = make_articulated(flat, tree), np.zeros((nb, 7)), np.zeros((nb, 7)), np.zeros(ny)
    place_markers(flat, q0, e.kinematics)
    joint_poses(flat, tree, e.kinematics, q0, pose)
    v, increment = rng.normal(size=ny), 0.5 * rng.normal(size=ny)
    moved_joints(tree, pose, increment, moved)
    tree_accelerations(flat, tree, moved, v, bodies, vdot)
    q, w, wdot = np.zeros_like(q0), np.zeros(6 * nb), np.zeros(6 * nb)
    place_bodies(flat, tree, pose, q0, increment, v, vdot, q0, moved, q, w, wdot)
    expected = e.accelerations(mechanism.function_values(0.0), q, w)[0]
    np.testing.assert_allclose(wdot, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_motion_reactions_and_energies_are_those_of_radau():
    mechanism = branched().build()
    exact = flexmb.simulate(mechanism, 0.3, method="radau", tolerance=1e-11, output_step=0.05)
    ours = flexmb.simulate(mechanism, 0.3, method="explicit", coordinates="joint", tolerance=1e-11, output_step=0.05)  # fmt: skip
    assert np.abs(ours.q - exact.q).max() < 1e-8
    assert np.abs(ours.multipliers - exact.multipliers).max() < 1e-6 * np.abs(exact.multipliers).max()
    assert np.abs(ours.ledger.residual).max() < 1e-8 * ours.ledger.exchange


def test_the_order_is_five_or_more():
    mechanism = branched().build()
    exact = flexmb.simulate(mechanism, 1.0, method="explicit", coordinates="joint", step=2e-3, output_step=0.5)
    steps = np.array([0.1, 0.05, 0.025])
    runs = [flexmb.simulate(mechanism, 1.0, method="explicit", coordinates="joint", step=h, output_step=0.5) for h in steps]  # fmt: skip
    errors = [[np.abs(r.q - exact.q).max(), np.abs(r.w - exact.w).max()] for r in runs]
    np.testing.assert_array_less(4.7, np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize("name", [name for name in SMOOTH if name not in ("gear", "regularised friction", "curve")])
def test_every_smooth_element_moves_bodies_as_in_absolute_coordinates(name):
    """All but relations, friction of reactions and curves, which are refused."""
    mechanism, options = SMOOTH[name](1.0).build(), {"method": "explicit", "tolerance": 1e-9, "output_step": 0.01}
    absolute = flexmb.simulate(mechanism, 0.02, **options)
    ours = flexmb.simulate(mechanism, 0.02, coordinates="joint", **options)
    np.testing.assert_allclose(ours.q, absolute.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.w, absolute.w, rtol=0, atol=1e-12 * np.abs(absolute.w).max())
    np.testing.assert_allclose(ours.element_states, absolute.element_states, rtol=1e-12, atol=0)
    assert np.abs(ours.ledger.residual).max() < 1e-6 * ours.ledger.exchange


@flexmb.control_law(inputs=("height",), commands=("area",), states=("sum",))
def area_below(t, inputs, states, parameters, commands, rates):
    """The integral of a height over time."""
    rates[0] = inputs[0]
    commands[0] = states[0]


def test_a_controller_is_integrated_where_nothing_acts_on_the_bodies():
    """Of a body that falls, `-g t^3 / 6`."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.controller("area", area_below(), inputs={"height": "position:body:z"}, outputs={})
    fallen = flexmb.simulate(system, 1.0, method="explicit", coordinates="joint", output_step=0.5)
    np.testing.assert_allclose(fallen.element_states[:, 0], -9.81 * fallen.t**3 / 6, rtol=0, atol=1e-9)


def test_what_it_cannot_do_is_told():
    for make, what in ((slider_crank, "close loops"), (lambda: flexible_pendulum(np.random.default_rng(1)), "flexible bodies: 'random'")):  # fmt: skip
        with pytest.raises(IntegratorError, match=what):
            flexmb.simulate(make(), 0.1, method="explicit", coordinates="joint")
    driven = double_pendulum()
    driven.drive("hinge", flexmb.time_functions.constant_speed(1.0))
    with pytest.raises(IntegratorError, match="driven joints: 'hinge'"):
        flexmb.simulate(driven, 0.1, method="explicit", coordinates="joint")


def test_it_is_faster_than_with_joint_equations():
    """Six bars: three and a half times a step, here three are asked for, of the least of ten repeats in turn: a slow moment of the
    machine falls on both."""
    from benchmarks.chain import chain

    mechanism, least = chain(6), {"absolute": np.inf, "joint": np.inf}
    options = {"method": "explicit", "step": 1e-3, "output_step": 0.1}
    for _ in range(10):
        for coordinates in least:
            cost = flexmb.simulate(mechanism, 0.4, coordinates=coordinates, **options).statistics
            least[coordinates] = min(least[coordinates], cost.cpu_seconds / cost.steps)
    assert least["absolute"] > 3 * least["joint"]
