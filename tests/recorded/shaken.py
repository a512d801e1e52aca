"""A process whose linear algebra rounds in another way, with other signs of vectors: what then differs is rounding, on some processor that is not here."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
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
SHAKEN_ARRAYS = ("gravity", "mass", "stiffness", "damping", "row_stiffness", "row_damping", "load_wrench")
"""What changes in mechanisms."""
LONGER = 1.0 + 3.0 * SIZE
"""Duration and steps of simulations, relative to what is asked for."""


def _shaken(thing: Any) -> Any:
    if isinstance(thing, tuple):
        parts = [_shaken(part) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if isinstance(thing, np.ndarray | np.floating) and thing.dtype.kind in "fc":
        if np.ndim(thing) < 2:  # eigenvalues stay ascending
            return thing * (1.0 + SIZE)
        return _uneven(thing)
    return thing


def _uneven(array: np.ndarray) -> np.ndarray:
    """An array whose entries change by different amounts."""
    return array * (1.0 + SIZE * np.cos(2.0 + 37.0 * np.arange(array.size)).reshape(array.shape))


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        return _shaken(_turned_round(function.__name__, found))

    return called


def _turned_round(name: str, found: Any) -> Any:
    """Every second vector with the other sign, which another library may give."""
    if not isinstance(found, tuple):
        return found
    if name in ("eigh", "eig"):
        parts = [*found[:-1], found[-1] * _signs(found[-1].shape[-1])]
    elif name == "svd":
        U, s, V = found
        k = s.shape[-1]
        parts = [U.copy(), s, V.copy()]
        parts[0][..., :k] *= _signs(k)
        parts[2][..., :k, :] *= _signs(k)[:, None]
    else:
        return found
    return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)


def _signs(count: int) -> np.ndarray:
    return np.where(np.arange(count) % 2, 1.0, -1.0)


def shake_libraries() -> None:
    """Change what the dense functions of NumPy and SciPy return from now on.

    It comes before the project is imported, which takes some of these functions by name.
    """
    for module, names in ((np.linalg, NUMPY), (scipy.linalg, SCIPY)):
        for name in names:
            setattr(module, name, _of(getattr(module, name)))


CHILDREN = Path(__file__).with_name("children")
"""On the path of Python, this folder does the same to processes that a shaken one begins."""


@functools.cache
def shake_project() -> None:
    """Change what sparse factorisations return, the mass and stiffness of bodies in mechanisms, and the steps of
    simulations from now on."""
    import flexmb
    from fem.linear_algebra.factorisations.pardiso import PardisoFactorisation
    from fem.linear_algebra.factorisations.superlu import SuperLUFactorisation
    from flexmb.mechanism import compile as compilation

    simulate = flexmb.simulate

    @functools.wraps(simulate)
    def simulated(system: Any, duration: float, *arguments: Any, **options: Any) -> Any:
        if options.get("step") is not None:
            options["step"] *= LONGER
        return simulate(system, duration * LONGER, *arguments, **options)

    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("simulate") is simulate:
            module.simulate = simulated  # type: ignore[attr-defined]
    for kind in (PardisoFactorisation, SuperLUFactorisation):
        kind.solve = _of(kind.solve)  # type: ignore[method-assign]
    make = compilation._compile

    def compiled(mechanism: Any) -> Any:
        model = make(mechanism)
        for name in SHAKEN_ARRAYS:
            array = getattr(model, name)
            array[...] = _uneven(array)
        return model

    compilation._compile = compiled
