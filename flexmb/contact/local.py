"""Materials of a contact whose radius is below the node spacing, and Hertz's contact with two curvatures."""

from dataclasses import astuple, dataclass
from functools import lru_cache

import numpy as np
import scipy
from scipy.special import ellipe, ellipk

from flexmb.contact.laws import effective_modulus
from flexmb.errors import LawError

ROUND = 1e-6
"""Relative difference of curvatures below which a contact is circular."""


@dataclass(frozen=True)
class LocalHertz:
    """The materials of a contact whose radius is below the node spacing, for `System.contact(..., local=...)`.

    - `young`, `poisson`: of the flexible body at its surface.
    - `other_young`, `other_poisson`: of the sphere, rigid by default.

    Raises `LawError` when a modulus is not positive, or a Poisson's ratio is not above -1 and up to 1/2.
    """

    young: float
    poisson: float
    other_young: float = float("inf")
    other_poisson: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.young, float) and self.young == float("inf"):
            raise LawError(f"The surface in a local contact is elastic: young is finite; found {self.young!r}.")
        effective_modulus(*astuple(self))

    @property
    def modulus(self) -> float:
        """The modulus `E*` of both."""
        return effective_modulus(self.young, self.poisson, self.other_young, self.other_poisson)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The arguments, for files."""
        return tuple(float(x) for x in astuple(self))

    def half_space(self) -> float:
        """Displacement of the surface times distance per unit of force."""
        return (1.0 - self.poisson**2) / (np.pi * self.young)


@lru_cache(maxsize=4096)
def elliptic_factor(ratio: float) -> float:
    """The stiffness `F / d^(3/2)` of Hertz for principal relative curvatures A and `B = ratio A`, ratio from 0 to 1,
    over that of a circular contact with the curvature `sqrt(A B)`.

    Source: Johnson, Contact Mechanics (1985), section 4.2.
    """
    if ratio > 1.0 - ROUND:
        return 1.0

    def curvature_ratio(k: float) -> float:  # of an ellipse with the semi-axes b = k a
        m = 1.0 - k * k
        K, E = ellipk(m), ellipe(m)
        return float(k * k * (K - E) / (E - k * k * K))

    k = float(scipy.optimize.brentq(lambda x: curvature_ratio(x) - ratio, 1e-6, 1.0 - 1e-9, xtol=1e-14))
    m = 1.0 - k * k
    K, E = ellipk(m), ellipe(m)
    # d = p0 b K / E*, with p0 = 3 F / (2 pi a b) and the smaller relative curvature B = 2 p0 b (K - E) / (m E* a^2)
    # for a = 1: p0 = m E* B / (2 b (K - E)), F = 2 pi b p0 / 3
    B = 1.0
    p0 = m * B / (2.0 * k * (K - E))
    F, d = 2.0 * np.pi * k * p0 / 3.0, p0 * k * K
    A = B / ratio
    return float(F / d**1.5 / (4.0 / 3.0 / (A * B) ** 0.25))
