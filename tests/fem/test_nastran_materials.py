"""Materials of Nastran decks that are not isotropic, against the same part said in another way."""

import warnings

import numpy as np
import pytest
from test_nastran import MAT, read, values

import fem
from fem.errors import MaterialError, MeshWarning

CELLS = fem.structured_meshes.block("hexahedron20", (1.0, 0.4, 0.3), (2, 1, 1))
_A = np.random.default_rng(3).normal(size=(6, 6))
C = 1e5 * (np.diag([5.0, 4, 3, 2, 1.5, 1]) + 0.1 * _A @ _A.T)
"""A stiffness of xx, yy, zz, xy, yz, zx without any symmetry of the material."""
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
TURN *= np.linalg.det(TURN)
_ORDER = next(e.nastran_order for e in (fem.elements.ELEMENTS["hexahedron20"],)) or range(20)


def hexas(points, material, system="", extra=""):
    """A deck of the block with its nodes at `points`."""
    cards = "".join(f"GRID,{k},,{x!r},{y!r},{z!r}\n" for k, (x, y, z) in enumerate(points.tolist(), 1))
    for k, row in enumerate(CELLS.cells[0].connectivity + 1, 1):
        told = [0] * 20
        for place, own in enumerate(_ORDER):
            told[own] = int(row[place])
        cards += f"CHEXA,{k},1,{','.join(map(str, told[:6]))},+\n+,{','.join(map(str, told[6:14]))},+\n"
        cards += f"+,{','.join(map(str, told[14:]))}\n"
    return cards + f"PSOLID,1,3,{system}\n" + material + extra


def mat9(C, density="7.85-9"):
    values = [f"{v:.16g}" for v in C[np.triu_indices(6)]] + [density]
    lines = [values[:7], values[7:15], values[15:]]
    return "MAT9,3," + ",+\n+,".join(",".join(line) for line in lines) + "\n"


def system_of(R, number=4, kind="CORD2R", origin=(3.0, -1.0, 2.0)):
    a, b, c = (np.asarray(origin) + d for d in (np.zeros(3), R[2], R[0]))
    told = [repr(float(v)) for v in (*a, *b, *c)]
    return f"{kind},{number},,{','.join(told[:6])},+\n+,{','.join(told[6:])}\n"


def test_anisotropic_solids_have_the_matrix_of_the_card(tmp_path):
    """Against Abaqus's *ELASTIC, TYPE=ANISO, which writes columns and the order xx, yy, zz, xy, zx, yz."""
    model = fem.Model(read(tmp_path, hexas(CELLS.points, mat9(C))))
    D = C[np.ix_([0, 1, 2, 3, 5, 4], [0, 1, 2, 3, 5, 4])]
    told = [f"{D[i, j]:.16g}" for j in range(6) for i in range(j + 1)]
    deck = "*NODE\n" + "".join(f"{k},{x!r},{y!r},{z!r}\n" for k, (x, y, z) in enumerate(CELLS.points.tolist(), 1))
    deck += "*ELEMENT, TYPE=C3D20, ELSET=ALL\n"
    for k, row in enumerate(CELLS.cells[0].connectivity + 1, 1):
        deck += f"{k},{','.join(map(str, row[:15].tolist()))},\n{','.join(map(str, row[15:].tolist()))}\n"
    deck += "*MATERIAL, NAME=A\n*ELASTIC, TYPE=ANISO\n"
    deck += f"{','.join(told[:8])}\n{','.join(told[8:16])}\n{','.join(told[16:])}\n*DENSITY\n7.85e-9\n*SOLID SECTION, ELSET=ALL, MATERIAL=A\n"
    (tmp_path / "part.inp").write_text(deck)
    other = fem.Model(fem.read_mesh(tmp_path / "part.inp"))
    np.testing.assert_allclose(model.K.toarray(), other.K.toarray(), rtol=0, atol=1e-9 * abs(other.K).max())
    np.testing.assert_allclose(model.M.toarray(), other.M.toarray(), rtol=0, atol=1e-12 * abs(other.M).max())


def test_a_turned_system_of_the_material_is_a_part_turned_back(tmp_path):
    """CORDM with the part in place, and the part in the coordinates of that system with CORDM = 0."""
    in_place = fem.Model(read(tmp_path, hexas(CELLS.points, mat9(C), 4, system_of(TURN))))
    turned = fem.Model(read(tmp_path, hexas(CELLS.points @ TURN.T, mat9(C))))
    plain = fem.Model(read(tmp_path, hexas(CELLS.points, mat9(C))))
    np.testing.assert_allclose(values(in_place)[6:16], values(turned)[6:16], rtol=1e-7)
    assert abs(values(in_place)[6] / values(plain)[6] - 1) > 0.01
    assert in_place.materials[0].name == "MAT9 3, system 4"


def test_orthotropic_solids_contract_as_the_card_says(tmp_path):
    """The compliance of MAT11: nu12, nu13 and nu23 are contractions along 2, 3 and 3 for pulls along 1, 1 and 2."""
    card = "MAT11,3,1.+5,.5+5,.2+5,.3,.2,.1,.3+5,+\n+,.15+5,.1+5,7.85-9\n"
    (material,) = fem.Model(read(tmp_path, hexas(CELLS.points, card))).materials
    S = np.zeros((6, 6))
    S[:3, :3] = [[1 / 10, -0.3 / 10, -0.2 / 10], [-0.3 / 10, 1 / 5, -0.1 / 5], [-0.2 / 10, -0.1 / 5, 1 / 2]]
    S[3, 3], S[4, 4], S[5, 5] = 1 / 3, 1 / 1, 1 / 1.5  # xy, yz, zx
    np.testing.assert_allclose(material.elasticity @ S, 1e4 * np.eye(6), atol=1e-8)
    assert material.density == 7.85e-9


def test_cylindrical_systems_turn_the_material(tmp_path):
    axis = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # the axis is x, through (3, -1, 2)
    mesh = read(tmp_path, hexas(CELLS.points, mat9(C), 4, system_of(axis, kind="CORD2C")))
    about = fem.CylindricalAxes((3.0, -1.0, 2.0), (1.0, 0.0, 0.0))
    same = fem.Model(CELLS, fem.Material("A", C, 7.85e-9, about))
    np.testing.assert_allclose(values(fem.Model(mesh))[6:12], values(same)[6:12], rtol=1e-9)


def test_isotropic_solids_do_not_depend_on_a_system(tmp_path):
    steel = MAT.replace("MAT1,1", "MAT1,3")
    plain = fem.Model(read(tmp_path, hexas(CELLS.points, steel)))
    for number in (4, -1):
        model = fem.Model(read(tmp_path, hexas(CELLS.points, steel, number, system_of(TURN))))
        assert abs(model.K - plain.K).max() == 0


@pytest.mark.parametrize(
    ("card", "system", "words"),
    [
        (mat9(C), -1, "its axes are those of each element"),
        (mat9(C), 7, "coordinate system 7 is not defined"),
        (mat9(C), 5, "its coordinate system 5 is spherical"),
        (mat9(np.diag([1.0, 1, 1, 1, 1, 0])), "", "not positive definite"),
        ("MAT2,3,2.,.5,,2.,,1.\n", "", "MAT2 is a material of shells"),
        ("MAT8,3,2.,2.,.3,1.\n", "", "MAT8 is a material of shells"),
    ],
)
def test_materials_that_are_not_understood_are_named(card, system, words, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        mesh = read(tmp_path, hexas(CELLS.points, card, system, system_of(TURN, 5, "CORD2S")), loud=False)
        with pytest.raises(MaterialError, match=words):
            fem.Model(mesh)


def test_damping_of_an_anisotropic_material_is_named(tmp_path):
    (lost,) = read(tmp_path, hexas(CELLS.points, mat9(C, "7.85-9,1.,+\n+,,,,,,,.02")), loud=False).unread
    assert lost.keyword == "MAT9 GE"
