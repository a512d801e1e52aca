"""Reading and writing meshes: by what is registered for the ending of a file's name (Gmsh, Abaqus, CalculiX, Nastran,
VTK, and formats of users), all other formats by meshio."""

import contextlib
import io
import re
import shutil
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fem.elements import ELEMENTS, file_cell
from fem.errors import FlexmbError, MeshError, MeshWarning
from fem.files.abaqus.sets import read_abaqus_mesh
from fem.files.ansys_mesh import read_ansys_mesh
from fem.files.cad import read_step
from fem.files.foreign.by_meshio import completed_meshio, read_by_meshio
from fem.files.foreign.med import numbers_of_nodes, of_one_step
from fem.files.foreign.set_fields import MARK, by_block, read_set_fields, set_fields
from fem.files.gmsh_reader import read_gmsh
from fem.files.gmsh_writer import write_gmsh
from fem.files.nastran.mesh import read_nastran_mesh
from fem.files.vtk_files import VtkFields, read_vtk, write_vtk
from fem.mesh.cell_quality import scaled_jacobian
from fem.mesh.mesh import Mesh
from fem.mesh.raw_mesh import RawMesh, element_of, mesh_and_steps
from fem.mesh.steps import Step
from fem.user_files import require_file, temporary_folder, written_whole

if TYPE_CHECKING:
    import meshio  # slow: imported where it is needed

_REFERENCES = {"gmsh:physical": "group", "medit:ref": "ref"}
"""Cell data of meshio that hold a number of a group, and how a group without a name is called."""
_ONE_FILE = (".msh", ".inp", ".vtu", ".vtk", ".med", ".mesh", ".bdf", ".nas", ".fem", ".stl")
"""Formats in one file, which is there whole or not at all."""
_POINTER = b"version https://git-lfs"
_FIELDS_IN = (".vtu", ".vtk", ".xdmf")
SAME_PLACE = 1e-6
"""Distance of a node of a written file from its place, relative to the largest coordinate: files may have seven
digits."""

Reader = Callable[[Path], RawMesh]
Writer = Callable[[Mesh, Path], None]
_READERS: dict[str, Reader] = {}
_WRITERS: dict[str, tuple[Writer, bool]] = {}


def register_reader(endings: Iterable[str], read: Reader) -> None:
    """From now on `read_mesh` reads files with these endings, such as ".xyz", by `read(path)`, which gives what the
    file holds.

    Raises `MeshError` for an ending that is none, or that is read already.
    """
    for ending in _sound(endings, _READERS):
        _READERS[ending] = read


def register_writer(endings: Iterable[str], write: Writer, *, keeps_sets: bool = False) -> None:
    """From now on `write_mesh` writes files with these endings by `write(mesh, path)`, and warns that sets are lost
    unless the format `keeps_sets`.

    Raises `MeshError` for an ending that is none, or that is written already.
    """
    for ending in _sound(endings, _WRITERS):
        _WRITERS[ending] = write, keeps_sets


def is_mesh_file(path: Path) -> bool:
    """Whether `read_mesh` has a reader for files with this ending."""
    return path.suffix.lower() in _READERS


def _sound(endings: Iterable[str], known: Collection[str]) -> list[str]:
    """The endings in small letters."""
    found = [endings.lower()] if isinstance(endings, str) else [ending.lower() for ending in endings]
    for ending in found:
        if not (ending.startswith(".") and len(ending) > 1 and "." not in ending[1:]):
            raise MeshError(f'An ending is a point and letters, such as ".xyz"; found {ending!r}.')
        if ending in known:
            raise MeshError(f"There is a format with the ending {ending!r} already. Take another ending.")
    return found


def read_mesh(
    path: str | Path,
    beams: Collection[str] | None = None,
    ignore: Collection[str] = (),
    supports: str | None = None,
    shells: Collection[str] | None = None,
    elements: str | None = None,
    expand: bool = False,
) -> Mesh:
    """Read the mesh in a file, with its named sets. Coordinates keep the units of the file.

    CAD parts in STEP files (.step, .stp) are meshed by Gmsh where it is installed; `fem.mesh_cad` has options.

    Formats: Gmsh .msh, Abaqus/CalculiX .inp, Nastran .bdf/.nas/.fem, Ansys .cdb (blocked archives), VTK .vtu and .vtk,
    those of `register_reader`, and by meshio .med, .mesh, .xdmf, .cgns, .e and more. Groups of solid cells become cell
    sets, surface groups face sets (node sets when they are not on the skin), line and point groups node sets. Two-node
    lines are beams when they are in one of the groups `beams`, in decks where they have a section, or when the file has
    neither solid nor surface cells; their groups become cell sets. Triangles and quadrilaterals are shells when they
    are in one of the groups `shells` (`shells="all"`: all of them), and in decks where they have a section. Nodes that
    no cell of the part uses are omitted; `node_ids` keeps the numbers of the file. `mesh.warnings` lists all changes. A
    `MeshWarning` names the contents of the file that were lost.

    Decks of solvers also contain constraints, supports, loads, lumped masses, springs and materials. Constraints,
    masses and springs are obeyed (`mesh.constraints`, `mesh.masses`, `mesh.springs`); supports only with
    `supports="keep"`, for the matrices of the part as the deck holds it (a body of a mechanism is free). Keywords that
    change the part and are not obeyed are listed in `mesh.unread`, with their lines. Reductions and `flexible_body`
    refuse such a part until `ignore` names the keywords, such as `ignore=["STEP", "BOUNDARY"]` (STEP: everything in
    analysis steps). The materials of the deck are compared with those of the `Model`; `ignore=["MATERIAL"]` omits the
    comparison.

    `expand=True` takes shells and beams of a deck with a section as the solids by which CalculiX solves them: a layer
    of one cell through the thickness or the section. Node sets hold the nodes of the solids.

    Hexahedra of decks are full: C3D8 has incompatible modes, C3D20R all points of integration; `mesh.warnings` says so.
    `elements="file"` takes them as CalculiX does, to compare results: C3D8 without these modes, C3D8R with one point,
    C3D20R with eight, and the wedges C3D6 with two and C3D15 with nine.

    Raises `MeshError` for a missing or damaged file, an unknown format, or a file without solid cells.
    """
    return mesh_and_steps(read_raw(path, elements, expand), Path(path).stem, beams, ignore, supports, shells)[0]


def read_steps(path: str | Path, ignore: Collection[str] = (), expand: bool = False) -> tuple[Mesh, tuple[Step, ...]]:
    """Read a deck of Abaqus or CalculiX with its analysis steps, to compare the part with the results of the solver.

        mesh, steps = fem.read_steps("part.inp")
        u = fem.solve_step(fem.Model(mesh), steps[0]).displacements

    Returns the mesh, as `read_mesh(path, elements="file")` without supports, and a `fem.Step` for each analysis step.
    `expand=True` takes shells and beams as the solids of CalculiX; the nodes of the deck move with the mean of those.
    Only decks of Abaqus and CalculiX have steps that are read.

    Raises `MeshError` as `read_mesh`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)  # what is in steps is not obeyed by the mesh, but by the steps
        return mesh_and_steps(read_raw(path, "file", expand), Path(path).stem, ignore=ignore)


def read_raw(path: str | Path, elements: str | None = None, expand: bool = False) -> RawMesh:
    """The contents of a mesh file: cells of every dimension, groups. `elements`, `expand`: see `read_mesh`.

    Raises `MeshError` for a missing or damaged file, or an unknown format.
    """
    path = Path(path)
    if elements is not None and (elements != "file" or path.suffix.lower() != ".inp"):
        raise MeshError(
            f'elements is "file", for decks of Abaqus and CalculiX (.inp), or nothing; found {elements!r} for '
            f"{path.name!r}."
        )
    if expand and path.suffix.lower() != ".inp":
        raise MeshError(f"expand=True is for decks of Abaqus and CalculiX (.inp); found {path.name!r}.")
    require_file(path, MeshError, "mesh file")
    with path.open("rb") as file:
        if file.read(len(_POINTER)) == _POINTER:
            raise MeshError(
                f"The mesh file {str(path)!r} is a pointer, which Git LFS keeps in the place of a large file. Fetch "
                "the file itself: git lfs pull."
            )
    try:
        if elements == "file" or expand:
            return read_abaqus_mesh(path, as_named=elements == "file", expand=expand)
        raw = _READERS.get(path.suffix.lower(), _read_by_meshio)(path)
    except FlexmbError as error:
        if path.name in str(error):
            raise
        raise MeshError(f"The mesh file {str(path)!r}: {error}") from None
    except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError, OSError) as error:
        raise MeshError(f"The mesh file {str(path)!r} cannot be read: {type(error).__name__}: {error}.") from error
    if not isinstance(raw, RawMesh):
        raise MeshError(f"The reader of {path.suffix.lower()!r} files gives a RawMesh; found {type(raw).__name__}.")
    return raw


def _refuse_op2(path: Path) -> RawMesh:
    raise MeshError(
        "OP2 files hold results of Nastran and are not read as meshes; give the deck (.bdf), which has the mesh. "
        "fem.read_nastran reads matrices of OP2 files."
    )


def _read_dat(path: Path) -> RawMesh:
    """A deck of Nastran, which has BEGIN BULK or cards GRID, or a file of Tecplot."""
    text = path.read_text(encoding="utf-8", errors="replace")
    is_nastran = re.search(r"^\s*BEGIN\s+BULK|^GRID[ *,\t]", text, flags=re.IGNORECASE | re.MULTILINE)
    return read_nastran_mesh(path) if is_nastran else _read_by_meshio(path)


def _read_by_meshio(path: Path) -> RawMesh:
    return raw_from_meshio(read_by_meshio(path), first=0 if path.suffix.lower() in _FIELDS_IN else 1)


def _turned(raw: RawMesh, kinds: Collection[str] = tuple(ELEMENTS)) -> RawMesh:
    """The blocks of solids, of some `kinds`, whose cells are all inverted, with the nodes of their mirror image."""
    blocks = []
    for kind, rows in raw.blocks:
        if len(rows) and (to := element_of(kind)) in kinds:
            own = ELEMENTS[to]
            if (scaled_jacobian(own, raw.points[rows[:, : own.nodes]])[0] <= 0).all():
                rows = rows[:, np.array([*own.mirrored, *range(own.nodes, rows.shape[1])])]
        blocks.append((kind, rows))
    return replace(raw, blocks=tuple(blocks))


def _read_med(path: Path) -> RawMesh:
    """Files without any group may lack the table of groups, without which meshio reads none. MED numbers the nodes of
    a solid the other way round, which meshio passes on (and writes otherwise)."""
    try:
        return _numbered(path, _turned(_read_by_meshio(path)))
    except MeshError as error:
        with temporary_folder(f"{path.name}: a file of MED without groups", MeshError) as folder:
            copy = _with_families(path, folder / path.name)
            if copy is not None:
                raw = None
                with contextlib.suppress(MeshError):  # which would name the copy
                    raw = _turned(_read_by_meshio(copy))
                if raw is not None:
                    return _numbered(copy, raw)
        raise error from None


def _numbered(path: Path, raw: RawMesh) -> RawMesh:
    """A mesh of MED with the numbers that its file gives to the nodes."""
    numbers = numbers_of_nodes(path, len(raw.points))
    return raw if numbers is None else replace(raw, node_ids=numbers)


def _with_families(path: Path, to: Path) -> Path | None:
    """A copy of a MED file with an empty table of groups, and no group for the kinds of cells that name none; None
    where that is not what it lacks."""
    try:
        import h5py

        shutil.copy(path, to)
        with h5py.File(to, "r+") as file:
            name = next(iter(file["ENS_MAA"]))
            bare = [cells for cells in of_one_step(file["ENS_MAA"][name])["MAI"].values() if "FAM" not in cells]
            if name in file.get("FAS", ()) and not bare:
                return None
            file.require_group(f"FAS/{name}")
            for cells in bare:
                cells["FAM"] = np.zeros(int(cells["NOD"].attrs["NBR"]), dtype=np.int64)
        return to
    except (ImportError, OSError, RuntimeError, LookupError, StopIteration, ValueError, TypeError, AttributeError):
        return None  # h5py raises all of them for damaged files


def _read_tetgen(path: Path) -> RawMesh:
    """TetGen's pair of files: meshio waits for ever on empty ones."""
    for part in (path.with_suffix(".node"), path.with_suffix(".ele")):
        if not part.is_file():
            raise MeshError(f"{path} needs {part.name} beside it: TetGen writes nodes and tetrahedra to two files.")
        lines = (line.split("#")[0].split() for line in part.read_text(errors="replace").splitlines())
        if next((words for words in lines if words), None) is None:
            raise MeshError(
                f"{part} holds nothing; expected the number of {'nodes' if part == path else 'cells'} first."
            )
    return _read_by_meshio(path)


def raw_from_meshio(data: "meshio.Mesh", first: int = 1) -> RawMesh:
    """Cells, groups and sets of a meshio mesh; `first` is the number of the first node in messages."""
    if np.ndim(data.points) != 2 or not len(data.points):
        raise MeshError("holds no points; it may be damaged or cut off, write it again.")
    points = np.zeros((len(data.points), 3))
    points[:, : np.shape(data.points)[1]] = data.points
    ids = np.asarray(getattr(data, "points_id", np.arange(first, first + len(points))), dtype=np.int64)
    blocks = tuple((b.type, _node_rows(b)) for b in data.cells)
    groups = {name: [_rows(r) for r in rows] for name, rows in data.cell_sets.items()}
    nodes = {name: np.asarray(rows, dtype=np.int64) for name, rows in data.point_sets.items()}
    _families(groups, nodes, data)
    faces = _fields(groups, nodes, data.point_data, data.cell_data)
    return RawMesh(points, ids, blocks, groups, nodes, faces)


def _raw_from_vtk(data: VtkFields) -> RawMesh:
    """VTK's manual numbers the triangles of a wedge the other way round than its other solids, and programs differ in
    whether they obey it."""
    groups: dict[str, list[np.ndarray]] = {}
    nodes: dict[str, np.ndarray] = {}
    faces = _fields(groups, nodes, data.point_data, data.cell_data)
    told = _numbers_that_are_no_sets(data.cell_data)
    raw = RawMesh(data.points, np.arange(len(data.points)), data.blocks, groups, nodes, faces, warnings=told)
    return _turned(raw, ("wedge",))


def _numbers_that_are_no_sets(cell_data: Mapping[str, list[np.ndarray]]) -> tuple[str, ...]:
    """A note on fields of cells that hold whole numbers, such as those of materials, which may have been meant as
    sets."""
    found = []
    for name, blocks in cell_data.items():
        values = np.concatenate([np.asarray(b) for b in blocks]) if blocks else np.zeros(0)
        whole = MARK not in name and name not in _REFERENCES and values.ndim == 1 and values.dtype.kind in "iu"
        if whole and 1 < len(np.unique(values)) < len(values):
            found.append(repr(name))
    if not found:
        return ()
    return (
        f"numbers of cells in the fields {', '.join(found)} make no sets; those of VTK files are fields "
        "'cell set NAME' of zeros and ones, as fem.write_mesh writes them",
    )


def _node_rows(block: "meshio.CellBlock") -> np.ndarray:
    if block.type.startswith("polyhedron"):  # lists of faces: counted and reported, not used
        return np.zeros((len(block.data), 0), dtype=np.int64)
    return np.asarray(block.data, dtype=np.int64)


def _rows(rows: np.ndarray | None) -> np.ndarray:
    return np.asarray(rows if rows is not None else [], dtype=np.int64)


def _numbers(values: list[np.ndarray] | None) -> list[int]:
    return [] if values is None else sorted({int(t) for v in values for t in np.unique(v)} - {0})


def _by_number(
    groups: dict[str, list[np.ndarray]], named: list[tuple[str, int]], values: list[np.ndarray] | None
) -> None:
    """Add the cells that carry each number to its group."""
    for name, number in named:
        rows = [np.flatnonzero(np.asarray(v) == number) for v in values or []]
        groups[name] = [np.union1d(a, b) for a, b in zip(groups.get(name, rows), rows, strict=True)]


def _families(groups: dict[str, list[np.ndarray]], nodes: dict[str, np.ndarray], data: "meshio.Mesh") -> None:
    """Groups of a MED file: meshio leaves them as a number for each cell and node, and the group names of
    each number."""
    families = getattr(data, "cell_tags", None) or {}
    unknown = set(_numbers(data.cell_data.get("cell_tags"))) - set(families)
    if families and unknown:
        raise MeshError(
            f"cells are of the families {sorted(unknown)[:5]}, which the file does not define (it has "
            f"{sorted(families)[:5]}); it may be damaged, write it again."
        )
    _by_number(
        groups,
        [(name, number) for number, names in families.items() for name in names],
        data.cell_data.get("cell_tags"),
    )
    for number, names in (getattr(data, "point_tags", None) or {}).items():
        for name in names:
            rows = np.flatnonzero(data.point_data["point_tags"] == number)
            nodes[name] = np.union1d(nodes.get(name, rows), rows)


def _fields(
    groups: dict[str, list[np.ndarray]],
    nodes: dict[str, np.ndarray],
    point_data: Mapping[str, np.ndarray],
    cell_data: Mapping[str, list[np.ndarray]],
) -> dict[str, np.ndarray]:
    """Add the groups given by numbers and the sets that `write_mesh` kept as fields; returns those of faces."""
    for field, label in _REFERENCES.items():
        values = cell_data.get(field)
        _by_number(groups, [(f"{label} {t}", t) for t in _numbers(values)], values)
    return read_set_fields(groups, nodes, point_data, cell_data)


def write_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Write a mesh in the format of the path's suffix and return the path.

    In .msh (as physical groups) and in .vtu, .vtk and .xdmf (as fields 0/1, visible in ParaView) all sets are stored,
    and `read_mesh` restores them; .inp stores node and cell sets. In other formats the sets are lost, with a
    `MeshWarning`, which also names constraints, point masses, springs and formulations of cells. Nodes are numbered
    anew. Files of formats that meshio writes are read again and compared.

    Raises `MeshError` when the format cannot store the mesh, the file does not return its cells, or it cannot be
    written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    write, keeps_sets = _WRITERS.get(ending, (_write_by_meshio, False))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if ending in _ONE_FILE:
                with written_whole(path, ending) as part:
                    write(mesh, part)
            else:
                write(mesh, path)
    except MeshError:
        raise
    except (Exception, SystemExit) as error:
        raise MeshError(
            f"Mesh {mesh.name!r} ({', '.join(mesh.kinds)}) cannot be written to {str(path)!r}: {type(error).__name__}: "
            f"{error}. .msh and .vtu files hold every kind of cell."
        ) from None
    names = [*mesh.node_sets, *mesh.face_sets, *mesh.cell_sets]
    lost = dict.fromkeys(what.source for what in (*mesh.constraints, *mesh.masses, *mesh.springs))
    if lost:
        warnings.warn(
            f"{path.name}: mesh files keep no constraints, point masses and springs; lost: {', '.join(lost)}. Keep the "
            "deck.",
            MeshWarning,
            stacklevel=2,
        )
    formulated = [kind for kind in mesh.kinds if file_cell(kind) != kind]
    if formulated:
        warnings.warn(
            f"{path.name}: mesh files keep shapes of cells only: {', '.join(formulated)} are "
            f"{', '.join(dict.fromkeys(map(file_cell, formulated)))} there. Keep the deck.",
            MeshWarning,
            stacklevel=2,
        )
    if names and not keeps_sets:
        warnings.warn(
            f"{path.name}: {ending} files keep no sets; lost: {', '.join(map(repr, names))}. Use .msh or .vtu.",
            MeshWarning,
            stacklevel=2,
        )
    return path


def _write_by_meshio(mesh: Mesh, path: Path) -> None:
    meshio = completed_meshio()
    meshio.write(path, _to_meshio(mesh, path.suffix.lower()))
    _require_written(mesh, path)


def _require_written(mesh: Mesh, path: Path) -> None:
    """Raise `MeshError` where a file does not return the cells: some formats leave out those that they do not know, or
    nodes in the middle of edges, without a word."""
    ending, size = path.suffix, np.abs(mesh.points).max()
    try:
        raw = read_raw(path)
    except MeshError:
        raise MeshError(
            f"Mesh {mesh.name!r} ({', '.join(mesh.kinds)}): {ending} files of it cannot be read again. .msh and .vtu "
            "files hold every kind of cell."
        ) from None
    for kind in dict.fromkeys(map(file_cell, mesh.kinds)):
        mine = [mesh.points[b.connectivity] for b in mesh.cells if file_cell(b.kind) == kind]
        kept = [raw.points[rows] for name, rows in raw.blocks if name == kind]
        x, y = (np.concatenate([*found, np.zeros((0, *mine[0].shape[1:]))]) for found in (mine, kept))
        if len(x) != len(y) or not np.allclose(x, y, rtol=0, atol=SAME_PLACE * size):
            raise MeshError(
                f"Mesh {mesh.name!r}: {ending} files do not return its {len(x)} {kind} cells as they are, but "
                f"{', '.join(f'{len(rows)} {name}' for name, rows in raw.blocks) or 'no cells'}, or other places of "
                "nodes. .msh and .vtu files hold every kind of cell."
            )


def _to_meshio(mesh: Mesh, ending: str) -> "meshio.Mesh":
    meshio = completed_meshio()
    data = meshio.Mesh(mesh.points, [(file_cell(b.kind), b.connectivity) for b in mesh.cells])
    if ending in _FIELDS_IN:
        data.point_data, data.cell_data = set_fields(mesh)
    elif ending == ".inp":
        data.point_sets = {**{key: mesh.nodes(key) for key in mesh.face_sets}, **mesh.node_sets}
        for key, cells in mesh.cell_sets.items():
            data.cell_sets[key] = [
                np.flatnonzero(v) for v in by_block(mesh, np.isin(np.arange(mesh.cell_count), cells))
            ]
    return data


def _write_vtk(mesh: Mesh, path: Path) -> None:
    blocks = tuple((b.kind, b.connectivity) for b in mesh.cells)
    write_vtk(path, VtkFields(mesh.points, blocks, *set_fields(mesh)))


register_reader([".inp"], read_abaqus_mesh)
register_reader([".msh"], read_gmsh)
register_reader([".bdf", ".nas", ".fem"], read_nastran_mesh)
register_reader([".dat"], _read_dat)
register_reader([".vtu", ".vtk", ".vtp", ".stl"], lambda path: _raw_from_vtk(read_vtk(path)))
register_reader([".cdb"], read_ansys_mesh)
register_reader([".op2"], _refuse_op2)
register_reader([".step", ".stp"], read_step)
register_reader([".med"], _read_med)
register_reader([".ele", ".node"], _read_tetgen)
register_writer([".msh"], write_gmsh, keeps_sets=True)
register_writer([".vtu", ".vtk"], _write_vtk, keeps_sets=True)
register_writer([".xdmf", ".inp"], _write_by_meshio, keeps_sets=True)
