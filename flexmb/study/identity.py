"""The identity of a study, as digests of content: functions with all they refer to, named files, options, flexmb.

Two functions are identical when their bytecode, constants, defaults, closures and the globals that they name are. A
text or path that names a file stands for the content of this file and of the files that it includes. Digests are equal
in all processes with the same version of Python.
"""

import dataclasses
import functools
import re
import struct
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fem.user_files import is_file, real_path
from flexmb.errors import StudyError

LONGEST_NAME = 1000
"""Largest number of characters of a text that is examined as the name of a file."""
_INCLUDED = re.compile(
    rb"INPUT\s*=\s*([^,\r\n]+)|^\s*INCLUDE\s+'([^'\r\n]+)'|=\s*\"([^\"\r\n]+)\"", re.IGNORECASE | re.MULTILINE
)
"""Names of further files in input files of Abaqus and Nastran and in model files."""
_TEXTS = {".inp", ".inc", ".bdf", ".nas", ".dat", ".fem", ".toml"}
PACKAGES = ("fem", "reduction", "flexmb", "meshes")


def identity(**parts: Any) -> dict[str, str]:
    """A digest for each part of a study, and for the code of flexmb. Raises `StudyError` for objects without one."""
    return {name: _Digest(name).of(value) for name, value in parts.items()} | {"flexmb": _code()}


def file_digest(path: Path, seen: tuple[Path, ...] = ()) -> str:
    """The digest of the content of a file, and of the files beside it that it names."""
    content = path.read_bytes()
    found = [sha256(content).hexdigest()]
    for names in _INCLUDED.findall(content) if path.suffix.lower() in _TEXTS else ():
        other = path.parent / next(filter(None, names)).decode(errors="replace").strip().strip("\"'")
        if is_file(other) and real_path(other) not in seen:
            found.append(file_digest(other, (*seen, real_path(path))))
    return sha256(" ".join(found).encode()).hexdigest()


@functools.cache
def _code() -> str:
    """The digest of the sources of flexmb that run in this process."""
    root = Path(__file__).parents[2]
    sources = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


class _Digest:
    """Computes digests of one part, which `what` names in errors."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._inside: dict[int, int] = {}  # depth of the objects being processed, which may refer to themselves

    def of(self, value: Any) -> str:
        """The digest of a value, determined by its content."""
        if id(value) in self._inside:
            return f"the object {len(self._inside) - self._inside[id(value)]} above"
        self._inside[id(value)] = len(self._inside)
        try:
            parts = [f"{type(value).__module__}.{type(value).__qualname__}", *self._parts(value)]
        finally:
            del self._inside[id(value)]
        return sha256(b"".join(struct.pack("q", len(part)) + part for part in map(str.encode, parts))).hexdigest()

    def _parts(self, value: Any) -> Iterable[str]:
        if value is None or isinstance(value, bool | int | float | complex):
            return [repr(value)]
        if isinstance(value, str | Path):
            return [str(value), *self._file(value)]
        if isinstance(value, bytes):
            return [value.hex()]
        if isinstance(value, np.ndarray) and value.dtype != object:
            return [value.dtype.str, str(value.shape), sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
        if isinstance(value, list | tuple):
            return map(self.of, value)
        if isinstance(value, set | frozenset):
            return sorted(map(self.of, value))
        if isinstance(value, Mapping):
            return sorted(self.of(key) + self.of(item) for key, item in value.items())
        return self._code_parts(value)

    def _file(self, name: str | Path) -> list[str]:
        path = Path(name)
        return [file_digest(path)] if len(str(name)) < LONGEST_NAME and is_file(path) else []

    def _code_parts(self, value: Any) -> Iterable[str]:
        if hasattr(value, "py_func"):  # compiled by numba
            return [self.of(value.py_func), self.of(dict(value.targetoptions))]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CodeType):
            return [
                value.co_code.hex(),
                *map(self.of, value.co_consts),
                *value.co_names,
                *value.co_varnames,
                *value.co_freevars,
            ]
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.BuiltinFunctionType | np.ufunc):
            return [getattr(value, "__qualname__", value.__name__), self.of(getattr(value, "__module__", None))]
        if hasattr(value, "__wrapped__"):  # functools.lru_cache and its like
            return [self.of(value.__wrapped__)]
        if isinstance(value, type):
            return self._class(value)
        return self._object(value)

    def _function(self, f: types.FunctionType) -> list[str]:
        names = _names(f.__code__)
        used = {name: f.__globals__[name] for name in sorted(names) if name in f.__globals__}
        held = [content_of(cell) for cell in f.__closure__ or ()]
        if is_installed(f.__module__):
            return [str(f.__module__), f.__qualname__, *map(self.of, (f.__defaults__, f.__kwdefaults__, held))]
        return [*map(self.of, (f.__code__, f.__defaults__, f.__kwdefaults__, held, used))]

    def _module(self, module: types.ModuleType) -> list[str]:
        if is_installed(module.__name__):
            return [module.__name__, str(getattr(module, "__version__", ""))]
        path = Path(module.__file__ or "")
        sources = sorted(path.parent.rglob("*.py")) if hasattr(module, "__path__") else [path]
        return [module.__name__, *map(file_digest, filter(is_file, sources))]

    def _class(self, kind: type) -> list[str]:
        if is_installed(kind.__module__):
            return [kind.__module__, kind.__qualname__]
        members = {
            key: item
            for key, item in vars(kind).items()
            if not key.startswith("__") or isinstance(item, types.FunctionType)
        }
        return [kind.__qualname__, self.of(members), *map(self.of, kind.__bases__)]

    def _object(self, value: Any) -> Iterable[str]:
        if isinstance(value, functools.cached_property):
            return [self.of(value.func)]
        if isinstance(value, property):
            return map(self.of, (value.fget, value.fset))
        if isinstance(value, staticmethod | classmethod):
            return [self.of(value.__func__)]
        if dataclasses.is_dataclass(value):  # values cached beside the fields are computed from them
            given = [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
            return map(self.of, (type(value), *given))
        try:
            made = value.__reduce_ex__(4)
        except Exception as error:
            raise StudyError(
                f"The {self._what} of a study with a checkpoint refers to an object of type {type(value).__name__}, "
                f"which has no identity by its content ({error}). Create it inside the function, or omit checkpoint=."
            ) from None
        if isinstance(made, str):
            return [made]
        return [self.of(self._state(value, part)) for part in made]

    @staticmethod
    def _state(value: Any, part: Any) -> Any:
        """A part of the reduced form of an object, without cached properties, which are computed from the rest."""
        if hasattr(part, "__next__"):
            return list(part)
        if not isinstance(part, dict) or part.keys() != getattr(value, "__dict__", {}).keys():
            return part
        kept = [k for k in part if isinstance(getattr(type(value), str(k), None), functools.cached_property)]
        return {k: x for k, x in part.items() if k not in kept}


def is_installed(name: str | None) -> bool:
    """Whether a module belongs to flexmb, to Python, or to an installed package, which its name identifies."""
    if name is None or name.partition(".")[0] in PACKAGES:
        return True
    if name == "__main__":
        return False
    path = getattr(sys.modules.get(name), "__file__", None)
    return (
        path is None
        or bool({"site-packages", "dist-packages"} & set(Path(path).parts))
        or path.startswith(sysconfig.get_path("stdlib"))
    )


def content_of(cell: types.CellType) -> Any:
    """The value of a variable around a function; "empty" where it has none yet, or in this branch."""
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def _names(code: types.CodeType) -> set[str]:
    """Names that a function, or a function inside it, may take from its module."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))
