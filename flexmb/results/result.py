"""`Result`: the motion of a mechanism with its reactions and its energy ledger."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fem.renamed import refuse_old_names, renamed
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import ANGLE, GROUND, TRANSLATION, make_marker_kinematics
from flexmb.kernels.equations.postprocess import angles_along, marker_paths, marker_velocities
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State, Topology
from flexmb.results.ledger import Ledger
from flexmb.results.reactions import joint_reaction
from flexmb.results.verdict import Verdict, judge
from flexmb.spatial.lie import rotation_from_quaternion

MOST_TOLD = 20
"""Largest number of events that a report lists one by one."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of an integration: counts of steps, rejected steps and Newton iterations, CPU time (s), step sizes."""

    steps: int
    rejected: int
    iterations: int
    cpu_seconds: float
    smallest_step: float
    largest_step: float

    def __str__(self) -> str:
        per = 1e6 * self.cpu_seconds / max(self.steps, 1)
        equal = self.largest_step - self.smallest_step <= 1e-6 * self.largest_step
        sizes = f"{self.largest_step:.3g}" if equal else f"{self.smallest_step:.3g} to {self.largest_step:.3g}"
        rejected = f" ({self.rejected} rejected)" if self.rejected else ""
        n = max(self.steps, 1)
        return f"{self.steps} steps of {sizes}{rejected}, {self.iterations / n:.2f} iterations and {per:.0f} us a step"


@dataclass(frozen=True)
class EventRecord:
    """An event that occurred: its time, its name, and the kinetic energy lost in it."""

    t: float
    event: str
    lost: float = 0.0

    def __str__(self) -> str:
        return f"{self.t:.9g}  {self.event}" + (f", energy lost {self.lost:.6g}" if self.lost else "")


@dataclass(frozen=True, eq=False)
class Result:
    """The motion of `mechanism` at the stored times `t` (nt,).

    - `q` (nt, nq), `w` (nt, nv), `wdot` (nt, nv): configurations, velocities and accelerations (see `State`).
    - `multipliers` (nt, nj): of the joints.
    - `angles` (nt, na): joint angles with all revolutions counted (see `State`).
    - `ledger`, `statistics`: the energies, and the effort of the integration.
    - `happened`: the events that occurred.
    - `topologies`: times from which on other joints act, with the joints locked and released.
    - `unresolved`: descriptions of functions of time that vary faster than the fixed steps resolve.
    """

    mechanism: Mechanism
    t: Float[np.ndarray, "nt"]
    q: Float[np.ndarray, "nt nq"]
    w: Float[np.ndarray, "nt nv"]
    wdot: Float[np.ndarray, "nt nv"]
    multipliers: Float[np.ndarray, "nt nj"]
    angles: Float[np.ndarray, "nt na"]
    ledger: Ledger
    statistics: Statistics
    happened: tuple[EventRecord, ...] = ()
    topologies: tuple[tuple[float, Topology], ...] = ()
    unresolved: tuple[str, ...] = ()

    def state(self, index: int) -> State:
        """The state at the stored time number `index`."""
        t = float(self.t[index])
        changed = [topology for time, topology in self.topologies if time <= t]
        angles, topology = np.array(self.angles[index]), changed[-1] if changed else Topology()
        return State(t, self.q[index].copy(), self.w[index].copy(), angles, topology)

    def elastic(self, body: str) -> Float[np.ndarray, "nt m"]:
        """Elastic coordinates eta (nt, m) of a body over time."""
        index = self.mechanism.body_index(body)
        start = int(compiled(self.mechanism).q_start[index]) + 7
        return self.q[:, start : start + self.mechanism.bodies[index].modes]

    def frame(self, body: str) -> tuple[Float[np.ndarray, "nt 3"], Float[np.ndarray, "nt 3 3"]]:
        """World position (nt, 3) and rotation matrix (nt, 3, 3), body to world, of a body's frame over time."""
        start = int(compiled(self.mechanism).q_start[self.mechanism.body_index(body)])
        turned = [rotation_from_quaternion(p) for p in self.q[:, start + 3 : start + 7]]
        return self.q[:, start : start + 3], np.array(turned)

    def position(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """World position (nt, 3) of a marker over time, e.g. `result.position("rod.small")`."""
        return self._path(self.mechanism.marker_index(marker))[0]

    def axes(self, marker: str) -> Float[np.ndarray, "nt 3 3"]:
        """Axes of a marker over time, as columns (nt, 3, 3) in world axes."""
        return self._path(self.mechanism.marker_index(marker))[1]

    def velocity(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Velocity (nt, 3) of a marker's point over time, in world axes."""
        return self._marker_velocity(marker)[0]

    def angular_velocity(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Angular velocity (nt, 3) of a marker's axes over time, in world axes."""
        return self._marker_velocity(marker)[1]

    @renamed(along="dof")
    def coordinate(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The coordinate (nt,) of a joint relative to its position as modelled.

        It is an angle, with all revolutions counted, or a displacement. `dof`: "rotation" or "translation", for joints
        that have both.
        """
        record = self.mechanism.joint(joint)
        dof = joint_dof(joint, record.kind, dof)
        if dof == "rotation":
            return np.asarray(self.angles[:, self.mechanism.turning.index(record.markers)])
        (start, A), (end, _) = (self._path(k) for k in record.markers)
        return np.asarray(np.einsum("tk,tk->t", A[:, :, 2], end - start))

    def deflection(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Elastic displacement (nt, 3) of a marker, in the axes of its body."""
        index = self.mechanism.marker_index(marker)
        record = self.mechanism.markers[index]
        if record.body == GROUND or record.interface is None:
            return np.zeros((len(self.t), 3))
        body = self.mechanism.bodies[record.body]
        return body.interface(record.interface).motion(self.elastic(body.name))[:, :3]

    def _path(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        flat = compiled(self.mechanism)
        position, axes = np.empty((len(self.t), 3)), np.empty((len(self.t), 3, 3))
        marker_paths(flat, index, self.q, make_marker_kinematics(flat), position, axes)
        return position, axes

    def _marker_velocity(self, marker: str) -> tuple[np.ndarray, np.ndarray]:
        flat = compiled(self.mechanism)
        velocity, angular = np.zeros((len(self.t), 3)), np.zeros((len(self.t), 3))
        index = self.mechanism.marker_index(marker)
        marker_velocities(
            flat, index, np.asarray(self.q), np.asarray(self.w), make_marker_kinematics(flat), velocity, angular
        )
        return velocity, angular

    def reaction(self, joint: str) -> Float[np.ndarray, "nt 6"]:
        """Force and moment (nt, 6) that a joint exerts on its second body at that body's marker, in world axes."""
        return joint_reaction(self.mechanism, joint, self.t, self.q, self.multipliers)

    @renamed(along="dof")
    def drive_effort(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The effort (nt,) of a joint's driver: the inverse dynamics of a prescribed motion.

        The driver exerts it on the second body against the first: a torque for a driven rotation, a force for a driven
        translation. `dof` selects one of the two. Raises `MechanismError` when the joint has no driven motion, or
        several and `dof` selects none.
        """
        record = self.mechanism.joint(joint)
        kinds = {"rotation": ANGLE, "translation": TRANSLATION}
        driven = [r for r in record.rows if self.mechanism.rows[r].function >= 0]
        rows = [r for r in driven if dof is None or self.mechanism.rows[r].kind == kinds.get(dof)]
        if len(rows) != 1:
            number = f"{len(driven)} driven motions{'' if dof is None else f', {len(rows)} of them {dof}'}"
            raise MechanismError(
                f"Joint {joint!r} has {number}; an effort belongs to one. Name it with dof=, or drive the joint."
            )
        return -np.asarray(self.multipliers[:, rows[0]])

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the energy balance closes, the joints stay closed, and the deformations stay small enough."""
        return judge(self.mechanism, self.ledger, self.q, self.multipliers, self.angles, self.unresolved)

    def __str__(self) -> str:
        events = "".join(f"{event}\n" for event in self.happened[:MOST_TOLD])
        if len(self.happened) > MOST_TOLD:
            events += f"... and {len(self.happened) - MOST_TOLD} more events\n"
        span = f"{self.t[0]:.6g} to {self.t[-1]:.6g}"
        return f"{self.mechanism.name!r}, {span}: {self.statistics}\n{events}{self.ledger}\n{self.verdict}"


def followed_angles(
    mechanism: Mechanism, q: Float[np.ndarray, "nt nq"], near: np.ndarray | None = None
) -> Float[np.ndarray, "nt na"]:
    """The joint angles (nt, na), all revolutions counted, at the configurations `q` (nt, nq).

    With `near` (nt, na), each angle is the one nearest to its entry there. Otherwise the first angles are nearest to
    those of the initial state, and angles change by less than half a revolution from one configuration to the next.
    """
    flat, angles = compiled(mechanism), np.zeros((len(q), len(mechanism.turning)))
    if angles.size:
        first = mechanism.initial.angles
        angles[:] = near if near is not None else first if len(first) else 0.0
        angles_along(flat, np.ascontiguousarray(q), make_marker_kinematics(flat), near is None, angles)
    return angles


def result_of_states(
    mechanism: Mechanism,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    w: Float[np.ndarray, "nt nv"],
    wdot: Float[np.ndarray, "nt nv"],
    multipliers: Float[np.ndarray, "nt nj"],
    *,
    angles: Float[np.ndarray, "nt na"] | None = None,
) -> Result:
    """A result of states that no simulation connects, for measures, pictures and paths.

    Its energies are NaN. `t` (nt,), `q` (nt, nq), `w` and `wdot` (nt, nv), `multipliers` (nt, nj): times,
    configurations, velocities, accelerations and joint multipliers. Without `angles` (nt, na), `followed_angles`
    computes them.
    """
    if angles is None:
        angles = followed_angles(mechanism, q)
    unknown = np.full(len(t), np.nan)
    return Result(
        mechanism, t, q, w, wdot, multipliers, angles, Ledger(t, *[unknown] * 9), Statistics(0, 0, 0, 0.0, 0.0, 0.0)
    )


refuse_old_names(__name__)
