"""`flexmb inverse`: efforts of motors for a prescribed motion."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml) with [[servos]], see docs/model-files.md.")],
    actuator: Annotated[list[str], typer.Option(help="A motor whose effort is computed. Repeat: as many as servos.")],
    step: Annotated[float, typer.Option(help="Time step of the efforts.")],
    before: Annotated[
        float, typer.Option(min=0, help="Time before the motion in which efforts may already act.")
    ] = 0.0,
    after: Annotated[float, typer.Option(min=0, help="Time after the motion in which efforts may still act.")] = 0.0,
    table: Annotated[Path | None, typer.Option(help="Table to write (default: MODEL.inverse.csv).")] = None,
    unit: Unit = None,
) -> None:
    """Compute the efforts by which a mechanism, with flexible bodies, moves as prescribed; write and plot them."""
    import numpy as np

    from flexmb.analyses.inverse_dynamics import inverse_dynamics
    from flexmb.cli.screen import console, say_text, yellow_warnings
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.linear_plots import plot_inverse

    with yellow_warnings(), console.status("solving for all times"):
        loaded = load_model(model)
        span = loaded.duration
        found = inverse_dynamics(loaded.system, loaded.servos, actuator, span, step, before=before, after=after)
    say_text(found)
    path = table or Path(f"{model.stem}.inverse.csv")
    header = ",".join(["t", *found.actuators])
    np.savetxt(path, np.column_stack([found.t, found.efforts]), delimiter=",", header=header, comments="")
    plot_inverse(found, path.with_suffix(".png"), unit=unit)
    say_text(f"table: {path}\nplot: {path.with_suffix('.png')}")
