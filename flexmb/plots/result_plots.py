"""Plots of results: measures and energies over time, comparisons of fidelities, largest stresses."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flexmb.analyses.compare import Comparison
from flexmb.errors import PictureError
from flexmb.plots.axes import BLUE, COLOURS, GREEN, GREY, INK, ORANGE, Plot, colours, finished, name_curves, subplots
from flexmb.results.elements.contact import ContactMotion
from flexmb.results.elements.contact_group import ContactGroupMotion
from flexmb.results.elements.energy import EnergyByElement
from flexmb.results.elements.surface_contact import SurfaceContactMotion
from flexmb.results.joint_motion import joint_dofs
from flexmb.results.result import Result
from flexmb.results.stress import LargestStress
from flexmb.units import shown_units

DASHES = ("-", "--", ":", "-.")
"""Styles of lines of the same colour."""
CONTACT_PARTS = (("gap",), ("normal force", "friction force"), ("slip",))
SURFACE_PARTS = (("gap",), ("normal force", "friction force"), ("pressure",), ("contact area",), ("largest slip",))
GROUP_PARTS = (("touching pairs",), ("largest depth",), ("sum of forces",))
"""The columns that share a pair of axes in the plots of a contact, of one of a flexible surface, and of a group."""
MOST = 8
"""Largest number of joint coordinates in a plot for which the caller names no measures."""


def plot_measures(
    result: Result,
    measures: str | Sequence[str] = (),
    path: str | Path | None = None,
    *,
    over: str | None = None,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot measures over time or another measure, one pair of axes for each dimension; the figure and its axes.

    - `measures`: a text or several, as of `flexmb.results.measure.measure`; the default is the coordinates of the
      joints (the first `MOST`).
    - `path`: a file to write the figure to, which is then unknown to pyplot.
    - `over`: a measure for the horizontal axis, such as the rate of a damper for its force; the default is time.
    - `unit`: one or several units to convert to, such as "deg" or ("kN", "ms").
    - `units`: the system of units of the model; the default is that of its `System`.

    Raises `MeasureError` for a text that is no measure; `UnitError` for a unit that nothing plotted has; `PictureError`
    when there is nothing to plot, or the file cannot be written.
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
    across = table.pop("t")
    groups: dict[str, list[str]] = {}
    for text, column in table.items():
        groups.setdefault(column.dimension, []).append(text)
    if over is not None:
        across = result.columns([over])[over]
    show = shown_units(units or result.mechanism.units, unit, across.dimension, *groups)
    x = show[across.dimension].factor * np.asarray(across.values)
    below = show[across.dimension].label("value" if across.dimension == "1" else across.dimension)
    figure, axes = _panels(path, len(groups))
    for axis, (dimension, members) in zip(axes, groups.items(), strict=True):
        for text, colour in zip(members, colours(len(members)), strict=True):
            values = np.asarray(table[text].values)
            shown = values if show[dimension].factor == 1.0 else show[dimension].factor * values
            axis.plot(x, shown, color=colour, lw=1.4, label=text)
        axis.set_ylabel(show[dimension].label("value" if dimension == "1" else dimension))
    return _named(figure, axes, result.mechanism.name, below if over is None else f"{over}: {below}", path)


def plot_energy(
    result: Result,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the energy ledger, and its residual beside the elastic and kinetic energies; the figure and its axes.

    `path`, `unit`, `units` as of `plot_measures`, for energy and time. Raises `UnitError` for other units.
    """
    ledger, show = result.ledger, shown_units(units or result.mechanism.units, unit, "time", "energy")
    t, scale = show["time"].factor * result.t, show["energy"].factor
    figure, (top, bottom) = subplots(path, 2, 1, figsize=(9, 7), sharex=True, height_ratios=(3, 2))
    parts = (
        ("kinetic", ledger.kinetic, BLUE),
        ("elastic", ledger.elastic, ORANGE),
        ("gravity", ledger.gravity, GREEN),
        ("springs", ledger.springs, "#a23b72"),
        ("work of drivers", ledger.driver_work, "#444444"),
        ("work of loads", ledger.load_work, "#8d6e63"),
        ("heat", ledger.modal_heat + ledger.damper_heat, "#c0392b"),
        ("lost in impacts", ledger.impacts, "#7f8c8d"),
    )
    for name, values, colour in parts:
        if values.any():
            style = "--" if name.startswith("work") else "-"
            top.plot(t, scale * values, color=colour, label=name, lw=1.4, ls=style)
    top.set(ylabel=show["energy"].label("energy"), title=f"{result.mechanism.name}: energy ledger")
    floor = np.finfo(float).tiny
    bottom.semilogy(t[1:], scale * np.abs(ledger.residual[1:]) + floor, color=INK, lw=1, label="|residual|")
    if ledger.elastic.max() > 0:
        bottom.semilogy(t[1:], scale * ledger.elastic[1:] + floor, color=ORANGE, lw=1, label="elastic energy")
    bottom.semilogy(t[1:], scale * ledger.kinetic[1:] + floor, color=BLUE, lw=1, alpha=0.6, label="kinetic energy")
    highest = max(ledger.kinetic.max(), ledger.elastic.max(), floor)
    lowest = max(np.abs(ledger.residual[1:]).max(initial=0.0) * 1e-3, highest * 1e-16)
    bottom.set(
        xlabel=show["time"].label("time"),
        ylabel=show["energy"].label("energy"),
        ylim=(scale * lowest, scale * highest * 3),
    )
    for axis in (top, bottom):
        name_curves(axis)
    return finished(figure, [top, bottom], path)


def plot_comparison(
    comparison: Comparison,
    path: str | Path | None = None,
    joint: str | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot a comparison for every fidelity: force in a joint and its spectrum, paths, stresses or elastic energies.

    - `joint`: by default the one whose forces differ most.
    - `path`, `unit`, `units` as of `plot_measures`, for time, force, frequency, length, and stress or energy.

    Without joints, both plots of the force are empty. Returns the figure and its four axes.
    Raises `UnitError` for other units.
    """
    joint = joint or (comparison.most_different_joint() if comparison.reference.mechanism.joints else None)
    names = list(comparison.results)
    others = (ORANGE, GREEN, "#a23b72", "#7a5195", "#00858a")
    colour = {name: others[k % len(others)] for k, name in enumerate(n for n in names[:-1] if n != "rigid")}
    colour |= {names[-1]: BLUE} | ({"rigid": GREY} if "rigid" in names else {})
    mechanism, stressed = comparison.reference.mechanism, comparison.stressed_bodies()
    show = shown_units(
        units or mechanism.units, unit, "time", "force", "frequency", "length", "stress" if stressed else "energy"
    )
    t, time = show["time"].factor * comparison.t, show["time"].label("time")
    figure, grid = subplots(path, 2, 2, figsize=(13, 8))
    force, spectrum, paths, last = grid.ravel()

    def draw(axis: Axes, name: str, x: np.ndarray, y: np.ndarray, label: str = "", ls: str = "-") -> None:
        width = 2.5 if name == "rigid" and axis is not paths else 1.0
        axis.plot(x, y, color=colour[name], lw=width, ls=ls, label=label or name)

    for name, values in ({} if joint is None else comparison.forces(joint)).items():
        draw(force, name, t, show["force"].factor * values)
    what = "no joint" if joint is None else f"force in joint {joint!r}"
    force.set(xlabel=time, ylabel=show["force"].label("force"), title=f"{mechanism.name}: {what}")
    if comparison.evenly_spaced and joint is not None:
        frequencies, amplitudes = comparison.spectra(lambda r: np.linalg.norm(r.reaction(joint)[:, :3], axis=1))
        for name, values in amplitudes.items():
            draw(spectrum, name, show["frequency"].factor * frequencies[1:], show["force"].factor * values[1:])
        spectrum.set_yscale("log")
    spectrum.set(
        xlabel=show["frequency"].label("frequency"), ylabel=show["force"].label("amplitude"), title="its spectrum"
    )
    tracks = {
        (marker, name): show["length"].factor * np.linalg.norm(comparison.difference(marker, name), axis=1)
        for marker in comparison.moving_markers()
        for name in names[:-1]
    }
    top = max((off.max() for off in tracks.values()), default=0.0) or 1.0
    shown = {key: off for key, off in tracks.items() if off.max() > 1e-6 * top}
    styles = dict(zip(dict.fromkeys(marker for marker, _ in shown), cycle(("-", "--", ":", "-."))))
    for (marker, name), off in shown.items():
        draw(paths, name, t[1:], off[1:] + 1e-300, f"{marker}, {name}", styles[marker])
    paths.set(
        xlabel=time,
        ylabel=show["length"].label("distance"),
        yscale="log",
        ylim=(1e-6 * top, 2 * top),
        title=f"paths of the interfaces: distance from {names[-1]!r}",
    )
    if stressed:
        for name, found in comparison.stresses(stressed[0]).items():
            draw(last, name, show["time"].factor * found.t, show["stress"].factor * found.values)
        last.set(ylabel=show["stress"].label("stress"), title=f"largest von Mises stress of {stressed[0]!r}")
    else:
        for name, result in comparison.results.items():
            draw(last, name, t, show["energy"].factor * result.ledger.elastic)
        last.set(ylabel=show["energy"].label("energy"), title="elastic energy")
    last.set_xlabel(time)
    for axis in grid.ravel():
        name_curves(axis)
    return finished(figure, list(grid.ravel()), path)


def plot_stress(
    found: LargestStress,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the largest von Mises stress of a body over time, and the distribution of its envelope.

    `path`, `unit`, `units` as of `plot_measures`, for time and stress. Returns the figure and its two axes. Raises
    `UnitError` for other units.
    """
    show = shown_units(units or found.units, unit, "time", "stress")
    t, values = show["time"].factor * found.t, show["stress"].factor * found.values
    figure, (left, right) = subplots(path, 1, 2, figsize=(12, 4.5), width_ratios=(3, 2))
    left.plot(t, values, color=BLUE, lw=1.1)
    k = int(values.argmax())
    left.plot(t[k], values[k], "o", color=ORANGE, ms=6)
    stress, time = (show[what].symbol or "" for what in ("stress", "time"))
    left.set(
        xlabel=show["time"].label("time"),
        ylabel=show["stress"].label("largest von Mises stress"),
        title=f"{found.body}: {f'{values[k]:.4g} {stress}'.strip()} at t = {f'{t[k]:.4g} {time}'.strip()}",
    )
    envelope = show["stress"].factor * np.sort(found.envelope)[::-1]
    right.plot(np.linspace(0, 100, len(envelope)), envelope, color=INK, lw=1.2)
    right.set(
        xlabel="part of all points (%)",
        ylabel=show["stress"].label("largest over time"),
        title="distribution over the body",
    )
    for axis in (left, right):
        axis.set_ylim(0, None)
    return finished(figure, [left, right], path)


def plot_energy_by_element(
    energies: EnergyByElement,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot what elements store, dissipate and do over time, one pair of axes each; the figure and its axes.

    The `MOST` elements with the largest range are drawn; an element has the same line in all of them. `path`, `unit`,
    `units` as of `plot_measures`, for time and energy. Raises `PictureError` when no element has any energy, or the
    file cannot be written, and `UnitError` for other units.
    """
    table = energies.columns()
    time = table.pop("t")
    groups: dict[str, list[str]] = {}
    for name in table:
        groups.setdefault(name.rpartition(" ")[2], []).append(name)
    if not groups:
        raise PictureError("No element stores, dissipates or does anything; there is nothing to plot.")
    show = shown_units(units, unit, "time", "energy")
    figure, axes = _panels(path, len(groups))
    order = list(dict.fromkeys(name.rpartition(" ")[0] for name in table))
    for axis, (sort, names) in zip(axes, groups.items(), strict=True):
        largest = sorted(names, key=lambda name: -float(np.ptp(table[name].values)))[:MOST]
        for name in largest:
            element = name.removesuffix(f" {sort}")
            dash, k = divmod(order.index(element), len(COLOURS))
            style: dict[str, Any] = {"color": COLOURS[k], "linestyle": DASHES[dash % len(DASHES)]}
            values = show["energy"].factor * table[name].values
            axis.plot(show["time"].factor * time.values, values, lw=1.4, label=element, **style)
        axis.set_ylabel(show["energy"].label("energy"))
        axis.set_title({"stored": "stored", "heat": "heat", "work": "work done"}[sort], fontsize=9, loc="left")
    for axis in axes:
        name_curves(axis)
    axes[-1].set_xlabel(show["time"].label("time"))
    return finished(figure, axes, path)


def plot_controller(
    result: Result,
    name: str,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the commands, inputs and states of a controller over time, one pair of axes for each dimension.

    Commands of a sampled controller are drawn as steps, exact where samples are stored times. References are drawn with
    the inputs that they are compared with. `path`, `unit`, `units` as of `plot_measures`. Raises `ControllerError` when
    there is no such controller, `UnitError` for a unit that nothing plotted has, `PictureError` when the file cannot be
    written.
    """
    history, own = result.controller(name), result.mechanism.controller(name)
    known = {key: column for key, column in history.inputs.items() if column.values.any()}
    measured = [column.dimension for column in known.values() if column.dimension != "1"]
    groups: dict[str, list[tuple[str, np.ndarray, bool]]] = {}
    for key, (values, dimension) in history.commands.items():
        groups.setdefault(dimension, []).append((key, values, own.sample_time is not None))
    for key, (values, dimension) in known.items():
        shared = measured[0] if dimension == "1" and len({*measured}) == 1 and "reference" in key else dimension
        groups.setdefault(shared, []).append((key, values, False))
    states = [(key, x.values, own.sample_time is not None) for key, x in history.states.items() if np.ptp(x.values)]
    show = shown_units(units or result.mechanism.units, unit, "time", *groups)
    panels = [
        (show[dimension].label(dimension) if dimension != "1" else "value", show[dimension].factor, curves)
        for dimension, curves in groups.items()
    ]
    panels += [("state", 1.0, states)] if states else []
    figure, axes = _panels(path, len(panels))
    for axis, (label, factor, curves) in zip(axes, panels, strict=True):
        for (key, values, steps), colour in zip(curves, colours(len(curves)), strict=True):
            style: dict[str, Any] = {
                "ls": "--" if "reference" in key else "-",
                "drawstyle": "steps-post" if steps else "default",
            }
            axis.plot(show["time"].factor * history.t, factor * values, color=colour, lw=1.4, label=key, **style)
        axis.set_ylabel(label)
    title = f"{result.mechanism.name}: controller {name}"
    return _named(figure, axes, title, show["time"].label("time"), path)


def plot_contact(
    contact: ContactMotion | SurfaceContactMotion | ContactGroupMotion,
    path: str | Path | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot gap, forces and slip of a contact over time, one pair of axes each, with the times of its impacts; of a
    flexible surface also the largest pressure and the area in contact; of a group the number of touching pairs, the
    largest depth and the sum of forces. Returns the figure and its axes.

    `path`, `unit` as of `plot_measures`, for time, length, force, velocity, stress and area; `units`: the system of
    units of the model, whose names the record of a contact does not have. Raises `PictureError` when the file cannot be
    written, and `UnitError` for other units.
    """
    table, group = contact.columns(), isinstance(contact, ContactGroupMotion)
    parts = GROUP_PARTS if group else SURFACE_PARTS if isinstance(contact, SurfaceContactMotion) else CONTACT_PARTS
    show = shown_units(units, unit, "time", *(table[names[0]].dimension for names in parts))
    figure, axes = _panels(path, len(parts))
    t = show["time"].factor * contact.t
    for axis, names in zip(axes, parts, strict=True):
        shown = show[table[names[0]].dimension]
        for name, colour in zip(names, COLOURS, strict=False):
            label = name if len(names) > 1 else None
            axis.plot(t, shown.factor * table[name].values, lw=1.4, color=colour, label=label)
        axis.set_ylabel(shown.label(names[0] if group else names[0].rpartition(" ")[2]))
    if not group:
        axes[0].axhline(0.0, color=GREY, lw=0.8)
        if isinstance(contact, ContactMotion) and len(contact.impacts):
            struck = show["time"].factor * contact.impacts[:, 0]
            axes[0].plot(struck, np.zeros(len(struck)), ls="", marker="^", ms=5, color=ORANGE, label="impacts")
    title = f"contact{'s' if group else ''} {contact.name!r}"
    return _named(figure, axes, title, show["time"].label("time"), path)


def _panels(path: str | Path | None, count: int) -> tuple[Figure, list[Axes]]:
    """A figure for `path` with `count` axes below each other, for curves over time."""
    size = (9, 1.2 + 2.4 * count)
    figure, grid = subplots(path, count, 1, figsize=size, sharex=True, squeeze=False)
    return figure, list(grid[:, 0])


def _named(figure: Figure, axes: list[Axes], title: str, below: str, path: str | Path | None) -> Plot:
    """The finished figure with its title and with names of its curves; `below`: the label of the horizontal axis."""
    for axis in axes:
        name_curves(axis)
    axes[0].set_title(title, fontsize=10, loc="left")
    axes[-1].set_xlabel(below)
    return finished(figure, axes, path)
