"""Abaqus' element types: those of the elements of flexmb, and of surfaces and lines."""

import re

from fem.elements import ELEMENTS, element

_SURFACES = {"3": "triangle", "6": "triangle6", "4": "quad", "8": "quad8"}
_LINES = {"T3D2": ("line", 2), "T3D3": ("line3", 3)}


AS_NAMED = {
    "C3D8": "hexahedron-compatible",
    "C3D8I": "hexahedron",
    "C3D8R": "hexahedron-reduced",
    "C3D20R": "hexahedron20-reduced",
}
"""Types whose own integration and modes CalculiX documents, and the elements that have them."""


def kind_of(name: str, as_named: bool = False) -> tuple[str, int, bool] | None:
    """Kind, number of nodes and whether it is a solid, of an element type; None for an unknown type.

    Variants (C3D8R, C3D10M, C3D20RH, DC3D8, AC3D4) have the nodes of their base type, and are read as it unless an
    element has their own name. `as_named`: with the integration and modes that the type has in CalculiX, where there is
    an element of that kind.
    Surface and line elements are known because sets of them mark places (Gmsh writes the surface of a part as CPS6).
    """
    if found := re.fullmatch(r"(?:D|A|Q)?(C3D\d+)[A-Z]*", name):
        if as_named and name in AS_NAMED:
            return AS_NAMED[name], element(AS_NAMED[name]).nodes, True
        own = next((e for word in (name, found[1]) for e in ELEMENTS.values() if word in e.abaqus), None)
        return (own.kind, own.nodes, True) if own else None
    if found := re.fullmatch(r"(?:CPS|CPE|CAX|S|STRI|DS|M3D|SFM3D|R3D)(3|4|6|8)[A-Z0-9]*", name):
        return _SURFACES[found[1]], int(found[1]), False
    return (*_LINES[name], False) if name in _LINES else None
