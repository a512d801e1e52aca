"""Mechanisms and shapes in a plotter of pyvista, whose points move: one product a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyvista as pv

from flexmb.drawn.joined import joined
from flexmb.drawn.links import link_points, links_of
from flexmb.drawn.surface import Surface, ground_shape, surfaces_of, world_points
from flexmb.files.results.gltf_file import COLOURS, ground_colour
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Marker, Mechanism
from flexmb.spatial.lie import rotation_from_quaternion
from flexmb.units import shown_units

STRESS, PRESSURE = "von Mises stress", "contact pressure"
INK = "#1b2a41"
AMPLITUDE = 0.08
"""Largest displacement of a drawn shape relative to the size of its body."""
BAR = {
    "vertical": True, "position_x": 0.88, "position_y": 0.12, "width": 0.06, "height": 0.68, "fmt": "%.3g",
    "n_labels": 5, "color": INK,
}  # fmt: skip
"""Place and style of the colour bar of a 3D picture: beside the model, whole, its title above it."""
BESIDE_BAR = (0.12, 0.0)
"""Centre of the window that moves the model to the left of the colour bar."""
ROOM = 1 - BESIDE_BAR[0]
"""Size of the model beside a colour bar, relative to its size in the whole picture."""
SEEN_THROUGH, FAINT = 0.3, 0.1
"""Opacities of bodies with pressures on their surfaces, which are seen through them, and of the others."""
NEARER = (-2.0, -200.0)
"""By how much films are drawn nearer to the camera than they are, in slopes and steps of its depth: a surface lies in
the plane that it touches."""
FILLED = 0.9
"""Part of the picture that the motion fills."""
WIRES = {
    "spring": ("#52606d", 5), "cable": ("#8a5a2b", 5), "rod": (INK, 9), "element": ("#7b4ea3", 9),
    "relation": ("#7b8794", 4), "curve": ("#52606d", 5),
}  # fmt: skip
"""Colours and widths (in pixels of a picture 1080 high) of the lines of what has no surface."""
SAMPLES = 40
"""Number of stored times from which the space of a motion and its largest stress are found."""


def drawn(points: np.ndarray, triangles: np.ndarray) -> pv.PolyData:
    """Triangles for a plotter; points alone where there are no triangles."""
    if not len(triangles):
        return pv.PolyData(np.asarray(points, dtype=np.float32))
    faces = np.column_stack([np.full(len(triangles), 3), triangles]).ravel()
    return pv.PolyData(np.asarray(points, dtype=np.float32), faces)


def wire(points: np.ndarray) -> pv.PolyData:
    """A line through points (n, 3) for a plotter."""
    return pv.PolyData(np.asarray(points, dtype=np.float32), lines=np.array([len(points), *range(len(points))]))


def _dark(colour: str) -> str:
    """The colour of a body for a text on white, which a lighter colour would leave hard to read."""
    return str(pv.Color([0.7 * part for part in pv.Color(colour).float_rgb]).hex_rgb)


def labelled(points: np.ndarray, labels: Sequence[str]) -> pv.PolyData:
    """Points (n, 3) with texts as the data "labels", which `add_point_labels(..., "labels")` draws."""
    cloud = drawn(points, np.zeros((0, 3)))
    cloud["labels"] = list(labels)
    return cloud


def look_at(plotter: pv.Plotter, points: np.ndarray, up: np.ndarray) -> None:
    """Turn the camera so that all `points` (n, 3) fill the picture, seen obliquely with their thinnest side in front.

    With the axes r, u of the picture and d towards the camera, a point is in view if `|x.u - b| <= t (D - x.d)`, where
    D and b are the depth and the height of the camera and t is half the opening; the smallest D has a closed form for
    each of the two axes.
    """
    span, up_axis = np.ptp(points, axis=0), int(np.abs(up).argmax())
    sides = [k for k in range(3) if k != up_axis]
    view = np.full(3, 0.4)
    thin, wide = sorted(sides, key=lambda k: span[k])
    view[thin] = 1.0
    view[thin] *= 1 if np.cross(up, view)[wide] > 0 else -1  # the wide side goes to the right
    d = view / np.linalg.norm(view)
    r = np.cross(up, d) / np.linalg.norm(np.cross(up, d))
    u, (width, height) = np.cross(d, r), plotter.window_size
    opening = FILLED * np.tan(np.deg2rad(plotter.camera.view_angle) / 2)
    depth, away, place = points @ d, [], np.zeros(3)
    for axis, t in ((r, opening * width / height), (u, opening)):
        high, low = (depth + points @ axis / t).max(), (depth - points @ axis / t).max()
        away.append((high + low) / 2)
        place += t * (high - low) / 2 * axis
    nearest = depth.max() + 1e-3 * (np.linalg.norm(span) or 1.0)
    middle = place + (depth.max() + depth.min()) / 2 * d
    plotter.camera_position = [place + max(*away, nearest) * d, middle, u]
    plotter.reset_camera_clipping_range()


def _every(step: int, count: int) -> np.ndarray:
    """Whether each of `count` vertices is chosen: one of `step`, or all."""
    return np.arange(count) % max(1, step) == 0


def stress_title(mechanism: Mechanism, what: str = "von Mises\nstress") -> str:
    """The title of a colour bar of stresses, with their unit where that is known, over two lines."""
    return shown_units(mechanism.units, None, "stress")["stress"].label(what) + "\n"


class MovingScene:
    """The bodies of a mechanism in a plotter, with the lines of springs, cables, rods, relations and curves; `move`
    takes them to a configuration.

    - `show_stress` colours bodies that have stresses by the von Mises stress, `show_films` paints the pressures of
      flexible surfaces, `show_labels` writes the names of the
      bodies beside them, `show_part` hides or shows a body.
    - `magnification`: factor of the deformation, which may be changed; the joints stay joined (`flexmb.drawn.joined`).
    """

    def __init__(self, plotter: pv.Plotter, mechanism: Mechanism, q: np.ndarray, magnification: float = 1.0) -> None:
        self.plotter, self.mechanism, self.magnification = plotter, mechanism, magnification
        self.surfaces = surfaces_of(mechanism)
        self.starts = [int(s) for s in compiled(mechanism).q_start]
        self.stressed, self.bar = False, stress_title(mechanism)
        self.labels: list[tuple[list[int], pv.PolyData]] = []
        self.films: list[tuple[int, pv.PolyData, np.ndarray]] = []
        gravity = mechanism.gravity
        self.up = -gravity / np.linalg.norm(gravity) if np.linalg.norm(gravity) > 0 else np.array([0.0, 1.0, 0.0])
        sample = np.atleast_2d(q)
        sample = sample[np.unique(np.linspace(0, len(sample) - 1, SAMPLES).round().astype(int))]
        self.sample = sample
        self.meshes = [drawn(world_points(mechanism, k, s, sample[0]), s.triangles) for k, s in self._all()]
        for (_, surface), mesh in zip(self._all(), self.meshes, strict=True):
            mesh.point_data[STRESS] = np.zeros(len(surface.points), dtype=np.float32)
        self.actors = [self._add(k, stressed=False) for k, _ in self._all()]
        ground = ground_shape(mechanism)
        if ground is not None:
            plotter.add_mesh(drawn(*ground), color=ground_colour(mechanism), name="ground")
        self.links = links_of(mechanism)
        self.wires = [wire(points) for points in link_points(mechanism, self.links, sample[0])]
        for link, mesh in zip(self.links, self.wires, strict=True):
            colour, width = WIRES[link.sort]
            width *= plotter.window_size[1] / 1080
            plotter.add_mesh(
                mesh, color=colour, line_width=width, render_lines_as_tubes=True, reset_camera=False,
                name=f"{link.sort} {link.name}",
            )  # fmt: skip
        self._frame(sample)

    @cached_property
    def largest_stress(self) -> float:
        """The largest von Mises stress at the sampled times: the end of the colour scale."""
        having = self._having_stress()
        return max((float(s.stress(self.eta(k, x)).max()) for k, s in having for x in self.sample), default=0.0)

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

    def _bar(self, title: str) -> dict[str, Any]:
        font = max(10, self.plotter.window_size[1] // 45)
        return BAR | {"title": title, "title_font_size": font, "label_font_size": round(0.85 * font)}

    def _add(self, body: int, stressed: bool) -> pv.Actor:
        colours: dict[str, Any] = {"color": COLOURS[body % len(COLOURS)], "scalars": None}
        if stressed:
            colours = {"scalars": STRESS, "clim": (0.0, self.largest_stress or 1.0), "cmap": "turbo"}
            colours["scalar_bar_args"] = self._bar(self.bar)
        actor = self.plotter.add_mesh(
            self.meshes[body], name=f"body {body}", ambient=0.25, specular=0.2, reset_camera=False, **colours
        )
        actor.prop.interpolation = "Phong"  # with the normals of `move`
        return actor

    def _frame(self, sample: np.ndarray) -> None:
        ground = ground_shape(self.mechanism)
        places = [] if ground is None else [ground[0]]
        few = [surface.part(_every(len(surface.points) // 300, len(surface.points))) for surface in self.surfaces]
        for q in sample:
            shown = joined(self.mechanism, q, self.magnification)
            places += [world_points(self.mechanism, k, s, shown, self.magnification) for k, s in enumerate(few)]
            places += link_points(self.mechanism, self.links, shown, self.magnification)
        look_at(self.plotter, np.concatenate(places).astype(float), self.up)

    def show_stress(self, stressed: bool) -> None:
        """Colour the bodies that have stresses by them, or all by their own colours."""
        if stressed == self.stressed:
            return
        self.stressed = stressed
        self.plotter.camera.SetWindowCenter(*(BESIDE_BAR if stressed else (0.0, 0.0)))
        self.plotter.camera.zoom(ROOM if stressed else 1 / ROOM)
        for k, _ in self._having_stress():
            visible = self.actors[k].visibility
            self.actors[k] = self._add(k, stressed)
            self.actors[k].visibility = visible
        if not stressed and self.bar in self.plotter.scalar_bars:
            self.plotter.remove_scalar_bar(self.bar)

    def show_films(self, films: Mapping[int, Mapping[str, np.ndarray]], title: str) -> None:
        """Paint the pressures `films` (nt, n) at the nodes of the flexible surfaces of bodies (`pressure_films`) on
        these, which are seen through the bodies. `title`: of the colour bar."""
        top = max((float(film.max()) for own in films.values() for film in own.values()), default=0.0)
        self.plotter.camera.SetWindowCenter(*BESIDE_BAR)
        self.plotter.camera.zoom(ROOM)
        for k, actor in enumerate(self.actors):
            actor.prop.opacity = SEEN_THROUGH if k in films else FAINT
        if "ground" in self.plotter.actors:
            self.plotter.actors["ground"].prop.opacity = SEEN_THROUGH
        for k, name in [(k, name) for k, own in films.items() for name in own]:
            surface, touching = self.surfaces[k], self.mechanism.bodies[k].surfaces[name]
            place = {node: j for j, node in enumerate(touching.nodes.tolist())}
            at = np.array([place.get(node, -1) for node in surface.node.tolist()])
            faces = {*map(tuple, np.sort(touching.triangles, axis=1).tolist())}
            own = np.array([(*sorted(face),) in faces for face in at[surface.triangles].tolist()], dtype=bool)
            painted = drawn(np.asarray(self.meshes[k].points), surface.triangles[own])
            painted.point_data[PRESSURE] = np.zeros(len(surface.points), dtype=np.float32)
            self.films.append((k, painted, np.where(at >= 0, films[k][name][:, at], 0.0)))
            actor = self.plotter.add_mesh(
                painted, name=f"film {k} {name}", scalars=PRESSURE, clim=(0.0, top or 1.0), cmap="magma_r", ambient=0.5,
                reset_camera=False, scalar_bar_args=self._bar(title),
            )  # fmt: skip
            actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
            actor.mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(*NEARER)

    def show_part(self, body: int, visible: bool) -> None:
        """Hide or show a body."""
        self.actors[body].visibility = visible

    def show_labels(self) -> None:
        """Write the names of the bodies beside them, in the colours of the bodies, and in that of texts where stresses
        colour them."""
        by_colour: dict[str, list[int]] = {}
        for k, surface in self._all():
            stressed = self.stressed and surface.stress_rows is not None
            by_colour.setdefault(INK if stressed else _dark(COLOURS[k % len(COLOURS)]), []).append(k)
        for colour, bodies in by_colour.items():
            names = labelled(np.zeros((len(bodies), 3)), [self.surfaces[k].name for k in bodies])
            self.labels.append((bodies, names))
            self.plotter.add_point_labels(
                names,
                "labels",
                font_size=max(12, self.plotter.window_size[1] // 36),
                text_color=colour,
                shape_color="white",
                shape_opacity=0.85,
                margin=2,
                show_points=False,
                always_visible=True,
                reset_camera=False,
            )

    def move(self, q: np.ndarray, index: int = 0) -> None:
        """Take the bodies to the configuration `q` (nq,), and films to the stored time number `index`."""
        shown = joined(self.mechanism, q, self.magnification)
        for k, surface in self._all():
            if not self.actors[k].visibility:
                continue
            points = world_points(self.mechanism, k, surface, shown, self.magnification)
            self.meshes[k].points = points
            self.meshes[k].point_data.active_normals = surface.normals_at(points)
            if self.stressed and surface.stress_rows is not None:
                self.meshes[k].point_data[STRESS] = surface.stress(self.eta(k, q))
        for k, film, values in self.films:
            film.points = np.asarray(self.meshes[k].points)
            film.point_data[PRESSURE] = values[index].astype(np.float32)
        lines = link_points(self.mechanism, self.links, shown, self.magnification)
        for mesh, points in zip(self.wires, lines, strict=True):
            mesh.points = points.astype(np.float32)
        for bodies, names in self.labels:
            places = [self._beside(k, np.asarray(self.meshes[k].points)) for k in bodies]
            names.points = np.array(places, dtype=np.float32)

    def _beside(self, body: int, points: np.ndarray) -> np.ndarray:
        """The place of the label of a body, whose vertices are `points`: below the first body, above the second, and so
        on, so that labels of neighbours are apart."""
        up, middle = self.up * (1 if body % 2 else -1), (points.min(axis=0) + points.max(axis=0)) / 2
        aside = np.linalg.norm(points - middle - np.outer((points - middle) @ up, up), axis=1)
        top = (points @ up)[aside <= max(0.35 * aside.max(), aside.min())].max()
        return np.asarray(middle + (top - middle @ up + 0.05 * self.mechanism.length) * up)


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
