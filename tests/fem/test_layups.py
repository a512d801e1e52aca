"""Layups of shells: section stiffness, stresses of plies, against solids and closed forms; pressure; model files."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import fem
import flexmb
import reduction
from fem.errors import MaterialError, MeshError
from fem.mesh.structured_meshes import block, sheet
from flexmb.files.models.model_file import load_model
from validation import shells

CARBON = fem.Material.orthotropic((140e9, 10e9, 10e9), (0.3, 0.4, 0.3 * 10 / 140), (5e9, 3.5e9, 5e9), 1600.0, "carbon")
FOAM = fem.Material.isotropic(70e6, 0.3, 60.0, "foam")
BALSA = fem.Material.isotropic(0.5e9, 0.3, 150.0, "balsa")
STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
X = (1.0, 0.0, 0.0)


def test_plies_of_one_material_are_one_layer():
    one = fem.Shell(STEEL, 0.03).section
    three = fem.Shell.layup([fem.Ply(STEEL, t, a) for t, a in ((0.005, 0), (0.015, 30), (0.01, 77))]).section
    np.testing.assert_allclose(three.stiffness, one.stiffness, atol=1e-12 * one.stiffness.max())
    np.testing.assert_allclose(three.inertia, one.inertia, atol=1e-12)
    np.testing.assert_allclose(one.shear_stiffness, 5 / 6 * 0.03 * 2e11 / 2.6 * np.eye(2), rtol=1e-12)
    np.testing.assert_allclose(one.shear_stress(0, 0.0), 1.5 / 0.03 * np.eye(2), rtol=1e-12)
    np.testing.assert_allclose(one.shear_stress(0, 0.015), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("angles", "sided"),
    [((0, 0), False), ((0, 90, 0), False), ((45, -45), False), ((0, 90), True), ((30,), True), ((45, -45, 45), True)],
)
def test_layups_that_are_others_from_below(angles, sided):
    """Turned over about its axis x, a layup lies in reverse order, with the opposite angles."""
    plies = [fem.Ply(CARBON, 1e-3, angle) for angle in angles]
    turned = [fem.Ply(CARBON, 1e-3, -angle) for angle in reversed(angles)]
    one, other = (fem.Shell.layup(layers, X).section.stiffness for layers in (plies, turned))
    assert np.allclose(one, other, rtol=0, atol=1e-9 * np.abs(one).max()) != sided
    assert fem.Shell.layup(plies, X).has_sides == sided


def test_a_sandwich_shears_in_its_core():
    """Thin stiff faces: S = G_core d^2 / core, d between the middles of the faces."""
    face, core = 1e-4, 0.02
    layup = fem.Shell.layup([fem.Ply(STEEL, face), fem.Ply(FOAM, core), fem.Ply(STEEL, face)]).section
    G = 70e6 / 2.6
    assert layup.shear_stiffness[0, 0] == pytest.approx(G * (core + face) ** 2 / core, rel=5e-3)


def test_an_unsymmetric_layup_couples():
    """[0/90]: B11 = (Q22 - Q11) h^2 / 8 with the plies from the bottom; mean of turned stiffnesses in A."""
    h = 2e-3
    layup = fem.Shell.layup([fem.Ply(CARBON, h / 2, 0), fem.Ply(CARBON, h / 2, 90)], X).section
    Q, _ = fem.Ply(CARBON, 1.0).own
    C = layup.stiffness
    assert C[0, 0] == pytest.approx(h * (Q[0, 0] + Q[1, 1]) / 2)
    assert C[0, 3] == pytest.approx((Q[1, 1] - Q[0, 0]) * h**2 / 8)
    assert C[1, 4] == pytest.approx(-C[0, 3])


@pytest.mark.parametrize("offset", [0.0, 0.03, -0.05])
def test_an_unsymmetric_layup_has_the_inertia_of_its_plies(offset):
    """Heavy below, light above: mass, mass centre and inertia across of two blocks, one on the other."""
    plies = [fem.Ply(STEEL, 0.02), fem.Ply(BALSA, 0.04)]
    model = fem.Model(sheet("quad", (2.0, 1.0), (4, 2)), fem.Shell.layup(plies, X, offset))
    masses = 2.0 * np.array([7800.0 * 0.02, 150.0 * 0.04])
    heights = offset + np.array([-0.03 + 0.01, -0.03 + 0.04])
    thickness = np.array([0.02, 0.04])
    assert model.mass == pytest.approx(masses.sum(), rel=1e-12)
    z = masses @ heights / masses.sum()
    np.testing.assert_allclose(model.centre_of_mass, [1.0, 0.5, z], atol=1e-12)
    across = masses @ (thickness**2 / 12 + (heights - z) ** 2)
    assert model.inertia()[0, 0] == pytest.approx(masses.sum() / 12 + across, rel=1e-9)


def strip(plies, L=1.0, b=0.1, offset=0.0):
    mesh = sheet("quad8", (L, b), (12, 2))
    return fem.Model(mesh, fem.Shell.layup(plies, X, offset))


def solid_strip(plies, L=1.0, b=0.1):
    """The same strip of hexahedra, two through each ply."""
    h = sum(p.thickness for p in plies)
    mesh = block("hexahedron20", (L, b, h), (16, 1, 2 * len(plies)))
    heights = np.concatenate([[0.0], np.cumsum([p.thickness for p in plies])])
    z = np.interp(mesh.points[:, 2], np.linspace(0, h, len(plies) + 1), heights)
    mesh = replace(mesh, points=np.column_stack([mesh.points[:, :2], z - h / 2]))
    centre = mesh.points[mesh.cells[0].connectivity].mean(axis=1)[:, 2] + h / 2
    number = np.clip(np.searchsorted(heights, centre) - 1, 0, len(plies) - 1)
    sets = {f"ply {k}": np.flatnonzero(number == k) for k in range(len(plies))}
    turned = {}
    for k, ply in enumerate(plies):
        E = ply.material.elasticity
        swap = [1, 0, 2, 3, 5, 4] if ply.angle == 90 else [*range(6)]
        turned[f"ply {k}"] = replace(ply.material, elasticity=E[np.ix_(swap, swap)])
    return fem.Model(replace(mesh, cell_sets=sets), turned)


@pytest.mark.parametrize("plies", [
    [fem.Ply(CARBON, 0.02, 0), fem.Ply(CARBON, 0.02, 90), fem.Ply(CARBON, 0.02, 0)],
    [fem.Ply(CARBON, 0.03, 90), fem.Ply(CARBON, 0.03, 0)],
    [fem.Ply(CARBON, 0.004, 0), fem.Ply(BALSA, 0.05), fem.Ply(CARBON, 0.004, 0)],
], ids=["cross", "unsymmetric", "sandwich"])  # fmt: skip
def test_a_laminated_cantilever_deflects_as_one_of_solids(plies):
    """The tip under a transverse load: bending, coupling with the stretch, and transverse shear."""
    model, solid = strip(plies), solid_strip(plies)
    f = shells.spread(model, "x1", 2)
    u = shells.solve(model, f, shells.held(model, "x0", range(6)))
    x = solid.points
    tip, root = np.flatnonzero(x[:, 0] == 1.0), np.flatnonzero(x[:, 0] == 0.0)
    load = np.zeros(solid.ndof)
    load[3 * tip + 2] = 1 / len(tip)
    held = (3 * root[:, None] + np.arange(3)).ravel()
    free = np.setdiff1d(np.arange(solid.ndof), held)
    v = np.zeros(solid.ndof)
    v[free] = sla.spsolve(solid.K[free][:, free].tocsc(), load[free])
    assert f @ u == pytest.approx(load @ v, rel=0.01)


def test_plies_have_their_own_stresses():
    """Pull along x of [0/90/0]: each ply has the strain of all, and stresses in its own axes; bending by its height."""
    plies = [fem.Ply(CARBON, 0.002, 0), fem.Ply(CARBON, 0.002, 90), fem.Ply(CARBON, 0.002, 0)]
    model = strip(plies)
    x = model.points[:, 0]
    n = 3 * len(x)
    u = np.zeros((model.ndof, 2))
    u[0:n:3, 0] = 1e-3 * x
    u[2:n:3, 1], u[n + 1 :: 3, 1] = 0.01 * x**2 / 2, -0.01 * x
    (group,) = model.ply_stresses(u)
    assert group.ply.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(group.height, np.array([-3, -1, -1, 1, 1, 3]) * 1e-3, atol=1e-15)
    Q, _ = plies[0].own
    own, crossed = 1e-3 * Q[:2, 0], 1e-3 * Q[:2, 1]  # the pull is along the second axis of the middle ply
    np.testing.assert_allclose(group.stresses[0, :, :2, 0], np.tile(own, (len(group.nodes), 1)), rtol=1e-6)
    np.testing.assert_allclose(group.stresses[2, :, :2, 0], np.tile(crossed, (len(group.nodes), 1)), rtol=1e-6)
    bent = -0.01 * group.height
    np.testing.assert_allclose(group.stresses[[0, 5], :, 0, 1].mean(axis=1), bent[[0, 5]] * Q[0, 0], rtol=1e-6)
    np.testing.assert_allclose(group.stresses[[2, 3], :, 1, 1].mean(axis=1), bent[[2, 3]] * Q[1, 1], rtol=1e-6)
    assert np.isfinite(model.stresses(u)[2]).all()


@pytest.mark.parametrize("angle", [0.0, 30.0, -70.0, 135.0])
def test_stresses_of_oblique_plies_are_in_their_own_axes(angle):
    """Strains of the plane, turned into the axes of a ply, times its constants; and those of a shell whose axis is that
    of its plies, in any motion."""
    model = strip([fem.Ply(CARBON, 0.002, 20.0), fem.Ply(CARBON, 0.003, angle)])
    (x, y, _), n = model.points.T, 3 * len(model.points)
    E = np.array([[1e-3, 4e-4], [4e-4, -5e-4]])
    u = np.zeros((model.ndof, 1))
    u[0:n:3, 0], u[1:n:3, 0] = E @ [x, y]
    (group,) = model.ply_stresses(u)
    c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    R = np.array([[c, s], [-s, c]])
    (e11, e12), (_, e22) = R @ E @ R.T
    wanted = np.tile(fem.Ply(CARBON, 0.003).own[0] @ [e11, e22, 2 * e12], (2, len(group.nodes), 1))
    found = group.stresses[group.ply == 1][..., :3, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())
    layups = [
        fem.Shell.layup([fem.Ply(CARBON, 0.002, own), fem.Ply(CARBON, 0.003, own)], axis)
        for own, axis in ((angle, X), (0.0, (c, s, 0.0)))
    ]
    u = np.random.default_rng(5).standard_normal((model.ndof, 2))
    plied, turned = (fem.Model(model.mesh, shell).ply_stresses(u)[0].stresses for shell in layups)
    for part in (slice(0, 3), slice(3, 5)):  # in the plane and across
        size = np.abs(turned[..., part, :]).max()
        np.testing.assert_allclose(plied[..., part, :], turned[..., part, :], atol=1e-9 * size)


@pytest.mark.parametrize("angle", [90.0, 30.0, -70.0])
def test_an_axis_turns_the_whole_layup(angle):
    """By the right-hand rule about the normal: an axis at an angle is a ply at this angle, in bending and in shear."""
    mesh = sheet("quad", (1.0, 1.0), (4, 4))
    axis = (np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)), 0.0)
    turned = fem.Model(mesh, fem.Shell.layup([fem.Ply(CARBON, 0.01, 0)], axis))
    plied = fem.Model(mesh, fem.Shell.layup([fem.Ply(CARBON, 0.01, angle)], X))
    assert abs(turned.K - plied.K).max() < 1e-9 * abs(plied.K).max()


def test_a_ply_is_stiffest_along_its_first_axis():
    """The energy of a strain along the axis at 30 degrees is that of the material along its fibres; of a transverse
    shear strain too."""
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    (Q, G), ply = fem.Ply(CARBON, 1.0).own, fem.Ply(CARBON, 1.0, 30.0)
    stretch, shear = np.array([c * c, s * s, 2 * c * s]), np.array([c, s])
    assert stretch @ ply.turned[0] @ stretch == pytest.approx(Q[0, 0], rel=1e-12)
    assert shear @ ply.turned[1] @ shear == pytest.approx(G[0, 0], rel=1e-12)


@pytest.mark.parametrize("kind", shells.KINDS)
def test_pressure_acts_on_shells(kind):
    """A quarter of a cylinder: the resultant is p times the area that it covers; an offset takes the load with it."""
    place = lambda a, b: (b, np.sin(a * np.pi / 2), np.cos(a * np.pi / 2))  # noqa: E731
    model = shells.shell(kind, (8, 2), place, 0.01, 1e9, 0.3)
    f = fem.pressure(model, "all", 3.0)
    total = model.rigid_body_modes()[:, :3].T @ f
    np.testing.assert_allclose(np.abs(total), [0, 3, 3], atol=0.03 if kind in ("quad", "triangle") else 1e-3)
    x = model.points[0]
    up = np.sign(np.cross(np.array([0, 1, 0]), np.array([1, 0, 0])) @ x)
    assert np.sign(total[2]) == -up * np.sign(x[2])


def test_pressure_turns_an_offset_shell_about_its_nodes():
    mesh = sheet("quad8", (1.0, 1.0), (2, 2))
    bent = replace(mesh, points=mesh.points + np.array([0, 0, 1.0]) * (0.3 * mesh.points[:, :1] ** 2))
    beside = fem.Model(bent, fem.Shell(STEEL, 0.01, offset=0.05))
    moved = replace(bent, points=bent.points + 0.05 * bent.directors.vectors[np.argsort(bent.directors.node)])
    there = fem.Model(moved, fem.Shell(STEEL, 0.01))
    found = [m.rigid_body_modes().T @ fem.pressure(m, "all", 1.0) for m in (beside, there)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_refusals():
    with pytest.raises(MaterialError, match="give x_axis"):
        fem.Shell.layup([fem.Ply(CARBON, 0.01, 0)])
    with pytest.raises(MaterialError, match=r"needs fem\.Ply records; found none"):
        fem.Shell.layup([])
    with pytest.raises(MaterialError, match="ply's thickness must be positive"):
        fem.Ply(CARBON, -1.0)
    with pytest.raises(MaterialError, match="not that of its plies"):
        fem.Shell(CARBON, 0.5, x_axis=X, plies=(fem.Ply(CARBON, 0.1),))
    C = STEEL.elasticity.copy()
    C[0, 4] = C[4, 0] = 1e9
    with pytest.raises(MaterialError, match="plane of symmetry"):
        fem.Shell(replace(STEEL, elasticity=C), 0.1, x_axis=X)
    solid = fem.Model(block("hexahedron", (1, 1, 1), (1, 1, 1)), STEEL)
    with pytest.raises(MeshError, match="acts on faces or shells"):
        fem.pressure(solid, "all", 1.0)


MODEL = """simulation = {{ duration = 1 }}
[bodies.plate]
kind = "flexible"
mesh = "plate.msh"
shells = "all"
reduction = {{ method = "modal", modes = 2 }}
material = {material}
"""
LAYUP = """{ x_axis = [1, 0, 0], plies = [
  { material = { youngs_moduli = [140e9, 10e9, 10e9], poissons_ratios = [0.3, 0.4, 0.0214],
    shear_moduli = [5e9, 3.5e9, 5e9], density = 1600 }, thickness = 1e-3 },
  { material = "aluminium", thickness = 1e-3, angle = 45 } ] }"""


def test_layups_of_model_files(tmp_path):
    fem.write_mesh(sheet("quad9", (0.5, 0.2), (4, 2)), tmp_path / "plate.msh")
    path = tmp_path / "plate.toml"
    path.write_text(MODEL.format(material=LAYUP.replace("\n", " ")))
    (body,) = load_model(path).system.build().bodies
    assert body.invariants.mass == pytest.approx(0.5 * 0.2 * 1e-3 * (1600 + 2700))
    path.write_text(MODEL.format(material=LAYUP.replace("\n", " ").replace("{ x_axis", "{ offset = 0.03, x_axis", 1)))
    (beside,) = load_model(path).system.build().bodies
    assert beside.centre - body.centre == pytest.approx((0, 0, 0.03), abs=1e-12)
    path.write_text(MODEL.format(material="{ plies = [ { thickness = 1e-3 } ] }"))
    with pytest.raises(fem.FlexmbError, match="material"):
        load_model(path)
    keys = (
        r"\{ youngs_moduli = \[\.\.\.\], poissons_ratios = \[\.\.\.\], shear_moduli = \[\.\.\.\], density = \.\.\. \}"
    )
    path.write_text(MODEL.format(material="{ plies = [ { material = 3, thickness = 1e-3 } ] }"))
    with pytest.raises(fem.FlexmbError, match=r"plies\[1\]\.material'.*" + keys):
        load_model(path)
    path.write_text(MODEL.format(material='{ plies = [ { material = "steel", thickness = 0 } ] }'))
    with pytest.raises(fem.FlexmbError, match=r"plies\[1\]\.thickness'"):
        load_model(path)


def test_an_added_mass_does_not_stand_for_the_density_of_some_plies():
    """It counted a ply without density as one without mass."""
    bare, steel = fem.Material.isotropic(2e11, 0.3), fem.Material.isotropic(2e11, 0.3, 7800.0)
    mesh = fem.structured_meshes.sheet("quad", (1.0, 1.0), (1, 1))
    assert fem.Model(mesh, fem.Shell(bare, 0.01, added_mass=5.0)).mass == pytest.approx(5.0)
    mixed = fem.Shell.layup([fem.Ply(bare, 0.01), fem.Ply(steel, 0.01)], added_mass=5.0)
    assert mixed.density is None
    with pytest.raises(MaterialError, match="has no density"):
        fem.Model(mesh, mixed).mass  # noqa: B018


def test_the_largest_stress_of_a_layup_may_lie_within_it():
    """A sandwich whose stiff plies have soft skins: beam theory of transformed sections, in the part and its body. Plies
    that do not differ have no face between them."""
    stiff, soft = fem.Material.isotropic(2e11, 0.0, 7800.0), fem.Material.isotropic(2e9, 0.0, 1200.0)
    plies = [fem.Ply(soft, 2e-4), fem.Ply(stiff, 6e-4), fem.Ply(stiff, 4e-4), fem.Ply(soft, 8e-3), fem.Ply(stiff, 1e-3)]
    shell = fem.Shell.layup([*plies, fem.Ply(soft, 2e-4)])
    z = shell.section.heights
    E = np.array([ply.material.elasticity[0, 0] for ply in shell.plies])
    bending = E @ np.diff(z**3) / 3
    assert abs(E @ np.diff(z**2)) < 1e-9 * bending / z[-1]  # symmetric
    model = fem.Model(sheet("quad", (1.0, 0.1), (10, 1)), shell).with_interfaces(root="x0", tip="x1")
    at_rest = fem.solve_static(model, fem.interface_load(model, "tip", moment=(0.0, 50.0, 0.0)), supports=["root"])
    nodes, places, stress = at_rest.stresses
    assert len(nodes) == 22 * 11  # bottom, four faces twice, middle, top at each node
    assert at_rest.von_mises.max() == pytest.approx(E[1] * z[-2] * 500.0 / bending, rel=1e-6)
    assert np.abs(stress[np.abs(places[:, 2]) > 0.999 * z[-1], 0]).max() == pytest.approx(
        E[0] * z[-1] * 500.0 / bending, rel=1e-6
    )
    at_face = stress[np.isclose(places[:, 2], z[1]) & (places[:, 0] == places[0, 0]), 0]
    np.testing.assert_allclose(at_face[: len(at_face) // 2] / at_face[len(at_face) // 2 :], 100.0)  # the stiffer first
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=2))
    np.testing.assert_allclose(body.stress.x, places)


def test_plies_that_differ_by_rounding_have_no_face_between_them():
    """At 90 and -90 degrees, 30 and 210; and those at 45 and -45 are equally stiff, so that the lower comes first."""
    plies = [fem.Ply(CARBON, 0.001, angle) for angle in (90.0, -90.0, 30.0, 210.0)]
    assert not np.array_equal(plies[0].turned[0], plies[1].turned[0])
    levels = fem.Shell.layup(plies, X).section.levels
    assert levels == ((0, -0.002), (1, 0.0), (2, 0.0), (3, 0.002))
    for angles in ((45.0, -45.0), (-45.0, 45.0), (135.0, 45.0), (45.0, 135.0)):
        crossed = fem.Shell.layup([fem.Ply(CARBON, 0.001, angle) for angle in angles], X)
        assert [ply for ply, _ in crossed.section.levels] == [0, 0, 1, 1]
