"""Controllers in result files: laws of the library as they are, others by what they returned at the stored times."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from flexmb.controllers import FUNCTIONS
from flexmb.controllers.fit import require_fit
from flexmb.files.storage.sound import require, require_numbers
from flexmb.files.storage.tree import Tree
from flexmb.mechanism.control.controller import Controller, Signal
from flexmb.mechanism.control.law import ControlCall, ControlLaw
from flexmb.results.result import Result

FIELDS = ("source", "sort", "kind", "markers", "axes", "given", "body", "index")
ROUNDED = 1e-12
"""Difference of stored inputs, relative to the largest, that rounding may cause."""


def control_tree(result: Result, controller: Controller) -> Tree:
    """A controller of a result as a tree, with its inputs and commands at the stored times."""
    law, history = controller.call.law, result.controller(controller.name)
    none = np.zeros((len(result.t), 0))
    return {
        "name": controller.name,
        "law": law.name,
        "library": law.name if law.function is FUNCTIONS.get(law.name) else "",
        **{key: list(getattr(law, key)) for key in ("inputs", "commands", "states", "parameters")},
        "constants": list(law.constants),
        "values": np.array(controller.parameters),
        "initial": np.array(controller.begin),
        "sample_time": np.nan if controller.sample_time is None else controller.sample_time,
        "targets": list(controller.targets),
        "signals": [{key: getattr(signal, key) for key in FIELDS} for signal in controller.signals],
        "seen": np.column_stack([none, *(x.values for x in history.inputs.values())]),
        "answers": np.column_stack([none, *(x.values for x in history.commands.values())]),
    }


def controller_from_tree(tree: Tree, t: np.ndarray) -> Controller:
    """The controller of a tree; its law is that of the library, or one that knows its commands at the times `t` (nt,).

    Raises `UnsoundError` or `LookupError` when the tree is not sound.
    """
    name = str(tree["name"])
    inputs, commands, states, parameters = (
        tuple(str(x) for x in tree[key]) for key in ("inputs", "commands", "states", "parameters")
    )
    for key, count in (("values", len(parameters)), ("initial", len(states))):
        require_numbers(tree[key], (count,), f"the {key} of controller {name!r}")
    require_numbers(seen := tree["seen"], (len(t), len(inputs)), f"the inputs of controller {name!r}")
    require_numbers(answers := tree["answers"], (len(t), len(commands)), f"the commands of controller {name!r}")
    sample_time = float(tree["sample_time"])
    require(np.isnan(sample_time) or 0 < sample_time < np.inf, f"the sample time of {name!r} is {sample_time}")
    signals = tuple(_signal(x) for x in tree["signals"])
    require(len(signals) == len(inputs), f"controller {name!r} has {len(signals)} signals for {len(inputs)} inputs")
    targets = tuple(str(x) for x in tree["targets"])
    require(
        len(targets) == len(commands), f"controller {name!r} has {len(targets)} targets for {len(commands)} commands"
    )
    for names in (inputs, commands, states, parameters):
        require(len({*names}) == len(names), f"the law of controller {name!r} has equal names: {names}")
    library = str(tree["library"])
    law = ControlLaw(
        FUNCTIONS[library] if library else _stored_commands(np.asarray(t), seen, answers),
        str(tree["law"]),
        inputs,
        commands,
        states,
        parameters,
        {str(x): 0.0 for x in tree["constants"]},
    )
    if library:
        require_fit(library, law, tree["values"])
    values = dict(zip(parameters, tree["values"].tolist(), strict=True))
    bound = law(initial=tree["initial"].tolist(), sample_time=None if np.isnan(sample_time) else sample_time, **values)
    return Controller(
        name, ControlCall(law, name), bound.parameters, bound.initial, signals, targets, bound.sample_time
    )


def _signal(tree: Tree) -> Signal:
    (a, b), (i, j) = (tuple(index(x) for x in tree[key]) for key in ("markers", "axes"))
    sort, kind, body, number = (index(tree[key]) for key in ("sort", "kind", "body", "index"))
    return Signal(str(tree["source"]), sort, kind, (a, b), (i, j), float(tree["given"]), body, number)


def _stored_commands(times: np.ndarray, seen: np.ndarray, answers: np.ndarray) -> Callable[..., None]:
    """A law that knows its commands at the stored times and inputs, and refuses all others."""
    scale = ROUNDED * np.abs(seen).max(axis=0, initial=0.0)

    def law(t: float, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
        index = min(int(np.searchsorted(times, t)), len(times) - 1)
        if times[index] != t or (np.abs(inputs - seen[index]) > scale).any():
            raise NotImplementedError(
                f"the function of this law is not in the file, which has its commands at {len(times)} stored times "
                "only; build the mechanism again to simulate it"
            )
        commands[:] = answers[index]

    return law
