"""Trees of arrays, numbers, texts and lists in HDF5 files, written completely or not at all, without pickle."""

import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import h5py
import numpy as np
import psutil

from fem.user_files import DEEPEST, require_file, require_size, written_whole
from flexmb.errors import FileError
from flexmb.version import __version__

Tree = dict[str, Any]
FORMAT = 1
LONG = 4096
"""Number of entries above which an array is compressed."""
SEAL = b"\nflexmb seal %08x %016x\n"
"""Appended to the HDF5 data, where HDF5 ignores it: the CRC-32 and the length of the data, which reveal damage before
HDF5 reads the file.
"""
LONGEST_RATIO = 1100
"""Compression shortens data by a factor of at most 1032; a larger array was never written."""
_SEALED = re.compile(rb"\nflexmb seal ([0-9a-f]{8}) ([0-9a-f]{16})\n")
BLOCK = 2**24
"""Size of the blocks in which a file is read, in bytes."""


def write_tree(path: str | Path, kind: str, tree: Tree) -> Path:
    """Write `tree` to an HDF5 file of the given `kind`; return the path.

    An old file stays until the new one is complete. The HDF5 data are first made in memory, since HDF5 itself can crash
    the process when the disk is full. Raises `FileError` when the file cannot be written, or would replace a file of
    another kind.
    """
    path = Path(path)
    require_own(path, kind)
    image = _image(path, kind, tree)
    return write_whole(path, kind, image + SEAL % (zlib.crc32(image), len(image)))


def require_own(path: str | Path, kind: str) -> None:
    """Raise `FileError` if a file other than a flexmb file of this `kind` exists at `path`; it would be lost."""
    path = Path(path)
    if not os.path.exists(path):
        return
    require_file(path, FileError, f"{kind} file")
    try:
        with h5py.File(path, "r") as file:
            found = str(file.attrs.get("kind", "file of another program"))
    except OSError:
        found = "file of another program"
    if found != f"flexmb {kind}":
        raise FileError(
            f"{path} exists already and is a {found}; a {kind} file would replace it. Choose another name, or move the "
            "existing file away."
        )


def sealed_text(text: bytes) -> str:
    """The check of the lines of a text file, for a comment in the line before them; line endings do not affect it."""
    return f"flexmb check {zlib.crc32(b' '.join(text.split())):08x}"


def require_sealed_text(path: Path) -> None:
    """Raise `FileError` if the lines of a text file do not match the check in its first line.

    Files of other programs contain no check and are accepted.
    """
    require_file(path, FileError, "file")
    try:
        require_size(path.stat().st_size, FileError, str(path))
        first, _, rest = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    found = re.search(rb"flexmb check .*", first)
    if found and found[0].strip().decode(errors="replace") != sealed_text(rest):
        raise FileError(
            f"{path} is damaged, or was edited: its lines do not match the check in its first line. Write it again, or "
            "remove the words 'flexmb check ...'."
        )


def write_whole(path: Path, kind: str, content: bytes) -> Path:
    """Write a file of the given `kind` completely or not at all; an old file stays until the new one is complete.

    Returns the path. Raises `FileError` when the file cannot be written.
    """
    try:
        with written_whole(path) as part, part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError(
            f"Cannot write {kind} file {path}: {error.strerror}. It needs {len(content) / 1e6:.2g} MB in folder "
            f"{path.parent}; nothing was changed. Free disk space or choose another place."
        ) from None
    return path


def _image(path: Path, kind: str, tree: Tree) -> bytes:
    """The bytes of the HDF5 file."""
    try:
        with h5py.File(path.name, "w", driver="core", backing_store=False) as file:
            file.attrs["kind"] = f"flexmb {kind}"
            file.attrs["format"] = FORMAT
            file.attrs["writer"] = f"flexmb {__version__}"
            file.attrs["checksum"] = _checksum(tree)
            _write(file, "content", tree)
            file.flush()
            return file.id.get_file_image()
    except ValueError as error:  # a text that HDF5 cannot store
        raise FileError(f"Cannot write {kind} file {path}: {error}.") from None


def read_tree(path: str | Path, kind: str) -> Tree:
    """Read a tree that `write_tree` wrote.

    Raises `FileError` when the file does not exist, is damaged, or has another kind or format.
    """
    path = require_file(Path(path), FileError, f"{kind} file")
    _require_seal(path)
    try:
        with h5py.File(path, "r") as file:
            found = str(file.attrs.get("kind", "file of another program"))
            if found != f"flexmb {kind}":
                raise FileError(f"{path} is not a flexmb {kind} file; it is a {found}.")
            if (found_format := int(file.attrs["format"])) != FORMAT:
                cure = "Update flexmb." if found_format > FORMAT else "Write it again with this version."
                raise FileError(
                    f"{path} has format {found_format} ({file.attrs['writer']}); this version reads format {FORMAT}. "
                    f"{cure}"
                )
            expected = int(file.attrs["checksum"])
            tree = _read(_inside(file, "content"), _Read(path.stat().st_size))
    except FileError:
        raise
    except Exception as error:  # the exception depends on which bytes are damaged
        raise FileError(
            f"{path} cannot be read as a flexmb {kind} file: {error}. It is damaged, or is not an HDF5 file."
        ) from None
    if _checksum(tree) != expected:
        raise FileError(f"{path} is damaged: its content does not match its checksum. Write it again.")
    return tree


def _require_seal(path: Path) -> None:
    """Raise `FileError` if the seal of a file does not match its bytes; files of older versions have no seal."""
    size = len(SEAL % (0, 0))
    try:
        with path.open("rb") as file:
            length = max(os.fstat(file.fileno()).st_size - size, 0)
            value, left = 0, length
            while left > 0:
                block = file.read(min(BLOCK, left))
                value, left = zlib.crc32(block, value), left - len(block)
            found = _SEALED.fullmatch(file.read(size))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    if found and (int(found[1], 16), int(found[2], 16)) != (value, length):
        raise FileError(f"{path} is damaged: its content does not match its checksum. Write it again.")


def _checksum(tree: Any, value: int = 0) -> int:
    """The CRC-32 of everything in a tree."""
    if isinstance(tree, dict):
        for key, item in tree.items():
            value = _checksum(item, zlib.crc32(key.encode(), value))
        return value
    if isinstance(tree, list | tuple):
        for item in tree:
            value = _checksum(item, value)
        return value
    array = np.ascontiguousarray("none" if tree is None else tree)
    value = zlib.crc32(f"{array.dtype.str}{array.shape}".encode(), value)
    return zlib.crc32(array.reshape(-1).view(np.uint8).data if array.size else b"", value)


def _write(parent: h5py.Group, label: str, value: Any) -> None:
    """Write one value of a tree below `parent`: dictionaries and lists as groups, everything else as datasets."""
    if isinstance(value, dict | list | tuple):
        group = parent.create_group(label, track_order=True)
        group.attrs["type"] = "dictionary" if isinstance(value, dict) else "list"
        items = value.items() if isinstance(value, dict) else ((str(k), item) for k, item in enumerate(value))
        for key, item in items:
            _write(group, _label(key), item)
    elif value is None:
        parent.create_dataset(label, data=h5py.Empty("f8"))
    elif isinstance(value, np.ndarray) and value.size > LONG:
        parent.create_dataset(label, data=value, compression="gzip", shuffle=True)
    else:
        parent.create_dataset(label, data=value)


def _inside(group: h5py.Group, label: str) -> h5py.Group | h5py.Dataset:
    """What a group holds. Raises `FileError` for a link to another place or file, which flexmb never writes."""
    if label in group and not isinstance(group.get(label, getlink=True), h5py.HardLink):
        raise FileError(f"{group.file.filename} contains a link ({label!r}) to another place; links are not read.")
    return group[label]


@dataclass
class _Read:
    """What has been read of a file of `size` bytes: the places of groups and arrays, and the bytes of arrays."""

    size: int
    places: set[int] = field(default_factory=set)
    unpacked: int = 0


def _read(item: h5py.Group | h5py.Dataset, so_far: _Read, depth: int = 0) -> Any:
    """Read a value that `_write` wrote."""
    size, place = so_far.size, h5py.h5o.get_info(item.id).addr
    if place in so_far.places:
        raise FileError(
            f"{item.file.filename} has two names for the same data, of which one is {item.name}; flexmb "
            "writes one. More of them multiply what a file holds, and are not read."
        )
    so_far.places.add(place)
    if depth > DEEPEST:
        raise FileError(f"{item.file.filename} has groups inside each other more than {DEEPEST} deep.")
    if isinstance(item, h5py.Group):
        labels = list(map(str, range(len(item)))) if item.attrs["type"] == "list" else list(item)
        found = [_read(_inside(item, label), so_far, depth + 1) for label in labels]
        return found if item.attrs["type"] == "list" else dict(zip(map(_name, labels), found, strict=True))
    if item.shape is None:
        return None
    if item.is_virtual or item.external:
        raise FileError(f"{item.file.filename} refers to data of another file ({item.name}); such data are not read.")
    so_far.unpacked += item.nbytes
    if so_far.unpacked > LONGEST_RATIO * size:
        raise FileError(
            f"{item.file.filename} claims {so_far.unpacked / 1e6:.4g} MB for {item.name} and the arrays before it, and "
            f"has {size / 1e6:.4g} MB in all. It is damaged."
        )
    require_size(item.nbytes, FileError, f"{item.file.filename}: {item.name}", psutil.virtual_memory().available)
    if h5py.check_string_dtype(item.dtype):
        return item.asstr()[()]
    value = item[()]
    return value.item() if isinstance(value, np.generic) else value


_SPECIAL = {"": "%", ".": "%2E"}


def _label(name: str) -> str:
    """A name in the form in which HDF5 can store it: without "/", which separates the parts of a path there."""
    return _SPECIAL.get(name) or quote(name, safe=" !#$&'()*+,:;<=>?@[]^`{|}~")


def _name(label: str) -> str:
    return "" if label == "%" else unquote(label)
