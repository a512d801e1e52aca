"""Stresses of a body under contacts of its flexible surfaces against a solution with the finite element model."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.contact import Sphere
from flexmb.errors import StressError
from flexmb.results.contact_stress import contact_stress
from flexmb.results.elements.surface_contact import surface_forces
from flexmb.results.stress import shapes_of

PART = fem.Model(block("hexahedron", (0.4, 0.2, 0.1), (6, 4, 2)), fem.Material.isotropic(1e7, 0.3, 1000.0))
BALL, PLACE = 2.0, (4 * 0.4 / 6, 0.12, 2.1 + 1e-4)
PART = PART.with_interfaces(held="x0").with_surfaces(top="z1")
BASIS = reduction.contact_basis(PART, 4)


@pytest.fixture(scope="module")
def pressed():
    """A ball is pressed on the top of a plate that is held at one end, and rests."""
    system = flexmb.System()
    plate = system.add(flexmb.flexible_body(PART, BASIS, name="plate", modal_damping=1.0, geometric_stiffness="none"))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1e-2,) * 3), position=PLACE)
    system.fixed("wall", system.ground.at(plate["held"].point), plate["held"])
    system.prismatic("press", system.ground.at(PLACE), ball, axis=(0, 0, 1))
    system.drive("press", flexmb.time_functions.smooth_step(0.0, 0.1, -2e-3))
    system.contact("top", Sphere(BALL).on(ball.at((0, 0, 0))), plate.surface("top"))
    return flexmb.simulate(system, 0.5, step=1e-3, output_step=0.1)


def test_stresses_are_those_of_the_finite_element_model_at_rest(pressed):
    found = contact_stress(pressed, "plate", PART, BASIS, [-1])
    nodes, forces = surface_forces(pressed, pressed.mechanism.body_index("plate"))
    load = np.zeros((len(PART.points), 3))
    np.add.at(load, nodes, forces[-1])
    free = np.flatnonzero(np.repeat(PART.points[:, 0] > 0, 3))
    u = np.zeros((PART.ndof, 1))
    u[free, 0] = spsolve(PART.K.tocsr()[free][:, free].tocsc(), load.ravel()[free])
    _, _, exact = PART.stresses(u)
    largest = np.abs(exact).max()
    np.testing.assert_allclose(found.stress[0], exact[:, :, 0], atol=2e-4 * largest)
    own = shapes_of(pressed, "plate").rows @ pressed.elastic("plate")[-1]
    assert np.abs(own - exact[:, :, 0]).max() > 0.02 * largest  # the elastic coordinates do not have them
    assert "largest von Mises stress of 'plate' with its contacts" in str(found)


def test_what_cannot_be_is_refused(pressed):
    with pytest.raises(StressError, match="give the model and the basis from which flexible_body made it"):
        contact_stress(pressed, "plate", PART, reduction.contact_basis(PART, 5))
    system = flexmb.System()
    system.add(flexmb.flexible_body(PART, BASIS, name="plate"))
    with pytest.raises(StressError, match=r"no forces on flexible surfaces.*with such contacts: none"):
        contact_stress(flexmb.simulate(system, 1e-3, step=1e-3), "plate", PART, BASIS)
