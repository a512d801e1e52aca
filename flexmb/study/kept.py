"""Outcomes kept in a file as they come: what a study that was stopped or killed goes on from.

One JSON object a line, flushed to the disk before the next; a line that was cut off by the end of its process is not read. Failed variants are not kept: they are tried again.
"""

import json
import os
from pathlib import Path
from typing import Any

from flexmb.study.parameters import Parameters, StudyError, key_of


class KeptOutcomes:
    """The outcomes of one study in a file. `identity`: what the study is about; a file of another one is refused."""

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self._path = Path(path)
        self._known: dict[str, dict[str, float]] = {}
        told = json.dumps(identity, sort_keys=True, default=str)
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
            if not lines:
                self._append(told, "w")
                return
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(f"Outcomes cannot be kept in {self._path}: {error}. Name another file: keep=...") from None
        if lines[0] != told:
            raise StudyError(
                f"{self._path} keeps the outcomes of another study: {lines[0][:200]}; this one is {told[:200]}. Name another file, or remove that one."
            )
        for line in lines[1:]:
            try:
                row = json.loads(line)
                self._known[row["variant"]] = row["outcome"]
            except (json.JSONDecodeError, KeyError, TypeError):
                continue  # cut off

    def get(self, variant: Parameters) -> dict[str, float] | None:
        """The outcome of a variant, if it is there."""
        return self._known.get(key_of(variant))

    def put(self, variant: Parameters, outcome: dict[str, float]) -> None:
        """Keep an outcome; it is on the disk when this returns."""
        key = key_of(variant)
        self._known[key] = outcome
        try:
            self._append(json.dumps({"variant": key, "outcome": outcome}), "a")
        except OSError as error:
            raise StudyError(
                f"An outcome cannot be written to {self._path}: {error.strerror}. What was kept before stays: make room and start again."
            ) from None

    def _append(self, line: str, mode: str) -> None:
        with self._path.open(mode, encoding="utf-8") as file:
            file.write(f"\n{line}" if mode == "a" else line)
            file.flush()
            os.fsync(file.fileno())
