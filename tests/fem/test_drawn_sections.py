"""Sections of any drawn shape against closed forms, and beams with shear centres beside their centroids."""

import ctypes
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse.linalg as sl

import fem
import reduction
from fem.drawn_sections.draw import section_of_rectangles
from fem.errors import MaterialError, MeshError
from fem.meshing.polygon import mesh_of_polygon
from flexmb.files.models.material_keys import MaterialKeys, material_of

STEEL = fem.Material.steel(units="mm")  # sections are some millimetres wide
H, W, T = 100.0, 50.0, 2.0
CHANNEL = [(0, 0, T, H), (0, 0, W, T), (0, H - T, W, H)]


def quads(points, cells):
    return fem.Mesh(np.array(points, dtype=float), (fem.CellBlock("quad", np.array(cells)),))


def ring(a, b, n):
    """A polygon with the area of an ellipse, outside and inside it."""
    angles = 2 * np.pi * np.arange(n) / n
    bigger = np.sqrt(2 * np.pi / n / np.sin(2 * np.pi / n))
    return bigger * np.column_stack([a * np.cos(angles), b * np.sin(angles)])


def sheet_area(mesh):
    x = mesh.points[mesh.cells[0].connectivity[:, :3]]
    return np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum() / 2


def test_rectangles():
    for y, z in ((2.0, 1.0), (0.3, 3.0)):
        found, exact = section_of_rectangles([(0, 0, y, z)]), fem.Section.rectangle(y, z)
        for name in ("area", "Iy", "Iz", "J", "shear_y", "shear_z"):
            assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=2e-4), name
        assert found.drawn_centroid == pytest.approx((y / 2, z / 2))
        np.testing.assert_allclose(found.shear_centre, 0, atol=1e-9)


def test_boxes():
    """Twice as high as wide: walls across a force shear too, so that it is not only carried by the area of the webs."""
    drawn = section_of_rectangles([(0, 0, W, T), (0, H - T, W, H), (0, 0, T, H), (W - T, 0, W, H)])
    box = fem.Section.box(W, H, T)
    for name, close in (("area", 1e-9), ("Iy", 1e-6), ("Iz", 1e-6), ("J", 0.02), ("shear_y", 0.03), ("shear_z", 0.03)):
        assert getattr(box, name) == pytest.approx(getattr(drawn, name), rel=close), name


def test_ellipse_and_tube():
    pytest.importorskip("gmsh")
    a, b = 2.0, 1.0
    found = fem.drawn_section(ring(a, b, 90))
    assert pytest.approx(np.pi * a**3 * b**3 / (a * a + b * b), rel=2e-3) == found.J
    assert found.Iz == pytest.approx(np.pi * a**3 * b / 4, rel=2e-3)
    assert found.warping == pytest.approx(np.pi * a**3 * b**3 / 24 * ((a * a - b * b) / (a * a + b * b)) ** 2, rel=5e-3)
    found, exact = fem.drawn_section(ring(1, 1, 90), holes=[ring(0.9, 0.9, 90)]), fem.Section.tube(2.0, 1.8)
    for name in ("area", "Iy", "Iz", "J", "shear_y"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=3e-3), name


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="a signal of Unix")
def test_broken_pipes_do_not_end_a_process_that_has_drawn_a_section():
    """Gmsh gives SIGPIPE back its rule of the system; Python ignores it and raises `BrokenPipeError`."""
    pytest.importorskip("gmsh")
    disposition = ctypes.CDLL(None).signal
    disposition.restype, disposition.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    ignored = disposition(signal.SIGPIPE, int(signal.SIG_IGN)) or 0
    with ThreadPoolExecutor(1) as other:
        for draw in (fem.drawn_section, lambda outline: other.submit(fem.drawn_section, outline).result()):
            draw([(0, 0), (1, 0), (1, 1), (0, 1)])
            assert disposition(signal.SIGPIPE, ignored) == ignored == int(signal.SIG_IGN)


def test_thin_walled_sections():
    """Channel and I: J of open walls, shear centre, warping constant and shear factor of thin walls."""
    found = section_of_rectangles(CHANNEL)
    b, h = W - T / 2, H - T
    web = found.drawn_centroid[0] + found.shear_centre[0] - T / 2
    assert web == pytest.approx(-3 * b * b / (h + 6 * b), rel=5e-3)
    assert found.warping == pytest.approx(T * b**3 * h**2 / 12 * (2 * h + 3 * b) / (h + 6 * b), rel=1e-2)
    assert pytest.approx(T**3 * (2 * b + h) / 3, rel=1e-2) == found.J
    beam = section_of_rectangles([(-25, -50, 25, -48), (-25, 48, 25, 50), (-1, -50, 1, 50)])
    assert beam.shear_z == pytest.approx(T * h / beam.area, rel=0.05)
    assert beam.warping == pytest.approx(beam.Iz * h**2 / 4, rel=1e-2)
    np.testing.assert_allclose(beam.shear_centre, 0, atol=1e-6)


def largest_shear_of_torsion(section, length=200.0, offset=(0.0, 0.0)):
    """The largest shear stress of a cantilever under a unit torque at its end, and the places of all fibres."""
    model = fem.Model(
        fem.structured_meshes.line((0, 0, 0), (length, 0, 0), 1), fem.Beam(STEEL, section, (0, 1, 0), offset)
    )
    f, free = np.zeros(model.ndof), np.r_[3:6, 9:12]
    f[9] = 1.0
    u = np.zeros((model.ndof, 1))
    u[free, 0] = sl.spsolve(model.K[free][:, free].tocsc(), f[free])
    _, x, stress = model.stresses(u)
    return np.abs(stress[:, [0, 1, 2, 4]]).max(), np.linalg.norm(stress[:, [3, 5], 0], axis=1), x


@pytest.mark.parametrize(("ratio", "factor"), [(1.0, 0.208), (2.0, 0.246), (3.0, 0.267), (10.0, 0.312)])
def test_shear_stress_of_a_twisted_rectangle(ratio, factor):
    """T / (factor b t^2), in the middle of the longer side b, and none at corners (Timoshenko and Goodier, table of
    the torsion of rectangular bars)."""
    b, t = 2.0 * ratio, 2.0
    for section, loose in (
        (fem.Section.rectangle(b, t), 0.0),
        (fem.Section.rectangle(t, b), 0.0),
        (section_of_rectangles([(0, 0, b, t)]), 0.02),
    ):
        other, shear, x = largest_shear_of_torsion(section)
        assert shear.max() == pytest.approx(1 / (factor * b * t * t), rel=3e-3 + loose)
        corner = np.abs(x[:, 1] * x[:, 2]) > 0.9 * (b * t / 4)
        assert shear[corner].max() < 1e-9 * shear.max()
        assert other < 1e-9 * shear.max()


def test_shear_stress_of_twisted_thin_walls():
    """Open: T t / J in the middles of walls (beside the junction of web and flange, the wall is thicker). Closed:
    T / (2 A t). A shear centre aside adds none."""
    open_ = section_of_rectangles([(-25, -50, 25, -48), (-25, 48, 25, 50), (-1, -50, 1, 50)])
    _, shear, x = largest_shear_of_torsion(open_)
    web = (np.abs(x[:, 2]) < 1) & (np.abs(x[:, 1]) < 2)
    flange = np.abs(np.abs(x[:, 1]) - 13) < 0.1
    for middle in (web, flange):
        assert shear[middle] == pytest.approx(T / open_.J, rel=5e-3)
    assert shear.max() < 1.2 * T / open_.J
    channel = section_of_rectangles(CHANNEL)
    _, shear, x = largest_shear_of_torsion(channel)
    in_middle = np.abs(x[:, 2] + channel.drawn_centroid[1] - H / 2) < 1
    assert in_middle.any()
    assert shear[in_middle] == pytest.approx(T / channel.J, rel=5e-3)
    assert shear.max() < 1.3 * T / channel.J
    box = fem.Section.box(40.0, 60.0, 1.0)
    assert largest_shear_of_torsion(box)[0] < 1e-12
    np.testing.assert_allclose(largest_shear_of_torsion(box)[1], 1 / (2 * 39 * 59 * 1.0), rtol=1e-9)
    hollow = section_of_rectangles([(0, 0, 40, 1), (0, 59, 40, 60), (0, 0, 1, 60), (39, 0, 40, 60)])
    _, shear, _ = largest_shear_of_torsion(hollow)
    assert shear.max() == pytest.approx(1 / (2 * 39 * 59 * 1.0) + 1.0 / hollow.J, rel=3e-3)  # that of the wall itself
    tube = fem.Section.tube(40.0, 36.0)
    assert largest_shear_of_torsion(tube)[1] == pytest.approx(20.0 / tube.J, rel=1e-9)
    of_numbers = fem.Section(open_.area, open_.Iy, open_.Iz, open_.J)
    assert largest_shear_of_torsion(of_numbers)[1] == pytest.approx(T / open_.J, rel=0.02)


def test_shear_stress_of_a_twisted_ellipse():
    """2 T / (pi a b^2) at the ends of the shorter axis, and b / a of it at those of the longer one."""
    pytest.importorskip("gmsh")
    a, b = 2.0, 1.0
    _, shear, x = largest_shear_of_torsion(fem.drawn_section(ring(a, b, 90)))
    across, along = (np.argsort(np.abs(x[:, k]))[-4:] for k in (2, 1))
    assert shear[across] == pytest.approx(2 / (np.pi * a * b**2), rel=2e-2)
    assert shear[along] == pytest.approx(2 / (np.pi * a**2 * b), rel=2e-2)
    assert shear.max() < 1.03 * 2 / (np.pi * a * b**2)


def test_principal_axes_of_an_angle():
    """Turning the drawing turns the axes, and nothing else."""
    pytest.importorskip("gmsh")
    drawn = np.array([(0, 0), (60, 0), (60, 5), (5, 5), (5, 40), (0, 40)], dtype=float)
    found = fem.drawn_section(drawn)
    A1, A2 = 300.0, 175.0
    c = (A1 * np.array([30, 2.5]) + A2 * np.array([2.5, 22.5])) / (A1 + A2)
    np.testing.assert_allclose(found.drawn_centroid, c, rtol=1e-9)
    yy = 5 * 60**3 / 12 + A1 * (30 - c[0]) ** 2 + 35 * 5**3 / 12 + A2 * (2.5 - c[0]) ** 2
    zz = 60 * 5**3 / 12 + A1 * (2.5 - c[1]) ** 2 + 5 * 35**3 / 12 + A2 * (22.5 - c[1]) ** 2
    yz = A1 * (30 - c[0]) * (2.5 - c[1]) + A2 * (2.5 - c[0]) * (22.5 - c[1])
    exact = np.linalg.eigvalsh([[yy, yz], [yz, zz]])
    np.testing.assert_allclose(sorted([found.Iy, found.Iz]), exact, rtol=1e-9)
    shear = np.array(found.shear_centre)
    turn = np.deg2rad(found.angle)
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    assert np.abs(shear @ R + c - 2.5).max() < 0.15 * 5  # near the place where the middle lines of the legs meet
    thin = fem.drawn_section([(0, 0), (60, 0), (60, 1), (1, 1), (1, 40), (0, 40)], size=0.5)
    turn = np.deg2rad(thin.angle)
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    np.testing.assert_allclose(np.array(thin.shear_centre) @ R + thin.drawn_centroid, [0.5, 0.5], atol=0.1)
    s, k = np.sin(0.3), np.cos(0.3)
    turned = fem.drawn_section(drawn @ np.array([[k, s], [-s, k]]))
    assert turned.angle - found.angle == pytest.approx(np.rad2deg(0.3))
    for name in ("Iy", "Iz", "J", "shear_y", "shear_z", "warping"):
        assert getattr(turned, name) == pytest.approx(getattr(found, name), rel=3e-3), name


def test_a_mesh_seen_from_behind_is_the_same_section():
    """The outline of an angle with the warping and the shear strains of its points, whichever way its cells turn."""
    lines = np.array([0.0, 1.5, 3.0, 4.5, 6.0, 15.0, 30.0])
    points = np.stack(np.meshgrid(lines, lines, indexing="ij"), axis=-1).reshape(-1, 2)
    corner = np.array([7 * i + j for i in range(6) for j in range(6) if min(i, j) < 4])
    cells = corner[:, None] + np.array([0, 7, 8, 1])
    used, cells = np.unique(cells, return_inverse=True)
    points = np.column_stack([points[used], np.zeros(len(used))])
    ways = ([0, 1, 2, 3], [0, 3, 2, 1])
    front, behind = (fem.drawn_section(quads(points, cells.reshape(-1, 4)[:, way])) for way in ways)
    found = []
    for section in (front, behind):
        table = np.column_stack([section.outline, section.fibre_warping, section.fibre_shear])
        found.append(np.roll(table, -int(np.lexsort(np.round(table[:, :2].T, 6))[0]), axis=0))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9 * np.abs(found[0]).max())
    (y, z), (y1, z1) = found[0][:, :2].T, np.roll(found[0][:, :2], -1, axis=0).T
    assert (y @ z1 - z @ y1) / 2 == pytest.approx(front.area)
    for name in ("Iy", "Iz", "J", "angle", "warping", "shear_y", "shear_z", "shear_centre"):
        assert getattr(behind, name) == pytest.approx(getattr(front, name), rel=1e-9), name


def cantilever(section, y_axis=(0, 1, 0), length=1000.0, cells=4, **options):
    steel = fem.Material.steel("mm")
    beam = fem.Beam(steel, section, y_axis=y_axis, **options)
    return fem.Model(fem.structured_meshes.line((0, 0, 0), (length, 0, 0), cells), beam)


def test_a_load_beside_the_shear_centre_twists():
    """A channel loaded in its centroid turns by the moment about its shear centre; its legs bend it in its axes."""
    section = section_of_rectangles(CHANNEL)
    model = cantilever(section)
    n = len(model.points)
    f = np.zeros(model.ndof)
    f[3 * (n - 1) + 2] = 1.0
    free = np.setdiff1d(np.arange(model.ndof), [0, 1, 2, *range(3 * n, 3 * n + 3)])
    u = np.zeros(model.ndof)
    u[free] = sl.spsolve(model.K.tocsc()[np.ix_(free, free)], f[free])
    E, G = 2.1e5, 2.1e5 / 2.6
    twist = -section.shear_centre[0] * 1000.0 / (G * section.J)
    assert u[3 * n + 3 * (n - 1)] == pytest.approx(twist, rel=1e-9)
    bending = 1000.0**3 / (3 * E * section.Iy) + 1000.0 / (section.shear_z * G * section.area)
    assert u[3 * (n - 1) + 2] == pytest.approx(bending - twist * section.shear_centre[0], rel=1e-9)


def test_inertia_and_second_order_of_unsymmetric_sections():
    """Mass and inertia are those of the section, wherever it turns about; the stress part turns its own forces."""
    section = section_of_rectangles([(0, 0, 2, 60), (0, 0, 30, 2), (-20, 58, 2, 60)])
    assert abs(section.angle) > 5
    model = cantilever(section, offset=(3.0, -2.0))
    turn = np.deg2rad(section.angle)
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    second = R.T @ np.diag([section.Iz, section.Iy]) @ R  # int y y, y z; z z
    mass, inertia = 7.85e-9 * section.area * 1000, model.inertia()
    assert model.mass == pytest.approx(mass)
    np.testing.assert_allclose(model.centre_of_mass, [500, 3, -2], rtol=1e-9)
    assert inertia[0, 0] == pytest.approx(7.85e-6 * np.trace(second), rel=1e-9)
    assert inertia[1, 2] == pytest.approx(-7.85e-6 * second[0, 1], rel=1e-9)
    n = len(model.points)
    u = np.random.default_rng(3).normal(size=model.ndof) * 1e-3
    forces = (model.K @ u).reshape(-1, 3)
    f, m = forces[:n], forces[n:]
    S = model.geometric_stiffness(u)
    for a in np.eye(3):
        motion = np.concatenate([np.cross(a, model.points), np.tile(a, (n, 1))]).ravel()
        expected = np.concatenate([np.cross(a, f), np.cross(a, m) / 2]).ravel()
        assert np.abs(S @ motion - expected).max() < 1e-9 * np.abs(expected).max()
    assert len(reduction.modal(model, 4).frequencies) == 4


def test_pictures_show_sections_that_are_not_convex():
    """The ends have the area of the section, not that of its hull."""
    model = cantilever(section_of_rectangles(CHANNEL))
    surface = model.beam_surfaces(np.zeros((model.ndof, 1)))[0]
    x = surface.points[surface.triangles]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) / 2
    ends = np.abs(normal[:, 0]) > 0.99 * np.linalg.norm(normal, axis=1)
    assert np.abs(normal[ends, 0]).sum() == pytest.approx(2 * model.materials[0].section.area, rel=1e-6)
    assert np.einsum("tx,tx->", normal, x.mean(axis=1)) / 3 == pytest.approx(1000 * model.materials[0].section.area)


def test_what_is_no_section():
    for points, words in (
        ([(0, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 0)], "in the plane"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], "folded"),
    ):
        with pytest.raises(MeshError, match=words):
            fem.drawn_section(quads(points, [[0, 1, 2, 3]]))
    two = quads([(x, y, 0) for x in (0, 1, 2, 3) for y in (0, 1)], [[0, 2, 3, 1], [4, 6, 7, 5]])
    with pytest.raises(MeshError, match="2 pieces"):
        fem.drawn_section(two)
    with pytest.raises(MeshError, match="three or more"):
        fem.drawn_section([(0, 0), (1, 1)])
    with pytest.raises(MeshError, match="an area"):
        fem.drawn_section([(0, 0), (1, 0), (1, 1), (0, 1)], holes=[[(0, 0), (1, 0), (1, 1), (0, 1)]])
    with pytest.raises(MaterialError, match="positive length"):
        section_of_rectangles([(0, 0, 0, 1)])


def test_polygons_need_gmsh(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with pytest.raises(MeshError, match=r"pip install \"flexmb\[meshing\]\""):
        fem.drawn_section([(0, 0), (1, 0), (1, 1)])


def test_holes_outside_and_crossing_polygons_are_refused():
    pytest.importorskip("gmsh")
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    with pytest.raises(MeshError, match="cross"):
        fem.drawn_section(square, holes=[[(2, 2), (2.5, 2), (2.5, 2.5)]])
    with pytest.raises(MeshError, match="cross"):
        fem.drawn_section([(0, 0), (3, 0), (3, 2), (1, -1)])


def test_a_hole_in_a_hole_is_refused():
    pytest.importorskip("gmsh")
    square = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
    with pytest.raises(MeshError, match=r"Hole 0 .* in another hole"):
        fem.drawn_section(4 * square, holes=[1.5 + 0.5 * square, 1 + 2 * square])


def test_triangles_of_polygons_are_as_large_as_they_are_asked_to_be():
    """In any unit of length, and whichever way round the polygon goes; by default some lie across a thin wall."""
    pytest.importorskip("gmsh")
    strip = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.5)])
    counts = []
    for unit in (1.0, 1e3):
        for loop in (strip, strip[::-1]):
            mesh = mesh_of_polygon(unit * loop, (), 0.1 * unit)
            area = sheet_area(mesh)
            assert area == pytest.approx(0.5 * unit**2)
            counts.append(mesh.cell_count)
    assert max(counts) < 1.2 * min(counts)
    assert 0.5 / (0.1**2 * np.sqrt(3) / 4) == pytest.approx(counts[0], rel=0.25)


def test_model_files_draw_sections():
    pytest.importorskip("gmsh")
    constants = {"youngs_modulus": 2.1e11, "poissons_ratio": 0.3, "density": 7850.0}
    outer, inner = [[0, 0], [4, 0], [4, 2], [0, 2]], [[1, 0.5], [3, 0.5], [3, 1.5], [1, 1.5]]
    beam = material_of(MaterialKeys(**constants, section={"polygon": outer, "holes": [inner]}, y_axis=[0, 1, 0]))
    same = section_of_rectangles([(0, 0, 4, 0.5), (0, 1.5, 4, 2), (0, 0, 1, 2), (3, 0, 4, 2)])
    for name in ("area", "Iy", "Iz", "J"):
        assert getattr(beam.section, name) == pytest.approx(getattr(same, name), rel=2e-3)
    for wrong, words in (({"holes": [inner]}, "polygon"), ({"polygon": outer, "circle": 1.0}, "one of rectangle")):
        with pytest.raises(ValueError, match=words):
            MaterialKeys(**constants, section=wrong)
