"""The edits of the mutation campaign fit the code, and a sample of them is caught (`python -m tests.mutants` runs all)."""

import ast
import random
import shutil

import pytest

from tests import random_edits, switches
from tests.edits import EDITS
from tests.mutants import ROOT, campaign, caught, copied, problem


def test_every_edit_fits_the_code_once():
    assert not [f"{edit.what}: {why}" for edit in EDITS if (why := problem(edit))]
    assert len({edit.what for edit in EDITS}) == len(EDITS)
    assert all(edit.old != edit.new for edit in EDITS)


class Resolved(ast.NodeTransformer):
    """A switched source in which an edit holds."""

    def __init__(self, number):
        self.number = number

    def _holds(self, test):
        """None for a condition that is no switch."""
        if not (isinstance(test, ast.Compare) and ast.unparse(test.left) == "edited()"):
            return None
        return test.comparators[0].value == self.number

    def _chosen(self, node):
        holds = self._holds(node.test)
        if holds is None:
            return self.generic_visit(node)
        chosen = node.body if holds else node.orelse
        if isinstance(chosen, list):
            made = [self.visit(x) for x in chosen if not (holds and isinstance(x, ast.Pass))]
            return [x for found in made for x in (found if isinstance(found, list) else [found])]
        return self.visit(chosen)

    visit_If = visit_IfExp = _chosen

    def visit_ImportFrom(self, node):
        return None if node.names[0].name == "edited" else node


def resolved(text, number):
    return ast.dump(Resolved(number).visit(ast.parse(text)))


SOURCE = '''"""A module."""

from math import sqrt

SCALE = 2.0


def energy(x, y, n):
    """Of a spring."""
    total = 0.0
    for k in range(n):
        total += 0.5 * x[k] ** 2 - y
        if total > 10.0:
            total = -total
            break
    last = x[n - 1]
    return total * sqrt(last), SCALE
'''
TEXTS = [
    ("0.5 * x[k]", "x[k]"), ("x[k] ** 2 - y", "x[k] ** 3 - y"), ("x[k] ** 2 - y", "x[k] ** 2 + y"), ("total += 0.5", "total -= 0.5"),
    ("range(n)", "range(1, n)"), ("            total = -total\n", ""), ("total > 10.0", "total >= 10.0 and y"), ("x[n - 1]", "x[n - 2]"),
    ("    last = x[n - 1]\n", "    last = x[0]\n    last += 1.0\n"), ("            break\n    last", "            break\n        y = 0.0\n    last"),
    ("total * sqrt(last), SCALE", "total, SCALE"), ("sqrt(last)", "-sqrt(last)"),
]  # fmt: skip


def test_many_edits_of_a_source_hold_one_at_a_time():
    """Also inside each other and on the same line."""
    edited = {k: SOURCE.replace(*text) for k, text in enumerate(TEXTS, 1)}
    assert len({SOURCE, *edited.values()}) == len(TEXTS) + 1
    made = switches.switched(SOURCE, edited, "switch")
    assert resolved(made, 0) == ast.dump(ast.parse(SOURCE))
    for number, text in edited.items():
        assert resolved(made, number) == ast.dump(ast.parse(text)), text


@pytest.mark.parametrize("texts", [("SCALE = 2.0", "SCALE = 3.0"), ("def energy(x, y, n)", "def energy(x, n, y)")])
def test_edits_of_what_numba_reads_when_it_compiles_are_not_switched(texts):
    with pytest.raises(switches.NotSwitchableError, match="edit 7"):
        switches.switched(SOURCE, {7: SOURCE.replace(*texts)}, "switch")


@pytest.mark.long
def test_all_edits_of_kernels_are_switched():
    """Each source with its switches is the edited one under the number of the edit, and the present one under none."""
    files = sorted({edit.file for edit in EDITS if edit.file.startswith("flexmb/kernels/")})
    assert len(files) > 10
    for file in files:
        source = (ROOT / file).read_text()
        edited = {k: source.replace(e.old, e.new) for k, e in enumerate(EDITS, 1) if e.file == file}
        made = switches.switched(source, edited, "switch")
        assert resolved(made, 0) == ast.dump(ast.parse(source))
        for number, text in edited.items():
            assert resolved(made, number) == ast.dump(ast.parse(text)), EDITS[number - 1].what


@pytest.mark.long(minutes=3)
def test_a_sample_of_edits_is_caught():
    """`python -m tests.mutants --sample` takes others."""
    runs = [edit for edit in EDITS if not edit.equivalent and not edit.file.startswith("flexmb/kernels/")]
    assert not campaign(random.Random(1).sample(runs, 4))


@pytest.mark.long(minutes=5)
@pytest.mark.skipif(shutil.which("cc") is None, reason="the library of edits needs a compiler of C")
def test_one_library_holds_edits_of_kernels(tmp_path):
    """Tests pass in a copy with the library of edits, and each edit is caught."""
    runs = [edit for edit in EDITS if edit.what in ("the torque of gravity", "curvature of curves")]
    copy = copied(tmp_path, runs)
    assert list(copy.switched.values()) == [1, 2]
    words = ["tests/flexmb/equations/test_evaluate.py", "tests/flexmb/mechanism/test_curves.py"]
    assert copy.run(words, FLEXMB_KERNELS="library").returncode == 0
    assert all(caught(edit, copy)[0] for edit in runs)


PLACES = '''"""A module with - and 1."""


def force(x: float = 1.0, *, sign: int = -1) -> float:
    """Of a spring, in 2 lines."""
    if x <= 0.0 or not sign:
        raise ValueError(f"x is {x + 1}")
    y = [x]
    y.append(max(x, sign) * 2)
    return scaled(y, sign, axis=0).T
'''


def test_random_edits_are_those_that_a_reader_expects(tmp_path):
    path = tmp_path / "flexmb" / "places.py"
    path.parent.mkdir()
    path.write_text(PLACES)
    found = random_edits.changes(path, tmp_path)
    assert {change.what for change in found} == {
        "number: 1.0 -> 2.0", "number: 1 -> 2", "sign: -1 -> 1", "operator: <= -> >", "number: 0.0 -> 1.0", "operator: or -> and",
        "denial: not sign -> sign", "condition: x <= 0.0 or not sign -> (not (x <= 0.0 or not sign))", 'no error: raise ValueError(f"x is {x + 1}") -> pass',
        "no call: y.append(max(x, sign) * 2) -> pass", "function: append -> remove", "function: max -> min", "exchanged arguments: x, sign -> sign, x",
        "operator: * -> /", "number: 2 -> 3", "exchanged arguments: y, sign -> sign, y", "argument left out: axis=0 -> ", "number: 0 -> 1",
        "transpose: scaled(y, sign, axis=0).T -> scaled(y, sign, axis=0)",
    }  # fmt: skip
    assert all(random_edits.sound(change, tmp_path) for change in found)
    assert random_edits.drawn(4, 3, root=tmp_path) == random_edits.drawn(4, 3, root=tmp_path)
    assert len({change.line for change in random_edits.drawn(99, 3, root=tmp_path)}) == 5


def test_edits_of_compiled_functions_are_drawn_where_a_switch_can_choose_them(tmp_path):
    """Not in constants of the module, in defaults, or in what numba reads when it compiles."""
    path = tmp_path / "flexmb" / "kernels" / "places.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"LIMIT = 2.0\n{PLACES}")
    found = random_edits.drawn(99, 3, root=tmp_path, compiled=True)
    assert {change.line for change in found} == {7, 8, 10}
    assert random_edits.drawn(99, 3, root=tmp_path) == []


def test_random_edits_meet_the_shortest_tests_of_each_file_that_reach_them(monkeypatch):
    monkeypatch.setattr(random_edits, "TESTS", 3)
    known = random_edits.Map(["a::1", "a::2", "a::3", "b::1", "c::1"], {"a.py": {"3": [2, 4], "4": [0, 1, 2, 3]}})
    at = random_edits.Change("a.py", 3, "sign", 0, 1, b"")
    assert known.reaching(at) == ["a::3", "c::1"]
    assert known.reaching(at._replace(line=1)) == ["a::1", "b::1", "c::1"]
    assert known.reaching(at._replace(file="b.py")) == []


def test_random_edits_meet_tests_with_records_first(monkeypatch):
    """Those of compiled functions meet all of them, and no other."""
    monkeypatch.setattr(random_edits, "TESTS", 1)
    known = random_edits.Map(["a::1", "b::1", "b::2", "c::1"], {})
    monkeypatch.setattr(random_edits, "_recorded", lambda: {"b::2", "c::1"})
    assert random_edits._spread([0, 1, 2, 3], known.tests) == [2, 3, 0]
    monkeypatch.setattr(random_edits, "RECORDS", 1)
    assert random_edits._spread([0, 1, 2, 3], known.tests) == [2, 0]
    assert known.reaching(random_edits.Change("flexmb/kernels/a.py", 3, "sign", 0, 1, b"")) == ["b::2", "c::1"]


def test_refusals_that_no_test_reaches_are_listed(tmp_path):
    path = tmp_path / "flexmb" / "places.py"
    path.parent.mkdir()
    path.write_text(PLACES)
    for reached, listed in (("6", 1), ("7", 0)):
        known = random_edits.Map(["a::1"], {"flexmb/places.py": {reached: [0]}})
        found, count = random_edits.refusals(known, root=tmp_path)
        assert (len(found), count) == (listed, 1)
    assert random_edits.refusals(known, ["fem/"], tmp_path) == ([], 0)


def test_recorded_tests_are_known_by_their_names():
    found = random_edits._recorded()
    assert "tests/whole/test_recorded.py::test_what_is_seen_is_what_was_recorded[reductions/krylov]" in found
    assert len(found) > 600
