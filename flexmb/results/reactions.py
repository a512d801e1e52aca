"""Reactions of joints, computed from the multipliers."""

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import ANGLE, make_marker_kinematics
from flexmb.kernels.calls import row_wrenches
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import Mechanism


def relation_effort(
    mechanism: Mechanism, relation: str, coordinate: str, multipliers: Float[np.ndarray, "nt nj"]
) -> Float[np.ndarray, "nt"]:
    """The effort (nt,) of a relation on a `coordinate`, "JOINT", "JOINT:rotation" or "JOINT:translation"; see
    `Result.relation_effort`."""
    factor = coordinate_in(mechanism, relation, coordinate)[1]
    return -factor * np.asarray(multipliers[:, mechanism.joint(relation).rows[0]])


def coordinate_in(mechanism: Mechanism, relation: str, coordinate: str) -> tuple[str, float]:
    """The whole name of a coordinate in a relation, and its factor. Raises `MechanismError` when there is none."""
    record = mechanism.joint(relation)
    row = mechanism.rows[record.rows[0]]
    if not row.terms:
        raise MechanismError(
            f"{relation!r} is a joint ({record.kind}), not a relation between joints. Its forces are those of "
            "reaction()."
        )
    known = {j.markers: j.name for j in mechanism.joints if j.kind in JOINTS}
    terms = [(row.kind, row.markers, 1.0), *((x.kind, x.markers, x.factor) for x in row.terms)]
    factors = {
        f"{known[markers]}:{'rotation' if kind == ANGLE else 'translation'}": factor for kind, markers, factor in terms
    }
    named = [key for key in factors if coordinate in (key, f"{key} z", key.rpartition(":")[0])]
    if len(named) != 1:
        raise MechanismError(unknown_name(f"coordinate of relation {relation!r}", coordinate, factors))
    return named[0], factors[named[0]]


def joint_reaction(
    mechanism: Mechanism,
    joint: str,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    multipliers: Float[np.ndarray, "nt nj"],
) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) that `joint` exerts on its second body at its marker, in world axes.

    A relation exerts those of all its coordinates in the joint of the first one: the thread of a cylindrical joint a
    moment about the axis and a force along it.

    `t` (nt,), `q` (nt, nq) and `multipliers` (nt, nj): stored times, configurations and joint multipliers.
    """
    flat, rows = compiled(mechanism), np.array(mechanism.joint(joint).rows, dtype=np.int64)
    out = np.zeros((len(t), 6))
    functions = mechanism.function_table(np.array(t))
    row_wrenches(flat, rows, q, functions, multipliers, make_marker_kinematics(flat), out)
    first = mechanism.rows[rows[0]]
    for term in first.terms:
        if term.markers == first.markers:  # the other coordinate about or along the same axis
            force, moment = out[:, :3], out[:, 3:]
            own, other = (moment, force) if first.kind == ANGLE else (force, moment)
            other += term.factor * own
    return out
