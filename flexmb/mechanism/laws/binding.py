"""Values of the parameters and initial states of a law, and the name by which a law travels to other processes."""

import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fem.errors import unknown_name
from flexmb.errors import LawError


def finite(value: Any, what: str) -> float:
    """A finite number. Raises `LawError`, which names `what` must be one, otherwise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, bool) or not np.isfinite(number):
        raise LawError(f"{what[0].upper()}{what[1:]} must be a finite number; found {value!r}.")
    return number


def numbers_of(
    law: str, parameters: Sequence[str], defaults: Mapping[str, float], values: Mapping[str, Any]
) -> dict[str, float]:
    """The values of the `parameters` of a law, in their order. Raises `LawError` when one is missing, unknown or not a
    finite number."""
    for name in values:
        if name not in parameters:
            raise LawError(unknown_name(f"parameter of the law {law!r}", name, parameters))
    given = {**defaults, **values}
    if missing := [name for name in parameters if name not in given]:
        raise LawError(f"The law {law!r} needs values of {', '.join(map(repr, missing))}.")
    return {name: finite(given[name], f"the parameter {name!r} of the law {law!r}") for name in parameters}


def signature_of(parameters: Sequence[str], defaults: Mapping[str, float]) -> inspect.Signature:
    """The signature of the call that binds a law, with its parameters by name."""
    names = {name: defaults.get(name, inspect.Parameter.empty) for name in parameters} | {"initial": None}
    named = [(name, value) for name, value in names.items() if name.isidentifier()]
    return inspect.Signature([inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v) for k, v in named])


def initial_of(
    law: str, states: Sequence[str], initial: Sequence[float] | Mapping[str, float] | None
) -> tuple[float, ...]:
    """The initial values of the `states` of a law, zeros by default. Raises `LawError` when a name is unknown, their
    number is another one, or a value is not a finite number."""
    start: dict[str, Any] = dict.fromkeys(states, 0.0)
    if isinstance(initial, Mapping):
        for name in initial:
            if name not in start:
                raise LawError(unknown_name(f"state of the law {law!r}", name, states))
        start |= dict(initial)
    elif initial is not None:
        if not np.iterable(initial):
            raise LawError(
                f"The law {law!r} has {len(start)} states; found the initial values {initial!r}, which are no list."
            )
        values = list(initial)
        if len(values) != len(start):
            raise LawError(f"The law {law!r} has {len(start)} states; found {len(values)} initial values.")
        start = dict(zip(states, values, strict=True))
    return tuple(finite(x, f"the initial value of {n!r} of the law {law!r}") for n, x in start.items())


def names_of(names: Sequence[str] | Mapping[str, float | None]) -> tuple[str, ...]:
    """The names of entries of a law; a text, as in `states=("force")`, is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def state_names(states: int | Sequence[str]) -> tuple[str, ...]:
    """The names of the states of a law, from names or from their number."""
    return tuple(f"state {k + 1}" for k in range(states)) if isinstance(states, int) else names_of(states)


def require_different(law: str, named: Mapping[str, Sequence[str]]) -> None:
    """Raise `LawError` when a name occurs twice among the states, the parameters or other entries of a law."""
    for what, entries in named.items():
        if len(set(entries)) != len(entries):
            raise LawError(f"The {what} of the law {law!r} must have different names; found {tuple(entries)}.")


def given(names: Sequence[str] | Mapping[str, float | None]) -> dict[str, float]:
    """The default values that a mapping of names has."""
    return {k: v for k, v in names.items() if v is not None} if isinstance(names, Mapping) else {}


def home_of(law: Any) -> tuple[str, str] | None:
    """Module and name under which a law, made by a decorator, is found in the place of its function; None if it is not
    found there. Laws of modules travel by these."""
    function = getattr(law.function, "py_func", law.function)
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    return (module, name) if module and law_named(module, name) is law else None


def law_named(module: str, name: str) -> Any:
    """The object of this name in a module; None if there is none."""
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
