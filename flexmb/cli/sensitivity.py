"""`flexmb sensitivity`: derivatives of results by values of a model file."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    by: Annotated[list[str], typer.Option(help="A key that holds a number, such as bodies.crank.mass. Repeat for several.")],
    measure: Annotated[list[str] | None, typer.Option(help="Measure to plot, as named in the table. Repeat for several.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one a core).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.sensitivity.png).")] = None,
) -> None:  # fmt: skip
    """Differentiate the largest forces, deflections and energies by values of a model; print and plot."""
    from flexmb.cli.screen import bars, say_text
    from flexmb.files.changes import number_at
    from flexmb.files.model_file import load_model
    from flexmb.simulate import simulate
    from flexmb.study import gradient, peaks
    from flexmb.study_plots import plot_gradient

    load_model(model)  # tells what is wrong with the file before anything is run
    data = tomllib.loads(model.read_text(encoding="utf-8-sig"))
    path = model.resolve()

    def outcome(**changes: Any) -> dict[str, float]:
        loaded = load_model(path, changes)
        return peaks(simulate(loaded.system, loaded.duration, **loaded.options))

    with bars() as say:
        found = gradient(
            outcome, {key: number_at(data, key) for key in by}, workers=workers, progress=lambda done: say("runs", done)
        )
    say_text(found)
    say_text(f"plot: {plot_gradient(found, plot or Path(f'{model.stem}.sensitivity.png'), measure or ())}")
