"""Explicit Runge-Kutta steps in the joint coordinates of an open tree of rigid bodies, without joint equations or
projection."""

import numpy as np

from fem.errors import FlexmbError
from flexmb.equations.failures import diverged
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.spanning_tree import tree_of
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.explicit_absolute import ExplicitAbsoluteRun
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.calls import (
    balance_rows,
    joint_exponential_rates,
    joint_poses,
    joint_velocities,
    moved_joints,
    place_bodies,
    place_markers,
    powers_of,
    tree_accelerations,
)
from flexmb.kernels.joint_coordinates.articulated import make_articulated
from flexmb.mechanism.compile import part_of
from flexmb.mechanism.mechanism import Mechanism


class ExplicitJointRun(ExplicitAbsoluteRun):
    """A running integration; see `ExplicitAbsoluteRun`.

    Accelerations are computed by recursion (flexmb/kernels/joint_coordinates/articulated.py), in about a microsecond
    for seven bodies.
    """

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        super().__init__(mechanism, begin, step=step, tolerance=tolerance, end=end, pace=pace)
        e, flat = self.equations, self.equations.flat
        self.tree = tree_of(mechanism)
        _require_open_tree(mechanism, len(self.tree.axes))
        nb, ny = len(flat.modes), len(self.tree.weight)
        rows = np.arange(flat.joint_rows, len(flat.row_kind))
        self._part = part_of(flat, rows, np.arange(len(flat.load_marker)))
        others = (flat.group_marker, flat.line_kind, flat.control_law)
        self._acting = len(rows) + len(flat.load_marker) + sum(map(len, others)) > 0
        self._kinematics, self._workspace = make_marker_kinematics(self._part), make_workspace(self._part)
        self._bodies = make_articulated(flat, self.tree)
        place_markers(flat, self.q, e.kinematics)
        self._pose, v = np.zeros((nb, 7)), np.zeros(ny)
        joint_poses(flat, self.tree, e.kinematics, self.q, self._pose)
        joint_velocities(flat, self.tree, e.kinematics, self.q, self.v, v)
        self._w, self._since = self.v, self.t  # velocities of the bodies at the end of the last step, and its time
        self.v, self.weight, self._uniform = v, self.tree.weight, self.tree.axes < 3
        self._still, self._forces = np.zeros(ny), np.zeros(6 * nb)

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        q, w, _ = self._placed(self._still, self.v)
        self.equations.expect()
        self.equations.states[:] = self._states
        return self.equations.snapshot(self.t, q, w, self.work)

    def _placed(self, theta: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configuration and velocities of the bodies, and relative poses of the joints, for increments `theta` (ny,)
        and velocities `v` (ny,) of the joints."""
        flat, nb = self.equations.flat, len(self._pose)
        q, w, pose = np.empty_like(self.q), np.empty(6 * nb), np.empty_like(self._pose)
        place_bodies(flat, self.tree, self._pose, self.q, theta, v, self._still, self.q, pose, q, w, np.empty(6 * nb))
        return q, w, pose

    def _lost(self, h: float) -> FlexmbError:
        q, w, _ = self._placed(self._still, self.v)
        return diverged(self.equations, self.t, h, w, q=q, states=self._states, explicit=True)

    def _take(self, moved: np.ndarray, faster: np.ndarray) -> None:
        e = self.equations
        self.q, w, self._pose = self._placed(moved, faster)
        self._expect(self.t, w)
        self.v, self._w, self._since = faster, w, self.t
        place_markers(e.flat, self.q, e.kinematics)
        e.keep_angles(e.mechanism.function_values(self.t))

    def _expect(self, t: float, w: np.ndarray) -> None:
        """Predict the angles at `t` from the mean of the velocities at the end of the last step and of `w`."""
        self.equations.expect(0.5 * (t - self._since) * (self._w + w))

    def _act(self, t: float, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Evaluate the forces of springs, laws and loads on the bodies, in body axes; returns their powers (4,)."""
        q, w, _ = self._placed(theta, v)
        self._expect(t, w)
        functions = self.equations.mechanism.function_values(t)
        none, powers, energies = np.zeros(0), np.zeros(4), np.zeros(5)
        self._workspace.half[0], self._workspace.state_base[:] = 0.0, self.equations.states
        balance_rows(
            self._part,
            q,
            w,
            none,
            functions,
            self.equations.expected,
            self._kinematics,
            self._workspace,
            self._forces,
            energies,
        )
        require_sound(self.equations.mechanism.calls)
        powers_of(self._part, functions, none, w, self._workspace, powers)
        return powers

    def _state_rates(self) -> np.ndarray:
        return self._workspace.state_rates

    def _rates(self, t: float, theta: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        powers = self._act(t, theta, w) if self._acting else np.zeros(4)
        self._bodies.force[:] = self._forces.reshape(-1, 6)
        pose, vdot, rates = np.empty_like(self._pose), np.empty_like(w), np.empty_like(w)
        moved_joints(self.tree, self._pose, theta, pose)
        tree_accelerations(self.equations.flat, self.tree, pose, w, self._bodies, vdot)
        joint_exponential_rates(self.tree, theta, w, rates)
        return rates, vdot, powers


def _require_open_tree(mechanism: Mechanism, free: int) -> None:
    """Raises `IntegratorError` when a mechanism is not an open tree of rigid bodies on joints without drivers or
    relations."""
    flexible = [body.name for body in mechanism.bodies if body.is_flexible]
    driven = [j.name for j in mechanism.joints if any(mechanism.rows[r].function >= 0 for r in j.rows)]
    related = [j.name for j in mechanism.joints if any(mechanism.rows[r].terms for r in j.rows)]
    closed = mechanism.joint_rows != 6 * len(mechanism.bodies) - free
    for wrong, what in (
        (flexible, "flexible bodies"),
        (driven, "driven joints"),
        (related, "relations between joints"),
    ):
        if wrong:
            raise IntegratorError(
                "Explicit steps in joint coordinates require rigid bodies on joints without drivers and relations; "
                f"{mechanism.name!r} has {what}: {', '.join(map(repr, wrong))}. Use coordinates='absolute', or "
                "generalised-alpha."
            )
    if closed:
        raise IntegratorError(
            f"Explicit steps in joint coordinates require an open tree; the joints of {mechanism.name!r} close loops, "
            "or are of kinds whose motions do not form a group (universal, point-on-line). Use "
            "coordinates='absolute', or generalised-alpha."
        )
