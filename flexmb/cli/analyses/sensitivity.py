"""`flexmb sensitivity`: derivatives of results with respect to values of a model file."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexmb.cli.measured import Measures, OverTime, added, numbers_of, over_time, values_of

if TYPE_CHECKING:
    import numpy as np

    from flexmb.files.models.model_file import ModelFile
    from flexmb.mechanism.mechanism import Mechanism
    from flexmb.results.result import Result
    from flexmb.study import Gradient
    from flexmb.study.gradients.model import Model
    from flexmb.study.gradients.seeds import Over, Series
    from flexmb.study.parameters import Progress

PLAIN = {
    "method": "generalised-alpha",
    "coordinates": "absolute",
    "project": False,
    "events": None,
}
"""Values that the options of a model file must have for the adjoint and the direct method."""


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    by: Annotated[
        list[str], typer.Option(help="A key whose value is a number, such as bodies.crank.mass. Repeat for several.")
    ],
    measure: Measures = None,
    over: OverTime = "largest",
    of: Annotated[
        str | None,
        typer.Option(
            help="Differentiate one number only, such as 'force in bearing' or position:rod.end:x, by its value --over "
            "time, by the adjoint method: about three runs in all, for any number of keys. Needs a fixed step."
        ),
    ] = None,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct",
            help="Use the direct method, beside the motion: exact, without energies; about 2.5 runs for each key. "
            "Needs a fixed step.",
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one for each core).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write (default: MODEL.sensitivity.png).")] = None,
) -> None:
    """Differentiate the largest forces, deflections and energies with respect to values of a model; print and plot."""
    from fem.user_files import real_path
    from flexmb.cli.screen import bars, say_text
    from flexmb.files.models.changes import number_at
    from flexmb.files.models.model_file import load_model
    from flexmb.plots.study_plots import plot_gradient
    from flexmb.simulation.simulate import simulate
    from flexmb.study import direct_gradient, gradient
    from flexmb.study.peaks import peaks_of_states

    loaded = load_model(model)  # reports errors of the file before any run
    data = tomllib.loads(model.read_text(encoding="utf-8-sig"))
    path, at = real_path(model), {key: number_at(data, key) for key in by}
    texts, selected = added(measure or ()), over_time(over)

    def system(**changes: Any) -> "Mechanism":
        return load_model(path, changes).started()

    def outcome(**changes: Any) -> dict[str, float]:
        changed = load_model(path, changes)
        return numbers_of(simulate(changed.system, changed.duration, **changed.options), texts, selected)

    def of_states(result: "Result") -> dict[str, float]:
        return peaks_of_states(result) | values_of(result, texts, selected)

    with bars() as say:

        def show(done: float) -> None:
            say("runs", done)

        if of is not None:
            found, measure = _adjoint(system, at, loaded, of, selected, show), [of]
        elif direct:
            found = direct_gradient(
                system, at, loaded.duration, measure=of_states, progress=show, **_plain_steps(loaded)
            )
        else:
            found = gradient(outcome, at, workers=workers, progress=show)
    say_text(found)
    drawn = plot or Path(f"{model.stem}.sensitivity.png")
    plot_gradient(found, drawn, measure or ())
    say_text(f"plot: {drawn}")


def _adjoint(
    system: "Model", at: dict[str, float], loaded: "ModelFile", of: str, over: "Over", show: "Progress"
) -> "Gradient":
    """The gradient of the value that `over` selects of one series of `peaks`, or of a measure."""
    from fem.errors import unknown_name
    from flexmb.errors import StudyError
    from flexmb.results.measure import measure
    from flexmb.study import adjoint_gradient, peak_series

    def series_of(mechanism: "Mechanism") -> "Series":
        known = peak_series(mechanism)
        if ":" in of and of not in known:
            return measure(of)
        if of not in known:
            raise StudyError(unknown_name("series", of, known))
        return known[of]

    base = loaded.system.build()
    if not base.contacts:  # whose points are joints, with forces, in the derivatives only
        series_of(base)

    def wanted(result: "Result") -> "np.ndarray":
        return series_of(result.mechanism)(result)

    return adjoint_gradient(
        system, at, loaded.duration, wanted, name=of, over=over, progress=show, **_plain_steps(loaded)
    )


def _plain_steps(loaded: "ModelFile") -> dict[str, Any]:
    """The options of `simulate` for the adjoint and direct methods. Raises `StudyError` if the file has others."""
    from flexmb.errors import StudyError

    given = loaded.options
    others = [key for key, plain in PLAIN.items() if given.get(key, plain) != plain]
    if given["step"] is None or others:
        found = ", ".join([*others, *(() if given["step"] else ("no step",))])
        raise StudyError(
            "The adjoint and direct methods need simulation.step, and plain generalised-alpha steps; the model file "
            f"has {found}. Change it, or omit --of and --direct."
        )
    return {key: given[key] for key in ("step", "output_step", "rho_inf")}
