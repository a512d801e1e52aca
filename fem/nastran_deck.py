"""Nastran decks before meshio reads them: what it needs, and what it would silently get wrong or lose."""

import re
from pathlib import Path

from fem.errors import MeshError

_LOST = re.compile(
    r"^ *(SET\d? |SET\d,|SET \d+ *=|RBE\d|RBAR|CONM\d|CELAS\d|CBUSH|CBAR|CBEAM|CROD|ASET1?|SPC1?)[ ,*=\d]",
    re.IGNORECASE,
)


def prepared(path: Path, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The file for meshio to read (a copy in `folder` when BEGIN BULK or ENDDATA is missing), and what is lost in it.

    Raises `MeshError` for nodes that are given in a coordinate system of their own, which meshio would take as basic.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    lost: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line[:4].upper() == "GRID" and _system(line) not in ("", "0"):
            raise MeshError(
                f"{path}, line {number}: the node is given in coordinate system {_system(line)}; only the basic system is read. "
                "Export the mesh in basic coordinates."
            )
        if found := _LOST.match(line):
            card = found[1].strip(" ,=").split()[0].upper()
            lost[card] = lost.get(card, 0) + 1
    said = tuple(f"{n} {card} of the Nastran deck" for card, n in lost.items())
    begins, ends = "BEGIN BULK" in text.upper(), re.search(r"^ENDDATA", text, re.MULTILINE)
    if begins and ends:
        return path, said
    copy = folder / path.name
    copy.write_text(("" if begins else "BEGIN BULK\n") + text + ("" if ends else "\nENDDATA\n"), encoding="utf-8")
    return copy, said


def _system(line: str) -> str:
    """Field CP of a GRID card, in free, large or small field format."""
    if "," in line:
        entries = line.split(",")
        return entries[2].strip() if len(entries) > 2 else ""
    return line[24:40].strip() if "*" in line[:8] else line[16:24].strip()
