"""The equations of inverse dynamics: a mechanism whose motors make some of its coordinates follow functions of time."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from fem.errors import ConvergenceError
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.equations.tangent import carrying, tangent
from flexmb.kernels.base.data import ANGLE, CompiledModel
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import force_units
from flexmb.results.result import followed_angles
from flexmb.simulation.simulate import Progress
from flexmb.spatial.configuration import difference
from flexmb.spatial.layout import elastic_places

ITERATIONS = 30
TOLERANCE = 1e-10
"""Correction of the motion, in lengths of the mechanism or radians, below which the iteration has converged."""
FIRST, SECOND = np.array([1, -8, 0, 8, -1]) / 12, np.array([-1, 16, -30, 16, -1]) / 12
"""Coefficients of first and second differences over five points."""
REGULAR = 1e-13
INDIFFERENT = 1e-9
"""Cost of unknowns that the problem leaves undetermined, in their own scale, relative to that of a deformation."""


class Motion(NamedTuple):
    """Configurations (nt, nq), multipliers (nt, nj) and efforts (nt, nu) at all times."""

    q: np.ndarray
    multipliers: np.ndarray
    efforts: np.ndarray

    def at(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those at the time number `n`."""
        return self.q[n], self.multipliers[n], self.efforts[n]


def within(progress: Progress, begin: float, end: float) -> Progress:
    """The progress of a part of the work, which leads from the fraction `begin` of all of it to `end`."""
    return lambda part: progress(begin + (end - begin) * part)


class LinearisedEquations(NamedTuple):
    """Equations of motion at one time.

    Derivatives of the unbalanced forces with respect to positions `K` (at constant components of velocities and
    accelerations), velocities `D` and accelerations `M` (nv, nv); Jacobian `G` (nj + ns, nv) of joints and servos,
    directions `B` (nv, nu) of the efforts; `unbalanced` forces (nv,) and `values` (nj + ns,) of joints and servos.
    """

    K: sp.csr_matrix
    D: sp.csr_matrix
    M: sp.csr_matrix
    G: sp.csr_matrix
    B: sp.csr_matrix
    unbalanced: np.ndarray
    values: np.ndarray


class InverseProblem:
    """A mechanism with servos and actuators at given times, and its linearised equations at each of them.

    - `mechanism`: with the servos as its last joint, whose multipliers remain zero; `actuators`: names of motors.
    - `times` (nt,), at equal distances.
    """

    def __init__(self, mechanism: Mechanism, actuators: tuple[str, ...], times: np.ndarray) -> None:
        self.mechanism, self.actuators, self.times = mechanism, actuators, times
        self.flat: CompiledModel = compiled(mechanism)
        self.h = float(times[1] - times[0])
        self.functions = mechanism.function_table(times)
        self.ns = len(mechanism.joints[-1].rows)
        self.nj = mechanism.joint_rows - self.ns
        self.nv, self.nu = len(self.flat.weight), len(actuators)
        self.angles = followed_angles(mechanism, np.repeat(mechanism.initial.q[None], len(times), axis=0))
        self.rows = [mechanism.force_elements[name][0] for name in actuators]

    def at_rest(self, progress: Progress) -> Motion:
        """Positions of rest at all times with multipliers and efforts: the motion without inertia."""
        none = np.zeros((len(self.times), self.nv))
        guess = Motion(self.mechanism.initial.q[None], np.zeros((1, self.nj)), np.zeros((1, self.nu)))
        return self.balanced(none, none, guess, progress)

    def balanced(self, w: np.ndarray, wdot: np.ndarray, guess: Motion, progress: Progress) -> Motion:
        """Configurations that satisfy joints, servos and equations of motion with given velocities and accelerations.

        `w`, `wdot` (nt, nv); `guess`: at all times, or at the first one only, and then each time continues the one
        before. `progress`: called with the fraction of the times that are done. Raises `ConvergenceError` when there is
        no such configuration.
        """
        found = []
        at = guess.at(0)
        for n in range(len(self.times)):
            if len(guess.q) > 1:
                at = guess.at(n)
            else:
                self.angles[n] = self.angles[max(n - 1, 0)]
            at = self._balance(n, w[n], wdot[n], *at)
            found.append(at)
            progress((n + 1) / len(self.times))
        return Motion(*(np.array(part) for part in zip(*found, strict=True)))

    def _balance(
        self, n: int, w: np.ndarray, wdot: np.ndarray, q: np.ndarray, l: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        for _ in range(ITERATIONS):
            e = self.linear(n, q, w, wdot, l, u)
            system = sp.bmat([[e.K, e.G[: self.nj].T, -e.B], [e.G, None, None]], format="csc")
            x = _solved(system, -np.concatenate([e.unbalanced, e.values]), self.nv)
            size = float((np.abs(x[: self.nv]) * self.flat.weight).max())
            moved = np.empty_like(q)
            displace(self.flat, q, x[: self.nv] * min(1.0, 0.3 / size if size > 0 else 1.0), moved)
            q, l, u = moved, l + x[self.nv : self.nv + self.nj], u + x[self.nv + self.nj :]
            if size < TOLERANCE:
                return q, l, u
        state = "rest" if not np.any(wdot) else "balance its inertia forces"
        raise ConvergenceError(
            f"{self.mechanism.name!r} cannot {state} at the prescribed coordinates at t = {self.times[n]:.6g}: "
            "they are out of reach, the position is singular, or the motors cannot hold it there."
        )

    def linear(
        self, n: int, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray, efforts: np.ndarray
    ) -> LinearisedEquations:
        """The linearised equations at the time number `n`."""
        functions = self.functions[n]
        e = Equations(self.mechanism, q, self.angles[n])
        self.angles[n] = e.angles
        full = np.concatenate([multipliers, np.zeros(self.ns)])
        t = tangent(e, functions, q, w, wdot, full)
        out = e.residual(functions, q, w, wdot, full)[0].copy()
        values = e.workspace.values[: self.nj + self.ns].copy()
        J = row_jacobian(self.mechanism, self.flat, q, functions)[1]
        B = J[self.rows].T.tocsr()
        return LinearisedEquations(t.K, t.D, e.mass(), t.G, B, out - B @ efforts, values)

    def rates(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities and accelerations (nt, nv) by differences over five points, at rest beyond the ends."""
        padded = np.concatenate([q[:1], q[:1], q, q[-1:], q[-1:]])
        w, wdot = np.zeros((len(q), self.nv)), np.zeros((len(q), self.nv))
        for n in range(len(q)):
            around = np.array([difference(self.flat, q[n], padded[n + k]) for k in range(5)])
            w[n], wdot[n] = FIRST @ around / self.h, SECOND @ around / self.h**2
        return w, wdot

    def correction(
        self, motion: Motion, rest: np.ndarray, progress: Progress
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Newton's step for all times, to the solution with the least deformation beyond that at rest."""
        q, multipliers, efforts = motion
        w, wdot = self.rates(q)
        size, last_time = self.nv + self.nj + self.nu, len(q) - 1
        entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        right: list[np.ndarray] = []
        row = 0

        def put(block: sp.spmatrix, at_row: int, n: int, column: int) -> None:
            found = block.tocoo()
            entries.append((found.data, found.row + at_row, found.col + n * size + column))

        for n in range(len(q)):
            e = self.linear(n, q[n], w[n], wdot[n], multipliers[n], efforts[n])
            put(e.G, row, n, 0)
            right.append(-e.values)
            row += self.nj + self.ns
            if 0 < n < last_time:
                carried = carrying(self.flat, w[n])  # of velocities, whose components are those in moving axes
                D = e.D + e.M @ carried
                put(e.K + e.D @ carried + e.M @ carrying(self.flat, wdot[n]), row, n, 0)
                for k, first, second in zip(range(-2, 3), FIRST, SECOND, strict=True):
                    block = (first / self.h) * D + (second / self.h**2) * e.M
                    put(block, row, min(max(n + k, 0), last_time), 0)
                put(e.G[: self.nj].T, row, n, self.nv)
                put(-e.B, row, n, self.nv + self.nj)
                right.append(-e.unbalanced)
                row += self.nv
            progress((n + 1) / len(q))
        data, i, j = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        A = sp.csr_matrix((data, (i, j)), shape=(row, len(q) * size))
        cost, slope = np.zeros((len(q), size)), np.zeros((len(q), size))
        soft, soft_q = elastic_places(self.flat)
        cost[:, soft] += self.flat.weight[soft] ** 2
        slope[:, soft] = self.flat.weight[soft] ** 2 * (q[:, soft_q] - rest[:, soft_q])
        found = _least(A, np.concatenate(right), cost.ravel(), -slope.ravel(), self._scales(size, len(q)))
        every = found.reshape(len(q), size)
        return every[:, : self.nv], every[:, self.nv : self.nv + self.nj], every[:, self.nv + self.nj :]

    def _scales(self, size: int, count: int) -> np.ndarray:
        """Scales of the unknowns: displacements by their weights, forces by the mechanism's inertia."""
        force = float(self.flat.mass.max()) * self.mechanism.length / (count * self.h) ** 2
        efforts = np.where(self.flat.row_kind[self.rows] == ANGLE, self.mechanism.length, 1.0)
        one = np.concatenate([1 / self.flat.weight, force * force_units(self.flat)[: self.nj], force * efforts])
        return np.tile(one, count)


def _least(A: sp.csr_matrix, b: np.ndarray, cost: np.ndarray, slope: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The `x` with `A x = b` that minimises `x cost x / 2 - slope x`.

    A small cost of the scaled unknowns determines those that the problem leaves free.
    """
    S = A @ sp.diags(scales)
    rows = 1 / np.maximum(np.sqrt(np.asarray(S.multiply(S).sum(axis=1)).ravel()), 1e-300)
    S = sp.diags(rows) @ S
    W = sp.diags(cost * scales**2 + INDIFFERENT)
    n, m = len(slope), len(b)
    K = sp.bmat([[W, S.T], [S, -REGULAR * sp.eye(m)]], format="csc")
    right = np.concatenate([slope * scales, rows * b])
    factor = spla.splu(K)
    x = factor.solve(right)
    exact = sp.bmat([[W, S.T], [S, None]], format="csr")
    for _ in range(3):
        x += factor.solve(right - exact @ x)
    return np.asarray(scales * x[:n])


def _solved(A: sp.csc_matrix, b: np.ndarray, nv: int) -> np.ndarray:
    """The solution of `A x = b`, with equations scaled to size one and iterative refinement.

    The factorisation is slightly regularised for the multipliers and efforts, the unknowns from `nv` on.
    """
    n = A.shape[0]
    rows = 1 / np.maximum(np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()), 1e-300)
    S = sp.diags(rows) @ A
    columns = 1 / np.maximum(np.sqrt(np.asarray(S.multiply(S).sum(axis=0)).ravel()), 1e-300)
    S = (S @ sp.diags(columns)).tocsc()
    shift = np.where(np.arange(n) < nv, 0.0, REGULAR)
    factor = spla.splu(S + sp.diags(shift))
    x = factor.solve(rows * b)
    for _ in range(2):
        x += factor.solve(rows * b - S @ x)
    return np.asarray(columns * x)
