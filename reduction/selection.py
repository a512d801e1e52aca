"""How many modes: a number, or all of a frequency band."""

from collections.abc import Callable

import numpy as np

from fem.eigen import lowest_modes
from fem.errors import MatrixError
from fem.model import Model

FIRST = 16
"""Modes of the first trial when a band is asked for."""


def require_band(band: tuple[float | int, float | int]) -> float:
    """The highest frequency of a band (0, f); refuses what is none."""
    low, high = band if np.shape(band) == (2,) else (np.nan, np.nan)
    if not (low == 0 and np.isfinite(high) and high > 0):
        raise MatrixError(f"A band is (0, highest frequency), in cycles per unit of time; found {band}.")
    return float(high)


def select_modes(
    model: Model,
    inverse: Callable[[np.ndarray], np.ndarray],
    available: int,
    modes: int | None,
    cutoff: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (k,) and vectors (ndof, k) of the `modes` lowest modes, or (modes None) of all up to frequency `cutoff`.

    `inverse` is the body's symmetric block solve, `available` the number of modes in its range. Raises MatrixError when
    there are fewer than asked for.
    """
    if modes is not None:
        if modes > available:
            raise MatrixError(
                f"Model {model.name!r} has {available} such modes; asked for {modes}. Ask for fewer, or refine the mesh."
            )
        if modes == 0:
            return np.zeros(0), np.zeros((model.ndof, 0))
        found = lowest_modes(inverse, model.M, modes)
        return found.eigenvalues, found.vectors
    count, start = min(FIRST, available), None
    while True:
        found = lowest_modes(inverse, model.M, count, start)
        inside = int(np.searchsorted(found.eigenvalues, (2.0 * np.pi * cutoff) ** 2, side="right"))
        if inside < count or count == available:
            return found.eigenvalues[:inside], found.vectors[:, :inside]
        count, start = min(2 * count, available), found.vectors
