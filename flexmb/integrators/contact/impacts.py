"""Impacts of points that touch, between the steps of generalised-alpha.

An impact that closes with less than twice the speed that the accelerations produce in a step is one without
restitution; otherwise a bouncing body that comes to rest would need infinitely many.
"""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from fem.errors import ConvergenceError
from flexmb.contact.impacts import CLOSES, impact_impulses
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.errors import UnilateralError
from flexmb.integrators.contact.touching import Points, TouchingRun
from flexmb.kernels.calls import keep_features, solve_cones
from flexmb.kernels.equations.residual import DRIVER
from flexmb.kernels.steps.step import AFRESH, BEFORE, COMPLIANCES, KNOWN, Scheme
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, STICKS, ExactContact
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import EventRecord

BLOCKED = 1e-10
"""Response of a point, relative to that without joints, below which they prescribe its rate."""
LEFT = 1e-6
"""Gap, relative to the smaller of two shapes, which an impact may leave."""
STILL = CLOSES
"""Rate, relative to the largest of the points of an impact, below which a point is at rest."""
SLOW = 2.0
"""Closing speed of an impact without restitution, relative to the change of the speed in a step."""
MOST_RECORDS = 10_000
"""Impacts that are reported one by one."""
MOST_MOVES = 8
"""Largest number of displacements, steps of Newton's method, by which the points of an impact are closed."""


class ImpactRun(TouchingRun):
    """An integration whose bodies meet: velocities change at once, and energy is lost."""

    def __init__(self, mechanism: Mechanism, begin: Start, scheme: Scheme, *, step: float, coordinates: str) -> None:
        super().__init__(mechanism, begin, scheme, step=step, coordinates=coordinates)
        self._lost = 0.0
        self._happened: list[EventRecord] = []
        self._unclosed: list[str] = []
        self._beside: list[Snapshot] | None = None

    @property
    def happened(self) -> list[EventRecord]:
        """The impacts so far."""
        return self._happened

    def now(self) -> Snapshot:
        """The present motion, with the energy lost in impacts."""
        return super().now()._replace(lost=self._lost)

    def beside_impacts(self) -> list[Snapshot]:
        """The motions just before and just after each impact since the last call."""
        kept, self._beside = self._beside or [], []
        return kept

    def _kept(self) -> Snapshot:
        """The present motion, which later steps do not change."""
        return deepcopy(self.now())

    def _meet(self, h: float, hits: Sequence[int] | np.ndarray = (), strikes: bool = True) -> None:
        """The impact of the points that touch at the present motion: their modes and the velocities after it. Unless it
        `strikes`, points that close remain open."""
        m, e = self.motion, self.equations
        gaps, modes = self._gaps(), self._modes()
        keep_features(self.flat, e.workspace, m.states)
        self._on_joints()
        struck = np.isin(range(len(gaps)), hits) & (gaps < np.inf)
        numbers = np.flatnonzero((modes != OPEN) | (gaps <= self._reach) | struck)
        numbers = self._connected(numbers, hits) if len(hits) else numbers
        numbers = self._spread(numbers, hits)
        if not len(numbers):
            return
        beside = [self._kept()] if strikes and self._beside is not None else []
        p = self._points(numbers, turning=True)
        before = p.G @ m.w
        slow = SLOW * h * self._accelerations(p)
        rest = STILL * max(float(np.abs(before).max()), float(slow.max()))
        closes = strikes and bool(before[p.normal].min() < -rest)
        if closes:
            self._require_free(p, before[p.normal] < -rest)
            m.w[:] += self._change_by(p.G.T @ self._impulses(p, before, slow))
        after = p.G @ m.w
        rates = after[: 3 * len(numbers)].reshape(-1, 3)
        slip = np.hypot(rates[:, 1], rates[:, 2])
        leaves = np.abs(rates[:, 0]) > np.maximum(rest, self._slow_rise(p))
        modes[numbers] = np.where(slip <= rest, STICKS, SLIDES)
        self._open(numbers[leaves])
        m.v[:] = self._in_joints(m.q, m.w)
        m.last[AFRESH], m.last[KNOWN], m.last[BEFORE] = 1.0, 0.0, 0.0
        self._evaluate()
        m.powers[0] = e.powers(self._at_end, m.w, m.multipliers)
        if closes and self._beside is not None:
            self._beside += [*beside, self._kept()]

    def _close(self, hits: np.ndarray) -> None:
        """Move the bodies so that points that overlap by more than round-off do not, and those that touch still do.

        A gap that `MOST_MOVES` of them leave is within the accuracy of contacts below `_reach`; one that is small
        against the shapes, `LEFT`, is told of.

        Raises `ConvergenceError` for a larger one.
        """
        for _ in range(MOST_MOVES):
            gaps = self._gaps()
            hits = hits[gaps[hits] < np.inf]
            near = np.flatnonzero((self._modes() != OPEN) | (gaps < -self._touching) | np.isin(range(len(gaps)), hits))
            if np.abs(gaps[hits]).max(initial=0.0) <= self._touching:
                return
            points = self._points(near)
            n, rows, moves = len(near), points.normal, np.zeros(len(near))
            low, high = np.where(np.isin(near, hits), -np.inf, 0.0), np.full(n, np.inf)
            W, none = np.ascontiguousarray(points.W[rows, rows]), np.zeros(n)
            solve_cones(
                W, gaps[near], np.arange(n + 1), np.full(n, -1), none, low, high, 0.1 * self._touching, 0, moves
            )
            self._displace(points.X[:, rows] @ moves)
        left = np.abs(self._gaps()[hits])
        sizes = [self._contact_of(k).size for k in hits.tolist()]
        worst = int((left / sizes).argmax())
        if left.max() <= self._reach:
            return
        message = (
            f"At t = {self.t:.6g} the contact {self._contact_of(hits[worst]).name!r} of "
            f"{self.equations.mechanism.name!r} cannot be closed: a gap of {left[worst]:.3g} (length) remains, because "
            "joints or other contacts hold its bodies. Take smaller steps, or fewer contacts of the same bodies."
        )
        if left[worst] > LEFT * sizes[worst]:
            raise ConvergenceError(message)
        self._unclosed.append(message)

    def _require_free(self, p: Points, closing: np.ndarray) -> None:
        """Raises `ConvergenceError` when joints and drivers prescribe the rate of a point that is `closing` (n,)."""
        e, flat = self.equations, self.flat
        everything, none = range(flat.joint_rows), np.zeros(flat.joint_rows)
        for j in np.flatnonzero(closing).tolist() if flat.joint_rows else []:
            row = p.G[3 * j]
            if p.W[3 * j, 3 * j] <= BLOCKED * (row @ e.on_joints(row, none, everything)[0]):
                contact = self._contact_of(p.numbers[j])
                raise ConvergenceError(
                    f"At t = {self.t:.6g} the bodies of the contact {contact.name!r} of {e.mechanism.name!r} meet with "
                    f"{-(row @ self.motion.w):.6g} (speed), but joints and drivers prescribe their motion, so that no "
                    "impulse keeps them apart. Let a driver end before, or remove the contact."
                )

    def _impulses(self, p: Points, before: np.ndarray, slow: np.ndarray) -> np.ndarray:
        """The impulses (m,) of an impact with the rates `before` (m,) of its points; its loss is counted. Points that
        close more slowly than `slow` (n,) have no restitution."""
        contacts = [self._contact_of(k) for k in p.numbers.tolist()]
        restitution = np.where(-before[p.normal] > slow, [c.restitution for c in contacts], 0.0)
        turning = self.flat.contact_turning[self.flat.point_contact[p.numbers], :2]
        friction, laws = [c.friction for c in contacts], [c.impact for c in contacts]
        scale = float(slow.max())
        for compliance in COMPLIANCES:
            W = p.W + compliance * np.trace(p.W) / len(p.W) * np.eye(len(p.W))
            try:
                impulses = impact_impulses(W, before, friction, restitution, laws, turning=turning, scale=scale)
                break
            except UnilateralError as error:
                if compliance == COMPLIANCES[-1]:
                    raise ConvergenceError(
                        f"At t = {self.t:.6g} no impulses were found for the impact of the contacts "
                        f"{', '.join(sorted({repr(c.name) for c in contacts}))} of {self.equations.mechanism.name!r}: "
                        f"{error}"
                    ) from error
        taken = -impulses * (before + 0.5 * p.W @ impulses)
        self._lost += float(taken.sum())
        self._record(contacts, np.bincount(p.own, taken), impulses[p.normal] != 0)
        return impulses

    def _change_by(self, impulse: np.ndarray) -> np.ndarray:
        """The change of the velocities (nv,) by an `impulse` (nv,) on the bodies. Joints respond to it; those that
        functions of time drive keep their rates, and the work of their impulses is counted."""
        e, flat = self.equations, self.flat
        change, multipliers = e.on_joints(impulse, np.zeros(flat.joint_rows))
        functions = flat.row_function[: flat.joint_rows]
        driven = functions >= 0
        self.motion.work[DRIVER] -= multipliers[driven] @ self._at_end[functions[driven], 1]
        return change

    def _record(self, contacts: Sequence[ExactContact], lost: np.ndarray, struck: np.ndarray) -> None:
        """Add the contacts that an impact `struck` to the events, with what each lost, up to `MOST_RECORDS`."""
        by_name: dict[str, float] = {}
        for contact, share, yes in zip(contacts, lost.tolist(), struck, strict=True):
            if yes:
                by_name[contact.name] = by_name.get(contact.name, 0.0) + share
        room = MOST_RECORDS - len(self._happened)
        self._happened += [EventRecord(float(self.t), name, share) for name, share in list(by_name.items())[:room]]

    def _on_joints(self) -> None:
        """Let the velocities satisfy the joint equations, which those of the method violate by a part of second order:
        a start anew, with a part of a step, would need large reactions for it."""
        if self.flat.joint_rows:
            m = self.motion
            self._evaluate()
            m.w[:] -= self.equations.mass_weighted_projection(self.equations.broken_rates(self._at_end, m.w))
            m.v[:] = self._in_joints(m.q, m.w)
