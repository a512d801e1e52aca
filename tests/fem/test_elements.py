"""Contract of every solid element, and of the matrices made of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import fem
from fem.elements import ELEMENTS
from fem.errors import MaterialError, MatrixError, MeshError, UnitWarning
from fem.material import SYSTEMS, Material, check_units
from fem.mesh.cell_quality import integrable
from fem.mesh.check import check_mesh, fix_orientation
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.structured_meshes import block, line
from fem.meshing.gmsh_program import gmsh_model
from fem.model import Model

KINDS = list(ELEMENTS)
QUADRATIC = ("tetra10", "hexahedron20", "wedge15", "pyramid13")
MATERIAL = Material.isotropic(200.0, 0.3, 2.0)


def inner_points(shape):
    return shape.mass_rule[0]


@pytest.mark.parametrize("kind", KINDS)
def test_shape_functions(kind):
    shape = ELEMENTS[kind]
    np.testing.assert_allclose(shape.shape(shape.coordinates), np.eye(shape.nodes), atol=1e-11)  # Kronecker delta
    xi = inner_points(shape)
    np.testing.assert_allclose(shape.shape(xi).sum(axis=1), 1.0, atol=1e-13)  # partition of unity
    np.testing.assert_allclose(shape.shape(xi) @ shape.coordinates, xi, atol=1e-13)  # linear completeness
    h = 1e-6
    numerical = np.stack([(shape.shape(xi + h * e) - shape.shape(xi - h * e)) / (2 * h) for e in np.eye(3)], axis=2)
    np.testing.assert_allclose(shape.gradient(xi), numerical, atol=1e-8)


@pytest.mark.parametrize("kind", QUADRATIC)
def test_quadratic_elements_hold_every_quadratic_field(kind):
    shape = ELEMENTS[kind]
    xi = inner_points(shape)
    for a in range(3):
        for b in range(3):
            field = shape.coordinates[:, a] * shape.coordinates[:, b]
            np.testing.assert_allclose(shape.shape(xi) @ field, xi[:, a] * xi[:, b], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_faces_have_outward_normals_and_their_mid_nodes(kind):
    shape = ELEMENTS[kind]
    for face in shape.faces:
        corners = [n for n in face if n < shape.corners]
        p = shape.coordinates[corners]
        normal = np.cross(p[1] - p[0], p[2] - p[0])
        assert normal @ (p.mean(axis=0) - shape.coordinates[: shape.corners].mean(axis=0)) > 0
        for k, mid in enumerate(face[len(corners) :]):
            np.testing.assert_allclose(shape.coordinates[mid], (p[k] + p[(k + 1) % len(p)]) / 2)
    for a, b, mid in shape.edges:
        np.testing.assert_allclose(shape.coordinates[mid], (shape.coordinates[a] + shape.coordinates[b]) / 2)


def distorted(kind, seed=0):
    """A block whose inner corners are moved; edges stay straight (mid nodes in the middle of their edges)."""
    mesh = block(kind, (1.0, 1.2, 0.8), (2, 2, 2))
    points = mesh.points.copy()
    inner = ((points > 1e-9) & (points < np.array([1.0, 1.2, 0.8]) - 1e-9)).all(axis=1)
    points[inner] += 0.08 * np.random.default_rng(seed).uniform(-1, 1, (inner.sum(), 3))
    for cells in mesh.cells:
        for a, b, m in ELEMENTS[kind].edges:
            points[cells.connectivity[:, m]] = (points[cells.connectivity[:, a]] + points[cells.connectivity[:, b]]) / 2
    return replace(mesh, points=points)


@pytest.mark.parametrize("kind", KINDS)
def test_patch_test_on_distorted_cells(kind):
    """A field of constant strain on the boundary is met exactly inside."""
    mesh = distorted(kind)
    model = Model(mesh, MATERIAL)
    gradient = np.array([[1.0, 0.4, -0.2], [0.3, -0.6, 0.5], [0.1, 0.7, 0.8]]) * 1e-3
    exact = (mesh.points @ gradient.T).ravel()
    fixed = np.zeros(len(mesh.points), dtype=bool)
    fixed[mesh.skin_nodes] = True
    outer = np.repeat(fixed, 3)
    u = exact.copy()
    if (~outer).any():
        u[~outer] = spla.spsolve(model.K[~outer][:, ~outer].tocsc(), -model.K[~outer][:, outer] @ exact[outer])
    np.testing.assert_allclose(u, exact, atol=1e-13)
    energy = 0.5 * exact @ model.K @ exact
    strain = 0.5 * (gradient + gradient.T)
    e = np.array([strain[0, 0], strain[1, 1], strain[2, 2], 2 * strain[0, 1], 2 * strain[1, 2], 2 * strain[2, 0]])
    assert energy == pytest.approx(0.5 * e @ MATERIAL.elasticity @ e * 0.96, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_six_rigid_body_modes_and_exact_mass_properties(kind):
    mesh = distorted(kind)
    model = Model(mesh, MATERIAL)
    R = model.rigid_body_modes()
    assert np.abs(model.K @ R).max() < 1e-12 * np.abs(model.K).max()
    values = np.linalg.eigvalsh(model.K.toarray())
    assert (np.abs(values) < 1e-10 * values[-1]).sum() == 6
    mass = 2.0 * 0.96
    assert model.mass == pytest.approx(mass, rel=1e-12)
    exact = not kind.endswith("-reduced")  # on these distorted cells
    lumped = kind == "hexahedron-reduced"  # the mass of a cell is at the mean of its nodes
    atol = 1e-12 if exact else 0.4 if lumped else 0.07 if kind == "wedge-reduced" else 0.05  # or on its axis
    np.testing.assert_allclose(model.centre_of_mass, [0.5, 0.6, 0.4], atol=0.02 if lumped else 1e-12)
    squares = np.array([1.0, 1.2, 0.8]) ** 2
    np.testing.assert_allclose(
        model.inertia(),
        np.diag(mass * (squares.sum() - squares) / 12),
        atol=atol,
    )
    assert (model.M != model.M.T).nnz == 0
    values = np.linalg.eigvalsh(model.M.toarray())
    assert values[0] > 0 if exact else values[0] > -1e-12 * values[-1]


def product_rule(corners, count=9):
    """Points and weights of many points on a reference cell: those of a cube that is drawn together."""
    x, w = np.polynomial.legendre.leggauss(count)
    p, q, r = (k.ravel() for k in np.meshgrid(x, x, x, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel()
    a, b, c = (1 + p) / 2, (1 + q) / 2, (1 + r) / 2
    if corners == 4:
        return np.column_stack([a, b * (1 - a), c * (1 - a) * (1 - b)]), weights / 8 * (1 - a) ** 2 * (1 - b)
    if corners == 5:
        return np.column_stack([p * (1 - c), q * (1 - c), c]), weights / 2 * (1 - c) ** 2
    if corners == 6:
        return np.column_stack([a, b * (1 - a), r]), weights / 4 * (1 - a)
    return np.column_stack([p, q, r]), weights


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.endswith("-reduced")])
def test_the_mass_of_cells_with_straight_edges_is_exact(kind):
    """However their corners lie, their faces need not be plane."""
    shape = ELEMENTS[kind]
    x = shape.coordinates[: shape.corners] + 0.2 * np.random.default_rng(5).uniform(-1, 1, (shape.corners, 3))
    x = np.vstack([x, *((x[a] + x[b])[None] / 2 for a, b, _ in shape.edges)])
    xi, weights = product_rule(shape.corners)
    N, J = shape.shape(xi), np.einsum("qnk,nx->qkx", shape.gradient(xi), x)
    exact = MATERIAL.density * np.einsum("q,qa,qb->ab", weights * np.linalg.det(J), N, N)
    M = Model(Mesh(x, (CellBlock(kind, np.arange(shape.nodes)[None]),)), MATERIAL).M.toarray()
    np.testing.assert_allclose(M, np.kron(exact, np.eye(3)), atol=1e-12 * np.abs(exact).max())


def test_the_mass_of_a_reduced_wedge_is_on_its_axis():
    """That of C3D6 of CalculiX: about the axis it has no inertia."""
    shape = ELEMENTS["wedge"]
    model = Model(Mesh(shape.coordinates, (CellBlock("wedge-reduced", np.arange(6)[None]),)), MATERIAL)
    J = model.inertia()
    assert J[2, 2] == pytest.approx(0.0, abs=1e-12 * J[0, 0])
    assert J[0, 0] == pytest.approx(model.mass / 3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if ELEMENTS[kind].own_cell])
def test_the_order_of_nodes_of_gmsh_is_that_of_gmsh(kind):
    pytest.importorskip("gmsh")
    shape = ELEMENTS[kind]
    with gmsh_model("order", "This test", "", {}) as gmsh:
        properties = gmsh.model.mesh.getElementProperties(shape.gmsh)
    theirs = np.reshape(properties[4], (-1, 3))
    np.testing.assert_allclose(theirs[list(shape.gmsh_order or range(shape.nodes))], shape.coordinates, atol=1e-12)


NASTRAN_EDGES = {
    "tetra10": "12 23 31 14 24 34",
    "pyramid13": "12 23 34 41 15 25 35 45",
    "wedge15": "12 23 31 14 25 36 45 56 64",
    "hexahedron20": "12 23 34 41 15 26 37 48 56 67 78 85",
}
"""The grid points between which those after the corners lie, in the order of the cards (Quick Reference Guide)."""


@pytest.mark.parametrize("kind", NASTRAN_EDGES)
def test_the_order_of_nodes_of_nastran_is_that_of_its_manual(kind):
    shape = ELEMENTS[kind]
    corners = shape.coordinates[: shape.corners]
    middles = [(corners[int(a) - 1] + corners[int(b) - 1]) / 2 for a, b in NASTRAN_EDGES[kind].split()]
    card = np.vstack([corners, middles])
    np.testing.assert_allclose(card[list(shape.nastran_order or range(shape.nodes))], shape.coordinates)


ABAQUS_FACES = {
    "C3D4": "123 142 243 341",
    "C3D5": "1234 152 253 354 451",
    "C3D6": "123 465 1452 2563 3641",
    "C3D8": "1234 5876 1562 2673 3784 4851",
}
"""The nodes of the faces S1, S2, ... (Abaqus Analysis User's Guide, "Three-dimensional solid element library")."""


@pytest.mark.parametrize("name", ABAQUS_FACES)
def test_faces_of_decks_have_the_numbers_of_abaqus(name, tmp_path):
    shape = next(e for e in ELEMENTS.values() if name in e.abaqus)
    nodes = "".join(f"{k},{x},{y},{z}\n" for k, (x, y, z) in enumerate(shape.coordinates.tolist(), 1))
    cell = f"*ELEMENT,TYPE={name}\n1,{','.join(map(str, range(1, shape.nodes + 1)))}\n"
    faces = ABAQUS_FACES[name].split()
    sides = "".join(f"*SURFACE,NAME=F{k},TYPE=ELEMENT\n1,S{k}\n" for k in range(1, len(faces) + 1))
    (tmp_path / "cell.inp").write_text("*NODE\n" + nodes + cell + sides)
    mesh = fem.read_mesh(tmp_path / "cell.inp")
    found = [{int(n) + 1 for n in mesh.face_nodes(*mesh.face_sets[f"F{k}"][0])} for k in range(1, len(faces) + 1)]
    assert found == [{int(n) for n in face} for face in faces]


def test_hourglass_motions_have_the_stiffness_of_calculix():
    """On a brick each is an eigenvector with 8 c, c = 0.0005 E V |b|^2, as CalculiX 2.20 stores it for C3D8R; of E
    1000, nu 0.3 and the sides 1, 2, 3 it is 0.0005 * 1000 * 6 * (1 + 1/4 + 1/9) / 2."""
    model = Model(block("hexahedron-reduced", (1.0, 2.0, 3.0), (1, 1, 1)), Material.isotropic(1000.0, 0.3, 1.0))
    values = np.linalg.eigvalsh(model.K.toarray())
    c = 0.0005 * 1000 * 6 * (1 + 1 / 4 + 1 / 9) / 2
    assert (np.abs(values) < 1e-10 * values[-1]).sum() == 6
    np.testing.assert_allclose(values[6:18], 8 * c, rtol=1e-9)


def test_mixed_mesh_of_pyramids_on_hexahedra_passes_the_patch_test():
    lower = block("hexahedron", (1, 1, 1), (1, 1, 1))
    points = np.vstack([lower.points, [[0.5, 0.5, 1.7]]])
    top = [n for n in range(8) if lower.points[n, 2] == 1.0]
    order = sorted(top, key=lambda n: np.arctan2(points[n, 1] - 0.5, points[n, 0] - 0.5))
    mesh = Mesh(points, (lower.cells[0], CellBlock("pyramid", np.array([[*order, 8]]))))
    model = Model(mesh, MATERIAL)
    u = (mesh.points @ np.array([[1.0, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, -1.0]])).ravel()
    force = (model.K @ u).reshape(-1, 3)
    np.testing.assert_allclose(force.sum(axis=0), 0, atol=1e-10)
    assert model.mass == pytest.approx(2.0 * (1 + 0.7 / 3), rel=1e-12)


BAD_MATERIALS = {
    "negative modulus": (lambda: Material.isotropic(-1, 0.3), "Young's modulus must be positive"),
    "incompressible": (lambda: Material.isotropic(1, 0.5), "Poisson's ratio"),
    "impossible orthotropic": (
        lambda: Material.orthotropic((1, 1, 1), (0.9, 0.9, 0.9), (1, 1, 1)),
        "not positive definite",
    ),
    "negative density": (lambda: Material.isotropic(1, 0.3, -5), "density must be positive"),
    "unknown units": (lambda: Material.steel(units="inch"), "no unit system named 'inch'"),
}


@pytest.mark.parametrize("case", BAD_MATERIALS)
def test_bad_materials_are_refused(case):
    make, words = BAD_MATERIALS[case]
    with pytest.raises(MaterialError, match=words):
        make()


def test_orthotropic_reduces_to_isotropic():
    E, nu = 70.0, 0.33
    G = E / (2 * (1 + nu))
    iso = Material.isotropic(E, nu)
    np.testing.assert_allclose(
        Material.orthotropic((E, E, E), (nu, nu, nu), (G, G, G)).elasticity, iso.elasticity, rtol=1e-12
    )


def test_units_that_cannot_be_are_met_with_a_hint():
    assert check_units(Material.steel(), 0.3) is None
    assert check_units(Material.steel("mm"), 300.0) is None
    assert "millimetres?" in check_units(Material.steel(), 300.0)
    assert "metres?" in check_units(Material.steel("mm"), 0.05)
    assert "power of ten" in check_units(Material.isotropic(2.1e5, 0.3, 7850.0e6), 0.3)
    assert "power of ten" in check_units(Material.isotropic(2.1e5, 0.3, 7.85e-6), 300.0)  # kg/mm^3 with MPa
    with pytest.warns(UnitWarning, match="is the mesh in millimetres"):
        Model(block("tetra", (300, 20, 20), (2, 1, 1)), Material.steel())


def test_one_note_says_that_the_material_of_several_sections_has_wrong_units():
    frame = line((0, 0, 0), (1, 0, 0), 3)
    frame = replace(frame, cell_sets={name: np.array([k]) for k, name in enumerate("abc")})
    wrong = Material.isotropic(2.1e11, 0.3, 7.85e-9)
    with pytest.warns(UnitWarning, match="power of ten") as told:
        Model(frame, {name: fem.Beam(wrong, fem.Section.circle(0.02 + 0.01 * k)) for k, name in enumerate("abc")})
    assert len(told) == 1


LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
MASSES = {"kg": 1.0, "t": 1e3, "g": 1e-3, "slinch": 175.126835, "slug": 14.593903}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@pytest.mark.parametrize(
    "system",
    ["m-kg-s", "mm-t-s", "cm-kg-s", "cm-g-s", "mm-kg-s", "mm-g-s", "mm-kg-ms", "mm-g-ms", "cm-g-us", "um-kg-s", "um-kg-us", "um-g-us", "in-slinch-s", "ft-slug-s"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("modulus", "density", "size"), [(2.1e11, 7850.0, 0.3), (7e10, 2700.0, 0.05), (1.1e11, 4430.0, 2.0)]
)
def test_metals_in_a_consistent_system_of_units_cause_no_hint(system, modulus, density, size):
    length, mass, time = (table[u] for table, u in zip((LENGTHS, MASSES, TIMES), system.split("-"), strict=True))
    given = Material.isotropic(modulus / (mass / length / time**2), 0.3, density / (mass / length**3))
    assert check_units(given, size / length) is None


SI = {
    "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048, "kg": 1.0, "t": 1e3, "g": 1e-3, "lbf s^2/in": 0.45359237 * 9.80665 / 0.0254,
    "slug": 0.45359237 * 9.80665 / 0.3048,
}  # fmt: skip
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_the_units_of_a_system_are_consistent(system):
    """Density and modulus are those of its mass, length and time."""
    length, mass, time, *_ = system.name.split(", ")
    assert system.length == SI[length]
    assert system.density == pytest.approx(SI[mass] / SI[length] ** 3, rel=1e-4)
    assert system.modulus == pytest.approx(SI[mass] / (SI[length] * SECONDS[time] ** 2), rel=1e-4)


def test_parts_longer_than_a_hundred_metres_are_unusual():
    assert check_units(Material.steel(), 99.0) is None
    assert "101 m long" in check_units(Material.steel(), 101.0)
    assert check_units(Material.steel(), 1.01e-3) is None
    assert "0.00099 m long" in check_units(Material.steel(), 0.99e-3)


def test_small_parts_are_usual_in_micrometres():
    assert check_units(Material.isotropic(1.6e5, 0.22, 2.3e-15), 200.0) is None  # silicon in um, kg, s


def test_models_refuse_what_they_cannot_use():
    mesh = block("tetra", (1, 1, 1), (1, 1, 1))
    with pytest.raises(MaterialError, match="no density"):
        _ = Model(mesh, Material.isotropic(1.0, 0.3)).M
    two = replace(mesh, cell_sets={"left": np.array([0, 1, 2]), "right": np.array([2, 3, 4, 5])})
    with pytest.raises(MaterialError, match="two materials"):
        Model(two, {"left": MATERIAL, "right": MATERIAL})
    with pytest.raises(MaterialError, match="3 of 6 cells have no material"):
        Model(two, {"left": MATERIAL})
    with pytest.raises(MaterialError, match=r"no cell set named 'rihgt'\. Did you mean 'right'"):
        Model(two, {"rihgt": MATERIAL})
    inverted = replace(mesh, points=mesh.points * [1, 1, -1])
    with pytest.raises(MeshError, match="inverted or collapsed, the first is cell 0"):
        _ = Model(inverted, MATERIAL).K


def test_a_model_from_matrices_equals_the_one_from_elements_and_bad_matrices_are_refused():
    model = Model(block("hexahedron", (1, 1, 1), (2, 1, 1)), MATERIAL)
    M, K, x = model.M, model.K, model.points
    assert Model.from_matrices(M, K, x).mass == pytest.approx(model.mass)
    with pytest.raises(MatrixError, match=r"K has shape \(36, 36\); 11 nodes"):
        Model.from_matrices(M[:33, :33], K, x[:11])
    lower = K.copy()
    lower[0, 5] += 50.0
    with pytest.raises(MatrixError, match="not symmetric"):
        Model.from_matrices(M, lower, x)
    with pytest.raises(MatrixError, match="NaN"):
        Model.from_matrices(M * np.nan, K, x)
    with pytest.raises(MatrixError, match="swapped"):
        Model.from_matrices(K, M, x)
    held = K.tolil()
    held[0, 0] += 100.0
    with pytest.raises(MatrixError, match="resists rigid translation"):
        Model.from_matrices(M, held, x)


def test_several_materials_and_kinds_in_one_mesh():
    mesh = block("hexahedron", (2, 1, 1), (2, 1, 1))
    mesh = replace(mesh, cell_sets={"left": np.array([0]), "right": np.array([1])})
    model = Model(mesh, {"left": MATERIAL, "right": Material.isotropic(10.0, 0.2, 8.0)})
    assert model.mass == pytest.approx(2.0 + 8.0)
    np.testing.assert_allclose(model.centre_of_mass, [(0.5 * 2 + 1.5 * 8) / 10, 0.5, 0.5])


@pytest.mark.parametrize("kind", [k for k in KINDS if ELEMENTS[k].own_cell])
def test_the_check_and_the_model_agree(kind):
    """Usable means that the matrices can be made: of cells with nodes at random places, mirrored ones, curved ones."""
    rng, plain = np.random.default_rng(3), block(kind, (1.0, 1.0, 1.0), (1, 1, 1))
    seen = set()
    for size in (0.0, 0.1, 0.2, 0.2, 0.3, 0.5, 1.0):
        x = plain.points + size * rng.uniform(-1, 1, plain.points.shape)
        for mesh in (replace(plain, points=x), fix_orientation(replace(plain, points=x * [1, 1, -1]))):
            report = check_mesh(mesh)
            errors = [
                f.text for f in report.findings if f.severity == "error" and "node order of the file" not in f.text
            ]
            try:
                runs = bool(Model(mesh, MATERIAL).mass > 0 and np.isfinite(Model(mesh, MATERIAL).K.data).all())
            except MeshError:
                runs = False
            assert (not errors) == runs, (size, str(report))
            seen.add(runs)
    assert seen == {True, False}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_whether_cells_are_collapsed_does_not_depend_on_the_unit(unit):
    """A flat cell of a billionth of its length is thin, and one of no thickness is collapsed."""
    shape = ELEMENTS["hexahedron"]
    cells = [shape.coordinates * (1.0, 1.0, thickness) for thickness in (1.0, 1e-9, 1e-16)]
    assert integrable(shape, unit * np.array(cells)).tolist() == [True, True, False]


def test_the_remedy_of_inverted_cells_is_to_turn_those_round_that_it_mends():
    plain = block("tetra10", (1.0, 1.0, 1.0), (1, 1, 1))
    cells = plain.cells[0].connectivity.copy()
    order = list(ELEMENTS["tetra10"].mirrored)
    cells[[0, 3]] = cells[[0, 3]][:, order]
    mesh = replace(plain, cells=(CellBlock("tetra10", cells),))
    told = str(check_mesh(mesh))
    assert "2 tetra10 cells are inverted" in told
    assert "Turn 2 of them round with fem.fix_orientation(mesh)" in told
    assert "Remesh" not in told
    assert check_mesh(fix_orientation(mesh)).usable
