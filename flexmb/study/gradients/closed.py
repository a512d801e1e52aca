"""Derivatives of motions with dry friction and in exact contact, while nothing begins or ceases to touch or to slide.

Points that touch throughout a motion are joints, and those that slide have dry friction
(`flexmb.equations.contact.closed_contacts`); joints with exact friction slide or are locked throughout. Their equations
of motion are smooth, and the derivatives are those of the mechanism with these joints. At a switch, derivatives of the
motion jump, and the instant of the switch depends on the parameters; such motions are refused.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flexmb.equations.contact.closed_contacts import points_that_touch, with_points_in_motion
from flexmb.equations.initial_conditions import redundant_rows
from flexmb.errors import StudyError
from flexmb.integrators.generalised_alpha import GeneralisedAlpha
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, ExactContact, point_states
from flexmb.mechanism.locking import at_state
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import Topology
from flexmb.results.result import Result
from flexmb.simulation.friction import sliding_velocities, with_beginnings
from flexmb.simulation.simulate import simulate
from flexmb.study.gradients.model import Model, mechanism_of

WHAT = "The adjoint or direct method"
ALIKE = 1e-6
"""Sine of the angle between the directions of slip of points whose forces are not unique."""


def smooth_model(
    model: Model,
    values: Mapping[str, float],
    duration: float,
    step: float,
    rho_inf: float | None,
    newton_tolerance: float,
) -> Model:
    """The model with joints in the place of the points of exact contacts that touch throughout the motion at `values`,
    and in which joints with exact friction slide or are locked as they do; itself, if it has neither. The numbers are
    options of `simulate`.

    Raises `StudyError` when a contact or a joint switches in this motion, with its name and the time, and
    `MechanismError` when points that touch are no joints (`flexmb.equations.contact.closed_contacts`).
    """
    base = mechanism_of(model, values)
    method = GeneralisedAlpha(step=step, rho_inf=rho_inf, newton_tolerance=newton_tolerance)
    if base.contacts:
        return _in_contact(model, base, simulate(base, duration, method=method, output_step=step), method, step)
    if base.exact_frictions:
        return _rubbing(model, simulate(base, duration, method=method, output_step=step), method, step)
    return model


def _in_contact(model: Model, base: Mechanism, motion: Result, method: GeneralisedAlpha, step: float) -> Model:
    """The model with joints and dry friction in the place of the points that touch in a motion."""
    for contact in base.contacts:
        _require_same_mode(motion, contact)
    modes = {contact.name: _states(motion, contact)[-1, :, 0] for contact in base.contacts}

    def closed(**parameters: float) -> Mechanism:
        made = mechanism_of(model, parameters)
        return _begun(with_points_in_motion(made, modes, WHAT), made, method, step)

    in_motion = with_points_in_motion(base, modes, WHAT)
    touching = points_that_touch(base, replace(base.initial, element_states=np.zeros(0)))
    for contact in base.contacts:
        if not np.array_equal(touching[contact.name], np.flatnonzero(modes[contact.name] != OPEN)):
            _refuse(contact, float(motion.t[0]), "closes, or opens,")
    _require_unique_friction(in_motion, base, motion)
    return closed


def _begun(closed: Mechanism, made: Mechanism, method: GeneralisedAlpha, step: float) -> Mechanism:
    """The mechanism `closed` of the mechanism `made`, with small velocities of points that slide from rest, in the
    directions in which they slide after a step."""
    still = [name for name, slip in sliding_velocities(closed, closed.initial).items() if slip.still]
    if not still:
        return closed
    moved = simulate(made, step, method=method).state(-1)
    states = moved.element_states[: len(closed.initial_states)]
    after = replace(moved, element_states=states, angles=closed.angles_of(made, moved.angles))
    slips = sliding_velocities(closed, after)
    begun = {name: slips[name].value / np.linalg.norm(slips[name].value) for name in still}
    return replace(closed, initial=with_beginnings(closed, closed.initial, begun))


def _rubbing(model: Model, motion: Result, method: GeneralisedAlpha, step: float) -> Model:
    """The model whose joints with exact friction slide, or are locked, as they do in a motion."""
    if motion.happened:
        event = motion.happened[0]
        raise StudyError(
            f"{WHAT} includes joints with dry friction that slide in one direction, or stick, throughout the motion. "
            f"{event.event!r} happens at t = {event.t:.6g}. Take a shorter duration, flexmb.study.gradient "
            "(differences of whole simulations), or friction that is regularised."
        )
    first = motion.state(0).topology

    def sliding(**parameters: float) -> Mechanism:
        begun = simulate(mechanism_of(model, parameters), step, method=method)
        variant, state = at_state(begun.mechanism, begun.state(0))
        now = state.topology
        if (now.sliding, now.locked.keys()) != (first.sliding, first.locked.keys()):
            raise StudyError(
                f"{WHAT} includes joints with dry friction that keep sliding, or sticking. Those of "
                f"{variant.name!r} change with the parameters: {first.sliding} and {sorted(first.locked)} at the given "
                f"values, {now.sliding} and {sorted(now.locked)} beside them. Choose other values."
            )
        return replace(variant, initial=replace(state, topology=Topology()))

    return sliding


def _states(motion: Result, contact: ExactContact) -> np.ndarray:
    return point_states(motion.element_states, contact, motion.mechanism.contact_state(contact.name))


def _require_same_mode(motion: Result, contact: ExactContact) -> None:
    struck = [event.t for event in motion.happened if event.event == contact.name]
    if struck:
        _refuse(contact, struck[0], "has an impact")
    states = _states(motion, contact)
    open_, slides = states[..., 0] == OPEN, states[..., 0] == SLIDES
    changes = [(open_[1:] != open_[:-1], "opens or closes")]
    if contact.static > 0.0:
        back = (states[1:, :, 2:] * states[:-1, :, 2:]).sum(axis=2) < 0.0
        began = slides[1:] != slides[:-1]
        began[0] &= slides[0]  # a point at rest may slide from the beginning on
        changes += [(began, "begins or ceases to slide"), (slides[1:] & back, "slides back")]
    for changed, what in changes:
        instants = np.flatnonzero(changed.any(axis=1))
        if len(instants):
            _refuse(contact, float(motion.t[1 + instants[0]]), what)


def _require_unique_friction(closed: Mechanism, base: Mechanism, motion: Result) -> None:
    """Raise `StudyError` when points slide in different directions whose normal forces are not unique."""
    redundant, slips = set(redundant_rows(closed, compiled(closed), closed.initial.q)), []
    sliding = {friction.joint for friction in closed.frictions}
    for contact in base.contacts:
        numbers = [k for k in range(contact.points) if f"{contact.name}.{k}" in redundant & sliding]
        slips.append(_states(motion, contact)[:, numbers, 2:])
    force = np.concatenate(slips, axis=1)
    size = np.linalg.norm(force, axis=2, keepdims=True)
    direction = force / np.where(size > 0, size, 1.0)
    turned = np.abs(direction[:, :1, 0] * direction[..., 1] - direction[:, :1, 1] * direction[..., 0])
    if turned.max(initial=0.0) > ALIKE:
        raise StudyError(
            f"{base.name!r} turns while more points slide than carry it, so that Coulomb's law does not determine its "
            "friction, and derivatives do not exist. Give it three points of contact, make a body flexible, or take a "
            "continuous contact with a law= of the normal force."
        )


def _refuse(contact: ExactContact, t: float, what: str) -> None:
    raise StudyError(
        f"{WHAT} includes exact contacts whose points touch, and stick or slide forwards, throughout the motion. The "
        f"contact {contact.name!r} {what} at t = {t:.6g}. Take a shorter duration, flexmb.study.gradient "
        "(differences of whole simulations), or a continuous contact with a law= of the normal force."
    )
