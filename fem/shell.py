"""Shells: a material with a thickness, for triangles and quadrilaterals."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.errors import MaterialError
from fem.material import Material
from fem.shown import shown

DRILLING = 1e-4
"""Default stiffness against rotation about the normal, relative to that of shear in the plane."""
_ROWS = [0, 1, 3, 5, 4]
_SHEAR_FACTOR = 5 / 6


@shown
@dataclass(frozen=True)
class Shell:
    """Material and thickness of shell cells: Reissner and Mindlin's kinematics, plane stress, shear factor 5/6.

    - `thickness`; `offset`: distance of the middle surface from the nodes along the normal, which is that of the
      right-hand rule about the nodes of a cell.
    - `x_axis` (3,): direction, projected onto each cell, of the first axis of the material; needed where the material
      is not isotropic in the plane of the shell.
    - `drilling`: stiffness against rotation of the nodes about the normal relative to that of the surface, as a part of
      the shear stiffness G h. It is a number of the discretisation: without it this rotation is free in flat shells;
      from 1e-6 to 1e-3 results hardly depend on it.

    Nodes of shells have six dofs. A shell that ends at a node of solid cells is hinged there: connect it by a rigid
    link or an average interface, or let it extend along the solid.

    Raises `MaterialError` when a number or an axis is not usable.
    """

    material: Material
    thickness: float
    offset: float = 0.0
    x_axis: tuple[float, float, float] | None = None
    drilling: float = DRILLING

    def __post_init__(self) -> None:
        if not isinstance(self.material, Material):
            raise MaterialError(f"A shell needs a fem.Material; found {type(self.material).__name__}.")
        for name, value in (("thickness", self.thickness), ("drilling", self.drilling)):
            if not (np.isfinite(value) and value > 0):
                raise MaterialError(f"A shell's {name} must be positive and finite; found {value}.")
        if not np.isfinite(self.offset):
            raise MaterialError(f"A shell's offset must be finite; found {self.offset}.")
        if self.x_axis is not None:
            x = np.asarray(self.x_axis, dtype=float)
            if x.shape != (3,) or not np.isfinite(x).all() or not np.linalg.norm(x) > 0:
                raise MaterialError(f"A shell's x_axis needs three finite numbers, not all zero; found {self.x_axis}.")
        elif not self._isotropic:
            raise MaterialError(
                f"Material {self.material.name!r} is not isotropic in the plane of the shell: give x_axis=(...), the "
                "direction of its first axis."
            )

    @property
    def name(self) -> str:
        """Name of the material."""
        return self.material.name

    @property
    def density(self) -> float | None:
        """Density of the material."""
        return self.material.density

    @property
    def elasticity(self) -> Float[np.ndarray, "5 5"]:
        """Stresses xx, yy, xy, xz, yz per (engineering) strain, without normal stress zz; shear factor included."""
        C = self.material.elasticity
        plane = C - np.outer(C[:, 2], C[2]) / C[2, 2]
        D = plane[np.ix_(_ROWS, _ROWS)].copy()
        D[3:] *= _SHEAR_FACTOR
        return D

    @property
    def _isotropic(self) -> bool:
        D = self.elasticity
        scale = D[0, 0]
        same = abs(D[1, 1] - scale) + abs(D[2, 2] - (scale - D[0, 1]) / 2) + abs(D[3, 3] - D[4, 4])
        return bool(same < 1e-9 * scale and np.abs(D[:2, 2]).max() < 1e-9 * scale and abs(D[3, 4]) < 1e-9 * scale)
