"""The demo's slider-crank: works, energies and heat balance so well that the elastic energy is not noise."""

import numpy as np

import flexmb
from flexmb.demo import DURATION, STEP, build
from validation.row import Row

CASE = "demo-energy"


def run() -> list[Row]:
    """The demo as it is."""
    result = flexmb.simulate(build(), DURATION, step=STEP)
    ledger = result.ledger
    residual = np.abs(ledger.residual).max()
    ratio = residual / ledger.elastic.max()
    return [Row(CASE, "largest |residual| / largest strain energy", 0.0, "exact", ratio, ratio, 1e-3)]
