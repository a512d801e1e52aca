"""When the measure of an event counts: the level that it must pass, and whether it has been below it before."""

import numpy as np

from flexmb.simulation.detection.in_force import InForce
from flexmb.simulation.detection.looks import Look
from flexmb.simulation.events import Stick, StopImpact
from flexmb.simulation.instants import Sight, peak

NEGATIVE = 1e-9
"""Value of a measure, relative to its largest so far, below zero at which it counts as negative."""


class Arming:
    """`armed` (n,): which events are executed when their measures pass their `levels` (n,).

    An event is executed once and armed again when its measure has been negative. A stop is always armed, because it
    must not be passed.
    """

    def __init__(self, in_force: InForce) -> None:
        self._in_force = in_force
        self._number = {event.name: k for k, event in enumerate(in_force.events)}
        self.armed = np.array([isinstance(e.do, StopImpact) for e in in_force.events])
        self.levels, self._largest = np.zeros(len(in_force.events)), np.zeros(len(in_force.events))

    def level(self, name: str) -> float:
        """The level of an event."""
        return float(self.levels[self._number[name]])

    def set_level(self, name: str, level: float) -> None:
        """Set the level of an event."""
        self.levels[self._number[name]] = level

    def sight(self, look: Look) -> Sight:
        """The measures of armed events above their levels; NaN for others."""
        above = np.where(self.armed, look.values - self.levels, np.nan)
        return Sight(look.snapshot.t, above, look.rates)

    def disarm(self, passed: np.ndarray) -> None:
        """Disarm the events (n,) that are executed; stops remain armed."""
        self.armed[passed & ~np.isin([*self._number], list(self._in_force.stops))] = False

    def arms(self, look: Look) -> np.ndarray:
        """The events (n,) that are not armed and whose measures are negative at a sample."""
        return self._negative(look) & ~self.armed

    def dips(self, low: Look, high: Look) -> list[float]:
        """Times between two samples at which the measures of events that are not armed may be negative, although they
        are not at the samples."""
        begin, end = (
            Sight(look.snapshot.t, np.where(self.armed, np.nan, -look.values), -look.rates) for look in (low, high)
        )
        times = [peak(begin, end, k) for k in range(len(self.armed))]
        return sorted(t for t in times if t is not None)

    def looked(self, look: Look) -> None:
        """Arm the events whose measures are negative at a sample without events."""
        known = ~np.isnan(look.values)
        self._largest[known] = np.maximum(self._largest[known], np.abs(look.values[known]))
        negative = self._negative(look)
        self.armed[negative], self.levels[negative] = True, 0.0

    def _negative(self, look: Look) -> np.ndarray:
        """The events (n,) that are not in force and whose measures are negative by more than round-off."""
        in_force, negative = self._in_force, np.zeros(len(look.values), dtype=bool)
        for k, event in enumerate(in_force.events):
            band = in_force.reach(event.name) if event.name in in_force.stops else NEGATIVE * self._largest[k]
            negative[k] = event.name not in in_force.held and look.values[k] < -band  # false if it is NaN
        return negative

    def leave(self, look: Look) -> None:
        """Set the levels of stops that touch and are not in force to their present values, and those of joints that
        begin to slide beyond theirs: the method changes velocities at its start within its own error."""
        in_force = self._in_force
        for k, event in enumerate(in_force.events):
            if event.name in in_force.stops:
                if not in_force.is_idle(event) and abs(look.values[k]) <= in_force.reach(event.name):
                    self.levels[k] += max(look.values[k], 0.0)
            elif isinstance(event.do, Stick) and self.levels[k] > 0 and event.do.friction not in in_force.quickest:
                self.levels[k] += 2 * max(look.values[k], 0.0)
