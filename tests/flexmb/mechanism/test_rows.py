"""Rows of joints and force elements: Jacobians on the manifold, power, redundancy, refusal."""

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.equations.initial_conditions import row_jacobian, start
from flexmb.errors import AssemblyError, AssemblyWarning, JointError, MechanismError, RedundantConstraintWarning
from flexmb.kernels.base.algebra import quaternion_product
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS


def pair_of_flexible_bodies(rng):
    system = flexmb.System(gravity=(0, 0, -9.81))
    a = system.add(
        random_flexible_body(rng, name="a"),
        position=(0.1, 0.2, 0.3),
        orientation=(0.3, -0.2, 0.5),
        eta=0.2 * rng.normal(size=3),
    )
    b = system.add(
        random_flexible_body(rng, name="b"),
        position=(1.0, 0.1, 0.2),
        orientation=(-0.4, 0.1, 0.9),
        eta=0.2 * rng.normal(size=3),
    )
    return system, a["end"], b["start"]


def couplings():
    """Every joint kind, driver and force element as `(name, function that adds it between two places)`."""
    f = flexmb.time_functions.harmonic(0.3, 2.0, 0.4)
    rows = [(kind, lambda s, a, b, kind=kind: s.joint(kind, "it", a, b, axis=(0.2, 0.5, 1.0))) for kind in JOINTS]

    def driven(kind, along):
        def add(s, a, b):
            s.joint(kind, "it", a, b, axis=(0.2, 0.5, 1.0))
            s.drive("it", f, along)

        return add

    rows += [
        ("driven revolute", driven("revolute", "rotation")),
        ("driven prismatic", driven("prismatic", "translation")),
    ]
    rows.append(("prescribed", lambda s, a, b: s.prescribe("it", a, b, x=f, rotation=f)))
    rows.append(
        ("motor", lambda s, a, b: (s.joint("revolute", "it", a, b, axis=(0.2, 0.5, 1)), s.motor("m", "it", 2.0)))
    )
    rows.append(("spring", lambda s, a, b: s.spring_damper("it", a, b, stiffness=10.0, damping=1.0)))
    rows.append(
        ("bushing", lambda s, a, b: s.bushing("it", a, b, stiffness=(1, 2, 3, 4, 5, 6), axis=(1, 2, 3), free=(0, 0, 0)))
    )
    return rows


@pytest.mark.parametrize(("name", "add"), couplings(), ids=[n for n, _ in couplings()])
def test_row_jacobian_is_the_derivative_on_the_manifold(name, add):
    rng = np.random.default_rng(3)
    system, a, b = pair_of_flexible_bodies(rng)
    add(system, a, b)
    mechanism = system.build()
    flat = compiled(mechanism)
    functions = mechanism.function_values(0.37)
    q = np.empty_like(mechanism.initial.q)
    displace(
        flat, mechanism.initial.q, 0.1 * rng.normal(size=flat.v_start[-1]), q
    )  # joints open, away from any special position
    direction = rng.normal(size=flat.v_start[-1])
    values = []
    for h in (2e-4, 1e-4, -1e-4, -2e-4):
        moved = np.empty_like(q)
        displace(flat, q, h * direction, moved)
        values.append(row_jacobian(mechanism, flat, moved, functions)[0])
    numerical = (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * 1e-4)
    _, J = row_jacobian(mechanism, flat, q, functions)
    np.testing.assert_allclose(J @ direction, numerical, atol=1e-9)
    assert np.linalg.matrix_rank(J.toarray()) == len(mechanism.rows)


def test_a_relative_jacobian_does_not_change_when_the_mechanism_moves_as_a_whole():
    rng = np.random.default_rng(4)
    system, a, b = pair_of_flexible_bodies(rng)
    system.revolute("it", a, b, axis=(0, 0, 1))
    mechanism = system.build()
    flat = compiled(mechanism)
    _, J = row_jacobian(mechanism, flat, mechanism.initial.q, np.zeros((0, 3)))
    r, R = np.array([3.0, -2.0, 5.0]), flexmb.lie.rotation_exp(np.array([0.4, 2.0, -1.0]))
    q = mechanism.initial.q.copy()
    for s in flat.q_start[:-1]:
        q[s : s + 3] = r + R @ q[s : s + 3]
        q[s + 3 : s + 7] = quaternion_product(tuple(flexmb.lie.quaternion_from_rotation(R)), tuple(q[s + 3 : s + 7]))
    np.testing.assert_allclose(row_jacobian(mechanism, flat, q, np.zeros((0, 3)))[1].toarray(), J.toarray(), atol=1e-14)


def test_degrees_of_freedom_left_by_each_joint():
    left = {
        "fixed": 0,
        "revolute": 1,
        "prismatic": 1,
        "cylindrical": 2,
        "spherical": 3,
        "universal": 2,
        "planar": 3,
        "point-on-line": 4,
        "point-on-plane": 5,
        "constant-velocity": 2,
    }
    assert {name: 6 - len(kind.equations) for name, kind in JOINTS.items()} == left


def test_redundant_planar_loop_is_named_and_its_equivalent_without_redundancy_is_not():
    mechanism = slider_crank().build()
    assert start(mechanism, compiled(mechanism)).redundant == ()
    system = flexmb.System()
    bars = [system.add(flexmb.uniform_rod(n, mass=1, length=1), position=p, orientation=o) for n, p, o in
            (("left", (0, 0, 0), (0, 0, np.pi / 2)), ("top", (0, 1, 0), (0, 0, 0)), ("right", (1, 0, 0), (0, 0, np.pi / 2)))]  # fmt: skip
    for name, a, b in (
        ("A", system.ground.at((0, 0, 0)), bars[0]),
        ("B", bars[0]["end"], bars[1]),
        ("C", bars[1]["end"], bars[2]),
        ("D", system.ground.at((1, 0, 0)), bars[2]),
    ):
        system.revolute(name, a, b, axis=(0, 0, 1))
    mechanism = system.build()
    with pytest.warns(RedundantConstraintWarning, match="'A', 'B', 'C', 'D'"):
        assert set(start(mechanism, compiled(mechanism)).redundant) == {"A", "B", "C", "D"}


def test_open_joints_are_closed_and_impossible_ones_are_refused_by_name():
    system = flexmb.System()
    a = system.add(flexmb.uniform_rod("a", mass=1, length=1.0), orientation=(0, 0, 0.5))
    b = system.add(flexmb.uniform_rod("b", mass=1, length=1.0), position=(0.9, 0.4, 0), orientation=(0, 0, -0.5))
    system.revolute("base", system.ground.at((0, 0, 0)), a, axis=(0, 0, 1))
    system.revolute("elbow", a["end"], b["start"], axis=(0, 0, 1))
    mechanism = system.build()
    with pytest.warns(AssemblyWarning, match="'elbow'.*'a' was moved by"):
        begun = start(mechanism, compiled(mechanism))
    assert begun.assembly_displacement > 1e-3
    system.spherical("too far", b["end"], system.ground.at((5, 0, 0)))
    mechanism = system.build()
    with pytest.raises(AssemblyError, match="too far"), pytest.warns(RedundantConstraintWarning):
        start(mechanism, compiled(mechanism))


def test_contradicting_speeds_are_refused():
    system = double_pendulum()
    system.set_speed("hinge", 1.0)
    mechanism = system.build()
    assert start(mechanism, compiled(mechanism)).state.w[5] == pytest.approx(1.0)
    with pytest.raises(JointError, match="one coordinate has one speed"):
        system.drive("hinge", flexmb.time_functions.polynomial(0, 2.0))
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    system.distance("strut", system.ground.at((1, 1, 0)), rod["end"])
    system.set_speed("hinge", 1.0)
    mechanism = system.build()
    with pytest.raises(AssemblyError, match="contradict"):
        start(mechanism, compiled(mechanism))


BAD = {
    "unknown joint kind": (lambda s, a, b: s.joint("revolutee", "j", a, b), JointError, "'revolute'"),
    "unknown interface": (lambda s, a, b: a["ennd"], flexmb.FlexmbError, "Did you mean 'end'"),
    "joint with itself": (lambda s, a, b: s.spherical("j", a["start"], a["end"]), JointError, "itself"),
    "no place": (lambda s, a, b: s.spherical("j", a, b), MechanismError, "do not define a point"),
    "a point that moves no place": (lambda s, a, b: s.fixed("j", a.at((1, 0, 0)), b.at((0, 0, 0)), at=(0.5, 0, 0)), MechanismError, "which at=\\(0.5, 0, 0\\) does not move"),
    "zero axis": (lambda s, a, b: s.revolute("j", a["end"], b, axis=(0, 0, 0)), JointError, "axis has no direction"),
    "skew universal": (lambda s, a, b: s.universal("j", a["end"], b, axis=(0, 0, 1), second_axis=(0, 1, 1)), JointError, "perpendicular"),
    "driving a ball": (lambda s, a, b: (s.spherical("j", a["end"], b), s.drive("j", flexmb.time_functions.constant(0))), JointError, "no free.*none; .*Make this one of revolute and prismatic"),
    "driving nothing": (lambda s, a, b: s.drive("nobody", flexmb.time_functions.constant(0)), JointError, "no joint named 'nobody'"),
    "negative stiffness": (lambda s, a, b: s.spring_damper("k", a["start"], b["end"], stiffness=-1), MechanismError, "not negative"),
    "spring without length": (lambda s, a, b: s.spring_damper("k", a["end"], b["start"], stiffness=1), MechanismError, "coincide"),
    "duplicate body": (lambda s, a, b: s.add(a.body), MechanismError, "exists already"),
    "duplicate joint": (lambda s, a, b: (s.spherical("j", a["end"], b), s.spherical("j", a["end"], b)), MechanismError, "taken already"),
    "load on the ground": (lambda s, a, b: s.load("f", s.ground.at((0, 0, 0)), force=(1, 0, 0)), MechanismError, "place on a body"),
    "bad position": (lambda s, a, b: s.add(a.body, name="c", position=(0, np.nan, 0)), MechanismError, "finite"),
    "improper rotation": (lambda s, a, b: s.add(a.body, name="c", orientation=np.diag([1, 1, -1.0])), MechanismError, "rotation"),
    "wrong derivative": (lambda s, a, b: (s.revolute("j", a["end"], b, axis=(0, 0, 1)), s.drive("j", flexmb.time_functions.function(np.sin, np.sin, np.sin))), flexmb.FlexmbError, "rate"),
    "negative mass": (lambda s, a, b: flexmb.rigid_body("x", mass=-1, inertia=(1, 1, 1)), flexmb.FlexmbError, "positive, finite mass"),
    "impossible inertia": (lambda s, a, b: flexmb.rigid_body("x", mass=1, inertia=(1, 1, 5)), flexmb.FlexmbError, "triangle inequality"),
    "no inertia": (lambda s, a, b: flexmb.rigid_body("x", mass=1, inertia=(0, 0, 0)), flexmb.FlexmbError, "positive definite"),
    "empty system": (lambda s, a, b: flexmb.System().build(), MechanismError, "no body"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_a_sentence(case):
    act, error, words = BAD[case]
    system = flexmb.System()
    a = system.add(flexmb.uniform_rod("a", mass=1, length=1.0))
    b = system.add(flexmb.uniform_rod("b", mass=1, length=1.0), position=(1, 0, 0))
    with pytest.raises(error, match=words):
        act(system, a, b)
