"""`flexmb inverse`: efforts of motors for a prescribed motion."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml) with `servos`, see docs/model-files.md.")],
    actuator: Annotated[list[str], typer.Option(help="A motor whose effort is computed. Repeat: as many as servos.")],
    step: Annotated[float, typer.Option(help="Time step of the efforts.")],
    before: Annotated[
        float, typer.Option(min=0, help="Time before the motion in which efforts may already act.")
    ] = 0.0,
    after: Annotated[float, typer.Option(min=0, help="Time after the motion in which efforts may still act.")] = 0.0,
    order: Annotated[
        int | None,
        typer.Option(help="Feedforward of this order (0, 2, 4, ...), which does not begin before the motion."),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Table to write (default: MODEL.inverse.csv).")] = None,
    unit: Unit = None,
) -> None:
    """Compute the efforts by which a mechanism, with flexible bodies, moves as prescribed; write and plot them."""
    from flexmb.analyses.feedforward import feedforward
    from flexmb.analyses.inverse_dynamics import inverse_dynamics
    from flexmb.cli.screen import bars, say_text
    from flexmb.errors import InverseError
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.linear_plots import plot_inverse
    from flexmb.results.elements.motion import element_dofs
    from flexmb.results.table import Column, write_columns
    from flexmb.simulation.detection.checks import require_motion_within_stops

    if order is not None and before:
        raise InverseError(f"A feedforward (--order {order}) does not begin before the motion: omit --before.")
    with bars() as say:

        def show(done: float) -> None:
            say("efforts", done)

        loaded = load_model(model)
        asked = (loaded.mechanism(), loaded.servos, actuator, loaded.duration, step)
        if order is None:
            found = inverse_dynamics(*asked, before=before, after=after, progress=show)
        else:
            found = feedforward(*asked, order=order, after=after, progress=show)
        require_motion_within_stops(found.result, loaded.options.get("events") or ())
    say_text(found)
    columns, mechanism = {"t": Column(found.t, "time")}, found.result.mechanism
    for name, effort in zip(found.actuators, found.efforts.T, strict=True):
        turns = element_dofs(mechanism, name)[0].startswith("rotation")
        columns[name] = Column(effort, "moment" if turns else "force")
    path = write_columns(columns, table or Path(f"{model.stem}.inverse.csv"), mechanism.units)
    plot_inverse(found, path.with_suffix(".png"), unit=unit)
    say_text(f"table: {path}\nplot: {path.with_suffix('.png')}")
