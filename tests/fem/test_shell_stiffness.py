"""Shells of a given stiffness: of the same plate as a layer or a layup, and of PSHELL with four materials."""

import numpy as np
import pytest
from test_nastran import PLATE, STEEL, plate

import fem
from fem.errors import MaterialError, MeshError

CARBON = fem.Material.orthotropic((1.4e5, 1e4, 1e4), (0.3, 0.0, 0.0), (5e3, 3.5e3, 5e3), 1.6e-9, "carbon")
LAYUP = fem.Shell.layup([fem.Ply(CARBON, t, a) for t, a in ((0.01, 0), (0.02, 30), (0.015, -75))], (1.0, 0.0, 0.0))


def of_stiffness(shell, **options):
    """The same shell by its matrix."""
    return fem.Shell(
        shell.material, shell.thickness, x_axis=(1.0, 0.0, 0.0), stiffness=shell.section.stiffness, **options
    )


def assert_same(A, B, rtol=1e-9):
    np.testing.assert_allclose(A.toarray(), B.toarray(), rtol=0, atol=rtol * abs(B).max())


@pytest.mark.parametrize("kind", ["triangle", "quad", "quad8"])
def test_a_layup_is_its_stiffness(kind):
    mesh = fem.structured_meshes.sheet(kind, (1.0, 0.6), (3, 2))
    whole, matrix = fem.Model(mesh, LAYUP), fem.Model(mesh, of_stiffness(LAYUP))
    assert_same(matrix.K, whole.K)
    assert matrix.mass == pytest.approx(whole.mass)
    u = np.random.default_rng(1).normal(size=whole.ndof)
    assert_same(matrix.geometric_stiffness(u), whole.geometric_stiffness(u))


def test_a_layer_is_its_stiffness_with_its_inertia_and_stresses():
    plain, given = fem.Shell(STEEL, 0.05), of_stiffness(fem.Shell(STEEL, 0.05))
    assert_same(fem.Model(PLATE, given).M, fem.Model(PLATE, plain).M)
    for z in (-0.025, -0.01, 0.0, 0.02):
        theirs, ours = (shell.section.stresses(0, z) for shell in (plain, given))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * abs(theirs).max())
    assert fem.Shell(STEEL, 0.05, stiffness=plain.section.stiffness).x_axis is None


def test_stresses_are_those_of_the_forces_and_moments():
    """N / h and z M / I through the thickness: their integrals are the forces and the moments."""
    section = of_stiffness(LAYUP, bending_ratio=1.0).section
    h, (points, weights) = LAYUP.thickness, np.polynomial.legendre.leggauss(4)
    z, w = points * h / 2, weights * h / 2
    stresses = np.array([section.stresses(0, float(level)) for level in z])
    C = LAYUP.section.stiffness
    np.testing.assert_allclose(np.einsum("q,qij->ij", w, stresses)[[0, 1, 2]], C[:3], atol=1e-9 * C[0, 0])
    np.testing.assert_allclose(np.einsum("q,qij->ij", w * z, stresses)[:3], C[3:6], atol=1e-9 * C[0, 0])
    np.testing.assert_allclose(np.einsum("q,qij->ij", w, stresses)[3:], C[6:], atol=1e-9 * C[0, 0])
    double = of_stiffness(LAYUP, bending_ratio=2.0).section.stresses(0, h / 2)
    np.testing.assert_allclose(double[:3] - C[:3] / h, (section.stresses(0, h / 2)[:3] - C[:3] / h) / 2)


def test_a_stiffness_that_is_none_is_refused():
    C = np.array(fem.Shell(STEEL, 0.05).section.stiffness)
    lopsided, soft = C.copy(), C.copy()
    lopsided[0, 1] *= 1.01
    soft[4] = soft[:, 4] = 0.0
    for wrong, words in ((C[:6, :6], r"\(8, 8\)"), (lopsided, "symmetric"), (soft, "without energy")):
        with pytest.raises(MaterialError, match=words):
            fem.Shell(STEEL, 0.05, stiffness=wrong)
    with pytest.raises(MaterialError, match="x_axis"):
        fem.Shell(CARBON, 0.045, stiffness=LAYUP.section.stiffness)


def mat2(number, Q, density=""):
    values = (
        ",".join(f"{v:.14g}" for v in Q[np.triu_indices(len(Q))])
        if len(Q) == 3
        else f"{Q[0, 0]:.14g},{Q[0, 1]:.14g},,{Q[1, 1]:.14g},,"
    )
    return f"MAT2,{number},{values},{density}\n"


@pytest.mark.parametrize(("T", "ratio"), [(0.045, 1.0), (1.0, 12.0)])
def test_four_materials_of_pshell_are_a_layup(T, ratio, tmp_path):
    """MID1 to MID4 of the layup of a PCOMP: G1 = A / T, G2 = D / I, G4 = -B / T**2 (NASTRAN makes them so of a PCOMP),
    also with a thickness of one, as programs that size panels write."""
    C = LAYUP.section.stiffness
    made = mat2(11, C[:3, :3] / T, 1.6e-9 * 0.045 / T) + mat2(12, C[3:6, 3:6] / (ratio * T**3 / 12))
    made += mat2(13, C[6:, 6:] / T) + mat2(14, -C[:3, 3:6] / T**2)
    four = fem.Model(plate(tmp_path, made, section=f"PSHELL,5,11,{T},12,{ratio},13,1.,,+\n+,,,14\n", tail=",0."))
    plies = "PCOMP,5\n,2,.01,0.,,2,.02,30.\n,2,.015,-75.\nMAT8,2,1.4+5,1.+4,.3,5.+3,5.+3,3.5+3,1.6-9\n"
    layers = fem.Model(plate(tmp_path, section=plies, tail=",0."))
    assert_same(four.K, layers.K, 1e-8)
    assert four.mass == pytest.approx(layers.mass)
    assert_same(four.K, fem.Model(PLATE, LAYUP).K, 1e-8)


def test_plane_stress_of_a_card_may_stand_for_a_metal(tmp_path):
    E, nu = 2.1e5, 0.3
    Q = E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
    plain = fem.Model(PLATE, fem.Shell(STEEL, 0.05))
    for section in ("PSHELL,5,2,.05,2,,1\n", "PSHELL,5,2,.05,1,,1\n", "PSHELL,5,1,.05,2,,1\n"):
        assert_same(fem.Model(plate(tmp_path, mat2(2, Q, 7.85e-9), section=section)).K, plain.K)
    with pytest.raises(MeshError, match=r"line 21 of part.bdf: .*G33, which must be blank"):
        plate(tmp_path, mat2(2, Q), section="PSHELL,5,1,.05,1,,2\n", loud=False)


def test_smeared_layups_have_no_sequence(tmp_path):
    """D = A T**2 / 12, no coupling, hardly any transverse shear; the mass of all plies."""
    plies = "PCOMP,5,,,,,,,SMEAR\n,2,.01,0.,,2,.02,30.\n,2,.015,-75.\nMAT8,2,1.4+5,1.+4,.3,5.+3,5.+3,3.5+3,1.6-9\n"
    model = fem.Model(plate(tmp_path, section=plies, tail=",0."))
    (C,), A = (m.section.stiffness for m in model.materials), LAYUP.section.stiffness[:3, :3]
    np.testing.assert_allclose(C[:3, :3], A, rtol=1e-9)
    np.testing.assert_allclose(C[3:6, 3:6], A * 0.045**2 / 12, rtol=1e-9)
    assert abs(C[:3, 3:6]).max() == 0
    assert min(C[6, 6], C[7, 7]) > 100 * LAYUP.section.stiffness[6:, 6:].max()
    assert model.mass == pytest.approx(fem.Model(PLATE, LAYUP).mass)


@pytest.mark.parametrize("option", ["SMEAR", "MEM"])
def test_a_mass_of_its_own_counts_once(option, tmp_path):
    """NSM of a layup without sequence, beside the densities of its plies, and alone."""
    carbon = "MAT8,2,1.4+5,1.+4,.3,5.+3,5.+3,3.5+3,{}\n"
    plies = "PCOMP,5,,1.-9,,,,,{}\n,2,.01,0.,,2,.02,30.\n,2,.015,-75.\n"
    for density in ("1.6-9", ""):
        smeared, layers = (
            fem.Model(plate(tmp_path, carbon.format(density), section=plies.format(lam), tail=",0.", loud=False))
            for lam in (option, "")
        )
        assert smeared.mass == pytest.approx(layers.mass, rel=1e-9)
        assert layers.mass == pytest.approx((0.045 * (1.6e-9 if density else 0.0) + 1e-9) * 0.6)
