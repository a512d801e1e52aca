"""Derivatives of motions in which surfaces of reduced bodies touch: by differences, also through impacts."""

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.contact import Plane
from flexmb.errors import MechanismError
from flexmb.study import adjoint_gradient, direct_gradient, gradient

OPTIONS = {"step": 1e-4, "output_step": 1e-4, "newton_tolerance": 1e-11, "threads": True, "workers": 1}


def falling(speed=1.0, young=1e7, *, friction=0.0, turn=(0.0, 0.0, 0.0), gap=0.0):
    """A block that hits a plane."""
    part = fem.Model(block("hexahedron", (0.2, 0.15, 0.1), (3, 2, 2)), fem.Material.isotropic(young, 0.3, 1000.0))
    part = part.with_surfaces(below="z0")
    body = flexmb.flexible_body(
        part, reduction.contact_basis(part, 6), name="block", modal_damping=0.05, geometric_stiffness="none"
    )
    R = flexmb.spatial.lie.rotation_exp(np.array(turn))
    system = flexmb.System()
    up = system.add(body, position=(0, 0, gap), velocity=(0, 0, -speed), orientation=R)
    system.contact("hit", Plane().on(system.ground.at((0, 0, 0))), up.surface("below"), friction=friction)
    return system


def measured(result):
    force = result.surface_contact("hit").normal_force.sum(axis=1)
    return {"speed": float(result.w[-1, 2]), "force": float(force.max())}


def test_speeds_and_forces_of_a_flat_impact_are_proportional_to_the_speed():
    found = gradient(falling, {"speed": 1.3}, 5e-3, measure=measured, relative_step=1e-4, **OPTIONS)
    assert found.outcome["speed"] > 1.0  # it has left
    for name in ("speed", "force"):
        assert found.derivatives[name][0] == pytest.approx(found.outcome[name] / 1.3, rel=1e-7)


def test_derivatives_of_impacts_of_corners_with_friction_are_sharp():
    """A switch within the step of the parameter shows as an estimated error."""

    def model(young):
        return falling(1.0, young, friction=0.3, turn=(0.01, -0.008, 0.1), gap=2e-3)

    coarse, fine = (
        gradient(model, {"young": 1e7}, 5e-3, measure=measured, relative_step=h, **OPTIONS) for h in (1e-5, 2e-6)
    )
    for name in ("speed", "force"):
        np.testing.assert_allclose(coarse.derivatives[name], fine.derivatives[name], rtol=1e-6)
        assert (fine.errors[name] < 1e-6 * np.abs(fine.derivatives[name])).all()


@pytest.mark.parametrize("method", [adjoint_gradient, direct_gradient])
def test_the_adjoint_and_the_direct_method_propose_differences(method):
    arguments = (lambda r: r.q[:, 2],) if method is adjoint_gradient else ()
    with pytest.raises(MechanismError, match=r"contacts of flexible surfaces.*'hit'.*flexmb\.study\.gradient"):
        method(falling, {"speed": 1.0}, 5e-3, *arguments, step=1e-4)
