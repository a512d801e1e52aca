"""Two-link manipulator whose second link is one beam element: the recomputed values of the published case, with and without damping.

Data: Huang, Dynamics of Deformable Multibody Systems (1998), chapter 3. The references were recomputed with one Euler-Bernoulli element (six
elastic coordinates) and linear elastic kinematics, so this case runs with `geometric_stiffness="none"`; the energy rows also with it.
"""

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.results.result import Result
from flexmb.spatial.lie import rotation_exp
from validation.plot import Plot
from validation.row import Row
from validation.two_link import ALUMINIUM, LINK1, link_1

CASE = "two-link-beam"
LENGTH, OUTER, INNER = 1.02, 12.7e-3, 9.5e-3
TIP_MASS, DENSITY = 0.5, 2770.0
THETA = (1.5, -1.0)
INERTIA = (OUTER**4 - INNER**4) / 12
TUBE = fem.Section(OUTER**2 - INNER**2, INERTIA, INERTIA, 2 * INERTIA)


def build(geometric_stiffness: str = "none", damping: float = 0.0) -> flexmb.System:
    """The mechanism released at rest; y is vertical, the axis of joint 1."""
    part = fem.Model(line((0, 0, 0), (LENGTH, 0, 0), 1), fem.Beam(ALUMINIUM, TUBE, theory="euler-bernoulli"))
    part = part.with_interfaces(root="start", tip="end")
    basis = reduction.craig_bampton(part, modes=0, reference_frame="root")
    tube = flexmb.flexible_body(part, basis, name="link 2", rayleigh=(0.0, damping), geometric_stiffness=geometric_stiffness)  # fmt: skip
    first = rotation_exp(np.array([0.0, THETA[0], 0.0]))
    second = first @ rotation_exp(np.array([0.0, 0.0, THETA[1]]))
    end = first @ np.array([0.0, 0.0, -LINK1])
    system = flexmb.System(gravity=(0, -9.81, 0), name=CASE)
    inner = system.add(link_1(), orientation=first)
    outer = system.add(tube, position=end, orientation=second)
    load = flexmb.rigid_body("tip mass", mass=TIP_MASS, inertia=(1e-9, 1e-9, 1e-9))
    at_tip = system.add(load, position=end + second @ np.array([LENGTH, 0, 0]), orientation=second)
    system.revolute("joint 1", system.ground.at((0, 0, 0)), inner, axis=(0, 1, 0))
    system.revolute("joint 2", inner, outer["root"], axis=first @ np.array([0.0, 0.0, 1.0]))
    system.fixed("weld", outer["tip"], at_tip)
    return system


def angles(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles theta_1, theta_2 (nt,)."""
    inner, outer = result.frame("link 1")[1], result.frame("link 2")[1]
    relative = np.einsum("tji,tjk->tik", inner, outer)
    return (
        np.unwrap(np.arctan2(inner[:, 0, 2], inner[:, 0, 0])),
        np.unwrap(np.arctan2(relative[:, 1, 0], relative[:, 0, 0])),
    )


def run() -> list[Row | Plot]:
    """Five seconds: at a tight step without damping, with damping, and with the second-order field."""
    result = flexmb.simulate(build(), 5.0, step=4e-5)
    ledger = result.ledger
    theta_1, theta_2 = angles(result)
    out_of_plane = result.deflection("link 2.tip")[:, 2]
    hanging = (
        9.81 * LENGTH * (TIP_MASS + 0.5 * DENSITY * TUBE.area * LENGTH)
    )  # lowest potential energy, below the joint
    start = float(ledger.gravity[0] + hanging)
    rows: list[Row | Plot] = []
    for name, ours, reference, span in (
        ("energy at the start", start, 0.9523, 0.9523e-2),
        ("largest strain energy", ledger.elastic.max(), 0.049, 0.049),
        ("out-of-plane tip, lowest", out_of_plane.min(), -0.0115, 0.0299),
        ("out-of-plane tip, highest", out_of_plane.max(), 0.0184, 0.0299),
        ("theta 1, lowest", theta_1.min(), 0.637, 0.87),
        ("theta 1, highest", theta_1.max(), 1.507, 0.87),
        ("theta 2, lowest", theta_2.min(), -2.1415, 1.1415),
    ):
        rows.append(Row(CASE, name, reference, "recomputed", float(ours), abs(float(ours) - reference) / span, 1e-2))
    for name, run in (("", result), (", second order", flexmb.simulate(build("second-order"), 5.0, step=4e-5))):
        drift = float(np.abs(run.ledger.residual).max() / run.ledger.elastic.max())
        rows.append(Row(CASE, f"|E - E0| / largest strain energy{name}", 0.0, "exact", drift, drift, 1e-6))
    damped = flexmb.simulate(build(damping=3e-4), 5.0, step=1e-4).ledger
    gap = float(np.abs(damped.residual).max() / damped.modal_heat[-1])
    rows.append(Row(CASE, "damped: energy lost less heat / heat", 0.0, "exact", gap, gap, 1e-4))
    lines = {"theta 1": (result.t, theta_1), "theta 2": (result.t, theta_2)}
    return [*rows, Plot("Joint angles", "time (s)", "rad", lines)]
