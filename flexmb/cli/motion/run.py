"""`flexmb run`: simulate a model file."""

import re
from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.starts import WORDS, change_of, result_file
from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Result file (default: MODEL.result.h5 in the current folder)."),
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Duration, in place of that in the file.")] = None,
    step: Annotated[
        float | None, typer.Option(help="Time step, in place of step, max_step and tolerance in the file.")
    ] = None,
    max_step: Annotated[
        float | None, typer.Option(help="Largest step, in place of that in the file; the step then adapts.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="|".join((*WORDS, "FILE")),
            help="Start as drawn, or from the equilibrium, in place of simulation.start; or from the last state of a "
            "result file (.h5): that of a run (restart), or of flexmb equilibrium.",
        ),
    ] = None,
    unit: Unit = None,
) -> None:
    """Simulate a mechanism; write its result and plots of its energies and controllers."""
    import flexmb
    from flexmb.cli.screen import bars, say_text
    from flexmb.files.models.model_file import load_model
    from flexmb.files.results.result_file import load_result, save_result
    from flexmb.files.storage.tree import require_own
    from flexmb.plots.result_plots import plot_controller, plot_energy

    target = output or Path(f"{model.stem}.result.h5")
    require_own(target, "result")
    with bars() as say:
        continued = None if start is None or start in WORDS else result_file(start)
        loaded = load_model(model, change_of(start if continued is None else None))
        options = loaded.options_at(step) | ({} if max_step is None else {"max_step": max_step, "step": step})
        if continued is not None:
            options["initial_state"] = load_result(continued).state(-1)
        span = loaded.duration if duration is None else duration
        result = flexmb.simulate(loaded.system, span, progress=lambda done: say("simulating", done), **options)
    say_text(result)
    path = save_result(result, target)
    say_text(f"result: {path}")
    plot = Path(f"{model.stem}.energy.png") if output is None else path.with_suffix(".energy.png")
    plot_energy(result, plot, unit=unit)
    say_text(f"energies: {plot}")
    for controller in result.mechanism.controllers:
        word = re.sub(r"[^-.\w]+", "-", controller.name)
        drawn = plot.with_name(plot.name.replace(".energy.", f".{word}."))
        plot_controller(result, controller.name, drawn)
        say_text(f"{result.controller(controller.name)}\ndrawn: {drawn}")
