"""Matrices of a part, to and from files: `write_matrices`, `read_matrices`."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fem.errors import MatrixError
from fem.files.matrix_archive import read_archive
from fem.files.matrix_record import ImportedMatrices
from fem.files.matrix_writers import write_matrix_files
from fem.model import Model

LARGEST = 2**53
"""Of the numbers of nodes: the whole numbers that every format holds."""


def matrices_of(model: Model) -> ImportedMatrices:
    """The matrices of a model, its rows node by node, with the maps of its interfaces.

    `B` (ndof, 6 k): loads of unit wrenches on the k interfaces, in their order; `C = B^T`: the motion of the
    interfaces.

    Raises `MatrixError` for a part with constraints between nodes or with rates of twist, which files of matrices
    cannot hold.
    """
    dofs = model.dof_map
    if len(dofs.rates.nodes):
        raise MatrixError(
            f"Model {model.name!r}: files of matrices hold translations and rotations of nodes; found the rates of "
            'twist of beams with torsion="vlasov". Write the reduced part (reduction.linear_system(part, basis).save).'
        )
    if len(dofs.link_nodes) or dofs.holding or (dofs.T is not None and dofs.T.nnz != dofs.size):
        raise MatrixError(
            f"Model {model.name!r}: expected a part without constraints between its nodes, since files of matrices "
            "hold dofs of nodes; found some. Write the reduced part (reduction.linear_system(part, basis).save), or "
            "the part before with_constraints."
        )
    n = len(model.points)
    node = np.concatenate([np.repeat(np.arange(n), 3), np.repeat(model.rotation_nodes, 3)])
    component = np.concatenate([np.tile([0, 1, 2], n), np.tile([3, 4, 5], len(model.rotation_nodes))])
    at = np.column_stack([node, component])[dofs.independent]
    order = np.lexsort((at[:, 1], at[:, 0]))
    M, K = (sp.csr_matrix(A[order][:, order]) for A in (model.M, model.K))
    D = None if model.D is None else sp.csr_matrix(model.D[order][:, order])
    ids = None if model.mesh is None else model.mesh.node_ids
    maps = [i.interface_matrix(model)[order] for i in model.interfaces.values()]
    B = sp.csr_matrix(sp.hstack(maps)) if maps else None
    nodes = np.arange(1, n + 1) if ids is None else np.asarray(ids)
    return ImportedMatrices(M, K, nodes, model.name, at[order], D, B, None if B is None else B.T.tocsr(), model.points)


def write_matrices(model: Model, path: str | Path, format: str | None = None) -> list[Path]:
    """Write the matrices of a part for another program; return the paths of the files.

        fem.write_matrices(part, "part.mat")                      # M, K, D, B, C, points, nodes, dofs
        fem.write_matrices(part, "part", format="abaqus")         # part_STIF1.mtx, part_MASS1.mtx

    | `format` | ending | files |
    |---|---|---|
    | "numpy" | `.npz` | all in one; sparse ones as `M.data`, `M.indices`, `M.indptr`, `M.shape` (compressed rows) |
    | "matlab" | `.mat` | all in one, of version 5 |
    | "matrix-market" | `.mtx` | `part.M.mtx`, `part.K.mtx`, ... |
    | "dmig" | `.pch` | DMIG cards of Nastran, ten digits |
    | "op4" | `.op4` | OUTPUT4 of Nastran, text, six dofs a node |
    | "abaqus" | | `part_STIF1.mtx`, `part_MASS1.mtx`, `part_DMPV1.mtx` |
    | "calculix" | `.sti` | `part.sti`, `part.mas`, `part.dof` |
    | "ansys" | `.mapping` | `part.stiff`, `part.mass`, `part.damp`, `part.mapping` as HBMAT writes them |

    Rows are sorted by node and component; `B` has the loads of unit wrenches on the interfaces, six a column block in
    their order, `C` their motions. Formats of other programs hold M, K and D only.

    Raises `MatrixError` for an unknown format, a part with constraints between nodes or with rates of twist
    (`torsion="vlasov"`), and damping in a format without.
    """
    return write_matrix_files(path, matrices_of(model), format)


def read_matrices(path: str | Path) -> ImportedMatrices:
    """Matrices of numpy (`.npz`), MATLAB (`.mat`, version 5) or Matrix Market (`part.mtx` stands for `part.M.mtx`,
    `part.K.mtx`, ...), of `write_matrices` or of your own.

    Needed are `M` and `K`, sparse or dense. Optional: `D` or `E` (damping), `B`, `C`, `points` (n, 3), `nodes` (n,),
    and `dofs` (ndof, 2) with the node (from 0) and component of each row; by default rows are `3 * node + component`,
    or `6 * node + component` where `points` or `nodes` say so.

        given = fem.read_matrices("part.mat")
        part = fem.Model.from_matrices(given.M, given.K, given.points, dofs=given.dofs, damping=given.D)

    `B` and `C` are maps of inputs and outputs; a damping matrix is `D`, whatever it is called elsewhere.

    Raises `MatrixError` for a file without M and K, shapes that do not go together, a C that can only be a damping
    matrix, and one that cannot be read.
    """
    found, path = read_archive(path), Path(path)
    missing = [name for name in "MK" if name not in found]
    if missing:
        raise MatrixError(
            f"{path}: expected matrices named M and K; {' and '.join(missing)} missing among {', '.join(found)}."
        )
    M, K, D, E, B, C = (_numbers(found, name, path) for name in "MKDEBC")
    M, K, D = (None if A is None else sp.csr_matrix(A) for A in (M, K, E if D is None else D))
    assert M is not None
    assert K is not None
    size = M.shape[0]
    points = _numbers(found, "points", path, 3)
    nodes = _numbers(found, "nodes", path, 1, whole=True)
    nodes = None if nodes is None else nodes.ravel()
    count = len(points) if points is not None else len(nodes) if nodes is not None else size // 3
    dofs = _numbers(found, "dofs", path, 2, whole=True)
    if dofs is not None:
        if points is None and nodes is None and len(dofs):  # each node has a row
            count = min(int(dofs[:, 0].max()) + 1, size)
        beyond = dofs[((dofs < 0) | (dofs >= (count, 6))).any(axis=1)]
        if len(beyond):
            node, component = beyond[0]
            raise MatrixError(
                f"{path}: dofs are nodes from 0 to {count - 1} and components from 0 to 5; found ({node}, {component})."
            )
    elif count and size in (3 * count, 6 * count):
        dofs = np.argwhere(np.ones((count, size // count)))
    else:
        raise MatrixError(f"{path}: M has {size} rows for {count} nodes; expected 3 or 6 a node, or dofs (ndof, 2).")
    nodes = np.arange(1, count + 1) if nodes is None else nodes
    expected = {"M": (size, size), "K": (size, size), "D": (size, size), "dofs": (size, 2), "nodes": (count,)}
    for name, value in (("M", M), ("K", K), ("D", D), ("dofs", dofs), ("nodes", nodes)):
        if value is not None and value.shape != expected[name]:
            raise MatrixError(f"{path}: {name} has shape {value.shape}, expected {expected[name]}.")
    for name, value, axis in (("B", B, 0), ("C", C, 1)):
        if value is not None and (value.ndim != 2 or value.shape[axis] != size):
            raise MatrixError(f"{path}: {name} has shape {value.shape}; M has {size} rows.")
    if C is not None and B is None and D is None and C.shape == (size, size):
        raise MatrixError(
            f"{path}: C of shape {C.shape}, without B and D, looks like a damping matrix; here C is the map of "
            "outputs, and the damping would be lost. Name a damping matrix D; give a map of outputs together with B, "
            "or leave it out."
        )
    return ImportedMatrices(M, K, nodes, path.with_suffix("").name, dofs, D, B, C, points)


def _numbers(found: dict[str, Any], name: str, path: Path, columns: int | None = None, whole: bool = False) -> Any:
    """The matrix of a name, dense or sparse, or None; with `columns`, the dense table of as many.

    Raises `MatrixError` unless it has finite numbers, and whole ones where these are expected.
    """
    value = found.get(name)
    if value is None:
        return None
    if columns is not None:
        value = np.asarray(value.toarray() if sp.issparse(value) else value)
        value = value.reshape(-1, 1) if columns == 1 else value
    if value.dtype.kind not in "iufb":
        raise MatrixError(f"{path}: {name} should hold real numbers; found values of type {value.dtype}.")
    if value.ndim != 2 or (columns is not None and value.shape[1] != columns):
        raise MatrixError(f"{path}: {name} has shape {value.shape}, expected (n, {columns or 'm'}).")
    numbers = np.asarray(value.data if sp.issparse(value) else value)
    if not np.isfinite(numbers).all():
        raise MatrixError(f"{path}: {name} holds NaN or infinite values.")
    if not whole:
        return value
    wrong = np.flatnonzero((numbers != np.rint(numbers)) | (np.abs(numbers) > LARGEST))
    if len(wrong):
        found_there = numbers.ravel()[wrong[0]]
        raise MatrixError(f"{path}: {name} should hold whole numbers below {LARGEST}; found {found_there:g}.")
    return value.astype(np.int64)
