"""What holds for every smooth force element: the order of its energy balance, and its derivatives."""

import numpy as np
import pytest
from smooth_elements import DIFFERENTIABLE, SMOOTH

import flexmb
from flexmb.study import adjoint_gradient, direct_gradient

DURATION, STEP = 0.1, 1e-3
ROUNDING = 1e-12
"""Residual of the energy relative to the energy that is exchanged, that rounding causes."""


@pytest.mark.long
@pytest.mark.parametrize("name", SMOOTH)
def test_the_residual_of_the_energy_falls_with_the_square_of_the_step(name):
    residuals = []
    for step in (STEP / 2, STEP / 4):
        result = flexmb.simulate(SMOOTH[name](1.0), DURATION, step=step, output_step=0.01, newton_tolerance=1e-12)
        residuals.append(np.abs(result.ledger.residual).max() / result.ledger.exchange)
    assert result.ledger.exchange > 1e-4
    assert residuals[1] <= max(0.28 * residuals[0], ROUNDING), residuals


def last_place(result):
    """A number on which every coordinate of every body has an effect, over time."""
    return result.q @ np.cos(np.arange(result.q.shape[1]))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.errors.SensitivityWarning")  # the derivatives are those of these steps
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_agree_with_differences(name):
    """Those of the adjoint and of the direct method."""

    def model(p):
        return DIFFERENTIABLE[name](p)

    def last(result):
        return {"place": float(last_place(result)[-1])}

    options = {"step": STEP, "newton_tolerance": 1e-12}
    adjoint = adjoint_gradient(model, {"p": 1.0}, DURATION, last_place, over="final", **options).of("result")
    direct = direct_gradient(model, {"p": 1.0}, DURATION, measure=last, **options).of("place")
    at = {h: last(flexmb.simulate(model(1.0 + h), DURATION, **options))["place"] for h in (-2e-3, -1e-3, 1e-3, 2e-3)}
    expected = (8.0 * (at[1e-3] - at[-1e-3]) - (at[2e-3] - at[-2e-3])) / 12e-3
    assert abs(expected) > 1e-5
    assert adjoint == pytest.approx(expected, rel=1e-6, abs=1e-10)
    assert direct == pytest.approx(expected, rel=1e-6, abs=1e-10)
