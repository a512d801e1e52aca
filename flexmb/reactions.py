"""Reactions of joints from the multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from flexmb.kernels.algebra import matrix, vector
from flexmb.kernels.data import make_places
from flexmb.kernels.rows import place_markers, row_geometry

if TYPE_CHECKING:
    from flexmb.result import Result


def joint_reaction(result: Result, joint: str) -> Float[np.ndarray, "nt 6"]:
    """Force and moment on the second body of `joint` at its marker, world axes, for every stored time."""
    mechanism = result.mechanism
    flat = mechanism.flat()
    record = mechanism.joint(joint)
    places = make_places(flat)
    out = np.zeros((len(result.t), 6))
    for k, (t, q) in enumerate(zip(result.t, result.q, strict=True)):
        place_markers(flat, q, places, True)
        functions = mechanism.function_values(t)
        a, b = record.markers
        axes = places.axes[a]
        for r in record.rows:
            row = mechanism.rows[r]
            given = functions[row.function, 0] if row.function >= 0 else 0.0
            where = (
                vector(places.position, a),
                matrix(places.axes, a),
                vector(places.position, b),
                matrix(places.axes, b),
            )
            _, nv, nw = row_geometry(row.kind, *row.axes, given, 0.0, *where)
            out[k, :3] -= result.multipliers[k, r] * (axes @ nv)
            out[k, 3:] -= result.multipliers[k, r] * (axes @ nw)
    return out
