"""Exceptions of flexmb, and the sentences they share.

Every message names the object, what was expected, what was found, what exists, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FlexmbError(Exception):
    """Base of every error that a user's input or data can cause."""


class FlexmbWarning(UserWarning):
    """Base of every warning: a result is there, and the message says what it may lack."""


class MeshError(FlexmbError, ValueError):
    """The mesh, or a file that should hold one, cannot be used as it is.

    Raised when meshes are read, made, checked, joined or split, and when a set or a selection of nodes is empty or not
    there.
    """


class MaterialError(FlexmbError, ValueError):
    """A material constant is missing or not physical.

    Raised when a material or a section is made, and when a part has cells without a material.
    """


class MatrixError(FlexmbError, ValueError):
    """A matrix has the wrong shape, symmetry, definiteness or content (NaN).

    Raised when matrices of other programs are read, when a matrix is factorised, and when a basis does not belong to
    its model.
    """


class InterfaceError(FlexmbError, ValueError):
    """An interface cannot carry the motion it is asked for.

    Raised when interfaces are made, added to a part or cut: no nodes, nodes that do not exist, nodes that two rigid
    interfaces share.
    """


class FactorisationError(FlexmbError, RuntimeError):
    """A sparse factorisation or solve failed.

    Raised when a matrix is singular to working accuracy, when memory or disk do not suffice, or when a library is
    missing.
    """


class DoesNotFitError(FlexmbError):
    """Within `backend="auto"`: this library would have to go out of core, and another one does that better.

    Raised by one backend and answered by the choice of the next one; it does not reach a caller of `factor`.
    """


class ConvergenceError(FlexmbError, RuntimeError):
    """An iteration ended without the accuracy that was asked for.

    Raised by eigensolvers, reductions to a tolerance, time steps, and searches for an equilibrium, a steady or a
    periodic motion.
    """


class MeshWarning(FlexmbWarning):
    """Something of a mesh could not be taken along when it was read or written.

    Raised when a file is read or written; the message names what is missing.
    """


class UnitWarning(FlexmbWarning):
    """Modulus, density and size of a part do not fit together.

    Raised when a part is made; most often millimetres stand beside a modulus in pascal.
    """


class IllConditionedWarning(FlexmbWarning):
    """Solutions of a matrix carry an error that may be felt.

    Raised when a matrix has been factorised, with the relative residual that was measured.
    """


def unknown_name(kind: str, name: str, existing: Iterable[str]) -> str:
    """Sentence for a name that does not exist: what was asked, the closest match, everything there is."""
    names = sorted(map(str, existing))
    close = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    there = ", ".join(map(repr, names)) if names else "none"
    return f"There is no {kind} named {name!r}.{hint} Existing: {there}."
