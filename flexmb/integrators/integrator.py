"""The interface of integrators, and their common functions."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.snapshot import Snapshot, Snapshots
from flexmb.kernels.base.data import CompiledModel
from flexmb.results.result import EventRecord, Statistics

Finding = tuple[type[Warning], str]
"""The category of a warning and its sentence."""


class Integrator(Protocol):
    """A running integration."""

    @property
    def equations(self) -> Equations:
        """The equations of the mechanism."""

    @property
    def happened(self) -> Sequence[EventRecord]:
        """The events and impacts so far."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Warnings of the integration so far."""

    def now(self) -> Snapshot:
        """The motion at the current time."""

    def prepare(self) -> None:
        """Compile kernels, outside the timing of the integration; called once, before the first `to`."""

    def to(self, target: float) -> Snapshot:
        """Integrate to the time `target`; returns the motion there."""

    def several(self, targets: np.ndarray) -> Snapshots | None:
        """Integrate to as many of the next stored times, `targets` (n,), as the method likes; returns the motion there,
        or None if `to` is to be called for the next one."""

    def beside_impacts(self) -> Sequence[Snapshot]:
        """The motions just before and just after each impact since the last call; they are kept from the first call
        on."""

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds so far."""


class Run:
    """What an `Integrator` does unless it states something else: it has no events, nothing to prepare, and integrates
    to one stored time after another."""

    @property
    def happened(self) -> Sequence[EventRecord]:
        """The events and impacts so far."""
        return ()

    @property
    def findings(self) -> Sequence[Finding]:
        """Warnings of the integration so far."""
        return ()

    def prepare(self) -> None:
        """Nothing has to be compiled."""

    def several(self, targets: np.ndarray) -> Snapshots | None:
        """None: `to` is to be called for the next of the stored times, `targets` (n,)."""
        return None

    def beside_impacts(self) -> Sequence[Snapshot]:
        """None."""
        return ()


def together(parts: Sequence[Statistics], cpu: float) -> Statistics:
    """Statistics of several integrations, one after another, which took `cpu` seconds."""
    parts = [p for p in parts if p.steps]
    sizes = [size for p in parts for size in (p.smallest_step, p.largest_step)]
    steps, rejected, iterations = (sum(getattr(p, n) for p in parts) for n in ("steps", "rejected", "iterations"))
    return Statistics(steps, rejected, iterations, cpu, min(sizes, default=0.0), max(sizes, default=0.0))


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
