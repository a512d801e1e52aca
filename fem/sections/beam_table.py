"""Tables of beam sections along the span: general stiffness and mass matrices (6, 6), taper, twist."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.axes.limits import LARGEST, floats, is_number, within_limits
from fem.beam import Beam, Section
from fem.errors import MaterialError, MeshWarning
from fem.material import Material
from fem.shown import shown

ASYMMETRIC = 1e-6
"""Asymmetry of a matrix, relative to the entries of its rows and columns, that is taken for rounding."""
STEEP = 1.6
"""Ratio of a stiffness at neighbouring stations from which a warning says that it does not vary linearly between them:
for I as the fourth power of the size, the line between them is then 1.5 % too high in the middle."""


@shown
@dataclass(frozen=True, eq=False)
class BeamTable:
    """Section matrices at stations along the span, for line cells: `Model(mesh, fem.BeamTable(...))`.

    - `positions` (s,), rising: places of the stations along the direction `along` (3,), measured from the origin of the
      mesh; every node lies between the first and the last. Values between stations are interpolated linearly, also
      inside cells.
    - `stiffness` (s, 6, 6): section forces (N, Vy, Vz) and moments (Mx, My, Mz) about the line of the nodes, per
      strains (extension, shear y, shear z) and curvatures (twist, bending about y, about z). x runs along the beam, the
      way in which positions rise, whatever way the nodes of a cell run.
    - `mass` (s, 6, 6) per unit length: momenta of motions [translation; rotation] of the line of the nodes. It has the
      form of a body's: one mass, first moments, moments of inertia (`fem.beam_mass`).
    - `y_axis` (3,) or (s, 3): a vector in the plane of the section's x and y axes; it turns along a twisted beam, by at
      most 90 degrees from station to station.
    - `section`: what is drawn, and where strains are recovered, along the whole beam: its centroid is that of the mean
      stiffness, and its axes are turned by its angle. Default: a rectangle with the radii of gyration of the mean
      stiffness. `moduli`: Young's and shear modulus of the stresses there; without them no stress is known: it counts
      as zero, and bodies of such beams alone have no stresses. Stresses of tables whose sections vary in size are those
      of this one section, of which a warning says so. Without section and moduli, strains are recovered at rectangles
      with the centroid and the radii of gyration of the stiffness at each place.

    A curved beam is a line of straight cells. Geometric stiffness is that of the section forces; the part of the normal
    force that acts through the turning of sections takes centroid and radius of gyration from the stiffness.
    `beam_stiffness` and `beam_mass` make matrices of centroid, shear centre and mass centre.

    Raises `MaterialError` for positions that do not rise, directions without length, a y axis that turns too far
    between stations, matrices that are not symmetric and positive definite, and masses of no body.
    """

    positions: Any
    stiffness: Float[np.ndarray, "s 6 6"]
    mass: Float[np.ndarray, "s 6 6"]
    y_axis: Any
    along: Any = (1.0, 0.0, 0.0)
    section: Section | None = None
    moduli: tuple[float, float] = (0.0, 0.0)
    name: str = "beam table"
    section_is_mean: bool = field(init=False, repr=False)
    """Whether no section was given."""
    _axes: np.ndarray = field(init=False, repr=False)

    @staticmethod
    def of_sections(
        material: Material,
        positions: Any,
        sections: Sequence[Section],
        y_axis: Any,
        along: Any = (1.0, 0.0, 0.0),
        centroids: Any = (0.0, 0.0),
        name: str = "beam table",
    ) -> "BeamTable":
        """The table of a tapered or twisted beam from its sections at stations, drawn ones or others.

            stations = np.linspace(0.0, 1.0, 11)
            drawn = [fem.drawn_section((1 - 0.5 * s) * outline) for s in stations]
            wing = fem.BeamTable.of_sections(fem.Material.steel(), 3.0 * stations, drawn, y_axis=(0, 1, 0))

        - `material`: as of `fem.Beam`; `sections`: one for each of the `positions`, with shear centre, turned principal
          axes and shear factors; their torsion is Saint-Venant's, without warping that is held.
        - `centroids` (2,) or (s, 2): places (y, z) of the centroids from the line of the nodes, such as
          `section.drawn_centroid`, which puts the nodes at the origin of the drawing.
        - The other arguments are those of `BeamTable`. Drawn, and where stresses are recovered, is the section of the
          middle station.

        Matrices are linear between stations, and moments of inertia are not: with eleven stations those of a beam that
        tapers to half its size are within 0.4 per cent. Issues a `MeshWarning` where a stiffness changes by more than a
        factor of 1.6 from one station to the next. Raises `MaterialError` for another number of sections,
        and a material without density.
        """
        E, G = Beam(material, sections[0]).moduli if len(sections) else (0.0, 0.0)
        beside = np.broadcast_to(np.array(centroids, dtype=float), (len(sections), 2)) if len(sections) else None
        if beside is None or len(sections) != np.size(positions) or material.density is None:
            raise MaterialError(
                f"{name}: a section is needed at each of {np.size(positions)} positions, and a density; found "
                f"{len(sections)} sections and the density {material.density}."
            )
        S, M = zip(
            *(_of_section(s, E, G, material.density, c) for s, c in zip(sections, beside, strict=True)), strict=True
        )
        _warn_of_steep_stations(name, np.array(S), np.array(positions, dtype=float))
        middle = sections[len(sections) // 2]
        return BeamTable(positions, np.array(S), np.array(M), y_axis, along, middle, (E, G), name)

    def __post_init__(self) -> None:
        positions = floats(self.positions)
        if (
            positions.ndim != 1
            or len(positions) < 2
            or not (np.isfinite(positions).all() and (np.diff(positions) > 0).all())
        ):
            raise MaterialError(f"{self.name}: two or more rising positions are needed; found {positions.tolist()}.")
        for what in ("stiffness", "mass"):
            A = floats(getattr(self, what))
            if A.shape != (len(positions), 6, 6) or not np.isfinite(A).all():
                raise MaterialError(
                    f"{self.name}: {what} needs a finite (6, 6) matrix at each of {len(positions)} stations; found "
                    f"shape {A.shape}."
                )
            scale = np.sqrt(np.abs(np.einsum("sii->si", A)))
            unit = A / np.maximum(scale[:, :, None] * scale[:, None], np.finfo(float).tiny)
            wrong = np.abs(unit - unit.swapaxes(1, 2)).max(axis=(1, 2)) > ASYMMETRIC
            wrong |= np.linalg.eigvalsh((unit + unit.swapaxes(1, 2)) / 2)[:, 0] <= 0
            if wrong.any():
                k = int(np.argmax(wrong))
                raise MaterialError(
                    f"{self.name}: the {what} matrix at station {k} (position {positions[k]:g}) is not symmetric and "
                    "positive definite. Check the order of its rows: forces x, y, z, then moments x, y, z."
                )
            A = (A + A.swapaxes(1, 2)) / 2
            A.setflags(write=False)
            object.__setattr__(self, what, A)
        self._require_mass_of_bodies(positions)
        along = np.array(self.along, dtype=float)
        y = floats(self.y_axis)
        y = np.tile(y, (len(positions), 1)) if y.shape == (3,) else y
        if y.shape != (len(positions), 3) or along.shape != (3,):
            raise MaterialError(
                f"{self.name}: y_axis needs three numbers, or three for each of {len(positions)} stations, and along "
                f"three; found shapes {floats(self.y_axis).shape} and {along.shape}."
            )
        for what, vectors in (("y_axis", y), ("along", along[None])):
            if not within_limits(vectors) or not np.linalg.norm(vectors, axis=1).all():
                raise MaterialError(
                    f"{self.name}: {what} must be finite and not zero, and at most {LARGEST:.0e}; found "
                    f"{vectors.tolist()}."
                )
        along /= np.linalg.norm(along)
        across = y - (y @ along)[:, None] * along
        turned = np.einsum("si,si->s", across[1:], across[:-1]) < -1e-9 * np.linalg.norm(y, axis=1).max() ** 2
        if turned.any():
            k = int(np.argmax(turned))
            raise MaterialError(
                f"{self.name}: y_axis turns by more than 90 degrees from station {k} (position {positions[k]:g}) to "
                f"the next, from {y[k].tolist()} to {y[k + 1].tolist()}, which leaves open which way it turns. Give "
                "stations between them, or check its sign."
            )
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "along", along)
        object.__setattr__(self, "_axes", y)
        object.__setattr__(self, "section_is_mean", self.section is None)
        if self.section is None:
            object.__setattr__(self, "section", _mean_section(self))

    @cached_property
    def placed_section(self) -> Section:
        """The section in the axes of the table and from the line of the nodes."""
        assert self.section is not None
        return _placed(self.section, self.stiffness.mean(axis=0))

    @property
    def sizes(self) -> Float[np.ndarray, "s 2"]:
        """Radii of gyration across y and z of the stiffness at the stations."""
        _, radii = centroids(self.stiffness)
        return radii

    def _require_mass_of_bodies(self, positions: np.ndarray) -> None:
        """Raises `MaterialError` for mass matrices that no body has: integrals of a body take mass, mass centre and
        moments of inertia from them."""
        M = self.mass
        m = np.einsum("sii->s", M[:, :3, :3]) / 3
        arm = np.sqrt(m[:, None, None] * np.abs(M[:, 3:, 3:]).max(axis=(1, 2), keepdims=True))
        wrong = np.abs(M[:, :3, :3] / m[:, None, None] - np.eye(3)).max(axis=(1, 2)) > ASYMMETRIC
        wrong |= (np.abs(M[:, 3:, :3] + M[:, 3:, :3].swapaxes(1, 2)) / arm).max(axis=(1, 2)) > ASYMMETRIC
        if wrong.any():
            k = int(np.argmax(wrong))
            raise MaterialError(
                f"{self.name}: the mass matrix at station {k} (position {positions[k]:g}) is that of no body: its "
                "first three rows need one mass on their diagonal and the first moments beside it, of opposite signs "
                "across the diagonal, as fem.beam_mass makes them."
            )

    def __str__(self) -> str:
        a, b = self.positions[[0, -1]]
        mass = np.trapezoid(self.mass[:, 0, 0], self.positions)
        return f"{self.name}: {len(self.positions)} stations from {a:.6g} to {b:.6g}, mass {mass:.6g} along the span"

    @property
    def density(self) -> float:
        """One: the mass of a table is in its matrices."""
        return 1.0

    def at(self, x: Float[np.ndarray, "*p 3"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stiffness and mass (..., 6, 6) in the axes of the section, and the vectors y (..., 3), at points `x`
        (..., 3).

        Raises `MaterialError` outside the stations.
        """
        s = x @ self.along
        first, last = self.positions[[0, -1]]
        slack = 1e-6 * (last - first)
        if s.min() < first - slack or s.max() > last + slack:
            raise MaterialError(
                f"{self.name}: its stations are from {first:g} to {last:g} along {self.along.tolist()}, and the beam "
                f"runs from {s.min():g} to {s.max():g}. Add stations, or check the direction."
            )
        k = np.clip(np.searchsorted(self.positions, s, side="right") - 1, 0, len(self.positions) - 2)
        w = np.clip((s - self.positions[k]) / (self.positions[k + 1] - self.positions[k]), 0.0, 1.0)
        tables = (self.stiffness, self.mass, self._axes)
        lower, upper = ([A[k + j] for A in tables] for j in (0, 1))
        weights = [w.reshape(w.shape + (1,) * (A.ndim - w.ndim)) for A in lower]
        found = [(1 - c) * a + c * b for a, b, c in zip(lower, upper, weights, strict=True)]
        return found[0], found[1], found[2]


def _of_section(
    s: Section, E: float, G: float, density: float, centroid: Float[np.ndarray, "2"]
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass of a section about the line of the nodes."""
    c, d = np.cos(np.deg2rad(s.angle)), np.sin(np.deg2rad(s.angle))
    R = np.array([[c, -d], [d, c]])
    squares = density * R @ np.diag([s.Iz, s.Iy]) @ R.T  # integrals of y^2, y z, z^2 over the mass
    shear = (s.shear_y * G * s.area, s.shear_z * G * s.area)
    at, place = (centroid + R @ np.array(s.shear_centre)).tolist(), centroid.tolist()
    K = beam_stiffness(E * s.area, shear, G * s.J, (E * s.Iy, E * s.Iz), place, at, s.angle)
    return K, beam_mass(density * s.area, (squares[1, 1], squares[0, 0]), place, squares[0, 1])


def _warn_of_steep_stations(name: str, S: Float[np.ndarray, "s 6 6"], positions: np.ndarray) -> None:
    """Issue a `MeshWarning` where a stiffness changes much between neighbouring stations."""
    size = np.einsum("sii->si", S)
    change = np.maximum(size[1:] / size[:-1], size[:-1] / size[1:]).max(axis=1, initial=1.0)
    worst = int(change.argmax()) if len(change) else 0
    if len(change) and change[worst] > STEEP:
        needed = int(np.ceil(np.log(change).sum() / np.log(STEEP))) + 1
        warnings.warn(
            MeshWarning(
                f"{name}: a stiffness changes {change[worst]:.3g}-fold between the stations at {positions[worst]:g} "
                f"and {positions[worst + 1]:g}, and matrices are linear between stations: a section that changes its "
                f"size there is softer. Give sections at more stations, some {needed} in all."
            ),
            stacklevel=3,
        )


def centroids(S: Float[np.ndarray, "s 6 6"]) -> tuple[np.ndarray, np.ndarray]:
    """Centroids (s, 2) of stiffness matrices, and radii of gyration across y and z about them."""
    centre = np.column_stack([-S[:, 0, 5], S[:, 0, 4]]) / S[:, :1, 0]
    square = np.column_stack([S[:, 5, 5], S[:, 4, 4]]) / S[:, :1, 0] - centre**2
    return centre, np.sqrt(square)


def _mean_section(table: BeamTable) -> Section:
    """A rectangle with radii of gyration and shear centre of the mean stiffness."""
    S, (E, G) = table.stiffness.mean(axis=0), table.moduli
    ((y, z),), ((a, b),) = (A.tolist() for A in centroids(S[None]))
    q, p = np.linalg.solve(S[1:3, 1:3], S[1:3, 3]).tolist()  # shear strains of a unit of twist
    J = float(S[3, 3] - S[1:3, 3] @ [q, p]) / float(S[0, 0]) * (E / G if G else 1.0)
    return Section(1.0, b * b, a * a, J, shear_centre=(p - y, -q - z))


def _placed(section: Section, S: Float[np.ndarray, "6 6"]) -> Section:
    """The section in the axes of the table and from the line of the nodes, its centroid being that of a stiffness."""
    turn, centre = np.deg2rad(section.angle), centroids(S[None])[0][0]
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])

    def points(given: Any, origin: Any) -> tuple[tuple[float, float], ...]:
        return tuple((y, z) for y, z in (origin + np.array(given).reshape(-1, 2) @ R).tolist())

    return replace(
        section,
        angle=0.0,
        shear_centre=points(section.shear_centre, centre)[0],
        fibres=points(section.fibres, centre),
        outline=points(section.outline, centre),
        fibre_shear=points(section.fibre_shear, np.zeros(2)),
    )


def _require_numbers(what: str, numbers: tuple[Any, ...], pairs: tuple[Any, ...]) -> None:
    if not (
        all(map(is_number, numbers)) and all(floats(p).shape == (2,) and np.isfinite(floats(p)).all() for p in pairs)
    ):
        raise MaterialError(f"{what} needs finite numbers, and pairs of them in y and z; found {(*numbers, *pairs)}.")


def beam_stiffness(
    axial: float,
    shear: Sequence[float],
    torsion: float,
    bending: Sequence[float],
    centroid: Sequence[float] = (0.0, 0.0),
    shear_centre: Sequence[float] = (0.0, 0.0),
    angle: float = 0.0,
) -> Float[np.ndarray, "6 6"]:
    """Stiffness matrix of a section about the line of the nodes, for `fem.BeamTable`.

    `axial`: EA; `shear`: (k G A along y, along z); `torsion`: GJ about the shear centre; `bending`: (E I about y, about
    z) through the centroid, y and z being turned by `angle` (degrees, about x) to the principal axes. `centroid` and
    `shear_centre`: (y, z) in the axes of the table. Raises `MaterialError` unless all are finite.
    """
    _require_numbers("beam_stiffness", (axial, torsion, angle), (shear, bending, centroid, shear_centre))
    c, s = float(np.cos(np.deg2rad(angle))), float(np.sin(np.deg2rad(angle)))
    R = np.array([[c, -s], [s, c]])
    own = np.zeros((6, 6))
    own[0, 0], own[3, 3] = axial, torsion
    own[1:3, 1:3], own[4:, 4:] = R @ np.diag(shear) @ R.T, R @ np.diag(bending) @ R.T
    y, z = centroid
    p, q = shear_centre
    E = np.eye(6)  # strains at centroid and shear centre of those of the line
    E[0, 4], E[0, 5] = z, -y
    E[1, 3], E[2, 3] = -q, p
    return np.asarray(E.T @ own @ E)


def beam_mass(
    mass: float, inertia: Sequence[float], centre: Sequence[float] = (0.0, 0.0), product: float = 0.0
) -> Float[np.ndarray, "6 6"]:
    """Mass matrix of a section per unit length about the line of the nodes, for `fem.BeamTable`.

    `inertia`: moments of inertia about y and z through the mass centre, that about x being their sum; `product`:
    integral of y z over the mass about it; `centre`: its place (y, z). Raises `MaterialError` unless all are finite.
    """
    _require_numbers("beam_mass", (mass, product), (inertia, centre))
    y, z = centre
    arm = np.array([[0, z, -y], [-z, 0, 0], [y, 0, 0]])  # theta -> theta x c
    M = np.zeros((6, 6))
    M[:3, :3] = mass * np.eye(3)
    M[:3, 3:] = mass * arm
    M[3:, :3] = M[:3, 3:].T
    a, b = inertia
    M[3:, 3:] = np.array([[a + b, 0, 0], [0, a, -product], [0, -product, b]]) + mass * arm.T @ arm
    return M
