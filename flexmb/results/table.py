"""Named columns of numbers as tables of pandas, polars and xarray, and as text with a header and units."""

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmb.errors import FileError

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray

NAMED = {
    "m-kg-s": {"force": "N", "moment": "N m", "energy": "J", "power": "W"},
    "mm-t-s": {"force": "N", "moment": "N mm", "energy": "mJ", "power": "mW"},
}
"""Units of force, moment, energy and power that have a name."""
DIMENSIONS = {
    "1": "1",
    "angle": "rad",
    "time": "{t}",
    "length": "{l}",
    "velocity": "{l}/{t}",
    "acceleration": "{l}/{t}^2",
    "angular velocity": "rad/{t}",
    "angular acceleration": "rad/{t}^2",
    "force": "{m} {l}/{t}^2",
    "moment": "{m} {l}^2/{t}^2",
    "energy": "{m} {l}^2/{t}^2",
    "power": "{m} {l}^2/{t}^3",
    "momentum": "{m} {l}/{t}",
    "angular momentum": "{m} {l}^2/{t}",
    "mass^0.5 length": "{m}^0.5 {l}",
}
"""What a column measures, and its unit in those of length, mass and time."""


class Column(NamedTuple):
    """Values (nt,) and what they measure, a key of `DIMENSIONS`."""

    values: np.ndarray
    dimension: str


def unit_of(dimension: str, units: str | None = None) -> str:
    """The unit of a dimension: its name in consistent units ("length"), or its symbol in `units` such as "mm-t-s".

    `units` names those of length, mass and time, with hyphens between; it labels, and converts nothing. Raises
    `FileError` when it has another form.
    """
    if units is None:
        return "rad" if dimension == "angle" else dimension
    parts = units.split("-")
    if len(parts) != 3 or not all(parts):
        raise FileError(
            'Units are those of length, mass and time with hyphens between, such as "mm-t-s" or "m-kg-s"; found '
            f"{units!r}."
        )
    known = NAMED.get(units, {}).get(dimension)
    return known or DIMENSIONS[dimension].format(**dict(zip("lmt", parts, strict=True)))


def as_pandas(table: Mapping[str, Column], index: str, units: str | None) -> "pandas.DataFrame":
    """A pandas table with the given index; `frame.attrs["units"]` holds the unit of each column."""
    try:
        import pandas
    except ImportError:
        raise FileError("A data frame needs pandas: pip install pandas.") from None
    frame = pandas.DataFrame({name: column.values for name, column in table.items()}).set_index(index)
    frame.attrs["units"] = {name: unit_of(column.dimension, units) for name, column in table.items()}
    return frame


def as_polars(table: Mapping[str, Column]) -> "polars.DataFrame":
    """A polars table; the index is one of its columns."""
    try:
        import polars
    except ImportError:
        raise FileError('library="polars" needs polars: pip install polars.') from None
    return polars.DataFrame({name: np.array(column.values) for name, column in table.items()})


def as_xarray(table: Mapping[str, Column], index: str, units: str | None) -> "xarray.Dataset":
    """An xarray dataset over the index; each variable has the attribute "units"."""
    try:
        import xarray
    except ImportError:
        raise FileError("A dataset needs xarray: pip install xarray.") from None
    found = {
        name: (index, np.asarray(column.values), {"units": unit_of(column.dimension, units)})
        for name, column in table.items()
    }
    return xarray.Dataset({k: v for k, v in found.items() if k != index}, coords={index: found[index]})


def write_columns(table: Mapping[str, Column], path: str | Path, units: str | None = None) -> Path:
    """Write a CSV file whose first row holds the names with their units, "rod.end position x [length]"; the path.

    Raises `FileError` when the file cannot be written.
    """
    path = Path(path)
    header = [f"{name} [{unit_of(column.dimension, units)}]" for name, column in table.items()]
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(header)
            np.savetxt(file, np.column_stack([c.values for c in table.values()]), delimiter=",", fmt="%.17g")
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FileError(f"Cannot write the table {path}: {error}.") from None
    return path
