"""Bases and reduced parts, to files and to pyMOR."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block


@pytest.fixture(scope="module")
def part():
    return fem.Model(block("hexahedron20", (1.0, 0.1, 0.06), (5, 1, 1)), fem.Material.steel(), "bar").with_interfaces(
        root="x0", tip="x1"
    )


@pytest.fixture(scope="module")
def basis(part):
    return reduction.craig_bampton(part, modes=4)


@pytest.mark.parametrize("method", ["craig_bampton", "modal"])
def test_a_basis_returns(method, part, tmp_path):
    basis = getattr(reduction, method)(part, 4)
    again = reduction.Basis.load(basis.save(tmp_path / "bar.npz"), part)
    for name in ("Psi", "eigenvalues"):
        assert (getattr(again, name) == getattr(basis, name)).all()
    assert (again.method, again.reference_frame) == (basis.method, basis.reference_frame)
    assert str(again) == str(basis)
    bodies = [flexmb.flexible_body(part, b) for b in (basis, again)]
    assert (bodies[0].invariants.h == bodies[1].invariants.h).all()


def test_a_basis_of_another_part_is_refused(part, basis, tmp_path):
    path = basis.save(tmp_path / "bar.npz")
    other = fem.Model(part.mesh, fem.Material.aluminium()).with_interfaces(root="x0", tip="x1")
    with pytest.raises(MatrixError, match=r"Psi\^T M Psi = I fails"):
        reduction.Basis.load(path, other)
    with pytest.raises(MatrixError, match="has the interfaces root, tip; model 'bar' has none"):
        reduction.Basis.load(path, fem.Model(part.mesh, fem.Material.steel(), "bar"))
    more = part.with_interfaces(root="x0", tip="x1", side=fem.Interface("y0", kind="average"))
    with pytest.raises(MatrixError, match="has the interfaces root, tip; model 'bar' has root, tip, side"):
        reduction.Basis.load(path, more)
    with pytest.raises(MatrixError, match=r"saved as .npz; found the ending '.h5'"):
        basis.save(tmp_path / "bar.h5")
    np.savez(tmp_path / "other.npz", Psi=basis.Psi)
    with pytest.raises(MatrixError, match=r"no basis that Basis.save wrote: format, eigenvalues"):
        reduction.Basis.load(tmp_path / "other.npz", part)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", "text", "format has values of type <U4"),
        ("format", np.arange(3), r"format has shape \(3,\), expected one value"),
        ("Psi", np.zeros(12), r"Psi of shape \(12,\) does not go with"),
        ("Psi", np.zeros((2, 3), complex), "expected real numbers; found others in Psi"),
        ("eigenvalues", np.ones(2), "does not go with 2 eigenvalues"),
        ("interfaces", np.arange(2), "interfaces has values of type int64"),
        ("interfaces", np.array("root"), r"1 interfaces have maps of shape \(2, 6, \d+\); the file is damaged"),
        ("interface_modes", np.zeros((2, 6)), r"2 interfaces have maps of shape \(2, 6\)"),
        ("interface_modes", np.zeros((2, 5, 1)), r"rows of interface 'root' have shape \(5, 1\)"),
        ("reference_frame", "text", "no interface named 'text'"),
        ("options", "[" * 100_000, "the basis cannot be read"),
        ("options", "3", "the basis cannot be read"),
    ],
)
def test_a_damaged_basis_names_its_file(name, value, message, part, basis, tmp_path):
    with np.load(basis.save(tmp_path / "bar.npz")) as file:
        content = {key: file[key] for key in file.files}
    np.savez(tmp_path / "bad.npz", **content | {name: value})
    with pytest.raises(MatrixError, match=f"bad.npz: .*{message}"):
        reduction.Basis.load(tmp_path / "bad.npz", part)


def test_a_reduced_system_floats_and_answers_as_the_full_one(part, basis):
    full, small = reduction.linear_system(part), reduction.linear_system(part, basis)
    assert small.M.shape == (6 + basis.n_modes,) * 2
    assert small.inputs[2] == "root Fz"
    assert small.outputs[-1] == "tip rz"
    f = np.array([5.0, 40.0])
    a, b = full.response(f), small.response(f)
    np.testing.assert_allclose(b, a, atol=1e-4 * abs(a).max())
    no_rigid = reduction.linear_system(part, basis, rigid=False, modal_damping=0.01)
    np.testing.assert_allclose(np.diag(no_rigid.D), 0.02 * np.sqrt(basis.eigenvalues))
    both = reduction.linear_system(part, basis, rigid=False, rayleigh=(3.0, 1e-6))
    np.testing.assert_allclose(np.diag(both.D), 3.0 + 1e-6 * basis.eigenvalues)
    probe = np.zeros(part.ndof)
    probe[7] = 1.0
    seen = reduction.linear_system(part, basis, inputs=["tip"], outputs=[probe, "root"])
    assert seen.outputs == ("output 1", "root x", "root y", "root z", "root rx", "root ry", "root rz")
    np.testing.assert_allclose(seen.C[0], seen.V[7])


@pytest.mark.parametrize("ending", ["npz", "mat", "mtx"])
def test_a_reduced_system_in_files(ending, part, basis, tmp_path):
    system = reduction.linear_system(part, basis, rayleigh=(1.0, 1e-6))
    files = system.save(tmp_path / f"bar.{ending}")
    if ending == "npz":
        found = dict(np.load(files[0]))
    elif ending == "mat":
        found = scipy.io.loadmat(files[0])
    else:
        found = {path.name.split(".")[1]: scipy.io.mmread(path) for path in files}
    for letter in "MDKBC":
        np.testing.assert_allclose(found[letter], getattr(system, letter), rtol=1e-14)
    if ending == "mtx":
        assert set(found) == set("MDKBC")
    else:
        assert [str(name).strip() for name in found["inputs"]] == list(system.inputs)


def test_sparse_columns_are_written_as_rows_and_outputs_have_labels_without_inputs(part, tmp_path):
    system = reduction.linear_system(part, inputs=[], outputs=["tip"])
    columns = replace(system, C=sp.csc_matrix(system.C))
    with np.load(columns.save(tmp_path / "bar.npz")[0]) as found:
        C = sp.csr_matrix(tuple(found[f"C.{key}"] for key in ("data", "indices", "indptr")), found["C.shape"])
        assert found["outputs"].tolist() == list(system.outputs)
    assert abs(C - system.C).max() == 0.0


def test_wrong_systems_are_refused(part, basis):
    with pytest.raises(MatrixError, match="input named 'top'"):
        reduction.linear_system(part, inputs=["top"])
    with pytest.raises(MatrixError, match="modal damping belongs to a basis"):
        reduction.linear_system(part, modal_damping=0.01)
    with pytest.raises(MatrixError, match=r"output given by numbers should be finite"):
        reduction.linear_system(part, basis, outputs=[np.zeros(3)])


def test_pymor_answers_the_same(part, basis):
    pytest.importorskip("pymor", reason="pyMOR is not installed")
    from pymor.core.logger import set_log_levels

    set_log_levels({"pymor": "ERROR"})
    for system in (reduction.linear_system(part, basis, rayleigh=(2.0, 1e-6)), reduction.linear_system(part)):
        ours = system.response(np.array([300.0]))[0]
        theirs = system.to_pymor().transfer_function.eval_tf(2j * np.pi * 300.0)
        np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-9 * abs(ours).max())
