"""Hexahedra: hex8 (`hexahedron`) and hex20 (`hexahedron20`).

            7---14---6
           /|       /|
         15 |     13 |      edges: 8 = 01, 9 = 12, 10 = 23, 11 = 30, 12 = 45, 13 = 56, 14 = 67, 15 = 74,
         / 19     / 18             16 = 04, 17 = 15, 18 = 26, 19 = 37
        4---12---5   |      reference corners: 0 (-1,-1,-1), 1 (1,-1,-1), 2 (1,1,-1), 3 (-1,1,-1), 4 (-1,-1,1) ...
        |   3--10|---2
       16  /    17  /
        | 11     | 9
        |/       |/
        0----8---1

hex8 (2 x 2 x 2 points) carries three incompatible modes 1 - xi_k^2 for each displacement component, condensed inside
the cell (fem/matrices/cell_matrices.py), so that it locks neither in shear nor in volume; their gradients are modified
so that the patch test is passed on distorted cells. Bending is exact on rectangular cells; strongly trapezoidal cells
become stiffer again, so keep them near rectangular along a bent part, or use hex20. Source: Taylor, Beresford, Wilson,
"A non-conforming element for stress analysis", Int. J. Numer. Meth. Engng 10 (1976) 1211-1219 (QM6).

hex20 is the serendipity element with full (3 x 3 x 3) integration: no shear locking, and only mild volume locking near
Poisson's ratio 1/2.

Three elements exist to repeat the results of other programs (`read_mesh(..., elements="file")`): hex8 without the
incompatible modes, which locks in bending (C3D8 of CalculiX); hex8 with the mean gradient of the cell and a small
stiffness against hourglass motions (C3D8R), 0.0005 E V |b|^2 for each with the mean gradient b, as CalculiX takes it
(its own leaves out part of the correction that frees distorted cells from it), which is useless in bending unless four
cells lie through the thickness, and whose mass is in the middle of the cell; and hex20 with 2 x 2 x 2 points for
stiffness and mass (C3D20R). The latter has six motions without strain energy in a single cell, which no two cells
share; its moments of inertia are exact on parallelepipeds only. Source of the hourglass stiffness: Flanagan and
Belytschko, "A uniform strain hexahedron and quadrilateral with orthogonal hourglass control", Int. J. Numer. Meth.
Engng 17 (1981) 679-706.
"""

from dataclasses import replace

import numpy as np

from fem.elements.element import Element, edges_of, polynomial_basis
from fem.elements.quadrature import gauss_box

_CORNERS = np.array(
    [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], dtype=float
)
_EDGES = edges_of("01 12 23 30 45 56 67 74 04 15 26 37", 8)
_TRILINEAR = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
_SERENDIPITY = np.vstack(
    [
        _TRILINEAR,
        [[2, 0, 0], [0, 2, 0], [0, 0, 2], [2, 1, 0], [2, 0, 1], [1, 2, 0], [0, 2, 1], [1, 0, 2], [0, 1, 2]],
        [[2, 1, 1], [1, 2, 1], [1, 1, 2]],
    ]
)
_FACES8 = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_FACES20 = (
    (0, 4, 7, 3, 16, 15, 19, 11),
    (1, 2, 6, 5, 9, 18, 13, 17),
    (0, 1, 5, 4, 8, 17, 12, 16),
    (3, 7, 6, 2, 19, 14, 18, 10),
    (0, 3, 2, 1, 11, 10, 9, 8),
    (4, 5, 6, 7, 12, 13, 14, 15),
)

_CUBE = ((0, 1, 2, 3, 4, 5, 6, 7),)
_ABAQUS_FACES = ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))

_shape8, _gradient8 = polynomial_basis(_CORNERS, _TRILINEAR)
HEX8 = Element(
    "hexahedron",
    _CORNERS,
    8,
    (),
    _FACES8,
    _shape8,
    _gradient8,
    gauss_box(2),
    gauss_box(3),
    incompatible=True,
    mirrored=(0, 3, 2, 1, 4, 7, 6, 5),
    corner_volume=1.0,
    cube=_CUBE,
    vtk=12,
    gmsh=5,
    abaqus=("C3D8",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CHEXA",),
)

_NODES20 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
_shape20, _gradient20 = polynomial_basis(_NODES20, _SERENDIPITY)
HEX20 = Element(
    "hexahedron20",
    _NODES20,
    8,
    _EDGES,
    _FACES20,
    _shape20,
    _gradient20,
    gauss_box(3),
    gauss_box(4),
    mirrored=(0, 3, 2, 1, 4, 7, 6, 5, 11, 10, 9, 8, 15, 14, 13, 12, 16, 19, 18, 17),
    corner_volume=1.0,
    cube=_CUBE,
    larger=("hexahedron27", "hexahedron24"),
    vtk=25,
    gmsh=17,
    gmsh_order=(0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15),
    abaqus=("C3D20",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CHEXA",),
    nastran_order=(*range(12), 16, 17, 18, 19, 12, 13, 14, 15),
)

HEX8_COMPATIBLE = replace(HEX8, kind="hexahedron-compatible", cell="hexahedron", incompatible=False, abaqus=())
HEX8_REDUCED = replace(HEX8_COMPATIBLE, kind="hexahedron-reduced", hourglass=5e-4)
HEX20_REDUCED = replace(
    HEX20,
    kind="hexahedron20-reduced",
    cell="hexahedron20",
    stiffness_rule=gauss_box(2),
    mass_rule=gauss_box(2),
    larger=(),
    abaqus=(),
)
