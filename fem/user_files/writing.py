"""Names of files and folders while they are written: those that killed processes left are known by them, and removed.

Several hosts may share a folder: a name tells machine and process.
"""

import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil

from fem.errors import FlexmbError
from fem.user_files.place import real_path

FOLDER = "flexmb-reading-"
"""Begin of the names of temporary folders, which the mark of the process follows."""
LONGEST_NAME = 192
"""Longest name of a file, in bytes, that stands in that of an unfinished one; file systems take 255 in all."""


@cache
def machine() -> str:
    """Eight digits that distinguish this host, and on Linux this container, from others that share a folder."""
    parts = [socket.gethostname()]
    for name in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(name) if name.endswith("pid") else Path(name).read_text())
        except OSError:
            continue
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def owner() -> str:
    """The mark of this process in the names of its files: machine and process."""
    return f"{machine()}-{os.getpid()}"


def is_orphan(mark: str) -> bool:
    """Whether a mark of `owner` belongs to a process of this machine that is no more."""
    host, _, process = mark.partition("-")
    return host == machine() and process.isdigit() and not psutil.pid_exists(int(process))


def unfinished(path: Path, ending: str = "") -> Path:
    """A new name beside `path`, `.NAME.OWNER-*.part`, for a file that is being written; those of killed processes are
    removed. `ending`: of the new name, for writers that choose a format by it. A digest stands for a long NAME."""
    name = os.fsencode(path.name)
    short = path.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()[:32]
    for other in orphans(path.parent, f".{short}.", f".part{ending}"):
        with suppress(OSError):  # of another user
            other.unlink(missing_ok=True)
    return path.parent / f".{short}.{owner()}-{secrets.token_hex(4)}.part{ending}"


@contextmanager
def written_whole(path: Path, ending: str = "") -> Iterator[Path]:
    """The name under which the block writes a file that is `path` afterwards: whole, or as it was before.

    A device, such as /dev/stdout, is written directly.
    """
    path = real_path(path)
    if path.exists() and not path.is_file():
        yield path
        return
    part = unfinished(path, ending)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def temporary_folder(what: str, error: type[FlexmbError]) -> Iterator[Path]:
    """A folder for the files that the block needs, which is removed afterwards; those of killed processes are, too.

    Raises an `error` that begins with `what` when no such folder can be made.
    """
    try:
        place = Path(tempfile.gettempdir())
        remove_orphaned_folders(place, FOLDER)
        folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{owner()}-", dir=place))
    except OSError as problem:
        raise error(
            f"{what} needs a temporary folder, and none can be made: {problem}. Name one that can be written to in the "
            "variable TMPDIR."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def orphans(folder: Path, prefix: str, ending: str = "") -> Iterator[Path]:
    """Files named prefix, mark of a process, ending, whose process was one of this machine and is no more."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    pattern = re.compile(re.escape(prefix) + r"([0-9a-f]{8}-\d+)-.*" + re.escape(ending))
    for name in names:
        found = pattern.fullmatch(name)
        if found and is_orphan(found[1]):
            yield folder / name


def remove_orphaned_folders(folder: Path, prefix: str) -> None:
    """Remove the folders of processes of this machine that are no more."""
    for directory in orphans(folder, prefix):
        shutil.rmtree(directory, ignore_errors=True)
