"""Work-precision diagrams."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from flexmb.analyses.work_precision import Precision
from flexmb.errors import PictureError
from flexmb.plots.pictures import COLOURS, save_figure


def plot_work_precision(runs: Sequence[Precision], path: str | Path) -> Path:
    """Plot CPU time over error, one line for each integration method; return the path.

    Raises `PictureError` when there are no runs, or the plot cannot be written.
    """
    if not runs:
        raise PictureError("There is no run to plot.")
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, colour in zip(dict.fromkeys(run.method for run in runs), COLOURS, strict=False):
        line = sorted((run.error, run.cpu_seconds) for run in runs if run.method == name)
        axis.loglog(*zip(*line, strict=True), "o-", color=colour, ms=4, lw=1.3, label=name)
    axis.set(xlabel="largest error, relative", ylabel="CPU seconds")
    axis.invert_xaxis()
    axis.grid(alpha=0.25, which="both")
    axis.legend(frameon=False)
    return save_figure(figure, path)
