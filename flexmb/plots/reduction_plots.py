"""Plots of reductions: errors over the band, frequency responses, singular values."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flexmb.errors import PictureError
from flexmb.plots.pictures import BLUE, COLOURS, GREY, INK, ORANGE, save_figure
from reduction.basis import Basis
from reduction.error.response_error import ResponseError
from reduction.frequency_response import FrequencyResponse


def plot_response_errors(errors: Sequence[ResponseError], path: str | Path, tolerance: float | None = None) -> Path:
    """Plot the relative errors of bases over the band, below the response of the full model; return the path.

    Raises `PictureError` when there are no errors, or the plot cannot be written.
    """
    if not errors:
        raise PictureError("There is no response error to plot.")
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7), sharex=True, height_ratios=(2, 3), layout="constrained")
    first = errors[0]
    top.semilogy(first.frequencies, first.magnitude, color=INK, lw=1.4)
    top.set(
        ylabel="displacement per force", title="elastic response of the full model (Frobenius norm over all inputs)"
    )
    for error, colour in zip(errors, COLOURS * (len(errors) // len(COLOURS) + 1), strict=False):
        bottom.semilogy(
            error.frequencies, error.relative, color=colour, lw=1.3, label=f"{error.name}: {error.worst:.1e}"
        )
    bottom.fill_between(first.frequencies, first.bound, 1e-16, color=GREY, alpha=0.25, lw=0)
    low = min(float(error.relative.min()) for error in errors)
    bottom.set(
        xlabel="frequency (cycles per unit of time)",
        ylabel="relative error",
        ylim=(max(low, 1e-9) / 2, 10),
        xlim=(0, first.frequencies[-1]),
    )
    if tolerance:
        bottom.axhline(tolerance, color=INK, ls="--", lw=1)
    bottom.legend(frameon=False, fontsize=9, loc="lower right")
    for axis in (top, bottom):
        axis.grid(alpha=0.25)
    return save_figure(figure, path)


def plot_frequency_responses(
    responses: Sequence[FrequencyResponse], path: str | Path, output: str | None = None, input: str | None = None
) -> Path:
    """Plot magnitude and phase of one entry, or the norm over all inputs without `output` and `input`; return the path.

    `output`, `input`: labels of the entry. Raises `PictureError` when there are no responses, or the plot cannot be
    written.
    """
    if not responses:
        raise PictureError("There is no frequency response to plot.")
    entry = output is not None and input is not None
    figure, axes = plt.subplots(
        1 + entry, 1, figsize=(9, 7 if entry else 4.5), sharex=True, squeeze=False, layout="constrained"
    )
    for k, response in enumerate(responses):
        style = {"color": COLOURS[k % len(COLOURS)], "lw": 1.4 if k else 2.4, "label": response.name}
        if output is None or input is None:
            axes[0, 0].semilogy(response.frequencies, response.magnitude, **style)
        else:
            H = response.entry(output, input)
            axes[0, 0].semilogy(response.frequencies, np.abs(H), **style)
            axes[1, 0].plot(response.frequencies, np.degrees(np.angle(H)), **style)
            axes[1, 0].set(ylabel="phase (degrees)")
    what = f"{output} by {input}" if entry else "norm over all inputs"
    axes[0, 0].set(ylabel="displacement per force", title=f"elastic frequency response: {what}")
    axes[0, 0].legend(frameon=False)
    axes[-1, 0].set(xlabel="frequency (cycles per unit of time)")
    for axis in axes[:, 0]:
        axis.grid(alpha=0.25)
    return save_figure(figure, path)


def plot_singular_values(basis: Basis, path: str | Path) -> Path:
    """Plot the Hankel-type singular values of a Gramian basis, and the number of coordinates kept; return the path.

    Raises `PictureError` when the basis has no singular values, or the plot cannot be written.
    """
    values = np.asarray(basis.options.get("singular_values", []))
    if not len(values):
        raise PictureError(
            f"A {basis.method} basis has no singular values to plot; bases of Gramian and balanced truncation have "
            "them."
        )
    values = values / values[0]
    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axis.semilogy(np.arange(1, len(values) + 1), np.maximum(values, 1e-18), "o-", color=BLUE, ms=4, lw=1)
    axis.axvline(basis.n_modes + 0.5, color=ORANGE, lw=1.2, label=f"{basis.n_modes} coordinates kept")
    axis.set(
        xlabel="number",
        ylabel="singular value / largest",
        title=f"{basis.method}: Hankel-type singular values",
        ylim=(1e-14, 3),
    )
    axis.legend(frameon=False)
    axis.grid(alpha=0.25)
    return save_figure(figure, path)
