"""Conservative two-link mechanism: a rigid link that turns about the vertical, a flexible solid tube hinged to it.

Layout and data: Huang, Dynamics of Deformable Multibody Systems (1998), chapter 3: link 1 rigid, link 2 an aluminium
square tube with a tip mass, released at (1.5, -1.0) rad. Here link 2 is a solid mesh (hex20). No damping: the energy is
known to stay, and its error must vanish beside the largest strain energy, or the elastic motion would be noise.
"""

import numpy as np

import flexmb
import reduction
from fem import Interface, Material, Model
from flexmb.bodies.body import Body
from flexmb.spatial.lie import rotation_exp
from validation.beams import square_tube
from validation.plot import Plot
from validation.row import Row

CASE = "two-link"
LINK1 = 0.231
ALUMINIUM = Material.isotropic(
    youngs_modulus=0.69e11, poissons_ratio=0.69e11 / (2 * 0.26e11) - 1, density=2770.0, name="aluminium"
)


def build(modes: int = 4, theta: tuple[float, float] = (1.5, -1.0)) -> flexmb.System:
    """The mechanism released at rest; world z is horizontal, y vertical (the axis of joint 1)."""
    part = Model(square_tube(1.02, 12.7e-3, 1.6e-3, 40), ALUMINIUM).with_interfaces(
        root="x0", tip=Interface("x1", kind="rigid")
    )
    tube = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=modes, reference_frame="root"), name="link 2")
    R1 = rotation_exp(np.array([0.0, theta[0], 0.0]))
    system = flexmb.System(gravity=(0, -9.81, 0), name=CASE)
    first = system.add(link_1(), orientation=R1)
    end = R1 @ np.array([0.0, 0.0, -LINK1])
    # the tube points along x of link 1, turned by theta2 about link 1's axis z
    R2 = R1 @ rotation_exp(np.array([0.0, 0.0, theta[1]]))
    second = system.add(tube, position=end, orientation=R2)
    mass = system.add(
        flexmb.rigid_body("tip mass", mass=0.5, inertia=(5e-5, 5e-5, 5e-5)),
        position=end + R2 @ np.array([1.02, 0, 0]),
        orientation=R2,
    )
    system.revolute("joint 1", system.ground.at((0, 0, 0)), first, axis=(0, 1, 0))
    system.revolute("joint 2", first, second["root"], axis=R1 @ np.array([0.0, 0.0, 1.0]))
    system.fixed("weld", second["tip"], mass)
    return system


def link_1() -> Body:
    """The rigid link, from joint 1 at its origin along -z."""
    centre = np.array([0.0, 0.0, -0.1155])
    about = np.diag([0.04022, 0.08884, 3.752e-4]) - 2.067 * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return flexmb.rigid_body("link 1", mass=2.067, centre=centre, inertia=_physical(about))


def _physical(inertia: np.ndarray) -> np.ndarray:
    """The printed inertia with its triangle inequality restored: only the entry about joint 1 enters the motion."""
    Ixx, Iyy, Izz = np.diag(inertia)
    return np.diag([max(Ixx, Iyy - Izz), Iyy, Izz])


def run() -> list[Row | Plot]:
    """Five seconds at a tight step."""
    result = flexmb.simulate(build(), 5.0, step=4e-5)
    ledger = result.ledger
    strain = ledger.elastic.max()
    return [
        Row(
            CASE,
            "largest |E - E0| / largest strain energy",
            0.0,
            "exact",
            np.abs(ledger.residual).max() / strain,
            np.abs(ledger.residual).max() / strain,
            1e-6,
        ),
        Plot("Energies", "time (s)", "energy (N m)", {"strain energy": (result.t, ledger.elastic), "kinetic energy": (result.t, ledger.kinetic), "|E - E0|": (result.t[1:], np.abs(ledger.residual)[1:])}, logarithmic="y"),
    ]  # fmt: skip
