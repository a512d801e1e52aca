"""What meshio leaves of MED files: numbers of nodes, coordinates that are not rectangular, names in UTF-8."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fem.errors import MeshError

if TYPE_CHECKING:
    import h5py

_SYSTEMS = {1: "cylindrical", 2: "spherical"}
"""Coordinates of a mesh of MED (REP) that are not rectangular (0)."""


def names_of_families(families: Any) -> dict[int, list[str]]:
    """Number -> names of the groups of each family; meshio's reader ends at letters beyond ASCII."""
    found = {}
    for family in families.values():
        rows = family["GRO"]["NOM"][()][: int(family["GRO"].attrs["NBR"])]
        texts = (np.asarray(row, dtype=np.int8).tobytes().split(b"\0")[0] for row in rows)
        found[int(family.attrs["NUM"])] = [text.decode("utf-8", "fem.windows").strip() for text in texts]
    return found


def of_one_step(mesh: "h5py.Group") -> "h5py.Group":
    """The group with the nodes and cells of a mesh."""
    return mesh if "NOE" in mesh else next(iter(mesh.values()))


def numbers_of_nodes(path: Path, count: int) -> np.ndarray | None:
    """The numbers of the nodes of a MED file that has been read; None where it does not number them.

    Raises `MeshError` for coordinates that are not rectangular, and numbers that are no numbers of its nodes.
    """
    import h5py

    with h5py.File(path) as file:
        mesh = next(iter(file["ENS_MAA"].values()))
        system = int(mesh.attrs.get("REP", 0))
        if system:
            kind = _SYSTEMS.get(system, f"of the unknown system {system}")
            raise MeshError(f"its coordinates are {kind}; rectangular ones are read. Write these.")
        nodes = of_one_step(mesh)["NOE"]
        if "NUM" not in nodes:
            return None
        numbers = nodes["NUM"][()] if getattr(nodes["NUM"], "shape", None) == (count,) else np.zeros(0)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu" or len(np.unique(numbers)) < count:
        raise MeshError(f"its {count} nodes need a number of their own each (NUM); it may be damaged, write it again.")
    return numbers.astype(np.int64)
