"""Integration relative to uniformly moving frames, for bodies without a connection to the ground.

The equations of motion are the same in all frames in uniform motion. A method that integrates twists in body axes, in
which a uniform velocity rotates with the body, makes errors of this rotation; it avoids them if steps are computed
relative to a frame that moves with the mass centre.
"""

import numpy as np

from flexmb.kernels.base.data import GROUND, CompiledModel


def flying(flat: CompiledModel) -> list[list[int]]:
    """The bodies of each part of a mechanism that no joint or force element connects to the ground."""
    piece = list(range(len(flat.modes) + 1))  # the last entry is the ground
    for markers in flat.row_markers:
        a, b = (piece[int(flat.marker_body[k]) if flat.marker_body[k] != GROUND else -1] for k in markers)
        piece = [a if p == b else p for p in piece]
    return [[b for b, p in enumerate(piece[:-1]) if p == name] for name in sorted({*piece} - {piece[-1]})]


def pieces(flat: CompiledModel) -> np.ndarray:
    """For each body (nb,), the first body of its unsupported part, or -1 if it is supported."""
    first = np.full(len(flat.modes), -1, dtype=np.int64)
    for bodies in flying(flat):
        first[bodies] = min(bodies)
    return first
