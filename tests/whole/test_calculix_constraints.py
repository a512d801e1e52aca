"""Constraints of decks against CalculiX: natural frequencies of parts that equations, ties and couplings connect."""

import shutil
import subprocess
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as sl

import fem
from fem.mesh.structured_meshes import block

needs_ccx = pytest.mark.skipif(
    shutil.which("ccx") is None, reason="CalculiX (ccx, Debian calculix-ccx) is not installed"
)
MATERIAL = "*MATERIAL, NAME=STEEL\n*ELASTIC\n2.1e5, 0.3\n*DENSITY\n7.85e-9\n*SOLID SECTION, ELSET=E, MATERIAL=STEEL\n"
STEP = "*STEP\n*FREQUENCY\n6\n*END STEP\n"


def rows(values):
    return [
        ", ".join(map(str, values[i : i + 8])) + ("," if i + 8 < len(values) else "") for i in range(0, len(values), 8)
    ]


def deck(*meshes, extra=()):
    """Nodes and elements of meshes, one after the other, the sets A_x0, ... of the first, B_x0, ... of the second, and
    `extra` nodes (their numbers count on)."""
    lines, first, cell = ["*NODE"], 1, 1
    body, sets = ["*ELEMENT, TYPE=C3D20, ELSET=E"], []
    for letter, mesh in zip("AB", meshes, strict=False):
        lines += [f"{first + k}, " + ", ".join(f"{v:.9g}" for v in x) for k, x in enumerate(mesh.points)]
        for name in mesh.face_sets:
            sets += [f"*NSET, NSET={letter}_{name}", *rows((mesh.nodes(name) + first).tolist())]
            faces = [(cell + c, abaqus_face(mesh, c, f)) for c, f in mesh.face_sets[name].tolist()]
            sets += [f"*SURFACE, NAME=S{letter}_{name}", *(f"{c}, S{f}" for c, f in faces)]
        for connectivity in mesh.cells[0].connectivity:
            nodes = [cell, *(connectivity + first).tolist()]
            body += [", ".join(map(str, nodes[:11])) + ",", ", ".join(map(str, nodes[11:]))]
            cell += 1
        first += len(mesh.points)
    lines += [f"{first + k}, " + ", ".join(map(str, x)) for k, x in enumerate(extra)]
    return "\n".join([*lines, *body, *sets]) + "\n" + MATERIAL, first


def abaqus_face(mesh, cell, face):
    shape = fem.elements.element("hexahedron20")
    wanted = {k for k in shape.faces[face] if k < 8}
    return 1 + next(k for k, corners in enumerate(shape.abaqus_faces) if set(corners) == wanted)


def arm(size=(40.0, 10.0, 8.0), divisions=(3, 1, 1), shift=(0.0, 0.0, 0.0)):
    mesh = block("hexahedron20", size, divisions)
    return replace(mesh, points=np.round(mesh.points + shift, 9))


ONE, FIRST = deck(arm(), extra=[(45.0, 5.0, 4.0), (45.0, 5.0, 4.0)])
TWO, _ = deck(arm(), arm((30.0, 12.0, 9.0), (2, 2, 1), (40.0, -1.0, -0.5)))
CASES = {
    "equations": ONE + f"*BOUNDARY\nA_x0, 1, 3\n*EQUATION\n3\n{FIRST - 1}, 2, 1., {FIRST - 3}, 3, -2., 20, 1, .5\n",
    "axes of nodes": ONE
    + "*TRANSFORM, NSET=A_x1, TYPE=C\n0., 5., 4., 1., 5., 4.\n*TRANSFORM, NSET=A_x0, TYPE=R\n1., 1., 0., -1., 1., .5\n"
    + f"*BOUNDARY\nA_x0, 1, 3\nA_x1, 2\n*EQUATION\n2\n{FIRST - 1}, 1, 1., {FIRST - 2}, 1, -1.\n",
    "material around an axis": ONE.replace(", MATERIAL=STEEL\n", ", MATERIAL=STEEL, ORIENTATION=RING\n").replace(
        "*ELASTIC\n2.1e5, 0.3\n",
        "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n2.e5, 4.e4, 2.e4, .3, .2, .25, 2.e4, 1.5e4,\n1.e4, 293.\n",
    )
    + "*ORIENTATION, NAME=RING, SYSTEM=CYLINDRICAL\n10., -30., 0., 12., -30., 40.\n*BOUNDARY\nA_x0, 1, 3\n",
    "rigid body": ONE
    + f"*RIGID BODY, NSET=A_x1, REF NODE={FIRST}, ROT NODE={FIRST + 1}\n*BOUNDARY\nA_x0, 1, 3\n{FIRST + 1}, 1, 2\n",
    "kinematic coupling": ONE
    + f"*COUPLING, REF NODE={FIRST}, SURFACE=SA_x1, CONSTRAINT NAME=c\n*KINEMATIC\n1, 3\n*BOUNDARY\nA_x0, 1, 3\n{FIRST}, 2, 2\n",
    "tie": TWO + "*TIE, NAME=t, POSITION TOLERANCE=0.1\nSA_x1, SB_x0\n*BOUNDARY\nA_x0, 1, 3\n",
}


def eigenvalues_of_calculix(folder):
    """The eigenvalues of the deck job.inp in a folder."""
    done = subprocess.run(["ccx", "job"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert "Job finished" in done.stdout, done.stdout[-2000:]
    text = (folder / "job.dat").read_text().split("E I G E N V A L U E   O U T P U T")[1]
    return [
        float(line.split()[1]) for line in text.splitlines() if len(line.split()) == 5 and line.split()[0].isdigit()
    ]


@pytest.mark.foreign
@needs_ccx
@pytest.mark.parametrize("case", CASES)
def test_frequencies_are_those_of_calculix(case, tmp_path):
    path = tmp_path / "job.inp"
    path.write_text(CASES[case] + STEP)
    values = eigenvalues_of_calculix(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fem.UnitWarning)
        model = fem.Model(fem.read_mesh(path, supports="keep"))
    ours = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True, subset_by_index=[0, 5])
    np.testing.assert_allclose(ours, values[:6], rtol=1e-5)
    assert model.unread == ()


AXES = {
    "fixed": "*ORIENTATION, NAME=O\n1., 1., 0., -1., 1., .5\n",
    "around": "*ORIENTATION, NAME=O, SYSTEM=CYLINDRICAL\n0., 0., 0., 1., .5, 0.\n",
}


@pytest.mark.foreign
@needs_ccx
@pytest.mark.parametrize(
    ("axes", "dofs"),
    [
        ("", "1, 6\n"),
        ("", "5\n"),
        ("", ""),
        ("", "2, 3\n"),
        ("fixed", "1, 6\n"),
        ("around", "1, 3\n"),
        ("around", "5, 6\n"),
    ],
)
def test_distributing_couplings_carry_the_loads_of_calculix(axes, dofs, tmp_path):
    """Nodes are weighed by the integrals of their shape functions, loads are in the axes of the orientation, and the
    translations are coupled in any case."""
    loaded = sorted({1, 2, 3} | ({4, 5, 6} if dofs == "1, 6\n" else {int(d) for d in dofs.split(",") if d.strip()}))
    about = ", ORIENTATION=O" if axes else ""
    text = ONE + f"*NSET, NSET=P\n{FIRST - 5}, {FIRST - 1}\n" + AXES.get(axes, "")
    text += f"*COUPLING, REF NODE={FIRST}, SURFACE=SA_x1, CONSTRAINT NAME=c{about}\n*DISTRIBUTING\n{dofs}"
    text += "*BOUNDARY\nA_x0, 1, 3\n" + "".join(
        f"*STEP\n*STATIC\n*CLOAD, OP=NEW\n{FIRST}, {d}, 10.\n*NODE PRINT, NSET=P\nU\n*END STEP\n" for d in loaded
    )
    (tmp_path / "job.inp").write_text(text)
    done = subprocess.run(["ccx", "job"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "Job finished" in done.stdout, done.stdout[-2000:]
    rows = [line.split() for line in (tmp_path / "job.dat").read_text().splitlines()]
    theirs = np.array([[float(v) for v in row[1:]] for row in rows if len(row) == 4]).reshape(len(loaded), 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mesh, steps = fem.read_steps(tmp_path / "job.inp")
        model = fem.Model(mesh)
        nodes = [int(np.flatnonzero(mesh.node_ids == n)[0]) for n in (FIRST - 5, FIRST - 1)]
        ours = np.array([fem.solve_step(model, step).displacements[nodes] for step in steps])
    assert np.abs(ours - theirs).max(axis=(1, 2)) == pytest.approx(0, abs=1e-5 * np.abs(theirs).max())


@pytest.mark.foreign
@needs_ccx
def test_beams_of_mpc_keep_the_distance_of_calculix(tmp_path):
    """Under small loads: CalculiX counts the second order of the distance."""
    parts = arm(), arm((30.0, 12.0, 9.0), (2, 2, 1), (45.0, -1.0, -0.5))
    two, _ = deck(*parts)
    ends, starts = parts[0].nodes("x1") + 1, parts[1].nodes("x0") + 1 + len(parts[0].points)
    links = "".join(f"*MPC\nBEAM, {ends[i]}, {starts[j]}\n" for i, j in ((0, 4), (3, 0)))
    step = f"*STEP\n*STATIC\n*CLOAD\n{ends[0]}, 3, .1\n{ends[4]}, 1, .05\n*NODE PRINT, NSET=A_x1\nU\n*END STEP\n"
    (tmp_path / "job.inp").write_text(two + links + "*BOUNDARY\nA_x0, 1, 3\nB_x1, 1, 3\n" + step)
    done = subprocess.run(["ccx", "job"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "Job finished" in done.stdout, done.stdout[-2000:]
    printed = [line.split() for line in (tmp_path / "job.dat").read_text().splitlines()]
    theirs = {int(row[0]): [float(v) for v in row[1:]] for row in printed if len(row) == 4 and row[0].isdigit()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fem.UnitWarning)
        mesh, (static,) = fem.read_steps(tmp_path / "job.inp")
        ours = fem.solve_step(fem.Model(mesh), static).displacements
    wanted = np.array(list(theirs.values()))
    np.testing.assert_allclose(ours[np.array(list(theirs)) - 1], wanted, rtol=0, atol=2e-6 * abs(wanted).max())


def instances():
    """One arm used twice, the second time upright on a side of the first one, in a deck of two instances, and the flat
    deck of it."""
    there = arm()
    upright = replace(there, points=there.points[:, [1, 0, 2]] * [-1, 1, 1] + np.array([30.0, 10.0, 0.0]))
    part, _ = deck(there)
    part, material = part.split("*MATERIAL")
    material, section = material.split("*SOLID SECTION")
    ours = (
        f"*PART, NAME=arm\n{part}*SOLID SECTION{section}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=root, PART=arm\n"
        "*END INSTANCE\n*INSTANCE, NAME=tip, PART=arm\n30., 10., 0.\n30., 10., 0., 30., 10., 1., 90.\n*END INSTANCE\n"
        "*TIE, NAME=t, POSITION TOLERANCE=0.1\ntip.SA_x0, root.SA_y1\n*END ASSEMBLY\n"
        f"*MATERIAL{material}*BOUNDARY\nroot.A_x0, 1, 3\n"
    )
    flat, _ = deck(there, upright)
    return ours, flat + "*TIE, NAME=t, POSITION TOLERANCE=0.1\nSB_x0, SA_y1\n*BOUNDARY\nA_x0, 1, 3\n"


@pytest.mark.foreign
@needs_ccx
def test_two_instances_of_a_part_have_the_frequencies_of_the_flat_deck_in_calculix(tmp_path):
    ours, flat = instances()
    (tmp_path / "job.inp").write_text(flat + STEP)
    (tmp_path / "instances.inp").write_text(ours)
    values = eigenvalues_of_calculix(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fem.Model(fem.read_mesh(tmp_path / "instances.inp", supports="keep"))
    found = sl.eigh(model.K.toarray(), model.M.toarray(), eigvals_only=True, subset_by_index=[0, 5])
    np.testing.assert_allclose(found, values[:6], rtol=1e-5)
    assert model.unread == ()
