"""The arrays of the sparse matrices of implicit steps (flexmb/kernels/implicit/saddle.py)."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import FAR_APART, displacement_root
from flexmb.equations.state_tangent import state_tangent, touched
from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.implicit.progress import ITERATIONS, LARGEST, REJECTED, SMALLEST, TAKEN
from flexmb.kernels.implicit.saddle import Saddle
from flexmb.kernels.implicit.sparse import Factors
from flexmb.results.result import Statistics

ROOM = 1.5
"""Room for the factors, relative to the size of those of a matrix with random entries."""


@dataclass(eq=False)
class Matrices:
    """The blocks of the matrix of a mechanism, and the arrays of its factors.

    - `apart`: whether masses are so far apart that heavy bodies would be lost in the inverse of the mass matrix.
    - `formulas`: those of the functions of time, for compiled code.
    - `attended`: whether each attempt of a step needs functions of time that have none, or derivatives of the states of
      force elements.
    """

    equations: Equations

    def __post_init__(self) -> None:
        e = self.equations
        flat, nv, nz = e.flat, len(e.flat.weight), len(e.states)
        self._touched = np.array(touched(e), dtype=np.int64)
        start, rows = _pattern(flat, self._touched)
        size = len(start) - 1
        entries = np.random.default_rng(0).uniform(1.0, 2.0, len(rows))
        trial = spla.splu(sp.csc_matrix((entries, rows, start), shape=(size, size)))
        self._order = np.argsort(trial.perm_c).astype(np.int64)
        self._room = int(ROOM * max(trial.L.nnz, trial.U.nnz)) + 2 * size
        widest = 6 + int(max(flat.modes, default=0))
        root, metric = displacement_root(flat), np.zeros((nv, widest))
        inverse = (root @ root.T).tocsr()
        for b, m in enumerate(flat.modes):
            at = slice(int(flat.v_start[b]), int(flat.v_start[b + 1]))
            metric[at, : 6 + m] = inverse[at, at].toarray()
        self.saddle = pointed(
            Saddle(
                start,
                rows,
                np.zeros(len(rows)),
                np.zeros(len(rows)),
                np.zeros(len(rows)),
                np.zeros(len(rows)),
                np.ones(flat.joint_rows),
                metric,
                self._touched,
                np.zeros((nz, nv)),
                np.zeros((nz, nv)),
                np.zeros((nz, nz)),
                np.zeros((nv, nz)),
            )
        )
        self.apart = bool(flat.joint_rows) and e.spread[0] < FAR_APART
        formulas = e.mechanism.formulas
        self.formulas = np.zeros(0) if formulas is None else formulas
        self.attended = formulas is None or nz > 0

    def factors(self, numbers: int) -> Factors:
        """Arrays for factors with entries of one or two `numbers`."""
        n, room = len(self._order), self._room
        rows, entries = (np.zeros(room, dtype=np.int64) for _ in range(2)), (np.zeros(numbers * room) for _ in range(2))
        place, *starts = np.zeros(n, dtype=np.int64), *(np.zeros(n + 1, dtype=np.int64) for _ in range(2))
        return pointed(Factors(self._order, place, *starts, *rows, *entries))

    def enlarge(self) -> None:
        """Twice the room for factors made from now on."""
        self._room *= 2

    def follow_states(
        self, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
    ) -> None:
        """Evaluate the derivatives of the states of force elements at `equations.states`."""
        if len(self.equations.states):
            found = state_tangent(self.equations, functions, q, w, wdot, multipliers)[0]
            for name in ("by_speed", "by_place", "by_state", "force"):
                getattr(self.saddle, name)[:] = getattr(found, name)


def _pattern(flat: CompiledModel, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns (nv + nj + 1,) and increasing rows of the entries: the blocks of bodies that share a force element, or
    depend on states at the velocities `places`, and the joint equations."""
    nj, nv = flat.joint_rows, int(flat.v_start[-1])
    near: list[set[int]] = [{b} for b in range(len(flat.modes))]
    of_row: list[set[int]] = [set() for _ in flat.row_kind]
    for r, pair in zip(flat.term_row.tolist(), flat.marker_body[flat.term_markers].tolist(), strict=True):
        of_row[r] |= {*pair} - {GROUND}
    elements = {int(r) + k for r in flat.element_row for k in range(6)}
    joined = [of_row[r] for r in range(nj, len(of_row)) if r not in elements]
    joined += [set().union(*(of_row[int(r) + k] for k in range(6))) for r in flat.element_row]
    joined.append({int(b) for b in np.searchsorted(flat.v_start, places, side="right") - 1})
    for bodies in joined:
        for b in bodies:
            near[b] |= bodies
    equations: list[list[int]] = [[] for _ in near]
    for r in range(nj):
        for b in of_row[r]:
            equations[b].append(nv + r)
    spans = [np.arange(flat.v_start[b], flat.v_start[b + 1]) for b in range(len(near))]
    columns: list[np.ndarray] = []
    for b, close in enumerate(near):
        column = np.concatenate([*(spans[c] for c in sorted(close)), np.array(equations[b], dtype=np.int64)])
        columns += [column] * len(spans[b])
    for r in range(nj):
        columns.append(np.concatenate([*(spans[b] for b in sorted(of_row[r])), [nv + r]]))
    start = np.concatenate([[0], np.cumsum([len(column) for column in columns])])
    return start.astype(np.int64), np.concatenate(columns).astype(np.int64)


def statistics(last: np.ndarray, cpu: float) -> Statistics:
    """Statistics of an integration with the entries `last` of its record, which took `cpu` seconds."""
    taken, rejected, iterations = (int(last[k]) for k in (TAKEN, REJECTED, ITERATIONS))
    return Statistics(taken, rejected, iterations, cpu, float(last[SMALLEST]), float(last[LARGEST]))
