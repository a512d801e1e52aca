"""Frequencies of a sector with a nodal diameter are those of the whole ring."""

import re

import numpy as np
import pytest
import scipy.linalg as sl

import fem
from fem.errors import MeshError

SECTORS, EACH = 6, 2
SIDES = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


def ring(steps, closed):
    """Nodes and hexahedra of part of a ring about x, three nodes across, with a slope that makes it chiral."""
    around = steps if closed else steps + 1
    place = lambda r, k, z: (r * around + k % around) * 2 + z  # noqa: E731
    angle = 2 * np.pi * np.arange(around) / (SECTORS * EACH)
    points = np.array(
        [
            (0.3 * z + 0.2 * r, (1 + r) * np.cos(a), (1 + r) * np.sin(a))
            for r in range(3)
            for a in angle
            for z in range(2)
        ]
    )
    cells = [[place(r + i, k + j, z) for i, j, z in SIDES] for r in range(2) for k in range(steps)]
    return points, np.array(cells), place


def sector_deck(diameters, sectors=SECTORS, shifted=0.0, stated=()):
    points, cells, place = ring(EACH, False)
    points = with_shifted_side(points, place, shifted)
    lines = ["*NODE, NSET=ALL", *(f"{k}, {x!r}, {y!r}, {z!r}" for k, (x, y, z) in enumerate(points.tolist(), 1))]
    lines += ["*ELEMENT, TYPE=C3D8, ELSET=E", *(", ".join(map(str, [k, *(c + 1)])) for k, c in enumerate(cells, 1))]
    lines += [
        "*MATERIAL, NAME=M",
        "*ELASTIC",
        "210000., 0.3",
        "*DENSITY",
        "7.8e-9",
        "*SOLID SECTION, ELSET=E, MATERIAL=M",
    ]
    for name, k in (("LEFT", 0), ("RIGHT", EACH)):
        lines += [f"*NSET, NSET={name}", *(f"{place(r, k, z) + 1}," for r in range(3) for z in range(2))]
        lines += [f"*SURFACE, NAME=S{name}, TYPE=NODE", f"{name},"]
    lines += ["*NSET, NSET=INNER", *(f"{place(0, k, z) + 1}," for k in range(EACH + 1) for z in range(2))]
    lines += ["*TIE, CYCLIC SYMMETRY, NAME=T", "SLEFT, SRIGHT", f"*CYCLIC SYMMETRY MODEL, N={sectors}", "0,0,0, 1,0,0"]
    lines += [*stated, "*BOUNDARY", "INNER, 1, 3", "*STEP", "*FREQUENCY", "8"]
    low, high = diameters
    return "\n".join([*lines, f"*SELECT CYCLIC SYMMETRY MODES, NMIN={low}, NMAX={high}", "*END STEP\n"])


def with_shifted_side(points, place, shifted):
    """The points, those in the middle of the first side moved inwards by a part of the distance."""
    points = points.copy()
    for z in range(2):
        points[place(1, 0, z)] += shifted * (points[place(0, 0, z)] - points[place(1, 0, z)])
    return points


def test_sides_that_do_not_match(tmp_path):
    """Rigid motions have no frequencies, and elastic ones are those of six sectors whose nodes follow the faces."""
    shifted = 0.3
    points, cells, place = ring(EACH, False)
    points = with_shifted_side(points, place, shifted)
    n, a = len(points), 2 * np.pi / SECTORS
    turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    copies = np.concatenate([points @ np.linalg.matrix_power(turn, s).T for s in range(SECTORS)])
    ties = []
    for s in range(SECTORS):
        first, after = s * n, (s + 1) % SECTORS * n
        for z in range(2):
            faces = [first + place(r, EACH, z) for r in range(3)]
            for r, masters, weights in (
                (0, faces[:1], [1.0]), (1, faces[:2], [shifted, 1 - shifted]), (2, faces[2:], [1.0])
            ):  # fmt: skip
                nodes = [after + place(r, 0, z), *masters]
                ties += [fem.Equation(nodes, [k] * len(nodes), [1.0, *(-w for w in weights)]) for k in range(3)]
    block = fem.CellBlock("hexahedron-compatible", np.concatenate([cells + s * n for s in range(SECTORS)]))
    mesh = fem.Mesh(copies, (block,), constraints=tuple(ties))
    model = fem.Model(mesh, fem.Material.isotropic(210000.0, 0.3, 7.8e-9, "M"))
    values = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)
    whole = np.sqrt(np.abs(values)) / (2 * np.pi)
    path = tmp_path / "sector.inp"
    path.write_text(sector_deck((0, 3), shifted=shifted).replace("*BOUNDARY\nINNER, 1, 3\n", ""))
    mesh, (step,) = fem.read_steps(path)
    found = np.abs(fem.solve_step(fem.Model(mesh), step).frequencies.reshape(4, 8))
    assert (found[:2, :4] < 1e-4 * found[2, 0]).all()  # along and about the axis, across it and about lines across
    every = np.sort(np.concatenate([found[0, ::2], found[1], found[2], found[3, ::2]]))
    np.testing.assert_allclose(every[6:14], whole[6:14], rtol=1e-6)


def test_a_ring_of_six_sectors(tmp_path):
    points, cells, place = ring(SECTORS * EACH, True)
    model = fem.Model(
        fem.Mesh(points, (fem.CellBlock("hexahedron-compatible", cells),)),
        fem.Material.isotropic(210000.0, 0.3, 7.8e-9, "M"),
    )
    inner = np.array([place(0, k, z) for k in range(SECTORS * EACH) for z in range(2)])
    free = np.setdiff1d(np.arange(model.ndof), (3 * inner[:, None] + np.arange(3)).ravel())
    K, M = (A[free][:, free].toarray() for A in (model.K, model.M))
    whole = np.sqrt(sl.eigh(K, M, eigvals_only=True)) / (2 * np.pi)
    (tmp_path / "sector.inp").write_text(sector_deck((0, 3)))
    mesh, (step,) = fem.read_steps(tmp_path / "sector.inp")
    found = fem.solve_step(fem.Model(mesh), step).frequencies.reshape(4, 8)
    np.testing.assert_allclose(found[:, ::2], found[:, 1::2], rtol=1e-6)
    # diameters 0 and 3 of six sectors stand alone, 1 and 2 for two motions that run round in both directions
    every = np.sort(np.concatenate([found[0, ::2], found[1], found[2], found[3, ::2]]))
    np.testing.assert_allclose(every[:12], whole[:12], rtol=1e-6)


def test_equations_of_a_sector_hold_in_all_of_them(tmp_path):
    """The middle of the rim of each sector moves along the axis as its other side does, and as the hub below."""
    points, cells, place = ring(SECTORS * EACH, True)
    tied = lambda k: [(place(2, k, 0), place(2, k, 1)), (place(2, k, 0), place(1, k, 1))]  # noqa: E731
    equations = [fem.Equation(pair, [0, 0], [1.0, -1.0]) for s in range(SECTORS) for pair in tied(EACH * s + EACH // 2)]
    inner = [place(0, k, z) for k in range(SECTORS * EACH) for z in range(2)]
    held = [fem.Equation([node], [k], [1.0]) for node in inner for k in range(3)]
    block = fem.CellBlock("hexahedron-compatible", cells)
    model = fem.Model(
        fem.Mesh(points, (block,), constraints=(*equations, *held)), fem.Material.isotropic(210000.0, 0.3, 7.8e-9, "M")
    )
    whole = np.sqrt(sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True)) / (2 * np.pi)
    _, _, place = ring(EACH, False)
    stated = [f"*EQUATION\n2\n{a + 1}, 1, 1., {b + 1}, 1, -1." for a, b in tied(EACH // 2)]
    (tmp_path / "sector.inp").write_text(sector_deck((0, 3), stated=stated))
    mesh, (step,) = fem.read_steps(tmp_path / "sector.inp")
    found = fem.solve_step(fem.Model(mesh), step).frequencies.reshape(4, 8)
    np.testing.assert_allclose(found[:, ::2], found[:, 1::2], rtol=1e-6)
    every = np.sort(np.concatenate([found[0, ::2], found[1], found[2], found[3, ::2]]))
    np.testing.assert_allclose(every[:12], whole[:12], rtol=1e-6)


@pytest.mark.parametrize("sectors", [5, 7])
def test_another_number_of_sectors_than_that_of_the_sides_is_refused(tmp_path, sectors):
    """Sides that match, and sides whose nodes are not those of the other one."""
    for shifted, told in (
        (0.0, rf"match where they are turned by 60 degrees, and {sectors} sectors"),
        (0.3, "away from"),
    ):
        path = tmp_path / "sector.inp"
        path.write_text(sector_deck((1, 1), sectors, shifted))
        mesh, (step,) = fem.read_steps(path)
        with pytest.raises(MeshError, match=told):
            fem.solve_step(fem.Model(mesh), step)


def test_one_node_that_is_apart_from_the_other_side_is_refused(tmp_path):
    points, _, place = ring(EACH, False)
    number = place(2, 0, 0) + 1
    x, y, z = points[number - 1].tolist()
    deck = sector_deck((1, 1)).replace(f"\n{number}, {x!r}, {y!r}, {z!r}\n", f"\n{number}, {x!r}, {y!r}, {z + 0.3!r}\n")
    path = tmp_path / "sector.inp"
    path.write_text(deck)
    mesh, (step,) = fem.read_steps(path)
    with pytest.raises(MeshError, match=r"up to 0\.3 away from the faces of its master, which are up to 1\.\d+ across"):
        fem.solve_step(fem.Model(mesh), step)


def test_a_narrow_sector_of_a_coarse_mesh_with_one_sector_less_is_refused(tmp_path):
    """The sides of 35 sectors lie nearer to each other than neighbouring nodes."""
    points, _, _ = ring(EACH, False)
    angle = np.arctan2(points[:, 2], points[:, 1]) / 6
    narrow = np.column_stack([points[:, 0], *np.hypot(points[:, 1], points[:, 2]) * (np.cos(angle), np.sin(angle))])
    given = sector_deck((1, 1), 35).splitlines()
    given[1 : 1 + len(narrow)] = [f"{k}, {x!r}, {y!r}, {z!r}" for k, (x, y, z) in enumerate(narrow.tolist(), 1)]
    path = tmp_path / "sector.inp"
    path.write_text("\n".join(given))
    mesh, (step,) = fem.read_steps(path)
    with pytest.raises(MeshError, match=r"turned by 10 degrees, and 35 sectors have 10\.2857 degrees"):
        fem.solve_step(fem.Model(mesh), step)


def test_one_node_at_a_side_matches_within_the_length_of_the_sector(tmp_path):
    """A node at each side has no neighbour there: the distance of the sides is the length."""
    path = tmp_path / "sector.inp"
    one = re.sub(r"(NSET=(?:LEFT|RIGHT)\n\d+,)(?:\n\d+,)+", r"\1", sector_deck((1, 1)))
    for sectors, axis in ((5, "0,0,0, 1,0,0"), (SECTORS, "0,0,0, 0,0,1")):
        path.write_text(one.replace(f"N={SECTORS}", f"N={sectors}").replace("0,0,0, 1,0,0", axis))
        mesh, (step,) = fem.read_steps(path)
        with pytest.raises(MeshError, match="the nodes of"):
            fem.solve_step(fem.Model(mesh), step)
    path.write_text(one)
    mesh, (step,) = fem.read_steps(path)
    assert (fem.solve_step(fem.Model(mesh), step).frequencies > 0).all()


def test_what_is_not_solved_is_named(tmp_path):
    path = tmp_path / "sector.inp"
    path.write_text(sector_deck((1, 1)).replace("*FREQUENCY\n8\n", "*STATIC\n"))
    mesh, (step,) = fem.read_steps(path)
    with pytest.raises(MeshError, match="of cyclic symmetry, frequencies of an unloaded sector are"):
        fem.solve_step(fem.Model(mesh), step)
    path.write_text(sector_deck((1, 1), sectors=5))
    mesh, (step,) = fem.read_steps(path)
    with pytest.raises(MeshError, match=r"CYCLIC SYMMETRY MODEL, line .* turned by 60 degrees"):
        fem.solve_step(fem.Model(mesh), step)
    with pytest.warns(fem.MeshWarning, match="CYCLIC SYMMETRY MODEL, line"):
        assert {u.keyword for u in fem.read_mesh(path).unread} >= {"TIE", "CYCLIC SYMMETRY MODEL"}


@pytest.mark.parametrize(
    ("given", "written", "reason"),
    [
        ("N=6", "N=1", "1 sectors about the line through [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]; two different points and a whole"),
        ("N=6", "N=6.7", "6.7 sectors about the line through [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]; two different points and a"),
        ("N=6", "N=nan", "nan sectors about"),
        (", N=6", "", "its option N=... is missing"),
        ("0,0,0, 1,0,0", "1,0,0, 1,0,0", "6 sectors about the line through [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]; two different"),
        ("0,0,0, 1,0,0", "0,0,0, 1,0", "data line 1 needs two points of the axis, of three coordinates each; found 0, 0, 0, 1, 0"),
        ("0,0,0, 1,0,0\n", "", "data line 1 needs two points of the axis, of three coordinates each; found no line"),
        ("*TIE, CYCLIC SYMMETRY,", "*TIE,", "1 *CYCLIC SYMMETRY MODEL and 0 *TIE, CYCLIC SYMMETRY; one of each is read"),
        ("*BOUNDARY", "*CYCLIC SYMMETRY MODEL, N=6\n0,0,0, 1,0,0\n*BOUNDARY", "2 *CYCLIC SYMMETRY MODEL and 1 *TIE, CYCLIC"),
        ("SLEFT, SRIGHT", "SLEFT", "data line 1 needs the slave and the master surface; found SLEFT"),
        ("N=6", "N=6.0", ""),
    ],
)  # fmt: skip
def test_sectors_that_cannot_be_are_named(given, written, reason, tmp_path):
    text = sector_deck((1, 1))
    assert text.count(given) == 1
    (tmp_path / "sector.inp").write_text(text.replace(given, written))
    _, (step,) = fem.read_steps(tmp_path / "sector.inp")
    found = [u.text for u in step.unread if u.keyword == "CYCLIC SYMMETRY MODEL"]
    assert len(found) == bool(reason)
    assert all(f"(not obeyed: {reason}" in text for text in found)


def test_a_sector_that_is_refused_names_what_finds_its_frequencies(tmp_path):
    (tmp_path / "sector.inp").write_text(sector_deck((0, 1)))
    with pytest.warns(fem.MeshWarning, match="fem.solve_step"):
        sector = fem.Model(fem.read_mesh(tmp_path / "sector.inp"))
    with pytest.raises(fem.MeshError, match=r"fem\.read_steps and fem\.solve_step .* whole wheel"):
        fem.natural_modes(sector, 2)
    mesh, (step,) = fem.read_steps(tmp_path / "sector.inp")
    told = str(fem.solve_step(fem.Model(mesh), step)).splitlines()
    assert [line.partition(":")[0].strip() for line in told[1:]] == [
        f"frequencies of nodal diameter {k}" for k in (0, 1)
    ]
