"""Constraints: elimination against Lagrange multipliers, rigid links against rigid interfaces, second-order motion."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl

import fem
import flexmb
import reduction
from fem.errors import InterfaceError, MatrixError, MeshError
from fem.mesh.structured_meshes import block

STEEL = fem.Material.steel()


def bar(reference=(-0.1, 0.02, 0.01)):
    """A block with a node beside it that no cell uses; the numbers of the nodes of its face x0, and of that node."""
    mesh = block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 2))
    mesh = replace(mesh, points=np.vstack([mesh.points, reference]))
    return mesh, mesh.nodes("x0"), len(mesh.points) - 1


def linked():
    mesh, face, reference = bar()
    return fem.Model(mesh, STEEL).with_constraints(fem.RigidLink(face, reference, source="a flange"))


def constraint_matrix(model, rows):
    """Dense rows over the dofs of all nodes."""
    A = np.zeros((len(rows), model.dof_map.size_of_all))
    for row, terms in zip(A, rows, strict=True):
        for dof, c in terms:
            row[dof] += c
    return A


def test_elimination_gives_the_vibrations_of_the_space_that_the_equations_leave():
    """Chains, an equation that repeats others, and a dependent dof named twice, against the null space of the rows."""
    mesh = block("tetra", (1.0, 0.7, 0.4), (2, 2, 1))
    free = fem.Model(mesh, STEEL)
    terms = [
        [((0, 0), 1.0), ((1, 0), -2.0), ((2, 1), 0.5)],
        [((1, 0), 1.0), ((3, 2), 0.7)],
        [((0, 0), 1.0), ((4, 1), 3.0)],
        [((0, 0), 2.0), ((1, 0), -3.0), ((2, 1), 1.0), ((3, 2), 0.7), ((4, 1), 0.0)],
        [((5, 2), 1.0), ((6, 2), -0.3), ((0, 0), 0.2)],
    ]
    equations = [
        fem.Equation([n for (n, _), _ in row], [c for (_, c), _ in row], [v for _, v in row], f"equation {k}")
        for k, row in enumerate(terms)
    ]
    model = free.with_constraints(*equations)
    A = constraint_matrix(free, [[(3 * n + c, v) for (n, c), v in row] for row in terms])
    Z = sl.null_space(A)
    assert model.ndof == Z.shape[1]
    T = model.dof_map.T.toarray()
    np.testing.assert_allclose(A @ T, 0, atol=1e-13)
    ours = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)
    exact = sl.eigh(Z.T @ (free.K @ Z), Z.T @ (free.M @ Z), eigvals_only=True)
    np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9 * exact[-1])
    assert model.dof_map.holding == tuple(f"equation {k}" for k in range(5))
    with pytest.raises(MatrixError, match=r"held in space.*equation 0"):
        reduction.modal(model, 3)


def test_a_rigid_link_is_a_rigid_interface():
    """The body is the same, to second order, whether its face is a rigid interface or linked to a reference node."""
    mesh, face, reference = bar()
    plain = fem.Model(block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 2)), STEEL)
    plain = plain.with_interfaces(root=fem.Interface(face, point=mesh.points[reference]), tip="x1")
    model = linked().with_interfaces(root=[reference], tip="x1")
    bodies = []
    for part in (plain, model):
        basis = reduction.craig_bampton(part, modes=4, reference_frame="root")
        reduction.basis.check(basis, part)
        bodies.append(flexmb.flexible_body(part, basis))
    a, b = bodies
    np.testing.assert_allclose(b.stiffness, a.stiffness, rtol=1e-9)
    for name in ("mass", "s0", "S1", "SG", "J0", "J1", "J2", "h0", "h", "PG"):
        x, y = (np.abs(getattr(body.invariants, name)) for body in bodies)
        np.testing.assert_allclose(y, x, rtol=1e-6, atol=1e-8 * np.max(x), err_msg=name)
    second = [np.abs(body.interfaces["tip"].second) for body in bodies]
    np.testing.assert_allclose(second[1], second[0], rtol=1e-6, atol=1e-8 * second[0].max())
    shapes = [np.abs(body.quadratic.shapes[: len(plain.points)]) for body in bodies]
    np.testing.assert_allclose(shapes[1], shapes[0], rtol=1e-4, atol=1e-5 * shapes[0].max())


def test_geometric_stiffness_of_linked_nodes_turns_with_the_part():
    """`K_G(u) r = a x f` on translations and `a x m / 2` on the reference, f and m the internal forces of u."""
    model = linked()
    dofs = model.dof_map
    u = np.random.default_rng(0).standard_normal(model.ndof)
    a = np.array([0.3, -0.5, 0.8])
    forces = model.K @ u
    wanted = np.concatenate([np.cross(a, f) for f in forces.reshape(-1, 3)])
    wanted[-3:] /= 2
    r = model.rigid_body_modes()[:, 3:] @ a
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(model.geometric_stiffness(u) @ r / scale, wanted / scale, atol=1e-12)
    V = np.random.default_rng(1).standard_normal((model.ndof, 3))
    projected = model.projected_geometric_stiffness(u[:, None], V)[0]
    np.testing.assert_allclose(projected, V.T @ model.geometric_stiffness(u) @ V, rtol=1e-9, atol=1e-12 * scale)
    pairs = np.array([[0, 1], [2, 2]])
    work = u @ model.quadratic_strain_loads(V, pairs)
    np.testing.assert_allclose(work, [projected[i, j] for i, j in pairs], rtol=1e-9)
    assert dofs.size_of_all - dofs.size == 3 * len(dofs.link_nodes)


@pytest.mark.parametrize("way", ["by a middle node", "in the other order", "twice", "axis by axis"])
def test_links_of_linked_nodes_are_one_rigid_body_to_second_order(way):
    """However links describe one rigid body, stresses stiffen it alike; a chain lost the second order of its middle."""
    mesh, face, reference = bar()
    mesh = fem.Mesh(np.vstack([mesh.points, [-0.4, 0.3, 0.2]]), mesh.cells)
    middle, far = reference, len(mesh.points) - 1
    chain = (fem.RigidLink([middle], far), fem.RigidLink(face, middle))
    links = {
        "by a middle node": chain,
        "in the other order": chain[::-1],
        "twice": (*chain, fem.RigidLink(face, far)),
        "axis by axis": (chain[0], *(fem.RigidLink(face, far, components=(k,)) for k in range(3))),
    }[way]
    plain = fem.Model(mesh, STEEL)
    whole = plain.with_constraints(fem.RigidLink([*face, middle], far))
    model = plain.with_constraints(*links)
    rows = [m.dof_map.rotations(far) for m in (whole, model)]
    assert whole.ndof == model.ndof
    assert all((m.dof_map.places(own) >= 0).all() for m, own in zip((whole, model), rows, strict=True))
    u = np.random.default_rng(3).standard_normal(model.ndof)
    V = np.random.default_rng(4).standard_normal((model.ndof, 3))
    wanted, found = (m.geometric_stiffness(u).toarray() for m in (whole, model))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    pairs = np.array([[0, 1], [2, 2]])
    wanted, found = (m.quadratic_strain_loads(V, pairs) for m in (whole, model))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    wanted, found = (m.projected_geometric_stiffness(u[:, None], V) for m in (whole, model))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


def test_a_mean_link_is_an_average_interface():
    mesh, face, reference = bar()
    weights = np.random.default_rng(2).uniform(1, 2, len(face))
    plain = fem.Model(block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 2)), STEEL)
    average = fem.Interface(face, "average", mesh.points[reference], weights)
    plain = plain.with_interfaces(root=average, tip="x1")
    B = plain.interfaces["root"].interface_matrix(plain).toarray()
    model = fem.Model(mesh, STEEL).with_constraints(fem.MeanLink(face, reference, weights))
    model = model.with_interfaces(root=fem.Interface([reference], "average"), tip="x1")
    np.testing.assert_allclose(model.interfaces["root"].interface_matrix(model).toarray(), B, atol=1e-12)
    assert model.ndof == plain.ndof
    modes = [reduction.modal(part, 4).frequencies for part in (plain, model)]
    np.testing.assert_allclose(modes[1], modes[0], rtol=1e-9)
    with pytest.raises(InterfaceError, match="follow others by constraints"):
        model.with_interfaces(root=[reference])


@pytest.mark.parametrize(("components", "free"), [((0, 1, 2), 3), ((0, 1, 2, 3), 2), ((0, 1, 2, 3, 4, 5), 0)])
def test_what_hangs_on_a_point_that_follows_translations_of_a_mean_turns_freely(components, free):
    """A rigid body of four masses: a mean without rotations (RBE3 with REFC 123) is a ball joint, with one a Cardan."""
    solid = block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 2))
    n, point = len(solid.points), np.array([1.3, 0.05, 0.1])
    masses = point + np.array([[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.1], [-0.1, -0.1, 0.2]])
    mesh = replace(
        solid,
        points=np.vstack([solid.points, point, masses]),
        masses=tuple(fem.NodeMass(n + 1 + k, 3.0) for k in range(4)),
        constraints=(fem.MeanLink(solid.nodes("x1"), n, components=components), fem.RigidLink(range(n + 1, n + 5), n)),
    )
    model = fem.Model(mesh, STEEL)
    assert model.ndof == 3 * n + free
    found = fem.natural_modes(model, 8 + free)
    assert found.rigid_motions == 6 + free
    assert found.frequencies[6 + free] > 1.0


def test_beams_hang_on_a_solid_by_a_link():
    """A frame of a block and a beam, linked rigidly over the face, is one part with six rigid motions."""
    solid = block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 2))
    n = len(solid.points)
    points = np.vstack([solid.points, [[1.0, 0.1, 0.15], [1.5, 0.1, 0.15]]])
    blocks = (*solid.cells, fem.CellBlock("line", np.array([[n, n + 1]])))
    mesh = fem.Mesh(points, blocks, node_sets=solid.node_sets, cell_sets={"block": np.arange(8), "beam": np.array([8])})
    beam = fem.Beam(STEEL, fem.Section.rectangle(0.05, 0.05))
    hinged = fem.Model(mesh, {"block": STEEL, "beam": beam})
    with pytest.raises(MatrixError, match="falls into 2 parts"):
        reduction.modal(hinged, 2)
    model = hinged.with_constraints(fem.RigidLink(solid.nodes("x1"), n))
    values = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)
    assert (np.abs(values[:6]) < 1e-9 * values[-1]).all()
    assert values[6] > 1e3 * np.abs(values[:6]).max()
    assert model.mass == pytest.approx(STEEL.density * (1.0 * 0.2 * 0.3 + 0.5 * 0.05**2))
    found = reduction.modal(model, 4).frequencies
    np.testing.assert_allclose(found, np.sqrt(values[6:10]) / (2 * np.pi), rtol=1e-6)


def test_joined_parts_keep_their_constraints():
    part = linked().with_interfaces(root=[len(linked().points) - 1], tip="x1")
    other = fem.Model(block("hexahedron", (0.5, 0.2, 0.3), (2, 1, 2)), STEEL)
    other = replace_points(other, [1.0, 0, 0]).with_interfaces(base="x0")
    parts = {"a": part, "b": other}
    welds = {"weld": ["a tip", "b base"]}
    whole = fem.join(parts, welds)
    assert whole.ndof == part.ndof + other.ndof
    bases = {name: reduction.craig_bampton(model, modes=14) for name, model in parts.items()}
    synthesised = reduction.synthesise(whole, parts, bases, welds)
    direct = reduction.modal(whole, 3)
    np.testing.assert_allclose(synthesised.frequencies[:3], direct.frequencies[:3], rtol=2e-3)


def replace_points(model, shift):
    return fem.Model(replace(model.mesh, points=model.mesh.points + shift), STEEL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fem.Equation([0, 1], [0, 0], [1.0]), "a coefficient for each term"),
        (lambda: fem.Equation([0], [7], [1.0]), "0 to 6"),
        (lambda: linked().with_constraints(fem.Equation([0], [6], [1.0])), "which has 0 of them"),
        (lambda: fem.Equation([0], [0], [0.0]), "not all zero"),
        (lambda: fem.RigidLink([0, 1], 1), "among the nodes"),
        (lambda: fem.RigidLink([], 1), "no node follows"),
        (lambda: fem.MeanLink([0, 1], 2, [1.0, -1.0]), "positive weight"),
        (lambda: fem.MeanLink([0, 1], 2, [1.0, np.inf]), "finite, positive weight"),
        (lambda: fem.RigidLink([0, 1], 2, components=(1, 6)), r"from 0 to 5, .* found \(1, 6\)"),
        (lambda: fem.RigidLink([0, 1], 2, components="xyz"), "from 0 to 5, .* found 'xyz'"),
        (lambda: fem.RigidLink([0, 1], 2, components=(True, False)), r"from 0 to 5, .* found \(True"),
        (lambda: fem.MeanLink([0, 1], 2, components=(-1,)), r"from 0 to 5, .* found \(-1,\)"),
        (lambda: fem.MeanLink([0, 1], 2, components=()), r"from 0 to 5, .* found \(\)"),
        (lambda: fem.RigidLink([0, 1], 2.0), "the reference is the number of a node; found 2.0"),
        (lambda: fem.NodeMass(2.5, 1.0), "is at the number of a node; found 2.5"),
        (lambda: linked().with_constraints(fem.RigidLink([999], 0)), "refers to node 999"),
        (lambda: linked().with_constraints(fem.RigidLink([0], 999)), "refers to node 999"),
        (lambda: linked().with_constraints(fem.Equation([4, -2], [0, 0], [1.0, 1.0])), "refers to node -2; .* 0 to 30"),
        (lambda: linked().with_constraints(fem.MeanLink([0, 1], 5)), "lie on one line"),
    ],
)
def test_unusable_constraints_are_refused(make, message, monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    with pytest.raises(MeshError, match=message):
        make()


def test_a_rigid_interface_on_linked_nodes_is_the_link():
    """Any nodes of one link stand for its reference; nodes of a link and others beside them cannot be one."""
    mesh, face, reference = bar()
    model = linked().with_interfaces(root=face)
    assert model.interfaces["root"].nodes.tolist() == [reference]
    np.testing.assert_allclose(model.interfaces["root"].point, mesh.points[face].mean(axis=0), atol=1e-12)
    with pytest.raises(InterfaceError, match="6 nodes that follow others by constraints"):
        linked().with_interfaces(root=np.arange(len(mesh.points) - 1))
