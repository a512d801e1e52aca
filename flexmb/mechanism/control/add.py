"""The controllers of a `System`: their connections, and the order in which they are evaluated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fem.errors import unknown_name
from flexmb.errors import ControllerError, TableError
from flexmb.forces.scalar.points import other_quantity, require_unit
from flexmb.kernels.base.data import ANGLE, DISTANCE, SPIN, TRANSLATION
from flexmb.kernels.equations.controllers import COMMAND, RATE, VALUE
from flexmb.kernels.equations.time_functions import POLYNOMIAL, SPIN_UP
from flexmb.mechanism.control.controller import Controller, Signal
from flexmb.mechanism.control.law import BoundController, ControlCall, ControlLaw
from flexmb.mechanism.control.signals import Source, one_row, place_of, signal_of
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import FrameForce, Load, Row
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.units import named

if TYPE_CHECKING:
    from flexmb.mechanism.construction.forces import WithForces

TARGETS = (
    'A command acts as "effort:JOINT", "effort:JOINT:DOF", "effort:ELEMENT" (a spring_damper, joint_spring or motor), '
    '"force:PLACE:AXIS", "moment:PLACE:AXIS" (PLACE "body.interface" or a body, AXIS x, y or z of the world) or '
    '"load:LOAD" (times its factor)'
)


MEASURED_IN = {
    (VALUE, ANGLE): "angle",
    (VALUE, TRANSLATION): "length",
    (VALUE, DISTANCE): "length",
    (RATE, ANGLE): "angular velocity",
    (RATE, SPIN): "angular velocity",
    (RATE, TRANSLATION): "velocity",
    (RATE, DISTANCE): "velocity",
}
"""The dimensions of signals by their sort and the kind of their row."""
RATES = ("rate", "velocity", "angular-velocity", "stretch-rate", "elastic-rate")
"""The measures that are rates of coordinates."""
LOOPS = {
    "continuous": "Give one of them a sample_time, or join them to one law.",
    "sampled": "Let one of them read what the command of the other one does, which is that before the sample (a "
    "measure such as 'effort:NAME.COMMAND'), or join them to one law.",
}
"""What to do about controllers that read each other, by their kind."""
INPUTS = ".inputs"
"""What the name of a controller that passes the inputs of a law on has beyond that of its element."""


@dataclass(frozen=True)
class Added:
    """A controller of a system, and the rows and loads on which its commands act: the name of a force element or load
    for each command, "" for none."""

    controller: Controller
    elements: tuple[str, ...]
    loads: tuple[str, ...]


def added(
    system: "WithForces",
    others: Mapping[str, "Added"],
    name: str,
    law: BoundController | ControlLaw,
    inputs: Mapping[str, Source],
    outputs: Mapping[str, str],
) -> Added:
    """A controller with its connections; see `System.controller`. Force elements and loads for its commands are added
    to the system."""
    bound = law() if isinstance(law, ControlLaw) else law
    if not isinstance(bound, BoundController):
        raise ControllerError(
            f"Controller {name!r}: law is one of flexmb.controllers, or of the decorator flexmb.control_law; "
            f"found {type(law).__name__}."
        )
    if not isinstance(name, str) or name in others or not name or ":" in name:
        raise ControllerError(f"A controller needs a name of its own without a colon; found {name!r}.")
    known, own = bound.law, _told(name)
    for what, given, names in (("input", inputs, known.inputs), ("command", outputs, known.commands)):
        if not isinstance(given, Mapping):
            raise ControllerError(
                f"{own}: {what}s are a dictionary from {what}s of the law ({', '.join(names)}) to what "
                f"they are connected to; found {type(given).__name__}."
            )
        for key in given:
            if key not in names:
                raise ControllerError(f"{own}: {unknown_name(what, key, names)}")
    if missing := [key for key in known.inputs if key not in inputs and key not in known.constants]:
        raise ControllerError(
            f"{own}: its law needs the inputs {', '.join(map(repr, missing))}; connect them to a measure, a function "
            f"of time or a number{known.advice}."
        )
    sources = {key: inputs[key] if key in inputs else known.constants[key] for key in known.inputs}
    _require_reference_of_rate(name, sources)
    sampled = bound.sample_time is not None
    signals = tuple(signal_of(system, f"{own}, input {key!r}", source, sampled) for key, source in sources.items())
    targets = tuple(outputs.get(key, "") for key in known.commands)
    found = [_target(system, others, name, key, target) for key, target in zip(known.commands, targets, strict=True)]
    _require_units(system, name, bound, dict(zip(known.inputs, signals, strict=True)), outputs, found)
    controller = Controller(
        name, ControlCall(known, name), bound.parameters, bound.initial, signals, targets, bound.sample_time
    )
    return Added(controller, tuple(x[0] for x in found), tuple(x[1] for x in found))


def _told(name: str) -> str:
    """What errors call a controller: by its name, or by the force element whose inputs it passes on."""
    element = name.removesuffix(INPUTS)
    return f"Controller {name!r}" if element == name else f"Force {element!r}"


def _target(
    system: "WithForces", others: Mapping[str, Added], controller: str, command: str, target: str
) -> tuple[str, str]:
    """The force element and the load on which a command acts, one of which is empty."""
    what, own = f"Controller {controller!r}, command {command!r}", f"{controller}.{command}"
    if not target:
        return "", ""
    kind, _, rest = str(target).partition(":")
    if kind == "input" and rest == f"{controller.removesuffix(INPUTS)}:{command}":  # of System.force(..., inputs=...)
        return "", ""
    if kind == "load":
        if rest not in system._loads:
            raise ControllerError(f"{what}: {unknown_name('load', rest, system._loads)}")
        _require_unused(others, what, rest)
        _require_factor(system, what, rest)
        return "", rest
    if kind in ("force", "moment"):
        place, _, axis = rest.rpartition(":")
        if axis not in ("x", "y", "z"):
            raise ControllerError(f"{what}: {TARGETS}; found {target!r}.")
        unit = {kind: np.eye(3)["xyz".index(axis)]}
        system.load(own, place_of(system, what, place), **unit)
        return "", own
    if kind != "effort":
        raise ControllerError(f"{what}: {TARGETS}; found {target!r}.")
    name, _, dof = rest.partition(":")
    if name in system._forces and not dof:
        one_row(system, what, name)
        _require_unused(others, what, name)
        return name, ""
    if name not in system._joints:
        raise ControllerError(
            f"{what}: {unknown_name('joint or force element', name, [*system._joints, *system._forces])}"
        )
    joint, pair, _ = system._joints[name]
    row_kind, axis_number = (ANGLE, 0) if joint_dof(name, joint, dof or None) == "rotation" else (TRANSLATION, 2)
    system._require_free(own)
    system._forces[own] = [Row(row_kind, pair, (axis_number, 0))]
    return own, ""


def _require_units(
    system: "WithForces",
    name: str,
    bound: BoundController,
    signals: Mapping[str, Signal],
    outputs: Mapping[str, str],
    found: Sequence[tuple[str, str]],
) -> None:
    """Raise `TableError` where the titles of columns name other units than those of the `signals` and of the elements
    and loads `found` for the commands in the units of the system; without units, another quantity."""
    dimensions = {key: MEASURED_IN.get((signal.sort, signal.kind)) for key, signal in signals.items()}
    for command, (element, load) in zip(bound.law.commands, found, strict=True):
        if element:
            row = system._forces[element][0]
            dimensions[command] = None if row.terms else "moment" if row.kind == ANGLE else "force"
        elif load:
            kind = outputs[command].partition(":")[0]
            dimensions[command] = kind if kind in ("force", "moment") else None
    for key, column in bound.titles.items():
        dimension = dimensions.get(key)
        if dimension is None or (column.scale not in (None, 1.0) and other_quantity(column.title, dimension)):
            continue
        try:
            require_unit(column.title, dimension, system.units, column.source, column.scale)
        except TableError as error:
            where = f"{system.name!r}{named(system.units)}"
            raise TableError(f"Controller {name!r} in {where}, {key!r}: {error}") from None


def _require_reference_of_rate(name: str, sources: Mapping[str, Source]) -> None:
    """Raise `ControllerError` where a rate is to follow the value of a spin-up or of a speed profile, which is an angle
    or a place."""
    measured, reference = str(sources.get("measured")), sources.get("reference")
    if not isinstance(reference, TimeFunction) or measured.partition(":")[0] not in RATES:
        return
    kind, *numbers = reference.formula or (None,)
    if reference.from_speeds:
        raise ControllerError(
            f"Controller {name!r}: 'measured' is the rate {measured!r}, and the value of its reference, a "
            f"{reference.description}, is the place or the angle that it reaches. The reference of a speed is "
            "flexmb.time_functions.piecewise_linear(times, speeds)."
        )
    if kind == SPIN_UP:
        speed, duration = numbers
        raise ControllerError(
            f"Controller {name!r}: 'measured' is the rate {measured!r}, and the value of its reference, "
            f"spin_up(speed={speed:.6g}, duration={duration:.6g}), is the angle that a driver follows, which grows "
            f"without limit. The reference of a speed is smooth_step(0.0, {duration:.6g}, {speed:.6g})."
        )


def _require_factor(system: "WithForces", what: str, name: str) -> None:
    """Raise `ControllerError` for a load whose own factor, which a command multiplies, is zero at all times."""
    function = system._loads[name].function
    kind, *numbers = (system._functions[function].formula if function >= 0 else ()) or (None, 1.0)
    if kind == POLYNOMIAL and not any(numbers):
        raise ControllerError(
            f"{what} multiplies the factor of the load {name!r}, which is zero at all times, so that the load would "
            "never act. Leave out factor= of the load, which is 1 then."
        )


def _require_unused(others: Mapping[str, Added], what: str, name: str) -> None:
    for other in others.values():
        if name in (*other.elements, *other.loads):
            raise ControllerError(f"{what}: a command of {other.controller.name!r} acts on {name!r} already.")


def connected(
    parts: Sequence[Added], forces: dict[str, list[Row]], loads: dict[str, Load], frames: Sequence[FrameForce]
) -> tuple[tuple[Controller, ...], dict[str, list[Row]], dict[str, Load], tuple[FrameForce, ...]]:
    """The controllers in the order of their evaluation, and the rows, loads and force elements between frames with the
    numbers of their commands.

    Sampled controllers come first, because they hold their commands; of either kind, a controller comes after those
    that it reads. Raises `ControllerError` when a controller reads a command that does not exist, and when sampled, or
    continuous, controllers read each other.
    """
    in_order = _sorted(parts)
    numbers: dict[tuple[str, str], int] = {}
    for part in in_order:
        for command in part.controller.call.law.commands:
            numbers[part.controller.name, command] = len(numbers)
    forces, loads = dict(forces), dict(loads)
    for part in in_order:
        for command, element, load in zip(part.controller.call.law.commands, part.elements, part.loads, strict=True):
            number = numbers[part.controller.name, command]
            if element:
                forces[element] = [replace(forces[element][0], command=number)]
            if load:
                loads[load] = replace(loads[load], command=number)
    made = []
    for part in in_order:
        signals = []
        for signal in part.controller.signals:
            if signal.sort == COMMAND:
                _, name, command = (*signal.source.split(":", 2), "", "")[:3]
                signal = replace(signal, index=numbers[name, command])
            signals.append(signal)
        made.append(replace(part.controller, signals=tuple(signals)))
    firsts = [(force, force.call.law.inputs[:1]) for force in frames]
    with_inputs = [replace(f, command=numbers[f"{f.name}{INPUTS}", first[0]]) if first else f for f, first in firsts]
    return tuple(made), forces, loads, tuple(with_inputs)


def _sorted(parts: Sequence[Added]) -> list[Added]:
    by_name = {part.controller.name: part for part in parts}
    reads = {name: _read(part.controller, by_name) for name, part in by_name.items()}
    sampled = [name for name, part in by_name.items() if part.controller.sample_time is not None]
    continuous = [name for name in by_name if name not in sampled]
    through = {name: _sources(name, reads, sampled) - {name} for name in sampled}  # it holds what it reads of its own
    direct = {name: reads[name] - set(sampled) for name in continuous}
    return [by_name[name] for name in (*_after(through, "sampled"), *_after(direct, "continuous"))]


def _read(own: Controller, by_name: Mapping[str, Added]) -> set[str]:
    """The names of the controllers whose commands a controller reads."""
    found: set[str] = set()
    for signal in own.signals:
        if signal.sort == COMMAND:
            _, name, command = (*signal.source.split(":", 2), "", "")[:3]
            what = f"{_told(own.name)} reads {signal.source!r}"
            if name not in by_name:
                raise ControllerError(f"{what}: {unknown_name('controller', name, by_name)}")
            commands = by_name[name].controller.call.law.commands
            if command not in commands:
                raise ControllerError(f"{what}: {unknown_name('command', command, commands)}")
            found.add(name)
    return found


def _sources(name: str, reads: Mapping[str, set[str]], sampled: Sequence[str]) -> set[str]:
    """The sampled controllers whose commands a controller reads, also through continuous controllers."""
    found: set[str] = set()
    left = [name]
    while left:
        fresh = reads[left.pop()] - found
        found |= fresh
        left += fresh.difference(sampled)
    return found.intersection(sampled)


def _after(reads: Mapping[str, set[str]], kind: str) -> list[str]:
    """The names of controllers of one kind, each after those that it reads. Raises `ControllerError` for a loop."""
    done: list[str] = []
    while left := [name for name in reads if name not in done]:
        ready = [name for name in left if not reads[name] & set(left)]
        if not ready:
            raise ControllerError(
                f"The {kind} controllers {', '.join(map(repr, sorted(left)))} read each other's commands at the same "
                f"instant: an algebraic loop. {LOOPS[kind]}"
            )
        done += ready
    return done
