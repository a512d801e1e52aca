"""Sections of beams of a Nastran deck: PBAR, PBARL, PBEAM, PBEAML."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from fem.axes.cylindrical import turn_about
from fem.beam import Section, principal_moments
from fem.drawn_sections.draw import section_of_rectangles
from fem.errors import MaterialError, MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.materials import Constants
from fem.sections.beam_table import BeamTable, beam_mass, beam_stiffness

BEAM_PROPERTIES = ("PBAR", "PBARL", "PBEAM", "PBEAML")


def beam(card: Card) -> tuple[int, Section, str, float, tuple[float, float]]:
    """Number of the material, section, theory and mass per length beside that of the material of a beam property that
    does not vary, and the place (y, z) of the centroid beside the line of the element, which of a CBEAM is that of the
    shear centres. A torsion constant that is left blank is zero, as in Nastran.

    Raises `MeshError` for what is not read."""
    if card.name in ("PBARL", "PBEAML"):
        section, mass = _shaped(card)
        y, z = (-_to_principal(section.angle).T @ section.shear_centre).tolist()
        return card.whole(2), section, "timoshenko", mass, (y, z)
    if card.name == "PBAR":
        area, I1, I2, J, mass = (card.real(k, 0.0) for k in (3, 4, 5, 6, 7))
        K1, K2, I12, rest = card.real(17, 0.0), card.real(18, 0.0), card.real(19, 0.0), card.fields[19:]
        K1, K2 = (0.0, 0.0) if I12 else (K1, K2)  # Nastran ignores them beside a product of inertia
        warping, aside = 0.0, np.zeros(2)
    else:
        found, first = stations(card)
        area, I1, I2, I12, J, mass = found[0][1:]
        K1, K2, rest = card.real(first, 1.0), card.real(first + 1, 1.0), card.fields[first + 1 :]
        warping = card.real(first + 6, 0.0)
        if card.real(first + 7, warping) != warping:
            raise MeshError("a warping constant that varies")
        rest = [text for k, text in enumerate(rest) if k not in (4, 5, 10, 11, 12, 13)]
        aside = _neutral_axis(card, first)
    if any(text and _is_set(text) for text in rest):
        raise MeshError("inertia of its own or a place of its own of NSM, or shear relief")
    if bool(K1) != bool(K2):
        raise MeshError("shear in one direction only (K1, K2)")
    fibres = np.array([(card.real(k, 0.0), card.real(k + 1, 0.0)) for k in (9, 11, 13, 15)])
    if I12 and K1 != K2:
        raise MeshError("a product of inertia, and different factors of shear (K1, K2)")
    try:
        I2, I1, angle = principal_moments(I2, I1, I12) if I12 else (I2, I1, 0.0)
        y, z = (-_to_principal(angle) @ aside).tolist()
        fibres = (fibres - aside) @ _to_principal(angle).T if fibres.any() else fibres
        section = Section(
            area,
            I2,
            I1,
            J,
            K1 or 5 / 6,
            K2 or 5 / 6,
            tuple((y, z) for y, z in fibres.tolist()) if fibres.any() else (),
            angle=angle,
            warping=warping,
            shear_centre=(y, z),
        )
    except MaterialError as error:
        raise MeshError(str(error)) from None
    return card.whole(2), section, "timoshenko" if K1 else "euler-bernoulli", mass, (float(aside[0]), float(aside[1]))


def _to_principal(angle: float) -> np.ndarray:
    """The matrix (2, 2) that makes y, z along principal axes of those along the axes of a beam."""
    return np.asarray(turn_about(0, angle)[1:, 1:])


def _neutral_axis(card: Card, first: int) -> np.ndarray:
    """Place (y, z) of the centroid beside the shear centre of a PBEAM; `first`: the field of K1. Raises `MeshError`
    where it is another one at end B."""
    start = [card.real(first + 12 + k, 0.0) for k in (0, 1)]
    if [card.real(first + 14 + k, start[k]) for k in (0, 1)] != start:
        raise MeshError("a neutral axis whose distance from the shear centre varies (N1, N2)")
    return np.array(start)


def stations(card: Card) -> tuple[list[list[float]], int]:
    """Place (0 to 1), area, I1, I2, I12, J and mass per length at the stations of a PBEAM, from end to end, and the
    field after them. What a station leaves blank is that of end A at end B, and interpolated between the ends."""
    found = [[0.0, *(card.real(k, 0.0) for k in range(3, 9))]]
    blank: dict[int, list[int]] = {}
    first = 17
    while card.text_at(first).upper() in ("YES", "YESA", "NO"):
        place = card.real(first + 1, 1.0)
        blank[len(found)] = [k for k in range(6) if not card.text_at(first + 2 + k)]
        found.append([place, *(card.real(first + 2 + k, found[0][1 + k]) for k in range(6))])
        first += 16 if card.text_at(first).upper() == "YES" else 8
    last = next((row for row in found if row[0] == 1.0), found[0])
    for row, left in blank.items():
        for k in left:
            found[row][1 + k] = found[0][1 + k] + found[row][0] * (last[1 + k] - found[0][1 + k])
    found.sort(key=lambda row: row[0])
    _require_both_ends([row[0] for row in found])
    return found if len(found) > 1 else [*found, [1.0, *found[0][1:]]], first


def _require_both_ends(places: list[float]) -> None:
    """Raises `MeshError` for stations that do not run from end A to end B; end A alone stands for both."""
    if places[0] != 0.0 or places[-1] > 1.0:
        raise MeshError("stations of a beam outside of its length")
    if len(places) > 1 and places[-1] < 1.0:
        raise MeshError("stations of a beam that do not reach its end B (X/XB of 1.)")


def varies(card: Card) -> bool:
    """Whether the section of a PBEAM or PBEAML varies along the beam."""
    if card.name == "PBEAML":
        _, found = _shapes_along(card)
        return any(station[1:] != found[0][1:] for station in found)
    return card.name == "PBEAM" and any(row[1:] != stations(card)[0][0][1:] for row in stations(card)[0])


def tapered(
    card: Card,
    material: str,
    known: Constants,
    mass_factor: float,
    a: np.ndarray,
    b: np.ndarray,
    y: tuple[float, float, float],
) -> BeamTable:
    """The section matrices of a beam from `a` to `b` whose PBEAM or PBEAML varies, linear between its stations, of the
    constants `known` of a material; its mass per length is in them. Raises `MeshError` for what is not read."""
    if card.name == "PBEAML":
        found, K = _shaped_stations(card)
    else:
        found, first = stations(card)
        K = [[card.real(first + k, 1.0) for k in (0, 1)]] * len(found)
        if not all(K[0]):
            raise MeshError("a beam whose section varies and does not shear (K1, K2 of zero)")
        if not all(row[5] for row in found):
            raise MeshError("a beam whose section varies and does not resist twist (J of zero, also where it is blank)")
        if any(text and _is_set(text) for text in card.fields[first + 1 :]) or any(row[4] for row in found):
            raise MeshError("warping, shear relief, a shear centre aside or a product of inertia in a beam that varies")
    if known.elasticity is None:
        raise MeshError(f"its {card.name} has no constants: {material}{f' ({known.wrong})' if known.wrong else ''}")
    if known.density is None:
        raise MeshError(f"a beam whose section varies, of a material without a density: {material}")
    compliance = np.linalg.inv(known.elasticity)
    E, G = float(1 / compliance[0, 0]), float(1 / compliance[3, 3])
    density = known.density
    along = (b - a) / np.linalg.norm(b - a)
    S, M = [], []
    for (_, area, I1, I2, _, J, mass), (K1, K2) in zip(found, K, strict=True):
        S.append(beam_stiffness(E * area, (K1 * G * area, K2 * G * area), G * J, (E * I2, E * I1)))
        M.append(beam_mass(density * area + mass * mass_factor, (density * I2, density * I1)))
    area, I1, I2, _, J = np.mean([row[1:6] for row in found], axis=0).tolist()
    places = a @ along + np.array([row[0] for row in found]) * np.linalg.norm(b - a)
    try:
        drawn = Section(area, I2, I1, J)
        return BeamTable(
            places, np.array(S), np.array(M), y, tuple(along.tolist()), drawn, (E, G), f"{card.name} {card.whole(1)}"
        )
    except MaterialError as error:
        raise MeshError(str(error)) from None


def _is_set(text: str) -> bool:
    return Card("", [text], "", 0, "").real(1) != 0


Box = tuple[float, float, float, float]


def _i(height: float, low: float, high: float, web: float, low_wall: float, high_wall: float) -> list[Box]:
    walls = [(0.0, -low / 2, low_wall, low / 2), (height - high_wall, -high / 2, height, high / 2)]
    return [*walls, (0.0, -web / 2, height, web / 2)]


def _channel(width: float, height: float, web: float, flange: float) -> list[Box]:
    return [(0.0, 0.0, height, web), (0.0, 0.0, flange, width), (height - flange, 0.0, height, width)]


def _hollow(width: float, height: float, top: float, bottom: float, left: float, right: float) -> list[Box]:
    sides = [(0.0, 0.0, height, left), (0.0, width - right, height, width)]
    return [*sides, (0.0, 0.0, bottom, width), (height - top, 0.0, height, width)]


_SHAPES: dict[str, tuple[int, Callable[..., list[Box]]]] = {
    "I": (6, _i),
    "I1": (4, lambda a, web, d, h: _i(h, a + web, a + web, web, (h - d) / 2, (h - d) / 2)),
    "CHAN": (4, _channel),
    "CHAN1": (4, lambda a, web, d, h: _channel(a + web, h, web, (h - d) / 2)),
    "CHAN2": (4, lambda t, low, h, w: [(0.0, 0.0, h, t), (0.0, w - t, h, w), (0.0, 0.0, low, w)]),
    "T": (4, lambda w, h, f, web: [(h - f, -w / 2, h, w / 2), (0.0, -web / 2, h, web / 2)]),
    "T1": (4, lambda h, w, f, web: [(-h / 2, 0.0, h / 2, f), (-web / 2, -w, web / 2, f)]),
    "T2": (4, lambda w, h, f, web: [(0.0, -w / 2, f, w / 2), (0.0, -web / 2, h, web / 2)]),
    "CROSS": (4, lambda a, w, h, t: [(-h / 2, -w / 2, h / 2, w / 2), (-t / 2, -(a + w) / 2, t / 2, (a + w) / 2)]),
    "H": (4, lambda d, w, h, t: [
        (-h / 2, d / 2, h / 2, (d + w) / 2), (-h / 2, -(d + w) / 2, h / 2, -d / 2),
        (-t / 2, -(d + w) / 2, t / 2, (d + w) / 2),
    ]),
    "BOX": (4, lambda w, h, level, upright: _hollow(w, h, level, level, upright, upright)),
    "BOX1": (6, _hollow),
    "HAT": (4, lambda h, t, w, brim: [
        (h - t, -w / 2, h, w / 2), (0.0, -w / 2, h, t - w / 2), (0.0, w / 2 - t, h, w / 2),
        (0.0, -w / 2 - brim, t, t - w / 2), (0.0, w / 2 - t, t, w / 2 + brim),
    ]),
}  # fmt: skip
"""For each type the number of its dimensions, and the rectangles (y, z of two corners) of which it consists."""
_ROUND = {"ROD": 1, "TUBE": 2, "TUBE2": 2, "BAR": 2}
_WITHIN: dict[str, tuple[tuple[str, str], ...]] = {
    "TUBE": (("2", "1"),),
    "TUBE2": (("2", "1"),),
    "I": (("5+6", "1"), ("4", "2"), ("4", "3")),
    "I1": (("3", "4"),),
    "CHAN": (("4+4", "2"), ("3", "1")),
    "CHAN1": (("3", "4"),),
    "CHAN2": (("1+1", "4"), ("2", "3")),
    "T": (("3", "2"), ("4", "1")),
    "T1": (("4", "1"),),
    "T2": (("3", "2"), ("4", "1")),
    "CROSS": (("4", "3"),),
    "H": (("4", "3"),),
    "BOX": (("3+3", "2"), ("4+4", "1")),
    "BOX1": (("3+4", "2"), ("5+6", "1")),
    "HAT": (("2", "1"), ("2+2", "3")),
}
"""Dimensions that are walls, and the one within which they are together: other walls overlap, or stand beside each
other."""
TOUCH = 1e-9
"""Relative excess of walls over the dimension within which they are that is rounding."""


def _shaped(card: Card) -> tuple[Section, float]:
    """Section and mass per length of PBARL, and of a PBEAML that does not vary."""
    kind, found = _shapes_along(card)
    _, size, mass = found[0]
    return _at_station(card, kind, size), mass


def _shapes_along(card: Card) -> tuple[str, list[tuple[float, tuple[float, ...], float]]]:
    """Group, type and dimensions of PBARL and PBEAML: the type, and the stations with place (0 to 1), dimensions and
    mass per length beside that of the material; z of the beam is level, y upright. Raises `MeshError` for other types
    and for dimensions that are left out between the ends."""
    kind = card.text_at(4).upper()
    count = _ROUND.get(kind) or _SHAPES.get(kind, (0,))[0]
    if not count:
        raise MeshError(f"a section of the type {kind!r}; {', '.join([*_ROUND, *_SHAPES])} are read")
    size, first = tuple(card.real(9 + k) for k in range(count)), 9 + count
    mass = card.real(first, 0.0)
    found = [(0.0, size, mass)]
    first += 1
    while first < len(card.fields):  # whether stresses are wanted, place, dimensions and mass of the next station
        place = card.real(first + 1, 1.0)
        words = [card.text_at(first + 2 + k) for k in range(count + 1)]
        if place < 1 and any(words) and not all(words[:count]):
            raise MeshError("dimensions that are left out between the ends of a beam")
        stated = any(card.fields[first : first + 3 + count])
        if any(words) or (stated and place == 1):  # what end B leaves blank is that of end A
            there = tuple(card.real(first + 2 + k, size[k]) for k in range(count))
            found.append((place, there, card.real(first + 2 + count, mass)))
        first += 3 + count
    found.sort(key=lambda station: station[0])
    return kind, found


def _shaped_stations(card: Card) -> tuple[list[list[float]], list[list[float]]]:
    """What `stations` gives of a PBEAM, and the shear factors, of a PBEAML whose dimensions vary: properties of its
    sections, between which Nastran interpolates."""
    kind, found = _shapes_along(card)
    _require_both_ends([place for place, *_ in found])
    rows, factors = [], []
    for place, size, mass in found:
        s = _at_station(card, kind, size)
        if max(map(abs, s.shear_centre)) > 1e-6 * s.area**0.5:
            raise MeshError(f"a section ({kind}) that varies and whose shear centre is not its centroid")
        rows.append([place, s.area, s.Iz, s.Iy, 0.0, s.J, mass])
        factors.append([s.shear_y, s.shear_z])
    return rows, factors


def _at_station(card: Card, kind: str, size: tuple[float, ...]) -> Section:
    """The section of some dimensions. The line of a CBAR is that of the centroids, and the shear centre is on it; a
    CBEAM follows the shear centres. Raises `MeshError` for dimensions that no section has."""
    _require_dimensions(kind, size)
    try:
        section = _made(kind, size)
    except MaterialError as error:
        raise MeshError(str(error)) from None
    near = max(map(abs, section.shear_centre)) <= 1e-6 * section.area**0.5
    if card.name == "PBARL" or near:
        section = replace(section, shear_centre=(0.0, 0.0))
    return replace(section, drawn_centroid=(0.0, 0.0))


def _require_dimensions(kind: str, size: tuple[float, ...]) -> None:
    """Raise `MeshError`, which names the dimension, where one is not positive, or walls are thicker than what they are
    within."""
    for k, value in enumerate(size, 1):
        if not value > 0 and not (kind == "TUBE" and k == 2 and value == 0):
            raise MeshError(f"a section {kind} whose DIM{k} is {value:g}; it must be positive")
    for walls, whole in _WITHIN.get(kind, ()):
        numbers = [int(k) for k in walls.split("+")]
        total, most = sum(size[k - 1] for k in numbers), size[int(whole) - 1]
        if total > most * (1 + TOUCH):
            names = f"twice DIM{numbers[0]}" if numbers[1:] == numbers[:1] else " and ".join(f"DIM{k}" for k in numbers)
            raise MeshError(
                f"a section {kind} whose walls do not fit: {names}, {total:g}, is more than DIM{whole}, {most:g}"
            )


@cache
def _drawn(kind: str, size: tuple[float, ...]) -> Section:
    return section_of_rectangles(_SHAPES[kind][1](*size))


def _made(kind: str, size: tuple[float, ...]) -> Section:
    if kind == "BAR":
        return Section.rectangle(size[1], size[0])
    if kind == "BOX" and size[2] == size[3]:
        return Section.box(size[1], size[0], size[2])
    if kind in _ROUND:
        inner = {"ROD": 0.0, "TUBE": size[-1], "TUBE2": size[0] - size[-1]}[kind]
        return Section.tube(2 * size[0], 2 * inner)
    return _drawn(kind, size)
