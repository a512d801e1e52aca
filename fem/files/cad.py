"""Tetrahedra of a CAD part in a STEP file, by Gmsh in a process of its own; surfaces keep the labels of the file."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fem.errors import MeshError
from fem.files.gmsh_reader import read_gmsh
from fem.mesh.mesh import Mesh
from fem.mesh.raw_mesh import RawMesh, mesh_and_steps
from fem.meshing import cad_process
from fem.user_files import alone, require_file, temporary_folder, text_of

SECONDS, BYTES_PER_SECOND = 20.0, 1e5
"""Processor time that Gmsh may take to read a file, and the slowest speed of a long one."""
LEAST_MEMORY = 2**32
"""Memory that the process may take, in bytes, where less is available."""
_COMPLAINT = re.compile(r"\*+ ERR (.+?) : Fails Count : (\d+)")


def mesh_cad(path: str | Path, size: float | None = None, order: int = 2, units: str = "mm") -> Mesh:
    """The mesh of tetrahedra of a part in a STEP file, by Gmsh.

        part = fem.mesh_cad("bracket.step", size=3.0)  # tet10; face sets by the labels of the faces

    - `size`: largest cell, by default a fifteenth of the diagonal; curved faces have finer ones.
    - `order`: 1 or 2, linear or quadratic cells. `units` of the coordinates: "mm" or "m", whatever the file has.

    Faces are face sets by their labels, "face 7" where they have none; solids are cell sets by theirs. `fem.read_mesh`
    and all verbs read STEP files with the defaults.

    Raises `MeshError` where Gmsh is missing, for a file that it cannot read or mesh, and for numbers out of range.
    """
    return mesh_and_steps(_raw(Path(path), size, order, units), Path(path).stem)[0]


def read_step(path: Path) -> RawMesh:
    """The mesh of a STEP file as `mesh_cad` makes it by default. Raises `MeshError` as it does."""
    return _raw(path, None, 2, "mm")


def _raw(path: Path, size: float | None, order: int, units: str) -> RawMesh:
    if size is not None and not (np.isfinite(size) and size > 0):
        raise MeshError(f"The size of the cells of {path.name} must be positive and finite; found {size}.")
    if order not in (1, 2) or units not in cad_process.UNITS:
        raise MeshError(f'A CAD part has cells of order 1 or 2, in "mm" or "m"; found order {order}, units {units!r}.')
    require_file(path, MeshError, "CAD file")
    if "ISO-10303-21" not in text_of(path, MeshError, "STEP file", errors="replace")[:200]:
        raise MeshError(f"{path.name} is no STEP file: it does not begin with ISO-10303-21.")
    with temporary_folder(f"The CAD part {path.name}", MeshError) as folder:
        made = folder / "part.msh"
        told, lost = _meshed(path, made, [size or 0.0, order, units])
        raw = read_gmsh(made)
    return replace(
        raw,
        warnings=(*raw.warnings, f"coordinates are in {units}, meshed by Gmsh", *told),
        unsupported=(*raw.unsupported, *lost),
    )


def _meshed(path: Path, made: Path, options: list[Any]) -> tuple[list[str], list[str]]:
    """Mesh a file into `made`; what the process that does it tells, and what Open CASCADE could not read.
    Raises `MeshError` when it ends without."""
    seconds, read = SECONDS + path.stat().st_size / BYTES_PER_SECOND, made.with_name("read")
    done = alone.ended(
        cad_process.__file__, path, made, read, *options, seconds=seconds, memory=LEAST_MEMORY,
        reads=lambda: not read.exists(),
    )  # fmt: skip
    advice = "The file may be damaged; export the part again, or mesh it with another program."
    if isinstance(done, str):
        raise MeshError(f"Gmsh has not read {path.name} after {done}. {advice}")
    said = done.stderr.decode(errors="replace")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise MeshError(f"Gmsh cannot mesh {path.name}: {alone.ending(done)}. {advice}") from None
    if "missing" in found:
        raise MeshError(
            f'The CAD part {path.name} needs Gmsh, which {found["missing"]}: pip install "flexmb[meshing]". '
            "Or mesh it with another program, and read the mesh."
        )
    lost = [f"what Open CASCADE could not read ({what}, {count} times)" for what, count in _COMPLAINT.findall(said)]
    if "problem" in found:
        raise MeshError(found["problem"] + (f" Lost: {'; '.join(lost)}." if lost else ""))
    return found["told"], lost
