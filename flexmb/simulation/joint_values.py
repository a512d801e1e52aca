"""Configurations at given values of joints, reached in small steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from flexmb.equations.initial_conditions import assemble, consistent_state
from flexmb.errors import AssemblyError, KinematicsError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.locking import LockedJoint, with_locked_joints
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.results.result import Result, result_of_states

LARGEST_TURN = 0.25
"""Largest step of a joint, in radians or lengths of the mechanism, with which the mechanism stays on its branch."""
MOST_STEPS = 20_000
"""Largest number of such steps, about a millisecond each."""

Advice = Callable[[Mechanism, State, Mechanism], str]
"""What to say of joints that cannot be moved: of the mechanism that holds them, the state, and the mechanism itself."""


def joint_and_dof(mechanism: Mechanism, name: str) -> tuple[str, str]:
    """The joint and the free motion that `name` means: "JOINT", or "JOINT:translation" and "JOINT:rotation".

    Raises `MechanismError` when there is no such joint, `JointError` when it does not have the motion.
    """
    joint, _, dof = name.rpartition(":")
    known = {record.name for record in mechanism.joints}
    if name in known or joint not in known:
        joint, dof = name, ""
    return joint, joint_dof(joint, mechanism.joint(joint).kind, dof or None)


def state_at(
    mechanism: Mechanism, values: Mapping[str, float], *, advice: Advice = lambda held, state, mechanism: ""
) -> State:
    """The configuration, at rest, at which joints have the given values; `flexmb.analyses.kinematics.assemble_at`.

    Raises `KinematicsError`, with the joint, the value and the `advice`, when the mechanism cannot reach the values.
    """
    for name, value in values.items():
        joint_and_dof(mechanism, name)
        if not np.isfinite(value):
            raise KinematicsError(f"The value of joint {name!r} must be a finite number; found {value!r}.")
    state = consistent_state(mechanism).state
    state = replace(state, w=np.zeros_like(state.w))
    reached = {name: joint_value(mechanism, state, name) for name in values}
    return moved(mechanism, state, reached, values, advice) if values else state


def held_at(mechanism: Mechanism, values: Mapping[str, float]) -> Mechanism:
    """The mechanism with joints locked at the given values, without the drivers of the locked motions."""
    chosen = {name: joint_and_dof(mechanism, name) for name in values}
    locked = [LockedJoint(f"{name} held", joint, float(values[name]), dof) for name, (joint, dof) in chosen.items()]
    return with_locked_joints(mechanism, locked, undriven=True)


def moved(
    mechanism: Mechanism, state: State, reached: Mapping[str, float], wanted: Mapping[str, float], advice: Advice
) -> State:
    """Move the joints from the values `reached` to the values `wanted`. Raises `KinematicsError` as `state_at`."""
    names = list(wanted)
    begin, end = (np.array([x[name] for name in names]) for x in (reached, wanted))
    chosen = [joint_and_dof(mechanism, name) for name in names]
    turns = [dof == "rotation" for _, dof in chosen]
    far = np.abs(end - begin) / np.where(turns, 1.0, mechanism.length)
    if not far.max() <= MOST_STEPS * LARGEST_TURN:
        k = int(np.argmax(far))
        most = MOST_STEPS * LARGEST_TURN * (1.0 if turns[k] else mechanism.length)
        raise KinematicsError(
            f"The value {end[k]:.6g} of joint {names[k]!r} is farther than {most:.6g} from {begin[k]:.6g}, where it "
            "is: the mechanism is moved there in small steps, and these are too many. Give a nearer value, without "
            "turns that have no effect."
        )
    steps = max(1, int(np.ceil(far.max() / LARGEST_TURN)))
    for k in range(1, steps + 1):
        now = begin + (end - begin) * (k / steps)
        at = held_at(replace(mechanism, initial=state), dict(zip(names, now, strict=True)))
        try:
            found = assemble(at, compiled(at))
        except AssemblyError as error:
            asked = ", ".join(f"{n!r} = {v:.6g}" for n, v in zip(names, now, strict=True))
            said = advice(at, state, mechanism)
            raise KinematicsError(f"{mechanism.name!r} cannot be brought to {asked}.{said} {error}") from None
        angles = mechanism.angles_of(at, found.angles)
        state = State(state.t, found.q, np.zeros_like(state.w), angles, element_states=state.element_states)
    return state


def joint_value(mechanism: Mechanism, state: State, name: str) -> float:
    """The value of the joint that `name` means (`joint_and_dof`) at a state."""
    return float(result_at(mechanism, [state]).coordinate(*joint_and_dof(mechanism, name))[0])


def result_at(mechanism: Mechanism, states: Sequence[State]) -> Result:
    """Configurations as a result without motion, for pictures and paths."""
    count, q, angles = len(states), np.array([s.q for s in states]), np.array([s.angles for s in states])
    still = np.zeros((count, len(mechanism.initial.w)))
    return result_of_states(
        mechanism, np.arange(float(count)), q, still, still, np.zeros((count, mechanism.joint_rows)), angles=angles
    )
