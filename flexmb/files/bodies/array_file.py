"""Bodies as named arrays in numpy's `.npz` and MATLAB's `.mat` files.

The names are those of `flexmb.bodies.invariants.InertiaInvariants` and `flexmb.Body`. Arrays of the interfaces are
stacked: `interface_names`, `interface_points` (k, 3), `interface_rows` (k, 6, m) and, where the body has them,
`interface_second` (k, 6, m, m). These files contain neither the mesh nor its shapes and stresses.
"""

import math
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from fem.user_files import require_size, unpacked_size
from flexmb.bodies.body import Body, BodyInterface
from flexmb.bodies.invariants import InertiaInvariants
from flexmb.errors import FileError
from flexmb.files.storage.tree import write_whole

LARGEST = 2**30
"""Largest size of the arrays of a body, in bytes."""
_SHAPES = {
    "s0": "3", "S1": "3m", "SG": "3mm", "J0": "33", "J1": "m33", "J2": "mm33", "h0": "3m", "h": "3mm", "PG": "33mm",
    "stiffness": "m", "damping": "m", "deflection": "m",
    "velocity_matrix": "vv", "interface_points": "k3", "interface_rows": "k6m", "interface_second": "k6mm",
}  # fmt: skip
"""Dimensions of each array: MATLAB drops those of length one. m: modes, v: six more, k: interfaces."""


def save_npz(body: Body, path: Path) -> Path:
    """Write a body as a numpy archive; return the path. Raises `FileError` when the file cannot be written."""
    content = BytesIO()
    np.savez_compressed(content, **_arrays(body))
    return write_whole(path, "body", content.getvalue())


def load_npz(path: Path) -> Body:
    """Read a body from a numpy archive with the names of `save_npz`. Raises `FileError` for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    except Exception as error:  # the exception depends on which bytes are damaged
        raise FileError(f"{path} cannot be read as a file of numpy arrays: {error}.") from None
    _require_size(path, sizes)
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {key: file[key] for key in file.files}
    except Exception as error:  # the exception depends on which bytes are damaged
        raise FileError(f"{path} cannot be read as a file of numpy arrays: {error}.") from None
    return _body(found, [str(name) for name in found.get("interface_names", ())], path)


def save_mat(body: Body, path: Path) -> Path:
    """Write a body as a MATLAB file of version 5, which every version of MATLAB reads; return the path.

    Raises `FileError` when the file cannot be written.
    """
    arrays = _arrays(body)
    arrays["interface_names"] = np.array([str(name) for name in body.interfaces], dtype=object)
    content = BytesIO()
    scipy.io.savemat(content, arrays, do_compression=True)
    return write_whole(path, "body", content.getvalue())


def load_mat(path: Path) -> Body:
    """Read a body from a MATLAB file of version 5 with the names of `save_mat`.

    Raises `FileError` for any other file.
    """
    try:
        require_size(unpacked_size(path), FileError, f"{path}, unpacked,", LARGEST)
        sizes = {name: 8 * math.prod(shape) for name, shape, _ in scipy.io.whosmat(path)}
    except FileError:
        raise
    except Exception as error:  # the exception depends on which bytes are damaged
        raise FileError(
            f"{path} cannot be read as a MATLAB file of version 5: {error} In MATLAB write save(..., '-v7')."
        ) from None
    _require_size(path, sizes)
    try:
        found = scipy.io.loadmat(path)
    except Exception as error:  # the exception depends on which bytes are damaged
        raise FileError(
            f"{path} cannot be read as a MATLAB file of version 5: {error} In MATLAB write save(..., '-v7')."
        ) from None
    names = [str(np.asarray(cell).reshape(-1)[0]) for cell in np.asarray(found.get("interface_names", ())).reshape(-1)]
    return _body(found, names, path)


def _require_size(path: Path, sizes: Mapping[str, int]) -> None:
    """Raise `FileError` if the arrays, of the given sizes in bytes, are too large for a body."""
    if sum(sizes.values()) > LARGEST:
        largest = max(sizes, key=sizes.__getitem__)
        raise FileError(
            f"{path} holds {sum(sizes.values()) / 1e6:.4g} MB of arrays, of which {largest} takes the most; a body has "
            f"at most {LARGEST / 1e6:.4g} MB."
        )


def _arrays(body: Body) -> dict[str, Any]:
    found: dict[str, Any] = {"name": body.name}
    found |= {f.name: getattr(body.invariants, f.name) for f in fields(InertiaInvariants)}
    found |= {name: getattr(body, name) for name in ("stiffness", "damping", "deflection")}
    if body.velocity_matrix is not None:
        found["velocity_matrix"] = body.velocity_matrix
    interfaces, m = list(body.interfaces.values()), body.modes
    found["interface_names"] = np.array([str(name) for name in body.interfaces], dtype="U")
    found["interface_points"] = np.array([i.point for i in interfaces]).reshape(len(interfaces), 3)
    found["interface_rows"] = np.array([i.rows for i in interfaces]).reshape(len(interfaces), 6, m)
    if any(i.second is not None for i in interfaces):
        second = [np.zeros((6, m, m)) if i.second is None else i.second for i in interfaces]
        found["interface_second"] = np.array(second)
    return found


def _body(found: Mapping[str, Any], names: list[str], path: Path) -> Body:
    optional = ("deflection", "velocity_matrix", "interface_second")
    missing = [name for name in ("mass", *_SHAPES) if name not in found and name not in optional]
    if missing:
        there = ", ".join(sorted(k for k in found if not k.startswith("__"))) or "nothing"
        raise FileError(f"{path} is no body: {', '.join(missing)} missing; it holds {there}.")
    sizes = {"m": np.asarray(found["stiffness"]).size, "k": len(names)}
    sizes["v"] = 6 + sizes["m"]
    arrays = {}
    for name, shape in _SHAPES.items():
        if name in found:
            wanted = tuple(sizes[letter] if letter in sizes else int(letter) for letter in shape)
            try:
                value = np.asarray(found[name], dtype=float)
            except (ValueError, TypeError):
                raise FileError(f"{path}: {name} should hold numbers.") from None
            if value.size != np.prod(wanted):
                raise FileError(f"{path}: {name} has shape {value.shape}, expected {wanted}.")
            arrays[name] = value.reshape(wanted)
    second = arrays.get("interface_second", [None] * len(names))
    return Body(
        name=str(np.asarray(found.get("name", path.stem)).reshape(-1)[0]),
        invariants=InertiaInvariants(
            mass=float(np.asarray(found["mass"]).reshape(-1)[0]),
            **{f.name: arrays[f.name] for f in fields(InertiaInvariants) if f.name != "mass"},
        ),
        stiffness=arrays["stiffness"],
        damping=arrays["damping"],
        velocity_matrix=arrays.get("velocity_matrix"),
        deflection=arrays.get("deflection", np.zeros(sizes["m"])),
        interfaces={
            name: BodyInterface(*parts)
            for name, *parts in zip(names, arrays["interface_points"], arrays["interface_rows"], second, strict=True)
        },
    )
