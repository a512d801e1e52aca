"""What a mechanism refuses: each with its message, word by word, beside the nearest input that it accepts."""

from functools import cache

import numba
import numpy as np
import pytest
from mechanisms import random_flexible_body
from refusals import refused

import fem
import flexmb
import reduction
from flexmb import controllers
from flexmb.contact import Plane, Sphere
from flexmb.errors import ControllerError, CurveError, JointError, LawError, MechanismError

Z = (0.0, 0.0, 1.0)
BEAM = random_flexible_body(np.random.default_rng(1), name="beam")


def model():
    """A wheel and a flexible beam of three modes, each on a hinge."""
    system = flexmb.System(name="m")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)), position=(1, 2, 0))
    beam = system.add(BEAM)
    system.revolute("hinge", system.ground, wheel, axis=Z, at=(1, 2, 0))
    system.revolute("shaft", system.ground, beam["start"], axis=Z)
    return system, wheel, beam


def test_places_on_a_flexible_body_are_its_interfaces():
    _, wheel, beam = model()
    message = (
        "Flexible body 'beam' can be attached only at its interfaces; found the point [1 2 3]. Existing interfaces: "
    )
    refused(MechanismError, f"{message}'start', 'end'.", beam.at, (1, 2, 3))
    assert (beam["end"].interface, wheel.at((1, 2, 3)).point.tolist()) == ("end", [1, 2, 3])


def test_a_cable_has_no_piece_along_a_flexible_body():
    system, wheel, beam = model()
    top, middle = system.ground.at((0, 3, 0)), wheel.at((0, 0, 0))
    refused(
        MechanismError,
        "Cable 'rope': its places 2 and 3 are on the flexible body 'beam'. Let it run over another body between them, "
        "or use a spring.",
        system.cable, "rope", [top, beam["start"], beam["end"]], stiffness=1.0,
    )  # fmt: skip
    system.cable("over", [top, beam["start"], middle, beam["end"]], stiffness=1.0)
    system.cable("along", [top, middle, wheel.at((0, 1, 0))], stiffness=1.0)


def test_points_of_lines_are_of_ordinary_size_and_on_meshes():
    system, wheel, beam = model()
    given = {"mass_per_length": 1.0, "speed": 1.0}
    refused(
        MechanismError,
        "Pipe flow 'pipe': its points need numbers of at most 1e+100; found [[0.0, 0.0, 0.0], [0.0, -1.1e+100, 0.0]].",
        system.pipe_flow, "pipe", wheel, [(0, 0, 0), (0, -1.1e100, 0)], **given,
    )  # fmt: skip
    system.pipe_flow("pipe", wheel, [(0, 0, 0), (0, -1e100, 0)], **given)
    refused(
        MechanismError,
        "Pipe flow 'hose': the flexible body 'beam' has no mesh, on whose nodes its line could run.",
        system.pipe_flow, "hose", beam, [(0, 0, 0), (1, 0, 0)], **given,
    )  # fmt: skip


def test_friction_of_exact_contacts_is_a_number_or_two():
    system, wheel, _ = model()
    shapes = Plane().on(system.ground.at((0, 0, -1))), Sphere(0.1).on(wheel.at((0, 0, 0)))
    for wrong in ((0.3,), (0.3, 0.2, 0.1), []):
        refused(
            MechanismError,
            f"Contact 'floor': friction is a number or (static, dynamic); found {wrong!r}.",
            system.contact, "floor", *shapes, friction=wrong,
        )  # fmt: skip
    for name, right in (("one", 0.3), ("two", (0.3, 0.2)), ("list", [0.3, 0.3])):
        system.contact(name, *shapes, friction=right)
    found = {contact.name: (contact.friction, contact.static) for contact in system.build().contacts}
    assert found == {"one": (0.3, 0.3), "two": (0.2, 0.3), "list": (0.3, 0.3)}


def connected(source):
    system, _, _ = model()
    system.controller("one", controllers.pid(1.0), inputs={"measured": "coordinate:hinge"}, outputs=EFFORT)
    system.controller("servo", controllers.pid(1.0), inputs={"measured": source}, outputs=EFFORT)
    return system.build()


EFFORT = {"command": "effort:hinge"}
INPUT = "Controller 'servo', input 'measured': "
AXIS = INPUT + "a continuous controller reads one axis, as in position:rod.end:z; found "
STILL = INPUT + "the ground does not move; found "
MODES = INPUT + "body 'beam' has the elastic coordinates 1 to 3; found "
READS = "Controller 'servo' reads "


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("position:wheel", f"{AXIS}'position:wheel'."),
        ("velocity:wheel:w", f"{AXIS}'velocity:wheel:w'."),
        ("position::x", f"{AXIS}'position::x'."),
        ("deflection:beam.end", f"{AXIS}'deflection:beam.end'."),
        ("position:ground:z", f"{STILL}'position:ground:z'."),
        ("velocity:ground:x", f"{STILL}'velocity:ground:x'."),
        (
            "elastic:beem:1",
            f"{INPUT}There is no body named 'beem'. Did you mean 'beam'? Existing: 'beam', 'wheel'.",
        ),
        ("elastic:beam:4", f"{MODES}'elastic:beam:4'."),
        ("elastic-rate:beam:0", f"{MODES}'elastic-rate:beam:0'."),
        ("elastic:beam:x", f"{MODES}'elastic:beam:x'."),
        (
            "command:onne:command",
            f"{READS}'command:onne:command': There is no controller named 'onne'. Did you mean 'one'? Existing: 'one', "
            "'servo'.",
        ),
        (
            "command:one:comand",
            f"{READS}'command:one:comand': There is no command named 'comand'. Did you mean 'command'? Existing: "
            "'command'.",
        ),
    ],
)
def test_sources_of_inputs_are_refused(source, message):
    refused(ControllerError, message, connected, source)


@pytest.mark.parametrize(
    "source",
    ["position:wheel:x", "deflection:beam.end:z", "elastic:beam:1", "elastic-rate:beam:3", "command:one:command"],
)
def test_sources_of_inputs_are_accepted(source):
    assert connected(source).controllers[-1].signals[0].source == source


def test_one_command_acts_on_a_motor():
    def commanded(target):
        system, _, _ = model()
        system.motor("drive", "hinge", 0.0)
        for name, output in (("one", "effort:drive"), ("two", target)):
            inputs = {"measured": "coordinate:hinge"}
            system.controller(name, controllers.pid(1.0), inputs=inputs, outputs={"command": output})
        return system.build()

    message = "Controller 'two', command 'command': a command of 'one' acts on 'drive' already."
    refused(ControllerError, message, commanded, "effort:drive")
    assert "drive" in commanded("effort:hinge").force_elements


def hold(t, inputs, states, parameters, commands, rates):
    commands[0] = 0.0


def test_the_sample_time_fits_the_law():
    sampled, continuous = (
        flexmb.control_law(hold, inputs=("a",), commands=("u",), states=("z",), updates=updates)
        for updates in (True, False)
    )
    refused(LawError, "The law 'hold' returns states after a sample: give it a sample_time.", sampled)
    refused(
        LawError,
        "The law 'hold' returns rates of its states and is continuous; found sample_time=0.1. A sampled law returns the "
        "states after a sample (updates=True).",
        continuous, sample_time=0.1,
    )  # fmt: skip
    either = flexmb.control_law(hold, inputs=("a",), commands=("u",))
    found = [law.sample_time for law in (sampled(sample_time=0.1), continuous(), either(), either(sample_time=0.2))]
    assert found == [0.1, None, None, 0.2]


@numba.njit
def texted(t, x, xdot):
    return x["k"]


@numba.njit
def text_command(t, inputs, states, parameters, commands, rates):
    commands[0] = inputs["k"]


@numba.njit
def text_wrench(t, relative, states, parameters, wrench, rates):
    wrench[0] = parameters["k"]


def spring(t, relative, states, parameters, wrench, rates):
    wrench[0] = -parameters[0] * relative.d[0]


def text_tangent(t, relative, states, parameters, stiffness, damping):
    stiffness[0, 0] = parameters["k"]


def with_law(kind):
    system, wheel, _ = model()
    if kind == "coordinate":
        system.joint_spring("own", "hinge", law=texted)
    elif kind == "command":
        law = flexmb.control_law(text_command, inputs=("a",), commands=("u",), name="own")
        system.controller("servo", law(), inputs={"a": 0.0}, outputs={"u": "effort:hinge"})
    else:
        given = (spring, {"tangent": text_tangent}) if kind == "tangent" else (text_wrench, {})
        law = flexmb.law(given[0], parameters=("k",), name="own", **given[1])
        system.force("element", system.ground, wheel, law(k=1.0), at=(1, 2, 0))
    return flexmb.simulate(system, 1e-3, step=1e-3)


FOUND = "No implementation of function Function(<built-in function getitem>) found for signature: >>> getitem("
ARRAY = f"{FOUND}readonly array(float64, 1d, C), Literal[str](k))"


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="without compilation")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "coordinate",
            f"The law of 'own' cannot be compiled for (t, x, xdot) as floats: {FOUND}float64, Literal[str](k))",
        ),
        ("command", f"The law 'own' cannot be compiled: {ARRAY}"),
        ("wrench", f"The law 'own' cannot be compiled: {ARRAY}"),
        ("tangent", f"The tangent of the law 'own' cannot be compiled: {ARRAY}"),
    ],
)
def test_laws_that_cannot_be_compiled_tell_why(kind, message):
    """The message only said in which step the compilation had failed."""
    refused(LawError, message, with_law, kind)


RANGE = "A curve needs start < end and at least 6 pieces; found "
CUSP = "A curve must be smooth; found a cusp, at which it turns back. Add points there."


def straight(*ends, **options):
    return flexmb.curves.of_functions(lambda s: s, lambda s: 0.0, *ends, **options)


@pytest.mark.parametrize(
    ("message", "call", "given"),
    [
        (f"{RANGE}1, 1 and 256.", straight, (1, 1)),
        (f"{RANGE}2, 1 and 256.", straight, (2, 1)),
        (f"{RANGE}0, inf and 256.", straight, (0, np.inf)),
        (f"{RANGE}-inf, 0 and 256.", straight, (-np.inf, 0)),
        (
            "A curve needs points that are finite numbers; found one that is not.",
            flexmb.curves.of_functions,
            (lambda s: s, lambda s: np.nan if s == 0.5 else 0.0, 0, 1),
        ),
        (CUSP, flexmb.curves.of_functions, (lambda s: s * s, lambda s: s**3, -1, 1)),
        (CUSP, flexmb.curves.through, ([(0, 0), (1, 0), (2, 0), (3, 0), (2.5, 0), (1.5, 0)],)),
    ],
)
def test_what_is_no_curve_is_refused(message, call, given):
    refused(CurveError, message, call, *given)


def test_curves_have_a_whole_number_of_pieces():
    """Half pieces and texts were errors of Python."""
    for wrong in (5, 6.5, "many", None, float("nan"), 8.0):
        refused(CurveError, f"{RANGE}0, 1 and {wrong}.", straight, 0, 1, pieces=wrong)
    assert [len(straight(0, 1, pieces=count).points) for count in (6, np.int64(7))] == [7, 8]


def test_strands_of_belts_are_elastic():
    system, _, _ = model()
    message = "Belt 'belt': its strands need a positive stiffness; a rigid belt is a gear."
    refused(MechanismError, message, system.belt, "belt", "hinge", "shaft", radii=(0.1, 0.2), stiffness=0.0)
    system.belt("belt", "hinge", "shaft", radii=(0.1, 0.2), stiffness=1.0)


def test_a_coordinate_occurs_once_in_a_relation():
    system, _, _ = model()
    message = "Relation 'pair': the rotation of joint 'hinge' occurs twice. Give each coordinate one factor."
    refused(JointError, message, system.relation, "pair", {"hinge": 1.0, "hinge:rotation": 2.0})
    system.relation("pair", {"hinge:rotation": 1.0, "shaft": 2.0})


@cache
def built():
    system, wheel, _ = model()
    system.contact("floor", Plane().on(system.ground.at((0, 0, -1))), Sphere(0.1).on(wheel.at((0, 0, 0))))
    system.controller("servo", controllers.pid(1.0), inputs={"measured": "coordinate:hinge"}, outputs=EFFORT)
    return system.build()


def test_names_of_a_mechanism_that_do_not_exist():
    m = built()
    wheel = "There is no body named 'whel'. Did you mean 'wheel'? Existing: 'beam', 'wheel'."
    refused(MechanismError, wheel, m.body_index, "whel")
    servo = "There is no controller named 'serve'. Did you mean 'servo'? Existing: 'servo'."
    refused(ControllerError, servo, m.controller, "serve")
    floor = "There is no contact named 'flor'. Did you mean 'floor'? Existing: 'floor'."
    refused(MechanismError, floor, m.contact_state, "flor")
    with pytest.raises(
        MechanismError, match=r"^There is no marker named 'beam\.ent'\. Did you mean 'beam\.end'\? Existing:"
    ):
        m.marker_index("beam.ent")
    assert m.markers[m.marker_index("beam.end")].name == "beam.end"
    assert (m.body_index("beam"), m.controller("servo").name, m.contact_state("floor")) == (
        1,
        "servo",
        len(m.controller("servo").begin),
    )


def test_functions_of_time_have_values():
    system, _, _ = model()
    root = flexmb.time_functions.function(
        lambda t: np.sqrt(0.5 - t) if t <= 0.5 else np.nan, lambda t: 0.0, lambda t: 0.0
    )
    system.motor("drive", "hinge", root)
    mechanism = system.build()
    assert np.isfinite(mechanism.function_table(np.array([0.0, 0.5]))).all()
    with pytest.raises(MechanismError, match=r"^The motion '.*' is not finite at t = 0\.6\.$"):
        mechanism.function_table(np.array([0.5, 0.6, 0.7]))


def test_laws_over_times_that_fail_are_named():
    """A law that the stored motion leaves, which the steps between its times did not reach."""
    system, _, _ = model()
    fails = []

    def law(t, x, xdot):
        if fails:
            raise ValueError("closed")
        return -x

    system.joint_spring("own", "hinge", law=law)
    result = flexmb.simulate(system, 1e-3, step=1e-3)
    assert result.effort("own") == pytest.approx(-result.coordinate("hinge"))
    fails.append(True)
    refused(LawError, "The law of 'own' failed: ValueError: closed", result.effort, "own")


def test_interfaces_of_a_part_in_pieces():
    mesh = fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 4)
    part = fem.Model(mesh, fem.Beam(fem.Material.steel(), fem.Section.circle(0.02)), name="rod")
    part = part.with_interfaces(root="start", tip="end")
    made = flexmb.split(flexmb.System(), part, 2, lambda piece: reduction.craig_bampton(piece, modes=1))
    message = "There is no interface of 'rod' named 'tp'. Did you mean 'tip'? Existing: 'root', 'tip'."
    refused(MechanismError, message, made.__getitem__, "tp")
    assert (made["root"].body, made["tip"].body) == (0, 1)
