"""The protocol of a factorisation backend, and of the objects that it makes."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from fem.linear_algebra.factorisations.forecast import Forecast
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.record import FactorRecord
from fem.linear_algebra.factorisations.storage import SolverOptions


@runtime_checkable
class Solutions(Protocol):
    """Solves A X = B."""

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B; B in Fortran order and of A's number type, not written to; X is a new array."""
        ...

    def release(self) -> None:
        """Give the memory back now; allowed more than once."""
        ...


@runtime_checkable
class Factorisation(Solutions, Protocol):
    """What a backend's `analyse(matrix, solver)` returns: analysed; then factorised; then a solver of A X = B.

    `record` is there after `factorise`.
    """

    record: FactorRecord

    @property
    def forecast(self) -> Forecast | None:
        """What the analysis promises; None where there was none."""
        ...

    @property
    def matrix(self) -> PreparedMatrix:
        """What was factorised."""
        ...

    def factorise(self) -> None:
        """The numerical factorisation. A failure releases everything and says why."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A module of this package: one solver library."""

    def missing(self) -> str | None:
        """Why the library cannot be used here, with the remedy; None where it can."""
        ...

    def analyse(self, matrix: PreparedMatrix, solver: SolverOptions) -> Factorisation:
        """Analyse a matrix. Its factor goes to disk where the budget of `solver` asks for it."""
        ...
