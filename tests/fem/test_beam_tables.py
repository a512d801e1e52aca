"""Beams of section tables: beside beams of one section, closed forms of taper and coupling, offsets, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.errors import MaterialError
from fem.mesh.structured_meshes import line
from flexmb.bodies.dynamics import mass_matrix

STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
BOX = fem.Section.box(0.06, 0.1, 0.004)
E, G = 2.0e11, 2.0e11 / 2.6


def of_section(s=BOX, centre=(0.0, 0.0), shear_centre=None):
    """Stiffness and mass of a section of steel whose centroid is at `centre`."""
    K = fem.beam_stiffness(
        E * s.area,
        (s.shear_y * G * s.area, s.shear_z * G * s.area),
        G * s.J,
        (E * s.Iy, E * s.Iz),
        centre,
        centre if shear_centre is None else shear_centre,
    )
    return K, fem.beam_mass(7800 * s.area, (7800 * s.Iy, 7800 * s.Iz), centre)


def table(matrices, **values):
    values = {"positions": (0.0, 1.0), "y_axis": (0.0, 1.0, 0.0)} | values
    K, M = (np.array([pair[k] for pair in matrices]) for k in (0, 1))
    return fem.BeamTable(stiffness=K, mass=M, **values)


def bent_line():
    """Three beams that are not in one line, along x."""
    mesh = line((0, 0, 0), (1.0, 0, 0), 3)
    points = mesh.points + np.array([0, 1.0, 0.3]) * (0.2 * mesh.points[:, :1] ** 2)
    return fem.Mesh(points, mesh.cells, node_sets=mesh.node_sets, cell_sets=mesh.cell_sets)


def test_the_mass_of_a_section_is_that_of_its_points():
    rng = np.random.default_rng(3)
    mass, places = rng.uniform(1, 2, 7), rng.standard_normal((7, 2))
    centre = mass @ places / mass.sum()
    (y, z), expected = (places - centre).T, np.zeros((6, 6))
    for m, (p, q) in zip(mass, places, strict=True):
        moved = np.hstack([np.eye(3), [[0, q, -p], [-q, 0, 0], [p, 0, 0]]])
        expected += m * moved.T @ moved
    found = fem.beam_mass(float(mass.sum()), [mass @ z**2, mass @ y**2], centre.tolist(), float(mass @ (y * z)))
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.02, -0.03)])
def test_a_table_of_one_section_is_a_beam_of_it(offset):
    mesh, rng = bent_line(), np.random.default_rng(0)
    beam = fem.Model(mesh, fem.Beam(STEEL, BOX, y_axis=(0, 1.0, 0), offset=offset))
    same = fem.Model(mesh, table([of_section(centre=offset)] * 2))
    assert abs(beam.K - same.K).max() < 1e-10 * abs(beam.K).max()
    assert abs(beam.M - same.M).max() < 1e-10 * abs(beam.M).max()
    u, v = rng.standard_normal((2, beam.ndof))
    a, b = beam.geometric_stiffness(u), same.geometric_stiffness(u)
    assert abs(a - b).max() < 1e-9 * abs(a).max()
    loads = beam.moment_loads()
    np.testing.assert_allclose(same.moment_loads(), loads, rtol=1e-9, atol=1e-9 * np.abs(loads).max())
    R = same.rigid_body_modes(mesh.points.mean(axis=0))
    assert np.abs(same.K @ R).max() < 1e-9 * abs(same.K).max()
    np.testing.assert_allclose(same.inertia(), beam.inertia(), rtol=1e-9, atol=1e-9)
    work = v @ same.geometric_stiffness(u) @ v
    assert same.projected_geometric_stiffness(u[:, None], v[:, None])[0, 0, 0] == pytest.approx(work, rel=1e-9)


def tip(model, load):
    """Motion of the last node, of which the first is held, under a load (6,)."""
    n = len(model.points)
    dofs = [*(3 * (n - 1) + np.arange(3)), *(3 * n + 3 * (n - 1) + np.arange(3))]
    held = [*range(3), *(3 * n + np.arange(3))]
    free = np.setdiff1d(np.arange(model.ndof), held)
    f = np.zeros(model.ndof)
    f[dofs] = load
    u = np.zeros(model.ndof)
    u[free] = np.linalg.solve(model.K.toarray()[np.ix_(free, free)], f[free])
    return u[dofs]


def test_taper_in_one_cell_has_the_closed_form():
    """EI from 3 to 1 along a beam of length one under a force at its tip: int x^2 / (1 + 2 x) dx = ln(3) / 8."""
    K, M = np.diag([1e9, 1e12, 1e12, 1.0, 1.0, 1.0]), np.eye(6)
    tapered = K.copy()
    tapered[4, 4] = tapered[5, 5] = 3.0
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 1), table([(tapered, M), (K, M)]))
    assert tip(model, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(np.log(3) / 8, rel=1e-4)


@pytest.mark.parametrize("ratio", [1e-4, 30.0, 1e5])
def test_strong_taper_in_one_cell(ratio):
    """EI from `ratio` to 1 under a force at the tip: int x^2 / (1 + a x) dx, a = ratio - 1, over an infinite GA."""
    K, M, a = np.diag([1e9, 1e16, 1e16, 1.0, 1.0, 1.0]), np.eye(6), ratio - 1
    tapered = K.copy()
    tapered[4, 4] = tapered[5, 5] = ratio
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 1), table([(tapered, M), (K, M)]))
    expected = 1 / (2 * a) - 1 / a**2 + np.log(ratio) / a**3
    assert tip(model, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("turned", [False, True])
def test_a_step_inside_a_cell(turned):
    """EI of 50, and of 1 from 0.37 on, over a thousandth of a millionth; the nodes run either way."""
    K, M, place = np.diag([1e9, 1e16, 1e16, 1.0, 1.0, 1.0]), np.eye(6), 0.37
    stiff = K.copy()
    stiff[4, 4] = stiff[5, 5] = 50.0
    stations = (0.0, place - 5e-10, place + 5e-10, 1.0)
    beam = table([(stiff, 2 * M)] * 2 + [(K, M)] * 2, positions=stations)
    ends = ((1, 0, 0), (0, 0, 0)) if turned else ((0, 0, 0), (1, 0, 0))
    model = fem.Model(line(*ends, 1), beam)
    assert model.mass == pytest.approx(1 + place, rel=1e-8)
    if turned:
        expected = place**3 / 3 / 50 + (1 - place**3) / 3
    else:
        expected = (1 - (1 - place) ** 3) / 3 / 50 + (1 - place) ** 3 / 3
    assert tip(model, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(expected, rel=1e-7)


def test_one_cell_over_many_stations_is_their_static_condensation():
    """Coupled sections that vary and turn at uneven stations: the matrices of one cell are those of cells
    between the stations that follow its ends statically."""
    rng = np.random.default_rng(3)
    places = np.array([0.0, 0.11, 0.15, 0.48, 0.8, 1.3])
    pairs = []
    for _ in places:
        A, (m, a, b, y, z) = rng.normal(size=(6, 6)), rng.uniform(0.3, 1.0, size=5)
        K = A @ A.T + 3 * np.eye(6)
        pairs.append((K * np.exp(2 * rng.normal()), fem.beam_mass(m, (a, b), (y, z))))
    angles = np.deg2rad([0.0, 10, 15, 60, 80, 130])
    y = np.column_stack([0 * angles, np.cos(angles), np.sin(angles)])
    beam = table(pairs, positions=places, y_axis=y)
    one = fem.Model(line((0, 0, 0), (1.3, 0, 0), 1), beam)
    points = np.column_stack([places, 0 * places, 0 * places])
    rows = np.column_stack([np.arange(5), np.arange(1, 6)])
    many = fem.Model(fem.Mesh(points, (fem.CellBlock("line", rows),)), beam)
    d = many.dof_map
    ends = np.r_[d.translations([0, 5]).ravel(), d.rotations([0, 5]).ravel()]
    inner = np.setdiff1d(np.arange(many.ndof), ends)
    K = many.K.toarray()
    V = np.zeros((many.ndof, 12))
    V[ends] = np.eye(12)
    V[inner] = -np.linalg.solve(K[np.ix_(inner, inner)], K[np.ix_(inner, ends)])
    u = rng.normal(size=12)
    stressed = one.geometric_stiffness(u), many.geometric_stiffness(V @ u)
    for small, large, tolerance in ((one.K, many.K, 1e-7), (one.M, many.M, 1e-6), (*stressed, 1e-6)):
        found, expected = small.toarray(), V.T @ large.toarray() @ V
        scale = np.sqrt(np.abs(np.diag(expected)).max()) * np.ones(12)
        np.testing.assert_allclose(found / scale[:, None] / scale, expected / scale[:, None] / scale, atol=tolerance)


def test_cells_may_run_against_the_table():
    """The order of the nodes of a cell does not mirror its sections: matrices, stresses and moments are the same."""
    mesh, rng = bent_line(), np.random.default_rng(1)
    A = rng.normal(size=(6, 6))
    pairs = [(s * (A @ A.T + 3 * np.eye(6)), fem.beam_mass(s, (0.4, 0.3), (0.1, 0.2 * s))) for s in (1.0, 1.5)]
    one = fem.Model(mesh, table(pairs))
    rows = mesh.cells[0].connectivity.copy()
    rows[1] = rows[1, ::-1]
    back = fem.Model(fem.Mesh(mesh.points, (fem.CellBlock("line", rows),)), table(pairs))
    u = rng.normal(size=one.ndof)
    for a, b in ((one.K, back.K), (one.M, back.M), (one.geometric_stiffness(u), back.geometric_stiffness(u))):
        assert abs(a - b).max() < 1e-7 * abs(a).max()
    np.testing.assert_allclose(one.moment_loads(), back.moment_loads(), atol=1e-9)
    drawn = fem.Section(1.0, 1.0, 1.0, 1.0, outline=((0.5, 0.0), (0.0, 0.4), (-0.2, 0.0)), fibres=((0.1, 0.3),))
    models = [
        fem.Model(m, replace(table(pairs), section=drawn, moduli=(2.0, 1.0))) for m in (one.elements.mesh, back.mesh)
    ]
    places, stresses = zip(*(m.stresses(u[:, None])[1:] for m in models), strict=True)
    order = [np.lexsort(np.round(x, 9).T) for x in places]
    for found in (places, stresses):
        np.testing.assert_allclose(found[0][order[0]], found[1][order[1]], atol=1e-9 * np.abs(stresses[0]).max())
    surfaces = [m.beam_surfaces(u[:, None])[0] for m in models]
    np.testing.assert_allclose(*(np.sort(np.round(s.points @ [1.0, 2.0, 4.0], 9)) for s in surfaces), atol=1e-8)


def test_bend_and_twist_are_coupled():
    """A tip moment about y: the twist of a section with K_45 follows from its compliance, in one cell or many."""
    K = np.diag([1e6, 1e6, 1e6, 2.0, 3.0, 4.0])
    K[3, 4] = K[4, 3] = 1.1
    compliance = np.linalg.inv(K)
    for n in (1, 4):
        model = fem.Model(line((0, 0, 0), (2, 0, 0), n), table([(K, np.eye(6))] * 2, positions=(0.0, 2.0)))
        np.testing.assert_allclose(tip(model, [0, 0, 0, 0, 1, 0])[3:], 2 * compliance[3:, 4], rtol=1e-9, atol=1e-12)


def test_a_force_beside_the_shear_centre_twists():
    """A force along z at the nodes, whose shear centre is at y = p, is a torque -p."""
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 2), table([of_section(shear_centre=(0.05, 0.0))] * 2))
    assert tip(model, [0, 0, 1, 0, 0, 0])[3] == pytest.approx(-0.05 / (G * BOX.J), rel=1e-9)


def test_twist_of_sections_follows_the_stations():
    """A strip that turns by 90 degrees along the beam: the mean of both stiffnesses up to the rate of the rotation."""
    angles = np.deg2rad(np.linspace(0, 90, 19))
    y = np.column_stack([0 * angles, np.cos(angles), np.sin(angles)])
    K, M = np.diag([1e9, 1e9, 1e9, 1.0, 1.0, 9.0]), np.eye(6)
    twisted = table([(K, M)] * 19, positions=np.linspace(0, 1, 19), y_axis=y)
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 30), twisted)
    x = (np.arange(2000) + 0.5) / 2000
    c, s = np.cos(np.pi / 2 * x), np.sin(np.pi / 2 * x)
    yy = ((c**2 / 9 + s**2) * (1 - x) ** 2).mean()
    assert tip(model, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(yy, rel=2e-3)


def test_a_section_that_turns_by_ninety_degrees_inside_a_cell():
    """Between two stations the y axis turns by arctan(x / (1 - x)): the compliance of the tip is the integral of that
    of the turned sections, also where no stiffness changes in their own axes."""
    K, M = np.diag([1e9, 1e9, 1e9, 1.0, 1.0, 9.0]), np.eye(6)
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 1), table([(K, M)] * 2, y_axis=[(0, 1, 0), (0, 0, 1)]))
    xi, w = np.polynomial.legendre.leggauss(60)
    x, w = (xi + 1) / 2, w / 2
    c, s = np.array([1 - x, x]) / np.hypot(1 - x, x)
    along_y, along_z = c**2 / 9 + s**2, c**2 + s**2 / 9
    assert tip(model, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(w @ (along_y * (1 - x) ** 2), rel=1e-6)
    assert tip(model, [0, 0, 1, 0, 0, 0])[2] == pytest.approx(w @ (along_z * (1 - x) ** 2), rel=1e-6)


@pytest.mark.parametrize("kind", ["table", "beam"])
def test_mass_beside_the_nodes_turns_as_a_rigid_body_to_second_order(kind):
    """A point at c from the line moves by theta x (theta x c) / 2 beside theta x c; X is the place of the mass."""
    centre = (0.02, 0.05)
    section = table([of_section(centre=centre)] * 2, positions=(1.0, 3.0))
    if kind == "beam":
        section = fem.Beam(STEEL, BOX, y_axis=(0, 1, 0), offset=centre)
    model = fem.Model(line((1, 0, 0), (3, 0, 0), 2), section)
    c, e = np.array([0.0, *centre]), np.eye(3)
    expected = (np.einsum("ib,j->bij", e, c) + np.einsum("jb,i->bij", e, c)) / 2 - c[:, None, None] * e
    first, moments = model.second_moments(model.rigid_body_modes()[:, 3:])
    np.testing.assert_allclose(first, model.mass * expected, rtol=1e-9, atol=1e-12 * model.mass)
    place = np.array([2.0, *centre])
    np.testing.assert_allclose(
        moments, model.mass * place[:, None, None, None] * expected, rtol=1e-9, atol=1e-12 * model.mass
    )


def test_integrals_of_a_body_are_those_of_its_mass_matrix():
    """A mass centre beside the nodes."""
    mesh = bent_line()
    model = fem.Model(mesh, table([of_section(), of_section(centre=(0.02, 0.05))])).with_interfaces(root="start")
    basis = reduction.craig_bampton(model, modes=4, reference_frame="root")
    body = flexmb.flexible_body(model, basis, geometric_stiffness="second-order")
    whole = np.column_stack([model.rigid_body_modes(), basis.Psi])
    expected = whole.T @ model.M.toarray() @ whole
    np.testing.assert_allclose(mass_matrix(body, np.zeros(4)), expected, atol=1e-9 * np.abs(expected).max())


def test_refusals():
    K, M = of_section()
    with pytest.raises(MaterialError, match="y_axis must be finite and not zero"):
        table([(K, M)] * 2, y_axis=(0.0, np.nan, 0.0))
    with pytest.raises(MaterialError, match=r"more than 90 degrees from station 0 \(position 0\) to the next"):
        table([(K, M)] * 2, y_axis=((0, 1.0, 0), (0, -1.0, 0.1)))
    for i, j in ((0, 0), (0, 3), (1, 2)):  # another mass along x, a first moment of no place
        heavier = M.copy()
        heavier[i, j] = heavier[j, i] = heavier[i, j] + 0.1 * np.sqrt(M[i, i] * M[j, j])
        with pytest.raises(MaterialError, match=r"station 1 .* is that of no body"):
            table([(K, M), (K, heavier)])
    with pytest.raises(MaterialError, match="rising positions"):
        table([(K, M)] * 2, positions=(1.0, 0.0))
    with pytest.raises(MaterialError, match=r"station 1 .* not symmetric and positive definite"):
        table([(K, M), (K - 2 * np.diag(np.diag(K)), M)])
    with pytest.raises(MaterialError, match="its stations are from 0 to 1"):
        fem.Model(line((0, 0, 0), (2, 0, 0), 1), table([(K, M)] * 2)).K  # noqa: B018
    with pytest.raises(fem.MeshError, match="give another y_axis"):
        fem.Model(line((0, 0, 0), (1, 0, 0), 1), table([(K, M)] * 2, y_axis=(1.0, 0, 0))).K  # noqa: B018


@pytest.mark.parametrize("own", [True, False])
def test_stresses_are_those_of_the_beam_of_the_section(own):
    """A section that is turned, beside the nodes and its shear centre; without one, a rectangle of the stiffness."""
    angle = 25.0 if own else 0.0
    s = fem.Section(2e-3, 3e-7, 4e-6, 9e-7, 0.8, 0.5, angle=angle, shear_centre=(0.015, 0.02))
    c, d, offset = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)), np.array([0.03, -0.02])
    R = np.array([[c, -d], [d, c]])
    K = fem.beam_stiffness(
        E * s.area,
        (0.8 * G * s.area, 0.5 * G * s.area),
        G * s.J,
        (E * s.Iy, E * s.Iz),
        offset.tolist(),
        (offset + R @ s.shear_centre).tolist(),
        angle,
    )
    given = table([(K, of_section(s, offset.tolist())[1])] * 2, moduli=(E, G), section=s if own else None)
    mesh = line((0, 0, 0), (1.0, 0, 0), 2)
    beam, same = (fem.Model(mesh, what).with_interfaces(root="start", tip="end") for what in (
        fem.Beam(STEEL, s, y_axis=(0, 1, 0), offset=tuple(offset)), given))  # fmt: skip
    load = fem.interface_load(beam, "tip", force=(100.0, -200.0, 300.0), moment=(500.0, 20.0, 70.0))
    a, b = (fem.solve_static(model, load, ["root"]) for model in (beam, same))
    ends = np.isclose(b.stresses[1][:, 0] % 0.5, 0.0)  # tables have places between them too
    assert b.von_mises.max() == pytest.approx(a.von_mises.max(), rel=1e-6 if own else 1e-3)
    assert b.von_mises[ends].max() == b.von_mises.max()
    (p,), (q,) = (model.beam_surfaces(result.q[:, None]) for model, result in ((beam, a), (same, b)))
    np.testing.assert_allclose(q.points, p.points, atol=1e-9)
    np.testing.assert_allclose(q.displacements, p.displacements, rtol=1e-4, atol=1e-7)
    assert np.abs(q.stresses - p.stresses).max() < 1e-3 * np.abs(p.stresses).max()


def test_stresses_of_sections_that_vary_are_named():
    """They are those at the fibres of the mean section."""
    thin, thick = (of_section(fem.Section.rectangle(0.05, h)) for h in (0.05, 0.1))
    mesh = line((0, 0, 0), (1.0, 0, 0), 2)
    model = fem.Model(mesh, table([thick, thin], moduli=(E, G))).with_interfaces(root="start")
    with pytest.warns(fem.MeshWarning, match=r"vary along the beam \(radii of gyration from 0.01443 to 0.02887\)"):
        model.stresses(np.zeros((model.ndof, 1)))


ANGLE = np.array([(0, 0), (0.06, 0), (0.06, 0.005), (0.005, 0.005), (0.005, 0.04), (0, 0.04)])


def modes_of(section_of, cells=16):
    part = fem.Model(line((0, 0, 0), (1.0, 0, 0), cells), section_of).with_interfaces(root="start", tip="end")
    return fem.natural_modes(part, 6, ["root"]).frequencies


@pytest.mark.parametrize("drawn_at_origin", [False, True])
def test_a_table_of_equal_sections_is_the_beam_of_that_section(drawn_at_origin):
    """An angle: principal axes turned, shear centre aside, nodes at the centroid or at the origin of the drawing."""
    pytest.importorskip("gmsh")
    angle = fem.drawn_section(ANGLE)
    beside = angle.drawn_centroid if drawn_at_origin else (0.0, 0.0)
    same = fem.BeamTable.of_sections(STEEL, [0, 0.3, 1], [angle] * 3, y_axis=(0, 1, 0), centroids=beside)
    beam = fem.Beam(STEEL, angle, y_axis=(0, 1, 0), offset=beside)
    np.testing.assert_allclose(modes_of(same), modes_of(beam), rtol=1e-7)
    tables, beams = (fem.Model(line((0, 0, 0), (1.0, 0, 0), 4), m) for m in (same, beam))
    np.testing.assert_allclose(tables.inertia(), beams.inertia(), rtol=1e-9, atol=1e-9)


def test_a_tapered_beam_of_drawn_sections_has_its_closed_form():
    """A square bar that tapers to half its size: the deflection of its tip is F L^3 / (3 E I0) times the ratio of sizes
    (no shear), here by integration; two stations are far off, and say so."""
    pytest.importorskip("gmsh")
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]) * 0.02
    root = 2.0e11 * 0.02**4 / 12

    def tip(stations):
        sections = [fem.drawn_section((1 - 0.5 * s) * square) for s in stations]
        table = fem.BeamTable.of_sections(STEEL, stations, sections, y_axis=(0, 1, 0))
        part = fem.Model(line((0, 0, 0), (1.0, 0, 0), 4), table).with_interfaces(root="start", tip="end")
        load = fem.interface_load(part, "tip", force=(0, 0, 1.0))
        return fem.solve_static(part, load, ["root"]).motion("tip")[2]

    exact = 1 / (3 * root) / 0.5
    assert tip(np.linspace(0, 1, 11)) == pytest.approx(exact, rel=5e-3)
    assert tip(np.linspace(0, 1, 41)) == pytest.approx(exact, rel=1e-3)
    with pytest.warns(fem.MeshWarning, match=r"changes 16-fold between the stations at 0 and 1.*some 7 in all"):
        assert tip(np.array([0.0, 1.0])) < 0.8 * exact


def test_sections_of_a_table_are_counted():
    square = fem.Section.rectangle(0.02, 0.02)
    for sections in ([], [square]):
        with pytest.raises(MaterialError, match=f"each of 2 positions.*found {len(sections)} sections"):
            fem.BeamTable.of_sections(STEEL, [0, 1], sections, y_axis=(0, 1, 0))


def test_strains_of_a_table_without_a_section_are_those_of_the_stiffness_at_each_place():
    """A blade a tenth as thick at its tip as at its root, bent by a moment: the strain is that of a rectangle with the
    local radius of gyration about the local centroid. It was that of the mean one, many times too large at the tip."""
    places, moment = np.linspace(0.0, 10.0, 101), 2.0
    thickness = 1.0 - 0.09 * places
    axial, lever = 1e6 * thickness, 0.3 * thickness
    bending = axial * thickness**2 / 12
    stiffness = [
        fem.beam_stiffness(a, (a, a), b, (b, 9 * b), centroid=(0.0, z))
        for a, b, z in zip(axial, bending, lever, strict=True)
    ]
    masses = [fem.beam_mass(1.0, (0.1, 0.1))] * len(places)
    table = fem.BeamTable(places, np.array(stiffness), np.array(masses), (0.0, 1.0, 0.0))
    blade = fem.Model(line((0, 0, 0), (10.0, 0, 0), 20), table).with_interfaces(root="start", tip="end")
    bent = fem.solve_static(blade, fem.interface_load(blade, "tip", moment=(0, moment, 0)), supports=["root"])
    beams = list(blade.gradients(bent.q[:, None]))[-1]
    x, strain = beams[0], beams[1][:, 0, 0, 0]
    at = np.interp(x[:, 0], places, thickness)
    np.testing.assert_allclose(np.abs(x[:, 2] - 0.3 * at), at / 2, rtol=1e-2)
    np.testing.assert_allclose(np.abs(strain), moment * 6 / (1e6 * at**2), rtol=2e-2)
