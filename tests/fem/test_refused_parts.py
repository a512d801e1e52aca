"""Numbers and records that cannot describe a part are refused by name, and their nearest neighbours are accepted."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused_beside

import fem
from fem.errors import FactorisationError, InterfaceError, MaterialError, MatrixError, MeshError
from fem.linear_algebra.factor import factor
from fem.loads import gravity, point_force, pressure
from fem.mesh.structured_meshes import block
from fem.sections.layup import Ply

STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
SECTION = fem.Section(1.0, 1.0, 1.0, 1.0, 0.5, 0.5, fibres=((0.5, 0.5), (-0.5, 0.5)))
CUBE = block("tetra", (1, 1, 1), (2, 2, 2))
MODEL = fem.Model(CUBE, STEEL)
SMALL = fem.Model(block("hexahedron", (1, 2, 3), (1, 1, 1)), STEEL, "small")
TABLE = {"positions": (0.0, 1.0, 2.0), "stiffness": np.array([np.eye(6)] * 3), "y_axis": (0, 1, 0)}
FACTOR = factor(2.0 * np.eye(4), "positive-definite")


def lopsided(by):
    """Steel's elasticity, with one coupling that is larger than its counterpart by a part of the largest entry."""
    C = np.array(STEEL.elasticity)
    C[0, 1] += by * C.max()
    return C


def table(**changed):
    mass = np.array([fem.beam_mass(1.0, (0.1, 0.1))] * 3)
    return fem.BeamTable(**{**TABLE, "mass": mass, **changed})


def matrices(**changed):
    given = {"M": SMALL.M, "K": SMALL.K, "points": SMALL.points, "name": "given", **changed}
    return fem.Model.from_matrices(**given)


def mass_with(row, value):
    M = SMALL.M.toarray()
    M[row, row] = value
    return M


def shuffled():
    """The matrices, ordered by components and not by nodes."""
    order = np.arange(24).reshape(8, 3).T.ravel()
    return {"M": SMALL.M[order][:, order], "K": SMALL.K[order][:, order]}


REFUSED = {
    # materials
    "axes that are a direction": (
        lambda: replace(STEEL, axes=(0, 0, 1)),
        MaterialError,
        "Material 'isotropic': axes are fem.CylindricalAxes; found tuple. Material.turned",
        lambda: replace(STEEL, axes=fem.CylindricalAxes((0, 0, 0), (0, 0, 1))),
    ),
    "elasticity of a plane": (
        lambda: fem.Material("ply", np.eye(3)),
        MaterialError,
        "Material 'ply': elasticity must be a finite (6, 6) matrix; found shape (3, 3)",
        lambda: fem.Material("ply", np.eye(6)),
    ),
    "elasticity with NaN": (
        lambda: fem.Material("ply", np.diag([1, 1, np.nan, 1, 1, 1])),
        MaterialError,
        "Material 'ply': elasticity must be a finite (6, 6) matrix",
        lambda: fem.Material("ply", np.diag([1, 1, 1e-9, 1, 1, 1])),
    ),
    "elasticity that is not symmetric": (
        lambda: fem.Material("ply", lopsided(1.1e-9)),
        MaterialError,
        "Material 'ply': the elasticity matrix is not symmetric",
        lambda: fem.Material("ply", lopsided(0.9e-9)),
    ),
    "two moduli": (
        lambda: fem.Material.orthotropic((1, 1), (0, 0, 0), (1, 1, 1), name="wood"),
        MaterialError,
        "Material 'wood': expected three moduli, three Poisson's ratios and three shear moduli",
        lambda: fem.Material.orthotropic((1, 1, 1), (0, 0, 0), (1, 1, 1), name="wood"),
    ),
    "one ratio": (
        lambda: fem.Material.orthotropic((1, 1, 1), 0.3, (1, 1, 1), name="wood"),
        MaterialError,
        "Material 'wood': expected three moduli",
        lambda: fem.Material.orthotropic((1, 1, 1), (0.3, 0.3, 0.3), (1, 1, 1), name="wood"),
    ),
    "four shear moduli": (
        lambda: fem.Material.orthotropic((1, 1, 1), (0, 0, 0), (1, 1, 1, 1), name="wood"),
        MaterialError,
        "Material 'wood': expected three moduli",
        lambda: fem.Material.orthotropic((1, 2, 3), (0, 0, 0), (1, 1, 1), name="wood"),
    ),
    "a modulus of zero": (
        lambda: fem.Material.orthotropic((1, 0, 1), (0, 0, 0), (1, 1, 1), name="wood"),
        MaterialError,
        "Material 'wood': moduli must be positive and finite; found E = [1. 0. 1.], G = [1. 1. 1.].",
        lambda: fem.Material.orthotropic((1, 1e-9, 1), (0, 0, 0), (1, 1, 1), name="wood"),
    ),
    "a shear modulus below zero": (
        lambda: fem.Material.orthotropic((1, 1, 1), (0, 0, 0), (1, 1, -2), name="wood"),
        MaterialError,
        "Material 'wood': moduli must be positive and finite; found E = [1. 1. 1.], G = [ 1.  1. -2.].",
        lambda: fem.Material.orthotropic((1, 1, 1), (0, 0, 0), (1, 1, 1e-9), name="wood"),
    ),
    "a ratio without value": (
        lambda: fem.Material.orthotropic((1, 1, 1), (0, np.nan, 0), (1, 1, 1), name="wood"),
        MaterialError,
        "Material 'wood': moduli must be positive and finite",
        lambda: fem.Material.orthotropic((1, 1, 1), (0, -0.1, 0), (1, 1, 1), name="wood"),
    ),
    # sections
    "angle without value": (
        lambda: replace(SECTION, angle=np.nan),
        MaterialError,
        "A section's angle must be finite; found nan.",
        lambda: replace(SECTION, angle=-1e9),
    ),
    "shear centre of one number": (
        lambda: replace(SECTION, shear_centre=(0.5,)),
        MaterialError,
        "A section's shear_centre must be finite; found (0.5,).",
        lambda: replace(SECTION, shear_centre=(0.5, 0.0)),
    ),
    "two numbers of warping": (
        lambda: replace(SECTION, warping=(1.0, 2.0)),
        MaterialError,
        "A section's warping must be finite; found (1.0, 2.0).",
        lambda: replace(SECTION, warping=1.0),
    ),
    "centroid without end": (
        lambda: replace(SECTION, drawn_centroid=(0.0, np.inf)),
        MaterialError,
        "A section's drawn_centroid must be finite; found (0.0, inf).",
        lambda: replace(SECTION, drawn_centroid=(0.0, -1.0)),
    ),
    "warping below zero": (
        lambda: replace(SECTION, warping=-1e-9),
        MaterialError,
        "A section's warping must not be negative, and its fibre_warping finite; found -1e-09 and ().",
        lambda: replace(SECTION, warping=0.0),
    ),
    "fibre_warping without value": (
        lambda: replace(SECTION, fibre_warping=(1.0, np.nan)),
        MaterialError,
        "A section's warping must not be negative, and its fibre_warping finite; found 0.0 and (1.0, nan).",
        lambda: replace(SECTION, fibre_warping=(1.0, -1.0)),
    ),
    "fibre_shear of another number of fibres": (
        lambda: replace(SECTION, fibre_shear=((1.0, 0.0),)),
        MaterialError,
        "fibre_shear needs two finite numbers for each of its 2 fibres; found ((1.0, 0.0),). Without it",
        lambda: replace(SECTION, fibre_shear=((1.0, 0.0), (0.0, 1.0))),
    ),
    "fibre_shear without value": (
        lambda: replace(SECTION, fibre_shear=((1.0, 0.0), (0.0, np.nan))),
        MaterialError,
        "fibre_shear needs two finite numbers for each of its 2 fibres; found ((1.0, 0.0), (0.0, nan))",
        lambda: replace(SECTION, fibre_shear=()),
    ),
    "box without hollow": (
        lambda: fem.Section.box(0.5, 0.25, 0.125),
        MaterialError,
        "A box with wall 0.125 and widths 0.5, 0.25 has no hollow; take a rectangle.",
        lambda: fem.Section.box(0.5, 0.25, 0.1249),
    ),
    "truss of a beam": (
        lambda: fem.Truss(fem.Beam(STEEL, SECTION), 1.0),
        MaterialError,
        "A truss needs a fem.Material; found Beam.",
        lambda: fem.Truss(STEEL, 1.0),
    ),
    "ply of a shell": (
        lambda: Ply(fem.Shell(STEEL, 1.0), 1.0),
        MaterialError,
        "A ply needs a fem.Material; found Shell.",
        lambda: Ply(STEEL, 1.0),
    ),
    "ply turned without end": (
        lambda: Ply(STEEL, 1.0, np.inf),
        MaterialError,
        "A ply's angle must be finite, in degrees; found inf.",
        lambda: Ply(STEEL, 1.0, -720.0),
    ),
    "shell of a number": (
        lambda: fem.Shell(2.0e11, 1.0),
        MaterialError,
        "A shell needs a fem.Material; found float.",
        lambda: fem.Shell(STEEL, 1.0),
    ),
    "shell with an offset without value": (
        lambda: fem.Shell(STEEL, 1.0, np.nan),
        MaterialError,
        "A shell's offset must be finite; found nan.",
        lambda: fem.Shell(STEEL, 1.0, -0.5),
    ),
    "table with two matrices of stiffness": (
        lambda: table(stiffness=np.array([np.eye(6)] * 2)),
        MaterialError,
        "beam table: stiffness needs a finite (6, 6) matrix at each of 3 stations; found shape (2, 6, 6).",
        table,
    ),
    "table with a mass without value": (
        lambda: table(mass=np.array([np.nan * np.eye(6)] * 3)),
        MaterialError,
        "beam table: mass needs a finite (6, 6) matrix at each of 3 stations",
        table,
    ),
    "table with two y axes": (
        lambda: table(y_axis=((0, 1, 0), (0, 1, 0))),
        MaterialError,
        "y_axis needs three numbers, or three for each of 3 stations, and along three; found shapes (2, 3) and (3,).",
        lambda: table(y_axis=((0, 1, 0), (0, 1, 0.1), (0, 1, 0.2))),
    ),
    "table along two numbers": (
        lambda: table(along=(1, 0)),
        MaterialError,
        "for each of 3 stations, and along three; found shapes (3,) and (2,).",
        lambda: table(along=(1, 0, 0)),
    ),
    # models
    "model of a text": (
        lambda: fem.Model(CUBE, {"all": "steel", "other": None}),
        MaterialError,
        "expected fem.Material, fem.Beam, fem.BeamTable, fem.Truss or fem.Shell records; found str.",
        lambda: fem.Model(CUBE, {"all": STEEL}),
    ),
    "points in a plane": (
        lambda: matrices(points=SMALL.points[:, :2]),
        MatrixError,
        "Model 'given': points must be finite with shape (n, 3); found shape (8, 2).",
        matrices,
    ),
    "points in a row": (
        lambda: matrices(points=SMALL.points.ravel()),
        MatrixError,
        "Model 'given': points must be finite with shape (n, 3); found shape (24,).",
        matrices,
    ),
    "points without value": (
        lambda: matrices(points=np.where(SMALL.points == 3, np.nan, SMALL.points)),
        MatrixError,
        "Model 'given': points must be finite",
        matrices,
    ),
    "dofs in a row": (
        lambda: matrices(dofs=np.arange(24)),
        MatrixError,
        "Model 'given': dofs must be whole numbers of shape (ndof, 2); found shape (24,).",
        lambda: matrices(dofs=np.argwhere(np.ones((8, 3)))),
    ),
    "dofs of three columns": (
        lambda: matrices(dofs=np.zeros((24, 3), dtype=int)),
        MatrixError,
        "Model 'given': dofs must be whole numbers of shape (ndof, 2); found shape (24, 3).",
        lambda: matrices(dofs=np.argwhere(np.ones((8, 3))).astype(np.uint8)),
    ),
    "dofs that are not whole": (
        lambda: matrices(dofs=np.argwhere(np.ones((8, 3))) + 0.5),
        MatrixError,
        "Model 'given': dofs must be whole numbers of shape (ndof, 2)",
        matrices,
    ),
    "no dofs": (
        lambda: matrices(dofs=np.zeros((0, 2), dtype=int)),
        MatrixError,
        "Model 'given': dofs must be whole numbers of shape (ndof, 2); found shape (0, 2).",
        lambda: matrices(dofs=None),
    ),
    "a matrix of a text": (
        lambda: matrices(K="part.mtx"),
        MatrixError,
        "Model 'given': K is not a matrix of numbers (",
        lambda: matrices(K=SMALL.K.toarray()),
    ),
    "no stiffness": (
        lambda: matrices(K=0 * SMALL.K),
        MatrixError,
        "Model 'given': K is empty; all its entries are zero.",
        lambda: matrices(damping=0 * SMALL.K),
    ),
    "mass below zero": (
        lambda: matrices(M=mass_with(5, -1.0)),
        MatrixError,
        "Model 'given': M has 1 negative diagonal entries (first: dof 5). Export a consistent mass matrix",
        matrices,
    ),
    "rows in another order": (
        lambda: matrices(**shuffled()),
        MatrixError,
        "Model 'given': in rigid motion M is not the mass of a body: along x, y, z it gives ",
        lambda: matrices(**shuffled(), dofs=np.argwhere(np.ones((3, 8)))[:, ::-1]),
    ),
    # loads
    "force on half a node": (
        lambda: point_force(MODEL, [1.5], (0, 0, 1)),
        MatrixError,
        "A point force needs node numbers or the name of a set with nodes; found [1.5].",
        lambda: point_force(MODEL, 1, (0, 0, 1)),
    ),
    "force on a table of nodes": (
        lambda: point_force(MODEL, [[1, 2]], (0, 0, 1)),
        MatrixError,
        "A point force needs node numbers or the name of a set with nodes; found [[1, 2]].",
        lambda: point_force(MODEL, [1, 2], (0, 0, 1)),
    ),
    "force on no node": (
        lambda: point_force(MODEL, [], (0, 0, 1)),
        MatrixError,
        "A point force needs node numbers or the name of a set with nodes; found [].",
        lambda: point_force(MODEL, [0], (0, 0, 1)),
    ),
    "pressure on cells": (
        lambda: pressure(MODEL, np.array([0, 1]), 1.0),
        MeshError,
        "Faces are given as whole numbers (nf, 2) of (cell, face of the cell); found shape (2,).",
        lambda: pressure(MODEL, np.array([[0, 1]]), 1.0),
    ),
    "pressure on triples": (
        lambda: pressure(MODEL, np.array([[0, 1, 2]]), 1.0),
        MeshError,
        "whole numbers (nf, 2) of (cell, face of the cell); found shape (1, 3).",
        lambda: pressure(MODEL, np.array([[0, 3]]), 1.0),
    ),
    "pressure on half a face": (
        lambda: pressure(MODEL, np.array([[0, 0.5]]), 1.0),
        MeshError,
        "Faces are given as whole numbers (nf, 2)",
        lambda: pressure(MODEL, np.array([[0, 0]], dtype=np.uint8), 1.0),
    ),
    "gravity without end": (
        lambda: gravity(MODEL, (0.0, 0.0, -np.inf)),
        MatrixError,
        "must be finite; found (0.0, 0.0, -inf).",
        lambda: gravity(MODEL, (0.0, 0.0, 0.0)),
    ),
    # interfaces and supports
    "interface at a set without nodes": (
        lambda: fem.Model(replace(CUBE, node_sets={"none": []}), STEEL).with_interfaces(seat="none"),
        InterfaceError,
        "Interface 'seat': 'none' holds no node. Check the set, or the tolerance.",
        lambda: MODEL.with_interfaces(seat="x0"),
    ),
    "support of matrices by a name": (
        lambda: fem.natural_modes(matrices(), 1, supports="x0"),
        MatrixError,
        "Support 'x0': model 'given' has no such interface; its interfaces: none.",
        lambda: fem.natural_modes(matrices(), 1, supports=fem.on_plane((0, 0, 0), (1, 0, 0))),
    ),
    # linear algebra
    "a longer right-hand side": (
        lambda: FACTOR.solve(np.ones(5)),
        MatrixError,
        "The right-hand side must have shape (4,) or (4, k); got (5,).",
        lambda: FACTOR.solve(np.ones(4)),
    ),
    "a block of right-hand sides": (
        lambda: FACTOR.solve(np.ones((4, 2, 2))),
        MatrixError,
        "The right-hand side must have shape (4,) or (4, k); got (4, 2, 2).",
        lambda: FACTOR.solve(np.ones((4, 0))),
    ),
    "a right-hand side without value": (
        lambda: FACTOR.solve(np.array([0, 0, 0, np.nan])),
        MatrixError,
        "The right-hand side holds NaN or infinite values; check the loads.",
        lambda: FACTOR.solve(np.zeros(4)),
    ),
    "an unknown backend": (
        lambda: factor(np.eye(2), "positive-definite", backend="superlux"),
        FactorisationError,
        "There is no factorisation backend named 'superlux'. Did you mean 'superlu'?",
        lambda: factor(np.eye(2), "positive-definite", backend="superlu"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_its_neighbour_is_not(case, monkeypatch):
    refused, kind, words, accepted = REFUSED[case]
    refused_beside(kind, words, refused, accepted, monkeypatch)
