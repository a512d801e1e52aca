"""Consistent initial conditions: positions, velocities, accelerations and multipliers that satisfy all joint equations.

The given values are changed as little as possible: velocities by a change of least kinetic energy, positions by the
least mass-weighted displacement. The result does not depend on the choice of body frames. Flexible bodies are deformed
only if the mechanism cannot be assembled otherwise. If it cannot be assembled at all, `AssemblyError` names the joints
in conflict; if bodies had to be moved, an `AssemblyWarning` names them, and drivers of displacements that start
elsewhere than the places of their joints are drawn.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem.renamed import renamed
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.projection import (
    DEPENDENT,
    as_sparse,
    displacement_root,
    independent,
    mass_weighted_projection,
    masses_at_rest,
    scale_rows,
    unit_rows,
    velocity_rows,
)
from flexmb.errors import AssemblyError, AssemblyWarning, RedundantConstraintWarning
from flexmb.kernels.base.data import ANGLE, FORCES, TRANSLATION, CompiledModel, make_marker_kinematics
from flexmb.kernels.calls import add_turns, all_rows, angles_at, as_driven, displace, place_markers
from flexmb.mechanism.compile import compiled, part_of
from flexmb.mechanism.joints import JOINTS, aligned_axes
from flexmb.mechanism.locking import require_no_events
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.spatial.configuration import difference, extent, tangent_operator
from flexmb.spatial.layout import pose

MOST_NAMED = 12
"""Largest number of joints named in a warning."""
MISFIT = 1e-5
"""Largest residual of dependent joint equations, relative to the length of the mechanism: the noise of mesh
coordinates."""
MOVED, NEAREST, SETTLED = 1e-9, 1e-12, 1e-6
"""Displacements relative to the length of the mechanism: beyond the first, the nearest closed configuration is
computed; the second is the tolerance of its iteration; the third is the largest last step with which its result is
accepted."""
NOTICEABLE = 1e-3
"""Largest displacement of a body by the assembly, relative to the length of the mechanism, or angle, without a warning;
coordinates in drawings are often rounded to three digits."""

LARGEST = 0.3
"""Largest displacement in one iteration of the assembly, relative to the length of the mechanism, or angle."""
FAR, MOST_STEPS, MOST_ROUND = 0.25, 200, 3
"""Limits for drivers that do not start at the given configuration: the offset (radians, or lengths of the mechanism)
that is closed in a single step, the number of steps, and the number of drivers that are also tried in the opposite
sense."""


@renamed(moved="assembly_displacement")
@dataclass(frozen=True, eq=False)
class Start:
    """Consistent initial conditions of a simulation.

    - `state`, accelerations `wdot` (nv,) and `multipliers` (nj,).
    - `assembly_displacement`: the largest displacement of a body by the assembly, relative to the length of the
      mechanism, or its rotation (radians).
    - `redundant`: the names of the joints with redundant equations.
    """

    state: State
    wdot: Float[np.ndarray, "nv"]
    multipliers: Float[np.ndarray, "nj"]
    assembly_displacement: float
    redundant: tuple[str, ...]


def row_jacobian(
    mechanism: Mechanism, flat: CompiledModel, q: np.ndarray, functions: np.ndarray, near: np.ndarray | None = None
) -> tuple[np.ndarray, sp.csr_matrix]:
    """Values (nr,) and sparse Jacobian (nr, nv) of all rows at `q` (nq,); their rates are `Jacobian @ w`.

    Angles are within half a turn of `near` (na,), by default of the angles of the initial state.
    """
    values = np.zeros(len(mechanism.rows))
    G = np.zeros((len(flat.term_row), 2, 6 + flat.marker_rows.shape[2]))
    if near is None:
        near = mechanism.initial.angles if len(mechanism.initial.angles) else np.zeros(len(mechanism.turning))
    all_rows(flat, q, functions, near, make_marker_kinematics(flat), values, G)
    return values, as_sparse(flat, G)


def _row_names(mechanism: Mechanism) -> list[str]:
    return [joint.name for joint in mechanism.joints for _ in joint.rows]


def _blame(mechanism: Mechanism, violation: np.ndarray, unit: str) -> str:
    """The joints with the largest violations, in descending order."""
    worst: dict[str, float] = {}
    for name, v in zip(_row_names(mechanism), violation, strict=True):
        worst[name] = max(worst.get(name, 0.0), abs(v))
    top = max(worst.values(), default=0.0)
    named = sorted(((v, n) for n, v in worst.items() if v > 1e-3 * top), reverse=True)[:6]
    return ", ".join(f"{n!r} ({v:.3g}{unit})" for v, n in named)


class Assembled(NamedTuple):
    """A configuration `q` (nq,) that satisfies all joint equations, its distance from the given configuration (relative
    to the length of the mechanism, or radians) and its continuous `angles` (na,)."""

    q: np.ndarray
    assembly_displacement: float
    angles: np.ndarray


@dataclass(frozen=True, eq=False)
class _Closing:
    """The assembly problem with drivers at the values of `functions` (nf, 3); lengths are relative to that of the
    mechanism."""

    mechanism: Mechanism
    flat: CompiledModel
    functions: np.ndarray
    deform: bool
    tolerance: float

    @property
    def masses(self) -> Sequence[np.ndarray] | None:
        return _with_strain(self.flat) if self.deform else None

    def open(self, q: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        """Residuals and Jacobian of the joint equations that restrict positions, at `q`; updates `angles` (na,) to
        `q`."""
        flat, nj = self.flat, self.mechanism.joint_rows
        values, G = np.zeros(len(flat.row_kind)), np.zeros((len(flat.term_row), 2, 6 + flat.marker_rows.shape[2]))
        kinematics = make_marker_kinematics(flat)
        all_rows(flat, q, self.functions, angles, kinematics, values, G)
        angles_at(flat, kinematics, angles)
        over = sp.diags(1 / scale_of_rows(self.mechanism))
        holding = np.setdiff1d(np.arange(nj), velocity_rows(flat))
        return (over @ values[:nj])[holding], sp.csr_matrix((over @ as_sparse(flat, G)[:nj])[holding])

    def closed(self, begin: Assembled) -> Assembled:
        """A configuration near `begin` that satisfies all joint equations, by Gauss-Newton steps of least change.

        Raises `AssemblyError` when the iteration does not converge.
        """
        q, angles, size, violation = begin.q.copy(), begin.angles.copy(), np.inf, np.zeros(0)
        for _ in range(50):
            violation, J = self.open(q, angles)
            worst = np.abs(violation).max(initial=0.0)
            if worst <= self.tolerance or (size < 1e-13 and worst <= MISFIT):
                return self._found(q, angles)
            step = mass_weighted_projection(J, -violation, self.flat, self.deform, self.masses)
            size = extent(self.flat, step)
            step *= min(1.0, LARGEST / size) if size > 0 else 1.0
            q = self._displaced(q, step)
            add_turns(self.flat, step, 1.0, angles)
        raise AssemblyError(
            f"The joints of {self.mechanism.name!r} cannot all be closed. At the closest configuration these are "
            "violated: "
            f"{_blame(self.mechanism, self._spread(violation), ' of the mechanism length or rad')}. Check the "
            "positions and orientations of the bodies and the places of these joints."
        )

    def _spread(self, violation: np.ndarray) -> np.ndarray:
        """The residuals (nj,) of all joint equations, zero for those that restrict velocities only."""
        whole = np.zeros(self.mechanism.joint_rows)
        whole[np.setdiff1d(np.arange(len(whole)), velocity_rows(self.flat))] = violation
        return whole

    def nearest(self, begin: Assembled) -> Assembled:
        """The closed configuration nearest to the given one, computed from the closed configuration `begin`.

        It is `given o exp(x)` with the least `x`, which depends neither on the frames nor on the form of the joint
        equations. If the iteration does not converge, `begin` is returned.
        """
        given, q, angles, before = self.mechanism.initial.q, begin.q, begin.angles.copy(), np.inf
        for _ in range(30):
            x = difference(self.flat, given, q)
            violation, J = self.open(q, angles)
            J = sp.csr_matrix(J @ tangent_operator(self.flat, x))
            step = mass_weighted_projection(J, J @ x - violation, self.flat, self.deform, self.masses) - x
            size = extent(self.flat, step)
            if size > 0.7 * before:
                break
            q, before = self._displaced(given, x + step), size
            if size < NEAREST:
                break
        if before > SETTLED:
            return begin
        try:
            return self.closed(Assembled(q, begin.assembly_displacement, angles))
        except AssemblyError:
            return begin

    def _displaced(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        new = np.empty_like(q)
        displace(self.flat, q, step, new)
        return new

    def _found(self, q: np.ndarray, angles: np.ndarray) -> Assembled:
        kinematics = make_marker_kinematics(self.flat)
        place_markers(self.flat, q, kinematics)
        as_driven(self.flat, self.functions, angles)
        angles_at(self.flat, kinematics, angles)
        return Assembled(q, extent(self.flat, difference(self.flat, self.mechanism.initial.q, q)), angles)


def assemble(mechanism: Mechanism, flat: CompiledModel, tolerance: float = 1e-12) -> Assembled:
    """The configuration that satisfies all joint equations and is nearest to the given one in the mass metric.

    Assembly is first tried with undeformed bodies and then with elastic coordinates, weighted by their strain energy.
    Dependent equations that contradict each other by at most `MISFIT` are satisfied in the least-squares sense. If
    drivers start far from the given configuration, it is moved there in small steps of least change, so that closed
    loops stay on their branch: by the shortest way or, if that is impossible, in the opposite sense of rotation.

    Raises `AssemblyError` when the joint equations cannot be satisfied; `MechanismError` for a mechanism with events.
    """
    require_no_events(mechanism)
    functions = mechanism.function_values(mechanism.initial.t)
    begin = angles_near(mechanism, mechanism.initial.q, mechanism.initial.angles)
    failure = None
    for way in _ways(mechanism, flat, functions):
        for deform in (False, True) if flat.stiffness.size else (False,):
            found = Assembled(mechanism.initial.q, 0.0, begin)
            try:
                for given in way:
                    closing = _Closing(mechanism, flat, given, deform, tolerance)
                    found = closing.closed(found)
                if len(way) == 1 and found.assembly_displacement > MOVED:
                    found = closing.nearest(found)
                _require_same_branch(mechanism, flat, found.q)
                return found
            except AssemblyError as error:
                failure = failure or error
    assert failure is not None
    raise failure


def _ways(mechanism: Mechanism, flat: CompiledModel, functions: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Sequences of values of the functions of time (nf, 3) that lead to the initial values of the drivers.

    The last sequence consists of these values alone.
    """
    driven = np.flatnonzero(flat.row_function[: flat.joint_rows] >= 0)
    off, G = np.zeros(len(driven)), np.zeros((len(driven), 2, 6 + flat.marker_rows.shape[2]))
    if len(driven):
        rows = part_of(flat, driven, np.zeros(0, dtype=np.int64))
        all_rows(
            rows, mechanism.initial.q, functions, np.zeros(len(flat.angle_driver)), make_marker_kinematics(flat), off, G
        )
    turning = flat.row_kind[driven] == ANGLE
    far = np.abs(off) / np.where(turning, 1.0, mechanism.length)
    if far.max(initial=0.0) > FAR:
        about = np.flatnonzero(turning & (far > FAR))[:MOST_ROUND]
        for sense in sorted(product((0.0, 2 * np.pi), repeat=len(about)), key=sum):
            way = off.copy()
            way[about] -= np.sign(off[about]) * np.array(sense)
            yield _small_steps(functions, flat.row_function[driven], way, far.max() + max(sense, default=0.0))
    yield [functions]


def _small_steps(functions: np.ndarray, numbers: np.ndarray, off: np.ndarray, far: float) -> list[np.ndarray]:
    """Values that approach `functions` (nf, 3) from the offsets `off` of some of them, in steps of at most `FAR` unless
    more than `MOST_STEPS` would be needed."""
    count = min(int(np.ceil(far / FAR)), MOST_STEPS)
    way = np.repeat(functions[None], count, axis=0)
    way[:, numbers, 0] += np.linspace(1.0, 0.0, count + 1)[1:, None] * off
    return list(way)


def scale_of_rows(mechanism: Mechanism) -> np.ndarray:
    """Scale of each joint equation (nj,): the length of the mechanism for lengths, one for angles."""
    kinds = [row.kind for row in mechanism.rows[: mechanism.joint_rows]]
    return np.array([mechanism.length if kind in FORCES else 1.0 for kind in kinds])


def _with_strain(flat: CompiledModel) -> list[np.ndarray]:
    """Mass matrices of the undeformed bodies plus, for elastic coordinates, the stiffness divided by the square of the
    lowest frequency, so that stiff coordinates contribute little to the closure of joints."""
    masses, first = [M.copy() for M in masses_at_rest(flat)], 0
    for b, m in enumerate(flat.modes):
        masses[b][range(6, 6 + m), range(6, 6 + m)] += flat.stiffness[first : first + m] / flat.stiffness.min()
        first += m
    return masses


def _require_same_branch(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> None:
    """Raise `AssemblyError` when axes of a joint are closed in opposite directions, which also satisfies
    perpendicularity."""
    kinematics = make_marker_kinematics(flat)
    place_markers(flat, q, kinematics)
    for joint in mechanism.joints:
        a, b = joint.markers
        S = kinematics.axes[a].T @ kinematics.axes[b]
        if any(S[k, k] < 0 for k in aligned_axes(joint.kind)):
            raise AssemblyError(
                f"Joint {joint.name!r} can be closed only with its axes in opposite directions. Check the orientations "
                "of the bodies that it connects."
            )


def consistent_velocity(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> np.ndarray:
    """The velocity (nv,) at `q` (nq,) that satisfies joints, drivers and initial joint speeds, with a change of least
    kinetic energy from the given velocity.

    Elastic rates are changed only if rigid motions of the bodies do not suffice. Raises `AssemblyError` when no
    velocity satisfies all equations.
    """
    nj = mechanism.joint_rows
    functions = mechanism.function_values(mechanism.initial.t)
    _, J = row_jacobian(mechanism, flat, q, functions)
    rows = [*mechanism.rows[:nj], *(row for row, _ in mechanism.start_rows)]
    if not rows:
        return mechanism.initial.w.copy()
    rates = np.array([functions[r.function, 1] if r.function >= 0 else 0.0 for r in rows])
    rates[nj:] = [speed for _, speed in mechanism.start_rows]
    J = sp.vstack([J[:nj], start_jacobian(mechanism, q)], format="csr") if mechanism.start_rows else J[:nj]
    scale = np.array([mechanism.length if r.kind in FORCES else 1.0 for r in rows])
    J, rates = scale_rows(J, 1 / scale), rates / scale  # all rates in radians per unit of time
    masses, w = _masses(mechanism, q), mechanism.initial.w
    remaining = np.zeros(len(rows))
    for deform in (False, True) if flat.stiffness.size else (False,):
        new = w + mass_weighted_projection(J, rates - J @ w, flat, deform, masses)
        remaining = J @ new - rates
        speed = (abs(J) @ (np.abs(w) + np.abs(new)) + np.abs(rates)).max()
        if (np.abs(remaining) <= 1e-9 * max(speed, np.abs(new * flat.weight).max())).all():
            return new
    joints = _blame(mechanism, remaining[:nj] * scale[:nj], " of velocity")
    raise AssemblyError(
        f"The drivers and initial speeds of {mechanism.name!r} contradict the joints: {joints}. Prescribe at most as "
        "many motions as the mechanism has degrees of freedom."
    )


def _masses(mechanism: Mechanism, q: np.ndarray) -> list[np.ndarray]:
    """Mass matrices (6+m, 6+m) of the bodies at `q` (nq,)."""
    e, still = Equations(mechanism, q), np.zeros(len(mechanism.initial.w))
    e.residual(mechanism.function_values(mechanism.initial.t), q, still, still, np.zeros(mechanism.joint_rows))
    return e.masses()


def start_jacobian(mechanism: Mechanism, q: np.ndarray) -> sp.csr_matrix:
    rows, initial = tuple(row for row, _ in mechanism.start_rows), replace(mechanism.initial, angles=np.zeros(0))
    probe = replace(mechanism, rows=rows, joints=(), force_elements={}, controllers=(), initial=initial)
    return row_jacobian(probe, compiled(probe), q, mechanism.function_values(mechanism.initial.t))[1]


def redundant_rows(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> tuple[str, ...]:
    """Names of the joints with redundant equations at `q` (nq,); empty if all reactions are unique.

    If a factorisation does not show that all equations are independent, the rank is found from the singular values of
    the Jacobian, flexible bodies included. The metric is that of displacements, because redundancy is a property of the
    geometry and not of the masses.
    """
    nj = mechanism.joint_rows
    if nj == 0:
        return ()
    _, J = row_jacobian(mechanism, flat, q, mechanism.function_values(mechanism.initial.t))
    A = unit_rows(J[:nj], displacement_root(flat))[0]
    if independent(A) is not None:
        return ()
    U, s, _ = np.linalg.svd(A.toarray())
    rank = int((s > DEPENDENT * s[0]).sum())
    null = np.abs(U[:, rank:]).max(axis=1, initial=0.0)
    involved = null > 1e-6
    return tuple(dict.fromkeys(name for name, yes in zip(_row_names(mechanism), involved, strict=True) if yes))


def accelerations(mechanism: Mechanism, state: State, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations (nv,) and multipliers (nj,) at a consistent state, with the functions of time `functions` (nf,
    3)."""
    return Equations(mechanism, state.q, state.angles, state.element_states).accelerations(functions, state.q, state.w)


def start(mechanism: Mechanism, flat: CompiledModel) -> Start:
    """Consistent initial conditions of `mechanism`, with a warning for redundant joint equations.

    Raises `AssemblyError` when positions or velocities cannot satisfy the joint equations.
    """
    redundant = redundant_rows(mechanism, flat, mechanism.initial.q)
    if redundant:
        named = ", ".join(map(repr, redundant[:MOST_NAMED]))
        more = f" and {len(redundant) - MOST_NAMED} more" if len(redundant) > MOST_NAMED else ""
        warnings.warn(
            f"Redundant joint equations in {mechanism.name!r}, shared by {named}{more}: the motion is "
            "unique, the reactions of these joints are not (those of least norm are reported). Make a body "
            "flexible, or use joints with fewer equations.",
            RedundantConstraintWarning,
            stacklevel=3,
        )
    return _consistent(mechanism, flat, redundant)


def consistent_state(mechanism: Mechanism) -> Start:
    """Consistent initial conditions without the search for redundant joints, for analyses that report no reactions."""
    return _consistent(mechanism, compiled(mechanism), ())


def _consistent(mechanism: Mechanism, flat: CompiledModel, redundant: tuple[str, ...]) -> Start:
    found = assemble(mechanism, flat)
    if found.assembly_displacement > NOTICEABLE:
        _warn_of_moved_bodies(mechanism, flat, found.q)
        _warn_of_drivers(mechanism)
    w = consistent_velocity(mechanism, flat, found.q)
    state = State(mechanism.initial.t, found.q, w, found.angles, element_states=mechanism.initial.element_states)
    wdot, multipliers = accelerations(mechanism, state, mechanism.function_values(state.t))
    return Start(state, wdot, multipliers, found.assembly_displacement, redundant)


def _warn_of_moved_bodies(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> None:
    """Issue an `AssemblyWarning` unless the bodies moved only because drivers start away from the given
    configuration."""
    nj, given = mechanism.joint_rows, mechanism.initial.q
    values = row_jacobian(mechanism, flat, given, mechanism.function_values(mechanism.initial.t))[0][:nj]
    open_by = np.abs(values) / scale_of_rows(mechanism)
    driven = np.array([r.function >= 0 for r in mechanism.rows[:nj]])
    if open_by[driven].max(initial=0.0) > NOTICEABLE >= open_by[~driven].max(initial=0.0):
        return
    warnings.warn(
        f"The joints of {mechanism.name!r} are not closed in the given configuration: "
        f"{_blame(mechanism, np.where(driven, 0.0, open_by), ' of the mechanism length or rad')}. To close them, "
        f"{_moves(mechanism, flat, q)}. "
        f"Check the positions and orientations of the bodies and the places of these joints. (Threshold: {NOTICEABLE} "
        f"of the mechanism's length, {mechanism.length:.3g}, or rad.)",
        AssemblyWarning,
        stacklevel=5,
    )


def _warn_of_drivers(mechanism: Mechanism) -> None:
    """Issue an `AssemblyWarning` for each driver of a displacement that starts neither where the joint is given nor
    from places that coincide there, and that hence may have been meant from the given configuration."""
    functions = mechanism.function_values(mechanism.initial.t)
    values = row_jacobian(mechanism, compiled(mechanism), mechanism.initial.q, functions)[0]
    for joint in mechanism.joints:
        for k in joint.rows if joint.kind in JOINTS else ():
            row, off, least = mechanism.rows[k], float(values[k]), NOTICEABLE * mechanism.length
            if row.function < 0 or row.kind != TRANSLATION or abs(off) <= least:
                continue
            driven = float(functions[row.function, 0])
            if abs(given := driven + off) <= least:
                continue
            warnings.warn(
                f"The driver of joint {joint.name!r} of {mechanism.name!r} has the value {driven:.6g} at t = "
                f"{mechanism.initial.t:.6g}; in the given configuration the displacement of the joint is {given:.6g}, "
                f"so that the bodies were moved by {-off:.6g} along its axis before the start. Displacements are "
                "measured between the two places of the joint, and are zero where these coincide. For a motion from "
                "the given configuration name places that coincide there (a.at(point), or at=), or let the driver "
                f"start at {given:.6g}; for a motion from {driven:.6g} draw the bodies there.",
                AssemblyWarning,
                stacklevel=5,
            )


def _moves(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> str:
    """The displacements of the bodies by the assembly, in descending order."""
    x, told = difference(flat, mechanism.initial.q, q), []
    for b, body in enumerate(mechanism.bodies):
        own = np.zeros_like(x)
        own[flat.v_start[b] : flat.v_start[b + 1]] = x[flat.v_start[b] : flat.v_start[b + 1]]
        (r0, R0), (r, R) = pose(flat, mechanism.initial.q, b), pose(flat, q, b)
        distance = np.linalg.norm(r + R @ body.centre - r0 - R0 @ body.centre)
        angle = np.linalg.norm(x[flat.v_start[b] + 3 :][:3])
        bent = " and was deformed" if own[flat.v_start[b] + 6 :].any() else ""
        told.append(
            (extent(flat, own), f"{body.name!r} was moved by {distance:.3g} and rotated by {angle:.3g} rad{bent}")
        )
    told = [entry for entry in sorted(told, reverse=True) if entry[0] > 1e-3 * NOTICEABLE][:6]
    return ", ".join(text for _, text in told)
