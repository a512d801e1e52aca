"""Values of the form `KEY=VALUES` on the command line."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexmb.errors import StudyError

MOST_VALUES = 10**6
"""Largest number of values of FIRST:LAST:COUNT."""
_KEY = re.compile(r"""((?>(?:^|(?<=[.,\s]))(?:"[^"]*"|'[^']*')|[^=])*?)=(.*)""", re.DOTALL)
"""A key, in which names may be in quotes, and what follows the equals sign."""


def values_of(text: str, option: str = "--vary") -> tuple[str, list[Any]]:
    """A key, or several with commas between them, and its values from `text`: numbers, booleans and texts between
    commas, or FIRST:LAST:COUNT.

    Raises `StudyError`, with the name of the `option`, when the text has another form.
    """
    found = _KEY.fullmatch(text)
    key, given = found.groups() if found else ("", "")
    if not key or not given:
        raise StudyError(f"{option} expects KEY=V1,V2,... or KEY=FIRST:LAST:COUNT; found {text!r}.")
    parts = given.split(":")
    if len(parts) == 3 and "," not in given:
        try:
            first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
        except ValueError:
            raise StudyError(f"{option} {text!r}: FIRST and LAST are numbers and COUNT is a whole number.") from None
        if not (np.isfinite([first, last]).all() and 1 <= count <= MOST_VALUES):
            raise StudyError(
                f"{option} {text!r}: FIRST and LAST are finite and COUNT is from 1 to {MOST_VALUES}; found {given!r}."
            )
        return key, np.linspace(first, last, count).tolist()
    if len(parts) == 2 and all(isinstance(_value(part.strip()), int | float) for part in parts):
        raise StudyError(f"{option} {text!r}: a range is FIRST:LAST:COUNT; the COUNT of values is missing.")
    return key, [_value(part.strip()) for part in given.split(",")]


def all_varied(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values of each key of several `texts`, as `values_of` reads them.

    Raises `StudyError` for a key that occurs twice, too.
    """
    varied: dict[str, list[Any]] = {}
    for text in texts:
        keys, values = values_of(text)
        if keys in varied:
            raise StudyError(f"--vary has {keys!r} twice. Give all of its values together: {keys}=V1,V2,...")
        varied[keys] = values
    return varied


def span_of(option: str, text: str, default: int) -> tuple[float, float, int]:
    """First value, last value and count from FIRST:LAST or FIRST:LAST:COUNT, where 0 < FIRST < LAST.

    Raises `StudyError`, with the name of the `option`, when the text has another form.
    """
    parts = text.split(":")
    try:
        first, last, count = float(parts[0]), float(parts[1]), int(parts[2]) if len(parts) == 3 else default
    except (ValueError, IndexError):
        first, last, count = 0.0, 0.0, 0
    if not (0 < first < last < np.inf and 1 < count <= MOST_VALUES and len(parts) < 4):
        raise StudyError(
            f"{option} expects FIRST:LAST or FIRST:LAST:COUNT with 0 < FIRST < LAST and a COUNT from 2 to "
            f"{MOST_VALUES}; found {text!r}."
        )
    return first, last, count


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
