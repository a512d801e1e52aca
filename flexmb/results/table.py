"""Named columns of numbers as tables of pandas, polars and xarray, and as text with a header and units."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fem.user_files import written_whole
from flexmb.errors import FileError
from flexmb.units import unit_of

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray


class Column(NamedTuple):
    """Values (nt,) and what they measure, a key of `flexmb.units.DIMENSIONS`."""

    values: np.ndarray
    dimension: str


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
    named = {f"{name} [{unit_of(column.dimension, units)}]": column.values for name, column in table.items()}
    return write_numbers(named, path)


def write_numbers(columns: Mapping[str, np.ndarray], path: str | Path) -> Path:
    """Write a CSV file of named columns (nt,) with all digits; the path. Names that contain commas are quoted.

    Raises `FileError` when the file cannot be written.
    """
    path = Path(path)
    try:
        with written_whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(columns)
            np.savetxt(file, np.column_stack([*columns.values()]), delimiter=",", fmt="%.17g")
    except OSError as error:
        raise FileError(f"Cannot write the table {path}: {error}.") from None
    return path
