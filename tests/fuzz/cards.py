"""Decks, archives and meshes as text that are wrong in what they say, not in their bytes: each case has one to three
changes that a person or a program that writes such files could make."""

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np

_TOKEN = re.compile(rb"[^\s,=()'\"]+")
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD]?[-+]?\d+)?")
WHOLE = (b"0", b"-1", b"1", b"7", b"1000000000", b"2147483648", b"99999999999999999999")
REAL = (b"0.0", b"-1.0", b"1e300", b"-1e300", b"1e-300", b"1e30", b"nan", b"inf", b"0.5", b"1.e5")
BEGINS = {"keywords": rb"\*[A-Za-z]", "cards": rb"[A-Za-z$]", "commands": rb"[A-Za-z/]", "sections": rb"\$(?!End)"}
"""How the first line of a block begins: keywords of Abaqus, cards of Nastran, commands of Ansys, sections of Gmsh."""
Lines = list[bytes]


def changed(content: bytes, form: str, rng: np.random.Generator) -> bytes:
    """The text of a form of `BEGINS` with one to three changes; numbers in columns keep their columns."""
    lines = content.split(b"\n")
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        for _ in range(20):
            made = CHANGES[int(rng.integers(len(CHANGES)))](lines, form, rng)
            if made is not None and made != lines:
                lines = made
                break
    return b"\n".join(lines)


def _tokens(lines: Lines) -> list[tuple[int, re.Match[bytes]]]:
    return [(k, found) for k, line in enumerate(lines) for found in _TOKEN.finditer(line)]


def _put(lines: Lines, at: int, found: re.Match[bytes], word: bytes) -> Lines:
    """The lines with another word, in the same columns where blanks before it leave place."""
    start, line = found.start(), lines[at]
    more = len(word) - (found.end() - start)
    if more > 0 and line[max(start - more, 0) : start] == b" " * more:
        start -= more
    elif more < 0 and line[:start].endswith(b" ") and start > 8:
        word = b" " * -more + word
    return [*lines[:at], line[:start] + word + line[found.end() :], *lines[at + 1 :]]


def _blocks(lines: Lines, form: str) -> list[tuple[int, int]]:
    """First and last line (exclusive) of the keywords, cards, commands or sections, with their data."""
    starts = [k for k, line in enumerate(lines) if re.match(BEGINS[form], line)]
    return list(pairwise([*starts, len(lines)]))


def _number(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """A number at a limit, or beside the one that was there."""
    numbers = [(k, t) for k, t in _tokens(lines) if _NUMBER.fullmatch(t[0])]
    if not numbers:
        return None
    at, found = numbers[int(rng.integers(len(numbers)))]
    whole = found[0].lstrip(b"-+").isdigit()
    ways = [*WHOLE, str(int(found[0]) + 1).encode(), b"-" + found[0], b"1.5"] if whole else [*REAL, b"1"]
    return _put(lines, at, found, ways[int(rng.integers(len(ways)))])


def _reference(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """A number or a name becomes another one of the file."""
    tokens = _tokens(lines)
    if not tokens:
        return None
    at, found = tokens[int(rng.integers(len(tokens)))]
    kind = bool(_NUMBER.fullmatch(found[0])), b"." in found[0]
    others = [t[0] for _, t in tokens if (bool(_NUMBER.fullmatch(t[0])), b"." in t[0]) == kind and t[0] != found[0]]
    return _put(lines, at, found, others[int(rng.integers(len(others)))]) if others else None


def _exchanged(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """Two entries of a line change places, such as the ends of a range."""
    rows = [(k, found) for k, line in enumerate(lines) if len(found := list(_TOKEN.finditer(line))) > 1]
    if not rows:
        return None
    at, found = rows[int(rng.integers(len(rows)))]
    first, second = sorted(int(k) for k in rng.choice(len(found), 2, replace=False))
    words = found[first][0], found[second][0]
    return _put(_put(lines, at, found[second], words[0]), at, found[first], words[1])


def _blank(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """An entry is left out, with its place or without it."""
    tokens = _tokens(lines)
    if not tokens:
        return None
    at, found = tokens[int(rng.integers(len(tokens)))]
    word = b" " * len(found[0]) if rng.random() < 0.6 else b""
    return [*lines[:at], lines[at][: found.start()] + word + lines[at][found.end() :], *lines[at + 1 :]]


def _longer(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """A line has one entry more, or its last one twice."""
    at = int(rng.integers(len(lines)))
    tokens = list(_TOKEN.finditer(lines[at]))
    if not tokens:
        return None
    between = b", " if b"," in lines[at] else b" "
    return [*lines[:at], lines[at] + between + tokens[-1][0], *lines[at + 1 :]]


def _other_line(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """A line is missing, there twice, or in the place of its neighbour."""
    at = int(rng.integers(len(lines) - 1)) if len(lines) > 1 else 0
    way = int(rng.integers(3))
    between = [[], [lines[at], lines[at]], [*lines[at + 1 : at + 2], lines[at]]][way]
    return [*lines[:at], *between, *lines[at + (2 if way == 2 else 1) :]]


def _other_block(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """A keyword with its data is missing, there twice, elsewhere, or without its data."""
    blocks = _blocks(lines, form)
    if len(blocks) < 2:
        return None
    first, last = blocks[int(rng.integers(len(blocks)))]
    block, rest = lines[first:last], [*lines[:first], *lines[last:]]
    to = min(int(blocks[int(rng.integers(len(blocks)))][0]), len(rest))
    match int(rng.integers(4)):
        case 0:
            return rest
        case 1:
            return [*lines[:to], *block, *lines[to:]]
        case 2:
            return [*rest[:to], *block, *rest[to:]]
        case _:
            return [*lines[: first + 1], *lines[last:]]


def _other_head(lines: Lines, form: str, rng: np.random.Generator) -> Lines | None:
    """The data of one keyword stand below the head of another."""
    blocks = _blocks(lines, form)
    if len(blocks) < 2:
        return None
    first, second = (blocks[int(k)][0] for k in rng.choice(len(blocks), 2, replace=False))
    made = list(lines)
    made[first] = lines[second]
    return made


CHANGES: tuple[Callable[[Lines, str, np.random.Generator], Lines | None], ...] = (
    _number, _number, _number, _reference, _reference, _reference, _exchanged, _blank, _longer, _other_line, _other_block, _other_head,
)  # fmt: skip
