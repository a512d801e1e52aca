"""`flexmb periodic`: a periodic motion and its stability."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    period: Annotated[
        float, typer.Option(help="Period of the drivers; for a mechanism without functions of time, a first guess.")
    ],
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.periodic.png).")] = None,
) -> None:
    """Find the periodic motion near the initial state; print and plot its Floquet multipliers."""
    from flexmb.cli.screen import console, say_text, yellow_warnings
    from flexmb.files.models.model_file import load_model
    from flexmb.linear import periodic_motion
    from flexmb.plots.linear_plots import plot_multipliers

    with yellow_warnings(), console.status("shooting"):
        loaded = load_model(model)
        found = periodic_motion(loaded.mechanism(), period, events=loaded.options.get("events") or ())
    say_text(found)
    path = plot or Path(f"{model.stem}.periodic.png")
    plot_multipliers(found, path)
    say_text(f"plot: {path}")
