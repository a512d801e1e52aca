"""Elements without extent: `*MASS`, `*SPRING` (SPRING1, SPRING2, SPRINGA), `*DASHPOT` (DASHPOT1, DASHPOT2, DASHPOTA),
`*DISTRIBUTING COUPLING` (DCOUP3D).

A keyword that is not understood in full is not obeyed at all, and names its elements.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.deck import Lumped, Statement
from fem.files.abaqus.lines import fields, member, number, whole
from fem.mesh.constraints import Constraint, Equation, MeanLink, NodeMass, NodeSpring, RigidLink
from fem.mesh.unread import Stated, Unread


@dataclass(frozen=True)
class LumpedElements:
    """Point masses, springs and couplings of a deck, each with its keyword."""

    masses: tuple[tuple[NodeMass, Unread], ...]
    springs: tuple[tuple[NodeSpring, Unread], ...]
    couplings: tuple[Stated, ...]


def lumped_elements(c: Constraints) -> LumpedElements:
    """The elements without extent of a deck. Those without a value are not obeyed."""
    deck = c.numbers.deck
    left = dict(deck.lumped)
    found: list[tuple[NodeMass | NodeSpring | Constraint, Unread]] = []
    for s in deck.lumped_values:
        elset = str(member(s.options.get("ELSET", "")))
        mine = {k: left[k] for k in sorted(c.numbers.of_elements(elset)) if k in left}
        try:
            if not mine:
                raise MeshError(f"the set {elset!r} has no elements without extent that still lack a value")
            for k, lump in mine.items():
                if any(n not in c.numbers.node_of for n in lump.nodes):
                    raise MeshError(f"element {k} is at nodes that the deck does not define")
                found += [(made, s.source) for made in _READERS[s.keyword](c, s, lump)]
            left = {k: lump for k, lump in left.items() if k not in mine}
        except ValueError as error:  # errors of meshes are ValueErrors
            if isinstance(error, MeshError) and s.source.label in str(error):
                raise
            deck.unread.append(replace(s.source, text=f"{s.source.text} (not obeyed: {error})"))
    deck.unread += dict.fromkeys(lump.source for lump in left.values())
    return LumpedElements(
        tuple((m, source) for m, source in found if isinstance(m, NodeMass)),
        tuple((m, source) for m, source in found if isinstance(m, NodeSpring)),
        tuple(Stated(m, source) for m, source in found if isinstance(m, Equation | MeanLink | RigidLink)),
    )


def _mass(c: Constraints, s: Statement, lump: Lumped) -> Iterator[NodeMass]:
    values = s.entries(0, 1, "the mass")
    if set(s.options) != {"ELSET"} or len(values) != 1 or lump.kind != "MASS":
        raise MeshError("a mass has one value and no options")
    yield NodeMass(c.numbers.node_of[lump.nodes[0]], number(values[0]), s.source.label)


def _spring(c: Constraints, s: Statement, lump: Lumped) -> Iterator[NodeSpring]:
    """`*SPRING` and `*DASHPOT`: a line with the dofs of those that are not axial; then the stiffness or the damping."""
    what = "spring" if s.keyword == "SPRING" else "damper"
    rows = [fields(row) for _, row in s.rows]
    axial = lump.kind.endswith("A")
    if not lump.kind.startswith(s.keyword):
        raise MeshError(f"its elements are of type {lump.kind}")
    dofs = [] if axial else [whole(f) for f in s.entries(0, 1, "dofs") if f]
    rows = rows if axial else rows[1:]
    if set(s.options) != {"ELSET"} or len(rows) != 1 or len([f for f in rows[0] if f]) != 1:
        raise MeshError(f"{what}s that are linear, with one value for all frequencies and temperatures, are read")
    nodes = [c.numbers.node_of[n] for n in lump.nodes]
    if not axial:
        c.require_own_axes(s)
    if axial:
        e = c.points[nodes[1]] - c.points[nodes[0]]
        if not np.linalg.norm(e) > 0:
            raise MeshError(f"the ends of an axial {what} coincide, and it has no direction")
        e = e / np.linalg.norm(e)
        ends = zip(nodes, (-1.0, 1.0), strict=True)
        terms = [(n, k, sign * float(e[k])) for n, sign in ends for k in np.flatnonzero(e).tolist()]
    else:
        terms = []
        for n, dof, sign in zip(nodes, dofs, (1.0, -1.0), strict=False):
            terms += list(zip(*c.terms(n, dof, sign), strict=True))
        if len(dofs) != len(nodes):
            raise MeshError(f"a {lump.kind} needs {len(nodes)} dofs")
    row, components, coefficients = (np.array(a) for a in zip(*terms, strict=True))
    value = {"stiffness" if what == "spring" else "damping": number(rows[0][0])}
    yield NodeSpring(row, components, coefficients, source=s.source.label, **value)


def _distributing(c: Constraints, s: Statement, lump: Lumped) -> Iterator[Equation]:
    """`*DISTRIBUTING COUPLING` of CalculiX: a node moves by the weighted mean of others, without their mean rotation;
    nodes or sets, each with the weight of its nodes."""
    reference = c.numbers.node_of[lump.nodes[0]]
    weights: dict[int, float] = {}
    for k in range(len(s.rows)):
        who, weight = s.entries(k, 2, "a node or set and a weight")[:2]
        weights |= dict.fromkeys(c.nodes(who), number(weight))
    weights.pop(reference, None)
    given = np.array(list(weights.values()))
    if not ((given >= 0).all() and 0 < given.sum() < np.inf):
        raise MeshError("the weights of its nodes add up to zero, or some are negative or infinite: give positive ones")
    share = given / given.sum()
    nodes = np.array([reference, *weights])
    for k in range(3):
        yield Equation(nodes, np.full(len(nodes), k), np.array([-1.0, *share]), s.source.label)


_READERS: dict[str, Callable[[Constraints, Statement, Lumped], Iterator[NodeMass | NodeSpring | Constraint]]] = {
    "MASS": _mass,
    "SPRING": _spring,
    "DASHPOT": _spring,
    "DISTRIBUTINGCOUPLING": _distributing,
}
