"""`Result`: the motion of a mechanism, its reactions and its energy ledger."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from flexmb.joints import free_motion
from flexmb.kernels.data import ANGLE_SINE, GROUND, TRANSLATION, make_places
from flexmb.kernels.recall import marker_paths, marker_velocities
from flexmb.lie import rotation_from_quaternion
from flexmb.mechanism import Mechanism, MechanismError, State

MOST_TOLD = 20
"""Events told one by one in a report."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Energies and works at the stored times, all (nt,); units: consistent.

    `residual = kinetic + elastic + gravity + springs + heat + lost in impacts - work - (its start)`: what is neither energy, nor work, nor
    heat. It is the error of the simulation together with the numerical dissipation of the integrator.
    """

    t: Float[np.ndarray, "nt"]
    kinetic: Float[np.ndarray, "nt"]
    elastic: Float[np.ndarray, "nt"]
    gravity: Float[np.ndarray, "nt"]
    springs: Float[np.ndarray, "nt"]
    driver_work: Float[np.ndarray, "nt"]
    load_work: Float[np.ndarray, "nt"]
    modal_heat: Float[np.ndarray, "nt"]
    damper_heat: Float[np.ndarray, "nt"]
    impacts: Float[np.ndarray, "nt"]

    @property
    def total(self) -> Float[np.ndarray, "nt"]:
        """Mechanical energy: kinetic + elastic + gravity + springs."""
        return self.kinetic + self.elastic + self.gravity + self.springs

    @property
    def residual(self) -> Float[np.ndarray, "nt"]:
        """Energy that appears from nowhere (positive) or vanishes (negative) since the start."""
        balance = self.total + self.modal_heat + self.damper_heat + self.impacts - self.driver_work - self.load_work
        return balance - balance[0]

    @property
    def exchange(self) -> float:
        """The scale to judge the residual by: the range of the kinetic energy."""
        return float(np.ptp(self.kinetic)) or float(np.abs(self.kinetic).max())

    def __str__(self) -> str:
        r, strain = np.abs(self.residual).max(), self.elastic.max()
        rows = [
            ("kinetic energy", self.kinetic), ("elastic energy", self.elastic), ("gravity potential", self.gravity), ("spring energy", self.springs),
            ("work of drivers", self.driver_work), ("work of loads", self.load_work), ("heat of modal damping", self.modal_heat), ("heat of dampers", self.damper_heat), ("lost in impacts", self.impacts),
            ("residual", self.residual),
        ]  # fmt: skip
        lines = [f"{'energy ledger':24}{'start':>14}{'end':>14}{'lowest':>14}{'highest':>14}"]
        lines += [
            f"{name:24}{x[0]:14.6g}{x[-1]:14.6g}{x.min():14.6g}{x.max():14.6g}"
            for name, x in rows
            if x.any() or name == "residual"
        ]
        lines.append(
            f"largest |residual| / range of kinetic energy: {r / self.exchange:.2e}" if self.exchange else "no motion"
        )
        if strain > 0:
            lines.append(f"largest |residual| / largest strain energy:   {r / strain:.2e}  ({verdict(r / strain)})")
        return "\n".join(lines)


def verdict(ratio: float) -> str:
    """What the residual over the largest strain energy says (Huang 1998, section 1.3.3)."""
    if ratio <= 1e-3:
        return "the elastic motion is resolved"
    if ratio <= 1e-1:
        return "the elastic motion is coarse: reduce the step"
    return "the elastic motion is noise: reduce the step or check the model"


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
class Happening:
    """An event that happened: when, its name, and the kinetic energy lost in it."""

    t: float
    event: str
    lost: float = 0.0

    def __str__(self) -> str:
        return f"{self.t:.9g}  {self.event}" + (f", energy lost {self.lost:.6g}" if self.lost else "")


@dataclass(frozen=True, eq=False)
class Result:
    """Motion of `mechanism` at the stored times `t` (nt,): `q` (nt, nq), `w` (nt, nv), joint multipliers (nt, nj); `happened`: the events in it."""

    mechanism: Mechanism
    t: Float[np.ndarray, "nt"]
    q: Float[np.ndarray, "nt nq"]
    w: Float[np.ndarray, "nt nv"]
    wdot: Float[np.ndarray, "nt nv"]
    multipliers: Float[np.ndarray, "nt nj"]
    ledger: Ledger
    statistics: Statistics
    happened: tuple[Happening, ...] = ()

    def state(self, index: int) -> State:
        """The state at stored time number `index`."""
        return State(float(self.t[index]), self.q[index].copy(), self.w[index].copy())

    def elastic(self, body: str) -> Float[np.ndarray, "nt m"]:
        """Elastic coordinates eta of a body over time."""
        index = self.mechanism.body_index(body)
        start = int(self.mechanism.flat().q_start[index]) + 7
        return self.q[:, start : start + self.mechanism.bodies[index].modes]

    def frame(self, body: str) -> tuple[Float[np.ndarray, "nt 3"], Float[np.ndarray, "nt 3 3"]]:
        """World position and attitude (body to world) of a body's frame over time."""
        start = int(self.mechanism.flat().q_start[self.mechanism.body_index(body)])
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

    def coordinate(self, joint: str, along: str | None = None) -> Float[np.ndarray, "nt"]:
        """The free motion of a joint over time, from its place as drawn: an angle, without jumps at half turns, or a displacement.

        `along`: "rotation" or "translation" where the joint has both.
        """
        record = self.mechanism.joint(joint)
        along = free_motion(joint, record.kind, along)
        (start, A), (end, B) = (self._path(k) for k in record.markers)
        if along == "translation":
            return np.asarray(np.einsum("tk,tk->t", A[:, :, 2], end - start))
        S = np.einsum("tki,tkj->tij", A, B)
        return np.unwrap(np.arctan2(S[:, 1, 0] - S[:, 0, 1], S[:, 0, 0] + S[:, 1, 1]))

    def deflection(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Elastic displacement of a marker in the axes of its body."""
        index = self.mechanism.marker_index(marker)
        record = self.mechanism.markers[index]
        if record.body == GROUND or record.interface is None:
            return np.zeros((len(self.t), 3))
        body = self.mechanism.bodies[record.body]
        return body.interface(record.interface).motion(self.elastic(body.name))[:, :3]

    def _path(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        flat = self.mechanism.flat()
        position, axes = np.empty((len(self.t), 3)), np.empty((len(self.t), 3, 3))
        marker_paths(flat, index, self.q, make_places(flat), position, axes)
        return position, axes

    def _marker_velocity(self, marker: str) -> tuple[np.ndarray, np.ndarray]:
        flat = self.mechanism.flat()
        velocity, angular = np.zeros((len(self.t), 3)), np.zeros((len(self.t), 3))
        index = self.mechanism.marker_index(marker)
        marker_velocities(flat, index, np.asarray(self.q), np.asarray(self.w), make_places(flat), velocity, angular)
        return velocity, angular

    def reaction(self, joint: str) -> Float[np.ndarray, "nt 6"]:
        """Force (3) and moment (3) that a joint exerts on its second body at that body's marker, in world axes."""
        from flexmb.reactions import joint_reaction

        return joint_reaction(self, joint)

    def drive_effort(self, joint: str, along: str | None = None) -> Float[np.ndarray, "nt"]:
        """Torque (force) with which a joint's driver turns (moves) its second body against its first over time: the inverse dynamics of a prescribed motion."""
        record = self.mechanism.joint(joint)
        kinds = {"rotation": ANGLE_SINE, "translation": TRANSLATION}
        driven = [r for r in record.rows if self.mechanism.rows[r].function >= 0]
        rows = [r for r in driven if along is None or self.mechanism.rows[r].kind == kinds.get(along)]
        if len(rows) != 1:
            raise MechanismError(
                f"Joint {joint!r} has {len(driven)} driven motions{'' if along is None else f', {len(rows)} of them {along}'}; an effort belongs to one. Name it with along=, or drive the joint."
            )
        return -np.asarray(self.multipliers[:, rows[0]])

    def __str__(self) -> str:
        events = "".join(f"{happening}\n" for happening in self.happened[:MOST_TOLD])
        if len(self.happened) > MOST_TOLD:
            events += f"... and {len(self.happened) - MOST_TOLD} more events\n"
        span = f"{self.t[0]:.6g} to {self.t[-1]:.6g}"
        return f"{self.mechanism.name!r}, {span}: {self.statistics}\n{events}{self.ledger}"


def result_of_states(
    mechanism: Mechanism,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    w: Float[np.ndarray, "nt nv"],
    wdot: Float[np.ndarray, "nt nv"],
    multipliers: Float[np.ndarray, "nt nj"],
) -> Result:
    """States that no simulation connects as a result: for measures, pictures and paths; its energies are not numbers."""
    unknown = np.full(len(t), np.nan)
    return Result(mechanism, t, q, w, wdot, multipliers, Ledger(t, *[unknown] * 9), Statistics(0, 0, 0, 0.0, 0.0, 0.0))
