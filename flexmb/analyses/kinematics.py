"""Kinematics: configurations for given values of joints, over the range of a joint, with singular positions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float
from numpy.typing import ArrayLike

from fem.axes.limits import floats
from fem.renamed import refuse_old_names
from flexmb.analyses.mobility import mobility
from flexmb.equations.initial_conditions import consistent_state
from flexmb.errors import KinematicsError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.simulation.joint_values import held_at, joint_value, moved, result_at, state_at

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

    `values`: coordinates, angles (radians) from the configuration as modelled or displacements between the two places
    of a joint, by the name of the joint, or "JOINT:translation" and "JOINT:rotation" for joints that have both. The
    other joints follow, with the least change from the initial configuration. Joints move in small steps, so that
    closed loops stay on their branch.

    Raises `KinematicsError`, with the joint and the value, when the mechanism cannot reach the values.
    """
    mechanism = system.build() if isinstance(system, System) else system
    return state_at(mechanism, values, advice=_advice)


def joint_sweep(system: System | Mechanism, joint: str, values: ArrayLike) -> JointSweep:
    """The configurations of a mechanism for many values of one joint, one after the other, with singular positions.

    `values` (n,): coordinates as of `assemble_at`. Cost: a few dense solutions of the size of the mechanism for each
    value.

    Raises `KinematicsError` when the values are not finite numbers, or the mechanism cannot reach one of them.
    """
    wanted = np.atleast_1d(floats(values))
    if wanted.ndim != 1 or not len(wanted) or not np.isfinite(wanted).all():
        raise KinematicsError(f"Values of joint {joint!r} must be finite numbers, at least one; found {values!r}.")
    mechanism = system.build() if isinstance(system, System) else system
    state = consistent_state(mechanism).state
    at = joint_value(mechanism, state, joint)
    states, dexterity = [], []
    for value in wanted:
        state = moved(mechanism, state, {joint: at}, {joint: float(value)}, _advice)
        at = float(value)
        states.append(state)
        dexterity.append(_dexterity(mechanism, held_at(mechanism, {joint: at}), state))

    def near(value: float, k: int) -> float:
        there = moved(mechanism, states[k], {joint: float(wanted[k])}, {joint: value}, _advice)
        return _dexterity(mechanism, held_at(mechanism, {joint: value}), there)

    singular = []
    for k in range(1, len(wanted) - 1):
        if dexterity[k] <= dexterity[k - 1] and dexterity[k] < dexterity[k + 1]:
            span = np.sort(wanted[[k - 1, k + 1]])
            lowest = scipy.optimize.minimize_scalar(
                near, bounds=span, args=(k,), method="bounded", options={"xatol": 1e-9 * np.ptp(span)}
            )
            if lowest.fun < SINGULAR * max(dexterity):
                singular.append(float(lowest.x))
    places = result_at(mechanism, states)
    return JointSweep(joint, wanted, np.array(dexterity), np.array(singular), places)


def _advice(held: Mechanism, state: State, mechanism: Mechanism) -> str:
    """Advice for joints that cannot be moved from a state, if it is a singular position of theirs."""
    if _dexterity(mechanism, held, state) >= SINGULAR:
        return ""
    return (
        " The mechanism is in a singular position of these joints, from which they cannot move it: move another joint "
        "first."
    )


def _dexterity(mechanism: Mechanism, held: Mechanism, state: State) -> float:
    """Distance of a state from a singular position for the drivers of `held`; zero if they repeat joint equations."""
    found, more = mobility(held, state), held.joint_rows - mechanism.joint_rows
    free = mobility(mechanism, state)
    lost = found.redundancy - max(free.redundancy, free.redundancy + more - free.degrees_of_freedom)
    return 0.0 if lost > 0 else found.dexterity


refuse_old_names(__name__)
