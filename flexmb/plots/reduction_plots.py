"""Plots of reductions: errors over the band, frequency responses, singular values."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexmb.errors import PictureError
from flexmb.plots.axes import BLUE, GREY, INK, ORANGE, Plot, colours, finished, subplots
from flexmb.units import shown_units
from reduction.basis import Basis
from reduction.error.response_error import ResponseError
from reduction.frequency_response import FrequencyResponse


def plot_response_errors(
    errors: Sequence[ResponseError],
    path: str | Path | None = None,
    tolerance: float | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot the relative errors of bases over the band, below the response of the full model.

    - `path`: a file to write the figure to, which is then unknown to pyplot; `tolerance`: drawn as a line.
    - `unit`: the unit of the frequency, such as "Hz" or "rad/s"; `units`: the system of units of the model, such as
      "mm-t-s".

    Returns the figure and its two axes. Raises `PictureError` when there are no errors, or the plot cannot be written;
    `UnitError` for other units.
    """
    if not errors:
        raise PictureError("There is no response error to plot.")
    first, show = errors[0], shown_units(units, unit, "frequency", "compliance")
    scale = show["frequency"].factor
    figure, (top, bottom) = subplots(path, 2, 1, figsize=(9, 7), sharex=True, height_ratios=(2, 3))
    top.semilogy(scale * first.frequencies, first.magnitude, color=INK, lw=1.4)
    top.set(
        ylabel=show["compliance"].label("displacement per force"),
        title="elastic response of the full model (Frobenius norm over all inputs)",
    )
    for error, colour in zip(errors, colours(len(errors)), strict=True):
        label = f"{error.name}: largest {error.worst:.1e}"
        bottom.semilogy(scale * error.frequencies, error.relative, color=colour, lw=1.3, label=label)
    low = max(min(float(error.relative.min()) for error in errors), 1e-9) / 2
    if (first.bound > low).any():
        known = {"color": GREY, "alpha": 0.25, "lw": 0, "label": "bound of the error of the full model's response"}
        bottom.fill_between(scale * first.frequencies, first.bound, low, **known)
    if tolerance:
        bottom.axhline(tolerance, color=INK, ls="--", lw=1, label=f"tolerance {tolerance:g}")
    bottom.set(
        xlabel=show["frequency"].label("frequency"),
        ylabel="relative error",
        ylim=(low, 10),
        xlim=(0, scale * first.frequencies[-1]),
    )
    figure.legend(*bottom.get_legend_handles_labels(), loc="outside lower left", frameon=False, fontsize=9, ncols=2)
    return finished(figure, [top, bottom], path)


def plot_frequency_responses(
    responses: Sequence[FrequencyResponse],
    path: str | Path | None = None,
    output: str | None = None,
    input: str | None = None,
    *,
    unit: str | Sequence[str] | None = None,
    units: str | None = None,
) -> Plot:
    """Plot magnitude and phase of one entry, or the norm over all inputs without `output` and `input`.

    `output`, `input`: labels of the entry; `path`, `unit`, `units` as of `plot_response_errors`.

    Returns the figure and its axes. Raises `PictureError` when there are no responses, or the plot cannot be written;
    `UnitError` for other units.
    """
    if not responses:
        raise PictureError("There is no frequency response to plot.")
    show = shown_units(units, unit, "frequency", "compliance")
    entry = output is not None and input is not None
    figure, grid = subplots(path, 1 + entry, 1, figsize=(9, 7 if entry else 4.5), sharex=True, squeeze=False)
    axes = list(grid[:, 0])
    for k, (response, colour) in enumerate(zip(responses, colours(len(responses)), strict=True)):
        f = show["frequency"].factor * response.frequencies
        style = {"color": colour, "lw": 1.4 if k else 2.4, "label": response.name}
        if output is None or input is None:
            axes[0].semilogy(f, response.magnitude, **style)
        else:
            H = response.entry(output, input)
            axes[0].semilogy(f, np.abs(H), **style)
            axes[1].plot(f, np.degrees(np.angle(H)), **style)
            axes[1].set(ylabel="phase (degrees)", ylim=(-190, 190), yticks=(-180, -90, 0, 90, 180))
    what = f"{output} by {input}" if entry else "norm over all inputs"
    axes[0].set(ylabel=show["compliance"].label("displacement per force"), title=f"elastic frequency response: {what}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", frameon=False, fontsize=9, ncols=2)
    axes[-1].set(xlabel=show["frequency"].label("frequency"))
    return finished(figure, axes, path)


def plot_singular_values(basis: Basis, path: str | Path | None = None) -> Plot:
    """Plot the Hankel-type singular values of a Gramian basis, and the number of coordinates kept.

    `path` as of `plot_response_errors`. Returns the figure and its axes. Raises `PictureError` when the basis has no
    singular values, or the plot cannot be written.
    """
    values = np.asarray(basis.options.get("singular_values", []))
    if not len(values):
        raise PictureError(
            f"A {basis.method} basis has no singular values to plot; bases of Gramian and balanced truncation have "
            "them."
        )
    values = values / values[0]
    figure, axis = subplots(path, figsize=(8, 4.5))
    axis.semilogy(np.arange(1, len(values) + 1), np.maximum(values, 1e-18), "o-", color=BLUE, ms=4, lw=1)
    axis.axvline(basis.n_modes + 0.5, color=ORANGE, lw=1.2, label=f"{basis.n_modes} coordinates kept")
    axis.set(
        xlabel="number",
        ylabel="singular value / largest",
        title=f"{basis.method}: Hankel-type singular values",
        ylim=(1e-14, 3),
    )
    axis.legend(frameon=False)
    return finished(figure, [axis], path)
