"""Plots of linear analyses, joint sweeps and inverse dynamics."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import SymLogNorm

from fem.renamed import refuse_old_names
from flexmb.analyses.inverse_dynamics import Inverse
from flexmb.analyses.kinematics import JointSweep
from flexmb.errors import PictureError
from flexmb.linear.eigenvalue_loci import EigenvalueLoci, StabilityMap
from flexmb.linear.periodic import Periodic
from flexmb.linear.response import Response
from flexmb.linear.vibration import Vibration
from flexmb.plots.pictures import BLUE, INK, ORANGE, save_figure


def plot_eigenvalues(vibration: Vibration, path: str | Path) -> Path:
    """Plot growth rate over frequency, one point for each mode, with growing modes marked; return the path.

    Raises `PictureError` when the vibration has no modes, or the plot cannot be written.
    """
    values = vibration.eigenvalues
    if not len(values):
        raise PictureError("There is no motion to plot: joints and drivers prescribe all coordinates.")
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    growing = vibration.growing
    axis.plot(
        vibration.frequencies[~growing], values.real[~growing], "o", color=BLUE, ms=5, label="decaying or neutral"
    )
    if growing.any():
        axis.plot(vibration.frequencies[growing], values.real[growing], "s", color=ORANGE, ms=6, label="growing")
    axis.axhline(0.0, color=INK, lw=0.8)
    axis.set(xlabel="frequency (cycles per unit of time)", ylabel="growth rate (per unit of time)")
    highest = max(float(vibration.frequencies.max()), 1e-3)
    axis.set_xscale("symlog", linthresh=1e-3 * highest)
    axis.set_xlim(-1e-4 * highest, 1.5 * highest)
    axis.grid(alpha=0.25)
    axis.legend(frameon=False)
    return save_figure(figure, path)


def plot_response(response: Response, path: str | Path) -> Path:
    """Plot magnitude and phase of every output for every input over the frequency; return the path.

    Raises `PictureError` when no frequency is above zero, or the plot cannot be written.
    """
    if (response.frequencies <= 0).all():
        raise PictureError("A frequency response is plotted over frequencies above zero; found none.")
    figure, (size, phase) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, height_ratios=(2, 1), layout="constrained")
    f = response.frequencies
    for o, output in enumerate(response.outputs):
        for i, given in enumerate(response.inputs):
            values = response.values[:, o, i]
            size.loglog(f, np.abs(values), lw=1.4, label=f"{output} / {given}")
            phase.semilogx(f, np.degrees(np.angle(values)), lw=1.2)
    size.set(ylabel="amplitude for a unit of the input")
    phase.set(xlabel="frequency (cycles per unit of time)", ylabel="phase (degrees)", ylim=(-190, 190))
    phase.set_yticks([-180, -90, 0, 90, 180])
    for axis in (size, phase):
        axis.grid(alpha=0.25)
    size.legend(frameon=False, fontsize=8)
    return save_figure(figure, path)


def plot_eigenvalue_loci(loci: EigenvalueLoci, path: str | Path, orders: Sequence[int] = ()) -> Path:
    """Plot frequencies and growth rates over the parameter; return the path.

    `orders`: numbers of excitations per revolution for which a line is drawn, where the parameter is a speed in radians
    per unit of time. Raises `PictureError` when there are no eigenvalues, or the plot cannot be written.
    """
    if not loci.eigenvalues.size:
        raise PictureError("There is no motion to plot: joints and drivers prescribe all coordinates.")
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, height_ratios=(2, 1), layout="constrained")
    x, colours = loci.values, plt.get_cmap("viridis")
    for k in range(loci.eigenvalues.shape[1]):
        colour = colours(0.9 * k / max(loci.eigenvalues.shape[1] - 1, 1))
        upper.plot(x, loci.frequencies[:, k], "-", color=colour, lw=1.6)
        lower.plot(x, loci.eigenvalues.real[:, k], "-", color=colour, lw=1.2)
        if not np.allclose(loci.seen[:, k], loci.frequencies[:, k], equal_nan=True):
            upper.plot(x, loci.seen[:, k], "--", color=colour, lw=1.1)
    top = upper.get_ylim()[1]
    for order in orders:
        upper.plot(x, order * x / (2 * np.pi), ":", color=INK, lw=0.9)
        upper.annotate(f"{order}x", (x[-1], min(order * x[-1] / (2 * np.pi), top)), fontsize=8, color=INK)
    upper.set(ylabel="frequency (cycles per unit of time)", ylim=(0, top))
    lower.set(xlabel=loci.parameter, ylabel="growth rate")
    if not np.allclose(loci.seen, loci.frequencies, equal_nan=True):
        upper.plot([], [], "-", color=INK, label="in the axes of the bodies")
        upper.plot([], [], "--", color=INK, label="seen from the ground")
        upper.legend(frameon=False, fontsize=8)
    lower.axhline(0.0, color=INK, lw=0.8)
    for axis in (upper, lower):
        axis.grid(alpha=0.25)
    return save_figure(figure, path)


def plot_stability(chart: StabilityMap, path: str | Path) -> Path:
    """Plot the growth rate over two parameters, with the border of stability as a line; return the path."""
    figure, axis = plt.subplots(figsize=(8, 6), layout="constrained")
    largest = float(np.nanmax(np.abs(chart.growth))) or 1.0
    scale = SymLogNorm(1e-3 * largest, vmin=-largest, vmax=largest)
    drawn = axis.pcolormesh(chart.x, chart.y, chart.growth, cmap="PuOr_r", norm=scale, shading="nearest")
    if min(chart.growth.shape) > 1 and chart.stable.any() and not chart.stable.all():
        beyond = np.where(chart.stable, np.minimum(chart.growth, 0.0), chart.growth)
        axis.contour(chart.x, chart.y, beyond, levels=[1e-9 * largest], colors=[INK], linewidths=1.2)
    axis.set(xlabel=chart.x_name, ylabel=chart.y_name)
    figure.colorbar(drawn, label="growth rate of the least stable motion (negative: stable)")
    return save_figure(figure, path)


def plot_multipliers(periodic: Periodic, path: str | Path) -> Path:
    """Plot the Floquet multipliers and the unit circle, outside of which deviations grow; return the path."""
    figure, axis = plt.subplots(figsize=(6, 6), layout="constrained")
    turn = np.linspace(0, 2 * np.pi, 200)
    axis.plot(np.cos(turn), np.sin(turn), color=INK, lw=0.9)
    values = periodic.multipliers
    outside = np.abs(values) > 1 + 1e-4
    axis.plot(values[~outside].real, values[~outside].imag, "o", color=BLUE, ms=6, label="decaying or neutral")
    if outside.any():
        axis.plot(values[outside].real, values[outside].imag, "s", color=ORANGE, ms=6, label="growing")
    axis.set(xlabel="real part", ylabel="imaginary part", aspect="equal", title="growth in one period")
    axis.grid(alpha=0.25)
    axis.legend(frameon=False)
    return save_figure(figure, path)


def plot_joint_sweep(sweep: JointSweep, path: str | Path) -> Path:
    """Plot the paths of the bodies' interfaces over the range of a joint, and the dexterity; return the path.

    The dexterity is zero at a singular position.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    mechanism = sweep.result.mechanism
    origins = {body.name: sweep.result.frame(body.name)[0] for body in mechanism.bodies}
    across = int(np.ptp(np.concatenate(list(origins.values())), axis=0).argmin())
    i, j = (k for k in range(3) if k != across)
    for name in mechanism.interface_markers():
        track = sweep.result.position(name)
        if np.ptp(track, axis=0).max() > 1e-9 * mechanism.length:
            left.plot(track[:, i], track[:, j], lw=1.3, label=name)
    left.set(xlabel="xyz"[i], ylabel="xyz"[j], aspect="equal", title="paths of the bodies' interfaces")
    if left.lines:
        left.legend(frameon=False, fontsize=8)
    right.plot(sweep.values, sweep.dexterity, color=BLUE, lw=1.5)
    for value in sweep.singular:
        right.axvline(value, color=ORANGE, lw=1.2)
    right.set(xlabel=f"joint {sweep.joint!r}", ylabel="dexterity", ylim=(0, None), title="zero: singular position")
    for axis in (left, right):
        axis.grid(alpha=0.25)
    return save_figure(figure, path)


def plot_inverse(found: Inverse, path: str | Path) -> Path:
    """Plot the efforts over time, and the deflections of the flexible bodies; return the path."""
    result = found.result
    sizes = {name: np.linalg.norm(result.deflection(name), axis=1) for name in result.mechanism.interface_markers()}
    bending = {name: size for name, size in sizes.items() if size.max() > 0}
    figure, axes = plt.subplots(
        1 + bool(bending), 1, figsize=(9, 7 if bending else 4), sharex=True, squeeze=False, layout="constrained"
    )
    efforts, last = axes[0, 0], axes[-1, 0]
    for name, effort in zip(found.actuators, found.efforts.T, strict=True):
        efforts.plot(found.t, effort, lw=1.3, label=name)
    efforts.set(ylabel="effort", title=f"{result.mechanism.name}: efforts for the prescribed motion")
    for name, size in bending.items():
        last.plot(found.t, size, lw=1.2, label=name)
        last.set(ylabel="deflection in the body")
    last.set(xlabel="time")
    for axis in axes[:, 0]:
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8)
    return save_figure(figure, path)


refuse_old_names(__name__)
