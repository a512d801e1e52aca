"""Assembled matrices: independent programs, convergence to a manufactured solution, locking, refusals, memory."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from fem.elements import ELEMENTS
from fem.errors import MaterialError, MeshError
from fem.linear_algebra.factor import factor
from fem.material import Material
from fem.matrices import assembly
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.structured_meshes import block
from fem.model import Model

MATERIAL = Material.isotropic(200.0, 0.3, 2.0)
LAME, SHEAR = 200.0 * 0.3 / (1.3 * 0.4), 200.0 / 2.6


def solve_with(model, held, values, load, solve=lambda A, b: factor(A).solve(b)):
    """Displacements for forces `load` with the dofs in the mask `held` at `values`."""
    u = np.where(held, values, 0.0)
    right = (load - model.K @ u)[~held]
    u[~held] = solve(model.K[~held][:, ~held].tocsc(), right)
    return u


# ---- manufactured solution -------------------------------------------------------------------------------------------

WAVES = (
    (np.array([1.0, 0.5, -0.3]), np.array([2.0, 1.0, 0.5]), 0.3),
    (np.array([-0.4, 0.8, 0.6]), np.array([-0.7, 1.5, 2.0]), 1.0),
)


def exact(x):
    return sum(d * np.sin(x @ k + phase)[..., None] for d, k, phase in WAVES)


def body_force(x):
    """- div stress of `exact`, by hand."""
    forces = [((LAME + SHEAR) * (d @ k) * k + SHEAR * (k @ k) * d, k, phase) for d, k, phase in WAVES]
    return sum(f * np.sin(x @ k + phase)[..., None] for f, k, phase in forces)


def displacement_error(kind, n):
    """L2 error of the finite element solution, the exact one given on the boundary."""
    mesh = block(kind, (1.0, 1.0, 1.0), (n, n, n))
    model = Model(mesh, MATERIAL)
    shape, cells = ELEMENTS[kind], mesh.cells[0].connectivity
    xi, w = shape.mass_rule
    x = mesh.points[cells]
    N = shape.shape(xi)
    dV = np.linalg.det(np.einsum("qnk,enx->eqkx", shape.gradient(xi), x)) * w
    at = np.einsum("qn,enx->eqx", N, x)
    load = np.zeros_like(mesh.points)
    np.add.at(load, cells, np.einsum("qn,eqx,eq->enx", N, body_force(at), dV))
    held = np.repeat(((mesh.points < 1e-9) | (mesh.points > 1 - 1e-9)).any(axis=1), 3)
    u = solve_with(model, held, exact(mesh.points).ravel(), load.ravel()).reshape(-1, 3)
    error = np.einsum("qn,enx->eqx", N, u[cells]) - exact(at)
    return np.sqrt((error**2).sum(axis=2).ravel() @ dV.ravel())


@pytest.mark.parametrize("kind", ELEMENTS)
def test_displacements_converge_at_the_theoretical_rate(kind):
    """Displacement error h^2 for linear, h^3 for quadratic elements."""
    order = 3 if ELEMENTS[kind].edges else 2
    divisions = (3, 6) if order == 3 else (5, 10)
    coarse, fine = (displacement_error(kind, n) for n in divisions)
    rate = np.log2(coarse / fine)
    assert rate == pytest.approx(order, abs=0.3), f"{kind}: rate {rate:.2f}, errors {coarse:.2e}, {fine:.2e}"


# ---- independent program ---------------------------------------------------------------------------------------------


def test_stiffness_and_mass_of_tet10_are_those_of_scikit_fem():
    from skfem import Basis, BilinearForm, ElementTetP2, ElementVector, MeshTet
    from skfem.helpers import dot
    from skfem.models.elasticity import linear_elasticity

    mesh = block("tetra10", (1.0, 1.2, 0.8), (2, 2, 2))
    corners = np.unique(mesh.cells[0].connectivity[:, :4])
    points = mesh.points.copy()
    points[corners] += 0.04 * np.random.default_rng(0).uniform(-1, 1, (len(corners), 3))
    for a, b, m in ELEMENTS["tetra10"].edges:
        ends = mesh.cells[0].connectivity[:, [a, b]]
        points[mesh.cells[0].connectivity[:, m]] = points[ends].mean(axis=1)
    model = Model(replace(mesh, points=points), MATERIAL)
    theirs = MeshTet(points[corners].T.copy(), np.searchsorted(corners, mesh.cells[0].connectivity[:, :4]).T.copy())
    basis = Basis(theirs, ElementVector(ElementTetP2()), intorder=6)
    K = linear_elasticity(LAME, SHEAR).assemble(basis)
    M = 2.0 * BilinearForm(lambda u, v, _: dot(u, v)).assemble(basis)
    names, where = basis.elem.dofnames, basis.doflocs.T
    assert len(names) == 6  # u^1 .. u^3 at nodes, then at edges: dofs run node by node, component by component
    place = {tuple(np.round(p, 9)): k for k, p in enumerate(points)}
    dof = np.array([3 * place[tuple(np.round(p, 9))] for p in where])
    for group in (basis.nodal_dofs, basis.edge_dofs):
        dof[group] += np.arange(3)[:, None]
    for ours, other in ((model.K, K), (model.M, M)):
        assert abs(ours[dof][:, dof] - other).max() < 1e-12 * abs(ours).max()


# ---- locking ---------------------------------------------------------------------------------------------------------


def bending_ratio(kind, divisions, size=(10.0, 1.0, 1.0), poisson=0.0):
    """Tip deflection of a clamped beam beside Timoshenko's; the clamp leaves the section free to contract."""
    mesh = block(kind, size, divisions)
    model = Model(mesh, Material.isotropic(1000.0, poisson, 1.0))
    length, width, height = size
    root, tip = mesh.nodes("x0"), mesh.nodes("x1")
    held = np.zeros((len(mesh.points), 3), dtype=bool)
    held[root, 0] = True
    for axis in (1, 2):
        held[root[np.abs(mesh.points[root, axis] - size[axis] / 2) < 1e-9], axis] = True
    load = np.zeros_like(mesh.points)
    load[tip, 2] = 1.0 / len(tip)
    u = solve_with(model, held.ravel(), 0.0, load.ravel(), spla.spsolve).reshape(-1, 3)  # thin: badly conditioned
    shear = 1000.0 / (2 * (1 + poisson))
    theory = length**3 / (3 * 1000.0 * width * height**3 / 12) + length / (5 / 6 * shear * width * height)
    return u[tip, 2].mean() / theory


BENDING = [
    ("hexahedron", (10, 2, 2), {}, 0.01),
    ("hexahedron", (10, 2, 2), {"size": (20.0, 1.0, 0.1)}, 0.01),  # thin: cells 40 times longer than high
    ("hexahedron", (20, 2, 2), {"poisson": 0.4999}, 0.04),
    ("hexahedron20", (5, 2, 2), {}, 0.01),
    ("hexahedron20", (5, 2, 2), {"poisson": 0.4999}, 0.04),
    ("tetra10", (10, 2, 2), {}, 0.01),
    ("wedge15", (10, 2, 2), {}, 0.01),
    ("pyramid13", (10, 2, 2), {}, 0.02),
]


@pytest.mark.parametrize(("kind", "divisions", "case", "tolerance"), BENDING)
def test_beams_bend_as_theory_says(kind, divisions, case, tolerance):
    assert bending_ratio(kind, divisions, **case) == pytest.approx(1.0, abs=tolerance)


@pytest.mark.parametrize("kind", ["tetra", "wedge", "pyramid"])
def test_linear_elements_lock_as_their_pages_say(kind):
    assert bending_ratio(kind, (10, 2, 2)) < 0.7


# ---- structure and refusals ------------------------------------------------------------------------------------------


def test_cells_in_many_batches_and_blocks_add_up(monkeypatch):
    """Batches of three cells, two materials mixed through two blocks: the sum of one-cell models."""
    mesh = block("hexahedron", (2.0, 1.0, 1.0), (4, 2, 1))
    cells = mesh.cells[0].connectivity
    rng = np.random.default_rng(1)
    points = mesh.points + 0.05 * rng.uniform(-1, 1, mesh.points.shape)
    odd = np.arange(len(cells)) % 2 == 1
    both = {"even": np.flatnonzero(~odd), "odd": np.flatnonzero(odd)}
    mixed = Mesh(points, (CellBlock("hexahedron", cells[:3]), CellBlock("hexahedron", cells[3:])), cell_sets=both)
    soft = Material.isotropic(3.0, 0.1, 7.0)
    monkeypatch.setattr(assembly, "BATCH", 3)
    model = Model(mixed, {"even": MATERIAL, "odd": soft})
    K, M = np.zeros((model.ndof, model.ndof)), np.zeros((model.ndof, model.ndof))
    for k, cell in enumerate(cells):
        one = Model(Mesh(points[cell], (CellBlock("hexahedron", np.arange(8)[None]),)), soft if odd[k] else MATERIAL)
        dofs = (3 * cell[:, None] + np.arange(3)).ravel()
        K[np.ix_(dofs, dofs)] += one.K.toarray()
        M[np.ix_(dofs, dofs)] += one.M.toarray()
    np.testing.assert_allclose(model.K.toarray(), K, atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(model.M.toarray(), M, atol=1e-12 * np.abs(M).max())


def test_matrices_are_symmetric_to_the_last_bit_with_small_indices():
    model = Model(block("tetra10", (1.0, 1.0, 1.0), (3, 2, 2)), MATERIAL)
    for A in (model.K, model.M, model.geometric_stiffness(np.sin(np.arange(model.ndof)), initial_displacement=True)):
        assert isinstance(A, sp.csr_matrix)
        assert A.indices.dtype == np.int32
        assert A.has_canonical_format
        assert (A != A.T).nnz == 0


def test_inverted_and_collapsed_cells_are_named():
    mesh = block("hexahedron", (3.0, 1.0, 1.0), (3, 1, 1))
    cells = mesh.cells[0].connectivity.copy()
    cells[1] = cells[1][[4, 5, 6, 7, 0, 1, 2, 3]]
    turned = Mesh(
        mesh.points, (CellBlock("hexahedron", cells),), node_ids=100 + np.arange(len(mesh.points)), name="rod"
    )
    words = r"Mesh 'rod': 1 hexahedron cells .* the first is cell 1 .*number 1\d\d in the file.*falls to -0\.125.*node order"
    with pytest.raises(MeshError, match=words):
        _ = Model(turned, MATERIAL).K
    with pytest.raises(MeshError, match="the first is cell 1"):
        _ = Model(turned, MATERIAL).M
    flat = replace(mesh, points=mesh.points * [1, 1, 1e-16])
    with pytest.raises(MeshError, match="3 hexahedron cells are inverted or collapsed"):
        _ = Model(flat, MATERIAL).K


def test_nodes_without_cells_are_refused():
    mesh = block("tetra", (1.0, 1.0, 1.0), (1, 1, 1))
    loose = replace(mesh, points=np.vstack([mesh.points, [[5.0, 5.0, 5.0]]]))
    with pytest.raises(MeshError, match=r"1 of 9 nodes belong to no cell \(first: 8\)"):
        _ = Model(loose, MATERIAL).K


def test_every_cell_needs_exactly_one_material():
    mesh = replace(
        block("hexahedron", (3.0, 1.0, 1.0), (3, 1, 1)), cell_sets={"a": np.array([0, 1]), "b": np.array([1])}
    )
    with pytest.raises(MaterialError, match=r"1 cells \(first: \[1\]\) are both in 'a' and in 'b'"):
        Model(mesh, {"a": MATERIAL, "b": MATERIAL})
    with pytest.raises(
        MaterialError, match=r"2 of 3 cells have no material \(first: \[0, 2\]\).*cell sets of the mesh: 'a', 'b'"
    ):
        Model(mesh, {"b": MATERIAL})
    with pytest.raises(MaterialError, match="no cell set named 'c'"):
        Model(mesh, {"c": MATERIAL})
    with pytest.raises(MaterialError, match="3 of 3 cells have no material"):
        Model(mesh, {})


@pytest.mark.long
def test_three_hundred_thousand_dofs_fit_in_a_gigabyte():
    """K and M of a 300k-dof tet10 block, in a process of its own (whose `ru_maxrss` would begin at that of this one)."""
    import subprocess
    import sys

    program = (
        "import fem; m = fem.structured_meshes.block('tetra10', (1.0, 1.0, 1.0), (22, 22, 23));"
        "a = fem.Model(m, fem.Material.steel()); a.K; a.M;"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'));"
        "print(a.ndof, status['VmHWM'].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    dofs, kilobytes = map(int, done.stdout.split())
    assert dofs > 280_000
    assert kilobytes < 1e6
