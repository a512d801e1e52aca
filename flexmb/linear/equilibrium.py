"""Equilibrium under gravity, springs, loads and drivers, at rest or in steady motion."""

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from flexmb.equations.contact.closed_contacts import (
    closing_forces,
    require_outside,
    weak_contacts,
    with_closed_contacts,
)
from flexmb.equations.contact.skins import without_surfaces
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import consistent_state
from flexmb.errors import (
    ControllerError,
    EquilibriumError,
    LawRangeWarning,
    MechanismError,
    SensitivityWarning,
    SmallDeformationWarning,
    UnsupportedError,
)
from flexmb.kinks import kinks
from flexmb.linear.rest.record import Equilibrium
from flexmb.linear.rest.search import search
from flexmb.linear.rest.steady import at_speed, carried_along, in_world, require_steady, require_time
from flexmb.linear.touching import Touching, require_shallow
from flexmb.mechanism.attachments import vector
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.exact import contact_states
from flexmb.mechanism.features import SMOOTH, Feature, refuse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.elements.tunnels import doubtful_contacts
from flexmb.results.verdict import left_ranges
from flexmb.simulation.sampling import sampled_controllers, with_first_sample
from flexmb.spatial.layout import pose

LOAD_STEPS = (1, 4, 16)
"""Numbers of steps in which gravity, loads and speeds are applied; they are tried one after the other."""
AT_REST: frozenset[Feature] = SMOOTH | {"surface contacts", "rubbing surfaces", "local contacts", "facing surfaces"}
"""What a mechanism at rest may have beside exact contacts, which become joints."""


def included_at_rest(mechanism: Mechanism) -> frozenset[Feature]:
    """What equilibria and small motions of a mechanism include beside exact contacts."""
    return AT_REST if mechanism.surface_contacts else AT_REST | {"sampled controllers"}


def equilibrium(
    system: System | Mechanism, t: float | None = None, *, acceleration: ArrayLike = (0.0, 0.0, 0.0)
) -> Equilibrium:
    """The equilibrium near the initial state, with functions of time at `t` (default: the initial time); `held` of the
    result says which of them change later.

    `acceleration` (3,): of the whole mechanism with its ground, in world axes, such as that of a crane on a braking
    vehicle. The equilibrium is at rest in the accelerated axes; its mechanism has the gravity `g - a` that acts there.

    Newton's method uses the tangent of the whole model with its joints. Where its step would increase the potential
    energy, the direction is reversed, so that the iteration ends at a stable equilibrium unless it starts at an
    unstable one. If it fails, gravity and loads are applied in steps. Cost: dense matrices of the size of the
    mechanism.

    States of force elements are found together with the configuration, such that they are stationary; those of which
    every value is stationary, such as the deflections of a tyre at rest, keep their initial values. Sampled controllers
    are at their fixed point, where samples change neither states nor commands. Wheels and skates
    move to the equilibrium without slip; their reactions are those of static friction. Since they may reach other
    places by other ways, their equilibrium is one of many.

    Exact contacts that touch as drawn, or that stick at the initial state of a mechanism that has been simulated,
    remain closed: its mechanism has a joint `NAME.K` for each such point. Corners of boxes and meshes at planes stick;
    spheres and capsules at planes do so without friction only.

    Flexible surfaces touch where they must, with forces that push. They may overlap as drawn, by up to a twentieth of
    the length of the mechanism, as parts with an interference do. Friction is that of one motion from the initial state
    to the equilibrium, in which points stick or slip. The stability of an equilibrium in which points slip is not
    judged.

    Raises `EquilibriumError` when there is no equilibrium near the initial state, when a motion is unrestrained, so
    that the equilibrium is not unique, when exact contacts would open, slide or overlap where they are apart as drawn,
    or when the states of an element have no stationary values; `MechanismError` for flexible surfaces that overlap by
    more, or beside exact contacts; `ControllerError` for sampled controllers that measure reactions or act beside
    flexible surfaces. The error is an `UnsupportedError` where bodies slide, tip or roll on flexible surfaces, at the
    first attempt and with loads in steps. Issues a `SmallDeformationWarning` for bodies that bend beyond their range,
    and a `SensitivityWarning` for laws without a derivative at the equilibrium.
    """
    mechanism = system.build() if isinstance(system, System) else system
    felt = vector(acceleration, "acceleration")
    if felt.any():
        mechanism = replace(mechanism, gravity=mechanism.gravity - felt)
    if not mechanism.contacts or mechanism.surface_contacts:
        return _in_steps(mechanism, t, moving=False)
    closed = with_closed_contacts(mechanism, mechanism.initial, "An equilibrium")
    try:
        found = _in_steps(closed.mechanism, t, moving=False)
        found = replace(found, multipliers=closing_forces(closed, found.state, found.multipliers))
        require_outside(mechanism, found.state.q)
    except EquilibriumError as error:
        raise EquilibriumError(f"{error}{weak_contacts(mechanism, mechanism.initial)}") from error
    return found


def settled(system: System | Mechanism) -> State:
    """The state of a mechanism that has settled under its loads: where a simulation starts without a fall.

    `simulate(system, 2.0, initial_state=settled)` starts there; in `flexmb.compare` and `flexmb.parameter_study` each
    variant starts from its own equilibrium. Positions, angles and states of force elements are those of the
    `equilibrium` near the initial state, with functions of time at the initial time. Velocities are the initial ones of
    bodies (in world axes), of joints and of drivers: without any, the mechanism is at rest, and remains so until its
    loads change. For bodies with the deflections of their speed give `steady_motion` in its place.

    Raises `EquilibriumError` as `equilibrium` does, and for an unstable equilibrium; `MechanismError` or
    `ControllerError` for what `equilibrium` does not include, such as sampled controllers that measure reactions.
    """
    mechanism = system.build() if isinstance(system, System) else system
    try:
        found = equilibrium(mechanism)
    except (EquilibriumError, MechanismError, ControllerError) as error:
        raise type(error)(f"{mechanism.name!r} cannot start at rest. {error}") from error
    if found.verdict == "unstable":
        raise EquilibriumError(
            f"{mechanism.name!r} cannot start at rest. Its equilibrium near the initial state is unstable: the softest "
            f"motion has the stiffness {found.softest:.4g} per unit of mass. Start nearer to a stable one, by the "
            "positions of bodies or initial values of joints. To start at this one all the same, give "
            "initial_state=equilibrium(system), or flexmb run --start the file of flexmb equilibrium."
        )
    contacts = np.zeros(contact_states(mechanism.contacts))  # what a simulation finds anew
    states = np.concatenate([found.state.element_states, contacts])
    begun = replace(found.state, w=_turned(mechanism, found.state.q), element_states=states)
    begin = consistent_state(replace(mechanism, initial=begun))
    if not (sampled_controllers(mechanism) and begin.state.w.any()):
        return begin.state
    return with_first_sample(replace(mechanism, initial=begin.state), begin, {}).initial  # which sees the velocities


def _turned(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """The initial velocities (nv,), unchanged in world axes, of bodies in the configuration `q`."""
    flat, w = compiled(mechanism), mechanism.initial.w.copy()
    for b, s in enumerate(flat.v_start[:-1]):
        turn = pose(flat, q, b)[1].T @ pose(flat, mechanism.initial.q, b)[1]
        w[s : s + 3], w[s + 3 : s + 6] = turn @ w[s : s + 3], turn @ w[s + 3 : s + 6]
    return w


def steady_motion(system: System | Mechanism, t: float | None = None) -> Equilibrium:
    """The steady motion nearest to the initial state.

    Every body keeps its initial velocity (a rotation about a fixed axis, or a translation), and is deformed
    accordingly. Bodies that only springs connect to a rotating body rotate with it. Examples are a rotor at speed, a
    rotating blade, and a governor.

    `t`: a time at which drivers have reached their speed, and loads their value. By default it is the time after which
    all drivers are known to be steady (the end of a spin-up), or else the initial time. The steady motion is given at
    the initial position of the drivers, with their speeds at `t`.

    The method is that of `equilibrium`, with centrifugal forces; the speed is also increased in steps if necessary.
    `softest` refers to the potential of gravity, elasticity and centrifugal forces: if it is positive, the motion is
    stable; if it is negative, gyroscopic forces may stabilise the motion, which `linearise(...).modes().stable`
    decides.

    Raises `EquilibriumError` as `equilibrium` does, and when the motion cannot be steady: gravity across the axis, a
    mechanism whose shape changes as it rotates, or drivers that accelerate.
    """
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "A steady motion", includes=SMOOTH - {"velocity rows"})
    return _in_steps(at_speed(mechanism, t), None, moving=True)


def _in_steps(system: System | Mechanism, t: float | None, moving: bool) -> Equilibrium:
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "An equilibrium", includes=included_at_rest(mechanism))
    require_time(t)
    if t is not None:
        mechanism = replace(mechanism, initial=replace(mechanism.initial, t=float(t)))
    flat = compiled(mechanism)
    begin = consistent_state(mechanism)
    time = begin.state.t
    if mechanism.surface_contacts:
        require_shallow(Touching(mechanism, begin.state), begin.state.q)
    world = in_world(flat, carried_along(mechanism, begin.state)) if moving else np.zeros(6 * len(flat.modes))
    start, failure = begin.state, None
    for steps, downhill in [(LOAD_STEPS[0], False)] * moving + [(n, True) for n in LOAD_STEPS]:
        q, angles, states = start.q, start.angles, mechanism.initial_states
        try:
            for k in range(1, steps + 1):
                begun = replace(start, q=q, angles=angles, element_states=states)
                found = search(_with_part(mechanism, k / steps), begun, world * (k / steps), downhill)
                q, angles, states = found.state.q, found.state.angles, found.state.element_states
        except EquilibriumError as error:
            if isinstance(error, UnsupportedError) and isinstance(failure, UnsupportedError):
                break  # on two ways
            failure = failure or error
            continue
        for text in doubtful_contacts(found.result) if mechanism.surface_contacts else ():
            warnings.warn(text, LawRangeWarning, stacklevel=3)
        for text in left_ranges(mechanism, np.array([found.state.t]), found.state.q[None]):
            warnings.warn(text, SmallDeformationWarning, stacklevel=3)
        if text := _kinks(found, moving):
            warnings.warn(f"The equilibrium of {mechanism.name!r} {text}", SensitivityWarning, stacklevel=3)
        if moving:
            require_steady(found, world, time)
        return found
    assert failure is not None
    raise failure


def _kinks(found: Equilibrium, moving: bool) -> str:
    """Laws without a derivative by places, or by velocities of a steady motion, which the stiffness depends on."""
    mechanism, state = found.mechanism, found.state
    own = state.element_states[: compiled(mechanism).skin_state] if mechanism.surface_contacts else state.element_states
    e, functions = (
        Equations(without_surfaces(mechanism), state.q, state.angles, own),
        mechanism.function_values(state.t),
    )
    over = ("place", "speed", "state") if moving else ("place", "state")
    return kinks(e, functions, state, np.zeros_like(state.w), found.multipliers, over=over)


def _with_part(mechanism: Mechanism, part: float) -> Mechanism:
    """The mechanism with a fraction of its gravity and loads."""
    if part == 1.0:
        return mechanism
    loads = tuple(replace(load, wrench=part * load.wrench) for load in mechanism.loads)
    return replace(mechanism, gravity=part * mechanism.gravity, loads=loads)
