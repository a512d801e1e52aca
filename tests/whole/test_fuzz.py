"""Damaged files, models and command lines: each gives a result or one error of ours that names it, and never a traceback, a crash, a hang or 2 GiB.

The first campaign found 251 tracebacks and 15 crashes in 2,600 cases; `python -m tests.fuzz` runs any number with any seed.
"""

import os

import pytest
from fuzz import damage, targets, toml
from fuzz.pool import outcomes
from hypothesis import given, settings
from hypothesis import strategies as st

SLOW = ("vtk", "vtu", "stl", "command line")
"""Targets that start a process or run a simulation in each case."""
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore"),
]


def campaign(counts, seed, workers):
    targets.prepared(name for name, count in counts.items() if count)
    cases = ((name, seed, number) for name, count in counts.items() for number in range(count))
    return list(outcomes(cases, targets.run, workers))


def faults(found):
    return "\n\n".join(f"{o.case} {o.kind}: {o.text[-800:]}" for o in found if o.fault)


def test_a_few_hundred_cases():
    counts = {name: 0 if name in (*SLOW, "model", "wrong model", "result") else 8 for name in targets.TARGETS}
    found = campaign(counts, 0, 1)
    assert not faults(found), faults(found)
    assert sum(o.kind == "refused" for o in found) > 0.4 * len(found)


@pytest.mark.long(minutes=8)
def test_ten_thousand_cases():
    """`python -m tests.fuzz --seed` tries others."""
    few, number = 150, len(targets.TARGETS) - len(SLOW)
    counts = {name: few if name in SLOW else (10_000 - few * len(SLOW)) // number + 1 for name in targets.TARGETS}
    found = campaign(counts, 1, 2)
    assert len(found) >= 10_000
    assert not faults(found), faults(found)


def test_the_pool_tells_crash_hang_memory_and_traceback():
    """The machine that finds faults finds planted ones, and goes on after each."""

    def run(case):
        match case:
            case "crash":
                os.kill(os.getpid(), 11)
            case "hang":
                while True:
                    pass
            case "memory":
                bytearray(2**40)
            case "traceback":
                raise KeyError("GRO")
            case "exit":
                os._exit(3)

    cases = ["fine", "crash", "fine", "hang", "memory", "traceback", "exit", "fine"]
    found = {o.case: o.kind for o in outcomes(cases, run, 1, seconds=1.0)}
    assert found == {
        "fine": "result",
        "crash": "crash",
        "hang": "hang",
        "memory": "memory",
        "traceback": "traceback",
        "exit": "crash",
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_value_at_any_key_of_a_model(tmp_path_factory, data):
    """Hypothesis puts any value at any key: the model loads, or an error names the file."""
    import copy
    import tomllib

    from fem.errors import FlexmbError
    from flexmb.files import load_model

    model = data.draw(st.sampled_from([m for m in targets._models() if b"flexible" not in m]))
    tree = copy.deepcopy(tomllib.loads(model.decode()))
    places = list(damage._places(tree))
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    holder[key] = data.draw(values)
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(toml.dumped(tree).encode("utf-8", "surrogatepass"))
    said = "any.toml"
    try:
        load_model(path)
    except FlexmbError as error:
        said = str(error)
    assert "any.toml" in said
