"""A part, full or reduced, as a linear system with inputs and outputs, for other programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Complex, Float
from scipy.sparse.linalg import splu

from fem.axes.limits import is_number
from fem.errors import MatrixError, unknown_name
from fem.files.matrix_archive import write_archive
from fem.model import Model
from fem.shown import shown
from reduction.basis import Basis
from reduction.solutions.statics import orthonormal_rigid_motions

_DIRECTIONS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


@shown
@dataclass(frozen=True, eq=False)
class LinearSystem:
    """`M q'' + D q' + K q = B u`, `y = C q`, in the axes of the mesh.

    - `M`, `D`, `K` (m, m), `B` (m, k), `C` (l, m): dense arrays of a reduced part, sparse ones of a full one.
    - `inputs` (k), `outputs` (l): their labels, such as "tip Fz" (unit wrenches on interfaces) and "tip z", "tip rz"
      (their motions).
    - `V` (ndof, m): displacements of all dofs for unit coordinates, `u = V q`; None for a full part.

    Units: consistent.
    """

    M: Any
    D: Any
    K: Any
    B: Any
    C: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    V: Float[np.ndarray, "ndof m"] | None = None

    def save(self, path: str | Path) -> list[Path]:
        """Write the matrices to a file of numpy (`.npz`) or MATLAB (`.mat`), or to `part.M.mtx`, `part.D.mtx`, ... of
        Matrix Market (`.mtx`); return the paths.

        numpy and MATLAB hold the labels and V too. `fem.read_matrices` reads the matrices of a full part back.

        Raises `MatrixError` for another ending.
        """
        arrays = {letter: getattr(self, letter) for letter in "MDKBC"}
        if self.V is not None and Path(path).suffix.lower() != ".mtx":
            arrays["V"] = self.V
        labels = {key: np.array(getattr(self, key), dtype=str) for key in ("inputs", "outputs")}
        return write_archive(Path(path), arrays | {key: names for key, names in labels.items() if len(names)})

    def to_pymor(self) -> Any:
        """The system as a `SecondOrderModel` of pyMOR, with its reductors, Gramians and transfer functions.

        Raises `MatrixError` when pyMOR is not installed.
        """
        try:
            from pymor.models.iosys import SecondOrderModel
        except ImportError:
            raise MatrixError("to_pymor needs pyMOR, which is not installed: pip install pymor") from None
        matrices = [sp.csc_matrix(A) if sp.issparse(A) else np.array(A) for A in (self.M, self.D, self.K)]
        maps = [A.toarray() if sp.issparse(A) else np.array(A) for A in (self.B, self.C)]
        return SecondOrderModel.from_matrices(*matrices, *maps, name=self.name or "part")

    def response(self, frequencies: Float[np.ndarray, " f"]) -> Complex[np.ndarray, "f l k"]:
        """The motions of the outputs per unit input at frequencies (cycles per unit of time), rigid motion included.

        Cost: one solve with a dense or sparse matrix for each frequency.
        """
        found = []
        for s in 2j * np.pi * np.asarray(frequencies, dtype=float):
            A = self.M * s**2 + self.D * s + self.K
            if sp.issparse(A):
                found.append(self.C @ splu(sp.csc_matrix(A)).solve(sp.csc_matrix(self.B).toarray() + 0j))
            else:
                found.append(self.C @ np.linalg.solve(A, self.B))
        return np.array(found)

    def __str__(self) -> str:
        kind = "full" if self.V is None else "reduced"
        return (
            f"linear system of {self.name!r}, {kind}: {self.M.shape[0]} coordinates, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs"
        )


def linear_system(
    model: Model,
    basis: Basis | None = None,
    *,
    inputs: Sequence[str | np.ndarray] | None = None,
    outputs: Sequence[str | np.ndarray] | None = None,
    rigid: bool = True,
    modal_damping: float = 0.0,
    rayleigh: tuple[float, float] = (0.0, 0.0),
) -> LinearSystem:
    """The part as a linear system: its matrices, projected on a basis if one is given.

    - `inputs`: interfaces by name (unit forces and moments, six each) and loads (ndof,) or (ndof, k). Default: all
      interfaces.
    - `outputs`: interfaces by name (translations and rotations) and rows (ndof,) or (l, ndof) of your own, such as
      displacements of sensors. Default: the motions on which the inputs do work, `C = B^T`.
    - `rigid`: of a reduced part, six coordinates of rigid motion come first, so that it floats as the full one does.
    - `modal_damping`: ratio of critical damping of the coordinates of the basis; `rayleigh = (alpha, beta)`: alpha M +
      beta K of the elastic motion of a basis, or of the whole for a full part. The damping of the model (`Model.D`) is
      added.

    Raises `MatrixError` for unknown interfaces, maps of a wrong shape, a basis of another model, and modal damping
    without a basis.
    """
    B, names = _map(model, list(model.interfaces) if inputs is None else list(inputs), _DIRECTIONS, "input")
    if not is_number(modal_damping):
        raise MatrixError(f"Model {model.name!r}: modal damping is a finite ratio; found {modal_damping!r}.")
    if outputs is None:
        C, motions = B.T, tuple(_motion(name) for name in names)
    else:
        rows = [a if isinstance(a, str) else np.atleast_2d(a).T for a in outputs]
        C, motions = _map(model, rows, ("x", "y", "z", "rx", "ry", "rz"), "output")
        C = C.T
    D = sp.csr_matrix(model.M.shape) if model.D is None else model.D
    if basis is None:
        if modal_damping:
            raise MatrixError(f"Model {model.name!r}: modal damping belongs to a basis; give one, or rayleigh=...")
        D = sp.csr_matrix(D + rayleigh[0] * model.M + rayleigh[1] * model.K)
        return LinearSystem(model.M, D, model.K, sp.csr_matrix(B), sp.csr_matrix(C), names, motions, model.name)
    if len(basis.Psi) != model.ndof:
        raise MatrixError(f"The basis has {len(basis.Psi)} dofs, the model {model.name!r} has {model.ndof}.")
    R = orthonormal_rigid_motions(model)[0] if rigid else np.zeros((model.ndof, 0))
    V = np.hstack([R, basis.Psi])
    m = R.shape[1]
    M, K, damped = _projected(model, D, V, m)
    own = 2 * modal_damping * np.sqrt(basis.eigenvalues) + rayleigh[0] + rayleigh[1] * basis.eigenvalues
    damped[m:, m:] += np.diag(own)
    return LinearSystem(M, damped, K, V.T @ B, C @ V, names, motions, model.name, V)


def _projected(model: Model, D: sp.csr_matrix, V: np.ndarray, rigid: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`V^T M V`, `V^T K V`, `V^T D V`; the first `rigid` columns of V have no stiffness."""
    M, K, damped = (np.asarray(V.T @ (A @ V)) for A in (model.M, model.K, D))
    K[:rigid], K[:, :rigid] = 0.0, 0.0
    return (M + M.T) / 2, (K + K.T) / 2, damped


def _motion(label: str) -> str:
    place, _, kind = label.rpartition(" ")
    if kind not in _DIRECTIONS:
        return label
    return f"{place} {'r' if kind[0] == 'M' else ''}{kind[1]}"


def _map(
    model: Model, given: Sequence[str | np.ndarray], directions: tuple[str, ...], what: str
) -> tuple[Any, tuple[str, ...]]:
    """Columns (ndof, k), sparse, and their labels."""
    columns: list[Any] = [sp.csr_matrix((model.ndof, 0))]
    labels: list[str] = []
    for item in given:
        if isinstance(item, str):
            if item not in model.interfaces:
                raise MatrixError(f"Model {model.name!r}: " + unknown_name(what, item, model.interfaces))
            columns.append(model.interfaces[item].interface_matrix(model))
            labels += [f"{item} {direction}" for direction in directions]
            continue
        load = np.asarray(item, dtype=float)
        load = load[:, None] if load.ndim == 1 else load
        if load.ndim != 2 or len(load) != model.ndof or not np.isfinite(load).all():
            raise MatrixError(
                f"Model {model.name!r}: an {what} given by numbers should be finite and have {model.ndof} of them a "
                f"column; found shape {np.shape(item)}."
            )
        columns.append(sp.csr_matrix(load))
        labels += [f"{what} {len(labels) + k + 1}" for k in range(load.shape[1])]
    return sp.csr_matrix(sp.hstack(columns)), tuple(labels)
