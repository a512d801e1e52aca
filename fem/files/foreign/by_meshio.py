"""Reading by meshio, whose tables lack kinds of cells that flexmb has: dimensions, names in MED files, sizes in XDMF
files of several kinds."""

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fem.errors import MeshError
from fem.files.foreign.med import names_of_families

if TYPE_CHECKING:
    from types import ModuleType

    import meshio  # slow: imported where it is needed

_DIMENSIONS = {"pyramid13": 3, "wedge15": 3, "hexahedron24": 3, "triangle7": 2}
"""Kinds of which meshio has no dimension, so that every block of them ends in a KeyError."""
_MED = {"line4": "SE4", "triangle7": "TR7", "quad9": "QU9", "hexahedron27": "H27", "wedge18": "P18"}
_MED_REFUSED = {
    "O12": "prisms of six sides",
    "POG": "polygons",
    "PG2": "polygons with nodes on their sides",
    "POE": "polyhedra",
}
_COUNTED = (1, 2)
"""XDMF's numbers of points and polylines, which are followed by a number of nodes."""


def completed_meshio() -> "ModuleType":
    """meshio with the kinds of cells that its tables lack."""
    import meshio
    from meshio._mesh import topological_dimension
    from meshio.med import _med
    from meshio.xdmf import main

    for kind, dimension in _DIMENSIONS.items():
        topological_dimension.setdefault(kind, dimension)
    for kind, name in _MED.items():
        _med.meshio_to_med_type.setdefault(kind, name)
        _med.med_to_meshio_type.setdefault(name, kind)
    _med._read_families = names_of_families
    main.translate_mixed_cells = _mixed_cells
    return meshio


def _mixed_cells(data: np.ndarray) -> "list[meshio.CellBlock]":
    """The blocks of an XDMF topology of several kinds: for each cell the number of its kind, and its nodes. meshio
    knows the sizes of linear cells only."""
    import meshio
    from meshio._common import num_nodes_per_cell
    from meshio.xdmf.common import xdmf_idx_to_meshio_type

    found: list[tuple[str, list[np.ndarray]]] = []
    at = 0
    while at < len(data):
        number = int(data[at])
        kind = xdmf_idx_to_meshio_type.get(number, "")
        width = num_nodes_per_cell.get(kind)
        if width is None:
            raise MeshError(f"it holds cells of the XDMF type {number}, which flexmb does not read. {_REMEDY}")
        at += 1
        if number in _COUNTED:
            if data[at] != width:
                raise MeshError(f"it holds a {kind} of {data[at]} nodes; {width} are read. {_REMEDY}")
            at += 1
        if not found or found[-1][0] != kind:
            found.append((kind, []))
        found[-1][1].append(data[at : at + width])
        at += width
    if at != len(data):
        raise MeshError("its topology ends within a cell; it is cut off or damaged. Write it again.")
    return [meshio.CellBlock(kind, np.array(rows)) for kind, rows in found]


_REMEDY = (
    "Mesh the part with lines, triangles, quadrilaterals, tetrahedra, hexahedra, wedges or pyramids, or leave out "
    "these cells where the file is written."
)


def read_by_meshio(path: Path) -> "meshio.Mesh":
    """What meshio reads.

    Raises `MeshError` with the name of the file, what it holds and what to do, where it reads nothing.
    """
    meshio = completed_meshio()
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return meshio.read(path)
    except MeshError as error:
        raise MeshError(f"The mesh file {str(path)!r} cannot be read: {error}") from None
    except ImportError as error:
        raise MeshError(
            f"The mesh file {str(path)!r} cannot be read: files of the format {path.suffix} need the package "
            f"{error.name or error}, which is not installed: pip install {error.name or 'it'}."
        ) from None
    except (Exception, SystemExit) as error:  # meshio calls sys.exit on some files
        if path.suffix.lower() == ".med" and isinstance(error, KeyError) and str(error.args[0]) in _MED_REFUSED:
            name = str(error.args[0])
            raise MeshError(
                f"The mesh file {str(path)!r} cannot be read: it holds cells of the MED type {name} "
                f"({_MED_REFUSED[name]}), which flexmb does not have. {_REMEDY}"
            ) from None
        detail = said.getvalue().strip() if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
        raise MeshError(
            f"The mesh file {str(path)!r} cannot be read as {path.suffix or 'a file without ending'}: "
            f"{detail.rstrip('.') or 'no reason given'}. It may be damaged, of another format than its name says, or "
            "of a format that is not supported. Gmsh (.msh) and Abaqus (.inp) files carry named sets best; Gmsh "
            "converts many formats: gmsh FILE -save -format msh41 -o part.msh."
        ) from None
