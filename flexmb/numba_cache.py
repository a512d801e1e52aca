"""A place for the code that numba compiles, where neither the package nor the home of the user can be written.

numba stores it beside the source, or in the cache folder of the user, and raises an error at import if it can do
neither. `flexmb` imports this module before all that numba compiles.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numba

from fem.user_files import owner, remove_orphaned_folders

config: Any = numba.config  # its attributes are made at run time
PREFIX = "flexmb-numba-"


def writable(folder: Path) -> bool:
    """Whether files can be created in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _user_folder() -> Path:
    """Where numba stores what it compiles for a user, on Linux; elsewhere it is inside the home folder too."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~")) / ".cache")


def ensure_place() -> None:
    """Give numba a temporary folder, of this process only, if it has no other place."""
    if config.CACHE_DIR or writable(Path(__file__).parent / "__pycache__") or writable(_user_folder()):
        return
    place = Path(tempfile.gettempdir())
    remove_orphaned_folders(place, PREFIX)
    folder = tempfile.mkdtemp(prefix=f"{PREFIX}{owner()}-", dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config.CACHE_DIR = folder


ensure_place()
