"""`Result`: the motion of a mechanism, its reactions and its energy ledger."""

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
"""Events told one by one in a report."""


@dataclass(frozen=True)
class Statistics:
    """What the integration did: steps, rejected steps, Newton iterations, CPU seconds, smallest and largest step."""

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
        return f"{self.steps} steps of {sizes}{rejected}, {self.iterations / max(self.steps, 1):.2f} iterations and {per:.0f} us a step"


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: when, its name, and the kinetic energy lost in it."""

    t: float
    event: str
    lost: float = 0.0

    def __str__(self) -> str:
        return f"{self.t:.9g}  {self.event}" + (f", energy lost {self.lost:.6g}" if self.lost else "")


@dataclass(frozen=True, eq=False)
class Result:
    """Motion of `mechanism` at the stored times `t` (nt,): `q` (nt, nq), `w` (nt, nv), joint multipliers (nt, nj), `angles` (nt, na), turns counted (see `State`); `happened`: the events in it; `topologies`: when they changed which joints act, and to what; `unresolved`: functions of time that its fixed steps pass over."""

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
        """The state at stored time number `index`."""
        t = float(self.t[index])
        changed = [topology for time, topology in self.topologies if time <= t]
        angles, topology = np.array(self.angles[index]), changed[-1] if changed else Topology()
        return State(t, self.q[index].copy(), self.w[index].copy(), angles, topology)

    def elastic(self, body: str) -> Float[np.ndarray, "nt m"]:
        """Elastic coordinates eta of a body over time."""
        index = self.mechanism.body_index(body)
        start = int(compiled(self.mechanism).q_start[index]) + 7
        return self.q[:, start : start + self.mechanism.bodies[index].modes]

    def frame(self, body: str) -> tuple[Float[np.ndarray, "nt 3"], Float[np.ndarray, "nt 3 3"]]:
        """World position and attitude (body to world) of a body's frame over time."""
        start = int(compiled(self.mechanism).q_start[self.mechanism.body_index(body)])
        turned = [rotation_from_quaternion(p) for p in self.q[:, start + 3 : start + 7]]
        return self.q[:, start : start + 3], np.array(turned)

    def position(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """World position of a marker over time, e.g. `result.position("rod.small")`."""
        return self._path(self.mechanism.marker_index(marker))[0]

    def axes(self, marker: str) -> Float[np.ndarray, "nt 3 3"]:
        """World axes (columns) of a marker over time."""
        return self._path(self.mechanism.marker_index(marker))[1]

    def velocity(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """World velocity of a marker's point over time."""
        return self._marker_velocity(marker)[0]

    def angular_velocity(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Angular velocity of a marker's axes over time, in world axes."""
        return self._marker_velocity(marker)[1]

    @renamed(along="dof")
    def coordinate(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The free motion of a joint over time, from its place as drawn: an angle, turns counted, or a displacement.

        `dof`: "rotation" or "translation" where the joint has both.
        """
        record = self.mechanism.joint(joint)
        dof = joint_dof(joint, record.kind, dof)
        if dof == "rotation":
            return np.asarray(self.angles[:, self.mechanism.turning.index(record.markers)])
        (start, A), (end, _) = (self._path(k) for k in record.markers)
        return np.asarray(np.einsum("tk,tk->t", A[:, :, 2], end - start))

    def deflection(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Elastic displacement of a marker in the axes of its body."""
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
        """Force (3) and moment (3) that a joint exerts on its second body at that body's marker, in world axes."""
        return joint_reaction(self.mechanism, joint, self.t, self.q, self.multipliers)

    @renamed(along="dof")
    def drive_effort(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """Torque (force) with which a joint's driver turns (moves) its second body against its first over time: the inverse dynamics of a prescribed motion.

        Raises `MechanismError` when the joint has no driven motion, or several of which none is named.
        """
        record = self.mechanism.joint(joint)
        kinds = {"rotation": ANGLE, "translation": TRANSLATION}
        driven = [r for r in record.rows if self.mechanism.rows[r].function >= 0]
        rows = [r for r in driven if dof is None or self.mechanism.rows[r].kind == kinds.get(dof)]
        if len(rows) != 1:
            raise MechanismError(
                f"Joint {joint!r} has {len(driven)} driven motions{'' if dof is None else f', {len(rows)} of them {dof}'}; an effort belongs to one. Name it with dof=, or drive the joint."
            )
        return -np.asarray(self.multipliers[:, rows[0]])

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the energy balance closes, the joints stay closed and the bodies in their range."""
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
    """The angles, turns counted, at some configurations: each in the turn next to its row of `near` (nt, na). Without it they are less than half a turn from one configuration to
    the next, and the first next to those of the initial state.
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
    """States that no simulation connects as a result: for measures, pictures and paths; its energies are not numbers.

    Without `angles`: those next to the angles of the mechanism's initial state, and then from each state to the next by less than half a turn.
    """
    if angles is None:
        angles = followed_angles(mechanism, q)
    unknown = np.full(len(t), np.nan)
    return Result(
        mechanism, t, q, w, wdot, multipliers, angles, Ledger(t, *[unknown] * 9), Statistics(0, 0, 0, 0.0, 0.0, 0.0)
    )


refuse_old_names(__name__)
