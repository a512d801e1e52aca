"""What every reduction promises, whichever is registered: static responses, positive definite matrices, tolerances, options."""

from functools import cache
from pathlib import Path

import dense
import numpy as np
import pytest
from test_reduction import interface_loads
from test_reduction import part as without_surfaces

import fem
import reduction
from fem.errors import MatrixError
from fem.mesh import structured_meshes
from reduction import METHODS
from reduction.method import register_reduction

SIZE, TOLERANCE = 7, 0.05


@cache
def part():
    """With a surface, which a basis for contact needs."""
    return without_surfaces().with_surfaces(side="y0")


@cache
def band():
    """To above the fifth natural frequency of the part."""
    return (0.0, 1.1 * reduction.modal(part(), 5).frequencies[-1])


@cache
def basis(name):
    """With so many shapes beyond the static ones where the method is asked for a number."""
    record = METHODS[name]
    given = {"band": band()} if "band" in record.needs else {}
    return record(part(), **given | ({"modes": SIZE} if "modes" in record.options else {}))


@pytest.mark.parametrize("name", METHODS)
def test_reduced_matrices_are_positive_definite_and_diagonal(name):
    model, made = part(), basis(name)
    assert (made.eigenvalues > 0).all()
    np.testing.assert_allclose(made.Psi.T @ (model.M @ made.Psi), np.eye(made.n_modes), atol=1e-9)
    stiffness = made.Psi.T @ (model.K @ made.Psi) / np.sqrt(np.outer(made.eigenvalues, made.eigenvalues))
    np.testing.assert_allclose(stiffness, np.eye(made.n_modes), atol=1e-8)
    exact = reduction.modal(model, min(3, made.n_modes)).eigenvalues
    assert (made.eigenvalues[: len(exact)] > exact * (1 - 1e-9)).all()  # a Ritz basis is not softer than the part


@cache
def column(unit):
    """A square column, whose bending modes are double, in units of length of 1 / `unit` metres."""
    material = fem.Material.isotropic(2e11 / unit, 0.3, 7800.0 / unit**3)
    model = fem.Model(structured_meshes.block("hexahedron", (0.1 * unit, 0.1 * unit, 0.4 * unit), (2, 2, 6)), material)
    return model.with_interfaces(root="z0", tip="z1").with_surfaces(side="x1", top="z1")


@pytest.mark.parametrize("name", METHODS)
def test_the_unit_of_length_changes_nothing(name):
    """Rounding is another in other units, and must not choose among shapes of equal rank."""
    record = METHODS[name]
    given = {"band": (0.0, 5000.0)} if "band" in record.needs else {}
    given |= {"modes": 8} if "modes" in record.options else {}
    metres, millimetres = (record(column(unit), **given).frequencies for unit in (1.0, 1000.0))
    np.testing.assert_allclose(millimetres, metres, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if m.exact_for != "nothing"])
def test_static_responses_are_exact_where_promised(name):
    """To loads at the interfaces that balance, and to any of them, inertia relief included, for all methods that promise more."""
    model, made = part(), basis(name)
    balanced = METHODS[name].exact_for == "balanced loads at interfaces"
    loads = interface_loads(model) if balanced else dense.all_motions(model)
    if not balanced:
        R = dense.rigid_columns(model.points, model.centre_of_mass)
        loads = loads - model.M @ R @ np.linalg.solve(R.T @ (model.M @ R), R.T @ loads)
    response = made.Psi @ ((made.Psi.T @ loads) / made.eigenvalues[:, None])
    full = dense.static_shapes(model, loads, np.zeros((0, model.ndof)), np.zeros((0, loads.shape[1])))
    full = dense.without_rigid_motion(model, full)
    assert np.abs(dense.without_rigid_motion(model, response) - full).max() < 1e-8 * np.abs(full).max()


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if "tolerance" in m.options])
def test_tolerances_are_met(name):
    made = METHODS[name](part(), band=band(), tolerance=TOLERANCE)
    assert made.options["error"] <= TOLERANCE
    assert reduction.response_error(part(), made, band()).worst <= TOLERANCE


@pytest.mark.parametrize("name", METHODS)
def test_options_that_a_method_does_not_have_are_refused_by_name(name):
    options = ", ".join(METHODS[name].options)
    with pytest.raises(
        MatrixError, match=rf"Reduction by '{name}' has no option 'speed'; its options are {options}\.$"
    ):
        reduction.reduce(part(), name, speed=3)
    for option in METHODS[name].needs:
        given = {"band": (0.0, 1.0), "modes": 3}
        with pytest.raises(MatrixError, match=f"Reduction by '{name}' needs .*{option}"):
            reduction.reduce(
                part(), name, **{k: v for k, v in given.items() if k in METHODS[name].needs and k != option}
            )


def test_an_option_of_another_method_says_whose_it_is():
    with pytest.raises(
        MatrixError, match=r"'choose' has no option 'modes'.*belongs to balanced-truncation, contact, craig-"
    ):
        reduction.reduce(part(), "choose", 5, band=(0, 1))
    with pytest.raises(MatrixError, match=r"'irka' has no option 'tolerance'"):
        reduction.reduce(part(), "irka", 5, band=(0, 1), tolerance=0.1)


def test_names_that_are_taken_and_functions_without_the_common_options_are_refused():
    told = {"coordinates": "none", "exact_for": "nothing", "cost": "none"}
    with pytest.raises(MatrixError, match=r"There is a reduction 'modal' already: .*\.modal"):
        register_reduction("modal", **told)(lambda model, reference_frame, inputs: None)
    with pytest.raises(MatrixError, match="'odd' lacks the option 'reference_frame'"):
        register_reduction("odd", **told)(lambda model: None)


def row(record):
    """What the table of the manual says of a method."""
    exact = record.exact_for + (", unless `static=False`" if "static" in record.options else "")
    common = {"reference_frame", "inputs", *record.needs}
    takes = ", ".join(f"`{o}`" for o in record.options if o not in common)
    needs = ", ".join(f"`{o}`" for o in record.needs)
    return f"| `{record.name}` | {record.coordinates} | {exact} | {needs} | {takes} | {record.cost} |"


def test_the_table_of_the_manual_lists_every_method():
    page = (Path(__file__).parents[2] / "docs" / "reduction.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row(record).replace("|  |", "| |").replace("|  |", "| |") for record in METHODS.values()] == table


def test_methods_that_need_inputs_are_those_that_refuse_a_part_without_any():
    part = fem.Model(structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1)), fem.Material.steel())
    known = {name: method for name, method in METHODS.items() if method.make.__module__.startswith("reduction.")}
    refusing = set()
    for name, method in known.items():
        given = {key: value for key, value in {"modes": 2, "band": (0.0, 3000.0)}.items() if key in method.needs}
        try:
            reduction.reduce(part, name, **given)
        except (fem.InterfaceError, MatrixError) as error:
            if "interface" in str(error):
                refusing.add(name)
    assert refusing == {name for name, method in known.items() if method.needs_inputs}
