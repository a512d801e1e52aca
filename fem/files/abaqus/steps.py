"""Analysis steps of a deck: `*BOUNDARY`, `*CLOAD`, `*DLOAD` (pressures, GRAV, CENTRIF), `*DSLOAD`, `*TEMPERATURE`.

Nodes and cells of the records are rows of the raw mesh and pairs (block, row); `fem.files.mesh_files` renumbers them.
Loads stay from step to step, as in the solvers, unless OP=NEW or given again; those of one step add up. In a
perturbation step only its own act. What is not obeyed stays likewise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.cyclic import read_cyclic
from fem.files.abaqus.deck import Statement, shown
from fem.files.abaqus.keywords import OUTPUT
from fem.files.abaqus.lines import fields, member, number, whole
from fem.mesh.constraints import Equation
from fem.mesh.steps import (
    BodyForce,
    Constants,
    FacePressure,
    Heating,
    InitialState,
    NodalForce,
    Step,
    Support,
    Table,
)
from fem.mesh.unread import Unread

PROCEDURES = {
    "STATIC", "FREQUENCY", "BUCKLE", "DYNAMIC", "MODALDYNAMIC", "STEADYSTATEDYNAMICS", "VISCO", "HEATTRANSFER", "GREEN",
    "SENSITIVITY", "NOANALYSIS", "COUPLEDTEMPERATURE-DISPLACEMENT", "UNCOUPLEDTEMPERATURE-DISPLACEMENT", "GEOSTATIC",
    "COMPLEXFREQUENCY", "ELECTROMAGNETICS", "CFD", "SUBSTRUCTUREGENERATE", "RANDOMRESPONSE", "RESPONSESPECTRUM",
}  # fmt: skip
_PASSED_OVER = OUTPUT | {"STEP", "ENDSTEP", "NSET", "ELSET", "SURFACE", "AMPLITUDE", "CONTROLS"}
_SAME_DIRECTION = 6
"""Decimals to which directions of gravity are the same."""
_FORCES = {"CLOAD", "DLOAD"}
Key = tuple[int, int]


@dataclass
class _State:
    """What acts at a point of the history; each load by what it replaces when it is given again."""

    held: dict[Key, tuple[Equation, float]] = field(default_factory=dict)
    brought: dict[Key, Sequence[Equation]] = field(default_factory=dict)  # by supports, also by those that act no more
    forces: dict[Key, tuple[int, list[NodalForce]]] = field(default_factory=dict)
    spread: dict[tuple, tuple[int, list[FacePressure | BodyForce]]] = field(default_factory=dict)
    pressed: set[tuple] = field(default_factory=set)  # faces (block, row, face) with a pressure of the current step
    fluid: dict[tuple[str, str], tuple[np.ndarray, int]] = field(default_factory=dict)  # faces, node of a fluid
    temperature: dict[int, float] = field(default_factory=dict)  # the initial ones included
    first: dict[int, float] = field(default_factory=dict)  # initial temperatures
    initial: list[InitialState] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)  # element set -> its material now
    renewed: set[tuple[str, int]] = field(default_factory=set)  # keywords and steps where OP=NEW has acted
    disobeyed: list[tuple[str, Unread]] = field(default_factory=list)  # of earlier steps, with their keywords


def read_steps(c: Constraints) -> tuple[Step, ...]:
    """The steps of a deck. What a step says and is not read is in its `unread`."""
    state, steps = _State(), []
    current: Step | None = None
    lasting = False  # large displacements, which static steps keep until one says NLGEOM=NO
    before: list[Unread] = []
    own: list[tuple[str, Unread]] = []
    unread = before
    try:
        cyclic = read_cyclic(c)
    except (MeshError, ValueError, KeyError, IndexError) as error:
        source, cyclic = c.numbers.deck.cyclic[0].source, None
        before.append(replace(source, text=f"{source.text} (not obeyed: {error})"))
    for s in c.numbers.deck.history:
        if s.keyword == "STEP":
            if current is not None:
                steps.append(_unfinished(c, current, state, [*_lasting(state, current), *unread]))
                state.disobeyed += own
            perturbation = "PERTURBATION" in s.options
            asked = "NLGEOM" in s.options and s.options["NLGEOM"].upper() != "NO"
            lasting = asked or (lasting and "NLGEOM" not in s.options)
            diameters = (0, 0 if cyclic is None else cyclic.sectors // 2)
            current = Step(s.step, "", s.source, asked, perturbation, cyclic=cyclic, diameters=diameters)
            unread = list(before)
            own = []
            state.pressed.clear()
            if perturbation:
                others = [left for left in state.disobeyed if left[0] not in _FORCES]
                state = replace(state, forces={}, spread={}, disobeyed=others)
            continue
        known = len(unread)
        try:
            if current is not None and s.keyword in PROCEDURES:
                nonlinear = lasting if s.keyword == "STATIC" else current.nonlinear
                current = replace(current, procedure=s.keyword, nonlinear=nonlinear, modes=_modes(s))
            elif current is not None and s.keyword == "SELECTCYCLICSYMMETRYMODES" and cyclic is not None:
                last = str(cyclic.sectors // 2)
                diameters = int(s.options.get("NMIN", "0")), int(s.options.get("NMAX", last))
                current = replace(current, diameters=diameters)
            elif s.keyword == "INITIALCONDITIONS":
                if s.options.get("TYPE", "").upper() == "TEMPERATURE":
                    _require_options(s, "TYPE")
                    state.first |= _temperatures(c, s)
                    state.temperature = {**state.first, **state.temperature}
                elif s.options.get("TYPE", "").upper() in ("STRESS", "PLASTICSTRAIN", "PLASTIC STRAIN"):
                    state.initial.append(_initial_values(c, s))
                else:
                    unread.append(s.source)
            elif s.keyword in _READERS:
                if "AMPLITUDE" in s.options:
                    raise MeshError(f"its amplitude {s.options['AMPLITUDE']!r} is not read")
                _READERS[s.keyword](c, s, state)
            elif s.keyword not in _PASSED_OVER:
                unread.append(s.source)
        except (MeshError, ValueError, KeyError, IndexError) as error:
            unread.append(replace(s.source, text=f"{s.source.text} (not obeyed: {error})"))
        if current is not None:
            own += [(_family(s), u) for u in unread[known:]]
        if current is not None and s.keyword == "ENDSTEP":
            steps.append(_done(c, current, state, [*_lasting(state, current), *unread]))
            state.disobeyed += own
            current = None
    if current is not None:
        steps.append(_unfinished(c, current, state, [*_lasting(state, current), *unread]))
    return tuple(steps)


def _modes(s: Statement) -> int:
    """The number of modes that a `*FREQUENCY` asks for; 0 for other procedures and where it is missing."""
    words = fields(s.rows[0][1]) if s.keyword == "FREQUENCY" and s.rows else [""]
    return int(words[0] or 0)


def _lasting(state: _State, step: Step) -> list[Unread]:
    """What earlier steps say, is not obeyed and still acts: no forces in frequency steps."""
    forced = step.procedure != "FREQUENCY"
    return [unread for keyword, unread in state.disobeyed if forced or keyword not in _FORCES]


def _family(s: Statement) -> str:
    """The keyword whose OP=NEW ends what a statement says."""
    return "DLOAD" if s.keyword == "DSLOAD" else s.keyword


def _unfinished(c: Constraints, step: Step, state: _State, unread: list[Unread]) -> Step:
    """A step without its last keyword, which is kept as one that is not obeyed."""
    reason = replace(step.source, text=f"{step.source.text} (not obeyed: no *END STEP follows)")
    return _done(c, step, state, [*unread, reason])


def _done(c: Constraints, step: Step, state: _State, unread: list[Unread]) -> Step:
    """The step with what acts at its end."""
    _replace_pressures(state, step.number)
    try:
        heating = tuple(_heating(c, state))
    except MeshError as error:
        heating, unread = (), [*unread, replace(step.source, text=f"{step.source.text} (not obeyed: {error})")]
    pressures = [p for _, group in state.spread.values() for p in group if isinstance(p, FacePressure)]
    for faces, node in state.fluid.values():  # the second dof of such a node is the pressure
        value = state.held[node, 2][1] if (node, 2) in state.held else np.nan
        pressures.append(FacePressure(faces, value))
        if np.isnan(value):
            reason = f"the pressure at node {c.numbers.label(node)} is not given"
            unread = [*unread, replace(step.source, text=f"{step.source.text} (not obeyed: {reason})")]
    return replace(
        step,
        supports=(
            *(Support(equation, value) for equation, value in state.held.values()),
            *(Support(equation, 0.0) for equations in state.brought.values() for equation in equations),
        ),
        forces=tuple(f for _, group in state.forces.values() for f in group),
        pressures=tuple(pressures),
        bodies=tuple(b for _, group in state.spread.values() for b in group if isinstance(b, BodyForce)),
        heating=tuple(h for h in heating if isinstance(h, Heating)),
        constants=tuple(h for h in heating if isinstance(h, Constants)),
        initial=tuple(state.initial),
        unread=shown(unread),
    )


def _is_new(s: Statement, state: _State, *known: str) -> bool:
    """Whether a keyword replaces all of its kind before it: the first of its step with OP=NEW. Raises `MeshError` for
    options that are not `known`."""
    _require_options(s, "OP", *known)
    own = _family(s), s.step
    first = s.options.get("OP", "MOD").upper() == "NEW" and own not in state.renewed
    if first:
        state.renewed.add(own)
        state.disobeyed = [left for left in state.disobeyed if left[0] != own[0]]
    return first


def _require_options(s: Statement, *known: str) -> None:
    others = set(s.options) - {*known}
    if others:
        raise MeshError(f"options {', '.join(sorted(others))}")


def _boundary(c: Constraints, s: Statement, state: _State) -> None:
    if _is_new(s, state, "FIXED"):
        state.held.clear()
    for node, dof, value in c.held(s):
        terms = c.terms(node, dof, 1.0)
        state.held[node, dof] = c.equation(terms, s.source.label), np.nan if "FIXED" in s.options else value
        state.brought |= {(node, dof): c.solids.brought[node, dof]} if (node, dof) in c.solids.brought else {}


def _point_loads(c: Constraints, s: Statement, state: _State) -> None:
    if _is_new(s, state):
        state.forces.clear()
    deck = c.numbers.deck
    round_about = any(deck.plane[k].family == "CAX" for k in deck.expanded)
    for k in range(len(s.rows)):
        who, text, value = s.entries(k, 3, "a node or set, a dof and a value")[:3]
        dof = whole(text)
        for node in c.nodes(who):
            # forces on axisymmetric elements are those of the whole circumference, solved is a sector of two degrees
            nodes, components, along = c.load(node, dof, number(value) / (180 if round_about else 1))
            made = [NodalForce(n, j, v) for n, j, v in zip(nodes, components, along, strict=True)]
            _add(state.forces, (node, dof), s.step, made)


def _add(loads: dict, key: tuple, step: int, made: list) -> None:
    """Add loads of a step to those of the same step; those of an earlier one are replaced."""
    known = loads.get(key)
    loads[key] = step, [*known[1], *made] if known is not None and known[0] == step else made


def _spread_loads(c: Constraints, s: Statement, state: _State) -> None:
    if _is_new(s, state):
        state.spread.clear()
        state.fluid.clear()
    for k in range(len(s.rows)):
        _spread_load(c, s, k, state)


def _spread_load(c: Constraints, s: Statement, k: int, state: _State) -> None:
    """Add the load of data line `k` on faces or cells."""
    who, kind, *rest = s.entries(k, 3, "a set, a kind of load and values")
    kind, values = kind.upper(), [number(f or "0") for f in rest]
    if s.keyword == "DSLOAD":
        if kind != "P":
            raise MeshError(f"a load of type {kind}; P is read on surfaces")
        surface = c.faces(who)
        if surface is None:
            raise MeshError(f"there is no surface {who!r}")
        if not len(surface) or c.shells(who):
            raise MeshError(f"{who!r} has faces of other elements than solids; shells are solids with expand=True")
        _press(state, (who.upper(), kind), s.step, FacePressure(surface, values[0]))
        return
    cells = c.numbers.cells(_elements(c, who))
    fluid = kind[:1] == "P" and kind.endswith("NP") and kind[1:-2].isdigit()
    side = _side(c, _elements(c, who), kind.removesuffix("NP") if fluid else kind)
    if side:
        faces = [(b, r, c.numbers.face(b, f"S{side}", who)) for b, r in cells]
        pressed = np.array(faces).reshape(-1, 3)
        if fluid:
            state.fluid[who.upper(), kind] = pressed, c.node(rest[0])
        else:
            _press(state, (who.upper(), kind), s.step, FacePressure(pressed, values[0]))
    elif kind == "GRAV" and len(values) == 4:
        along = _direction(values[1:])
        weight = BodyForce(_massive(c, who, cells), gravity=values[0] * along)
        _add(state.spread, (who.upper(), kind, *np.round(along, _SAME_DIRECTION)), s.step, [weight])
    elif kind == "CENTRIF" and len(values) == 7:
        where, axis = _massive(c, who, cells), _direction(values[4:])
        spin = BodyForce(where, speed2=values[0], point=np.array(values[1:4]), axis=axis)
        key = (who.upper(), kind, *values[1:])
        _require_one_rotation(state, key, where)
        _add(state.spread, key, s.step, [spin])
    else:
        raise MeshError(f"a load of type {kind} with {len(values)} numbers; P1 to P6, GRAV and CENTRIF are read")


def _press(state: _State, key: tuple[str, str], step: int, load: FacePressure) -> None:
    _add(state.spread, key, step, [load])
    state.pressed |= {tuple(face) for face in load.faces.tolist()}


def _replace_pressures(state: _State, step: int) -> None:
    """Pressures replace those of earlier steps on the same faces, in whatever sets."""
    for key, (given, group) in state.spread.items():
        if given < step and state.pressed:
            state.spread[key] = given, [_without(state.pressed, old) for old in group]


def _without(faces: set[tuple], load: FacePressure | BodyForce) -> FacePressure | BodyForce:
    if isinstance(load, BodyForce):
        return load
    return replace(load, faces=load.faces[[tuple(face) not in faces for face in load.faces.tolist()]])


def _require_one_rotation(state: _State, key: tuple, cells: np.ndarray) -> None:
    """Refuse a second rotation of the same cells, of which CalculiX would take one without a word."""
    mine = {tuple(cell) for cell in cells.tolist()}
    for other, (_, group) in state.spread.items():
        if other[1] != "CENTRIF" or other == key:
            continue
        theirs = [tuple(cell) for load in group if isinstance(load, BodyForce) for cell in load.cells.tolist()]
        if not mine.isdisjoint(theirs):
            raise MeshError(f"cells of {key[0]!r} have another CENTRIF, that of {other[0]!r}; one rotation is read")


def _side(c: Constraints, elements: set[int], kind: str) -> int:
    """The face of the solids on which a pressure acts; 0 for other loads. Edges of plane elements come after both faces
    of their solids; P of shells acts on the bottom, P1 and P2 of beams along the axes of the section."""
    deck = c.numbers.deck
    thin = deck.thin if deck.expand else {}
    shells, beams = (any(k in thin and thin[k].family == f for k in elements) for f in "SB")
    if shells or beams:
        if not all(k in thin and (thin[k].family == "S") == shells for k in elements):
            raise MeshError("pressures on a set of elements of several families")
        sides = {"P": 1, "P1": 1} if shells else {"P1": 1, "P2": 5}
        return sides.get(kind, 0)
    if not (kind[:1] == "P" and kind[1:].isdigit()):
        return 0
    return int(kind[1:]) + 2 * bool(elements & deck.expanded)


def _elements(c: Constraints, who: str) -> set[int]:
    name = member(who)
    found = {name} if isinstance(name, int) else set(c.numbers.of_elements(name))
    if not any(element in c.numbers.element_of for element in found):
        raise MeshError(f"no element of {who!r} was read")
    return found


def _massive(c: Constraints, who: str, cells: list[tuple[int, int]]) -> np.ndarray:
    """The rows of cells whose mass is loaded. Refuses sets with point masses, whose weight is not read."""
    points = {k for k, lump in c.numbers.deck.lumped.items() if lump.kind == "MASS"} & _elements(c, who)
    if points:
        raise MeshError(f"{len(points)} elements of {who!r} are point masses, on which GRAV and CENTRIF are not read")
    return _rows(cells)


def _direction(values: list[float]) -> np.ndarray:
    size = float(np.linalg.norm(values))
    if not size > 0:
        raise MeshError("its direction is zero")
    return np.array(values) / size


def _rows(cells: list[tuple[int, int]]) -> np.ndarray:
    return np.array(cells, dtype=np.int64).reshape(-1, 2)


def _temperatures(c: Constraints, s: Statement) -> dict[int, float]:
    found: dict[int, float] = {}
    for k in range(len(s.rows)):
        who, value, *gradients = s.entries(k, 2, "a node or set and a temperature")
        if any(gradients):
            raise MeshError("temperatures that vary through a thickness")
        found |= dict.fromkeys(c.nodes(who), number(value))
    return found


def _heat(c: Constraints, s: Statement, state: _State) -> None:
    state.temperature = {**(state.first if _is_new(s, state) else state.temperature), **_temperatures(c, s)}


def _of_nodes(c: Constraints, state: _State, values: dict[int, float]) -> np.ndarray:
    """Temperatures (n,) of all nodes, those of solids in the place of others included."""
    found = np.zeros(len(c.points))
    for node, value in values.items():
        found[node] = value
    for node, copies in c.solids.copies.items():
        found[list(copies)] = found[node]
    return found


def _heating(c: Constraints, state: _State) -> Iterator[Heating | Constants]:
    """Strains of temperatures and the constants there, for the cells of each section."""
    last = _of_nodes(c, state, state.temperature)
    first = _of_nodes(c, state, state.first)
    records = c.numbers.deck.materials.records
    for section in c.numbers.deck.materials.sections:
        name = state.changed.get(section.elset, section.material)
        material = records.get(name)
        if material is None:
            continue
        cells = _rows(c.numbers.cells(c.numbers.of_elements(section.elset)))
        axes = c.orientation(section.orientation)
        heated = (last != first).any() or (material.zero and first.any())
        if heated and material.expands:
            if material.expansion is None:
                raise MeshError(f"the expansion of material {name!r}; constants ISO, ORTHO or ANISO are read")
            if axes is not None and np.ptp(material.expansion.values[:, :3]) > 0:
                raise MeshError("an expansion along the axes of an orientation")
            yield Heating(cells, first, last, material.expansion, material.zero)
        table = material.warm if state.temperature else None
        if table is None and name != section.material:
            if material.elasticity is None:
                raise MeshError(f"the material {name!r} has no elastic constants that are read")
            table = Table(np.zeros(1), material.elasticity[None])
        if table is not None:
            if axes is not None and table.values.ndim == 3:
                raise MeshError("constants along the axes of an orientation that depend on temperature or step")
            yield Constants(cells, last, table)


def _change_section(c: Constraints, s: Statement, state: _State) -> None:
    """`*CHANGE SOLID SECTION`: another material of a set that has a section of its own."""
    _require_options(s, "ELSET", "MATERIAL")
    elset, name = str(member(s.option("ELSET"))), s.option("MATERIAL").strip('"').upper()
    materials = c.numbers.deck.materials
    others = [materials.records.get(x.material) for x in materials.sections if x.elset == elset]
    if not others:
        raise MeshError(f"no section is that of the set {elset!r}")
    if name not in materials.records:
        raise MeshError(f"the deck has no material {name!r}")
    if any(other is not None and other.density != materials.records[name].density for other in others):
        raise MeshError("the material has another density")
    state.changed[elset] = name


def _initial_values(c: Constraints, s: Statement) -> InitialState:
    """Stresses or plastic strains at integration points; the order of a deck is xx, yy, zz, xy, xz, yz."""
    _require_options(s, "TYPE")
    strains = s.options["TYPE"].upper() != "STRESS"
    rows = [fields(row) for _, row in s.rows]
    cells = [c.numbers.cells(_elements(c, row[0])) for row in rows]
    if any(len(found) != 1 for found in cells):
        raise MeshError("initial values of sets of elements; those of single elements are read")
    values = np.array([[number(f or "0") for f in [*row[2:], *[""] * 6][:6]] for row in rows]).reshape(-1, 6)
    values = values[:, [0, 1, 2, 3, 5, 4]] * np.array([1, 1, 1, *[2 if strains else 1] * 3])
    points = np.array([int(row[1]) - 1 for row in rows], dtype=np.int64)
    return InitialState(np.array(cells, dtype=np.int64).reshape(-1, 2), points, values, strains)


_READERS = {
    "BOUNDARY": _boundary,
    "CLOAD": _point_loads,
    "DLOAD": _spread_loads,
    "DSLOAD": _spread_loads,
    "TEMPERATURE": _heat,
    "CHANGESOLIDSECTION": _change_section,
}
