"""Reference conditions: how the body frame follows a deforming body, and bases without rigid motion.

`mean-axis`: shapes M-orthogonal to the rigid motions. Attached: shapes that vanish at one interface. The two differ by
rigid motions of each shape, so together with the rigid motions they span the same space.
Source: Agrawal and Shabana, "Application of deformable-body mean axis to flexible multibody system dynamics",
Comput. Methods Appl. Mech. Eng. 56 (1986) 217-245.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, eigh, solve_triangular

from fem.errors import InterfaceError, MatrixError, unknown_name
from fem.linear_algebra.eigen import signs_of
from fem.model import Model
from reduction.solutions.orthonormal import projection

DEPENDENT = 1e-14
"""Smallest eigenvalue, a column, of a scaled mass matrix whose shapes count as independent."""
ROUND_OFF = 1e-15
"""Smallest ratio, a column, of an elastic eigenvalue to the largest one that is not round-off."""
NO_MASS = 1e-24
"""Mass of a shape, relative to that of the part at the square of its largest displacement, that is round-off."""
RIGID = 1e-5
"""Largest ratio of a rigid motion's eigenvalue to the first elastic one that still counts as none."""

Shapes = Float[np.ndarray, "ndof m"]
Values = Float[np.ndarray, " m"]


def require_interface(model: Model, name: str | None) -> None:
    """Raise InterfaceError if `reference_frame` names no interface of the model; None (mean axes) is always valid."""
    if name is not None and (not isinstance(name, str) or name not in model.interfaces):
        raise InterfaceError(f"Model {model.name!r}: " + unknown_name("interface", name, model.interfaces))


def diagonalise(model: Model, V: Float[np.ndarray, "ndof m"]) -> tuple[Shapes, Values]:
    """Psi (ndof, m) with `Psi^T M Psi = I`, `Psi^T K Psi = diag(eigenvalues)`, ascending, in the span of V. The
    largest entry of each shape is positive (of several as large ones, the first).

    Raises MatrixError when V's columns are dependent, or when rigid motion is left in their span. Cost: a product of M
    and of K with V, and dense problems of size n.
    """
    M, K = projection(model.M, V), projection(model.K, V)
    mass = np.diag(M)
    places = model.dof_map.places(model.dof_map.translations(np.arange(len(model.points))))
    size = np.abs(V[places[places >= 0]]).max(axis=0, initial=0.0)
    if not (mass > NO_MASS * model.mass * size**2).all():
        raise MatrixError(
            f"Model {model.name!r}: a shape of the basis moves no mass beside rigid motion, as interfaces and modes do "
            "of a structure without density that carries point masses. Give its material a density, of a millionth of "
            "these masses, or ask for fewer modes."
        )
    scale = 1.0 / np.sqrt(mass)
    M, K = (A * np.outer(scale, scale) for A in (M, K))
    (smallest,), vector = eigh(M, subset_by_index=[0, 0])
    if smallest < DEPENDENT * len(M):
        involved = np.flatnonzero(np.abs(vector[:, 0]) > 0.1 * np.abs(vector).max())
        raise MatrixError(
            f"Model {model.name!r}: the {len(M)} shapes of the basis are dependent (smallest eigenvalue of their "
            f"scaled mass matrix: {smallest:.1e}; columns involved, counted from 0: "
            f"{', '.join(map(str, involved[:8]))}). Ask for fewer modes, or remove an interface that others imply."
        )
    L = cholesky(M, lower=True)
    K = solve_triangular(L, solve_triangular(L, K, lower=True).T, lower=True)
    values, W = eigh(0.5 * (K + K.T))
    if len(values) and values[0] <= ROUND_OFF * len(M) * values[-1]:
        raise MatrixError(
            f"Model {model.name!r}: the basis holds a motion without stiffness (eigenvalues {values[0]:.1e} to "
            f"{values[-1]:.1e}), or one almost without mass. The body has a hinge or a loose part: connect it, or make "
            "its parts separate bodies; or its mass is in point masses: give its material a density of a millionth of "
            "theirs."
        )
    shapes = V @ (scale[:, None] * solve_triangular(L, W, lower=True, trans="T"))
    shapes *= signs_of(shapes)
    return shapes, values


def attach(model: Model, name: str, V: Float[np.ndarray, "ndof n"]) -> Float[np.ndarray, "ndof n"]:
    """The shapes V relative to a frame attached to interface `name`: each shape less the rigid motion of that
    interface."""
    interface = model.interfaces[name]
    return V - model.rigid_body_modes(interface.point) @ (interface.interface_matrix(model).T @ V)


def require_elastic(model: Model, R: Float[np.ndarray, "ndof 6"], eigenvalues: Values) -> None:
    """Raise MatrixError unless the lowest elastic eigenvalue is well above those of the M-orthonormal rigid motions."""
    largest = float(np.abs(np.linalg.eigvalsh(R.T @ (model.K @ R))).max())
    rounding = 10 * np.finfo(float).eps * float((np.abs(R) * (abs(model.K) @ np.abs(R))).sum(axis=0).max())
    if largest > max(RIGID * eigenvalues[0], rounding):  # a thin part has stiffness far above its bending
        springs = model.acting_on_rigid_motion("stiffness")
        why = (
            f"Springs hold it: {'; '.join(springs[:4])}. Leave them out, and give them to the system."
            if springs
            else ""
        )
        raise MatrixError(
            f"Model {model.name!r}: rigid motion is not free of stiffness (eigenvalue {largest:.2g} beside "
            f"{eigenvalues[0]:.2g} of the first elastic mode). "
            + (why or "The body is held softly, or K was written with too few digits.")
        )
