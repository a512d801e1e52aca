"""Values of the form `KEY=VALUES` on the command line."""

import tomllib
from typing import Any

import numpy as np

from flexmb.errors import StudyError

MOST_VALUES = 10**6
"""Largest number of values of FIRST:LAST:COUNT."""


def values_of(text: str, option: str = "--vary") -> tuple[str, list[Any]]:
    """A key, or several with commas between them, and its values from `text`: numbers, booleans and texts between
    commas, or FIRST:LAST:COUNT.

    Raises `StudyError`, with the name of the `option`, when the text has another form.
    """
    key, equals, given = text.partition("=")
    if not equals or not key or not given:
        raise StudyError(f"{option} expects KEY=V1,V2,... or KEY=FIRST:LAST:COUNT; found {text!r}.")
    parts = given.split(":")
    if len(parts) == 3:
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
