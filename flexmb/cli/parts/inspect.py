"""`flexmb inspect`: the content of a mesh file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexmb.cli.parts.options import MATERIALS, BeamSection, Cells, Ignore, Thickness

if TYPE_CHECKING:
    from fem import Model


def command(
    mesh: Annotated[Path, typer.Argument(help="Mesh file: .msh, .inp, .vtu, .bdf, .med, ...")],
    material: Annotated[
        str, typer.Option(help=f"{MATERIALS[:-1]} where it has some. Mass properties are shown with it.")
    ] = "",
    thickness: Thickness = None,
    section: BeamSection = None,
    cells: Cells = None,
    ignore: Ignore = None,
    surface: Annotated[
        list[str] | None,
        typer.Option(
            help="SET, or a selection such as plane/POINT/NORMAL: area, node spacing and curvature of the surface "
            "where other bodies touch. Repeat for several."
        ),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of the mesh to write (.png).")] = None,
) -> None:
    """Show elements, sets, quality and mass properties of a mesh file, and draw it."""
    import fem
    from fem.mesh.check import check_mesh
    from fem.mesh.selection import from_text
    from fem.mesh.surface import surface_of
    from flexmb.cli.parts.materials import section_from, shells_of
    from flexmb.cli.screen import say_text, yellow_warnings

    with yellow_warnings():
        part = section_from(material, thickness, section)
        loaded = fem.read_mesh(mesh, ignore=ignore or (), shells=shells_of(thickness))
        loaded = fem.extract_cells(loaded, cells) if cells else loaded
        say_text(loaded)
        say_text(check_mesh(loaded))
        for text in surface or []:
            say_text(surface_of(loaded, text, from_text(text), loaded.name))
        if part is not None:
            _say_mass(fem.Model(loaded, part), material)
        elif material or loaded.declared:
            try:
                _say_mass(fem.Model(loaded), "the materials of the file")
            except fem.MaterialError as error:
                if material:
                    raise
                say_text(f"mass unknown. {error}")
    if picture is not None:
        from flexmb.plots.pictures import picture_mesh

        say_text(f"picture: {picture_mesh(loaded, picture)}")


def _say_mass(part: "Model", of: str) -> None:
    """Print the mass properties of a part, and what its file says of materials that they do not contain."""
    import numpy as np

    from fem.mesh.unread import listed
    from flexmb.cli.screen import say_text

    assert part.mesh is not None
    centre = np.round(part.centre_of_mass, 9)
    say_text(f"mass {part.mass:.8g}, of {of}, centre {centre}, inertia about the centre\n{part.inertia()}")
    for text in listed([u for u in part.unread if u not in part.mesh.unread]):
        say_text(f"not in this mass: {text}")
