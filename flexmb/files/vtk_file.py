"""Motion for ParaView: one VTU file a stored time, and a PVD collection that plays them."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import meshio
import numpy as np

from flexmb.files.tree import FileError
from flexmb.lie import rotation_from_quaternion
from flexmb.result import Result


def export_vtk(result: Result, directory: str | Path, every: int = 1) -> Path:
    """Write the meshed bodies at every `every`-th stored time into `directory`; returns the `.pvd` file to open.

    Points are the deformed, moved nodes; point data `displacement` (elastic, world axes) and `body` (its number).
    """
    mechanism = result.mechanism
    drawn = [k for k, b in enumerate(mechanism.bodies) if b.mesh is not None]
    if not drawn:
        raise FileError(f"No body of {mechanism.name!r} has a mesh, so there is nothing to write for ParaView.")
    directory = Path(directory)
    flat = mechanism.flat()
    cells, first = [], 0
    for k in drawn:
        mesh = mechanism.bodies[k].mesh
        assert mesh is not None
        cells += [(b.kind, first + b.connectivity) for b in mesh.cells]
        first += len(mesh.points)
    number = np.concatenate([np.full(len(mechanism.bodies[k].mesh.points), k) for k in drawn])  # type: ignore[union-attr]
    entries = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for index in range(0, len(result.t), every):
            points, displacement = zip(*(_placed(result, k, flat.q_start[k], index) for k in drawn), strict=True)
            data = {"displacement": np.concatenate(displacement), "body": number}
            name = f"frame_{index:06d}.vtu"
            meshio.write(directory / name, meshio.Mesh(np.concatenate(points), cells, point_data=data))
            entries.append(f'<DataSet timestep="{float(result.t[index])!r}" file={quoteattr(name)}/>')
        collection = directory / "motion.pvd"
        collection.write_text('<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1"><Collection>\n' + "\n".join(entries) + "\n</Collection></VTKFile>\n")
    except OSError as error:
        raise FileError(f"Cannot write the ParaView files into {directory}: {error}.") from None
    return collection


def _placed(result: Result, body: int, start: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """World positions and elastic displacements of a body's nodes at a stored time."""
    record = result.mechanism.bodies[body]
    assert record.mesh is not None
    q = result.q[index]
    R = rotation_from_quaternion(q[start + 3 : start + 7])
    u = np.zeros_like(record.mesh.points)
    if record.Psi is not None and record.is_flexible:
        u = (record.Psi @ q[start + 7 : start + 7 + record.modes]).reshape(-1, 3)
    return q[start : start + 3] + (record.mesh.points + u) @ R.T, u @ R.T
