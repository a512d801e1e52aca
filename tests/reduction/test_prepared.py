"""A part is factorised once for all that is done with it: `reduction.prepared`, and the verb `flexmb reduce`."""

import gc
import weakref

import numpy as np
import pytest
from typer.testing import CliRunner

import fem
import meshes
import reduction
from fem.linear_algebra.factor import Factor
from flexmb.cli.main import app

BAND = (0.0, 4000.0)


@pytest.fixture
def part():
    mesh = fem.read_mesh(meshes.path("conrod.msh"))
    return fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")


@pytest.fixture
def factors(monkeypatch):
    """The factorisations made so far, a weak reference to each."""
    made, plain = [], fem.linear_algebra.factor._made

    def counted(*given):
        done = plain(*given)
        made.append(weakref.ref(done))
        return done

    monkeypatch.setattr("fem.linear_algebra.factor._made", counted)
    return made


def all_of(model):
    """A reduction and three results that need the same factor."""
    basis = reduction.reduce(model, "choose", band=BAND, tolerance=0.05)
    error = reduction.response_error(model, basis, BAND)
    response = reduction.frequency_response(model, band=BAND)
    return basis, error, response, reduction.second_order(model, basis)


def test_a_prepared_part_is_factorised_once(factors):
    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.03, 0.02), (24, 3, 2))
    part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="x0", small="x1")
    with reduction.prepared(part) as same:
        assert same is part
        assert factors == []  # made by the first function that needs it
        basis, error, response, second = all_of(part)
        # Krylov shapes are solved for at shifts of their own; none were chosen here
        assert basis.method != "Krylov"
        assert len(factors) == 1
        reduction.compare_modes(part, basis)
        assert len(factors) == 1
        assert factors[0]() is not None
    gc.collect()
    assert factors[0]() is None, "the end of the block must give the factor back"
    del factors[:]
    plain_basis, plain_error, plain_response, plain_second = all_of(part)
    assert len(factors) == 3  # outside of the block the first call after a reduction uses its factor; others make one
    assert (plain_basis.method, plain_basis.n_modes) == (basis.method, basis.n_modes)
    assert np.allclose(plain_basis.eigenvalues, basis.eigenvalues, rtol=1e-9)
    assert plain_error.worst == pytest.approx(error.worst, rel=1e-6)
    assert np.allclose(plain_response.magnitude, response.magnitude, rtol=1e-9)
    scale = np.abs(plain_second.first).max()
    assert np.abs(np.abs(plain_second.first) - np.abs(second.first)).max() < 1e-6 * scale


def test_another_model_of_the_part_has_its_own_factor(part, factors):
    """Other interfaces or another solver: a different matrix, or a different way to factorise it."""
    with reduction.prepared(part):
        reduction.guyan(part)
        reduction.modal(part.with_interfaces(), 3)
        reduction.guyan(part.with_solver(backend="superlu"))
        assert len(factors) == 3
        with reduction.prepared(part):  # within the outer block, whose factor it shares
            reduction.guyan(part)
        reduction.guyan(part)
        assert len(factors) == 3


def test_an_error_gives_the_factor_back(part, factors):
    def interrupted():
        with reduction.prepared(part):
            reduction.guyan(part)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        interrupted()
    gc.collect()
    assert factors[0]() is None
    reduction.guyan(part)
    assert len(factors) == 2


def test_count_modes_adds_the_factor_of_its_shift_only(part, factors):
    with reduction.prepared(part):
        reduction.guyan(part)
        reduction.count_modes(part, BAND[1])
        assert len(factors) == 2


def test_the_verb_factorises_once(tmp_path, factors):
    words = ["reduce", str(meshes.path("conrod.msh")), "--material", "steel", "--interface", "big=BIG_END"]
    words += ["--interface", "small=SMALL_END", "--modes", "4", "--band", "4000", "-o", str(tmp_path / "rod.h5")]
    done = CliRunner().invoke(app, [*words, "--plot", str(tmp_path / "error.png")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "error.png").exists()
    assert len(factors) == 1
    gc.collect()
    assert factors[0]() is None


def test_the_factor_of_a_block_is_not_released_by_a_call(part):
    """A call's own release would leave the next call a released factor."""
    with reduction.prepared(part):
        reduction.guyan(part)
        body = reduction.solutions.statics.statics(part)
        body.release()
        assert isinstance(body.inverse, Factor)
        assert np.isfinite(body.inverse.solve(np.ones(len(body.interior)))).all()
    with pytest.raises(fem.errors.FactorisationError, match="released"):
        body.inverse.solve(np.ones(len(body.interior)))
