"""Sections of CBEAM whose centroid lies beside the shear centre, and rods of E alone, against closed forms."""

import numpy as np
import pytest
import scipy.sparse.linalg as ssl
from test_nastran import read

import fem
from fem.drawn_sections.draw import section_of_rectangles

LENGTH, E, G = 5.0, 2.1e5, 8.0e4
LINE = "GRID,1,,0.,0.,0.\nGRID,2,,2.,0.,0.\nGRID,3,,5.,0.,0.\nMAT1,1,2.1+5,8.+4,,7.85-9\nSPC1,1,123456,1\n"
BEAMS = "CBEAM,1,5,1,2,0.,1.,0.\nCBEAM,2,5,2,3,0.,1.,0.\n"


def flexibility(mesh):
    """Displacements and rotations (6) of the last node, held at the first, under unit forces and moments there."""
    model = fem.Model(mesh)
    assert model.unread == ()
    n = len(model.points)
    dofs = [*range(3 * (n - 1), 3 * n), *range(6 * n - 3, 6 * n)]
    T = model.dof_map.T
    return (T @ ssl.spsolve(model.K.tocsc(), T.T.tocsc()[:, dofs].toarray()))[dofs]


def closed_form(area, planes, torsion, aside):
    """The same of a slender bar whose forces act at the shear centre, and its centroid at `aside` (y, z); `planes`: the
    moments of inertia (2, 2) of y y, y z, z z."""
    F = np.zeros((6, 6))
    bending = np.linalg.inv(E * np.asarray(planes))  # curvatures v'', w'' per moment of the stresses about y, z
    c = np.asarray(aside)
    F[0, 0] = LENGTH / (E * area) + LENGTH * c @ bending @ c
    F[1:3, 1:3] = LENGTH**3 / 3 * bending
    F[1:3, 0] = LENGTH**2 / 2 * bending @ c  # a pull beside the centroid bends towards it
    turns = np.array([[0.0, -1.0], [1.0, 0.0]])  # rotations about y, z of the slopes v', w'
    F[4:, 1:3] = LENGTH**2 / 2 * turns @ bending
    F[4:, 0] = LENGTH * turns @ bending @ c
    F[4:, 4:] = LENGTH * turns @ bending @ turns.T
    F[3, 3] = LENGTH / (G * torsion)
    return np.tril(F) + np.tril(F, -1).T


@pytest.mark.parametrize("product", [0.0, 1.5e-3])
def test_centroids_beside_the_shear_centre(product, tmp_path):
    """N1, N2 of PBEAM: a force along the element bends it, forces across it do not twist it; stresses are recovered at
    places seen from the shear centre."""
    card = f"PBEAM,5,1,.5,4.-2,9.-2,{product},2.-2,,+\n+,.7,.4,,,,,,,+\n+,0.,0.,,,,,,,+\n+,,,,,.3,-.2\n"
    mesh = read(tmp_path, LINE + BEAMS + card, supports="keep")
    expected = closed_form(0.5, [[4e-2, product], [product, 9e-2]], 2e-2, (0.3, -0.2))
    np.testing.assert_allclose(flexibility(mesh), expected, atol=1e-9 * np.abs(expected).max())
    (beam,) = fem.Model(mesh).materials
    c, s = np.cos(np.deg2rad(beam.section.angle)), np.sin(np.deg2rad(beam.section.angle))
    np.testing.assert_allclose(np.array([[c, -s], [s, c]]) @ beam.section.fibres[0], (0.4, 0.6), atol=1e-9)
    same = "PBEAM,5,1,.5,4.-2,9.-2,0.,2.-2,,+\n+,.7,.4,,,,,,,+\n+,0.,0.,,,,,,,+\n+,,,,,{}\n"
    varying = read(tmp_path, LINE + BEAMS + same.format(".3,0.,.4,0."), loud=False, supports="keep")
    assert "distance from the shear centre varies" in varying.unread[0].text


def test_channels_follow_their_shear_centre(tmp_path):
    """PBEAML of type CHAN: the nodes are at the shear centre, outside of the web; of PBARL at the centroid."""
    size = "PBEAML,5,1,,CHAN,,,,,+\n+,.06,.1,.004,.006\n"
    drawn = section_of_rectangles([(0, 0, 0.1, 0.004), (0, 0, 0.006, 0.06), (0.094, 0, 0.1, 0.06)])
    mesh = read(tmp_path, LINE + BEAMS + size, supports="keep")
    found = flexibility(mesh)
    assert np.abs(found[3, 1:3]).max() < 1e-9 * found[3, 3]  # forces across do not twist
    arm = -found[2, 0] / found[4, 4] * 2 / LENGTH  # a force along it bends it about its centroid
    assert abs(arm) == pytest.approx(np.hypot(*drawn.shear_centre), rel=1e-9)
    middle, wall = 0.094, 0.058  # heights and widths between the middles of the walls
    thin = 3 * wall**2 * 0.006 / (6 * wall * 0.006 + middle * 0.004)  # beyond the web, by the textbook
    centroid = 2 * 0.06 * 0.006 * 0.03 + 0.088 * 0.004 * 0.002
    centroid /= 2 * 0.06 * 0.006 + 0.088 * 0.004
    assert abs(arm) == pytest.approx(centroid - 0.002 + thin, rel=0.02)
    bars = read(tmp_path, LINE + BEAMS.replace("CBEAM", "CBAR") + size.replace("PBEAML", "PBARL"), supports="keep")
    found = flexibility(bars)
    assert np.abs(found - np.diag(np.diag(found)))[:3, :3].max() < 1e-9 * found[1, 1]


def test_rods_of_a_material_with_a_modulus_alone(tmp_path):
    """MAT1 with E alone: trusses, which twist freely, also where their property has a torsion constant."""
    frame = LINE + BEAMS + "PBEAM,5,1,.5,4.-2,9.-2,0.,2.-2\nGRID,4,,5.,3.,0.\nMAT1,2,1.+5,,,1.-9\n"
    for rods in ("CROD,7,8,3,4\nPROD,8,2,.01\n", "CTUBE,7,8,3,4\nPTUBE,8,2,.2,.02\n", "CONROD,7,3,4,2,.01,.3\n"):
        mesh = read(tmp_path, frame + rods, supports="keep")
        model = fem.Model(mesh)
        truss = next(m for m in model.materials if isinstance(m, fem.Truss))
        assert 1 / np.linalg.inv(truss.material.elasticity)[0, 0] == pytest.approx(1e5)
        assert (model.unread, mesh.springs) == ((), ())
