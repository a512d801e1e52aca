"""Dampers between nodes: their matrix, that of a reduced part and of a body, and where decks say them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
from test_deck_constraints import MODEL, read
from test_mesh_files import deck
from test_nastran import PLATE, plate

import fem
import flexmb
import reduction
from fem.errors import MatrixError, MeshError

BAR = fem.structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (6, 1, 1))
ENDS = [int(np.flatnonzero((BAR.points == corner).all(axis=1))[0]) for corner in ((0, 0, 0), (1, 0, 0))]
C = 4e4


def damped(*springs):
    model = fem.Model(replace(BAR, springs=springs), fem.Material.steel())
    return model.with_interfaces(a=np.flatnonzero(BAR.points[:, 0] == 0), b=np.flatnonzero(BAR.points[:, 0] == 1))


def complex_eigenvalues(system):
    """Those of oscillations, lowest first, and of decays between 50 and 1e5."""
    M, D, K = (np.asarray(A.todense() if hasattr(A, "todense") else A) for A in (system.M, system.D, system.K))
    n, rate = len(M), 1e4  # of the first modes, so that displacements and velocities are of one size
    values = sl.eigvals(np.block([[0 * K, rate * np.eye(n)], [-K / rate, -D]]), sl.block_diag(np.eye(n), M))
    values = values[(values.imag > -1e-6 * abs(values)) & (abs(values) > 50) & (abs(values) < 1e5)]
    return values[np.argsort(abs(values))]


def test_a_damper_is_in_the_matrix_of_the_model_of_its_reduction_and_of_its_body():
    """Complex eigenvalues of the reduced part are those of the whole; the body is that of imported matrices."""
    damper = fem.NodeSpring(ENDS, [0, 0], [-1.0, 1.0], damping=C)
    model = damped(damper)
    row = np.zeros(model.ndof)
    row[[3 * ENDS[0], 3 * ENDS[1]]] = -1, 1
    np.testing.assert_allclose(model.D.toarray(), C * np.outer(row, row))
    assert damped().D is None
    assert abs(model.K - damped().K).max() == 0
    both = damped(replace(damper, stiffness=3e5))
    np.testing.assert_allclose((both.K - model.K).toarray(), 3e5 * np.outer(row, row), atol=1e-4)
    assert "damper: 40000, a spring" in str(model.mesh)

    free = fem.Model(model.mesh, fem.Material.steel())
    every = reduction.modal(free, free.ndof - 7)  # and the shape of the damper
    whole, small = (reduction.linear_system(free, b, inputs=[row], rigid=False) for b in (None, every))
    found = [complex_eigenvalues(system)[:4] for system in (whole, small)]
    assert -found[0].real.min() > 20
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)

    basis = reduction.craig_bampton(model, modes=4)
    body = flexmb.flexible_body(model, basis)
    given = fem.Model.from_matrices(model.M, model.K, model.points, damping=model.D).with_interfaces(
        a=model.interfaces["a"].nodes, b=model.interfaces["b"].nodes
    )
    same = flexmb.flexible_body(given, basis)
    np.testing.assert_allclose(body.damping, same.damping)
    np.testing.assert_allclose(body.velocity_matrix, same.velocity_matrix)


@pytest.mark.parametrize(("constant", "spring"), [(C, 2e8), (100 * C, 0.0)])
def test_a_basis_holds_what_the_force_of_a_damper_deforms(constant, spring):
    """A damper behind a spring, which relaxes alone, and a strong one: from few modes the complex eigenvalues of the
    whole part. Without the shape of its force the first one would never relax, and the second one would hardly damp."""
    behind = len(BAR.points)
    mesh = replace(BAR, springs=(fem.NodeSpring(ENDS, [0, 0], [-1.0, 1.0], damping=constant),))
    if spring:
        mesh = replace(
            BAR,
            points=np.vstack([BAR.points, BAR.points[ENDS[0]]]),
            springs=(
                fem.NodeSpring([ENDS[0], behind], [0, 0], [-1.0, 1.0], spring),
                fem.NodeSpring([behind, ENDS[1]], [0, 0], [-1.0, 1.0], damping=constant),
            ),
            constraints=tuple(fem.Equation([behind, ENDS[0]], [c, c], [1.0, -1.0]) for c in (1, 2)),
        )
    model = fem.Model(mesh, fem.Material.steel())
    basis, load = reduction.modal(model, 16), np.eye(model.ndof)[0]
    assert basis.n_modes == 17
    systems = (reduction.linear_system(model, b, inputs=[load], rigid=False) for b in (None, basis))
    whole, small = (complex_eigenvalues(system)[:6] for system in systems)
    assert (abs(whole.imag) < 1e-6 * abs(whole)).sum() == 1
    np.testing.assert_allclose(small, whole, atol=1e-4 * abs(whole).max())


def test_every_reduction_holds_the_static_response_to_a_damper():
    edge = np.flatnonzero((BAR.points[:, 1:] == 0).all(axis=1))
    inner = edge[np.argsort(BAR.points[edge, 0])][[1, -2]]
    model = damped(fem.NodeSpring(inner, [0, 0], [-1.0, 1.0], damping=C))
    load = model.damper_loads.toarray()[:, 0]
    bases = {
        name: reduction.reduce(model, name, modes=3) for name in ("modal", "craig-bampton", "craig-chang", "herting")
    }
    found = {n: float((load @ b.Psi) ** 2 @ (1 / (2 * np.pi * b.frequencies) ** 2)) for n, b in bases.items()}
    np.testing.assert_allclose(list(found.values()), found["craig-chang"], rtol=1e-6)
    assert "damper 1" in reduction.response_error(model, bases["modal"], (0, 2000)).by_input
    beside = int(np.flatnonzero((BAR.points == (0, 0.1, 0)).all(axis=1))[0])
    within = damped(fem.NodeSpring([ENDS[0], beside], [1, 1], [-1.0, 1.0], damping=C))  # of a rigid interface
    assert reduction.craig_bampton(within, 2).n_modes == reduction.craig_bampton(damped(), 2).n_modes


def test_dampers_to_the_ground_and_springs_to_it_are_named():
    across = fem.NodeSpring(ENDS, [1, 1], [-1.0, 1.0], damping=C, source="DASHPOT, line 7 of part.inp")
    for wrong in (across, fem.NodeSpring(ENDS[:1], [0], [1.0], damping=C, source="DASHPOT, line 7 of part.inp")):
        with pytest.raises(MatrixError, match=r"DASHPOT, line 7 of part.inp damps rigid motion"):
            reduction.modal(damped(wrong), 4)
    grounded = fem.NodeSpring(ENDS[:1], [0], [1.0], 1e7, source="SPRING, line 9 of part.inp")
    with pytest.raises(MatrixError, match=r"not free of stiffness .*Springs hold it: SPRING, line 9 of part.inp"):
        reduction.modal(damped(grounded), 4)
    with pytest.raises(MeshError, match="damping must be positive"):
        fem.NodeSpring([0], [0], [1.0], damping=-1.0)
    with pytest.raises(MeshError, match="stiffness must be positive and finite; found inf"):
        fem.NodeSpring([0], [0], [1.0], np.inf)
    with pytest.raises(MeshError, match="stiffness or a damping above zero"):
        fem.NodeSpring([0], [0], [1.0])


@pytest.mark.parametrize(
    ("kind", "nodes", "dofs", "expected"),
    [("DASHPOTA", "101, 103", "", [(-1, 0, 0), (1, 0, 0)]), ("DASHPOT2", "101, 103", "3, 1", [(0, 0, 1), (-1, 0, 0)]), ("DASHPOT1", "103", "2", [(0, 1, 0)])],
)  # fmt: skip
def test_dashpots_of_abaqus(kind, nodes, dofs, expected, tmp_path):
    text = f"*ELEMENT, TYPE={kind}, ELSET=s\n9, {nodes}\n*DASHPOT, ELSET=s\n{dofs}\n12.5\n"
    mesh = read(tmp_path, text)
    assert [(s.stiffness, s.damping) for s in mesh.springs] == [(0, 12.5)]
    label = {int(number): k for k, number in enumerate(mesh.node_ids)}
    row = np.zeros((len(mesh.points), 3))
    for node, direction in zip(nodes.split(", "), expected, strict=True):
        row[label[int(node)]] = direction
    np.testing.assert_allclose(fem.Model(mesh).D.toarray(), 12.5 * np.outer(row, row), atol=1e-12)
    assert fem.read_mesh(deck(tmp_path, MODEL + text), ignore=["DASHPOT"]).springs == ()


def test_dampers_of_nastran(tmp_path):
    """CDAMP1, the second of a PDAMP; CDAMP2; CVISC along and about its line; B beside K, and alone, of a PBUSH."""
    x, y, _ = PLATE.points[4].tolist()
    text = f"GRID,90,,1.2,.3,.1\nGRID,91,,{x!r},{y!r},0.\nRBAR,80,90,5,123456\nRBE2,81,91,123456,6\nCORD2R,3,,0.,0.,0.,0.,1.,0.,+\n+,1.,0.,0.\n"
    text += "CDAMP1,60,8,5,1,91,1\nPDAMP,7,1.,8,2.5\nCDAMP2,61,3.5,5,3,91,3\nCVISC,62,9,90,10\nPVISC,9,4.,5.\n"
    text += "CBUSH,70,9,91,5,,,,3\nPBUSH,9,K,3.+3,,,,,,+\n+,,B,6.,7.\n"
    mesh = plate(tmp_path, text, loud=False)
    assert mesh.unread == ()
    assert [(s.stiffness, s.damping) for s in mesh.springs] == [(0, 2.5), (0, 3.5), (0, 4), (0, 5), (3e3, 6), (0, 7)]
    label = {int(n): k for k, n in enumerate(mesh.node_ids)}
    line = mesh.points[label[10]] - mesh.points[label[90]]
    line /= np.linalg.norm(line)
    for spring, first in zip(mesh.springs[2:4], (0, 3), strict=True):
        row = np.zeros((len(mesh.points), 6))
        np.add.at(row, (spring.nodes, spring.components), spring.coefficients)
        np.testing.assert_allclose(row[label[10], first : first + 3], line, atol=1e-12)
        np.testing.assert_allclose(row[label[90]], -row[label[10]], atol=1e-12)
    wrong = plate(tmp_path, text.replace("+,,B,6.,7.", "+,,GE,.02"), loud=False)
    assert "a line GE of its PBUSH" in wrong.unread[0].text
    lost = plate(tmp_path, text.replace("PDAMP,7,1.,8", "PDAMP,7,1.,9"), loud=False)
    assert "the deck has no PDAMP 8" in lost.unread[0].text


def test_springs_meet_at_nodes_of_no_cell():
    """Two springs one after the other are half of one; a constraint elsewhere in the part takes nothing from that."""
    alone, far = len(BAR.points), len(BAR.points) + 1
    mesh = replace(
        BAR,
        points=np.vstack([BAR.points, [[0.5, 0.3, 0.0], [0.5, 0.0, 0.3]]]),
        springs=tuple(fem.NodeSpring([end, alone], [1, 1], [-1.0, 1.0], 2 * C) for end in ENDS),
        constraints=(fem.MeanLink(np.arange(4), far),),
    )
    model = fem.Model(mesh, fem.Material.steel())
    dofs = model.dof_map.places(model.dof_map.translations(np.array([alone, *ENDS])))[:, 1]
    assert dofs.min() >= 0
    K = model.K.toarray()
    assert K[dofs[0], dofs[0]] == pytest.approx(4 * C)
    ends, half = np.ix_(dofs[1:], dofs[1:]), K[dofs[1:], dofs[0]]
    own = (
        fem.Model(BAR, fem.Material.steel())
        .K[[3 * end + 1 for end in ENDS]]
        .toarray()[:, [3 * end + 1 for end in ENDS]]
    )
    left = K[ends] - np.outer(half, half) / K[dofs[0], dofs[0]] - own
    np.testing.assert_allclose(left, C * np.array([[1.0, -1.0], [-1.0, 1.0]]), atol=1e-9 * own.max())


def test_a_spring_turns_the_point_of_a_mean_that_follows_translations():
    """Such a point turns with the nodes where nothing else has to do with its rotations, and freely where a spring has."""
    first, second = len(BAR.points), len(BAR.points) + 1
    ends = [np.flatnonzero(BAR.points[:, 0] == x) for x in (0.0, 1.0)]
    mesh = replace(
        BAR,
        points=np.vstack([BAR.points, [[0.0, 0.05, 0.05], [1.0, 0.05, 0.05]]]),
        constraints=(fem.MeanLink(ends[0], first, components=(0, 1, 2)), fem.MeanLink(ends[1], second)),
    )
    spring = fem.NodeSpring([first, second], [3, 3], [-1.0, 1.0], 1e3)
    plain, sprung = (fem.Model(replace(mesh, springs=s), fem.Material.steel()) for s in ((), (spring,)))
    assert sprung.ndof == plain.ndof + 3
    places = sprung.dof_map.places(sprung.dof_map.rotations(np.array([first])))[0]
    K, others = sprung.K.toarray(), np.setdiff1d(np.arange(sprung.ndof), places)
    x = K[np.ix_(others, places[:1])] / K[places[0], places[0]]
    K = K[np.ix_(others, others)] - x @ K[np.ix_(places[:1], others)]
    np.testing.assert_allclose(K, plain.K.toarray(), atol=1e-9 * np.abs(K).max())


def test_ends_of_springs_that_coincide_remain_apart():
    """Two halves of a beam that a spring joins, with a seam of coincident nodes to merge."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0], [2, 0, 0], [3, 0, 0]])
    lines = (fem.CellBlock("line", np.array([[0, 1], [2, 3], [4, 5]])),)
    spring = fem.NodeSpring([1, 2], [0, 0], [1.0, -1.0], 1e5, source="CBUSH 7")
    merged = fem.merge_nodes(fem.Mesh(points, lines, springs=(spring,)))
    assert merged.cells[0].connectivity.tolist() == [[0, 1], [2, 3], [3, 4]]
    assert merged.springs[0].nodes.tolist() == [1, 2]
    third = fem.Mesh(np.vstack([points, points[1:2]]), lines, springs=(spring,))
    with pytest.raises(MeshError, match="weld the ends of CBUSH 7"):
        fem.merge_nodes(third)


@pytest.mark.parametrize(
    "link",
    [
        fem.Equation([1, 2], [2, 2], [1.0, -1.0], source="a slider"),
        fem.MeanLink([2, 3], 1, source="a mean"),
        fem.RigidLink([1], 2, components=(0, 1, 2), source="a pin"),
    ],
)
def test_nodes_that_a_constraint_connects_remain_apart(link):
    """A slider between coincident nodes is none that `check_mesh` asks to merge, and merging does not weld it."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0], [2, 0, 0], [3, 0, 0]])
    mesh = fem.Mesh(points, (fem.CellBlock("line", np.array([[0, 1], [2, 3], [4, 5]])),), constraints=(link,))
    assert any("1 pairs of nodes coincide (3 and 4)" in f.text for f in fem.check_mesh(mesh).findings)
    merged = fem.merge_nodes(mesh)
    assert merged.cells[0].connectivity.tolist() == [[0, 1], [2, 3], [3, 4]]
    assert sorted(merged.constraints[0].members.tolist())[:2] == [1, 2]
