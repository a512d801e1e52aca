"""Derivatives of motions in exact contact, while no contact opens, closes, or begins or ceases to slide.

The points that touch throughout a motion are joints (`flexmb.equations.closed_contacts`), whose equations of motion are
those of the contacts: the derivatives are those of the mechanism with these joints. At a switch, derivatives of the
motion jump, and the instant of the switch depends on the parameters; such motions are refused.
"""

from collections.abc import Mapping

import numpy as np

from flexmb.equations.closed_contacts import with_closed_contacts
from flexmb.errors import StudyError
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, ExactContact, point_states
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Result
from flexmb.simulation.simulate import simulate
from flexmb.study.gradients.model import Model, mechanism_of

WHAT = "The adjoint or direct method"


def model_in_contact(
    model: Model, values: Mapping[str, float], duration: float, step: float, rho_inf: float, newton_tolerance: float
) -> Model:
    """The model with joints in the place of the points of exact contacts that touch throughout the motion at `values`;
    itself, if it has no exact contacts. The numbers are options of `simulate`.

    Raises `StudyError` when a contact switches in this motion, or slides with friction, with its name and the time, and
    `MechanismError` when points that touch are no joints (`flexmb.equations.closed_contacts`).
    """
    base = mechanism_of(model, values)
    if not base.contacts:
        return model
    motion = simulate(base, duration, step=step, rho_inf=rho_inf, newton_tolerance=newton_tolerance)
    for contact in base.contacts:
        _require_same_mode(motion, contact)

    def closed(**parameters: float) -> Mechanism:
        made = mechanism_of(model, parameters)
        return with_closed_contacts(made, made.initial, WHAT).mechanism

    drawn = closed(**values)
    for contact in base.contacts:
        at_begin = {f"{contact.name}.{k}" for k in np.flatnonzero(_touches(motion, contact)[-1])}
        joints = {joint.name for joint in drawn.joints if joint.name.startswith(f"{contact.name}.")}
        if at_begin != joints & {f"{contact.name}.{k}" for k in range(contact.points)}:
            _refuse(contact, float(motion.t[0]), "closes, or opens,")
    return closed


def _states(motion: Result, contact: ExactContact) -> np.ndarray:
    return point_states(motion.element_states, contact, motion.mechanism.contact_state(contact.name))


def _touches(motion: Result, contact: ExactContact) -> np.ndarray:
    """Whether each point touches at each stored time (nt, n)."""
    return np.asarray(_states(motion, contact)[..., 0] != OPEN)


def _require_same_mode(motion: Result, contact: ExactContact) -> None:
    struck = [event.t for event in motion.happened if event.event == contact.name]
    if struck:
        _refuse(contact, struck[0], "has an impact")
    touches = _touches(motion, contact)
    changed = np.flatnonzero((touches[1:] != touches[:-1]).any(axis=1))
    if len(changed):
        _refuse(contact, float(motion.t[1 + changed[0]]), "opens or closes")
    slides = np.flatnonzero((_states(motion, contact)[..., 0] == SLIDES).any(axis=1))
    if len(slides) and contact.static > 0.0:
        _refuse(contact, float(motion.t[slides[0]]), "slides with friction, which depends on the forces,")


def _refuse(contact: ExactContact, t: float, what: str) -> None:
    raise StudyError(
        f"{WHAT} includes exact contacts that stick, or slide without friction, throughout the motion. The contact "
        f"{contact.name!r} {what} at t = {t:.6g}. Take a shorter duration, flexmb.study.gradient (differences of whole "
        "simulations), or a continuous contact with a law= of the normal force."
    )
