"""Elements, joints and contacts that cannot be are refused by each part of their checks alone, and accepted at the bounds."""

import numpy as np
import pytest
from mechanisms import random_flexible_body
from refusals import refused_beside

import flexmb
from flexmb import contact, curves
from flexmb.contact import Box, Plane, Sphere, TurningFriction, elastic_foundation, hertz_stiffness, power_law
from flexmb.errors import CurveError, JointError, LawError, MechanismError
from flexmb.mechanism.contacts.surface import SurfaceContact
from flexmb.mechanism.force_law import register_law
from flexmb.mechanism.joints import JOINTS, JointKind, register_joint
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import constant_speed, polynomial

X, Y, Z = np.eye(3)
BEAM = random_flexible_body(np.random.default_rng(1), name="beam")
SOFT = power_law(1e5)


class Model:
    """A wheel on a hinge, a block on a rail that turns, a ball in a socket and a flexible beam."""

    def __init__(self):
        self.system = flexmb.System(name="m")
        self.ground = self.system.ground
        self.wheel, self.block, self.ball, self.rod = (
            self.system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=at)
            for name, at in (("wheel", (1, 2, 0)), ("block", (5, 0, 0)), ("ball", (0, 5, 0)), ("rod", (0, 0, 9)))
        )
        self.beam = self.system.add(BEAM, position=(0, 0, 20))
        self.system.revolute("hinge", self.ground, self.wheel, axis=Z, at=(1, 2, 0))
        self.system.joint("cylindrical", "rail", self.ground, self.block, axis=X, at=(5, 0, 0))
        self.system.joint("spherical", "socket", self.ground, self.ball, at=(0, 5, 0))
        self.system.joint("prismatic", "slide", self.ground, self.rod, axis=X, at=(0, 0, 9))

    def __getattr__(self, name):
        return getattr(self.system, name)


def friction(joint="hinge", **given):
    return Model().friction("f", joint, **{"coefficient": 0.1} | given)


def touch(**given):
    m = Model()
    return m.contact("c", Plane().on(m.ground.at((0, 0, -1))), Sphere(0.1).on(m.wheel.at((0, 0, 0))), **given)


def group(*shapes, law=SOFT, **given):
    m = Model()
    bodies = m.wheel, m.block, m.ball, m.rod
    return m.contact_group("g", [s.on(b.at((0, 0, 0))) for s, b in zip(shapes, bodies, strict=False)], law=law, **given)


def axle(axis, x_axis=None):
    m = Model()
    place = m.wheel.at((0, 0, 0))
    return m.contact(
        "c", Plane().on(m.ground.at((0, 0, -1))), Box(1, 1, 1).on(place, axis=axis, x_axis=x_axis), law=SOFT
    )


def soft(friction):
    return SurfaceContact("c", 0, (0.0,), 0, "teeth", 3, friction)


def cable(*points, **given):
    m = Model()
    places = [m.wheel.at(p) if k else m.ground.at(p) for k, p in enumerate(points)]
    return m.cable("rope", places, **{"stiffness": 1.0} | given)


def belt(**given):
    m = Model()
    m.revolute("other", m.ground, m.rod, axis=Z, at=(0, 0, 9))
    return m.belt("b", "hinge", "other", **{"radii": (1.0, 2.0), "stiffness": 1.0} | given)


def relation(**factors):
    m = Model()
    return m.relation("r", {name.replace("_", ":"): factor for name, factor in factors.items()})


def bushing(stiffness=(1,) * 6, **given):
    m = Model()
    return m.bushing("b", m.ground, m.wheel, stiffness=stiffness, damping=(0,) * 6, at=(1, 2, 0), **given)


def jointed(kind, **given):
    m = Model()
    return m.joint(kind, "j", m.wheel, m.block, at=(0, 0, 0), **given)


def pipe(points, body="wheel"):
    m = Model()
    return m.pipe_flow("p", getattr(m, body), points, mass_per_length=1.0, speed=1.0)


def rolling(**given):
    m = Model()
    return m.rolling("r", m.ground, m.block, **{"radius": 1.0, "axis": Y, "at": (5, 0, 0)} | given)


def driven(*speeds):
    m = Model()
    m.set_speed("hinge", speeds[0])
    return m.drive("hinge", constant_speed(speeds[1]))


def rod(length=None, at=(1, 0, 0), **given):
    m = Model()
    return m.distance("d", m.ground.at((0, 0, 0)), m.wheel.at(np.array(at) - (1, 2, 0)), length=length, **given)


def spring(at):
    m = Model()
    return m.spring_damper("s", m.ground.at((1, 2, 0)), m.wheel.at(at), stiffness=1.0)


RUBS = "Friction 'f'"
SPAN = "Friction 'f': span must be positive; found "
RADIUS = "only a revolute joint has an axial_radius; found radius="
STATIC = "Friction 'f': static="
EXACT = "Contact 'c': restitution, impact and friction=(static, dynamic) belong to an exact contact."
CONTINUOUS = "Contact 'c': static_friction and slip_speed belong to a continuous contact, with law=."
SLIP = "Contact 'c': friction of a continuous contact needs slip_speed, "
MEMORY = "Contacts of the group 'g' have laws without memory"
SOFT_FRICTION = (
    "Contact 'c': the friction of a flexible surface is one number >= 0, for points that stick and that slide; found "
)
AXIS = "Contact 'c': the axis of the box needs a direction, and x_axis another one; found "
RADII = "Belt 'b': radii are two positive lengths; found "
FACTOR = "must be a finite number other than zero; found "
LINE = "Pipe flow 'p' needs a line of at least two points (k, 3); found an array "
KIND = "Joint kind 'k': "
REFUSED = {
    "friction of a joint without law": (
        "Friction 'f': joint 'flat' is of the kind 'planar', for which there is no law of friction.",
        lambda: planar(),
        lambda: friction("hinge", radius=0.1),
    ),
    "a second friction of a joint": (
        "Friction 'g': joint 'hinge' has the friction 'f' already",
        lambda: twice("hinge", "hinge"),
        lambda: twice("hinge", "socket"),
    ),
    "a smoothing of nothing": (
        "Friction 'f': regularised must be positive; found 0.0.",
        lambda: friction(radius=0.1, regularised=0.0),
        lambda: friction(radius=0.1, regularised=5e-324),
    ),
    "a negative smoothing": (
        "Friction 'f': regularised must be positive; found -1.0.",
        lambda: friction(radius=0.1, regularised=-1.0),
        lambda: friction(radius=0.1, regularised=None),
    ),
    "a static coefficient of what creeps": (
        STATIC + "0.2 is the coefficient of a joint that sticks",
        lambda: friction(radius=0.1, regularised=1.0, static=0.2),
        lambda: friction(radius=0.1, static=0.2),
    ),
    "a hinge without radius": (
        RADIUS + "None, axial_radius=0.0.",
        lambda: friction("hinge"),
        lambda: friction("hinge", radius=0.0),
    ),
    "a socket without radius": (
        RADIUS + "None, axial_radius=0.0.",
        lambda: friction("socket"),
        lambda: friction("socket", radius=0.1),
    ),
    "a slide with radius": (
        RADIUS + "0.1, axial_radius=0.0.",
        lambda: friction("slide", radius=0.1),
        lambda: friction("slide"),
    ),
    "a socket with a thrust face": (
        RADIUS + "0.1, axial_radius=0.2.",
        lambda: friction("socket", radius=0.1, axial_radius=0.2),
        lambda: friction("hinge", radius=0.1, axial_radius=0.2),
    ),
    "a sleeve with a thrust face": (
        RADIUS + "0.1, axial_radius=0.2.",
        lambda: friction("rail", radius=0.1, axial_radius=0.2),
        lambda: friction("rail", radius=0.1),
    ),
    "a sleeve without extent": (
        RADIUS + "0.0, axial_radius=0.0.",
        lambda: friction("rail", radius=0.0),
        lambda: friction("rail", radius=5e-324),
    ),
    "a static coefficient below that of sliding": (
        STATIC + "0.05 must be at least the coefficient of sliding, 0.1, ",
        lambda: friction(radius=0.1, static=0.05),
        lambda: friction(radius=0.1, static=0.1),
    ),
    "a static coefficient alone": (
        STATIC + "0.2 must be at least the coefficient of sliding, 0.0, ",
        lambda: friction(radius=0.1, coefficient=0.0, static=0.2),
        lambda: friction(radius=0.1, coefficient=0.0, static=0.0),
    ),
    "no span": (SPAN + "0.0.", lambda: friction(radius=0.1, span=0.0), lambda: friction(radius=0.1, span=1e-9)),
    "a negative span": (SPAN + "-1.", lambda: friction("slide", span=-1), lambda: friction("slide", span=1)),
    "a ball with a span": (
        RUBS + ": a spherical joint has no span; found 1.0.",
        lambda: friction("socket", radius=0.1, span=1.0),
        lambda: friction("socket", radius=0.1, span=None),
    ),
    "an exact contact with a slip speed": (
        CONTINUOUS,
        lambda: touch(friction=0.1, slip_speed=0.01),
        lambda: touch(friction=0.1),
    ),
    "an exact contact with a static coefficient": (
        CONTINUOUS,
        lambda: touch(static_friction=0.1),
        lambda: touch(friction=(0.1, 0.1)),
    ),
    "a law with a restitution": (
        EXACT,
        lambda: touch(law=SOFT, restitution=0.5),
        lambda: touch(law=SOFT, restitution=0.0),
    ),
    "a law with another impact": (
        EXACT,
        lambda: touch(law=SOFT, impact="poisson"),
        lambda: touch(law=SOFT, impact="newton"),
    ),
    "a law with two coefficients": (
        EXACT,
        lambda: touch(law=SOFT, friction=(0.2, 0.1), slip_speed=0.1),
        lambda: touch(law=SOFT, friction=0.1, static_friction=0.2, slip_speed=0.1),
    ),
    "a compliance of the mesh for rigid bodies": (
        "Contact 'c': local= belongs to a flexible surface, body.surface(name).",
        lambda: touch(local=contact.LocalHertz(2e11, 0.3)),
        lambda: touch(law=power_law(hertz_stiffness(0.1, 2e11, 0.3))),
    ),
    "friction without slip speed": (
        SLIP,
        lambda: touch(law=SOFT, friction=0.1),
        lambda: touch(law=SOFT, friction=0.0),
    ),
    "sticking without slip speed": (
        SLIP,
        lambda: touch(law=SOFT, static_friction=0.1),
        lambda: touch(law=SOFT, static_friction=0.1, slip_speed=0.1),
    ),
    "friction at no slip speed": (
        SLIP,
        lambda: touch(law=SOFT, friction=0.1, slip_speed=0.0),
        lambda: touch(law=SOFT, friction=0.1, slip_speed=1e-9),
    ),
    "sticking below sliding": (
        "Contact 'c': static_friction=0.1 must be at least the coefficient of sliding, 0.2.",
        lambda: touch(law=SOFT, friction=0.2, static_friction=0.1, slip_speed=0.1),
        lambda: touch(law=SOFT, friction=0.2, static_friction=0.2, slip_speed=0.1),
    ),
    "turning without speed": (
        "Contact 'c': the turning_friction of a continuous contact needs a speed",
        lambda: touch(law=SOFT, turning_friction=TurningFriction(rolling=0.1)),
        lambda: touch(law=SOFT, turning_friction=TurningFriction(rolling=0.1, speed=0.1)),
    ),
    "a static coefficient below the dynamic one": (
        "Contact 'c': the static coefficient, 0.1, must be at least that of sliding, 0.2",
        lambda: touch(friction=(0.1, 0.2)),
        lambda: touch(friction=(0.2, 0.2)),
    ),
    "a restitution above one": (
        "Contact 'c': restitution is at most 1, the impact without loss; found 1.001.",
        lambda: touch(restitution=1.001),
        lambda: touch(restitution=1.0),
    ),
    "a flag as friction": (
        "Contact 'c': friction is a number >= 0; found True.",
        lambda: touch(friction=True),
        lambda: touch(friction=1),
    ),
    "a negative friction": (
        "Contact 'c': friction is a number >= 0; found -0.1.",
        lambda: touch(friction=-0.1),
        lambda: touch(friction=0.0),
    ),
    "a friction without end": (
        "Contact 'c': friction is a number >= 0; found inf.",
        lambda: touch(friction=np.inf),
        lambda: touch(friction=1e9),
    ),
    "a restitution without value": (
        "Contact 'c': restitution is a number >= 0; found nan.",
        lambda: touch(restitution=np.nan),
        lambda: touch(restitution=0),
    ),
    "an axis along x": (AXIS, lambda: axle(X, 2 * X), lambda: axle(X, X + Y)),
    "an axis against x": (AXIS, lambda: axle(X, -X), lambda: axle(X, Y)),
    "an axis of no direction": (AXIS, lambda: axle((0, 0, 0)), lambda: axle((0, 0, 1e-300))),
    "an x axis along that of the body": (AXIS, lambda: axle(None, Z), lambda: axle(None, X)),
    "a group of one": (
        "The group 'g' of contacts is among at least two shapes at places; found 1.",
        lambda: group(Sphere(0.1)),
        lambda: group(Sphere(0.1), Sphere(0.1)),
    ),
    "a group with a law of each impact": (
        MEMORY,
        lambda: group(Sphere(0.1), Sphere(0.1), law=power_law(1e5, restitution=0.5, speed=1.0, each_impact=True)),
        lambda: group(Sphere(0.1), Sphere(0.1), law=power_law(1e5, restitution=0.5, speed=1.0)),
    ),
    "a group with a law of a line": (
        MEMORY,
        lambda: group(Sphere(0.1), Sphere(0.1), law=contact.line_contact(2e11, 0.3, 0.1)),
        lambda: group(Sphere(0.1), Sphere(0.1), law=elastic_foundation(1e6, 0.3, 0.1, 1.0)),
    ),
    "a group with a shape beyond numbers": (
        "The group 'g' has a shape whose size or distance from the origin is more than",
        lambda: group(Sphere(0.1), Sphere(1e200)),
        lambda: group(Sphere(0.1), Sphere(0.2)),
    ),
    "a soft surface with a flag": (SOFT_FRICTION + "True.", lambda: soft(True), lambda: soft(1)),
    "a soft surface with two": (SOFT_FRICTION + "(0.1, 0.1).", lambda: soft((0.1, 0.1)), lambda: soft(0.1)),
    "a soft surface with a word": (SOFT_FRICTION + "'rough'.", lambda: soft("rough"), lambda: soft(np.float32(0.1))),
    "a soft surface with nothing": (SOFT_FRICTION + "None.", lambda: soft(None), lambda: soft(0.0)),
    "a soft surface that drives": (SOFT_FRICTION + "-0.1.", lambda: soft(-0.1), lambda: soft(0)),
    "a soft surface without end": (SOFT_FRICTION + "inf.", lambda: soft(np.inf), lambda: soft(1e9)),
    "a soft surface of complex numbers": (SOFT_FRICTION + "1j.", lambda: soft(1j), lambda: soft(np.int64(1))),
    "a cable of no length": (
        "Cable 'rope': its length must be a positive number; found 0.0.",
        lambda: cable((0, 0, 0), (1, 0, 0), length=0.0),
        lambda: cable((0, 0, 0), (1, 0, 0), length=1e-9),
    ),
    "a cable of one place": (
        "Cable 'rope' needs at least two places on different bodies; found 1.",
        lambda: cable((0, 0, 0)),
        lambda: cable((0, 0, 0), (0, 0, 0)),
    ),
    "a cable between places that coincide": (
        "Cable 'rope': its places 1 and 2 coincide at ",
        lambda: cable((1, 2, 0), (0, 0, 0)),
        lambda: cable((1, 2, 1e-9), (0, 0, 0)),
    ),
    "a belt that does not stretch": (
        "Belt 'b': its strands need a positive stiffness; a rigid belt is a gear.",
        lambda: belt(stiffness=0.0),
        lambda: belt(stiffness=1e-9),
    ),
    "a belt over three wheels": (RADII, lambda: belt(radii=(1, 1, 1)), lambda: belt(radii=(1, 1))),
    "a belt over a point": (RADII, lambda: belt(radii=(1.0, 0.0)), lambda: belt(radii=(1.0, 1e-9))),
    "a belt over an endless wheel": (RADII, lambda: belt(radii=(np.inf, 1.0)), lambda: belt(radii=(1e9, 1.0))),
    "a belt over a hollow": (RADII, lambda: belt(radii=(-1.0, 1.0)), lambda: belt(radii=[1.0, 1.0])),
    "ends of a spring that coincide": (
        "Spring 's': its ends coincide at ",
        lambda: spring((0, 0, 0)),
        lambda: spring((0, 1e-9, 0)),
    ),
    "a rod of no length": (
        "Joint 'd': the length of the rod must be positive; found 0.",
        lambda: rod(0.0),
        lambda: rod(1e-9),
    ),
    "a rod that begins with no length": (
        "Joint 'd': the length of the rod must be positive; found -1.",
        lambda: rod(polynomial(-1.0, 1.0)),
        lambda: rod(polynomial(1.0, 1.0)),
    ),
    "a rod between places that coincide": (
        "Joint 'd': its places coincide at ",
        lambda: rod(at=(0, 0, 0)),
        lambda: rod(at=(1e-9, 0, 0)),
    ),
    "a relation of one coordinate": (
        "Relation 'r' needs at least two coordinates of joints; found 1.",
        lambda: relation(hinge_rotation=1.0),
        lambda: relation(hinge_rotation=1.0, rail_translation=1.0),
    ),
    "a factor of zero": (
        FACTOR + "0.0.",
        lambda: relation(hinge_rotation=1.0, rail_translation=0.0),
        lambda: relation(hinge_rotation=1.0, rail_translation=5e-300),
    ),
    "a factor without end": (
        FACTOR + "inf.",
        lambda: relation(hinge_rotation=np.inf, rail_translation=1.0),
        lambda: relation(hinge_rotation=1e9, rail_translation=1.0),
    ),
    "a word as factor": (
        FACTOR + "'2'.",
        lambda: relation(hinge_rotation="2", rail_translation=1.0),
        lambda: relation(hinge_rotation=np.float32(2), rail_translation=np.int64(1)),
    ),
    "a matrix for a bushing": (
        "Bushing 'b' has six stiffnesses, one for each axis; found a matrix.",
        lambda: bushing(np.eye(6)),
        lambda: bushing(np.ones(6)),
    ),
    "rows of different lengths for a bushing": (
        "Bushing 'b', stiffness: expected 6 finite numbers, found [[1, 2], [3]].",
        lambda: bushing([[1, 2], [3]]),
        lambda: bushing([0, 0, 0, 0, 0, 0]),
    ),
    "a matrix of another size for a bushing": (
        "Bushing 'b', stiffness: expected 6 finite numbers, found ",
        lambda: bushing(np.ones((6, 1))),
        lambda: bushing(range(6)),
    ),
    "a word for a relaxed bushing": (
        "Bushing 'b': free is a translation (3,) or \"drawn\"; found 'draw'.",
        lambda: bushing(free="draw"),
        lambda: bushing(free="drawn"),
    ),
    "a second axis of a hinge": (
        "Joint 'j': a revolute joint has no second_axis.",
        lambda: jointed("revolute", axis=Z, second_axis=X),
        lambda: jointed("universal", axis=Z, second_axis=X),
    ),
    "axes of a cross that are not perpendicular": (
        "Joint 'j': the axes of a universal joint must be perpendicular; found ",
        lambda: jointed("universal", axis=Z, second_axis=X + 2e-6 * Z),
        lambda: jointed("universal", axis=Z, second_axis=X + 5e-7 * Z),
    ),
    "shafts in opposite directions": (
        "Joint 'j': its shafts have nearly opposite directions",
        lambda: jointed("constant-velocity", axis=Z, second_axis=-Z),
        lambda: jointed("constant-velocity", axis=Z, second_axis=X),
    ),
    "a line of one point": (LINE + "(1, 3).", lambda: pipe([X]), lambda: pipe([X, Y])),
    "a line in a plane": (LINE + "(2, 2).", lambda: pipe([(0, 0), (1, 1)]), lambda: pipe([(0, 0, 0), (1, 1, 0)])),
    "a line of numbers": (LINE + "(3,).", lambda: pipe(X), lambda: pipe(np.array([X, Y]))),
    "a line without value": (LINE + "(2, 3).", lambda: pipe([X, (0, np.nan, 0)]), lambda: pipe([X, (0, 1, 0)])),
    "a line that rests": (
        "Pipe flow 'p': its points [2] coincide with the next ones.",
        lambda: pipe([X, Y, Y]),
        lambda: pipe([X, Y, 2 * Y - X]),
    ),
    "a line with a corner": (
        "Pipe flow 'p': its line has a corner at point 2",
        lambda: pipe([(0, 0, 0), X, X + Y]),
        lambda: pipe([(0, 0, 0), X, 2 * X + 0.1 * Y]),
    ),
    "a line on the ground": (
        "Pipe flow 'p' runs along a body of the system; found ",
        lambda: pipe([X, Y], "ground"),
        lambda: pipe([X, Y], "ball"),
    ),
    "a wheel of no size": (
        "Joint 'r': the radius must be positive; found 0.0.",
        lambda: rolling(radius=0.0),
        lambda: rolling(radius=1e-9),
    ),
    "a wheel that lies": (
        "Joint 'r': the wheel is drawn flat on the plane",
        lambda: rolling(axis=Z),
        lambda: rolling(axis=Z + Y),
    ),
    "two speeds of a hinge": (
        "Joint 'hinge': a driver starts its rotation at the speed 2, and set_speed at 1: one coordinate has one speed.",
        lambda: driven(1.0, 2.0),
        lambda: driven(2.0, 2.0),
    ),
    "a joint at a point of two points": (
        "'d': both places have points of their own, which at=(0, 0, 0) does not move.",
        lambda: at_twice("at", "at"),
        lambda: at_twice("at", "body"),
    ),
    "a joint at a point of two other points": (
        "'d': both places have points of their own, which at=(0, 0, 0) does not move.",
        lambda: at_twice("at", "at"),
        lambda: at_twice("body", "at"),
    ),
    "a load on the ground": (
        "Load 'l' needs a place on a body, such as body['interface'] or body.at(point).",
        lambda: loaded("ground"),
        lambda: loaded("wheel"),
    ),
    "a load on a body without place": (
        "Load 'l' needs a place on a body, such as body['interface'] or body.at(point).",
        lambda: (m := Model()).load("l", m.wheel),
        lambda: (m := Model()).load("l", m.beam["end"]),
    ),
    "a kind of joint without name": (
        "A joint kind needs a name; found ''.",
        lambda: register_joint(JointKind("", (("translation", 0),))),
        lambda: JointKind("k", (("translation", 0),)),
    ),
    "a kind of joint with a number as name": (
        "A joint kind needs a name; found 3.",
        lambda: register_joint(JointKind(3, (("translation", 0),))),
        lambda: register_joint(JOINTS["fixed"]),
    ),
    "a kind of joint under a known name": (
        "There is a joint kind 'fixed' already: ",
        lambda: register_joint(JointKind("fixed", (("translation", 0),))),
        lambda: register_joint(JOINTS["fixed"]),
    ),
    "a joint without equation": (
        KIND + "0 equations leave the axes (0, 1, 2, 3, 4, 5) of [translation, rotation] free.",
        lambda: JointKind("k", ()),
        lambda: JointKind("k", (("twist",),)),
    ),
    "a joint with an equation twice": (
        KIND + "2 equations leave the axes (1, 2, 3, 4, 5) of [translation, rotation] free.",
        lambda: JointKind("k", (("translation", 0), ("translation", 0))),
        lambda: JointKind("k", (("translation", 0), ("translation", 1))),
    ),
    "an equation as list": (
        KIND + 'an equation is ("translation", i), ("twist",) or ("dot", i, j) with axes i != j among 0, 1, 2; found [',
        lambda: JointKind("k", (["translation", 0],)),
        lambda: JointKind("k", (("translation", 2),)),
    ),
    "an equation of an axis with itself": (
        "found ('dot', 1, 1).",
        lambda: JointKind("k", (("dot", 1, 1),)),
        lambda: JointKind("k", (("dot", 1, 2),)),
    ),
    "an equation of a fourth axis": (
        "found ('translation', 3).",
        lambda: JointKind("k", (("translation", 3),)),
        lambda: JointKind("k", (("translation", 0),)),
    ),
    "coordinates in rows": (
        "State: q is a row of real numbers; found float64 of shape (1, 7).",
        lambda: State(0.0, np.ones((1, 7)), np.ones(6)),
        lambda: State(0.0, np.ones(7), np.ones(6)),
    ),
    "velocities of words": (
        "State: w is a row of real numbers; found <U1 of shape (1,).",
        lambda: State(0.0, np.ones(7), ["a"]),
        lambda: State(0.0, np.ones(7), [1]),
    ),
    "angles of complex numbers": (
        "State: angles is a row of real numbers; found complex128 of shape (1,).",
        lambda: State(0.0, np.ones(7), np.ones(6), angles=np.array([1j])),
        lambda: State(0.0, np.ones(7), np.ones(6), angles=np.array([1], dtype=np.uint8)),
    ),
    "a point without value": (
        "point: expected 3 finite numbers, found (0, nan, 0).",
        lambda: Model().wheel.at((0, np.nan, 0)),
        lambda: Model().wheel.at((0, -1, 0)),
    ),
    "a point beyond numbers": (
        "point: expected numbers of at most 1e+100, found [1.1e+100, 0.0, 0.0].",
        lambda: Model().wheel.at((1.1e100, 0, 0)),
        lambda: Model().wheel.at((1e100, 0, 0)),
    ),
    "a point of the ground in its frame": (
        'The ground has one frame, the world; write ground.at(point) or frame="world".',
        lambda: Model().ground.at((0, 0, 0), frame="body"),
        lambda: (Model().wheel.at((0, 0, 0), frame="body"), Model().ground.at((0, 0, 0), frame="world")),
    ),
    "an interface of the ground": (
        "The ground has no interface 'end'; write ground.at(point).",
        lambda: Model().ground["end"],
        lambda: Model().beam["end"],
    ),
    "a surface of the ground": (
        "The ground: There is no surface named 'top'.",
        lambda: Model().ground.surface("top"),
        lambda: Model().ground.at((0, 0, 0)),
    ),
    "a surface of a rigid body": (
        "Body 'wheel': There is no surface named 'top'.",
        lambda: Model().wheel.surface("top"),
        lambda: Model().wheel.at((0, 0, 0)),
    ),
    "a name of nothing": (
        "The name of a joint, force element or load is a text that is not empty; found ''.",
        lambda: named(""),
        lambda: named(" "),
    ),
    "a number as name": (
        "The name of a joint, force element or load is a text that is not empty; found 3.",
        lambda: named(3),
        lambda: named("3"),
    ),
    "a spring from a body": (
        "Spring 's' needs two places, such as body['interface'] or body.at(point).",
        lambda: between("spring_damper", "body", "at", stiffness=1.0),
        lambda: between("spring_damper", "at", "at", stiffness=1.0),
    ),
    "a spring to a body": (
        "Spring 's' needs two places, such as body['interface'] or body.at(point).",
        lambda: between("spring_damper", "at", "body", stiffness=1.0),
        lambda: between("spring_damper", "at", "at", stiffness=0.0),
    ),
    "a rod from a body": (
        "Joint 's' needs two places, such as body['interface'] or body.at(point).",
        lambda: between("distance", "body", "at"),
        lambda: between("distance", "at", "at"),
    ),
    "a rod to a body": (
        "Joint 's' needs two places, such as body['interface'] or body.at(point).",
        lambda: between("distance", "at", "body"),
        lambda: between("distance", "at", "at"),
    ),
    "a bushing of five rows": (
        "Bushing 'b', stiffness: expected 6 finite numbers, found ",
        lambda: bushing(np.ones((5, 6))),
        lambda: bushing(np.zeros(6)),
    ),
    "a second axis of a fixed joint": (
        "Joint 'j': a fixed joint has no second_axis.",
        lambda: jointed("fixed", axis=Z, second_axis=X),
        lambda: (jointed("fixed", axis=Z), jointed("constant-velocity", axis=Z, second_axis=X)),
    ),
    "a pipe on a text": (
        "Pipe flow 'p' runs along a body of the system; found 'wheel'.",
        lambda: Model().pipe_flow("p", "wheel", [X, Y], mass_per_length=1.0, speed=1.0),
        lambda: pipe([X, Y], "wheel"),
    ),
    "points of lines in boxes": (
        LINE + "(2, 3, 1).",
        lambda: pipe(np.ones((2, 3, 1))),
        lambda: pipe(np.eye(3)[:2]),
    ),
    "a friction of a word": (
        "Contact 'c': friction is a number >= 0; found 'rough'.",
        lambda: touch(friction="rough"),
        lambda: touch(friction=np.float64(0.1)),
    ),
    "a group of shapes beyond numbers": (
        "The group 'g' has a shape whose size or distance from the origin is more than",
        lambda: far_group(1e100),
        lambda: far_group(0.9e100),
    ),
    "a group with a law with a memory": (
        MEMORY,
        lambda: group(Sphere(0.1), Sphere(0.1), law=contact.permanent_indentation(1e5, 0.5)),
        lambda: group(Sphere(0.1), Sphere(0.1), law=power_law(1e5)),
    ),
    "two points of a law with a memory": (
        "has several points, and each_impact has the memory of one.",
        lambda: boxed(power_law(1e5, restitution=0.5, speed=1.0, each_impact=True)),
        lambda: boxed(power_law(1e5, restitution=0.5, speed=1.0)),
    ),
}  # fmt: skip


def named(name):
    m = Model()
    return m.load(name, m.wheel.at((0, 0, 0)))


def between(method, *places, **given):
    m = Model()
    ends = [
        body.at((0, 0, 0)) if place == "at" else body for body, place in zip((m.block, m.ball), places, strict=True)
    ]
    return getattr(m, method)("s", *ends, **given)


def far_group(distance):
    m = Model()
    shapes = [Sphere(0.1).on(m.wheel.at((0, 0, 0))), Sphere(0.1).on(m.ground.at((distance, 0, 0)))]
    return m.contact_group("g", shapes, law=SOFT)


def boxed(law):
    m = Model()
    return m.contact("c", Plane().on(m.ground.at((0, 0, -9))), Box(1, 1, 1).on(m.wheel.at((0, 0, 0))), law=law)


def planar():
    m = Model()
    m.joint("planar", "flat", m.wheel, m.block, axis=Z, at=(0, 0, 0))
    return m.friction("f", "flat", coefficient=0.1)


def twice(*joints):
    m = Model()
    for name, joint in zip("fg", joints, strict=True):
        m.friction(name, joint, coefficient=0.1, radius=0.1)


def at_twice(*places):
    m = Model()
    a, b = (
        body.at((0, 0, 0)) if place == "at" else body for body, place in zip((m.wheel, m.block), places, strict=True)
    )
    return m.joint("spherical", "d", a, b, at=(0, 0, 0))


def loaded(body):
    m = Model()
    return m.load("l", getattr(m, body).at((0, 0, 0)))


@pytest.mark.parametrize(("words", "wrong", "right"), REFUSED.values(), ids=REFUSED)
def test_elements_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside((MechanismError, JointError), words, wrong, right, monkeypatch)


CIRCLE = np.array([(np.cos(a), np.sin(a)) for a in np.arange(8) * np.pi / 4])
SHAPE = "A curve needs at least six points (n, 2) in its plane; found the shape "
SPAN_OF = "A curve needs start < end and at least 6 pieces; found "
TWICE = "A curve needs points that differ from their neighbours; found "


def line(start=0.0, end=1.0, pieces=8, x=lambda s: s, y=lambda s: s * s, closed=False):
    return curves.of_functions(x, y, start, end, pieces=pieces, closed=closed)


def ring(size, **given):
    return line(0.0, size * np.pi, 32, np.cos, np.sin, **given)


CURVES = {
    "five points": (SHAPE + "(5, 2).", lambda: curves.through(CIRCLE[:5]), lambda: curves.through(CIRCLE[:6])),
    "points in space": (SHAPE + "(8, 3).", lambda: curves.through(np.ones((8, 3))), lambda: curves.through(CIRCLE)),
    "numbers without plane": (SHAPE + "(8,).", lambda: curves.through(np.arange(8)), lambda: curves.through(CIRCLE)),
    "points of words": (SHAPE + "(0,).", lambda: curves.through("curve"), lambda: curves.through(CIRCLE.tolist())),
    "a point without value": (
        "A curve needs finite points; found [nan  0.].",
        lambda: curves.through([*CIRCLE, (np.nan, 0.0)]),
        lambda: curves.through([*CIRCLE[:-1], (0.7, -0.6)]),
    ),
    "a point twice": (TWICE, lambda: curves.through([*CIRCLE, CIRCLE[-1]]), lambda: curves.through(CIRCLE)),
    "the first point again": (
        TWICE,
        lambda: curves.through([*CIRCLE, CIRCLE[0]], closed=True),
        lambda: curves.through(CIRCLE, closed=True),
    ),
    "no extent": (SPAN_OF + "1.0, 1.0 and 8.", lambda: line(1.0, 1.0), lambda: line(1.0, 1.001)),
    "a beginning without value": (SPAN_OF + "nan, 1.0 and 8.", lambda: line(np.nan), lambda: line(-1e3)),
    "an end without value": (SPAN_OF + "0.0, inf and 8.", lambda: line(end=np.inf), lambda: line(end=1e3)),
    "five pieces": (SPAN_OF + "0.0, 1.0 and 5.", lambda: line(pieces=5), lambda: line(pieces=6)),
    "half a piece": (SPAN_OF + "0.0, 1.0 and 6.5.", lambda: line(pieces=6.5), lambda: line(pieces=np.int64(7))),
    "x that is no function": ("A curve needs two functions x(s) and y(s); found 1.0 and ", lambda: line(x=1.0), line),
    "y that is no function": ("A curve needs two functions x(s) and y(s); found <func", lambda: line(y=1.0), line),
    "a ring that does not close": (
        "A closed curve ends where it begins; found [1. 0.] at 0 and ",
        lambda: ring(1.5, closed=True),
        lambda: ring(2.0, closed=True),
    ),
    "a point for a curve": (
        "A curve must be smooth; found a cusp, at which it turns back.",
        lambda: line(x=lambda s: 0.0, y=lambda s: 0.0),
        lambda: line(x=lambda s: s, y=lambda s: 0.0),
    ),
    "a way to and fro": (
        "A curve must be smooth; found a cusp, at which it turns back.",
        lambda: line(-1.0, 1.0, x=lambda s: s * s, y=lambda s: 0.0),
        lambda: line(0.0, 1.0, x=lambda s: s * s, y=lambda s: 0.0 * s + s),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), CURVES.values(), ids=CURVES)
def test_curves_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(CurveError, words, wrong, right, monkeypatch)


def law(parameters=(), states=(), given=None, **options):
    """A law between frames, and its binding if values are given."""

    @flexmb.law(parameters=parameters, states=states, **options)
    def pull(t, relative, states, parameters, wrench, rates):
        """Nothing."""

    return pull if given is None else pull(**given)


def tangent(t, relative, states, parameters, stiffness, damping):
    """Nothing."""


def reading(tangent=None, inputs="u"):
    @flexmb.law(inputs=inputs, tangent=tangent)
    def pull(t, relative, inputs, states, parameters, wrench, rates):
        """Nothing."""

    return pull


NAMED = register_law("a law of these tests")
STIFF, STILL = {"parameters": "k"}, {"states": ("s", "r")}
LAWS = {
    "a law without name": (
        "A law needs a name and a function effort(t, x, xdot); found '' and ",
        lambda: register_law("")(np.hypot),
        lambda: NAMED(tangent),
    ),
    "a number as name of a law": (
        "A law needs a name and a function effort(t, x, xdot); found 3 and ",
        lambda: register_law(3)(np.hypot),
        lambda: NAMED(tangent),
    ),
    "a law that is no function": (
        "A law needs a name and a function effort(t, x, xdot); found 'a law without function' and 3.",
        lambda: register_law("a law without function")(3),
        lambda: NAMED(tangent),
    ),
    "a name of another law": (
        "There is a law 'a law of these tests' already: ",
        lambda: (NAMED(tangent), NAMED(law)),
        lambda: (NAMED(tangent), NAMED(tangent)),
    ),
    "a parameter twice": (
        "The parameters of the law 'pull' must have different names; found ('k', 'k').",
        lambda: law(parameters=("k", "k")),
        lambda: law(parameters=("k", "c")),
    ),
    "a state twice": (
        "The states of the law 'pull' must have different names; found ('s', 's').",
        lambda: law(states=("s", "s")),
        lambda: law(states=2),
    ),
    "a floor of a state that is none": (
        "There is no state of the law 'pull' named 'z'.",
        lambda: law("k", "s", floors={"z": "k"}),
        lambda: law("k", "s", floors={"s": "k"}),
    ),
    "a positive parameter that is none": (
        "There is no parameter of the law 'pull' named 'z'.",
        lambda: law("k", positive=("z",)),
        lambda: law("k", positive=("k",)),
    ),
    "a positive parameter of zero": (
        "The parameter 'k' of the law 'pull' must be positive; found 0.",
        lambda: law("k", positive=("k",), given={"k": 0}),
        lambda: law("k", positive=("k",), given={"k": 5e-324}),
    ),
    "a negative parameter": (
        "The parameter 'k' of the law 'pull' must be zero or positive; found -1.",
        lambda: law("k", non_negative=("k",), given={"k": -1}),
        lambda: law("k", non_negative=("k",), given={"k": 0}),
    ),
    "a negative parameter of two": (
        "The parameter 'k' of the law 'pull' must be zero or positive; found -1.",
        lambda: law(("k", "c"), non_negative=("k",), given={"k": -1, "c": 0}),
        lambda: law(("k", "c"), non_negative=("k",), given={"k": 0, "c": -1}),
    ),
    "parameters that fall": (
        "The parameter 'k' of the law 'pull' must not be above 'c'; found 2 and 1.",
        lambda: law(("k", "c"), increasing=("k", "c"), given={"k": 2, "c": 1}),
        lambda: law(("k", "c"), increasing=("k", "c"), given={"k": 1, "c": 1}),
    ),
    "a parameter of a word": (
        "The parameter 'k' of the law 'pull' must be a finite number; found 'stiff'.",
        lambda: law("k", given={"k": "stiff"}),
        lambda: law("k", given={"k": np.float32(1)}),
    ),
    "a flag as parameter": (
        "The parameter 'k' of the law 'pull' must be a finite number; found True.",
        lambda: law("k", given={"k": True}),
        lambda: law("k", given={"k": 1}),
    ),
    "a parameter without end": (
        "The parameter 'k' of the law 'pull' must be a finite number; found inf.",
        lambda: law("k", given={"k": np.inf}),
        lambda: law("k", given={"k": 1e300}),
    ),
    "a parameter that is missing": (
        "The law 'pull' needs values of 'c'.",
        lambda: law(("k", "c"), given={"k": 1}),
        lambda: law({"k": None, "c": 0.0}, given={"k": 1}),
    ),
    "an initial value too many": (
        "The law 'pull' has 2 states; found 3 initial values.",
        lambda: law(**STILL, given={"initial": (1, 2, 3)}),
        lambda: law(**STILL, given={"initial": (1, 2)}),
    ),
    "an initial value too few": (
        "The law 'pull' has 2 states; found 1 initial values.",
        lambda: law(**STILL, given={"initial": [1]}),
        lambda: law(**STILL, given={"initial": {"r": 1}}),
    ),
    "one number as initial values": (
        "The law 'pull' has 2 states; found the initial values 3.0, which are no list.",
        lambda: law(**STILL, given={"initial": 3.0}),
        lambda: law(**STILL, given={"initial": np.ones(2)}),
    ),
    "an initial value of another state": (
        "There is no state of the law 'pull' named 'z'.",
        lambda: law(**STILL, given={"initial": {"z": 1}}),
        lambda: law(**STILL, given={"initial": {"s": 1}}),
    ),
    "a tangent of a law with states": (
        "of a law without states and inputs; found ",
        lambda: law(states="s", tangent=tangent),
        lambda: law(tangent=tangent),
    ),
    "a tangent of a law with inputs": (
        " and the inputs u. Omit it: differences follow the inputs.",
        lambda: reading(tangent),
        lambda: reading(None),
    ),
    "a tangent that is no function": (
        "of a law without states and inputs; found 3.",
        lambda: law(tangent=3),
        lambda: law(tangent=None),
    ),
    "a tangent of three arguments": (
        "of a law without states and inputs; found ",
        lambda: law(tangent=lambda t, relative, states: None),
        lambda: law(tangent=tangent),
    ),
    "a law of two arguments": (
        "A law is a function of t, relative, states, parameters, wrench, rates; '<lambda>' has t, x.",
        lambda: flexmb.law(lambda t, x: None),
        lambda: flexmb.law(lambda t, relative, states, parameters, wrench, rates: None),
    ),
    "a law of no function": (
        "A law is a function of t, relative, states, parameters, wrench, rates; 'law' has no arguments.",
        lambda: flexmb.law(3),
        lambda: flexmb.law(lambda t, relative, states, parameters, wrench, rates: None),
    ),
}


@pytest.mark.parametrize(("words", "wrong", "right"), LAWS.values(), ids=LAWS)
def test_laws_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    monkeypatch.setattr("flexmb.mechanism.force_law._REGISTERED", {})
    refused_beside(LawError, words, wrong, right, monkeypatch)
