"""Beams: a material with a cross-section, for line cells."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.axes.limits import LARGEST, are_numbers, floats, is_number, within_limits
from fem.errors import MaterialError, unknown_name
from fem.material import Material
from fem.shown import shown

THEORIES = ("timoshenko", "euler-bernoulli")
TORSIONS = ("saint-venant", "vlasov")
SIDES = 24
"""Number of sides by which circles are drawn, at whose ends they have fibres: whatever way they bend, one of these has
99 % of the largest stress."""

LARGEST_SECTION = 1e50
"""Largest width of a section: moments of inertia, products of five, must be finite."""


@shown
@dataclass(frozen=True)
class Section:
    """A cross-section about its centroid, in the axes y, z of the beam (x runs along it). Units: consistent.

    - `area`; `Iy = int z^2 dA` (bending in the x-z plane), `Iz = int y^2 dA` (bending in the x-y plane): y, z are
      principal axes;
    - `J`: torsion constant (not the polar moment, but for circles); zero for beams that do not resist twist;
    - `shear_y`, `shear_z`: shear correction factors of forces along y and z (Timoshenko);
    - `fibres`: places (y, z) where strains are recovered; default: the corners of the rectangle whose radii of gyration
      these are.
    - `outline`: the polygon (y, z) around the section, from y towards z, which pictures show; default: the same
      rectangle.
    - `angle`: degrees, by the right-hand rule about x, from the axes of the beam to the principal axes y, z in which
      all else is given; `shear_centre` (y, z), by default the centroid;
    - `warping`: the constant of Vlasov's torsion about the shear centre, `int omega^2 dA`, with the displacement
      `omega(y, z)` along the beam under a unit rate of twist; `fibre_warping`: omega at the `fibres`, for the stresses
      of warping that is held (zero if it is not given). Beams use them with `torsion="vlasov"`.
    - `fibre_shear`: at each of the `fibres` the shear strains (xy, xz) of torsion per unit rate of twist, lengths. The
      default is an estimate: those of a circle, (-z, y) from the shear centre, but no larger than those of an open wall
      with this area and J, `sqrt(3 J / area)`.
    - `drawn_centroid` (y, z): place of the centroid in the drawing of `fem.drawn_section`, in the axes of the beam.

    Raises `MaterialError` when a number is not positive (J and warping: negative) and finite.
    """

    area: float
    Iy: float
    Iz: float
    J: float
    shear_y: float = 5 / 6
    shear_z: float = 5 / 6
    fibres: tuple[tuple[float, float], ...] = ()
    outline: tuple[tuple[float, float], ...] = ()
    angle: float = 0.0
    shear_centre: tuple[float, float] = (0.0, 0.0)
    warping: float = 0.0
    drawn_centroid: tuple[float, float] = (0.0, 0.0)
    fibre_warping: tuple[float, ...] = ()
    fibre_shear: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("angle", "shear_centre", "warping", "drawn_centroid"):
            shape = (2,) if name in ("shear_centre", "drawn_centroid") else ()
            found = floats(getattr(self, name))
            if found.shape != shape or not np.isfinite(found).all():
                raise MaterialError(f"A section's {name} must be finite; found {getattr(self, name)}.")
        for name in ("area", "Iy", "Iz", "J", "shear_y", "shear_z"):
            value = getattr(self, name)
            if not (is_number(value) and (value > 0 or (name == "J" and value == 0))):
                raise MaterialError(f"A section's {name} must be positive and finite; found {value}.")
        warped = floats(self.fibre_warping)
        if self.warping < 0 or not np.isfinite(warped).all():
            raise MaterialError(
                f"A section's warping must not be negative, and its fibre_warping finite; found {self.warping} and "
                f"{self.fibre_warping}."
            )
        y, z = (float(np.sqrt(3 * inertia / self.area)) for inertia in (self.Iz, self.Iy))
        for name in ("fibres", "outline"):
            given = getattr(self, name)
            found = floats(given)
            pairs = found.ndim == 2 and found.shape[1] == 2 and np.isfinite(found).all()
            if not are_numbers(given) or (found.size and not pairs):
                raise MaterialError(f"A section's {name} are pairs (y, z) of finite numbers; found {given}.")
            if not found.size:
                object.__setattr__(self, name, _corners(y, z))
        if self.fibre_warping and warped.shape != (len(self.fibres),):
            raise MaterialError(
                f"A section's fibre_warping needs one number for each of its {len(self.fibres)} fibres; found "
                f"{warped.size}."
            )
        if self.fibre_shear and (
            floats(self.fibre_shear).shape != (len(self.fibres), 2) or not np.isfinite(floats(self.fibre_shear)).all()
        ):
            raise MaterialError(
                f"A section's fibre_shear needs two finite numbers for each of its {len(self.fibres)} fibres; found "
                f"{self.fibre_shear}. Without it (fibre_shear=()) they are estimated."
            )

    def __str__(self) -> str:
        numbers = (f"{name} {getattr(self, name):.6g}" for name in ("area", "Iy", "Iz", "J"))
        factors = f"shear factors {self.shear_y:.4g}, {self.shear_z:.4g}"
        y, z = self.shear_centre
        beside = f", shear centre {y:.4g}, {z:.4g}" if max(abs(y), abs(z)) > 1e-6 * self.area**0.5 else ""
        turned = f", principal axes at {self.angle:.4g} degrees" if self.angle else ""
        warping = f", warping constant {self.warping:.4g}" if self.warping else ""
        return f"{', '.join(numbers)}, {factors}{beside}{turned}{warping}, {len(self.fibres)} fibres"

    @property
    def torsion_shear(self) -> Float[np.ndarray, "f 2"]:
        """Shear strains (xy, xz) of torsion at the fibres per unit rate of twist: `fibre_shear`, or the estimate."""
        if self.fibre_shear:
            return np.array(self.fibre_shear, dtype=float)
        arm = np.array(self.fibres, dtype=float) - self.shear_centre
        furthest = float(np.linalg.norm(arm, axis=1).max())
        round_ = min(1.0, float(np.sqrt(3 * self.J / self.area)) / furthest) if furthest else 1.0
        return round_ * np.column_stack([-arm[:, 1], arm[:, 0]])

    @staticmethod
    def rectangle(width_y: float, width_z: float) -> "Section":
        """A solid rectangle. J and the shear stresses of torsion, at corners and in the middles of sides, by
        Saint-Venant's series; shear factors 5/6."""
        _positive("rectangle", width_y=width_y, width_z=width_z)
        a, b = max(width_y, width_z), min(width_y, width_z)
        n = np.arange(1, 40, 2)
        series = (np.tanh(n * np.pi * a / (2 * b)) / n**5).sum()
        J = a * b**3 * (1 / 3 - 64 * b / (np.pi**5 * a) * series)
        n = np.arange(1, 4000, 2)
        decay = np.exp(-n * np.pi * a / (2 * b))
        long = b * (1 - 16 / np.pi**2 * (decay / (1 + decay**2) / n**2).sum())
        short = b * 8 / np.pi**2 * ((-1.0) ** (n // 2) * (1 - decay**2) / (1 + decay**2) / n**2).sum()
        at_y, at_z = (short, long) if width_y > width_z else (long, short)
        around = _around(width_y / 2, width_z / 2)
        return Section(
            width_y * width_z,
            width_y * width_z**3 / 12,
            width_z * width_y**3 / 12,
            float(J),
            fibres=around,
            outline=around,
            fibre_shear=_shear_around(float(at_y), float(at_z), 0.0),
        )

    @staticmethod
    def circle(diameter: float) -> "Section":
        """A solid circle; shear factor 6/7, that of a `tube` without a hollow."""
        return Section.tube(diameter, 0.0)

    @staticmethod
    def tube(outer: float, inner: float) -> "Section":
        """A circular tube by its diameters, with fibres all around it; shear factor from Cowper (1966) for Poisson's
        ratio 0.

        Raises `MaterialError` when the tube has no wall.
        """
        _positive("tube", outer=outer)
        if not (is_number(inner) and 0 <= inner < outer):
            raise MaterialError(f"A tube's inner diameter must be from 0 to the outer one, {outer}; found {inner}.")
        inertia = np.pi * (outer**4 - inner**4) / 64
        m, r = inner / outer, outer / 2
        around = tuple((r * float(np.cos(a)), r * float(np.sin(a))) for a in 2 * np.pi * np.arange(SIDES) / SIDES)
        shear = 6 * (1 + m**2) ** 2 / (7 * (1 + m**2) ** 2 + 20 * m**2)
        return Section(
            np.pi * (outer**2 - inner**2) / 4,
            inertia,
            inertia,
            2 * inertia,
            shear,
            shear,
            around,
            around,
        )

    @staticmethod
    def box(width_y: float, width_z: float, wall: float) -> "Section":
        """A thin-walled rectangular tube of outer widths; J and shear stresses of torsion by Bredt; shear factors of
        thin walls from Cowper (1966) for Poisson's ratio 0.

        Raises `MaterialError` when the box has no hollow.
        """
        _positive("box", width_y=width_y, width_z=width_z, wall=wall)
        if 2 * wall >= min(width_y, width_z):
            raise MaterialError(
                f"A box with wall {wall} and widths {width_y}, {width_z} has no hollow; take a rectangle."
            )
        iy, iz = width_y - 2 * wall, width_z - 2 * wall
        area = width_y * width_z - iy * iz
        Iy = (width_y * width_z**3 - iy * iz**3) / 12
        Iz = (width_z * width_y**3 - iz * iy**3) / 12
        my, mz = width_y - wall, width_z - wall
        J = 2 * wall * (my * mz) ** 2 / (my + mz)
        around, flow = _around(width_y / 2, width_z / 2), my * mz / (my + mz)
        return Section(
            area,
            Iy,
            Iz,
            J,
            _shear_of_box(my, mz),
            _shear_of_box(mz, my),
            around,
            around,
            fibre_shear=_shear_around(flow, flow, flow),
        )


def _shear_of_box(along: float, across: float) -> float:
    """Shear factor of a box of one thin wall, by its middle widths along a force and across it."""
    m = across / along
    return 5 * (1 + 3 * m) ** 2 / (3 * (1 + m) * (5 * m**3 + 15 * m**2 + 10 * m + 2))


def principal_moments(Iy: float, Iz: float, Iyz: float) -> tuple[float, float, float]:
    """Moments of inertia `int z^2 dA` and `int y^2 dA` about principal axes, and the angle of these from the given ones
    (degrees, by the right-hand rule about x), with `Iyz = int y z dA`.

    Raises `MaterialError` for moments that no section has.
    """
    if not Iy * Iz > Iyz**2:
        raise MaterialError(f"A product of inertia, {Iyz:g}, is beyond its moments {Iy:g} and {Iz:g}.")
    if not Iyz:
        return Iy, Iz, 0.0
    turn = float(0.5 * np.arctan2(2 * Iyz, Iz - Iy))
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    (across, _), (_, along) = (R @ np.array([[Iz, Iyz], [Iyz, Iy]]) @ R.T).tolist()
    return along, across, float(np.rad2deg(turn))


def _corners(y: float, z: float) -> tuple[tuple[float, float], ...]:
    return ((y, z), (-y, z), (-y, -z), (y, -z))


def _around(y: float, z: float) -> tuple[tuple[float, float], ...]:
    """Corners of a rectangle and middles of its sides, from the corner of positive y and z towards negative y."""
    return ((y, z), (0.0, z), (-y, z), (-y, 0.0), (-y, -z), (0.0, -z), (y, -z), (y, 0.0))


def _shear_around(at_y: float, at_z: float, corner: float) -> tuple[tuple[float, float], ...]:
    """Shear strains of torsion at the points of `_around`, by their sizes in the middles of the sides across y and
    across z, and at corners."""
    c = corner / float(np.sqrt(2))
    half = ((-c, c), (-at_z, 0.0), (-c, -c), (0.0, -at_y))
    return (*half, *((-y, -z) for y, z in half))


def _positive(what: str, **values: float) -> None:
    for name, value in values.items():
        if not (is_number(value) and 0 < value <= LARGEST_SECTION):
            raise MaterialError(
                f"A {what} section needs a positive {name} of at most {LARGEST_SECTION:.0e}; found {value}."
            )


@dataclass(frozen=True)
class _OfMaterial:
    """What has one material."""

    material: Material

    @property
    def name(self) -> str:
        """Name of the material."""
        return self.material.name

    @property
    def density(self) -> float | None:
        """Density of the material."""
        return self.material.density


@dataclass(frozen=True)
class Truss(_OfMaterial):
    """Material and cross-sectional area of "truss" cells: rods that carry normal force only, whose nodes do not turn.

        fem.Model(line((0, 0, 0), (1, 0, 0), 1, kind="truss"), fem.Truss(fem.Material.steel(), 1e-4))

    A rod is one cell: several in one line are a mechanism. E is that of the material along its first axis.

    Raises `MaterialError` when the area is not positive and finite.
    """

    area: float

    def __post_init__(self) -> None:
        if not isinstance(self.material, Material):
            raise MaterialError(f"A truss needs a fem.Material; found {type(self.material).__name__}.")
        if not (is_number(self.area) and self.area > 0):
            raise MaterialError(f"A truss's area must be positive and finite; found {self.area}.")

    @property
    def modulus(self) -> float:
        """Young's modulus."""
        return float(1 / np.linalg.inv(self.material.elasticity)[0, 0])


@dataclass(frozen=True)
class Beam(_OfMaterial):
    """Material and cross-section of line cells: `Model(mesh, fem.Beam(fem.Material.steel(),
    fem.Section.circle(0.02)))`.

    - `y_axis` (3,): a vector in the plane of the beam's x and y axes; default: the mesh's y, or z for beams along y.
    - `offset` (2,): place (y, z) of the centroid line relative to the nodes, in the axes of the beam.
    - `theory`: "timoshenko" (shear deformation) or "euler-bernoulli"; rotary inertia in both.
    - `torsion`: "saint-venant", where sections warp freely, or "vlasov" for open thin-walled sections, where beams that
      continue each other resist each other's warping: their nodes have a seventh dof, the rate of twist. Ends warp
      freely unless a rigid interface holds them (docs/choosing.md, "Beams of open sections").

    E and G are those of the material along its first axis. Nodes of beams have six dofs. A beam that ends at a node of
    solid cells is hinged there: connect it to several nodes by a rigid interface, or let it extend into the solid.

    Raises `MaterialError` when theory, torsion, offset or y axis are not usable.
    """

    section: Section
    y_axis: tuple[float, float, float] | None = None
    offset: tuple[float, float] = (0.0, 0.0)
    theory: str = "timoshenko"
    torsion: str = "saint-venant"

    def __post_init__(self) -> None:
        for what, given, expected in (("Material", self.material, Material), ("Section", self.section, Section)):
            if not isinstance(given, expected):
                raise MaterialError(f"A beam needs a fem.{what}; found {type(given).__name__}.")
        if self.material.axes is not None:
            raise MaterialError(f"Material {self.material.name!r} of a beam has axes of its own, which are for solids.")
        if self.theory not in THEORIES:
            raise MaterialError(unknown_name("beam theory", self.theory, THEORIES))
        if self.torsion not in TORSIONS:
            raise MaterialError(unknown_name("torsion of a beam", self.torsion, TORSIONS))
        if self.torsion == "vlasov" and not self.section.warping > 0:
            raise MaterialError(
                'torsion="vlasov" needs a section with a positive warping constant; found '
                f"{self.section.warping:g}. Give Section(..., warping=...), or take fem.drawn_section, which computes "
                "it; sections that do not warp (circles, squares of thin walls) have Saint-Venant's torsion."
            )
        if self.y_axis is not None:
            y = floats(self.y_axis)
            if y.shape != (3,) or not within_limits(y) or not np.linalg.norm(y) > 0:
                raise MaterialError(
                    f"A beam's y_axis needs three finite numbers of at most {LARGEST:.0e}, not all zero; found "
                    f"{self.y_axis}."
                )
        if floats(self.offset).shape != (2,) or not np.isfinite(floats(self.offset)).all():
            raise MaterialError(f"A beam's offset needs two finite numbers (y, z); found {self.offset}.")

    @property
    def placed_section(self) -> Section:
        """The section in the principal axes and from the centroid, for strains and pictures."""
        return self.section

    @property
    def moduli(self) -> tuple[float, float]:
        """Young's and shear modulus."""
        compliance = np.linalg.inv(self.material.elasticity)
        return float(1 / compliance[0, 0]), float(1 / compliance[3, 3])

    def principal_axes(self, direction: Float[np.ndarray, "e 3"]) -> Float[np.ndarray, "e 3 3"]:
        """Axes x, y, z (rows) in which the section is given, along unit vectors `direction`; errors as in `axes`."""
        axes = self.axes(direction)
        if not self.section.angle:
            return axes
        c, s = float(np.cos(np.deg2rad(self.section.angle))), float(np.sin(np.deg2rad(self.section.angle)))
        return np.asarray(np.array([[1, 0, 0], [0, c, s], [0, -s, c]]) @ axes)

    def axes(self, direction: Float[np.ndarray, "e 3"]) -> Float[np.ndarray, "e 3 3"]:
        """Axes x, y, z of beams (rows) along unit vectors `direction`.

        Raises `MaterialError` when y_axis is along a beam.
        """
        x = direction
        if self.y_axis is not None:
            y = np.tile(np.asarray(self.y_axis, dtype=float), (len(x), 1))
        else:
            y = np.where(np.abs(x[:, 1:2]) < 0.99, np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        z = np.cross(x, y)
        size = np.linalg.norm(z, axis=1)
        if (size < 1e-6 * np.linalg.norm(y, axis=1)).any():
            bad = int(np.argmin(size))
            raise MaterialError(f"A beam runs along {x[bad]}, and its y_axis {self.y_axis} too: give another y_axis.")
        z /= size[:, None]
        return np.stack([x, np.cross(z, x), z], axis=1)
