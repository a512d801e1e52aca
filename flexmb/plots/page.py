"""One page that shows a motion in 3D beside its plots: no server, no network, nothing to install."""

import base64
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from flexmb.errors import PictureError
from flexmb.files.results.gltf_file import gltf_image
from flexmb.files.storage.tree import write_whole
from flexmb.plots.curves import LEFT, PLAYBACK, RIGHT, curve_picture, curves
from flexmb.results.result import Result


def write_page(
    result: Result,
    path: str | Path,
    *,
    speed: float | None = None,
    frames: int = 240,
    max_targets: int | None = None,
    magnification: float = 1.0,
) -> Path:
    """Write a motion as one HTML page with its plots, which show the time and take it by a click; return the path.

    The page holds the motion as glTF (see `write_gltf` for the options) and the viewer, three.js (MIT licence, 0.7 MB).
    `speed`: units of time of the model in a second of the playback; by default the motion takes 8 s.

    Raises `PictureError` when the path does not end in `.html`, `FileError` for options outside their range and when
    the page cannot be written, and `GltfWarning` as `write_gltf`.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise PictureError(f"A page is written as .html; found {path.name!r}.")
    span = float(result.t[-1] - result.t[0])
    pace = speed if speed is not None else (span / PLAYBACK or 1.0)
    size = max(result.mechanism.length, np.finfo(float).tiny)
    written, image = gltf_image(result, path, 1 / size, pace, frames, max_targets, magnification)
    units = result.mechanism.units
    facts = {"left": LEFT, "right": RIGHT, "start": float(result.t[0]), "end": float(result.t[-1])}
    enlarged = f", deformation x {magnification:g}" if magnification != 1 else ""
    left = max(written.error.values(), default=0.0)
    missing = f", {100 * left:.2g} % of the deformation left out" if left else ""
    parts = files("flexmb.plots") / "page_parts"
    text = Template((parts / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(result.mechanism.name),
        subtitle=f"{pace:.3g} units of time in a second{enlarged}{missing}",
        plots="".join(_figure(name, curve_picture(result.t, lines, units)) for name, lines in curves(result).items()),
        facts=json.dumps(facts),
        motion=base64.b64encode(image).decode(),
        viewer=(parts / "page.bundle.js").read_text(encoding="utf-8"),
    )
    return write_whole(path, "HTML", text.encode())


def _figure(name: str, picture: str) -> str:
    plot = f'<div class="plot"><img src="{picture}" alt="{escape(name)} over time"><div class="now"></div></div>'
    return f"<figure><figcaption>{escape(name)}</figcaption>{plot}</figure>"
