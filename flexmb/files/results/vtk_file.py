"""Motion for ParaView: a VTU file for each drawn body, and one for the contacts, at each stored time, and a PVD
collection of these files."""

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from fem.files.vtk_files import VtkFields, write_vtk
from fem.user_files import real_path, written_whole
from flexmb.bodies.body import Body
from flexmb.drawn.contact_shapes import drawn_shapes
from flexmb.drawn.simple_shapes import Triangles, together
from flexmb.drawn.surface import Surface, body_surface
from flexmb.errors import FileError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.results.elements.contact import ContactMotion, contacts_of
from flexmb.results.elements.surface_contact import pressure_films
from flexmb.results.result import Result
from flexmb.results.stress import nodal_von_mises, warn_of_truncated_stress
from flexmb.spatial.lie import rotation_from_quaternion


def export_vtk(result: Result, directory: str | Path, every: int = 1) -> Path:
    """Write the bodies with meshes or shapes at every `every`-th stored time into `directory`; return the `.pvd` file.

    The points are the displaced nodes in the world frame; shapes of rigid bodies, and beams with their sections, are
    written as triangles. Point data: `displacement` (elastic, world axes), `body` (its number in the mechanism) and
    `von_mises` (at the nodes of the skin and on beams; NaN inside), and on bodies whose flexible surfaces touch
    `pressure`, the largest of the surfaces of a node; if several surfaces of a body touch, also `pressure of NAME` of
    each. The collection contains the names of the bodies.

    A body without mesh and shape, and the ground, have the shapes of their contacts. The part `contacts` has the point
    of each contact (`ContactMotion.point`), where there is one, with its `contact` (number, in the order of
    `flexmb contact`), `gap`, `force` on the second body (world axes), `normal_force`, `friction_force`, `slip` and
    `wear_power`.

    Raises `FileError` when no body has a mesh or a shape, `every` is less than 1, or the files cannot be written.
    """
    mechanism = result.mechanism
    touching = drawn_shapes(mechanism)
    drawn = {
        k: _beside_mesh(body, touching.get(k, []))
        for k, body in enumerate(mechanism.bodies)
        if body.mesh is not None or body.shape is not None or k in touching
    }
    if not drawn:
        raise FileError(
            f"No body of {mechanism.name!r} has a mesh or a shape, so there is nothing to write for ParaView."
        )
    if every < 1:
        raise FileError(f"every = {every}: expected 1 for all stored times, 2 for every other one, ...")
    for record in mechanism.bodies:
        if record.stress is not None:
            warn_of_truncated_stress(result, record.name)
    directory = Path(directory)
    starts, films = compiled(mechanism).q_start, pressure_films(result)
    contacts = [result.contact(name) for name in contacts_of(mechanism)]
    entries = []
    try:
        real_path(directory).mkdir(parents=True, exist_ok=True)
        if fixed := touching.get(GROUND):
            points, triangles = together(fixed)
            _write_fields(directory / "ground.vtu", VtkFields(points, (("triangle", triangles),), {}, {}))
        for index in range(0, len(result.t), every):
            time = float(result.t[index])

            def enter(part: int, label: str, name: str, time: float = time) -> None:
                entries.append(f'<DataSet timestep="{time!r}" part="{part}" name={quoteattr(label)} file="{name}"/>')

            for body, surface in drawn.items():
                name = f"body{body}_{index:06d}.vtu"
                _write(directory / name, result, body, surface, int(starts[body]), index, films.get(body, {}))
                enter(body, mechanism.bodies[body].name, name)
            if fixed:
                enter(len(mechanism.bodies), "ground", "ground.vtu")
            if len((touches := _points(contacts, index)).points):
                name = f"contacts_{index:06d}.vtu"
                _write_fields(directory / name, touches)
                enter(len(mechanism.bodies) + 1, "contacts", name)
        collection = directory / "motion.pvd"
        with written_whole(collection) as part:
            part.write_text(
                '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1"><Collection>\n'
                + "\n".join(entries)
                + "\n</Collection></VTKFile>\n",
                encoding="utf-8",
            )
    except OSError as error:
        raise FileError(f"Cannot write the ParaView files into {directory}: {error}.") from None
    return collection


def _points(contacts: list[ContactMotion], index: int) -> VtkFields:
    """The points of contacts at the stored time `index`, of those that have one."""
    there = [(k, contact) for k, contact in enumerate(contacts) if np.isfinite(contact.point[index]).all()]
    fields = ("gap", "force", "normal_force", "friction_force", "slip", "wear_power")
    data = {name: np.array([getattr(contact, name)[index] for _, contact in there]) for name in fields}
    vertices = (("vertex", np.arange(len(there))[:, None]),)
    points = np.array([contact.point[index] for _, contact in there])
    return VtkFields(points, vertices, {"contact": np.array([k for k, _ in there]), **data}, {})


def _beside_mesh(body: Body, touching: list[Triangles]) -> Surface | None:
    """What is written as triangles: the shape of a body in place of its mesh, or the surface of its beams; of a body
    without either, the shapes of its contacts."""
    shape = (body.shape.points, body.shape.triangles) if body.shape is not None else None
    if body.mesh is None and shape is None:
        shape = together(touching)
    if shape is not None:
        none = np.zeros((3 * len(shape[0]), 0), dtype=np.float32)
        pairs = np.zeros((0, 2), dtype=np.int64)
        return Surface(body.name, *shape, np.zeros(0, dtype=np.int64), none, pairs)
    if body.beams is None:
        return None
    surface = body_surface(body)
    return surface.part(surface.node < 0)


def _write(
    path: Path,
    result: Result,
    body: int,
    surface: Surface | None,
    start: int,
    index: int,
    films: Mapping[str, np.ndarray],
) -> None:
    """Write the VTU file of one body at one stored time; the coordinates of the body in `q` begin at `start`.

    `surface`: what is written as triangles beside the mesh, or in its place; `films` (nt, n): pressures at the nodes of
    flexible surfaces, by their names.
    """
    record = result.mechanism.bodies[body]
    q = result.q[index]
    R, eta = rotation_from_quaternion(q[start + 3 : start + 7]), q[start + 7 : start + 7 + record.modes]
    places, moved, stress, cells = [], [], [], []
    if record.mesh is not None and record.shape is None:
        places.append(record.mesh.points)
        moved.append(record.displacements(eta) if record.is_flexible else np.zeros_like(record.mesh.points))
        stress.append(nodal_von_mises(record, eta))
        cells += [(block.kind, block.connectivity) for block in record.mesh.cells]
    if surface is not None:
        cells.append(("triangle", surface.triangles + sum(map(len, places))))
        places.append(surface.points)
        moved.append(surface.displacements(eta).astype(float))
        stress.append(surface.stress(eta))
    X, u = np.concatenate(places), np.concatenate(moved)
    data = {"displacement": u @ R.T, "body": np.full(len(X), body)}
    if record.stress is not None:
        data["von_mises"] = np.concatenate(stress)
    for name, film in films.items():
        own = np.zeros(len(X))
        own[record.surfaces[name].nodes] = film[index]
        data["pressure"] = np.maximum(own, data.get("pressure", 0.0))
        if len(films) > 1:
            data[f"pressure of {name}"] = own
    _write_fields(path, VtkFields(q[start : start + 3] + (X + u) @ R.T, tuple(cells), data, {}))


def _write_fields(path: Path, fields: VtkFields) -> None:
    with written_whole(path, path.suffix) as part:
        write_vtk(part, fields)
