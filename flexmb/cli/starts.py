"""Where the simulations of a command start: as drawn, or from the equilibrium of each mechanism."""

from typing import Annotated, Any

import typer

WORDS = ("drawn", "equilibrium")
StartOf = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(WORDS),
        help="Start as drawn, or from the equilibrium of each variant, in place of simulation.start in the file.",
    ),
]


def change_of(start: str | None) -> dict[str, Any]:
    """The change of a model file by which its simulations start elsewhere; none for None."""
    return {} if start is None else {"simulation.start": start}
