"""`*PRE-TENSION SECTION` of steps: the part is cut along faces, or through a beam, and both sides move against each
other along the normal by the first dof of a node; across the normal faces move alike.

See the CalculiX CrunchiX User's Manual, section "*PRE-TENSION SECTION".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fem.elements import element
from fem.errors import MeshError
from fem.files.abaqus.deck import Deck, Statement
from fem.files.abaqus.lines import fields, member, number, whole
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import Equation
from fem.mesh.unread import Stated, Unread


@dataclass(frozen=True)
class Cut:
    """A cut: `twins` of its nodes at the cut elements, the normal from these, other directions in which both sides move
    alike, and the node whose first dof is the motion along the normal."""

    source: Unread
    twins: dict[int, int]
    normal: np.ndarray
    alike: np.ndarray
    node: int


def take_cuts(deck: Deck) -> list[Cut]:
    """Cut the elements of a deck at its pre-tension sections, which are read only to compare results. Sections that are
    not understood are not obeyed."""
    made = []
    for s in deck.pretension:
        try:
            if not deck.as_named:
                raise MeshError("bodies are not cut; fem.read_steps reads it")
            node = whole(s.option("NODE"))
            if node not in deck.nodes:
                raise MeshError(f"the deck has no node {node}")
            made.append(_through_beam(deck, s, node) if s.options.get("ELEMENT") else _along_faces(deck, s, node))
        except (ValueError, KeyError) as error:  # errors of meshes are ValueErrors; nodes of elements may be missing
            reason = f"the deck has no node {error}" if isinstance(error, KeyError) else str(error)
            deck.unread.append(replace(s.source, text=f"{s.source.text} (not obeyed: {reason})"))
    return made


def _normal(s: Statement, otherwise: np.ndarray) -> np.ndarray:
    """The unit normal of a section: that of the deck, or another one."""
    values = [number(f or "0") for f in [*fields(s.rows[0][1]), "", ""][:3]] if s.rows else []
    normal = np.array(values) if any(values) else otherwise
    return np.asarray(normal / np.linalg.norm(normal))


def _through_beam(deck: Deck, s: Statement, node: int) -> Cut:
    """The beam is taken away, and its ends are connected."""
    taken = whole(s.options["ELEMENT"])
    if taken not in deck.thin or deck.thin[taken].family != "B":
        raise MeshError(f"the deck has no beam {taken}")
    thin = deck.thin.pop(taken)
    deck.shells.pop(taken)
    left = [row for row in deck.elements.pop(thin.kind) if row[0] != taken]
    deck.elements |= {thin.kind: left} if left else {}
    first, last = thin.nodes[0], thin.nodes[-1]
    normal = _normal(s, np.subtract(deck.nodes[last], deck.nodes[first]))
    return Cut(s.source, {last: first}, normal, np.zeros((0, 3)), node)


def _along_faces(deck: Deck, s: Statement, of_section: int) -> Cut:
    """The elements at the faces get nodes of their own there."""
    faces = list(_faces(deck, str(member(s.option("SURFACE")))))
    if not faces:
        raise MeshError(f"there are no faces of elements in the surface {s.options['SURFACE']!r}")
    twins: dict[int, int] = {}
    mean = np.zeros(3)
    for taken, kind, side in faces:
        row = next(row for row in deck.elements[kind] if row[0] == taken)
        local = _side(kind, side)
        x = np.array([deck.nodes[row[k + 1]] for k in local])
        mean += np.cross(x[1] - x[0], [0.0, 0.0, 1.0] if taken in deck.plane else x[2] - x[0])
        back = {twin: node for node, twin in twins.items()}
        for k in local:
            node = back.get(row[k + 1], row[k + 1])
            if node not in twins:
                twins[node] = deck.add_node(deck.nodes[node])
            row[k + 1] = twins[node]
        if taken in deck.plane:
            deck.plane[taken] = replace(deck.plane[taken], nodes=tuple(row[1:]))
    normal = _normal(s, mean)
    flat = faces[0][0] in deck.plane
    alike = np.array([[-normal[1], normal[0], 0.0]]) if flat else np.linalg.svd(normal[None])[2][1:]
    return Cut(s.source, twins, normal, alike, of_section)


def _faces(deck: Deck, name: str) -> Iterator[tuple[int, str, int]]:
    """Element, kind and side (from 1) of the faces of a surface. Raises `MeshError` for faces that are none."""
    if name not in deck.part.surfaces:
        raise MeshError(f"the deck has no surface {name!r}")
    numbers = Numbers(deck, [], {})
    kinds = {row[0]: kind for kind, table in deck.elements.items() for row in table}
    for who, side, *_ in ([*row, ""] for row in deck.part.surfaces[name]):
        key, face = member(who), side.upper().removeprefix("S")
        for k in sorted({key} if isinstance(key, int) else numbers.of_elements(key)):
            if k not in kinds:
                raise MeshError(f"the deck has no element {k}, which the surface {name!r} names")
            shape = element(kinds[k])
            most = len(shape.faces) or shape.corners
            if not (face.isdecimal() and 1 <= int(face) <= most):
                raise MeshError(f"element {k} of the surface {name!r} has the faces S1 to S{most}; found {side!r}")
            yield k, kinds[k], int(face)


def _side(kind: str, side: int) -> list[int]:
    """Places in the element of the nodes of a face, or of a side of a plane element, corners first."""
    shape = element(kind)
    if shape.faces:
        wanted = set(shape.abaqus_faces[side - 1])
        return list(next(f for f in shape.faces if {n for n in f if n < shape.corners} == wanted))
    return [side - 1, side % shape.corners, *([shape.corners + side - 1] if shape.edges else [])]


def cut_constraints(cuts: list[Cut], node_of: dict[int, int]) -> Iterator[Stated]:
    """How both sides of the cuts move, in rows of the raw mesh."""
    for cut in cuts:
        for node, twin in cut.twins.items():
            a, b = node_of[node], node_of[twin]
            for t in (cut.normal, *cut.alike):
                order = [k for k in np.argsort(-np.abs(t)).tolist() if t[k]]
                terms = [(b, k, t[k]) for k in order] + [(a, k, -t[k]) for k in order]
                terms += [(node_of[cut.node], 0, -1.0)] if t is cut.normal else []
                nodes, components, factors = (np.array(column) for column in zip(*terms, strict=True))
                yield Stated(Equation(nodes, components, factors.astype(float), cut.source.label), cut.source)
