"""Bodies that rest on Hertzian springs whose compression is far below the size of the mechanism."""

from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.forces import gap_spring, raceway_sectors
from flexmb.linear import equilibrium, linearise

LOAD, MASS, RADIUS, WIDTH = 500.0, 50.0, 0.05, 0.02


def shaft(start, load=LOAD):
    """A shaft on a vertical guide, drawn at a height."""
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)), position=(0, start, 0))
    system.prismatic("guide", system.ground, body, axis=(0, 1, 0), at=(0, 0, 0))
    system.load("weight", body.at((0, 0, 0)), force=(0, -load, 0))
    return system, body


@pytest.mark.parametrize("depth", [1e-8, 1e-6, 1e-5])
def test_a_shaft_finds_its_depth_on_a_roller(depth):
    """`load = k depth^1.5`, and a stiffness of `1.5 load / depth`, drawn far outside and near."""
    for start in (-0.1 * depth, -20.0 * depth):
        system, body = shaft(start)
        roller = gap_spring(LOAD / depth**1.5, exponent=1.5)
        below = system.ground.at((0, -RADIUS, 0))
        system.spring_damper("roller", below, body.at((0, 0, 0)), length=RADIUS, law=roller)
        rest = equilibrium(system)
        assert -rest.state.q[1] == pytest.approx(depth, abs=1e-12)
        exact = 1.5 * LOAD / depth / MASS
        off = 1e-12 / depth  # the accuracy of the place
        assert rest.error < max(1e-7, 1e-13 / depth) * exact
        assert abs(rest.softest - exact) < rest.error + off * exact
        assert rest.stable
        assert rest.iterations < 15
        small = linearise(rest).modes()
        assert 2 * np.pi * small.frequencies[0] == pytest.approx(np.sqrt(exact), rel=1e-7 + off)


def in_ring():
    """The shaft on the three lowest of eight rollers in a reduced ring that is held at its foot."""
    mesh = fem.structured_meshes.tube("hexahedron20", (RADIUS, 0.06), WIDTH, (1, 24, 1))
    foot = np.flatnonzero((np.hypot(*mesh.points[:, :2].T) > 0.0599) & (mesh.points[:, 1] < -0.058))
    model = fem.Model(mesh, fem.Material.steel())
    sectors = raceway_sectors(model, "inner", 8, first=-np.pi / 2)
    model = model.with_interfaces(foot=foot, **sectors)
    basis = reduction.craig_bampton(model, modes=2, reference_frame="foot")
    ring = flexmb.flexible_body(model, basis, name="ring", geometric_stiffness="none")
    system, body = shaft(0.0)
    outer = system.add(ring)
    system.fixed("housing", system.ground, outer["foot"])
    for name in list(sectors)[-1:] + list(sectors)[:2]:
        roller = gap_spring(1e10, exponent=1.5)
        system.spring_damper(name, outer[name], body.at((0, 0, WIDTH / 2)), length=RADIUS, law=roller)
    return system.build()


def test_a_shaft_in_an_elastic_ring_has_the_stiffness_of_its_places_of_rest():
    """The compliance of the linearised model, against places of rest under two loads."""
    mechanism = in_ring()

    def under(part):
        loads = tuple(replace(load, wrench=part * load.wrench) for load in mechanism.loads)
        return equilibrium(replace(mechanism, loads=loads))

    less, middle, more = (under(part) for part in (0.999, 1.0, 1.001))
    assert middle.stable
    assert middle.error < 1e-6 * middle.softest
    assert 5e-6 < -middle.state.q[1] < 5e-5
    small = linearise(middle)
    force = small.N.T[:, 1]
    compliance = force @ np.linalg.solve(small.reduced()[2], force)
    found = (less.state.q[1] - more.state.q[1]) / (0.002 * LOAD)
    assert found == pytest.approx(compliance, rel=1e-5)
