"""Memory, arithmetic and time of a factorisation, estimated by its analysis and reported before the work starts."""

import logging
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np

from fem.linear_algebra.factorisations.storage import readable

LOGGER = logging.getLogger("fem")
EFFICIENCY = 0.6
"""Speed of a sparse factorisation beside that of a dense product, measured with both libraries at 100,000 and 300,000
dofs."""
SHORT = 1e10
"""Operations of a factorisation that is done before one has read about it."""


@dataclass(frozen=True)
class Forecast:
    """`nbytes` of the factor, `flops` to make it, and whether it goes to disk."""

    nbytes: int
    flops: float
    on_disk: bool

    @property
    def seconds(self) -> float:
        """Wall time of the factorisation on this machine, without the disk's."""
        return self.flops / (EFFICIENCY * _speed())


def log_forecast(forecast: Forecast | None, equations: int) -> None:
    """Report size, place and expected time of a factorisation to the logger "fem"."""
    if forecast is not None and forecast.flops > SHORT and LOGGER.isEnabledFor(logging.INFO):
        place = "on disk" if forecast.on_disk else "in memory"
        LOGGER.info(
            "factorising %d equations: factor of %s %s, about %s",
            equations,
            readable(forecast.nbytes),
            place,
            _duration(forecast.seconds),
        )


@cache
def _speed() -> float:
    """Operations a second of a dense product, once."""
    A = np.ones((1500, 1500))
    A @ A
    start = perf_counter()
    A @ A
    return 2 * len(A) ** 3 / (perf_counter() - start)


def _duration(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
