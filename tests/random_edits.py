"""Random wrong edits: small changes at places drawn from the whole code, against the tests that run these places.

    python -m tests.random_edits --map /tmp/map.json               # which test runs which line; needs pytest-cov
    python -m tests.random_edits --map /tmp/map.json --count 40 --seed 606
    python -m tests.random_edits --map /tmp/map.json --count 20 --seed 1 --only reduction/ --list
    python -m tests.random_edits --map /tmp/map.json --count 20 --seed 1 --compiled
    python -m tests.random_edits --map /tmp/map.json --edits written.json  # of a person
    python -m tests.random_edits --map /tmp/map.json --refusals  # raise statements that no test reaches

`tests.mutants` runs mistakes that someone thought of; these are drawn by a machine, so that their figure depends on nobody's
choice. A place is a line outside of the compiled functions, and what is done there is one of the edits that are possible on
it: another operator, sign, number or comparison, an argument left out or exchanged, a call or an error that does not come. It
meets the tests with records (tests/recorded) that reach the line, then the shortest tests of each other file, up to a limit of
time. An edit is caught if one of them fails, which passed when the map was made. Survivors are for a reader: either nothing
can be seen of them, or a test is missing. With `--compiled`, places are in compiled functions, which coverage does not see:
they meet all tests with records. With `--edits`, edits come from a file instead, a list of `{"file": ..., "old": ..., "new": ...,
"why": ...}`, in which a text that occurs once becomes another one.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from tests import switches
from tests.mutants import ROOT, Copy, copied

PACKAGES = ("flexmb", "fem", "reduction")
TYPED = re.compile(r"exchanged arguments|argument left out|transpose|function: append|number: \d+ ->|operator: \* -> /")
"""Edits of what decides types, such as that of an index, which the compiler of such functions refuses."""
COMPILED = ("flexmb/kernels/", "flexmb/forces/frame/", "flexmb/controllers/formulas.py")
"""Files with functions that are compiled; edits of them are for `tests.mutants`, which builds a library of them."""
SECONDS, RECORDS, TESTS = 120.0, 40, 60
"""Time after which an edit meets no further test, and the largest numbers of tests with records and of others that it meets."""
LONGEST = 900.0
"""Time after which a run has no end."""
CASE = "test_what_is_seen_is_what_was_recorded"
BEGAN = time.monotonic()
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//", ast.Pow: "*"}
COMPARISONS = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
EXCHANGED = {
    "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "any": "all", "all": "any", "sin": "cos", "cos": "sin",
    "zeros": "ones", "zeros_like": "ones_like", "argmax": "argmin", "argmin": "argmax", "append": "remove", "hstack": "vstack", "floor": "ceil", "ceil": "floor",
}  # fmt: skip


class Change(NamedTuple):
    """Bytes from `start` to `end` of a file become `new`; `what` says it, `line` counts from one."""

    file: str
    line: int
    what: str
    start: int
    end: int
    new: bytes

    def applied(self, text: bytes) -> bytes:
        """The text of the file with the change."""
        return text[: self.start] + self.new + text[self.end :]


class Sites(ast.NodeVisitor):
    """Collects the changes that are possible in a file; texts, types and messages of errors are left alone."""

    def __init__(self, file: str, text: bytes) -> None:
        self.file, self.text, self.found = file, text, list[Change]()
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def _at(self, node: Any) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _source(self, node: Any) -> bytes:
        a, b = self._at(node)
        return self.text[a:b]

    def _add(self, node: Any, new: bytes, what: str, span: tuple[int, int] | None = None) -> None:
        a, b = span or self._at(node)
        old = self.text[a:b]
        if old != new:
            self.found.append(Change(self.file, node.lineno, f"{what}: {_short(old)} -> {_short(new)}", a, b, new))

    def _between(self, node: Any, left: Any, right: Any, new: str) -> None:
        """Another operator between two operands, whose brackets stay."""
        a, b = self._at(left)[1], self._at(right)[0]
        middle = self.text[a:b]
        operator = middle.strip(b" ()\n\\\t")
        if operator and b"#" not in middle:
            self._add(node, middle.replace(operator, new.encode(), 1), "operator", (a, b))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = any(isinstance(x, ast.JoinedStr | ast.Constant) and not _number(x) for x in (node.left, node.right))
        if (new := ARITHMETIC.get(type(node.op))) and not texts:
            self._between(node, node.left, node.right, new)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            self._between(node, left, right, COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        new = "and" if isinstance(node.op, ast.Or) else "or"
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(node, left, right, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            self._add(node, self._source(node.operand), "sign" if isinstance(node.op, ast.USub) else "denial")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(node, str(not value).encode(), "constant")
        elif isinstance(value, int):
            self._add(node, str(value + 1).encode(), "number")
        elif isinstance(value, float):
            self._add(node, repr(2.0 * value if value else 1.0).encode(), "number")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == "T":
            self._add(node, self._source(node.value), "transpose")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in EXCHANGED:
            end = self._at(node.func)[1]
            self._add(node.func, EXCHANGED[name].encode(), "function", (end - len(name), end))
        for left, right in zip(node.args, node.args[1:], strict=False):
            if not all(isinstance(x, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp) for x in (left, right)):
                continue
            (a, b), (c, d) = self._at(left), self._at(right)
            new = self.text[c:d] + self.text[b:c] + self.text[a:b]
            self._add(left, new, "exchanged arguments", (a, d))
        for keyword in node.keywords:
            if keyword.arg and name not in ("Row", "Plot", "field", "dataclass"):
                (a, b) = self._at(keyword)
                b += len(self.text[b:]) - len(self.text[b:].lstrip(b" \n"))
                b += self.text[b : b + 1] == b","
                self._add(keyword, b"", "argument left out", (a, b))
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(node, b"pass", "no error")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, b"pass", "no call")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if new := ARITHMETIC.get(type(node.op)):
            self._between(node, node.target, node.value, f"{new}=")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._add(node.test, b"(not (" + self._source(node.test) + b"))", "condition")
        self.generic_visit(node)

    visit_IfExp = visit_If  # type: ignore[assignment]

    def visit_Continue(self, node: ast.Continue | ast.Break) -> None:
        self._add(node, b"pass", "no jump")

    visit_Break = visit_Continue

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are left alone."""

    def visit_arg(self, node: ast.arg) -> None:
        """So are types of arguments,"""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """and those of names."""
        if node.value:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Decorators and returned types are left alone, too."""
        for part in (*node.args.defaults, *(x for x in node.args.kw_defaults if x), *node.body):
            self.visit(part)


def _number(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _short(text: bytes) -> str:
    line = " ".join(text.decode().split())
    return line if len(line) < 60 else f"{line[:28]} ... {line[-28:]}"


def changes(path: Path, root: Path = ROOT) -> list[Change]:
    """All changes of a file that were thought of; some of them are no Python any more."""
    text = path.read_bytes()
    sites = Sites(path.relative_to(root).as_posix(), text)
    sites.visit(ast.parse(text))
    return sites.found


def sound(change: Change, root: Path = ROOT) -> bool:
    """Whether a file is still a module of Python with a change, and another one than before."""
    before = (root / change.file).read_bytes()
    try:
        return ast.dump(ast.parse(change.applied(before))) != ast.dump(ast.parse(before))
    except SyntaxError:
        return False


def drawn(
    count: int, seed: int, only: Sequence[str] = PACKAGES, root: Path = ROOT, compiled: bool = False
) -> list[Change]:
    """Changes at lines that are drawn with equal probability from the files whose path begins with one of `only`, and of
    one kind as probably as of another that is possible on the line; outside of the files of compiled functions, or inside."""
    files = sorted(x for package in PACKAGES for x in (root / package).rglob("*.py"))
    lines: dict[tuple[str, int], dict[str, list[Change]]] = {}
    for path in files:
        name = path.relative_to(root).as_posix()
        if name.startswith(tuple(only)) and name.startswith(COMPILED) == compiled:
            for change in changes(path, root):
                if compiled and TYPED.match(change.what):
                    continue
                kinds = lines.setdefault((change.file, change.line), {})
                kinds.setdefault(change.what.partition(":")[0], []).append(change)
    draw = random.Random(seed)
    places, found = sorted(lines), list[Change]()
    draw.shuffle(places)
    for place in places:
        if len(found) == count:
            break
        change = draw.choice(lines[place][draw.choice(sorted(lines[place]))])
        if sound(change, root) and (not compiled or _switchable(change, root)):
            found.append(change)
    return found


def written(path: Path, root: Path = ROOT) -> list[Change]:
    """The changes of a file. Raises `ValueError` when a text is not there once, or a changed file is no other module."""
    found = []
    for edit in json.loads(path.read_text(encoding="utf-8")):
        text, old = (root / edit["file"]).read_bytes(), edit["old"].encode()
        if text.count(old) != 1:
            raise ValueError(f"{edit['file']}: {edit['old']!r} occurs {text.count(old)} times; expected one.")
        start = text.index(old)
        line, what = text[:start].count(b"\n") + 1, f"{_short(old)} -> {_short(edit['new'].encode())}"
        change = Change(edit["file"], line, what, start, start + len(old), edit["new"].encode())
        if not sound(change, root) or (change.file.startswith(COMPILED) and not _switchable(change, root)):
            raise ValueError(f"{edit['file']}: with {edit['new']!r} it is no other module, or not behind a switch.")
        found.append(change)
    return found


def _switchable(change: Change, root: Path) -> bool:
    before = (root / change.file).read_bytes()
    try:
        switches.change(ast.parse(before), ast.parse(change.applied(before)), 0)
    except switches.NotSwitchableError:
        return False
    return True


class Map(NamedTuple):
    """Tests in the order of the time that they take, and the numbers of some that run each line of a file."""

    tests: list[str]
    lines: dict[str, dict[str, list[int]]]

    def reaching(self, change: Change) -> list[str]:
        """Tests that run a line, those with records first, the shortest first. Lines that run at import are met by the
        tests of the whole file, those of compiled functions by all tests with records."""
        if change.file.startswith(COMPILED):
            return [test for test in self.tests if test in _recorded()]
        own = self.lines.get(change.file, {})
        found = own.get(str(change.line)) or _spread({x for numbers in own.values() for x in numbers}, self.tests)
        return [self.tests[number] for number in found]


def _spread(numbers: Iterable[int], tests: list[str]) -> list[int]:
    """Of the tests with these numbers, up to `RECORDS` with records, the shortest first; then up to `TESTS` others: the
    shortest of each file, then the second of each, and so on, since tests of one file see the same things."""
    ranks: dict[str, int] = {}
    known, ranked = [], []
    for number in sorted(numbers):
        if tests[number] in _recorded():
            known.append(number)
            continue
        file = tests[number].partition("::")[0]
        ranks[file] = ranks.get(file, -1) + 1
        ranked.append((ranks[file], number))
    return [*known[:RECORDS], *sorted(number for _, number in sorted(ranked)[:TESTS])]


@cache
def _recorded() -> frozenset[str]:
    """The tests that compare all that they see with a record."""
    found = set()
    for path in (ROOT / "tests/recorded/values/watched").glob("*.json"):
        file = f"tests/{path.stem.replace('.', '/')}.py"
        found |= {f"{file}::{name}" for name in json.loads(path.read_text())}
    cases = (name for path in (ROOT / "tests/recorded/values").glob("*.json") for name in json.loads(path.read_text()))
    return frozenset(found | {f"tests/whole/test_recorded.py::{CASE}[{name}]" for name in cases})


def pytest_runtest_teardown(item: Any) -> None:
    """As a plugin of pytest: no test begins when `SECONDS` are over."""
    if time.monotonic() - BEGAN > SECONDS:
        item.session.shouldstop = f"{SECONDS:.0f} s are over"


def make_map(path: Path, workers: int) -> Map:
    """Run the default tests once and write which of them runs which line."""
    if find_spec("pytest_cov") is None:
        raise SystemExit("A map is made with pytest-cov, which is not there: pip install pytest-cov")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "rc").write_text(
            f"[run]\nsource = {','.join(PACKAGES)}\nomit = */kernels/*\ndata_file = {place}/data\n"
        )
        options = [
            "--cov",
            f"--cov-config={place}/rc",
            "--cov-context=test",
            "--cov-report=",
            f"--junitxml={place}/junit.xml",
        ]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-n", str(workers), *options]
        subprocess.run(command, cwd=ROOT, check=False, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        found = mapped(place / "data", place / "junit.xml")
    path.write_text(json.dumps(found._asdict()))
    return found


def mapped(data: Path, junit: Path) -> Map:
    """The map of a run with coverage; tests that did not pass are left out."""
    import coverage

    seconds = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        if all(x.tag not in ("failure", "error", "skipped") for x in case):
            seconds[_identifier(case.attrib["classname"], case.attrib["name"])] = float(case.attrib["time"])
    tests = sorted(seconds, key=lambda x: (seconds[x], x))
    numbers = {test: number for number, test in enumerate(tests)}
    measured = coverage.CoverageData(str(data))
    measured.read()
    lines: dict[str, dict[str, list[int]]] = {}
    for file in measured.measured_files():
        own = lines[Path(file).relative_to(ROOT).as_posix()] = {}
        for line, contexts in measured.contexts_by_lineno(file).items():
            found = {numbers[x] for context in contexts if (x := context.partition("|")[0]) in numbers}
            own[str(line)] = _spread(found, tests)
    return Map(tests, lines)


def refusals(known: Map, only: Sequence[str] = PACKAGES, root: Path = ROOT) -> tuple[list[str], int]:
    """The `raise` statements outside of compiled functions that no test of a map reaches, and the number of all."""
    found, count = list[str](), 0
    for path in sorted(x for package in PACKAGES for x in (root / package).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(tuple(only)) or name.startswith(COMPILED):
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Raise):
                count += 1
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if not any(str(line) in known.lines.get(name, {}) for line in lines):
                    found.append(f"{name}:{node.lineno} {_short((ast.get_source_segment(text, node) or '').encode())}")
    return found, count


def _identifier(module: str, name: str) -> str:
    """What pytest calls the test that a report of JUnit names."""
    parts = module.split(".")
    file = next(k for k in range(len(parts), 0, -1) if (ROOT / "/".join(parts[:k])).with_suffix(".py").is_file())
    return "::".join(["/".join(parts[:file]) + ".py", *parts[file:], name])


def campaign(chosen: list[Change], known: Map, record: Path | None = None) -> list[Change]:
    """Run the changes in a copy of the project, print what catches each, and return the survivors."""
    survivors = []
    compiled = [change for change in chosen if change.file.startswith(COMPILED)]
    with tempfile.TemporaryDirectory(prefix="edits-") as place:
        copy = copied(Path(place), [])
        copy.seconds = LONGEST
        if compiled:
            switches.build(copy.place, [_as_text(change, n) for n, change in enumerate(compiled, 1)])
        for number, change in enumerate(chosen, 1):
            began = time.monotonic()
            tests = known.reaching(change)
            switch = compiled.index(change) + 1 if change in compiled else 0
            how = _caught(change, tests, copy, switch)
            if not how:
                survivors.append(change)
            said = f"{'caught' if how else 'SURVIVES'} {change.file}:{change.line} {change.what}"
            print(
                f"{number}/{len(chosen)} {said} ({len(tests)} tests, {time.monotonic() - began:.0f} s) {how}",
                flush=True,
            )
            if record:
                with record.open("a") as file:
                    file.write(f"{said}\t{how}\t{' '.join(tests[-3:])}\n")
    return survivors


def _as_text(change: Change, number: int) -> tuple[int, str, str, str]:
    before = (ROOT / change.file).read_bytes()
    return number, change.file, before.decode(), change.applied(before).decode()


def _caught(change: Change, tests: list[str], copy: Copy, switch: int = 0) -> str:
    """The test that fails with a change, which is in the library if it has a switch; empty if none does."""
    if not tests:
        return ""
    shutil.rmtree(copy.place / ".pytest_cache", ignore_errors=True)  # it names the tests that failed before, too
    path = copy.place / change.file
    before = path.read_bytes()
    limited = [] if switch else ["-p", "tests.random_edits"]
    if not switch:
        path.write_bytes(change.applied(before))
    try:
        done = copy.run([*limited, *tests], **{switches.VARIABLE: str(switch)})
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        path.write_bytes(before)
    if failed := copy.failed():
        if switch and failed[0] not in copy.sound:
            if copy.run(failed[:1]).returncode:  # it reads the sources, which have the switches
                return _caught(change, [test for test in tests if test != failed[0]], copy, switch)
            copy.sound.add(failed[0])
        return failed[0]
    if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.INTERRUPTED):  # the latter when the time is over
        return ""
    if (without := copy.run(tests)).returncode:
        raise SystemExit(
            f"The tests of {change.file}:{change.line} do not run without the edit, either:\n{without.stdout[-2000:]}"
        )
    return f"code {done.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--map", type=Path, required=True, help="file of the map; it is made if it is not there")
    parser.add_argument("--workers", type=int, default=2, help="processes that make the map")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="how the paths of the files begin; may be repeated")
    parser.add_argument("--record", type=Path, help="file to which outcomes are added")
    parser.add_argument("--edits", type=Path, help="file with edits that are run instead of drawn ones")
    parser.add_argument("--list", action="store_true", help="print the edits, run none")
    parser.add_argument("--compiled", action="store_true", help="edit compiled functions")
    parser.add_argument("--refusals", action="store_true", help="list the raise statements that no test reaches")
    chosen = parser.parse_args()
    if chosen.edits:
        found = written(chosen.edits)
    else:
        found = drawn(chosen.count, chosen.seed, chosen.only or PACKAGES, compiled=chosen.compiled)
    if chosen.list:
        print("\n".join(f"{x.file}:{x.line} {x.what}" for x in found))
        return 0
    known = Map(**json.loads(chosen.map.read_text())) if chosen.map.is_file() else make_map(chosen.map, chosen.workers)
    if chosen.refusals:
        missed, count = refusals(known, chosen.only or PACKAGES)
        print("\n".join(missed), f"{len(missed)} of {count} are not reached", sep="\n")
        return 0
    survivors = campaign(found, known, chosen.record)
    if found:
        print(f"{len(found) - len(survivors)} of {len(found)} caught ({1.0 - len(survivors) / len(found):.1%})")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
