"""What simulations may start from: a state, a result, an equilibrium, values of joints, a function that finds one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from fem.axes.limits import floats
from fem.errors import unknown_name
from flexmb.errors import KinematicsError, MechanismError
from flexmb.mechanism.locking import locked_row
from flexmb.mechanism.mechanism import Mechanism, require_state
from flexmb.mechanism.state import State
from flexmb.results.result import Result
from flexmb.simulation.joint_values import joint_and_dof, state_at

CONTRADICTED = 1e-9
"""Difference, in radians or lengths of the mechanism, from which a value contradicts the driver of its joint."""


class HasState(Protocol):
    """What analyses return that find one state of a mechanism, such as `flexmb.linear.equilibrium`."""

    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def state(self) -> State: ...


JointValues = Mapping[str, float | Sequence[float]]
"""Values of joints, or (value, rate), by the names of the joints."""
FoundState = Callable[[Mechanism], State | HasState]
"""A function that finds the state in which a mechanism starts, such as `flexmb.linear.settled`."""
InitialState = State | Result | HasState | JointValues | FoundState


def with_initial_state(mechanism: Mechanism, given: InitialState) -> Mechanism:
    """The mechanism with the initial state `given`; see `flexmb.simulate`.

    Raises `MechanismError` when it belongs to another mechanism or is none of these; `KinematicsError` when a value is
    not a number, contradicts a driver, or cannot be reached; the errors of a function that finds it.
    """
    if isinstance(given, Mapping):
        return _with_joint_values(mechanism, given)
    if callable(given):
        return with_initial_state(mechanism, given(mechanism))
    if isinstance(given, Result):
        _require_same_bodies(mechanism, given.mechanism)
        return _with_state(mechanism, given.state(-1))
    if isinstance(given, State):
        return _with_state(mechanism, given)
    state = getattr(given, "state", None)
    if isinstance(state, State):
        _require_same_bodies(mechanism, given.mechanism)
        return _with_state(mechanism, state)
    raise MechanismError(
        f"An initial state is a State, a Result (its last state), what equilibrium() or steady_motion() returns, "
        f"values of joints such as {{'hinge': 0.3}} or {{'hinge': (0.3, 1.5)}} with a rate, or a function that finds "
        f"the state of a mechanism, such as flexmb.linear.settled; found {type(given).__name__}."
    )


def _with_state(mechanism: Mechanism, state: State) -> Mechanism:
    require_state(mechanism, state)
    return replace(mechanism, initial=state, start_rows=())


def _require_same_bodies(mechanism: Mechanism, other: Mechanism) -> None:
    expected, found = ([(b.name, b.modes) for b in m.bodies] for m in (mechanism, other))
    if expected != found:
        told, given = (", ".join(f"{name!r} ({m} elastic)" for name, m in bodies) for bodies in (expected, found))
        raise MechanismError(
            f"The initial state belongs to another mechanism, {other.name!r}: {mechanism.name!r} has the bodies "
            f"{told}; the initial state is of {given}."
        )


def _with_joint_values(mechanism: Mechanism, given: JointValues) -> Mechanism:
    joints = [joint.name for joint in mechanism.joints]
    values: dict[str, float] = {}
    rates: dict[str, float | None] = {}
    for name, number in given.items():
        if name not in joints and name.rpartition(":")[0] not in joints:
            raise KinematicsError(f"Initial values of {mechanism.name!r}: " + unknown_name("joint", str(name), joints))
        pair = np.atleast_1d(floats(number))
        if pair.shape not in ((1,), (2,)) or not np.isfinite(pair).all():
            raise KinematicsError(
                f"The initial value of joint {name!r} is a finite number, or two, (value, rate); found {number!r}."
            )
        values[name], rates[name] = float(pair[0]), float(pair[1]) if len(pair) == 2 else None
        _require_undriven(mechanism, name, values[name], rates[name])
    driven = {name for name in values if _driver(mechanism, name) is not None}
    state = state_at(mechanism, {name: value for name, value in values.items() if name not in driven})
    speeds = [(locked_row(mechanism, *joint_and_dof(mechanism, name)), rates[name] or 0.0) for name in values]
    kept = tuple(speed for speed, name in zip(speeds, values, strict=True) if name not in driven)
    return replace(mechanism, initial=state, start_rows=kept)


def _driver(mechanism: Mechanism, name: str) -> int | None:
    """The number of the function of time that drives the motion `name`; None if it is not driven."""
    joint, dof = joint_and_dof(mechanism, name)
    wanted = locked_row(mechanism, joint, dof)
    for k in mechanism.joint(joint).rows:
        row = mechanism.rows[k]
        if row.function >= 0 and (row.kind, row.axes) == (wanted.kind, wanted.axes):
            return row.function
    return None


def _require_undriven(mechanism: Mechanism, name: str, value: float, rate: float | None) -> None:
    """Raise `KinematicsError` when a driver gives the joint another value or rate at the start."""
    function = _driver(mechanism, name)
    if function is None:
        return
    angle = joint_and_dof(mechanism, name)[1] == "rotation"
    at, speed, _ = mechanism.function_values(mechanism.initial.t)[function]
    scale = 1.0 if angle else mechanism.length
    rate = float(speed) if rate is None else rate
    if abs(value - at) > CONTRADICTED * scale or abs(rate - speed) > CONTRADICTED * abs(speed):
        raise KinematicsError(
            f"Joint {name!r} is driven: at t = {mechanism.initial.t:.6g} its driver gives the value {at:.6g} and the "
            f"rate {speed:.6g}, the initial state {value:.6g} and {rate:.6g}. Leave the joint out of the initial "
            "state, or change its driver."
        )
