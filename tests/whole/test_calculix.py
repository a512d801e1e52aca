"""K, M and frequencies against CalculiX, which exports its matrices (SOLVER=MATRIXSTORAGE)."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import fem
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block

foreign = pytest.mark.foreign
needs_ccx = pytest.mark.skipif(
    shutil.which("ccx") is None, reason="CalculiX (ccx, Debian calculix-ccx) is not installed"
)
TYPES = {"tetra": "C3D4", "tetra10": "C3D10", "hexahedron": "C3D8I", "hexahedron20": "C3D20"}
SEED = 3


def part(kind):
    """Distorted steel cells whose node numbers in the file are not their places."""
    mesh = block(kind, (30.0, 20.0, 25.0), (2, 1, 1))
    rng = np.random.default_rng(SEED)
    moved = np.round(mesh.points + rng.uniform(-0.8, 0.8, mesh.points.shape), 6)  # CalculiX reads 20 characters
    numbers = 10 + 3 * rng.permutation(len(moved))
    return fem.Model(replace(mesh, points=moved, node_ids=numbers), fem.Material.steel(units="mm"))


def deck(model, step):
    mesh = model.mesh
    numbers = mesh.node_ids
    kind = mesh.cells[0].kind
    lines = ["*NODE, NSET=ALL"]
    lines += [f"{n}, " + ", ".join(f"{v:.12g}" for v in x) for n, x in zip(numbers, mesh.points, strict=True)]
    lines.append(f"*ELEMENT, TYPE={TYPES[kind]}, ELSET=E")
    order = list(range(mesh.cells[0].connectivity.shape[1]))  # Abaqus orders C3D4, C3D10, C3D8 and C3D20 as VTK does
    for k, cell in enumerate(mesh.cells[0].connectivity):
        text = [str(k + 1), *(str(numbers[n]) for n in cell[order])]
        lines += [", ".join(text[i : i + 10]) + ("," if i + 10 < len(text) else "") for i in range(0, len(text), 10)]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", "2.1e5, 0.3", "*DENSITY", "7.85e-9"]
    lines += ["*SOLID SECTION, ELSET=E, MATERIAL=STEEL", "*STEP", *step, "*END STEP", ""]
    return "\n".join(lines)


def run(folder, model, step):
    (folder / "job.inp").write_text(deck(model, step))
    done = subprocess.run(["ccx", "job"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert "Job finished" in done.stdout, done.stdout[-2000:]
    return folder / "job"


MATRICES = ("*FREQUENCY, SOLVER=MATRIXSTORAGE", "10")


@foreign
@needs_ccx
@pytest.mark.parametrize("kind", ["tetra", "tetra10", "hexahedron20"])
def test_stiffness_is_that_of_calculix(kind, tmp_path):
    model = part(kind)
    given = fem.read_calculix(run(tmp_path, model, MATRICES))
    place = np.argsort(model.mesh.node_ids)
    dofs = (3 * place[:, None] + np.arange(3)).ravel()
    np.testing.assert_array_equal(given.points_of(model.mesh), model.points[place])
    K = model.K[dofs][:, dofs]
    assert abs(K - given.K).max() < 1e-10 * abs(K).max()


@foreign
@needs_ccx
def test_a_model_from_calculix_matrices_is_the_same_part(tmp_path):
    """On straight-sided cells CalculiX integrates mass and inertia exactly, as we do (its M differs in other entries)."""
    mesh = block("hexahedron20", (30.0, 20.0, 25.0), (2, 1, 1))
    numbers = 10 + 3 * np.random.default_rng(SEED).permutation(len(mesh.points))
    model = fem.Model(replace(mesh, node_ids=numbers), fem.Material.steel(units="mm"))
    given = fem.read_calculix(run(tmp_path, model, MATRICES).with_suffix(".sti"))
    imported = fem.Model.from_matrices(given.M, given.K, given.points_of(model.mesh), name="rod")
    assert imported.mass == pytest.approx(model.mass, rel=1e-10)
    np.testing.assert_allclose(imported.centre_of_mass, model.centre_of_mass, rtol=1e-10)
    np.testing.assert_allclose(imported.inertia(), model.inertia(), atol=1e-10 * np.abs(model.inertia()).max())


@foreign
@needs_ccx
@pytest.mark.parametrize(("kind", "divisions"), [("tetra10", (20, 3, 3)), ("hexahedron20", (10, 2, 2))])
def test_frequencies_are_those_of_calculix(kind, divisions, tmp_path):
    """The elastic frequencies of a free beam, in the table of the .dat file (cycles per time).

    CalculiX integrates the mass of C3D10 with four points; the tetrahedra are small enough for that not to show.
    """
    mesh = block(kind, (100.0, 10.0, 8.0), divisions)
    mesh = replace(mesh, node_ids=np.arange(1, len(mesh.points) + 1))
    model = fem.Model(mesh, fem.Material.steel(units="mm"))
    job = run(tmp_path, model, ("*FREQUENCY", "12"))
    rows = [line.split() for line in job.with_suffix(".dat").read_text().splitlines()]
    table = np.array([float(r[3]) for r in rows if len(r) == 5 and r[0].isdigit()][:12])
    values = spla.eigsh(model.K, 12, model.M, sigma=-1e8, return_eigenvectors=False)
    found = np.sqrt(np.maximum(np.sort(values), 0)) / (2 * np.pi)
    assert found[5] < 1e-2 * found[6]
    np.testing.assert_allclose(found[6:], table[6:], rtol=1e-4)


@foreign
@needs_ccx
def test_supported_parts_are_refused(tmp_path):
    model = part("tetra")
    first = int(model.mesh.node_ids[0])
    job = run(tmp_path, model, ("*BOUNDARY", f"{first}, 1, 2", *MATRICES))
    with pytest.raises(MatrixError, match=rf"1 nodes \(first: \[{first}\]\) have fewer than 3 dofs"):
        fem.read_calculix(job)
