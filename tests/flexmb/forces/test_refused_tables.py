"""Tables, maps and formulas of forces that cannot be are refused by each part of their checks alone, and accepted at the bounds."""

import numpy as np
import pytest
from refusals import refused_beside

from flexmb import controllers, expression, force_map, force_map_from_csv, table, table_from_csv
from flexmb.errors import ExpressionError, LawError, TableError
from flexmb.forces.scalar.one_sided import cable, gap_spring, preloaded_spring
from flexmb.forces.scalar.points import checked_axis, require_finite

X, Y = [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 0.0]
GRID = np.outer(Y, [1.0, 2.0])
TWO = "0,1\n1,2\n"


def surface(**options):
    return force_map(X, [0.0, 1.0], GRID, **options)


@pytest.fixture
def csv(tmp_path, monkeypatch):
    """A folder to read tables from by their names."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "two": TWO,
        "flat": "0,1,2\n1,2,3\n",
        "thin": "0,1\n1,2\n3,4\n",
        "map": "0,1,2\n1,2,3\n2,3,4\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)


PERIOD = "Table: expected a period of at least the range of the points, 3; found "
COLUMN = "The table two.csv: expected a column from 0 to 1; found "
TABLES = {
    "no period": (PERIOD + "0.0.", lambda: table(X, Y, period=0.0), lambda: table(X, Y, period=3.0)),
    "a period without end": (PERIOD + "inf.", lambda: table(X, Y, period=np.inf), lambda: table(X, Y, period=1e9)),
    "a word as period": (PERIOD + "'x'.", lambda: table(X, Y, period="x"), lambda: table(X, Y, period=np.float32(3))),
    "a list as period": (PERIOD + "[3.0].", lambda: table(X, Y, period=[3.0]), lambda: table(X, Y, period=4)),
    "a short period": (PERIOD + "2.9.", lambda: table(X, Y, period=2.9), lambda: table(X, Y, period=3.1)),
    "a period that does not close": (
        "Table: expected equal values at both ends of the period 3; found 0.0 and 0.1.",
        lambda: table(X, [0.0, 1.0, 1.0, 0.1], period=3.0),
        lambda: table(X, [0.0, 1.0, 1.0, 0.1], period=3.5),
    ),
    "two points of a period, and its end": (
        "Table: expected at least three points within a period; found 2.",
        lambda: table(X[:3], [0.0, 1.0, 0.0], period=2.0),
        lambda: table(X[:3], [0.0, 1.0, 0.0], period=2.5),
    ),
    "texts as values": (
        "Table: expected numbers y and scale; found 'abcd' and 1.0.",
        lambda: table(X, "abcd"),
        lambda: table(X, [0, 0, 0, 0]),
    ),
    "a scale that is none": (
        "Table: expected numbers y and scale; found [0.0, 1.0, 1.0, 0.0] and None.",
        lambda: table(X, Y, scale=None),
        lambda: table(X, Y, scale=-1),
    ),
    "a scale without value": (
        "Table: expected numbers y and scale; found [0.0, 1.0, 1.0, 0.0] and nan.",
        lambda: table(X, Y, scale=np.nan),
        lambda: table(X, Y, scale=0.0),
    ),
    "points before a table": (
        "Table: expected x from 0 to 3; found -1e-09.",
        lambda: table(X, Y)(0.0, -1e-9, 0.0),
        lambda: table(X, Y)(0.0, 0.0, 0.0),
    ),
    "points behind a table": (
        "Table: expected x from 0 to 3; found 3.1.",
        lambda: table(X, Y).over(0.0, [3.0, 3.1], 0.0),
        lambda: table(X, Y).over(0.0, [3.0, 0.0], 9.0),
    ),
    "points before a table that holds": (
        "Table: expected xdot from 0 to 3; found -1.",
        lambda: table(X, [0, -1, -1, 0], over="xdot")(0.0, 0.0, -1.0),
        lambda: table(X, [0, -1, -1, 0], over="xdot", outside="hold")(0.0, 0.0, -1.0),
    ),
    "an axis of rows": (
        "It: expected at least two numbers x; found an array of shape (2, 1).",
        lambda: checked_axis([[0.0], [1.0]], "x", "It"),
        lambda: checked_axis([0.0, 1.0], "x", "It"),
    ),
    "an axis of one point": (
        "It: expected at least two numbers x; found an array of shape (1,).",
        lambda: checked_axis([0.0], "x", "It"),
        lambda: checked_axis([0.0, 5e-324], "x", "It"),
    ),
    "a place without value": (
        "It, point 2: expected a finite number x; found nan.",
        lambda: checked_axis([0.0, np.nan], "x", "It"),
        lambda: checked_axis([-1e300, 1e300], "x", "It"),
    ),
    "a place twice": (
        "It, point 3: expected increasing numbers x, each with one value; found 1, which is repeated.",
        lambda: checked_axis([0.0, 1.0, 1.0], "x", "It"),
        lambda: checked_axis([0.0, 1.0, 1.5], "x", "It"),
    ),
    "values of other rows": (
        "It: expected as many values as arguments, (2, 3); found (3, 3).",
        lambda: require_finite(np.ones((3, 3)), (2, 3), "It"),
        lambda: require_finite(np.ones((2, 3)), (2, 3), "It"),
    ),
    "values of other columns": (
        "It: expected as many values as arguments, (2, 3); found (2, 2).",
        lambda: require_finite(np.ones((2, 2)), (2, 3), "It"),
        lambda: require_finite(np.zeros((2, 3)), (2, 3), "It"),
    ),
    "values of a row": (
        "It: expected as many values as arguments, (2, 3); found (2,).",
        lambda: require_finite(np.ones(2), (2, 3), "It"),
        lambda: require_finite(np.ones(2), (2,), "It"),
    ),
    "coordinates beyond a map": (
        "Force map: expected x from 0 to 3 and xdot from 0 to 1; found -1 and 0.",
        lambda: surface()(0.0, -1.0, 0.0),
        lambda: surface()(0.0, 0.0, 0.0),
    ),
    "rates beyond a map": (
        "Force map: expected x from 0 to 3 and xdot from 0 to 1; found 3 and 1.5.",
        lambda: surface().over(0.0, [3.0, 3.0], [1.0, 1.5]),
        lambda: surface(outside="hold").over(0.0, [3.0, 3.0], [1.0, 1.5]),
    ),
    "a scale of a map that is none": (
        " and 'a'.",
        lambda: surface(scale="a"),
        lambda: surface(scale=-1.0),
    ),
    "a word as period of a map": (
        "Force map: expected a period of at least the range of the points, 3; found 'x'.",
        lambda: surface(period="x"),
        lambda: surface(period=3.0),
    ),
    "one column": (
        "The table two.csv: expected two columns, of x and of y; found columns=3.",
        lambda: table_from_csv("two.csv", columns=3),
        lambda: table_from_csv("two.csv", columns=[0, 1]),
    ),
    "three columns": (
        "The table two.csv: expected two columns, of x and of y; found columns=(0, 1, 1).",
        lambda: table_from_csv("two.csv", columns=(0, 1, 1)),
        lambda: table_from_csv("two.csv", columns=(0, 1)),
    ),
    "a text of two letters": (
        "The table two.csv: expected two columns, of x and of y; found columns='xy'.",
        lambda: controllers.curve_from_csv("two.csv", columns="xy"),
        lambda: controllers.curve_from_csv("two.csv", columns=(0, np.int64(1))),
    ),
    "a flag as column": (
        COLUMN + "True.",
        lambda: table_from_csv("two.csv", columns=(0, True)),
        lambda: table_from_csv("two.csv", columns=(0, np.int64(1))),
    ),
    "half a column": (
        COLUMN + "0.5.",
        lambda: table_from_csv("two.csv", columns=(0, 0.5)),
        lambda: table_from_csv("two.csv", columns=(1, 0)),
    ),
    "a column before the first": (
        COLUMN + "-1.",
        lambda: table_from_csv("two.csv", columns=(0, -1)),
        lambda: table_from_csv("two.csv", columns=(0, 0)),
    ),
    "a column behind the last": (
        COLUMN + "2.",
        lambda: table_from_csv("two.csv", columns=(0, 2)),
        lambda: table_from_csv("two.csv", columns=(0, 1)),
    ),
    "a map of one coordinate": (
        "found 2 rows of 3 numbers.",
        lambda: force_map_from_csv("flat.csv"),
        lambda: force_map_from_csv("map.csv"),
    ),
    "a map of one rate": (
        "found 3 rows of 2 numbers.",
        lambda: force_map_from_csv("thin.csv"),
        lambda: force_map_from_csv("map.csv"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), TABLES.values(), ids=TABLES)
def test_tables_are_refused_beside_accepted_ones(words, wrong, right, csv, monkeypatch):
    refused_beside(TableError, words, wrong, right, monkeypatch)


NEEDS = "A force law needs a stiffness that is finite and not negative; found "
SEAT = "The seat of a preloaded spring must be stiffer than the spring, 1.0; found "
ONE_SIDED = {
    "a negative stiffness": (NEEDS + "-1.0.", lambda: gap_spring(-1.0), lambda: gap_spring(0.0)),
    "a stiffness without end": (NEEDS + "inf.", lambda: cable(np.inf), lambda: cable(1e300)),
    "a stiffness without value": (NEEDS + "nan.", lambda: cable(np.nan), lambda: cable(np.int64(1))),
    "a word as stiffness": (NEEDS + "'1'.", lambda: gap_spring("1"), lambda: gap_spring(np.float32(1.0))),
    "a gap without value": (
        "A gap spring needs a finite gap; found nan.",
        lambda: gap_spring(1.0, np.nan),
        lambda: gap_spring(1.0, -1.0),
    ),
    "a word as gap": (
        "A gap spring needs a finite gap; found 'x'.",
        lambda: gap_spring(1.0, "x"),
        lambda: gap_spring(1.0, 1),
    ),
    "an exponent below one": (
        "A gap spring needs an exponent of at least 1; found 0.99.",
        lambda: gap_spring(1.0, exponent=0.99),
        lambda: gap_spring(1.0, exponent=1),
    ),
    "an exponent without end": (
        "A gap spring needs an exponent of at least 1; found inf.",
        lambda: gap_spring(1.0, exponent=np.inf),
        lambda: gap_spring(1.0, exponent=1.5),
    ),
    "a seat as soft as the spring": (
        SEAT + "1.0.",
        lambda: preloaded_spring(1.0, 1.0, seat=1.0),
        lambda: preloaded_spring(1.0, 1.0, seat=1.001),
    ),
    "a seat without end": (
        SEAT + "inf.",
        lambda: preloaded_spring(1.0, 1.0, seat=np.inf),
        lambda: preloaded_spring(1.0, 0.0, seat=1e9),
    ),
    "a preload without end": (
        "A force law needs a preload that is finite and not negative; found inf.",
        lambda: preloaded_spring(1.0, np.inf, seat=2.0),
        lambda: preloaded_spring(1.0, 1e300, seat=2.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), ONE_SIDED.values(), ids=ONE_SIDED)
def test_one_sided_springs_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(LawError, words, wrong, right, monkeypatch)


OWN = "Expected a parameter with a name of its own; found "
FORMULAS = {
    "an energy of the time": (
        "Expression 't*x': expected a stored energy that depends on x alone; found 't'.",
        lambda: expression("x", stored="t*x"),
        lambda: expression("-x", stored="x**2/2"),
    ),
    "an energy of the rate": (
        "Expression 'xdot': expected a stored energy that depends on x alone; found 'xdot'.",
        lambda: expression("x", stored="xdot"),
        lambda: expression("xdot", stored="0"),
    ),
    "an empty formula": (
        "Expected the text of an expression such as '-k*x'; found nothing.",
        lambda: expression(" "),
        lambda: expression(" x "),
    ),
    "a number as formula": (
        "Expected the text of an expression such as '-k*x'; found int 3.",
        lambda: expression(3),
        lambda: expression("3"),
    ),
    "a formula too long": (
        "Expected an expression of at most 2000 characters; found 2001: 'x   ",
        lambda: expression("x" + " " * 2000),
        lambda: expression("x" + " " * 1999),
    ),
    "a name with a blank": (
        OWN + "'k ', which is no name.",
        lambda: expression("k*x", **{"k ": 1.0}),
        lambda: expression("k*x", k=1.0),
    ),
    "a name of Python": (
        OWN + "'if', which has a meaning in expressions already.",
        lambda: expression("x", **{"if": 1.0}),
        lambda: expression("x*iff", iff=1.0),
    ),
    "the name of a variable": (
        OWN + "'xdot', which has a meaning in expressions already.",
        lambda: expression("x", xdot=1.0),
        lambda: expression("x*ydot", ydot=1.0),
    ),
    "the name of a constant": (
        OWN + "'pi', which has a meaning in expressions already.",
        lambda: expression("x*pi", pi=3.0),
        lambda: expression("x*pie", pie=3.0),
    ),
    "the name of a function": (
        OWN + "'sin', which has a meaning in expressions already.",
        lambda: expression("x*sin", sin=1.0),
        lambda: expression("x*sine", sine=1.0),
    ),
    "a parameter without value": (
        "Parameter 'k': expected a finite number; found nan.",
        lambda: expression("k*x", k=np.nan),
        lambda: expression("k*x", k=np.int64(0)),
    ),
    "a flag as parameter": (
        "Parameter 'k': expected a finite number; found True.",
        lambda: expression("k*x", k=True),
        lambda: expression("k*x", k=1),
    ),
    "a word as parameter": (
        "Parameter 'k': expected a finite number; found '1'.",
        lambda: expression("k*x", k="1"),
        lambda: expression("k*x", k=np.float32(1)),
    ),
    "a parameter that nothing reads": (
        "Expression 'x': expected parameters that it contains (no parameter); found 'k'",
        lambda: expression("x", k=1.0),
        lambda: expression("x + 0*k", k=1.0),
    ),
    "a slope beyond numbers": (
        "Expression '1e200*x*1e200': its derivative is not a finite number",
        lambda: expression("1e200*x*1e200"),
        lambda: expression("1e150*x*1e150"),
    ),
}


@pytest.mark.parametrize(("words", "wrong", "right"), FORMULAS.values(), ids=FORMULAS)
def test_formulas_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(ExpressionError, words, wrong, right, monkeypatch)
