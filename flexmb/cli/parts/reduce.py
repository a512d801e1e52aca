"""`flexmb reduce`: from a mesh file to a body file."""

from pathlib import Path
from typing import Annotated

import typer

from flexmb.cli.parts.options import BeamSection, Cells, Ignore, MaterialName, Thickness
from flexmb.cli.units import Unit


def _list_methods(asked: bool) -> None:
    if not asked:
        return
    from rich.table import Table

    from flexmb.cli.screen import console
    from reduction.registry import METHODS

    table = Table("method", "coordinates", "exact for static loads", "needs", "takes")
    for record in METHODS.values():
        size = [option for option in ("modes", "band", "tolerance") if option in record.options]
        table.add_row(record.name, record.coordinates, record.exact_for, ", ".join(record.needs), ", ".join(size))
    console.print(table)
    raise typer.Exit


def _require_options(method: str, places: dict[str, list[str]], given: dict[str, float | None]) -> None:
    """Raise `InterfaceError` or `MatrixError` when a method lacks what other options of the command give it."""
    from fem.errors import InterfaceError, MatrixError
    from reduction.registry import reduction_method

    record = reduction_method(method)
    lacking = [f"--{option}" for option in record.needs if given.get(option) is None]
    if lacking:
        raise MatrixError(f"--method {method} needs {' and '.join(lacking)} as well; --methods lists what each needs.")
    if record.needs_inputs and not places["interface"]:
        raise InterfaceError(
            f"--method {method} needs an interface, a set of nodes where joints and forces act: give --interface "
            "NAME=SET; flexmb inspect lists the sets of a mesh. --method modal needs none."
        )
    if method == "contact" and not places["surface"]:
        raise MatrixError(
            "--method contact needs a surface that others touch: give --surface NAME=SET; flexmb inspect lists the "
            "sets of a mesh. --method craig-bampton is the usual one without contact."
        )


def command(
    mesh: Annotated[Path, typer.Argument(help="Mesh file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Body file to write (.h5).")],
    material: MaterialName = "file",
    thickness: Thickness = None,
    section: BeamSection = None,
    cells: Cells = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=SET or NAME=SET:average; for SET also plane/POINT/NORMAL, cylinder/POINT/AXIS/RADIUS, "
            "sphere/CENTRE/RADIUS, box/LOW/HIGH, nearest/POINT with points as x,y,z, or node/NUMBER "
            "of the file. Repeat for each interface."
        ),
    ] = None,
    surface: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=SET where other bodies touch the part; for SET also a selection, as for interfaces. Repeat for "
            "each surface."
        ),
    ] = None,
    ignore: Ignore = None,
    method: Annotated[
        str,
        typer.Option(
            help='Name such as "craig-bampton", or "choose": the smallest of several bases that meets the tolerance. '
            "--methods lists all."
        ),
    ] = "craig-bampton",
    modes: Annotated[
        int | None, typer.Option(min=0, help="Modes or shapes in addition to the static ones (default: 20).")
    ] = None,
    band: Annotated[
        float | None,
        typer.Option(help="Highest frequency of interest: the error of the response is measured up to it."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="With --band: take as few shapes as this relative error allows, in place of --modes."),
    ] = None,
    contact: Annotated[
        list[str] | None,
        typer.Option(
            help='With "choose": NAME of a --surface whose loads, at any of its nodes, the tolerance covers too. '
            "Repeat for several."
        ),
    ] = None,
    reference_frame: Annotated[
        str | None, typer.Option(help="Interface that carries the body frame (default: mean axes).")
    ] = None,
    damping: Annotated[float, typer.Option(min=0, help="Modal damping ratio.")] = 0.0,
    geometric_stiffness: Annotated[
        str, typer.Option(help='"second-order" (stiffening by rotation and load) or "none".')
    ] = "second-order",
    plot: Annotated[
        Path | None, typer.Option(help="With --band: plot of the error over the band to write (.png).")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help='Memory budget, such as "4GiB": a factor that exceeds it is stored on disk.')
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Directory for solutions: an interrupted command, started again, resumes from them. They are removed "
            "at the end."
        ),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of the first modes to write (.png).")] = None,
    units: Annotated[
        str | None, typer.Option(help="Units of the mesh for the labels of --plot and --picture, such as mm-t-s.")
    ] = None,
    unit: Unit = None,
    methods: Annotated[
        bool, typer.Option("--methods", help="List the methods and exit.", callback=_list_methods, is_eager=True)
    ] = False,
) -> None:
    """Reduce a part to a flexible body, report its quality, and write it."""
    import fem
    import flexmb
    import reduction
    from fem.errors import InterfaceError, MatrixError, MeshError
    from fem.linear_algebra.factorisations.solution_cache import clear_cache
    from fem.mesh.selection import from_text
    from flexmb.cli.parts.materials import section_from, shells_of
    from flexmb.cli.screen import at_work, say_text
    from flexmb.files.bodies.body_file import require_replaceable, save_body

    interfaces = {}
    for text in interface or []:
        name, equals, spec = text.partition("=")
        set_name, _, kind = spec.partition(":")
        if not equals or not set_name:
            raise InterfaceError(f"--interface expects NAME=SET or NAME=SET:average; found {text!r}.")
        interfaces[name] = fem.Interface(from_text(set_name), kind=kind or "rigid")
    surfaces = {}
    for text in surface or []:
        name, equals, place = text.partition("=")
        if not equals or not place:
            raise MeshError(f"--surface expects NAME=SET; found {text!r}.")
        surfaces[name] = from_text(place)
    places = {"interface": [*(interface or ()), *(contact or ())], "surface": surface or []}
    _require_options(method, places, {"modes": modes, "band": band, "tolerance": tolerance})
    if plot is not None and band is None:
        raise MatrixError("--plot shows the error over a band: give --band as well.")
    require_replaceable(output)
    with at_work("reducing"):
        loaded = fem.read_mesh(mesh, ignore=ignore or (), shells=shells_of(thickness))
        loaded = fem.extract_cells(loaded, cells) if cells else loaded
        name = loaded.name if cells else mesh.stem
        part = fem.Model(loaded, section_from(material, thickness, section), name=name).with_interfaces(**interfaces)
        part = part.with_solver(memory, checkpoint=checkpoint)
        part = part.with_surfaces(**surfaces) if surfaces else part
    reach = None if band is None else (0.0, band)
    with reduction.prepared(part):
        with at_work("reducing"):
            loads = {"contacts": contact} if contact else {}
            basis = reduction.reduce(part, method, modes, reference_frame, band=reach, tolerance=tolerance, **loads)
            body = flexmb.flexible_body(part, basis, modal_damping=damping, geometric_stiffness=geometric_stiffness)
        say_text(basis)
        if band is not None and method != "choose":
            say_text("  --method choose takes the fewest coordinates, of several methods, within --tolerance")
        with at_work("comparing with the full model"):
            say_text(reduction.compare_modes(part, basis))
        if plot is not None and reach is not None:
            from flexmb.plots.reduction_plots import plot_response_errors

            error = reduction.response_error(part, basis, reach)
            plot_response_errors([error], plot, tolerance, unit=unit, units=units)
            say_text(f"plot: {plot}")
        say_text(body)
        say_text(f"body: {save_body(body, output)}")
    if checkpoint is not None:
        clear_cache(checkpoint)
    if picture is not None:
        from flexmb.plots.pictures import picture_modes

        say_text(f"picture: {picture_modes(body, picture, units=units)}")
