"""The integration method that a simulation asks for, checked."""

from dataclasses import dataclass

from flexmb.equations.initial_conditions import Start
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.bdf import Bdf
from flexmb.integrators.energy_momentum import EnergyMomentum
from flexmb.integrators.explicit import Explicit
from flexmb.integrators.explicit_tree import ExplicitTree
from flexmb.integrators.generalised_alpha import GeneralisedAlpha, coefficients
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.radau import Radau
from flexmb.kernels.steps.step import Scheme
from flexmb.mechanism.mechanism import Mechanism

INTEGRATORS = ("generalised-alpha", "hht", "radau", "bdf", "explicit", "energy-momentum")
COORDINATES = ("absolute", "joint")


@dataclass(frozen=True)
class Method:
    """Options of `simulate` that say how steps are made."""

    integrator: str
    coordinates: str
    step: float | None
    tolerance: float
    scheme: Scheme
    project: bool
    pace: Pace

    @staticmethod
    def of(
        integrator: str, coordinates: str, step: float | None, tolerance: float, rho_inf: float, newton_tolerance: float, project: bool, pace: Pace
    ) -> "Method":  # fmt: skip
        """Raises `IntegratorError` for what cannot be."""
        if not 0 < tolerance < 1:
            raise IntegratorError(
                f"tolerance is relative to the length of the mechanism, between 0 and 1; found {tolerance}."
            )
        if integrator not in INTEGRATORS:
            raise IntegratorError(f"There is no integrator {integrator!r}; existing: {', '.join(INTEGRATORS)}.")
        if coordinates not in COORDINATES or (
            coordinates == "joint" and integrator not in ("generalised-alpha", "hht", "explicit")
        ):
            raise IntegratorError(
                f"Coordinates are {' or '.join(COORDINATES)} (joint ones with generalised-alpha, hht or explicit only); found {coordinates!r} with {integrator!r}."
            )
        if integrator == "energy-momentum" and step is None:
            raise IntegratorError("The energy-momentum scheme takes fixed steps: give step=.")
        scheme = coefficients(rho_inf, newton_tolerance=newton_tolerance, hht=integrator == "hht")
        return Method(integrator, coordinates, step, tolerance, scheme, project, pace)

    def run(self, mechanism: Mechanism, begin: Start, end: float, longest: float) -> Integrator:
        """A running integration from a start to at most `end`, with first steps of at most `longest`."""
        if self.integrator == "radau":
            return Radau(mechanism, begin, step=self.step, tolerance=self.tolerance, end=end, pace=self.pace)
        if self.integrator == "bdf":
            return Bdf(mechanism, begin, step=self.step, tolerance=self.tolerance, end=end, pace=self.pace)
        if self.integrator == "explicit":
            kind = ExplicitTree if self.coordinates == "joint" else Explicit
            return kind(mechanism, begin, step=self.step, tolerance=self.tolerance, end=end, pace=self.pace)
        if self.integrator == "energy-momentum":
            assert self.step is not None
            return EnergyMomentum(mechanism, begin, self.step)
        return GeneralisedAlpha(
            mechanism, begin, self.scheme, step=self.step, tolerance=self.tolerance, longest=longest, project=self.project,
            coordinates=self.coordinates, pace=self.pace,
        )  # fmt: skip
