"""A sphere on a flexible surface with a contact radius below the node spacing: Hertz, whatever the mesh."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.contact import Box, LocalHertz, Plane, Sphere
from flexmb.contact.local import elliptic_factor
from flexmb.mechanism.contacts.local import node_stiffness

YOUNG, POISSON, RADIUS, DEPTH = 1.0, 0.3, 0.5, 0.01
BLOCK = -0.72
"""Regular part of the compliance in the middle of the face of a block of 1 x 1 x 0.5 on a rigid base, by the finite
element model alone with 8 to 16 elements along the side: the block is stiffer than the half-space."""


@cache
def block(kind="hexahedron", n=6):
    mesh = fem.structured_meshes.block(kind, (1.0, 1.0, 0.5), (n, n, max(2, n // 2)))
    part = fem.Model(mesh, fem.Material.isotropic(YOUNG, POISSON, 1e-6)).with_interfaces(base="z0")
    part = part.with_surfaces(top="z1")
    basis = reduction.contact_basis(part, 6, frictionless=True)
    return flexmb.flexible_body(part, basis, name="block", geometric_stiffness="none", modal_damping=0.1)


def under(body, shift=(0.0, 0.0), shape=None, **options):
    """A sphere above the block, at a distance `shift` from the middle of its face."""
    points = body.surfaces["top"].points
    x, y = 0.5 * (points.min(axis=0) + points.max(axis=0))[:2] + shift
    place = (x, y, points[:, 2].max() + RADIUS)
    system = flexmb.System(gravity=(0, 0, 0))
    own = system.add(body)
    system.fixed("base", system.ground.at(own["base"].point), own["base"])
    ball = system.add(flexmb.rigid_body("ball", mass=1e-4, inertia=(1e-5,) * 3), position=place)
    system.prismatic("guide", system.ground.at(place), ball, axis=(0, 0, -1))
    local = LocalHertz(YOUNG, POISSON)
    shape = Sphere(RADIUS) if shape is None else shape
    system.contact("touch", shape.on(ball.at((0, 0, 0))), own.surface("top"), **({"local": local} | options))
    return system


def pressed(body, shift=(0.0, 0.0), depth=DEPTH):
    system = under(body, shift)
    system.drive("guide", flexmb.time_functions.smooth_step(0.0, 1.0, depth))
    return flexmb.simulate(system, 1.0, step=0.02, output_step=0.1)


def depth_of(force):
    stiffness = 4.0 / 3.0 * YOUNG / (1.0 - POISSON**2) * np.sqrt(RADIUS)
    return (force / stiffness) ** (2.0 / 3.0) + BLOCK * force


def error_of_depth(result):
    force = result.surface_contact("touch").normal_force.sum(axis=1)[1:]
    moved = result.position("ball")[0, 2] - result.position("ball")[1:, 2]
    return np.abs(depth_of(force) / moved - 1.0).max()


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.05, 0.02)])
def test_force_and_depth_are_those_of_hertz(shift):
    """Between nodes as on them; the radius is 0.4 of their spacing at most."""
    assert error_of_depth(pressed(block(), shift)) < 0.015


@pytest.mark.long
@pytest.mark.parametrize(("kind", "n"), [("hexahedron", 4), ("hexahedron", 7), ("hexahedron", 10), ("hexahedron20", 4)])
def test_meshes(kind, n):
    assert error_of_depth(pressed(block(kind, n))) < 0.015
    assert error_of_depth(pressed(block(kind, n), (0.04, 0.01))) < 0.02


def test_the_patch_of_hertz():
    over = pressed(block()).surface_contact("touch")
    force = over.normal_force.sum(axis=1)[-1]
    modulus = YOUNG / (1.0 - POISSON**2)
    radius = (0.75 * force * RADIUS / modulus) ** (1.0 / 3.0)
    assert over.local.radius[-1] == pytest.approx(radius, rel=1e-9)
    assert over.local.largest_pressure[-1] == pytest.approx(1.5 * force / np.pi / radius**2, rel=1e-9)
    assert over.area[-1] == pytest.approx(np.pi * radius**2)
    assert over.gap[1:].max() < 1e-9


def test_a_bounce_keeps_the_energy(tmp_path):
    """Also from a file, and in pieces: the forces are part of the state."""
    system = under(block(), (0.03, 0.01))
    system.set_speed("guide", 0.5)
    whole = flexmb.simulate(system, 0.05, step=2e-4, output_step=5e-3)
    energy = 0.5 * 1e-4 * 0.5**2
    assert np.abs(whole.ledger.residual).max() < 0.02 * energy
    assert whole.surface_contact("touch").normal_force.sum(axis=1).max() > 0.0
    half = flexmb.simulate(system, 0.025, step=2e-4, output_step=5e-3)
    flexmb.files.save_result(half, tmp_path / "half.h5")
    read = flexmb.files.load_result(tmp_path / "half.h5")
    rest = flexmb.simulate(system, 0.025, initial_state=read, step=2e-4, output_step=5e-3)
    assert rest.position("ball")[-1] == pytest.approx(whole.position("ball")[-1], abs=1e-3)  # the method begins anew


def test_two_curvatures():
    """An elliptic patch: displacements by quadrature over chords of the pressure `sqrt(1 - x^2 - (y/k)^2)`."""
    k, angles = 0.4, (np.arange(400) + 0.5) * np.pi / 400

    def yielding(x, y):
        c, s = np.cos(angles), np.sin(angles)
        a, b, d = c**2 + (s / k) ** 2, x * c + y * s / k**2, 1.0 - x**2 - (y / k) ** 2
        chord, highest = 2.0 * np.sqrt(b**2 + a * d) / a, np.sqrt(d + b**2 / a)
        return (0.25 * np.pi * chord * highest).mean()  # times pi / (pi E*), E* = 1

    middle, e = yielding(0.0, 0.0), 0.2
    B, A = (2.0 * (middle - yielding(*p)) / e**2 for p in ((e, 0.0), (0.0, e)))
    B, A = B, 2.0 * (middle - yielding(0.0, e * k)) / (e * k) ** 2
    stiffness = 2.0 / 3.0 * np.pi * k / middle**1.5
    assert elliptic_factor(B / A) == pytest.approx(stiffness / (4.0 / 3.0 / (A * B) ** 0.25), rel=1e-6)
    assert elliptic_factor(1.0) == 1.0


@pytest.mark.parametrize(
    ("shape", "options", "text"),
    [
        (Box(0.1, 0.1, 2 * RADIUS), {}, "is that of a sphere; found a box"),
        (None, {"local": 3.0}, "needs flexmb.contact.LocalHertz"),
    ],
)
def test_refusals(shape, options, text):
    with pytest.raises(flexmb.MechanismError, match=text):
        under(block(), shape=shape, **options)


def test_a_body_does_not_touch_its_own_shape():
    system = flexmb.System()
    own, other = system.add(block()), system.add(block(), name="other", position=(0, 0, 2))
    with pytest.raises(
        flexmb.MechanismError, match=r"^Contact 'touch': the body 'block' cannot touch a shape of its own\.$"
    ):
        system.contact("touch", Sphere(0.1).on(own["base"]), own.surface("top"))
    system.contact("touch", Sphere(0.1).on(other["base"]), own.surface("top"))


def test_the_mesh_of_a_local_contact_has_enough_nodes():
    with pytest.raises(
        flexmb.MechanismError,
        match=r"^Contact 'touch': no node of the surface has 12 others at distances of 1\.9 to 4\.3 node spacings, from which "
        r"local contact takes the compliance of the body\. Refine the mesh, or enlarge the surface\.$",
    ):
        flexmb.simulate(under(block(n=2)), 0.01, step=0.01)
    flexmb.simulate(under(block()), 0.01, step=0.01)


def test_rigid_shapes_have_no_local_contact():
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 1))
    floor, sphere = Plane().on(system.ground.at((0, 0, 0))), Sphere(0.5).on(ball.at((0, 0, 0)))
    with pytest.raises(flexmb.MechanismError, match="local= belongs to a flexible surface"):
        system.contact("touch", sphere, floor, local=LocalHertz(1.0, 0.3))


@pytest.mark.parametrize("values", [(0.0, 0.3), (1.0, 0.6), (np.inf, 0.3)])
def test_materials_that_cannot_be(values):
    with pytest.raises(flexmb.LawError):
        LocalHertz(*values)


def test_a_hollow_that_is_too_narrow():
    surface = block().surfaces["top"]
    hollow = replace(surface, curvatures=surface.curvatures - 3.0)
    contact = type("Contact", (), {"name": "touch", "shape": (0.0, RADIUS)})()
    with pytest.raises(flexmb.MechanismError, match="does not fit into the hollow"):
        node_stiffness(LocalHertz(1.0, 0.3), hollow, contact)


def test_a_hollow_that_is_too_narrow_is_named_by_the_node_of_the_file():
    body = block()
    surface = body.surfaces["top"]
    hollow = replace(surface, curvatures=surface.curvatures - 3.0)
    numbered = replace(body.mesh, node_ids=1000 + np.arange(len(body.mesh.points)))
    node = int(hollow.nodes[hollow.curvatures.min(axis=1).argmin()])
    with pytest.raises(flexmb.MechanismError, match=rf"at node {node} .number {1000 + node} in the file., of radius"):
        flexmb.simulate(under(replace(body, surfaces={"top": hollow}, mesh=numbered)), 1e-3, step=1e-3)


def test_warnings_name_the_range():
    with pytest.warns(flexmb.LawRangeWarning, match="contact radius was"):
        pressed(block(n=8), depth=0.05)
    with pytest.warns(flexmb.LawRangeWarning, match="Give the material that the body has"):
        flexmb.simulate(under(block(), local=LocalHertz(100.0, 0.3)), 0.01, step=0.01)


def test_a_point_beside_an_edge_is_named():
    """The spacing is 1/6: a point 0.1 from the edge warns, one in the middle is half the side away from it."""
    system = under(block(), (0.4, 0.0))
    system.drive("guide", flexmb.time_functions.smooth_step(0.0, 0.1, DEPTH, derivatives=3))
    with pytest.warns(flexmb.LawRangeWarning, match=r"the point was 0\.1 from an edge of the surface 'top'"):
        flexmb.simulate(system, 0.1, step=0.002)
    with pytest.warns(flexmb.LawRangeWarning, match=r"the point was 0\.102\d* from an edge of the surface 'top'"):
        flexmb.linear.equilibrium(system, 0.1)
    middle = under(block())
    middle.drive("guide", flexmb.time_functions.smooth_step(0.0, 1.0, DEPTH))
    patch = flexmb.linear.equilibrium(middle, 1.0).result.surface_contact("touch").local
    assert patch.edge[0] == pytest.approx(0.5, rel=1e-2)


def test_an_edge_over_which_a_surface_goes_on_is_one():
    """The surface is the top and one side; the point is 0.1 from the edge between both, and half a side from others."""
    mesh = fem.structured_meshes.block("hexahedron", (1.0, 1.0, 0.5), (6, 6, 3))
    nodes = np.flatnonzero((mesh.points[:, 2] > 0.5 - 1e-9) | (mesh.points[:, 0] > 1.0 - 1e-9))
    part = fem.Model(mesh, fem.Material.isotropic(YOUNG, POISSON, 1e-6)).with_interfaces(base="z0")
    part = part.with_surfaces(top=nodes)
    basis = reduction.contact_basis(part, 6, frictionless=True)
    body = flexmb.flexible_body(part, basis, name="block", geometric_stiffness="none", modal_damping=0.1)
    system = under(body, (0.4, 0.0))
    system.drive("guide", flexmb.time_functions.smooth_step(0.0, 0.1, DEPTH))
    with pytest.warns(flexmb.LawRangeWarning, match=r"the point was 0\.10\d* from an edge of the surface 'top'"):
        rest = flexmb.linear.equilibrium(system, 0.1)
    assert rest.result.surface_contact("touch").local.edge[0] == pytest.approx(0.1, abs=0.005)
