"""Membranes of Nastran decks: skins of solids, shear fields between rods; against closed forms."""

import warnings

import numpy as np
import pytest
from test_nastran import grids, plate, read

import fem
import reduction
from fem.errors import MeshError, MeshWarning

L, B, H, SKIN = 1.0, 0.2, 0.1, 0.002
BLOCK = fem.structured_meshes.block("hexahedron", (L, B, H), (5, 2, 2))
SOFT, HARD = "MAT1,1,1.+9,,0.,1000.\n", "MAT1,2,7.+10,,0.,2700.\n"


def skinned(folder, skin=f"PSHELL,2,2,{SKIN}\n", extra=""):
    """A soft block with a stiff skin on its lower and its upper face."""
    text, number = grids(BLOCK.points), 1
    for row in (BLOCK.cells[0].connectivity + 1).tolist():
        text += f"CHEXA,{number},1,{','.join(map(str, row[:6]))},+\n+,{row[6]},{row[7]}\n"
        number += 1
    for side in ("z0", "z1") if skin else ():
        for cell, face in BLOCK.face_sets[side].tolist():
            corners = BLOCK.cells[0].connectivity[cell][list(fem.elements.ELEMENTS["hexahedron"].faces[face])] + 1
            text += f"CQUAD4,{number},2,{','.join(map(str, corners.tolist()))}\n"
            number += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return read(folder, text + "PSOLID,1,1\n" + skin + SOFT + HARD + extra, loud=False)


def energy(model, u, theta):
    """Twice the strain energy of displacements and rotations (n, 3) of the nodes, of which some have rotations."""
    field = np.concatenate([u.ravel(), theta[model.dof_map.rotation_nodes].ravel()])
    return float(field @ model.K @ field)


def test_a_skin_adds_its_stiffness_in_its_plane(tmp_path):
    """Stretch E h, bending E h (H / 2)^2 on either side, shear G h; hardly anything else."""
    mesh = skinned(tmp_path)
    (note,) = [text for text in mesh.warnings if "membrane" in text]
    assert "PSHELL 2 (line" in note
    model, bare = fem.Model(mesh), fem.Model(skinned(tmp_path, ""))
    x, y, z = (BLOCK.points - [0, 0, H / 2]).T
    zero = np.zeros_like(x)
    E, G = 7e10, 3.5e10
    for u, theta, expected in (
        ((x, zero, zero), (zero, zero, zero), E * SKIN * 2 * L * B),
        ((y, x, zero), (zero, zero, zero), 4 * G * SKIN * 2 * L * B),
        ((-x * z, zero, x**2 / 2), (zero, -x, zero), E * SKIN * 2 * L * B * (H / 2) ** 2),
        ((zero, zero, x), (zero, zero - 1, zero), 0.0),
        ((-y, x, zero), (zero, zero, zero + 1), 0.0),
    ):
        U, T = np.column_stack(u), np.column_stack(theta)
        added = energy(model, U, T) - energy(bare, U, T)
        assert added == pytest.approx(expected, rel=2e-3, abs=1e-12 * E)
    assert model.mass == pytest.approx(L * B * (H * 1000 + 2 * SKIN * 2700))


def test_a_skinned_part_is_a_body(tmp_path):
    """No soft motions beside the rigid ones, and no warning of hinges; the first frequency is between that of the core
    and that of the whole section without shear."""
    mesh = skinned(tmp_path)
    model = fem.Model(mesh).with_interfaces(end=np.flatnonzero(mesh.points[:, 0] < 1e-9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        basis = reduction.modal(model, 4)
    bare = reduction.modal(fem.Model(skinned(tmp_path, "")), 1).frequencies[0]
    EI = 1e9 * B * H**3 / 12 + 2 * 7e10 * B * SKIN * (H / 2) ** 2
    rule = 22.373 * np.sqrt(EI / (model.mass / L * L**4)) / (2 * np.pi)
    assert bare < basis.frequencies[0] < rule
    assert np.ptp(basis.frequencies) < 10 * basis.frequencies[0]


def test_membranes_of_layups_and_their_stresses(tmp_path):
    """LAM = MEM: the stretch of the plies, no coupling; stresses do not vary across."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        mesh = plate(tmp_path, section="PCOMP,5,,,,,,,MEM\n,1,.02,0.,,1,.03,0.\n", loud=False)
        model = fem.Model(mesh)
    (shell,) = model.materials
    C, plain = shell.section.stiffness, fem.Shell(fem.Material.isotropic(2.1e5, 0.3), 0.05).section.stiffness
    np.testing.assert_allclose(C[:3, :3], plain[:3, :3], rtol=1e-9)
    np.testing.assert_allclose(C[3:, 3:], 1e-3 * plain[3:, 3:], rtol=1e-9, atol=1e-9 * plain[3, 3])
    curved = np.zeros(8)
    curved[3] = 1.0
    assert abs(shell.section.stresses(0, 0.025) @ curved).max() < 2e-3 * plain[0, 0] / 0.05 * 0.025
    assert model.mass == pytest.approx(0.6 * 0.05 * 7.85e-9)


def test_what_no_membrane_has_is_named(tmp_path):
    for section, words in (
        ("PSHELL,5,1,.05,,,1\n", "without bending"), ("PSHELL,5,1,.05,-1\n", "plane strain"),
        ("PSHELL,5,,.05,1\n", "a material for the membrane"), ("PCOMP,5,,,,,,,BEND\n,1,.05,0.\n", "LAM = BEND"),
    ):  # fmt: skip
        with pytest.raises(MeshError, match=words):
            plate(tmp_path, section=section, loud=False)
