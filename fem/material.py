"""Linear elastic materials: isotropic and orthotropic, with their density."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.errors import MaterialError, unknown_name

_TO_MM = {"m": (1.0, 1.0), "mm": (1e-6, 1e-12)}
"""Factors of modulus (Pa -> N/mm^2) and density (kg/m^3 -> t/mm^3) for SI values."""


@dataclass(frozen=True, eq=False)
class Material:
    """A homogeneous linear elastic material. Units: consistent.

    - `elasticity` (6, 6): stress = elasticity @ strain, both in the order xx, yy, zz, xy, yz, zx with
      engineering shear strains; symmetric, positive definite; in the axes of the mesh.
    - `density`: mass per volume, or `None` when no mass matrix will be asked for.
    """

    name: str
    elasticity: Float[np.ndarray, "6 6"]
    density: float | None = None

    def __post_init__(self) -> None:
        C = np.array(self.elasticity, dtype=float)
        if C.shape != (6, 6) or not np.isfinite(C).all():
            raise MaterialError(
                f"Material {self.name!r}: elasticity must be a finite (6, 6) matrix; found shape {C.shape}."
            )
        if np.abs(C - C.T).max() > 1e-9 * np.abs(C).max():
            raise MaterialError(
                f"Material {self.name!r}: the elasticity matrix is not symmetric; the constants contradict each other."
            )
        lowest = np.linalg.eigvalsh(C)[0]
        if not lowest > 0:
            raise MaterialError(
                f"Material {self.name!r}: the elasticity matrix is not positive definite (lowest eigenvalue {lowest:.3g}); "
                "with these moduli and Poisson's ratios the material would give energy away. Check them."
            )
        if self.density is not None and not (np.isfinite(self.density) and self.density > 0):
            raise MaterialError(f"Material {self.name!r}: density must be positive and finite; found {self.density}.")
        C = (C + C.T) / 2
        C.setflags(write=False)
        object.__setattr__(self, "elasticity", C)

    @staticmethod
    def isotropic(
        youngs_modulus: float, poissons_ratio: float, density: float | None = None, name: str = "isotropic"
    ) -> "Material":
        """An isotropic material; `-1 < poissons_ratio < 0.5`."""
        E, nu = youngs_modulus, poissons_ratio
        if not (np.isfinite(E) and E > 0):
            raise MaterialError(f"Material {name!r}: Young's modulus must be positive and finite; found {E}.")
        if not -1 < nu < 0.5:
            raise MaterialError(
                f"Material {name!r}: Poisson's ratio must lie between -1 and 0.5 (excluded); found {nu}."
            )
        compliance = np.eye(6) * np.repeat([1 / E, 2 * (1 + nu) / E], 3)
        compliance[:3, :3] += -nu / E * (np.ones((3, 3)) - np.eye(3))
        return Material(name, np.linalg.inv(compliance), density)

    @staticmethod
    def orthotropic(
        youngs_moduli: tuple[float, float, float],
        poissons_ratios: tuple[float, float, float],
        shear_moduli: tuple[float, float, float],
        density: float | None = None,
        name: str = "orthotropic",
    ) -> "Material":
        """An orthotropic material along the mesh axes: `E = (Ex, Ey, Ez)`, `nu = (xy, yz, zx)`, `G = (xy, yz, zx)`.

        `nu_ij` is the contraction along j for a pull along i, so `nu_ji = nu_ij Ej / Ei`.
        """
        E, nu, G = (np.asarray(v, dtype=float) for v in (youngs_moduli, poissons_ratios, shear_moduli))
        if E.shape != (3,) or nu.shape != (3,) or G.shape != (3,):
            raise MaterialError(
                f"Material {name!r}: expected three moduli, three Poisson's ratios and three shear moduli."
            )
        if not ((E > 0).all() and (G > 0).all() and np.isfinite([E, nu, G]).all()):
            raise MaterialError(f"Material {name!r}: moduli must be positive and finite; found E = {E}, G = {G}.")
        compliance = np.diag(np.concatenate([1 / E, 1 / G]))
        for i, j, ratio in ((0, 1, nu[0]), (1, 2, nu[1]), (2, 0, nu[2])):
            compliance[i, j] = compliance[j, i] = -ratio / E[i]
        return Material(name, np.linalg.inv(compliance), density)

    @staticmethod
    def steel(units: str = "m") -> "Material":
        """Structural steel: 210 GPa, 0.3, 7850 kg/m^3. `units`: "m" (SI) or "mm" (mm, t, s, N)."""
        return _preset("steel", 2.1e11, 0.3, 7850.0, units)

    @staticmethod
    def aluminium(units: str = "m") -> "Material":
        """Aluminium: 70 GPa, 0.33, 2700 kg/m^3. `units`: "m" (SI) or "mm" (mm, t, s, N)."""
        return _preset("aluminium", 7.0e10, 0.33, 2700.0, units)


def _preset(name: str, E: float, nu: float, density: float, units: str) -> Material:
    if units not in _TO_MM:
        raise MaterialError(unknown_name("unit system", units, _TO_MM))
    modulus, mass = _TO_MM[units]
    return Material.isotropic(E * modulus, nu, density * mass, name=f"{name} ({units})")


def unit_suspicion(material: Material, size: float) -> str | None:
    """A hint when modulus, density and the `size` of the part cannot belong to one system of units, else None.

    Every engineering solid has a wave speed `sqrt(E / rho)` of about 50 m/s (rubber) to 20 km/s (ceramics). In units of
    the model that is 50 to 2e4 for metres and 5e4 to 2e7 for millimetres; a part below 1 mm or above 1 km is unusual.
    """
    if material.density is None:
        return None
    speed = float(np.sqrt(np.linalg.eigvalsh(material.elasticity)[0] / material.density))
    if not 5.0 < speed < 5e7:
        return (
            f"Material {material.name!r}: the speed of sound would be {speed:.3g} length units per time unit, which no solid has in "
            "metres or millimetres. Modulus or density is off by a power of ten (consistent sets: m, kg, s, Pa or mm, t, s, MPa)."
        )
    if speed < 5e4 and size > 1e2 or speed > 1e5 and size < 1e-1:
        unit = "metres" if speed < 5e4 else "millimetres"
        return (
            f"Material {material.name!r} is given in {unit} (speed of sound {speed:.3g}), but the part measures {size:.3g}: is the mesh in "
            f"{'millimetres' if unit == 'metres' else 'metres'}? Use Material.steel(units=...) or scale the mesh."
        )
    return None
