"""A typed interface to MUMPS, the sparse direct solver of CERFACS, CNRS, ENS Lyon, INP Toulouse, Inria, Mumps
Technologies and the University of Bordeaux (licence: CeCILL-C, a licence like the LGPL).

The library is installed by a wheel (`casadi`, on Linux, macOS and Windows, for x86-64 and, but for Windows, ARM; real
numbers only), or by the system with its header (Debian: libmumps-seq-dev; real and complex numbers). The variable
FLEXMB_MUMPS names the folder of another one, with `lib` and `include`. Nothing is compiled, and of casadi only the
library is used. The structure through which MUMPS is called differs between its
versions: it is read from the header that is installed beside the library, and the version that MUMPS writes near the
end of the structure shows that both belong together.
Parameters, jobs and errors: users' guide of MUMPS 5; they are numbered from 1, as there.
"""

import ctypes
import os
import re
import sys
import sysconfig
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.matrix import PreparedMatrix

MILLION = 10**6
"""MUMPS's megabyte."""
START, END, ANALYSE, FACTORISE, SOLVE = -1, -2, 1, 2, 3
WORLD = -987654  # the communicator of all processes
ONE_AT_A_TIME = threading.RLock()
"""MUMPS keeps data of its own beside the structures, and must not be called by two threads at once. A factor that is
collected releases itself, which may happen between two statements of a call: hence a lock that its thread may enter
again."""
_TYPES = {"MUMPS_INT": ctypes.c_int32, "MUMPS_INT8": ctypes.c_int64, "char": ctypes.c_char}
_NUMBERS = {"d": ctypes.c_double, "z": 2 * ctypes.c_double}


@dataclass(frozen=True)
class Library:
    """MUMPS for numbers of one type: its `file`, `version`, the type of its structure, and its only function."""

    file: Path
    version: str
    structure: type[ctypes.Structure]
    function: "ctypes._NamedFuncPointer"

    def call(self, structure: ctypes.Structure, job: int) -> None:
        """Let MUMPS do a job. The interpreter lock is released meanwhile."""
        with ONE_AT_A_TIME:
            structure.job = job
            self.function(ctypes.byref(structure))


class Instance:
    """One matrix of MUMPS, from its analysis to the solutions: parameters `icntl` and `cntl`, results `infog` and
    `rinfog`, each an array whose entry k is the one that MUMPS's guide numbers k (entry 0 has no meaning)."""

    def __init__(self, library: Library, symmetric: bool) -> None:
        self.library, self.given = library, library.structure()
        self.given.sym, self.given.par, self.given.comm_fortran = 2 if symmetric else 0, 1, WORLD
        library.call(self.given, START)
        self.release = weakref.finalize(self, library.call, self.given, END)
        self.icntl, self.cntl, self.infog, self.rinfog = map(self._numbered, ("icntl", "cntl", "infog", "rinfog"))
        self.icntl[1:5] = -1, -1, -1, 0  # no printing

    def _numbered(self, name: str) -> np.ndarray:
        """The numbers of an array of the structure, and the one before: a view in which they count from 1."""
        field, inside = getattr(self.given, name), getattr(type(self.given), name)
        size = ctypes.sizeof(field._type_)
        address = ctypes.addressof(self.given) + inside.offset - size
        there = (field._type_ * (len(field) + 1)).from_address(address)
        return np.ctypeslib.as_array(there)

    def run(self, job: int) -> int:
        """Do a job; MUMPS's error code (0 or a positive warning: done)."""
        self.library.call(self.given, job)
        return int(self.infog[1])

    def point(self, name: str, array: np.ndarray) -> None:
        """Let a pointer of the structure show to the data of an array, which the caller keeps."""
        setattr(self.given, name, array.ctypes.data)


@cache
def library(letter: str) -> Library | None:
    """MUMPS for real ("d") or complex ("z") numbers; None where it is not installed."""
    for file, header in _candidates(letter):
        try:
            made = _opened(letter, file, header)
        except (OSError, AttributeError):  # of another machine, or without this function
            continue
        if made is not None:
            return made
    return None


def _candidates(letter: str) -> Iterator[tuple[Path, Path]]:
    """Libraries and their headers: in the folder FLEXMB_MUMPS, casadi's wheel, this environment, the system."""
    name, casadi = f"{letter}mumps", find_spec("casadi")
    roots = [Path(os.environ["FLEXMB_MUMPS"])] if "FLEXMB_MUMPS" in os.environ else []
    if casadi is not None and casadi.origin is not None:
        roots.append(Path(casadi.origin).parent)
    roots += map(Path, (sys.prefix, "/usr/local", "/opt/homebrew", "/usr"))
    for root in roots:
        headers = [file for depth in ("", "*/", "*/*/") for file in root.glob(f"include/{depth}{name}_c.h")]
        folders = [root, root / "lib", root / "lib64", root / f"lib/{sysconfig.get_config_var('MULTIARCH')}"]
        files = [file for folder in folders for file in sorted(folder.glob("*mumps*")) if _is_sequential(name, file)]
        yield from ((file, header) for header in headers for file in files)


def _is_sequential(name: str, file: Path) -> bool:
    """Whether a file is MUMPS without MPI, by its name: libcoinmumps.so.3, libdmumps_seq-5.5.so, libcoinmumps-3.dll."""
    return re.fullmatch(rf"lib(coinmumps|{name}_seq)[-.\d]*\.(so|dylib|dll)[.\d]*", file.name) is not None


def _opened(letter: str, file: Path, header: Path) -> Library | None:
    """The library, or None if it is not of the header's version."""
    text = header.read_text(errors="replace")
    version = re.search(r'define MUMPS_VERSION "([^"]*)"', text)
    if version is None:
        return None
    function = getattr(ctypes.CDLL(str(file)), f"{letter}mumps_c")
    function.argtypes, function.restype = [ctypes.c_void_p], None
    made = Library(file, version[1], _structure(letter, text), function)
    instance = Instance(made, symmetric=True)
    found = instance.given.version_number.decode(errors="replace").strip()
    instance.release()
    return made if found == made.version else None


def _structure(letter: str, header: str) -> type[ctypes.Structure]:
    """The structure that a header declares: integers, numbers, pointers, and arrays of them."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    constants = dict(re.findall(r"#define\s+(\w+)\s+(\d+)", header))
    (body,) = re.findall(r"typedef struct\s*\{(.*?)\}", header, flags=re.DOTALL)
    number = letter.upper() + "MUMPS_"
    types: dict[str, Any] = {**_TYPES, f"{number}REAL": ctypes.c_double, f"{number}COMPLEX": _NUMBERS[letter]}
    fields: list[tuple[str, Any]] = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = declaration.split(None, 1)
        for star, name, length in re.findall(r"(\*?)\s*(\w+)\s*(?:\[([^\]]*)\])?", names):
            if star:
                fields.append((name, ctypes.c_void_p))
            elif length:
                terms = (int(constants.get(term, term)) for term in re.findall(r"\w+", length))
                fields.append((name, types[kind] * sum(terms)))
            else:
                fields.append((name, types[kind]))
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})


def entries(count: int) -> int:
    """A count. MUMPS stores one that is too large for an integer as a negative number of millions."""
    return count if count >= 0 else -MILLION * count


def indefinite(matrix: PreparedMatrix, negative: int) -> str:
    """The explanation for a matrix that should be positive definite and is not."""
    return (
        f"The matrix is not positive definite: {negative} of its eigenvalues are negative. "
        f"{explain_singularity(matrix.whole(), None)}"
    )
