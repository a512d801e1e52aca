"""Model files: the same mechanism as the same calls in Python; wrong files are answered with file, key and remedy."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from mechanisms import random_flexible_body
from test_files import differences

import fem
import flexmb
import reduction
from flexmb.errors import ModelFileError
from flexmb.files import load_model, save_body
from flexmb.files.models import motion_keys

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = (DOCS / "model-files.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]


def write(folder, text):
    path = folder / "model.toml"
    path.write_text(text, encoding="utf-8")
    return path


# what a file means --------------------------------------------------------------------------------------------------


def test_the_example_of_the_manual_equals_the_same_calls_in_python(tmp_path):
    model = load_model(write(tmp_path, EXAMPLE))
    system = flexmb.System(gravity=(0, -9.81, 0), name="pendulum on a cart")
    cart = system.add(flexmb.rigid_body("cart", mass=1, inertia=(0.01, 0.01, 0.01)))
    pendulum = system.add(
        flexmb.rigid_body("pendulum", mass=0.5, inertia=(1e-4, 0.04, 0.04), centre=(0.5, 0, 0), points={"top": (0, 0, 0), "tip": (1, 0, 0)}),
        orientation=(0, 0, -np.pi / 3),
    )  # fmt: skip
    system.prismatic("rail", system.ground.at((0, 0, 0)), cart, axis=(1, 0, 0))
    system.revolute("hinge", cart, pendulum["top"], axis=(0, 0, 1))
    system.set_speed("hinge", 1.0)
    system.joint_spring("return spring", "rail", stiffness=40, damping=0.2)
    system.load("gust", pendulum["tip"], force=(2, 0, 0), factor=flexmb.time_functions.pulse(0.5, 0.2, 1.0))
    assert differences(system.build(), model.system.build()) == []
    assert model.duration == 2.0
    assert model.options == {
        "step": 1e-3,
        "tolerance": 1e-6,
        "output_step": None,
        "max_step": None,
        "rho_inf": None,
        "project": False,
        "method": "generalised-alpha",
        "coordinates": "absolute",
        "newton_tolerance": 1e-8,
    }


def residual_order(model, duration, steps):
    """Slopes of the largest energy residual over the step, and the last result."""
    results = [flexmb.simulate(model.system, duration, **model.options | {"step": step}) for step in steps]
    errors = np.array([np.abs(r.ledger.residual).max() for r in results])
    return np.log(errors[:-1] / errors[1:]) / np.log(np.array(steps[:-1]) / steps[1:]), results[-1]


def test_the_example_of_the_manual_runs_and_loses_its_energy_error_with_order_two(tmp_path):
    model = load_model(write(tmp_path, EXAMPLE))
    slopes, result = residual_order(model, model.duration, (2e-3, 1e-3, 5e-4))
    assert np.abs(slopes - 2).max() < 0.1, slopes
    assert result.ledger.load_work[-1] != 0
    assert result.ledger.damper_heat[-1] > 0


PARTS = """
gravity = [0, 0, -1]
simulation = { duration = 1.0, tolerance = 1e-4, output_step = 0.1, rho_inf = 0.5, project = true }

[bodies.rod]
kind = "flexible"
file = "saved.h5"
position = [1, 2, 3]
orientation = [0.5, 0.5, 0.5, 0.5]
velocity = [1, 0, 0]
angular_velocity = [0, 1, 0]

[bodies.box]
kind = "rigid"
mass = 1
inertia = [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]]
points = { eye = [0, 0, 1] }
orientation = [0.1, 0, 0]

[[joints]]
name = "pin"
kind = "cylindrical"
a = "rod.start"
b = "box"
axis = [1, 0, 0]
dof = "rotation"
drive = { kind = "harmonic", amplitude = 0.1, frequency = 2, phase = 0.1, offset = -0.01 }

[[joints]]
name = "cardan"
kind = "universal"
a = "rod.end"
b = "box"
axis = [0, 0, 1]
second_axis = [1, 0, 0]

[[joints]]
name = "table"
kind = "prescribed"
a = "ground"
b = "box"
at = [0, 0, 0]
axis = [0, 1, 0]
x = { kind = "polynomial", coefficients = [0, 1, 2] }
rotation = { kind = "table", csv = "turn.csv" }

[[springs]]
name = "s"
a = "ground"
b = "box.eye"
at = [0, 5, 0]
stiffness = 3
damping = 1
length = 2

[[bushings]]
name = "u"
a = "box"
b = "rod.end"
stiffness = [1, 2, 3, 4, 5, 6]
damping = [6, 5, 4, 3, 2, 1]
axis = [1, 1, 0]

[[joint_springs]]
name = "j"
joint = "pin"
stiffness = 1
damping = 2
free = 3
dof = "translation"

[[motors]]
name = "m"
joint = "pin"
effort = { kind = "spin-up", speed = 2, duration = 3 }
damping = 0.1
dof = "translation"

[[motors]]
name = "constant"
joint = "pin"
effort = 2
dof = "rotation"

[[loads]]
name = "l"
place = "box"
force = [1, 2, 3]
moment = [4, 5, 6]
factor = { kind = "smooth-step", start = 1, duration = 2, height = 3 }
follower = true
"""


def test_every_table_of_the_format_arrives_where_it_belongs(tmp_path):
    body = random_flexible_body(np.random.default_rng(1))
    save_body(body, tmp_path / "saved.h5")
    (tmp_path / "turn.csv").write_text("# time, angle\n0, 0\n1, 0.1  # comment\n\n2, 0.5\n3, 0.2\n")
    model = load_model(write(tmp_path, PARTS))

    system = flexmb.System(gravity=(0, 0, -1))
    rod = system.add(body, name="rod", position=(1, 2, 3), orientation=[0.5] * 4, velocity=(1, 0, 0), angular_velocity=(0, 1, 0))  # fmt: skip
    inertia = np.array([[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3.0]])
    box = system.add(flexmb.rigid_body("box", mass=1, inertia=inertia, points={"eye": (0, 0, 1)}), orientation=(0.1, 0, 0))  # fmt: skip
    m = flexmb.time_functions
    system.cylindrical("pin", rod["start"], box, axis=(1, 0, 0))
    system.drive("pin", m.harmonic(0.1, 2, 0.1, -0.01), dof="rotation")
    system.universal("cardan", rod["end"], box, axis=(0, 0, 1), second_axis=(1, 0, 0))
    turn = m.table([0, 1, 2, 3], [0, 0.1, 0.5, 0.2])
    system.prescribe("table", system.ground, box, x=m.polynomial(0, 1, 2), rotation=turn, axis=(0, 1, 0), at=(0, 0, 0))
    system.spring_damper("s", system.ground.at((0, 5, 0)), box["eye"], stiffness=3, damping=1, length=2)
    system.bushing("u", box, rod["end"], stiffness=[1, 2, 3, 4, 5, 6], damping=[6, 5, 4, 3, 2, 1], axis=(1, 1, 0))
    system.joint_spring("j", "pin", stiffness=1, damping=2, free=3, dof="translation")
    system.motor("m", "pin", m.spin_up(2, 3), damping=0.1, dof="translation")
    system.motor("constant", "pin", 2.0, dof="rotation")
    system.load("l", box.at((0, 0, 0)), force=(1, 2, 3), moment=(4, 5, 6), factor=m.smooth_step(1, 2, 3), follower=True)

    ours, theirs = model.system.build(), system.build()
    assert differences(theirs, ours) == []
    for f, g in zip(ours.functions, theirs.functions, strict=True):
        for t in (0.01, 0.7, 1.9):
            assert f(t) == g(t)
    assert model.options == {
        "step": None,
        "tolerance": 1e-4,
        "output_step": 0.1,
        "max_step": None,
        "rho_inf": 0.5,
        "project": True,
        "method": "generalised-alpha",
        "coordinates": "absolute",
        "newton_tolerance": 1e-8,
    }


DEFAULTS = """
gravity = [0, 0, 0]  # default
simulation = { duration = 1 }
[bodies.cart]
kind = "rigid"
mass = 1
inertia = [1, 1, 1]
position = [0, 0, 0]  # default
orientation = [0, 0, 0]  # default
velocity = [0, 0, 0]  # default
angular_velocity = [0, 0, 0]  # default
centre = [0, 0, 0]  # default
points = { edge = [0, 1, 0] }
[bodies.wheel]
kind = "rigid"
mass = 1
inertia = [1, 1, 1]
[bodies.ball]
kind = "rigid"
mass = 1
inertia = [1, 1, 1]
position = [0, 0, 3]
points = { middle = [0, 0, 0] }
[[joints]]
name = "hinge"
kind = "revolute"
a = "cart.edge"
b = "wheel"
axis = [0, 0, 1]  # default
[[joints]]
name = "shaft"
kind = "revolute"
a = "cart.edge"
b = "wheel"
axis = [0, 0, 1]  # default
[[joints]]
name = "carrier"
kind = "revolute"
a = "ground"
at = [0, 0, 0]
b = "cart"
axis = [0, 0, 1]  # default
[[joints]]
name = "carried"
kind = "prescribed"
a = "ground"
at = [0, 0, 3]
b = "ball"
axis = [0, 0, 1]  # default
rotation = { kind = "spin-up", speed = 2, duration = 3 }
[[joints]]
name = "roll"
kind = "rolling"
a = "cart.edge"
b = "ball"
radius = 1
normal = [0, 0, 1]  # default
[[joints]]
name = "edge"
kind = "knife-edge"
a = "ground"
b = "cart.edge"
heading = [1, 0, 0]
normal = [0, 0, 1]  # default
[[joints]]
name = "axle"
kind = "differential"
first = "hinge"
second = "shaft"
carrier = "carrier"
ratio = -1  # default
[[springs]]
name = "spring"
a = "cart.edge"
b = "ball.middle"
stiffness = 2
damping = 0  # default
[[springs]]
name = "damper"
a = "cart.edge"
b = "ball.middle"
stiffness = 0  # default
damping = 2
[[bushings]]
name = "bushing"
a = "cart.edge"
b = "wheel"
stiffness = [1, 2, 3, 4, 5, 6]
damping = [0, 0, 0, 0, 0, 0]  # default
axis = [0, 0, 1]  # default
[[forces]]
name = "journal"
a = "cart.edge"
b = "wheel"
law = "plastic-hinge"
parameters = { stiffness = 100.0, limit = 2.0 }
axis = [0, 0, 1]  # default
[[joint_springs]]
name = "twist"
joint = "hinge"
stiffness = 2
damping = 0  # default
free = 0  # default
[[joint_springs]]
name = "drag"
joint = "hinge"
stiffness = 0  # default
damping = 2
[[frictions]]
name = "rub"
joint = "hinge"
coefficient = 0.1
radius = 0.2
axial_radius = 0  # default
preload = 0  # default
[[motors]]
name = "motor"
joint = "hinge"
effort = 2
damping = 0  # default
[[loads]]
name = "push"
place = "cart"
force = [1, 0, 0]
moment = [0, 0, 0]  # default
follower = false  # default
[[loads]]
name = "turn"
place = "cart"
force = [0, 0, 0]  # default
moment = [0, 1, 0]
[[winds]]
name = "wind"
body = "cart"
points = [[0, 0, 0], [0, 1, 0]]
density = 1.2
diameter = 0.1
velocity = [1, 0, 0]
coefficient = 1.2  # default
along = 0  # default
[[contacts]]
name = "touch"
a = { shape = "plane", place = "ground", at = [0, 0, -5], axis = [0, 0, 1] }
b = { shape = "sphere", place = "wheel", radius = 0.1 }
friction = 0  # default
restitution = 0  # default
impact = "newton"  # default
"""


def test_keys_that_are_left_out_have_their_default(tmp_path):
    """Those of the manual, spelled out and left out, make the same mechanism."""
    short = "\n".join(line for line in DEFAULTS.splitlines() if not line.endswith("# default"))
    given, left_out = (load_model(write(tmp_path, text)).system.build() for text in (DEFAULTS, short))
    own = ".frame_forces[0].call"  # each model has its own object for the law
    assert [found for found in differences(given, left_out) if not found.startswith(own)] == []


def test_every_motion_of_the_format_is_the_function_of_that_name(tmp_path):
    m = flexmb.time_functions
    table = [
        ('{ kind = "polynomial", coefficients = [1, 2] }', m.polynomial(1, 2)),
        ('{ kind = "harmonic", amplitude = 1, frequency = 2 }', m.harmonic(1, 2)),
        ('{ kind = "smooth-step", duration = 2, height = 3 }', m.smooth_step(0, 2, 3)),
        ('{ kind = "spin-up", speed = 2, duration = 3 }', m.spin_up(2, 3)),
        ('{ kind = "constant-speed", speed = 2, start = 0.5 }', m.constant_speed(2, 0.5)),
        ('{ kind = "constant-speed", speed = 2 }', m.constant_speed(2, 0)),
        ('{ kind = "pulse", duration = 0.2, height = 3 }', m.pulse(0, 0.2, 3)),
        ('{ kind = "pulse", start = 0.1, duration = 0.2, height = 3, period = 0.7 }', m.pulse(0.1, 0.2, 3, 0.7)),
        ('{ kind = "table", times = [0, 1, 2, 3], values = [0, 1, 0, 2] }', m.table([0, 1, 2, 3], [0, 1, 0, 2])),
        ('{ kind = "piecewise-linear", times = [0.1, 1], values = [0, 2] }', m.piecewise_linear([0.1, 1], [0, 2])),
        (
            '{ kind = "speed-profile", times = [0.1, 1], speeds = [2, 1], rounding = 0.2 }',
            m.speed_profile([0.1, 1], [2, 1], rounding=0.2),
        ),
        (
            '{ kind = "speed-profile", times = [0, 1], speeds = [2, 1], rounding = 0.5, start = 3 }',
            m.speed_profile([0, 1], [2, 1], rounding=0.5, start=3.0),
        ),
    ]
    for text, expected in table:
        gust = '{ kind = "pulse", start = 0.5, duration = 0.2, height = 1.0 }'
        assert gust in EXAMPLE
        (found,) = load_model(write(tmp_path, EXAMPLE.replace(gust, text))).system.build().functions
        for t in (0.15, 0.9, 1.3):
            assert found(t) == expected(t), text


def test_a_factor_may_be_a_number(tmp_path):
    gust = '{ kind = "pulse", start = 0.5, duration = 0.2, height = 1.0 }'
    (found,) = load_model(write(tmp_path, EXAMPLE.replace(gust, "100"))).system.build().functions
    assert found(0.3) == flexmb.time_functions.polynomial(100.0)(0.3)
    for wrong in ("true", '"100"', "nan", "[1.0, 2.0]"):
        with pytest.raises(
            ModelFileError, match=r"\.factor': expected a finite number or a table such as .*; found [^;]+$"
        ):
            load_model(write(tmp_path, EXAMPLE.replace(gust, wrong)))


def test_an_initial_state_of_joints_is_that_of_simulate(tmp_path):
    """Values and rates of joints in the file start the same motion as in Python, and the same analyses."""
    text = EXAMPLE + "\n[initial_state]\nhinge = 0.3\nrail = [0.05, -1.2]\n"
    model = load_model(write(tmp_path, text))
    given = {"hinge": 0.3, "rail": (0.05, -1.2)}
    assert model.options["initial_state"] == {"hinge": 0.3, "rail": [0.05, -1.2]}
    ours = flexmb.simulate(model.system, 0.05, **model.options)
    theirs = flexmb.simulate(load_model(write(tmp_path, EXAMPLE)).system, 0.05, step=1e-3, initial_state=given)
    for joint, value, rate in (("hinge", 0.3, 0.0), ("rail", 0.05, -1.2)):
        np.testing.assert_array_equal(ours.coordinate(joint), theirs.coordinate(joint))
        assert ours.coordinate(joint)[0] == pytest.approx(value)
        assert ours.coordinate_rate(joint)[0] == pytest.approx(rate, abs=1e-12)
    again = flexmb.simulate(model.mechanism(), 0.05, step=1e-3)
    np.testing.assert_array_equal(again.coordinate("hinge"), ours.coordinate("hinge"))
    changed = load_model(write(tmp_path, text), {"initial_state.hinge": 0.5})
    assert changed.options["initial_state"]["hinge"] == 0.5
    assert "initial_state" not in load_model(write(tmp_path, EXAMPLE)).options


def test_a_file_with_the_mark_of_windows_editors_is_read(tmp_path):
    (tmp_path / "model.toml").write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    assert load_model(tmp_path / "model.toml").system.name == "pendulum on a cart"


def test_the_slider_crank_of_the_examples_runs_and_loses_its_energy_error_with_order_two():
    """A flexible body from the shipped mesh, driven; what the driver does is energy and heat, up to the method's order."""
    model = load_model(DOCS / "examples" / "slider-crank.toml")
    slopes, result = residual_order(model, 0.01, (2e-5, 1e-5, 5e-6))
    assert np.abs(slopes - 2).max() < 0.1, slopes
    assert result.ledger.elastic.max() > 0
    rod = result.mechanism.bodies[result.mechanism.body_index("rod")]
    assert rod.modes >= 10
    assert rod.interface("small").point == pytest.approx([0.3, 0, 0])
    # the pin of the driven, rigid crank, from the formula of the spin-up
    angle = 300 / 0.03 * (0.01**2 / 2 + (np.cos(2 * np.pi / 3) - 1) / (2 * np.pi / 0.03) ** 2)
    pin = [0.075 * np.cos(angle), 0.075 * np.sin(angle), 0]
    assert result.position("crank.pin")[-1] == pytest.approx(pin, abs=1e-9 * 0.075)


DECK = """*NODE
{nodes}
*ELEMENT, TYPE=C3D8, ELSET=LEFT
1, 1, 2, 5, 4, 7, 8, 11, 10
*ELEMENT, TYPE=C3D8, ELSET=RIGHT
2, 2, 3, 6, 5, 8, 9, 12, 11
*NSET, NSET=ROOT
1, 4, 7, 10
*NSET, NSET=TIP
3, 6, 9, 12
"""
CORNERS = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1, 2)]
RUBBER = "{ youngs_modulus = 2.0, poissons_ratio = 0.3, density = 1.5 }"
FLEXIBLE_BODIES = {
    "plain": (f"material = {RUBBER}\nreduction = {{ modes = 5 }}", {"modes": 5}, {}, {}),
    "method": (f'material = {RUBBER}\nreduction = {{ method = "modal", modes = 3 }}', {"modes": 3}, {}, {}),
    "frame": (f'material = {RUBBER}\nreduction = {{ modes = 2, reference_frame = "root" }}', {"modes": 2, "reference_frame": "root"}, {}, {}),
    "tolerance": (f'material = {RUBBER}\nreduction = {{ method = "choose", band = 0.3, tolerance = 0.05 }}', {"band": (0, 0.3), "tolerance": 0.05}, {}, {}),
    "damping": (f"material = {RUBBER}\nreduction = {{ modes = 5 }}\nmodal_damping = 0.02\nrayleigh = [0.1, 0.3]", {"modes": 5}, {}, {"modal_damping": 0.02, "rayleigh": (0.1, 0.3)}),
    "two materials": (f'material = {{ LEFT = {RUBBER}, RIGHT = "aluminium:mm" }}\nreduction = {{ modes = 5 }}', {"modes": 5}, {"RIGHT": fem.Material.aluminium("mm")}, {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FLEXIBLE_BODIES)
def test_a_flexible_body_of_a_file_equals_the_same_calls_in_python(kind, tmp_path):
    """Mesh beside the model file; a rigid interface by name, an averaging one with its own point."""
    text, options, materials, damping = FLEXIBLE_BODIES[kind]
    nodes = "\n".join(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(CORNERS, 1))
    (tmp_path / "bar.inp").write_text(DECK.format(nodes=nodes))
    interfaces = 'interfaces = { root = "ROOT", tip = { set = "TIP", kind = "average", point = [2.5, 0, 0] } }'
    body = f'kind = "flexible"\nmesh = "bar.inp"\n{interfaces}\n{text}'
    path = write(tmp_path, f"simulation = {{ duration = 1 }}\n[bodies.bar]\n{body}\n")
    (found,) = load_model(path).system.build().bodies

    rubber = fem.Material.isotropic(2.0, 0.3, 1.5)
    material = {"LEFT": rubber, **materials} if materials else rubber
    tip = fem.Interface("TIP", kind="average", point=(2.5, 0, 0))
    part = fem.Model(fem.read_mesh(tmp_path / "bar.inp"), material).with_interfaces(root="ROOT", tip=tip)
    method = {"method": reduction.modal, "tolerance": reduction.choose}.get(kind, reduction.craig_bampton)
    expected = flexmb.flexible_body(part, method(part, **options), name="bar", **damping)
    assert list(found.interfaces) == ["root", "tip"]
    assert found.stiffness == pytest.approx(expected.stiffness, rel=1e-9)
    assert found.damping == pytest.approx(expected.damping, rel=1e-9)
    assert found.invariants.mass == pytest.approx(expected.invariants.mass, rel=1e-12)
    assert found.interface("tip").point == pytest.approx([2.5, 0, 0])
    for name in ("root", "tip"):  # a frame attached to the root leaves no motion there; signs of modes are free
        assert np.abs(found.interface(name).rows) == pytest.approx(np.abs(expected.interface(name).rows), abs=1e-6)


@pytest.mark.filterwarnings("ignore:Mesh 'bar'")
def test_a_model_file_says_what_of_a_deck_the_body_may_do_without(tmp_path):
    nodes = "\n".join(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(CORNERS, 1))
    (tmp_path / "bar.inp").write_text(
        DECK.format(nodes=nodes) + "*BOUNDARY\nROOT, 1, 3\n*STEP\n*CLOAD\nTIP, 1, 1.\n*END STEP\n"
    )
    body = f'simulation = {{ duration = 1 }}\n[bodies.bar]\nkind = "flexible"\nmesh = "bar.inp"\nmaterial = {RUBBER}\nreduction = {{ method = "modal", modes = 3 }}\n'
    with pytest.raises(
        ModelFileError, match=r"'bodies.bar'.*[\s\S]*BOUNDARY, line \d+ of bar.inp.*[\s\S]*CLOAD, line \d+"
    ):
        load_model(write(tmp_path, body))
    load_model(write(tmp_path, body + 'ignore = ["BOUNDARY", "STEP"]\n'))


# wrong files --------------------------------------------------------------------------------------------------------

FLEXIBLE = '[bodies.rod]\nkind = "flexible"\n{}\n\n[[joints]]'
MESHED = FLEXIBLE.format('mesh = "flexmb:conrod.msh"\n{}')
DRIVE = "speed = 1.0"

WRONG = {
    "syntax": ("mass = 1.0", "mass = ", ["not valid TOML", "line 10"]),
    "unknown key of a body": ("mass = 1.0", "mas = 1.0", ["'bodies.cart'", "no key named 'mas'", "Did you mean 'mass'?"]),
    "unknown key of the file": ("gravity =", "gravty =", ["no key named 'gravty'", "Did you mean 'gravity'?", "'bodies'"]),
    "unknown setting": ("step =", "stepsize =", ["'simulation'", "'stepsize'", "'output_step'", "'tolerance'"]),
    "missing key": ("mass = 1.0", "", ["'bodies.cart': mass is missing"]),
    "missing kind": ('kind = "rigid"\nmass = 1.0', "mass = 1.0", ["'bodies.cart.kind' is missing", '"rigid" or "flexible"']),
    "missing settings": ("[simulation]\nduration = 2.0\nstep = 1e-3", "", ["'simulation' is missing"]),
    "kind of body": ('"rigid"', '"rigd"', ["'bodies.cart'", "no kind named 'rigd'", "Did you mean 'rigid'?", "'flexible'"]),
    "density below zero": ("mass = 1.0\ninertia = [0.01, 0.01, 0.01]", "mesh = { sphere = 1.0 }\ndensity = -2.0", ["'bodies.cart.density'", "greater than 0", "found -2.0"]),
    "text for a number": ("mass = 1.0", 'mass = "1.0"', ["'bodies.cart.mass'", "valid number", "found '1.0'"]),
    "truth for a number": ("mass = 1.0", "mass = true", ["'bodies.cart.mass'", "valid number", "found True"]),
    "infinite mass": ("mass = 1.0", "mass = inf", ["'bodies.cart.mass'", "finite", "found inf"]),
    "negative duration": ("duration = 2.0", "duration = -2.0", ["'simulation.duration'", "greater than 0", "found -2.0"]),
    "two coordinates": ("centre = [0.5, 0, 0]", "centre = [0.5, 0]", ["'bodies.pendulum.centre'", "at least 3 items", "[0.5, 0]"]),
    "row of inertia": ("[0.01, 0.01, 0.01]", "[[1, 0, 0], [0, 1, 0], [0, 'x', 1]]", ["'bodies.cart.inertia[3][2]'", "found 'x'"]),
    "inertia of no body": ("[0.01, 0.01, 0.01]", "[0.01, 0.01, 0.05]", ["'bodies.cart'", "triangle inequality"]),
    "inertia as a number": ("[0.01, 0.01, 0.01]", "0.01", ["'bodies.cart.inertia'", "3 principal moments", "found 0.01"]),
    "orientation": ("{ axis = [0, 0, 1], degrees = -60 }", '"up"', ["'bodies.pendulum.orientation'", "quaternion", "degrees", "found 'up'"]),
    "angle of an orientation": ("degrees", "degree", ["'bodies.pendulum.orientation'", "'degree'", "Did you mean 'degrees'?"]),
    "axis without direction": ("axis = [0, 0, 1], d", "axis = [0, 0, 0], d", ["'bodies.pendulum.orientation.axis'", "cannot be zero"]),
    "axis of a joint": ("axis = [0, 0, 1]\n", "axis = [0, 0, 0]\n", ["'joints[2] ('hinge').axis'", "cannot be zero"]),
    "body called ground": ("[bodies.cart]", "[bodies.ground]", ["cannot be called 'ground'"]),
    "dot in a body's name": ("[bodies.cart]", '[bodies."a.b"]', ["cannot be called 'a.b'"]),
    "no body": (EXAMPLE[EXAMPLE.index("[bodies.cart]") :], "[bodies]", ["'bodies'", "at least 1 item"]),
    "kind of joint": ('"revolute"', '"revolut"', ["'joints[2] ('hinge').kind'", "no joint kind named 'revolut'", "Did you mean 'revolute'?", "'prescribed'", "'point-on-curve'", "'slider-on-curve'"]),
    "unknown body": ('b = "cart"', 'b = "crt"', ["'joints[1] ('rail')'", "no body named 'crt'", "Did you mean 'cart'?", "'ground'"]),
    "unknown point": ('"pendulum.top"', '"pendulum.to"', ["'joints[2] ('hinge')'", "no interface named 'to'", "Did you mean 'top'?", "'tip'"]),
    "point of the ground": ('b = "cart"', 'b = "ground.x"', ["'joints[1] ('rail')'", "ground has no interface 'x'"]),
    "place of a joint": ("at = [0, 0, 0]\n", "", ["'joints[1] ('rail')'", "bodies and the ground alone do not define a point", '"body.point" in a model file']),
    "same name twice": ('name = "hinge"', 'name = "rail"', ["'joints[2] ('rail')'", "'rail' is taken"]),
    "prescribed key of a hinge": (DRIVE, 'x = { kind = "spin-up", speed = 1, duration = 1 }', ["'joints[2] ('hinge')'", "no key named 'x'"]),
    "second axis of a hinge": (DRIVE, "second_axis = [1, 0, 0]", ["'joints[2] ('hinge')'", "second_axis belongs to a universal or constant-velocity joint", "'revolute'"]),
    "direction of nothing": (DRIVE, 'dof = "rotation"', ["'joints[2] ('hinge')'", "drive or speed", "neither"]),
    "kind of motion": (DRIVE, 'drive = { kind = "spinup" }', ["'joints[2] ('hinge').drive'", "'spinup'", "Did you mean 'spin-up'?"]),
    "motion without a key": (DRIVE, 'drive = { kind = "spin-up", duration = 1 }', ["'joints[2] ('hinge').drive.speed' is missing"]),
    "number for a motion": (DRIVE, "drive = 3", ["'joints[2] ('hinge').drive'", "expected a table", "found 3"]),
    "table from two sources": (DRIVE, 'drive = { kind = "table", csv = "a.csv", times = [1] }', ["'joints[2] ('hinge').drive'", "times and values, or csv"]),
    "speeds of a piecewise linear function": (DRIVE, 'drive = { kind = "piecewise-linear", times = [0, 1], speeds = [0, 1] }', ["'joints[2] ('hinge')", "speeds"]),
    "speed profile from two sources": (DRIVE, 'drive = { kind = "speed-profile", csv = "a.csv", times = [1], rounding = 0.1 }', ["a speed profile needs either times and speeds, or csv"]),
    "driver whose rate jumps": (DRIVE, 'drive = { kind = "piecewise-linear", times = [0, 1], values = [0, 1] }', ["'joints[2] ('hinge')'", "piecewise linear function of 2 points", "its rate jumps", "speed_profile"]),
    "absent table": (DRIVE, 'drive = { kind = "table", csv = "a.csv" }', ["'joints[2] ('hinge')'", "a.csv", "There is no table"]),
    "table of words": (DRIVE, 'drive = { kind = "table", csv = "words.csv" }', ["words.csv, line 2", "expected 2 numbers", "'t;x'"]),
    "empty table": (DRIVE, 'drive = { kind = "table", csv = "empty.csv" }', ["'joints[2] ('hinge')'", "empty.csv", "expected rows of numbers"]),
    "joint of a spring": ('joint = "rail"', 'joint = "rial"', ["'joint_springs[1] ('return spring')'", "no joint named 'rial'", "Did you mean 'rail'?"]),
    "negative stiffness": ("stiffness = 40.0", "stiffness = -40.0", ["'joint_springs[1] ('return spring').stiffness'", "found -40.0"]),
    "load on the ground": ('place = "pendulum.tip"', 'place = "ground"', ["'loads[1] ('gust')'", "needs a place on a body"]),
    "joint that holds nothing": ('"revolute"', '"free"', ["no joint kind named 'free'", "A body without a joint moves freely."]),
    "not a number": ("force = [2, 0, 0]", "force = [2, nan, 0]", ["'loads[1] ('gust').force[2]'", "finite"]),
    "effort": ("[[loads]]", '[[motors]]\nname = "m"\njoint = "rail"\neffort = [1]\n[[loads]]', ["'motors[1] ('m').effort'", "a number, an expression such as", "or a motion", "found [1]"]),
    "spring to a bare body": ("[[loads]]", '[[springs]]\nname = "s"\na = "cart"\nb = "pendulum.tip"\nstiffness = 1\n[[loads]]', ["'springs[1] ('s')'", "needs two attachments"]),
    "place of no ground": ("[[loads]]", '[[springs]]\nname = "s"\na = "pendulum.top"\nb = "pendulum.tip"\nat = [1, 0, 0]\nstiffness = 1\n[[loads]]', ["'springs[1] ('s')'", "neither end is on the ground"]),
    "no source of a body": ("[[joints]]", FLEXIBLE.format(""), ["'bodies.rod'", "needs mesh = ", "or file = "]),
    "two sources of a body": ("[[joints]]", FLEXIBLE.format('file = "a.h5"\nmodal_damping = 0.1'), ["'bodies.rod'", "'a.h5' is reduced already", "remove modal_damping"]),
    "absent body file": ("[[joints]]", FLEXIBLE.format('file = "a.h5"'), ["'bodies.rod'", "no body file", "a.h5"]),
    "absent mesh": ("[[joints]]", FLEXIBLE.format('mesh = "a.msh"\nmaterial = "steel"'), ["'bodies.rod'", "a.msh"]),
    "absent shipped mesh": ("[[joints]]", FLEXIBLE.format('mesh = "flexmb:rod.msh"\nmaterial = "steel"'), ["'bodies.rod'", "'rod.msh'", "conrod.msh"]),
    "mesh without material": ("[[joints]]", MESHED.format(""), ["'bodies.rod'", "'flexmb:conrod.msh' needs a material", 'or "file" for those that a deck has']),
    "unknown material": ("[[joints]]", MESHED.format('material = "stel"'), ["'bodies.rod'", "no material named 'stel'", "Did you mean 'steel'?", "youngs_modulus"]),
    "units of a material": ("[[joints]]", MESHED.format('material = "steel:inch"'), ["'bodies.rod'", "'inch'", "'mm'"]),
    "constant of a material": ("[[joints]]", MESHED.format("material = { youngs_modulus = 1, poisson = 0.3, density = 1 }"), ["'bodies.rod.material'", "no key named 'poisson'", "Did you mean 'poissons_ratio'?"]),
    "unphysical material": ("[[joints]]", MESHED.format("material = { youngs_modulus = 1, poissons_ratio = 0.5, density = 1 }"), ["'bodies.rod'", "Poisson's ratio", "found 0.5"]),
    "material of a cell set": ("[[joints]]", MESHED.format("material = { ROD = 3 }"), ["'bodies.rod.material.ROD'", "steel", "found 3"]),
    "unknown cell set": ("[[joints]]", MESHED.format('material = { RD = "steel" }\ninterfaces = { big = "BIG_END" }'), ["'bodies.rod'", "cell set named 'RD'", "'ROD'"]),
    "unknown set": ("[[joints]]", MESHED.format('material = "steel"\ninterfaces = { big = "BIGEND" }'), ["'bodies.rod'", "'BIGEND'", "Did you mean 'BIG_END'?"]),
    "interface as a number": ("[[joints]]", MESHED.format('material = "steel"\ninterfaces = { big = 3 }'), ["'bodies.rod.interfaces.big'", "name of a set", "found 3"]),
    "kind of interface": ("[[joints]]", MESHED.format('material = "steel"\ninterfaces = { big = { set = "BIG_END", kind = "rgd" } }'), ["'bodies.rod.interfaces.big.kind'", "'rigid' or 'average'", "found 'rgd'"]),
    "method of reduction": ("[[joints]]", MESHED.format('material = "steel"\nreduction = { method = "rubin" }'), ["'bodies.rod.reduction.method'", "'choose', 'contact', 'craig-bampton'", "'rubin'"]),
    "number of modes": ("[[joints]]", MESHED.format('material = "steel"\nreduction = { modes = -1 }'), ["'bodies.rod.reduction.modes'", "greater than or equal to 0", "found -1"]),
    "tolerance": ("[[joints]]", MESHED.format('material = "steel"\nreduction = { tolerance = 2.0 }'), ["'bodies.rod.reduction.tolerance'", "less than 1", "found 2.0"]),
    "joint of the initial state": ("[[joint_springs]]", "[initial_state]\nhing = 1\n[[joint_springs]]", ["no joint named 'hing'", "Did you mean 'hinge'?"]),
    "value of the initial state": ("[[joint_springs]]", "[initial_state]\nhinge = 'up'\n[[joint_springs]]", ["'initial_state.hinge'", "[value, rate]", "found 'up'"]),
    "band that is missing": ("[[joints]]", MESHED.format('material = "steel"\ninterfaces = { a = "BIG_END" }\nreduction = { method = "choose" }'), ["'choose' needs a band"]),
}  # fmt: skip


def test_a_motion_by_columns_of_a_file(tmp_path):
    """Titles, units and decimal commas as in tables of forces."""
    drive = 'drive = { kind = "table", csv = "log.csv", columns = ["time", "angle"] }'
    (tmp_path / "log.csv").write_text("angle;time\nrad;s\n0;0\n0,1;1\n0,5;2,5\n0,2;3\n")
    plain = 'drive = { kind = "table", times = [0, 1, 2.5, 3], values = [0, 0.1, 0.5, 0.2] }'
    same = load_model(write(tmp_path, EXAMPLE.replace(DRIVE, plain, 1))).mechanism()
    path = write(tmp_path, EXAMPLE.replace(DRIVE, drive, 1))
    found = load_model(path).mechanism()
    at = [[m.functions[0](t) for t in (0.3, 1.7, 2.9)] for m in (same, found)]
    np.testing.assert_array_equal(at[0], at[1])
    (tmp_path / "log.csv").write_text("angle;time\ndeg;s\n0;0\n0,1;1\n0,5;2,5\n0,2;3\n")
    with pytest.raises(ModelFileError, match="expected angles in radians"):
        load_model(path)


@pytest.mark.parametrize(
    ("titles", "keys", "refused"),
    [
        (
            "time [ms], speed [rad/s]",
            'kind = "speed-profile", rounding = 0.1',
            "'time .ms.': .*of time of the system, s.*0.001",
        ),
        (
            "time [s], speed [rpm]",
            'kind = "speed-profile", rounding = 0.1',
            "'speed .rpm.': .*angular velocity.* 0.1047",
        ),
        ("time [s], angle [mm]", 'kind = "table"', "'angle .mm.': .*found mm, which measures something else"),
        ("time [seconds], speed [rad/s]", 'kind = "speed-profile", rounding = 0.1', None),
        ("time, angle [rad]", 'kind = "table"', None),
    ],
)
def test_motions_in_other_units_are_refused(tmp_path, titles, keys, refused):
    """They were taken as they are."""
    (tmp_path / "log.csv").write_text(f"{titles}\n0, 0\n1, 0.1\n2.5, 0.5\n3, 0.2\n")
    text = EXAMPLE.replace(DRIVE, f'drive = {{ {keys}, csv = "log.csv" }}', 1)
    path = write(tmp_path, 'units = "mm-t-s"\n' + text)
    if refused is None:
        load_model(path)
    else:
        with pytest.raises(ModelFileError, match=refused):
            load_model(path)


SPEEDS = 'kind = "speed-profile", rounding = 0.1'


@pytest.mark.parametrize(
    ("titles", "keys", "refused"),
    [
        (
            "time [s], speed [rpm]",
            SPEEDS,
            r"expected .*rad per unit of time.*; found rpm\. Multiply .* by 0\.104719755 and",
        ),
        ("time, speed (RPM)", SPEEDS, "found RPM.*0.1047"),
        ("time, speed [min^-1]", SPEEDS, "found min.-1.*0.1047"),
        ("time, speed [rev/min]", SPEEDS, "found rev/min.*0.1047"),
        ("time, speed [Hz]", SPEEDS, "found Hz.*6.283"),
        ("time, speed [turns/s]", SPEEDS, "found turns/s.*6.283"),
        ("time, speed [deg/s]", SPEEDS, "expected angles in radians"),
        ("time, speed [deg s^-1]", SPEEDS, "found deg s.-1.*0.01745"),
        ("time, speed [mm/s]", SPEEDS, "found mm/s, which measures something else"),
        ("time, angle [rev]", 'kind = "table"', "found rev.*6.283"),
        ("time, angle [mm]", 'kind = "table"', "found mm, which measures something else"),
        ("time [N], angle", 'kind = "table"', "found N, which measures something else"),
        ("time [ms], speed [rad/s]", SPEEDS, None),
        ("time, speed [rad/min]", SPEEDS, None),
        ("t, speed (t)", SPEEDS, None),
        ("t, speed [1/s]", SPEEDS, None),
        ("t, speed [ticks]", SPEEDS, None),
    ],
)
def test_units_that_no_system_has_are_refused_without_units(tmp_path, titles, keys, refused):
    """A speed of 3000 rpm turned with 3000 rad/s where the model names no units: in any of them a turn is no radian."""
    (tmp_path / "log.csv").write_text(f"{titles}\n0, 0\n1, 0.1\n2.5, 0.5\n3, 0.2\n")
    path = write(tmp_path, EXAMPLE.replace(DRIVE, f'drive = {{ {keys}, csv = "log.csv" }}', 1))
    if refused is None:
        load_model(path)
    else:
        with pytest.raises(ModelFileError, match=f"joints.*{refused}"):
            load_model(path)


SERVO = """
[[motors]]
name = "motor"
joint = "hinge"
effort = 0

[[servos]]
marker = "pendulum.tip"
axis = "y"
motion = { kind = "table", csv = "log.csv" }
"""


def test_units_of_servos_and_references(tmp_path):
    """Neither was looked at."""
    log = tmp_path / "log.csv"
    log.write_text("time [s], place [m]\n0, 0\n1, 0.1\n2, 0.2\n3, 0.2\n")
    path = write(tmp_path, 'units = "mm-t-s"\n' + EXAMPLE + SERVO)
    with pytest.raises(ModelFileError, match=r"servos\[1\].*place .m.*unit of length of the system, mm, .*; found m"):
        load_model(path)
    given = "[[controllers]]\nname = 'c'\nlaw = { kind = 'pid', kp = 1.0 }\noutputs = { command = 'motor' }\n"
    given += "inputs = { measured = 'rate:hinge', reference = { kind = 'piecewise-linear', csv = 'log.csv' } }\n"
    motor = SERVO.partition("[[servos]]")[0]
    path = write(tmp_path, 'units = "mm-t-s"\n' + EXAMPLE + motor + given)
    for titles, found in (
        ("time [ms], speed", "time of the system, s, .*; found ms"),
        ("time, speed [rpm]", "found rpm"),
    ):
        log.write_text(f"{titles}\n0, 0\n1, 0.1\n")
        with pytest.raises(ModelFileError, match=rf"controllers\[1\].*{found}"):
            load_model(path)


def test_the_file_of_a_motion_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text("time [s], angle [rad]\n0, 0\n1, 0.1\n2.5, 0.5\n3, 0.2\n")
    read, whole = [], motion_keys.read_columns
    monkeypatch.setattr(motion_keys, "read_columns", lambda path: read.append(path) or whole(path))
    drive = 'drive = { kind = "table", csv = "log.csv" }'
    load_model(write(tmp_path, 'units = "mm-t-s"\n' + EXAMPLE.replace(DRIVE, drive, 1)))
    assert len(read) == 1


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_file_is_answered_with_file_key_and_remedy(kind, tmp_path):
    old, new, words = WRONG[kind]
    assert old in EXAMPLE
    (tmp_path / "words.csv").write_text("0, 1\nt;x\n")
    (tmp_path / "empty.csv").write_text("# nothing\n")
    with pytest.raises(ModelFileError) as caught:
        load_model(write(tmp_path, EXAMPLE.replace(old, new, 1)))
    for word in ("model.toml", *words):
        assert word in str(caught.value)


def test_several_errors_are_told_at_once_up_to_five(tmp_path):
    bad = EXAMPLE.replace("mass = 1.0", "mass = -1.0").replace("duration = 2.0", "duration = 0")
    with pytest.raises(ModelFileError) as caught:
        load_model(write(tmp_path, bad))
    assert "'simulation.duration'" in str(caught.value)
    assert "'bodies.cart.mass'" in str(caught.value)
    words = '["a", "b", "c"]'  # eight wrong numbers: inertia, force, and two of a centre
    many = (
        EXAMPLE.replace("[0.01, 0.01, 0.01]", words).replace("[2, 0, 0]", words).replace("[0.5, 0, 0]", '["a", "b", 0]')
    )
    with pytest.raises(ModelFileError) as caught:
        load_model(write(tmp_path, many))
    assert str(caught.value).count("; found '") == 5
    assert "and 3 more" in str(caught.value)


ROPE = '[[cables]]\nname = "rope"\nplaces = {}\nstiffness = 1e4\n[[loads]]'


@pytest.mark.parametrize(
    ("old", "new", "key", "found"),
    [
        ("[[loads]]", ROPE.format('["pendulum.top", [0, inf, 0]]'), "cables[1] ('rope').places[2][2]", "inf"),
        ("[[loads]]", ROPE.format('["pendulum.top", [0, "x", 0]]'), "cables[1] ('rope').places[2][2]", "'x'"),
        ("[[loads]]", ROPE.format('["pendulum.top", [0, 1]]'), "cables[1] ('rope').places[2]", "[0, 1]"),
        ("[[joints]]", MESHED.format('material = "steel"\ncells = ["ROD", 3]'), "bodies.rod.cells[2]", "3"),
    ],
)
def test_a_value_of_one_of_several_types_is_judged_as_what_it_is(old, new, key, found, tmp_path):
    """A list is not told that a text could be in its place, nor that numbers are needed for texts in another one."""
    with pytest.raises(ModelFileError) as caught:
        load_model(write(tmp_path, EXAMPLE.replace(old, new, 1)))
    assert str(caught.value).count("key '") == 1
    assert f"key '{key}': " in str(caught.value)
    assert str(caught.value).endswith(f"; found {found}.")


def test_a_body_may_be_called_like_a_kind(tmp_path):
    with pytest.raises(ModelFileError, match=r"key 'bodies\.rigid\.mass': input should be greater than 0"):
        load_model(
            write(tmp_path, EXAMPLE.replace("[bodies.cart]", "[bodies.rigid]").replace("mass = 1.0", "mass = 0"))
        )


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"no model file .*absent\.toml.*looked in"):
        load_model(tmp_path / "absent.toml")
    with pytest.raises(ModelFileError, match="cannot be read: it is a folder"):
        load_model(tmp_path)
    (tmp_path / "latin.toml").write_bytes('name = "M\u00fchle"'.encode("latin-1"))
    with pytest.raises(ModelFileError, match=r"latin\.toml, line 1: expected UTF-8"):
        load_model(tmp_path / "latin.toml")


def test_the_manual_names_every_key_of_the_format():
    """Each key of the schema stands between backquotes or in an example; `tomllib` reads the examples."""
    from flexmb.files.models import element_keys, law_keys, motion_keys, schema
    from flexmb.files.models.key_types import Keys

    text = (DOCS / "model-files.md").read_text(encoding="utf-8")
    assert tomllib.loads(EXAMPLE)["name"] == "pendulum on a cart"
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    for module in (schema, motion_keys, law_keys, element_keys):
        for table in vars(module).values():
            if isinstance(table, type) and issubclass(table, Keys):
                assert set(table.model_fields) <= words, table.__name__
