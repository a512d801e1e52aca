"""Small motions away from rest and steady motion: the matrices of Lagrange's equations in the coordinates of the joints, linearised."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import random_flexible_body

import fem
import flexmb
import reduction
from flexmb.equations.evaluation import Equations
from flexmb.equations.spanning_tree import tree_of
from flexmb.kernels.calls import joint_poses, place_bodies, place_markers
from flexmb.linear import frequency_response, linearise
from flexmb.linear.independent import FIRST, SECOND
from flexmb.mechanism.compile import compiled
from flexmb.results.measure import measure
from flexmb.spatial.lie import rotation_from_quaternion


def assert_close(found, expected, tolerance=1e-9):
    """Matrices, relative to the largest entry of each, or of the mass matrix."""
    for a, b in zip(found, expected, strict=True):
        assert np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), np.abs(expected[0]).max())


def two_link_arm(angles, rates, masses=(2.0, 1.5), lengths=(1.0, 0.8)):
    system = flexmb.System(gravity=(0, -9.81, 0), name="arm")
    first, both = angles[0], sum(angles)
    elbow = lengths[0] * np.array([np.cos(first), np.sin(first), 0.0])
    speed = rates[0] * np.array([-elbow[1], elbow[0], 0.0])
    upper = flexmb.rigid_body("upper", mass=masses[0], inertia=(0.1, 0.2, 0.3), centre=(lengths[0] / 2, 0, 0))
    lower = flexmb.rigid_body("lower", mass=masses[1], inertia=(0.1, 0.15, 0.2), centre=(lengths[1] / 2, 0, 0))
    a = system.add(upper, orientation=(0, 0, first), angular_velocity=(0, 0, rates[0]))
    b = system.add(lower, position=elbow, orientation=(0, 0, both), velocity=speed, angular_velocity=(0, 0, sum(rates)))
    system.revolute("shoulder", system.ground.at((0, 0, 0)), a, axis=(0, 0, 1))
    system.revolute("elbow", a.at((lengths[0], 0, 0)), b, axis=(0, 0, 1))
    return system


def lagrange_of_the_arm(q, v, vdot, masses=(2.0, 1.5), lengths=(1.0, 0.8), inertias=(0.3, 0.2)):
    """Torques of a two-link arm (any textbook of robotics) and its mass matrix; complex arguments allowed."""
    (m1, m2), l1, c1, c2 = masses, lengths[0], lengths[0] / 2, lengths[1] / 2
    a, b, d = inertias[0] + m1 * c1**2 + inertias[1] + m2 * (l1**2 + c2**2), m2 * l1 * c2, inertias[1] + m2 * c2**2
    M = np.array([[a + 2 * b * np.cos(q[1]), d + b * np.cos(q[1])], [d + b * np.cos(q[1]), d + 0 * q[1]]])
    h = -b * np.sin(q[1])
    weight = m2 * c2 * 9.81 * np.cos(q[0] + q[1])
    gyration = np.array([h * (2 * v[0] * v[1] + v[1] ** 2), -h * v[0] ** 2])
    return M @ vdot + gyration + np.array([(m1 * c1 + m2 * l1) * 9.81 * np.cos(q[0]) + weight, weight]), M


@pytest.mark.parametrize("rates", [(0.0, 0.0), (1.3, -2.1), (20.0, 30.0)])
def test_an_accelerating_arm_has_the_matrices_of_its_lagrange_equations(rates):
    """Complex steps through the closed form."""
    q, v, none = np.array([0.3, 0.7], complex), np.array(rates, complex), np.zeros(2)
    bias, M = lagrange_of_the_arm(q, v, none)
    vdot = np.linalg.solve(M.real, -bias.real)
    steps = 1e-30j * np.eye(2)
    K = np.column_stack([lagrange_of_the_arm(q + s, v, vdot)[0].imag for s in steps]) / 1e-30
    D = np.column_stack([lagrange_of_the_arm(q, v + s, vdot)[0].imag for s in steps]) / 1e-30
    linear = linearise(two_link_arm((0.3, 0.7), rates))
    assert linear.coordinates == ("shoulder about z", "elbow about z")
    assert_close(linear.reduced(), (M.real, D, K), 1e-10)
    exact = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M.real, K), -np.linalg.solve(M.real, D)]]))  # fmt: skip
    found = linear.modes()
    for value, error in zip(found.eigenvalues, found.errors, strict=True):
        assert np.abs(exact - value).min() <= max(error, 1e-12 * abs(value))


def random_tree(pin, rng, count, kinds=("slide", "hinge", "hinge"), free=False):
    """A tree of joints about random axes, moving, as a model of Pinocchio and as a system; `free`: its root flies."""
    model = pin.Model()
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    axes, kinds = rng.normal(size=(count, 3)), [str(rng.choice(kinds)) for _ in range(count)]
    parents: list[int] = []
    if free:
        kinds[:2] = ["free", "ball"]
    for k in range(count):
        path = [k]  # Pinocchio counts joints depth first: the parent is the last joint or one before it on its branch
        while path[-1]:
            path.append(parents[path[-1] - 1])
        parents.append(int(rng.choice(path)))
        axis = axes[k] / np.linalg.norm(axes[k])
        joint = {
            "free": pin.JointModelFreeFlyer(), "ball": pin.JointModelSpherical(),
            "slide": pin.JointModelPrismaticUnaligned(axis), "hinge": pin.JointModelRevoluteUnaligned(axis),
        }[kinds[k]]  # fmt: skip
        model.addJoint(parents[k], joint, pin.SE3.Random() if k else pin.SE3.Identity(), f"joint {k}")
        central = np.diag([0.3, 0.2, 0.35]) * (1 + k)
        model.appendBodyToJoint(k + 1, pin.Inertia(1.0 + k, rng.normal(size=3), central), pin.SE3.Identity())
    q, v = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv)), 2 * rng.normal(size=model.nv)
    data = model.createData()
    pin.forwardKinematics(model, data, q, v)
    system = flexmb.System(gravity=model.gravity.linear)
    bodies = []
    for k in range(count):
        place, twist, inertia = data.oMi[k + 1], data.v[k + 1], model.inertias[k + 1]
        R = place.rotation
        body = flexmb.rigid_body(f"body {k}", mass=inertia.mass, inertia=inertia.inertia, centre=inertia.lever)
        bodies.append(system.add(
            body, position=place.translation, orientation=R,
            velocity=R @ twist.linear, angular_velocity=R @ twist.angular,
        ))  # fmt: skip
        before = bodies[parents[k] - 1] if parents[k] else system.ground
        if kinds[k] == "free":
            continue
        at = before.at(data.oMi[parents[k]].actInv(place.translation) if parents[k] else place.translation)
        kind = {"slide": "prismatic", "hinge": "revolute", "ball": "spherical"}[kinds[k]]
        axis = {} if kind == "spherical" else {"axis": R @ axes[k]}
        getattr(system, kind)(f"joint {k}", at, bodies[-1].at((0, 0, 0)), **axis)
    return model, q, v, system


@pytest.mark.parametrize("seed", range(4))
def test_moving_trees_have_the_derivatives_that_pinocchio_gives(seed):
    pin = pytest.importorskip("pinocchio")
    pin.seed(seed)
    model, q, v, system = random_tree(pin, np.random.default_rng(seed), 6)
    data = model.createData()
    vdot = pin.aba(model, data, q, v, np.zeros(model.nv))
    K, D, M = (np.array(x) for x in pin.computeRNEADerivatives(model, data, q, v, vdot))
    M = np.triu(M) + np.triu(M, 1).T
    assert_close(linearise(system).reduced(), (M, D, K))


def carried(pin, model, v):
    """`ad_v` (nv, nv) of the joints, each within its own group."""
    out = np.zeros((model.nv, model.nv))
    for joint in list(model.joints)[1:]:
        span = slice(joint.idx_v, joint.idx_v + joint.nv)
        if joint.nv == 3:
            out[span, span] = pin.skew(v[span])
        elif joint.nv == 6:
            out[span, span] = pin.Motion(v[span]).action
    return out


@pytest.mark.parametrize("seed", range(3))
def test_flying_trees_with_ball_joints_have_them_too(seed):
    """Their coordinates are twists of the joints: `dv = y' + ad_v y`, `dvdot = y'' + ad_v y' + ad_vdot y`."""
    pin = pytest.importorskip("pinocchio")
    pin.seed(seed)
    model, q, v, system = random_tree(pin, np.random.default_rng(seed), 4, ("ball", "hinge", "slide"), free=True)
    data = model.createData()
    vdot = pin.aba(model, data, q, v, np.zeros(model.nv))
    K, D, M = (np.array(x) for x in pin.computeRNEADerivatives(model, data, q, v, vdot))
    M = np.triu(M) + np.triu(M, 1).T
    by_speed, by_gain = carried(pin, model, v), carried(pin, model, vdot)
    linear = linearise(system)
    assert linear.degrees_of_freedom == model.nv
    T = np.eye(model.nv)  # our ball joints have the axes of their markers, theirs those of the body
    for k, joint in enumerate(list(model.joints)[1:]):
        if joint.nv == 3:
            span = slice(joint.idx_v, joint.idx_v + 3)
            T[span, span] = linear.mechanism.markers[linear.mechanism.joint(f"joint {k}").markers[1]].axes
    expected = [T.T @ X @ T for X in (M, D + M @ by_speed, K + D @ by_speed + M @ by_gain)]
    assert_close(linear.reduced(), expected)


def joint_accelerations(mechanism, y, rates):
    """Of the coordinates of the joints, after a displacement `y` of them from the start, at some rates; and their motions."""
    flat, tree, q0 = compiled(mechanism), tree_of(mechanism), mechanism.initial.q
    e, nv = Equations(mechanism, q0), len(flat.weight)
    pose, moved, q, w, drift = np.zeros((len(flat.modes), 7)), np.zeros((len(flat.modes), 7)), q0.copy(), np.zeros(nv), np.zeros(nv)  # fmt: skip
    place_markers(flat, q0, e.kinematics)
    joint_poses(flat, tree, e.kinematics, q0, pose)
    none = np.zeros(len(y))
    place_bodies(flat, tree, pose, q0, y, rates, none, q0, moved, q, w, drift)
    columns, scratch = [], np.zeros(nv)
    for unit in np.eye(len(y)):
        column = np.zeros(nv)
        place_bodies(flat, tree, pose, q0, y, unit, none, q0, moved, q, column, scratch)
        columns.append(column)
    N = np.array(columns).T
    wdot = e.accelerations(mechanism.function_values(0.0), q, w)[0]
    return np.linalg.lstsq(N, wdot - drift, rcond=None)[0]


def flexible_tree(rng):
    """Flexible and rigid bodies on hinges and a slide, with a spring, a law, a motor, dampers and a load that follows its body."""
    system = flexmb.System(gravity=(1.0, 2.0, -9.81))
    one = system.add(random_flexible_body(rng, second_order=True), name="one")
    body = flexmb.rigid_body("two", mass=1.0, inertia=(0.1, 0.2, 0.25), centre=(0.1, 0.2, 0.0))
    start = random_flexible_body(rng).interface("end").point
    two = system.add(body, position=start)
    three = system.add(random_flexible_body(rng, stiffness=(500.0, 2000.0)), name="three", position=start)
    system.revolute("root", system.ground.at((0, 0, 0)), one["start"], axis=(0, 1, 0.3))
    system.revolute("middle", one["end"], two.at((0, 0, 0)), axis=(1, 1, 0))
    system.prismatic("slide", two.at((0, 0, 0)), three["start"], axis=(0, 0.3, 1))
    system.joint_spring("coil", "middle", stiffness=20.0, damping=0.3)
    system.motor("servo", "root", lambda t, x, xdot: -3.0 * np.sin(2 * x) - 0.2 * xdot * abs(xdot))
    system.joint_spring("catch", "slide", stiffness=40.0, damping=0.5)
    system.load("jet", three["end"], force=(3.0, 1.0, 2.0), moment=(0.1, 0.3, 0.2), follower=True)
    for joint, speed in (("root", 2.0), ("middle", -3.0), ("slide", 0.7)):
        system.set_speed(joint, speed)
    return system


def test_flexible_trees_with_forces_have_the_derivatives_of_their_joint_accelerations():
    """Differences of the eighth order of the accelerations of the joints' coordinates."""
    linear = linearise(flexible_tree(np.random.default_rng(3)))
    mechanism = replace(linear.mechanism, initial=linear.state)
    n = linear.degrees_of_freedom
    rates = np.linalg.lstsq(linear.N, linear.state.w, rcond=None)[0]
    M, D, K = linear.reduced()
    by_place, by_rate = np.zeros((n, n)), np.zeros((n, n))
    h = 2e-3
    for k, unit in enumerate(np.eye(n)):
        places = [joint_accelerations(mechanism, j * h * unit, rates) for j in range(-4, 5)]
        speeds = [joint_accelerations(mechanism, np.zeros(n), rates + j * h * unit) for j in range(-4, 5)]
        by_place[:, k], by_rate[:, k] = FIRST @ np.array(places) / h, FIRST @ np.array(speeds) / h
    assert_close((M, D, K), (M, -M @ by_rate, -M @ by_place), 1e-8)


CRANK, COUPLER, OUTPUT, GROUND = 0.5, 1.4, 1.1, 1.3


def four_bar(angle, rate, redundant):
    """Uniform rods; closed with a joint in the plane, or with a hinge, whose equations repeat others."""
    pins = four_bar_pins(np.array([angle]))[0].real
    system = flexmb.System(gravity=(0, -9.81, 0), name="four-bar")
    places = {"A": np.zeros(2), "B": pins[:2], "C": pins[2:], "D": np.array([GROUND, 0.0])}

    def add(name, mass, a, b):
        d = places[b] - places[a]
        rod = flexmb.uniform_rod(name, mass=mass, length=float(np.hypot(*d)), radius=0.01)
        return system.add(rod, position=(*places[a], 0.0), orientation=(0, 0, np.arctan2(d[1], d[0])))

    crank, coupler, output = add("crank", 1.0, "A", "B"), add("coupler", 2.0, "B", "C"), add("output", 1.5, "D", "C")
    z = (0, 0, 1)
    system.revolute("A", system.ground.at((0, 0, 0)), crank["start"], axis=z)
    system.revolute("B", crank["end"], coupler["start"], axis=z)
    if redundant:
        system.revolute("C", coupler["end"], output["end"], axis=z)
    else:
        system.joint("point-on-line", "C", coupler["end"], output["end"], axis=z)
    system.revolute("D", system.ground.at((GROUND, 0, 0)), output["start"], axis=z)
    system.set_speed("A", rate)
    return system


def four_bar_pins(angle):
    """Where the coupler is hinged (n, 4), by circles; complex angles allowed."""
    pin = CRANK * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    d = np.array([GROUND, 0.0]) - pin
    square = (d**2).sum(axis=-1, keepdims=True)
    along = (COUPLER**2 - OUTPUT**2 + square) / (2 * square)
    across = np.stack([-d[..., 1], d[..., 0]], axis=-1)
    return np.concatenate([pin, pin + along * d + across * np.sqrt(COUPLER**2 / square - along**2)], axis=-1)


def four_bar_energies(angle, J):
    """Inertia about the crank's angle and potential of the weight, by complex steps of the positions."""

    def of(at):
        pins, slopes = four_bar_pins(at)[0].real, four_bar_pins(at + 1e-30j)[0].imag / 1e-30
        inertia = potential = 0.0
        zero = np.zeros(2)
        ends = [(zero, pins[:2], zero, slopes[:2]), (pins[:2], pins[2:], slopes[:2], slopes[2:]), (np.array([GROUND, 0.0]), pins[2:], zero, slopes[2:])]  # fmt: skip
        for mass, polar, (a, b, va, vb) in zip((1.0, 2.0, 1.5), J, ends, strict=True):
            d, rate = b - a, vb - va
            turning = (d[0] * rate[1] - d[1] * rate[0]) / (d @ d)
            centre = (va + vb) / 2
            inertia += mass * centre @ centre + polar * turning**2
            potential += mass * 9.81 * (a[1] + b[1]) / 2
        return inertia, potential

    h = 2e-3
    return np.array([of(np.array([angle + k * h])) for k in range(-4, 5)]), h


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize(("angle", "rate"), [(1.0, 0.0), (1.0, 3.0), (2.6, -5.0), (5.1, 1.0)])
def test_a_moving_loop_has_the_matrices_of_its_one_lagrange_equation(redundant, angle, rate):
    """`J y'' + J' y'^2 / 2 + V' = 0` in the crank's angle, linearised; the null space has the crank's angle as its coordinate, scaled."""
    system = four_bar(angle, rate, redundant)
    linear = linearise(system)
    bodies = linear.mechanism.bodies
    J = [b.invariants.J0[2, 2] - b.invariants.mass * (b.centre @ b.centre) for b in bodies]
    table, h = four_bar_energies(angle, J)
    (inertia, _), (slope, force), (curve, stiffness) = table[4], FIRST @ table / h, SECOND @ table / h**2
    gain = -(0.5 * slope * rate**2 + force) / inertia
    exact = inertia, slope * rate, slope * gain + 0.5 * curve * rate**2 + stiffness
    scale = linear.N[5, 0]  # of the crank's angle
    found = [float(x[0, 0]) / scale**2 for x in linear.reduced()]
    assert linear.coordinates == ("motion 1",)
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-8 * inertia)
    np.testing.assert_allclose(linear.N_rate[5], 0.0, atol=1e-9 * abs(scale))


def test_the_motions_that_joints_allow_are_continued_along_the_motion():
    """`N` of a moment later, to the third order: of a tree, of a loop."""
    for system, joint in ((two_link_arm((0.3, 0.7), (1.0, -2.0)), None), (four_bar(1.0, 3.0, False), "A")):
        linear = linearise(system)
        h = 1e-3
        result = flexmb.simulate(system, 2 * h, step=h / 20, output_step=h)
        later = linearise(result.mechanism, result.state(1)).N
        if joint:
            later = later * (linear.N[5, 0] / later[5, 0])
        expected = linear.N + h * linear.N_rate + 0.5 * h * h * linear.N_acceleration
        np.testing.assert_allclose(later, expected, atol=1e-7)


def hanging_bar(modes, joint, up=False, length=0.1):
    """A solid bar of steel below, or above, its joint."""
    block = fem.structured_meshes.block("hexahedron20", (length, length / 10, length / 10), (8, 1, 1))
    part = fem.Model(block, fem.Material.steel()).with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes), name="bar")
    sign = -1.0 if up else 1.0
    system = flexmb.System(gravity=(0, 0, -9.81), name="bar")
    placed = system.add(body, orientation=(0, sign * np.pi / 2, 0))
    R = rotation_from_quaternion(np.array([np.sqrt(0.5), 0, sign * np.sqrt(0.5), 0]))
    axes = {
        "revolute": {"axis": (0, 1, 0)},
        "universal": {"axis": (0, 1, 0), "second_axis": (1, 0, 0)},
        "spherical": {},
    }
    getattr(system, joint)("pivot", system.ground.at(R @ body.interface("a").point), placed["a"], **axes[joint])
    return system


@pytest.mark.parametrize("joint", ["revolute", "universal", "spherical"])
def test_the_swing_of_a_hanging_bar_does_not_depend_on_its_modes(joint):
    """About its undeformed start, from which it begins to stretch; and upside down it falls."""
    compound = np.sqrt(9.81 * 0.05 / (0.1**2 / 3 + 0.01**2 / 12))
    for modes in (2, 8):
        found = linearise(hanging_bar(modes, joint)).modes().eigenvalues
        assert np.abs(found - 1j * compound).min() <= 1e-5 * compound
        found = linearise(hanging_bar(modes, joint, up=True)).modes()
        assert np.abs(found.eigenvalues - compound).min() <= 1e-5 * compound
        assert found.verdict == "unstable"


def tip_of_the_arm(q, v, vdot, lengths=(1.0, 0.8)):
    """Velocity and acceleration of the tip, complex arguments allowed."""
    angles, rates, changes = (np.array([x[0], x[0] + x[1]]) for x in (q, v, vdot))
    radial, across = np.array([np.cos(angles), np.sin(angles)]), np.array([-np.sin(angles), np.cos(angles)])
    return across @ (lengths * rates), across @ (lengths * changes) - radial @ (lengths * rates**2)


def test_responses_of_an_accelerating_mechanism_are_those_of_its_lagrange_equations():
    """The angle of an arm that falls, and velocity and acceleration of its tip, for a torque at its elbow, frozen at
    the start."""
    rates = np.array([1.0, -2.0])
    system = two_link_arm((0.3, 0.7), rates)
    system.motor("torque", "elbow", 0.0)
    linear = linearise(system)
    M, D, K = linear.reduced()
    outputs = {"elbow": "coordinate:elbow"}
    outputs |= {
        f"{kind} {axis}": f"{kind}:lower@0.8,0,0:{axis}" for kind in ("velocity", "acceleration") for axis in "xy"
    }
    found = frequency_response(linear, [0.7], ["torque"], {name: measure(text) for name, text in outputs.items()})
    s = 2j * np.pi * 0.7
    motion = np.linalg.solve(K + s * D + s * s * M, [0.0, 1.0])
    assert found.values[0, 0, 0] == pytest.approx(motion[1], rel=1e-8)
    q, v = np.array([0.3, 0.7], complex), rates.astype(complex)
    vdot = np.linalg.solve(M, -lagrange_of_the_arm(q, v, np.zeros(2))[0].real)
    exact = np.zeros((2, 2), complex)  # of velocity and acceleration, in x and y
    for k in range(2):
        unit = 1e-30j * np.eye(2)[k]
        for power, moved in enumerate([(q + unit, v, vdot), (q, v + unit, vdot), (q, v, vdot + unit)]):
            exact += np.imag(tip_of_the_arm(*moved)) / 1e-30 * s**power * motion[k]
    np.testing.assert_allclose(found.values[0, 1:, 0], exact.ravel(), rtol=1e-7)
