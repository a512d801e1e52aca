"""Mass and stiffness matrices of Ansys: Harwell-Boeing files with their mapping, as `HBMAT` writes them."""

import re
from io import StringIO
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp

from fem.errors import MatrixError
from fem.files.matrix_files import existing
from fem.files.matrix_record import ImportedMatrices, collected

_DIRECTIONS = {"UX": 1, "UY": 2, "UZ": 3, "ROTX": 4, "ROTY": 5, "ROTZ": 6}


def read_ansys(
    stiffness: str | Path, mass: str | Path, mapping: str | Path, damping: str | Path | None = None
) -> ImportedMatrices:
    """Matrices of Ansys Mechanical APDL for a free part of solids, shells and beams.

    In Ansys, after a modal analysis with its `.full` file kept: `/AUX2`, `FILE,job,full`, then
    `HBMAT,stiff,matrix,,ASCII,STIFF,NO,YES` and `HBMAT,mass,matrix,,ASCII,MASS,NO,YES` (and `DAMP` for the
    damping and gyroscopic matrix of a damped analysis); the last YES writes the `.mapping` file, which names node and
    direction of every equation.

    Raises `MatrixError` when matrix and mapping are not of one run, or a file cannot be read.
    """
    equations = _mapping(existing(mapping))
    entries = {}
    for letter, path in (("K", existing(stiffness)), ("M", existing(mass)), ("D", damping and existing(damping))):
        if not path:
            continue
        A = _harwell_boeing(path)
        if A.shape != (len(equations), len(equations)):
            raise MatrixError(
                f"{path} has shape {A.shape}; {mapping} names {len(equations)} equations. Are the files of one run?"
            )
        entries[letter] = (np.hstack([equations[A.row], equations[A.col]]), A.data)
    return collected(entries, Path(stiffness).stem)


def _harwell_boeing(path: Path) -> sp.coo_matrix:
    """The stored entries: of a symmetric matrix, one triangle."""
    lines = path.read_text(errors="replace").splitlines()
    if len(lines) < 4 or not re.match(r"[RP][SU]A", lines[2].strip(), re.IGNORECASE):
        kind = lines[2].strip()[:3] if len(lines) > 2 else "nothing"
        raise MatrixError(
            f"{path} is no assembled real Harwell-Boeing matrix (RSA or RUA in its third line); found {kind!r}."
        )
    lines[2] = re.sub(r"RSA", "RUA", lines[2], count=1, flags=re.IGNORECASE)  # the reader knows no triangles
    text = "\n".join([*lines[:4], *(line.replace("D", "E") for line in lines[4:])])
    try:
        return sp.coo_matrix(scipy.io.hb_read(StringIO(text + "\n")))
    except (ValueError, TypeError, IndexError, OverflowError, SyntaxError) as error:  # SyntaxError: of a format
        formats = lines[3].strip()[:80]
        raise MatrixError(
            f"{path} cannot be read as a Harwell-Boeing file (formats {formats!r} in its fourth line): {error}. "
            "Write it again with HBMAT, and copy it as it is."
        ) from None


def _mapping(path: Path) -> np.ndarray:
    """Node and direction (n, 2) of every equation."""
    found = {}
    for line in path.read_text(errors="replace").splitlines():
        entry = re.match(r"\s*(\d+)\s+(\d+)\s+([A-Za-z]+)\s*$", line)
        if entry:
            label = entry[3].upper()
            if label not in _DIRECTIONS:
                raise MatrixError(
                    f"{path}: equation {entry[1]} is the dof {label} of node {entry[2]}; only displacements "
                    "and rotations are supported."
                )
            found[int(entry[1])] = (int(entry[2]), _DIRECTIONS[label])
    if sorted(found) != list(range(1, len(found) + 1)) or not found:
        raise MatrixError(
            f"{path} does not map equations 1, 2, ... to node and direction (lines such as '1  17  UX'); found "
            f"{len(found)}."
        )
    return np.array([found[k] for k in range(1, len(found) + 1)])
