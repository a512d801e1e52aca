"""Inverse dynamics: the efforts of motors that make a mechanism, flexible bodies included, move as prescribed.

If the motion of the joint itself is prescribed, the effort of its driver is the solution (`Result.drive_effort`). If
another point must follow a path, such as the tip of a flexible arm, the motion of the flexible bodies must be found
together with the efforts. Its equations have solutions that grow in both directions of time (the system is not
minimum-phase), so that integration in one direction cannot find it. All times are therefore solved at once, for the
motion with the least deformation beyond that at rest; the efforts then begin before the path does.

Sources: Ledesma, Bayo, Inverse dynamics of flexible mechanical systems (NATO ASI 1993) for the non-causal solution;
Bastos, Seifried, Bruls, Inverse dynamics of serial and parallel underactuated multibody systems using a DAE optimal
control approach (2013) for its formulation with the equations of the mechanism.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from jaxtyping import Float

from fem.errors import ConvergenceError, unknown_name
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import consistent_state, row_jacobian
from flexmb.equations.tangent import carrying, tangent
from flexmb.errors import InverseError
from flexmb.kernels.base.data import ANGLE, GROUND, TRANSLATION, CompiledModel
from flexmb.kernels.equations.displacement import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.locking import LOCKED
from flexmb.mechanism.mechanism import Joint, Marker, Mechanism, Row, refuse_element_states
from flexmb.mechanism.scales import force_units
from flexmb.mechanism.system import System
from flexmb.mechanism.time_functions import TimeFunction, table
from flexmb.results.result import Result, followed_angles, result_of_states
from flexmb.spatial.configuration import difference
from flexmb.spatial.layout import elastic_places

ITERATIONS = 30
TOLERANCE = 1e-10
"""Correction of the motion, in lengths of the mechanism or radians, below which the iteration has converged."""
FIRST, SECOND = np.array([1, -8, 0, 8, -1]) / 12, np.array([-1, 16, -30, 16, -1]) / 12
"""Coefficients of first and second differences over five points."""
REGULAR = 1e-13
INDIFFERENT = 1e-9
"""Cost of unknowns that the problem leaves undetermined, in their own scale, relative to that of a deformation."""


@dataclass(frozen=True, eq=False)
class Servo:
    """A prescribed world coordinate of a marker.

    The coordinate `axis` ("x", "y" or "z") of `marker` moves by `motion` from its initial value. It is at rest before
    the start and after the end.
    """

    marker: str
    axis: str
    motion: TimeFunction


@dataclass(frozen=True, eq=False)
class Inverse:
    """The solution of inverse dynamics.

    `efforts` (nt, nu): torques or forces of `actuators` at the times `t` (nt,), in consistent units; `result`: the
    motion that they cause; `iterations`: those of Newton's method.
    """

    actuators: tuple[str, ...]
    t: Float[np.ndarray, "nt"]
    efforts: Float[np.ndarray, "nt nu"]
    result: Result
    iterations: int

    def effort(self, actuator: str) -> TimeFunction:
        """The effort of one actuator as a function of time. Raises `InverseError` for an unknown actuator."""
        if actuator not in self.actuators:
            raise InverseError(unknown_name("actuator", actuator, self.actuators))
        return table(self.t, self.efforts[:, self.actuators.index(actuator)])

    def forward(self) -> Mechanism:
        """The mechanism with motors that exert these efforts, for a simulation from the start of the motion."""
        efforts = {name: self.effort(name) for name in self.actuators}
        mechanism = with_efforts(self.result.mechanism, efforts)
        return replace(mechanism, initial=self.result.state(0), start_rows=())

    def __str__(self) -> str:
        lines = [f"{self.result.mechanism.name!r}, {self.t[0]:.6g} to {self.t[-1]:.6g}, {self.iterations} iterations"]
        lines += [
            f"effort of {name}: {e.min():.6g} to {e.max():.6g}"
            for name, e in zip(self.actuators, self.efforts.T, strict=True)
        ]
        return "\n".join(lines)


def inverse_dynamics(
    system: System | Mechanism,
    servos: Sequence[Servo],
    actuators: Sequence[str],
    duration: float,
    step: float,
    *,
    before: float = 0.0,
    after: float = 0.0,
) -> Inverse:
    """The efforts of `actuators` (names of motors) by which the coordinate of every servo follows its motion.

    - `servos`: the prescribed coordinates, as many as actuators.
    - `duration`: of the prescribed motion; `step`: time step of the efforts. The accuracy is of fourth order in the
      step (differences over five points).
    - `before`, `after`: times before and after the motion in which efforts may act; take several periods of the slowest
      vibration that the actuators excite. The mechanism is at rest at both ends.

    Cost for each iteration: one tangent for each time, and one sparse solution for all times.

    Raises `InverseError` for input that does not fit, and `ConvergenceError` when no such motion is found.
    """
    mechanism = system.build() if isinstance(system, System) else system
    refuse_element_states(mechanism, "Inverse dynamics")
    if len(servos) != len(actuators) or not servos:
        raise InverseError(
            "The numbers of actuators and of prescribed coordinates must be equal, and at least one; found "
            f"{len(actuators)} and {len(servos)}."
        )
    if not (duration > 0 and 0 < step < duration and before >= 0 and after >= 0):
        raise InverseError(
            f"duration must be positive, step smaller than it, before and after not negative; found {duration}, "
            f"{step}, {before}, {after}."
        )
    for name in actuators:
        if len(mechanism.force_elements.get(name, ())) != 1:
            single = [n for n, rows in mechanism.force_elements.items() if len(rows) == 1]
            raise InverseError(unknown_name("actuator", name, single))
    mechanism = with_efforts(mechanism, dict.fromkeys(actuators))
    start = mechanism.initial.t
    count = round((before + duration + after) / step)
    times = start - before + step * np.arange(count + 1)
    problem = _Problem(_with_servos(mechanism, servos), tuple(actuators), times)
    return problem.solve(mechanism)


def with_efforts(mechanism: Mechanism, efforts: Mapping[str, TimeFunction | None]) -> Mechanism:
    """The mechanism with other efforts of motors; None removes an effort."""
    functions, rows = list(mechanism.functions), list(mechanism.rows)
    for name, effort in efforts.items():
        r = mechanism.force_elements[name][0]
        if effort is not None:
            functions.append(effort)
        rows[r] = replace(rows[r], function=-1 if effort is None else len(functions) - 1)
    return replace(mechanism, functions=tuple(functions), rows=tuple(rows))


def _with_servos(mechanism: Mechanism, servos: Sequence[Servo]) -> Mechanism:
    """The mechanism with a further joint for the prescribed coordinates; the multipliers of this joint remain zero."""
    markers, functions, own = list(mechanism.markers), list(mechanism.functions), []
    state = consistent_state(mechanism).state
    none = np.zeros((1, len(state.w)))
    at_start = result_of_states(
        mechanism, np.array([state.t]), state.q[None], none, none, np.zeros((1, mechanism.joint_rows))
    )
    for servo in servos:
        origin = len(markers)
        markers.append(Marker("servo origin", GROUND, at_start.position(servo.marker)[0], np.eye(3)))
        if servo.axis not in ("x", "y", "z"):
            raise InverseError(f"The axis of a servo is x, y or z; found {servo.axis!r}.")
        pair = (origin, mechanism.marker_index(servo.marker))
        own.append(Row(TRANSLATION, pair, ("xyz".index(servo.axis), 0), len(functions)))
        functions.append(servo.motion)
    nj = mechanism.joint_rows
    rows = (*mechanism.rows[:nj], *own, *mechanism.rows[nj:])
    shift = len(own)
    forces = {name: tuple(r + shift for r in numbers) for name, numbers in mechanism.force_elements.items()}
    servo_joint = Joint("servo", LOCKED, own[0].markers, tuple(range(nj, nj + shift)))
    return replace(
        mechanism,
        markers=tuple(markers),
        rows=rows,
        joints=(*mechanism.joints, servo_joint),
        functions=tuple(functions),
        force_elements=forces,
        start_rows=(),
    )


class _Problem:
    """Newton's method for the configurations, multipliers and efforts at all times."""

    def __init__(self, mechanism: Mechanism, actuators: tuple[str, ...], times: np.ndarray) -> None:
        self.mechanism, self.actuators, self.times = mechanism, actuators, times
        self.flat: CompiledModel = compiled(mechanism)
        self.h = float(times[1] - times[0])
        self.functions = mechanism.function_table(times)
        self.ns = len(mechanism.joints[-1].rows)
        self.nj = mechanism.joint_rows - self.ns
        self.nv, self.nu = len(self.flat.weight), len(actuators)
        self.angles = followed_angles(mechanism, np.repeat(mechanism.initial.q[None], len(times), axis=0))
        self.rows = [mechanism.force_elements[name][0] for name in actuators]

    def solve(self, plain: Mechanism) -> Inverse:
        """Solve by Newton's method over all times, from the motion without inertia."""
        q, multipliers, efforts = self._statics()
        rest = q.copy()
        for iteration in range(1, ITERATIONS + 1):
            x, dl, du = self._correction(q, multipliers, efforts, rest)
            size = float((np.abs(x) * self.flat.weight).max())
            scale = min(1.0, 0.3 / size) if size > 0 else 1.0
            for n in range(len(q)):
                moved = np.empty_like(q[n])
                displace(self.flat, q[n], scale * x[n], moved)
                q[n] = moved
            multipliers, efforts = multipliers + scale * dl, efforts + scale * du
            if size < TOLERANCE:
                w, wdot = self._rates(q)
                angles = followed_angles(plain, q, self.angles)
                result = result_of_states(plain, self.times, q, w, wdot, multipliers, angles=angles)
                return Inverse(self.actuators, self.times, efforts, result, iteration)
        raise ConvergenceError(
            f"No motion of {plain.name!r} was found that follows the prescribed coordinates: after {ITERATIONS} "
            f"iterations the corrections are still {size:.2g} of its length. Prescribe a slower or shorter motion, or "
            "give more time before and after it."
        )

    def _statics(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of rest at all times with multipliers and efforts: the motion without inertia."""
        none = np.zeros(self.nv)
        found_q, found_l, found_u = [], [], []
        at, l, u = self.mechanism.initial.q.copy(), np.zeros(self.nj), np.zeros(self.nu)
        for n in range(len(self.times)):
            self.angles[n] = self.angles[max(n - 1, 0)]
            for _ in range(ITERATIONS):
                K, _, G, B, r, values = self._linear(n, at, none, none, l, u)
                system = sp.bmat([[K, G[: self.nj].T, -B], [G, None, None]], format="csc")
                x = _solved(system, -np.concatenate([r, values]), self.nv)
                size = float((np.abs(x[: self.nv]) * self.flat.weight).max())
                moved = np.empty_like(at)
                displace(self.flat, at, x[: self.nv] * min(1.0, 0.3 / size if size > 0 else 1.0), moved)
                at, l, u = moved, l + x[self.nv : self.nv + self.nj], u + x[self.nv + self.nj :]
                if size < TOLERANCE:
                    break
            else:
                raise ConvergenceError(
                    f"{self.mechanism.name!r} cannot rest at the prescribed coordinates at t = {self.times[n]:.6g}: "
                    "they are out of reach, the position is singular, or the motors cannot hold it there."
                )
            found_q.append(at)
            found_l.append(l)
            found_u.append(u)
        return np.array(found_q), np.array(found_l), np.array(found_u)

    def _linear(
        self, n: int, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray, efforts: np.ndarray
    ) -> tuple[
        sp.csr_matrix, tuple[sp.csr_matrix, sp.csr_matrix], sp.csr_matrix, sp.csr_matrix, np.ndarray, np.ndarray
    ]:
        """Stiffness, (mass, damping), rows, actuators, unbalanced forces and row values at the time number `n`."""
        functions = self.functions[n]
        e = Equations(self.mechanism, q, self.angles[n])
        self.angles[n] = e.angles
        full = np.concatenate([multipliers, np.zeros(self.ns)])
        t = tangent(e, functions, q, w, wdot, full)
        out = e.residual(functions, q, w, wdot, full)[0].copy()
        values = e.workspace.values[: self.nj + self.ns].copy()
        J = row_jacobian(self.mechanism, self.flat, q, functions)[1]
        B = J[self.rows].T.tocsr()
        carried, turned, M = carrying(self.flat, w), carrying(self.flat, wdot), e.mass()
        return t.K + t.D @ carried + M @ turned, (M, t.D + M @ carried), t.G, B, out - B @ efforts, values

    def _rates(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities and accelerations (nt, nv) by differences over five points, at rest beyond the ends."""
        padded = np.concatenate([q[:1], q[:1], q, q[-1:], q[-1:]])
        w, wdot = np.zeros((len(q), self.nv)), np.zeros((len(q), self.nv))
        for n in range(len(q)):
            around = np.array([difference(self.flat, q[n], padded[n + k]) for k in range(5)])
            w[n], wdot[n] = FIRST @ around / self.h, SECOND @ around / self.h**2
        return w, wdot

    def _correction(
        self, q: np.ndarray, multipliers: np.ndarray, efforts: np.ndarray, rest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Newton's step for all times, to the solution with the least deformation beyond that at rest."""
        w, wdot = self._rates(q)
        size, last_time = self.nv + self.nj + self.nu, len(q) - 1
        entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        right: list[np.ndarray] = []
        row = 0

        def put(block: sp.spmatrix, at_row: int, n: int, column: int) -> None:
            found = block.tocoo()
            entries.append((found.data, found.row + at_row, found.col + n * size + column))

        for n in range(len(q)):
            K, (M, D), G, B, r, values = self._linear(n, q[n], w[n], wdot[n], multipliers[n], efforts[n])
            put(G, row, n, 0)
            right.append(-values)
            row += self.nj + self.ns
            if 0 < n < last_time:
                put(K, row, n, 0)
                for k, first, second in zip(range(-2, 3), FIRST, SECOND, strict=True):
                    block = (first / self.h) * D + (second / self.h**2) * M
                    put(block, row, min(max(n + k, 0), last_time), 0)
                put(G[: self.nj].T, row, n, self.nv)
                put(-B, row, n, self.nv + self.nj)
                right.append(-r)
                row += self.nv
        data, i, j = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        A = sp.csr_matrix((data, (i, j)), shape=(row, len(q) * size))
        cost, slope = np.zeros((len(q), size)), np.zeros((len(q), size))
        soft, soft_q = elastic_places(self.flat)
        cost[:, soft] += self.flat.weight[soft] ** 2
        slope[:, soft] = self.flat.weight[soft] ** 2 * (q[:, soft_q] - rest[:, soft_q])
        found = _least(A, np.concatenate(right), cost.ravel(), -slope.ravel(), self._scales(size, len(q)))
        every = found.reshape(len(q), size)
        return every[:, : self.nv], every[:, self.nv : self.nv + self.nj], every[:, self.nv + self.nj :]

    def _scales(self, size: int, count: int) -> np.ndarray:
        """Scales of the unknowns: displacements by their weights, forces by the mechanism's inertia."""
        force = float(self.flat.mass.max()) * self.mechanism.length / (count * self.h) ** 2
        efforts = np.where(self.flat.row_kind[self.rows] == ANGLE, self.mechanism.length, 1.0)
        one = np.concatenate([1 / self.flat.weight, force * force_units(self.flat)[: self.nj], force * efforts])
        return np.tile(one, count)


def _least(A: sp.csr_matrix, b: np.ndarray, cost: np.ndarray, slope: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The `x` with `A x = b` that minimises `x cost x / 2 - slope x`.

    A small cost of the scaled unknowns determines those that the problem leaves free.
    """
    S = A @ sp.diags(scales)
    rows = 1 / np.maximum(np.sqrt(np.asarray(S.multiply(S).sum(axis=1)).ravel()), 1e-300)
    S = sp.diags(rows) @ S
    W = sp.diags(cost * scales**2 + INDIFFERENT)
    n, m = len(slope), len(b)
    K = sp.bmat([[W, S.T], [S, -REGULAR * sp.eye(m)]], format="csc")
    right = np.concatenate([slope * scales, rows * b])
    factor = spla.splu(K)
    x = factor.solve(right)
    exact = sp.bmat([[W, S.T], [S, None]], format="csr")
    for _ in range(3):
        x += factor.solve(right - exact @ x)
    return np.asarray(scales * x[:n])


def _solved(A: sp.csc_matrix, b: np.ndarray, nv: int) -> np.ndarray:
    """The solution of `A x = b`, with equations scaled to size one and iterative refinement.

    The factorisation is slightly regularised for the multipliers and efforts, the unknowns from `nv` on.
    """
    n = A.shape[0]
    rows = 1 / np.maximum(np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()), 1e-300)
    S = sp.diags(rows) @ A
    columns = 1 / np.maximum(np.sqrt(np.asarray(S.multiply(S).sum(axis=0)).ravel()), 1e-300)
    S = (S @ sp.diags(columns)).tocsc()
    shift = np.where(np.arange(n) < nv, 0.0, REGULAR)
    factor = spla.splu(S + sp.diags(shift))
    x = factor.solve(rows * b)
    for _ in range(2):
        x += factor.solve(rows * b - S @ x)
    return np.asarray(columns * x)
