"""Tangent matrices of the equations of motion by differences, from a number of evaluations independent of that of
bodies.

Bodies that share no row and have no common neighbour are displaced together (Curtis, Powell and Reid, On the estimation
of sparse Jacobian matrices, 1974); a chain of any length needs three groups.

Elements whose law gives its tangent are not differentiated: their wrench is held in the differences, which then give
the changes of its directions, and the tangent of the law is added along the rows of the element.

Iterations use central differences. Decisions, for instance on stability, use differences of fourth order with a bound
of the error of every entry (`measured_tangent`), whose steps are halved where a law is steep or ends.
"""

import copy
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp
from scipy.linalg import null_space

from flexmb.differences import HALVINGS, MEASURED, ROUNDING, measured_derivatives
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.errors import LawError
from flexmb.kernels.base.data import ANGLE, GROUND, TILT, CompiledModel
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.kernels.calls import displace
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import rate_at
from flexmb.spatial.blocks import block_diagonal
from flexmb.spatial.layout import elastic_places
from flexmb.spatial.lie import skew

DIFFERENCE = 1e-5
"""Difference step relative to the length of the mechanism, or angle. The errors of central differences by curvature and
by rounding are then 1e-10."""
DEPENDENT = 1e-9
"""Singular value of the scaled joint equations, relative to the largest, below which they are taken as dependent."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """Derivatives of the residual forces with respect to velocities, `D` (nv, nv), and displacements, `K` (nv, nv), and
    of the joint equations with respect to displacements, `G` (nj, nv)."""

    D: sp.csr_matrix
    K: sp.csr_matrix
    G: sp.csr_matrix


def tangent(
    e: Equations,
    functions: np.ndarray,
    q: np.ndarray,
    w: np.ndarray,
    wdot: np.ndarray,
    multipliers: np.ndarray,
    difference: float = DIFFERENCE,
) -> Tangent:
    """The tangent at a state by central differences.

    The configuration is displaced by twists of the bodies (body axes) and elastic increments of relative size
    `difference`. Cost: four residuals for each group of bodies and degree of freedom of its largest body, in which laws
    that give their tangent are not evaluated.
    """
    flat, nv, nj = e.flat, len(w), e.flat.joint_rows
    groups, reach, rows = _groups(e)
    step = difference / flat.weight
    rate = rate_at(e.flat, w, wdot)
    moved = np.empty_like(q)
    given = _given(e, functions, q, w, wdot, multipliers) if flat.element_tangent.any() else None
    held, known = (e, functions) if given is None else (given.held, given.functions)
    felt = np.zeros(0, dtype=np.int64) if given is None else given.rows.ravel()

    def at(shift: np.ndarray, change: np.ndarray) -> np.ndarray:
        displace(flat, q, shift, moved)
        out = held.residual(known, moved, w + change, wdot, multipliers)[0]
        return np.concatenate([out, e.workspace.values[:nj], e.workspace.rates[felt]])

    D, K, G = _Entries(nv, nv), _Entries(nv, nv), _Entries(nj, nv)
    turning = np.zeros((len(felt), nv))
    none = np.zeros(nv)
    for group in groups:
        for i in range(6 + int(flat.modes[group].max())):
            columns = {b: flat.v_start[b] + i for b in group if i < 6 + flat.modes[b]}
            places = list(columns.values())
            shift = np.zeros(nv)
            shift[places] = step[places]
            by_place = at(shift, none) - at(-shift, none)
            by_speed = at(none, rate * shift) - at(none, -rate * shift)
            for b, column in columns.items():
                K.add(reach[b], column, by_place[reach[b]] / (2 * step[column]))
                D.add(reach[b], column, by_speed[reach[b]] / (2 * rate * step[column]))
                G.add(rows[b], column, by_place[nv + rows[b]] / (2 * step[column]))
                if given is not None:
                    touched = given.touching[b]
                    turning[touched, column] = by_place[nv + nj + touched] / (2 * step[column])
    if given is not None:
        given.add(turning, D, K)
    return Tangent(D.matrix(), K.matrix(), G.matrix())


@dataclass(frozen=True, eq=False)
class _Given:
    """The elements (ng) whose law gives its tangent, at a state.

    - `held`: the equations with the wrenches of these elements as `functions` of time, with constant values.
    - `rows` (ng, 6): their rows; `touching[b]`: the places in `rows.ravel()` of those that act on body `b`.
    - `covectors` (ng, 6, n), `columns` (ng, n): derivatives of the relative motion of their frames by the motions of
      both bodies, and the places of these among the velocities.
    - `stiffness`, `damping` (ng, 6, 6): minus the derivatives of the wrenches.
    """

    held: Equations
    functions: np.ndarray
    rows: np.ndarray
    touching: list[np.ndarray]
    covectors: list[np.ndarray]
    columns: list[np.ndarray]
    stiffness: np.ndarray
    damping: np.ndarray

    def add(self, turning: np.ndarray, D: "_Entries", K: "_Entries") -> None:
        """Add the derivatives of the forces to `D` and `K`; `turning` (6 ng, nv) are those of the rates of the rows by
        displacements."""
        for k, (G, columns) in enumerate(zip(self.covectors, self.columns, strict=True)):
            by_speed = G.T @ self.damping[k] @ G
            rates = turning[6 * k : 6 * k + 6, columns]
            by_place = G.T @ (self.stiffness[k] @ G + self.damping[k] @ rates)
            for j, column in enumerate(columns.tolist()):
                D.add(columns, column, by_speed[:, j])
                K.add(columns, column, by_place[:, j])


def _given(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> _Given:
    """The elements whose law gives its tangent, with the tangents at a state. Raises `LawError` when one fails."""
    flat, t = e.flat, functions[-1, 0]
    e.residual(functions, q, w, wdot, multipliers)
    own = flat.element_tangent != 0
    rows = np.add.outer(flat.element_row[own], np.arange(6))
    tangents, covectors, columns = [], [], []
    touching: list[list[int]] = [[] for _ in flat.modes]
    for place, k in enumerate(np.flatnonzero(own).tolist()):
        force, seen = e.mechanism.frame_forces[k], e.workspace.seen[k, :18]
        tangents.append(force.call.sound_tangent(t, seen, np.array(force.numbers)))
        sides = [(side, b) for side, b in enumerate(flat.marker_body[flat.row_markers[rows[place, 0]]]) if b != GROUND]
        for _, b in sides:
            touching[b] += range(6 * place, 6 * place + 6)
        covectors.append(np.hstack([e.workspace.G[rows[place], side, : 6 + flat.modes[b]] for side, b in sides]))
        columns.append(np.concatenate([np.arange(flat.v_start[b], flat.v_start[b + 1]) for _, b in sides]))
    wrenches = np.zeros((rows.size, 3))
    wrenches[:, 0] = e.workspace.efforts[rows.ravel()]
    values, kept = fields_of(flat), np.append(~own, True)
    for name in ("row", "law", "record", "tangent", "updates", "contact", "last", "command"):
        values[f"element_{name}"] = values[f"element_{name}"][~own]
    for name in ("element_state", "element_parameter"):  # without states, the others keep the places of theirs
        values[name] = values[name][kept]
    values["row_function"] = flat.row_function.copy()
    values["row_function"][rows.ravel()] = len(functions) - 1 + np.arange(rows.size)
    held = copy.copy(e)
    held.flat = pointed(CompiledModel(**values))
    return _Given(
        held,
        np.concatenate([functions[:-1], wrenches, functions[-1:]]),
        rows,
        [np.array(x, dtype=np.int64) for x in touching],
        covectors,
        columns,
        *np.array(tangents).transpose(1, 0, 2, 3),
    )


def measured_tangent(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> tuple[Tangent, Tangent]:
    """The tangent at a state to fourth order, and bounds of the error of each entry.

    Where a law is steep, as that of a contact that is hardly compressed, or has no values, as that of a film beyond its
    clearance, smaller steps are taken (flexmb/differences.py). Tangents that laws give are compared with differences at
    this state.

    Cost: three times that of `tangent`, and once more for each halving of the steps.

    Raises `LawError` when the tangent of a law is wrong, or a law has no values in the smallest steps either.
    """
    rate, felt = rate_at(e.flat, w, wdot), forces(e, functions, q, w, wdot, multipliers)
    if e.flat.element_tangent.any():
        e.residual(functions, q, w, wdot, multipliers)
        e.compare_tangents(float(functions[-1, 0]))

    @cache
    def at(step: float) -> Tangent:
        return tangent(e, functions, q, w, wdot, multipliers, step)

    def measured(of: str, per_step: np.ndarray, size: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """A matrix of `Tangent` and its bounds, for columns of steps `1 / per_step` (nv,) of variables of a `size`."""
        pattern = getattr(at(MEASURED), of)
        rows, columns = np.repeat(np.arange(len(w)), np.diff(pattern.indptr)), pattern.indices
        own, unit = rows == columns, felt[rows] * per_step[columns]

        def filled(values: np.ndarray) -> sp.csr_matrix:
            return sp.csr_matrix((values, pattern.indices, pattern.indptr), shape=pattern.shape)

        def noise() -> np.ndarray:
            return np.asarray(ROUNDING / MEASURED * unit)

        def shaken(values: np.ndarray) -> np.ndarray:
            return np.asarray(ROUNDING / MEASURED * (abs(filled(values)) @ size)[rows] * per_step[columns])

        def scale(values: np.ndarray) -> np.ndarray:
            diagonal = np.zeros(len(w))
            diagonal[rows[own]] = np.sqrt(np.abs(values[own]))
            return np.max([np.abs(values), diagonal[rows] * diagonal[columns], unit], axis=0)

        value, bound = measured_derivatives(lambda step: getattr(at(step), of).data, noise, shaken, scale)
        return filled(value), filled(bound)

    D, D_bound = measured("D", e.flat.weight / rate, np.abs(w))
    K, K_bound = measured("K", e.flat.weight, _sizes(e, q))
    require_derivatives(e, functions, D_bound.data, K_bound.data)
    G = sp.csr_matrix((4 * at(MEASURED).G - at(2 * MEASURED).G) / 3)
    return Tangent(D, K, G), Tangent(D_bound, K_bound, ROUNDING * abs(G))


def require_derivatives(e: Equations, functions: np.ndarray, *bounds: np.ndarray) -> None:
    """Raise `LawError` when a bound of the errors of derivatives is infinite, since a law has no values beside the
    state; forget failures of laws in larger steps."""
    if not all(np.isfinite(bound).all() for bound in bounds):
        least, failures = MEASURED * 0.5**HALVINGS, [law.failure for law in e.mechanism.calls]
        cause = next((str(x) for x in failures if x is not None), "Forces are not finite there.")
        raise LawError(
            f"The forces of {e.mechanism.name!r} at t = {functions[-1, 0]:.6g} have no derivatives: {cause} This is at "
            f"the state or nearer to it than {least:.1g} of the length of the mechanism, an angle of one, or the scale "
            "of a state. Take a state within the range of the law, such as one of a simulation, result.state(-1)."
        )
    e.forget_failures()


def _sizes(e: Equations, q: np.ndarray) -> np.ndarray:
    """Magnitudes (nv,) of the variables whose rounding shakes the forces: positions, turns, elastic coordinates."""
    flat = e.flat
    reach = max((float(np.abs(q[s : s + 3]).max()) for s in flat.q_start[:-1]), default=0.0)
    found = np.zeros(len(flat.weight))
    for s in flat.v_start[:-1]:
        found[s : s + 3], found[s + 3 : s + 6] = max(reach, e.mechanism.length), 1.0
    rates, coordinates = elastic_places(flat)
    found[rates] = np.abs(q[coordinates])
    return found


def forces(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> np.ndarray:
    """Sums (nv,) of the magnitudes of the forces in the residual: inertia, gravity, elasticity, rows and loads."""
    flat, nj = e.flat, e.flat.joint_rows
    e.residual(functions, q, w, wdot, multipliers)
    mass = abs(e.mass())
    felt = np.abs(wdot)
    speed = np.abs(w)
    for b, m in enumerate(flat.modes):
        s = flat.v_start[b]
        felt[s : s + 3] += np.linalg.norm(flat.gravity) + np.linalg.norm(w[s + 3 : s + 6]) * speed[s : s + 3].max()
        felt[s + 3 : s + 6 + m] += np.linalg.norm(w[s + 3 : s + 6]) * speed[s + 3 : s + 6 + m]
    reach = max((float(np.abs(q[s : s + 3]).max()) for s in flat.q_start[:-1]), default=0.0)
    turning = np.isin(flat.row_kind, (ANGLE, TILT))
    efforts = np.abs(e.workspace.efforts) + flat.row_stiffness * (
        np.abs(e.workspace.values) + np.where(turning, 1.0, reach)
    )
    efforts[:nj] = np.abs(multipliers)
    efforts *= 1 + reach / e.mechanism.length  # lever arms are differences of positions
    rates, coordinates = elastic_places(flat)
    elastic = np.zeros(len(w))
    elastic[rates] = flat.stiffness * np.abs(q[coordinates]) + flat.damping * speed[rates]
    return np.asarray(
        mass @ felt + abs(as_sparse(flat, e.workspace.G)).T @ efforts + np.abs(e.workspace.loads) + elastic
    )


def allowed_motions(G: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A basis (nv, nf) of the motions that satisfy the joint equations `G` (nj, nv), orthonormal in the displacements
    scaled by `weight` (nv,)."""
    if not len(G):
        return np.diag(1.0 / weight)
    return np.asarray(null_space(unit_rows(G / weight), rcond=DEPENDENT) / weight[:, None])


def unit_rows(A: np.ndarray) -> np.ndarray:
    """`A` with its rows scaled to unit norm; rows of zeros are unchanged."""
    norms = np.linalg.norm(A, axis=1)
    return np.asarray(A / np.where(norms > 0, norms, 1.0)[:, None])


def carrying(flat: CompiledModel, w: np.ndarray) -> sp.csr_matrix:
    """The matrix `ad_w` (nv, nv) for velocities `w` (nv,): a displacement `x(t)` of the motion changes the velocities
    by `x' + ad_w x`. Its entries for elastic coordinates are zero."""
    blocks = []
    for b, m in enumerate(flat.modes):
        s = flat.v_start[b]
        v, omega = skew(w[s : s + 3]), skew(w[s + 3 : s + 6])
        blocks.append(np.pad(np.block([[omega, v], [np.zeros((3, 3)), omega]]), (0, int(m))))
    return block_diagonal(blocks)


class _Entries:
    def __init__(self, rows: int, columns: int) -> None:
        self._shape = rows, columns
        self._rows, self._columns, self._values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]

    def add(self, rows: np.ndarray, column: int, values: np.ndarray) -> None:
        self._rows.append(rows)
        self._columns.append(np.full(len(rows), column))
        self._values.append(values)

    def matrix(self) -> sp.csr_matrix:
        places = np.concatenate(self._rows), np.concatenate(self._columns)
        return sp.csr_matrix((np.concatenate(self._values), places), shape=self._shape)


def _groups(e: Equations) -> tuple[list[list[int]], list[np.ndarray], list[np.ndarray]]:
    """Groups of bodies that are displaced together and, for each body, the forces and joint equations that depend on
    it."""
    flat = e.flat
    near: list[set[int]] = [{b} for b in range(len(flat.modes))]
    touched: list[set[int]] = [set() for _ in near]
    of_row: list[set[int]] = [set() for _ in flat.row_kind]
    for r, pair in zip(flat.term_row.tolist(), flat.marker_body[flat.term_markers].tolist(), strict=True):
        of_row[r] |= {*pair} - {GROUND}
    for r, bodies in enumerate(of_row):
        for b in bodies:
            near[b] |= bodies
            touched[b] |= {r} if r < flat.joint_rows else set()
    if bodies := controlled_bodies(e.mechanism):
        for b in bodies:
            near[b] |= bodies
    groups: list[list[int]] = []
    taken: list[set[int]] = []
    for b, close in enumerate(near):
        for group, used in zip(groups, taken, strict=True):
            if not close & used:
                group.append(b)
                used |= close
                break
        else:
            groups.append([b])
            taken.append(set(close))
    spans = [np.arange(flat.v_start[b], flat.v_start[b + 1]) for b in range(len(near))]
    reach = [np.concatenate([spans[c] for c in sorted(close)]) for close in near]
    return groups, reach, [np.array(sorted(t), dtype=np.int64) for t in touched]


def controlled_bodies(m: Mechanism) -> set[int]:
    """The bodies that continuous controllers measure, or on which their commands act: each depends on all others."""
    own = [c for c in m.controllers if c.sample_time is None]
    if not own:
        return set()
    markers = [k for c in own for signal in c.signals for k in signal.markers if k >= 0]
    markers += [k for row in m.rows if row.command >= 0 for k in row.markers]
    read = [m.force_elements[force.name] for force in m.frame_forces if force.command >= 0]
    markers += [k for rows in read for k in m.rows[rows[0]].markers]
    markers += [load.marker for load in m.loads if load.command >= 0]
    elastic = {signal.body for c in own for signal in c.signals if signal.body >= 0}
    return ({m.markers[k].body for k in markers} | elastic) - {GROUND}
