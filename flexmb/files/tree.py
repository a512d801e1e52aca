"""Trees of arrays, numbers, texts and lists in HDF5, written whole or not at all. No pickle."""

import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fem.errors import FlexmbError

Tree = dict[str, Any]
FORMAT = 1


class FileError(FlexmbError, OSError):
    """A file cannot be read or written."""


def write_tree(path: str | Path, kind: str, tree: Tree) -> Path:
    """Write `tree` to an HDF5 file of the given `kind`; an old file stays until the new one is complete."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
    except OSError as error:
        raise FileError(f"Cannot write {kind} file {path}: {error.strerror} (folder {path.parent}).") from None
    try:
        with h5py.File(temporary, "w") as file:
            file.attrs["kind"] = f"flexmb {kind}"
            file.attrs["format"] = FORMAT
            file.attrs["writer"] = f"flexmb {_version()}"
            _write(file, tree)
        os.replace(temporary, path)
    except OSError as error:
        size = sum(np.asarray(a).nbytes for a in _leaves(tree))
        raise FileError(
            f"Cannot write {kind} file {path}: {error}. It needs about {size / 1e6:.1f} MB; nothing was changed. Free disk space or choose another place."
        ) from None
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path


def read_tree(path: str | Path, kind: str) -> Tree:
    """Read a tree that `write_tree` wrote; refuses other, damaged and newer files."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"There is no {kind} file {str(path)!r} (looked in {path.resolve().parent}).")
    try:
        with h5py.File(path, "r") as file:
            found = str(file.attrs.get("kind", "another program's file"))
            if found != f"flexmb {kind}":
                raise FileError(f"{path} is not a flexmb {kind} file; it is a {found}.")
            if int(file.attrs["format"]) > FORMAT:
                raise FileError(f"{path} has format {file.attrs['format']} ({file.attrs['writer']}); this version reads up to {FORMAT}. Update flexmb.")
            return _read(file)
    except FileError:
        raise
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise FileError(f"{path} cannot be read as a flexmb {kind} file: {error}. It may be damaged or no HDF5 file at all.") from None


def _version() -> str:
    try:
        return version("flexmb")
    except PackageNotFoundError:
        return "unknown"


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in _leaves(value)]
    if isinstance(tree, list | tuple):
        return [leaf for value in tree for leaf in _leaves(value)]
    return [0 if tree is None else tree]


def _write(group: h5py.Group, tree: Tree) -> None:
    for key, value in tree.items():
        if value is None:
            continue
        if isinstance(value, dict):
            # names may hold "/", which HDF5 reads as a path: they are kept as attributes of numbered groups
            child = group.create_group(key)
            child.attrs["type"] = "dict"
            for number, (name, item) in enumerate(value.items()):
                entry = child.create_group(str(number))
                entry.attrs["name"] = name
                _write(entry, {"value": item})
        elif isinstance(value, list | tuple):
            child = group.create_group(key)
            child.attrs["type"] = "list"
            child.attrs["length"] = len(value)
            for number, item in enumerate(value):
                _write(child, {str(number): item})
        elif isinstance(value, str | bool | int | float):
            group.attrs[key] = value
        else:
            array = np.asarray(value)
            group.create_dataset(key, data=array, compression="gzip" if array.size > 4096 else None, shuffle=array.size > 4096 or None)


def _read(group: h5py.Group) -> Tree:
    tree: Tree = {}
    for key, value in group.attrs.items():
        if key not in ("type", "length"):
            tree[key] = value.item() if isinstance(value, np.generic) else value
    for key, item in group.items():
        if isinstance(item, h5py.Dataset):
            tree[key] = item[()]
        elif item.attrs.get("type") == "dict":
            entries = [item[str(k)] for k in range(len(item))]
            tree[key] = {entry.attrs["name"]: _read(entry).get("value") for entry in entries}
        elif item.attrs.get("type") == "list":
            found = _read(item)
            tree[key] = [found.get(str(k)) for k in range(int(item.attrs["length"]))]
        else:
            tree[key] = _read(item)
    return tree
