"""Exceptions of flexmb, and the sentences they share.

Every message names the object, what was expected, what was found, what exists, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FlexmbError(Exception):
    """Base of every error that a user's input or data can cause."""


class MeshError(FlexmbError, ValueError):
    """The mesh, or a file that should hold one, cannot be used as it is."""


class MaterialError(FlexmbError, ValueError):
    """A material constant is missing or not physical."""


class MatrixError(FlexmbError, ValueError):
    """A matrix has the wrong shape, symmetry, definiteness or content (NaN)."""


class InterfaceError(FlexmbError, ValueError):
    """An interface cannot carry the motion it is asked for."""


class FactorisationError(FlexmbError, RuntimeError):
    """A sparse factorisation or solve failed."""


class ConvergenceError(FlexmbError, RuntimeError):
    """An iteration ended without the accuracy that was asked for."""


def unknown_name(kind: str, name: str, existing: Iterable[str]) -> str:
    """Sentence for a name that does not exist: what was asked, the closest match, everything there is."""
    names = sorted(map(str, existing))
    close = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    there = ", ".join(map(repr, names)) if names else "none"
    return f"There is no {kind} named {name!r}.{hint} Existing: {there}."
