"""Generalised-alpha with exact contacts: smooth steps (flexmb/kernels/steps/contact_step.py) and the impacts between.

A step in which bodies would overlap, or in which a point begins or ceases to slide, is divided at this instant, which
is located by steps of other sizes from the same motion, so that positions and velocities remain of second order. The
instants of sliding are not located while more than `LOCATED` points touch.

An impact that closes with less than twice the speed that the accelerations produce in a step is one without
restitution; otherwise a bouncing body that comes to rest would need infinitely many. After `MOST_PARTS` changes in a
step, those that are left happen at its end, of which a warning tells.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from fem.errors import ConvergenceError
from flexmb.contact.impacts import CLOSES, impact_impulses
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.errors import CrowdedStepWarning, MechanismError, OpenGapWarning, UnilateralError
from flexmb.integrators.alpha_run import LONGEST_RUN, GeneralisedAlphaRun
from flexmb.integrators.integrator import Finding
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.calls import (
    advance_touching,
    all_gaps,
    drop_left,
    joint_poses,
    keep_features,
    place_markers,
    rim_limits,
    solve_cones,
    touch,
)
from flexmb.kernels.equations.residual import DRIVER
from flexmb.kernels.steps.contact_step import FREELY, HIT, PROBE, THROUGH
from flexmb.kernels.steps.step import (
    AFRESH,
    BEFORE,
    CHANGES,
    COMPLIANCES,
    CONVERGED,
    DIVERGED,
    JAMMED,
    KNOWN,
    SIZE,
    USUAL,
    Scheme,
)
from flexmb.kernels.steps.touching import BOUNDARY
from flexmb.mechanism.contacts.element import moved_apart
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, STATES, STICKS, ExactContact
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import EventRecord

BLOCKED = 1e-10
"""Response of a point, relative to that without joints, below which they prescribe its rate."""
REACH = 1e-9
"""Gap, relative to the length of the mechanism, within which a point takes part in an impact."""
DRAWN = 1e-6
"""Overlap, relative to the length of the mechanism, with which a motion may begin, and gap, relative to the smaller of
two shapes, which an impact may leave."""
STILL = CLOSES
"""Rate, relative to the largest of the points of an impact, below which a point is at rest."""
SLOW = 2.0
"""Closing speed of an impact without restitution, relative to the change of the speed in a step."""
BEGINNING = 1e-4
"""Part of the first step in which the forces at the beginning are found."""
ENOUGH = 4
"""Points of a common area of two polyhedra that carry, unless they do not suffice."""
MOST_RECORDS, MOST_NAMES = 10_000, 6
"""Impacts that are reported one by one, and contacts that a message names."""
MOST_MOVES = 8
"""Largest number of displacements, steps of Newton's method, by which the points of an impact are closed."""
MOST_PARTS = 100
"""Changes in a step that are located."""
SAME, SLIP_INSTANT, EARLIER = 1e-12, 1e-6, 1e-9
"""Accuracy of the instants of impacts and of those of sliding, and the part of a step before an impact, relative to
the step."""


class Points(NamedTuple):
    """Points that touch: their numbers (n,), rates by velocities `G` (m, nv), their response `X` (nv, m) with the
    joints, the matrix `W` (m, m), and the place among the points of each row, `own` (m,): three rows a point, and then
    those of friction of turning if they are included."""

    numbers: np.ndarray
    G: np.ndarray
    X: np.ndarray
    W: np.ndarray
    own: np.ndarray

    @property
    def normal(self) -> slice:
        """The rows of the normals."""
        return slice(0, 3 * len(self.numbers), 3)


class ContactRun(GeneralisedAlphaRun):
    """An integration with exact contacts, by fixed steps."""

    def __init__(self, mechanism: Mechanism, begin: Start, scheme: Scheme, *, step: float, coordinates: str) -> None:
        super().__init__(mechanism, begin, scheme, step=step, tolerance=1.0, longest=step, coordinates=coordinates)
        self._after_change = scheme._replace(alpha_m=0.0, alpha_f=0.0, beta=0.5, gamma=1.0)
        self._lost = 0.0
        self._breaking = self._idle = np.zeros(0, dtype=np.int64)
        self._happened: list[EventRecord] = []
        self._crowded: list[str] = []
        self._unclosed: list[str] = []
        self._touching = HIT * self.flat.scales[0]
        self._cylinders = [k for k, contact in enumerate(mechanism.contacts) if contact.on_rims]
        for at, first, last in zip(self.flat.contact_feature, *self._slots, strict=True):
            if at >= 0:
                self.equations.workspace.point_feature[first:last] = self.motion.states[at : at + last - first]
        self._require_apart()
        self._meet(step, strikes=False)
        self._begin_with_forces(step)

    # the interface of an integrator -----------------------------------------------------------------------------------

    @property
    def happened(self) -> list[EventRecord]:
        """The impacts so far."""
        return self._happened

    @property
    def findings(self) -> list[Finding]:
        """Warnings of the steps with more changes than are located, and of the impacts after which gaps remain."""
        found: list[Finding] = []
        for kind, all_of in ((CrowdedStepWarning, self._crowded), (OpenGapWarning, self._unclosed)):
            more = f" This holds for {len(all_of)} steps in all." if len(all_of) > 1 else ""
            found += [(kind, all_of[0] + more)] if all_of else []
        return found

    def now(self) -> Snapshot:
        """The present motion, with the energy lost in impacts."""
        return super().now()._replace(lost=self._lost)

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
                "Take smaller steps, less friction (a body may jam), or fewer contacts of the same bodies."
            )
        count = int(self.equations.workspace.touch_count[0])
        if outcome == DIVERGED and count:
            names = sorted({self._contact_of(int(k)).name for k in self.equations.workspace.touch_point[:count]})
            raise ConvergenceError(
                f"The Newton iteration of {self.equations.mechanism.name!r} fails at t = {self.t:.6g} with a step of "
                f"{h:.3g} and {count} touching points of {', '.join(map(repr, names[:MOST_NAMES]))}"
                f"{' and more' if len(names) > MOST_NAMES else ''}. Take smaller steps, less friction (a body may "
                "jam), fewer contacts of the same bodies, or give the contacts a law= of the normal force."
            )
        super()._fail(outcome, h)

    # impacts ----------------------------------------------------------------------------------------------------------

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

    def _without_force(self) -> np.ndarray:
        """The points on which cylinders stand that had no force at the end of the last part, of contacts with at least
        `ENOUGH` touching points: a cylinder comes to lean on ever new points of its rim."""
        space = self.equations.workspace
        n = int(space.touch_count[0])
        own = np.flatnonzero(space.touch_turns[:n] == 0)
        points, force = space.touch_point[own], space.touch_force[own, 0]
        contacts = self.flat.point_contact[points]
        many = np.isin(contacts, self._cylinders) & (np.bincount(contacts, minlength=1)[contacts] >= ENOUGH)
        idle: np.ndarray = points[many & (force <= 0.0)]
        return idle

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

    def _slow_rise(self, p: Points) -> np.ndarray:
        """Rates (n,) of leaving points with which they would rise, against the accelerations that bring them back, by
        less than the gap within which points touch."""
        return np.asarray(np.sqrt(2.0 * self._touching * self._accelerations(p)))

    def _accelerations(self, p: Points) -> np.ndarray:
        """A scale (n,) of the accelerations of points along their normals."""
        return np.asarray(np.abs(p.G[p.normal] @ self.motion.wdot) + float(np.linalg.norm(self.flat.gravity)))

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

    def _leave(self) -> bool:
        """Open the points that have left the borders of their pairs of features; whether there are any."""
        e = self.equations
        if not (self.flat.contact_feature >= 0).any():
            return False
        self._place()
        return bool(drop_left(self.flat, e.kinematics, e.workspace, self.motion.states))

    def _spread(self, numbers: np.ndarray, hits: Sequence[int] | np.ndarray) -> np.ndarray:
        """The points `numbers` without those of common areas that need not carry: `ENOUGH` points far from each other
        of a contact suffice, with those that touch already and the `hits`. If they do not, the others hit later."""
        flat, modes, at = self.flat, self._modes(), self.equations.workspace.point_at
        kept = []
        for c in np.unique(flat.point_contact[numbers]).tolist():
            own = numbers[flat.point_contact[numbers] == c]
            if flat.contact_feature[c] < 0 or len(own) <= ENOUGH:
                kept.append(own)
                continue
            needed = (modes[own] != OPEN) | np.isin(own, hits)
            distance = np.linalg.norm(at[own][:, None] - at[own][None], axis=2)
            if not needed.any():
                needed[np.unravel_index(distance.argmax(), distance.shape)[0]] = True
            while needed.sum() < ENOUGH:
                needed[np.where(needed, -1.0, distance[needed].min(axis=0)).argmax()] = True
            kept.append(own[needed])
        return np.sort(np.concatenate([*kept, np.zeros(0, dtype=np.int64)]))

    def _place(self) -> None:
        """Set the kinematics of the present configuration, and at which lean its cylinders stand."""
        e, m = self.equations, self.motion
        assert self.step is not None
        place_markers(self.flat, m.q, e.kinematics)
        rim_limits(self.flat, e.kinematics, e.workspace, m.w, m.wdot, self.step)

    @property
    def _slots(self) -> tuple[np.ndarray, np.ndarray]:
        """The first of the points of each contact, and the end."""
        return self.flat.contact_point[:-1], self.flat.contact_point[1:]

    @property
    def _reach(self) -> float:
        return REACH * float(self.flat.scales[0])

    def _gaps(self) -> np.ndarray:
        """The gaps of all points at the present configuration."""
        e = self.equations
        self._place()
        all_gaps(self.flat, e.kinematics, e.workspace, self.motion.states)
        gaps: np.ndarray = e.workspace.point_gap
        return gaps

    def _modes(self) -> np.ndarray:
        """The modes of all points: a view of the states."""
        first = self.flat.contact_state
        modes: np.ndarray = self.motion.states[first : first + STATES * len(self.flat.point_contact) : STATES]
        return modes

    def _contact_of(self, point: int) -> ExactContact:
        return self.equations.mechanism.contacts[self.flat.point_contact[point]]

    def _points(self, numbers: np.ndarray, turning: bool = False) -> Points:
        """Rates and responses of points at the present configuration, with those of their friction of `turning`."""
        e, flat, nv = self.equations, self.flat, len(self.motion.w)
        e.expect()
        e.residual(self._at_end, self.motion.q, self.motion.w, np.zeros(nv), np.zeros(flat.joint_rows))
        own = np.repeat(np.arange(len(numbers)), 1 + (turning & (flat.turn_state[numbers] >= 0)))
        turns = np.diff(own, prepend=-1) == 0
        count = len(own)
        e.workspace.touch_count[0], e.workspace.touch_point[:count] = count, numbers[own]
        e.workspace.touch_turns[:count] = turns
        touch(flat, e.kinematics, e.workspace)
        contacts, G = flat.point_contact[numbers[own]], np.zeros((count, 3, nv))
        for j, markers in enumerate(flat.contact_markers[contacts]):
            for side, b in enumerate(flat.marker_body[markers]):
                if b != GROUND:
                    s, end = flat.v_start[b], flat.v_start[b + 1]
                    G[j, :, s:end] += e.workspace.touch_G[j, :, side, : end - s]
        rows = np.ones((count, 3), dtype=bool)
        rows[turns] = flat.contact_turning[contacts[turns]][:, [1, 0, 0]] > 0.0
        G = np.concatenate([G[~turns][rows[~turns]], G[turns][rows[turns]]])
        owners = np.repeat(own, 3).reshape(count, 3)
        own = np.concatenate([owners[~turns][rows[~turns]], owners[turns][rows[turns]]])
        none = np.zeros(flat.joint_rows)
        X = np.array([e.on_joints(row, none)[0] for row in G]).reshape(len(G), nv).T
        W = G @ X
        return Points(numbers, G, X, 0.5 * (W + W.T), own)

    def _close(self, hits: np.ndarray) -> None:
        """Move the bodies so that points that overlap by more than round-off do not, and those that touch still do.

        A gap that `MOST_MOVES` of them leave is within the accuracy of contacts below `_reach`; one that is small
        against the shapes, `DRAWN`, is told of.

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
        if left[worst] > DRAWN * sizes[worst]:
            raise ConvergenceError(message)
        self._unclosed.append(message)

    def _displace(self, change: np.ndarray) -> None:
        m, e = self.motion, self.equations
        m.q[:] = e.displaced(m.q, change)
        place_markers(self.flat, m.q, e.kinematics)
        joint_poses(self.flat, self.tree, e.kinematics, m.q, m.pose)

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
        p = self._points(numbers, turning=True)
        before = p.G @ m.w
        slow = SLOW * h * self._accelerations(p)
        rest = STILL * max(float(np.abs(before).max()), float(slow.max()))
        if strikes and before[p.normal].min() < -rest:
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

    def _open(self, numbers: np.ndarray) -> None:
        """Let points (n,) be open, without forces and moments."""
        turning = self.flat.turn_state[numbers]
        for first in (self.flat.contact_state + STATES * numbers, turning[turning >= 0]):
            self.motion.states[first[:, None] + np.arange(STATES)] = OPEN

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

    def _connected(self, numbers: np.ndarray, hits: Sequence[int] | np.ndarray) -> np.ndarray:
        """The points among `numbers` (n,) on which impulses at the points `hits` act, through bodies and joints."""
        flat, nb = self.flat, len(self.flat.modes)
        bodies = flat.marker_body[flat.contact_markers[flat.point_contact[numbers]]]
        groups = flat.body_group[np.maximum(bodies, 0)]
        ends = np.where(groups < 0, nb - 1 - groups, groups)
        links = ends[(bodies != GROUND).all(axis=1)]
        graph = sp.csr_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(2 * nb, 2 * nb))
        parts = connected_components(graph, directed=False)[1]
        own = parts[np.where(bodies[:, 0] != GROUND, ends[:, 0], ends[:, 1])]
        connected: np.ndarray = numbers[np.isin(own, own[np.isin(numbers, hits)])]
        return connected

    def _require_apart(self) -> None:
        """Raises `MechanismError` when bodies overlap at the beginning."""
        try:
            gaps = self._gaps()
        except ValueError as error:
            raise MechanismError(f"Exact contacts of {self.equations.mechanism.name!r} begin where {error}.") from None
        k = int(gaps.argmin())
        limit = DRAWN * float(self.flat.scales[0])
        if gaps[k] < -limit:
            contact = self._contact_of(k)
            a, b = contact.pair
            raise MechanismError(
                f"Contact {contact.name!r}: the {a.title} and the {b.title} begin inside each other, {-gaps[k]:.6g} "
                f"deep (length; at most {limit:.3g}, {DRAWN:g} of the mechanism). {moved_apart(contact.pair)}"
            )
