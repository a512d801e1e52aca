"""The choice between the library of compiled functions, which is built with the package, and numba.

The library is the extension module `_flexmb_kernels` (flexmb/kernels/build.py). It is used if it is installed and was
built from the present sources of this folder; otherwise numba compiles the same functions when they are first called.
It also holds the laws of the package (`law_files`), which numba compiles where their sources are others.
The choice is made once in a process and holds for all functions that Python calls (flexmb/kernels/calls.py), because
results of the two may differ in the last bit.
"""

import ctypes
import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numba import config

MODULE = "_flexmb_kernels"
VARIABLE = "FLEXMB_KERNELS"
"""Environment variable: "numba" avoids the library, "library" raises an error where it cannot be used."""
FOLDER = Path(__file__).parents[1]


class Choice(NamedTuple):
    """The library that is used, or None, and a sentence that says what is used and why."""

    library: Any
    text: str


class LibraryLaw(NamedTuple):
    """The compiled call of a law of the library; `ctypes` as that of functions of numba."""

    ctypes: Any


def digest_of(paths: Iterable[Path]) -> str:
    """A digest of files of the package, independent of line ends and of the version of Python."""
    digest, package = hashlib.blake2b(digest_size=16), FOLDER.parent
    for name, path in sorted((path.relative_to(package).as_posix(), path) for path in paths):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def sources_digest() -> str:
    """A digest of the sources of the kernels."""
    return digest_of((*FOLDER.rglob("*.py"), *FOLDER.rglob("*.c")))


def law_files() -> list[Path]:
    """The files of the laws of the package: those between two frames, and those of controllers."""
    return [*sorted((FOLDER.parent / "forces" / "frame").glob("*.py")), FOLDER.parent / "controllers" / "formulas.py"]


@cache
def choice() -> Choice:
    """The choice of this process.

    Raises `ImportError` if the environment variable demands a library that cannot be used, and `ValueError` if its
    value is unknown.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "numba", "library"):
        raise ValueError(f"The environment variable {VARIABLE} is {wanted!r}; expected 'numba', 'library' or nothing.")
    if wanted == "numba":
        return Choice(None, f"numba compiles the time step, because {VARIABLE}=numba")
    library, reason = _load()
    if library is None:
        if wanted == "library":
            raise ImportError(f"The environment variable {VARIABLE} is 'library', but {reason}.")
        return Choice(None, f"numba compiles the time step, because {reason}")
    return Choice(library, f"the time step is compiled in the package (for {library.PROCESSOR})")


def _load() -> tuple[Any, str]:
    """The library, or None and the reason why it cannot be used."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None, "NUMBA_DISABLE_JIT demands functions without compilation"
    try:
        library = import_module(MODULE)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError)
        return None, "the package was installed without its library" if absent else f"its library fails: {error}"
    try:
        present = sources_digest() == library.SOURCES
    except OSError as error:
        return None, f"the sources of the kernels cannot be read: {error}"
    if not present:
        where = getattr(library, "__file__", MODULE)
        return None, f"the library {where} was built from other sources; install the package again to build it"
    return library, ""


def called(function: Any) -> Callable[..., Any]:
    """The function that Python calls in place of a function compiled by numba: that of the library if it is used."""
    library = choice().library
    return function if library is None else getattr(library, function.py_func.__name__)


def release_lock(function: Any) -> None:
    """Let a function compiled by numba release the lock of the interpreter, as the library does."""
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        function.targetoptions["nogil"] = True


def law_key(function: Any, *sizes: int) -> str:
    """The name of a law in the library: that of its function, and the numbers of states and parameters it has."""
    python = getattr(function, "py_func", function)
    name = f"{getattr(python, '__module__', '')}.{getattr(python, '__qualname__', '')}"
    return " ".join([name, *map(str, sizes)])


def library_call(key: str) -> LibraryLaw | None:
    """The compiled call of a law of the library by its name (`law_key`); None if it is not there."""
    library = choice().library
    address = 0 if library is None else library.LAWS.get(key, 0)
    if not address or not _laws_are_present():
        return None
    pointer = ctypes.POINTER(ctypes.c_double)
    return LibraryLaw(ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[pointer] * 4)(address))


def share_loops(workspace: Any, loops: tuple[str, ...], threads: int) -> None:
    """Let several threads share the loops of a workspace (flexmb/kernels/base/sharing.py), if the library is used."""
    library = choice().library
    if library is None or not library.SHARE:
        return
    workspace.shared[:, 0] = [library.ENTRIES[name] for name in loops]
    workspace.pool[:] = library.SHARE, threads


@cache
def _laws_are_present() -> bool:
    """Whether the library holds the laws of the present sources."""
    try:
        return digest_of(law_files()) == choice().library.LAW_SOURCES
    except OSError:
        return False
