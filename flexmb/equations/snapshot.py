"""What an integrator tells of one time."""

from typing import NamedTuple

import numpy as np


class Snapshot(NamedTuple):
    """The motion at one time: see `Result` and `Ledger`. `work` (4,): of drivers and loads, heat of modal damping and of dampers; `energies` (4,): kinetic, elastic, gravity, springs; `angles` (na,): turns counted; `lost`: in impacts."""

    t: float
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    energies: np.ndarray
    angles: np.ndarray
    lost: float = 0.0
