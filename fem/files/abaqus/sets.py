"""From a deck in its own numbers to a `RawMesh`: sets inside sets, surfaces, the place of the instance."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints import Constraints
from fem.files.abaqus.deck import ASSEMBLY_NODES, Deck, DeckMaterial, read_deck
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import NodeMass
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Unread
from fem.user_files import IncludedFiles


def read_abaqus_mesh(path: Path) -> RawMesh:
    """The contents of an input deck as a raw mesh. Raises `MeshError`, which names file and line."""
    included = IncludedFiles(path, MeshError)
    try:
        return raw_mesh(read_deck(path, included))
    except MeshError as error:
        raise included.without_quotes(error) from None


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
    points = np.array([deck.nodes[int(n)] for n in ids]).reshape(-1, 3)
    of_part = ids < ASSEMBLY_NODES
    points[of_part] = _moved(points[of_part], deck.move)
    numbers = Numbers(deck, blocks, node_of)
    constraints = Constraints.of(numbers, points)
    shells, masses = _shells(deck, numbers), tuple(_masses(deck, numbers))
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
    warnings = [f"{deck.passed_over} elements of the assembly were left out"] if deck.passed_over else []
    warnings += [f"elements of type {kind} are integrated in full, not reduced" for kind in deck.reduced]
    unsupported = [
        f"{n} elements of type {kind}, which are no solids"
        for kind, n in deck.not_solid.items()
        if not kind.startswith("CPS")
    ]
    return RawMesh(
        constraints.points,
        ids,
        tuple(blocks),
        groups,
        nodes,
        faces,
        (*warnings, *constraints.warnings),
        tuple(unsupported),
        beams=True,
        unread=tuple(deck.unread),
        unread_lines=tuple(deck.unread_lines),
        declared=tuple(_declared(deck, numbers)),
        constraints=tuple(constraints.stated),
        supports=tuple(constraints.supports),
        shells=shells,
        masses=masses,
    )


def _masses(deck: Deck, numbers: Numbers) -> Iterator[tuple[NodeMass, Unread]]:
    """The point masses. Mass elements without a value are not obeyed."""
    left = dict(deck.masses)
    for elset, value, source in deck.mass_values:
        level = next((level for level in ("part", "assembly") if elset in getattr(deck, level).elements), None)
        for k in sorted(numbers.flat(elset, level, "elements") if level is not None else ()):
            if k in deck.masses and deck.masses[k][0] in numbers.node_of:
                left.pop(k, None)
                yield NodeMass(numbers.node_of[deck.masses[k][0]], value, source.label), source
    deck.unread += dict.fromkeys(source for _, source in left.values())


def _shells(deck: Deck, numbers: Numbers) -> dict[int, tuple[np.ndarray, Unread]]:
    """Rows of the blocks of triangles and quadrilaterals that are shells, and their keyword. Shells without a section
    are not obeyed."""
    sized: set[int] = set()
    for elset, *_ in deck.shell_sections:
        for level in ("part", "assembly"):
            if elset in getattr(deck, level).elements:
                sized |= numbers.flat(elset, level, "elements")
    deck.unread += dict.fromkeys(source for k, source in deck.shells.items() if k not in sized)
    found = {}
    for block in range(len(numbers.blocks)):
        rows = [(r, k) for k, (b, r) in numbers.element_of.items() if b == block and k in deck.shells and k in sized]
        if rows:
            found[block] = np.array(sorted(r for r, _ in rows)), deck.shells[rows[0][1]]
    return found


def _declared(deck: Deck, numbers: Numbers) -> Iterator[Declared]:
    """The materials that sections give to elements; without constants those that the deck does not define."""
    solid = [(elset, name, None, 0.0, section) for elset, name, section in deck.sections]
    for elset, name, thickness, offset, section in (*solid, *deck.shell_sections):
        level = next((level for level in ("part", "assembly") if elset in getattr(deck, level).elements), None)
        if level is None:
            continue  # of no elements
        cells = np.array(numbers.cells(numbers.flat(elset, level, "elements")), dtype=np.int64).reshape(-1, 2)
        material = deck.materials.get(name, DeckMaterial(replace(section, keyword="MATERIAL")))
        constants = (material.youngs_modulus, material.poissons_ratio, material.density)
        yield Declared(deck.spelling.get(name, name), *constants, material.source, cells, thickness, offset)


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
