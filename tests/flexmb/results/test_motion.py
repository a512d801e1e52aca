"""Rates, accelerations, momenta and attitudes of results, against differences of the motion and sums over points."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, random_flexible_body, slider_crank
from scipy.spatial.transform import Rotation

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.bodies import dynamics
from flexmb.errors import JointError, MeasureError
from flexmb.mechanism import joints
from flexmb.mechanism.joints import _POINT, JOINTS, JointKind
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.attitude import attitude_as
from flexmb.results.joint_motion import chosen_dof, joint_dofs
from flexmb.results.measure import measure
from flexmb.results.motion import frame_motion
from flexmb.results.result import result_of_states
from flexmb.simulation.events import Event, Terminate
from flexmb.spatial.lie import quaternion_from_rotation, rotation_exp
from flexmb.spatial.lie import rotation_from_quaternion as rotation_of

STEP = 1e-4
POINTS = np.arange(-2, 3) * STEP


def smooth(mechanism: Mechanism, rng, bent=1.0) -> flexmb.Result:
    """A motion of all coordinates, whether joints allow it or not, at five times about t = 0: exact `w` and `wdot`."""
    q, w, wdot = [], [], []
    shape = []
    for body in mechanism.bodies:
        numbers = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), 0.3 * bent * rng.normal(size=(3, body.modes))
        shape.append(numbers)
    for t in POINTS:
        qs, ws, wdots = [], [], []
        for r, theta, eta in shape:
            R0, x, xdot = rotation_exp(theta[2]), theta[0] * t + theta[1] * t**2 / 2, theta[0] + theta[1] * t
            R = R0 @ rotation_exp(x)
            # small rotations x(t): angular velocity in body axes to third order of t by its series, exact enough
            omega = xdot - np.cross(x, xdot) / 2 + np.cross(x, np.cross(x, xdot)) / 6
            second = theta[1]
            omegadot = (
                second
                - np.cross(x, second) / 2
                + (np.cross(xdot, np.cross(x, xdot)) + np.cross(x, np.cross(x, second))) / 6
            )
            v = R.T @ (r[1] + r[2] * t)
            qs += [
                r[0] + r[1] * t + r[2] * t**2 / 2,
                quaternion_from_rotation(R),
                eta[0] + eta[1] * t + eta[2] * t**2 / 2,
            ]
            ws += [v, omega, eta[1] + eta[2] * t]
            wdots += [R.T @ r[2] - np.cross(omega, v), omegadot, eta[2]]
        q.append(np.concatenate(qs))
        w.append(np.concatenate(ws))
        wdot.append(np.concatenate(wdots))
    none = np.zeros((len(POINTS), mechanism.joint_rows))
    return result_of_states(mechanism, POINTS.copy(), np.array(q), np.array(w), np.array(wdot), none)


def rate(x):
    """The derivative at the middle of five values, of fourth order."""
    return (x[0] - 8 * x[1] + 8 * x[3] - x[4]) / (12 * STEP)


def angular_rate(A):
    """The angular velocity at the middle of five attitudes, in the world."""
    W = rate(A) @ A[2].T
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


@pytest.mark.parametrize("bent", [1.0, 40.0])  # rotations of interfaces of 0.1 and of 3 rad: series and closed form
@pytest.mark.parametrize("second_order", [False, True])
def test_markers_move_as_their_positions_change(second_order, bent):
    rng = np.random.default_rng(4)
    system = flexmb.System()
    body = random_flexible_body(rng, second_order=second_order)
    if second_order:  # of the interfaces, too
        fields = 0.3 / bent * rng.normal(size=(2, 6, body.modes, body.modes))
        moved = zip(body.interfaces.items(), fields + fields.swapaxes(2, 3), strict=True)
        body = replace(body, interfaces={name: replace(place, second=field) for (name, place), field in moved})
    system.add(body)
    result = smooth(system.build(), rng, bent)
    for name in ("random.start", "random.end", "random"):
        found = frame_motion(result, name)
        np.testing.assert_allclose(found.velocity[2], rate(found.position), atol=1e-9 * bent)
        np.testing.assert_allclose(found.acceleration[2], rate(found.velocity), atol=1e-9 * bent)
        np.testing.assert_allclose(found.angular_velocity[2], angular_rate(found.axes), atol=1e-9 * bent)
        np.testing.assert_allclose(found.angular_acceleration[2], rate(found.angular_velocity), atol=1e-9 * bent)
        np.testing.assert_array_equal(result.acceleration(name), found.acceleration)
        np.testing.assert_array_equal(result.angular_acceleration(name), found.angular_acceleration)
        if name != "random":  # the compiled path
            np.testing.assert_allclose(result.position(name), found.position, atol=1e-13 * bent)
            np.testing.assert_allclose(result.axes(name), found.axes, atol=1e-13)
            np.testing.assert_allclose(result.velocity(name), found.velocity, atol=1e-12 * bent)
            np.testing.assert_allclose(result.angular_velocity(name), found.angular_velocity, atol=1e-12 * bent)


def test_points_and_nodes_of_bodies():
    rng = np.random.default_rng(5)
    model = fem.Model(block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1)), fem.Material.steel()).with_interfaces(root="x0")
    bar = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=4), name="bar")
    system = flexmb.System()
    system.add(bar)
    system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    result = smooth(system.build(), rng)
    places = [("rod", {"point": (0.3, 0.2, 0.1)}), ("bar", {"node": 11})]
    for name, where in places:
        position = result.position(name, **where)
        np.testing.assert_allclose(result.velocity(name, **where)[2], rate(position), atol=1e-9)
        acceleration = rate(result.velocity(name, **where))
        np.testing.assert_allclose(result.acceleration(name, **where)[2], acceleration, atol=1e-9)
    r, R = result.frame("bar")
    u = [X + bar.displacements(eta) for X, eta in zip([bar.mesh.points] * 5, result.elastic("bar"), strict=True)]
    np.testing.assert_allclose(result.position("bar", node=11)[3], r[3] + R[3] @ u[3][11], atol=1e-6)  # shapes: 32 bits
    x = measure("acceleration:rod@0.3,0.2,0.1:y")(result)
    np.testing.assert_array_equal(x, result.acceleration("rod", point=(0.3, 0.2, 0.1))[:, 1])
    np.testing.assert_array_equal(measure("velocity:bar@node 11:x")(result), result.velocity("bar", node=11)[:, 0])
    refused = [
        (("bar",), {"point": (0, 0, 0)}, r"flexible body 'bar'.*node=.*bar\.root|Flexible body 'bar'"),
        (("bar",), {"node": 99}, "nodes 0 to 19"),
        (("rod",), {"node": 0}, "no mesh"),
        (("rod.end",), {"point": (0, 0, 0)}, "is a marker"),
        (("rood",), {}, "rood"),
    ]
    for names, where, text in refused:
        with pytest.raises(MeasureError, match=text):
            result.position(*names, **where)
    with pytest.raises(MeasureError, match="BODY@x,y,z"):
        measure("position:rod@there:x")(result)


def turned(kind: JointKind | str):
    """Two free bodies, joined, some time after they were let go: five times, close to each other."""
    rng = np.random.default_rng(6)
    system = flexmb.System(gravity=(1.0, 2.0, 3.0))
    first = system.add(
        flexmb.rigid_body("first", mass=1.0, inertia=(1.0, 2.0, 2.5)), orientation=(0.1, 0.2, 0.3),
        velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3),
    )  # fmt: skip
    second = system.add(
        flexmb.rigid_body("second", mass=2.0, inertia=(2.0, 1.0, 1.5), centre=(0.2, 0.1, 0.0)),
        velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3),
    )  # fmt: skip
    system.joint(kind, "joint", first.at((0.4, 0.1, 0.2)), second, axis=(0.3, 0.5, 1.0))
    fine = {"method": "radau", "step": 5e-3}
    state = flexmb.simulate(system, 0.4, **fine).state(-1)
    return flexmb.simulate(system, 4 * STEP, method="radau", step=STEP, output_step=STEP, initial_state=state)


ABOUT_Y = JointKind("pin about y", (*_POINT, ("dot", 0, 1), ("dot", 1, 2)))
CARDANS = (JointKind("cardan z x", (*_POINT, ("dot", 2, 0))), JointKind("cardan x z", (*_POINT, ("dot", 0, 2))))


@pytest.mark.parametrize("kind", [*JOINTS, ABOUT_Y, *CARDANS], ids=str)
def test_joints_move_as_their_coordinates_change(kind, monkeypatch):
    if isinstance(kind, JointKind):
        monkeypatch.setitem(joints._REGISTERED, kind.name, kind)
        kind = kind.name
    result = turned(kind)
    dofs = result.joint_dofs("joint")
    assert len(dofs) == 6 - len(JOINTS[kind].equations)
    S = np.einsum("tki,tkj->tij", result.axes("joint.a"), result.axes("joint.b"))
    ball = sum(dof.startswith("rotation") for dof in dofs) == 3 or JOINTS[kind].bends
    for dof in dofs:
        x, v = result.coordinate("joint", dof), result.coordinate_rate("joint", dof)
        assert abs(x).max() > 1e-2
        if ball and dof.startswith("rotation"):
            k = "xyz".index(dof[-1])
            assert v[2] == pytest.approx(angular_rate(S)[k], abs=1e-8)
            assert x[2] == pytest.approx(Rotation.from_matrix(S[2]).as_rotvec()[k], abs=1e-12)
        else:
            assert v[2] == pytest.approx(rate(x), abs=1e-8)
        assert result.coordinate_acceleration("joint", dof)[2] == pytest.approx(rate(v), abs=1e-6)
        np.testing.assert_array_equal(measure(f"rate:joint:{dof}")(result), v)
    turns = [("xyz".index(dof[-1]), result.coordinate("joint", dof)[2]) for dof in dofs if dof.startswith("rotation")]
    if JOINTS[kind].bends:
        np.testing.assert_allclose(S[2], rotation_exp(np.array([*(angle for _, angle in turns), 0.0])), atol=1e-9)
    elif len(turns) < 3:
        if kind == CARDANS[0].name:
            turns.reverse()  # z in the first body, x in the second
        product = np.eye(3)
        for axis, angle in turns:
            product = product @ rotation_exp(angle * np.eye(3)[axis])
        np.testing.assert_allclose(S[2], product, atol=1e-9)


def test_degrees_of_freedom_are_asked_for_by_name():
    result = turned("universal")
    with pytest.raises(JointError, match=r"no degree of freedom is named.*'rotation x', 'rotation y'"):
        result.coordinate("joint")
    with pytest.raises(JointError, match="found dof='translation'"):
        result.coordinate_rate("joint", "translation")
    driven = flexmb.simulate(slider_crank(speed=3.0), 0.01, step=1e-3)
    np.testing.assert_allclose(driven.coordinate_rate("bearing"), 3.0, rtol=1e-12)
    np.testing.assert_allclose(measure("joint-acceleration:bearing")(driven), 0.0, atol=1e-9)
    assert driven.joint_dof("bearing") == "rotation z"


def test_a_prescribed_motion_has_the_coordinates_that_are_prescribed():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("table", mass=1.0, inertia=(1, 1, 1)))
    system.prescribe(
        "shaker", system.ground.at((0, 0, 0)), body, x=flexmb.time_functions.polynomial(0.0, 0.5, 2.0),
        rotation=flexmb.time_functions.polynomial(0.0, 3.0),
    )  # fmt: skip
    result = flexmb.simulate(system, 0.1, step=1e-3)
    np.testing.assert_allclose(
        result.coordinate("shaker", "translation x"), 0.5 * result.t + 2 * result.t**2, atol=1e-9
    )
    np.testing.assert_allclose(result.coordinate_rate("shaker", "rotation"), 3.0, rtol=1e-9)


@pytest.mark.parametrize("second_order", [False, True])
def test_momenta_are_those_of_the_readable_equations(second_order):
    rng = np.random.default_rng(7)
    system = flexmb.System()
    system.add(random_flexible_body(rng, modes=4, name="a", second_order=second_order))
    system.add(random_flexible_body(rng, modes=2, name="b", second_order=second_order))
    result = smooth(system.build(), rng)
    linear, angular, moment, mass = 0.0, 0.0, 0.0, 0.0
    for body, s in zip(result.mechanism.bodies, (0, 10), strict=True):
        (r, R), eta = (x[1] for x in result.frame(body.name)), result.elastic(body.name)[1]
        l, pi, _ = dynamics.momenta(body, eta, result.w[1, s : s + 6 + body.modes])
        centre = r + R @ dynamics.first_moment(body, eta) / body.invariants.mass
        np.testing.assert_allclose(result.mass_centre(body.name)[1], centre, atol=1e-13)
        np.testing.assert_allclose(result.linear_momentum(body.name)[1], R @ l, atol=1e-13)
        own = R @ pi + np.cross(r - centre, R @ l)
        np.testing.assert_allclose(result.angular_momentum(body.name)[1], own, atol=1e-13)
        linear, angular = linear + R @ l, angular + R @ pi + np.cross(r, R @ l)
        mass, moment = mass + body.invariants.mass, moment + body.invariants.mass * centre
    point = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(result.linear_momentum()[1], linear, atol=1e-13)
    np.testing.assert_allclose(result.mass_centre()[1], moment / mass, atol=1e-13)
    np.testing.assert_allclose(result.angular_momentum(about=(0, 0, 0))[1], angular, atol=1e-12)
    about = angular - np.cross(point, linear)
    np.testing.assert_allclose(result.angular_momentum(about=point)[1], about, atol=1e-12)
    np.testing.assert_array_equal(
        measure("angular-momentum:*@1,2,3:z")(result), result.angular_momentum(about=point)[:, 2]
    )
    np.testing.assert_array_equal(
        measure("momentum:a:size")(result), np.linalg.norm(result.linear_momentum("a"), axis=1)
    )
    at_marker = angular - np.cross(result.position("a.end")[1], linear)
    np.testing.assert_allclose(result.angular_momentum(about="a.end")[1], at_marker, atol=1e-12)
    assert measure("angular-momentum:*@a.end:z")(result)[1] == pytest.approx(at_marker[2], abs=1e-12)


def test_momenta_obey_newton_and_euler():
    """Momentum changes by reactions and weights: a flexible pendulum about its hinge."""
    result = flexmb.simulate(
        flexible_pendulum(np.random.default_rng(8)), 0.5, method="radau", step=2e-4, output_step=1e-3
    )
    mass, g = result.mechanism.bodies[0].invariants.mass, result.mechanism.gravity
    middle = slice(2, -2)

    def difference(x):
        return (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * 1e-3)

    force = result.reaction("hinge")[:, :3] + mass * g
    size = abs(force).max()
    np.testing.assert_allclose(difference(result.linear_momentum()), force[middle], atol=1e-5 * size)
    moment = np.cross(result.mass_centre() - result.position("hinge.b"), mass * g) + result.reaction("hinge")[:, 3:]
    spun = difference(result.angular_momentum(about=(0, 0, 0)))
    np.testing.assert_allclose(spun, moment[middle], atol=1e-5 * abs(moment).max())


@pytest.mark.parametrize("form", ["xyz", "zyx", "ZYX", "XYZ", "ZXZ", "zxz", "YXY"])
def test_angles_compose_to_the_attitude(form):
    result = smooth(double_pendulum().build(), np.random.default_rng(9))
    angles, A = result.attitude("second", form), result.axes("second")
    for t in range(5):
        turns = [
            rotation_exp(a * np.eye(3)["xyz".index(axis)]) for a, axis in zip(angles[t], form.lower(), strict=True)
        ]
        R = turns[0] @ turns[1] @ turns[2] if form.isupper() else turns[2] @ turns[1] @ turns[0]
        np.testing.assert_allclose(R, A[t], atol=1e-12)
    np.testing.assert_array_equal(measure(f"attitude:second:{form}:2")(result), angles[:, 1])


def test_attitudes_are_continuous_over_many_turns():
    system = flexmb.System()
    system.add(flexmb.rigid_body("top", mass=1.0, inertia=(1.0, 1.0, 2.0)), angular_velocity=(0.0, 0.1, 9.0))
    result = flexmb.simulate(system, 4.0, step=1e-3, output_step=0.02)
    p = result.attitude("top")
    assert p[0, 0] > 0
    assert abs(np.diff(p, axis=0)).max() < 0.1
    np.testing.assert_allclose(rotation_of(p[-1]), result.axes("top")[-1], atol=1e-12)
    yaw = result.attitude("top", "ZYX")[:, 0]
    assert yaw[-1] == pytest.approx(36.0, abs=0.5)
    assert abs(np.diff(yaw)).max() < 0.3
    np.testing.assert_array_equal(measure("attitude:top:quaternion:w")(result), p[:, 0])
    vector = result.attitude("top", "rotation-vector")
    np.testing.assert_array_equal(measure("attitude:top:rotation-vector:z")(result), vector[:, 2])
    np.testing.assert_array_equal(result.attitude("top", "matrix"), result.axes("top"))
    np.testing.assert_array_equal(measure("attitude:top:matrix:zx")(result), result.axes("top")[:, 2, 0])


def test_angles_that_are_not_unique_are_warned_of():
    system = flexmb.System()
    system.add(flexmb.rigid_body("top", mass=1.0, inertia=(1, 1, 1)), orientation=(0, np.pi / 2, 0))
    result = flexmb.simulate(system, 0.01, step=1e-3)
    with pytest.warns(flexmb.GimbalLockWarning, match="'top'.*ZYX.*gimbal lock"):
        result.attitude("top", "ZYX")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.attitude("top", "ZXZ")
    for wrong in ("XXY", "XyZ", "euler"):
        with pytest.raises(MeasureError, match="sequence of three axes"):
            result.attitude("top", wrong)
    for text in ("attitude:top:ZYX:4", "attitude:top:ZYX", "attitude:top:polar:x", "attitude:top:matrix:x"):
        with pytest.raises(MeasureError, match="A measure attitude is attitude:NAME:FORM:PART with FORM quaternion"):
            measure(text)
    with pytest.raises(
        MeasureError, match=r"A measure acceleration is acceleration:NAME:AXIS .* found 'acceleration:top'"
    ):
        measure("acceleration:top")
    with pytest.raises(MeasureError, match=r"A measure is KIND:NAME:AXIS .* KIND position, velocity"):
        measure("elbow")


def test_events_and_responses_take_the_new_measures():
    """A pendulum's rod ends its run when its hinge turns as fast as it will at the lowest point, nearly."""
    fast = measure("rate:hinge")
    event = Event("fast", lambda result: -3.0 - fast(result), Terminate())
    result = flexmb.simulate(double_pendulum(), 5.0, step=1e-3, events=[event])
    assert result.coordinate_rate("hinge")[-1] == pytest.approx(-3.0, abs=1e-9)


@pytest.mark.parametrize("angle", [2.5, -2.5, 3.5, -3.5])
def test_the_first_quaternion_has_a_scalar_that_is_not_negative(angle):
    axes = np.array([rotation_exp((angle, 0, 0)), rotation_exp((1.01 * angle, 0, 0))])
    found = attitude_as(axes, "quaternion")
    sign = np.sign(np.cos(angle / 2))
    expected = [[sign * np.cos(k * angle / 2), sign * np.sin(k * angle / 2), 0, 0] for k in (1, 1.01)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


CHOSEN = {  # by none, "rotation" and "translation"; an empty one is refused
    "fixed": ("", "", ""),
    "revolute": ("rotation z", "rotation z", ""),
    "prismatic": ("translation z", "", "translation z"),
    "cylindrical": ("rotation z", "rotation z", "translation z"),
    "spherical": ("", "", ""),
    "universal": ("", "", ""),
    "planar": ("rotation z", "rotation z", ""),
    "point-on-line": ("translation z", "", "translation z"),
    "point-on-plane": ("", "", ""),
    "constant-velocity": ("", "", ""),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_a_motion_without_its_axis_is_that_of_the_axis_of_the_joint(kind):
    """About or along z, if there is one such motion; three rotations of a ball have no axis."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    second = {"second_axis": (0, 1, 0)} if kind in ("universal", "constant-velocity") else {}
    system.joint(kind, "joint", system.ground, body, at=(0, 0, 0), axis=(0, 0, 1), **second)
    joint = system.build().joint("joint")
    for dof, name in zip((None, "rotation", "translation"), CHOSEN[kind], strict=True):
        if name:
            assert chosen_dof(joint, dof) == name
        else:
            found = "no degree of freedom is named" if dof is None else f"found dof='{dof}'"
            with pytest.raises(JointError, match=rf"'joint' \({kind}\): {found}\. Name one of: ('|none)"):
                chosen_dof(joint, dof)
    assert all(chosen_dof(joint, name) == name for name in joint_dofs(joint))


@pytest.mark.parametrize("prescribed", [False, True])
def test_turns_between_two_stored_times_are_counted(prescribed):
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    if prescribed:
        spin = flexmb.time_functions.constant_speed(10.0)
        system.prescribe("axle", system.ground, wheel, rotation=spin, axis=(0, 0, 1), at=(0, 0, 0))
    else:
        system.revolute("axle", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1))
        system.set_speed("axle", 10.0)
    result = flexmb.simulate(system, 3.0, step=1e-2, output_step=1.0)
    np.testing.assert_allclose(result.coordinate("axle", "rotation"), 10.0 * np.arange(4), rtol=1e-9)
