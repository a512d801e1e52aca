"""Animations: every format holds the pictures, the colours of GIFs are those of the pictures and stay from one to the
next, and what is missing is told."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageSequence

import flexmb
from flexmb.errors import PictureError
from flexmb.plots.animation import write_animation
from flexmb.plots.pictures import animate


@pytest.fixture(scope="module")
def images():
    """A shaded ball of a coloured scale that moves over a shaded ground."""
    y, x = np.mgrid[0:90, 0:160]
    ground = np.stack([255 - 0.3 * y, 250 - 0.2 * y, 255 - 0.1 * y], axis=-1)
    found = []
    for k in range(8):
        r2 = ((x - 30 - 12 * k) ** 2 + (y - 45) ** 2) / 900
        light = np.sqrt(np.maximum(1 - r2, 0))[..., None]
        ball = light * np.stack([40 + 1.4 * x, 200 - y, 255 - 1.5 * x], axis=-1)
        found.append(np.where(r2[..., None] < 1, ball, ground).clip(0, 255).astype(np.uint8))
    return found


def read(path):
    with Image.open(path) as film:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(film)]


@pytest.mark.parametrize(("ending", "error"), [("gif", 4.0), ("webp", 4.0)])
def test_pictures_keep_their_colours(images, tmp_path, ending, error):
    found = read(write_animation(images, tmp_path / f"ball.{ending}", 20))
    assert len(found) == len(images)
    for frame, image in zip(found, images, strict=True):
        smooth = [np.cumsum(np.cumsum(a.astype(float), 0), 1) for a in (frame, image)]
        blurred = [(s[8:, 8:] - s[:-8, 8:] - s[8:, :-8] + s[:-8, :-8]) / 64 for s in smooth]
        assert np.abs(blurred[0] - blurred[1]).mean() < error / 2, (
            "seen from afar, the colours are those of the picture"
        )
        assert np.abs(frame.astype(float) - image).mean() < error


def test_what_does_not_move_does_not_flicker(images, tmp_path):
    still = [np.concatenate([image, images[0]], axis=0) for image in images]
    found = np.array(read(write_animation(still, tmp_path / "ball.gif", 20)), dtype=float)
    assert np.ptp(found[:, 100:], axis=0).mean() < 4.0
    with Image.open(tmp_path / "ball.gif") as film:
        assert film.info["duration"] == 50


def test_what_does_not_move_has_the_same_colours_throughout(images, tmp_path):
    """All pictures have one palette. Errors of colours are passed on to the right and below, so that what is above the
    first change is the same in all pictures, to the bit, whatever comes into them below."""
    tinted = [np.concatenate([images[0], image // (1 + k)], axis=0) for k, image in enumerate(images)]
    found = np.array(read(write_animation(tinted, tmp_path / "ball.gif", 20)))[:, : len(images[0])]
    assert (found == found[0]).all()


def test_a_film_holds_the_pictures(images, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = write_animation(images, tmp_path / "ball.mp4", 20)
    words = [ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    found = np.frombuffer(subprocess.run(words, capture_output=True, check=True).stdout, np.uint8)
    found = found.reshape(-1, *images[0].shape)
    assert len(found) == len(images)
    assert np.abs(found[3].astype(float) - images[3]).mean() < 6


def test_what_is_missing_is_told(images, tmp_path, monkeypatch):
    with pytest.raises(PictureError, match=r"\.gif, \.webp, \.mp4, \.html; found 'ball.avi'"):
        write_animation(images, tmp_path / "ball.avi", 20)
    with pytest.raises(PictureError, match="cannot be written to"):
        write_animation(images, tmp_path / "nowhere" / "ball.gif", 20)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(PictureError, match="pip install imageio-ffmpeg"):
        write_animation(images, tmp_path / "ball.mp4", 20)
    assert not list(tmp_path.iterdir())


def test_every_frame_shows_its_time(tmp_path):
    """Equal pictures, one after the other, are one in a GIF."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 1, 0))
    fallen = flexmb.simulate(system, 0.5, step=1e-2)
    with Image.open(animate(fallen, tmp_path / "arm.gif", frames=4)) as film:
        assert film.n_frames == 4
