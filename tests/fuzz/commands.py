"""Command lines of random verbs, options and values, run in a folder with a few sound files."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer
from typer.core import TyperArgument

from fem.errors import FlexmbError

from .pool import UnnamedError

MODELS = Path(__file__).with_name("models")
LEFT_OUT = ("demo", "validate", "view")
"""Verbs that run for minutes or wait for a viewer."""
TEXTS = (
    "", "x", "nonsense", "body", "body.h5", "block.inp", "pendulum.toml", "rotor.toml", "missing.toml", ".", "/dev/null", "/dev/zero", "new.csv",
    "nowhere/new.h5", "a=b", "=", "joints.bearing.drive.speed=1:2:3", "joints.bearing.drive.speed=1,2", "bodies.rod.mass=1:1:1000000000",
    "1:100", "1:100:1000000000", "nan:1:3", "steel", "position:disc.x", "energy", "hinge", "bearing", "\u2028é", "--", "*", "SI", "mm",
)  # fmt: skip
NUMBERS = ("0", "1", "-1", "3", "nan", "inf", "1e300", "1e-300", "1000000000", "0.01", "x", "", "99999999999999999999")


@cache
def _verbs() -> dict[str, Any]:
    from flexmb.cli.main import app

    group: Any = typer.main.get_command(app)
    return {name: verb for name, verb in group.commands.items() if name not in LEFT_OUT}


def prepared() -> None:
    """Import what commands need, and make their files."""
    import flexmb.cli.screen
    import flexmb.files
    import flexmb.plots.result_plots  # noqa: F401

    from . import targets

    _verbs()
    targets._saved_body()


def words(rng: np.random.Generator) -> list[str]:
    """A command line."""
    verbs = _verbs()
    name = str(rng.choice(list(verbs)))
    line = [name]
    for parameter in verbs[name].params:
        required = parameter.required and rng.random() < 0.95
        if not required and rng.random() < 0.85:
            continue
        text = _value(parameter, rng)
        if isinstance(parameter, TyperArgument):
            line.append(text)
        else:
            line += [parameter.opts[0]] if getattr(parameter, "is_flag", False) else [parameter.opts[0], text]
    if rng.random() < 0.1:
        line.insert(int(rng.integers(len(line) + 1)), str(rng.choice(TEXTS)))
    return line


def _value(parameter: Any, rng: np.random.Generator) -> str:
    kind = parameter.type_descriptor.annotation
    if kind in (int, float):
        return str(rng.choice(NUMBERS))
    if isinstance(parameter, TyperArgument) and rng.random() < 0.7:
        return str(rng.choice(["pendulum.toml", "rotor.toml", "block.inp", "inverse.toml", "body.h5"]))
    return str(rng.choice(TEXTS))


def case(rng: np.random.Generator, folder: Path) -> None:
    """Run a command line. Raises what reaches `main`; a wrong use ends with code 2."""
    from flexmb.cli.main import _DEBUG, main

    from . import targets

    for name in ("pendulum.toml", "rotor.toml", "inverse.toml", "block.inp"):
        (folder / name).write_bytes((MODELS / name).read_bytes())
    (folder / "body.h5").write_bytes(targets._saved_body())
    _DEBUG["on"] = True  # errors of ours are raised, too
    sys.argv = ["flexmb", *words(rng)]
    try:
        main()
    except FlexmbError as error:
        if len(str(error)) < 20:
            raise UnnamedError(f"{sys.argv}: {type(error).__name__}: {error}") from error
        raise
    except SystemExit as end:
        if end.code not in (0, 2, None):
            raise RuntimeError(f"{sys.argv} ends with code {end.code}") from end
