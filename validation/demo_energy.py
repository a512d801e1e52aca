"""The demo's slider-crank: work of the driver, energies and heat balance, and the elastic energy is not noise."""

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
    return [
        Row(
            CASE,
            "largest |residual| / largest strain energy",
            0.0,
            "exact",
            residual / ledger.elastic.max(),
            residual / ledger.elastic.max(),
            1e-3,
        ),
        Row(
            CASE,
            "largest |residual| / largest kinetic energy",
            0.0,
            "exact",
            residual / ledger.kinetic.max(),
            residual / ledger.kinetic.max(),
            1e-6,
        ),
    ]
