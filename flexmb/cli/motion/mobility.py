"""`flexmb mobility`: degrees of freedom, uniqueness of reactions, and the range of a joint."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    sweep: Annotated[
        str | None, typer.Option(help="JOINT=FIRST:LAST:COUNT: move the mechanism through the range of a joint.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot of the sweep (default: MODEL.sweep.png).")] = None,
    unit: Unit = None,
) -> None:
    """Count degrees of freedom and redundant joint equations; list unique reactions; find singular positions."""
    from flexmb.analyses import kinematics, mobility
    from flexmb.cli.screen import say_left_out, say_text, yellow_warnings
    from flexmb.cli.vary import values_of
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.linear_plots import plot_joint_sweep

    with yellow_warnings():
        loaded = load_model(model)
        mechanism = loaded.mechanism()
        say_text(mobility.mobility(mechanism))
        say_left_out(loaded.options.get("events"), stops=True)
        if sweep is not None:
            found = kinematics.joint_sweep(mechanism, *values_of(sweep, "--sweep"))
            say_text(found)
            path = plot or Path(f"{model.stem}.sweep.png")
            plot_joint_sweep(found, path, unit=unit)
            say_text(f"plot: {path}")
