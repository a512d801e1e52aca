"""Formulas as lists of elementary steps, and their derivatives.

A `Step` is a number, a name, or an operation on earlier steps, which it refers to by index. Equal steps occur once, so
that the length of a program and of its derivatives grows in proportion to the length of the formula. Programs are
plain records: `flexmb.forces.scalar.functions` converts them to Python functions, and any other language has a line for
each step.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FUNCTIONS: dict[str, int] = {
    "abs": 1, "sign": 1, "sqrt": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1,
    "sinh": 1, "cosh": 1, "tanh": 1, "atan2": 2, "min": 2, "max": 2,
}  # fmt: skip
"""Functions of numbers and their numbers of arguments; `min` and `max` of more are nested."""
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
CONDITIONS = (*COMPARISONS, "and", "or", "not")
"""Operations whose value is true or false; `select(condition, a, b)` chooses between numbers."""
ARITHMETIC: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: math.pow(a, b),
    "negative": lambda a: -a,
    "abs": abs,
    "sign": lambda a: float((a > 0) - (a < 0)),
    "min": min,
    "max": max,
}
ARITHMETIC.update({name: getattr(math, name) for name in FUNCTIONS if hasattr(math, name)})
"""Operations on numbers, by which constants are evaluated."""


@dataclass(frozen=True)
class Step:
    """An operation on earlier steps.

    `operation` is "number" or "name" (with the `value`), "power" (of its argument, with the whole exponent as `value`),
    "+", "-", "*", "/", "**", "negative", a function (`FUNCTIONS`), a condition (`CONDITIONS`) or "select".
    """

    operation: str
    arguments: tuple[int, ...] = ()
    value: float | int | str | None = None


@dataclass(frozen=True)
class Program:
    """Steps in the order of their evaluation, and the indices of those that are the results."""

    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


class Formula:
    """A program under construction: adds steps, evaluates those of numbers alone, and derives.

    Evaluation of numbers raises `ArithmeticError` or `ValueError` if the result is not a finite number.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._known: dict[Step, int] = {}
        self._slopes: dict[tuple[int, str], int] = {}

    def _add(self, step: Step) -> int:
        if step not in self._known:
            self._known[step] = len(self.steps)
            self.steps.append(step)
        return self._known[step]

    def number(self, value: float) -> int:
        """A constant."""
        if not math.isfinite(value):
            raise OverflowError("not a finite number")
        return self._add(Step("number", (), float(value)))

    def name(self, name: str) -> int:
        """A variable or parameter."""
        return self._add(Step("name", (), name))

    def constant(self, i: int) -> float | None:
        """The value of a step that is a number, else None."""
        step = self.steps[i]
        return float(step.value) if step.operation == "number" and step.value is not None else None

    def power(self, a: int, exponent: int) -> int:
        """A step to a whole power."""
        if exponent == 0:
            return self.number(1.0)
        if exponent == 1:
            return a
        base = self.constant(a)
        return self.number(base**exponent) if base is not None else self._add(Step("power", (a,), exponent))

    def put(self, operation: str, *arguments: int) -> int:
        """An operation on steps, simplified where numbers allow it."""
        numbers = [self.constant(i) for i in arguments]
        if operation in ARITHMETIC and None not in numbers:
            return self.number(ARITHMETIC[operation](*numbers))
        if simple := self._simplified(operation, arguments, numbers):
            return simple[0]
        return self._add(Step(operation, arguments))

    def _simplified(
        self, operation: str, arguments: tuple[int, ...], numbers: Sequence[float | None]
    ) -> tuple[int, ...]:
        """The step to which an operation with a zero or a one reduces, or nothing."""
        if operation in ("+", "-", "*", "/"):
            (a, b), (x, y) = arguments, numbers
            if operation == "+" and x == 0:
                return (b,)
            if operation == "-" and x == 0:
                return (self.put("negative", b),)
            if operation in "+-" and y == 0:
                return (a,)
            if operation == "*" and (x == 1 or y == 1):
                return (b if x == 1 else a,)
            if (operation == "*" and 0 in (x, y)) or (operation == "/" and x == 0):
                return (self.number(0.0),)
            if operation == "/" and y == 1:
                return (a,)
        if operation == "select" and arguments[1] == arguments[2]:
            return (arguments[1],)
        return ()

    def slope(self, i: int, name: str) -> int:
        """The derivative of a step with respect to a variable, on which no exponent depends.

        At a kink (of `abs`, `min`, `max`, a condition) it is the slope of one of the sides.
        """
        key = (i, name)
        if key not in self._slopes:
            self._slopes[key] = self._derived(self.steps[i], i, name)
        return self._slopes[key]

    def _derived(self, step: Step, i: int, name: str) -> int:
        if step.operation in ("number", "name"):
            return self.number(1.0 if step.operation == "name" and step.value == name else 0.0)
        if step.operation in CONDITIONS or step.operation == "sign":
            return self.number(0.0)
        numbers = step.arguments[1:] if step.operation == "select" else step.arguments
        inner = [self.slope(k, name) for k in numbers]
        if all(self.constant(d) == 0 for d in inner):
            return self.number(0.0)
        return self._outer(step, i, inner)

    def _outer(self, step: Step, i: int, inner: list[int]) -> int:
        """The derivative of an operation, for the derivatives of its arguments."""
        put, number = self.put, self.number
        a, d = step.arguments[0], inner[0]
        match step.operation:
            case "+" | "-" | "negative":
                return put(step.operation, *inner)
            case "*":
                return put("+", put("*", d, step.arguments[1]), put("*", a, inner[1]))
            case "/":
                b = step.arguments[1]
                return put("/", put("-", d, put("*", i, inner[1])), b)
            case "power":
                n = int(step.value or 0)
                return put("*", put("*", number(n), self.power(a, n - 1)), d)
            case "**":  # the exponent depends on parameters alone
                b = step.arguments[1]
                return put("*", put("*", b, put("**", a, put("-", b, number(1.0)))), d)
            case "select":
                return put("select", a, *inner)
            case "min" | "max":
                b = step.arguments[1]
                return put("select", put("<=" if step.operation == "min" else ">=", a, b), *inner)
            case "atan2":
                b = step.arguments[1]
                square = put("+", self.power(a, 2), self.power(b, 2))
                return put("/", put("-", put("*", b, d), put("*", a, inner[1])), square)
        return put("*", self._slope_of_function(step.operation, a, i), d)

    def _slope_of_function(self, function: str, a: int, value: int) -> int:
        """The derivative of a function of one argument `a`, whose `value` is a step."""
        put, one = self.put, self.number(1.0)
        match function:
            case "abs":
                return put("sign", a)
            case "sqrt":
                return put("/", self.number(0.5), value)
            case "exp":
                return value
            case "log":
                return put("/", one, a)
            case "sin":
                return put("cos", a)
            case "cos":
                return put("negative", put("sin", a))
            case "tan":
                return put("+", one, self.power(value, 2))
            case "asin" | "acos":
                slope = put("/", one, put("sqrt", put("-", one, self.power(a, 2))))
                return slope if function == "asin" else put("negative", slope)
            case "atan":
                return put("/", one, put("+", one, self.power(a, 2)))
            case "sinh":
                return put("cosh", a)
            case "cosh":
                return put("sinh", a)
            case "tanh":
                return put("-", one, self.power(value, 2))
        raise LookupError(f"the function {function!r} has no derivative")

    def program(self, *outputs: int) -> Program:
        """The steps that the `outputs` need, as a record."""
        needed = set[int]()
        waiting = list(outputs)
        while waiting:
            i = waiting.pop()
            if i not in needed:
                needed.add(i)
                waiting += self.steps[i].arguments
        place = {i: k for k, i in enumerate(sorted(needed))}
        steps = [self.steps[i] for i in sorted(needed)]
        renumbered = (Step(s.operation, tuple(place[k] for k in s.arguments), s.value) for s in steps)
        return Program(tuple(renumbered), tuple(place[i] for i in outputs))
