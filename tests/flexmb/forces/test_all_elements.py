"""What holds for every smooth force element: the order of its energy balance, and its derivatives."""

import numpy as np
import pytest
from smooth_elements import SMOOTH

import flexmb
from flexmb.study import adjoint_gradient

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


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.errors.SensitivityWarning")  # the derivatives are those of these steps
@pytest.mark.parametrize("name", SMOOTH)
def test_the_adjoint_agrees_with_differences(name):
    def last(result):
        return 3.0 * result.q[:, 0] + 2.0 * result.q[:, 1] + result.q[:, 2] + result.q[:, 4] + result.q[:, 6]

    def model(p):
        return SMOOTH[name](p)

    options = {"step": STEP, "newton_tolerance": 1e-12}
    found = adjoint_gradient(model, {"p": 1.0}, DURATION, last, over="final", **options).of("result")
    at = {h: last(flexmb.simulate(model(1.0 + h), DURATION, **options))[-1] for h in (-2e-3, -1e-3, 1e-3, 2e-3)}
    expected = (8.0 * (at[1e-3] - at[-1e-3]) - (at[2e-3] - at[-2e-3])) / 12e-3
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-10)
