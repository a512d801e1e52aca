"""Shells: patches, obstacles, rigid motion, geometric stiffness, integrals, stresses, mixtures, refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse.linalg as spla

import fem
import flexmb
import reduction
from fem.analysis.model_warnings import warn_of_hinges
from fem.elements import SHELLS
from fem.errors import MaterialError, MeshError, MeshWarning
from fem.mesh.structured_meshes import block, sheet
from fem.mesh.unread import Unread
from flexmb.bodies.dynamics import mass_matrix
from flexmb.bodies.invariants import inertia_invariants
from reduction.second_order import second_order
from validation import macneal_harder, shells

STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
KINDS = shells.KINDS


def curved(kind, thickness=0.02, offset=0.0, drilling=1e-4, divisions=(4, 3)):
    """A warped panel."""
    mesh = sheet(kind, (1.0, 0.7), divisions)
    x, y, _ = mesh.points.T
    points = np.column_stack([x + 0.1 * y**2, y - 0.1 * x * y, 0.1 * np.sin(2 * x) * y + 0.05 * x**2])
    return fem.Model(replace(mesh, points=points), fem.Shell(STEEL, thickness, offset, drilling=drilling))


@pytest.mark.parametrize("kind", KINDS)
def test_patches_are_exact(kind):
    """Constant shear with the moments on the area that hold the sections; see `shells.TIED_BUBBLE` for the triangle."""
    errors = shells.patch_errors(kind)
    assert max(errors["membrane"], errors["bending"]) < 1e-10
    assert errors["transverse shear"] < shells.TIED_BUBBLE.get(kind, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_it_does_not_matter_with_which_node_a_cell_begins(kind):
    """The stiffness of a distorted, flat cell."""
    shape = SHELLS[kind]
    r, s = np.asarray(shape.coordinates)[:, :2].T
    points = np.column_stack([r + 0.2 * r * s, s - 0.1 * r**2, 0 * r])
    corners, nodes = shape.corners, np.arange(len(points))
    turned = np.concatenate(
        [np.roll(nodes[:corners], 1), np.roll(nodes[corners : 2 * corners], 1), nodes[2 * corners :]]
    )
    K, same = (
        fem.Model(fem.Mesh(points, (fem.CellBlock(kind, row[None]),)), fem.Shell(STEEL, 0.05)).K
        for row in (nodes, turned)
    )
    assert abs(K - same).max() < 1e-9 * abs(K).max()


def test_drawn_shells_move_with_the_part():
    """Rigid motions of the faces of a curved panel beside its nodes."""
    model = curved("quad", thickness=0.05, offset=0.02)
    (surface,) = model.beam_surfaces(model.rigid_body_modes())
    turned = np.cross(np.eye(3)[:, None], surface.points)  # axis, place, component
    expected = np.concatenate([np.broadcast_to(np.eye(3)[:, None], turned.shape), turned]).transpose(1, 2, 0)
    np.testing.assert_allclose(surface.displacements, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "kind", "n", "ratio"),
    [
        (shells.pinched_cylinder, "quad", 16, 0.932),
        (shells.pinched_cylinder, "triangle", 16, 0.891),
        (shells.scordelis_lo, "quad", 8, 1.006),
        (shells.scordelis_lo, "triangle", 16, 0.954),
        (shells.pinched_cylinder, "quad9", 4, 0.964),
        (shells.scordelis_lo, "quad9", 2, 0.959),
        (shells.hemisphere, "quad9", 4, 0.985),
    ],
)
def test_obstacles(case, kind, n, ratio):
    """Values of an independent program with the same elements, which loops over cells."""
    assert case(kind, n) == pytest.approx(ratio, abs=1.5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_hemisphere_does_not_lock(kind):
    assert shells.hemisphere(kind, 8) == pytest.approx(0.994, abs=0.04 if kind == "triangle6" else 0.01)


@pytest.mark.filterwarnings("ignore::fem.UnitWarning")
def test_quadratic_triangles_bend_as_the_plate_does():
    """Clamped, uniform load: the exact deflection is 1.2653 to four digits; errors fall with the fourth power."""
    exact = 1.2653 / 1.26
    errors = [abs(macneal_harder.plate("triangle6", "clamped", "uniform", 1.0, n) / exact - 1) for n in (2, 4)]
    assert errors[0] < 0.05
    assert errors[1] < errors[0] / 8


@pytest.mark.parametrize("thickness", [0.32, 0.0032])
def test_a_twisted_beam_does_not_lock(thickness):
    assert shells.twisted_beam("quad", 1, thickness) == pytest.approx((1.0, 1.0), abs=0.015)
    assert shells.twisted_beam("quad9", 1, thickness) == pytest.approx((1.0, 1.0), abs=0.003)


@pytest.mark.parametrize("offset", [0.0, 0.03])
@pytest.mark.parametrize("kind", KINDS)
def test_rigid_motion_is_free_and_has_the_mass_of_the_shell(kind, offset):
    model = curved(kind, offset=offset)
    R = model.rigid_body_modes(model.points.mean(axis=0))
    assert np.abs(model.K @ R).max() < 1e-9 * abs(model.K).max()
    values = sl.eigh(
        model.K.toarray(), model.M.toarray() + 1e-9 * model.M.diagonal().max() * np.eye(model.ndof), eigvals_only=True
    )
    assert np.abs(values[5]) < 1e-6 * values[6]
    flat = fem.Model(sheet(kind, (2.0, 1.0), (3, 2)), fem.Shell(STEEL, 0.1, offset))
    m = 2.0 * 0.1 * 7800
    assert flat.mass == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(flat.centre_of_mass, [1.0, 0.5, offset], atol=1e-12)
    exact = m / 12 * np.diag([1 + 0.01, 4 + 0.01, 5])
    exact[2, 2] = m / 12 * 5
    np.testing.assert_allclose(flat.inertia(), exact, atol=1e-9 * m)


@pytest.mark.parametrize("offset", [0.0, 0.03])
@pytest.mark.parametrize("kind", KINDS)
def test_geometric_stiffness_turns_with_the_part(kind, offset):
    """`K_G(u) r = (a x f, a x m / 2)`, r a rigid rotation a and (f, m) the internal forces of u; the drilling stiffness
    has no part in it."""
    model = curved(kind, offset=offset, drilling=1e-12)
    u = np.random.default_rng(0).standard_normal(model.ndof)
    a, n = np.array([0.3, -0.5, 0.8]), 3 * len(model.points)
    forces = model.K @ u
    wanted = np.cross(a, forces.reshape(-1, 3)).ravel() * np.repeat([1.0, 0.5], n)
    scale = np.abs(wanted).max()
    got = model.geometric_stiffness(u) @ (model.rigid_body_modes()[:, 3:] @ a)
    np.testing.assert_allclose(got / scale, wanted / scale, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_of_geometric_stiffness_agree(kind):
    model = curved(kind, offset=0.01)
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((model.ndof, 2)), rng.standard_normal((model.ndof, 3))
    projected = model.projected_geometric_stiffness(U, V)
    for k in range(2):
        np.testing.assert_allclose(projected[k], V.T @ model.geometric_stiffness(U[:, k]) @ V, rtol=1e-9)
    pairs = np.array([[0, 1], [2, 2]])
    work = U.T @ model.quadratic_strain_loads(V, pairs)
    np.testing.assert_allclose(work, [[projected[k][i, j] for i, j in pairs] for k in range(2)], rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_integrals_of_a_body_are_those_of_its_points(offset):
    """The mass matrix of a moving body against one that has been summed over points of the deformed shell."""
    model = curved("quad", offset=offset).with_interfaces(root="x0")
    basis = reduction.craig_bampton(model, modes=4, reference_frame="root")
    body = flexmb.flexible_body(model, basis, geometric_stiffness="none")
    eta = 1e-3 * np.random.default_rng(3).standard_normal(4)
    T = model.M.toarray()
    R = model.rigid_body_modes()
    whole = np.column_stack([R, basis.Psi])
    expected = whole.T @ T @ whole
    np.testing.assert_allclose(mass_matrix(body, 0 * eta), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_bent_strip_has_the_stress_of_beam_theory_at_top_middle_and_bottom(kind):
    """Pure bending about y: sigma_x = E z / R; and a pull through an offset middle surface bends."""
    mesh = sheet(kind, (1.0, 0.2), (8, 2))
    material = fem.Material.isotropic(2e11, 0.0, 7800.0)
    model = fem.Model(mesh, fem.Shell(material, 0.02))
    x = mesh.points[:, 0]
    u = np.zeros(model.ndof)
    u[2 : 3 * len(x) : 3], u[3 * len(x) + 1 :: 3] = 0.01 * x**2 / 2, -0.01 * x  # w'' = 0.01
    nodes, places, stress = model.stresses(u[:, None])
    assert (nodes == -1).all()
    np.testing.assert_allclose(sorted(set(np.round(places[:, 2], 9))), [-0.01, 0, 0.01], atol=1e-12)
    exact = -2e11 * 0.01 * places[:, 2]
    inside = (places[:, 0] > 0.2) & (places[:, 0] < 0.8)
    np.testing.assert_allclose(stress[inside, 0, 0], exact[inside], atol=1e-6 * np.abs(exact).max())
    points, H = (np.concatenate(a) for a in zip(*model.gradients(u[:, None]), strict=True))
    np.testing.assert_allclose(H[:, 0, 0, 0], -0.01 * points[:, 2], atol=1e-9)
    np.testing.assert_allclose(H[:, 0, 2, 0], -0.01 * points[:, 0], atol=2e-4)


def test_the_second_order_field_is_that_of_a_solid():
    """Foreshortening and turning lines across the shell, beside its nodes: integrals of hexahedra of the same plate."""
    material = fem.Material.isotropic(7e10, 0.0, 2700.0)
    plate = fem.Model(sheet("quad", (1.0, 0.31), (12, 4)), fem.Shell(material, 0.02, offset=0.05))
    solid = block("hexahedron20", (1.0, 0.31, 0.02), (8, 2, 1))
    solid = fem.Model(replace(solid, points=solid.points + np.array([0, 0, 0.04])), material)
    found = []
    for model in (plate, solid):
        part = model.with_interfaces(root="x0")
        basis = reduction.craig_bampton(part, modes=1, reference_frame="root")
        second = second_order(part, basis)
        invariants = inertia_invariants(part, basis, second)
        found.append(np.array([*invariants.SG[:, 0, 0], *invariants.PG[..., 0, 0].ravel()]))
    np.testing.assert_allclose(found[0], found[1], rtol=8e-3, atol=1e-8)


def test_an_offset_is_a_rigid_lever():
    """A shell beside its nodes is the shell on nodes that are moved there, linked rigidly: same frequencies."""
    plain = fem.Model(sheet("quad", (1.0, 0.5), (6, 3)), fem.Shell(STEEL, 0.02))
    beside = fem.Model(sheet("quad", (1.0, 0.5), (6, 3)), fem.Shell(STEEL, 0.02, offset=0.04))
    np.testing.assert_allclose(reduction.modal(beside, 5).frequencies, reduction.modal(plain, 5).frequencies, rtol=1e-3)


@pytest.mark.parametrize("thickness", [0.1, 0.01])
def test_a_thin_skin_of_a_curved_solid_has_its_membrane_stiffness(thickness):
    """Half a ring that grows: the skin has the energy E t eps^2 / 2, however thin it is; a middle node of its cells that
    moves freely left a half and less."""
    R, width = 60.0, 20.0
    mesh = fem.structured_meshes.block("hexahedron20", (1.0, width, 10.0), (10, 1, 1))
    x = mesh.points
    place = np.stack([np.cos(np.pi * (1 - x[:, 0])), 0 * x[:, 0], np.sin(np.pi * (1 - x[:, 0]))], axis=1)
    outside = np.isclose(x[:, 2], 10.0)
    cells = mesh.cells[0].connectivity
    faces = cells[:, list(fem.elements.ELEMENTS["hexahedron20"].faces[5])]
    assert outside[faces].all()
    points = (R - 10.0 + x[:, 2])[:, None] * place + x * [0, 1, 0]
    blocks = (*mesh.cells, fem.CellBlock("quad8", faces))
    sets = {"solid": np.arange(len(cells)), "skin": len(cells) + np.arange(len(faces))}
    skinned = fem.Mesh(points, blocks, cell_sets=sets)
    metal = fem.Material.isotropic(2e5, 0.0, 8e-9)
    model = fem.Model(skinned, {"solid": metal, "skin": fem.Shell(metal, thickness)})
    n, u = 3 * len(points), place.ravel()
    K = model.K.tocsr()
    turned = -spla.spsolve(K[n:, n:].tocsc(), K[n:, :n] @ u)
    energy = (np.r_[u, turned] @ K @ np.r_[u, turned] - u @ fem.Model(replace(mesh, points=points), metal).K @ u) / 2
    assert energy == pytest.approx(2e5 * thickness * (1 / R) ** 2 / 2 * np.pi * R * width, rel=1e-3)


def test_folds_have_a_director_for_each_side():
    mesh = sheet("quad", (2.0, 1.0), (2, 1))
    points = mesh.points.copy()
    points[points[:, 0] == 2] = [[1, 0, 1], [1, 1, 1]]
    folded = replace(mesh, points=points)
    assert len(folded.directors.vectors) == 8
    assert len(mesh.directors.vectors) == 6
    angle = fem.Model(folded, fem.Shell(STEEL, 0.01))
    values = reduction.modal(angle, 3).frequencies
    assert (values > 0).all()


def test_a_plate_between_a_solid_and_a_beam_is_one_body():
    """Six dofs are shared with the beam; the solid is linked to a row of nodes."""
    solid, plate = block("hexahedron20", (0.2, 0.2, 0.2), (1, 2, 1)), sheet("quad", (0.5, 0.2), (5, 2))
    n = len(solid.points)
    points = np.vstack([solid.points, plate.points + np.array([0.2, 0, 0.1]), [[0.9, 0.1, 0.1]]])
    tip = n + int(np.flatnonzero((plate.points == [0.5, 0.1, 0]).all(axis=1))[0])
    blocks = (
        *solid.cells,
        fem.CellBlock("quad", plate.cells[0].connectivity + n),
        fem.CellBlock("line", np.array([[tip, len(points) - 1]])),
    )
    sets = {"solid": np.arange(2), "plate": np.arange(2, 12), "beam": np.array([12])}
    mesh = fem.Mesh(points, blocks, cell_sets=sets, node_sets={"edge": plate.nodes("x0") + n})
    beam = fem.Beam(STEEL, fem.Section.circle(0.02))
    model = fem.Model(mesh, {"solid": STEEL, "plate": fem.Shell(STEEL, 0.01), "beam": beam})
    face = np.flatnonzero(np.isclose(mesh.points[:, 0], 0.2) & (np.arange(len(points)) < n))
    edge = mesh.nodes("edge")
    model = model.with_constraints(fem.RigidLink(np.setdiff1d(np.union1d(face, edge), edge[1]), int(edge[1])))
    model = model.with_interfaces(root=np.flatnonzero(mesh.points[:, 0] == 0), tip=[len(points) - 1])
    assert model.mass == pytest.approx(7800 * (0.2**3 + 0.5 * 0.2 * 0.01 + 0.2 * np.pi * 0.01**2), rel=1e-6)
    with pytest.warns(MeshWarning, match="turn about the normal, most of it near node"):  # where the beam begins
        basis = reduction.craig_bampton(model, modes=4, reference_frame="root")
    body = flexmb.flexible_body(model, basis)
    assert body.is_flexible
    assert body.beams is not None


def test_shells_are_refused_with_the_reason():
    mesh = sheet("quad", (1.0, 1.0), (1, 1))
    with pytest.raises(MaterialError, match=r"need a fem\.Shell"):
        fem.Model(mesh, STEEL).K  # noqa: B018
    with pytest.raises(MaterialError, match="thickness must be positive"):
        fem.Shell(STEEL, 0.0)
    with pytest.raises(MaterialError, match=r"hexahedron cells were given the section"):
        fem.Model(block("hexahedron", (1, 1, 1), (1, 1, 1)), fem.Shell(STEEL, 0.1)).K  # noqa: B018
    with pytest.raises(MeshError, match="A sheet has"):
        sheet("hexahedron", (1.0, 1.0), (1, 1))
    bad = fem.Mesh(mesh.points, (fem.CellBlock("quad", np.array([[0, 1, 2, 3]])),))
    assert not fem.check_mesh(bad).usable
    with pytest.raises(MeshError, match="collapsed, or folded"):
        fem.Model(bad, fem.Shell(STEEL, 0.1)).K  # noqa: B018
    two = sheet("quad", (2.0, 1.0), (2, 1))
    cells = two.cells[0].connectivity.copy()
    cells[1] = cells[1, ::-1]
    turned = replace(two, cells=(fem.CellBlock("quad", cells),))
    assert any("opposite normals" in finding.text for finding in fem.check_mesh(turned).findings)


@pytest.mark.parametrize("kind", ["triangle", "quad", "triangle6", "quad8", "quad9"])
def test_a_pressure_on_cells_with_opposite_normals_is_named_and_they_are_turned(kind):
    """Half of the pressure of a sheet with a quarter of its cells turned is lost, with a warning; turned back, all of
    it acts. A fold of a branch and a separate sheet that faces the other way are no fault."""
    flat = sheet(kind, (2.0, 1.0), (4, 2))
    cells = flat.cells[0].connectivity.copy()
    turned = np.arange(1, len(cells), 4)
    cells[turned] = cells[turned][:, list(SHELLS[kind].mirrored)]
    n = len(flat.points)
    other = flat.cells[0].connectivity[:, list(SHELLS[kind].mirrored)] + n
    mesh = fem.Mesh(
        np.vstack([flat.points, flat.points + np.array([0, 0, 5.0])]),
        (fem.CellBlock(kind, cells), fem.CellBlock(kind, other)),
        cell_sets={"below": np.arange(len(cells)), "all": np.arange(2 * len(cells))},
        name="mixed",
    )
    part, shell = fem.Model(mesh, fem.Shell(STEEL, 0.1)), fem.Shell(STEEL, 0.1)

    def total(model, where):
        return (model.rigid_body_modes().T @ fem.pressure(model, where, 3.0))[2]

    for where in ("below", "all"):
        told = (
            f"'mixed': a pressure acts on the cell set '{where}'.*pushes {len(turned)} of {len(mesh.cell_sets[where])}"
        )
        with pytest.warns(MeshWarning, match=told):
            assert total(part, where) == pytest.approx(-3.0 if where == "below" else 3.0)
    mended = fem.fix_orientation(mesh)
    np.testing.assert_array_equal(mended.cells[0].connectivity, flat.cells[0].connectivity)
    np.testing.assert_array_equal(mended.cells[1].connectivity, other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert total(fem.Model(mended, shell), "below") == pytest.approx(-6.0)
        assert total(fem.Model(mended, shell), "all") == pytest.approx(0.0, abs=1e-12)


def test_a_strip_with_one_side_stays_as_it_is():
    k, n = np.arange(12), 12
    a = 2 * np.pi * k / n
    across = np.column_stack([np.cos(a / 2) * np.cos(a), np.cos(a / 2) * np.sin(a), np.sin(a / 2)])
    middle = np.column_stack([3 * np.cos(a), 3 * np.sin(a), 0 * a])
    points = np.vstack([middle - across, middle + across])
    cells = np.column_stack([k, (k + 1) % n, n + (k + 1) % n, n + k])
    cells[-1] = [n - 1, n, 0, 2 * n - 1]
    strip = fem.Mesh(points, (fem.CellBlock("quad", cells),))
    np.testing.assert_array_equal(fem.fix_orientation(strip).cells[0].connectivity, cells)
    assert "opposite normals at 1 edges" in str(fem.check_mesh(strip))


@pytest.mark.parametrize("clamped", ["no", "over the face", "link"])
def test_shells_that_end_at_solids_are_hinged_with_a_warning(clamped):
    """A plate whose edge lies on an edge of a block turns about it, unless it goes on over a face, or a link holds it."""
    solid = fem.structured_meshes.block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    plate = fem.structured_meshes.sheet("quad", (2.0, 1.0), (2, 1))
    plate = fem.Mesh(plate.points + ([1.0, 0.0, 1.0] if clamped != "over the face" else [0.0, 0.0, 1.0]), plate.cells)
    points = np.vstack([solid.points, plate.points])
    cells = (*solid.cells, fem.CellBlock("quad", plate.cells[0].connectivity + len(solid.points)))
    sets = {"solid": np.array([0]), "plate": np.array([1, 2])}
    mesh = fem.merge_nodes(fem.Mesh(points, cells, cell_sets=sets))
    steel = fem.Material.steel()
    edge = mesh.nodes(fem.in_box((0.9, -1, 0.9), (1.1, 2, 1.1)))
    if clamped == "link":
        face = mesh.nodes(fem.on_plane((1, 0, 0), (1, 0, 0)))
        link = fem.RigidLink(nodes=np.setdiff1d(face, edge[:1]), reference=int(edge[0]))
        mesh = fem.Mesh(mesh.points, mesh.cells, cell_sets=sets, constraints=(link,))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_hinges(fem.Model(mesh, {"solid": steel, "plate": fem.Shell(steel, 0.05)}))
    told = [str(w.message) for w in said if "end at" in str(w.message)]
    assert bool(told) == (clamped == "no")
    assert ("hinged" in str(fem.check_mesh(mesh))) == (clamped == "no")
    if told:
        assert "shells or beams end at 2 nodes of solids" in told[0]


@pytest.mark.parametrize("over", [False, True])
def test_shells_tied_to_solids_are_hinged_with_a_warning(over):
    """Ties hold no rotations: a plate with its edge on a face turns about it; one whose cells lie on it does not."""
    solid = fem.structured_meshes.block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    plate = fem.structured_meshes.sheet("quad", (2.0, 1.0), (2, 1))
    points = np.vstack([solid.points, plate.points + ([0.0, 0.0, 1.0] if over else [1.0, 0.0, 1.0])])
    first = len(solid.points)
    pairs = [
        (first + k, j) for k, x in enumerate(points[first:]) for j, y in enumerate(solid.points) if np.allclose(x, y)
    ]
    ties = [fem.Equation([a, b], [k, k], [1.0, -1.0], "TIE, line 7") for a, b in pairs for k in range(3)]
    cells = (*solid.cells, fem.CellBlock("quad", plate.cells[0].connectivity + first))
    assert ("hinged" in str(fem.check_mesh(fem.Mesh(points, cells, constraints=tuple(ties))))) != over
    less = [tie for tie in ties if tie.components[0] < 2]
    assert "hinged" not in str(fem.check_mesh(fem.Mesh(points, cells, constraints=tuple(less))))


def test_turned_cells_are_found_beside_branches():
    """A side of three shells has no common normal, and hides no other side."""
    x = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0], [0, 0, 1], [0, 1, 1], [-1, 0, 0], [-1, 1, 0.0]])  # fmt: skip
    branch = [[0, 2, 3, 1], [0, 1, 7, 6], [8, 0, 1, 9]]
    for last, wrong in (([2, 4, 5, 3], False), ([3, 5, 4, 2], True)):
        mesh = fem.Mesh(x, (fem.CellBlock("quad", np.array([*branch, last])),))
        told = [finding.text for finding in fem.check_mesh(mesh).findings]
        assert any("opposite normals at 1 edges (first: nodes 2, 3)" in text for text in told) == wrong


def test_cuts_through_shells_beside_their_nodes_are_named():
    """Forces at the nodes bend the edge of the middle surface: the first frequency in the plane is 5 % too low at half a
    thickness, 50 % at three."""
    mesh = fem.structured_meshes.sheet("quad", (2.0, 0.3), (8, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        fem.split(fem.Model(mesh, fem.Shell(fem.Material.steel(), 0.01, offset=5e-4)), 2)
    with pytest.warns(MeshWarning, match=r"cut between pieces 1 and 2 of 2 goes through shells .* offset 0.005"):
        fem.split(fem.Model(mesh, fem.Shell(fem.Material.steel(), 0.01, offset=5e-3)), 2)


def test_shells_whose_sides_differ_are_named_where_their_normals_are_opposite():
    """The same turned cell is harmless in a shell that is alike from both sides, and another part in one that is not:
    its offset changes the frequencies."""
    flat = sheet("quad", (4.0, 1.0), (4, 1))
    cells = flat.cells[0].connectivity.copy()
    cells[1] = cells[1, ::-1]
    turned = replace(flat, cells=(fem.CellBlock("quad", cells),))
    aluminium = fem.Material.aluminium()
    wood = fem.Material.orthotropic((1e10, 1e9, 1e9), (0.3, 0.3, 0.03), (1e9, 1e9, 1e9), 500.0)
    plain = [
        fem.Shell(STEEL, 0.1),
        fem.Shell.layup([fem.Ply(STEEL, 0.1, 45)], x_axis=(1, 0, 0)),
        fem.Shell.layup([fem.Ply(wood, 0.1, 45), fem.Ply(wood, 0.1, -45)], x_axis=(1, 0, 0)),
    ]
    sided = [
        fem.Shell(STEEL, 0.1, offset=0.05),
        fem.Shell.layup([fem.Ply(STEEL, 0.1), fem.Ply(aluminium, 0.1)], x_axis=(1, 0, 0)),
        fem.Shell.layup([fem.Ply(wood, 0.1, 45)], x_axis=(1, 0, 0)),
    ]
    step = fem.Step(1, "FREQUENCY", Unread("FREQUENCY", "a deck", 1, ""), modes=2)
    for shell in (*plain, *sided):
        assert shell.has_sides == (shell in sided)
        for mesh in (flat, turned, fem.fix_orientation(turned)):
            part = fem.Model(mesh, shell)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                reduction.modal(part, modes=2)
                fem.solve_static(part, np.zeros(part.ndof), [[0, 1, 2]])
                fem.natural_modes(part, 2)
                fem.solve_step(part, step)
            found = [w for w in told if "opposite normals at 2 edges" in str(w.message)]
            assert len(found) == (4 if mesh is turned and shell in sided else 0)


@pytest.mark.parametrize(
    ("place", "refused"),
    [((0.0, 1.0, 0.0), True), ((0.5, 0.5, 0.0), True), ((0.3, 0.3, 0.0), True), ((0.0, 0.0, 0.0), True), ((0.55, 0.55, 0.0), False)],
)  # fmt: skip
def test_quadrilaterals_that_are_triangles_or_hollow_are_refused(place, refused):
    """Their third corner is at another one, on the line between its neighbours, or within: the stiffness was not a
    number, without a word, or that of a cell that turns over at a corner."""
    points = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), place, (0.0, 1.0, 0.0)])
    mesh = fem.Mesh(points, (fem.CellBlock("quad", np.array([[0, 1, 2, 3]])),))
    model = fem.Model(mesh, fem.Shell(fem.Material.steel(), 0.1))
    if refused:
        with pytest.raises(MeshError, match=r"is collapsed, or folded over itself\. Check the order of its nodes"):
            assert np.isfinite(model.K.data).all()
    else:
        assert np.isfinite(model.K.data).all()


@pytest.mark.parametrize("offset", [-0.1, 0.1])
def test_the_middle_of_an_offset_cylinder_has_its_own_radius(offset):
    """Nodes at the radius 1, normals outwards: the mass is that of a cylinder of the radius 1 + offset."""
    turns, heights = np.arange(48) * np.pi / 24, np.linspace(0.0, 1.0, 3)
    points = np.array([(np.cos(a), np.sin(a), z) for a in turns for z in heights])
    cells = np.array([(k, k + 3, k + 4, k + 1) for a in range(48) for k in (3 * a, 3 * a + 1)])
    mesh = fem.Mesh(points, (fem.CellBlock("quad", cells % len(points)),))
    model = fem.Model(mesh, fem.Shell(fem.Material.isotropic(2e11, 0.3, 1000.0), 0.02, offset))
    assert model.mass == pytest.approx(1000.0 * 0.02 * (1.0 + offset) * 2 * np.pi, rel=2e-3)
