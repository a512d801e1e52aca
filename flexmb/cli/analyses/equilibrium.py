"""`flexmb equilibrium`: where a mechanism rests."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="Model file (.toml), see docs/model-files.md.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Result file of one time (default: MODEL.rest.h5).")
    ] = None,
    time: Annotated[float | None, typer.Option(help="Time of functions of time, by default the initial one.")] = None,
) -> None:
    """Find the equilibrium of a mechanism near its initial state; print its contacts, and write it as a result."""
    from flexmb.cli.screen import say_left_out, say_text, yellow_warnings
    from flexmb.files.models.model_file import load_model
    from flexmb.files.results.result_file import save_result
    from flexmb.files.storage.tree import require_own
    from flexmb.linear import equilibrium
    from flexmb.results.elements.contact import contacts_of, held_contacts
    from flexmb.simulation.detection.checks import require_within_stops

    target = output or Path(f"{model.stem}.rest.h5")
    require_own(target, "result")
    with yellow_warnings():
        loaded = load_model(model)
        rest = equilibrium(loaded.mechanism(), time)
        require_within_stops(rest.result, loaded.options.get("events", ()))
        say_left_out(loaded.options.get("events"))
        say_text(rest)
        result, surfaces = rest.result, [contact.name for contact in rest.mechanism.surface_contacts]
        for text in held_contacts(result):
            say_text(text)
        for name in contacts_of(rest.mechanism):
            say_text(result.surface_contact(name) if name in surfaces else result.contact(name))
        say_text(f"result: {save_result(result, target)}")
