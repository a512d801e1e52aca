"""A free rigid body turned about its middle axis (Dzhanibekov): momenta and energy stay; and a double pendulum's energy.

The generalised-alpha method keeps them to second order in the step, so the order is what is checked, together
with their size at the step used.
"""

import numpy as np

import flexmb
from flexmb.bodies.dynamics import momenta
from flexmb.mechanism.mechanism import body_frame
from validation.plot import Plot
from validation.row import Row

CASE = "free-rigid-body"


def _angular_momentum(result: flexmb.Result, index: int) -> np.ndarray:
    state = result.state(index)
    r, R = body_frame(result.mechanism, state, 0)
    linear, angular, _ = momenta(result.mechanism.bodies[0], state.q[7:], state.w)
    return R @ angular + np.cross(r, R @ linear)


def run() -> list[Row | Plot]:
    """Errors over five turns-over at two steps."""
    system = flexmb.System(name=CASE)
    system.add(flexmb.rigid_body("wing nut", mass=1.0, inertia=(1.0, 2.0, 2.5)), angular_velocity=(1e-2, 5.0, 1e-2))

    def errors(step: float) -> tuple[float, float]:
        result = flexmb.simulate(system, 10.0, step=step, rho_inf=1.0)
        start = _angular_momentum(result, 0)
        change = max(np.linalg.norm(_angular_momentum(result, k) - start) for k in range(len(result.t)))
        return float(change / np.linalg.norm(start)), float(
            np.abs(result.ledger.residual).max() / result.ledger.kinetic[0]
        )

    (m1, e1), (m2, e2) = errors(2e-4), errors(1e-4)
    kept = flexmb.simulate(system, 10.0, step=1e-2, method="energy-momentum", output_step=2e-2)
    start = _angular_momentum(kept, 0)
    lost = max(float(np.linalg.norm(_angular_momentum(kept, k) - start)) for k in range(len(kept.t))) / float(np.linalg.norm(start))  # fmt: skip
    gained = float(np.abs(kept.ledger.residual).max() / kept.ledger.kinetic[0])
    pendulum = flexmb.System(gravity=(0, -9.81, 0), name="double pendulum")
    first = pendulum.add(flexmb.uniform_rod("first", mass=1.0, length=1.0))
    second = pendulum.add(flexmb.uniform_rod("second", mass=1.0, length=1.0), position=(1, 0, 0))
    pendulum.revolute("hinge", pendulum.ground.at((0, 0, 0)), first, axis=(0, 0, 1))
    pendulum.revolute("elbow", first["end"], second, axis=(0, 0, 1))
    ledger = flexmb.simulate(pendulum, 5.0, step=5e-5, rho_inf=0.95).ledger
    drift = float(np.abs(ledger.residual).max() / ledger.kinetic.max())
    return [
        Row(
            CASE, "order of the angular momentum error", 2.0, "exact", np.log2(m1 / m2), abs(np.log2(m1 / m2) - 2), 0.1
        ),
        Row(CASE, "angular momentum error at a step of 1e-4", 0.0, "exact", m2, m2, 1e-6),
        Row(CASE, "order of the energy error", 2.0, "exact", np.log2(e1 / e2), abs(np.log2(e1 / e2) - 2), 0.1),
        Row(CASE, "energy error at a step of 1e-4", 0.0, "exact", e2, e2, 1e-6),
        Row(CASE, "double pendulum: energy error / peak kinetic energy", 0.0, "exact", drift, drift, 1e-6),
        Row(CASE, "energy-momentum scheme, step 0.01: angular momentum error", 0.0, "exact", lost, lost, 1e-12),
        Row(CASE, "energy-momentum scheme, step 0.01: energy error", 0.0, "exact", gained, gained, 1e-12),
        Plot("Angular velocity in body axes: the nut turns over", "time (s)", "rad/s", {axis: (kept.t, kept.w[:, 3 + k]) for k, axis in enumerate("xyz")}),
    ]  # fmt: skip
