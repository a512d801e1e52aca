"""Options that several commands for parts share."""

from typing import Annotated

import typer

MATERIALS = (
    '"steel", "aluminium", or "E,nu,density"; ":mm" after a name for mm-t-s units; "file": materials and sections of a '
    "deck, the default."
)

MaterialName = Annotated[str, typer.Option(help=MATERIALS)]
Cells = Annotated[
    list[str] | None,
    typer.Option(help="Cell set of which the part consists, of a file with several parts. Repeat for several."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        help="Keyword of the mesh file whose effect the part may lack, such as BOUNDARY, TIE, MATERIAL, or STEP for "
        "everything in analysis steps. Repeat for several."
    ),
]
Thickness = Annotated[
    float | None,
    typer.Option(
        help="Thickness of a surface mesh without one: its triangles and quadrilaterals are shells of --material."
    ),
]
BeamSection = Annotated[
    str | None,
    typer.Option(
        "--section",
        help="Section of beams, which the lines of a mesh without one become: circle=DIAMETER, tube=OUTER,INNER, "
        "rectangle=WIDTH_Y,WIDTH_Z or box=WIDTH_Y,WIDTH_Z,WALL, of --material. Model files have all others.",
    ),
]
