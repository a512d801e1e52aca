"""Requests that no reduction can meet are refused by name, and their nearest neighbours are accepted."""

import sys

import numpy as np
import pytest
from refusals import refused_beside

import fem
import reduction
from fem.errors import ConvergenceError, MatrixError
from fem.mesh.structured_meshes import block
from reduction.basis import check
from reduction.build import reduction_context, size_spec

STEEL = fem.Material.steel()
BAND = (0.0, 3000.0)


def bar(divisions, name, **interfaces):
    mesh = block("hexahedron", (1.0, 0.2, 0.1), (divisions, 1, 1))
    return fem.Model(mesh, STEEL, name).with_interfaces(**interfaces)


PART = bar(3, "part", a="x0", b="x1").with_surfaces(top="z1")
BARE = bar(3, "bare")
BASIS = reduction.craig_bampton(PART, 4)
FOREIGN = reduction.craig_bampton(bar(2, "other", a="x0", b="x1"), 4)
PULL = np.eye(BARE.ndof)[0]
ALIEN = "The basis has 36 dofs, the model 'part' has 48."


def response(**given):
    return reduction.frequency_response(PART, **given)


def balanced(model=PART, **given):
    return reduction.balanced_truncation(model, 2, **{"band": BAND, **given})


def rod(points):
    """Three nodes, whose matrices resist nothing but the extension along x."""
    K = np.zeros((9, 9))
    for k in (0, 3):
        K[np.ix_([k, k + 3], [k, k + 3])] += [[1, -1], [-1, 1]]
    return fem.Model.from_matrices(np.eye(9), K, np.array(points, dtype=float), "rod")


def context(band):
    return reduction_context(PART, size_spec(2, band, None, least=0), None, None)


REFUSED = {
    "the check of a foreign basis": (lambda: check(FOREIGN, PART), ALIEN, lambda: check(BASIS, PART)),
    "the error of a foreign basis": (
        lambda: reduction.response_error(PART, FOREIGN, BAND),
        ALIEN,
        lambda: reduction.response_error(PART, BASIS, BAND),
    ),
    "the response of a foreign basis": (
        lambda: response(frequencies=[1.0], basis=FOREIGN),
        ALIEN,
        lambda: response(frequencies=[1.0], basis=BASIS),
    ),
    "the system of a foreign basis": (
        lambda: reduction.linear_system(PART, FOREIGN),
        ALIEN,
        lambda: reduction.linear_system(PART, BASIS),
    ),
    "the compliance of a foreign basis": (
        lambda: reduction.residual_compliance(PART, FOREIGN),
        ALIEN,
        lambda: reduction.residual_compliance(PART, BASIS),
    ),
    "a band of a basis": (
        lambda: response(band=BAND, basis=BASIS),
        "A band is for the full model; give the basis the frequencies of that response.",
        lambda: response(band=BAND),
    ),
    "a frequency below zero": (
        lambda: response(frequencies=[0.0, -1.0]),
        "Frequencies must be finite and not negative; found [0.0, -1.0].",
        lambda: response(frequencies=[0.0, 1.0]),
    ),
    "no frequency": (
        lambda: response(frequencies=[]),
        "Frequencies must be finite and not negative; found [].",
        lambda: response(frequencies=[1.0]),
    ),
    "a table of frequencies": (
        lambda: response(frequencies=[[1.0]], basis=BASIS),
        "Frequencies must be finite and not negative; found [[1.0]].",
        lambda: response(frequencies=(1.0,), basis=BASIS),
    ),
    "a frequency without end": (
        lambda: response(frequencies=[np.inf], basis=BASIS),
        "Frequencies must be finite and not negative; found [inf].",
        lambda: response(frequencies=[1e6], basis=BASIS),
    ),
    "a loss below zero": (
        lambda: response(frequencies=[1.0], basis=BASIS, loss_factor=-0.02),
        "The loss factor of a response must be finite and not negative; found -0.02.",
        lambda: response(frequencies=[1.0], basis=BASIS, loss_factor=0.0),
    ),
    "a loss without value": (
        lambda: response(frequencies=[1.0], loss_factor=np.nan),
        "The loss factor of a response must be finite and not negative; found nan.",
        lambda: response(frequencies=[1.0], loss_factor=1.5),
    ),
    "no loss over a band": (
        lambda: response(band=BAND, loss_factor=0.0),
        "The loss factor of the comparison must lie between 0 and 1; found 0.0.",
        lambda: response(band=BAND, loss_factor=0.01),
    ),
    "all lost over a band": (
        lambda: response(band=BAND, loss_factor=1.0),
        "The loss factor of the comparison must lie between 0 and 1; found 1.0.",
        lambda: response(band=BAND, loss_factor=0.99),
    ),
    "a tolerance of zero": (
        lambda: response(band=BAND, tolerance=0.0),
        "The tolerance of the reference response must lie between 0 and 1; found 0.0.",
        lambda: response(band=BAND, tolerance=1e-12),
    ),
    "a tolerance of one": (
        lambda: response(band=BAND, tolerance=1.0),
        "The tolerance of the reference response must lie between 0 and 1; found 1.0.",
        lambda: response(band=BAND, tolerance=0.9),
    ),
    "a tolerance without value": (
        lambda: reduction.response_error(PART, BASIS, BAND, tolerance=np.nan),
        "The tolerance of the reference response must lie between 0 and 1; found nan.",
        lambda: reduction.response_error(PART, BASIS, BAND, tolerance=1e-6),
    ),
    "a choice of nothing": (
        lambda: reduction.choose(PART, band=BAND, methods=[]),
        "No method to choose from; existing: Craig-Chang, ",
        lambda: reduction.choose(PART, band=BAND, methods=["modal"]),
    ),
    "a choice without a band": (
        lambda: reduction.choose(PART, band=None),
        "A choice by error needs a band=(0, f).",
        lambda: reduction.choose(PART, band=BAND, methods=["Krylov"]),
    ),
    "a reference without a band": (
        lambda: context(None).required_reference,
        "Model 'part': this needs a band=(0, f) and something that drives the part.",
        lambda: context(BAND).required_reference,
    ),
    "balance without a band": (
        lambda: balanced(band=None),
        "Balanced truncation needs a band=(0, f): its shifts and its error are placed in it.",
        balanced,
    ),
    "balance without inputs": (
        lambda: balanced(BARE),
        "Model 'bare' has no interface and no inputs to balance; add some, or use modal().",
        balanced,
    ),
    "balance of overdamped modes": (
        lambda: balanced(damping=(0.0, 1e3)),
        "Every mode of the model is overdamped; lower the damping.",
        lambda: balanced(damping=(0.0, 1e-6)),
    ),
    "balance with a damping below zero": (
        lambda: balanced(damping=(-1.0, 1e-6)),
        "needs two numbers, none of them negative and one of them above zero; found (-1.0, 1e-06).",
        lambda: balanced(damping=(10.0, 0.0)),
    ),
    "balance without damping": (
        lambda: balanced(damping=(0.0, 0.0)),
        "needs two numbers, none of them negative and one of them above zero; found (0.0, 0.0).",
        balanced,
    ),
    "balance with a damping without value": (
        lambda: balanced(damping=(1.0, np.nan)),
        "needs two numbers, none of them negative and one of them above zero; found (1.0, nan).",
        balanced,
    ),
    "balance with one damping": (
        lambda: balanced(damping=(1.0,)),
        "needs two numbers, none of them negative and one of them above zero; found (1.0,).",
        balanced,
    ),
    "a Gramian without a band": (
        lambda: reduction.gramian(PART, 2, band=None),
        "A Gramian needs the band=(0, f) it is taken over.",
        lambda: reduction.gramian(PART, 2, band=BAND),
    ),
    "a Gramian without inputs": (
        lambda: reduction.gramian(BARE, 2, band=BAND),
        "Model 'bare' has no interface and no inputs, and Gramian shapes are responses to inputs; add some",
        lambda: reduction.gramian(BARE, 2, band=BAND, inputs=[PULL]),
    ),
    "IRKA without a band": (
        lambda: reduction.irka(PART, 2, band=None),
        "IRKA needs a band=(0, f): it works on the reference response over it.",
        lambda: reduction.irka(PART, 2, band=BAND),
    ),
    "nodes on a line": (
        lambda: reduction.modal(rod([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), 2),
        "Model 'rod': its nodes lie on one line; a solid body's do not.",
        lambda: reduction.modal(PART, 2),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_its_neighbour_is_not(case, monkeypatch):
    refused, words, accepted = REFUSED[case]
    refused_beside(MatrixError, words, refused, accepted, monkeypatch)


def test_a_response_finer_than_round_off_is_refused():
    with pytest.raises(
        ConvergenceError, match=r"'part': the response over \(0, 3000\) is known to .* only, 1e-100 was"
    ):
        response(band=BAND, tolerance=1e-100)


def test_loads_that_no_number_of_patterns_covers_are_refused():
    with pytest.raises(ConvergenceError, match=r"patterns of loads at the surfaces top leave a part of .*; 5e-16 was"):
        reduction.response_error(PART, BASIS, BAND, tolerance=1e-15, contacts=["top"])
    reduction.response_error(PART, BASIS, BAND, contacts=["top"])


def test_a_basis_of_another_format_is_refused(tmp_path):
    path = BASIS.save(tmp_path / "basis.npz")
    assert reduction.Basis.load(path, PART).n_modes == BASIS.n_modes
    with np.load(path) as found:
        content = dict(found)
    np.savez(path, **content | {"format": content["format"] + 1})
    with pytest.raises(MatrixError) as caught:
        reduction.Basis.load(path, PART)
    now = int(content["format"])
    assert str(caught.value) == f"{path}: expected a basis of format {now}; found {now + 1}."


def test_a_system_without_pymor_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymor.models.iosys", None)
    with pytest.raises(MatrixError, match="to_pymor needs pyMOR, which is not installed: pip install pymor"):
        reduction.linear_system(PART, BASIS).to_pymor()


def test_balance_that_does_not_settle_is_refused():
    with pytest.raises(ConvergenceError) as caught:
        balanced(BARE, inputs=[PULL])
    assert "Model 'bare': the Gramian still grows by " in str(caught.value)
    assert " in 3 shifts after 120 of them. Raise the damping or the band." in str(caught.value)
