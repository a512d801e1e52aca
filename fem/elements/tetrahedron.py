r"""Tetrahedra: tet4 (`tetra`) and tet10 (`tetra10`).

            3
           /|\
          7 | 9          edges: 4 = 01, 5 = 12, 6 = 20, 7 = 03, 8 = 13, 9 = 23
         /  8  \         reference corners: 0 (0,0,0), 1 (1,0,0), 2 (0,1,0), 3 (0,0,1)
        0---|6--2
         \  |  /
          4 | 5
           \|/
            1

tet4 has constant strain (1 point): it locks. It is far too stiff in bending (a slender beam of tet4 can be several
times too stiff) and in volume near Poisson's ratio 1/2. Use it only for bodies whose elasticity does not matter;
convert the mesh to tet10 otherwise. tet10 (4 points for the stiffness, 14 for the mass) has quadratic displacements,
bends well and is the default choice for meshes made automatically.
"""

import numpy as np

from fem.elements.element import Element, edges_of, polynomial_basis
from fem.elements.quadrature import tetrahedron

_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
_EDGES = edges_of("01 12 20 03 13 23", 4)
_LINEAR = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
_QUADRATIC = np.vstack([_LINEAR, [[2, 0, 0], [0, 2, 0], [0, 0, 2], [1, 1, 0], [0, 1, 1], [1, 0, 1]]])


_CUBE = ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6))
_ABAQUS_FACES = ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0))

_shape4, _gradient4 = polynomial_basis(_CORNERS, _LINEAR)
TET4 = Element(
    "tetra",
    _CORNERS,
    4,
    (),
    ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)),
    _shape4,
    _gradient4,
    stiffness_rule=tetrahedron(1),
    mass_rule=tetrahedron(2),
    mirrored=(0, 2, 1, 3),
    corner_volume=0.5**0.5,
    cube=_CUBE,
    vtk=10,
    gmsh=4,
    abaqus=("C3D4",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CTETRA",),
)

_NODES10 = np.vstack([_CORNERS, [(_CORNERS[a] + _CORNERS[b]) / 2 for a, b, _ in _EDGES]])
_shape10, _gradient10 = polynomial_basis(_NODES10, _QUADRATIC)
TET10 = Element(
    "tetra10",
    _NODES10,
    4,
    _EDGES,
    ((0, 2, 1, 6, 5, 4), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6)),
    _shape10,
    _gradient10,
    stiffness_rule=tetrahedron(2),
    mass_rule=tetrahedron(5),
    mirrored=(0, 2, 1, 3, 6, 5, 4, 7, 9, 8),
    corner_volume=0.5**0.5,
    cube=_CUBE,
    vtk=24,
    gmsh=11,
    gmsh_order=(0, 1, 2, 3, 4, 5, 6, 7, 9, 8),
    abaqus=("C3D10",),
    abaqus_faces=_ABAQUS_FACES,
    nastran=("CTETRA",),
)
