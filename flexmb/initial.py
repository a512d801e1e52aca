"""Consistent initial conditions: places, velocities, accelerations and multipliers that fulfil every joint.

What the user gave is changed as little as possible (least mass-weighted change); flexible bodies stay undeformed
unless the mechanism cannot be assembled otherwise. A mechanism that cannot be assembled is refused with the
joints in conflict named.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from jaxtyping import Float

from fem.errors import FlexmbError
from flexmb.integrators.equations import Equations, initial_angles
from flexmb.joints import RedundantConstraintWarning
from flexmb.kernels.data import GROUND, Flat, make_places
from flexmb.kernels.rows import all_rows, place_markers
from flexmb.kernels.step import displace
from flexmb.mechanism import Mechanism, State

DEPENDENT = 1e-7
"""Singular value of the scaled joint equations, relative to the largest, below which they count as dependent."""
MOST_NAMED = 12
"""Joints named in a warning."""
NEARLY_DEPENDENT = 1e-11
"""Smallest pivot of `A A^T`, rows of length one, with which they are taken as independent without a look at singular values. In a chain of a thousand hinged bars it is 4e-9."""
REFINEMENTS = 3
"""Of solutions with the factor of `A A^T`: each takes off all but the condition times the precision."""
NO_SPEED = 1e-15
"""Rates, in whatever units, that are noise."""
MISFIT = 1e-5
"""What dependent joint equations may stay open, relative to the mechanism's length: the noise of a mesh's coordinates."""


class AssemblyError(FlexmbError, ValueError):
    """The joints contradict each other or the given start."""


@dataclass(frozen=True, eq=False)
class Start:
    """Consistent start of a simulation; `redundant` names the joint equations that repeat others."""

    state: State
    wdot: Float[np.ndarray, "nv"]
    multipliers: Float[np.ndarray, "nj"]
    moved: float
    redundant: tuple[str, ...]


def row_jacobian(
    mechanism: Mechanism, flat: Flat, q: np.ndarray, functions: np.ndarray
) -> tuple[np.ndarray, sp.csr_matrix]:
    """Values (nr,) and sparse Jacobian (nr, nv) of all rows at `q`; the rate of a row is `Jacobian @ w`."""
    nr = len(mechanism.rows)
    values = np.zeros(nr)
    G = np.zeros((nr, 2, 6 + flat.marker_rows.shape[2]))
    all_rows(flat, q, functions, initial_angles(mechanism, flat, q), make_places(flat), values, G)
    return values, as_sparse(flat, G)


def as_sparse(flat: Flat, G: np.ndarray) -> sp.csr_matrix:
    """The Jacobian (nr, nv) of all rows from that of each row by its two bodies, `G` (nr, 2, 6+mmax)."""
    bodies = flat.marker_body[flat.row_markers]
    row, side = np.nonzero(bodies != GROUND)
    first = flat.v_start[bodies[row, side]]
    count = flat.v_start[bodies[row, side] + 1] - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    entries = G[np.repeat(row, count), np.repeat(side, count), within]
    places = (np.repeat(row, count), np.repeat(first, count) + within)
    return sp.csr_matrix((entries, places), shape=(len(G), int(flat.v_start[-1])))


def _mass_diagonal(flat: Flat, elastic: float) -> np.ndarray:
    """Weights of a least change: mass, moment of inertia, and `elastic` for the elastic coordinates."""
    weights = np.full(int(flat.v_start[-1]), elastic)
    for b in range(len(flat.modes)):
        start = flat.v_start[b]
        weights[start : start + 3] = flat.mass[b]
        weights[start + 3 : start + 6] = np.linalg.eigvalsh(flat.J0[b]).max()
    return weights


def _independent(A: sp.csr_matrix) -> spla.SuperLU | None:
    """The factor of `A A^T`, rows of length one; None when rows are dependent, or nearly."""
    try:
        factor = spla.splu(
            (A @ A.T).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # exactly singular
        return None
    return factor if np.abs(factor.U.diagonal()).min(initial=1.0) > NEARLY_DEPENDENT else None


def least_change(J: sp.csr_matrix, target: np.ndarray, flat: Flat, elastic: float = 1.0) -> np.ndarray:
    """`x` (nv,) of least mass-weighted norm with `J x = target`, in the least-squares sense (redundant rows allowed).

    `elastic`: weight of the elastic coordinates; infinite to leave them as they are.
    """
    weights = _mass_diagonal(flat, elastic)
    free = np.isfinite(weights)
    scale = np.where(free, 1 / np.sqrt(np.where(free, weights, 1.0)), 0.0)
    A, norms = _unit_rows(J, scale)
    factor = _independent(A)
    if factor is None:
        return scale * np.linalg.lstsq(A.toarray(), target / norms, rcond=DEPENDENT)[0]
    wanted = target / norms
    x, rounding = A.T @ factor.solve(wanted), 4e-16 * np.abs(wanted).max(initial=0.0)
    for k in range(REFINEMENTS):
        left = wanted - A @ x
        if (
            k > 0 and (np.abs(left) <= rounding).all()
        ):  # the first in any case, for targets far smaller than the largest
            break
        x += A.T @ factor.solve(left)
    return scale * x


def _unit_rows(J: sp.csr_matrix, scale: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """The Jacobian with its columns scaled and rows of length one, and what these were divided by."""
    A = sp.csr_matrix(J @ sp.diags(scale))
    norms = spla.norm(A, axis=1)
    norms[norms == 0] = 1.0
    return sp.csr_matrix(sp.diags(1 / norms) @ A), norms


def _row_names(mechanism: Mechanism) -> list[str]:
    return [joint.name for joint in mechanism.joints for _ in joint.rows]


def _blame(mechanism: Mechanism, violation: np.ndarray, unit: str) -> str:
    """The joints with a violation, worst first."""
    worst: dict[str, float] = {}
    for name, v in zip(_row_names(mechanism), violation, strict=True):
        worst[name] = max(worst.get(name, 0.0), abs(v))
    top = max(worst.values())
    named = sorted(((v, n) for n, v in worst.items() if v > 1e-3 * top), reverse=True)[:6]
    return ", ".join(f"{n!r} ({v:.3g}{unit})" for v, n in named)


def assemble(mechanism: Mechanism, flat: Flat, tolerance: float = 1e-12) -> tuple[np.ndarray, float]:
    """Configuration `q` that fulfils every joint, close to the given one, and how far it moved (relative to the length).

    Gauss-Newton of least weighted change; first with undeformed bodies, then with elastic coordinates. Dependent equations
    that contradict each other by no more than `MISFIT` are met in the least-squares sense.
    """
    nj = mechanism.joint_rows
    functions = mechanism.function_values(mechanism.initial.t)
    scale = np.array([mechanism.length if r.kind in (0, 3) else 1.0 for r in mechanism.rows[:nj]])
    violation = np.zeros(nj)
    for elastic in (np.inf, 1.0) if flat.stiffness.size else (np.inf,):
        q = mechanism.initial.q.copy()
        moved = np.zeros(len(mechanism.initial.w))
        size = np.inf
        for _ in range(50):
            values, J = row_jacobian(mechanism, flat, q, functions)
            violation = values[:nj] / scale
            worst = np.abs(violation).max(initial=0.0)
            if worst <= tolerance or (size < 1e-13 and worst <= MISFIT):
                _require_same_branch(mechanism, flat, q, functions)
                return q, float((np.abs(moved) * flat.weight).max(initial=0.0))
            step = least_change(sp.diags(1 / scale) @ J[:nj], -violation, flat, elastic)
            size = (np.abs(step) * flat.weight).max()
            step *= min(1.0, 0.3 / size) if size > 0 else 1.0
            new = np.empty_like(q)
            displace(flat, q, step, new)
            q = new
            moved += step
    raise AssemblyError(
        f"The joints of {mechanism.name!r} cannot all be closed: after moving the bodies as far as it helps, these stay open: "
        f"{_blame(mechanism, violation, ' of the mechanism length or rad')}. Check the positions and orientations of the bodies and the places of these joints."
    )


def _require_same_branch(mechanism: Mechanism, flat: Flat, q: np.ndarray, functions: np.ndarray) -> None:
    """Axes must not have closed the wrong way round (a half turn also fulfils the perpendicularity conditions)."""
    places = make_places(flat)
    place_markers(flat, q, places)
    for joint in mechanism.joints:
        if joint.kind in ("revolute", "cylindrical", "prismatic", "fixed", "planar", "prescribed"):
            a, b = joint.markers
            if places.axes[a][:, 2] @ places.axes[b][:, 2] < 0:
                raise AssemblyError(
                    f"Joint {joint.name!r} could only be closed with its axis turned round. Check the orientations of the bodies it connects."
                )


def consistent_velocity(mechanism: Mechanism, flat: Flat, q: np.ndarray) -> np.ndarray:
    """Velocity `w` closest to the given one that the joints, the drivers and the wanted joint speeds allow."""
    nj = mechanism.joint_rows
    functions = mechanism.function_values(mechanism.initial.t)
    _, J = row_jacobian(mechanism, flat, q, functions)
    rates = np.array([functions[r.function, 1] if r.function >= 0 else 0.0 for r in mechanism.rows[:nj]])
    J = J[:nj]
    if mechanism.start_rows:
        wanted = _start_jacobian(mechanism, q)
        J = sp.vstack([J, wanted], format="csr")
        rates = np.concatenate([rates, [speed for _, speed in mechanism.start_rows]])
    w = mechanism.initial.w
    if not J.shape[0]:
        return w.copy()
    remaining = np.zeros(J.shape[0])
    for elastic in (np.inf, 1.0) if flat.stiffness.size else (np.inf,):
        new = w + least_change(J, rates - J @ w, flat, elastic)
        remaining = J @ new - rates
        speed = float((np.abs(new) * flat.weight).max(initial=0.0))
        size = max((abs(J) @ np.abs(new) + np.abs(rates)).max(), 1e-6 * speed * min(1.0, mechanism.length), NO_SPEED)
        if (np.abs(remaining) <= 1e-9 * size).all():
            return new
    joints = _blame(mechanism, remaining[:nj], " of velocity")
    raise AssemblyError(
        f"The drivers and initial speeds of {mechanism.name!r} contradict the joints: {joints}. Drive or set as many motions as the mechanism has degrees of freedom."
    )


def _start_jacobian(mechanism: Mechanism, q: np.ndarray) -> sp.csr_matrix:
    probe = replace(mechanism, rows=tuple(row for row, _ in mechanism.start_rows), joints=(), force_elements={})
    return row_jacobian(probe, probe.flat(), q, mechanism.function_values(mechanism.initial.t))[1]


def redundant_rows(mechanism: Mechanism, flat: Flat, q: np.ndarray) -> tuple[str, ...]:
    """Names of the joints whose equations depend on each other at `q` (empty when all reactions are unique).

    Where a factor does not show them independent: rank by singular values of the mass-weighted Jacobian of the mechanism as it is (flexible bodies included,
    their compliance counted with the period of the mechanism's softest mode).
    """
    nj = mechanism.joint_rows
    if nj == 0:
        return ()
    _, J = row_jacobian(mechanism, flat, q, mechanism.function_values(mechanism.initial.t))
    A = _unit_rows(J[:nj], 1 / np.sqrt(_mass_diagonal(flat, 1.0)))[0]
    if _independent(A) is not None:
        return ()
    U, s, _ = np.linalg.svd(A.toarray())
    rank = int((s > DEPENDENT * s[0]).sum())
    null = np.abs(U[:, rank:]).max(axis=1, initial=0.0)
    involved = null > 1e-6
    return tuple(dict.fromkeys(name for name, yes in zip(_row_names(mechanism), involved, strict=True) if yes))


def accelerations(mechanism: Mechanism, state: State, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations `wdot` (nv,) and joint multipliers (nj,) at a consistent state; `functions` (nf, 3) at its time."""
    return Equations(mechanism, state.q).accelerations(functions, state.q, state.w)


def start(mechanism: Mechanism, flat: Flat) -> Start:
    """Consistent start of `mechanism`: assembled, with consistent velocities, accelerations and multipliers."""
    redundant = redundant_rows(mechanism, flat, mechanism.initial.q)
    if redundant:
        named = ", ".join(map(repr, redundant[:MOST_NAMED]))
        more = f" and {len(redundant) - MOST_NAMED} more" if len(redundant) > MOST_NAMED else ""
        warnings.warn(
            f"Redundant joint equations in {mechanism.name!r}, shared by {named}{more}: the motion is "
            "unique, the reactions of these joints are not (the smallest ones that carry the load are reported). Make a body "
            "flexible, or use joints with fewer equations.",
            RedundantConstraintWarning,
            stacklevel=3,
        )
    return _consistent(mechanism, flat, redundant)


def quiet_start(mechanism: Mechanism) -> Start:
    """`start` where redundant joints do not matter, because no reaction is reported: they are not looked for."""
    return _consistent(mechanism, mechanism.flat(), ())


def _consistent(mechanism: Mechanism, flat: Flat, redundant: tuple[str, ...]) -> Start:
    q, moved = assemble(mechanism, flat)
    w = consistent_velocity(mechanism, flat, q)
    state = State(mechanism.initial.t, q, w)
    wdot, multipliers = accelerations(mechanism, state, mechanism.function_values(state.t))
    return Start(state, wdot, multipliers, moved, redundant)
