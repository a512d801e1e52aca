"""Derivatives of motions in which surfaces of reduced bodies touch: by differences, and by the adjoint method."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, tube
from flexmb.contact import LocalHertz, Plane, Sphere
from flexmb.errors import MechanismError
from flexmb.linear import equilibrium
from flexmb.mechanism.compile import compiled
from flexmb.results.measure import measure
from flexmb.study import adjoint_gradient, direct_gradient, gradient

STEP, G = 1e-4, 9.81
OPTIONS = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11, "threads": True, "workers": 1}


def block_of(young=1e7, stiffening="none", name="block"):
    part = fem.Model(block("hexahedron", (0.2, 0.15, 0.1), (3, 2, 2)), fem.Material.isotropic(young, 0.3, 1000.0))
    part = part.with_surfaces(below="z0").with_interfaces(top=fem.Interface("z1", kind="average"))
    basis = reduction.contact_basis(part, 6)
    return flexmb.flexible_body(part, basis, name=name, modal_damping=0.05, geometric_stiffness=stiffening)


SOFT, STIFFENED = block_of(), block_of(stiffening="second-order")
FLOOR = Plane()


def falling(speed=1.0, young=1e7, *, friction=0.0, turn=(0.0, 0.0, 0.0), gap=0.0):
    """A block that hits a plane."""
    R = flexmb.spatial.lie.rotation_exp(np.array(turn))
    system = flexmb.System()
    own = SOFT if young == 1e7 else block_of(young)
    up = system.add(own, position=(0, 0, gap), orientation=R, velocity=(0, 0, -speed))
    system.contact("hit", FLOOR.on(system.ground.at((0, 0, 0))), up.surface("below"), friction=friction)
    return system


def loaded(on="plane", body=SOFT, *, speed=1.0, along=0.3, mu=0.3, k=1e4, extra=0.1, g=G, height=3e-4, carrier=3.0):
    """A block that falls on its corner, with a lump on a spring, on a plane, a sphere or a plane of a free body."""
    system = flexmb.System(gravity=(0, 0, -g))
    turned = flexmb.spatial.lie.rotation_exp(np.array((0.01, -0.008, 0.1)))
    up = system.add(body, position=(0, 0, height), orientation=turned, velocity=(along, 0, -speed))
    lump = system.add(flexmb.rigid_body("lump", mass=extra, inertia=(1e-4,) * 3), position=(0.1, 0.07, 0.2))
    system.spring_damper("spring", up["top"], lump.at((0, 0, 0)), stiffness=k, damping=0.1)
    if on == "table":
        table = flexmb.rigid_body("table", mass=carrier, inertia=(0.01, 0.02, 0.03))
        table = system.add(table, position=(0.1, 0.05, 0.0), angular_velocity=(0.3, 0.2, 0.1))
        shape = FLOOR.on(table.at((0.1, 0.05, 0.0)))
    elif on == "sphere":
        shape = Sphere(0.3).on(system.ground.at((0.13, 0.075, -0.3)))
    else:
        shape = FLOOR.on(system.ground.at((0, 0, 0)))
    system.contact("hit", shape, up.surface("below"), friction=mu)
    return system


def measured(result):
    force = result.surface_contact("hit").normal_force.sum(axis=1)
    return {"speed": float(result.w[-1, 2]), "force": float(force.max())}


def forces(result):
    return result.surface_contact("hit").normal_force.sum(axis=1)


def moved(result):
    return result.q[:, 0] + 0.5 * result.q[:, 1] + 0.01 * result.w[:, 5]


def last_of(series):
    return lambda result: {"result": float(series(result)[-1])}


def require_those_of_simulations(model, at, duration, series, *, relative_step=3e-5, rtol=1e-6):
    options = {"step": STEP, "newton_tolerance": 1e-12}
    found = adjoint_gradient(model, at, duration, series, over="final", **options)
    other = gradient(
        model,
        at,
        duration,
        measure=last_of(series),
        relative_step=relative_step,
        **OPTIONS | {"newton_tolerance": 1e-12},
    )
    assert found.outcome["result"] == pytest.approx(other.outcome["result"], rel=1e-12)
    exact, reached = found.derivatives["result"], np.nan_to_num(other.errors["result"])
    np.testing.assert_allclose(exact, other.derivatives["result"], rtol=rtol, atol=2.0 * reached.max())
    assert (reached <= rtol * np.abs(exact)).any()
    return found


def test_speeds_and_forces_of_a_flat_impact_are_proportional_to_the_speed():
    found = gradient(falling, {"speed": 1.3}, 5e-3, measure=measured, relative_step=1e-4, **OPTIONS)
    assert found.outcome["speed"] > 1.0  # it has left
    for name in ("speed", "force"):
        assert found.derivatives[name][0] == pytest.approx(found.outcome[name] / 1.3, rel=1e-7)


@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning")
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_the_adjoint_of_a_flat_impact_is_proportional_to_the_speed(friction):
    """The motion without gravity is homogeneous in the speed: it begins in contact, and ends in flight."""
    options = {"step": STEP, "newton_tolerance": 1e-11}
    model = lambda speed: falling(speed, friction=friction)  # noqa: E731
    for series, over in ((lambda r: r.w[:, 2], "final"), (forces, "largest")):
        found = adjoint_gradient(model, {"speed": 1.3}, 5e-3, series, over=over, **options)
        assert found.derivatives["result"][0] == pytest.approx(found.outcome["result"] / 1.3, rel=1e-9)


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


@pytest.mark.filterwarnings("ignore:Contact .* narrower than the mesh")
@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning")
@pytest.mark.parametrize(
    ("on", "body", "at"),
    [
        ("plane", SOFT, {"speed": 1.0, "mu": 0.3, "along": 0.3}),
        ("plane", SOFT, {"speed": 1.0, "mu": 0.1, "along": 2.0, "k": 1e4, "extra": 0.1, "g": G}),
        ("plane", STIFFENED, {"speed": 1.0, "along": 2.0, "extra": 0.1}),
        ("sphere", SOFT, {"speed": 1.0, "along": 0.3, "height": -1.6e-3}),
        ("table", SOFT, {"speed": 1.0, "mu": 0.3, "along": 0.3, "carrier": 3.0}),
    ],
    ids=["sticks and slides", "slides", "second order", "sphere", "moving table"],
)
def test_the_adjoint_of_impacts_of_corners_is_that_of_simulations(on, body, at):
    require_those_of_simulations(lambda **v: loaded(on, body, **v), at, 5e-3, moved)


def on_a_slope(angle=0.1, mu=0.3, push=3.0, *, speed=0.5):
    """A block on a slope, with a load along it that grows from zero."""
    system = flexmb.System(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    up = system.add(SOFT, velocity=(speed, 0, 0))
    ramp = flexmb.time_functions.smooth_step(0.0, 0.02, 1.0)
    system.load("push", up["top"], force=(push, 0.5 * push, 0), factor=ramp)
    system.contact("hit", FLOOR.on(system.ground.at((0, 0, 0))), up.surface("below"), friction=mu)
    return system


def test_the_adjoint_of_a_block_that_rests_is_that_of_simulations():
    """It begins with the forces of an equilibrium, times a parameter, and leans against the friction that holds it."""
    rest = equilibrium(on_a_slope(mu=0.6, speed=0.0)).state

    def model(angle, push, mu, part):
        made = on_a_slope(angle, mu, push, speed=0.0).build()
        return replace(made, initial=replace(rest, element_states=part * rest.element_states))

    at = {"angle": 0.1, "push": 3.0, "mu": 0.6, "part": 1.0}
    series = lambda r: forces(r) + r.surface_contact("hit").normal_force[:, 0] + 1e4 * r.q[:, 0]  # noqa: E731
    found = require_those_of_simulations(model, at, 0.02, series, relative_step=1e-3)
    assert abs(found.derivatives["result"][3]) > 1e-3
    assert found.derivatives["result"][2] == 0.0  # nothing slides


def test_the_adjoint_of_a_block_that_slides_is_that_of_simulations():
    at = {"angle": 0.3, "push": 3.0, "mu": 0.2}
    found = require_those_of_simulations(on_a_slope, at, 0.02, lambda r: r.w[:, 0])
    slopes = 0.02 * G * np.array([np.cos(0.3) + 0.2 * np.sin(0.3), 0.0, -np.cos(0.3)])  # of a rigid block
    np.testing.assert_allclose(found.derivatives["result"][[0, 2]], slopes[[0, 2]], rtol=0.3)


def driven(speed=0.5, tilt=0.02, pressure=2e3, *, friction=0.2):
    """A block that a driven sledge pulls over a plane, on which a bushing presses it."""
    system = flexmb.System()
    up = system.add(SOFT)
    centre = (0.1, 0.075, 0.15)
    sledge = system.add(flexmb.rigid_body("sledge", mass=0.5, inertia=(1e-3,) * 3), position=centre)
    system.prismatic("guide", system.ground.at(centre), sledge.at((0, 0, 0)), axis=(1, 0, 0))
    system.drive("guide", flexmb.time_functions.smooth_step(0.0, 0.04, 0.02 * speed))
    stiff = (2e4, 2e4, pressure, 50.0, 50.0, 50.0)
    system.bushing("press", sledge.at((0, 0, 0)), up["top"], stiffness=stiff, free=(0, 0, -0.055))
    normal = (-np.sin(tilt), 0, np.cos(tilt))
    floor = FLOOR.on(system.ground.at((0, 0, -0.2 * np.tan(tilt) - 1e-5)), axis=normal)
    system.contact("hit", floor, up.surface("below"), friction=friction)
    return system


@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning")
def test_the_adjoint_of_a_driven_block_is_that_of_simulations():
    """With parameters that turn the plane and move the driver, and a joint that shares the responses of points."""
    at = {"speed": 0.5, "tilt": 0.02, "pressure": 2e3}
    require_those_of_simulations(driven, at, 0.01, forces, relative_step=1e-4)


@pytest.mark.filterwarnings("ignore:Contact .* narrower than the mesh")
@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning")
def test_the_adjoint_by_the_shape_and_the_body_is_that_of_simulations():
    """Parameters that change the points and their compliance."""

    def model(radius, young):
        system = flexmb.System()
        up = system.add(block_of(young), position=(0, 0, 1e-4), velocity=(0.3, 0, -1.0))
        ball = Sphere(radius).on(system.ground.at((0.13, 0.07, -0.3)))
        system.contact("hit", ball, up.surface("below"), friction=0.3)
        return system

    series = lambda r: r.w[:, 2]  # noqa: E731
    require_those_of_simulations(model, {"radius": 0.3, "young": 1e7}, 3e-3, series, relative_step=3e-6)


def small(cells=(2, 2, 1), size=(0.2, 0.15, 0.1), young=1e7, name="block", modes=4):
    part = fem.Model(block("hexahedron", size, cells), fem.Material.isotropic(young, 0.3, 1000.0))
    part = part.with_surfaces(below="z0").with_interfaces(top=fem.Interface("z1", kind="average"))
    return flexmb.flexible_body(part, reduction.contact_basis(part, modes), name=name, modal_damping=0.05)


PAD, SLAB, FINE = small(), small((3, 2, 1), (0.3, 0.25, 0.1), name="slab"), small((8, 8, 2), (0.1, 0.1, 0.03))
TILT = (0.002, -0.0015, 0.1)


def against(kind, speed=1.0, along=0.3, height=1.3e-4, mu=0.0, young=1e7, thick=0.1, radius=0.1):
    """A block that hits what points of surfaces move over, or another flexible body with a shape."""
    system, velocity = flexmb.System(), (along, 0, -speed)
    if kind == "local":
        up = system.add(FINE, position=(0, 0, height), velocity=velocity)
        local, ball = LocalHertz(young=1e7, poisson=0.3), Sphere(radius)
        system.contact(
            "hit", ball.on(system.ground.at((0.047, 0.053, -0.1))), up.surface("below"), friction=mu, local=local
        )
        return system
    own = PAD if young == 1e7 else small(young=young)
    turned = flexmb.spatial.lie.rotation_exp(np.array(TILT))
    up = system.add(own, position=(0, 0, height), orientation=turned, velocity=velocity)
    if kind == "surface":
        other = system.add(SLAB, position=(-0.05, 0.2, 0), orientation=(np.pi, 0, 0), angular_velocity=(0.2, 0.1, 0.3))
        shape = other.surface("below")
    elif kind == "flexible":
        shape = FLOOR.on(system.add(SLAB, position=(-0.05, -0.05, -0.1))["top"])
    else:
        table = flexmb.rigid_body("table", mass=3.0, inertia=(0.01, 0.02, 0.03))
        table = system.add(table, position=(0.1, 0.05, -0.05), angular_velocity=(0.3, 0.2, 0.1))
        shape = flexmb.contact.mesh(flexmb.solids.box((0.5, 0.53, thick))).on(table.at((0, 0, 0)))
    system.contact("hit", up.surface("below"), shape, friction=mu)
    return system


@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning", "ignore::flexmb.errors.EnergyBalanceWarning")
@pytest.mark.parametrize(
    ("kind", "at", "relative_step"),
    [
        ("surface", {"speed": 1.0, "along": 0.3, "height": 1.3e-4}, 1e-4),
        ("surface", {"speed": 1.0, "along": 0.3, "mu": 0.3, "young": 1e7}, 1e-4),
        ("mesh", {"speed": 1.0, "along": 0.3, "height": 1.3e-4}, 1e-4),
        ("mesh", {"along": 3.0, "mu": 0.1, "young": 1e7, "thick": 0.1}, 1e-6),
        ("flexible", {"speed": 1.0, "along": 0.3, "height": 1.3e-4, "mu": 0.3}, 1e-4),
        ("local", {"speed": 1.0, "along": 0.3, "height": 1.3e-4, "mu": 0.3, "radius": 0.1}, 1e-4),
    ],
    ids=["surface", "surface with friction", "mesh", "mesh that slides", "shape on a flexible body", "local"],
)
def test_the_adjoint_by_differences_of_points_is_that_of_simulations(kind, at, relative_step):
    require_those_of_simulations(lambda **v: against(kind, **v), at, 8e-4, moved, relative_step=relative_step)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.SensitivityWarning", "ignore::flexmb.errors.EnergyBalanceWarning")
def test_the_adjoint_of_a_pin_in_a_sleeve_is_that_of_simulations():
    """With a radius that changes the heights of the curved surfaces above their facets, and moves points that slip by
    less than its steps. With a clearance of a speed times a step, points would begin to touch just at the end of it."""

    def ring(radii, around, surface, name):
        part = tube("hexahedron", radii, 0.1, (1, around, 1))
        part = fem.Model(part, fem.Material.isotropic(1e8, 0.3, 1000.0)).with_surfaces(**{surface: surface})
        basis = reduction.contact_basis(part, 4)
        return flexmb.flexible_body(part, basis, name=name, modal_damping=0.05, geometric_stiffness="none")

    sleeve = ring((0.1, 0.15), 20, "inner", "sleeve")

    def model(radius, speed, spin):
        system = flexmb.System()
        pin = system.add(
            ring((0.05, radius), 16, "outer", "pin"), velocity=(speed, 0.2, 0), angular_velocity=(0, 0, spin)
        )
        system.contact("hit", pin.surface("outer"), system.add(sleeve).surface("inner"), friction=0.2)
        return system

    assert compiled(model(0.09992, 1.0, 20.0).build()).facet_excess.any()
    require_those_of_simulations(
        model, {"radius": 0.09992, "speed": 1.0, "spin": 20.0}, 5e-4, moved, relative_step=1e-6
    )


def test_the_direct_method_refuses_surfaces():
    with pytest.raises(MechanismError, match=r"contacts of flexible surfaces.*'hit'.*flexmb\.study\.adjoint_gradient"):
        direct_gradient(falling, {"speed": 1.0}, 5e-3, step=STEP)


@pytest.mark.filterwarnings("ignore:The motion from t")
@pytest.mark.parametrize("text", ["slip:hit", "wear-power:hit", "pressure:hit", "normal-force:hit"])
def test_slips_that_friction_can_turn_off_have_no_adjoint_derivative(text):
    """A point that slides is at the edge of the cone of friction. To one side of it the slip is zero: the adjoint method
    had 6.6e3 for the derivative of the slip by the speed, which is -4e-3. Pressures and forces are smooth there."""
    options = {"step": STEP, "newton_tolerance": 1e-11, "over": "largest"}
    model = lambda speed: loaded(speed=speed, along=0.5, mu=0.3)  # noqa: E731
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        adjoint_gradient(model, {"speed": 1.0}, 4e-3, measure(text), **options)
    named = [w for w in told if "The series has a kink or a jump at the state of" in str(w.message)]
    assert bool(named) == (text in ("slip:hit", "wear-power:hit"))
    assert all(w.filename == __file__ for w in named)
