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
from jaxtyping import Float

from fem.axes.limits import is_number
from fem.errors import ConvergenceError, unknown_name
from flexmb.analyses.inverse_problem import ITERATIONS, TOLERANCE, InverseProblem, Motion, within
from flexmb.equations.initial_conditions import consistent_state
from flexmb.errors import InverseError
from flexmb.kernels.base.data import GROUND, TRANSLATION
from flexmb.kernels.calls import displace
from flexmb.mechanism.features import refuse
from flexmb.mechanism.locking import LOCKED
from flexmb.mechanism.mechanism import Joint, Marker, Mechanism, Row
from flexmb.mechanism.system import System
from flexmb.mechanism.time_functions import TimeFunction, require_driver, table
from flexmb.results.result import Result, followed_angles, result_of_states
from flexmb.simulation.simulate import Progress

FIRST_PART = 0.2
"""Fraction of the work that the motion without inertia is reported to be."""
LEAST, MOST = 0.3, 0.9
"""Fractions of the wanted digits that an iteration is expected to reach, at least and at most."""


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
    progress: Progress | None = None,
) -> Inverse:
    """The efforts of `actuators` (names of motors) by which the coordinate of every servo follows its motion.

    - `servos`: the prescribed coordinates, as many as actuators.
    - `duration`: of the prescribed motion; `step`: time step of the efforts. The accuracy is of fourth order in the
      step (differences over five points).
    - `before`, `after`: times before and after the motion in which efforts may act; take several periods of the slowest
      vibration that the actuators excite. The mechanism is at rest at both ends.
    - `progress`: called with the fraction that is done, by the digits that the corrections of the iteration have.

    Cost for each iteration: one tangent for each time, and one sparse solution for all times.

    Raises `InverseError` for input that does not fit, `MotionError` when the rate of a prescribed motion jumps, and
    `ConvergenceError` when no such motion is found.
    """
    if not (is_number(before) and is_number(after) and before >= 0 and after >= 0):
        raise InverseError(f"before and after must be finite and not negative; found {before}, {after}.")
    problem, mechanism = prepared(system, servos, actuators, duration, step, before=before, after=after)
    return _solved(problem, mechanism, progress or (lambda done: None))


def prepared(
    system: System | Mechanism,
    servos: Sequence[Servo],
    actuators: Sequence[str],
    duration: float,
    step: float,
    *,
    before: float = 0.0,
    after: float = 0.0,
) -> tuple[InverseProblem, Mechanism]:
    """The equations at all times, and the mechanism without servos. Raises `InverseError` for input that does not fit,
    and `MotionError` when the rate of a prescribed motion jumps.

    The arguments are those of `inverse_dynamics`.
    """
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "Inverse dynamics", includes={"lines", "velocity matrices"})
    if len(servos) != len(actuators) or not servos:
        raise InverseError(
            "The numbers of actuators and of prescribed coordinates must be equal, and at least one; found "
            f"{len(actuators)} and {len(servos)}."
        )
    if not (is_number(duration) and is_number(step) and 0 < step < duration):
        raise InverseError(f"duration must be positive and step smaller than it; found {duration} and {step}.")
    for name in actuators:
        if len(mechanism.force_elements.get(name, ())) != 1:
            single = [n for n, rows in mechanism.force_elements.items() if len(rows) == 1]
            raise InverseError(unknown_name("actuator", name, single))
    mechanism = with_efforts(mechanism, dict.fromkeys(actuators))
    start = mechanism.initial.t
    count = round((before + duration + after) / step)
    times = start - before + step * np.arange(count + 1)
    return InverseProblem(_with_servos(mechanism, servos), tuple(actuators), times), mechanism


def inverse_of(problem: InverseProblem, plain: Mechanism, motion: Motion, iterations: int) -> Inverse:
    """A motion of the mechanism `plain` as a result, with velocities and accelerations by differences."""
    w, wdot = problem.rates(motion.q)
    angles = followed_angles(plain, motion.q, problem.angles)
    result = result_of_states(plain, problem.times, motion.q, w, wdot, motion.multipliers, angles=angles)
    return Inverse(problem.actuators, problem.times, motion.efforts, result, iterations)


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
    """The mechanism with a further joint for the prescribed coordinates; the multipliers of this joint remain zero.

    Raises `InverseError` for an axis that is none, and `MotionError` when the rate of a motion jumps.
    """
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
        require_driver(servo.motion, f"motion of the servo of {servo.marker!r}")
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


def _solved(problem: InverseProblem, plain: Mechanism, progress: Progress) -> Inverse:
    """Solve by Newton's method over all times, from the motion without inertia."""
    motion = problem.at_rest(within(progress, 0.0, FIRST_PART))
    progress = within(progress, FIRST_PART, 1.0)
    digits = 0.0  # of the corrections, in parts of those that are wanted
    rest = motion.q.copy()
    for iteration in range(1, ITERATIONS + 1):
        expected = max(min(max(2.0 * digits, LEAST), MOST), digits)  # Newton's method doubles them
        x, dl, du = problem.correction(motion, rest, within(progress, digits, expected))
        size = float((np.abs(x) * problem.flat.weight).max())
        scale = min(1.0, 0.3 / size) if size > 0 else 1.0
        for n in range(len(rest)):
            moved = np.empty_like(rest[n])
            displace(problem.flat, motion.q[n], scale * x[n], moved)
            motion.q[n] = moved
        motion = Motion(motion.q, motion.multipliers + scale * dl, motion.efforts + scale * du)
        digits = max(expected, float(np.log(max(size, TOLERANCE)) / np.log(TOLERANCE)))
        progress(digits)
        if size < TOLERANCE:
            return inverse_of(problem, plain, motion, iteration)
    raise ConvergenceError(
        f"No motion of {plain.name!r} was found that follows the prescribed coordinates: after {ITERATIONS} "
        f"iterations the corrections are still {size:.2g} of its length. Prescribe a slower or shorter motion, or "
        "give more time before and after it."
    )
