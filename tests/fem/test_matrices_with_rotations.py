"""Models from matrices with rotations of nodes, damping and gyroscopic terms."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block, line, sheet

STEEL = fem.Material.steel()


def plate(thickness=0.01):
    """Four by three quadrilaterals, tilted so that all rotations have stiffness."""
    mesh = sheet("quad", (0.4, 0.3), (4, 3))
    turn = sl.expm(np.cross(np.eye(3), [0.3, -0.4, 0.5]))
    return fem.Model(fem.Mesh(mesh.points @ turn.T, mesh.cells), fem.Shell(STEEL, thickness))


def interleaved(model):
    """Place of every dof `6 * node + component` among those of the model."""
    n = len(model.points)
    return np.hstack([np.arange(3 * n).reshape(n, 3), 3 * n + np.arange(3 * n).reshape(n, 3)]).ravel()


@pytest.fixture(scope="module")
def own():
    return plate().with_interfaces(a=[0, 1], b=fem.Interface([18, 19], "average"))


def test_six_dofs_a_node_in_any_order(own):
    order = interleaved(own)
    M, K = (A[order][:, order] for A in (own.M, own.K))
    given = fem.Model.from_matrices(M, K, own.points)
    assert abs(given.K - own.K).max() < 1e-12 * abs(own.K).max()
    assert abs(given.M - own.M).max() < 1e-12 * abs(own.M).max()
    shuffled = np.random.default_rng(0).permutation(len(order))
    dofs = np.argwhere(np.ones((len(own.points), 6)))[shuffled]
    again = fem.Model.from_matrices(M[shuffled][:, shuffled], K[shuffled][:, shuffled], own.points, dofs=dofs)
    assert abs(again.K - own.K).max() < 1e-12 * abs(own.K).max()
    own, again = (m.with_interfaces(a=[0, 1], b=[18, 19]) for m in (own, again))
    for name in "ab":
        theirs, ours = (m.interfaces[name].interface_matrix(m).toarray() for m in (again, own))
        np.testing.assert_allclose(theirs, ours, atol=1e-12 * abs(ours).max())
    frequencies = [reduction.craig_bampton(m, modes=4).frequencies for m in (own, again)]
    np.testing.assert_allclose(*frequencies, rtol=1e-9)


def test_solids_and_shells_in_one(own):
    """Nodes without rotations beside nodes with them, in the dofs of all nodes of a deck of Nastran."""
    solid = fem.Model(block("hexahedron", (0.4, 0.3, 0.2), (2, 1, 1)), STEEL)
    n, six = len(solid.points), np.argwhere(np.ones((len(solid.points), 6)))[:, 1] < 3
    wide = sp.lil_matrix((6 * n, 6 * n))
    M, K = wide.copy(), wide.copy()
    M[np.ix_(six, six)], K[np.ix_(six, six)] = solid.M.toarray(), solid.K.toarray()
    given = fem.Model.from_matrices(M, K, solid.points)
    assert len(given.rotation_nodes) == 0
    assert abs(given.K - solid.K).max() < 1e-12 * abs(solid.K).max()


def test_moments_of_accelerations_are_those_of_rotation(own):
    """`X_a e_b - X_b e_a` turns the part about the axis across: of matrices, of shells and of lumps on them."""
    order = interleaved(own)
    M, K = (A[order][:, order] for A in (own.M, own.K))
    given = fem.Model.from_matrices(M, K, own.points).with_interfaces(a=[0, 1])
    solid = fem.Model(block("hexahedron", (0.4, 0.3, 0.2), (2, 1, 1)), STEEL).with_interfaces(a="x0")
    heavy = solid.with_point_masses({"a": fem.PointMass(30.0, (3.0, 2.0, 1.5), (0.1, -0.2, 0.3))})
    for model in (own, given, heavy):
        loads, turned = model.moment_loads(), model.M @ model.rigid_body_modes()[:, 3:]
        for axis, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
            twisted = loads[:, 3 * a + b] - loads[:, 3 * b + a]
            np.testing.assert_allclose(twisted, turned[:, axis], atol=1e-12 * np.abs(turned).max())


def test_a_rotation_without_stiffness_is_no_dof():
    """A flat plate in the plane xy without drilling stiffness, as most programs export it."""
    mesh = sheet("quad", (0.4, 0.3), (4, 3))
    own = fem.Model(mesh, fem.Shell(STEEL, 0.01))
    order = interleaved(own)
    M, K = (A[order][:, order].tolil() for A in (own.M, own.K))
    drill = np.arange(5, len(order), 6)
    flat = own.K[order][:, order].toarray()
    for A in (M, K):
        A[drill] = 0
        A[:, drill] = 0
    # without its drilling part the plane stiffness resists rigid rotation about z: complete it by the membrane alone
    keep = np.setdiff1d(np.arange(len(order)), drill)
    S = flat[np.ix_(keep, keep)] - flat[np.ix_(keep, drill)] @ np.linalg.solve(
        flat[np.ix_(drill, drill)], flat[np.ix_(drill, keep)]
    )
    K[np.ix_(keep, keep)] = (S + S.T) / 2
    given = fem.Model.from_matrices(M, K, mesh.points)
    assert given.ndof == 5 * len(mesh.points)
    given = given.with_interfaces(a=fem.Interface(mesh.nodes(fem.on_plane((0, 0, 0), (1, 0, 0))), "average"))
    basis = reduction.modal(given, 4)
    np.testing.assert_allclose(basis.frequencies, reduction.modal(own, 4).frequencies, rtol=1e-5)
    with pytest.raises(fem.InterfaceError, match="follow others by constraints, or rotate without stiffness"):
        given.with_interfaces(a=[0, 1])


def test_the_body_of_a_plate_from_its_matrices():
    """The integrals are those of the plate from its mesh, which knows how its sections turn, to the rotary inertia."""
    errors = []
    for h in (0.01, 0.005):
        own = plate(h)
        order = interleaved(own)
        given = fem.Model.from_matrices(own.M[order][:, order], own.K[order][:, order], own.points)
        basis = reduction.modal(own, 4)
        theirs, ours = (flexmb.flexible_body(m, basis, geometric_stiffness="none").invariants for m in (given, own))
        assert theirs.mass == pytest.approx(ours.mass, rel=1e-12)
        for name in ("s0", "S1", "J0", "h0"):
            np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), atol=1e-11)
        apart = [abs(getattr(theirs, name) - getattr(ours, name)).max() for name in ("J1", "J2", "h")]
        errors.append(np.array(apart) / [abs(ours.J2).max(), abs(ours.J2).max(), abs(ours.h).max()])
    assert (errors[0] < (11 * 0.01 / 0.4) ** 2 / 12).all()  # (k h)^2 / 12, k the largest wave number of the modes
    assert errors[1][1] < 0.26 * errors[0][1]


def test_rotations_about_normals_carry_no_mass():
    """Of a plate from its matrices, in motions in its plane, where they are largest; its sections do not turn there."""
    own = plate(0.002)
    order = interleaved(own)
    given = fem.Model.from_matrices(own.M[order][:, order], own.K[order][:, order], own.points)
    basis = reduction.modal(own, 45)
    normal = sl.expm(np.cross(np.eye(3), [0.3, -0.4, 0.5]))[:, 2]
    moved = np.asarray(basis.Psi)[: 3 * len(own.points)].reshape(-1, 3, basis.n_modes)
    away = np.abs(np.einsum("c,ncm->nm", normal, moved)).max(axis=0) / np.abs(moved).max(axis=(0, 1))
    flat = np.flatnonzero(away < 1e-6)
    assert len(flat) > 2
    theirs, ours = (flexmb.flexible_body(m, basis, geometric_stiffness="none").invariants for m in (given, own))
    np.testing.assert_allclose(
        theirs.J2[np.ix_(flat, flat)], ours.J2[np.ix_(flat, flat)], atol=1e-6 * abs(ours.J2).max()
    )
    np.testing.assert_allclose(theirs.J1[flat], ours.J1[flat], atol=1e-6 * abs(ours.J1).max())


WRONG = {
    "shape": (lambda a: {"M": a["M"][:-1, :-1]}, "M has 119 rows; 20 nodes with 3 dofs each need"),
    "K": (lambda a: {"K": a["K"][:-6, :-6]}, r"K has shape \(114, 114\); expected \(120, 120\)"),
    "order": (lambda a: {"dofs": np.roll(a["dofs"], 1, axis=1)}, "dofs should name nodes 0 to 19"),
    "twice": (lambda a: {"dofs": np.where(a["dofs"] == [[0, 4]], 0, a["dofs"])}, "twice"),
    "few": (lambda a: {"dofs": a["dofs"][6:] , **{k: a[k][6:, 6:] for k in "MK"}}, "3 translations are missing"),
    "grounded damper": (lambda a: {"damping": sp.eye(120)}, "damps rigid motion"),
    "active": (lambda a: {"damping": -a["K"]}, "supplies energy"),
    "not square": (lambda a: {"damping": a["K"][:60]}, "expected a square matrix"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_matrices_are_refused(case, own):
    order = interleaved(own)
    right = {"M": own.M[order][:, order], "K": own.K[order][:, order], "dofs": np.argwhere(np.ones((20, 6)))}
    change, words = WRONG[case]
    arguments = {**right, **change(right)}
    if case in ("shape", "K"):
        arguments["dofs"] = None
    with pytest.raises(MatrixError, match=words):
        fem.Model.from_matrices(arguments.pop("M"), arguments.pop("K"), own.points, **arguments)


def test_damping_of_the_model(own):
    order = interleaved(own)
    D = 1e-5 * own.K
    given = fem.Model.from_matrices(
        own.M[order][:, order], own.K[order][:, order], own.points, damping=D[order][:, order]
    )
    assert abs(given.D - D).max() < 1e-12 * abs(D).max()
    assert own.D is None


def with_parts(A, large):
    """The same matrix in rows that hold a diagonal entry in three parts, two of which cancel."""
    A = sp.coo_matrix(A)
    at, parts = np.arange(A.shape[0]), np.full(A.shape[0], large)
    rows, columns = np.concatenate([A.row, at, at]), np.concatenate([A.col, at, at])
    order, values = np.argsort(rows, kind="stable"), np.concatenate([A.data, parts, -parts])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=A.shape[0]))])
    return sp.csr_matrix((values[order], columns[order], ends), shape=A.shape)


def test_entries_in_parts_are_summed_before_they_are_judged():
    """Parts that cancel are no scale: with them, a damper to the ground seemed to be round-off."""
    model = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (2, 1, 1)), STEEL)
    given = fem.Model.from_matrices(with_parts(model.M, 1.0), with_parts(model.K, 2.0**40), model.points)
    assert abs(given.M - model.M).max() < 1e-12
    kept = given.M.nnz
    assert kept == fem.Model.from_matrices(model.M, model.K, model.points).M.nnz
    grounded = with_parts(sp.eye(model.ndof), 2.0**40)
    with pytest.raises(MatrixError, match="damps rigid motion"):
        fem.Model.from_matrices(model.M, model.K, model.points, damping=grounded)


def test_matrices_without_the_places_of_their_nodes_are_refused():
    model = plate()
    with pytest.raises(MatrixError, match="need the coordinates of their nodes"):
        fem.Model.from_matrices(model.M, model.K, None)


def test_discs_in_matrices_are_named():
    """Nothing tells how a lump turns with a body that spins; the rotary inertia of beams is far below the bound."""
    shaft = fem.Model(line((0, 0, 0), (1.0, 0, 0), 6), fem.Beam(STEEL, fem.Section.circle(0.05)))
    order = interleaved(shaft)
    for disc in (0.0, 0.4):
        M = shaft.M.tolil()
        rotations = 3 * len(shaft.points) + 3 * 4 + np.arange(3)
        M[rotations, rotations] = M.diagonal()[rotations] + disc * np.array([1.0, 0.5, 0.5])
        M = M.tocsr()[order][:, order]
        given = fem.Model.from_matrices(M, shaft.K[order][:, order], shaft.points).with_interfaces(root=[0])
        basis = reduction.craig_bampton(given, modes=2, reference_frame="root")
        if disc:
            with pytest.warns(fem.MeshWarning, match=r"node 4 has \d+ % of the moments of inertia"):
                flexmb.flexible_body(given, basis)
        else:
            flexmb.flexible_body(given, basis)


def test_lumps_of_parts_from_matrices_are_named():
    """Those with inertia, or beside their interface."""
    solid = fem.Model(block("hexahedron20", (1.0, 0.1, 0.1), (2, 1, 1)), STEEL)
    given = fem.Model.from_matrices(solid.M, solid.K, solid.points)
    given = given.with_interfaces(root=solid.mesh.nodes("x0"), tip=solid.mesh.nodes("x1"))
    for lump, named in ((fem.PointMass(5.0), False), (fem.PointMass(5.0, offset=(0.5, 0, 0)), True)):
        heavy = given.with_point_masses({"tip": lump})
        basis = reduction.craig_bampton(heavy, modes=2)
        if named:
            with pytest.warns(fem.MeshWarning, match=r"the point mass at \(1.5, 0.05, 0.05\) has"):
                flexmb.flexible_body(heavy, basis)
        else:
            flexmb.flexible_body(heavy, basis)
