"""Results in HDF5: the motion with multipliers and angles, the energy ledger, statistics, events, and the mechanism."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from fem.errors import FlexmbError
from flexmb.contact.group import ContactGroup, GroupCall
from flexmb.contact.shapes import pair_numbers, shape_of_code
from flexmb.contact.triangle_mesh import TriangleMesh, meshes_from_tree, meshes_tree
from flexmb.errors import FileError, UnsoundError
from flexmb.files.bodies.body_file import body_from_tree, body_tree
from flexmb.files.results.control_tree import control_tree, controller_from_tree
from flexmb.files.results.function_tree import function_from_tree, function_tree
from flexmb.files.results.law_tree import law_from_tree, law_tree
from flexmb.files.storage.sound import (
    require_number,
    require_numbers,
    require_sound_mechanism,
    require_sound_motion,
    require_sound_records,
)
from flexmb.files.storage.sound_elements import require_sound_elements, require_states
from flexmb.files.storage.tree import Tree, read_tree, write_tree
from flexmb.forces.frame import LIBRARY
from flexmb.kernels.base.data import ANGLE, TILT
from flexmb.mechanism.contacts.element import CONTACT_LAWS
from flexmb.mechanism.contacts.exact import contact_from_tree, contact_tree
from flexmb.mechanism.contacts.surface import surface_contact_from_tree, surface_contact_tree
from flexmb.mechanism.curves.plane import Curve, spline
from flexmb.mechanism.frame_law import FrameLaw, FrameLawCall
from flexmb.mechanism.lines.line import Line
from flexmb.mechanism.mechanism import FrameForce, Joint, JointFriction, Load, Marker, Mechanism, Row, Term
from flexmb.mechanism.state import State, Topology
from flexmb.results.elements.frame import frame_answers, relative_motion
from flexmb.results.ledger import Ledger
from flexmb.results.result import EventRecord, Result, Statistics, followed_angles
from flexmb.results.verdict import round_off_energy
from flexmb.units import require_units

_LAWS = {**LIBRARY, **CONTACT_LAWS}


ROUNDED = 1e-12
"""Difference of a stored relative motion, relative to the largest, that rounding may cause."""


def save_result(result: Result, path: str | Path) -> Path:
    """Write a result to an HDF5 file; return the path. `load_result` reads back an equal result.

    Functions of `flexmb.time_functions` are stored as they are, and so are force laws that are expressions, tables or
    maps. The file contains no code: of functions of time that are functions of yours it contains the description, and
    the values and first two derivatives at the stored times. The loaded mechanism interpolates these; the descriptions
    of such functions end with "(stored values)", and `simulate` warns of them. Of other force laws, the file contains
    the efforts at the stored times.

    Raises `FileError` when the file cannot be written.
    """
    tree = {name: getattr(result, name) for name in ("t", "q", "w", "wdot", "multipliers", "angles", "element_states")}
    tree["ledger"], tree["round_off"] = result.ledger.series, result.ledger.round_off
    tree["statistics"] = asdict(result.statistics)
    tree["happened"] = [asdict(h) for h in result.happened]
    tree["topologies"] = [
        {
            "t": t,
            "locked": json.dumps(dict(x.locked)),
            "released": json.dumps(sorted(x.released)),
            "fastest": json.dumps(dict(x.fastest)),
            "sliding": json.dumps(dict(x.sliding)),
        }
        for t, x in result.topologies
    ]
    tree["unresolved"] = list(result.unresolved)
    tree["mechanism"] = _mechanism_tree(result.mechanism, result.t)
    tree["mechanism"]["frame_forces"] = [_frame_tree(result, force) for force in result.mechanism.frame_forces]
    tree["mechanism"]["contact_groups"] = [_group_tree(group) for group in result.mechanism.contact_groups]
    tree["mechanism"]["controllers"] = [control_tree(result, c) for c in result.mechanism.controllers]
    tree["laws"] = [law_tree(result, index) for index in range(len(result.mechanism.laws))]
    return write_tree(path, "result", tree)


def load_result(path: str | Path) -> Result:
    """Read a result that `save_result` wrote.

    Raises `FileError` when the file is missing or damaged, or its content is not a valid result.
    """
    tree = read_tree(path, "result")
    try:
        mechanism = _mechanism_from_tree(tree["mechanism"], tree["t"], path, tree.get("laws"))
        require_sound_mechanism(mechanism)
        require_sound_elements(mechanism)
        rates = {name: tree[name] for name in ("w", "wdot", "multipliers")}
        ledger = Ledger(**{"impacts": np.zeros_like(tree["t"])} | tree["ledger"])
        require_sound_motion(mechanism, tree["t"], tree["q"], rates, ledger)
        ledger = replace(ledger, round_off=_round_off(mechanism, tree))
        states = tree.get("element_states", np.zeros((0, 0)))
        if states.size:
            require_numbers(states, (len(tree["t"]), len(mechanism.initial_states)), "the states of force elements")
            require_states(mechanism, states, "the motion")
        else:
            states = np.zeros((len(tree["t"]), 0))
        angles = tree["angles"] if "angles" in tree else followed_angles(mechanism, tree["q"])
        require_numbers(angles, (len(tree["t"]), len(mechanism.turning)), "the angles")
        statistics = Statistics(**tree["statistics"])
        happened = tuple(EventRecord(**h) for h in tree.get("happened", []))
        topologies = tuple(_topology(x) for x in tree.get("topologies", []))
        require_sound_records(statistics, happened, topologies)
        return Result(
            mechanism=mechanism,
            t=tree["t"],
            q=tree["q"],
            **rates,
            angles=angles,
            element_states=states,
            ledger=ledger,
            statistics=statistics,
            happened=happened,
            topologies=topologies,
            unresolved=tuple(str(text) for text in tree.get("unresolved", [])),
        )
    except FlexmbError as error:
        raise (
            error if isinstance(error, FileError) else FileError(f"{path} holds no result that can be: {error}")
        ) from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise FileError(f"{path} does not hold a result as flexmb writes it: {error}.") from None


def _round_off(mechanism: Mechanism, tree: Tree) -> float:
    """The energy below which a residual is round-off; of files of earlier versions without what iterations leave."""
    if "round_off" not in tree:
        return round_off_energy(mechanism, tree["q"], tree["multipliers"])
    require_number(tree["round_off"], "the energy that is round-off")
    if not tree["round_off"] >= 0.0:
        raise FileError(f"the energy that is round-off is not negative; found {tree['round_off']!r}")
    return float(tree["round_off"])


def _topology(tree: Tree) -> tuple[float, Topology]:
    locked, released = json.loads(tree["locked"]), json.loads(tree["released"])
    fastest, sliding = json.loads(tree.get("fastest", "{}")), json.loads(tree.get("sliding", "{}"))
    return float(tree["t"]), Topology(locked, frozenset(released), fastest, sliding)


def _mechanism_tree(m: Mechanism, t: np.ndarray) -> Tree:
    return {
        "name": m.name,
        "gravity": m.gravity,
        "units": m.units,
        "bodies": [body_tree(b) for b in m.bodies],
        "markers": _columns(m.markers, Marker),
        "rows": _columns(m.rows, Row),
        "terms": _terms_tree(m.rows),
        "joints": [{f.name: getattr(j, f.name) for f in fields(Joint)} for j in m.joints],
        "force_elements": {name: np.array(rows) for name, rows in m.force_elements.items()},
        "loads": _columns(m.loads, Load),
        "functions": [function_tree(f, t) for f in m.functions],
        "initial": {name: getattr(m.initial, name) for name in ("t", "q", "w", "angles", "element_states")},
        "start_rows": _columns([row for row, _ in m.start_rows], Row),
        "start_speeds": np.array([speed for _, speed in m.start_rows]),
        "laws": [law.name for law in m.laws],
        "curves": [{"parameters": c.parameters, "points": c.points, "closed": c.closed} for c in m.curves],
        "lines": [{f.name: getattr(line, f.name) for f in fields(Line)} for line in m.lines],
        "frictions": [{f.name: getattr(friction, f.name) for f in fields(JointFriction)} for friction in m.frictions],
        "contacts": [contact_tree(contact) for contact in m.contacts],
        "surface_contacts": [surface_contact_tree(contact) for contact in m.surface_contacts],
    }


def _mechanism_from_tree(
    tree: Tree, t: np.ndarray, path: str | Path, laws: Sequence[Tree | None] | None = None
) -> Mechanism:
    start_rows = tuple(_of_today(row) for row in _records(tree["start_rows"], Row))
    names = [str(name) for name in tree["laws"]]
    return Mechanism(
        name=tree["name"],
        gravity=tree["gravity"],
        bodies=tuple(body_from_tree(b, path) for b in tree["bodies"]),
        markers=_records(tree["markers"], Marker),
        rows=_with_terms([_of_today(row) for row in _records(tree["rows"], Row)], tree.get("terms")),
        joints=tuple(Joint(j["name"], j["kind"], tuple(j["markers"]), tuple(j["rows"])) for j in tree["joints"]),
        force_elements={name: tuple(rows.tolist()) for name, rows in tree["force_elements"].items()},
        loads=_records({"follower": tree["loads"].get("follows")} | tree["loads"], Load),
        functions=tuple(function_from_tree(f, t) for f in tree["functions"]),
        initial=State(**tree["initial"]),
        start_rows=tuple(zip(start_rows, tree["start_speeds"].tolist(), strict=True)),
        laws=tuple(law_from_tree(law, name, t) for law, name in zip(laws or (None,) * len(names), names, strict=True)),
        frame_forces=tuple(_frame_force(force, t) for force in tree.get("frame_forces", [])),
        contact_groups=tuple(_group(group) for group in tree.get("contact_groups", [])),
        controllers=tuple(controller_from_tree(c, t) for c in tree.get("controllers", [])),
        frictions=tuple(_friction(friction) for friction in tree.get("frictions", [])),
        curves=tuple(_curve(curve) for curve in tree.get("curves", [])),
        lines=tuple(_line(line) for line in tree.get("lines", [])),
        contacts=tuple(contact_from_tree(contact) for contact in tree.get("contacts", [])),
        surface_contacts=tuple(surface_contact_from_tree(contact) for contact in tree.get("surface_contacts", [])),
        units=require_units(tree.get("units")),
    )


def _curve(tree: Tree) -> Curve:
    parameters, points = np.asarray(tree["parameters"]), np.asarray(tree["points"])
    require_numbers(parameters, parameters.shape[:1], "the parameters of a curve")
    require_numbers(points, (len(parameters), 2), "the points of a curve")
    return spline(parameters, points, bool(tree["closed"]))


def _line(tree: Tree) -> Line:
    kind, body, function = (index(tree[key]) for key in ("kind", "body", "function"))
    return Line(str(tree["name"]), kind, body, np.asarray(tree["points"]), np.asarray(tree["numbers"]), function)


def _friction(tree: Tree) -> JointFriction:
    name, joint, dof = (str(tree[key]) for key in ("name", "joint", "dof"))
    require_numbers(factors := np.asarray(tree["factors"]), (4,), f"the factors of the friction {name!r}")
    arms = np.asarray(tree.get("arms", [1.0]))  # files of older versions have neither arms nor speed
    require_numbers(arms, (len(arms),), f"the arms of the friction {name!r}")
    speed, direction = float(tree.get("speed", 0.0)), float(tree["direction"])
    return JointFriction(
        name, joint, dof, tuple(factors.tolist()), float(tree["static"]), direction, speed, tuple(arms.tolist())
    )


def _terms_tree(rows: Sequence[Row]) -> Tree:
    """The further terms of all rows as a table, with the number of the row of each."""
    owners = np.array([r for r, row in enumerate(rows) for _ in row.terms], dtype=np.int64)
    return {"row": owners} | _columns([term for row in rows for term in row.terms], Term)


def _with_terms(rows: Sequence[Row], table: Tree | None) -> tuple[Row, ...]:
    """The rows with the further terms of a table; files of older versions have none."""
    if table is None or not len(table["row"]):
        return tuple(rows)
    terms: dict[int, list[Term]] = {}
    for r, term in zip(table["row"].tolist(), _records(table, Term), strict=True):
        terms.setdefault(r, []).append(term)
    if not terms.keys() <= set(range(len(rows))):
        raise UnsoundError("a term belongs to a row that does not exist")
    return tuple(replace(row, terms=tuple(terms.get(r, ()))) for r, row in enumerate(rows))


def _group_tree(group: ContactGroup) -> Tree:
    return {
        "name": group.name,
        "markers": np.array(group.markers),
        "shapes": np.array([pair_numbers(shape, shape)[0][:4] for shape in group.shapes], dtype=float),
        "meshes": meshes_tree({k: s for k, s in enumerate(group.shapes) if isinstance(s, TriangleMesh)}),
        "parameters": np.array(group.parameters),
        "labels": list(group.call.labels),
    }


def _group(tree: Tree) -> ContactGroup:
    name, shapes, parameters = str(tree["name"]), tree["shapes"], tree["parameters"]
    own = tuple(index(k) for k in tree["markers"])
    require_numbers(shapes, (len(own), 4), f"the shapes of the contacts {name!r}")
    require_numbers(parameters, (11,), f"the parameters of the contacts {name!r}")
    labels = tuple(str(label) for label in tree["labels"])
    meshes = meshes_from_tree(tree.get("meshes", []))
    made = tuple(meshes[k] if k in meshes else shape_of_code(row[0], row[1:]) for k, row in enumerate(shapes.tolist()))
    return ContactGroup(name, own, made, tuple(parameters.tolist()), GroupCall(name, labels))


def _frame_tree(result: Result, force: FrameForce) -> Tree:
    law = force.call.law
    return {
        "name": force.name,
        "law": law.name,
        "library": next((name for name, known in _LAWS.items() if known is law), ""),
        "states": list(law.states),
        "parameters": list(law.parameters),
        "inputs": list(law.inputs),
        "command": force.command,
        "values": np.array(force.parameters),
        "meshes": meshes_tree(force.meshes),
        "initial": np.array(force.initial),
        "updates": law.updates,
        "seen": relative_motion(result, force),
        "answers": frame_answers(result, force),
    }


def _frame_force(tree: Tree, t: np.ndarray) -> FrameForce:
    """A force element with its law of the library, or else with one that knows what it returned at the stored times `t`
    (nt,) only."""
    states, parameters = (tuple(str(name) for name in tree[key]) for key in ("states", "parameters"))
    inputs, command = tuple(str(name) for name in tree.get("inputs", [])), index(tree.get("command", -1))
    values, initial = tree["values"], tree["initial"]
    require_numbers(values, (len(parameters),), f"the parameters of {tree['name']!r}")
    require_numbers(initial, (len(states),), f"the states of {tree['name']!r}")
    require_numbers(answers := tree["answers"], (len(t), 7), f"the forces of {tree['name']!r}", finite=False)
    require_numbers(answers[:, :6], (len(t), 6), f"the forces of {tree['name']!r}")
    require_numbers(seen := tree["seen"], (len(t), 18), f"the relative motion of {tree['name']!r}")
    law = _LAWS.get(str(tree.get("library", "")))
    if law is None or (law.states, law.parameters, law.inputs) != (states, parameters, inputs):
        known = _stored_answers(t, seen, answers)

        def with_inputs(t: Any, relative: Any, inputs: Any, z: Any, p: Any, wrench: Any, rates: Any) -> Any:
            return known(t, relative, z, p, wrench, rates)

        own = with_inputs if inputs else known
        law = FrameLaw(own, str(tree["law"]), states, parameters, updates=bool(tree["updates"]), inputs=inputs)
    name = str(tree["name"])
    bound = law(initial=initial.tolist(), **dict(zip(parameters, values.tolist(), strict=True)))
    meshes = meshes_from_tree(tree.get("meshes", []))
    return FrameForce(name, FrameLawCall(law, name), bound.parameters, bound.initial, meshes, command)


def _stored_answers(times: np.ndarray, seen: np.ndarray, answers: np.ndarray) -> Callable[..., float | None]:
    """A law that knows its answers at the stored times and relative motions, and refuses all others."""
    scale = ROUNDED * np.abs(seen).max(axis=0, initial=0.0)

    def law(t: float, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> float | None:
        index = min(int(np.searchsorted(times, t)), len(times) - 1)
        moved = np.abs(np.concatenate([relative.d, relative.S.ravel(), relative.v, relative.omega]) - seen[index])
        if times[index] != t or (moved > scale).any():
            raise NotImplementedError(
                f"the function of this law is not in the file, which has its forces at {len(times)} stored times only; "
                "build the mechanism again to simulate it"
            )
        wrench[:] = answers[index, :6]
        return None if np.isnan(answers[index, 6]) else float(answers[index, 6])

    return law


def _of_today(row: Row) -> Row:
    """Convert a row of an older file.

    There, drivers of rotations have the kind 2, and rotations of bushings are rotation vectors, of kind 5.
    """
    if row.kind == 2 or (row.kind == 5 and row.axes[0] == 2):
        return replace(row, kind=ANGLE)
    return replace(row, kind=TILT) if row.kind == 5 else row


def _columns(records: Sequence[Any], kind: type) -> Tree:
    """Records of one kind as a table of arrays, one for each field; a field with texts or None becomes a list."""
    table: Tree = {}
    for field in _stored(kind):
        values = [getattr(record, field.name) for record in records]
        numbers = not any(value is None or isinstance(value, str) for value in values)
        table[field.name] = np.array(values) if numbers else values
    return table


def _stored(kind: type) -> list[Any]:
    """The fields of a kind of record that are columns of its table; the terms of rows have a table of their own."""
    return [field for field in fields(kind) if field.name != "terms"]


def _records(table: Tree, kind: type) -> tuple[Any, ...]:
    """The records of a table that `_columns` wrote; columns that an older file does not have hold the defaults."""
    made, count = [], len(next(iter(table.values()), ()))
    columns = [table.get(field.name, [field.default] * count) for field in _stored(kind)]
    for values in zip(*columns, strict=True):
        made.append(kind(**{f.name: _plain(x) for f, x in zip(_stored(kind), values, strict=True)}))
    return tuple(made)


def _plain(value: Any) -> Any:
    """A number as a Python number, an integer array as a tuple, any other value unchanged."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind == "i":
        return tuple(value.tolist())
    return value
