"""Laws of contact, controllers and forces that cannot be are refused by name, and their nearest neighbours are accepted."""

import numpy as np
import pytest
from refusals import refused_beside

import flexmb
from flexmb import controllers
from flexmb.contact import Bounded, LocalHertz, elastic_foundation, power_law, solve_contacts
from flexmb.controllers.fit import require_fit
from flexmb.errors import ExpressionError, LawError, TableError, UnilateralError
from flexmb.files.results.law_tree import law_from_tree

ONE = [Bounded(0.0, 1.0)]
PID = controllers.pid(1.0)
FIRST = ([[-1.0]], [[1.0]], [[1.0]], [[0.0]])


def solved(W=1.0, b=1.0, start=None):
    return solve_contacts(np.array([[W]]), np.array([b]), ONE, start=start)


def layer(poisson):
    return elastic_foundation(1.0, poisson, 0.1, 1.0)


def titled(titles):
    points = {"x": np.array([0.0, 1.0]), "y": np.array([0.0, 1.0])}
    options = '{"over": "x", "period": null, "outside": "error", "source": "Table"}'
    return law_from_tree({"kind": "table", **points, "options": options, "columns": titles}, "spring", np.zeros(1))


REFUSED = {
    "a guess of two impulses": (
        lambda: solved(start=np.zeros(2)),
        UnilateralError,
        "The guess of the impulses must be (1,) finite numbers; found array([0., 0.]).",
        lambda: solved(start=np.zeros(1)),
    ),
    "a guess without value": (
        lambda: solved(start=np.array([np.nan])),
        UnilateralError,
        "The guess of the impulses must be (1,) finite numbers; found array([nan]).",
        lambda: solved(start=np.array([1e9])),
    ),
    "a response without value": (
        lambda: solved(W=np.nan),
        UnilateralError,
        "The response and the free velocities must be finite numbers.",
        lambda: solved(W=1.0),
    ),
    "a velocity without end": (
        lambda: solved(b=np.inf),
        UnilateralError,
        "The response and the free velocities must be finite numbers.",
        lambda: solved(b=1e9),
    ),
    "an unknown factor of damping": (
        lambda: power_law(1.0, factor="gontier"),
        LawError,
        "There is no factor of damping named 'gontier'. Did you mean 'gonthier'?",
        lambda: power_law(1.0, factor="gonthier"),
    ),
    "a layer that keeps its volume": (
        lambda: layer(0.5),
        LawError,
        "Poisson's ratio of an elastic layer is above -1 and below 1/2; found 0.5.",
        lambda: layer(0.499),
    ),
    "a layer of the smallest ratio": (
        lambda: layer(-1.0),
        LawError,
        "Poisson's ratio of an elastic layer is above -1 and below 1/2; found -1.0.",
        lambda: layer(-0.99),
    ),
    "a layer of a word": (
        lambda: layer("soft"),
        LawError,
        "Poisson's ratio of an elastic layer is above -1 and below 1/2; found soft.",
        lambda: layer(0.0),
    ),
    "a rigid surface": (
        lambda: LocalHertz(np.inf, 0.3),
        LawError,
        "The surface in a local contact is elastic: young is finite; found inf.",
        lambda: LocalHertz(1e11, 0.3),
    ),
    "a rigid surface and an elastic sphere": (
        lambda: LocalHertz(np.inf, 0.3, 1e9, 0.3),
        LawError,
        "The surface in a local contact is elastic: young is finite; found inf.",
        lambda: LocalHertz(1e9, 0.3, np.inf, 0.3),
    ),
    "an unknown law of the library": (
        lambda: require_fit("pidd", PID.law, np.array(PID.parameters)),
        LawError,
        "There is no law 'pidd' in flexmb.controllers whose sizes are known.",
        lambda: require_fit("pid", PID.law, np.array(PID.parameters)),
    ),
    "another time step": (
        lambda: controllers.linear(controllers.discrete(FIRST, 0.01), sample_time=0.02),
        LawError,
        "The system has the time step 0.01; found sample_time=0.02. Omit it.",
        lambda: controllers.linear(controllers.discrete(FIRST, 0.01), sample_time=0.01),
    ),
    "a matrix without value": (
        lambda: controllers.linear(([[np.nan]], [[1.0]], [[1.0]], [[0.0]])),
        LawError,
        "The matrices of a linear controller must be finite.",
        lambda: controllers.linear(FIRST),
    ),
    "two names of one input": (
        lambda: controllers.linear(FIRST, inputs=("a", "b")),
        LawError,
        "The system has 1 inputs, which need as many different names; found ('a', 'b').",
        lambda: controllers.linear(FIRST, inputs="a"),
    ),
    "one name of two commands": (
        lambda: controllers.linear(([[-1.0]], [[1.0]], [[1.0], [2.0]], [[0.0], [0.0]]), commands=("a", "a")),
        LawError,
        "The system has 2 commands, which need as many different names; found ('a', 'a').",
        lambda: controllers.linear(([[-1.0]], [[1.0]], [[1.0], [2.0]], [[0.0], [0.0]]), commands=("a", "b")),
    ),
    "three matrices": (
        lambda: controllers.linear(FIRST[:3]),
        LawError,
        "A linear controller has 4 parts (A, B, C, D), or 2 (numerator, denominator); found 3.",
        lambda: controllers.linear(([1.0], [1.0, 1.0])),
    ),
    "a filter below zero": (
        lambda: controllers.pid(1.0, filter=-0.1),
        LawError,
        "The filter time of a PID controller must not be negative; found -0.1.",
        lambda: controllers.pid(1.0, filter=0.0),
    ),
    "a derivative of the command": (
        lambda: controllers.pid(1.0, derivative_of="command"),
        LawError,
        "derivative_of is 'measured' or 'error'; found 'command'.",
        lambda: controllers.pid(1.0, derivative_of="error"),
    ),
    "a curve with a value too few": (
        lambda: controllers.curve([0.0, 1.0, 2.0], [0.0, 1.0]),
        LawError,
        "A curve through 3 points needs as many finite values; found [0.0, 1.0].",
        lambda: controllers.curve([0.0, 1.0], [0.0, 1.0]),
    ),
    "a curve without end": (
        lambda: controllers.curve([0.0, 1.0], [0.0, np.inf]),
        LawError,
        "A curve through 2 points needs as many finite values; found [0.0, inf].",
        lambda: controllers.curve([0.0, 1.0], [0.0, 1e9]),
    ),
    "a table of words": (
        lambda: flexmb.table([0.0, 1.0], ["a", "b"]),
        TableError,
        "Table: expected numbers y and scale; found ['a', 'b'] and 1.0.",
        lambda: flexmb.table([0.0, 1.0], [0.0, 1.0]),
    ),
    "a table with a word for its scale": (
        lambda: flexmb.table([0.0, 1.0], [0.0, 1.0], scale="mm"),
        TableError,
        "Table: expected numbers y and scale; found [0.0, 1.0] and 'mm'.",
        lambda: flexmb.table([0.0, 1.0], [0.0, 1.0], scale=-1.0),
    ),
    "a map of words": (
        lambda: flexmb.force_map([0.0, 1.0], [0.0, 1.0], [["a", 1.0], [1.0, 2.0]]),
        TableError,
        "Force map: expected numbers values and scale; found [['a', 1.0], [1.0, 2.0]] and 1.0.",
        lambda: flexmb.force_map([0.0, 1.0], [0.0, 1.0], [[0.0, 1.0], [1.0, 2.0]]),
    ),
    "an expression whose derivative overflows": (
        lambda: flexmb.expression("1e299*x*1e299"),
        ExpressionError,
        "Expression '1e299*x*1e299': its derivative is not a finite number (",
        lambda: flexmb.expression("1e299*x*1e8"),
    ),
    "a law of an unknown kind in a file": (
        lambda: law_from_tree({"kind": "spline"}, "spring", np.zeros(1)),
        LookupError,
        "law 'spring' of the unknown kind 'spline'",
        lambda: law_from_tree({"kind": "expression", "text": "-x", "parameters": "{}"}, "spring", np.zeros(1)),
    ),
    "a table of three titles in a file": (
        lambda: titled('{"titles": ["x", "F", "G"]}'),
        LookupError,
        "a table with the titles ('x', 'F', 'G') of two columns",
        lambda: (titled('{"titles": ["x", "F"]}'), titled("{}")),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_its_neighbour_is_not(case, monkeypatch):
    refused, kind, words, accepted = REFUSED[case]
    refused_beside(kind, words, refused, accepted, monkeypatch)
