"""Mechanisms whose deformation is drawn larger: the bodies moved such that their joints stay joined.

With a factor `s`, the interface of a flexible body is drawn at `X + s u` in the frame of the body, which is not where
its partner is: pins leave their holes by `(s - 1) u`. The deformation relative to the body is what the factor
enlarges; where the bodies are follows from the joints. Hence every body, bent `s` times, is moved as a rigid body until
every equation of the joints has the value that it has in the result, `c(d, phi; s) = c(0, 0; 1)`, by Newton's iteration
with steps of the least

    sum_k |d_k|^2 + phi_k . (J_k / m_k) phi_k,

with the displacement `d_k` of the mass centre of body k and its rotation `phi_k`: the mean square displacement of the
points of the bodies, radii of gyration taken as a tenth of the length of the mechanism or more. Driven joints keep
their angles and displacements, and released joints their gaps. Where no motion meets all equations, as in a loop that
the bent bodies cannot close, the Levenberg-Marquardt iteration leaves the smallest sum of squares of the gaps. For
`s = 1`, nothing moves.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from flexmb.bodies.body import Body
from flexmb.kernels.base.data import ANGLE, DISTANCE, DOT, GROUND, TRANSLATION
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.spatial.lie import quaternion_from_rotation, rotation_exp, rotation_from_quaternion

CLOSED = 1e-6
"""Gap of a joint, relative to the length of the mechanism, below which it is joined in a picture."""
DAMPING = 1e-2
"""Motion of a gap relative to that of the bodies below which a direction is not used to close it."""
ITERATIONS = 40
SMALLEST = 0.1
"""Smallest radius of gyration, relative to the length of the mechanism, by which rotations are weighted."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The equations of the joints, without relations between their coordinates and rolling.

    `kind` (nr,), markers `a` and `b` (nr,), and their axes `i` and `j` (nr,).
    """

    kind: np.ndarray
    a: np.ndarray
    b: np.ndarray
    i: np.ndarray
    j: np.ndarray


def joined(mechanism: Mechanism, q: Float[np.ndarray, "nq"], magnification: float) -> Float[np.ndarray, "nq"]:
    """The configuration (nq,) whose bodies, their deformation drawn `magnification` times larger, meet in the joints.

    Only positions and attitudes differ from those of `q` (nq,). Cost: some milliseconds for ten joints, and nothing for
    a factor of one.
    """
    rows = _rows(mechanism)
    if magnification == 1 or not len(rows.kind) or not any(body.is_flexible for body in mechanism.bodies):
        return q
    flat, length = compiled(mechanism), mechanism.length
    starts = [int(s) for s in flat.q_start[: len(mechanism.bodies)]]
    of = np.array([marker.body for marker in mechanism.markers])
    centres = np.array([body.centre for body in mechanism.bodies])
    arms = np.array([_turn_of_unit(body, length) for body in mechanism.bodies])
    turns = np.array([rotation_from_quaternion(q[s + 3 : s + 7]) for s in starts])
    middles = np.array([q[s : s + 3] for s in starts]) + _turned(turns, centres)
    local = _drawn(mechanism, q, magnification)
    wanted = _values(rows, *_in_world(of, middles, turns, centres, *_drawn(mechanism, q, 1.0)), length)
    for _ in range(ITERATIONS):
        points, axes = _in_world(of, middles, turns, centres, *local)
        gaps = _values(rows, points, axes, length) - wanted
        angle = rows.kind == ANGLE
        gaps[angle] = np.remainder(gaps[angle] + np.pi, 2 * np.pi) - np.pi
        if np.abs(gaps).max() < CLOSED:
            break
        of_unit = turns @ arms @ turns.swapaxes(1, 2)
        A = _jacobian(rows, of, points, axes, middles, length)
        A[:, :, 3:] = np.einsum("rka,kab->rkb", A[:, :, 3:], of_unit)
        A = A.reshape(len(gaps), -1)
        step = (A.T @ np.linalg.solve(A @ A.T + DAMPING**2 * np.eye(len(gaps)), -gaps)).reshape(-1, 6)
        phi = _turned(of_unit, step[:, 3:])
        phi /= np.maximum(1.0, np.linalg.norm(phi, axis=1, keepdims=True))  # at most a radian in an iteration
        middles = middles + length * step[:, :3]
        turns = np.array([rotation_exp(x) @ R for x, R in zip(phi, turns, strict=True)])
        if np.abs(step).max() < CLOSED:
            break
    shown = np.array(q, dtype=float)
    for s, origin, R in zip(starts, middles - _turned(turns, centres), turns, strict=True):
        shown[s : s + 3], shown[s + 3 : s + 7] = origin, quaternion_from_rotation(R)
    return shown


def _rows(mechanism: Mechanism) -> _Rows:
    flat = compiled(mechanism)
    rows = mechanism.rows[: mechanism.joint_rows]
    own = [r for r, row in enumerate(rows) if row.kind in (TRANSLATION, DISTANCE, DOT, ANGLE) and not row.terms]
    kind, markers, axes = (np.asarray(A[own]) for A in (flat.row_kind, flat.row_markers, flat.row_axes))
    return _Rows(kind, markers[:, 0], markers[:, 1], axes[:, 0], axes[:, 1])


def _turn_of_unit(body: Body, length: float) -> np.ndarray:
    """The rotations (3, 3), in body axes, that move the points of a body by the mean square `length`^2."""
    c, inv = body.centre, body.invariants
    about_centre = inv.J0 - inv.mass * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(about_centre / inv.mass)
    return np.asarray(axes @ np.diag(length / np.sqrt(np.maximum(moments, (SMALLEST * length) ** 2))) @ axes.T)


def _drawn(mechanism: Mechanism, q: np.ndarray, magnification: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (nm, 3) and axes (nm, 3, 3) of the markers in the frames of their bodies, as they are drawn.

    Small rotations `theta`, `s` times larger, turn the drawn interface `1 + s theta x` by the angle atan(s theta).
    """
    starts, points, axes = compiled(mechanism).q_start, [], []
    for marker in mechanism.markers:
        point, A = marker.point, marker.axes
        if marker.body != GROUND and marker.interface is not None:
            body = mechanism.bodies[marker.body]
            start = int(starts[marker.body]) + 7
            moved = magnification * body.interfaces[marker.interface].motion(q[start : start + body.modes])
            size = float(np.linalg.norm(moved[3:]))
            point = point + moved[:3]
            A = rotation_exp(moved[3:] * (np.arctan(size) / size if size > 0 else 1.0)) @ A
        points.append(point)
        axes.append(A)
    return np.array(points), np.array(axes)


def _in_world(
    of: np.ndarray, middles: np.ndarray, turns: np.ndarray, centres: np.ndarray, points: np.ndarray, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points and axes of the markers in the world; `of` (nm,): their bodies."""
    placed = middles[of] + _turned(turns[of], points - centres[of])
    fixed = of == GROUND
    return np.where(fixed[:, None], points, placed), np.where(fixed[:, None, None], axes, turns[of] @ axes)


def _values(rows: _Rows, points: np.ndarray, axes: np.ndarray, length: float) -> np.ndarray:
    """The relative coordinates (nr,) that the equations hold; displacements relative to `length`."""
    between = points[rows.b] - points[rows.a]
    relative = axes[rows.a].swapaxes(1, 2) @ axes[rows.b]
    r = np.arange(len(rows.kind))
    along = np.einsum("rk,rk->r", axes[rows.a, :, rows.i], between) / length
    turned = np.arctan2(relative[:, 1, 0] - relative[:, 0, 1], relative[:, 0, 0] + relative[:, 1, 1])
    distance = np.linalg.norm(between, axis=1) / length
    return np.select(
        [rows.kind == TRANSLATION, rows.kind == DISTANCE, rows.kind == DOT, rows.kind == ANGLE],
        [along, distance, relative[r, rows.i, rows.j], turned],
    )


def _jacobian(
    rows: _Rows, of: np.ndarray, points: np.ndarray, axes: np.ndarray, middles: np.ndarray, length: float
) -> np.ndarray:
    """Derivatives (nr, nb, 6) of the values by the displacements of the mass centres, relative to `length`, and the
    rotations of the bodies."""
    r, A = np.arange(len(rows.kind)), np.zeros((len(rows.kind), len(middles), 6))
    a_i, b_j = axes[rows.a, :, rows.i], axes[rows.b, :, rows.j]
    between = points[rows.b] - points[rows.a]
    size = np.linalg.norm(between, axis=1, keepdims=True)
    distance, angle = (rows.kind == DISTANCE)[:, None], (rows.kind == ANGLE)[:, None]
    translation = (rows.kind == TRANSLATION)[:, None] | distance
    push = np.where(distance, between / np.where(size > 0, size, 1.0), np.where(translation, a_i, 0.0))
    turn = np.where(translation, 0.0, np.where(angle, axes[rows.a, :, 2], np.cross(b_j, a_i)))
    for sign, marker in ((1.0, rows.b), (-1.0, rows.a)):
        body = of[marker]
        arm = points[rows.b] - middles[body]  # a body a carries its axis a_i past the point b
        values = sign * np.concatenate([push, np.cross(arm, push) / length + turn], axis=1)
        moving = body != GROUND
        A[r[moving], body[moving]] += values[moving]
    return A


def _turned(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("kab,kb->ka", R, x)
