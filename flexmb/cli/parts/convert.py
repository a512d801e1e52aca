"""`flexmb convert`: conversion of a body from one file format to another."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    source: Annotated[
        Path, typer.Argument(help="Body file: .h5, .npz, .mat, .sid, .SID_FEM (Simpack ...), .fem (MBDyn).")
    ],
    output: Annotated[Path, typer.Argument(help="Body file to write, in the format of its ending.")],
) -> None:
    """Convert a flexible body between flexmb, numpy, MATLAB, SID and MBDyn."""
    from flexmb.cli.screen import say_text
    from flexmb.errors import FileError
    from flexmb.files.bodies.body_file import load_body, save_body, writable_endings

    if output.suffix.lower() not in writable_endings():
        raise FileError(
            f"No format has the ending of {output.name!r}; the known endings are {', '.join(writable_endings())}."
        )
    body = load_body(source)
    say_text(body)
    say_text(f"body: {save_body(body, output)}")
