"""What the cards of a Nastran deck say, in the numbers of the file."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fem.elements import Element
from fem.errors import MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.materials import Constants, constants
from fem.files.nastran.shells import SURFACES
from fem.mesh.unread import Unread

_LOADS = """
FORCE FORCE1 FORCE2 MOMENT MOMENT1 MOMENT2 PLOAD PLOAD1 PLOAD2 PLOAD4 GRAV RFORCE SLOAD SPCD LOAD DLOAD LSEQ DAREA
RLOAD1 RLOAD2 TLOAD1 TLOAD2 TEMP TEMPD TEMPP1 TEMPRB DEFORM ACCEL ACCEL1
"""
LOADS = set(_LOADS.split())
"""Cards of loads, which are omitted together by the name LOAD."""
PROPERTY_OF = {
    "PSOLID": "solids",
    **dict.fromkeys(("PSHELL", "PCOMP", "PCOMPG"), "shells"),
    **dict.fromkeys(("PBAR", "PBARL"), "CBAR"),
    **dict.fromkeys(("PBEAM", "PBEAML"), "CBEAM"),
    "PROD": "CROD",
    "PTUBE": "CTUBE",
}
"""The elements that each property is one of. Nastran looks for the property of an element among those of its kind, so
that those of other kinds may have the same number."""
NEW_NODES = 10**9
"""Number of the first node that this reader adds."""


@dataclass
class Deck:
    """The cards of a deck, sorted by what they are."""

    nodes: dict[int, Card] = field(default_factory=dict)
    cells: dict[str, tuple[list[list[int]], list[int], list[Card]]] = field(default_factory=dict)
    properties: dict[tuple[str, int], Card] = field(default_factory=dict)  # by kind of elements and number
    materials: dict[int, Card] = field(default_factory=dict)
    systems: dict[int, Card] = field(default_factory=dict)
    lumped: dict[tuple[str, int], Card] = field(default_factory=dict)  # PELAS, PDAMP, PVISC
    bushes: dict[int, Card] = field(default_factory=dict)
    connecting: list[Card] = field(default_factory=list)
    together: dict[tuple[str, int], tuple[Card, set[int]]] = field(default_factory=dict)  # SPCADD, MPCADD
    defaults: Card | None = None  # GRDSET
    overall: dict[str, Card] = field(default_factory=dict)  # BAROR, BEAMOR, by the elements whose defaults they hold
    numbers: dict[tuple[str, int], Card] = field(default_factory=dict)  # elements by card and number
    given: dict[str, Card] = field(default_factory=dict)  # what a deck may give once
    unread: list[Unread] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    middles: dict[tuple[int, int], tuple[int, Card]] = field(default_factory=dict)  # new nodes on edges, by their ends
    mass_factor: float = 1.0

    def once(self, what: str, card: Card) -> None:
        """Raise `MeshError` where the deck gives `what` twice and differently: Nastran stops there."""
        known = self.given.setdefault(what, card)
        if (known.name, known.meaning) != (card.name, card.meaning):
            raise MeshError(
                f"{card.place}: {what} is given twice, here as {card.text!r} and in line {known.line} of {known.file} "
                f"as {known.text!r}. Keep one of them, or give one a number of its own."
            )

    def number(self, card: Card) -> None:
        """Raise `MeshError` where two elements of one card have one number: Nastran stops there, not at elements of
        different cards."""
        known = self.numbers.setdefault((card.name, card.whole(1)), card)
        if known is not card:
            raise MeshError(
                f"{card.place}: {card.name} {card.whole(1)} is given twice, first in line {known.line} of "
                f"{known.file}. Every {card.name} needs a number of its own."
            )

    @property
    def shared(self) -> Iterator[str]:
        """A note on the cells of different cards with one number, which manuals forbid and Nastran takes."""
        first: dict[int, Card] = {}
        both = []
        for card in (card for _, _, sources in self.cells.values() for card in sources):
            known = first.setdefault(card.whole(1), card)
            both += [(known, card)] if known is not card else []
        if both:
            a, b = both[0]
            yield (
                f"{len(both)} elements have the number of another one of a different card, as Nastran permits; first: "
                f"{a.name} {a.whole(1)}, line {a.line} of {a.file}, and {b.name}, line {b.line} of {b.file}"
            )

    def with_middles(self, nodes: list[int], shape: Element, card: Card) -> list[int]:
        """The nodes of a cell, in which 0 is a node on an edge that its card leaves out: a new one in the middle."""
        made = list(nodes)
        for a, b, middle in shape.edges:
            if not made[middle]:
                ends = (min(made[a], made[b]), max(made[a], made[b]))
                made[middle] = self.middles.setdefault(ends, (NEW_NODES + len(self.middles), card))[0]
        return made

    def owner(self, card: Card, number: int) -> Card | None:
        """The property of an element."""
        if card.name == "CONROD":
            return card
        kind = "shells" if card.name in SURFACES else card.name
        return self.properties.get((kind if kind in PROPERTY_OF.values() else "solids", number))

    def of_others(self, number: int) -> list[Card]:
        """The properties of a number, of elements of any kind."""
        return [card for (_, n), card in self.properties.items() if n == number]

    def add(self, kind: str, nodes: list[int], card: Card, group: int) -> None:
        rows, groups, sources = self.cells.setdefault(kind, ([], [], []))
        rows.append(nodes)
        groups.append(group)
        sources.append(card)


def not_obeyed(card: Card, keyword: str = "", reason: str = "") -> Unread:
    """The record of a card that is not obeyed."""
    text = f"{card.text} (not obeyed: {reason})" if reason else card.text
    return Unread(keyword or card.name, card.file, card.line, text, "LOAD" if card.name in LOADS else "")


def material_of(deck: Deck, number: int, source: Card, use: str) -> tuple[str, Constants, Unread]:
    """Name and constants of a material of "solids", "shells", "beams" or "rods", and the card that gives them, or the
    one that asks for them."""
    card = deck.materials.get(number)
    if card is None:
        return f"undefined material {number}", Constants(None, None), not_obeyed(source)
    return f"{card.name} {number}", constants(card, deck.mass_factor, use), not_obeyed(card)
