"""Where the nodes and elements of a deck are in the raw mesh, and what its sets hold."""

from collections.abc import Iterable, Iterator

import numpy as np

from fem.elements import ELEMENTS, SHELLS, Element, element
from fem.errors import MeshError, unknown_name
from fem.files.abaqus.deck import Deck
from fem.files.abaqus.lines import member
from fem.mesh.face_area import face_shares, shell_shares
from fem.mesh.mesh import CellBlock, Mesh
from fem.user_files import DEEPEST


class Numbers:
    """Where the nodes and elements of a deck are in the raw mesh, and what its sets hold."""

    def __init__(self, deck: Deck, blocks: list[tuple[str, np.ndarray]], node_of: dict[int, int]) -> None:
        self.deck, self.blocks, self.node_of = deck, blocks, node_of
        tables = deck.elements.values()
        self.element_of: dict[int, list[tuple[int, int]]] = {}
        for k, table in enumerate(tables):
            for r, row in enumerate(table):
                self.element_of.setdefault(row[0], []).append((k, r))
        self.skin: dict[tuple[int, int], list[int]] | None = None
        self._flat: dict[tuple[str, str, str], frozenset[int]] = {}

    def flat(self, name: str, level: str, kind: str, inside: tuple[str, ...] = ()) -> frozenset[int]:
        """Numbers (of the file) in a set of a level ("part", "assembly"), sets inside it resolved."""
        if (name, level, kind) in self._flat:
            return self._flat[name, level, kind]
        if name in inside:
            raise MeshError(f"The deck {self.deck.path}: the {kind[:-1]} set {name!r} contains itself.")
        if len(inside) > DEEPEST:
            raise MeshError(f"The deck {self.deck.path}: its sets are inside each other more than {DEEPEST} deep.")
        sets = getattr(getattr(self.deck, level), kind)
        found: set[int] = set()
        for m in sets[name]:
            if isinstance(m, int):
                found.add(m)
            elif m.startswith("elset:"):
                found |= self._numbers_of_elements(m.removeprefix("elset:"), level)
            elif m != name or level == "assembly":
                found |= self.flat(m, self._level(m, name, level, kind), kind, (*inside, name) if m != name else inside)
        self._flat[name, level, kind] = frozenset(found)
        return self._flat[name, level, kind]

    def of_node_surface(self, name: str, level: str) -> frozenset[int]:
        """Numbers (of the file) of the nodes of a surface of nodes of a level; its lines name nodes and sets of
        nodes."""
        found: set[int] = set()
        owner = f"{name} (surface)"
        for m in getattr(self.deck, level).node_surfaces[name]:
            found |= {m} if isinstance(m, int) else self.flat(m, self._level(m, owner, level, "nodes"), "nodes")
        return frozenset(found)

    def ordered(self, name: str, level: str) -> list[int]:
        """Numbers of the nodes in a set: increasing, or in the order of the deck where the set is unsorted."""
        flat = self.flat(name, level, "nodes")
        if name not in self.deck.unsorted:
            return sorted(flat)
        found: list[int] = []
        for m in getattr(self.deck, level).nodes[name]:
            if isinstance(m, int):
                found.append(m)
            elif m.startswith("elset:"):
                found += sorted(self._numbers_of_elements(m.removeprefix("elset:"), level))
            elif m != name:
                found += self.ordered(m, self._level(m, name, level, "nodes"))
        return [n for n in dict.fromkeys(found) if n in flat]

    def _level(self, name: str, owner: str, level: str, kind: str) -> str:
        """The level on which a set named inside set `owner` is found: an assembly also sees the sets of its part."""
        for other in (level, "part"):
            if name in getattr(getattr(self.deck, other), kind) and (name, other) != (owner, level):
                return other
        there = {*getattr(self.deck.part, kind), *getattr(self.deck.assembly, kind)}
        raise MeshError(f"The deck {self.deck.path}, set {owner!r}: " + unknown_name(f"{kind[:-1]} set", name, there))

    def _numbers_of_elements(self, name: str, level: str) -> set[int]:
        numbers = self.flat(name, self._level(name, "", level, "elements"), "elements")
        rows = [self.deck.elements[self.blocks[k][0]][r] for k, r in self.cells(numbers)]
        return {n for row in rows for n in row[1:]}

    def cells(self, numbers: Iterable[int]) -> list[tuple[int, int]]:
        """(block, row) of elements; numbers of elements that were not read are passed over."""
        return sorted(place for n in numbers for place in self.element_of.get(n, ()))

    def surface(self, name: str, level: str) -> np.ndarray:
        """(block, row, face) of an element surface; a line without a face means the outer faces of its elements."""
        faces: set[tuple[int, int, int]] = set()
        for k, r, side in self._members(name, level):
            if self.blocks[k][0] in ELEMENTS:
                faces |= {(k, r, f) for f in (self._outer(k, r) if side is None else [self._side(k, r, side, name)])}
        return np.array(sorted(faces), dtype=np.int64).reshape(-1, 3)

    def shells(self, name: str, level: str) -> list[tuple[int, int, tuple[int, ...]]]:
        """(block, row, places of the nodes in the cell) of the shells of an element surface, which are in it with their
        top or bottom (SPOS, SNEG), or by an edge (E1, E2, ...); in CalculiX also S1, S2 and S3, S4, ...

        Raises `MeshError` for other sides."""
        found = set()
        for k, r, side in self._members(name, level):
            kind = self.blocks[k][0]
            if kind in SHELLS and self.deck.elements[kind][r][0] in self.deck.shells:
                found.add((k, r, self._side_of_shell(element(kind), side, name)))
        return sorted(found)

    def _side_of_shell(self, shape: Element, side: str | None, name: str) -> tuple[int, ...]:
        """Places of the nodes of a side of a shell; None: of all."""
        if side in (None, "SPOS", "SNEG", "S1", "S2"):
            return tuple(range(shape.nodes))
        ends = [(j, (j + 1) % shape.corners) for j in range(shape.corners)]
        edges = {f"{letter}{j}": nodes for letter, first in (("E", 1), ("S", 3)) for j, nodes in enumerate(ends, first)}
        if side not in edges:
            raise MeshError(
                f"The deck {self.deck.path}, surface {name!r}: a {shape.kind} of a shell has the sides SPOS, SNEG and "
                f"E1 to E{shape.corners}, found {side!r}."
            )
        a, b = edges[side]
        return (a, b, *(middle for c, d, middle in shape.edges if (c, d) == (a, b)))

    def _members(self, name: str, level: str) -> Iterator[tuple[int, int, str | None]]:
        """Block, row and side of the elements of a surface; None where a line gives no side."""
        for row in getattr(self.deck, level).surfaces[name]:
            who = member(row[0]) if row and row[0] else None
            if who is None:
                cells = self.cells(self.element_of)
            elif isinstance(who, int):
                cells = self.cells([who])
            else:
                owner = f"{name} (surface)"
                cells = self.cells(self.flat(who, self._level(who, owner, level, "elements"), "elements"))
            side = row[1].upper() if len(row) > 1 and row[1] else None
            yield from ((k, r, side) for k, r in cells)

    def _side(self, block: int, row: int, side: str, name: str) -> int:
        """The face S1, S2, ... of an element; sides of plane elements come after the faces of their layer."""
        expanded = self.deck.elements[self.blocks[block][0]][row][0] in self.deck.expanded
        if expanded and side[1:].isdigit():
            side = f"S{int(side[1:]) + 2}"
        return self.face(block, side, name)

    def face(self, block: int, side: str, name: str) -> int:
        """The face of the elements of a block that a deck calls S1, S2, ... Raises `MeshError` for another name."""
        shape = element(self.blocks[block][0])
        table = shape.abaqus_faces
        if self.deck.expand:  # top and bottom of shells
            side = {"SNEG": "S1", "SPOS": "S2"}.get(side, side)
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

    def of_elements(self, name: str) -> frozenset[int]:
        """Numbers of the elements of a set, of the part or of the assembly; none for an unknown set."""
        level = next((level for level in ("part", "assembly") if name in getattr(self.deck, level).elements), None)
        return frozenset() if level is None else self.flat(name, level, "elements")

    def nodes_of_elements(self, name: str) -> list[int]:
        """Rows of the nodes of an element set. Raises `MeshError` for an unknown set."""
        level = "assembly" if name in self.deck.assembly.elements else "part"
        return sorted(self.node_of[n] for n in self._numbers_of_elements(name, level) if n in self.node_of)

    def label(self, row: int) -> str:
        """The number in the deck of a node by its row, INSTANCE.NUMBER where there are several instances."""
        return self.deck.who(next(n for n, r in self.node_of.items() if r == row))

    def face_nodes(self, block: int, row: int, face: int) -> list[int]:
        """Rows of the nodes of a face."""
        kind, rows = self.blocks[block]
        return [int(rows[row][k]) for k in element(kind).faces[face]]

    def areas(
        self,
        faces: np.ndarray | None,
        shells: list[tuple[int, int, tuple[int, ...]]],
        nodes: np.ndarray,
        points: np.ndarray,
        consistent: bool = False,
    ) -> np.ndarray | None:
        """The area (k,) of a surface, and length of edges of shells, that each of its nodes stands for, as of
        `face_shares`; None for a set of nodes."""
        if faces is None:
            return None
        area = np.zeros(len(points))
        for block, face in np.unique(faces[:, [0, 2]], axis=0).tolist():
            kind, cells = self.blocks[block]
            rows = cells[faces[(faces[:, 0] == block) & (faces[:, 2] == face), 1]]
            shares = face_shares(element(kind), face, points[rows], consistent)
            np.add.at(area, rows[:, list(element(kind).faces[face])], shares)
        for block, row, local in shells:
            kind, cells = self.blocks[block]
            np.add.at(area, cells[row][list(local)], shell_shares(element(kind), local, points[cells[row]]))
        return area[nodes]
