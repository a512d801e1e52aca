"""Plots of measures of a result over time."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flexmb.errors import PictureError
from flexmb.plots.pictures import COLOURS, save_figure
from flexmb.results.elements.energy import EnergyByElement
from flexmb.results.joint_motion import joint_dofs
from flexmb.results.result import Result
from flexmb.results.table import unit_of

DASHES = ("-", "--", ":", "-.")
"""Styles of lines of the same colour."""
MOST = 8
"""Largest number of joint coordinates in a plot for which the caller names no measures."""


def plot_measures(
    result: Result, measures: str | Sequence[str] = (), path: str | Path | None = None, *, units: str | None = None
) -> tuple[Figure, list[Axes]]:
    """Plot measures over time, one pair of axes for each dimension; the figure and its axes.

    - `measures`: a text or several, as of `flexmb.results.measure.measure`; the default is the coordinates of the
      joints (the first `MOST`).
    - `path`: a file to write the figure to, which is then closed for pyplot.
    - `units`: those of length, mass and time, such as "mm-t-s", for the labels; nothing is converted.

    Raises `MeasureError` for a text that is no measure; `PictureError` when there is nothing to plot, or the file
    cannot be written.
    """
    texts = [measures] if isinstance(measures, str) else list(measures)
    if not texts:
        joints = result.mechanism.joints
        texts = [f"coordinate:{joint.name}:{dof}" for joint in joints for dof in joint_dofs(joint)][:MOST]
    if not texts:
        raise PictureError(
            f"{result.mechanism.name!r} has no joint that moves; name the measures to plot, such as "
            f"'position:{result.mechanism.bodies[0].name}:x'."
        )
    table = result.columns(texts)
    time = table.pop("t")
    groups: dict[str, list[str]] = {}
    for text, column in table.items():
        groups.setdefault(column.dimension, []).append(text)
    figure, grid = plt.subplots(
        len(groups), 1, figsize=(9, 1.2 + 2.4 * len(groups)), sharex=True, squeeze=False, layout="constrained"
    )
    axes = list(grid[:, 0])
    for axis, (dimension, members) in zip(axes, groups.items(), strict=True):
        for k, text in enumerate(members):
            axis.plot(time.values, np.asarray(table[text].values), color=COLOURS[k % len(COLOURS)], lw=1.4, label=text)
        axis.set_ylabel(dimension if units is None else f"{dimension} ({unit_of(dimension, units)})")
        axis.grid(alpha=0.25)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    axes[0].set_title(result.mechanism.name, fontsize=10, loc="left")
    axes[-1].set_xlabel("time" if units is None else f"time ({unit_of('time', units)})")
    if path is not None:
        save_figure(figure, path)
    return figure, axes


def plot_energy_by_element(
    energies: EnergyByElement, path: str | Path | None = None, *, units: str | None = None
) -> tuple[Figure, list[Axes]]:
    """Plot what elements store, dissipate and do over time, one pair of axes each; the figure and its axes.

    The `MOST` elements with the largest range are drawn; an element has the same line in all of them. `path` and
    `units` are as of `plot_measures`. Raises `PictureError` when no element has any energy, or the file cannot be
    written.
    """
    table = energies.columns()
    time = table.pop("t")
    groups: dict[str, list[str]] = {}
    for name in table:
        groups.setdefault(name.rpartition(" ")[2], []).append(name)
    if not groups:
        raise PictureError("No element stores, dissipates or does anything; there is nothing to plot.")
    figure, grid = plt.subplots(
        len(groups), 1, figsize=(9, 1.2 + 2.4 * len(groups)), sharex=True, squeeze=False, layout="constrained"
    )
    axes = list(grid[:, 0])
    label = "energy" if units is None else f"energy ({unit_of('energy', units)})"
    order = list(dict.fromkeys(name.rpartition(" ")[0] for name in table))
    for axis, (sort, names) in zip(axes, groups.items(), strict=True):
        largest = sorted(names, key=lambda name: -float(np.ptp(table[name].values)))[:MOST]
        for name in largest:
            element = name.removesuffix(f" {sort}")
            dash, k = divmod(order.index(element), len(COLOURS))
            style = {"color": COLOURS[k], "linestyle": DASHES[dash % len(DASHES)]}
            axis.plot(time.values, table[name].values, lw=1.4, label=element, **style)
        axis.set_ylabel(label)
        axis.set_title({"stored": "stored", "heat": "heat", "work": "work done"}[sort], fontsize=9, loc="left")
        axis.grid(alpha=0.25)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    axes[-1].set_xlabel("time" if units is None else f"time ({unit_of('time', units)})")
    if path is not None:
        save_figure(figure, path)
    return figure, axes
