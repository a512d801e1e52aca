"""Stresses of a body under contacts of its flexible surfaces against a solution with the finite element model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.contact import Sphere
from flexmb.errors import StressError
from flexmb.results.contact_stress import ContactStress, contact_stress
from flexmb.results.elements.surface_contact import surface_forces
from flexmb.results.stress import LargestStress, shapes_of

PART = fem.Model(block("hexahedron", (0.4, 0.2, 0.1), (6, 4, 2)), fem.Material.isotropic(1e7, 0.3, 1000.0))
BALL, FOOT, GAP = 2.0, (4 * 0.4 / 6, 0.12), 1e-4
PART = PART.with_interfaces(held="x0").with_surfaces(top="z1")
BASIS = reduction.contact_basis(PART, 4)
pytestmark = pytest.mark.filterwarnings("ignore:Contact .* narrower than the mesh")


def press(depth):
    """A ball is pressed on the top of a plate that is held at one end, and rests."""
    system, place = flexmb.System(), (*FOOT, 0.1 + BALL + GAP)
    plate = system.add(flexmb.flexible_body(PART, BASIS, name="plate", modal_damping=1.0, geometric_stiffness="none"))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1e-2,) * 3), position=place)
    system.fixed("wall", system.ground.at(plate["held"].point), plate["held"])
    system.prismatic("press", system.ground.at(place), ball, axis=(0, 0, 1))
    system.drive("press", flexmb.time_functions.smooth_step(0.0, 0.1, -depth - GAP))
    system.contact("top", Sphere(BALL).on(ball.at((0, 0, 0))), plate.surface("top"))
    return flexmb.simulate(system, 0.5, step=1e-3, output_step=0.1)


def difference(pressed):
    """The largest difference from the stresses of the finite element model, and what the elastic coordinates lack,
    relative to the largest stress."""
    found = contact_stress(pressed, "plate", PART, BASIS, [-1])
    nodes, forces = surface_forces(pressed, pressed.mechanism.body_index("plate"))
    load = np.zeros((len(PART.points), 3))
    np.add.at(load, nodes, forces[-1])
    free = np.flatnonzero(np.repeat(PART.points[:, 0] > 0, 3))
    u = np.zeros((PART.ndof, 1))
    u[free, 0] = spsolve(PART.K.tocsr()[free][:, free].tocsc(), load.ravel()[free])
    exact = PART.stresses(u)[2][:, :, 0]
    own = shapes_of(pressed, "plate").rows @ pressed.elastic("plate")[-1]
    assert "largest von Mises stress of 'plate' with its contacts" in str(found)
    return np.array([np.abs(found.stress[0] - exact).max(), np.abs(own - exact).max()]) / np.abs(exact).max()


def test_stresses_at_rest_tend_to_those_of_the_finite_element_model():
    """The linear model is in equilibrium where it is undeformed, the body where it is deformed: stresses differ by the
    order of the slope of the plate, and in proportion to it. What the elastic coordinates lack does not depend on it."""
    runs = [press(depth) for depth in (5e-4, 2e-3)]
    (small, lacking), (large, same) = map(difference, runs)
    forces = [run.surface_contact("top").normal_force[-1].sum() for run in runs]
    assert large < 4e-4
    assert small / large == pytest.approx(forces[0] / forces[1], rel=0.1)
    assert min(lacking, same) > 0.4


def test_the_largest_stress_is_at_the_node_of_the_file():
    """A deck numbers its nodes as it likes; messages named rows of the mesh."""
    mesh = replace(PART.mesh, node_ids=1000 + np.arange(len(PART.points)))
    nodes, stress = np.array([4, 7]), np.zeros((1, 2, 6))
    stress[0, 1, 0] = 3.0
    touched = ContactStress("plate", np.zeros(1), nodes, mesh.points[nodes], stress, mesh)
    assert "its contacts: 3 at t = 0, node 7 (number 1007 in the file) at (" in str(touched)
    shapes = flexmb.flexible_body(PART, BASIS, geometric_stiffness="none").stress
    largest = LargestStress("plate", np.zeros(1), np.ones(1), nodes[:1], mesh.points[nodes[:1]], np.ones(2), shapes)
    assert ", node 4 at (" in str(largest)
    assert ", node 4 (number 1004 in the file) at (" in str(replace(largest, mesh=mesh))


def test_what_cannot_be_is_refused():
    pressed = press(2e-3)
    with pytest.raises(StressError, match="give the model and the basis from which flexible_body made it"):
        contact_stress(pressed, "plate", PART, reduction.contact_basis(PART, 5))
    system = flexmb.System()
    system.add(flexmb.flexible_body(PART, BASIS, name="plate"))
    with pytest.raises(StressError, match=r"no forces on flexible surfaces.*with such contacts: none"):
        contact_stress(flexmb.simulate(system, 1e-3, step=1e-3), "plate", PART, BASIS)
    low, high = (
        system.add(
            flexmb.flexible_body(PART, BASIS, name=name, geometric_stiffness="none"),
            position=(2.0, 0, z), orientation=(turn, 0, 0),
        )
        for name, z, turn in (("low", 0.0, 0.0), ("high", 0.201, np.pi))
    )  # fmt: skip
    system.contact("faces", low.surface("top"), high.surface("top"))
    with pytest.raises(StressError, match=r"with such contacts: \['low', 'high'\]"):
        contact_stress(flexmb.simulate(system, 1e-4, step=1e-4), "plate", PART, BASIS)
