"""Shells: materials with thicknesses, for triangles and quadrilaterals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fem.axes.cylindrical import CylindricalAxes
from fem.axes.limits import LARGEST, floats, is_number, within_limits
from fem.axes.sides import SideAxes
from fem.errors import MaterialError
from fem.material import Material
from fem.sections.layup import Layup, Ply
from fem.shown import shown

SYMMETRIC = 1e-9
"""Asymmetry, or lowest eigenvalue, of a stiffness with ones on its diagonal that is taken for rounding."""
DRILLING = 1e-4
"""Default stiffness against rotation about the normal, relative to that of shear in the plane."""


@shown
@dataclass(frozen=True)
class Shell:
    """Material and thickness of shell cells: Reissner and Mindlin's kinematics, plane stress, shear factor 5/6.

    - `thickness`; `offset`: distance of the middle surface from the nodes along the normal, which is that of the
      right-hand rule about the nodes of a cell.
    - `x_axis` (3,): direction, projected onto each cell, of the first axis of the material; needed where the material
      is not isotropic in the plane of the shell. `fem.CylindricalAxes`, whose first axis counts at the middle of each
      cell, or `fem.SideAxes`, along the first side of each cell, give it cell by cell.
    - `drilling`: stiffness against rotation of the nodes about the normal relative to that of the surface, as a part of
      the shear stiffness G h, averaged over the directions in the plane. It is a number of the discretisation: without
      it this rotation is free in flat shells; from 1e-6 to 1e-3 results hardly depend on it.
    - `plies`: layers of a shell made by `Shell.layup`.
    - `bending_ratio`, `shear_ratio`: bending and transverse shear stiffness relative to those of the layers (of a
      sandwich, a corrugated or stiffened sheet), the latter also by two numbers, along the first and the second axis;
      `added_mass`: mass of a unit area of the middle surface beside that of the material, or all of it where the
      material has no density.
    - `stiffness` (8, 8), symmetric: forces xx, yy, xy, moments xx, yy, xy (of stresses times their height along the
      normal) and shear forces x, y of a unit length per strain of the middle surface, curvature and shear strain, in
      the place of those of the layers: of a stiffened or corrugated sheet, or a layup whose layers are not known. The
      density acts over the thickness; its rotary inertia has the radius of gyration sqrt(D / A) of the stiffness, A
      and D the means along x and y. Stresses are those of a homogeneous sheet with the same forces and moments, of the
      thickness h and the moment of inertia `bending_ratio` h^3 / 12, on which the stiffness does not depend.

        fem.Shell(aluminium, 2e-3, x_axis=(1, 0, 0), stiffness=C)

    Nodes of shells have six dofs. A shell that ends at a node of solid cells is hinged there: connect it by a rigid
    link or an average interface, or let it extend along the solid.

    Raises `MaterialError` when a number or an axis is not usable.
    """

    material: Material
    thickness: float
    offset: float = 0.0
    x_axis: tuple[float, float, float] | CylindricalAxes | SideAxes | None = None
    drilling: float = DRILLING
    plies: tuple[Ply, ...] = ()
    bending_ratio: float = 1.0
    shear_ratio: float | tuple[float, float] = 1.0
    added_mass: float = 0.0
    stiffness: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.material, Material):
            raise MaterialError(f"A shell needs a fem.Material; found {type(self.material).__name__}.")
        for name in ("thickness", "drilling", "bending_ratio", "shear_ratio"):
            value = getattr(self, name)
            found = floats(value)
            usable = ((), (2,)) if name == "shear_ratio" else ((),)
            if not (np.isfinite(found).all() and (found > 0).all() and found.shape in usable):
                raise MaterialError(f"A shell's {name} must be positive and finite; found {value}.")
        if not (is_number(self.added_mass) and self.added_mass >= 0):
            raise MaterialError(f"A shell's added_mass must be finite and not negative; found {self.added_mass}.")
        if not is_number(self.offset):
            raise MaterialError(f"A shell's offset must be finite; found {self.offset}.")
        if not np.iterable(self.plies) or not all(isinstance(ply, Ply) for ply in self.plies):
            raise MaterialError(f"A shell's plies are fem.Ply records; found {self.plies!r}.")
        if self.plies and abs(sum(ply.thickness for ply in self.plies) - self.thickness) > 1e-9 * self.thickness:
            raise MaterialError(
                f"A shell's thickness {self.thickness} is not that of its plies, "
                f"{sum(ply.thickness for ply in self.plies):.9g}; fem.Shell.layup(plies) adds them."
            )
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", self._checked_stiffness())
        isotropic = self._isotropic  # made of plies, which check their materials
        if isinstance(self.x_axis, CylindricalAxes | SideAxes):
            pass
        elif self.x_axis is not None:
            x = floats(self.x_axis)
            if x.shape != (3,) or not within_limits(x) or not np.linalg.norm(x) > 0:
                raise MaterialError(
                    f"A shell's x_axis needs three finite numbers of at most {LARGEST:.0e}, not all zero; found "
                    f"{self.x_axis}."
                )
        elif not isotropic:
            what = "The layup" if self.plies else f"Material {self.material.name!r}"
            raise MaterialError(
                f"{what} is not isotropic in the plane of the shell: give x_axis=(...), the direction of its first "
                "axis."
            )

    def __str__(self) -> str:
        own = ", ".join(f"{p.thickness:.6g} {p.material.name} {p.angle:g} deg" for p in self.plies)
        given = ", of a given stiffness" if self.stiffness is not None else ""
        what = f"layup of {len(self.plies)} plies ({own})" if self.plies else f"shell of {self.material.name}"
        return f"{what}, thickness {self.thickness:.6g}, offset {self.offset:.6g}{given}"

    @staticmethod
    def layup(
        plies: Sequence[Ply],
        x_axis: tuple[float, float, float] | CylindricalAxes | SideAxes | None = None,
        offset: float = 0.0,
        drilling: float = DRILLING,
        added_mass: float = 0.0,
    ) -> "Shell":
        """A shell of `fem.Ply` layers, from the bottom to the top along the normal.

            fem.Shell.layup([fem.Ply(carbon, 1e-3, 0), fem.Ply(carbon, 1e-3, 90)], x_axis=(1, 0, 0))

        Angles are from `x_axis`; see `Shell` for `offset` (of the middle of the layup), `drilling` and `added_mass`.
        Raises `MaterialError` without plies, and when a number or an axis is not usable.
        """
        plies = tuple(plies) if np.iterable(plies) else (plies,)
        wrong = [type(p).__name__ for p in plies if not isinstance(p, Ply)]
        if wrong or not plies:
            raise MaterialError(f"A layup needs fem.Ply records; found {', '.join(wrong) or 'none'}.")
        thickness = sum(ply.thickness for ply in plies)
        return Shell(plies[0].material, thickness, offset, x_axis, drilling, plies, added_mass=added_mass)

    @property
    def name(self) -> str:
        """Name of the material, for a layup that of its first ply."""
        return self.material.name

    @property
    def density(self) -> float | None:
        """Density of the material, for a layup the mean one; None where plies lack it. `added_mass` may stand for that
        of all plies, not of some."""
        lacking = [ply.material.density is None for ply in self.section.plies]
        if any(lacking) and not (self.added_mass and all(lacking)):
            return None
        return self.section.inertia[0] / self.thickness

    @cached_property
    def section(self) -> Layup:
        """The plies through the thickness, with their stiffness; a shell of one material is a layup of one."""
        plies = self.plies or (Ply(self.material, self.thickness),)
        return Layup(plies, self.bending_ratio, self.shear_ratio, self.added_mass, self.stiffness)

    @property
    def has_sides(self) -> bool:
        """Whether the shell is another one where the normal of its cells is turned over: it has an offset, or a
        stiffness that is not the same from above and from below."""
        if abs(self.offset) > SYMMETRIC * self.thickness:
            return True
        C, turned = self.section.stiffness, np.diag([1.0, 1, -1, -1, -1, 1, -1, 1])
        size = np.sqrt(np.abs(np.diag(C)))
        return bool((np.abs(turned @ C @ turned - C) > SYMMETRIC * np.outer(size, size)).any())

    def _checked_stiffness(self) -> tuple[tuple[float, ...], ...]:
        """The given stiffness. Raises `MaterialError` where it is none."""
        C = floats(self.stiffness)
        if C.shape != (8, 8) or not np.isfinite(C).all():
            raise MaterialError(f"A shell's stiffness must be a finite (8, 8) matrix; found shape {C.shape}.")
        size = np.sqrt(np.abs(np.diag(C)))
        unit = C / np.where(size > 0, size, 1.0) / np.where(size > 0, size, 1.0)[:, None]
        if np.abs(unit - unit.T).max() > SYMMETRIC:
            raise MaterialError("A shell's stiffness must be symmetric; the two triangles of the one given differ.")
        if not np.linalg.eigvalsh((unit + unit.T) / 2)[0] > SYMMETRIC:
            raise MaterialError(
                "A shell's stiffness must be positive definite; the one given leaves some strain, curvature or shear "
                "strain without energy."
            )
        return tuple(tuple(row) for row in ((C + C.T) / 2).tolist())

    @property
    def _isotropic(self) -> bool:
        C = self.section.stiffness
        unit = np.repeat([1.0, np.sqrt(C[0, 0] / C[3, 3]), 1.0], [3, 3, 2])  # curvatures as strains
        C = C * np.outer(unit, unit)
        blocks = (C[:3, :3], C[:3, 3:6], C[3:6, 3:6])
        same = sum(abs(K[0, 0] - K[1, 1]) + abs(K[2, 2] - (K[0, 0] - K[0, 1]) / 2) for K in blocks)
        same += sum(float(np.abs(K[:2, 2]).max()) for K in blocks) + abs(C[6, 6] - C[7, 7]) + abs(C[6, 7])
        return bool(same < 1e-9 * C[0, 0])
