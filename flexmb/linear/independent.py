"""Independent coordinates of small motions, and the change of the corresponding displacements along the motion.

The coordinates are those of the joints of the spanning tree, and the elastic ones. Where joints close loops, or are
driven, some coordinates depend on the others and are eliminated. The same ones are eliminated along the motion, so that
the null space of the joint equations is continued smoothly. Displacements are then `x = N y` with a matrix `N` that
depends on time, and

    x' = N y' + N' y ,      x'' = N y'' + 2 N' y' + N'' y .

The equations of small motions `M x'' + D x' + K x + G^T dlambda = 0` thus become the linearised equations of Lagrange
in the coordinates `y`. Away from rest and steady motion, `N'` and `N''` contribute to them.

A rolling wheel that no joint of the tree holds has coordinates in axes that do not spin with it, in which the
coefficients of small motions about steady rolling are constant.

Source of the choice by pivots: Wehage, Haug, "Generalized coordinate partitioning for dimension reduction in analysis
of constrained dynamic systems" (1982).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from flexmb.equations.initial_conditions import row_jacobian
from flexmb.equations.projection import velocity_rows
from flexmb.equations.spanning_tree import tree_of
from flexmb.equations.tangent import DEPENDENT
from flexmb.kernels.base.data import GROUND, HEIGHT
from flexmb.kernels.calls import displace
from flexmb.kernels.joint_coordinates.tree import FREE, Tree
from flexmb.linear.joint_motions import is_tree, joint_motions, joint_names
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism, Row
from flexmb.mechanism.state import State
from flexmb.spatial.layout import pose

FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
"""Coefficients of first and second differences of eighth order over nine points."""
APART = 0.02
"""Displacement between these points, relative to the mechanism's length, or angle. The second derivative then has
errors of 1e-12 by truncation and by round-off.
"""
SECOND_CHOICE = 0.1
"""Smallest pivot, relative to the largest, of a coordinate that is eliminated in place of one nearer to the ground."""
ALLOWED = 1e-10
"""Largest relative deviation of a motion from those that the joints allow."""
ROUNDED = 1e-12
"""Displacement by a coordinate of a tree, relative to the largest of a motion, up to which it is rounding. Rounding of
stiff coordinates would move soft ones."""
ELASTIC = 1e-3
"""Weight of the pivots of elastic coordinates, which are eliminated only if no others can be."""

Changing = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A matrix, its rate and its second derivative along a motion."""


@dataclass(frozen=True, eq=False)
class Independent:
    """Independent coordinates about a state with the accelerations `wdot` (nv,).

    They are the coordinates of the joints themselves if `of_tree`; otherwise combinations with orthonormal
    displacements.
    """

    mechanism: Mechanism
    state: State
    wdot: np.ndarray

    @cached_property
    def tree(self) -> Tree:
        """The spanning tree of the joints."""
        return tree_of(self.mechanism)

    @cached_property
    def of_tree(self) -> bool:
        """Whether the joints form an open tree and none of them is driven."""
        return is_tree(self.mechanism)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates: "hinge about z", "rod eta 1" for an open tree; otherwise "motion 1" and so on."""
        names = joint_names(self.mechanism)
        return names if self.of_tree else tuple(f"motion {k + 1}" for k in range(len(names) - len(self._dependent)))

    @cached_property
    def motions(self) -> Changing:
        """`N` (nv, nf), with orthonormal displacements unless `of_tree`, and its derivatives `N'` and `N''`."""
        return self.motions_at(0.0)

    def motions_at(self, t: float) -> Changing:
        """`motions`, in the same coordinates, at the time `t` from the state, along the motion to second order."""
        return self._changing(lambda later: self._at(t + later))

    def continued(self, state: State, wdot: np.ndarray) -> "Independent":
        """The same coordinates at another state of the motion, with the accelerations `wdot` (nv,)."""
        found = Independent(self.mechanism, state, wdot)
        if not self.of_tree:
            for name in ("_dependent", "_row_scale", "_combined"):
                found.__dict__[name] = getattr(self, name)
        return found

    def carried(self, imposed: np.ndarray) -> Changing:
        """Displacements (nv, n), along the motion, that change the joint equations for positions by `imposed` (nj, n).

        At the state itself they are those of least magnitude.
        """
        weight = compiled(self.mechanism).weight[:, None]
        N, eliminated, right = self._at(0.0), self._eliminated(0.0)[1], imposed
        first = eliminated @ right
        # both bases are complete: subtracting the part along N leaves the least displacement
        along = (
            np.linalg.lstsq(N * weight, first * weight, rcond=None)[0] if N.shape[1] else np.zeros((0, right.shape[1]))
        )
        return self._changing(lambda t: self._eliminated(t)[1] @ right - self._at(t) @ along)

    def _changing(self, at: Callable[[float], np.ndarray]) -> Changing:
        """A matrix along the motion and its derivatives, which are zero at rest."""
        middle, h = at(0.0), self.time_step
        if h is None:
            return middle, np.zeros_like(middle), np.zeros_like(middle)
        table = np.stack([middle if k == 0 else at(k * h) for k in range(-4, 5)])
        return middle, np.tensordot(FIRST, table, 1) / h, np.tensordot(SECOND, table, 1) / h**2

    @cached_property
    def time_step(self) -> float | None:
        """Time between the points of differences along the motion; None at rest."""
        flat = compiled(self.mechanism)
        speed = float((np.abs(self.state.w) * flat.weight).max(initial=0.0))
        gain = float((np.abs(self.wdot) * flat.weight).max(initial=0.0))
        return None if max(speed, gain) == 0.0 else float(1 / max(speed / APART, np.sqrt(8 * gain / APART)))

    @cached_property
    def in_joints(self) -> np.ndarray:
        """The motions `N` in the coordinates of the tree (ny, nf), which `joint_names` names."""
        if self.of_tree:
            return np.eye(len(joint_names(self.mechanism)))
        weight = compiled(self.mechanism).weight[:, None]
        return np.asarray(np.linalg.lstsq(self.of_joints(self.state.q) * weight, self._at(0.0) * weight, rcond=None)[0])

    @property
    def joint_weight(self) -> np.ndarray:
        """Weights (ny,) of the coordinates of the tree: displacements over the length of the mechanism, or angles."""
        return np.asarray(self.tree.weight)

    @cached_property
    def joint_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """First and second rates (ny,) of the coordinates of the tree."""
        N, change, _ = self._changing(lambda t: self.of_joints(self.moved(t)))
        weight = compiled(self.mechanism).weight
        scaled = N * weight[:, None]
        rates = np.linalg.lstsq(scaled, self.state.w * weight, rcond=None)[0]
        return rates, np.linalg.lstsq(scaled, (self.wdot - change @ rates) * weight, rcond=None)[0]

    @cached_property
    def likely_symmetries(self) -> np.ndarray:
        """Motions (nf, n) in independent coordinates that often change nothing: of single coordinates of joints, and
        translations and rotations of the whole mechanism about the axes of the world, as far as the joints allow
        them."""
        flat, q = compiled(self.mechanism), self.state.q
        whole = []
        for k in range(6):
            x = np.zeros(len(flat.weight))
            for b in range(len(flat.modes)):
                (r, R), s, e = pose(flat, q, b), flat.v_start[b], np.eye(3)[k % 3]
                x[s : s + 3] = R.T @ (e if k < 3 else np.cross(e, r))
                x[s + 3 : s + 6] = np.zeros(3) if k < 3 else R.T @ e
            whole.append(x)
        wanted = np.column_stack([self.of_joints(q), *whole]) * flat.weight[:, None]
        of_tree = self.of_joints(q) * flat.weight[:, None]
        y = np.linalg.lstsq(of_tree, wanted, rcond=None)[0]
        moved = np.abs(y) * np.abs(of_tree).max(axis=0, initial=0.0)[:, None]
        y[moved <= ROUNDED * moved.max(axis=0, initial=0.0)] = 0.0
        if not self.of_tree:
            kept = np.delete(y, self._dependent, axis=0)[self._order]
            y = self._orthonormal @ kept
        sizes = np.abs(wanted).max(axis=0, initial=0.0)
        N = self._at(0.0) * flat.weight[:, None]
        return np.asarray(y[:, np.abs(N @ y - wanted).max(axis=0, initial=0.0) <= ALLOWED * sizes])

    def _at(self, t: float) -> np.ndarray:
        """`N` at the time `t` from the state, along the motion to second order."""
        if self.of_tree:
            return self.of_joints(self.moved(t))
        return self._eliminated(t)[0] @ self._combined

    def of_joints(self, q: np.ndarray) -> np.ndarray:
        """Motions (nv, ny) for unit rates of the coordinates of the tree at `q` (nq,).

        Wheels and balls that no joint of the tree holds have axes that do not spin with them: forward, along the axle
        and across both, or those of the plane.
        """
        mechanism, flat = self.mechanism, compiled(self.mechanism)
        tree = self.tree
        N = joint_motions(mechanism, q, tree)
        for row in self._rolling:
            a, b = (mechanism.markers[k] for k in row.markers)
            plane = a.axes if a.body == GROUND else pose(flat, q, a.body)[1] @ a.axes
            own = pose(flat, q, b.body)[1]
            axes = plane
            if row.axes[1] == 0:
                axle = own @ b.axes[:, 2]
                ahead = np.cross(axle, plane[:, 2])
                ahead /= np.linalg.norm(ahead)
                axes = np.column_stack([ahead, axle, np.cross(ahead, axle)])
            start = int(tree.start[b.body])
            for part in (slice(start, start + 3), slice(start + 3, start + 6)):
                N[:, part] = N[:, part] @ (own.T @ axes)
        return N

    @cached_property
    def _rolling(self) -> list[Row]:
        """The rows of height of wheels and balls that no joint of the tree holds."""
        mechanism, tree = self.mechanism, self.tree
        rows = [mechanism.rows[r] for joint in mechanism.joints for r in joint.rows]
        bodies = [mechanism.markers[row.markers[1]].body for row in rows]
        return [
            row
            for row, b in zip(rows, bodies, strict=True)
            if row.kind == HEIGHT and b != GROUND and tree.child[b] == FREE
        ]

    @property
    def wheels(self) -> np.ndarray:
        """Which bodies (nb,) are wheels or balls that no joint of the tree holds."""
        found = np.zeros(len(self.mechanism.bodies), bool)
        found[[self.mechanism.markers[row.markers[1]].body for row in self._rolling]] = True
        return found

    def moved(self, t: float) -> np.ndarray:
        """The configuration (nq,) at the time `t` from the state, to second order."""
        q = np.empty_like(self.state.q)
        displace(compiled(self.mechanism), self.state.q, t * self.state.w + 0.5 * t * t * self.wdot, q)
        return q

    def _rows(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Motions of the tree (nv, ny), and the corresponding changes (nj, ny) of the joint equations for positions."""
        q = self.moved(t)
        N = self.of_joints(q)
        return N, np.asarray(self.jacobian(q)[self.position_rows] @ N)

    def rows_at(self, t: float) -> sp.csr_matrix:
        """The Jacobian (nj, nv) of the joint equations for positions at the time `t` from the state."""
        return self.jacobian(self.moved(t))[self.position_rows]

    def jacobian(self, q: np.ndarray) -> sp.csr_matrix:
        """The Jacobian (nr, nv) of all rows at `q` (nq,), which does not depend on the values of drivers."""
        return row_jacobian(self.mechanism, compiled(self.mechanism), q, self._functions)[1]

    @cached_property
    def _functions(self) -> np.ndarray:
        return self.mechanism.function_values(self.state.t)

    @cached_property
    def position_rows(self) -> np.ndarray:
        """The joint equations that restrict positions; the others, of rolling bodies, restrict velocities only."""
        return np.setdiff1d(np.arange(self.mechanism.joint_rows), velocity_rows(compiled(self.mechanism)))

    def _eliminated(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Motions for unit rates of independent coordinates (nv, nf), and unit changes of joint equations (nv, nj)."""
        N, C = self._rows(t)
        scale = self._row_scale
        gone = np.zeros(N.shape[1], bool)
        gone[self._dependent] = True
        back = (
            np.linalg.pinv(C[:, gone] / scale[:, None], rcond=DEPENDENT) / scale
            if gone.any()
            else np.zeros((0, len(C)))
        )
        return N[:, ~gone] - N[:, gone] @ (back @ C[:, ~gone]), N[:, gone] @ back

    @cached_property
    def _row_scale(self) -> np.ndarray:
        """Magnitudes (nj,) of the joint equations for a unit of displacement."""
        scaled = self.rows_at(0.0).toarray() / compiled(self.mechanism).weight
        return np.maximum(np.linalg.norm(scaled, axis=1), np.finfo(float).tiny)

    @cached_property
    def _order(self) -> np.ndarray:
        """The order (nf,) of the coordinates that are kept, in which rigid ones come first."""
        kept = np.delete(self._is_elastic, self._dependent)
        return np.argsort(kept, kind="stable")

    @cached_property
    def _orthonormal(self) -> np.ndarray:
        """The coordinates (nf, nf), with orthonormal displacements, of units of those that are kept, in their `_order`.

        The matrix is triangular, so that soft motions contain no stiff ones.
        """
        N = self._eliminated(0.0)[0] * compiled(self.mechanism).weight[:, None]
        R = np.linalg.qr(N[:, self._order])[1]
        return np.asarray(R * np.sign(np.diag(R))[:, None])

    @cached_property
    def _combined(self) -> np.ndarray:
        """Combinations (nf, nf) of the coordinates that are kept with orthonormal displacements."""
        out = np.zeros_like(self._orthonormal)
        out[self._order] = np.linalg.inv(self._orthonormal)
        return out

    @cached_property
    def _is_elastic(self) -> np.ndarray:
        tree = self.tree
        elastic = np.zeros(int(tree.start[-1]), bool)
        for b in range(len(self.mechanism.bodies)):
            elastic[tree.start[b] + tree.axis_start[b + 1] - tree.axis_start[b] : tree.start[b + 1]] = True
        return elastic

    @cached_property
    def _dependent(self) -> np.ndarray:
        """Indices of the coordinates to eliminate, as many as there are independent equations.

        Translations of bodies without a joint in the tree come first, then the coordinates farthest from the ground.
        """
        tree = self.tree
        C = self._rows(0.0)[1] / self._row_scale[:, None] / tree.weight
        order = _preference(tree)
        factor = np.where(self._is_elastic, ELASTIC, 1.0)
        largest = float(np.linalg.norm(C, axis=0).max(initial=0.0))
        chosen: list[int] = []
        while len(chosen) < C.shape[1]:
            left = np.linalg.norm(C, axis=0)
            left[chosen] = 0.0
            if left.max(initial=0.0) <= DEPENDENT * largest:
                break
            left[left <= DEPENDENT * largest] = 0.0
            pivots = left * factor
            able = np.flatnonzero(pivots >= SECOND_CHOICE * pivots.max())
            k = int(able[order[able].argmax()])
            unit = C[:, k] / left[k]
            C -= np.outer(unit, unit @ C)
            chosen.append(k)
        return np.array(sorted(chosen), dtype=int)


def _preference(tree: Tree) -> np.ndarray:
    """Rank (ny,) of the coordinates; those of higher rank are preferred for elimination."""
    ny = int(tree.start[-1])
    rank = np.zeros(ny)
    for place, b in enumerate(tree.order):
        free = tree.axes[tree.axis_start[b] : tree.axis_start[b + 1]]
        span = np.arange(tree.start[b], tree.start[b + 1])
        rank[span] = place * 1.0 + np.arange(len(span)) / (len(span) + 1)
        if tree.child[b] == FREE:
            rank[span[: len(free)][np.asarray(free) < 3]] += len(tree.order)
    return rank
