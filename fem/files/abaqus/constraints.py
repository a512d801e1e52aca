"""Constraints of a deck: `*EQUATION`, `*MPC`, `*RIGID BODY`, `*TIE`, `*COUPLING`, `*BOUNDARY`, in the axes of
`*TRANSFORM` and `*ORIENTATION`.

What a keyword says is stated as `fem.Equation`, `fem.RigidLink` and `fem.MeanLink`. A keyword that is not understood in
full is not obeyed at all, with the reason.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fem.axes.cylindrical import turn_about
from fem.elements import LINE
from fem.errors import MeshError
from fem.files.abaqus.deck import ASSEMBLY_NODES, Statement
from fem.files.abaqus.instances.place import is_turned, moved, turned
from fem.files.abaqus.lines import fields, member, number, whole
from fem.files.abaqus.numbers import Numbers
from fem.files.abaqus.ties import TOLERANCE, closest_points
from fem.mesh.constraints import Constraint, Equation, MeanLink, RigidLink, mean_motion
from fem.mesh.unread import Stated, Unread

AXIAL = 1e-10
"""Squares of distances from an axis below this part of the largest count as none."""
APART = 1e-3
"""Distance of tied surfaces, relative to the mean size of the master's faces, up to which ADJUST=NO changes nothing."""
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
class Axes:
    """Local axes: rectangular, or cylindrical about the line through two points; turned by degrees about one of
    them."""

    cylindrical: bool
    a: np.ndarray
    b: np.ndarray
    turn: float = 0.0
    turned_about: int = 2

    def same(self, other: "Axes") -> bool:
        """Whether both are given alike."""
        return self.cylindrical == other.cylindrical and np.array_equal([self.a, self.b], [other.a, other.b])

    def at(self, x: np.ndarray) -> np.ndarray:
        """Axes (3, 3) in rows at the point `x`."""
        if not self.cylindrical:
            first, third = self.a, np.cross(self.a, self.b)
        else:
            third = self.b - self.a
            r = x - self.a
            first = r - (r @ third) / (third @ third) * third
        for v in (first, third):
            if not np.linalg.norm(v) > 0:
                raise MeshError(f"its axes are not defined at {x}")
        first, third = first / np.linalg.norm(first), third / np.linalg.norm(third)
        return np.asarray(turn_about(self.turned_about, self.turn) @ np.stack([first, np.cross(third, first), third]))


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
    solids: Replaced = field(default_factory=lambda: Replaced())
    loaded: dict[int, np.ndarray] = field(default_factory=dict)
    untied: list[Unread] = field(default_factory=list)

    @staticmethod
    def of(numbers: Numbers, points: np.ndarray, solids: "Replaced | None" = None) -> "Constraints":
        """Read all statements of a deck, some of whose nodes stand for `solids`. Those that are not understood are
        added to its unread keywords."""
        solids = solids or Replaced()
        lines = [rows for kind, rows in numbers.blocks if kind == LINE]
        lines += [numbers.blocks[block][1][row] for block, row in numbers.cells(numbers.deck.shells)]
        turning = {*solids.turning, *(int(n) for rows in lines for n in rows.ravel())}
        found = Constraints(numbers, points.copy(), turning, [], [], [], solids)
        statements = numbers.deck.statements
        for s in statements:
            with suppress(MeshError):  # a statement without its node is named when it is taken
                found.turning |= {found._node(s.options["REFNODE"])} if s.options.get("REFNODE") else set()
        for kind in ("RIGIDBODY", "TIE", "COUPLING", "MPC", "EQUATION", "BOUNDARY"):
            for statement in statements:
                if statement.keyword == kind:
                    found._take(statement)
        return found

    def _take(self, s: Statement) -> None:
        to = self.supports if s.keyword == "BOUNDARY" else self.stated
        try:
            if not s.rows and (s.keyword in ("TIE", "MPC") or (s.keyword == "EQUATION" and not s.options)):
                raise MeshError("no data line follows it")
            self.require_own_axes(s)
            made = [replace(c, source=s.source.label) for c in _READERS[s.keyword](self, s)]
        except ValueError as error:  # errors of meshes are ValueErrors
            reason = f"{s.source.text} (not obeyed: {error})"
            self.numbers.deck.unread.append(replace(s.source, text=reason))
            return
        to += [Stated(c, s.source) for c in made]

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
            return [self._node(text)]
        for level in ("assembly", "part"):
            if who in getattr(self.numbers.deck, level).nodes:
                found = self.numbers.ordered(who, level)
                return [self.numbers.node_of[n] for n in found if n in self.numbers.node_of]
        raise MeshError(f"the deck has no set of nodes {text!r}")

    def _node(self, text: str) -> int:
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
        who = str(member(text))
        for level in ("assembly", "part"):
            if who in getattr(self.numbers.deck, level).surfaces:
                return self.numbers.surface(who, level)
        return None

    def _surface_nodes(self, text: str) -> list[int]:
        """Rows of the nodes of a surface of faces or of nodes, or of a set of nodes that takes its place."""
        faces = self.faces(text)
        if faces is not None:
            return sorted({n for b, r, f in faces.tolist() for n in self.numbers.face_nodes(b, r, f)})
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
        if row in self._rotation_nodes:
            row, component = self._rotation_nodes[row], component + 3
            if dof > 3:
                raise MeshError("a rotational node of a rigid body has dofs 1 to 3")
        if component >= 3 and row not in self.turning:
            raise MeshError(f"node {self.numbers.label(row)} has no rotations")
        axes = self._transforms.get(row)
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
                dofs = _dofs([f for f in entries[1:3] if f])
            if not dofs:
                raise MeshError(f"no dof in {', '.join(entries)!r}")
            value = number(entries[3]) if len(entries) > 3 and entries[3] else 0.0
            for node in self.nodes(entries[0]):
                turns = node in self.turning or node in self._rotation_nodes
                yield from ((node, dof, value) for dof in dofs if dof <= 3 or turns)

    def equation(self, terms: tuple[list[int], list[int], list[float]], source: str) -> Equation:
        """The equation of the terms of one dof, which may be in turned axes."""
        made = _equation(terms, _dependent_first(terms[2], len(terms[2])))
        return replace(made, source=source)

    @cached_property
    def _rotation_nodes(self) -> dict[int, int]:
        found = {}
        for s in self.numbers.deck.statements:
            if s.keyword == "RIGIDBODY" and s.options.get("ROTNODE") and s.options.get("REFNODE"):
                found[self._node(s.options["ROTNODE"])] = self._node(s.options["REFNODE"])
        return found

    @cached_property
    def _transforms(self) -> dict[int, Axes]:
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


# one keyword each


def _equations(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*EQUATION`: the number of terms, then node or set, dof, coefficient of each."""
    if s.options:
        raise MeshError(f"its options {', '.join(s.options)} are not supported")
    entries = [f for _, row in s.rows for f in fields(row) if f]
    while entries:
        count = whole(entries[0])
        part, entries = entries[1 : 1 + 3 * count], entries[1 + 3 * count :]
        if len(part) < 3 * count or count < 1:
            raise MeshError(f"{count} terms were announced, and {len(part) // 3} follow")
        groups = [c.nodes(part[k]) for k in range(0, 3 * count, 3)]
        longest = max(map(len, groups))
        if {len(g) for g in groups} - {1, longest}:
            raise MeshError("its sets have different numbers of nodes")
        for k in range(longest):
            nodes: list[int] = []
            components: list[int] = []
            coefficients: list[float] = []
            for t, group in enumerate(groups):
                row = group[k if len(group) > 1 else 0]
                n, m, v = c.terms(row, whole(part[3 * t + 1]), number(part[3 * t + 2]))
                nodes, components, coefficients = nodes + n, components + m, coefficients + v
            order = _dependent_first(coefficients, len(c.terms(groups[0][0], int(part[1]), 1.0)[0]))
            yield _equation((nodes, components, coefficients), order)


def _equation(terms: tuple[list[int], list[int], list[float]], order: list[int]) -> Equation:
    nodes, components, coefficients = (np.array(a)[order] for a in terms)
    return Equation(nodes, components, coefficients)


def _dependent_first(coefficients: list[float], terms: int) -> list[int]:
    """The order of terms in which the largest component of the first, of so many terms in turned axes, comes first."""
    first = max(range(terms), key=lambda k: abs(coefficients[k]))
    return [first, *(k for k in range(len(coefficients)) if k != first)]


def _rigid_body(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*RIGID BODY`, with a set of nodes or elements and a reference node."""
    unknown = set(s.options) - {"NSET", "ELSET", "REFNODE", "ROTNODE", "PINNSET", "TIENSET", "POSITION"}
    if unknown or not s.options.get("REFNODE") or s.options.get("POSITION", "INPUT").upper() != "INPUT":
        raise MeshError(f"options {', '.join(sorted(set(s.options)))}; a set and REF NODE are supported")
    reference = c._node(s.option("REFNODE"))
    nodes, pinned = set(), set(c.nodes(s.options["PINNSET"])) if s.options.get("PINNSET") else set()
    for key in ("NSET", "TIENSET"):
        nodes |= set(c.nodes(s.options[key])) if s.options.get(key) else set()
    if s.options.get("ELSET"):
        nodes |= set(c.numbers.nodes_of_elements(str(member(s.options["ELSET"]))))
    nodes -= {reference, *c._rotation_nodes} | pinned
    if nodes:
        yield RigidLink(np.array(sorted(nodes)), reference)
    if pinned:
        yield RigidLink(np.array(sorted(pinned - {reference})), reference, components=(0, 1, 2))


def _dofs(ends: Sequence[str]) -> list[int]:
    """The dofs (1 to 6) from the first to the last of `ends`; none without ends."""
    numbers = [whole(end) for end in ends]
    for dof in numbers:
        if not 1 <= dof <= 6:
            raise MeshError(f"dof {dof} is no translation or rotation")
    return list(range(numbers[0], numbers[-1] + 1)) if numbers else []


def _coupling(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*COUPLING` with `*KINEMATIC` or `*DISTRIBUTING`."""
    if not s.kind:
        raise MeshError("neither *KINEMATIC nor *DISTRIBUTING follows it")
    reference = c._node(s.option("REFNODE"))
    axes = c.orientation(s.options.get("ORIENTATION", ""))
    nodes = np.array([n for n in c._surface_nodes(s.option("SURFACE")) if n != reference])
    if s.options.get("INFLUENCERADIUS"):
        raise MeshError("its option INFLUENCE RADIUS is not supported")
    _require_usual(s)
    dofs: set[int] = set()
    for _, row in s.rows:
        dofs |= set(_dofs([f for f in fields(row)[:2] if f]))
    components = tuple(sorted(d - 1 for d in dofs)) or (0, 1, 2, 3, 4, 5)
    turns = set(components) & {3, 4, 5}
    whole = {0, 1, 2} <= set(components) and (axes is None or len(turns) in (0, 3))
    if s.kind == "DISTRIBUTING":
        yield from _distributing(c, s, nodes, reference, tuple(sorted(turns)) if dofs else None)
    elif whole:
        yield RigidLink(nodes, reference, components)
    else:
        for n in nodes.tolist():
            local = np.eye(3) if axes is None else axes.at(c.points[n])
            for k in components:
                if k < 3:
                    yield _follows(n, reference, local[k], c.points[n] - c.points[reference])
                elif n in c.turning:
                    yield _weighted(n, [reference], np.ones(1), local[k - 3], 3)


def _distributing(
    c: Constraints, s: Statement, nodes: np.ndarray, reference: int, turns: tuple[int, ...] | None
) -> Iterator[Constraint]:
    """A reference node that follows the mean of a surface with its translations, and the rotations `turns` (3 to 5) in
    the axes of an orientation at the node; None: all, in CalculiX none.

    CalculiX weighs the nodes by the integrals of their shape functions, which may be negative, and its loads on the
    reference node are in the axes of the orientation.
    """
    exact = c.numbers.deck.as_named
    axes = c.orientation(s.options.get("ORIENTATION", ""))
    R = np.eye(3) if axes is None else axes.at(c.points[reference])
    if turns is None:
        turns = () if exact else (3, 4, 5)
    weights = c.numbers.areas(c.faces(s.option("SURFACE")), nodes, c.points, consistent=exact)
    given = c.numbers.deck.weights.get(str(member(s.option("SURFACE"))))
    if weights is None and given:
        of = {row: weight for who, weight in given for row in c.nodes(who)}
        weights = np.array([of[n] for n in nodes.tolist()])
    if not exact and (axes is None or len(turns) in (0, 3)):
        if reference in c._transforms and len(turns) in (1, 2):
            raise MeshError("some rotations of a node that *TRANSFORM turns; give the coupling an ORIENTATION")
        yield MeanLink(nodes, reference, weights, (0, 1, 2, *turns))
        return
    if exact:
        c.loaded[reference] = R
    B, may_turn = mean_motion(c.points[nodes], np.ones(len(nodes)) if weights is None else weights, c.points[reference])
    if turns and not may_turn:
        raise MeshError("its nodes lie on one line, and the mean rotation about it is not defined")
    for k in (0, 1, 2, *turns):
        first = k // 3 * 3
        e = np.eye(3)[k] if k < 3 else R[k - 3]
        order = [j for j in np.argsort(-np.abs(e)).tolist() if e[j]]
        mean = np.einsum("j,njk->nk", e, B[:, first : first + 3])
        i, j = np.nonzero(mean)
        yield Equation(
            np.concatenate([np.full(len(order), reference), nodes[i]]),
            np.concatenate([first + np.array(order), j]),
            np.concatenate([-e[order], mean[i, j]]),
        )


def _require_usual(s: Statement) -> None:
    """Raise `MeshError` for options of a coupling that are not read."""
    usual = {"WEIGHTINGMETHOD": "UNIFORM", "COUPLING": "CONTINUUM"} if s.kind == "DISTRIBUTING" else {}
    others = [f"{k}={v}" for k, v in s.details.items() if v.upper() != usual.get(k)]
    others += sorted(set(s.options) - {"CONSTRAINTNAME", "REFNODE", "SURFACE", "ORIENTATION"})
    if others:
        raise MeshError(f"its options {', '.join(others)} are not supported")


def _follows(node: int, reference: int, e: np.ndarray, d: np.ndarray) -> Equation:
    """`e . (u - u_ref - theta_ref x d) = 0`."""
    terms = [(node, k, e[k]) for k in range(3)] + [(reference, k, -e[k]) for k in range(3)]
    terms += [(reference, 3 + k, v) for k, v in enumerate(-np.cross(d, e))]
    largest = int(np.abs(e).argmax())
    terms = [terms[largest], *(t for k, t in enumerate(terms) if k != largest and t[2])]
    nodes, components, coefficients = (np.array(a) for a in zip(*terms, strict=True))
    return Equation(nodes, components, coefficients)


def _mpc(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*MPC`: PLANE, STRAIGHT and MEANROT (CalculiX), PIN, TIE, LINK and BEAM (Abaqus). A line that does not begin
    with a node begins another one; zeros stand for nothing."""
    found: list[tuple[str, list[list[int]]]] = []
    for _, row in s.rows:
        entries = [f for f in fields(row) if f and f != "0"]
        if entries and not (found and c.is_node(entries[0])):
            found.append((entries.pop(0).upper(), []))
        for text in entries:
            found[-1][1].append(c.nodes(text))
    for kind, groups in found:
        if kind in ("PIN", "TIE", "LINK", "BEAM") and len(groups) == 2:
            size = max(map(len, groups))
            if {len(g) for g in groups} - {1, size}:
                raise MeshError(f"{kind} of sets of {len(groups[0])} and {len(groups[1])} nodes, which are paired")
            for k in range(size):
                yield from _of_pair(c, kind, [g[k if len(g) > 1 else 0] for g in groups])
        else:
            yield from _of_many(c, kind, [n for g in groups for n in g])
    if any(kind == "BEAM" for kind, _ in found) and not _of_calculix(c):
        c.warnings.append(
            f"{s.source.label}: BEAM is a rigid link, as in Abaqus; CalculiX keeps the distance of its nodes: for a "
            "deck of CalculiX write LINK, or use expand=True or fem.read_steps"
        )


def _of_calculix(c: Constraints) -> bool:
    """Whether a deck is read as CalculiX reads it where both programs differ."""
    return c.numbers.deck.as_named or c.numbers.deck.expand


def _of_pair(c: Constraints, kind: str, rows: list[int]) -> Iterator[Constraint]:
    """PIN, TIE, LINK or BEAM of two nodes, of which the first follows the second. BEAM is a rigid link in Abaqus; in
    CalculiX it keeps the distance, as LINK does."""
    x = c.points[rows]
    if kind == "BEAM" and not _of_calculix(c):
        c.turning.add(rows[1])
        yield RigidLink(np.array(rows[:1]), rows[1])
        return
    if kind in ("LINK", "BEAM"):
        if not np.linalg.norm(x[1] - x[0]) > 0:
            raise MeshError(f"{kind} of two nodes at one place, which has no direction")
        yield _weighted(rows[0], rows[1:], np.ones(1), (x[1] - x[0]) / np.linalg.norm(x[1] - x[0]))
        return
    turns = kind == "TIE" and set(rows) <= c.turning
    for k in range(6 if turns else 3):
        yield Equation(np.array(rows), np.array([k, k]), np.array([1.0, -1.0]))


def _of_many(c: Constraints, kind: str, rows: list[int]) -> Iterator[Constraint]:
    """PLANE, STRAIGHT and MEANROT."""
    x = c.points[rows]
    if kind == "PLANE" and len(rows) > 3:
        far = int(np.linalg.norm(x - x[0], axis=1).argmax())
        aside = np.linalg.norm(np.cross(x - x[0], x[far] - x[0]), axis=1)
        corners = [0, far, int(aside.argmax())]
        if not aside.max() > 0:
            raise MeshError("its nodes lie on one line")
        sides = x[corners[1:]] - x[0]
        normal = np.cross(*sides)
        for k in set(range(len(rows))) - set(corners):
            w = np.linalg.lstsq(sides.T, x[k] - x[0], rcond=None)[0]
            others = [rows[j] for j in corners]
            yield _weighted(rows[k], others, np.array([1 - w.sum(), *w]), normal / np.linalg.norm(normal))
    elif kind == "STRAIGHT" and len(rows) > 2:
        along = x[1] - x[0]
        along = along / np.linalg.norm(along)
        across = np.linalg.svd(along[None])[2][1:]
        for k in range(2, len(rows)):
            w = float((x[k] - x[0]) @ along / np.linalg.norm(x[1] - x[0]))
            yield from (_weighted(rows[k], rows[:2], np.array([1 - w, w]), e) for e in across)
    elif kind == "MEANROT" and len(rows) > 4 and len(rows) % 3 == 1 and rows[0::3][:-1] == rows[2::3]:
        yield _mean_rotation(rows[:-1:3], x[:-1:3], rows[-1], x[-1])
    else:
        raise MeshError(f"{kind} with {len(rows)} nodes; PLANE, STRAIGHT, MEANROT, PIN, TIE, LINK and BEAM are read")


def mean_rotation(e: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Weights (k, 3) of the displacements of points `x` (k, 3) in their mean rotation about the direction `e`, each
    angle about their centre counting alike; points on the axis add none (CalculiX)."""
    p = x - x.mean(axis=0)
    across = p - np.outer(p @ e, e)
    size = (across**2).sum(axis=1)
    there = size > AXIAL * size.max()
    weights = np.where(there[:, None], np.cross(e, p) / np.where(there, size, 1.0)[:, None], 0.0) / len(p)
    return np.asarray(weights - weights.mean(axis=0))


def _mean_rotation(nodes: list[int], x: np.ndarray, angle: int, direction: np.ndarray) -> Equation:
    """The first dof of a node is the mean rotation of others about the direction of its coordinates."""
    size = float(np.linalg.norm(direction))
    if not size > 0:
        raise MeshError("the coordinates of its last node, the direction of the axis, are zero")
    w = mean_rotation(direction / size, x)
    where = [(node, k, -float(w[i, k])) for i, node in enumerate(nodes) for k in range(3) if w[i, k]]
    n, components, factors = (np.array(a) for a in zip((angle, 0, 1.0), *where, strict=True))
    return Equation(n.astype(np.int64), components.astype(np.int64), factors)


def _weighted(node: int, others: list[int], weights: np.ndarray, e: np.ndarray, of: int = 0) -> Equation:
    """`e . (u - sum w_k u_k) = 0`, its largest component first; of rotations where these begin (`of` = 3)."""
    order = np.argsort(-np.abs(e))
    order = order[np.abs(e[order]) > 0]
    nodes = np.concatenate([np.full(len(order), node), *(np.full(len(order), n) for n in others)])
    return Equation(
        nodes, of + np.tile(order, 1 + len(others)), np.concatenate([e[order], *(-w * e[order] for w in weights)])
    )


def _tie(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*TIE`: pairs of surfaces, one a line."""
    if "CYCLICSYMMETRY" in s.options:
        raise MeshError("fem.read_steps and fem.solve_step find frequencies of a sector; a body needs the whole wheel")
    unknown = set(s.options) - {"NAME", "POSITIONTOLERANCE", "ADJUST", "TYPE", "NOROTATION"}
    if s.options.get("TYPE", "SURFACE TO SURFACE").upper() not in ("SURFACE TO SURFACE", "NODE TO SURFACE"):
        unknown.add("TYPE")
    if unknown:
        raise MeshError(f"{', '.join(sorted(unknown))} of a tie is not read")
    for row in range(len(s.rows)):
        slave, master, *rest = s.entries(row, 2, "the slave and the master surface")
        if any(rest):
            raise MeshError(f"data line {row + 1} has a third entry, {', '.join(rest)}")
        yield from _tied(c, s, slave, master)


def _tied(c: Constraints, s: Statement, slave: str, master: str) -> Iterator[Constraint]:
    """The slave's nodes within the tolerance follow the master's faces, onto which they are moved; with ADJUST=NO they
    stay where they are, which has no place in bodies beyond `APART`."""
    faces = c.faces(master)
    if faces is None or not len(faces):
        raise MeshError(f"the master {master!r} is no surface of element faces that were read")
    own = {n for b, r, f in faces.tolist() for n in c.numbers.face_nodes(b, r, f)}
    nodes = np.array([n for n in c._surface_nodes(slave) if n not in own], dtype=np.int64)
    if not len(nodes):
        return
    found, places, distances, size = closest_points(c.points, c.numbers.blocks, faces, nodes)
    tolerance = number(s.options["POSITIONTOLERANCE"]) if s.options.get("POSITIONTOLERANCE") else TOLERANCE * size
    near = distances <= tolerance
    if not near.any():
        raise MeshError(
            f"no node of {slave!r} is within {tolerance:g} of {master!r}; the nearest is {distances.min():g} away"
        )
    if not near.all():
        some = ", ".join(c.numbers.label(int(n)) for n in nodes[~near][:5])
        told = (
            f"{int((~near).sum())} of {len(nodes)} nodes of {slave!r} are farther than {tolerance:g} from {master!r} "
            f"and are not tied (first: {some})"
        )
        c.warnings.append(f"{s.source.label}: {told}")
        c.untied.append(replace(s.source, text=told))
    adjusts = s.options.get("ADJUST", "YES").upper() != "NO"
    if not (adjusts or c.numbers.deck.as_named):
        if distances[near].max() > APART * size:
            raise MeshError(
                f"ADJUST=NO, and nodes of {slave!r} are up to {distances[near].max():.3g} away from {master!r}: such "
                "a tie resists rotations of the part; close the gap, or let them be moved by ADJUST=YES"
            )
        adjusts = True
    if adjusts and distances[near].max() > 1e-9 * size:
        c.warnings.append(
            f"{s.source.label}: nodes of {slave!r} were moved onto {master!r}, by at most {distances[near].max():.3g}"
        )
    for k in np.flatnonzero(near):
        if adjusts:
            c.points[nodes[k]] = places[k]
        rows, weights = found[k]
        for component in range(3):
            yield Equation(
                np.append(nodes[k], rows), np.full(len(rows) + 1, component), np.concatenate([[1.0], -weights])
            )


def _supports(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*BOUNDARY`: dofs that are held at zero."""
    if set(s.options) - {"OP"} or s.step > 1:
        raise MeshError(f"options {', '.join(s.options) or 'none'} in step {s.step}")
    if s.options.get("OP", "MOD").upper() == "NEW":
        if not s.step:
            raise MeshError("OP=NEW outside of a step; it is read in steps")
        c.supports[:] = [held for held in c.supports if held.source.group == "STEP"]
    for node, dof, value in c.held(s):
        if value:
            raise MeshError(f"a dof is held at {value:g}, not at zero")
        yield c.equation(c.terms(node, dof, 1.0), s.source.label)
        yield from c.solids.brought.get((node, dof), ())


_READERS = {
    "EQUATION": _equations,
    "RIGIDBODY": _rigid_body,
    "COUPLING": _coupling,
    "MPC": _mpc,
    "TIE": _tie,
    "BOUNDARY": _supports,
}
