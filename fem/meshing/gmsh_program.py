"""Gmsh as a program that meshes: a model of its own, beside those that the caller has open."""

import ctypes
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fem.errors import MeshError


@contextmanager
def gmsh_model(name: str, needed: str, otherwise: str, options: Mapping[str, float | str]) -> Iterator[Any]:
    """The module of Gmsh with an empty model of this name and these options, numbers or texts, by their names in Gmsh.

    Where the caller uses Gmsh already, its models, its current model and these options are afterwards as they were.
    Raises `MeshError` where Gmsh is missing or cannot be loaded; `needed` says what needs it and `otherwise` what to do
    without.
    """
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError: a library of the system that Gmsh links is missing
        found = "is not installed" if isinstance(error, ImportError) else f"cannot be loaded ({error})"
        raise MeshError(f'{needed} needs Gmsh, which {found}: pip install "flexmb[meshing]". {otherwise}') from None
    ours = not gmsh.isInitialized()
    if ours:
        with broken_pipes_as_before():
            gmsh.initialize(readConfigFiles=False, interruptible=False)
    current = None if ours else gmsh.model.getCurrent()
    before = {option: _set(gmsh, option, value) for option, value in {"General.Terminal": 0, **options}.items()}
    gmsh.model.add(name)
    try:
        yield gmsh
    finally:
        if ours:
            gmsh.finalize()
        else:
            gmsh.model.remove()
            gmsh.model.setCurrent(current)
            for option, value in before.items():
                _set(gmsh, option, value)


@contextmanager
def broken_pipes_as_before() -> Iterator[None]:
    """What happens at a write to a pipe or a socket whose reader is gone is afterwards as before.

    Python ignores the signal SIGPIPE and raises `BrokenPipeError`; Gmsh restores the rule of the system when it is
    initialised, by which such a write ends the process without a word.
    """
    if not hasattr(signal, "SIGPIPE"):
        yield
        return
    disposition = ctypes.CDLL(None).signal  # that of Python is of the main thread only
    disposition.restype, disposition.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    before = disposition(signal.SIGPIPE, 1)  # ignored meanwhile
    try:
        yield
    finally:
        disposition(signal.SIGPIPE, before)


def _set(gmsh: Any, option: str, value: float | str) -> float | str:
    """Set an option of Gmsh; returns its value before."""
    kind = "String" if isinstance(value, str) else "Number"
    before: float | str = getattr(gmsh.option, f"get{kind}")(option)
    getattr(gmsh.option, f"set{kind}")(option, value)
    return before
