"""Plots of small motions."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flexmb.linear.vibration import Vibration
from flexmb.view import BLUE, INK, ORANGE, PictureError, save_figure


def plot_eigenvalues(vibration: Vibration, path: str | Path) -> Path:
    """Growth rate over frequency, one point a mode; those that grow stand out."""
    values = vibration.eigenvalues
    if not len(values):
        raise PictureError("There is no motion to draw: the joints and drivers hold everything.")
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    growing = values.real > 1e-7 * np.abs(values).max()
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
