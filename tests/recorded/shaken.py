"""A process whose linear algebra rounds in another way: what then differs is rounding, on some processor that is not here."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

SHAKEN = "FLEXMB_SHAKEN"
"""In the environment of such a process."""
SIZE = 2e-15
"""Relative size of the changes: some roundings, as of sums in another order."""
NUMPY = ["solve", "inv", "svd", "lstsq", "eigvalsh", "eigh", "pinv", "det", "qr", "cholesky", "eigvals", "eig"]
SCIPY = [
    "eigh",
    "eig",
    "eigvalsh",
    "null_space",
    "solve_triangular",
    "cholesky",
    "qr",
    "expm",
    "svd",
    "schur",
    "lu_solve",
    "cho_solve",
]
LONGER = 1.0 + 3.0 * SIZE
"""Duration and steps of simulations, relative to what is asked for."""


def _shaken(thing: Any) -> Any:
    if isinstance(thing, tuple):
        parts = [_shaken(part) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if isinstance(thing, np.ndarray | np.floating) and thing.dtype.kind in "fc":
        if np.ndim(thing) < 2:  # eigenvalues stay ascending
            return thing * (1.0 + SIZE)
        return thing * (1.0 + SIZE * np.cos(2.0 + 37.0 * np.arange(thing.size)).reshape(thing.shape))
    return thing


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        return _shaken(function(*arguments, **options))

    return called


def shake_libraries() -> None:
    """Change what the dense functions of NumPy and SciPy return from now on.

    It comes before the project is imported, which takes some of these functions by name.
    """
    for module, names in ((np.linalg, NUMPY), (scipy.linalg, SCIPY)):
        for name in names:
            setattr(module, name, _of(getattr(module, name)))


@functools.cache
def shake_project() -> None:
    """Change what sparse factorisations return, and the steps of simulations from now on."""
    import flexmb
    from fem.linear_algebra.factorisations.pardiso import PardisoFactorisation
    from fem.linear_algebra.factorisations.superlu import SuperLUFactorisation

    simulate = flexmb.simulate

    def simulated(system: Any, duration: float, *arguments: Any, step: float | None = None, **options: Any) -> Any:
        return simulate(system, duration * LONGER, *arguments, step=step and step * LONGER, **options)

    flexmb.simulate = simulated
    for kind in (PardisoFactorisation, SuperLUFactorisation):
        kind.solve = _of(kind.solve)  # type: ignore[method-assign]
