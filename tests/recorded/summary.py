"""What is seen of an object: a flat dictionary of its numbers and texts, small enough to be kept."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure

import fem
import flexmb
from fem.errors import FlexmbError
from fem.linear_algebra.factorisations.record import FactorRecord
from flexmb.errors import ModelFileError
from flexmb.results.elements.energy import EnergyByElement

Seen = dict[str, Any]
"""For each place in an object: a text, a whole number or truth, or a list of numbers."""
FEW = 12
"""Numbers of an array that are kept as they are; of larger ones, two sums of each column."""
DEEP = 9
MOST = 400
"""Levels of an object, and entries of one of its mappings and sequences, that are looked at."""
BRIEF, BRIEF_LEVELS, BRIEF_TEXT = 16, 4, 120
"""Of a brief record: the largest number of places, levels that are looked at, and letters of a text."""
OURS = ("fem.", "reduction.", "flexmb.")
LIBRARIES = {"library", "flops", "nbytes", "entries", "factor_entries", "factor_flops"}
"""What the library of a factor decides, of which there are many versions."""
PASSED_OVER = LIBRARIES | {"seconds", "cpu_seconds", "statistics", "memory", "version", "path", "folder", "threads"}
"""What differs between two runs, of objects of the project."""
ELSEWHERE = {"mechanism", "system", "independent", "made_by", "stored_times"}
"""What a case looks at by itself, if at all."""
FOLDERS = re.compile(r"(/[\w.+-]+)+/")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def seen_of(thing: Any) -> Seen:
    """All that is seen of an object."""
    found: Seen = {}
    _look(thing, "", found, set(), 0)
    return found


def brief(thing: Any, met: dict[int, Any]) -> Seen:
    """Some of what is seen of an object: of its fields, without what it computes when it is asked, and without the objects
    that were met before, by their identities; it adds its own to them."""
    found: Seen = {}
    _look(thing, "", found, set(), DEEP - BRIEF_LEVELS, met)
    places = sorted((at for at, value in found.items() if value not in ("None", [])), key=lambda at: crc32(at.encode()))
    return {at: _shorter(found[at]) for at in places[:BRIEF]}  # the same ones beside others


def message(error: BaseException) -> str:
    """The text of an error; where another library is quoted, only its beginning, because their texts change."""
    text = FOLDERS.sub("", str(error))
    foreign = (
        error.__cause__
        or (None if error.__suppress_context__ else error.__context__)
        or isinstance(error, ModelFileError)
    )
    return skeleton(text[:60] if foreign else text)


def _shorter(value: Any) -> Any:
    if isinstance(value, str):
        return value[:BRIEF_TEXT]
    return _numbers(np.array(value), 4) if isinstance(value, list) else value


def skeleton(text: str) -> str:
    """A text without its folders and numbers, and without the blanks that depend on their lengths."""
    return " ".join(NUMBER.sub("#", FOLDERS.sub("", text)).split())


def _look(
    thing: Any, at: str, found: Seen, on_the_way: set[int], depth: int, met: dict[int, Any] | None = None
) -> None:
    if thing is None or isinstance(thing, str | bool | int | np.bool_ | np.integer | Enum):
        found[at] = FOLDERS.sub("", str(thing))
    elif isinstance(thing, float | complex | np.floating | np.complexfloating):
        found[at] = _numbers(np.array([thing]))
    elif isinstance(thing, np.ndarray):
        _look_at_array(thing, at, found)
    elif sp.issparse(thing):
        n = thing.shape[1]
        along = np.cos(1.0 + 0.7 * np.arange(n))
        found[at] = _numbers(np.asarray(thing @ along))
    elif isinstance(thing, Figure):
        for k, axes in enumerate(thing.axes):
            _look_at_axes(axes, f"{at}[{k}]", found)
    elif hasattr(thing, "point_data") and hasattr(thing, "points"):  # of PyVista
        _look(
            {
                "points": np.asarray(thing.points),
                "data": {k: np.asarray(v) for k, v in thing.point_data.items()},
                "cells": {k: np.asarray(v) for k, v in thing.cell_data.items()},
                "count": thing.n_cells,
            },
            at,
            found,
            on_the_way,
            depth,
            met,
        )
    elif id(thing) not in on_the_way and depth < DEEP and id(thing) not in (met or {}):
        on_the_way = on_the_way | {id(thing)}
        if met is not None:
            met[id(thing)] = thing
        for name, part in islice(_parts(thing, met is None), MOST):
            _look(part, f"{at}.{name}" if at else name, found, on_the_way, depth + 1, met)


def _parts(thing: Any, whole: bool) -> Iterator[tuple[str, Any]]:
    """The named parts of an object; as a whole with its properties."""
    if isinstance(thing, Mapping):
        yield from ((str(key), thing[key]) for key in sorted(thing, key=str) if key not in LIBRARIES)
        return
    if isinstance(thing, Set):
        yield from ((str(k), x) for k, x in enumerate(sorted(thing, key=str)))
        return
    if isinstance(thing, Sequence) and not hasattr(thing, "_fields"):
        yield from ((str(k), x) for k, x in enumerate(thing))
        return
    kind = type(thing)
    if isinstance(thing, flexmb.Result) and whole:
        yield "columns", {name: column.values for name, column in thing.columns().items()}
        yield "ledger", thing.ledger
        yield "verdict", skeleton(str(thing.verdict))
        yield "happened", thing.happened
        yield "text", skeleton(str(thing))
        return
    if isinstance(thing, fem.Model) and whole:
        yield from (
            ("mass", thing.mass),
            ("inertia", thing.inertia()),
            ("K", thing.K),
            ("M", thing.M),
            ("text", skeleton(str(thing))),
        )
        return
    if isinstance(thing, EnergyByElement) and whole:
        yield from (("elements", thing.elements), ("work apart", thing.work_apart), ("heat apart", thing.heat_apart))
        return
    if isinstance(thing, FactorRecord):  # all else depends on the version of its library
        yield from (("kind", thing.kind), ("equations", thing.equations), ("inertia", thing.inertia))
        return
    if not f"{kind.__module__}.".startswith(OURS):
        return
    names = list(getattr(thing, "_fields", ())) or ([f.name for f in fields(thing)] if is_dataclass(thing) else [])
    names += [n for n in vars(thing) if n not in names] if hasattr(thing, "__dict__") else []
    computed = {n for n in dir(kind) if isinstance(inspect.getattr_static(kind, n, None), property | cached_property)}
    if not whole:
        names = [n for n in names if n not in computed]
    own = sorted(computed) if whole else []
    for name in [*names, *(n for n in own if n not in names)]:
        if name.startswith("_") or name in PASSED_OVER | ELSEWHERE:
            continue
        try:
            part = getattr(thing, name)
        except FlexmbError as error:
            part = skeleton(f"{type(error).__name__}: {error}")
        except Exception as error:
            part = type(error).__name__
        yield name, part
    if whole and kind.__str__ is not object.__str__ and not is_dataclass(kind):
        yield "text", skeleton(str(thing))


def _look_at_array(array: np.ndarray, at: str, found: Seen) -> None:
    if array.dtype.kind in "OUS":
        found[at] = " ".join(map(str, array.ravel()[:MOST]))
    elif array.dtype.kind in "biufc":
        found[at] = _numbers(array)


def _numbers(array: np.ndarray, few: int = FEW) -> list[float]:
    """The numbers of a small array; of a large one, for each column, the sum of magnitudes and one with weights."""
    flat = np.asarray(array)
    if flat.dtype.kind == "c":
        return _numbers(np.stack([flat.real, flat.imag], axis=-1), few)
    flat = flat.astype(float)
    if flat.size <= few:
        return [float(x) for x in flat.ravel()]
    columns = flat.reshape(-1, flat.shape[-1]) if flat.ndim > 1 and flat.shape[-1] <= few else flat.reshape(-1, 1)
    weights = 1.0 + 0.5 * np.cos(2.0 + 1.3 * np.arange(len(columns)))
    with np.errstate(all="ignore"):
        return [float(x) for column in columns.T for x in (np.abs(column).sum(), weights @ column)]


def _look_at_axes(axes: Any, at: str, found: Seen) -> None:
    for what in ("title", "xlabel", "ylabel", "xscale", "yscale"):
        found[f"{at}.{what}"] = skeleton(getattr(axes, f"get_{what}")())
    found[f"{at}.legend"] = skeleton(
        " | ".join(text.get_text() for text in (axes.get_legend().get_texts() if axes.get_legend() else ()))
    )
    found[f"{at}.texts"] = skeleton(" | ".join(text.get_text() for text in axes.texts))
    for k, line in enumerate(axes.lines):
        found[f"{at}.line{k}"] = _numbers(np.asarray(line.get_xydata(), dtype=float))
        found[f"{at}.line{k}.label"] = skeleton(str(line.get_label()))
    for k, drawn in enumerate((*axes.collections, *axes.images)):
        data = drawn.get_array()
        if data is not None:
            found[f"{at}.colours{k}"] = _numbers(np.asarray(data, dtype=float))
        if hasattr(drawn, "get_offsets"):
            found[f"{at}.offsets{k}"] = _numbers(np.asarray(drawn.get_offsets(), dtype=float))
