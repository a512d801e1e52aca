"""Reactions of joints from the multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from flexmb.kernels.data import make_places
from flexmb.kernels.recall import row_wrenches

if TYPE_CHECKING:
    from flexmb.result import Result


def joint_reaction(result: Result, joint: str) -> Float[np.ndarray, "nt 6"]:
    """Force and moment on the second body of `joint` at its marker, world axes, for every stored time."""
    mechanism = result.mechanism
    flat, rows = mechanism.flat(), np.array(mechanism.joint(joint).rows, dtype=np.int64)
    out = np.zeros((len(result.t), 6))
    functions = mechanism.function_table(np.array(result.t))
    row_wrenches(flat, rows, result.q, functions, result.multipliers, make_places(flat), out)
    return out
