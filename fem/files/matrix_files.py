"""Mass and stiffness matrices of other programs: Matrix Market, CalculiX and Abaqus text files (Nastran and Ansys:
their own modules).

    given = fem.read_calculix("job")                       # job.sti, job.mas, job.dof
    part = fem.Model.from_matrices(given.M, given.K, given.points_of(mesh))

Units: those of the files.
"""

import glob
import re
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp

from fem.errors import MatrixError
from fem.files.matrix_record import ImportedMatrices, collected
from fem.user_files import is_file, text_of

MOST_ROWS = 10**8
"""Most rows and columns of a matrix with empty rows."""
HELD = 1e30
"""Abaqus marks a supported dof by 1e36 on the diagonal of its stiffness matrix."""


def read_matrix_market(path: str | Path) -> sp.csr_matrix:
    """A matrix of a part (full storage) from a Matrix Market file.

    Raises `MatrixError` when it cannot be read, or has more rows than entries.
    """
    return read_market(path, sparse_rows=False)


def read_market(path: str | Path, sparse_rows: bool = True) -> sp.csr_matrix:
    """A matrix from a Matrix Market file; `sparse_rows`: rows may be empty.

    Raises `MatrixError` when it cannot be read.
    """
    path = existing(path)
    _require_market(path, sparse_rows)
    try:
        return sp.csr_matrix(scipy.io.mmread(path))
    except (ValueError, TypeError, OverflowError) as error:
        raise MatrixError(f"{path} cannot be read as a Matrix Market file: {error}.") from None


def _require_market(path: Path, sparse_rows: bool) -> None:
    """Raise `MatrixError` for a file that scipy cannot read safely: other bytes than ASCII end the process, and sizes
    beyond what the file holds take any memory."""
    content = path.read_bytes()
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise MatrixError(
            f"{path}, line {line}: expected the characters of ASCII, found the byte {content[error.start]:#04x}. "
            "The file is damaged, or no Matrix Market file."
        ) from None
    if "\0" in text:
        raise MatrixError(f"{path}, line {text.count(chr(10), 0, text.index(chr(0))) + 1}: found the byte 0x00.")
    head, *rest = text.splitlines() or [""]
    if not head.startswith("%%MatrixMarket"):
        hint = " It looks like an Abaqus matrix: use read_abaqus." if _is_node_format(path) else ""
        raise MatrixError(
            f"{path} cannot be read as a Matrix Market file: line 1 should begin with %%MatrixMarket; found "
            f"{head[:60]!r}.{hint}"
        )
    number, sizes = next(((k, line) for k, line in enumerate(rest, 2) if line.strip() and line[0] != "%"), (2, ""))
    words = sizes.split()
    dense = "array" in head.lower()
    if len(words) != 3 - dense or not all(re.fullmatch(r"\d{1,15}", word) for word in words):
        raise MatrixError(
            f"{path}, line {number}: expected rows and columns{'' if dense else ' and number of entries'}; found "
            f"{sizes[:60]!r}."
        )
    rows, columns = map(int, words[:2])
    halves = 1 if "general" in head.lower() else 2
    entries = rows * columns // halves if dense else int(words[2])
    there = len(rest) - number + 1
    most = MOST_ROWS if sparse_rows else halves * entries
    if entries > there or (not dense and max(rows, columns) > most):
        raise MatrixError(
            f"{path}, line {number}: a matrix of {rows} rows and {columns} columns with {entries} entries; the file "
            f"has {max(there, 0)} lines of entries, and each row of M and K has an entry. It is damaged or cut off."
        )


def read_calculix(job: str | Path) -> ImportedMatrices:
    """Matrices that CalculiX wrote for `*FREQUENCY, SOLVER=MATRIXSTORAGE`: files `job.sti`, `job.mas`, `job.dof`.

    The step must have no supports (`*BOUNDARY`).

    Raises `MatrixError` when matrices and dofs are not of one run, or a file cannot be read.
    """
    job = Path(job)
    stem = job.with_suffix("") if job.suffix in (".sti", ".mas", ".dof", ".inp") else job
    K, M = (_numbers(existing(f"{stem}{suffix}"), 3) for suffix in (".sti", ".mas"))
    text = text_of(existing(f"{stem}.dof"), MatrixError, "file of dofs").split()
    try:
        dofs = np.array([entry.split(".") for entry in text], dtype=np.int64)
    except ValueError:
        raise MatrixError(f"{stem}.dof: every line should be node.direction; found {text[:3]}.") from None
    indices = [table[:, :2].astype(np.int64) - 1 for table in (K, M)]
    if dofs.ndim != 2 or max(i.max() for i in indices) >= len(dofs) or min(i.min() for i in indices) < 0:
        raise MatrixError(
            f"{stem}.dof names {len(dofs)} dofs, but the matrices refer to others. Are the files of one run?"
        )
    rows = [np.hstack([dofs[i[:, 0]], dofs[i[:, 1]]]) for i in indices]
    return collected({"K": (rows[0], K[:, 2]), "M": (rows[1], M[:, 2])}, stem.name)


def read_abaqus(stiffness: str | Path, mass: str | Path, damping: str | Path | None = None) -> ImportedMatrices:
    """Matrices of Abaqus's `*MATRIX GENERATE` with `*MATRIX OUTPUT, FORMAT=MATRIX INPUT`: `job_STIF1.mtx`,
    `job_MASS1.mtx`, and for viscous damping `job_DMPV1.mtx`.

    Each line holds row node, dof, column node, dof, value; one triangle or the whole matrix. Export the step without
    supports.

    Raises `MatrixError` when dofs are supported, or a file cannot be read.
    """
    given = {"K": stiffness, "M": mass, **({} if damping is None else {"D": damping})}
    tables = {letter: _numbers(existing(path), 5) for letter, path in given.items()}
    K = tables["K"]
    held = (K[:, :2] == K[:, 2:4]).all(axis=1) & (K[:, 4] > HELD)
    if held.any():
        nodes = np.unique(K[held, 0]).astype(int)
        raise MatrixError(
            f"{stiffness}: {held.sum()} dofs of {len(nodes)} nodes (first: {nodes[:5].tolist()}) are supported (Abaqus "
            "writes 1e36 for them). A flexible body needs the free part: generate the matrices in a step without "
            "boundary conditions."
        )
    entries = {letter: (table[:, :4].astype(np.int64), table[:, 4]) for letter, table in tables.items()}
    return collected(entries, Path(stiffness).stem)


def _numbers(path: Path, columns: int) -> np.ndarray:
    """The numbers of a text file with `columns` a line; lines that begin with * are comments."""
    lines = [
        line.replace(",", " ")
        for line in text_of(path, MatrixError, "file of a matrix").splitlines()
        if line.strip() and line.lstrip()[0] != "*"
    ]
    if not lines:
        raise MatrixError(f"{path} holds no matrix entries.")
    try:
        found = np.loadtxt(lines, ndmin=2, usecols=range(columns))
    except ValueError as error:
        raise MatrixError(f"{path}: {columns} numbers a line are expected ({error}).") from None
    numbers = found[:, :-1]
    if not np.isfinite(found).all() or (np.abs(numbers) >= 2**31).any() or (numbers != np.round(numbers)).any():
        wrong = ~np.isfinite(found).all(1) | (np.abs(numbers) >= 2**31).any(1) | (numbers != np.round(numbers)).any(1)
        raise MatrixError(
            f"{path}: expected whole numbers and a finite value; found {lines[int(np.argmax(wrong))]!r} in entry "
            f"{int(np.argmax(wrong)) + 1}."
        )
    return found


def existing(path: str | Path) -> Path:
    """The path of a file that is there."""
    path = Path(path)
    if not is_file(path):
        there = sorted(p.name for p in path.parent.glob(f"{glob.escape(path.stem)}*")) if path.parent.is_dir() else []
        raise MatrixError(f"There is no file {path}. Files with that beginning: {', '.join(there) or 'none'}.")
    return path


def _is_node_format(path: Path) -> bool:
    with path.open(errors="replace") as lines:
        line = next((entry for entry in lines if entry.strip() and entry[0] != "*"), "")
    return line.count(",") == 4
