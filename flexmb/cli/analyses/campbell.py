"""`flexmb campbell`: natural vibrations over speed, or over any other value of a model file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexmb.cli.units import Unit

if TYPE_CHECKING:
    from flexmb.mechanism.mechanism import Mechanism


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    vary: Annotated[
        list[str],
        typer.Option(
            help="KEY=FIRST:LAST:COUNT or KEY=V1,V2,...: the speed of a driver, an initial speed, or any other key of "
            "the model file; KEY,KEY=... gives the same values to several keys. Two options give a map of stability."
        ),
    ],
    moving: Annotated[
        bool,
        typer.Option("--moving/--rest", help="Linearise about the steady motion at the initial speeds, or at rest."),
    ] = True,
    running: Annotated[
        bool, typer.Option("--running", help="Linearise about steady running: of a car on tyres, for instance.")
    ] = False,
    count: Annotated[int, typer.Option(min=1, help="Number of vibrations to follow.")] = 10,
    order: Annotated[
        list[int] | None, typer.Option(help="Draw the line of ORDER excitations per revolution. Repeat for several.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.campbell.png).")] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Name of a mode in the diagram. Repeat, one for each of --count.")
    ] = None,
    unit: Unit = None,
) -> None:
    """Follow vibrations over one value of the model (Campbell diagram, root locus), or map stability over two."""
    from flexmb.cli.screen import bars, say_left_out, say_text
    from flexmb.cli.vary import all_varied
    from flexmb.errors import StudyError
    from flexmb.files.models.model_file import load_model
    from flexmb.linear import campbell, equilibrium, root_locus, stability_map, steady_motion, steady_running
    from flexmb.mechanism.compile import compiled
    from flexmb.plots.linear_plots import plot_eigenvalue_loci, plot_stability
    from flexmb.simulation.detection.checks import require_within_stops
    from flexmb.simulation.events import StopImpact

    varied = list(all_varied(vary).items())
    if len(varied) > 2:
        raise StudyError(f"A diagram varies one value, a map two; found {len(varied)}: {[key for key, _ in varied]}.")
    path = plot or Path(f"{model.stem}.campbell.png")

    left_out: dict[str, Any] = {}

    def changed(changes: dict[str, Any]) -> "Mechanism":
        loaded = load_model(model, changes)
        mechanism, events = loaded.mechanism(), loaded.options.get("events", ())
        left_out.update((event.name, event) for event in events)
        if any(isinstance(event.do, StopImpact) for event in events):  # which the diagrams do not know
            rolls = len(varied) == 1 and (running or compiled(mechanism).velocity_rows > 0)
            rest = equilibrium if not moving else steady_running if rolls else steady_motion
            require_within_stops(rest(mechanism).result, events)
        return mechanism

    with bars() as say:
        if len(varied) == 2:
            (x, xs), (y, ys) = varied
            chart = stability_map(
                lambda a, b: changed({x: a, y: b}),
                xs,
                ys,
                (x, y),
                moving,
                lambda done: say("points", done),
            )
            plot_stability(chart, path)
            found: object = chart
        else:
            key, values = varied[0]
            follow = partial(campbell, running=running or None) if moving else root_locus
            loci = follow(
                lambda value: changed({key: value}),
                values,
                count,
                key,
                lambda done: say(key, done),
            )
            plot_eigenvalue_loci(loci, path, order or (), names=name, unit=unit)
            found = loci
    say_left_out(left_out.values())
    say_text(found)
    say_text(f"plot: {path}")
