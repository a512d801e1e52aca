"""A process of its own that simulates and analyses mechanisms in every way, and prints what numba compiled and which functions of the library were called."""

import json
import os
import sys

import numpy as np
from mechanisms import double_pendulum, random_flexible_body, slider_crank
from numba.core.event import Listener, register

import fem
import flexmb
import flexmb.linear
import reduction
from flexmb import demo
from flexmb.analyses.kinematics import joint_sweep
from flexmb.analyses.mobility import mobility
from flexmb.contact import Box, Coulomb, Plane, Sphere, power_law, solve_contacts
from flexmb.equations import evaluation
from flexmb.kernels import calls
from flexmb.kernels.base.sharing import LOOPS, THREADS
from flexmb.simulation.events import stop
from flexmb.study import adjoint_gradient, direct_gradient


class Compiled(Listener):
    """The modules of the functions that numba compiles."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__name__}")

    def on_end(self, event):
        pass


def counted():
    """The names of called functions; all modules that import them get functions that count."""
    called = set()

    def counting(name, function):
        def count(*arguments):
            called.add(name)
            return function(*arguments)

        return count

    made = {getattr(calls, name): counting(name, getattr(calls, name)) for name in calls.ENTRIES}
    for name, module in list(sys.modules.items()):
        if name.startswith("flexmb.") and not name.startswith("flexmb.kernels.base"):
            for key, value in list(vars(module).items()):
                if callable(value) and value.__hash__ is not None and value in made:
                    setattr(module, key, made[value])
    return called


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series, along x."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


@flexmb.law(parameters={"k": None})
def elastic(t, relative, states, parameters, wrench, rates):
    """A spring without states."""
    for i in range(3):
        wrench[i] = -parameters[0] * relative.d[i]


def arm(mass, length, second_order=True, law=None):
    """A rigid rod with a flexible body behind it, a motor, springs, a law and a load."""
    system = flexmb.System(gravity=(0, 0.3, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length))
    body = random_flexible_body(np.random.default_rng(3), name="body", second_order=second_order, damping=0.1)
    body = system.add(body, position=(length, 0, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    system.universal("elbow", rod["end"], body["start"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    system.motor("motor", "hinge", flexmb.time_functions.harmonic(3.0, 1.0), damping=0.1)
    system.joint_spring("spring", "hinge", stiffness=20.0, damping=0.3)
    system.spring_damper("strut", system.ground.at((2 * length, 0.2, 1)), body["end"], stiffness=20.0, damping=0.5)
    system.load("pull", body["end"], force=(1, 0, 2), moment=(0.1, 0.2, 0), follower=True)
    if law is not None:
        system.force("element", system.ground.at((0, 0, 0)), rod.at((0.1, 0, 0)), law)
    return system


def sliding_rod(friction):
    """A rod on a rail with dry friction."""
    system = flexmb.System(gravity=(0, 0.5, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.prismatic("rail", system.ground.at((0, 0, 0)), rod["start"], axis=(1, 0, 0))
    system.set_speed("rail", 1.0)
    system.friction("dry", "rail", friction)
    return system


def long_chain():
    """A chain whose loops two threads share, which call them by their addresses."""
    system, before = flexmb.System(gravity=(0, 0, -9.81)), None
    before = system.ground.at((0, 0, 0))
    for k in range(2 * THREADS):
        body = system.add(random_flexible_body(np.random.default_rng(k)), name=f"link {k}", position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, body["start"], axis=(0, 1, 0))
        before = body["end"]
    evaluation.WORTHWHILE, os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"] = 0, "2", "2"
    return flexmb.simulate(system, 0.005, step=1e-3)


def bouncing():
    """A mass that falls on a stop, and a lock."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), ball, axis=(0, 0, 1))
    return flexmb.simulate(system, 0.3, step=1e-3, events=[stop("floor", "guide", -0.1, upper=False)])


def touching():
    """Balls that fall on a plane by each law of contacts, beside a bent wire, and a contact that sticks."""
    for options in ({}, {"restitution": 0.5, "speed": 0.1, "each_impact": True}):
        system = flexmb.System(gravity=(0, 0, -9.81))
        ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.1))
        floor = Plane().on(system.ground.at((0, 0, 0)))
        system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))), law=power_law(1e6, **options))
        flexmb.simulate(system, 0.003, step=1e-3)
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.2))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))), law=power_law(1e6))
    numbers = np.array(system.build().frame_forces[0].numbers)
    flexmb.results.elements.contact.point_loads(np.zeros((1, 8)), *np.zeros((3, 3)), numbers)
    assert flexmb.curves.through([(x, 0.1 * x * x) for x in range(6)]).distance((1, 1)) > 0
    solve_contacts(np.eye(3), np.array([-1.0, 0.1, 0.0]), [Coulomb(0.5)])


def pressing():
    """A flexible block on a plane, with and without friction."""
    mesh = fem.structured_meshes.block("hexahedron", (0.2, 0.1, 0.1), (2, 1, 1))
    part = fem.Model(mesh, fem.Material.steel()).with_surfaces(below="z0")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, 3))

    def lying(friction):
        system = flexmb.System(gravity=(0, 0, -9.81))
        block = system.add(body)
        floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
        system.contact("floor", floor, block.surface("below"), friction=friction)
        return system

    for friction, method in ((0.3, "generalised-alpha"), (0.0, "energy-momentum")):
        result = flexmb.simulate(lying(friction), 1e-4, step=1e-5, method=method)
    adjoint_gradient(lying, {"friction": 0.3}, 1e-4, lambda r: r.q[:, 2], over="final", step=1e-5)
    return result.surface_contact("floor").pressure


def bouncing_ball():
    """A ball that bounces on a plane and slides."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.101), velocity=(1, 0, 0)
    )
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))), friction=0.3, restitution=0.5)
    return flexmb.simulate(system, 0.1, step=1e-3)


def tipping():
    """A slab that falls on a box and slides over its edge."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    slab = system.add(
        flexmb.rigid_body("slab", mass=2.0, inertia=(0.1, 0.03, 0.1)), position=(0.19, 0, 0.0505), velocity=(1, 0, 0)
    )
    table = Box(0.4, 0.4, 0.4).on(system.ground.at((0, 0, -0.2)))
    system.contact("table", table, Box(0.4, 0.2, 0.1).on(slab.at((0, 0, 0))))
    return flexmb.simulate(system, 0.03, step=1e-3).contact("table")


def crowd():
    """Two balls that approach, as a group of contacts."""
    system = flexmb.System()
    balls = [
        system.add(flexmb.rigid_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(x, 0, 0))
        for name, x in (("left", 0.0), ("right", 0.195))
    ]
    system.contact_group("all", [Sphere(0.1).on(ball.at((0, 0, 0))) for ball in balls], law=power_law(1e3))
    return flexmb.simulate(system, 0.01, step=1e-3).contact_group("all")


def sprinkler():
    """Water that flows through a turning tube."""
    system = flexmb.System()
    tube = system.add(flexmb.uniform_rod("tube", mass=1.0, length=0.8))
    system.revolute("pivot", system.ground, tube["start"], axis=(0, 0, 1))
    system.pipe_flow("water", tube, [(0.2 * k, 0, 0) for k in range(5)], mass_per_length=0.5, speed=2.0)
    return flexmb.simulate(system, 0.01, step=1e-3).force("water")


def sliding():
    """A rotor that comes to rest on its journal, and drives another one by a pair of gears; a ball in a socket."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    for name in ("first", "second"):
        rotor = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(0.01, 0.01, 0.01)))
        system.revolute(f"{name} pin", system.ground.at((0, 0, 0)), rotor, axis=(0, 1, 0))
    system.gear("gear", "first pin", "second pin", ratio=-2.0)
    system.set_speed("first pin", 0.5)
    system.friction("bearing", "first pin", 0.2, radius=0.05)
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.01,) * 3), angular_velocity=(1.0, 2.0, 0))
    system.spherical("socket", system.ground.at((0, 0, 0)), ball)
    system.friction("rub", "socket", 0.2, radius=0.05, regularised=0.01)
    result = flexmb.simulate(system, 0.2, step=1e-3)
    return result.effort("bearing"), result.force("rub"), result.reaction("gear")


def thrown_rods():
    """Rods that rotate so far in a step that the energy-momentum scheme needs Newton's method."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rods = [
        system.add(
            flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0), position=(k, 0, 0), angular_velocity=(0, 0, spin)
        )
        for k, spin in enumerate((3.0, -3.0))
    ]
    system.revolute("hinge", rods[0]["end"], rods[1], axis=(0, 0, 1))
    return flexmb.simulate(system, 0.6, method="energy-momentum", step=0.3)


def every_way():
    """Simulations by all methods in both coordinates, postprocessing, analyses, derivatives."""
    for system in (
        double_pendulum(),
        slider_crank(speed=2.0),
        arm(2.0, 1.0),
        arm(2.0, 1.0, False, law=elastic(k=50.0)),
    ):
        for coordinates in ("absolute", "joint"):
            if coordinates == "joint" and system.name == "slider-crank":
                continue
            result = flexmb.simulate(system, 0.02, step=1e-3, coordinates=coordinates)
            str(result), str(result.ledger), result.verdict
        flexmb.simulate(system, 0.02, tolerance=1e-5)
        for method in ("hht", "radau", "bdf", "explicit"):
            flexmb.simulate(system, 0.01, method=method, **({"step": 1e-3} if method == "hht" else {"tolerance": 1e-6}))
        joint = result.mechanism.joints[0].name
        result.reaction(joint), result.coordinate(joint), result.mass_centre(), result.columns()
        str(result.energy_by_element)
        flexmb.linear.linearise(result.mechanism)
        state = result.state(-1)
        flexmb.evaluate(result.mechanism, state), flexmb.simulate(system, 0.01, step=1e-3, initial_state=state)
    for system in (double_pendulum(), arm(2.0, 1.0)):
        flexmb.simulate(system, 0.01, method="energy-momentum", step=1e-3)
    thrown_rods()
    sprung = double_pendulum()
    sprung.joint_spring("spring", "hinge", stiffness=20.0)
    flexmb.simulate(sprung, 0.01, method="explicit", tolerance=1e-6, coordinates="joint")
    result = flexmb.simulate(arm(2.0, 1.0), 0.01, step=1e-3)
    result.position("body.end"), result.velocity("body.end"), result.stretch_rate("strut"), result.columns()
    joint_sweep(slider_crank(), "bearing", np.linspace(0.0, 0.3, 3))
    mobility(slider_crank())
    flexmb.linear.equilibrium(arm(2.0, 1.0))
    flexmb.compare(demo.build(), 1e-3, step=1e-5)
    flexmb.simulate(arm(2.0, 1.0, law=maxwell(k=50.0, tau=0.1)), 0.01, step=1e-3)
    flexmb.simulate(arm(2.0, 1.0, law=maxwell(k=50.0, tau=0.1)), 0.01, step=1e-3, method="bdf")
    bouncing()
    sliding()
    touching()
    pressing()
    bouncing_ball()
    tipping()
    crowd()
    sprinkler()

    def model(mass, length, k):
        return arm(mass, length, law=maxwell(k=k, tau=0.1))

    at = {"mass": 2.0, "length": 1.0, "k": 50.0}
    adjoint_gradient(model, at, 0.02, lambda r: r.position("body.end")[:, 2], over="final", step=1e-3)
    direct_gradient(model, at, 0.02, measure=lambda r: {"x": r.position("body.end")[-1, 2]}, step=1e-3)
    adjoint_gradient(sliding_rod, {"friction": 0.2}, 0.02, lambda r: r.q[:, 0], over="final", step=1e-3)
    long_chain()


if __name__ == "__main__":
    listener = Compiled()
    register("numba:compile", listener)
    names = counted()
    every_way()
    print(json.dumps({"compiled": listener.names, "missed": sorted(set(calls.ENTRIES) - names - set(LOOPS))}))
