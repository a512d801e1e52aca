"""The result of every reduction: a basis, what it does at the interfaces, and how it was made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import FlexmbError, InterfaceError, MatrixError, unknown_name
from fem.files.matrix_archive import read_archive, write_archive
from fem.model import Model
from fem.renamed import refuse_old_names, renamed
from fem.shown import shown

TOLERANCE = 1e-8
FORMAT = 1
"""Of the files of `Basis.save`."""
_SAVED = {
    "format": "iu", "Psi": "f", "eigenvalues": "f", "method": "U", "reference_frame": "U", "interfaces": "U",
    "interface_modes": "f", "options": "U",
}  # fmt: skip
"""The arrays of a file, and their kinds as `dtype.kind` has them."""


def _plain(value: Any) -> Any:
    """Values of numpy as those of Python; what a file cannot hold as its text."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


@shown
@renamed(modes="n_modes", attached_to="reference_frame", interface_rows="interface_modes")
@dataclass(frozen=True, eq=False)
class Basis:
    """Elastic shapes `Psi` of a body, mass-orthonormal and stiffness-diagonal, without rigid motion.

    - `Psi` (ndof, m): nodal displacements for unit elastic coordinates; `Psi^T M Psi = I`.
    - `eigenvalues` (m,), ascending: `Psi^T K Psi = diag(eigenvalues)`, squares of angular frequencies (1/time^2).
    - `method`: "Craig-Bampton", "modal", ...
    - `reference_frame`: the interface to which the body frame is attached, where all shapes vanish; None for a
      mean-axis frame (shapes M-orthogonal to the six rigid motions; Buckens, Tisserand).
    - `interface_modes`: for each interface (6, m), `B^T Psi`: translation of its point and rotation for unit elastic
      coordinates, in the axes of the mesh.
    - `options`: arguments of the method, model, solver and wall times in seconds, as plain values; `split` names the
      kind of mode of which the basis has one and leaves out another of the same frequency ("" where it has none).

    Units: consistent.

    Raises `MatrixError` when shapes do not fit each other, numbers are not finite or eigenvalues are not positive and
    ascending; `InterfaceError` when `reference_frame` names no interface.
    """

    Psi: Float[np.ndarray, "ndof m"]
    eigenvalues: Float[np.ndarray, " m"]
    method: str
    reference_frame: str | None
    interface_modes: Mapping[str, Float[np.ndarray, "6 m"]]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = f"{self.method} basis"
        m = len(self.eigenvalues)
        if self.Psi.ndim != 2 or self.Psi.shape[1] != m or m == 0:
            raise MatrixError(f"{what}: Psi of shape {self.Psi.shape} does not go with {m} eigenvalues.")
        if not (np.isfinite(self.Psi).all() and np.isfinite(self.eigenvalues).all()):
            raise MatrixError(f"{what}: holds NaN or infinite values.")
        if not (self.eigenvalues > 0).all() or (np.diff(self.eigenvalues) < 0).any():
            raise MatrixError(
                f"{what}: eigenvalues must be positive and ascending, found {self.eigenvalues}. A value that is not "
                "positive means that a rigid motion is left in the basis."
            )
        for name, rows in self.interface_modes.items():
            if rows.shape != (6, m):
                raise MatrixError(f"{what}: rows of interface {name!r} have shape {rows.shape}, expected (6, {m}).")
            rows.setflags(write=False)
        if self.reference_frame is not None and self.reference_frame not in self.interface_modes:
            raise InterfaceError(f"{what}: " + unknown_name("interface", self.reference_frame, self.interface_modes))
        self.Psi.setflags(write=False)
        self.eigenvalues.setflags(write=False)

    @property
    def n_modes(self) -> int:
        """Number m of elastic coordinates."""
        return len(self.eigenvalues)

    @property
    def frequencies(self) -> Float[np.ndarray, " m"]:
        """Natural frequencies with the reference conditions of this basis (cycles per unit of time)."""
        return np.sqrt(self.eigenvalues) / (2.0 * np.pi)

    def save(self, path: str | Path) -> Path:
        """Write the basis to a numpy archive (`.npz`); return the path. `Basis.load` reads it.

        Raises `MatrixError` for another ending.
        """
        if Path(path).suffix.lower() != ".npz":
            raise MatrixError(f"{path}: a basis is saved as .npz; found the ending {Path(path).suffix!r}.")
        names = list(self.interface_modes)
        content = {
            "format": FORMAT,
            "Psi": self.Psi,
            "eigenvalues": self.eigenvalues,
            "method": self.method,
            "reference_frame": self.reference_frame or "",
            "interfaces": np.array(names, dtype=str),
            "interface_modes": np.array([self.interface_modes[k] for k in names]).reshape(-1, 6, self.n_modes),
            "options": json.dumps(dict(self.options), default=_plain),
        }
        return write_archive(Path(path), content)[0]

    @staticmethod
    def load(path: str | Path, model: Model) -> "Basis":
        """The basis that `save` wrote, for the part that it belongs to.

            basis.save("rod.npz")
            body = flexmb.flexible_body(part, reduction.Basis.load("rod.npz", part))

        Raises `MatrixError` for any other file, and when the basis is not one of this model (`check`): other matrices,
        interfaces or order of nodes.
        """
        found = read_archive(path)
        missing = [name for name in _SAVED if name not in found]
        if missing:
            raise MatrixError(f"{path} is no basis that Basis.save wrote: {', '.join(missing)} missing.")
        wrong = [name for name, kind in _SAVED.items() if found[name].dtype.kind not in kind]
        if wrong:
            raise MatrixError(f"{path}: {wrong[0]} has values of type {found[wrong[0]].dtype}; the file is damaged.")
        texts = {name: found[name] for name in ("format", "method", "reference_frame", "options")}
        wrong = [name for name, value in texts.items() if value.shape != ()]
        if wrong:
            raise MatrixError(f"{path}: {wrong[0]} has shape {texts[wrong[0]].shape}, expected one value.")
        if int(found["format"]) != FORMAT:
            raise MatrixError(f"{path}: expected a basis of format {FORMAT}; found {found['format']}.")
        names, rows = found["interfaces"].ravel().tolist(), found["interface_modes"]
        if rows.ndim != 3 or len(rows) != len(names):
            raise MatrixError(f"{path}: {len(names)} interfaces have maps of shape {rows.shape}; the file is damaged.")
        try:
            basis = Basis(
                np.ascontiguousarray(found["Psi"]),
                np.ravel(found["eigenvalues"]),
                str(found["method"]),
                str(found["reference_frame"]) or None,
                {name: np.ascontiguousarray(r) for name, r in zip(names, rows, strict=True)},
                dict(json.loads(str(found["options"]))),
            )
        except (ValueError, TypeError, RecursionError, FlexmbError) as error:
            raise MatrixError(f"{path}: the basis cannot be read: {error}") from None
        other = set(names) ^ set(model.interfaces)
        if other:
            raise MatrixError(
                f"{path}: the basis has the interfaces {', '.join(names) or 'none'}; model {model.name!r} has "
                f"{', '.join(model.interfaces) or 'none'}."
            )
        try:
            check(basis, model)
        except MatrixError as error:
            raise MatrixError(f"{path}: {error}") from None
        return basis

    def __str__(self) -> str:
        frame = "mean-axis frame" if self.reference_frame is None else f"frame attached to {self.reference_frame!r}"
        f = self.frequencies
        shown = " ".join(f"{value:.5g}" for value in f[:8]) + (f" ... {f[-1]:.5g}" if len(f) > 8 else "")
        lines = [
            f"{self.method} basis of {self.options.get('model') or 'a model'}: {self.n_modes} elastic coordinates for "
            f"{len(self.Psi)} dofs, {frame}",
            f"  frequencies (cycles per unit of time): {shown}",
        ]
        kinds = self.options.get("interfaces", {})
        lines += [f"  interface {name!r} ({kinds.get(name, 'unknown kind')})" for name in self.interface_modes]
        if "error" in self.options:
            band, tolerance = self.options["band"][1], self.options["tolerance"]
            asked = f", {tolerance:.2g} was asked for" if tolerance else ""
            lines.append(
                f"  response over (0, {band:.5g}) within {self.options['error']:.2g} of the full model, at "
                f"{self.options['error_at']:.5g}{asked}"
            )
            lines += [
                f"  not among the inputs: {k!r}, within {v:.2g}" for k, v in self.options["unmeasured_inputs"].items()
            ]
        if self.options.get("split"):
            n = self.options["modes"]
            lines.append(
                f"  the last {self.options['split']} has the frequency of the next one, which is left out, and the "
                f"body is stiffer in one direction: take {n + 1} modes, or {n - 1}"
            )
        for row in self.options.get("candidates", []):
            size = row["coordinates"] or f"more than {row.get('tried')}"
            found = f"{size} coordinates" if row["coordinates"] or "tried" in row else f"failed, {row['why']}"
            lines.append(f"  {row['method']:>14}: {found} ({row['seconds']:.1f} s)")
        if "seconds" in self.options:
            lines.append(
                "  made in " + ", ".join(f"{key} {value:.2f} s" for key, value in self.options["seconds"].items())
            )
        return "\n".join(lines)


def interface_modes(model: Model, Psi: Float[np.ndarray, "ndof m"]) -> dict[str, np.ndarray]:
    """`B^T Psi` (6, m) of every interface of the model."""
    return {name: np.asarray(i.interface_matrix(model).T @ Psi) for name, i in model.interfaces.items()}


def check(basis: Basis, model: Model) -> None:
    """Check that `basis` fits `model`. Raises `MatrixError`, which names the property that does not hold.

    The function checks orthonormality in M and K, the interface modes, the reference condition and, for rigid
    interfaces, that their nodes move as one: all to 1e-8 relative. Cost: one product of M and of K with Psi.
    """
    Psi, scale = basis.Psi, np.sqrt(basis.eigenvalues)
    if len(Psi) != model.ndof:
        raise MatrixError(f"The basis has {len(Psi)} dofs, the model {model.name!r} has {model.ndof}.")
    MPsi = model.M @ Psi
    size = np.abs(Psi).max()
    errors = {
        "Psi^T M Psi = I": _largest(Psi.T @ MPsi - np.eye(basis.n_modes)),
        "Psi^T K Psi = diag(eigenvalues)": _largest(
            (Psi.T @ (model.K @ Psi)) / np.outer(scale, scale) - np.eye(basis.n_modes)
        ),
    }
    for name, interface in model.interfaces.items():
        rows = interface.interface_matrix(model).T @ Psi
        length = np.abs(interface.interface_matrix(model)).max()
        errors[f"rows of interface {name!r} = B^T Psi"] = _largest(rows - basis.interface_modes[name]) / (size * length)
        if interface.kind == "rigid":
            errors[f"the nodes of rigid interface {name!r} move as one"] = deformation(model, name, Psi)
    if basis.reference_frame is None:
        R = model.rigid_body_modes(model.centre_of_mass)
        unit = np.sqrt(np.einsum("ij,ij->j", R, model.M @ R))
        errors["R^T M Psi = 0 (mean-axis frame)"] = _largest(R.T @ MPsi / unit[:, None])
    else:
        B = model.interfaces[basis.reference_frame].interface_matrix(model)
        errors[f"B^T Psi = 0 at {basis.reference_frame!r}"] = _largest(B.T @ Psi) / (size * np.abs(B).max())
    for what, error in errors.items():
        if not error <= TOLERANCE:
            raise MatrixError(f"{basis.method} basis: {what} fails by {error:.1e}, allowed {TOLERANCE:.0e}.")


def deformation(model: Model, name: str, Psi: Float[np.ndarray, "ndof m"]) -> float:
    """The largest displacement of the nodes of an interface beside its rigid motion, relative to the largest of Psi."""
    interface = model.interfaces[name]
    rigid = interface.rigid_body_modes(model) @ (interface.interface_matrix(model).T @ Psi)
    return _largest(Psi[interface.free_dofs(model)] - rigid) / _largest(Psi)


def _largest(array: np.ndarray) -> float:
    return float(np.abs(array).max())


refuse_old_names(__name__)
