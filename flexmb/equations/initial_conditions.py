"""Consistent initial conditions: places, velocities, accelerations and multipliers that fulfil every joint.

What the user gave is changed as little as possible: velocities by the least kinetic energy of the change, places by the
least mass-weighted displacement. Neither depends on where body frames are drawn. Flexible bodies stay undeformed
unless the mechanism cannot be assembled otherwise. A mechanism that cannot be assembled is refused with the
joints in conflict named; one whose bodies had to move is reported with an `AssemblyWarning`.
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
    unit_rows,
)
from flexmb.errors import AssemblyError, AssemblyWarning, RedundantConstraintWarning
from flexmb.kernels.base.data import ANGLE, DISTANCE, TRANSLATION, CompiledModel, make_marker_kinematics
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import add_turns, all_rows, angles_at, as_driven, place_markers
from flexmb.mechanism.compile import compiled, part_of
from flexmb.mechanism.joints import aligned_axes
from flexmb.mechanism.locking import require_no_events
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.spatial.configuration import difference, extent, tangent_operator
from flexmb.spatial.layout import pose

MOST_NAMED = 12
"""Joints named in a warning."""
MISFIT = 1e-5
"""What dependent joint equations may stay open, relative to the mechanism's length: the noise of a mesh's coordinates."""
MOVED, NEAREST, SETTLED = 1e-9, 1e-12, 1e-6
"""Displacements, over the mechanism's length: beyond which the nearest closed configuration is looked for; at which it is found; and at which its iteration has to arrive to count."""
NOTICEABLE = 1e-3
"""Displacement of a body, over the mechanism's length, or angle, by which assembly moves it without a warning: drawings are rounded to three digits."""

LARGEST = 0.3
"""Displacement of one iteration of the assembly, relative to the mechanism's length, or angle."""
FAR, MOST_STEPS, MOST_ROUND = 0.25, 200, 3
"""Radians, or lengths of the mechanism, by which drivers may start off the given configuration, or lead it away from there at a time; most such steps; most drivers that are tried the other way round."""


@renamed(moved="assembly_displacement")
@dataclass(frozen=True, eq=False)
class Start:
    """Consistent start of a simulation.

    `assembly_displacement`: the largest displacement of a body by the assembly, over the mechanism's length, or its angle; `redundant` names the joint equations that repeat others.
    """

    state: State
    wdot: Float[np.ndarray, "nv"]
    multipliers: Float[np.ndarray, "nj"]
    assembly_displacement: float
    redundant: tuple[str, ...]


def row_jacobian(
    mechanism: Mechanism, flat: CompiledModel, q: np.ndarray, functions: np.ndarray, near: np.ndarray | None = None
) -> tuple[np.ndarray, sp.csr_matrix]:
    """Values (nr,) and sparse Jacobian (nr, nv) of all rows at `q`; the rate of a row is `Jacobian @ w`. Angles are in the turns of `near` (na,), by default of the initial state."""
    nr = len(mechanism.rows)
    values = np.zeros(nr)
    G = np.zeros((nr, 2, 6 + flat.marker_rows.shape[2]))
    if near is None:
        near = mechanism.initial.angles if len(mechanism.initial.angles) else np.zeros(len(mechanism.turning))
    all_rows(flat, q, functions, near, make_marker_kinematics(flat), values, G)
    return values, as_sparse(flat, G)


def _row_names(mechanism: Mechanism) -> list[str]:
    return [joint.name for joint in mechanism.joints for _ in joint.rows]


def _blame(mechanism: Mechanism, violation: np.ndarray, unit: str) -> str:
    """The joints with a violation, worst first."""
    worst: dict[str, float] = {}
    for name, v in zip(_row_names(mechanism), violation, strict=True):
        worst[name] = max(worst.get(name, 0.0), abs(v))
    top = max(worst.values(), default=0.0)
    named = sorted(((v, n) for n, v in worst.items() if v > 1e-3 * top), reverse=True)[:6]
    return ", ".join(f"{n!r} ({v:.3g}{unit})" for v, n in named)


class Assembled(NamedTuple):
    """Configuration `q` that fulfils every joint, how far it is from the given one (over the mechanism's length, or radians), and the `angles` (na,) there, turns counted."""

    q: np.ndarray
    assembly_displacement: float
    angles: np.ndarray


@dataclass(frozen=True, eq=False)
class _Closing:
    """Joint equations to be closed, with drivers at the values of `functions`; of lengths over the mechanism's length."""

    mechanism: Mechanism
    flat: CompiledModel
    functions: np.ndarray
    deform: bool
    tolerance: float

    @property
    def masses(self) -> Sequence[np.ndarray] | None:
        return _with_strain(self.flat) if self.deform else None

    def open(self, q: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        """By how much each joint equation is open, and the Jacobian; brings the `angles` there."""
        flat, nj, nr = self.flat, self.mechanism.joint_rows, len(self.mechanism.rows)
        values, G, kinematics = (
            np.zeros(nr),
            np.zeros((nr, 2, 6 + flat.marker_rows.shape[2])),
            make_marker_kinematics(flat),
        )
        all_rows(flat, q, self.functions, angles, kinematics, values, G)
        angles_at(flat, kinematics, angles)
        over = sp.diags(1 / _scale_of_rows(self.mechanism))
        return over @ values[:nj], sp.csr_matrix(over @ as_sparse(flat, G)[:nj])

    def closed(self, begin: Assembled) -> Assembled:
        """The configuration near `begin` that fulfils every joint, by Gauss-Newton steps of least change."""
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
            f"The joints of {self.mechanism.name!r} cannot all be closed: after moving the bodies as far as it helps, these stay open: "
            f"{_blame(self.mechanism, violation, ' of the mechanism length or rad')}. Check the positions and orientations of the bodies and the places of these joints."
        )

    def nearest(self, begin: Assembled) -> Assembled:
        """The closed configuration nearest to the given one, found from a closed one: the least `x` with `given o exp(x)` on the joints, which depends neither on frames nor on the form of the joint
        equations. Where the iteration does not converge, the closed one itself."""
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
    """The configuration that fulfils every joint, the nearest to the given one in the metric of the mass.

    First with undeformed bodies, then with elastic coordinates, weighted by their strain energy. Dependent equations that contradict each other by no more than `MISFIT` are met in the
    least-squares sense. Drivers that start far from the given configuration lead it there in small steps, so that loops stay on their branch: the shortest way round, and where that is
    barred, the other; each step is of least change then.
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
    """Ways to where the drivers start: functions of time (nf, 3) whose values go there step by step. The last one goes there at once."""
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
    """From `off` the values of some functions to these, in steps of `FAR` at most if `MOST_STEPS` are enough."""
    count = min(int(np.ceil(far / FAR)), MOST_STEPS)
    way = np.repeat(functions[None], count, axis=0)
    way[:, numbers, 0] += np.linspace(1.0, 0.0, count + 1)[1:, None] * off
    return list(way)


def _scale_of_rows(mechanism: Mechanism) -> np.ndarray:
    """The mechanism's length for joint equations that are lengths, one for the others."""
    kinds = [row.kind for row in mechanism.rows[: mechanism.joint_rows]]
    return np.array([mechanism.length if kind in (TRANSLATION, DISTANCE) else 1.0 for kind in kinds])


def _with_strain(flat: CompiledModel) -> list[np.ndarray]:
    """Masses of the undeformed bodies and, of their elastic coordinates, stiffness over the square of the mechanism's lowest frequency: stiff coordinates hardly help to close joints."""
    masses, first = masses_at_rest(flat), 0
    for b, m in enumerate(flat.modes):
        masses[b][range(6, 6 + m), range(6, 6 + m)] += flat.stiffness[first : first + m] / flat.stiffness.min()
        first += m
    return masses


def _require_same_branch(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> None:
    """Axes must not have closed the wrong way round: half a turn fulfils perpendicularity too."""
    kinematics = make_marker_kinematics(flat)
    place_markers(flat, q, kinematics)
    for joint in mechanism.joints:
        a, b = joint.markers
        S = kinematics.axes[a].T @ kinematics.axes[b]
        if any(S[k, k] < 0 for k in aligned_axes(joint.kind)):
            raise AssemblyError(
                f"Joint {joint.name!r} could only be closed with its axes turned round by half a turn. Check the orientations of the bodies it connects."
            )


def consistent_velocity(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> np.ndarray:
    """Velocity `w` that the joints, the drivers and the wanted joint speeds allow, the change from the given one being of least kinetic energy; of flexible bodies as rigid ones, if that will do."""
    nj = mechanism.joint_rows
    functions = mechanism.function_values(mechanism.initial.t)
    _, J = row_jacobian(mechanism, flat, q, functions)
    rows = [*mechanism.rows[:nj], *(row for row, _ in mechanism.start_rows)]
    if not rows:
        return mechanism.initial.w.copy()
    rates = np.array([functions[r.function, 1] if r.function >= 0 else 0.0 for r in rows])
    rates[nj:] = [speed for _, speed in mechanism.start_rows]
    J = sp.vstack([J[:nj], start_jacobian(mechanism, q)], format="csr") if mechanism.start_rows else J[:nj]
    scale = np.array([mechanism.length if r.kind in (TRANSLATION, DISTANCE) else 1.0 for r in rows])
    J, rates = sp.csr_matrix(sp.diags(1 / scale) @ J), rates / scale  # all rates are those of angles
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
        f"The drivers and initial speeds of {mechanism.name!r} contradict the joints: {joints}. Drive or set as many motions as the mechanism has degrees of freedom."
    )


def _masses(mechanism: Mechanism, q: np.ndarray) -> list[np.ndarray]:
    """Mass matrices of the bodies as they are deformed."""
    e, still = Equations(mechanism, q), np.zeros(len(mechanism.initial.w))
    e.residual(mechanism.function_values(mechanism.initial.t), q, still, still, np.zeros(mechanism.joint_rows))
    return e.masses()


def start_jacobian(mechanism: Mechanism, q: np.ndarray) -> sp.csr_matrix:
    rows, initial = tuple(row for row, _ in mechanism.start_rows), replace(mechanism.initial, angles=np.zeros(0))
    probe = replace(mechanism, rows=rows, joints=(), force_elements={}, initial=initial)
    return row_jacobian(probe, compiled(probe), q, mechanism.function_values(mechanism.initial.t))[1]


def redundant_rows(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> tuple[str, ...]:
    """Names of the joints whose equations depend on each other at `q` (empty when all reactions are unique).

    Where a factor does not show them independent: rank by singular values of the Jacobian of the mechanism as it is (flexible bodies included), in the metric of displacements: dependences are
    a matter of geometry, whatever the masses.
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
    """Accelerations `wdot` (nv,) and joint multipliers (nj,) at a consistent state; `functions` (nf, 3) at its time."""
    return Equations(mechanism, state.q, state.angles).accelerations(functions, state.q, state.w)


def start(mechanism: Mechanism, flat: CompiledModel) -> Start:
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


def consistent_state(mechanism: Mechanism) -> Start:
    """`start` where redundant joints do not matter, because no reaction is reported: they are not looked for."""
    return _consistent(mechanism, compiled(mechanism), ())


def _consistent(mechanism: Mechanism, flat: CompiledModel, redundant: tuple[str, ...]) -> Start:
    found = assemble(mechanism, flat)
    if found.assembly_displacement > NOTICEABLE:
        _warn_of_moved_bodies(mechanism, flat, found.q)
    w = consistent_velocity(mechanism, flat, found.q)
    state = State(mechanism.initial.t, found.q, w, found.angles)
    wdot, multipliers = accelerations(mechanism, state, mechanism.function_values(state.t))
    return Start(state, wdot, multipliers, found.assembly_displacement, redundant)


def _warn_of_moved_bodies(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> None:
    """An `AssemblyWarning`, unless it is only the drivers that start elsewhere than drawn, and move the bodies as they should."""
    nj, given = mechanism.joint_rows, mechanism.initial.q
    values = row_jacobian(mechanism, flat, given, mechanism.function_values(mechanism.initial.t))[0][:nj]
    open_by = np.abs(values) / _scale_of_rows(mechanism)
    driven = np.array([r.function >= 0 for r in mechanism.rows[:nj]])
    if open_by[driven].max(initial=0.0) > NOTICEABLE >= open_by[~driven].max(initial=0.0):
        return
    warnings.warn(
        f"The joints of {mechanism.name!r} are open as drawn: {_blame(mechanism, np.where(driven, 0.0, open_by), ' of the mechanism length or rad')}. To close them, {_moves(mechanism, flat, q)}. "
        f"Check the positions and orientations of the bodies and the places of these joints, or draw the mechanism as it is to start. (Reported from {NOTICEABLE} of the mechanism's length, {mechanism.length:.3g}, or rad.)",
        AssemblyWarning,
        stacklevel=5,
    )


def _moves(mechanism: Mechanism, flat: CompiledModel, q: np.ndarray) -> str:
    """How assembly moved the bodies, the farthest first."""
    x, told = difference(flat, mechanism.initial.q, q), []
    for b, body in enumerate(mechanism.bodies):
        own = np.zeros_like(x)
        own[flat.v_start[b] : flat.v_start[b + 1]] = x[flat.v_start[b] : flat.v_start[b + 1]]
        (r0, R0), (r, R) = pose(flat, mechanism.initial.q, b), pose(flat, q, b)
        distance = np.linalg.norm(r + R @ body.centre - r0 - R0 @ body.centre)
        angle = np.linalg.norm(x[flat.v_start[b] + 3 :][:3])
        bent = " and was deformed" if own[flat.v_start[b] + 6 :].any() else ""
        told.append((extent(flat, own), f"{body.name!r} moved by {distance:.3g} and turned by {angle:.3g} rad{bent}"))
    told = [entry for entry in sorted(told, reverse=True) if entry[0] > 1e-3 * NOTICEABLE][:6]
    return ", ".join(text for _, text in told)
