"""Mass integrals of a flexible body over arbitrary modes, as other programs write them; conversion to `Body`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.linalg
from jaxtyping import Float

from fem.linear_algebra.eigen import signs_of
from flexmb.bodies.body import Body, BodyInterface
from flexmb.bodies.invariants import InertiaInvariants, inertia_of, second_moments
from flexmb.errors import FileError
from flexmb.spatial.lie import skew

COUPLED = 1e-6
"""Size of off-diagonal modal damping, relative to the largest entry, up to which it counts as round-off."""


@dataclass(frozen=True, eq=False)
class ModalData:
    """Mass integrals over `m` modes that need not be orthonormal, in the body frame.

    The symbols are those of `InertiaInvariants`, except that `J2` (m, m, 3, 3) contains all quadratic terms of the
    inertia tensor, geometric terms included. `M`, `K`, `D` (m, m) are the reduced matrices. `nodes`: from the name of a
    node to its point (3,), its rows (6, m), and their second-order terms (6, m, m) or None.
    """

    mass: float
    s0: Float[np.ndarray, "3"]
    S1: Float[np.ndarray, "3 m"]
    J0: Float[np.ndarray, "3 3"]
    J1: Float[np.ndarray, "m 3 3"]
    J2: Float[np.ndarray, "m m 3 3"]
    h0: Float[np.ndarray, "3 m"]
    h: Float[np.ndarray, "3 m m"]
    SG: Float[np.ndarray, "3 m m"]
    M: Float[np.ndarray, "m m"]
    K: Float[np.ndarray, "m m"]
    D: Float[np.ndarray, "m m"]
    nodes: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]] = field(default_factory=dict)


def data_of(body: Body) -> ModalData:
    """The mass integrals of a body; its geometric terms are added to the integrals of the same shape.

    Raises `FileError` for a body with gyroscopic forces in rigid motion.
    """
    inv, D = body.invariants, np.diag(body.damping)
    if body.velocity_matrix is not None:
        gyroscopic = body.velocity_matrix.copy()
        gyroscopic[6:, 6:] = 0.0
        if gyroscopic.any():
            raise FileError(
                f"Body {body.name!r} has gyroscopic forces in rigid motion, which SID and MBDyn files do not hold; "
                "save it as .h5, .npz or .mat, or without them: dataclasses.replace(body, velocity_matrix=None)."
            )
        D = D + body.velocity_matrix[6:, 6:]
    PG = inv.PG.transpose(2, 3, 0, 1)
    return ModalData(
        mass=inv.mass,
        s0=inv.s0,
        S1=inv.S1,
        J0=inv.J0,
        J1=inv.J1,
        J2=inv.J2 + inertia_of(PG),
        h0=inv.h0,
        h=inv.h,
        SG=inv.SG,
        M=np.eye(body.modes),
        K=np.diag(body.stiffness),
        D=D,
        nodes={name: (i.point, i.rows, i.second) for name, i in body.interfaces.items()},
    )


def body_of(data: ModalData, name: str, path: Path) -> Body:
    """The body of modal data from another program, in mass-orthonormal modes that diagonalise the stiffness.

    Raises `FileError` when the matrices are not those of a free elastic body.
    """
    for letter, matrix in (("mass", data.M), ("stiffness", data.K)):
        if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-6 * np.abs(matrix).max(initial=1e-300):
            raise FileError(f"{path}: the modal {letter} matrix is not symmetric.")
    try:
        stiffness, T = scipy.linalg.eigh(0.5 * (data.K + data.K.T), 0.5 * (data.M + data.M.T))
    except (scipy.linalg.LinAlgError, ValueError) as error:
        raise FileError(f"{path}: the modal mass matrix must be positive definite ({error}).") from None
    if len(stiffness) and stiffness[0] <= 1e-10 * stiffness[-1]:
        raise FileError(
            f"{path}: the softest mode has the stiffness {stiffness[0]:.3g} (largest {stiffness[-1]:.3g}): a rigid "
            "motion is among the modes. The frame of a flexible body carries its rigid motion: export the body without "
            "the six rigid-body modes."
        )
    if np.allclose(data.M, np.eye(len(T)), rtol=0, atol=1e-12) and not (data.K - np.diag(np.diag(data.K))).any():
        order = np.argsort(np.diag(data.K), kind="stable")  # modes that satisfy both conditions remain unchanged
        stiffness, T = np.diag(data.K)[order], np.eye(len(T))[:, order]
    T = T * signs_of(T)
    D = T.T @ data.D @ T
    coupled = np.pad(D - np.diag(np.diag(D)), ((6, 0), (6, 0)))
    couples = np.abs(coupled).max(initial=0.0) > COUPLED * np.abs(D).max(initial=1e-300)
    h = data.h
    if not data.SG.any() and _round_off(h + h.swapaxes(1, 2), h):  # a symmetric part would be geometric stiffness
        h = 0.5 * (h - h.swapaxes(1, 2))
    PG = _across(0.5 * (h + h.swapaxes(1, 2)).transpose(1, 2, 0)).transpose(2, 3, 0, 1)
    J2 = 0.5 * (data.J2 + data.J2.swapaxes(0, 1))
    invariants = InertiaInvariants(
        mass=data.mass, s0=data.s0, S1=data.S1, SG=data.SG, J0=data.J0, J1=data.J1, J2=J2, h0=data.h0, h=h, PG=PG
    )
    interfaces = {name: BodyInterface(*parts).transformed(T) for name, parts in data.nodes.items()}
    largest = np.max([np.zeros(len(T)), *(np.linalg.norm(i.rows[:3], axis=0) for i in interfaces.values())], axis=0)
    return Body(
        name=name,
        invariants=invariants.transformed(T),
        stiffness=stiffness,
        damping=np.diag(D).copy(),
        velocity_matrix=coupled if couples else None,
        interfaces=interfaces,
        deflection=largest,
    )


def first_moments(J1: Float[np.ndarray, "m 3 3"], h0: Float[np.ndarray, "3 m"]) -> Float[np.ndarray, "m 3 3"]:
    """`P1_i = int X Psi_i^T` from its symmetric part, given by the inertia terms `J1`, and its axial vectors `h0`."""
    return 0.5 * second_moments(J1) + _across(h0.T)


def second_products(J2: Float[np.ndarray, "m m 3 3"], h: Float[np.ndarray, "3 m m"]) -> Float[np.ndarray, "m m 3 3"]:
    """`P2_ij = int Psi_i Psi_j^T` from its symmetric part, given by `J2`, and its antisymmetric part, given by `h`."""
    return second_moments(J2) + _across(0.5 * (h - h.swapaxes(1, 2)).transpose(1, 2, 0))


def _across(axial: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """The antisymmetric matrices P with `axial = (P_yz - P_zy, P_zx - P_xz, P_xy - P_yx)`."""
    return -0.5 * np.einsum("...k,kab->...ab", axial, np.array([skew(e) for e in np.eye(3)]))


def _round_off(part: np.ndarray, whole: np.ndarray) -> bool:
    return bool(np.abs(part).max(initial=0.0) <= 1e-9 * np.abs(whole).max(initial=0.0))
