"""Elements, one file a family; `ELEMENTS` maps their kinds, meshio's names, to the solid ones, `CELLS` also to the
line of beams and the surfaces of shells. `register_element` adds others."""

from fem.elements.element import Element
from fem.elements.hexahedron import HEX8, HEX8_COMPATIBLE, HEX8_REDUCED, HEX20, HEX20_REDUCED
from fem.elements.line import LINE2, TRUSS2
from fem.elements.pyramid import PYRAMID5, PYRAMID13
from fem.elements.surface import QUAD4, QUAD8, QUAD9, TRIANGLE3, TRIANGLE6
from fem.elements.tetrahedron import TET4, TET10
from fem.elements.wedge import WEDGE6, WEDGE6_REDUCED, WEDGE15, WEDGE15_REDUCED
from fem.errors import MeshError, unknown_name

_AS_ELSEWHERE = (HEX8_COMPATIBLE, HEX8_REDUCED, HEX20_REDUCED, WEDGE6_REDUCED, WEDGE15_REDUCED)
_SOLIDS = (TET4, TET10, HEX8, HEX20, WEDGE6, WEDGE15, PYRAMID5, PYRAMID13, *_AS_ELSEWHERE)
ELEMENTS: dict[str, Element] = {e.kind: e for e in _SOLIDS}

LINE, TRUSS = LINE2.kind, TRUSS2.kind
LINES = (LINE, TRUSS)
SHELLS: dict[str, Element] = {e.kind: e for e in (TRIANGLE3, TRIANGLE6, QUAD4, QUAD8, QUAD9)}
CELLS: dict[str, Element] = {**ELEMENTS, **SHELLS, LINE: LINE2, TRUSS: TRUSS2}


def register_element(new: Element) -> Element:
    """From now on cells of this kind are elements of a part: in matrices, checks, structured meshes, pictures, and
    the files whose names it gives; returns it.

    Raises `MeshError` for a kind or a name that another element has, and for one on a cell that nothing is known of.
    """
    if new.kind in CELLS and CELLS[new.kind] is not new:
        raise MeshError(f"There is an element {new.kind!r} already.")
    if not new.own_cell and (new.cell not in ELEMENTS or ELEMENTS[new.cell].nodes != new.nodes):
        raise MeshError(f"Element {new.kind!r}: there is no cell {new.cell!r} with {new.nodes} nodes.")
    for other in ELEMENTS.values():
        taken = {*new.abaqus} & {*other.abaqus}
        if new.own_cell and other.own_cell:
            taken |= {
                f"{f} {n}"
                for f, n in (("vtk", new.vtk), ("gmsh", new.gmsh))
                if n is not None and n == getattr(other, f)
            }
            taken |= {*new.nastran} & {*other.nastran} if new.nodes == other.nodes else set()
        if taken and other is not new:
            raise MeshError(f"Element {new.kind!r}: {', '.join(sorted(taken))} belongs to {other.kind!r} already.")
    ELEMENTS[new.kind] = CELLS[new.kind] = new
    return new


def file_cell(kind: str) -> str:
    """How files call cells of a kind (meshio's name)."""
    return CELLS[kind].cell if kind in CELLS else kind


def element(kind: str) -> Element:
    """The element called `kind` (meshio's name). Raises `MeshError` for an unknown name and lists the known ones."""
    if kind not in CELLS:
        raise MeshError(unknown_name("element", kind, CELLS))
    return CELLS[kind]


__all__ = [
    "CELLS",
    "ELEMENTS",
    "LINE",
    "LINES",
    "SHELLS",
    "TRUSS",
    "Element",
    "element",
    "file_cell",
    "register_element",
]
