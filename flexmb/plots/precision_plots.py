"""Work-precision diagrams."""

from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from flexmb.analyses.work_precision import Precision
from flexmb.errors import PictureError
from flexmb.plots.axes import Plot, colours, finished, subplots


def plot_work_precision(runs: Sequence[Precision], path: str | Path | None = None) -> Plot:
    """Plot CPU time over error, one line for each integration method; small errors are on the left.

    The legend names the method of each line, the options that all its runs share, and the range of those that vary
    along the line. `path`: a file to write the figure to, which is then unknown to pyplot.

    Returns the figure and its axes. Raises `PictureError` when there are no runs, or the plot cannot be written.
    """
    if not runs:
        raise PictureError("There is no run to plot.")
    figure, axis = subplots(path, figsize=(8, 5))
    methods = list(dict.fromkeys(run.method for run in runs))
    for name, colour in zip(methods, colours(len(methods)), strict=True):
        members = sorted((run for run in runs if run.method == name), key=lambda run: run.error)
        errors, times = [run.error for run in members], [run.cpu_seconds for run in members]
        axis.loglog(errors, times, "o-", color=colour, ms=4, lw=1.3, label=f"{name}{_options(members)}")
    axis.set(xlabel="largest error relative to the largest value", ylabel="CPU time (s)")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.14))
    return finished(figure, [axis], path)


def _options(runs: Sequence[Precision]) -> str:
    """The options of runs: ": step 0.001 to 0.01, rho_inf 0.8", from the smallest error to the largest."""
    tables = [_given(run) for run in runs]
    parts = []
    for key in dict.fromkeys(key for table in tables for key in table):
        values = list(dict.fromkeys(_written(table.get(key)) for table in tables))
        if any(key in run.options for run in runs) or values != [_written(_plain(runs[0]).get(key))]:
            parts.append(f"{key} {values[0]}" if len(values) == 1 else f"{key} {values[0]} to {values[-1]}")
    return f": {', '.join(parts)}" if parts else ""


def _given(run: Precision) -> dict[str, Any]:
    """The options of a run, those of its record of a method included."""
    method = run.options.get("method")
    record = asdict(method) if is_dataclass(method) and not isinstance(method, type) else {}
    return record | {key: value for key, value in run.options.items() if key != "method"}


def _plain(run: Precision) -> dict[str, Any]:
    """The defaults of the record of a method."""
    method = run.options.get("method")
    return asdict(type(method)()) if is_dataclass(method) and not isinstance(method, type) else {}


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "default" if value is None else str(value)
