"""The demo's slider-crank: works, energies and heat balance so well that the elastic energy is not noise."""

import numpy as np

import flexmb
from flexmb.demo import DURATION, STEP, build
from validation.plot import Plot
from validation.row import Row

CASE = "demo-energy"


def run() -> list[Row | Plot]:
    """The demo as it is."""
    result = flexmb.simulate(build(), DURATION, step=STEP)
    ledger = result.ledger
    residual = np.abs(ledger.residual).max()
    ratio = residual / ledger.elastic.max()
    lines = {
        "kinetic": (ledger.t[1:], ledger.kinetic[1:]),
        "elastic": (ledger.t[1:], ledger.elastic[1:]),
        "|residual|": (ledger.t[1:], np.abs(ledger.residual)[1:]),
    }
    return [
        Row(CASE, "largest |residual| / largest strain energy", 0.0, "exact", ratio, ratio, 1e-3),
        Plot("Energies", "time (s)", "energy (J)", lines, logarithmic="y"),
    ]  # fmt: skip
