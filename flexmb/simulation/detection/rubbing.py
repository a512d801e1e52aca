"""The modes of joints with dry friction at one instant: which of them stick, slide, or begin to slide."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexmb.mechanism.locking import with_sliding
from flexmb.mechanism.state import State
from flexmb.simulation.detection.arming import Arming
from flexmb.simulation.detection.in_force import InForce
from flexmb.simulation.events import Stick
from flexmb.simulation.friction import (
    Modes,
    at_rest,
    freedoms_of,
    modes_of,
    prescribed_velocities,
    sliding_velocities,
    with_beginnings,
)

NOTICED = 1 - 1e-6
"""Velocity of a driven joint at the located instant at which it is noticed, relative to the one that is noticed."""


def adopt_frictions(in_force: InForce, state: State) -> None:
    """Find the freedom of joints with friction, and which of them slide in several directions, in a state that is
    taken over."""
    if in_force.frictions:
        mechanism = with_sliding(in_force.variant(in_force.others), {})
        in_force.freedoms = freedoms_of(mechanism, in_force.state_in(mechanism, state))
        in_force.quickest = {n: 0.0 for n, sign in in_force.sliding.items() if sign and in_force.frictions[n].several}


def slowed(in_force: InForce, state: State, resting: Sequence[str]) -> State:
    """The state without sliding rates of the joints with the frictions `resting`."""
    if not resting:
        return state
    mechanism = in_force.variant()
    return replace(state, w=at_rest(mechanism, in_force.state_in(mechanism, state), resting).w)


def rubbed(
    in_force: InForce,
    arming: Arming,
    state: State,
    lost: dict[str, float],
    resting: Sequence[str] = (),
    yielding: Sequence[str] = (),
) -> State:
    """The state with the modes of joints with friction; their changes are added to the events of `lost`.

    Joints with the frictions `resting`, and others without sliding rate up to rounding, are at rest. The holding
    efforts of those `yielding` have reached their bounds.
    """
    if not in_force.frictions:
        return state
    mechanism = with_sliding(in_force.variant(), {})
    own = in_force.state_in(mechanism, state)
    slow = {name for name, velocity in sliding_velocities(mechanism, own).items() if velocity.still}
    state = slowed(in_force, state, [*slow, *resting])
    own = replace(own, w=state.w)
    in_force.freedoms = freedoms_of(mechanism, own)
    driven = in_force.driven
    exact = prescribed_velocities(in_force.equations_of(mechanism, own), own) if driven else {}
    moving = {
        n
        for n in driven
        if (n in yielding and not in_force.freedoms[n].locks)
        or np.linalg.norm(exact[n]) > NOTICED * in_force.unnoticed(in_force.frictions[n])
    }
    still = {*slow, *resting, *driven} - moving
    modes = modes_of(mechanism, own, still, yielding, in_force.freedoms)
    _note(in_force, state, modes, lost)
    in_force.sliding = dict(modes.sliding)
    if modes.begun:
        variant = in_force.variant()
        state = replace(state, w=with_beginnings(variant, in_force.state_in(variant, state), modes.begun).w)
    quickest = {n: in_force.quickest.get(n, 0.0) for n, sign in modes.sliding.items() if sign}
    in_force.quickest = {n: x for n, x in quickest.items() if in_force.frictions[n].several}
    in_force.quickest |= dict.fromkeys(modes.begun, 0.0)
    for k, event in enumerate(in_force.events):
        if isinstance(event.do, Stick) and modes.sliding.get(name := event.do.friction):
            friction = in_force.frictions[name]
            arming.armed[k] = True
            arming.levels[k] = in_force.unnoticed(friction) if name in still and not friction.several else 0.0
    return state


def _note(in_force: InForce, state: State, modes: Modes, lost: dict[str, float]) -> None:
    """Hold the joints that stick; the events of `lost` are those of the joints whose modes change."""
    seen = in_force.seen(state)
    for name, friction in in_force.frictions.items():
        lost.pop(friction.stuck, None)
        lost.pop(f"{name} slides", None)
        if name in modes.sticking:
            for lock in in_force.freedoms[name].locks:
                in_force.hold(lock, in_force.coordinate(seen, friction, lock), state.t)
            if in_force.sliding.get(name):
                lost[friction.stuck] = 0.0
        elif modes.sliding.get(name) and (modes.sliding[name] != in_force.sliding.get(name) or name in modes.begun):
            lost[f"{name} slides"] = 0.0
