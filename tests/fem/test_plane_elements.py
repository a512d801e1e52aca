"""Plane and axisymmetric elements of decks, in steps that compare a part with its solver."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import fem
from fem.errors import MeshError

E, NU = 1000.0, 0.3


def deck(kind, nodes, cells, load, thickness="0.5,", tail=""):
    lines = ["*NODE, NSET=ALL", *(f"{k}, {x!r}, {y!r}" for k, (x, y) in enumerate(nodes, 1))]
    lines += [f"*ELEMENT, TYPE={kind}, ELSET=E"]
    lines += [", ".join(map(str, (k, *cell))) for k, cell in enumerate(cells, 1)]
    lines += ["*MATERIAL, NAME=M", "*ELASTIC", f"{E}, {NU}", "*SOLID SECTION, ELSET=E, MATERIAL=M", thickness]
    return "\n".join([*lines, "*STEP", "*STATIC", *load, "*END STEP", tail])


SQUARE4 = [(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0)]
SQUARE8 = [*SQUARE4, (0.5, 0.0), (1.0, 1.0), (0.5, 2.0), (0.0, 1.0)]
TRIANGLES = [(1, 2, 3), (1, 3, 4)]
CASES = {
    "CPS4": (SQUARE4, [(1, 2, 3, 4)]),
    "CPS8R": (SQUARE8, [tuple(range(1, 9))]),
    "CPE8": (SQUARE8, [tuple(range(1, 9))]),
    "CPE4R": (SQUARE4, [(1, 2, 3, 4)]),
    "CPS3": (SQUARE4, TRIANGLES),
    "CPE6": ([*SQUARE8, (0.5, 1.0)], [(1, 2, 3, 5, 6, 9), (1, 3, 4, 9, 7, 8)]),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_pulled_square(kind, tmp_path):
    """Uniform stress 3 along x by a pressure on its right side, that of an element or of a surface."""
    nodes, cells = CASES[kind]
    side = "P2"  # nodes 2 and 3, in the first cell
    left = [k for k, (x, _) in enumerate(nodes, 1) if x == 0.0]
    held = ["*BOUNDARY", *(f"{k}, 1" for k in left), "1, 2"]
    path = tmp_path / "square.inp"
    for load in (["*DLOAD", f"1, {side}, -3."], ["*DSLOAD", "RIGHT, P, -3."]):
        text = deck(kind, nodes, cells, [*held, *load])
        path.write_text(text.replace("*MATERIAL", "*SURFACE, NAME=RIGHT\n1, S2\n*MATERIAL"))
        mesh, (step,) = fem.read_steps(path)
        u = fem.solve_step(fem.Model(mesh), step).displacements[: len(nodes)]
        plane = kind.startswith("CPE")
        along, across = (3 * (1 - NU**2) / E, -3 * NU * (1 + NU) / E) if plane else (3 / E, -3 * NU / E)
        np.testing.assert_allclose(u, [[along * x, across * y, 0.0] for x, y in nodes], atol=1e-9)
    assert fem.Model(mesh).dof_map.holding  # no body moves in a plane
    with pytest.raises(fem.MatrixError, match="held in space"):
        fem.Model(mesh).require_free()


def test_a_thick_cylinder_and_a_force_around_it(tmp_path):
    """Lame's cylinder in plane strain, radii 1 and 2, eight elements; inside a pressure, or forces of the whole ring."""
    r = np.linspace(1.0, 2.0, 17)
    nodes = [(float(x), y) for y in (0.0, 0.1) for x in r] + [(float(x), 0.05) for x in r[::2]]
    at = lambda row, k: row * 17 + k + 1  # noqa: E731
    cells = [
        (at(0, 2 * k), at(0, 2 * k + 2), at(1, 2 * k + 2), at(1, 2 * k), at(0, 2 * k + 1), 35 + k + 1, at(1, 2 * k + 1), 35 + k)
        for k in range(8)
    ]  # fmt: skip
    held = ["*BOUNDARY", *(f"{k}, 2" for k in range(1, len(nodes) + 1))]
    p = 5.0
    exact = p / E * (1 + NU) / 3 * ((1 - 2 * NU) * r + 4 / r)
    total = p * 2 * np.pi * 0.1
    for load in (["*DLOAD", f"1, P4, {p}"], ["*CLOAD", f"1, 1, {total / 6}", f"18, 1, {total / 6}", f"35, 1, {total * 2 / 3}"]):  # fmt: skip
        path = tmp_path / "ring.inp"
        path.write_text(deck("CAX8", nodes, cells, [*held, *load], thickness=""))
        mesh, (step,) = fem.read_steps(path)
        u = fem.solve_step(fem.Model(mesh), step).displacements[:17]
        np.testing.assert_allclose(u[:, 0], exact, rtol=2e-4)
        assert not u[:, 1:].any()


def test_plane_elements_out_of_the_plane_are_refused(tmp_path):
    path = tmp_path / "bent.inp"
    text = deck("CPS4", SQUARE4, [(1, 2, 3, 4)], ["*DLOAD", "1, P2, -3."])
    path.write_text(text.replace("3, 1.0, 2.0", "3, 1.0, 2.0, 0.1"))
    with pytest.raises(MeshError, match=r"node 3 at \(1, 2, 0.1\); plane elements lie in z = 0"):
        fem.read_steps(path)
    path.write_text(text)
    with pytest.raises(MeshError, match="no solid cells"):  # a body of them does not exist
        fem.read_mesh(path)


@pytest.mark.foreign
@pytest.mark.parametrize("kind", ["CPS8", "CPE4", "CAX8R"])
def test_loads_of_calculix(kind, tmp_path):
    if shutil.which("ccx") is None:
        pytest.skip("CalculiX is not installed")
    from validation import decks

    nodes, cells = CASES["CPS4" if kind == "CPE4" else "CPS8R"]
    nodes = [(x + 1.0, y) for x, y in nodes]
    load = ["*BOUNDARY", "1, 1, 2", "2, 2", "*CLOAD", "3, 1, 2.", "3, 2, 1.5", "*DLOAD", "1, P2, -3."]
    path = tmp_path / f"{kind}.inp"
    path.write_text(deck(kind, nodes, cells, load))
    work = Path(tmp_path / "ccx")
    work.mkdir()
    outcome = decks.compare(path, work)
    assert outcome.steps
    # of axisymmetric elements ccx prints the mean of the layers along x, not along the radius
    assert max(s.error for s in outcome.steps) < (1e-5 if kind != "CAX8R" else 1 - np.cos(np.radians(1.0)))


@pytest.mark.parametrize("side", ["1, S2", "2, S4"])
def test_a_cut_is_tightened_whichever_side_is_named(side, tmp_path):
    """Two squares between walls; their common side is cut, and its sides overlap by 0.01: each is stretched by half."""
    nodes = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (9.0, 9.0)]
    load = ["*BOUNDARY", *(f"{k}, 1" for k in (1, 3, 4, 6)), *(f"{k}, 2" for k in (1, 2, 3)), "7, 1, 1, 0.01"]
    text = deck("CPS4", nodes, [(1, 2, 5, 4), (2, 3, 6, 5)], load)
    path = tmp_path / "cut.inp"
    cut = f"*SURFACE, NAME=CUT\n{side}\n*PRE-TENSION SECTION, SURFACE=CUT, NODE=7\n*MATERIAL"
    path.write_text(text.replace("*MATERIAL", cut))
    mesh, (step,) = fem.read_steps(path)
    u = fem.solve_step(fem.Model(mesh), step).displacements
    (block,) = mesh.solids
    for cell, expected in zip(block.connectivity, (0.005, -0.005), strict=True):
        own = [k for k in cell if mesh.points[k, 0] == 1.0]
        assert len(own) == 4
        np.testing.assert_allclose(u[own, 0], expected, rtol=1e-6)
