"""Mass and stiffness matrices of Nastran: DMIG cards in punch or bulk data files, OUTPUT4 and OUTPUT2 files."""

from pathlib import Path

import numpy as np

from fem.errors import MatrixError, unknown_name
from fem.files.matrix_files import existing
from fem.files.matrix_record import Entries, ImportedMatrices, collected
from fem.files.nastran.op2 import read_op2
from fem.files.nastran.op4 import read_op4

REAL = (1, 2)
"""Types of a DMIG matrix that hold real numbers: single and double precision."""
SQUARE, SYMMETRIC = 1, 6
"""Forms of a DMIG matrix: all of its entries are given, or those of one of the two triangles."""
OUTPUT = {".op4": ("OUTPUT4", read_op4), ".op2": ("OUTPUT2", read_op2)}
"""Files of matrices over all dofs of the nodes: their kind, and what reads them."""


def read_nastran(
    path: str | Path,
    stiffness: str = "KAAX",
    mass: str = "MAAX",
    nodes: np.ndarray | None = None,
    damping: str | None = None,
) -> ImportedMatrices:
    """Matrices of a free part of solids, shells and beams. Rotations without mass and stiffness are left out.

    - `.pch`, `.bdf`, `.dat`: DMIG cards, as `EXTSEOUT(DMIGPCH)` or `PARAM,EXTOUT,DMIGPCH` write them; `stiffness`,
      `mass` and, where it is wanted, `damping` (`BAAX`) are their names.
    - `.op4`: OUTPUT4 matrices over all dofs of the nodes, six a node (`KGG`, `MGG`); the file does not name the nodes:
      give the grid numbers `nodes`, ascending (`mesh.node_ids`). Text or binary, dense or sparse.
    - `.op2`: the same of an OUTPUT2 file; its results and other tables are passed over.

    Raises `MatrixError` when the file has no matrix of a name or several, gives an entry of one twice, or cannot be
    read.
    """
    path = existing(path)
    if path.suffix.lower() in OUTPUT:
        return _read_output(path, _wanted(stiffness, mass, damping), nodes)
    matrices = _dmig(path)
    wanted = _wanted(stiffness, mass, damping)
    for name in wanted.values():
        if name not in matrices:
            raise MatrixError(f"{path}: " + unknown_name("DMIG matrix", name, matrices))
        _require_form(path, name, *matrices[name], damping=name == damping)
    return collected({letter: matrices[name][1:] for letter, name in wanted.items()}, path.stem)


def _wanted(stiffness: str, mass: str, damping: str | None) -> dict[str, str]:
    """Names of the matrices by their letter."""
    return {"K": stiffness, "M": mass, **({} if damping is None else {"D": damping})}


def _require_form(path: Path, name: str, form: int, at: np.ndarray, values: np.ndarray, damping: bool) -> None:
    """Raise `MatrixError` where a DMIG matrix gives an entry twice, which Nastran refuses, in a symmetric one also on
    both sides of the diagonal; or where one that is square without being symmetric lacks the other side."""
    pairs = [((a, b), (c, d)) for a, b, c, d in at.tolist()]
    known = set()
    for pair in (tuple(sorted(pair)) if form == SYMMETRIC else pair for pair in pairs):
        if pair in known:
            (a, b), (c, d) = pair
            sides = ", or on both sides of the diagonal of a symmetric matrix (form 6)" if form == SYMMETRIC else ""
            raise MatrixError(
                f"{path}: DMIG matrix {name!r} gives its entry at dof {b} of node {a} and dof {d} of node {c} "
                f"twice{sides}; Nastran refuses it. Keep one of them."
            )
        known.add(pair)
    if form == SQUARE:
        aside = {pair for pair, value in zip(pairs, values.tolist(), strict=True) if value and pair[0] != pair[1]}
        alone = sorted(pair for pair in aside if (pair[1], pair[0]) not in aside)
        if alone and (not damping or len(alone) == len(aside)):
            (a, b), (c, d) = alone[0]
            raise MatrixError(
                f"{path}: DMIG matrix {name!r} is square (form 1) and has an entry at dof {b} of node {a} and dof {d} "
                f"of node {c}, but none on the other side of the diagonal ({len(alone)} such entries). Give its header "
                "the form 6 if it is symmetric, and all entries otherwise."
            )
    elif form != SYMMETRIC:
        raise MatrixError(
            f"{path}: DMIG matrix {name!r} is rectangular (form {form}); those of a part have the form 6, symmetric, "
            "or 1, square."
        )


def _dmig(path: Path) -> dict[str, tuple[int, np.ndarray, np.ndarray]]:
    """Name -> form, entries at (row node, dof, column node, dof), and their values."""
    forms: dict[str, tuple[int, int]] = {}  # and the line of the header
    places: dict[str, list[list[int]]] = {}
    values: dict[str, list[float]] = {}
    name, column = "", (0, 0)
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if line.startswith("$") or not line.strip():
            continue
        head, fields = _fields(line)
        try:
            if head.upper().startswith("DMIG"):
                name = fields[0]
                if fields[1] == "0":
                    if name in forms:
                        raise MatrixError(
                            f"{path}, line {number}: DMIG matrix {name!r} has a second header; the first one is in "
                            f"line {forms[name][1]}. Keep one of the two matrices, or give one a name of its own."
                        )
                    if int(fields[3]) not in REAL:
                        raise MatrixError(
                            f"{path}, line {number}: DMIG matrix {name!r} is complex (type {fields[3]}); "
                            "matrices of a part are real."
                        )
                    forms[name], places[name], values[name] = (int(fields[2]), number), [], []
                    continue
                column = (int(fields[1]), int(fields[2] or 0))
                rest = fields[4:]
            elif head in ("", "*", "+") or head[0] in "*+":
                rest = fields
            else:
                name = ""
                continue
            if not name:
                continue
            width = 4 if "*" in head else 8
            if any(field and field[0] not in "+*" for field in fields[width:]):
                raise ValueError("more fields than a line has")
            for k in range(0, len(rest) - 2, 4):
                if rest[k]:
                    places[name].append([int(rest[k]), int(rest[k + 1] or 0), *column])
                    values[name].append(_real(rest[k + 2]))
        except MatrixError:
            raise
        except (ValueError, IndexError, KeyError):
            raise MatrixError(f"{path}, line {number}: cannot be read as a DMIG card: {line.strip()!r}.") from None
    return {key: (forms[key][0], np.array(places[key]).reshape(-1, 4), np.array(values[key])) for key in places}


def _fields(line: str) -> tuple[str, list[str]]:
    """First field and the others of a card in free, large or small field format."""
    if "," in line:
        head, *fields = (field.strip() for field in line.split(","))
        return head, fields
    width = 16 if "*" in line[:8] else 8
    body = line[8:72]
    return line[:8].strip(), [body[k : k + width].strip() for k in range(0, len(body), width)]


def _real(text: str) -> float:
    """A number of Nastran: 1.5, 1.5D+3, 1.5+3."""
    text = text.upper().replace("D", "E")
    sign = max(text.rfind("+"), text.rfind("-"))
    return float(text if sign <= 0 or text[sign - 1] == "E" else f"{text[:sign]}E{text[sign:]}")


def _read_output(path: Path, wanted: dict[str, str], nodes: np.ndarray | None) -> ImportedMatrices:
    kind, read = OUTPUT[path.suffix.lower()]
    if nodes is None:
        raise MatrixError(
            f"{path}: an {kind} file does not name its nodes; give nodes=, the grid numbers in ascending order."
        )
    found = read(path)
    names = [name for name, _ in found]
    for name in wanted.values():
        if name not in names:
            raise MatrixError(f"{path}: " + unknown_name(f"{kind} matrix", name, names))
        if names.count(name) > 1:
            raise MatrixError(
                f"{path}: expected one matrix {name}, found {names.count(name)}; write the wanted one to a file of its "
                "own."
            )
    numbers = np.sort(np.asarray(nodes, dtype=np.int64))
    entries: dict[str, Entries] = {}
    for letter, name in wanted.items():
        A = dict(found)[name]
        if A.dtype.kind == "c":
            raise MatrixError(f"{path}: {name} is complex; matrices of a part are real.")
        if A.shape != (6 * len(numbers), 6 * len(numbers)):
            raise MatrixError(
                f"{path}: {name} has shape {A.shape}, expected six dofs for each of the {len(numbers)} nodes."
            )
        kept = A.data != 0
        row, column = A.row[kept], A.col[kept]
        at = np.column_stack([numbers[row // 6], row % 6 + 1, numbers[column // 6], column % 6 + 1])
        entries[letter] = (at, A.data[kept])
    return collected(entries, path.stem)
