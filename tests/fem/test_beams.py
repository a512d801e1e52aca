"""Beams: closed forms, integrals by brute force over sections, geometric stiffness, files, mixtures with solids."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse.linalg as spla

import fem
import flexmb
import reduction
from fem.analysis.model_warnings import warn_of_turned_sections
from fem.errors import MaterialError, MeshError
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.dynamics import mass_matrix
from flexmb.errors import ModelFileError
from flexmb.files.models.material_keys import SectionKeys
from flexmb.files.models.model_file import load_model

E, NU, DENSITY = 2.0e11, 0.25, 7800.0
G = E / (2 * (1 + NU))
STEEL = fem.Material.isotropic(E, NU, DENSITY)
SECTION = fem.Section.rectangle(0.04, 0.02)
LENGTH = 1.2


def turned(mesh, seed=3):
    """The mesh in a general position, and the rotation that brought it there."""
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    return replace(mesh, points=mesh.points @ rotation.T + [0.3, -0.2, 0.5]), rotation


def cantilever(divisions=1, theory="timoshenko", offset=(0.0, 0.0), section=SECTION):
    mesh, rotation = turned(line((0, 0, 0), (LENGTH, 0, 0), divisions))
    beam = fem.Beam(STEEL, section, y_axis=tuple(rotation[:, 1]), theory=theory, offset=offset)
    return fem.Model(mesh, beam), rotation


def tip_motion(model, rotation, force, moment=(0, 0, 0)):
    """Displacement and rotation of the last node, in beam axes, for a tip load; the first node is clamped."""
    n = len(model.points)
    load = np.zeros(model.ndof)
    load[3 * n - 3 : 3 * n] = rotation @ force
    load[-3:] = rotation @ moment
    held = np.r_[0:3, 3 * n : 3 * n + 3]
    free = np.setdiff1d(np.arange(model.ndof), held)
    u = np.zeros(model.ndof)
    u[free] = spla.spsolve(model.K[free][:, free].tocsc(), load[free])
    return rotation.T @ u[3 * n - 3 : 3 * n], rotation.T @ u[-3:]


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("divisions", [1, 3])
def test_tip_loads_meet_the_closed_forms_exactly(theory, divisions):
    model, rotation = cantilever(divisions, theory)
    s, L = SECTION, LENGTH
    soft = 1.0 if theory == "timoshenko" else 0.0
    u, theta = tip_motion(model, rotation, (3.0, 5.0, -7.0), (2.0, 0, 0))
    expected = [
        3 * L / (E * s.area),
        5 * (L**3 / (3 * E * s.Iz) + soft * L / (s.shear_y * G * s.area)),
        -7 * (L**3 / (3 * E * s.Iy) + soft * L / (s.shear_z * G * s.area)),
    ]
    np.testing.assert_allclose(u, expected, rtol=1e-9)
    np.testing.assert_allclose(
        theta, [2 * L / (G * s.J), 7 * L**2 / (2 * E * s.Iy), 5 * L**2 / (2 * E * s.Iz)], rtol=1e-9
    )


def test_an_offset_is_a_lever():
    """A pull at the nodes of a beam whose centroid is beside them bends it."""
    model, rotation = cantilever(2, offset=(0.03, 0.0))
    u, theta = tip_motion(model, rotation, (1.0, 0, 0))
    curvature = 0.03 / (E * SECTION.Iz)  # moment -e_z * (-0.03) ... about z: arm y x force x
    assert theta[2] == pytest.approx(curvature * LENGTH, rel=1e-9)
    assert u[1] == pytest.approx(curvature * LENGTH**2 / 2, rel=1e-9)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.01, -0.02)])
def test_rigid_motion_is_free_and_has_the_mass_of_a_rod(offset):
    model, rotation = cantilever(3, offset=offset)
    R = model.rigid_body_modes((0.1, 0.2, 0.3))
    assert np.abs(model.K @ R).max() < 1e-9 * np.abs(model.K).max()
    mass = DENSITY * SECTION.area * LENGTH
    assert model.mass == pytest.approx(mass, rel=1e-12)
    along = np.array([LENGTH / 2, *offset])
    np.testing.assert_allclose(model.centre_of_mass, rotation @ along + [0.3, -0.2, 0.5], rtol=1e-10)
    s = SECTION
    own = DENSITY * LENGTH * np.array([s.Iy + s.Iz, s.Iy, s.Iz]) + mass * LENGTH**2 / 12 * np.array([0, 1, 1])
    np.testing.assert_allclose(model.inertia(), rotation @ np.diag(own) @ rotation.T, atol=1e-10 * own.max())


def test_frequencies_of_a_slender_cantilever():
    thin = fem.Section.rectangle(0.004, 0.002)
    model, _ = cantilever(16, section=thin)
    held = np.r_[0:3, 3 * 17 : 3 * 17 + 3]
    free = np.setdiff1d(np.arange(model.ndof), held)
    values = sl.eigh(model.K[free][:, free].toarray(), model.M[free][:, free].toarray(), eigvals_only=True)
    found = np.sqrt(values[:4])
    roots = np.array([1.8751040687, 4.6940911329])
    unit = np.sqrt(E / DENSITY) / LENGTH**2
    weak, strong = (roots**2 * unit * np.sqrt(inertia / thin.area) for inertia in (thin.Iy, thin.Iz))
    np.testing.assert_allclose(found, np.sort(np.concatenate([weak, strong])), rtol=3e-4)


SECTIONS = {
    "rectangle": (fem.Section.rectangle(2.0, 1.0), 2.0, 2 / 12, 8 / 12, 0.4574),
    "circle": (fem.Section.circle(2.0), np.pi, np.pi / 4, np.pi / 4, np.pi / 2),
    "tube": (fem.Section.tube(2.0, 1.0), np.pi * 0.75, np.pi * 15 / 64, np.pi * 15 / 64, np.pi * 15 / 32),
    "box": (fem.Section.box(1.0, 1.0, 0.01), 0.0396, 0.0396 * (1 + 0.98**2) / 12, 0.0396 * (1 + 0.98**2) / 12, 0.01 * 0.99**3),
}  # fmt: skip


@pytest.mark.parametrize("name", SECTIONS)
def test_sections(name):
    section, area, Iy, Iz, J = SECTIONS[name]
    np.testing.assert_allclose([section.area, section.Iy, section.Iz, section.J], [area, Iy, Iz, J], rtol=2e-4)


def section_points(line_mass):
    """Six points for each section with its moments: places from its centre (p, 6, 3) and their mass (p,)."""
    S = 0.5 * np.trace(line_mass.rotary, axis1=1, axis2=2)[:, None, None] * np.eye(3) - line_mass.rotary
    values, vectors = np.linalg.eigh(S)
    arms = vectors.swapaxes(1, 2) * np.sqrt(3 * np.maximum(values, 0) / line_mass.mass[:, None])[:, :, None]
    return np.concatenate([arms, -arms], axis=1), line_mass.mass / 6


def bent_beams(geometric_stiffness):
    mesh, _ = turned(
        Mesh(np.array([[0, 0, 0], [1, 0, 0], [1.5, 0.8, 0]]), (CellBlock("line", np.array([[0, 1], [1, 2]])),))
    )
    model = fem.Model(mesh, fem.Beam(STEEL, fem.Section.rectangle(0.2, 0.1))).with_interfaces(root=[0], tip=[2])
    basis = reduction.craig_bampton(model, modes=4)
    return flexmb.flexible_body(model, basis, geometric_stiffness=geometric_stiffness), model.line_masses(basis.Psi)[0]


def test_kinetic_energy_is_the_sum_over_points_of_the_sections():
    """Inertia invariants against many points of each beam, no second order: sections turn as solids do in linear kinematics."""
    body, line_mass = bent_beams("none")
    rng = np.random.default_rng(4)
    eta, w = 0.05 * rng.normal(size=body.modes), rng.normal(size=6 + body.modes)
    arms, mass = section_points(line_mass)
    theta, spin = line_mass.theta @ eta, line_mass.theta @ w[6:]
    c = (line_mass.x + line_mass.u @ eta)[:, None] + arms + np.cross(theta[:, None], arms)
    velocity = w[:3] + np.cross(w[3:6], c) + (line_mass.u @ w[6:])[:, None] + np.cross(spin[:, None], arms)
    exact = 0.5 * mass @ (velocity**2).sum(axis=(1, 2))
    assert 0.5 * w @ mass_matrix(body, eta) @ w == pytest.approx(exact, rel=1e-10)


def test_sections_turn_rigidly_to_second_order():
    """`int X_a (g_ij)_b` of the sections against second differences of points that turn by finite rotations."""
    from flexmb.bodies.invariants import _turning_sections
    from flexmb.spatial.lie import rotation_exp

    body, line_mass = bent_beams("second-order")
    arms, mass = section_points(line_mass)
    PG = _turning_sections(line_mass)[2]
    eta = np.random.default_rng(5).normal(size=body.modes)
    eta *= 1e-3 / np.abs(line_mass.theta @ eta).max()

    def moments(scale):
        total = np.zeros((3, 3))
        for p, theta in enumerate(line_mass.theta @ (scale * eta)):
            total += mass[p] * arms[p].T @ (arms[p] @ rotation_exp(theta).T)
        return total

    second = moments(1) - 2 * moments(0) + moments(-1)
    np.testing.assert_allclose(np.einsum("abij,i,j->ab", PG, eta, eta), second, atol=1e-5 * np.abs(second).max())


def section_energy(model, u, beam, points=9):
    """St. Venant-Kirchhoff energy of one beam whose sections turn by finite rotations, by brute force over its volume."""
    from flexmb.spatial.lie import rotation_exp

    n = len(model.points)
    x, w = np.polynomial.legendre.leggauss(points)
    length = np.linalg.norm(model.points[1] - model.points[0])
    a, b = np.sqrt(12 * beam.section.Iz / beam.section.area), np.sqrt(12 * beam.section.Iy / beam.section.area)
    young, shear = beam.moduli
    from fem.matrices import beam_matrices

    old = beam_matrices._XI, beam_matrices._W
    try:
        beam_matrices._XI, beam_matrices._W = (x + 1) / 2, w / 2
        fields = beam_matrices.Beams.of(beam, model.points[None, :2])
    finally:
        beam_matrices._XI, beam_matrices._W = old
    d = np.concatenate([u[0:3], u[3 * n : 3 * n + 3], u[3:6], u[3 * n + 3 : 3 * n + 6]])
    du, theta, dtheta = (A[0] @ d for A in (fields.du, fields.theta, fields.dtheta))
    total = 0.0
    for q in range(points):
        R = rotation_exp(theta[q])
        h = 1e-6
        dR = (rotation_exp(theta[q] + h * dtheta[q]) - rotation_exp(theta[q] - h * dtheta[q])) / (2 * h)
        for ys, wy in zip(x * a / 2, w / 2, strict=True):
            for zs, wz in zip(x * b / 2, w / 2, strict=True):
                arm = np.array([0.0, ys, zs])
                F = np.column_stack([np.eye(3)[0] + du[q] + dR @ arm, R[:, 1], R[:, 2]])
                strain = 0.5 * (F.T @ F - np.eye(3))
                density = 0.5 * young * strain[0, 0] ** 2 + 2 * shear * (strain[0, 1] ** 2 + strain[0, 2] ** 2)
                total += density * wy * wz * beam.section.area * length * w[q] / 2
    return total


@pytest.mark.parametrize("twisted", [False, True])
def test_geometric_stiffness_is_the_cubic_strain_energy_of_the_solid_beam(twisted):
    """One beam: `S(v; v, v) / 2` against differences of the brute-force energy, whose sections do not warp: the torsion
    constant is theirs."""
    beam = fem.Beam(STEEL, fem.Section.rectangle(0.3, 0.2))
    polar = beam.section.Iy + beam.section.Iz
    beam = replace(beam, section=replace(beam.section, shear_y=1.0, shear_z=1.0, J=polar))
    model = fem.Model(line((0, 0, 0), (LENGTH, 0, 0), 1), beam)
    rng = np.random.default_rng(1)
    n = len(model.points)
    for _ in range(3):
        u = 1e-3 * rng.normal(size=model.ndof)
        if twisted:
            u[[0, 3]] = 0.0  # without the normal force, which is the largest part
        else:
            u[[3 * n, 3 * n + 3]] = 0.0
        energy = lambda s, u=u: section_energy(model, s * u, beam)  # noqa: E731
        cubic = (energy(1.0) - energy(-1.0)) / 2
        S = model.projected_geometric_stiffness(u[:, None], u[:, None])[0, 0, 0]
        assert pytest.approx(cubic, rel=2e-3) == S / 2


def test_projected_geometric_stiffness_is_that_of_the_matrix():
    mesh, _ = turned(line((0, 0, 0), (LENGTH, 0, 0), 3))
    model = fem.Model(mesh, fem.Beam(STEEL, SECTION))
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(model.ndof, 2)), rng.normal(size=(model.ndof, 3))
    found = model.projected_geometric_stiffness(U, V)
    for k in range(2):
        S = model.geometric_stiffness(U[:, k])
        np.testing.assert_allclose(found[k], V.T @ (S @ V), rtol=1e-9, atol=1e-9 * np.abs(found[k]).max())
        assert abs(S - S.T).max() == 0
        pairs = np.array([[0, 0], [0, 2], [1, 2]])
        works = model.quadratic_strain_loads(V, pairs).T @ U[:, k]
        np.testing.assert_allclose(works, found[k][tuple(pairs.T)], rtol=1e-9, atol=1e-9 * np.abs(found[k]).max())
    translation = model.rigid_body_modes()[:, :3]
    assert np.abs(model.geometric_stiffness(U[:, 0]) @ translation).max() < 1e-12 * np.abs(found).max()


MEIJAARD = {1: 1.4951, 2: 1.0690, 4: 1.0153}


@pytest.mark.parametrize("elements", MEIJAARD)
def test_lateral_buckling_by_a_tip_force(elements):
    """Ratios to the critical force 4.013 sqrt(EI GJ) / l^2 of 1, 2 and 4 elements: Meijaard (1996), table 1, second-order strains."""
    section = fem.Section.rectangle(0.04, 0.002)
    model = fem.Model(line((0, 0, 0), (1, 0, 0), elements), fem.Beam(STEEL, section))
    model = model.with_interfaces(root="start", tip="end")
    basis = reduction.craig_bampton(model, modes=6 * (elements - 1), reference_frame="root")
    second = reduction.second_order(model, basis).interfaces["tip"]
    inverse = sl.eigvals(second[1], np.diag(basis.eigenvalues))
    critical = 1 / np.abs(inverse.real).max()
    theory = 4.013 * np.sqrt(E * section.Iy * G * section.J)
    assert critical / theory == pytest.approx(MEIJAARD[elements], abs=1.5e-4)


def test_solid_and_beam_tied_by_an_interface():
    """A cantilever, half solid, half beam, tied by a rigid set: the static tip deflection is that of one beam."""
    solid = block("hexahedron20", (0.6, 0.04, 0.02), (12, 1, 1))
    points = np.vstack([solid.points, [[0.6, 0.02, 0.01], [0.9, 0.02, 0.01], [1.2, 0.02, 0.01]]])
    n = len(solid.points)
    mesh = Mesh(points, (*solid.cells, CellBlock("line", np.array([[n, n + 1], [n + 1, n + 2]]))), cell_sets={"solid": np.arange(12), "rod": np.array([12, 13])})  # fmt: skip
    straight = fem.Material.isotropic(E, 0.0, DENSITY)
    model = fem.Model(mesh, {"solid": straight, "rod": fem.Beam(straight, SECTION)})
    end = np.append(np.flatnonzero(np.abs(solid.points[:, 0] - 0.6) < 1e-9), n)
    model = model.with_interfaces(root=np.flatnonzero(solid.points[:, 0] < 1e-9), joint=end, tip=[n + 2])
    assert model.mass == pytest.approx(DENSITY * SECTION.area * 1.2)
    basis = reduction.craig_bampton(model, modes=0, reference_frame="root")
    flexibility = basis.interface_modes["tip"] @ np.diag(1 / basis.eigenvalues) @ basis.interface_modes["tip"].T
    shear = 1.2 / (5 / 6 * E / 2 * SECTION.area)
    assert flexibility[1, 1] == pytest.approx(1.2**3 / (3 * E * SECTION.Iz) + shear, rel=5e-3)
    assert flexibility[2, 2] == pytest.approx(1.2**3 / (3 * E * SECTION.Iy) + shear, rel=5e-3)


def test_line_cells_from_files(tmp_path):
    mesh = line((0, 0, 0), (3, 0, 0), 3)
    for ending in ("vtu", "msh"):
        found = fem.read_mesh(fem.write_mesh(mesh, tmp_path / f"rod.{ending}"))
        assert found.kinds == {"line": 3}
        assert found.nodes("end").tolist() == [3]
    deck = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 2, 0, 0\n*ELEMENT, TYPE=B31, ELSET=ROD\n1, 1, 2\n2, 2, 3\n*NSET, NSET=ROOT\n1\n"
    (tmp_path / "rod.inp").write_text(deck)
    found = fem.read_mesh(tmp_path / "rod.inp")
    assert found.kinds == {"line": 2}
    assert found.cell_sets["ROD"].tolist() == [0, 1]
    assert fem.check_mesh(found).findings == ()
    with pytest.raises(MeshError, match=r"no group of two-node lines named 'RODS'\. Did you mean 'ROD'"):
        fem.read_mesh(tmp_path / "rod.inp", beams=["RODS"])


def test_a_beam_among_solids_is_taken_by_name(tmp_path):
    cube = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n9,1,0,2\n"
    deck = cube + "*ELEMENT, TYPE=C3D8, ELSET=BOX\n1,1,2,3,4,5,6,7,8\n*ELEMENT, TYPE=B31, ELSET=ROD\n2,6,9\n"
    (tmp_path / "part.inp").write_text(deck)
    with pytest.warns(fem.MeshWarning, match=r"1 two-node beams or trusses; give .* beams="):
        assert fem.read_mesh(tmp_path / "part.inp").kinds == {"hexahedron": 1}
    found = fem.read_mesh(tmp_path / "part.inp", beams=["ROD"])
    assert found.kinds == {"hexahedron": 1, "line": 1}
    assert found.cell_sets["ROD"].tolist() == [1]


BAD = {
    "no section": (lambda: fem.Model(line((0, 0, 0), (1, 0, 0), 1), STEEL).K, "line cells need a fem.Beam"),
    "section on solids": (
        lambda: fem.Model(block("tetra", (1, 1, 1), (1, 1, 1)), fem.Beam(STEEL, SECTION)).K,
        "tetra cells were given the section of a beam",
    ),
    "axis along the beam": (
        lambda: fem.Model(line((0, 0, 0), (1, 0, 0), 1), fem.Beam(STEEL, SECTION, y_axis=(2, 0, 0))).K,
        "runs along .* and its y_axis",
    ),
    "negative area": (lambda: fem.Section(-1, 1, 1, 1), "area must be positive"),
    "tube without wall": (lambda: fem.Section.tube(1, 1), "inner diameter must be from 0 to the outer"),
    "offset that is no number": (
        lambda: fem.Beam(STEEL, SECTION, offset=(np.nan, 0.0)),
        r"offset needs two finite numbers \(y, z\); found \(nan",
    ),
    "unknown theory": (lambda: fem.Beam(STEEL, SECTION, theory="euler"), "no beam theory named 'euler'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused(case):
    make, words = BAD[case]
    with pytest.raises(MaterialError, match=words):
        make()


DRAWN = {
    "circle": (fem.Section.circle(0.04), 0.02),
    "tube": (fem.Section.tube(0.04, 0.03), 0.02),
    "rectangle": (fem.Section.rectangle(0.06, 0.02), np.hypot(0.03, 0.01)),
    "box": (fem.Section.box(0.06, 0.04, 0.003), np.hypot(0.03, 0.02)),
    "of numbers": (fem.Section(1e-3, 3e-7, 5e-7, 4e-7), np.sqrt(15e-4 + 9e-4)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_surface_of_a_cantilever_has_the_stress_and_motion_of_beam_theory(name):
    """A force across and along its end and a torque: N/A + M z/I, the shear of torsion at corners, and the deflection of
    Timoshenko."""
    section, outermost = DRAWN[name]
    length, across, along, torque = 0.8, 300.0, 5e4, 40.0
    model = fem.Model(line((0, 0, 0), (length, 0, 0), 2), fem.Beam(STEEL, section))
    n = 3 * len(model.points)
    load = np.zeros(model.ndof)
    load[6], load[8], load[n + 6] = along, across, torque  # the node at the end; its rotation about x
    free = np.setdiff1d(np.arange(model.ndof), [0, 1, 2, n, n + 1, n + 2])
    u = np.zeros((model.ndof, 1))
    u[free, 0] = np.linalg.solve(model.K.toarray()[np.ix_(free, free)], load[free])
    (surface,) = model.beam_surfaces(u)
    x, y, z = surface.points.T
    sigma = along / section.area - across * (length - x) * z / section.Iy
    scale, twist, shear = np.abs(sigma).max(), torque / (G * section.J), across / (section.shear_z * section.area)
    np.testing.assert_allclose(surface.stresses[:, 0, 0], sigma, atol=1e-5 * scale)
    corner = np.hypot(y, z) > 0.999 * outermost
    share = {"rectangle": 0.0, "of numbers": np.sqrt(3 * section.J / section.area) / outermost}.get(name, 1.0)
    sheared = surface.stresses[:, [3, 5], 0] - (0.0, shear)
    if name == "box":
        flow = torque / (2 * (0.057 * 0.037) * 0.003)
        np.testing.assert_allclose(np.linalg.norm(sheared[corner], axis=1), flow, rtol=1e-5)
    else:
        turned = G * twist * share * np.column_stack([-z, y])
        np.testing.assert_allclose(sheared[corner], turned[corner], atol=1e-5 * scale)
    turn = -across * (length * x - x**2 / 2) / (E * section.Iy)  # about y
    w = across * (length * x**2 / 2 - x**3 / 6) / (E * section.Iy) + shear * x / G
    moved = np.column_stack([along * x / (E * section.area) + turn * z, -twist * x * z, w + twist * x * y])
    np.testing.assert_allclose(surface.displacements[:, :, 0], moved, atol=1e-6 * np.abs(moved).max())
    assert np.hypot(y, z).max() == pytest.approx(outermost)


def test_beams_that_continue_each_other_have_no_caps_between_them():
    """A straight line of three beams has two caps; the fourth, at a right angle, has its own two, and the third one
    more."""
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [3, 1, 0]], dtype=float)
    mesh = Mesh(points, (CellBlock("line", np.array([[0, 1], [2, 1], [2, 3], [3, 4]])),))
    model = fem.Model(mesh, fem.Beam(STEEL, fem.Section.circle(0.1)))
    (surface,) = model.beam_surfaces(np.zeros((model.ndof, 1)))
    a, b, c = (surface.points[surface.triangles[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    circle = 12 * 0.05**2 * np.sin(np.pi / 12)
    side = 24 * 2 * 0.05 * np.sin(np.pi / 24)
    assert area.sum() == pytest.approx(4 * side + 4 * circle)


def test_the_surface_of_beams_is_closed_and_faces_outwards():
    section = fem.Section.rectangle(0.06, 0.02)
    beam = fem.Beam(STEEL, section, y_axis=(0, 1, 1), offset=(0.01, -0.02))
    model = fem.Model(line((0, 0, 0), (0.3, 0.4, 0), 1), beam)
    (surface,) = model.beam_surfaces(np.zeros((model.ndof, 1)))
    a, b, c = (surface.points[surface.triangles[:, k]] for k in range(3))
    assert np.einsum("tk,tk->", a, np.cross(b, c)) / 6 == pytest.approx(section.area * 0.5)
    ends = np.concatenate([surface.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    _, count = np.unique(np.sort(ends, axis=1), axis=0, return_counts=True)
    assert (count == 2).all()
    axes = beam.axes(np.array([[0.6, 0.8, 0]]))[0]
    np.testing.assert_allclose(surface.points.mean(axis=0), [0.15, 0.2, 0] + 0.01 * axes[1] - 0.02 * axes[2])


@pytest.mark.parametrize("degrees", [0.0, 7.5, 45.0, 100.0])
def test_round_beams_have_the_same_largest_stress_whatever_way_they_bend(degrees):
    """Within the 1 - cos(7.5 deg) of 24 fibres; four of them missed 29 per cent at 45 degrees."""
    section, c, s = fem.Section.tube(0.02, 0.016), np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    model = fem.Model(line((0, 0, 0), (1.0, 0, 0), 2), fem.Beam(STEEL, section)).with_interfaces(
        root="start", tip="end"
    )
    bent = fem.solve_static(model, fem.interface_load(model, "tip", moment=(0, 100.0 * c, 100.0 * s)), ["root"])
    assert bent.von_mises.max() == pytest.approx(100.0 * 0.01 / section.Iy, rel=0.009)


def test_a_model_file_makes_bodies_of_beams(tmp_path):
    """A mesh of lines with a section and the direction of its y axis, as in Python."""
    rows = "".join(f"{k + 1}, {k / 4}, 0., 0.\n" for k in range(5))
    lines = "".join(f"{k + 1}, {k + 1}, {k + 2}\n" for k in range(4))
    (tmp_path / "rod.inp").write_text(f"*NODE\n{rows}*ELEMENT, TYPE=T3D2, ELSET=ROD\n{lines}*NSET, NSET=ROOT\n1\n")
    text = """simulation = {{ duration = 1 }}
[bodies.a]
kind = "flexible"
mesh = "rod.inp"
beams = ["ROD"]
ignore = ["ELEMENT", "ELEMENTTYPE=T3D2"]
material = {{ youngs_modulus = 7e10, poissons_ratio = 0.3, density = 2700, {more} }}
interfaces = {{ root = "ROOT" }}
reduction = {{ modes = 3 }}
"""
    alu, mesh = fem.Material.isotropic(7e10, 0.3, 2700.0), fem.read_mesh(tmp_path / "rod.inp", beams=["ROD"])
    for given, section in (
        ("rectangle = [0.02, 0.03]", fem.Section.rectangle(0.02, 0.03)),
        ("circle = 0.02", fem.Section.circle(0.02)),
        ("tube = [0.03, 0.02]", fem.Section.tube(0.03, 0.02)),
        ("box = [0.03, 0.02, 0.002]", fem.Section.box(0.03, 0.02, 0.002)),
        ("area = 1e-4, Iy = 1e-8, Iz = 2e-8, J = 3e-8", fem.Section(1e-4, 1e-8, 2e-8, 3e-8)),
    ):
        (tmp_path / "m.toml").write_text(text.format(more=f"section = {{ {given} }}, y_axis = [0, 0, 1]"))
        (body,) = load_model(tmp_path / "m.toml").system.build().bodies
        part = fem.Model(mesh, fem.Beam(alu, section, (0.0, 0.0, 1.0))).with_interfaces(root="ROOT")
        basis = reduction.craig_bampton(part, modes=3)
        np.testing.assert_allclose(body.stiffness, basis.eigenvalues, rtol=1e-9)
        rows, expected = body.interfaces["root"].rows, basis.interface_modes["root"]
        compliance = (expected / basis.eigenvalues) @ expected.T  # which way it bends
        np.testing.assert_allclose((rows / body.stiffness) @ rows.T, compliance, atol=1e-9 * np.abs(compliance).max())
    constants = SectionKeys(
        area=1e-4, Iy=1e-8, Iz=2e-8, J=3e-8, warping=4e-12
    )  # frequencies do not tell Iy and Iz apart
    assert constants.made() == fem.Section(1e-4, 1e-8, 2e-8, 3e-8, warping=4e-12)
    for wrong, words in (
        ("section = { circle = 0.02, tube = [0.03, 0.02] }", "a section is one of rectangle"),
        ("section = { area = 1.0, J = 1.0 }", "found J, area"),
        ("y_axis = [0, 0, 1]", "their section is missing"),
        ("section = { circle = 0.02 }, thickness = 0.1", "not both"),
    ):
        (tmp_path / "m.toml").write_text(text.format(more=wrong))
        with pytest.raises(ModelFileError, match=words):
            load_model(tmp_path / "m.toml")


def warned_of_turns(model):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_turned_sections(model)
    return [str(w.message) for w in told]


def test_sections_that_turn_between_beams_of_one_material_are_named():
    """The default y axis of a quarter of a circle ends along the beam; cells that run back mirror sections and offsets."""
    a = np.linspace(0, np.pi / 2, 13)
    rows = np.column_stack([np.arange(12), np.arange(1, 13)])
    points = np.column_stack([np.sin(a), 1 - np.cos(a), 0 * a])
    mesh = fem.Mesh(points, (fem.CellBlock("line", rows),))
    flat, angle = fem.Section.rectangle(0.05, 0.01), fem.Section(1e-3, 1e-6, 2e-6, 1e-7, angle=30.0)
    model = fem.Model(mesh, fem.Beam(STEEL, flat)).with_interfaces(root=[0], tip=[12])
    assert "at 1 nodes (first: 11) with the section turned" in warned_of_turns(model)[0]
    with pytest.warns(fem.MeshWarning, match="section turned or mirrored"):
        reduction.craig_bampton(model, 2)
    upright = (0, 0, 1.0)
    assert not warned_of_turns(fem.Model(mesh, fem.Beam(STEEL, flat, y_axis=upright)))
    assert not warned_of_turns(fem.Model(mesh, fem.Beam(STEEL, fem.Section.circle(0.05))))
    back = fem.Mesh(points, (fem.CellBlock("line", np.array([r[:: -1 if k == 5 else 1] for k, r in enumerate(rows)])),))
    for section, offset, names in (
        (flat, (0, 0), 0),
        (flat, (0.01, 0), 0),
        (flat, (0, 0.01), 2),
        (angle, (0, 0), 2),
        (fem.Section(1e-3, 1e-6, 2e-6, 1e-7, shear_centre=(0, 0.01)), (0, 0), 2),
        (fem.Section(1e-3, 1e-6, 2e-6, 1e-7, shear_centre=(0.01, 0)), (0, 0), 0),
        (fem.Section(1e-3, 1e-6, 1e-6, 1e-7, fibres=((0, 0.02), (0.017, -0.01), (-0.017, -0.01))), (0, 0), 2),
        (fem.Section(1e-3, 1e-6, 1e-6, 1e-7, fibres=((0.02, 0), (-0.01, 0.017), (-0.01, -0.017))), (0, 0), 0),
    ):
        told = warned_of_turns(fem.Model(back, fem.Beam(STEEL, section, upright, offset)))
        assert len(told) == bool(names), (section, offset)
        assert not names or f"at {names} nodes" in told[0]
