"""Writers of matrices in the formats of other programs: those that the readers beside read.

All take the record `ImportedMatrices`, whose rows are numbered by node and component.
"""

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp

from fem.errors import MatrixError, unknown_name
from fem.files.matrix_archive import write_archive, written
from fem.files.matrix_record import ImportedMatrices
from fem.user_files import written_whole

_ANSYS = ("UX", "UY", "UZ", "ROTX", "ROTY", "ROTZ")


def write_matrix_files(path: str | Path, given: ImportedMatrices, form: str | None = None) -> list[Path]:
    """Write matrices in a format, by default that of the ending of the path; return the paths of the files.

    Raises `MatrixError` for an unknown format, and when a file cannot be written.
    """
    path = Path(path)
    if form is None:
        form = next((name for name, (_, ending) in WRITERS.items() if ending and ending == path.suffix.lower()), None)
        if form is None:
            endings = [ending for _, ending in WRITERS.values() if ending]
            raise MatrixError(f"{path}: " + unknown_name("ending of a file of matrices", path.suffix, endings))
    if form not in WRITERS:
        raise MatrixError(unknown_name("format of matrices", form, WRITERS))
    with written(path):
        return WRITERS[form][0](path, given)


def _archive(path: Path, given: ImportedMatrices) -> list[Path]:
    there = {name: getattr(given, name) for name in ("M", "K", "D", "B", "C", "points", "nodes", "dofs")}
    return write_archive(path, {name: value for name, value in there.items() if value is not None})


def _numbered(given: ImportedMatrices) -> tuple[np.ndarray, np.ndarray]:
    """Node numbers and components, counted from 1, of every row. Nodes are numbered from 1."""
    numbers = given.nodes if given.nodes.min() > 0 else given.nodes + 1
    return numbers[given.dofs[:, 0]], given.dofs[:, 1] + 1


def _matrices(given: ImportedMatrices) -> Iterator[tuple[str, sp.csr_matrix, bool]]:
    """Letter, matrix and whether it is symmetric."""
    for letter, A in (("K", given.K), ("M", given.M), ("D", given.D)):
        if A is not None:
            yield letter, A, letter != "D" or abs(A - A.T).max() <= 1e-14 * abs(A).max()


def _text(path: Path, lines: list[str]) -> Path:
    with written_whole(path) as part:
        part.write_text("\n".join(lines) + "\n")
    return path


def _dmig(path: Path, given: ImportedMatrices) -> list[Path]:
    """DMIG cards in large fields: KAAX, MAAX, BAAX, with ten digits."""
    node, component = _numbered(given)
    lines = ["$ Matrices of a free part: select them by K2GG = KAAX, M2GG = MAAX, B2GG = BAAX"]
    for letter, A, symmetric in _matrices(given):
        name = {"K": "KAAX", "M": "MAAX", "D": "BAAX"}[letter]
        lines.append(f"DMIG    {name:8s}{0:8d}{6 if symmetric else 1:8d}{2:8d}{0:8d}")
        B = sp.csc_matrix(sp.tril(A) if symmetric else A)
        B.eliminate_zeros()
        for column in np.flatnonzero(np.diff(B.indptr)):
            part = slice(B.indptr[column], B.indptr[column + 1])
            lines.append(f"DMIG*   {name:16s}{node[column]:16d}{component[column]:16d}")
            lines += [
                f"*       {node[i]:16d}{component[i]:16d}{v:16.9E}".replace("E", "D")
                for i, v in zip(B.indices[part], B.data[part], strict=True)
            ]
    return [_text(path, lines)]


def _op4(path: Path, given: ImportedMatrices) -> list[Path]:
    """OUTPUT4 in text (BIGMAT) over six dofs of every node in the order of their numbers: KGG, MGG, BGG."""
    place = np.argsort(np.argsort(given.nodes))
    rows = 6 * place[given.dofs[:, 0]] + given.dofs[:, 1]
    size, lines = 6 * len(given.nodes), []
    to = sp.csr_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(size, len(rows)))
    for letter, A, symmetric in _matrices(given):
        wide = sp.csc_matrix(to @ A @ to.T)
        wide.sort_indices()
        name = {"K": "KGG", "M": "MGG", "D": "BGG"}[letter]
        lines.append(f"{size:8d}{-size:8d}{6 if symmetric else 1:8d}{2:8d}{name:8s}1P,3E23.16")
        for column in np.flatnonzero(np.diff(wide.indptr)):
            part = slice(wide.indptr[column], wide.indptr[column + 1])
            indices, values = wide.indices[part], wide.data[part]
            runs = np.split(np.arange(len(indices)), np.flatnonzero(np.diff(indices) > 1) + 1)
            lines.append(f"{column + 1:8d}{0:8d}{sum(2 + 2 * len(run) for run in runs):8d}")
            for run in runs:
                lines.append(f"{2 * len(run) + 1:8d}{indices[run[0]] + 1:8d}")
                numbers = [f"{v:23.16E}" for v in values[run]]
                lines += ["".join(numbers[k : k + 3]) for k in range(0, len(numbers), 3)]
        lines += [f"{size + 1:8d}{1:8d}{1:8d}", " 1.0000000000000000E+00"]
    return [_text(path, lines)]


def _abaqus(path: Path, given: ImportedMatrices) -> list[Path]:
    """`part_STIF1.mtx`, `part_MASS1.mtx`, `part_DMPV1.mtx`: node, dof, node, dof, value, as Abaqus's MATRIX INPUT."""
    node, component = _numbered(given)
    written = []
    for letter, A, symmetric in _matrices(given):
        B = sp.coo_matrix(sp.tril(A) if symmetric else A)
        lines = [
            f"{node[i]},{component[i]}, {node[j]},{component[j]}, {v:.16e}"
            for i, j, v in zip(B.row, B.col, B.data, strict=True)
            if v
        ]
        kind = {"K": "STIF1", "M": "MASS1", "D": "DMPV1"}[letter]
        written.append(_text(path.with_name(f"{path.stem}_{kind}.mtx"), lines))
    return written


def _calculix(path: Path, given: ImportedMatrices) -> list[Path]:
    """`part.sti`, `part.mas`, `part.dof` of CalculiX's MATRIXSTORAGE."""
    if given.D is not None:
        raise MatrixError(f"{path}: CalculiX stores stiffness and mass only; found damping too. Choose another format.")
    node, component = _numbered(given)
    written = [_text(path.with_suffix(".dof"), [f"{n}.{c}" for n, c in zip(node, component, strict=True)])]
    for letter, A, _ in _matrices(given):
        B = sp.coo_matrix(sp.tril(A))
        lines = [f"{i + 1:10d}{j + 1:10d}{v:25.16E}" for i, j, v in zip(B.row, B.col, B.data, strict=True)]
        written.append(_text(path.with_suffix({"K": ".sti", "M": ".mas"}[letter]), lines))
    return written


def _ansys(path: Path, given: ImportedMatrices) -> list[Path]:
    """`part.stiff`, `part.mass`, `part.damp` (Harwell-Boeing) and `part.mapping`, as HBMAT writes them."""
    node, component = _numbered(given)
    lines = ["  Matrix Eqn       Node      DOF"]
    lines += [f"{k + 1:10d} {n:10d}    {_ANSYS[c - 1]}" for k, (n, c) in enumerate(zip(node, component, strict=True))]
    written = [_text(path.with_suffix(".mapping"), lines)]
    for letter, A, symmetric in _matrices(given):
        content = StringIO()
        scipy.io.hb_write(content, sp.csc_matrix(sp.tril(A) if symmetric else A))
        title, cards, kind, *rest = content.getvalue().splitlines()
        kind = kind.replace("RUA", "RSA", 1) if symmetric else kind
        ending = {"K": ".stiff", "M": ".mass", "D": ".damp"}[letter]
        written.append(_text(path.with_suffix(ending), [title, cards, kind, *rest]))
    return written


WRITERS: dict[str, tuple[Callable[[Path, ImportedMatrices], list[Path]], str]] = {
    "numpy": (_archive, ".npz"),
    "matlab": (_archive, ".mat"),
    "matrix-market": (_archive, ".mtx"),
    "dmig": (_dmig, ".pch"),
    "op4": (_op4, ".op4"),
    "abaqus": (_abaqus, ""),
    "calculix": (_calculix, ".sti"),
    "ansys": (_ansys, ".mapping"),
}
"""Name of a format -> its writer, and the ending that stands for it."""
