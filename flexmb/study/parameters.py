"""The parameters of the variants of a study."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from fem.axes.limits import is_number
from fem.renamed import refuse_old_names
from flexmb.errors import StudyError

Parameters = dict[str, Any]
MOST_VARIANTS = 10**6
"""Largest number of variants of a study."""
Progress = Callable[[float], None]
"""Called with the fraction that is done."""


def nothing(done: float) -> None:
    """Show no progress."""


def full_factorial(**values: Iterable[Any]) -> list[Parameters]:
    """One variant for every combination of the given values; the last name varies fastest.

    For example, `full_factorial(speed=[100, 200], damping=np.linspace(0, 0.02, 5))` returns ten variants. Raises
    `StudyError` for more than a million variants, and where the values of a parameter are no list.
    """
    for name, of_one in values.items():
        if isinstance(of_one, str) or not isinstance(of_one, Iterable) or getattr(of_one, "ndim", 1) == 0:
            raise StudyError(f"The parameter {name!r} needs a list of values; found {of_one!r}.")
    lists = [list(islice(of_one, MOST_VARIANTS + 1)) for of_one in values.values()]
    require_count(prod(map(len, lists)), "A study of all combinations")
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*lists)]


def require_count(count: int, what: str) -> None:
    """Raises `StudyError` for more than a million variants or values."""
    if count > MOST_VARIANTS:
        raise StudyError(f"{what} has {count:.4g} variants; at most {MOST_VARIANTS} are computed. Choose fewer values.")


def checked(parameters: Iterable[Mapping[str, Any]]) -> list[Parameters]:
    """The variants as plain dictionaries with the same names.

    Raises `StudyError` when there are none, or names differ.
    """
    variants = [dict(variant) for variant in islice(parameters, MOST_VARIANTS + 1)]
    require_count(len(variants), "The study")
    if not variants:
        raise StudyError("A study needs at least one variant; the parameters are empty.")
    names = set(variants[0])
    for number, variant in enumerate(variants):
        if set(variant) != names:
            raise StudyError(
                f"All variants must have the same parameters; the first has {sorted(names)}, number {number} has "
                f"{sorted(variant)}."
            )
    return variants


def checked_values(at: Mapping[str, Any]) -> dict[str, float]:
    """The parameters of a differentiation as numbers. Raises `StudyError` when there are none, or one is not finite."""
    if not isinstance(at, Mapping) or not at or not all(map(is_number, at.values())):
        raise StudyError(f"Sensitivities need parameters with finite values; found {at!r}.")
    return {name: float(value) for name, value in at.items()}


def key_of(variant: Parameters) -> str:
    """The text that identifies a variant in a study with a checkpoint. Raises `StudyError` for objects."""
    return json.dumps(variant, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise StudyError(
        "Parameters of a study with a checkpoint must be numbers, texts, or lists of them; found "
        f"{type(value).__name__}. Give a text or number that identifies the object, and make the object in the model "
        "function."
    )


refuse_old_names(__name__)
