"""Pictures one after the other as a file that plays: GIF, WebP, MP4, or a page."""

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from fem.user_files import written_whole
from flexmb.errors import PictureError

ENDINGS = (".gif", ".webp", ".mp4", ".html")
COLOURS = 256
"""Number of colours of a GIF."""
THREADS = 2
"""Number of threads that reduce the pictures of a GIF to its colours."""
SEEN = 12
"""Number of pictures from which the colours of a GIF are taken."""


def require_writable(path: Path) -> None:
    """Raise `PictureError`, before pictures are drawn, when `write_animation` has no format for the path."""
    if path.suffix not in ENDINGS:
        raise PictureError(f"An animation is written as {', '.join(ENDINGS)}; found {path.name!r}.")
    if path.suffix == ".mp4":
        try:
            import imageio_ffmpeg

            imageio_ffmpeg.get_ffmpeg_exe()
        except (ImportError, RuntimeError) as error:
            raise PictureError(
                f"{path.name}: an animation as .mp4 needs ffmpeg: pip install imageio-ffmpeg ({error}). Animations as "
                ".gif, .webp and .html do not need it."
            ) from None


def write_animation(images: Sequence[np.ndarray], path: Path, frames_per_second: int) -> Path:
    """Write pictures (height, width, 3) of bytes in the format of the ending of the path; return the path.

    Raises `PictureError` when there is no such format, or the file cannot be written.
    """
    require_writable(path)
    write = {".gif": _gif, ".webp": _webp, ".mp4": _mp4, ".html": _page}[path.suffix]
    try:
        with written_whole(path, path.suffix) as part:
            write([np.ascontiguousarray(image[..., :3]) for image in images], part, frames_per_second)
    except OSError as error:
        raise PictureError(f"The animation cannot be written to {path}: {error}.") from error
    return path


def _gif(images: list[np.ndarray], path: Path, frames_per_second: int) -> None:
    palette = _palette(images)
    with ThreadPoolExecutor(THREADS) as threads:  # Pillow releases the lock of the interpreter while it computes
        frames = list(threads.map(lambda image: Image.fromarray(image).quantize(palette=palette), images))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(1000 / frames_per_second), loop=0)


def _palette(images: list[np.ndarray]) -> Image.Image:
    """The colours of all pictures together, so that none of them changes its colours from one to the next.

    A colour counts by the root of its number of pixels: large even areas leave colours to small shaded ones.
    """
    chosen = np.unique(np.linspace(0, len(images) - 1, SEEN).round().astype(int))
    seen = np.concatenate([images[k][::2, ::2].reshape(-1, 3) for k in chosen])
    codes, counts = np.unique(seen @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    colours = (codes[:, None] >> np.array([16, 8, 0]) & 255).astype(np.uint8)
    repeated = np.repeat(colours, np.sqrt(counts).round().astype(int), axis=0)
    return Image.fromarray(repeated[None]).quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2)


def _webp(images: list[np.ndarray], path: Path, frames_per_second: int) -> None:
    frames = [Image.fromarray(image) for image in images]
    duration = round(1000 / frames_per_second)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=duration, loop=0, quality=75, method=4)


def _mp4(images: list[np.ndarray], path: Path, frames_per_second: int) -> None:
    import imageio_ffmpeg

    height, width = images[0].shape[:2]
    path.write_bytes(b"")  # ffmpeg tells its output, not its caller, of a path that it cannot write
    film = imageio_ffmpeg.write_frames(
        str(path), (width, height), fps=frames_per_second, quality=8, macro_block_size=2, ffmpeg_log_level="error"
    )
    film.send(None)
    for image in images:
        film.send(image)
    film.close()


def _page(images: list[np.ndarray], path: Path, frames_per_second: int) -> None:
    """One self-contained HTML page that plays JPEG frames, with a slider."""
    frames = ",".join(f'"{_jpeg(image)}"' for image in images)
    path.write_text(
        "<!doctype html><meta charset='utf-8'><title>flexmb</title>"
        "<body style='margin:0;font-family:sans-serif;text-align:center'>"
        "<img id='v' style='max-width:100%'><br><input id='s' type='range' min='0' value='0' style='width:80%'>"
        f"<script>const f=[{frames}];let k=0,held=false;"
        "const v=document.getElementById('v'),s=document.getElementById('s');"
        "s.max=f.length-1;s.oninput=()=>{held=true;k=+s.value;show()};s.onchange=()=>{held=false};"
        "function show(){v.src='data:image/jpeg;base64,'+f[k];s.value=k}"
        f"setInterval(()=>{{if(!held){{k=(k+1)%f.length;show()}}}},{1000 // frames_per_second});show()</script>",
        encoding="utf-8",
    )


def _jpeg(image: np.ndarray) -> str:
    picture = BytesIO()
    Image.fromarray(image).save(picture, format="jpeg", quality=85)
    return base64.b64encode(picture.getvalue()).decode()
