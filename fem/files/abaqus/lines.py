"""Lines of input decks: comments, included files, keywords with their options and data lines, the entries of a line."""

from collections.abc import Iterator
from pathlib import Path

from fem.errors import MeshError
from fem.mesh.unread import canonical
from fem.user_files import WINDOWS, IncludedFiles, is_file, text_of

DOT = "\u2024"
"""Stands for the dot in names of sets of several instances, INSTANCE.SET; messages and meshes have a dot."""
Place = str
Rows = list[tuple[Place, str]]


def lines(path: Path, included: IncludedFiles, inside: tuple[Path, ...] = ()) -> Iterator[tuple[Place, str]]:
    """Lines without comments, with their place, included files spliced in."""
    chain = included.entered(path, inside)
    text = text_of(path, MeshError, "input deck", errors=WINDOWS)
    including = ""
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        place = f"{path}, line {number}"
        if including and line[0].isalpha():
            line = including + line
        including = ""
        if canonical(line.split(",")[0]) != "INCLUDE":
            yield place, line
        elif line.endswith(","):  # goes on in the next line
            including = line
        else:
            other = beside(path, place, options_of(line).get("INPUT", ""), (*inside, path)[0])
            yield from lines(other, included, chain)


def beside(path: Path, place: Place, name: str, deck: Path) -> Path:
    """A file that is named relative to the file that names it, or to the deck."""
    found = [folder / name for folder in (path.parent, deck.parent) if name and is_file(folder / name)]
    if not found:
        raise MeshError(
            f"{place}: the file {name!r} that the deck refers to does not exist beside it ({path.parent.resolve()})."
        )
    return found[0]


def options_of(line: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in line.split(",")[1:]:
        key, _, value = part.partition("=")
        options["".join(key.upper().split())] = value.strip().strip('"')
    options.pop("", None)  # of a comma at the end
    return options


def blocks(path: Path, included: IncludedFiles) -> Iterator[tuple[Place, str, dict[str, str], Rows]]:
    """Place, line, options and data lines of every keyword."""
    current: tuple[Place, str, dict[str, str], Rows] | None = None
    pending = ""
    for place, line in lines(path, included):
        if pending and line[0].isalpha():  # a keyword that ends with a comma goes on, where a name of an option follows
            current = (current[0], pending + line, options_of(pending + line), []) if current is not None else None
            pending = pending + line if line.endswith(",") else ""
            continue
        pending = line if line.startswith("*") and line.endswith(",") else ""
        if line.startswith("*"):
            if current is not None:
                yield current
            current = (place, line, options_of(line), [])
        elif current is not None:
            current[3].append((place, line))
    if current is not None:
        yield current


def fields(line: str) -> list[str]:
    """The entries of a data line."""
    return [f.strip() for f in line.rstrip(",").split(",")]


def number(text: str) -> float:
    """A number as Fortran writes it. Raises `ValueError` for other texts."""
    try:
        return float(text.upper().replace("D", "E"))
    except ValueError:
        hint = "; write the values in the place of names of *PARAMETER" if text.startswith("<") else ""
        raise ValueError(f"a number is needed, found {text!r}{hint}") from None


def whole(text: str) -> int:
    """A whole number. Raises `ValueError` for other texts."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number is needed, found {text!r}") from None


def required(place: Place, options: dict[str, str], key: str) -> str:
    if not options.get(key):
        raise MeshError(f"{place}: the name is missing, {key}=... is needed.")
    return options[key]


def member(text: str) -> str | int:
    """A number, or the upper-case name of a set (without the one instance of a deck)."""
    return int(text) if text.lstrip("+-").isdigit() else text.strip('"').rpartition(".")[2].upper()


def dotted(text: str) -> str:
    """A text for the user, with dots in names of sets of instances."""
    return text.replace(DOT, ".")
