"""Points of tables: checks that they are a function, and their columns in text files."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from fem.axes.limits import are_numbers, floats, is_whole
from fem.errors import unknown_name
from fem.user_files import LARGEST_MODEL, text_of
from flexmb.errors import TableError
from flexmb.units import NEUTRAL, unit_of, unit_ratio

OUTSIDE = ("error", "hold", "extrapolate")
"""What a table does outside its range: raise an error, keep the value at the end, or continue with the slope there."""
DELIMITERS = (";", "\t", ",")
TITLES = 2
"""Largest number of rows with titles and units."""
DEGREES = re.compile(r"(deg|degrees?|°)( ?/ ?\w+)?")
"""Units of angles and their rates that are not radians."""
UNIT = re.compile(r"\[([^\]]*)\]\s*$|\s\(([^)]*)\)\s*$")
"""The unit at the end of a title, in brackets."""
WORD = re.compile(r"[^\s\[(]*\s*\[[^\]]*\]|\S+")
"""A number or a title between blanks, with its unit: "travel [mm]"."""
SAME = 1e-9
"""Difference, relative to the range, below which the two ends of a periodic table coincide."""


class Columns(NamedTuple):
    """Numbers (n, c) of a text file, the number of the line of each row, and the titles (c) and the words of the second
    row of titles, such as units, (c) of the columns or none."""

    numbers: np.ndarray
    lines: tuple[int, ...]
    titles: tuple[str, ...]
    units: tuple[str, ...]

    def title(self, index: int) -> str:
        """The title of a column with its unit in brackets, as far as they are known."""
        title = self.titles[index] if self.titles else ""
        return f"{title} [{self.units[index].strip('[]() ')}]" if self.units and not UNIT.search(title) else title


def checked_axis(values: object, name: str, what: str, places: Sequence[str] | None = None) -> np.ndarray:
    """The arguments (n,) of a table as floats.

    `places` names them in messages, such as "line 3". Raises `TableError` unless there are at least two, all finite and
    strictly increasing.
    """
    axis = floats(values)
    if not are_numbers(values):
        raise TableError(f"{what}: expected numbers {name}; found {values!r}.")
    if axis.ndim != 1 or len(axis) < 2:
        raise TableError(f"{what}: expected at least two numbers {name}; found an array of shape {axis.shape}.")
    places = places or [f"point {k + 1}" for k in range(len(axis))]
    for k in np.flatnonzero(~np.isfinite(axis))[:1]:
        raise TableError(f"{what}, {places[k]}: expected a finite number {name}; found {axis[k]}.")
    for k in np.flatnonzero(np.diff(axis) <= 0)[:1]:
        sort = "is repeated" if axis[k + 1] == axis[k] else f"follows {axis[k]:g}"
        raise TableError(
            f"{what}, {places[k + 1]}: expected increasing numbers {name}, each with one value; found {axis[k + 1]:g}, "
            f"which {sort}."
        )
    return axis


def require_finite(values: np.ndarray, shape: tuple[int, ...], what: str, places: Sequence[str] | None = None) -> None:
    """Raises `TableError` unless the values of a table have the shape of its arguments and are finite."""
    if values.shape != shape:
        raise TableError(f"{what}: expected as many values as arguments, {shape}; found {values.shape}.")
    for where in np.argwhere(~np.isfinite(values))[:1]:
        place = places[where[0]] if places else f"point {', '.join(str(k + 1) for k in where)}"
        raise TableError(f"{what}, {place}: expected a finite value; found {values[tuple(where)]}.")


def monotone(x: np.ndarray, y: np.ndarray, what: str, axis: int = 0) -> "scipy.interpolate.PchipInterpolator":
    """The piecewise cubic through points that does not overshoot. Raises `TableError` where it overflows."""
    try:
        with np.errstate(all="ignore"):
            found = scipy.interpolate.PchipInterpolator(x, y, axis=axis)
        if np.isfinite(found.c).all():
            return found
    except (ValueError, ArithmeticError):
        pass
    raise TableError(
        f"{what}: the curve through the points is not finite; they are at least {np.diff(x).min():.4g} apart, and "
        f"their values are from {y.min():.4g} to {y.max():.4g}. Use other units."
    )


def require_choice(value: str, choices: Sequence[str], sort: str, what: str) -> None:
    """Raises `TableError` unless `value` is one of the `choices`."""
    if value not in choices:
        raise TableError(f"{what}: {unknown_name(sort, value, choices)}")


def read_columns(path: str | Path) -> Columns:
    """The columns of numbers of a text file.

    Columns are separated by semicolons, tabs, commas or blanks; with the first two, numbers may have decimal commas. Up
    to two rows with titles and units may precede the numbers. Empty lines, and what follows a `#`, are skipped; without
    other titles, lines that begin with it are titles if they precede the numbers and have a word for each column, as
    `numpy.savetxt` writes them. Raises `TableError`, with the line, when the file cannot be read or a row is not as
    many numbers as the first.
    """
    text = text_of(Path(path), TableError, "table", LARGEST_MODEL)
    numbers: list[list[float]] = []
    lines: list[int] = []
    titles: list[list[str]] = []
    remarks: list[list[str]] = []
    for k, row in enumerate(text.splitlines(), 1):
        line, _, remark = (part.strip() for part in row.partition("#"))
        if not line:
            if remark and not numbers:
                remarks.append(_words(remark)[0])
            continue
        words, delimiter = _words(line)
        found = [_number(word, decimal_comma=delimiter in (";", "\t")) for word in words]
        if not numbers and len(titles) < TITLES and all(x is None for x in found):
            titles.append(words)
        elif None in found or (numbers and len(found) != len(numbers[0])):
            count = f"{len(numbers[0])} numbers" if numbers else "numbers, or a row of titles"
            raise TableError(f"The table {path}, line {k}: expected {count}; found {line!r}.")
        else:
            numbers.append([x for x in found if x is not None])
            lines.append(k)
    if not numbers:
        raise TableError(f"The table {path}: expected rows of numbers; found none.")
    titles = titles or [words for words in remarks if len(words) == len(numbers[0])][-TITLES:]
    first, second = (row if len(row) == len(numbers[0]) else [] for row in (*titles, [], [])[:TITLES])
    return Columns(np.array(numbers), tuple(lines), tuple(first), tuple(second))


def _words(line: str) -> tuple[list[str], str | None]:
    """The words of a line, and what separates them: none for blanks."""
    delimiter = next((d for d in DELIMITERS if d in line), None)
    words = line.split(delimiter) if delimiter else WORD.findall(line)
    return [word.strip().strip('"') for word in words], delimiter


def require_radians(title: str, what: str) -> None:
    """Raises `TableError` for a column in degrees, or degrees per unit of time, by its title or unit."""
    unit = re.split(r"[\[(]", title)[-1].strip(" ])").lower()
    if DEGREES.fullmatch(unit):
        raise TableError(
            f"{what}, column {title!r}: expected angles in radians, as everywhere; found degrees. Multiply the column, "
            "and a period along it, by pi / 180, and change the unit in its title."
        )


def require_unit(title: str, dimension: str, units: str | None, what: str, scale: float | None = None) -> None:
    """Raise `TableError` where the unit in the title of a column is not that of a dimension in a system of units.

    Nothing is known, and accepted, of a title without a unit in brackets, with words there that are no unit, or of a
    system with other units; without a system, units of another quantity, and turns, are refused. `scale`: the factor of
    the column, which may be that of the unit.
    """
    unit, ratio = _unit_in(title, dimension, units)
    if ratio is None or math.isclose(ratio, 1.0, rel_tol=SAME):
        return
    if scale is not None and math.isclose(abs(scale), ratio, rel_tol=SAME):
        return
    own = NEUTRAL.get(dimension, "") if units is None else unit_of(dimension, units)
    expected = f"{what}, column {title!r}: expected the unit of {dimension} of the system{own and ', '}{own}"
    if ratio == 0.0:
        raise TableError(
            f"{expected}; found {unit}, which measures something else. Choose another column, or correct it."
        )
    scaled = "" if scale is None else f", or give scale={math.copysign(ratio, scale):.9g}"
    raise TableError(
        f"{expected}, because units are not converted; found {unit}. Multiply the column"
        f"{'' if scale is not None else ' (and a period along it)'} by {ratio:.9g} and change the unit in its "
        f"title{scaled}."
    )


def other_quantity(title: str, dimension: str) -> bool:
    """Whether the title of a column has a unit in brackets of another quantity than the `dimension`."""
    return _unit_in(title, dimension, "SI")[1] == 0.0


def _unit_in(title: str, dimension: str, units: str | None) -> tuple[str, float | None]:
    """The unit in brackets in the title of a column, and its ratio to that of a dimension in a system of units: zero if
    it measures something else, None if nothing is known."""
    found = UNIT.search(title)
    unit = "" if found is None else found[1] or found[2] or ""
    return unit, None if found is None else unit_ratio(unit, dimension, units)


def _number(word: str, *, decimal_comma: bool) -> float | None:
    try:
        return float(word.replace(",", ".") if decimal_comma else word)
    except ValueError:
        return None


def two_columns(columns: Columns, chosen: tuple[int | str, int | str], path: str | Path) -> tuple[int, int]:
    """The indices of the columns of `x` and `y`; errors as of `column_index`, and when not two are chosen."""
    if not isinstance(chosen, Sequence) or isinstance(chosen, str) or len(chosen) != 2:
        raise TableError(f"The table {path}: expected two columns, of x and of y; found columns={chosen!r}.")
    return column_index(columns, chosen[0], path), column_index(columns, chosen[1], path)


def column_index(columns: Columns, column: int | str, path: str | Path) -> int:
    """The index of a column given by its number, from 0, or by its title, with or without its unit in brackets.

    Raises `TableError` when there is none, or when it is in degrees.
    """
    index = _index(columns, column, path)
    for words in (columns.titles, columns.units):
        if words:
            require_radians(words[index], f"The table {path}")
    return index


def require_no_turns(title: str, what: str) -> None:
    """Raise `TableError` for a column in turns, or turns per unit of time, by its title."""
    for dimension in ("angle", "angular velocity"):
        if _unit_in(title, dimension, None)[1]:
            require_unit(title, dimension, None, what)


def _index(columns: Columns, column: int | str, path: str | Path) -> int:
    count = columns.numbers.shape[1]
    if isinstance(column, str):
        plain = [title.partition("[")[0].strip() for title in columns.titles]
        if column in columns.titles or column in plain:
            return columns.titles.index(column) if column in columns.titles else plain.index(column)
        raise TableError(f"The table {path}: {unknown_name('column', column, columns.titles)}")
    if not is_whole(column) or not 0 <= column < count:
        raise TableError(f"The table {path}: expected a column from 0 to {count - 1}; found {column!r}.")
    return column
