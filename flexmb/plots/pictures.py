"""Pictures of meshes, modes and mechanisms, and animations, drawn off screen and written to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonCore import vtkLogger

from fem.elements import LINE, element
from fem.mesh.mesh import Mesh
from fem.renamed import refuse_old_names
from flexmb.bodies.body import Body
from flexmb.errors import PictureError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.plots.axes import BLUE, GREEN, GREY, INK, ORANGE
from flexmb.plots.scene import BAR, BESIDE_BAR, STRESS, stress_title
from flexmb.results.result import Result
from flexmb.results.stress import largest_stress, nodal_von_mises
from flexmb.spatial.lie import rotation_from_quaternion
from flexmb.units import unit_of

vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)  # suppress the warning of VTK on machines without a screen

SET_COLOURS = (ORANGE, GREEN, BLUE, "#a23b72", "#7a5195", "#00858a")
BODY_COLOURS = ("#8fa3b8", "#c9a66b", "#7fa08a", "#b58a9c", "#8d8bb8", "#b0b0a0")
_TUBES = {"line_width": 8, "render_lines_as_tubes": True}
"""Style of line cells."""
PIXELS, GIF_PIXELS = (1280, 720), (720, 405)


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
    """The skin of a mesh, mid-side nodes included, with its line cells, and the node number (n,) of each point."""
    nodes = mesh.skin_nodes
    lookup = np.full(len(mesh.points), -1)
    lookup[nodes] = np.arange(len(nodes))
    lines = [b.connectivity for b in mesh.cells if b.kind == LINE]
    drawn = {}
    if lines:
        cells = np.concatenate(lines)
        drawn["lines"] = np.column_stack([np.full(len(cells), 2), lookup[cells]]).ravel()
    if mesh.solids:
        faces, _ = polygons(mesh, mesh.boundary_faces)
        place = 0
        while place < len(faces):
            count = faces[place]
            faces[place + 1 : place + 1 + count] = lookup[faces[place + 1 : place + 1 + count]]
            place += count + 1
        drawn["faces"] = faces
    return pv.PolyData(mesh.points[nodes], **drawn), nodes


# meshes and modes -------------------------------------------------------------------------------------------------


def picture_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Draw a mesh with its face sets in colour and the edges of its cells; return the path.

    Raises `PictureError` when the picture cannot be written.
    """
    if not mesh.solids:
        return _picture_lines(mesh, path)
    faces = mesh.boundary_faces
    drawn, owner = polygons(mesh, faces)
    colours = np.tile(np.array(pv.Color(BODY_COLOURS[0]).int_rgb, dtype=np.uint8), (len(faces), 1))
    place = {tuple(face): k for k, face in enumerate(faces.tolist())}
    named = []
    for k, (name, members) in enumerate(mesh.face_sets.items()):
        colour = SET_COLOURS[k % len(SET_COLOURS)]
        named.append((name, colour))
        rows = [place[tuple(face)] for face in members.tolist() if tuple(face) in place]
        colours[rows] = pv.Color(colour).int_rgb
    skin = pv.PolyData(mesh.points, drawn)
    skin.cell_data["colour"] = colours[owner]
    plotter = _plotter()
    plotter.add_mesh(skin, scalars="colour", rgb=True, specular=0.2)
    if len(faces) < 30000:
        corners = [mesh.face_corners(int(c), int(f)) for c, f in faces]
        edges = np.unique(
            np.sort(np.concatenate([np.column_stack([c, np.roll(c, -1)]) for c in corners]), axis=1), axis=0
        )
        plotter.add_mesh(_edge_lines(mesh, edges), color="#42505f", line_width=1)
    for k, (name, colour) in enumerate(named[:8]):
        plotter.add_text(name, position=(20, PIXELS[1] - 50 - 34 * k), color=colour, font_size=12)
    plotter.view_isometric()
    plotter.camera.zoom(1.4)
    return _save(plotter, path)


def _picture_lines(mesh: Mesh, path: str | Path) -> Path:
    """Draw a mesh of beams, its nodes as dots."""
    plotter = _plotter()
    plotter.add_mesh(surface(mesh)[0], color=BODY_COLOURS[0], **_TUBES)
    plotter.add_mesh(pv.PolyData(mesh.points), color=INK, point_size=9, render_points_as_spheres=True)
    plotter.view_isometric()
    return _save(plotter, path)


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
    modes, or the picture cannot be written.
    """
    if body.mesh is None or body.Psi is None or not body.is_flexible:
        raise PictureError(f"Body {body.name!r} has no mesh or no modes to draw.")
    count = min(count, body.modes)
    columns = min(3, count)
    rows = -(-count // columns)
    skin, nodes = surface(body.mesh)
    size = np.linalg.norm(np.ptp(body.mesh.points, axis=0))
    unit = f" {unit_of('frequency', units)}" if units else ""
    plotter = pv.Plotter(off_screen=True, shape=(rows, columns), window_size=(480 * columns, 340 * rows), border=False)
    for k in range(count):
        plotter.subplot(k // columns, k % columns)
        shape = body.Psi[:, k].reshape(-1, 3)[nodes].astype(float)
        amplitude = np.linalg.norm(shape, axis=1)
        bent = skin.copy()
        bent.points = skin.points + shape * (0.08 * size / amplitude.max())
        bent["displacement"] = amplitude / amplitude.max()
        plotter.add_mesh(skin, color=GREY, opacity=0.15, **_TUBES)
        plotter.add_mesh(
            bent, scalars="displacement", cmap="viridis", show_scalar_bar=False, smooth_shading=False, **_TUBES
        )
        plotter.add_text(f"mode {k + 1}:  {body.frequencies[k]:.5g}{unit}", font_size=10, color=INK)
        plotter.view_isometric()
        plotter.camera.zoom(1.35)
    plotter.set_background("white", all_renderers=True)
    return _save(plotter, path)


# mechanisms -------------------------------------------------------------------------------------------------------


class _Scene:
    """A mechanism in a plotter, whose bodies can be moved to the configuration of any stored time."""

    def __init__(self, mechanism: Mechanism, plotter: pv.Plotter, magnification: float, stress: float | None) -> None:
        self.flat = compiled(mechanism)
        self.mechanism = mechanism
        self.magnification = magnification
        self.coloured: list[bool] = []
        self.bodies: list[tuple[int, pv.PolyData, np.ndarray, np.ndarray | None]] = []
        for k, body in enumerate(mechanism.bodies):
            skin, nodes = (_stick(mechanism, k), None) if body.mesh is None else surface(body.mesh)
            shown = skin.copy()
            coloured = stress is not None and nodes is not None and body.stress is not None
            if coloured:
                shown.point_data[STRESS] = np.zeros(shown.n_points)
                bar = BAR | {"title": stress_title(mechanism)}
                limits = {"clim": (0.0, stress), "cmap": "turbo", "scalar_bar_args": bar}
                plotter.add_mesh(shown, scalars=STRESS, specular=0.2, **limits, **_TUBES)
            else:
                colour = BODY_COLOURS[k % len(BODY_COLOURS)]
                plotter.add_mesh(shown, color=colour, smooth_shading=body.mesh is None, specular=0.3, **_TUBES)
            self.coloured.append(coloured)
            self.bodies.append((k, shown, np.array(skin.points, dtype=float), nodes))

    def move(self, q: np.ndarray) -> None:
        for (k, shown, points, nodes), coloured in zip(self.bodies, self.coloured, strict=True):
            s = self.flat.q_start[k]
            body, eta = self.mechanism.bodies[k], q[s + 7 : s + 7 + self.flat.modes[k]]
            bends = nodes is not None and body.is_flexible and body.Psi is not None
            local = points + self.magnification * body.displacements(eta, nodes) if bends else points
            if coloured and nodes is not None:
                shown.point_data[STRESS] = np.nan_to_num(nodal_von_mises(body, eta)[nodes])
            shown.points = (q[s : s + 3] + local @ rotation_from_quaternion(q[s + 3 : s + 7]).T).astype(np.float32)


def _stick(mechanism: Mechanism, body: int) -> pv.PolyData:
    """A body without a mesh: tubes from its first marker or mass centre to its other markers, or a small cube."""
    record = mechanism.bodies[body]
    points = [m.point for m in mechanism.markers if m.body == body]
    unique = list({tuple(np.round(p, 9)): p for p in points}.values())
    radius = 0.035 * mechanism.length
    if (
        len(unique) < 2
        and np.linalg.norm((unique[0] if unique else record.centre) - record.centre) < 1e-6 * mechanism.length
    ):
        return pv.Cube(
            center=record.centre, x_length=5 * radius, y_length=5 * radius, z_length=5 * radius
        ).triangulate()
    ends = unique if len(unique) > 1 else [*unique, record.centre]
    parts = [
        pv.Cylinder(
            center=(a + ends[0]) / 2,
            direction=a - ends[0],
            radius=radius,
            height=float(np.linalg.norm(a - ends[0])),
            resolution=24,
        )
        for a in ends[1:]
    ]
    return (
        pv.merge(
            [p.extract_surface(algorithm="dataset_surface") if not isinstance(p, pv.PolyData) else p for p in parts]
        )
        .extract_surface(algorithm="dataset_surface")
        .triangulate()
    )


def _stage(
    result: Result, magnification: float, pixels: tuple[int, int] = PIXELS, stress: bool = False
) -> tuple[pv.Plotter, _Scene]:
    """A plotter whose camera shows the whole motion; with `stress`, one colour scale for the whole motion.

    Raises `PictureError` when stresses are requested and no body has them.
    """
    plotter = _plotter(pixels)
    scale = None
    if stress:
        having = [b.name for b in result.mechanism.bodies if b.stress is not None and b.mesh is not None]
        if not having:
            raise PictureError(f"No body of {result.mechanism.name!r} has stresses; only bodies made from a mesh have.")
        scale = max(float(largest_stress(result, name).values.max()) for name in having)
    scene = _Scene(result.mechanism, plotter, magnification, scale)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for q in result.q[:: max(1, len(result.q) // 60)]:
        scene.move(q)
        for _, shown, _, _ in scene.bodies:
            low, high = np.minimum(low, shown.points.min(axis=0)), np.maximum(high, shown.points.max(axis=0))
    for marker in result.mechanism.markers:
        if marker.body == GROUND:
            plotter.add_mesh(pv.Sphere(radius=0.03 * result.mechanism.length, center=marker.point), color=INK)
    span = high - low
    flat_axis = int(np.argmin(span))
    view = np.array([0.35, 0.3, 0.35])
    view[flat_axis] = 1.0 if flat_axis != 1 else -1.0
    up = np.array([0.0, 0.0, 1.0]) if flat_axis != 2 else np.array([0.0, 1.0, 0.0])
    gravity = result.mechanism.gravity
    if np.linalg.norm(gravity) > 0 and abs(gravity[flat_axis]) < 0.9 * np.linalg.norm(gravity):
        up = -gravity / np.linalg.norm(gravity)
    centre = (low + high) / 2
    plotter.camera_position = [centre + view / np.linalg.norm(view) * 2.4 * np.linalg.norm(span), centre, up]
    plotter.reset_camera(bounds=(low[0], high[0], low[1], high[1], low[2], high[2]))
    plotter.camera.zoom(1.35 if stress else 1.55)
    if stress:
        plotter.camera.SetWindowCenter(*BESIDE_BAR)
    return plotter, scene


def picture_result(
    result: Result, path: str | Path, index: int = -1, magnification: float = 1.0, stress: bool = False
) -> Path:
    """Draw the mechanism at the stored time number `index`; return the path.

    `magnification`: factor of the deformation; `stress`: colour the bodies by von Mises stress. Raises `PictureError`
    when no body has stresses, or the picture cannot be written.
    """
    plotter, scene = _stage(result, magnification, stress=stress)
    scene.move(result.q[index])
    plotter.add_text(_caption(result, index, magnification), font_size=11, color=INK)
    return _save(plotter, path)


def _caption(result: Result, index: int, magnification: float) -> str:
    unit = f" {unit_of('time', result.mechanism.units)}" if result.mechanism.units else ""
    return f"t = {result.t[index]:.4g}{unit}" + (f"    deformation x {magnification:g}" if magnification != 1 else "")


def animate(
    result: Result,
    path: str | Path,
    *,
    frames: int = 120,
    frames_per_second: int = 25,
    magnification: float = 1.0,
    stress: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write an animation of the motion; return the path.

    `path`: its ending selects `.gif`, `.mp4`, or `.html` (one self-contained page). `magnification`: factor of the
    deformation; `stress`: colour the bodies by von Mises stress; `progress`: called with the fraction that is done.

    Raises `PictureError` for another ending, when no body has stresses, or when the animation cannot be written.
    """
    path = Path(path)
    if path.suffix not in (".gif", ".mp4", ".html"):
        raise PictureError(f"An animation is written as .gif, .mp4 or .html; found {path.name!r}.")
    small = path.suffix == ".gif"
    plotter, scene = _stage(result, magnification, GIF_PIXELS if small else PIXELS, stress)
    picked = np.unique(np.linspace(0, len(result.t) - 1, frames).round().astype(int))
    images = []
    for k, index in enumerate(picked):
        scene.move(result.q[index])
        plotter.add_text(
            _caption(result, index, magnification), font_size=7 if small else 11, color=INK, name="caption"
        )
        images.append(np.asarray(plotter.screenshot(return_img=True)))
        if progress is not None:
            progress((k + 1) / len(picked))
    plotter.close()
    try:
        if path.suffix == ".html":
            path.write_text(_page(images, frames_per_second))
        elif path.suffix == ".gif":
            imageio.imwrite(path, images, duration=1000 / frames_per_second, loop=0)
        else:
            imageio.imwrite(path, images, fps=frames_per_second, macro_block_size=16)
    except OSError as error:
        raise PictureError(f"The animation cannot be written to {path}: {error}.") from error
    return path


def _page(images: list[np.ndarray], frames_per_second: int) -> str:
    """One self-contained HTML page that plays JPEG frames, with a slider."""
    import base64

    data = [
        base64.b64encode(imageio.imwrite("<bytes>", image, extension=".jpg", quality=85)).decode() for image in images
    ]
    frames = ",".join(f'"{d}"' for d in data)
    return (
        "<!doctype html><meta charset='utf-8'><title>flexmb</title>"
        "<body style='margin:0;font-family:sans-serif;text-align:center'>"
        "<img id='v' style='max-width:100%'><br><input id='s' type='range' min='0' value='0' style='width:80%'>"
        f"<script>const f=[{frames}];let k=0,held=false;"
        "const v=document.getElementById('v'),s=document.getElementById('s');"
        "s.max=f.length-1;s.oninput=()=>{held=true;k=+s.value;show()};s.onchange=()=>{held=false};"
        "function show(){v.src='data:image/jpeg;base64,'+f[k];s.value=k}"
        f"setInterval(()=>{{if(!held){{k=(k+1)%f.length;show()}}}},{1000 // frames_per_second});show()</script>"
    )


# files ----------------------------------------------------------------------------------------------------------------


def _plotter(pixels: tuple[int, int] = PIXELS) -> pv.Plotter:
    plotter = pv.Plotter(off_screen=True, window_size=pixels)
    plotter.set_background("white", top="#dfe7ef")
    plotter.enable_anti_aliasing("ssaa")
    return plotter


def _save(plotter: pv.Plotter, path: str | Path) -> Path:
    path = Path(path)
    try:
        plotter.screenshot(str(path))
    except (OSError, ValueError) as error:
        raise PictureError(f"The picture cannot be written to {path}: {error}.") from error
    finally:
        plotter.close()
    return path


refuse_old_names(__name__)
