"""Elements before other observers: units, moved and turned frames, names and order change nothing; methods agree; small motions are the linear ones.

The random referee does this for joints, springs and bodies; here are friction, contacts, controllers, lines and shells.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from referee.units import HERE, SI, SYSTEMS, Frame, Units

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import sheet
from flexmb import contact, controllers, time_functions
from flexmb.linear import equilibrium, linearise

pytestmark = pytest.mark.filterwarnings("ignore::flexmb.errors.UnresolvedWarning")


@dataclass(frozen=True, eq=False)
class Observer:
    """Who describes a mechanism: the units, a frame at rest, and whether bodies have other names and the other order."""

    units: Units = SI
    frame: Frame = HERE
    other_names: bool = False

    def n(self, value, length=0.0, mass=0.0, time=0.0):
        return self.units.of(value, length, mass, time)

    def point(self, x):
        return self.n(self.frame.rotation @ np.array(x, float) + self.frame.shift, length=1)

    def direction(self, x):
        return self.frame.rotation @ np.array(x, float)

    def vector(self, x, **dimension):
        return self.n(self.direction(x), **dimension)

    def system(self, gravity=(0, 0, -9.81)):
        return flexmb.System(gravity=self.vector(gravity, length=1, time=-2))

    def name(self, name):
        return f"{name[::-1]} 7" if self.other_names else name

    def add(self, system, *bodies):
        """Add bodies: (name, body, position, velocity, angular velocity), in SI; their handles by name."""
        handles = {}
        for name, body, position, velocity, omega in reversed(bodies) if self.other_names else bodies:
            handles[name] = system.add(
                body,
                name=self.name(name),
                position=self.point(position),
                orientation=self.frame.rotation,
                velocity=self.vector(velocity, length=1, time=-1),
                angular_velocity=self.vector(omega, time=-1),
            )
        return handles

    def rigid(self, mass, inertia):
        return flexmb.rigid_body(
            "body", mass=float(self.n(mass, mass=1)), inertia=self.n(inertia, mass=1, length=2).tolist()
        )

    def run(self, system, duration, step, **options):
        times = {"output_step": self.n(duration / 20, time=1), "method": "generalised-alpha"} | options
        if times["method"] in ("generalised-alpha", "hht"):
            times["step"] = self.n(step, time=1)
        return flexmb.simulate(system, self.n(duration, time=1), **times)

    def seen(self, result, *bodies):
        """Positions of bodies in SI, in the frame of all (nt, 3 nb)."""
        places = [self.units.si(result.frame(self.name(body))[0], length=1) for body in bodies]
        return np.hstack([(x - self.frame.shift) @ self.frame.rotation for x in places])


def soft(o):
    """A law of contact; its stiffness is a force per length^1.5."""
    return contact.power_law(o.n(2e4, length=-0.5, mass=1, time=-2), restitution=0.6, speed=o.n(1.0, length=1, time=-1))


def dry_pendulum(o, **options):
    """A pendulum with a dry journal, which slides and sticks."""
    system = o.system()
    rod = o.add(system, ("rod", o.rigid(2.0, [0.01, 0.1, 0.1]), (0.5, 0.1, 0), (0, 0, 0), (0, 0, 0)))["rod"]  # fmt: skip
    system.revolute("hinge", system.ground.at(o.point((0, 0.1, 0))), rod.at(o.n((-0.5, 0, 0), length=1)), axis=o.direction((0, 1, 0)))  # fmt: skip
    system.friction("dry", "hinge", 0.4, radius=o.n(0.1, length=1), static=0.6, preload=o.n(0.5, length=2, mass=1, time=-2))  # fmt: skip
    result = o.run(system, 2.0, 2e-3, **options)
    effort = o.units.si(result.effort("dry"), length=2, mass=1, time=-2)
    return np.column_stack([o.seen(result, "rod"), effort])


def bouncing(o, **options):
    """A spinning ball that bounces and rolls on a floor, by a law."""
    system = o.system()
    ball = o.add(system, ("ball", o.rigid(1.0, [0.004] * 3), (0.1, 0.2, 0.15), (1.0, 0.2, -1.0), (3, -5, 2)))["ball"]
    floor = contact.Plane().on(system.ground.at(o.point((0, 0, 0))), axis=o.direction((0, 0, 1)))
    sphere = contact.Sphere(o.n(0.1, length=1)).on(ball.at((0, 0, 0)))
    system.contact(o.name("floor"), floor, sphere, law=soft(o), friction=0.3, slip_speed=o.n(0.05, length=1, time=-1))
    result = o.run(system, 0.2, 2e-4, **options)
    force = result.contact(o.name("floor")).normal_force
    return np.column_stack([o.seen(result, "ball"), o.units.si(force, length=1, mass=1, time=-2) / 1e3])


def heap(o, **options):
    """Three balls and a floor in a group, one on the others."""
    system = o.system()
    ball = o.rigid(1.0, [0.004] * 3)
    places = {"left": (-0.101, 0, 0.1), "right": (0.101, 0, 0.1), "top": (0.0, 0.01, 0.28)}
    handles = o.add(system, *((name, ball, x, (0, 0, 0), (0, 0, 0)) for name, x in places.items()))
    floor = contact.Plane().on(system.ground.at(o.point((0, 0, 0))), axis=o.direction((0, 0, 1)))
    shapes = [floor, *(contact.Sphere(o.n(0.1, length=1)).on(handles[name].at((0, 0, 0))) for name in handles)]
    system.contact_group("all", shapes, law=soft(o), friction=0.3, slip_speed=o.n(0.05, length=1, time=-1))
    return o.seen(o.run(system, 0.15, 2e-4, **options), *places)


def exact(o, **options):
    """A ball that hits the floor, rebounds and rolls, and a box that slides to rest; Coulomb and Newton."""
    system = o.system()
    handles = o.add(
        system,
        ("ball", o.rigid(1.0, [0.004] * 3), (0.1, 0.2, 0.12), (1.0, 0.2, -1.0), (3, -5, 2)),
        ("box", o.rigid(1.0, [0.01] * 3), (3.0, 0, 0.1), (0.8, 0.3, 0), (0, 0, 0)),
    )
    floor = contact.Plane().on(system.ground.at(o.point((0, 0, 0))), axis=o.direction((0, 0, 1)))
    sphere = contact.Sphere(o.n(0.1, length=1)).on(handles["ball"].at((0, 0, 0)))
    box = contact.Box(*o.n((0.3, 0.3, 0.2), length=1)).on(handles["box"].at((0, 0, 0)))
    system.contact(o.name("one"), floor, sphere, friction=(0.4, 0.3), restitution=0.5)
    system.contact(o.name("two"), floor, box, friction=0.3)
    return o.seen(o.run(system, 0.5, 1e-3, **options), "ball", "box")


def servo(o, sample_time=None, **options):
    """A slider that a PID controller leads along a rail, with a pendulum on it."""
    system = o.system()
    handles = o.add(
        system,
        ("slider", o.rigid(1.0, [0.1] * 3), (0, 0, 0), (0, 0, 0), (0, 0, 0)),
        ("bob", o.rigid(0.5, [0.01] * 3), (0, 0, -0.4), (0.3, 0, 0), (0, 0, 0)),
    )
    system.prismatic("rail", system.ground.at(o.point((0, 0, 0))), handles["slider"], axis=o.direction((1, 0, 0)))
    system.revolute("pivot", handles["slider"].at((0, 0, 0)), handles["bob"].at(o.n((0, 0, 0.4), length=1)), axis=o.direction((0, 1, 0)))  # fmt: skip
    kp, ki, kd = (o.n(k, mass=1, time=-2 - s) for k, s in ((80.0, 0), (20.0, 1), (15.0, -1)))
    law = controllers.pid(
        kp, ki, kd, filter=o.n(0.02, time=1), sample_time=None if sample_time is None else o.n(sample_time, time=1)
    )
    wanted = time_functions.harmonic(float(o.n(0.2, length=1)), float(o.n(0.8, time=-1)))
    inputs = {"measured": "coordinate:rail", "reference": wanted}
    system.controller(o.name("servo"), law, inputs=inputs, outputs={"command": "effort:rail"})
    result = o.run(system, 1.0, 1e-3, **options)
    command = result.controller(o.name("servo")).commands["command"].values
    return np.column_stack([o.seen(result, "slider", "bob"), o.units.si(command, length=1, mass=1, time=-2) / 10])


def sampled_servo(o, **options):
    """The same, with a controller that holds its command for 20 ms."""
    return servo(o, sample_time=0.02, **options)


def lines(o, **options):
    """A hanging pipe with a fluid, in the wind."""
    system = o.system()
    rod = o.add(system, ("pipe", o.rigid(2.0, [0.01, 0.1, 0.1]), (0, 0, -0.5), (0.5, 0, 0), (0, 0.3, 0)))["pipe"]
    system.spherical("joint", system.ground.at(o.point((0, 0, 0))), rod.at(o.n((0, 0, 0.5), length=1)))
    points = o.n([(0, 0, 0.5), (0.05, 0, 0), (0, 0, -0.5)], length=1)
    rate = time_functions.harmonic(0.5, float(o.n(0.7, time=-1)))
    system.pipe_flow("water", rod, points, mass_per_length=o.n(1.5, mass=1, length=-1), speed=o.n(4.0, length=1, time=-1), factor=rate)  # fmt: skip
    system.wind("gust", rod, points, density=o.n(1.2, mass=1, length=-3), diameter=o.n(0.2, length=1), velocity=o.vector((0, 9, 2), length=1, time=-1))  # fmt: skip
    return o.seen(o.run(system, 1.0, 2e-3, **options), "pipe")


def plate(o):
    """A strip of shells with an interface at its root and one at its tip, in the units and the frame of an observer."""
    turned = o.frame.rotation
    mesh = sheet("quad", (0.4, 0.1), (6, 2))
    mesh = replace(mesh, points=o.n(mesh.points @ turned.T, length=1))
    steel = fem.Material.isotropic(
        float(o.n(2e9, mass=1, length=-1, time=-2)), 0.3, float(o.n(2000.0, mass=1, length=-3))
    )
    at = lambda x: mesh.points[np.isclose((mesh.points @ turned)[:, 0], o.n(x, length=1))]  # noqa: E731
    ends = {name: fem.nearest(at(x).mean(axis=0), count=3) for name, x in (("root", 0.0), ("tip", 0.4))}
    model = fem.Model(mesh, fem.Shell(steel, float(o.n(0.004, length=1)))).with_interfaces(**ends)
    return flexmb.flexible_body(model, reduction.craig_bampton(model, 4), name="plate")


def shell(o, **options):
    """A strip of shells that swings on a hinge; its mesh is turned with the observer, and its body is not."""
    system = o.system()
    body = system.add(plate(o), name=o.name("plate"), position=o.point((0, 0, 0)))
    ball = o.add(system, ("ball", o.rigid(0.2, [0.001] * 3), (0.4, 0.05, 0), (0, 0, 0), (0, 0, 0)))["ball"]
    system.revolute("hinge", system.ground.at(o.point((0, 0.05, 0))), body["root"], axis=o.direction((0, 1, 0)))
    system.fixed("weld", body["tip"], ball)
    system.joint_spring("spring", "hinge", stiffness=o.n(5.0, length=2, mass=1, time=-2))
    return o.seen(o.run(system, 0.5, 1e-3, **options), "ball")


CASES: dict[str, Callable] = {
    f.__name__: f for f in (dry_pendulum, bouncing, heap, exact, servo, sampled_servo, lines, shell)
}
FRAME = Frame.random(np.random.default_rng(4), boosted=False)
OTHERS = {
    "mm-t-s": Observer(SYSTEMS[1]),
    "turned and moved": Observer(frame=FRAME),
    "names and order": Observer(other_names=True),
    "um-kg-us": Observer(SYSTEMS[2]),
    "inch-pound": Observer(SYSTEMS[3]),
    "all": Observer(SYSTEMS[1], FRAME, True),
}
SAME = 2e-8
"""Difference of what two observers see, relative to the largest number that they see."""


@pytest.fixture(scope="module")
def ours():
    """What we see, in SI, at rest."""
    kept = {}
    return lambda name: kept[name] if name in kept else kept.setdefault(name, CASES[name](Observer()))


@pytest.mark.parametrize(
    "other", [pytest.param(name, marks=pytest.mark.long if k > 2 else ()) for k, name in enumerate(OTHERS)]
)
@pytest.mark.parametrize("name", CASES)
def test_all_observers_see_the_same(name, other, ours):
    seen, expected = CASES[name](OTHERS[other]), ours(name)
    assert np.abs(expected - expected[0]).max() > 0.01
    assert np.abs(seen - expected).max() < SAME * np.abs(expected).max()


# methods --------------------------------------------------------------------------------------------------------------

METHODS = {
    "hht": {"method": "hht"},
    "explicit": {"method": "explicit"},
    "radau": {"method": "radau", "tolerance": 1e-8},
    "bdf": {"method": "bdf", "tolerance": 1e-8},
}
AGREED = 3e-4
"""Difference of methods relative to the largest number; the fixed steps are of second order."""
NEITHER = {"dry_pendulum", "exact"}, {"heap"}, {"servo"}
"""Cases that no other method than HHT, no method with dense output, and no backward differentiation includes."""


def refused(name, method):
    hht_only, no_implicit, no_bdf = NEITHER
    return (
        (name in hht_only and method != "hht")
        or (name in no_implicit and method in ("radau", "bdf"))
        or (name in no_bdf and method == "bdf")
    )


@pytest.mark.parametrize(
    ("name", "method"),
    [
        pytest.param(name, method, marks=pytest.mark.long if method in ("radau", "bdf") else ())
        for name in CASES
        for method in METHODS
        if not refused(name, method)
    ],
)
def test_methods_agree(name, method, ours):
    """generalised-alpha with a fixed step, and each other method that includes the elements."""
    found, expected = CASES[name](Observer(), **METHODS[method]), ours(name)
    assert np.abs(found - expected).max() < AGREED * np.abs(expected).max()


# small motions ----------------------------------------------------------------------------------------------------------


def resting_ball():
    """A ball on a soft floor, which it presses in."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1, inertia=[0.004] * 3), position=(0, 0, 0.0986))
    system.prismatic("guide", system.ground.at((0, 0, 0)), ball, axis=(0, 0, 1))
    law = contact.power_law(2e4, restitution=0.6, speed=1.0)
    system.contact("floor", contact.Plane().on(system.ground.at((0, 0, 0))), contact.Sphere(0.1).on(ball.at((0, 0, 0))), law=law)  # fmt: skip
    return system, "guide", 5e-5


def held_slider():
    """A slider with a pendulum, held by a PID controller with its states."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    slider = system.add(flexmb.rigid_body("slider", mass=1, inertia=[0.1] * 3))
    bob = system.add(flexmb.rigid_body("bob", mass=0.5, inertia=[0.01] * 3), position=(0, 0, -0.4))
    system.prismatic("rail", system.ground.at((0, 0, 0)), slider, axis=(1, 0, 0))
    system.revolute("pivot", slider.at((0, 0, 0)), bob.at((0, 0, 0.4)), axis=(0, 1, 0))
    law = controllers.pid(80.0, 20.0, 15.0, filter=0.02)
    system.controller("servo", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"})
    return system, "rail", 1e-3


def hinged_plate():
    """A strip of shells on a hinge with a spring and a damper; all shapes move."""
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(plate(Observer()), name="plate")
    system.revolute("hinge", system.ground.at((0, 0.05, 0)), body["root"], axis=(0, 1, 0))
    system.joint_spring("spring", "hinge", stiffness=5.0, damping=0.01)
    return system, "hinge", 1e-3


@pytest.mark.parametrize(
    "small",
    [resting_ball, *(pytest.param(f, marks=pytest.mark.long) for f in (held_slider, hinged_plate))],
    ids=lambda f: f.__name__,
)
def test_small_motions_are_sums_of_the_linear_ones(small):
    """After a small push from rest, a coordinate is a sum of the exponentials of the eigenvalues, and of no fewer that matter."""
    system, joint, speed = small()
    rest = equilibrium(system)
    values = linearise(rest.mechanism, rest.state).modes().eigenvalues
    slowest = np.abs(values[np.abs(values) > 1e-3 * np.abs(values).max()]).min()
    system.set_speed(joint, speed)
    mechanism = replace(system.build(), initial=replace(rest.state, w=system.build().initial.w))
    result = flexmb.simulate(mechanism, 6.0 / slowest, method="radau", tolerance=1e-10, output_step=0.02 / slowest)
    moved = result.coordinate(joint) - result.coordinate(joint)[0]
    terms = np.exp(np.outer(result.t, values))
    basis = np.column_stack([np.ones(len(result.t)), terms.real, terms.imag])

    def left(columns):
        fitted = columns @ np.linalg.lstsq(columns, moved, rcond=1e-12)[0]
        return np.abs(fitted - moved).max() / np.abs(moved).max()

    assert left(basis) < 1e-4
    shifted = np.exp(np.outer(result.t, 1.02 * values))
    assert left(np.column_stack([np.ones(len(result.t)), shifted.real, shifted.imag])) > 10 * left(basis)
