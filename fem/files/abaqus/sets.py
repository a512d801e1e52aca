"""From a deck in its own numbers to a `RawMesh`: sets inside sets, surfaces, the place of the instance."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from fem.axes.cylindrical import CylindricalAxes, turn_about
from fem.elements import LINE, TRUSS
from fem.errors import MeshError
from fem.files.abaqus.constraints.axes import Axes
from fem.files.abaqus.constraints.read import constraints_of
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.deck import ASSEMBLY_NODES, IN_FULL, SLENDER, Deck, read_deck, shown
from fem.files.abaqus.expanded.links import links, replaced, touched
from fem.files.abaqus.expanded.plane import expand_plane, layer_constraints
from fem.files.abaqus.expanded.pretension import cut_constraints, take_cuts
from fem.files.abaqus.expanded.solids import expand_thin
from fem.files.abaqus.instances.place import is_turned, moved, turned
from fem.files.abaqus.lines import DOT, dotted
from fem.files.abaqus.lumped import lumped_elements
from fem.files.abaqus.materials import DeckMaterial, DeckSection
from fem.files.abaqus.numbers import Numbers
from fem.files.abaqus.steps import read_steps
from fem.material import Material
from fem.matrices.cell_matrices import VOIGT, elasticity_tensor, turned_elasticity
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Unread
from fem.sections.layup import Ply
from fem.shell import Shell
from fem.user_files import IncludedFiles


def read_abaqus_mesh(path: Path, as_named: bool = False, expand: bool = False) -> RawMesh:
    """The contents of an input deck as a raw mesh; `as_named` and `expand` as of `read_deck`. Raises `MeshError`, which
    names file and line."""
    included = IncludedFiles(path, MeshError)
    try:
        return raw_mesh(read_deck(path, included, as_named, expand))
    except MeshError as error:
        shown_error = MeshError(dotted(str(error))) if DOT in str(error) else error
        raise included.without_quotes(shown_error) from None


def raw_mesh(deck: Deck) -> RawMesh:
    """The raw mesh of a deck. Raises `MeshError` for elements on undefined nodes and sets that name unknown sets."""
    _take_trusses(deck)
    cuts = take_cuts(deck)
    layers, expansions = expand_plane(deck), expand_thin(deck)
    ids = np.array(sorted(deck.nodes), dtype=np.int64)
    node_of = {int(n): k for k, n in enumerate(ids)}
    blocks = []
    for kind, table in deck.elements.items():
        rows = np.array(table, dtype=np.int64)[:, 1:]
        missing = np.setdiff1d(rows, ids)
        if len(missing):
            raise MeshError(
                f"The deck {deck.path}: {kind} elements refer to {len(missing)} nodes that it does not define (first: "
                f"{deck.who(int(missing[0]))}). Is a file missing that it includes?"
            )
        blocks.append((kind, np.searchsorted(ids, rows)))
    points = np.array([deck.nodes[int(n)] for n in ids]).reshape(-1, 3)
    of_part = ids < ASSEMBLY_NODES
    points[of_part] = moved(points[of_part], deck.move)
    numbers = Numbers(deck, blocks, node_of)
    twins = {node_of[a]: node_of[b] for cut in cuts for a, b in cut.twins.items() if len(cut.alike)}
    acted = touched(expansions, numbers, points)
    constraints = constraints_of(numbers, points, replaced(expansions, acted, numbers, twins))
    declared = tuple(_declared(deck, numbers, constraints))  # sections that are not understood are none of shells
    shells, lumped = _shells(deck, numbers), lumped_elements(constraints)
    members = {int(n) for s in (*constraints.stated, *lumped.couplings) for n in s.constraint.members}
    members |= {m.node for m, _ in lumped.masses} | {int(n) for s, _ in lumped.springs for n in s.members}
    constraints.stated += [*layer_constraints(layers, node_of), *cut_constraints(cuts, node_of)]
    constraints.stated += links(expansions, acted, constraints, members, shown=deck.as_named)
    groups: dict[str, list[np.ndarray]] = {}
    nodes: dict[str, np.ndarray] = {}
    faces: dict[str, np.ndarray] = {}
    of_surfaces: dict[str, np.ndarray] = {}

    def rows_of(found: frozenset[int]) -> np.ndarray:
        rows = [node_of[n] for n in found if n in node_of]
        copies = () if deck.as_named else [copy for row in rows for copy in constraints.solids.copies.get(row, ())]
        return np.array(sorted([*rows, *copies]), dtype=np.int64)

    for level in ("assembly", "part"):
        sets = getattr(deck, level)
        for name in sets.elements:
            if name not in deck.internal:
                lost = sorted(numbers.flat(name, level, "elements") - deck.given.keys() - deck.lumped.keys())
                if lost and not deck.not_solid:  # numbers of elements that are not read are not kept
                    deck.idle.append(
                        f"the set {dotted(deck.spelling[name])} names {len(lost)} elements that the deck does not "
                        f"define (first: {deck.who(lost[0])})"
                    )
                cells = np.array(numbers.cells(numbers.flat(name, level, "elements")), dtype=np.int64).reshape(-1, 2)
                groups[_free(deck, name, groups)] = [cells[cells[:, 0] == k, 1] for k in range(len(blocks))]
        for name in sets.nodes:
            if name not in deck.internal:
                own = numbers.flat(name, level, "nodes")
                if absent := sorted(own - node_of.keys()):
                    deck.idle.append(
                        f"the set {dotted(deck.spelling[name])} names {len(absent)} nodes that the deck does not "
                        f"define (first: {deck.who(absent[0])})"
                    )
                nodes[_free(deck, name, nodes)] = rows_of(own)
        for name in sets.node_surfaces:
            of_surfaces[_free(deck, name, of_surfaces)] = rows_of(numbers.of_node_surface(name, level))
        for name in sets.surfaces:
            faces[_free(deck, name, faces)] = numbers.surface(name, level)
    renamed = [name for name, rows in of_surfaces.items() if not np.array_equal(nodes.get(name, rows), rows)]
    nodes |= {f"{name} (surface)" if name in renamed else name: rows for name, rows in of_surfaces.items()}
    warnings = [
        f"a set of nodes and a surface of other nodes are named {name!r}; the surface is the set '{name} (surface)'"
        for name in renamed
    ]
    warnings += [f"elements of type {kind} are {how}" for kind, how in deck.otherwise.items()]
    if deck.materials.round is not None:
        warnings.append(
            f"{deck.materials.round.label}: the size of SECTION=CIRC is the radius, as in Abaqus; CalculiX takes it as "
            "the diameter: for a deck of CalculiX give half of it, or use expand=True or fem.read_steps"
        )
    unsupported = [
        f"{n} elements of type {kind}, which are no solids"
        for kind, n in deck.not_solid.items()
        if not kind.startswith("CPS")
    ]
    notes = dict.fromkeys([*warnings, *deck.idle, *deck.materials.notes, *_twice(deck, numbers), *constraints.warnings])
    return RawMesh(
        constraints.points,
        ids,
        tuple(blocks),
        groups,
        nodes,
        faces,
        tuple(map(dotted, notes)),
        tuple(unsupported),
        beams=True,
        unread=shown(deck.unread),
        unread_lines=shown(deck.unread_lines),
        declared=declared,
        constraints=tuple(constraints.stated) + lumped.couplings,
        supports=tuple(constraints.supports),
        shells=shells,
        masses=lumped.masses,
        springs=lumped.springs,
        steps=read_steps(constraints) if deck.as_named else (),
        instances=tuple((i.name, i.first) for i in deck.instances),
        untied=shown(constraints.untied),
    )


def _take_trusses(deck: Deck) -> None:
    """Make trusses of the T3D2 elements with a section that gives them an area."""
    numbers, rods = Numbers(deck, [], {}), {row[0]: row for row in deck.elements.get(LINE, ()) if row[0] in deck.rods}
    for section in deck.materials.sections:
        mine = numbers.of_elements(section.elset) & set(rods)
        if mine and section.plane is not None and section.plane > 0 and section.sized:
            deck.elements.setdefault(TRUSS, []).extend(rods.pop(k) for k in sorted(mine))
    taken = set(deck.rods) - set(rods)
    if taken:
        deck.elements[LINE] = [row for row in deck.elements[LINE] if row[0] not in taken]
        if not deck.elements[LINE]:
            del deck.elements[LINE]
        left = {deck.rods[k] for k in rods}
        deck.unread_lines = [u for u in deck.unread_lines if u not in set(deck.rods.values()) or u in left]


def _shells(deck: Deck, numbers: Numbers) -> dict[int, tuple[np.ndarray, Unread]]:
    """Rows of the blocks of triangles, quadrilaterals and lines that are shells and beams, and their keyword. Those
    without a section are not obeyed."""
    sized: set[int] = set()
    for section in deck.materials.sections:
        sized |= numbers.of_elements(section.elset) if section.thickness or section.beam else set()
    bare: dict[Unread, list[int]] = {}
    for k, source in deck.shells.items():
        if k not in sized:
            bare.setdefault(source, []).append(k)
    for source, elements in bare.items():
        beam = numbers.blocks[numbers.element_of[elements[0]][0][0]][0] == LINE
        keyword = "*BEAM SECTION" if beam else "*SHELL SECTION with a thickness"
        one, more = deck.who(elements[0]), len(elements) > 1
        who = f"{len(elements)} elements, the first {one}, have" if more else f"element {one} has"
        reason = f"({who} no {keyword})"
        (deck.unread_lines if beam else deck.unread).append(replace(source, text=f"{source.text} {reason}"))
    found: dict[int, tuple[np.ndarray, Unread]] = {}
    for k in deck.shells:
        name = deck.thin[k].name
        if k in sized and name.endswith("R") and name != "S3R":  # S3R is another name of S3
            deck.otherwise[name] = IN_FULL
        for block, row in numbers.element_of[k] if k in sized else ():
            rows = found[block][0] if block in found else np.zeros(0, dtype=np.int64)
            found[block] = np.union1d(rows, row), deck.shells[k]
    for block, (kind, rows) in enumerate(numbers.blocks):
        if kind == TRUSS:
            first = deck.elements[TRUSS][0][0]
            found[block] = np.arange(len(rows)), deck.rods[first]
    return found


def _twice(deck: Deck, numbers: Numbers) -> Iterator[str]:
    """Notes on elements that several sections name."""
    known: dict[int, DeckSection] = {}
    for section in deck.materials.sections:
        mine = numbers.of_elements(section.elset)
        both = sorted(mine & set(known))
        if both:
            yield (
                f"{section.source.label}: {len(both)} elements have this section and that of "
                f"{known[both[0]].source.label} (first: {deck.who(both[0])}); the last one counts"
            )
        known |= dict.fromkeys(mine, section)


def _declared(deck: Deck, numbers: Numbers, constraints: Constraints) -> Iterator[Declared]:
    """The materials that sections give to elements; without constants those that the deck does not define."""
    for section in deck.materials.sections:
        cells = np.array(numbers.cells(numbers.of_elements(section.elset)), dtype=np.int64).reshape(-1, 2)
        known = deck.materials.records.get(section.material)
        source = replace(section.source, keyword="MATERIAL") if known is None else known.source
        material = known or DeckMaterial(source)
        name, C, wrong = deck.spelling.get(section.material, section.material), material.elasticity, material.wrong
        about: CylindricalAxes | None = None
        if material.flat and (deck.expand or section.thickness is None):
            C, wrong = None, "TYPE=LAMINA are constants of plane stress, of shells alone; solids and beams need all"
        if section.layers or (section.thickness is not None and section.orientation):
            yield from _oriented_shell(deck, section, cells, constraints)
            continue
        try:
            axes = constraints.orientation(section.orientation)
            _require_directions(section, None if material.source is section.source else C)  # E and G of a beam
            if axes is not None and C is not None:
                (C, about), name = _turned(C, axes), f"{name}, orientation {dotted(section.orientation)}"
        except ValueError as error:  # errors of meshes are ValueErrors
            deck.unread.append(replace(section.source, text=f"{section.source.text} (not obeyed: {error})"))
        if material.warm is not None:
            constraints.warnings.append(
                f"{source.label}: the constants of {name} depend on temperature; the mesh has those of "
                f"{material.warm.temperatures[0]:g}, steps have those of their temperatures."
            )
        beam = (
            None if section.beam is None else (section.beam, _turned_axis(deck, section), section.beam.drawn_centroid)
        )
        rods = np.array([numbers.blocks[block][0] == TRUSS for block, _ in cells.tolist()], dtype=bool)
        if rods.any():
            yield Declared(name, C, material.density, source, cells[rods], wrong=wrong, area=section.plane)
            cells = cells[~rods]
            if not len(cells):
                continue
        if deck.expand:  # solids have no sections
            yield Declared(name, C, material.density, source, cells, wrong=wrong, axes=about)
        else:
            sized = (section.thickness, section.offset, beam, wrong)
            for theory, own in _by_theory(deck, numbers, section, cells):
                yield Declared(name, C, material.density, source, own, *sized, axes=about, theory=theory)


def _by_theory(
    deck: Deck, numbers: Numbers, section: DeckSection, cells: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """The cells of a section, beams by Euler and Bernoulli apart from the others."""
    types = ((number, deck.thin[number].name) for number in numbers.of_elements(section.elset) if number in deck.thin)
    places = set(numbers.cells(number for number, name in types if name in SLENDER))
    slender = np.array([(block, row) in places for block, row in cells.tolist()], dtype=bool)
    if not slender.any() or not slender.all():
        yield "timoshenko", cells[~slender]
    if slender.any():
        yield "euler-bernoulli", cells[slender]


UNDIRECTED = (
    "the instance is turned, and the section has directions that it does not give; give it an orientation or a normal"
)


def _require_directions(section: DeckSection, C: np.ndarray | None) -> None:
    """Raise `MeshError` where the section of a turned instance depends on axes that programs choose."""
    if not is_turned(section.move):
        return
    undirected = section.y_axis is None and section.shape is not None and section.shape[0] not in ("CIRC", "PIPE")
    if C is not None and not section.orientation:
        c = elasticity_tensor(C)
        R = turned(np.eye(3), section.move)
        undirected |= bool(np.abs(turned_elasticity(c, R) - c).max() > 1e-9 * np.abs(c).max())
    if undirected:
        raise MeshError(UNDIRECTED)


def _turned_axis(deck: Deck, section: DeckSection) -> tuple[float, float, float]:
    """The first axis of the section of a beam, in the axes of the assembly."""
    a, b, c = turned(np.array([section.direction]), deck.move)[0].tolist()
    return a, b, c


NORMAL = 1e-3
"""Angle up to which the third axis of an orientation is along the normal of a shell."""


def _oriented_shell(
    deck: Deck, section: DeckSection, cells: np.ndarray, constraints: Constraints
) -> Iterator[Declared]:
    """A shell of layers, or one whose material has directions. What is not understood is not obeyed."""
    source = section.source
    try:
        layers = section.layers or ((section.thickness or 0.0, section.material, 0.0),)
        base = section.orientation or next((turn for _, _, turn in layers if isinstance(turn, str)), "")
        if section.layers and not base and is_turned(section.move):
            raise MeshError(UNDIRECTED)
        axes = constraints.orientation(base)
        x_axis = None if axes is None else _in_plane(axes, cells, constraints)
        plies = []
        for thickness, name, turn in layers:
            known = deck.materials.records.get(name)
            if known is None or known.elasticity is None:
                raise MeshError(f"material {name}, which has no constants")
            material = Material(deck.spelling.get(name, name), known.elasticity, known.density)
            if base and not section.orientation and not isinstance(turn, str):
                Shell.layup([Ply(material, thickness)])  # raises for a material with directions, which has none here
            plies.append(Ply(material, thickness, _angle(axes, turn, cells, constraints)))
        shell = Shell.layup(plies, x_axis, section.offset)
    except ValueError as error:  # errors of meshes and materials are ValueErrors
        deck.unread.append(replace(source, text=f"{source.text} (not obeyed: {error})"))
        section.thickness = None
        return
    first = plies[0].material
    name = f"{first.name}, {source.keyword.lower()} line {source.line}"
    C, rho = first.elasticity, first.density
    yield Declared(name, C, rho, source, cells, section.thickness, section.offset, shell=shell)


def _angle(axes: Axes | None, turn: float | str, cells: np.ndarray, constraints: Constraints) -> float:
    """The angle (degrees) of a layer from the first one of the `axes`: as it is given, or that of an orientation."""
    if not isinstance(turn, str) or axes is None:
        return float(turn)
    own = constraints.orientation(turn) or axes
    x = axes.at(np.zeros(3)) @ np.array(_in_plane(own, cells, constraints))
    return float(np.rad2deg(np.arctan2(x[1], x[0])))


def _in_plane(axes: Axes, cells: np.ndarray, constraints: Constraints) -> tuple[float, float, float]:
    """The first axis of fixed axes whose third one is the normal of all cells: elsewhere programs differ in how they
    project it. Raises `MeshError` for others."""
    if axes.cylindrical:
        raise MeshError("cylindrical axes of a shell")
    R = axes.at(np.zeros(3))
    blocks, x = constraints.numbers.blocks, constraints.points
    for block in np.unique(cells[:, 0]).tolist():
        rows = blocks[block][1][cells[cells[:, 0] == block, 1]]
        corner = x[rows[:, :3]]
        normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        if np.abs(normal @ R[2] - 1).max() > NORMAL**2:
            raise MeshError("axes whose third one is not along the normal of the shell")
    a, b, c = R[0].tolist()
    return a, b, c


def _turned(C: np.ndarray, axes: Axes) -> tuple[np.ndarray, CylindricalAxes | None]:
    """The elasticity in the axes of the mesh of a material with axes of its own; beside its axes, where these vary in
    space and that matters."""
    c = elasticity_tensor(C)
    if axes.cylindrical:
        around = turned_elasticity(c, turn_about(axes.turned_about, axes.turn))  # along radius, tangent and axis
        if np.abs(turned_elasticity(around, turn_about(2, 57.0)) - around).max() > 1e-9 * np.abs(c).max():
            a, b = (tuple(v.tolist()) for v in (axes.a, axes.b - axes.a))
            return C, CylindricalAxes((a[0], a[1], a[2]), (b[0], b[1], b[2]), axes.turn, axes.turned_about)
        R = axes.at(axes.a + np.linalg.svd((axes.b - axes.a)[None])[2][1])
    else:
        R = axes.at(axes.a + axes.b)
    t = turned_elasticity(c, R)
    return np.array([[t[i, j, k, l] for k, l in VOIGT] for i, j in VOIGT]), None


def _free(deck: Deck, name: str, taken: dict) -> str:
    """The name as the deck spells it; a set of the part with the name of one of the assembly is called "part.NAME"."""
    spelt = dotted(deck.spelling[name])
    return f"part.{spelt}" if spelt in taken else spelt
