"""Solutions stored in a directory, so that an interrupted run can resume: a factor is computed again only when a
solution is missing.

A repeated computation has the same right-hand sides in the same order; a stored solution is found by its right-hand
side, bit by bit. The methods of this package are deterministic (fixed seeds, one thread in their dense algebra), so a
repeated run finds all solutions of the first. Disk: 8 bytes for each number of every solution (16 for complex ones).

Processes of an MPI run that solve together read what all of them have, and compute together what one lacks.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.protocol import Factorisation
from fem.linear_algebra.factorisations.record import FactorRecord
from fem.linear_algebra.factorisations.storage import raise_first
from fem.user_files import owner, real_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RECORD = "record.json"
HELD = ".in-use"
"""A file that each process locks while it uses the directory."""
_held: dict[Path, int] = {}
DIRECTORY = re.compile(r"[a-z-]+-[0-9a-f]{32}")


def alone(text: str) -> list[str]:
    """What all processes tell where there is one."""
    return [text]


class SolutionCache:
    """Stored solutions with one matrix; `record` is that of its factor. `gather` returns what all processes that solve
    together tell, given what this one tells."""

    def __init__(
        self, directory: Path, make: Callable[[], Factorisation], gather: Callable[[str], list[str]] = alone
    ) -> None:
        self._directory, self._make, self._gather = directory, make, gather
        self._made: Factorisation | None = None
        file = directory / RECORD
        known = _stored_record(file)
        everywhere = self._everywhere(known)
        if known is not None and everywhere:
            self.record = known
            return
        self.record = self._factorise().record
        self._write(file, lambda opened: opened.write(json.dumps(asdict(self.record)).encode()))

    def _everywhere(self, found: object) -> bool:
        """Whether all processes have found what they looked for."""
        return all(self._gather("" if found is None else "found"))

    def _write(self, file: Path, write: Callable[..., object]) -> None:
        raise_first(self._gather(_write(file, write)))

    def _factorise(self) -> Factorisation:
        if self._made is None:
            self._made = self._make()
        return self._made

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B: read from the directory, or solved and stored."""
        file = self._directory / f"{_digest(B)}.npy"
        stored = _stored_solution(file, B.shape)
        everywhere = self._everywhere(stored)
        if stored is not None and everywhere:
            return stored
        X = self._factorise().solve(B)
        self._write(file, lambda opened: np.save(opened, X))
        return X

    def release(self) -> None:
        """Release the factor; the directory remains."""
        if self._made is not None:
            self._made.release()
            self._made = None


def _stored_record(file: Path) -> FactorRecord | None:
    try:
        known = json.loads(file.read_text())
        inertia = known.pop("inertia")
        return FactorRecord(**known, inertia=None if inertia is None else tuple(inertia))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # there is none, or it is damaged
        return None


def _stored_solution(file: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    if file.exists():
        with suppress(OSError, ValueError, EOFError):  # damaged: solved again
            X = np.load(file, allow_pickle=False)
            if X.shape == shape and np.isfinite(X).all():
                return np.asarray(X)
    return None


def cache_directory(matrix: PreparedMatrix, place: str | Path, gather: Callable[[str], list[str]] = alone) -> Path:
    """Make the directory of a matrix within `place` and return it. `gather`: see `SolutionCache`."""
    part, problem = matrix.part, ""
    directory = Path(place) / f"{matrix.kind}-{_digest(part.indptr, part.indices, part.data)}"
    try:
        real_path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = (
            f"Solutions cannot be kept in {place}: {error}. Name another directory: SolverOptions(checkpoint=...)."
        )
    raise_first(gather(problem))
    _hold(Path(place))
    return directory


def _hold(place: Path) -> None:
    """Mark the directory as used by this process, so that another that ends first does not remove it."""
    if fcntl is None or place.resolve() in _held:
        return
    with suppress(OSError):  # a file system without locks
        file = os.open(place / HELD, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        _held[place.resolve()] = file


def _free(place: Path) -> bool:
    """Whether no other process uses the directory; this one does not any more."""
    if (held := _held.pop(place.resolve(), None)) is not None:
        os.close(held)
    if fcntl is None or not (place / HELD).exists():
        return True
    try:
        with (place / HELD).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (place / HELD).unlink(missing_ok=True)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def clear_cache(place: str | Path) -> None:
    """Remove what `cache_directory` made within `place`, and `place` itself where nothing else is in it; nothing while
    another process uses it."""
    place = Path(place)
    if not place.is_dir() or not _free(place):
        return
    for directory in place.iterdir():
        if DIRECTORY.fullmatch(directory.name) and (directory / RECORD).exists():
            shutil.rmtree(directory, ignore_errors=True)
    if not any(place.iterdir()):
        place.rmdir()


def _digest(*arrays: np.ndarray) -> str:
    made = hashlib.blake2b(digest_size=16)
    for array in arrays:
        made.update(str((array.shape, array.dtype)).encode())
        made.update(np.ascontiguousarray(array.T).data)
    return made.hexdigest()


def _write(file: Path, write: Callable[..., object]) -> str:
    """A file that is there whole or not at all; the text of the error, or ""."""
    unfinished = file.with_suffix(f".{owner()}")
    try:
        with unfinished.open("wb") as opened:
            write(opened)
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        return (
            f"A solution could not be kept in {file.parent}: {error}. Free space there, or name another directory: "
            "SolverOptions(checkpoint=...). What was kept before stays."
        )
    return ""
