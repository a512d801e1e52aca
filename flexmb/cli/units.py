"""The options of the verbs that plot: the units to show."""

from typing import Annotated

import typer


def _known(names: list[str] | None) -> list[str]:
    """The names; an empty list, which typer turns into None, without the option. Refuses a unit that no plot can show,
    before anything is computed."""
    from fem.errors import unknown_name
    from flexmb.units import CHOICES

    known = {symbol for choices in CHOICES.values() for symbol in choices}
    for name in names or ():
        if name not in known:
            raise typer.BadParameter(unknown_name("unit", name, known))
    return names or []


Unit = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        callback=_known,
        help='Unit to plot in, such as "deg", "kN", "ms" or "rpm"; all but angles need the units of the model. '
        "Repeat for several.",
    ),
]
"""Units to which a plot converts; None without the option."""
