"""Pictures of meshes, modes and mechanisms, animations, and plots of energy, comparisons and stress.

All are drawn off screen and written to files.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyvista as pv
from matplotlib.figure import Figure
from vtkmodules.vtkCommonCore import vtkLogger

from fem.elements import LINE, element
from fem.mesh.mesh import Mesh
from flexmb.analyses.compare import Comparison
from flexmb.bodies.body import Body
from flexmb.drawn.surface import body_surface
from flexmb.errors import PictureError
from flexmb.plots.animation import require_writable, write_animation
from flexmb.plots.scene import MovingScene, drawn
from flexmb.results.result import Result
from flexmb.results.stress import LargestStress, largest_stress

vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)  # suppress the warning of VTK on machines without a screen

INK, BLUE, ORANGE, GREEN, GREY = "#1b2a41", "#2f6db5", "#e07a1f", "#3b8f5a", "#9aa5b1"
COLOURS = (BLUE, ORANGE, GREEN, "#a23b72", "#7a5195", "#00858a", "#8d6e63", GREY)
SET_COLOURS = (ORANGE, GREEN, BLUE, "#a23b72", "#7a5195", "#00858a")
BODY_COLOURS = ("#8fa3b8", "#c9a66b", "#7fa08a", "#b58a9c", "#8d8bb8", "#b0b0a0")
_TUBES = {"line_width": 8, "render_lines_as_tubes": True}
"""Style of line cells."""
PIXELS, SMALL_PIXELS = (1280, 720), (800, 450)


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


def picture_modes(body: Body, path: str | Path, count: int = 6) -> Path:
    """Draw the shapes of the first `count` elastic coordinates of a flexible body with their frequencies.

    The amplitude is scaled to be visible. Returns the path. Raises `PictureError` when the body has no mesh or no
    modes, or the picture cannot be written.
    """
    if body.mesh is None or body.Psi is None or not body.is_flexible:
        raise PictureError(f"Body {body.name!r} has no mesh or no modes to draw.")
    count = min(count, body.modes)
    columns = min(3, count)
    rows = -(-count // columns)
    shown = body_surface(body)
    skin = drawn(shown.points, shown.triangles)
    size = np.linalg.norm(np.ptp(body.mesh.points, axis=0))
    plotter = pv.Plotter(off_screen=True, shape=(rows, columns), window_size=(480 * columns, 340 * rows), border=False)
    for k in range(count):
        plotter.subplot(k // columns, k % columns)
        shape = shown.shapes[:, k].reshape(-1, 3).astype(float)
        amplitude = np.linalg.norm(shape, axis=1)
        bent = skin.copy()
        bent.points = skin.points + shape * (0.08 * size / amplitude.max())
        bent["displacement"] = amplitude / amplitude.max()
        plotter.add_mesh(skin, color=GREY, opacity=0.15)
        plotter.add_mesh(bent, scalars="displacement", cmap="viridis", show_scalar_bar=False, smooth_shading=False)
        plotter.add_text(f"{k + 1}:  {body.frequencies[k]:.5g}", font_size=10, color=INK)
        plotter.view_isometric()
        plotter.camera.zoom(1.35)
    plotter.set_background("white", all_renderers=True)
    return _save(plotter, path)


# mechanisms -------------------------------------------------------------------------------------------------------


def _stage(
    result: Result, magnification: float, stress: bool, labels: bool, pixels: tuple[int, int] = PIXELS
) -> tuple[pv.Plotter, MovingScene]:
    """A plotter whose camera shows the whole motion; with `stress`, one colour scale for the whole motion.

    Raises `PictureError` when stresses are requested and no body has them.
    """
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
    if labels:
        scene.show_labels()
    return plotter, scene


def picture_result(
    result: Result,
    path: str | Path,
    index: int = -1,
    magnification: float = 1.0,
    stress: bool = False,
    labels: bool = False,
) -> Path:
    """Draw the mechanism at the stored time number `index`; return the path.

    `magnification`: factor of the deformation, with which the joints stay joined (`flexmb.drawn.joined`); `stress`:
    colour the bodies by von Mises stress; `labels`: write their names beside them. Raises `PictureError` when no body
    has stresses, or the picture cannot be written.
    """
    plotter, scene = _stage(result, magnification, stress, labels)
    scene.move(result.q[index])
    _say(plotter, _caption(result, index, magnification), 11)
    return _save(plotter, path)


def _caption(result: Result, index: int, magnification: float) -> str:
    return f"t = {result.t[index]:.4g}" + (f"    deformation x {magnification:g}" if magnification != 1 else "")


def _say(plotter: pv.Plotter, text: str, size: int) -> None:
    plotter.add_text(text, position=(0.02, 0.93), viewport=True, font_size=size, color=INK, name="caption")


def animate(
    result: Result,
    path: str | Path,
    *,
    frames: int = 120,
    frames_per_second: int = 25,
    magnification: float = 1.0,
    stress: bool = False,
    labels: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write an animation of the motion; return the path.

    - `path`: its ending selects the format: `.mp4` (which needs imageio-ffmpeg), `.webp`, `.gif`, or `.html` (one
      self-contained page).
    - `magnification`: factor of the deformation, with which the joints stay joined (`flexmb.drawn.joined`).
    - `stress`: colour the bodies by von Mises stress; `labels`: write their names beside them.
    - `progress`: called with the fraction that is done.

    Raises `PictureError` for another ending, when no body has stresses, for `.mp4` without ffmpeg, or when the
    animation cannot be written.
    """
    path = Path(path)
    require_writable(path)
    small = path.suffix in (".gif", ".webp")
    plotter, scene = _stage(result, magnification, stress, labels, SMALL_PIXELS if small else PIXELS)
    picked = np.unique(np.linspace(0, len(result.t) - 1, frames).round().astype(int))
    images = []
    for k, index in enumerate(picked):
        scene.move(result.q[index])
        _say(plotter, _caption(result, index, magnification), 7 if small else 11)
        images.append(np.asarray(plotter.screenshot(return_img=True)))
        if progress is not None:
            progress((k + 1) / len(picked))
    plotter.close()
    return write_animation(images, path, frames_per_second)


# plots ------------------------------------------------------------------------------------------------------------


def plot_energy(result: Result, path: str | Path) -> Path:
    """Plot the energy ledger, and its residual beside the elastic and kinetic energies; return the path."""
    ledger = result.ledger
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7), sharex=True, height_ratios=(3, 2), layout="constrained")
    parts = (
        ("kinetic", ledger.kinetic, BLUE),
        ("elastic", ledger.elastic, ORANGE),
        ("gravity", ledger.gravity, GREEN),
        ("springs", ledger.springs, "#a23b72"),
        ("work of drivers", ledger.driver_work, "#444444"),
        ("work of loads", ledger.load_work, "#8d6e63"),
        ("heat", ledger.modal_heat + ledger.damper_heat, "#c0392b"),
        ("lost in impacts", ledger.impacts, "#7f8c8d"),
    )
    for name, values, colour in parts:
        if values.any():
            top.plot(result.t, values, color=colour, label=name, lw=1.4, ls="--" if name.startswith("work") else "-")
    top.set(ylabel="energy", title=f"{result.mechanism.name}: energy ledger")
    top.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    floor = np.finfo(float).tiny
    bottom.semilogy(result.t[1:], np.abs(ledger.residual[1:]) + floor, color=INK, lw=1, label="|residual|")
    if ledger.elastic.max() > 0:
        bottom.semilogy(result.t[1:], ledger.elastic[1:] + floor, color=ORANGE, lw=1, label="elastic energy")
    bottom.semilogy(result.t[1:], ledger.kinetic[1:] + floor, color=BLUE, lw=1, alpha=0.6, label="kinetic energy")
    top_value = max(ledger.kinetic.max(), ledger.elastic.max(), floor)
    bottom.set(
        xlabel="time",
        ylabel="energy",
        ylim=(max(np.abs(ledger.residual[1:]).max() * 1e-3, top_value * 1e-16), top_value * 3),
    )
    bottom.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return save_figure(figure, path)


def plot_comparison(comparison: Comparison, path: str | Path, joint: str | None = None) -> Path:
    """Plot a comparison for every fidelity: force in a joint and its spectrum, paths, stresses or elastic energies.

    `joint`: by default the one whose forces differ most. Returns the path.
    """
    joint = joint or comparison.most_different_joint()
    names = list(comparison.results)
    others = (ORANGE, GREEN, "#a23b72", "#7a5195", "#00858a")
    colours = {name: others[k % len(others)] for k, name in enumerate(n for n in names[:-1] if n != "rigid")}
    colours |= {names[-1]: BLUE} | ({"rigid": GREY} if "rigid" in names else {})
    stressed = comparison.stressed_bodies()
    figure, grid = plt.subplots(2, 2, figsize=(13, 8), layout="constrained")
    force, spectrum, paths, last = grid.ravel()
    for name, values in comparison.forces(joint).items():
        force.plot(comparison.t, values, color=colours[name], lw=2.5 if name == "rigid" else 1.0, label=name)
    force.set(xlabel="time", ylabel="force", title=f"{comparison.reference.mechanism.name}: force in joint {joint!r}")
    if comparison.evenly_spaced:
        frequencies, amplitudes = comparison.spectra(lambda r: np.linalg.norm(r.reaction(joint)[:, :3], axis=1))
        for name, values in amplitudes.items():
            spectrum.semilogy(frequencies[1:], values[1:], color=colours[name], lw=2.5 if name == "rigid" else 1.0)
    spectrum.set(xlabel="frequency", ylabel="amplitude", title="its spectrum")
    tracks = {
        (marker, name): np.linalg.norm(comparison.difference(marker, name), axis=1)
        for marker in comparison.moving_markers()
        for name in names[:-1]
    }
    top = max((off.max() for off in tracks.values()), default=0.0) or 1.0
    shown = {key: off for key, off in tracks.items() if off.max() > 1e-6 * top}
    styles = dict(zip(dict.fromkeys(marker for marker, _ in shown), cycle(("-", "--", ":", "-."))))
    for (marker, name), off in shown.items():
        label = f"{marker}, {name}"
        paths.semilogy(comparison.t[1:], off[1:] + 1e-300, color=colours[name], ls=styles[marker], lw=1.1, label=label)
    paths.set(xlabel="time", ylabel="distance", title=f"paths of the interfaces: distance from {names[-1]!r}")
    paths.set_ylim(1e-6 * top, 2 * top)
    if stressed:
        for name, found in comparison.stresses(stressed[0]).items():
            last.plot(found.t, found.values, color=colours[name], lw=1.0, label=name)
        last.set(xlabel="time", ylabel="stress", title=f"largest von Mises stress of {stressed[0]!r}")
    else:
        for name, result in comparison.results.items():
            last.plot(result.t, result.ledger.elastic, color=colours[name], lw=1.0, label=name)
        last.set(xlabel="time", ylabel="energy", title="elastic energy")
    for axis in grid.ravel():
        axis.grid(alpha=0.25)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="upper left", frameon=False, fontsize=8)
    return save_figure(figure, path)


def plot_stress(found: LargestStress, path: str | Path) -> Path:
    """Plot the largest von Mises stress of a body over time, and the distribution of its envelope; return the path."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), width_ratios=(3, 2), layout="constrained")
    left.plot(found.t, found.values, color=BLUE, lw=1.1)
    k = int(found.values.argmax())
    left.plot(found.t[k], found.values[k], "o", color=ORANGE, ms=6)
    left.set(
        xlabel="time",
        ylabel="largest von Mises stress",
        title=f"{found.body}: {found.values[k]:.4g} at t = {found.t[k]:.4g}",
    )
    right.plot(np.linspace(0, 100, len(found.envelope)), np.sort(found.envelope)[::-1], color=INK, lw=1.2)
    right.set(xlabel="part of all points (%)", ylabel="largest over time", title="distribution over the body")
    for axis in (left, right):
        axis.set_ylim(0, None)
        axis.grid(alpha=0.25)
    return save_figure(figure, path)


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


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write and close a figure; return the path. Raises `PictureError` when the file cannot be written."""
    path = Path(path)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise PictureError(f"The plot cannot be written to {path}: {error}.") from error
    finally:
        plt.close(figure)
    return path
