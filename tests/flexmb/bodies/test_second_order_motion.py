"""Motion of second-order bodies: momenta and energy of the continuous equations to round-off, and of runs as good as without the field."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.dynamics import inertia_force, mass_matrix, momenta
from flexmb.equations.evaluation import Equations
from flexmb.spatial.lie import rotation_from_quaternion

MATERIAL = fem.Material.isotropic(2e9, 0.3, 1500.0)


@cache
def bodies(kind, reference_frame, tip=True):
    """The same part with and without the second-order field."""
    if kind == "beam":
        part = fem.Model(line((0, 0, 0), (1, 0, 0), 6), fem.Beam(MATERIAL, fem.Section.rectangle(0.03, 0.02)))
        ends = {"root": "start", "tip": "end"}
    else:
        part = fem.Model(block("hexahedron20", (1.0, 0.03, 0.02), (8, 1, 1)), MATERIAL)
        ends = {"root": "x0", "tip": "x1"}
    part = part.with_interfaces(**(ends if tip else {"root": ends["root"]}))
    basis = reduction.craig_bampton(part, modes=2, reference_frame=reference_frame)
    choices = ("second-order", "none")
    return {choice: flexmb.flexible_body(part, basis, name="rod", geometric_stiffness=choice) for choice in choices}


@pytest.mark.parametrize("reference_frame", [pytest.param("root", marks=pytest.mark.long), None])
@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_a_tumbling_body_keeps_its_momenta_and_energy_to_round_off(kind, reference_frame):
    """The continuous equations, integrated far more finely than any simulation: 1e-12 of the largest values."""
    body = bodies(kind, reference_frame, tip=False)["second-order"]
    m = body.modes

    def rates(t, y):
        p, eta, w = y[3:7], y[7 : 7 + m], y[7 + m :]
        R = rotation_from_quaternion(p)
        omega = w[3:6]
        turn = 0.5 * np.array([-p[1:] @ omega, *(p[0] * omega + np.cross(p[1:], omega))])
        force = -inertia_force(body, eta, w)
        force[6:] -= body.stiffness * eta
        return np.concatenate([R @ w[:3], turn, w[6:], np.linalg.solve(mass_matrix(body, eta), force)])

    def conserved(y):
        r, p, eta, w = y[:3], y[3:7], y[7 : 7 + m], y[7 + m :]
        R = rotation_from_quaternion(p / np.linalg.norm(p))
        linear, angular, _ = momenta(body, eta, w)
        energy = 0.5 * w @ mass_matrix(body, eta) @ w + 0.5 * body.stiffness @ eta**2
        return np.concatenate([R @ linear, np.cross(r, R @ linear) + R @ angular, [energy]])

    eta = np.zeros(m)
    eta[:2] = 0.05 / body.deflection[:2]
    start = np.concatenate([np.zeros(3), [1, 0, 0, 0], eta, [0.5, -1.0, 0.3], [2.0, 9.0, -6.0], np.zeros(m)])
    slow = 2 * np.pi / np.sqrt(body.stiffness[0])
    found = solve_ivp(rates, (0, 0.25 * slow), start, method="DOP853", rtol=2.3e-14, atol=1e-15)
    first, last = conserved(start), conserved(found.y[:, -1])
    scale = np.array([*np.full(3, np.linalg.norm(first[:3])), *np.full(3, np.linalg.norm(first[3:6])), first[6]])
    assert (np.abs(last - first) / scale).max() < 2e-12
    assert np.abs(found.y[7 : 7 + m, -1] - eta).max() > 0.1 * eta.max()


def free_flight(body):
    system = flexmb.System()
    eta = np.zeros(body.modes)
    eta[0] = 0.01 / body.deflection[0]
    system.add(body, angular_velocity=(1.0, 5.0, -4.0), velocity=(0.3, 0, 1), eta=eta)
    return system


def pendulum(body):
    system = flexmb.System(gravity=(0, -9.81, 0))
    handle = system.add(body)
    system.revolute("hinge", system.ground.at(body.interface("root").point), handle["root"], axis=(0, 0, 1))
    return system


def spin_up(body):
    system = flexmb.System()
    handle = system.add(body)
    system.revolute("hub", system.ground.at(body.interface("root").point), handle["root"], axis=(0, 0, 1))
    system.drive("hub", flexmb.time_functions.spin_up(8.0, 0.4))
    return system


@pytest.mark.parametrize("case", [free_flight, pendulum, spin_up])
@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_energy_is_kept_as_well_as_without_the_field(kind, case):
    """Order two in the step at least, and a constant within twice that of the same run without geometric stiffness."""
    errors = {
        choice: [np.abs(flexmb.simulate(case(body), 0.4, step=h, newton_tolerance=1e-9).ledger.residual).max() for h in (1e-4, 5e-5)]
        for choice, body in bodies(kind, None).items()
    }  # fmt: skip
    for coarse, fine in errors.values():
        assert (
            np.log2(coarse / fine) > 1.75
        )  # free flight: the dissipation of the method, of third order, shows beside it
    assert errors["second-order"][1] < 2 * errors["none"][1]


@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_geometric_terms_leave_rigid_motion_alone(kind):
    """An undeformed body moves as the rigid one, and no rigid rotation strains or stresses it."""
    body = bodies(kind, None)["second-order"]
    rng = np.random.default_rng(0)
    w = np.concatenate([rng.normal(size=6), np.zeros(body.modes)])
    none = bodies(kind, None)["none"]
    still = np.zeros(body.modes)
    np.testing.assert_allclose(mass_matrix(body, still), mass_matrix(none, still), atol=1e-12)
    np.testing.assert_allclose(inertia_force(body, still, w), inertia_force(none, still, w), atol=1e-9)


@pytest.mark.parametrize("choice", ["second-order", "none"])
def test_the_mass_matrix_of_a_mechanism_is_that_of_its_kinetic_energy(choice):
    """`T = w M w / 2` at any deformation and velocity, as the equations of motion have it."""
    system = flexmb.System()
    body = bodies("beam", "root")[choice]
    system.add(body, eta=np.array([0.1, -0.05, *np.zeros(body.modes - 2)]) / body.deflection)
    mechanism = system.build()
    q, w = mechanism.initial.q, np.random.default_rng(7).normal(size=len(mechanism.initial.w))
    e = Equations(mechanism, q)
    kinetic = e.residual(mechanism.function_values(0.0), q, w, np.zeros(len(w)), np.zeros(0))[1][0]
    assert 0.5 * w @ e.mass() @ w == pytest.approx(kinetic, rel=1e-12)
