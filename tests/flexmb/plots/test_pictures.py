"""Pictures of meshes and modes show everything, whole."""

import matplotlib.image
import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, sheet
from flexmb.errors import PictureError
from flexmb.plots import pictures
from flexmb.plots.pictures import picture_mesh, picture_modes, picture_natural_modes, picture_result

STEEL = fem.Material.steel()


def corner():
    """Two sheets at a right angle, which fill the box around them."""
    base, wall = sheet("quad", (0.08, 0.06), (4, 3)), sheet("quad", (0.08, 0.06), (4, 3))
    points = np.vstack([base.points, wall.points[:, [0, 2, 1]]])
    cells = np.vstack([base.cells[0].connectivity, wall.cells[0].connectivity + len(base.points)])
    mesh = fem.merge_nodes(fem.Mesh(points, (fem.CellBlock("quad", cells),)))
    return fem.Model(mesh, fem.Shell(STEEL, 0.002))


@pytest.mark.parametrize("reduced", [True, False])
def test_modes_are_drawn_whole(reduced, tmp_path):
    part = corner().with_interfaces(root=fem.on_plane((0, 0, 0), (1, 0, 0)))
    if reduced:
        body = flexmb.flexible_body(part, reduction.craig_bampton(part, 3), name="corner")
        path = picture_modes(body, tmp_path / "modes.png", count=3)
    else:
        path = picture_natural_modes(fem.natural_modes(part, 10), tmp_path / "modes.png", count=3)
        with pytest.raises(PictureError, match="Ask for more"):
            picture_natural_modes(fem.natural_modes(part, 6), tmp_path / "none.png")
    pixels = matplotlib.image.imread(path)[:, :, :3]
    for panel in np.split(pixels, 3, axis=1):
        drawn = np.argwhere((panel < 0.98).any(axis=2))
        below = drawn[drawn[:, 0] > 0.08 * len(panel)]  # the caption
        assert below.min() > 3
        assert (below.max(axis=0) < np.array(panel.shape[:2]) - 3).all()
        assert np.ptp(below[:, 0]) > 0.7 * len(panel)


def has(pixels, red, green, blue):
    """Whether a hue is in a picture, whatever the light."""
    size = np.linalg.norm(pixels, axis=2)
    hue = pixels / np.maximum(size, 1e-9)[:, :, None]
    wanted = np.array([red, green, blue]) / np.linalg.norm([red, green, blue])
    return ((np.abs(hue - wanted).max(axis=2) < 0.05) & (size > 0.1)).sum() > 1000


@pytest.mark.parametrize("solid", [True, False])
def test_shells_are_drawn_with_their_sets_also_beside_solids(solid, tmp_path):
    cube, plate = block("hexahedron", (0.2, 0.2, 0.2), (2, 2, 2)), sheet("quad8", (0.5, 0.2), (5, 2))
    n = len(cube.points)
    blocks = (*cube.cells, fem.CellBlock("quad8", plate.cells[0].connectivity + n))
    first = 8 if solid else 0
    mesh = fem.Mesh(
        np.vstack([cube.points, plate.points + np.array([0.2, 0, 0.1])]),
        blocks if solid else blocks[1:],
        cell_sets={"left": np.arange(first, first + 5)},
    )
    mesh = mesh if solid else fem.drop_unused_nodes(mesh)
    pixels = matplotlib.image.imread(picture_mesh(mesh, tmp_path / "mesh.png"))[:, :, :3]
    assert has(pixels, 0xE0, 0x74, 0x1D)


def test_what_is_seen_from_behind_is_missed_in_no_picture(tmp_path, monkeypatch):
    """Backs of closed surfaces are left out; those of a shell, which is open, are not."""
    rod = fem.Model(block("tetra10", (0.5, 0.05, 0.03), (6, 1, 1)), STEEL).with_interfaces(root="x0", tip="x1")
    plate = fem.Model(sheet("quad", (0.4, 0.3), (4, 3)), fem.Shell(STEEL, 0.002)).with_interfaces(root="x0")
    system = flexmb.System(gravity=(0, 0, -9.81))
    for k, part in enumerate((rod, plate)):
        body = flexmb.flexible_body(part, reduction.craig_bampton(part, 2), name=f"body {k}")
        system.revolute(f"hinge {k}", system.ground, system.add(body)["root"], axis=(0, 1, 0))
    result = flexmb.simulate(system, 0.2, step=1e-3)

    def drawn():
        modes, moved = picture_modes(body, tmp_path / "modes.png", 2), picture_result(result, tmp_path / "moved.png")
        return [matplotlib.image.imread(path)[:, :, :3] for path in (modes, moved)]

    found, left_out = drawn(), []
    monkeypatch.setattr(pictures, "_show_front", lambda actor, closed: left_out.append(closed))
    expected = drawn()
    assert True in left_out
    for without, all_faces in zip(found, expected, strict=True):
        different = np.abs(without - all_faces).max(axis=2) > 0
        assert different.mean() < 1e-4, "pixels at silhouettes, where both faces are at the same depth"


def test_numbers_of_frames_and_modes_below_one_are_refused(tmp_path):
    """They ended in errors of NumPy and a division by zero."""
    part = corner().with_interfaces(root=fem.on_plane((0, 0, 0), (1, 0, 0)))
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 2), name="corner")
    system = flexmb.System()
    system.add(body)
    result = flexmb.simulate(system, 0.01, step=0.01)
    for wrong in (0, -3, 2.5, float("nan"), True, None):
        with pytest.raises(PictureError, match="number of modes to draw must be a whole number of at least 1; found"):
            picture_modes(body, tmp_path / "modes.png", wrong)
        with pytest.raises(PictureError, match=r"whole number of frames, .* at least 1 each; found"):
            pictures.animate(result, tmp_path / "run.gif", frames=wrong)
        with pytest.raises(PictureError, match=r"at least 1 each; found frames=2"):
            pictures.animate(result, tmp_path / "run.gif", frames=2, frames_per_second=wrong)


@pytest.mark.parametrize(("units", "told"), [(None, "cycles per unit of time"), ("mm-t-s", "Hz")])
def test_frequencies_of_drawn_modes_have_a_unit(units, told, tmp_path, monkeypatch):
    part = corner().with_interfaces(root=fem.on_plane((0, 0, 0), (1, 0, 0)))
    said = []
    monkeypatch.setattr(pictures.pv.Plotter, "add_text", lambda plotter, text, **options: said.append(text))
    picture_natural_modes(fem.natural_modes(part, 8), tmp_path / "modes.png", count=2, units=units)
    assert len(said) == 2
    assert all(text.endswith(f" {told}") for text in said)
