"""Generalised-alpha with exact contacts: smooth steps (flexmb/kernels/steps/contact_step.py) and the impacts between.

A step in which bodies would overlap, or in which a point begins or ceases to slide, is divided at this instant, which
is located by steps of other sizes from the same motion, so that positions and velocities remain of second order. The
instants of sliding are not located while more than `LOCATED` points touch.

After `MOST_PARTS` changes in a step, those that are left happen at its end, of which a warning tells.
"""

import numpy as np
import scipy

from fem.errors import ConvergenceError
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.errors import CrowdedStepWarning, OpenGapWarning
from flexmb.integrators.alpha_run import LONGEST_RUN
from flexmb.integrators.contact.impacts import ImpactRun
from flexmb.integrators.integrator import Finding
from flexmb.kernels.calls import advance_touching
from flexmb.kernels.steps.contact_step import FREELY, PROBE, THROUGH
from flexmb.kernels.steps.step import AFRESH, CHANGES, CONVERGED, DIVERGED, JAMMED, SIZE, USUAL, Scheme
from flexmb.kernels.steps.touching import BOUNDARY
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, STATES, STICKS
from flexmb.mechanism.mechanism import Mechanism

BEGINNING = 1e-4
"""Part of the first step in which the forces at the beginning are found."""
MOST_NAMES = 6
"""Contacts that a message names."""
MOST_PARTS = 100
"""Changes in a step that are located."""
SAME, SLIP_INSTANT, EARLIER = 1e-12, 1e-6, 1e-9
"""Accuracy of the instants of impacts and of those of sliding, and the part of a step before an impact, relative to
the step."""


class ContactRun(ImpactRun):
    """An integration with exact contacts, by fixed steps."""

    def __init__(self, mechanism: Mechanism, begin: Start, scheme: Scheme, *, step: float, coordinates: str) -> None:
        super().__init__(mechanism, begin, scheme, step=step, coordinates=coordinates)
        self._after_change = scheme._replace(alpha_m=0.0, alpha_f=0.0, beta=0.5, gamma=1.0)
        self._breaking = self._idle = np.zeros(0, dtype=np.int64)
        self._crowded: list[str] = []
        self._meet(step, strikes=False)
        self._begin_with_forces(step)

    @property
    def findings(self) -> list[Finding]:
        """Warnings of the steps with more changes than are located, and of the impacts after which gaps remain."""
        found: list[Finding] = []
        for kind, all_of in ((CrowdedStepWarning, self._crowded), (OpenGapWarning, self._unclosed)):
            more = f" This holds for {len(all_of)} steps in all." if len(all_of) > 1 else ""
            found += [(kind, all_of[0] + more)] if all_of else []
        return found

    def prepare(self) -> None:
        """Compile the steps, and let the points touch that have no gap."""
        self._go(1.0, np.zeros((0, *self._at_end.shape)), FREELY)
        self.motion.last[AFRESH] = 1.0
        self.motion.last[SIZE] = self.motion.last[USUAL] = self.step
        assert self.step is not None
        self._meet(self.step)

    def fixed(self, target: float, step: float) -> None:
        """Integrate to `target` by equal steps that are at most `step` long, divided at impacts."""
        steps = max(1, int(np.ceil((target - self.t) / step * (1 - 1e-9))))
        h, begin, done = (target - self.t) / steps, self.t, 0
        self.motion.last[USUAL] = h
        while done < steps:
            ends = np.arange(done + 1, min(done + LONGEST_RUN, steps) + 1)
            functions = self.equations.mechanism.function_table(begin + h * ends)
            while done < ends[-1]:
                left = functions[done - ends[-1] :]
                outcome, complete = self._go(h, left, FREELY)
                self._take(complete, h, left)
                done += complete
                self.t = begin + h * done
                if outcome == CHANGES:
                    self._divided(h)
                    done += 1
                    self.t = begin + h * done
                elif outcome != CONVERGED:
                    self._fail(outcome, h)
        self.t = target

    def to(self, target: float) -> Snapshot:
        """Integrate to the time `target`."""
        assert self.step is not None
        self.fixed(target, self.step)
        return self.now()

    def several(self, targets: np.ndarray) -> None:
        """None: impacts are located between stored times."""

    def _go(self, h: float, functions: np.ndarray, end: int) -> tuple[int, int]:
        e = self.equations
        out: tuple[int, int] = advance_touching(
            self.flat,
            self.tree,
            self.weight,
            self.scheme,
            self._after_change,
            h,
            len(functions),
            end,
            functions,
            self.motion,
            e.kinematics,
            e.workspace,
        )
        return out

    def _take(self, done: int, h: float, functions: np.ndarray) -> None:
        if done:
            self._at_end = functions[done - 1]
            self._steps.take(done, h)

    def _fail(self, outcome: int, h: float) -> None:
        if outcome == JAMMED:
            name = self._contact_of(int(self.equations.workspace.touch_count[1])).name
            raise ConvergenceError(
                f"At t = {self.t:.6g} no forces of the contact {name!r} of {self.equations.mechanism.name!r} and those "
                f"connected with it were found that satisfy unilateral contact and friction, with a step of {h:.3g}. "
                "Take smaller steps, less friction (a body may jam), or fewer contacts of the same bodies, and let no "
                "driver press them into each other."
            )
        count = int(self.equations.workspace.touch_count[0])
        if outcome == DIVERGED and count:
            names = sorted({self._contact_of(int(k)).name for k in self.equations.workspace.touch_point[:count]})
            raise ConvergenceError(
                f"The Newton iteration of {self.equations.mechanism.name!r} fails at t = {self.t:.6g} with a step of "
                f"{h:.3g} and {count} touching points of {', '.join(map(repr, names[:MOST_NAMES]))}"
                f"{' and more' if len(names) > MOST_NAMES else ''}. Take smaller steps, less friction, also in joints "
                "(a body may jam), fewer contacts of the same bodies, or give the contacts a law= of the normal force."
            )
        super()._fail(outcome, h)

    def _divided(self, h: float) -> None:
        """One step of size `h`, divided at impacts and where points begin or cease to slide."""
        left, parts = h, 0
        while left > SAME * h:
            self._on_joints()
            size, hits = self._free_part(left) if parts < MOST_PARTS else self._rest(left, h)
            if size > SAME * h:
                self._part(size, THROUGH)
                self.t += size
                hits = self._still(hits)
            self._modes()[self._breaking] = SLIDES
            self._breaking = self._breaking[:0]
            left -= size
            parts += 1
            if len(hits):
                self._open(self._idle)
                self._close(hits)
                self._meet(h, hits)
            if self._leave():
                self._meet(h)
        self.motion.last[SIZE] = h

    def _rest(self, left: float, h: float) -> tuple[float, np.ndarray]:
        """The rest of a step of size `h` with more changes than are located, and the points that hit at its end; a
        sentence on it is added to `_crowded`."""
        changes, hits = self._probe(left)
        if changes or len(hits):
            names = sorted({repr(self._contact_of(int(k)).name) for k in hits})
            self._crowded.append(
                f"After {MOST_PARTS} impacts and changes of sliding in the step of {h:.3g} to t = {self.t + left:.6g}, "
                f"{self.equations.mechanism.name!r} has further ones"
                + (f", of {', '.join(names)}" if names else "")
                + ", which happen at its end. Take shorter steps."
            )
        return left, hits

    def _part(self, size: float, end: int) -> bool:
        """A part of a step, which is a new start; whether something changes in it."""
        self.motion.last[AFRESH] = 1.0
        functions = self.equations.mechanism.function_table(np.array([self.t + size]))
        outcome, done = self._go(size, functions, end)
        if outcome not in (CONVERGED, CHANGES):
            self._fail(outcome, size)
        self._take(done, size, functions)
        return outcome == CHANGES

    def _probe(self, size: float) -> tuple[bool, np.ndarray]:
        """Whether a point begins or ceases to slide, and none hits, in a part of a step, and the open points that hit,
        which overlap at its end."""
        changes = self._part(size, PROBE)
        self._idle = self._without_force()
        hits = np.flatnonzero((self.equations.workspace.point_gap < -self._touching) & (self._modes() == OPEN))
        return changes and not len(hits), hits

    def _free_part(self, left: float) -> tuple[float, np.ndarray]:
        """The part of `left` until the first change, and the points that hit at its end."""
        size = before = left
        slips, hits = self._probe(left)
        if len(hits):
            struck, hits = hits, self._with_others(hits)
            begin = self._gaps()[hits]
            at_once = self._not_leaving(hits[begin <= self._touching])
            on_rims = np.isin(self.flat.point_contact[at_once], self._cylinders)
            if len(own := at_once[~on_rims | np.isin(at_once, struck)]):
                at_once = own
            if len(at_once):
                return 0.0, at_once
            size = self._first_hit(left, hits, float(begin.min()))
            if size == 0.0:
                return 0.0, hits[begin <= self._touching]
            before = size * (1.0 - EARLIER)
            slips, _ = self._probe(before)
        if slips:
            return self._until_change(before), np.zeros(0, dtype=np.int64)
        if len(hits):
            self._part(size, PROBE)
            hits = hits[self.equations.workspace.point_gap[hits] <= self._reach]
        return size, hits

    def _still(self, hits: np.ndarray) -> np.ndarray:
        """The points `hits` at the end of the part that leads to them. Those of pairs of features are listed anew, as a
        point of a contact need not hold the pair that it held when the part was tried."""
        contacts, gaps = self.flat.point_contact, self._gaps()
        listed = self.flat.contact_feature[contacts] >= 0
        same = listed & np.isin(contacts, contacts[hits]) & (self._modes() == OPEN) & (gaps <= self._reach)
        same[hits[~listed[hits]]] = True
        return np.flatnonzero(same)

    def _first_hit(self, left: float, hits: np.ndarray, gap: float) -> float:
        """The part of `left` until the first of the points `hits`, whose least gap is now `gap`, hits. Points without
        a gap leave now, and come back."""

        def least(size: float) -> float:
            if size == 0.0:
                return gap
            self._part(size, PROBE)
            return min(float(self.equations.workspace.point_gap[hits].min()), float(self.flat.scales[0]))

        away, back = 0.0, left
        if gap <= self._touching:
            away = 0.5 * back
            while least(away) <= 0.0 and away > SAME * left:
                away, back = 0.5 * away, away
            if away <= SAME * left:
                return 0.0
        return float(scipy.optimize.brentq(least, away, back, xtol=SAME * left, rtol=1e-15))

    def _not_leaving(self, touching: np.ndarray) -> np.ndarray:
        """Those of points without a gap that do not leave."""
        points = self._points(touching)
        rates = points.G[points.normal] @ self.motion.w
        return touching[rates <= self._slow_rise(points)]

    def _until_change(self, left: float) -> float:
        """The part of `left` until a point begins or ceases to slide.

        Points that stick until then are listed in `self._breaking`, and slide from then on. Without them, the part ends
        just after the change, at which friction has stopped the slip.
        """
        low, high = 0.0, left
        while high - low > SLIP_INSTANT * left:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._part(middle, PROBE) else (middle, high)
        self._part(high, PROBE)
        space = self.equations.workspace
        n = int(space.touch_count[0])
        own = np.flatnonzero(space.touch_turns[:n] == 0)
        points, force, rate = space.touch_point[own], space.touch_force[own], space.touch_rate[own]
        grip = np.linalg.norm(force[:, 1:], axis=1)
        at_bound = grip >= (1.0 - BOUNDARY) * space.touch_friction[own] * force[:, 0]
        coefficients = self.flat.contact_friction[self.flat.point_contact[points]]
        drops = (coefficients[:, 1] > coefficients[:, 0]) & (self._modes()[points] == STICKS) & at_bound
        self._breaking = points[drops & (np.linalg.norm(rate[:, 1:], axis=1) > 0.0)].copy()
        return low if len(self._breaking) else high

    def _with_others(self, hits: np.ndarray) -> np.ndarray:
        """The points `hits`, and the open ones of the same contacts whose pairs of features are listed anew in every
        configuration."""
        contacts = self.flat.point_contact
        listed = self.flat.contact_feature[contacts] >= 0
        same = listed & np.isin(contacts, contacts[hits]) & (self._modes() == OPEN)
        same[hits] = True
        return np.flatnonzero(same)

    def _begin_with_forces(self, h: float) -> None:
        """Forces of the points that touch at the beginning, with the accelerations and multipliers, from the first part
        of a step that is not kept."""
        m, space = self.motion, self.equations.workspace
        if not self._modes().any():
            return
        m.last[USUAL] = h
        self._part(BEGINNING * h, PROBE)
        n = int(space.touch_count[0])
        points, turns = space.touch_point[:n], space.touch_turns[:n]
        own = np.where(turns, self.flat.turn_state[points], self.flat.contact_state + STATES * points)
        for at, force in zip(own, space.touch_force[:n], strict=True):
            m.states[at + 1 : at + STATES] = force
        m.wdot[:], m.multipliers[:] = space.wdot, space.multipliers
