"""Materials and sections of a Nastran deck: MAT1; PSHELL; PBAR, PBARL, PBEAM, PBEAML; the vectors of CBAR and CBEAM."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fem.beam import Section
from fem.errors import MaterialError, MeshError
from fem.files.nastran.cards import Card
from fem.material import Material

BEAM_PROPERTIES = ("PBAR", "PBARL", "PBEAM", "PBEAML")


@dataclass(frozen=True)
class Constants:
    """What a MAT1 card says: elasticity (6, 6) and density, None where it says too little, and `wrong` if it cannot
    be."""

    elasticity: np.ndarray | None
    density: float | None
    wrong: str = ""


def constants(card: Card, mass_factor: float, beam: bool = False) -> Constants:
    """Two of E, G and nu, and the density; for a `beam` E and G, whatever nu they make."""
    E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
    if np.isnan(nu) and G:
        nu = E / (2 * G) - 1
    if np.isnan(E):
        E = 2 * G * (1 + nu)
    density = card.real(5, 0.0) * mass_factor or None
    try:
        if beam and E > 0 and card.real(3, 0.0) > 0:
            G = float(card.real(3))
            moduli, shear = (float(E), float(E), float(E)), (G, G, G)
            return Constants(Material.orthotropic(moduli, (0.0, 0.0, 0.0), shear).elasticity, density)
        known = not np.isnan([E, nu]).any()
        return Constants(Material.isotropic(float(E), float(nu)).elasticity if known else None, density)
    except MaterialError as error:
        return Constants(None, density, str(error))


def shell(card: Card) -> tuple[int, float]:
    """Number of the material and thickness of a PSHELL. Raises `MeshError` for sections that are not one layer of one
    material."""
    material, thickness = card.whole(2, 0), card.real(3, 0.0)
    if not material or not thickness > 0:
        raise MeshError("a thickness and a material for the membrane are needed")
    if card.whole(4, 0) != material or card.real(5, 1.0) != 1.0:
        raise MeshError("bending of its own (MID2, 12I/T**3), or none; one material for membrane and bending is read")
    if card.whole(6, material) != material or abs(card.real(7, 5 / 6) - 5 / 6) > 1e-3:
        raise MeshError("shear of its own (MID3, TS/T)")
    if card.real(8, 0.0) or card.whole(11, 0):
        raise MeshError("a mass that is not structural, or MID4")
    return material, thickness


def beam(card: Card) -> tuple[int, Section, str]:
    """Number of the material, section and theory of a beam property. Raises `MeshError` for what is not read."""
    if card.name in ("PBARL", "PBEAML"):
        return card.whole(2), _shaped(card), "timoshenko"
    if card.name == "PBAR":
        area, I1, I2, J, mass = (card.real(k, 0.0) for k in (3, 4, 5, 6, 7))
        K1, K2, I12, rest = card.real(17, 0.0), card.real(18, 0.0), card.real(19, 0.0), card.fields[19:]
    else:
        area, I1, I2, I12, J, mass = (card.real(k, 0.0) for k in (3, 4, 5, 6, 7, 8))
        first = 17
        if card.text_at(17).upper() in ("YES", "YESA", "NO"):
            ends = [(card.real(k + 16, card.real(k, 0.0)), card.real(k, 0.0)) for k in range(3, 9)]
            if card.real(18, 1.0) != 1.0 or any(a != b for a, b in ends):
                raise MeshError("a beam whose section varies")
            first = 33 if card.text_at(17).upper() == "YES" else 25
        K1, K2, rest = card.real(first, 1.0), card.real(first + 1, 1.0), card.fields[first + 1 :]
    if I12 or mass:
        raise MeshError("a product of inertia, or a mass that is not structural")
    if any(text and _is_set(text) for text in rest):
        raise MeshError("warping, a shear centre or a neutral axis aside, or shear relief")
    if bool(K1) != bool(K2):
        raise MeshError("shear in one direction only (K1, K2)")
    fibres = tuple((card.real(k, 0.0), card.real(k + 1, 0.0)) for k in (9, 11, 13, 15))
    try:
        section = Section(
            area, I2, I1, J or (I1 + I2) / 2, K1 or 5 / 6, K2 or 5 / 6, fibres if any(map(any, fibres)) else ()
        )
    except MaterialError as error:
        raise MeshError(str(error)) from None
    return card.whole(2), section, "timoshenko" if K1 else "euler-bernoulli"


def _is_set(text: str) -> bool:
    return Card("", [text], "", 0, "").real(1) != 0


def _shaped(card: Card) -> Section:
    """PBARL and PBEAML: group, type and dimensions; DIM1 is along z of the beam, DIM2 along y."""
    kind = card.text_at(4).upper()
    count = {"BAR": 2, "ROD": 1, "TUBE": 2, "BOX": 4}.get(kind, 0)
    if not count:
        raise MeshError(f"a section of the type {kind!r}; BAR, ROD, TUBE and BOX are read")
    size = [card.real(9 + k) for k in range(count)]
    first = 9 + count
    while first <= len(card.fields):  # mass, then whether stresses are wanted, place and dimensions of the next station
        if card.real(first, 0.0):
            raise MeshError("a mass that is not structural")
        if card.real(first + 2, 1.0) and any(card.real(first + 3 + k, size[k]) != size[k] for k in range(count)):
            raise MeshError("a beam whose section varies")
        first += 3 + count
    try:
        if kind == "BAR":
            return Section.rectangle(size[1], size[0])
        if kind == "BOX":
            if size[2] != size[3]:
                raise MeshError("walls that differ")
            return Section.box(size[1], size[0], size[2])
        return Section.tube(2 * size[0], 2 * size[1] if kind == "TUBE" else 0.0)
    except MaterialError as error:
        raise MeshError(str(error)) from None


def vector(card: Card, points: Mapping[int, np.ndarray], axes: Mapping[int, np.ndarray]) -> tuple[float, float, float]:
    """Direction of the plane x-y of a CBAR or CBEAM: a vector in the axes of its first node, or a node. Raises
    `MeshError` for pins, offsets and cards without a vector."""
    first = card.whole(3)
    if any(text not in ("", "0") for text in card.fields[8:10]):
        raise MeshError("ends that are released (PA, PB)")
    if any(card.real(k, 0.0) for k in range(11, 17)) or any(card.fields[16:]):
        raise MeshError("offsets or warping of its ends")
    if card.text_at(8).upper() not in ("", "GGG"):
        raise MeshError(f"offset axes {card.text_at(8)}")
    text = card.text_at(5)
    if text.isdigit() and not card.text_at(6) and not card.text_at(7):
        if int(text) not in points:
            raise MeshError(f"its vector is given by node {text}, which the deck does not define")
        v = points[int(text)] - points[first]
    else:
        v = np.array([card.real(k, 0.0) for k in (5, 6, 7)])
        v = v @ axes[first] if first in axes else v
    if not np.linalg.norm(v) > 0:
        raise MeshError("the vector of its first plane is missing")
    v = v / np.linalg.norm(v)
    return float(v[0]), float(v[1]), float(v[2])
