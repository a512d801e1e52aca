"""`flexmb demo`: a slider-crank with a flexible connecting rod, from mesh to pictures."""

from pathlib import Path
from typing import Annotated

import typer


def command(directory: Annotated[Path, typer.Argument(help="Folder for the results.")] = Path("flexmb-demo")) -> None:
    """Import a mesh, reduce it, run a slider-crank rigid and flexible, and write results, plots and an animation."""
    from flexmb.cli.screen import bars, say_text

    say_text("Loading ...")
    from flexmb import demo

    with bars() as say:
        demo.run(directory, report=say_text, progress=say)
    say_text(
        f"Written to {directory.resolve()}: result.h5, energy.png, comparison.png, modes.png, mesh.png, animation.gif"
    )
