"""Integration relative to uniformly moving frames, for bodies without a connection to the ground.

The equations of motion are the same in all frames in uniform motion. A method that integrates twists in body axes, in
which a uniform velocity rotates with the body, makes errors of this rotation; it avoids them if steps are computed
relative to a frame that moves with the mass centre.
"""

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.spatial.layout import pose


def flying(flat: CompiledModel) -> list[list[int]]:
    """The bodies of each part of a mechanism that no joint or force element connects to the ground."""
    piece = list(range(len(flat.modes) + 1))  # the last entry is the ground
    for markers in flat.row_markers:
        a, b = (piece[int(flat.marker_body[k]) if flat.marker_body[k] != GROUND else -1] for k in markers)
        piece = [a if p == b else p for p in piece]
    return [[b for b, p in enumerate(piece[:-1]) if p == name] for name in sorted({*piece} - {piece[-1]})]


class Travel:
    """Uniform velocities of the unsupported `pieces` of a mechanism.

    They are given as world velocities (nb, 3) of the bodies, which are zero for supported bodies.
    """

    def __init__(self, flat: CompiledModel, pieces: list[list[int]]) -> None:
        self._flat, self._pieces = flat, pieces
        self._bodies = [b for piece in pieces for b in piece]

    def mean(self, q: Float[np.ndarray, "nq"], parts: Float[np.ndarray, "nb 3"]) -> Float[np.ndarray, "nb 3"]:
        """For each unsupported body, the sum of the vectors `parts` (nb, 3; in body axes) over its piece, in world
        axes, divided by the mass of the piece."""
        out, mass = np.zeros_like(parts), self._flat.mass
        for piece in self._pieces:
            if (total := sum(mass[b] for b in piece)) > 0:
                out[piece] = sum(pose(self._flat, q, b)[1] @ parts[b] for b in piece) / total
        return out

    def velocity(self, q: Float[np.ndarray, "nq"], w: Float[np.ndarray, "nv"]) -> Float[np.ndarray, "nb 3"]:
        """The velocity of the mass centre of each piece, with undeformed bodies; an approximation suffices."""
        flat, rigid = self._flat, np.add.outer(self._flat.v_start[:-1], np.arange(6))
        v, omega = np.split(w[rigid], 2, axis=1)
        return self.mean(q, flat.mass[:, None] * v + np.cross(omega, flat.s0))

    def seen(self, velocity: Float[np.ndarray, "nb 3"], q: Float[np.ndarray, "nq"]) -> Float[np.ndarray, "nv"]:
        """The difference (nv,) of `w` between the ground and the moving frame: the velocities in body axes."""
        out = np.zeros(len(self._flat.weight))
        for b in self._bodies:
            s = self._flat.v_start[b]
            out[s : s + 3] = pose(self._flat, q, b)[1].T @ velocity[b]
        return out

    def carried(
        self, velocity: Float[np.ndarray, "nb 3"], q: Float[np.ndarray, "nq"], time: float
    ) -> Float[np.ndarray, "nq"]:
        """The configuration `q` (nq,) translated with the uniform velocities for some time."""
        q = q.copy()
        for b in self._bodies:
            s = self._flat.q_start[b]
            q[s : s + 3] += time * velocity[b]
        return q

    def turning(self, seen: Float[np.ndarray, "nv"], w: Float[np.ndarray, "nv"]) -> Float[np.ndarray, "nv"]:
        """The difference (nv,) of `wdot` between the ground and the moving frame, due to the rotation of the body
        axes."""
        out = np.zeros_like(seen)
        for b in self._bodies:
            s = self._flat.v_start[b]
            out[s : s + 3] = -np.cross(w[s + 3 : s + 6], seen[s : s + 3])
        return out
