"""Curves over time beside a picture that moves: what there is to plot, and each plot as a picture in a page."""

import base64
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure

from flexmb.files.results.gltf_file import COLOURS
from flexmb.mechanism.joints import JOINTS
from flexmb.results.result import Result
from flexmb.units import shown_units

LEFT, RIGHT = 0.13, 0.97
"""Place of the axis of time in the width of a plot."""
PLAYBACK = 8.0
"""Seconds in which a motion is played."""


def curves(result: Result) -> dict[str, dict[str, np.ndarray]]:
    """The plots of a result: curves over time by name, by the name of the plot, with its unit where that is known."""
    ledger, found = result.ledger, {}
    units = result.mechanism.units
    show = shown_units(units, None, "energy", "angle", "length") if units else None

    def named(name: str, dimension: str) -> str:
        return name if show is None else show[dimension].label(name)

    energies = {name: getattr(ledger, name) for name in ("kinetic", "elastic", "gravity", "springs", "residual")}
    energies = {name: values for name, values in energies.items() if np.any(np.nan_to_num(values))}
    found[named("energies", "energy")] = energies
    for joint in result.mechanism.joints:
        for dof in JOINTS[joint.kind].dofs if joint.kind in JOINTS else ():
            dimension = "angle" if dof == "rotation" else "length"
            found[named(f"{joint.name}: {dof}", dimension)] = {dof: result.coordinate(joint.name, dof)}
    for body in result.mechanism.bodies:
        if body.is_flexible:
            eta = result.elastic(body.name)
            largest = np.argsort(-np.abs(eta).max(axis=0))[:5]
            found[f"{body.name}: elastic coordinates"] = {f"mode {k + 1}": eta[:, k] for k in sorted(largest)}
    return found


def curve_picture(t: np.ndarray, curves: dict[str, np.ndarray], units: str | None = None) -> str:
    """Curves as a picture that a page holds in its text; the axis of time goes from `LEFT` to `RIGHT`.

    `units`: the system of units of the model, for the axis of time.
    """
    figure = Figure(figsize=(4.6, 3.0))
    axes = figure.add_axes((LEFT, 0.17, RIGHT - LEFT, 0.79))
    for k, (name, values) in enumerate(curves.items()):
        axes.plot(t, values, lw=1.1, color=COLOURS[k % len(COLOURS)], label=name)
    axes.set(xlim=(t[0], t[-1] if t[-1] > t[0] else t[0] + 1))
    axes.set_xlabel(shown_units(units, None, "time")["time"].label("time"), fontsize=7, labelpad=1)
    axes.tick_params(labelsize=7)
    axes.ticklabel_format(axis="y", scilimits=(-3, 4))
    axes.grid(alpha=0.25)
    if curves:
        axes.legend(fontsize=7, frameon=False, loc="best")
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    return "data:image/png;base64," + base64.b64encode(picture.getvalue()).decode()
