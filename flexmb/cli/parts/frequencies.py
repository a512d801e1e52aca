"""`flexmb frequencies`: natural frequencies of a part, held or free."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flexmb.cli.parts.options import BeamSection, Ignore, MaterialName, Thickness


def command(
    mesh: Annotated[Path, typer.Argument(help="Mesh file or deck: .msh, .inp, .bdf, .vtu, .med, .step, ...")],
    material: MaterialName = "file",
    thickness: Thickness = None,
    section: BeamSection = None,
    support: Annotated[
        list[str] | None,
        typer.Option(
            help="SET whose nodes do not move, or SET:COMPONENTS such as x0:012 (0 to 2 displacements, 3 to 5 "
            "rotations); for SET also plane/POINT/NORMAL, box/LOW/HIGH, nearest/POINT, node/NUMBER, ... Repeat for "
            "several. Without it, supports of the deck hold the part, or nothing does."
        ),
    ] = None,
    free: Annotated[bool, typer.Option("--free", help="Leave out the supports of the deck.")] = False,
    modes: Annotated[
        int | None, typer.Option(min=1, help="Number of modes, rigid-body modes included (default: 10).")
    ] = None,
    band: Annotated[float | None, typer.Option(help="All modes up to this frequency, in place of --modes.")] = None,
    ignore: Ignore = None,
    table: Annotated[
        Path | None, typer.Option(help="Table of frequencies and effective masses to write (.csv).")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of the first modes to write (.png).")] = None,
    units: Annotated[
        str | None, typer.Option(help="Units of the mesh for the labels of --picture, such as mm-t-s.")
    ] = None,
) -> None:
    """Find natural frequencies, mode shapes and effective masses of a part (modal analysis), held or free."""
    import fem
    from fem.errors import MeshError
    from fem.mesh.selection import from_text
    from fem.mesh.unread import SUPPORTS
    from flexmb.cli.parts.materials import section_from, shells_of
    from flexmb.cli.screen import at_work, say_text

    if mesh.suffix.lower() in (".toml", ".h5"):
        raise MeshError(
            f"{mesh}: flexmb frequencies takes the mesh of a part. Frequencies of a mechanism: flexmb modes "
            "MODEL.toml; flexmb reduce and flexmb.files.load_body print those of a body."
        )
    ignored = [*(ignore or ()), *(SUPPORTS if free else ())]
    places: dict[Any, Any] = {}
    for text in support or []:
        name, _, components = text.partition(":")
        if not name or (components and not components.isdigit()):
            raise MeshError(f"--support expects SET or SET:COMPONENTS, such as x0:012; found {text!r}.")
        places[from_text(name)] = tuple(int(c) for c in components) or None
    with at_work("modes"):
        loaded = fem.read_mesh(mesh, ignore=ignored, supports=None if free else "keep", shells=shells_of(thickness))
        part = fem.Model(loaded, section_from(material, thickness, section), name=mesh.stem)
        found = fem.natural_modes(part, modes, places, band=None if band is None else (0.0, band))
    say_text(found)
    if table is not None:
        say_text(f"table: {found.to_csv(table)}")
    if picture is not None:
        from flexmb.plots.pictures import picture_natural_modes

        say_text(f"picture: {picture_natural_modes(found, picture, units=units)}")
