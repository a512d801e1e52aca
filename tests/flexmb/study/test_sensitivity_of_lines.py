"""Derivatives with fluid in pipes and wind: adjoint and direct method agree with differences of the motion."""

import numpy as np
import pytest
from sensitivities import assert_agrees, at_the_end

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.study import adjoint_gradient, direct_gradient, gradient

pytestmark = pytest.mark.filterwarnings(
    "ignore::flexmb.errors.SensitivityWarning"
)  # derivatives are those of the steps
STEP, DURATION = 1e-3, 0.1
MESH = line((0, 0, 0), (1.0, 0, 0), 6)
PART = fem.Model(MESH, fem.Beam(fem.Material.steel(), fem.Section.rectangle(0.01, 0.01)))
PART = PART.with_interfaces(inlet="start", outlet="end")
HOSE = flexmb.flexible_body(PART, reduction.craig_bampton(PART, modes=2), name="hose", modal_damping=0.02)
AT = {"fluid": 0.3, "speed": 20.0, "density": 1.2, "gust": 30.0, "kilograms": 0.4, "along": 0.3, "reach": 0.6}


def plant(fluid, speed, density, gust, kilograms, along, reach):
    """A hose on a hinge and a rod that flies, in wind; the fluid in the hose accelerates."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    hose = system.add(HOSE, angular_velocity=(0, -2.0, 0))
    system.spherical("hinge", system.ground, hose["inlet"])
    ramp = flexmb.time_functions.polynomial(1.0, 3.0)
    system.pipe_flow("water", hose, MESH.points, mass_per_length=fluid, speed=speed, factor=ramp)
    wind = {"density": density, "diameter": 0.05, "velocity": (2.0, gust, 5.0), "along": along}
    system.wind("breeze", hose, MESH.points, factor=ramp, **wind)
    rod = flexmb.rigid_body("rod", mass=kilograms, inertia=np.diag([0.01, 0.02, 0.03]) * kilograms)
    rod = system.add(rod, position=(0, 1, 0), angular_velocity=(3.0, 5.0, -4.0), velocity=(1.0, 0.5, 0.2))
    system.wind("drag", rod, [(reach * x, 0.1 * x * x, 0.0) for x in (-0.2, 0.1, 0.4, 1.0)], **wind)
    return system


SERIES = {
    "rod": lambda r: r.position("rod")[:, 1],
    "tip": lambda r: r.elastic("hose")[:, 1],
    "hose": lambda r: r.position("hose.outlet")[:, 1],
    "reaction": lambda r: r.reaction("hinge")[:, 1],
}
OPTIONS = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}


@pytest.fixture(scope="module")
def expected():
    """By extrapolated differences of simulations."""
    options = OPTIONS | {"newton_tolerance": 1e-13}
    return gradient(plant, AT, DURATION, measure=at_the_end(SERIES), relative_step=5e-3, threads=True, **options)


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
def test_the_adjoint_of_lines_gives_the_derivatives_of_the_simulation(expected, name):
    found = adjoint_gradient(plant, AT, DURATION, SERIES[name], over="final", **OPTIONS)
    assert_agrees(found.of("result"), expected, name, AT)


@pytest.mark.long
def test_the_direct_method_gives_them_all(expected):
    found = direct_gradient(plant, AT, DURATION, measure=at_the_end(SERIES), **OPTIONS)
    for name in SERIES:
        assert_agrees(found.of(name), expected, name, AT)


def test_wind_along_a_soft_cord_that_stretches():
    """The force along a cord grows with its length, and the share of the velocity along it falls: adjoint and direct
    method agree where the cord stretches."""
    part = fem.Model(MESH, fem.Beam(fem.Material.isotropic(1e6, 0.45, 1000.0), fem.Section.rectangle(0.01, 0.01)))
    part = part.with_interfaces(inlet="start", outlet="end")
    cord = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="cord", modal_damping=0.02)

    def model(along, gust):
        system = flexmb.System(gravity=(0, 0, 0))
        body = system.add(cord)
        system.spherical("hinge", system.ground, body["inlet"])
        system.wind("gale", body, MESH.points, density=1.2, diameter=0.05, velocity=(gust, 1.0, 0), along=along)
        return system

    def reach(result):
        return result.position("cord.outlet") @ [1.0, 0.3, 0.0]

    at = {"along": 0.3, "gust": 12.0}
    forth = direct_gradient(model, at, 0.1, measure=at_the_end({"reach": reach}), **OPTIONS).of("reach")
    back = adjoint_gradient(model, at, 0.1, reach, over="final", **OPTIONS).of("result")
    scale = np.array(list(at.values()))
    assert back * scale == pytest.approx(forth * scale, rel=0, abs=1e-6 * np.abs(forth * scale).max())


def test_adjoint_and_direct_method_agree_on_a_short_motion():
    at = {name: AT[name] for name in ("fluid", "gust", "reach")}
    rest = {name: value for name, value in AT.items() if name not in at}

    def model(**values):
        return plant(**values, **rest)

    measures = {name: SERIES[name] for name in ("rod", "hose")}
    forth = direct_gradient(model, at, 0.02, measure=at_the_end(measures), **OPTIONS)
    scale = np.array(list(at.values()))
    for name, series in measures.items():
        back = adjoint_gradient(model, at, 0.02, series, over="final", **OPTIONS).of("result")
        ahead = forth.of(name)
        assert back * scale == pytest.approx(ahead * scale, rel=0, abs=1e-6 * np.abs(ahead * scale).max())
