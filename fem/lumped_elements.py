"""Masses and springs added to a part at its interfaces, without meshing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.axes.limits import floats, is_number
from fem.errors import InterfaceError, MatrixError, unknown_name
from fem.interface import HasPoints, Interface, rigid_motion
from fem.matrices.beam_matrices import SPIN, LineMass, work_of_turning

ASYMMETRIC = 1e-8
"""Asymmetry of an inertia or a stiffness, relative to its entries, that is taken for rounding."""


@dataclass(frozen=True)
class PointMass:
    """A rigid lump that moves with an interface.

    - `mass`; `inertia` (3, 3), or its 3 diagonal entries, about the centre of the lump;
    - `offset` (3,): the centre relative to the point of the interface.

    Mesh axes. Units: consistent. Raises `MatrixError` when mass, inertia or offset are not finite numbers.
    """

    mass: float
    inertia: Any = (0.0, 0.0, 0.0)
    offset: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        J, c = floats(self.inertia), floats(self.offset)
        if not (is_number(self.mass) and J.shape in ((3,), (3, 3)) and c.shape == (3,)):
            raise MatrixError(f"A point mass needs a mass, inertia (3,) or (3, 3) and offset (3,); found {self}.")
        if not (np.isfinite(J).all() and np.isfinite(c).all()):
            raise MatrixError(f"A point mass needs finite numbers; found {self}.")

    def matrix(self, name: str) -> np.ndarray:
        """Mass matrix (6, 6) about the interface's point, of [translation; rotation].

        Raises `MatrixError` when mass and inertia are not those of any solid.
        """
        J, c = np.asarray(self.inertia, dtype=float), np.asarray(self.offset, dtype=float)
        J = np.diag(J) if J.shape == (3,) else J
        principal = np.linalg.eigvalsh(0.5 * (J + J.T))
        if (
            self.mass < 0
            or np.abs(J - J.T).max() > ASYMMETRIC * np.abs(J).max()
            or principal[0] < -1e-12 * abs(principal[2])
            or principal[2] > (principal[:2].sum()) * (1 + 1e-9)
        ):
            raise MatrixError(
                f"The mass added at {name!r} is not physical: mass {self.mass}, principal moments of inertia "
                f"{principal}. The mass must not be negative, the moments neither, and none may exceed the sum of the "
                "others."
            )
        lever = rigid_motion(c[None], np.zeros(3))
        M = self.mass * lever.T @ lever
        M[3:, 3:] += J
        return M


@dataclass(frozen=True)
class Spring:
    """A massless elastic connection between two interfaces.

    `stiffness` (6, 6), symmetric and not negative, or its 6 diagonal entries, acts on the motion [translation;
    rotation] of `b` relative to `a`, at the point of `b`, in mesh axes. Units: consistent.
    """

    a: str
    b: str
    stiffness: Any

    def matrix(self) -> np.ndarray:
        """The stiffness as (6, 6). Raises `MatrixError` when it is not symmetric, or has a negative eigenvalue."""
        given = floats(self.stiffness)
        k = np.diag(given) if given.shape == (6,) else given
        if (
            k.shape != (6, 6)
            or not np.isfinite(k).all()
            or np.abs(_unit_diagonal(k - k.T, k)).max() > ASYMMETRIC
            or np.linalg.eigvalsh(_unit_diagonal(k, k))[0] < -1e-9
        ):
            raise MatrixError(
                f"The spring between {self.a!r} and {self.b!r} needs a symmetric stiffness without negative "
                f"eigenvalues, (6, 6) or its 6 diagonal entries; found shape {given.shape}."
            )
        return k


@dataclass(frozen=True, eq=False)
class Lump:
    """A `PointMass` at an interface of a part, a rigid body that moves with it; axes of the mesh.

    - `mass`, `centre` (3,), `inertia` (3, 3) about it; `arm` (3,): the centre relative to the point of the interface;
    - `motion` (n_all, 6), sparse: `motion^T u` is the translation of the centre, and the rotation, for `u` of all dofs;
    - `dofs` (k, 3): translations of the nodes of the interface among these; `levers` (k, 3): the nodes relative to its
      point.
    """

    mass: float
    centre: Float[np.ndarray, "3"]
    inertia: Float[np.ndarray, "3 3"]
    arm: Float[np.ndarray, "3"]
    motion: sp.csr_matrix
    dofs: Int[np.ndarray, "k 3"]
    levers: Float[np.ndarray, "k 3"]

    @property
    def mass_matrix(self) -> sp.csr_matrix:
        """Mass matrix over the dofs of all nodes."""
        own = np.zeros((6, 6))
        own[:3, :3], own[3:, 3:] = self.mass * np.eye(3), self.inertia
        return sp.csr_matrix(self.motion @ sp.csr_matrix(own) @ self.motion.T)

    def line_mass(self, u: Float[np.ndarray, "n_all k"]) -> LineMass:
        """The lump as a point, with the fields `u` there."""
        moved = (self.motion.T @ u)[None]
        return LineMass(np.array([self.mass]), self.centre[None], moved[:, :3], moved[:, 3:], self.inertia[None])

    def moment_loads(self) -> Float[np.ndarray, "n_all 9"]:
        """Forces of the accelerations `X_a e_b` of its mass, column 3 a + b."""
        return np.asarray(self.motion @ self._loads[:, 3:])

    def second_moments(self, u: Float[np.ndarray, "n_all m"]) -> Float[np.ndarray, "12 m m"]:
        """Work of the forces of the accelerations e_b, and `X_a e_b`, on what the second-order motion of the centre has
        beside the mean of that of the nodes: it turns about the point of the interface, as they do."""
        theta = (self.motion.T @ u)[None, 3:]
        own = work_of_turning(self.arm[None], theta, self._loads[None, :3])
        forces = (self.motion @ self._loads)[self.dofs]
        return own - work_of_turning(self.levers, np.repeat(theta, len(self.levers), axis=0), forces)

    @property
    def _loads(self) -> np.ndarray:
        """Force and moment about the centre (6, 12) of the accelerations e_b, and `X_a e_b`."""
        spread = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia  # int y y^T
        loads = np.zeros((6, 4, 3))
        loads[:3] = self.mass * np.eye(3)[:, None] * np.append(1.0, self.centre)[:, None]
        loads[3:, 1:] = np.einsum("ay,cby->cab", spread, SPIN)
        return loads.reshape(6, 12)

    def placed(self, dofs: Int[np.ndarray, " n_all"], size: int) -> "Lump":
        """The same lump where the part's dofs of all nodes are `dofs` of `size`."""
        motion = self.motion.tocoo()
        moved = sp.csr_matrix((motion.data, (dofs[motion.row], motion.col)), shape=(size, 6))
        return replace(self, motion=moved, dofs=dofs[self.dofs])


def lumps_of(model: HasPoints, interfaces: Mapping[str, Interface], masses: Mapping[str, PointMass]) -> list[Lump]:
    """The lumps of `masses` at interfaces."""
    found = []
    for name, lump in masses.items():
        interface = _interface(interfaces, name)
        M, arm, point = lump.matrix(name), np.asarray(lump.offset, dtype=float), np.asarray(interface.point)
        to_centre = rigid_motion(arm[None], np.zeros(3))
        turned = np.vstack([to_centre, np.hstack([np.zeros((3, 3)), np.eye(3)])])
        motion = sp.csr_matrix(interface.nodal_matrix(model) @ sp.csr_matrix(turned.T))
        inertia = M[3:, 3:] - lump.mass * to_centre[:, 3:].T @ to_centre[:, 3:]
        dofs, levers = interface.translation_dofs.reshape(-1, 3), model.points[interface.nodes] - point
        found.append(Lump(float(lump.mass), point + arm, inertia, arm, motion, dofs, levers))
    return found


def added_stiffness(model: HasPoints, interfaces: Mapping[str, Interface], springs: Sequence[Spring]) -> sp.csr_matrix:
    """Stiffness matrix of the springs, over the dofs of all nodes; rigid motion is free."""
    total = sp.csr_matrix((model.dof_map.size_of_all,) * 2)
    for spring in springs:
        a, b = (_interface(interfaces, name) for name in (spring.a, spring.b))
        moved = np.eye(6)
        moved[:3, 3:] = rigid_motion(np.asarray(b.point)[None], np.asarray(a.point))[
            :, 3:
        ]  # motion of b when it moves with a
        C = b.nodal_matrix(model) - a.nodal_matrix(model) @ sp.csr_matrix(moved.T)
        total = total + C @ sp.csr_matrix(spring.matrix()) @ C.T
    return sp.csr_matrix(total)


def _interface(interfaces: Mapping[str, Interface], name: str) -> Interface:
    if name not in interfaces:
        raise InterfaceError(unknown_name("interface", name, interfaces))
    return interfaces[name]


def _unit_diagonal(A: np.ndarray, k: np.ndarray) -> np.ndarray:
    """A matrix (6, 6) of forces and moments without units: scaled by what makes the entries of the diagonal of `k` one,
    or minus one, and where they are zero the largest beside them."""
    diagonal = np.abs(np.diag(k))
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    coupled = (np.abs(k) * scale).max(axis=1)
    scale = np.where((diagonal <= 0) & (coupled > 0), 1 / np.where(coupled > 0, coupled, 1.0), scale)
    return np.asarray(A * np.outer(scale, scale))
