"""Outcomes stored in a file when they are computed, from which an interrupted study resumes.

The file contains one JSON object in each line, flushed to the disk before the next one. Lines that are incomplete or
damaged are ignored. Failed variants are not stored, so that a resumed study repeats them, as well as variants that have
read a file which has changed since.
"""

import json
import os
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fem.user_files import real_path, text_of
from flexmb.errors import StudyError
from flexmb.study.parameters import Parameters, key_of
from flexmb.study.readings import unchanged

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class KeptOutcomes:
    """The outcomes of one study in a file.

    `identity`: digests that identify the study, by name. Raises `StudyError`, without changing the file, when the file
    belongs to another study or is no such file.
    """

    def __init__(self, path: str | Path, identity: dict[str, str]) -> None:
        self._path = Path(path)
        self._known: dict[str, dict[str, float]] = {}
        self._unlock: Callable[[], object] = _nothing_to_close
        self._lines()  # refuses what is no file before it is opened
        try:
            real_path(self._path)  # no name that a file cannot have
            self._lock()
            lines, first = self._lines(), json.dumps(identity, sort_keys=True)
            if not lines or (len(lines) == 1 and lines[0] != first and first.startswith(lines[0])):
                self._append(first, "w")  # of a part of this line: its process ended, or the disk was full
                return
        except OSError as error:
            raise StudyError(
                f"Outcomes cannot be stored in {self._path}: {error.strerror}. Name another file: checkpoint=..."
            ) from None
        if differing := _differing(lines[0], identity):
            raise StudyError(
                f"{self._path} contains the outcomes of another study: {differing}. Outcomes of both in one table "
                "would be wrong. Name another file, or remove that one."
            )
        found: dict[str, str] = {}
        for line in lines[1:]:
            try:
                row = json.loads(line)
                if row.pop("check") == _check(row) and unchanged(row["files"], found):
                    self._known[row["variant"]] = row["outcome"]
            except (ValueError, RecursionError, LookupError, TypeError, AttributeError, OSError):
                continue  # incomplete or damaged

    def close(self) -> None:
        """Let another study use the file."""
        self._unlock()

    def _lines(self) -> list[str]:
        return text_of(self._path, StudyError, "checkpoint").splitlines() if os.path.exists(self._path) else []

    def _lock(self) -> None:
        """Take the file, which is made if there is none. Raise `StudyError` if another study uses it: each would
        compute what the other does."""
        if fcntl is None:
            return
        file = os.open(self._path, os.O_RDONLY | os.O_CREAT, 0o666)
        self._unlock = weakref.finalize(self, os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._unlock()
            raise StudyError(
                f"Another study stores its outcomes in {self._path} now. Wait for its end, or name another file: "
                "checkpoint=..."
            ) from None
        except OSError:  # a file system without locks
            pass

    def get(self, variant: Parameters) -> dict[str, float] | None:
        """The stored outcome of a variant, or None."""
        return self._known.get(key_of(variant))

    def put(self, variant: Parameters, outcome: dict[str, float], files: dict[str, str] | None = None) -> None:
        """Store an outcome, with the digests of the files that it depends on; it is on the disk when this returns."""
        key = key_of(variant)
        self._known[key] = outcome
        try:
            row = {"variant": key, "outcome": outcome, "files": files or {}}
            self._append(json.dumps(row | {"check": _check(row)}), "a")
        except OSError as error:
            raise StudyError(
                f"An outcome cannot be written to {self._path}: {error.strerror}. The outcomes stored before remain: "
                "free disk space and start again."
            ) from None

    def _append(self, line: str, mode: str) -> None:
        with self._path.open(mode, encoding="utf-8") as file:
            file.write(f"\n{line}" if mode == "a" else line)
            file.flush()
            os.fsync(file.fileno())


def _nothing_to_close() -> None:
    """Where no lock is held."""


def _check(row: dict[str, Any]) -> int:
    """The check that reveals a damaged row."""
    return zlib.crc32(json.dumps(row, sort_keys=True).encode())


def _differing(line: str, identity: dict[str, str]) -> str:
    """The parts of a study that differ from those in the first line of a file; empty when it is the same study."""
    try:
        there = json.loads(line)
    except json.JSONDecodeError:
        there = None
    if not isinstance(there, dict) or set(there) != set(identity):
        return "its first line is not the identity of a study of this version"
    names = [name for name in identity if there[name] != identity[name]]
    return f"{', '.join(names)} {'differs' if len(names) == 1 else 'differ'}" if names else ""
