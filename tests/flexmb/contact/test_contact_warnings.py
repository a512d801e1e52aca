"""Warnings of contacts: shapes far outside their bodies, and bodies that may pass through each other in a step."""

import warnings

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.errors import ConvergenceError
from fem.mesh.structured_meshes import block
from flexmb import solids
from flexmb.contact import Box, Cylinder, Plane, Sphere, power_law
from flexmb.equations.initial_conditions import start
from flexmb.errors import ContactPlaceWarning, LawRangeWarning, OpenGapWarning, TunnellingWarning
from flexmb.integrators.contact import impacts
from flexmb.integrators.contact.run import ContactRun
from flexmb.integrators.generalised_alpha import coefficients
from flexmb.mechanism.compile import compiled

LAW = power_law(1e5)


def dropped(point, *, mesh=None, frame=None, position=(0, 0, 5.0)):
    system = flexmb.System()
    own = flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3, mesh=mesh)
    ball = system.add(own, position=position, orientation=(0, 0, np.pi / 2))
    return system, Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at(point, frame=frame))


@pytest.mark.parametrize("kind", ["continuous", "exact", "group"])
@pytest.mark.parametrize("mesh", [None, solids.sphere(0.1)], ids=["inertia", "mesh"])
def test_a_shape_at_a_point_of_the_world_is_named(kind, mesh):
    """The ball is at a height of 5, and its sphere 5 above it."""
    system, floor, ball = dropped((0, 0, 5.0), mesh=mesh)
    add = {
        "continuous": lambda: system.contact("floor", floor, ball, law=LAW),
        "exact": lambda: system.contact("floor", floor, ball),
        "group": lambda: system.contact_group("floor", [floor, ball], law=LAW),
    }[kind]
    with pytest.warns(ContactPlaceWarning, match=r"'floor'.* sphere at .* body 'ball' is 4\.\d+ .*frame='world'"):
        add()


def test_a_shape_that_is_far_from_anything_is_named():
    system, floor, ball = dropped((0, 30.0, 0))
    with pytest.warns(ContactPlaceWarning, match="29.77.*whose radius is 0.1342.*mesh="):
        system.contact("floor", floor, ball, law=LAW)


def test_a_point_of_the_world_at_the_end_of_a_turned_body_is_named():
    """A bar of 4 from its frame on, turned by a right angle: its far end is at (20, 4, 0) in the world."""
    system = flexmb.System()
    own = flexmb.rigid_body("bar", mass=1.0, inertia=(1, 1, 1), mesh=solids.box((4.0, 0.1, 0.1), centre=(2.0, 0, 0)))
    bar = system.add(own, position=(20.0, 0, 0), orientation=(0, 0, np.pi / 2))
    floor, tip = Plane().on(system.ground.at((0, 0, -1))), Sphere(0.1).on(bar.at((20.0, 4.0, 0)))
    with pytest.warns(ContactPlaceWarning, match=r"'floor'.* sphere at .* frame='world'"):
        system.contact("floor", floor, tip, law=LAW)


@pytest.mark.parametrize("given", [{"point": (0, 0, 5.0), "frame": "world"}, {"point": (0, 0, 0.5)}], ids=str)
def test_shapes_at_and_near_their_bodies_are_not_named(given):
    system, floor, ball = dropped(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system.contact("floor", floor, ball, law=LAW)


def shot(group, offset=0.0, thickness=0.02, place=-0.355):
    system = flexmb.System()
    plate = system.add(flexmb.rigid_body("plate", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    bullet = system.add(
        flexmb.rigid_body("bullet", mass=0.01, inertia=(1e-6,) * 3),
        position=(offset, 0, place),
        velocity=(0, 0, 100.0),
    )
    both = [Box(1.0, 1.0, thickness).on(plate.at((0, 0, 0))), Sphere(0.01).on(bullet.at((0, 0, 0)))]
    law = power_law(1e9)
    if group:
        system.contact_group("hit", both, law=law)
    else:
        system.contact("hit", *both, law=law)
    return system


@pytest.mark.parametrize("group", [False, True], ids=["pair", "group"])
def test_a_bullet_that_passes_through_a_plate_unseen_is_named(group):
    """A step of 1 ms takes it over 0.1, from 0.055 before the plate of 0.02 to 0.045 behind it."""
    with pytest.warns(TunnellingWarning, match=r"the (box|sphere) on '\w+' and .* 'hit' .* move by 0.1 .* most 0.0001"):
        result = flexmb.simulate(shot(group), 0.01, method="generalised-alpha", step=1e-3)
    assert result.velocity("bullet")[-1, 2] == pytest.approx(100.0)


def test_the_tip_of_a_body_that_only_turns_is_fast():
    """At 100 rad/s and 1 m it moves by 0.1 in a step of 1 ms, past a ball of 0.02 in its way."""
    system = flexmb.System()
    flail = system.add(flexmb.rigid_body("flail", mass=1.0, inertia=(1, 1, 1)), angular_velocity=(0, 0, 100.0))
    system.revolute("pin", system.ground, flail, axis=(0, 0, 1), at=(0, 0, 0))
    tip, ball = Sphere(0.01).on(flail.at((1.0, 0, 0))), Sphere(0.01).on(system.ground.at((0, 1.0, 0)))
    system.contact("hit", tip, ball, law=power_law(1e9))
    with pytest.warns(TunnellingWarning, match="move by 0.1 "):
        flexmb.simulate(system, 0.03, step=1e-3)


def test_steps_that_resolve_a_contact_or_bodies_far_apart_are_not_named():
    with warnings.catch_warnings():
        warnings.simplefilter("error", TunnellingWarning)
        result = flexmb.simulate(shot(False), 0.004, step=4e-7, output_step=1e-4)
        flexmb.simulate(shot(False), 0.004, step=4e-7, output_step=2e-3)  # stored seldom
        flexmb.simulate(shot(False, offset=30.0), 0.01, step=1e-3)
        flexmb.simulate(shot(False, place=0.1), 0.01, step=1e-3)  # it flies away
    assert result.velocity("bullet")[-1, 2] == pytest.approx(100.0 * (0.01 - 1.0) / 1.01, rel=1e-3)


def fallen(overlap):
    """A ball that is `overlap` inside the floor."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3), position=(0, 0, 0.1 - overlap))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0))))
    mechanism = system.build()
    begin = start(mechanism, compiled(mechanism))
    return ContactRun(mechanism, begin, coefficients(0.9), step=1e-3, coordinates="absolute")


def test_a_gap_that_cannot_be_closed_ends_a_run_only_where_it_is_not_small(monkeypatch):
    """Without any displacement that closes it, as where joints hold the bodies."""
    exact, small = fallen(1e-11), fallen(5e-8)
    monkeypatch.setattr(impacts, "MOST_MOVES", 0)
    exact._close(np.array([0]))
    assert not exact.findings
    small._close(np.array([0]))
    ((kind, message),) = small.findings
    assert kind is OpenGapWarning
    assert "'floor'" in message
    assert "a gap of 5e-08 (length) remains" in message
    monkeypatch.setattr(impacts, "LEFT", 1e-7)
    with pytest.raises(ConvergenceError, match="cannot be closed: a gap of 5e-08"):
        small._close(np.array([0]))


@pytest.mark.parametrize("law", [None, LAW], ids=["exact", "continuous"])
def test_a_body_in_the_place_of_one_of_its_points_is_named(law):
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3))
    with pytest.raises(flexmb.MechanismError, match=r"the plane needs a place, such as body.at.*found BodyHandle"):
        system.contact("floor", Plane().on(system.ground), Sphere(0.1).on(ball), law=law)


def test_a_slip_speed_that_fixed_steps_do_not_resolve_is_named():
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3)
    ball = system.add(ball, position=(0, 0, 0.1), velocity=(1.0, 0, -1.5))
    given = {"law": power_law(1e5, restitution=0.5, speed=1.0), "friction": 0.3, "slip_speed": 0.005}
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0))), **given)
    with pytest.raises(ConvergenceError, match=r"Friction of the contact 'floor' needs.* slip_speed of 4 mu N h / m"):
        flexmb.simulate(system, 0.05, step=2e-4)


def held_slab(size, cells, young):
    """A system with a slab whose lower face the ground holds, and whose upper one is the surface 'top'."""
    model = fem.Model(block("hexahedron", size, cells), fem.Material.isotropic(young, 0.3, 1000.0))
    model = model.with_interfaces(base="z0").with_surfaces(top="z1")
    slab = flexmb.flexible_body(model, reduction.contact_basis(model, 2), name="slab", modal_damping=0.1)
    system = flexmb.System()
    low = system.add(slab)
    system.fixed("base", system.ground.at(low["base"].point), low["base"])
    return system, low


@pytest.mark.parametrize(("shape", "named"), [(Box(0.04, 0.04, 0.04), True), (Box(0.12, 0.12, 0.04), False), (Sphere(0.02), True)], ids=str)  # fmt: skip
def test_a_shape_between_the_nodes_of_a_surface_is_named(shape, named):
    """Nodes 0.1 apart, and shapes that fall on the middle of a face: what is narrow passes through it without a
    force."""
    system, low = held_slab((0.3, 0.3, 0.1), (3, 3, 2), 1e7)
    own = flexmb.rigid_body("punch", mass=0.1, inertia=(1e-4,) * 3)
    punch = system.add(own, position=(0.15, 0.15, 0.121), velocity=(0, 0, -1.0))
    system.contact("punch", shape.on(punch.at((0, 0, 0))), low.surface("top"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = flexmb.simulate(system, 0.02, step=2e-4)
    texts = [str(one.message) for one in told if one.category is LawRangeWarning]
    assert len(texts) == named
    assert (result.surface_contact("punch").normal_force.max() > 0.0) != named
    assert all(
        f"the {shape.title} was " in text and "deep in a face of the surface 'top' of 'slab'" in text for text in texts
    )


def test_the_spacing_in_which_a_contact_is_narrow_is_named():
    """On a strip of faces of 0.05 by 0.2, a roller that lies across it touches one row of nodes, whose mean distance
    from their neighbours, 0.14, is mostly the width of the strip."""
    system, low = held_slab((0.5, 0.2, 0.1), (10, 1, 2), 1e6)
    roller = flexmb.rigid_body("roller", mass=0.1, inertia=(1e-3,) * 3)
    roller = system.add(roller, position=(0.25, 0.1, 0.1505), velocity=(0, 0, -0.1))
    system.prismatic("guide", system.ground, roller, axis=(0, 0, 1), at=(0.25, 0.1, 0.1505))
    round_ = Cylinder(0.05, 0.3).on(roller.at((0, 0, 0)), axis=(0, 1, 0))
    system.contact("roller", round_, low.surface("top"))
    with pytest.warns(LawRangeWarning, match=r"the cylinder touches 2 node.* 0\.05 apart from the next ones"):
        flexmb.simulate(system, 0.01, step=5e-5)
