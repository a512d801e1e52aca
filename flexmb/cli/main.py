"""Entry point of the command line.

Every module with a function `command` in the rooms of commands, and every entry point `flexmb.extensions` with one, is
a command with the name of the module or entry point. Commands import what they need when they run, so that the help
appears at once.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import sys
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from flexmb.cli import analyses, motion, parts
from flexmb.version import __version__

OLD_OPTIONS = {
    "--attached-to": "--reference-frame",
    "--keep": "--checkpoint",
    "--resume": "--checkpoint",
    "--tol": "--tolerance",
}


class Verb(TyperCommand):
    """A command that reports the present name of an option that is given by its old name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for parameter in self.params for name in parameter.opts}
        for option in (word.partition("=")[0] for word in args):
            if OLD_OPTIONS.get(option) in known and option not in known:
                ctx.fail(f"{option} is now {OLD_OPTIONS[option]}.")
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="flexmb",
    help="From a finite element mesh to a flexible body inside a moving mechanism, with the energy balance as witness.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for room in (parts, motion, analyses):
    for module in pkgutil.iter_modules(room.__path__):
        verb = importlib.import_module(f"{room.__name__}.{module.name}")
        if hasattr(verb, "command"):
            app.command(name=module.name, cls=Verb, rich_help_panel=room.PANEL)(verb.command)

for extension in entry_points(group="flexmb.extensions"):
    try:
        loaded = extension.load()
    except Exception as error:
        where = f"{extension.name} = {extension.value}"
        typer.echo(f"Note: the extension {where} cannot be imported: {type(error).__name__}: {error}", err=True)
        continue
    if hasattr(loaded, "command"):
        app.command(name=extension.name, cls=Verb, rich_help_panel="Extensions")(loaded.command)

_DEBUG = {"on": False}


def _tell_version(asked: bool) -> None:
    if asked:
        from flexmb.kernels.base.library import choice

        typer.echo(f"flexmb {__version__}\n{choice().text}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """From a finite element mesh to a flexible body inside a moving mechanism, with the energy balance as witness."""
    _DEBUG["on"] = debug


def main() -> None:
    """Run the command line; an error caused by the user's input is printed as a paragraph, with exit code 2."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # plots go to files
    atexit.register(gc.freeze)  # a search for garbage in memory that ends with the process takes a fifth of a second
    try:
        app(prog_name="flexmb")  # also for `python -m flexmb`
    except Exception as error:
        from fem.errors import FlexmbError  # imported here to keep --help fast

        if _DEBUG["on"] or not isinstance(error, FlexmbError):
            raise
        from rich.console import Console
        from rich.markup import escape

        console = Console(stderr=True, highlight=False, emoji=False)
        console.print(f"[bold red]{type(error).__name__}[/]: {escape(str(error))}")
        sys.exit(2)
