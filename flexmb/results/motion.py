"""Motion of markers, of frames of bodies and of points of bodies: positions, attitudes, their rates and accelerations.

The position of a point in the frame of its body is `c = X + u(eta)`; the attitude of a marker there is `exp(theta) A0`.
With the position `r` and the attitude `R` of the frame and its velocities `v`, `omega` in body axes,

    position r + R c, velocity R (v + omega x c + cdot),
    acceleration R (vdot + omega x v + omegadot x c + omega x (omega x c) + 2 omega x cdot + cddot).

Reference: Shabana, Dynamics of Multibody Systems (2013), section 5.2.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from jaxtyping import Float
from numpy.typing import ArrayLike

from fem.errors import unknown_name
from flexmb.bodies.body import Body
from flexmb.errors import MeasureError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import vector
from flexmb.mechanism.mechanism import Marker, Mechanism
from flexmb.spatial.layout import starts_of

SERIES = 0.5
"""Angle (radians) below which the functions of a rotation vector are summed as series."""


class Motion(Protocol):
    """What a motion must hold: a mechanism with times, configurations, velocities, accelerations and joint angles."""

    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def t(self) -> np.ndarray: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def w(self) -> np.ndarray: ...
    @property
    def wdot(self) -> np.ndarray: ...
    @property
    def angles(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """The motion of a frame over time, all in world axes.

    `position`, `velocity`, `acceleration` (nt, 3) of its origin, its `axes` as columns (nt, 3, 3), and its
    `angular_velocity` and `angular_acceleration` (nt, 3).
    """

    position: Float[np.ndarray, "nt 3"]
    axes: Float[np.ndarray, "nt 3 3"]
    velocity: Float[np.ndarray, "nt 3"]
    angular_velocity: Float[np.ndarray, "nt 3"]
    acceleration: Float[np.ndarray, "nt 3"]
    angular_acceleration: Float[np.ndarray, "nt 3"]


@dataclass(frozen=True, eq=False)
class _Local:
    """A frame in the frame of its body: the position `c` and the rotation vector `theta` with rates (nt, 3), and the
    axes `A0` (3, 3) at theta = 0."""

    c: np.ndarray
    cdot: np.ndarray
    cddot: np.ndarray
    theta: np.ndarray
    thetadot: np.ndarray
    thetaddot: np.ndarray
    A0: np.ndarray


def frame_motion(motion: Motion, name: str, point: ArrayLike | None = None, node: int | None = None) -> FrameMotion:
    """The motion of a marker, e.g. "rod.small", or of a body: its frame, a `point` or a `node`.

    - `point` (3,): a point of a rigid body, in its frame.
    - `node`: a node of the body's mesh, numbered from 0. Its axes are those of the body frame.

    Raises `MeasureError` when there is neither a marker nor a body called `name`, a marker is given a point or a node,
    a flexible body is given a point, or the mesh does not have the node.
    """
    mechanism = motion.mechanism
    markers, bodies = [m.name for m in mechanism.markers], [b.name for b in mechanism.bodies]
    if name in markers and point is None and node is None:
        marker = mechanism.markers[markers.index(name)]
        if marker.body == GROUND:
            return _at_rest(len(motion.t), marker)
        return _in_world(motion, marker.body, _marker(motion, marker))
    if name in bodies:
        k = bodies.index(name)
        body = mechanism.bodies[k]
        local = _node(motion, k, node) if node is not None else _fixed(motion, _point(body, point))
        return _in_world(motion, k, local)
    if name in markers:
        raise MeasureError(f"{name!r} is a marker, which is one point; give the name of a body with point= or node=.")
    raise MeasureError(unknown_name("marker or body", name, [*mechanism.interface_markers(), *bodies]))


def attitudes(motion: Motion, body: int) -> Float[np.ndarray, "nt 3 3"]:
    """Rotation matrices (nt, 3, 3), body to world, of a body over time."""
    s = starts_of(np.array([b.modes for b in motion.mechanism.bodies]))[0][body]
    quaternions = np.asarray(motion.q)[:, [s + 4, s + 5, s + 6, s + 3]]
    return scipy.spatial.transform.Rotation.from_quat(quaternions).as_matrix()


def _at_rest(nt: int, marker: Marker) -> FrameMotion:
    none = np.zeros((nt, 3))
    return FrameMotion(none + marker.point, np.tile(marker.axes, (nt, 1, 1)), none, none, none, none)


def _point(body: Body, point: ArrayLike | None) -> np.ndarray:
    if point is None:
        return np.zeros(3)
    if body.is_flexible:
        raise MeasureError(
            f"Flexible body {body.name!r} moves at its nodes and interfaces; found the point {point!r}. Give node=, or "
            f"the marker of an interface: {', '.join(f'{body.name}.{key}' for key in body.interfaces) or 'none'}."
        )
    return vector(point, f"Point of body {body.name!r}")


def elastic(motion: Motion, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elastic coordinates (nt, m) of a body with their first and second rates."""
    modes = np.array([b.modes for b in motion.mechanism.bodies])
    (qs, vs), m = (starts[body] for starts in starts_of(modes)), modes[body]
    rates = slice(vs + 6, vs + 6 + m)
    return motion.q[:, qs + 7 : qs + 7 + m], motion.w[:, rates], motion.wdot[:, rates]


def _fixed(motion: Motion, c: np.ndarray, A0: np.ndarray | None = None) -> _Local:
    none = np.zeros((len(motion.t), 3))
    return _Local(none + c, none, none, none, none, none, np.eye(3) if A0 is None else A0)


def _marker(motion: Motion, marker: Marker) -> _Local:
    body = motion.mechanism.bodies[marker.body]
    if marker.interface is None or not body.is_flexible:
        return _fixed(motion, marker.point, marker.axes)
    eta, rate, acceleration = elastic(motion, marker.body)
    interface = body.interface(marker.interface)
    moved, first, second = interface.motion(eta), rate @ interface.rows.T, acceleration @ interface.rows.T
    if interface.second is not None:
        along = np.einsum("kij,ti->tkj", interface.second, eta)
        first = first + np.einsum("tkj,tj->tk", along, rate)
        second = second + np.einsum("tkj,tj->tk", along, acceleration)
        second = second + np.einsum("kij,ti,tj->tk", interface.second, rate, rate)
    c = interface.point + moved[:, :3]
    return _Local(c, first[:, :3], second[:, :3], moved[:, 3:], first[:, 3:], second[:, 3:], marker.axes)


def _node(motion: Motion, body: int, node: int) -> _Local:
    record = motion.mechanism.bodies[body]
    count = 0 if record.mesh is None else len(record.mesh.points)
    if record.mesh is None or record.Psi is None or not 0 <= node < count:
        known = f"nodes 0 to {count - 1}" if count else "no mesh"
        raise MeasureError(f"Body {record.name!r} has {known}; found node {node!r}.")
    X, m = record.mesh.points[node], record.modes
    if m == 0:
        return _fixed(motion, X)
    eta, rate, acceleration = elastic(motion, body)
    shapes, pairs, second = record.node_shapes(node)
    (i, j), g = pairs.T, second * np.where(pairs[:, 0] == pairs[:, 1], 0.5, 1.0)
    c = X + eta @ shapes.T + (eta[:, i] * eta[:, j]) @ g.T
    cdot = rate @ shapes.T + (rate[:, i] * eta[:, j] + eta[:, i] * rate[:, j]) @ g.T
    twice = acceleration[:, i] * eta[:, j] + eta[:, i] * acceleration[:, j] + 2 * rate[:, i] * rate[:, j]
    cddot = acceleration @ shapes.T + twice @ g.T
    none = np.zeros_like(c)
    return _Local(c, cdot, cddot, none, none, none, np.eye(3))


def _in_world(motion: Motion, body: int, local: _Local) -> FrameMotion:
    modes = np.array([b.modes for b in motion.mechanism.bodies])
    qs, vs = (starts[body] for starts in starts_of(modes))
    R = attitudes(motion, body)
    r, v, omega = motion.q[:, qs : qs + 3], motion.w[:, vs : vs + 3], motion.w[:, vs + 3 : vs + 6]
    vdot, omegadot = motion.wdot[:, vs : vs + 3], motion.wdot[:, vs + 3 : vs + 6]
    c, cdot, cddot = local.c, local.cdot, local.cddot
    turn, swing = _turning(local.theta, local.thetadot, local.thetaddot)
    acceleration = vdot + np.cross(omega, v) + np.cross(omegadot, c) + np.cross(omega, np.cross(omega, c))
    acceleration = acceleration + 2 * np.cross(omega, cdot) + cddot

    def world(a: np.ndarray) -> np.ndarray:
        return np.einsum("tij,tj->ti", R, a)

    return FrameMotion(
        position=r + world(c),
        axes=R @ scipy.spatial.transform.Rotation.from_rotvec(local.theta).as_matrix() @ local.A0,
        velocity=world(v + np.cross(omega, c) + cdot),
        angular_velocity=world(omega + turn),
        acceleration=world(acceleration),
        angular_acceleration=world(omegadot + np.cross(omega, turn) + swing),
    )


def _turning(theta: np.ndarray, rate: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity `T(theta) thetadot` (nt, 3) of `exp(theta)` and its time derivative.

    `T x = x + a theta x x + b theta x (theta x x)` with a = (1 - cos) / phi^2 and b = (phi - sin) / phi^3.
    """
    square = (theta**2).sum(axis=1, keepdims=True)
    phi = np.sqrt(square)
    small = phi < SERIES
    x = np.where(small, 1.0, phi)
    sin, cos = np.sin(x), np.cos(x)
    s = np.where(small, square, 0.0)
    # coefficients, and their derivatives with respect to phi divided by phi
    a = np.where(small, _series(s, 2, False), (1 - cos) / x**2)
    b = np.where(small, _series(s, 3, False), (x - sin) / x**3)
    da = np.where(small, _series(s, 2, True), (x * sin - 2 * (1 - cos)) / x**4)
    db = np.where(small, _series(s, 3, True), (x * (1 - cos) - 3 * (x - sin)) / x**5)
    along = (theta * rate).sum(axis=1, keepdims=True)
    crossed = np.cross(theta, rate)
    twice = np.cross(theta, crossed)
    turn = rate + a * crossed + b * twice
    swing = second + a * np.cross(theta, second) + b * np.cross(theta, np.cross(theta, second))
    swing = swing + along * (da * crossed + db * twice) + b * np.cross(rate, crossed)
    return turn, swing


def _series(square: np.ndarray, first: int, derivative: bool) -> np.ndarray:
    """`sum_k (-square)^k / (first + 2 k)!`, or its derivative with respect to the angle divided by the angle."""
    total, power, factorial = np.zeros_like(square), np.ones_like(square), 1.0
    for n in range(2, first + 1):
        factorial *= n
    for k in range(9):
        if derivative and k < 8:  # d/dphi phi^(2 k + 2) = (2 k + 2) phi^(2 k + 1)
            following = factorial * (first + 2 * k + 1) * (first + 2 * k + 2)
            total = total - (2 * k + 2) * power / following
        elif not derivative:
            total = total + power / factorial
        power = -power * square
        factorial *= (first + 2 * k + 1) * (first + 2 * k + 2)
    return total
