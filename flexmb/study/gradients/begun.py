"""Initial states with a changed parameter, in the elastic coordinates of the simulated mechanism."""

from typing import NamedTuple

import numpy as np

from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.kernels.joint_coordinates.tree import Tree
from flexmb.simulation.recorded import Recording, begun
from flexmb.spatial.configuration import difference
from flexmb.spatial.layout import pose
from flexmb.study.gradients.aligned import Aligned


class Begun(NamedTuple):
    """An initial state, as it is stored or as the method uses it.

    For the method, `w` contains the velocities of its coordinates and `a` its own accelerations; `pivot` (nb, 3): the
    pivots in the bodies; `states`, `state_rates` (nz,): states of frame forces and their rates.
    """

    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    pivot: np.ndarray
    states: np.ndarray
    state_rates: np.ndarray


def start_of(neighbour: Aligned, recording: Recording) -> tuple[Begun, Begun]:
    """The stored initial state, and that of the method, with the method and the step of a recording.

    They are computed for the mechanism as it was built, whose stiffness is diagonal.
    """
    begin, run = begun(neighbour.built, recording)
    state, motion = begin.state, run.motion

    def turned(q: np.ndarray, w: np.ndarray, wdot: np.ndarray, a: np.ndarray, multipliers: np.ndarray) -> Begun:
        w, wdot, a = (neighbour.turned(x, 6) for x in (w, wdot, a))
        own = motion.states.copy(), motion.state_rates.copy()
        return Begun(neighbour.turned(q, 7), w, wdot, a, multipliers, run.tree.pivot, *own)

    stored = turned(state.q, state.w, begin.wdot, begin.wdot, begin.multipliers)
    return stored, turned(motion.q, motion.v, motion.vdot, motion.a, motion.multipliers)


def starts_apart(flat: CompiledModel, tree: Tree, x: Begun, y: Begun) -> tuple[np.ndarray, ...]:
    """The differences of two initial states of the method, the second minus the first.

    Positions of pivots, in the axes of their carriers, with rotations and elastic coordinates (nv,); velocities;
    accelerations; accelerations of the method; pivots in their bodies (nb, 3); states of frame forces, and their rates.
    """
    moved = difference(flat, x.q, y.q)
    for b, s in enumerate(flat.v_start[:-1]):
        ends = [r + R @ begun.pivot[b] for begun in (x, y) for r, R in [pose(flat, begun.q, b)]]
        k = int(tree.carrier[b])
        axes = np.eye(3) if k == GROUND else 0.5 * sum(pose(flat, begun.q, k)[1] for begun in (x, y))
        moved[s : s + 3] = (ends[1] - ends[0]) @ axes
    apart = (getattr(y, name) - getattr(x, name) for name in ("w", "wdot", "a", "pivot", "states", "state_rates"))
    return moved, *apart
