"""Contract of every reduction, over a table of (method, interface kinds, frame, element kind)."""

import itertools
import re
from functools import cache

import dense
import jaxtyping
import numpy as np
import pytest

import fem
from fem.errors import InterfaceError
from fem.interface import Interface
from reduction import craig_bampton, modal
from reduction.basis import Basis, check

METHODS = {"Craig-Bampton": craig_bampton, "modal": modal}
SETUPS = {
    "rigid": ("rigid",),
    "average": ("average",),
    "rigid-rigid": ("rigid", "rigid"),
    "average-rigid": ("average", "rigid"),
    "average-average": ("average", "average"),
    "rigid-average-rigid": ("rigid", "average", "rigid"),
}
SIDES = {"big": "x0", "small": "x1", "middle": "z1"}
ELEMENTS = ["tetra10", "hexahedron", "wedge15", "pyramid"]
FRAMES = [None, "big"]


@cache
def part(setup="average-rigid", element="hexahedron", divisions=(4, 2, 1)):
    """A 4 x 1 x 0.5 block in steel; the top interface is one cell, away from the ends."""
    model = fem.Model(fem.structured_meshes.block(element, (4.0, 1.0, 0.5), divisions), fem.Material.steel())
    top = np.flatnonzero((model.points[:, 2] == 0.5) & (abs(model.points[:, 0] - 1.5) <= 0.5))
    interfaces = {
        name: Interface(
            top if name == "middle" else SIDES[name], kind, point=(4.5, 0.3, 0.1) if name == "small" else None
        )
        for name, kind in zip(SIDES, SETUPS[setup], strict=False)
    }
    return model.with_interfaces(**interfaces)


@cache
def reduced(method, setup, frame, element="hexahedron", modes=8):
    return METHODS[method](part(setup, element), modes, frame)


TABLE = [(*row, "hexahedron") for row in itertools.product(METHODS, SETUPS, FRAMES)]
TABLE += [
    (method, "average-rigid", frame, e) for method in METHODS for frame in FRAMES for e in ELEMENTS if e != "hexahedron"
]
table = pytest.mark.parametrize(("method", "setup", "frame", "element"), TABLE)


@table
def test_basis_keeps_its_promises(method, setup, frame, element):
    model, basis = part(setup, element), reduced(method, setup, frame, element)
    check(basis, model)
    static = 6 * (len(SETUPS[setup]) - 1) if method == "Craig-Bampton" else 0
    assert basis.n_modes == 8 + static
    assert (basis.method, basis.reference_frame) == (method, frame)
    gram = basis.Psi.T @ (model.M @ basis.Psi)
    np.testing.assert_allclose(gram, np.eye(basis.n_modes), atol=1e-9)
    energy = basis.Psi.T @ (model.K @ basis.Psi)
    scale = np.sqrt(np.outer(basis.eigenvalues, basis.eigenvalues))
    np.testing.assert_allclose(energy / scale, np.eye(basis.n_modes), atol=1e-9)
    for name, rows in basis.interface_modes.items():
        np.testing.assert_allclose(rows, dense.motion(model, name).T @ basis.Psi, atol=1e-10 * np.abs(basis.Psi).max())
    assert np.abs(dense.stiff_sets(model) @ basis.Psi).max(initial=0.0) < 1e-10 * np.abs(basis.Psi).max()


@table
def test_frame_is_the_one_asked_for(method, setup, frame, element):
    model, basis = part(setup, element), reduced(method, setup, frame, element)
    if frame is None:
        R = dense.rigid_columns(model.points, np.zeros(3))
        size = np.sqrt(np.einsum("ij,ij->j", R, model.M @ R))
        assert np.abs(R.T @ (model.M @ basis.Psi) / size[:, None]).max() < 1e-10
    else:
        motion = dense.motion(model, frame).T @ basis.Psi
        assert np.abs(motion).max() < 1e-11 * np.abs(basis.Psi).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("setup", SETUPS)
def test_frames_span_the_same_space_with_rigid_motion(method, setup):
    """Each shape of one frame is a combination of the other frame's shapes and a rigid motion."""
    model = part(setup)
    attached, mean = (reduced(method, setup, frame) for frame in ("big", None))
    assert attached.n_modes == mean.n_modes
    elastic = dense.without_rigid_motion(model, attached.Psi)
    left = elastic - mean.Psi @ (mean.Psi.T @ (model.M @ elastic))
    assert np.sqrt(np.abs(np.einsum("ij,ij->j", left, model.M @ left))).max() < 1e-8


def interface_loads(model):
    """A basis of all self-equilibrated wrenches on the interfaces, as nodal loads (ndof, 6 (ni - 1))."""
    B = dense.all_motions(model)
    balance = dense.rigid_columns(model.points, model.centre_of_mass).T @ B
    return B @ np.linalg.svd(balance)[2][6:].T


@pytest.mark.parametrize("frame", [None, "big", "small"])
@pytest.mark.parametrize(
    ("setup", "element"),
    [*((s, "hexahedron") for s in SETUPS if "-" in s), *(("average-rigid", e) for e in ELEMENTS[::2])],
)
def test_craig_bampton_is_statically_exact_at_the_interfaces(setup, element, frame):
    model = part(setup, element)
    basis = craig_bampton(model, 3, frame)
    F = interface_loads(model)
    assert F.shape[1] == 6 * (len(SETUPS[setup]) - 1)
    reduced_response = basis.Psi @ ((basis.Psi.T @ F) / basis.eigenvalues[:, None])
    full = dense.static_shapes(model, F, np.zeros((0, model.ndof)), np.zeros((0, F.shape[1])))
    difference = dense.without_rigid_motion(model, reduced_response - full)
    assert np.abs(difference).max() < 1e-9 * np.abs(dense.without_rigid_motion(model, full)).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("setup", SETUPS)
def test_free_frequencies_come_from_above_and_converge(method, setup):
    model = part(setup)
    exact = dense.eigenvalues(model)[6:]
    errors = []
    for modes in (6, 14, 30):
        found = METHODS[method](model, modes).eigenvalues
        above = found / exact[: len(found)] - 1.0
        assert above.min() > -1e-9
        errors.append(above[:6])
    if method == "modal":
        assert np.abs(errors).max() < 1e-9
    else:
        assert (errors[1] <= errors[0] + 1e-9).all()
        assert (errors[2] <= errors[1] + 1e-9).all()
        assert errors[2].max() < 0.2 * errors[0].max()


@pytest.mark.parametrize("setup", SETUPS)
def test_full_basis_is_the_full_model(setup):
    model = part(setup, "hexahedron", (4, 1, 1))
    free = dense.eigenvalues(model)[6:]
    rank = len(free) - 6 * (len(SETUPS[setup]) - 1)
    for basis in (craig_bampton(model, rank), modal(model, len(free))):
        np.testing.assert_allclose(basis.eigenvalues, free, rtol=1e-9)
        check(basis, model)
    held = dense.eigenvalues(model, ["big"])
    for basis in (craig_bampton(model, rank, "big"), modal(model, len(free), "big")):
        np.testing.assert_allclose(basis.eigenvalues, held, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_shapes_do_not_depend_on_where_the_part_lies(method):
    """Moving the part far from the origin changes nothing but round-off."""
    here = part("average-rigid")
    away = fem.Mesh(here.points + np.array([100.0, -50.0, 30.0]), here.mesh.cells, face_sets=here.mesh.face_sets)
    model = fem.Model(away, fem.Material.steel()).with_interfaces(
        big=Interface("x0", "average"), small=Interface("x1", "rigid", point=(104.5, -49.7, 30.1))
    )
    basis = METHODS[method](model, 8)
    np.testing.assert_allclose(basis.eigenvalues, reduced(method, "average-rigid", None).eigenvalues, rtol=1e-8)
    check(basis, model)


@pytest.mark.parametrize("method", METHODS)
def test_imported_matrices_give_the_same_basis(method):
    source = part("average-rigid")
    model = fem.Model.from_matrices(source.M, source.K, source.points).with_interfaces(
        **{name: Interface(i.nodes, i.kind, i.point, i.weights) for name, i in source.interfaces.items()}
    )
    basis = METHODS[method](model, 8, "big")
    np.testing.assert_allclose(basis.eigenvalues, reduced(method, "average-rigid", "big").eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_unknown_frame_is_answered_with_the_names(method):
    with pytest.raises(InterfaceError, match=re.escape("There is no interface named 'bg'. Did you mean 'big'?")):
        METHODS[method](part(), 4, "bg")


def test_basis_remembers_how_it_was_made_and_prints():
    basis = reduced("Craig-Bampton", "average-rigid", "big")
    assert basis.options["modes"] == 8
    assert basis.options["interfaces"] == {"big": "average", "small": "rigid"}
    assert set(basis.options["seconds"]) == {"factor", "reference response", "shapes"}
    plain = (str, int, float, list, dict)
    assert all(type(value) in plain for value in basis.options.values())
    text = str(basis)
    assert "Craig-Bampton basis" in text
    assert "14 elastic coordinates" in text
    assert "attached to 'big'" in text
    assert "'small' (rigid)" in text
    with pytest.raises(ValueError, match="read-only"):
        basis.Psi[0, 0] = 1.0


BROKEN = {
    "Psi^T M Psi": lambda b: {"Psi": 1.01 * b.Psi},
    "Psi^T K Psi": lambda b: {"eigenvalues": b.eigenvalues * 1.001},
    "rows of interface 'small'": lambda b: {
        "interface_modes": {**b.interface_modes, "small": b.interface_modes["small"] * 1.001}
    },
    "B^T Psi = 0 at 'small'": lambda b: {"reference_frame": "small"},
    "R^T M Psi": lambda b: {"reference_frame": None},
}


@pytest.mark.parametrize("what", BROKEN)
def test_check_names_the_broken_promise(what):
    basis = reduced("Craig-Bampton", "average-rigid", "big")
    fields = {
        k: getattr(basis, k) for k in ("Psi", "eigenvalues", "method", "reference_frame", "interface_modes", "options")
    }
    with pytest.raises(fem.MatrixError, match=re.escape(what) + ".*fails by"):
        check(Basis(**(fields | BROKEN[what](basis))), part("average-rigid"))


def test_check_sees_a_rigid_interface_that_deforms():
    model = part("rigid-rigid")
    soft = part("average-rigid")
    with pytest.raises(fem.MatrixError, match="nodes of rigid interface 'big' move as one"):
        check(_with_rows_of(craig_bampton(soft, 4), model), model)


def _with_rows_of(basis, model):
    rows = {name: i.interface_matrix(model).T @ basis.Psi for name, i in model.interfaces.items()}
    return Basis(basis.Psi, basis.eigenvalues, basis.method, None, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Psi": np.full((6, 2), np.nan)}, "NaN"),
        ({"eigenvalues": np.array([-1.0, 2.0])}, "rigid motion is left"),
        ({"eigenvalues": np.array([2.0, 1.0])}, "ascending"),
        ({"eigenvalues": np.array([1.0])}, "does not go with 1"),
        ({"interface_modes": {"a": np.ones((3, 2))}}, r"expected \(6, 2\)"),
    ],
)
def test_a_basis_refuses_contradictions(change, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users run it
    fields = {"Psi": np.ones((6, 2)), "eigenvalues": np.array([1.0, 2.0]), "interface_modes": {"a": np.ones((6, 2))}}
    with pytest.raises(fem.MatrixError, match=message):
        Basis(**{"method": "modal", "reference_frame": None, **fields, **change})
    with pytest.raises(InterfaceError, match="Did you mean 'a'"):
        Basis(**{"method": "modal", "reference_frame": "aa", **fields})
