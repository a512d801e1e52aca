"""Exceptions of flexmb, and the sentences they share.

Every message names the object, what was expected, what was found, what exists, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FlexmbError(Exception):
    """Base of every error caused by a user's input or data."""


class FlexmbWarning(UserWarning):
    """Base of every warning: the result exists, and the message states what may be wrong with it."""


class MeshError(FlexmbError, ValueError):
    """A mesh, or the file of a mesh, is not usable.

    Raised when meshes are read, made, checked, joined or split, and when a set or a selection of nodes is empty or does
    not exist.
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
    """An interface cannot have the six motions of a rigid body.

    Raised when interfaces are made, added to a part or cut: no nodes, nodes that do not exist, nodes that two rigid
    interfaces share.
    """


class FactorisationError(FlexmbError, RuntimeError):
    """A sparse factorisation or solve failed.

    Raised when a matrix is singular to working accuracy, when memory or disk do not suffice, or when a library is
    missing.
    """


class DoesNotFitError(FlexmbError):
    """With `backend="auto"`: the factor does not fit the memory, and another library handles factors on disk better.

    Raised by one backend; `factor` then uses the next one. The error does not reach the caller of `factor`.
    """


class ConvergenceError(FlexmbError, RuntimeError):
    """An iteration ended without the requested accuracy.

    Raised by eigensolvers, reductions to a tolerance, time steps, and searches for an equilibrium, a steady or a
    periodic motion.
    """


class MeshWarning(FlexmbWarning):
    """A part of a mesh was lost when it was read or written.

    Raised when a file is read or written; the message names what is missing.
    """


class UnitWarning(FlexmbWarning):
    """Numbers have different units, or other ones than the model names.

    Raised when a part is made whose modulus, density and size do not belong to one system of units, or whose sections
    are wider than its mesh is large (most often millimetres are combined with metres or pascal), when a model file
    names other units, and for a body whose damping ratio seems to be in per cent.
    """


class IllConditionedWarning(FlexmbWarning):
    """Solutions with a matrix may have a noticeable error.

    Raised when a matrix has been factorised, with the measured relative residual.
    """


class SlowSolverWarning(FlexmbWarning):
    """A large matrix is factorised by the slow fallback because no fast solver library is installed.

    Raised once in a process, when a matrix is factorised; the message names what to install.
    """


def unknown_name(kind: str, name: object, existing: Iterable[str]) -> str:
    """The message for a name that does not exist: the name, the closest match in any case, and all names that exist."""
    names = sorted(map(str, existing))
    known, asked = {other.lower(): other for other in reversed(names)}, str(name).lower()
    close = [known[other] for other in get_close_matches(asked, known, n=1)]
    close = close or [other for other in names if asked and asked in other.lower()][:1]
    hint = f" Did you mean {close[0]!r}?" if close else ""
    there = ", ".join(map(repr, names)) if names else "none"
    return f"There is no {kind} named {name!r}.{hint} Existing: {there}."
