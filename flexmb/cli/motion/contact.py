"""`flexmb contact`: what the contacts of a result do."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    result: Annotated[Path, typer.Argument(help="Result file (.h5) of `flexmb run` or `flexmb equilibrium`.")],
    name: Annotated[str | None, typer.Option(help="One contact or group of contacts instead of all.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Gap, forces, slip and impacts of a contact over time, of a flexible surface also pressure and area; "
            "pairs, depth and forces of a group (.png)."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="The same with the power of wear, of a flexible surface also pressure and area, or with the energy "
            "of a group (.csv)."
        ),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            help="Units of the model for the labels of --plot and --table, such as mm-t-s; nothing is converted "
            "(default: those of the model)."
        ),
    ] = None,
    unit: Unit = None,
) -> None:
    """Print gap, forces, slip and impacts of the contacts of a result, pressure and area of flexible surfaces, and what
    its groups of contacts do."""
    from flexmb.cli.screen import say_text, yellow_warnings
    from flexmb.files.results.result_file import load_result
    from flexmb.plots.result_plots import plot_contact
    from flexmb.results.elements.contact import held_contacts, named_contacts, one_of
    from flexmb.results.elements.contact_group import groups_of
    from flexmb.results.table import write_columns

    with yellow_warnings():
        loaded = load_result(result)
        units, groups = units or loaded.mechanism.units, groups_of(loaded.mechanism)
        held = held_contacts(loaded) if (name, plot, table) == (None, None, None) else []
        for text in held:
            say_text(text)
        if held and not named_contacts(loaded.mechanism):
            return
        names = one_of(loaded.mechanism, name, single=plot is not None or table is not None)
        found = [loaded.contact_group(each) if each in groups else loaded.contact(each) for each in names]
        surfaces = [contact.name for contact in loaded.mechanism.surface_contacts]
        pressed = [loaded.surface_contact(each) for each in names if each in surfaces]
        for contact in (*found, *pressed):
            say_text(contact)
        if plot is not None:
            plot_contact(pressed[0] if pressed else found[0], plot, unit=unit, units=units)
            say_text(f"plot: {plot}")
        if table is not None:
            columns = found[0].columns() | (pressed[0].columns() if pressed else {})
            say_text(f"table: {write_columns(columns, table, units)}")
