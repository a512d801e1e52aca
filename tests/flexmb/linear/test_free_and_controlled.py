"""Free mechanisms under control: satellites with sampled controllers, and closed loops that nothing holds."""

import dataclasses

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import fem
import flexmb
import reduction
from flexmb.linear import linearise
from flexmb.mechanism.compile import compiled

ENTRIES = ("zy", "xz", "yx")
"""Entries of the matrix of an attitude that grow with small turns about x, y and z."""


def sampled_satellite(gains, period, turn, modal_damping):
    """A hub with a panel of aluminium on each side and three wheels, which sampled PID controllers hold as it is drawn;
    and its controllers, the proportional, integral and derivative gains and the filter."""
    kp, ki, kd, lag = gains
    system = flexmb.System(name="satellite")
    hub = flexmb.rigid_body("hub", mass=2.0, inertia=(145.0, 181.0, 164.0))
    hub = system.add(hub, orientation=turn)
    for sign in (1, -1):
        mesh = fem.structured_meshes.sheet("quad", (1.2, 0.8), (4, 2))
        mesh = dataclasses.replace(mesh, points=(mesh.points - [0, 0.4, 0]) * [sign, sign, 1])
        part = fem.Model(mesh, fem.Shell(fem.Material.aluminium(), 0.004)).with_interfaces(root="x0")
        name, basis = f"panel {sign}", reduction.craig_bampton(part, modes=2)
        panel = flexmb.flexible_body(part, basis, name=name, modal_damping=modal_damping)
        panel = system.add(panel, position=tuple(turn @ (0.5 * sign, 0, 0)), orientation=turn)
        system.fixed(f"hinge {sign}", hub.at((0.5 * sign, 0, 0)), panel["root"])
    for axis, unit, (i, j) in zip("xyz", np.eye(3), ENTRIES, strict=True):
        wheel = flexmb.rigid_body(f"wheel {axis}", mass=4.0, inertia=(0.02,) * 3)
        wheel = system.add(wheel, position=tuple(turn @ (0.2 * unit)), orientation=turn)
        system.revolute(f"axle {axis}", hub.at(tuple(0.2 * unit)), wheel.at((0, 0, 0)), axis=tuple(turn @ unit))
        law = flexmb.controllers.pid(-kp, -ki, -kd, filter=lag, sample_time=period)
        drawn = float(turn["xyz".index(i), "xyz".index(j)])
        inputs = {"measured": f"attitude:hub:matrix:{i}{j}", "reference": drawn}
        system.controller(f"turn {axis}", law, inputs=inputs, outputs={"command": f"effort:axle {axis}"})
    return system


def map_by_hand(small, gains, period, turn):
    """The map over a period, of the mass matrix and the stiffness and damping of the panels alone, which are exact."""
    kp, ki, kd, lag = gains
    flat, N = compiled(small.mechanism), small.N
    K, D = np.zeros((2, *small.M.shape))
    for b, body in enumerate(small.mechanism.bodies):
        own = np.arange(flat.v_start[b] + 6, flat.v_start[b] + 6 + body.modes)
        K[own, own], D[own, own] = body.stiffness, body.damping
    M, K, D = (N.T @ X @ N for X in (small.M.toarray(), K, D))
    nf, C, B = len(M), np.zeros((3, N.shape[1])), np.zeros((N.shape[1], 3))
    for k, ((i, j), axis) in enumerate(zip(ENTRIES, "xyz", strict=True)):
        row, column = "xyz".index(i), "xyz".index(j)
        turned = np.array([(turn @ np.cross(e, np.eye(3)[column]))[row] for e in np.eye(3)])
        C[k] = turned @ N[3:6]
        B[small.coordinates.index(f"axle {axis} about z"), k] = 1.0
    whole = np.zeros((2 * nf + 3,) * 2)
    whole[:nf, nf : 2 * nf] = np.eye(nf)
    whole[nf : 2 * nf] = np.linalg.solve(M, np.hstack([-K, -D, B]))
    flow, n = expm(whole * period), 2 * nf
    out = np.zeros((n + 9, n + 9))  # places, speeds, and three of each: integral, derivative, last input
    keep = np.eye(n + 9)
    y, integral, derivative, last = (
        np.vstack(x) for x in (np.hstack([C, np.zeros((3, nf + 9))]), *np.split(keep[n:], 3))
    )
    out[n : n + 3] = integral + period * ki * y
    out[n + 3 : n + 6] = (lag * derivative + kd * (y + last)) / (lag + period)
    out[n + 6 :] = -y
    out[:n, :n] = flow[:n, :n]
    out[:n] += flow[:n, n:] @ (kp * y + out[n : n + 3] + out[n + 3 : n + 6])
    return out


@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (0.4, -0.3, 0.5)])
@pytest.mark.parametrize("integral", [0.0, 0.05])
def test_multipliers_of_a_free_satellite_are_those_of_its_map_by_hand(turned, integral):
    """Its translations and the angles of its wheels change nothing, and have multipliers of one beside those of their
    speeds. Where they were not split off, these were defective: errors were up to 40 a second, and growth of 1e-5 a
    second was found where there is none."""
    gains, period, turn = (3.0, integral, 30.0, 0.05), 0.02, Rotation.from_rotvec(turned).as_matrix()
    small = linearise(sampled_satellite(gains, period, turn, 0.002))
    modes = small.modes()
    assert set(small.ignorable) == {*(f"hub {x}" for x in "xyz"), *(f"axle {x} about z" for x in "xyz")}
    assert modes.ignorable.sum() == 6
    assert (modes.eigenvalues[modes.ignorable] == 0).all()
    expected = np.linalg.eigvals(map_by_hand(small, gains, period, turn))
    for s, mu, error in zip(modes.eigenvalues, modes.multipliers, modes.errors, strict=True):
        apart = min(np.abs(expected - mu).min(), np.abs(expected - mu.conj()).min()) / abs(mu) / period
        if abs(s) > 1e-2:
            assert apart < error + 1e-7 * abs(s), (s, apart, error)
    assert modes.errors.max() < 1e-3
    assert modes.verdict == "undecided"
    slow = ~modes.ignorable & (np.abs(modes.eigenvalues) < 1e-2)
    assert slow.sum() == (6 if integral else 9)  # speeds, and integrals that nothing changes


def test_growth_of_a_satellite_that_is_sampled_too_slowly_is_seen():
    gains, period = (3.0, 0.0, 120.0, 0.05), 4.0
    small = linearise(sampled_satellite(gains, period, np.eye(3), 0.002))
    expected = np.log(np.abs(np.linalg.eigvals(map_by_hand(small, gains, period, np.eye(3)))).max()) / period
    modes = small.modes()
    assert modes.verdict == "unstable"
    assert modes.eigenvalues.real.max() == pytest.approx(expected, rel=1e-7)


def free_loop(count, sample_time, turned):
    """A polygon of flexible bars that nothing holds, closed by pins, with a controller in one of them."""
    turn = Rotation.from_rotvec(turned).as_matrix()
    points = [np.array([np.cos(a), np.sin(a), 0.0]) for a in 2 * np.pi * np.arange(count + 1) / count]
    system, bars = flexmb.System(name="loop"), []
    length = float(np.linalg.norm(points[1] - points[0]))
    mesh = fem.structured_meshes.block("hexahedron20", (length, 0.05, 0.01), (3, 1, 1))
    part = fem.Model(mesh, fem.Material.steel()).with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 2), name="bar")
    for k in range(count):
        ahead = (points[k + 1] - points[k]) / length
        own = turn @ np.column_stack([ahead, np.cross((0, 0, 1), ahead), (0, 0, 1)])
        place = turn @ points[k] - own @ body.interface("a").point
        bars.append(system.add(body, name=f"bar {k}", position=tuple(place), orientation=own))
    axis = tuple(turn[:, 2])
    for k in range(count):
        a, b = bars[k]["b"], bars[(k + 1) % count]["a"]
        if k == count - 1:
            system.spherical(f"pin {k}", a, b)
        elif k == count - 2:
            system.universal(f"pin {k}", a, b, axis=axis, second_axis=tuple(turn @ points[k + 1]))
        else:
            system.revolute(f"pin {k}", a, b, axis=axis)
    system.joint_spring("spring", "pin 0", stiffness=20.0, damping=0.3)
    law = flexmb.controllers.pid(50.0, 0.0, 5.0, filter=0.05, sample_time=sample_time)
    inputs = {"measured": "coordinate:pin 0", "reference": 0.0}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:pin 0"})
    return system


@pytest.mark.filterwarnings("ignore::flexmb.IllConditionedWarning")  # of slender solids
@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (0.3, -0.4, 0.2), (1.0, 2.0, -1.0)])
@pytest.mark.parametrize(("count", "sample_time"), [(4, None), (5, None), (4, 0.05)])
def test_rigid_motions_of_a_free_closed_loop_change_nothing(turned, count, sample_time):
    """One of the six was missing, or all were those of a space of small effects: they took a rounding of stiff
    coordinates along, and accelerations of 1e-13, which break the joint equations, turned their axes."""
    found = linearise(free_loop(count, sample_time, turned))
    modes = found.modes()
    assert modes.ignorable.sum() == count + 2  # the shape of five bars, too, beside the pin that is held
    assert {f"bar 0 {x}" for x in "xyz"} | {f"bar 0 about {x}" for x in "xyz"} <= {*found.ignorable}
    own, model = found.independent.likely_symmetries, found.first_order
    nf = model.sizes[0]
    effect, bound = np.abs(model.F[nf:, :nf] @ own), model.F_error[nf:, :nf] @ np.abs(own)
    assert (effect <= 20 * bound).all(axis=0).sum() >= 12
    assert modes.verdict == "undecided"
    if count == 4:  # of the speeds, too, whose vectors were all but orthogonal: errors were 1e266
        assert modes.errors.max() < 1e-3
