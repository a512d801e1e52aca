"""The factor that a reduction leaves for the body made next of the same part."""

import gc
import pickle

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.bodies.subspace import in_subspace
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


def test_a_body_and_its_pictures_use_the_factor_of_its_reduction_and_release_it(made):
    model = part()
    basis = reduction.craig_bampton(model, 3)
    first = flexmb.flexible_body(model, basis)
    shapes = first.quadratic.shapes
    assert made == [model]
    assert not kept._kept
    again = flexmb.flexible_body(model, basis)
    assert made == [model, model]
    assert (first.invariants.SG == again.invariants.SG).all()
    assert (again.quadratic.shapes == shapes).all()


def test_the_second_order_shapes_are_computed_when_something_is_drawn(made, tmp_path):
    model = part()
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 3))
    kept.drop()
    made.clear()
    system = flexmb.System()
    arm = system.add(body, name="arm")
    system.revolute("hinge", system.ground.at((0, 0.1, 0.05)), arm["a"], axis=(0, 0, 1))
    result = flexmb.simulate(system, 1e-3, step=1e-4)
    assert made == []
    file = flexmb.files.save_result(result, tmp_path / "result.h5")
    assert made == [model]
    again = flexmb.files.load_result(file).mechanism.bodies[0]
    eta = 1e-3 * np.arange(1.0, body.modes + 1)
    moved = pickle.loads(pickle.dumps(body)).displacements(eta)
    assert (moved == body.displacements(eta)).all()
    assert (moved == again.displacements(eta)).all()
    assert made == [model]
    few = in_subspace(body, np.eye(body.modes)[:, :2]).displacements(eta[:2])
    expected = body.displacements(np.where(np.arange(body.modes) < 2, eta, 0.0))
    np.testing.assert_allclose(few, expected, atol=1e-6 * np.abs(expected).max())


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
    model = part()
    monkeypatch.setattr(kept, "LONG", 0.0)
    flexmb.flexible_body(model, reduction.craig_bampton(model, 2))
    assert made == [model]
    assert not kept._kept
    monkeypatch.setattr(kept, "BRIEFLY", 0.0)
    reduction.craig_bampton(model, 2)
    assert not kept._kept


def test_a_prepared_part_keeps_its_own(made):
    model = part()
    with reduction.prepared(model):
        basis = reduction.craig_bampton(model, 2)
        assert not kept._kept
        flexmb.flexible_body(model, basis)
    assert made == [model]
