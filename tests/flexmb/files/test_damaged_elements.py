"""Result files whose contacts, groups, friction, lines or controllers cannot be: refused by name before compiled code reads an index."""

import copy
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz.results import with_all_elements, with_exact_contact

import flexmb
from flexmb import controllers
from flexmb.contact import Plane, Sphere, power_law
from flexmb.controllers.fit import require_fit
from flexmb.errors import FileError, LawError, UnsoundError
from flexmb.files import load_result, save_result
from flexmb.files.results import result_file
from flexmb.files.results.control_tree import control_tree, controller_from_tree
from flexmb.files.storage.sound_elements import require_sound_elements
from flexmb.files.storage.tree import read_tree
from flexmb.kernels.base.data import ANGLE

SIMULATED = {"all": with_all_elements, "exact": with_exact_contact}


@pytest.fixture(scope="module")
def tree_of(tmp_path_factory):
    """The tree of the result with all elements, or of that with exact contact, which loads as it was saved."""

    @cache
    def made(name):
        path = save_result(result := SIMULATED[name](), tmp_path_factory.mktemp("results") / f"{name}.h5")
        assert str(load_result(path).mechanism) == str(result.mechanism)
        return read_tree(path, "result")

    return made


def changed(value, index, new):
    """A copy of an array or a list with another entry."""
    value = copy.deepcopy(value)
    value[index] = new
    return value


def part(kind, number, key):
    return ("mechanism", kind, number, key)


def signal(controller, key):
    return ("mechanism", "controllers", controller, "signals", 0, key)


FLOOR, MOUNT = 0, 1
"""Numbers of the elements between frames: a contact, and a plastic hinge with a state."""
WATCH, SERVO, SHAPE = 0, 1, 2
"""Numbers of the controllers: sampled ones come first."""
PARAMETERS = part("frame_forces", FLOOR, "values")

WRONG = {
    "rows of an element that are too few": ("all", ("mechanism", "force_elements", "floor"), lambda v: v[:1], "does not have six rows"),
    "rows of an element that are others": ("all", ("mechanism", "force_elements", "floor"), lambda v: v + 2, "the rows of the element 'floor'"),
    "an element without rows": ("all", ("mechanism", "force_elements", "dry"), lambda v: v[:0], "'dry' has no rows"),
    "an unknown shape": ("all", PARAMETERS, lambda v: changed(v, 0, 99.0), "result as flexmb writes it"),
    "half a shape": ("all", PARAMETERS, lambda v: changed(v, 4, 1.5), "the code of a shape of the element 'floor' is 1.5"),
    "a shape without size": ("all", PARAMETERS, lambda v: changed(v, 5, 0.0), "radius of a sphere must be a positive"),
    "shapes that do not touch": ("all", PARAMETERS, lambda v: changed(v, slice(4, 8), [0.0] * 4), "no contact of a plane with a plane"),
    "a negative stiffness": ("all", PARAMETERS, lambda v: changed(v, 8, -1.0), "parameter 8 of the element 'floor' is -1"),
    "no slip speed": ("all", PARAMETERS, lambda v: changed(v, 14, 0.0), "parameter 14 of the element 'floor' is 0"),
    "a limit of a hinge below zero": ("all", part("frame_forces", MOUNT, "values"), lambda v: -v, "must be positive"),
    "two elements of one name": ("all", part("frame_forces", MOUNT, "name"), lambda v: "floor", "equal names"),
    "a marker of a group that is not there": ("all", part("contact_groups", 0, "markers"), lambda v: v + 1000, "a marker of the group 'others'"),
    "a marker of a group before the first": ("all", part("contact_groups", 0, "markers"), lambda v: v - 1000, "a marker of the group 'others'"),
    "a group with half markers": ("all", part("contact_groups", 0, "markers"), lambda v: v + 0.5, "result as flexmb writes it"),
    "an unknown shape of a group": ("all", part("contact_groups", 0, "shapes"), lambda v: changed(v, (0, 0), 50), "result as flexmb writes it"),
    "a missing shape of a group": ("all", part("contact_groups", 0, "shapes"), lambda v: v[:-1], "the shapes of the contacts 'others'"),
    "missing labels of a group": ("all", part("contact_groups", 0, "labels"), lambda v: v[:-1], "2 labels for 3 shapes"),
    "a group whose exponent is zero": ("all", part("contact_groups", 0, "parameters"), lambda v: changed(v, 1, 0.0), "parameter 9 of the group"),
    "friction of no joint": ("all", part("frictions", 0, "joint"), lambda v: "nothing", "nothing"),
    "friction of another motion": ("all", part("frictions", 0, "dof"), lambda v: "translation", "translation"),
    "friction of the rows of a controller": ("all", ("mechanism", "force_elements", "dry"), lambda v: v + 1, "the rows of the friction 'dry' are not those of the free motions of joint 'hinge'"),
    "friction that pushes": ("all", part("frictions", 0, "factors"), lambda v: changed(v, 0, -1.0), "negative"),
    "friction that sticks less": ("all", part("frictions", 0, "static"), lambda v: 0.5, "expected at least 1"),
    "friction with half a direction": ("all", part("frictions", 0, "direction"), lambda v: 0.5, "the direction of the friction 'dry'"),
    "a line of no body": ("all", part("lines", 0, "body"), lambda v: 40, "the body of the line 'water'"),
    "a line of the ground": ("all", part("lines", 0, "body"), lambda v: -1, "the body of the line 'water'"),
    "a line of an unknown kind": ("all", part("lines", 0, "kind"), lambda v: 7, "is of kind 7"),
    "a line of no function": ("all", part("lines", 0, "function"), lambda v: 30, "the function of the line 'water'"),
    "a line of one point": ("all", part("lines", 1, "points"), lambda v: v[:1], "fewer than two points"),
    "a line of equal points": ("all", part("lines", 1, "points"), lambda v: 0 * v, "fewer than two points, or neighbours that coincide"),
    "a line that is not finite": ("all", part("lines", 1, "points"), lambda v: v * np.nan, "not finite"),
    "wind of five numbers": ("all", part("lines", 1, "numbers"), lambda v: v[:5], "the numbers of the line 'gust'"),
    "a signal of an unknown sort": ("all", signal(SERVO, "sort"), lambda v: 12, "the sort of the signal"),
    "a signal of a marker that is not there": ("all", signal(SERVO, "markers"), lambda v: [700, 701], "a marker of the signal"),
    "a signal of a fourth axis": ("all", signal(SHAPE, "axes"), lambda v: [3, 0], "an axis of the signal"),
    "a signal of an unknown kind": ("all", signal(SHAPE, "kind"), lambda v: 77, "is of kind 77"),
    "an angle that is not followed": ("all", signal(SHAPE, "kind"), lambda v: ANGLE, "an angle that no joint"),
    "a signal of no command": ("all", signal(WATCH, "index"), lambda v: 9, "the index of the signal"),
    "a measure between samples": ("all", signal(SHAPE, "sort"), lambda v: -1, "is continuous"),
    "a sample time below zero": ("all", part("controllers", WATCH, "sample_time"), lambda v: -1.0, "sample time"),
    "a sampled law that is continuous": ("all", part("controllers", SERVO, "sample_time"), lambda v: 0.1, "states of elements in the initial state"),
    "another function of the library": ("all", part("controllers", SERVO, "library"), lambda v: "pid-with-rate", "has other inputs"),
    "a curve as a linear system": ("all", part("controllers", SHAPE, "library"), lambda v: "linear", "has other inputs"),
    "a curve that goes back": ("all", part("controllers", SHAPE, "values"), lambda v: changed(v, 1, -5.0), "has other inputs"),
    "targets that are too few": ("all", part("controllers", WATCH, "targets"), lambda v: [], "0 targets for 1 commands"),
    "states of elements that are missing": ("all", ("element_states",), lambda v: v[:, :-1].copy(), "states of force elements"),
    "a time that is no number": ("exact", ("statistics", "cpu_seconds"), lambda v: np.nan, "statistics .cpu_seconds."),
    "a marker of a contact that is not there": ("exact", part("contacts", 0, "markers"), lambda v: [0, 90], "a marker of contact 'ball'"),
    "a contact of too many points": ("exact", part("contacts", 1, "points"), lambda v: 4000, "has 4000 points, expected 8"),
    "a contact of unknown shapes": ("exact", part("contacts", 1, "shapes"), lambda v: changed(v, 4, 42.0), "result as flexmb writes it"),
    "a contact of one shape": ("exact", part("contacts", 1, "shapes"), lambda v: v[:4], "have 4 numbers, expected 8"),
    "an impact that gives energy": ("exact", part("contacts", 0, "restitution"), lambda v: 1.5, "restitution is at most 1"),
    "a point in no mode": ("exact", ("element_states",), lambda v: changed(v, (2, 0), 7.0), "neither apart, nor slides, nor sticks"),
    "an event that loses no number": ("exact", ("happened", 0, "lost"), lambda v: np.inf, "a number of the event 'ball'"),
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.long if WRONG[case][0] == "all" else ()) for case in WRONG]
)
def test_elements_that_cannot_be_are_refused_by_name(case, tree_of, monkeypatch):
    which, leaf, change, words = WRONG[case]
    tree = copy.deepcopy(tree_of(which))
    at = tree
    for key in leaf[:-1]:
        at = at[key]
    at[leaf[-1]] = change(at[leaf[-1]])
    monkeypatch.setattr(result_file, "read_tree", lambda path, kind: tree)
    with pytest.raises(FileError, match=words) as error:
        load_result("run.h5")
    assert "run.h5" in str(error.value)


def held_and_touching():
    """A sleeve with friction in both of its motions, and a ball above a plane."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("sleeve", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.friction("rub", "shaft", 0.1, radius=0.02)
    system.contact(
        "ball", Plane().on(system.ground.at((0, 0, -1.0))), Sphere(0.1).on(body.at((0, 0, 0))), law=power_law(1e4)
    )
    return system.build()


def named(*names):
    return tuple(SimpleNamespace(name=name) for name in names)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("frictions", lambda x: (replace(x, arms=x.arms[:1]),), "the rows of the friction 'rub' are not those of the free motions"),
        ("frictions", lambda x: (replace(x, factors=(*x.factors[:3], -1.0)),), "a factor of the friction 'rub' is negative"),
        ("frame_forces", lambda x: (replace(x, parameters=(*x.parameters[:4], *x.parameters[:4], *x.parameters[8:])),), "no contact of a plane with a plane"),
        ("surface_contacts", lambda x: named("top", "top"), "surface_contacts have equal names"),
        ("contacts", lambda x: named("edge", "edge"), "contacts have equal names"),
    ],
)  # fmt: skip
def test_records_that_cannot_be_are_refused_by_name(kind, change, words):
    mechanism = held_and_touching()
    require_sound_elements(mechanism)
    record = next(iter(getattr(mechanism, kind)), None)
    with pytest.raises((UnsoundError, flexmb.MechanismError), match=words):
        require_sound_elements(replace(mechanism, **{kind: change(record)}))


@pytest.mark.parametrize("change", [lambda x: x[:1], lambda x: x * 2], ids=["few", "many"])
def test_a_controller_of_a_file_has_a_signal_for_each_input(change):
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("cart", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
    inputs = {"reference": 0.1, "measured": "coordinate:rail"}
    system.controller("servo", controllers.pid(1.0), inputs=inputs, outputs={"command": "effort:rail"})
    result = flexmb.simulate(system, 2e-3, step=1e-3)
    tree = control_tree(result, result.mechanism.controllers[0])
    controller_from_tree(tree, result.t)
    with pytest.raises(UnsoundError, match=r"controller 'servo' has \d+ signals for \d+ inputs"):
        controller_from_tree({**tree, "signals": change(tree["signals"])}, result.t)


@pytest.mark.parametrize(
    "bound",
    [
        controllers.pid(1.0, 0.1, 0.2, filter=0.1),
        controllers.pid(1.0, 0.1, 0.2),
        controllers.pid(1.0, sample_time=0.1),
        controllers.linear(([[1.0]], [[1.0, 2.0]], [[1.0]], [[0.0, 0.0]])),
        controllers.curve([0, 1, 2], [0, 1, 0], period=3.0),
        controllers.gain_schedule([0, 1], [[1.0, 2.0], [3.0, 4.0]], ["x", "v"]),
    ],
    ids=lambda bound: bound.law.name,
)
def test_laws_of_the_library_fit_and_others_do_not(bound):
    library, law, values = bound.law.name, bound.law, np.array(bound.parameters)
    require_fit(library, law, values)
    for fewer in ("inputs", "parameters"):
        names = getattr(law, fewer)[:-1]
        wrong = type(law)(**{**vars_of(law), fewer: names})
        with pytest.raises(LawError, match=f"law '{library}' .* other inputs"):
            require_fit(library, wrong, values[: len(wrong.parameters)])


def vars_of(law):
    return {key: getattr(law, key) for key in ("function", "name", "inputs", "commands", "states", "parameters")}


def test_filters_of_pid_laws_belong_to_their_states():
    """Without a filter, the derivative part of one law would read an input, with one that of the other a state, which is not there."""
    law, values = controllers.pid(1.0, 0.1, 0.2, filter=0.1), 3
    with pytest.raises(LawError, match="other inputs"):
        require_fit("pid", law.law, np.array(changed(list(law.parameters), values, 0.0)))
    law = controllers.pid(1.0, 0.1, 0.2)
    with pytest.raises(LawError, match="other inputs"):
        require_fit("pid-with-rate", law.law, np.array(changed(list(law.parameters), values, 0.1)))
