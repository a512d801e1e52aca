"""A picture of a validation case: curves over a common axis, ours beside the reference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from validation.row import Row


@dataclass(frozen=True)
class Plot:
    """`lines`: name -> abscissae (n,) and ordinates (n,); those whose name begins with "reference" are drawn as such, those of few points with marks. `logarithmic`: the axes that are, of "xy"."""

    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[np.ndarray, np.ndarray]]
    logarithmic: str = ""


def rows_of(found: Iterable[Row | Plot]) -> list[Row]:
    """The rows among what a case returns."""
    return [item for item in found if isinstance(item, Row)]
