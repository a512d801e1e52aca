"""Mass centres and momenta of bodies and of the whole mechanism."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import make_marker_kinematics, scratch_size
from flexmb.kernels.calls import momenta_along
from flexmb.mechanism.compile import compiled
from flexmb.results.motion import Motion


class Momenta(NamedTuple):
    """The mass, its centre (nt, 3), the linear momentum (nt, 3) and the angular momentum (nt, 3) about the origin of
    the world, in world axes."""

    mass: float
    centre: Float[np.ndarray, "nt 3"]
    linear: Float[np.ndarray, "nt 3"]
    angular: Float[np.ndarray, "nt 3"]


def momenta_of(motion: Motion, body: str | None = None) -> Momenta:
    """The momenta of a body over time, or of all bodies together.

    They are those of the kinetic energy that moves the bodies (docs/theory.md, "One body"). Raises `MechanismError`
    when there is no body of this name. Cost: O(m^2) for a body with m elastic coordinates, for each stored time.
    """
    mechanism, flat = motion.mechanism, compiled(motion.mechanism)
    chosen = range(len(mechanism.bodies)) if body is None else [mechanism.body_index(body)]
    kinematics, nt = make_marker_kinematics(flat), len(motion.t)
    total, moment, linear, angular = 0.0, np.zeros((nt, 3)), np.zeros((nt, 3)), np.zeros((nt, 3))
    for b in chosen:
        m, mass = mechanism.bodies[b].modes, mechanism.bodies[b].invariants.mass
        own = np.zeros((3, nt, 3))
        scratch, coupling = np.zeros(scratch_size(m)), np.zeros((6, m))
        momenta_along(flat, b, np.asarray(motion.q), np.asarray(motion.w), kinematics, scratch, coupling, *own)
        total, moment, linear, angular = total + mass, moment + mass * own[0], linear + own[1], angular + own[2]
    return Momenta(total, moment / total, linear, angular)
