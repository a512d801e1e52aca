"""The promise of `choose` with contacts: the true error, by dense modes of the full part, of loads at any node of its surfaces, beside those at interfaces."""

from functools import partial

import dense
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh, null_space

import fem
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block, tube
from reduction.choose import FAMILIES
from reduction.error.contact_loads import ContactLoads

STEEL, ALUMINIUM = fem.Material.steel(), fem.Material.aluminium()
LOSS = 0.02


def solid(mesh, surfaces, material=STEEL, **interfaces):
    return fem.Model(mesh(), material).with_interfaces(**interfaces).with_surfaces(**surfaces)


def soft(nodes):
    return fem.Interface(nodes, kind="average")


def finger():
    return solid(partial(block, "hexahedron", (0.3, 0.1, 0.05), (9, 3, 2)), {"top": "z1"}, a="x0")


PARTS = {
    "plate on two surfaces": partial(solid, partial(block, "hexahedron20", (0.3, 0.2, 0.02), (5, 4, 1)), {"below": "z0", "edge": "x1"}, a=soft("x0")),
    "thick ring, outside": partial(solid, partial(tube, "hexahedron20", (0.05, 0.1), 0.03, (2, 10, 1)), {"outside": "outer"}, ALUMINIUM, a="inner"),
    "free lump": partial(solid, partial(block, "tetra10", (0.2, 0.15, 0.1), (3, 2, 2)), {"face": "z0"}),
    "slender, end": partial(solid, partial(block, "wedge15", (0.6, 0.04, 0.03), (10, 1, 1)), {"end": "x1"}, a="x0", b=soft("z1")),
    "pyramids": partial(solid, partial(block, "pyramid", (0.5, 0.1, 0.1), (6, 2, 2)), {"flank": fem.in_box((0.1, -1, 0.099), (0.41, 1, 1))}, a="x0", b="x1"),
}  # fmt: skip
"""Parts that were not looked at while the bound was made."""


def full_modes(model):
    """All elastic modes of the free part with its rigid interfaces."""
    rows = dense.stiff_sets(model)
    T = null_space(rows / max(np.abs(rows).max(), 1.0)) if len(rows) else np.eye(model.ndof)
    values, V = eigh(T.T @ (model.K @ T), T.T @ (model.M @ T))
    return values[6:], (T @ V)[:, 6:]


def true_error(model, basis, contacts, frequencies):
    """Relative error (f,), Frobenius: interfaces scaled by the radius of gyration, nodes weighted by their areas."""
    length = np.sqrt(np.trace(model.inertia()) / (2 * model.mass))
    loads = [dense.motion(model, name) * np.repeat([1.0, length], 3) for name in model.interfaces]
    q = 6 * len(loads)
    for name in contacts:
        s = model.surfaces[name]
        F = np.zeros((model.ndof, 3 * len(s.nodes)))
        F[(3 * s.nodes[:, None] + np.arange(3)).ravel(), np.arange(F.shape[1])] = np.repeat(
            np.sqrt(s.areas / s.areas.sum()), 3
        )
        loads.append(F)
    F = np.hstack(loads)
    values, Phi = full_modes(model)
    rows = F.T @ Phi
    Psi = dense.without_rigid_motion(model, basis.Psi)
    reduced, W = eigh(Psi.T @ (model.K @ Psi), Psi.T @ (model.M @ Psi))
    small = F.T @ Psi @ W
    residual = (rows / values) @ rows.T - (small / reduced) @ small.T
    residual[:q], residual[:, :q] = 0.0, 0.0  # at the nodes of surfaces only
    found = []
    for square in (2 * np.pi * frequencies) ** 2:
        H = (rows / (values * (1 + 1j * LOSS) - square)) @ rows.T
        Hr = (small / (reduced * (1 + 1j * LOSS) - square)) @ small.T + residual / (1 + 1j * LOSS)
        found.append(np.linalg.norm(H - Hr) / np.linalg.norm(H))
    return np.array(found)


def promise(model, tolerance, reach, methods):
    """The stated error, what it is at the frequencies of its grid, and the true one there."""
    band = (0, reach * float(reduction.modal(model, 1).frequencies[0]))
    contacts = [*model.surfaces]
    basis = reduction.choose(model, band=band, tolerance=tolerance, contacts=contacts, methods=methods)
    reduction.check(basis, model)
    told = reduction.response_error(model, basis, band, contacts=contacts, tolerance=0.2 * tolerance)
    true = true_error(model, basis, contacts, told.frequencies)
    assert (told.relative >= true - 1e-9).all()
    return basis.options["error"], float(true.max())


def test_the_true_error_is_within_tolerance_and_near_the_stated_one():
    told, true = promise(finger(), 0.03, 3.0, ["Craig-Chang"])
    assert true <= told <= 0.03
    assert told <= 10 * true


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(("tolerance", "reach"), [(0.03, 3.0), (0.005, 2.0)])
def test_five_parts(name, tolerance, reach):
    told, true = promise(PARTS[name](), tolerance, reach, ["Craig-Chang", "contact"])
    assert true <= told <= tolerance
    assert told <= 10 * true


def test_a_basis_is_measured_with_its_residual_compliance():
    """Nine natural modes alone miss the statics of the surface by far more than the body with its residual."""
    model = finger()
    basis = reduction.craig_chang(model, 9)
    band = (0, 2.0 * float(reduction.modal(model, 1).frequencies[0]))
    told = reduction.response_error(model, basis, band, contacts=["top"])
    true = true_error(model, basis, ["top"], told.frequencies)
    assert (told.relative >= true - 1e-9).all()
    assert told.relative.max() < 5 * true.max()
    assert told.relative[0] < 1e-9


def test_a_method_that_fails_leaves_the_choice_to_the_others(monkeypatch):
    def fails(*_):
        raise MatrixError("The inverse is not positive.")

    model = solid(partial(block, "hexahedron20", (0.4, 0.3, 0.02), (6, 5, 1)), {"top": "z1"})
    chosen = {
        "band": (0, 2 * float(reduction.modal(model, 1).frequencies[0])),
        "tolerance": 0.1,
        "contacts": ["top"],
    }
    monkeypatch.setitem(FAMILIES, "Gramian", fails)
    for methods in (["Gramian", "modal"], ["modal", "Gramian"]):
        basis = reduction.choose(model, **chosen, methods=methods)
        assert basis.method == "modal"
        assert [row.get("why") for row in basis.options["candidates"] if row["method"] == "Gramian"] == [
            "The inverse is not positive."
        ]
        assert "Gramian: failed, The inverse is not positive. (" in str(basis)
    with pytest.raises(MatrixError, match="not positive"):
        reduction.choose(model, **chosen, methods=["Gramian"])
    assert reduction.choose(model, **chosen, methods=["modal", "contact"]).method == "modal"


def test_unknown_surfaces_are_refused():
    with pytest.raises(MatrixError, match=r"'bottom'.*top"):
        reduction.choose(finger(), band=(0, 1e3), contacts=["bottom"])


def test_files_and_the_command_line_choose_for_loads_at_surfaces(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from flexmb.cli.main import app
    from flexmb.files import load_model
    from flexmb.files.bodies.body_file import load_body

    monkeypatch.chdir(tmp_path)
    mesh = block("hexahedron", (0.3, 0.1, 0.05), (3, 1, 1))
    fem.write_mesh(mesh, "part.msh")
    model = solid(lambda: mesh, {"top": "z1"})
    high = 1.5 * float(reduction.modal(model, 1).frequencies[0])
    wanted = reduction.choose(model, band=(0, high), tolerance=0.2, contacts=["top"]).Psi.shape[1]
    (tmp_path / "model.toml").write_text(
        '[bodies.part]\nkind = "flexible"\nmesh = "part.msh"\nmaterial = "steel"\nsurfaces = { top = "z1" }\n'
        f'reduction = {{ method = "choose", band = {high}, tolerance = 0.2, contacts = ["top"] }}\n'
        "[simulation]\nduration = 1.0\nstep = 0.1\n"
    )
    assert load_model(tmp_path / "model.toml").system.build().bodies[0].modes == wanted
    reduce = ["reduce", "part.msh", "--material", "steel", "--surface", "top=z1", "--contact", "top", "-o", "part.h5"]
    sized = ["--band", str(high), "--tolerance", "0.2"]
    made = CliRunner().invoke(app, [*reduce, "--method", "choose", *sized])
    assert made.exit_code == 0, made.output
    assert load_body("part.h5").modes == wanted
    refused = CliRunner().invoke(app, [*reduce, "--method", "modal", *sized])
    assert "no option 'contacts'" in str(refused.exception) + refused.output


@pytest.mark.parametrize("square", [0.0, 0.3, 0.9])
def test_the_bound_of_unseen_loads_is_sharp_for_a_mode_at_the_limit(square):
    """One mode with the smallest eigenvalue that V may lack, seen by a pattern in V and another one outside."""
    limit, inside, outside = 2.5, 0.7, 1.3
    vv, vp, pp = (a * b / limit**2 for a, b in ((inside, inside), (inside, outside), (outside, outside)))
    none = np.zeros((0, 0))
    loads = ContactLoads(sp.csc_matrix((0, 0)), none, none, none, none, limit, (vv, vp, pp))
    omega2 = square * limit
    error = omega2 / (limit * (limit - omega2)) * (2 * inside * outside + outside**2)
    np.testing.assert_allclose(loads.unseen(np.array([omega2])), error, rtol=1e-13)
