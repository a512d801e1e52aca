"""`flexmb stress`: stresses of a simulated motion."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    result: Annotated[Path, typer.Argument(help="Result file (.h5) that `flexmb run` wrote.")],
    body: Annotated[str | None, typer.Option(help="Body (default: all that have stresses).")] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=X,Y,Z in the frame of --body: add its stress history to the table. Repeat for several."
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Table of the histories of --point (default: RESULT.BODY.stress.csv).")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Picture at the time of the largest stress to write (default: RESULT.BODY.stress.picture.png)."
        ),
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Write no picture.")] = False,
    magnification: Annotated[float, typer.Option(help="Factor of the deformation in the picture.")] = 1.0,
    unit: Unit = None,
) -> None:
    """Compute stresses: the largest von Mises stress over time, histories at points, and a coloured picture."""
    from flexmb.cli.screen import say_text
    from flexmb.errors import StressError
    from flexmb.files import load_result
    from flexmb.plots.pictures import picture_result
    from flexmb.plots.result_plots import plot_stress
    from flexmb.results.stress import largest_stress, write_stress_csv

    found = load_result(result)
    having = [b.name for b in found.mechanism.bodies if b.stress is not None]
    if not having and body is None:
        raise StressError(f"No body in {result} has stresses: they need a flexible body made from a mesh.")
    if point and body is None and len(having) > 1:
        raise StressError(f"--point is in the frame of a body; name it with --body. Bodies with stresses: {having}.")
    if picture is not None and body is None and len(having) > 1:
        raise StressError(f"--picture is of one body; name it with --body. Bodies with stresses: {having}.")
    if table is not None and not point:
        raise StressError(f"--table {table} holds the histories at points; name them with --point NAME=X,Y,Z.")
    for name in [body] if body is not None else having:
        largest = largest_stress(found, name)
        say_text(largest)
        stem = f"{result.stem}.{name}.stress"
        plot_stress(largest, Path(f"{stem}.png"), unit=unit)
        say_text(f"plot: {stem}.png")
        if point:
            written = write_stress_csv(found, name, dict(map(_point, point)), table or Path(f"{stem}.csv"))
            say_text(f"table: {written}")
        if not no_picture:
            index, path = int(largest.values.argmax()), picture or Path(f"{stem}.picture.png")
            say_text(f"picture: {picture_result(found, path, index, magnification, stress=True)}")


def _point(text: str) -> tuple[str, list[float]]:
    from flexmb.errors import StressError

    name, _, numbers = text.partition("=")
    try:
        coordinates = [float(x) for x in numbers.split(",")]
    except ValueError:
        coordinates = []
    if not name or len(coordinates) != 3:
        raise StressError(f"--point expects NAME=X,Y,Z; found {text!r}.")
    return name, coordinates
