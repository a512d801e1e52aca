"""Linear elastic materials: isotropic and orthotropic, with their density, and whether their units fit the part."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.axes.cylindrical import CylindricalAxes
from fem.axes.limits import LARGEST, floats, is_number, scaled, within_limits
from fem.errors import MaterialError, unknown_name
from fem.shown import shown

_TO_MM = {"m": (1.0, 1.0), "mm": (1e-6, 1e-12)}
"""Factors of modulus (Pa -> N/mm^2) and density (kg/m^3 -> t/mm^3) for SI values."""


@shown
@dataclass(frozen=True, eq=False)
class Material:
    """A homogeneous linear elastic material. Units: consistent.

    - `elasticity` (6, 6): stress = elasticity @ strain, both in the order xx, yy, zz, xy, yz, zx with
      engineering shear strains; symmetric, positive definite; in the axes of the mesh, or in `axes`.
    - `density`: mass per volume, or `None` when no mass matrix will be asked for.
    - `axes`: `fem.CylindricalAxes` of solids whose material turns around an axis, evaluated at the points of
      integration. A material with other fixed axes is made by `turned`.

    Raises `MaterialError` when the elasticity is not symmetric and positive definite, or the density not positive.
    """

    name: str
    elasticity: Float[np.ndarray, "6 6"]
    density: float | None = None
    axes: CylindricalAxes | None = None

    def __post_init__(self) -> None:
        if self.axes is not None and not isinstance(self.axes, CylindricalAxes):
            raise MaterialError(
                f"Material {self.name!r}: axes are fem.CylindricalAxes; found {type(self.axes).__name__}. "
                "Material.turned makes a material with other fixed axes."
            )
        C = floats(self.elasticity)
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
                f"Material {self.name!r}: the elasticity matrix is not positive definite (lowest eigenvalue "
                f"{lowest:.3g}); with these moduli and Poisson's ratios the material would give energy away. Check "
                "them."
            )
        if self.density is not None and not (is_number(self.density) and 0 < self.density <= LARGEST):
            raise MaterialError(
                f"Material {self.name!r}: density must be positive and finite, at most {LARGEST:g}; found "
                f"{self.density}."
            )
        C = (C + C.T) / 2
        C.setflags(write=False)
        object.__setattr__(self, "elasticity", C)

    def __str__(self) -> str:
        compliance = np.linalg.inv(self.elasticity)
        E, G = 1 / np.diag(compliance)[:3], 1 / np.diag(compliance)[3:]
        nu = np.array([-compliance[i, j] * E[i] for i, j in ((0, 1), (1, 2), (2, 0))])
        named = {"Young's modulus": E, "Poisson's ratio": nu, "shear modulus": G}
        values = (f"{name} {', '.join(f'{v:.6g}' for v in (x[:1] if _equal(x) else x))}" for name, x in named.items())
        density = "no density" if self.density is None else f"density {self.density:.6g}"
        along = "" if self.axes is None else f", {self.axes}"
        return f"material {self.name!r}: {', '.join(values)}, {density}{along}"

    def turned(self, x_axis: tuple[float, float, float], y_axis: tuple[float, float, float]) -> "Material":
        """The same material with its first axis along `x_axis` and its second in the plane of both.

            fem.Material.orthotropic(...).turned((1, 1, 0), (0, 1, 0))

        Raises `MaterialError` for vectors along each other, and for a material with `axes`.
        """
        x, y = floats(x_axis), floats(y_axis)
        usable = x.shape == y.shape == (3,) and within_limits([x, y])
        first, second = (scaled(v) if usable else v for v in (x, y))
        z = np.cross(first, second) if usable else np.zeros(3)
        spanned = usable and np.linalg.norm(z) > 1e-9 * np.linalg.norm(first) * np.linalg.norm(second)
        if self.axes is not None or not spanned:
            raise MaterialError(
                f"Material {self.name!r} is turned by two vectors that span a plane, once; found {x.tolist()} and "
                f"{y.tolist()}, {'no axes' if self.axes is None else self.axes}."
            )
        x, z = first / np.linalg.norm(first), z / np.linalg.norm(z)
        R = np.stack([x, np.cross(z, x), z])
        return Material(self.name, _along(self.elasticity, R), self.density)

    @staticmethod
    def isotropic(
        youngs_modulus: float, poissons_ratio: float, density: float | None = None, name: str = "isotropic"
    ) -> "Material":
        """An isotropic material; `-1 < poissons_ratio < 0.5`. Raises `MaterialError` outside these bounds."""
        E, nu = youngs_modulus, poissons_ratio
        if not (is_number(E) and E > 0):
            raise MaterialError(f"Material {name!r}: Young's modulus must be positive and finite; found {E}.")
        if not (is_number(nu) and -1 < nu < 0.5):
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

        Raises `MaterialError` when a modulus is not positive and finite.
        """
        E, nu, G = (floats(v) for v in (youngs_moduli, poissons_ratios, shear_moduli))
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


_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


def required_density(name: str, density: float | None, what: str = "Material") -> float:
    """The density of a material, or of what has one. Raises `MaterialError` where it is missing."""
    if density is None:
        raise MaterialError(
            f"{what} {name!r} has no density, and a mass matrix needs one. Give density=... when making it; for a "
            "material of a file, RHO of MAT1 (Nastran), *DENSITY (Abaqus, CalculiX), or a material of your own. A part "
            "whose mass is in point masses alone (CONM2) needs a small one, of a millionth of their mass."
        )
    return density


def _along(C: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The elasticity (6, 6) along the axes of the mesh of one along the rows of R."""
    T = np.empty((6, 6))  # strains along the rows from those along the axes of the mesh
    for row, (i, j) in enumerate(_PAIRS):
        for column, (k, l) in enumerate(_PAIRS):
            both = R[i, k] * R[j, l] + (R[i, l] * R[j, k] if k != l else 0.0)
            T[row, column] = both if i != j else both / (2 if k != l else 1)
            if i != j and k == l:
                T[row, column] = 2 * R[i, k] * R[j, k]
    return np.asarray(T.T @ C @ T)


def _equal(values: Float[np.ndarray, "3"]) -> bool:
    """Whether values in three directions are the same, up to round-off."""
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _preset(name: str, E: float, nu: float, density: float, units: str) -> Material:
    if units not in _TO_MM:
        raise MaterialError(unknown_name("unit system", units, _TO_MM))
    modulus, mass = _TO_MM[units]
    return Material.isotropic(E * modulus, nu, density * mass, name=f"{name} ({units})")


@dataclass(frozen=True)
class UnitSystem:
    """A consistent set of units: its name and what one unit of length, density and modulus is in SI."""

    name: str
    length: float
    density: float
    modulus: float


SYSTEMS = (
    UnitSystem("m, kg, s, Pa", 1.0, 1.0, 1.0),
    UnitSystem("mm, t, s, MPa", 1e-3, 1e12, 1e6),
    UnitSystem("mm, kg, ms, GPa", 1e-3, 1e9, 1e9),
    UnitSystem("mm, g, ms, MPa", 1e-3, 1e6, 1e6),
    UnitSystem("cm, g, us, Mbar", 1e-2, 1e3, 1e11),
    UnitSystem("in, lbf s^2/in, s, psi", 0.0254, 1.0687e7, 6894.76),
    UnitSystem("cm, kg, s", 1e-2, 1e6, 1e2),
    UnitSystem("cm, g, s, Ba", 1e-2, 1e3, 0.1),
    UnitSystem("mm, kg, s, kPa", 1e-3, 1e9, 1e3),
    UnitSystem("mm, g, s, Pa", 1e-3, 1e6, 1.0),
    UnitSystem("um, kg, s, MPa", 1e-6, 1e18, 1e6),
    UnitSystem("um, kg, us", 1e-6, 1e18, 1e18),
    UnitSystem("um, g, us, GPa", 1e-6, 1e15, 1e15),
    UnitSystem("ft, slug, s, lbf/ft^2", 0.3048, 515.379, 47.8803),
)
"""The sets in use; the order is that of preference in hints."""

SIZE = (1e-3, 1e2)  # m: a part below 1 mm (except in micrometres) or above 100 m is unusual
DENSITY = (10.0, 2.5e4)  # kg/m^3: foams to tungsten and platinum
SHEAR_MODULUS = (1e4, 6e11)  # Pa: gels to diamond
SHEAR_SPEED = (3.0, 1.5e4)  # m/s
DIMENSIONLESS = ((1e-2, 1e2), (0.0, 1e4))
"""Density and shear modulus of models that are meant to have no units; nothing is said about them."""
LIGHT, LIGHT_SPEED = 2e2, 2.4e3  # kg/m^3, m/s: below this density balsa and honeycombs are the stiffest
DENSE, DENSE_SPEED = 2.5e3, 4e2  # kg/m^3, m/s: among the metals lead is the slowest, with 700 m/s


def check_units(material: Material, size: float, system: UnitSystem | None = None) -> str | None:
    """A hint if modulus, density and the `size` of the part (diagonal of its bounding box) fit no system of units, or
    not the `system` that is named, else None.

    Physical solids occupy a narrow window in each system of `SYSTEMS`; constants that are wrong by 1e3, 1e6, 1e9 or
    1e12 lie outside all windows. There is no hint without a density, or for numbers without units (`DIMENSIONLESS`).
    """
    if material.density is None or without_units(material):
        return None
    shear = _shear_modulus(material)
    systems = SYSTEMS if system is None else (system,)
    fitting = [s for s in systems if _solid(material.density * s.density, shear * s.modulus)]
    if not fitting and system is not None:
        return (
            f"Material {material.name!r}: density {material.density:.4g} and shear modulus {shear:.4g} are those of no "
            f"solid in the units of the model, {system.name!r}. Steel has the density {7850 / system.density:.4g} and "
            f"the shear modulus {8.1e10 / system.modulus:.4g} there: give the constants in these units, or name the "
            "units that they have."
        )
    if not fitting:
        return (
            f"Material {material.name!r}: density {material.density:.4g} and shear modulus {shear:.4g} are those of no "
            f"solid in any consistent system of units ({'; '.join(s.name for s in SYSTEMS)}). One of them is probably "
            "off by a power of ten: steel is 7850 kg/m^3 and 2.1e11 Pa, or 7.85e-9 t/mm^3 and 2.1e5 MPa; see "
            "Material.steel(units=...)."
        )
    if any(_within(size * s.length, (min(SIZE[0], s.length), SIZE[1])) for s in fitting):
        return None
    meant = fitting[0]
    other = "millimetres" if meant.length == 1.0 else "metres"
    return (
        f"Material {material.name!r} is given in the units {meant.name}, and in them the part would be "
        f"{size * meant.length:.3g} m long: is the mesh in {other}? Give the material in the units of the mesh, as "
        "Material.steel(units=...) does, or scale the mesh."
    )


def without_units(material: Material) -> bool:
    """Whether density and stiffness are those of a model that is meant to have no units."""
    return (
        material.density is not None
        and _within(material.density, DIMENSIONLESS[0])
        and _within(_shear_modulus(material), DIMENSIONLESS[1])
    )


def _shear_modulus(material: Material) -> float:
    return float(np.linalg.eigvalsh(material.elasticity)[0])


def _solid(density: float, shear: float) -> bool:
    """Whether a solid with this density and shear modulus (SI) can exist."""
    speeds = (
        DENSE_SPEED if density > DENSE else SHEAR_SPEED[0],
        LIGHT_SPEED if density < LIGHT else SHEAR_SPEED[1],
    )
    return _within(density, DENSITY) and _within(shear, SHEAR_MODULUS) and _within((shear / density) ** 0.5, speeds)


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]
