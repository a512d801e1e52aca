"""The quality of a basis, measured by the natural modes of the full model and by effective masses."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.axes.limits import is_whole
from fem.errors import MatrixError
from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from fem.renamed import refuse_old_names
from reduction.basis import Basis
from reduction.error.reference_frame import attach, diagonalise
from reduction.solutions.statics import elastic, statics
from reduction.solutions.vibration import free_vibration, select_modes

SAME = 1e-3
"""Full modes whose relative distance in frequency is below this count as one when modes are matched, because any
combination of repeated modes is a mode."""
LIKE = 0.5
"""Share of a mode in another one from which they count as the same."""
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class ModeComparison:
    """Comparison of a basis with the full model.

    - `frequencies`, `full_frequencies` (k,): natural frequencies of the free reduced body and of the free full model
      (cycles per unit of time), ascending; `relative_errors` (k,) of the first, which are not negative but for
      round-off.
    - `mac` (k, k): modal assurance criterion, `(phi_i^T M full_j)^2` of M-normalised modes; reduced modes in rows.
    - `effective_masses`: for each interface (m, 6), the effective masses of the reduced body's modes with that
      interface fixed, for base motions x, y, z and rotations about its point. `rigid_masses` (6,): mass and moments of
      inertia to which they converge as modes are added, less the share of the nodes that do not move.

    Units: consistent.
    """

    name: str
    frequencies: Float[np.ndarray, " k"]
    full_frequencies: Float[np.ndarray, " k"]
    mac: Float[np.ndarray, "k k"]
    effective_masses: Mapping[str, Float[np.ndarray, "m 6"]]
    rigid_masses: Mapping[str, Float[np.ndarray, "6"]]

    def __post_init__(self) -> None:
        for array in (self.frequencies, self.full_frequencies, self.mac):
            array.setflags(write=False)

    @property
    def relative_errors(self) -> Float[np.ndarray, " k"]:
        """`frequencies / full_frequencies - 1`."""
        return self.frequencies / self.full_frequencies - 1.0

    @property
    def shares(self) -> Float[np.ndarray, "k k"]:
        """The part of each reduced mode that lies in the span of the full modes of one frequency (within SAME): the
        MAC, also valid for repeated frequencies. Reduced modes in rows, full ones in columns."""
        f = self.full_frequencies
        return np.asarray(self.mac @ (np.abs(f[:, None] / f[None, :] - 1.0) < SAME))

    @property
    def matched(self) -> Float[np.ndarray, " k"]:
        """The share of each reduced mode in the full modes of its number."""
        return np.diagonal(self.shares)

    def __str__(self) -> str:
        """Each reduced mode beside the full mode that it is, whatever the number of that; modes need not be in order
        where the basis lacks those that its inputs do not move."""
        lines = [self.name, "  mode   reduced      full         error     MAC     number of the full mode"]
        shares = self.shares
        for k, (f, row) in enumerate(zip(self.frequencies, shares, strict=True)):
            full = k if row[k] >= LIKE else int(row.argmax())
            start = f"  {k + 1:4d}   {f:<11.6g}  "
            if row[full] >= LIKE:
                g = self.full_frequencies[full]
                lines.append(f"{start}{g:<11.6g}  {f / g - 1.0:8.1e}  {row[full]:.4f}  {full + 1}")
            else:
                lines.append(f"{start}none of the {len(row)} lowest is like it (MAC at most {row.max():.2f})")
        lacking = self.full_frequencies[self.mac.sum(axis=0) < LIKE]
        if len(lacking):
            lines.append(f"  full modes that are not among them: {', '.join(f'{g:.6g}' for g in lacking)}")
        for name, masses in self.effective_masses.items():
            share = masses.sum(axis=0) / self.rigid_masses[name]
            text = ", ".join(f"{d} {100 * s:.1f} %" for d, s in zip(DIRECTIONS, share, strict=True))
            lines.append(f"  effective mass held at {name!r}: {text}")
        return "\n".join(lines)


@one_openblas_thread()
def compare_modes(model: Model, basis: Basis, count: int | None = None) -> ModeComparison:
    """Compare `basis` with the free full `model` at its `count` lowest natural modes (default: 10, or m if fewer).

    The full model has the same rigid interfaces (RBE2). Cost: one factorisation (none in a `prepared` block) and 5 to 7
    solves for each mode. Source of effective masses: Wijker, Mechanical Vibrations in Spacecraft Design (2004), chapter
    16.

    Raises `MatrixError` when the basis does not belong to this model, or has fewer modes than `count`.
    """
    if len(basis.Psi) != model.ndof:
        raise MatrixError(f"The basis has {len(basis.Psi)} dofs, the model {model.name!r} has {model.ndof}.")
    count = min(10, basis.n_modes) if count is None else count
    if not is_whole(count) or not 1 <= count <= basis.n_modes:
        raise MatrixError(f"The basis has {basis.n_modes} modes to compare; asked for {count}.")
    body = statics(model)
    values, full = select_modes(free_vibration(body), count, 0.0)
    body.release()
    free, reduced_values = diagonalise(model, elastic(body, np.asarray(basis.Psi)))
    masses, rigid = {}, {}
    for name, interface in model.interfaces.items():
        motion = model.rigid_body_modes(interface.point)
        base = model.M @ motion
        rigid[name] = np.einsum("ij,ij->j", base, motion)
        masses[name] = (diagonalise(model, attach(model, name, basis.Psi))[0].T @ base) ** 2
    return ModeComparison(
        name=str(basis).splitlines()[0],
        frequencies=np.sqrt(reduced_values[:count]) / (2 * np.pi),
        full_frequencies=np.sqrt(values) / (2 * np.pi),
        mac=(free[:, :count].T @ (model.M @ full)) ** 2,
        effective_masses=masses,
        rigid_masses=rigid,
    )


refuse_old_names(__name__)
