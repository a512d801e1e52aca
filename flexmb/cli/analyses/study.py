"""`flexmb study`: simulations of a model file with many combinations of changed values."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flexmb.cli.measured import Measures, OverTime, added, dimensions_of, numbers_of, over_time
from flexmb.cli.starts import StartOf, change_of
from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    vary: Annotated[
        list[str],
        typer.Option(
            help="KEY=V1,V2,... or KEY=FIRST:LAST:COUNT, a key of the model file such as bodies.rod.modal_damping or "
            "joints.bearing.drive.speed. KEY,KEY=... gives the same values to several keys; names with commas are "
            "in quotes. Repeat for every combination."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Table to write (default: MODEL.study.csv).")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File for the outcomes: an interrupted study, started again, resumes from it.")
    ] = None,
    measure: Measures = None,
    over: OverTime = "largest",
    start: StartOf = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one for each core).")] = None,
    threads: Annotated[bool, typer.Option("--threads", help="Threads of one process in place of processes.")] = False,
    unit: Unit = None,
) -> None:
    """Simulate every combination of changed values; write and plot the largest forces, deflections and energies."""
    from fem.user_files import real_path
    from flexmb.cli.screen import bars, say_text
    from flexmb.cli.vary import all_varied
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.study_plots import dimension_of, plot_study
    from flexmb.simulation.simulate import simulate
    from flexmb.study import full_factorial, parameter_study
    from flexmb.units import shown_units

    varied = all_varied(vary)
    path, texts, selected = real_path(model), added(measure or ()), over_time(over)
    given, variants, units = change_of(start), full_factorial(**varied), _units(path)
    dimensions = _dimensions(path, texts, [given | changes for changes in variants]) if texts else {}
    if selected == "mean square":
        dimensions = dict.fromkeys(dimensions, "1")
    if unit and measure:
        shown_units(units, unit, *(dimensions.get(name) or dimension_of(name) for name in measure))

    def outcome(**changes: Any) -> dict[str, float]:
        loaded = load_model(path, given | changes)
        return numbers_of(simulate(loaded.system, loaded.duration, **loaded.options), texts, selected)

    try:
        with bars() as say:
            study = parameter_study(
                outcome,
                variants,
                workers=workers,
                threads=threads,
                checkpoint=checkpoint,
                progress=lambda done: say("variants", done),
            )
    except KeyboardInterrupt:
        kept = (
            f"{checkpoint} has the finished ones: the same command goes on with the others."
            if checkpoint
            else ("Their outcomes are lost; --checkpoint FILE keeps them, so that the same command goes on.")
        )
        say_text(f"Interrupted before all variants were finished. {kept}")
        raise
    say_text(study)
    table = study.write_csv(output or Path(f"{model.stem}.study.csv"))
    say_text(f"table: {table}")
    plot_study(study, table.with_suffix(".png"), measure or (), unit=unit, units=units, dimensions=dimensions)
    say_text(f"plot: {table.with_suffix('.png')}")


def _dimensions(path: Path, measures: Sequence[str], variants: Sequence[dict[str, Any]]) -> dict[str, str]:
    """`dimensions_of` the measures in the first variant that can be built; the study tells why others cannot."""
    from fem.errors import FlexmbError
    from flexmb.files.models.model_file import load_model

    for changes in variants:
        try:
            mechanism = load_model(path, changes).mechanism()
        except FlexmbError:
            continue
        return dimensions_of(measures, mechanism)
    return {}


def _units(path: Path) -> str | None:
    """The units that a model file names, without the bodies that it describes."""
    from flexmb.files.models.model_file import read_toml

    return read_toml(path).get("units")
