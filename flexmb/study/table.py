"""`Study`: the parameters and outcomes of many variants."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.shown import shown
from fem.user_files import written_whole
from flexmb.errors import StudyError
from flexmb.study.parameters import Parameters

SHOWN = 12
"""Largest number of rows of a study that are printed."""


@dataclass(frozen=True)
class Row:
    """One variant: its parameters, and its outcome (numbers by name) or its error."""

    parameters: Parameters
    outcome: dict[str, float] | None
    error: str | None = None


@shown
@dataclass(frozen=True, eq=False)
class Study:
    """The table of a study, with one row for each variant in the order of the parameters."""

    rows: tuple[Row, ...]

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows of variants without an outcome; each contains its error."""
        return tuple(row for row in self.rows if row.outcome is None)

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return list(self.rows[0].parameters)

    @property
    def measures(self) -> list[str]:
        """The names of the measures, of all variants."""
        return list(dict.fromkeys(name for row in self.rows for name in row.outcome or {}))

    def parameter(self, name: str) -> list[Any]:
        """The values of a parameter. Raises `StudyError` for an unknown name."""
        if name not in self.parameters:
            raise StudyError(unknown_name("parameter", name, self.parameters))
        return [row.parameters[name] for row in self.rows]

    def measure(self, name: str) -> Float[np.ndarray, "n"]:
        """The values (n,) of a measure, NaN where a variant failed or lacks it.

        Raises `StudyError` if it is unknown.
        """
        if name not in self.measures:
            raise StudyError(unknown_name("measure", name, self.measures))
        return np.array([(row.outcome or {}).get(name, np.nan) for row in self.rows])

    @property
    def columns(self) -> dict[str, Any]:
        """All columns by name, parameters first and `error` last, as `pandas.DataFrame` takes them."""
        made: dict[str, Any] = {name: self.parameter(name) for name in self.parameters}
        made |= {name: self.measure(name) for name in self.measures}
        return made | {"error": [row.error or "" for row in self.rows]}

    def write_csv(self, path: str | Path) -> Path:
        """Write the table as a CSV file with all digits; return the path. Raises `StudyError` if that fails."""
        path, columns = Path(path), self.columns
        try:
            with written_whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
                table = csv.writer(file)
                table.writerow(columns)
                table.writerows(zip(*columns.values(), strict=True))
        except OSError as error:
            raise StudyError(f"The table of a study cannot be written to {path}: {error.strerror}.") from None
        return path

    def __str__(self) -> str:
        failed = self.failed
        lines = [f"{len(self.rows)} variants" + (f", {len(failed)} failed" if failed else "")]
        names = [*self.parameters, *self.measures]
        width = [max(len(name), 12) for name in names]
        lines.append("  ".join(f"{name:>{w}}" for name, w in zip(names, width, strict=True)))
        for row in self.rows[:SHOWN]:
            values = {**row.parameters, **(row.outcome or {})}
            told = "  ".join(f"{_told(values.get(name)):>{w}}" for name, w in zip(names, width, strict=True))
            lines.append(told + (f"  {row.error}" if row.error else ""))
        if len(self.rows) > SHOWN:
            lines.append(f"and {len(self.rows) - SHOWN} more")
        return "\n".join(lines)


def _told(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
