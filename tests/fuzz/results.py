"""Results with every element whose parts compiled code reads by index: laws, contacts, groups, friction, lines, controllers, curves."""

import flexmb
from flexmb import contact, controllers, time_functions
from flexmb.forces.frame import LIBRARY


def with_all_elements() -> flexmb.Result:
    """Contacts by laws, a group of contacts, friction of a joint, a pipe and wind, controllers, a law between frames."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="all elements")
    ground = system.ground
    balls = [
        system.add(flexmb.rigid_body(f"ball {k}", mass=1, inertia=[0.004] * 3), position=(0.21 * k, 0, 0.0999))
        for k in range(3)
    ]
    round_ = contact.Sphere(0.1)
    soft = contact.power_law(1e5, restitution=0.5, speed=1.0)
    slip = {"friction": 0.3, "slip_speed": 0.01}
    system.contact(
        "floor", contact.Plane().on(ground.at((0, 0, 0))), round_.on(balls[0].at((0, 0, 0))), law=soft, **slip
    )
    system.contact_group(
        "others",
        [contact.Plane().on(ground.at((0, 0, 0))), *(round_.on(ball.at((0, 0, 0))) for ball in balls[1:])],
        law=soft,
        **slip,
    )
    rod = system.add(flexmb.rigid_body("rod", mass=2, inertia=[0.1] * 3, points={"end": (1, 0, 0)}), position=(0, 3, 0))
    system.revolute("hinge", ground.at((0, 3, 0)), rod.at((0, 0, 0)), axis=(0, 1, 0))
    system.friction("dry", "hinge", 0.2, radius=0.02, static=0.3)
    line = [(0, 0, 0), (0.5, 0, 0), (1, 0, 0)]
    system.pipe_flow("water", rod, line, mass_per_length=0.2, speed=1.0, factor=time_functions.harmonic(0.5, 2.0))
    system.wind("gust", rod, line, density=1.2, diameter=0.05, velocity=(0, 0, 5))
    slider = system.add(flexmb.rigid_body("slider", mass=1, inertia=[0.1] * 3), position=(0, 6, 0))
    system.prismatic("rail", ground.at((0, 6, 0)), slider, axis=(1, 0, 0))
    rate = {"measured": "coordinate:rail", "reference": time_functions.harmonic(0.1, 3.0)}
    servo = controllers.pid(20.0, 1.0, 2.0, filter=0.01)
    system.controller("servo", servo, inputs=rate, outputs={"command": "effort:rail"})
    double = controllers.linear(([], [], [], [[2.0]]), inputs="seen", commands="twice", sample_time=0.002)
    system.controller("watch", double, inputs={"seen": "command:servo:command"}, outputs={"twice": "force:rod.end:z"})
    shape = controllers.curve([0, 1, 2], [0, 1, 0])
    system.controller("shape", shape, inputs={"input": "position:rod.end:x"}, outputs={})
    bob = system.add(flexmb.rigid_body("bob", mass=1, inertia=[0.1] * 3), position=(0, 9, 0))
    hinge = LIBRARY["plastic-hinge"](stiffness=10.0, limit=1.0)
    system.force("mount", ground.at((0, 9, 0)), bob.at((0, 0, 0)), law=hinge)
    return flexmb.simulate(system, 0.01, step=1e-3)


def with_exact_contact() -> flexmb.Result:
    """A ball that falls on the ground, and a box that slides on it."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="exact contact")
    ball = system.add(
        flexmb.rigid_body("ball", mass=1, inertia=[0.004] * 3), position=(0, 0, 0.101), velocity=(0, 0, -1)
    )
    box = system.add(flexmb.rigid_body("box", mass=1, inertia=[0.01] * 3), position=(2, 0, 0.1), velocity=(1, 0, 0))
    floor = contact.Plane().on(system.ground.at((0, 0, 0)))
    system.contact("ball", floor, contact.Sphere(0.1).on(ball.at((0, 0, 0))), friction=(0.4, 0.3), restitution=0.5)
    system.contact("box", floor, contact.Box(0.2, 0.2, 0.2).on(box.at((0, 0, 0))), friction=0.2)
    return flexmb.simulate(system, 0.01, step=1e-3)
