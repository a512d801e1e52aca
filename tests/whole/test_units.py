"""Thresholds are relative to scales of the model: the same answers in every unit system, for light bodies beside heavy ones too."""

from dataclasses import replace

import numpy as np
import pytest
from referee.build import build, sound
from referee.description import describe
from referee.units import SYSTEMS

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import consistent_state
from flexmb.equations.projection import as_sparse
from flexmb.errors import MotionError
from flexmb.kernels.calls import row_rates
from flexmb.linear import linearise
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.time_functions import (
    check_derivatives,
    constant,
    function,
    harmonic,
    polynomial,
    pulse,
    smooth_step,
    spin_up,
    table,
)

UNITS = pytest.mark.parametrize("units", SYSTEMS, ids=str)
TIMES = pytest.mark.parametrize("second", [u.time for u in SYSTEMS if u.time != 1] + [1.0, 1e3, 1e-12])


# functions of time -----------------------------------------------------------------------------------------------


@TIMES
def test_the_built_in_functions_of_time_are_taken_in_every_unit(second):
    T = second
    for motion in (
        harmonic(0.3, 1e6 / T), harmonic(1e9, 0.1 / T, 1.0, 5e9), harmonic(0.1, 3 / T, 0.2, 1e6), smooth_step(0.5 * T, 0.2 * T, np.pi),
        pulse(3 * T, T, 2.0), pulse(0, 0.2 * T, 2.0, 0.5 * T), spin_up(6 / T, 15 * T), polynomial(1, 2 / T, 3 / T**2), constant(0.0), constant(5.0),
        table(np.linspace(0, T, 20), np.sin(np.linspace(0, 5, 20))),
    ):  # fmt: skip
        check_derivatives(motion)


@TIMES
def test_right_derivatives_of_ones_own_are_taken_and_wrong_ones_refused(second):
    w, sin, cos = 7.0 / second, np.sin, np.cos
    check_derivatives(
        function(lambda t: w * t + sin(w * t), lambda t: w + w * cos(w * t), lambda t: -w * w * sin(w * t))
    )
    check_derivatives(function(lambda t: 1 - cos(w * t), lambda t: w * sin(w * t), lambda t: w * w * cos(w * t)))
    check_derivatives(function(lambda t: (w * t) ** 3, lambda t: 3 * w * (w * t) ** 2, lambda t: 6 * w**2 * (w * t)))
    wrong = (
        (lambda t: w * t + sin(w * t), lambda t: w + 1.01 * w * cos(w * t), lambda t: -1.01 * w * w * sin(w * t)),
        (lambda t: sin(w * t), lambda t: w * cos(w * t), lambda t: w * w * sin(w * t)),
        (lambda t: sin(w * t), lambda t: 0.0, lambda t: 0.0),
        (lambda t: (w * t) ** 2, lambda t: 2 * w**2 * t, lambda t: 0.0),
        (lambda t: 5.0, lambda t: w, lambda t: 0.0),
    )
    for parts in wrong:
        with pytest.raises(MotionError, match="differences of the function give"):
            check_derivatives(function(*parts))


def test_a_smooth_step_ends_exactly():
    for start, duration, height in ((0.118, 0.138, -0.0935), (0.5, 0.3, np.pi)):
        step = smooth_step(start, duration, height)
        assert step(start + 2 * duration) == (height, 0.0, 0.0)
        assert step(start - duration) == (0.0, 0.0, 0.0)


# force laws, tangents, inverse dynamics --------------------------------------------------------------------------


def damped_pendulum(units):
    """A hinged rod at rest without gravity, braked and sprung by a law whose scales are 0.02 rad and 0.1 rad/s."""
    L, M, T = units.length, units.mass, units.time
    moment = M * L**2 / T**2

    def law(t, x, xdot):
        return -moment * (np.tanh(x / 0.02) + 0.3 * np.tanh(xdot * T / 0.1))

    system = flexmb.System(name="damped pendulum")
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0 * M, length=1.0 * L))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    system.joint_spring("spring", "hinge", stiffness=0.01 * moment)
    system.motor("law", "hinge", law)
    return system


@UNITS
def test_the_tangent_of_a_force_law(units):
    """Stiffness and damping of a law about rest: 50 and 3 in SI, the same in every unit of time."""
    linear = linearise(damped_pendulum(units))
    moment = units.mass * units.length**2 / units.time**2
    assert linear.K[5, 5] / moment == pytest.approx(50.01, rel=1e-6)
    assert linear.D[5, 5] / (moment * units.time) == pytest.approx(3.0, rel=1e-6)


@UNITS
def test_the_iteration_of_a_step_with_a_force_law(units):
    """As many iterations in every unit system: the slopes of the law are as good."""
    system = damped_pendulum(units)
    system.set_speed("hinge", 1e-3 / units.time)
    run = flexmb.simulate(system, 0.02 * units.time, step=1e-3 * units.time)
    other = damped_pendulum(SYSTEMS[0])
    other.set_speed("hinge", 1e-3)
    reference = flexmb.simulate(other, 0.02, step=1e-3)
    assert run.statistics.iterations == reference.statistics.iterations
    np.testing.assert_allclose(run.coordinate("hinge"), reference.coordinate("hinge"), rtol=1e-9, atol=1e-14)


@UNITS
def test_inverse_dynamics(units):
    """A hinged flexible body whose end follows a path: the same torque."""
    from referee.build import flexible_body

    def torque(u):
        system = flexmb.System(name="arm")
        body = system.add(flexible_body(3, False, u))
        system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
        system.motor("motor", "hinge", 0.0)
        path = smooth_step(0.0, 0.2 * u.time, 0.1 * u.length)
        found = inverse_dynamics(
            system, [Servo("random.end", "y", path)], ["motor"], 0.2 * u.time, 0.01 * u.time, before=0.1 * u.time, after=0.1 * u.time
        )  # fmt: skip
        return found.efforts[:, 0] * u.time**2 / (u.mass * u.length**2)

    reference = torque(SYSTEMS[0])
    np.testing.assert_allclose(torque(units), reference, rtol=0, atol=1e-9 * np.abs(reference).max())


# light bodies beside heavy ones ----------------------------------------------------------------------------------


SIMPLE = (3, 8, 14, 20, 29, 41)
"""Seeds of random mechanisms without redundant joints, whose multipliers are unique."""


def exact_accelerations(e, functions, q, w):
    """Accelerations by 60-digit elimination of the equations that `Equations.accelerations` solves."""
    from mpmath import lu_solve, matrix, mp

    nv, nj, flat = len(w), e.flat.joint_rows, e.flat
    unbalanced = e.residual(functions, q, w, np.zeros(nv), np.zeros(nj))[0].copy()
    M, G = e.mass().toarray(), as_sparse(flat, e.workspace.G).toarray()[:nj]
    rows, rates = np.zeros(len(flat.row_kind)), np.zeros(len(flat.row_kind))
    eps = 1e-3 / (np.abs(w) * flat.weight).max()
    for offset, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
        e.residual(functions, e.displaced(q, offset * eps * w), w, np.zeros(nv), np.zeros(nj))
        row_rates(flat, e.workspace.G, w, rates)
        rows -= weight / (12 * eps) * rates
    with mp.workdps(60):
        A = matrix(np.block([[M, G.T], [G, np.zeros((nj, nj))]]).tolist())
        x = lu_solve(A, matrix(np.concatenate([-unbalanced, rows[:nj]]).tolist()))
    return np.array([float(v) for v in x])[:nv]


@pytest.mark.parametrize("ratio", [1e-4, 1e-7, 1e-9])
def test_a_light_body_does_not_spoil_accelerations(ratio):
    """One body of a mechanism lighter than the others by many decades: its accelerations carry the rounding of the forces on it, no more."""
    for seed in SIMPLE:
        d = replace(sound(describe(seed, flexible=False, events=False)), drivers=())
        k = int(np.random.default_rng(seed).integers(len(d.bodies) - 1))
        light = replace(d.bodies[k], mass=ratio * d.bodies[k].mass, inertia=ratio * d.bodies[k].inertia)
        d = replace(d, bodies=(*d.bodies[:k], light, *d.bodies[k + 1 :]))
        mechanism = build(d).build()
        state = consistent_state(mechanism).state
        e, functions = Equations(mechanism, state.q), mechanism.function_values(0.0)
        wdot = e.accelerations(functions, state.q, state.w)[0].copy()
        exact = exact_accelerations(e, functions, state.q, state.w)
        np.testing.assert_allclose(
            wdot, exact, rtol=0, atol=(1e-11 + 1e-17 / ratio) * np.abs(exact).max(), err_msg=f"seed {seed}"
        )


# parts -----------------------------------------------------------------------------------------------------------


def bar(units):
    """A clamped and loaded block of steel with two interfaces."""
    L, M, T = units.length, units.mass, units.time
    steel = fem.Material.isotropic(2.1e11 * M / (L * T**2), 0.3, 7850 * M / L**3)
    mesh = fem.structured_meshes.block("hexahedron", (0.4 * L, 0.05 * L, 0.04 * L), (6, 1, 1))
    return fem.Model(mesh, steel).with_interfaces(left="x0", right="x1")


@UNITS
@pytest.mark.parametrize("reference_frame", [None, "left"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # of sizes and moduli that are unusual for a part in SI
def test_a_reduced_part_is_the_same_in_every_unit_system(units, reference_frame):
    """Frequencies, mass, inertia and the motion of its interfaces, to 1e-9."""

    def reduced(u):
        model = bar(u)
        body = flexmb.flexible_body(
            model, reduction.craig_bampton(model, modes=4, reference_frame=reference_frame), name="bar"
        )
        i = body.invariants
        rows = np.abs(body.interface("right").rows) * np.repeat([1, u.length], 3)[:, None] * np.sqrt(u.mass)
        rigid = i.mass / u.mass, i.J0 / (u.mass * u.length**2), i.s0 / (u.mass * u.length)
        return body.frequencies * u.time, rows @ rows.T, *rigid

    for mine, theirs in zip(reduced(units), reduced(SYSTEMS[0]), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())


def test_lumps_and_springs_are_judged_in_every_unit_system():
    """An asymmetric inertia or stiffness is refused however small its numbers are; a stiffness that mixes large and small entries is not."""
    tilted = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for size in (1.0, 1e-12, 1e12):
        with pytest.raises(MatrixError, match="not physical"):
            fem.PointMass(size, tilted * size).matrix("end")
        k = np.diag([1.0, 1.0, 1.0, 1e-14, 1e-14, 1e-14]) * size
        k[3, 4] = 0.5e-14 * size
        with pytest.raises(MatrixError, match="symmetric stiffness"):
            fem.Spring("a", "b", k).matrix()
        k[4, 3] = k[3, 4]
        assert fem.Spring("a", "b", k).matrix().shape == (6, 6)
        k[3, 4] = k[4, 3] = 2e-14 * size
        with pytest.raises(MatrixError, match="symmetric stiffness"):
            fem.Spring("a", "b", k).matrix()


@pytest.mark.parametrize("load", ["force", "moment"])
def test_the_characteristic_rate_of_a_load_is_the_same_in_every_unit_of_length(load):
    """In units of a thousandth of the length, forces are a thousand times as large and moments a million times."""
    rates = []
    for unit in (1.0, 1e3):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=3.0 * unit, radius=0.1 * unit))
        system.load("push", rod["end"], **{load: np.array([0, 0, 5.0]) * unit ** (1 if load == "force" else 2)})
        rates.append(compiled(system.build()).scales[1])
    assert rates[1] == pytest.approx(rates[0], rel=1e-12)


def test_the_length_of_a_mechanism_is_the_largest_distance_from_a_mass_centre_or_radius_of_gyration():
    """That of all points of a ball from its centre, sqrt(3 / 5) of its radius, unless something is attached farther out."""
    radius, mass, centre = 0.5, 3.0, np.array([0.1, -0.2, 0.3])
    ball = flexmb.rigid_body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3, centre=centre)
    for out in (0.0, 2.0):
        system = flexmb.System()
        body = system.add(ball, position=(7, 8, 9))
        system.load("push", body.at(centre + np.array([0, out, 0])), force=(1, 0, 0))
        assert system.build().length == pytest.approx(out or np.sqrt(0.6) * radius, rel=1e-12)


@pytest.mark.parametrize("rotation", ["tilt", "twist"])
@pytest.mark.parametrize("part", ["stiffness", "damping"])
def test_the_characteristic_rate_of_a_spring_that_turns_is_the_same_in_every_unit_of_length(rotation, part):
    """Of a mechanism without weight, loads and speeds, it is that of its springs and dampers: sqrt(k / (m L^2))."""
    rates = []
    for unit in (1.0, 1e3):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=3.0 * unit, radius=0.1 * unit))
        moment = 5.0 * unit**2
        numbers = (0, 0, 0, moment, moment, 0) if rotation == "tilt" else (0, 0, 0, 0, 0, moment)
        system.bushing("mount", system.ground, rod["start"], **{"stiffness": (0,) * 6} | {part: numbers})
        mechanism = system.build()
        rates.append(compiled(mechanism).scales[1])
    inertia = 2.0 * (mechanism.length / unit) ** 2
    assert rates == pytest.approx([np.sqrt(5.0 / inertia) if part == "stiffness" else 5.0 / inertia] * 2, rel=1e-12)


def test_elastic_coordinates_have_the_weight_of_their_displacements_in_every_unit_system():
    """Coordinates of unit modal mass have the unit of length times the root of mass, also those of torsion, which
    displace no node of a beam. Their weights are relative to the length."""
    weights = []
    for unit, length in (("m", 1.0), ("mm", 1e3)):
        beam = fem.Beam(fem.Material.steel(unit), fem.Section.circle(0.02 * length))
        part = fem.Model(fem.structured_meshes.line((0, 0, 0), (length, 0, 0), 4), beam)
        part = part.with_interfaces(root="start", tip="end")
        system = flexmb.System()
        system.add(flexmb.flexible_body(part, reduction.craig_bampton(part, 2), name="beam"))
        weights.append(compiled(system.build()).weight[6:])
    np.testing.assert_allclose(weights[1], weights[0] / (1e3 * np.sqrt(1e-3)), rtol=1e-6)
