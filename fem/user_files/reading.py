"""Files that a user names: what may be read, and how much of it.

A device, a pipe or a file that does not fit the memory must not be read to its end.
"""

import codecs
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from fem.user_files.place import is_file, real_path

LARGEST_MODEL = 2**26
"""Largest size of a model file and of a table beside it, in bytes."""
PART_OF_MEMORY = 0.25
"""Largest part of the memory that a text may take: its lines take several times its size."""
DEEPEST = 50
"""Largest depth of files that include each other, and of sets inside sets."""
MOST_FILES = 1_000
"""Largest number of files that a deck may include, repetitions counted."""
Failure = Callable[[str], Exception]
WINDOWS = "fem.windows"
"""How texts are read whose names may be in the encoding of Windows for Western Europe (`errors` of `text_of`): letters
that are not UTF-8 stay apart from each other."""


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    letters = error.object[error.start : error.end].decode("cp1252", "replace")
    return letters.replace("\xa0", "\ufffd"), error.end  # a blank that is none in UTF-8 would complete a damaged field


codecs.register_error(WINDOWS, _as_windows)


def require_file(path: Path, failure: Failure, what: str) -> Path:
    """The path of an existing, regular file.

    Raises `failure(message)`, which names it as `what`, for a missing file, a folder, a device and a pipe.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise failure(f"There is no {what} {str(path)!r} (looked in {real_path(path.parent)}).") from None
    except (OSError, ValueError) as error:
        raise failure(f"The {what} {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        raise failure(f"The {what} {path} cannot be read: it is {kind}; name a file.")
    return path


def text_of(path: Path, failure: Failure, what: str, most: int | None = None, errors: str = "strict") -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    `most`: largest size in bytes (default: a quarter of the memory that is available). Raises `failure(message)` for
    what is no file, larger, or not UTF-8.
    """
    require_file(path, failure, what)
    try:
        require_size(path.stat().st_size, failure, f"The {what} {path}", most)
        return path.read_text(encoding="utf-8-sig", errors=errors)
    except OSError as error:
        raise failure(f"The {what} {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise failure(
            f"The {what} {path}, line {line}: expected UTF-8, found the byte {error.object[error.start]:#04x}. Save it "
            "as UTF-8."
        ) from None


def require_size(size: int, failure: Failure, what: str, most: int | None = None) -> None:
    """Raise `failure(message)` if `size` bytes are more than `most` (default: a quarter of the available memory)."""
    limit = int(PART_OF_MEMORY * psutil.virtual_memory().available) if most is None else most
    if size > limit:
        raise failure(f"{what} takes {size / 1e6:.4g} MB; at most {limit / 1e6:.4g} MB can be read here.")


class IncludedFiles:
    """The files that a deck includes: their number, depth and whether they are in its folder."""

    def __init__(self, deck: Path, failure: Failure) -> None:
        self._folder, self._failure, self._count = real_path(deck.parent), failure, 0
        self.foreign: list[Path] = []

    def entered(self, path: Path, inside: tuple[Path, ...]) -> tuple[Path, ...]:
        """The chain of files with `path` at its end. Raises when it includes itself, or the files are too many."""
        found, self._count = real_path(path), self._count + 1
        if found in inside:
            raise self._failure(f"{path}: the file includes itself.")
        if len(inside) >= DEEPEST:
            raise self._failure(f"{path}: files include each other more than {DEEPEST} deep. Join them.")
        if self._count > MOST_FILES:
            raise self._failure(f"{path}: the deck includes more than {MOST_FILES} files. Join them.")
        if not found.is_relative_to(self._folder) and path not in self.foreign:
            self.foreign.append(path)
        return (*inside, found)

    def without_quotes(self, error: Exception) -> Exception:
        """An error in whose message nothing of a file outside the folder of the deck is quoted."""
        if not self.foreign:
            return error
        place = re.match(r".*?, line \d+", str(error))
        return self._failure(
            f"{place[0] if place else self._folder}: the deck cannot be read. It includes {len(self.foreign)} files "
            f"outside its folder ({', '.join(map(str, self.foreign[:3]))}), of which messages quote nothing: copy them "
            f"into {self._folder} to see what is wrong."
        )


@contextmanager
def quotes_inside(path: Path, folder: Path, error: type[Exception]) -> Iterator[None]:
    """Errors of the block about a file outside `folder` name the file and its line, and quote nothing of it."""
    try:
        yield
    except error as raised:
        if not is_file(path) or real_path(path).is_relative_to(real_path(folder)):
            raise
        line = re.search(r"line \d+", str(raised))
        raise error(
            f"The table {path}{f', {line[0]}' if line else ''}: it cannot be used. It is outside the folder "
            f"{real_path(folder)}, and messages quote nothing of such files: copy it there to see what is wrong."
        ) from None
