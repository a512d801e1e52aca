"""Shells of a Nastran deck: PSHELL, PCOMP, PCOMPG with materials MAT1, MAT2 and MAT8, and what their elements say."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fem.axes.sides import SideAxes
from fem.errors import MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.materials import RIGID, SLACK, constants, in_plane, plane_stiffness
from fem.files.nastran.systems import Systems
from fem.material import Material
from fem.sections.layup import Ply
from fem.shell import Shell

SURFACES = {"CTRIA3": ("triangle", 3), "CTRIAR": ("triangle", 3), "CTRIA6": ("triangle6", 6), "CQUAD4": ("quad", 4),
"CQUADR": ("quad", 4), "CQUAD8": ("quad8", 8)}  # fmt: skip
SHELL_PROPERTIES = ("PSHELL", "PCOMP", "PCOMPG")
_LAST_OF_PSHELL = 11
_FIRST_THICKNESS = 11
_PLACES = {3: (6, 7, 10), 4: (7, 8, 10), 6: (9, 10, 14), 8: (15, 16, 17)}
"""For each number of nodes the fields of the angle, the offset and TFLAG."""


def card_of_element(card: Card) -> tuple[float, float, str]:
    """Offset, thickness at the corners (0: that of the property) and angle or coordinate system (a text) of a shell
    element. Raises `MeshError` for thicknesses that vary."""
    count = SURFACES[card.name][1]
    angle, offset, flag = _PLACES[count]
    first = _FIRST_THICKNESS
    corners = 3 if count in (3, 6) else 4
    own = [card.text_at(k) for k in range(first, first + corners)]
    given = [card.real(first + k, 0.0) for k, text in enumerate(own) if text not in ("", "0", "0.0", "0.")]
    if given and (len(given) < corners or max(given) > min(given) * (1 + 1e-9)):
        raise MeshError("thicknesses of its own (T1 to T4) that vary")
    if card.text_at(flag) not in ("", "0"):
        raise MeshError("thicknesses at its corners relative to that of the property (TFLAG)")
    return card.real(offset, 0.0), given[0] if given else 0.0, card.text_at(angle)


def shell(
    card: Card,
    element: tuple[float, float, str],
    materials: Mapping[int, Card],
    systems: Systems,
    mass_factor: float,
    user: str,
) -> tuple[int, Shell]:
    """Number of the first material and the shell of a property, for what its element says. Raises `MeshError` for what
    is not read, `MaterialError` for materials that cannot be."""
    offset, thickness, angle = element
    axis = _x_axis(angle, systems, user)
    if card.name == "PSHELL":
        return _homogeneous(card, offset, thickness or card.real(3, 0.0), axis, materials, mass_factor)
    if thickness:
        raise MeshError(f"thicknesses of its own (T1 to T4) with {card.name}")
    numbers, plies, bottom = _plies(card, materials, mass_factor)
    total = sum(ply.thickness for ply in plies)
    offset += (-total / 2 if bottom is None else bottom) + total / 2
    added = card.real(3, 0.0) * mass_factor
    layup = Shell.layup(plies, axis, offset, added_mass=added)
    if card.text_at(8).upper() not in ("SMEAR", "MEM"):
        return numbers[0], layup
    if added and layup.density is None:
        raise MeshError("plies without a density beside others, and a mass of its own (NSM)")
    Q = np.asarray(sum(ply.thickness * ply.turned[0] for ply in plies)) / total  # whatever the sequence of the plies
    made = in_plane(f"{card.name} {card.whole(1)}, smeared", Q, replace(layup, added_mass=0.0).density)
    stiffness = _of_membrane(Q, total) if is_membrane(card) else None
    return numbers[0], Shell(made, total, offset, axis, added_mass=added, stiffness=stiffness)


def is_membrane(card: Card) -> bool:
    """Whether a property has no stiffness beside that in the plane."""
    return not card.whole(4, 0) if card.name == "PSHELL" else card.text_at(8).upper() == "MEM"


def _of_membrane(Q: np.ndarray, thickness: float) -> np.ndarray:
    """The stiffness (8, 8) of a membrane of the plane stress Q (3, 3), with a little of that of a plate."""
    C = np.zeros((8, 8))
    C[:3, :3], C[3:6, 3:6] = thickness * Q, SLACK * thickness**3 / 12 * Q
    C[6:, 6:] = SLACK * 5 / 6 * thickness * Q[2, 2] * np.eye(2)
    return C


def _x_axis(angle: str, systems: Systems, user: str) -> tuple[float, float, float] | SideAxes:
    """An angle from the first side, or a coordinate system whose first axis is projected."""
    if not angle.lstrip("+-").isdigit():
        return SideAxes(Card("", [angle], "", 0, "").real(1, 0.0))
    if systems.kind(int(angle)) != "R":
        raise MeshError(f"a coordinate system of its material, {angle}, that is not rectangular")
    x, y, z = systems.frame(int(angle), user)[1][0].tolist()
    return x, y, z


def material(number: int, materials: Mapping[int, Card], mass_factor: float) -> Material:
    """The material of a number. Raises `MeshError` where the deck has none that is read."""
    card = materials.get(number)
    if card is None:
        raise MeshError(f"material {number}, which is neither MAT1, MAT2 nor MAT8")
    known = constants(card, mass_factor, "shells")
    if known.elasticity is None:
        raise MeshError(f"{card.name} {number}: {known.wrong or 'constants are missing'}")
    return Material(f"{card.name} {number}", known.elasticity, known.density)


def _homogeneous(
    card: Card,
    offset: float,
    thickness: float,
    axis: tuple[float, float, float] | SideAxes,
    materials: Mapping[int, Card],
    mass_factor: float,
) -> tuple[int, Shell]:
    """A PSHELL: one layer, whose bending, shear and mass may be others than those of its material; or a stiffness, with
    materials of their own for bending, transverse shear and coupling."""
    number, of_bending, of_shear, of_coupling = (card.whole(k, 0) for k in (2, 4, 6, 11))
    if not number or not thickness > 0:
        raise MeshError("a thickness and a material for the membrane (MID1) are needed")
    if of_bending < 0:
        raise MeshError("plane strain (MID2 = -1)")
    if any(card.fields[_LAST_OF_PSHELL:]):
        raise MeshError("fields after MID4, which are those of other programs than Nastran")
    made = material(number, materials, mass_factor)
    bending, shear = card.real(5, 1.0), card.real(7, 5 / 6) / (5 / 6)
    for what, value, default in (("12I/T**3", bending, "1.0"), ("TS/T", shear, ".833333")):
        if not value > 0:
            raise MeshError(f"{what} is not above zero; leave it blank for {default}")
    added = card.real(8, 0.0) * mass_factor
    if is_membrane(card):
        if of_shear or of_coupling:
            raise MeshError("transverse shear (MID3) or coupling (MID4) without bending (MID2)")
        C = _of_membrane(_plane(number, materials, mass_factor), thickness)
        return number, Shell(made, thickness, offset, axis, added_mass=added, stiffness=C)
    if of_coupling or of_bending != number or of_shear not in (0, number) or materials[number].name == "MAT2":
        planes = [_plane(n, materials, mass_factor) for n in (number, of_bending, of_coupling)]
        C = np.zeros((8, 8))
        C[:3, :3], C[3:6, 3:6] = thickness * planes[0], bending * thickness**3 / 12 * planes[1]
        C[:3, 3:6] = C[3:6, :3] = -(thickness**2) * planes[2]  # curvatures of Nastran are the other way round
        transverse = _transverse(of_shear, materials, mass_factor) if of_shear else RIGID * planes[0].max() * np.eye(2)
        C[6:, 6:] = shear * 5 / 6 * thickness * transverse
        return number, Shell(made, thickness, offset, axis, bending_ratio=bending, added_mass=added, stiffness=C)
    shears = shear if of_shear else RIGID
    C, Q = made.elasticity, Ply(made, 1.0).own[0]
    differences = Q[0, 0] - Q[1, 1], Q[2, 2] - (Q[0, 0] - Q[0, 1]) / 2, C[4, 4] - C[5, 5]
    same = np.abs(differences).max() < 1e-9 * C[0, 0]
    x_axis = None if same else axis
    return number, Shell(made, thickness, offset, x_axis, bending_ratio=bending, shear_ratio=shears, added_mass=added)


def _plane(number: int, materials: Mapping[int, Card], mass_factor: float) -> np.ndarray:
    """Plane stress xx, yy, xy per strain of a material (3, 3); zero for the number 0."""
    if not number:
        return np.zeros((3, 3))
    if number in materials and materials[number].name == "MAT2":
        return plane_stiffness(materials[number])  # of coupling, it may have any signs
    return Ply(material(number, materials, mass_factor), 1.0).own[0]


def _transverse(number: int, materials: Mapping[int, Card], mass_factor: float) -> np.ndarray:
    """Transverse shear stress xz, yz per strain of a material (2, 2), of a MAT2 the first two rows."""
    if number in materials and materials[number].name == "MAT2":
        Q = plane_stiffness(materials[number])
        if Q[2].any():
            raise MeshError("a MAT2 of transverse shear (MID3) with G13, G23 or G33, which must be blank")
        return Q[:2, :2]
    return Ply(material(number, materials, mass_factor), 1.0).own[1]


def _plies(card: Card, materials: Mapping[int, Card], mass_factor: float) -> tuple[list[int], list[Ply], float | None]:
    """Materials, plies from the bottom to the top, and height of the bottom (None: the layup lies about its nodes).

    Thicknesses and materials that are left out are those of the ply before.
    """
    kind = card.text_at(8).upper()
    if kind not in ("", "SYM", "SMEAR", "MEM"):
        raise MeshError(f"the option LAM = {kind} of {card.name}")
    if card.real(7, 0.0):
        raise MeshError(f"structural damping (GE) of {card.name}")
    width, at = (8, 1) if card.name == "PCOMPG" else (4, 0)
    numbers: list[int] = []
    made: list[Ply] = []
    number, thickness = 0, 0.0
    for k in range(9, len(card.fields) + 1, width):
        if not any(card.text_at(k + at + j) for j in range(4)):
            continue
        number = card.whole(k + at, number)
        thickness = card.real(k + at + 1, thickness)
        numbers.append(number)
        made.append(Ply(material(number, materials, mass_factor), thickness, card.real(k + at + 2, 0.0)))
    if not made:
        raise MeshError(f"{card.name} without plies")
    if kind == "SYM":
        made = [*made, *reversed(made)]
    return numbers, made, card.real(2) if card.text_at(2) else None
