"""Programs of formulas as Python functions: of arrays, and compiled by numba.

The functions are built from the steps as syntax trees. No text is evaluated.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numba
import numpy as np

from flexmb.forces.scalar.program import COMPARISONS, FUNCTIONS, Program, Step
from flexmb.kernels.base.memory import number_at

_OPERATORS: dict[str, ast.operator] = {
    "+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div(), "**": ast.Pow(), "power": ast.Pow(),
}  # fmt: skip
_COMPARE: dict[str, ast.cmpop] = {
    "<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(), ">=": ast.GtE(), "==": ast.Eq(), "!=": ast.NotEq(),
}  # fmt: skip
_WORDS = {"and": "both", "or": "either", "not": "negated"}
_ARRAYS: dict[str, Any] = {
    "f_known": lambda c, a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, c),
    "f_select": lambda c, a, b: np.where(np.isnan(c), np.nan, np.where(c == 1.0, a, b)),
    "f_both": lambda a, b: np.where(a == 1.0, b, a), "f_either": lambda a, b: np.where(a == 0.0, b, a),
    "f_negated": lambda a: 1.0 - a,
    "f_min": np.minimum, "f_max": np.maximum, "f_abs": np.abs, "f_sign": np.sign, "f_asin": np.arcsin,
    "f_acos": np.arccos, "f_atan": np.arctan, "f_atan2": np.arctan2,
}  # fmt: skip
_ARRAYS |= {f"f_{name}": getattr(np, name) for name in FUNCTIONS if f"f_{name}" not in _ARRAYS}
_SHORT: dict[str, Callable[..., Any]] = {
    "f_known": lambda c, a, b: (1.0 if c else 0.0) if a == a and b == b else math.nan,
    "f_select": lambda c, a, b: a if c == 1.0 else (b if c == 0.0 else math.nan),
    "f_both": lambda a, b: b if a == 1.0 else a,
    "f_either": lambda a, b: b if a == 0.0 else a,
    "f_negated": lambda a: 1.0 - a,
    "f_min": lambda a, b: a if a <= b or a != a else b,
    "f_max": lambda a, b: a if a >= b or a != a else b,
    "f_abs": lambda a: math.fabs(a),
    "f_sign": lambda a: 1.0 if a > 0.0 else (-1.0 if a < 0.0 else 0.0 * a),
}
_COMPILED: dict[str, Any] = {name: numba.njit(function) for name, function in _SHORT.items()}
_COMPILED |= {f"f_{name}": getattr(math, name) for name in FUNCTIONS if f"f_{name}" not in _COMPILED}
_ADDRESS, _READ = "numbers", "number_at"
"""The argument with the address of parameters, and the function that reads them. Names of formulas are never looked up,
so that parameters may have these names too."""


def array_function(program: Program, names: Sequence[str], values: Mapping[str, float]) -> Callable[..., Any]:
    """The function of arrays, or numbers, called `names` that evaluates a program, with the `values` of parameters.

    Where the formula is not defined (division by zero, roots of negative numbers) the function is infinite or NaN.
    """
    function = _function(program, names, values, _ARRAYS)

    def quiet(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(a, dtype=float) for a in arguments))

    return quiet


def compiled_function(program: Program, names: Sequence[str], values: Mapping[str, float]) -> Any:
    """The function of numbers called `names` that evaluates a program, compiled by numba at its first call."""
    return numba.njit(error_model="numpy")(_function(program, names, values, _COMPILED))


def shared_function(program: Program, names: Sequence[str], values: Mapping[str, float]) -> tuple[Any, Sequence[float]]:
    """A compiled function of (address, *names) that reads the values of parameters from the array at an address, and
    these values. Formulas that differ in their values only share it.

    Exponents are not read but constants of the function, since powers with a known exponent are much faster.
    """
    within: list[set[str]] = []
    for step in program.steps:
        own = {str(step.value)} if step.operation == "name" else set()
        within.append(own.union(*(within[i] for i in step.arguments)))
    fixed = {name for step in program.steps if step.operation == "**" for name in within[step.arguments[1]]}
    read = tuple(name for name in values if name not in fixed)
    constants = tuple((name, value) for name, value in values.items() if name in fixed)
    return _shared(program, tuple(names), read, constants), [values[name] for name in read]


@lru_cache(maxsize=256)
def _shared(
    program: Program, names: tuple[str, ...], read: tuple[str, ...], constants: tuple[tuple[str, float], ...]
) -> Any:
    places = {name: k for k, name in enumerate(read)}
    return numba.njit(error_model="numpy")(
        _function(program, names, dict(constants), {**_COMPILED, _READ: number_at}, places)
    )


def _function(
    program: Program,
    names: Sequence[str],
    values: Mapping[str, float],
    space: Mapping[str, Any],
    places: Mapping[str, int] | None = None,
) -> Callable[..., Any]:
    """The function that evaluates the steps one after the other; with `places` of parameters, its first argument is the
    address of the array in which they are."""
    given = [*([] if places is None else [_ADDRESS]), *names]
    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    body: list[ast.stmt] = [
        ast.Assign([ast.Name(f"s{k}", ast.Store())], _node(step, names, values, places or {}))
        for k, step in enumerate(program.steps)
    ]
    results: list[ast.expr] = [_step(k) for k in program.outputs]
    body.append(ast.Return(results[0] if len(results) == 1 else ast.Tuple(results, ast.Load())))
    made = ast.FunctionDef(name="formula", args=arguments, body=body, decorator_list=[])
    tree = ast.fix_missing_locations(ast.Module([made], []))
    found: dict[str, Any] = dict(space)
    exec(compile(tree, "<formula>", "exec"), found)
    return found["formula"]


def _step(k: int) -> ast.expr:
    return ast.Name(f"s{k}", ast.Load())


def _node(step: Step, names: Sequence[str], values: Mapping[str, float], places: Mapping[str, int]) -> ast.expr:
    """The syntax of one step."""
    inner = [_step(k) for k in step.arguments]
    kind = step.operation
    if kind == "number":
        return ast.Constant(step.value)
    if kind == "name":
        name = str(step.value)
        if name in places:
            return ast.Call(
                ast.Name(_READ, ast.Load()), [ast.Name(_ADDRESS, ast.Load()), ast.Constant(places[name])], []
            )
        return ast.Name(name, ast.Load()) if name in names else ast.Constant(float(values[name]))
    if kind == "power":
        return ast.BinOp(inner[0], ast.Pow(), ast.Constant(step.value))
    if kind in _OPERATORS:
        return ast.BinOp(inner[0], _OPERATORS[kind], inner[1])
    if kind in COMPARISONS:
        compared = ast.Compare(inner[0], [_COMPARE[kind]], [inner[1]])
        return ast.Call(ast.Name("f_known", ast.Load()), [compared, *inner], [])
    if kind == "negative":
        return ast.UnaryOp(ast.USub(), inner[0])
    return ast.Call(ast.Name(f"f_{_WORDS.get(kind, kind)}", ast.Load()), inner, [])
