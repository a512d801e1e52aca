"""From a deck in its own numbers to a `RawMesh`: sets inside sets, surfaces, the place of the instance."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from fem.elements import ELEMENTS, element
from fem.errors import MeshError, unknown_name
from fem.files.abaqus.deck import Deck, DeckMaterial, member
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared


class _Numbers:
    """Where the nodes and elements of a deck are in the raw mesh, and what its sets hold."""

    def __init__(self, deck: Deck, blocks: list[tuple[str, np.ndarray]], node_of: dict[int, int]) -> None:
        self.deck, self.blocks, self.node_of = deck, blocks, node_of
        tables = deck.elements.values()
        self.element_of = {row[0]: (k, r) for k, table in enumerate(tables) for r, row in enumerate(table)}
        self.skin: dict[tuple[int, int], list[int]] | None = None

    def flat(self, name: str, level: str, kind: str, inside: tuple[str, ...] = ()) -> set[int]:
        """Numbers (of the file) in a set of a level ("part", "assembly"), sets inside it resolved."""
        if name in inside:
            raise MeshError(f"The deck {self.deck.path}: the {kind[:-1]} set {name!r} contains itself.")
        sets = getattr(getattr(self.deck, level), kind)
        found: set[int] = set()
        for m in sets[name]:
            if isinstance(m, int):
                found.add(m)
            elif m.startswith("elset:"):
                found |= self._nodes_of_elements(m.removeprefix("elset:"), level)
            elif m != name or level == "assembly":
                found |= self.flat(m, self._level(m, name, level, kind), kind, (*inside, name) if m != name else inside)
        return found

    def _level(self, name: str, owner: str, level: str, kind: str) -> str:
        """The level on which a set named inside set `owner` is found: an assembly also sees the sets of its part."""
        for other in (level, "part"):
            if name in getattr(getattr(self.deck, other), kind) and (name, other) != (owner, level):
                return other
        there = {*getattr(self.deck.part, kind), *getattr(self.deck.assembly, kind)}
        raise MeshError(f"The deck {self.deck.path}, set {owner!r}: " + unknown_name(f"{kind[:-1]} set", name, there))

    def _nodes_of_elements(self, name: str, level: str) -> set[int]:
        numbers = self.flat(name, self._level(name, "", level, "elements"), "elements")
        rows = [self.deck.elements[self.blocks[k][0]][r] for k, r in self.cells(numbers)]
        return {n for row in rows for n in row[1:]}

    def cells(self, numbers: Iterable[int]) -> list[tuple[int, int]]:
        """(block, row) of elements; numbers of elements that were not read are passed over."""
        return sorted(self.element_of[n] for n in numbers if n in self.element_of)

    def surface(self, name: str, level: str) -> np.ndarray:
        """(block, row, face) of an element surface; a line without a face means the outer faces of its elements."""
        faces: set[tuple[int, int, int]] = set()
        for row in getattr(self.deck, level).surfaces[name]:
            who = member(row[0]) if row and row[0] else None
            if who is None:
                cells = sorted(self.element_of.values())
            elif isinstance(who, int):
                cells = self.cells([who])
            else:
                cells = self.cells(self.flat(who, self._level(who, name, level, "elements"), "elements"))
            side = row[1].upper() if len(row) > 1 and row[1] else None
            for k, r in cells:
                if self.blocks[k][0] in ELEMENTS:
                    faces |= {(k, r, f) for f in (self._outer(k, r) if side is None else [self._face(k, side, name)])}
        return np.array(sorted(faces), dtype=np.int64).reshape(-1, 3)

    def _face(self, block: int, side: str, name: str) -> int:
        shape = element(self.blocks[block][0])
        table = shape.abaqus_faces
        if not (side.startswith("S") and side[1:].isdigit() and 1 <= int(side[1:]) <= len(table)):
            raise MeshError(
                f"The deck {self.deck.path}, surface {name!r}: a {shape.kind} has faces S1 to S{len(table)}, found "
                f"{side!r}."
            )
        wanted = set(table[int(side[1:]) - 1])
        return next(k for k, face in enumerate(shape.faces) if {n for n in face if n < shape.corners} == wanted)

    def _outer(self, block: int, row: int) -> list[int]:
        if self.skin is None:
            solid = [k for k, (kind, _) in enumerate(self.blocks) if kind in ELEMENTS]
            mesh = Mesh(np.zeros((len(self.node_of), 3)), tuple(CellBlock(*self.blocks[k]) for k in solid))
            starts = np.cumsum([0] + [len(b) for b in mesh.cells])
            self.skin = {}
            for cell, face in mesh.boundary_faces.tolist():
                place = int(np.searchsorted(starts, cell, side="right")) - 1
                self.skin.setdefault((solid[place], cell - int(starts[place])), []).append(face)
        return self.skin.get((block, row), [])


def raw_mesh(deck: Deck) -> RawMesh:
    """The raw mesh of a deck. Raises `MeshError` for elements on undefined nodes and sets that name unknown sets."""
    ids = np.array(sorted(deck.nodes), dtype=np.int64)
    node_of = {int(n): k for k, n in enumerate(ids)}
    blocks = []
    for kind, table in deck.elements.items():
        rows = np.array(table, dtype=np.int64)[:, 1:]
        missing = np.setdiff1d(rows, ids)
        if len(missing):
            raise MeshError(
                f"The deck {deck.path}: {kind} elements refer to {len(missing)} nodes that it does not define (first: "
                f"{missing[0]}). Is a file missing that it includes?"
            )
        blocks.append((kind, np.searchsorted(ids, rows)))
    points = _moved(np.array([deck.nodes[int(n)] for n in ids]).reshape(-1, 3), deck.move)
    numbers = _Numbers(deck, blocks, node_of)
    groups: dict[str, list[np.ndarray]] = {}
    nodes: dict[str, np.ndarray] = {}
    faces: dict[str, np.ndarray] = {}
    for level in ("assembly", "part"):
        sets = getattr(deck, level)
        for name in sets.elements:
            if name not in deck.internal:
                cells = np.array(numbers.cells(numbers.flat(name, level, "elements")), dtype=np.int64).reshape(-1, 2)
                groups[_free(deck, name, groups)] = [cells[cells[:, 0] == k, 1] for k in range(len(blocks))]
        for name in sets.nodes:
            if name not in deck.internal:
                found = [node_of[n] for n in numbers.flat(name, level, "nodes") if n in node_of]
                nodes[_free(deck, name, nodes)] = np.array(sorted(found), dtype=np.int64)
        for name in sets.surfaces:
            faces[_free(deck, name, faces)] = numbers.surface(name, level)
    warnings = (
        [f"{deck.passed_over} nodes and elements of the assembly (reference points) were left out"]
        if deck.passed_over
        else []
    )
    unsupported = [
        f"{n} elements of type {kind}, which are no solids"
        for kind, n in deck.not_solid.items()
        if not kind.startswith("CPS")
    ]
    return RawMesh(
        points,
        ids,
        tuple(blocks),
        groups,
        nodes,
        faces,
        tuple(warnings),
        tuple(unsupported),
        beams=True,
        unread=tuple(deck.unread),
        unread_lines=tuple(deck.unread_lines),
        declared=tuple(_declared(deck, numbers)),
    )


def _declared(deck: Deck, numbers: _Numbers) -> Iterator[Declared]:
    """The materials that sections give to elements; without constants those that the deck does not define."""
    for elset, name, section in deck.sections:
        level = next((level for level in ("part", "assembly") if elset in getattr(deck, level).elements), None)
        if level is None:
            continue  # of no elements
        cells = np.array(numbers.cells(numbers.flat(elset, level, "elements")), dtype=np.int64).reshape(-1, 2)
        material = deck.materials.get(name, DeckMaterial(replace(section, keyword="MATERIAL")))
        constants = (material.youngs_modulus, material.poissons_ratio, material.density)
        yield Declared(deck.spelling.get(name, name), *constants, material.source, cells)


def _free(deck: Deck, name: str, taken: dict) -> str:
    """The name as the deck spells it; a set of the part with the name of one of the assembly is called "part.NAME"."""
    spelt = deck.spelling[name]
    return f"part.{spelt}" if spelt in taken else spelt


def _moved(points: np.ndarray, move: list[list[float]]) -> np.ndarray:
    """Points of the instance: shifted, then turned about the line through two points by an angle in degrees."""
    if move:
        points = points + np.array(move[0])
    if len(move) == 2:
        a, b, angle = np.array(move[1][:3]), np.array(move[1][3:6]), np.radians(move[1][6])
        axis = (b - a) / np.linalg.norm(b - a)
        r = points - a
        along = np.outer(r @ axis, axis)
        points = a + along + np.cos(angle) * (r - along) + np.sin(angle) * np.cross(axis, r)
    return points
