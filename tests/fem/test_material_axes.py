"""Materials whose axes turn around an axis, and materials that are turned: closed forms, and the same part in other axes."""

import numpy as np
import pytest
import scipy.sparse.linalg as sl
from pydantic import TypeAdapter

import fem
from fem.errors import FlexmbError, MaterialError
from fem.mesh.structured_meshes import block, tube
from flexmb.files.models.material_keys import Material, material_of

WOOD = fem.Material.orthotropic((1.0e4, 8e2, 5e2), (0.3, 0.25, 0.02), (6e2, 5e1, 7e2), 5e-10, name="wood")
ABOUT_Z = fem.CylindricalAxes((0, 0, 0), (0, 0, 1))


def with_axes(material, axes):
    return fem.Material(material.name, material.elasticity, material.density, axes)


def test_an_orthotropic_cylinder_under_pressure():
    """u = A r^k + B r^-k with k^2 = C_tt / C_rr, in plane strain, and the pressure inside."""
    a, b, p = 1.0, 2.0, 3.0
    errors = []
    for n in (2, 4):
        mesh = tube("hexahedron20", (a, b), 0.3, (n, 8 * n, 1))
        model = fem.Model(mesh, with_axes(WOOD, ABOUT_Z))
        f = np.asarray(fem.pressure(model, "inner", p)).reshape(-1)
        x = mesh.points
        held = [
            3 * np.arange(len(x)) + 2,
            3 * np.flatnonzero(np.abs(x[:, 1]) < 1e-9) + 1,
            3 * np.flatnonzero(np.abs(x[:, 0]) < 1e-9),
        ]
        free = np.setdiff1d(np.arange(model.ndof), np.concatenate(held))
        u = np.zeros(model.ndof)
        u[free] = sl.spsolve(model.K.tocsc()[np.ix_(free, free)], f[free])
        C = WOOD.elasticity
        k = np.sqrt(C[1, 1] / C[0, 0])
        slope = {s: C[0, 0] * s * k + C[0, 1] for s in (1, -1)}
        A, B = np.linalg.solve([[slope[s] * r ** (s * k - 1) for s in (1, -1)] for r in (a, b)], [-p, 0])
        r = np.hypot(x[:, 0], x[:, 1])
        radial = (u.reshape(-1, 3)[:, :2] * x[:, :2]).sum(axis=1) / r
        exact = A * r**k + B * r**-k
        errors.append(np.abs(radial - exact).max() / np.abs(exact).max())
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] > 6  # third order


def test_turned_materials_are_the_part_in_other_axes():
    """A part turned with its material has the same frequencies; a material turned by four right angles is itself."""
    R, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    R *= np.sign(np.linalg.det(R))
    mesh = block("hexahedron", (3.0, 1.0, 0.5), (3, 1, 1))
    turned = fem.Mesh(mesh.points @ R, mesh.cells)
    material = WOOD.turned(tuple(R[0]), tuple(R[1] + 0.3 * R[0]))
    one, other = (np.linalg.eigvalsh(fem.Model(*of).K.toarray()) for of in ((mesh, WOOD), (turned, material)))
    np.testing.assert_allclose(one[6:], other[6:], rtol=1e-9)
    around = WOOD.turned((0, 1, 0), (-1, 0, 0)).turned((0, 1, 0), (-1, 0, 0))
    np.testing.assert_allclose(around.elasticity, WOOD.elasticity, atol=1e-9 * WOOD.elasticity.max())
    quarter = WOOD.turned((0, 1, 0), (-1, 0, 0))
    assert 1 / np.linalg.inv(quarter.elasticity)[1, 1] == pytest.approx(1.0e4)


def test_anisotropic_materials_are_turned_and_not_mirrored():
    """One that couples stretch and shear, as an orthotropic one does not, tells a turn from a reflection."""
    A = np.random.default_rng(3).normal(size=(6, 6))
    C = A @ A.T
    material = fem.Material("crystal", C)
    np.testing.assert_allclose(material.turned((1, 0, 0), (0, 1, 0)).elasticity, C, atol=1e-12 * np.abs(C).max())
    axes = (0.6, 0.8, 0.0), (-0.8, 0.6, 0.0)
    turned = material.turned(*axes).elasticity
    strain = np.random.default_rng(4).normal(size=(3, 3))
    strain = strain + strain.T
    R = np.array([*axes, (0, 0, 1)])
    voigt = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]
    energies = []
    for stiffness, e in ((C, R @ strain @ R.T), (turned, strain)):
        row = np.array([e[i, j] * (1 if i == j else 2) for i, j in voigt])
        energies.append(row @ stiffness @ row)
    assert energies[1] == pytest.approx(energies[0])


@pytest.mark.parametrize("kind", ["hexahedron", "tetra10", "hexahedron-reduced"])
def test_all_operators_know_the_axes(kind):
    """A material that is the same in all directions is the same with axes: stiffness, geometric stiffness, stresses."""
    mesh = (
        tube(kind, (1.0, 2.0), 0.5, (1, 6, 1))
        if kind != "hexahedron-reduced"
        else block(kind, (1.0, 1.0, 0.5), (2, 1, 1))
    )
    steel = fem.Material.isotropic(2.1e5, 0.3, 7.85e-9)
    axes = fem.CylindricalAxes((0.1, -5.0, 0), (0.2, 0.1, 1), turn=25.0, turned_about=1)
    plain, turning = fem.Model(mesh, steel), fem.Model(mesh, with_axes(steel, axes))
    rng = np.random.default_rng(2)
    u, V = rng.normal(size=plain.ndof), rng.normal(size=(plain.ndof, 3))
    pairs = np.array([(0, 0), (0, 1), (2, 1)])
    for of in (
        lambda m: m.K,
        lambda m: m.geometric_stiffness(u),
        lambda m: m.projected_geometric_stiffness(V, V),
        lambda m: m.quadratic_strain_loads(V, pairs),
        lambda m: m.stresses(V)[0],
        lambda m: m.stresses(V)[1],
    ):
        one, other = (np.asarray(A.toarray() if hasattr(A, "toarray") else A) for A in (of(plain), of(turning)))
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max())


def test_axes_of_a_part_far_from_their_axis_are_fixed():
    far = fem.CylindricalAxes((0, -1e7, 0), (0, 0, 1), turn=90.0)  # radial y, turned: first axis -x
    mesh = block("hexahedron20", (1.0, 2.0, 0.5), (1, 1, 1))
    one, other = fem.Model(mesh, with_axes(WOOD, far)).K, fem.Model(mesh, WOOD.turned((-1, 0, 0), (0, -1, 0))).K
    assert abs(one - other).max() < 1e-6 * abs(one).max()


def test_shells_around_a_cylinder():
    """The axial fibres of a wound shell: the same with the direction of the axis, which projects to itself."""
    carbon = fem.Material.orthotropic((1.35e5, 9e3, 9e3), (0.3, 0, 0), (5e3, 3.5e3, 4.5e3), 1.6e-9)
    flat = fem.structured_meshes.sheet("quad", (1.0, 2.0), (8, 4))
    angle, z = flat.points[:, 0], flat.points[:, 1]
    shell = fem.Mesh(np.column_stack([np.cos(angle), np.sin(angle), z]), flat.cells)
    axial = fem.Shell(carbon, 0.05, x_axis=(0, 0, 1))
    about = fem.Shell(carbon, 0.05, x_axis=fem.CylindricalAxes((0, 0, 0), (0, 0, 1), turn=90.0, turned_about=1))
    one, other = fem.Model(shell, axial).K, fem.Model(shell, about).K
    assert abs(one - other).max() < 1e-9 * abs(one).max()
    by_side = fem.Model(shell, fem.Shell(carbon, 0.05, x_axis=fem.SideAxes(90.0))).K  # first sides are circumferential
    assert abs(one - by_side).max() < 1e-9 * abs(one).max()


def test_axes_of_a_file_that_a_model_does_not_have_are_named(tmp_path):
    constants = "1.2e4, 800., 600., .4, .3, .45, 700., 650.,\n60."
    mesh = block("hexahedron", (1.0, 2.0, 0.5), (1, 1, 1))
    nodes = "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(mesh.points.tolist(), 1))
    (tmp_path / "log.inp").write_text(
        f"*NODE\n{nodes}*ELEMENT, TYPE=C3D8I, ELSET=E\n1, {', '.join(map(str, mesh.cells[0].connectivity[0] + 1))}\n"
        "*ORIENTATION, NAME=O, SYSTEM=CYLINDRICAL\n0., -5., 0., 0., -5., 1.\n"
        f"*MATERIAL, NAME=WOOD\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n{constants}\n"
        "*SOLID SECTION, ELSET=E, MATERIAL=WOOD, ORIENTATION=O\n"
    )
    mesh = fem.read_mesh(tmp_path / "log.inp")
    own = fem.Model(mesh).materials[0]
    assert own.axes is not None
    assert fem.Model(mesh, own).unread == ()
    straight = fem.Material(own.name, own.elasticity)
    assert ["its axes are" in u.text for u in fem.Model(mesh, straight).unread] == [True]


def test_what_cannot_be():
    with pytest.raises(MaterialError, match="no radial direction"):
        ABOUT_Z.at(np.array([[0.0, 0.0, 2.0]]))
    for wrong, words in (
        ({"direction": (0, 0, 0)}, "not be zero"),
        ({"point": (0, np.nan, 0)}, "finite"),
        ({"turned_about": 3}, "0, 1 or 2"),
    ):
        with pytest.raises(MaterialError, match=words):
            fem.CylindricalAxes(**({"point": (0, 0, 0), "direction": (0, 0, 1)} | wrong))
    with pytest.raises(MaterialError, match="finite"):
        fem.SideAxes(np.inf)
    with pytest.raises(MaterialError, match="span a plane"):
        WOOD.turned((1, 0, 0), (2, 0, 0))
    turning = with_axes(WOOD, ABOUT_Z)
    with pytest.raises(MaterialError, match="x_axis of the shell"):
        fem.Shell(turning, 0.1, x_axis=(1, 0, 0))
    with pytest.raises(MaterialError, match="for solids"):
        fem.Beam(turning, fem.Section.circle(1.0))


def test_model_files_turn_materials():
    constants = {
        "youngs_moduli": [1e4, 8e2, 5e2],
        "poissons_ratios": [0.3, 0.25, 0.02],
        "shear_moduli": [6e2, 5e1, 7e2],
        "density": 5e-10,
    }
    keys = TypeAdapter(Material)
    turned = material_of(keys.validate_python({**constants, "x_axis": [0, 1, 0], "y_axis": [-1, 0, 0]}))
    np.testing.assert_array_equal(turned.elasticity, WOOD.turned((0, 1, 0), (-1, 0, 0)).elasticity)
    ring = material_of(keys.validate_python({**constants, "cylinder": {"point": [0, 0, 0], "direction": [0, 0, 1]}}))
    assert ring.axes == ABOUT_Z
    assert material_of(keys.validate_python(constants)).axes is None
    with pytest.raises(ValueError, match="x_axis and y_axis"):
        keys.validate_python({**constants, "x_axis": [0, 1, 0]})


@pytest.mark.parametrize("angle", [0.0, 30.0, 120.0])
def test_axes_of_shells_along_the_sides_of_their_cells(angle):
    """Turned about the normal by the right hand: a cell that begins with its side along x, and one that begins with its
    side along y."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1.1, 0.9, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0]])
    rows = np.array([[0, 1, 2, 3], [4, 5, 2, 1]])

    def stiffness(row, axes):
        return fem.Model(
            fem.Mesh(points[row], (fem.CellBlock("quad", np.arange(4)[None]),)), fem.Shell(WOOD, 0.1, x_axis=axes)
        ).K

    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    for row, axis in zip(rows, ((c, s, 0.0), (-s, c, 0.0)), strict=True):
        expected = stiffness(row, axis)
        assert abs(stiffness(row, fem.SideAxes(angle)) - expected).max() < 1e-12 * abs(expected).max()


def test_a_material_tells_the_constants_it_was_made_of():
    told = str(fem.Material.orthotropic((140e9, 10e9, 8e9), (0.3, 0.25, 0.02), (5e9, 4e9, 3e9), 1600.0))
    assert "Young's modulus 1.4e+11, 1e+10, 8e+09" in told
    assert "Poisson's ratio 0.3, 0.25, 0.02" in told
    assert "shear modulus 5e+09, 4e+09, 3e+09" in told


def test_cylindrical_axes_follow_the_right_hand():
    """At the place y = 2 of a cylinder about z the tangent points to -x; a turn leads from the first axis to the next."""
    place, c, s = np.array([[0.0, 2.0, 5.0]]), np.cos(np.pi / 6), np.sin(np.pi / 6)
    radial, tangent, axial = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    turned = {
        0: (radial, c * tangent + s * axial, c * axial - s * tangent),
        1: (c * radial - s * axial, tangent, c * axial + s * radial),
        2: (c * radial + s * tangent, c * tangent - s * radial, axial),
    }
    np.testing.assert_allclose(ABOUT_Z.at(place)[0], [radial, tangent, axial], atol=1e-15)
    for axis, expected in turned.items():
        axes = fem.CylindricalAxes((0, 0, 0), (0, 0, 1), turn=30.0, turned_about=axis)
        np.testing.assert_allclose(axes.at(place)[0], expected, atol=1e-15)


def test_directions_that_overflow_are_refused_and_long_ones_count():
    """The length of a direction of 1e200 overflows: such beams, shells and selections had the direction zero."""
    wood = fem.Material.orthotropic((4e10, 1e10, 1e10), (0.2, 0.3, 0.1), (5e9, 4e9, 5e9), 1800.0)
    turned = wood.turned((2.0**320, 2.0**320, 0), (0, 2.0**-600, 0))
    np.testing.assert_array_equal(turned.elasticity, wood.turned((1, 1, 0), (0, 1, 0)).elasticity)
    far, steel = (1e200, 1e200, 0.0), fem.Material.steel()
    for make in (
        lambda: wood.turned(far, (0, 1, 0)),
        lambda: fem.CylindricalAxes((0, 0, 0), far),
        lambda: fem.CylindricalAxes(far, (0, 0, 1)),
        lambda: fem.Shell(steel, 0.01, x_axis=far),
        lambda: fem.Beam(steel, fem.Section.circle(0.1), far),
        lambda: fem.on_plane((0, 0, 0), far),
        lambda: fem.on_cylinder(far, (0, 0, 1), 1.0),
    ):
        with pytest.raises(FlexmbError, match=r"1e\+?200"):
            make()


def test_a_density_whose_products_overflow_is_refused():
    with pytest.raises(MaterialError, match=r"density must be positive and finite, at most 1e\+100; found 1e\+300"):
        fem.Material.isotropic(2.1e11, 0.3, 1e300)
