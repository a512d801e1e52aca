"""Plots of linear analyses, joint sweeps and inverse dynamics."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import SymmetricalLogLocator

from fem.errors import unknown_name
from fem.renamed import refuse_old_names
from flexmb.analyses.inverse_dynamics import Inverse
from flexmb.analyses.kinematics import JointSweep
from flexmb.errors import PictureError, UnitError
from flexmb.kernels.base.data import ANGLE
from flexmb.linear.eigenvalue_loci import EigenvalueLoci, StabilityMap
from flexmb.linear.periodic import Periodic
from flexmb.linear.response import Response
from flexmb.linear.vibration import Vibration
from flexmb.plots.axes import BLUE, FONT, INK, ORANGE, Plot, colours, finished, inches, name_curves, settle, subplots
from flexmb.results.joint_motion import joint_dofs
from flexmb.units import CHOICES, Shown, shown_units, unit_of

TOGETHER = 4
"""Largest number of frequency responses that share one pair of axes."""
WIDE = 30.0
"""Ratio of the largest to the smallest value above which an axis is logarithmic."""
NUMBERED = 40
"""Largest number of eigenvalues that a plot numbers."""


def plot_eigenvalues(
    vibration: Vibration,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot growth rate over frequency, one numbered point for each mode, with growing modes marked.

    Axes whose values differ widely are logarithmic, and linear about zero, so that one fast motion does not hide the
    others.

    - `path`: a file to write the figure to, which is then unknown to pyplot.
    - `unit`: the unit of the frequency, such as "Hz" or "rad/s"; `units`: the system of units of the model, by default
      that of its `System`.

    Returns the figure and its axes. Raises `PictureError` when the vibration has no modes, or the plot cannot be
    written; `UnitError` for other units.
    """
    if not len(vibration.eigenvalues):
        raise PictureError("There is no motion to plot: joints and drivers prescribe all coordinates.")
    show = shown_units(units or vibration.units, unit, "frequency", "growth rate")
    f, growth = show["frequency"].factor * vibration.frequencies, vibration.eigenvalues.real
    figure, axis = subplots(path, figsize=(8, 5))
    growing = vibration.growing
    axis.plot(f[~growing], growth[~growing], "o", color=BLUE, ms=5, label="decaying or neutral")
    if growing.any():
        axis.plot(f[growing], growth[growing], "s", color=ORANGE, ms=6, label="growing")
    axis.axhline(0.0, color=INK, lw=0.8)
    axis.set(xlabel=show["frequency"].label("frequency"), ylabel=show["growth rate"].label("growth rate"))
    _widen(axis, "x", f, np.zeros(len(f)))
    _widen(axis, "y", growth, vibration.errors)
    _number(axis, f, growth)
    axis.legend(frameon=False)
    return finished(figure, [axis], path)


def _widen(axis: Axes, which: str, values: np.ndarray, errors: np.ndarray) -> None:
    """Make an axis logarithmic on both sides of a linear piece about zero, when its values differ widely.

    Values (k,) within their `errors` (k,) count as zero.
    """
    sizes = np.abs(values[np.abs(values) > errors])
    if not len(sizes):
        return
    low, high = float(sizes.min()), float(sizes.max())
    if high > WIDE * low:
        linear = 10.0 ** np.floor(np.log10(low))
        getattr(axis, f"set_{which}scale")("symlog", linthresh=linear, linscale=1.0)
        locator = SymmetricalLogLocator(base=10, linthresh=linear)
        locator.set_params(numticks=9)
        (axis.xaxis if which == "x" else axis.yaxis).set_major_locator(locator)
        below, above = (4 * float(np.maximum(side * values, 0.0).max()) + linear / 2 for side in (-1, 1))
        getattr(axis, f"set_{which}lim")(-below, above)
    elif which == "x":
        axis.set_xlim(-0.05 * high, 1.1 * high)


def _number(axis: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Write the number of each point beside it, those of points at one place together."""
    if len(x) > NUMBERED:
        return
    settle(axis)
    size = 72 * inches(axis)
    points = axis.transData.transform(np.column_stack([x, y]))
    at = axis.transAxes.inverted().transform(points) * size
    named: list[tuple[np.ndarray, list[int]]] = []
    for k, place in enumerate(at):
        near = [members for there, members in named if np.abs(there - place).max() < FONT]
        if near:
            near[0].append(k)
        else:
            named.append((place, [k]))
    for _, members in named:
        first = members[0]
        text = _ranges([k + 1 for k in members])
        axis.annotate(text, (x[first], y[first]), (4, 4), textcoords="offset points", fontsize=FONT, color=INK)


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as a text: "1, 3-6"."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 2 else ", ".join(map(str, s)) for s in spans)


def plot_response(
    response: Response,
    path: str | Path | None = None,
    *,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot magnitude and phase of outputs for inputs over the frequency (Bode plot).

    Up to `TOGETHER` responses share two axes. More are drawn in a grid: a column for each input, and for each output a
    row of magnitudes, with one scale, above a row of phases.

    - `outputs`, `inputs`: the names of those to plot; by default all.
    - `path`, `units` as of `plot_eigenvalues`; `unit` also of outputs that are measures (`flexmb.results.measure`).

    Units of amplitudes are shown where the outputs are measures and the units of the model have names.

    Returns the figure and its axes, row by row. Raises `PictureError` for a name that the response does not have, when
    no frequency is above zero, or the plot cannot be written; `UnitError` for other units.
    """
    if (response.frequencies <= 0).all():
        raise PictureError("A frequency response is plotted over frequencies above zero; found none.")
    rows = _chosen("output", outputs, response.outputs)
    columns = _chosen("input", inputs, response.inputs)
    named = units or response.units
    measured = {name: what for name, what in response.dimensions.get("outputs", {}).items() if name in rows}
    found = shown_units(named, unit, "frequency", *measured.values())
    show, plain = found["frequency"], Shown(1.0, None)
    shown = {name: found[measured[name]] if named and name in measured else plain for name in rows}
    alike = len({shown[name].symbol for name in rows}) == 1
    f = show.factor * response.frequencies
    one = len(rows) * len(columns) <= TOGETHER
    shape = (1, 1) if one else (len(rows), len(columns))
    figure, grid = subplots(
        path, 2 * shape[0], shape[1], sharex=True, sharey="row", squeeze=False, height_ratios=(2, 1) * shape[0],
        figsize=(8, 7) if one else (1.2 + 2.9 * shape[1], 1.0 + 2.6 * shape[0])
    )  # fmt: skip
    names = [(output, given) for output in rows for given in columns]
    for (output, given), colour in zip(names, colours(len(names)), strict=True):
        row, column = (0, 0) if one else (rows.index(output), columns.index(given))
        size, phase = grid[2 * row, column], grid[2 * row + 1, column]
        values, label = (
            shown[output].factor * response.of(output, given),
            f"{output if alike else shown[output].label(output)} / {given}",
        )
        size.loglog(f, np.abs(values), lw=1.4, color=colour if one else BLUE, label=label if one else None)
        phase.semilogx(f, np.degrees(np.angle(values)), lw=1.2, color=colour if one else BLUE)
    for row in range(shape[0]):
        amplitude = shown[rows[row]].label("amplitude") if alike or not one else "amplitude"
        given = _one_of(columns[0], response, named) if len(columns) == 1 else "unit of the input"
        grid[2 * row, 0].set(ylabel=f"{amplitude} for a\n{given}" if one else f"{rows[row]}\n{amplitude}")
        grid[2 * row + 1, 0].set(ylabel="phase (degrees)" if one else "phase (deg)", ylim=(-190, 190))
        grid[2 * row + 1, 0].set_yticks([-180, -90, 0, 90, 180] if one else [-180, 0, 180])
    for column in range(shape[1]):
        grid[-1, column].set(xlabel=show.label("frequency"))
        if not one:
            grid[0, column].set_title(_one_of(columns[column], response, named), fontsize=10)
    if one:
        name_curves(grid[0, 0])
    return finished(figure, list(grid.ravel()), path)


def _one_of(given: str, response: Response, units: str | None) -> str:
    """A unit of an input, as "1 N m of hold"; "unit of shake" for the factor of a load, or without names of units."""
    dimension = response.dimensions.get("inputs", {}).get(given, "1")
    return f"unit of {given}" if units is None or dimension == "1" else f"1 {unit_of(dimension, units)} of {given}"


def _chosen(kind: str, wanted: Sequence[str] | None, existing: Sequence[str]) -> list[str]:
    for name in wanted or ():
        if name not in existing:
            raise PictureError(unknown_name(kind, name, existing))
    return list(existing) if wanted is None else list(wanted)


def plot_eigenvalue_loci(
    loci: EigenvalueLoci,
    path: str | Path | None = None,
    orders: Sequence[float] = (),
    *,
    names: Sequence[str] | None = None,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot frequencies (Campbell diagram) and growth rates over the parameter, with the name of each mode.

    - `orders`: numbers of excitations per revolution for which a line is drawn, where the parameter is a speed in
      radians per unit of time.
    - `names`: of the modes, in the order of `loci.eigenvalues`; by default "mode 1", ... as in the printed table.
    - `path`, `unit`, `units` as of `plot_eigenvalues`; `unit` also for the parameter if it is a time, or a speed at
      which a body turns: "rpm", or ("rpm", "cpm") for the frequencies too.

    Returns the figure and its two axes. Raises `PictureError` when there are no eigenvalues, the number of names is not
    that of the modes, or the plot cannot be written; `UnitError` for other units.
    """
    count = loci.eigenvalues.shape[1]
    if not loci.eigenvalues.size:
        raise PictureError("There is no motion to plot: joints and drivers prescribe all coordinates.")
    labels = [f"mode {k + 1}" for k in range(count)] if names is None else list(names)
    if len(labels) != count:
        raise PictureError(f"The diagram follows {count} modes; found {len(labels)} names: {', '.join(labels)}.")
    wanted = [unit] if isinstance(unit, str) else list(unit or ())
    if loci.dimension is None and (lost := [u for u in wanted if u in CHOICES["angular velocity"]]):
        raise UnitError(
            f"The parameter {loci.parameter!r} cannot be shown in {lost[0]!r}: no body turns at the speed of its "
            "values (in radians per unit of time). Vary the speed of a driver or an initial speed, as `campbell` does; "
            "frequencies are shown in Hz or cpm."
        )
    known = () if loci.dimension is None else (loci.dimension,)
    show = shown_units(units or loci.units, unit, *known, "frequency", "growth rate")
    along = show[loci.dimension] if loci.dimension else None
    x, scale = loci.values * (along.factor if along else 1.0), show["frequency"].factor
    figure, (upper, lower) = subplots(path, 2, 1, figsize=(9, 7.5), sharex=True, height_ratios=(2, 1))
    seen = not np.allclose(loci.seen, loci.frequencies, equal_nan=True)
    for k, colour in enumerate(colours(count)):
        upper.plot(x, scale * loci.frequencies[:, k], "-", color=colour, lw=1.6, label=labels[k])
        lower.plot(x, loci.eigenvalues.real[:, k], "-", color=colour, lw=1.2, label=labels[k])
        if seen:
            upper.plot(x, scale * loci.seen[:, k], "--", color=colour, lw=1.1, label=f"_{labels[k]} from the ground")
    top = upper.get_ylim()[1]
    for order in orders:
        upper.plot(x, scale * order * np.abs(loci.values) / (2 * np.pi), ":", color=INK, lw=0.9, label=f"{order:g}x")
    span = (x.min(), x.max()) if np.ptp(x) else None
    upper.set(ylabel=show["frequency"].label("frequency"), ylim=(0, top), xlim=span)
    lower.set(
        xlabel=along.label(loci.parameter) if along else loci.parameter,
        ylabel=show["growth rate"].label("growth rate"),
    )
    lower.axhline(0.0, color=INK, lw=0.8)
    for axis in (upper, lower):
        name_curves(axis)
    styles = [("-", "in the axes of the bodies"), ("--", "seen from the ground")] if seen else []
    styles += [(":", "excitations per revolution")] if orders else []
    if styles:
        lines = [Line2D([], [], ls=ls, color=INK, lw=1.2, label=text) for ls, text in styles]
        figure.legend(handles=lines, loc="outside upper left", ncols=3, frameon=False, fontsize=FONT)
    return finished(figure, [upper, lower], path)


def plot_stability(chart: StabilityMap, path: str | Path | None = None, *, units: str | None = None) -> Plot:
    """Plot the growth rate over two parameters, with the border of stability as a line.

    `path`, `units` as of `plot_eigenvalues`. Returns the figure and its axes, without those of the colour bar.
    """
    show = shown_units(units or chart.units, None, "growth rate")["growth rate"]
    figure, axis = subplots(path, figsize=(8.5, 6))
    largest = float(np.nanmax(np.abs(chart.growth))) or 1.0
    scale = SymLogNorm(1e-3 * largest, vmin=-largest, vmax=largest)
    drawn = axis.pcolormesh(chart.x, chart.y, chart.growth, cmap="PuOr_r", norm=scale, shading="nearest")
    if min(chart.growth.shape) > 1 and chart.stable.any() and not chart.stable.all():
        beyond = np.where(chart.stable, np.minimum(chart.growth, 0.0), chart.growth)
        axis.contour(chart.x, chart.y, beyond, levels=[1e-9 * largest], colors=[INK], linewidths=1.2)
    axis.set(xlabel=chart.x_name, ylabel=chart.y_name)
    figure.colorbar(drawn, label=f"{show.label('growth rate')} of the least stable motion; negative: stable")
    return finished(figure, [axis], path, grid=False)


def plot_multipliers(periodic: Periodic, path: str | Path | None = None) -> Plot:
    """Plot the Floquet multipliers and the unit circle, outside of which deviations grow.

    `path` as of `plot_eigenvalues`. Returns the figure and its axes.
    """
    figure, axis = subplots(path, figsize=(6, 6))
    turn = np.linspace(0, 2 * np.pi, 200)
    axis.plot(np.cos(turn), np.sin(turn), color=INK, lw=0.9)
    values = periodic.multipliers
    outside = np.abs(values) > 1 + 1e-4
    axis.plot(values[~outside].real, values[~outside].imag, "o", color=BLUE, ms=6, label="decaying or neutral")
    if outside.any():
        axis.plot(values[outside].real, values[outside].imag, "s", color=ORANGE, ms=6, label="growing")
    axis.set(xlabel="real part", ylabel="imaginary part", aspect="equal", title="growth in one period")
    axis.legend(frameon=False)
    return finished(figure, [axis], path)


def plot_joint_sweep(
    sweep: JointSweep,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the paths of the bodies' interfaces over the range of a joint, and the dexterity.

    The dexterity is zero at a singular position. `path`, `unit`, `units` as of `plot_eigenvalues`, for lengths and
    angles. Returns the figure and its two axes. Raises `UnitError` for other units.
    """
    mechanism = sweep.result.mechanism
    name, _, dof = sweep.joint.partition(":")
    sorts = joint_dofs(mechanism.joint(name))
    turns = (dof or next((s for s in sorts if s.startswith("rotation")), "translation")).startswith("rotation")
    quantity = "angle" if turns else "length"
    show = shown_units(units or mechanism.units, unit, quantity, "length")
    figure, (left, right) = subplots(path, 1, 2, figsize=(12, 5))
    origins = {body.name: sweep.result.frame(body.name)[0] for body in mechanism.bodies}
    across = int(np.ptp(np.concatenate(list(origins.values())), axis=0).argmin())
    i, j = (k for k in range(3) if k != across)
    moving = [
        (name, track)
        for name in mechanism.interface_markers()
        if np.ptp(track := sweep.result.position(name), axis=0).max() > 1e-9 * mechanism.length
    ]
    scale = show["length"].factor
    for (marker, track), colour in zip(moving, colours(len(moving)), strict=True):
        left.plot(scale * track[:, i], scale * track[:, j], lw=1.3, color=colour, label=marker)
    left.set(
        xlabel=show["length"].label("xyz"[i]), ylabel=show["length"].label("xyz"[j]), aspect="equal",
        title="paths of the bodies' interfaces",
    )  # fmt: skip
    if left.lines:
        left.legend(frameon=False, fontsize=FONT)
    right.plot(show[quantity].factor * sweep.values, sweep.dexterity, color=BLUE, lw=1.5)
    top = float(np.nanmax(sweep.dexterity, initial=0.0))
    if not np.isfinite(sweep.dexterity).any():
        text = "not defined: the joint alone does not determine\nthe configuration of the mechanism"
        right.text(0.5, 0.5, text, transform=right.transAxes, ha="center", va="center", color=INK)
    for value in sweep.singular:
        right.axvline(show[quantity].factor * value, color=ORANGE, lw=1.2)
    right.set(
        xlabel=show[quantity].label(f"joint {sweep.joint!r}"), ylabel="dexterity", ylim=(0, 1.1 * top or None),
        title="zero: singular position",
    )  # fmt: skip
    return finished(figure, [left, right], path)


def plot_inverse(
    found: Inverse,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the torques and forces of the actuators over time, and the deflections of the flexible bodies.

    `path`, `unit`, `units` as of `plot_eigenvalues`, for time, moment, force and length. Returns the figure and its
    axes. Raises `UnitError` for other units.
    """
    result, mechanism = found.result, found.result.mechanism
    panels: dict[str, list[tuple[str, np.ndarray]]] = {}
    for name, effort in zip(found.actuators, found.efforts.T, strict=True):
        turns = mechanism.rows[mechanism.force_elements[name][0]].kind == ANGLE
        panels.setdefault("moment" if turns else "force", []).append((name, effort))
    sizes = [(name, np.linalg.norm(result.deflection(name), axis=1)) for name in mechanism.interface_markers()]
    bending = [(name, size) for name, size in sizes if size.max() > 0]
    if bending:
        panels["length"] = bending
    show = shown_units(units or mechanism.units, unit, "time", *panels)
    figure, grid = subplots(path, len(panels), 1, figsize=(9, 1 + 3 * len(panels)), sharex=True, squeeze=False)
    axes = list(grid[:, 0])
    for axis, (dimension, curves) in zip(axes, panels.items(), strict=True):
        for (name, values), colour in zip(curves, colours(len(curves)), strict=True):
            axis.plot(show["time"].factor * found.t, show[dimension].factor * values, lw=1.3, color=colour, label=name)
        axis.set_ylabel(show[dimension].label("deflection in the body" if dimension == "length" else dimension))
        name_curves(axis)
    axes[0].set_title(f"{mechanism.name}: efforts for the prescribed motion")
    axes[-1].set_xlabel(show["time"].label("time"))
    return finished(figure, axes, path)


refuse_old_names(__name__)
