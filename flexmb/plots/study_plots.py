"""Plots of studies."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from flexmb.errors import StudyError
from flexmb.plots.axes import FONT, INK, Plot, colours, finished, name_curves, subplots
from flexmb.results.measure import CONTACTS, SURFACES, VECTORS
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.table import Study
from flexmb.units import shown_units

MOST = 6
"""Largest number of measures in a plot for which the caller names none."""


DIMENSIONS = {"force in ": "force", "moment in ": "moment", "deflection of ": "length"}
"""What the measures of `flexmb.study.peaks` are, by the beginning of their names."""
ENERGIES = ("kinetic energy", "elastic energy", "energy residual")


def plot_study(
    study: Study,
    path: str | Path | None = None,
    measures: Sequence[str] = (),
    against: str | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
    dimensions: Mapping[str, str] | None = None,
) -> Plot:
    """Plot measures over a parameter, one line for each combination of the other parameters.

    - `path`: a file to write the figure to, which is then unknown to pyplot.
    - `against`: the parameter; by default the one with most values. Failed variants leave gaps.
    - `unit`: one or several units to convert the forces, moments, deflections and energies of `peaks` to, such as "kN";
      `units`: the system of units of the model, such as "mm-t-s".
    - `dimensions`: what measures are, such as "length", where their names do not tell.

    Returns the figure and its axes, one for each measure. Raises `StudyError` when no parameter is a number;
    `UnitError` for other units.
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
    figure, axes = subplots(path, len(shown), 1, figsize=(9, 1.2 + 2.2 * len(shown)), sharex=True, squeeze=False)
    known = dimensions or {}
    sorts = {measure: known.get(measure) or dimension_of(measure) for measure in shown}
    show = shown_units(units, unit, *sorts.values())
    for axis, measure in zip(axes[:, 0], shown, strict=True):
        quantity = show[sorts[measure]]
        values = quantity.factor * study.measure(measure)
        for colour, (chosen, members) in zip(colours(len(lines)), lines.items(), strict=True):
            order = np.array(members)[np.argsort(x[members])]
            label = ", ".join(f"{name} {value}" for name, value in zip(others, chosen, strict=True))
            axis.plot(x[order], values[order], ".-", color=colour, lw=1.3, label=label or None)
        axis.set_title(quantity.label(measure), fontsize=10, loc="left")
    axes[-1, 0].set_xlabel(against)
    if len(lines) > 1:
        for axis in axes[:, 0]:
            name_curves(axis)
    return finished(figure, list(axes[:, 0]), path)


def dimension_of(measure: str) -> str:
    """What a measure of a study is, such as "force", as far as its name tells; "1" otherwise."""
    kind, colon, _ = measure.partition(":")
    if colon:  # of a result
        if kind in SURFACES:
            return SURFACES[kind]
        return VECTORS[kind][1] if kind in VECTORS else CONTACTS[kind][1] if kind in CONTACTS else "1"
    found = [dimension for start, dimension in DIMENSIONS.items() if measure.startswith(start)]
    return found[0] if found else "energy" if measure in ENERGIES else "1"


def plot_gradient(found: Gradient, path: str | Path | None = None, measures: Sequence[str] = ()) -> Plot:
    """Plot the change of each measure, in per cent, for a change of one per cent of each parameter.

    Without `measures` the plot shows the first of those with derivatives above their errors. `path` as of `plot_study`.
    Returns the figure and its axes. Raises `StudyError` when there are none.
    """
    shown = list(measures) or found.certain()[:MOST]
    if not shown:
        raise StudyError(
            "No measure has derivatives that are larger than their errors; name the measures to plot them nevertheless."
        )
    names = list(found.at)
    figure, axis = subplots(path, figsize=(9, 1.2 + 0.25 * len(names) * len(shown)))
    height = 0.8 / max(len(shown), 1)
    for k, (measure, colour) in enumerate(zip(shown, colours(len(shown)), strict=True)):
        places = np.arange(len(names)) + (k - (len(shown) - 1) / 2) * height
        scale = np.abs(np.array(list(found.at.values())) / (found.outcome[measure] or 1.0))
        errors = found.errors[measure] * scale
        axis.barh(places, found.relative(measure), height, xerr=errors, color=colour, label=measure)
    axis.set_yticks(range(len(names)), names)
    axis.axvline(0.0, color=INK, lw=0.8)
    axis.set(xlabel="per cent for one per cent of the parameter")
    axis.set_ylim(-0.5, len(names) - 0.5)
    axis.legend(frameon=False, fontsize=FONT, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return finished(figure, [axis], path)
