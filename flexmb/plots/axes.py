"""What the plots share: colours, names of curves beside them, and the file of a figure."""

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fem.user_files import written_whole
from flexmb.errors import PictureError

INK, BLUE, ORANGE, GREEN, GREY = "#1b2a41", "#2f6db5", "#e07a1f", "#3b8f5a", "#9aa5b1"
COLOURS = (BLUE, ORANGE, GREEN, "#a23b72", "#7a5195", "#00858a", "#8d6e63", GREY)
FONT = 8
"""Size of the names of curves, in points."""
LEADER = {"arrowstyle": "-", "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
"""The line from the end of a curve to its name."""
Plot = tuple[Figure, list[Axes]]
"""A figure and its axes, without those of colour bars."""


def colours(count: int) -> list[str]:
    """`count` colours, which repeat when there are more curves than colours."""
    return list(islice(cycle(COLOURS), count))


def subplots(
    path: str | Path | None, rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    """A figure with axes, which arrange themselves, as of `matplotlib.pyplot.subplots`. One that is written to a `path`
    is unknown to pyplot: it opens no window, and threads other than the first may draw it."""
    make: Callable[..., Figure] = plt.figure if path is None else Figure
    figure = make(figsize=figsize, layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def finished(figure: Figure, axes: Sequence[Axes], path: str | Path | None, *, grid: bool = True) -> Plot:
    """The figure and its axes, with a faint `grid`; written to `path` if there is one."""
    for axis in axes if grid else ():
        axis.grid(alpha=0.25)
    if path is not None:
        save_figure(figure, path)
    return figure, list(axes)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write and close a figure; return the path, with the ending .png where it has none.

    Raises `PictureError` when the file cannot be written.
    """
    path = Path(path)
    try:
        path = path if path.suffix else path.with_name(f"{path.name}.png")
        with written_whole(path, path.suffix) as part:
            figure.savefig(part, dpi=130)
    except (OSError, ValueError) as error:
        raise PictureError(f"The plot cannot be written to {path}: {error}.") from error
    finally:
        plt.close(figure)
    return path


def name_curves(axis: Axes) -> None:
    """Write the label of each curve at its right end, outside the axes and in its colour.

    Curves without a finite value in view are named in a legend, as are all curves when there are more than fit beside
    the axes. Curves without a label are not named.

    Later changes of the limits of the axes leave the names where they are.
    """
    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    settle(axis)
    step = 1.25 * FONT / 72 / inches(axis)[1]
    ends = {line: end for line in lines if (end := _end(axis, line)) is not None}
    if len(ends) * step > 1:
        axis.legend(
            lines, [str(line.get_label()) for line in lines], loc="upper left", bbox_to_anchor=(1.01, 1.0),
            frameon=False, fontsize=FONT - 1, ncols=1 + int(len(lines) * step),
        )  # fmt: skip
        return
    hidden = [line for line in lines if line not in ends]
    if hidden:
        axis.legend(hidden, [str(line.get_label()) for line in hidden], frameon=False, fontsize=FONT)
    order = sorted(ends, key=lambda line: ends[line][1])
    heights = apart([ends[line][1] for line in order], step)
    for line, height in zip(order, heights, strict=True):
        axis.annotate(
            str(line.get_label()), ends[line], (1.03, height), "axes fraction", "axes fraction", va="center",
            fontsize=FONT, color=line.get_color(), annotation_clip=False,
            arrowprops=LEADER | {"color": line.get_color()},
        )  # fmt: skip


def settle(axis: Axes) -> None:
    """Compute the limits of axes, which matplotlib does only when it draws or is asked for them."""
    axis.get_xlim()
    axis.get_ylim()


def inches(axis: Axes) -> np.ndarray:
    """Width and height (2,) of axes, before the layout makes room for their labels."""
    figure = axis.get_figure(root=True)
    assert figure is not None
    return np.asarray(axis.get_position().size) * figure.get_size_inches()


def _end(axis: Axes, line: Line2D) -> tuple[float, float] | None:
    """The last point of a curve inside the axes, in fractions of them; None when no point is."""
    points = np.column_stack([np.asarray(values, dtype=float) for values in line.get_data()])
    with np.errstate(divide="ignore", invalid="ignore"):
        points = axis.transAxes.inverted().transform(axis.transData.transform(points))
    inside = (points > -1e-6) & (points < 1 + 1e-6)
    seen = np.flatnonzero(inside.all(axis=1))
    return None if not len(seen) else (float(points[seen[-1], 0]), float(points[seen[-1], 1]))


def apart(heights: Sequence[float], step: float) -> np.ndarray:
    """Ascending heights, near the given ascending ones, at least `step` apart, and between 0 and 1 where they fit."""
    found = np.array(heights, dtype=float)
    for k in range(1, len(found)):
        found[k] = max(found[k], found[k - 1] + step)
    if len(found):
        found[-1] = min(found[-1], 1.0)
    for k in range(len(found) - 2, -1, -1):
        found[k] = min(found[k], found[k + 1] - step)
    return found
