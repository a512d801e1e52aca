"""The values on which a function depends besides its arguments: closure, defaults, variables of its module."""

from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from flexmb.study.identity import content_of, is_installed

DEEPEST = 12
"""Largest depth to which objects within objects are examined."""


def held_by(value: Any, depth: int = 0) -> Any:
    """A representation of a value that equals another one only if the two values are certainly the same.

    Functions are represented with their closures, default arguments, variables of their modules, and those attributes
    of classes and modules of the user that their code names.
    """
    plain = bool | int | float | complex | str | bytes | type | ModuleType | BuiltinFunctionType | np.ufunc
    if value is None or isinstance(value, plain):
        return value
    if depth > DEEPEST:
        return _Itself(value)
    if isinstance(value, np.ndarray | np.generic):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple | set | frozenset):
        return type(value), tuple(held_by(x, depth + 1) for x in value)
    if isinstance(value, Mapping):
        return type(value), tuple((held_by(k, depth + 1), held_by(x, depth + 1)) for k, x in value.items())
    if isinstance(value, partial):
        return "partial", held_by((value.func, value.args, value.keywords), depth + 1)
    if isinstance(value, MethodType):
        return "method", held_by((value.__self__, value.__func__), depth + 1)
    function = getattr(value, "py_func", value)  # for functions compiled by numba
    if isinstance(function, FunctionType):
        return _of_function(function, depth)
    if hasattr(value, "__dict__") and vars(value):
        return type(value), held_by(vars(value), depth + 1)
    return _Itself(value)


def _of_function(function: FunctionType, depth: int) -> Any:
    code = function.__code__
    names = _names(code)
    cells = [content_of(cell) for cell in function.__closure__ or ()]
    variables = {name: function.__globals__[name] for name in names if name in function.__globals__}
    variables = {name: x for name, x in variables.items() if x is not function}
    owners = enumerate((*cells, *variables.values()))
    inside = {f"{k} {name}": x for k, owner in owners for name, x in _attributes(owner, names).items()}
    given = function.__defaults__, function.__kwdefaults__
    return "function", code, held_by((cells, *given, variables, inside), depth + 1)


def _attributes(value: Any, names: list[str]) -> dict[str, Any]:
    """The attributes of a class or a module of the user that code with these `names` may read."""
    if not isinstance(value, type | ModuleType):
        return {}
    if is_installed(value.__module__ if isinstance(value, type) else value.__name__):
        return {}
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _names(code: Any) -> list[str]:
    """Names of variables in the code, including that of inner functions."""
    inside = [name for constant in code.co_consts if hasattr(constant, "co_names") for name in _names(constant)]
    return [*code.co_names, *inside]


class _Itself:
    """An object that cannot be examined; it equals only itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]
