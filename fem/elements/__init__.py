"""Elements, one file a family; `ELEMENTS` maps meshio's names to the solid ones, `CELLS` also to the line of beams."""

from fem.elements.element import Element
from fem.elements.hexahedron import HEX8, HEX20
from fem.elements.line import LINE2
from fem.elements.pyramid import PYRAMID5, PYRAMID13
from fem.elements.tetrahedron import TET4, TET10
from fem.elements.wedge import WEDGE6, WEDGE15
from fem.errors import MeshError, unknown_name

ELEMENTS: dict[str, Element] = {e.kind: e for e in (TET4, TET10, HEX8, HEX20, WEDGE6, WEDGE15, PYRAMID5, PYRAMID13)}

LINE = LINE2.kind
CELLS: dict[str, Element] = {**ELEMENTS, LINE: LINE2}


def element(kind: str) -> Element:
    """The element called `kind` (meshio's name). Raises `MeshError` for an unknown name and lists the known ones."""
    if kind not in CELLS:
        raise MeshError(unknown_name("element", kind, CELLS))
    return CELLS[kind]


__all__ = ["CELLS", "ELEMENTS", "LINE", "Element", "element"]
