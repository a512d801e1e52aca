"""What a factorisation backend gives back: the record of its work, and the protocol it follows."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["positive-definite", "symmetric", "complex-symmetric", "general"]


@dataclass(frozen=True)
class FactorRecord:
    """Facts about one factorisation.

    `entries` and `flops` are the backend's count of stored entries and arithmetic of the factor (`flops` is None where
    the backend keeps no count), `nbytes` its memory. `inertia` counts the positive, negative and zero eigenvalues of a
    real symmetric matrix (Sylvester), or is None where the backend cannot vouch for it. `perturbed_pivots` were too
    small to divide by and were replaced. `residual` is |b - A x| / |b| of one random b (NaN until measured). `seconds`
    is wall time. `disk`: bytes of an out-of-core factor on disk, 0 for one in memory.
    """

    backend: str
    kind: str
    equations: int
    matrix_entries: int
    entries: int
    flops: float | None
    nbytes: int
    inertia: tuple[int, int, int] | None
    perturbed_pivots: int
    seconds: float
    residual: float = float("nan")
    disk: int = 0
