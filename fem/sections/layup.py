"""Layups of shells: plies, and the stiffness of their section with its stresses of transverse shear.

The transverse shear stiffness follows from the energy of the shear stresses that are in equilibrium with bending
stresses when a moment varies along x or along y, with no normal force: for one layer the factor is 5/6, and the stress
a parabola. Source: Rolfes and Rohwer, "Improved transverse shear stresses in composite finite elements based on first
order shear deformation theory", Int. J. Numer. Meth. Engng 40 (1997) 51-60.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fem.axes.limits import is_number
from fem.errors import MaterialError
from fem.material import Material, required_density

_XI, _W = np.polynomial.legendre.leggauss(3)
MIDDLE = 1e-9
"""Distance from the middle of a section, relative to half of its thickness, that is taken for rounding."""
ALIKE = 1e-9
"""Difference between the stiffnesses of two plies, relative to the largest, that is taken for rounding."""
COUPLED = 1e-9
"""Stiffness between stretch and transverse shear, relative to that of stretch, that is taken for rounding."""


@dataclass(frozen=True)
class Ply:
    """A layer of a shell: its `material`, `thickness`, and `angle`, in degrees, from the shell's `x_axis` to the first
    axis of the material, by the right-hand rule about the normal.

    Raises `MaterialError` when thickness or angle are not usable, or the plane of the ply is not a plane of symmetry of
    its material.
    """

    material: Material
    thickness: float
    angle: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.material, Material):
            raise MaterialError(f"A ply needs a fem.Material; found {type(self.material).__name__}.")
        if not (is_number(self.thickness) and self.thickness > 0):
            raise MaterialError(f"A ply's thickness must be positive and finite; found {self.thickness}.")
        if not is_number(self.angle):
            raise MaterialError(f"A ply's angle must be finite, in degrees; found {self.angle}.")
        if self.material.axes is not None:
            raise MaterialError(
                f"Material {self.material.name!r} has axes of its own, which are for solids: give them as the "
                "x_axis of the shell."
            )
        C = self.material.elasticity
        coupling = np.abs(C[np.ix_([0, 1, 2, 3], [4, 5])]).max()
        if coupling > COUPLED * C[0, 0]:
            raise MaterialError(
                f"Material {self.material.name!r} couples stretch with transverse shear (a stiffness of "
                f"{coupling:.3g}): the plane of a shell must be a plane of symmetry of its material. Turn the material."
            )

    @cached_property
    def own(self) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "2 2"]]:
        """Plane stress xx, yy, xy and transverse shear stress xz, yz per engineering strain, in the material's axes."""
        C = self.material.elasticity
        plane = C - np.outer(C[:, 2], C[2]) / C[2, 2]
        return plane[np.ix_([0, 1, 3], [0, 1, 3])], C[np.ix_([5, 4], [5, 4])]

    @cached_property
    def turned(self) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "2 2"]]:
        """The same in the axes of the shell."""
        T, R = turn_of_strains(self.angle)
        Q, G = self.own
        return T.T @ Q @ T, R.T @ G @ R


def turn_of_strains(angle: float) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "2 2"]]:
    """Matrices from engineering strains xx, yy, xy and xz, yz to axes turned by `angle` (degrees) about z."""
    c, s = float(np.cos(np.deg2rad(angle))), float(np.sin(np.deg2rad(angle)))
    plane = np.array([[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2 * c * s, 2 * c * s, c * c - s * s]])
    return plane, np.array([[c, s], [-s, c]])


@dataclass(frozen=True, eq=False)
class Layup:
    """The section of a shell of `plies`, from the bottom to the top, about its middle; with bending and shear stiffness
    relative to theirs, and a mass added to a unit area of the middle. A stiffness `given` (8, 8) stands in the place of
    theirs."""

    plies: tuple[Ply, ...]
    bending_ratio: float = 1.0
    shear_ratio: float | tuple[float, float] = 1.0
    added_mass: float = 0.0
    given: tuple[tuple[float, ...], ...] | None = None

    @cached_property
    def heights(self) -> Float[np.ndarray, " faces"]:
        """Heights of the bottom, of the faces between plies, and of the top."""
        z = np.concatenate([[0.0], np.cumsum([ply.thickness for ply in self.plies])])
        return np.asarray(z - z[-1] / 2)

    @cached_property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Plies and heights at which the stresses of the section may be largest, from the bottom to the top: bottom,
        middle and top, and both sides of each face at which stresses jump, that of the stiffer ply first."""
        z, found = self.heights.tolist(), []
        for k in range(1, len(self.plies)):
            below, above = (self.plies[i].turned[0] for i in (k - 1, k))
            rounding = ALIKE * float(np.abs(below).max())
            if self.given is None and np.abs(below - above).max() > rounding:
                sides = [(k - 1, z[k]), (k, z[k])]
                found += sides if np.trace(below) >= np.trace(above) - rounding else sides[::-1]
        if not any(abs(height) < MIDDLE * z[-1] for _, height in found):
            found.append((int(np.clip(np.searchsorted(z, 0.0) - 1, 0, len(self.plies) - 1)), 0.0))
        ends = (0, z[0]), (len(self.plies) - 1, z[-1])
        return ends[0], *sorted(found, key=lambda level: level[1]), ends[1]

    @cached_property
    def _ABD(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        z = self.heights
        Q = np.array([ply.turned[0] for ply in self.plies])
        A, B, D = (np.einsum("p,pij->ij", np.diff(z**k) / k, Q) for k in (1, 2, 3))
        if len(self.plies) == 1:
            B = np.zeros((3, 3))
        return A, B, D

    @cached_property
    def _bending_stress(self) -> tuple[np.ndarray, np.ndarray]:
        """Strain of the middle and curvature of a unit moment without normal force."""
        A, B, D = self._ABD
        follow = -np.linalg.solve(A, B)
        curvature = np.linalg.inv(D + B @ follow)
        return follow @ curvature, curvature

    def _running(self, ply: int, z: float) -> np.ndarray:
        """Integral of the bending stresses of unit moments from the bottom to the height z in a ply: (3, 3)."""
        middle, curvature = self._bending_stress
        total = np.zeros((3, 3))
        for k in range(ply + 1):
            a, b = self.heights[k], self.heights[k + 1] if k < ply else z
            total += self.plies[k].turned[0] @ ((b - a) * middle + (b * b - a * a) / 2 * curvature)
        return total

    def shear_stress(self, ply: int, z: float) -> Float[np.ndarray, "2 2"]:
        """Transverse shear stresses xz, yz at the height z in a ply, for unit shear forces x, y."""
        F = self._running(ply, z)
        return -np.array([[F[0, 0], F[2, 1]], [F[2, 0], F[1, 1]]])

    @cached_property
    def shear_stiffness(self) -> Float[np.ndarray, "2 2"]:
        """Shear forces per shear strain."""
        flexible = np.zeros((2, 2))
        for k, ply in enumerate(self.plies):
            compliance = np.linalg.inv(ply.turned[1])
            a, b = self.heights[k], self.heights[k + 1]
            for xi, w in zip(_XI, _W, strict=True):
                F = self.shear_stress(k, (a + b) / 2 + xi * (b - a) / 2)
                flexible += w * (b - a) / 2 * F.T @ compliance @ F
        ratio = np.sqrt(np.broadcast_to(self.shear_ratio, 2))
        return np.outer(ratio, ratio) * np.linalg.inv(flexible)

    @cached_property
    def stiffness(self) -> Float[np.ndarray, "8 8"]:
        """Forces xx, yy, xy, moments xx, yy, xy and shear forces x, y per strain, curvature and shear strain.

        Raises `MaterialError` when a bending stiffness that is reduced leaves some motion without energy.
        """
        C = self._of_plies() if self.given is None else np.array(self.given)
        C.setflags(write=False)
        return C

    def _of_plies(self) -> Float[np.ndarray, "8 8"]:
        A, B, D = self._ABD
        C = np.zeros((8, 8))
        C[:3, :3], C[:3, 3:6], C[3:6, :3], C[3:6, 3:6] = A, B, B, self.bending_ratio * D
        C[6:, 6:] = self.shear_stiffness
        C = (C + C.T) / 2
        if self.bending_ratio < 1 and not np.linalg.eigvalsh(C)[0] > 0:
            raise MaterialError(
                f"The bending_ratio {self.bending_ratio} leaves a layup that couples stretch and bending without "
                "stiffness in some motion. Take a larger one, or a symmetric layup."
            )
        return C

    def stresses(self, ply: int, z: float) -> Float[np.ndarray, "5 8"]:
        """Stresses xx, yy, xy, xz, yz at the height z in a ply per strain, curvature and shear strain. Those of a
        stiffness that is given are of a homogeneous sheet with the same forces and moments, whose moment of inertia is
        `bending_ratio` h^3 / 12."""
        if self.given is not None:
            h = self.heights[-1] - self.heights[0]
            C, bending = self.stiffness, 12 * z / (self.bending_ratio * h**3)
            return np.concatenate([C[:3] / h + bending * C[3:6], 1.5 / h * (1 - 4 * z**2 / h**2) * C[6:]])
        Q = self.plies[ply].turned[0]
        found = np.zeros((5, 8))
        found[:3, :3], found[:3, 3:6] = Q, z * Q
        found[3:, 6:] = self.shear_stress(ply, z) @ self.shear_stiffness
        return found

    @property
    def mean_shear_stiffness(self) -> float:
        """Stiffness against shear in the plane, averaged over all directions in it: it does not depend on the axes of
        the shell, and is G h for an isotropic material."""
        A = self.stiffness[:3, :3]
        return float(A[0, 0] + A[1, 1] - 2 * A[0, 1] + 4 * A[2, 2]) / 8

    @property
    def inertia(self) -> tuple[float, float, float]:
        """Mass of a unit area, and its first and second moment about the middle; where a stiffness is given, the mass
        has its centre there, and its radius of gyration.

        Raises `MaterialError` when a material has no density, unless none has and an added mass stands for them.
        """
        z = self.heights
        if not self.added_mass or any(ply.material.density is not None for ply in self.plies):
            for ply in self.plies:
                required_density(ply.material.name, ply.material.density, "Shell material")
        rho = np.array([float(ply.material.density or 0.0) for ply in self.plies])
        first, second, third = (float(rho @ (np.diff(z**k) / k)) for k in (1, 2, 3))
        if self.given is not None:
            A, D = (self.stiffness[k, k] + self.stiffness[k + 1, k + 1] for k in (0, 3))
            return first + self.added_mass, 0.0, first * float(D / A)
        return first + self.added_mass, second if len(self.plies) > 1 else 0.0, third
