"""`flexmb contact`: what the contacts of a result do."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    result: Annotated[Path, typer.Argument(help="Result file (.h5) of `flexmb run`.")],
    name: Annotated[str | None, typer.Option(help="One contact instead of all, for --plot and --table.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Gap, forces and slip of a contact over time (.png).")] = None,
    table: Annotated[Path | None, typer.Option(help="The same with the power of wear (.csv).")] = None,
    units: Annotated[str | None, typer.Option(help='Labels, e.g. "mm-t-s"; nothing is converted.')] = None,
) -> None:
    """Print gap, forces and slip of the contacts of a result."""
    from flexmb.cli.screen import say_text, yellow_warnings
    from flexmb.files.results.result_file import load_result
    from flexmb.plots.result_plots import plot_contact
    from flexmb.results.elements.contact import contacts_of, one_of
    from flexmb.results.elements.contact_group import groups_of
    from flexmb.results.table import write_columns

    with yellow_warnings():
        loaded = load_result(result)
        units = units or loaded.mechanism.units
        groups = groups_of(loaded.mechanism)
        chosen = [group for group in groups if name in (None, group)]
        if plot is None and table is None:
            for group in chosen:
                say_text(loaded.contact_group(group))
            if chosen and (name is not None or not contacts_of(loaded.mechanism)):
                return
        names = one_of(loaded.mechanism, name, single=plot is not None or table is not None)
        found = [loaded.contact(each) for each in names]
        for contact in found:
            say_text(contact)
        if plot is not None:
            plot_contact(found[0], plot, units=units)
            say_text(f"plot: {plot}")
        if table is not None:
            say_text(f"table: {write_columns(found[0].columns(), table, units)}")
