"""Shapes, laws of contact and blocks of rows that cannot be are refused by each part of their checks alone, and accepted
at the bounds."""

import numpy as np
import pytest
from refusals import refused_beside

from fem.errors import MeshError
from flexmb import solids
from flexmb.bodies.shape import Shape
from flexmb.contact import (
    Bounded,
    Coulomb,
    LocalHertz,
    Sphere,
    Turning,
    TurningFriction,
    hertz_stiffness,
    malca,
    power_law,
    solve_contacts,
)
from flexmb.contact.laws import effective_modulus, reached_restitution
from flexmb.errors import LawError, MechanismError, UnilateralError

POINTS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)])
TRIANGLES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def shape(points=POINTS, triangles=TRIANGLES):
    return Shape(points, triangles)


def prism(outline=SQUARE, low=0.0, high=1.0):
    return solids.prism(outline, low, high)


def pipe(radius=1.0, inner=0.0, end=(0, 0, 1)):
    return solids.cylinder((0, 0, 0), end, radius, inner)


ONE = (Bounded(),)


def solved(blocks=ONE, W=((1.0,),), b=(-1.0,), **given):
    return solve_contacts(np.array(W), np.array(b), list(blocks), **given)


AT = "The points of a shape are (n, 3) finite numbers; found an array of shape "
SIDES = "The triangles of a shape are (nt, 3) whole numbers, at least one; found "
REFERS = "A triangle of a shape refers to point "
OUTLINE = "The outline of a prism has at least 3 points (x, y); found an array of shape "
CONVEX = "The outline of a prism should be convex and counter-clockwise"
HEIGHT = "A prism needs height above zero; found "
BORE = "The bore of a cylinder has a radius from 0 to that of the cylinder, 1.0; found "
RADIUS = "A sphere needs radius above zero; found "
SCALED = "A shape is scaled by a positive number; found "
SOLIDS = {
    "points in a plane": (AT + "(4, 2).", lambda: shape(POINTS[:, :2]), shape),
    "points in a row": (AT + "(12,).", lambda: shape(POINTS.ravel()), lambda: shape(POINTS.tolist())),
    "points of a word": (AT + "(0,).", lambda: shape("x"), shape),
    "a point without value": (AT + "(4, 3).", lambda: shape(POINTS * [1, 1, np.nan]), lambda: shape(POINTS * [1, 1, -1])),
    "triangles of four": (SIDES, lambda: shape(triangles=np.zeros((1, 4), int)), lambda: shape(triangles=TRIANGLES.astype(np.uint8))),
    "triangles in a row": (SIDES, lambda: shape(triangles=[0, 1, 2]), lambda: shape(triangles=[[0, 1, 2]])),
    "no triangle": (SIDES, lambda: shape(triangles=np.zeros((0, 3), int)), lambda: shape(triangles=TRIANGLES[:1])),
    "half a triangle": (SIDES, lambda: shape(triangles=TRIANGLES / 2), lambda: shape(triangles=TRIANGLES.tolist())),
    "a point behind the last": (REFERS + "4, but", lambda: shape(triangles=[[0, 1, 4]]), lambda: shape(triangles=[[0, 1, 3]])),
    "a point before the first": (REFERS + "-1, but", lambda: shape(triangles=[[-1, 1, 2]]), lambda: shape(triangles=[[0, 1, 2]])),
    "a shape of no size": (SCALED + "0.", lambda: shape().scaled(0), lambda: shape().scaled(1e-9)),
    "a shape of endless size": (SCALED + "inf.", lambda: shape().scaled(np.inf), lambda: shape().scaled(1e9)),
    "a shape scaled by a word": (SCALED + "x.", lambda: shape().scaled("x"), lambda: shape().scaled(np.float64(2))),
    "a prism of a word": (OUTLINE + "(0,).", lambda: prism("x"), prism),
    "a prism of two corners": (OUTLINE + "(2, 2).", lambda: prism(SQUARE[:2]), lambda: prism(SQUARE[:3])),
    "a prism in space": (OUTLINE + "(4, 3).", lambda: prism(POINTS), lambda: prism(POINTS[:3, :2])),
    "a prism with an endless corner": (OUTLINE, lambda: prism([(0, 0), (np.inf, 0), (0, 1)]), lambda: prism([(0, 0), (9, 0), (0, 1)])),
    "a prism of no height": (HEIGHT + "0.0.", lambda: prism(high=0.0), lambda: prism(high=1e-9)),
    "a prism upside down": (HEIGHT + "-1.0.", lambda: prism(low=1.0, high=0.0), lambda: prism(low=-1, high=0)),
    "a prism up to a word": (HEIGHT + "(0.0, 'x').", lambda: prism(high="x"), lambda: prism(high=1)),
    "a prism clockwise": (CONVEX, lambda: prism(SQUARE[::-1]), prism),
    "a prism with a hollow": (
        CONVEX,
        lambda: prism([(0, 0), (1, 0), (0.4, 0.4), (0, 1)]),
        lambda: prism([(0, 0), (1, 0), (0.5, 0.5), (0, 1)]),
    ),
    "a prism around twice": (CONVEX, lambda: prism(SQUARE * 2), lambda: prism(np.array(SQUARE))),
    "a bore as wide as the cylinder": (BORE + "1.0.", lambda: pipe(inner=1.0), lambda: pipe(inner=0.999)),
    "a bore below zero": (BORE + "-0.1.", lambda: pipe(inner=-0.1), lambda: pipe(inner=0)),
    "a bore of a word": (BORE + "x.", lambda: pipe(inner="x"), lambda: pipe(inner=np.float64(0.5))),
    "a cylinder of no length": ("A cylinder needs length above zero; found 0.0.", lambda: pipe(end=(0, 0, 0)), lambda: pipe(end=(0, 0, 1e-9))),
    "a cylinder of a word": ("A cylinder needs radius above zero; found 'x'.", lambda: pipe("x"), lambda: pipe(1)),
    "a cylinder to a plane": (
        "The end of a cylinder should be 3 finite numbers; found (0, 1).",
        lambda: pipe(end=(0, 1)),
        lambda: pipe(end=[0, 1, 0]),
    ),
    "a sphere of no size": (RADIUS + "0.", lambda: solids.sphere(0), lambda: solids.sphere(1e-9)),
    "a sphere of three sizes": (RADIUS + "(1, 2, 3).", lambda: solids.sphere((1, 2, 3)), lambda: solids.sphere(np.float64(1))),
    "a sphere of a word": (RADIUS + "'x'.", lambda: solids.sphere("x"), lambda: solids.sphere(1)),
    "a sphere at a word": (
        "The centre of a sphere should be 3 finite numbers; found 'x'.",
        lambda: solids.sphere(1.0, "x"),
        lambda: solids.sphere(1.0, [1, 2, 3]),
    ),
    "a box of no height": ("A box needs edges above zero; found ", lambda: solids.box((1, 1, 0)), lambda: solids.box((1, 1, 1e-9))),
    "a box of two edges": ("The edges of a box should be 3 finite numbers; found (1, 1).", lambda: solids.box((1, 1)), lambda: solids.box([1, 1, 1])),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), SOLIDS.values(), ids=SOLIDS)
def test_solids_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(MeshError, words, wrong, right, monkeypatch)


FACTOR = "A factor of damping is a finite number >= 0; found "
ROLLING = "The friction of rolling is a length >= 0, a moment over a force; found "
POISSON = "Poisson's ratio of "
RESTITUTION = "A coefficient of restitution is above 0 and at most 1; found "
OTHER = "The radius of the other surface is positive, infinite for a plane, or negative for a socket; found "
FITTED = "contact of cylinders is fitted for radii from "
LAWS = {
    "a factor below zero": (FACTOR + "-1.", lambda: reached_restitution(-1), lambda: reached_restitution(0)),
    "a factor without end": (FACTOR + "inf.", lambda: reached_restitution(np.inf), lambda: reached_restitution(1.0)),
    "a flag as factor": (FACTOR + "True.", lambda: reached_restitution(True), lambda: reached_restitution(1)),
    "rolling below zero": (ROLLING + "-1.", lambda: TurningFriction(rolling=-1, spinning=2), lambda: TurningFriction(rolling=0, spinning=2)),
    "rolling without end": (ROLLING + "inf.", lambda: TurningFriction(rolling=np.inf), lambda: TurningFriction(rolling=1e9)),
    "neither rolling nor spinning": (
        "TurningFriction has a length of rolling, of spinning, or of both; found neither.",
        lambda: TurningFriction(),
        lambda: (TurningFriction(rolling=1e-9), TurningFriction(spinning=1e-9)),
    ),
    "a speed of turning below zero": (
        "The speed of turning friction must be a number >= 0; found -1.",
        lambda: TurningFriction(rolling=1.0, speed=-1),
        lambda: TurningFriction(rolling=1.0, speed=0),
    ),
    "a speed of turning without end": (
        "The speed of turning friction must be a number >= 0; found inf.",
        lambda: TurningFriction(rolling=1.0, speed=np.inf),
        lambda: TurningFriction(rolling=1.0, speed=1e9),
    ),
    "no stiffness": ("The stiffness of a contact law must be a positive number; found 0.", lambda: power_law(0), lambda: power_law(1e-9)),
    "a stiffness without end": ("The stiffness of a contact law must be a positive number; found inf.", lambda: power_law(np.inf), lambda: power_law(1e99)),
    "an exponent below one": ("The exponent of a contact law is at least 1; found 0.99.", lambda: power_law(1.0, exponent=0.99), lambda: power_law(1.0, exponent=1)),
    "no restitution": (RESTITUTION + "0.", lambda: power_law(1.0, restitution=0, speed=1.0), lambda: power_law(1.0, restitution=0.1, speed=1.0)),
    "a restitution above one": (RESTITUTION + "1.001.", lambda: power_law(1.0, restitution=1.001), lambda: power_law(1.0, restitution=1)),
    "a restitution without speed": (
        "A contact law with a restitution below 1 needs the speed of approach at which it holds, speed=.",
        lambda: power_law(1.0, restitution=0.9),
        lambda: (power_law(1.0, restitution=0.9, speed=1.0), power_law(1.0)),
    ),
    "a ratio of Poisson above a half": (POISSON, lambda: effective_modulus(1.0, 0.501), lambda: effective_modulus(1.0, 0.5)),
    "a ratio of Poisson of minus one": (POISSON, lambda: effective_modulus(1.0, -1.0), lambda: effective_modulus(1.0, -0.99)),
    "another ratio of Poisson": (POISSON, lambda: effective_modulus(1.0, 0.3, 1.0, 0.6), lambda: effective_modulus(1.0, 0.3, 1.0, 0.5)),
    "no other radius": (OTHER + "0.", lambda: hertz_stiffness(1.0, 1.0, 0), lambda: hertz_stiffness(1.0, 1.0, np.inf)),
    "another radius without value": (OTHER + "nan.", lambda: hertz_stiffness(1.0, 1.0, np.nan), lambda: hertz_stiffness(1.0, 1.0, 1)),
    "a socket as small as the sphere": (
        "A sphere of radius 1.0 does not fit into a socket of radius 1.0.",
        lambda: hertz_stiffness(1.0, 1.0, -1.0),
        lambda: hertz_stiffness(1.0, 1.0, -1.001),
    ),
    "a rigid surface": (
        "The surface in a local contact is elastic: young is finite; found inf.",
        lambda: LocalHertz(np.inf, 0.3),
        lambda: LocalHertz(1e11, 0.3, np.inf),
    ),
    "cylinders inside too close": ("The internal " + FITTED, lambda: malca(1e5, 1.0, 0.049, internal=True), lambda: malca(1e5, 1.0, 0.05, internal=True)),
    "cylinders inside too far": ("The internal " + FITTED, lambda: malca(1e5, 1.0, 10.1, internal=True), lambda: malca(1e5, 1.0, 10.0, internal=True)),
    "cylinders outside too close": ("The external " + FITTED, lambda: malca(1e5, 1.0, 4.9, internal=False), lambda: malca(1e5, 1.0, 5.0, internal=False)),
    "cylinders outside too far": ("The external " + FITTED, lambda: malca(1e5, 1.0, 501.0, internal=False), lambda: malca(1e5, 1.0, 500.0, internal=False)),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), LAWS.values(), ids=LAWS)
def test_laws_of_contact_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(LawError, words, wrong, right, monkeypatch)


BOUNDS = "The lower bound of an impulse must not be above the upper one; found "
TURNS = "The friction of turning is a length >= 0; found "
ROWS = "Friction of turning has 1 row, of spinning, or 2, of rolling; found "
MU = "A coefficient of friction is a number >= 0; found "
TWO = "A contact with friction has 2 or 3 rows; found "
TOLERANCE = "The tolerance is a positive number, and so is a scale; found "
FIT = "The blocks have 1 rows, so that the response is (1, 1) and the free velocities are (1,); found "
OWN = "Friction of turning, block 1, belongs to a contact, a Coulomb or a Bounded with the lower bound 0; block "
EYE = np.eye(2)
BLOCKS = {
    "bounds the other way": (BOUNDS + "1 and 0.", lambda: Bounded(1, 0), lambda: Bounded(1, 1)),
    "a bound of a word": (BOUNDS + "x and inf.", lambda: Bounded("x"), lambda: Bounded(-np.inf)),
    "a bound without value": (BOUNDS + "nan and inf.", lambda: Bounded(np.nan), lambda: Bounded(-1)),
    "a length below zero": (TURNS + "-1.", lambda: Turning(0, -1), lambda: Turning(0, 0)),
    "a length without end": (TURNS + "inf.", lambda: Turning(0, np.inf), lambda: Turning(0, 1e9)),
    "a length of a word": (TURNS + "x.", lambda: Turning(0, "x"), lambda: Turning(0, 1)),
    "no row of turning": (ROWS + "0.", lambda: Turning(0, 1.0, 0), lambda: Turning(0, 1.0, 1)),
    "three rows of turning": (ROWS + "3.", lambda: Turning(0, 1.0, 3), lambda: Turning(0, 1.0, 2)),
    "a coefficient below zero": (MU + "-0.1.", lambda: Coulomb(-0.1), lambda: Coulomb(0.0)),
    "a coefficient without end": (MU + "inf.", lambda: Coulomb(np.inf), lambda: Coulomb(1e9)),
    "one row of a contact": (TWO + "1.", lambda: Coulomb(0.1, 1), lambda: Coulomb(0.1, 2)),
    "four rows of a contact": (TWO + "4.", lambda: Coulomb(0.1, 4), lambda: Coulomb(0.1, 3)),
    "half a row of a contact": (TWO + "2.0.", lambda: Coulomb(0.1, 2.0), lambda: Coulomb(0.1, np.int64(2))),
    "no tolerance": (TOLERANCE + "0.0, None.", lambda: solved(tolerance=0.0), lambda: solved(tolerance=1e-15)),
    "a scale of a word": (TOLERANCE, lambda: solved(scale="x"), lambda: solved(scale=1)),
    "a block that is none": (
        "The blocks are a list of Bounded, Coulomb and Turning; found [3].",
        lambda: solved(blocks=[3]),
        lambda: solved(blocks=[Bounded(0, 1)]),
    ),
    "a response of two rows": (FIT + "(2, 2) and (1,).", lambda: solved(W=EYE), lambda: solved(W=[[2.0]])),
    "two free velocities": (FIT + "(1, 1) and (2,).", lambda: solved(b=(1.0, 1.0)), lambda: solved(b=[1.0])),
    "a response that is not symmetric": (
        "The response must be symmetric",
        lambda: solved((Bounded(),) * 2, [[1.0, 0.1], [0.0, 1.0]], (1.0, 1.0)),
        lambda: solved((Bounded(),) * 2, [[1.0, 0.1], [0.1, 1.0]], (1.0, 1.0)),
    ),
    "turning at no contact": (
        OWN + "2 is None.",
        lambda: solved((Bounded(), Turning(2, 0.1, 1)), EYE, (-1.0, 1.0)),
        lambda: solved((Bounded(), Turning(0, 0.1, 1)), EYE, (-1.0, 1.0)),
    ),
    "turning at the contact before the first": (
        OWN + "-1 is None.",
        lambda: solved((Bounded(), Turning(-1, 0.1, 1)), EYE, (-1.0, 1.0)),
        lambda: solved((Bounded(0.0, 9.0), Turning(0, 0.1, 1)), EYE, (-1.0, 1.0)),
    ),
    "turning at a joint": (
        OWN + "0 is Bounded(lower=-inf, upper=inf).",
        lambda: solved((Bounded(-np.inf, np.inf), Turning(0, 0.1, 1)), EYE, (-1.0, 1.0)),
        lambda: solved((Bounded(0, np.inf), Turning(0, 0.1, 1)), EYE, (-1.0, 1.0)),
    ),
    "turning at turning": (
        OWN + "1 is Turning(",
        lambda: solved((Bounded(), Turning(1, 0.1, 1)), EYE, (-1.0, 1.0)),
        lambda: solved((Coulomb(0.1, 2), Turning(0, 0.1, 1)), np.eye(3), (-1.0, 0.0, 1.0)),
    ),
    "a ball of a flag": ("", lambda: Sphere(True), lambda: Sphere(1)),
    "a ball of no size": ("", lambda: Sphere(0.0), lambda: Sphere(5e-324)),
    "a ball without end": ("", lambda: Sphere(np.inf), lambda: Sphere(1e99)),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), BLOCKS.values(), ids=BLOCKS)
def test_blocks_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside((UnilateralError, MechanismError, LawError), words, wrong, right, monkeypatch)
