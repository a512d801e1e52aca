"""The record of a factorisation."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["positive-definite", "symmetric", "complex-symmetric", "general"]


@dataclass(frozen=True)
class FactorRecord:
    """Facts about one factorisation.

    - `library`: name, version and licence of the library (empty in records that older versions have stored).
    - `entries`, `flops`: the backend's count of stored entries and arithmetic of the factor; `flops` is None where the
      backend has no count.
    - `nbytes`: memory of the factor; `disk`: bytes of an out-of-core factor on disk, 0 for one in memory.
    - `inertia`: numbers of positive, negative and zero eigenvalues of a real symmetric matrix (Sylvester); None where
      they are not certain.
    - `perturbed_pivots`: number of pivots that were too small to divide by and were replaced.
    - `residual`: |b - A x| / |b| of one random b (NaN until measured); `seconds`: wall time.
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
    library: str = ""
