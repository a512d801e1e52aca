"""Reactions of joints from the multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from flexmb.kernels.algebra import matrix, vector
from flexmb.kernels.rows import make_work, place_markers, row_geometry

if TYPE_CHECKING:
    from flexmb.result import Result


def joint_reaction(result: Result, joint: str) -> Float[np.ndarray, "nt 6"]:
    """Force and moment on the second body of `joint` at its marker, world axes, for every stored time."""
    mechanism = result.mechanism
    flat = mechanism.flat()
    record = mechanism.joint(joint)
    work = make_work(flat)
    out = np.zeros((len(result.t), 6))
    for k, (t, q) in enumerate(zip(result.t, result.q, strict=True)):
        place_markers(flat, q, *work)
        functions = mechanism.function_values(t)
        a, b = record.markers
        axes = work[3][a]
        for r in record.rows:
            row = mechanism.rows[r]
            given = functions[row.function, 0] if row.function >= 0 else 0.0
            places = (vector(work[2], a), matrix(work[3], a), vector(work[2], b), matrix(work[3], b))
            _, nv, nw = row_geometry(row.kind, *row.axes, given, 0.0, *places)
            out[k, :3] -= result.multipliers[k, r] * (axes @ nv)
            out[k, 3:] -= result.multipliers[k, r] * (axes @ nw)
    return out
