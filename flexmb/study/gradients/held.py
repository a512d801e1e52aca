"""What a function depends on besides its arguments: values it holds, defaults of its arguments, variables of its module."""

from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

DEEPEST = 12
"""Levels of objects within objects that are looked into."""


def held_by(value: Any, depth: int = 0) -> Any:
    """A picture of a value that equals another one only if the two are known to be the same; of functions, with all they hold, by closure, default arguments and variables of their module."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | type | ModuleType | BuiltinFunctionType | np.ufunc):  # fmt: skip
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
    function = getattr(value, "py_func", value)  # of a function compiled with numba
    if isinstance(function, FunctionType):
        return _of_function(function, depth)
    if hasattr(value, "__dict__") and vars(value):
        return type(value), held_by(vars(value), depth + 1)
    return _Itself(value)


def _of_function(function: FunctionType, depth: int) -> Any:
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    variables = {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
    variables = {name: x for name, x in variables.items() if x is not function}
    return "function", code, held_by((cells, function.__defaults__, function.__kwdefaults__, variables), depth + 1)


def _names(code: Any) -> list[str]:
    """Names of variables in the code, that of functions inside included."""
    inside = [name for constant in code.co_consts if hasattr(constant, "co_names") for name in _names(constant)]
    return [*code.co_names, *inside]


class _Itself:
    """Something that cannot be looked into: equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]
