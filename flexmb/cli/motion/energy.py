"""`flexmb energy`: the energy ledger of a result, in total and by element."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    result: Annotated[Path, typer.Argument(help="Result file (.h5) of `flexmb run`.")],
    elements: Annotated[
        bool, typer.Option("--elements", help="What each spring, damper, motor, load, driver and body does.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot over time (.png), of the elements with --elements.")] = None,
    table: Annotated[Path | None, typer.Option(help="Table of the elements over time (.csv).")] = None,
    units: Annotated[str | None, typer.Option(help='Labels, e.g. "mm-t-s"; nothing is converted.')] = None,
) -> None:
    """Print the energy ledger of a result; with --elements, the energy stored, dissipated and done by each element."""
    from flexmb.cli.screen import say_text, yellow_warnings
    from flexmb.files.results.result_file import load_result
    from flexmb.plots.result_plots import plot_energy, plot_energy_by_element
    from flexmb.results.table import write_columns

    with yellow_warnings():
        loaded = load_result(result)
        units = units or loaded.mechanism.units
        say_text(loaded.ledger)
        if elements or table is not None:
            found = loaded.energy_by_element()
            if elements:
                say_text(found)
            if table is not None:
                say_text(f"table: {write_columns(found.columns(), table, units)}")
            if elements and plot is not None:
                plot_energy_by_element(found, plot, units=units)
                say_text(f"plot: {plot}")
        if plot is not None and not elements:
            plot_energy(loaded, plot, units=units)
            say_text(f"plot: {plot}")
