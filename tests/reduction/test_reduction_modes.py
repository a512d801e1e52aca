"""How many modes: numbers, bands, and what is refused; the quality report."""

import re

import dense
import numpy as np
import pytest
import scipy.linalg
from test_reduction import METHODS, part

import fem
from fem.errors import InterfaceError, MatrixError
from fem.mesh.structured_meshes import block
from reduction import compare_modes, craig_bampton, modal
from reduction.error.mode_comparison import ModeComparison
from reduction.error.reference_frame import diagonalise


def test_default_is_twenty_modes():
    model = part("rigid-rigid", "hexahedron", (6, 2, 2))
    assert modal(model).n_modes == 20
    assert craig_bampton(model).n_modes == 26


def test_static_shapes_alone_are_guyan_reduction():
    model = part("rigid-rigid")
    basis = craig_bampton(model, 0)
    n = 12
    shapes = dense.static_shapes(model, np.zeros((model.ndof, n)), dense.all_motions(model).T, np.eye(n))
    shapes = shapes / np.sqrt(np.einsum("ij,ij->j", shapes, model.M @ shapes))
    M, K = shapes.T @ (model.M @ shapes), shapes.T @ (model.K @ shapes)
    guyan = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)[6:]
    np.testing.assert_allclose(basis.eigenvalues, guyan, rtol=1e-8)


def test_signs_of_shapes_do_not_depend_on_the_shapes_that_span_them():
    """The part is symmetric, so that entries of both signs are largest in its modes."""
    model = part("rigid-rigid")
    basis = craig_bampton(model, 4)
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(basis.n_modes, basis.n_modes)))[0]
    for turn in (np.eye(basis.n_modes), -np.eye(basis.n_modes), Q):
        shapes, values = diagonalise(model, basis.Psi @ turn)
        np.testing.assert_allclose(values, basis.eigenvalues, rtol=1e-8)
        np.testing.assert_allclose(shapes, basis.Psi, atol=1e-6 * np.abs(basis.Psi).max())


@pytest.mark.parametrize("setup", ["rigid-rigid", "average-rigid"])
def test_band_keeps_what_lies_inside(setup):
    model = part(setup, "hexahedron", (6, 2, 2))
    free = np.sqrt(dense.eigenvalues(model)[6:]) / (2 * np.pi)
    fixed = np.sqrt(dense.eigenvalues(model, list(model.interfaces))) / (2 * np.pi)
    for count in (3, 16, 17, 40):  # below, at and above the first trial
        edge = (free[count - 1] + free[count]) / 2
        assert modal(model, band=(0, edge)).n_modes == count
        edge = (fixed[count - 1] + fixed[count]) / 2 / 2.0
        basis = craig_bampton(model, band=(0, edge))
        assert basis.options["modes"] == count
        assert basis.options["band"] == [0.0, edge]
    assert modal(model, band=(0, 2 * free[-1])).n_modes == len(free)


def test_band_of_craig_bampton_is_accurate_inside():
    """The rule of thumb behind the factor 2: free frequencies inside the band come within 3 per cent."""
    model = part("rigid-rigid", "hexahedron", (8, 2, 2))
    free = np.sqrt(dense.eigenvalues(model)[6:]) / (2 * np.pi)
    edge = (free[9] + free[10]) / 2
    errors = craig_bampton(model, band=(0, edge)).frequencies[:10] / free[:10] - 1
    assert errors.max() < 0.03
    assert errors.min() > -1e-10


@pytest.mark.parametrize("method", METHODS)
def test_too_many_modes_are_refused_with_the_number_there_is(method):
    model = part("average-rigid")
    available = {
        "modal": len(dense.eigenvalues(model)) - 6,
        "Craig-Bampton": len(dense.eigenvalues(model, ["big", "small"])),
    }
    with pytest.raises(MatrixError, match=rf"has {available[method]} such modes; asked for {available[method] + 1}"):
        METHODS[method](model, available[method] + 1)


REFUSED = {
    "negative": ({"modes": -1}, "integer of at least"),
    "fraction": ({"modes": 2.5}, r"integer.*found 2\.5"),
    "truth": ({"modes": True}, r"integer.*found True"),
    "both": ({"modes": 3, "band": (0, 10.0), "tolerance": 0.1}, "not both"),
    "tolerance of nothing": ({"band": (0, 10.0), "tolerance": 0.0}, r"between 1e-08 .* and 1; found 0"),
    "tolerance without a band": ({"tolerance": 0.1}, r"needs a band=\(0, f\)"),
    "band from above zero": ({"band": (5.0, 10.0)}, r"\(0, highest frequency\)"),
    "band of infinity": ({"band": (0, np.inf)}, r"\(0, highest frequency\)"),
    "band of nothing": ({"band": (0, 0.0)}, r"\(0, highest frequency\)"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", REFUSED)
def test_senseless_numbers_are_refused(method, case, monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    given, message = REFUSED[case]
    with pytest.raises(MatrixError, match=message):
        METHODS[method](part(), **given)


def test_a_basis_of_nothing_is_refused():
    bare = fem.Model(fem.structured_meshes.block("hexahedron", (4, 1, 1), (4, 1, 1)), fem.Material.steel())
    with pytest.raises(InterfaceError, match=r"has no interface.*with_interfaces.*modal\(\)"):
        craig_bampton(bare, 4)
    assert modal(bare, 4).interface_modes == {}
    with pytest.raises(MatrixError, match="at least one mode"):
        craig_bampton(part("rigid"), 0)
    with pytest.raises(MatrixError, match=r"at least one mode, or raise the band above 0\.001"):
        craig_bampton(part("rigid"), band=(0, 0.001))
    with pytest.raises(MatrixError, match=r"no elastic natural frequency up to 0\.001"):
        modal(bare, band=(0, 0.001))
    with pytest.raises(MatrixError, match="at least 1"):
        modal(bare, 0)


@pytest.mark.parametrize("divisions", [(2, 1, 1), (3, 2, 1)])
def test_a_band_above_all_frequencies_gives_all_modes(divisions):
    """30 and 66 of them: the first 16, and then twice as many each time, are fewer than the body has, and once more."""
    bare = fem.Model(fem.structured_meshes.block("hexahedron", (1.0, 0.2, 0.1), divisions), fem.Material.steel())
    exact = scipy.linalg.eigh(bare.K.toarray(), bare.M.toarray(), eigvals_only=True)[6:]
    basis = modal(bare, band=(0, 1.1 * np.sqrt(exact[-1]) / (2 * np.pi)))
    assert len(exact) == bare.ndof - 6
    np.testing.assert_allclose(basis.eigenvalues, exact, rtol=1e-8)


@pytest.mark.parametrize("frame", [None, "big"])
def test_report_measures_frequencies_against_the_full_model(frame):
    model = part("average-rigid")
    exact = np.sqrt(dense.eigenvalues(model)[6:]) / (2 * np.pi)
    made = compare_modes(model, craig_bampton(model, 4, frame), 8)
    np.testing.assert_allclose(made.full_frequencies, exact[:8], rtol=1e-9)
    assert made.relative_errors.min() > -1e-10
    assert made.relative_errors[-1] > 1e-3
    np.testing.assert_allclose(made.relative_errors, made.frequencies / exact[:8] - 1, atol=1e-9)
    assert made.mac[0, 0] > 0.99
    assert made.mac.max() < 1 + 1e-9
    assert (made.mac.sum(axis=0) < 1 + 1e-9).all()
    exact_basis = compare_modes(model, modal(model, 8, frame))
    np.testing.assert_allclose(exact_basis.relative_errors, 0, atol=1e-9)
    np.testing.assert_allclose(exact_basis.mac, np.eye(8), atol=1e-6)


def test_effective_masses_add_up():
    """A full basis moves all mass but that of the held nodes: M_total - M_ib M_bb^-1 M_bi in brute force."""
    model = part("rigid-average-rigid", "hexahedron", (4, 1, 1))
    full = modal(model, len(dense.eigenvalues(model)) - 6)
    made = compare_modes(model, full, 1)
    for name, interface in model.interfaces.items():
        R = dense.rigid_columns(model.points, interface.point)
        rows = np.vstack([dense.stiff_sets(model), dense.motion(model, name).T])
        T = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T
        MT = model.M @ T
        moved = np.diag((R.T @ MT) @ np.linalg.solve(T.T @ MT, MT.T @ R))
        np.testing.assert_allclose(made.effective_masses[name].sum(axis=0), moved, rtol=1e-8)
        np.testing.assert_allclose(made.rigid_masses[name][:3], model.mass, rtol=1e-10)
        np.testing.assert_allclose(made.rigid_masses[name][3:], np.diag(model.inertia(interface.point)), rtol=1e-10)


def test_report_prints_and_refuses():
    model = part("average-rigid")
    basis = craig_bampton(model, 4)
    text = str(compare_modes(model, basis, 3))
    assert re.search(r"1 +\d+\.?\d* +\d+\.?\d* +\d\.\de[-+]\d\d +\d\.\d{4}", text)
    assert "effective mass held at 'small': x " in text
    with pytest.raises(MatrixError, match="has 10 modes to compare; asked for 11"):
        compare_modes(model, basis, 11)
    with pytest.raises(MatrixError, match=r"the model .* has"):
        compare_modes(part("average-rigid", "tetra10"), basis)


def test_repeated_modes_are_matched_as_a_pair():
    """A square bar: its bending modes come in pairs, and any combination of a pair is a mode."""
    model = fem.Model(fem.structured_meshes.block("hexahedron", (4.0, 0.5, 0.5), (8, 2, 2)), fem.Material.steel())
    model = model.with_interfaces(a="x0", b=fem.Interface("x1", kind="average"))
    made = compare_modes(model, craig_bampton(model, 12), 6)
    assert np.ptp(made.full_frequencies[:2]) < 1e-6 * made.full_frequencies[0]
    assert made.matched[:4].min() > 0.99
    assert made.matched.max() < 1 + 1e-9


@pytest.mark.parametrize("method", [modal, craig_bampton])
def test_a_basis_that_keeps_one_mode_of_a_pair_says_so(method):
    """A square bar bends alike in two directions: an odd number of its modes cuts a pair, an even one or a bar that is
    not square does not."""
    for width, modes, split in ((0.1, 1, True), (0.1, 2, False), (0.06, 1, False)):
        mesh = block("hexahedron", (1.0, 0.1, width), (8, 1, 1))
        model = fem.Model(mesh, fem.Material.steel()).with_interfaces(root="x0")
        basis = method(model, modes)
        assert bool(basis.options["split"]) == split
        told = f"is stiffer in one direction: take {modes + 1} modes, or {modes - 1}"
        assert (told in str(basis)) == split


def test_a_reduced_mode_is_matched_with_all_full_modes_of_its_frequency():
    """The first reduced mode lies in the span of two full ones of equal frequency, the second one partly."""
    mac = np.array([[0.6, 0.4, 0.0], [0.1, 0.2, 0.0], [0.0, 0.3, 0.9]])
    compared = ModeComparison("a basis", np.ones(3), np.array([1.0, 1.0001, 2.0]), mac, {}, {})
    np.testing.assert_allclose(compared.matched, [1.0, 0.3, 0.9])


def test_reduced_modes_are_shown_beside_the_full_modes_that_they_are():
    """A basis lacks the second full mode, which its inputs do not move: its second mode is the third full one, right to
    1e-3, and not the second one with an error of 50 %. Its third mode is beyond the full ones."""
    mac = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.98], [0.0, 0.02, 0.01]])
    reduced, full = np.array([10.0, 30.03, 47.0]), np.array([10.0, 20.0, 30.0])
    lines = str(ModeComparison("a basis", reduced, full, mac, {}, {})).splitlines()
    assert [line.split() for line in lines[2:4]] == [
        ["1", "10", "10", "0.0e+00", "1.0000", "1"],
        ["2", "30.03", "30", "1.0e-03", "0.9800", "3"],
    ]
    assert lines[4].endswith("47           none of the 3 lowest is like it (MAC at most 0.02)")
    assert lines[5:] == ["  full modes that are not among them: 20"]


@pytest.mark.filterwarnings("ignore::fem.IllConditionedWarning")
def test_a_thin_plate_is_not_taken_for_one_that_is_held():
    """Its stiffness against stretching leaves more round-off in rigid motion than a hundred thousandth of its bending;
    frequencies go as the thickness."""
    first = [
        modal(fem.Model(block("hexahedron20", (1.0, 1.0, t), (3, 3, 1)), fem.Material.steel()), 1).frequencies[0]
        for t in (1e-2, 1e-3)
    ]
    assert first[0] / first[1] == pytest.approx(10.0, rel=5e-3)
