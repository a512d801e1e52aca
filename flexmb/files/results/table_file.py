"""Results as tables in files, and in pandas and xarray."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexmb.errors import FileError
from flexmb.results.result import Result

if TYPE_CHECKING:
    import pandas
    import xarray


def columns(result: Result) -> dict[str, np.ndarray]:
    """The quantities of a result as named columns (nt,), in consistent units and world axes; see `Result.columns`."""
    return {name: column.values for name, column in result.columns().items()}


def data_frame(result: Result) -> "pandas.DataFrame":
    """The same as `result.to_dataframe()`. Raises `FileError` if pandas is not installed."""
    return result.to_dataframe()


def dataset(result: Result) -> "xarray.Dataset":
    """The same as `result.to_xarray()`. Raises `FileError` if xarray is not installed."""
    return result.to_xarray()


def write_table(result: Result, path: str | Path, measures: Sequence[str] = (), *, units: str | None = None) -> Path:
    """Write `result.columns(measures)` as `.csv`, or as `.parquet` with pandas and pyarrow; return the path.

    The header row of a CSV file has units behind the names; `units` is as of `Result.to_dataframe`. Raises `FileError`
    for another ending, when pandas or pyarrow is missing, or when the file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".csv":
        return result.to_csv(path, measures, units=units)
    if path.suffix != ".parquet":
        raise FileError(f"A table is written as .csv or .parquet; found {path.name!r}.")
    try:
        result.to_dataframe(measures, units=units).reset_index().to_parquet(path)
    except ImportError as error:
        raise FileError(f"Parquet files need pandas and pyarrow (pip install pandas pyarrow): {error}.") from None
    except OSError as error:
        raise FileError(f"Cannot write the table {path}: {error}.") from None
    return path
