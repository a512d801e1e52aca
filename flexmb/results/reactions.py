"""Reactions of joints, computed from the multipliers."""

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import make_marker_kinematics
from flexmb.kernels.calls import row_wrenches
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism


def joint_reaction(
    mechanism: Mechanism,
    joint: str,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    multipliers: Float[np.ndarray, "nt nj"],
) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) that `joint` exerts on its second body at its marker, in world axes.

    `t` (nt,), `q` (nt, nq) and `multipliers` (nt, nj): stored times, configurations and joint multipliers.
    """
    flat, rows = compiled(mechanism), np.array(mechanism.joint(joint).rows, dtype=np.int64)
    out = np.zeros((len(t), 6))
    functions = mechanism.function_table(np.array(t))
    row_wrenches(flat, rows, q, functions, multipliers, make_marker_kinematics(flat), out)
    return out
