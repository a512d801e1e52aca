"""What small models of every kind give is what was recorded (tests/recorded): a difference is wrong, or meant.

If it is meant, `python -m tests.recorded --write NAME` records it. Pages of the manual are compared where they run
(tests/test_docs.py).
"""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from recorded import watch
from recorded.cases import CASES
from recorded.record import differences, recorded, run
from recorded.summary import seen_of, skeleton
from recorded.watch import Log, names, watching

LONG = ("gradients/",)
ALONE = [
    pytest.param(name, marks=pytest.mark.long if name.startswith(LONG) else ())
    for name in CASES
    if not name.startswith("pages/")
]


@pytest.mark.parametrize("name", ALONE)
def test_what_is_seen_is_what_was_recorded(name):
    if "/sections" in name or "/parts" in name:  # which are drawn and meshed
        pytest.importorskip("gmsh")
    kept = recorded(name)
    assert kept, f"record it: python -m tests.recorded --write {name}"
    told = differences(kept, run(name))
    assert not told, f"python -m tests.recorded {name}\n" + "\n".join(told[:10])


def test_a_difference_is_told():
    """By its place: of a number, a text, a place that is missing; not of rounding, or of what is new."""
    import numpy as np

    kept = seen_of({"a": np.arange(40.0), "b": ["x 1", 2.0], "c": {"d": 1e-3}})
    assert differences(kept, {**kept, "new": "1"}) == []
    assert differences(kept, seen_of({"a": np.arange(40.0) * (1 + 1e-9), "b": ["x 1", 2.0], "c": {"d": 1e-3}})) == []
    swapped = np.arange(40.0)
    swapped[[3, 4]] = swapped[[4, 3]]
    told = differences(kept, seen_of({"a": swapped, "b": ["x 2", 2.0 + 1e-5], "c": {}}))
    assert [t.split(":")[0] for t in told] == ["a", "b.0", "b.1", "c.d"]
    assert skeleton("12 steps of 1.5e-3, -4.") == "# steps of #, #"


def test_a_watched_test_sees_what_is_said_to_it():
    """Outermost calls by whatever name, what they return, refuse and warn of; and nothing is left behind."""
    import fem
    import flexmb
    from fem.mesh import structured_meshes
    from flexmb import simulate

    before = flexmb.simulate, fem.Model.inertia, vars(fem.Model)["mass"], structured_meshes.block
    log = Log()
    with watching(log):
        part = fem.Model(structured_meshes.block("hexahedron", (1.0, 0.5, 0.5), (2, 1, 1)), fem.Material.steel())
        assert part.inertia()[0, 0] > 0
        with pytest.raises(flexmb.MechanismError):
            flexmb.System(gravity=(0, 0, -9.81)).revolute("hinge", 1, 2, axis=(0, 0, 1))
        system = flexmb.System()
        system.add(flexmb.rigid_body("ball", mass=2.0, inertia=(1, 1, 1)), velocity=(1.0, 0, 0))
        flexmb.simulate(system, 0.1, step=0.01)
    assert (flexmb.simulate, fem.Model.inertia, vars(fem.Model)["mass"], structured_meshes.block) == before
    assert simulate is flexmb.simulate
    for name in ("block", "Material.steel", "System.revolute", "rigid_body", "simulate"):
        assert any(at.startswith(f"{name} 1") for at in log.seen), (name, list(log.seen))
    assert log.seen["System.revolute 1"].startswith("MechanismError: ")
    assert log.seen["Model.inertia 1"]
    other = Log()
    with watching(other):
        flexmb.rigid_body("ball", mass=2.0, inertia=(1, 1, 1))
    kept = dict(other.seen)
    assert differences(kept, {**kept, next(k for k in kept if k.endswith(".mass")): [2.1]})


@pytest.mark.parametrize(("mass", "fails"), [(3.0, False), (3.1, True)])
def test_a_watched_test_fails_where_what_it_sees_is_not_its_record(mass, fails, monkeypatch):
    """A record in which a number is another one."""
    import flexmb

    monkeypatch.setattr(watch, "records", lambda _: {"test_y": {"rigid_body 1.invariants.mass": [mass]}})
    around = watch.watched(SimpleNamespace(nodeid="tests/x.py::test_y"))
    next(around)
    flexmb.rigid_body("ball", mass=3.0, inertia=(1, 1, 1))
    said = []
    with contextlib.suppress(StopIteration):
        around.send(SimpleNamespace(excinfo=None, force_exception=said.append))
    assert [str(error).partition("'")[2].partition("'")[0] for error in said] == ["tests/x.py::test_y"] * fails


def test_watched_tests_are_there():
    """No record is left of a test that has another name now."""
    root, texts = Path(__file__).parents[2], dict[str, str]()
    for test in names():
        file, _, name = test.partition("::")
        text = texts.setdefault(file, (root / file).read_text(encoding="utf-8") if (root / file).exists() else "")
        assert f"def {name.partition('[')[0]}(" in text, f"{test} is not there: delete its record"
