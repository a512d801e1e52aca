"""The files that a process reads while a model runs, on which an outcome depends in addition to the code of the model.

An audit hook of Python reports every file that is opened: meshes, tables, model files, and modules of the user that the
model imports. Files that variants write are not inputs. What the main thread opens between variants does not count,
since a notebook may write tables for its studies in threads. Libraries in other languages can open files without a
report.
"""

import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexmb.study.identity import PACKAGES, file_digest

_ROOT = Path(__file__).parents[2]
_ELSEWHERE = tuple(
    f"{folder}{os.sep}"
    for folder in {
        *(str(_ROOT / package) for package in PACKAGES),
        *sysconfig.get_paths().values(),
        "/proc",
        "/sys",
        "/dev",
        "/etc",
    }
)
"""Folders of flexmb, Python, its packages and the operating system, whose versions determine their content."""
_read: set[str] = set()
_written: set[str] = set()
_listening = False
_thread = threading.local()
"""`runs`: whether the thread runs a variant."""


@contextmanager
def listening() -> Iterator[None]:
    """Record the files that are opened while this thread runs a variant, in it and in threads that it starts."""
    global _listening
    if not _listening:
        _listening = True
        sys.addaudithook(_hear)
    _thread.runs = True
    try:
        yield
    finally:
        _thread.runs = False


def files_read() -> dict[str, str]:
    """Digests, by path, of the files that variants have read in this process.

    Files that earlier variants have read are included, since values cached then may serve later variants.
    """
    return {name: file_digest(Path(name)) for name in sorted(_read - _written) if os.path.isfile(name)}


def unchanged(digests: dict[str, str], known: dict[str, str]) -> bool:
    """Whether files still have the given digests; `known`: digests already computed, by path."""
    for name in digests:
        if name not in known:
            known[name] = file_digest(Path(name)) if os.path.isfile(name) else ""
    return all(known[name] == digest for name, digest in digests.items())


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    if not getattr(_thread, "runs", False) and threading.current_thread() is threading.main_thread():
        return
    name = os.path.abspath(os.fsdecode(arguments[0]))
    _, mode, flags = arguments
    if (mode and set(mode) & set("wxa+")) or (not mode and flags & (os.O_WRONLY | os.O_RDWR)):
        _written.add(name)
    elif not name.startswith(_ELSEWHERE):
        _read.add(_source(name))


def _source(name: str) -> str:
    """The source of a compiled Python module; the name itself for other files."""
    if not name.endswith(".pyc"):
        return name
    try:
        return importlib.util.source_from_cache(name)
    except (NotImplementedError, ValueError):
        return name
