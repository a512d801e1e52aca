"""A typed interface to PARDISO, the sparse direct solver of Intel oneMKL.

MKL is installed by a wheel (`mkl`, a dependency of `pypardiso`) or by a conda environment; the Python code of pypardiso
is not used. Parameter names and meanings: oneMKL Developer Reference, "pardiso" and "pardiso iparm Parameter".
Parameters are numbered from 1, as in that manual for Fortran.
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes.util import find_library
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
from jaxtyping import Int, Shaped

from fem.errors import FactorisationError
from fem.linear_algebra.threads import threads_for

ANALYSE, FACTORISE, SOLVE, RELEASE = 11, 22, 33, -1
TOO_LITTLE_CORE = -9
OUT_OF_CORE_PLACES = ("MKL_PARDISO_OOC_PATH", "MKL_PARDISO_OOC_CFG_PATH", "MKL_PARDISO_OOC_CFG_FILE_NAME")

IDLE = "KMP_BLOCKTIME"
"""Environment variable: milliseconds for which an idle thread spins."""

# what PARDISO's error code means, and what to do about it
ERRORS = {
    -1: "the input is inconsistent (a defect of this program: please report it with the matrix)",
    -2: "there is not enough memory. Free memory, use a coarser mesh, or split the part at interfaces and "
    "reduce the pieces",
    -3: "the fill-reducing ordering failed (a defect of MKL or of this program: please report it)",
    -4: "a pivot is zero: the matrix is singular",
    -5: "an internal error of MKL occurred. Another mkl version, or backend='superlu', may succeed",
    -6: "the ordering that puts large entries on the diagonal failed: the matrix is structurally singular or "
    "holds values too large or too small for it",
    -7: "a diagonal block is singular",
    -8: "a 32-bit count overflowed: the problem is too large for PARDISO. Use a coarser mesh, or "
    "split the part at interfaces and reduce the pieces",
    -9: "there is not enough memory for the largest block of an out-of-core factor. Raise the memory budget",
    -10: "the files of an out-of-core factor cannot be opened. Name a directory that can be written to: "
    "SolverOptions(scratch=...)",
    -11: "the files of an out-of-core factor cannot be read or written: the disk may be full. Name another directory: "
    "SolverOptions(scratch=...)",
    -13: "the call was interrupted",
}


def _candidates() -> list[str]:
    """Where libmkl_rt may be: a named file, the `mkl` wheel, the system's loader, this environment."""
    found = [os.environ["PYPARDISO_MKL_RT"]] if "PYPARDISO_MKL_RT" in os.environ else []
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError:
        files = []
    found += [str(Path(str(file.locate())).resolve()) for file in files if "mkl_rt" in file.name]
    found += [name for name in map(find_library, ("mkl_rt", "mkl_rt.2", "mkl_rt.1")) if name]
    for folder in ("lib", "Library/bin"):
        found += sorted(map(str, Path(sys.prefix, folder).glob("*mkl_rt*")), key=len)
    return [name for name in found if not name.endswith(".lib")]


@cache
def library() -> ctypes.CDLL | None:
    """MKL's single dynamic library with typed `pardiso` and `pardisoinit`; None where it is not installed."""
    for name in _candidates():
        try:
            mkl = ctypes.CDLL(name)
            pardiso, pardisoinit = mkl.pardiso, mkl.pardisoinit
            _start_threads(mkl)
        except (OSError, AttributeError):
            continue
        integer = ctypes.POINTER(ctypes.c_int32)
        pardiso.argtypes = [ctypes.c_void_p, *[integer] * 5, *[ctypes.c_void_p] * 4, integer, ctypes.c_void_p]
        pardiso.argtypes += [integer, ctypes.c_void_p, ctypes.c_void_p, integer]
        pardisoinit.argtypes = [ctypes.c_void_p, integer, ctypes.c_void_p]
        pardiso.restype = pardisoinit.restype = None
        return mkl
    return None


def _start_threads(mkl: ctypes.CDLL) -> None:
    """Let MKL's idle threads sleep at once: they would spin for 0.2 s, on cores that others need, after every call.

    The OpenMP library of MKL reads this from the environment when it starts.
    """
    given = os.environ.get(IDLE)
    os.environ.setdefault(IDLE, "0")
    mkl.MKL_Get_Max_Threads()
    if given is None:
        del os.environ[IDLE]


@contextmanager
def _threads(equations: int) -> Iterator[None]:
    """Within a `with`, MKL uses the threads that are worth it for a system of equations, in this thread of Python."""
    mkl = library()
    assert mkl is not None
    before = mkl.MKL_Set_Num_Threads_Local(threads_for(equations, mkl.MKL_Get_Max_Threads()))
    try:
        yield
    finally:
        mkl.MKL_Set_Num_Threads_Local(before)


def version() -> str:
    """Version of MKL, as the library states it."""
    mkl = library()
    assert mkl is not None  # a factor of PARDISO exists
    text = ctypes.create_string_buffer(200)
    mkl.mkl_get_version_string(text, len(text))
    found = re.search(r"Version ([\w.]+)", text.value.decode(errors="replace"))
    return found[1] if found else "of an unknown version"


def default_parameters(mtype: int) -> Int[np.ndarray, "64"]:
    """MKL's own parameter defaults for a matrix type, and parameter 1 set: all 64 are taken as given."""
    mkl = library()
    if mkl is None:
        raise FactorisationError("MKL is not installed: `pip install mkl` (x86-64 only), or use backend='mumps'.")
    handle, iparm = np.zeros(64, np.int64), np.zeros(64, np.int32)
    mkl.pardisoinit(handle.ctypes.data, ctypes.byref(ctypes.c_int32(mtype)), iparm.ctypes.data)
    iparm[0] = 1
    return iparm


@contextmanager
def out_of_core(megabytes: int) -> Iterator[None]:
    """Within a `with`, a factorisation limits its memory and writes to the working directory.

    PARDISO reads the limit from the environment. It can read the directory there, too, but oneMKL then ends the
    name in a buffer of some 1,000 bytes at byte 2,048: a zero somewhere in the memory of the process.
    """
    # The versions 2025 to 2026.2 of oneMKL do so.
    given = dict.fromkeys(OUT_OF_CORE_PLACES) | {
        "MKL_PARDISO_OOC_MAX_CORE_SIZE": str(megabytes),
        "MKL_PARDISO_OOC_MAX_SWAP_SIZE": "0",
    }
    before = {name: os.environ.get(name) for name in given}
    _set_environment(given)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def pardiso(
    handle: Int[np.ndarray, "64"],
    mtype: int,
    phase: int,
    n: int,
    iparm: Int[np.ndarray, "64"],
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    right_hand_sides: Shaped[np.ndarray, "n k"] | None = None,
    solution: Shaped[np.ndarray, "n k"] | None = None,
    marked: Int[np.ndarray, " equations"] | None = None,
) -> int:
    """One call of PARDISO; returns its error code (0: done).

    `matrix` is (values, row pointers, columns) of the compressed rows. The blocks are in Fortran order and
    of the matrix type's number type. `marked` (32 bits): 1 for the equations of a Schur complement, which PARDISO
    overwrites. The interpreter lock is released during the call. Threads: `fem.linear_algebra.threads`.
    """
    mkl = library()
    assert mkl is not None  # a handle exists only where default_parameters() succeeded
    error = ctypes.c_int32(0)
    columns = 1 if right_hand_sides is None else right_hand_sides.shape[1]
    values, pointers, indices = (None, None, None) if matrix is None else (x.ctypes.data for x in matrix)
    with _threads(n):
        mkl.pardiso(
            handle.ctypes.data,
            *(ctypes.byref(ctypes.c_int32(value)) for value in (1, 1, mtype, phase, n)),
            values,
            pointers,
            indices,
            None if marked is None else marked.ctypes.data,
            ctypes.byref(ctypes.c_int32(columns)),
            iparm.ctypes.data,
            ctypes.byref(ctypes.c_int32(0)),  # no printing
            None if right_hand_sides is None else right_hand_sides.ctypes.data,
            None if solution is None else solution.ctypes.data,
            ctypes.byref(error),
        )
    return error.value
