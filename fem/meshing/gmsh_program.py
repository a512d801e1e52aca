"""Gmsh as a program that meshes: a model of its own, beside those that the caller has open."""

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


def _set(gmsh: Any, option: str, value: float | str) -> float | str:
    """Set an option of Gmsh; returns its value before."""
    kind = "String" if isinstance(value, str) else "Number"
    before: float | str = getattr(gmsh.option, f"get{kind}")(option)
    getattr(gmsh.option, f"set{kind}")(option, value)
    return before
