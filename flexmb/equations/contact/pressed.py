"""Forces of flexible surfaces in a step of the energy-momentum scheme, by discrete derivatives of their energy.

The nodes of a surface carry forces `f` that satisfy `0 <= f _|_ s >= 0` at both ends of a step, with the gaps
`s = g(q) + C f`. The strain energy of the residual compliance, `f C f / 2`, changes by the work of the mean forces if
they move with the gaps `g`,

    -(f0 + f1)/2 . (g1 - g0) = (f1 C f1 - f0 C f0)/2 + (f1 s0 - f0 s1)/2,

but for nodes that begin or cease to touch. There the mean force acts during the part of the step in which the node
touches, `p = c / (c + s0 - s1)` with `c = C (f1 - f0)`: the works then add up exactly. What the middle of the step
leaves of `g1 - g0` in large rotations, and of parts that are no fractions, is balanced along the elastic rates, which
have no momentum.

Source of discrete derivatives: Gonzalez, Time integration and discrete Hamiltonian systems (1996).
"""

from typing import NamedTuple

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.kernels.base.data import GROUND, MarkerKinematics
from flexmb.kernels.calls import place_markers, place_skins, skin_rows

CHANGES = 100
"""Changes of the nodes that carry forces in the solution of a linear complementarity problem."""
ROUNDING = 1e-15
"""Work that is missing, relative to that of all nodes, which is round-off."""


class Seen(NamedTuple):
    """Nodes (n) at a configuration: gaps (n,), their derivatives (n, nv), compliance along the normals (n, n) and
    strain energy of the residual displacements."""

    gap: np.ndarray
    G: np.ndarray
    C: np.ndarray
    energy: float


class Push(NamedTuple):
    """Generalised forces (nv,) in a step, their derivatives (nv, n) by the forces at its end, and the nodes there."""

    forces: np.ndarray
    slopes: np.ndarray
    end: Seen


class PressedNodes:
    """The nodes of all flexible surfaces of a mechanism; `forces` (n,) are those of the state, along the normals."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.forces = equations.states[equations.flat.skin_state :][::3]

    def see(self, q: np.ndarray, kinematics: MarkerKinematics, forces: np.ndarray) -> Seen:
        """The nodes at `q` (nq,) with `forces` (n,); `kinematics` is overwritten."""
        flat, space = self.equations.flat, self.equations.workspace
        space.states[flat.skin_state :] = 0.0
        space.states[flat.skin_state :][::3] = forces
        place_markers(flat, q, kinematics)
        energy = place_skins(flat, q, kinematics, space, True)
        n = len(forces)
        G = np.zeros((n, int(flat.v_start[-1])))
        for k in range(n):
            skin_rows(flat, q, kinematics, space, k, 1)
            s = flat.node_skin[k]
            for side, b in enumerate((flat.marker_body[flat.skin_marker[s]], flat.skin_body[s])):
                if b != GROUND:
                    first, last = flat.v_start[b], flat.v_start[b + 1]
                    G[k, first:last] += space.skin_G[k, 0, side, : last - first]
        return Seen(space.skin_gap.copy(), G, self._compliance(space.skin_axes[:, 0]), float(energy))

    def _compliance(self, normals: np.ndarray) -> np.ndarray:
        """The residual compliance (n, n) along `normals` (n, 3) in body axes."""
        flat, n = self.equations.flat, len(normals)
        bodies, C = flat.skin_body[flat.node_skin], np.zeros((n, n))
        for b in np.unique(bodies):
            own = np.flatnonzero(bodies == b)
            compliance = self.equations.mechanism.bodies[b].compliance
            assert compliance is not None
            places = flat.node_place[own]
            blocks = compliance.matrix.reshape(len(compliance.nodes), 3, -1, 3)[places][:, :, places]
            C[np.ix_(own, own)] = np.einsum("ki,kilj,lj->kl", normals[own], blocks, normals[own])
        return C

    def push(self, begin: Seen, middle: Seen, end: Seen, forces: np.ndarray, D: np.ndarray) -> Push:
        """The forces of a step with the displacement `D` (nv,), for `forces` (n,) at its end."""
        flat = self.equations.flat
        flexed = middle.C @ (forces - self.forces)
        opened = np.where(forces > 0.0, 0.0, end.gap) - np.where(self.forces > 0.0, 0.0, begin.gap)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip(np.nan_to_num(flexed / (flexed - opened)), 0.0, 1.0)
        part[(opened == 0.0) | (self.forces + forces == 0.0)] = 1.0
        slopes = 0.5 * part * middle.G.T
        out = slopes @ (self.forces + forces)
        missing = begin.energy - end.energy - out @ D
        along = np.zeros(len(D))
        for b in np.unique(flat.skin_body):
            elastic = slice(flat.v_start[b] + 6, flat.v_start[b + 1])
            along[elastic] = D[elastic]
        works = np.abs(middle.G @ D) @ (self.forces + forces)
        if abs(missing) > ROUNDING * works and along.any():
            out = out + missing / (along @ along) * along
        return Push(out, slopes, end)


def complementary(W: np.ndarray, b: np.ndarray, guess: np.ndarray) -> np.ndarray | None:
    """The forces (n,) with `0 <= f _|_ W f + b >= 0`, from those that are positive in a `guess` (n,); None if the set
    of positive ones does not settle."""
    active = guess > 0.0
    for _ in range(CHANGES):
        forces = np.zeros(len(b))
        if active.any():
            forces[active] = np.linalg.solve(W[np.ix_(active, active)], -b[active])
        following = np.where(active, forces > 0.0, W @ forces + b < 0.0)
        if (following == active).all():
            return forces
        active = following
    return None
