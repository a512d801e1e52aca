"""Pictures of meshes, modes and mechanisms, and animations, drawn off screen and written to files."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyvista as pv
from PIL import Image
from vtkmodules.vtkCommonCore import vtkLogger

from fem.analysis.natural_modes import NaturalModes
from fem.axes.limits import is_whole
from fem.elements import LINES, SHELLS, element
from fem.mesh.directors import SIDES, drawn_cells
from fem.mesh.mesh import Mesh
from fem.renamed import refuse_old_names
from fem.user_files import written_whole
from flexmb.bodies.body import Body
from flexmb.drawn.surface import body_surface, faces_outwards, model_surface
from flexmb.errors import PictureError
from flexmb.plots.animation import require_writable, write_animation
from flexmb.plots.axes import BLUE, GREEN, GREY, INK, ORANGE
from flexmb.plots.scene import NEARER, MovingScene, drawn, stress_title
from flexmb.results.elements.surface_contact import pressure_films
from flexmb.results.result import Result
from flexmb.results.stress import largest_stress
from flexmb.units import NEUTRAL, unit_of

vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)  # suppress the warning of VTK on machines without a screen

SET_COLOURS = (ORANGE, GREEN, BLUE, "#a23b72", "#7a5195", "#00858a")
BODY_COLOURS = ("#8fa3b8", "#c9a66b", "#7fa08a", "#b58a9c", "#8d8bb8", "#b0b0a0")
_TUBES = {"line_width": 8, "render_lines_as_tubes": True}
"""Style of line cells."""
_FACES = {"ambient": 0.35, "diffuse": 0.75, "specular": 0.2}
"""Light of faces with edges, which can be seen on dark sides as well."""
PIXELS, SMALL_PIXELS = (1280, 720), (800, 450)
EDGES, MOST_EDGED = "#2c3744", 30000
"""Colour of the edges of cells, and the number of faces up to which they are drawn."""
CAPTION = 0.08
"""Part of the height of a panel, at its top, that is left to the caption."""
COMPRESSION = 4
"""Level of the compression of PNG files: the usual 6 takes three times the time for 8 % less."""
FINER = 1.5
"""Frames of animations are drawn finer by this factor and reduced, which smooths edges: without a graphics card the
multisampling of OpenGL takes more than twice the time."""


_PARTS = {
    3: ((0, 1, 2),),
    4: ((0, 1, 2, 3),),
    6: ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)),
    8: ((0, 4, 7), (4, 1, 5), (5, 2, 6), (6, 3, 7), (4, 5, 6, 7)),
}
"""From the number of nodes of a face to the polygons that draw it: indices into the nodes of the face."""


def polygons(mesh: Mesh, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The VTK list of polygons over mesh nodes that draw `faces` (nf, 2), and the index of each polygon's face."""
    drawn, owner = [], []
    first = 0
    for block in mesh.cells:
        for number, local in enumerate(element(block.kind).faces):
            inside = (faces[:, 0] >= first) & (faces[:, 0] < first + len(block)) & (faces[:, 1] == number)
            chosen = np.flatnonzero(inside)
            nodes = block.connectivity[faces[chosen, 0] - first][:, list(local)]
            for part in _PARTS[len(local)]:
                drawn.append(np.column_stack([np.full(len(chosen), len(part)), nodes[:, list(part)]]).ravel())
                owner.append(chosen)
        first += len(block)
    order = np.concatenate(owner)
    return np.concatenate(drawn), order


def surface(mesh: Mesh) -> tuple[pv.PolyData, np.ndarray]:
    """The skin of a mesh, mid-side nodes included, its shells and lines, and the node number (n,) of each point."""
    nodes = mesh.skin_nodes
    lookup = np.full(len(mesh.points), -1)
    lookup[nodes] = np.arange(len(nodes))
    lines = [b.connectivity for b in mesh.cells if b.kind in LINES]
    drawn = {}
    if lines:
        cells = np.concatenate(lines)
        drawn["lines"] = np.column_stack([np.full(len(cells), 2), lookup[cells]]).ravel()
    faces = [polygons(mesh, mesh.boundary_faces)[0]] if mesh.solids else []
    for block in mesh.cells:
        if block.kind in SHELLS:
            cells = drawn_cells(block.connectivity)
            faces.append(np.column_stack([np.full(len(cells), cells.shape[1]), cells]).ravel())
    if faces:
        drawn["faces"] = _renumbered(np.concatenate(faces), lookup)
    return pv.PolyData(mesh.points[nodes], **drawn), nodes


def _renumbered(faces: np.ndarray, lookup: np.ndarray) -> np.ndarray:
    """A VTK list of polygons with `lookup[k]` in the place of point k."""
    place = 0
    while place < len(faces):
        count = faces[place]
        faces[place + 1 : place + 1 + count] = lookup[faces[place + 1 : place + 1 + count]]
        place += count + 1
    return faces


# meshes and modes -------------------------------------------------------------------------------------------------


def picture_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Draw a mesh: the skin of its solids with their face sets in colour, shells with their cell sets in colour, beams,
    rods and point masses, and the edges of cells; return the path.

    Raises `PictureError` when the picture cannot be written.
    """
    plotter = _plotter()
    named: list[tuple[str, str]] = []
    if mesh.solids:
        _add_skin(plotter, mesh, named)
    if len(mesh.shell_nodes):
        _add_shells(plotter, mesh, named)
    lines = [np.insert(b.connectivity, 0, 2, axis=1).ravel() for b in mesh.cells if b.kind in LINES]
    if lines:
        plotter.add_mesh(pv.PolyData(mesh.points, lines=np.concatenate(lines)), color=BODY_COLOURS[0], **_TUBES)
        ends = np.union1d(mesh.line_nodes, mesh.truss_nodes)
        plotter.add_mesh(pv.PolyData(mesh.points[ends]), color=INK, point_size=9, render_points_as_spheres=True)
    single = [m.node for m in mesh.masses if m.source not in mesh.lumps]
    lumps = np.array([*mesh.points[single], *(mesh.points[nodes].mean(axis=0) for _, nodes in mesh.lumps.values())])
    if len(lumps):
        plotter.add_mesh(pv.PolyData(lumps), color=INK, point_size=18, render_points_as_spheres=True)
    for k, (name, colour) in enumerate(named[:8]):
        plotter.add_text(name, position=(20, PIXELS[1] - 50 - 34 * k), color=colour, font_size=12, render=False)
    plotter.view_isometric()
    _fit(plotter, np.vstack([mesh.points[mesh.skin_nodes], lumps.reshape(-1, 3)]), PIXELS[0] / PIXELS[1])
    return _save(plotter, path)


def _add_skin(plotter: pv.Plotter, mesh: Mesh, named: list[tuple[str, str]]) -> None:
    """Draw the skin of the solids; add names and colours of its sets to `named`."""
    faces = mesh.boundary_faces
    drawn, owner = polygons(mesh, faces)
    colours = np.tile(np.array(pv.Color(BODY_COLOURS[0]).int_rgb, dtype=np.uint8), (len(faces), 1))
    place = {tuple(face): k for k, face in enumerate(faces.tolist())}
    for name, members in mesh.face_sets.items():
        rows = [place[tuple(face)] for face in members.tolist() if tuple(face) in place]
        colours[rows] = _next_colour(name, named)
    skin = pv.PolyData(mesh.points, drawn)
    skin.cell_data["colour"] = colours[owner]
    plotter.add_mesh(skin, scalars="colour", rgb=True, **_FACES)
    if len(faces) < MOST_EDGED:
        corners = [mesh.face_corners(int(c), int(f)) for c, f in faces]
        edges = np.unique(
            np.sort(np.concatenate([np.column_stack([c, np.roll(c, -1)]) for c in corners]), axis=1), axis=0
        )
        _add_edges(plotter, _edge_lines(mesh, edges))


def _add_shells(plotter: pv.Plotter, mesh: Mesh, named: list[tuple[str, str]]) -> None:
    """Draw the shells; add names and colours of their sets to `named`."""
    colours = np.tile(np.array(pv.Color(BODY_COLOURS[0]).int_rgb, dtype=np.uint8), (mesh.cell_count, 1))
    firsts = np.concatenate([[0], np.cumsum([len(b) for b in mesh.cells])])
    shells = [(int(firsts[k]), b) for k, b in enumerate(mesh.cells) if b.kind in SHELLS]
    every = np.concatenate([first + np.arange(len(block)) for first, block in shells])
    for name, cells in mesh.cell_sets.items():
        mine = np.intersect1d(cells, every)
        if 0 < len(mine) < len(every):
            colours[mine] = _next_colour(name, named)
    faces, painted, edges = [], [], []
    for first, block in shells:
        cells = drawn_cells(block.connectivity)
        faces.append(np.insert(cells, 0, cells.shape[1], axis=1).ravel())
        painted.append(np.tile(colours[first : first + len(block)], (len(cells) // len(block), 1)))
        ring = block.connectivity[:, list(SIDES[block.connectivity.shape[1]])]
        edges.append(np.stack([ring, np.roll(ring, -1, axis=1)], axis=2).reshape(-1, 2))
    drawn = pv.PolyData(mesh.points, np.concatenate(faces))
    drawn.cell_data["colour"] = np.concatenate(painted)
    plotter.add_mesh(drawn, scalars="colour", rgb=True, **_FACES)
    if len(every) < MOST_EDGED:
        pairs = np.unique(np.sort(np.concatenate(edges), axis=1), axis=0)
        lines = pv.PolyData(mesh.points, lines=np.insert(pairs, 0, 2, axis=1).ravel())
        _add_edges(plotter, lines)


def _add_edges(plotter: pv.Plotter, lines: pv.PolyData) -> None:
    """Draw edges of cells in front of the faces in which they lie."""
    actor = plotter.add_mesh(lines, color=EDGES, line_width=1)
    actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
    actor.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(*NEARER)


def _next_colour(name: str, named: list[tuple[str, str]]) -> tuple[int, int, int]:
    """The next colour of a set, which is added to `named`."""
    colour = SET_COLOURS[len(named) % len(SET_COLOURS)]
    named.append((name, colour))
    return pv.Color(colour).int_rgb


def _edge_lines(mesh: Mesh, edges: np.ndarray) -> pv.PolyData:
    """Lines along cell edges, through the mid-side nodes of edges that have them."""
    middle: dict[tuple[int, int], int] = {}
    for block in mesh.cells:
        for a, b, m in element(block.kind).edges:
            pairs = np.sort(block.connectivity[:, [a, b]], axis=1)
            middle.update(zip(map(tuple, pairs.tolist()), block.connectivity[:, m].tolist(), strict=True))
    lines = [(3, a, middle[a, b], b) if (a, b) in middle else (2, a, b) for a, b in edges.tolist()]
    return pv.PolyData(mesh.points, lines=np.concatenate([np.array(line) for line in lines]))


def picture_modes(body: Body, path: str | Path, count: int = 6, *, units: str | None = None) -> Path:
    """Draw the shapes of the first `count` elastic coordinates of a flexible body with their frequencies.

    The amplitude is scaled to be visible. `units`: the system of units of the body, such as "mm-t-s", for the
    frequencies, in cycles per unit of time. Returns the path. Raises `PictureError` when the body has no mesh or no
    modes, `count` is below 1, or the picture cannot be written.
    """
    if body.mesh is None or body.Psi is None or not body.is_flexible:
        raise PictureError(f"Body {body.name!r} has no mesh or no modes to draw.")
    _require_some(count)
    shown, count = body_surface(body), min(count, body.modes)
    shapes = shown.shapes[:, :count].reshape(len(shown.points), 3, count).astype(float)
    names = [f"mode {k + 1}:  {body.frequencies[k]:.5g}" for k in range(count)]
    return _picture_shapes(shown.points, shown.triangles, shapes, names, path, units)


def picture_natural_modes(found: NaturalModes, path: str | Path, count: int = 6, *, units: str | None = None) -> Path:
    """Draw the first `count` natural modes of a part with their frequencies, without motions that have no stiffness.

        flexmb.plots.pictures.picture_natural_modes(fem.natural_modes(part, 6, ["root"]), "modes.png")

    The amplitude is scaled to be visible. `units`: the system of units of the part, such as "mm-t-s". Returns the path.
    Raises `PictureError` when there is no other mode, `count` is below 1, or the picture cannot be written.
    """
    _require_some(count)
    first = found.rigid_motions
    chosen = range(first, min(first + count, len(found.frequencies)))
    if not chosen:
        raise PictureError(
            f"{found.model.name!r} has no elastic modes among the {first} that were found. Ask for more."
        )
    points, triangles, shapes = model_surface(found.model, found.q[:, chosen])
    names = [f"mode {k + 1}:  {found.frequencies[k]:.5g}" for k in chosen]
    return _picture_shapes(points, triangles, shapes, names, path, units)


def _require_some(count: int) -> None:
    if not is_whole(count) or count < 1:
        raise PictureError(f"The number of modes to draw must be a whole number of at least 1; found {count!r}.")


def _picture_shapes(
    points: np.ndarray, triangles: np.ndarray, shapes: np.ndarray, names: list[str], path: str | Path, units: str | None
) -> Path:
    """A panel for each of the `shapes` (v, 3, k), with its name and the unit of frequencies, "cycles per unit of time"
    without `units`."""
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    skin, closed = drawn(points, triangles), faces_outwards(points, triangles)
    size = np.linalg.norm(np.ptp(points, axis=0))
    unit = f" {unit_of('frequency', units) if units else NEUTRAL['frequency']}"
    plotter = pv.Plotter(off_screen=True, shape=(rows, columns), window_size=(480 * columns, 340 * rows), border=False)
    for k, name in enumerate(names):
        plotter.subplot(k // columns, k % columns)
        amplitude = np.linalg.norm(shapes[:, :, k], axis=1)
        bent = skin.copy()
        bent.points = skin.points + shapes[:, :, k] * (0.08 * size / amplitude.max())
        bent["displacement"] = amplitude / amplitude.max()
        plotter.add_mesh(skin, color=GREY, opacity=0.15)
        actor = plotter.add_mesh(
            bent, scalars="displacement", cmap="viridis", show_scalar_bar=False, smooth_shading=False
        )
        _show_front(actor, closed)
        plotter.add_text(name + unit, font_size=10, color=INK, render=False)
        plotter.view_isometric()
        _fit(plotter, np.vstack([skin.points, bent.points]), 480 / 340)
    plotter.set_background("white", all_renderers=True)
    return _save(plotter, path)


# mechanisms -------------------------------------------------------------------------------------------------------


def _stage(
    result: Result,
    magnification: float,
    stress: bool,
    labels: bool,
    pressure: bool,
    pixels: tuple[int, int] = PIXELS,
) -> tuple[pv.Plotter, MovingScene]:
    """A plotter whose camera shows the whole motion; of `stress` or `pressure`, one colour scale for the whole motion.

    Raises `PictureError` when stresses or pressures are requested and no body has them, or both.
    """
    films = _films(result, stress) if pressure else {}
    plotter = _plotter(pixels)
    scene = MovingScene(plotter, result.mechanism, result.q, magnification)
    if stress:
        having = [body.name for body in result.mechanism.bodies if body.stress is not None]
        if not any(surface.stress_rows is not None for surface in scene.surfaces):
            plotter.close()
            raise PictureError(f"No body of {result.mechanism.name!r} has stresses; only bodies made from a mesh have.")
        largest = (float(largest_stress(result, name).values.max()) for name in having)
        scene.largest_stress = max(scene.largest_stress, *largest)
        scene.show_stress(True)
    if pressure:
        scene.show_films(films, stress_title(result.mechanism, "contact\npressure"))
    else:
        for surface, actor in zip(scene.surfaces, scene.actors, strict=True):
            _show_front(actor, surface.closed)
    if labels:
        scene.show_labels()
    return plotter, scene


def _films(result: Result, stress: bool) -> dict[int, dict[str, np.ndarray]]:
    if stress:
        raise PictureError("A picture shows stress or pressure; ask for one of them.")
    films = pressure_films(result)
    if not films:
        raise PictureError(
            f"{result.mechanism.name!r} has no contact of a flexible surface, which has the pressures: "
            "give a body surfaces (Model.with_surfaces) and a contact (System.contact)."
        )
    return films


def picture_result(
    result: Result,
    path: str | Path,
    index: int = -1,
    magnification: float = 1.0,
    stress: bool = False,
    labels: bool = False,
    pressure: bool = False,
) -> Path:
    """Draw the mechanism at the stored time number `index`; return the path.

    `magnification`: factor of the deformation, with which the joints stay joined (`flexmb.drawn.joined`); `stress`:
    colour the bodies by von Mises stress; `labels`: write their names beside them; `pressure`: paint the pressures on
    flexible surfaces, which are seen through the bodies. Raises `PictureError` when no body has stresses or pressures,
    for both together, or when the picture cannot be written.
    """
    plotter, scene = _stage(result, magnification, stress, labels, pressure)
    scene.move(result.q[index], index)
    _say(plotter, _caption(result, index, magnification), 11)
    return _save(plotter, path)


def _caption(result: Result, index: int, magnification: float) -> str:
    unit = f" {unit_of('time', result.mechanism.units)}" if result.mechanism.units else ""
    return f"t = {result.t[index]:.4g}{unit}" + (f"    deformation x {magnification:g}" if magnification != 1 else "")


def _say(plotter: pv.Plotter, text: str, size: int) -> None:
    plotter.add_text(
        text, position=(0.02, 0.93), viewport=True, font_size=size, color=INK, name="caption", render=False
    )


def animate(
    result: Result,
    path: str | Path,
    *,
    frames: int = 120,
    frames_per_second: int = 25,
    magnification: float = 1.0,
    stress: bool = False,
    labels: bool = False,
    pressure: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write an animation of the motion; return the path.

    - `path`: its ending selects the format: `.mp4` (which needs imageio-ffmpeg), `.webp`, `.gif`, or `.html` (one
      self-contained page).
    - `magnification`: factor of the deformation, with which the joints stay joined (`flexmb.drawn.joined`).
    - `stress`: colour the bodies by von Mises stress; `labels`: write their names beside them; `pressure`: paint the
      pressures on flexible surfaces, which are seen through the bodies.
    - `progress`: called with the fraction that is done.

    Raises `PictureError` for another ending, less than one frame (or one a second), when no body has stresses or
    pressures, for both together, for `.mp4` without ffmpeg, or when the animation cannot be written.
    """
    path = Path(path)
    require_writable(path)
    if not is_whole(frames) or frames < 1 or not is_whole(frames_per_second) or frames_per_second < 1:
        raise PictureError(
            f"An animation has a whole number of frames, and of frames per second, at least 1 each; found "
            f"frames={frames!r}, frames_per_second={frames_per_second!r}."
        )
    small = path.suffix in (".gif", ".webp")
    size = SMALL_PIXELS if small else PIXELS
    pixels = (round(FINER * size[0]), round(FINER * size[1]))
    plotter, scene = _stage(result, magnification, stress, labels, pressure, pixels)
    plotter.disable_anti_aliasing()
    picked = np.unique(np.linspace(0, len(result.t) - 1, frames).round().astype(int))
    with ThreadPoolExecutor(1) as second:  # Pillow releases the lock of the interpreter while it computes
        images = []
        for k, index in enumerate(picked):
            scene.move(result.q[index], int(index))
            _say(plotter, _caption(result, index, magnification), round(FINER * (7 if small else 11)))
            plotter.render()  # a screenshot alone repeats the last picture
            images.append(second.submit(_reduced, np.asarray(plotter.screenshot(return_img=True)), size))
            if progress is not None:
                progress((k + 1) / len(picked))
    plotter.close()
    return write_animation([image.result() for image in images], path, frames_per_second)


def _reduced(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """A picture (height, width, 3) with fewer pixels, each the mean of those it covers."""
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.HAMMING))


def _fit(plotter: pv.Plotter, points: np.ndarray, aspect: float) -> None:
    """Move and zoom the camera, so that `points` (n, 3) fill the picture below its caption."""
    camera = plotter.camera
    ahead = np.subtract(camera.focal_point, camera.position)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, camera.up)
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    for _ in range(3):  # perspective: the middle moves with the camera
        x = points - camera.position
        depth = x @ ahead
        across, upwards = x @ right / depth, x @ up / depth
        middle = [(v.max() + v.min()) / 2 for v in (across, upwards)]
        shift = depth.mean() * (middle[0] * right + middle[1] * up)
        camera.position = np.add(camera.position, shift)
        camera.focal_point = np.add(camera.focal_point, shift)
    reach = max(np.ptp(across) / aspect, np.ptp(upwards)) / 2
    tangent = reach / (1 - 2 * CAPTION)
    camera.view_angle = 2 * np.rad2deg(np.arctan(tangent))
    drop = CAPTION * tangent * depth.mean() * up
    camera.position, camera.focal_point = np.add(camera.position, drop), np.add(camera.focal_point, drop)


# files ----------------------------------------------------------------------------------------------------------------


def _plotter(pixels: tuple[int, int] = PIXELS) -> pv.Plotter:
    plotter = pv.Plotter(off_screen=True, window_size=pixels)
    plotter.set_background("white", top="#dfe7ef")
    plotter.enable_anti_aliasing("ssaa")
    return plotter


def _show_front(actor: pv.Actor, closed: bool) -> None:
    """Leave out the faces of a closed surface that are seen from behind, which those in front of them hide; without a
    graphics card their shading takes half the time of a picture."""
    if closed:
        actor.prop.culling = "back"


def _save(plotter: pv.Plotter, path: str | Path) -> Path:
    path = Path(path)
    try:
        path = path if path.suffix else path.with_name(f"{path.name}.png")
        with written_whole(path, path.suffix) as part:
            Image.fromarray(np.asarray(plotter.screenshot(return_img=True))).save(part, compress_level=COMPRESSION)
    except (OSError, ValueError) as error:
        raise PictureError(f"The picture cannot be written to {path}: {error}.") from error
    finally:
        plotter.close()
    return path


refuse_old_names(__name__)
