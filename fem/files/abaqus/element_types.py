"""Abaqus' element types and the faces of its solids."""

import re

SOLIDS = {
    "4": "tetra",
    "10": "tetra10",
    "8": "hexahedron",
    "20": "hexahedron20",
    "6": "wedge",
    "15": "wedge15",
    "5": "pyramid",
    "13": "pyramid13",
}
"""Number of nodes in the name of a solid -> kind; variants (C3D8R, C3D10M, C3D20RH, DC3D8, AC3D4) have the nodes of
their base type."""
_SURFACES = {"3": "triangle", "6": "triangle6", "4": "quad", "8": "quad8"}
_LINES = {"T3D2": ("line", 2), "T3D3": ("line3", 3), "B31": ("line", 2), "B32": ("line3", 3)}

FACES = {
    # corners of the faces S1, S2, ... by number of corners (Abaqus User's Guide, "Three-dimensional solid element
    # library")
    4: ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    8: ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
    6: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    5: ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0)),
}


def kind_of(name: str) -> tuple[str, int, bool] | None:
    """Kind, number of nodes and whether it is a solid, of an element type; None for an unknown type.

    Surface and line elements are included because sets of them mark places (Gmsh writes the surface of a part as CPS6).
    """
    if found := re.fullmatch(r"(?:D|A|Q)?C3D(\d+)[A-Z]*", name):
        kind = SOLIDS.get(found[1])
        return (kind, int(found[1]), True) if kind else None
    if found := re.fullmatch(r"(?:CPS|CPE|CAX|S|STRI|DS|M3D|SFM3D|R3D)(3|4|6|8)[A-Z0-9]*", name):
        return _SURFACES[found[1]], int(found[1]), False
    return (*_LINES[name], False) if name in _LINES else None
