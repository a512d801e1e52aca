"""Generalised-alpha with points that may touch: their gaps, what they do, and how bodies respond to forces on them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from flexmb.equations.initial_conditions import Start
from flexmb.errors import MechanismError
from flexmb.integrators.alpha_run import GeneralisedAlphaRun
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.calls import all_gaps, drop_left, joint_poses, place_markers, rim_limits, touch
from flexmb.kernels.steps.contact_step import HIT
from flexmb.kernels.steps.step import Scheme
from flexmb.mechanism.contacts.element import moved_apart
from flexmb.mechanism.contacts.exact import OPEN, STATES, ExactContact
from flexmb.mechanism.mechanism import Mechanism

REACH = 1e-9
"""Gap, relative to the length of the mechanism, within which a point takes part in an impact."""
DRAWN = 1e-6
"""Overlap, relative to the length of the mechanism, with which a motion may begin."""
ENOUGH = 4
"""Points of a common area of two polyhedra that carry, unless they do not suffice."""


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


class TouchingRun(GeneralisedAlphaRun):
    """An integration by fixed steps of bodies some of whose points may touch, at its present configuration."""

    def __init__(self, mechanism: Mechanism, begin: Start, scheme: Scheme, *, step: float, coordinates: str) -> None:
        super().__init__(mechanism, begin, scheme, step=step, tolerance=1.0, longest=step, coordinates=coordinates)
        self._touching = HIT * self.flat.scales[0]
        self._cylinders = [k for k, contact in enumerate(mechanism.contacts) if contact.on_rims]
        for at, first, last in zip(self.flat.contact_feature, *self._slots, strict=True):
            if at >= 0:
                self.equations.workspace.point_feature[first:last] = self.motion.states[at : at + last - first]
        self._require_apart()

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

    def _open(self, numbers: np.ndarray) -> None:
        """Let points (n,) be open, without forces and moments."""
        turning = self.flat.turn_state[numbers]
        for first in (self.flat.contact_state + STATES * numbers, turning[turning >= 0]):
            self.motion.states[first[:, None] + np.arange(STATES)] = OPEN

    def _leave(self) -> bool:
        """Open the points that have left the borders of their pairs of features; whether there are any."""
        e = self.equations
        if not (self.flat.contact_feature >= 0).any():
            return False
        self._place()
        return bool(drop_left(self.flat, e.kinematics, e.workspace, self.motion.states))

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

    def _slow_rise(self, p: Points) -> np.ndarray:
        """Rates (n,) of leaving points with which they would rise, against the accelerations that bring them back, by
        less than the gap within which points touch."""
        return np.asarray(np.sqrt(2.0 * self._touching * self._accelerations(p)))

    def _accelerations(self, p: Points) -> np.ndarray:
        """A scale (n,) of the accelerations of points along their normals."""
        return np.asarray(np.abs(p.G[p.normal] @ self.motion.wdot) + float(np.linalg.norm(self.flat.gravity)))

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

    def _displace(self, change: np.ndarray) -> None:
        m, e = self.motion, self.equations
        m.q[:] = e.displaced(m.q, change)
        place_markers(self.flat, m.q, e.kinematics)
        joint_poses(self.flat, self.tree, e.kinematics, m.q, m.pose)
