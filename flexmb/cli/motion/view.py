"""`flexmb view`: pictures and animations of a result."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.units import Unit


def command(
    result: Annotated[Path, typer.Argument(help="Result file (.h5) of `flexmb run`.")],
    picture: Annotated[Path | None, typer.Option(help="Picture of the mechanism at --time (.png).")] = None,
    animation: Annotated[Path | None, typer.Option(help="Animation: .mp4, .webp, .gif or .html.")] = None,
    energy: Annotated[Path | None, typer.Option(help="Plot of the energy ledger (.png).")] = None,
    paraview: Annotated[Path | None, typer.Option(help="Folder for VTU files and a .pvd collection.")] = None,
    gltf: Annotated[Path | None, typer.Option(help="glTF file (.glb) that browsers, slides and Blender play.")] = None,
    metres: Annotated[float, typer.Option(help="Metres in the unit of length, for --gltf.")] = 1.0,
    page: Annotated[
        Path | None, typer.Option(help="Page (.html) with the motion in 3D and its plots; needs no server.")
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="Units of time in a second of the playback (default: 1 for --gltf; --page takes 8 s)."),
    ] = None,
    max_targets: Annotated[
        int | None,
        typer.Option(help="Largest number of morph targets of a body, for --gltf and --page (default: all)."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Open the result in a browser, until interrupted (needs the extra `viewer`).")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of --live on this machine; 0 takes any that is free.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser for --live.")] = True,
    time: Annotated[float | None, typer.Option(help="Time of the picture (default: the end).")] = None,
    magnification: Annotated[float, typer.Option(help="Factor by which the deformation is drawn larger.")] = 1.0,
    stress: Annotated[
        bool, typer.Option("--stress", help="Colour flexible bodies of --picture and --animation by stress.")
    ] = False,
    pressure: Annotated[
        bool, typer.Option("--pressure", help="Paint the pressures on flexible surfaces in --picture and --animation.")
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Write the names of the bodies beside them.")] = False,
    table: Annotated[
        Path | None,
        typer.Option(help="Table of --measure, or of paths, joints, energies (.csv, or .parquet with pandas)."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot of --measure, or of the joints (.png).")] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help='What --table and --plot show, e.g. "acceleration:rod.end:x". Repeatable.')
    ] = None,
    over: Annotated[
        str | None, typer.Option(help='Measure for the horizontal axis of --plot, e.g. "rate:damper" (default: time).')
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            help="Units of the model for the labels of --table, --plot and --energy, such as mm-t-s; nothing is "
            "converted (default: those of the model)."
        ),
    ] = None,
    unit: Unit = None,
) -> None:
    """Print a result, draw it, animate it, open it in a browser, or write it as glTF or for ParaView."""
    import numpy as np

    from flexmb.cli.screen import bars, say_text
    from flexmb.errors import PictureError
    from flexmb.files.results.gltf_file import write_gltf
    from flexmb.files.results.result_file import load_result
    from flexmb.files.results.table_file import write_table
    from flexmb.files.results.vtk_file import export_vtk
    from flexmb.plots import pictures
    from flexmb.plots.result_plots import plot_energy

    if picture is None and animation is None:
        for asked, option in ((stress, "--stress"), (pressure, "--pressure")):
            if asked:
                raise PictureError(
                    f"{option} colours pictures and animations: give --picture or --animation too. glTF files and "
                    "pages have no such colours; files for ParaView have the values, and --live has a box for stress."
                )
    loaded = load_result(result)
    say_text(loaded)
    with bars() as say:
        if picture is not None:
            index = -1 if time is None else int(np.abs(loaded.t - time).argmin())
            drawn = pictures.picture_result(loaded, picture, index, magnification, stress, labels, pressure)
            say_text(f"picture: {drawn}")
        if energy is not None:
            plot_energy(loaded, energy, unit=unit, units=units)
            say_text(f"energies: {energy}")
        if animation is not None:
            path = pictures.animate(
                loaded,
                animation,
                magnification=magnification,
                stress=stress,
                labels=labels,
                pressure=pressure,
                progress=lambda done: say("drawing", done),
            )
            say_text(f"animation: {path}")
        if table is not None:
            say_text(f"table: {write_table(loaded, table, measure or (), units=units)}")
        if plot is not None:
            loaded.plot(measure or (), plot, over=over, unit=unit, units=units)
            say_text(f"plot: {plot}")
        if gltf is not None:
            written = write_gltf(
                loaded,
                gltf,
                metres=metres,
                speed=1.0 if speed is None else speed,
                max_targets=max_targets,
                magnification=magnification,
            )
            say_text(f"glTF: {written}")
        if page is not None:
            from flexmb.plots.page import write_page

            found = write_page(loaded, page, speed=speed, max_targets=max_targets, magnification=magnification)
            say_text(f"page: {found}")
        if paraview is not None:
            say_text(f"ParaView: {export_vtk(loaded, paraview, every=max(1, len(loaded.t) // 200))}")
    if live:
        from flexmb.plots.live import LiveViewer

        LiveViewer(loaded, magnification).serve(port, browser)
