"""Wedges (triangular prisms): wedge6 (`wedge`) and wedge15 (`wedge15`).

          5                edges: 6 = 01, 7 = 12, 8 = 20, 9 = 34, 10 = 45, 11 = 53, 12 = 03, 13 = 14, 14 = 25
        / | \\             reference corners: 0 (0,0,-1), 1 (1,0,-1), 2 (0,1,-1), 3 (0,0,1), 4 (1,0,1), 5 (0,1,1)
      3---|--4
      |   2  |
      | /  \\ |
      0------1

wedge6 (3 x 2 points) is linear in the triangle and along the axis: it locks, in bending much as tet4 does, so keep it
to transition layers. wedge15 (7 x 3 points) is the serendipity element, without shear locking.

Two elements repeat the results of other programs (`read_mesh(..., elements="file")`): wedge6 with 1 x 2 and wedge15
with 3 x 3 points for stiffness and mass, C3D6 and C3D15 of CalculiX. The mass of the first is on the axis of the cell.
"""

from dataclasses import replace

import numpy as np

from fem.elements.element import Element, edges_of, polynomial_basis
from fem.elements.quadrature import wedge

_CORNERS = np.array([[0, 0, -1], [1, 0, -1], [0, 1, -1], [0, 0, 1], [1, 0, 1], [0, 1, 1]], dtype=float)
_EDGES = edges_of("01 12 20 34 45 53 03 14 25", 6)
_LINEAR = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
_QUADRATIC = np.vstack(
    [_LINEAR, [[2, 0, 0], [1, 1, 0], [0, 2, 0], [2, 0, 1], [1, 1, 1], [0, 2, 1], [0, 0, 2], [1, 0, 2], [0, 1, 2]]]
)


_CUBE = ((0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7))
_ABAQUS_FACES = ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0))

_shape6, _gradient6 = polynomial_basis(_CORNERS, _LINEAR)
WEDGE6 = Element(
    "wedge",
    _CORNERS,
    6,
    (),
    ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    _shape6,
    _gradient6,
    wedge(2, 2),
    wedge(5, 3),
    mirrored=(0, 2, 1, 3, 5, 4),
    corner_volume=0.75**0.5,
    cube=_CUBE,
    vtk=13,
    gmsh=6,
    abaqus=("C3D6",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CPENTA",),
)

_NODES15 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
_shape15, _gradient15 = polynomial_basis(_NODES15, _QUADRATIC)
WEDGE15 = Element(
    "wedge15",
    _NODES15,
    6,
    _EDGES,
    (
        (0, 2, 1, 8, 7, 6),
        (3, 4, 5, 9, 10, 11),
        (0, 1, 4, 3, 6, 13, 9, 12),
        (1, 2, 5, 4, 7, 14, 10, 13),
        (2, 0, 3, 5, 8, 12, 11, 14),
    ),
    _shape15,
    _gradient15,
    wedge(5, 3),
    wedge(5, 4),
    mirrored=(0, 2, 1, 3, 5, 4, 8, 7, 6, 11, 10, 9, 12, 14, 13),
    corner_volume=0.75**0.5,
    cube=_CUBE,
    larger=("wedge18",),
    vtk=26,
    gmsh=18,
    gmsh_order=(0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11),
    abaqus=("C3D15",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CPENTA",),
    nastran_order=(0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 9, 10, 11),
)

WEDGE6_REDUCED = replace(
    WEDGE6, kind="wedge-reduced", cell="wedge", stiffness_rule=wedge(1, 2), mass_rule=wedge(1, 2), abaqus=()
)
WEDGE15_REDUCED = replace(
    WEDGE15,
    kind="wedge15-reduced",
    cell="wedge15",
    stiffness_rule=wedge(2, 3),
    mass_rule=wedge(2, 3),
    larger=(),
    abaqus=(),
)
