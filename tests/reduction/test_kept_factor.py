"""The factor that a reduction leaves for the body made next of the same part."""

import gc

import numpy as np
import pytest

import fem
import flexmb
import reduction
from reduction.solutions import kept, statics


def part() -> fem.Model:
    mesh = fem.structured_meshes.block("tetra10", (1.0, 0.2, 0.1), (4, 1, 1))
    return fem.Model(mesh, fem.Material.steel()).with_interfaces(a="x0", b="x1")


@pytest.fixture
def made(monkeypatch):
    """The models whose static factors are made."""
    kept.drop()
    models = []

    def counted(model, interior):
        models.append(model)
        return original(model, interior)

    original = statics._factor
    monkeypatch.setattr(statics, "_factor", counted)
    yield models
    kept.drop()


def test_a_body_uses_the_factor_of_its_reduction_and_releases_it(made):
    model = part()
    basis = reduction.craig_bampton(model, 3)
    first = flexmb.flexible_body(model, basis)
    assert made == [model]
    assert not kept._kept
    again = flexmb.flexible_body(model, basis)
    assert made == [model, model]
    assert (first.invariants.SG == again.invariants.SG).all()


def test_the_reduction_of_another_part_releases_it(made):
    one, other = part(), part()
    reduction.craig_bampton(one, 2)
    factor = kept._kept[0].factor
    reduction.craig_bampton(other, 2)
    with pytest.raises(fem.FactorisationError, match="released"):
        factor.solve(np.zeros(1))
    assert [k.model() for k in kept._kept] == [other]


def test_it_is_released_with_its_model(made):
    model = part()
    reduction.craig_bampton(model, 2)
    assert kept._kept
    made.clear()
    del model
    gc.collect()
    assert not kept._kept


def test_a_factor_that_takes_much_memory_is_not_kept(made, monkeypatch):
    monkeypatch.setattr(kept, "SHARE", 0.0)
    reduction.craig_bampton(part(), 2)
    assert not kept._kept


def test_a_prepared_part_keeps_its_own(made):
    model = part()
    with reduction.prepared(model):
        basis = reduction.craig_bampton(model, 2)
        assert not kept._kept
        flexmb.flexible_body(model, basis)
    assert made == [model]
