"""`flexmb response`: responses of a mechanism to harmonic loads, torques and motions."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            help="A load, motor, spring, driven joint, or JOINT.x of a prescribed joint. Repeat for several.",
        ),
    ],
    outputs: Annotated[
        list[str],
        typer.Option(
            "--output",
            help="KIND:NAME:AXIS (position, velocity, angular-velocity, deflection of a marker; force, moment of a "
            "joint; x, y, z), or coordinate:JOINT. Repeat for several.",
        ),
    ],
    band: Annotated[
        str,
        typer.Option(
            help="Frequencies FIRST:LAST or FIRST:LAST:COUNT, spaced evenly in their logarithm; those of damped "
            "vibrations, where peaks are, are added."
        ),
    ],
    moving: Annotated[
        bool, typer.Option("--moving", help="Linearise about the steady motion at the initial speeds.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--table", help="Table to write (default: MODEL.response.csv).")
    ] = None,
    unit: Unit = None,
) -> None:
    """Find the equilibrium of a mechanism; write and plot its frequency responses there."""
    import numpy as np

    from flexmb.cli.screen import say_left_out, say_text, yellow_warnings
    from flexmb.cli.vary import span_of
    from flexmb.files.models.model_file import load_model
    from flexmb.linear import equilibrium, frequency_response, linearise, steady_motion, with_peaks
    from flexmb.plots.linear_plots import plot_response
    from flexmb.results.measure import measure
    from flexmb.simulation.detection.checks import require_within_stops

    first, last, count = span_of("--band", band, default=400)
    measures = {text: measure(text) for text in outputs}
    with yellow_warnings():
        loaded = load_model(model)
        rest = (steady_motion if moving else equilibrium)(loaded.mechanism())
        require_within_stops(rest.result, loaded.options.get("events", ()))
        say_left_out(loaded.options.get("events"))
        say_text(rest)
        small = linearise(rest)
        frequencies = with_peaks(np.geomspace(first, last, count), small.modes())
        response = frequency_response(small, frequencies, inputs, measures)
    say_text(response)
    table = response.write_csv(output or Path(f"{model.stem}.response.csv"))
    say_text(f"table: {table}")
    plot_response(response, table.with_suffix(".png"), unit=unit)
    say_text(f"plot: {table.with_suffix('.png')}")
