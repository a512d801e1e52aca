"""What a number is, and how large the numbers of a place or a direction may be."""

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LARGEST = 1e100
"""Largest coordinate: volumes, products of three, must be finite."""


def is_number(value: Any) -> bool:
    """Whether a value is one finite real number, also as an array without dimensions; texts and complex numbers are
    none."""
    if isinstance(value, np.ndarray | np.generic):
        return value.ndim == 0 and value.dtype.kind in "biuf" and bool(np.isfinite(value))
    try:
        return isinstance(value, Real) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, which True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def are_numbers(value: Any) -> bool:
    """Whether all entries of an array or of nested lists of any shape are numbers, also those that are not finite."""
    return floats(value).shape == as_array(value).shape


def floats(value: Any) -> np.ndarray:
    """A list of numbers as an array, which is empty for what is none, such as texts, also of digits, complex numbers
    and lists of different lengths."""
    try:
        kind = np.asarray(value).dtype.kind
        return np.array(value, dtype=float) if kind in "biufO" else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def as_array(value: Any) -> np.ndarray:
    """A list of whatever values as an array; of objects where its rows have different lengths."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return np.empty((0, 0, 0), dtype=object)


def within_limits(numbers: ArrayLike) -> bool:
    """Whether all numbers of a place or a direction are finite and at most `LARGEST`.

    The length of a larger direction overflows, and a vector divided by it is zero.
    """
    return bool((np.abs(np.asarray(numbers, dtype=float)) <= LARGEST).all())


def scaled(direction: np.ndarray) -> np.ndarray:
    """The same direction with numbers of at most one, so that products of several do not overflow or vanish.

    Numbers are divided by a power of two, which rounds none of them.
    """
    return np.asarray(np.ldexp(direction, -int(np.frexp(np.abs(direction).max(initial=0.0))[1])))
