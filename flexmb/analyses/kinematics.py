"""Kinematics: configurations for given values of joints, over the range of a joint, with singular positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from fem.renamed import refuse_old_names
from flexmb.analyses.mobility import mobility
from flexmb.equations.initial_conditions import assemble, consistent_state
from flexmb.errors import AssemblyError, KinematicsError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.locking import LockedJoint, locked_row, with_locked_joints
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result, result_of_states

LARGEST_TURN = 0.25
"""Largest step of a joint, in radians or lengths of the mechanism, with which the mechanism stays on its branch."""
SINGULAR = 1e-4
"""Dexterity, relative to the largest of the sweep, below which a position is reported as singular."""


@dataclass(frozen=True, eq=False)
class JointSweep:
    """A mechanism at several values of one joint.

    - `values` (n,): the values of the joint (angles in radians, or displacements).
    - `dexterity` (n,): a measure of the distance from a singular position, zero at one.
    - `singular` (k,): values of the joint at which it does not determine the other coordinates.
    - `result`: the configurations; its times are 0, 1, 2, ...
    """

    joint: str
    values: Float[np.ndarray, "n"]
    dexterity: Float[np.ndarray, "n"]
    singular: Float[np.ndarray, "k"]
    result: Result

    def __str__(self) -> str:
        named = ", ".join(f"{v:.6g}" for v in self.singular) or "none"
        span = f"{self.joint!r} from {self.values[0]:.6g} to {self.values[-1]:.6g}"
        return f"{span}: {len(self.values)} places, singular positions: {named}"


def assemble_at(system: System | Mechanism, values: Mapping[str, float]) -> State:
    """The configuration at which joints have the given values, at rest.

    `values`: angles (radians) or displacements relative to the position as modelled, by the name of the joint. The
    other joints follow, with the least change from the initial configuration. Joints move in small steps, so that
    closed loops stay on their branch.

    Raises `KinematicsError`, with the joint and the value, when the mechanism cannot reach the values.
    """
    mechanism = system.build() if isinstance(system, System) else system
    for name in values:
        locked_row(mechanism, name, None)
    state = consistent_state(mechanism).state
    reached = {name: _value(mechanism, state, name) for name in values}
    return _moved(mechanism, state, reached, dict(values))


def joint_sweep(system: System | Mechanism, joint: str, values: ArrayLike) -> JointSweep:
    """The configurations of a mechanism for many values of one joint, one after the other, with singular positions.

    `values` (n,): angles (radians) or displacements relative to the position as modelled. Cost: a few dense solutions
    of the size of the mechanism for each value.

    Raises `KinematicsError` when the values are not finite numbers, or the mechanism cannot reach one of them.
    """
    wanted = np.atleast_1d(np.asarray(values, dtype=float))
    if not len(wanted) or not np.isfinite(wanted).all():
        raise KinematicsError(f"Values of joint {joint!r} must be finite numbers, at least one; found {values!r}.")
    mechanism = system.build() if isinstance(system, System) else system
    state = consistent_state(mechanism).state
    at = _value(mechanism, state, joint)
    states, dexterity = [], []
    for value in wanted:
        state = _moved(mechanism, state, {joint: at}, {joint: float(value)})
        at = float(value)
        states.append(state)
        dexterity.append(_dexterity(mechanism, _at(mechanism, {joint: at}), state))

    def near(value: float, k: int) -> float:
        moved = _moved(mechanism, states[k], {joint: float(wanted[k])}, {joint: value})
        return _dexterity(mechanism, _at(mechanism, {joint: value}), moved)

    singular = []
    for k in range(1, len(wanted) - 1):
        if dexterity[k] <= dexterity[k - 1] and dexterity[k] < dexterity[k + 1]:
            span = np.sort(wanted[[k - 1, k + 1]])
            lowest = minimize_scalar(
                near, bounds=span, args=(k,), method="bounded", options={"xatol": 1e-9 * np.ptp(span)}
            )
            if lowest.fun < SINGULAR * max(dexterity):
                singular.append(float(lowest.x))
    places = _as_result(mechanism, states)
    return JointSweep(joint, wanted, np.array(dexterity), np.array(singular), places)


def _at(mechanism: Mechanism, values: Mapping[str, float]) -> Mechanism:
    """The mechanism with joints locked at the given values and without their own drivers."""
    return with_locked_joints(
        mechanism, [LockedJoint(f"{name} held", name, float(v)) for name, v in values.items()], undriven=values
    )


def _moved(mechanism: Mechanism, state: State, reached: Mapping[str, float], wanted: Mapping[str, float]) -> State:
    """Move the joints from the values `reached` to the values `wanted`."""
    names = list(wanted)
    begin, end = (np.array([x[name] for name in names]) for x in (reached, wanted))
    turns = [joint_dof(n, mechanism.joint(n).kind, None) == "rotation" for n in names]
    far = np.abs(end - begin) / np.where(turns, 1.0, mechanism.length)
    steps = max(1, int(np.ceil(far.max() / LARGEST_TURN)))
    for k in range(1, steps + 1):
        now = begin + (end - begin) * (k / steps)
        at = replace(
            _at(replace(mechanism, initial=state), dict(zip(names, now, strict=True))),
        )
        try:
            found = assemble(at, compiled(at))
        except AssemblyError as error:
            asked = ", ".join(f"{n!r} = {v:.6g}" for n, v in zip(names, now, strict=True))
            stuck = _dexterity(mechanism, at, state) < SINGULAR
            advice = (
                " The mechanism is in a singular position of these joints, from which they cannot move it: move "
                "another joint first."
                if stuck
                else ""
            )
            raise KinematicsError(f"{mechanism.name!r} cannot be brought to {asked}.{advice} {error}") from None
        angles = mechanism.angles_of(at, found.angles)
        state = State(state.t, found.q, np.zeros_like(state.w), angles)
    return state


def _dexterity(mechanism: Mechanism, held: Mechanism, state: State) -> float:
    """Distance of a state from a singular position for the drivers of `held`; zero if they repeat joint equations."""
    found, more = mobility(held, state), held.joint_rows - mechanism.joint_rows
    free = mobility(mechanism, state)
    lost = found.redundancy - max(free.redundancy, free.redundancy + more - free.degrees_of_freedom)
    return 0.0 if lost > 0 else found.dexterity


def _value(mechanism: Mechanism, state: State, joint: str) -> float:
    return float(_as_result(mechanism, [state]).coordinate(joint)[0])


def _as_result(mechanism: Mechanism, states: Sequence[State]) -> Result:
    """Configurations as a result without motion, for pictures and paths."""
    count, q, angles = len(states), np.array([s.q for s in states]), np.array([s.angles for s in states])
    still = np.zeros((count, len(mechanism.initial.w)))
    return result_of_states(
        mechanism, np.arange(float(count)), q, still, still, np.zeros((count, mechanism.joint_rows)), angles=angles
    )


refuse_old_names(__name__)
