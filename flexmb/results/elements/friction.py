"""Dry friction in joints over a stored motion: the efforts of joints that slide or stick at the stored times."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from flexmb.errors import MechanismError
from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.calls import friction_bounds, friction_efforts
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.locking import with_sliding
from flexmb.mechanism.mechanism import JointFriction, Mechanism
from flexmb.mechanism.state import Topology
from flexmb.results.elements.motion import row_motion
from flexmb.results.motion import Motion


def friction_of(mechanism: Mechanism, row: int) -> JointFriction | None:
    """The dry friction to which the row of a force element belongs; None for other rows."""
    for friction in mechanism.frictions:
        if row in mechanism.force_elements.get(friction.name, ()):
            return friction
    return None


def friction_effort(motion: Motion, friction: JointFriction, row: int) -> Float[np.ndarray, "nt"]:
    """The effort of a joint with dry friction in the free motion of a row, positive if it increases the coordinate.

    While the joint slides, it follows from the stored reactions and, if it is regularised or has several free motions,
    from the sliding velocity; while it sticks, it is the effort that holds it.
    Raises `MechanismError` when the motion is not a simulated one, which has reactions.
    """
    mechanism, topologies = motion.mechanism, getattr(motion, "topologies", ())
    multipliers = getattr(motion, "multipliers", np.zeros((0, 0)))
    exact = not friction.speed
    if (exact and not topologies) or multipliers.shape != (len(motion.t), mechanism.joint_rows):
        raise MechanismError(
            f"The motion does not have the modes and reactions that determine the friction {friction.name!r}; only "
            "simulated motions have them."
        )
    own = [f.name for f in mechanism.frictions].index(friction.name)
    times = _at(topologies, motion.t) if exact else []
    efforts = np.zeros(len(motion.t))
    slides = np.array([topology.sliding.get(friction.name, 0.0) for topology in times])
    if not exact or (friction.several and slides.any()):
        flat = compiled(with_sliding(mechanism, {friction.name: 1.0}))
        efforts = _against(motion, multipliers, flat, own)[flat.friction_row.tolist().index(row)]
        if not exact:
            return efforts
        efforts[slides == 0] = 0.0
    elif slides.any():
        flat = compiled(mechanism)
        bounds = np.zeros(len(flat.friction_speed))
        for k in np.flatnonzero(slides):
            friction_bounds(flat, np.ascontiguousarray(multipliers[k]), bounds)
            efforts[k] = -slides[k] * bounds[own]
    lock = list(friction.locks)[mechanism.force_elements[friction.name].index(row)]
    stuck = np.array([lock in topology.locked for topology in times])
    efforts[stuck] = -multipliers[stuck, mechanism.joint(lock).rows[0]]
    return efforts


def _against(motion: Motion, multipliers: np.ndarray, flat: CompiledModel, own: int) -> Float[np.ndarray, "nc nt"]:
    """The efforts of friction number `own` against the sliding velocity, at its places among the free motions of all
    frictions."""
    places = range(flat.friction_start[own], flat.friction_start[own + 1])
    rates, efforts = (
        np.zeros((len(motion.t), len(flat.friction_row))),
        np.zeros((len(motion.t), len(flat.friction_row))),
    )
    for c in places:
        rates[:, c] = row_motion(motion, motion.mechanism.rows[flat.friction_row[c]]).rate
    for k in range(len(motion.t)):
        friction_efforts(flat, own, np.ascontiguousarray(multipliers[k]), rates[k], efforts[k])
    return efforts.T


def _at(topologies: Sequence[tuple[float, Topology]], times: np.ndarray) -> list[Topology]:
    """The topology at each time; the last one of an instant."""
    begin = np.array([t for t, _ in topologies])
    return [topologies[max(int(k) - 1, 0)][1] for k in np.searchsorted(begin, times, side="right")]
