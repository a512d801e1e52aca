"""What a mechanism may have that not every method and analysis includes, and the refusal of what is not included.

A method or an analysis states what it `includes`; it refuses a mechanism that has anything else of `FEATURES`. What is
added to `FEATURES` is therefore refused everywhere until somebody states that it is included.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from flexmb.errors import ControllerError, MechanismError
from flexmb.kernels.base.data import NO_MATE, VELOCITY_KINDS
from flexmb.mechanism.mechanism import Mechanism

Feature = Literal[
    "lines",
    "velocity matrices",
    "velocity rows",
    "element states",
    "new states",
    "inputs of laws",
    "controllers",
    "controllers with states",
    "sampled controllers",
    "friction that sticks",
    "regularised friction",
    "groups of contacts",
    "exact contacts",
    "surface contacts",
    "rubbing surfaces",
    "local contacts",
    "facing surfaces",
]
CONTINUOUS: frozenset[Feature] = frozenset({"controllers", "controllers with states"})
SMOOTH: frozenset[Feature] = CONTINUOUS | {
    "lines",
    "velocity matrices",
    "velocity rows",
    "element states",
    "inputs of laws",
}
"""What has accelerations and rates of states that follow from positions, velocities and states."""


@dataclass(frozen=True)
class _Kind:
    """Names of the parts that have a feature, what the feature is called, and what to do where it is not included."""

    named: Callable[[Mechanism], list[str]]
    title: str
    remedy: str
    error: type[MechanismError] | type[ControllerError] = MechanismError


_CONTROLLED = "simulate(method='generalised-alpha') includes all; for this analysis build the mechanism without them."
FEATURES: dict[Feature, _Kind] = {
    "lines": _Kind(
        lambda m: [line.name for line in m.lines],
        "fluid in pipes and wind",
        "generalised-alpha, HHT, Radau IIA, backward differentiation and the explicit method do; "
        "flexmb.study.gradient takes differences.",
    ),
    "velocity matrices": _Kind(
        lambda m: [body.name for body in m.bodies if body.velocity_matrix is not None],
        "damping that couples elastic coordinates and gyroscopic matrices",
        "generalised-alpha, HHT, Radau IIA, backward differentiation and the explicit method do; "
        "flexmb.study.gradient takes differences. Without: dataclasses.replace(body, velocity_matrix=None).",
    ),
    "velocity rows": _Kind(
        lambda m: [j.name for j in m.joints if any(m.rows[r].kind in VELOCITY_KINDS for r in j.rows)],
        "joints that restrict velocities but not positions (rolling, knife edges)",
        "generalised-alpha, HHT, Radau IIA, backward differentiation and the explicit method integrate them; "
        "steady_running is the steady motion of vehicles.",
    ),
    "element states": _Kind(
        lambda m: [force.name for force in m.frame_forces if force.initial and not force.call.law.updates],
        "the states of force elements",
        "All methods of simulate but energy-momentum integrate them; for this analysis replace them by elements "
        "without states.",
    ),
    "new states": _Kind(
        lambda m: [force.name for force in m.frame_forces if force.initial and force.call.law.updates],
        "laws of force elements that return the states at the end of a step, which have no rates",
        "simulate(method='generalised-alpha') does; here replace them by laws with rates, or by elements without "
        "states.",
    ),
    "inputs of laws": _Kind(
        lambda m: [force.name for force in m.frame_forces if force.command >= 0],
        "laws between frames that read inputs",
        "All methods of simulate but energy-momentum, equilibria and small motions do; here use laws without inputs.",
    ),
    "controllers": _Kind(
        lambda m: [c.name for c in m.controllers if c.sample_time is None and not c.begin],
        "controllers",
        _CONTROLLED,
        ControllerError,
    ),
    "controllers with states": _Kind(
        lambda m: [c.name for c in m.controllers if c.sample_time is None and c.begin],
        "controllers with states",
        _CONTROLLED,
        ControllerError,
    ),
    "sampled controllers": _Kind(
        lambda m: [c.name for c in m.controllers if c.sample_time is not None],
        "controllers that are sampled",
        "simulate(method='generalised-alpha') does, and so do equilibria and small motions at rest; for this analysis "
        "take the law without sample_time, with a delay of half of it for the hold, or build the mechanism without it.",
        ControllerError,
    ),
    "friction that sticks": _Kind(
        lambda m: [friction.name for friction in m.exact_frictions],
        "dry friction that sticks",
        "simulate(method='generalised-alpha') does; elsewhere give a sliding velocity below which the joint creeps, "
        "System.friction(..., regularised=...), or build the mechanism without it.",
    ),
    "regularised friction": _Kind(
        lambda m: [friction.name for friction in m.frictions if friction.speed],
        "regularised friction",
        "generalised-alpha, HHT, Radau IIA, backward differentiation and the explicit method in absolute coordinates "
        "do; for this analysis build the mechanism without it.",
    ),
    "groups of contacts": _Kind(
        lambda m: [group.name for group in m.contact_groups],
        "contacts of groups",
        "simulate with generalised-alpha, HHT or the explicit method does; for this analysis give each pair to "
        "System.contact.",
    ),
    "exact contacts": _Kind(
        lambda m: [contact.name for contact in m.contacts],
        "exact contacts, whose forces do not follow from the positions",
        "simulate(method='generalised-alpha', step=...) does; elsewhere give the contacts a law= of the normal force.",
    ),
    "surface contacts": _Kind(
        lambda m: [contact.name for contact in m.surface_contacts],
        "contacts of flexible surfaces, whose forces are found within a time step",
        "simulate with generalised-alpha, HHT or energy-momentum does, and flexmb.study.adjoint_gradient and gradient "
        "differentiate; for this analysis build the mechanism without them.",
    ),
    "rubbing surfaces": _Kind(
        lambda m: [contact.name for contact in m.surface_contacts if contact.friction],
        "the friction of flexible surfaces, whose backward differences in time have no discrete energy",
        "generalised-alpha and HHT do; here give them no friction.",
    ),
    "local contacts": _Kind(
        lambda m: [contact.name for contact in m.surface_contacts if contact.local],
        "local contacts of flexible surfaces, whose point moves over the faces",
        "generalised-alpha and HHT do, and flexmb.study.adjoint_gradient and gradient differentiate.",
    ),
    "facing surfaces": _Kind(
        lambda m: [contact.name for contact in m.surface_contacts if contact.mate != NO_MATE],
        "contacts of flexible surfaces with each other and with meshes, whose points move over facets",
        "generalised-alpha and HHT do, and flexmb.study.adjoint_gradient and gradient differentiate.",
    ),
}
MOST_NAMES = 6
"""Number of parts that a message names."""


def few(names: Sequence[str]) -> str:
    """The first of some names of parts, and how many more there are, for messages."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def refuse(mechanism: Mechanism, what: str, *, includes: Collection[Feature]) -> None:
    """Check that a mechanism has nothing that a method or analysis, called `what`, does not include.

    Raises `MechanismError`, or `ControllerError` for controllers, with the names of the parts that are not included,
    and where they are.
    """
    for feature, kind in FEATURES.items():
        if feature not in includes and (named := kind.named(mechanism)):
            raise kind.error(
                f"{what} does not include {kind.title}, and {mechanism.name!r} has {few(named)}. {kind.remedy}"
            )
