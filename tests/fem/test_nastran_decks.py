"""Decks of Nastran that others wrote: those of pyNastran in nastran_decks (licence beside them), against what Nastran
printed for them, and against sums by hand."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse.linalg as ssl

import fem
import reduction

DECKS = Path(__file__).parent / "nastran_decks"


def read(name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fem.Model(fem.read_mesh(DECKS / name, **options))


def lumped_frequencies(model):
    """Frequencies with the mass of Nastran's default, which has no rotary inertia: half of a bar at each of its ends,
    a quarter of a plate at each of its corners."""
    n, M = len(model.points), model.mass_of_all
    masses = np.zeros(M.shape[0])
    for c in range(3):
        one = np.zeros(M.shape[0])
        one[c : 3 * n : 3] = 1.0
        masses[c : 3 * n : 3] = (M @ one)[c : 3 * n : 3]
    T = model.dof_map.T.toarray()
    M, K = T.T @ (masses[:, None] * T), model.K.toarray()
    shift = 1e-6 * np.trace(K) / np.trace(M)
    inverse = sl.eigvalsh(M, K + shift * M)
    return np.sqrt(1 / inverse[inverse > 1e-12 * inverse[-1]][::-1] - shift) / (2 * np.pi)


AREAS = {
    "pbarl_box.bdf": 10 * 20 - (10 - 2 * 2.5) * (20 - 2 * 5),
    "pbarl_chan.bdf": 2 * 10 * 6 + (30 - 2 * 6) * 2,
    "pbarl_hat.bdf": 15 * 2 + 2 * (5 + 2) * 2 + 2 * (20 - 2 * 2) * 2,
    "pbarl_i1.bdf": (25 - 20) * (10 + 1) + 20 * 1,
    "pbarl_t.bdf": 10 * 0.24 + (24 - 0.24) * 1,
    "pbarl_tube.bdf": np.pi * (10**2 - 4**2),
}


@pytest.mark.parametrize("name", AREAS)
def test_shapes_of_bars(name):
    model = read(name)
    assert [b.section.area for b in model.materials] == pytest.approx([AREAS[name]] * len(model.materials), rel=1e-9)
    assert model.unread == ()
    assert np.isfinite(model.K.data).all()


def test_a_plate_of_84_cells_has_the_frequencies_of_nastran():
    """0012_flutter: 2.667090 and 10.62820 Hz, included files, aerodynamics named."""
    model = read("flutter.bdf", supports="keep")
    np.testing.assert_allclose(lumped_frequencies(model)[:2], [2.667090, 10.62820], rtol=1e-6)
    assert model.mass == pytest.approx(1.0 * 10.0 * 0.01 * 2800.0, rel=1e-9)
    assert {"CAERO1", "SPLINE1", "FLUTTER"} <= {u.keyword for u in model.unread}
    assert "SPC1" not in {u.keyword for u in model.unread}


def test_ten_bars_along_a_diagonal_have_the_mass_and_frequencies_of_nastran():
    """beam_modes: its weight table has 2.610514e-2; bending 456.6603 and 2674.588 Hz, extension 4507.487 Hz."""
    model = read("beam_modes.bdf", supports="keep")
    assert model.mass == pytest.approx(2.610514e-2, rel=1e-6)
    found = lumped_frequencies(model)
    assert np.abs(found / 4507.487 - 1).min() < 1e-6
    np.testing.assert_allclose(found[[0, 2]], [456.6603, 2674.588], rtol=5e-3)  # Nastran's bars have rotary masses
    assert model.unread == ()


def test_a_plate_stretches_as_in_nastran():
    """plate: 100 on each node of its end in the plane, clamped at the other; mean of the displacements printed."""
    model = read("plate.bdf", supports="keep", ignore=["LOAD"])
    assert model.unread == ()
    mesh = model.mesh
    ends = np.flatnonzero(mesh.points[:, 0] > 9.9)
    loads = np.zeros(model.dof_map.size_of_all)
    loads[3 * ends] = 100.0
    f = model.dof_map.gather(loads[:, None])[:, 0] if model.dof_map.T is not None else loads
    u = model.displacements(ssl.spsolve(model.K.tocsc(), f))
    middle = {int(n): u[k, 0] for k, n in enumerate(mesh.node_ids)}
    for node, printed in ((3, 1.174299e-5), (4, 1.791377e-5), (9, 1.111987e-5), (10, 1.696037e-5)):
        assert middle[node] == pytest.approx(printed, rel=0.01)


def test_solids_and_layups():
    bent = read("solid_bending.bdf", ignore=["LOAD", "SPC1"])
    assert bent.mass == pytest.approx(1 * 2 * 3 * 1.0, rel=1e-9)
    assert bent.unread == ()
    triangle = read("pcomp_ctria3.bdf", ignore=["LOAD", "SPC1"])
    assert triangle.mass == pytest.approx(100 * 50 / 2 * 3 * 0.33 * 1.6e-9, rel=1e-9)
    assert triangle.materials[0].plies[0].angle == 90.0
    assert triangle.unread == ()
    square = read("pcomp_cquad4.bdf", ignore=["LOAD", "SPC1"])
    assert [ply.thickness for ply in square.materials[0].plies] == [0.1] * 4
    assert square.unread == ()


def test_solids_shells_and_beams_in_one_part():
    """Mass and frequencies that Nastran printed, of one element a side, whose masses Nastran lumps; a CBEAM tapers."""
    mixed = read("mixed/mode_solid_shell_bar.bdf", supports="keep", ignore=["LOAD"])
    assert mixed.unread == ()
    assert sum(isinstance(m, fem.BeamTable) for m in mixed.materials) == 1
    found = np.sort(np.abs(ssl.eigsh(mixed.K, 3, mixed.M, sigma=-1.0)[0])) ** 0.5 / (2 * np.pi)
    np.testing.assert_allclose(found, (71.26832, 75.95746, 125.7872), rtol=0.06)
    assert any("2 rods twist freely" in note and "line 17 of geom.inc" in note for note in mixed.mesh.warnings)
    for (a, b), printed in KGG.items():
        rows, columns = (
            np.concatenate([mixed.dof_map.translations(n)[0], mixed.dof_map.rotations(n)[0]])
            for n in (np.flatnonzero(mixed.mesh.node_ids == number) for number in (a, b))
        )
        block = np.zeros((6, 6))
        for (i, j), value in printed.items():
            block[i, j] = value
        np.testing.assert_allclose(
            mixed.stiffness_of_all.toarray()[np.ix_(rows, columns)], block, atol=1e-9 * np.abs(block).max()
        )


def test_decks_are_known_by_their_content_in_dat_files(tmp_path):
    (tmp_path / "bent.dat").write_text((DECKS / "solid_bending.bdf").read_text())
    paths = DECKS / "solid_bending.bdf", tmp_path / "bent.dat"
    same, given = (fem.read_mesh(path, ignore=["LOAD", "SPC1"]) for path in paths)
    np.testing.assert_array_equal(given.points, same.points)
    (tmp_path / "other.dat").write_text("nothing\n")
    with pytest.raises(fem.MeshError, match=r"other.dat"):
        fem.read_mesh(tmp_path / "other.dat")


KGG = {
    (18, 22): {(0, 0): -1020936.6845970936, (0, 4): -510463.4416299561, (1, 1): -1020936.6845970936, (1, 3): 510463.4416299561, (2, 2): -7.25e6, (3, 1): -510473.2429671375, (3, 3): 104197.82116751088, (4, 0): 510473.2429671375, (4, 4): 104197.82116751088, (5, 5): -96743.9},
    (19, 23): {(0, 0): -1812488.4, (0, 4): -906244.2, (1, 1): -1812488.4, (1, 3): 906244.2, (2, 2): -7.25e6, (3, 1): -906244.2, (3, 3): 302081.4, (4, 0): 906244.2, (4, 4): 302081.4, (5, 5): -96823.1},
}  # fmt: skip
"""Stiffness between the ends of the CBEAM, which tapers, and of the CBAR in the matrix KGG of Nastran."""


def test_a_heavy_mass_on_a_bushing():
    """good_sine: a mass of 1e9, in units of weight, that moves a bar through a bushing between nodes that are apart."""
    sine = read("good_sine.bdf", ignore=["LOAD", "TABDMP1"])
    assert sine.unread == ()
    assert sine.mass == pytest.approx(1e9 * 0.00259, rel=1e-8)
    assert len(sine.mesh.springs) > 0
    assert len(reduction.modal(sine, 3).frequencies) == 3
