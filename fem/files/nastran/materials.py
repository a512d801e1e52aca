"""Materials of a Nastran deck: MAT1, MAT2, MAT8, MAT9, MAT11, and the axes of those of solids."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fem.axes.cylindrical import CylindricalAxes
from fem.errors import MaterialError, MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.systems import Systems
from fem.material import Material

RIGID = 1e3
"""Ratio by which shells without shear strain (MID3 blank, G1Z and G2Z zero, a MAT2) are stiffer in transverse shear
than the material in their plane makes them."""
SLACK = 1e-3
"""Bending and transverse shear stiffness of membranes, which have none, relative to those of a plate."""
FAR = 1e3
"""Ratio of Young's and shear modulus beyond which a number is in the field of another."""
CONSISTENT = 0.01
"""Relative difference of E and 2 G (1 + nu) beyond which Nastran too says that a material is not isotropic."""


@dataclass(frozen=True)
class Constants:
    """What the card of a material says: elasticity (6, 6) and density, None where it says too little, and `wrong` if it
    cannot be."""

    elasticity: np.ndarray | None
    density: float | None
    wrong: str = ""


@dataclass(frozen=True)
class Kind:
    """A card of materials: how its elasticity is `read` (None: constants are missing), the fields of its density and
    its structural damping, the last one that holds a number, and what it is a material of."""

    read: Callable[[Card], Material | None]
    density: int
    damping: int
    last: int
    uses: tuple[str, ...]


def constants(card: Card, mass_factor: float, use: str) -> Constants:
    """The constants of a material of "solids", "shells", "beams" or "rods"; beams take E and G, whatever Poisson's
    ratio they make, and rods, which do not resist twist, E alone."""
    kind = KINDS[card.name]
    density = card.real(kind.density, 0.0) * mass_factor or None
    if use not in kind.uses:
        return Constants(None, density, f"{card.name} is a material of {kind.uses[0]}")
    try:
        made = (_of_beam(card) if use in ("beams", "rods") else None) or kind.read(card)
        made = made or (_of_rod(card) if use == "rods" else None)
    except MaterialError as error:
        return Constants(None, density, str(error))
    return Constants(None if made is None else made.elasticity, density)


def not_understood(card: Card) -> Iterator[tuple[str, str]]:
    """Keyword and reason of what a material says beside its constants, and of moduli that contradict each other.

    Raises `MeshError` for a field that is neither a number nor empty: where it counts, the reason would be that of the
    elements."""
    for k in range(2, KINDS[card.name].last + 1):
        card.real(k, 0.0)
    if card.real(KINDS[card.name].damping, 0.0):
        yield f"{card.name} GE", ""
    if card.name == "MAT1":
        E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
        if abs(E - 2 * G * (1 + nu)) > CONSISTENT * E:  # never of a number that is left out
            yield "MAT1 G", ""
        elif E > FAR * G > 0:
            yield "MAT1 G", f"G is {G:g}, {E / G:.2g} times smaller than E; Poisson's ratio belongs into field 4"


def in_system(
    known: Constants, card: Card, number: int, systems: Systems, user: str
) -> tuple[Constants, CylindricalAxes | None]:
    """The constants, in the axes of the mesh, of a material of solids in a coordinate system, and the axes of one that
    turns around an axis."""
    if card.name == "MAT1" or number == 0 or known.elasticity is None:
        return known, None
    if number < 0:
        return Constants(None, None, f"its axes are those of each element (CORDM {number}); name a system"), None
    try:
        origin, axes = systems.frame(number, user)
    except MeshError as error:
        return Constants(None, None, str(error)), None
    if systems.kind(number) == "S":
        return Constants(None, None, f"its coordinate system {number} is spherical"), None
    if systems.kind(number) == "C":
        (x, y, z), (a, b, c) = origin.tolist(), axes[2].tolist()
        return known, CylindricalAxes((x, y, z), (a, b, c))
    (a, b, c), (d, e, f), _ = axes.tolist()
    turned = Material(_name(card), known.elasticity).turned((a, b, c), (d, e, f))
    return Constants(turned.elasticity, known.density), None


def _name(card: Card) -> str:
    return f"{card.name} {card.whole(1)}"


def _of_beam(card: Card) -> Material | None:
    """E and G of a MAT1 that gives both."""
    E, G = card.real(2, 0.0), card.real(3, 0.0)
    if not (E > 0 and G > 0):
        return None
    return Material.orthotropic((E, E, E), (0.0, 0.0, 0.0), (G, G, G))


def _of_rod(card: Card) -> Material | None:
    """A MAT1 that gives E alone."""
    E = card.real(2, 0.0)
    return Material.isotropic(E, 0.0) if E > 0 else None


def _isotropic(card: Card) -> Material | None:
    """MAT1: two of E, G and nu."""
    E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
    if np.isnan(nu) and G:
        nu = E / (2 * G) - 1
    if np.isnan(E):
        E = 2 * G * (1 + nu)
    return None if np.isnan([E, nu]).any() else Material.isotropic(float(E), float(nu))


def in_plane(name: str, Q: np.ndarray, density: float | None = None) -> Material:
    """A material of shells with the plane stress Q (3, 3) of xx, yy, xy per strain; it hardly shears across the plane,
    and what happens along the normal plays no part."""
    C = np.diag(np.full(6, RIGID * Q.max()))
    C[np.ix_([0, 1, 3], [0, 1, 3])] = Q
    return Material(name, C, density)


def plane_stiffness(card: Card) -> np.ndarray:
    """The matrix (3, 3) of a MAT2."""
    Q = np.zeros((3, 3))
    Q[np.triu_indices(3)] = [card.real(k, 0.0) for k in range(2, 8)]
    return np.asarray(Q + np.triu(Q, 1).T)


def _anisotropic_plane(card: Card) -> Material:
    """MAT2."""
    return in_plane(_name(card), plane_stiffness(card))


def _orthotropic_plane(card: Card) -> Material:
    """MAT8. Without moduli of transverse shear (G1Z, G2Z) it hardly shears; the modulus across the shell plays no part,
    and is the second one."""
    E1, E2, nu, G12, G1, G2 = (card.real(k, 0.0) for k in (2, 3, 4, 5, 6, 7))
    rigid = RIGID * max(E1, E2)
    return Material.orthotropic((E1, E2, E2), (nu, 0.0, 0.0), (G12, G2 or rigid, G1 or rigid))


def _anisotropic(card: Card) -> Material:
    """MAT9: the upper triangle of the matrix of xx, yy, zz, xy, yz, zx."""
    C = np.zeros((6, 6))
    C[np.triu_indices(6)] = [card.real(k, 0.0) for k in range(2, 23)]
    return Material(_name(card), C + np.triu(C, 1).T)


def _orthotropic(card: Card) -> Material:
    """MAT11: three moduli, Poisson's ratios 12, 13, 23 and shear moduli 12, 13, 23."""
    E1, E2, E3, nu12, nu13, nu23, G12, G13, G23 = (card.real(k, 0.0) for k in range(2, 11))
    return Material.orthotropic((E1, E2, E3), (nu12, nu23, nu13 * E3 / E1 if E1 else 0.0), (G12, G23, G13))


KINDS = {
    "MAT1": Kind(_isotropic, 5, 8, 12, ("solids", "shells", "beams", "rods")),
    "MAT2": Kind(_anisotropic_plane, 8, 13, 17, ("shells",)),
    "MAT8": Kind(_orthotropic_plane, 8, 17, 18, ("shells",)),
    "MAT9": Kind(_anisotropic, 23, 31, 31, ("solids",)),
    "MAT11": Kind(_orthotropic, 11, 16, 16, ("solids",)),
}
"""The cards of materials that are read."""
