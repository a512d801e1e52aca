"""Flexible surfaces of reduced bodies that touch rigid triangle meshes."""

import warnings

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.contact import Box, Capsule, Cylinder, LocalHertz, Plane, Sphere, mesh
from flexmb.errors import MechanismError, TunnellingWarning
from flexmb.files import load_model, load_result, save_result
from flexmb.results.elements.tunnels import _depth, surface_tunnels

YOUNG, G = 1e7, 9.81
CUBE = block("tetra", (0.4, 0.3, 0.1), (4, 3, 2))
STEP = {"step": 1e-4, "output_step": 1e-4}


def part(size, cells, poisson=0.3, young=YOUNG, **surfaces):
    material = fem.Material.isotropic(young, poisson, 1000.0)
    return fem.Model(block("hexahedron", size, cells), material).with_surfaces(**surfaces)


def flexible(model, name="up", damping=0.05):
    return flexmb.flexible_body(
        model, reduction.contact_basis(model, 6), name=name, modal_damping=damping, geometric_stiffness="none"
    )


UP = flexible(part((0.2, 0.15, 0.1), (3, 3, 1), below="z0"))
EVEN = flexible(part((0.2, 0.15, 0.1), (3, 3, 1), 0.0, below="z0"))


def over_the_edge(low):
    """A block that falls askew on another one, over whose edge it stands. With the default tolerance of the motion, the
    forces have errors of 2e-6."""
    system = flexmb.System()
    tilt = flexmb.spatial.lie.rotation_exp(np.array([0.02, -0.03, 0.2]))
    up = system.add(UP, position=(0.3, 0.2, 0.105), velocity=(0.3, 0.1, -1.0), orientation=tilt)
    system.contact("hit", up.surface("below"), low(system), friction=0.2)
    return flexmb.simulate(system, 6e-3, **STEP, newton_tolerance=1e-12).surface_contact("hit")


def test_a_mesh_is_the_limit_of_a_stiff_body():
    """A body of the same triangles differs by the inverse of its modulus."""
    rigid = over_the_edge(lambda system: mesh(CUBE).on(system.ground.at((0, 0, 0))))
    differences = []
    for young in (1e11, 1e12):
        model = fem.Model(CUBE, fem.Material.isotropic(young, 0.3, 3000.0)).with_surfaces(top="z1")
        stiff = flexible(model.with_interfaces(held="z0"), "low")

        def of_elements(system, stiff=stiff):
            low = system.add(stiff)
            system.fixed("base", system.ground.at(low["held"].point), low["held"])
            return low.surface("top")

        other = over_the_edge(of_elements)
        differences.append(np.abs(rigid.force - other.force).max() / np.abs(rigid.force).max())
    assert np.isinf(rigid.gap[-1]).any()  # nodes beyond the edge
    assert differences[1] < 3e-6
    assert differences[0] == pytest.approx(10 * differences[1], rel=0.003)
    assert rigid.other is None
    np.testing.assert_allclose(rigid.total, rigid.force.sum(axis=1), rtol=1e-12)


def test_a_block_presses_on_a_mesh_as_on_a_plane():
    tilt, frequencies = flexmb.spatial.lie.rotation_exp(np.array([0.3, 0.2, 0.0])), []
    for shape in (mesh(CUBE), Plane()):
        system = flexmb.System(gravity=-G * tilt[:, 2])
        up = system.add(EVEN, position=tilt @ (0.05, 0.05, 0.1), orientation=tilt)
        below = shape.on(system.ground.at(tilt @ (0, 0, 0.1 if shape.title == "plane" else 0)), tilt[:, 2], tilt[:, 0])
        system.contact("rest", up.surface("below"), below, friction=0.5)
        rest = flexmb.linear.equilibrium(system)
        over = rest.result.surface_contact("rest")
        weight = EVEN.invariants.mass * G
        np.testing.assert_allclose(over.pressure[-1], weight / 0.03, rtol=1e-6)
        assert np.abs(over.gap).max() < 1e-12
        still = flexmb.simulate(system, 1e-3, **STEP, initial_state=rest.state)
        assert np.abs(still.q - rest.state.q).max() < 1e-9
        frequencies.append(flexmb.linear.linearise(rest).modes().frequencies[:4])
    np.testing.assert_allclose(*frequencies, rtol=1e-2)


def test_bodies_with_meshes_keep_their_momenta():
    shape = mesh(CUBE, scale=0.5)
    low = flexmb.rigid_body("low", mass=2.0, inertia=(0.01, 0.02, 0.03), centre=(0.1, 0.075, 0.025))
    system = flexmb.System()
    a = system.add(low, angular_velocity=(0.5, -0.3, 0.2))
    up = system.add(UP, position=(0.05, 0.02, 0.0505), velocity=(0.3, 0.1, -1.0))
    system.contact("hit", shape.on(a.at((0, 0, 0))), up.surface("below"), friction=0.2)
    result = flexmb.simulate(system, 4e-3, newton_tolerance=1e-11, **STEP)
    over = result.surface_contact("hit")
    assert over.normal_force.max() > 0
    assert over.gap.min() > -1e-10
    assert (over.friction_force - 0.2 * over.normal_force).max() < 1e-8 * over.normal_force.max()
    momentum, spin = result.linear_momentum(), result.angular_momentum(about=(0.0, 0.0, 0.0))
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum[0]).max()
    assert np.abs(spin - spin[0]).max() < 1e-4 * np.abs(spin[0]).max()
    assert np.abs(result.ledger.residual).max() < 1e-2 * result.ledger.kinetic[0]


def test_a_block_slides_down_a_wedge():
    """With `g (sin a - mu cos a)`."""
    angle, mu = 0.5, 0.3
    tilt = flexmb.spatial.lie.rotation_exp(np.array([0.0, angle, 0.0]))
    system = flexmb.System(gravity=(0, 0, -G))
    up = system.add(EVEN, position=tilt @ (0.02, 0.05, 0.1), orientation=tilt)
    wedge = mesh(CUBE).on(system.ground.at((0, 0, 0)), axis=tilt[:, 2], x_axis=tilt[:, 0])
    system.contact("wedge", wedge, up.surface("below"), friction=mu)
    result = flexmb.simulate(system, 0.1, step=5e-4, output_step=5e-3)
    along = (result.q[:, :3] - result.q[0, :3]) @ tilt[:, 0]
    wanted = 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) * result.t**2
    assert np.abs(along - wanted).max() < 1e-2 * wanted[-1]
    assert result.surface_contact("wedge").slip.max() > 0


def test_results_are_saved_and_simulations_go_on(tmp_path):
    system = flexmb.System(gravity=(0, 0, -G))
    up = system.add(UP, position=(0.05, 0.05, 0.1001))
    system.contact("hit", up.surface("below"), mesh(CUBE).on(system.ground.at((0, 0, 0))), friction=0.2)
    whole = flexmb.simulate(system, 1.2e-2, **STEP)
    first = flexmb.simulate(system, 6e-3, **STEP)
    save_result(first, tmp_path / "first.h5")
    loaded = load_result(tmp_path / "first.h5")
    np.testing.assert_allclose(loaded.surface_contact("hit").pressure, first.surface_contact("hit").pressure)
    assert loaded.mechanism.surface_contacts[0].mesh.name == first.mechanism.surface_contacts[0].mesh.name
    second = flexmb.simulate(system, 6e-3, initial_state=loaded, **STEP)
    forces = [run.surface_contact("hit").normal_force.sum(axis=1) for run in (whole, second)]
    assert forces[0].max() > 0
    assert np.abs(forces[1] - forces[0][60:]).max() < 2e-2 * forces[0].max()  # the method begins anew


def test_model_files(tmp_path):
    fem.write_mesh(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 2)), tmp_path / "block.msh")
    fem.write_mesh(CUBE, tmp_path / "table.msh")
    (tmp_path / "model.toml").write_text(
        '[bodies.up]\nkind = "flexible"\nmesh = "block.msh"\nmaterial = "steel"\nsurfaces = { below = "z0" }\n'
        'reduction = { method = "contact", modes = 4 }\nposition = [0.0, 0.0, 0.1]\n'
        '[[contacts]]\nname = "rest"\na = { place = "up", surface = "below" }\n'
        'b = { place = "ground", shape = "mesh", file = "table.msh", at = [0.0, 0.0, 0.0] }\nfriction = 0.2\n'
        "[simulation]\nduration = 1e-3\nstep = 1e-5\n"
    )
    contact = load_model(tmp_path / "model.toml").system.build().surface_contacts[0]
    assert (contact.surface, contact.mesh.name, contact.friction) == ("below", "table", 0.2)


def test_what_cannot_be_is_refused():
    system = flexmb.System()
    up = system.add(UP, position=(0.05, 0.05, 0.1))
    shape = mesh(CUBE).on(system.ground.at((0, 0, 0)))
    with pytest.raises(MechanismError, match="that of a sphere; found a mesh"):
        system.contact("hit", up.surface("below"), shape, local=LocalHertz(young=1e9, poisson=0.3))
    system.contact("hit", up.surface("below"), shape)
    with pytest.raises(MechanismError, match=r"with each other and with meshes.*'hit'"):
        flexmb.simulate(system, 0.01, method="energy-momentum", step=1e-3)
    inside = flexmb.System()
    up = inside.add(UP, position=(0.05, 0.05, 0.099))
    inside.contact("hit", up.surface("below"), mesh(CUBE).on(inside.ground.at((0, 0, 0))))
    with pytest.raises(MechanismError, match=r"inside the mesh, 0\.001 deep"):
        flexmb.simulate(inside, 0.01, step=1e-3)


def test_a_block_bridges_a_trench_of_a_mesh_that_is_not_convex():
    banks = [flexmb.solids.box((0.1, 0.3, 0.1), centre=(x, 0.1, -0.05)) for x in (0.0, 0.2)]
    ground = mesh(flexmb.solids.together(*banks))
    assert not ground.convex
    system = flexmb.System(gravity=(0, 0, -G))
    beam = flexible(part((0.2, 0.1, 0.05), (8, 2, 2), below="z0"))
    up = system.add(beam, position=(0.02, 0.05, 0.0))
    system.contact("rest", up.surface("below"), ground.on(system.ground.at((0, 0, 0))), friction=0.5)
    over = flexmb.linear.equilibrium(system).result.surface_contact("rest")
    place, force, weight = over.point[-1, :, 0], over.force[-1, :, 2], beam.invariants.mass * G
    assert (force[(place > 0.08) & (place < 0.12)] == 0.0).all()
    assert over.total[-1, 2] == pytest.approx(weight, rel=1e-9)
    assert over.moment[-1, 1] == pytest.approx(-0.12 * weight, rel=1e-4)  # of the mass centre, before it sags
    assert min(force[place < 0.1].sum(), force[place > 0.1].sum()) > 0.3 * weight


LOW = flexible(part((0.4, 0.3, 0.1), (4, 3, 2), top="z1").with_interfaces(held="z0"), "low")


def shot(velocity, place, of, spin=(0.0, 0.0, 0.0)):
    """A block above what is 0.1 high."""
    system = flexmb.System()
    up = system.add(UP, position=place, velocity=velocity, angular_velocity=spin)
    if of == "surface":
        low = system.add(LOW)
        system.fixed("base", system.ground.at(low["held"].point), low["held"])
        other = low.surface("top")
    else:
        shapes = {
            "mesh": (mesh(CUBE), (0, 0, 0)),
            "sphere": (Sphere(0.05), (0.2, 0.1, 0.05)),
            "plane": (Plane(), (0, 0, 0.1)),
        }
        shape, at = shapes[of]
        other = shape.on(system.ground.at(at))
    system.contact("hit", up.surface("below"), other)
    return system


@pytest.mark.parametrize(
    ("of", "match"),
    [
        ("mesh", r"'below' of 'up' and the mesh on the ground of .* 'hit' .* by 0\.2 .* within 0\.08.* most 0\.0004 "),
        (
            "surface",
            r"'below' of 'up' and the flexible surface 'top' on 'low' .* by 0\.2 .* within 0\.08.* most 0\.0004 ",
        ),
        ("sphere", r"'below' of 'up' and the sphere on the ground .* by 0\.2 .* sphere is 0\.05.* most 0\.00025 "),
    ],
)
def test_a_surface_that_may_pass_through_unseen_is_named(of, match):
    """By 0.2 in a step; the triangles of the surface are 0.04 high."""
    with pytest.warns(TunnellingWarning, match=match):
        result = flexmb.simulate(shot((0, 0, -200.0), (0.1, 0.05, 0.3), of), 4e-3, step=1e-3)
    assert result.position("up")[-1, 2] == pytest.approx(-0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("velocity", "place", "of"),
    [
        ((0, 0, -200.0), (0.1, 0.05, 0.3), "plane"),  # no end to come out at
        ((0, 0, -200.0), (5.0, 0.05, 0.3), "mesh"),  # beside it
        ((200.0, 0, 0), (-0.4, 0.05, 0.11), "mesh"),  # along it
        ((200.0, 0, 0), (-0.4, 0.05, 0.11), "surface"),
        ((0, 0, 200.0), (0.1, 0.05, 0.11), "mesh"),  # away from it
        ((0, 0, -70.0), (0.1, 0.05, 0.4), "mesh"),  # by less than the range
    ],
)
def test_surfaces_that_do_not_pass_through_are_not_named(velocity, place, of):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", TunnellingWarning)
        flexmb.simulate(shot(velocity, place, of), 4e-3, step=1e-3)


def test_the_speed_of_a_point_includes_the_turning_of_its_body():
    """Its far end, at 0.2, falls by 0.12 in a step of 2 ms; its frame does not move."""
    result = flexmb.simulate(shot((0, 0, 0), (0.0, 0.05, 0.2), "mesh", spin=(0.0, 300.0, 0.0)), 1e-5, step=1e-5)
    (text,) = surface_tunnels(result, 2e-3)
    assert "approach each other by 0.12 " in text
    assert not list(surface_tunnels(result, 1e-3))


def test_the_speed_of_a_point_is_relative_to_what_turns_below_it():
    """A mesh of 0.1 turns about its corner, 300 rad/s against the block above it: its far end rises by 0.12 in 2 ms."""
    system = flexmb.System()
    up = system.add(UP, position=(0, 0.05, 0.2))
    low = system.add(flexmb.rigid_body("cube", mass=1e3, inertia=(1e3,) * 3), angular_velocity=(0, -300.0, 0))
    system.contact("hit", up.surface("below"), mesh(CUBE).on(low.at((0, 0, 0))))
    result = flexmb.simulate(system, 1e-5, step=1e-5)
    (text,) = surface_tunnels(result, 2e-3)
    assert "approach each other by 0.12 " in text
    assert not list(surface_tunnels(result, 1e-3))


@pytest.mark.parametrize(
    ("shape", "depths"),
    [
        (Sphere(1.0), [1 - np.sqrt(0.29), 1 - np.sqrt(0.25 + 1.69), 1 - np.hypot(1.3, 0.1)]),
        (Box(2.0, 4.0, 3.2), [0.7, 0.3, -0.3]),
        (Cylinder(1.0, 3.0), [0.5, 0.2, -0.3]),
        (Capsule(1.0, 2.0), [0.5, 1 - np.hypot(0.5, 0.3), -0.3]),
    ],
)
def test_depths_inside_shapes(shape, depths):
    """Of a point near the middle, one near an end, and one beside the shape."""
    points = np.array([[0.3, -0.4, 0.2], [-0.4, 0.3, 1.3], [1.3, 0.0, 0.1]])
    np.testing.assert_allclose(_depth(shape, points), depths, rtol=1e-12)
