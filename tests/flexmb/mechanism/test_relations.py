"""Relations between joint coordinates: gears, racks, screws, differentials, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import flexmb
from flexmb.analyses.mobility import mobility
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.errors import AssemblyWarning, EventError, IntegratorError, JointError, MechanismError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.kernels.base.data import ANGLE, TRANSLATION
from flexmb.kernels.equations.displacement import displace
from flexmb.linear.equilibrium import equilibrium
from flexmb.linear.linearise import linearise
from flexmb.mechanism.compile import compiled
from flexmb.simulation.events import Event, Release
from flexmb.study import adjoint_gradient, direct_gradient

METHODS = [
    ("generalised-alpha", {"step": 5e-3}),
    ("generalised-alpha", {"step": 5e-3, "coordinates": "joint"}),
    ("hht", {"step": 5e-3}),
    ("radau", {"tolerance": 1e-9}),
    ("bdf", {"tolerance": 1e-9}),
    ("explicit", {"tolerance": 1e-9}),
    ("energy-momentum", {"step": 5e-3}),
]


def wheel(system, name, joint, *, inertia=1.0, at=(0, 0, 0), base=None, mass=1.0):
    body = system.add(flexmb.rigid_body(name, mass=mass, inertia=(inertia,) * 3), position=at)
    system.revolute(joint, system.ground if base is None else base, body, axis=(0, 0, 1), at=at)
    return body


def train(ratio=-2.0, first=0.3, second=0.7, torque=1.0):
    system = flexmb.System()
    wheel(system, "a", "in", inertia=first)
    wheel(system, "b", "out", inertia=second, at=(1, 0, 0))
    system.gear("mesh", "in", "out", ratio=ratio)
    system.motor("engine", "in", torque)
    return system


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_train_accelerates_its_reflected_inertia(method, options):
    result = flexmb.simulate(train(), 4.0, method=method, output_step=0.5, **options)
    rate = 1.0 / (0.3 + 4 * 0.7)
    np.testing.assert_allclose(result.coordinate("in"), 0.5 * rate * result.t**2, rtol=1e-7)
    np.testing.assert_allclose(result.coordinate("out"), -rate * result.t**2, rtol=1e-7)
    assert result.coordinate("out")[-1] < -5.0  # turns are counted
    np.testing.assert_allclose(result.relation_effort("mesh", "in"), 0.3 * rate - 1.0, rtol=1e-7)
    np.testing.assert_allclose(result.relation_effort("mesh", "out:rotation"), -2 * 0.7 * rate, rtol=1e-7)
    np.testing.assert_allclose(result.reaction("mesh")[:, 5], 0.3 * rate - 1.0, rtol=1e-7)
    assert result.ledger.imbalance < 1e-6


def test_the_explicit_method_in_joint_coordinates_refuses_relations_by_name():
    with pytest.raises(IntegratorError, match="'mesh'"):
        flexmb.simulate(train(), 1.0, method="explicit", coordinates="joint")


def planetary(z_sun=20, z_planet=15, sun=0.01, carrier=0.05, planet=0.004, mass=0.8, radius=0.1, torque=2.0):
    """A sun that drives a carrier: one planet, as a body, rolls inside the fixed ring."""
    system = flexmb.System()
    wheel(system, "sun", "sun shaft", inertia=sun)
    arm = wheel(system, "arm", "arm shaft", inertia=carrier)
    wheel(system, "planet", "pin", inertia=planet, at=(radius, 0, 0), base=arm, mass=mass)
    z_ring = z_sun + 2 * z_planet
    system.relation("at the sun", {"pin": z_planet, "sun shaft": z_sun, "arm shaft": -z_sun})
    system.relation("at the ring", {"pin": z_planet, "arm shaft": z_ring})
    system.motor("engine", "sun shaft", torque)
    return system


def test_a_planetary_train_of_bodies_has_the_reflected_inertia_of_willis():
    result = flexmb.simulate(planetary(), 2.0, step=5e-3, output_step=0.5)
    arm = 20 / (20 + 50)  # carrier over sun, ring held
    spin = arm * (1 - 50 / 15)  # planet over sun
    inertia = 0.01 + (0.05 + 0.8 * 0.1**2) * arm**2 + 0.004 * spin**2
    angle = 0.5 * 2.0 / inertia * result.t**2
    np.testing.assert_allclose(result.coordinate("sun shaft"), angle, rtol=1e-9)
    np.testing.assert_allclose(result.coordinate("arm shaft"), arm * angle, rtol=1e-9)
    np.testing.assert_allclose(result.coordinate("pin"), -50 / 15 * arm * angle, rtol=1e-9)


def test_a_planetary_gear_without_planets_is_a_differential_with_its_standing_ratio():
    """The same train, with the differential of sun, ring and carrier in place of the planet."""
    system = flexmb.System()
    wheel(system, "sun", "sun shaft", inertia=0.01)
    wheel(system, "arm", "arm shaft", inertia=0.05)
    wheel(system, "ring", "ring shaft", inertia=0.3)
    system.differential("planets", "sun shaft", "ring shaft", "arm shaft", ratio=-20 / 50)
    system.motor("engine", "sun shaft", 2.0)
    result = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.5)
    free = np.block(
        [[np.diag([0.01, 0.05, 0.3]), np.array([[-0.4], [1.4], [-1.0]])], [np.array([[-0.4, 1.4, -1.0, 0]])]]
    )
    rates = np.linalg.solve(free, [2.0, 0, 0, 0])
    for joint, rate in zip(("sun shaft", "arm shaft", "ring shaft"), rates[:3], strict=True):
        np.testing.assert_allclose(result.coordinate(joint), 0.5 * rate * result.t**2, rtol=1e-9)


def jack(lead=0.01, mass=50.0, inertia=2e-4, slope=0.0):
    system = flexmb.System(gravity=(0, 0, -9.81))
    nut = system.add(flexmb.rigid_body("nut", mass=mass, inertia=(1, 1, inertia)), position=(0, 0, 0.3))
    system.cylindrical("spindle", system.ground.at((0, 0, 0)), nut.at((0, 0, 0)), axis=(0, 0, 1))
    system.screw("thread", "spindle", lead=lead)
    if slope:
        system.joint_spring("spring", "spindle", stiffness=slope, dof="rotation")
    return system


def test_a_free_screw_jack_sinks_with_its_reflected_inertia_from_where_it_is_drawn():
    result = flexmb.simulate(jack(), 1.0, method="radau", tolerance=1e-10, output_step=0.25)
    turn = 2 * np.pi / 0.01
    fall = 50 * 9.81 / (50 + 2e-4 * turn**2)
    np.testing.assert_allclose(result.coordinate("spindle", "translation"), 0.3 - 0.5 * fall * result.t**2, rtol=1e-9)
    np.testing.assert_allclose(result.coordinate("spindle", "rotation"), -0.5 * turn * fall * result.t**2, rtol=1e-8)


@pytest.mark.parametrize("order", [("rotation", "translation"), ("translation", "rotation")])
def test_the_reaction_of_a_thread_has_its_moment_and_its_force(order):
    """The thread alone holds a nut on a tilted spindle along the spindle, and turns its inertia."""
    tilt = np.array([0.0, 0.6, 0.8])
    system = flexmb.System(gravity=-9.81 * tilt)
    nut = system.add(flexmb.rigid_body("nut", mass=50.0, inertia=(0.3, 0.3, 0.3)))
    system.cylindrical("spindle", system.ground, nut, axis=tilt, at=(0, 0, 0))
    factors = {"rotation": 0.05, "translation": -1.0}
    system.relation("thread", {f"spindle:{dof} z": factors[dof] for dof in order})
    result = flexmb.simulate(system, 0.1, step=1e-3)
    fall = 50 * 9.81 / (50 + 0.3 / 0.05**2)
    np.testing.assert_allclose(result.relation_effort("thread", "spindle:translation z"), 50 * (9.81 - fall), rtol=1e-7)
    wrench = np.concatenate([50 * (9.81 - fall) * tilt, -0.3 * fall / 0.05 * tilt])
    np.testing.assert_allclose(result.reaction("thread"), np.tile(wrench, (len(result.t), 1)), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(result.reaction("spindle"), 0.0, atol=1e-7)


def test_equilibrium_and_frequency_of_a_jack_on_a_torsion_spring():
    rest = equilibrium(jack(slope=3.0))
    twist = -50 * 9.81 * 0.01 / (2 * np.pi) / 3.0
    result = flexmb.simulate(rest.mechanism, 0.01, step=1e-3, initial_state=rest.state)
    np.testing.assert_allclose(result.coordinate("spindle", "rotation")[0], twist, rtol=1e-8)
    frequency = np.sqrt(3.0 / (2e-4 + 50 * (0.01 / (2 * np.pi)) ** 2))
    found = linearise(rest).modes()
    np.testing.assert_allclose(np.abs(found.eigenvalues).max(), frequency, rtol=1e-6)


def test_a_rack_moves_by_the_radius_times_the_angle():
    system = flexmb.System()
    wheel(system, "pinion", "shaft", inertia=0.02)
    bar = system.add(flexmb.rigid_body("bar", mass=3.0, inertia=(1, 1, 1)), position=(0.5, -0.1, 0))
    system.prismatic("rail", system.ground, bar, axis=(1, 0, 0), at=(0, -0.1, 0))
    system.rack("teeth", "shaft", "rail", radius=0.1)
    system.motor("engine", "shaft", 1.5)
    result = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.5)
    rate = 1.5 / (0.02 + 3 * 0.1**2)
    np.testing.assert_allclose(result.coordinate("rail"), 0.5 * 0.1 * rate * result.t**2, atol=1e-9)
    np.testing.assert_allclose(result.relation_effort("teeth", "rail"), 0.1 * 3.0 * rate, rtol=1e-8)
    power = sum(result.relation_effort("teeth", j) * result.coordinate_rate(j) for j in ("shaft", "rail"))
    np.testing.assert_allclose(power, 0.0, atol=1e-9)


def tumbling():
    """A free body that tumbles with two rotors on skew axes, geared to each other."""
    system = flexmb.System()
    hull = system.add(flexmb.rigid_body("hull", mass=2.0, inertia=(0.3, 0.5, 0.4)), angular_velocity=(1.0, -0.4, 0.7))
    for name, at, axis in (("p", (0.3, 0, 0), (1, 1, 0)), ("q", (0, 0.2, 0.1), (0, 1, 2))):
        rotor = system.add(flexmb.rigid_body(name, mass=0.5, inertia=(0.02, 0.05, 0.03)), position=at)
        system.revolute(f"{name} shaft", hull, rotor, axis=axis, at=at)
    system.gear("mesh", "p shaft", "q shaft", ratio=3.0)
    system.set_speed("p shaft", 5.0)
    return system


@pytest.mark.parametrize(("method", "options"), [("radau", {"tolerance": 1e-9}), ("energy-momentum", {"step": 5e-3})])
def test_gears_on_a_tumbling_carrier_conserve_momentum_and_energy(method, options):
    result = flexmb.simulate(tumbling(), 0.8, method=method, output_step=0.2, **options)
    p, q = result.coordinate("p shaft"), result.coordinate("q shaft")
    assert np.ptp(p) > 3.5
    np.testing.assert_allclose(q, 3.0 * p, atol=1e-8)
    about = result.angular_momentum()
    assert np.abs(about - about[0]).max() < 1e-7 * np.abs(about[0]).max()
    assert np.ptp(result.ledger.total) < 1e-7 * result.ledger.total[0]


def test_generalised_alpha_keeps_its_order_with_a_gear():
    exact = flexmb.simulate(tumbling(), 1.0, method="radau", tolerance=1e-11, output_step=1.0)
    errors = []
    for step in (1e-2, 5e-3):
        found = flexmb.simulate(tumbling(), 1.0, step=step, output_step=1.0)
        errors.append(abs(found.coordinate("p shaft")[-1] - exact.coordinate("p shaft")[-1]))
        errors.append(abs(found.relation_effort("mesh", "p shaft")[-1] - exact.relation_effort("mesh", "p shaft")[-1]))
    orders = np.log2(np.array(errors[:2]) / np.array(errors[2:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


def test_the_jacobian_of_a_relation_is_its_derivative_on_the_manifold():
    mechanism = tumbling().build()
    flat, rng = compiled(mechanism), np.random.default_rng(5)
    functions, q = mechanism.function_values(0.0), np.empty_like(mechanism.initial.q)
    displace(flat, mechanism.initial.q, 0.1 * rng.normal(size=flat.v_start[-1]), q)
    direction, values = rng.normal(size=flat.v_start[-1]), []
    for h in (2e-4, 1e-4, -1e-4, -2e-4):
        moved = np.empty_like(q)
        displace(flat, q, h * direction, moved)
        values.append(row_jacobian(mechanism, flat, moved, functions)[0])
    numerical = (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * 1e-4)
    row = mechanism.joint("mesh").rows[0]
    np.testing.assert_allclose(
        (row_jacobian(mechanism, flat, q, functions)[1] @ direction)[row], numerical[row], atol=1e-9
    )


def test_a_geared_shaft_may_be_driven_and_starts_where_the_driver_says():
    system = train(torque=0.0)
    system.drive("out", flexmb.time_functions.constant_speed(4.0, start=10.0))
    result = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.5)
    np.testing.assert_allclose(result.coordinate("in"), -0.5 * (10.0 + 4.0 * result.t), atol=1e-9)


def test_mobility_counts_a_relation():
    found = mobility(train())
    assert (found.rigid, found.redundancy) == (1, 0)
    assert found.is_unique("mesh")


@pytest.mark.parametrize("parameter", ["ratio", "first", "second"])
def test_adjoint_and_direct_derivatives(parameter):
    at = {"ratio": -2.0, "first": 0.3, "second": 0.7}

    def model(**values):
        return train(**values)

    def angle(result):
        return result.coordinate("in")

    given = {"step": 5e-3, "output_step": 5e-3, "newton_tolerance": 1e-11}
    back = adjoint_gradient(model, at, 0.5, angle, over="final", **given)
    forth = direct_gradient(model, at, 0.5, measure=lambda r: {"x": angle(r)[-1]}, **given)
    k = list(at).index(parameter)
    inertia = 0.3 + 4 * 0.7
    exact = -0.5 * 0.25 / inertia**2 * np.array([-4 * 0.7, 1.0, 4.0])
    np.testing.assert_allclose(back.of("result")[k], exact[k], rtol=1e-6)
    np.testing.assert_allclose(forth.of("x")[k], exact[k], rtol=1e-6)


def test_a_result_with_relations_is_the_same_from_its_file(tmp_path):
    result = flexmb.simulate(planetary(), 0.2, step=5e-3, output_step=0.1)
    read = load_result(save_result(result, tmp_path / "train.h5"))
    for coordinate in ("pin", "sun shaft", "arm shaft"):
        name = "at the sun"
        np.testing.assert_array_equal(read.relation_effort(name, coordinate), result.relation_effort(name, coordinate))
    assert read.verdict.drift.opening < 1e-10


WRONG = {
    "zero ratio": (lambda s: s.gear("mesh", "in", "out", ratio=0.0), "must be a finite number other than zero"),
    "no number": (lambda s: s.gear("mesh", "in", "out", ratio="2"), "must be a finite number"),
    "infinite": (lambda s: s.rack("mesh", "in", "rail", radius=np.inf), "must be a finite number"),
    "twice": (lambda s: s.gear("mesh", "in", "in", ratio=2.0), "occurs twice|needs at least two"),
    "no rotation": (lambda s: s.gear("mesh", "in", "rail", ratio=2.0), "'rail' .prismatic. has no free rotation"),
    "no such joint": (lambda s: s.gear("mesh", "inn", "out", ratio=2.0), "inn"),
    "one coordinate": (lambda s: s.relation("mesh", {"in": 1.0}), "at least two coordinates"),
    "no dictionary": (lambda s: s.relation("mesh", ["in", "out"]), "dictionary"),
    "no lead": (lambda s: s.screw("mesh", "in", "rail", lead=0.0), "other than zero"),
    "no carrier": (lambda s: s.differential("mesh", "in", "out", "arm", ratio=1.0), "rotation of joint 'arm'.*other than"),
    "name": (lambda s: s.gear("in", "in", "out", ratio=2.0), "taken already"),
}  # fmt: skip


def bare():
    system = flexmb.System()
    for k, name in enumerate(("in", "out", "arm")):
        wheel(system, f"wheel {k}", name, at=(k, 0, 0))
    bar = system.add(flexmb.rigid_body("bar", mass=3.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, bar, axis=(1, 0, 0), at=(0, 0, 0))
    return system


@pytest.mark.parametrize("what", WRONG)
def test_wrong_relations_are_refused_by_name(what):
    add, message = WRONG[what]
    with pytest.raises((JointError, MechanismError), match=message):
        add(bare())


def test_dependent_relations_and_drivers_are_refused_by_name():
    turning = flexmb.time_functions.constant_speed(1.0)
    system = bare()
    system.gear("mesh", "in", "out", ratio=2.0)
    system.gear("again", "out", "in", ratio=0.5)
    with pytest.raises(JointError, match="'mesh', 'again'"):
        system.build()
    system = bare()
    system.gear("mesh", "in", "out", ratio=2.0)
    system.drive("in", turning)
    system.build()
    system.drive("out", turning)
    with pytest.raises(JointError, match=r"'in \(driven\)', 'out \(driven\)', 'mesh'"):
        system.build()
    system = bare()
    for name, first, second in (("x", "in", "out"), ("y", "out", "arm"), ("z", "arm", "in")):
        system.gear(name, first, second, ratio=-1.0 if name == "x" else 1.0)
    system.build()  # locks everything, as such a train does
    system = bare()
    for name, first, second in (("x", "in", "out"), ("y", "out", "arm"), ("z", "arm", "in")):
        system.gear(name, first, second, ratio=1.0)
    with pytest.raises(JointError, match="'x', 'y', 'z'"):
        system.build()


def test_a_joint_of_a_relation_is_not_released_alone():
    event = Event("break", lambda r: r.coordinate("in") - 0.1, Release("in"))
    with pytest.raises(EventError, match="Release 'mesh'"):
        flexmb.simulate(train(), 1.0, step=5e-3, events=[event])
    both = [event, Event("slip", lambda r: r.coordinate("in") - 0.1, Release("mesh"))]
    result = flexmb.simulate(train(), 1.0, step=5e-3, events=both)
    assert len(result.happened) == 2
    late = [event, Event("slip", lambda r: r.coordinate("in") - 0.2, Release("mesh"))]
    with pytest.raises(EventError, match=r"joint 'in' is released, but the gear 'mesh'.*at that instant or before"):
        flexmb.simulate(train(), 1.0, step=5e-3, events=late)


def test_a_relation_that_an_initial_state_opens_is_closed_with_a_warning():
    system = train()
    system.set_speed("in", 1.0)
    mechanism = system.build()
    q = mechanism.initial.q.copy()
    q[3:7] = [np.cos(0.1), 0, 0, np.sin(0.1)]
    turned = replace(mechanism, initial=replace(mechanism.initial, q=q))
    with pytest.warns(AssemblyWarning, match="'mesh'"):
        result = flexmb.simulate(turned, 0.1, step=5e-3)
    assert abs(result.coordinate("out")[0] + 2 * result.coordinate("in")[0]) < 1e-10


FILE = """
[simulation]
duration = 1.0
step = 5e-3
output_step = 0.5
[bodies.a]
kind = "rigid"
mass = 1.0
inertia = [0.3, 0.3, 0.3]
[bodies.b]
kind = "rigid"
mass = 1.0
inertia = [0.7, 0.7, 0.7]
position = [1, 0, 0]
[bodies.bar]
kind = "rigid"
mass = 2.0
inertia = [1, 1, 1]
[[joints]]
name = "in"
kind = "revolute"
a = "ground"
b = "a"
at = [0, 0, 0]
[[joints]]
name = "out"
kind = "cylindrical"
a = "ground"
b = "b"
at = [1, 0, 0]
[[joints]]
name = "rail"
kind = "prismatic"
a = "ground"
b = "bar"
at = [0, 0, 0]
axis = [1, 0, 0]
[[joints]]
name = "mesh"
kind = "gear"
first = "in"
second = "out"
ratio = -2.0
[[joints]]
name = "teeth"
kind = "rack"
pinion = "in"
rack = "rail"
radius = 0.1
[[joints]]
name = "thread"
kind = "screw"
rotation = "out"
lead = 0.2
[[motors]]
name = "engine"
joint = "in"
effort = 1.0
"""


def test_relations_in_a_model_file(tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(FILE)
    read = flexmb.files.load_model(path)
    result = flexmb.simulate(read.mechanism(), read.duration, **read.options)
    slide = -2.0 * 0.2 / (2 * np.pi)
    rate = 1.0 / (0.3 + 4 * 0.7 + 1.0 * slide**2 + 2.0 * 0.1**2)
    np.testing.assert_allclose(result.coordinate("in"), 0.5 * rate * result.t**2, rtol=1e-9)
    np.testing.assert_allclose(result.coordinate("out", "translation"), 0.5 * slide * rate * result.t**2, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('first = "inn"', "mesh.*inn"), ('ratio = 0.0', "mesh.*other than zero"), ('ratio = -2.0\ndrive = 3', "drive"),
        ('first = "rail"', "mesh.*no free rotation"),
    ],
)  # fmt: skip
def test_wrong_relations_in_a_model_file_are_refused_by_name(tmp_path, change, message):
    key = change.split(" = ")[0]
    old = next(line for line in FILE.split("mesh")[1].splitlines() if line.startswith(key))
    before, after = FILE.split('name = "mesh"')
    path = tmp_path / "train.toml"
    path.write_text(before + 'name = "mesh"' + after.replace(old, change, 1))
    with pytest.raises(flexmb.ModelFileError, match=f"(?s){message}"):
        flexmb.files.load_model(path)


def test_a_model_file_takes_the_names_of_motions_in_results(tmp_path):
    spring = '[[joint_springs]]\nname = "s"\njoint = "out"\nstiffness = 3.0\ndof = "{} z"\n'
    for dof, kind in (("rotation", ANGLE), ("translation", TRANSLATION)):
        path = tmp_path / f"{dof}.toml"
        path.write_text(FILE + spring.format(dof))
        mechanism = flexmb.files.load_model(path).mechanism()
        assert mechanism.rows[mechanism.force_elements["s"][0]].kind == kind


def test_a_differential_and_a_relation_in_a_model_file_are_those_of_the_methods(tmp_path):
    mesh = FILE[FILE.index('name = "mesh"') - 11 : FILE.index("[[motors]]")]
    joints = (
        '[[joints]]\nname = "d"\nkind = "differential"\nfirst = "in"\nsecond = "out"\ncarrier = "arm"\nratio = -0.4\n'
        '[[joints]]\nname = "r"\nkind = "relation"\nfactors = { "out:translation" = 2.0, rail = -3.0 }\n'
    )
    arm = FILE[FILE.index("[bodies.bar]") : FILE.index("[[joints]]")].replace("bar", "arm")
    hinge = '[[joints]]\nname = "arm"\nkind = "revolute"\na = "ground"\nb = "arm"\nat = [0, 0, 0]\n'
    path = tmp_path / "train.toml"
    path.write_text(FILE.replace(mesh, hinge + joints).replace("[bodies.bar]", arm + "[bodies.bar]"))
    mechanism = flexmb.files.load_model(path).mechanism()
    rows = {name: mechanism.rows[mechanism.joint(name).rows[0]] for name in ("d", "r")}
    np.testing.assert_allclose([x.factor for x in rows["d"].terms], [-1 / -0.4, 1.4 / -0.4])
    np.testing.assert_allclose([x.factor for x in rows["r"].terms], [-1.5])
