"""Forces of a body that are linear in its velocities beyond the diagonal damping: coupled damping, gyroscopic terms."""

import numpy as np
from jaxtyping import Float

from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis

ACTIVE = 1e-9
"""Power supplied, relative to the largest entry, that counts as round-off."""
UNCOUPLED = 1e-9
"""Entries beside the diagonal, relative to the largest, that count as none."""


def reduced_damping(model: Model, basis: Basis) -> tuple[np.ndarray, np.ndarray | None]:
    """The damping matrix of a model in the velocities of a body: the diagonal (m,) of its elastic part, and
    the velocity matrix (6 + m, 6 + m) of the rest, None for a rest of zero.

    Rigid velocities enter by the antisymmetric part only: damping does not resist rigid motion.
    """
    W = np.hstack([model.rigid_body_modes(), basis.Psi])
    C = np.asarray(W.T @ (model.D @ W))
    even, odd = 0.5 * (C + C.T), 0.5 * (C - C.T)
    even[:6], even[:, :6] = 0.0, 0.0
    diagonal = np.diag(even)[6:].copy()
    diagonal[np.abs(diagonal) <= ACTIVE * np.abs(C[6:, 6:]).max()] = 0.0
    unit = np.concatenate([_sizes(model), np.ones(basis.n_modes)])
    rest = even - np.diag(np.diag(even)) + odd
    scaled = rest * np.outer(unit, unit)
    if np.abs(scaled).max() <= UNCOUPLED * np.abs(diagonal).max(initial=0.0):
        return diagonal, None
    return diagonal, rest


def _sizes(model: Model) -> np.ndarray:
    """Reciprocals (6,) of the roots of mass and inertia: rigid velocities beside mass-orthonormal rates."""
    return np.asarray(np.repeat([model.mass, np.trace(model.inertia()) / 3], 3) ** -0.5)


def sound_velocity_matrix(C: Float[np.ndarray, "n n"], damping: Float[np.ndarray, " m"], name: str) -> np.ndarray:
    """A read-only copy of the velocity matrix of a body with the diagonal `damping` (m,).

    Raises `MatrixError` for a wrong shape, entries that are not finite, damping of rigid motion, and damping that
    supplies energy.
    """
    C = np.array(C, dtype=float)
    n = 6 + len(damping)
    if C.shape != (n, n) or not np.isfinite(C).all():
        raise MatrixError(
            f"Body {name!r}: the velocity matrix has shape {C.shape}; expected finite numbers of shape ({n}, {n})."
        )
    even = 0.5 * (C + C.T)
    if np.abs(even[:6]).max() > ACTIVE * np.abs(C).max():
        raise MatrixError(
            f"Body {name!r}: the symmetric part of its velocity matrix damps rigid motion (largest entry "
            f"{np.abs(even[:6]).max():.3g}); give dampers to the system, and drag to its elements."
        )
    whole = even[6:, 6:] + np.diag(damping)
    smallest = np.linalg.eigvalsh(whole)[0] if len(damping) else 0.0
    if smallest < -ACTIVE * np.abs(whole).max(initial=0.0):
        raise MatrixError(
            f"Body {name!r}: the damping of its velocity matrix has the eigenvalue {smallest:.3g}, which would supply "
            "energy."
        )
    even[:6], even[:, :6] = 0.0, 0.0
    C = even + 0.5 * (C - C.T)
    C.setflags(write=False)
    return C
