"""`flexmb modes`: natural vibrations of a whole mechanism."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    start: Annotated[
        bool, typer.Option("--start", help="About the start as it moves, not about the equilibrium.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.modes.png).")] = None,
) -> None:
    """Find the equilibrium of a mechanism near its start; print and plot its frequencies, damping and stability there."""
    from flexmb.cli.screen import say_text, yellow_warnings
    from flexmb.files.model_file import load_model
    from flexmb.linear import equilibrium, linearise
    from flexmb.linear_plots import plot_eigenvalues

    with yellow_warnings():
        mechanism = load_model(model).system.build()
        state = None
        if not start:
            rest = equilibrium(mechanism)
            say_text(rest)
            state = rest.state
        vibration = linearise(mechanism, state).modes()
    say_text(vibration)
    say_text(f"plot: {plot_eigenvalues(vibration, plot or Path(f'{model.stem}.modes.png'))}")
