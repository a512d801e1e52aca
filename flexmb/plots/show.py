"""`show`: whatever there is to see, in a window or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fem.analysis.natural_modes import NaturalModes
from fem.mesh.mesh import Mesh
from fem.model import Model
from flexmb.bodies.body import Body
from flexmb.drawn.surface import body_surface, model_surface
from flexmb.errors import PictureError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.results.stress import warn_of_truncated_stress
from flexmb.units import unit_of
from reduction.basis import Basis

if TYPE_CHECKING:
    import pyvista

Shown = Mesh | Model | NaturalModes | Basis | Body | System | Mechanism | Result


def show(
    x: Shown,
    *,
    model: Model | None = None,
    mode: int = 1,
    time: float | None = None,
    stress: bool = False,
    magnification: float = 1.0,
    window: bool = True,
) -> pyvista.Plotter:
    """Show a mesh, a model, its natural modes, the shapes of a basis or a body, a mechanism or a motion in 3D, to turn
    with the mouse.

    - A mesh: its skin with the edges of the cells, its face sets in colour. A model: its interfaces besides.
    - Natural modes, a basis (`model`: the model that it reduces) or a flexible body: its shapes, from number `mode` on,
      with a slider. The largest displacement is drawn as 8 % of the size of the body.
    - A `System` or `Mechanism`: the bodies as modelled, with the names of the joints.
    - A `Result`: the mechanism at the stored time nearest to `time` (by default the first), with a slider. `stress`
      colours the bodies by the von Mises stress; `magnification` is the factor of the deformation.

    A notebook shows it in the cell: to turn with the extra `viewer` installed (`pip install flexmb[viewer]`), else as a
    picture. `window=False` opens nothing. Returns the plotter of pyvista, for more to be added or a screenshot.

    Raises `PictureError` when there is nothing to draw, and for a mode that does not exist.
    """
    import pyvista

    plotter = pyvista.Plotter(off_screen=None if window else True)
    plotter.set_background("white", top="#dfe7ef")
    if isinstance(x, Mesh):
        _mesh(plotter, x)
    elif isinstance(x, Model):
        _model(plotter, x)
    elif isinstance(x, NaturalModes):
        _shapes(plotter, *model_surface(x.model, x.q), x.frequencies, mode)
    elif isinstance(x, Basis):
        _basis(plotter, x, model, mode)
    elif isinstance(x, Body):
        _body(plotter, x, mode)
    elif isinstance(x, System | Mechanism):
        _mechanism(plotter, x.build() if isinstance(x, System) else x, magnification)
    elif isinstance(x, Result):
        _result(plotter, x, time, stress, magnification)
    else:
        raise PictureError(
            f"flexmb.show draws a Mesh, Model, Basis, Body, System, Mechanism or Result; found {type(x).__name__}."
        )
    if window:
        plotter.show()
    return plotter


def _mesh(plotter: pyvista.Plotter, mesh: Mesh) -> None:
    import pyvista

    from flexmb.files.results.gltf_file import COLOURS
    from flexmb.plots.pictures import polygons, surface
    from flexmb.plots.scene import INK, drawn

    lines = mesh.line_nodes
    if len(lines):
        plotter.add_mesh(surface(mesh)[0], color=COLOURS[-1], line_width=6, render_lines_as_tubes=True)
        plotter.add_mesh(drawn(mesh.points[lines], np.zeros((0, 3))), color=INK, point_size=8)
    elif len(mesh.shell_nodes):
        plotter.add_mesh(surface(mesh)[0], color=COLOURS[-1], show_edges=len(mesh.shell_nodes) < 30000, line_width=1)
    if mesh.solids:
        sets = {name: COLOURS[k % (len(COLOURS) - 1)] for k, name in enumerate(mesh.face_sets)}
        of_sets = {tuple(face) for faces in mesh.face_sets.values() for face in faces.tolist()}
        rest = np.array([face for face in mesh.boundary_faces.tolist() if tuple(face) not in of_sets])
        for name, faces, colour in (
            *((name, np.asarray(mesh.face_sets[name]), colour) for name, colour in sets.items()),
            (None, rest, "#b9c4cf"),
        ):
            if len(faces):
                part = pyvista.PolyData(mesh.points, polygons(mesh, faces)[0])
                plotter.add_mesh(
                    part,
                    color=colour,
                    show_edges=len(mesh.boundary_faces) < 30000,
                    edge_color="#66737f",
                    line_width=0.5,
                    label=name,
                )
        if sets:
            plotter.add_legend(bcolor=None, face="rectangle")
    plotter.view_isometric()


def _model(plotter: pyvista.Plotter, model: Model) -> None:
    from flexmb.files.results.gltf_file import COLOURS
    from flexmb.plots.scene import drawn, labelled

    if model.mesh is not None:
        _mesh(plotter, model.mesh)
    else:
        plotter.add_mesh(drawn(model.points, np.zeros((0, 3))), color=COLOURS[-1], point_size=6)
    for k, (name, interface) in enumerate(model.interfaces.items()):
        colour = COLOURS[k % (len(COLOURS) - 1)]
        nodes = drawn(model.points[interface.nodes], np.zeros((0, 3)))
        plotter.add_mesh(nodes, color=colour, point_size=8, render_points_as_spheres=True)
        plotter.add_point_labels(
            labelled(interface.point[None], [name]),
            "labels",
            text_color=colour,
            shape_color="white",
            shape_opacity=0.7,
            always_visible=True,
        )
    plotter.view_isometric()


def _basis(plotter: pyvista.Plotter, basis: Basis, model: Model | None, mode: int) -> None:
    if model is None:
        raise PictureError("A basis holds no mesh: give the model that it reduces, flexmb.show(basis, model=model).")
    if model.ndof != len(basis.Psi):
        raise PictureError(f"The basis has {len(basis.Psi)} degrees of freedom, the model {model.ndof}.")
    points, triangles, shapes = model_surface(model, np.asarray(basis.Psi))
    _shapes(plotter, points, triangles, shapes, basis.frequencies, mode)


def _body(plotter: pyvista.Plotter, body: Body, mode: int) -> None:
    from flexmb.files.results.gltf_file import COLOURS
    from flexmb.plots.scene import drawn

    surface = body_surface(body, [i.point for i in body.interfaces.values()])
    if surface.shapes.shape[1]:
        _shapes(plotter, surface.points, surface.triangles, surface.shapes[:, : body.modes], body.frequencies, mode)
    else:
        plotter.add_mesh(drawn(surface.points, surface.triangles), color=COLOURS[0])
        plotter.view_isometric()


def _shapes(
    plotter: pyvista.Plotter,
    points: np.ndarray,
    triangles: np.ndarray,
    shapes: np.ndarray,
    frequencies: np.ndarray,
    mode: int,
) -> None:
    """Shape number `mode`, from 1, with a slider for the others."""
    from flexmb.plots.scene import INK, ShapeScene

    count = len(frequencies)
    if not 1 <= mode <= count:
        raise PictureError(f"mode = {mode}: there are modes 1 to {count}.")
    scene = ShapeScene(plotter, points, triangles, shapes)

    def choose(value: float) -> None:
        k = round(value) - 1
        scene.show(k)
        plotter.add_text(f"mode {k + 1} of {count}:  {frequencies[k]:.5g}", font_size=11, color=INK, name="caption")

    choose(mode)
    if count > 1:
        plotter.add_slider_widget(choose, (1, count), value=mode, title="mode", fmt="%.0f", color=INK)


def _mechanism(plotter: pyvista.Plotter, mechanism: Mechanism, magnification: float) -> None:
    from flexmb.plots.scene import INK, MovingScene, labelled

    scene = MovingScene(plotter, mechanism, mechanism.initial.q, magnification)
    scene.move(mechanism.initial.q)
    names: dict[tuple[float, ...], list[str]] = {}
    for joint in mechanism.joints:
        place = scene.place(mechanism.markers[joint.markers[1]], mechanism.initial.q)
        names.setdefault(tuple(np.round(place, 9)), []).append(joint.name)
    if names:
        labels = [", ".join(joints) for joints in names.values()]
        plotter.add_point_labels(
            labelled(np.array(list(names)), labels),
            "labels",
            text_color=INK,
            shape_color="white",
            shape_opacity=0.7,
            point_size=8,
            always_visible=True,
        )


def _result(plotter: pyvista.Plotter, result: Result, time: float | None, stress: bool, magnification: float) -> None:
    from flexmb.plots.scene import INK, MovingScene

    if stress and not any(b.stress is not None and b.mesh is not None for b in result.mechanism.bodies):
        raise PictureError(f"No body of {result.mechanism.name!r} has stresses; only bodies made from a mesh have.")
    scene = MovingScene(plotter, result.mechanism, result.q, magnification)
    scene.show_stress(stress)
    if stress:
        for body in result.mechanism.bodies:
            if body.stress is not None:
                warn_of_truncated_stress(result, body.name)
    unit = f" {unit_of('time', result.mechanism.units)}" if result.mechanism.units else ""
    first, last = float(result.t[0]), float(result.t[-1])

    def choose(value: float) -> None:
        index = int(np.abs(result.t - value).argmin())
        scene.move(result.q[index])
        enlarged = f"    deformation x {magnification:g}" if magnification != 1 else ""
        text = f"t = {result.t[index]:.4g}{unit}{enlarged}"
        plotter.add_text(text, font_size=11, color=INK, name="caption")

    start = first if time is None else time
    choose(start)
    if last > first:
        value = float(np.clip(start, first, last))
        plotter.add_slider_widget(choose, (first, last), value=value, title="time", fmt="%.4g", color=INK)
