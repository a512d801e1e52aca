"""Generalised-alpha on Lie groups, for the equations of index 3.

The groups are R^3 x SO(3) for every body, or those of the motions in joints. The loop over steps is compiled
(flexmb/kernels/steps/step.py).

Sources: Chung and Hulbert (1993) for the coefficients; Brüls, Cardona and Arnold, "Lie group generalized-alpha time
integration of constrained flexible multibody systems" (2012); Arnold, Brüls and Cardona (2015) for initial values of
second order.
"""

from dataclasses import dataclass
from typing import ClassVar

from flexmb.equations.initial_conditions import Start
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.alpha_run import GeneralisedAlphaRun
from flexmb.integrators.contact.run import ContactRun
from flexmb.integrators.method import AdaptiveMethod, Coordinates, register, require_coordinates
from flexmb.kernels.steps.step import (
    Scheme,
)
from flexmb.mechanism.features import FEATURES, Feature
from flexmb.mechanism.mechanism import Mechanism

DAMPING, DAMPING_OF_FRICTION = 0.9, 0.8
"""Spectral radii at infinite frequency where none is given; the second with friction on flexible surfaces."""
ITERATIONS, TOGETHER = 20, 60
"""Newton iterations in a step at most; the second with exact contacts and friction in joints."""


def spectral_radius(mechanism: Mechanism | None, rho_inf: float | None) -> float:
    """`rho_inf`, or where it is None what suits a mechanism, or most of them.

    Friction that stops coordinates with mass is a condition on positions in one step and none in the next: velocities
    alternate, and decay from step to step by this factor. With 0.9 they reach the bound of friction before they decay;
    with 0.5, vibrations that the step resolves coarsely lose their energy as well.
    """
    if rho_inf is not None:
        return rho_inf
    rubs = mechanism is not None and any(contact.friction for contact in mechanism.surface_contacts)
    return DAMPING_OF_FRICTION if rubs else DAMPING


def corrections(mechanism: Mechanism | None) -> int:
    """The largest number of Newton iterations in a step. Joints rub by the forces of exact contacts of the iteration
    before, so that their errors decrease by a constant factor."""
    together = mechanism is not None and mechanism.contacts and mechanism.frictions
    return TOGETHER if together else ITERATIONS


def coefficients(
    rho_inf: float, *, newton_tolerance: float = 1e-8, iterations: int = ITERATIONS, hht: bool = False
) -> Scheme:
    """The coefficients for a spectral radius `rho_inf` at infinite frequency.

    - `rho_inf`: between 0 and 1. Smaller values damp the frequencies that the step does not resolve. `rho_inf = 1` has
      no numerical damping: it is suitable for bodies without joints, but with joints the errors of the joint equations
      grow until the simulation fails, after some hundred steps. For every value in [0, 1) the method is second-order
      accurate, for index 3 also in the multipliers.
    - `newton_tolerance`: error of the accelerations after the Newton iteration, relative to the largest.
    - `iterations`: largest number of Newton iterations in a step.
    - `hht`: use the coefficients of Hilber, Hughes and Taylor (1977), which damp low frequencies more for the same
      `rho_inf`.

    Raises `IntegratorError` when `rho_inf` or `newton_tolerance` is out of range.
    """
    if not 0.0 <= rho_inf <= 1.0:
        raise IntegratorError(f"rho_inf is a spectral radius and must be between 0 and 1; found {rho_inf}.")
    if not 0.0 < newton_tolerance < 1e-2:
        raise IntegratorError(
            "newton_tolerance is relative to the accelerations and must be above 0 and below 1e-2; found "
            f"{newton_tolerance}."
        )
    if hht and rho_inf < 0.5:
        raise IntegratorError(f"rho_inf of the HHT method must be between 0.5 and 1; found {rho_inf}.")
    alpha_m = 0.0 if hht else (2 * rho_inf - 1) / (rho_inf + 1)
    alpha_f = (1 - rho_inf) / (1 + rho_inf) if hht else rho_inf / (rho_inf + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    error = abs(1 / 6 - beta - (alpha_m - alpha_f) / 2)
    return Scheme(alpha_m, alpha_f, beta, gamma, error, newton_tolerance, iterations)


@register("generalised-alpha")
@dataclass(frozen=True, kw_only=True)
class GeneralisedAlpha(AdaptiveMethod):
    """The generalised-alpha method of order 2 (Chung and Hulbert 1993; on Lie groups Brüls, Cardona and Arnold 2012).

    It is compiled, and is the method of choice for flexible bodies: it damps high-frequency modes and does not resolve
    them.

    - `rho_inf`: spectral radius at infinite frequency, from 1 (no numerical damping, unsuitable for joint equations,
      see docs/time.md) to 0. None is 0.9, or 0.8 where flexible surfaces have friction (docs/flexible-contact.md).
    - `coordinates`: "absolute" (positions of all bodies, with joints as equations), or "joint" (motions in the joints
      along the tree of the mechanism). With "joint", only joints that close loops are equations, and the joints of the
      tree remain closed to round-off at any step size.
    - `project`: project the stored velocities on the constraints.
    - `newton_tolerance`: error of the accelerations after the Newton iteration, relative to the largest.
    """

    order: ClassVar[int] = 2
    hht: ClassVar[bool] = False
    includes: ClassVar[frozenset[Feature]] = frozenset(FEATURES)

    rho_inf: float | None = None
    coordinates: Coordinates = "absolute"
    project: bool = False
    newton_tolerance: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        require_coordinates(self.coordinates)
        self.scheme()

    def scheme(self, mechanism: Mechanism | None = None) -> Scheme:
        """The coefficients of the method, for a mechanism."""
        rho_inf = spectral_radius(mechanism, self.rho_inf)
        iterations = corrections(mechanism)
        return coefficients(rho_inf, newton_tolerance=self.newton_tolerance, iterations=iterations, hht=self.hht)

    def begin(
        self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace
    ) -> GeneralisedAlphaRun:
        scheme = self.scheme(mechanism)
        if mechanism.contacts:
            return self._with_contacts(mechanism, start, scheme)
        return GeneralisedAlphaRun(
            mechanism,
            start,
            scheme,
            step=self.step,
            tolerance=self.tolerance,
            longest=longest,
            project=self.project,
            coordinates=self.coordinates,
            pace=pace,
        )

    def _with_contacts(self, mechanism: Mechanism, start: Start, scheme: Scheme) -> ContactRun:
        if mechanism.surface_contacts:
            raise IntegratorError(
                f"{mechanism.name!r} has the exact contact {mechanism.contacts[0].name!r}, whose impacts are located, "
                f"and that of a flexible surface, {mechanism.surface_contacts[0].name!r}, which has none: they cannot "
                "act in one simulation yet. Give the exact contact a law=."
            )
        if self.step is None or self.project:
            raise IntegratorError(
                f"{mechanism.name!r} has the exact contact {mechanism.contacts[0].name!r}: give a fixed step=, such as "
                "a hundredth of the shortest vibration or of the time of a fall, and not project=."
            )
        return ContactRun(mechanism, start, scheme, step=self.step, coordinates=self.coordinates)


@register("hht")
@dataclass(frozen=True, kw_only=True)
class HHT(GeneralisedAlpha):
    """The generalised-alpha method with the coefficients of Hilber, Hughes and Taylor (1977).

    They damp low frequencies more than those of Chung and Hulbert for the same `rho_inf`, which must be between 0.5 and
    1.
    """

    hht: ClassVar[bool] = True
