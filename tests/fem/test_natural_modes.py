"""Natural modes of a part: closed forms, dense eigenvalues, reduced bodies, decks, refusals."""

import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sl

import fem
import reduction
from fem.errors import FactorisationError, MatrixError, MeshError
from fem.mesh.structured_meshes import block, line, sheet
from validation import decks

STEEL = fem.Material.isotropic(2.1e11, 0.3, 7850.0)
SECTION = fem.Section.rectangle(0.02, 0.01)


def beam(cells=20, theory="euler-bernoulli"):
    return fem.Model(line((0, 0, 0), (1, 0, 0), cells), fem.Beam(STEEL, SECTION, theory=theory)).with_interfaces(
        root="start", tip="end"
    )


def bar(**interfaces):
    part = fem.Model(block("hexahedron", (1.0, 0.1, 0.08), (6, 2, 2)), STEEL)
    return part.with_interfaces(**(interfaces or {"root": "x0", "tip": "x1"}))


@pytest.mark.parametrize(
    ("supports", "roots", "rigid"),
    [
        (["root"], [1.875104069, 4.694091133], 0),  # clamped and free
        (["root", "tip"], [4.730040745, 7.853204624], 0),  # clamped at both ends
        ({"root": (0, 1, 2, 3), "tip": (1, 2)}, [np.pi, 2 * np.pi], 0),  # on hinges
        ((), [4.730040745, 7.853204624], 6),  # free
    ],
)
def test_beams_have_the_frequencies_of_their_closed_forms(supports, roots, rigid):
    """(k L)^2 / (2 pi L^2) sqrt(E I / rho A); rotary inertia is 1e-4 of it."""
    found = fem.natural_modes(beam(), rigid + 3, supports)
    assert found.rigid_motions == rigid
    exact = [
        k**2 / (2 * np.pi) * np.sqrt(2.1e11 * I / (7850 * SECTION.area))
        for k in roots
        for I in (SECTION.Iy, SECTION.Iz)
    ]
    np.testing.assert_allclose(found.frequencies[rigid:], np.sort(exact)[:3], rtol=2e-3)
    np.testing.assert_allclose(found.angular_frequencies, 2 * np.pi * found.frequencies)


def test_effective_masses_are_those_of_a_cantilever_and_add_up_to_its_mass():
    """Of bending 61.3 % and 18.8 % of the mass, of extension 8 / pi^2; together what the support does not carry."""
    part = beam(40)
    found = fem.natural_modes(part, 60, "root")
    share = found.effective_masses[:, :3] / part.mass
    np.testing.assert_allclose([share[:2, 1:].max(), share[2:4, 1:].max()], [0.6131, 0.1883], rtol=2e-3)
    assert share[share[:, 0] > 0.5, 0] == pytest.approx(8 / np.pi**2, rel=1e-3)  # extension
    every = fem.natural_modes(part, part.ndof - 6, "root").effective_masses.sum(axis=0)
    held = part.mass_of_all @ part.rigid_body_modes_of_all(part.centre_of_mass)
    dofs = np.setdiff1d(np.arange(part.ndof), part.interfaces["root"].free_dofs(part))
    rest = held[dofs].T @ np.linalg.solve(part.M[dofs][:, dofs].toarray(), held[dofs])
    np.testing.assert_allclose(every, rest.diagonal(), rtol=1e-6)
    assert every[:3] == pytest.approx(part.mass, rel=0.03)


@pytest.mark.parametrize(("kind", "count"), [("average", 30), ("rigid", 24)])
def test_a_part_has_as_many_modes_as_its_supports_leave(kind, count):
    """36 dofs, of which the mean of a face takes six, and a face that does not move twelve."""
    part = fem.Model(block("hexahedron", (1.0, 0.4, 0.3), (2, 1, 1)), STEEL)
    part = part.with_interfaces(root=fem.Interface("x0", kind=kind))
    Z = sl.null_space(part.interfaces["root"].interface_matrix(part).T.toarray())
    Z = Z if kind == "average" else np.delete(np.eye(36), part.dof_map.translations(part.mesh.nodes("x0")).ravel(), 1)
    exact = sl.eigh(Z.T @ part.K @ Z, Z.T @ part.M @ Z, eigvals_only=True)
    found = fem.natural_modes(part, count, ["root"])
    np.testing.assert_allclose(found.angular_frequencies**2, exact, rtol=1e-8)
    np.testing.assert_allclose(fem.natural_modes(part, supports="root", band=(0, 1e6)).frequencies, found.frequencies)
    with pytest.raises(MatrixError, match=f"held by 'root' has {count} natural modes; asked for {count + 1}"):
        fem.natural_modes(part, count + 1, ["root"])


@pytest.mark.parametrize(
    ("interfaces", "supports"),
    [
        ({"root": fem.Interface("x0", kind="average")}, ["root"]),
        ({"root": fem.Interface("x0", kind="average"), "tip": "x1"}, ["root"]),
        ({"tip": "x1"}, ["x0"]),
        ({"tip": "x1"}, {"x0": (0, 2)}),
        ({"tip": "x1"}, [0, 1, 2, 30]),
        ({}, []),
    ],
)
def test_they_are_those_of_dense_matrices(interfaces, supports):
    part = fem.Model(block("hexahedron", (1.0, 0.1, 0.08), (6, 2, 2)), STEEL).with_interfaces(**interfaces)
    found = fem.natural_modes(part, 12, supports)
    rows = np.zeros((0, part.ndof))
    for place in [supports] if 30 in supports else supports if isinstance(supports, list) else []:
        if isinstance(place, str) and place in part.interfaces:
            rows = np.vstack([rows, part.interfaces[place].interface_matrix(part).T.toarray()])
        else:
            dofs = part.dof_map.translations(part.mesh.nodes(place)).ravel()
            rows = np.vstack([rows, np.eye(part.ndof)[dofs]])
    if isinstance(supports, dict):
        rows = np.eye(part.ndof)[part.dof_map.translations(part.mesh.nodes("x0"))[:, [0, 2]].ravel()]
    T = np.eye(part.ndof)
    if "tip" in part.interfaces:
        tip = part.interfaces["tip"]
        dofs = tip.free_dofs(part)
        T = np.zeros((part.ndof, part.ndof - len(dofs) + 6))
        T[np.setdiff1d(np.arange(part.ndof), dofs), np.arange(part.ndof - len(dofs))] = 1.0
        T[dofs, -6:] = tip.rigid_body_modes(part)
    T = T @ sl.null_space(rows @ T) if len(rows) else T
    exact = sl.eigh(T.T @ part.K @ T, T.T @ part.M @ T, eigvals_only=True)[:12]
    exact[exact < 1e-9 * exact[-1]] = 0.0
    np.testing.assert_allclose((2 * np.pi * found.frequencies) ** 2, exact, rtol=1e-8, atol=0)
    np.testing.assert_allclose(found.q.T @ (part.M @ found.q), np.eye(12), atol=1e-8)
    assert found.displacements.shape == (len(part.points), 3, 12)


def test_they_are_those_of_a_reduced_body_and_of_its_modal_basis():
    part = bar(root="x0")
    held = fem.natural_modes(part, 5, ["root"])
    np.testing.assert_allclose(
        held.frequencies, reduction.craig_bampton(part, 5, reference_frame="root").frequencies, rtol=1e-8
    )
    free = fem.natural_modes(bar(root="x0"), 11)
    np.testing.assert_allclose(free.frequencies[6:], reduction.modal(part, 5).frequencies, rtol=1e-8)
    assert (free.rigid_motions, held.rigid_motions) == (6, 0)
    np.testing.assert_allclose(free.effective_masses[:6, :3].sum(axis=0), part.mass)
    np.testing.assert_allclose(free.effective_masses[6:], 0, atol=1e-9 * part.mass)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("slender", [1, 400])
def test_units_and_slenderness_change_no_count_of_rigid_motions(unit, slender):
    material = fem.Material.isotropic(2.1e11 * unit, 0.3, 7850.0 * unit**3)
    mesh = line((0, 0, 0), tuple(np.array([1, 2, 2]) / unit * slender / 40), slender)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fem.UnitWarning)
        part = fem.Model(mesh, fem.Beam(material, fem.Section.circle(0.01 / unit)))
    found = fem.natural_modes(part, 8)
    assert found.rigid_motions == 6


def test_shells_have_them_too():
    """A simply supported plate: pi/2 (1/a^2 + 1/b^2) sqrt(D / rho h)."""
    a, b, h = 0.5, 0.4, 0.004
    part = fem.Model(sheet("quad8", (a, b), (8, 7)), fem.Shell(STEEL, h))
    edges = np.unique(np.concatenate([part.mesh.nodes(key) for key in ("x0", "x1", "y0", "y1")]))
    found = fem.natural_modes(part, 3, {tuple(edges.tolist()): (0, 1, 2)})
    D = 2.1e11 * h**3 / 12 / (1 - 0.09)
    exact = [np.pi / 2 * ((m / a) ** 2 + (n / b) ** 2) * np.sqrt(D / 7850 / h) for m, n in ((1, 1), (2, 1), (1, 2))]
    np.testing.assert_allclose(found.frequencies, exact, rtol=2e-3)


@pytest.mark.parametrize("kind", ["hexahedron-reduced", "hexahedron20-reduced"])
@pytest.mark.parametrize("divisions", [(2, 2, 1), (4, 2, 2)])
def test_motions_without_kinetic_energy_leave_the_others(kind, divisions):
    """Mass matrices of reduced integration are singular: round-off of their null space was negative kinetic energy."""
    mesh = block(kind, (1.0, 0.6, 0.4), divisions)
    x = mesh.points + 0.05 * np.sin(1.0 + 2.0 * mesh.points[:, [1, 2, 0]])
    part = fem.Model(replace(mesh, points=x), STEEL)
    K, M = part.K.toarray(), part.M.toarray()
    squares = 1 / sl.eigh(M, K + 1e8 * M, eigvals_only=True)[::-1][6:11] - 1e8
    np.testing.assert_allclose(fem.natural_modes(part, 11).frequencies[6:], np.sqrt(squares) / (2 * np.pi), rtol=1e-6)


def test_round_off_in_frequencies_of_very_slender_parts_is_named():
    """A plate of 1e-5 of its length: the lowest frequency of the held one was taken for a motion without stiffness."""
    found = []
    for h in (1e-3, 1e-5):
        part = fem.Model(sheet("quad8", (1.0, 1.0), (16, 16)), fem.Shell(STEEL, h))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found.append(fem.natural_modes(part, 2, ["x0"]).frequencies / h)
        assert any("round-off" in str(w.message) for w in told) == (h < 1e-4)
    np.testing.assert_allclose(*found, rtol=2e-3)


def test_loose_pieces_and_mechanisms_are_counted():
    two = fem.Mesh(
        np.vstack([bar().points, bar().points + np.array([0, 5.0, 0])]),
        [
            fem.CellBlock("hexahedron", np.vstack([b.connectivity, b.connectivity + len(bar().points)]))
            for b in bar().mesh.cells
        ],
    )
    assert fem.natural_modes(fem.Model(two, STEEL), 14).rigid_motions == 12
    hinged = beam(4).with_constraints()
    assert fem.natural_modes(hinged, 6, {"root": (0, 1, 2)}).rigid_motions == 3  # a ball joint leaves three rotations


def test_a_rigid_piece_has_rigid_motions_whatever_round_off_leaves_of_its_stiffness():
    """A cube on a rigid link, alone and hinged to an elastic one along an edge: of its stiffness 1e-15 is left, of
    either sign, which made frequencies of 0.08 or an error (deck damper1 of CalculiX)."""
    cube = fem.Model(block("hexahedron20", (1.0, 1.0, 1.0), (1, 1, 1)), STEEL)
    turned = fem.Mesh(np.vstack([cube.points, [0.4, 0.5, 0.6]]) @ sl.qr(np.vander([1.0, 2, 3]))[0].T, cube.mesh.cells)
    link = fem.RigidLink(np.arange(len(cube.points)), reference=len(cube.points))
    found = fem.natural_modes(fem.Model(turned, STEEL).with_constraints(link), 6)
    np.testing.assert_array_equal(found.frequencies, 0.0)
    two = fem.Model(block("hexahedron20", (2.0, 1.0, 1.0), (2, 1, 1)), STEEL)
    far = np.flatnonzero((two.points[:, 0] > 1 + 1e-9) | ((two.points[:, 0] > 1 - 1e-9) & (two.points[:, 2] < 1e-9)))
    split = two.points[(np.abs(two.points[:, 0] - 1) < 1e-9) & (two.points[:, 2] > 1e-9)]
    cells = two.mesh.cells[0].connectivity.copy()
    for k, x in enumerate(split):
        old = int(np.linalg.norm(two.points - x, axis=1).argmin())
        cells[1, cells[1] == old] = len(two.points) + k
    mesh = fem.Mesh(np.vstack([two.points, split]), [fem.CellBlock("hexahedron20", cells)])
    link = fem.RigidLink(np.union1d(far[1:], np.arange(len(two.points), len(mesh.points))), reference=int(far[0]))
    hinged = fem.Model(mesh, STEEL).with_constraints(link)
    assert fem.natural_modes(hinged, 9, [np.flatnonzero(mesh.points[:, 0] < 1e-9)]).rigid_motions == 1


def test_a_band_has_all_modes_up_to_its_frequency():
    part = bar()
    many = fem.natural_modes(part, 40, "root").frequencies
    for high in (0.5 * many[0], many[3] * 1.0001, 0.5 * (many[30] + many[31])):
        found = fem.natural_modes(part, supports="root", band=(0, high)).frequencies
        np.testing.assert_allclose(found, many[many <= high], rtol=1e-9)


def test_supports_and_constraints_of_a_deck_hold(tmp_path, monkeypatch):
    """The third frequency of a cantilever by CalculiX 2.20, whose deck clamps it by *BOUNDARY."""
    monkeypatch.chdir(tmp_path)
    Path("bar.inp").write_text(decks.cantilever("C3D20R"))
    mesh, steps = fem.read_steps("bar.inp")
    by_step = fem.solve_step(fem.Model(mesh), steps[1]).frequencies
    kept = fem.read_mesh("bar.inp", ignore=["STEP"], supports="keep", elements="file")
    found = fem.natural_modes(fem.Model(kept), len(by_step))
    np.testing.assert_allclose(found.frequencies, by_step, rtol=1e-6)
    assert found.frequencies[2] == pytest.approx(decks.SAMPLE["C3D20R"][1], rel=1e-5)
    assert found.rigid_motions == 0
    assert "held by its constraints" in str(found)
    clamp = "*BOUNDARY\nFIX, 1, 3\n"
    Path("bar.inp").write_text(decks.cantilever("C3D20R").replace(clamp, "").replace("*STATIC\n", "*STATIC\n" + clamp))
    in_step = fem.read_mesh("bar.inp", ignore=["STEP"], supports="keep", elements="file")  # STEP: what it loads
    np.testing.assert_allclose(fem.natural_modes(fem.Model(in_step), 3).frequencies, by_step, rtol=1e-6)
    without = fem.read_mesh("bar.inp", ignore=["STEP", "BOUNDARY"], supports="keep", elements="file")
    assert not without.constraints
    Path("bar.inp").write_text(decks.cantilever("C3D20R"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fem.MeshWarning)
        refused = fem.Model(fem.read_mesh("bar.inp"))
    with pytest.raises(MeshError, match="BOUNDARY"):
        fem.natural_modes(refused)


def test_what_it_prints_says_units_supports_and_rigid_motions():
    text = str(fem.natural_modes(bar(), 8))
    assert "free, 6 of them motions without stiffness" in text
    assert "cycles/time" in text
    assert "rad/time" in text
    assert "100.00" in text.splitlines()[-1]
    assert "held by 'root'" in str(fem.natural_modes(bar(), 2, "root"))


def test_a_motion_with_neither_stiffness_nor_mass_is_named():
    """A reference node that follows nothing but itself has a stiffness of springs, or none."""
    part = beam(2)
    loose = replace(part.mesh, points=np.vstack([part.mesh.points, [[2.0, 0, 0]]]), node_ids=None)
    with pytest.raises(FactorisationError, match="neither stiffness nor mass"):
        fem.natural_modes(part.on_mesh(loose, np.zeros(0, dtype=np.int64)), 2, ["start"])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((0,), {}, MatrixError, "1 or more"),
        ((True,), {}, MatrixError, "1 or more"),
        ((2.5,), {}, MatrixError, "1 or more"),
        (("root",), {}, MatrixError, "1 or more; found 'root'"),
        ((10_000,), {}, MatrixError, "natural modes; asked for 10000"),
        ((5,), {"band": (0, 10)}, MatrixError, "not both"),
        ((), {"band": (1, 10)}, MatrixError, "A band is"),
        ((), {"band": 10}, MatrixError, "A band is"),
        ((2, "rot"), {}, MeshError, "rot"),
        ((2, {"root": (7,)}), {}, MatrixError, "components"),
    ],
)
def test_wrong_arguments_are_named(monkeypatch, arguments, options, error, text):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    with pytest.raises(error, match=text):
        fem.natural_modes(bar(), *arguments, **options)


def test_a_mesh_a_basis_and_a_body_are_told_where_to_look(monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)  # as users run it
    with pytest.raises(MatrixError, match=r"takes a fem\.Model.*found a Mesh"):
        fem.natural_modes(bar().mesh, 3)
    with pytest.raises(MatrixError, match=r"basis\.frequencies"):
        fem.natural_modes(reduction.modal(bar(), 2), 3)


@pytest.mark.parametrize("place", ["not/there.csv", "full.csv"])
def test_tables_that_cannot_be_written_are_told(place, tmp_path):
    """It was an OSError of Python."""
    if place == "full.csv":
        if not os.path.exists("/dev/full"):
            pytest.skip("needs /dev/full")
        (tmp_path / place).symlink_to("/dev/full")
    model = fem.Model(block("hexahedron", (1, 1, 1), (1, 1, 1)), fem.Material.steel())
    with pytest.raises(fem.MatrixError, match=rf"natural modes cannot be written to .*{place}: No s"):
        fem.natural_modes(model, 3).to_csv(tmp_path / place)
