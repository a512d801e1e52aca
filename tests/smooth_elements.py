"""All smooth force elements and joints with laws, each in a small mechanism that depends on a factor near one."""

import numpy as np

import flexmb
from flexmb import forces
from flexmb.contact import Plane, Socket, Sphere, power_law
from flexmb.forces import gap_spring, preloaded_spring
from flexmb.mechanism.attachments import Attachment

ORIGIN = (0, 0, 0)
CAM = flexmb.curves.through([(a, 0.1 * np.cos(2 * a)) for a in np.linspace(-2.0, 3.0, 40)])


def flying(spin=(3.0, 2.0, -1.0), position=(0.3, 0.1, 0.2), gravity=(0, 0.5, -9.81)):
    """A body that tumbles, and two places: one on the ground, one on the body."""
    system = flexmb.System(gravity=gravity)
    body = flexmb.rigid_body("body", mass=1.0, inertia=np.diag([0.1, 0.2, 0.15]))
    body = system.add(body, position=position, velocity=(0.5, -0.3, 0.2), angular_velocity=spin)
    return system, system.ground.at((0, 0, 0)), body.at((0.1, 0.05, 0))


def sliding(speed=0.4, position=0.2):
    """A body on a rail along z, and two places: one on the ground, one on the body."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(
        flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)), position=(0, 0, position), velocity=(0, 0, speed)
    )
    system.prismatic("rail", system.ground, body, axis=(0, 0, 1), at=ORIGIN)
    return system, system.ground.at(ORIGIN), body.at(ORIGIN)


def turning(speed=4.0, weight=1.0):
    """Two wheels on parallel shafts, the first one unbalanced."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    for name, x, inertia in (("one", 0.0, 0.05), ("other", 0.5, 0.2)):
        wheel = flexmb.rigid_body(name, mass=weight, inertia=(inertia,) * 3)
        wheel = system.add(wheel, position=(x + (0.1 if name == "one" else 0.0), 0, 0))
        system.revolute(f"{name} shaft", system.ground, wheel, axis=(0, 0, 1), at=(x, 0, 0))
    system.set_speed("one shaft", speed)
    return system


def rolling(law):
    """A wheel on a tyre that rolls, slips and drifts."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    wheel = flexmb.rigid_body("body", mass=20.0, inertia=(0.6, 1.0, 0.6))
    wheel = system.add(wheel, position=(0, 0, 0.297), velocity=(10.0, 0.3, 0), angular_velocity=(0, 36.0, 0.5))
    system.force("law", system.ground.at(ORIGIN), wheel.at(ORIGIN), law)
    return system


@flexmb.law(parameters=("k", "swirl", "c"))
def film(t, relative, states, parameters, wrench, rates):
    """An unsymmetric film."""
    k, swirl, c = parameters
    d, v = relative.d, relative.v
    wrench[0] = -k * d[0] - swirl * d[1] - c * v[0]
    wrench[1] = -k * d[1] + swirl * d[0] - c * v[1]


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


def _spring(p, **law):
    system, a, b = flying()
    system.spring_damper("spring", a, b, length=0.2, **law)
    return system


def _law(bound, **of_flight):
    system, a, b = flying(**of_flight)
    system.force("law", a, b, bound)
    return system


def _guided(bound):
    system, a, b = sliding()
    system.force("law", a, b, bound, axis=(0, 0, 1))
    return system


def _motor(law):
    system = turning()
    system.motor("motor", "one shaft", law)
    return system


def _joint_spring(p):
    system = turning()
    system.joint_spring("spring", "one shaft", stiffness=20.0 * p, damping=0.1)
    return system


def _preloaded(p):
    system = turning(speed=15.0)
    system.joint_spring("detent", "one shaft", law=preloaded_spring(5.0 * p, 1.0, seat=1e2), free=-3.0)
    return system


def _gap(p):
    system, a, b = flying()
    system.spring_damper("buffer", a, b, length=0.9, law=gap_spring(500.0 * p, gap=0.02, exponent=1.5))
    return system


def _cable(p):
    system, a, b = flying()
    pulley = system.ground.at((0.5, 0.4, 1.0))
    system.cable("cable", [a, b, pulley], stiffness=300.0 * p, damping=1.0, length=0.9)
    return system


def _belt(p):
    system = turning()
    system.belt("belt", "one shaft", "other shaft", radii=(0.05, 0.1), stiffness=2e4 * p, damping=2.0, preload=500.0)
    return system


def _elastic_relation(p):
    system = turning()
    system.elastic_relation("teeth", {"one shaft": 1.0, "other shaft": 2.0}, stiffness=100.0 * p, damping=0.02)
    return system


def _gear(p):
    system = turning(weight=p)
    system.gear("gear", "one shaft", "other shaft", ratio=-0.5)
    return system


def _bushing(p):
    system, a, b = flying()
    parts = {"stiffness": [200.0 * p] * 3 + [5.0] * 3, "damping": [1.0] * 3 + [0.01] * 3, "free": "drawn"}
    system.bushing("bushing", a, b, **parts)
    return system


def _cylinder(p):
    return _guided(
        forces.hydraulic_cylinder(
            area_a=2e-3, area_b=1.2e-3, stroke=0.5, bulk_modulus=1e7, supply=2e6, tank=1e5, flow=2e-7 * p, target=0.3,
            gain=2.0, dead_volume=2e-4, laminar=1e4, initial={"pressure a": 8e5, "pressure b": 7e5},
        )
    )  # fmt: skip


def _commanded(p):
    system, a, b = sliding()
    law = forces.commanded_cylinder(
        area_a=2e-3, area_b=1.2e-3, stroke=0.5, bulk_modulus=1e7, supply=2e6, tank=1e5, flow=2e-7 * p, dead_volume=2e-4,
        laminar=1e4, leakage=1e-11, initial={"pressure a": 4.5e5, "pressure b": 7e5},
    )  # fmt: skip
    opening = flexmb.time_functions.harmonic(0.1, 3.0, phase=0.3, offset=0.3)
    system.force("law", a, b, law, axis=(0, 0, 1), inputs={"opening": opening})
    return system


def _servo(p):
    law = forces.servo_actuator(
        area=1e-3, capacity=1e-10, flow=1e-4 * p, leakage=1e-12, damping=20.0, gain=1.0, length=0.25, amplitude=0.05,
        frequency=3.0,
    )  # fmt: skip
    return _guided(law)


def _rolling_bearing(p):
    law = forces.rolling_bearing(elements=9, stiffness=1e5 * p, clearance=-0.02, damping=1.0)
    return _law(law, spin=(0, 0, 8.0), position=(-0.1, -0.048, 0), gravity=(0, -9.81, 0))


def _ring_bearing(p):
    """In a ring whose compliance has a few waves around it. The exponent makes the law smooth enough where rolling
    elements begin and cease to carry; with 3/2 the derivatives of these steps are right to 1e-5."""
    apart = np.subtract.outer(np.arange(8), np.arange(8)) * np.pi / 4
    ring = forces.RingCompliance(1e-6 * (1.0 + np.cos(2 * apart) + 0.3 * np.cos(3 * apart)))
    law = forces.flexible_ring_bearing(elements=9, stiffness=1e5 * p, damping=1.0, exponent=2.5, **ring.parameters)
    return _law(law, spin=(0, 0, 8.0), position=(-0.1, -0.048, 0), gravity=(0, -9.81, 0))


def _journal(p):
    law = forces.journal_bearing(viscosity=0.2 * p, radius=0.05, length=0.03, clearance=5e-3)
    system = flexmb.System(gravity=(0, -9.81, 0))
    shaft = flexmb.rigid_body("body", mass=0.5, inertia=(0.01, 0.01, 0.002))
    shaft = system.add(shaft, position=(1e-3, -1e-3, 0), velocity=(0.02, 0.01, 0), angular_velocity=(0, 0, 50.0))
    system.force("law", system.ground.at(ORIGIN), shaft.at(ORIGIN), law)
    return system


def _plastic_hinge(p):
    """A rod that yields upwards, comes to rest and springs back."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=1.0))
    system.revolute("hinge", system.ground, rod["start"], axis=(0, 0, 1))
    system.set_speed("hinge", 1.2)
    system.force("law", system.ground.at(ORIGIN), rod["start"], forces.plastic_hinge(stiffness=200.0 * p, limit=6.0))
    return system


def _pacejka(p):
    a = {"a0": 1.3, "a1": -22.1, "a2": 1011.0 * p, "a3": 1078.0, "a4": 1.82, "a6": -0.354, "a7": 0.707}
    law = forces.pacejka_89(
        radius=0.3, vertical_stiffness=1e5, vertical_damping=100.0, slip_stiffness=2e4, relaxation=0.3, **a
    )
    return rolling(law)


def _line(p, kind):
    system = flexmb.System(gravity=(0, 0.5, -9.81))
    body = flexmb.rigid_body("body", mass=1.0, inertia=np.diag([0.1, 0.2, 0.15]))
    body = system.add(body, velocity=(0.5, -0.3, 0.2), angular_velocity=(3.0, 2.0, -1.0))
    points = [(x, 0.1 * x * x, 0.0) for x in (-0.2, 0.1, 0.4, 0.6)]
    if kind == "wind":
        system.wind("line", body, points, density=1.2, diameter=0.1 * p, velocity=(1.0, 12.0, 3.0), along=0.02)
    else:
        system.pipe_flow("line", body, points, mass_per_length=0.3, speed=5.0 * p)
    return system


def _controlled(p):
    system, _, _ = sliding()
    system.controller(
        "pid", flexmb.controllers.pid(60.0 * p, 80.0, 4.0, filter=0.05),
        inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"},
    )  # fmt: skip
    return system


@flexmb.law(inputs=("turned", "wave"), states=("lagging",), parameters=("k", "tau"))
def follower(t, relative, inputs, states, parameters, wrench, rates):
    """A moment that follows another coordinate with a lag, and a function of time."""
    k, tau = parameters
    wrench[5] = k * (states[0] - relative.S[1, 0]) + inputs[1]
    rates[0] = (inputs[0] - states[0]) / tau


def _inputs(p):
    system = turning()
    inputs = {"turned": "coordinate:one shaft", "wave": flexmb.time_functions.harmonic(0.4 * p, 3.0)}
    system.force(
        "law", system.ground.at((0.5, 0, 0)), Attachment(1, np.zeros(3)), follower(k=5.0 * p, tau=0.05), inputs=inputs
    )
    return system


def _friction(p):
    system = turning(speed=20.0)
    system.friction("rub", "one shaft", 0.2 * p, radius=0.05, regularised=2.0)
    return system


def _cam(p):
    system = flexmb.System(gravity=(0, -9.81 * p, 0))
    pin = flexmb.rigid_body("body", mass=1.0, inertia=(0.1,) * 3)
    pin = system.add(pin, position=(0.0, 0.1, 0), velocity=(1.0, 0, 0))
    system.point_on_curve("slot", system.ground.at(ORIGIN), pin.at(ORIGIN), CAM)
    return system


def _contact(p):
    """A ball that is pressed to a plane, slides and begins to roll."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = flexmb.rigid_body("body", mass=1.0, inertia=np.diag([0.004, 0.005, 0.006]))
    body = system.add(body, position=(0, 0, 0.097), velocity=(0.5, 0.1, 0.05), angular_velocity=(0.2, 0.1, 0.3))
    law = power_law(1e4 * p, restitution=0.5, speed=1.0)
    ground, ball = Plane().on(system.ground.at(ORIGIN)), Sphere(0.1).on(body.at(ORIGIN))
    system.contact("contact", ground, ball, law=law, friction=0.3, static_friction=0.35, slip_speed=0.2)
    return system


def _socket(p):
    """A ball in a socket, whose normal turns."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = flexmb.rigid_body("body", mass=1.0, inertia=np.diag([0.004, 0.005, 0.006]))
    body = system.add(body, position=(0.01, 0, -0.021), velocity=(0.1, 0.2, 0), angular_velocity=(3, 2, 1))
    law = power_law(1e4 * p, restitution=0.5, speed=1.0)
    socket, ball = Socket(0.12).on(system.ground.at(ORIGIN)), Sphere(0.1).on(body.at(ORIGIN))
    system.contact("contact", socket, ball, law=law, friction=0.3, slip_speed=0.2)
    return system


SMOOTH = {
    "spring": lambda p: _spring(p, stiffness=200.0 * p, damping=2.0),
    "expression": lambda p: _spring(p, law=flexmb.expression("-k*x - 900*x**3 - 2*xdot", k=150.0 * p)),
    "table": lambda p: _spring(p, law=flexmb.table([-2.0, -0.5, 0.0, 0.5, 2.0], [300.0, 60.0, 0, -60.0, -300.0], scale=p)),
    "joint spring": _joint_spring,
    "preloaded spring": _preloaded,
    "gap spring": _gap,
    "periodic table": lambda p: _motor(flexmb.table([0, 1, 2.5, 5, 6.283185307179586], [0, 1, 0.5, -1, 0], period=2 * np.pi, scale=p)),
    "cable": _cable,
    "belt": _belt,
    "elastic relation": _elastic_relation,
    "gear": _gear,
    "bushing": _bushing,
    "nonlinear bushing": lambda p: _law(
        forces.nonlinear_bushing(radial=200.0 * p, axial=100.0, tilt=9.0, twist=5.0, progressive=300.0, coupling=5.0, damping=1.0)
    ),
    "film": lambda p: _law(film(k=200.0 * p, swirl=50.0, c=2.0)),
    "maxwell": lambda p: _law(maxwell(k=200.0 * p, tau=0.05)),
    "drag": lambda p: _law(forces.drag(density=1.2 * p, area=0.5, coefficient=1.0, wind_x=5.0)),
    "rolling bearing": _rolling_bearing,
    "bearing in an elastic ring": _ring_bearing,
    "journal bearing": _journal,
    "hydraulic cylinder": _cylinder,
    "commanded cylinder": _commanded,
    "servo actuator": _servo,
    "linear tyre": lambda p: rolling(
        forces.linear_tyre(radius=0.3, vertical_stiffness=1e5, vertical_damping=100.0, slip_stiffness=2e4, cornering_stiffness=1.5e4 * p, relaxation=0.3)
    ),
    "magic formula": _pacejka,
    "wind": lambda p: _line(p, "wind"),
    "pipe flow": lambda p: _line(p, "flow"),
    "controller": _controlled,
    "law with inputs": _inputs,
    "regularised friction": _friction,
    "curve": _cam,
    "contact": _contact,
    "contact in a socket": _socket,
}  # fmt: skip
"""Mechanisms by what they contain."""

DIFFERENTIABLE = SMOOTH | {"plastic hinge": _plastic_hinge}
"""The same and laws with kinks, which the steps of the motion do not meet: derivatives of the steps exist."""
