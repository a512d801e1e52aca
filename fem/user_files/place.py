"""Where the path of a user leads, also one that no file can have: pathlib raises errors of its own for loops of links,
and for names that are too long or contain a null character."""

import errno
import os
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False for a path that none can have."""
    return os.path.isfile(path)


def real_path(path: Path) -> Path:
    """The absolute path without links. Raises OSError for one with a null character."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "the path contains a null character", str(path))
    return Path(os.path.realpath(path))
