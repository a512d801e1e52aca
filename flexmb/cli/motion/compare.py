"""`flexmb compare`: the same mechanism, rigid and flexible, or at several fidelities."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.starts import StartOf, change_of
from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    picture: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.comparison.png).")] = None,
    joint: Annotated[
        str | None, typer.Option(help="Joint whose force is plotted (default: the one that differs most).")
    ] = None,
    fidelity: Annotated[
        list[str] | None,
        typer.Option(
            help="rigid, linear, flexible, a number of elastic coordinates, or adapted N: N coordinates for each body, "
            "derived from the rigid motion, or from the flexible one if flexible surfaces touch. "
            "Repeat; the last is the reference (default: rigid, flexible)."
        ),
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Duration, in place of that in the file.")] = None,
    step: Annotated[
        float | None, typer.Option(help="Time step, in place of step, max_step and tolerance in the file.")
    ] = None,
    start: StartOf = None,
    unit: Unit = None,
) -> None:
    """Simulate a mechanism at several fidelities, rigid to flexible; print and plot the differences."""
    from flexmb.analyses.compare import compare
    from flexmb.cli.screen import bars, say_text
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.result_plots import plot_comparison

    with bars() as say:
        loaded = load_model(model, change_of(start))
        span = loaded.duration if duration is None else duration
        chosen = [int(f) if f.isdigit() else f for f in fidelity or ("rigid", "flexible")]
        comparison = compare(
            loaded.system, span, chosen, progress=lambda done: say("simulating", done), **loaded.options_at(step)
        )
    say_text(comparison)
    say_text(f"\n{comparison.flexible.ledger}")
    path = picture or Path(f"{model.stem}.comparison.png")
    plot_comparison(comparison, path, joint, unit=unit)
    say_text(f"plot: {path}")
