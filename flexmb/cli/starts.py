"""Where the simulations of a command start: as drawn, or from the equilibrium of each mechanism."""

from difflib import get_close_matches
from pathlib import Path
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


def result_file(start: str) -> Path:
    """The result file that `--start` names in place of one of the words.

    Raises `FileError` when there is none, with the word that was meant.
    """
    path = Path(start)
    if not path.exists():
        from flexmb.errors import FileError  # imported here to keep --help fast

        meant = get_close_matches(start.lower(), WORDS, n=1)
        hint = f" Did you mean {meant[0]!r}?" if meant else ""
        raise FileError(
            f"--start expects {', '.join(map(repr, WORDS))} or a result file of flexmb run or flexmb equilibrium; "
            f"found {start!r}, which is none of them.{hint} Files are looked for in {Path.cwd()}."
        )
    return path


def change_of(start: str | None) -> dict[str, Any]:
    """The change of a model file by which its simulations start elsewhere; none for None."""
    return {} if start is None else {"simulation.start": start}
