"""The output of an integrator at one time, or at several."""

from typing import Any, NamedTuple

import numpy as np

from flexmb.mechanism.state import State


class Snapshot(NamedTuple):
    """The motion at one time; see `Result` and `Ledger`.

    - `q` (nq,), `w` (nv,), `wdot` (nv,) and `multipliers` (nj,).
    - `work` (4,): work of drivers, work of loads, heat of modal damping, heat of dampers.
    - `energies` (5,): kinetic, elastic, gravitational, of springs, and stored by force elements between frames.
    - `angles` (na,): continuous angles (radians).
    - `lost`: energy dissipated in impacts.
    - `states` (nz,): states of the force elements and controllers (see `State`).
    """

    t: float
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    energies: np.ndarray
    angles: np.ndarray
    lost: float = 0.0
    states: np.ndarray = np.zeros(0)

    @property
    def state(self) -> State:
        """The state of this motion, without the changes by events."""
        return State(self.t, self.q, self.w, self.angles, element_states=self.states)


class Snapshots(NamedTuple):
    """The motion at several times: the fields of `Snapshot` without `lost`, with a row for each time."""

    t: np.ndarray
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    energies: np.ndarray
    angles: np.ndarray
    states: np.ndarray

    @staticmethod
    def empty(t: np.ndarray, motion: Any, angles: int) -> "Snapshots":
        """Rows to be filled at the times `t` (nt,), for the `motion` of an integrator and a number of angles."""
        widths = [len(x) for x in (motion.q, motion.w, motion.w, motion.multipliers)]
        return Snapshots(t, *(np.empty((len(t), n)) for n in (*widths, 4, 5, angles, len(motion.states))))
