"""Controllers over a stored motion: their inputs, commands and states at the stored times.

Inputs are measures of the motion, evaluated independently of the compiled loop. Commands of continuous controllers are
what their laws return for these inputs and the stored states; sampled controllers hold theirs as states.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import ControllerError, MeasureError
from flexmb.kernels.base.data import ANGLE
from flexmb.kernels.equations.controllers import COMMAND, CONSTANT, FUNCTION
from flexmb.mechanism.control.controller import Controller, Signal
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.measure import column
from flexmb.results.table import Column

KEPT = "_controllers_over_time"
"""Entry of a motion that keeps what its controllers did, because several measures ask for it."""


@shown
@dataclass(frozen=True, eq=False)
class ControllerHistory:
    """What a controller did over the stored times `t` (nt,): its `inputs`, `commands` and `states`, each (nt,) by name.

    Inputs are the measures at the stored times; a sampled controller has read them at its samples only, and holds its
    commands in between.
    """

    name: str
    t: Float[np.ndarray, "nt"]
    inputs: Mapping[str, Column]
    commands: Mapping[str, Column]
    states: Mapping[str, Column]

    def columns(self) -> dict[str, Column]:
        """Time and all inputs, commands and states as named columns (nt,)."""
        return {
            "t": Column(self.t, "time"),
            **{f"input {name}": x for name, x in self.inputs.items()},
            **{f"command {name}": x for name, x in self.commands.items()},
            **{f"state {name}": x for name, x in self.states.items()},
        }

    def __str__(self) -> str:
        lines = [f"controller {self.name!r}: {'smallest':>24}{'largest':>14}{'at the end':>14}"]
        for name, (x, _) in self.columns().items():
            if name != "t":
                lines.append(f"  {name:34.34}{x.min():14.6g}{x.max():14.6g}{x[-1]:14.6g}")
        return "\n".join(lines)


def controller_history(result: Any, name: str) -> ControllerHistory:
    """What the controller called `name` did in a result.

    Raises `ControllerError` when there is no such controller, or the motion does not have its states, and `LawError`
    when its law fails.
    """
    kept: dict[str, ControllerHistory] = result.__dict__.setdefault(KEPT, {})
    if name not in kept:
        kept[name] = _history(result, result.mechanism.controller(name))
    return kept[name]


def _history(result: Any, own: Controller) -> ControllerHistory:
    mechanism, t, law = result.mechanism, np.asarray(result.t), own.call.law
    z = _states(result, own)
    inputs = {key: _signal(result, x) for key, x in zip(law.inputs, own.signals, strict=True)}
    nz, nu = len(law.states), len(law.commands)
    if own.sample_time is not None:
        commands = z[:, nz:]
    else:
        y = np.column_stack([x.values for x in inputs.values()]) if inputs else np.zeros((len(t), 0))
        commands, parameters = np.zeros((len(t), nu)), np.array(own.parameters)
        own.call.forget()
        for k, time in enumerate(t):
            out = np.zeros(nu + nz)
            own.call.evaluate(float(time), y[k], np.array(z[k]), parameters, out)
            if own.call.failure is not None:
                raise own.call.failure
            commands[k] = out[:nu]
    return ControllerHistory(
        own.name,
        t,
        inputs,
        {
            key: Column(commands[:, k], _dimension(mechanism, own, key, target))
            for k, (key, target) in enumerate(zip(law.commands, own.targets, strict=True))
        },
        {key: Column(z[:, k], "1") for k, key in enumerate(law.states)},
    )


def _states(result: Any, own: Controller) -> np.ndarray:
    """The states (nt, nz) of a controller, with the commands that a sampled one holds."""
    place, states = result.mechanism.states_of(own.name), np.asarray(result.element_states)
    count = place.stop - place.start
    if count and not states.size:
        raise ControllerError(f"The motion does not have the states of controller {own.name!r}; simulated motions do.")
    return states[:, place] if count else np.zeros((len(result.t), 0))


def _signal(result: Any, signal: Signal) -> Column:
    t = np.asarray(result.t)
    if signal.sort == CONSTANT:
        return Column(np.full(len(t), signal.given), "1")
    if signal.sort == FUNCTION:
        return Column(result.mechanism.functions[signal.index].over(t)[:, 0], "1")
    if signal.sort == COMMAND:
        _, name, command = signal.source.split(":", 2)
        return _command(result, result.mechanism.controller(name), command)
    return column(signal.source, result)


def _command(result: Any, own: Controller, command: str) -> Column:
    """A command of a controller; a sampled one holds it, whatever it reads, also its own commands and efforts."""
    if own.sample_time is None:
        return controller_history(result, own.name).commands[command]
    law, held = own.call.law, _states(result, own)
    k = law.commands.index(command)
    return Column(held[:, len(law.states) + k], _dimension(result.mechanism, own, command, own.targets[k]))


def _dimension(mechanism: Mechanism, own: Controller, command: str, target: str) -> str:
    kind, _, rest = target.partition(":")
    if kind in ("force", "moment"):
        return kind
    if kind != "effort":
        return "1"
    element = rest if rest in mechanism.force_elements else f"{own.name}.{command}"
    return "moment" if mechanism.rows[mechanism.force_elements[element][0]].kind == ANGLE else "force"


def command_over(motion: Any, index: int) -> Float[np.ndarray, "nt"]:
    """The command (nt,) with this number among those of all controllers of a mechanism."""
    for controller in motion.mechanism.controllers:
        commands = controller.call.law.commands
        if index < len(commands):
            return _command(motion, controller, commands[index]).values
        index -= len(commands)
    raise ControllerError(f"{motion.mechanism.name!r} has no command number {index}.")


def is_held(mechanism: Mechanism, index: int) -> bool:
    """Whether a command is that of a sampled controller, constant between samples; -1 stands for no command."""
    held = [c.sample_time is not None for c in mechanism.controllers for _ in c.call.law.commands]
    return index >= 0 and held[index]


def signal_column(result: Any, kind: str, owner: str, name: str) -> Column:
    """The "command", "input" or "state" of a controller, or a "state" of a force element. Raises `MeasureError` when
    it does not have it."""
    mechanism, title = result.mechanism, "controller"
    force = next((own for own in mechanism.frame_forces if own.name == owner and kind == "state"), None)
    if force is None:
        names = [own.name for own in mechanism.controllers]
        if kind == "state" and owner not in names:
            names += [own.name for own in mechanism.frame_forces if own.initial]
            raise MeasureError(unknown_name("controller or force element with states", owner, names))
        found = getattr(controller_history(result, owner), f"{kind}s")
    else:
        title, place, states = "force element", mechanism.states_of(owner), np.asarray(result.element_states)
        if force.initial and not states.size:
            raise MeasureError(f"The motion does not have the states of {owner!r}; simulated motions do.")
        own = states[:, place] if force.initial else states[:, :0]
        found = {key: Column(own[:, k], "1") for k, key in enumerate(force.call.law.states)}
    if name not in found:
        raise MeasureError(unknown_name(f"{kind} of {title} {owner!r}", name, found))
    return found[name]
