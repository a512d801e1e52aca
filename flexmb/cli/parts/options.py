"""Options that several commands for parts share."""

from typing import Annotated

import typer

MATERIALS = (
    '"steel", "aluminium", or "E,nu,density"; ":mm" after a name for mm-t-s units; "file": materials and sections of a '
    "deck, the default."
)

MaterialName = Annotated[str, typer.Option(help=MATERIALS)]
Thickness = Annotated[
    float | None,
    typer.Option(
        help="Thickness of a surface mesh without one: its triangles and quadrilaterals are shells of --material."
    ),
]
