"""Structures without density that carry point masses: what can be reduced is, and the rest is refused by its cause."""

import numpy as np
import pytest
import scipy.sparse as sp

import fem
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block

STEEL = fem.Material.isotropic(2.1e11, 0.3, 7800.0)


def massless(nodes):
    """A block whose stiffness carries masses of 2 at some of its nodes, and has none itself."""
    mesh = block("hexahedron", (1.0, 1.0, 1.0), (2, 2, 2))
    own = fem.Model(mesh, STEEL)
    M = np.zeros(own.ndof)
    for node in nodes:
        M[3 * node : 3 * node + 3] = 2.0
    part = fem.Model.from_matrices(sp.diags(M).tocsr(), own.K, mesh.points)
    return part.with_interfaces(root=mesh.nodes("x0"))


@pytest.mark.parametrize("nodes", [[8, 26], [26]])
def test_masses_on_a_line_leave_a_rotation_without_inertia(nodes):
    """numpy said that a matrix is not positive definite."""
    for reduce in (reduction.craig_bampton, reduction.modal):
        with pytest.raises(MatrixError, match=r"no moment of inertia about the axis .*a millionth of these masses"):
            reduce(massless(nodes), 2)


def test_shapes_that_move_no_mass_are_named():
    """Three masses and an interface: two of them move with it at rest as three that are free do rigidly."""
    with pytest.raises(MatrixError, match="moves no mass beside rigid motion"):
        reduction.craig_bampton(massless([13, 26, 8]), 2)


def test_masses_that_fill_space_have_the_modes_of_their_flexibility():
    """Four masses: the eigenvalues are those of the stiffness condensed to their places."""
    nodes = [0, 2, 6, 26]
    part = massless(nodes)
    mine = np.array([3 * n + k for n in nodes for k in range(3)])
    others = np.setdiff1d(np.arange(part.ndof), mine)
    K = part.K.toarray()
    condensed = K[np.ix_(mine, mine)] - K[np.ix_(mine, others)] @ np.linalg.solve(
        K[np.ix_(others, others)], K[np.ix_(others, mine)]
    )
    exact = np.sqrt(np.linalg.eigvalsh(condensed / 2.0)[6:]) / (2 * np.pi)
    free = fem.Model.from_matrices(part.M, part.K, part.points)
    found = reduction.modal(free, 5)
    np.testing.assert_allclose(np.sqrt(found.eigenvalues) / (2 * np.pi), exact[:5], rtol=1e-8)
