"""Generalised-alpha on the Lie group of rigid motions, index 3: coefficients and start values.

Sources: Chung, Hulbert (1993) for the coefficients; Bruls, Cardona, Arnold, "Lie group generalized-alpha time
integration of constrained flexible multibody systems" (2012); Arnold, Bruls, Cardona (2015) for start values of
second order.
"""

from fem.errors import FlexmbError
from flexmb.kernels.step import Scheme


class IntegratorError(FlexmbError, ValueError):
    """An integrator option is outside its range."""


def generalised_alpha(rho_inf: float = 0.9, *, newton_tolerance: float = 1e-8, iterations: int = 20) -> Scheme:
    """Coefficients for a spectral radius `rho_inf` at infinite frequency.

    Smaller values damp what the step does not resolve. `rho_inf = 1` has no numerical damping at all: right for bodies
    without drivers, but the multipliers of joints then ring without decay. Second-order accurate for every value in
    [0, 1) (index 3: also in the multipliers). `newton_tolerance`: error of the accelerations that the Newton iteration
    leaves, relative to the largest.
    """
    if not 0.0 <= rho_inf <= 1.0:
        raise IntegratorError(f"rho_inf is a spectral radius between 0 and 1; found {rho_inf}.")
    if not 0.0 < newton_tolerance < 1e-2:
        raise IntegratorError(
            f"newton_tolerance is relative to the accelerations, above 0 and well below 1e-2; found {newton_tolerance}."
        )
    alpha_m = (2 * rho_inf - 1) / (rho_inf + 1)
    alpha_f = rho_inf / (rho_inf + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    error = abs(1 / 6 - beta - (alpha_m - alpha_f) / 2)
    return Scheme(alpha_m, alpha_f, beta, gamma, error, newton_tolerance, iterations)
