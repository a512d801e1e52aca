"""Outcomes kept in a file as they come: what a study that was stopped or killed goes on from.

One JSON object a line, flushed to the disk before the next; a line that was cut off by the end of its process or that is damaged, is not read. Failed variants are not kept: they are tried again.
So are those that read a file which has changed since.
"""

import json
import os
import zlib
from pathlib import Path
from typing import Any

from flexmb.errors import StudyError
from flexmb.study.parameters import Parameters, key_of
from flexmb.study.readings import unchanged


class KeptOutcomes:
    """The outcomes of one study in a file. `identity`: what the study is about, digests by name; a file of another one, or one that is no such file, is refused and left alone."""

    def __init__(self, path: str | Path, identity: dict[str, str]) -> None:
        self._path = Path(path)
        self._known: dict[str, dict[str, float]] = {}
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
            if not lines:
                self._append(json.dumps(identity, sort_keys=True), "w")
                return
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(
                f"Outcomes cannot be kept in {self._path}: {error}. Name another file: checkpoint=..."
            ) from None
        if differing := _differing(lines[0], identity):
            raise StudyError(
                f"{self._path} keeps the outcomes of another study: {differing}. Outcomes of both in one table would be wrong. Name another file, or remove that one."
            )
        found: dict[str, str] = {}
        for line in lines[1:]:
            try:
                row = json.loads(line)
                if row.pop("check") == _check(row) and unchanged(row["files"], found):
                    self._known[row["variant"]] = row["outcome"]
            except (json.JSONDecodeError, LookupError, TypeError, AttributeError):
                continue  # cut off, or damaged

    def get(self, variant: Parameters) -> dict[str, float] | None:
        """The outcome of a variant, if it is there."""
        return self._known.get(key_of(variant))

    def put(self, variant: Parameters, outcome: dict[str, float], files: dict[str, str] | None = None) -> None:
        """Keep an outcome, with the digests of the files that it depends on; it is on the disk when this returns."""
        key = key_of(variant)
        self._known[key] = outcome
        try:
            row = {"variant": key, "outcome": outcome, "files": files or {}}
            self._append(json.dumps(row | {"check": _check(row)}), "a")
        except OSError as error:
            raise StudyError(
                f"An outcome cannot be written to {self._path}: {error.strerror}. What was kept before stays: make room and start again."
            ) from None

    def _append(self, line: str, mode: str) -> None:
        with self._path.open(mode, encoding="utf-8") as file:
            file.write(f"\n{line}" if mode == "a" else line)
            file.flush()
            os.fsync(file.fileno())


def _check(row: dict[str, Any]) -> int:
    """By which a damaged row is known."""
    return zlib.crc32(json.dumps(row, sort_keys=True).encode())


def _differing(line: str, identity: dict[str, str]) -> str:
    """What of a study differs from the one that a file begins with; nothing when it is the same."""
    try:
        there = json.loads(line)
    except json.JSONDecodeError:
        there = None
    if not isinstance(there, dict) or set(there) != set(identity):
        return "it does not begin with what a study of this version is about"
    names = [name for name in identity if there[name] != identity[name]]
    return f"{', '.join(names)} {'differs' if len(names) == 1 else 'differ'}" if names else ""
