"""Every verb of `System`, every contact surface and every library law names what is wrong with an argument of the wrong
type, instead of an error of Python from inside."""

import inspect

import numpy as np
import pytest

import flexmb
from fem.errors import FlexmbError
from flexmb import contact, controllers, curves, time_functions

WRONG = {"None": None, "a text": "text?", "a list": [None, "x"], "not a number": float("nan"), "an object": object()}
ONE = time_functions.polynomial(1.0)
WHEEL = curves.of_functions(lambda s: np.cos(s), lambda s: np.sin(s), 0, 2 * np.pi, closed=True)
LINE = [(0.25 * k, 0, 0) for k in range(5)]
LAW = contact.power_law(1e4, 1.5)


@flexmb.law(inputs=("pull",), parameters=("k",))
def centred(t, relative, inputs, states, parameters, wrench, rates):
    wrench[0] = inputs[0] - parameters[0] * relative.d[0]


def model():
    """A system with two bodies on joints, and what verbs refer to."""
    system = flexmb.System()
    first = system.add(flexmb.rigid_body("first", mass=1.0, inertia=(1, 1, 1)), position=(1.0, 0, 0))
    second = system.add(flexmb.rigid_body("second", mass=1.0, inertia=(1, 1, 1)), position=(2.0, 0.5, 0))
    system.revolute("hinge", system.ground, first, axis=(0, 0, 1), at=(1.0, 0, 0))
    system.prismatic("rail", system.ground, second, axis=(1, 0, 0), at=(2.0, 0.5, 0))
    system.cylindrical("sleeve", first, second, axis=(1, 0, 0), at=(2.0, 0.5, 0))
    system.revolute("shaft", system.ground, second, axis=(0, 0, 1), at=(2.0, 0.5, 0))
    return system, first, second


def calls(system, a, b):
    """The arguments of a valid call of each verb; the optional ones, too."""
    here, there = a.at((0, 0, 0)), b.at((0, 0, 0))
    pair = {"name": "new", "a": a, "b": b, "at": (0, 0, 0)}
    places = {"name": "new", "a": here, "b": there}
    ball, floor = contact.Sphere(0.1).on(here), contact.Plane().on(system.ground.at((0, 0, -1)), axis=(0, 0, 1))
    rub = {"law": LAW, "friction": 0.1, "static_friction": 0.2, "slip_speed": 0.01}
    z = {"axis": (0, 0, 1)}
    shafts = {"name": "new", "first": "hinge", "second": "shaft"}
    still = {"velocity": (0, 0, 0), "angular_velocity": (0, 0, 0), "orientation": (0, 0, 0)}
    line = {"name": "new", "body": a, "points": LINE, "factor": ONE}
    return {
        "add": {"body": flexmb.rigid_body("new", mass=1.0, inertia=(1, 1, 1)), "name": "new", "position": (0, 0, 0)}
        | still,
        "belt": shafts | {"radii": (0.1, 0.2), "stiffness": 1.0, "damping": 0.1, "preload": 0.0, "crossed": False},
        "bushing": pair | z | {"stiffness": (1,) * 6, "damping": (1,) * 6, "free": (0, 0, 0)},
        "cable": {"name": "new", "places": [here, there], "stiffness": 1.0, "damping": 0.1, "length": 1.0},
        "constant_velocity": pair | {"axis": (1, 0, 0), "second_axis": (1, 0, 0)},
        "contact": {"name": "new", "a": ball, "b": floor} | rub,
        "contact_group": {"name": "new", "surfaces": [ball, floor]} | rub,
        "controller": {
            "name": "new",
            "law": controllers.pid(1.0),
            "inputs": {"measured": "coordinate:hinge"},
            "outputs": {"command": "effort:hinge"},
        },
        "cylindrical": pair | z,
        "differential": shafts | {"carrier": "sleeve", "ratio": -1.0},
        "distance": places | {"length": 1.0},
        "drive": {"joint": "hinge", "motion": ONE, "dof": "rotation"},
        "elastic_relation": {
            "name": "new",
            "factors": {"hinge": 1.0, "shaft": 2.0},
            "stiffness": 1.0,
            "damping": 0.1,
            "law": lambda t, x, v: -x,
        },
        "fixed": pair,
        "force": pair | z | {"law": centred(k=1.0), "axle": (0, 1, 0), "inputs": {"pull": 1.0}},
        "friction": {
            "name": "new",
            "joint": "hinge",
            "coefficient": 0.1,
            "radius": 0.1,
            "axial_radius": 0.1,
            "span": 0.1,
            "preload": 0.1,
            "static": 0.2,
        },
        "gear": shafts | {"ratio": 2.0},
        "in_line": pair | z,
        "in_plane": pair | {"normal": (0, 0, 1)},
        "joint": pair | z | {"kind": "universal", "second_axis": (1, 0, 0)},
        "joint_spring": {
            "name": "new",
            "joint": "hinge",
            "stiffness": 1.0,
            "damping": 0.1,
            "free": 0.0,
            "law": lambda t, x, v: -x,
            "dof": "rotation",
        },
        "knife_edge": {"name": "new", "plane": system.ground, "edge": a, "heading": (1, 0, 0), "normal": (0, 0, 1)}
        | {"at": (0, 0, 0)},
        "load": {
            "name": "new",
            "place": here,
            "force": (1, 0, 0),
            "moment": (0, 0, 0),
            "factor": ONE,
            "follower": True,
        },
        "motor": {"name": "new", "joint": "hinge", "effort": 1.0, "damping": 0.1, "dof": "rotation"},
        "pipe_flow": line | {"mass_per_length": 1.0, "speed": 1.0},
        "planar": pair | {"normal": (0, 0, 1)},
        "point_on_curve": places
        | {"curve": WHEEL, "normal": (0, 0, 1), "x": (1, 0, 0), "offset": 0.1, "in_plane": True},
        "prescribe": pair | z | {"x": ONE, "y": ONE, "z": ONE, "rotation": ONE},
        "prismatic": pair | z,
        "rack": {"name": "new", "pinion": "hinge", "rack": "rail", "radius": 0.1},
        "relation": {"name": "new", "factors": {"hinge": 1.0, "shaft": 2.0}, "kind": "relation"},
        "revolute": pair | z,
        "rolling": {"name": "new", "plane": system.ground, "wheel": a, "radius": 0.5, "axis": (0, 1, 0)}
        | {"normal": (0, 0, 1), "at": (0, 0, 0.5)},
        "screw": {"name": "new", "rotation": "hinge", "translation": "rail", "lead": 0.1},
        "set_speed": {"joint": "hinge", "speed": 1.0, "dof": "rotation"},
        "slider_on_curve": places | {"curve": WHEEL, "normal": (0, 0, 1), "x": (1, 0, 0)},
        "spherical": pair,
        "spring_damper": places | {"stiffness": 1.0, "damping": 0.1, "length": 1.0, "law": lambda t, x, v: -x},
        "universal": pair | {"axis": (0, 0, 1), "second_axis": (1, 0, 0)},
        "wind": line | {"density": 1.0, "diameter": 0.1, "velocity": (1, 0, 0), "coefficient": 1.2, "along": 0.1},
    }


VERBS = sorted(name for name, _ in inspect.getmembers(flexmb.System, inspect.isfunction) if name[0] != "_")


def given(verb):
    return calls(*model())[verb]


def test_every_verb_and_each_of_its_arguments_is_tried():
    known = calls(*model())
    assert {*known, "build"} == set(VERBS)
    rare = {"turning_friction", "impact", "restitution", "regularised", "eta", "local"}
    for verb, arguments in known.items():
        expected = set(inspect.signature(getattr(flexmb.System, verb)).parameters) - {"self"}
        assert set(arguments) - expected == set(), verb
        assert expected - set(arguments) <= rare, verb


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "build"])
@pytest.mark.parametrize("wrong", WRONG)
def test_verbs_name_wrong_arguments(verb, wrong):
    raw = []
    for argument in given(verb):
        system, a, b = model()
        arguments = calls(system, a, b)[verb] | {argument: WRONG[wrong]}
        try:
            getattr(system, verb)(**arguments)
            system.build()
        except FlexmbError:
            continue
        except Exception as error:
            raw.append(f"{argument}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(raw)


DIRECTIONS = {"axis", "axle", "heading", "normal", "second_axis", "x"}


@pytest.mark.parametrize(
    "verb", [v for v in VERBS if DIRECTIONS & set(inspect.signature(getattr(flexmb.System, v)).parameters)]
)
def test_verbs_refuse_directions_of_no_length(verb):
    """The frames of markers had no numbers, and a run ended inside of a factorisation."""
    for argument in DIRECTIONS & {name for name, value in given(verb).items() if value is not ONE}:
        system, a, b = model()
        with pytest.raises(
            FlexmbError, match=f"'new'.*{'(axis|normal)' if argument == 'normal' else argument}.*direction"
        ):
            getattr(system, verb)(**calls(system, a, b)[verb] | {argument: (0, 0, 0)})


@pytest.mark.parametrize(
    "verb", [v for v in VERBS if DIRECTIONS & set(inspect.signature(getattr(flexmb.System, v)).parameters)]
)
def test_directions_count_by_where_they_point(verb):
    """The length of long directions overflowed, so that they were zero, and that of short ones vanished."""

    def markers(size):
        system, a, b = model()
        arguments = calls(system, a, b)[verb]
        longer = {
            key: np.array(arguments[key]) * size for key in DIRECTIONS & {*arguments} if arguments[key] is not ONE
        }
        getattr(system, verb)(**arguments | longer)
        return system.build().markers

    for size in (2.0**-600, 2.0**330):
        for one, other in zip(markers(1.0), markers(size), strict=True):
            np.testing.assert_array_equal(one.axes, other.axes)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "build"])
def test_vectors_that_overflow_are_refused(verb):
    """Vectors of 1e200 ended in a division by zero, in errors of SciPy, or counted as zero."""
    for argument, value in given(verb).items():
        if isinstance(value, tuple) and np.shape(value) in ((3,), (6,)):
            system, a, b = model()
            with pytest.raises(FlexmbError, match=r"at most 1e\+100.* found .*1e\+200"):
                getattr(system, verb)(**calls(system, a, b)[verb] | {argument: (1e200,) * len(value)})


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("shape", [contact.Sphere, contact.Socket, contact.Cylinder, contact.Capsule, contact.Box])
def test_shapes_of_contacts_name_wrong_dimensions(shape, wrong):
    count = len(inspect.signature(shape).parameters)
    for k in range(count):
        with pytest.raises(FlexmbError, match=shape.title):
            shape(*(WRONG[wrong] if i == k else 1.0 for i in range(count)))
