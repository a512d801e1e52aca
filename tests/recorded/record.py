"""Records: one file for each group of cases, which are compared number by number."""

import contextlib
import json
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from .cases import CASES
from .summary import Seen, seen_of

VALUES = Path(__file__).with_name("values")
CLOSE = 1e-6
"""Difference of numbers, relative to the largest one of their array, that is rounding."""
SURE = 0.05
"""Part of it by which numbers may differ between two kinds of processors, to be recorded."""
NOTHING = 1e-12
"""Difference that is rounding beside whatever the numbers belong to: forces and places that should be zero."""
SMALL = 1e-9
"""Arrays of smaller numbers are not recorded: most of them are what rounding leaves, as of a balance of energy."""
DIGITS = 8


def run(name: str) -> Seen:
    """What is seen of a case, which runs in a folder of its own."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            return seen_of(CASES[name]())
        finally:
            os.chdir(here)
            plt.close("all")


def differences(kept: Seen, found: Seen, close: float = CLOSE) -> list[str]:
    """What differs from a record, in words; what is not recorded is not compared."""
    told = []
    for at, expected in kept.items():
        if at not in found:
            told.append(f"{at}: expected {_short(expected)}; it is missing")
        elif not _equal(expected, found[at], close):
            told.append(f"{at}: expected {_short(expected)}; found {_short(found[at])}")
    return told


def same(found: Seen, other: Seen) -> Seen:
    """What two kinds of processors agree about, and that is worth a record."""
    return {
        at: value
        for at, value in found.items()
        if at in other and _equal(value, other[at], SURE * CLOSE) and not _is_small(value)
    }


def _is_small(value: Any) -> bool:
    return isinstance(value, list) and bool(0.0 < np.abs(np.array(value, dtype=float)).max(initial=0.0) < SMALL)


def _equal(expected: Any, found: Any, close: float) -> bool:
    if not isinstance(expected, list) or not isinstance(found, list):
        return bool(expected == found)
    if len(expected) != len(found):
        return False
    a, b = np.array(expected, dtype=float), np.array(found, dtype=float)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return False
    a, b = a[np.isfinite(a)], b[np.isfinite(a)]
    return bool((np.abs(a - b) <= max(close * np.abs(a).max(initial=0.0), NOTHING)).all())


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 200 else f"{text[:200]} ..."


@cache
def _group(name: str) -> dict[str, Seen]:
    path = VALUES / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def recorded(name: str) -> Seen:
    """The record of a case; empty if there is none."""
    return _group(name.split("/")[0]).get(name, {})


def write(records: dict[str, Seen]) -> None:
    """Put records in the place of those of the same names."""
    for group in sorted({name.split("/")[0] for name in records}):
        own = {**_group(group), **{n: r for n, r in records.items() if n.split("/")[0] == group}}
        write_lines(VALUES / f"{group}.json", {n: rounded(own[n]) for n in CASES if n in own})


def write_lines(path: Path, records: dict[str, Seen]) -> None:
    """Write records, one on each line."""
    path.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(n, ensure_ascii=False)}: {json.dumps(r, ensure_ascii=False)}" for n, r in records.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def rounded(seen: Seen) -> Seen:
    """What is seen, with numbers of few digits."""
    return {at: [float(f"{x:.{DIGITS}g}") for x in v] if isinstance(v, list) else v for at, v in seen.items()}
