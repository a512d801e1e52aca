"""Watched tests: what functions of the project return to a test, raise and warn of is the record of this test.

Tests compare what they have a theory for; most of what an edit changes they let pass. A watched test also fails if anything
differs that the project said to it when it was recorded: `python -m tests.recorded --watch NAME ...`.
"""

import functools
import importlib
import inspect
import json
import os
import pkgutil
import sys
import threading
import types
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from fem.errors import FlexmbError

from .record import VALUES, differences, rounded, write_lines
from .shaken import SHAKEN, shake_project
from .summary import OURS, Seen, brief, message, skeleton

TESTS = Path(__file__).parents[1]
FOLDER = "FLEXMB_WATCH"
"""Names the folder into which what tests saw is written, instead of comparing it; if it is empty, neither is done, as
with other versions of libraries, whose texts and choices differ."""
COMPILED = ("flexmb.kernels", "flexmb.forces.frame", "flexmb.controllers.formulas")
CACHED = functools._lru_cache_wrapper
SPECIAL = ("__init__", "__str__", "__call__")
MOST = 4
"""Calls of a function by a test that are recorded."""
CLOSE = 1e-5
"""Difference of numbers, relative to the largest one of their array, that is rounding."""


class Log:
    """What the project says to a test, call by call."""

    def __init__(self) -> None:
        self.seen: Seen = {}
        self.met: dict[int, Any] = {}
        self.counts: dict[str, int] = {}
        self.inside = 0
        self.thread = threading.get_ident()

    def add(self, name: str, thing: Any) -> None:
        count = self.counts[name] = self.counts.get(name, 0) + 1
        if count <= MOST:
            self.inside += 1
            try:
                self.seen |= {f"{name} {count}{'.' if at else ''}{at}": v for at, v in brief(thing, self.met).items()}
            finally:
                self.inside -= 1


ACTIVE: list[Log] = []
"""The log of the test that runs, if it is watched."""
_PATCHES: dict[int, list[tuple[Any, str, Any, Any]]] = {}
"""For a number of modules that are loaded: owners, names, functions, and what is called instead while a test is watched."""


def _heard(function: Callable[..., Any], name: str, written: bool = True) -> Callable[..., Any]:
    """A function whose outermost calls are written down; or not, and those that it makes neither."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not ACTIVE or (log := ACTIVE[0]).inside or threading.get_ident() != log.thread:
            return function(*arguments, **options)
        log.inside += 1
        try:
            found = function(*arguments, **options)
        except FlexmbError as error:
            if written:
                log.add(name, f"{type(error).__name__}: {message(error)}")
            raise
        finally:
            log.inside -= 1
        if written:
            log.add(name, arguments[0] if function.__name__ == "__init__" else found)
        return found

    if isinstance(function, CACHED):
        call.cache_clear, call.cache_info = function.cache_clear, function.cache_info  # type: ignore[attr-defined]
    return call


def _warned(warn: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(warn)
    def call(said: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **options: Any) -> None:
        if ACTIVE and isinstance(said, Warning) and f"{type(said).__module__}.".startswith(OURS):
            ACTIVE[0].add(type(said).__name__, skeleton(str(said)))
        warn(said, category, stacklevel + 1, source, **options)

    return call


def _ours(module: str) -> bool:
    return f"{module}.".startswith(OURS) and not module.startswith(COMPILED)


def _heard_attribute(attribute: Any, name: str, written: bool) -> Any:
    """The attribute of a class, if it is a function or a property, with its calls heard and perhaps written down;
    otherwise nothing."""
    if isinstance(attribute, types.FunctionType | CACHED):
        return _heard(attribute, name, written)
    if isinstance(attribute, staticmethod | classmethod):
        return type(attribute)(_heard(attribute.__func__, name, written))
    if isinstance(attribute, property) and attribute.fget:
        return property(_heard(attribute.fget, name, written), attribute.fset, attribute.fdel)
    if isinstance(attribute, cached_property):
        new = cached_property(_heard(attribute.func, name, written=False))  # an earlier test may have asked for it
        new.__set_name__(None, attribute.attrname)  # type: ignore[arg-type]
        return new
    return None


@contextmanager
def watching(log: Log) -> Iterator[None]:
    """All functions of the project, under every name that a module has for them, write to a log meanwhile."""
    patches = [
        patch for patch in _patches() if vars(patch[0]).get(patch[1]) is patch[2]
    ]  # not what a fixture put there
    for owner, name, _, new in patches:
        setattr(owner, name, new)
    ACTIVE.append(log)
    try:
        yield
    finally:
        ACTIVE.remove(log)
        for owner, name, old, _ in reversed(patches):
            setattr(owner, name, old)


def _patches() -> list[tuple[Any, str, Any, Any]]:
    modules = list(sys.modules.values())
    if len(modules) not in _PATCHES:
        _PATCHES.clear()
        _PATCHES[len(modules)] = list(_found(modules))
    return _PATCHES[len(modules)]


def _found(modules: list[types.ModuleType]) -> Iterator[tuple[Any, str, Any, Any]]:
    heard: dict[int, Any] = {}
    classes = {}
    for module in modules:
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict):
            continue
        for name, thing in list(names.items()):
            if isinstance(thing, types.FunctionType | CACHED) and _ours(thing.__module__) and not name.startswith("_"):
                if id(thing) not in heard:
                    heard[id(thing)] = _heard(thing, thing.__name__)
                yield module, name, thing, heard[id(thing)]
            elif isinstance(thing, type) and _ours(thing.__module__):
                classes[id(thing)] = thing
    for kind in classes.values():
        if issubclass(kind, BaseException | Enum | tuple) or inspect.isabstract(kind):
            continue
        written = not kind.__name__.startswith("_")  # private ones may be called when garbage is collected
        for name, attribute in list(vars(kind).items()):
            if name in SPECIAL or not name.startswith("_"):
                new = _heard_attribute(attribute, f"{kind.__name__}.{name}", written)
                if new is not None:
                    yield kind, name, attribute, new
    yield warnings, "warn", warnings.warn, _warned(warnings.warn)


@functools.cache
def records(file: str) -> dict[str, Seen]:
    """The records of the tests of a file, by their names."""
    path = record_file(file)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record_file(file: str) -> Path:
    """Where the records of a file of tests are."""
    return VALUES / "watched" / f"{file.removeprefix('tests/').removesuffix('.py').replace('/', '.')}.json"


def names() -> list[str]:
    """The tests that are recorded."""
    files = {path: f"tests/{path.stem.replace('.', '/')}.py" for path in sorted((VALUES / "watched").glob("*.json"))}
    return [f"{file}::{name}" for file in files.values() for name in records(file)]


def write(found: dict[str, Seen]) -> None:
    """Put records in the place of those of the same tests."""
    for file in sorted({test.partition("::")[0] for test in found}):
        own = {test.partition("::")[2]: rounded(seen) for test, seen in found.items() if test.startswith(f"{file}::")}
        write_lines(record_file(file), dict(sorted({**records(file), **own}.items())))


@functools.cache
def load_all() -> None:
    """Import all modules of the project, some of which are imported where they are needed: all are heard in any test."""
    for package in OURS:
        for module in pkgutil.walk_packages(importlib.import_module(package[:-1]).__path__, package):
            if not module.name.endswith("__main__"):
                with suppress(ImportError):  # of a library that is optional
                    importlib.import_module(module.name)


def forget() -> None:
    """Empty the caches of tests, so that each sees the same whatever ran before."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if path.startswith(f"{TESTS}{os.sep}") and not path.startswith(f"{TESTS}{os.sep}recorded"):
            for thing in vars(module).values():
                if isinstance(thing, CACHED):
                    thing.cache_clear()


def watched(test: pytest.Function) -> Generator[None, Any, None]:
    """Around a test: compare what it sees with its record, or write it to a folder."""
    file, _, name = test.nodeid.partition("::")
    folder, kept = os.environ.get(FOLDER), records(file).get(name)
    if folder == "" or (folder is None and kept is None):
        yield
        return
    if SHAKEN in os.environ:
        shake_project()
    load_all()
    forget()
    log = Log()
    with watching(log):
        outcome = yield
    if outcome.excinfo is not None and SHAKEN not in os.environ:  # equal bits are not what it is asked for
        return
    if folder is not None:
        number = f"{abs(hash(test.nodeid)):x}"
        (Path(folder) / f"{number}.json").write_text(json.dumps({"test": test.nodeid, "seen": log.seen}))
    elif told := differences(kept or {}, log.seen, close=CLOSE):
        text = f"python -m tests.recorded --watch '{test.nodeid}' records what it sees.\n" + "\n".join(told[:10])
        outcome.force_exception(AssertionError(text))
