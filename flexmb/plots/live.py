"""The live viewer: a result in a browser, with a slider for the time, parts, stresses, modes and plots that follow."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

import numpy as np
import pyvista as pv

from flexmb.errors import PictureError
from flexmb.files.results.gltf_file import COLOURS
from flexmb.plots.curves import LEFT, PLAYBACK, RIGHT, curve_picture, curves
from flexmb.plots.scene import AMPLITUDE, MovingScene
from flexmb.results.result import Result

FRAMES_PER_SECOND = 30
MODE_PERIOD = 1.5
"""Seconds of a period of a mode that is shown."""


class LiveViewer:
    """A result in a plotter, and the page of trame that commands it.

    Its state has `index`, of the stored time; `playing`; `parts`, numbers of the bodies that are shown; `stress`;
    `magnification`; `mode_body` and `mode`, of the mode browser, 0 for the motion itself; `plot`, a name of `plots`.

    Raises `PictureError` when trame is not installed.
    """

    def __init__(self, result: Result, magnification: float = 1.0, name: str = "flexmb") -> None:
        try:
            from trame.app import get_server
            from trame.ui.vuetify3 import SinglePageLayout
            from trame.widgets import html, vtk, vuetify3  # noqa: F401 - all that the page needs
        except ImportError as error:
            raise PictureError(
                f'The live viewer needs the extra "viewer": pip install "flexmb[viewer]" ({error}).'
            ) from None
        self.result = result
        self.plotter = pv.Plotter(off_screen=True, window_size=(1280, 800))
        self.plotter.set_background("#e9eef3")
        self.plotter.disable_anti_aliasing()  # in software, several samples a pixel take five times as long
        self.scene = MovingScene(self.plotter, result.mechanism, result.q, magnification)
        self.plots = curves(result)
        self.server = get_server(name, client_type="vue3")
        self.state = self.server.state
        bodies = result.mechanism.bodies
        flexible = [k for k, s in enumerate(self.scene.surfaces) if s.shapes.shape[1]]
        self.state.update(
            {
                "index": 0,
                "playing": False,
                "parts": list(range(len(bodies))),
                "stress": False,
                "magnification": magnification,
                "flexible": [{"title": bodies[k].name, "value": k} for k in flexible],
                "mode_body": flexible[0] if flexible else -1,
                "mode": 0,
                "modes": bodies[flexible[0]].modes if flexible else 0,
                "mode_text": "",
                "time_text": "",
                "plot": next(iter(self.plots)),
                "picture": "",
                "place": LEFT,
            }
        )
        self.phase = 1.0
        self.task: asyncio.Task | None = None
        self.state.change("index", "parts", "stress", "magnification", "mode_body", "mode")(self.update)
        self.state.change("plot")(self.draw_plot)
        self.state.change("playing")(self.start)
        self.update()
        self.draw_plot()
        self._page(SinglePageLayout)

    def update(self, **_: Any) -> None:
        """Move the scene to what the state says."""
        state, result = self.state, self.result
        index = int(np.clip(state.index, 0, len(result.t) - 1))
        if state.flexible:
            state.modes = result.mechanism.bodies[int(state.mode_body)].modes
        for k in range(len(self.scene.surfaces)):
            self.scene.show_part(k, k in state.parts)
        self.scene.show_stress(bool(state.stress))
        self.scene.magnification = 1.0 if state.mode else float(state.magnification or 0)
        self.scene.move(self._shape(result.q[index]) if state.mode else result.q[index])
        state.time_text = f"t = {result.t[index]:.5g}"
        span = float(result.t[-1] - result.t[0]) or 1.0
        state.place = LEFT + (RIGHT - LEFT) * float(result.t[index] - result.t[0]) / span
        self.redraw()

    def _shape(self, q: np.ndarray) -> np.ndarray:
        """The configuration `q` with the chosen mode of the chosen body in place of its elastic coordinates."""
        k = int(self.state.mode_body)
        body, surface = self.result.mechanism.bodies[k], self.scene.surfaces[k]
        mode = int(np.clip(self.state.mode, 1, body.modes))
        self.state.mode_text = f"mode {mode} of {body.modes}: {body.frequencies[mode - 1]:.5g}"
        size = np.linalg.norm(np.ptp(surface.points, axis=0))
        largest = np.linalg.norm(surface.shapes[:, mode - 1].reshape(-1, 3), axis=1).max()
        eta = np.zeros(body.modes)
        eta[mode - 1] = self.phase * AMPLITUDE * size / largest
        start = self.scene.starts[k] + 7
        return np.concatenate([q[:start], eta, q[start + body.modes :]])

    def redraw(self) -> None:
        """Send a new picture; before the page is there, nothing is sent."""
        if self.server.controller.view_update.exists():
            self.server.controller.view_update()

    def draw_plot(self, **_: Any) -> None:
        """Draw the chosen plot; the line of the present time is drawn over it by the page."""
        self.state.picture = curve_picture(self.result.t, self.plots[self.state.plot], self.result.mechanism.units)

    def start(self, **_: Any) -> None:
        """Begin to play when the state says so, unless it plays already."""
        if self.state.playing and (self.task is None or self.task.done()):
            from trame.app import asynchronous

            self.task = asynchronous.create_task(self.play())

    async def play(self) -> None:
        """Play in real time: where drawing is slower, stored times are left out. It goes on from where a user seeks."""
        t, state, shown, before = self.result.t, self.state, -1, perf_counter()
        span, position, begun = float(t[-1] - t[0]) or 1.0, 0.0, before
        while state.playing:
            now = perf_counter()
            with state:
                if state.mode:
                    self.phase = float(np.cos(2 * np.pi * (now - begun) / MODE_PERIOD))
                    self.update()
                else:
                    if state.index != shown:
                        position = float(t[int(state.index)] - t[0]) / span
                    position = (position + (now - before) / PLAYBACK) % 1.0
                    state.index = shown = int(np.abs(t - t[0] - span * position).argmin())
            before = now
            await asyncio.sleep(max(1 / FRAMES_PER_SECOND - (perf_counter() - now), 0.001))
        self.phase = 1.0

    def _page(self, layout_of: Any) -> None:
        from trame.widgets import html, vtk
        from trame.widgets import vuetify3 as v

        result, control = self.result, self.server.controller
        last = len(result.t) - 1
        with layout_of(self.server) as layout:
            layout.title.set_text(result.mechanism.name)
            layout.icon.hide()
            layout.footer.hide()
            with layout.toolbar:
                v.VBtn(icon=("playing ? 'mdi-pause' : 'mdi-play'",), click="playing = !playing")
                v.VSlider(v_model=("index",), min=0, max=last, step=1, hide_details=True, density="compact")
                html.Div("{{ time_text }}", style="width: 11em; padding-left: 1em; white-space: nowrap")
            with layout.content, html.Div(style="display: flex; height: calc(100vh - 64px); overflow: hidden"):
                with html.Div(style="width: 22em; flex: none; overflow-y: auto; padding: 12px"):
                    html.Div("Parts", style="font-weight: 600")
                    for k, body in enumerate(result.mechanism.bodies):
                        v.VCheckbox(
                            v_model=("parts",), value=(str(k),), label=body.name, hide_details=True, density="compact",
                            color=COLOURS[k % len(COLOURS)],
                        )  # fmt: skip
                    if any(s.stress_rows is not None for s in self.scene.surfaces):
                        v.VSwitch(v_model=("stress",), label="von Mises stress", hide_details=True, color="primary")
                    if self.state.flexible:
                        v.VTextField(
                            v_model_number=("magnification",), label="deformation x", type="number", min=0,
                            hide_details=True, density="compact",
                        )  # fmt: skip
                        html.Div("Modes", style="font-weight: 600; margin-top: 12px")
                        v.VSelect(v_model=("mode_body",), items=("flexible",), hide_details=True, density="compact")
                        v.VSlider(v_model=("mode",), min=0, max=("modes",), step=1, hide_details=True, thumb_label=True)
                        html.Div("{{ mode ? mode_text : 'the motion' }}")
                    html.Div("Plot", style="font-weight: 600; margin-top: 12px")
                    v.VSelect(v_model=("plot",), items=(list(self.plots),), hide_details=True, density="compact")
                    seek = f"($event.offsetX / $event.currentTarget.clientWidth - {LEFT}) / {RIGHT - LEFT}"
                    with html.Div(
                        style="position: relative; cursor: pointer",
                        click=f"index = Math.round({last} * Math.min(1, Math.max(0, {seek})))",
                    ):
                        html.Img(src=("picture",), style="width: 100%; display: block")
                        html.Div(
                            style=(
                                "`position: absolute; top: 4%; bottom: 14%; width: 2px; background: #d98032; "
                                "pointer-events: none; left: ${100 * place}%`",
                            )
                        )
                with html.Div(style="flex: 1; min-width: 0; height: 100%"):
                    view = vtk.VtkRemoteView(self.plotter.render_window, interactive_ratio=1)
                    control.view_update = view.update

    def serve(self, port: int = 8080, browser: bool = True) -> None:
        """Serve the page on this machine until it is interrupted; `browser` opens it."""
        self.server.start(port=port, open_browser=browser, show_connection_info=True)
