"""Bulk data of Nastran as cards: small, large and free fields, every way to continue a card, included files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fem.errors import MeshError
from fem.user_files import WINDOWS, IncludedFiles, is_file, text_of

_REAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[EeDd]?([+-]?\d+))?")


@dataclass
class Card:
    """One card: `name` in capitals, `fields` after it (blank ones are empty), and its place."""

    name: str
    fields: list[str]
    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"

    @property
    def meaning(self) -> list[str | float]:
        """The fields in capitals, numbers as numbers, without blank ones at the end."""
        found = [float(f"{n[1]}e{n[2] or 0}") if (n := _REAL.fullmatch(text)) else text.upper() for text in self.fields]
        while found and found[-1] == "":
            found.pop()
        return found

    def text_at(self, number: int) -> str:
        """Field `number`, counted from 1 after the name; empty where the card ends earlier."""
        return self.fields[number - 1] if number <= len(self.fields) else ""

    def whole(self, number: int, default: int | None = None) -> int:
        """A whole number."""
        text = self.text_at(number)
        if not text and default is not None:
            return default
        if not re.fullmatch(r"[+-]?\d+", text):
            raise MeshError(f"{self.place}: field {number} of {self.name} must be a whole number; found {text!r}.")
        return int(text)

    def real(self, number: int, default: float | None = None) -> float:
        """A real number, also as Nastran shortens it: 2.1+11."""
        text = self.text_at(number)
        if not text and default is not None:
            return default
        found = _REAL.fullmatch(text)
        if not found:
            raise MeshError(f"{self.place}: field {number} of {self.name} must be a number; found {text!r}.")
        return float(f"{found[1]}e{found[2] or 0}")


def cards(path: Path, included: IncludedFiles) -> Iterator[Card]:
    """The cards of the bulk data, whole: from BEGIN BULK (or the start, where there is none) to ENDDATA; and the
    parameters of case control."""
    current: Card | None = None
    expected = ""
    for file, number, line in _bulk(path, included):
        head, entries, tag = _split(line, f"{file}, line {number}")
        if head[:1] in ("", "+", "*"):
            if current is None:
                raise MeshError(
                    f"{file}, line {number}: this line continues a card, but none comes before it: {line.strip()!r}."
                )
            if head[1:] and expected[1:] and head[1:].upper() != expected[1:].upper():
                raise MeshError(
                    f"{file}, line {number}: the continuation {head!r} does not follow the line that ends in "
                    f"{expected!r}. Write the cards in order."
                )
            current.fields += entries
        else:
            if current is not None:
                yield current
            current = Card(head.rstrip("*").strip().upper(), entries, file, number, line.strip())
        expected = tag
    if current is not None:
        yield current


def _split(line: str, place: str) -> tuple[str, list[str], str]:
    """First field, data fields (8 of a small or free line, 4 of a large one), and the mark of a continuation at its
    end."""
    if "," in line[:10]:
        entries = [entry.strip() for entry in line.split(",")]
        width = 4 if entries[0].endswith("*") or entries[0].startswith("*") else 8
        data, rest = entries[1 : 1 + width], entries[1 + width :]
        if any(re.fullmatch(r"[-.\d].*", entry) for entry in rest) or any(rest[1:]):
            raise MeshError(
                f"{place}: a line of free fields has {width} fields and a mark of continuation; found "
                f"{len(entries) - 1} fields."
            )
        return entries[0], data + [""] * (width - len(data)), rest[0] if rest else ""
    line = line.expandtabs(8).ljust(80)
    head = line[:8].strip()
    size = 16 if head.startswith("*") or head.endswith("*") else 8
    return head, [line[k : k + size].strip() for k in range(8, 72, size)], line[72:80].strip()


def _bulk(path: Path, included: IncludedFiles) -> Iterator[tuple[str, int, str]]:
    """File, number and text of the lines of the bulk data, and of PARAM in case control, without comments, included
    files spliced in."""
    lines = list(_lines(path, included))
    begins = any(re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE) for _, _, line in lines)
    control = False
    for file, number, line in lines:
        if re.match(r"\s*BEGIN\s+(?!BULK\s*$)", line, re.IGNORECASE):
            raise MeshError(
                f"{file}, line {number}: {line.strip()!r} begins another part (a superelement, or an auxiliary model), "
                "and parts are not put together. Give each as a deck of its own; they become bodies, connected by "
                "joints."
            )
        if begins:
            begins = not re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE)
            control = control or _ends_executive(line)
            if control and re.match(r"\s*PARAM\b", line, re.IGNORECASE):
                yield file, number, line.lstrip()
        elif re.match(r"\s*ENDDATA", line, re.IGNORECASE):
            return
        elif not re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE):
            yield file, number, line


def _lines(path: Path, included: IncludedFiles, inside: tuple[Path, ...] = ()) -> Iterator[tuple[str, int, str]]:
    chain = included.entered(path, inside)
    text = text_of(path, MeshError, "Nastran deck", errors=WINDOWS)
    rest = enumerate(text.splitlines(), start=1)
    for number, raw in rest:
        line = raw.split("$")[0].rstrip()
        if not line.strip():
            continue
        if quoted := re.fullmatch(r"\s*INCLUDE\s+(['\"])[^'\"]*", line, re.IGNORECASE):
            line += _to_quote(quoted[1], rest, f"{path.name}, line {number}")
        found = re.match(r"\s*INCLUDE\s+['\"]?(.+?)['\"]?\s*$", line, re.IGNORECASE)
        if not found:
            yield path.name, number, line
            continue
        other = path.parent / found[1]
        if not is_file(other):
            raise MeshError(
                f"{path.name}, line {number}: the file {found[1]!r} that the deck includes does not exist beside it."
            )
        yield from _lines(other, included, chain)


def _to_quote(quote: str, rest: Iterator[tuple[int, str]], place: str) -> str:
    """The lines by which the name of an included file goes on, to its closing quote. Raises `MeshError` without one."""
    found = ""
    for _, raw in rest:
        found += raw.strip()
        if quote in raw:
            return found
    raise MeshError(f"{place}: the name of the file that INCLUDE begins with {quote} has no {quote} at its end.")


def _ends_executive(line: str) -> bool:
    return bool(re.match(r"\s*CEND\b", line, re.IGNORECASE))


def selections(path: Path) -> dict[str, dict[int, Card]]:
    """The numbers of sets that the case control of a deck selects, by command (SPC, MPC, SDAMP), and where; 0 selects
    none. A deck with case control selects no other; without it, the commands are absent."""
    found: dict[str, dict[int, Card]] = {}
    for file, number, line in _lines(path, IncludedFiles(path, MeshError)):
        if _ends_executive(line):
            found = {"SPC": {}, "MPC": {}, "SDAMP": {}}
        if re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE):
            return found
        command = re.match(r"\s*(SPC|MPC|SDAMP)(?:ING)?(?:\s*\([^)]*\))?(?:\s*=\s*|\s+)(\d+)", line, re.IGNORECASE)
        if command and int(command[2]):
            name = command[1].upper()
            place = Card(name, [command[2]], file, number, line.strip())
            found.setdefault(name, {}).setdefault(int(command[2]), place)
    return {}
