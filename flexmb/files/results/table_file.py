"""Results as tables for spreadsheets, pandas, xarray and other programs."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexmb.errors import FileError
from flexmb.mechanism.joints import JOINTS
from flexmb.results.result import Result

if TYPE_CHECKING:
    import pandas
    import xarray


def columns(result: Result) -> dict[str, np.ndarray]:
    """The quantities of a result as named columns (nt,), in consistent units and world axes.

    They are time, positions of the bodies' frames and interfaces, deflections, elastic coordinates, joint coordinates,
    reactions, and energies. `data_frame` and `dataset` return the same columns for pandas and xarray.
    """
    found = {"t": np.asarray(result.t)}

    def put(name: str, values: np.ndarray, parts: str = "xyz") -> None:
        found.update({f"{name} {part}": values[:, k] for k, part in enumerate(parts)})

    for body in result.mechanism.bodies:
        put(f"{body.name} frame", result.frame(body.name)[0])
        for interface in body.interfaces:
            name = f"{body.name}.{interface}"
            put(f"{name} position", result.position(name))
            if body.is_flexible:
                put(f"{name} deflection", result.deflection(name))
        eta = result.elastic(body.name)
        found.update({f"{body.name} eta {k + 1}": eta[:, k] for k in range(eta.shape[1])})
    for joint in result.mechanism.joints:
        for dof in JOINTS[joint.kind].dofs if joint.kind in JOINTS else ():
            found[f"{joint.name} {dof}"] = result.coordinate(joint.name, dof)
        reaction = result.reaction(joint.name)
        put(f"{joint.name} force", reaction[:, :3])
        put(f"{joint.name} moment", reaction[:, 3:])
    ledger = result.ledger
    for name in (*(f.name for f in fields(ledger) if f.name != "t"), "residual"):
        found[f"energy {name}"] = np.asarray(getattr(ledger, name))
    return found


def data_frame(result: Result) -> "pandas.DataFrame":
    """The columns of `columns` as a pandas table with the index `t`. Raises `FileError` if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise FileError("A data frame needs pandas: pip install pandas.") from None
    return pandas.DataFrame(columns(result)).set_index("t")


def dataset(result: Result) -> "xarray.Dataset":
    """The columns of `columns` as an xarray dataset over `t`. Raises `FileError` if xarray is not installed."""
    try:
        import xarray
    except ImportError:
        raise FileError("A dataset needs xarray: pip install xarray.") from None
    table = columns(result)
    t = table.pop("t")
    return xarray.Dataset({name: ("t", values) for name, values in table.items()}, coords={"t": t})


def write_table(result: Result, path: str | Path) -> Path:
    """Write the columns of `columns` as `.csv`, or as `.parquet` with pandas and pyarrow; return the path.

    Raises `FileError` for another ending, when pandas or pyarrow is missing, or when the file cannot be written.
    """
    path, table = Path(path), columns(result)
    try:
        if path.suffix == ".csv":
            header = ",".join(f'"{name}"' if "," in name else name for name in table)
            np.savetxt(path, np.column_stack(list(table.values())), delimiter=",", header=header, comments="")
        elif path.suffix == ".parquet":
            import pandas

            pandas.DataFrame(table).to_parquet(path)
        else:
            raise FileError(f"A table is written as .csv or .parquet; found {path.name!r}.")
    except ImportError as error:
        raise FileError(f"Parquet files need pandas and pyarrow (pip install pandas pyarrow): {error}.") from None
    except OSError as error:
        raise FileError(f"Cannot write the table {path}: {error}.") from None
    return path
