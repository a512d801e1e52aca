"""`flexmb modes`: natural vibrations of a whole mechanism."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    start: Annotated[
        bool, typer.Option("--start", help="Linearise about the initial motion, not about the equilibrium.")
    ] = False,
    running: Annotated[
        bool, typer.Option("--running", help="Linearise about the steady running near the initial motion (vehicles).")
    ] = False,
    along: Annotated[
        int | None, typer.Option(min=2, help="Also linearise at this many times of the simulated motion, frozen there.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.modes.png).")] = None,
    unit: Unit = None,
) -> None:
    """Find the equilibrium of a mechanism near its initial state; print and plot frequencies, damping and stability."""
    from fem.files.mesh_files import is_mesh_file
    from flexmb.cli.screen import bars, say_left_out, say_text, yellow_warnings
    from flexmb.errors import LinearError
    from flexmb.files.models.model_file import load_model
    from flexmb.linear import along_motion, equilibrium, linearise, steady_running
    from flexmb.plots.linear_plots import plot_eigenvalue_loci, plot_eigenvalues
    from flexmb.simulation.detection.checks import require_within_stops
    from flexmb.simulation.simulate import simulate

    if is_mesh_file(model):
        raise LinearError(
            f"{model}: flexmb modes takes the model file (.toml) of a mechanism. Natural frequencies of a part, from "
            f"its mesh: flexmb frequencies {model}."
        )
    if start and running:
        raise LinearError("--start and --running are two states to linearise about. Omit one of them.")
    with yellow_warnings():
        loaded = load_model(model)
        mechanism = loaded.mechanism()
        state = None
        if start:
            say_left_out(loaded.options.get("events"), stops=True)
        if not start:
            rest = (steady_running if running else equilibrium)(mechanism)
            require_within_stops(rest.result, loaded.options.get("events", ()))
            say_left_out(loaded.options.get("events"))
            say_text(rest)
            state = rest.state
        linear = linearise(mechanism, state)
        vibration = linear.modes()
    say_text(vibration)
    if linear.ignorable:
        say_text(f"ignorable: {', '.join(linear.ignorable)}")
    path = plot or Path(f"{model.stem}.modes.png")
    plot_eigenvalues(vibration, path, unit=unit)
    say_text(f"plot: {path}")
    if along is not None:
        with bars() as say:
            result = simulate(
                loaded.system, loaded.duration, **loaded.options, progress=lambda done: say("motion", done)
            )
            loci = along_motion(result, times=along, progress=lambda done: say("vibrations", done))
        say_text(loci)
        path = Path(f"{model.stem}.along.png")
        plot_eigenvalue_loci(loci, path, unit=unit)
        say_text(f"plot: {path}")
