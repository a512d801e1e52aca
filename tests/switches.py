"""Several edits of the kernels in one library: each holds in a process whose FLEXMB_EDIT is its number.

The kernels of a copy of the project are written anew so that an edited expression `a`, which was `b`, becomes
`a if edited() == 7 else b`, and an edited statement becomes a branch. What differs is found by comparison of the syntax
trees, so that an edit remains a text that replaces another one. Compiled functions read the number from a variable of
the library, which reads it from the environment when it is loaded.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "FLEXMB_EDIT"
SWITCH = '''"""The number of the edit that holds in this process; 0: none."""

import ctypes
import os

import llvmlite.binding as ll
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

NUMBER = ctypes.c_int64(int(os.environ.get("FLEXMB_EDIT", "0")))
ll.add_symbol("flexmb_edit", ctypes.addressof(NUMBER))


@intrinsic
def _number(typingctx):
    def make(context, builder, signature, arguments):
        known = builder.module.globals
        place = known.get("flexmb_edit") or ir.GlobalVariable(builder.module, ir.IntType(64), "flexmb_edit")
        return builder.load(place)

    return types.int64(), make


def edited():
    return NUMBER.value


@overload(edited)
def _edited():
    return lambda: _number()
'''
IN_C = """
OWN int64_t flexmb_edit = 0;
__attribute__((constructor)) static void read_edit(void) {
    const char *number = getenv("FLEXMB_EDIT");
    flexmb_edit = number ? atoll(number) : 0;
}
"""

Step = tuple[str, int | None]
"""A field of a node, and the index if the field is a list."""
FIXED = (ast.Pow, ast.Mod)
"""Operators of which numba treats a constant operand in another way than a variable."""


class NotSwitchableError(ValueError):
    """An edit outside of functions, or of their arguments, which numba reads when it compiles."""


@dataclass(frozen=True)
class Change:
    """What an edit changes: at `path`, an expression; or the statements `first` to `last` of the list there."""

    number: int
    path: tuple[Step, ...]
    new: Any
    first: int = -1
    last: int = -1


def _children(node: ast.AST) -> Iterator[tuple[Step, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield (name, None), value
        elif isinstance(value, list):
            yield from (((name, k), item) for k, item in enumerate(value) if isinstance(item, ast.AST))


def _at(node: Any, path: tuple[Step, ...]) -> Any:
    for name, k in path:
        node = getattr(node, name) if k is None else getattr(node, name)[k]
    return node


def _same(a: Any, b: Any) -> bool:
    """Whether two nodes, lists of nodes or values say the same."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, ast.AST):
        return all(_same(getattr(a, name, None), getattr(b, name, None)) for name in a._fields)
    return bool(a == b)


def _difference(a: ast.AST, b: ast.AST, path: tuple[Step, ...] = ()) -> tuple[tuple[Step, ...], tuple[int, int, int]]:
    """The path of the smallest node that contains all differences, and the statements of its list that differ: the
    first, the one after the last, and the one after the last of `b` (-1 without a list)."""
    here = path, (-1, -1, -1)
    if type(a) is not type(b):
        return here
    unlike = [name for name in a._fields if not _same(getattr(a, name, None), getattr(b, name, None))]
    if len(unlike) != 1:
        return here
    name = unlike[0]
    old, new = getattr(a, name), getattr(b, name)
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return _difference(old, new, (*path, (name, None)))
    if not (isinstance(old, list) and isinstance(new, list) and all(isinstance(x, ast.AST) for x in (*old, *new))):
        return here
    apart = [k for k, (x, y) in enumerate(zip(old, new, strict=False)) if not _same(x, y)]
    if len(old) == len(new) and len(apart) == 1:
        return _difference(old[apart[0]], new[apart[0]], (*path, (name, apart[0])))
    if not all(isinstance(x, ast.stmt) for x in (*old, *new)):
        return here
    first = next(
        (k for k, (x, y) in enumerate(zip(old, new, strict=False)) if not _same(x, y)), min(len(old), len(new))
    )
    tail = 0
    while tail < min(len(old), len(new)) - first and _same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    return (*path, (name, None)), (first, len(old) - tail, len(new) - tail)


def _may_vary(tree: ast.AST, path: tuple[Step, ...]) -> bool:
    """Whether the expression there may be chosen when the program runs."""
    node, parent = _at(tree, path), _at(tree, path[:-1])
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, ast.Starred | ast.Slice) or path[-1][0] in ("slice", "func", "annotation", "returns"):
        return False
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, FIXED) and isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.Constant) and not isinstance(node.value, float | bool):
        return not isinstance(parent, ast.Tuple | ast.Call | ast.UnaryOp)
    return True


def change(old: ast.Module, edited: ast.Module, number: int) -> Change:
    """What an edit changes in the smallest possible place.

    Raises `NotSwitchableError` if it is not inside of a function.
    """
    path, (first, last, end) = _difference(old, edited)
    while first < 0 and path and not isinstance(_at(old, path), ast.stmt) and not _may_vary(old, path):
        path = path[:-1]
    functions = [
        k for k in range(len(path)) if isinstance(_at(old, path[:k]), ast.FunctionDef) and path[k][0] == "body"
    ]
    if not functions:
        raise NotSwitchableError(f"edit {number} changes what numba reads when it compiles")
    if first >= 0:
        return Change(number, path, _at(edited, path[:-1]).__dict__[path[-1][0]][first:end], first, last)
    if isinstance(_at(old, path), ast.stmt):
        (name, k), above = path[-1], path[:-1]
        return Change(number, (*above, (name, None)), [_at(edited, path)], k, k + 1)
    return Change(number, path, _at(edited, path))


def _condition(number: int) -> ast.expr:
    called = ast.Call(ast.Name("edited", ast.Load()), [], [])
    return ast.Compare(called, [ast.Eq()], [ast.Constant(number)])


def _expression(node: Any, changes: list[Change], path: tuple[Step, ...]) -> Any:
    """A node with all changes at and below it."""
    made = deepcopy(node)
    for (name, k), child in _children(node):
        if k is None:
            setattr(made, name, _expression(child, changes, (*path, (name, None))))
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            inner = [
                _expression(x, changes, (*path, (name, k))) if isinstance(x, ast.AST) else x
                for k, x in enumerate(value)
            ]
            here = [c for c in changes if c.path == (*path, (name, None)) and c.first >= 0]
            setattr(made, name, _statements(value, inner, here))
    for c in changes:
        if c.path == path and c.first < 0:
            made = ast.IfExp(_condition(c.number), deepcopy(c.new), made)
    return made


def _statements(old: list[Any], inner: list[Any], changes: list[Change]) -> list[Any]:
    """A list of statements in which changes are branches; those that overlap share their branch."""
    regions: list[tuple[int, int, list[Change]]] = []
    for c in sorted(changes, key=lambda c: (c.first, c.last)):
        if regions and (c.first < regions[-1][1] or (c.first, c.last) == regions[-1][:2]):
            first, last, known = regions.pop()
            regions.append((first, max(last, c.last), [*known, c]))
        else:
            regions.append((c.first, c.last, [c]))
    made, at = [], 0
    for first, last, those in regions:
        branch = inner[first:last]
        for c in those:
            new = deepcopy([*old[first : c.first], *c.new, *old[c.last : last]])
            branch = [ast.If(_condition(c.number), new or [ast.Pass()], branch)]
        made += [*inner[at:first], *branch]
        at = last
    return [*made, *inner[at:]]


def switched(source: str, edited: dict[int, str], imported: str) -> str:
    """A source in which each of the `edited` sources holds while `edited()` returns its number.

    `imported` is the module of the function `edited`. Raises `NotSwitchableError` if an edit is not inside a function.
    """
    old = ast.parse(source)
    changes = [change(old, ast.parse(text), number) for number, text in edited.items()]
    made = _expression(old, changes, ())
    head = next(
        (
            k
            for k, node in enumerate(made.body)
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            and not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        ),
        len(made.body),
    )
    made.body.insert(head, ast.ImportFrom(imported, [ast.alias("edited")], 0))
    return ast.unparse(ast.fix_missing_locations(made)) + "\n"


def build(copy: Path, edits: list[tuple[int, str, str, str]]) -> set[int]:
    """Write edits (number, file, old and new text) behind switches into a copy of the project and build its library.

    Returns the numbers of the edits that cannot be switched, which are not made. Raises `RuntimeError` if the library
    cannot be built.
    """
    alone: set[int] = set()
    for file in sorted({file for _, file, _, _ in edits}):
        path = copy / file
        source, chosen = path.read_text(), dict[int, str]()
        for number, _, old, new in (edit for edit in edits if edit[1] == file):
            edited = source.replace(old, new)
            try:
                change(ast.parse(source), ast.parse(edited), number)
                chosen[number] = edited
            except NotSwitchableError:
                alone.add(number)
        if chosen:
            path.write_text(switched(source, chosen, "flexmb.kernels.base.edited"))
    (copy / "flexmb/kernels/base/edited.py").write_text(SWITCH)
    with (copy / "flexmb/kernels/library.c").open("a") as shim:
        shim.write(IN_C)
    for library in copy.glob("_flexmb_kernels.*"):
        library.unlink()
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=copy, capture_output=True, text=True
    )
    if not list(copy.glob("_flexmb_kernels.*")):
        raise RuntimeError(f"The library of edits cannot be built:\n{done.stdout[-1000:]}{done.stderr[-4000:]}")
    return alone
