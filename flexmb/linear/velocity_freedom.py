"""The velocities that rows for velocities (rolling, knife edges) leave free.

Such a row `A(q) w = 0` restricts no position: about a motion its displacements `x` satisfy `A x' + B x = 0`, with `B x`
the change of `A w` where the velocities change by `ad_w x`. With `x = T xi`,

    xi' = V u + W xi ,

in which the independent velocities `u` are fewer than the displacements `xi`. They are rates of coordinates of joints,
or else velocities of bodies without a joint to the ground, in their own axes, rotations first. A change of heading then
changes the direction of travel and nothing else. Both matrices change along the motion; their rates follow
from those of `A` and `B`.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from flexmb.equations.projection import velocity_rows
from flexmb.equations.tangent import DEPENDENT, carrying
from flexmb.kernels.calls import displace
from flexmb.kernels.joint_coordinates.tree import FREE
from flexmb.linear.independent import APART, FIRST, SECOND_CHOICE, Changing, Independent
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.scales import speed_of
from flexmb.spatial.lie import skew

OF_ROWS, OF_RATES = 1e-13, 1e-11
"""Relative errors, by rounding, of the changes of the rows with the displacements, in units of the speed of the
mechanism, and of the rates of these changes, in units of its square."""


@dataclass(frozen=True, eq=False)
class VelocityFreedom:
    """`xi' = V u + W xi` with independent velocities `u` (nu,), the rates of both matrices, and bounds of the errors of
    these rates and of `W`; `chosen`: the coordinates of the tree whose rates are `u`, all of them if empty."""

    V: np.ndarray
    W: np.ndarray
    V_rate: np.ndarray
    W_rate: np.ndarray
    V_rate_error: np.ndarray
    W_error: np.ndarray
    W_rate_error: np.ndarray
    chosen: tuple[int, ...] = ()


def velocity_freedom(
    independent: Independent, T: Changing, count: int, chosen: tuple[int, ...] = ()
) -> VelocityFreedom:
    """The velocities that the rows leave free for displacements `T xi` (nv, n), of which the first `count` are
    independent and the others imposed: their rates are the last of `u`. `chosen`: those of another place of the
    motion, which are then taken."""
    flat, n = compiled(independent.mechanism), T[0].shape[1]
    rows = velocity_rows(flat)
    base, base_rate = _carried_translations(independent)
    drawn, imposed = independent.in_joints, n - count
    if not rows:
        none, own = np.zeros((n, n)), np.linalg.pinv(drawn)
        W, W_rate = (np.pad(own @ x @ drawn, (0, imposed)) for x in (base, base_rate))
        return VelocityFreedom(np.eye(n), W, none, W_rate, none, none, none)
    A, A_rate, B, B_rate, size = _rows(independent, T, rows)
    columns = (np.abs(T[0]) * flat.weight[:, None]).max(axis=0, initial=0.0)
    columns[columns == 0] = 1.0
    own = columns[:count]
    U, s, right = np.linalg.svd(A[:, :count] / own / flat.scales[0])
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    whole = U[:, :rank].T / flat.scales[0]
    rates = list(chosen) or _independent_rates(independent, right[rank:].T / own[:, None])
    solved = np.linalg.inv(np.vstack([whole @ A[:, :count], drawn[rates]]))
    free, back = solved[:, rank:], solved[:, :rank] @ whole
    V = np.block([[free, -back @ A[:, count:]], [np.zeros((imposed, free.shape[1])), np.eye(imposed)]])

    def top(x: np.ndarray) -> np.ndarray:
        return np.vstack([-back @ x, np.zeros((imposed, x.shape[1]))])

    W = top(B)
    W[:count, :count] += free @ base[rates] @ drawn
    speed = speed_of(independent.state.w, flat.weight)
    bound = np.abs(top(np.eye(len(rows)))) @ size
    errors = OF_ROWS * speed * bound @ np.abs(V), OF_ROWS * speed * bound, OF_RATES * speed**2 * bound
    W_rate = top(A_rate @ W + B_rate)
    W_rate[:count, :count] += free @ base_rate[rates] @ drawn
    return VelocityFreedom(V, W, top(A_rate @ V), W_rate, *errors, tuple(rates))


def _carried_translations(independent: Independent) -> tuple[np.ndarray, np.ndarray]:
    """The rates (ny, ny) of the coordinates of joints for units of these, at unchanged velocities in the axes of bodies
    without a joint, and the rates of this matrix."""
    tree, flat = independent.tree, compiled(independent.mechanism)
    W, W_rate = (np.zeros((int(tree.start[-1]),) * 2) for _ in range(2))
    for b in np.flatnonzero((tree.child == FREE) & ~independent.wheels):
        s, k = flat.v_start[b], int(tree.start[b])
        for out, w in ((W, independent.state.w), (W_rate, independent.wdot)):
            out[k : k + 3, k : k + 3], out[k : k + 3, k + 3 : k + 6] = -skew(w[s + 3 : s + 6]), -skew(w[s : s + 3])
    return W, W_rate


def _independent_rates(independent: Independent, free: np.ndarray) -> list[int]:
    """As many coordinates of the tree as there are `free` velocities (nf, nu), which their rates determine.

    Those of joints come first, then rotations of bodies without a joint, then their translations.
    """
    tree = independent.tree
    rank = np.zeros(int(tree.start[-1]))
    for b in np.flatnonzero(tree.child == FREE):
        rank[tree.start[b] : tree.start[b] + 6] = np.repeat([-2.0, -1.0], 3)
    left, chosen = independent.in_joints @ free * tree.weight[:, None], []
    left = left @ np.linalg.inv(np.linalg.qr(left)[1])
    for _ in range(free.shape[1]):
        pivots = np.linalg.norm(left, axis=1)
        able = np.flatnonzero(pivots >= SECOND_CHOICE * pivots.max())
        able = able[rank[able] == rank[able].max()]
        k = int(able[pivots[able].argmax()])
        unit = left[k] / pivots[k]
        left = left - np.outer(left @ unit, unit)
        chosen.append(k)
    return chosen


def _rows(
    independent: Independent, T: Changing, rows: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`A` and `B` (nr, n) of `A xi' + B xi = 0`, their rates, and the magnitudes of the terms of `A`."""
    flat = compiled(independent.mechanism)
    state, wdot = independent.state, independent.wdot
    first, rate, second = T
    h = independent.time_step

    def jacobian(q: np.ndarray) -> sp.csr_matrix:
        return independent.jacobian(q)[rows]

    def changes(t: float, X: np.ndarray) -> np.ndarray:
        """The changes (nr, n) of `A w` at the time `t` for displacements `X` (nv, n)."""
        q = independent.moved(t)
        w = state.w + t * wdot
        with_place, out, moved = carrying(flat, w) @ X, np.zeros((len(rows), X.shape[1])), np.empty_like(q)
        for k, x in enumerate(X.T):
            eps = APART / (float((np.abs(x) * flat.weight).max()) or 1.0)
            for offset, weight in zip(range(-4, 5), FIRST / eps, strict=True):
                if weight:
                    displace(flat, q, offset * eps * x, moved)
                    out[:, k] += weight * (jacobian(moved) @ (w + offset * eps * with_place[:, k]))
        return out

    G = jacobian(independent.moved(0.0))
    A, size = G @ first, abs(G) @ np.abs(first)
    if h is None:
        none = np.zeros_like(A)
        return A, none, none, none, size
    B = G @ rate + changes(0.0, first)
    G_rate, turned = np.zeros(G.shape), np.zeros_like(B)
    for k, weight in zip(range(-4, 5), FIRST / h, strict=True):
        if weight:
            G_rate += weight * jacobian(independent.moved(k * h)).toarray()
            turned += weight * changes(k * h, first)
    A_rate = G_rate @ first + G @ rate
    B_rate = G_rate @ rate + G @ second + turned + changes(0.0, rate)
    return A, A_rate, B, B_rate, size
