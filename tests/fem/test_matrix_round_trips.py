"""Matrices written in the formats of other programs, and read again."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import fem
import reduction
from fem.errors import MatrixError
from fem.files.matrix_archive import read_archive
from fem.mesh.structured_meshes import block, sheet

STEEL = fem.Material.steel()
NUMBERS = np.random.default_rng(1).permutation(900)[:20] + 3


@pytest.fixture(scope="module")
def part():
    """Shells with rotations and stiffness-proportional damping beside a gyroscopic part, nodes numbered at will."""
    mesh = sheet("quad", (0.4, 0.3), (4, 3))
    mesh = fem.Mesh(mesh.points, mesh.cells, node_ids=NUMBERS)
    own = fem.Model(mesh, fem.Shell(STEEL, 0.01))
    n = len(mesh.points)
    at = np.column_stack([np.tile(np.repeat(np.arange(n), 3), 2), np.tile(np.arange(3), 2 * n)])
    at[3 * n :, 1] += 3
    G = sp.lil_matrix(own.K.shape)
    G[3 * n, 3 * n + 1], G[3 * n + 1, 3 * n] = 2.0, -2.0  # a wheel at the first node
    made = fem.Model.from_matrices(own.M, own.K, mesh.points, "plate", dofs=at, damping=1e-6 * own.K + G)
    return made, mesh


@pytest.fixture(scope="module")
def solid():
    mesh = block("hexahedron", (1.0, 2.0, 0.5), (1, 1, 1))
    mesh = fem.Mesh(mesh.points, mesh.cells, node_ids=np.array([12, 3, 40, 7, 100, 55, 8, 21]))
    return fem.Model(mesh, STEEL).with_interfaces(root=[0, 1, 2], tip=[5, 6, 7]), mesh


READERS = {
    "numpy": ("part.npz", lambda f, n: fem.read_matrices(f[0])),
    "matlab": ("part.mat", lambda f, n: fem.read_matrices(f[0])),
    "matrix-market": ("part.mtx", lambda f, n: fem.read_matrices(f[0].with_name("part.mtx"))),
    "dmig": ("part.pch", lambda f, n: fem.read_nastran(f[0], damping="BAAX")),
    "op4": ("part.op4", lambda f, n: fem.read_nastran(f[0], "KGG", "MGG", nodes=n, damping="BGG")),
    "abaqus": ("part", lambda f, n: fem.read_abaqus(f[0], f[1], f[2])),
    "ansys": ("part.mapping", lambda f, n: fem.read_ansys(f[1], f[2], f[0], f[3])),
}


def same(A, B, digits=1e-14):
    assert abs(A - B).max() <= digits * abs(A).max()


@pytest.mark.parametrize("form", READERS)
def test_shells_with_damping_return(form, part, tmp_path):
    own, mesh = part
    record = fem.matrices_of(fem.Model.from_matrices(own.M, own.K, own.points, dofs=rows(own), damping=own.D))
    name, read = READERS[form]
    files = fem.write_matrices(own, tmp_path / name, format=None if Path(name).suffix else form)
    number = np.arange(1, len(own.points) + 1)
    given = read(files, number)
    digits = 1e-9 if form == "dmig" else 1e-14
    for letter in "MKD":
        same(getattr(record, letter), getattr(given, letter), digits)
    assert (given.dofs == record.dofs).all()
    assert list(given.nodes) == list(number)
    again = fem.Model.from_matrices(given.M, given.K, mesh.points, dofs=given.dofs, damping=given.D)
    same(own.D, again.D, digits)
    frequencies = [reduction.modal(m, 3).frequencies for m in (own, again)]
    np.testing.assert_allclose(*frequencies, rtol=1e-5)


def rows(model):
    n = len(model.points)
    at = np.column_stack([np.tile(np.repeat(np.arange(n), 3), 2), np.tile(np.arange(3), 2 * n)])
    at[3 * n :, 1] += 3
    return at


@pytest.mark.parametrize("form", [*READERS, "calculix"])
def test_solids_return_with_their_node_numbers(form, solid, tmp_path):
    own, mesh = solid
    name, _ = READERS.get(form, ("part.sti", None))
    files = fem.write_matrices(own, tmp_path / name, format=None if Path(name).suffix else form)
    given = {
        "dmig": lambda: fem.read_nastran(files[0]),
        "op4": lambda: fem.read_nastran(files[0], "KGG", "MGG", nodes=mesh.node_ids),
        "abaqus": lambda: fem.read_abaqus(*files),
        "ansys": lambda: fem.read_ansys(files[1], files[2], files[0]),
        "calculix": lambda: fem.read_calculix(tmp_path / "part"),
    }.get(form, lambda: fem.read_matrices(tmp_path / name))()
    again = fem.Model.from_matrices(given.M, given.K, given.points_of(mesh), dofs=given.dofs)
    order = np.argsort(given.points_of(mesh) @ [1, 10, 100])
    mine = np.argsort(mesh.points @ [1, 10, 100])
    to, of = ((3 * o[:, None] + np.arange(3)).ravel() for o in (mine, order))
    same(own.K[to][:, to], again.K[of][:, of], 1e-9 if form == "dmig" else 1e-14)
    if form in ("numpy", "matlab", "matrix-market"):
        np.testing.assert_allclose(given.points, mesh.points)
        B = sp.csr_matrix(given.B).toarray()
        np.testing.assert_allclose(B[:, :6], own.interfaces["root"].interface_matrix(own).toarray(), atol=1e-15)
        np.testing.assert_allclose(sp.csr_matrix(given.C).toarray(), B.T)


def test_matrices_of_ones_own(solid, tmp_path):
    """Dense arrays under the names M and K, E for the damping, and nothing else."""
    own, _ = solid
    np.savez(tmp_path / "own.npz", M=own.M.toarray(), K=own.K.toarray(), E=1e-5 * own.K.toarray())
    given = fem.read_matrices(tmp_path / "own.npz")
    model = fem.Model.from_matrices(given.M, given.K, own.points, dofs=given.dofs, damping=given.D)
    same(own.K * 1e-5, model.D)
    scipy.io.savemat(tmp_path / "own.mat", {"M": own.M, "stiffness": own.K})
    with pytest.raises(MatrixError, match=r"K missing among M, stiffness"):
        fem.read_matrices(tmp_path / "own.mat")
    for name in ("own.mtx", "own.fine.mtx"):  # the files of one are not those of the other
        fem.write_matrices(own, tmp_path / name)
    assert not [key for key in read_archive(tmp_path / "own.mtx") if key.startswith("fine")]
    np.savez(tmp_path / "own.npz", M=own.M.toarray(), K=own.K.toarray()[:-1])
    with pytest.raises(MatrixError, match=r"K has shape \(23, 24\), expected \(24, 24\)"):
        fem.read_matrices(tmp_path / "own.npz")
    np.savez(tmp_path / "own.npz", M=own.M.toarray(), K=own.K.toarray(), points=own.points[:-1])
    with pytest.raises(MatrixError, match="24 rows for 7 nodes"):
        fem.read_matrices(tmp_path / "own.npz")
    np.savez(tmp_path / "own.npz", M=own.M.toarray() * 1j, K=own.K.toarray())
    with pytest.raises(MatrixError, match="expected real numbers; found others in M"):
        fem.read_matrices(tmp_path / "own.npz")
    (tmp_path / "own.npz").write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(MatrixError, match="cannot be read as a file of arrays"):
        fem.read_matrices(tmp_path / "own.npz")


def changed(name, value):
    return lambda arrays: arrays | {name: value}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("M", np.array("text")), "M should hold real numbers; found values of type <U4"),
        (changed("K", np.zeros((2, 0, 3))), r"K has shape \(2, 0, 3\), expected \(n, m\)"),
        (changed("K", np.full((24, 24), np.inf)), "K holds NaN or infinite values"),
        (changed("nodes", np.array("text")), "nodes should hold real numbers"),
        (changed("nodes", np.arange(8) + 0.5), "nodes should hold whole numbers below 9007199254740992; found 0.5"),
        (changed("nodes", np.full(8, 1e300)), r"nodes should hold whole numbers below .*; found 1e\+300"),
        (changed("dofs", np.zeros((24, 3), int)), r"dofs has shape \(24, 3\), expected \(n, 2\)"),
        (changed("dofs", np.array([[8, 0]] * 24)), r"dofs are nodes from 0 to 7 .*; found \(8, 0\)"),
        (changed("dofs", np.array([[7, -1]] * 24)), r"dofs are .*components from 0 to 5; found \(7, -1\)"),
        (changed("points", np.array("text")), "points should hold real numbers"),
        (changed("E", np.array("text")), "E should hold real numbers"),
        (changed("C", np.eye(24)), r"C of shape \(24, 24\), without B and D, looks like a damping matrix; .* matrix D"),
    ],
)
def test_arrays_that_are_none_of_a_part_are_refused(change, message, solid, tmp_path):
    own, _ = solid
    arrays = {"M": own.M.toarray(), "K": own.K.toarray(), "points": own.points}
    np.savez(tmp_path / "own.npz", **change(arrays))
    with pytest.raises(MatrixError, match=f"own.npz: {message}"):
        fem.read_matrices(tmp_path / "own.npz")


def test_indices_of_matlab_are_looked_at_before_they_are_followed(solid, tmp_path):
    own, _ = solid
    K = sp.csc_matrix(own.K)
    K.indices[5] = 2**30
    K.has_sorted_indices = True  # that SciPy writes them as they are
    scipy.io.savemat(tmp_path / "own.mat", {"M": own.M, "K": K})
    with pytest.raises(MatrixError, match=r"own\.mat cannot be read as a file of arrays"):
        fem.read_matrices(tmp_path / "own.mat")


def test_what_cannot_be_written_is_refused(part, solid, tmp_path):
    with pytest.raises(MatrixError, match="CalculiX stores stiffness and mass only"):
        fem.write_matrices(part[0], tmp_path / "part.sti")
    with pytest.raises(MatrixError, match=r"ending of a file of matrices named '.csv'"):
        fem.write_matrices(part[0], tmp_path / "part.csv")
    with pytest.raises(MatrixError, match="format of matrices named 'dmi'"):
        fem.write_matrices(part[0], tmp_path / "part.pch", format="dmi")
    tied = fem.Model(solid[1], STEEL).with_constraints(fem.Equation([0, 1], [0, 0], [1.0, -1.0], source="a tie"))
    with pytest.raises(MatrixError, match=r"without constraints.*reduction.linear_system\(part, basis\).save"):
        fem.write_matrices(tied, tmp_path / "part.npz")
    assert not list(tmp_path.iterdir())
    assert callable(reduction.linear_system)


def test_archives_of_other_endings_and_with_parts_that_do_not_go_together_are_refused(solid, tmp_path):
    own, _ = solid
    (tmp_path / "part.foo").write_text("x")
    for act in (
        lambda: fem.read_matrices(tmp_path / "part.foo"),
        lambda: fem.write_matrices(own, tmp_path / "part.foo", format="numpy"),
    ):
        with pytest.raises(
            MatrixError, match=r"part\.foo: There is no ending .* named '\.foo'\. Existing: '\.mat', '\.mtx', '\.npz'"
        ):
            act()
    with pytest.raises(MatrixError, match=r"There are no files part\.M\.mtx, part\.K\.mtx, \.\.\. beside .*part\.mtx"):
        fem.read_matrices(tmp_path / "part.mtx")
    fem.write_matrices(own, tmp_path / "part.npz")
    arrays = dict(np.load(tmp_path / "part.npz"))
    for what in ("indptr", "indices", "data"):
        np.savez(tmp_path / "other.npz", **{**arrays, f"K.{what}": arrays[f"K.{what}"][:-1]})
        with pytest.raises(
            MatrixError, match=r"other\.npz cannot be read .*: the parts of the sparse matrix K do not go"
        ):
            fem.read_matrices(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", **arrays)
    assert abs(fem.read_matrices(tmp_path / "other.npz").K - own.K).max() == 0
