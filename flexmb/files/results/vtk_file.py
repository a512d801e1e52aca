"""Motion for ParaView: a VTU file for each body with a mesh and stored time, and a PVD collection of these files."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from fem.files.vtk_files import VtkFields, write_vtk
from fem.mesh.mesh import Mesh
from flexmb.errors import FileError
from flexmb.mechanism.compile import compiled
from flexmb.results.result import Result
from flexmb.results.stress import nodal_von_mises
from flexmb.spatial.lie import rotation_from_quaternion


def export_vtk(result: Result, directory: str | Path, every: int = 1) -> Path:
    """Write the bodies with meshes at every `every`-th stored time into `directory`; return the `.pvd` file to open.

    The points are the displaced nodes in the world frame. Point data: `displacement` (elastic, world axes), `body` (its
    number in the mechanism) and `von_mises` (at the nodes of the skin; NaN inside). The collection contains the names
    of the bodies.

    Raises `FileError` when no body has a mesh, `every` is less than 1, or the files cannot be written.
    """
    mechanism = result.mechanism
    meshes = {k: b.mesh for k, b in enumerate(mechanism.bodies) if b.mesh is not None}
    if not meshes:
        raise FileError(f"No body of {mechanism.name!r} has a mesh, so there is nothing to write for ParaView.")
    if every < 1:
        raise FileError(f"every = {every}: expected 1 for all stored times, 2 for every other one, ...")
    directory = Path(directory)
    starts = compiled(mechanism).q_start
    entries = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for index in range(0, len(result.t), every):
            for body, mesh in meshes.items():
                name = f"body{body}_{index:06d}.vtu"
                _write(directory / name, result, body, mesh, int(starts[body]), index)
                label = quoteattr(mechanism.bodies[body].name)
                time = float(result.t[index])
                entries.append(f'<DataSet timestep="{time!r}" part="{body}" name={label} file="{name}"/>')
        collection = directory / "motion.pvd"
        collection.write_text(
            '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1"><Collection>\n'
            + "\n".join(entries)
            + "\n</Collection></VTKFile>\n",
            encoding="utf-8",
        )
    except OSError as error:
        raise FileError(f"Cannot write the ParaView files into {directory}: {error}.") from None
    return collection


def _write(path: Path, result: Result, body: int, mesh: Mesh, start: int, index: int) -> None:
    """Write the VTU file of one body at one stored time; the coordinates of the body in `q` begin at `start`."""
    record = result.mechanism.bodies[body]
    q = result.q[index]
    R = rotation_from_quaternion(q[start + 3 : start + 7])
    u = (
        record.displacements(q[start + 7 : start + 7 + record.modes])
        if record.is_flexible
        else np.zeros_like(mesh.points)
    )
    points = q[start : start + 3] + (mesh.points + u) @ R.T
    data = {"displacement": u @ R.T, "body": np.full(len(points), body)}
    if record.stress is not None:
        data["von_mises"] = nodal_von_mises(record, q[start + 7 : start + 7 + record.modes])
    write_vtk(path, VtkFields(points, tuple((b.kind, b.connectivity) for b in mesh.cells), data, {}))
