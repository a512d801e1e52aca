"""The constraints of a deck while they are read: nodes by their names, and dofs in the axes of nodes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.axes import Axes
from fem.files.abaqus.deck import ASSEMBLY_NODES, Statement
from fem.files.abaqus.instances.place import is_turned, moved, turned
from fem.files.abaqus.lines import fields, member, number, whole
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import Equation
from fem.mesh.unread import Stated, Unread

NAMED_SUPPORTS = {
    "ENCASTRE": (0, 1, 2, 3, 4, 5),
    "PINNED": (0, 1, 2),
    "XSYMM": (0, 4, 5),
    "YSYMM": (1, 3, 5),
    "ZSYMM": (2, 3, 4),
    "XASYMM": (1, 2, 3),
    "YASYMM": (0, 2, 4),
    "ZASYMM": (0, 1, 5),
}


@dataclass(frozen=True)
class Replaced:
    """Nodes, as rows, for which those of solids stand (`fem.files.abaqus.expanded`).

    - `turning`: those that have rotations; `brought`: what a support of a dof (row, 1 to 6) holds beside it;
    - `copies`: the nodes that stand for each.
    """

    turning: Collection[int] = ()
    brought: Mapping[tuple[int, int], Sequence[Equation]] = field(default_factory=dict)
    copies: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass
class Constraints:
    """The constraints of a deck, and the points, which ties move onto their masters. `loaded`: axes of loads on nodes
    where they are not those of the node."""

    numbers: Numbers
    points: np.ndarray
    turning: set[int]
    stated: list[Stated]
    supports: list[Stated]
    warnings: list[str]
    solids: Replaced = field(default_factory=Replaced)
    loaded: dict[int, np.ndarray] = field(default_factory=dict)
    untied: list[Unread] = field(default_factory=list)

    def require_own_axes(self, s: Statement) -> None:
        """Raise `MeshError` for dofs of a part whose instance is turned: programs differ in the axes they are in."""
        if s.keyword not in ("TIE", "MPC", "RIGIDBODY") and is_turned(s.move):
            raise MeshError(
                "it names dofs of a part whose instance is turned; write it in the assembly, or turn nothing"
            )

    # names of the deck

    def nodes(self, text: str) -> list[int]:
        """Rows of a node or of a set of nodes, in the order of their numbers or, of an unsorted set, of the deck."""
        who = member(text)
        if isinstance(who, int) or _in_instance(text):
            return [self.node(text)]
        for level in ("assembly", "part"):
            if who in getattr(self.numbers.deck, level).nodes:
                found = self.numbers.ordered(who, level)
                return [self.numbers.node_of[n] for n in found if n in self.numbers.node_of]
        raise MeshError(f"the deck has no set of nodes {text!r}")

    def node(self, text: str) -> int:
        """The row of one node. A number is that of a node of the part or of the assembly, which must not be both;
        INSTANCE.NUMBER is one of the part."""
        who = member(text)
        if isinstance(who, int) or _in_instance(text):
            numbers = [int(who)] if _in_instance(text) else [int(who), int(who) + ASSEMBLY_NODES]
            rows = [self.numbers.node_of[n] for n in numbers if n in self.numbers.node_of]
            if len(rows) == 2:
                raise MeshError(
                    f"the part and the assembly both have a node {who}; write INSTANCE.{who} for that of the part, and "
                    "a set for that of the assembly"
                )
            if not rows:
                raise MeshError(f"the deck has no node {self.numbers.deck.who(numbers[0])}")
            return rows[0]
        rows = self.nodes(text)
        if len(rows) != 1:
            raise MeshError(f"one node is needed, and the set {text!r} has {len(rows)}")
        return rows[0]

    def is_node(self, text: str) -> bool:
        """Whether a text is a number or the name of a set of nodes."""
        who, deck = member(text), self.numbers.deck
        return isinstance(who, int) or _in_instance(text) or who in {*deck.assembly.nodes, *deck.part.nodes}

    def faces(self, text: str) -> np.ndarray | None:
        """(block, row, face) of the faces of a surface; None for an unknown one."""
        level = self._level_of_surface(text)
        return None if level is None else self.numbers.surface(str(member(text)), level)

    def shells(self, text: str) -> list[tuple[int, int, tuple[int, ...]]]:
        """The shells of a surface, as of `Numbers.shells`; none for an unknown one."""
        level = self._level_of_surface(text)
        return [] if level is None else self.numbers.shells(str(member(text)), level)

    def _level_of_surface(self, text: str) -> str | None:
        deck, who = self.numbers.deck, str(member(text))
        return next((level for level in ("assembly", "part") if who in getattr(deck, level).surfaces), None)

    def surface_nodes(self, text: str) -> list[int]:
        """Rows of the nodes of a surface of faces or of nodes, or of a set of nodes that takes its place."""
        faces = self.faces(text)
        if faces is not None:
            own = {n for b, r, f in faces.tolist() for n in self.numbers.face_nodes(b, r, f)}
            blocks = self.numbers.blocks
            return sorted(own | {int(blocks[b][1][r][k]) for b, r, local in self.shells(text) for k in local})
        who, rows = str(member(text)), self.numbers.node_of
        for level in ("assembly", "part"):
            if who in getattr(self.numbers.deck, level).node_surfaces:
                return sorted(rows[n] for n in self.numbers.of_node_surface(who, level) if n in rows)
        return self.nodes(text)

    # components in the axes of nodes

    def load(self, row: int, dof: int, value: float) -> tuple[list[int], list[int], list[float]]:
        """Nodes, components and values, in the axes of the mesh, of a load on a dof (1 to 6) of a node."""
        if row not in self.loaded or not 1 <= dof <= 6:
            return self.terms(row, dof, value)
        first, k = divmod(dof - 1, 3)
        return [row] * 3, [3 * first + j for j in range(3)], (value * self.loaded[row][k]).tolist()

    def terms(self, row: int, dof: int, coefficient: float) -> tuple[list[int], list[int], list[float]]:
        """Nodes, components and coefficients of a dof (1 to 6) of a node, in the axes of the mesh."""
        if not 1 <= dof <= 6:
            raise MeshError(f"there is no dof {dof} of a node")
        component = dof - 1
        if row in self.rotation_nodes:
            row, component = self.rotation_nodes[row], component + 3
            if dof > 3:
                raise MeshError("a rotational node of a rigid body has dofs 1 to 3")
        if component >= 3 and row not in self.turning:
            raise MeshError(f"node {self.numbers.label(row)} has no rotations")
        axes = self.transforms.get(row)
        if axes is None:
            return [row], [component], [coefficient]
        local = axes.at(self.points[row])[component % 3] * coefficient
        return [row] * 3, [component // 3 * 3 + k for k in range(3)], local.tolist()

    def held(self, s: Statement) -> Iterator[tuple[int, int, float]]:
        """Row, dof (1 to 6) and value of every dof of a `*BOUNDARY`; dofs that nodes do not have are passed over."""
        for _, row in s.rows:
            entries = fields(row)
            if len(entries) > 1 and entries[1].upper() in NAMED_SUPPORTS:
                dofs = [d + 1 for d in NAMED_SUPPORTS[entries[1].upper()]]
            else:
                dofs = dofs_of([f for f in entries[1:3] if f])
            if not dofs:
                raise MeshError(f"no dof in {', '.join(entries)!r}")
            value = number(entries[3]) if len(entries) > 3 and entries[3] else 0.0
            for node in self.nodes(entries[0]):
                turns = node in self.turning or node in self.rotation_nodes
                yield from ((node, dof, value) for dof in dofs if dof <= 3 or turns)

    def equation(self, terms: tuple[list[int], list[int], list[float]], source: str) -> Equation:
        """The equation of the terms of one dof, which may be in turned axes."""
        made = equation_of(terms, dependent_first(terms[2], len(terms[2])))
        return replace(made, source=source)

    @cached_property
    def rotation_nodes(self) -> dict[int, int]:
        found = {}
        for s in self.numbers.deck.statements:
            if s.keyword == "RIGIDBODY" and s.options.get("ROTNODE") and s.options.get("REFNODE"):
                found[self.node(s.options["ROTNODE"])] = self.node(s.options["REFNODE"])
        return found

    @cached_property
    def transforms(self) -> dict[int, Axes]:
        found: dict[int, Axes] = {}
        for s in self.numbers.deck.statements:
            if s.keyword == "TRANSFORM":
                axes = self._axes(s, s.options.get("TYPE", "R"))
                nodes = self.nodes(s.option("NSET"))
                twice = [n for n in nodes if n in found and not axes.same(found[n])]
                if twice:
                    self.warnings.append(
                        f"{s.source.label}: {len(twice)} nodes have other axes by an earlier *TRANSFORM (first: "
                        f"{self.numbers.label(twice[0])}); the last one counts, as in CalculiX"
                    )
                found |= dict.fromkeys(nodes, axes)
        return found

    def orientation(self, name: str) -> Axes | None:
        """The axes of an `*ORIENTATION`; None without a name. Raises `MeshError` for an unknown one."""
        if not name:
            return None
        for s in self.numbers.deck.statements:
            if s.keyword == "ORIENTATION" and s.options.get("NAME", "").upper() == name.upper():
                axes = self._axes(s, s.options.get("SYSTEM", "R"))
                turned = fields(s.rows[1][1]) if len(s.rows) > 1 else []
                if len(turned) < 2 or not turned[1]:
                    return axes
                if turned[0] not in ("1", "2", "3"):
                    raise MeshError(f"the orientation {name!r} is turned about an axis 1 to 3; found {turned[0]!r}")
                return replace(axes, turn=number(turned[1]), turned_about=int(turned[0]) - 1)
        raise MeshError(f"the deck has no orientation {name!r}")

    def _axes(self, s: Statement, kind: str) -> Axes:
        """Axes by two points, and those of rectangular orientations by an origin that both are seen from; those of a
        part turn with its instance."""
        if s.options.get("DEFINITION", "COORDINATES").upper() != "COORDINATES":
            raise MeshError(f"*{s.keyword} by {s.options['DEFINITION']}; points by coordinates are read")
        values = [number(f) for f in fields(s.rows[0][1]) if f] if s.rows else []
        cylindrical = kind[:1].upper() == "C"
        counts = (6, 9) if s.keyword == "ORIENTATION" and not cylindrical else (6,)
        if len(values) not in counts or kind[:1].upper() not in "RC":
            raise MeshError(
                f"*{s.keyword} of type {kind!r} with {len(values)} numbers; rectangular and cylindrical axes of 6 are "
                "read, and rectangular orientations of 9"
            )
        points = np.array(values).reshape(-1, 3)
        if len(points) == 3:
            points = points[:2] - points[2]
        points = (moved if cylindrical else turned)(points, s.move)
        return Axes(cylindrical, points[0], points[1])


def _in_instance(text: str) -> bool:
    """Whether a text is INSTANCE.NUMBER, a node of the part."""
    before, point, last = text.strip('"').rpartition(".")
    return bool(before and point and last.isdigit() and not before.lstrip("+-").isdigit())


def dofs_of(ends: Sequence[str]) -> list[int]:
    """The dofs (1 to 6) from the first to the last of `ends`; none without ends."""
    numbers = [whole(end) for end in ends]
    for dof in numbers:
        if not 1 <= dof <= 6:
            raise MeshError(f"dof {dof} is no translation or rotation")
    if numbers and numbers[0] > numbers[-1]:
        raise MeshError(f"the dofs {numbers[0]} to {numbers[-1]} are none; write the lower one first")
    return list(range(numbers[0], numbers[-1] + 1)) if numbers else []


def equation_of(terms: tuple[list[int], list[int], list[float]], order: list[int]) -> Equation:
    nodes, components, coefficients = (np.array(a)[order] for a in terms)
    return Equation(nodes, components, coefficients)


def dependent_first(coefficients: list[float], terms: int) -> list[int]:
    """The order of terms in which the largest component of the first, of so many terms in turned axes, comes first."""
    first = max(range(terms), key=lambda k: abs(coefficients[k]))
    return [first, *(k for k in range(len(coefficients)) if k != first)]
