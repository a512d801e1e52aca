"""Flexible surfaces that conform, such as press fits: gaps between the curved surfaces, not between their facets."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, tube
from flexmb.bodies.surfaces import BodySurface
from flexmb.errors import LawRangeWarning
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.conforming import conforms, facet_heights

YOUNG, INNER, OUTER = 1e9, 0.5, 1.5


def ring(name, radii, around, surface, held, kind="hexahedron"):
    mesh = tube(kind, radii, 0.1, (2, around, 1))
    grip = fem.Interface(mesh.nodes_of_faces(mesh.face_sets[held]), kind="average")
    model = fem.Model(mesh, fem.Material.isotropic(YOUNG, 0.3, 1000.0))
    model = model.with_interfaces(held=grip).with_surfaces(**{surface: surface})
    return flexmb.flexible_body(model, reduction.contact_basis(model, 4), name=name)


def press_fit(cells, interference, turned=0.0, swap=False, dent=False, kind="hexahedron"):
    """A tube in another one, as drawn, at a common radius of 1; with a `dent`, a node of the first is concave."""
    system, R = flexmb.System(), flexmb.spatial.lie.rotation_exp(np.array([0.0, 0.0, turned]))
    pin = ring("pin", (INNER, 1.0 + 0.5 * interference), cells[0], "outer", "inner", kind)
    sleeve = ring("sleeve", (1.0 - 0.5 * interference, OUTER), cells[1], "inner", "outer", kind)
    if dent:
        surface = pin.surfaces["outer"]
        bent = np.where(np.arange(len(surface.nodes))[:, None] == 0, -1.0, surface.curvatures)
        pin = replace(pin, surfaces={"outer": replace(surface, curvatures=bent)})
    pin, sleeve = system.add(pin, orientation=R), system.add(sleeve)
    for name, part in (("hold pin", pin), ("hold sleeve", sleeve)):
        system.fixed(name, system.ground.at(part["held"].point), part["held"])
    surfaces = (pin.surface("outer"), sleeve.surface("inner"))
    system.contact("fit", *(surfaces[::-1] if swap else surfaces))
    return system


@pytest.mark.parametrize(
    ("cells", "turned", "swap"),
    [
        ((36, 48), 0.0, False),
        ((48, 36), 0.0, False),
        ((36, 48), 0.03, True),
        ((30, 24), 0.0, False),
        ((24, 24), 0.1, True),
    ],
    ids=str,
)
def test_a_press_fit_has_the_pressure_of_lame(cells, turned, swap):
    """The interference is a thousandth of the radius, the heights of the facets two to nine of them."""
    interference = 1e-3
    over = flexmb.linear.equilibrium(press_fit(cells, interference, turned, swap)).result.surface_contact("fit")
    a, b = INNER**2, OUTER**2
    wanted = YOUNG * interference / ((1.0 + a) / (1.0 - a) + (b + 1.0) / (b - 1.0))
    np.testing.assert_allclose(over.pressure[0], wanted, rtol=0.025)


def yielding(body, name):
    """The mean displacement of a surface against a uniform pressure of one on it, by the finite elements alone."""
    surface = body.surfaces[name]
    force = np.zeros((len(body.compliance.nodes), 3))
    force[surface.places] = -surface.areas[:, None] * surface.normals
    rows = surface.rows.reshape(-1, body.modes)
    own = force[surface.places].ravel()
    moved = rows @ ((rows.T @ own) / body.stiffness)
    moved += (body.compliance.matrix @ force.ravel()).reshape(-1, 3)[surface.places].ravel()
    return own @ moved / surface.areas.sum()


@pytest.mark.parametrize(
    ("cells", "turned", "swap"),
    [((36, 48), 0.0, False), ((48, 36), 0.0, False), ((36, 48), 0.03, True), ((24, 24), 0.1, True)],
    ids=str,
)
def test_a_press_fit_of_linear_tetrahedra_has_the_pressure_of_its_elements(cells, turned, swap):
    """Rings of two linear tetrahedra across yield 3 % less than Lame's, which the elements tell; the contact adds one or two
    per cent. With normals that are weighted by areas it had 0.5 to 1 of the pressure."""
    system = press_fit(cells, 1e-3, turned, swap, kind="tetra")
    pin, sleeve = system.build().bodies
    over = flexmb.linear.equilibrium(system).result.surface_contact("fit")
    wanted = 1e-3 / (yielding(pin, "outer") + yielding(sleeve, "inner"))
    assert over.normal_force[0].sum() / over.areas.sum() == pytest.approx(wanted, rel=0.02)
    np.testing.assert_allclose(over.other.pressure[0], wanted, rtol=0.15)


def test_surfaces_that_conform_only_in_parts_are_named():
    """Both facets stand back by R (1 - cos(pi / n)): 0.86 % of the radius and 0.38 %."""
    with pytest.warns(
        LawRangeWarning,
        match=r"'outer' of 'pin' and 'inner' of 'sleeve' conform .* by 0.00854 and 0.00379.* at most 9\.97e-05,",
    ):
        flexmb.linear.equilibrium(press_fit((24, 36), 0.006, dent=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexmb.linear.equilibrium(press_fit((24, 24), 0.002, dent=True))


def curved(x, normals, curvatures, triangles):
    n = len(x)
    return BodySurface(
        nodes=np.arange(n), points=x, triangles=np.array(triangles), areas=np.ones(n), normals=normals,
        curvatures=np.broadcast_to(curvatures, (n, 2)), spacing=np.ones(n), rows=np.zeros((n, 3, 0)),
        pairs=np.zeros((0, 2), dtype=int), second=np.zeros((n, 3, 0)), places=np.arange(n),
    )  # fmt: skip


def test_heights_are_those_of_a_paraboloid_over_its_facets():
    """At random points of a triangle and a parallelogram, which are small; over a large one the height is exact in the
    middle of an arc."""
    S, rng = np.array([[0.3, 0.1], [0.1, -0.2]]), np.random.default_rng(4)
    flat = 1e-3 * np.array([[0.0, 0.0], [0.1, 0.02], [0.13, 0.11], [0.03, 0.09]])
    height = lambda x: -0.5 * np.einsum("...a,ab,...b", x, S, x)  # noqa: E731
    normals = np.column_stack([flat @ S, np.ones(4)])
    surface = curved(np.column_stack([flat, height(flat)]), normals, (0.3, -0.2), [[0, 1, 2]])
    form = facet_heights(surface, np.array([[0, 1, 2, 3], [0, 1, 2, -1]]))
    np.testing.assert_array_equal(form, form.swapaxes(1, 2))
    for _ in range(5):
        s, t = rng.random(2)
        four = np.array([(1 - s) * (1 - t), s * (1 - t), s * t, (1 - s) * t])
        three = np.array([*rng.dirichlet(np.ones(3)), 0.0])
        for phi, H in zip((four, three), form, strict=True):
            assert phi @ H @ phi == pytest.approx(height(phi @ flat) - phi @ height(flat), rel=1e-6, abs=0.0)
    angle = np.array([0.0, 0.5, 0.5])
    radial = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(3)])
    surface = curved(radial + np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]]), radial, (1.0, 0.0), [[0, 1, 2]])
    phi, H = np.array([0.5, 0.5, 0.0, 0.0]), facet_heights(surface, np.array([[0, 1, 2, -1]]))[0]
    assert phi @ H @ phi == pytest.approx(1.0 - np.cos(0.25), rel=1e-12)


def test_surfaces_that_conform_have_opposite_curvatures():
    x, triangles = np.eye(3), [[0, 1, 2]]

    def of(*curvatures):
        return curved(x, x, curvatures, triangles)

    pin, ball = of(1.0, 0.0), of(1.0, 1.0)
    assert conforms(pin, of(-1.0, 0.0))
    assert conforms(of(-0.9, 1e-6), pin)
    assert conforms(ball, of(-1.1, -1.1))
    for surface, other in (
        (pin, pin), (pin, of(0.0, 0.0)), (ball, of(-1.0, 0.0)), (pin, of(-0.7, 0.0)), (of(1.0, -1.0), of(-1.0, 1.0)),
    ):  # fmt: skip
        assert not conforms(surface, other)
        assert not conforms(other, surface)
    mixed = replace(pin, curvatures=np.array([[-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]))
    assert not conforms(pin, mixed)


@pytest.mark.parametrize("other", ["plane", "pin"])
def test_surfaces_that_do_not_conform_have_no_heights(other):
    pin = ring("pin", (INNER, 1.0), 24, "outer", "inner")
    if other == "pin":
        second = replace(pin, name="second")
    else:
        model = fem.Model(block("hexahedron", (1.0, 1.0, 0.1), (2, 2, 1)), fem.Material.steel())
        model = model.with_surfaces(outer="x0")
        second = flexmb.flexible_body(model, reduction.contact_basis(model, 4), name="second")
    system = flexmb.System()
    a, b = system.add(pin), system.add(second, position=(2.01, 0, 0))
    system.contact("touch", a.surface("outer"), b.surface("outer"))
    assert not compiled(system.build()).facet_excess.any()


def fit_with_friction(moment=0.0, force=0.0, friction=0.1, held=True):
    """A fit whose sleeve is held, and whose pin turns about its axis, or is held by friction alone; with a `moment`
    about the axis and a `force` along it relative to what the pressure of Lame can bear, `friction p A`."""
    interference, cells = 1e-3, 24
    system = flexmb.System()
    pin = system.add(ring("pin", (INNER, 1.0 + 0.5 * interference), cells, "outer", "inner"))
    sleeve = system.add(ring("sleeve", (1.0 - 0.5 * interference, OUTER), cells, "inner", "outer"))
    system.fixed("hold", system.ground.at(sleeve["held"].point), sleeve["held"])
    if held:
        system.revolute("turns", system.ground.at(pin["held"].point), pin["held"], axis=(0, 0, 1))
    a, b = INNER**2, OUTER**2
    bears = friction * YOUNG * interference / ((1.0 + a) / (1.0 - a) + (b + 1.0) / (b - 1.0)) * 2.0 * np.pi * 0.1
    system.load("load", pin["held"], moment=(0, 0, moment * bears), force=(0, 0, force * bears))
    system.contact("fit", pin.surface("outer"), sleeve.surface("inner"), friction=friction)
    return system, bears


@pytest.mark.long
def test_a_press_fit_holds_a_moment_up_to_that_of_its_friction():
    """Up to `mu p A r`, of which the facets and the shear of the rings leave 0.98 to 1.02."""
    for part in (0.5, 0.98):
        system, bears = fit_with_friction(part)
        rest = flexmb.linear.equilibrium(system)
        over = rest.result.surface_contact("fit")
        assert over.moment[0, 2] == pytest.approx(-part * bears, rel=1e-4)
        assert (over.friction_force <= 0.1 * over.normal_force * (1.0 + 1e-6)).all()
        assert rest.iterations <= 12
    with pytest.raises(flexmb.UnsupportedError, match="'fit' slide or tip: all of their points slip"):
        flexmb.linear.equilibrium(fit_with_friction(1.02)[0])


@pytest.mark.parametrize("loads", [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)], ids=str)
def test_friction_alone_holds_a_pin_in_all_directions(loads):
    """Nothing but contact restrains six of its motions, against pressures that are far larger than the loads."""
    system, bears = fit_with_friction(*loads, held=False)
    over = flexmb.linear.equilibrium(system).result.surface_contact("fit")
    assert over.moment[0, 2] == pytest.approx(-loads[0] * bears, rel=1e-4, abs=1e-6 * bears)
    np.testing.assert_allclose(over.total[0], (0.0, 0.0, -loads[1] * bears), atol=1e-6 * bears)


def test_a_pin_that_only_its_press_fit_holds_rests_and_vibrates():
    """In millimetres and tonnes; the pin moves as a body 1e11 times as far as its nodes yield, so that no forces met a
    tolerance below the round-off of its place."""
    r, inner, outer, d, length = 20.0, 10.0, 40.0, 0.02, 30.0

    def ring(name, radii, surface, held):
        mesh = fem.structured_meshes.tube("hexahedron", radii, length, (2, 24, 2))
        grip = fem.Interface(mesh.nodes_of_faces(mesh.face_sets[held]), kind="average")
        part = fem.Model(mesh, fem.Material.steel("mm")).with_interfaces(held=grip).with_surfaces(**{surface: surface})
        return flexmb.flexible_body(part, reduction.contact_basis(part, modes=6), name=name)

    system = flexmb.System(units="mm-t-s")
    pin = system.add(ring("pin", (inner, r + d / 2), "outer", "inner"))
    hub = system.add(ring("hub", (r - d / 2, outer), "inner", "outer"))
    system.fixed("hold", system.ground.at(hub["held"].point), hub["held"])
    system.contact("fit", pin.surface("outer"), hub.surface("inner"), friction=0.4)
    rest = flexmb.linear.equilibrium(system)
    over = rest.result.surface_contact("fit")
    part_of_pin, part_of_hub = (r**2 + inner**2) / (r**2 - inner**2), (outer**2 + r**2) / (outer**2 - r**2)
    lame = d * 2.1e5 / r / (part_of_pin + part_of_hub)  # plane stress; friction holds the lengths, which adds some
    assert rest.stable
    assert 1.0 < over.pressure.min() / lame < over.pressure.mean() / lame < 1.1
    np.testing.assert_allclose(over.total[0], 0.0, atol=1e-6 * over.normal_force.sum())
    assert flexmb.linear.linearise(rest).modes(1).frequencies[0] > 1e4
