"""Memory budgets of factors, and private directories for factors on disk.

Each out-of-core factor has a directory of its own (the solver libraries fix the file names inside), named after the
machine and the process and removed when the factor is released or deleted or the program ends. Directories of killed
processes of this machine are removed by the next factor in the same place; several hosts may share it.
"""

import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil

from fem.errors import FactorisationError, MatrixError
from fem.renamed import renamed
from fem.user_files import owner, remove_orphaned_folders

T = TypeVar("T")
PREFIX = "flexmb-factor-"
MEGABYTE = 2**20
ALL_MEMORY = 0.9
"""Without a budget a factor goes out of core when the process would take more than this part of the machine's
memory."""


@renamed(resume="checkpoint")
@dataclass(frozen=True)
class SolverOptions:
    """How matrices are factorised.

    - `memory`: budget of the whole process, bytes or text ("4GiB", "800MB"); a factor that would exceed it goes to
      disk. None: nine tenths of the machine's memory.
    - `backend`: "auto", "pardiso", "mumps", "superlu" or "petsc" (see `fem.linear_algebra.factor.factor`).
    - `scratch`: directory for factors on disk; None: the FLEXMB_SCRATCH variable, or the system's temporary directory.
    - `checkpoint`: directory where solutions are stored; an interrupted run that is started again resumes from them.
      Remove it when the work is done.
    """

    memory: int | str | None = None
    backend: str = "auto"
    scratch: str | Path | None = None
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        _ = self.budget

    @property
    def budget(self) -> int:
        """Bytes that the process may take. Raises `MatrixError` when `memory` is no size."""
        if self.memory is None:
            return int(ALL_MEMORY * psutil.virtual_memory().total)
        from pydantic import ByteSize, TypeAdapter, ValidationError  # a fifth of the import of flexmb

        try:
            size = int(TypeAdapter(ByteSize).validate_python(self.memory))
        except ValidationError:
            size = 0
        if size <= 0:
            raise MatrixError(
                f'A memory budget is a number of bytes or a text like "4GiB" or "800MB"; found {self.memory!r}.'
            )
        return size

    @property
    def place(self) -> Path:
        """The directory for factors on disk."""
        return Path(self.scratch or os.environ.get("FLEXMB_SCRATCH") or tempfile.gettempdir())


GROWTH = 1.25
"""From one trial of a working memory to the next."""
SLACK = 0.05
"""Part of the budget by which a factorisation may exceed it rather than be refused."""


def return_free_memory() -> None:
    """Return memory that Python and NumPy have freed to the system. glibc retains much of it otherwise, and the budget
    of the solver libraries lacks it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def resident() -> int:
    """Resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def private_directory(solver: SolverOptions, needed: int) -> tuple[Path, Callable[[], None]]:
    """A new directory with `needed` bytes free on its disk, and the function that removes it.

    Raises FactorisationError when the place cannot be written to, or has not enough space: nothing is left there then.
    """
    place = solver.place
    try:
        remove_orphaned_folders(place, PREFIX)
        free = shutil.disk_usage(place).free
        if free < needed:
            raise FactorisationError(
                f"The factor needs {readable(needed)} on disk, and {place} has {readable(free)} free. Free space "
                "there, or name another directory: SolverOptions(scratch=...) or the variable FLEXMB_SCRATCH."
            )
        directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}-", dir=place))
    except OSError as error:
        raise FactorisationError(
            f"Factors that do not fit the memory cannot be written to {place}: {error}. Name a directory that can be: "
            "SolverOptions(scratch=...)."
        ) from None
    return directory, partial(shutil.rmtree, directory, ignore_errors=True)


def raise_first(problems: list[str]) -> None:
    """Raise `FactorisationError` for the first problem of the processes of a run, each of which tells one or ""."""
    for rank, problem in enumerate(problems):
        if problem:
            raise FactorisationError(problem if len(problems) == 1 else f"Process {rank}: {problem}")


def working_memories(solver: SolverOptions, there: int, most: int) -> Iterator[int]:
    """Bytes to try for a factorisation out of core; `there`: what the process holds.

    Those beyond the budget find out what would work.
    """
    core = max(solver.budget - there, MEGABYTE)
    yield core
    core += int(SLACK * solver.budget)
    while core < most:
        yield core
        core = int(GROWTH * core)


def within(solver: SolverOptions, there: int, core: int) -> bool:
    """Whether the budget allows a working memory."""
    return core <= max(solver.budget - there, MEGABYTE) + int(SLACK * solver.budget)


def too_small(solver: SolverOptions, equations: int, there: int, core: int) -> FactorisationError:
    """The error for a budget in which a factorisation did not succeed, though it did with `core` bytes."""
    return FactorisationError(
        f"A memory budget of {readable(solver.budget)} is too small for this factorisation ({equations} equations): "
        f"the process holds {readable(there)} already. Give at least {readable(1.05 * (there + core))}."
    )


def readable(size: float) -> str:
    """A number of bytes as text with a unit."""
    from pydantic import ByteSize

    return ByteSize(int(size)).human_readable()


# working directories --------------------------------------------------------------------------------------------------

CLONE_FS = 0x200
"""Linux: what the threads of a process share about directories."""
_shared = threading.RLock()


def call_inside(directory: Path, function: Callable[[], T]) -> T:
    """The answer of `function`, called with `directory` as the working directory.

    On Linux a thread of its own calls it, and no other thread sees the change. Elsewhere, in containers that forbid
    this, and at the end of a program, the working directory of the whole process changes during the call.
    """
    answers: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        if not _own_directory():
            return
        try:
            os.chdir(directory)
            answers.append(function())
        except BaseException as error:  # raised again in the calling thread
            errors.append(error)

    with contextlib.suppress(RuntimeError):  # no new threads at the end of a program
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    if errors:
        raise errors[0]
    if answers:
        return answers[0]
    with _shared, contextlib.chdir(directory):
        return function()


def _own_directory() -> bool:
    """Whether the calling thread has a working directory of its own from now on."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return ctypes.CDLL(None).unshare(CLONE_FS) == 0
    except (OSError, AttributeError):
        return False
