"""Plots of studies."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flexmb.errors import StudyError
from flexmb.plots.pictures import COLOURS, INK, save_figure
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.table import Study

MOST = 6
"""Largest number of measures in a plot for which the caller names none."""


def plot_study(study: Study, path: str | Path, measures: Sequence[str] = (), against: str | None = None) -> Path:
    """Plot measures over a parameter, one line for each combination of the other parameters; return the path.

    `against`: the parameter; by default the one with most values. Failed variants leave gaps. Raises `StudyError` when
    no parameter is a number.
    """
    numbers = [name for name in study.parameters if all(isinstance(v, int | float) for v in study.parameter(name))]
    if against is None:
        if not numbers:
            raise StudyError(f"No parameter of the study is a number: {', '.join(study.parameters)}.")
        against = max(numbers, key=lambda name: len(set(study.parameter(name))))
    x = np.array(study.parameter(against), dtype=float)
    shown = list(measures) or study.measures[:MOST]
    others = [name for name in study.parameters if name != against]
    lines: dict[tuple, list[int]] = {}
    for number, row in enumerate(study.rows):
        lines.setdefault(tuple(str(row.parameters[name]) for name in others), []).append(number)
    figure, axes = plt.subplots(
        len(shown), 1, figsize=(9, 1.2 + 2.2 * len(shown)), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, measure in zip(axes[:, 0], shown, strict=True):
        values = study.measure(measure)
        for k, (chosen, members) in enumerate(lines.items()):
            order = np.array(members)[np.argsort(x[members])]
            label = ", ".join(f"{name} {value}" for name, value in zip(others, chosen, strict=True))
            axis.plot(x[order], values[order], ".-", color=COLOURS[k % len(COLOURS)], lw=1.3, label=label or None)
        axis.set_title(measure, fontsize=10, loc="left")
        axis.grid(alpha=0.25)
    axes[-1, 0].set_xlabel(against)
    if 1 < len(lines) <= len(COLOURS):
        axes[0, 0].legend(frameon=False, fontsize=8)
    return save_figure(figure, path)


def plot_gradient(found: Gradient, path: str | Path, measures: Sequence[str] = ()) -> Path:
    """Plot the change of each measure, in per cent, for a change of one per cent of each parameter; return the path.

    Without `measures` the plot shows the first of those with derivatives above their errors. Raises `StudyError` when
    there are none.
    """
    shown = list(measures) or found.certain()[:MOST]
    if not shown:
        raise StudyError(
            "No measure has derivatives that are larger than their errors; name the measures to plot them nevertheless."
        )
    names = list(found.at)
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.25 * len(names) * len(shown)), layout="constrained")
    height = 0.8 / max(len(shown), 1)
    for k, measure in enumerate(shown):
        places = np.arange(len(names)) + (k - (len(shown) - 1) / 2) * height
        scale = np.abs(np.array(list(found.at.values())) / (found.outcome[measure] or 1.0))
        axis.barh(places, found.relative(measure), height, xerr=found.errors[measure] * scale, label=measure)
    axis.set_yticks(range(len(names)), names)
    axis.axvline(0.0, color=INK, lw=0.8)
    axis.set(xlabel="per cent for one per cent of the parameter")
    axis.grid(axis="x", alpha=0.25)
    axis.legend(frameon=False, fontsize=8)
    return save_figure(figure, path)
