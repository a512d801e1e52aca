"""Integration relative to uniformly moving frames, for bodies without a connection to the ground.

The equations of motion are the same in all frames in uniform motion. A method that integrates twists in body axes, in
which a uniform velocity rotates with the body, makes errors of this rotation; it avoids them if steps are computed
relative to a frame that moves with the mass centre. What feels the ground or the air, through a joint, a force, a
sensor or the wind, does not fly freely: the forces on it depend on the uniform velocity.
"""

import numpy as np

from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.kernels.equations.controllers import RATE, VALUE
from flexmb.kernels.loads.lines import WIND


def flying(flat: CompiledModel) -> list[list[int]]:
    """The bodies of each part of a mechanism that nothing connects to the ground: no joint, force element or sensor
    of a controller, no wind, and no gyroscopic force that depends on its velocity."""
    measured = np.isin(flat.signal_sort, (VALUE, RATE))
    pairs = flat.marker_body[np.concatenate([flat.term_markers, flat.signal_markers[measured]])].tolist()
    pairs += [(b, GROUND) for b in flat.line_body[flat.line_kind == WIND]]
    pairs += [(b, GROUND) for b, C in zip(flat.velocity_body, flat.velocity_matrix, strict=True) if C[:, :3].any()]
    piece = list(range(len(flat.modes) + 1))  # the last entry is the ground
    for pair in pairs:
        a, b = (piece[int(k) if k != GROUND else -1] for k in pair)
        piece = [a if p == b else p for p in piece]
    return [[b for b, p in enumerate(piece[:-1]) if p == name] for name in sorted({*piece} - {piece[-1]})]


def pieces(flat: CompiledModel) -> np.ndarray:
    """For each body (nb,), the first body of its unsupported part, or -1 if it is supported."""
    first = np.full(len(flat.modes), -1, dtype=np.int64)
    for bodies in flying(flat):
        first[bodies] = min(bodies)
    return first
