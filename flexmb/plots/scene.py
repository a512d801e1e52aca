"""Mechanisms and shapes in a plotter of pyvista, whose points move: one product a frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyvista as pv

from flexmb.files.results.gltf_file import COLOURS, GROUND_COLOUR
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Marker, Mechanism
from flexmb.results.surface import Surface, ground_shape, surfaces_of, world_points
from flexmb.spatial.lie import rotation_from_quaternion
from flexmb.units import shown_units

STRESS = "von Mises stress"
INK = "#1b2a41"
AMPLITUDE = 0.08
"""Largest displacement of a drawn shape relative to the size of its body."""
BAR = {
    "vertical": True, "position_x": 0.88, "position_y": 0.12, "width": 0.06, "height": 0.68, "fmt": "%.3g",
    "n_labels": 5, "title_font_size": 16, "label_font_size": 14, "color": INK,
}  # fmt: skip
"""Place and style of the colour bar of a 3D picture: beside the model, whole, its title above it."""
BESIDE_BAR = (0.12, 0.0)
"""Centre of the window that moves the model to the left of the colour bar."""
SAMPLES = 40
"""Number of stored times from which the space of a motion and its largest stress are found."""


def drawn(points: np.ndarray, triangles: np.ndarray) -> pv.PolyData:
    """Triangles for a plotter; points alone where there are no triangles."""
    if not len(triangles):
        return pv.PolyData(np.asarray(points, dtype=np.float32))
    faces = np.column_stack([np.full(len(triangles), 3), triangles]).ravel()
    return pv.PolyData(np.asarray(points, dtype=np.float32), faces)


def look_at(plotter: pv.Plotter, low: np.ndarray, high: np.ndarray, up: np.ndarray) -> None:
    """Turn the camera so that the box from `low` to `high` is in view, obliquely, with its thinnest side in front."""
    span, up_axis = high - low, int(np.abs(up).argmax())
    sides = [k for k in range(3) if k != up_axis]
    view = np.full(3, 0.45)
    view[min(sides, key=lambda k: span[k])] = 1.0
    view[sides[0]] *= -1 if up_axis == 2 and view[sides[1]] < view[sides[0]] else 1
    centre = (low + high) / 2
    plotter.camera_position = [centre + 2.5 * np.linalg.norm(span) * view / np.linalg.norm(view), centre, up]
    plotter.reset_camera(bounds=np.column_stack([low, high]).ravel())


def stress_title(mechanism: Mechanism) -> str:
    """The title of a colour bar of stresses, with their unit where that is known, over two lines."""
    return shown_units(mechanism.units, None, "stress")["stress"].label("von Mises\nstress") + "\n"


class MovingScene:
    """The bodies of a mechanism in a plotter; `move` takes them to a configuration.

    - `show_stress` colours bodies that have stresses by the von Mises stress; `show_part` hides or shows a body.
    - `magnification`: factor of the deformation, which may be changed.
    """

    def __init__(self, plotter: pv.Plotter, mechanism: Mechanism, q: np.ndarray, magnification: float = 1.0) -> None:
        self.plotter, self.mechanism, self.magnification = plotter, mechanism, magnification
        self.surfaces = surfaces_of(mechanism)
        self.starts = [int(s) for s in compiled(mechanism).q_start]
        self.stressed, self.bar = False, stress_title(mechanism)
        sample = np.atleast_2d(q)
        sample = sample[np.unique(np.linspace(0, len(sample) - 1, SAMPLES).round().astype(int))]
        self.largest_stress = max(
            (float(s.stress(self.eta(k, x)).max()) for k, s in self._having_stress() for x in sample), default=0.0
        )
        self.meshes = [drawn(world_points(mechanism, k, s, sample[0]), s.triangles) for k, s in self._all()]
        for (_, surface), mesh in zip(self._all(), self.meshes, strict=True):
            mesh.point_data[STRESS] = np.zeros(len(surface.points), dtype=np.float32)
        self.actors = [self._add(k, stressed=False) for k, _ in self._all()]
        ground = ground_shape(mechanism)
        if ground is not None:
            plotter.add_mesh(drawn(*ground), color=GROUND_COLOUR, name="ground")
        self._frame(sample)

    def _all(self) -> Sequence[tuple[int, Surface]]:
        return list(enumerate(self.surfaces))

    def _having_stress(self) -> Sequence[tuple[int, Surface]]:
        return [(k, s) for k, s in self._all() if s.stress_rows is not None]

    def eta(self, body: int, q: np.ndarray) -> np.ndarray:
        """Elastic coordinates of body number `body` in the configuration `q` (nq,)."""
        start = self.starts[body] + 7
        return q[start : start + self.mechanism.bodies[body].modes]

    def place(self, marker: Marker, q: np.ndarray) -> np.ndarray:
        """World position (3,) of a marker, the deformation left out, in the configuration `q` (nq,)."""
        if marker.body == GROUND:
            return np.asarray(marker.point)
        start = self.starts[marker.body]
        return np.asarray(q[start : start + 3] + rotation_from_quaternion(q[start + 3 : start + 7]) @ marker.point)

    def _add(self, body: int, stressed: bool) -> pv.Actor:
        colours = (
            {
                "scalars": STRESS,
                "clim": (0.0, self.largest_stress or 1.0),
                "cmap": "turbo",
                "scalar_bar_args": BAR | {"title": self.bar},
            }
            if stressed
            else {"color": COLOURS[body % len(COLOURS)], "scalars": None}
        )
        return self.plotter.add_mesh(
            self.meshes[body], name=f"body {body}", specular=0.2, reset_camera=False, **colours
        )

    def _frame(self, sample: np.ndarray) -> None:
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for q in sample:
            for k, surface in self._all():
                points = world_points(self.mechanism, k, surface, q, self.magnification)
                low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        gravity = self.mechanism.gravity
        up = -gravity / np.linalg.norm(gravity) if np.linalg.norm(gravity) > 0 else np.array([0.0, 1.0, 0.0])
        look_at(self.plotter, low, high, up)

    def show_stress(self, stressed: bool) -> None:
        """Colour the bodies that have stresses by them, or all by their own colours."""
        if stressed == self.stressed:
            return
        self.stressed = stressed
        self.plotter.camera.SetWindowCenter(*(BESIDE_BAR if stressed else (0.0, 0.0)))
        for k, _ in self._having_stress():
            visible = self.actors[k].visibility
            self.actors[k] = self._add(k, stressed)
            self.actors[k].visibility = visible
        if not stressed and self.bar in self.plotter.scalar_bars:
            self.plotter.remove_scalar_bar(self.bar)

    def show_part(self, body: int, visible: bool) -> None:
        """Hide or show a body."""
        self.actors[body].visibility = visible

    def move(self, q: np.ndarray) -> None:
        """Take the bodies to the configuration `q` (nq,)."""
        for k, surface in self._all():
            if not self.actors[k].visibility:
                continue
            self.meshes[k].points = world_points(self.mechanism, k, surface, q, self.magnification)
            if self.stressed and surface.stress_rows is not None:
                self.meshes[k].point_data[STRESS] = surface.stress(self.eta(k, q))


class ShapeScene:
    """The shapes of a body in a plotter, over its undeformed surface; `show` draws shape number `k` from 0."""

    def __init__(self, plotter: pv.Plotter, points: np.ndarray, triangles: np.ndarray, shapes: np.ndarray) -> None:
        self.points, self.shapes = points, shapes.reshape(len(points), 3, -1)
        self.size = float(np.linalg.norm(np.ptp(points, axis=0)))
        style = {"point_size": 8, "render_points_as_spheres": True}
        plotter.add_mesh(drawn(points, triangles), color=COLOURS[-1], opacity=0.15, **style)
        self.mesh = drawn(points, triangles)
        self.mesh.point_data["displacement"] = np.zeros(len(points), dtype=np.float32)
        plotter.add_mesh(
            self.mesh, scalars="displacement", clim=(0.0, 1.0), cmap="viridis", show_scalar_bar=False, **style
        )
        plotter.view_isometric()

    def show(self, k: int, phase: float = 1.0) -> None:
        """Draw shape `k`, its largest displacement 8 % of the size of the body, times `phase` between -1 and 1."""
        u = self.shapes[:, :, k].astype(float)
        amplitude = np.linalg.norm(u, axis=1)
        largest = float(amplitude.max()) or 1.0
        self.mesh.points = (self.points + phase * AMPLITUDE * self.size / largest * u).astype(np.float32)
        self.mesh.point_data["displacement"] = (amplitude / largest).astype(np.float32)
