"""Files that a user names: what may be read, and how they are written whole."""

from fem.user_files.matlab_sizes import unpacked_size
from fem.user_files.place import is_file, real_path
from fem.user_files.reading import (
    DEEPEST,
    LARGEST_MODEL,
    WINDOWS,
    IncludedFiles,
    quotes_inside,
    require_file,
    require_size,
    text_of,
)
from fem.user_files.writing import (
    machine,
    orphans,
    owner,
    remove_orphaned_folders,
    temporary_folder,
    unfinished,
    written_whole,
)

__all__ = [
    "DEEPEST",
    "LARGEST_MODEL",
    "WINDOWS",
    "IncludedFiles",
    "is_file",
    "machine",
    "orphans",
    "owner",
    "quotes_inside",
    "real_path",
    "remove_orphaned_folders",
    "require_file",
    "require_size",
    "temporary_folder",
    "text_of",
    "unfinished",
    "unpacked_size",
    "written_whole",
]
