"""Inertia invariants from FE matrices: against brute-force quadrature over the deformed mesh, mass properties, reference conditions."""

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.elements import element
from fem.mesh.structured_meshes import block
from flexmb.bodies.dynamics import first_moment, mass_matrix
from flexmb.bodies.invariants import rigid_invariants

MATERIAL = fem.Material.isotropic(2.1e11, 0.3, 7850.0)


def part(kind="tetra10"):
    mesh = block(kind, (1.0, 0.2, 0.3), (3, 1, 1))
    return fem.Model(mesh, MATERIAL).with_interfaces(a="x0", b=fem.Interface("x1", kind="average"))


@pytest.mark.parametrize("kind", ["tetra10", "hexahedron20"])
@pytest.mark.parametrize("reference_frame", [None, "a"])
def test_kinetic_energy_equals_quadrature_over_the_moving_mesh(kind, reference_frame):
    model = part(kind)
    basis = reduction.craig_bampton(model, modes=3, reference_frame=reference_frame)
    body = flexmb.flexible_body(model, basis, geometric_stiffness="none")
    rng = np.random.default_rng(0)
    eta, w = 0.05 * rng.normal(size=body.modes), rng.normal(size=6 + body.modes)
    u = (basis.Psi @ eta).reshape(-1, 3)
    rate = (basis.Psi @ w[6:]).reshape(-1, 3)
    cells = model.mesh.cells[0].connectivity
    shape = element(kind)
    xi, weights = shape.mass_rule
    N, dN = shape.shape(xi), shape.gradient(xi)
    x = model.points[cells]
    dV = np.linalg.det(np.einsum("qnk,enx->eqkx", dN, x)) * weights * 7850.0
    c = np.einsum("qn,enx->eqx", N, x + u[cells])
    velocity = w[:3] + np.cross(w[3:6], c) + np.einsum("qn,enx->eqx", N, rate[cells])
    exact = 0.5 * (dV * (velocity**2).sum(axis=2)).sum()
    assert 0.5 * w @ mass_matrix(body, eta) @ w == pytest.approx(exact, rel=1e-12)
    np.testing.assert_allclose(first_moment(body, eta), np.einsum("eq,eqx->x", dV, c), rtol=1e-11)


def test_mean_axes_have_no_coupling_and_attached_modes_vanish_at_their_interface():
    model = part()
    free = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=3))
    scale = np.sqrt(free.invariants.mass)
    assert np.abs(free.invariants.S1).max() < 1e-9 * scale
    assert np.abs(free.invariants.h0).max() < 1e-9 * scale
    held = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=3, reference_frame="a"))
    assert np.abs(held.interfaces["a"].rows).max() < 1e-9 * np.abs(held.interfaces["b"].rows).max()


def test_rigid_part_of_the_invariants_is_the_rigid_body():
    model = part()
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=3))
    rigid = rigid_invariants(model.mass, model.centre_of_mass, model.inertia())
    for name in ("mass", "s0", "J0"):
        np.testing.assert_allclose(getattr(body.invariants, name), getattr(rigid, name), rtol=1e-11, atol=1e-11)
    assert body.rigid().modes == 0
    np.testing.assert_allclose(body.rigid().invariants.J0, rigid.J0, rtol=1e-11, atol=1e-11)


def test_motion_does_not_depend_on_the_reference_conditions():
    """The same reduced space with its frame on an interface and with mean axes gives the same swinging part."""
    model = part()
    tips = []
    for reference_frame in (None, "a"):
        body = flexmb.flexible_body(
            model, reduction.craig_bampton(model, modes=4, reference_frame=reference_frame), name="bar"
        )
        soft = flexmb.Body(
            body.name, body.invariants, body.stiffness * 1e-3, body.damping, body.interfaces, body.deflection
        )
        system = flexmb.System(gravity=(0, 0, -9.81))
        handle = system.add(soft)
        system.revolute("hinge", system.ground.at(handle["a"].point), handle["a"], axis=(0, 1, 0))
        tips.append(flexmb.simulate(system, 0.2, step=1e-4).position("bar.b"))
    moved = np.abs(tips[0][-1] - tips[0][0]).max()
    bending = np.abs(tips[0] - tips[1]).max() / moved
    assert bending < 1e-3
    assert moved > 0.1


def test_damping_of_the_elastic_coordinates():
    model = part()
    basis = reduction.craig_bampton(model, modes=2)
    omega = np.sqrt(basis.eigenvalues)
    body = flexmb.flexible_body(model, basis, modal_damping=0.01, rayleigh=(3.0, 1e-5))
    np.testing.assert_allclose(body.damping, 0.02 * omega + 3.0 + 1e-5 * omega**2)
    graded = flexmb.flexible_body(model, basis, modal_damping=lambda w: 1e-6 * w)
    np.testing.assert_allclose(graded.damping, 2e-6 * omega**2)
    with pytest.warns(flexmb.UnitWarning, match=r"modal damping of 5 times critical .* 5 % is 0\.05"):
        flexmb.flexible_body(model, basis, modal_damping=5.0)
    with pytest.raises(flexmb.FlexmbError, match="one finite ratio"):
        flexmb.flexible_body(model, basis, modal_damping=lambda w: 1.0)
    each = 0.01 * np.arange(1, len(omega) + 1)
    graded = flexmb.flexible_body(model, basis, modal_damping=each.tolist())
    np.testing.assert_allclose(graded.damping, 2 * each * omega)
    with pytest.raises(flexmb.FlexmbError, match="one finite ratio"):
        flexmb.flexible_body(model, basis, modal_damping=[0.1])
    with pytest.warns(flexmb.UnitWarning, match="damping of 7 times critical"):
        flexmb.flexible_body(model, basis, modal_damping=lambda w: [7.0] * len(w))
    with pytest.raises(flexmb.FlexmbError, match="damping must not be negative"):
        flexmb.flexible_body(model, basis, modal_damping=-0.1)
