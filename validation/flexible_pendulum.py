"""A flexible solid beam swings under gravity: its energy error falls with the square of the step and reaches 1e-8.

Gravity acts on the deformed mass centre, so no part of the error is independent of the step.
"""

import warnings

import numpy as np

import flexmb
import reduction
from fem import Material, Model
from fem.mesh.structured_meshes import block
from validation.plot import Plot
from validation.row import Row

CASE = "flexible-pendulum"


def build() -> flexmb.System:
    """A soft tetrahedral beam (1 m, rubber-like modulus) hinged at one end, released from the horizontal."""
    material = Material.isotropic(youngs_modulus=5e8, poissons_ratio=0.3, density=1000.0, name="soft plastic")
    part = Model(block("tetra10", (1.0, 0.05, 0.05), (16, 1, 1)), material).with_interfaces(hinge="x0", tip="x1")
    beam = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=6), name="beam")
    system = flexmb.System(gravity=(0, -9.81, 0), name=CASE)
    handle = system.add(beam)
    system.revolute("hinge", system.ground.at(handle["hinge"].point), handle["hinge"], axis=(0, 0, 1))
    return system


def run() -> list[Row | Plot]:
    """Energy error against the peak kinetic energy at three steps."""
    mechanism = build().build()

    def error(step: float) -> float:
        with warnings.catch_warnings():  # without numerical damping reactions ring; the energy does not
            warnings.simplefilter("ignore", flexmb.RingingReactionsWarning)
            ledger = flexmb.simulate(mechanism, 0.5, step=step, rho_inf=1.0).ledger
        return float(np.abs(ledger.residual).max() / ledger.kinetic.max())

    coarse, middle, fine = error(4e-5), error(2e-5), error(1e-5)
    order = float(np.log2(coarse / middle))
    return [
        Row(CASE, "order of the energy error", 2.0, "exact", order, abs(order - 2.0), 0.1),
        Row(CASE, "energy error / peak kinetic energy at a step of 1e-5", 0.0, "exact", fine, fine, 1e-8),
        Plot("Energy error over the step", "step (s)", "error / peak kinetic energy", {"ours": (np.array([4e-5, 2e-5, 1e-5]), np.array([coarse, middle, fine])), "reference: second order": (np.array([4e-5, 1e-5]), np.array([coarse, coarse / 16]))}, logarithmic="xy"),
    ]  # fmt: skip
