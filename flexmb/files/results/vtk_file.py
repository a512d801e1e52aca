"""Motion for ParaView: a VTU file for each body with a mesh or a shape and stored time, and a PVD collection of these
files."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from fem.files.vtk_files import VtkFields, write_vtk
from flexmb.bodies.body import Body
from flexmb.errors import FileError
from flexmb.mechanism.compile import compiled
from flexmb.results.result import Result
from flexmb.results.stress import nodal_von_mises
from flexmb.spatial.lie import rotation_from_quaternion


def export_vtk(result: Result, directory: str | Path, every: int = 1) -> Path:
    """Write the bodies with meshes or shapes at every `every`-th stored time into `directory`; return the `.pvd` file.

    The points are the displaced nodes in the world frame; the shape of a rigid body is written as triangles. Point
    data: `displacement` (elastic, world axes), `body` (its number in the mechanism) and `von_mises` (at the nodes of
    the skin; NaN inside). The collection contains the names of the bodies.

    Raises `FileError` when no body has a mesh or a shape, `every` is less than 1, or the files cannot be written.
    """
    mechanism = result.mechanism
    drawn = {k: found for k, body in enumerate(mechanism.bodies) if (found := _drawn(body)) is not None}
    if not drawn:
        raise FileError(
            f"No body of {mechanism.name!r} has a mesh or a shape, so there is nothing to write for ParaView."
        )
    if every < 1:
        raise FileError(f"every = {every}: expected 1 for all stored times, 2 for every other one, ...")
    directory = Path(directory)
    starts = compiled(mechanism).q_start
    entries = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for index in range(0, len(result.t), every):
            for body, (points, cells) in drawn.items():
                name = f"body{body}_{index:06d}.vtu"
                _write(directory / name, result, body, points, cells, int(starts[body]), index)
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


Cells = tuple[tuple[str, np.ndarray], ...]


def _drawn(body: Body) -> tuple[np.ndarray, Cells] | None:
    """Points and cells of a body; None when it has neither mesh nor shape."""
    if body.shape is not None:
        return body.shape.points, (("triangle", body.shape.triangles),)
    return None if body.mesh is None else (body.mesh.points, tuple((b.kind, b.connectivity) for b in body.mesh.cells))


def _write(path: Path, result: Result, body: int, undeformed: np.ndarray, cells: Cells, start: int, index: int) -> None:
    """Write the VTU file of one body at one stored time; the coordinates of the body in `q` begin at `start`."""
    record = result.mechanism.bodies[body]
    q = result.q[index]
    R = rotation_from_quaternion(q[start + 3 : start + 7])
    u = (
        record.displacements(q[start + 7 : start + 7 + record.modes])
        if record.is_flexible
        else np.zeros_like(undeformed)
    )
    points = q[start : start + 3] + (undeformed + u) @ R.T
    data = {"displacement": u @ R.T, "body": np.full(len(points), body)}
    if record.stress is not None:
        data["von_mises"] = nodal_von_mises(record, q[start + 7 : start + 7 + record.modes])
    write_vtk(path, VtkFields(points, cells, data, {}))
