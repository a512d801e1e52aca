"""The second-order field: integrals against explicit fields, fields against the nonlinear solid, known stiffening and buckling."""

from functools import cache

import numpy as np
import pytest
import scipy.linalg as sl
from scipy.optimize import brentq

import fem
import flexmb
import reduction
from fem.elements import ELEMENTS
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.invariants import inertia_invariants
from flexmb.files.bodies.body_file import load_body, save_body
from reduction.second_order import second_order
from reduction.second_order_modes import leading_pairs, second_order_modes
from validation import steady_rotation

SIZE = (1.0, 0.3, 0.2)
MATERIAL = fem.Material.isotropic(200.0, 0.3, 2.0)


def part(kind="hexahedron20", interface="rigid", divisions=(3, 1, 1)):
    mesh = block(kind, SIZE, divisions)
    tip = fem.Interface("x1", kind=interface, point=(1.1, 0.1, 0.2))
    return fem.Model(mesh, MATERIAL).with_interfaces(root="x0", tip=tip)


def constraint_and_particular(model, basis):
    """T (ndof, nq) of the linear rigid interfaces, and `p_ij` (ndof, m, m), by plain loops over nodes."""
    free = np.ones(model.ndof, dtype=bool)
    columns, m = [], basis.n_modes
    p = np.zeros((model.ndof, m, m))
    for name, interface in model.interfaces.items():
        if interface.kind != "rigid":
            continue
        free[interface.dofs] = False
        column = np.zeros((model.ndof, 6))
        column[interface.dofs] = interface.rigid_body_modes(model)
        columns.append(column)
        theta = basis.interface_modes[name][3:]
        for node in interface.nodes:
            x = model.points[node] - interface.point
            for i in range(m):
                for j in range(m):
                    a, b = theta[:, i], theta[:, j]
                    p[3 * node : 3 * node + 3, i, j] = (np.cross(a, np.cross(b, x)) + np.cross(b, np.cross(a, x))) / 2
    return np.column_stack([np.eye(model.ndof)[:, free], *columns]), p


def explicit_fields(model, basis):
    """`g_ij` (ndof, m, m): equation (1) solved for every pair, with the reference conditions of the basis."""
    m = basis.n_modes
    T, p = constraint_and_particular(model, basis)
    K, Psi = model.K.toarray(), basis.Psi
    load = np.zeros((model.ndof, m, m))
    for k in range(model.ndof):
        load[k] = -Psi.T @ (model.geometric_stiffness(np.eye(model.ndof)[k]) @ Psi)
    right = (load - np.einsum("dk,kij->dij", K, p)).reshape(model.ndof, -1)
    R = model.rigid_body_modes(model.centre_of_mass)
    if basis.reference_frame is None:
        conditions = R.T @ model.M  # against mean axes
    else:
        conditions = model.interfaces[basis.reference_frame].interface_matrix(model).toarray().T
    matrix = np.block([[T.T @ K @ T, T.T @ conditions.T], [conditions @ T, np.zeros((6, 6))]])
    reference = -conditions @ p.reshape(model.ndof, -1)
    solution = np.linalg.solve(matrix, np.vstack([T.T @ right, reference]))[: T.shape[1]]
    return p + (T @ solution).reshape(p.shape)


@pytest.mark.parametrize("reference_frame", [None, "root", "tip"])
@pytest.mark.parametrize("interface", ["rigid", "average"])
@pytest.mark.parametrize("kind", ["tetra", "hexahedron", "tetra10"])
def test_integrals_equal_those_of_explicit_fields(kind, interface, reference_frame):
    model = part(kind, interface, (2, 1, 1))
    basis = reduction.craig_bampton(model, modes=2, reference_frame=reference_frame)
    g = explicit_fields(model, basis)
    found = reduction.second_order(model, basis)
    Mg = np.einsum("dk,kij->dij", model.M.toarray(), g).reshape(-1, 3, basis.n_modes, basis.n_modes)
    moments = np.einsum("na,nbij->abij", model.points, Mg)
    np.testing.assert_allclose(found.first, Mg.sum(axis=0), atol=1e-9 * np.abs(Mg).sum())
    np.testing.assert_allclose(found.moments, moments, atol=1e-9 * np.abs(moments).max())
    spin = np.stack([moments[1, 2] - moments[2, 1], moments[2, 0] - moments[0, 2], moments[0, 1] - moments[1, 0]])
    h = inertia_invariants(model, basis, found).h  # int Psi_i x Psi_j + int x x g_ij
    np.testing.assert_allclose(0.5 * (h + h.swapaxes(1, 2)), spin, atol=1e-9 * np.abs(moments).max())
    shapes = found.shapes.shapes
    for k, (i, j) in enumerate(found.shapes.pairs):
        np.testing.assert_allclose(shapes[..., k].ravel(), g[:, i, j], atol=1e-6 * np.abs(g).max())  # kept in float32
    for name, end in model.interfaces.items():
        theta = basis.interface_modes[name][3:]
        turned = np.zeros_like(g)
        for node in end.nodes:
            x = model.points[node] - end.point
            for i, j in np.ndindex(basis.n_modes, basis.n_modes):
                a, b = theta[:, i], theta[:, j]
                turned[3 * node : 3 * node + 3, i, j] = (np.cross(a, np.cross(b, x)) + np.cross(b, np.cross(a, x))) / 2
        expected = np.einsum("dk,dij->kij", end.interface_matrix(model).toarray(), g - turned)
        scale = np.abs(g).max() + np.abs(expected).max()
        np.testing.assert_allclose(found.interfaces[name], expected, atol=1e-9 * scale)


def green_strain_energy(model, u):
    """St. Venant-Kirchhoff energy of nodal displacements (n, 3) by quadrature, cells of one kind."""
    shape = ELEMENTS[model.mesh.cells[0].kind]
    cells = model.mesh.cells[0].connectivity
    xi, w = shape.stiffness_rule
    J = np.einsum("qnk,enx->eqkx", shape.gradient(xi), model.points[cells])
    gradients = np.einsum("eqxk,qnk->eqnx", np.linalg.inv(J), shape.gradient(xi))
    H = np.einsum("eni,eqnj->eqij", u[cells], gradients)
    E = 0.5 * (H + H.swapaxes(2, 3) + H.swapaxes(2, 3) @ H)
    lame, shear = 200.0 * 0.3 / (1.3 * 0.4), 200.0 / 2.6
    density = 0.5 * lame * np.trace(E, axis1=2, axis2=3) ** 2 + shear * (E**2).sum(axis=(2, 3))
    return (density * np.linalg.det(J) * w).sum()


@pytest.mark.parametrize("reference_frame", [None, "root"])
def test_strain_energy_is_quadratic_to_third_order_with_the_field_only(reference_frame):
    """The nonlinear solid is the judge: along `Psi eta + g(eta, eta) / 2` its energy has no cubic term, bending and stretching mixed."""
    model = part("hexahedron20", "rigid", (3, 1, 1))
    basis = reduction.craig_bampton(model, modes=1, reference_frame=reference_frame)
    g = explicit_fields(model, basis)
    eta = np.random.default_rng(2).normal(size=basis.n_modes) / np.sqrt(basis.eigenvalues)
    eta *= 0.05 / np.abs(basis.Psi @ eta).max()
    quadratic = 0.5 * basis.eigenvalues @ eta**2

    def cubic(field):
        def energy(s):
            u = s * basis.Psi @ eta + 0.5 * s * s * np.einsum("dij,i,j->d", field, eta, eta)
            return green_strain_energy(model, u.reshape(-1, 3))

        return (energy(1e-2) - energy(-1e-2)) / 2e-6 / quadratic

    assert abs(cubic(np.zeros_like(g))) > 1e-3
    assert abs(cubic(g)) < 1e-6


def test_mean_axes_have_no_second_order_momentum():
    """With mean axes `int g = 0` and `int X x g = 0`: the frame carries all momentum."""
    model = part("tetra10", "average")
    found = reduction.second_order(model, reduction.craig_bampton(model, modes=3))
    scale = np.abs(found.moments).max()
    assert np.abs(found.first).max() < 1e-9 * scale
    assert np.abs(found.moments - found.moments.transpose(1, 0, 2, 3)).max() < 1e-9 * scale


LENGTH, SIDE = 10.0, np.sqrt(0.006)
SLENDER = fem.Material.isotropic(2.8e7 / 0.006, 0.0, 200.0)


def slender(reference_frame="root", modes=8):
    """Meijaard's beam as a solid: EI 14000, EA 2.8e7, 1.2 of mass a length."""
    mesh = block("hexahedron20", (LENGTH, SIDE, SIDE), (40, 1, 1))
    model = fem.Model(mesh, SLENDER).with_interfaces(root="x0", tip=fem.Interface("x1", kind="average"))
    return model, reduction.craig_bampton(model, modes=modes, reference_frame=reference_frame)


def test_a_beam_shortens_by_half_the_square_of_its_slope():
    model, basis = slender(modes=0)
    edge = np.flatnonzero((model.points[:, 1] == 0) & (model.points[:, 2] == 0))
    edge = edge[np.argsort(model.points[edge, 0])]
    x, w = model.points[edge, 0], basis.Psi.reshape(-1, 3, basis.n_modes)[edge]
    slope = np.gradient(w[:, 1:, 0], x, axis=0)
    tip = reduction.second_order(model, basis).interfaces["tip"]
    assert tip[0, 0, 0] == pytest.approx(-np.trapezoid((slope**2).sum(axis=1), x), rel=2e-3)


@pytest.mark.parametrize("mesh", ["solid", "beam"])
def test_pictures_of_a_bent_beam_keep_its_length(mesh, tmp_path):
    """The centre line of a cantilever that turns by 0.3 rad at its tip: of first order only, it is drawn too long."""
    if mesh == "solid":
        model, basis = slender(modes=2)
    else:
        beam = fem.Beam(SLENDER, fem.Section.rectangle(SIDE, SIDE))
        model = fem.Model(line((0, 0, 0), (LENGTH, 0, 0), 40), beam).with_interfaces(root="start", tip="end")
        basis = reduction.craig_bampton(model, modes=2, reference_frame="root")
    stations = np.unique(np.round(model.points[:, 0], 9))

    def length(points):  # the solid's four edges, averaged, are its centre line
        edges = [
            np.isclose(model.points[:, 0], x) & ~np.isclose(model.points[:, 1:], SIDE / 2).any(axis=1) for x in stations
        ]
        centre = np.array([points[edge].mean(axis=0) for edge in edges])
        return np.linalg.norm(np.diff(centre, axis=0), axis=1).sum()

    save_body(flexmb.flexible_body(model, basis), tmp_path / "body.h5")
    body = load_body(tmp_path / "body.h5")
    eta = np.zeros(body.modes)
    eta[0] = 0.3 / np.linalg.norm(body.interfaces["tip"].rows[3:, 0])
    assert length(model.points + (body.Psi @ eta).reshape(-1, 3)) > 1.01 * LENGTH
    assert length(model.points + body.displacements(eta)) == pytest.approx(LENGTH, rel=1e-3)
    picked = np.array([5, 2])
    np.testing.assert_array_equal(body.displacements(eta, picked), body.displacements(eta)[picked])


@pytest.mark.parametrize("frame", [None, "root"])
def test_drawn_nodes_of_a_rigid_link_move_with_their_reference_to_second_order(frame):
    """They keep their distance: `d . (g_node - g_reference) = -|theta x d|^2`; and their mean motion is that of the
    interface on them, by its integrals."""
    beam = line((0, 0, 0), (1, 0, 0), 4)
    points = np.vstack([beam.points, [[1.1, 0.3, 0.2], [1.2, 0.4, 0.2], [1.0, 0.2, 0.4]]])
    linked = fem.Mesh(points, beam.cells, constraints=(fem.RigidLink([5, 6, 7], 4),))
    model = fem.Model(linked, fem.Beam(MATERIAL, fem.Section.rectangle(0.1, 0.2)))
    model = model.with_interfaces(root=[0], tip=fem.Interface([5, 6, 7], "average"))
    basis = reduction.craig_bampton(model, 2, frame)
    field, second = second_order_modes(model, basis), second_order(model, basis).interfaces["tip"]
    theta = model.dof_map.expand(np.asarray(basis.Psi))[model.dof_map.rotations(4)]
    d = points[5] - points[4]
    for (i, j), g in zip(field.pairs, np.moveaxis(field.shapes, 2, 0), strict=True):
        stretch = np.cross(theta[:, i], d) @ np.cross(theta[:, j], d)
        scale = 1e-5 * np.linalg.norm(second[:3, i, j])
        assert d @ (g[5] - g[4]) == pytest.approx(-stretch, abs=scale)
        np.testing.assert_allclose(g[5:].mean(axis=0), second[:3, i, j], atol=scale)


def test_euler_load_of_one_reduced_body():
    model, basis = slender()
    second = reduction.second_order(model, basis).interfaces["tip"]
    inverse = sl.eigvalsh(-second[0], np.diag(basis.eigenvalues))[-1]
    assert 1 / inverse == pytest.approx(np.pi**2 * 14000 / (4 * LENGTH**2), rel=1e-3)


@cache
def cantilever():
    return steady_rotation.cantilever()


@pytest.mark.filterwarnings("ignore::flexmb.IllConditionedWarning")  # of a slender solid
@pytest.mark.parametrize("speed", [6.0, *(pytest.param(speed, marks=pytest.mark.long) for speed in (0.0, 2.0, 12.0))])
def test_rotating_cantilever_follows_southwell(speed):
    unit = steady_rotation.UNIT
    flap, lag = steady_rotation.lowest_frequencies(cantilever(), speed * unit)
    exact = steady_rotation.exact_flap_frequency(speed)
    assert flap / unit == pytest.approx(exact, rel=1e-3)
    assert lag / unit == pytest.approx(np.sqrt(exact**2 - speed**2), rel=1e-3)


def test_without_it_the_same_body_loses_its_stiffness():
    body = flexmb.flexible_body(*slender(), geometric_stiffness="none")
    rate = 6.0 * np.sqrt(14000 / 1.2) / LENGTH**2  # above its first bending frequency
    assert np.isnan(steady_rotation.lowest_frequencies(body, rate)[1])


def test_choices_are_named_and_matrices_have_none():
    model, basis = part(), reduction.craig_bampton(part(), modes=1)
    with pytest.raises(fem.MatrixError, match=r"no geometric stiffness named 'full'.*'none', 'second-order'"):
        flexmb.flexible_body(model, basis, geometric_stiffness="full")
    bare = fem.Model.from_matrices(model.M, model.K, model.points)
    bare = bare.with_interfaces(root=model.interfaces["root"].nodes, tip=model.interfaces["tip"].nodes)
    basis = reduction.craig_bampton(bare, modes=1)
    assert not flexmb.flexible_body(bare, basis).invariants.second_order
    with pytest.raises(fem.MatrixError, match="needs its elements"):
        flexmb.flexible_body(bare, basis, geometric_stiffness="second-order")


def test_exact_flap_frequencies_are_the_published_ones():
    """Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982) 197-202, uniform beam without hub."""
    published = {0: 3.5160, 2: 4.1373, 6: 7.3604, 12: 13.1702}
    for speed, value in published.items():
        assert steady_rotation.exact_flap_frequency(speed) == pytest.approx(value, abs=2e-4)
    root = brentq(lambda z: np.cos(z) * np.cosh(z) + 1, 1.8, 2.0)
    assert steady_rotation.exact_flap_frequency(0.0) == pytest.approx(root**2, rel=1e-9)


def test_pairs_of_a_hundredth_of_the_softest_amplitude_are_drawn():
    """At equal strain energy amplitudes go as 1 / omega: relative to the softest pair they are 0.14, 0.02, 0.014, 0.002."""
    assert leading_pairs(np.array([1.0, 50.0, 5000.0])).tolist() == [[0, 0], [0, 1], [1, 1], [0, 2]]
