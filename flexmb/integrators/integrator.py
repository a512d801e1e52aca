"""The interface of integrators, and their common functions."""

from typing import Protocol

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.snapshot import Snapshot
from flexmb.kernels.base.data import CompiledModel
from flexmb.results.result import Statistics


class Integrator(Protocol):
    """A running integration.

    It may have a method `several(targets)` too, which integrates to as many of the next stored times as it likes and
    returns the motion there (`Snapshots`), or None if `to` is to be called for the next one.
    """

    @property
    def equations(self) -> Equations:
        """The equations of the mechanism."""

    def now(self) -> Snapshot:
        """The motion at the current time."""

    def prepare(self) -> None:
        """Compile kernels, outside the timing of the integration; called once, before the first `to`."""

    def to(self, target: float) -> Snapshot:
        """Integrate to the time `target`; returns the motion there."""

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds so far."""


class Steps:
    """Numbers and sizes of steps."""

    def __init__(self) -> None:
        self.taken, self.rejected, self.iterations = 0, 0, 0
        self.smallest, self.largest = np.inf, 0.0

    def take(self, count: int, size: float) -> None:
        """Record a number of steps of one size."""
        if count:
            self.taken += count
            self.smallest, self.largest = min(self.smallest, size), max(self.largest, size)

    def statistics(self, cpu: float) -> Statistics:
        """The statistics of a result, with the CPU time in seconds."""
        return Statistics(self.taken, self.rejected, self.iterations, cpu, float(self.smallest), float(self.largest))


def fastest_rotation(flat: CompiledModel, w: np.ndarray) -> float:
    """The largest angular velocity of a body for velocities `w` (nv,)."""
    return float(np.linalg.norm(w[np.add.outer(flat.v_start[:-1], np.arange(3, 6))], axis=1).max(initial=0.0))


def whole(step: float, span: float) -> float:
    """The largest step of at most `step` that divides `span`."""
    return float(span / max(1.0, np.ceil(span / step * (1 - 1e-9))))


def first_step(w: np.ndarray, wdot: np.ndarray, weight: np.ndarray, tolerance: float, longest: float) -> float:
    """The size of the first step for velocities `w` (nv,) and accelerations `wdot` (nv,), at most `longest`.

    The displacement in it is below the cube root of `tolerance` by the velocities and below `tolerance` by the
    accelerations, relative to the length of the mechanism.
    """
    rate, speed = (np.abs(wdot) * weight).max(initial=0.0), (np.abs(w) * weight).max(initial=0.0)
    size = min(np.sqrt(tolerance / rate) if rate > 0 else np.inf, tolerance ** (1 / 3) / speed if speed > 0 else np.inf)
    return float(min(longest, size))
