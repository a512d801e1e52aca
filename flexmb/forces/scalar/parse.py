"""Texts of formulas, read into programs: Python's syntax with a fixed list of operations, functions and names."""

import ast
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from flexmb.errors import ExpressionError
from flexmb.forces.scalar.program import FUNCTIONS, Formula

LONGEST, DEEPEST, HIGHEST = 2000, 100, 64
"""Largest number of characters of a formula, of nested operations, and size of a constant exponent."""
CONSTANTS = {"pi": 3.141592653589793}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_SORTS = {
    ast.Attribute: "attribute access", ast.Subscript: "an index", ast.Lambda: "a function definition",
    ast.ListComp: "a comprehension", ast.NamedExpr: "an assignment", ast.JoinedStr: "a text", ast.List: "a list",
    ast.Tuple: "a comma", ast.Dict: "a dictionary", ast.Set: "a set", ast.GeneratorExp: "a comprehension",
    ast.Starred: "a starred argument", ast.BitXor: "^, which is written ** for powers", ast.FloorDiv: "//",
    ast.Mod: "%", ast.MatMult: "@",
}  # fmt: skip


class Reader:
    """Reads the text of a formula into `formula`; `names` are the variables, `parameters` the other names.

    All methods raise `ExpressionError`, which states the column, what was expected and what was found.
    """

    def __init__(self, text: str, names: Iterable[str], parameters: Iterable[str]) -> None:
        self.formula = Formula()
        self.used: set[str] = set()
        self._names, self._parameters = tuple(names), tuple(parameters)
        self._text = text
        self._line = " ".join(text.splitlines()) if isinstance(text, str) else ""
        self._start = len(self._line) - len(self._line.lstrip())

    def read(self) -> int:
        """The step that is the value of the text."""
        if not isinstance(self._text, str) or not self._line.strip():
            found = "nothing" if isinstance(self._text, str) else f"{type(self._text).__name__} {self._text!r}"
            raise ExpressionError(f"Expected the text of an expression such as '-k*x'; found {found}.")
        if len(self._line) > LONGEST:
            raise ExpressionError(
                f"Expected an expression of at most {LONGEST} characters; found {len(self._line)}: "
                f"{self._line[:40]!r}..."
            )
        try:
            tree = ast.parse(self._line.strip(), mode="eval").body
        except SyntaxError as error:
            end = len(self._line.strip()) + 1
            column = self._start + (min(error.offset, end) if error.offset else end)
            self._fail_at(column, f"expected an expression; found a syntax error ({error.msg})")
        except (RecursionError, MemoryError):
            self._fail_at(1, f"expected at most {DEEPEST} nested operations; found more")
        except ValueError as error:
            self._fail_at(1, f"expected an expression; found {error}")
        return self._number(tree, 0)

    def _fail_at(self, column: int, what: str) -> NoReturn:
        shown = self._line
        if len(shown) > 60:
            first = max(0, min(column - 30, len(shown) - 60))
            shown = f"{'...' if first else ''}{shown[first : first + 60]}{'...' if first + 60 < len(shown) else ''}"
        raise ExpressionError(f"Expression {shown!r}, column {column}: {what}.")

    def _fail(self, node: ast.AST, what: str) -> NoReturn:
        before = self._line.strip().encode()[: getattr(node, "col_offset", 0)]
        self._fail_at(self._start + len(before.decode()) + 1, what)

    def _number(self, node: ast.expr, depth: int) -> int:
        """The step of a number."""
        if depth > DEEPEST:
            self._fail(node, f"expected at most {DEEPEST} nested operations; found more")
        try:
            return self._operation(node, depth + 1)
        except (ArithmeticError, ValueError) as error:
            if isinstance(error, ExpressionError):
                raise
            self._fail(node, f"expected a finite number; found {ast.unparse(node)[:40]} ({error})")

    def _operation(self, node: ast.expr, depth: int) -> int:
        formula = self.formula
        match node:
            case ast.Constant(value) if type(value) in (int, float):
                if not abs(value) < 1e300:  # type: ignore[arg-type]
                    self._fail(node, f"expected a number below 1e300; found {str(value)[:40]}")
                return formula.number(float(value))  # type: ignore[arg-type]
            case ast.Name(name):
                return self._named(node, name)
            case ast.UnaryOp(ast.UAdd() | ast.USub(), operand):
                inner = self._number(operand, depth)
                return inner if isinstance(node.op, ast.UAdd) else formula.put("negative", inner)
            case ast.BinOp(base, ast.Pow(), exponent):
                return self._power(base, exponent, depth)
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                return formula.put(_OPERATORS[type(operator)], self._number(left, depth), self._number(right, depth))
            case ast.IfExp(test, yes, no):
                condition = self._condition(test, depth)
                return formula.put("select", condition, self._number(yes, depth), self._number(no, depth))
            case ast.Call():
                return self._call(node, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                self._fail(node, "expected a number; found a condition. Write 1 if ... else 0 for its value")
        return self._refuse(node)

    def _refuse(self, node: ast.expr) -> NoReturn:
        sort = type(node.op) if isinstance(node, ast.BinOp) else type(node)
        if isinstance(node, ast.Constant):
            found = f"{type(node.value).__name__} {ast.unparse(node)[:40]}"
        else:
            found = _SORTS.get(sort, sort.__name__)
        self._fail(node, f"expected numbers, names, + - * / **, comparisons, conditions and functions; found {found}")

    def _named(self, node: ast.expr, name: str) -> int:
        if name in CONSTANTS:
            return self.formula.number(CONSTANTS[name])
        if name not in (*self._names, *self._parameters):
            if name in FUNCTIONS:
                self._fail(node, f"expected arguments in parentheses after the function {name!r}; found none")
            known = [*self._names, *self._parameters, *CONSTANTS]
            close = get_close_matches(name, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            self._fail(node, f"expected one of the names {', '.join(known)}; found {name!r}{hint}")
        self.used.add(name)
        return self.formula.name(name)

    def _power(self, base: ast.expr, exponent: ast.expr, depth: int) -> int:
        a, b = self._number(base, depth), self._number(exponent, depth)
        n = self.formula.constant(b)
        if n is None:
            if any(self.formula.constant(self.formula.slope(b, name)) != 0 for name in self._names):
                self._fail(
                    exponent,
                    f"expected an exponent of numbers and parameters; found one that depends on "
                    f"{', '.join(self._names)}. Write exp(b*log(a)) for a**b",
                )
            return self.formula.put("**", a, b)
        if abs(n) > HIGHEST:
            self._fail(exponent, f"expected an exponent of at most {HIGHEST} in size; found {n:g}")
        return self.formula.power(a, int(n)) if n == int(n) else self.formula.put("**", a, b)

    def _call(self, node: ast.Call, depth: int) -> int:
        if not isinstance(node.func, ast.Name):
            self._fail(node, f"expected the name of a function; found {_SORTS.get(type(node.func), 'something else')}")
        name = node.func.id
        if name not in FUNCTIONS:
            close = get_close_matches(name, FUNCTIONS, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            self._fail(node, f"expected one of the functions {', '.join(FUNCTIONS)}; found {name!r}{hint}")
        if node.keywords:
            self._fail(node, f"expected arguments of {name} without names; found {node.keywords[0].arg!r}")
        count, several = FUNCTIONS[name], name in ("min", "max")
        if len(node.args) < count or (len(node.args) > count and not several):
            wanted = f"{count}{' or more' if several else ''} argument{'s' if count > 1 else ''}"
            self._fail(node, f"expected {wanted} of {name}; found {len(node.args)}")
        arguments = [self._number(argument, depth) for argument in node.args]
        if not several:
            return self.formula.put(name, *arguments)
        value = arguments[0]
        for argument in arguments[1:]:
            value = self.formula.put(name, value, argument)
        return value

    def _condition(self, node: ast.expr, depth: int) -> int:
        """The step of a condition."""
        if depth > DEEPEST:
            self._fail(node, f"expected at most {DEEPEST} nested operations; found more")
        formula = self.formula
        match node:
            case ast.Compare(left, operators, others) if all(type(o) in _COMPARE for o in operators):
                terms = [self._number(term, depth + 1) for term in (left, *others)]
                pairs = zip(operators, terms, terms[1:], strict=False)
                return self._joined("and", [formula.put(_COMPARE[type(o)], a, b) for o, a, b in pairs])
            case ast.BoolOp(operator, values):
                word = "and" if isinstance(operator, ast.And) else "or"
                return self._joined(word, [self._condition(value, depth + 1) for value in values])
            case ast.UnaryOp(ast.Not(), operand):
                return formula.put("not", self._condition(operand, depth + 1))
        return self._fail(node, f"expected a condition such as x > 0; found {ast.unparse(node)[:40]}")

    def _joined(self, word: str, conditions: list[int]) -> int:
        joined = conditions[0]
        for condition in conditions[1:]:
            joined = self.formula.put(word, joined, condition)
        return joined
