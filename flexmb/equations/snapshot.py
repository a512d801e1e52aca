"""The output of an integrator at one time."""

from typing import NamedTuple

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
