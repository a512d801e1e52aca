"""What every integrator takes and gives."""

from typing import Protocol

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.snapshot import Snapshot
from flexmb.kernels.base.data import CompiledModel
from flexmb.results.result import Statistics


class Integrator(Protocol):
    """A running integration."""

    @property
    def equations(self) -> Equations:
        """Of the mechanism that moves."""

    def now(self) -> Snapshot:
        """The motion at the start."""

    def prepare(self) -> None:
        """Whatever should not count as time of the integration; once, before the first `to`."""

    def to(self, target: float) -> Snapshot:
        """Integrate to a later time; the motion there."""

    def statistics(self, cpu: float) -> Statistics:
        """What it did so far in `cpu` seconds."""


class Steps:
    """Counts of steps."""

    def __init__(self) -> None:
        self.taken, self.rejected, self.iterations = 0, 0, 0
        self.smallest, self.largest = np.inf, 0.0

    def take(self, count: int, size: float) -> None:
        """Some steps of one size were made."""
        if count:
            self.taken += count
            self.smallest, self.largest = min(self.smallest, size), max(self.largest, size)

    def statistics(self, cpu: float) -> Statistics:
        """Of a result."""
        return Statistics(self.taken, self.rejected, self.iterations, cpu, float(self.smallest), float(self.largest))


def fastest_rotation(flat: CompiledModel, w: np.ndarray) -> float:
    """The largest angular velocity of a body, of velocities `w` (nv,)."""
    return float(np.linalg.norm(w[np.add.outer(flat.v_start[:-1], np.arange(3, 6))], axis=1).max(initial=0.0))


def whole(step: float, span: float) -> float:
    """The longest step of at most `step` of which a whole number fills a span."""
    return float(span / max(1.0, np.ceil(span / step * (1 - 1e-9))))


def first_step(w: np.ndarray, wdot: np.ndarray, weight: np.ndarray, tolerance: float, longest: float) -> float:
    """A step small enough for the start: the motion in it stays below the tolerance's cube root of the length."""
    rate, speed = (np.abs(wdot) * weight).max(initial=0.0), (np.abs(w) * weight).max(initial=0.0)
    size = min(np.sqrt(tolerance / rate) if rate > 0 else np.inf, tolerance ** (1 / 3) / speed if speed > 0 else np.inf)
    return float(min(longest, size))
