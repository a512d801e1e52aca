"""Named arrays and sparse matrices as files of numpy (`.npz`), MATLAB (`.mat`) and Matrix Market (`.mtx`).

- `.npz`: an array under its name; a sparse matrix A as `A.data`, `A.indices`, `A.indptr`, `A.shape` (compressed rows:
  `scipy.sparse.csr_matrix((data, indices, indptr), shape)`).
- `.mat`: version 5, which every version of MATLAB reads; sparse matrices are MATLAB's own.
- `.mtx`: a file for each array, `part.mtx` stands for `part.M.mtx`, `part.K.mtx`, ...
"""

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy
import scipy.io
import scipy.sparse as sp

from fem.errors import MatrixError, unknown_name
from fem.files.matrix_files import existing, read_market
from fem.user_files import unpacked_size, written_whole

ENDINGS = (".npz", ".mat", ".mtx")
PART_OF_MEMORY = 0.5
"""Largest part of the available memory that the arrays of a file may take: matrices are made of them."""
_PARTS = ("data", "indices", "indptr", "shape")


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Raise `MatrixError` where the block cannot write the files of `path`."""
    try:
        yield
    except OSError as error:
        raise MatrixError(
            f"The matrices cannot be written to {path}: {error.strerror}. Free space there, or choose another place."
        ) from None


def write_archive(path: Path, arrays: Mapping[str, Any]) -> list[Path]:
    """Write arrays and sparse matrices; return the paths of the files.

    Raises `MatrixError` for another ending, and when a file cannot be written.
    """
    with written(path):
        return _write(path, arrays)


def _write(path: Path, arrays: Mapping[str, Any]) -> list[Path]:
    ending = path.suffix.lower()
    if ending == ".npz":
        flat: dict[str, Any] = {}
        for name, value in arrays.items():
            if sp.issparse(value):
                A = sp.csr_matrix(value)
                flat |= {f"{name}.{part}": np.asarray(getattr(A, part)) for part in _PARTS}
            else:
                flat[name] = np.asarray(value)
        with written_whole(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **flat)
        return [path]
    if ending == ".mat":
        kept = {k: sp.csc_matrix(v, dtype=float) if sp.issparse(v) else np.asarray(v) for k, v in arrays.items()}
        with written_whole(path) as part, part.open("wb") as file:
            scipy.io.savemat(file, kept, do_compression=True)
        return [path]
    if ending == ".mtx":
        numbers = {k: v for k, v in arrays.items() if sp.issparse(v) or np.asarray(v).dtype.kind in "iuf"}
        return [_market(path, name, value) for name, value in numbers.items()]
    raise MatrixError(f"{path}: " + unknown_name("ending of a file of matrices", ending, ENDINGS))


def _market(path: Path, name: str, value: Any) -> Path:
    to = path.with_suffix(f".{name}.mtx")
    whole = sp.coo_matrix(value) if sp.issparse(value) else np.atleast_2d(np.asarray(value).T).T
    with written_whole(to) as part, part.open("wb") as file:
        scipy.io.mmwrite(file, whole, symmetry="general")
    return to


def read_archive(path: str | Path) -> dict[str, Any]:
    """Arrays and sparse matrices by name.

    Raises `MatrixError` for a file of another kind, a damaged one, and one larger than the memory.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".mtx":
        return _of_market(path)
    path = existing(path)
    if ending not in ENDINGS:
        raise MatrixError(f"{path}: " + unknown_name("ending of a file of matrices", ending, ENDINGS))
    try:
        found = _of_numpy(path) if ending == ".npz" else _of_matlab(path)
    except MatrixError:
        raise
    except Exception as error:  # the exception depends on which bytes are damaged
        raise MatrixError(f"{path} cannot be read as a file of arrays: {error}.") from None
    wrong = [name for name, value in found.items() if not sp.issparse(value) and value.dtype.kind not in "iufbUO"]
    if wrong:
        raise MatrixError(f"{path}: expected real numbers; found others in {', '.join(wrong)}.")
    return found


def _of_numpy(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        _require_memory(path, sum(entry.file_size for entry in archive.infolist()))
    with np.load(path, allow_pickle=False) as file:
        flat = {key: file[key] for key in file.files}
    found = {key: value for key, value in flat.items() if not key.endswith(tuple(f".{part}" for part in _PARTS))}
    for name in [key.removesuffix(".indptr") for key in flat if key.endswith(".indptr")]:
        data, indices, indptr, shape = (flat[f"{name}.{part}"] for part in _PARTS)
        if len(indptr) != shape[0] + 1 or indptr[-1] != len(data) or len(indices) != len(data):
            raise ValueError(f"the parts of the sparse matrix {name} do not go together")
        A = sp.csr_matrix((data, indices, indptr), tuple(int(n) for n in shape))
        A.check_format()
        found[name] = A
    return found


def _of_matlab(path: Path) -> dict[str, Any]:
    _require_memory(path, unpacked_size(path))
    dense = [shape for _, shape, kind in scipy.io.whosmat(path) if kind != "sparse"]
    _require_memory(path, sum(8 * math.prod(shape) for shape in dense))
    found = {key: value for key, value in scipy.io.loadmat(path).items() if not key.startswith("__")}
    for value in found.values():
        if sp.issparse(value):
            value.check_format()  # compiled code follows the indices
    return found


def _of_market(path: Path) -> dict[str, Any]:
    stem = path.with_suffix("").name
    files = {p.name.removeprefix(f"{stem}.").removesuffix(".mtx"): p for p in path.parent.glob(f"{stem}.*.mtx")}
    files = {name: p for name, p in files.items() if "." not in name}
    if not files:
        raise MatrixError(f"There are no files {stem}.M.mtx, {stem}.K.mtx, ... beside {path}.")
    found: dict[str, Any] = {}
    for name, p in sorted(files.items()):
        A = read_market(p, sparse_rows=name not in "MK")
        found[name] = A if name in "MKDEBC" else np.asarray(A.toarray())
    return found


def _require_memory(path: Path, size: int) -> None:
    available = psutil.virtual_memory().available
    if size > PART_OF_MEMORY * available:
        raise MatrixError(
            f"{path} holds arrays of {size / 1e9:.3g} GB; at most {PART_OF_MEMORY:.0%} of the {available / 1e9:.3g} GB "
            "of memory that are available can be filled by them."
        )
