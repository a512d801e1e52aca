"""Mass and stiffness matrices of other programs: Matrix Market, CalculiX and Abaqus text files (Nastran and Ansys:
their own modules).

    given = fem.read_calculix("job")                       # job.sti, job.mas, job.dof
    part = fem.Model.from_matrices(given.M, given.K, given.points_of(mesh))

Units: those of the files.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.errors import MatrixError
from fem.mesh.mesh import Mesh
from fem.user_files import text_of

HELD = 1e30
"""Abaqus marks a supported dof by 1e36 on the diagonal of its stiffness matrix."""


@dataclass(frozen=True, eq=False)
class ImportedMatrices:
    """`M` and `K` (3 n, 3 n), full storage, for the nodes with the numbers `nodes` (n,);
    `dof = 3 * place in nodes + component`."""

    M: sp.csr_matrix
    K: sp.csr_matrix
    nodes: Int[np.ndarray, " n"]
    name: str

    def points_of(self, mesh: Mesh) -> Float[np.ndarray, "n 3"]:
        """Coordinates of the nodes, from the mesh of the same part (found by the node numbers of its file).

        Raises `MatrixError` when the mesh lacks a node of the matrices.
        """
        numbers = np.arange(len(mesh.points)) if mesh.node_ids is None else mesh.node_ids
        place = {int(number): k for k, number in enumerate(numbers)}
        missing = [int(n) for n in self.nodes if int(n) not in place]
        if missing:
            raise MatrixError(
                f"Matrices {self.name!r}: {len(missing)} of {len(self.nodes)} nodes (first: {missing[:5]}) are not in "
                f"mesh {mesh.name!r}, whose node numbers run from {numbers.min()} to {numbers.max()}. Is it the mesh "
                "of the same part?"
            )
        return mesh.points[[place[int(n)] for n in self.nodes]]


def read_matrix_market(path: str | Path) -> sp.csr_matrix:
    """A matrix (full storage) from a Matrix Market file; its dofs must be ordered `3 * node + component`.

    Raises `MatrixError` when it cannot be read.
    """
    path = existing(path)
    _require_market(path)
    try:
        return sp.csr_matrix(scipy.io.mmread(path))
    except (ValueError, TypeError, OverflowError) as error:
        raise MatrixError(f"{path} cannot be read as a Matrix Market file: {error}.") from None


def _require_market(path: Path) -> None:
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
    if entries > there or (not dense and max(rows, columns) > halves * entries):
        raise MatrixError(
            f"{path}, line {number}: a matrix of {rows} rows and {columns} columns with {entries} entries; the file "
            f"has {max(there, 0)} lines of entries, and each row of M and K has an entry. It is damaged or cut off."
        )


def read_calculix(job: str | Path) -> ImportedMatrices:
    """Matrices that CalculiX wrote for `*FREQUENCY, SOLVER=MATRIXSTORAGE`: files `job.sti`, `job.mas`, `job.dof`.

    The step must have no supports (`*BOUNDARY`) and the part no other dofs than displacements.

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
    return collected(rows[0], K[:, 2], rows[1], M[:, 2], stem.name)


def read_abaqus(stiffness: str | Path, mass: str | Path) -> ImportedMatrices:
    """Matrices of Abaqus's `*MATRIX GENERATE` with `*MATRIX OUTPUT, FORMAT=MATRIX INPUT`: `job_STIF1.mtx`,
    `job_MASS1.mtx`.

    Each line holds row node, dof, column node, dof, value; one triangle or the whole matrix. Export the step without
    supports.

    Raises `MatrixError` when dofs are supported, or a file cannot be read.
    """
    K, M = (_numbers(existing(path), 5) for path in (stiffness, mass))
    held = (K[:, :2] == K[:, 2:4]).all(axis=1) & (K[:, 4] > HELD)
    if held.any():
        nodes = np.unique(K[held, 0]).astype(int)
        raise MatrixError(
            f"{stiffness}: {held.sum()} dofs of {len(nodes)} nodes (first: {nodes[:5].tolist()}) are supported (Abaqus "
            "writes 1e36 for them). A flexible body needs the free part: generate the matrices in a step without "
            "boundary conditions."
        )
    rows = [table[:, :4].astype(np.int64) for table in (K, M)]
    return collected(rows[0], K[:, 4], rows[1], M[:, 4], Path(stiffness).stem)


def collected(K_at: np.ndarray, K: np.ndarray, M_at: np.ndarray, M: np.ndarray, name: str) -> ImportedMatrices:
    """Matrices from entries at (node, dof, node, dof), dofs counted from 1, sorted by node number."""
    try:
        K_at, M_at = np.asarray(K_at, dtype=np.int64), np.asarray(M_at, dtype=np.int64)
    except OverflowError:
        raise MatrixError(f"Matrices {name!r}: expected numbers of nodes below 2^63; found larger ones.") from None
    dofs = np.unique(np.concatenate([at.reshape(-1, 2) for at in (K_at, M_at)]), axis=0)
    outside = dofs[(dofs[:, 0] < 1) | (dofs[:, 1] < 1) | (dofs[:, 1] > 3)]
    if len(outside):
        raise MatrixError(
            f"Matrices {name!r}: only the displacement dofs 1, 2, 3 of numbered nodes are supported; found dof "
            f"{outside[0, 1]} of node {outside[0, 0]} ({len(outside)} such dofs). Export solid elements without "
            "rotations, contacts and constraints."
        )
    nodes, count = np.unique(dofs[:, 0], return_counts=True)
    if (count < 3).any():
        few = nodes[count < 3]
        raise MatrixError(
            f"Matrices {name!r}: {len(few)} nodes (first: {few[:5].tolist()}) have fewer than 3 dofs: the part is "
            "supported or tied there. Export the free part, without boundary conditions and equations."
        )
    stiffness, mass = (_symmetric(nodes, at, values) for at, values in ((K_at, K), (M_at, M)))
    return ImportedMatrices(mass, stiffness, nodes, name)


def _symmetric(nodes: np.ndarray, at: np.ndarray, values: np.ndarray) -> sp.csr_matrix:
    """The full matrix: an entry given on one side of the diagonal only is mirrored, whatever the order of the nodes."""
    row, column = (3 * np.searchsorted(nodes, at[:, k]) + at[:, k + 1] - 1 for k in (0, 2))
    size = 3 * len(nodes)
    A = sp.csr_matrix((values, (row, column)), shape=(size, size))
    mirrored = A.T.tocsr()
    return sp.csr_matrix(A + mirrored - mirrored.multiply(A != 0))


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
    if not path.is_file():
        there = sorted(p.name for p in path.parent.glob(f"{path.stem}*")) if path.parent.is_dir() else []
        raise MatrixError(f"There is no file {path}. Files with that beginning: {', '.join(there) or 'none'}.")
    return path


def _is_node_format(path: Path) -> bool:
    with path.open(errors="replace") as lines:
        line = next((entry for entry in lines if entry.strip() and entry[0] != "*"), "")
    return line.count(",") == 4
