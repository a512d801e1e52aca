"""`flexmb sensitivity`: derivatives of results by values of a model file."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from flexmb.files.models.model_file import ModelFile
    from flexmb.mechanism.system import System
    from flexmb.study import Gradient
    from flexmb.study.gradients.model import Model
    from flexmb.study.parameters import Progress

PLAIN = {"method": "generalised-alpha", "coordinates": "absolute", "project": False, "events": None}
"""Options of a model file that the adjoint and the direct method know."""


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    by: Annotated[list[str], typer.Option(help="A key that holds a number, such as bodies.crank.mass. Repeat for several.")],
    measure: Annotated[list[str] | None, typer.Option(help="Measure to plot, as named in the table. Repeat for several.")] = None,
    of: Annotated[str | None, typer.Option(help="One number only, such as 'force in bearing', by the adjoint method: some three runs in all, however many keys. Needs a fixed step.")] = None,
    direct: Annotated[bool, typer.Option("--direct", help="By the direct method, beside the motion: exact, without energies; some 2.5 runs a key. Needs a fixed step.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one a core).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.sensitivity.png).")] = None,
) -> None:  # fmt: skip
    """Differentiate the largest forces, deflections and energies by values of a model; print and plot."""
    from flexmb.cli.screen import bars, say_text
    from flexmb.files.models.changes import number_at
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.study_plots import plot_gradient
    from flexmb.simulation.simulate import simulate
    from flexmb.study import direct_gradient, gradient, peaks

    loaded = load_model(model)  # tells what is wrong with the file before anything is run
    data = tomllib.loads(model.read_text(encoding="utf-8-sig"))
    path, at = model.resolve(), {key: number_at(data, key) for key in by}

    def system(**changes: Any) -> "System":
        return load_model(path, changes).system

    def outcome(**changes: Any) -> dict[str, float]:
        changed = load_model(path, changes)
        return peaks(simulate(changed.system, changed.duration, **changed.options))

    with bars() as say:

        def show(done: float) -> None:
            say("runs", done)

        if of is not None:
            found, measure = _adjoint(system, at, loaded, of, show), [of]
        elif direct:
            found = direct_gradient(system, at, loaded.duration, progress=show, **_plain_steps(loaded))
        else:
            found = gradient(outcome, at, workers=workers, progress=show)
    say_text(found)
    say_text(f"plot: {plot_gradient(found, plot or Path(f'{model.stem}.sensitivity.png'), measure or ())}")


def _adjoint(system: "Model", at: dict[str, float], loaded: "ModelFile", of: str, show: "Progress") -> "Gradient":
    """The gradient of the largest value of one series of `peaks`."""
    from fem.errors import unknown_name
    from flexmb.errors import StudyError
    from flexmb.study import adjoint_gradient, peak_series

    series = peak_series(loaded.system.build())
    if of not in series:
        raise StudyError(unknown_name("series", of, series))
    return adjoint_gradient(system, at, loaded.duration, series[of], name=of, progress=show, **_plain_steps(loaded))


def _plain_steps(loaded: "ModelFile") -> dict[str, Any]:
    """The options of `simulate` that the adjoint and direct methods know; raises `StudyError` when the file has others."""
    from flexmb.errors import StudyError

    given = loaded.options
    others = [key for key, plain in PLAIN.items() if given.get(key, plain) != plain]
    if given["step"] is None or others:
        found = ", ".join([*others, *(() if given["step"] else ("no step",))])
        raise StudyError(
            f"The adjoint and direct methods need simulation.step, and plain generalised-alpha steps; the model file has {found}. Change that, or leave --of and --direct out."
        )
    return {key: given[key] for key in ("step", "output_step", "rho_inf")}
