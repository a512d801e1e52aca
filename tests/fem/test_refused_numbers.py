"""Numbers of materials, sections, shells and lumps that cannot be are refused by each part of their checks alone, and
accepted at the bounds."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused_beside

import fem
from fem.beam import LARGEST_SECTION, principal_moments
from fem.errors import InterfaceError, MaterialError, MatrixError, MeshError
from fem.loads import point_force, pressure
from fem.mesh.structured_meshes import block
from fem.sections.beam_table import beam_stiffness

STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
SECTION = fem.Section(1.0, 1.0, 1.0, 1.0)
OPEN = fem.Section(1.0, 1.0, 1.0, 1.0, warping=1.0)
MODEL = fem.Model(block("hexahedron", (1, 2, 3), (1, 1, 1)), STEEL, "small")
MASS = np.array([fem.beam_mass(1.0, (0.1, 0.1))] * 3)
TABLE = {"positions": (0.0, 1.0, 2.0), "stiffness": np.array([np.eye(6)] * 3), "mass": MASS, "y_axis": (0, 1, 0)}
ONES = (1.0, 1.0, 1.0)
FEW = tuple((float(k), 0.0) for k in range(4))


def isotropic(young=1.0, poisson=0.3, density=None):
    return fem.Material.isotropic(young, poisson, density)


def orthotropic(E=ONES, nu=(0.3, 0.3, 0.3), G=ONES):
    return fem.Material.orthotropic(E, nu, G)


def section(**given):
    return replace(SECTION, **given)


def beam(part=SECTION, **given):
    return fem.Beam(STEEL, part, **given)


def shell(thickness=1e-3, **given):
    return fem.Shell(STEEL, thickness, **given)


def stiff(row=None, value=0.0, other=None):
    C = np.diag([1.0, 1, 0.4, 1, 1, 0.4, 0.4, 0.4])
    if row is not None:
        C[row, row if other is None else other] = value
    return shell(stiffness=C, x_axis=(1, 0, 0))


def table(**given):
    return fem.BeamTable(**TABLE | given)


def stations(positions=(0.0, 1.0), sections=(SECTION, SECTION), material=STEEL, **given):
    return fem.BeamTable.of_sections(material, positions, sections, (0, 1, 0), **given)


def axes(point=(0, 0, 0), direction=(0, 0, 1), *turned):
    return fem.CylindricalAxes(point, direction, *turned)


E = "Young's modulus must be positive and finite; found "
NU = "Poisson's ratio must lie between -1 and 0.5 (excluded); found "
MODULI = "moduli must be positive and finite; found E = "
THREE = "expected three moduli, three Poisson's ratios and three shear moduli."
SPAN = "is turned by two vectors that span a plane, once; found "
DENSITY = "density must be positive and finite, at most 1e+100; found "
OFFSET = "A beam's offset needs two finite numbers (y, z); found "
Y_AXIS = "A beam's y_axis needs three finite numbers of at most 1e+100, not all zero; found "
X_AXIS = "A shell's x_axis needs three finite numbers of at most 1e+100, not all zero; found "
INNER = "A tube's inner diameter must be from 0 to the outer one, 1.0; found "
NEEDS = "section needs a positive "
FIBRES = "A section's fibres are pairs (y, z) of finite numbers; found "
OUTLINE = "A section's outline are pairs (y, z) of finite numbers; found "
WARPED = "A section's fibre_warping needs one number for each of its 4 fibres; found "
SHEAR = "A section's fibre_shear needs two finite numbers for each of its 4 fibres; found "
WARPING = "A section's warping must not be negative, and its fibre_warping finite; found "
PLIES = "A shell's plies are fem.Ply records; found "
CYLINDER = "Cylindrical axes: turn needs degrees, turned_about 0, 1 or 2; found "
PLACE = "needs three finite numbers of at most 1e+100; found "
RISING = "beam table: two or more rising positions are needed; found "
SIX = "needs a finite (6, 6) matrix at each of 3 stations; found shape "
THREES = "beam table: y_axis needs three numbers, or three for each of 3 stations, and along three; found shapes "
CENTROIDS = "beam table: centroids are two finite numbers (y, z), or two for each of 2 stations; found "
EACH = "beam table: a section is needed at each of "
PAIRS = "needs finite numbers, and pairs of them in y and z; found "
MATERIALS = {
    "no modulus": (E + "0.", lambda: isotropic(0), lambda: isotropic(1e-9)),
    "a negative modulus": (E + "-1.", lambda: isotropic(-1), lambda: isotropic(1)),
    "a modulus without end": (E + "inf.", lambda: isotropic(np.inf), lambda: isotropic(1e99)),
    "a modulus of a word": (E + "x.", lambda: isotropic("x"), lambda: isotropic(np.float32(1))),
    "a modulus of a list": (E + "[1.0].", lambda: isotropic([1.0]), lambda: isotropic(np.array(1.0))),
    "a volume that stays": (NU + "0.5.", lambda: isotropic(poisson=0.5), lambda: isotropic(poisson=0.4999)),
    "the lowest ratio": (NU + "-1.", lambda: isotropic(poisson=-1), lambda: isotropic(poisson=-0.9999)),
    "a ratio without value": (NU + "nan.", lambda: isotropic(poisson=np.nan), lambda: isotropic(poisson=0)),
    "a ratio of nothing": (NU + "None.", lambda: isotropic(poisson=None), lambda: isotropic(poisson=np.float32(0.3))),
    "no density": (DENSITY + "0.0.", lambda: isotropic(density=0.0), lambda: isotropic(density=5e-324)),
    "a density beyond numbers": (DENSITY + "1.1e+100.", lambda: isotropic(density=1.1e100), lambda: isotropic(density=1e100)),
    "moduli of a word": (THREE, lambda: orthotropic("abc"), orthotropic),
    "two moduli": (THREE, lambda: orthotropic(E=(1, 1)), lambda: orthotropic(E=(1, 1, 1))),
    "two ratios": (THREE, lambda: orthotropic(nu=(0, 0)), lambda: orthotropic(nu=(0, 0, 0))),
    "four shear moduli": (THREE, lambda: orthotropic(G=(1, 1, 1, 1)), lambda: orthotropic(G=[1, 1, 1])),
    "no second modulus": (MODULI, lambda: orthotropic(E=(1, 0, 1)), lambda: orthotropic(E=(1, 0.5, 1))),
    "no third shear modulus": (MODULI, lambda: orthotropic(G=(1, 1, 0)), lambda: orthotropic(G=(1, 1, 1e-9))),
    "a second ratio without value": (MODULI, lambda: orthotropic(nu=(0, np.nan, 0)), lambda: orthotropic(nu=(0, -0.5, 0))),
    "turned by a word": (SPAN, lambda: STEEL.turned("x", (0, 1, 0)), lambda: STEEL.turned((1, 0, 0), (0, 1, 0))),
    "turned in a plane": (SPAN, lambda: STEEL.turned((1, 0), (0, 1)), lambda: STEEL.turned([1, 0, 0], [0, 1, 0])),
    "turned by vectors of two lengths": (SPAN, lambda: STEEL.turned((1, 0), (0, 1, 0)), lambda: STEEL.turned((1, 0, 0), (1, 1, 0))),
    "turned along one line": (SPAN, lambda: STEEL.turned((1, 0, 0), (-2, 0, 0)), lambda: STEEL.turned((1, 0, 0), (-2, 1e-8, 0))),
    "turned by nothing": (SPAN, lambda: STEEL.turned((0, 0, 0), (0, 1, 0)), lambda: STEEL.turned((1e-300, 0, 0), (0, 1, 0))),
    "turned without value": (SPAN, lambda: STEEL.turned((1, 0, 0), (0, np.nan, 0)), lambda: STEEL.turned((1, 0, 0), (0, -1, 0))),
    "turned twice": (
        SPAN,
        lambda: replace(STEEL, axes=axes()).turned((1, 0, 0), (0, 1, 0)),
        lambda: STEEL.turned((1, 0, 0), (0, 1, 0)).turned((1, 0, 0), (0, 1, 0)),
    ),
    "axes at a word": ("Cylindrical axes: point " + PLACE, lambda: axes("x"), lambda: axes((1, 2, 3))),
    "axes along two numbers": ("Cylindrical axes: direction " + PLACE, lambda: axes(direction=(0, 1)), lambda: axes(direction=(0, 1, 0))),
    "axes in rows": ("Cylindrical axes: point " + PLACE, lambda: axes(((0,), 0, 0)), lambda: axes(np.zeros(3))),
    "axes beyond numbers": ("Cylindrical axes: point " + PLACE, lambda: axes((1.1e100, 0, 0)), lambda: axes((1e100, 0, 0))),
    "axes of no direction": (
        "Cylindrical axes: the direction of the axis must not be zero.",
        lambda: axes(direction=(0, 0, 0)),
        lambda: axes(direction=(0, 0, 1e-100)),
    ),
    "axes turned by a word": (CYLINDER + "x, 2.", lambda: axes((0, 0, 0), (0, 0, 1), "x"), lambda: axes((0, 0, 0), (0, 0, 1), -720)),
    "axes turned without end": (CYLINDER + "inf, 2.", lambda: axes((0, 0, 0), (0, 0, 1), np.inf), lambda: axes((0, 0, 0), (0, 0, 1), 1e9)),
    "axes turned about a fourth one": (CYLINDER + "0.0, 3.", lambda: axes((0, 0, 0), (0, 0, 1), 0.0, 3), lambda: axes((0, 0, 0), (0, 0, 1), 0.0, 0)),
    "axes turned about a flag": (CYLINDER + "0.0, True.", lambda: axes((0, 0, 0), (0, 0, 1), 0.0, True), lambda: axes((0, 0, 0), (0, 0, 1), 0.0, 1)),
    "axes turned about a fraction": (CYLINDER + "0.0, 1.0.", lambda: axes((0, 0, 0), (0, 0, 1), 0.0, 1.0), lambda: axes((0, 0, 0), (0, 0, 1), 0.0, 2)),
    "a beam of no material": ("A beam needs a fem.Material; found int.", lambda: fem.Beam(3, SECTION), beam),
    "a beam of no section": ("A beam needs a fem.Section; found int.", lambda: beam(3), lambda: beam(OPEN)),
    "a beam with an axis of a word": (Y_AXIS + "x.", lambda: beam(y_axis="x"), lambda: beam(y_axis=[0, 1, 0])),
    "a beam with an axis in a plane": (Y_AXIS + "(1, 0).", lambda: beam(y_axis=(1, 0)), lambda: beam(y_axis=(1, 0, 0))),
    "a beam with an axis of nothing": (Y_AXIS + "(0, 0, 0).", lambda: beam(y_axis=(0, 0, 0)), lambda: beam(y_axis=(0, 0, 1e-100))),
    "a beam with an axis beyond numbers": (Y_AXIS, lambda: beam(y_axis=(1.1e100, 0, 0)), lambda: beam(y_axis=(1e100, 0, 0))),
    "a beam aside by a word": (OFFSET + "ab.", lambda: beam(offset="ab"), lambda: beam(offset=(0, 1))),
    "a beam aside by three numbers": (OFFSET + "(1, 2, 3).", lambda: beam(offset=(1, 2, 3)), lambda: beam(offset=np.ones(2))),
    "a beam aside in rows": (OFFSET + "((1, 2), 3).", lambda: beam(offset=((1, 2), 3)), lambda: beam(offset=[1, 2])),
    "a beam aside without value": (OFFSET + "(0, nan).", lambda: beam(offset=(0, np.nan)), lambda: beam(offset=(0, -1))),
    "a beam that does not warp": (
        'torsion="vlasov" needs a section with a positive warping constant; found 0.',
        lambda: beam(torsion="vlasov"),
        lambda: (beam(OPEN, torsion="vlasov"), beam(torsion="saint-venant")),
    ),
    "fibres of a word": (FIBRES + "ab.", lambda: section(fibres="ab"), lambda: section(fibres=((1, 2),))),
    "fibres in space": (FIBRES + "((1, 2, 3),).", lambda: section(fibres=((1, 2, 3),)), lambda: section(fibres=((1, 2), (3, 4)))),
    "two fibres in space": (FIBRES, lambda: section(fibres=((1, 2, 3), (1, 2, 3))), lambda: section(fibres=((1, 2),) * 3)),
    "fibres without value": (FIBRES + "((nan, 2),).", lambda: section(fibres=((np.nan, 2),)), lambda: section(fibres=())),
    "an outline without end": (OUTLINE + "((0, inf),).", lambda: section(outline=((0, np.inf),)), lambda: section(outline=((0, 1e9),))),
    "warping below zero": (WARPING + "-1 and ().", lambda: section(warping=-1), lambda: section(warping=0)),
    "warped fibres without value": (
        WARPING,
        lambda: section(fibres=FEW, fibre_warping=(0, 0, 0, np.nan)),
        lambda: section(fibres=FEW, fibre_warping=(0, 0, 0, 1)),
    ),
    "three warped fibres": (
        WARPED + "3.",
        lambda: section(fibres=FEW, fibre_warping=(0, 0, 0)),
        lambda: section(fibres=FEW, fibre_warping=[0, 0, 0, 0]),
    ),
    "warped fibres of words": (
        WARPED + "0.",
        lambda: section(fibres=FEW, fibre_warping=("a", "b", "c", "d")),
        lambda: section(fibres=FEW, fibre_warping=()),
    ),
    "one number for warped fibres": (WARPED + "1.", lambda: section(fibres=FEW, fibre_warping=3), lambda: section(fibres=FEW)),
    "three fibres in shear": (SHEAR, lambda: section(fibres=FEW, fibre_shear=((0, 0),) * 3), lambda: section(fibres=FEW, fibre_shear=((0, 0),) * 4)),
    "fibres in shear in space": (SHEAR, lambda: section(fibres=FEW, fibre_shear=((0, 0, 0),) * 4), lambda: section(fibres=FEW, fibre_shear=[[0, 1]] * 4)),
    "fibres in shear without value": (
        SHEAR,
        lambda: section(fibres=FEW, fibre_shear=((0, np.nan),) * 4),
        lambda: section(fibres=FEW, fibre_shear=((0, -1),) * 4),
    ),
    "fibres in shear of words": (SHEAR, lambda: section(fibres=FEW, fibre_shear="abcd"), lambda: section(fibres=FEW, fibre_shear=())),
    "no area": ("A section's area must be positive and finite; found 0.0.", lambda: section(area=0.0), lambda: section(area=1e-99)),
    "no torsion": ("A section's J must be positive and finite; found -1e-09.", lambda: section(J=-1e-9), lambda: section(J=0)),
    "no bending": ("A section's Iy must be positive and finite; found 0.", lambda: section(Iy=0), lambda: section(Iy=1e-9)),
    "no wall": (INNER + "1.0.", lambda: fem.Section.tube(1.0, 1.0), lambda: fem.Section.tube(1.0, 0.999)),
    "a hollow below zero": (INNER + "-0.1.", lambda: fem.Section.tube(1.0, -0.1), lambda: fem.Section.tube(1.0, 0)),
    "a hollow of a word": (INNER + "x.", lambda: fem.Section.tube(1.0, "x"), lambda: fem.Section.tube(1.0, np.float32(0.5))),
    "a tube of a word": ("A tube " + NEEDS + "outer", lambda: fem.Section.tube("x", 0.0), lambda: fem.Section.tube(1, 0.0)),
    "a circle of a list": ("A tube " + NEEDS + "outer", lambda: fem.Section.circle([1.0]), lambda: fem.Section.circle(1.0)),
    "a rectangle of a word": (NEEDS + "width_z", lambda: fem.Section.rectangle(1.0, "x"), lambda: fem.Section.rectangle(1.0, 2)),
    "a rectangle of no width": (NEEDS + "width_y", lambda: fem.Section.rectangle(0.0, 1.0), lambda: fem.Section.rectangle(1e-9, 1.0)),
    "a rectangle beyond numbers": (
        NEEDS + "width_y",
        lambda: fem.Section.rectangle(1.01 * LARGEST_SECTION, LARGEST_SECTION),
        lambda: fem.Section.rectangle(LARGEST_SECTION, LARGEST_SECTION),
    ),
    "a box without hollow": (
        "A box with wall 0.5 and widths 2.0, 1.0 has no hollow; take a rectangle.",
        lambda: fem.Section.box(2.0, 1.0, 0.5),
        lambda: fem.Section.box(2.0, 1.0, 0.499),
    ),
    "a box without hollow the other way": (
        "A box with wall 0.5 and widths 1.0, 2.0 has no hollow; take a rectangle.",
        lambda: fem.Section.box(1.0, 2.0, 0.5),
        lambda: fem.Section.box(1.0, 2.0, 0.499),
    ),
    "a box with a wall of a word": (NEEDS + "wall", lambda: fem.Section.box(1.0, 1.0, "x"), lambda: fem.Section.box(1.0, 1.0, 0.1)),
    "a product of inertia as large as its moments": (
        "A product of inertia, 2, is beyond its moments 1 and 4.",
        lambda: principal_moments(1.0, 4.0, 2.0),
        lambda: principal_moments(1.0, 4.0, 1.999),
    ),
    "a negative product of inertia": (
        "A product of inertia, -2.1, is beyond its moments 1 and 4.",
        lambda: principal_moments(1.0, 4.0, -2.1),
        lambda: principal_moments(1.0, 4.0, -1.999),
    ),
    "a shell of two thicknesses": (
        "A shell's thickness must be positive and finite; found (0.001, 0.002).",
        lambda: shell((1e-3, 2e-3)),
        lambda: shell(np.float32(1e-3)),
    ),
    "a shell with two drillings": (
        "A shell's drilling must be positive and finite; found (0.001, 0.002).",
        lambda: shell(drilling=(1e-3, 2e-3)),
        lambda: shell(drilling=1e-3),
    ),
    "a shell with two ratios of bending": (
        "A shell's bending_ratio must be positive and finite; found (1, 2).",
        lambda: shell(bending_ratio=(1, 2)),
        lambda: shell(bending_ratio=2),
    ),
    "a shell with three ratios of shear": (
        "A shell's shear_ratio must be positive and finite; found (1, 2, 3).",
        lambda: shell(shear_ratio=(1, 2, 3)),
        lambda: shell(shear_ratio=(1, 2), x_axis=(1, 0, 0)),
    ),
    "a shell with no shear": (
        "A shell's shear_ratio must be positive and finite; found (1, 0).",
        lambda: shell(shear_ratio=(1, 0), x_axis=(1, 0, 0)),
        lambda: shell(shear_ratio=1),
    ),
    "a shell that loses mass": (
        "A shell's added_mass must be finite and not negative; found -1.",
        lambda: shell(added_mass=-1),
        lambda: shell(added_mass=0),
    ),
    "a shell with an axis of a word": (X_AXIS + "x.", lambda: shell(x_axis="x"), lambda: shell(x_axis=[1, 0, 0])),
    "a shell with an axis in a plane": (X_AXIS + "(1, 0).", lambda: shell(x_axis=(1, 0)), lambda: shell(x_axis=None)),
    "a shell with an axis of nothing": (X_AXIS + "(0, 0, 0).", lambda: shell(x_axis=(0, 0, 0)), lambda: shell(x_axis=(0, 0, 1e-9))),
    "a shell with an axis without value": (X_AXIS, lambda: shell(x_axis=(0, 0, np.nan)), lambda: shell(x_axis=(0, 0, -1))),
    "plies of a word": (PLIES + "'x'.", lambda: shell(plies="x"), lambda: shell(plies=(fem.Ply(STEEL, 1e-3),))),
    "plies of numbers": (PLIES + "(3,).", lambda: shell(plies=(3,)), lambda: shell(plies=())),
    "a number as plies": (PLIES + "3.", lambda: shell(plies=3), lambda: shell(plies=[fem.Ply(STEEL, 5e-4)] * 2)),
    "plies of another thickness": (
        "A shell's thickness 0.001 is not that of its plies, 0.002; fem.Shell.layup(plies) adds them.",
        lambda: shell(plies=(fem.Ply(STEEL, 1e-3),) * 2),
        lambda: shell(2e-3, plies=(fem.Ply(STEEL, 1e-3),) * 2),
    ),
    "a layup of a number": (
        "A layup needs fem.Ply records; found int.",
        lambda: fem.Shell.layup(3),
        lambda: fem.Shell.layup([fem.Ply(STEEL, 1e-3)]),
    ),
    "a layup of nothing": (
        "A layup needs fem.Ply records; found none.",
        lambda: fem.Shell.layup([]),
        lambda: fem.Shell.layup((fem.Ply(STEEL, 1e-3),) * 2),
    ),
    "a ply of no thickness": (
        "A ply's thickness must be positive and finite; found 0.",
        lambda: fem.Ply(STEEL, 0),
        lambda: fem.Ply(STEEL, 1e-9),
    ),
    "a stiffness of a word": (
        "A shell's stiffness must be a finite (8, 8) matrix; found shape (0,).",
        lambda: shell(stiffness="x"),
        lambda: shell(stiffness=None),
    ),
    "a stiffness in rows of two lengths": (
        "A shell's stiffness must be a finite (8, 8) matrix; found shape (0,).",
        lambda: shell(stiffness=[[1], [2, 3]]),
        stiff,
    ),
    "a stiffness of seven rows": (
        "A shell's stiffness must be a finite (8, 8) matrix; found shape (7, 8).",
        lambda: shell(stiffness=np.eye(8)[:7]),
        stiff,
    ),
    "a stiffness of seven columns": (
        "A shell's stiffness must be a finite (8, 8) matrix; found shape (8, 7).",
        lambda: shell(stiffness=np.eye(8)[:, :7]),
        stiff,
    ),
    "a stiffness without value": (
        "A shell's stiffness must be a finite (8, 8) matrix; found shape (8, 8).",
        lambda: stiff(7, np.nan),
        lambda: stiff(7, 0.5),
    ),
    "a stiffness that is not symmetric": (
        "A shell's stiffness must be symmetric; the two triangles of the one given differ.",
        lambda: stiff(0, 0.1, 1),
        lambda: stiff(0, 1e-13, 1),
    ),
    "a stiffness that leaves a strain free": (
        "A shell's stiffness must be positive definite",
        lambda: stiff(3, 0.0),
        lambda: stiff(3, 1e-3),
    ),
    "stations of a word": (RISING + "[].", lambda: table(positions="x"), lambda: table(positions=[0, 1, 2])),
    "one station": (RISING + "[0.0].", lambda: table(positions=[0.0]), lambda: table(positions=np.arange(3))),
    "stations in rows": (RISING, lambda: table(positions=[[0.0], [1.0], [2.0]]), lambda: table(positions=[0.0, 1.0, 2.0])),
    "a station twice": (RISING + "[0.0, 1.0, 1.0].", lambda: table(positions=(0, 1, 1)), lambda: table(positions=(0, 1, 1.001))),
    "a station without end": (RISING, lambda: table(positions=(0, 1, np.inf)), lambda: table(positions=(0, 1, 1e9))),
    "a stiffness of stations of a word": ("beam table: stiffness " + SIX + "(0,).", lambda: table(stiffness="x"), table),
    "two stiffnesses": ("beam table: stiffness " + SIX + "(2, 6, 6).", lambda: table(stiffness=[np.eye(6)] * 2), table),
    "a mass of nothing": ("beam table: mass " + SIX, lambda: table(mass=None), lambda: table(mass=2 * MASS)),
    "a mass without value": ("beam table: mass " + SIX, lambda: table(mass=np.nan * MASS), lambda: table(mass=list(MASS))),
    "a table with an axis of a word": (THREES + "(0,) and (3,).", lambda: table(y_axis="x"), lambda: table(y_axis=[[0, 1, 0]] * 3)),
    "a table with two axes": (THREES + "(2, 3) and (3,).", lambda: table(y_axis=[[0, 1, 0]] * 2), lambda: table(y_axis=[0, 1, 0])),
    "a table along a word": (THREES + "(3,) and (0,).", lambda: table(along="x"), lambda: table(along=(2, 0, 0))),
    "a table along nothing": (
        "beam table: along must be finite and not zero, and at most 1e+100; found [[0.0, 0.0, 0.0]].",
        lambda: table(along=(0, 0, 0)),
        lambda: table(along=(1e-9, 0, 0)),
    ),
    "a table of no section": (
        "beam table: section is a fem.Section; found int.",
        lambda: table(section=3),
        lambda: (table(section=SECTION), table(section=None)),
    ),
    "a table with one modulus": (
        "beam table: moduli are two finite numbers, E and G; found 3.",
        lambda: table(moduli=3),
        lambda: table(moduli=(3, 1)),
    ),
    "a table with a modulus without value": (
        "beam table: moduli are two finite numbers, E and G; found (3, nan).",
        lambda: table(moduli=(3, np.nan)),
        lambda: table(moduli=[3, 1]),
    ),
    "a section too few": (EACH + "3 positions", lambda: stations((0, 1, 2)), lambda: stations((0, 1))),
    "sections in rows": (EACH + "2 positions", lambda: stations([[0, 1]]), lambda: stations([0, 1])),
    "sections at a word": (EACH + "0 positions", lambda: stations("x"), lambda: stations(np.array([0, 1]))),
    "no sections": (EACH + "0 positions", lambda: stations([], []), lambda: stations([0, 1], [SECTION] * 2)),
    "sections without density": (EACH, lambda: stations(material=isotropic()), lambda: stations(material=isotropic(density=1))),
    "a section of a number": (
        "beam table: sections are fem.Section records; found int.",
        lambda: stations(sections=(SECTION, 3)),
        lambda: stations(sections=[SECTION, SECTION]),
    ),
    "centroids of three numbers": (CENTROIDS + "(1, 2, 3).", lambda: stations(centroids=(1, 2, 3)), lambda: stations(centroids=(0.1, 0.2))),
    "centroids of three stations": (CENTROIDS, lambda: stations(centroids=((0, 0),) * 3), lambda: stations(centroids=((0, 0),) * 2)),
    "centroids without value": (CENTROIDS + "(0, nan).", lambda: stations(centroids=(0, np.nan)), lambda: stations(centroids=(0, -0.1))),
    "stiffness of a word": (PAIRS, lambda: beam_stiffness("x", (1, 1), 1, (1, 1)), lambda: beam_stiffness(1, (1, 1), 1, (1, 1))),
    "stiffness with one shear": (PAIRS, lambda: beam_stiffness(1, 1, 1, (1, 1)), lambda: beam_stiffness(1, [1, 1], 1, (1, 1))),
    "stiffness with three bendings": (PAIRS, lambda: beam_stiffness(1, (1, 1), 1, (1, 1, 1)), lambda: beam_stiffness(1, (1, 1), 1, [1, 1])),
    "stiffness with a shear without end": (PAIRS, lambda: beam_stiffness(1, (1, np.inf), 1, (1, 1)), lambda: beam_stiffness(1, (1, 2), 1, (1, 1))),
    "stiffness turned without value": (
        PAIRS,
        lambda: beam_stiffness(1, (1, 1), 1, (1, 1), angle=np.nan),
        lambda: beam_stiffness(1, (1, 1), 1, (1, 1), angle=-90),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), MATERIALS.values(), ids=MATERIALS)
def test_materials_and_sections_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(MaterialError, words, wrong, right, monkeypatch)


def lump(mass=1.0, inertia=(1, 1, 2), offset=(0, 0, 0)):
    return fem.PointMass(mass, inertia, offset).matrix("p")


def spring(stiffness):
    return fem.Spring("a", "b", stiffness).matrix()


def with_entry(row, column, value):
    K = np.eye(6)
    K[row, column] = value
    return K


def interface(**given):
    return fem.Interface([0, 1, 2, 3], **given)


LUMP = "A point mass needs a mass, inertia (3,) or (3, 3) and offset (3,); found "
FINITE = "A point mass needs finite numbers; found "
PHYSICAL = "The mass added at 'p' is not physical: mass "
SPRING = "The spring between 'a' and 'b' needs a symmetric stiffness without negative eigenvalues, (6, 6) or its 6 diagonal entries; found shape "
NODES = "Nodes run from 0 to 7; a point force was given for "
FORCE = "A point force on 2 nodes has shape (3,) (the total), or (2, 3) when the nodes are given by number; found "
FACES = "Faces are given as whole numbers (nf, 2) of (cell, face of the cell); found shape "
WEIGHTS = "Interface '': weights must be one positive number a node; found shape "
PARTS = {
    "a mass of a word": (LUMP, lambda: lump("x"), lambda: lump(np.float32(1))),
    "a mass without value": (LUMP, lambda: lump(np.nan), lambda: lump(0, (0, 0, 0))),
    "two moments": (LUMP, lambda: lump(inertia=(1, 1)), lambda: lump(inertia=[1, 1, 1])),
    "a block of moments": (LUMP, lambda: lump(inertia=np.eye(3)[:2]), lambda: lump(inertia=np.eye(3))),
    "an offset in a plane": (LUMP, lambda: lump(offset=(0, 0)), lambda: lump(offset=(1, 2, 3))),
    "an offset without value": (FINITE, lambda: lump(offset=(0, 0, np.nan)), lambda: lump(offset=(0, 0, -1))),
    "a moment without end": (FINITE, lambda: lump(inertia=(1, 1, np.inf)), lambda: lump(inertia=(1e9, 1e9, 1e9))),
    "a mass below zero": (PHYSICAL + "-1.0,", lambda: lump(-1.0), lambda: lump(0.0)),
    "a moment below zero": (PHYSICAL, lambda: lump(inertia=(-1e-9, 1, 1)), lambda: lump(inertia=(0, 1, 1))),
    "a moment beyond the others": (PHYSICAL, lambda: lump(inertia=(1, 1, 2.001)), lambda: lump(inertia=(1, 1, 2))),
    "a first moment beyond the others": (PHYSICAL, lambda: lump(inertia=(2.001, 1, 1)), lambda: lump(inertia=(2, 1, 1))),
    "moments that are not symmetric": (
        PHYSICAL,
        lambda: lump(inertia=np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])),
        lambda: lump(inertia=np.array([[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]])),
    ),
    "a spring of a word": (SPRING + "(0,).", lambda: spring("x"), lambda: spring((1,) * 6)),
    "a spring of five": (SPRING + "(5,).", lambda: spring((1,) * 5), lambda: spring([0] * 6)),
    "a spring in rows of two lengths": (SPRING + "(0,).", lambda: spring([[1], [2, 3]]), lambda: spring(np.eye(6))),
    "a spring of five rows": (SPRING + "(5, 6).", lambda: spring(np.eye(6)[:5]), lambda: spring(np.zeros((6, 6)))),
    "a spring that pushes": (SPRING + "(6,).", lambda: spring((1, 1, 1, 1, 1, -1)), lambda: spring((1, 1, 1, 1, 1, 0))),
    "a spring without value": (SPRING + "(6,).", lambda: spring((1, 1, 1, 1, 1, np.nan)), lambda: spring((1, 1, 1, 1, 1, 1e9))),
    "a spring that is not symmetric": (
        SPRING + "(6, 6).",
        lambda: spring(with_entry(0, 1, 0.1)),
        lambda: spring(with_entry(0, 1, 1e-13)),
    ),
    "a spring that gives energy": (
        SPRING + "(6, 6).",
        lambda: spring(with_entry(0, 1, 1.01) + with_entry(1, 0, 1.01) - np.eye(6)),
        lambda: spring(with_entry(0, 1, 0.99) + with_entry(1, 0, 0.99) - np.eye(6)),
    ),
    "a force behind the last node": (NODES + "0 to 8.", lambda: point_force(MODEL, [0, 8], ONES), lambda: point_force(MODEL, [0, 7], ONES)),
    "a force before the first node": (NODES + "-1 to 7.", lambda: point_force(MODEL, [-1, 7], ONES), lambda: point_force(MODEL, 0, ONES)),
    "forces for three nodes": (FORCE + "(3, 3).", lambda: point_force(MODEL, [0, 1], np.ones((3, 3))), lambda: point_force(MODEL, [0, 1], np.ones((2, 3)))),
    "forces in a plane": (FORCE + "(2, 2).", lambda: point_force(MODEL, [0, 1], np.ones((2, 2))), lambda: point_force(MODEL, [0, 1], ONES)),
    "no face": (FACES + "(0,).", lambda: pressure(MODEL, [], 1.0), lambda: pressure(MODEL, [(0, 2)], 1.0)),
    "a face in a row": (FACES + "(2,).", lambda: pressure(MODEL, (0, 1), 1.0), lambda: pressure(MODEL, [(0, 1)], 1.0)),
    "half a face": (FACES + "(1, 2).", lambda: pressure(MODEL, [(0.0, 0.5)], 1.0), lambda: pressure(MODEL, np.zeros((1, 2), np.uint8), 1.0)),
    "a cell behind the last": ("there is no cell 1.", lambda: pressure(MODEL, [(1, 0)], 1.0), lambda: pressure(MODEL, [(0, 0)], 1.0)),
    "a cell before the first": ("there is no cell -1.", lambda: pressure(MODEL, [(-1, 0)], 1.0), lambda: pressure(MODEL, [(0, 0)], 1.0)),
    "a face behind the last": ("a hexahedron, has no face 6.", lambda: pressure(MODEL, [(0, 6)], 1.0), lambda: pressure(MODEL, [(0, 5)], 1.0)),
    "a face before the first": ("a hexahedron, has no face -1.", lambda: pressure(MODEL, [(0, -1)], 1.0), lambda: pressure(MODEL, [(0, 0)], 1.0)),
    "no weight": (WEIGHTS + "(4,), smallest 0.", lambda: interface(weights=[0, 1, 1, 1]), lambda: interface(weights=[1e-9, 1, 1, 1])),
    "weights in rows": (WEIGHTS + "(1, 4), smallest 1.", lambda: interface(weights=[[1, 1, 1, 1]]), lambda: interface(weights=[1, 1, 1, 1])),
    "a point in a plane": ("the point needs 3 coordinates; its shape is (2,).", lambda: interface(point=(0, 0)), lambda: interface(point=(0, 0, 0))),
    "a weight too few": (
        "Interface 'a': 3 weights for 4 nodes; one a node is needed.",
        lambda: MODEL.with_interfaces(a=interface(weights=(1, 1, 1))),
        lambda: MODEL.with_interfaces(a=interface(weights=(1, 1, 1, 1), kind="average")),
    ),
    "a node twice": (
        "are given more than once.",
        lambda: MODEL.with_interfaces(a=fem.Interface([0, 1, 2, 2])),
        lambda: MODEL.with_interfaces(a=fem.Interface([0, 1, 2, 3])),
    ),
    "a node behind the last": (
        "do not exist; the model has nodes 0 to 7.",
        lambda: MODEL.with_interfaces(a=fem.Interface([0, 1, 2, 8])),
        lambda: MODEL.with_interfaces(a=fem.Interface([0, 1, 2, 7])),
    ),
    "a node before the first": (
        "do not exist; the model has nodes 0 to 7.",
        lambda: MODEL.with_interfaces(a=fem.Interface([-1, 1, 2, 3])),
        lambda: MODEL.with_interfaces(a=fem.Interface([0, 1, 2, 3])),
    ),
    "nodes in rows": (
        "expected a set name, a Selection or a list of node numbers; found ",
        lambda: MODEL.with_interfaces(a=fem.Interface([[0, 1, 2, 3]])),
        lambda: MODEL.with_interfaces(a=fem.Interface(np.arange(4, dtype=np.uint8))),
    ),
    "half a node": (
        "expected a set name, a Selection or a list of node numbers; found ",
        lambda: MODEL.with_interfaces(a=fem.Interface([0.0, 1.0, 2.0])),
        lambda: MODEL.with_interfaces(a=fem.Interface((0, 1, 2))),
    ),
    "no nodes": (
        "expected a set name, a Selection or a list of node numbers; found []",
        lambda: MODEL.with_interfaces(a=fem.Interface([])),
        lambda: MODEL.with_interfaces(a=fem.Interface("x0")),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), PARTS.values(), ids=PARTS)
def test_lumps_loads_and_interfaces_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside((MatrixError, MeshError, InterfaceError), words, wrong, right, monkeypatch)
