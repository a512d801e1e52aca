"""Abaqus' element types: those of the elements of flexmb, and of surfaces and lines."""

import re
from difflib import get_close_matches

from fem.elements import ELEMENTS, element

_SURFACES = {"3": "triangle", "6": "triangle6", "4": "quad", "8": "quad8"}
_SHELLS = """
S3 S3R S3RS S3T S3RT S4 S4R S4T S4RT S4RS S4RSW S4R5 S6 S8 S8R S8R5 S8T S8RT STRI3 STRI65
"""
SHELL_NAMES = frozenset(_SHELLS.split())
"""Shells of Abaqus and CalculiX with the nodes of a surface."""
_LINES = {"T3D2": ("line", 2), "T3D3": ("line3", 3)}
_READ = (
    *sorted(SHELL_NAMES),
    *_LINES,
    "B31",
    "B31R",
    "B32",
    "B32R",
    "B33",
    *(t for e in ELEMENTS.values() for t in e.abaqus),
)
"""Types that are read, of which one is offered in the place of an unknown one."""


AS_NAMED = {
    "C3D8": "hexahedron-compatible",
    "C3D8I": "hexahedron",
    "C3D8R": "hexahedron-reduced",
    "C3D20R": "hexahedron20-reduced",
    "C3D6": "wedge-reduced",
    "C3D15": "wedge15-reduced",
}
"""Types of Abaqus, and the elements with the integration and modes that these have in CalculiX."""


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
    found = re.fullmatch(r"(?:CPS|CPE|CAX|S|STRI|DS|M3D|SFM3D|R3D)(3|4|6|8)[A-Z0-9]*", name)
    if found and (name in SHELL_NAMES or not re.match(r"S\d|STRI", name)):
        return _SURFACES[found[1]], int(found[1]), False
    return (*_LINES[name], False) if name in _LINES else None


def not_known(name: str) -> str:
    """What to say of an element type that is not known."""
    close = get_close_matches(name, _READ, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"flexmb does not know this element type{hint}"
